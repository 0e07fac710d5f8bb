"""Judges for the audit's own test: impostors, which must fail, and one that sees all but for one planted fault."""

from __future__ import annotations

import random
import zlib
from functools import lru_cache

from PIL import Image, ImageChops, ImageStat

from edit_eval.benchmarks.contract import AUDIT
from edit_eval.plugins.scenes.in_worker.edits import apply
from edit_eval.plugins.scenes.in_worker.judge import assess, score
from edit_eval.plugins.scenes.in_worker.language import read
from edit_eval.plugins.scenes.in_worker.rungs import Recipe, draw_recipe
from edit_eval.plugins.scenes.in_worker.scene import scene_of
from plugins.audit.ladder_results import Scores, Shown


def changed(shown: Shown) -> float:
    """The share of pixels that differ from the source."""
    edit = shown.edit if shown.edit.size == shown.source.size else shown.edit.resize(shown.source.size)
    grey = ImageChops.difference(shown.source.convert("RGB"), edit).convert("L")
    return ImageStat.Stat(grey.point([255 if v > 10 else 0 for v in range(256)])).mean[0] / 255


def constant(shown: Shown) -> float:
    return 7.0


def instruction_only(shown: Shown) -> float:
    return zlib.crc32(shown.sample.instruction.encode()) % 1001 / 100


def more_change_is_better(shown: Shown) -> float:
    if max(ImageStat.Stat(shown.edit).stddev) < 1:
        return 0.0
    return 10 * changed(shown) ** 0.5


def like_the_source(shown: Shown) -> float:
    return 10 * (1 - changed(shown))


def at_random(shown: Shown) -> float:
    return random.Random(shown.sample.id).uniform(0, 10)


def by_picture_size(shown: Shown) -> float:
    return 8.0 if shown.edit.width >= shown.source.width else 5.0


IMPOSTORS: dict[str, tuple[Scores, str]] = {
    # and the measure that is meant for it
    "constant": (constant, "modal_share"),
    "instruction only": (instruction_only, "right_over_copy"),
    "more change is better": (more_change_is_better, "right_over_other"),
    "like the source": (like_the_source, "right_over_copy"),
    "random": (at_random, "retest"),
    "by picture size": (by_picture_size, "size"),
}


@lru_cache(maxsize=4096)
def _seen(instruction: str, category: str, scene: str, source: int, edit: int) -> float:
    pictures = _pictures[source], _pictures[edit]
    return score(assess(scene_of(pictures[0], "test"), read(instruction), category, pictures[1]).shares)


_pictures: dict[int, Image.Image] = {}


def seeing(shown: Shown) -> float:
    """`scene_judge`, which is asked once about equal pictures."""
    for picture in (shown.source, shown.edit):
        _pictures[id(picture)] = picture
    points = _seen(shown.sample.instruction, shown.sample.category, "", id(shown.source), id(shown.edit))
    if (shown.sample.facts[AUDIT]["rung"], shown.sample.facts[AUDIT]["view"]) == ("right", ""):
        _right[id(shown.source), shown.sample.instruction] = points
    return points


def blind_to_colour(shown: Shown) -> float:
    """Sees that a colour has changed, and not how much of it."""
    fact = shown.sample.facts[AUDIT]
    if fact["axis"] == "hue" or (
        fact["rung"] == "right" and read(shown.sample.instruction).action in ("recolour", "dress")
    ):
        return 8.0 if fact["view"] not in ("instruction", "source") else seeing(shown)
    return seeing(shown)


def loves_the_left_picture(shown: Shown) -> float:
    exchanged = shown.sample.facts[AUDIT]["view"] == "exchanged"
    return min(10.0, seeing(shown) + 3.0 * exchanged)


def believes_written_words(shown: Shown) -> float:
    return 10.0 if shown.sample.facts[AUDIT]["view"].startswith("words") else seeing(shown)


def looks_at_its_batch(shown: Shown) -> float:
    """What is alone in its batch gets a point and a half more."""
    return seeing(shown) + (1.5 if shown.sample.alone and seeing(shown) < 8.5 else -1.5 if shown.sample.alone else 0.0)


