"""Edits made elsewhere, by the table's own columns."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from edit_eval.edit_models.contract import EditRequest
from edit_eval.edit_models.table_column import TableColumn
from edit_eval.errors import ConfigurationError, LoadError, ModelError

COLOURS = {"a": "red", "b": "blue"}


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name, colour in COLOURS.items():
        Image.new("RGB", (16, 12), colour).save(tmp_path / f"{name}.png")
    file = tmp_path / "my.csv"
    file.write_text("name,image,prompt,one,two\nx,a.png,Add.,b.png,a.png\ny,b.png,Add.,,a.png\n")
    return file


def edit(model: TableColumn, sample_id: str) -> Image.Image:
    blank = Image.new("RGB", (1, 1))
    return model.edit(EditRequest(pictures={"source": blank}, instruction="", seed=0, sample_id=sample_id), print)


def model(table: Path, column: str, **about: str) -> TableColumn:
    made = TableColumn(TableColumn.Parameters(str(table), column, **about))
    made.load(["cpu"])
    return made


def test_a_rows_picture_is_the_edit_of_the_sample_with_its_id(table: Path) -> None:
    assert edit(model(table, "two"), "b").getpixel((0, 0)) == (255, 0, 0)  # called as its source, not as the edit
    column = model(table, "one", id="name")
    assert edit(column, "x").getpixel((0, 0)) == (0, 0, 255)
    assert column.about() == {"table": str(table), "column": "one", "edits": "1"}


def test_the_column_of_the_sources_may_be_named(table: Path) -> None:
    table.write_text("mine,prompt,one\na.png,Add.,b.png\nb.png,Add.,a.png\n")
    assert edit(model(table, "one", source="mine"), "a").getpixel((0, 0)) == (0, 0, 255)
    with pytest.raises(ModelError, match="no row of that id"):
        edit(model(table, "one", source="mine"), "00000")


def test_what_is_missing_is_a_failed_edit_with_its_reason(table: Path) -> None:
    column = model(table, "one", id="name")
    with pytest.raises(ModelError, match="no edit of sample 'y' in the column one: no source"):
        edit(column, "y")
    with pytest.raises(ModelError, match=r"my\.csv has no row of that id"):
        edit(column, "z")


def test_a_changed_picture_is_another_revision(table: Path) -> None:
    before = {column: TableColumn.revision(TableColumn.Parameters(str(table), column)) for column in ("one", "two")}
    assert before["one"] != before["two"]
    Image.new("RGB", (16, 12), "green").save(table.with_name("b.png"))
    after = {column: TableColumn.revision(TableColumn.Parameters(str(table), column)) for column in ("one", "two")}
    assert (before["one"] == after["one"], before["two"] == after["two"]) == (False, True)


def test_a_column_that_is_not_there(table: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"^column: .*my\.csv has no column 'three'; valid are name, image"):
        TableColumn.revision(TableColumn.Parameters(str(table), "three"))
    with pytest.raises(LoadError, match="does not exist"):
        model(table.with_name("no.csv"), "one")
