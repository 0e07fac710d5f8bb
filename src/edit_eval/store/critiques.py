"""Edits that are told a critique: a column that gets what a judge said of the edit before, or made of the instruction.

Such an edit waits for a judgement as a follower waits for an edit. Its instruction is in its record, what it is made of
in its key: the judge's words are in no key, since they are known only after the edit before is made.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from edit_eval.config.identity import Identity, canonical_json
from edit_eval.errors import RunDirectoryError
from edit_eval.judges.answers import quote_reply
from edit_eval.records import DECLINED, EDIT_LOST, NO_EDIT, NO_FILE, Judgement, Refinement, Sample, Scale, Status
from edit_eval.store.cells import make_edit_key, sources_of
from edit_eval.store.subjects.contract import MatrixState
from edit_eval.store.subjects.kinds import kinds
from edit_eval.text import Text

OK, PENDING = Status.OK, Status.PENDING


class Critiques:
    """Which edits of a matrix are told which judgement, and what becomes of them."""

    def __init__(self, matrix: MatrixState) -> None:
        self._matrix = matrix
        self.any = bool(matrix.experiment.refinements)
        """False if no edit is told anything."""

    def key(self, number: int, refinement: Refinement, keys: Sequence[str]) -> str:
        """Computes the key of an edit told a judge's words; `keys` has those of earlier edit models."""
        model, edit_seed, sample = self._matrix.edit_parts(number)
        judge = next(judge for judge in self._matrix.judges if judge.name == refinement.judge)
        asked = [
            question.digest
            for question in self._matrix.experiment.questions_by_judge[judge.name][number % len(self._matrix.samples)]
        ]
        before = self.previous_round_edit(number)
        known = "" if before is None else keys[before]
        sources = [known] if refinement.source == "last" else sources_of(sample)
        stands = recipe(judge.model, asked, known, refinement.template, sample.instruction)
        return make_edit_key(self._matrix.experiment, model, edit_seed, sample, sources, stands)

    def refinement(self, edit: int) -> Refinement | None:
        """Returns how an edit gets its instruction from a judge; None if it uses the sample's."""
        column = self._matrix.edit_models[self._matrix.cells.edit_parts(edit)[0]].name
        return self._matrix.experiment.refinements.get(column)

    def previous_round_edit(self, edit: int) -> int | None:
        """Returns the edit of the previous round; None in the first."""
        refinement = self.refinement(edit) if self.any else None
        if refinement is None or not refinement.before:
            return None
        return self.edit_in_column(refinement.before, edit)

    def edit_in_column(self, name: str, edit: int) -> int:
        """Returns the edit of the same sample and edit seed in a column; without a name, the edit itself."""
        if not name:
            return edit
        _, edit_seed, sample = self._matrix.cells.edit_parts(edit)
        return self._matrix.cells.edit(self._matrix.experiment.column_index[name], edit_seed, sample)

    def critique_of(self, edit: int) -> int | None:
        """Returns the judgement whose words an edit is told; None if it is told the sample's instruction."""
        refinement = self.refinement(edit) if self.any else None
        if refinement is None or self._matrix.sample_of(edit).fault:
            return None
        judge = next(place for place, judge in enumerate(self._matrix.judges) if judge.name == refinement.judge)
        before = self.previous_round_edit(edit)
        about = self._early_subjects.get((self._matrix.cells.sample(edit), judge)) if before is None else before
        if about is None:
            text = Text(
                "{} rewrites instructions; what it was asked cannot be read without the package that adds such "
                "questions",
                refinement.judge,
            )
            raise RunDirectoryError(text)
        return next(
            n
            for n in self._matrix.cells.judgements_of(about)
            if self._matrix.cells.judgement_parts(n)[1:] == (judge, 0)
        )

    @cached_property
    def _early_subjects(self) -> dict[tuple[int, int], int]:
        """What a judge is asked about before there is an edit, by the positions of sample and judge."""
        cells, early = self._matrix.cells, [name for name, kind in kinds().items() if kind.before_edits]
        every = (number for name in early for number in cells.subjects_of(name))
        return {(cells.sample(number), judge): number for number in every for judge in cells.subject(number).judges}

    @cached_property
    def _edits_by_critique(self) -> dict[int, list[int]]:
        """The edits told the words of a judgement, by the judgement's number."""
        by_critique: dict[int, list[int]] = {}
        for edit in range(self._matrix.cells.edits) if self.any else ():
            if (critique := self.critique_of(edit)) is not None:
                by_critique.setdefault(critique, []).append(edit)
        return by_critique

    def edits_told(self, judgement: int) -> list[int]:
        """Returns the edits told the words of a judgement, in order."""
        return self._edits_by_critique.get(judgement, [])

    def dependents_of(self, edit: int) -> list[int]:
        """Returns the edits told what a judge says about this one."""
        if not self.any:
            return []
        return [told for judgement in self._matrix.cells.judgements_of(edit) for told in self.edits_told(judgement)]

    def apply_critique(self, edit: int) -> list[int]:
        """Gives an edit the instruction built from its critique, once the critique is final.

        An edit made with another instruction becomes pending again. Returns the edits that end here without being made,
        this one first: without a critique it fails, and so do those that depend on it; if the critic is content with
        the previous edit, that one is kept: then it is this one, too, at no cost.
        """
        refinement, critique = self.refinement(edit), self.critique_of(edit)
        if refinement is None or critique is None:
            return []
        said, mine = self._matrix.judgement(critique), self._matrix.edits[edit]
        if said.status is PENDING:
            return []
        judge = next(judge for judge in self._matrix.judges if judge.name == refinement.judge)
        status, reason = check_critique(refinement, judge.scoring.scale, said)
        if status is OK:
            instruction = instruction_of(refinement.template, said, self._matrix.sample_of(edit))
            if mine.made_in or mine.instruction != instruction:
                self._matrix.set_edit(edit, replace(self._matrix.new_edit(edit), instruction=instruction))
            return []
        ended = replace(self._matrix.new_edit(edit), status=status, reason=reason)
        before = None if (number := self.previous_round_edit(edit)) is None else self._matrix.edits[number]
        if status is Status.SKIPPED and before is not None and before.status is OK:
            kept = replace(before, reason=reason, seconds=0.0, made_in=before.made_in or before.edit_model)
            ended = replace(kept, key=ended.key, edit_model=ended.edit_model)
        if mine != ended:
            self._matrix.set_edit(edit, ended)
        return [edit, *(ended for dependent in self.dependents_of(edit) for ended in self.apply_critique(dependent))]

    def apply_critiques(self) -> None:
        """Calls `tell` for every edit, earlier rounds first."""
        for edit in range(self._matrix.cells.edits) if self.any else ():
            self.apply_critique(edit)


