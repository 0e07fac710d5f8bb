"""Models as `--edits` names them (finished edits, a column of the table, weights, a server, a class, a name), and the
judges that are offered."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from edit_eval.config import components
from edit_eval.config.known_weights import find_release, list_releases
from edit_eval.config.shorthand import (
    HERE,
    HUB_MODEL,
    SERVER,
    Kind,
    ModelDraft,
    import_chat_endpoint,
    plain_name,
    read_judge_flag,
    read_model_flag,
    server,
    weights,
)
from edit_eval.edit_models.contract import Finished, SampleNames
from edit_eval.edit_models.image_folder import SUFFIXES, ImageFolder
from edit_eval.errors import ConfigurationError
from edit_eval.execution.machine.devices import LocalMachine
from edit_eval.execution.prices import TYPICAL
from edit_eval.plugins.init.pictures import Pictures
from edit_eval.text import Text, pluralize

_INDEXES = ("model_index.json", "modular_model_index.json")
NOBODY = "nobody"
"""What `--judge` takes for no judge: people look and vote."""
CLOSED = {"openai": "gpt-6.1-terra", "gemini": "gemini-3.8-flash", "anthropic": "claude-sonnet-5-5"}
"""One model of each maker."""
SMALL, LARGE = "Qwen/Qwen3.5-9B", "Qwen/Qwen3.5-27B"
NEEDS = 72 * 2**30
"""Bytes of a card on which the large one has room beside its weights of 54 GB."""


def parse_model(kind: Kind, written: str, pictures: Pictures) -> ModelDraft:
    """Reads the argument of `--edits` or `--judge`, which may begin with a name of its own (`ours=folder`).

    Raises `ConfigurationError` saying what to give instead.
    """
    if kind == "judge":
        return read_judge_flag(written)
    return read_model_flag("edit_model", written, lambda rest: _edits(rest, pictures))


def _edits(written: str, pictures: Pictures) -> ModelDraft | None:
    if address := SERVER.fullmatch(written):
        return server("image_endpoint", "--edits", address)
    if os.path.isdir(written):
        folder = Path(written)
        if any((folder / index).exists() for index in _INDEXES):
            return weights("diffusers", written, "weights in a folder")
        if (folder / "config.json").exists():
            raise ConfigurationError(
                Text(
                    "--edits {}: no {} in it, so it is not a diffusers pipeline; for a judge give `--judge {}`",
                    written,
                    _INDEXES[0],
                    written,
                )
            )
        return draft_edit_folder(folder, pictures)
    if written in pictures.columns:
        params = {"table": pictures.table, "column": written, **HERE}
        return ModelDraft(
            plain_name(written), {"type": "table_column", "params": params}, Text("the column {} of the table", written)
        )
    if os.path.isfile(written) and not written.endswith(".py"):
        raise ConfigurationError(
            Text("--edits {}: that is a file; give the folder of the edits or of the weights", written)
        )
    if (closed := _find_closed_model(written)) is not None:
        return closed
    if HUB_MODEL.fullmatch(written):
        release = find_release(written)
        licence = Text("not in our table of releases")
        if release and release.licence:
            licence = Text("licence: {}", release.licence)
        return weights("diffusers", written, Text("on the Hugging Face Hub; {}", licence))
    last = {each.name.rpartition("/")[2].lower(): each.name for each in list_releases() if each.pipeline}
    if written.lower() in last:
        raise ConfigurationError(Text("--edits {}: on the Hub it is `--edits {}`", written, last[written.lower()]))
    return None


def _find_closed_model(written: str) -> ModelDraft | None:
    """Returns a model that its maker alone runs, if a class of ours knows it by this name."""
    for component in components.list_components("edit_model"):
        if written.count("/") and component.origin == "built in":
            model_class = components.import_class("edit_model", component.class_path)
            model = getattr(model_class, "find_model", lambda name: None)(written)
            if model is not None:
                section = {"type": component.name, "params": {**model["params"], **HERE}}
                return ModelDraft(plain_name(written), section, model["words"])
    return None


def draft_edit_folder(folder: Path, pictures: Pictures, files: Mapping[str, str] | None = None) -> ModelDraft:
    """Returns a model for finished edits, each named like its sample or its source, or told by `files`."""
    try:
        found = _match_edits(folder, pictures.ids, files)
        by_source = found if found.files else _match_edits(folder, pictures.names, files)
    except ConfigurationError:
        raise ConfigurationError(
            Text("--edits {}: it has neither pictures ({}) nor a {}", folder, SUFFIXES, _INDEXES[0])
        ) from None
    if (len(by_source.files), len(by_source.likely)) > (len(found.files), len(found.likely)):
        pictures.use_source_names()
        found = _match_edits(folder, pictures.ids, files)
    if pictures.ids and not (found.files or found.likely):
        raise ConfigurationError(
            Text(
                "--edits {}: no picture in it has the name of a sample; rename {} and the others "
                "after the samples: {}, ...",
                folder,
                found.left[0],
                pictures.ids[:3],
            )
        )
    params = {"folder": str(folder), **({"files": dict(files)} if files else {}), **HERE}
    words = found.words if pictures.ids else pluralize(len(found.left), "picture")
    section = {"type": "image_folder", "params": params}
    return ModelDraft(plain_name(folder.resolve().name), section, words, likely=found.likely)


def _match_edits(folder: Path, ids: Sequence[str], files: Mapping[str, str] | None) -> Finished:
    return ImageFolder.match_edits(ImageFolder.Parameters(str(folder), dict(files or {})), SampleNames(ids))


def make_names_unique(models: list[ModelDraft]) -> dict[str, ModelDraft]:
    """Returns models by their names, which are made different if two are the same."""
    models_by_name: dict[str, ModelDraft] = {}
    for model in models:
        name, count = model.name, 2
        while name.lower() in {each.lower() for each in models_by_name}:
            name, count = f"{model.name}_{count}", count + 1
        models_by_name[name] = model
    return models_by_name


class OfferedJudge(NamedTuple):
    """A judge that is offered, or another way to get edits judged."""

    answer: str
    """What `--judge` takes; empty: a server, whose name and address are still to be asked."""
    words: str
    works_here: bool


def list_judge_offers(edits: int) -> list[OfferedJudge]:
    """Returns what is offered for judging so many edits; 0 if their number is not known yet."""
    offered = []
    makers = import_chat_endpoint()
    for api, model in CLOSED.items():
        known = makers and makers.find_judge(f"{api}/{model}")
        if not known:
            continue
        key, price = known["key"], known["price"]
        there = bool(os.environ.get(key))
        words: str = Text("{} is set", key) if there else Text("needs {}", key)
        if price and edits:
            usd = edits * (TYPICAL[0] * price[0] + TYPICAL[1] * price[1]) / 1e6
            words = Text("{}; about {:.2f} USD for {}", words, usd, pluralize(edits, "edit"))
        offered.append(OfferedJudge(f"{api}/{model}", Text("{}  ({})", f"{api}/{model}", words), there))
    memory = max((gpu.memory or 0 for gpu in LocalMachine().gpus()), default=0)
    weights = LARGE if memory >= NEEDS else SMALL
    here = (
        Text("{} on this machine's GPU", weights) if memory else Text("{} on this machine's GPU (none here)", weights)
    )
    return [
        *offered,
        OfferedJudge("", Text("your own server: {}", "MODEL@http://localhost:8000/v1"), False),
        OfferedJudge(weights, here, bool(memory)),
        OfferedJudge(NOBODY, Text("nobody yet: I look and vote myself"), True),
    ]
