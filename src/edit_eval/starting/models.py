"""What edits and what judges: a folder of finished edits, weights, a server, a class, or a name that `list` shows."""

from __future__ import annotations

import json
import os
import re
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from edit_eval.config import components
from edit_eval.config.faults import did_you_mean, nearest_path
from edit_eval.config.sections import NAME
from edit_eval.edit_models.given_edits import SUFFIXES
from edit_eval.edit_models.release_table import RELEASES
from edit_eval.errors import ConfigurationError
from edit_eval.pictures import slug
from edit_eval.starting.pictures import Pictures, pictures_of, stem
from edit_eval.text import Text, counted

Kind = Literal["edit_model", "judge"]
FLAGS: dict[Kind, str] = {"edit_model": "--edits", "judge": "--judge"}
_HUB_NAME = re.compile(r"[\w-][\w.-]*/[\w.-]+")
_SERVER = re.compile(r"(?:(?P<model>[^@\s]+)@)?(?P<address>https?://\S+)")
_INDEXES = ("model_index.json", "modular_model_index.json")
_REPLIES = (".json", ".jsonl", ".csv", ".tsv")
_HERE = {"device_ids": "cpu:1"}
"""Of what computes nothing on this machine."""


@dataclass(frozen=True)
class ModelDraft:
    """One model of a configuration."""

    name: str
    section: dict[str, Any]
    words: str
    wants_device: bool = False

    @property
    def writes(self) -> bool:
        """Whether it is a judge that can say why."""
        return self.section.get("type") in ("chat_endpoint", "transformers")


def look_at_model(kind: Kind, written: str, pictures: Pictures) -> ModelDraft:
    """What `--edits` or `--judge` names, perhaps behind a name of its own (`ours=folder`).

    Raises `ConfigurationError` with what to give instead.
    """
    flag = FLAGS[kind]
    name, equals, rest = written.partition("=")
    if not equals or not NAME.fullmatch(name) or os.path.lexists(written):
        name, rest = "", written
    if not rest.strip():
        raise ConfigurationError(Text("{}: it is empty; `edit-eval init -h` shows what it accepts", flag))
    found = _edits(rest, pictures) if kind == "edit_model" else _judge(rest)
    if found is None:
        found = _either(kind, flag, rest)
    return ModelDraft(name or found.name, found.section, found.words, found.wants_device)


def _edits(written: str, pictures: Pictures) -> ModelDraft | None:
    if server := _SERVER.fullmatch(written):
        return _server("image_endpoint", "--edits", server)
    if os.path.isdir(written):
        folder = Path(written)
        if any((folder / index).exists() for index in _INDEXES):
            return _weights("diffusers", written, "weights in a folder")
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
        params = {"table": pictures.table, "column": written, **_HERE}
        return ModelDraft(
            _name(written), {"type": "table_column", "params": params}, Text("the column {} of the table", written)
        )
    if os.path.isfile(written) and not written.endswith(".py"):
        raise ConfigurationError(
            Text("--edits {}: that is a file; give the folder of the edits or of the weights", written)
        )
    known = [release.name for release in RELEASES]
    if _HUB_NAME.fullmatch(written):
        release = next((each for each in RELEASES if each.name == written), None)
        licence = Text("not in our table of releases")
        if release and release.licence:
            licence = Text("licence: {}", release.licence)
        return _weights("diffusers", written, Text("on the Hugging Face Hub; {}", licence))
    last = {name.rpartition("/")[2].lower(): name for name in known}
    if written.lower() in last:
        raise ConfigurationError(Text("--edits {}: on the Hub it is `--edits {}`", written, last[written.lower()]))
    return None


def _finished(folder: Path, pictures: Pictures) -> ModelDraft:
    """Edits that are there, each called as its sample or as its source."""
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
    missing = [one for one in pictures.ids if one not in stems]
    lacks = Text("; without {}", [*missing[:5], *(["..."] if missing[5:] else [])]) if missing else ""
    of = Text("{} of {} edits", count, len(pictures.ids)) if pictures.ids else counted(count, "picture")
    section = {"type": "image_folder", "params": {"folder": str(folder), **_HERE}}
    return ModelDraft(_name(folder.resolve().name), section, Text("{}, found by their names{}", of, lacks))


def _judge(written: str) -> ModelDraft | None:
    if server := _SERVER.fullmatch(written):
        return _server("chat_endpoint", "--judge", server)
    if os.path.isdir(written):
        if not (Path(written) / "config.json").exists():
            raise ConfigurationError(Text("--judge {}: no config.json in it, so it is not a judge", written))
        return _weights("transformers", written, "weights in a folder")
    if os.path.isfile(written) and written.lower().endswith(_REPLIES):
        section = {"type": "recorded", "params": {"path": written, **_HERE}}
        return ModelDraft("recorded", section, Text("replies from a file"))
    if _HUB_NAME.fullmatch(written):
        return _weights("transformers", written, "on the Hugging Face Hub")
    return None


