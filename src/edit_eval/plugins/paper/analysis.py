"""`edit-eval paper`: an analysis of one run or several, on a terminal, and as a folder with every file or none."""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from edit_eval import __version__
from edit_eval.errors import ConfigurationError
from edit_eval.files.new import write_atomically, write_rows
from edit_eval.json_values import JsonObject
from edit_eval.plugins.paper.document import (
    DAGGER,
    JudgeTable,
    Paper,
    PaperColumn,
    PaperRow,
    caption,
    choose_columns,
    columns_of,
    figure_caption,
    methods,
    paper,
    paragraph_of,
    points_of,
    results,
)
from edit_eval.plugins.paper.figure import figure_pdf, figure_svg
from edit_eval.reporting.analyses import Analysis, Sources
from edit_eval.reporting.formats import NOTHING
from edit_eval.reporting.language import translate
from edit_eval.reporting.languages import SPOKEN
from edit_eval.reporting.table import Column, Line, Look, Sheet, Table
from edit_eval.reporting.terminal_text import one_line
from edit_eval.reporting.verdict import verdict_sheet
from edit_eval.run import Run
from edit_eval.store.examined import usual_folder
from edit_eval.text import Text

# -- verb --


class PaperAnalysis(Analysis[Paper]):
    """The table, figure, results and methods of a paper, for LaTeX.

    With `--to FOLDER` it writes table.tex, figure.pdf and .svg, results.txt, methods.txt, numbers.csv, and paper.tex
    with all of them. Runs of other samples, judges or protocols are refused.
    """

    @dataclass(frozen=True)
    class Parameters:
        columns: str | None = field(default=None, metadata={"metavar": "A,B"})
        """Columns of the table: model, n, images, score, interval, behind, p, p_adjusted, rank, failed."""
        score: str | None = field(default=None, metadata={"metavar": "NAME"})
        """Use this score instead of the headline."""
        language: str = field(default="en", metadata={"metavar": "|".join(SPOKEN)})
        """Language of the files."""
        passports: Path | None = None
        """Folder of judges' passports. Default: your cache."""

    about: ClassVar = {"group": "To share and tidy"}
    title: ClassVar[Text] = Text("Paper")
    document: ClassVar = Paper
    sources: ClassVar = Sources("RUN...", "Runs of the same samples by the same judge.", several=True)

    def open_source(self, source: Any, parameters: Parameters) -> Run:
        """Opens a run directory."""
        folder = parameters.passports or usual_folder()
        return source if isinstance(source, Run) else Run(Path(source), folder)

    def compute(self, records: Sequence[Run], parameters: Parameters) -> Paper:
        """Raises `ConfigurationError` for unknown columns and languages, and for runs that no one table may have."""
        if parameters.language not in SPOKEN:
            raise ConfigurationError(Text("--language {}: must be {: or }", parameters.language, SPOKEN))
        return paper(records, choose_columns(parameters.columns), parameters.language, parameters.score)

    def sheet(self, document: Paper) -> Sheet:
        lines: list[Line | Table[PaperRow]] = [*verdict_sheet(document.verdict, drawn=False)]
        for table in document.tables:
            lines += [Line(), *_table(table, document)]
        lines += [Line(), *(Line(line, "quiet") for line in caption(document))]
        lines += [Line(note, "problem", head=Text("note: ")) for note in document.notes]
        return [*lines, Line(Text("`--to FOLDER` writes {:, }.", [*_FILES, "paper.tex"]), "quiet")]

    def write(self, document: Paper, records: Any, folder: Path) -> None:
        """Raises `ConfigurationError` if the folder cannot be written, or no font here has a letter of a name."""
        write_paper(document, folder)

    def rows(self, document: Paper) -> Sequence[Mapping[str, Any]]:
        return list(rows(document))


# -- the terminal --


_FILES = ("table.tex", "figure.pdf", "figure.svg", "results.txt", "methods.txt", "numbers.csv")


def _table(table: JudgeTable, paper: Paper) -> Iterator[Line | Table[PaperRow]]:
    title = Text("{}, {}", table.judge, points_of(table))
    columns = [_column(column, table) for column in columns_of(paper.columns, paper.tables)]
    yield Line(title, "strong")
    yield Table(columns, table.rows, label=title)


def _column(column: PaperColumn, table: JudgeTable) -> Column[PaperRow]:
    def look(row: PaperRow) -> Look:
        return "strong" if column.marked and row.mark == "best" else ""

    def shows(row: PaperRow) -> str:
        return column.shows(table, row) + (DAGGER if column.marked and row.mark == "level" else "")

    return Column(column.title, shows, "name" if column.is_name else "number", look)


# -- the folder --


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


# -- `table.tex`, in the rules of booktabs --


def table_tex(paper: Paper) -> str:
    """Returns the float: a group of rows for each judge if there are several."""
    columns = columns_of(paper.columns, paper.tables)
    heads = [escape_latex(translate(_title(column, paper), paper.language)) for column in columns]
    aligned = "".join("l" if column.is_name else "r" for column in columns)
    words = wrap_paragraph(escape_latex(translate(paragraph_of(caption(paper)), paper.language)))
    lines = [
        r"\begin{table}[tb]",
        r"\centering",
        f"\\caption{{{words}}}",
        r"\label{tab:edit-eval}",
        r"\smallskip",
        f"\\begin{{tabular}}{{@{{}}{aligned}@{{}}}}",
        r"\toprule",
        f"{' & '.join(heads)} \\\\",
        *_body(paper, columns),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _title(column: PaperColumn, paper: Paper) -> Text:
    only = column.key == "score" and all(table.compares for table in paper.tables)
    return Text("Strength") if only else column.title


def _body(paper: Paper, columns: list[PaperColumn]) -> Iterator[str]:
    for table in paper.tables:
        yield r"\midrule"
        if len(paper.tables) > 1:
            heading = escape_latex(translate(Text("{}, {}", table.judge, points_of(table)), paper.language))
            yield f"\\multicolumn{{{len(columns)}}}{{@{{}}l}}{{\\emph{{{heading}}}}} \\\\"
            yield r"\addlinespace[2pt]"
        for row in table.rows:
            yield f"{' & '.join(_cell(column, table, row) for column in columns)} \\\\"


def _cell(column: PaperColumn, table: JudgeTable, row: PaperRow) -> str:
    words = column.shows(table, row)
    written = "--" if words == NOTHING else escape_latex(words)
    if column.marked and row.mark == "best":
        return f"\\textbf{{{written}}}"
    if column.marked and row.mark == "level":
        return f"{written}\\rlap{{$^{{\\dagger}}$}}"
    return written


# -- text as LaTeX has it --


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
