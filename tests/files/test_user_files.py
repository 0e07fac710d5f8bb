"""Files that others wrote: what is taken, what is refused, and what is said of it."""

from __future__ import annotations

import ast
import io
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import edit_eval
from edit_eval.files.user_files import (
    DEEPEST,
    UnfitFile,
    number,
    open_text,
    parse_json,
    read_bytes,
    read_json,
    read_text,
    split_lines,
    whole_number,
)


class Shape(msgspec.Struct):
    numbers: list[float]
    more: dict[str, Any] = {}


def test_a_file_is_read_as_its_type(tmp_path: Path) -> None:
    file = tmp_path / "it.json"
    file.write_bytes(b'\xef\xbb\xbf{"numbers": [1, 2.5], "more": {"[[": "\\"[[["}}')
    assert read_json(file, Shape) == Shape([1.0, 2.5], {"[[": '"[[['})
    (tmp_path / "link").symlink_to(file)
    assert read_json(tmp_path / "link", Shape).numbers == [1.0, 2.5]


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "nothing", "a NUL"])
def test_what_is_no_file_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    path = {"device": Path("/dev/zero"), "folder": tmp_path, "a NUL": Path("a\0b")}.get(kind, tmp_path / "it")
    if kind == "pipe":
        os.mkfifo(path)  # nobody writes: to open it as a file is would last for ever
    with pytest.raises(UnfitFile) as refused:
        read_bytes(path)
    assert refused.value.missing is (kind == "nothing")
    assert str(path) in str(refused.value)


def test_a_file_may_have_so_many_bytes_and_no_more(tmp_path: Path) -> None:
    file = tmp_path / "it"
    file.write_bytes(b"x" * 10)
    assert read_bytes(file, 10) == b"x" * 10
    with pytest.raises(UnfitFile, match="larger than 9 bytes"):
        read_bytes(file, 9)


def test_text_is_utf_8(tmp_path: Path) -> None:
    file = tmp_path / "it"
    file.write_bytes("\ufeffa,红\r\n1,2\n".encode())
    assert read_text(file) == "a,红\r\n1,2\n"
    assert [*open_text(file)] == ["a,红\r\n", "1,2\n"]
    file.write_bytes("é".encode("latin-1"))
    with pytest.raises(UnfitFile, match="not UTF-8"):
        read_text(file)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[]", "Expected `object`"),
        (b"{}", "numbers"),
        (b'{"numbers": [1, "x"]}', "at `numbers[1]`"),
        (b'{"numbers": [1, true]}', "at `numbers[1]`"),
        (b'{"numbers": [NaN]}', "not JSON"),
        (b'{"numbers": [-Infinity]}', "not JSON"),
        (b'{"numbers": [1e999]}', "out of range"),
        (b'{"numbers": [], "more": {"x": ' + b"9" * 5000 + b"}}", "out of range"),
        (b'{"numbers": [], "more": {"x": 1e999}}', "out of range"),
        (b"[" * 300_000, f"more than {DEEPEST} brackets"),
        (b'{"numbers": [], "more": {"x": ' + b"[" * DEEPEST + b"]" * DEEPEST + b"}}", f"more than {DEEPEST} brackets"),
        (b'"' + b'\\"' * 300_000 + b"[" * 300_000, "not JSON"),
    ],
)
def test_what_is_wrong_and_where_is_said_in_one_line(content: bytes, said: str) -> None:
    with pytest.raises(UnfitFile) as refused:
        parse_json(content, Shape, "them.json")
    assert str(refused.value).startswith("them.json: ")
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 400


def test_numbers_of_a_table_are_written_with_ten_digits() -> None:
    assert [number(one) for one in ("7", " 7.5 ", "+.5", "-1e2", "7.", "1e100")] == [7.0, 7.5, 0.5, -100.0, 7.0, 1e100]
    for written in ("", "1_0", "٧", "７", "nan", "inf", "1e308", "1e999", "0x7", "7,5", "1e", ".", "--7"):
        with pytest.raises(ValueError) as refused:  # noqa: PT011 (whoever catches it says which and where)
            number(written)
        assert str(refused.value) == written
    assert [whole_number(one) for one in ("7", "-1", "+0")] == [7, -1, 0]
    for written in ("", "1_0", "٧", "1.0", "1e2", "9" * 19):
        with pytest.raises(ValueError) as refused:  # noqa: PT011
            whole_number(written)
        assert str(refused.value) == written


OURS = {
    "benchmarks/table.py": "a table of ours",
    "config/components.py": "a docstring",
    "config/shipped.py": "a configuration of ours",
    "plugins/endpoints/in_worker/server.py": "the log of a server, shown to people",
    "plugins/preparation/probing.py": "what a program of ours prints",
    "execution/machine/environments.py": "what pip prints",
    "judges/answers.py": "a reply: a score has a line of its own, however that line ends",
    "judges/unseen_pictures.py": "a reply",
    "plugins/published/imgedit.py": "a reply",
    "plugins/published/rededit.py": "a reply, as its authors' script does",
    "plugins/rehearse/stand_ins.py": "what a program prints",
    "plugins/rehearse/start.py": "a file of ours",
    "plugins/scenes/in_worker/language.py": "an instruction of ours",
    "pretrained/host_memory.py": "files of the kernel's",
    "reporting/render_subprocess.py": "what a program of ours prints",
    "reporting/terminal_text.py": "for a terminal",
    "store/table.py": "bytes, which end at line ends alone",
    "verbs/command_line.py": "for a terminal",
}
"""Who may break a text wherever Unicode would: `str.splitlines`."""


def test_nobody_else_breaks_what_others_wrote_at_more_than_line_ends() -> None:
    source = Path(edit_eval.__file__).parent
    breaking = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if "splitlines" in (text := path.read_text("utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute) and node.attr == "splitlines"
    }
    assert breaking - {*OURS} == set(), "take `split_lines`"
    assert {*OURS} - breaking == set(), "this is no longer so"


@given(st.text(alphabet="ab\n\r\x0b\x0c\x1c\x85\u2028\u2029"))
def test_lines_are_those_that_a_file_opened_as_text_has(text: str) -> None:
    as_a_file = [line.removesuffix("\n") for line in io.StringIO(text, newline=None)]
    assert split_lines(text) == as_a_file
