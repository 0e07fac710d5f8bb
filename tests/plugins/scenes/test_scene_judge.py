"""The judge of the scenes is tried with edits whose order is known."""

from __future__ import annotations

import io
import re
import time
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from PIL import Image

import edit_eval.rubrics
from edit_eval.errors import ModelError
from edit_eval.judges.answers import FORMS, read_answer
from edit_eval.judges.contract import JudgeRequest
from edit_eval.plugins.scenes.in_worker.benchmark import picture_of
from edit_eval.plugins.scenes.in_worker.drawing import draw
from edit_eval.plugins.scenes.in_worker.edits import Edit, Reference, apply
from edit_eval.plugins.scenes.in_worker.judge import CHINESE, CRITERIA, SceneJudge, _Drawings, assess, score
from edit_eval.plugins.scenes.in_worker.language import write
from edit_eval.plugins.scenes.in_worker.scenarios import category_of, plan
from edit_eval.plugins.scenes.in_worker.scene import Scene, Thing
from edit_eval.records import Status
from judges.scene_ladder import Rung, ladder

WIDTH, HEIGHT = 160, 120
WITH_REASONS = "Judge this. End with a last line:\nScore: X.XXX"


def request(index: int, edited: Image.Image, language: str = "en", **changes: str) -> JudgeRequest:
    planned = plan(index, 0, WIDTH, HEIGHT)
    source = picture_of(planned.scene)
    words = {
        "system": WITH_REASONS,
        "user": "",
        "instruction": write(planned.edit, language),
        "category": category_of(index),
        **changes,
    }
    return JudgeRequest(pictures={"source": source, "edit": edited}, sample_id="x", **words)


def right(index: int) -> Image.Image:
    planned = plan(index, 0, WIDTH, HEIGHT)
    return draw(apply(planned.scene, planned.edit)).image


def points(index: int, edited: Image.Image) -> float:
    planned = plan(index, 0, WIDTH, HEIGHT)
    return score(assess(planned.scene, planned.edit, category_of(index), edited).shares)


@pytest.fixture(scope="module")
def judge() -> SceneJudge:
    judge = SceneJudge(SceneJudge.Parameters())
    judge.load(["cpu"])
    return judge


@pytest.mark.one_in(10)
@pytest.mark.parametrize("index", range(50))
def test_the_ladder_is_climbed_in_order(index: int) -> None:
    """The proof that the judge measures: every better edit gets a clearly better score, in every scenario."""
    planned = plan(index, 0, WIDTH, HEIGHT)
    rungs = ladder(planned.scene, planned.edit)
    assert rungs[0].name == "right"
    assert {"right", "half_done", "copy", "blank"} <= {rung.name for rung in rungs}
    scores = {
        rung.name: score(assess(planned.scene, planned.edit, category_of(index), rung.image).shares) for rung in rungs
    }
    assert scores["right"] > 9.99
    assert scores["copy"] <= 2.001
    assert scores["blank"] == 0.0
    for better in rungs:
        for worse in rungs:
            if better.level > worse.level:
                assert scores[better.name] > scores[worse.name] + 0.3, (better.name, worse.name, scores)


def test_the_ladders_have_all_kinds_of_rungs() -> None:
    kinds: dict[str, set[str]] = {}
    for index in (0, 7, 8, 9):
        planned = plan(index, 0, 128, 96)
        names = {rung.name for rung in ladder(planned.scene, planned.edit)}
        kinds.setdefault(category_of(index), set()).update(names)
    assert "without_shadow" in kinds["physical"] & kinds["social"] & kinds["causal"] & kinds["referential"]
    assert "wrong_twin" in kinds["referential"]


def test_more_of_the_edit_is_more_of_the_score() -> None:
    for index in (0, 1, 2, 3, 4):
        source = draw(plan(index, 0, WIDTH, HEIGHT).scene).image
        scores = [points(index, Image.blend(source, right(index), share / 3)) for share in range(4)]
        assert scores == sorted(scores), index
        assert scores[3] - scores[0] > 7


