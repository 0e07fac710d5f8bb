"""Edits made elsewhere, by the table's own columns."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from edit_eval.benchmarks.table import TableBenchmark
from edit_eval.edit_models.contract import Finished, SampleNames
from edit_eval.edit_models.table_column import TableColumn
from edit_eval.errors import ConfigurationError
from edit_eval.pictures import open_picture

COLOURS = {"a": "red", "b": "blue"}


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name, colour in COLOURS.items():
        Image.new("RGB", (16, 12), colour).save(tmp_path / f"{name}.png")
    file = tmp_path / "my.csv"
    file.write_text("name,image,prompt,one,two\nx,a.png,Add.,b.png,a.png\ny,b.png,Add.,,a.png\n")
    return file


def found(table: Path, column: str, *ids: str, **about: str) -> Finished:
    return TableColumn.match_edits(TableColumn.Parameters(str(table), column, **about), SampleNames(ids))


def colour(edits: Finished, sample_id: str) -> object:
    path, digest = edits.files[sample_id]
    return open_picture(path, digest=digest).getpixel((0, 0))


def test_a_rows_picture_is_the_edit_of_the_sample_with_its_id(table: Path) -> None:
    assert colour(found(table, "two", "a", "b"), "b") == (255, 0, 0)  # called as its source, not as the edit
    assert colour(found(table, "one", "x", id="name"), "x") == (0, 0, 255)


def test_the_column_of_the_sources_may_be_named(table: Path) -> None:
    table.write_text("mine,prompt,one\na.png,Add.,b.png\nb.png,Add.,a.png\n")
    edits = found(table, "one", "a", "00000", source="mine")
    assert colour(edits, "a") == (0, 0, 255)
    assert edits.lacking["00000"].startswith("no edit of sample '00000' in the column one of ")


def test_what_is_missing_has_its_reason(table: Path) -> None:
    lacking = found(table, "one", "x", "y", "X", "z", id="name").lacking
    assert lacking["y"].endswith(": no source")
    assert lacking["z"] == f"no edit of sample 'z' in the column one of {table}"
    assert found(table, "one", "x", "Y", id="name").lacking["Y"].endswith(": did you mean row 2 (y)?")


def test_an_id_that_two_rows_have_is_no_samples(table: Path) -> None:
    table.write_text("id,prompt,one\nx,Add.,a.png\nx,Add.,b.png\ny,Add.,a.png\n")
    edits = found(table, "one", "x", "y")
    assert edits.files.keys() == {"y"}
    assert edits.lacking["x"].endswith(": row 1 (x) and row 2 (x) are both called so")


def test_an_edit_is_known_by_its_bytes(table: Path) -> None:
    before = {column: found(table, column, "a", "b").files for column in ("one", "two")}
    Image.new("RGB", (16, 12), "green").save(table.with_name("b.png"))
    after = {column: found(table, column, "a", "b").files for column in ("one", "two")}
    assert (before["one"] == after["one"], before["two"] == after["two"]) == (False, True)


def test_a_column_that_is_not_there(table: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"^column: .*my\.csv has no column 'three'; valid are name, image"):
        found(table, "three", "a")
    with pytest.raises(ConfigurationError, match="does not exist"):
        found(table.with_name("no.csv"), "one", "a")


NAMES = [f"{folder}/{number}" for folder in "ab" for number in range(3)]


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pictures")
    for number, name in enumerate(NAMES):
        for kind, blue in (("q", 100), ("f", 103)):
            path = folder / kind / f"{name}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (4, 4), (40 * number, 0, blue)).save(path)
    return folder


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    samples=st.permutations(NAMES),
    edits=st.permutations(NAMES),
    with_ids=st.booleans(),
    pick=st.randoms(use_true_random=False),
)
def test_rows_in_any_order_of_either_table(
    samples: list[str], edits: list[str], with_ids: bool, pick: random.Random, pictures: Path
) -> None:
    """Two tables by picture, and by id: each sample has the edit of its own source, whatever stands where."""
    number = pick.getrandbits(40)
    head, first = ("id,", lambda name: f"{name},") if with_ids else ("", lambda name: "")
    ours, theirs = pictures / f"ours{number}.csv", pictures / f"theirs{number}.csv"
    ours.write_text(f"{head}image,prompt\n" + "".join(f"{first(n)}q/{n}.png,Do\n" for n in samples))
    theirs.write_text(f"{head}image,mine\n" + "".join(f"{first(n)}q/{n}.png,f/{n}.png\n" for n in edits))
    cache = str(pictures / "cache")
    benchmark = TableBenchmark(TableBenchmark.Parameters(str(ours), cache_dir=cache))
    read = list(benchmark.samples())
    asked = SampleNames([sample.id for sample in read], benchmark.source_names, str(ours))
    there = TableColumn.match_edits(TableColumn.Parameters(str(theirs), "mine"), asked)
    assert not there.lacking
    assert not there.left
    for sample in read:
        source, edit = open_picture(sample.pictures["source"].path), open_picture(there.files[sample.id][0])
        assert source.getpixel((0, 0))[0] == edit.getpixel((0, 0))[0]