def recipe(judge: Identity, asked: Sequence[str], before: str, template: str, instruction: str) -> str:
    """Returns the text that replaces the instruction in the key of an edit told what a judge says.

    `asked` are the digests of the judge's questions, `before` the key of the edit it is shown (empty for none). The
    judge's words are in no key, since they are known only after the previous edit is made.
    """
    return canonical_json(["told", judge.digest, list(asked), before, template, instruction])


_BEFORE = tuple(f"the edit that it follows {was}: " for was in ("failed", "was refused", "has no file"))


def explain_lost_follower(status: Status, reason: str) -> str:
    """Returns why an edit is not made that follows one which was not made for this reason, or which follows one."""
    for before in _BEFORE:
        reason = reason.removeprefix(before)
    failed, refused, missing = _BEFORE
    return (refused if status in DECLINED else missing if status in NO_FILE else failed) + reason


def instruction_of(template: str, said: Judgement, sample: Sample) -> str:
    """Fills the template with the judge's reason, or else its answer, and the sample's own instruction.

    In one pass, so that braces in the judge's words stay. The judge's thinking before its answer is left out.
    """
    words = {"critique": said.reason or quote_reply(said.answer), "instruction": sample.instruction}
    return re.sub(r"\{(critique|instruction)\}", lambda slot: words[slot[1]].strip(), template)


def check_critique(refinement: Refinement, scale: Scale, said: Judgement) -> tuple[Status, str]:
    """Returns the status of an edit that gets no critique, and why; `ok` if it gets one.

    `scale` is that of the judge's headline. Without the previous edit, or a critique of it, the edit cannot be made; if
    the judge is content with the previous one, it is `skipped`.
    """
    if said.status is Status.SKIPPED:
        return said.status, said.reason
    if said.status in NO_EDIT:
        return said.status, explain_lost_follower(said.status, said.reason)
    if said.status is not Status.OK:
        return EDIT_LOST[0], f"{refinement.judge} gave no critique: {said.reason}"
    if refinement.stop is not None and said.score is not None:
        up = 1 if scale.higher_is_better else -1
        if up * said.score >= up * refinement.stop:
            why = f"{refinement.judge} gives the edit before {said.score:g}, which is good enough: it is kept"
            return Status.SKIPPED, why
    return Status.OK, ""
