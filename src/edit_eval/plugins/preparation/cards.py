"""Facts about a model before it is loaded, from its class or its published weights, and `fetch`, which downloads."""

from __future__ import annotations

import dataclasses
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from edit_eval.config.components import import_class
from edit_eval.config.known_weights import find_release
from edit_eval.config.schema import Configuration, ModelSection
from edit_eval.files.addresses import is_address
from edit_eval.files.hub import Repository, fetch_model, local_path
from edit_eval.json_values import JsonObject
from edit_eval.plugins.preparation.fitting import checkpoint_of, weights_of
from edit_eval.plugins.preparation.weights import Weights
from edit_eval.pretrained.folders import is_hub_name
from edit_eval.text import Text, join_texts
from edit_eval.workers.model_class import find_class, make_parameters

SAID: Mapping[str, Callable[[str], str]] = {
    "licence": lambda said: Text("licence: {}", said),
    "terms": lambda said: Text("terms: {}", said),
    "steps": lambda said: Text("{} steps", said),
    "guidance": lambda said: Text("weights: {}", said),
    "canvas_rule": lambda said: Text("size: {}", said),
    "sources": lambda said: Text("sources: {}", said),
    "prompt_rewriting": lambda said: Text("prompt rewriting: {}", said),
    "pictures": lambda said: Text("tokens per picture: {}", said),
    "leaves": lambda said: Text("leaves this machine: {}", said),
    "thinking": lambda said: Text("thinking: {}", said),
}


def card_lines(card: Mapping[str, str]) -> Iterator[str]:
    """Yields a card as lines for people."""
    if not card:
        return
    facts = join_texts(words(card[name]) for name, words in SAID.items() if card.get(name))
    yield Text("{}: {}", card.get("pipeline", ""), facts) if card.get("pipeline") else facts
    if card.get("note"):
        yield card["note"]
    if card.get("environment"):
        yield Text("it needs {}", card["environment"])
    if card.get("notes"):
        yield card["notes"]


HUB = "https://huggingface.co"
HUB_SECONDS = 3.0
"""Time to resolve the Hub's address and connect: a network slower than this will not carry a hundred gigabytes."""


def has_published_weights(section: ModelSection, weights: Weights) -> bool:
    """True if something is known of a model's weights, or of those of its class."""
    return find_release(weights.name) is not None or bool(_class_size(section))


def download_command(section: ModelSection) -> str:
    """Returns the command that downloads a model's weights from the Hub."""
    _, name, revision, _ = checkpoint_of(section)
    return f"hf download {name}" + (f" --revision {revision}" if revision else "")


def hub_answers(environment: Mapping[str, str]) -> bool:
    """True if the Hub, or the proxy that leads there, accepts a connection."""
    names = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
    proxy = next((environment[name] for name in names if environment.get(name)), "")
    address = urlsplit(proxy or hub_address(environment), scheme="https")
    answered: list[bool] = []

    def ask() -> None:
        try:
            port = address.port or (80 if address.scheme == "http" else 443)
            socket.create_connection((address.hostname or "", port), timeout=HUB_SECONDS).close()
        except (OSError, ValueError):
            return
        answered.append(True)

    thread = threading.Thread(target=ask, daemon=True)  # resolving a name has no timeout
    thread.start()
    thread.join(HUB_SECONDS)
    return bool(answered)


def hub_address(environment: Mapping[str, str]) -> str:
    """Returns the address that weights are downloaded from."""
    return environment.get("HF_ENDPOINT") or HUB


def bytes_of_weights(section: ModelSection, environment: Mapping[str, str]) -> int:
    """Returns the bytes of a model's weights when loaded; if unknown, those of its class's default model."""
    weights = weights_of(section, environment)
    if not weights.name:
        return 0
    return weights.bytes_in_memory if weights.bytes_in_memory or weights.folder else _class_size(section)


def _class_size(section: ModelSection) -> int:
    """Returns the bytes of a registered class's default model; 0 if nothing is published about it."""
    if not section.type:
        return 0
    try:
        parameters = getattr(find_class(section.class_path, []), "Parameters", None)
    except Exception:  # only its own environment can import it
        return 0
    fields = dataclasses.fields(parameters) if dataclasses.is_dataclass(parameters) else ()
    named = next((field.default for field in fields if field.name == "model_name"), "")
    release = find_release(str(named))
    return round(2e9 * sum(release.parts.values())) if release else 0


class Fetched(NamedTuple):
    """One downloaded part of a configuration."""

    what: str
    """`benchmark`, `rows of the benchmark`, `edit model NAME`, `judge NAME`, `prompts of judge NAME`."""
    name: str
    """Its name in the configuration."""
    path: str
    """Where it is now."""
    bytes: int

    def as_plain(self) -> JsonObject:
        return self._asdict()


def fetch(configuration: Configuration) -> Iterator[Fetched]:
    """Downloads benchmark and weights that are on the Hub, and prompts, which may also be on GitHub.

    Yields each as soon as it is here.

    Anything in the cache is not downloaded again. Raises `ConfigurationError` for what the Hub does not have or give,
    and for a missing path; `Stopped` for a failing Hub, prompts that do not arrive, or a full disk.
    """
    benchmark = configuration.benchmark
    cls = import_class("benchmark", benchmark.class_path, configuration.folder)
    if data_path := str(benchmark.parameters.get("data_path") or ""):
        yield _describe_download("benchmark", data_path, local_path(data_path, getattr(cls, "wanted", ("*",))))
        if hasattr(cls, "rows_file") and (rows := cls(make_parameters(cls, benchmark.parameters)).rows_file):
            yield _describe_download(Text("rows of the benchmark"), str(rows), rows.fetch())
    models = [(Text("edit model"), model) for model in configuration.edit_models.values()]
    for kind, section in [*models, *(("judge", judge) for judge in configuration.judges.values())]:
        name, revision = section.parameters.get("model_name"), section.parameters.get("revision")
        if isinstance(name, str) and name:
            folder = Path(name).expanduser().absolute()
            if not folder.is_dir() and is_hub_name(name):
                folder = fetch_model(Repository(name, revision, "model"), section.name_of("model_name"))
            yield _describe_download(f"{kind} {section.name}", name, folder)
        protocol = section.protocol
        prompts = protocol.parameters.get("prompts_path") if protocol else None
        if protocol and not prompts and protocol.parameters.get("prompts") == "official":
            cls = import_class("protocol", protocol.class_path, configuration.folder)
            for file in getattr(cls, "official_files", ()) or filter(None, [getattr(cls, "official_file", None)]):
                yield _describe_download(Text("prompts of judge {}", section.name), str(file), file.fetch())
        if isinstance(prompts, str) and is_address(prompts):
            path = local_path(prompts, ("*.py", "*.json", "*.txt", "*.yaml"), "protocol.prompts_path")
            yield _describe_download(Text("prompts of judge {}", section.name), prompts, path)


def _describe_download(what: str, name: str, path: Path) -> Fetched:
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return Fetched(what, name, str(path), sum(file.stat().st_size for file in files))
