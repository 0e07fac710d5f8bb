"""`edit-eval costs`, and its section of every report of a run that was charged for or whose tokens were counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import msgspec

from edit_eval.errors import ConfigurationError
from edit_eval.plugins.costs.sheet import costs_sheet
from edit_eval.plugins.costs.sums import Costs, costs
from edit_eval.reporting.analyses import Analysis, RunRecords
from edit_eval.reporting.table import Sheet
from edit_eval.text import Text


class CostsAnalysis(Analysis[Costs]):
    """What a run has cost: money, requests and tokens by model, and device time.

    What providers charged, over all starts; the tokens that judges' servers counted; and, with --price, what the
    run's devices cost.
    """

    @dataclass(frozen=True)
    class Parameters:
        price: float | None = field(default=None, metadata={"metavar": "PRICE"})
        """Price of one device for an hour, in any currency."""

    title = Text("Costs")
    document: ClassVar[type[Costs]] = Costs
    appendix = True

    def select_parameters(self, records: RunRecords) -> Sequence[Mapping[str, Any]]:
        """Wherever something was charged, or tokens were counted."""
        return [{}] if costs(records.results).models else []

    def compute(self, records: RunRecords, parameters: Parameters) -> Costs:
        """Raises `ConfigurationError` for a price below 0."""
        if parameters.price is not None and not parameters.price >= 0:
            raise ConfigurationError(Text("--price {:g}: must be at least 0", parameters.price))
        return costs(records.results, parameters.price)

    def sheet(self, document: Costs) -> Sheet:
        return costs_sheet(document)

    def rows(self, document: Costs) -> Sequence[Mapping[str, Any]]:
        return [msgspec.structs.asdict(model) for model in document.models]
