"""All scores as CSV, for a spreadsheet, or as a data frame; and the replies behind them as JSON lines, for `jq`."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TextIO

from edit_eval.config.faults import did_you_mean
from edit_eval.errors import ConfigurationError
from edit_eval.files.new import write_rows
from edit_eval.records import Edit, Judgement, Results, Status
from edit_eval.statistics.battles import battle_outcome
from edit_eval.text import Text

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
    "why_no_score",
    "judge_says",
)
CELL = 32_000
"""Characters of what a judge says in a cell: a spreadsheet's cell takes 32,767."""


Row = tuple[Judgement | Edit, Mapping[str, Any]]
"""A record, and the values of columns that are not simply its own, or its sample's."""


def score_rows(results: Results) -> Iterator[Row]:
    """Yields a row for each score of each judgement that applies to its sample."""
    seeds = {(edit.sample_id, edit.edit_model, edit.edit_seed): edit.seed for edit in results.edits}
    for judgement in results.judgements:
        seed = seeds.get((judgement.sample_id, judgement.edit_model, judgement.edit_seed))
        scoring = results.scoring[judgement.judge]
        for name in scoring.scales:
            if (outcome := judgement.outcome(name)) is not None:
                yield (
                    judgement,
                    {
                        "seed": seed,
                        "score_name": name,
                        "headline": name == scoring.headline,
                        "status": outcome[0].value,
                        "score": judgement.scores.get(name),
                        "spread": judgement.spread.get(name),
                        "why_no_score": outcome[1],
                        "judge_says": judge_says(judgement),
                    },
                )


def write_scores(results: Results, file: TextIO) -> None:
    """Writes a line for each of `score_rows`; text that a spreadsheet would execute is disarmed.

    `edit_seed` counts the edits of a sample from 0, `seed` is the seed given to the edit model. Scores have all their
    digits; for a missing one, `why_no_score` says why. `spread` is the standard deviation between several readings.
    """

    def cell(name: str, judgement: Judgement | Edit, own: Mapping[str, Any]) -> str | int:
        value = own[name] if name in own else getattr(judgement, name)
        return "" if value is None else repr(float(value)) if KINDS.get(name) is float else value

    write_rows(file, COLUMNS, ([cell(name, *row) for name in COLUMNS] for row in score_rows(results)))


def judge_says(judgement: Judgement) -> str:
    """Returns the judge's words: its reason if it gave one beside the score, else its reply; of several questions or
    readings a line each, behind the question's name."""
    said = [
        (question, (read.reason if read.status is Status.OK else "") or read.text)
        for reading in judgement.readings
        for question, read in reading.items()
    ]
    lines = [f"{question}: {words}" if len(said) > 1 else words for question, words in said if words]
    text = "\n".join(lines)
    return text if len(text) <= CELL else f"{text[: CELL - 1]}…"


