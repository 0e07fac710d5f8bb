"""What drift adds to `compare`: a judge that has drifted between two runs has it end with 3."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from edit_eval.verbs.contract import VerbOption


class AllowDrift(VerbOption):
    """End with 3 when a judge has drifted between the runs."""

    @dataclass(frozen=True)
    class Parameters:
        """Whether it may have."""

        allow_drift: bool = False
        """Do not exit with 3 when a judge has drifted between the runs."""

    def reasons(self, parameters: Parameters, **given: Any) -> Sequence[str]:
        """Returns a line for each judge that has drifted between the runs of the comparison."""
        from edit_eval.reporting.comparison import drift_lines

        return [] if parameters.allow_drift else drift_lines(given["comparison"])
