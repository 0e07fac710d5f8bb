"""`extends: other.yaml`: a configuration that says only what differs from another one.

Mappings are merged key by key; any other value, lists among them, takes the place of the base's. A section that names
another class (`type` or `class_path`) stands alone: the base's parameters are not for it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edit_eval.config.faults import Place, did_you_mean, nearest_path, shown
from edit_eval.config.shipped import shipped
from edit_eval.config.yaml_text import read_file
from edit_eval.errors import ConfigurationError
from edit_eval.text import Text

KEY = "extends"
_CLASS = ("type", "class_path")
_INSTEAD = {"diffusion_model": "edit_models", "reward_model": "judges"}
_INSTEAD |= {several: one for one, several in _INSTEAD.items()}
"""A model, and several: who gives the one means it in place of the base's other."""


@dataclass
class Merged:
    """The values of a file and of those that it extends."""

    values: Any
    files: dict[Place, str] = field(default_factory=dict)
    """Place -> the base that a value there came from; a place below it has the same, unless it says otherwise."""
    folder: Path = field(default_factory=Path.cwd)
    """Beside which file classes of one's own lie: the first of the chain that names any."""


def read_extended(source: str | Path, complete: Callable[[Any], None], chain: tuple[Path, ...] = ()) -> Merged:
    """A file merged with what it extends. `complete` writes out short forms, in place, before anything is merged.

    Raises `ConfigurationError` with the name of the file in which something is wrong.
    """
    here = Path(source).resolve()
    return extended(read_file(source), str(source), here.parent, complete, (*chain, here))


def extended(
    values: Any, label: str, folder: Path, complete: Callable[[Any], None], chain: tuple[Path, ...] = ()
) -> Merged:
    """The same for values that were read already; `folder` is where a relative path of `extends` counts from."""
    complete(values)
    if not isinstance(values, dict) or (written := values.pop(KEY, None)) is None:
        return Merged(values, folder=folder)
    path = _base(written, label, folder)
    if path.resolve() in chain:
        circle = " -> ".join(each.name for each in (*chain[chain.index(path.resolve()) :], path))
        raise ConfigurationError(Text("{}: {}: circular: {}; remove `{}` from one of them", label, KEY, circle, KEY))
    base = read_extended(path, complete, chain)
    if not isinstance(base.values, dict):
        raise ConfigurationError(
            Text("{}: cannot be extended, since it is not a mapping (`{}` in {})", path, KEY, label)
        )
    files: dict[Place, str] = {}
    merged = _merge(base.values, values, (), base.files, str(path), files)
    return Merged(merged, files, folder if _names_a_class(values) or not _names_a_class(base.values) else base.folder)


def _base(written: Any, label: str, folder: Path) -> Path:
    """The file that `extends` means."""
    if not isinstance(written, str) or not written.strip():
        raise ConfigurationError(
            Text(
                "{}: {}: must be the path of a YAML file, or the name of a configuration, not {}",
                label,
                KEY,
                shown(written),
            )
        )
    path = Path(folder, os.path.expanduser(written))
    known = shipped()
    if os.path.lexists(path):
        return Path(os.path.relpath(path)) if path.resolve().is_relative_to(Path.cwd()) else path
    if written in known:
        return known[written]
    meant = did_you_mean(written, known) if Path(written).name == written else ""
    remedy = (
        meant or nearest_path(path) or Text("; it counts from the file's own folder, and `edit-eval list` shows names")
    )
    raise ConfigurationError(Text("{}: {}: no such file: {}{}", label, KEY, written, remedy))


def _merge(
    base: Mapping[str, Any],
    own: Mapping[str, Any],
    place: Place,
    origins: Mapping[Place, str],
    file: str,
    files: dict[Place, str],
) -> dict[str, Any]:
    """The base's keys first, in its order, so that the result reads as the base does."""
    merged: dict[str, Any] = {}
    for key in (*base, *(key for key in own if key not in base)):
        inner = (*place, key)
        if key not in own:
            if not place and key in _INSTEAD and own.get(_INSTEAD[key]) is not None:
                continue
            merged[key] = base[key]
            files[inner] = _origin(inner, origins) or file
            files |= {deeper: name for deeper, name in origins.items() if deeper[: len(inner)] == inner}
            continue
        value, under = own[key], base.get(key)
        if isinstance(value, Mapping) and isinstance(under, Mapping) and not _another_class(value, under):
            merged[key] = _merge(under, value, inner, origins, file, files)
        else:
            merged[key] = value
    return merged


def _another_class(own: Mapping[str, Any], base: Mapping[str, Any]) -> bool:
    return any(own.get(key) is not None and own[key] != base.get(key) for key in _CLASS)


def _origin(place: Place, files: Mapping[Place, str]) -> str:
    """The base that a value came from, or nothing."""
    return next((files[place[:n]] for n in range(len(place), 0, -1) if place[:n] in files), "")


def _names_a_class(values: Any) -> bool:
    if isinstance(values, Mapping):
        return isinstance(values.get("class_path"), str) or any(map(_names_a_class, values.values()))
    return isinstance(values, list) and any(map(_names_a_class, values))
