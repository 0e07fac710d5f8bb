"""Cells: their numbers, which are all that scheduling needs, and their keys; and what an edit model is told.

A cell is one question to one judge about one edit, or about two, in one reading of one repeat. Cells that differ only
in question and reading form one judgement; two orders of showing two edits are two questions. Subjects are numbered:
edits by (edit model, edit seed, sample), then those of other kinds (`store/subjects`); judgements by (subject, judge,
repeat); cells by (judgement, reading, question).

One sample, the edit models `a` and `b`, the judges `x` and `y` with a question each, two readings:

    edit       0 (a)           1 (b)
    judgement  0 (x)   1 (y)   2 (x)   3 (y)
    cell       0   1   2   3   4   5   6   7
    seed       0   1   0   1   0   1   0   1

If the edit of `b` has the pixels of that of `a`, cells 4 to 7 have the keys of cells 0 to 3: a judge is asked four
questions, and what it says counts for all eight cells.

A key is a digest of everything that determines an edit's pixels, or a judge's reply. Where and how something ran
(device, batch size, library versions) is recorded, never hashed. Neither are the names that a configuration gives its
models, nor the way replies are read: stored replies can be read again without a GPU.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

from edit_eval.config.identity import Identity, canonical_json, digest, digest_of_text
from edit_eval.experiment import Experiment
from edit_eval.protocols.asked import SampleQuestion
from edit_eval.records import Sample
from edit_eval.store.subjects.contract import Kind, Subject
from edit_eval.store.subjects.kinds import EDITS, kinds


class Cells:
    """The numbering of an experiment's edits, judgements and cells."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._samples = len(experiment.samples)
        self.edits = len(experiment.edit_models) * experiment.edit_seeds * self._samples
        """Number of edits made by edit models; the numbers after them are of other subjects."""
        self._others: list[Subject] = []
        self._of_kind = {EDITS.name: range(self.edits)}
        self._kinds = kinds()
        self._takes = [(kind, takes) for kind in self._kinds.values() if (takes := kind.sample_predicate(experiment))]
        self._taken = {n: kind for kind, takes in self._takes for n, of in enumerate(experiment.samples) if takes(of)}
        self._asked = [experiment.questions_by_judge[judge.name] for judge in experiment.judges]
        self._judgement_subject, self._judgement_judge = array("q"), array("q")
        self._judgement_repeat = array("q")
        self._first_judgement, self._first_cell = array("q", [0]), array("q", [0])
        self._cell_judgement = array("q")
        self.judges_of_one = [n for n, judge in enumerate(experiment.judges) if judge.of_one]
        """Judges that are asked about one edit at a time."""
        self.repeats = [experiment.repeats_of(judge) for judge in experiment.judges]
        """How often each judge is asked again."""
        before = accumulate((self.repeats[judge] for judge in self.judges_of_one), initial=0)
        self._place = dict(zip(self.judges_of_one, before, strict=False))
        for edit in range(self.edits):
            self._unfold(edit, self.judges_of_one)
        for kind in self._kinds.values():
            if kind is not EDITS:
                self._of_kind[kind.name] = range(self.n_subjects, self.n_subjects)
                self.extend(kind, kind.unfold(experiment))

    def _unfold(self, subject: int, judges: Sequence[int], repeats: int = 0) -> None:
        sample, readings = self.sample(subject), self._experiment.readings
        for judge in judges:
            count = len(self._asked[judge][sample]) * readings
            for repeat in range(repeats or self.repeats[judge]):
                number = len(self._judgement_subject)
                self._judgement_subject.append(subject)
                self._judgement_judge.append(judge)
                self._judgement_repeat.append(repeat)
                self._cell_judgement.extend([number] * count)
                self._first_cell.append(self._first_cell[-1] + count)
        self._first_judgement.append(len(self._judgement_subject))

    def extend(self, kind: Kind, subjects: Iterable[Subject]) -> range:
        """Adds subjects of a kind behind all others, which is behind all others of it; returns their numbers."""
        begin = self.n_subjects
        for number, subject in enumerate(subjects, begin):
            self._others.append(subject)
            self._unfold(number, subject.judges, 0 if kind.repeated else 1)
        assert self._of_kind[kind.name].stop == begin
        self._of_kind[kind.name] = range(self._of_kind[kind.name].start, self.n_subjects)
        return range(begin, self.n_subjects)

    def append(self) -> None:
        """Adds the edit of a sample that was added: there is one edit model, one edit seed, and no other subject."""
        assert self.edits == self._samples == self.n_subjects
        if taking := [kind for kind, takes in self._takes if takes(self._experiment.samples[-1])]:
            self._taken[self._samples] = taking[-1]
        self._samples += 1
        self.edits += 1
        self._of_kind = {name: range(self.edits, self.edits) for name in self._kinds} | {EDITS.name: range(self.edits)}
        self._unfold(self.edits - 1, self.judges_of_one)

    def __len__(self) -> int:
        return len(self._cell_judgement)

    @property
    def judgements(self) -> int:
        """Number of judgements, controls included."""
        return len(self._judgement_subject)

    # -- subjects --

    @property
    def n_subjects(self) -> int:
        """Number of all subjects."""
        return self.edits + len(self._others)

    def subjects_of(self, name: str) -> range:
        """Returns the numbers of all subjects of a kind."""
        return self._of_kind[name]

    def kind(self, number: int) -> Kind:
        """Returns the kind of a subject."""
        if number < self.edits:
            return self._taken.get(number % self._samples, EDITS) if self._taken else EDITS
        return self._kinds[self._others[number - self.edits].kind]

    def subject(self, number: int) -> Subject:
        """Returns the subject with a number."""
        if number < self.edits:
            model, edit_seed, sample = self.edit_parts(number)
            return Subject(EDITS.name, sample, model, seed=edit_seed)
        return self._others[number - self.edits]

    def sample(self, number: int) -> int:
        """Returns the position of a subject's sample."""
        return number % self._samples if number < self.edits else self._others[number - self.edits].sample

    def edit_seed(self, number: int) -> int:
        """Returns the edit seed of a subject; 0 for what is no edit's."""
        if number < self.edits:
            return number // self._samples % self._experiment.edit_seeds
        return self._others[number - self.edits].seed

    def edits_of(self, number: int) -> tuple[int, ...]:
        """Returns the edits that a subject is about."""
        return self.kind(number).edits(self, number)

    def edit(self, model: int, edit_seed: int, sample: int) -> int:
        """Returns the number of an edit; arguments count from 0, in the order of the configuration and the samples."""
        return (model * self._experiment.edit_seeds + edit_seed) * self._samples + sample

    def edit_parts(self, edit: int) -> tuple[int, int, int]:
        """Returns edit model, edit seed and sample of an edit made by a model."""
        rest, sample = divmod(edit, self._samples)
        return *divmod(rest, self._experiment.edit_seeds), sample

    # -- judgements --

    def judgements_of(self, subject: int) -> range:
        """Returns the numbers of all judgements of a subject."""
        return range(self._first_judgement[subject], self._first_judgement[subject + 1])

    def first_judgement(self, subject: int) -> int:
        """Returns the number of the first judgement of a subject, or of those behind all subjects."""
        return self._first_judgement[subject]

    def judgement(self, edit: int, judge: int, repeat: int) -> int:
        """Returns the number of a judgement of an edit made by a model."""
        return self._first_judgement[edit] + self._place[judge] + repeat

    def judgement_parts(self, judgement: int) -> tuple[int, int, int]:
        """Returns subject, judge and repeat of a judgement."""
        return self._judgement_subject[judgement], self._judgement_judge[judgement], self._judgement_repeat[judgement]

    # -- cells --

    def questions_of(self, judgement: int) -> tuple[SampleQuestion, ...]:
        """Returns the questions of a judgement."""
        return self._asked[self._judgement_judge[judgement]][self.sample(self._judgement_subject[judgement])]

    def cells_of(self, judgement: int) -> range:
        """Returns the numbers of all cells of a judgement."""
        return range(self._first_cell[judgement], self._first_cell[judgement + 1])

    def cells_of_subject(self, subject: int) -> range:
        """Returns the numbers of all cells about a subject."""
        of = self.judgements_of(subject)
        return range(self._first_cell[of.start], self._first_cell[of.stop])

    def judgement_of(self, cell: int) -> int:
        """Returns the judgement of a cell."""
        return self._cell_judgement[cell]

    def about(self, cell: int) -> int:
        """Returns the subject that a cell is about."""
        return self._judgement_subject[self._cell_judgement[cell]]

    def judge_of(self, cell: int) -> int:
        """Returns the position of a cell's judge."""
        return self._judgement_judge[self._cell_judgement[cell]]

    def cell(self, number: int) -> tuple[int, int, int]:
        """Returns judgement, reading and question of a cell."""
        judgement = self._cell_judgement[number]
        if self._is_single(judgement):
            return judgement, 0, 0
        questions = len(self.questions_of(judgement))
        return judgement, *divmod(number - self._first_cell[judgement], questions)

    def _is_single(self, judgement: int) -> bool:
        """True in the common case of a judgement of one question, read once."""
        return self._first_cell[judgement + 1] - self._first_cell[judgement] == 1

    def prerequisites_of(self, number: int) -> dict[str, int]:
        """Returns, by question name, the cells of the same reading that a cell's question comes after."""
        if self._is_single(self._cell_judgement[number]):
            return {}
        judgement, _, question = self.cell(number)
        asked = self.questions_of(judgement)
        if not asked[question].question.after:
            return {}
        names = [sample_question.question.name for sample_question in asked]
        return {name: number - question + names.index(name) for name in asked[question].question.after}

    def dependents_of(self, number: int) -> list[int]:
        """Returns the cells whose questions come after a cell's, directly or not, in order."""
        if self._is_single(self._cell_judgement[number]):
            return []
        judgement, _, question = self.cell(number)
        asked = self.questions_of(judgement)
        names, cells = {asked[question].question.name}, []
        for place in range(question + 1, len(asked)):
            if not names.isdisjoint(asked[place].question.after):
                names.add(asked[place].question.name)
                cells.append(number - question + place)
        return cells


