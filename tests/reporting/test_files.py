import csv
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from reporting.reports import Report

from edit_eval.records import Results, Status
from edit_eval.reporting import files
from edit_eval.reporting.files import COLUMNS, write_report


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_four_files_lie_in_the_folder(complete: Report) -> None:
    folder = Path(complete.results.directory) / "report"
    assert sorted(path.name for path in folder.iterdir()) == [
        "index.html",
        "report.md",
        "scores.csv",
        "summary.json",
    ]
    assert complete.files.page == folder / "index.html"


def test_the_summary_is_written_as_it_came(incomplete: Report) -> None:
    assert json.loads(incomplete.files.summary.read_text(encoding="utf-8")) == incomplete.summary


def test_scores_have_exactly_these_columns(complete: Report) -> None:
    first = complete.files.scores.read_text(encoding="utf-8").splitlines()[0]
    assert first == "sample_id,category,edit_model,judge,seed,repeat,status,score,answer" == ",".join(COLUMNS)


def test_one_row_a_judgement_in_their_order(several: Report) -> None:
    rows = rows_of(several.files.scores)
    expected = [(one.sample_id, one.edit_model, one.judge) for one in several.results.judgements]
    assert [(row["sample_id"], row["edit_model"], row["judge"]) for row in rows] == expected


def test_scores_keep_all_digits_and_failures_have_none(incomplete: Report) -> None:
    rows = rows_of(incomplete.files.scores)
    assert {row["status"] for row in rows} > {"ok", "pending", "edit_failed"}
    for row, judgement in zip(rows, incomplete.results.judgements, strict=True):
        assert row["status"] == judgement.status.value
        assert (float(row["score"]) if row["score"] else None) == judgement.score
        assert bool(row["score"]) == (judgement.status is Status.OK)


def test_a_score_survives_to_the_last_bit(complete: Report, tmp_path: Path) -> None:
    score = math.nextafter(7.1, 8)
    first, *rest = complete.results.judgements
    results = replace(complete.results, judgements=(replace(first, score=score), *rest))
    assert float(rows_of(write_report(results, complete.summary, tmp_path).scores)[0]["score"]) == score


@pytest.mark.parametrize(
    "answer", ["two\nlines", 'a "quoted" word', "a, b", "\r\n", "a\rb", "=1+1", "  spaces  ", "评分：7.5", "\x00"]
)
def test_an_answer_comes_back_raw(answer: str, complete: Report, tmp_path: Path) -> None:
    first, *rest = complete.results.judgements
    results = replace(complete.results, judgements=(replace(first, answer=answer), *rest))
    rows = rows_of(write_report(results, complete.summary, tmp_path).scores)
    assert rows[0]["answer"] == answer
    assert len(rows) == len(results.judgements)


def test_the_seed_is_the_one_the_edit_model_was_given(complete: Report) -> None:
    rows = rows_of(complete.files.scores)
    assert [int(row["seed"]) for row in rows] == [edit.seed for edit in complete.results.edits]


def test_half_a_surrogate_pair_does_not_stop_the_report(hostile: Report) -> None:
    assert "\\ud800" in hostile.files.scores.read_text(encoding="utf-8")


def test_the_same_run_gives_the_same_bytes(several: Report) -> None:
    before = {path.name: path.read_bytes() for path in several.files.page.parent.iterdir()}
    write_report(several.results, several.summary, several.files.page.parent)
    assert {path.name: path.read_bytes() for path in several.files.page.parent.iterdir()} == before


def test_a_report_that_fails_leaves_the_old_one_whole(
    complete: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = write_report(complete.results, complete.summary, tmp_path).page.read_bytes()

    def half_a_page(*_: object, **__: object):
        yield "<html>"
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "page", half_a_page)
    with pytest.raises(OSError, match="No space"):
        write_report(complete.results, complete.summary, tmp_path)
    assert (tmp_path / "index.html").read_bytes() == old
    assert not list(tmp_path.glob(".*"))


def test_a_number_that_json_does_not_know_is_refused(complete: Report, tmp_path: Path) -> None:
    summary = {**complete.summary, "category_mean": math.nan}
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_report(complete.results, summary, tmp_path)


def test_another_language_is_refused_in_one_line(complete: Report, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="written in en or zh, not in 'fr'"):
        write_report(complete.results, complete.summary, tmp_path, language="fr")


def test_a_run_of_nothing_has_a_report(tmp_path: Path) -> None:
    from edit_eval.statistics.summary import summarise

    results = Results("empty", str(tmp_path), (), (), (), ("model",), ("judge",))
    written = write_report(results, summarise(results), tmp_path / "report")
    assert rows_of(written.scores) == []
    assert "0 of 0 scored" in written.markdown.read_text(encoding="utf-8")
    assert written.page.stat().st_size > 0
