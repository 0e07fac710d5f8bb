"""When a report has a section on its judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from edit_eval.reporting.analyses import RunRecords


class AgreementSection:
    """Where there are two judges or repeats."""

    def select_parameters(self, records: RunRecords) -> Sequence[Mapping[str, Any]]:
        """Once."""
        results = records.results
        several = len(results.judges) > 1 or any(judgement.repeat for judgement in results.judgements)
        return [{}] if several else []
