"""Whether judges have room for their answers: what a configuration allows them, and what the pilot has seen."""

from __future__ import annotations

from collections.abc import Collection

from edit_eval.config.schema import Configuration
from edit_eval.execution.advice.findings import Finding
from edit_eval.experiment import Experiment
from edit_eval.judges.answers import TOKENS_GIVEN, TOKENS_NEEDED
from edit_eval.records import Status
from edit_eval.store.matrix import Matrix
from edit_eval.text import Text

LIMITS = ("max_new_tokens", "max_tokens")
"""Parameters of judges that limit an answer, in tokens."""
THOUGHT_NEEDED, THOUGHT_GIVEN = 2048, 8192
"""Tokens: a thought about a pair of pictures often takes some thousand, and nothing is made of one that is cut off."""


WANTED = {
    "score": Text("a bare score"),
    "reason_then_score": Text("reasons and a score"),
    "json": Text("reasons and numbers as JSON"),
    "labels": Text("a letter for each criterion"),
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
                what = WANTED.get(form, Text("its answers"))
                text = Text(
                    "judge {}: `{}: {}` is too low for {}; an answer that is cut off gives no score",
                    name,
                    limit,
                    tokens,
                    what,
                )
                advice = Text("set it to {}, or leave it out", TOKENS_GIVEN[form])
                found.append(Finding("models", "warning", text, advice))
    return found


def short_thoughts(configuration: Configuration) -> list[Finding]:
    """A warning for each judge that is to think, and has hardly room for it."""
    found = []
    for name, section in configuration.judges.items():
        tokens = section.parameters.get("thinking_tokens")
        if section.parameters.get("thinking") == "on" and isinstance(tokens, int) and tokens < THOUGHT_NEEDED:
            text = Text(
                "judge {}: `thinking_tokens: {}` is too low for thinking; cut off there, it gives no answer",
                name,
                tokens,
            )
            found.append(Finding("models", "warning", text, Text("set it to {}, or leave it out", THOUGHT_GIVEN)))
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
        Text(
            "{} was cut off in {} of its first {} answers: raise its limit ({: or })", judge, sum(cut), len(cut), LIMITS
        )
        for judge, cut in asked.items()
        if any(cut)
    ]
