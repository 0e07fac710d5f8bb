"""What is known of models that their makers alone run, with the day on which it was seen: `closed.yaml`, and newer rows
of the user's own."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from edit_eval.errors import ConfigurationError
from edit_eval.files.user_cache import own_file
from edit_eval.text import Text

Kind = Literal["judges", "editors"]
FILE = Path(__file__).with_name("closed.yaml")
_DATED = re.compile(r"-\d{4}-?\d{2}-?\d{2}$")
_COMMON: Mapping[str, Any] = {"model": str, "ends": str, "source": str, "seen": str, "note": str}
FIELDS: Mapping[Kind, Mapping[str, Any]] = {
    "judges": {
        **_COMMON,
        **{"price": list, "limited_by": str, "temperature": ("taken", "without thinking", "not taken")},
        **{"usual": dict, "off": (dict, None), "on": dict, "fewest": int, "room": int},
    },
    "editors": {
        **_COMMON,
        **{"usd": dict, "most": (int, float), "tokens": list},
        **{"seed": bool, "pictures": int, "shape": str, "resolutions": list},
    },
}
"""What a row may say: the type of each field, or what it is one of."""


def rows_of(kind: Kind, own: Path | None = None) -> tuple[Mapping[str, Any], ...]:
    """Returns the rows of a kind, of the user's file first; `own`: of that file alone.

    Raises `ConfigurationError` for a file that cannot be read, and for what a row cannot say.
    """
    mine = own_file() if own is None else own
    own_rows = _read(mine, mine.stat().st_mtime_ns)[kind] if mine.is_file() else ()
    return own_rows if own is not None else (*own_rows, *_read(FILE, 0)[kind])


def find_row(kind: Kind, model: str) -> Mapping[str, Any]:
    """Returns what is known of `MAKER/NAME`, of the first row that fits, above it of the user's own; {} if nothing is.

    A date at the end of the name is an alias of the name without it, unless a row has it.
    """
    found: dict[str, Any] = {}
    for rows in (_read(FILE, 0)[kind], rows_of(kind, own_file())):
        found |= next((row for row in rows if _fits(model, row["model"])), {})
    return found


def _fits(model: str, pattern: str) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for name in (model, _DATED.sub("", model)))


@lru_cache(maxsize=4)
def _read(file: Path, changed: int) -> Mapping[str, tuple[Mapping[str, Any], ...]]:
    import yaml  # only where a closed model is asked

    try:
        document = yaml.load(file.read_text("utf-8"), getattr(yaml, "CSafeLoader", yaml.SafeLoader)) or {}
    except (OSError, UnicodeError, yaml.YAMLError) as error:
        raise ConfigurationError(Text("{}: cannot be read: {}", file, error)) from error
    unknown = [*(document if isinstance(document, dict) else {"": None})]
    if stray := [name for name in unknown if name not in ("families", *FIELDS)]:
        raise ConfigurationError(Text("{}: {!r}: it has rows under {: and }", file, stray[0], list(FIELDS)))
    rows = {kind: document.get(kind) or [] for kind in FIELDS}
    if wrong := next((kind for kind, of in rows.items() if not isinstance(of, list)), ""):
        raise ConfigurationError(Text("{}: {}: it takes a list of rows", file, wrong))
    return {kind: tuple(_check_row(file, kind, row) for row in of) for kind, of in rows.items()}


def _check_row(file: Path, kind: Kind, row: Any) -> Mapping[str, Any]:
    """Returns a row with its days as text; raises `ConfigurationError` for what no row can say."""
    row = row if isinstance(row, dict) else {}
    said = {{True: "on", False: "off"}.get(name, name): value for name, value in row.items()}
    name = said.get("model", "")
    for day in ("ends", "seen"):
        try:
            said |= {day: date.fromisoformat(str(said[day])).isoformat()} if day in said else {}
        except ValueError as error:
            words = Text("{}: {}: {}: {!r} is no day like 2026-11-30", file, name, day, said[day])
            raise ConfigurationError(words) from error
    if unknown := sorted(said.keys() - FIELDS[kind]):
        raise ConfigurationError(Text("{}: {}: {}: a row has {}", file, name, unknown[0], sorted(FIELDS[kind])))
    for field, value in said.items():
        allowed = FIELDS[kind][field]
        choices = allowed if isinstance(allowed, tuple) else (allowed,)
        if not any(value is of or value == of or (isinstance(of, type) and type(value) is of) for of in choices):
            raise ConfigurationError(Text("{}: {}: {}: it cannot be {!r}", file, name, field, value))
    if missing := next((field for field in ("model", "seen") if not said.get(field)), ""):
        raise ConfigurationError(Text("{}: {}: {} is missing", file, name or kind, missing))
    said.setdefault("source", str(file))
    usd = said.get("usd", {})
    numbers = [*usd.values()] if isinstance(usd, dict) else [usd]
    numbers += [said["most"]] if "most" in said else []
    for field, count in (("price", 2), ("tokens", 4)):
        if field in said:
            numbers += said[field] if isinstance(said[field], list) and len(said[field]) == count else [None]
    if not all(isinstance(of, int | float) and not isinstance(of, bool) and 0 <= of < float("inf") for of in numbers):
        raise ConfigurationError(Text("{}: {}: a price is a number of US dollars, 0 or more", file, name))
    return said
