"""Cells: their numbers, which are all that scheduling needs, and their keys; and what an edit model is told.

A cell is one question to one judge about one edit, or about two, in one reading of one repeat. Cells that differ only
in question and reading form one judgement; the two orders of showing a battle's edits are two questions. Edits are
numbered by (edit model, edit seed, sample), followed by controls and then battles; judgements by (edit, judge, repeat);
cells by (judgement, reading, question).

A key is a digest of everything that determines an edit's pixels, or a judge's reply. Where and how something ran
(device, batch size, library versions) is recorded, never hashed. Neither are the names that a configuration gives its
models, nor the way replies are read: stored replies can be read again without a GPU.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from edit_eval.config.identity import Identity, canonical_json, digest, digest_of_text
from edit_eval.experiment import Battle, Control, Experiment
from edit_eval.judges.answers import quoted
from edit_eval.protocols.asked import SampleQuestion
from edit_eval.records import DECLINED, EDIT_LOST, NO_EDIT, Judgement, Sample, Scale, Status, Told

NO_EDIT_AS_HIGH = 1 << 40
"""In an experiment that grows, the first number of a cell."""


class JudgementPlace(NamedTuple):
    """The place of a judgement."""

    edit: int
    """Or control, or battle."""
    judge: int
    repeat: int


class Cell(NamedTuple):
    """The place of a cell."""

    judgement: int
    reading: int
    question: int


class Cells:
    """The numbering of an experiment's edits, judgements and cells."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._samples = len(experiment.samples)
        self.edits = len(experiment.edit_models) * experiment.edit_seeds * self._samples
        """Number of edits made by edit models; the numbers after them are controls."""
        self.controls = range(self.edits, self.edits + len(experiment.controls))
        """Numbers of all controls."""
        self.battles = range(self.controls.stop, self.controls.stop + len(experiment.battles))
        """Numbers of all battles."""
        self.everything = self.battles.stop
        self.answers_from = NO_EDIT_AS_HIGH if experiment.grows else self.everything
        """First number of a cell where edits and cells share one sequence of numbers."""
        self._asked = [experiment.asked[judge.name] for judge in experiment.judges]
        self._judgement_edit, self._judgement_judge = array("q"), array("q")
        self._judgement_repeat = array("q")
        self._first_judgement, self._first_cell = array("q", [0]), array("q", [0])
        self._cell_judgement = array("q")
        self.judges_of_one = [n for n, judge in enumerate(experiment.judges) if judge.of_one]
        """Judges that are asked about one edit at a time."""
        self.repeats = [experiment.repeats_of(judge) for judge in experiment.judges]
        """How often each judge is asked again."""
        before = accumulate((self.repeats[judge] for judge in self.judges_of_one), initial=0)
        self._place = dict(zip(self.judges_of_one, before, strict=False))
        controlled = [n for n, judge in enumerate(experiment.judges) if judge.sees_controls]
        for edit in range(self.edits):
            self._unfold(edit, self.judges_of_one)
        rewriting = [n for n, judge in enumerate(experiment.judges) if judge.before_edits]
        for edit in self.controls:
            self._unfold(edit, rewriting if self.control(edit).is_rewrite else controlled, 1)
        for edit in self.battles:
            self._unfold(edit, self.battle(edit).judges)

    def _unfold(self, edit: int, judges: Sequence[int], repeats: int = 0) -> None:
        sample, readings = self.sample(edit), self._experiment.readings
        for judge in judges:
            count = len(self._asked[judge][sample]) * readings
            for repeat in range(repeats or self.repeats[judge]):
                number = len(self._judgement_edit)
                self._judgement_edit.append(edit)
                self._judgement_judge.append(judge)
                self._judgement_repeat.append(repeat)
                self._cell_judgement.extend([number] * count)
                self._first_cell.append(self._first_cell[-1] + count)
        self._first_judgement.append(len(self._judgement_edit))

    def grow(self) -> None:
        """Adds the edit of a new sample (see `Experiment.grows`)."""
        self._samples += 1
        self.edits += 1
        self.everything += 1
        self.controls = self.battles = range(self.edits, self.edits)
        self._unfold(self.edits - 1, self.judges_of_one)

    def __len__(self) -> int:
        """Number of cells."""
        return len(self._cell_judgement)

    @property
    def judgements(self) -> int:
        """Number of judgements, controls included."""
        return len(self._judgement_edit)

    # -- edits --

    def sample(self, edit: int) -> int:
        """Returns the position of the sample of an edit, a control or a battle."""
        if edit < self.edits:
            return edit % self._samples
        return self.control(edit).sample if edit in self.controls else self.battle(edit).sample

    def battle(self, edit: int) -> Battle:
        """Returns which edits are compared."""
        return self._experiment.battles[edit - self.battles.start]

    def fighters(self, edit: int) -> tuple[int, int]:
        """Returns the numbers of a battle's edits."""
        of = self.battle(edit)
        return self.edit(of.edit_model, of.edit_seed, of.sample), self.edit(of.other, of.edit_seed, of.sample)

    def rewrite(self, sample: int) -> int:
        """Returns the control that represents a sample before its edit is made."""
        return self._rewrites[sample]

    @cached_property
    def _rewrites(self) -> dict[int, int]:
        return {self.control(edit).sample: edit for edit in self.controls if self.control(edit).is_rewrite}

    def control(self, edit: int) -> Control:
        """Returns what is judged in place of an edit."""
        return self._experiment.controls[edit - self.edits]

    def edit(self, model: int, edit_seed: int, sample: int) -> int:
        """Returns the number of an edit; arguments count from 0, in the order of the configuration and the samples."""
        return (model * self._experiment.edit_seeds + edit_seed) * self._samples + sample

    def edit_parts(self, edit: int) -> tuple[int, int, int]:
        """Returns edit model, edit seed and sample of an edit made by a model."""
        rest, sample = divmod(edit, self._samples)
        return *divmod(rest, self._experiment.edit_seeds), sample

    # -- judgements --

    def judgements_of(self, edit: int) -> range:
        """Returns the numbers of all judgements of an edit."""
        return range(self._first_judgement[edit], self._first_judgement[edit + 1])

    def judgement(self, edit: int, judge: int, repeat: int) -> int:
        """Returns the number of a judgement of an edit made by a model."""
        return self._first_judgement[edit] + self._place[judge] + repeat

    def judged(self, judgement: int) -> JudgementPlace:
        """Returns the place of a judgement."""
        return JudgementPlace(*self.parts(judgement))

    def parts(self, judgement: int) -> tuple[int, int, int]:
        """Returns edit, judge and repeat as a plain tuple: a named one takes several times as long to make."""
        return self._judgement_edit[judgement], self._judgement_judge[judgement], self._judgement_repeat[judgement]

    # -- cells --

    def asked(self, judgement: int) -> tuple[SampleQuestion, ...]:
        """Returns the questions of a judgement."""
        return self._asked[self._judgement_judge[judgement]][self.sample(self._judgement_edit[judgement])]

    def cells_of(self, judgement: int) -> range:
        """Returns the numbers of all cells of a judgement."""
        return range(self._first_cell[judgement], self._first_cell[judgement + 1])

    def cells_of_edit(self, edit: int) -> range:
        """Returns the numbers of all cells about an edit."""
        of = self.judgements_of(edit)
        return range(self._first_cell[of.start], self._first_cell[of.stop])

    def judgement_of(self, cell: int) -> int:
        """Returns the judgement of a cell."""
        return self._cell_judgement[cell]

    def cell(self, number: int) -> Cell:
        """Returns the place of a cell."""
        judgement = self._cell_judgement[number]
        if self._first_cell[judgement + 1] - self._first_cell[judgement] == 1:  # the common case
            return Cell(judgement, 0, 0)
        questions = len(self.asked(judgement))
        return Cell(judgement, *divmod(number - self._first_cell[judgement], questions))

    def before(self, number: int) -> dict[str, int]:
        """Returns, by question name, the cells of the same reading that a cell's question comes after."""
        judgement, _, question = self.cell(number)
        asked = self.asked(judgement)
        if not asked[question].question.after:
            return {}
        names = [one.question.name for one in asked]
        return {name: number - question + names.index(name) for name in asked[question].question.after}

    def after(self, number: int) -> list[int]:
        """Returns the cells whose questions come after a cell's, directly or not, in order."""
        judgement, _, question = self.cell(number)
        asked = self.asked(judgement)
        names, found = {asked[question].question.name}, []
        for place in range(question + 1, len(asked)):
            if not names.isdisjoint(asked[place].question.after):
                names.add(asked[place].question.name)
                found.append(number - question + place)
        return found


