"""`scene_judge`: judges edits of the benchmark `scenes` by their pixels, against the right edit, which it draws itself.

It is told nothing but what any judge is told: source, edit, instruction and category. The source carries its scene;
the scenes' grammar reads the instruction; the scene draws the right edit; `PixelComparison` measures.

The score is built as the packaged rubrics lay down: from the baseline 5.000, each of five criteria raises or lowers it
by up to 1.000. It answers in the form that the question asks for. By a schema: under the name of each of its criteria a
number or a letter, and a letter for how much of the change was made. By labels: their probabilities, of the whole score
or of the item that the question is named after. Else five lines and a last line with the score where the prompt shows
such a line (`Score: X.XXX`) or where there is no prompt at all, the bare number otherwise.
"""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from operator import mul
from typing import NamedTuple

from PIL import Image, ImageChops, ImageFilter, ImageStat

from edit_eval.errors import ModelError
from edit_eval.judges.contract import JudgeRequest
from edit_eval.plugins.scenes.in_worker.drawing import Drawing, draw
from edit_eval.plugins.scenes.in_worker.edits import Edit, apply, twins
from edit_eval.plugins.scenes.in_worker.language import language_of, read
from edit_eval.plugins.scenes.in_worker.pen import binary, horizon_mask, minus, union
from edit_eval.plugins.scenes.in_worker.scene import Scene, scene_of
from edit_eval.records import Reply
from edit_eval.text import Text

NAME = "scene_judge"
TWO = ("A", "B")
"""How `pairwise` names two edits."""
TIE = 0.05
"""Points by which two edits differ that are equally good."""
SCORE_LINE = re.compile(r"(?:score|综合评分|评分|分数|得分|总分)\s*[:：]\s*X", re.I)
"""By what a prompt shows that it wants reasons, and the score in a line of its own."""


class Criterion(NamedTuple):
    """One of the five sub-criteria of a category; its name is that of the packaged rubrics."""

    name: str
    measure: Callable[[PixelComparison], float]
    """From 0 to 1."""
    words: str
    """What is measured, with its verb, as the beginning of a sentence."""


CRITERIA: Mapping[str, tuple[Criterion, ...]] = {
    "physical": (
        Criterion("Gravity and support", lambda c: c.weakest, "everything that has to move or rest is"),
        Criterion("Perspective and scale", lambda c: c.outline, "place and size of what is edited are"),
        Criterion("Light and shadow", lambda c: c.shadow, "the shadow on the ground is"),
        Criterion("Material and surface", lambda c: c.material, "colour and surface of what is edited are"),
        Criterion("Anatomy and structure", lambda c: c.preservation, "the rest of the scene is"),
    ),
    "environmental": (
        Criterion("Light and time of day", lambda c: c.tone, "the light of the whole picture is"),
        Criterion("Weather and season", lambda c: c.sky, "the sky is"),
        Criterion("Colour and mood", lambda c: c.land, "the colours of the land are"),
        Criterion("Setting", lambda c: c.setting, "the place and its things are"),
        Criterion("Atmospheric effects", lambda c: c.signs, "what light and weather do to things and shadows is"),
    ),
    "social": (
        Criterion("Respectful representation", lambda c: c.people, "how the people are shown is"),
        Criterion("Cultural accuracy", lambda c: c.material, "form and colour of what was asked for are"),
        Criterion("Safety", lambda c: c.footing, "where it stands and what it rests on are"),
        Criterion("Norms of interaction", lambda c: c.subject_done, "the behaviour or custom that was asked for is"),
        Criterion("Inclusivity", lambda c: c.preservation, "everybody and everything else are"),
    ),
    "causal": (
        Criterion("Action and reaction", lambda c: (c.subject_done + c.weakest) / 2, "what is acted upon is"),
        Criterion("Temporal sequence", lambda c: c.removal, "the passing of the earlier state is"),
        Criterion("Conditions", lambda c: c.effects, "what has to follow elsewhere is"),
        Criterion("Environmental impact", lambda c: c.around, "the trace on ground, light and shadow is"),
        Criterion("Plausibility", lambda c: c.preservation, "all that has no reason to change is"),
    ),
    "referential": (
        Criterion("Right entity", lambda c: c.subject_done, "the thing that is meant is"),
        Criterion("Spatial terms", lambda c: c.aim * c.subject_done**0.5, "the place of the change is"),
        Criterion("Attributes", lambda c: c.attribute, "the change itself is"),
        Criterion("Disambiguation", lambda c: c.twins_kept, "the choice among alike things is"),
        Criterion("Preservation of the rest", lambda c: c.preservation, "the rest of the scene is"),
    ),
}

