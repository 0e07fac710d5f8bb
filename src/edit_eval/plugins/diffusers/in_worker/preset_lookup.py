"""Finds a model's row in the tables, and combines it with the parameters. Imports nothing heavy, uses no network."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from edit_eval.errors import ConfigurationError, LoadError
from edit_eval.plugins.diffusers.in_worker.preset_table import (
    FILLING,
    NO_EDITORS,
    PIPELINE,
    PIPELINES,
    make_filling_row,
)
from edit_eval.plugins.diffusers.in_worker.presets import UNKNOWN, Canvas, Pipeline, Settings, settle
from edit_eval.plugins.diffusers.in_worker.release_table import RELEASE
from edit_eval.pretrained import folders
from edit_eval.text import Text

PICTURE_ARGUMENTS = ("image", "images", "input_images", "input_image")
INDEX = "model_index.json"
MODULAR_INDEX = "modular_model_index.json"
CUT = "the source is cropped, so the edit shows less than the source; metrics outside a mask are refused"


def revision_of(parameters: Any) -> str | None:
    release = RELEASE.get(parameters.model_name)
    return parameters.revision or (release.revision if release else None)


def index_file(parameters: Any) -> str:
    """Returns the name of the file that lists the model's parts. Does not use the network.

    It is `model_index.json`, unless its class is known to be modular or only `modular_model_index.json` exists.
    """
    release = RELEASE.get(parameters.model_name)
    row = PIPELINE.get(release.pipeline if release else parameters.pipeline or "")
    if row is not None:
        return MODULAR_INDEX if row.modular else INDEX
    folder = folders.local_folder(parameters.model_name)
    folder = folder or folders.find_cached_folder(parameters.model_name, parameters.revision, os.environ)
    modular = folder is not None and not (folder / INDEX).is_file() and (folder / MODULAR_INDEX).is_file()
    return MODULAR_INDEX if modular else INDEX


def index_of(parameters: Any) -> Mapping[str, Any]:
    """Like `_index_of`, for a model of one of the classes in `parameters.only`. Raises `ConfigurationError`."""
    index, only = _choose_pipeline(_index_of(parameters), parameters), parameters.only
    if only and index.get("_class_name") not in only:
        kind = index.get("_class_name")
        raise ConfigurationError(Text("model_name: {} is a {}, not one of {}", parameters.model_name, kind, only))
    return index


def _choose_pipeline(index: Mapping[str, Any], parameters: Any) -> Mapping[str, Any]:
    """Returns the index with the class that the parameter `pipeline` asks for. Raises `ConfigurationError` for one that
    does not run on these weights."""
    wanted, name = parameters.pipeline, str(index.get("_class_name"))
    if wanted in (None, name):
        return index
    if wanted in PIPELINE and PIPELINE[wanted].weights_of == name:
        return {**index, "_class_name": wanted}
    others = list_siblings(name)
    also = Text(", whose weights {: and } takes, too", others) if others else ""
    raise ConfigurationError(Text("pipeline: {} is a {}{}; leave it out", parameters.model_name, name, also))


def list_siblings(name: str) -> list[str]:
    """Returns the classes that run on the weights of another, too."""
    return [row.name for row in PIPELINES if row.weights_of == name]


def _index_of(parameters: Any) -> Mapping[str, Any]:
    """Returns `model_index.json` (or `modular_model_index.json`), as far as it is known without the Hub.

    It is the same with or without the weights: the table has the class of a release, and for another name on the Hub
    the parameter `pipeline` may give it.

    Raises `ConfigurationError` for a name whose pipeline is unknown.
    """
    name, release = parameters.model_name, RELEASE.get(parameters.model_name)
    if release is not None:
        return {"_class_name": release.pipeline}
    folder = folders.local_folder(name)
    if folder is None and parameters.pipeline:
        return {"_class_name": parameters.pipeline}
    folder = folder or folders.find_cached_folder(name, parameters.revision, os.environ)
    if folder is not None and (folder / (file := index_file(parameters))).is_file():
        index = folders.read_index(folder / file)
        if file == MODULAR_INDEX and index.get("_class_name") not in PIPELINE:
            names = ", ".join(row.name for row in PIPELINES if row.modular)
            raise ConfigurationError(
                Text(
                    "model_name: {} is a modular pipeline ({}), of which only {} are run",
                    folder.absolute(),
                    index.get("_class_name", "of no class"),
                    names,
                )
            )
        return index
    if folder is not None and folders.local_folder(name):
        raise ConfigurationError(Text("model_name: {} has no {}, so it is not a pipeline", folder.absolute(), INDEX))
    if parameters.only:  # a plan needs no weights; for a key their `revision` is requested, which refuses
        return {"_class_name": parameters.only[0]}
    folders.revision(name, None)  # raises if it is a path that does not exist
    raise ConfigurationError(
        Text(
            "model_name: nothing is known about {} before it is downloaded: give `pipeline` (the "
            "class in its {}), or run `hf download {} {}`; `edit-eval describe diffusers` lists "
            "names that need neither",
            name,
            INDEX,
            name,
            INDEX,
        )
    )


def row_of(index: Mapping[str, Any], pipeline_class: Any = None) -> Pipeline:
    """Returns the table's row; for a class without one, guesses it from the signature, once the class is there."""
    name = str(index.get("_class_name"))
    if name in PIPELINE:
        return PIPELINE[name]
    if name in FILLING:
        return make_filling_row(name)
    if name in NO_EDITORS:
        raise ConfigurationError(Text("model_name: {} is not run: {}", name, NO_EDITORS[name]))
    if pipeline_class is None:
        canvas = Canvas(rule="as the class has it")
        return Pipeline(name=name, family=name, canvas=canvas, figures="guessed from its signature", guessed=True)
    return guess_row(name, inspect.signature(pipeline_class.__call__).parameters)


