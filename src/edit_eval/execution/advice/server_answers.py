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
        return Finding("servers", "problem", f"{who}: {error}", "a run would get no edits from it like this")
    about, size = examined["about"], " x ".join(map(str, examined["size"]))
    made = f" with a picture of {size} pixels" if size else "; no edit was requested (probe: false)"
    where = f"{who}: {about.get('server', 'its server')} answered in {examined['seconds']:.1f} s"
    return Finding("servers", "ok", where + made)


def server_finding(who: str, examined: Mapping[str, Any], judge: AskedJudge, question: Question) -> Finding:
    """One line: the server is down, or what it answered, and whether that can be read. `examined`: see the probe."""
    if error := examined.get("error"):
        return Finding("servers", "problem", f"{who}: {error}", "a run would get no scores from it like this")
    text, about = str(examined["text"]), examined["about"]
    where = f"{who}: {about.get('server', 'its server')} answered in {examined['seconds']:.1f} s"
    said = " ".join(text.split())
    shown = f"`{said[:SHOWN]}{'...' * (len(said) > SHOWN)}`"
    more = {"values": examined.get("values", {}), "normalised": examined.get("normalised", False)}
    reply = Reply(text=text, ended=Status(examined["ended"]), final=True, **more)
    reading = read(judge.protocol, question, [reply], 0)
    if reply.values:
        likely = sorted(reply.values.items(), key=lambda item: -item[1])[:3]
        shown = ", ".join(f"`{label}` {share:.1%}" for label, share in likely)
    if reading.status is Status.OK:
        return Finding("servers", "ok", f"{where}: {shown}")
    if reading.status is Status.CUT_OFF:
        advice = "write `thinking: off`, or raise thinking_tokens" if said.startswith("<think>") else "raise max_tokens"
        return Finding("servers", "warning", f"{where}, and was cut off: {shown}", advice)
    advice = "see which model answers there, and what its prompt asks for"
    if question.form == "score":
        advice = "for a judge that answers in words: `protocol: {answer: reason_then_score}`"
    return Finding("servers", "warning", f"{where} without a score ({reading.reason})", advice)


ABILITIES = {
    "schema": ("not held", "does not enforce a schema", "enforces a schema ({how})"),
    "probabilities": ("none", "gives no probabilities", "gives probabilities ({how})"),
    "thinking": ("no switch", "has no switch for thinking", "has a switch for thinking ({how})"),
}
"""What a judge says about its server -> what it says where there is no such thing, that in words, and the opposite."""


def ability_findings(who: str, examined: Mapping[str, Any]) -> list[Finding]:
    """One line on what the server can do beyond the chat protocol, where that was found out."""
    about = examined.get("about", {})
    can = [
        without if about[name] == none else having.format(how=about[name])
        for name, (none, without, having) in ABILITIES.items()
        if name in about
    ]
    return [Finding("servers", "note", f"{who}: its server {'; '.join(can)}")] if can else []
