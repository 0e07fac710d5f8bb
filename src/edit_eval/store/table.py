"""The table of judgements: all that came of a run. Whoever reads a run queries it, and opens nothing else of the store.

A row is a `records.Judgement`: a subject, a judge, a repeat. Its `kind` is what was judged; whether coverage and means
count it is `counts`. A sample that passes no filter has no row.
Edits hang on it, which are there without a judge, too.

`open_table` reads a run whole; a `LiveTable` is one that is still being written, and goes on from where it was.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Container, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from edit_eval.experiment import Experiment
from edit_eval.records import NO_EDIT, NO_FILE, Edit, Judgement, Sample, no_garbage
from edit_eval.store.journal import Tail
from edit_eval.store.matrix import OK, PENDING, SKIPPED, Matrix
from edit_eval.store.recall import ReplyLine, is_there, load_journals, load_run_journals, lookup_of
from edit_eval.store.run_directory import RunDirectory
from edit_eval.store.subjects.kinds import EDITS, kinds
from edit_eval.text import Text, pluralize

HEAD = 64 << 10
"""Bytes of a journal that are searched for a run's first pictures."""


class SampleResults(NamedTuple):
    """What came of one sample."""

    sample: Sample
    edits: list[tuple[Edit, list[Judgement]]]
    """Each edit with its rows, but for a critic's."""
    battles: list[Judgement]
    critiques: list[Judgement]


class JudgementTable:
    """All edits and judgements of a run, each in its current state."""

    def __init__(self, matrix: Matrix) -> None:
        self._matrix = matrix
        self.experiment = matrix.experiment

    # -- rows --

    def rows(self, *wanted: str) -> Iterator[Judgement]:
        """Yields every row, or those of these kinds (`store/subjects`), kind by kind."""
        for kind in wanted or kinds():
            yield from self._matrix.rows(kind)

    def rows_by_kind(self) -> dict[str, list[Judgement]]:
        """Returns the rows by kind, those of no edit model as `control`; what edit models are told, of edits that do
        not count and before there is one, as `critique`."""
        rows: dict[str, list[Judgement]] = {name: [] for name in (*kinds(), "critique")}
        for name, kind in kinds().items():
            for row in self._matrix.rows(name):
                told = kind.before_edits or (kind is EDITS and not row.counts)
                rows["critique" if told else "control" if row.kind == "control" else name].append(row)
        return rows

    @property
    def is_complete(self) -> bool:
        """True if no edit, and no row that counts, is pending."""
        edits = (edit.status is PENDING for edit in self.edits_of_work)
        return not (any(edits) or any(row.status is PENDING and row.counts for row in self.rows("edit", "battle")))

    @property
    def rounds(self) -> int:
        """Number of rounds of battles begun so far."""
        cells = self._matrix.cells
        return 1 + max((cells.subject(number).round for number in cells.subjects_of("battle")[-1:]), default=0)

    # -- what the rows are about --

    @property
    def samples(self) -> tuple[Sample, ...]:
        """The samples that rows are about."""
        return tuple(self._matrix.samples[number] for number in self._matrix.row_sample_indexes)

    @property
    def edits(self) -> tuple[Edit, ...]:
        """Their edits."""
        matrix, places = self._matrix, {*self._matrix.row_sample_indexes}
        numbers = (number for number in range(matrix.cells.edits) if matrix.cells.sample(number) in places)
        return tuple(matrix.edits[number] for number in numbers)

    @property
    def predecessors_only(self) -> tuple[Sample, ...]:
        """Samples that pass no filter, whose edits were made because others follow them."""
        return tuple(sample for sample in self._matrix.samples if sample.id in self.experiment.beside)

    # -- work, for who watches it --

    @property
    def edits_of_work(self) -> list[Edit]:
        """Every edit, those beside the filters too."""
        return self._matrix.edits

    @property
    def shard(self) -> Container[str] | None:
        """Ids of the samples that are this start's work, if it is a shard; None for all."""
        return self._matrix.own

    def count_finished(self) -> int:
        """Returns how many edits and judgements need no more work; in a shard, those of its own samples."""
        own = self.shard
        rows: list[Edit | Judgement] = [*self.edits_of_work, *self.rows("edit", "battle")]
        return sum(row.status not in (PENDING, SKIPPED) and (own is None or row.sample_id in own) for row in rows)

    def sample_of_edit(self, number: int) -> Sample:
        """Returns the sample of an edit, by its number in a task."""
        return self._matrix.sample_of(number)

    def sample_of_question(self, number: int) -> Sample:
        """Returns the sample that a question to a judge is about, by its number in a task."""
        cells = self._matrix.cells
        return self._matrix.sample_of(cells.judgement_parts(cells.judgement_of(number))[0])


