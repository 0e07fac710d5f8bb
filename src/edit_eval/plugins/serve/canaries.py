"""Canaries: pairs that a service sends itself, whose edits are no client's. Of a client's source they are controls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from edit_eval.config.identity import Identity
from edit_eval.experiment import CONTROLS, Experiment
from edit_eval.records import CONTROL, Judgement, Sample
from edit_eval.store.subjects.contract import MatrixState
from edit_eval.store.subjects.edits import Edits

CLIENT = Identity("client", "requests", "")
"""The edit model of all edits sent by clients."""
CONTROL_OF = "control_of"
"""The fact of a canary's sample that names the sample it controls."""


class Canaries(Edits):
    """Pairs that a service sends its judges itself: the edits of the samples whose tags say so."""

    name = "canary"
    counts = False

    def sample_predicate(self, experiment: Experiment) -> Callable[[Sample], bool] | None:
        return (lambda sample: bool(_which(sample))) if experiment.edit_models == (CLIENT,) else None

    def column_names(self, matrix: MatrixState, number: int) -> tuple[str, str]:
        return f"{CONTROL}{_which(matrix.sample_of(number))}", ""

    def rows(self, matrix: MatrixState) -> Iterator[Judgement]:
        """Yields every judgement of a control, under the sample that it controls."""
        there = {sample.id for sample in matrix.samples} if self.sample_predicate(matrix.experiment) else set[str]()
        for number, sample in enumerate(matrix.samples) if there else ():
            of = str(sample.facts.get(CONTROL_OF, ""))
            if _which(sample) in CONTROLS and of in there:
                for judgement in matrix.cells.judgements_of(number):
                    yield replace(matrix.judgement(judgement), sample_id=of)


def _which(sample: Sample) -> str:
    return next((tag.removeprefix(CONTROL) for tag in sample.tags if tag.startswith(CONTROL)), "")
