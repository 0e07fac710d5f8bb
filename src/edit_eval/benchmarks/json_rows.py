"""The rows of a benchmark's JSON file of some megabytes: a list, an object of objects or of lists, or JSONL."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from edit_eval.benchmarks.values import kind
from edit_eval.errors import ConfigurationError
from edit_eval.text import Text

KEY = "key"
"""Under which a row has the key that it stood under, or its number, from 0."""
PLACE = "place"
"""Under which a row has its place, from 1, in the list that stood under its key."""
PROBLEM = "(problem)"
"""Under which a row says why it is none."""


class _Members(list[tuple[str, Any]]):
    """An object, with the members that it has twice."""


def json_rows(data: bytes, name: str) -> Iterator[dict[str, Any]]:
    """Each row, with its `KEY`, nothing of it being lost: of an object that has a key twice, both rows come.

    Raises `ConfigurationError`, which calls the file `name`, for what is no JSON or has no rows.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigurationError(Text("benchmark.data_path: {} is not UTF-8 text ({})", name, error)) from None
    try:
        whole = json.loads(text, object_pairs_hook=_Members, parse_constant=_nothing)
        if not isinstance(whole, list):
            raise ConfigurationError(
                Text("benchmark.data_path: {} holds {}, not a list or object of rows", name, kind(whole))
            )
        if isinstance(whole, _Members) and whole and all(type(listed) is list for _, listed in whole):
            for session, listed in whole:
                yield from ({KEY: session, PLACE: place, **_row(row)} for place, row in enumerate(listed, 1))
            return
        keyed = isinstance(whole, _Members) and all(isinstance(row, _Members) for _, row in whole)
        rows = list(whole) if keyed else list(enumerate([whole] if isinstance(whole, _Members) else whole))
    except (json.JSONDecodeError, RecursionError) as error:
        lines = [line for line in text.splitlines() if line.strip()]
        try:
            rows = [
                (n, json.loads(line, object_pairs_hook=_Members, parse_constant=_nothing))
                for n, line in enumerate(lines)
            ]
        except (json.JSONDecodeError, RecursionError):
            raise ConfigurationError(Text("benchmark.data_path: {} is not valid JSON: {}", name, error)) from None
    if not rows:
        raise ConfigurationError(Text("benchmark.data_path: {} has no rows", name))
    for key, row in rows:
        yield {KEY: str(key), **_row(row)}


def _row(row: Any) -> dict[str, Any]:
    if not isinstance(row, _Members):
        return {PROBLEM: Text("the row is {}, not an object", kind(row))}
    names = [name for name, _ in row]
    twice = next((name for name in names if names.count(name) > 1), "")
    problem = {PROBLEM: Text("the row has {!r} twice", twice)} if twice else {}
    return {name: _plain(value) for name, value in row} | problem


def _plain(value: Any) -> Any:
    if isinstance(value, _Members):
        return {name: _plain(member) for name, member in value}
    return [_plain(member) for member in value] if isinstance(value, list) else value


def _nothing(name: str) -> None:
    """`NaN`, which pandas writes for what is not there, and what else is no number of JSON."""
