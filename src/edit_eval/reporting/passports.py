"""What is said of a judge's passport: its line, and whether the judge has drifted since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from edit_eval.passports import EDITED
from edit_eval.reporting import formats
from edit_eval.reporting.audit import failed_words
from edit_eval.reporting.formats import p_value, signed
from edit_eval.reporting.language import said
from edit_eval.reporting.page.texts import name_of
from edit_eval.text import Text, joined

NAMED = 4
"""How much of what a judge did not pass its one line names."""


def passport_line(examined: Mapping[str, Any], language: str) -> str:
    """`examined 2026-11-21: passed; unexamined for Chinese`, or `unexamined`; of an entry of the summary's `judges`."""
    found = examined["passport"]
    if found is None:
        return said(Text("unexamined"), language)
    if found["verdict"] == EDITED:
        return said(Text("unexamined: its passport was changed by hand"), language)
    verdict = name_of("verdict", found["verdict"], language)
    line = said(Text("examined {}: {}", found["date"], verdict), language)
    if found["failed"]:
        line += said(Text(" ({})", _named(found["failed"], language)), language)
    if found["basis"]:
        line += said(
            Text(
                "; {} scenes a category, {} pixels, seed {}",
                found["basis"]["scenes"],
                found["basis"]["size"],
                found["basis"]["seed"],
            ),
            language,
        )
    if found["earlier"]:
        earlier = [name_of("verdict", one, language) for one in found["earlier"]]
        line += said(Text(", try {} after {}", len(earlier) + 1, earlier), language)
    if not found["this_language"]:
        name = name_of("language", examined["language"], language)
        line += said(Text("; unexamined for {}", name), language)
    return line


def _named(failed: Sequence[str], language: str) -> str:
    """What was not passed, in words; of many the first, which are the gravest."""
    named: list[str] = [failed_words(key, language) for key in failed[:NAMED]]
    more = [Text("{} more", len(failed) - NAMED)] if len(failed) > NAMED else []
    return said(joined([*named, *more], "; "), language)


def passport_lines(summary: Mapping[str, Any], language: str) -> list[str]:
    """A line for each judge that an audit could examine; a second one where its anchors are as they were."""
    lines = []
    for judge, examined in (summary.get("judges") or {}).items():
        lines.append(said(Text("Judge {}: {}", judge, passport_line(examined, language)), language))
        if examined["anchors"] and not _drifted(examined):
            lines.append(_anchors(judge, examined["anchors"], language))
    return lines


def drift_lines(summary: Mapping[str, Any], language: str) -> list[str]:
    """A line for each judge that the anchors say is no longer the one that was examined."""
    judges = (summary.get("judges") or {}).items()
    return [_anchors(judge, examined["anchors"], language) for judge, examined in judges if _drifted(examined)]


def _drifted(examined: Mapping[str, Any]) -> bool:
    return bool(examined["anchors"] and examined["anchors"]["drift"] and examined["anchors"]["drift"]["drifted"])


def _anchors(judge: str, anchors: Mapping[str, Any], language: str) -> str:
    found = anchors["drift"]
    if found is None:
        return said(
            Text(
                "{}: the {} anchor edits, judged again on {}, do not say whether it has drifted",
                judge,
                anchors["total"],
                anchors["date"],
            ),
            language,
        )
    moved = formats.score(found["spread"]), formats.score(found["retest_sd"]), p_value(found["p"])
    counted = found["n"], anchors["total"], anchors["date"]
    if found["drifted"]:
        words = Text(
            "{} has drifted since it was examined: {} of {} anchor edits, judged again on {}, score "
            "{} on average and scatter by {}, more than its own noise of {} (p {}). Scores from "
            "before are not comparable.",
            judge,
            *counted,
            signed(found["mean"]),
            *moved,
        )
    else:
        words = Text(
            "{}: {} of {} anchor edits, judged again on {}, score {} on average and scatter by {}, "
            "no more than its own noise of {} (p {})",
            judge,
            *counted,
            signed(found["mean"]),
            *moved,
        )
    return said(words, language)
