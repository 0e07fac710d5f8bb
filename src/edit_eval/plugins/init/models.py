"""Edit models as `--edits` names them: finished edits, a column of the table, weights, a server, a class, a name."""

from __future__ import annotations

import os
from pathlib import Path

from edit_eval.config import components
from edit_eval.config.shorthand import (
    HERE,
    HUB_MODEL,
    SERVER,
    Kind,
    ModelDraft,
    look_at,
    look_at_judge,
    plain_name,
    server,
    weights,
)
from edit_eval.edit_models.image_folder import SUFFIXES
from edit_eval.edit_models.release_table import RELEASES
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.init.pictures import Pictures, pictures_of, stem
from edit_eval.text import Text, counted

_INDEXES = ("model_index.json", "modular_model_index.json")


def look_at_model(kind: Kind, written: str, pictures: Pictures) -> ModelDraft:
    """Reads the argument of `--edits` or `--judge`, which may begin with a name of its own (`ours=folder`).

    Raises `ConfigurationError` saying what to give instead.
    """
    if kind == "judge":
        return look_at_judge(written)
    return look_at("edit_model", written, lambda rest: _edits(rest, pictures))


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
        return _finished(folder, pictures)
    if written in pictures.columns:
        params = {"table": pictures.table, "column": written, **HERE}
        return ModelDraft(
            plain_name(written), {"type": "table_column", "params": params}, Text("the column {} of the table", written)
        )
    if os.path.isfile(written) and not written.endswith(".py"):
        raise ConfigurationError(
            Text("--edits {}: that is a file; give the folder of the edits or of the weights", written)
        )
    if (closed := _by_its_makers_name(written)) is not None:
        return closed
    names = [release.name for release in RELEASES]
    if HUB_MODEL.fullmatch(written):
        release = next((each for each in RELEASES if each.name == written), None)
        licence = Text("not in our table of releases")
        if release and release.licence:
            licence = Text("licence: {}", release.licence)
        return weights("diffusers", written, Text("on the Hugging Face Hub; {}", licence))
    last = {name.rpartition("/")[2].lower(): name for name in names}
    if written.lower() in last:
        raise ConfigurationError(Text("--edits {}: on the Hub it is `--edits {}`", written, last[written.lower()]))
    return None


def _by_its_makers_name(written: str) -> ModelDraft | None:
    """Returns a model that its maker alone runs, if a class of ours knows it by this name."""
    for component in components.known("edit_model"):
        if written.count("/") and component.origin == "built in":
            model_class = components.import_class("edit_model", component.class_path)
            model = getattr(model_class, "by_name", lambda name: None)(written)
            if model is not None:
                section = {"type": component.name, "params": {**model["params"], **HERE}}
                return ModelDraft(plain_name(written), section, model["words"])
    return None


def _finished(folder: Path, pictures: Pictures) -> ModelDraft:
    """Returns a model for finished edits, each named like its sample or its source."""
    there = [name for name in pictures_of(folder) if name.lower().endswith(SUFFIXES)]
    if not there:
        raise ConfigurationError(
            Text("--edits {}: it has neither pictures ({}) nor a {}", folder, SUFFIXES, _INDEXES[0])
        )
    stems = {stem(name) for name in there}
    if not stems & set(pictures.ids) and stems & set(pictures.names):
        pictures.by_their_sources()
    count = len(stems & set(pictures.ids)) if pictures.ids else len(there)
    if not count:
        raise ConfigurationError(
            Text(
                "--edits {}: no picture in it has the name of a sample; rename {} and the others "
                "after the samples: {}, ...",
                folder,
                there[0],
                pictures.ids[:3],
            )
        )
    missing = [sample_id for sample_id in pictures.ids if sample_id not in stems]
    lacks = Text("; without {}", [*missing[:5], *(["..."] if missing[5:] else [])]) if missing else ""
    of = Text("{} of {} edits", count, len(pictures.ids)) if pictures.ids else counted(count, "picture")
    section = {"type": "image_folder", "params": {"folder": str(folder), **HERE}}
    return ModelDraft(plain_name(folder.resolve().name), section, Text("{}, found by their names{}", of, lacks))


def apart(models: list[ModelDraft]) -> dict[str, ModelDraft]:
    """Returns models by their names, which are made different if two are the same."""
    models_by_name: dict[str, ModelDraft] = {}
    for model in models:
        name, count = model.name, 2
        while name.lower() in {each.lower() for each in models_by_name}:
            name, count = f"{model.name}_{count}", count + 1
        models_by_name[name] = model
    return models_by_name
