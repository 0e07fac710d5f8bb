"""What a report says of a judge's passport, and of its drift since, from the judge's document in a summary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from edit_eval.guests.audit.passports import EDITED
from edit_eval.guests.audit.sheet import failed_words
from edit_eval.reporting import formats
from edit_eval.reporting.comparison import note_words
from edit_eval.reporting.formats import p_value, signed
from edit_eval.reporting.names import name_of
from edit_eval.statistics.comparison import Comparison
from edit_eval.store.comparable import Note
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


def has_drifted(examined: Mapping[str, Any]) -> bool:
    """True if the anchors, judged again, show that the judge is no longer the one examined."""
    return bool(examined["anchors"] and examined["anchors"]["drift"] and examined["anchors"]["drift"]["drifted"])


def anchors_line(judge: str, anchors: Mapping[str, Any]) -> Text:
    """Says what the anchors, judged again, came to."""
    found = anchors["drift"]
    if not anchors["repeated"]:
        return Text(
            "{}: whether it has drifted is not tested: its passport has no repeated answers to hold the anchor edits "
            "against; audit it again",
            judge,
        )
    if found is None:
        return Text(
            "{}: the {} anchor edits, judged again on {}, cannot tell whether it has drifted",
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


def drift_lines(comparison: Comparison) -> list[Text]:
    """Returns why runs must not be compared: judges that have drifted between them."""
    drifted = [note for note in comparison.notes if isinstance(note, Note) and note.kind == "moved"]
    return [Text("{}; `--allow-drift` compares anyway", note_words(note)) for note in drifted]
