"""Whether judges have room for their answers: what a configuration allows them, and what the pilot has seen."""

from __future__ import annotations

from collections.abc import Collection

from edit_eval.config.schema import Configuration
from edit_eval.execution.advice.findings import Finding
from edit_eval.experiment import Experiment
from edit_eval.judges.answers import TOKENS_GIVEN, TOKENS_NEEDED
from edit_eval.records import Status
from edit_eval.store.matrix import Matrix

LIMITS = ("max_new_tokens", "max_tokens")
"""Parameters of judges that limit an answer, in tokens."""
THOUGHT_NEEDED, THOUGHT_GIVEN = 2048, 8192
"""Tokens: a thought about a pair of pictures often takes some thousand, and nothing is made of one that is cut off."""


WANTED = {
    "score": "a bare score",
    "reason_then_score": "reasons and a score",
    "json": "reasons and numbers as JSON",
    "labels": "a letter for each criterion",
}


def short_limits(configuration: Configuration, experiment: Experiment) -> list[Finding]:
    """A warning for each judge whose answers are likely to be cut off, and so to be no scores."""
    found = []
    for name, section in configuration.judges.items():
        forms = {one.question.form for asked in experiment.asked[name] for one in asked}
        form = max(forms & TOKENS_NEEDED.keys(), key=TOKENS_NEEDED.__getitem__, default="")
        for limit in LIMITS:
            tokens = section.parameters.get(limit)
            if form and isinstance(tokens, int) and tokens < TOKENS_NEEDED[form]:
                what = WANTED.get(form, "its answers")
                text = (
                    f"judge {name}: `{limit}: {tokens}` is too low for {what}; an answer that is cut off gives no score"
                )
                advice = f"set it to {TOKENS_GIVEN[form]}, or leave it out"
                found.append(Finding("models", "warning", text, advice))
    return found


def short_thoughts(configuration: Configuration) -> list[Finding]:
    """A warning for each judge that is to think, and has hardly room for it."""
    found = []
    for name, section in configuration.judges.items():
        tokens = section.parameters.get("thinking_tokens")
        if section.parameters.get("thinking") == "on" and isinstance(tokens, int) and tokens < THOUGHT_NEEDED:
            text = (
                f"judge {name}: `thinking_tokens: {tokens}` is too low for thinking; cut off there, it gives no answer"
            )
            found.append(Finding("models", "warning", text, f"set it to {THOUGHT_GIVEN}, or leave it out"))
    return found


def cut_off_sentences(matrix: Matrix, judgements: Collection[int]) -> list[str]:
    """For each judge how many of these judgements began with an answer that was cut off; nothing where none did."""
    asked: dict[str, list[bool]] = {}
    for number in sorted(judgements):
        first = [matrix.replies[cell][0] for cell in matrix.cells.cells_of(number) if matrix.replies[cell]]
        if first:
            judge = matrix.judges[matrix.cells.parts(number)[1]].name
            asked.setdefault(judge, []).append(any(reply.ended is Status.CUT_OFF for reply in first))
    return [
        f"{judge} was cut off in {sum(cut)} of its first {len(cut)} answers: raise its limit ({' or '.join(LIMITS)})"
        for judge, cut in asked.items()
        if any(cut)
    ]
