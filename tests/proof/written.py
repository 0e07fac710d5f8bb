"""Recordings as YAML that reads well in a diff: several lines as a block, small mappings on one line."""

from __future__ import annotations

from typing import Any

import yaml

ONE_LINE = 400
"""Characters of a mapping or list that stands on one line, at most."""


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _is_small(value: Any, room: int = ONE_LINE) -> bool:
    return "\n" not in str(value) and "\\n" not in repr(value) and len(str(value)) <= room


def _text(dumper: _Dumper, text: str) -> Any:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


def _mapping(dumper: _Dumper, value: dict[Any, Any]) -> Any:
    return dumper.represent_mapping("tag:yaml.org,2002:map", value.items(), flow_style=_is_small(value))


def _list(dumper: _Dumper, value: list[Any]) -> Any:
    return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=_is_small(value))


_Dumper.add_representer(str, _text)
_Dumper.add_representer(dict, _mapping)
_Dumper.add_representer(list, _list)


def written(document: Any) -> str:
    """The YAML of a document of plain values; the same text for the same document."""
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10**6)


def without_repetition(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Steps in which what is long and was there before is named, and not written again."""
    seen: dict[str, str] = {}
    made = []
    for number, step in enumerate(steps):
        document = {}
        for name, value in step.items():
            text = str(value)
            document[name] = value if len(text) < 400 or text not in seen else f"<AS {seen[text]}>"
            seen.setdefault(text, f"{name} OF STEP {number}: {' '.join(str(next(iter(step.values()))).split())}")
        made.append(document)
    return made
