"""Doors: endpoints that speak the protocols of six trainers' existing clients.

Each door turns a request into pairs, and their scores into the answer its client expects. Most clients cannot be told
that an edit has no score; `--on-unscored` decides what they get instead, and it is never 0.
"""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from edit_eval.errors import ConfigurationError, PictureError
from edit_eval.files.user_files import UnfitFile, read_bytes
from edit_eval.json_values import JsonObject, Unchecked
from edit_eval.plugins.serve.pickles import Array, RawPicture, RefusedPickle, read_pickle
from edit_eval.plugins.serve.pictures import MOST_BYTES, Sent, check_picture, decode_data_url
from edit_eval.plugins.serve.submissions import Submission
from edit_eval.text import Text

MOST_PAIRS = 8192
"""Most pairs of one request."""
TOO_MANY = f"more than {MOST_PAIRS:,} pairs, which is the most"
MOST_PIXELS = 1 << 32
"""Most pixels of all pictures of a request together: as many pairs of 512 x 512 as one may have."""
LONGEST_TEXT = 20_000
MOST_SOURCES = 9
MOST_FROM_FILES = 512 << 20
"""Most bytes of all files below the root that one request names."""
SOURCES = ("source", "source_image", "ref_image", "ref_images", "input_image", "input_images", "condition_images")
"""Keys of metadata that may hold the source."""
INSTRUCTIONS = ("instruction", "prompt", "edit_instruction", "requirement")
FIRST_JUDGE = "edit_eval"
"""Name of the first judge's reward for clients that ask for rewards by name, whatever that judge is called."""


class BadRequest(Exception):
    """A request that cannot be answered; the message says why."""


class Reward(NamedTuple):
    """The outcome of one pair."""

    reward: float | None
    """From 0 (worst) to 1; None without a score."""
    reason: str
    scores: Mapping[str, float]
    """All scores, in points."""
    points: float | None = None
    judges: Mapping[str, Reward] = MappingProxyType({})
    """What each judge says, by its name; empty of a pair that was not judged."""

    def find_reward(self, name: str) -> Reward:
        """Returns the reward of that name: a judge's own, or the first judge's."""
        if not self.judges:
            return self
        if name == FIRST_JUDGE and name not in self.judges:
            return self
        return self.judges.get(name, Reward(None, f"there is no reward {name!r}"[:200], {}))


class SentPictures:
    """Opens the pictures of one request: texts and files that come again are checked once."""

    def __init__(self, root: Path | None = None) -> None:
        """`root` is the folder whose files may be named instead of sent."""
        self._root = None if root is None else root.resolve()
        self._seen: dict[str, Sent] = {}
        self._counted: set[str] = set()
        self._pixels = self._from_files = 0

    def __call__(self, given: Any, name: str) -> Sent:
        """Opens a picture from any client: bytes, base64, a data URL, raw pixels, or `{"path": ...}` below the root.

        `name` is used in errors. Raises `PictureError`, and `BadRequest` for too many bytes of files, or pixels.
        """
        picture = self._read_picture(given, name)
        if picture.digest not in self._counted:
            self._counted.add(picture.digest)
            self._pixels += picture.width * picture.height
            if self._pixels > MOST_PIXELS:
                raise BadRequest(f"its pictures have more than {MOST_PIXELS:,} pixels: send fewer pairs a request")
        return picture

    def _read_picture(self, given: Any, name: str) -> Sent:
        if isinstance(given, str):
            if given not in self._seen:
                self._seen[given] = check_picture(decode_data_url(given, name), name)
            return self._seen[given]
        if isinstance(given, RawPicture):
            return check_picture(given.file(name), name)
        if isinstance(given, bytes | bytearray):
            return check_picture(bytes(given), name)
        if isinstance(given, dict) and [*given] == ["path"] and isinstance(given["path"], str):
            return self._file(given["path"], name)
        raise PictureError(f"{name}: {type(given).__name__}, not a picture")

    def _file(self, path: str, name: str) -> Sent:
        if self._root is None:
            raise PictureError(f"{name}: a path, and the service has no --root")
        try:
            file = (self._root / path).resolve()
            if not file.is_relative_to(self._root):
                raise ValueError(file)
            if (key := f"\0{file}") not in self._seen:
                data = read_bytes(file, MOST_BYTES)
                self._from_files += len(data)
                if self._from_files > MOST_FROM_FILES:
                    raise BadRequest(f"it names files of more than {MOST_FROM_FILES:,} bytes: send fewer pairs")
                self._seen[key] = check_picture(data, name)
            return self._seen[key]
        except (UnfitFile, OSError, ValueError) as error:
            raise PictureError(f"{name}: no such file below --root, or none that can be read") from error


