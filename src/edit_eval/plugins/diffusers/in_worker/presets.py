"""The form of two tables: what edit-eval knows about diffusers' pipelines, and about published models.

The rows are in `preset_table.py` and `release_table.py`. The adapter (`diffusers.py`) has a single code path, and reads
all differences here. Standard library only: `plan`, `doctor` and keys read it, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from edit_eval.errors import ConfigurationError
from edit_eval.json_values import JsonObject
from edit_eval.text import Text

SIGNATURE = "the signature in diffusers 0.42.1"
"""Where the figures of most pipelines are from."""
UNKNOWN = "not established"
"""Marks what was not found in a primary source."""


@dataclass(frozen=True, kw_only=True)
class Canvas:
    """The size of an edit, and what determines it."""

    rule: str
    """Description for people of the size if none is given."""
    area: int | None = None
    """In pixels: height and width are computed here, from this area and the source's shape, and passed. None: they are
    not passed, and the pipeline follows its rule."""
    source_sized: bool = False
    """True if height and width of the first source, cropped to multiples, are passed."""
    multiple: int = 16
    """The sides computed here are multiples of this."""
    lever: str = ""
    """What else the parameter `canvas` (an area) changes: `calculate_dimensions`, a function of the pipeline's module;
    or an argument of the call, in `unit`."""
    unit: str = "area"
    """`area` or `side` (its root)."""

    @property
    def movable(self) -> bool:
        """True if another area can be requested."""
        return self.area is not None or bool(self.lever)


@dataclass(frozen=True, kw_only=True)
class Pipeline:
    """A class of diffusers: what its call takes and returns, and its pitfalls."""

    name: str
    family: str
    """Display name."""
    encoder: str = ""
    """The family, named as by other tables of weights, of the vision-language model that reads the instruction, and
    perhaps the source: a judge may prefer its own. Empty: judges do not use its model."""
    source: str = "image"
    """The argument that takes the sources."""
    most_sources: int | None = 1
    """None: any number. If it is 1 the argument takes a picture, else a list of them."""
    mask: str = ""
    """The argument that takes a mask, white where the source may change; empty: the class takes none."""
    needs_mask: bool = False
    """True if it edits nothing without one: a sample without gets one that is white everywhere."""
    weights_of: str = ""
    """Another class whose weights it runs on, too, if the parameter `pipeline` asks for it."""
    longest: int | None = None
    """Highest ratio of a source's sides, if the processor of its text encoder refuses longer ones."""
    steps: int | None = None
    """None: the default of the class."""
    guidance: Mapping[str, float] = field(default_factory=dict)
    """Each guidance argument, with its default."""
    negative: str | None = None
    """The default negative prompt; None: none is passed."""
    negative_argument: str = "negative_prompt"
    """Empty if the class takes none."""
    without_negative: str = ""
    """The weight that silently does nothing without a negative prompt: above 1 one is always passed."""
    sized: bool = True
    """True if the call takes height and width."""
    snaps: bool = False
    """True if it rounds them to the nearest of its own shapes: no size can be requested."""
    with_size: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments if a size is requested, so that it is not overruled; the value `area` becomes its pixels."""
    canvas: Canvas
    result: str = "images"
    """Attribute of the result that holds the pictures."""
    video: bool = False
    """True if the result is a list of videos; the edit is the last frame of the first."""
    prompt: str = "text"
    """A key of `PROMPTS`."""
    call: Mapping[str, Any] = field(default_factory=dict)
    """Arguments that are always passed, unless the parameter `call` overrides them."""
    load: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """By part, keywords of `from_pretrained`, unless the parameter `load` overrides them."""
    variants: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Entry of `model_index.json` -> `num_inference_steps` and weights that apply if it is true."""
    rewriting: str = ""
    """The argument (for a modular pipeline the block) that rewrites the prompt before the edit; off unless the
    parameter `call` enables it."""
    cuts_source: bool = False
    """True if the source is cropped to a table of shapes: the edit shows less than the source does."""
    notes: tuple[str, ...] = ()
    """Further remarks, recorded with every run."""
    figures: str = SIGNATURE
    """Sources of steps and weights."""
    modular: bool = False
    """A modular pipeline: blocks with inputs instead of a call with arguments; `rewriting` names one of its blocks."""
    guessed: bool = False
    """True if guessed from the signature of a class without a row."""