class LiveTable(JudgementTable):
    """The table of a run that is being written: `read_updates` takes in what is new."""

    def __init__(self, directory: RunDirectory, experiment: Experiment) -> None:
        super().__init__(Matrix(experiment))
        self._folder = directory.path
        self._edits, self._replies = (Tail(directory.path / name, directory.damage) for name in ("edits", "replies"))
        with no_garbage():
            load_journals(self._matrix, self._edits, self._replies, directory.path, lambda status: False)
        self._numbers: dict[str, list[int]] = defaultdict(list)
        for number, key in enumerate(self._matrix.edit_keys):
            self._numbers[key].append(number)
        self._places = {self._matrix.samples[place].id: place for place in self._matrix.row_sample_indexes}

    @property
    def has_more(self) -> bool:
        """True if something was written since."""
        return bool(self._edits.has_more or self._replies.has_more)

    def read_updates(self) -> frozenset[str]:
        """Takes in what was written since; returns the ids of the samples about which something has changed."""
        changed = frozenset((*self._new_edits(), *self._new_replies()))
        self._matrix.unfold_more()
        return changed & self._places.keys()

    def _new_edits(self) -> Iterator[str]:
        matrix = self._matrix
        for edit in self._edits.decode_lines(Edit):
            if edit.status is OK and not is_there(edit, self._folder):
                continue
            for number in self._numbers.get(edit.key, ()):
                model, edit_seed, sample = matrix.edit_parts(number)
                own = replace(edit, sample_id=sample.id, edit_model=model.name, edit_seed=edit_seed)
                matrix.set_edit(number, own)
                for told in matrix.critiques.dependents_of(number):
                    matrix.critiques.apply_critique(told)
                also = matrix.origins.fail_dependents(number) if own.status in NO_EDIT else []
                yield from (matrix.sample_of(subject).id for subject in (*matrix.subjects_showing(number), *also))

    def _new_replies(self) -> Iterator[str]:
        matrix = self._matrix
        for line in self._replies.decode_lines(ReplyLine):
            for cell in matrix.record_reply(lookup_of(line, matrix), line.ask, line.reply):
                for told in matrix.critiques.edits_told(matrix.cells.judgement_of(cell)):
                    matrix.critiques.apply_critique(told)
                yield matrix.sample_of(matrix.cells.about(cell)).id

    # -- one at a time, as pages ask --

    @property
    def sample_ids(self) -> Collection[str]:
        """Ids of the `samples`, in order."""
        return self._places.keys()

    @property
    def keys(self) -> list[str]:
        """Keys of all edits, in order."""
        return self._matrix.edit_keys

    def results_of(self, sample_id: str) -> SampleResults:
        """Returns what came of a sample. Raises `KeyError` for an id that is not among the `sample_ids`."""
        matrix, place = self._matrix, self._places[sample_id]
        edits, critiques, critics = [], list[Judgement](), matrix.experiment.critics
        for number in range(place, matrix.cells.edits, len(matrix.samples)):
            every = [matrix.judgement(judgement) for judgement in matrix.cells.judgements_of(number)]
            edits.append((matrix.edits[number], [judgement for judgement in every if judgement.judge not in critics]))
            critiques += [judgement for judgement in every if judgement.judge in critics]
        battles = kinds()["battle"].rows_of(matrix, matrix.battles_of(place))
        return SampleResults(matrix.samples[place], edits, [*battles], critiques)

    def edit_of_key(self, key: str) -> Edit | None:
        """Returns the edit with that key, if it has a picture."""
        numbers = self._numbers.get(key)
        edit = self._matrix.edits[numbers[0]] if numbers else None
        return edit if edit is not None and edit.status is OK else None


def open_table(directory: RunDirectory, experiment: Experiment) -> JudgementTable:
    """Reads all that came of a run."""
    with no_garbage():
        matrix = Matrix(experiment)
        load_run_journals(matrix, directory)
    return JudgementTable(matrix)


def first_pictures(run: Path, count: int) -> list[tuple[str, str]]:
    """Returns the files of a run's first edits, and the digests of their pixels, without reading the run."""
    return list(islice(_first_edits(run), count))


def _first_edits(run: Path) -> Iterator[tuple[str, str]]:
    for path in sorted((run / "edits").glob("[0-9]*.jsonl"))[:1]:
        with path.open("rb") as file:
            lines = file.read(HEAD).splitlines()
        for line in lines:
            with suppress(ValueError):
                edit = json.loads(line)
                if isinstance(edit, dict) and edit.get("image") and edit.get("status") == OK.value:
                    yield str(edit["image"]), str(edit.get("pixels"))


def describe_remaining_work(table: JudgementTable) -> str:
    """Returns a line on what is reused and what is to be done."""
    left_out = (SKIPPED, *NO_FILE)
    edits = [e for e in table.edits_of_work if e.status not in left_out]
    kept = sum(e.status is not PENDING for e in edits)
    judgements = [j for j in table.rows() if j.status not in left_out]
    judged = sum(j.status is not PENDING for j in judgements)
    if judged == len(judgements) and (judgements or kept == len(edits)):
        return Text(
            "Nothing to do: {} and {} already complete",
            pluralize(len(edits), "edit"),
            pluralize(len(judgements), "judgement"),
        )
    kept_text = (
        Text("{} of {} edits and {} of {} judgements are kept; ", kept, len(edits), judged, len(judgements))
        if kept
        else ""
    )
    left = pluralize(len(edits) - kept, "edit"), pluralize(len(judgements) - judged, "judgement")
    return Text("{}to do: {}", kept_text, left)
