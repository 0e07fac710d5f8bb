"""What it means what a model behind a server said about the drawn scene."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from edit_eval.execution.advice.findings import Finding
from edit_eval.protocols.asked import AskedJudge
from edit_eval.protocols.contract import Question
from edit_eval.protocols.judging import read
from edit_eval.records import Reply, Status
from edit_eval.text import Text

SHOWN = 80  # characters of an answer


def edit_finding(who: str, examined: Mapping[str, Any]) -> Finding:
    """One line: the server is down, or what it made. `examined`: see the probe."""
    if error := examined.get("error"):
        return Finding(
            "servers", "problem", Text("{}: {}", who, error), Text("a run would get no edits from it like this")
        )
    about, size = examined["about"], " x ".join(map(str, examined["size"]))
    made = Text(" with a picture of {} pixels", size) if size else Text("; no edit was requested (probe: false)")
    where = Text("{}: {} answered in {:.1f} s", who, about.get("server", "its server"), examined["seconds"])
    return Finding("servers", "ok", where + made)


def server_finding(who: str, examined: Mapping[str, Any], judge: AskedJudge, question: Question) -> Finding:
    """One line: the server is down, or what it answered, and whether that can be read. `examined`: see the probe."""
    if error := examined.get("error"):
        return Finding(
            "servers", "problem", Text("{}: {}", who, error), Text("a run would get no scores from it like this")
        )
    text, about = str(examined["text"]), examined["about"]
    where = Text("{}: {} answered in {:.1f} s", who, about.get("server", "its server"), examined["seconds"])
    said = " ".join(text.split())
    shown = f"`{said[:SHOWN]}{'...' * (len(said) > SHOWN)}`"
    more = {"values": examined.get("values", {}), "normalised": examined.get("normalised", False)}
    reply = Reply(text=text, ended=Status(examined["ended"]), final=True, **more)
    reading = read(judge.protocol, question, [reply], 0)
    if reply.values:
        likely = sorted(reply.values.items(), key=lambda item: -item[1])[:3]
        shown = ", ".join(f"`{label}` {share:.1%}" for label, share in likely)
    if reading.status is Status.OK:
        return Finding("servers", "ok", Text("{}: {}", where, shown))
    if reading.status is Status.CUT_OFF:
        advice = (
            Text("write `thinking: off`, or raise thinking_tokens")
            if said.startswith("<think>")
            else Text("raise max_tokens")
        )
        return Finding("servers", "warning", Text("{}, and was cut off: {}", where, shown), advice)
    advice = Text("see which model answers there, and what its prompt asks for")
    if question.form == "score":
        advice = Text("for a judge that answers in words: `protocol: {{answer: reason_then_score}}`")
    return Finding("servers", "warning", Text("{} without a score ({})", where, reading.reason), advice)


ABILITIES: Mapping[str, tuple[str, Text, Callable[[str], Text]]] = {
    "schema": ("not held", Text("does not enforce a schema"), lambda how: Text("enforces a schema ({})", how)),
    "probabilities": ("none", Text("gives no probabilities"), lambda how: Text("gives probabilities ({})", how)),
    "thinking": (
        "no switch",
        Text("has no switch for thinking"),
        lambda how: Text("has a switch for thinking ({})", how),
    ),
}
"""What a judge says about its server -> what it says where there is no such thing, that in words, and the opposite."""


def ability_findings(who: str, examined: Mapping[str, Any]) -> list[Finding]:
    """One line on what the server can do beyond the chat protocol, where that was found out."""
    about = examined.get("about", {})
    can = [
        without if about[name] == none else having(about[name])
        for name, (none, without, having) in ABILITIES.items()
        if name in about
    ]
    return [Finding("servers", "note", Text("{}: its server {:; }", who, can))] if can else []
