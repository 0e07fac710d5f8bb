"""Reads common answers in a judge's words: lists and objects in JSON, yes or no. It never guesses.

As for scores (`judges/answers.py`), closed thoughts and code fences are removed first, and a doubt is never resolved in
favour of an answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from edit_eval.judges.answers import NoAnswer, excerpt, extract_answer, is_refusal, json_decoder, json_objects
from edit_eval.protocols.contract import Missing, Question
from edit_eval.records import Judgement, Reading, Reply, Status

_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_OTHER_LIST = re.compile(r'\[\s*["\d-]')
_WORDS = {"yes": True, "是": True, "是的": True, "no": False, "否": False, "不是": False}
_DECODER = json_decoder(strict=False)  # a judge's reasons may contain line breaks
_AROUND_A_WORD = " \t\r\n.。!！*_`\"'“”"


def read_values(question: Question, reply: Reply, numbers: Callable[[str], tuple[Sequence[float], str]]) -> Reading:
    """Reads a reply; `numbers` turns its undressed text into the question's values and the words beside them.

    `numbers` raises `NoAnswer`, or `Missing`, for a text that has none.
    """
    body = ""
    try:
        body = extract_answer(reply.text).strip()
        values, words = numbers(body)
    except (Missing, NoAnswer) as why:
        if body and is_refusal(body, 0, 10):
            return Reading(status=Status.REFUSED, reason=f"the judge declined: {excerpt(body)}")
        return Reading(status=getattr(why, "status", Status.UNPARSEABLE), reason=str(why))
    return Reading(values=dict(zip(question.gives, values, strict=True)), reason=words)


def read_list(body: str, key: str, count: int) -> tuple[list[Any], str]:
    """Returns the `count` entries of the list `key` in a text's JSON object, and the words under its other keys.

    The object may be surrounded by words. A second object must say the same, and there must be no other list. A list
    that is the whole text needs no object. Numbers become floats. Raises `NoAnswer`.
    """
    lists, others, outside = json_objects(body, key, _DECODER)
    if not lists:
        try:
            lists = [_DECODER.decode(body)]
        except (ValueError, RecursionError):
            raise NoAnswer(f"the answer has no JSON object: {excerpt(body)}") from None
    elif _OTHER_LIST.search("\v".join(outside)):
        raise NoAnswer(f"there is another list beside the JSON object: {excerpt(body)}")
    if any(other != lists[0] for other in lists):
        raise NoAnswer(f"different lists in one answer: {excerpt(body)}")
    if not isinstance(lists[0], list) or len(lists[0]) != count:
        raise NoAnswer(f"`{key}` is not a list of {count}: {excerpt(body)}")
    words = [value for pairs in others for _, value in pairs if isinstance(value, str)]
    return lists[0], "\n".join(dict.fromkeys(words))


def read_number(entry: Any, lowest: float, highest: float) -> float:
    """Returns a number of a JSON list, also if written as text. Raises `NoAnswer`, and `Missing` out of range."""
    if isinstance(entry, str) and _NUMBER.fullmatch(entry.strip()):
        entry = float(entry)
    if not isinstance(entry, float):
        raise NoAnswer(f"{excerpt(repr(entry))} is not a number")
    if not lowest <= entry <= highest:
        raise Missing(Status.OUT_OF_RANGE, f"{entry:.10g} is outside {lowest:g} to {highest:g}")
    return entry + 0.0  # -0.0 becomes 0.0


def read_yes_or_no(entry: Any) -> float:
    """Returns 1 for yes, 0 for no, in English or Chinese, with no other words. Raises `NoAnswer`."""
    said = _WORDS.get(entry.strip(_AROUND_A_WORD).lower()) if isinstance(entry, str) else entry
    if not isinstance(said, bool):
        raise NoAnswer(f"neither yes nor no: {excerpt(str(entry))}")
    return float(said)


def advice_on_limits(failed: Sequence[Judgement]) -> str:
    """Returns what to do if at least half of the failed judgements were cut off; else ""."""
    cut = [judgement for judgement in failed if judgement.status is Status.CUT_OFF]
    if failed and 2 * len(cut) >= len(failed):
        return f"answers of {cut[-1].judge} are cut off; raise its limit (`max_new_tokens` or `max_tokens`)"
    return ""


# -- answers as JSON: the schema that constrains a judge if possible, and that the answer is read by --
#
# There are two kinds of schema: an object of named entries (`object_schema`), each a number, one of several letters or
# the judge's own words; or an object with one list of a fixed number of equal entries, perhaps with reasons
# (`list_schema`). Properties are in the order of writing: reasons first.

Entry = Mapping[str, Any]

WORDS: Entry = {"type": "string"}
_JSON = json_decoder(strict=False)  # a judge's reasons may contain line breaks


def number(lowest: float, highest: float, *, whole: bool = False) -> Entry:
    """Returns the entry for a number from `lowest` to `highest`."""
    return {"type": "integer" if whole else "number", "minimum": lowest, "maximum": highest}


def one_of(*labels: str) -> Entry:
    """Returns the entry for one of these texts."""
    return {"type": "string", "enum": list(labels)}


def object_schema(entries: Mapping[str, Entry]) -> str:
    """Returns the schema, as JSON, of an object with exactly these entries. A judge writes them in this order."""
    whole = {"type": "object", "properties": entries, "required": list(entries), "additionalProperties": False}
    return json.dumps(whole, ensure_ascii=False, separators=(",", ":"))


def list_schema(name: str, entry: Entry, count: int, reasons: str = "") -> str:
    """Returns the schema of an object with a list `name` of `count` equal entries, after any words under `reasons`."""
    entries = {reasons: WORDS} if reasons else {}
    return object_schema({**entries, name: {"type": "array", "items": entry, "minItems": count, "maxItems": count}})


@lru_cache(maxsize=256)  # a benchmark's questions have few schemas
def entries_of(schema: str) -> Mapping[str, Entry]:
    """Returns the entries of an object's schema by name, in order."""
    entries: Mapping[str, Entry] = json.loads(schema)["properties"]
    return entries


