"""A leaderboard as a sheet, for a terminal, a page, Markdown, a notebook and a data set's card."""

from __future__ import annotations

from typing import Any

from edit_eval.plugins.leaderboard.board import Leaderboard
from edit_eval.reporting.comparison import note_words
from edit_eval.reporting.comparison_tables import columns_table
from edit_eval.reporting.names import score_line
from edit_eval.reporting.remarks import examination_lines
from edit_eval.reporting.strengths import battle_sheet
from edit_eval.reporting.table import Line, Sheet, Table
from edit_eval.statistics.verdict import sort_by_place
from edit_eval.text import Text


def leaderboard_sheet(board: Leaderboard) -> Sheet:
    """Returns every judge's table, with coverage, intervals and ranks; passports and notes below."""
    sheet: list[Line | Table[Any]] = [
        Line(
            Text(
                "{} run on {} samples: {: and }",
                len(board.runs),
                board.samples,
                board.runs,
                plural="{} runs on the same {} samples: {: and }",
            ),
            "quiet",
        )
    ]
    for judge in board.judges:
        columns = [column for column in board.columns if column.judge == judge]
        first = columns[0]
        sheet += [Line(), Line(Text("One edit at a time, scored by {}", judge), "strong")]
        sheet += [Line(score_line(first.score, first.scale)), Line()]
        sheet += [columns_table(sort_by_place(columns))]
    scores = [score for of in board.battles.values() for score in of.scores.values()]
    models = dict.fromkeys(row.edit_model for score in scores for row in score.strengths)
    sheet += battle_sheet(board.battles, [*models])
    if board.family:
        sheet += [Line(), Line(board.family.words(), "quiet")]
    sheet += [Line(line, "quiet") for line in examination_lines(board.passports)]
    sheet += [Line(note_words(note), "problem") for note in board.notes]
    return sheet
