"""Turns a task into a model's request: its pictures are opened, checked to be the right ones, and shown as asked.

A task to edit:  `pictures`, a list of `name`, `path` and `digest`, perhaps with a `mask`; `instruction`, `seed`,
    `sample`, `output` (path); perhaps `submitted`
    (`edit_models.contract.Submitted`) and `small_copies`: the `folder` of small copies of edit and source for reports,
    and their size (`side`, `file_bytes`).
A task to judge: perhaps `deferred` (its one question goes to `JudgeExtras.defer`), and `submitted`; `requests`, a list
    of `system`, `user`, `form`, `seed`, `key`, `pictures`, and perhaps `labels`, `schema`, and what the judge's class
    `reads`. Each picture has a `name`, `steps` (see `edit_eval.pictures.with_steps`; `["like", PICTURE]` takes another
    picture's size), and one of

    `path`, `digest`    a file, and the SHA-256 of its bytes; empty if unknown; with `mask`, it is one
    `path`, `pixels`    the file of an edit, and the digest of its pixels when it was reported; perhaps with `digest`,
                        the SHA-256 that its bytes had then
    `blank_like`        either of these: a grey picture of its size
    `made_of`, `maker`  either of these: what a class of this path (`ControlPicture`) makes of it
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from edit_eval.edit_models.contract import EditRequest
from edit_eval.errors import PictureError, UnreadableError
from edit_eval.judges.contract import JudgeRequest
from edit_eval.masks import fit_mask, open_mask
from edit_eval.pictures import blank, get_kept_file, open_kept_file, open_picture, pixel_digest, pixels_of, with_steps
from edit_eval.workers.failures import one_line
from edit_eval.workers.messages import Message

if TYPE_CHECKING:
    from PIL.Image import Image

    Opened = Image | str
    """A picture, or why an edit is no longer what it was."""


# Opened pictures are kept for further questions: a protocol asks up to twenty about a pair, each once per reading, and
# opening and checking one picture of 512 x 512 takes 6 ms.

MOST_KEPT = 128 * 2**20
"""Bytes of pixels as Pillow holds them (four a pixel), and of files kept with them: some 12 pairs of 1024 x 1024."""

SETTLED = 1.0
"""Seconds since a file's last change before it may be kept: file systems' clocks tick in steps, and another change in
the same step would go unnoticed."""


class File(NamedTuple):
    """Where a picture is, and what identifies it."""

    path: str
    digest: str
    """SHA-256 of its bytes; empty if unknown."""
    pixels: str
    """`pixel_digest` of an edit as it was reported; else empty."""
    mask: bool = False
    """True if it says where something may change."""


def open_file(file: File, *, decode: bool = True) -> Image:
    """Opens and checks the picture. Raises `PictureError`, and `UnreadableError` for one that has changed.

    Without `decode` a file whose bytes prove that it is the right one is decoded only when its pixels are used.
    """
    if file.mask:
        return open_mask(file.path, digest=file.digest)
    if not decode and file.digest and (kept := open_kept_file(file.path, file.digest)) is not None:
        return kept
    try:
        # The file of an edit may be another by now, with the same pixels.
        picture = open_picture(file.path, digest="" if file.pixels else file.digest, keep_file=True)
    except PictureError as error:
        if file.pixels and not isinstance(error, UnreadableError):  # it was a picture when it was reported
            raise UnreadableError(*error.args) from None
        raise
    if file.pixels and pixel_digest(picture) != file.pixels:
        raise UnreadableError(f"{file.path}: the pixels differ from those reported")
    return picture


class _Kept(NamedTuple):
    identity: tuple[int, ...]
    picture: Image
    pixels: Any
    """The pixels at that time: Pillow replaces them when the picture is painted on."""


class OpenedPictures:
    """The most recently opened pictures. Safe for any number of threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[File, _Kept] = OrderedDict()
        self._bytes = 0

    def find_unchanged(self, file: File) -> Image | None:
        """Returns the picture if it was opened before, its file is unchanged, and it was not painted on."""
        with self._lock:
            kept = self._kept.get(file)
            if kept is None:
                return None
            try:
                same = _identity(file.path) == kept.identity
            except OSError:
                same = False
            if not (same and kept.picture.readonly and pixels_of(kept.picture) is kept.pixels):
                self._let_go(file)
                return None
            self._kept.move_to_end(file)
            return kept.picture

    def open(self, file: File, *, decode: bool = True) -> Image:
        """Opens the picture as `open_file` does, and keeps it.

        It is read-only: Pillow's painting functions change a copy.
        """
        try:
            before = _identity(file.path)
        except OSError:
            before = ()  # `open_picture` reports it better
        picture = open_file(file, decode=decode)
        picture.readonly = 1
        if before and time.time() - max(before[-2:]) / 1e9 > SETTLED and _identity(file.path) == before:
            self._keep(file, _Kept(before, picture, pixels_of(picture)))
        return picture

    def _keep(self, file: File, kept: _Kept) -> None:
        with self._lock:
            if file in self._kept:
                self._let_go(file)
            self._kept[file] = kept
            self._bytes += _size(kept)
            while self._bytes > MOST_KEPT:
                self._let_go(next(iter(self._kept)))

    def _let_go(self, file: File) -> None:
        self._bytes -= _size(self._kept.pop(file))


def _size(kept: _Kept) -> int:
    width, height = kept.picture.size
    return int(width * height * 4) + len(get_kept_file(kept.picture) or b"")


def _identity(path: str) -> tuple[int, ...]:
    """Returns what changes when a file is written to, or replaced by another."""
    state = os.stat(path)
    return state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns


