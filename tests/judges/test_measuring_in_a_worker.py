"""Judges that measure or replay, each in a real worker process: what they say is what the engine lets pass."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from edit_eval.execution.engine.conversation import Conversation
from edit_eval.plugins.metrics.in_worker.picture_metrics import PictureMetrics
from edit_eval.workers.messages import Message
from judges.tiny_encoders import build
from workers.started_worker import StartedWorker, request


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    """A source, and an edit of another size that differs from it."""
    source, edit = tmp_path / "source.png", tmp_path / "edit.png"
    picture = Image.radial_gradient("L").convert("RGB")
    picture.save(source)
    picture.paste("red", (90, 90, 140, 160))
    picture.resize((128, 128)).save(edit)
    return source, edit


def judged(worker: StartedWorker, *requests: Message) -> Message:
    engine, number = Conversation(), 7
    engine.record_order({"do": "run", "task": number, "kind": "judge", "requests": list(requests)})
    worker.judge(number, *requests)
    said = worker.hear("done", "failed")
    assert engine.accept_message(said)
    return said


def test_pictures_outside_a_mask(pair: tuple[Path, Path], tmp_path: Path) -> None:
    source, edit = pair
    mask = Image.new("L", (256, 256))
    mask.paste(255, (80, 80, 150, 170))
    mask.save(tmp_path / "mask.png")
    asked = request(source, edit, form="measured")
    asked["pictures"].append({"name": "mask", "path": str(tmp_path / "mask.png"), "digest": "", "steps": []})
    pytest.importorskip("skimage")
    with StartedWorker(tmp_path) as worker:
        metrics = worker.load("edit_eval.plugins.metrics.in_worker.picture_metrics:PictureMetrics")
        assert "scikit-image" in metrics["about"]
        (result,) = judged(worker, asked)["results"]
    assert [*result["values"]] == [*PictureMetrics.measures(PictureMetrics.Parameters())]
    assert result["values"]["ssim_outside"] > 0.99 > result["values"]["ssim"]
    assert result["text"] == "against the source; the edit was scaled from 128x128 to 256x256"


@pytest.mark.real_models
@pytest.mark.models
def test_a_batch_of_embeddings(pair: tuple[Path, Path], tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    source, edit = pair
    folder = build(tmp_path / "encoders") / "clip"
    with StartedWorker(tmp_path) as worker:
        embeddings = "edit_eval.plugins.metrics.in_worker.embedding_metrics:EmbeddingMetrics"
        worker.load(embeddings, model_name=str(folder), text_similarity=True)
        results = judged(worker, request(source, edit), request(source, source), request(source, edit, user=""))
    first, same, untold = [result["values"] for result in results["results"]]
    assert same["image_similarity"] == pytest.approx(1)
    assert first["image_similarity"] == pytest.approx(untold["image_similarity"])
    assert first["image_similarity"] < 0.999
    assert [*first] == [*same] == ["image_similarity", "text_similarity"]
    assert [*untold] == ["image_similarity"]


def test_a_row_that_is_missing_fails_alone_and_is_no_fault_of_the_worker(
    pair: tuple[Path, Path], tmp_path: Path
) -> None:
    replies = tmp_path / "replies.csv"
    replies.write_text("sample,edit_model,question,text\nedit,painter,score,7.5\n")
    here = request(*pair, pictures=[])
    with StartedWorker(tmp_path) as worker:
        worker.load("edit_eval.judges.recorded:Recorded", path=str(replies))
        assert judged(worker, here)["results"] == [{"text": "7.5", "final": True}]
        said = judged(worker, {**here, "sample_id": "other"})
    assert said["kind"] == "model"
    assert f"{replies} has no reply for sample 'other', edit model 'painter', question 'score'" in said["error"]
