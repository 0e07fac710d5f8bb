"""When a report has sections on rounds and turns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from edit_eval.plugins.steps.chains import chains_of
from edit_eval.reporting.analyses import RunRecords
from edit_eval.statistics.series import series_of


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
