"""A run that is imagined: an experiment with samples that need not exist, and all of its work as the engine has it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from edit_eval.benchmarks.contract import CATEGORIES, canonical
from edit_eval.config.components import identify_class
from edit_eval.config.identity import Identity
from edit_eval.config.schema import Configuration, ModelSection
from edit_eval.execution.control_questions import ControlQuestions
from edit_eval.execution.engine.pilot import PilotCells, choose_pilot
from edit_eval.execution.engine.workload import count_remaining_work, fill_work
from edit_eval.experiment import Experiment
from edit_eval.plugins.preparation.repeated_tasks import RepeatedTasks
from edit_eval.protocols.asked import AskedJudge, make_judges
from edit_eval.protocols.contract import Protocol, Question, fault
from edit_eval.protocols.critiques import columns_of
from edit_eval.records import Picture, Sample, Status, no_garbage
from edit_eval.scheduling.batches import batches_of
from edit_eval.scheduling.tasks import TaskList
from edit_eval.store.cells import Cells
from edit_eval.store.matrix import Matrix
from edit_eval.text import Text

PENDING = Status.PENDING
MOST_AT_ONCE = 50_000
"""Edits and questions that are unfolded at once, some seconds and 100 MB. Of more samples, a part is repeated."""


class AskedOnce:
    """A protocol about which only the benchmark's file could tell what it asks: it is taken to ask one question."""

    def __init__(self, protocol: Protocol) -> None:
        self._protocol = protocol

    def __getattr__(self, name: str) -> Any:
        return getattr(self._protocol, name)

    def questions(self, sample: Sample) -> list[Question]:
        """Returns one question, about anything."""
        return [Question(name="anything", gives=("anything",), user="")]


def assume_experiment(configuration: Configuration) -> tuple[Experiment, Text]:
    """Returns the experiment of a configuration whose benchmark is missing, and what is assumed of it."""
    categories = [canonical(name) for name in configuration.benchmark.filters.categories] or CATEGORIES
    path = configuration.benchmark.parameters.get("data_path", Text("the benchmark"))
    several = (
        Text("{} categories of equal size are", len(categories)) if len(categories) > 1 else Text("one category is")
    )
    return imagine_experiment(configuration, categories), Text("{} does not exist: {} assumed instead", path, several)


def imagine_experiment(configuration: Configuration, categories: Sequence[str]) -> Experiment:
    """Returns the experiment of a configuration with samples of these categories, of which nothing else is known."""
    samples = tuple(
        Sample(
            id=str(number),
            index=number,
            category=category,
            pictures={"source": Picture(path="", digest=str(number))},
            instruction="an instruction",
            description="a description",
        )
        for number, category in enumerate(categories)
    )
    evaluation, controls = configuration.evaluation, configuration.evaluation.controls
    models = [_as_written(model, configuration.folder, "") for model in configuration.edit_models.values()]
    columns, refinements = columns_of(models, configuration.columns.values())
    made = Experiment(
        samples=samples,
        edit_models=columns,
        judges=tuple(_make_askable(judge, samples) for judge in make_judges(configuration, _as_written)),
        refinements=refinements,
        language=configuration.benchmark.language,
        edit_seeds=evaluation.edit_seeds,
        repeats=evaluation.repeats,
        readings=evaluation.readings,
        control_samples=0 if controls == "auto" else controls,
        more_controls={name: identify_class("control", name) for name in evaluation.more_controls},
    )
    return made.with_cheap_controls() if controls == "auto" else made


def _as_written(section: ModelSection, folder: Path, kind: str) -> Identity:
    """Returns a model by what is written of it: its weights may be elsewhere."""
    return Identity(section.name, section.type or section.class_path, "", section.parameters, section.seed)


def _make_askable(judge: AskedJudge, samples: Sequence[Sample]) -> AskedJudge:
    one_a_category = {sample.category: sample for sample in samples}.values()
    if any(fault(judge.protocol, sample) for sample in one_a_category):
        return replace(judge, protocol=AskedOnce(judge.protocol))
    return judge


def find_counting_samples(experiment: Experiment) -> list[int]:
    """Returns the positions of the samples that count: the good ones that pass the filters."""
    return [n for n, sample in enumerate(experiment.samples) if not (sample.fault or sample.id in experiment.beside)]


def resize_experiment(experiment: Experiment, samples: int) -> Experiment:
    """Returns the experiment with another number of samples that count, in the same shares of categories.

    Copies of a sample have other names and places. A copy that follows another one follows a copy of it: where the
    shares leave that out, it is edited beside the others.
    """
    there = find_counting_samples(experiment)
    if samples == len(there):
        return experiment
    copies = _copies([experiment.samples[position].category for position in there], samples)
    own = dict(zip(there, copies, strict=True))
    needed = Counter(own)
    for position in there:
        for before in experiment.predecessors_of(position):
            needed[before] = max(needed[before], own[position])
    made, beside = list[Sample](), set[str]()
    for position in sorted(needed):
        sample = experiment.samples[position]
        for copy in range(needed[position]):
            behind = f" {copy}" if copy else ""
            made.append(
                replace(
                    sample,
                    id=f"{sample.id}{behind}",
                    index=len(made),
                    cluster=f"{sample.cluster}{behind}" if sample.cluster else "",
                    follows=f"{sample.follows}{behind}" if sample.follows else "",
                )
            )
            if copy >= own.get(position, 0):
                beside.add(made[-1].id)
    resized = replace(experiment, samples=tuple(made), beside=frozenset(beside))
    return resized.with_cheap_controls() if experiment.automatic_controls else resized


