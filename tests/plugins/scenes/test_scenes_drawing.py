"""What the pictures show, measured on their pixels."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from PIL import Image, ImageChops, ImageStat

from edit_eval.plugins.scenes.in_worker.drawing import Drawing, draw
from edit_eval.plugins.scenes.in_worker.edits import Edit, Reference, apply, resolve
from edit_eval.plugins.scenes.in_worker.scenarios import plan
from edit_eval.plugins.scenes.in_worker.scene import FORMS, WORDS, Scene, Thing

BALL = Scene(256, 192, 3, "meadow", things=(Thing("ball-1", "ball", 0.5, 0.6, colour="red"),))


def middle(mask: Image.Image) -> tuple[float, float]:
    """The centre of a mask's weight."""
    weight = x = y = 0.0
    for row in range(mask.height):
        for column, value in enumerate(mask.crop((0, row, mask.width, row + 1)).tobytes()):
            weight, x, y = weight + value, x + value * column, y + value * row
    return x / weight, y / weight


def brightness(drawing: Drawing, box: tuple[int, int, int, int] | None = None) -> float:
    picture = drawing.image.convert("L")
    return float(ImageStat.Stat(picture.crop(box) if box else picture).mean[0])


def changed(first: Drawing, second: Drawing) -> float:
    """Share of the pixels that differ visibly."""
    grey = ImageChops.difference(first.image, second.image).convert("L")
    return sum(grey.histogram()[9:]) / (grey.width * grey.height)


def test_the_same_scene_is_the_same_picture() -> None:
    assert draw(BALL).image.tobytes() == draw(replace(BALL)).image.tobytes()


def test_nothing_leaks_from_one_drawing_into_the_next() -> None:
    """Backgrounds are kept between drawings; a night in between must not show."""
    before = draw(BALL).image.tobytes()
    draw(replace(BALL, time="night", weather="rain", wet=True))
    drawing = draw(BALL)
    drawing.image.paste((0, 0, 0), (0, 0, 256, 192))
    assert draw(BALL).image.tobytes() == before


@pytest.mark.parametrize("time", ["day", "sunset", "night"])
@pytest.mark.parametrize("kind", ["ball", "tree", "house", "person"])
def test_shadows_fall_away_from_the_light_and_towards_us(time: str, kind: str) -> None:
    thing = Thing("one", kind, 0.5, 0.5, colour="red")
    scene = replace(BALL, time=time, things=(thing,))
    for sun, sign in (("left", 1), ("right", -1)):
        drawing = draw(replace(scene, sun=sun))
        x, y = middle(drawing.shadows["one"])
        assert sign * (x - 128) > 3
        assert y > 192 * 0.42 + 0.5 * 192 * 0.58 - 8


def test_without_sun_there_is_only_the_rim_of_contact() -> None:
    sunny = draw(BALL).shadows["ball-1"]
    dull = draw(replace(BALL, weather="cloudy")).shadows["ball-1"]
    assert ImageStat.Stat(sunny).sum[0] > 1.8 * ImageStat.Stat(dull).sum[0] > 0
    assert abs(middle(dull)[0] - 128) < 2


def test_a_low_sun_makes_long_shadows() -> None:
    def width(scene: Scene) -> int:
        box = draw(scene).shadows["one"].point([0] * 64 + [255] * 192).getbbox()
        assert box is not None
        return box[2] - box[0]

    scene = replace(BALL, things=(Thing("one", "person", 0.3, 0.5, colour="red"),))
    assert width(replace(scene, time="sunset")) > 1.5 * width(scene)


def test_far_things_are_small() -> None:
    def height(depth: float) -> int:
        scene = replace(BALL, things=(replace(BALL.things[0], depth=depth),))
        box = draw(scene).silhouettes["ball-1"].getbbox()
        assert box is not None
        return box[3] - box[1]

    assert height(0.8) == pytest.approx(2 * height(0.4), rel=0.12)


def test_what_stands_before_hides_what_stands_behind() -> None:
    behind = Thing("house-1", "house", 0.5, 0.35, colour="white")
    alone = draw(replace(BALL, things=(behind,)))
    both = draw(replace(BALL, things=(*BALL.things, behind)))
    ball, house = both.silhouettes["ball-1"], both.silhouettes["house-1"]
    overlap = ImageChops.multiply(ball, house).point([0] * 90 + [255] * 166)
    assert overlap.getbbox() is None
    assert ImageStat.Stat(house).sum[0] < ImageStat.Stat(alone.silhouettes["house-1"]).sum[0]


