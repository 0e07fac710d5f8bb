"""Hostile text cannot reach a terminal as anything but text."""

from __future__ import annotations

import io
import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from edit_eval.records import Scale
from edit_eval.reporting import formats
from edit_eval.reporting.terminal_text import Name, break_name, lines_of, one_line, pad_text, print_with_head, readable
from edit_eval.statistics.aggregates import Coverage


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
    assert break_name(name, cells) == lines


@given(st.text(st.sampled_from("ab_-./ 物"), max_size=30), st.integers(2, 12))
def test_a_broken_name_has_all_its_characters(name: str, cells: int) -> None:
    lines = break_name(name, cells)
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


@given(st.text(st.characters(), max_size=60), st.integers(1, 40))
def test_nothing_is_wider_than_asked_and_nothing_is_obeyed(text: str, cells: int) -> None:
    line = one_line(text, cells)
    assert cell_len(line) <= cells
    assert line.isprintable()
    assert cell_len(pad_text(text, cells)) == cells
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
    print_with_head(console, "name  ", Text("one two three four five six"))
    print_with_head(console, Text("path  "), Text("/a/very/long/path/to/some/image.png"))
    print_with_head(console, "text  ", Text("把天空变成橙色的日落并加上云"))
    assert file.getvalue().splitlines() == [
        "name  one two three four",
        "      five six",
        "path  /a/very/long/path/to/some/image.png",
        "text  把天空变成橙色的日",
        "      落并加上云",
    ]


def test_what_is_not_known_is_no_number() -> None:
    assert formats.score(None) == formats.span(None) == formats.span([None, 3.0]) == formats.duration(None) == "–"
    assert formats.share(1, 0) == "–"


def test_scores_and_intervals() -> None:
    assert formats.score(6.4251) == "6.43"
    assert formats.span([6.205, 10]) == "6.21–10.00"
    assert (formats.score(0.12345, 4), formats.score(-0.001), formats.score(-0.05)) == ("0.1235", "0.00", "-0.05")
    assert formats.span([-0.06, 0.5], 3) == "[-0.060, 0.500]"


@pytest.mark.parametrize(
    ("scale", "worst", "best", "written"),
    [
        (Scale(lowest=0, highest=10), 6.3, 6.5, "6.30–6.50"),
        (Scale(lowest=0, highest=1, higher_is_better=False), 0.5, 0.25, "0.50–0.25"),
        (Scale(lowest=0), 6.3, None, "6.30 … ∞"),
        (Scale(lowest=0, higher_is_better=False), None, 6.3, "∞ … 6.30"),
        (Scale(highest=0), None, -6.3, "-∞ … -6.30"),
        (Scale(highest=0, higher_is_better=False), -6.3, None, "-6.30 … -∞"),
        (Scale(), None, None, "–"),
    ],
)
def test_an_open_end_has_no_bound(scale: Scale, worst: float | None, best: float | None, written: str) -> None:
    block: Any = SimpleNamespace(worst_case_mean=worst, best_case_mean=best)
    assert formats.worst_to_best(block, scale) == written


@pytest.mark.parametrize(
    ("scale", "largest", "digits"),
    [
        (Scale(lowest=0, highest=10), 0.1, 2),
        (Scale(lowest=1, highest=5), 5.0, 2),
        (Scale(lowest=-1, highest=1), 1.0, 3),
        (Scale(lowest=0, highest=1), 1.0, 3),
        (Scale(), 40.0, 2),
        (Scale(lowest=0), 0.0123, 5),
        (Scale(lowest=0), 1e-9, 6),
        (Scale(), None, 2),
    ],
)
def test_a_narrow_scale_has_more_digits(scale: Scale, largest: float | None, digits: int) -> None:
    assert formats.decimals(scale, largest) == digits


@pytest.mark.parametrize(("ends", "digits"), [((0.0001, 0.0007), 4), ((0.1, 0.3), 3), ((0.2, 0.2), 3), (None, 3)])
def test_and_so_has_a_narrow_interval(ends: tuple[float, float] | None, digits: int) -> None:
    assert formats.decimals(Scale(lowest=0, highest=1), 1.0, [ends, (0.0, 0.9)]) == digits


@pytest.mark.parametrize(
    ("seconds", "long", "short"),
    [
        (0.0, "0.0 s", "0.0s"),
        (0.84, "0.8 s", "0.8s"),
        (9.96, "10 s", "10s"),
        (59.4, "59 s", "59s"),
        (59.6, "1 min 00 s", "1m00s"),
        (200, "3 min 20 s", "3m20s"),
        (3599.7, "1 h 00 min", "1h00m"),
        (18240, "5 h 04 min", "5h04m"),
    ],
)
def test_durations(seconds: float, long: str, short: str) -> None:
    assert formats.duration(seconds) == long
    assert formats.short_duration(seconds) == short


@pytest.mark.parametrize(("part", "written"), [(0, "0%"), (0.1, "<1%"), (50, "50%"), (99.9, ">99%"), (100, "100%")])
def test_a_share_is_all_or_nothing_only_if_it_is(part: float, written: str) -> None:
    assert formats.share(part, 100) == written


def test_complete_means_everything() -> None:
    by_status: dict[str, int] = {}
    assert Coverage(scored=3, total=3, asked_again=0, by_status=by_status).complete
    assert not Coverage(scored=2, total=3, asked_again=0, by_status=by_status).complete


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.8, "0.8 秒"), (42, "42 秒"), (200, "3 分 20 秒"), (18240, "5 小时 04 分"), (None, "–")]
)
def test_durations_in_chinese(seconds: float | None, shown: str) -> None:
    assert formats.duration(seconds, "zh") == shown


def test_an_authors_number_has_the_digits_that_tell_models_apart() -> None:
    assert [formats.format_published(value) for value in (7.877, 0.0625, -0.25, None)] == [
        "7.88",
        "0.0625",
        "-0.2500",
        "–",
    ]
