"""What it means what a model behind a server said about the drawn scene."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edit_eval.execution.advice.findings import Finding
from edit_eval.protocols.asked import AskedJudge
from edit_eval.protocols.contract import Question
from edit_eval.protocols.judging import read
from edit_eval.records import Reply, Status

SHOWN = 80  # characters of an answer


def edit_finding(who: str, examined: Mapping[str, Any]) -> Finding:
    """One line: the server is down, or what it made. `examined`: see the probe."""
    if error := examined.get("error"):
        return Finding("servers", "problem", f"{who}: {error}", "no run gets an edit from it as it is")
    about, size = examined["about"], " x ".join(map(str, examined["size"]))
    made = f" with a picture of {size} pixels" if size else "; no edit was asked for (probe: false)"
    where = f"{who}: {about.get('server', 'its server')} answered in {examined['seconds']:.1f} s"
    return Finding("servers", "ok", where + made)


def server_finding(who: str, examined: Mapping[str, Any], judge: AskedJudge, question: Question) -> Finding:
    """One line: the server is down, or what it answered, and whether that can be read. `examined`: see the probe."""
    if error := examined.get("error"):
        return Finding("servers", "problem", f"{who}: {error}", "no run gets a score from it as it is")
    text, about = str(examined["text"]), examined["about"]
    where = f"{who}: {about.get('server', 'its server')} answered in {examined['seconds']:.1f} s"
    said = " ".join(text.split())
    shown = f"`{said[:SHOWN]}{'...' * (len(said) > SHOWN)}`"
    reply = Reply(text=text, ended=Status(examined["ended"]), final=True)
    reading = read(judge.protocol, question, [reply], 0)
    if reading.status is Status.OK:
        return Finding("servers", "ok", f"{where}: {shown}")
    if reading.status is Status.CUT_OFF:
        return Finding("servers", "warning", f"{where}, and was cut off: {shown}", "raise max_tokens")
    advice = "see which model answers there, and what its prompt asks for"
    if question.form == "score":
        advice = "for a judge that answers in words: `protocol: {answer: reason_then_score}`"
    return Finding("servers", "warning", f"{where} what is no score ({reading.reason})", advice)
