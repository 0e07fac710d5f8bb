"""What `edit-eval compare --fail-if-worse` says: who does not pass and why, a line each."""

from __future__ import annotations

import math

from edit_eval.reporting.formats import p_value, signed
from edit_eval.reporting.page.texts import text
from edit_eval.reporting.terminal_text import one_line
from edit_eval.statistics.comparison import Comparison
from edit_eval.statistics.gate import Candidate, Gate, Reason
from edit_eval.store.comparable import Note

_WITH_FAILURES = "_with_failures"


def gate_lines(gate: Gate, *, language: str = "en") -> list[str]:
    """A line for each reason why a column does not pass; with a margin also one for each that does, at the end.

    In English or Chinese. What several judges have in common, edits that failed, is said once.
    """
    lines = [_reason(one, reason, language) for one in gate.candidates for reason in one.reasons]
    lines += [_passed(one, gate.margin, language) for one in gate.candidates if one.passed and gate.margin is not None]
    return list(dict.fromkeys(map(one_line, lines)))


def drift_lines(comparison: Comparison) -> list[str]:
    """Why runs are not to be compared: judges that have drifted between them."""
    drifted = [str(note) for note in comparison.notes if isinstance(note, Note) and note.kind == "drift"]
    return [f"{one_line(note)}; `--allow-drift` compares anyway" for note in drifted]


def _reason(candidate: Candidate, reason: Reason, language: str) -> str:
    kind = reason.kind.removesuffix(_WITH_FAILURES)
    values: dict[str, object] = dict(reason.values)
    for name in ("difference", "lower", "assumed"):
        values |= {name: _points(reason.values[name])} if name in values else {}
    values |= {"p": p_value(reason.values["p"])} if "p" in values else {}
    line = text(f"gate.{kind}", language, **_names(candidate), **values)
    return line if kind == reason.kind else text("gate.with_failures", language, line=line)


def _passed(candidate: Candidate, margin: float, language: str) -> str:
    lowest = min(end for end in (candidate.lower, candidate.lower_with_failures) if end is not None)
    values = {"difference": _points(candidate.difference), "lower": _points(lowest), "limit": _points(-margin)}
    return text("gate.passed", language, **_names(candidate), **values)


def _points(value: float | None) -> str:
    """Points of the score, below 0 what is worse; a difference is never rounded to none."""
    return signed(value, max(2, -math.floor(math.log10(abs(value)))) if value else 2)


def _names(candidate: Candidate) -> dict[str, str]:
    return {"name": candidate.name, "first": candidate.first, "judge": candidate.judge}
