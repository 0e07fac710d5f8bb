"""When a report has sections on the best of N: who chooses, and who says what that was worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from edit_eval.config.known_weights import find_lineage
from edit_eval.records import Results
from edit_eval.reporting.analyses import RunRecords
from edit_eval.statistics.raters import judge_records

_MOST_SELECTORS = 6
"""Limit of selecting judges in a report."""


class BestOfSection:
    """Where there are several edits of a sample and two judges."""

    def select_parameters(self, records: RunRecords) -> Sequence[Mapping[str, Any]]:
        """Each judge chooses once, and one as unlike it as there is reports."""
        return [{"select": select, "report": report} for select, report in pairs_of(records.results)]


def pairs_of(results: Results) -> list[tuple[str, str]]:
    """Returns (who chooses, who reports) for a report: each judge chooses once.

    The first judge of another family reports, else the first other one. Empty without several edits of a sample.
    """
    if edits_each(results) < 2 or len(results.judges) < 2:
        return []
    pairs = []
    for select in results.judges[:_MOST_SELECTORS]:
        others = [other for other in results.judges if not same_judge(results, select, other)]
        strangers = [other for other in others if not common_family(results, select, other)]
        if report := next(iter([*strangers, *others]), ""):
            pairs.append((select, report))
    return pairs


def edits_each(results: Results) -> int:
    """Returns how many edits of a sample each edit model was asked for."""
    return 1 + max((edit.edit_seed for edit in results.edits), default=0)


def same_judge(results: Results, judge: str, other: str) -> bool:
    """True if two names are one judge: the same class, weights and parameters, asked the same way."""
    a, b = (_judge_identity(results, name) for name in (judge, other))
    return judge == other or (a is not None and b is not None and a == b)


def common_family(results: Results, judge: str, other: str) -> str:
    """Returns what two judges have in common, so that they may err alike: their weights, or those that theirs derive
    from; empty if nothing shared is known."""
    families = [_family(_judge_identity(results, name)) for name in (judge, other)]
    return families[0] if families[0] == families[1] else ""


_IDENTITY = ("type", "revision", "parameters")


def _judge_identity(results: Results, judge: str) -> Mapping[str, Any] | None:
    """Returns the records of a judge that its answers depend on; None if there are none."""
    of_judge = judge_records(results).get(judge)
    if of_judge is None or "type" not in of_judge:
        return None
    asked = of_judge.get("protocol")
    protocol = {key: value for key, value in asked.items() if key != "retries"} if isinstance(asked, Mapping) else {}
    kept = {key: of_judge.get(key) for key in _IDENTITY}
    return {**kept, "protocol": protocol, "measures": bool(of_judge.get("measures"))}


def _family(known: Mapping[str, Any] | None) -> str:
    if known is None or known["measures"]:  # two measures of one library measure two things
        return ""
    parameters = known["parameters"] if isinstance(known["parameters"], Mapping) else {}
    given = (parameters.get(key) for key in ("model_name", "model"))
    name = next((value for value in given if isinstance(value, str)), "")
    return find_lineage(name) or name or str(known["type"])
