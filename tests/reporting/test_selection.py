"""Some samples of a run by themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from edit_eval.errors import ConfigurationError
from edit_eval.records import Results
from edit_eval.reporting.page.files import ids_in, selected
from edit_eval.reporting.scores import write_scores
from reporting.reported_runs import build_hostile_run, build_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return build_run(tmp_path_factory.mktemp("run"), samples=4, size=(16, 12), edit_models=("first", "second"))


def test_all_that_is_about_others_is_left_out(run: Results) -> None:
    wanted = {run.samples[3].id, run.samples[1].id}
    some = selected(run, [run.samples[3].id, run.samples[1].id])
    assert [sample.id for sample in some.samples] == [run.samples[1].id, run.samples[3].id]
    assert {edit.sample_id for edit in some.edits} == {one.sample_id for one in some.judgements} == wanted
    assert len(some.edits) == len(some.judgements) == 4
    assert some.notes[0].startswith("2 of 4 samples, chosen by hand")
    assert some.notes[1:] == run.notes


def test_an_id_that_is_not_there_is_named(run: Results) -> None:
    with pytest.raises(ConfigurationError, match="is not a sample of"):
        selected(run, [run.samples[0].id, "elsewhere"])
    with pytest.raises(ConfigurationError, match="no sample was named"):
        selected(run, [])


def test_ids_come_from_scores_csv_whatever_they_look_like(tmp_path: Path) -> None:
    hostile = build_hostile_run(tmp_path / "run")
    file = tmp_path / "scores.csv"
    with file.open("w", encoding="utf-8", newline="") as opened:
        write_scores(hostile, opened)
    ids = ids_in(file)
    assert sorted(ids) == sorted(sample.id for sample in hostile.samples)
    assert len(selected(hostile, ids).samples) == len(hostile.samples)


def test_what_is_no_such_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        ids_in(tmp_path / "nothere.csv")
    other = tmp_path / "other.csv"
    other.write_text("id,score\na,1\n")
    with pytest.raises(ConfigurationError, match="has no column `sample_id`"):
        ids_in(other)
    other.write_bytes(b"sample_id\n\xff\xfe\n")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        ids_in(other)
