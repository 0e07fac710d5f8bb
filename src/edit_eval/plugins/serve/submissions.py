"""What a service is given to judge. Light: processes that only open requests import it, and nothing of the engine."""

from __future__ import annotations

from typing import NamedTuple

from edit_eval.json_values import Unchecked
from edit_eval.plugins.serve.pictures import Sent


class Submission(NamedTuple):
    """A pair to judge: pictures by name (`source`, `source_2`, `reference`, `mask`), and the edit."""

    pictures: dict[str, Sent]
    instruction: str
    edit: Sent
    category: str = ""
    facts: Unchecked = {}  # noqa: RUF012 (never modified)
    id: str = ""
    door: str = ""
    canary: str = ""
    """Kind of a canary: `source`, `blank`, `shuffled`, `right`, `copy`; empty for a client's pair."""
    of: str = ""
    """The sample that a canary stands in for."""
    unasked: tuple[str, ...] = ()
    """Judges that are not asked about it."""

    @property
    def shares(self) -> str:
        """Key of pairs that are cheap to judge together: the source's digest."""
        return self.pictures["source"].digest
