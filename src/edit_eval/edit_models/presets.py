"""What has to be known of a diffusers pipeline to edit with it, and of a published model: the form of two tables.

The rows are in `preset_table.py` and `release_table.py`. The adapter (`diffusers.py`) has one way through, and reads
here whatever differs.
Standard library only: `plan`, `doctor` and keys read it, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from edit_eval.errors import ConfigurationError

UNKNOWN = "not established"
"""Stands where nobody has looked it up in a primary source."""


@dataclass(frozen=True, kw_only=True)
class Canvas:
    """The size of an edit, and who sees to it."""

    rule: str
    """For people: what it is where no size is given."""
    area: int | None = None
    """Pixels: height and width are computed here, with this area and the source's shape, and passed. None: they are
    not passed, and the pipeline does as its rule says."""
    source_sized: bool = False
    """Height and width of the first source, cut to multiples, are passed."""
    multiple: int = 16
    """Of the sides that are computed here."""
    lever: str = ""
    """What the parameter `canvas` (an area) changes besides: `calculate_dimensions`, a function of the pipeline's
    module; or an argument of the call, and as which `unit`."""
    unit: str = "area"
    """`area` or `side` (its root)."""

    @property
    def movable(self) -> bool:
        """Whether another area can be asked for."""
        return self.area is not None or bool(self.lever)


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """A class of diffusers: what its call takes, what comes back, and what one would stumble over."""

    name: str
    family: str
    """What people call it."""
    encoder: str = ""
    """The family of the vision-language model that reads the instruction, and perhaps the source, as
    `judges/judge_table.py` calls it: a judge may prefer its own. Empty: it is no model that judges are of."""
    source: str = "image"
    """The argument that takes the sources."""
    most_sources: int | None = 1
    """None: any number. Where it is 1 the argument takes a picture, else a list of them."""
    longest: int | None = None
    """A source may be so many times as long as wide, where the processor of its text encoder refuses longer ones."""
    steps: int | None = None
    """None: as the class has it."""
    guidance: Mapping[str, float] = field(default_factory=dict)
    """Each argument that weighs something, with what is passed where nothing else is said."""
    negative: str | None = None
    """The negative prompt where nothing else is said; None: none is passed."""
    negative_argument: str = "negative_prompt"
    """Empty for a class that takes none."""
    without_negative: str = ""
    """The weight that does nothing, in silence, unless a negative prompt is passed: above 1 one always is."""
    sized: bool = True
    """Whether the call takes height and width."""
    snaps: bool = False
    """It takes them, and makes the nearest of its own shapes: no size can be asked for."""
    with_size: Mapping[str, Any] = field(default_factory=dict)
    """What is passed where a size is asked for, lest it be overruled; the value `area` stands for its pixels."""
    canvas: Canvas
    result: str = "images"
    """Attribute of what comes back that holds the pictures."""
    video: bool = False
    """What comes back is a list of videos; the edit is the last frame of the first."""
    prompt: str = "text"
    """A key of `PROMPTS`."""
    call: Mapping[str, Any] = field(default_factory=dict)
    """What is always passed, unless the parameter `call` says otherwise."""
    load: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By part, keywords of `from_pretrained`, unless the parameter `load` says otherwise."""
    variants: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Where an entry of `model_index.json` is true: `num_inference_steps` and weights that then count."""
    rewriting: str = ""
    """The argument (of a modular pipeline the block) that has the prompt rewritten before the edit; off unless the
    parameter `call` has it."""
    cuts_source: bool = False
    """The source is cropped to a table of shapes: the edit shows less than the source does."""
    notes: tuple[str, ...] = ()
    """What else one should know; recorded with every run."""
    figures: str
    """Where steps and weights come from."""
    modular: bool = False
    """A modular pipeline: blocks with inputs in place of a call with arguments; `rewriting` names a block of it."""
    guessed: bool = False
    """Read off the signature of a class that nobody has looked at."""


@dataclass(frozen=True, kw_only=True)
class Release:
    """Published weights of a pipeline, by their name on the Hub."""

    name: str
    pipeline: str
    licence: str = UNKNOWN
    gated: bool | None = None
    """Whether terms have to be accepted on the Hub; None: not established."""
    parts: Mapping[str, float] = field(default_factory=dict)
    """10^9 parameters by part; a VAE may be missing. Empty: not established."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """`num_inference_steps`, weights, `negative_prompt` and `area` that differ from the pipeline's."""
    revision: str | None = None
    """The branch that holds the files in diffusers' form, where it is not the main one."""
    environment: str = ""
    """What it needs besides `edit-eval[diffusers]`."""
    figures: str


