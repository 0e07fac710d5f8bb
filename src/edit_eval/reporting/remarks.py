"""Remarks beside a run's numbers: a judge's passport, its drift since, and controls that it does not put last; what few
images cannot show, how far readings are apart, and how much probability is on well-formed answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from edit_eval.passports import EDITED
from edit_eval.records import Scale
from edit_eval.reporting import formats
from edit_eval.reporting.audit import failed_words
from edit_eval.reporting.entries import controls_are_off, entries, headlines, judges_without_sight
from edit_eval.reporting.formats import p_value, signed
from edit_eval.reporting.names import name_of
from edit_eval.reporting.verdict import verdict_of
from edit_eval.statistics.intervals import FEW_RULE_OUT
from edit_eval.text import Text, joined

NAMED = 4
"""Number of failed measures named in a judge's line."""


def passport_line(examined: Mapping[str, Any]) -> Text:
    """Returns `audited 2026-11-21: passed; not audited for Chinese`, or `not audited`, for one of the judges."""
    found = examined["passport"]
    if found is None:
        return Text("not audited")
    if found["verdict"] == EDITED:
        return Text("not audited: its passport was changed by hand")
    verdict = name_of("verdict", found["verdict"])
    line = Text("audited {}: {}", found["date"], verdict)
    if found["failed"]:
        line += Text(" ({})", _named(found["failed"]))
    if found["basis"]:
        line += Text(
            "; {} scenes a category, {} pixels, seed {}",
            found["basis"]["scenes"],
            found["basis"]["size"],
            found["basis"]["seed"],
        )
    if found["earlier"]:
        earlier = [name_of("verdict", one) for one in found["earlier"]]
        line += Text(", try {} after {}", len(earlier) + 1, earlier)
    if not found["this_language"]:
        name = name_of("language", examined["language"])
        line += Text("; not audited for {}", name)
    return line


def _named(failed: Sequence[str]) -> str:
    """Puts failed measures into words; if many, only the first, which are the gravest."""
    named: list[str] = [failed_words(key) for key in failed[:NAMED]]
    more = [Text("{} more", len(failed) - NAMED)] if len(failed) > NAMED else []
    return joined([*named, *more], "; ")


def passport_lines(summary: Mapping[str, Any]) -> list[Text]:
    """Returns a line for each judge that an audit could examine; a second one if its anchors show no drift."""
    lines = []
    for judge, examined in (summary.get("judges") or {}).items():
        lines.append(Text("Judge {}: {}", judge, passport_line(examined)))
        if examined["anchors"] and not _drifted(examined):
            lines.append(_anchors(judge, examined["anchors"]))
    return lines


def drift_lines(summary: Mapping[str, Any]) -> list[Text]:
    """Returns a line for each judge whose anchors show that it is no longer the one examined."""
    judges = (summary.get("judges") or {}).items()
    return [_anchors(judge, examined["anchors"]) for judge, examined in judges if _drifted(examined)]


def _drifted(examined: Mapping[str, Any]) -> bool:
    return bool(examined["anchors"] and examined["anchors"]["drift"] and examined["anchors"]["drift"]["drifted"])


def _anchors(judge: str, anchors: Mapping[str, Any]) -> Text:
    found = anchors["drift"]
    if not anchors["repeated"]:
        return Text(
            "{}: whether it has drifted is not tested: its passport has no repeated answers to hold the anchor edits "
            "against; audit it again",
            judge,
        )
    if found is None:
        return Text(
            "{}: the {} anchor edits, judged again on {}, do not say whether it has drifted",
            judge,
            anchors["total"],
            anchors["date"],
        )
    moved = formats.score(found["spread"]), formats.score(found["retest_sd"]), p_value(found["p"])
    counted = found["n"], anchors["total"], anchors["date"]
    if found["drifted"]:
        return Text(
            "{} has drifted since it was examined: {} of {} anchor edits, judged again on {}, score "
            "{} on average and scatter by {}, more than its own noise of {} (p {}). Scores from "
            "before are not comparable.",
            judge,
            *counted,
            signed(found["mean"]),
            *moved,
        )
    line = Text(
        "{}: {} of {} anchor edits, judged again on {}, score {} on average and scatter by {}; no drift is shown "
        "(its own noise is {}, p {})",
        judge,
        *counted,
        signed(found["mean"]),
        *moved,
    )
    if found["found"] is not None:
        line += Text("; a shift of a twentieth of the scale would be found in {} of 100", round(100 * found["found"]))
    return line


# -- controls --

