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


def judged(protocol: Protocol, of_sample: Sample, said: Mapping[str, str | Reply], retries: int = 0) -> Judgement:
    """What one reply to each question, by its name, amounts to."""
    questions = protocol.questions(of_sample)
    replies = {name: reply if isinstance(reply, Reply) else Reply(text=reply) for name, reply in said.items()}
    reading = {asked.name: judging.read(protocol, asked, [replies[asked.name]], retries) for asked in questions}
    scored = judging.score(protocol, of_sample, questions, [reading])
    headline = judging.leading_score(protocol, questions, scored)
    status, reason = scored.missing.get(headline, (Status.OK, ""))
    about = {"scores": scored.scores, "missing": scored.missing, "readings": (reading,), "headline": headline}
    return judgement(protocol, of_sample, status, reason=reason, **about)


def judgement(protocol: Protocol, of_sample: Sample, status: Status, **about: Any) -> Judgement:
    whose: dict[str, Any] = {"edit_model": "editor", "judge": "judge", "edit_seed": 0, "repeat": 0}
    headline = about.pop("headline", protocol.headline)
    return Judgement(
        sample_id=of_sample.id, category=of_sample.category, headline=headline, status=status, **whose, **about
    )
