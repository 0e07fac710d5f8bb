"""Plain values as YAML text that reads back as the same values, with a remark behind some of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from edit_eval.config.faults import Place
from edit_eval.config.yaml_text import parse
from edit_eval.errors import ConfigurationError

WIDTH = 100


def scalar(value: Any, *, inside: bool = False) -> str:
    """A value in one line; `inside`: within brackets."""
    if isinstance(value, Mapping):
        return (
            "{" + ", ".join(f"{scalar(str(k), inside=True)}: {scalar(v, inside=True)}" for k, v in value.items()) + "}"
        )
    if isinstance(value, list | tuple):
        return "[" + ", ".join(scalar(each, inside=True) for each in value) + "]"
    if not isinstance(value, str):
        return json.dumps(value)
    return value if _is_plain(value, inside) else json.dumps(value, ensure_ascii=False)


def _is_plain(text: str, inside: bool) -> bool:
    """Whether text needs no quotes."""
    try:
        return bool(parse(f"[{text}]" if inside else f"k: {text}", "") == ([text] if inside else {"k": text}))
    except ConfigurationError:
        return False


def write_yaml(values: Mapping[str, Any], remark: Callable[[Place], str] = lambda place: "") -> str:
    """A mapping, a key a line; `remark` says what stands behind a value as a comment, if anything."""
    return "\n".join(_lines(values, (), remark)) + "\n"


def _lines(values: Mapping[str, Any], place: Place, remark: Callable[[Place], str]) -> list[str]:
    found: list[str] = []
    indent = "  " * len(place)
    for key, value in values.items():
        inner = (*place, str(key))
        head = f"{indent}{scalar(str(key))}:"
        said = "".join(["  # ", text]) if (text := remark(inner)) else ""  # a comment is English
        if isinstance(value, Mapping) and value:
            found += [head, *_lines(value, inner, remark)]
        elif isinstance(value, str) and "\n" in value and _is_block(value):
            block = [f"{indent}  {line}" if line else "" for line in value.removesuffix("\n").split("\n")]
            found += [f"{head} {'|' if value.endswith(chr(10)) else '|-'}{said}", *block]
        elif isinstance(value, list) and len(scalar(value)) > WIDTH:
            found += [f"{head}{said}", *(f"{indent}  - {scalar(each)}" for each in value)]
        else:
            found.append(f"{head} {scalar(value)}{said}")
    return found


def _is_block(text: str) -> bool:
    """Whether text of several lines comes back the same from a block."""
    lines = text.removesuffix("\n").split("\n")
    wrong = text.startswith((" ", "\n")) or text.endswith("\n\n") or any(line != line.rstrip() for line in lines)
    return not wrong and text.replace("\n", "").isprintable()