def test_each_sub_criterion_sees_its_own_fault() -> None:
    """A box is added: without a shadow, in the wrong colour, too small, or with the house gone."""
    things = (
        Thing("ball-1", "ball", 0.4, 0.6, 1.4, "red"),
        Thing("box-1", "box", 0.8, 0.6, colour="green"),
        Thing("house-1", "house", 0.3, 0.32, colour="white"),
    )
    scene = Scene(256, 192, 1, "meadow", things=things)
    edit = Edit("add", relation="right", anchor=Reference("ball"), kind="box", colour="blue")
    done = apply(scene, edit)
    new = done.thing("box-new")

    def shares(after: Scene, shadows_of: Scene | None = None) -> dict[str, float]:
        values = assess(scene, edit, "physical", draw(after, shadows_of=shadows_of).image).shares
        return dict(zip((criterion.name for criterion in CRITERIA["physical"]), values, strict=True))

    assert min(shares(done).values()) > 0.999
    bare = shares(done, shadows_of=scene)
    assert bare["Light and shadow"] < 0.1
    assert min(share for name, share in bare.items() if name != "Light and shadow") > 0.95
    yellow = shares(done.with_thing(Thing("box-new", "box", new.x, new.depth, 1.0, "yellow")))
    assert yellow["Material and surface"] < 0.3
    assert yellow["Light and shadow"] > 0.9
    small = shares(done.with_thing(Thing("box-new", "box", new.x, new.depth, 0.5, "blue")))
    assert small["Perspective and scale"] < 0.6
    gone = shares(done.remove_thing("house-1"))
    assert gone["Anatomy and structure"] < 0.6
    assert gone["Material and surface"] > 0.99


@pytest.mark.one_in(5)
@pytest.mark.parametrize("index", [0, 1, 2, 3, 4])
def test_size_and_compression_cost_little(index: int) -> None:
    """The picture drawn at the usual size, as a JPEG is made of pictures of that size."""
    planned = plan(index, 0, 512, 384)
    edited = draw(apply(planned.scene, planned.edit)).image
    buffer = io.BytesIO()
    edited.save(buffer, "JPEG", quality=90)
    versions = [
        edited.resize((1024, 1024), Image.Resampling.LANCZOS),
        edited.resize((384, 288), Image.Resampling.LANCZOS),
        Image.open(buffer),
        edited.convert("RGBA"),
    ]
    for version in versions:
        assert score(assess(planned.scene, planned.edit, category_of(index), version).shares) > 8.8


def test_other_pictures_get_nothing() -> None:
    for index in (0, 1, 2, 3, 4):
        assert points(index, Image.new("RGB", (WIDTH, HEIGHT), (255, 255, 255))) == 0.0
        assert points(index, Image.effect_noise((WIDTH, HEIGHT), 90).convert("RGB")) == 0.0
        assert points(index, right(index).transpose(Image.Transpose.FLIP_TOP_BOTTOM)) < 1.5


def test_the_answer_says_why_and_ends_with_the_score(judge: SceneJudge) -> None:
    planned = plan(0, 0, WIDTH, HEIGHT)
    bare = draw(apply(planned.scene, planned.edit), shadows_of=planned.scene).image
    (text,) = judge.judge([request(0, bare)])
    lines = text.splitlines()
    assert len(lines) == 6
    assert re.match(r"Light and shadow -(1\.000|0\.9)", lines[2])
    assert lines[2].endswith(": the shadow on the ground is entirely wrong.")
    changes = [float(line.split(":")[0].rsplit(" ", 1)[1]) for line in lines[:5]]
    reading = read_answer(text, "reason_then_score")
    assert reading.status is Status.OK
    assert reading.values["score"] == pytest.approx(5 + sum(changes), abs=0.003)
    assert lines[5] == f"Score: {reading.values['score']:.3f}"


def test_what_is_measured_is_the_beginning_of_a_sentence() -> None:
    words = [criterion.words for criteria in CRITERIA.values() for criterion in criteria]
    several = [text for text in words if re.match(r"(\w+ )?(colours|\w+ and (?!.*\bdo\b))", text)]
    assert several
    assert all(text.endswith(" are") for text in several), several
    assert all(text.endswith((" is", " are")) for text in words)


def test_it_answers_in_the_language_of_the_instruction(judge: SceneJudge) -> None:
    chinese, english = judge.judge([request(3, right(3), "zh"), request(3, right(3))])
    assert chinese.startswith("作用与反应 +1.000：")
    assert chinese.endswith("评分：10.000")
    assert english.endswith("Score: 10.000")
    assert read_answer(chinese, "reason_then_score").values["score"] == 10.0


def test_it_answers_in_the_form_that_the_prompt_asks_for(judge: SceneJudge) -> None:
    short = request(2, right(2), system="Answer with the score alone.")
    assert judge.judge([short]) == ["10.000"]
    again = request(2, right(2), system="Judge.", user="Answer with a last line in the form “评分：X.XXX” only.")
    assert len(judge.judge([again])[0].splitlines()) == 6
    silent = request(2, right(2), system="")
    assert len(judge.judge([silent])[0].splitlines()) == 6


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_packaged_rubrics_get_an_answer_in_either_form(judge: SceneJudge, language: str) -> None:
    path = Path(edit_eval.rubrics.__path__[0]) / f"five_dimensions.v1.{language}.yaml"
    rubrics = yaml.safe_load(path.read_text(encoding="utf-8"))
    for form in FORMS:
        asked_for = rubrics["answer"][form]
        (text,) = judge.judge([request(1, right(1), language, system=asked_for)])
        assert read_answer(text, form).values["score"] == 10.0
        (text,) = judge.judge([request(1, right(1), language, system=asked_for, user=rubrics["ask_again"][form])])
        assert read_answer(text, form).values["score"] == 10.0


