"""What follows what: the rounds of an edit model, and the turns of samples."""

from __future__ import annotations

from collections.abc import Sequence

from edit_eval.records import Results, Sample


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
