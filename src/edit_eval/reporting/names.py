"""The names of things that the records only have as keys, in English and Chinese."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from edit_eval.benchmarks.categories import SUBSETS, canonical, title
from edit_eval.records import EDIT_LOST, Scale, Status
from edit_eval.reporting.language import said
from edit_eval.text import Text, joined

NAMES: Mapping[str, Mapping[str, Text]] = {
    "difficulty": {"easy": Text("easy"), "medium": Text("medium"), "hard": Text("hard")},
    "language": {"en": Text("English"), "zh": Text("Chinese")},
    "status": {status.value: status.words for status in Status},
    "kind": {
        "starting": Text("Starting"),
        "loading": Text("Loading"),
        "editing": Text("Editing"),
        "judging": Text("Judging"),
        "unloading": Text("Unloading"),
        "idle": Text("Idle"),
    },
    "control": {"source": Text("Control: source"), "blank": Text("Control: grey"), "shuffled": Text("Control: other")},
    "mean": {"category_mean": Text("Mean of categories"), "sample_mean": Text("Mean of samples")},
    "whose": {
        "judge_alone": Text("judge alone"),
        "people_alone": Text("people alone"),
        "corrected": Text("corrected"),
    },
    "verdict": {
        "passed": Text("passed"),
        "limited": Text("limited"),
        "failed": Text("failed", context="verdict"),
    },
    "no_ci95": {
        "one_image": Text("one source image"),
        "few_images": Text("fewer than six source images"),
        "too_uneven": Text("a few source images hold nearly all samples"),
        "no_spread": Text("no spread"),
        "unknown_source": Text("source image not known"),
    },
    "no_alpha": {
        "unlike_scales": Text("the judges' scores are on different scales"),
        "no_spread": Text("all scores are the same"),
        "no_scores": Text("no edit has a score from two judges"),
    },
}
"""What a person reads for what the records have as a word, by what kind of word it is."""
_NO_EDIT = Text("no edit to judge")


def judgement_status(status: str) -> Text:
    """A judgement's status. One without an edit has not failed: there was nothing to judge."""
    return _NO_EDIT if status in EDIT_LOST else NAMES["status"][status]


def name_of(kind: str, name: str, language: str) -> str:
    """What a person reads for a `category`, a `short_category` or one of the `NAMES`; what has none is its own."""
    if kind == "category":
        return title(name, language)
    if kind == "short_category":
        return short_category(name, language)
    return said(NAMES[kind].get(name, name), language)


def listed(names: Iterable[str], language: str) -> str:
    """`a, b`"""
    return said(joined(names, ""), language)


def short_category(category: str, language: str) -> str:
    """One word for a category, where a title has no room."""
    name = canonical(category)
    if name not in SUBSETS:
        return category
    return SUBSETS[name] if language == "zh" else name.capitalize()


def score_title(name: str) -> str:
    """A score's name; the one that is only called `score` has a word in each language."""
    return Text("Score") if name == "score" else name


def score_name(name: str, language: str) -> str:
    """The same in a language."""
    return said(score_title(name), language)


def scale_words(scale: Scale, language: str, *, mean: bool = False) -> str:
    """`out of 10`, `from -1 to 1, lower is better`; with `mean` also what the mean is taken over."""
    parts = [_range(scale, language)]
    if not scale.higher_is_better:
        parts.append(said(Text("lower is better"), language))
    if mean:
        over = Text("weighted by samples") if scale.mean_over == "samples" else Text("mean of the categories")
        parts.append(said(over, language))
    return said(joined(parts, ", "), language)


def score_line(name: str, scale: Scale, language: str) -> str:
    """`drift: from -1 to 1, lower is better, weighted by samples`."""
    words = scale_words(scale, language, mean=True)
    return said(Text("{}: {}", score_name(name, language), words), language)


def named_score(name: str, scale: Scale, language: str) -> str:
    """`SC`, `LPIPS (lower is better)`: as a title or an axis has it."""
    shown = score_name(name, language)
    return shown if scale.higher_is_better else said(Text("{} (lower is better)", shown), language)


def _range(scale: Scale, language: str) -> str:
    lowest, highest = (None if end is None else f"{end:g}" for end in (scale.lowest, scale.highest))
    if lowest == "0" and highest is not None and scale.higher_is_better:
        return said(Text("out of {}", highest), language)
    if lowest is not None and highest is not None:
        words = Text("from {} to {}", lowest, highest)
    elif lowest is not None:
        words = Text("from {}, no upper end", lowest)
    elif highest is not None:
        words = Text("up to {}, no lower end", highest)
    else:
        words = Text("no lower or upper end")
    return said(words, language)