def test_the_criteria_are_those_of_the_packaged_rubrics() -> None:
    for language in ("en", "zh"):
        path = Path(edit_eval.rubrics.__path__[0]) / f"five_dimensions.v1.{language}.yaml"
        categories = yaml.safe_load(path.read_text(encoding="utf-8"))["categories"]
        for category, criteria in CRITERIA.items():
            names = [criterion.name if language == "en" else CHINESE[criterion.name][0] for criterion in criteria]
            assert names == categories[category]["criteria"]


def test_a_batch_is_answered_in_order_and_each_alone(judge: SceneJudge) -> None:
    requests = [request(index, right(index)) for index in (0, 6)]
    requests.insert(1, request(5, picture_of(plan(5, 0, WIDTH, HEIGHT).scene)))
    together = judge.judge(requests)
    assert together == [judge.judge([alone])[0] for alone in requests]
    assert together[0] != together[1]
    assert judge.judge([]) == []


def test_the_file_of_the_edit_has_no_say(judge: SceneJudge) -> None:
    """Only pixels count: a scene carried by the edit is not looked at."""
    copy = picture_of(plan(0, 0, WIDTH, HEIGHT).scene)
    planned = plan(0, 0, WIDTH, HEIGHT)
    before = judge.judge([request(0, copy)])
    copy.info["scene"] = apply(planned.scene, planned.edit).to_json()
    assert judge.judge([request(0, copy)]) == before


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"instruction": "Make it nicer."}, "no sentence of the scenes"),
        ({"instruction": "Remove the snowman."}, "things of the scene fit"),
        ({"category": "beauty"}, "no category of the scenes"),
        ({"category": ""}, "no category of the scenes"),
    ],
)
def test_what_it_cannot_judge_is_an_error_of_one_line(judge: SceneJudge, changes: dict[str, str], words: str) -> None:
    with pytest.raises(ModelError, match=words) as caught:
        judge.judge([request(0, right(0), **changes)])
    assert "\n" not in str(caught.value)


def test_it_needs_source_and_edit(judge: SceneJudge) -> None:
    whole = request(0, right(0))
    for role in ("source", "edit"):
        pictures = {name: picture for name, picture in whole.pictures.items() if name != role}
        with pytest.raises(ModelError, match=f"`{role}`"):
            judge.judge([replace(whole, pictures=pictures)])
    foreign = {"source": Image.new("RGB", (64, 48)), "edit": right(0)}
    with pytest.raises(ModelError, match="scene_judge works only on pictures of the benchmark `scenes`"):
        judge.judge([replace(whole, pictures=foreign)])


def test_seconds_make_it_slow() -> None:
    slow = SceneJudge(SceneJudge.Parameters(seconds=0.4))
    begin = time.monotonic()
    slow.judge([request(0, right(0))])
    assert time.monotonic() - begin >= 0.4


def test_a_rung_has_a_picture_of_the_sources_size() -> None:
    planned = plan(4, 0, WIDTH, HEIGHT)
    rungs: list[Rung] = ladder(planned.scene, planned.edit)
    assert {rung.image.size for rung in rungs} == {(WIDTH, HEIGHT)}
    assert [rung.level for rung in rungs] == sorted((rung.level for rung in rungs), reverse=True)


def test_a_drawing_that_comes_back_is_the_one_that_was_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    scenes = [plan(index, 0, WIDTH, HEIGHT).scene for index in range(3)]
    fresh = draw(scenes[0])
    kept = _Drawings()
    kept.drawing_of(scenes[0])
    with monkeypatch.context() as nobody_draws:
        nobody_draws.setattr("edit_eval.plugins.scenes.in_worker.judge.draw", None)
        again = kept.drawing_of(scenes[0])
    assert again.image.tobytes() == fresh.image.tobytes()
    for masks, as_drawn in ((again.silhouettes, fresh.silhouettes), (again.shadows, fresh.shadows)):
        assert [*masks] == [*as_drawn]
        assert all(masks[name].tobytes() == mask.tobytes() for name, mask in as_drawn.items())
    monkeypatch.setattr("edit_eval.plugins.scenes.in_worker.judge.KEPT", 1)
    for scene in scenes:
        kept.drawing_of(scene)
    assert list(kept._kept) == scenes[-1:]
