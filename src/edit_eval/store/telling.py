"""What an edit model is told of what a judge said: the instruction, or why there is none."""

from __future__ import annotations

import re

from edit_eval.judges.answers import quoted
from edit_eval.records import DECLINED, EDIT_LOST, NO_EDIT, Judgement, Sample, Scale, Status, Told

_BEFORE = "the edit that it follows {}: "


def instruction_of(template: str, said: Judgement, sample: Sample) -> str:
    """The template with the judge's words, its reasons where it gave any, and the sample's own instruction.

    In one pass: a judge's own braces stay. What it thought before it answered is not told.
    """
    words = {"critique": said.reason or quoted(said.answer), "instruction": sample.instruction}
    return re.sub(r"\{(critique|instruction)\}", lambda slot: words[slot[1]].strip(), template)


def not_told(told: Told, scale: Scale, said: Judgement) -> tuple[Status, str]:
    """Why there is nothing to be told, with the status that the edit has by it; `ok` where there is.

    `scale` is that of the judge's headline. Without the edit before, or a critique of it, it cannot be made; where the
    judge is content with the one before, there is none to make, `skipped`.
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
