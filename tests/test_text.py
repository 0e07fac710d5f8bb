"""A Text is its English, remembers how it was made, and a translation changes nothing in it that is not ours."""

from __future__ import annotations

import json
import pickle
import random
import string
import warnings

import msgspec
import pytest

import source_texts
from edit_eval.errors import ConfigurationError
from edit_eval.reporting.language import catalogue, translate
from edit_eval.text import (
    CONTEXT,
    EnglishOnly,
    Text,
    join_texts,
    pluralize,
    text_from_json,
    text_to_json,
    translate_pieces,
)
from edit_eval.verbs.command_line import say

SEPARATORS = {"": "、", "; ": "；", " and ": " 和 "}
CHINESE = {
    "{} of {} are scored": "{1} 个中有 {0} 个已评分",
    "not found": "未找到",
    "{} edit": "{} 个编辑结果",
    "{} ({})": "{}（{}）",
    "{} ({:; })": "{}（{:; }）",
}


def in_chinese(value: Text | str) -> str:
    assert isinstance(value, Text)
    return "".join(words for words, _ in translate_pieces(value, CHINESE, SEPARATORS))


def test_it_is_its_english() -> None:
    text = Text("{} of {} are scored", 268, 270)
    assert text == "268 of 270 are scored"
    assert isinstance(text, str)
    assert {text: 1}["268 of 270 are scored"] == 1
    assert json.dumps([text]) == '["268 of 270 are scored"]'
    assert msgspec.json.encode({"a": str.__str__(text)}) == b'{"a":"268 of 270 are scored"}'


def test_numbers_keep_their_places_in_another_order() -> None:
    assert in_chinese(Text("{} of {} are scored", 268, 270)) == "270 个中有 268 个已评分"


def test_a_field_that_is_a_text_is_translated_and_another_is_not() -> None:
    assert in_chinese(Text("{} ({})", "not found", Text("not found"))) == "not found（未找到）"


def test_lists_have_the_separators_of_the_language() -> None:
    assert Text("{} ({:; })", ["a", "b"], ["c", Text("not found")]) == "a, b (c; not found)"
    assert in_chinese(Text("{} ({:; })", ["a", "b"], ["c", Text("not found")])) == "a、b（c；未找到）"
    assert in_chinese(join_texts([Text("not found"), "x"])) == "未找到；x"
    for names, english, chinese in (
        ("a", "a", "a"), ("ab", "a and b", "a 和 b"), ("abcd", "a, b, c and d", "a、b、c 和 d"),
    ):  # fmt: skip
        assert (str(Text("{: and }", list(names))), in_chinese(Text("{: and }", list(names)))) == (english, chinese)


@pytest.mark.parametrize(("count", "words"), [(0, "0 edits"), (1, "1 edit"), (2, "2 edits")])
def test_one_and_many(count: int, words: str) -> None:
    assert pluralize(count, "edit") == words
    assert in_chinese(pluralize(count, "edit")) == f"{count} 个编辑结果"


def test_without_a_translation_the_whole_sentence_is_english() -> None:
    assert in_chinese(Text("{} of them: {}", 3, Text("not found"))) == "3 of them: not found"


def test_it_survives_an_error_and_a_pipe() -> None:
    text = Text("{} of {} are scored", 1, 2)
    assert in_chinese(str(ConfigurationError(text))) == "2 个中有 1 个已评分"
    assert in_chinese(pickle.loads(pickle.dumps(text))) == "2 个中有 1 个已评分"


def test_sums_are_texts_and_an_f_string_of_one_is_told() -> None:
    assert in_chinese("a: " + Text("not found") + "!") == "a: 未找到!"
    with pytest.warns(EnglishOnly):
        assert f"a: {Text('not found')}" == "a: not found"
    with warnings.catch_warnings(record=True) as shown:
        warnings.resetwarnings()
        warnings.filterwarnings("ignore", category=PendingDeprecationWarning)  # Python's own setting
        f"{Text('x')}"
    assert not shown


def test_a_missing_field_is_an_error() -> None:
    with pytest.raises(IndexError):
        Text("{} of {}", 1)


def english_sentences(count: int) -> list[str]:
    """Sentences as libraries, servers, models and users write them: with the words of our own templates, and braces."""
    dice = random.Random(7)
    words = ["it", "this", "the", "picture", "user", "server", "edit", "judge", "model", "no", "file", "memory"]
    verbs = ["is", "is not", "cannot be", "has no", "was", "does not have", "of", "are scored", "failed:"]
    rest = ["safe", "black", "unknown", "{x}", "{0}", "{}", "268 270", "found", "the same person", "100 %", "{", "}}"]
    return [
        " ".join([dice.choice(words), dice.choice(verbs), dice.choice(rest), dice.choice(rest)]) for _ in range(count)
    ]


