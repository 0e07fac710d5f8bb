"""An opener: a process that opens what strangers send, and that may die of it.

The service's own process takes a request's bytes as they come and looks at none of them. It hands them to an opener,
which unpickles or parses the body, decodes its texts, reads the pictures' headers, and answers with plain, checked
pairs in a format that cannot hold anything else. An opener has no files but its socket, and for each request a limit on
its memory and its processor time, in proportion to the request's size. The kernel ends it where it takes more (a limit
on time that passes would depend on who else is at work on the machine). It then has refused this one request; the pool
(`openers.py`) starts another.

A message is its length (8 bytes), a MessagePack document, and the bytes that the document announces.
"""

from __future__ import annotations

import contextlib
import io
import os
import resource
import socket
import struct
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import msgspec
from pydantic import BaseModel, ConfigDict, FailFast, Field, ValidationError

from edit_eval.errors import PictureError
from edit_eval.json_values import Unchecked
from edit_eval.plugins.serve.doors import (
    DOORS,
    LONGEST_TEXT,
    MOST_FROM_FILES,
    MOST_PAIRS,
    TOO_MANY,
    BadRequest,
    Given,
    SentPictures,
    door_of,
    parse_body,
    submission,
)
from edit_eval.plugins.serve.pickles import RefusedPickle
from edit_eval.plugins.serve.pictures import Sent, small_rgb, thumbnail
from edit_eval.plugins.serve.submissions import Submission

# -- what `/v1/score` is asked; read here, never in the service itself --


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


SECONDS, BYTES_A_SECOND = 4, 4 << 20
"""Processor time for a request: this many seconds, and one more for so many bytes. An honest one takes a twentieth."""
ROOM, TIMES = 256 << 20, 8
"""Memory for a request: so many bytes beside what Python takes, and so many times the request's size."""
LONGEST_PAIR = 256 << 10
"""Most bytes of a pair's texts and facts."""
LONGEST_ANSWER = 64 << 20
"""Most bytes of all pairs' texts and facts: the service reads them at one go."""
MOST_FILES = 16
NATIVE = "native"
"""The name of `/v1/score` among doors."""
_LENGTH = struct.Struct(">Q")


class Order(msgspec.Struct):
    """What to do with the bytes that follow."""

    size: int
    seconds: int = SECONDS
    """Processor time beside what `BYTES_A_SECOND` allows for the size."""
    doors: list[str] = []
    """The doors at the address; none is `/v1/score`."""
    root: str = ""
    side: int = 0
    """Where it is not 0, the bytes are one picture, to be shown so small."""
    draft: int = 0
    """Decode it at no more than this size; 0 for a thumbnail, as JPEG."""


class Opened(msgspec.Struct):
    """What came of it."""

    refused: str = ""
    door: str = ""
    given: Given = Given([])
    """Its pictures are without their bytes, which follow."""
    pictures: list[tuple[str, int]] = []
    """Digest and size of each, in the order in which they follow."""


def send_message(file: io.BufferedRWPair, document: bytes, parts: Sequence[bytes | bytearray] = ()) -> None:
    """Writes a message. Raises `OSError`."""
    file.write(_LENGTH.pack(len(document)) + document)
    for part in parts:
        file.write(part)
    file.flush()


def receive_message(file: io.BufferedRWPair, kind: type[Any], most: int) -> Any:
    """Reads a message's document; None at the end. Raises `ValueError` for what is none."""
    head = file.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (size,) = _LENGTH.unpack(head)
    if size > most:
        raise ValueError("too long a message")
    return msgspec.msgpack.decode(file.read(size), type=kind)


# -- in the opener --


def main(descriptor: int) -> None:
    """Opens what comes through a socket until it is closed."""
    with contextlib.suppress(OSError):  # Linux alone; out of memory, the kernel ends this process and no other
        Path("/proc/self/oom_score_adj").write_text("1000")
    _limit(resource.RLIMIT_NOFILE, MOST_FILES)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)
    connection = socket.socket(fileno=descriptor)
    with contextlib.suppress(OSError), connection, connection.makefile("rwb") as file:
        while (order := receive_message(file, Order, 1 << 20)) is not None:
            body = file.read(order.size)
            if len(body) < order.size:
                return
            with _limit_resources(len(body), order.seconds, MOST_FROM_FILES if order.root else 0):
                document, parts = _answer(order, body)
            del body
            send_message(file, document, parts)


