"""What it means what a judge behind a server said about the drawn scene."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edit_eval.execution.findings import Finding
from edit_eval.protocols.rubric_score import RubricScore
from edit_eval.records import Answer, Status

SHOWN = 80  # characters of an answer


def server_finding(who: str, examined: Mapping[str, Any], protocol: RubricScore) -> Finding:
    """One line: the server is down, or what it answered, and whether that can be read. `examined`: see the probe."""
    if error := examined.get("error"):
        return Finding("servers", "problem", f"{who}: {error}", "no run gets a score from it as it is")
    text, about = str(examined["text"]), examined["about"]
    where = f"{who}: {about.get('server', 'its server')} answered in {examined['seconds']:.1f} s"
    said = " ".join(text.split())
    shown = f"`{said[:SHOWN]}{'...' * (len(said) > SHOWN)}`"
    ended = Status(examined["ended"])
    outcome = protocol.judgement([Answer(text, ended=ended)])
    if outcome.score is not None:
        return Finding("servers", "ok", f"{where}: {shown}")
    if ended is Status.CUT_OFF:
        return Finding("servers", "warning", f"{where}, and was cut off: {shown}", "raise max_tokens")
    advice = "see which model answers there, and what its prompt asks for"
    if protocol.form == "score":
        advice = "for a judge that answers in words: `protocol: {answer: reason_then_score}`"
    return Finding("servers", "warning", f"{where} what is no score ({outcome.reason})", advice)
