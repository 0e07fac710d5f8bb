"""The folder of a paper: every file at once, or none."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from edit_eval import __version__
from edit_eval.files.new import write_atomically, write_rows
from edit_eval.json_values import JsonObject
from edit_eval.plugins.paper.document import Paper
from edit_eval.plugins.paper.figure import figure_pdf, figure_svg
from edit_eval.plugins.paper.latex import escape_latex, is_latin, wrap_paragraph
from edit_eval.plugins.paper.table import table_tex
from edit_eval.plugins.paper.words import figure_caption, methods, paragraph_of, results
from edit_eval.reporting.language import translate
from edit_eval.reporting.terminal_text import one_line
from edit_eval.text import Text


def write_paper(paper: Paper, folder: Path) -> None:
    """Writes the folder. Raises `ConfigurationError` if it cannot be written, or the figure lacks a letter."""
    svg = figure_svg(paper)
    texts = {
        "table.tex": table_tex(paper),
        "figure.svg": svg,
        "results.txt": _paragraphs(results(paper), paper.language),
        "methods.txt": _paragraphs(methods(paper), paper.language),
        "numbers.csv": _csv(list(rows(paper))),
    }
    latin = all(is_latin(text) for name, text in texts.items() if name in ("table.tex", "results.txt", "methods.txt"))
    head = "".join(f"% {line}\n" for line in _remarks(paper, latin=latin))
    texts |= {"table.tex": head + texts["table.tex"], "paper.tex": head + _whole(paper, latin=latin)}
    with write_atomically(folder) as temporary:
        temporary.mkdir()
        for name, text in texts.items():
            (temporary / name).write_text(text, encoding="utf-8", errors="backslashreplace", newline="")
        (temporary / "figure.pdf").write_bytes(figure_pdf(svg))


def rows(paper: Paper) -> Iterator[JsonObject]:
    """Yields the numbers of each edit model by each judge, with all their digits."""
    for table in paper.tables:
        for row in table.rows:
            yield {
                "judge": table.judge,
                "score": table.score,
                **_fields(row.placing, ("name", "rank", "scored", "total", "mean", "ci95")),
                **_fields(row, ("mark", "images", "failed", "tried")),
                **_fields(row.contest, ("difference", "ci95", "p", "p_adjusted"), "behind_"),
            }


def _fields(of: Any, names: Sequence[str], before: str = "") -> JsonObject:
    """Returns fields by their names, all of them None where there is nothing; an interval becomes two."""
    fields: JsonObject = {}
    for name in names:
        value = getattr(of, name, None)
        if name == "ci95":
            fields |= dict(zip((f"{before}low", f"{before}high"), value or (None, None), strict=True))
        else:
            fields[before + name] = value
    return fields


def _csv(made: Sequence[Mapping[str, Any]]) -> str:
    written = io.StringIO(newline="")
    write_rows(written, list(made[0]), (list(row.values()) for row in made))
    return written.getvalue()


def _paragraphs(texts: Sequence[Text], language: str) -> str:
    return "\n\n".join(wrap_paragraph(escape_latex(translate(text, language))) for text in texts) + "\n"


def _remarks(paper: Paper, *, latin: bool) -> Iterator[str]:
    """Yields what whoever opens the file should know; English, as LaTeX is."""
    yield f"Made by edit-eval {__version__} of {one_line(', '.join(paper.runs))}. Needs \\usepackage{{booktabs}}."
    if not latin:
        yield "Its letters need XeLaTeX and ctex: compile with `xelatex`."
    for note in paper.notes:
        yield one_line(f"Note: {str.__str__(note)}")


def _whole(paper: Paper, *, latin: bool) -> str:
    """Returns a document that has everything in it, to look at."""
    letters = [] if latin else [rf"\usepackage{'' if paper.language == 'zh' else '[scheme=plain]'}{{ctex}}"]
    titles = [escape_latex(translate(title, paper.language)) for title in (Text("Results"), Text("Methods"))]
    words = wrap_paragraph(escape_latex(translate(paragraph_of(figure_caption(paper)), paper.language)))
    lines = [
        r"\ifdefined\pdfminorversion\pdfminorversion=7\fi",
        r"\documentclass{article}",
        *letters,
        r"\usepackage{booktabs,graphicx,url}",
        r"\setlength{\emergencystretch}{3em}",
        r"\begin{document}",
        f"\\section*{{{titles[0]}}}",
        r"\input{results.txt}",
        r"\input{table}",
        r"\begin{figure}[tb]",
        r"\centering",
        r"\includegraphics[width=\linewidth]{figure.pdf}",
        f"\\caption{{{words}}}",
        r"\label{fig:edit-eval}",
        r"\end{figure}",
        f"\\section*{{{titles[1]}}}",
        r"\input{methods.txt}",
        r"\end{document}",
    ]
    return "\n".join(lines) + "\n"