def test_night_is_dark_and_a_lamp_lights_ground_and_neighbours() -> None:
    things = (Thing("lamp-1", "lamp", 0.5, 0.5, state="off"), Thing("person-1", "person", 0.62, 0.55, colour="white"))
    day = replace(BALL, things=things)
    night = replace(day, time="night")
    assert 20 < brightness(draw(night)) < 0.5 * brightness(draw(day))
    lit = apply(night, Edit("switch_on", Reference("lamp")))
    near, far = (100, 140, 160, 150), (0, 180, 40, 192)
    assert brightness(draw(lit), near) > 1.3 * brightness(draw(night), near)
    assert brightness(draw(lit), far) < 1.05 * brightness(draw(night), far)
    person = draw(night).silhouettes["person-1"].getbbox()
    assert person is not None
    assert brightness(draw(lit), person) > 1.2 * brightness(draw(night), person)
    by_day = apply(day, Edit("switch_on", Reference("lamp")))
    assert brightness(draw(by_day), near) == pytest.approx(brightness(draw(day), near), rel=0.02)


def test_fog_hides_the_far_more_than_the_near() -> None:
    things = (Thing("near", "person", 0.3, 0.8, colour="red"), Thing("far", "person", 0.7, 0.25, colour="red"))
    scene = replace(BALL, weather="fog", things=things)

    def redness(name: str) -> float:
        drawing = draw(scene)
        mask = drawing.silhouettes[name].point([0] * 200 + [255] * 56)
        red, green, _ = ImageStat.Stat(drawing.image, mask).mean
        return red - green

    assert redness("near") > 2 * redness("far")


def test_the_wind_bends_what_is_light_to_its_lee() -> None:
    things = (
        Thing("flag-1", "flag", 0.5, 0.4, colour="red"),
        Thing("campfire-1", "campfire", 0.3, 0.6, state="burning"),
        Thing("tree-1", "tree", 0.7, 0.4),
        Thing("box-1", "box", 0.5, 0.7, colour="blue"),
    )
    scene = replace(BALL, things=things)
    left, right = (draw(replace(scene, wind=side)).silhouettes for side in ("left", "right"))
    for name in ("flag-1", "campfire-1", "tree-1"):
        assert middle(left[name])[0] > middle(right[name])[0] + 2, name
    assert left["box-1"].tobytes() == right["box-1"].tobytes()


def test_a_hidden_thing_leaves_its_burden_in_the_air() -> None:
    things = (
        Thing("box-1", "box", 0.5, 0.6, colour="blue"),
        Thing("ball-1", "ball", 0.5, 0.6, colour="red", on="box-1"),
    )
    scene = replace(BALL, things=things)
    whole, without = draw(scene), draw(scene, hidden=frozenset({"box-1"}))
    assert "box-1" not in without.silhouettes
    assert whole.silhouettes["ball-1"].tobytes() == without.silhouettes["ball-1"].tobytes()


def test_shadows_of_another_scene() -> None:
    empty = replace(BALL, things=())
    ghost = draw(empty, shadows_of=BALL)
    assert not ghost.silhouettes
    assert 0 < changed(ghost, draw(empty)) < changed(draw(BALL), draw(empty))
    assert draw(BALL, shadows_of=BALL).image.tobytes() == draw(BALL).image.tobytes()


@pytest.mark.parametrize("setting", WORDS["setting"])
def test_every_kind_is_drawn_in_every_state_hour_weather_and_season(setting: str) -> None:
    states = [(kind, state) for kind, form in FORMS.items() for state in form.states]
    conditions = list(itertools.product(WORDS["time"], WORDS["weather"], WORDS["season"]))
    for k, (kind, state) in enumerate(states):
        time, weather, season = conditions[(7 * k + len(setting)) % len(conditions)]
        thing = Thing("one", kind, 0.5, 0.6, colour="red", state=state)
        scene = Scene(128, 96, k, setting, time, weather, season, things=(thing,))
        drawing = draw(scene)
        assert drawing.image.size == (128, 96)
        assert drawing.image.mode == "RGB"
        assert drawing.silhouettes["one"].getbbox() is not None, (kind, state)


@pytest.mark.parametrize("index", range(50))
def test_the_thing_that_is_meant_is_seen_and_the_right_edit_shows(index: int) -> None:
    planned = plan(index, 0, 128, 96)
    source, right = draw(planned.scene), draw(apply(planned.scene, planned.edit))
    assert changed(source, right) > 0.003
    if planned.edit.target is not None:
        mask = source.silhouettes[resolve(planned.scene, planned.edit.target).name]
        assert ImageStat.Stat(mask).sum[0] / 255 > 0.0015 * 128 * 96
