"""Faces by OpenCV's own reader of YuNet and SFace; the models are tiny, and their answers are worked out with numpy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest
from PIL import Image

from documents import plain
from edit_eval import evaluate
from edit_eval.errors import ConfigurationError, LoadError, ModelError
from edit_eval.judges.contract import JudgeRequest
from edit_eval.plugins.metrics.in_worker.face_metrics import FaceMetrics
from edit_eval.records import Reply, Status
from judges.tiny_faces import build, embedding, picture
from late_imports import needs
from small_benchmark import configuration

needs("cv2", "onnx")

HERE, THERE = (100, 108), (284, 124)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    detector, embedder = build(tmp_path_factory.mktemp("faces"))
    return {"detector": str(detector), "embedder": str(embedder)}


def loaded(**parameters: Any) -> FaceMetrics:
    judge = FaceMetrics(FaceMetrics.Parameters(**parameters))
    judge.prepare()
    judge.load(["cpu"])
    return judge


@pytest.fixture(scope="module")
def judge(models: dict[str, str]) -> FaceMetrics:
    return loaded(**models)


def measured(judge: FaceMetrics, source: Image.Image, edit: Image.Image) -> Reply:
    (reply,) = judge.judge([JudgeRequest(user="", pictures={"source": source, "edit": edit}, form="measured")])
    return reply


def cosine(first: Any, second: Any) -> float:
    return float(first @ second / numpy.linalg.norm(first) / numpy.linalg.norm(second))


def test_the_cosine_is_that_of_the_two_faces(judge: FaceMetrics) -> None:
    source, edit = picture(1, HERE), picture(2, THERE)
    reply = measured(judge, source, edit)
    wanted = cosine(embedding(source, HERE), embedding(edit, THERE))
    assert reply.values == {
        "source_faces": 1,
        "face_count_change": 0,
        "face_lost": 0,
        "face_identity": pytest.approx(wanted, abs=1e-5),
    }
    assert reply.values["face_identity"] < 0.9999
    assert measured(judge, source, source).values["face_identity"] == pytest.approx(1)


def test_of_several_faces_the_most_alike_counts(judge: FaceMetrics) -> None:
    source = picture(1, HERE)
    both = picture(2, HERE, THERE)
    both.paste(source.crop((44, 52, 156, 164)), (228, 68))
    reply = measured(judge, source, both)
    assert reply.values["face_identity"] == pytest.approx(1)
    assert (reply.values["face_count_change"], reply.text) == (1, "faces: 1 in the source, 2 in the edit")


def test_a_large_picture_is_scaled_to_be_searched_and_embedded_as_it_is(models: dict[str, str]) -> None:
    """At a quarter of the size the face around the red block is four times as large as it would be."""
    large = picture(1, size=(1280, 960))
    large.paste((255, 0, 0), (632, 472, 680, 520))
    reply = measured(loaded(**models, longest_side=320), large, large)
    assert reply.values["face_identity"] == pytest.approx(1)
    face = large.crop((656 - 224, 496 - 224, 656 + 224, 496 + 224)).resize((112, 112), Image.Resampling.BOX)
    fields = numpy.asarray(face, dtype=float).reshape(4, 28, 4, 28, 3).mean((1, 3)).transpose(2, 0, 1).ravel()
    other = picture(3, HERE)
    change = measured(loaded(**models, longest_side=320), other, large).values["face_count_change"]
    assert change == 1  # of the small one the block is too small to be seen at that size
    small = picture(3, HERE, size=(320, 240))
    alike = measured(loaded(**models, longest_side=320), small, large).values["face_identity"]
    assert alike == pytest.approx(cosine(embedding(small, HERE), fields), abs=0.01)


def test_what_is_no_model_is_refused(models: dict[str, str], tmp_path: Path) -> None:
    text = tmp_path / "text.onnx"
    text.write_text("no model")
    with pytest.raises(LoadError, match=r"cannot use .*text\.onnx as YuNet"):
        loaded(detector=str(text), embedder=models["embedder"])
    with pytest.raises(LoadError, match=r"cannot use .*embedder\.onnx as YuNet"):
        loaded(detector=models["embedder"], embedder=models["embedder"])
    with pytest.raises(LoadError, match=r"cannot use .*gone\.onnx as SFace"):
        loaded(detector=models["detector"], embedder=str(tmp_path / "gone.onnx"))
    with pytest.raises(ConfigurationError, match=r"embedder: there is no file .*gone\.onnx"):
        FaceMetrics.revision(FaceMetrics.Parameters(detector=models["detector"], embedder=str(tmp_path / "gone.onnx")))
    with pytest.raises(LoadError, match="not loaded"):
        measured(FaceMetrics(FaceMetrics.Parameters(**models)), picture(1), picture(1))
    with pytest.raises(ModelError, match="not given the picture `edit`"):
        loaded(**models).judge([JudgeRequest(user="", pictures={"source": picture(1)})])


def run(folder: Path, models: dict[str, str], pairs: dict[str, tuple[Image.Image, Image.Image]]) -> Any:
    """An evaluation of finished edits of these sources."""
    edits = folder / "edits"
    edits.mkdir(parents=True)
    rows = ["id,image,instruction"]
    for name, (source, edit) in pairs.items():
        source.save(folder / f"{name}.png")
        edit.save(edits / f"{name}.png")
        rows.append(f"{name},{name}.png,smile")
    (folder / "rows.csv").write_text("\n".join(rows))
    asked = configuration(folder, execution={"pilot": False, "progress": "plain"})
    for key in ("diffusion_model", "reward_model", "benchmark"):
        asked.pop(key, None)
    asked["benchmark"] = str(folder / "rows.csv")
    painter = {"folder": str(edits), "device_ids": "cpu:1"}
    asked["edit_models"] = {"painter": {"type": "image_folder", "params": painter}}
    asked["judges"] = {"faces": {"type": "face_metrics", "params": {**models, "device_ids": "cpu:1"}}}
    return evaluate(asked, run_dir=folder / "run", report=False)


def test_in_a_run_no_face_does_not_apply_and_a_lost_one_is_named(
    models: dict[str, str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with_one, without = picture(1, HERE), picture(4)
    pairs = {"kept": (with_one, with_one), "lost": (with_one, without), "none": (without, without)}
    pairs["made_up"] = (without, picture(2, THERE))
    made = run(tmp_path, models, pairs)
    by_sample = {judgement.sample_id: judgement for judgement in made.results.judgements}
    assert by_sample["kept"].scores == {"face_identity": pytest.approx(1), "face_lost": 0, "face_count_change": 0}
    assert by_sample["lost"].scores == {"face_lost": 1, "face_count_change": 1}
    assert by_sample["lost"].missing == {"face_identity": (Status.UNDEFINED, "a face in the source, none in the edit")}
    for name, change in (("none", 0), ("made_up", 1)):
        assert (by_sample[name].scores, dict(by_sample[name].missing)) == ({"face_count_change": change}, {})
        assert (by_sample[name].status, by_sample[name].headline) == (Status.OK, "face_count_change")
    (result,) = plain(made.summary.results)
    coverage = {name: score["coverage"] for name, score in result["scores"].items()}
    assert {name: (counts["scored"], counts["total"]) for name, counts in coverage.items()} == {
        "face_identity": (1, 2),
        "face_lost": (2, 2),
        "face_count_change": (4, 4),
    }
    assert (result["coverage"]["scored"], result["coverage"]["total"]) == (1, 2)
    assert result["scores"]["face_lost"]["mean"] == 0.5
    assert "1/2 scored" in capfd.readouterr().err, "progress counts as the table does"


def test_where_no_source_has_a_face_nothing_is_said_of_it(models: dict[str, str], tmp_path: Path) -> None:
    made = run(tmp_path, models, {"a": (picture(1), picture(2)), "b": (picture(3), picture(4))})
    (result,) = plain(made.summary.results)
    assert result["scores"]["face_identity"]["mean"] is None
    assert "face_lost" not in result["scores"]
    assert result["scores"]["face_count_change"]["mean"] == 0
