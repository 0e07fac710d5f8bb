"""What `edit-eval compare --fail-if-worse` says: who does not pass and why, a line each."""

from __future__ import annotations

import math

from edit_eval.reporting.formats import p_value, signed
from edit_eval.reporting.page.texts import text
from edit_eval.reporting.terminal_text import one_line
from edit_eval.statistics.comparison import Comparison
from edit_eval.statistics.gate import Candidate, Gate, Reason
from edit_eval.store.comparable import Note
from edit_eval.text import Text


def gate_lines(gate: Gate, *, language: str = "en") -> list[str]:
    """A line for each reason why a column does not pass, and at the end one for each that does.

    In English or Chinese. What several judges have in common, edits that failed, is said once.
    """
    lines = [_reason(gate, one, reason, language) for one in gate.candidates for reason in one.reasons]
    lines += [_passed(gate, one, language) for one in gate.candidates if one.passed]
    return list(dict.fromkeys(map(one_line, lines)))


def drift_lines(comparison: Comparison) -> list[str]:
    """Why runs are not to be compared: judges that have drifted between them."""
    drifted = [str(note) for note in comparison.notes if isinstance(note, Note) and note.kind == "drift"]
    return [Text("{}; `--allow-drift` compares anyway", one_line(note)) for note in drifted]


def _reason(gate: Gate, candidate: Candidate, reason: Reason, language: str) -> str:
    values: dict[str, object] = dict(reason.values)
    for name in ("difference", "lower", "assumed"):
        values |= {name: _points(reason.values[name])} if name in values else {}
    values |= {"p": p_value(reason.values["p"])} if "p" in values else {}
    line = text(f"gate.{reason.kind}", language, **_names(candidate), **values)
    return line if reason.kind == "fails_more" else _less(gate, candidate, line, language)


def _passed(gate: Gate, candidate: Candidate, language: str) -> str:
    values = {"difference": _points(candidate.difference)}
    if gate.margin is not None:
        values |= {"lower": _points(candidate.lower), "limit": _points(-gate.margin)}
        line = text("gate.passed", language, **_names(candidate), **values)
    else:
        line = text("gate.not_worse", language, **_names(candidate), **values)
        if candidate.detectable is not None:
            detectable = _points(candidate.detectable).lstrip("+")
            line = text("gate.not_worse.detectable", language, line=line, detectable=detectable)
    return _less(gate, candidate, line, language)


def _less(gate: Gate, candidate: Candidate, line: str, language: str) -> str:
    """With what was left out."""
    if not candidate.left_out:
        return line
    counts = {"left_out": candidate.left_out, "total": candidate.total, "share": f"{gate.allow_unscored:g}"}
    return text("gate.left_out", language, line=line, **counts)


def _points(value: float | None) -> str:
    """Points of the score, below 0 what is worse; a difference is never rounded to none."""
    return signed(value, max(2, -math.floor(math.log10(abs(value)))) if value else 2)


def _names(candidate: Candidate) -> dict[str, str]:
    return {"name": candidate.name, "first": candidate.first, "judge": candidate.judge}
