import csv
import io
import json
import math
from dataclasses import replace

import pytest

from edit_eval.records import Reading, Results, Scale, Scoring, Status
from edit_eval.reporting.scores import CELL, COLUMNS, write_replies, write_scores
from reporting.reported_runs import rescored, unscored
from reporting.reports import Report
from reporting.three_scores import IDENTICAL


def written(results: Results) -> str:
    file = io.StringIO(newline="")
    write_scores(results, file)
    return file.getvalue()


def rows_of(results: Results) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(written(results), newline="")))


def test_scores_have_exactly_these_columns(complete: Report) -> None:
    first = written(complete.results).splitlines()[0]
    assert first == ",".join(COLUMNS)
    columns = "sample_id,category,edit_model,judge,edit_seed,seed,repeat,score_name,status,score,spread"
    assert first == f"{columns},why_no_score,judge_says"


def test_it_has_what_the_judge_said(complete: Report) -> None:
    """Its reason beside a score, else its reply; of several a line each; never more than a cell of a spreadsheet."""
    judgement = complete.results.judgements[0]
    asked = {
        "first": Reading(text="7", reason="sharp, =1"),
        "second": Reading(text="I cannot\nsay", status=Status.REFUSED, reason="it refused"),
        "third": Reading(status=Status.PENDING),
    }
    for readings, words in (
        (({"score": Reading(text="7")},), "7"),
        ((asked,), "first: sharp, =1\nsecond: I cannot\nsay"),
        (({"score": Reading(text="7")}, {"score": Reading(text="8")}), "score: 7\nscore: 8"),
        (({"score": Reading(text="x" * 40_000)},), "x" * (CELL - 1) + "…"),
    ):
        told = replace(complete.results, judgements=(replace(judgement, readings=readings),))
        assert rows_of(told)[0]["judge_says"] == words


def test_one_row_a_judgement_in_their_order(several: Report) -> None:
    rows = rows_of(several.results)
    expected = [
        (judgement.sample_id, judgement.edit_model, judgement.judge) for judgement in several.results.judgements
    ]
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
    results = replace(complete.results, judgements=(rescored(first, score), *rest))
    assert float(rows_of(results)[0]["score"]) == score


@pytest.mark.parametrize(
    "text",
    ["=cmd|'/c calc'!A1", "+1+1", "-2+3", "@SUM(1)", "\t=1", "\r=1", "\n=1", "＝1", "＋1", "－1", "＠x", "-", "-1e"],
)
def test_what_a_spreadsheet_would_run_is_made_a_text(text: str, complete: Report) -> None:
    first, *rest = complete.results.judgements
    hostile = replace(
        unscored(first, Status.UNPARSEABLE, text),
        headline=text,
        sample_id=text,
        category=text,
        edit_model=text,
        judge=text,
    )
    scoring = {**complete.results.scoring, text: Scoring(protocol="p", headline=text, scales={text: Scale()})}
    row = rows_of(replace(complete.results, judgements=(hostile, *rest), scoring=scoring))[0]
    texts = ("sample_id", "category", "edit_model", "judge", "score_name", "why_no_score")
    assert {row[name] for name in texts} == {f"'{text}"}


@pytest.mark.parametrize("text", ["-1.5", "+7", "-3", "-.5", "-1e3", "a=1", "'1"])
def test_a_number_and_what_is_harmless_are_left_alone(text: str, complete: Report) -> None:
    first, *rest = complete.results.judgements
    failed = unscored(first, Status.UNPARSEABLE, text)
    assert rows_of(replace(complete.results, judgements=(failed, *rest)))[0]["why_no_score"] == text


@pytest.mark.parametrize(
    "reason", ["two\nlines", 'a "quoted" word', "a, b", "a\r\n", "a\rb", "1=1", "  spaces  ", "评分：7.5", "\x00"]
)
def test_a_reason_comes_back_raw(reason: str, complete: Report) -> None:
    first, *rest = complete.results.judgements
    results = replace(complete.results, judgements=(unscored(first, Status.UNPARSEABLE, reason), *rest))
    rows = rows_of(results)
    assert rows[0]["why_no_score"] == reason
    assert len(rows) == len(results.judgements)


def test_the_seed_is_the_one_the_edit_model_was_given(complete: Report) -> None:
    rows = rows_of(complete.results)
    assert [int(row["seed"]) for row in rows] == [edit.seed for edit in complete.results.edits]


def test_the_file_holds_that_table(incomplete: Report) -> None:
    with (incomplete.folder / "scores.csv").open(encoding="utf-8", newline="") as file:
        assert file.read() == written(incomplete.results)


def test_a_row_for_each_score_that_applies(three_scores: Report) -> None:
    rows = rows_of(three_scores.results)
    some = [row for row in rows if row["judge"] == "three" and row["edit_model"] == "first"]
    assert [row["score_name"] for row in some] == ["quality", "drift", "psnr"] * 30
    undefined = [row for row in some if row["status"] == "undefined"]
    assert undefined
    assert {(row["score_name"], row["score"], row["why_no_score"]) for row in undefined} == {("psnr", "", IDENTICAL)}
    first, *rest = three_scores.results.judgements
    without = replace(first, scores={name: value for name, value in first.scores.items() if name != "drift"})
    fewer = rows_of(replace(three_scores.results, judgements=(without, *rest)))
    assert len(fewer) == len(rows) - 1, "a score that does not apply has no row"


def test_every_reply_that_counts_is_a_line(three_scores: Report) -> None:
    file = io.StringIO()
    write_replies(three_scores.results, file)
    lines = [json.loads(line) for line in file.getvalue().splitlines()]
    expected = [
        (
            judgement.sample_id,
            judgement.edit_model,
            judgement.judge,
            question,
            answer.status.value,
            answer.values,
            answer.text,
        )
        for judgement in three_scores.results.judgements
        for reading in judgement.readings
        for question, answer in reading.items()
    ]
    keys = ("sample", "edit_model", "judge", "question", "status", "values", "text")
    assert [tuple(line[key] for key in keys) for line in lines] == expected
    assert {line["question"] for line in lines} == {"quality", "drift", "fidelity", "score"}
    assert (three_scores.folder / "replies.jsonl").read_text(encoding="utf-8") == file.getvalue()
