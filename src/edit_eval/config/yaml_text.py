"""Converts YAML text to plain values (dicts, lists, text, numbers, booleans and null only); applies `--set`.

Scalars follow the core schema of YAML 1.2, not PyYAML's 1.1: `no` and `on` are text, `1e-4` is a number, and `00012`
and `2026-11-20` stay text, as ids need. Keys are always text. A key given twice, a tag such as `!!python/...`, and
aliases that expand excessively are errors.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from edit_eval.config.faults import Faults, Place, nearest_path
from edit_eval.errors import ConfigurationError
from edit_eval.json_values import Unchecked
from edit_eval.text import Text

LARGEST_FILE = 4 << 20  # bytes; a configuration with all its prompts has some tens of thousands
_TABLES = (".csv", ".tsv", ".jsonl", ".parquet")
MOST_VALUES = 100_000  # after aliases are expanded; 306 bytes of them can stand for billions


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader with the scalars of YAML 1.2."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 (PyYAML's own way)


for _tag, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?(?:0|[1-9][0-9]*)|0x[0-9a-fA-F]+", "-+0123456789"),
    ("float", r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("float", r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", "-+."),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("merge", r"<<", "<"),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), list(_first))


def read_file(path: str | Path) -> Any:
    """Reads a YAML file to plain values. Raises `ConfigurationError` with the file's name and, if known, the line."""
    try:
        mode = os.stat(path).st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # reading a pipe could block for ever
            raise ConfigurationError(Text("{}: is a pipe or a device, not a file; save the YAML as a file", path))
        with open(path, "rb") as file:
            data = file.read(LARGEST_FILE + 1)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a path with a NUL in it
        meant = nearest_path(path) or Text("; `edit-eval init` writes one, `edit-eval list` shows those to start from")
        raise ConfigurationError(Text("{}: no such file{}", path, meant)) from None
    except IsADirectoryError:
        raise ConfigurationError(Text("{}: is a folder{}", path, _suggest_file(Path(path)))) from None
    except OSError as error:
        raise ConfigurationError(Text("{}: cannot be read: {}", path, error.strerror)) from None
    if Path(path).suffix.lower() in _TABLES:
        raise ConfigurationError(
            Text("{}: that is a table, not a configuration; `edit-eval init --pictures {}` writes one", path, path)
        )
    if len(data) > LARGEST_FILE:
        raise ConfigurationError(
            Text(
                "{}: larger than {} MiB, so it is not a configuration; put the benchmark's file "
                "under `benchmark.data_path` of a YAML file",
                path,
                LARGEST_FILE >> 20,
            )
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise ConfigurationError(
            Text("{}:{}: not UTF-8 (byte {}); save the file as UTF-8", path, line, error.start)
        ) from None
    return parse(text, str(path))


def parse_ours(text: str) -> Any:
    """Parses a file that we ship or wrote, with PyYAML's C loader if available, which is ten times as fast.

    Raises `ValueError` for aliases that expand to more than a configuration holds, or that contain themselves.
    """
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
    try:
        value = loader.get_single_data()
    finally:
        loader.dispose()
    if "&" in text and "*" in text and _size(value, {}) > 10 * MOST_VALUES:
        raise ValueError("aliases (`*name`) that expand to too much")
    return value


def _size(value: Any, known: dict[int, int]) -> int:
    """Returns how many values there are once aliases are expanded. Raises `ValueError` for one that contains itself."""
    if not isinstance(value, dict | list):
        return 1 + (len(value) // 1000 if isinstance(value, str) else 0)
    if known.get(id(value)) == 0:
        raise ValueError("an alias (`*name`) that contains itself")
    if id(value) not in known:
        known[id(value)] = 0
        known[id(value)] = 1 + sum(
            _size(each, known) for each in (value.values() if isinstance(value, dict) else value)
        )
    return known[id(value)]


def _suggest_file(folder: Path) -> str:
    if files := sorted((folder / "config").glob("[0-9]*.yaml")):
        return Text(" of a run; `edit-eval status {}` shows the run, `edit-eval run {}` repeats it", folder, files[-1])
    files = sorted(path for path in folder.iterdir() if path.suffix in (".yaml", ".yml"))
    if files:
        return Text("; give the YAML file in it: {}", files[:3])
    return Text(", not a configuration; `edit-eval init --pictures {}` writes one", folder)


def parse(text: str, source: str) -> Any:
    """Parses YAML text to plain values. Raises `ConfigurationError` with `source`, line and column."""
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            return None if node is None else _Values(loader, source).value(node)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        theirs = (error.problem or error.context or "").replace("'<stream end>'", "the end of the file")
        problem = theirs.replace("'<block end>'", "the end of a block") or Text("cannot be read")
        slip = _slip(text, mark.line) if mark else None
        if slip:
            where, problem = f":{slip[0] + 1}", slip[1]
        elif "\\t" in problem:
            problem = Text("a tab; indent with spaces")
        elif "mapping values" in problem:
            problem = Text("a second colon; put text that has `: ` in quotes, or begin a new line")
        elif "another document" in problem:
            problem = Text("more than one document (`---`)")
        raise ConfigurationError(Text("{}{}: not valid YAML: {}", source, where, problem)) from None
    except yaml.reader.ReaderError as error:
        line = f":{text[: error.position].count(chr(10)) + 1}" if isinstance(error.position, int) else ""
        raise ConfigurationError(Text("{}{}: not valid YAML: it holds a control character", source, line)) from None
    except RecursionError:
        raise ConfigurationError(Text("{}: nested too deeply to be a configuration", source)) from None


_KEY = r"[A-Za-z_][\w.-]*"
_WIDE_COLON = re.compile(rf"^[\s{{-]*({_KEY})\s*\uff1a")
_WIDE_COMMA = re.compile(rf"[{{\[].*\uff0c\s*(?:{_KEY}\s*[:\uff1a]|[^\s\]}}]+\s*[\]}}])")
_NO_COLON = re.compile(rf"^[\s-]*({_KEY})(?:\s+[{{\[].*)?\s*$")


def _slip(text: str, line: int) -> tuple[int, str] | None:
    """Finds the slip of the pen behind an error: its line, from 0, is that of the error or the last one before."""
    lines = text.split("\n")[: line + 1]
    near = [number for number, row in enumerate(lines) if row.partition(" #")[0].strip()][-3:]
    for number in reversed(near):
        content = lines[number].partition(" #")[0]
        if match := _WIDE_COLON.match(content):
            return number, _wide_colon(match[1])
        if _WIDE_COMMA.search(content):
            return number, Text("a full-width comma (\uff0c); between values write `, `")
        if (match := _NO_COLON.match(content)) and number < line:
            return number, _no_colon(match[1])
    return None


def _wide_colon(key: str) -> Text:
    return Text("a full-width colon (\uff1a) behind `{}`; write `{}: `", key, key)


def _no_colon(key: str) -> Text:
    return Text("no colon behind `{}`; write `{}: `", key, key)


class _Values:
    """Turns composed nodes into values, counting them, so that exploding aliases are stopped early."""

    def __init__(self, loader: _Loader, source: str) -> None:
        self._loader = loader
        self._source = source
        self._count = 0
        self._open: set[int] = set()

    def value(self, node: yaml.Node) -> Any:
        """Returns the value of `node`."""
        self._count += 1 + (len(node.value) // 1000 if isinstance(node, yaml.ScalarNode) else 0)
        if self._count > MOST_VALUES:
            raise self._error(node, Text("more than {} values once its aliases (`*name`) are expanded", MOST_VALUES))
        if id(node) in self._open:
            raise self._error(node, Text("an alias (`*name`) that contains itself"))
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node)
            if isinstance(node, yaml.SequenceNode):
                self._refuse_tag(node, "seq")
                return [self.value(item) for item in node.value]
            assert isinstance(node, yaml.ScalarNode)
            self._refuse_tag(node, "str", "int", "float", "bool", "null")
            try:
                return self._loader.construct_object(node)
            except (ValueError, KeyError):
                raise self._error(
                    node, Text("cannot read {!r} as {}", node.value[:40], node.tag.rpartition(":")[2])
                ) from None
        finally:
            self._open.discard(id(node))

    def _mapping(self, node: yaml.MappingNode) -> Unchecked:
        self._refuse_tag(node, "map")
        values: Unchecked = {}
        merged: Unchecked = {}
        for key_node, value_node in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                others = self.value(value_node)
                for other in others if isinstance(others, list) else [others]:
                    if not isinstance(other, dict):
                        raise self._error(value_node, Text("`<<` wants a mapping"))
                    merged = {**other, **merged}
                continue
            if not isinstance(key_node, yaml.ScalarNode):
                raise self._error(key_node, Text("a key must be text; braces in text need quotes"))
            key = key_node.value
            if key in values:
                raise self._error(key_node, Text("`{}` is given twice", key))
            self._refuse_slips(key_node, value_node)
            values[key] = self.value(value_node)
        return {**merged, **values}

    def _refuse_slips(self, key: yaml.ScalarNode, value: yaml.Node) -> None:
        """Refuses what was meant as a key and has no colon behind it that YAML knows."""
        if key.style is None and (match := re.match(rf"({_KEY})\s*(?:(\uff1a)|\s[{{\[])", key.value)):
            raise self._error(key, _wide_colon(match[1]) if match[2] else _no_colon(match[1]))
        below = isinstance(value, yaml.ScalarNode) and value.start_mark.line > key.start_mark.line
        if below and getattr(value, "style", None) is None and (match := _WIDE_COLON.match(value.value)):
            raise self._error(value, _wide_colon(match[1]))

    def _refuse_tag(self, node: yaml.Node, *known: str) -> None:
        if node.tag not in {f"tag:yaml.org,2002:{name}" for name in known}:
            tag = node.tag.replace("tag:yaml.org,2002:", "!!")
            raise self._error(node, Text("the tag {} is not allowed; only plain values are read", tag))

    def _error(self, node: yaml.Node, text: str) -> ConfigurationError:
        return ConfigurationError(Text("{}:{}: {}", self._source, node.start_mark.line + 1, text))


def models_written(plain: Mapping[str, Any]) -> list[tuple[str, str, Mapping[str, Any]]]:
    """Returns every model of a full configuration (as in the YAML): its section, its name, what is written of it."""
    return [
        (section, name, model)
        for section, models in plain.items()
        for name, model in (models.items() if isinstance(models, Mapping) else ())
        if isinstance(model, Mapping) and isinstance(model.get("params"), Mapping)
    ]


def apply_overrides(
    raw: Unchecked, overrides: str | Sequence[str] | Mapping[str, Any], faults: Faults
) -> list[tuple[Place, Any]]:
    """Applies each `dotted.key=value` in order, in place; values are YAML, and an index leads into a list.

    Values of a mapping, `{"dotted.key": value}`, are used unchanged. Returns the place and value of each, including
    those replaced by a later one. Unknown keys are found later, like those of the file: `faults.origins` records that
    they came from `--set`. Raises `ConfigurationError` for an override that cannot be applied at all.
    """
    applied = []
    given = [overrides] if isinstance(overrides, str) else overrides
    for override in given:
        dotted, equals, text = override.partition("=")
        dotted = dotted.strip()
        if isinstance(given, Mapping):
            dotted, equals = override, "="
        if not equals or not dotted or not all(dotted.split(".")):
            raise ConfigurationError(Text("--set {}: must be dotted.key=value, such as execution.pilot=false", dotted))
        try:
            value = given[override] if isinstance(given, Mapping) else parse(text, "")
        except ConfigurationError as error:
            problem = str(error).rpartition("not valid YAML: ")[2].lstrip(":0123456789 ")
            raise ConfigurationError(Text("--set {}: the value is not valid YAML: {}", dotted, problem)) from None
        applied.append((_set(raw, dotted.split("."), value, dotted, faults), value))
    return applied


def ensure_mapping(section: Unchecked, key: str) -> Any:
    """Returns the value at a key, first setting it to a new mapping if nothing is there."""
    if section.get(key) is None:
        section[key] = {}
    return section[key]


def _set(target: Unchecked | list[Any], keys: list[str], value: Any, dotted: str, faults: Faults) -> Place:
    place: Place = ()
    inner: Any = target
    while keys:
        if not isinstance(inner, dict | list):
            raise ConfigurationError(Text("--set {}: `{:.}` is a value, it has no keys under it", dotted, place))
        key, keys = _next_key(inner, keys)
        place = (*place, key)
        at: Any = key
        if isinstance(inner, list):
            if not key.isascii() or not key.isdigit() or int(key) >= len(inner):
                raise ConfigurationError(
                    Text("--set {}: `{}` is not an index of a list of {} (counted from 0)", dotted, key, len(inner))
                )
            at = int(key)
        elif keys and inner.get(key) is None:
            inner[key] = {}
            faults.origins.setdefault(place, "--set")
        if not keys:
            inner[at] = value
        inner = inner[at]
    faults.origins[place] = "--set"
    return place


def _next_key(target: Unchecked | list[Any], keys: list[str]) -> tuple[str, list[str]]:
    """Returns the next key and the rest; also finds keys of the file with dots in them (`qwen3.5`)."""
    if isinstance(target, dict):
        for length in range(len(keys), 1, -1):
            joined = ".".join(keys[:length])
            if joined in target:
                return joined, keys[length:]
    return keys[0], keys[1:]
