"""Words that are gone stay gone, and what is particular to this house is in a glossary of fifteen."""

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


@pytest.mark.skipif(not (HOUSE / "docs").is_dir(), reason="not a checkout")
def test_the_glossary_has_fifteen_words_at_most_each_with_its_chinese() -> None:
    words = (HOUSE / "docs/glossary.md").read_text("utf-8").partition("## Verdicts")[0]
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", words, re.M)
    terms = [row for row in rows if row[0] not in ("word", "---")]
    assert 10 <= len(terms) <= 15
    assert [term for term, _, _ in terms] == sorted(term for term, _, _ in terms)
    assert all(re.search("[\u4e00-\u9fff]{2}", chinese) and meaning.endswith(".") for _, chinese, meaning in terms)


def test_the_glossarys_chinese_is_what_the_program_says() -> None:
    said = "\n".join(catalogue("zh").values())
    rows = re.findall(r"^\| [^|]+ \| ([^|(]+) \| ", (HOUSE / "docs/glossary.md").read_text("utf-8"), re.M)
    chinese = [word for word in rows if re.search("[\u4e00-\u9fff]", word) and word != "中文"]
    assert not [word for word in chinese if word.strip() not in said and word.strip() != "覆盖率"]