class Given(NamedTuple):
    """A parsed request: its pairs, or why one is invalid, and what the answer must repeat."""

    pairs: list[Submission | str]
    names: list[list[str]] = []  # noqa: RUF012 (never modified)
    """Rewards wanted for each pair (UniRL)."""
    meta: list[Any] = []  # noqa: RUF012


@dataclass(frozen=True)
class Door:
    """The protocol of one trainer's client."""

    name: str
    path: str
    seconds: float
    """Seconds that the client waits."""
    media: str
    read: Callable[[Mapping[str, Any], SentPictures], Given]
    write: Callable[[Given, Sequence[Reward]], Any]
    reads_errors_of: int | None = None
    """The HTTP status with which the client reads `error`, if it reads it with that one only."""
    names_failures: bool = False
    """True if the client understands that a single pair has no score."""
    knows: Callable[[Mapping[str, Any]], bool] = lambda body: True
    """True of a body at a shared path that is for this door."""

    def encode(self, answer: Any) -> bytes:
        """Encodes an answer for the client."""
        return pickle.dumps(answer, protocol=4) if self.media == PICKLE else json.dumps(answer).encode()


PICKLE, JSON = "application/octet-stream", "application/json"


# -- requests --


def parse_body(media: str, body: bytes) -> Unchecked:
    """Decodes a body. Raises `RefusedPickle` or `BadRequest`."""
    return _parse_pickle(body) if media == PICKLE else _parse_json(body)


def _parse_pickle(body: bytes) -> Unchecked:
    request = read_pickle(body)
    if not isinstance(request, dict) or not all(isinstance(key, str) for key in request):
        raise RefusedPickle("not a dictionary")
    return request


def _parse_json(body: bytes) -> Unchecked:
    try:
        request = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"not JSON ({error})"[:200]) from error
    if not isinstance(request, dict):
        raise BadRequest("not a JSON object")
    return request


def _row(body: Mapping[str, Any], name: str, needed: bool = True) -> list[Any]:
    row = body.get(name)
    if isinstance(row, Array):
        row = row.texts()
    if row is None and not needed:
        return []
    if not isinstance(row, list | tuple):
        raise BadRequest(f"`{name}` is missing, or no list")
    if len(row) > MOST_PAIRS:
        raise BadRequest(f"{TOO_MANY}: send fewer a request")
    return list(row)


def _equal(**rows: Sequence[Any]) -> int:
    """Returns the common length. Raises `BadRequest` if rows differ in length: matching them would be a guess."""
    lengths = {name: len(row) for name, row in rows.items()}
    if len(set(lengths.values())) != 1:
        said = ", ".join(f"{count} {name}" for name, count in lengths.items())
        raise BadRequest(f"unequal lengths ({said}): pictures would be judged by other pictures' instructions")
    return next(iter(lengths.values()))


def submission(
    pictures: SentPictures, source: Any, instruction: Any, edit: Any, place: int, *, door: str = ""
) -> Submission | str:
    """Returns the pair at a place of a request, or why it is invalid. Several sources are a list."""
    if not isinstance(instruction, str) or not instruction.strip():
        return "no instruction"
    if len(instruction) > LONGEST_TEXT:
        return f"an instruction of {len(instruction):,} characters, and {LONGEST_TEXT:,} is the most"
    sources = list(source) if isinstance(source, list | tuple) else [source]
    if not sources or sources[0] is None:
        return "no source picture"
    if len(sources) > MOST_SOURCES:
        return f"{len(sources)} source pictures, and {MOST_SOURCES} is the most"
    try:
        shown = {
            "source" if number == 0 else f"source_{number + 1}": pictures(picture, f"source of pair {place}")
            for number, picture in enumerate(sources)
        }
        return Submission(shown, instruction.strip(), pictures(edit, f"edit of pair {place}"), door=door)
    except PictureError as error:
        return str(error)


def _from_meta(meta: Any, keys: Sequence[str]) -> Any:
    if isinstance(meta, str):
        try:
            meta = json.loads(meta)
        except (ValueError, RecursionError):
            return None
    if not isinstance(meta, dict):
        return None
    return next((meta[key] for key in keys if meta.get(key) is not None), None)


