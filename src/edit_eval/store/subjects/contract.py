"""What can be judged: subjects, each of a kind. A kind is a file listed by `kinds.py`, or a plug-in's (`subject.NAME`).

A kind says which subjects an experiment has of it, who judges them, what they show, what they wait for, their part of a
key, whether coverage counts them, and what they are called. Nothing else in the store or the engine asks for one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from edit_eval.config.identity import Identity
from edit_eval.experiment import Experiment
from edit_eval.protocols.asked import AskedJudge, SampleQuestion, question_digest
from edit_eval.protocols.contract import Question
from edit_eval.records import Edit, Judgement, Sample, Status


class Subject(NamedTuple):
    """Something that is judged. Samples, columns and judges are meant by their places in the experiment."""

    kind: str
    sample: int
    column: int = 0
    other: int | None = None
    """A second column, or for a control the sample whose edit is shown."""
    seed: int = 0
    round: int = 0
    """The round of a battle."""
    shows: str = ""
    """Which control."""
    judges: tuple[int, ...] = ()
    """Who is asked about it."""


class InputPicture(NamedTuple):
    """A picture shown to an edit model or a judge."""

    path: str
    """Path of its file; relative to the run directory for an edit."""
    digest: str = ""
    """SHA-256 of the file's bytes."""
    pixels: str = ""
    """For an edit: the digest of its pixels."""
    blank: bool = False
    """True if a grey picture of the same size is shown instead."""
    maker: str = ""
    """The class path of a `ControlPicture` whose picture of it is shown instead."""
    made: str = ""
    """What identifies that class."""

    @classmethod
    def from_edit(cls, edit: Edit) -> InputPicture:
        """Returns the picture of an edit."""
        return cls(edit.image, pixels=edit.pixels)

    @property
    def key_part(self) -> str:
        """The picture's part of a key."""
        if self.made:
            return f"{self.made} of {self.digest}"
        return f"blank like {self.digest}" if self.blank else self.pixels or self.digest


class CellNumbers(Protocol):
    """The numbers of edits, judgements and cells: what `store.cells.Cells` is to whoever is below it."""

    edits: int
    judges_of_one: list[int]
    repeats: list[int]

    def subjects_of(self, name: str) -> range: ...

    def subject(self, number: int) -> Subject: ...

    def sample(self, number: int) -> int: ...

    def edit_seed(self, number: int) -> int: ...

    def edit(self, model: int, edit_seed: int, sample: int) -> int: ...

    def edit_parts(self, edit: int) -> tuple[int, int, int]: ...

    def judgements_of(self, subject: int) -> range: ...

    def judgement(self, edit: int, judge: int, repeat: int) -> int: ...

    def judgement_parts(self, judgement: int) -> tuple[int, int, int]: ...

    def cells_of(self, judgement: int) -> range: ...

    def cells_of_subject(self, subject: int) -> range: ...

    def cell(self, number: int) -> tuple[int, int, int]: ...


class Earlier(Protocol):
    """The edits before an edit (`store.origins.Origins`)."""

    def predecessor(self, edit: int) -> int | None: ...

    def last(self, subject: int) -> int | None: ...

    def original_of(self, edit: int) -> int: ...


class MatrixState(Protocol):
    """Every edit, reply and judgement of a run: what `store.matrix.Matrix` is to whoever is below it."""

    experiment: Experiment
    edit_models: tuple[Identity, ...]
    judges: tuple[AskedJudge, ...]

    @property
    def samples(self) -> Sequence[Sample]: ...

    @property
    def row_sample_indexes(self) -> list[int]: ...

    @property
    def cells(self) -> CellNumbers: ...

    @property
    def edits(self) -> list[Edit]: ...

    @property
    def origins(self) -> Earlier: ...

    def edit_parts(self, number: int) -> tuple[Identity, int, Sample]: ...

    def sample_of(self, subject: int) -> Sample: ...

    def context_pictures(self, subject: int) -> dict[str, InputPicture]: ...

    def question(self, cell: int) -> Question: ...

    def judgement(self, number: int) -> Judgement: ...

    def rows(self, kind: str) -> Iterator[Judgement]: ...

    def visible_edits_of(self, subject: int) -> tuple[int, ...]: ...

    def new_edit(self, number: int) -> Edit: ...

    def set_edit(self, number: int, edit: Edit) -> list[Judgement]: ...


