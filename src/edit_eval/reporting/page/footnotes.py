"""What is said below the results: what few images cannot show, and of each judge's readings how far they lie apart, and
how much of the probability is in form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from edit_eval.reporting import formats
from edit_eval.reporting.page.entries import entries, headlines
from edit_eval.reporting.page.texts import text
from edit_eval.statistics.paired import ruled_out_share

Line = tuple[str, dict[str, object]]
"""A text's key, and its values."""


FEW_IMAGES = 50
"""Of a mean that rests on fewer it is said what kinds of image they may lack."""


def footnotes(summary: Mapping[str, Any]) -> list[Line]:
    """What there is to say; nothing of many images, nor of a judge that was read once and wrote its answer."""
    parts = headlines(entries(summary["results"]))
    categories = [block for part in parts for block in part.categories.values()]
    few = few_images([part.overall for part in parts], categories)
    of_judges = (summary.get("readings") or {}).items()
    return [*few, *(line for judge, found in of_judges for line in _lines(judge, found))]


def footnote_lines(summary: Mapping[str, Any], language: str) -> list[str]:
    """The same in one language."""
    return [text(key, language, **values) for key, values in footnotes(summary)]


def few_images(means: Iterable[Mapping[str, Any]], categories: Iterable[Mapping[str, Any]] = ()) -> list[Line]:
    """What the intervals of means know nothing of: of all the one, and of categories the one with the fewest images.

    Of each its `images` and their `ruled_out_share`, which is None where there is no interval.
    """
    of_all, of_category = (
        max(((one["ruled_out_share"], one["images"]) for one in some if one.get("ruled_out_share")), default=(0.0, 0))
        for some in (means, categories)
    )
    few = ruled_out_share(FEW_IMAGES)
    if of_all[0] <= few and of_category[0] <= few:
        return []
    (share, images), (most, fewest) = of_all, of_category
    values = {"images": images, "share": formats.share(share, 1), "fewest": fewest, "most": formats.share(most, 1)}
    kind = "few_images" if most <= few else "few_images.category" if share <= few else "few_images.categories"
    return [(kind, values)]


def _lines(judge: str, found: Mapping[str, Any]) -> Iterator[Line]:
    if found["readings"] > 1:
        spread = formats.score(found["spread"])
        yield "readings.several", {"judge": judge, "count": found["readings"], "spread": spread}
    if found["identical"]:
        yield "readings.identical", {"judge": judge, "count": found["readings"]}
    mass = found["mass"]
    if mass and mass["median"] is not None:
        known, floor = mass["readings"] - mass["unknown"], f"{mass['floor']:g}"
        median, below = f"{mass['median']:.3f}", mass["below"]
        yield "readings.mass", {"judge": judge, "median": median, "below": below, "count": known, "floor": floor}
    if mass and mass["unknown"]:
        yield "readings.mass.unknown", {"judge": judge, "unknown": mass["unknown"], "count": mass["readings"]}
