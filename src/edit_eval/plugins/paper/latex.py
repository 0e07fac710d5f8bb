"""Text as LaTeX has it."""

from __future__ import annotations

import re
import textwrap

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
_MINUS = r"(?<![\w.-])-(?=\d)"
_LIGATURES = "-(?=-)|'(?=')|[?!](?=`)"
"""What LaTeX would make another character of together with the next: `--` is a dash."""
_BREAK = r"/(?=[^\W\d])"
"""Where a path, or the name of weights, may go on in the next line."""
_ESCAPED = re.compile(f"{'|'.join(map(re.escape, _SPECIAL))}|(?P<minus>{_MINUS})|(?P<slash>{_BREAK})|{_LIGATURES}")
_LATIN = 0x17F
"""The last character that every LaTeX prints as it is; beyond it there is XeLaTeX."""


def escape_latex(text: str) -> str:
    """Returns text on one line as LaTeX has it: special characters, and ligatures broken."""
    return _ESCAPED.sub(_escape_match, one_line(text))


def _escape_match(match: re.Match[str]) -> str:
    if match["minus"]:
        return "$-$"
    return r"/\allowbreak{}" if match["slash"] else _SPECIAL.get(match[0], match[0] + "{}")


def wrap_paragraph(text: str) -> str:
    """Breaks a paragraph into lines, which LaTeX joins again."""
    return textwrap.fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False)


def is_latin(text: str) -> bool:
    """True if pdfLaTeX prints it once it is `escaped`; else it takes XeLaTeX."""
    return all(ord(letter) <= _LATIN or letter in _SPECIAL for letter in text)
