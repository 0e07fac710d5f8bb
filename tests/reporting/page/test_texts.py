import re

from edit_eval.records import Status
from edit_eval.reporting.language import said
from edit_eval.reporting.names import NAMES, name_of, short_category
from edit_eval.reporting.page.page import asset, sentences
from source_texts import READERS, SRC, wants_chinese


def test_every_status_has_a_name() -> None:
    assert set(NAMES["status"]) == {status.value for status in Status}
    assert all(re.search("[\u4e00-\u9fff]", said(status.words, "zh")) for status in Status)


def test_names_without_a_text_are_their_own() -> None:
    assert name_of("difficulty", "nightmare") == "nightmare"
    assert name_of("category", "colour") == short_category("colour") == "colour"
    assert (short_category("physical"), said(short_category("physical"), "zh")) == ("Physical", "物理")


def test_sentences_of_scripts_are_those_in_double_quotes() -> None:
    script = """const a = 'span'; // the page's "own"
say('p', "{} of {} edits", [1, 2]); say(`a "quoted" one`, "it\'s", "a \\"b\\"");"""
    assert sentences(script) == ["{} of {} edits", "it's", 'a "b"']
    assert "Copied" in sentences(asset("start.js"))


def test_what_a_script_says_in_single_quotes_is_no_sentence() -> None:
    """A sentence there would never be put into Chinese."""
    calls = re.compile(r"\b(?:say\('\w+', |words\(|both\(|labelled\('\w+', )(['`])")
    for file in SRC.rglob("*.js"):
        assert not calls.findall(file.read_text(encoding="utf-8")), file
    said = [words for file in SRC.rglob("*.js") for _, words in READERS[".js"](file.read_text(encoding="utf-8"))]
    assert sum(map(wants_chinese, said)) > 100


def test_templates_say_with_their_context() -> None:
    source = (
        """{% if a == 'x' %}{{ say("Edits", context='number') }} {{ say("Edits") }} {{ label("a \'b\'") }}{% endif %}"""
    )
    assert [words for _, words in READERS[".j2"](source)] == ["number\x04Edits", "Edits", "a 'b'"]
