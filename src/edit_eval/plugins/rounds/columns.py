"""`rounds`: every column once more for each further round, told what a critic says of the edit of the round before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator

from edit_eval.config.faults import did_you_mean, format_value
from edit_eval.config.schema import ColumnsSection
from edit_eval.records import Language, Refinement
from edit_eval.text import Text

TEMPLATES: dict[Language, str] = {
    "en": "{instruction}\n\nAn earlier attempt was criticised like this; do better: {critique}",
    "zh": "{instruction}\n\n上一次的结果受到如下批评，请改进：{critique}",
}
"""Default instruction of later rounds, by language."""


class RoundsSection(ColumnsSection):
    """An edit, its critique, and a new edit that is told the critique."""

    critic: str
    """The judge that writes the critiques."""
    max: Annotated[int, Field(ge=2, le=100)] = 3
    """Edits per sample, the first included."""
    source: Annotated[Literal["source", "last"], Field(alias="from")] = "source"
    """What each edit starts from: the sample's source, or the previous edit."""
    stop: Annotated[float, Field(allow_inf_nan=False)] | None = None
    """The critic's headline score that is good enough: the edit is then kept in all later rounds."""
    template: Annotated[str, Field(validate_default=True)] = ""
    """Instruction of later rounds, with `{critique}` and optionally `{instruction}`, the sample's own."""

    @field_validator("critic")
    @classmethod
    def _is_a_judge(cls, critic: str, info: ValidationInfo) -> str:
        judges = info.context and info.context["judges"]
        if judges and critic not in judges:
            meant = did_you_mean(critic, judges) or Text("; there are: {}", judges)
            raise ValueError(Text("there is no judge {}{}", format_value(critic), meant))
        return critic

    @field_validator("template")
    @classmethod
    def _tells_the_critique(cls, template: str, info: ValidationInfo) -> str:
        if not template and info.context:
            return TEMPLATES[info.context["language"]]
        if template and "{critique}" not in template:
            raise ValueError(Text("has no {{critique}}, so every round would be told the same"))
        return template

    @property
    def speakers(self) -> tuple[str, ...]:
        """The critic."""
        return (self.critic,)

    def columns(self, column: str, edit_model: str) -> Iterator[tuple[str, Refinement]]:
        """Yields `COLUMN@2`, `COLUMN@3` and so on, each told of the one before."""
        before = column
        for number in range(2, self.max + 1):
            name = f"{column}@{number}"
            yield (
                name,
                Refinement(
                    edit_model=edit_model,
                    judge=self.critic,
                    before=before,
                    round=number,
                    source=self.source,
                    template=self.template,
                    stop=self.stop,
                ),
            )
            before = name
