"""What a judge says of a ladder, without an engine: all is drawn once, a function stands for the judge."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from PIL import Image

from edit_eval.benchmarks.contract import AUDIT
from edit_eval.pictures import open_picture
from edit_eval.plugins.scenes.in_worker.ladder import Ladder
from edit_eval.plugins.scenes.in_worker.rungs import Recipe, draw_recipe, recipe_of
from edit_eval.records import Edit, Judgement, Results, Sample, Scale, Scoring, Status

SCALE = Scale(lowest=0.0, highest=10.0)


class Shown(NamedTuple):
    """One sample, and the pictures that a judge is shown."""

    sample: Sample
    source: Image.Image
    edit: Image.Image


Scores = Callable[[Shown], float | None]


@lru_cache(maxsize=8)
def ladder(folder: Path, scenes: int = 15, size: int = 160, seed: int = 0) -> tuple[Shown, ...]:
    """All samples of a ladder; edits of one recipe are drawn once."""
    edits: dict[Recipe, Image.Image] = {}
    sources: dict[str, Image.Image] = {}
    shown = []
    parameters = Ladder.Parameters(scenes=scenes, size=size, seed=seed, alone=True, cache_dir=str(folder))
    for sample in Ladder(parameters).samples():
        recipe = recipe_of({"source_2": open_picture(sample.pictures["source_2"].path)}, "test")
        if recipe not in edits:
            edits[recipe] = draw_recipe(recipe)
        if sample.source not in sources:
            sources[sample.source] = open_picture(sample.source)
        shown.append(Shown(sample, sources[sample.source], edits[recipe]))
    return tuple(shown)


def times(shown: tuple[Shown, ...], count: int) -> tuple[Shown, ...]:
    """Every scene so many times over, each as a scene of its own: pictures are dear, and floors ask for many scenes."""
    all_shown = list(shown)
    for turn in range(1, count):
        for sample, source, edit in shown:
            fact = {**sample.facts[AUDIT], "scene": f"{sample.facts[AUDIT]['scene']}~{turn}"}
            again = replace(sample, id=f"{sample.id}~{turn}", facts={**sample.facts, AUDIT: fact})
            all_shown.append(Shown(again, source, edit))
    return tuple(all_shown)


def results_of(shown: tuple[Shown, ...], scores: Scores, scale: Scale = SCALE) -> Results:
    """As a run would have recorded them; None is an answer that nobody could read."""
    judgements, edits = [], []
    for shown_edit in shown:
        score = scores(shown_edit)
        judgements.append(
            Judgement(
                sample_id=shown_edit.sample.id,
                category=shown_edit.sample.category,
                edit_model="rungs",
                judge="judge",
                edit_seed=0,
                repeat=0,
                headline="score",
                status=Status.UNPARSEABLE if score is None else Status.OK,
                reason="words" if score is None else "",
                scores={} if score is None else {"score": score},
            )
        )
        edits.append(
            Edit(
                key=shown_edit.sample.id,
                sample_id=shown_edit.sample.id,
                edit_model="rungs",
                seed=0,
                edit_seed=0,
                status=Status.OK,
                image=f"images/{shown_edit.sample.id}.png",
                pixels="0" * 64,
            )
        )
    return Results(
        name="audit",
        directory="nowhere",
        samples=tuple(shown_edit.sample for shown_edit in shown),
        edits=tuple(edits),
        judgements=tuple(judgements),
        edit_models=("rungs",),
        judges=("judge",),
        scoring={"judge": Scoring(protocol="on_trial", headline="score", scales={"score": scale})},
    )
