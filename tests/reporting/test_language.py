"""Which language is spoken, and where: our Texts alone, never names, a judge's words, records or JSON."""

from __future__ import annotations

import io
import re
import string
from collections.abc import Iterator

import pytest
from rich.cells import cell_len
from rich.console import Console, Group
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table

import source_texts
from edit_eval.plugins.preparation.cards import card_lines
from edit_eval.plugins.preparation.probing import ability_findings
from edit_eval.plugins.progress.displays import PlainProgress
from edit_eval.plugins.progress.lines import EventLine, Judged
from edit_eval.plugins.status.sheet import print_facts
from edit_eval.records import Judgement, Status
from edit_eval.reporting import language
from edit_eval.reporting.language import (
    catalogue,
    current_language,
    recognise,
    set_language,
    translate,
    translate_description,
)
from edit_eval.reporting.languages import SPOKEN, Typography
from edit_eval.reporting.terminal_text import LocalizedConsole, Name, Styled, one_line, print_with_head
from edit_eval.text import Text, join_texts

STATED = {"黑图：每个像素都是 (0, 0, 0)，模型中出现 NaN 时会这样", "export {}=...", "对 {}作 Holm 校正"} | {
    *("{0}；{2}约 {1:.2f} 美元", "{1} 张编辑结果中有 {0} 张{2}{3}"),
    "请给出{}、Hub 上的 OWNER/NAME、MODEL@http://HOST:8000/v1 或 FILE.py:CLASS",
}
"""A list as Python has it, a command, and what is filled in with Chinese: `3 次检验`."""
WIDE = "[\u4e00-\u9fff]"
SLIPS = {
    "a half-width mark behind a Chinese character": f"{WIDE} ?[,;:?!()]",
    "a half-width mark before one": f"[,;?!()]{WIDE}",
    "a space between two": f"{WIDE} {WIDE}",
    "no space before what is Latin, a number or code": f"{WIDE}[A-Za-z0-9`\0]",
    "no space behind it": f"[A-Za-z0-9`%\0]{WIDE}",
    "a full stop, which the sentence gets with the English one": "。$",
    "two spaces": "[^\0 ]  +[^\0 ]",
    "three dots": r"(?<!/)\.\.\.",
    "stiff, as translations are": "您|进行了|的话|之间的关系|被用于|对于|关于.{0,12}的话|突出之处|可检出",
}


@pytest.fixture(autouse=True)
def chinese(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(language.VARIABLE, "zh")
    yield
    set_language("")


def judged(words: str) -> Judgement:
    whose = {"sample_id": "s", "category": "c", "edit_model": "m", "judge": "j", "edit_seed": 0, "repeat": 0}
    return Judgement(**whose, headline="score", status=Status.OK, reason=words, scores={"score": 7.5})


def printed(*things: object, width: int = 80) -> str:
    file = io.StringIO()
    LocalizedConsole(file=file, width=width, markup=False, highlight=False).print(*things)
    return file.getvalue()


# -- the catalogue --


@pytest.mark.check
def test_no_entry_is_of_a_template_that_is_gone() -> None:
    assert not set(catalogue("zh")) - set(source_texts.templates()), "`make texts` takes them out"


def test_both_languages_have_the_same_fields() -> None:
    def fields(text: str) -> list[tuple[str, str]]:
        slots = [
            (name, spec or "", conv or "") for _, name, spec, conv in string.Formatter().parse(text) if name is not None
        ]
        order = range(len(slots)) if all(name == "" for name, *_ in slots) else [int(name) for name, *_ in slots]
        return sorted((str(at), spec.strip() + conv) for at, (_, spec, conv) in zip(order, slots, strict=True))

    different = {}
    for english, said_ in catalogue("zh").items():
        if english in source_texts.own_words():
            continue  # looked up whole, never filled in
        if [at for at, _ in fields(english)] != [at for at, _ in fields(said_)]:
            different[english] = said_
    assert not different


@pytest.mark.parametrize("slip", SLIPS)
def test_the_chinese_is_written_as_chinese_is(slip: str) -> None:
    chinese_of = catalogue("zh")
    ended = {chinese for english, chinese in chinese_of.items() if english.endswith(".")}  # a paragraph
    bare = {re.sub(r"`[^`]*`", "`", re.sub(r"\{[^{}]*\}", "\0", chinese)): chinese for chinese in chinese_of.values()}
    assert not [whole for some, whole in bare.items() if whole not in STATED | ended and re.search(SLIPS[slip], some)]


def test_one_word_for_one_thing() -> None:
    """The page's words: 评审, not 评委 or 法官; 编辑模型; 种子; 显存 for a GPU's memory."""
    others = "评委|法官|裁判|随机种|显卡内存|工作者|跑步|基准测试集"
    assert not [chinese for chinese in catalogue("zh").values() if re.search(others, chinese)]


def test_statuses_have_words() -> None:
    assert not [status for status in Status if not re.search(WIDE, translate(status.words))]


# -- who is spoken to --


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
        ("", {"EDIT_EVAL_LANG": "xx"}, "en"),
    ],
)
def test_the_variable_is_asked_first_then_the_run_then_the_locale(
    of_run: str, environment: dict[str, str], expected: str
) -> None:
    assert current_language(of_run, environment) == expected


