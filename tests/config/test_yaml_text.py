from __future__ import annotations

import math
import time
from itertools import pairwise

import pytest

from edit_eval.config.yaml_text import parse
from edit_eval.errors import ConfigurationError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("off", "off"),
        ("Yes", "Yes"),
        ("true", True),
        ("False", False),
        ("1e-4", 1e-4),
        ("1E+5", 1e5),
        (".5", 0.5),
        ("1.", 1.0),
        ("50", 50),
        ("-3", -3),
        ("0x1F", 31),
        ("0", 0),
        ("00012", "00012"),
        ("1_000", "1_000"),
        ("12:30:15", "12:30:15"),
        ("2026-11-20", "2026-11-20"),
        ("cuda:1", "cuda:1"),
        ("'50'", "50"),
        ("~", None),
        ("", None),
        ("null", None),
        ("=", "="),
        (".inf", math.inf),
    ],
)
def test_scalars_are_those_of_yaml_1_2(text: str, value: object) -> None:
    read = parse(f"key: {text}", "x.yaml")["key"]
    assert read == value
    assert type(read) is type(value)


def test_keys_are_text() -> None:
    assert parse("{no: 1, 2: 3, 1.5: 4, null: 5}", "x.yaml") == {"no": 1, "2": 3, "1.5": 4, "null": 5}


@pytest.mark.parametrize(
    "text",
    [
        "a: 像：这样",
        "物理：几何: {x: 1}",
        '"b：": 1',
        "a: |\n  key：value",
        "a: [甲，乙]",
        "'k [0]': 1",
        "a:\n  甲：乙",
    ],
)
def test_full_width_marks_within_text_are_text(text: str) -> None:
    parse(text, "x.yaml")


def test_aliases_and_merges_work() -> None:
    text = "a: &a {k: 1, l: 1}\nb: *a\nc: {<<: *a, k: 2}\nd: {<<: [{k: 3}, *a], m: 4}"
    read = parse(text, "x.yaml")
    assert read["b"] == {"k": 1, "l": 1}
    assert read["c"] == {"k": 2, "l": 1}
    assert read["d"] == {"k": 3, "l": 1, "m": 4}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\nb:\n  c: 1\n  c: 2\n", "x.yaml:4: `c` is given twice"),
        ("a: [1, 2\nb: 2", "x.yaml:2:2: not valid YAML: expected ',' or ']', but got ':'"),
        ("a:\n\tb: 3", "x.yaml:2:1: not valid YAML: a tab; indent with spaces"),
        (
            "a: b: c",
            "x.yaml:1:5: not valid YAML: a second colon; put text that has `: ` in quotes, or begin a new line",
        ),
        ("x: 1\na {type: b}\nc: 2", "x.yaml:2: no colon behind `a`; write `a: `"),
        ("x: 1\na\n  type: b\nc: 2", "x.yaml:2: not valid YAML: no colon behind `a`; write `a: `"),
        ("x：b\na: {type: c}", "x.yaml:1: not valid YAML: a full-width colon (：) behind `x`; write `x: `"),
        ("x: 1\na：{type: c}", "x.yaml:2: a full-width colon (：) behind `a`; write `a: `"),
        ("x:\n  type：c\ny: 1", "x.yaml:2: a full-width colon (：) behind `type`; write `type: `"),
        (
            "x: {type: a， params: {b: 1}}",
            "x.yaml:1: not valid YAML: a full-width comma (，); between values write `, `",
        ),
        ("a: 1\n---\nb: 2", "x.yaml:2:1: not valid YAML: more than one document (`---`)"),
        ("a: *x", "x.yaml:1:4: not valid YAML: found undefined alias 'x'"),
        ("a: \x01", "x.yaml:1: not valid YAML: it holds a control character"),
        ("? [1, 2]\n: 3", "x.yaml:1: a key must be text; braces in text need quotes"),
        ("a: !!int abc", "x.yaml:1: cannot read 'abc' as int"),
        ("a: !mine 3", "x.yaml:1: the tag !mine is not allowed; only plain values are read"),
        ("a: !!binary aGk=", "x.yaml:1: the tag !!binary is not allowed; only plain values are read"),
        ("a: &x [*x]", "x.yaml:1: an alias (`*name`) that contains itself"),
        ("a: {<<: 3}", "x.yaml:1: `<<` wants a mapping"),
    ],
)
def test_one_line_with_the_place(text: str, line: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse(text, "x.yaml")
    assert str(caught.value) == line


@pytest.mark.parametrize(
    "text",
    [
        "a: !!python/object/apply:os.system ['touch canary']",
        "a: !!python/name:os.system ''",
        "a: !!python/object/new:type {}",
        "!!python/module:os ''",
    ],
)
def test_python_objects_are_refused(text: str, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError, match="is not allowed"):
        parse(text, "x.yaml")
    assert list(tmp_path.iterdir()) == []


def _bomb(levels: str) -> str:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [f"{name}: &{name} [{', '.join([f'*{below}'] * 9)}]" for below, name in pairwise(levels)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    "text",
    [
        _bomb("abcdefghijklmnop"),
        "a: &a " + "x" * 100_000 + "\nb: [" + ", ".join(["*a"] * 5000) + "]",
        "[" * 3000,
        "{a: " * 3000,
    ],
    ids=["lists", "text", "depth", "mappings"],
)
def test_bombs_are_refused_quickly(text: str) -> None:
    begin = time.thread_time()  # of this thread alone, however busy the machine is
    with pytest.raises(ConfigurationError, match=r"aliases|nested too deeply"):
        parse(text, "x.yaml")
    assert time.thread_time() - begin < 60
