"""Records as data frames, by both libraries: every column as documented, no number where there is no score."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from edit_eval.errors import ConfigurationError
from edit_eval.records import Results, Status
from edit_eval.reporting import scores as frames
from edit_eval.reporting.scores import FRAMES, LIBRARIES, frame
from late_imports import needs
from reporting.reported_runs import unscored
from reporting.reports import Report

needs("pandas", "pyarrow")


def columns_of(made: Any) -> dict[str, list[Any]]:
    return made.to_dict("list") if hasattr(made, "to_dict") else made.to_pydict()


def number(value: Any) -> float | None:
    """Missing in either library."""
    return None if value is None or value != value else value


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("of", FRAMES)
def test_every_frame_has_its_columns_whatever_is_in_it(of: str, library: str, several: Report) -> None:
    for results in (several.results, replace(several.results, edits=(), judgements=(), controls=())):
        made = frame(results, of, library)
        names = list(made.columns) if library == "pandas" else made.column_names
        assert names == list(FRAMES[of][0])
        kinds = made.dtypes if library == "pandas" else {field.name: field.type for field in made.schema}
        for name, kind in FRAMES[of][0].items():
            assert str(kinds[name]) in {str: ("str", "object", "string"), bool: ("bool",)}.get(
                kind, ("int64",) if kind is int else ("float64", "double")
            )


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_score_is_missing_exactly_where_there_is_none(library: str, incomplete: Report) -> None:
    columns = columns_of(frame(incomplete.results, "scores", library))
    assert {*columns["status"]} > {"ok", "pending", "edit_failed"}
    for judgement, status, score, reason in zip(
        incomplete.results.judgements, columns["status"], columns["score"], columns["why_no_score"], strict=True
    ):
        assert (status, number(score)) == (judgement.status.value, judgement.score)
        assert (number(score) is None) == (status != "ok")
        assert bool(reason) == (status not in ("ok", "pending"))
    clusters = {sample.id: sample.cluster for sample in incomplete.results.samples}
    assert columns["cluster"] == [clusters[name] for name in columns["sample_id"]]


def test_several_scores_are_several_rows(three_scores: Report) -> None:
    columns = columns_of(frame(three_scores.results, "scores", "pyarrow"))
    applies = [
        (judgement.sample_id, judgement.edit_model, judgement.judge, name)
        for judgement in three_scores.results.judgements
        for name in three_scores.results.scoring[judgement.judge].scales
        if judgement.outcome(name)
    ]
    assert (
        list(zip(columns["sample_id"], columns["edit_model"], columns["judge"], columns["score_name"], strict=True))
        == applies
    )
    heads = {judge: scoring.headline for judge, scoring in three_scores.results.scoring.items()}
    assert columns["headline"] == [heads[j] == n for j, n in zip(columns["judge"], columns["score_name"], strict=True)]


def test_edits_and_answers(several: Report) -> None:
    edits = columns_of(frame(several.results, "edits", "pandas"))
    for edit, image, flags in zip(several.results.edits, edits["image"], edits["flags"], strict=True):
        assert image == (f"{several.results.directory}/{edit.image}" if edit.image else "")
        assert flags == " ".join(edit.flags)
    assert Path(edits["image"][0]).is_file()
    answers = columns_of(frame(several.results, "judgements", "pandas"))["answer"]
    assert answers == [judgement.answer for judgement in several.results.judgements]


@pytest.mark.parametrize("library", LIBRARIES)
def test_half_a_surrogate_pair_is_written_out(library: str, complete: Report) -> None:
    first, *rest = complete.results.judgements
    broken = replace(complete.results, judgements=(unscored(first, Status.UNPARSEABLE, "half \ud83d"), *rest))
    assert columns_of(frame(broken, "scores", library))["why_no_score"][0] == "half \\ud83d"


def without(monkeypatch: pytest.MonkeyPatch, *absent: str) -> None:
    monkeypatch.setattr(frames, "find_spec", lambda name: None if name in absent else find_spec(name))


def kind(results: Results, library: str | None = None) -> str:
    return type(frame(results, "scores", library)).__name__


def test_the_library_that_is_there_is_taken(complete: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    assert kind(complete.results) == "DataFrame"
    assert kind(complete.results, "pyarrow") == "Table"
    without(monkeypatch, "pandas")
    assert kind(complete.results) == "Table"
    with pytest.raises(ConfigurationError, match=r"needs pandas; install it: `pip install pandas`"):
        kind(complete.results, "pandas")
    without(monkeypatch, "pandas", "pyarrow")
    with pytest.raises(ConfigurationError, match=r"needs pandas or pyarrow; install it: `pip install pandas`"):
        kind(complete.results)


def test_other_words_are_refused(complete: Report) -> None:
    with pytest.raises(ConfigurationError, match=r"to_frame\('score'\): there is no such frame; did you mean `scores`"):
        frame(complete.results, "score", None)
    with pytest.raises(ConfigurationError, match="must be 'pandas' or 'pyarrow'"):
        frame(complete.results, "scores", "polars")


def test_the_columns_are_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "python.md").read_text("utf-8")
    told = {
        name: re.findall(r"`(\w+)`", columns)
        for name, columns in re.findall(r'^\| `"(\w+)"`[^|]*\|[^|]*\| ([^|]*) \|$', page, re.M)
    }
    expected = {name: list(columns) for name, (columns, _) in FRAMES.items()}
    assert {**told, "controls": expected["controls"]} == expected