def _flow_grpo(body: Mapping[str, Any], pictures: SentPictures) -> Given:
    images = _row(body, "images")
    metas = _row(body, "meta_datas", needed=False) or [{}] * len(images)
    prompts = _row(body, "prompts", needed=False) or [_from_meta(meta, INSTRUCTIONS) for meta in metas]
    sources = _row(body, "ref_images", needed=False) or [_from_meta(meta, SOURCES) for meta in metas]
    count = _equal(images=images, prompts=prompts, meta_datas=metas, sources=sources)
    pairs = [submission(pictures, sources[n], prompts[n], images[n], n, door="flow_grpo") for n in range(count)]
    return Given(pairs, meta=["geneval"] if "only_strict" in body else [])


def _flow_grpo_answer(given: Given, outcomes: Sequence[Reward]) -> Any:
    rewards = [outcome.reward for outcome in outcomes]
    if not given.meta:
        return {"outputs": rewards, "scores": rewards}
    return {
        "scores": rewards,
        "rewards": rewards,
        "strict_rewards": rewards,
        "group_rewards": {},
        "group_strict_rewards": {},
    }


def _edit_r1(body: Mapping[str, Any], pictures: SentPictures) -> Given:
    rows = {name: _row(body, name) for name in ("images", "ref_images", "prompts", "metadatas")}
    count = _equal(**rows)
    made: list[Submission | str] = []
    for n in range(count):
        pair = submission(pictures, rows["ref_images"][n], rows["prompts"][n], rows["images"][n], n, door="edit_r1")
        wanted = _from_meta(rows["metadatas"][n], ["requirement"])
        if isinstance(pair, Submission) and isinstance(wanted, str) and wanted.strip():
            if len(wanted) > LONGEST_TEXT:
                pair = f"a requirement of {len(wanted):,} characters, and {LONGEST_TEXT:,} is the most"
            else:
                pair = pair._replace(facts={"requirement": wanted})
        made.append(pair)
    return Given(made)


def _editscore(body: Mapping[str, Any], pictures: SentPictures) -> Given:
    inputs, outputs, metas = (_row(body, name) for name in ("input_images", "output_image", "meta_datas"))
    count = _equal(input_images=inputs, output_image=outputs, meta_datas=metas)
    words = [_from_meta(meta, INSTRUCTIONS) for meta in metas]
    pairs = [submission(pictures, inputs[n], words[n], outputs[n], n, door="editscore") for n in range(count)]
    return Given(pairs, meta=[_echo(meta) for meta in metas])


def _echo(meta: Any) -> Any:
    """Returns a pair's metadata for the answer: a text, or the plain values of a dictionary.

    The rest would be our inert classes, which no client can read, or endlessly nested lists.
    """
    if isinstance(meta, str):
        return meta
    plain = str | int | float | None
    return {key: value for key, value in meta.items() if isinstance(value, plain)} if isinstance(meta, dict) else ""


def _editscore_answer(given: Given, outcomes: Sequence[Reward]) -> Any:
    return {
        "scores": [outcome.points if outcome.points is not None else outcome.reward for outcome in outcomes],
        "rewards": [outcome.reward for outcome in outcomes],
        "reasoning": [outcome.reason for outcome in outcomes],
        "meta_data": given.meta,
    }


def _verl_omni(body: Mapping[str, Any], pictures: SentPictures) -> Given:
    """Reads a request of a client that sends one text and no source: the text is JSON that has both."""
    images, prompts = _row(body, "images"), _row(body, "prompts")
    count = _equal(images=images, prompts=prompts)
    pairs: list[Submission | str] = []
    for n in range(count):
        source, words = _from_meta(prompts[n], SOURCES), _from_meta(prompts[n], INSTRUCTIONS)
        if source is None:
            pairs.append('no source picture: `ground_truth` is to be JSON, {"instruction": ..., "source": ...}')
        else:
            pairs.append(submission(pictures, source, words, images[n], n, door="verl_omni"))
    return Given(pairs)


