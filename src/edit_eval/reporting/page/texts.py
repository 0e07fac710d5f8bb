"""The report's words in English and Chinese, and the names of things that the records only have as keys."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from edit_eval.benchmarks.categories import SUBSETS, canonical, title
from edit_eval.config.yaml_text import parse_ours
from edit_eval.records import Scale, Status

LANGUAGES = ("en", "zh")


@cache
def texts(file: str = "texts.yaml") -> dict[str, dict[str, str]]:
    """All texts of a file: `{key: {"en": ..., "zh": ...}}`."""
    source = files("edit_eval.reporting.page").joinpath(f"templates/{file}").read_text(encoding="utf-8")
    loaded: dict[str, dict[str, str]] = parse_ours(source)
    return loaded


def text(key: str, language: str, **values: object) -> str:
    """The text `key` in `language` with its `{fields}` filled in. Raises `KeyError` for a key there is not."""
    return filled(texts()[key][language], values)


def filled(words: str, values: Mapping[str, object]) -> str:
    """`words` with their `{fields}` filled in."""
    for name, value in values.items():
        words = words.replace("{" + name + "}", str(value))
    return words


def judgement_status(status: str) -> str:
    """The text key of a judgement's status. One without an edit has not failed: there was nothing to judge."""
    return "status.no_edit" if status == Status.EDIT_FAILED else f"status.{status}"


def name_of(kind: str, name: str, language: str) -> str:
    """What a person reads for a `category`, `short_category`, `difficulty`, `status`, `kind` or `flag`.

    What has no text is its own.
    """
    if kind == "category":
        return title(name, language)
    if kind == "short_category":
        return short_category(name, language)
    return texts().get(f"{kind}.{name}", {}).get(language, name)


def short_category(category: str, language: str) -> str:
    """One word for a category, where a title has no room."""
    name = canonical(category)
    if name not in SUBSETS:
        return category
    return SUBSETS[name] if language == "zh" else name.capitalize()


def score_name(name: str, language: str) -> str:
    """A score's name; the one that is only called `score` has a word in each language."""
    return text("axis.score", language) if name == "score" else name


def scale_words(scale: Scale, language: str, *, mean: bool = False) -> str:
    """`out of 10`, `from -1 to 1, lower is better`; with `mean` also what the mean is taken over."""
    parts = [_range(scale, language)]
    if not scale.higher_is_better:
        parts.append(text("scale.lower", language))
    if mean:
        parts.append(text(f"mean.over.{scale.mean_over}", language))
    return text("scale.separator", language).join(parts)


def score_line(name: str, scale: Scale, language: str) -> str:
    """`drift: from -1 to 1, lower is better, weighted by samples`."""
    words = scale_words(scale, language, mean=True)
    return text("scale.of", language, name=score_name(name, language), scale=words)


def named_score(name: str, scale: Scale, language: str) -> str:
    """`SC`, `LPIPS (lower is better)`: as a title or an axis has it."""
    shown = score_name(name, language)
    return shown if scale.higher_is_better else text("scale.named_lower", language, name=shown)


def _range(scale: Scale, language: str) -> str:
    lowest, highest = (None if end is None else f"{end:g}" for end in (scale.lowest, scale.highest))
    if lowest == "0" and highest is not None and scale.higher_is_better:
        return text("scale.out_of", language, highest=highest)
    kinds = {(True, True): "range", (True, False): "from", (False, True): "to", (False, False): "open"}
    kind = kinds[lowest is not None, highest is not None]
    return text(f"scale.{kind}", language, lowest=lowest, highest=highest)