CHINESE = {
    # of each criterion the name, and what is measured
    "Gravity and support": ("重力与支撑", "该移动或该静止的物体"),
    "Perspective and scale": ("透视与比例", "编辑对象的位置与大小"),
    "Light and shadow": ("光照与阴影", "地面上的阴影"),
    "Material and surface": ("材质与表面", "编辑对象的颜色与表面"),
    "Anatomy and structure": ("形体与结构", "场景的其余部分"),
    "Light and time of day": ("光线与时段", "整幅画面的光线"),
    "Weather and season": ("天气与季节", "天空"),
    "Colour and mood": ("色彩与情调", "地面的色彩"),
    "Setting": ("场景设定", "场所及其中的物体"),
    "Atmospheric effects": ("大气效果", "光线与天气对物体和阴影的影响"),
    "Respectful representation": ("形象尊重", "人物的呈现"),
    "Cultural accuracy": ("文化准确", "所要求内容的形式与颜色"),
    "Safety": ("安全无害", "所在的位置与支撑"),
    "Norms of interaction": ("交往得体", "所要求的行为或习俗"),
    "Inclusivity": ("包容多元", "其他的人与物"),
    "Action and reaction": ("作用与反应", "受作用的对象"),
    "Temporal sequence": ("时间先后", "先前状态的消失"),
    "Conditions": ("前提条件", "别处应有的结果"),
    "Environmental impact": ("环境影响", "在地面、光线与阴影上的痕迹"),
    "Plausibility": ("合理可信", "没有理由改变的部分"),
    "Right entity": ("对象正确", "所指的对象"),
    "Spatial terms": ("方位正确", "改动的位置"),
    "Attributes": ("属性正确", "改动本身"),
    "Disambiguation": ("歧义消解", "相似物体之间的选择"),
    "Preservation of the rest": ("其余保留", "场景的其余部分"),
}

GRADES = (
    # from which share on, and the end of the sentence
    (0.90, ("right", "正确")),
    (0.65, ("mostly right", "大致正确")),
    (0.35, ("only partly right", "只有部分正确")),
    (0.08, ("mostly wrong", "大多不对")),
    (0.0, ("entirely wrong", "完全不对")),
)


