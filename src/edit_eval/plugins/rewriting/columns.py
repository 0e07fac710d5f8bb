"""`rewrite`: every edit model once more for each judge below the key, told what it makes of an instruction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Self

from pydantic import Field

from edit_eval.config.schema import ColumnsSection
from edit_eval.records import Refinement


class RewriteSection(ColumnsSection):
    """Judges, by your names for them, that rewrite the instructions before the first edit."""

    protocol = "rewriting"

    rewriters: Annotated[tuple[str, ...], Field(exclude=True)]

    @classmethod
    def from_judges(cls, names: tuple[str, ...]) -> Self:
        """Returns the section with these judges."""
        return cls(rewriters=names)

    @property
    def judges(self) -> tuple[str, ...]:
        """All of them stand below the key."""
        return self.rewriters

    @property
    def speakers(self) -> tuple[str, ...]:
        """All of them."""
        return self.rewriters

    def columns(self, column: str, edit_model: str) -> Iterator[tuple[str, Refinement]]:
        """Yields `MODEL+NAME` for each judge."""
        for judge in self.rewriters:
            yield f"{column}+{judge}", Refinement(edit_model=edit_model, judge=judge)
