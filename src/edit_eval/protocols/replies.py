"""What several protocols read out of a judge's words: lists and objects in JSON, a yes or a no. Nothing is guessed.

As with scores (`judges/answers.py`), closed thoughts and code fences are taken off first, and a doubt is never resolved
in favour of an answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from edit_eval.judges.answers import NoAnswer, excerpt, is_refusal, json_decoder, json_objects, undressed
from edit_eval.protocols.contract import Missing, Question
from edit_eval.records import Judgement, Reading, Reply, Status

_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
_OTHER_LIST = re.compile(r'\[\s*["\d-]')
_WORDS = {"yes": True, "是": True, "是的": True, "no": False, "否": False, "不是": False}
_DECODER = json_decoder(strict=False)  # a judge's reasons may have line breaks in them
_AROUND_A_WORD = " \t\r\n.。!！*_`\"'“”"


def read_values(question: Question, reply: Reply, numbers: Callable[[str], tuple[Sequence[float], str]]) -> Reading:
    """The reading of a reply; `numbers` makes of its undressed text the question's values, and the words beside them.

    `numbers` raises `NoAnswer`, or `Missing`, for a text that has none.
    """
    body = ""
    try:
        body = undressed(reply.text).strip()
        found, words = numbers(body)
    except (Missing, NoAnswer) as why:
        if body and is_refusal(body, 0, 10):
            return Reading(status=Status.REFUSED, reason=f"the judge declined: {excerpt(body)}")
        return Reading(status=getattr(why, "status", Status.UNPARSEABLE), reason=str(why))
    return Reading(values=dict(zip(question.gives, found, strict=True)), reason=words)


def read_list(body: str, key: str, count: int) -> tuple[list[Any], str]:
    """The `count` entries of the list `key` in a text's JSON object, and the words in the object's other keys.

    Words may stand around the object. A second object must say the same, and no other list may stand beside it. A list
    that is the whole text needs no object. Numbers come as floats. Raises `NoAnswer`.
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
    """A number of a JSON list, also where it was written as text. Raises `NoAnswer`, and `Missing` out of range."""
    if isinstance(entry, str) and _NUMBER.fullmatch(entry.strip()):
        entry = float(entry)
    if not isinstance(entry, float):
        raise NoAnswer(f"{excerpt(repr(entry))} is not a number")
    if not lowest <= entry <= highest:
        raise Missing(Status.OUT_OF_RANGE, f"{entry:.10g} is outside {lowest:g} to {highest:g}")
    return entry + 0.0  # -0.0 becomes 0.0


def read_yes_or_no(entry: Any) -> float:
    """1 for a yes, 0 for a no, in English or Chinese, with nothing else beside it. Raises `NoAnswer`."""
    said = _WORDS.get(entry.strip(_AROUND_A_WORD).lower()) if isinstance(entry, str) else entry
    if not isinstance(said, bool):
        raise NoAnswer(f"neither yes nor no: {excerpt(str(entry))}")
    return float(said)


def advice_on_limits(failed: Sequence[Judgement]) -> str:
    """What to do where at least half of the judgements that failed were cut off; empty elsewhere."""
    cut = [one for one in failed if one.status is Status.CUT_OFF]
    if failed and 2 * len(cut) >= len(failed):
        return f"answers of {cut[-1].judge} are cut off; raise its limit (`max_new_tokens` or `max_tokens`)"
    return ""


# -- answers as JSON: the schema that a judge is held to where it can be, and what is read by the same schema --
#
# A schema is of one of two kinds: an object of named entries (`object_schema`), each a number, one of several letters
# or words of the judge's own; or an object with one list of so many entries alike, perhaps with reasons
# (`list_schema`). Properties stand in the order in which they are to be written: reasons first.

Entry = Mapping[str, Any]

WORDS: Entry = {"type": "string"}
_JSON = json_decoder(strict=False)  # a judge's reasons may have line breaks in them


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
    values, others, _ = json_objects(body, first, _JSON)
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