class SceneJudge:
    """Scores edits of the benchmark `scenes` by their pixels, against the right edit, which it draws itself.

    It answers with a sentence for each of five sub-criteria and a last line `Score: 7.250`, or the score alone, or in
    any other form of `protocol.answer`.
    """

    probabilities = True
    reads = ("instruction", "category", "question")

    @dataclass(frozen=True)
    class Parameters:
        seconds: float = 0.0
        """How long an answer takes at least, in seconds; for trying out schedules."""

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters

    @staticmethod
    def duration_anywhere(parameters: Parameters) -> tuple[float, float, str]:
        """Returns what a plan assumes."""
        return 0.5, 0.2 + parameters.seconds, Text("the built-in models on one CPU core")

    def load(self, devices: Sequence[str]) -> None:
        """Nothing to load; any device will do."""

    def judge(self, requests: Sequence[JudgeRequest]) -> list[str | Reply]:
        """One answer a request. Raises `ModelError` for what is not of the benchmark `scenes`."""
        answers = []
        for request in requests:
            begin = time.monotonic()
            answers.append(self._answer(request))
            left = self._parameters.seconds - (time.monotonic() - begin)
            if left > 0:
                time.sleep(left)
        return answers

    def _answer(self, request: JudgeRequest) -> str | Reply:
        edits = TWO if set(TWO) <= request.pictures.keys() else ("edit",)
        for role in ("source", *edits):
            if role not in request.pictures:
                raise ModelError(f"{NAME} compares source and edit; it was not shown the picture `{role}`")
        scene = scene_of(request.pictures["source"], NAME)
        try:
            edit = read(request.instruction)
            assessed, *others = (assess(scene, edit, request.category, request.pictures[one]) for one in edits)
        except ValueError as error:
            raise ModelError(f"{NAME} cannot judge this: {error}") from error
        for other in others:
            return _preference(request, score(assessed.shares), score(other.shares))
        if request.labels:
            return Reply(values=_probabilities(request, assessed))
        if request.schema:
            return _object(request, assessed)
        shares = assessed.shares
        prompt = f"{request.system}\n{request.user}"
        if prompt.strip() and not SCORE_LINE.search(prompt):
            return f"{score(shares):.3f}"
        return _wording(request.category, shares, language_of(request.instruction))


def _preference(request: JudgeRequest, first: float, second: float) -> str | Reply:
    """The label of the better one of two edits by their scores, in the form that is asked for."""
    label = "AB"[first < second]
    if abs(first - second) < TIE and ("C" in request.labels or '"C"' in request.schema):
        label = "C"
    if request.labels:
        return Reply(values=dict.fromkeys(request.labels, 0.0) | {label: 1.0})
    entries = json.loads(request.schema)["properties"] if request.schema else {}
    if not any(label in entry.get("enum", ()) for entry in entries.values()):
        raise ModelError(f"{NAME} does not know how to prefer one of two edits here: it only knows `pairwise`")
    words = f"A {first:.3f}, B {second:.3f}."
    return json.dumps({name: label if "enum" in entry else words for name, entry in entries.items()})


class Assessed(NamedTuple):
    """What was measured of an edit, from 0 to 1."""

    shares: list[float]
    """Of each sub-criterion of the category, in order."""
    done: float
    """Of the change that was asked for."""


def assess(scene: Scene, edit: Edit, category: str, edited: Image.Image) -> Assessed:
    """Raises `ValueError` for an unknown category, or an edit that makes no sense in the scene."""
    if category not in CRITERIA:
        raise ValueError(f"no category of the scenes: {category!r}; there are {', '.join(CRITERIA)}")
    if edited.convert("RGB").getcolors(1):
        apply(scene, edit)
        return Assessed([0.0] * len(CRITERIA[category]), 0.0)  # `recognisable` is 0: nothing is to be drawn for that
    comparison = PixelComparison(scene, edit, edited)
    gate = comparison.recognisable
    if gate == 0.0:
        return Assessed([0.0] * len(CRITERIA[category]), 0.0)
    shares = [gate * max(0.0, min(1.0, criterion.measure(comparison))) for criterion in CRITERIA[category]]
    return Assessed(shares, gate * comparison.completion)


def score(shares: Sequence[float]) -> float:
    """The score from 0 to 10: 5, and for each sub-criterion between -1 (share 0) and 1 (share 1)."""
    return 5.0 + math.fsum(2.0 * share - 1.0 for share in shares)


def _criteria(category: str, shares: Sequence[float]) -> dict[str, float]:
    """The shares by the names of their criteria, in both languages."""
    names = [criterion.name for criterion in CRITERIA[category]]
    return dict(zip([*names, *(CHINESE[name][0] for name in names)], [*shares, *shares], strict=True))


