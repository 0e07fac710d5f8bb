"""What a report says of a judge's passport, and of its drift since, from the judge's document in a summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from edit_eval.plugins.audit.drift import Drift
from edit_eval.plugins.audit.passports import EDITED, PassportVerdict, Try
from edit_eval.plugins.audit.sheet import failure_words
from edit_eval.reporting import formats
from edit_eval.reporting.formats import format_signed, p_value
from edit_eval.reporting.names import name_of
from edit_eval.text import Text, join_texts

if TYPE_CHECKING:
    from edit_eval.statistics.comparison import Comparison

NAMED = 2
"""Number of failed measures named in a judge's line."""


class PassportInBrief(msgspec.Struct, frozen=True, kw_only=True):
    """What a summary has of a passport."""

    date: str
    """Day on which the audit ended, in UTC."""
    verdict: PassportVerdict
    failed: tuple[str, ...]
    """Measures not passed, wrong preferences first."""
    basis: Try | None
    """The last audit; None if the file was changed by hand."""
    earlier: list[str]
    """Verdicts of earlier ones."""
    language: str
    """In which the judge was examined."""
    smallest_difference: float | None
    """As in a passport, in points."""


class AnchorsInBrief(msgspec.Struct, frozen=True, kw_only=True):
    """What came of the anchors, judged again for a run."""

    date: str
    """In UTC."""
    total: int
    """Anchors that were judged again."""
    repeated: int
    """Repeated answers in the passport: nothing is tested without."""
    drift: Drift | None
    """None if it cannot be tested."""

    @property
    def has_drifted(self) -> bool:
        """True if they show that the judge is no longer the one examined."""
        return self.drift is not None and self.drift.drifted


class Details(msgspec.Struct, frozen=True, kw_only=True):
    """What audits add to what is known of a judge (`records.ExaminedJudge.details`)."""

    language: str
    """Of the run's instructions."""
    passport: PassportInBrief | None
    """None if it was never examined."""
    anchors: AnchorsInBrief | None
    """None if they were not judged again for the run."""


def passport_line(details: Details) -> Text:
    """Returns `audited 2026-11-21: passed; not audited for Chinese`, or `not audited`, for one of the judges."""
    passport = details.passport
    if passport is None:
        return Text("not audited")
    if passport.verdict == EDITED:
        return Text("not audited: its passport was changed by hand")
    line = Text("audited {}: {}", passport.date, name_of("verdict", passport.verdict))
    if passport.failed:
        # If many, only the first, which are the gravest.
        named: list[str] = [failure_words(key) for key in passport.failed[:NAMED]]
        more = [Text("{} more", len(passport.failed) - NAMED)] if len(passport.failed) > NAMED else []
        line += Text(" ({})", join_texts([*named, *more], "; "))
    if passport.basis:
        basis = passport.basis
        tried = basis.scenes, basis.size, basis.seed
        line += Text("; by an earlier edit-eval audit, {} scenes a category, {} pixels, seed {}", *tried)
    if passport.earlier:
        earlier = [name_of("verdict", verdict) for verdict in passport.earlier]
        line += Text(", try {} after {}", len(earlier) + 1, earlier)
    if passport.language != details.language:
        line += Text("; not audited for {}", name_of("language", details.language))
    return line


def anchors_line(judge: str, anchors: AnchorsInBrief) -> Text:
    """Says what the anchors, judged again, came to."""
    drift = anchors.drift
    if not anchors.repeated:
        return Text(
            "{}: whether it has drifted is not tested: its passport has no repeated answers to hold the anchor edits "
            "against; audit it again",
            judge,
        )
    if drift is None:
        return Text(
            "{}: the {} anchor edits, judged again on {}, cannot tell whether it has drifted",
            judge,
            anchors.total,
            anchors.date,
        )
    moved = formats.score(drift.spread), formats.score(drift.retest_sd), p_value(drift.p)
    counted = drift.n, anchors.total, anchors.date
    if drift.drifted:
        return Text(
            "{} has drifted since it was examined, or was asked in a session unlike the audit's: {} of {} anchor "
            "edits, judged again on {}, score {} on average and scatter by {}, more than its own noise within one "
            "session, {} (p {}). Scores from before are not comparable. Which of the two it is cannot be told from "
            "this: judge the anchors once more.",
            judge,
            *counted,
            format_signed(drift.mean),
            *moved,
        )
    line = Text(
        "{}: {} of {} anchor edits, judged again on {}, score {} on average and scatter by {}; no drift is shown "
        "(its own noise is {}, p {})",
        judge,
        *counted,
        format_signed(drift.mean),
        *moved,
    )
    if drift.found is not None:
        line += Text("; a shift of a twentieth of the scale would be found in {} of 100", round(100 * drift.found))
    return line


def drift_lines(comparison: Comparison) -> list[Text]:
    """Returns why runs must not be compared: judges that have drifted between them."""
    from edit_eval.reporting.comparison import note_words
    from edit_eval.store.comparable import Note

    drifted = [note for note in comparison.notes if isinstance(note, Note) and note.kind == "moved"]
    return [Text("{}; `--allow-drift` compares anyway", note_words(note)) for note in drifted]
