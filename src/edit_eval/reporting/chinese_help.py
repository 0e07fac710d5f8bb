"""`--help` in Chinese: each text is translated where it is laid out, and wrapped by terminal columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from rich.cells import cell_len

from edit_eval.reporting.language import said_own
from edit_eval.reporting.terminal_text import Styled

COLUMN = 30
"""Columns of the widest option beside which its text begins."""


def help_in_chinese(command: Any) -> None:
    """Makes a command of typer's, and all below it, lay their help out in Chinese."""
    context = command.context_class
    laid_out = type("ChineseHelp", (ChineseHelp, context.formatter_class), {})
    command.context_class = type(context.__name__, (context,), {"formatter_class": laid_out})
    command.short_help = _sentences(command.short_help or (command.help or "").split("\n\n")[0].replace("\n", " "))
    for below in getattr(command, "commands", {}).values():
        help_in_chinese(below)


class ChineseHelp:
    """What a help formatter of typer's writes, in Chinese; the rest is the formatter's."""

    width: int
    current_indent: int

    def write(self, string: str) -> None:
        """Writes text as it is."""
        super().write(string)  # type: ignore[misc]

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        """`用法：edit-eval run [OPTIONS] CONFIG`."""
        super().write_usage(prog, args, "用法：")  # type: ignore[misc]

    def write_heading(self, heading: str) -> None:
        """`选项：`."""
        self.write(f"{'':{self.current_indent}}{said_own(heading)}：\n")

    def write_text(self, text: str) -> None:
        """The paragraphs of what a verb does."""
        for i, paragraph in enumerate(text.split("\n\n")):
            self.write("\n" if i else "")
            for line in _wrapped(_sentences(" ".join(paragraph.split())), self.width - self.current_indent):
                self.write(f"{'':{self.current_indent}}{line}\n")

    def write_dl(self, rows: Sequence[tuple[str, str]], col_max: int = COLUMN, col_spacing: int = 2) -> None:
        """Names and what they mean, in two columns."""
        column = min(max((cell_len(name) for name, _ in rows), default=0), col_max) + col_spacing
        indent = " " * self.current_indent
        for name, meaning in rows:
            lines = _wrapped(_meaning(meaning), max(self.width - column - self.current_indent, 20))
            beside = cell_len(name) <= column - col_spacing
            head = indent + name + " " * (column - cell_len(name))
            if not beside:
                self.write(f"{indent}{name}\n")
                head = indent + " " * column
            for line in lines or [""]:
                self.write(f"{head}{line}".rstrip() + "\n")
                head = indent + " " * column


def _meaning(text: str) -> str:
    """A text with what typer puts behind it: `[default: 1024; required]`."""
    found = re.fullmatch(r"(.*?)\s*\[((?:default|required|env var|\d|x).*)\]", text, re.DOTALL)
    if found is None:
        return _sentences(" ".join(text.split()))
    extras = "；".join(_extra(one) for one in found[2].split("; "))
    return f"{_sentences(' '.join(found[1].split()))} [{extras}]".strip()


def _extra(text: str) -> str:
    """`required`, `default: 8`."""
    name, colon, value = text.partition(": ")
    return f"{said_own(name)}{'：' if colon else ''}{value}"


def _sentences(text: str) -> str:
    return "".join(map(said_own, re.split(r"(?<=[.?]) (?=[A-Z])", text)))


def _wrapped(text: str, cells: int) -> list[str]:
    return [line.plain for line in Styled(text).in_lines(cells)]
