"""Decides which samples share a batch of the judge.

The members of a batch can change an answer (padding, rounding), so batches are cut from the whole benchmark's order,
category by category, before any filter: a sample has the same company under every schedule, device count and resumed
run. The members of a batch share a rubric, whose tokens a judge can then compute once. The first sample of each
category is always a batch of its own, since a pilot may run it before all others.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from edit_eval.records import Sample

FEWEST_IN_PILOT = 3
"""Fewest samples in a pilot: a single failure says nothing about the others."""


def first_samples(categories: Sequence[str]) -> list[int]:
    """Returns the samples for a pilot: the first of each category and, if fewer than three, the next ones in turn.

    They are numbers in the order of `categories`, which has the category of each sample left to do.
    """
    return pick_across_categories(categories, max(len(set(categories)), FEWEST_IN_PILOT))


def pick_across_categories(categories: Sequence[str], count: int) -> list[int]:
    """Returns at most `count` samples, in order: the first of each category, then the second of each, and so on."""
    seen: Counter[str] = Counter()
    ranks = []
    for index, category in enumerate(categories):
        ranks.append((seen[category], index))
        seen[category] += 1
    return sorted(index for _, index in heapq.nsmallest(count, ranks))


def pilots(categories: Sequence[str]) -> list[int]:
    """Returns the first sample of each category, as numbers in the benchmark's order."""
    return list({category: index for index, category in reversed(list(enumerate(categories)))}.values())[::-1]


def batch_categories(samples: Iterable[Sample]) -> list[str]:
    """Returns the categories for `cut_batches`: a sample that is judged alone has one of its own."""
    return [f"{sample.category}, {sample.id} alone" if sample.alone else sample.category for sample in samples]


def cut_batches(categories: Sequence[str], size: int) -> list[int]:
    """Returns the batch number of each sample, given the category of every sample of the benchmark in its order.

    Pilots are alone; the others share a batch with at most `size` - 1 others of their category.
    """
    alone = set(pilots(categories))
    batches = []
    open_batches: dict[str, tuple[int, int]] = {}  # category -> its last batch, and how many are in it
    count = 0
    for index, category in enumerate(categories):
        number, members = open_batches.get(category, (-1, size))
        if index in alone or members == size:
            number, members = count, 0
            count += 1
        batches.append(number)
        if index not in alone:
            open_batches[category] = (number, members + 1)
    return batches


def batches_of(sizes: Mapping[str, int], everything: Iterable[Sample]) -> dict[str, list[int]]:
    """Returns, by judge, the batch number of each sample of the whole benchmark; `sizes` has each judge's."""
    together = batch_categories(everything)
    cut = {size: cut_batches(together, size) for size in set(sizes.values())}
    return {name: cut[size] for name, size in sizes.items()}
