"""Text as LaTeX has it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable

from edit_eval.guests.paper.references import Reference
from edit_eval.reporting.terminal_text import one_line

_WIDTH = 100
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textquoteleft{}",
    "−": "$-$",
    "±": r"$\pm$",
    "×": r"$\times$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "∞": r"$\infty$",
    "→": r"$\to$",
    "†": r"\dag{}",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    "·": r"\textperiodcentered{}",
}
_ESCAPED = re.compile("|".join(map(re.escape, _SPECIAL)))
_LIGATURE = re.compile(r"(?<=-)-|(?<=[?!])`|(?<=')'|(?<=,),")
"""What LaTeX would make another character of: `--` is a dash."""
_CITED = re.compile("\ue000([a-z0-9,-]+)\ue001")
_LATIN = 0x17F
"""The last character that every LaTeX prints as it is; beyond it there is XeLaTeX."""


def citation(references: Iterable[Reference]) -> str:
    """Returns what `escaped` makes a `\\cite` of, behind a word; empty for none."""
    keys = ",".join(one.key for one in references)
    return f"\ue000{keys}\ue001" if keys else ""


def escaped(text: str) -> str:
    """Returns text for LaTeX on one line: its special characters, and what would become a ligature, as they are."""
    line = one_line(text.replace("\ue000", " \ue002")) if "\ue000" in text else one_line(text)
    return line


def wrapped(text: str) -> str:
    """Breaks a paragraph into lines, which LaTeX joins again."""
    return textwrap.fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False)


def is_latin(text: str) -> bool:
    """True if pdfLaTeX prints it once it is `escaped`; else it takes XeLaTeX."""
    return all(ord(letter) <= _LATIN or letter in _SPECIAL for letter in text)