class Shown(NamedTuple):
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

    @property
    def known_by(self) -> str:
        """The picture's part of a key."""
        if self.made:
            return f"{self.made} of {self.digest}"
        return f"blank like {self.digest}" if self.blank else self.pixels or self.digest


SCHEMA = 2  # part of every key; raised when the meaning of a key changes
REPEAT_STRIDE = 1_000_000
"""Reading r of repeat p is sampled with the seed r + 1,000,000 p, so repeats share no seeds."""

_quoted = json.encoder.encode_basestring  # a text in canonical JSON


def edit_key(model: Identity, sources: Sequence[str], instruction: str, seed: int) -> str:
    """Returns the key of an edit. `sources` are the SHA-256 of the source files' bytes in order, `seed` the sample's.

    For a sample that follows another, the key of that one's edit takes the place of the (first) source. Equal to the
    `digest` of a list, but written out for speed: resuming a run computes a hundred thousand keys.
    """
    shown = ",".join(map(_quoted, sources))
    return digest_of_text(f'["edit",{SCHEMA},"{model.digest}",[{shown}],{_quoted(instruction)},{seed}]')


def recipe(judge: Identity, asked: Sequence[str], before: str, template: str, instruction: str) -> str:
    """Returns the text that replaces the instruction in the key of an edit told what a judge says.

    `asked` are the digests of the judge's questions, `before` the key of the edit it is shown (empty for none). The
    judge's words are in no key, since they are known only after the previous edit is made.
    """
    return canonical_json(["told", judge.digest, list(asked), before, template, instruction])