def _letter(letters: Sequence[str], done: float) -> str:
    """Of the letters for how much was made, all of it first and nothing last, the one that is right."""
    least = [0.9, *([0.5] if len(letters) > 3 else []), 0.02][-(len(letters) - 1) :]
    return next((letter for letter, share in zip(letters, least, strict=False) if done >= share), letters[-1])


def _probabilities(request: JudgeRequest, assessed: Assessed) -> dict[str, float]:
    """Those of a question's labels: the two that a share lies between, so that it is what is expected.

    Digits, for the whole score, run from the worst to the best, letters, for one item, from the best to the worst.
    """
    share = _criteria(request.category, assessed.shares).get(request.question)
    if share is None and not request.labels[0].isdigit():
        return dict.fromkeys(request.labels, 0.0) | {_letter(request.labels, assessed.done): 1.0}
    labels = request.labels if share is None else request.labels[::-1]
    place = (score(assessed.shares) / 10 if share is None else share) * (len(labels) - 1)
    below = min(int(place), len(labels) - 2)
    return dict.fromkeys(request.labels, 0.0) | {labels[below]: 1 - (place - below), labels[below + 1]: place - below}


def _object(request: JudgeRequest, assessed: Assessed) -> str:
    """The object that a schema asks for, its entries in order. Raises `ModelError` for a schema of another kind."""
    said: dict[str, str | float] = {}
    criteria, language = _criteria(request.category, assessed.shares), language_of(request.instruction)
    for name, entry in json.loads(request.schema)["properties"].items():
        if name in criteria and "enum" in entry:  # the best first
            said[name] = entry["enum"][round((1 - criteria[name]) * (len(entry["enum"]) - 1))]
        elif name in criteria:
            said[name] = round(entry["minimum"] + criteria[name] * (entry["maximum"] - entry["minimum"]), 3)
        elif "enum" in entry:
            said[name] = _letter(entry["enum"], assessed.done)
        elif entry["type"] == "string":
            said[name] = _wording(request.category, assessed.shares, language).rpartition("\n")[0]
        else:
            raise ModelError(f"{NAME} does not know what to write under `{name}`: it only knows the rubrics")
    return json.dumps(said, ensure_ascii=False)


def _wording(category: str, shares: Sequence[float], language: str) -> str:
    lines = []
    for criterion, share in zip(CRITERIA[category], shares, strict=True):
        grade = next(words for least, words in GRADES if share >= least)
        if language == "zh":
            name, words = CHINESE[criterion.name]
            lines.append(f"{name} {2 * share - 1:+.3f}：{words}{grade[1]}。")
        else:
            lines.append(f"{criterion.name} {2 * share - 1:+.3f}: {criterion.words} {grade[0]}.")
    label = "评分：" if language == "zh" else "Score: "
    lines.append(f"{label}{score(shares):.3f}")
    return "\n".join(lines)


# -- measures on the pixels of an edit, against the source and the right edit, both of which are known --
#
# All measures are shares from 0 to 1. They are taken over regions that the two scenes tell: the thing that is to
# change, its shadow, what else answers, and all that is to stay. Pillow only.

VISIBLE = 7
"""A difference of so many levels (of 255) counts as a change."""
TOLERANCE = (5, 34)
"""In what is to stay, differences up to the first are nothing, from the second on all is lost."""


KEPT = 96 << 20
"""Bytes of drawings that are kept: some 130 of 512 x 384 pixels."""


class _Packed(NamedTuple):
    """A drawing of which each mask is kept where it is not black, a fifth of the whole."""

    image: Image.Image
    silhouettes: dict[str, _Part]
    shadows: dict[str, _Part]

    @property
    def size(self) -> int:
        """Bytes."""
        masks = [part for parts in (self.silhouettes, self.shadows) for _, part in parts.values() if part]
        return 3 * self.image.width * self.image.height + sum(part.width * part.height for part in masks)


_Part = tuple[tuple[int, int, int, int], Image.Image | None]
"""Where a mask is not black, and what it is there."""


