"""`ladder`: the scenes of an audit. A sample is an instruction and an edit of known worth, for a judge to score;
`scene_rungs` draws the edit. For a judge that is shown two edits a sample has two of known worth, each
drawn by one of two of them."""

from __future__ import annotations

import hashlib
import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from edit_eval.benchmarks.contract import AUDIT, CATEGORIES
from edit_eval.files.durable import write_durably
from edit_eval.plugins.scenes.in_worker import scenarios
from edit_eval.plugins.scenes.in_worker.benchmark import (
    DrawnParameters,
    drawing_digest,
    ensure_scene_file,
    tell_unwritable,
)
from edit_eval.plugins.scenes.in_worker.edits import Edit, apply
from edit_eval.plugins.scenes.in_worker.language import LANGUAGES, describe, write
from edit_eval.plugins.scenes.in_worker.rungs import (
    WRITTEN,
    Climb,
    Recipe,
    Rung,
    another_world,
    climb,
    draw_recipe,
    recipe_of,
    recipe_png,
)
from edit_eval.plugins.scenes.in_worker.scenarios import SCENARIOS, PlannedScene, Scenario, Stage
from edit_eval.records import Picture, Sample

if TYPE_CHECKING:
    from PIL.Image import Image

    from edit_eval.edit_models.contract import EditRequest, OnStep

GRADED = {
    "physical": (scenarios.count, scenarios.place, scenarios.size, scenarios.hue),
    "referential": (scenarios.place_of_one, scenarios.count_of_some, scenarios.size_of_one),
}
"""Categories in which every other scene is one of these."""
BRIEF = (
    ("physical", scenarios.place),
    ("referential", scenarios.size_of_one),
    ("physical", scenarios.count),
    ("referential", scenarios.place_of_one),
    ("physical", scenarios.size),
)
"""What is shown besides, so that each kind of dose has enough scenes (`statistics.audit.order.ENOUGH`): one for each of
the first five of eight scenes, of its rungs only those below, and no other views."""
BRIEFLY = ("right", "dose_75", "dose_50", "dose_25", "wrong_target", "copy")
EXAMINED = (0, 3)
"""Of each eight scenes of a category, those that are shown in all views, too."""


class OtherView(NamedTuple):
    """Another way to show an edit that should change nothing, or everything."""

    name: str
    rungs: tuple[str, ...]
    """What is shown so. `middle` is half of the change, or the right edit with something unasked."""
    finish: str = ""
    """What is done to the picture (`Recipe.finish`)."""
    text: str = ""


PROBED = ("right", "middle", "copy")
VIEWS = (
    OtherView("again", PROBED),  # asked a second time
    OtherView("alone", PROBED),  # asked the very same in a batch of its own, where others are asked in batches
    OtherView("exchanged", PROBED),  # the two pictures in the other order, and the judge is told so
    OtherView("language", PROBED),  # instruction and wording in the other language
    OtherView("jpeg", PROBED, "jpeg"),
    OtherView("level", PROBED, "level"),
    OtherView("size", PROBED, "size"),
    OtherView("words_en", ("other", "copy"), "words", WRITTEN["en"]),
    OtherView("words_zh", ("other", "copy"), "words", WRITTEN["zh"]),
    OtherView("instruction", ("right",)),  # the same pixels under another instruction
    OtherView("source", ("right",)),  # the same pixels beside another source
)
"""How the edits of some scenes are shown besides."""

OF_BATTLES = (
    # better, worse: nobody could see it the other way round
    *(("right", worse) for worse in ("extra", "no_consequence", "dose_75", "dose_50", "dose_25", "wrong_target")),
    *(("right", worse) for worse in ("other", "copy", "shuffled", "blank")),
    ("dose_75", "dose_25"),
    ("dose_50", "copy"),
)
"""The rungs that are held against each other, for a judge that is shown two edits at once."""
BRIEFLY_FOUGHT = (("right", "dose_75"), ("right", "dose_50"), ("right", "dose_25"), ("right", "copy"))
OTHERWISE_FOUGHT = ("again", "instruction", "language", "words_en", "words_zh")
"""Views in which `right` against `other` is shown, too; with words in the picture of `other`."""
SAME = (("right", "right"), ("copy", "copy"))
"""One edit against itself."""


