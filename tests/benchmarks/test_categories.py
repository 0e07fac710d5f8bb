"""The names of the five categories."""

import pytest

from edit_eval.benchmarks.categories import CATEGORIES, SUBSETS, canonical, title


@pytest.mark.parametrize("category", CATEGORIES)
def test_every_spelling_is_the_canonical_name(category):
    for name in (category, category.capitalize(), category.upper(), f" {category} ", SUBSETS[category]):
        assert canonical(name) == category
    assert title(category, "en") != title(category, "zh")
    assert title(SUBSETS[category], "zh") == title(category, "zh")


def test_other_names_come_back_unchanged():
    for name in ("Typography", "排版", "", " x "):
        assert canonical(name) == name
        assert title(name, "zh") == name


def test_an_unknown_language_has_the_english_titles():
    assert title("causal", "fr") == title("causal", "en")
