"""`table.tex`: the table as a float with its caption, in the rules of booktabs."""

from __future__ import annotations

from collections.abc import Iterator

from edit_eval.plugins.paper.columns import PaperColumn, columns_of
from edit_eval.plugins.paper.document import JudgeTable, Paper, PaperRow
from edit_eval.plugins.paper.latex import escape_latex, wrap_paragraph
from edit_eval.plugins.paper.words import caption, paragraph_of, points_of
from edit_eval.reporting.formats import NOTHING
from edit_eval.reporting.language import translate
from edit_eval.text import Text


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
