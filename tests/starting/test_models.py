"""What `--edits` and `--judge` take, and what is made of it."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from edit_eval.benchmarks.table import TableBenchmark
from edit_eval.errors import ConfigurationError
from edit_eval.starting.models import FLAGS, Kind, apart, look_at_model, on_devices
from edit_eval.starting.pictures import Pictures, look_at_pictures
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
    return look_at_pictures("photos")


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
            *("judge", "org/m@https://host/v1", "m"),
            {"type": "chat_endpoint", "params": {"base_url": "https://host/v1", "model": "org/m", **HERE}},
        ),
    ],
)
def test_what_is_given(photos: Pictures, kind: Kind, written: str, known_as: str, section: dict[str, Any]) -> None:
    found = look_at_model(kind, written, photos)
    assert (found.name, found.section) == (known_as, section)
    assert found.wants_device == ("cpu:1" not in str(section))


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
        ("judge", "gpt-4o", "MODEL@http://HOST:8000/v1"),
        ("judge", "testin", "did you mean `testing`?"),
        ("judge", "", "it is empty"),
    ],
)
def test_what_cannot_be_meant(photos: Pictures, kind: Kind, written: str, words: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        look_at_model(kind, written, photos)
    line = str(caught.value)
    assert words in line
    assert line.startswith(FLAGS[kind])


def test_edits_are_held_against_the_samples(photos: Pictures, tmp_path: Path) -> None:
    (tmp_path / "edits_b" / f"{name(1)}.jpg").unlink()
    assert (
        look_at_model("edit_model", "edits_b", photos).words == f"2 of 3 edits, found by their names; without {name(1)}"
    )
    for number, file in enumerate(sorted((tmp_path / "edits_b").iterdir())):
        file.rename(file.with_name(f"out_{number}.jpg"))
    with pytest.raises(ConfigurationError, match=r"rename out_0\.jpg and the others after the samples: IMG_0000, "):
        look_at_model("edit_model", "edits_b", photos)


def test_edits_that_are_called_as_the_pictures_of_a_table(photos: Pictures, tmp_path: Path) -> None:
    names = enumerate(map(name, range(3)))
    rows = "".join(f"{number},photos/{one}.jpg,Make it blue,edits_b/{one}.jpg\n" for number, one in names)
    (tmp_path / "my.csv").write_text(f"id,image,instruction,ours\n{rows}")
    table = look_at_pictures("my.csv")
    column = look_at_model("edit_model", "ours", table)
    assert column.section["params"] == {"table": "my.csv", "column": "ours", **HERE}
    assert table.ids == ("0", "1", "2")
    assert look_at_model("edit_model", "edits_a", table).words.startswith("3 of 3 edits")
    parameters = {key: value for key, value in table.section.items() if key != "type"}
    samples = list(TableBenchmark(TableBenchmark.Parameters(**parameters, cache_dir=str(tmp_path / "cache"))).samples())
    assert [sample.id for sample in samples] == list(table.ids) == [name(number) for number in range(3)]
    assert not any(sample.fault for sample in samples)


def test_a_server_is_asked_for_its_model(photos: Pictures, monkeypatch: pytest.MonkeyPatch) -> None:
    with JudgeServer() as server:
        assert look_at_model("judge", server.base_url, photos).section["params"]["model"] == "judge"
        with pytest.raises(ConfigurationError, match=r"does not say which models it has \(404\); does the address end"):
            look_at_model("judge", server.base_url.removesuffix("/v1"), photos)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
    with pytest.raises(
        ConfigurationError, match=r"no answer \(Connection refused\); start the server, or name its model"
    ):
        look_at_model("judge", address, photos)


def test_names_are_made_different_and_devices_are_written(photos: Pictures) -> None:
    models = [look_at_model("edit_model", written, photos) for written in ("testing", "testing", "x=testing")]
    assert list(apart(models)) == ["testing", "testing_2", "x"]
    assert on_devices({"type": "testing"}, "0,1") == {"type": "testing", "params": {"device_ids": [0, 1]}}
    assert on_devices({"type": "testing"}, "cpu:2")["params"] == {"device_ids": "cpu:2"}
