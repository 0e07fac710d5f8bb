"""Readable names for the keys in the records."""

from __future__ import annotations

from collections.abc import Mapping

from edit_eval.benchmarks.contract import CATEGORIES, canonical, title
from edit_eval.records import Scale, Status
from edit_eval.reporting.language import code_to_text
from edit_eval.text import Text, join_texts

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
    "verdict": {"passed": Text("passed"), "limited": Text("limited"), "failed": Text("failed", context="verdict")},
    "no_ci95": {
        "one_image": Text("one source image"),
        "few_images": Text("fewer than six source images"),
        "too_uneven": Text("a few source images hold nearly all samples"),
        "no_spread": Text("no spread"),
        "exact": Text("an exact test decides"),
        "unknown_source": Text("source image not known"),
    },
}
"""Readable names for words in the records, by kind of word."""


def status_count(count: int, status: str) -> Text:
    """Returns `8 (judge refused)`."""
    return Text("{} ({})", count, NAMES["status"][status])


def name_of(kind: str, name: str) -> str:
    """Returns the readable name of a `category`, a `short_category` or one of the `NAMES`; else `name` itself."""
    if kind == "category" and name:
        return code_to_text(title(name)) if canonical(name) in CATEGORIES else title(name)
    if kind in ("category", "short_category"):
        return short_category(name)
    return NAMES[kind].get(name, name)


def control_name(kind: str) -> str:
    """Returns what tables call a kind of control; a package's by its own name."""
    return NAMES["control"].get(kind) or Text("Control: {}", kind)


def short_category(category: str) -> str:
    """Returns a category in one word, where there is no room for its title."""
    name = canonical(category)
    return code_to_text(name.capitalize()) if name in CATEGORIES else category or Text("no category")


def judge_words(judge: str) -> Text:
    """Returns `gpt (judge)`: judges and edit models are often of one maker."""
    return Text("{} (judge)", judge)


def score_name(name: str) -> str:
    """Returns a score's name; one called just `score` is translated."""
    return Text("Score") if name == "score" else name


def scale_words(scale: Scale, *, mean: bool = False) -> Text:
    """Returns `out of 10`, `from -1 to 1, lower is better`; with `mean` also what the mean is taken over."""
    parts = [_range(scale)]
    if not scale.higher_is_better:
        parts.append(Text("lower is better"))
    if mean:
        over = Text("weighted by samples") if scale.mean_over == "samples" else Text("mean of the categories")
        parts.append(over)
    return join_texts(parts, ", ")


def score_line(name: str, scale: Scale) -> Text:
    """Returns `drift: from -1 to 1, lower is better, weighted by samples`."""
    return Text("{}: {}", score_name(name), scale_words(scale, mean=True))


def score_title(name: str, scale: Scale) -> str:
    """Returns `SC` or `LPIPS (lower is better)`, for a title or an axis."""
    return score_name(name) if scale.higher_is_better else Text("{} (lower is better)", score_name(name))


def _range(scale: Scale) -> Text:
    lowest, highest = (None if end is None else f"{end:g}" for end in (scale.lowest, scale.highest))
    if lowest == "0" and highest is not None and scale.higher_is_better:
        return Text("out of {}", highest)
    if lowest is not None and highest is not None:
        return Text("from {} to {}", lowest, highest)
    if lowest is not None:
        return Text("from {}, no upper end", lowest)
    return Text("no lower or upper end") if highest is None else Text("up to {}, no lower end", highest)