def _answer(order: Order, body: bytes) -> tuple[bytes, list[bytes]]:
    """Returns the document of an answer, and the bytes that follow it."""
    try:
        if order.side:
            shown = small_rgb(body, order.side, order.draft) if order.draft else thumbnail(body, order.side)
            return msgspec.msgpack.encode(Opened(pictures=[("", len(shown))])), [shown]
        return _read(order, body)
    except (BadRequest, RefusedPickle, PictureError) as error:
        why = _shorten_reason(str(error))
    except MemoryError:
        why = "refused: to open it takes more memory than a request of its size may"
    except Exception as error:  # whatever a stranger's bytes can bring about is the end of that request alone
        why = f"refused: it cannot be read ({type(error).__name__})"
    return msgspec.msgpack.encode(Opened(refused=why)), []


def _shorten_reason(reason: str) -> str:
    """Returns a reason that is short enough, and can be written."""
    return reason[:1000].encode("utf-8", "replace").decode()


def _read(order: Order, body: bytes) -> tuple[bytes, list[bytes]]:
    root = Path(order.root) if order.root else None
    if order.doors:
        here = [DOORS[name] for name in order.doors]
        request = parse_body(here[0].media, body)
        door = door_of(here, request)
        name, given = door.name, door.read(request, SentPictures(root))
    else:
        name, given = NATIVE, read_native(body, root)
    parts: dict[str, bytes] = {}
    pairs = [_strip_bytes(pair, parts) for pair in given.pairs]
    sizes = [(digest, len(data)) for digest, data in parts.items()]
    document = msgspec.msgpack.encode(Opened("", name, given._replace(pairs=pairs), sizes))
    if len(document) > LONGEST_ANSWER:
        raise BadRequest(f"its texts have more than {LONGEST_ANSWER:,} bytes: send fewer pairs a request")
    return document, [*parts.values()]


def _strip_bytes(pair: Submission | str, parts: dict[str, bytes]) -> Submission | str:
    """Returns a pair without the bytes of its pictures, which go into `parts`; or why it cannot be kept."""
    if isinstance(pair, str):
        return _shorten_reason(pair)
    bare = pair._replace(
        pictures={name: replace(picture, data=b"") for name, picture in pair.pictures.items()},
        edit=replace(pair.edit, data=b""),
    )
    try:
        if len(msgspec.msgpack.encode(bare)) > LONGEST_PAIR:
            return f"its texts and facts have more than {LONGEST_PAIR:,} bytes"
    except Exception:  # half of a surrogate pair, a number of a thousand digits, lists within lists without end
        return "its texts or facts hold what cannot be kept: half a character, or too large a number"
    parts.update({picture.digest: picture.data for picture in (*pair.pictures.values(), pair.edit)})
    return bare


def restore_bytes(pair: Submission | str, data: dict[str, bytes]) -> Submission | str:
    """Returns a pair with the bytes of its pictures again."""
    if isinstance(pair, str):
        return pair

    def one(bare: Sent) -> Sent:
        return replace(bare, data=data[bare.digest])

    return pair._replace(pictures={name: one(bare) for name, bare in pair.pictures.items()}, edit=one(pair.edit))


@contextlib.contextmanager
def _limit_resources(size: int, seconds: int, files: int) -> Iterator[None]:
    """Limits memory and processor time until a request of `size` bytes is opened, which may read `files` bytes."""
    used = sum(os.times()[:2])
    _limit(resource.RLIMIT_CPU, int(used) + 1 + seconds + size // BYTES_A_SECOND)
    with contextlib.suppress(OSError, ValueError):  # elsewhere than on Linux there is no such file
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        _limit(resource.RLIMIT_AS, pages * resource.getpagesize() + ROOM + files + TIMES * size)
    try:
        yield
    finally:
        _limit(resource.RLIMIT_AS, resource.RLIM_INFINITY)


def _limit(what: int, most: int) -> None:
    """Sets a soft limit, as far as the hard one allows."""
    hard = resource.getrlimit(what)[1]
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


if __name__ == "__main__":
    main(int(sys.argv[1]))
