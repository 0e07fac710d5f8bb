"""Hostile text cannot reach a terminal as anything but text."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from edit_eval.reporting.terminal_text import (
    Beginning,
    Name,
    broken,
    lines_of,
    one_line,
    padded,
    print_beside,
    readable,
    whole_words,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("two\nlines\r\nand\ta tab\u2028here", "two lines and a tab here"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x9b2Jcleared", "cleared"),
        ("\x1b]0;a title\x07after", "after"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]52;c;never ended", "52;c;never ended"),
        ("\x1bPdevice control\x1b\\rest", "rest"),
        ("bell\x07 back\x08 nul\x00", "bell back nul"),
        ("\u202egpj.exe\u202c", "gpj.exe"),
        ("half \ud800 pair", "half \ufffd pair"),
        ("[bold]not markup[/bold] :smile:", "[bold]not markup[/bold] :smile:"),
        ("把天空变成日落", "把天空变成日落"),
        (12.5, "12.5"),
    ],
)
def test_one_line(text: object, shown: str) -> None:
    assert one_line(text) == shown


@pytest.mark.parametrize(
    ("cells", "shown"), [(14, "物理物理物理物"), (13, "物理物理物理…"), (12, "物理物理物…"), (1, "…")]
)
def test_a_cjk_character_takes_two_columns(cells: int, shown: str) -> None:
    assert one_line("物理物理物理物", cells) == shown


@pytest.mark.parametrize(
    ("line", "cells", "shown"),
    [
        ("the light follows the window", 40, "the light follows the window"),
        ("the light follows the window", 20, "the light follows…"),
        ("the light, follows the window", 12, "the light…"),
        ("one verylongwordwithoutanyend at all", 16, "one verylongwor…"),
        ("编辑基本符合指令,光影一致", 13, "编辑基本符合…"),
        ("编辑 good 编辑基本", 10, "编辑 good…"),
        ("word", 0, "…"),
    ],
)
def test_words_are_kept_whole(line: str, cells: int, shown: str) -> None:
    assert whole_words(line, cells) == shown


@pytest.mark.parametrize(
    ("name", "cells", "lines"),
    [
        ("qwen_image_edit", 15, ["qwen_image_edit"]),
        ("qwen_image_edit_2509_lightning", 16, ["qwen_image_edit_", "2509_lightning"]),
        ("Qwen/Qwen3-VL-30B-A3B", 10, ["Qwen/", "Qwen3-VL-", "30B-A3B"]),
        ("strict, kind", 8, ["strict,", "kind"]),
        ("unbreakable_verylongpart", 8, ["unbreaka", "ble_", "verylong", "part"]),
        ("物理与几何一致性", 7, ["物理与", "几何一", "致性"]),
        ("", 8, [""]),
        ("物", 1, ["物"]),
    ],
)
def test_names_are_broken_where_they_have_a_joint(name: str, cells: int, lines: list[str]) -> None:
    assert broken(name, cells) == lines


@given(st.text(st.sampled_from("ab_-./ 物"), max_size=30), st.integers(2, 12))
def test_a_broken_name_has_all_its_characters(name: str, cells: int) -> None:
    lines = broken(name, cells)
    assert "".join("".join(lines).split()) == "".join(name.split())
    assert all(cell_len(line) <= cells for line in lines)


def test_a_name_takes_the_lines_that_its_column_needs() -> None:
    file = io.StringIO()
    table = Table(box=None, pad_edge=False, padding=0)
    table.add_column("", overflow="fold")
    table.add_column("", no_wrap=True)
    table.add_row(Name("qwen_image_edit\x1b[2J", indent=2), "6.43 6.06")
    Console(file=file, width=24).print(table)
    assert [line.rstrip() for line in file.getvalue().splitlines()][1:] == ["  qwen_image_  6.43 6.06", "  edit"]


def test_a_beginning_takes_the_room_there_is() -> None:
    file = io.StringIO()
    for width in (12, 20, 80):
        Console(file=file, width=width).print(Beginning("the light\nfollows \x1b[2Jthe window"))
    assert file.getvalue().splitlines() == ["the light…", "the light follows…", "the light follows the window"]


@given(st.text(st.characters(), max_size=60), st.integers(1, 40))
def test_nothing_is_wider_than_asked_and_nothing_is_obeyed(text: str, cells: int) -> None:
    line = one_line(text, cells)
    assert cell_len(line) <= cells
    assert line.isprintable()
    assert cell_len(padded(text, cells)) == cells
    line.encode("utf-8")


def test_a_flood_of_marks_that_take_no_room_ends() -> None:
    assert len(one_line("e" + "\u0301" * 1_000_000, 20)) <= 2_000


def test_a_flood_of_openings_is_read_in_no_time() -> None:
    assert one_line("\x1b]" * 1_000_000).strip() == ""


def test_lines_of_keeps_lines() -> None:
    assert lines_of("\nfirst\x1b[2J\n\n  second \n") == ["first", "", "second"]


def test_readable_documents_can_be_written() -> None:
    document = readable({"a\ud800": ["b\udfff", 1, None, 2.5, True, ("c",)]})
    assert document == {"a?": ["b?", 1, None, 2.5, True, ["c"]]}
    json.dumps(document, ensure_ascii=False).encode("utf-8")


def test_print_beside_wraps_in_its_column_but_no_path() -> None:
    file = io.StringIO()
    console = Console(file=file, width=24)
    print_beside(console, "name  ", Text("one two three four five six"))
    print_beside(console, Text("path  "), Text("/a/very/long/path/to/some/image.png"))
    print_beside(console, "text  ", Text("把天空变成橙色的日落并加上云"))
    assert file.getvalue().splitlines() == [
        "name  one two three four",
        "      five six",
        "path  /a/very/long/path/to/some/image.png",
        "text  把天空变成橙色的日",
        "      落并加上云",
    ]
