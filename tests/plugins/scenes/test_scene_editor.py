"""The embedded edit model: what it does well, and the weaknesses that it has by its way of working."""

from __future__ import annotations

import statistics
import time
from dataclasses import replace

import pytest
from PIL import Image, ImageChops, ImageStat
from pydantic import ValidationError

from edit_eval.benchmarks.contract import CATEGORIES
from edit_eval.errors import ModelError
from edit_eval.plugins.scenes.in_worker.benchmark import picture_of
from edit_eval.plugins.scenes.in_worker.editor import SceneEditor
from edit_eval.plugins.scenes.in_worker.edits import Edit, Reference, apply
from edit_eval.plugins.scenes.in_worker.judge import PixelComparison, assess, score
from edit_eval.plugins.scenes.in_worker.language import read, write
from edit_eval.plugins.scenes.in_worker.scenarios import category_of, plan
from edit_eval.plugins.scenes.in_worker.scene import Scene, Thing
from edit_requests import request
from own_components import adapter_of

SCENE = Scene(
    256,
    192,
    5,
    "meadow",
    things=(
        Thing("ball-1", "ball", 0.3, 0.6, colour="red"),
        Thing("box-1", "box", 0.7, 0.6, colour="blue"),
        Thing("lamp-1", "lamp", 0.5, 0.45, state="off"),
    ),
)


def edited(scene: Scene, sentence: str, seed: int = 0, **parameters: float) -> Image.Image:
    model = SceneEditor(adapter_of(SceneEditor).validate_python(parameters))
    model.load(["cpu"])
    return model.edit(request(picture_of(scene), sentence, seed), lambda step, steps: None)


def compared(scene: Scene, sentence: str) -> PixelComparison:
    return PixelComparison(scene, read(sentence), edited(scene, sentence))


@pytest.mark.check
def test_on_the_benchmark_it_is_neither_trivial_nor_perfect() -> None:
    scores: dict[str, list[float]] = {category: [] for category in CATEGORIES}
    for index in range(50):
        planned, category = plan(index, 0, 160, 120), category_of(index)
        picture = edited(planned.scene, write(planned.edit, "en"), index)
        scores[category].append(score(assess(planned.scene, planned.edit, category, picture).shares))
    everything = [value for values in scores.values() for value in values]
    assert 6.0 < statistics.mean(everything) < 8.5
    assert min(everything) < 4.0
    assert max(everything) > 9.5
    for category, values in scores.items():
        assert statistics.stdev(values) > 0.6, category
        assert 5.0 < statistics.mean(values) < 9.5, category


def test_the_same_request_gives_the_same_pixels() -> None:
    first = edited(SCENE, "Remove the red ball.", 7)
    assert first.tobytes() == edited(SCENE, "Remove the red ball.", 7).tobytes()


def test_the_seed_is_a_grain_in_what_is_painted_and_only_there() -> None:
    first, second = edited(SCENE, "Remove the red ball.", 7), edited(SCENE, "Remove the red ball.", 8)
    box = ImageChops.difference(first, second).getbbox()
    assert box is not None
    assert 50 < box[0] < box[2] < 110
    assert max(high for _, high in ImageChops.difference(first, second).getextrema()) <= 8


@pytest.mark.parametrize("index", range(0, 50, 3))
def test_both_languages_mean_the_same(index: int) -> None:
    planned = plan(index, 0, 128, 96)
    pictures = [edited(planned.scene, write(planned.edit, language), 1) for language in ("en", "zh")]
    assert pictures[0].tobytes() == pictures[1].tobytes()


def test_steps_are_counted_and_take_their_time() -> None:
    model = SceneEditor(SceneEditor.Parameters(steps=3, seconds=0.3))
    steps: list[tuple[int, int]] = []
    begin = time.monotonic()
    model.edit(request(picture_of(SCENE), "Let it rain."), lambda step, count: steps.append((step, count)))
    assert time.monotonic() - begin >= 0.3
    assert steps == [(1, 3), (2, 3), (3, 3)]


def test_more_steps_make_a_better_edit() -> None:
    edit = Edit("resize", Reference("box"), value="larger")

    def points(steps: int) -> float:
        return score(assess(SCENE, edit, "physical", edited(SCENE, write(edit, "en"), steps=steps)).shares)

    assert points(1) < points(2) < points(4)


def test_the_result_carries_no_scene_and_the_source_keeps_its_own() -> None:
    source = picture_of(SCENE)
    result = SceneEditor(SceneEditor.Parameters()).edit(request(source, "Let it rain."), lambda step, steps: None)
    assert result.info == {}
    assert "scene" in source.info
    assert source.tobytes() == picture_of(SCENE).tobytes()


def test_a_source_of_another_size_keeps_its_size() -> None:
    source = picture_of(SCENE).resize((300, 200))
    source.info["scene"] = SCENE.to_json()
    result = SceneEditor(SceneEditor.Parameters()).edit(request(source, "Remove the box."), lambda step, steps: None)
    assert result.size == (300, 200)