def read_object(body: str, schema: str) -> tuple[dict[str, float | str], str]:
    """Returns the numbers and letters of the object in a text, by name, and the judge's words.

    The object must have each entry of the schema exactly once and no other. It may be surrounded by words; a second
    object must say the same. Raises `NoAnswer`, and `Missing` for a number out of range.
    """
    entries = entries_of(schema)
    first = next(iter(entries))
    values, others, _ = json_objects(body, first, _JSON)
    if not values:
        raise NoAnswer(f"the answer has no JSON object: {excerpt(body)}")
    if len(values) != len(others):
        raise NoAnswer(f"`{first}` occurs twice in one JSON object: {excerpt(body)}")
    objects: list[dict[str, float | str]] = []
    words: list[str] = []
    for value, pairs in zip(values, others, strict=True):
        given = dict([(first, value), *pairs])
        if unlike := next((name for name in (*entries, *given) if (name in entries) != (name in given)), None):
            wrong = "lacks" if unlike in entries else "has another entry,"
            raise NoAnswer(f"the JSON object {wrong} {excerpt(unlike)}")
        if len(given) != 1 + len(pairs):
            raise NoAnswer(f"a name occurs twice in one JSON object: {excerpt(body)}")
        words += [text for name, text in given.items() if entries[name] == WORDS and isinstance(text, str)]
        objects.append({name: _read(name, given[name], entry) for name, entry in entries.items() if entry != WORDS})
    if any(other != objects[0] for other in objects):
        raise NoAnswer(f"different JSON objects in one answer: {excerpt(body)}")
    return objects[0], "\n".join(dict.fromkeys(words))


def _read(name: str, value: Any, entry: Entry) -> float | str:
    if "enum" not in entry:
        return read_number(value, entry["minimum"], entry["maximum"])
    label = value.strip() if isinstance(value, str) else value
    if label not in entry["enum"]:
        raise NoAnswer(f"`{name}` is none of {', '.join(entry['enum'])}: {excerpt(str(value))}")
    return str(label)
