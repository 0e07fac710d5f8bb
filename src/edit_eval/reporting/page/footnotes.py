"""What is said below the results: what few images cannot show, and of each judge's readings how far they lie apart, and
how much of the probability is in form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from edit_eval.reporting import formats
from edit_eval.reporting.language import said
from edit_eval.reporting.page.entries import entries, headlines
from edit_eval.statistics.paired import ruled_out_share
from edit_eval.text import Text

FEW_IMAGES = 50
"""Of a mean that rests on fewer it is said what kinds of image they may lack."""


def footnotes(summary: Mapping[str, Any]) -> list[Text]:
    """What there is to say; nothing of many images, nor of a judge that was read once and wrote its answer."""
    parts = headlines(entries(summary["results"]))
    categories = [block for part in parts for block in part.categories.values()]
    few = few_images([part.overall for part in parts], categories)
    of_judges = (summary.get("readings") or {}).items()
    return [*few, *(line for judge, found in of_judges for line in _lines(judge, found))]


def footnote_lines(summary: Mapping[str, Any], language: str) -> list[str]:
    """The same in one language."""
    return [said(line, language) for line in footnotes(summary)]


def few_images(means: Iterable[Mapping[str, Any]], categories: Iterable[Mapping[str, Any]] = ()) -> list[Text]:
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
    of_all_share, of_most = formats.share(share, 1), formats.share(most, 1)
    if most <= few:
        return [
            Text(
                "Intervals are for pictures like these: of a kind that makes less than {} of all, {} may "
                "well show none.",
                of_all_share,
                images,
            )
        ]
    if share <= few:
        return [
            Text(
                "Intervals are for pictures like these: of a kind that makes less than {} of a category, "
                "{} may well show none.",
                of_most,
                fewest,
            )
        ]
    return [
        Text(
            "Intervals are for pictures like these: of a kind that makes less than {} of all, {} may "
            "well show none (of a category, {}: less than {}).",
            of_all_share,
            images,
            fewest,
            of_most,
        )
    ]


def _lines(judge: str, found: Mapping[str, Any]) -> Iterator[Text]:
    if found["readings"] > 1:
        spread = formats.score(found["spread"])
        yield Text(
            "{}: each score is the mean of {} readings, with a standard deviation of {} between them.",
            judge,
            found["readings"],
            spread,
        )
    if found["identical"]:
        yield Text(
            "{0}: the {1} readings of each edit are identical, so nothing is sampled (does the "
            "server ignore the temperature or cache its answers?); leave `evaluation.readings` out, "
            "which costs {1} times as much.",
            judge,
            found["readings"],
        )
    mass = found["mass"]
    if mass and mass["median"] is not None:
        known, floor = mass["readings"] - mass["unknown"], f"{mass['floor']:g}"
        median, below = f"{mass['median']:.3f}", mass["below"]
        yield Text(
            "{}: mass (the probability of all answers that were asked for) {} in the median, below "
            "{} and no answer in {} of {} readings.",
            judge,
            median,
            floor,
            below,
            known,
        )
    if mass and mass["unknown"]:
        yield Text(
            "{}: mass: unknown in {} of {} readings; its server tells only how likely the answers "
            "are beside each other.",
            judge,
            mass["unknown"],
            mass["readings"],
        )