@pytest.mark.check
def test_500_foreign_sentences_go_through_every_template_unchanged() -> None:
    foreign = english_sentences(500)
    foreign += ["我的 图片.csv", "甲 乙，丙 ；丁", "（ 旧 ） 目录 /图 1.png", " 前后都有空格 "] * 20
    templates = [t for t in catalogue("zh") if "{" in t and t not in source_texts.own_words()]
    assert len(templates) > 500
    tried = set()
    for number, key in enumerate([*templates, *templates]):
        context, _, template = key.rpartition(CONTEXT)
        fields = [(n, spec, conv) for _, n, spec, conv in string.Formatter().parse(template) if n is not None]
        numbered = {n: (spec, conv) for n, spec, conv in fields}
        last = max(map(int, numbered), default=-1) if "" not in numbered else -1  # a count may decide and not be shown
        places = range(1 + last)
        parts = [numbered.get(str(n), ("d", None)) for n in places] or [(s, c) for _, s, c in fields]
        values: list[object] = []
        for i, (spec, conversion) in enumerate(parts):
            words = foreign[(number + i) % len(foreign)]
            values.append(7 + i if spec and spec[-1] in "dfgeE,%" else [words] if spec else words)
            if not conversion and not spec:
                tried.add(words)
        chinese = translate(Text(template, *values, context=context), "zh")
        for value, (_, conversion) in zip(values, parts, strict=True):
            if isinstance(value, str) and not conversion:
                assert value in chinese, template
    assert len(tried) == len(set(foreign))


@pytest.mark.parametrize("path", ["我的 图片.csv", "图 ", " 图", "甲：乙 丙，丁 "])
def test_spaces_of_data_stay_and_those_between_our_own_words_go(path: str) -> None:
    assert translate(Text("{} is not there", path), "zh").startswith(path)
    assert translate(Text("{}: {}", Text("not found"), path), "zh") == f"{translate(Text('not found'), 'zh')}：{path}"
    assert translate(Text("{} {}", Text("not done yet"), Text("not done yet")), "zh") == "尚未完成尚未完成"


def test_words_with_two_meanings_have_a_context() -> None:
    assert Text("failed", context="verdict") == Text("failed") == "failed"
    assert translate(Text("failed", context="verdict"), "zh") == "未通过"
    assert translate(Text("failed"), "zh") == "失败"
    assert pickle.loads(pickle.dumps(Text("failed", context="verdict"))).context == "verdict"


def test_a_value_is_shown_as_python_has_it() -> None:
    assert Text("it is {!r}, {!r}, {!r} and {}", None, b"x", ["a"], None) == "it is None, b'x', ['a'] and None"


@pytest.mark.parametrize(
    "line",
    [
        'x = "; ".join(Text("a {}", n) for n in some)',
        'x = " ".join(Text("{}: {}", a, b).split())',
        'x = ", ".join([a, Text("b")])',
        'def f():\n    said = [Text("a")]\n    return "; ".join([*said, *others])',
        'def f():\n    what = Text("a") if b else "c"\n    return what.partition(":")',
    ],
)
def test_where_a_text_loses_its_template_is_found(line: str) -> None:
    assert list(source_texts.losses(line))


def test_no_text_loses_its_template() -> None:
    # What is wrong with a sample is a record, which is plain English.
    files = [
        file for file in source_texts.SRC.rglob("*.py") if file.parent.name != "benchmarks" and file.name != "text.py"
    ]
    losses = {
        f"{file.relative_to(source_texts.SRC)}:{line}"
        for file in files
        for line in source_texts.losses(file.read_text(encoding="utf-8"))
    }
    assert not losses


@pytest.mark.parametrize("line", ["error: a  b.csv is not there", "  two  spaces\n  and a line \n\n below"])
def test_only_line_breaks_are_folded(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    say(line)
    assert capsys.readouterr().err == line.replace("\n  and a line \n\n below", " and a line below") + "\n"


def test_a_sentence_of_the_records_is_told_in_another_language_all_the_same() -> None:
    inner = Text("{} sample", 3, plural="{} samples")
    note = Text("{:; }: {}{}", [inner, "photo {}.jpg", 4], None, Text("open", context="door"))
    again = text_from_json(json.loads(json.dumps(text_to_json([note, "plain", Text("")]))))
    assert again == [note, "plain", ""]
    assert (again[0].template, again[0].fields[0][0].key) == (note.template, inner.key)
    assert again[0].fields[2].key == note.fields[2].key


@pytest.mark.parametrize(
    "broken",
    [{"text": "a"}, {"text": "a", "template": "{} {}", "fields": ["x"]}, {"text": "a", "template": 4, "fields": 5}],
)
def test_a_damaged_one_is_its_english(broken: dict[str, object]) -> None:
    assert text_from_json([broken]) == ["a"]