class Kind:
    """A kind of subject. Its methods take the number of one."""

    name: str
    counts = True
    """Whether coverage and means count it."""
    by_the_way = False
    """True if no device loads a judge for its sake alone."""
    repeated = True
    """Whether judges are asked as often as `evaluation.repeats` says; else once."""
    before_edits = False
    """True for a sample before there is an edit: edits that are told what is said of it wait for that."""

    def unfold(self, experiment: Experiment) -> Iterable[Subject]:
        """Returns the subjects of this kind that an experiment begins with, in order."""
        raise NotImplementedError

    def unfold_more(self, matrix: MatrixState, *, every: bool = False) -> Sequence[Subject]:
        """Returns those that are to be judged, too, by what is said of those there are, and nothing else: a resumed or
        reread run has the same. With `every`, all that may still come, whatever is said."""
        return ()

    def sample_predicate(self, experiment: Experiment) -> Callable[[Sample], bool] | None:
        """Returns what says of a sample that its edits are of this kind, and no edits like others; None of none."""
        return None

    def edits(self, cells: CellNumbers, number: int) -> tuple[int, ...]:
        """Returns the edits that it is about, whether they were made or kept."""
        return ()

    def visible_edits(self, matrix: MatrixState, number: int) -> tuple[int, ...]:
        """Returns the edits whose pictures a question about it can show."""
        return self.edits(matrix.cells, number)

    def waits_for(self, matrix: MatrixState, number: int) -> tuple[int, ...]:
        """Returns the edits that come before it."""
        return self.visible_edits(matrix, number)

    def what_lacks(self, matrix: MatrixState, number: int) -> tuple[Status, str] | None:
        """Returns why there is nothing to judge, or nothing yet; None if all pictures that can be shown are there."""
        shown = matrix.visible_edits_of(number)
        lacking = [edit for edit in map(matrix.edits.__getitem__, shown[::-1]) if edit.status is not Status.OK]
        # Of two edits, one may have failed while the other is pending.
        first = next((edit for edit in lacking if edit.status is not Status.PENDING), *lacking[:1]) if lacking else None
        return None if first is None else (first.status, first.reason)

    def pictures(self, matrix: MatrixState, number: int) -> dict[str, InputPicture]:
        """Returns all pictures that a question about it can show, by name; no `edit` if that was not made."""
        raise NotImplementedError

    def key_parts(
        self, matrix: MatrixState, cell: int, asked: SampleQuestion, pictures: Mapping[str, str]
    ) -> tuple[str, str]:
        """Returns its part of the key of a cell: the digest of what is asked, and the pixels it is asked about."""
        about = asked.digest
        if asked.varies:
            about = question_digest(matrix.question(cell), {**pictures, "edit": "edit"})
        return about, pictures.get("edit", "") if asked.shows_edit else ""

    def column_names(self, matrix: MatrixState, number: int) -> tuple[str, str]:
        """Returns the edit model under which it stands, and the other one if it is of two."""
        raise NotImplementedError

    def batch_group(self, matrix: MatrixState, number: int, batch_of: Sequence[int]) -> Hashable:
        """Returns what subjects of this kind must share to be asked about in one batch; `batch_of` has the batch of
        each sample's edits, by the sample's index."""
        raise NotImplementedError

    def rows(self, matrix: MatrixState) -> Iterator[Judgement]:
        """Yields every judgement of this kind that there is by now."""
        return self.rows_of(matrix, matrix.cells.subjects_of(self.name))

    def rows_of(self, matrix: MatrixState, numbers: Iterable[int]) -> Iterator[Judgement]:
        """Yields the judgements of some."""
        for number in numbers:
            yield from map(matrix.judgement, matrix.cells.judgements_of(number))
