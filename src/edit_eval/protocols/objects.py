"""Answers as JSON: the schema that a judge is held to where it can be, and what is read by the same schema.

A schema is of one of two kinds: an object of named entries (`object_schema`), each a number, one of several letters or
words of the judge's own; or an object with one list of so many entries alike, perhaps with reasons (`list_schema`).
Properties stand in the order in which they are to be written: reasons first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from edit_eval.judges.answers import NoAnswer, excerpt, json_decoder, json_objects
from edit_eval.protocols.replies import read_number

Entry = Mapping[str, Any]

WORDS: Entry = {"type": "string"}
_DECODER = json_decoder(strict=False)  # a judge's reasons may have line breaks in them


def number(lowest: float, highest: float, *, whole: bool = False) -> Entry:
    """A number from `lowest` to `highest`."""
    return {"type": "integer" if whole else "number", "minimum": lowest, "maximum": highest}


def one_of(*labels: str) -> Entry:
    """One of these texts."""
    return {"type": "string", "enum": list(labels)}


def object_schema(entries: Mapping[str, Entry]) -> str:
    """The schema of an object with exactly these entries, as JSON. Their order is kept: a judge writes in it."""
    whole = {"type": "object", "properties": entries, "required": list(entries), "additionalProperties": False}
    return json.dumps(whole, ensure_ascii=False, separators=(",", ":"))


def list_schema(name: str, entry: Entry, count: int, reasons: str = "") -> str:
    """The same of an object with a list `name` of `count` entries alike, behind words under `reasons` if given."""
    entries = {reasons: WORDS} if reasons else {}
    return object_schema({**entries, name: {"type": "array", "items": entry, "minItems": count, "maxItems": count}})


@lru_cache(maxsize=256)  # a benchmark's questions have few schemas
def entries_of(schema: str) -> Mapping[str, Entry]:
    """The entries of an object's schema by their names, in order."""
    found: Mapping[str, Entry] = json.loads(schema)["properties"]
    return found


def read_object(body: str, schema: str) -> tuple[dict[str, float | str], str]:
    """The numbers and letters of the object in a text, by their names, and the judge's words.

    The object has all entries of the schema and no other, each once. Words may stand around it; a second object must
    say the same. Raises `NoAnswer`, and `Missing` for a number that is out of range.
    """
    entries = entries_of(schema)
    first = next(iter(entries))
    values, others, _ = json_objects(body, first, _DECODER)
    if not values:
        raise NoAnswer(f"the answer has no JSON object: {excerpt(body)}")
    if len(values) != len(others):
        raise NoAnswer(f"`{first}` occurs twice in one JSON object: {excerpt(body)}")
    found: list[dict[str, float | str]] = []
    words: list[str] = []
    for value, pairs in zip(values, others, strict=True):
        given = dict([(first, value), *pairs])
        if unlike := next((name for name in (*entries, *given) if (name in entries) != (name in given)), None):
            wrong = "lacks" if unlike in entries else "has another entry,"
            raise NoAnswer(f"the JSON object {wrong} {excerpt(unlike)}")
        if len(given) != 1 + len(pairs):
            raise NoAnswer(f"a name occurs twice in one JSON object: {excerpt(body)}")
        words += [text for name, text in given.items() if entries[name] == WORDS and isinstance(text, str)]
        found.append({name: _read(name, given[name], one) for name, one in entries.items() if one != WORDS})
    if any(other != found[0] for other in found):
        raise NoAnswer(f"different JSON objects in one answer: {excerpt(body)}")
    return found[0], "\n".join(dict.fromkeys(words))


def _read(name: str, value: Any, entry: Entry) -> float | str:
    if "enum" not in entry:
        return read_number(value, entry["minimum"], entry["maximum"])
    label = value.strip() if isinstance(value, str) else value
    if label not in entry["enum"]:
        raise NoAnswer(f"`{name}` is none of {', '.join(entry['enum'])}: {excerpt(str(value))}")
    return str(label)