class Ladder:
    """Scenes with edits of known quality, for `edit-eval audit`; nothing to download.

    Each sample is one edit of one scene under one instruction, and `scene_rungs` draws it.
    """

    unlinted = True
    """That scenes come often, with the same instruction, is meant."""

    @dataclass(frozen=True)
    class Parameters(DrawnParameters):
        """What can be set."""

        language: str = "en"
        """Of the instructions: `en` or `zh`."""
        scenes: int = 40
        """Scenes a category."""
        size: int = 512
        """Width of the pictures in pixels; they are three quarters as high."""
        seed: int = 0
        """Another seed gives other scenes."""
        alone: bool = False
        """Whether some edits are judged once more in a batch of their own; for a judge that is asked in batches."""
        battles: bool = False
        """Whether a sample has two edits, the better one and the worse one, for a judge that is shown both."""
        cache_dir: str | None = None
        """Where the drawn sources lie; null: the user's cache."""

        def __post_init__(self) -> None:
            self.check_scenes()
            if not 1 <= self.scenes <= 10_000:
                raise ValueError(f"scenes must be from 1 to 10000, not {self.scenes}")

    def __init__(self, parameters: Parameters) -> None:
        self._parameters = parameters

    @property
    def directory(self) -> Path:
        """Where sources and recipes lie: named by all that decides their bytes."""
        p = self._parameters
        return p.folder / "ladder" / f"{p.size}-seed{p.seed}-{drawing_digest()}"

    def samples(self) -> Iterator[Sample]:
        """All samples, scene by scene; the categories take turns.

        Raises `ConfigurationError` where the cache cannot be written, `Stopped` where the disk is full.
        """
        index = itertools.count()
        for number in range(self._parameters.scenes):
            for category in CATEGORIES:
                yield from self._samples_of_scene(category, number, index)
            if number % 8 < len(BRIEF):
                yield from self._briefly(number, index)

    def _plan(self, category: str, number: int) -> PlannedScene:
        return self._run_scenario(f"{category} {number}", scenario(category, number))

    def _run_scenario(self, name: str, made: Scenario) -> PlannedScene:
        p = self._parameters
        return made(Stage(random.Random(f"ladder {p.seed} {name}"), p.size, round(p.size * 3 / 4)))

    def _samples_of_scene(self, category: str, number: int, index: Iterator[int]) -> Iterator[Sample]:
        show = self._make_sample_maker(category, number, f"{category}-{number:02d}", self._plan(category, number))
        if self._parameters.battles:
            yield from self._battles(show, OF_BATTLES, index, examined=number % 8 in EXAMINED)
            return
        for rung in show.climb.rungs:
            yield show.sample(next(index), rung)
        for view in VIEWS if number % 8 in EXAMINED else ():
            if view.name != "alone" or self._parameters.alone:
                for rung in show.rungs_of_view(view):
                    yield show.sample(next(index), rung, view)

    def _briefly(self, number: int, index: Iterator[int]) -> Iterator[Sample]:
        category, made = BRIEF[number % 8]
        name = f"{category}-brief-{number:02d}"
        show = self._make_sample_maker(category, number, name, self._run_scenario(name, made))
        if self._parameters.battles:
            yield from self._battles(show, BRIEFLY_FOUGHT, index, examined=False)
            return
        there = {rung.name for rung in show.climb.rungs}
        for rung in show.climb.rungs:
            if rung.name in BRIEFLY or (rung.name == "other" and "wrong_target" not in there):
                yield show.sample(next(index), rung)

    @staticmethod
    def _battles(
        show: _SampleMaker, pairs: Sequence[tuple[str, str]], index: Iterator[int], *, examined: bool
    ) -> Iterator[Sample]:
        rungs = {rung.name: rung for rung in show.climb.rungs}
        for better, worse in (*pairs, *(SAME if examined else ())):
            if better in rungs and worse in rungs:
                yield show.sample(next(index), rungs[better], against=rungs[worse])
        for view in VIEWS if examined else ():
            if view.name in OTHERWISE_FOUGHT:
                yield show.sample(next(index), rungs["right"], view, rungs["other"])

    def _make_sample_maker(self, category: str, number: int, name: str, planned: PlannedScene) -> _SampleMaker:
        foreign = self._plan(category, number + 1)
        chance = random.Random(f"rungs {self._parameters.seed} {name}")
        found = climb(planned.scene, planned.edit, apply(foreign.scene, foreign.edit), chance)
        return _SampleMaker(
            self, category, number, name, found, ensure_scene_file(self.directory / f"{name}.png", found.scene)
        )

    def keep(self, data: bytes, name: str) -> Picture:
        """A file of the cache with these bytes."""
        path = self.directory / name
        with tell_unwritable(path.parent):
            if not (path.is_file() and path.read_bytes() == data):
                write_durably(data, path)
        return Picture(path=str(path), digest=hashlib.sha256(data).hexdigest())