def write_replies(results: Results, file: TextIO) -> None:
    """Writes a JSON line for each reply that counts, in the order of the scores, then battles, controls last.

    The journal has more: replies to earlier questions, replies of earlier judges, and unreadable ones.
    """
    for judgement in (*results.coverage_judgements, *results.controls):
        for number, reading in enumerate(judgement.readings):
            for question, read in reading.items():
                if not read.applies:
                    continue
                line = {
                    "sample": judgement.sample_id,
                    "edit_model": judgement.edit_model,
                    **({"other": judgement.other} if judgement.other else {}),
                    "edit_seed": judgement.edit_seed,
                    "judge": judgement.judge,
                    "repeat": judgement.repeat,
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


# -- data frames --

LIBRARIES = ("pandas", "pyarrow")
"""The first one installed is used."""

KINDS: Mapping[str, type] = {
    **dict.fromkeys(("edit_seed", "seed", "repeat", "asked", "width", "height"), int),
    **dict.fromkeys(("score", "spread", "share", "seconds"), float),
    "headline": bool,
}
"""Types of columns; all others are texts."""
_SAMPLE = {"sample_id": "id", "category": "category", "difficulty": "difficulty", "cluster": "cluster"}
"""Columns of every frame, and what a sample calls them. A cluster belongs together statistically: the source image's
digest, or the benchmark's own name."""


def frame(results: Results, of: str, library: str | None) -> Any:
    """Returns a frame by name, as a pandas `DataFrame` or a pyarrow `Table`."""
    if of not in FRAMES:
        meant = did_you_mean(of, FRAMES) or Text("; there are: {}", FRAMES)
        raise ConfigurationError(Text("to_frame({!r}): there is no such frame{}", of, meant))
    taken = _library(library)
    columns, rows_of = FRAMES[of]
    samples = {sample.id: sample for sample in results.samples}
    values: dict[str, list[Any]] = {name: [] for name in columns}
    for record, own in rows_of(results):
        whose = {**{name: getattr(samples[record.sample_id], theirs) for name, theirs in _SAMPLE.items()}, **own}
        for name, cells in values.items():
            cells.append(_clean(whose[name] if name in whose else getattr(record, name)))
    if taken == "pandas":
        pandas = importlib.import_module("pandas")
        return pandas.DataFrame({name: pandas.Series(values[name], dtype=kind) for name, kind in columns.items()})
    arrow = importlib.import_module("pyarrow")
    kinds = {str: arrow.string(), int: arrow.int64(), float: arrow.float64(), bool: arrow.bool_()}
    return arrow.table(values, schema=arrow.schema([(name, kinds[kind]) for name, kind in columns.items()]))


def _library(wanted: str | None) -> str:
    if wanted is not None and wanted not in LIBRARIES:
        raise ConfigurationError(Text("to_frame(library={!r}): must be {: or }", wanted, map(repr, LIBRARIES)))
    for name in (wanted,) if wanted else LIBRARIES:
        if find_spec(name) is not None:
            return name
    needed = wanted or " or ".join(LIBRARIES)
    raise ConfigurationError(Text("to_frame() needs {}; install it: `pip install {}`", needed, wanted or LIBRARIES[0]))


def _clean(value: Any) -> Any:
    """Replaces lone surrogates in text, which neither library accepts, with `\\udXXX`."""
    return value.encode("utf-8", "backslashreplace").decode("utf-8") if isinstance(value, str) else value


def _judgements(judgements: Sequence[Judgement]) -> Iterator[Row]:
    for judgement in judgements:
        yield (
            judgement,
            {
                "score_name": judgement.headline,
                "status": judgement.status.value,
                "why_no_score": judgement.reason,
                "asked": judgement.answers,
            },
        )


def _battles(results: Results) -> Iterator[Row]:
    for battle in results.battles:
        for name in results.scoring[battle.judge].scales:
            if (outcome := battle.outcome(name)) is not None:
                yield (
                    battle,
                    {
                        "score_name": name,
                        "outcome": battle_outcome(battle, name).value,
                        "share": battle.scores.get(name),
                        "status": outcome[0].value,
                        "why_no_score": outcome[1] or battle.reason,
                    },
                )


def _edits(results: Results) -> Iterator[Row]:
    folder, samples = Path(os.path.abspath(results.directory)), {sample.id: sample for sample in results.samples}
    for edit in results.edits:
        about = samples[edit.sample_id]
        image = str(folder / edit.image) if edit.image else ""
        own = {"instruction": about.instruction, "source": about.source, "image": image}
        yield edit, {**own, "status": edit.status.value, "flags": " ".join(edit.flags)}


def _columns(names: str) -> Mapping[str, type]:
    return {name: KINDS.get(name, str) for name in (*_SAMPLE, *names.split())}


# Seeds of edits and repeats count from 0; `seed` is as given to the edit model. A score is missing exactly where the
# status is not `ok`, a share where the outcome (`first`, `second`, `tie`, `contradiction`, `missing`) is. `headline`
# says whether coverage and comparisons count this score; `asked` is the most times that any one question was put;
# sources and images are files; `made_in` is the column whose edit it is, if it was kept from an earlier round.
_OF_JUDGEMENT = _columns(
    "edit_model judge edit_seed repeat score_name status score why_no_score answer asked seconds device"
)
FRAMES: Mapping[str, tuple[Mapping[str, type], Callable[[Results], Iterator[Row]]]] = {
    "scores": (
        _columns(
            "edit_model judge edit_seed seed repeat score_name headline status score spread why_no_score judge_says"
        ),
        score_rows,
    ),
    "judgements": (_OF_JUDGEMENT, lambda results: _judgements(results.judgements)),
    "edits": (
        _columns(
            "instruction edit_model edit_seed seed status reason source image width height seconds device flags made_in"
        ),
        _edits,
    ),
    "battles": (
        _columns("edit_model other judge edit_seed repeat score_name outcome share status why_no_score answer"),
        _battles,
    ),
    "controls": (_OF_JUDGEMENT, lambda results: _judgements(results.controls)),
}
"""Each frame: its columns with their types, and its rows. Controls are judgements of pictures made by no edit model."""
