"""Whether judges have room for their answers: what a configuration allows them, and what the pilot has seen."""

from __future__ import annotations

from collections.abc import Collection

from edit_eval.config.schema import Configuration
from edit_eval.execution.findings import Finding
from edit_eval.judges.answers import TOKENS_GIVEN, TOKENS_NEEDED
from edit_eval.records import Status
from edit_eval.store.matrix import Matrix

LIMITS = ("max_new_tokens", "max_tokens")
"""Parameters of judges that limit an answer, in tokens."""


def short_limits(configuration: Configuration) -> list[Finding]:
    """A warning for each judge whose answers are likely to be cut off, and so to be no scores."""
    form = configuration.protocol.answer
    what = "a bare score" if form == "score" else "reasons and a score"
    return [
        Finding(
            "models",
            "warning",
            f"judge {name}: `{limit}: {tokens}` is short for {what}; an answer that is cut off is no score",
            f"set it to {TOKENS_GIVEN[form]}, or leave it out",
        )
        for name, section in configuration.judges.items()
        for limit in LIMITS
        if isinstance(tokens := section.parameters.get(limit), int) and tokens < TOKENS_NEEDED[form]
    ]


def cut_off_sentences(matrix: Matrix, units: Collection[int]) -> list[str]:
    """For each judge how many of these judgements began with an answer that was cut off; nothing where none did."""
    asked: dict[str, list[bool]] = {}
    for unit in sorted(units):
        if answers := matrix.answers[unit]:
            asked.setdefault(matrix.address(unit)[3], []).append(answers[0].ended is Status.CUT_OFF)
    return [
        f"{judge} was cut off in {sum(cut)} of its first {len(cut)} answers: raise its limit ({' or '.join(LIMITS)})"
        for judge, cut in asked.items()
        if any(cut)
    ]
