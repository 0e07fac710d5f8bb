"""Judges that measure and one that replays, side by side in one run, each with its own protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from edit_eval import evaluate
from edit_eval.pictures import open_picture
from edit_eval.records import Judgement, Status
from edit_eval.run import Run
from judges.tiny_encoders import build
from late_imports import Late
from small_benchmark import configuration, sample_id, write_benchmark

numpy = pytest.importorskip("numpy")
Late("skimage")
Late("transformers")

COUNT = 3
CPU = {"device_ids": "cpu:1"}


def write_replies(path: Path, scores: dict[int, str]) -> None:
    rows = [f"{sample_id(number)},tinted,score,Score: {score}" for number, score in scores.items()]
    path.write_text("\n".join(["sample,edit_model,question,text", *rows]), "utf-8")


def settings(folder: Path) -> dict[str, Any]:
    write_benchmark(folder, COUNT)
    made = configuration(folder, execution={"pilot": False})
    del made["diffusion_model"], made["reward_model"]
    made["edit_models"] = {"same": {"type": "copy_source", "params": CPU}, "tinted": {"type": "testing", "params": CPU}}
    clip = {"model_name": str(build(folder / "encoders") / "clip"), "batch_size": 2, **CPU}
    made["judges"] = {
        "pixels": {"type": "picture_metrics", "params": CPU},
        "clip": {"type": "embedding_metrics", "params": clip},
        "people": {"type": "recorded", "params": {"path": str(folder / "replies.csv"), **CPU}},
    }
    return made


def judged(run: Run, judge: str, edit_model: str) -> list[Judgement]:
    return [
        judgement
        for judgement in run.results.judgements
        if (judgement.judge, judgement.edit_model) == (judge, edit_model)
    ]


@pytest.mark.check
@pytest.mark.real_models
def test_three_judges_of_three_protocols(tmp_path: Path) -> None:
    asked = settings(tmp_path)
    write_replies(tmp_path / "replies.csv", {0: "1.000", 1: "2.500"})
    run = evaluate(asked, run_dir=tmp_path / "run", report=False)
    assert {name: (of.protocol, of.headline) for name, of in run.results.scoring.items()} == {
        "pixels": ("numbers", "l1"),
        "clip": ("numbers", "image_similarity"),
        "people": ("rubric", "score"),
    }
    assert run.results.controls == ()  # nothing of that kind is asked of judges that measure or replay

    for judgement in judged(run, "pixels", "same"):
        assert judgement.scores == {"l1": 0, "l2": 0, "ssim": pytest.approx(1)}
        assert judgement.missing["psnr"][0] is Status.UNDEFINED
        assert "the pictures are identical" in judgement.missing["psnr"][1]
    assert [judgement.score for judgement in judged(run, "clip", "same")] == [pytest.approx(1)] * COUNT
    sources = {sample.id: sample.source for sample in run.results.samples}
    edits = {edit.sample_id: edit.image for edit in run.results.edits if edit.edit_model == "tinted"}
    for judgement in judged(run, "pixels", "tinted"):
        x, y = (
            numpy.asarray(open_picture(path)) / 255
            for path in (sources[judgement.sample_id], run.path / edits[judgement.sample_id])
        )
        assert judgement.scores["l1"] == pytest.approx(numpy.abs(x - y).mean())
        assert judgement.scores["psnr"] == pytest.approx(-10 * numpy.log10(numpy.square(x - y).mean()))
        assert not judgement.missing

    assert [judgement.score for judgement in judged(run, "people", "tinted")] == [1.0, 2.5, None]
    lacking = [judged(run, "people", "tinted")[2], *judged(run, "people", "same")]
    assert [judgement.status for judgement in lacking] == [Status.JUDGE_ERROR] * 4
    assert f"has no reply for sample '{sample_id(2)}', edit model 'tinted', question 'score'" in lacking[0].reason

    result = next(result for result in run.summary.results if (result.edit_model, result.judge) == ("same", "pixels"))
    assert (result.scores["l1"].mean, result.scores["psnr"].mean) == (0, None)
    assert result.scores["psnr"].coverage.scored == 0
    assert result.coverage.scored == COUNT

    write_replies(tmp_path / "replies.csv", {0: "1.000", 1: "3.500", 2: "4.000"})
    again = evaluate(asked, run_dir=tmp_path / "run", report=False)
    assert [judgement.score for judgement in judged(again, "people", "tinted")] == [1.0, 3.5, 4.0]
    assert judged(again, "clip", "tinted") == judged(run, "clip", "tinted")