def _unirl(body: Mapping[str, Any], pictures: SentPictures) -> Given:
    pairs: list[Submission | str] = []
    names: list[list[str]] = []
    for place, request in enumerate(_row(body, "requests")):
        turns = request.get("history") if isinstance(request, dict) else None
        if not isinstance(turns, list) or len(turns) != 2 or not all(isinstance(turn, dict) for turn in turns):
            pairs.append("its history is not the two turns of an edit: source, then edit")
        else:
            text = turns[1].get("text") or turns[0].get("text")
            source, edit = (turn.get("image_b64") for turn in turns)
            pairs.append(submission(pictures, source, text, edit, place, door="unirl"))
        wanted = request.get("required_rewards") if isinstance(request, dict) else None
        names.append([str(name) for name in wanted] if isinstance(wanted, list) and wanted else [FIRST_JUDGE])
    return Given(pairs, names=names)


def _unirl_answer(given: Given, outcomes: Sequence[Reward]) -> Any:
    results: list[JsonObject] = []
    errors: list[dict[str, str]] = []
    for names, outcome in zip(given.names, outcomes, strict=True):
        wanted = {name: outcome.find_reward(name) for name in names}
        results.append({name: {"score": it.reward} for name, it in wanted.items() if it.reward is not None})
        errors.append({name: it.reason or "no score" for name, it in wanted.items() if it.reward is None})
    return {"results": results, "errors": errors}


def _flow_factory(body: Mapping[str, Any], pictures: SentPictures) -> Given:
    prompts, images = _row(body, "prompt"), _row(body, "image")
    if body.get("condition_images") is None:
        raise BadRequest("no source pictures: put `condition_images` into `required_fields` of the reward's class")
    sources = _row(body, "condition_images")
    count = _equal(prompt=prompts, image=images, condition_images=sources)
    return Given(
        [submission(pictures, sources[n], prompts[n], images[n], n, door="flow_factory") for n in range(count)]
    )


def _rewards(name: str) -> Callable[[Given, Sequence[Reward]], Any]:
    return lambda given, outcomes: {name: [outcome.reward for outcome in outcomes]}


DOORS = {
    door.name: door
    for door in (
        Door("edit_r1", "/mode/logits_non_cot", 360, PICKLE, _edit_r1, _rewards("scores")),
        Door("editscore", "/", 600, PICKLE, _editscore, _editscore_answer, knows=lambda body: "output_image" in body),
        Door("verl_omni", "/", 120, PICKLE, _verl_omni, _rewards("scores"), knows=lambda body: "metadata" in body),
        Door("flow_grpo", "/", 120, PICKLE, _flow_grpo, _flow_grpo_answer, knows=lambda body: "images" in body),
        Door("unirl", "/score", 300, JSON, _unirl, _unirl_answer, names_failures=True),
        Door("flow_factory", "/compute", 60, JSON, _flow_factory, _rewards("rewards"), reads_errors_of=200),
    )
}
"""Doors by name; of those that share a path, the first that knows a body handles it."""


def choose_doors(names: Sequence[str]) -> list[Door]:
    """Returns the doors of these names, in the order they are tried. Raises `ConfigurationError`."""
    if unknown := [name for name in names if name not in DOORS]:
        raise ConfigurationError(Text("--door {}: there is no such door; there are {}", unknown[0], [*DOORS]))
    return [door for door in DOORS.values() if door.name in names]


def door_of(doors: Sequence[Door], body: Mapping[str, Any]) -> Door:
    """Returns the door at a path that a body is for. Raises `BadRequest`."""
    for door in doors:
        if len(doors) == 1 or door.knows(body):
            return door
    raise BadRequest(f"for none of the open doors ({', '.join(door.name for door in doors)}): {sorted(body)}"[:200])


def with_group_means(pairs: Sequence[Submission | str], outcomes: Sequence[Reward]) -> tuple[list[Reward], int]:
    """Gives outcomes without a reward the mean of their group (same source and instruction); also returns how many.

    After a trainer's normalisation within the group, that is an advantage of 0. Without scored siblings, an outcome
    stays unscored.
    """
    groups: dict[tuple[str, str], list[float]] = {}
    for pair, outcome in zip(pairs, outcomes, strict=True):
        if isinstance(pair, Submission) and outcome.reward is not None:
            groups.setdefault((pair.shares, pair.instruction), []).append(outcome.reward)
    made, filled = [], 0
    for pair, outcome in zip(pairs, outcomes, strict=True):
        siblings = groups.get((pair.shares, pair.instruction)) if isinstance(pair, Submission) else None
        if outcome.reward is None and siblings:
            outcome, filled = outcome._replace(reward=math.fsum(siblings) / len(siblings)), filled + 1
        made.append(outcome)
    return made, filled
