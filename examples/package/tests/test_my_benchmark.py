"""What the author of a package tests: no GPU, no weights, no server. `pip install . pytest`, then `pytest`.

Everything comes from edit-eval itself: edit models that do nothing (`copy_source`, `blank`), models that answer or fail
as they are told to (`testing`), and `evaluate`, which starts the workers that a real run has.
"""

from pathlib import Path
from typing import Any

from edit_eval import evaluate

WITHOUT_GPU = {"device_ids": "cpu:1"}


def configuration(folder: Path, **more: Any) -> dict[str, Any]:
    """Two edit models whose order is known: nothing is darker than a blank picture, and a copy has changed nothing."""
    return {
        "benchmark": {"type": "my_benchmark", "folder": str(folder / "squares")},
        "edit_models": {name: {"type": name, "params": WITHOUT_GPU} for name in ("copy_source", "blank")},
        "judges": {name: {"type": name, "params": WITHOUT_GPU} for name in ("my_judge", "my_measure")},
        "evaluation": {"controls": 0},
        "execution": {"pilot": False},
        **more,
    }


def test_numbers_are_what_they_should_be(tmp_path: Path) -> None:
    run = evaluate(configuration(tmp_path), run_dir=tmp_path / "run", report=False)
    scores = {(row.edit_model, row.judge, row.sample_id): row.score for row in run.results.judgements}
    assert len(scores) == 2 * 2 * 6
    assert scores["copy_source", "my_judge", "square-0"] == 0, "nothing has become darker"
    assert scores["copy_source", "my_measure", "square-0"] == 0, "nothing has changed"
    assert scores["blank", "my_measure", "square-0"] > 0


def test_what_is_done_is_not_done_again(tmp_path: Path) -> None:
    """Cut a journal as `kill -9` does, and start again: keys that change from start to start would ask all anew."""
    first = evaluate(configuration(tmp_path), run_dir=tmp_path / "run", report=False)
    (journal,) = (tmp_path / "run" / "replies").glob("*.jsonl")
    whole = journal.read_bytes()
    journal.write_bytes(whole[: len(whole) // 2])
    again = evaluate(configuration(tmp_path), run_dir=tmp_path / "run", report=False)
    assert again.results.judgements == first.results.judgements
    asked = sum(file.read_bytes().count(b"\n") for file in (tmp_path / "run" / "replies").glob("*.jsonl"))
    assert asked - whole.count(b"\n") <= 1, "the line that was cut is the only one that is there twice"


def test_an_answer_that_is_none_is_no_score(tmp_path: Path) -> None:
    judge = {"type": "testing", "params": {**WITHOUT_GPU, "default_answer": "Splendid!"}}
    answered = configuration(tmp_path, judges={"chatty": judge}, protocol={"type": "my_protocol"})
    run = evaluate(answered, run_dir=tmp_path / "run", report=False)
    assert {(row.status.value, row.score) for row in run.results.judgements} == {("unparseable", None)}
