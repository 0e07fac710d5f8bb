"""What `--pictures` takes, and what is made of it."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from edit_eval.benchmarks.table import TableBenchmark
from edit_eval.errors import ConfigurationError
from edit_eval.starting.pictures import likely_edits, likely_pictures, look_at_pictures
from photographs import draw, name


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    draw(tmp_path, 4)
    return tmp_path


def test_a_folder_without_instructions_gets_a_table_to_fill_in(here: Path) -> None:
    found = look_at_pictures("photos")
    assert found.section == {"type": "table", "data_path": "photos/instructions.csv"}
    assert (found.empty, found.template) == (4, Path("photos/instructions.csv"))
    rows = list(csv.DictReader(found.new_file.splitlines()))
    assert rows[0] == {"id": name(0), "image": f"{name(0)}.jpg", "instruction": ""}
    assert found.ids == tuple(map(name, range(4)))
    assert not Path("photos/instructions.csv").exists()


def test_one_instruction_may_be_for_all(here: Path) -> None:
    found = look_at_pictures("photos", instruction='Make it "snow", please')
    assert found.empty == 0
    assert [row["instruction"] for row in csv.DictReader(found.new_file.splitlines())] == ['Make it "snow", please'] * 4


def test_pictures_of_one_name_have_ids_of_their_own(here: Path) -> None:
    (here / "photos" / f"{name(0)}.png").write_bytes((here / "photos" / f"{name(0)}.jpg").read_bytes())
    assert look_at_pictures("photos").ids[:3] == (f"{name(0)}_jpg", f"{name(0)}_png", name(1))


def test_no_name_of_a_picture_is_run_by_a_spreadsheet(here: Path) -> None:
    (here / "photos" / f"{name(0)}.jpg").rename(here / "photos" / "=1+cmd.jpg")
    found = look_at_pictures("photos", instruction="Make it blue")
    rows = list(csv.reader(found.new_file.splitlines()))
    assert not [cell for row in rows for cell in row if cell.startswith("=")]
    (here / "photos" / "instructions.csv").write_text(found.new_file)
    table = TableBenchmark(
        TableBenchmark.Parameters(data_path="photos/instructions.csv", cache_dir=str(here / "cache"))
    )
    assert [sample.id for sample in table.samples()] == list(found.ids)


def test_a_table_that_was_begun_is_taken_up_again(here: Path) -> None:
    (here / "photos" / "instructions.csv").write_text("id,image,instruction\na,x.jpg,Make it blue\nb,y.jpg,\n")
    found = look_at_pictures("photos")
    assert (found.ids, found.empty, found.new_file) == (("a", "b"), 1, "")
    with pytest.raises(ConfigurationError, match="already have instructions; leave it out"):
        look_at_pictures("photos", instruction="Make it red")


def test_a_readme_among_the_pictures_is_no_instruction(here: Path) -> None:
    (here / "photos" / "README.txt").write_text("From our holidays.\n")
    assert look_at_pictures("photos").empty == 4
    for number in range(3):
        (here / "photos" / f"{name(number)}.txt").write_text("Make it blue")
    found = look_at_pictures("photos")
    assert (found.section["data_path"], found.empty, found.template) == ("photos", 1, None)


def test_a_table(here: Path) -> None:
    (here / "my.csv").write_text("picture,task\nphotos/IMG_0000.jpg,Make it blue\nphotos/IMG_0001.jpg,Make it red\n")
    with pytest.raises(
        ConfigurationError, match=r"^--pictures: .*no column for the instruction.*`--field instruction="
    ):
        look_at_pictures("my.csv")
    found = look_at_pictures("my.csv", fields={"instruction": "task"})
    assert found.section == {"type": "table", "data_path": "my.csv", "fields": {"instruction": "task"}}
    assert found.ids == found.names == ("IMG_0000", "IMG_0001")
    assert found.folders == {here / "photos"}


def test_two_rows_of_one_picture_are_called_by_their_numbers(here: Path) -> None:
    (here / "my.csv").write_text("image,prompt\nphotos/IMG_0000.jpg,Make it blue\nphotos/IMG_0000.jpg,Make it red\n")
    assert look_at_pictures("my.csv").ids == ("00000", "00001")


def test_instructions_in_chinese_are_said_to_be(here: Path) -> None:
    (here / "my.csv").write_text("image,prompt\nphotos/IMG_0000.jpg,把天空变蓝\nphotos/IMG_0001.jpg,\n", "utf-8")
    assert look_at_pictures("my.csv").section["language"] == "zh"


def test_a_file_of_our_own_format(here: Path) -> None:
    from small_benchmark import write_benchmark

    assert look_at_pictures(str(write_benchmark(here))).section["type"] == "five_dimensions"


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
    assert look_at_pictures(written).section == section


def test_a_folder_of_folders_is_asked_about(here: Path) -> None:
    with pytest.raises(
        ConfigurationError, match=r"no pictures in it .*; these folders in it have: edits_a, edits_b, ph"
    ):
        look_at_pictures(".")


def test_what_is_meant_in_all_likelihood(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert likely_pictures() == "photos"
    names = [name(number) for number in range(4)]
    assert likely_edits(Path(), names) == ["edits_a", "edits_b", "photos"]
    (here / "edits_b" / f"{name(0)}.jpg").unlink()
    for number in (1, 2):
        (here / "edits_b" / f"{name(number)}.jpg").unlink()
    assert likely_edits(Path(), names) == ["edits_a", "photos"]
    (here / "my.csv").write_text("image,instruction\n")
    assert likely_pictures() == "my.csv"
    monkeypatch.chdir(here / "photos")
    assert likely_pictures() == "."
