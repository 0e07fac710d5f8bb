"""Decides the outcome of a pair, for all displays: terminal, page, gate, notebook and card only word it."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from edit_eval.statistics.compared import Outcome, Pair
from edit_eval.statistics.intervals import FEWEST_CLUSTERS, Estimate, strict_lower
from edit_eval.statistics.series import gain


def doubt_of_pair(pair: Pair) -> str:
    """Returns why scores were not tested: `no_sample` is scored in both, `no_category` has none in common (each
    should), `few_images`, `too_uneven`, `no_spread`; empty if they were."""
    if pair.n == 0:
        return "no_sample"
    if pair.difference is None:
        return "no_category"
    return "few_images" if pair.clusters < FEWEST_CLUSTERS else "" if pair.exact else pair.no_ci95 or ""


def outcome(pair: Pair, margin: float | None = None) -> Outcome:
    """Decides the outcome of a pair from its `scores_better` and `fails_more`."""
    ahead, more = pair.scores_better, pair.fails_more
    failures = _failures(pair)
    if ahead is not None and ahead == more:
        return Outcome("trade", failures=failures)
    bounds = pair.worst_case_difference, pair.best_case_difference
    if ahead is not None:
        least, sign = (bounds[0], 1.0) if ahead == pair.a else (bounds[1], -1.0)
        holds = least is not None and sign * gain(pair.scale) * least > 0
        return Outcome("better", ahead, holds=holds, failures=failures)
    if more is not None:
        return Outcome("fails_more", pair.b if more == pair.a else pair.a, failures=failures)
    if pair.n == 0:
        return Outcome("not_comparable", failures=failures)
    if pair.identical:
        return Outcome("cannot_be_told", why="identical", failures=failures)
    if margin is not None and pair.equal_within is not None and pair.equal_within < margin:
        holds = all(bound is not None and abs(bound) < margin for bound in bounds)
        return Outcome("equal", holds=holds, failures=failures, margin=margin)
    return Outcome("cannot_be_told", why=doubt_of_pair(pair), failures=failures)


def _failures(pair: Pair) -> Literal["trade", "tie", "lower", "perhaps"] | None:
    ahead, more = pair.scores_better, pair.fails_more
    if more is not None:
        return "tie" if ahead is None else "trade" if ahead == more else "lower"
    if pair.failures.a == pair.failures.b:
        return None
    return None if ahead == (pair.b if pair.failures.a > pair.failures.b else pair.a) else "perhaps"


def equivalence_margin(estimate: Estimate, span: float, alpha: float) -> float | None:
    """Returns the margin that both one-sided intervals at 1 - `alpha` stay within, the gate's strict ones
    (`strict_lower`): two one-sided tests (Schuirmann, J. Pharmacokinetics and Biopharmaceutics 15, 1987). None without
    an interval."""
    turned = replace(estimate, value=-estimate.value, asymmetry=-estimate.asymmetry)
    ends = strict_lower(estimate, span, alpha=alpha), strict_lower(turned, span, alpha=alpha)
    known = [-end for end in ends if end is not None]
    return max(known) if len(known) == 2 else None
