"""`--set dotted.key=value`: changes to the plain values of a configuration before anything is made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from edit_eval.config.faults import Faults, Place
from edit_eval.config.yaml_text import parse
from edit_eval.errors import ConfigurationError
from edit_eval.text import Text


def apply_overrides(
    raw: dict[str, Any], overrides: str | Sequence[str] | Mapping[str, Any], faults: Faults
) -> list[tuple[Place, Any]]:
    """Applies each `dotted.key=value` in order, in place; the value is YAML, an index leads into a list.

    Those of a mapping, `{"dotted.key": value}`, are taken as they are.
    Returns where each went and what it was, those that a later one replaces among them. What is unknown is found later,
    like any wrong key of the file: `faults.origins` remembers that `--set` wrote it.
    Raises `ConfigurationError` for what cannot be applied at all.
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


def filled(section: dict[str, Any], key: str) -> Any:
    """What is at a key; a new mapping where nothing is."""
    if section.get(key) is None:
        section[key] = {}
    return section[key]


def _set(target: dict[str, Any] | list[Any], keys: list[str], value: Any, dotted: str, faults: Faults) -> Place:
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


def _next_key(target: dict[str, Any] | list[Any], keys: list[str]) -> tuple[str, list[str]]:
    """The next key on the way; a key of the file with dots in it (`qwen3.5`) is found, too."""
    if isinstance(target, dict):
        for length in range(len(keys), 1, -1):
            joined = ".".join(keys[:length])
            if joined in target:
                return joined, keys[length:]
    return keys[0], keys[1:]
