"""A model in one word, as a flag names it: `MODEL@http://HOST/v1`, a folder, `OWNER/NAME`, `FILE.py:CLASS`, a name.

Each becomes a section of a configuration. What only a judge may be is here, and what both may be; what only an edit
model may be is known to whoever has the pictures (`init`).
"""

from __future__ import annotations

import json
import os
import re
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast

from edit_eval.config import components
from edit_eval.config.faults import did_you_mean, nearest_path
from edit_eval.config.sections import NAME
from edit_eval.errors import ConfigurationError
from edit_eval.files.durable import slug
from edit_eval.json_values import Unchecked
from edit_eval.judges.contract import MakersJudges
from edit_eval.text import Text

Kind = Literal["edit_model", "judge"]
FLAGS: dict[Kind, str] = {"edit_model": "--edits", "judge": "--judge"}
HUB_MODEL = re.compile(r"[\w-][\w.-]*/[\w.-]+")
SERVER = re.compile(r"(?:(?P<model>[^@\s]+)@)?(?P<address>https?://\S+)")
_REPLIES = (".json", ".jsonl", ".csv", ".tsv")
_EXAMPLE = "gpt-6.1-terra"
HERE = {"device_ids": "cpu:1"}
"""Device of models that compute nothing on this machine."""


@dataclass(frozen=True)
class ModelDraft:
    """One model of a configuration."""

    name: str
    section: Unchecked
    words: str
    wants_device: bool = False
    likely: Mapping[str, str] = field(default_factory=dict)
    """Of finished edits, which picture a sample without one may mean."""

    @property
    def writes(self) -> bool:
        """True if it is a judge that can give reasons."""
        return self.section.get("type") in ("chat_endpoint", "transformers")


def read_judge_flag(written: str) -> ModelDraft:
    """Reads the argument of `--judge`, which may begin with a name of its own (`mine=folder`).

    Raises `ConfigurationError` saying what to give instead.
    """
    return read_model_flag("judge", written, _read_judge)


def read_model_flag(kind: Kind, written: str, known: Callable[[str], ModelDraft | None]) -> ModelDraft:
    """Reads the argument of the flag of a kind; `known` has a model of what only that kind may be, or None.

    Raises `ConfigurationError` saying what to give instead.
    """
    flag = FLAGS[kind]
    name, equals, rest = written.partition("=")
    if not equals or not NAME.fullmatch(name) or os.path.lexists(written):
        name, rest = "", written
    if not rest.strip():
        raise ConfigurationError(Text("{}: it is empty; `--help` shows what it accepts", flag))
    draft = known(rest) or _either(kind, flag, rest)
    return replace(draft, name=name or draft.name)


def _read_judge(written: str) -> ModelDraft | None:
    if address := SERVER.fullmatch(written):
        return server("chat_endpoint", "--judge", address)
    if os.path.isdir(written):
        if not (Path(written) / "config.json").exists():
            raise ConfigurationError(Text("--judge {}: no config.json in it, so it is not a judge", written))
        return weights("transformers", written, "weights in a folder")
    if os.path.isfile(written) and written.lower().endswith(_REPLIES):
        section = {"type": "recorded", "params": {"path": written, **HERE}}
        return ModelDraft("recorded", section, Text("replies from a file"))
    makers = import_chat_endpoint()
    if makers is not None and (known := makers.find_judge(written)):
        cost = Text("price not in our table")
        if known["price"] is not None:
            cost = Text("{:g} and {:g} USD for a million tokens read and written", *known["price"])
        params = {**known["params"], **HERE}
        words = Text("its key goes into ${}; {}", known["key"], cost)
        return ModelDraft(plain_name(params["model"]), {"type": "chat_endpoint", "params": params}, words)
    if HUB_MODEL.fullmatch(written):
        return weights("transformers", written, Text("on the Hugging Face Hub"))
    if makers is not None:
        for api in makers.list_makers(written):
            raise ConfigurationError(Text("--judge {}: its maker is asked for it by `{}/{}`", written, api, written))
    return None


def import_chat_endpoint() -> MakersJudges | None:
    """Returns the class of judges behind servers, which knows makers' judges by name; None without its plug-in."""
    path = components.locate("judge", "chat_endpoint")
    return cast(MakersJudges, components.import_class("judge", path)) if path else None


def _either(kind: Kind, flag: str, written: str) -> ModelDraft:
    """Returns a model for a registered name, or for the user's own class."""
    if components.locate(kind, written):
        described = next(d for d in components.describe(written) if d.kind == kind)
        if required := [parameter.name for parameter in described.parameters if parameter.is_required]:
            raise ConfigurationError(
                Text("{} {}: it needs parameters ({}); {}", flag, written, required, _remedies(kind))
            )
        return ModelDraft(plain_name(written), {"type": written}, described.summary.rstrip("."), True)
    if ".py:" in written or re.fullmatch(r"[\w.]+:\w+|\w+(\.\w+)+", written):
        try:
            components.name_class(kind, components.normalise_class_path(written), Path.cwd())
        except ConfigurationError as error:
            raise ConfigurationError(Text("{}: {}", flag, error)) from None
        return ModelDraft(
            plain_name(written.rpartition(":")[2].rpartition(".")[2]),
            {"class_path": written},
            Text("of your own"),
            True,
        )
    if os.sep in written or os.path.lexists(written):
        raise ConfigurationError(Text("{}: no such folder: {}{}", flag, written, nearest_path(written)))
    meant = did_you_mean(written, components.names(kind)) or nearest_path(written)
    other = components.unknown_type(kind, written).partition(";")[0]
    raise ConfigurationError(Text("{}: {}{}", flag, other, meant or Text("; {}", _remedies(kind))))


def _remedies(kind: Kind) -> str:
    first = Text("a folder of edits") if kind == "edit_model" else Text("a maker's model ({}/{})", "openai", _EXAMPLE)
    return Text("give {}, OWNER/NAME on the Hub, MODEL@http://HOST:8000/v1, or FILE.py:CLASS", first)


def server(type_: str, flag: str, match: re.Match[str]) -> ModelDraft:
    """Returns a model behind a server, as `SERVER` has found it."""
    address = match["address"].rstrip("/")
    model = match["model"] or only_model(flag, address)
    params = {"base_url": address, "model": model, **HERE}
    return ModelDraft(
        plain_name(model), {"type": type_, "params": params}, Text("a server; a key for it goes into ${}", KEY)
    )


def weights(type_: str, written: str, words: str) -> ModelDraft:
    """Returns a model of weights: a folder, or a name on the Hub."""
    return ModelDraft(plain_name(Path(written).name), {"type": type_, "params": {"model_name": written}}, words, True)


def plain_name(text: str) -> str:
    """Makes a name for a model from its argument."""
    name = re.sub(r"[^\w.-]+", "_", text.rpartition("/")[2]).strip("_.-")
    return name if NAME.fullmatch(name) else slug(name) or "model"


def set_devices(section: Mapping[str, Any], devices: str) -> Unchecked:
    """Returns a section with the given devices."""
    written: Any = devices
    if re.fullmatch(r"\d+(,\d+)*", devices):
        written = [int(number) for number in devices.split(",")]
    return {**section, "params": {**section.get("params", {}), "device_ids": written}}


# -- the models of a server: asked once, at its `/models`, as defined by the OpenAI protocol --

_SECONDS = 10.0
_LARGEST = 4 << 20
KEY = "OPENAI_API_KEY"


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *arguments: Any) -> None:
        return None


def only_model(flag: str, address: str) -> str:
    """Returns the model of a server that has one. Raises `ConfigurationError` if it has others, or does not answer."""
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