SCHEMA = 2  # part of every key; raised when the meaning of a key changes
REPEAT_STRIDE = 1_000_000
"""Reading r of repeat p is sampled with the seed r + 1,000,000 p, so repeats share no seeds."""

EDIT_SEED_STRIDE = 1_000_000
"""Distance between the seeds of a sample's edits with `edit_seeds` > 1: larger than any benchmark."""

_quoted = json.encoder.encode_basestring  # a text in canonical JSON


def edit_key(model: Identity, sources: Sequence[str], instruction: str, seed: int) -> str:
    """Returns the key of an edit. `sources` are the SHA-256 of the source files' bytes in order, `seed` the sample's.

    For a sample that follows another, the key of that one's edit takes the place of the (first) source. Equal to the
    `digest` of a list, but written out for speed: resuming a run computes a hundred thousand keys.
    """
    shown = ",".join(map(_quoted, sources))
    return digest_of_text(f'["edit",{SCHEMA},"{model.digest}",[{shown}],{_quoted(instruction)},{seed}]')


def reply_key(judge: Identity, asked: str, edit: str, seed: int, told: Mapping[str, object] | None = None) -> str:
    """Returns the key of the replies to one question. The edit enters by its pixels, so equal edits are judged alike.

    `asked` is the `protocols.asked.question_digest`, `edit` the digest of the edit's pixels (empty if the judge is not
    shown it), `seed` as in `REPEAT_STRIDE`. For a battle, `edit` is empty and the pixels of both edits are in `asked`,
    in the order shown: which of the two a configuration names first is in no key. `told` is what the judge's class
    reads besides (`AskedJudge.reads`)."""
    more = f",{canonical_json(dict(told))}" if told else ""
    return digest_of_text(f'["reply",{SCHEMA},"{judge.digest}","{asked}",{_quoted(edit)},{seed}{more}]')


def replay_key(judge: Identity, address: Sequence[object]) -> str:
    """Returns the key of replies given elsewhere: they are identified by their address."""
    return digest(["replay", SCHEMA, judge.digest, *address])


def seed_of_edit(model: Identity, edit_seed: int, sample: Sample) -> int:
    """Returns the seed that an edit is made with."""
    return model.seed + sample.index + edit_seed * EDIT_SEED_STRIDE


def sources_of(sample: Sample) -> list[str]:
    """Returns the digests of a sample's own source pictures."""
    return [picture.digest for name, picture in sample.pictures.items() if name.startswith("source")]


def make_edit_key(
    experiment: Experiment, model: Identity, edit_seed: int, sample: Sample, sources: Sequence[str], instruction: str
) -> str:
    """Returns the key of an experiment's edit, made from `sources` as in `edit_key`; a mask comes behind them."""
    mask = experiment.mask_of(model.name, sample)
    shown = sources if mask is None else [*sources, f"mask {mask.digest}"]
    seed = seed_of_edit(model, edit_seed, sample)
    return edit_key(experiment.identity_in_key(model, sample), shown, instruction, seed)
