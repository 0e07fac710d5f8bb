"""The pictures of a run, by their names in its records, never by a path from a request."""

from __future__ import annotations

import io
import os
import re
import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

from edit_eval.benchmarks.known_sources import may_be_known, read_known_source
from edit_eval.errors import PictureError
from edit_eval.pictures import read_picture
from edit_eval.plugins.page.shown_pictures import PictureAddress
from edit_eval.plugins.viewer.following import Following
from edit_eval.records import Edit, Sample
from edit_eval.small_copies import small_copy, small_copy_name
from edit_eval.store.run_directory import read_run_file
from edit_eval.text import Text

DIGEST = re.compile(r"[0-9a-f]{64}")
MOST_KEPT = 32 << 20
"""Bytes of thumbnails kept."""
AT_ONCE = max(1, min(4, os.cpu_count() or 1))
"""Pictures decoded at the same time: each takes tens of megabytes."""

KINDS = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"RIFF": "image/webp", b"GIF8": "image/gif"}
OTHER = "application/octet-stream"
"""Media type of all other files, which a browser does not show."""


class ServedPictures:
    """Addresses in place of files (see `edit_eval.plugins.page.shown_pictures.PictureAddresses`)."""

    def __init__(self, base: str) -> None:
        self.base = base

    def address_of_sample(self, sample: Sample, name: str = "source") -> PictureAddress | None:
        """Returns the addresses of one of the sample's pictures, if the user's cache has it."""
        picture = sample.pictures.get(name)
        known = picture is not None and may_be_known(picture)
        return self._addresses("source", picture.digest) if picture and known else None

    def address_of_edit(self, edit: Edit) -> PictureAddress | None:
        """Returns the addresses of an edit that was made."""
        return self._addresses("edit", edit.key)

    def _addresses(self, kind: str, name: str) -> PictureAddress:
        return {"thumbnail": f"{self.base}/{kind}/{name}/small", "file": f"{self.base}/{kind}/{name}"}


def read_edit(run: Following, key: str) -> bytes | None:
    """Reads an edit's picture; None if there is none, or its path is not a file of the run."""
    edit = run.find_edit(key)
    return None if edit is None else read_run_file(run.path, edit.image)


def read_source(run: Following, digest: str) -> bytes | None:
    """Reads one of the samples' pictures, if the user's cache knows it."""
    picture = run.find_picture(digest)
    return None if picture is None else read_known_source(picture)


def kind_of(data: bytes) -> str:
    """Returns the media type by the first bytes."""
    return next((kind for begin, kind in KINDS.items() if data.startswith(begin)), OTHER)


class Thumbnails:
    """Thumbnails, made on first request; the most recently requested are kept."""

    def __init__(self) -> None:
        self._made: OrderedDict[tuple[str, str], bytes] = OrderedDict()
        self._bytes = 0
        self._lock, self._room = threading.Lock(), threading.Semaphore(AT_ONCE)

    def read_thumbnail(self, run: Following, kind: str, name: str) -> bytes | None:
        """Returns the thumbnail of `edit` KEY or `source` DIGEST; None if there is no readable picture."""
        edit = run.find_edit(name) if kind == "edit" else None
        digest = edit.pixels if edit else name if kind == "source" and run.find_picture(name) else ""
        read = read_edit if kind == "edit" else read_source
        return self._thumbnail(run.path, f"{kind}/{name}", digest, lambda: read(run, name))

    def read_file_thumbnail(self, run: Path, image: str, pixels: str) -> bytes | None:
        """Returns the thumbnail of an edit's file in a run that has not been read; None likewise."""
        return self._thumbnail(run, f"file/{image}/{pixels}", pixels, lambda: read_run_file(run, image))

    def _thumbnail(self, run: Path, name: str, digest: str, read: Callable[[], bytes | None]) -> bytes | None:
        known = f"{run}", name
        with self._lock:
            if known in self._made:
                self._made.move_to_end(known)
                return self._made[known]
        made = _read_small_copy(run, digest)
        if made is None:
            with self._room:
                data = read()
                try:
                    made = None if data is None else small_copy(read_picture(io.BytesIO(data), Text("the picture"))[0])
                except (PictureError, OSError, ValueError):
                    return None
        if made is None:
            return None
        with self._lock:
            self._bytes += len(made) - len(self._made.pop(known, b""))
            self._made[known] = made
            while self._bytes > MOST_KEPT:
                self._bytes -= len(self._made.popitem(last=False)[1])
        return made


def _read_small_copy(run: Path, digest: str) -> bytes | None:
    """Returns the small copy that a worker or a report has left in the run."""
    if not DIGEST.fullmatch(digest):
        return None
    data = read_run_file(run, f"report/thumbnails/{small_copy_name(digest)}", "report")
    return data if data is not None and kind_of(data) == "image/jpeg" else None
