"""Which language is spoken, and where: headings, cells and lines, never names, a judge's words, records or JSON."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
from rich.cells import cell_len
from rich.console import Console, Group
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from edit_eval.records import Judgement, Status
from edit_eval.reporting.chinese import spoken as language
from edit_eval.reporting.chinese.renderables import Spoken, told, wrapped
from edit_eval.reporting.chinese.spoken import said, said_word, speak, spoken
from edit_eval.reporting.progress.plain import PlainProgress
from edit_eval.reporting.progress.view import Judged, Said
from edit_eval.reporting.terminal_text import Beginning, Name, print_beside, print_facts


@pytest.fixture(autouse=True)
def chinese(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(language.VARIABLE, "zh")
    yield
    speak("")


def judged(words: str) -> Judgement:
    whose = {"sample_id": "s", "category": "c", "edit_model": "m", "judge": "j", "edit_seed": 0, "repeat": 0}
    return Judgement(**whose, headline="score", status=Status.OK, reason=words, scores={"score": 7.5})  # type: ignore[arg-type]


def printed(*things: object, width: int = 80) -> str:
    file = io.StringIO()
    Spoken(file=file, width=width, markup=False, highlight=False).print(*things)
    return file.getvalue()


@pytest.mark.parametrize(
    ("of_run", "environment", "expected"),
    [
        ("", {}, "en"),
        ("zh", {}, "zh"),
        ("zh", {"LANG": "en_GB"}, "zh"),  # what is about a Chinese run is Chinese
        ("zh", {"EDIT_EVAL_LANG": "en"}, "en"),  # unless somebody says what they read
        ("en", {"EDIT_EVAL_LANG": "zh"}, "zh"),  # an English benchmark says nothing about its reader
        ("en", {"LANG": "zh_CN.UTF-8"}, "zh"),
        ("", {"LC_ALL": "C", "LANG": "zh_CN.UTF-8"}, "en"),
        ("", {"LC_ALL": "", "LC_MESSAGES": "zh_TW", "LANG": "en_GB"}, "zh"),
        ("", {"EDIT_EVAL_LANG": "en", "LC_ALL": "zh_CN.UTF-8"}, "en"),
        ("", {"EDIT_EVAL_LANG": "ZH"}, "zh"),
        ("", {"EDIT_EVAL_LANG": "fr"}, "en"),
    ],
)
def test_the_variable_is_asked_first_then_the_run_then_the_locale(
    of_run: str, environment: dict[str, str], expected: str
) -> None:
    assert spoken(of_run, environment) == expected


def test_what_is_said_is_about_the_run_that_was_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(language.VARIABLE)
    assert said("no such file") == "no such file"
    speak("zh")
    assert said("no such file") == "没有这个文件"
    assert said_word("pending") == "待做"
    assert spoken("en") == "en", "another run than the one that was named"


def test_tables_groups_and_rules_are_told() -> None:
    table = Table("category", "done", title="skipped samples")
    table.add_row(Name("done"), "no edit")
    lines = printed(Group(table, Padding(Text("this would run"), 1), Rule(Text("no progress"))))
    for words in ("类别", "完成", "跳过的样本", "没有编辑", "可以运行", "没有进展"):
        assert words in lines
    assert "done" in lines, "a name stays what it is, whatever it is"


def test_columns_stand_below_each_other() -> None:
    table = Table("category", "done", box=None)
    for name, count in (("a", "1"), ("physical", "22")):
        table.add_row(Name(name), Text(count), Text("pending"))
    rows = printed(table).rstrip("\n").split("\n")
    assert len({cell_len(row[: row.index("待做")]) for row in rows[1:]}) == 1


def test_a_style_stays_on_its_words() -> None:
    line = Text("no such file", style="dim").append("  12 edits", style="bold red")
    made = told(line)
    assert made.plain == "没有这个文件  12 个编辑"
    styled = [(made.plain[span.start : span.end].strip(), str(span.style)) for span in made.spans]
    assert ("12 个编辑", "bold red") in styled
    assert ("没有这个文件", "bold red") not in styled
    assert line.plain.startswith("no such"), "what was given stays as it was"


def test_english_is_printed_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(language.VARIABLE, "en")
    table = Table("category")
    assert told(table) is table
    assert printed(Text("no such file")) == "no such file\n"


def test_a_judges_words_are_its_own() -> None:
    words = "no such file; the disk is full"
    assert words in printed(Beginning(words))
    one = judged(words)
    stream = io.StringIO()
    progress = PlainProgress(stream, lambda: "12:00:00", scores=True)
    progress.write([Judged(one, "s"), Said("note", "the disk is full")])
    assert stream.getvalue().splitlines() == [f"12:00:00 score: s: 7.500: {words}", "12:00:00 注意：磁盘已满"]


def test_facts_have_chinese_names_and_the_values_that_they_have() -> None:
    file = io.StringIO()
    print_facts(Spoken(file=file, width=60), [("seed", "7"), ("answer", "the disk is full")])
    assert file.getvalue() == "  种子  7\n  回答  the disk is full\n"


@pytest.mark.parametrize("width", [12, 30, 61, 80])
def test_long_lines_are_broken_where_chinese_may_be(width: int) -> None:
    text = Text("CPU 上的工作进程每次只保留一个模型：看不到 GPU，因此用一个 CPU 进程，或由 `--devices cpu:N` 指定。")
    lines = wrapped(text, width)
    assert all(cell_len(line.plain) <= max(width, len("`--devices")) for line in lines)
    assert not any(line.plain.lstrip()[:1] in "，。：、）" for line in lines)
    assert "".join("".join(line.plain for line in lines).split()) == "".join(text.plain.split())


def test_a_wrapped_body_is_translated_once_and_whole() -> None:
    file = io.StringIO()
    console = Spoken(file=file, width=30)
    print_beside(console, "note: ", Text("the NVIDIA driver does not answer; a reboot often helps"))
    assert "".join(file.getvalue().split()) == "注意：NVIDIA驱动没有响应；重启通常有用"
    assert isinstance(console, Console)


def test_a_line_of_a_report_is_broken_between_characters() -> None:
    """Not only at its spaces, and with nothing behind its end."""
    line = "它看不出编辑，或没有值得一看的编辑（3.62，编辑 3.62）、灰图（3.62，编辑 3.62）。"
    lines = printed(Text(line), width=30).rstrip("\n").split("\n")
    assert all(20 < cell_len(one) <= 30 for one in lines[:-1])
    assert lines == [one.rstrip() for one in lines]
    assert "".join("".join(lines).split()) == "".join(line.split())