def reply_key(judge: Identity, asked: str, edit: str, seed: int) -> str:
    """Returns the key of the replies to one question. The edit enters by its pixels, so equal edits are judged alike.

    `asked` is the `protocols.asked.asked_digest`, `edit` the digest of the edit's pixels (empty if the judge is not
    shown it), `seed` as in `REPEAT_STRIDE`. For a battle, `edit` is empty and the pixels of both edits are in `asked`,
    in the order shown: which of the two a configuration names first is in no key."""
    return digest_of_text(f'["reply",{SCHEMA},"{judge.digest}","{asked}",{_quoted(edit)},{seed}]')


def replay_key(judge: Identity, address: Sequence[object]) -> str:
    """Returns the key of replies given elsewhere: they are identified by their address."""
    return digest(["replay", SCHEMA, judge.digest, *address])


_BEFORE = "the edit that it follows {}: "


def instruction_of(template: str, said: Judgement, sample: Sample) -> str:
    """Fills the template with the judge's reason, or else its answer, and the sample's own instruction.

    In one pass, so that braces in the judge's words stay. The judge's thinking before its answer is left out.
    """
    words = {"critique": said.reason or quoted(said.answer), "instruction": sample.instruction}
    return re.sub(r"\{(critique|instruction)\}", lambda slot: words[slot[1]].strip(), template)


def not_told(told: Told, scale: Scale, said: Judgement) -> tuple[Status, str]:
    """Returns the status of an edit that gets no critique, and why; `ok` if it gets one.

    `scale` is that of the judge's headline. Without the previous edit, or a critique of it, the edit cannot be made; if
    the judge is content with the previous one, it is `skipped`.
    """
    if said.status is Status.SKIPPED:
        return said.status, said.reason
    if said.status in NO_EDIT:
        failed, refused = (_BEFORE.format(was) for was in ("failed", "was refused"))
        reason = said.reason.removeprefix(failed).removeprefix(refused)
        return said.status, (refused if said.status in DECLINED else failed) + reason
    if said.status is not Status.OK:
        return EDIT_LOST[0], f"{told.judge} gave no critique: {said.reason}"
    if told.stop is not None and said.score is not None:
        up = 1 if scale.higher_is_better else -1
        if up * said.score >= up * told.stop:
            why = f"{told.judge} gives the edit before {said.score:g}, which is good enough: it is kept"
            return Status.SKIPPED, why
    return Status.OK, ""
