"""What would keep a model from loading, known before anything is loaded: no GPU, or weights that cannot be had.

A run is refused for it before it begins, `plan` likewise, and `doctor` says the same.
"""

from __future__ import annotations

import dataclasses
import os
import socket
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from edit_eval.config.schema import ModelSection
from edit_eval.edit_models.release_table import RELEASE
from edit_eval.errors import ConfigurationError
from edit_eval.execution.drivers.contract import Machine
from edit_eval.execution.machine.fitting import checkpoint_of, gib, weights_of
from edit_eval.execution.machine.weights import PUBLISHED, offline
from edit_eval.pretrained.folders import hub_cache, is_hub_name
from edit_eval.text import Text
from edit_eval.workers.model_class import find_class

LARGE = 2 * 10**9
"""Bytes: a smaller model may well be meant for the CPU."""
HUB = "https://huggingface.co"
HUB_SECONDS = 3.0
"""For looking up the Hub's address and being let in: what takes longer is no network for a hundred gigabytes."""

Laid = tuple[ModelSection, Sequence[Sequence[str]]]
"""A model, and the devices of each of its replicas."""


@dataclass(frozen=True)
class Obstacle:
    """Why a model cannot be loaded, and what to do."""

    problem: str
    remedy: str

    def __str__(self) -> str:
        return Text("{}; {}", self.problem, self.remedy)


def refuse(
    models: Sequence[Laid], machine: Machine, environment: Mapping[str, str] = os.environ, *, together: bool = False
) -> None:
    """Raises `ConfigurationError` for the first of these models that could not be loaded.

    `together`: on devices that they share all of them are to stay loaded.
    """
    if together and (obstacle := claimed_twice(models)):
        raise ConfigurationError(str(obstacle))
    for section, places in models:
        if obstacle := no_gpu(section, places, machine, environment):
            raise ConfigurationError(str(obstacle))
    for section, _ in models:
        if obstacle := no_weights(section, environment):
            raise ConfigurationError(str(obstacle))


def claimed_twice(models: Sequence[Laid]) -> Obstacle | None:
    """A server that takes nearly all of a GPU on which another model is to stay, because nobody has said how much."""
    for section, places in models:
        share = section.server_share
        if not section.served or not share or section.served.share(section.route, by_default=False):
            continue
        for other, others in models:
            both = {device for place in places for device in place} & {device for place in others for device in place}
            if other is not section and (shared := sorted(device for device in both if device.startswith("cuda"))):
                return Obstacle(
                    Text(
                        "{}: the server of {} takes {:.0%} of {} at its start, where {} is to stay "
                        "loaded (placement: together)",
                        section.named("serve"),
                        section.name,
                        share,
                        shared[0],
                        other.name,
                    ),
                    Text("give it less (`serve: {{memory: 0.4}}`), or write `execution: {{placement: swap}}`"),
                )
    return None


def no_gpu(
    section: ModelSection, places: Sequence[Sequence[str]], machine: Machine, environment: Mapping[str, str]
) -> Obstacle | None:
    """A large model that was to take what there is does not take the CPU. None where it may, or has a GPU."""
    if section.placement.device_ids != "auto" or not places or not places[0][0].startswith("cpu"):
        return None
    size = _bytes_of_weights(section, environment)
    if size <= LARGE:
        return None
    reason = machine.fault() or machine.limit()
    why = Text(" ({})", reason) if reason else ""
    return Obstacle(
        Text(
            "{}: no GPU is visible to this command{}, and {} has {} of weights",
            section.named("device_ids"),
            why,
            section.name,
            gib(size),
        ),
        Text("to run it on the CPU anyway, write `device: cpu` in its `params`, or give `--devices cpu`"),
    )


def no_weights(section: ModelSection, environment: Mapping[str, str]) -> Obstacle | None:
    """Weights that are not in the cache, and no way to the Hub. None where they can be had, or are here.

    It takes `HUB_SECONDS` at most. The libraries would try again and again for a minute.
    """
    weights = weights_of(section, environment)
    known = weights.name in PUBLISHED or weights.name in RELEASE or _class_size(section)
    if not known or not is_hub_name(weights.name):  # what another class calls a model need be no repository
        return None
    cache = hub_cache(environment)
    if weights.folder is not None and (not weights.faults or cache not in weights.folder.parents):
        return None
    variable = offline(environment)
    if not variable and hub_answers(environment):
        return None
    missing = (
        Text("incomplete in the cache ({})", weights.faults[0])
        if weights.faults
        else Text("not in the cache {}", cache)
    )
    reason = (
        Text("{} forbids asking the Hub", variable) if variable else Text("{} cannot be reached", _hub(environment))
    )
    return Obstacle(
        Text(
            "{}: the weights of {} are {}, and {}",
            section.named(checkpoint_of(section)[0]),
            weights.name,
            missing,
            reason,
        ),
        Text("on a machine with a network, run `{}`, or give a folder", download_command(section)),
    )


def download_command(section: ModelSection) -> str:
    """What a person types to have a model's weights from the Hub."""
    _, name, revision, _ = checkpoint_of(section)
    return f"hf download {name}" + (f" --revision {revision}" if revision else "")


def hub_answers(environment: Mapping[str, str]) -> bool:
    """Whether somebody lets us in at the Hub's address, or at the proxy's that leads there."""
    names = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
    proxy = next((environment[name] for name in names if environment.get(name)), "")
    address = urlsplit(proxy or _hub(environment), scheme="https")
    answered: list[bool] = []

    def ask() -> None:
        try:
            port = address.port or (80 if address.scheme == "http" else 443)
            socket.create_connection((address.hostname or "", port), timeout=HUB_SECONDS).close()
        except (OSError, ValueError):
            return
        answered.append(True)

    thread = threading.Thread(target=ask, daemon=True)  # looking up a name knows no timeout
    thread.start()
    thread.join(HUB_SECONDS)
    return bool(answered)


def _hub(environment: Mapping[str, str]) -> str:
    return environment.get("HF_ENDPOINT") or HUB


def _bytes_of_weights(section: ModelSection, environment: Mapping[str, str]) -> int:
    """Bytes of a model's weights when loaded; of one that nobody has seen, those of its class's own model."""
    weights = weights_of(section, environment)
    if not weights.name:
        return 0
    return weights.loaded if weights.loaded or weights.folder else _class_size(section)


def _class_size(section: ModelSection) -> int:
    """Bytes of the model that a registered class takes when none is named; 0 where nothing is published of it."""
    if not section.type:
        return 0
    try:
        parameters = getattr(find_class(section.class_path, []), "Parameters", None)
    except Exception:  # only its own environment can import it
        return 0
    fields = dataclasses.fields(parameters) if dataclasses.is_dataclass(parameters) else ()
    named = next((field.default for field in fields if field.name == "model_name"), "")
    return round(2e9 * sum(PUBLISHED.get(str(named), {}).values()))
