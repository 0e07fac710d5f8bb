"""What `--edits` and `--judge` take, and what is made of it."""

from __future__ import annotations

import csv
import os
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest
import yaml
from PIL import Image

from command_lines import Command
from edit_eval.benchmarks.table import TableBenchmark
from edit_eval.config.shorthand import FLAGS, Kind, set_devices
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.init.writing import (
    Pictures,
    find_near_table,
    likely_edits,
    likely_pictures,
    make_names_unique,
    parse_model,
    parse_pictures,
)
from judge_server import JudgeServer
from photographs import draw, name

HERE = {"device_ids": "cpu:1"}


@pytest.fixture
def photos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pictures:
    monkeypatch.chdir(tmp_path)
    draw(tmp_path, 3)
    (tmp_path / "weights").mkdir()
    (tmp_path / "weights" / "model_index.json").write_text("{}")
    (tmp_path / "judge").mkdir()
    (tmp_path / "judge" / "config.json").write_text("{}")
    (tmp_path / "replies.csv").write_text("")
    (tmp_path / "own.py").write_text(
        "class Editor:\n    def load(self, devices): ...\n    def edit(self, request, on_step): ...\n"
        "class Judge:\n    def load(self, devices): ...\n    def judge(self, requests): ...\n"
    )
    return parse_pictures("photos")


@pytest.mark.parametrize(
    ("kind", "written", "known_as", "section"),
    [
        ("edit_model", "edits_a", "edits_a", {"type": "image_folder", "params": {"folder": "edits_a", **HERE}}),
        ("edit_model", "ours=edits_a/", "ours", {"type": "image_folder", "params": {"folder": "edits_a", **HERE}}),
        ("edit_model", "weights", "weights", {"type": "diffusers", "params": {"model_name": "weights"}}),
        ("edit_model", "testing", "testing", {"type": "testing"}),
        ("edit_model", "own.py:Editor", "Editor", {"class_path": "own.py:Editor"}),
        (
            *("edit_model", "Qwen/Qwen-Image-Edit", "Qwen-Image-Edit"),
            {"type": "diffusers", "params": {"model_name": "Qwen/Qwen-Image-Edit"}},
        ),
        (
            *("edit_model", "m@http://127.0.0.1:9/v1/", "m"),
            {"type": "image_endpoint", "params": {"base_url": "http://127.0.0.1:9/v1", "model": "m", **HERE}},
        ),
        ("judge", "judge", "judge", {"type": "transformers", "params": {"model_name": "judge"}}),
        ("judge", "Qwen/Qwen3-VL", "Qwen3-VL", {"type": "transformers", "params": {"model_name": "Qwen/Qwen3-VL"}}),
        ("judge", "replies.csv", "recorded", {"type": "recorded", "params": {"path": "replies.csv", **HERE}}),
        ("judge", "strict=own.py:Judge", "strict", {"class_path": "own.py:Judge"}),
        (
            *("judge", "openai:gpt-4.1", "gpt-4.1"),
            {"type": "chat_endpoint", "params": {"api": "openai", "model": "gpt-4.1", **HERE}},
        ),
        (
            *("judge", "org/m@https://host/v1", "m"),
            {"type": "chat_endpoint", "params": {"base_url": "https://host/v1", "model": "org/m", **HERE}},
        ),
    ],
)
def test_what_is_given(photos: Pictures, kind: Kind, written: str, known_as: str, section: dict[str, Any]) -> None:
    model = parse_model(kind, written, photos)
    assert (model.name, model.section) == (known_as, section)
    assert model.wants_device == ("cpu:1" not in str(section))


