"""What can be known of weights that are not here: how large they are, and whether the Hub would give them."""

from __future__ import annotations

import dataclasses
import socket
import threading
from collections.abc import Mapping
from urllib.parse import urlsplit

from edit_eval.config.schema import ModelSection
from edit_eval.edit_models.release_table import RELEASE
from edit_eval.execution.machine.fitting import checkpoint_of, weights_of
from edit_eval.execution.machine.weights import PUBLISHED, Weights
from edit_eval.workers.model_class import find_class

HUB = "https://huggingface.co"
HUB_SECONDS = 3.0
"""For looking up the Hub's address and being let in: what takes longer is no network for a hundred gigabytes."""


def published(section: ModelSection, weights: Weights) -> bool:
    """Whether something is known of a model's weights, or of those of its class."""
    return weights.name in PUBLISHED or weights.name in RELEASE or bool(_class_size(section))


def download_command(section: ModelSection) -> str:
    """What a person types to have a model's weights from the Hub."""
    _, name, revision, _ = checkpoint_of(section)
    return f"hf download {name}" + (f" --revision {revision}" if revision else "")


def hub_answers(environment: Mapping[str, str]) -> bool:
    """Whether somebody lets us in at the Hub's address, or at the proxy's that leads there."""
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

    thread = threading.Thread(target=ask, daemon=True)  # looking up a name knows no timeout
    thread.start()
    thread.join(HUB_SECONDS)
    return bool(answered)


def hub_address(environment: Mapping[str, str]) -> str:
    """Where weights are downloaded from."""
    return environment.get("HF_ENDPOINT") or HUB


def bytes_of_weights(section: ModelSection, environment: Mapping[str, str]) -> int:
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
