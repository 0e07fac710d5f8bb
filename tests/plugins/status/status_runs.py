"""Results for the tests of `status`: made by hand, a row a judgement."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from edit_eval.experiment import Experiment
from edit_eval.plugins.status.sheet import print_sample, print_status
from edit_eval.records import (
    NO_EDIT,
    Edit,
    Judgement,
    Picture,
    Reading,
    Results,
    RunProvenance,
    RunTelemetry,
    Sample,
    Scale,
    Scoring,
    Status,
)
from reporting.simulated_runs import asked_judge

EVIL = "\x1b[2J\x1b]0;owned\x07[red]x[/red]\r\n\u202e:smile: \ud800"

SAMPLES = tuple(
    Sample(
        id=name,
        index=index,
        category=category,
        pictures={"source": Picture(path=f"/cache/sources/{index}{'0' * 60}.png", digest=f"{index:064x}")},
        instruction="Turn the sky orange.",
        description="Hills under a clear sky.",
        difficulty="hard",
        tags=("outdoor", "sky"),
        instructions={"en": "Turn the sky orange.", "zh": "把天空变成橙色。"},
        fault="the image ends in the middle" if name.endswith("bad") else "",
    )
    for index, (name, category) in enumerate(
        [
            ("00000_物理_hard", "physical"),
            ("00001_物理_hard", "physical"),
            ("00002_物理_bad", "physical"),
            ("00003_社会_hard", "social"),
            ("00004_社会_hard", "social"),
            ("00005_社会_hard", "social"),
            ("00006_社会_hard", "social"),
            ("00007_社会_hard", "social"),
        ]
    )
)


def edit(index: int, status: Status = Status.OK, reason: str = "") -> Edit:
    sample = SAMPLES[index]
    made = Edit(
        key=f"{index:064x}",
        sample_id=sample.id,
        edit_model="qwen",
        seed=100 + index,
        edit_seed=0,
        status=Status.PENDING,
        reason=reason,
        device="cuda:0",
    )
    if status is Status.OK:
        image = f"images/qwen/{sample.id}.png"
        return replace(
            made,
            status=status,
            image=image,
            pixels="ab" * 32,
            width=1472,
            height=1104,
            file_bytes=1_234_567,
            seconds=41.25,
            flags=("identical_to_source",),
        )
    return replace(made, status=status)


def judgement(
    index: int, status: Status = Status.OK, score: float | None = None, reason: str = "", answer: str = ""
) -> Judgement:
    sample = SAMPLES[index]
    asked = 0 if status in (Status.PENDING, Status.SKIPPED, *NO_EDIT) else 2
    scores = {} if score is None else {"score": score}
    reading = Reading(values=scores, status=status, reason=reason, text=answer, asked=asked)
    return Judgement(
        sample_id=sample.id,
        category=sample.category,
        edit_model="qwen",
        judge="judge",
        edit_seed=0,
        repeat=0,
        headline="score",
        status=status,
        reason=reason,
        scores=scores,
        missing={"score": (status, reason)} if asked and not scores else {},
        readings=({"score": reading},) if asked else (),
        seconds=1.5 * asked,
        device="cuda:1" if asked else "",
    )


ASIDE = "failed 2 times; the last time: RuntimeError: {} fails on purpose"
REFUSED = "the judge declined: `I'm sorry`"
EDITS = (
    edit(0),
    edit(1),
    edit(2, Status.SKIPPED, "the image ends in the middle"),
    edit(3, Status.EDIT_FAILED, ASIDE.format("00003_社会_hard")),
    edit(4, Status.EDIT_FAILED, ASIDE.format("00004_社会_hard")),
    edit(5, Status.EDIT_FAILED, "the image is black: all values are 0"),
    edit(6),
    edit(7, Status.PENDING),
)
JUDGEMENTS = (
    judgement(0, score=7.25, reason="The shadow follows.", answer="The shadow follows.\nScore: 7.250"),
    judgement(1, Status.REFUSED, reason=REFUSED, answer="I'm sorry"),
    judgement(2, Status.SKIPPED, reason="the image ends in the middle"),
    judgement(3, Status.EDIT_FAILED, reason=ASIDE.format("00003_社会_hard")),
    judgement(4, Status.EDIT_FAILED, reason=ASIDE.format("00004_社会_hard")),
    judgement(5, Status.EDIT_FAILED, reason="the image is black: all values are 0"),
    judgement(6, Status.PENDING),
    judgement(7, Status.PENDING),
)
TEN = Scale(lowest=0.0, highest=10.0)
SCORING = Scoring(protocol="rubric", headline="score", scales={"score": TEN})


def resolved(answer: str = "score") -> dict[str, Any]:
    """What a run records of a judge that is asked by rubrics."""
    judge = asked_judge("judge", answer=answer)
    return Experiment(samples=(), edit_models=(), judges=(judge,)).to_record(Path())


RESULTS = Results(
    name="run1",
    directory="/runs/run1",
    samples=SAMPLES,
    edits=EDITS,
    judgements=JUDGEMENTS,
    edit_models=("qwen",),
    judges=("judge",),
    scoring={"judge": SCORING},
    telemetry=RunTelemetry(wall_seconds=(3600.0, 120.0), devices=("cuda:0",)),
    provenance=RunProvenance(resolved=resolved(), notes=("2 damaged lines in the journals were left out",)),
)


def printed(results: Results, sample: str | None = None, width: int = 80) -> list[str]:
    file = io.StringIO()
    console = Console(file=file, width=width, markup=False, emoji=False, highlight=False, _environ={})
    if sample is None:
        print_status(results, console)
    else:
        print_sample(results, sample, console)
    return file.getvalue().splitlines()


# -- documents --
