"""Results made of scores: samples, edits and judgements as a finished run has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from edit_eval.records import (
    NO_EDIT,
    Edit,
    Judgement,
    Picture,
    Results,
    RunProvenance,
    RunTelemetry,
    Sample,
    Scale,
    Scoring,
    Status,
)

TEN = Scoring(protocol="rubric", headline="score", scales={"score": Scale(lowest=0, highest=10)})
Value = float | Status | Mapping[str, float | Status]
"""The headline, or every score that applies by its name."""
Scores = Mapping[tuple[str, str], Sequence[Sequence[Value]]]


def sample(
    index: int,
    *,
    category: str = "physical",
    source: int | None = None,
    difficulty: str = "",
    tags: tuple[str, ...] = (),
    language: str = "en",
    cluster: str = "",
    follows: str = "",
) -> Sample:
    pictures = {} if follows else {"source": Picture(path=f"{index}.png", digest=_digest(index, source))}
    return Sample(
        id=f"s{index:04d}",
        index=index,
        category=category,
        pictures=pictures,
        instruction="make it rain",
        difficulty=difficulty,
        tags=tags,
        language=language,
        cluster=cluster,
        follows=follows,
    )


def _digest(index: int, source: int | None) -> str:
    return f"digest-{index if source is None else source:05d}"


def judgement(of_sample: Sample, edit_model: str, judge: str, repeat: int, value: Value, headline: str) -> Judgement:
    """What a judge says of an edit: its headline or the reason why there is none, or several scores."""
    parts = value if isinstance(value, Mapping) else {} if isinstance(value, Status) else {headline: value}
    missing = {name: (part, "") for name, part in parts.items() if isinstance(part, Status)}
    nothing = value if isinstance(value, Status) else Status.OK
    return Judgement(
        sample_id=of_sample.id,
        category=of_sample.category,
        edit_model=edit_model,
        judge=judge,
        edit_seed=0,
        repeat=repeat,
        headline=headline,
        status=missing.get(headline, (nothing, ""))[0],
        scores={name: float(part) for name, part in parts.items() if not isinstance(part, Status)},
        missing=missing,
    )


def results(
    samples: Sequence[Sample],
    scores: Scores,
    *,
    name: str = "run",
    scoring: Scoring | Mapping[str, Scoring] = TEN,
    **more: object,
) -> Results:
    """`scores`: for each (edit model, judge) a row a sample, in it what the judge says for each repeat.

    `scoring` is that of all judges, or of each; `more` are fields of the results, of their telemetry or provenance.
    """
    parts: dict[str, Any] = {"telemetry": RunTelemetry, "provenance": RunProvenance}
    for part, kind in parts.items():
        given = {each.name: more.pop(each.name) for each in fields(kind) if each.name in more}
        more.setdefault(part, kind(**given))
    edit_models = tuple(dict.fromkeys(edit_model for edit_model, _ in scores))
    judges = tuple(dict.fromkeys(judge for _, judge in scores))
    scorings = {judge: scoring if isinstance(scoring, Scoring) else scoring[judge] for judge in judges}
    judgements = [
        judgement(of_sample, edit_model, judge, repeat, row[repeat], scorings[judge].headline)
        for (edit_model, judge), rows in scores.items()
        for repeat in range(max((len(row) for row in rows), default=0))
        for of_sample, row in zip(samples, rows, strict=True)
        if repeat < len(row)
    ]
    without_edit = {
        (answer.edit_model, answer.sample_id): answer.status
        for answer in judgements
        if answer.status in (*NO_EDIT, Status.SKIPPED, Status.PENDING)
    }
    edits = tuple(
        Edit(
            key="",
            sample_id=of_sample.id,
            edit_model=edit_model,
            seed=0,
            edit_seed=0,
            status=without_edit.get((edit_model, of_sample.id), Status.OK),
            image="" if (edit_model, of_sample.id) in without_edit else "images/x.png",
        )
        for edit_model in edit_models
        for of_sample in samples
    )
    return Results(
        name=name,
        directory=f"runs/{name}",
        samples=tuple(samples),
        edits=edits,
        judgements=tuple(judgements),
        edit_models=edit_models,
        judges=judges,
        scoring=scorings,
        **more,
    )