class _Drawings:
    """Draws scenes, and keeps those asked for last: nearly all of a judge's time is drawing, and a sample comes back as
    the edit of another model, and as a control."""

    def __init__(self) -> None:
        self._kept: dict[Scene, _Packed] = {}
        self._bytes = 0

    def drawing_of(self, scene: Scene) -> Drawing:
        """The drawing of a scene; whoever asks may have it as his own, but for its picture."""
        packed = self._kept.pop(scene, None)
        if packed is None:
            drawing = draw(scene)
            packed = _Packed(drawing.image, _parts(drawing.silhouettes), _parts(drawing.shadows))
            self._bytes += packed.size
        else:
            size = packed.image.size
            drawing = Drawing(scene, packed.image, _masks(packed.silhouettes, size), _masks(packed.shadows, size))
        self._kept[scene] = packed
        while self._bytes > KEPT and len(self._kept) > 1:
            self._bytes -= self._kept.pop(next(iter(self._kept))).size
        return drawing


_drawing_of = lru_cache(maxsize=8)(_Drawings().drawing_of)
"""Several edits of one sample are judged one after the other. Nobody here draws on what it gives."""


def _parts(masks: Mapping[str, Image.Image]) -> dict[str, _Part]:
    boxes = {name: mask.getbbox() for name, mask in masks.items()}
    return {name: (box, masks[name].crop(box)) if box else ((0, 0, 0, 0), None) for name, box in boxes.items()}


def _masks(parts: Mapping[str, _Part], size: tuple[int, int]) -> dict[str, Image.Image]:
    masks = {name: Image.new("L", size, 0) for name in parts}
    for name, (box, part) in parts.items():
        if part is not None:
            masks[name].paste(part, box)
    return masks


def _area(mask: Image.Image) -> int:
    """Pixels of a binary mask."""
    return mask.histogram()[255]


def _total(values: Image.Image, mask: Image.Image) -> float:
    """The sum of a picture's values where the mask is."""
    return float(ImageStat.Stat(values, mask).sum[0]) if mask.getbbox() else 0.0


def difference(first: Image.Image, second: Image.Image) -> Image.Image:
    """The largest difference of the three channels, pixel by pixel (L)."""
    red, green, blue = ImageChops.difference(first, second).split()
    return ImageChops.lighter(ImageChops.lighter(red, green), blue)


def share_made(span: Image.Image, error: Image.Image, region: Image.Image) -> float | None:
    """sum(max(0, span - error)) / sum(span) over the region; None where nothing was to change."""
    wanted = _total(span, region)
    return _total(ImageChops.subtract(span, error), region) / wanted if wanted > 0 else None


def _drop_missing(shares: Iterable[float | None]) -> list[float]:
    return [share for share in shares if share is not None]


def _mean(shares: Iterable[float | None]) -> float | None:
    """Of those that are known; None where none is."""
    known = _drop_missing(shares)
    return math.fsum(known) / len(known) if known else None


def _small(image: Image.Image, size: tuple[int, int]) -> Image.Image:
    return image.convert("L").resize(size, Image.Resampling.BOX)


def correlation(first: Image.Image, second: Image.Image) -> float:
    """Pearson's correlation of two L pictures of one size, from -1 to 1; 0 where one of them is uniform."""
    x, y = first.tobytes(), second.tobytes()
    size, sum_x, sum_y = len(x), sum(x), sum(y)  # whole numbers: exact, and three times as fast as `statistics`
    variances = (size * sum(map(mul, x, x)) - sum_x**2) * (size * sum(map(mul, y, y)) - sum_y**2)
    return (size * sum(map(mul, x, y)) - sum_x * sum_y) / math.sqrt(variances) if variances else 0.0


