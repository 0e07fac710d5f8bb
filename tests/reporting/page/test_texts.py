import re
from importlib.resources import files
from pathlib import Path

import pytest

from edit_eval.records import Status
from edit_eval.reporting.page.texts import LANGUAGES, name_of, short_category, text, texts

FAMILIES = (
    *("status.", "kind.", "difficulty.", "language.", "flag.", "sort.", "view.", "theme.", "chart.", "axis."),
    *("compare.note.", "compare.failures.", "gate.", "agreement.no_alpha.", "scale.", "mean.over.", "published."),
    "control.",
    "verdict.",
)
"""Their keys are put together from a word of the records or of a template."""


def sources() -> str:
    folder = Path(str(files("edit_eval.reporting")))
    every = [one for one in folder.rglob("*") if one.suffix in (".py", ".js", ".j2")]
    every = [one for one in every if not one.name.startswith("audit.")]  # an audit has texts of its own
    return "\n".join(one.read_text(encoding="utf-8") for one in every)


def test_every_text_is_there_in_every_language() -> None:
    for key, words in texts().items():
        assert set(words) == set(LANGUAGES), key
        assert all(isinstance(one, str) and one for one in words.values()), key


def test_both_languages_have_the_same_fields() -> None:
    for key, words in texts().items():
        english, chinese = (sorted(re.findall(r"\{(\w+)\}", words[one])) for one in LANGUAGES)
        assert english == chinese, key


def test_every_text_is_used() -> None:
    written = sources()
    keys = [
        key
        for key in texts()
        if not key.startswith(
            (
                *FAMILIES,
                "repeat.",
                "time.slower.",
                "detail.instruction.",
                "no_ci95.",
                "votes.",
                "pair.",
                "would.",
                "filter.differ.",
            )
        )
    ]
    assert [key for key in keys if not re.search(rf"['\"]{re.escape(key)}['\"]", written)] == []


def test_every_text_that_a_template_asks_for_is_there() -> None:
    asked = re.findall(r"(?:say\('\w+', |\bt\(|plain\(|\btext\()['\"]([\w.]+)['\"][,)]", sources())
    assert len(asked) > 60
    assert [key for key in asked if key not in texts()] == []


def test_every_status_has_a_name() -> None:
    for status in Status:
        assert f"status.{status.value}" in texts()
        assert name_of("status", status.value, "zh") != status.value


def test_fields_are_filled_in() -> None:
    assert text("coverage.short", "en", scored=2, total=3) == "2 of 3 scored."
    with pytest.raises(KeyError):
        text("no.such.text", "en")


def test_names_without_a_text_are_their_own() -> None:
    assert name_of("difficulty", "nightmare", "zh") == "nightmare"
    assert name_of("category", "colour", "en") == short_category("colour", "zh") == "colour"
    assert (short_category("physical", "en"), short_category("physical", "zh")) == ("Physical", "物理")