def silent_about_flaws(shown: Shown) -> float | None:
    return None if shown.sample.facts[AUDIT]["rung"] in ("other", "extra") else seeing(shown)


PLANTED: dict[str, tuple[Scores, set[str]]] = {
    # and all that the audit is to name
    "blind to colour": (blind_to_colour, {"dose_hue"}),
    "loves the left picture": (loves_the_left_picture, {"position"}),
    "believes written words": (believes_written_words, {"words_en", "words_zh"}),
    "looks at its batch": (looks_at_its_batch, {"batch"}),
}


def favouring(*rungs: str, by: float = 2.0, within: tuple[str, ...] = ()) -> Scores:
    """Sees all, and likes some wrong edits better than right ones: within some categories, or kinds of change."""

    def scores(shown: Shown) -> float:
        fact = shown.sample.facts[AUDIT]
        liked = fact["rung"] in rungs and (not within or bool({shown.sample.category, fact["axis"]} & {*within}))
        return 0.8 * (_as_right(shown) if liked else seeing(shown)) + by * liked

    return scores


def _as_right(shown: Shown) -> float:
    """What the right edit of its scene gets; it is drawn where it was not seen, in the other language."""
    key = id(shown.source), shown.sample.instruction
    _pictures[id(shown.source)] = shown.source
    if key not in _right:
        scene = scene_of(shown.source, "test")
        edit = read(shown.sample.instruction)
        _right[key] = score(assess(scene, edit, shown.sample.category, draw_recipe(Recipe(apply(scene, edit)))).shares)
    return _right[key]


_right: dict[tuple[int, str], float] = {}


def rewards_more_changes(shown: Shown) -> float:
    """Three points more where the asked change is done and something else was changed."""
    return 0.7 * seeing(shown) + 3.0 * (shown.sample.facts[AUDIT]["rung"] in ("extra", "wrong_target"))


DOSES = ("dose_25", "dose_50", "dose_75")
DAMNED: dict[str, tuple[Scores, str, set[str]]] = {
    # the verdict, and what is to be named, of judges that see everything and like something wrong, or do not mind it
    "prefers unasked changes": (favouring("extra"), "failed", {"right_over_extra"}),
    "prefers the wrong target": (favouring("wrong_target"), "failed", {"right_over_wrong_target"}),
    "prefers both": (favouring("extra", "wrong_target"), "failed", {"right_over_extra", "right_over_wrong_target"}),
    "prefers what nothing follows from": (favouring("no_consequence"), "failed", {"right_over_no_consequence"}),
    "prefers half measures": (favouring(*DOSES), "failed", {f"right_over_{dose}" for dose in DOSES}),
    "prefers one dose": (favouring("dose_50"), "failed", {"right_over_dose_50"}),
    "prefers three quarters": (favouring("dose_75"), "failed", {"right_over_dose_75"}),
    "does not mind half": (favouring("dose_50", by=0.0), "limited", {"right_over_dose_50"}),
    "prefers half of a colour": (favouring("dose_50", within=("hue",)), "limited", {"right_over_dose_50 (hue)"}),
    "rewards more changes": (rewards_more_changes, "failed", {"right_over_extra"}),
    "prefers a little, often": (favouring("extra", by=0.1), "failed", {"right_over_extra"}),
    "does not mind unasked changes": (favouring("extra", by=0.0), "limited", {"right_over_extra"}),
    "does not mind what is missing": (favouring("no_consequence", by=0.0), "limited", {"right_over_no_consequence"}),
    "does not mind the wrong target": (favouring("wrong_target", by=0.0), "limited", {"right_over_wrong_target"}),
    "prefers the source in one category": (
        favouring("copy", within=("social",)),
        "limited",
        {"right_over_copy (social)"},
    ),
    "does not mind what is missing in one category": (
        favouring("no_consequence", by=0.0, within=("causal",)),
        "limited",
        {"right_over_no_consequence (causal)"},
    ),
    "prefers unasked changes in one category": (
        favouring("extra", within=("environmental",)),
        "limited",
        {"right_over_extra (environmental)"},
    ),
}
