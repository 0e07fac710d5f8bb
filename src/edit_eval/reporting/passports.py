"""What is said of a judge's passport: its line, and whether the judge has drifted since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from edit_eval.passports import EDITED
from edit_eval.reporting import formats
from edit_eval.reporting.audit import failed_words
from edit_eval.reporting.formats import p_value, signed
from edit_eval.reporting.page.texts import text

NAMED = 4
"""How much of what a judge did not pass its one line names."""


def passport_line(examined: Mapping[str, Any], language: str) -> str:
    """`examined 2026-11-21: passed; unexamined for Chinese`, or `unexamined`; of an entry of the summary's `judges`."""
    found = examined["passport"]
    if found is None:
        return text("passport.unexamined", language)
    if found["verdict"] == EDITED:
        return text("passport.edited", language)
    verdict = text(f"verdict.{found['verdict']}", language)
    line = text("passport.examined", language, date=found["date"], verdict=verdict)
    if found["failed"]:
        line += text("passport.failed", language, failed=_named(found["failed"], language))
    if found["basis"]:
        line += text("passport.basis", language, **found["basis"])
    if found["earlier"]:
        said = [text(f"verdict.{one}", language) for one in found["earlier"]]
        earlier = text("list.separator", language).join(said)
        line += text("passport.earlier", language, count=len(said) + 1, earlier=earlier)
    if not found["this_language"]:
        name = text(f"language.{examined['language']}", language)
        line += text("passport.other_language", language, name=name)
    return line


def _named(failed: Sequence[str], language: str) -> str:
    """What was not passed, in words; of many the first, which are the gravest."""
    said = [failed_words(key, language) for key in failed[:NAMED]]
    more = [text("passport.more", language, count=len(failed) - NAMED)] if len(failed) > NAMED else []
    return ("；" if language == "zh" else "; ").join([*said, *more])


def passport_lines(summary: Mapping[str, Any], language: str) -> list[str]:
    """A line for each judge that an audit could examine; a second one where its anchors are as they were."""
    lines = []
    for judge, examined in (summary.get("judges") or {}).items():
        lines.append(text("passport.of", language, judge=judge, line=passport_line(examined, language)))
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
        return text("anchors.unknown", language, judge=judge, date=anchors["date"], total=anchors["total"])
    return text(
        "anchors.drifted" if found["drifted"] else "anchors.steady",
        language,
        judge=judge,
        date=anchors["date"],
        n=found["n"],
        total=anchors["total"],
        mean=signed(found["mean"]),
        spread=formats.score(found["spread"]),
        noise=formats.score(found["retest_sd"]),
        p=p_value(found["p"]),
    )
