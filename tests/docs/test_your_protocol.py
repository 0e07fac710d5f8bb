"""`docs/your-protocol.md`: its protocol with a judge that says what it was told, and with one that has real weights."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console

from documented_blocks import DOCS, blocks
from drawn_pages import unpack_page
from edit_eval import evaluate
from edit_eval.errors import BenchmarkError
from edit_eval.judges.answers import LEAST_MASS
from edit_eval.plugins.preparation.requests import plan
from edit_eval.plugins.status.sheet import print_sample
from edit_eval.records import Status
from edit_eval.run import Run
from faults.faulty_runs import Ears, lines
from small_benchmark import configuration, sample_id

FILES = {block.file: block.text for block in blocks(DOCS / "your-protocol.md") if block.file}


def written(folder: Path, *changes: tuple[str, str], **params: Any) -> dict[str, Any]:
    """Nine samples; the judge says of the first four that they were not followed, of the fifth nothing readable."""
    text = FILES["careful.py"]
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "careful.py").write_text(text, "utf-8")
    answers = {f"{sample_id(n)}#followed": '{"followed": 2}' for n in range(4)}
    answers[f"{sample_id(4)}#followed"] = "I like it."
    more = {"execution": {"pilot": False, "progress": "none"}, "evaluation": {"controls": 2, "min_coverage": 0.5}}
    made = configuration(folder, edit={"device_ids": "cpu:1"}, judge={"answers": answers, "batch_size": 3}, **more)
    made["protocol"] = {"class_path": f"{folder}/careful.py:Careful"}
    return made


def run(folder: Path, *changes: tuple[str, str]) -> Run:
    return evaluate(written(folder, *changes), run_dir=folder / "run", report=False, spectator=Ears())


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return run(tmp_path_factory.mktemp("careful"))


def asked(made: Run) -> dict[str, list[str]]:
    """Of which samples each question was asked, controls apart."""
    by_question: dict[str, list[str]] = {}
    for line in lines(made.path, "replies"):
        if not line["edit_model"].startswith("control:"):
            by_question.setdefault(line["question"], []).append(line["sample"])
    return {question: sorted(set(of)) for question, of in by_question.items()}


def test_a_question_is_asked_only_after_an_answer(made: Run) -> None:
    every = [sample_id(n) for n in range(9)]
    assert asked(made) == {"followed": every, "real": every, "kept": every[5:]}
    by_sample = {judgement.sample_id: judgement for judgement in made.results.judgements}
    left, unread, kept = (by_sample[sample_id(n)] for n in (0, 4, 5))
    assert left.status is Status.OK
    assert left.outcome("kept") is None, "it does not apply"
    assert not left.readings[0]["kept"].applies
    assert left.scores == pytest.approx({"overall": 0.0, "followed": 2.0, "real": 0.5})
    assert {name: status for name, (status, _) in unread.missing.items()} == dict.fromkeys(
        ("overall", "followed", "kept"), Status.UNPARSEABLE
    )
    assert unread.missing["kept"] == unread.missing["followed"], "nobody knows whether it would have been asked"
    assert kept.scores == pytest.approx({"overall": 0.5 * 0.5 * 0.5, "followed": 3.0, "real": 0.5, "kept": 5.0})


def test_coverage_counts_what_was_to_be_asked(made: Run) -> None:
    [entry] = made.summary.results
    counts = {name: (of.coverage.scored, of.coverage.total) for name, of in entry.scores.items()}
    assert counts == {"overall": (8, 9), "followed": (8, 9), "real": (9, 9), "kept": (4, 5)}
    assert entry.coverage.total == 9


def test_what_was_not_asked_is_shown_as_such(made: Run) -> None:
    shown = io.StringIO()
    print_sample(made.results, sample_id(0), Console(file=shown, width=100))
    assert "not asked: an earlier answer rules it out" in shown.getvalue()
    made.write_report()
    replies = [json.loads(line) for line in (made.path / "report" / "replies.jsonl").read_text("utf-8").splitlines()]
    assert not [reply for reply in replies if (reply["sample"], reply["question"]) == (sample_id(0), "kept")]
    page = unpack_page(made.page.read_text("utf-8"))
    assert '"applies": false' in page or '"applies":false' in page


def test_it_goes_on_and_asks_nothing_twice(made: Run, tmp_path: Path) -> None:
    again = run(tmp_path)
    (journal,) = (again.path / "replies").glob("*.jsonl")
    whole = journal.read_text("utf-8").splitlines(keepends=True)
    for kept in (0, 5, 25):
        for path in (again.path / "replies").glob("*.jsonl"):
            path.unlink()
        journal.write_text("".join(whole[:kept]), "utf-8")
        again = run(tmp_path)
        assert asked(again) == asked(made)
        assert [judgement.scores for judgement in again.results.judgements] == [
            judgement.scores for judgement in made.results.judgements
        ]
        told = [(line["key"], line["sample"], line["edit_model"], line["ask"]) for line in lines(again.path, "replies")]
        assert len(told) == len(set(told)), "nothing was asked twice"
        assert {key for key, *_ in told} == {line["key"] for line in lines(made.path, "replies")}


def test_a_changed_condition_asks_only_what_is_new(tmp_path: Path) -> None:
    first = run(tmp_path)
    before = len(lines(first.path, "replies"))
    more = run(tmp_path, ('values["followed"] >= 3', 'values["followed"] >= 2'))
    new = lines(first.path, "replies")[before:]
    assert {line["question"] for line in new} == {"kept"}
    assert {line["sample"] for line in new if line["edit_model"] == "fake"} <= {sample_id(n) for n in range(4)}
    assert more.summary.results[0].scores["kept"].coverage.total == 9
    fewer = run(tmp_path, ('values["followed"] >= 3', 'values["followed"] >= 4'))
    assert len(lines(first.path, "replies")) == before + len(new)
    assert fewer.summary.results[0].scores["kept"].coverage.scored == 0
    broken = run(tmp_path, ('values["followed"] >= 3', 'values["nobody"] >= 3'))
    status, reason = next(
        judgement.missing["kept"] for judgement in broken.results.judgements if "overall" not in judgement.scores
    )
    assert (status, reason) == (Status.UNDEFINED, "its `when` fails (KeyError: 'nobody')")


def test_plan_says_that_not_all_may_be_asked(tmp_path: Path) -> None:
    notes = plan(written(tmp_path)).notes
    assert any("this plan asks all of them" in note for note in notes)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("of=overall)", 'of=overall, needs=("followed", "kept"))'), "that is not always asked"),
        (('                after=("followed",),\n', ""), "has a `when`, but comes after no other"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    with pytest.raises(BenchmarkError, match=said):
        run(tmp_path, change)


@pytest.mark.models
def test_the_page_with_real_weights(tiny_judges: Path, tmp_path: Path) -> None:
    """Tiny weights, held to the schema and to the labels; what they mean is nothing, but all is asked for real."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, "utf-8")
    made = yaml.safe_load(FILES["careful.yaml"])
    made["benchmark"]["cache_dir"] = str(tmp_path / "cache")
    made["protocol"]["class_path"] = f"{tmp_path}/careful.py:Careful"
    made["judges"]["qwen35"]["params"] |= {"model_name": str(tiny_judges / "qwen3.5"), "device_ids": "cpu:1"}
    made["evaluation"]["min_coverage"] = 0.0
    evaluated = evaluate(made, run_dir=tmp_path / "run", spectator=Ears())
    for judgement in evaluated.results.judgements:
        first, real, kept = (judgement.readings[0][name] for name in ("followed", "real", "kept"))
        assert first.status is Status.OK, "it was held to the schema"
        assert first.values["followed"] in (1, 2, 3, 4, 5)
        assert kept.applies == (first.values["followed"] >= 3)
        assert (kept.asked > 0) == kept.applies
        assert real.mass is not None
        assert (real.status is Status.OK) == (real.mass >= LEAST_MASS)
