from edit_eval.records import Status
from edit_eval.reporting.failures import failures
from reporting.reports import Report


def test_each_failure_is_counted_once(incomplete: Report) -> None:
    counted = failures(incomplete.results)
    ended = [one for one in incomplete.results.judgements if one.status not in (Status.OK, Status.PENDING)]
    assert sum(failure.count for failure in counted) == len(ended) > 5
    assert [failure.count for failure in counted] == sorted((failure.count for failure in counted), reverse=True)


def test_a_complete_run_has_none(complete: Report) -> None:
    assert failures(complete.results) == []
