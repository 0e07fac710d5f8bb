"""A model's identity, as far as its answers depend on it; and digests of plain data, which keys are made of."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from edit_eval.config.components import NotHere, import_class, own_source, package_of, preserve_cwd
from edit_eval.errors import ConfigurationError
from edit_eval.text import Text
from edit_eval.workers.model_class import key_parameters, make_parameters, sources_digest

if TYPE_CHECKING:  # a dozen classes of pydantic's, for which readers do not wait
    from edit_eval.config.schema import ModelSection

canonical_json = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode
"""Encodes JSON with sorted keys, no spaces and no NaN."""


def digest(parts: object) -> str:
    """Returns the SHA-256 (hexadecimal) of the canonical JSON of `parts`: sorted keys, no spaces, UTF-8, no NaN."""
    return digest_of_text(canonical_json(parts))


def digest_of_text(text: str) -> str:
    """Returns the SHA-256 (hexadecimal) of a text in UTF-8."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Identity:
    """A model's identity, as far as its answers depend on it."""

    name: str
    """Its name in the configuration; not part of a key."""
    type: str
    revision: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    """The model's `seed`; it enters a key through the sample's seed."""

    serves: str = field(default="", compare=False)
    """A server's address, or a digest of the server we start. Not part of a key, since servers move; passports tell
    servers apart by it."""

    @cached_property
    def digest(self) -> str:
        """The model's part of a key."""
        return digest({"type": self.type, "revision": self.revision, "parameters": self.parameters})


@preserve_cwd()
def identity(section: ModelSection, folder: Path, kind: Any) -> Identity:
    """Returns the parts of a model that enter the keys of its results: type, parameters and revision.

    The revision comes from its class (`revision(parameters)`). For a user's own class without that method, it is the
    SHA-256 of the source file, so that changed code produces new results; for one of an installed package, the
    package's version enters the type.
    """
    type_name, revision, parameters = section.type or section.class_path, "", section.parameters
    file, _, class_name = section.class_path.rpartition(":")
    if file.endswith(".py"):  # its content matters, not its folder
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
    except ConfigurationError as error:
        raise locate_error(section, error) from error
    if package:
        type_name = f"{type_name} of {package}"
    return Identity(section.name, type_name, revision, parameters, section.seed, _serves(section.parameters))


@preserve_cwd()
def ask_classes(sections: Iterable[ModelSection], kind: Any, folder: Path, method: str, *told: Any) -> dict[str, Any]:
    """Returns by name what the models' classes say that have this static method, of their parameters and what is told.

    Raises `ConfigurationError` like the class, with the place.
    """
    said = {}
    for section in sections:
        with suppress(NotHere):
            model_class = import_class(kind, section.class_path, folder)
            if hasattr(model_class, method):
                try:
                    parameters = make_parameters(model_class, section.parameters)
                    said[section.name] = getattr(model_class, method)(parameters, *told)
                except ConfigurationError as error:
                    raise locate_error(section, error) from error
    return said


def locate_error(section: ModelSection, error: ConfigurationError) -> ConfigurationError:
    """Returns a class's error with the place of the parameter whose name it begins with."""
    said = str(error)  # a Text, which keeps its template behind the place
    key = said.partition(": ")[0]
    return (
        ConfigurationError(Text("{}{}", section.name_of(key).removesuffix(key), said))
        if key in section.names
        else error
    )


def _serves(parameters: Mapping[str, Any]) -> str:
    """Returns a server's address without user, password and query; a digest of the command for one that we start."""
    if parameters.get("serve"):
        return f"serve:{digest(parameters['serve'])}"
    try:
        address = urlsplit(str(parameters.get("base_url") or ""))
        port = f":{address.port}" if address.port else ""
    except ValueError:
        return ""
    host = (address.hostname or "").replace("127.0.0.1", "localhost")
    return f"{address.scheme}://{host}{port}{address.path.rstrip('/')}" if host else ""
