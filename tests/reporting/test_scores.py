import csv
import io
import math
from dataclasses import replace

import pytest

from edit_eval.records import Results, Status
from edit_eval.reporting.scores import COLUMNS, write_scores
from reporting.reports import Report


def written(results: Results) -> str:
    file = io.StringIO(newline="")
    write_scores(results, file)
    return file.getvalue()


def rows_of(results: Results) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(written(results), newline="")))


def test_scores_have_exactly_these_columns(complete: Report) -> None:
    first = written(complete.results).splitlines()[0]
    assert first == "sample_id,category,edit_model,judge,seed,repeat,status,score,answer" == ",".join(COLUMNS)


def test_one_row_a_judgement_in_their_order(several: Report) -> None:
    rows = rows_of(several.results)
    expected = [(one.sample_id, one.edit_model, one.judge) for one in several.results.judgements]
    assert [(row["sample_id"], row["edit_model"], row["judge"]) for row in rows] == expected


def test_scores_keep_all_digits_and_failures_have_none(incomplete: Report) -> None:
    rows = rows_of(incomplete.results)
    assert {row["status"] for row in rows} > {"ok", "pending", "edit_failed"}
    for row, judgement in zip(rows, incomplete.results.judgements, strict=True):
        assert row["status"] == judgement.status.value
        assert (float(row["score"]) if row["score"] else None) == judgement.score
        assert bool(row["score"]) == (judgement.status is Status.OK)


def test_a_score_survives_to_the_last_bit(complete: Report) -> None:
    score = math.nextafter(7.1, 8)
    first, *rest = complete.results.judgements
    results = replace(complete.results, judgements=(replace(first, score=score), *rest))
    assert float(rows_of(results)[0]["score"]) == score


@pytest.mark.parametrize(
    "text",
    ["=cmd|'/c calc'!A1", "+1+1", "-2+3", "@SUM(1)", "\t=1", "\r=1", "\n=1", "＝1", "＋1", "－1", "＠x", "-", "-1e"],
)
def test_what_a_spreadsheet_would_run_is_made_a_text(text: str, complete: Report) -> None:
    first, *rest = complete.results.judgements
    hostile = replace(first, answer=text, sample_id=text, category=text, edit_model=text, judge=text)
    row = rows_of(replace(complete.results, judgements=(hostile, *rest)))[0]
    assert {row[name] for name in ("sample_id", "category", "edit_model", "judge", "answer")} == {f"'{text}"}


@pytest.mark.parametrize("text", ["-1.5", "+7", "-3", "-.5", "-1e3", "a=1", "'=1"])
def test_a_number_and_what_is_harmless_are_left_alone(text: str, complete: Report) -> None:
    first, *rest = complete.results.judgements
    assert rows_of(replace(complete.results, judgements=(replace(first, answer=text), *rest)))[0]["answer"] == text


@pytest.mark.parametrize(
    "answer", ["two\nlines", 'a "quoted" word', "a, b", "a\r\n", "a\rb", "1=1", "  spaces  ", "评分：7.5", "\x00"]
)
def test_an_answer_comes_back_raw(answer: str, complete: Report) -> None:
    first, *rest = complete.results.judgements
    results = replace(complete.results, judgements=(replace(first, answer=answer), *rest))
    rows = rows_of(results)
    assert rows[0]["answer"] == answer
    assert len(rows) == len(results.judgements)


def test_the_seed_is_the_one_the_edit_model_was_given(complete: Report) -> None:
    rows = rows_of(complete.results)
    assert [int(row["seed"]) for row in rows] == [edit.seed for edit in complete.results.edits]


def test_the_file_holds_that_table(incomplete: Report) -> None:
    with incomplete.files.scores.open(encoding="utf-8", newline="") as file:
        assert file.read() == written(incomplete.results)