@pytest.mark.parametrize("sentence", ["Make it nicer.", "", "Remove the snowman.", "移除雪人。"])
def test_an_instruction_that_it_cannot_follow_is_an_error_of_one_line(sentence: str) -> None:
    with pytest.raises(ModelError, match="scene_editor cannot carry out") as caught:
        edited(SCENE, sentence)
    assert "\n" not in str(caught.value)


def test_a_picture_without_a_scene_is_an_error_of_one_line() -> None:
    model = SceneEditor(SceneEditor.Parameters())
    with pytest.raises(ModelError, match="scene_editor works only on pictures of the benchmark `scenes`") as caught:
        model.edit(request(Image.new("RGB", (64, 48)), "Let it rain."), lambda step, steps: None)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("wrong", [{"steps": 0}, {"seconds": -1}, {"step": 4}])
def test_wrong_parameters_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        adapter_of(SceneEditor).validate_python(wrong)


# What it is good at ---------------------------------------------------------------------------------------------


def test_where_there_are_no_shadows_it_removes_well() -> None:
    dull = replace(SCENE, weather="fog")
    assert compared(dull, "Remove the red ball.").subject_done > 0.9


def test_it_paints_a_ball_and_touches_nothing_else() -> None:
    comparison = compared(SCENE, "Paint the red ball yellow.")
    assert comparison.subject_done > 0.7
    assert comparison.preservation > 0.98


# What it is bad at, and why -------------------------------------------------------------------------------------


def test_it_leaves_the_shadow_of_what_it_removes() -> None:
    comparison = compared(SCENE, "Remove the red ball.")
    assert comparison.subject_done > 0.6
    assert comparison.shadow < 0.1


def test_what_it_adds_casts_no_shadow() -> None:
    comparison = compared(SCENE, "Add a green ball to the right of the box.")
    assert comparison.subject_done > 0.9
    assert comparison.shadow < 0.2


def test_it_leaves_things_in_the_air() -> None:
    scene = SCENE.with_thing(Thing("ball-2", "ball", 0.7, 0.6, 0.8, "green", on="box-1"))
    assert compared(scene, "Remove the box.").weakest < 0.35


def test_its_lamps_light_nothing() -> None:
    comparison = compared(replace(SCENE, time="night"), "Switch on the street lamp.")
    assert comparison.subject_done > 0.85
    assert comparison.effects < 0.1


def test_it_judges_size_by_what_it_sees() -> None:
    """Where the largest ball is far away, the nearer one is seen larger, and is taken. (No sample is like that.)"""
    things = (Thing("ball-1", "ball", 0.3, 0.3, 1.4, "red"), Thing("ball-2", "ball", 0.7, 0.8, 0.9, "red"))
    scene = replace(SCENE, things=things)
    change = ImageChops.difference(picture_of(scene), edited(scene, "Paint the largest red ball blue.")).getbbox()
    assert change is not None
    assert change[0] > 0.5 * scene.width, "nothing of the other ball"
    near = replace(scene, things=(replace(things[0], depth=0.8), things[1]))
    assert compared(near, "Paint the largest red ball blue.").subject_done > 0.6


def test_its_colour_bleeds_over_a_whole_person() -> None:
    scene = replace(SCENE, things=(Thing("person-1", "person", 0.5, 0.7, 1.2, "red"),))
    comparison = compared(scene, "Change the coat of the person to blue.")
    untouched = ImageChops.multiply(comparison.source.silhouettes["person-1"], comparison.rest)
    assert comparison.subject_done > 0.5
    assert ImageStat.Stat(comparison.made, untouched.point([0] * 128 + [255] * 128)).extrema[0][1] > 60


def test_at_night_its_windows_stay_dark() -> None:
    scene = SCENE.with_thing(Thing("house-1", "house", 0.75, 0.34, colour="white"))
    comparison = compared(scene, "Make it night.")
    assert comparison.tone > 0.7
    assert comparison.change_share(comparison.others["house-1"]) is not None
    picture = edited(scene, "Make it night.").convert("L")
    right = comparison.right.image.convert("L")
    mask = comparison.right.silhouettes["house-1"].point([0] * 200 + [255] * 56)
    assert ImageStat.Stat(picture, mask).extrema[0][1] < ImageStat.Stat(right, mask).extrema[0][1] - 50


def test_it_moves_things_without_perspective() -> None:
    scene = replace(SCENE, things=(SCENE.things[1], Thing("ball-1", "ball", 0.2, 0.9, colour="red")))
    sentence = "Move the red ball to the left of the box."
    after = apply(scene, read(sentence))
    assert after.thing("ball-1").depth == scene.thing("box-1").depth

    def red(picture: Image.Image) -> int:
        """How many pixels are red."""
        channels = picture.split()
        return sum(ImageChops.subtract(channels[0], channels[1]).histogram()[70:])

    comparison = compared(scene, sentence)
    assert red(comparison.edited) > 1.5 * red(comparison.right.image)
    assert red(comparison.edited) == pytest.approx(red(comparison.source.image), rel=0.25)
