"""`scene_judge`: judges edits of the benchmark `scenes` by their pixels, against the right edit, which it draws itself.

It is told nothing but what any judge is told: source, edit, instruction and category. The source carries its scene;
the scenes' grammar reads the instruction; the scene draws the right edit; `Comparison` measures.

The score is built as the packaged rubrics lay down: from the baseline 5.000, each of five criteria raises or lowers it
by up to 1.000. It answers in the form that the question asks for. By a schema: under the name of each of its criteria a
number or a letter, and a letter for how much of the change was made. By labels: their probabilities, of the whole score
or of the item that the question is named after. Else five lines and a last line with the score where the prompt shows
such a line (`Score: X.XXX`) or where there is no prompt at all, the bare number otherwise.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from PIL import Image

from edit_eval.errors import ModelError
from edit_eval.judges.contract import JudgeRequest
from edit_eval.records import Reply
from edit_eval.scenes.comparison import Comparison
from edit_eval.scenes.edits import Edit
from edit_eval.scenes.language import language_of, read
from edit_eval.scenes.scene import Scene, scene_of

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
    measure: Callable[[Comparison], float]
    """From 0 to 1."""
    words: str
    """What is measured, with its verb, as the beginning of a sentence."""


CRITERIA: Mapping[str, tuple[Criterion, ...]] = {
    "physical": (
        Criterion("Gravity and support", lambda c: c.weakest, "everything that has to move or rest is"),
        Criterion("Perspective and scale", lambda c: c.outline, "place and size of what is edited are"),
        Criterion("Light and shadow", lambda c: c.shadow, "the shadow on the ground is"),
        Criterion("Material and surface", lambda c: c.material, "colour and surface of what is edited are"),
        Criterion("Anatomy and structure", lambda c: c.kept, "the rest of the scene is"),
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
        Criterion("Inclusivity", lambda c: c.kept, "everybody and everything else are"),
    ),
    "causal": (
        Criterion("Action and reaction", lambda c: (c.subject_done + c.weakest) / 2, "what is acted upon is"),
        Criterion("Temporal sequence", lambda c: c.vacated, "the passing of the earlier state is"),
        Criterion("Conditions", lambda c: c.effects, "what has to follow elsewhere is"),
        Criterion("Environmental impact", lambda c: c.around, "the trace on ground, light and shadow is"),
        Criterion("Plausibility", lambda c: c.kept, "all that has no reason to change is"),
    ),
    "referential": (
        Criterion("Right entity", lambda c: c.subject_done, "the thing that is meant is"),
        Criterion("Spatial terms", lambda c: c.aim * c.subject_done**0.5, "the place of the change is"),
        Criterion("Attributes", lambda c: c.attribute, "the change itself is"),
        Criterion("Disambiguation", lambda c: c.twins_kept, "the choice among alike things is"),
        Criterion("Preservation of the rest", lambda c: c.kept, "the rest of the scene is"),
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

    @dataclass(frozen=True)
    class Parameters:
        __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012

        seconds: float = 0.0
        """How long an answer takes at least, in seconds; for trying out schedules."""

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters

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
            assessed, *others = (_assessed(scene, edit, request.category, request.pictures[one]) for one in edits)
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


def assess(scene: Scene, edit: Edit, category: str, edited: Image.Image) -> list[float]:
    """The share (0 to 1) of each sub-criterion of the category, in order.

    Raises `ValueError` for an unknown category, or an edit that makes no sense in the scene.
    """
    return _assessed(scene, edit, category, edited).shares


def _assessed(scene: Scene, edit: Edit, category: str, edited: Image.Image) -> Assessed:
    if category not in CRITERIA:
        raise ValueError(f"no category of the scenes: {category!r}; there are {', '.join(CRITERIA)}")
    comparison = Comparison(scene, edit, edited)
    gate = comparison.recognisable
    if gate == 0.0:
        return Assessed([0.0] * len(CRITERIA[category]), 0.0)
    shares = [gate * max(0.0, min(1.0, criterion.measure(comparison))) for criterion in CRITERIA[category]]
    return Assessed(shares, gate * comparison.done)


def score(shares: Sequence[float]) -> float:
    """The score from 0 to 10: 5, and for each sub-criterion between -1 (share 0) and 1 (share 1)."""
    return 5.0 + sum(2.0 * share - 1.0 for share in shares)


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