def test_what_is_said_is_about_the_run_that_was_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(language.VARIABLE)
    assert translate(Text("pending")) == "pending"
    set_language("zh")
    assert translate(Text("pending")) == "待做"
    assert current_language("en") == "en", "another run than the one that was named"


# -- what is put into it --


@pytest.mark.parametrize(
    "words", ["the judge's server withheld the answer: it is not safe", "no such file", "user is unknown", "268 of 270"]
)
def test_a_plain_string_is_never_touched(words: str) -> None:
    assert translate(words) == words
    assert words in printed(Styled(words), words, Name(words))


def test_a_language_without_separators_of_its_own_has_the_english_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SPOKEN, "fr", Typography("FR", tag="fr", dates="fr-FR"))
    for template in ("{}", "{:; }", "{: and }"):
        assert translate(Text(template, ["a", "b", "c"]), "fr") == Text(template, ["a", "b", "c"])


def test_numbers_side_by_side_stay_apart() -> None:
    error = Text("{}: {}", "coverage", Text("{} of {} are scored", 268, 270))
    assert re.findall(r"\d+", translate(error, "zh")) in (["270", "268"], ["268", "270"])


def test_tables_groups_and_rules_are_told() -> None:
    table = Table(translate(Text("category")), "done", title=Text("skipped samples"))
    table.add_row(Name("done"), Text("failed edits"))
    lines = printed(Group(table, Padding(Styled(Text("this would run")), 1), Rule(translate(Text("failed edits")))))
    for words in ("类别", "失败的编辑", "可以运行"):
        assert words in lines
    assert lines.count("done") == 2, "what is no Text stays what it is"


def test_columns_stand_below_each_other() -> None:
    table = Table(Text("category"), Text("done"), box=None)
    for name, count in (("a", "1"), ("physical", "22")):
        table.add_row(Name(name), Styled(count), Styled(Text("pending")))
    rows = printed(table).rstrip("\n").split("\n")
    assert len({cell_len(row[: row.index("待做")]) for row in rows[1:]}) == 1


def test_a_style_stays_on_its_words() -> None:
    line = Styled(Text("pending"), style="dim").append("  ").append(Text("{} edit", 12, plural="{} edits"), "bold red")
    assert line.plain == "待做  12 个编辑结果"
    styled = [(line.plain[span.start : span.end], str(span.style)) for span in line.spans]
    assert styled == [("12 个编辑结果", "bold red")]


