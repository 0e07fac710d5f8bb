"""What a verb has found as files: JSON, a page, Markdown; of an analysis also CSV, a drawing, a folder with all."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from edit_eval.errors import ConfigurationError
from edit_eval.files.new import refuse_existing, write_atomically, write_rows
from edit_eval.reporting.analyses import Analysis, AnalysisSection, ChartStyle, section_of
from edit_eval.reporting.displays import page_display
from edit_eval.reporting.documents import encode_document
from edit_eval.reporting.language import translate
from edit_eval.reporting.table import Sheet, markdown_sheet
from edit_eval.text import Text

SHEET_FILES = (".html", ".md", ".json")
"""Endings of what `write_sheet` writes."""


def write_document(name: str, document: Any, target: Path, *, records: Any, language: str, force: bool) -> None:
    """Writes a document as the file's ending says: `.json`, `.md`, `.html`, and where the analysis has them `.csv` and
    `.svg`. A folder, which is a name without an ending, gets all of them, or what the analysis writes of the `records`
    that the document was computed of; it can be pushed to the Hub as a data set.

    Raises `ConfigurationError` for any other ending, an existing file without `force`, or a file that cannot be
    written.
    """
    section = section_of(name, document)
    made = dict(_writers(section, records, language))
    if not target.suffix and type(section.of).write is not Analysis.write:
        refuse_existing(target, force=force)
        section.of.write(document, records, target)
        return
    if not target.suffix:
        files = {target / f"{name}{ending}": write for ending, write in made.items() if ending not in (".md", ".html")}
        files |= {target / "README.md": lambda: _card(section)}
        if page_display():
            files |= {target / "index.html": made[".html"]}
    elif target.suffix.lower() in made:
        files = {target: made[target.suffix.lower()]}
    else:
        raise ConfigurationError(Text("--to {}: name a folder, or a file that ends in {: or }", target, list(made)))
    _write(files, force=force)


def write_sheet(title: Text, sheet: Sheet, plain: Any, target: Path, *, language: str, force: bool) -> None:
    """Writes what a verb prints, as the file's ending says: `.html`, `.md`, or as `.json` its plain data.

    Raises `ConfigurationError` as `write_document` does.
    """
    refuse_target(target, force=force)
    made: dict[str, Callable[[], str]] = {
        ".html": lambda: _page(title, Text(""), sheet, language),
        ".md": lambda: f"# {translate(title, language)}\n\n{markdown_sheet(sheet, language)}\n",
        ".json": lambda: f"{encode_document(plain)}\n",
    }
    _write({target: made[target.suffix.lower()]}, force=force)


def refuse_target(target: Path, *, force: bool) -> None:
    """Raises what `write_sheet` would: for a verb that takes minutes, before it begins."""
    if target.suffix.lower() not in SHEET_FILES:
        raise ConfigurationError(Text("--to {}: name a file that ends in {: or }", target, list(SHEET_FILES)))
    refuse_existing(target, force=force)


def _write(files: Mapping[Path, Callable[[], str]], *, force: bool) -> None:
    for file in files:
        refuse_existing(file, force=force)
    texts = {file: write() for file, write in files.items()}
    for file, text in texts.items():
        with write_atomically(file) as temporary:
            temporary.write_text(text, encoding="utf-8", errors="backslashreplace", newline="")


def _writers(section: AnalysisSection, records: Any, language: str) -> Iterator[tuple[str, Callable[[], str]]]:
    [document] = section.documents
    rows = section.of.rows(document)
    if type(section.of).charts is not Analysis.charts:
        yield ".svg", lambda: _svg(section, ChartStyle((), language, getattr(records, "results", None)))
    if rows:
        yield ".csv", lambda: _csv(rows)
    yield ".html", lambda: _page(section.title, *section.parts[0], language)
    yield ".md", lambda: f"{markdown_sheet(section.sheet(), language)}\n"
    yield ".json", lambda: f"{encode_document(document)}\n"


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    written = io.StringIO(newline="")
    write_rows(written, list(rows[0]), (list(row.values()) for row in rows))
    return written.getvalue()


_WIDTH = 520


def _svg(section: AnalysisSection, style: ChartStyle) -> str:
    """Draws its first chart for a paper: white background, no interaction."""
    import altair
    import vl_convert

    drawn = [*section.charts(style), altair.Chart({"values": []}).mark_point()]
    specification = drawn[0].properties(width=_WIDTH).to_dict(validate=False)
    configuration = {"background": "white", "view": {"stroke": None}, "line": {"strokeWidth": 1.5}}
    made: str = vl_convert.vegalite_to_svg({**specification, "config": configuration})
    return made


def _page(title: Text, heading: Text, sheet: Sheet, language: str) -> str:
    display = page_display()
    if display is None:
        raise ConfigurationError(
            Text("no display that draws pages is installed; name a file that ends in .md or .json")
        )
    return display.document(title, heading, sheet, language=language)


def _card(section: AnalysisSection) -> str:
    """Returns the README.md of a data set on the Hub."""
    tags = ["edit-eval", "image-editing", section.name]
    title = translate(section.title, "en")
    front = {"pretty_name": title, "license": "unknown", "tags": tags}
    [(_, sheet)] = section.parts
    text = markdown_sheet(sheet, "en")
    return f"---\n{yaml.safe_dump(front, sort_keys=False).rstrip()}\n---\n\n# {title}\n\n{text}\n"
