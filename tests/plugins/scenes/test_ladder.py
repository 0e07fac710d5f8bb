"""The ladder: every scene has its rungs, they are what they are called, and the same seed gives the same bytes."""

from __future__ import annotations

import random

import pytest
from PIL import Image, ImageChops

from edit_eval.edit_models.contract import EditRequest
from edit_eval.errors import ModelError
from edit_eval.plugins.scenes.in_worker.benchmark import picture_of
from edit_eval.plugins.scenes.in_worker.edits import apply
from edit_eval.plugins.scenes.in_worker.ladder import SceneRungs, scenario
from edit_eval.plugins.scenes.in_worker.language import read, write
from edit_eval.plugins.scenes.in_worker.rungs import (
    RECIPE_KEY,
    STROKES,
    VISIBLE,
    WRITTEN,
    Recipe,
    add_label,
    climb,
    draw_recipe,
    recipe_of,
    recipe_png,
    visible_difference,
)
from edit_eval.plugins.scenes.in_worker.scenarios import PlannedScene, Stage

ALWAYS = {"right", "extra", "other", "copy", "shuffled", "blank"}


def planned(category: str, number: int, seed: int = 5) -> PlannedScene:
    return scenario(category, number)(Stage(random.Random(f"{seed} {category} {number}"), 160, 120))


@pytest.mark.check
@pytest.mark.parametrize("category", ["physical", "environmental", "social", "causal", "referential"])
def test_every_scene_has_its_rungs_and_they_differ(category: str) -> None:
    """Of other scenes than the audit's own: there is always another instruction, and no two rungs are one."""
    for number in range(10):
        plan = planned(category, number)
        ladder = climb(plan.scene, plan.edit, planned(category, number + 1).scene, random.Random(number))
        rungs = {rung.name: rung for rung in ladder.rungs}
        assert set(rungs) >= ALWAYS
        assert len({rung.recipe for rung in ladder.rungs}) == len(ladder.rungs)
        right = apply(plan.scene, plan.edit)
        assert rungs["right"].recipe == Recipe(right)
        assert visible_difference(right, rungs["extra"].recipe.scene) >= VISIBLE
        other = rungs["other"].recipe.scene
        assert min(visible_difference(right, other), visible_difference(plan.scene, other)) >= VISIBLE
        for language in ("en", "zh"):
            assert read(write(ladder.other, language)) == ladder.other
        if "wrong_target" in rungs:
            assert visible_difference(right, rungs["wrong_target"].recipe.scene) >= VISIBLE


@pytest.mark.check
def test_a_dose_lies_between_the_source_and_the_right_edit() -> None:
    axes = {}
    for category in ("physical", "referential", "environmental", "social"):
        for number in range(8):
            plan = planned(category, number)
            rungs = climb(plan.scene, plan.edit, plan.scene, random.Random(number)).rungs
            doses = [rung for rung in rungs if rung.axis]
            for rung in doses:
                axes.setdefault(rung.axis, []).append([rung.name for rung in doses])
    assert set(axes) == {"hue", "place", "size", "count", "light"}
    assert all(["dose_25", "dose_50", "dose_75"] in some for some in axes.values())
    scene = planned("environmental", 0).scene
    night = Recipe(scene, over=apply(scene, planned("environmental", 0).edit), share=0.5)
    assert night.over is not None
    ends = [draw_recipe(Recipe(scene)), draw_recipe(night), draw_recipe(Recipe(night.over))]
    levels = [sum(image.convert("L").tobytes()) for image in ends]
    assert levels == sorted(levels, reverse=True)


def test_a_recipe_travels_in_a_picture_and_nothing_else_is_drawn() -> None:
    scene = planned("causal", 1).scene
    for recipe in (
        Recipe(scene),
        Recipe(scene, blank=True),
        Recipe(scene, over=planned("causal", 2).scene, share=0.25, finish="words", text=WRITTEN["zh"]),
    ):
        assert Recipe.from_json(recipe.to_json()) == recipe
        assert recipe_png(recipe, "a") == recipe_png(recipe, "a") != recipe_png(recipe, "b")
    model = SceneRungs(SceneRungs.Parameters())
    picture = Image.new("RGB", (1, 1))
    request = EditRequest(pictures={"source": picture_of(scene), "source_2": picture}, instruction="x", seed=0)
    with pytest.raises(ModelError, match="draws only what the benchmark `ladder` asks for"):
        model.edit(request, lambda step, steps: None)
    picture.info[RECIPE_KEY] = '{"scene": 1}'
    with pytest.raises(ModelError, match="cannot read the recipe"):
        recipe_of({"source_2": picture}, "test")


def test_finishes_change_what_they_say() -> None:
    scene = planned("causal", 1).scene
    plain = draw_recipe(Recipe(scene))
    level = ImageChops.difference(plain, draw_recipe(Recipe(scene, finish="level")))
    assert level.getextrema() == ((0, 0), (0, 1), (0, 0))
    assert sum(level.getchannel("G").histogram()[1:]) == 1
    assert draw_recipe(Recipe(scene, finish="size")).size == (140, 105)
    jpeg = ImageChops.difference(plain, draw_recipe(Recipe(scene, finish="jpeg"))).convert("L")
    assert 0 < max(jpeg.getextrema()) < 120


def test_the_words_can_be_read() -> None:
    """On a white label, in black; of Chinese as many strokes as the characters have."""
    assert (len(STROKES["评"]), len(STROKES["分"])) == (7, 4)
    for text in WRITTEN.values():
        done = add_label(Image.new("RGB", (512, 384), (90, 120, 90)), text)
        label = done.crop((0, 0, 60, 40)).convert("L")
        assert label.getextrema() == (0, 255)
        assert done.getpixel((500, 380)) == (90, 120, 90)
