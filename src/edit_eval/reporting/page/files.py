"""Writes a run's report: numbers, scores, replies, Markdown and the page, each file whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from edit_eval.records import Results
from edit_eval.reporting.page.markdown import markdown
from edit_eval.reporting.page.page import page
from edit_eval.reporting.page.texts import LANGUAGES
from edit_eval.reporting.scores import write_replies, write_scores


def write_report(results: Results, summary: Mapping[str, Any], folder: Path, *, language: str = "en") -> None:
    """Writes the five files of a report into `folder`, which is made if need be. The same input, the same bytes.

    `summary` is what `statistics.summary.summarise` returned. `language` (`en` or `zh`) is that of the Markdown,
    and the one in which the page opens; the page holds both. Raises `OSError` where a file cannot be written,
    and `ValueError` for another language or a number in the summary that JSON does not know.
    """
    if language not in LANGUAGES:
        raise ValueError(f"the report is written in {' or '.join(LANGUAGES)}, not in {language!r}")
    folder.mkdir(parents=True, exist_ok=True)
    contents: dict[str, Callable[[TextIO], object]] = {
        "summary.json": lambda file: _write_summary(summary, file),
        "scores.csv": lambda file: write_scores(results, file),
        "replies.jsonl": lambda file: write_replies(results, file),
        "report.md": lambda file: file.write(markdown(results, summary, language)),
        "index.html": lambda file: file.writelines(page(results, summary, folder, language=language)),
    }
    for name, write in contents.items():
        with whole(folder / name) as file:
            write(file)


def _write_summary(summary: Mapping[str, Any], file: TextIO) -> None:
    json.dump(summary, file, ensure_ascii=False, indent=2, allow_nan=False)
    file.write("\n")


@contextmanager
def whole(path: Path) -> Iterator[TextIO]:
    """A file that appears under its name only when all of it is on the disk."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        # A judge's answer may hold half a surrogate pair, which UTF-8 does not know; it is written as \udXXX.
        with temporary.open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
