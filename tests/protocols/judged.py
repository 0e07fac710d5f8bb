"""Samples, and judgements made of replies as a run makes them, without a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edit_eval.protocols import judging
from edit_eval.protocols.contract import Protocol
from edit_eval.records import Judgement, Picture, Reply, Sample, Status


def sample(name: str = "a", category: str = "add", **about: Any) -> Sample:
    source = Picture(path=f"{name}.png", digest=f"{name:0>64}")
    whole: dict[str, Any] = {"id": name, "index": 0, "category": category, "instruction": "Add a hat."} | about
    return Sample(pictures={"source": source}, **whole)


def judged(protocol: Protocol, one: Sample, said: Mapping[str, str | Reply], retries: int = 0) -> Judgement:
    """What one reply to each question, by its name, amounts to."""
    questions = protocol.questions(one)
    replies = {name: reply if isinstance(reply, Reply) else Reply(text=reply) for name, reply in said.items()}
    reading = {asked.name: judging.read(protocol, asked, [replies[asked.name]], retries) for asked in questions}
    scores, missing, _ = judging.score(protocol, one, questions, [reading])
    status, reason = missing.get(protocol.headline, (Status.OK, ""))
    return judgement(protocol, one, status, reason=reason, scores=scores, missing=missing, readings=(reading,))


def judgement(protocol: Protocol, one: Sample, status: Status, **about: Any) -> Judgement:
    return Judgement(
        sample_id=one.id,
        category=one.category,
        edit_model="editor",
        judge="judge",
        edit_seed=0,
        repeat=0,
        headline=protocol.headline,
        status=status,
        **about,
    )