@pytest.mark.parametrize(
    ("kind", "written", "words"),
    [
        ("edit_model", "photso", "`photso` is not an edit model; nearest existing: photos"),
        ("edit_model", "nowhere/at/all", "no such folder: nowhere/at/all"),
        ("edit_model", "judge", "no model_index.json in it"),
        ("edit_model", "Qwen-Image-Edit", "on the Hub it is `--edits Qwen/Qwen-Image-Edit`"),
        ("edit_model", "replies.csv", "that is a file; give the folder of the edits"),
        ("edit_model", "diffusers", "it needs parameters (model_name)"),
        ("edit_model", "own.py:Editr", "has no class `Editr`; did you mean `Editor`?"),
        ("edit_model", "scene_judge", "`scene_judge` is a judge, not an edit model"),
        ("judge", "photos", "no config.json in it"),
        ("judge", "a-model-of-nobody", "MODEL@http://HOST:8000/v1"),
        ("judge", "gpt-4o", "its maker is asked for it by `openai/gpt-4o`"),
        ("judge", "gemini-3.8-flash", "its maker is asked for it by `gemini/gemini-3.8-flash`"),
        ("judge", "testin", "did you mean `testing`?"),
        ("judge", "", "it is empty"),
    ],
)
def test_what_cannot_be_meant(photos: Pictures, kind: Kind, written: str, words: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_model(kind, written, photos)
    line = str(caught.value)
    assert words in line
    assert line.startswith(FLAGS[kind])


def test_edits_are_held_against_the_samples(photos: Pictures, tmp_path: Path) -> None:
    (tmp_path / "edits_b" / f"{name(1)}.jpg").unlink()
    assert parse_model("edit_model", "edits_b", photos).words == f"2 of 3 edits; missing: {name(1)}"
    for number, file in enumerate(sorted((tmp_path / "edits_b").iterdir())):
        file.rename(file.with_name(f"out_{'ab'[number]}.jpg"))
    with pytest.raises(ConfigurationError, match=r"rename out_a\.jpg and the others after the samples: IMG_0000, "):
        parse_model("edit_model", "edits_b", photos)


def test_edits_that_are_called_as_the_pictures_of_a_table(photos: Pictures, tmp_path: Path) -> None:
    names = enumerate(map(name, range(3)))
    rows = "".join(f"{number},photos/{stem}.jpg,Make it blue,edits_b/{stem}.jpg\n" for number, stem in names)
    (tmp_path / "my.csv").write_text(f"id,image,instruction,ours\n{rows}")
    table = parse_pictures("my.csv")
    column = parse_model("edit_model", "ours", table)
    assert column.section["params"] == {"table": "my.csv", "column": "ours", **HERE}
    assert table.ids == ("0", "1", "2")
    assert parse_model("edit_model", "edits_a", table).words.startswith("3 of 3 edits")
    parameters = {key: value for key, value in table.section.items() if key != "type"}
    samples = list(TableBenchmark(TableBenchmark.Parameters(**parameters, cache_dir=str(tmp_path / "cache"))).samples())
    assert [sample.id for sample in samples] == list(table.ids) == [name(number) for number in range(3)]
    assert not any(sample.fault for sample in samples)


@pytest.mark.parametrize(
    ("table", "pictures", "found"),
    [
        ("my.csv", "photos", "photos"),  # beside folders of edits that have the same names
        ("my.csv", "Bilder", "Bilder"),  # which of two folders has the sources, nobody can know
        ("tables/my.csv", "photos", "photos"),  # from where it is typed
        ("tables/my.csv", "tables/input", "tables/input"),
        ("photos/my.csv", "photos", None),
    ],
)
def test_bare_names_are_looked_for(photos: Pictures, table: str, pictures: str, found: str | None) -> None:
    Path("tables").mkdir()
    if pictures != "photos":
        Path("photos").rename(pictures)
    rows = "".join(f"{name(number)}.jpg,Make it blue\n" for number in range(3))
    Path(table).write_text(f"image,instruction\n{rows}")
    made = parse_pictures(table)
    assert made.choices == (("Bilder", "edits_b") if pictures == "Bilder" else (found,) * bool(found))
    if found:
        assert f"all of them are in {found}/. Taken: pictures_path: {found}." in made.set_folder(found)
    assert made.section.get("pictures_path") == found
    assert {Path(pictures).resolve()} == made.folders
    parameters = {key: value for key, value in made.section.items() if key != "type"}
    samples = TableBenchmark(TableBenchmark.Parameters(**parameters, cache_dir="cache")).samples()
    assert not any(sample.fault for sample in samples)


def test_a_server_is_asked_for_its_model(photos: Pictures, monkeypatch: pytest.MonkeyPatch) -> None:
    with JudgeServer() as server:
        assert parse_model("judge", server.base_url, photos).section["params"]["model"] == "judge"
        with pytest.raises(ConfigurationError, match=r"does not say which models it has \(404\); does the address end"):
            parse_model("judge", server.base_url.removesuffix("/v1"), photos)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
    with pytest.raises(
        ConfigurationError, match=r"no answer \(Connection refused\); start the server, or name its model"
    ):
        parse_model("judge", address, photos)


def test_names_are_made_different_and_devices_are_written(photos: Pictures) -> None:
    models = [parse_model("edit_model", written, photos) for written in ("testing", "testing", "x=testing")]
    assert list(make_names_unique(models)) == ["testing", "testing_2", "x"]
    assert set_devices({"type": "testing"}, "0,1") == {"type": "testing", "params": {"device_ids": [0, 1]}}
    assert set_devices({"type": "testing"}, "cpu:2")["params"] == {"device_ids": "cpu:2"}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    draw(tmp_path, 4)
    return tmp_path


def test_a_folder_without_instructions_gets_a_table_to_fill_in(here: Path) -> None:
    pictures = parse_pictures("photos")
    assert pictures.section == {"type": "table", "data_path": "photos/instructions.csv"}
    assert (pictures.empty, pictures.template) == (4, Path("photos/instructions.csv"))
    rows = list(csv.DictReader(pictures.new_file.splitlines()))
    assert rows[0] == {"id": name(0), "image": f"{name(0)}.jpg", "instruction": ""}
    assert pictures.ids == tuple(map(name, range(4)))
    assert not Path("photos/instructions.csv").exists()


@pytest.mark.parametrize(
    ("rows", "instruction", "found"),
    [
        (4, "", True),
        (2, "", True),  # half of them
        (1, "", False),
        (0, "", False),  # of other pictures
        (4, "Mirror it", False),  # asked for
    ],
)
@pytest.mark.parametrize("where", [".", "data"])
def test_a_table_near_a_folder_of_pictures_is_found(
    here: Path, rows: int, instruction: str, found: bool, where: str
) -> None:
    """Beside the folder, or in the current one; a table that is none, or without instructions, is passed over."""
    Path("data").mkdir()
    shutil.move("photos", Path(where) / "photos")
    lines = [f"photos/{name(number) if number < rows else f'other{number}'}.jpg,Mirror it" for number in range(4)]
    Path(where, "my.csv").write_text("\n".join(["image,prompt", *lines]))
    Path(where, "broken.csv").write_text("nothing of this\n")
    Path(where, "a.csv").write_text("\n".join(["image,prompt", *(f"photos/{name(n)}.jpg," for n in range(4))]))
    pictures = parse_pictures(str(Path(where, "photos")), instruction=instruction)
    assert find_near_table(pictures) == (os.path.normpath(f"{where}/my.csv") if found else "")


def test_one_instruction_may_be_for_all(here: Path) -> None:
    pictures = parse_pictures("photos", instruction='Make it "snow", please')
    assert pictures.empty == 0
    rows = csv.DictReader(pictures.new_file.splitlines())
    assert [row["instruction"] for row in rows] == ['Make it "snow", please'] * 4


def test_pictures_of_one_name_have_ids_of_their_own(here: Path) -> None:
    (here / "photos" / f"{name(0)}.png").write_bytes((here / "photos" / f"{name(0)}.jpg").read_bytes())
    assert parse_pictures("photos").ids[:3] == (f"{name(0)}_jpg", f"{name(0)}_png", name(1))


def test_no_name_of_a_picture_is_run_by_a_spreadsheet(here: Path) -> None:
    (here / "photos" / f"{name(0)}.jpg").rename(here / "photos" / "=1+cmd.jpg")
    pictures = parse_pictures("photos", instruction="Make it blue")
    rows = list(csv.reader(pictures.new_file.splitlines()))
    assert not [cell for row in rows for cell in row if cell.startswith("=")]
    (here / "photos" / "instructions.csv").write_text(pictures.new_file)
    table = TableBenchmark(
        TableBenchmark.Parameters(data_path="photos/instructions.csv", cache_dir=str(here / "cache"))
    )
    assert [sample.id for sample in table.samples()] == list(pictures.ids)


def test_a_table_that_was_begun_is_taken_up_again(here: Path) -> None:
    (here / "photos" / "instructions.csv").write_text("id,image,instruction\na,x.jpg,Make it blue\nb,y.jpg,\n")
    pictures = parse_pictures("photos")
    assert (pictures.ids, pictures.empty, pictures.new_file) == (("a", "b"), 1, "")
    with pytest.raises(ConfigurationError, match="already have instructions; leave it out"):
        parse_pictures("photos", instruction="Make it red")


def test_a_readme_among_the_pictures_is_no_instruction(here: Path) -> None:
    (here / "photos" / "README.txt").write_text("From our holidays.\n")
    assert parse_pictures("photos").empty == 4
    for number in range(3):
        (here / "photos" / f"{name(number)}.txt").write_text("Make it blue")
    pictures = parse_pictures("photos")
    assert (pictures.section["data_path"], pictures.empty, pictures.template) == ("photos", 1, None)


def test_a_table(here: Path) -> None:
    (here / "my.csv").write_text("picture,task\nphotos/IMG_0000.jpg,Make it blue\nphotos/IMG_0001.jpg,Make it red\n")
    with pytest.raises(
        ConfigurationError, match=r"^--pictures: .*no column for the instruction.*`--field instruction="
    ):
        parse_pictures("my.csv")
    pictures = parse_pictures("my.csv", fields={"instruction": "task"})
    assert pictures.section == {"type": "table", "data_path": "my.csv", "fields": {"instruction": "task"}}
    assert pictures.ids == pictures.names == ("IMG_0000", "IMG_0001")
    assert pictures.folders == {here / "photos"}


def test_two_rows_of_one_picture_are_called_by_their_numbers(here: Path) -> None:
    (here / "my.csv").write_text("image,prompt\nphotos/IMG_0000.jpg,Make it blue\nphotos/IMG_0000.jpg,Make it red\n")
    assert parse_pictures("my.csv").ids == ("00000", "00001")


def test_instructions_in_chinese_are_said_to_be(here: Path) -> None:
    (here / "my.csv").write_text("image,prompt\nphotos/IMG_0000.jpg,把天空变蓝\nphotos/IMG_0001.jpg,\n", "utf-8")
    assert parse_pictures("my.csv").section["language"] == "zh"


def test_a_file_of_our_own_format(here: Path) -> None:
    from small_benchmark import write_benchmark

    assert parse_pictures(str(write_benchmark(here))).section["type"] == "five_dimensions"


@pytest.mark.parametrize(
    ("written", "section"),
    [
        ("gedit", {"type": "gedit"}),
        ("gedit=photos", {"type": "gedit", "data_path": "photos"}),
        ("scenes", {"type": "scenes"}),
        ("stepfun-ai/GEdit-Bench", {"type": "gedit", "data_path": "hub:stepfun-ai/GEdit-Bench"}),
        ("hub:me/mine@abc", {"type": "table", "data_path": "hub:me/mine@abc"}),
        ("me/mine", {"type": "table", "data_path": "hub:me/mine"}),
    ],
)
def test_benchmarks_and_the_hub(here: Path, written: str, section: dict[str, str]) -> None:
    assert parse_pictures(written).section == section


def test_a_folder_of_folders_is_asked_about(here: Path) -> None:
    with pytest.raises(
        ConfigurationError, match=r"no pictures in it .*; these folders in it have: edits_a, edits_b, ph"
    ):
        parse_pictures(".")


def test_what_is_meant_in_all_likelihood(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert likely_pictures() == "photos"
    names = [name(number) for number in range(4)]
    assert likely_edits(Path(), names) == ["edits_a", "edits_b"], "and not the photos"
    (here / "edits_b" / f"{name(0)}.jpg").unlink()
    for number in (1, 2):
        (here / "edits_b" / f"{name(number)}.jpg").unlink()
    assert likely_edits(Path(), names) == ["edits_a"]
    (here / "my.csv").write_text("image,instruction\n")
    assert likely_pictures() == "my.csv"
    monkeypatch.chdir(here / "photos")
    assert likely_pictures() == "."


@pytest.mark.parametrize("typed", ["edits", "edits/ours，edits/theirs", "edits/ours、edits/theirs"])
def test_a_folder_of_folders_is_the_edit_models_in_it_and_commas_may_be_chinese(
    typed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = ["source,instruction"]
    for folder in ("photos", "edits/ours", "edits/theirs"):
        (tmp_path / folder).mkdir(parents=True)
        for number in range(4):
            Image.new("RGB", (8, 8), (number, 0, len(folder))).save(tmp_path / folder / f"p{number}.png")
    rows += [f"photos/p{number}.png,make it {number}" for number in range(4)]
    (tmp_path / "my.csv").write_text("\n".join(rows), "utf-8")
    ended = command("init", "my.yaml", "--pictures", "my.csv", "--edits", typed, "--judge", "nobody")
    assert ended.code == 0, ended.err
    models = yaml.safe_load((tmp_path / "my.yaml").read_text("utf-8"))["edit_models"]
    assert {name: model["params"]["folder"] for name, model in models.items()} == {
        "ours": "edits/ours",
        "theirs": "edits/theirs",
    }
