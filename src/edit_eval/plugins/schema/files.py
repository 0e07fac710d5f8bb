"""The schema as a file beside configurations, and the line by which an editor finds it there."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from edit_eval.config import components
from edit_eval.config.base_system import MODELS
from edit_eval.config.kinds import Kind
from edit_eval.config.loading import as_written
from edit_eval.errors import ConfigurationError
from edit_eval.files.new import refuse_existing, write_atomically
from edit_eval.plugins.schema.document import MARK, OwnClass, Schema, configuration_schema

BESIDE = ".edit-eval.schema.json"
"""Name of the schema beside a configuration: it goes where the folder goes, and no listing of pictures finds it."""
LINE = "# yaml-language-server: $schema="


def own_classes(configs: Iterable[str | Path]) -> list[OwnClass]:
    """Returns the classes that configurations name by their paths, and that can be imported here.

    Raises `ConfigurationError` if one cannot be read.
    """
    kinds: dict[str, Kind] = dict.fromkeys(components.names("columns"), "judge")
    kinds |= {key: kind for kind, keys in MODELS.items() for key in keys}
    kinds |= {"benchmark": "benchmark", "protocol": "protocol"}
    classes: dict[tuple[Kind, str], OwnClass] = {}
    for config in configs:
        values, _ = as_written(config)
        folder = Path(str(values.get("import_from") or Path(config).resolve().parent))
        named = [each for key, kind in kinds.items() for each in _class_paths(values.get(key), kind)]
        for kind, path in dict.fromkeys(named):
            with contextlib.suppress(ConfigurationError):  # of an environment of its own: any parameters are accepted
                cls = components.name_class(kind, components.normalise_class_path(path, folder), folder)
                classes.setdefault((kind, path), OwnClass(kind, path, cls))
    return list(classes.values())


def _class_paths(section: object, kind: Kind) -> Iterator[tuple[Kind, str]]:
    """Yields the class paths in a section, or in several by name, each with its kind."""
    for key, value in section.items() if isinstance(section, dict) else ():
        if key == "class_path" and isinstance(value, str):
            yield kind, value
        elif key != "params":
            yield from _class_paths(value, "protocol" if key == "protocol" else kind)


def write_schema(schema: Schema, file: Path, *, force: bool = False) -> None:
    """Writes a schema. One that was written by us is replaced; raises `ConfigurationError` for any other file."""
    refuse_existing(file, force=force or _is_ours(file))
    with write_atomically(file) as temporary:
        temporary.write_text(json.dumps(schema, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def _is_ours(file: Path) -> bool:
    try:
        with file.open(encoding="utf-8") as opened:
            return MARK in opened.read(400)
    except (OSError, UnicodeDecodeError):
        return False


def _names_it(config: Path) -> bool:
    try:
        with config.open(encoding="utf-8") as opened:
            return opened.readline().rstrip() == f"{LINE}{BESIDE}"
    except (OSError, UnicodeDecodeError):
        return False


def write_config_schema(config: Path) -> Path:
    """Writes the schema beside a configuration, and at its head the line that names it; returns the schema's file.

    It has the classes of the others in the folder that name it, too.
    """
    file = config.with_name(BESIDE)
    own = own_classes([config])
    for other in sorted(config.parent.glob("*.y*ml")):
        if other != config and _names_it(other):
            with contextlib.suppress(ConfigurationError):  # it may be half written
                own += [
                    own_class for own_class in own_classes([other]) if own_class[:2] not in [each[:2] for each in own]
                ]
    write_schema(configuration_schema(own), file)
    text = config.read_text(encoding="utf-8")
    if LINE not in text:
        with write_atomically(config) as temporary:
            temporary.write_text(f"{LINE}{BESIDE}\n{text}", encoding="utf-8")
    return file