@dataclass(frozen=True)
class Settings:
    """What is passed to a pipeline's call for every edit."""

    pipeline: Pipeline
    release: Release | None
    steps: int | None
    guidance: Mapping[str, float]
    negative: str | None
    canvas: int | None
    """The area that height and width are computed for; None where they are not computed."""
    call: Mapping[str, Any]

    @property
    def plain(self) -> dict[str, Any]:
        """What decides pixels, for keys."""
        return {
            "pipeline": self.pipeline.name,
            "num_inference_steps": self.steps,
            "guidance": dict(self.guidance),
            "negative_prompt": self.negative,
            "area": self.canvas,
            "prompt": self.pipeline.prompt,
            "call": dict(self.call),
            "dtypes": {part: dict(keywords) for part, keywords in self.pipeline.load.items()},
        }


def _text(instruction: str, sources: int) -> str:
    return instruction


def _with_tags(instruction: str, sources: int) -> str:
    tags = [f"<img><|image_{number}|></img>" for number in range(1, sources + 1)]
    return " ".join([*(tag for tag in tags if tag not in instruction), instruction])


def _as_json(instruction: str, sources: int) -> str:
    try:
        given = json.loads(instruction)
    except ValueError:
        given = None
    if isinstance(given, dict) and "edit_instruction" in given:  # the benchmark speaks the model's own language
        return instruction
    return json.dumps({"edit_instruction": instruction}, ensure_ascii=False)


PROMPTS: dict[str, Callable[[str, int], str]] = {"text": _text, "tags": _with_tags, "json": _as_json}
"""Of an instruction and the number of its sources, the prompt: as it is; with a tag for each picture in front; as a
JSON document with the key `edit_instruction`. An instruction that has that form already stays as it is."""


def settle(
    index: Mapping[str, Any], pipeline: Pipeline, release: Release | None, wanted: Mapping[str, Any]
) -> Settings:
    """What is passed where `wanted` (None: whatever is recommended) leaves something open.

    The pipeline's own defaults count least, then what its variant needs, then the release, then what is wanted. `index`
    is `model_index.json`, of which an entry may name the variant; for a release the table says all.

    Raises `ConfigurationError`, the parameter's name in front, for what this class does not take.
    """
    values: dict[str, Any] = {"num_inference_steps": pipeline.steps, **pipeline.guidance}
    values |= {"negative_prompt": pipeline.negative, "area": pipeline.canvas.area}
    for entry, variant in pipeline.variants.items():
        values |= variant if index.get(entry) and release is None else {}
    values |= release.settings if release else {}
    for name, value in wanted.items():
        if name == "negative_prompt" and value is not None and not pipeline.negative_argument:
            raise ConfigurationError(f"negative_prompt: {pipeline.name} takes none; leave it out")
        if name in ("num_inference_steps", "negative_prompt") and value is not None:
            values[name] = value
    for name, weight in (wanted.get("guidance") or {}).items():
        if name not in pipeline.guidance and not pipeline.guessed:
            there = ", ".join(pipeline.guidance)
            raise ConfigurationError(
                f"guidance: {pipeline.name} has no {name}; it has {there}"
                if there
                else f"guidance: {pipeline.name} has none; leave it out"
            )
        values[name] = weight
    weight = values.get(pipeline.without_negative) or 0
    if pipeline.without_negative and values["negative_prompt"] is None and weight > 1:
        values["negative_prompt"] = " "
    call = dict(pipeline.call)
    if canvas := wanted.get("canvas"):
        if not pipeline.canvas.movable:
            raise ConfigurationError(f"canvas: {pipeline.name} has none of its own ({pipeline.canvas.rule})")
        values["area"] = canvas if pipeline.canvas.area is not None else None
        if pipeline.canvas.lever and pipeline.canvas.lever != "calculate_dimensions":
            call[pipeline.canvas.lever] = round(canvas**0.5) if pipeline.canvas.unit == "side" else canvas
    guidance = {name: values[name] for name in (*pipeline.guidance, *(wanted.get("guidance") or {}))}
    return Settings(
        pipeline, release, values["num_inference_steps"], guidance, values["negative_prompt"], values["area"], call
    )


def size_for(canvas: Canvas, area: int | None, source: tuple[int, int]) -> tuple[int, int] | None:
    """(width, height) to be passed for a source of that size; None where the pipeline is left to its rule."""
    width, height = source
    if canvas.source_sized:
        return _cut(width, canvas.multiple), _cut(height, canvas.multiple)
    if area is None:
        return None
    shape = width / height
    return _cut((area * shape) ** 0.5, canvas.multiple), _cut((area / shape) ** 0.5, canvas.multiple)


def _cut(side: float, multiple: int) -> int:
    return max(round(side) // multiple, 1) * multiple
