"""Plain values as YAML that people read and edit: one key per line, quotes only where they are needed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from edit_eval.config.faults import Place
from edit_eval.config.yaml_text import parse
from edit_eval.errors import ConfigurationError

WIDTH = 100


def scalar(value: Any, *, inside: bool = False) -> str:
    """Formats a value on one line; with `inside`, for use within brackets."""
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
    """True if text needs no quotes."""
    try:
        return bool(parse(f"[{text}]" if inside else f"k: {text}", "") == ([text] if inside else {"k": text}))
    except ConfigurationError:
        return False


def write_yaml(values: Mapping[str, Any], remark: Callable[[Place], str] = lambda place: "") -> str:
    """Formats a mapping as YAML, one key per line; `remark` returns the comment after a value, or nothing."""
    return "\n".join(_lines(values, (), remark)) + "\n"


def _lines(values: Mapping[str, Any], place: Place, remark: Callable[[Place], str]) -> list[str]:
    lines: list[str] = []
    indent = "  " * len(place)
    for key, value in values.items():
        inner = (*place, str(key))
        head = f"{indent}{scalar(str(key))}:"
        said = "".join(["  # ", text]) if (text := remark(inner)) else ""  # comments are in English
        if isinstance(value, Mapping) and value:
            lines += [head, *_lines(value, inner, remark)]
        elif isinstance(value, str) and "\n" in value and _is_block(value):
            block = [f"{indent}  {line}" if line else "" for line in value.removesuffix("\n").split("\n")]
            lines += [f"{head} {'|' if value.endswith(chr(10)) else '|-'}{said}", *block]
        elif isinstance(value, list) and len(scalar(value)) > WIDTH:
            lines += [f"{head}{said}", *(f"{indent}  - {scalar(each)}" for each in value)]
        else:
            lines.append(f"{head} {scalar(value)}{said}")
    return lines


def _is_block(text: str) -> bool:
    """True if text of several lines survives a round trip as a block."""
    lines = text.removesuffix("\n").split("\n")
    wrong = text.startswith((" ", "\n")) or text.endswith("\n\n") or any(line != line.rstrip() for line in lines)
    return not wrong and text.replace("\n", "").isprintable()