class _SampleMaker(NamedTuple):
    """One scene, from which samples are made."""

    ladder: Ladder
    category: str
    number: int
    name: str
    climb: Climb
    source: str
    """The digest of its file."""

    def rungs_of_view(self, view: OtherView) -> Iterator[Rung]:
        """The rungs that the view shows."""
        rungs = {rung.name: rung for rung in self.climb.rungs}
        for name in view.rungs:
            yield rungs[name] if name in rungs else rungs.get("dose_50", rungs["extra"])

    def sample(self, index: int, rung: Rung, view: OtherView | None = None, against: Rung | None = None) -> Sample:
        """One edit, as it is, or in another view; or two, what is done to the picture being done to the worse one."""
        language = self.ladder._parameters.language
        scene, edit, recipe = self.climb.scene, self.climb.edit, rung.recipe
        source = Picture(path=str(self.ladder.directory / f"{self.name}.png"), digest=self.source)
        shown = "" if view is None else view.name
        name = ".".join(filter(None, (self.name, rung.name, "" if against is None else against.name, shown)))
        other = None if against is None else against.recipe
        if view is not None:
            if other is None:
                recipe = _with_finish(recipe, view)
            else:
                other = _with_finish(other, view)
            if shown == "language":
                language = next(other for other in LANGUAGES if other != language)
            elif shown == "instruction":
                edit = self.climb.other
            elif shown == "source":
                scene = another_world(scene)
                path = self.ladder.directory / f"{self.name}.other-source.png"
                source = Picture(path=str(path), digest=ensure_scene_file(path, scene))
        return Sample(
            id=name,
            index=index,
            category=self.category,
            pictures={
                "source": source,
                **{
                    picture: self.ladder.keep(recipe_png(one, name), f"{name}.{file}.png")
                    for picture, file, one in (("source_2", "recipe", recipe), ("source_3", "worse", other))
                    if one is not None
                },
            },
            instruction=self.says(edit, language),
            facts={AUDIT: self.fact(rung, shown, against)},
            cluster=self.name,
            description=describe(scene, language),
            language=language,
            tags=(" ".join(filter(None, (rung.name, "" if against is None else against.name, shown))),),
            instructions={each: self.says(edit, each) for each in LANGUAGES},
            alone=shown == "alone",
        )

    def says(self, edit: Edit, language: str) -> str:
        return write(edit, language, self.number)

    def fact(self, rung: Rung, view: str, against: Rung | None) -> dict[str, Any]:
        fact = {"scene": self.name, "rung": rung.name, "axis": rung.axis, "view": view, "disputed": rung.disputed}
        if against is not None:
            fact |= {"other": against.name, "axis": rung.axis or against.axis}
            fact["disputed"] = rung.disputed or against.disputed
        return {**fact, "seed": self.ladder._parameters.seed}


def scenario(category: str, number: int) -> Scenario:
    """What the scene of that number in the category is made of."""
    own, packaged = GRADED.get(category, ()), SCENARIOS[category]
    if own and number % 2:
        return own[number // 2 % len(own)]
    place = number // 2 if own else number
    return packaged[place % len(packaged)]


def _with_finish(recipe: Recipe, view: OtherView) -> Recipe:
    return replace(recipe, finish=view.finish, text=view.text)


class SceneRungs:
    """Draws what the benchmark `ladder` asks for, right or wrong; of no use for anything else."""

    @dataclass(frozen=True)
    class Parameters:
        """What can be set."""

        draws: str = "source_2"
        """The picture with the recipe: `source_2`; `source_3`, the worse one of two edits."""

    def __init__(self, parameters: Parameters) -> None:
        self._draws = parameters.draws

    @staticmethod
    def revision(parameters: Parameters) -> str:
        """Of the code that draws."""
        return drawing_digest()

    def load(self, devices: Sequence[str]) -> None:
        """Nothing to load; any device will do."""

    def edit(self, request: EditRequest, on_step: OnStep) -> Image:
        """The picture that the recipe among the sources describes. Raises `ModelError` where there is none."""
        pictures = {name: one for name, one in request.pictures.items() if name == self._draws}
        image = draw_recipe(recipe_of(pictures, "scene_rungs"))
        on_step(1, 1)
        return image
