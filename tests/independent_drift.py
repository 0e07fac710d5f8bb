"""Whether a judge has drifted, computed once more from the words of docs/audit.md alone: every arrangement is listed.

Written before the library's own, and slowly on purpose: it takes an hour for a real audit, so it is for small ones.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from statistics import NormalDist

SAME = 1e-9


def mean_rank(size, sizes):
    below = sum(other < size - SAME for other in sizes)
    equal = sum(abs(other - size) <= SAME for other in sizes)
    return below + (equal + 1) / 2


def weight(size, sizes):
    """The half-normal score of a change of that size among all changes of its kind."""
    u = (mean_rank(size, sizes) - 0.5) / len(sizes)
    return NormalDist().inv_cdf((1 + u) / 2)


def sign(change):
    return (change > SAME) - (change < -SAME)


def of_one_kind(anchors, pairs):
    """Every (shift, scatter) that one kind of edit could have added, all as likely; first the seen one."""
    changes = [*anchors, *pairs]
    sizes = [abs(change) for change in changes]
    weights = [weight(size, sizes) for size in sizes]
    seen = (
        sum(sign(change) * h for change, h in zip(anchors, weights, strict=False)),
        sum(h * h for _, h in zip(anchors, weights, strict=False)),
    )
    every = [
        (
            sum(s * sign(changes[at]) * weights[at] for s, at in zip(signs, chosen, strict=True)),
            sum(weights[at] ** 2 for at in chosen),
        )
        for chosen in combinations(range(len(changes)), len(anchors))
        for signs in product((1, -1), repeat=len(anchors))
    ]
    return seen, every


def p_of(anchors, pairs):
    """p of shift, scatter and both, from `{kind: [now less before, ...]}` of the anchors and the repeated pairs."""
    kinds = [of_one_kind(anchors[kind], pairs.get(kind, [])) for kind in anchors]
    seen = [sum(kind[0][which] for kind in kinds) for which in (0, 1)]
    as_large, total = [0, 0], 0
    for arrangement in product(*(every for _, every in kinds)):
        total += 1
        as_large[0] += abs(sum(of_kind[0] for of_kind in arrangement)) >= abs(seen[0]) - SAME
        as_large[1] += sum(of_kind[1] for of_kind in arrangement) >= seen[1] - SAME
    shift, scatter = (Fraction(count, total) for count in as_large)
    return shift, scatter, min(Fraction(1), 2 * min(shift, scatter))