def test_a_judges_words_are_its_own() -> None:
    words = "no such file; the disk is full"
    stream = io.StringIO()
    progress = PlainProgress(stream, lambda: "12:00:00", scores=True)
    progress.write([Judged(judged(words), "s"), EventLine("note", Text("this would run"))])
    assert stream.getvalue().splitlines() == [f"12:00:00 评分：s：7.500：{words}", "12:00:00 注意：可以运行"]


def test_facts_have_chinese_names_and_the_values_that_they_have() -> None:
    file = io.StringIO()
    print_facts(LocalizedConsole(file=file, width=60), [(Text("seed"), "7"), ("seed", "the disk is full")])
    assert file.getvalue() == "  种子  7\n  seed  the disk is full\n"


def test_what_a_component_says_of_itself_is_looked_up_whole() -> None:
    own = next(words for words in catalogue("zh") if words in source_texts.own_words() and " " in words)
    assert translate_description(f"{own}.") == catalogue("zh")[own] + "。"
    assert translate_description(f"{own} and more") == f"{own} and more"


@pytest.mark.parametrize("width", [12, 30, 61, 80])
def test_long_lines_are_broken_where_chinese_may_be(width: int) -> None:
    text = Styled("CPU 上的工作进程每次只保留一个模型：看不到 GPU，因此用一个 CPU 进程，或由 `--devices cpu:N` 指定。")
    lines = text.fold_lines(width)
    assert all(cell_len(line.plain) <= max(width, len("`--devices")) for line in lines)
    assert not any(line.plain.lstrip()[:1] in "，。：、）" for line in lines)
    assert "".join("".join(line.plain for line in lines).split()) == "".join(text.plain.split())


RECORDED = [
    Text(
        "no edit of sample {!r} in {}: {}",
        "cat's",
        "edits/of mine",
        Text("is rotated by its EXIF data: turned upright"),
    ),
    Text("{:g}% of {}", 2.5, "it"),
    Text("it is asked about one edit at a time"),
]
"""As they are made; one that the catalogue lacks stays as it is."""


@pytest.mark.parametrize("text", RECORDED, ids=lambda text: text.template)
def test_a_recorded_sentence_is_known_again(text: Text) -> None:
    """Records have English alone: the template that made it is found, and those in its fields."""
    again = recognise(str.__str__(text))
    assert again == text
    assert isinstance(again, Text) is (text.key in catalogue("zh"))
    assert translate(again) == (translate(text) if isinstance(again, Text) else text)


@pytest.mark.parametrize("words", ["", "a cat", "It keeps the cat, and turns it orange: 7 of 10.", "{}: {}", "5 of 6"])
def test_words_of_others_are_not_recognised(words: str) -> None:
    assert not isinstance(recognise(words), Text)


def test_a_wrapped_body_is_whole() -> None:
    file = io.StringIO()
    console = LocalizedConsole(file=file, width=30)
    body = join_texts([Text("this would run"), Text("nothing here would stop a run")])
    print_with_head(console, Styled(Text("note: ")), Styled(one_line(body)))
    assert "".join(file.getvalue().split()) == "注意：" + "".join(translate(body).split())
    assert isinstance(console, Console)


def test_a_line_of_a_report_is_broken_between_characters() -> None:
    """Not only at its spaces, and with nothing behind its end."""
    line = "它看不出编辑，或没有值得一看的编辑（3.62，编辑 3.62）、灰图（3.62，编辑 3.62）。"
    lines = printed(Styled(line), width=30).rstrip("\n").split("\n")
    assert all(20 < cell_len(part) <= 30 for part in lines[:-1])
    assert lines == [part.rstrip() for part in lines]
    assert "".join("".join(lines).split()) == "".join(line.split())


def test_what_a_card_and_a_server_say_is_a_text() -> None:
    (line,) = card_lines({"pipeline": "P", "steps": "4", "prompt_rewriting": "off"})
    assert translate(line, "zh") == "P：4 步；提示词改写：off"
    (finding,) = ability_findings("judge", {"about": {"schema": "json_schema", "thinking": "no switch"}})
    assert re.search("[a-z]+ a |has", translate(finding.text, "zh")) is None