@dataclass(frozen=True, kw_only=True)
class Release:
    """Published weights of a pipeline, by their name on the Hub."""

    name: str
    pipeline: str
    licence: str = UNKNOWN
    gated: bool | None = None
    """True if terms have to be accepted on the Hub; None: not established."""
    parts: Mapping[str, float] = field(default_factory=dict)
    """10^9 parameters by part; a VAE may be missing. Empty: not established."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """`num_inference_steps`, weights, `negative_prompt` and `area` that differ from the pipeline's."""
    revision: str | None = None
    """The branch with the files in diffusers' form, if it is not the main one."""
    environment: str = ""
    """Requirements besides `edit-eval[diffusers]`."""
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
    """The area that height and width are computed for; None if they are not computed."""
    call: Mapping[str, Any]

    @property
    def plain(self) -> JsonObject:
        """What determines pixels, for keys."""
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
    if isinstance(given, dict) and "edit_instruction" in given:  # the benchmark uses the model's own format
        return instruction
    return json.dumps({"edit_instruction": instruction}, ensure_ascii=False)


PROMPTS: dict[str, Callable[[str, int], str]] = {"text": _text, "tags": _with_tags, "json": _as_json}
"""Maps an instruction and the number of its sources to the prompt: unchanged; with a tag for each picture in front; as
a JSON document with the key `edit_instruction`. An instruction already in that form stays unchanged."""


def settle(
    index: Mapping[str, Any], pipeline: Pipeline, release: Release | None, wanted: Mapping[str, Any]
) -> Settings:
    """Returns what is passed, filling in what `wanted` leaves open (None: the recommended value).

    In increasing precedence: the pipeline's defaults, its variant, the release, `wanted`. `index` is
    `model_index.json`, which may have an entry for the variant; for a release the table is complete.

    Raises `ConfigurationError`, beginning with the parameter's name, for what this class does not support.
    """
    values: dict[str, Any] = {"num_inference_steps": pipeline.steps, **pipeline.guidance}
    values |= {"negative_prompt": pipeline.negative, "area": pipeline.canvas.area}
    for entry, variant in pipeline.variants.items():
        values |= variant if index.get(entry) and release is None else {}
    values |= release.settings if release else {}
    for name, value in wanted.items():
        if name == "negative_prompt" and value is not None and not pipeline.negative_argument:
            raise ConfigurationError(Text("negative_prompt: {} takes none; leave it out", pipeline.name))
        if name in ("num_inference_steps", "negative_prompt") and value is not None:
            values[name] = value
    for name, weight in (wanted.get("guidance") or {}).items():
        if name not in pipeline.guidance and not pipeline.guessed:
            there = ", ".join(pipeline.guidance)
            raise ConfigurationError(
                Text("guidance: {} has no {}; it has {}", pipeline.name, name, there)
                if there
                else Text("guidance: {} has none; leave it out", pipeline.name)
            )
        values[name] = weight
    weight = values.get(pipeline.without_negative) or 0
    if pipeline.without_negative and values["negative_prompt"] is None and weight > 1:
        values["negative_prompt"] = " "
    call = dict(pipeline.call)
    if canvas := wanted.get("canvas"):
        if not pipeline.canvas.movable:
            raise ConfigurationError(Text("canvas: {} has none of its own ({})", pipeline.name, pipeline.canvas.rule))
        values["area"] = canvas if pipeline.canvas.area is not None else None
        if pipeline.canvas.lever and pipeline.canvas.lever != "calculate_dimensions":
            call[pipeline.canvas.lever] = round(canvas**0.5) if pipeline.canvas.unit == "side" else canvas
    guidance = {name: values[name] for name in (*pipeline.guidance, *(wanted.get("guidance") or {}))}
    return Settings(
        pipeline, release, values["num_inference_steps"], guidance, values["negative_prompt"], values["area"], call
    )


def size_for(canvas: Canvas, area: int | None, source: tuple[int, int]) -> tuple[int, int] | None:
    """Returns the (width, height) to pass for a source of that size; None if the pipeline follows its own rule."""
    width, height = source
    if canvas.source_sized:
        return _cut(width, canvas.multiple), _cut(height, canvas.multiple)
    if area is None:
        return None
    shape = width / height
    return _cut((area * shape) ** 0.5, canvas.multiple), _cut((area / shape) ** 0.5, canvas.multiple)


def _cut(side: float, multiple: int) -> int:
    return max(round(side) // multiple, 1) * multiple
