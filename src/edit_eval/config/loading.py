"""`load_configuration` turns a YAML file, or the same in Python, into a `Configuration`, or raises a one-line error."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict, Unpack

from edit_eval.config.base_system import MODELS
from edit_eval.config.components import locate
from edit_eval.config.faults import Faults, Place, did_you_mean, find_origin, format_value, nearest_path, one_line
from edit_eval.config.placement import Devices, read_devices_flag
from edit_eval.config.schema import Configuration
from edit_eval.config.secret_values import are_prompts, is_secret, is_secret_command
from edit_eval.config.sections import CLASS_KEYS, Sections, top_keys
from edit_eval.config.shipped import file_of, find_shipped_files
from edit_eval.config.yaml_text import apply_overrides, ensure_mapping, read_file
from edit_eval.errors import ConfigurationError
from edit_eval.json_values import Unchecked
from edit_eval.text import Text, map_fields


class LoadingOptions(TypedDict, total=False):
    """Options that change a configuration as it is read. The last five replace the benchmark's filters."""

    overrides: str | Sequence[str] | Mapping[str, Any]
    """`dotted.key=value` texts (`--set`), or a mapping `{"dotted.key": value}`."""
    devices: str | None
    """`0,2,3`, `cpu:4` or `auto` for every model; a model that asks for one `device` keeps one."""
    progress: str | None
    """Replaces `execution.progress`."""
    driver: str | None
    """Replaces `execution.driver`."""
    categories: Sequence[str] | None
    difficulty: Sequence[str] | None
    tags: Sequence[str] | None
    sample_ids: Sequence[str] | None
    limit: int | None


def load_configuration(
    source: str | Path | Mapping[str, Any], *, data_may_be_missing: bool = False, **options: Unpack[LoadingOptions]
) -> Configuration:
    """Reads, completes and checks a configuration; imports the classes it names, but loads and writes nothing.

    With `data_may_be_missing`, a missing file of the benchmark is not a fault yet.
    Raises `ConfigurationError`: one line for the first fault, and a note (`__notes__`) for each further one.
    """
    if unknown := sorted(options.keys() - LoadingOptions.__annotations__.keys()):
        raise TypeError(f"load_configuration takes no `{unknown[0]}`")
    try:
        return _load(source, options, data_may_be_missing)
    except ConfigurationError as error:
        error.args = (map_fields(str(error), one_line),)  # it repeats keys and values, which may contain anything
        error.__notes__ = [map_fields(note, one_line) for note in getattr(error, "__notes__", ())]
        raise


def as_written(source: str | Path, **options: Unpack[LoadingOptions]) -> tuple[Unchecked, Callable[[Place], str]]:
    """Returns a file's values merged with those it extends and with `options`, without defaults; and their origins.

    An origin is the path of an extended file, or a flag; empty for the file's own values. Raises `ConfigurationError`
    as `load_configuration` does.
    """
    load_configuration(source, **options, data_may_be_missing=True)
    _, merged, faults = _read_values(source, options)
    return merged.values, lambda place: faults.origin(place) or faults.file(place)


def _load(source: str | Path | Mapping[str, Any], options: LoadingOptions, data_may_be_missing: bool) -> Configuration:
    name, merged, faults = _read_values(source, options)
    devices = _devices(options.get("devices"))
    sections = Sections(merged.values, faults, merged.folder, devices, data_may_be_missing=data_may_be_missing)
    return sections.configuration(name)


