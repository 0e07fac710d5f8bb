"""Words that are gone stay gone, and what is particular to this house is in a glossary of twelve."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

import source_texts
from edit_eval.reporting.language import catalogue

HERE = Path(__file__).parent
HOUSE = HERE.parents[1]
GONE: dict[str, str] = yaml.safe_load((HERE / "gone_phrases.yaml").read_text(encoding="utf-8"))
PAGE = HOUSE / "src/edit_eval/plugins/page/templates"
READ = [HOUSE / "README.md", *sorted((HOUSE / "docs").glob("*.md"))]


def lines() -> list[tuple[str, str]]:
    """Where, and what is said there in small letters, its line breaks apart."""
    said = [(f"src/edit_eval/{place}", words.lower()) for words, place in source_texts.templates().items()]
    for file in READ:
        paragraphs = re.split(r"\n\s*\n", file.read_text(encoding="utf-8").lower())
        said += [(file.name, " ".join(paragraph.split())) for paragraph in paragraphs]
    return said


def test_no_phrase_that_is_gone_comes_back() -> None:
    complaints = [
        f"{where}: {phrase!r}: write {instead!r}"
        for where, words in lines()
        for phrase, instead in GONE.items()
        if phrase.lower() in words and re.search(rf"(?<![a-z]){re.escape(phrase.lower())}", words)
    ]
    assert not complaints, "\n".join(complaints)


def glossary(page: str, verdicts: str) -> list[tuple[str, str, str]]:
    """The rows of a glossary's first table, each with three cells."""
    words = (HOUSE / page).read_text("utf-8").partition(verdicts)[0]
    return [row for row in re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", words, re.M) if row[2][-1] in ".。"]


@pytest.mark.skipif(not (HOUSE / "docs").is_dir(), reason="not a checkout")
def test_the_glossary_is_that_of_every_page() -> None:
    """Twelve words, in the same words on a report's page and in both languages' documents."""
    rows = glossary("docs/glossary.md", "## Verdicts")
    assert len(rows) == 12
    assert [word for word, _, _ in rows] == sorted(word for word, _, _ in rows)
    shown = (HOUSE / "src/edit_eval/plugins/page/templates/words.html.j2").read_text("utf-8")
    assert re.findall(r'<dt>.*?say\("([^"]+)".*<dd>.*?say\("([^"]+)"\)', shown) == [(row[0], row[2]) for row in rows]
    linked = {word for file in PAGE.glob("*.j2") for word in re.findall(r"meaning\('(\w+)'\)", file.read_text("utf-8"))}
    assert linked | {"edit", "judge"} == {word for word, _, _ in rows}
    chinese = catalogue("zh")
    assert glossary("docs/zh/glossary.md", "## 结论") == [(in_zh, word, chinese[what]) for word, in_zh, what in rows]


def test_the_glossarys_chinese_is_what_the_program_says() -> None:
    said = "\n".join(catalogue("zh").values())
    rows = re.findall(r"^\| [^|]+ \| ([^|(]+) \| ", (HOUSE / "docs/glossary.md").read_text("utf-8"), re.M)
    chinese = [word for word in rows if re.search("[\u4e00-\u9fff]", word) and word != "中文"]
    assert not [word for word in chinese if word.strip() not in said]
