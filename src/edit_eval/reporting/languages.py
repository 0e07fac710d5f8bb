"""The languages in which we speak to people: a row each, and a catalogue.

Sentences are written in English; any other language has `CODE.po` beside this file, and one in the folder of each
plug-in. Which languages instructions and questions to judges may be in is another matter:
`edit_eval.records.LANGUAGES`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

ENGLISH = "en"


@dataclass(frozen=True)
class Typography:
    """How a language is named and set."""

    name: str
    """On the button that chooses it, in itself."""
    tag: str
    """For pages, by BCP 47."""
    dates: str
    """For dates and times in a browser, by BCP 47."""
    stop: str = "."
    """At the end of a sentence."""
    brackets: str = " ({})"
    """Around a remark behind a word."""
    separators: Mapping[str, str] = field(default_factory=dict)
    """Of lists, by the English ones, `""` for a list without one of its own; missing ones are the English ones."""
    unspaced: str = ""
    """Characters between which there is no space and a line may break, as in a regular expression's set."""
    closing: str = ""
    """Marks behind which there is no space, likewise."""

    @property
    def space(self) -> str:
        """Stands between sentences."""
        return "" if self.unspaced else " "

    def remove_gaps(self, words: str, ours: list[bool]) -> str:
        """Takes out the spaces that templates have and this language has not; where not `ours`, data stays as it is."""
        return self._gap.sub(lambda gap: gap[0][: not ours[gap.start()]], words) if self.unspaced else words

    @cached_property
    def _gap(self) -> re.Pattern[str]:
        return re.compile(f"(?<=[{self.unspaced}]) (?=[{self.unspaced}])|(?<=[{self.closing}]) ")

    def translate_separator(self, separator: str) -> str:
        """Returns a separator of lists."""
        return self.separators.get(separator, separator)


SPOKEN: Mapping[str, Typography] = {
    ENGLISH: Typography("EN", tag="en", dates="en-GB"),
    "zh": Typography(
        "中文",
        tag="zh-CN",
        dates="zh-CN",
        stop="。",
        brackets="（{}）",
        separators={
            "": "、",
            ", ": "，",
            "; ": "；",
            ": ": "：",
            " and ": " 和 ",
            " or ": " 或 ",
            "; or ": "；或",
            ". ": "。",
            ".": "。",
        },
        unspaced="\u3000-\u303f\u4e00-\u9fff\uff00-\uffef",
        closing="，。；：、！？）",
    ),
}
"""By its code, as in `EDIT_EVAL_LANG`."""
