"""When a report has sections on rounds and turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from edit_eval.records import Results, Sample
from edit_eval.reporting.analyses import RunRecords
from edit_eval.statistics.series import series_of

# -- what follows what: the rounds of an edit model, and the turns of samples --


def chains_of(results: Results) -> dict[str, list[str]]:
    """Returns the columns of all rounds, in order, by the column of the first round."""
    chains: dict[str, list[str]] = {}
    first: dict[str, str] = {}
    for column in results.edit_models:
        before = results.refinements[column].before if column in results.refinements else ""
        first[column] = first[before] if before else column
        chains.setdefault(first[column], []).append(column)
    return {column: chain for column, chain in chains.items() if len(chain) > 1}


def turns_of(samples: Sequence[Sample]) -> dict[str, tuple[int, str]]:
    """Returns for each sample the number of its turn in its chain, from 1, and the chain's first sample."""
    by_id = {sample.id: sample for sample in samples}
    turns: dict[str, tuple[int, str]] = {}
    for sample in samples:
        chain = [sample.id]
        while (before := by_id[chain[-1]].follows) in by_id and before not in chain:
            chain.append(before)
        turns[sample.id] = len(chain), chain[-1]
    return turns


class SectionOnRounds:
    """Where edit models are told a critique."""

    def select_parameters(self, records: RunRecords) -> Sequence[Mapping[str, Any]]:
        """Once."""
        return [{}] if chains_of(records.results) and series_of(records.results) else []


class SectionOnTurns:
    """Where samples follow others and are scored at several turns."""

    def select_parameters(self, records: RunRecords) -> Sequence[Mapping[str, Any]]:
        """Once."""
        results = records.results
        if not any(sample.follows for sample in results.samples):
            return []
        from edit_eval.plugins.steps.analysis import turns  # only such a run needs it

        return [{}] if turns(results) else []
