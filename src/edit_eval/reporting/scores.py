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
from edit_eval.records import Judgement, Results, Sample, Status
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


def score_rows(results: Results) -> Iterator[tuple[Judgement, int | None, str, Status, str]]:
    """Yields, for each score of each judgement that applies to its sample, the judgement, its edit's seed, the score's
    name, status and reason."""
    seeds = {(edit.sample_id, edit.edit_model, edit.edit_seed): edit.seed for edit in results.edits}
    for judgement in results.judgements:
        seed = seeds.get((judgement.sample_id, judgement.edit_model, judgement.edit_seed))
        for name in results.scoring[judgement.judge].scales:
            if (outcome := judgement.outcome(name)) is not None:
                yield judgement, seed, name, *outcome


def write_scores(results: Results, file: TextIO) -> None:
    """Writes a line for each of `score_rows`; text that a spreadsheet would execute is disarmed.

    `edit_seed` counts the edits of a sample from 0, `seed` is the seed given to the edit model. Scores have all their
    digits; for a missing one, `why_no_score` says why. `spread` is the standard deviation between several readings.
    """
    write_rows(file, COLUMNS, _rows(results))


def _rows(results: Results) -> Iterator[tuple[str | int, ...]]:
    for judgement, seed, name, status, reason in score_rows(results):
        score_and_spread = judgement.scores.get(name), judgement.spread.get(name)
        numbers = ["" if number is None else repr(float(number)) for number in score_and_spread]
        whose = (
            judgement.sample_id,
            judgement.category,
            judgement.edit_model,
            judgement.judge,
            judgement.edit_seed,
            "" if seed is None else seed,
        )
        yield (*whose, judgement.repeat, name, status.value, *numbers, reason, judge_says(judgement))


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

_SAMPLE = {
    "sample_id": str,
    "category": str,
    "difficulty": str,
    "cluster": str,  # what belongs together statistically: the source image's digest, or the benchmark's own name
}
_SCORES = {
    **_SAMPLE,
    "edit_model": str,
    "judge": str,
    "edit_seed": int,  # which of the sample's edits, from 0
    "seed": int,  # as given to the edit model
    "repeat": int,  # from 0
    "score_name": str,
    "headline": bool,  # whether this is the score that coverage and comparisons count
    "status": str,
    "score": float,  # missing exactly where the status is not `ok`
    "spread": float,  # standard deviation between readings, n - 1; missing with one reading
    "why_no_score": str,
    "judge_says": str,
}
_JUDGEMENTS = {
    **_SAMPLE,
    "edit_model": str,
    "judge": str,
    "edit_seed": int,
    "repeat": int,
    "score_name": str,  # of the headline
    "status": str,
    "score": float,
    "why_no_score": str,
    "answer": str,  # the judge's replies, unchanged
    "asked": int,  # the most times it was asked any one question
    "seconds": float,
    "device": str,
}
_BATTLES = {
    **_SAMPLE,
    "edit_model": str,
    "other": str,
    "judge": str,
    "edit_seed": int,
    "repeat": int,
    "score_name": str,
    "outcome": str,  # `first`, `second`, `tie`, `contradiction`, `missing`
    "share": float,  # of the first edit, the mean over both orders; missing where the outcome is
    "status": str,
    "why_no_score": str,
    "answer": str,
}
_EDITS = {
    **_SAMPLE,
    "instruction": str,
    "edit_model": str,
    "edit_seed": int,
    "seed": int,
    "status": str,
    "reason": str,
    "source": str,  # the file of the (first) source
    "image": str,  # the file of the edit; empty without one
    "width": int,  # in pixels, 0 without an edit
    "height": int,
    "seconds": float,
    "device": str,
    "flags": str,  # `identical_to_source other_aspect_ratio`
    "made_in": str,  # the column whose edit it is, if it was kept from an earlier round
}

Columns = Mapping[str, type]
Rows = Iterator[Sequence[Any]]


def frame(results: Results, of: str, library: str | None) -> Any:
    """Returns a frame by name, as a pandas `DataFrame` or a pyarrow `Table`."""
    if of not in FRAMES:
        meant = did_you_mean(of, FRAMES) or Text("; there are: {}", FRAMES)
        raise ConfigurationError(Text("to_frame({!r}): there is no such frame{}", of, meant))
    taken = _library(library)
    columns, rows_of = FRAMES[of]
    rows = list(rows_of(results))
    values = {name: [_clean(row[place]) for row in rows] for place, name in enumerate(columns)}
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


def _sample_lookup(results: Results) -> Callable[[str], tuple[str, str, str, str]]:
    samples = {sample.id: sample for sample in results.samples}

    def parts_of(name: str) -> tuple[str, str, str, str]:
        sample: Sample = samples[name]
        return sample.id, sample.category, sample.difficulty, sample.cluster

    return parts_of


def _scores(results: Results) -> Rows:
    sample = _sample_lookup(results)
    for judgement, seed, name, status, reason in score_rows(results):
        leads = name == results.scoring[judgement.judge].headline
        about = (judgement.edit_model, judgement.judge, judgement.edit_seed, seed, judgement.repeat, name, leads)
        yield (
            *sample(judgement.sample_id),
            *about,
            status.value,
            judgement.scores.get(name),
            judgement.spread.get(name),
            reason,
            judge_says(judgement),
        )


def _judgements(results: Results, which: Sequence[Judgement]) -> Rows:
    sample = _sample_lookup(results)
    for judgement in which:
        yield (
            *sample(judgement.sample_id),
            judgement.edit_model,
            judgement.judge,
            judgement.edit_seed,
            judgement.repeat,
            judgement.headline,
            judgement.status.value,
            judgement.score,
            judgement.reason,
            judgement.answer,
            judgement.answers,
            judgement.seconds,
            judgement.device,
        )


def _battles(results: Results) -> Rows:
    sample = _sample_lookup(results)
    for battle in results.battles:
        whose = battle.edit_model, battle.other, battle.judge, battle.edit_seed, battle.repeat
        for name in results.scoring[battle.judge].scales:
            if (outcome := battle.outcome(name)) is not None:
                status, reason = outcome
                came = battle_outcome(battle, name).value, battle.scores.get(name), status.value
                yield (*sample(battle.sample_id), *whose, name, *came, reason or battle.reason, battle.answer)


def _edits(results: Results) -> Rows:
    folder, sample = Path(os.path.abspath(results.directory)), _sample_lookup(results)
    samples = {sample.id: sample for sample in results.samples}
    for edit in results.edits:
        about = samples[edit.sample_id]
        image = str(folder / edit.image) if edit.image else ""
        yield (
            *sample(edit.sample_id),
            *(about.instruction, edit.edit_model, edit.edit_seed, edit.seed, edit.status.value, edit.reason),
            *(
                about.source,
                image,
                edit.width,
                edit.height,
                edit.seconds,
                edit.device,
                " ".join(edit.flags),
                edit.made_in,
            ),
        )


FRAMES: Mapping[str, tuple[Columns, Callable[[Results], Rows]]] = {
    "scores": (_SCORES, _scores),
    "judgements": (_JUDGEMENTS, lambda results: _judgements(results, results.judgements)),
    "edits": (_EDITS, _edits),
    "battles": (_BATTLES, _battles),
    "controls": (_JUDGEMENTS, lambda results: _judgements(results, results.controls)),
}
"""Each frame: its columns with their types, and its rows. Controls are judgements of pictures made by no edit model."""
