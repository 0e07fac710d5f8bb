"""The table of all judgements as CSV, for a spreadsheet or a data frame."""

from __future__ import annotations

import csv
import re
from typing import TextIO

from edit_eval.records import Results

_FORMULA = tuple("=+-@\t\r\n＝＋－＠")
_NUMBER = re.compile(r"[-+](\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.I | re.A)
COLUMNS = ("sample_id", "category", "edit_model", "judge", "seed", "repeat", "status", "score", "answer")


def write_scores(results: Results, file: TextIO) -> None:
    """One row a judgement; texts that a spreadsheet would run are made harmless.

    `seed` is the seed that the edit model was given; scores with all their digits.
    """
    seeds = {(edit.sample_id, edit.edit_model, edit.edit_seed): edit.seed for edit in results.edits}
    # Lines end as RFC 4180 says, so that every reader takes a lone line feed in an answer for what it is.
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for one in results.judgements:
        writer.writerow(
            (
                *map(_harmless, (one.sample_id, one.category, one.edit_model, one.judge)),
                seeds.get((one.sample_id, one.edit_model, one.edit_seed), ""),
                one.repeat,
                one.status.value,
                "" if one.score is None else repr(float(one.score)),
                _harmless(one.answer),
            )
        )


def _harmless(text: str) -> str:
    """The text with an apostrophe before it where a spreadsheet would run it (`=cmd|...`); a number is none of those.

    By what it begins with: https://owasp.org/www-community/attacks/CSV_Injection
    """
    return f"'{text}" if text.startswith(_FORMULA) and not _NUMBER.fullmatch(text) else text
