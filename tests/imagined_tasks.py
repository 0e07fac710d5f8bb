"""The tasks of a run about plain samples, the simulation of such a run, and a plan for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from edit_eval.config.schema import Configuration
from edit_eval.execution.engine.pilot import PilotCells, choose_pilot
from edit_eval.execution.engine.workload import fill_work
from edit_eval.plugins.preparation import planning
from edit_eval.plugins.preparation.imagined import assume_experiment, imagine_experiment
from edit_eval.plugins.preparation.prediction import Durations, Prediction, simulate
from edit_eval.records import Refinement
from edit_eval.scheduling.batches import cut_batches
from edit_eval.scheduling.tasks import Model, TaskList
from edit_eval.store.matrix import Matrix
from small_matrix import Asking, ask, small_experiment, small_samples

ONE_QUESTION = Asking([ask("score")])


def tasks_of(
    models: Sequence[Model],
    categories: Sequence[str],
    *,
    batch_size: int = 1,
    pilot: bool = False,
    order: str = "by_stage",
    refinements: Mapping[str, Refinement] | None = None,
    **more: Any,
) -> TaskList:
    """All tasks of a run about samples of these categories, each judge with one question; `refinements` has further
    columns, and `more` is of the experiment."""
    samples = [
        replace(sample, category=name) for sample, name in zip(small_samples(len(categories)), categories, strict=True)
    ]
    experiment = small_experiment(
        samples,
        models=[*(model.name for model in models if model.kind == "edit"), *(refinements or {})],
        judges=[model.name for model in models if model.kind == "judge"],
        protocol=ONE_QUESTION,
        refinements=refinements or {},
        **more,
    )
    tasks, matrix = TaskList(), Matrix(experiment)
    batches = dict.fromkeys((judge.name for judge in experiment.judges), cut_batches(categories, batch_size))
    early = choose_pilot(matrix) if pilot else PilotCells()
    fill_work(tasks, matrix, batches, by_category=order == "by_category", pilot=early)
    return tasks


def simulated(models: Sequence[Model], categories: Sequence[str], durations: Durations, **more: Any) -> Prediction:
    """The simulation of such a run; `more` of its tasks as above, and of how it is driven."""
    shape = {
        name: more.pop(name)
        for name in ("batch_size", "pilot", "order", "refinements", "edit_seeds", "repeats", "controls")
        if name in more
    }
    return simulate(models, tasks_of(models, categories, **shape), durations, **more)


def make_plan(configuration: Configuration, categories: Sequence[str] | None, **more: Any) -> planning.Plan:
    """The plan of a configuration with samples of these categories; None for those assumed of a missing benchmark."""
    if categories is not None:
        return planning.make_plan(configuration, imagine_experiment(configuration, categories), **more)
    experiment, note = assume_experiment(configuration)
    made = planning.make_plan(configuration, experiment, **more)
    return replace(made, notes=(*made.notes, note))