def _copies(categories: Sequence[str], samples: int) -> list[int]:
    """Returns how many copies of each sample make so many, by largest remainders of the categories' shares."""
    whole, rest = divmod(samples, len(categories))
    shares = {name: count * rest / len(categories) for name, count in Counter(categories).items()}
    more = {name: int(share) for name, share in shares.items()}
    by_rest = sorted(shares, key=lambda name: shares[name] - more[name], reverse=True)
    for name in by_rest[: rest - sum(more.values())]:
        more[name] += 1
    copies = []
    for category in categories:
        copies.append(whole + (more[category] > 0))
        more[category] -= 1
    return copies


class _Part(NamedTuple):
    matrix: Matrix
    batches: Mapping[str, Sequence[int]]
    times: int = 1
    """How many of its kind stand beside each other."""


class ImaginedWork:
    """All work of an experiment of which nothing is done, with all that may be asked, as a run would begin it."""

    def __init__(
        self,
        experiment: Experiment,
        everything: Sequence[Sample],
        batch_sizes: Mapping[str, int],
        *,
        samples: int | None = None,
        pilot: bool = True,
    ) -> None:
        """`everything` is the whole benchmark before its filters, and `batch_sizes` has each judge's.

        With `samples`, of so many like those of the experiment; of very many a part is unfolded, and stands several
        times.
        """
        there = len(find_counting_samples(experiment))
        self.samples = samples or there

        def part(experiment: Experiment, everything: Sequence[Sample], times: int = 1) -> _Part:
            matrix = Matrix(experiment)
            matrix.unfold_more(every=True)
            return _Part(matrix, batches_of(batch_sizes, everything), times)

        if self.samples == there:
            self._parts = [part(experiment, everything)]
        else:
            blocks = max(1, min(self.samples, round(self.samples / there * _units(experiment) / MOST_AT_ONCE)))
            size, rest = divmod(self.samples, blocks)
            first = resize_experiment(experiment, size + rest)
            self._parts = [part(first, first.samples)]
            if blocks > 1:
                others = replace(resize_experiment(experiment, size), control_samples=0)
                self._parts.append(part(others, others.samples, blocks - 1))
        self._pilot = choose_pilot(self._parts[0].matrix) if pilot else PilotCells()

    def tasks(self, *, by_category: bool = False) -> TaskList:
        """Returns the tasks of the run, which are made once."""
        return self._category_tasks if by_category else self._stage_tasks

    @cached_property
    def _category_tasks(self) -> TaskList:
        return self._tasks(by_category=True)

    @cached_property
    def _stage_tasks(self) -> TaskList:
        return self._tasks(by_category=False)

    @no_garbage()
    def _tasks(self, *, by_category: bool) -> TaskList:
        lists = list[tuple[TaskList, int, int]]()
        for matrix, batches, times in self._parts:
            tasks, pilot = TaskList(), PilotCells() if lists else self._pilot
            fill_work(tasks, matrix, batches, by_category=by_category, pilot=pilot)
            lists += [(tasks, matrix.cells.edits, len(matrix.cells))] * times
        return lists[0][0] if len(lists) == 1 else RepeatedTasks(lists)

    @cached_property
    def work_counts(self) -> dict[str, tuple[int, int]]:
        """How many edits each model makes, questions each judge is asked, and how many more about controls."""
        counts: dict[str, tuple[int, int]] = {}
        for matrix, _, times in self._parts:
            for key, (count, controls) in count_remaining_work(matrix).items():
                before = counts.get(key, (0, 0))
                counts[key] = before[0] + times * count, before[1] + times * controls
        return counts

    @property
    def edits(self) -> int:
        """Number of all edits."""
        return sum(count for key, (count, _) in self.work_counts.items() if key.startswith("edit:"))

    @property
    def n_refined_edits(self) -> int:
        """Number of edits that are told a judge's words."""
        return sum(
            times * sum(edit.edit_model in columns for edit in matrix.edits if edit.status is PENDING)
            for matrix, _, times in self._parts
            for columns in [matrix.experiment.refinements]
        )

    def battles(self, judge: str) -> int:
        """Returns how many battles a judge is asked about, repeats included."""
        return sum(
            times
            * sum(
                matrix.judges[matrix.cells.judgement_parts(number)[1]].name == judge
                for battle in matrix.cells.subjects_of("battle")
                if not matrix.sample_of(battle).fault
                for number in matrix.cells.judgements_of(battle)
            )
            for matrix, _, times in self._parts
        )

    @cached_property
    def controls(self) -> ControlQuestions:
        """Controls, and the questions about them."""
        first, *others = (ControlQuestions.from_experiment(matrix.experiment) for matrix, _, _ in self._parts)
        for other, (_, _, times) in zip(others, self._parts[1:], strict=True):
            edits, images = first.edits + times * other.edits, first.images + times * other.images
            first = replace(first, edits=edits, images=images)
        return first


def _units(experiment: Experiment) -> int:
    """Returns how many edits and questions an experiment has, without controls."""
    cells = Cells(replace(experiment, control_samples=0))
    return cells.edits + len(cells)