def guess_row(name: str, arguments: Mapping[str, Any]) -> Pipeline:
    """Guesses a row from the arguments of a pipeline's call. Raises `LoadError` if there is no picture or prompt."""
    source = next((argument for argument in PICTURE_ARGUMENTS if argument in arguments), "")
    if not source or "prompt" not in arguments:
        raise LoadError(f"model_name: {name} does not take a picture with a prompt, so it does not edit by instruction")
    several = source.endswith("s")
    return Pipeline(
        name=name,
        family=name,
        source=source,
        most_sources=None if several else 1,
        negative_argument="negative_prompt" if "negative_prompt" in arguments else "",
        sized={"height", "width"} <= set(arguments),
        canvas=Canvas(rule="as the class has it"),
        notes=(
            f"{name} is not in the table: from its signature it is assumed that `{source}` takes "
            f"{'a list of sources' if several else 'the source'}, and that everything else keeps its default",
        ),
        figures="guessed from its signature",
        guessed=True,
    )


def settings_of(parameters: Any, index: Mapping[str, Any], pipeline_class: Any = None) -> Settings:
    """Returns what is passed to the call. Raises `ConfigurationError` for what the class does not support."""
    row, wanted = row_of(index, pipeline_class), parameters
    steps = next((lora.num_inference_steps for lora in reversed(wanted.loras) if lora.num_inference_steps), None)
    guidance: dict[str, float] = {}
    for lora in wanted.loras:
        guidance |= lora.guidance
    if wanted.size is not None and (row.snaps or not row.sized):
        raise ConfigurationError(Text("size: {} takes none ({})", row.name, row.canvas.rule))
    settings = settle(
        index,
        row,
        RELEASE.get(wanted.model_name),
        {
            "num_inference_steps": wanted.num_inference_steps or steps,
            "guidance": guidance | wanted.guidance,
            "negative_prompt": wanted.negative_prompt,
            "canvas": wanted.canvas,
        },
    )
    asked = row.with_size if wanted.size is not None else {}
    area = wanted.size[0] * wanted.size[1] if wanted.size is not None else 0
    with_size = {name: area if value == "area" else value for name, value in asked.items()}
    return replace(settings, call={**settings.call, **with_size, **wanted.call})


def card_of(settings: Settings) -> dict[str, str]:
    row, release = settings.pipeline, settings.release
    terms = {True: "have to be accepted on the Hub", False: "none to accept", None: UNKNOWN}
    rewrites = "off" if not settings.call.get(row.rewriting) else f"on ({row.rewriting})"
    heed = (
        *((CUT,) if row.cuts_source else ()),
        *((row.notes or (f"{row.name} is not in the table: what its call takes is a guess",)) if row.guessed else ()),
        *((f"prompts are rewritten before the edit ({row.rewriting})",) if rewrites != "off" and row.rewriting else ()),
    )
    return {
        "family": row.family,
        "pipeline": row.name,
        "licence": release.licence if release else UNKNOWN,
        "terms": terms[release.gated if release else None],
        "steps": str(settings.steps or "as the class has it"),
        "guidance": format_setting(settings.guidance) or "none",
        "canvas_rule": row.canvas.rule,
        "sources": str(row.most_sources or "any number"),
        "mask": f"`{row.mask}`" if row.mask else ", ".join(f"`pipeline: {of}`" for of in list_siblings(row.name)),
        "prompt_rewriting": rewrites if row.rewriting else "none",
        "environment": release.environment if release else "",
        "note": "; ".join(heed),
        "notes": "; ".join(row.notes),
        "figures": "; ".join(dict.fromkeys((row.figures, *((release.figures,) if release else ())))),
    }


def format_setting(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {inner}" for key, inner in value.items())
    return "" if value is None else str(value)