def _either(kind: Kind, flag: str, written: str) -> ModelDraft:
    """A registered name, or a class of one's own."""
    if components.locate(kind, written):
        described = next(d for d in components.describe(written) if d.kind == kind)
        if required := [parameter.name for parameter in described.parameters if parameter.required]:
            raise ConfigurationError(
                Text("{} {}: it needs parameters ({}); {}", flag, written, required, _remedies(kind))
            )
        return ModelDraft(_name(written), {"type": written}, described.summary.rstrip("."), True)
    if ".py:" in written or re.fullmatch(r"[\w.]+:\w+|\w+(\.\w+)+", written):
        try:
            components.import_class(kind, components.normalise_class_path(written), Path.cwd())
        except ConfigurationError as error:
            raise ConfigurationError(Text("{}: {}", flag, error)) from None
        return ModelDraft(
            _name(written.rpartition(":")[2].rpartition(".")[2]), {"class_path": written}, "of your own", True
        )
    if os.sep in written or os.path.lexists(written):
        raise ConfigurationError(Text("{}: no such folder: {}{}", flag, written, nearest_path(written)))
    meant = did_you_mean(written, components.names(kind)) or nearest_path(written)
    other = components.unknown_type(kind, written).partition(";")[0]
    raise ConfigurationError(Text("{}: {}{}", flag, other, meant or Text("; {}", _remedies(kind))))


def _remedies(kind: Kind) -> str:
    folder = Text("a folder of edits, ") if kind == "edit_model" else ""
    return Text("give {}OWNER/NAME on the Hub, MODEL@http://HOST:8000/v1, or FILE.py:CLASS", folder)


def _server(type_: str, flag: str, server: re.Match[str]) -> ModelDraft:
    address = server["address"].rstrip("/")
    model = server["model"] or only_model(flag, address)
    params = {"base_url": address, "model": model, **_HERE}
    return ModelDraft(
        _name(model), {"type": type_, "params": params}, Text("a server; a key for it goes into ${}", KEY)
    )


def _weights(type_: str, written: str, words: str) -> ModelDraft:
    return ModelDraft(_name(Path(written).name), {"type": type_, "params": {"model_name": written}}, words, True)


def _name(text: str) -> str:
    """A name for a model, made of what it was given as."""
    name = re.sub(r"[^\w.-]+", "_", text.rpartition("/")[2]).strip("_.-")
    return name if NAME.fullmatch(name) else slug(name) or "model"


def apart(models: list[ModelDraft]) -> dict[str, ModelDraft]:
    """Models by their names, which are made different where two are the same."""
    found: dict[str, ModelDraft] = {}
    for model in models:
        name, count = model.name, 2
        while name.lower() in {each.lower() for each in found}:
            name, count = f"{model.name}_{count}", count + 1
        found[name] = model
    return found


def on_devices(section: Mapping[str, Any], devices: str) -> dict[str, Any]:
    """A section with the devices that were asked for."""
    written: Any = devices
    if re.fullmatch(r"\d+(,\d+)*", devices):
        written = [int(number) for number in devices.split(",")]
    return {**section, "params": {**section.get("params", {}), "device_ids": written}}


# -- which models a server has: asked once, at its `/models`, as every server of the OpenAI protocol has it --

_SECONDS = 10.0
_LARGEST = 4 << 20
KEY = "OPENAI_API_KEY"


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *arguments: Any) -> None:
        return None


def only_model(flag: str, address: str) -> str:
    """The model of a server that has one. Raises `ConfigurationError` where it has others, or does not answer."""
    request = urllib.request.Request(f"{address.rstrip('/')}/models")
    if key := os.environ.get(KEY):
        request.add_header("Authorization", f"Bearer {key}")
    more = Text("name its model: `{} MODEL@{}`", flag, address)
    try:
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=_SECONDS) as answer:
            document = json.loads(answer.read(_LARGEST))
        names = [str(model["id"]) for model in document["data"]]
    except urllib.error.HTTPError as error:
        hint = Text("; does the address end with /v1?") if error.code == 404 else ""
        raise ConfigurationError(
            Text("{} {}: it does not say which models it has ({}){}; {}", flag, address, error.code, hint, more)
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        words = getattr(reason, "strerror", None) or str(reason)
        raise ConfigurationError(
            Text("{} {}: no answer ({}); start the server, or {}", flag, address, words, more)
        ) from None
    except (KeyError, TypeError):
        raise ConfigurationError(Text("{} {}: its list of models is unreadable; {}", flag, address, more)) from None
    if len(names) == 1:
        return names[0]
    there = Text("it has {}", names[:8]) if names else Text("it names no model")
    raise ConfigurationError(Text("{} {}: {}; say which: `{} MODEL@{}`", flag, address, there, flag, address))
