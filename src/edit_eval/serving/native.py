"""What `/v1/score` is asked. Read in an opener (`opening.py`), never in the service itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from edit_eval.errors import PictureError
from edit_eval.serving.doors import BadRequest, Given, picture
from edit_eval.serving.pictures import MOST_BYTES, Sent, sent
from edit_eval.serving.submissions import Submission

MOST_SOURCES = 9


class BelowRoot(BaseModel):
    """A picture file read by the service."""

    model_config = ConfigDict(extra="forbid")
    path: str = Field(description="A file's path, from the folder that `--root` names; nothing outside of it is read.")


SentPicture = str | BelowRoot


class PairRequest(BaseModel):
    """An edit to judge."""

    model_config = ConfigDict(extra="forbid")
    source: SentPicture | list[SentPicture] = Field(description="Base64, a data URL, or `{path}`; several as a list.")
    instruction: str = Field(min_length=1, max_length=20_000)
    edit: SentPicture
    category: str = Field("", max_length=200)
    id: str = Field("", max_length=200, description="Your name for it: it comes back, and is in the ledger.")
    facts: dict[str, Any] = Field({}, description="What some protocols read besides: explanations, rules, checks.")


class ScoreRequest(BaseModel):
    """A request for scores."""

    model_config = ConfigDict(extra="forbid")
    pairs: list[PairRequest] = Field(min_length=1)


def read_native(body: bytes, root: Path | None) -> Given:
    """Reads a request's pairs; `meta` holds their ids. Repeated sources are checked once. Raises `BadRequest`."""
    try:
        asked = ScoreRequest.model_validate_json(body).pairs
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise BadRequest(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    seen: dict[str, Sent] = {}
    return Given([_pair(one, place, seen, root) for place, one in enumerate(asked)], meta=[one.id for one in asked])


def _pair(asked: PairRequest, place: int, seen: dict[str, Sent], root: Path | None) -> Submission | str:
    instruction = asked.instruction.strip()
    if not instruction:
        return "no instruction"
    sources = asked.source if isinstance(asked.source, list) else [asked.source]
    if not 1 <= len(sources) <= MOST_SOURCES:
        return f"an edit has 1 to {MOST_SOURCES} sources"
    try:
        pictures = {
            "source" if n == 0 else f"source_{n + 1}": _picture(one, f"source of pair {place}", seen, root)
            for n, one in enumerate(sources)
        }
        edit = _picture(asked.edit, f"edit of pair {place}", {}, root)
    except PictureError as error:
        return str(error)
    return Submission(pictures, instruction, edit, asked.category, asked.facts, asked.id)


def _picture(given: SentPicture, name: str, seen: dict[str, Sent], root: Path | None) -> Sent:
    if isinstance(given, str):
        if given not in seen:
            seen[given] = picture(given, name)
        return seen[given]
    if root is None:
        raise PictureError(f"{name}: a path, and the service has no --root")
    try:
        path = (root / given.path).resolve()
        if not path.is_relative_to(root) or not path.is_file():
            raise PictureError(f"{name}: no such file below --root")
        with path.open("rb") as file:
            return sent(file.read(MOST_BYTES + 1), name)
    except (OSError, ValueError) as error:
        raise PictureError(f"{name}: cannot be read") from error