Request = TypeVar("Request", EditRequest, JudgeRequest)

OPENING_THREADS = 8
"""A batch's pictures are decoded in parallel: one thread opens 19 pairs a second, a GPU may judge 25."""

FIELDS = {field.name for field in fields(JudgeRequest)} - {"pictures", "labels"}
"""Fields that are passed on unchanged; those that are left out are blank."""


_PICTURES = OpenedPictures()


def open_edit_request(task: Message) -> EditRequest:
    """Returns the request with its pictures. Raises `PictureError`, and `UnreadableError` for one that has changed."""
    files = {picture["name"]: _file(picture) for picture in task["pictures"]}
    pictures = {name: open_file(file) for name, file in files.items()}
    mask = pictures.pop("mask", None)
    return EditRequest(
        pictures=pictures,
        mask=None if mask is None else fit_mask(mask, pictures["source"].size, edited=bool(files["source"].pixels)),
        instruction=task["instruction"],
        seed=task["seed"],
        sample_id=task["sample"],
        submitted=task.get("submitted"),
    )


def open_judge_requests(requests: Sequence[Message], *, decode: bool = True) -> list[JudgeRequest | str]:
    """Returns each request with its pictures, in order, or a text if its edit is no longer what it was.

    A picture that several requests show is opened once, and is one object in all of them; recent pictures are reused
    (`OpenedPictures`), so they must not be painted on. Raises `PictureError` for pictures that cannot be opened, or not
    be shown as asked.
    """
    views = {_key(view): view for request in requests for view in request["pictures"]}
    files = list(dict.fromkeys(file for view in views.values() for file in _files(view)))
    known: dict[File, Opened | None] = {file: _PICTURES.find_unchanged(file) for file in files}
    new = [file for file, picture in known.items() if picture is None]
    opening = partial(_open_unless_damaged, decode=decode)
    made = dict(zip(new, _get_thread_pool().map(opening, new), strict=True)) if new else {}
    there: dict[File, Opened] = {file: picture or made[file] for file, picture in known.items()}
    stepped = {
        key: _get_thread_pool().submit(_render_view, there, view) for key, view in views.items() if view["steps"]
    }
    shown = {key: stepped[key].result() if key in stepped else _render_view(there, view) for key, view in views.items()}
    return [_judge_request(request, shown) for request in requests]


@lru_cache(maxsize=1)
def _get_thread_pool() -> ThreadPoolExecutor:
    """Returns the threads that open pictures; starting them for each batch took as long as all its other work."""
    return ThreadPoolExecutor(min(OPENING_THREADS, os.cpu_count() or 1))


def with_own_pictures(request: Request) -> Request:
    """Returns the request with copies of its pictures, for a model that paints on them."""
    own: dict[str, Any] = {"pictures": {name: picture.copy() for name, picture in request.pictures.items()}}
    if isinstance(request, EditRequest) and request.mask is not None:
        own["mask"] = request.mask.copy()
    return replace(request, **own)


def _judge_request(request: Message, shown: Mapping[str, Opened]) -> JudgeRequest | str:
    pictures: dict[str, Image] = {}
    for view in request["pictures"]:
        picture = shown[_key(view)]
        if isinstance(picture, str):  # damage
            return picture
        pictures[view["name"]] = picture
    told = {name: value for name, value in request.items() if name in FIELDS}
    return JudgeRequest(pictures=pictures, labels=tuple(request.get("labels", ())), **told)


def _key(view: Message) -> str:
    """Returns a key that views of the same picture share, whatever their names."""
    return json.dumps({**view, "name": ""}, sort_keys=True)


def _file(picture: Message) -> File:
    """Returns the file of a picture, or the one that a control is made of."""
    picture = picture.get("blank_like") or picture.get("made_of") or picture
    return File(picture["path"], picture.get("digest", ""), picture.get("pixels", ""), picture.get("mask", False))


def _files(view: Message) -> Iterator[File]:
    yield _file(view)
    yield from (_file(step[1]) for step in view["steps"] if step[0] == "like")


def _open_unless_damaged(file: File, *, decode: bool) -> Opened:
    try:
        return _PICTURES.open(file, decode=decode)
    except PictureError as error:
        gone = error.__cause__ is None or isinstance(error.__cause__, FileNotFoundError)
        if not file.pixels or (isinstance(error, UnreadableError) and not gone):
            raise  # it may be intact: a disk that fails for a while is no reason to make it again
        return one_line(error)


def _render_view(opened: Mapping[File, Opened], view: Message) -> Opened:
    """Returns the picture of a view, its steps applied."""
    pictures: list[Any] = [opened[file] for file in _files(view)]
    if damage := next((picture for picture in pictures if isinstance(picture, str)), ""):
        return damage
    picture, *others = pictures
    sizes = iter([other.size for other in others])
    steps = [("like", *next(sizes)) if step[0] == "like" else step for step in view["steps"]]
    if "maker" in view:
        picture = _make_control(picture, view["maker"])
    return with_steps(blank(picture.size) if "blank_like" in view else picture, steps)


def _make_control(source: Image, maker: str) -> Image:
    """Returns what the `ControlPicture` of this class path makes of a source. Raises `PictureError` if it fails."""
    try:
        return _maker(maker).picture(source.copy()).convert("RGB")  # type: ignore[no-any-return]
    except Exception as error:  # a class of somebody else's
        raise PictureError(f"the control {maker} cannot be made: {one_line(error)}") from error


@lru_cache(maxsize=64)
def _maker(class_path: str) -> Any:
    from edit_eval.workers.model_class import find_class

    return find_class(class_path, [])()
