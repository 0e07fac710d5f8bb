"""When a report has sections on what people prefer, and would say of all edits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from edit_eval.errors import ConfigurationError
from edit_eval.reporting.analyses import RunRecords


class VotesSection:
    """Where somebody has voted."""

    def select_parameters(self, records: RunRecords) -> Sequence[Mapping[str, Any]]:
        """Once."""
        return [{}] if records.votes.lines else []


class PeopleSection:
    """Where people have voted on two edits that a judge has scored."""

    def select_parameters(self, records: RunRecords) -> Sequence[Mapping[str, Any]]:
        """Once."""
        if records.votes.lines:
            from edit_eval.plugins.people.analysis import PeopleAnalysis  # only a run with votes needs it

            with suppress(ConfigurationError):
                PeopleAnalysis().compute(records, PeopleAnalysis.Parameters())
                return [{}]
        return []
