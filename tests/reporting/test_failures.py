"""One count of failures for status, page, Markdown and terminal."""

from collections import Counter
from dataclasses import replace
from typing import Any

from edit_eval.records import JUDGE_FAILED, Status
from edit_eval.reporting.page.charts import charts
from edit_eval.reporting.page.files import markdown
from edit_eval.reporting.results_sheet import coverage_words
from edit_eval.reporting.status import status_document
from edit_eval.statistics.failures import failures
from reporting.reports import Report


def test_each_failure_is_counted_once(incomplete: Report) -> None:
    counted = failures(incomplete.results)
    ended = [one for one in incomplete.results.judgements if one.status not in (Status.OK, Status.PENDING)]
    assert sum(failure.count for failure in counted) == len(ended) > 5
    for of_edits in (True, False):
        counts = [failure.count for failure in counted if (not failure.judge) == of_edits]
        assert counts == sorted(counts, reverse=True)


def test_a_complete_run_has_none(complete: Report) -> None:
    assert failures(complete.results) == []


def test_a_failed_edit_counts_once_whatever_judges_would_have_seen_it(several: Report) -> None:
    results = several.results
    assert len(results.judges) == 2
    failed = sum(edit.status is Status.EDIT_FAILED for edit in results.edits)
    unjudged = sum(one.status is Status.EDIT_FAILED for one in results.judgements)
    assert unjudged == 2 * failed > 0
    mute = sum(one.status in JUDGE_FAILED for one in results.judgements)
    expected = {"edits": failed, "judgements": mute}

    def of(pairs: list[tuple[bool, int]]) -> dict[str, int]:
        counts: Counter[str] = Counter()
        for is_edit, count in pairs:
            counts["edits" if is_edit else "judgements"] += count
        return dict(counts)

    document = status_document(results)
    assert of([(not one["judge"], one["count"]) for one in document["failures"]]) == expected
    [chart] = charts(results, several.summary, "en")["failures"]
    rows: list[dict[str, Any]] = next(iter(chart["datasets"].values()))
    assert of([(row["status"] == "edit failed", row["count"]) for row in rows]) == expected
    table = markdown(results, several.summary, "en").split("## Failures by reason")[1].split("##")[0]
    lines = [line.split(" | ") for line in table.splitlines() if line.startswith("| ") and line[2].isdigit()]
    assert of([(cells[3] == "edit failed", int(cells[0].strip("| "))) for cells in lines]) == expected
    # Coverage counts judgements, of which those without an edit have not failed.
    assert f"{unjudged} no edit to judge" in " ".join(coverage_words(several.summary))
    assert ">no edit to judge</span>" in several.html
    assert "edit failed" not in several.html.split('id="results"')[1].split('id="breakdown"')[0]


ASIDE = "failed 2 times; the last time: {} is gone"


def test_a_skipped_sample_counts_once(complete: Report) -> None:
    bad = replace(complete.results.samples[0], fault="the image ends in the middle")
    results = replace(complete.results, samples=(bad, *complete.results.samples[1:]))
    [found] = failures(results)
    assert (found.status, found.reason, found.count) == (Status.SKIPPED, "the image ends in the middle", 1)
    assert (found.edit_model, found.judge, found.samples) == ("", "", [bad.id])


def test_a_number_is_no_name_of_a_sample(incomplete: Report) -> None:
    edits = tuple(
        replace(edit, sample_id=str(number), status=Status.EDIT_FAILED, image="", reason=f"12 GiB for {number}")
        for number, edit in enumerate(incomplete.results.edits[:4])
    )
    [found] = failures(replace(incomplete.results, samples=(), edits=edits, judgements=()))
    assert (found.reason, found.count) == ("12 GiB for <sample>", 4)


def test_equal_reasons_that_name_their_sample_are_one(incomplete: Report) -> None:
    edits = tuple(
        replace(edit, status=Status.EDIT_FAILED, image="", reason=ASIDE.format(edit.sample_id))
        for edit in incomplete.results.edits[:7]
    )
    [found] = failures(replace(incomplete.results, edits=edits, judgements=()))
    assert (found.reason, found.count, found.set_aside) == ("<sample> is gone", 7, True)
