"""Which model answers, as far as its answers depend on it; and the digest of plain data, which keys are made of."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from edit_eval.config.components import NotHere, import_class, own_source, package_of, staying_here
from edit_eval.config.schema import ModelSection
from edit_eval.errors import ConfigurationError
from edit_eval.text import Text
from edit_eval.workers.model_class import key_parameters, make_parameters, sources_digest

canonical_json = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode
"""Sorted keys, no spaces, no NaN."""


def digest(parts: object) -> str:
    """SHA-256 (hexadecimal) of the canonical JSON of `parts`: sorted keys, no spaces, UTF-8, no NaN."""
    return digest_of_text(canonical_json(parts))


def digest_of_text(text: str) -> str:
    """SHA-256 (hexadecimal) of a text in UTF-8."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Identity:
    """Which model answers, as far as its answers depend on it."""

    name: str
    """What the configuration calls it; not part of a key."""
    type: str
    revision: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    """The model's `seed`; it enters a key through the sample's seed."""

    serves: str = field(default="", compare=False)
    """Where a server answers, or what we start as one. Not part of a key: a server may move. A passport tells servers
    apart by it."""

    @cached_property
    def digest(self) -> str:
        """What stands for the model in a key."""
        return digest({"type": self.type, "revision": self.revision, "parameters": self.parameters})


@staying_here()
def identity(section: ModelSection, folder: Path, kind: Any) -> Identity:
    """What of a model enters the keys of its results: type, parameters, and its revision.

    The revision is what its class says (`revision(parameters)`); of a class of the user's own that says nothing, the
    SHA-256 of its source file, so that changed code makes its results anew. The class of an installed package that
    says nothing is told apart by the package's version.
    """
    type_name, revision, parameters = section.type or section.class_path, "", section.parameters
    file, _, class_name = section.class_path.rpartition(":")
    if file.endswith(".py"):  # wherever it lies; what it says decides the result
        type_name = f"{Path(file).name}:{class_name}"
    package = package_of(kind, section.class_path) if section.type else ""
    source = own_source(section.class_path, folder) if package or not section.type else None
    if source is not None:
        revision = sources_digest(source)
    try:
        model_class = import_class(kind, section.class_path, folder)
        parameters = key_parameters(model_class, parameters)
        if hasattr(model_class, "revision"):
            revision = str(model_class.revision(make_parameters(model_class, section.parameters)))
            package = ""
        if hasattr(model_class, "effective"):
            made = make_parameters(model_class, section.parameters)
            parameters = {**parameters, **json.loads(canonical_json(model_class.effective(made)))}
    except NotHere:
        pass  # a class that only its own environment can import
    except ConfigurationError as error:  # it begins with the name of a parameter, of which only we know the place
        key, _, text = str(error).partition(": ")
        if key not in section.names:
            raise
        raise ConfigurationError(Text("{}: {}", section.named(key), text)) from error
    if package:
        type_name = f"{type_name} of {package}"
    return Identity(section.name, type_name, revision, parameters, section.seed, _serves(section.parameters))


def _serves(parameters: Mapping[str, Any]) -> str:
    """The address of a server, without name, password and query; of one that we start, what is started."""
    if parameters.get("serve"):
        return f"serve:{digest(parameters['serve'])}"
    try:
        address = urlsplit(str(parameters.get("base_url") or ""))
        port = f":{address.port}" if address.port else ""
    except ValueError:
        return ""
    host = (address.hostname or "").replace("127.0.0.1", "localhost")
    return f"{address.scheme}://{host}{port}{address.path.rstrip('/')}" if host else ""
