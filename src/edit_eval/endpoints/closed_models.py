"""What is known of models that their makers alone run, with the day on which it was seen: `closed.yaml`, and newer rows
of the user's own."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Mapping
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from edit_eval.errors import ConfigurationError
from edit_eval.text import Text

Kind = Literal["judges", "editors"]
FILE = Path(__file__).with_name("closed.yaml")
SOON = 60
"""Days before its end from which a model is warned about."""
_DATED = re.compile(r"-\d{4}-?\d{2}-?\d{2}$")
_COMMON = frozenset({"model", "price", "ends", "source", "seen", "note"})
FIELDS: Mapping[Kind, frozenset[str]] = {
    "judges": _COMMON | {"limited_by", "temperature", "usual", "off", "on", "fewest", "room"},
    "editors": (_COMMON - {"price"}) | {"usd", "most", "tokens", "seed", "pictures", "shape", "resolutions"},
}


def own_file() -> Path:
    """Returns where the user's own rows are; by the XDG standard a relative `XDG_CONFIG_HOME` is ignored."""
    base = os.environ.get("XDG_CONFIG_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path.home() / ".config") / "edit-eval" / "closed.yaml"


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
    return {kind: tuple(_checked(file, kind, row) for row in document.get(kind) or ()) for kind in FIELDS}


def _checked(file: Path, kind: Kind, row: Any) -> Mapping[str, Any]:
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


def days_left(ends: str, today: date | None = None) -> int | None:
    """Returns how many days are left until a model is switched off, below 0 after that day; None without an end."""
    return (date.fromisoformat(ends) - (today or date.today())).days if ends else None