class PixelComparison:
    """One edited picture, measured. A picture of another size is brought to the source's first."""

    def __init__(self, scene: Scene, edit: Edit, edited: Image.Image) -> None:
        """Raises `ValueError` where the edit makes no sense in the scene."""
        self.edit = edit
        self.source: Drawing = _drawing_of(scene)
        self.right: Drawing = _drawing_of(apply(scene, edit))
        size = self.source.image.size
        picture = edited.convert("RGB")
        if picture.size != size:
            picture = picture.resize(size, Image.Resampling.LANCZOS)
        self.edited = picture
        self._radius = scene.height / 320
        self._soft_edited = self._soft(picture)
        self._soft_source = self._soft(self.source.image)
        self._soft_right = self._soft(self.right.image)
        self.span = difference(self._soft_source, self._soft_right)
        """How far the source is from the right edit, pixel by pixel."""
        self.error = difference(self._soft_edited, self._soft_right)
        self.made = difference(self._soft_edited, self._soft_source)
        self.changed = binary(difference(self.source.image, self.right.image), VISIBLE)
        """Where the right edit is not the source."""

    def _soft(self, image: Image.Image) -> Image.Image:
        return image.filter(ImageFilter.GaussianBlur(self._radius))

    def _union(self, masks: Iterable[Image.Image]) -> Image.Image:
        return union(self.changed.size, masks)

    # What is what -----------------------------------------------------------------------------------------------

    @cached_property
    def _subjects(self) -> frozenset[str]:
        """The things that are not the same in both scenes."""
        before, after = self.source.scene, self.right.scene
        old = {thing.name: (thing, before.lift(thing)) for thing in before.things}
        new = {thing.name: (thing, after.lift(thing)) for thing in after.things}
        return frozenset(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))

    def _silhouettes_of(self, name: str) -> tuple[Image.Image, Image.Image]:
        """Where a thing is seen before and after; nowhere is black."""
        nowhere = self._union(())
        return self.source.silhouettes.get(name, nowhere), self.right.silhouettes.get(name, nowhere)

    def _body(self, name: str) -> Image.Image:
        """Where a thing is seen before or after, and changes."""
        return ImageChops.darker(binary(ImageChops.lighter(*self._silhouettes_of(name))), self.changed)

    @cached_property
    def bodies(self) -> dict[str, Image.Image]:
        """Where each thing that is to change does change."""
        return {name: self._body(name) for name in sorted(self._subjects)}

    @cached_property
    def subject(self) -> Image.Image:
        return self._union(self.bodies.values())

    @cached_property
    def others(self) -> dict[str, Image.Image]:
        """Where the other things change as well: lit, bent, mirrored, covered with snow."""
        names = sorted((self.source.silhouettes.keys() | self.right.silhouettes.keys()) - self._subjects)
        return {name: minus(self._body(name), self.subject) for name in names}

    @cached_property
    def _things(self) -> Image.Image:
        return self._union([self.subject, *self.others.values()])

    @cached_property
    def shade(self) -> Image.Image:
        """Where shadows come or go on the ground."""
        before, after = self._union(self.source.shadows.values()), self._union(self.right.shadows.values())
        moved = binary(ImageChops.difference(before, after), 24)
        return minus(ImageChops.darker(moved, self.changed), self._things)

    @cached_property
    def surroundings(self) -> Image.Image:
        """What else changes: ground, water, sky."""
        return minus(minus(self.changed, self._things), self.shade)

    @cached_property
    def _near(self) -> Image.Image:
        """The change and a narrow rim about it."""
        return self.changed.filter(ImageFilter.MaxFilter(5))

    @cached_property
    def rest(self) -> Image.Image:
        """What is to stay as it is."""
        return ImageChops.invert(self._near)

    # Measures ---------------------------------------------------------------------------------------------------

    def change_share(self, region: Image.Image) -> float | None:
        """Share of the change asked for in a region that was made: 0 for the source, 1 for the right edit.

        None for a region without a change.
        """
        if _area(region) < 0.00012 * region.width * region.height:
            return None
        return share_made(self.span, self.error, region)

    @cached_property
    def completion(self) -> float:
        """Share of the whole change that was made."""
        return self.change_share(self.changed) or 0.0

    def _or_done(self, share: float | None) -> float:
        return self.completion if share is None else share

    @cached_property
    def subject_done(self) -> float:
        return self._or_done(self.change_share(self.subject))

    @cached_property
    def weakest(self) -> float:
        """The least changed of the things that are to change."""
        known = _drop_missing(map(self.change_share, self.bodies.values()))
        return min(known) if known else self._or_done(self.others_done)

    def _share_of_moves(self, part: Callable[[Image.Image, Image.Image], Image.Image]) -> float:
        """The share over a part of where each of the things that are to change is seen before and after."""
        parts = [binary(part(*self._silhouettes_of(name))) for name in self._subjects]
        return self._or_done(self.change_share(ImageChops.darker(self._union(parts), self.changed)))

    @cached_property
    def outline(self) -> float:
        """Whether things are, and are no longer, where they should be: over all that changed hands."""
        return self._share_of_moves(ImageChops.difference)

    @cached_property
    def removal(self) -> float:
        """Whether the old state is gone, where things have left."""
        return self._share_of_moves(minus)

    @cached_property
    def shadow(self) -> float:
        """The changed shadows; where there are none, the change as a whole."""
        return self._or_done(self.change_share(self.shade))

    @cached_property
    def material(self) -> float:
        """The mean colour of what is to change, wherever its texture may lie; part by part."""
        masks = list(self.bodies.values()) or list(self.others.values())
        shares, weights = 0.0, 0.0
        for mask in masks:
            if _area(mask) < 12:
                continue
            means = [ImageStat.Stat(image, mask).mean for image in (self.edited, self.source.image, self.right.image)]
            span = math.dist(means[1], means[2])
            if span < 2.0:
                continue
            shares += _area(mask) * max(0.0, 1.0 - math.dist(means[0], means[2]) / span)
            weights += _area(mask)
        return shares / weights if weights else self.completion

    @cached_property
    def others_done(self) -> float | None:
        """The other things' share, each thing counting alike; None where no other thing is to change."""
        return _mean(map(self.change_share, self.others.values()))

    @cached_property
    def effects(self) -> float:
        """What answers: the other things and the surroundings, each counting half."""
        share = _mean((self.others_done, self.change_share(self.surroundings)))
        return self.shadow if share is None else share

    @cached_property
    def around(self) -> float:
        """Shadows and surroundings, each counting half."""
        return self._or_done(_mean(map(self.change_share, (self.shade, self.surroundings))))

    def _preservation_of(self, region: Image.Image) -> float | None:
        """Share of a region that is as it was; None for one of hardly any pixels."""
        area = _area(region)
        if area < 12:
            return None
        low, high = TOLERANCE
        lost = self.made.point([max(0, min(255, (value - low) * 255 // (high - low))) for value in range(256)])
        return 1.0 - _total(lost, region) / 255 / area

    def _things_kept(self, names: Iterable[str]) -> list[float]:
        """Of each of these things, the share of its outline in the source, what changes anyway aside."""
        outlines = (binary(self.source.silhouettes[name]) for name in names)
        return _drop_missing(self._preservation_of(ImageChops.darker(outline, self.rest)) for outline in outlines)

    @cached_property
    def preservation(self) -> float:
        """Whether the rest is as it was: half the whole of it, half the thing that suffered most."""
        whole = self._preservation_of(self.rest)
        if whole is None:
            return self.setting
        return (whole + min([whole, *self._things_kept(self.source.silhouettes)])) / 2

    @cached_property
    def setting(self) -> float:
        """Whether everything is still in its place, whatever the light: the fine detail of source or right edit."""
        size = (self.changed.width // 2, self.changed.height // 2)

        def detail(image: Image.Image) -> Image.Image:
            grey = _small(image, size)
            wide = grey.filter(ImageFilter.GaussianBlur(self._radius * 4))
            return ImageChops.subtract(grey, wide, scale=1.0, offset=128)

        return self._likeness(detail, 0.15, 0.75)

    def _likeness(self, view: Callable[[Image.Image], Image.Image], least: float, span: float) -> float:
        """How like the source or the right edit this is in a view: 0 at a correlation of `least`, 1 at `span` above."""
        mine, *known = map(view, (self.edited, self.source.image, self.right.image))
        found = max(correlation(mine, one) for one in known)
        return max(0.0, min(1.0, (found - least) / span))

    def _broad(self, region: Image.Image, radius: float) -> float:
        """The share of change in the broad colours of a region, details left aside."""
        blur = ImageFilter.GaussianBlur(radius)
        source, right, edited = (one.filter(blur) for one in (self.source.image, self.right.image, self.edited))
        return self._or_done(share_made(difference(source, right), difference(edited, right), region))

    def _band(self, sky: bool) -> Image.Image:
        return minus(horizon_mask(self.changed.size, sky=sky), self._things)

    @cached_property
    def tone(self) -> float:
        """The light of the whole picture."""
        return self._broad(Image.new("L", self.changed.size, 255), self._radius * 16)

    @cached_property
    def sky(self) -> float:
        return self._broad(self._band(sky=True), self._radius * 5)

    @cached_property
    def land(self) -> float:
        return self._broad(self._band(sky=False), self._radius * 5)

    @cached_property
    def signs(self) -> float:
        """What the change does to things and shadows: lit windows, snow on roofs, shadows that go."""
        return self._or_done(_mean((self.others_done, self.change_share(self.subject), self.change_share(self.shade))))

    @cached_property
    def people(self) -> float:
        """The people that are to change; where none are, those that are to stay, as far as anything was done."""
        scene = self.right.scene
        names = {thing.name for thing in (*scene.things, *self.source.scene.things) if thing.kind == "person"}
        known = _drop_missing(self.change_share(body) for name, body in self.bodies.items() if name in names)
        if known:
            return (min(known) + math.fsum(known) / len(known)) / 2
        return self.completion * min(self._things_kept(names), default=1.0)

    @cached_property
    def footing(self) -> float:
        """Whether what was moved or built stands where it belongs and on the ground."""
        return (self.outline + self.shadow) / 2

    @cached_property
    def attribute(self) -> float:
        """Whether what was asked for was done to any of the alike things, the right one or a wrong one."""
        best = self.completion
        if best < 0.5:
            for twin in twins(self.source.scene, self.edit):
                try:
                    wrong = apply(self.source.scene, self.edit, twin)
                except ValueError:
                    continue
                best = max(best, self._match_share(_drawing_of(wrong)))
        return best

    def _match_share(self, wrong: Drawing) -> float:
        """How far the picture is this wrong edit."""
        soft = self._soft(wrong.image)
        span, error = difference(self._soft_source, soft), difference(self._soft_edited, soft)
        region = binary(difference(self.source.image, wrong.image), VISIBLE)
        return share_made(span, error, region) or 0.0

    @cached_property
    def aim(self) -> float:
        """Of all that was changed, the share that lies where something was to change."""
        low = TOLERANCE[0]
        made = self.made.point([max(0, value - low) for value in range(256)])
        whole = _total(made, Image.new("L", made.size, 255))
        wanted = _total(self.span, self.changed)
        if whole <= 0.02 * wanted:
            return 0.0
        return _total(made, self._near) / whole

    @cached_property
    def twins_kept(self) -> float:
        """Whether the alike things are as they were, as far as anything was done at all."""
        kept = self._things_kept(twin.name for twin in twins(self.source.scene, self.edit))
        return max(self.attribute, self.subject_done) * min(kept, default=1.0)

    @cached_property
    def recognisable(self) -> float:
        """Whether this is a picture of the scene at all: 0 for a blank or a foreign one, 1 for any honest edit."""
        return self._likeness(lambda image: _small(image, (64, 48)), 0.3, 0.4)
