"""Audits of a server with a planted fault, and of tiny real judges: minutes, so only `make models` runs them."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from edit_eval.benchmarks.contract import AUDIT
from edit_eval.pictures import open_picture, pixel_digest
from edit_eval.plugins.audit.on_trial import EXCHANGED
from edit_eval.plugins.audit.trial import Audit, audit
from edit_eval.plugins.scenes.in_worker.benchmark import picture_of
from edit_eval.plugins.scenes.in_worker.judge import assess, score
from edit_eval.plugins.scenes.in_worker.ladder import Ladder
from edit_eval.plugins.scenes.in_worker.language import read
from edit_eval.plugins.scenes.in_worker.scene import Scene, scene_of
from edit_eval.records import Sample
from judge_server import Asked, JudgeServer

pytestmark = pytest.mark.models

SCENES, SIZE = 18, 192  # fewer have no eight scenes of each kind of dose, and then nobody passes


class Knowing:
    """What stands behind the server: it knows the scenes by their pixels, and what was asked by its words."""

    def __init__(self, folder: Path, scenes: int = SCENES) -> None:
        parameters = Ladder.Parameters(scenes=scenes, size=SIZE, cache_dir=str(folder))
        self.samples: list[Sample] = list(Ladder(parameters).samples())
        self.sources: dict[str, Scene] = {}
        for sample in self.samples:
            if sample.source not in self.sources.values():
                source = open_picture(sample.source)
                self.sources.setdefault(pixel_digest(source), scene_of(source, "test"))
        self.by_words = {text: sample for sample in self.samples for text in sample.instructions.values()}
        self.tinge = 0.0
        """Points that it gives less."""

    def answer(self, fault: Callable[[Seen], float]) -> Callable[[Asked], str]:
        return lambda asked: "ok" if asked.is_canary else f"{max(0.0, fault(self._seen(asked)) - self.tinge):.3f}"

    def _seen(self, asked: Asked) -> Seen:
        pictures = [Image.open(io.BytesIO(data)).convert("RGB") for data in asked.images]
        exchanged = any(words in asked.text for words in EXCHANGED.values())
        source, edit = pictures[::-1] if exchanged else pictures
        words = max((text for text in self.by_words if text in asked.text), key=len)
        return Seen(self.sources[pixel_digest(source)], source, edit, words, self.by_words[words].category, exchanged)


class Seen:
    """One question, understood."""

    def __init__(self, scene: Scene, source: Any, edit: Any, words: str, category: str, exchanged: bool) -> None:
        self.scene, self.source, self.edit, self.exchanged = scene, source, edit, exchanged
        self.words, self.category = words, category

    def score(self) -> float:
        return score(assess(self.scene, read(self.words), self.category, self.edit).shares)


def faultless(seen: Seen) -> float:
    return seen.score()


def blind_to_colour(seen: Seen) -> float:
    """Takes any edit of a colour that changed something in the right place for the right one."""
    points = seen.score()
    return 9.0 if read(seen.words).action in ("recolour", "dress") and points > 3.0 else points


def loves_the_left_picture(seen: Seen) -> float:
    return min(10.0, seen.score() + 3.0 * seen.exchanged)


def believes_written_words(seen: Seen) -> float:
    """A white label at the top left, which no scene has."""
    label = [seen.edit.getpixel((x, 1)) for x in range(4)]
    return 10.0 if all(pixel == (255, 255, 255) for pixel in label) else seen.score()


PLANTED = {
    "faultless": (faultless, set()),
    "blind to colour": (blind_to_colour, {"dose_hue"}),
    "loves the left picture": (loves_the_left_picture, {"position"}),
    "believes written words": (believes_written_words, {"words_en", "words_zh"}),
}


@pytest.fixture(scope="module")
def knowing(tmp_path_factory: pytest.TempPathFactory) -> Knowing:
    return Knowing(tmp_path_factory.mktemp("scenes"))


def served(server: JudgeServer, folder: Path, **more: Any) -> Audit:
    pytest.importorskip("openai")
    parameters = {"device_ids": "cpu:1", "model": "my-judge", "base_url": server.base_url, "concurrency": 4}
    configuration = {
        "benchmark": {"type": "scenes"},
        "edit_models": {"mine": {"type": "scene_editor"}},
        "judges": {"judge": {"type": "chat_endpoint", "params": parameters}},
        "execution": {"progress": "none"},
    }
    options = {"scenes": SCENES, "size": SIZE, "seed": Ladder.Parameters().seed, **more}
    return audit(configuration, run_dir=folder / "run", folder=folder / "passports", **options)


@pytest.mark.parametrize("name", PLANTED)
@pytest.mark.timeout(1200)
def test_a_planted_fault_is_named_and_no_other(knowing: Knowing, tmp_path: Path, name: str) -> None:
    fault, named = PLANTED[name]
    with JudgeServer(knowing.answer(fault)) as server:
        passport = served(server, tmp_path).passport
    assert set(passport.failures) == named
    assert passport.verdict == ("limited" if named else "passed")


@pytest.mark.timeout(600)
def test_a_judge_that_drifts_between_two_days_passes_twice_and_its_anchors_tell(tmp_path: Path) -> None:
    knowing = Knowing(tmp_path / "scenes", scenes=5)
    with JudgeServer(knowing.answer(faultless)) as server:
        first = served(server, tmp_path / "first", scenes=5).passport
        knowing.tinge = 0.4
        second = served(server, tmp_path / "second", scenes=5).passport
    assert first.subject.key == second.subject.key
    missed = [{name for name, measure in some.measures.items() if measure.is_missed} for some in (first, second)]
    assert missed == [set(), set()]
    then, now = ({anchor.sample: anchor.score for anchor in some.anchors} for some in (first, second))
    shared = [sample for sample in then.keys() & now.keys() if then[sample] >= 0.4]
    assert len(shared) > 15
    assert {round(then[sample] - now[sample], 3) for sample in shared} == {0.4}
    assert (first.smallest_difference or 0.0) < 0.4


@pytest.mark.parametrize(("answer", "language"), [("score", "zh"), ("reason_then_score", "en")])
@pytest.mark.timeout(900)
def test_tiny_real_judges_are_examined_to_the_end_and_fail(
    tiny_models: Path, tmp_path: Path, answer: str, language: str
) -> None:
    parameters = {"model_name": str(tiny_models / "qwen3-vl"), "dtype": "float32", "device_ids": "cpu:2"}
    configuration = {
        "benchmark": {"type": "scenes", "language": language},
        "edit_models": {"mine": {"type": "scene_editor"}},
        "judges": {"judge": {"type": "qwen3_vl", "params": {**parameters, "batch_size": 16, "max_new_tokens": 24}}},
        "protocol": {"answer": answer, "retries": 0},
        "execution": {"progress": "none"},
    }
    made = audit(configuration, run_dir=tmp_path / "run", folder=tmp_path / "passports", scenes=1, size=128)
    assert made.passport.verdict == "failed"
    assert made.passport.form == (answer,)
    assert made.passport.subject.language == language
    assert made.page.exists()
    assert json.loads(made.file.read_text("utf-8"))["verdict"] == "failed"
    assert {sample.facts[AUDIT]["view"] for sample in made.run.results.samples} >= {"language", "exchanged"}


def test_the_picture_of_a_scene_is_what_the_judge_is_shown(tmp_path: Path) -> None:
    """By which the scripted judge knows a scene."""
    knowing = Knowing(tmp_path, scenes=1)
    for digest, scene in knowing.sources.items():
        assert pixel_digest(picture_of(scene)) == digest
