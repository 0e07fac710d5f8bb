from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from edit_eval.records import Edit, Judgement, Results, Sample, Status

REPOSITORY = Path(__file__).resolve().parents[2]

Scores = Mapping[tuple[str, str], Sequence[Sequence["float | Status"]]]


def sample(
    index: int,
    *,
    category: str = "physical",
    source: int | None = None,
    difficulty: str = "",
    tags: tuple[str, ...] = (),
    language: str = "en",
) -> Sample:
    return Sample(
        id=f"s{index:04d}",
        index=index,
        category=category,
        source=f"{index}.png",
        source_digest=f"digest-{index if source is None else source:05d}",
        instruction="make it rain",
        difficulty=difficulty,
        tags=tags,
        language=language,
    )


def results(samples: Sequence[Sample], scores: Scores, *, name: str = "run", **more: object) -> Results:
    """`scores`: for each (edit model, judge) a row a sample, in it a number or a status for each repeat."""
    edit_models = tuple(dict.fromkeys(edit_model for edit_model, _ in scores))
    judgements = []
    for (edit_model, judge), rows in scores.items():
        for repeat in range(max((len(row) for row in rows), default=0)):
            for of_sample, row in zip(samples, rows, strict=True):
                if repeat >= len(row):
                    continue
                value = row[repeat]
                scored = not isinstance(value, Status)
                judgements.append(
                    Judgement(
                        key="",
                        sample_id=of_sample.id,
                        category=of_sample.category,
                        edit_model=edit_model,
                        judge=judge,
                        edit_seed=0,
                        repeat=repeat,
                        status=Status.OK if scored else Status(value),
                        score=float(value) if scored else None,
                    )
                )
    without_edit = {
        (judgement.edit_model, judgement.sample_id): judgement.status
        for judgement in judgements
        if judgement.status in (Status.EDIT_FAILED, Status.SKIPPED, Status.PENDING)
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
        judges=tuple(dict.fromkeys(judge for _, judge in scores)),
        **more,  # type: ignore[arg-type]
    )


@pytest.fixture
def make_sample() -> Callable[..., Sample]:
    return sample


@pytest.fixture
def make_results() -> Callable[..., Results]:
    return results


@pytest.fixture
def judge_agreement_data() -> Path:
    directory = REPOSITORY / "../shared/data/judge_agreement"
    if not directory.is_dir():
        pytest.skip("the shared data is not here")
    return directory