_CONTROLS = {
    "source": Text("the source itself"),
    "blank": Text("a grey picture"),
    "shuffled": Text("another sample's edit"),
}


def wrong_lines(summary: Mapping[str, Any]) -> list[Text]:
    """Returns every reason to distrust a judge's scores: its drift, and controls that it does not put last."""
    return [*drift_lines(summary), *control_lines(summary)]


def control_lines(summary: Mapping[str, Any]) -> list[Text]:
    """Returns a line for each judge that is not shown to put all controls below edits."""
    scales = {one["judge"]: Scale(**one["scores"][one["headline"]]["scale"]) for one in summary["results"]}
    lines = []
    for judge, kinds in judges_without_sight(summary):
        digits = formats.decimals(scales[judge], max(abs(beside["edits"]) for _, beside in kinds))
        parts = []
        for kind, beside in kinds:
            ends = formats.bracketed(beside["ci95"], digits)
            interval = Text(", difference {}", ends) if beside["ci95"] else ""
            control, edits = (formats.score(beside[name], digits) for name in ("control", "edits"))
            parts.append(Text("{} ({} against {}{})", _CONTROLS.get(kind, kind), control, edits, interval))
        lines.append(
            Text(
                "{} does not put controls clearly last: no edit model is shown to score better than {}.",
                judge,
                parts,
            )
        )
    return lines


def unshown_lines(summary: Mapping[str, Any]) -> list[Text]:
    """Returns a line for each judge that controls do not show to see edits, and do not show to be unfit either; one
    line if they are off."""
    if controls_are_off(summary):
        return [Text("No controls were judged (evaluation.controls is 0), so nothing shows that the judge sees edits.")]
    judges = [one.judge for one in verdict_of(summary).opinions if one.sees == "unknown"]
    return [Text("Judge {}: not shown fit ({})", judge, why_unshown(summary, judge)) for judge in judges]


def why_unshown(summary: Mapping[str, Any], judge: str) -> Text:
    """Says why controls do not show that a judge sees edits."""
    controls = summary["controls"]
    kinds = (controls["judges"].get(judge) or {}).get("kinds") or {}
    asked = max((block["coverage"]["total"] for block in kinds.values()), default=0)
    if not asked:
        return Text("no controls: they would be more than a third of the few questions about edits")
    if asked < controls["fewest"]:
        return Text(
            "{} control of each kind shows nothing yet, {} or more can",
            asked,
            controls["fewest"],
            plural="{} controls of each kind show nothing yet, {} or more can",
        )
    open_ = [kind for kind, block in kinds.items() if block["beside_edits"]["below"] is None]
    return Text("not clearly below the edits in its scores: {}", [_CONTROLS.get(kind, kind) for kind in open_])


# -- below the results --


def footnotes(summary: Mapping[str, Any]) -> list[Text]:
    """Returns the footnotes: none for many images, nor for a judge read once from its written answer."""
    parts = headlines(entries(summary["results"]))
    categories = [block for part in parts for block in part.categories.values()]
    few = few_images([part.overall for part in parts], categories)
    of_judges = (summary.get("readings") or {}).items()
    return [*few, *(line for judge, found in of_judges for line in _lines(judge, found))]


def no_interval(blocks: Iterable[Mapping[str, Any]]) -> Text | None:
    """Says once why blocks of the summary have no interval; None if all have one, or no mean either."""
    reasons = dict.fromkeys(block.get("no_ci95") for block in blocks if not block.get("ci95"))
    known = [name_of("no_ci95", reason) for reason in reasons if reason and reason != "no_scores"]
    return Text("No interval: {}.", known) if known else None


def few_images(means: Iterable[Mapping[str, Any]], categories: Iterable[Mapping[str, Any]] = ()) -> list[Text]:
    """Says what intervals cannot cover, for the mean over all and the category mean that have the fewest images.

    Each mean has `images` and their `ruled_out_share`, None without an interval.
    """
    of_all, of_category = (
        max(((one["ruled_out_share"], one["images"]) for one in some if one.get("ruled_out_share")), default=(0.0, 0))
        for some in (means, categories)
    )
    if of_all[0] <= FEW_RULE_OUT and of_category[0] <= FEW_RULE_OUT:
        return []
    (share, images), (most, fewest) = of_all, of_category
    of_all_share, of_most = formats.share(share, 1), formats.share(most, 1)
    if most <= FEW_RULE_OUT:
        return [
            Text(
                "Intervals are for pictures like these: of a kind that makes less than {} of all, {} may "
                "well show none.",
                of_all_share,
                images,
            )
        ]
    if share <= FEW_RULE_OUT:
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
