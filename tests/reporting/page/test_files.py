import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from edit_eval.records import Results, Status
from edit_eval.reporting.page import files
from edit_eval.reporting.page.files import write_report
from edit_eval.statistics.summary import summarise
from reporting.reported_runs import RUBRIC, unscored
from reporting.reports import Report


def test_the_files_lie_in_the_folder(complete: Report) -> None:
    folder = Path(complete.results.directory) / "report"
    assert sorted(path.name for path in folder.iterdir() if path.is_file()) == [
        "index.html",
        "replies.jsonl",
        "report.md",
        "scores.csv",
        "summary.json",
    ]
    assert complete.folder / "index.html" == folder / "index.html"


def test_the_summary_is_written_as_it_came(incomplete: Report) -> None:
    assert json.loads((incomplete.folder / "summary.json").read_text(encoding="utf-8")) == incomplete.summary


def test_half_a_surrogate_pair_does_not_stop_the_report(complete: Report, tmp_path: Path) -> None:
    first, *rest = complete.results.judgements
    broken = unscored(first, Status.UNPARSEABLE, "no number in \ud800")
    write_report(replace(complete.results, judgements=(broken, *rest)), complete.summary, tmp_path)
    for name in ("scores.csv", "replies.jsonl", "index.html"):
        assert "\\ud800" in (tmp_path / name).read_text(encoding="utf-8")


def test_the_same_run_gives_the_same_bytes(several: Report) -> None:
    before = {path.name: path.read_bytes() for path in several.folder.iterdir() if path.is_file()}
    write_report(several.results, several.summary, several.folder)
    assert {path.name: path.read_bytes() for path in several.folder.iterdir() if path.is_file()} == before


def test_a_report_that_fails_leaves_the_old_one_whole(
    complete: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_report(complete.results, complete.summary, tmp_path)
    old = (tmp_path / "index.html").read_bytes()

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
    results = Results(
        name="empty",
        directory=str(tmp_path),
        samples=(),
        edits=(),
        judgements=(),
        edit_models=("model",),
        judges=("judge",),
        scoring={"judge": RUBRIC},
    )
    write_report(results, summarise(results), tmp_path)
    assert len((tmp_path / "scores.csv").read_text(encoding="utf-8").splitlines()) == 1
    assert "0 of 0 scored" in (tmp_path / "report.md").read_text(encoding="utf-8")
    assert (tmp_path / "index.html").stat().st_size > 0
