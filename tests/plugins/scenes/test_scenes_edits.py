"""Which thing is meant, and what follows from an edit."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from edit_eval.plugins.scenes.in_worker.drawing import draw
from edit_eval.plugins.scenes.in_worker.edits import Edit, Reference, alike, apply, refer, resolve, twins
from edit_eval.plugins.scenes.in_worker.scenarios import plan
from edit_eval.plugins.scenes.in_worker.scene import Scene, Thing

ROW = Scene(
    256,
    192,
    1,
    "meadow",
    things=(
        Thing("ball-1", "ball", 0.2, 0.6, colour="red"),
        Thing("ball-2", "ball", 0.5, 0.4, 1.7, "red"),
        Thing("ball-3", "ball", 0.8, 0.8, 0.7, "blue"),
        Thing("box-1", "box", 0.5, 0.7, colour="green"),
        Thing("house-1", "house", 0.5, 0.3, colour="white"),
    ),
)
STACK = Scene(
    256,
    192,
    1,
    "square",
    things=(
        Thing("box-1", "box", 0.5, 0.6, colour="red"),
        Thing("box-2", "box", 0.5, 0.6, colour="blue", on="box-1"),
        Thing("box-3", "box", 0.5, 0.6, 0.7, "green", on="box-2"),
        Thing("ball-1", "ball", 0.2, 0.65, colour="yellow"),
    ),
)


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        (Reference("ball", "red", ranking="left", rank=2), "ball-2"),
        (Reference("ball", ranking="right"), "ball-3"),
        (Reference("ball", ranking="largest"), "ball-2"),
        (Reference("ball", ranking="smallest"), "ball-3"),
        (Reference("ball", ranking="nearest"), "ball-3"),
        (Reference("ball", ranking="farthest"), "ball-2"),
        (Reference("ball", "blue"), "ball-3"),
        (Reference("ball", size="small"), "ball-3"),
        (Reference("ball", size="large"), "ball-2"),
        (Reference("ball", relation="front", anchor=Reference("house")), "ball-2"),
        (Reference("ball", relation="behind", anchor=Reference("box")), "ball-2"),
        (Reference("ball", relation="left", anchor=Reference("box")), "ball-1"),
        (Reference("ball", relation="right", anchor=Reference("box")), "ball-3"),
        (Reference("box"), "box-1"),
    ],
)
def test_the_thing_that_is_meant(reference: Reference, name: str) -> None:
    assert resolve(ROW, reference).name == name


def test_on_and_under() -> None:
    assert resolve(STACK, Reference("box", "blue", relation="on", anchor=Reference("box", "red"))).name == "box-2"
    assert resolve(STACK, Reference("box", relation="under", anchor=Reference("box", "green"))).name == "box-2"


def test_between() -> None:
    things = (*ROW.things, Thing("box-2", "box", 0.3, 0.6, colour="green"))
    scene = Scene(256, 192, 1, "meadow", things=things)
    with pytest.raises(ValueError, match="0 things"):
        resolve(scene, Reference("ball", relation="between", anchor=Reference("box")))
    scene = scene.with_thing(Thing("ball-4", "ball", 0.4, 0.6, colour="red"))
    assert resolve(scene, Reference("ball", relation="between", anchor=Reference("box"))).name == "ball-4"


@pytest.mark.parametrize(
    "reference", [Reference("ball", "red"), Reference("cone"), Reference("ball", ranking="left", rank=4)]
)
def test_what_is_not_one_thing_is_an_error(reference: Reference) -> None:
    with pytest.raises(ValueError, match="things"):
        resolve(ROW, reference)


def test_the_shortest_phrase_is_unique() -> None:
    for thing in (*ROW.things, *STACK.things):
        scene = ROW if thing in ROW.things else STACK
        assert resolve(scene, refer(scene, thing)) == thing


def test_without_its_support_a_thing_falls() -> None:
    after = apply(STACK, Edit("remove", Reference("box", "blue")))
    assert after.names() == {"box-1", "box-3", "ball-1"}
    assert after.lift(after.thing("box-3")) == pytest.approx(1.0)
    ground = apply(after, Edit("remove", Reference("box", "red")))
    assert ground.lift(ground.thing("box-3")) == 0.0
    moved = apply(STACK, Edit("move", Reference("box", "red"), "right", Reference("ball")))
    assert moved.thing("box-2").on == ""
    assert moved.thing("box-3").on == "box-2"


def test_a_stack_that_is_hit_lies_on_the_ground_behind_the_ball() -> None:
    after = apply(STACK, Edit("topple", Reference("ball")))
    boxes = [after.thing(f"box-{k}") for k in (1, 2, 3)]
    assert all(after.lift(box) == 0.0 for box in boxes)
    assert all(box.x > after.thing("ball-1").x for box in boxes)
    assert after.thing("ball-1").x > STACK.thing("ball-1").x


def test_at_night_the_lamps_burn_and_by_day_they_do_not() -> None:
    scene = ROW.with_thing(Thing("lamp-1", "lamp", 0.9, 0.5, state="off"))
    night = apply(scene, Edit("time", value="night"))
    assert (night.time, night.thing("lamp-1").state) == ("night", "on")
    assert apply(night, Edit("time", value="day")) == scene


@pytest.mark.parametrize("relation", ["left", "right", "front", "behind"])
def test_what_is_put_somewhere_is_there(relation: str) -> None:
    for anchor in ("box", "house"):
        edit = Edit("add", relation=relation, anchor=Reference(anchor), kind="cone")
        after = apply(ROW, edit)
        thing = resolve(after, Reference("cone", relation=relation, anchor=Reference(anchor)))
        assert thing.name == "cone-new"


def test_on_top() -> None:
    after = apply(ROW, Edit("move", Reference("ball", "blue"), "on", Reference("box")))
    assert after.lift(after.thing("ball-3")) == pytest.approx(1.0)


def test_an_edit_can_be_done_to_a_twin() -> None:
    edit = Edit("recolour", Reference("ball", "red", ranking="left"), value="green")
    assert [twin.name for twin in twins(ROW, edit)] == ["ball-2", "ball-3"]
    wrong = apply(ROW, edit, ROW.thing("ball-2"))
    assert wrong.thing("ball-1").colour == "red"
    assert wrong.thing("ball-2").colour == "green"


@pytest.mark.parametrize(
    "edit",
    [
        Edit("remove"),
        Edit("fly", Reference("box")),
        Edit("move", Reference("box"), "left", Reference("box")),
        Edit("add", relation="left", kind="ball"),
        Edit("topple", Reference("ball", "blue")),
        Edit("remove", Reference("flag")),
    ],
)
def test_an_edit_that_makes_no_sense_is_an_error(edit: Edit) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        apply(ROW, edit)


@pytest.mark.parametrize("index", range(50))
def test_everything_of_the_benchmark_stands_in_the_picture(index: int) -> None:
    for seed in range(4):
        planned = plan(index, seed, 256, 192)
        for scene in (planned.scene, apply(planned.scene, planned.edit)):
            names = [thing.name for thing in scene.things]
            assert len(names) == len(set(names))
            for thing in scene.things:
                assert 0.03 < thing.x < 0.97, thing
                assert 0.2 < thing.depth < 0.95, thing
                assert not thing.on or thing.on in names


# What is meant can be taken in one way only ------------------------------------------------------------------------


def references(edit: Edit) -> Iterator[Reference]:
    for reference in (edit.target, edit.anchor):
        while reference is not None:
            yield reference
            reference = reference.anchor


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("index", range(50))
def test_a_rank_is_the_same_in_truth_and_as_it_is_seen(index: int, seed: int) -> None:
    """The largest one is seen largest, the second from the left is it by its middle and by both of its edges."""
    planned = plan(index, seed, 160, 120)
    ranked = [reference for reference in references(planned.edit) if reference.ranking]
    if not ranked:
        return
    seen = draw(planned.scene).silhouettes
    for reference in ranked:
        boxes = {thing.name: seen[thing.name].getbbox() or (0, 0, 0, 0) for thing in alike(planned.scene, reference)}
        ways: dict[str, tuple[Callable[[tuple[int, int, int, int]], int], ...]] = {
            "left": (lambda box: box[0], lambda box: box[2]),
            "right": (lambda box: -box[0], lambda box: -box[2]),
            "largest": (lambda box: box[0] - box[2], lambda box: box[1] - box[3]),
            "smallest": (lambda box: box[2] - box[0], lambda box: box[3] - box[1]),
            "nearest": (lambda box: -box[3],),
            "farthest": (lambda box: box[3],),
        }
        for way in ways[reference.ranking]:
            in_order = sorted(boxes, key=lambda name, way=way: way(boxes[name]))
            assert in_order[reference.rank - 1] == resolve(planned.scene, reference).name, reference