def _read_values(source: str | Path | Mapping[str, Any], options: LoadingOptions) -> tuple[str, Merged, Faults]:
    """Returns the configuration's name, and its values before they are checked."""
    if isinstance(source, Mapping):
        name, label = "run", "configuration"
        merged = merge_base(_plain(source, ()), label, Path.cwd(), _complete_benchmark)
    else:
        source = file_of(source)
        name, label, merged = Path(source).stem, str(source), read_extended(source, _complete_benchmark)
    raw = merged.values
    if not isinstance(raw, dict):
        what = Text("empty") if raw is None else Text("holds {}", format_value(raw))
        raise ConfigurationError(Text("{}: {}; a configuration is a mapping with the keys {}", label, what, top_keys()))
    faults = Faults(label, merged.files)
    for place, value in apply_overrides(raw, options.get("overrides", ()), faults):
        _refuse_secrets(value, place, faults)  # even one that is replaced later, since the command is recorded
    if raw.pop(EXTENDS, None) is not None:
        raise ConfigurationError(Text("--set {}: write `{}` into the file", EXTENDS, EXTENDS))
    _complete_benchmark(raw)
    for key, value in options.items():
        if key not in ("overrides", "devices") and value is not None:
            part = "execution" if key in ("progress", "driver") else "benchmark"
            if isinstance(section := ensure_mapping(raw, part), dict):
                section[key] = _plain(value, (key,))
                faults.origins[part, key] = f"--{key.replace('_', '-')}"
    try:
        json.dumps(raw, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise ConfigurationError(
            Text("{}, or a --set: text that is not UTF-8 ({!r})", label, error.object[error.start])
        ) from None
    _refuse_secrets(raw, (), faults)
    faults.raise_if_any()  # before any other check, so that no error repeats a secret
    return name, merged, faults


def _complete_benchmark(raw: Any) -> None:
    """Expands `benchmark: gedit` to its `type`, and `benchmark: my.csv` to a `table` with that `data_path`."""
    written = raw.get("benchmark") if isinstance(raw, dict) else None
    if isinstance(written, str) and written.strip():
        table = {"type": "table", "data_path": written}
        raw["benchmark"] = {"type": written} if locate("benchmark", written) else table


def _devices(flag: str | None) -> Devices | None:
    try:
        return None if flag is None else read_devices_flag(flag)
    except ValueError as error:
        raise ConfigurationError(Text("--devices {}: {}", flag, error)) from None


def _refuse_secrets(value: Any, place: Place, faults: Faults) -> None:
    if are_prompts(place, value):
        return
    if place and is_secret(place, value):
        text = Text("do not put secrets in a configuration; keep them in an environment variable, and give")
        faults.add(place, Text("{} the NAME of that variable to a parameter made for it (such as `api_key_env`)", text))
        return
    if is_secret_command(place, value):
        text = Text("do not put keys in a server's command line; keep them in environment variables, and name those in")
        faults.add(place, Text("{} `serve: {{pass_env: [NAME]}}` (a shell in `command` can write `$NAME`)", text))
        return
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        _refuse_secrets(inner, (*place, str(key)), faults)


def _plain(value: Any, place: Place) -> Any:
    """Returns a deep copy of values given in Python, as a file would have them."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner, (*place, str(key))) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner, (*place, str(i))) for i, inner in enumerate(value)]
    if isinstance(value, Path):
        return str(value)
    if value is None or type(value) in (bool, int, float, str):
        return value
    kind = type(value).__name__
    raise ConfigurationError(Text("configuration: {:.}: must be text, a number, a list or a dict, not {}", place, kind))


# -- `extends: other.yaml`: a configuration with only the differences from another one --
#
# Mappings are merged key by key; any other value, lists included, replaces the base's. A section that names another
# class (`type` or `class_path`) is not merged, since the base's parameters are not for it.

EXTENDS = "extends"
_INSTEAD = {key: other for keys in MODELS.values() for key, other in (keys, keys[::-1])}
"""Keys for one model and for several: either one replaces the other of the base."""


@dataclass
class Merged:
    """The values of a file merged with those it extends."""

    values: Any
    files: dict[Place, str] = field(default_factory=dict)
    """Place -> the base that its value came from; also applies to places below, unless they have their own entry."""
    folder: Path = field(default_factory=Path.cwd)
    """Folder of the user's own classes: that of the first file in the chain that names any."""


def read_extended(source: str | Path, complete: Callable[[Any], None], chain: tuple[Path, ...] = ()) -> Merged:
    """Reads a file merged with those it extends. `complete` expands short forms, in place, before merging.

    Raises `ConfigurationError` naming the faulty file.
    """
    here = Path(source).resolve()
    return merge_base(read_file(source), str(source), here.parent, complete, (*chain, here))


def merge_base(
    values: Any, label: str, folder: Path, complete: Callable[[Any], None], chain: tuple[Path, ...] = ()
) -> Merged:
    """Merges values already read with those they extend; a relative path in `extends` starts from `folder`."""
    complete(values)
    if not isinstance(values, dict) or (written := values.pop(EXTENDS, None)) is None:
        return Merged(values, folder=folder)
    path = _base(written, label, folder)
    if path.resolve() in chain:
        circle = " -> ".join(each.name for each in (*chain[chain.index(path.resolve()) :], path))
        raise ConfigurationError(
            Text("{}: {}: circular: {}; remove `{}` from one of them", label, EXTENDS, circle, EXTENDS)
        )
    base = read_extended(path, complete, chain)
    if not isinstance(base.values, dict):
        raise ConfigurationError(
            Text("{}: cannot be extended, since it is not a mapping (`{}` in {})", path, EXTENDS, label)
        )
    files: dict[Place, str] = {}
    merged = _merge(base.values, values, (), base.files, str(path), files)
    return Merged(merged, files, folder if _names_a_class(values) or not _names_a_class(base.values) else base.folder)


def _base(written: Any, label: str, folder: Path) -> Path:
    if not isinstance(written, str) or not written.strip():
        raise ConfigurationError(
            Text(
                "{}: {}: must be the path of a YAML file, or the name of a configuration, not {}",
                label,
                EXTENDS,
                format_value(written),
            )
        )
    path = Path(folder, os.path.expanduser(written))
    known = find_shipped_files()
    if os.path.lexists(path):
        return Path(os.path.relpath(path)) if path.resolve().is_relative_to(Path.cwd()) else path
    if written in known:
        return known[written]
    meant = did_you_mean(written, known) if Path(written).name == written else ""
    remedy = (
        meant or nearest_path(path) or Text("; it counts from the file's own folder, and `edit-eval list` shows names")
    )
    raise ConfigurationError(Text("{}: {}: no such file: {}{}", label, EXTENDS, written, remedy))


def _merge(
    base: Mapping[str, Any],
    own: Mapping[str, Any],
    place: Place,
    origins: Mapping[Place, str],
    file: str,
    files: dict[Place, str],
) -> Unchecked:
    """Merges two mappings; the base's keys come first, in its order, so that the result reads like the base."""
    merged: Unchecked = {}
    for key in (*base, *(key for key in own if key not in base)):
        inner = (*place, key)
        if key not in own:
            if not place and key in _INSTEAD and own.get(_INSTEAD[key]) is not None:
                continue
            merged[key] = base[key]
            files[inner] = find_origin(inner, origins) or file
            files |= {deeper: name for deeper, name in origins.items() if deeper[: len(inner)] == inner}
            continue
        value, under = own[key], base.get(key)
        if isinstance(value, Mapping) and isinstance(under, Mapping) and not _another_class(value, under):
            merged[key] = _merge(under, value, inner, origins, file, files)
        else:
            merged[key] = value
    return merged


def _another_class(own: Mapping[str, Any], base: Mapping[str, Any]) -> bool:
    return any(own.get(key) is not None and own[key] != base.get(key) for key in CLASS_KEYS)


def _names_a_class(values: Any) -> bool:
    if isinstance(values, Mapping):
        return isinstance(values.get("class_path"), str) or any(map(_names_a_class, values.values()))
    return isinstance(values, list) and any(map(_names_a_class, values))
