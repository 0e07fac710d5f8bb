"""What `/v1/score` is asked. Read in an opener (`opening.py`), never in the service itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, FailFast, Field, ValidationError

from edit_eval.json_values import Unchecked
from edit_eval.plugins.serve.doors import (
    LONGEST_TEXT,
    MOST_PAIRS,
    TOO_MANY,
    BadRequest,
    Given,
    SentPictures,
    submission,
)
from edit_eval.plugins.serve.submissions import Submission


class BelowRoot(BaseModel):
    """A picture file read by the service."""

    model_config = ConfigDict(extra="forbid")
    path: str = Field(description="A file's path, from the folder that `--root` names; nothing outside of it is read.")


SentPicture = str | BelowRoot


class PairRequest(BaseModel):
    """An edit to judge."""

    model_config = ConfigDict(extra="forbid")
    source: SentPicture | list[SentPicture] = Field(description="Base64, a data URL, or `{path}`; several as a list.")
    instruction: str = Field(description=f"Not blank, and at most {LONGEST_TEXT:,} characters.")
    edit: SentPicture
    category: str = Field("", max_length=200)
    id: str = Field("", max_length=200, description="Your name for it: it comes back, and is in the ledger.")
    facts: Unchecked = Field({}, description="What some protocols read besides: explanations, rules, checks.")


class ScoreRequest(BaseModel):
    """A request for scores."""

    model_config = ConfigDict(extra="forbid")
    pairs: Annotated[list[PairRequest], FailFast(), Field(min_length=1, max_length=MOST_PAIRS)]


def read_native(body: bytes, root: Path | None) -> Given:
    """Reads a request's pairs; `meta` holds their ids. Raises `BadRequest`."""
    if body.count(b'"edit"') > 2 * MOST_PAIRS:  # before all of it is parsed; a pair's facts may have the word, too
        raise BadRequest(f"{TOO_MANY}: send fewer a request")
    try:
        asked = ScoreRequest.model_validate_json(body).pairs
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        if first["type"] == "too_long":
            raise BadRequest(f"{TOO_MANY}: send fewer a request") from error
        raise BadRequest(": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))) from error
    pictures = SentPictures(root)
    return Given([_pair(pictures, pair, place) for place, pair in enumerate(asked)], meta=[pair.id for pair in asked])


def _pair(pictures: SentPictures, asked: PairRequest, place: int) -> Submission | str:
    given = asked.model_dump(include={"source", "edit"})
    pair = submission(pictures, given["source"], asked.instruction, given["edit"], place)
    if isinstance(pair, str):
        return pair
    return pair._replace(category=asked.category, facts=asked.facts, id=asked.id)
