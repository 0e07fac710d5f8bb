"""All scores as CSV, for a spreadsheet or a data frame; and the replies that they are made of, for `jq`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TextIO

from edit_eval.records import Judgement, Results, Status
from edit_eval.spreadsheets import write_rows

COLUMNS = (
    "sample_id",
    "category",
    "edit_model",
    "judge",
    "edit_seed",
    "seed",
    "repeat",
    "score_name",
    "status",
    "score",
    "spread",
    "reason",
)


def score_rows(results: Results) -> Iterator[tuple[Judgement, int | None, str, Status, str]]:
    """For each score of each judgement that applies to its sample: the judgement, its edit's seed, the score's name,
    status and reason."""
    seeds = {(edit.sample_id, edit.edit_model, edit.edit_seed): edit.seed for edit in results.edits}
    for one in results.judgements:
        seed = seeds.get((one.sample_id, one.edit_model, one.edit_seed))
        for name in results.scoring[one.judge].scales:
            if (outcome := one.outcome(name)) is not None:
                yield one, seed, name, *outcome


def write_scores(results: Results, file: TextIO) -> None:
    """A line for each of `score_rows`; what a spreadsheet would run is disarmed.

    `edit_seed` counts the edits of a sample from 0, `seed` is the seed that the edit model was given. Scores have all
    their digits; where there is none, `reason` says why. `spread` is the standard deviation between several readings.
    """
    write_rows(file, COLUMNS, _rows(results))


def _rows(results: Results) -> Iterator[tuple[str | int, ...]]:
    for one, seed, name, status, reason in score_rows(results):
        found = one.scores.get(name), one.spread.get(name)
        numbers = ["" if number is None else repr(float(number)) for number in found]
        whose = (one.sample_id, one.category, one.edit_model, one.judge, one.edit_seed, "" if seed is None else seed)
        yield (*whose, one.repeat, name, status.value, *numbers, reason)


def write_replies(results: Results, file: TextIO) -> None:
    """One JSON line for each reply that counts, in the order of the scores, then battles, controls last.

    The journal has more: replies to earlier questions, of earlier judges, and those that could not be read.
    """
    for one in (*results.judgements, *results.battles, *results.controls):
        for number, reading in enumerate(one.readings):
            for question, read in reading.items():
                line = {
                    "sample": one.sample_id,
                    "edit_model": one.edit_model,
                    **({"other": one.other} if one.other else {}),
                    "edit_seed": one.edit_seed,
                    "judge": one.judge,
                    "repeat": one.repeat,
                    "question": question,
                    "reading": number,
                    "status": read.status.value,
                    "values": dict(read.values),
                    **({} if read.mass is None else {"mass": read.mass}),
                    "reason": read.reason,
                    "asked": read.asked,
                    "text": read.text,
                }
                file.write(f"{json.dumps(line, ensure_ascii=False)}\n")
