"""An audit's measures of agreement with people: how a judge's scores of finished edits compare with people's."""

from __future__ import annotations

from typing import Any

from edit_eval.plugins.audit.measure import Measure
from edit_eval.records import Results
from edit_eval.text import Text

FLOORS = {"as_one_person": 0.5, "pairs_ordered": 0.8}
"""Limits for the lower bounds of a judge's intervals to pass: see docs/trust.md."""


def measure_people_agreement(results: Results, agreement: Any) -> dict[str, Measure]:
    """Returns the measures of one judge, `agreement` being what the analysis `agreement` says of it beside people.

    `as_one_person`: its agreement with one person over that of one person with another. `pairs_ordered`: of the pairs
    of edit models that people separate, the share that it orders alike.
    """
    not_shown = Text("on these edits, agreement between two people is not shown")
    none_apart = Text("people's scores do not separate any two edit models")
    images, models = len({sample.cluster for sample in results.samples}), agreement.between_models
    return {
        name: Measure(
            value=of.value,
            ci95=None if of.ci95 is None else (of.ci95[0], of.ci95[1]),
            n=n,
            scenes=images,
            reason=none if of.value is None else "",
        ).with_floor(None if of.ci95 is None else FLOORS[name])  # without an interval nothing is required
        for name, of, n, none in (
            ("as_one_person", agreement.as_one_person, agreement.n, not_shown),
            ("pairs_ordered", models.pairs_ordered, models.separated, none_apart),
        )
    }
