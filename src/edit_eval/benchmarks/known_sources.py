"""Decides which pictures of a benchmark a report may open: those that this user's own runs have used, by digest.

A run's records name the path of every picture. The records may come from a stranger, and the path may be any file of
the user's; so a path counts only if this user's cache has it, under that digest, from a benchmark that ran here:

    <cache>/sources/3f/3f0c...e1.png     put there by a benchmark (see `source_cache`)
    <cache>/sources/elsewhere/3f0c...e1.a  a link to where a benchmark keeps it; `a` depends on that path
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import string
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from edit_eval.benchmarks.source_cache import file_digest
from edit_eval.files.durable import TEMPORARY_PREFIX
from edit_eval.files.user_cache import cache_folder
from edit_eval.records import Picture, Sample

_DIGEST = re.compile(r"[0-9a-f]{64}")
_SUFFIX = re.compile(r"\.[a-z0-9]{1,8}")


def remember_sources(samples: Iterable[Sample]) -> None:
    """Records where the pictures of this user's benchmark are. Does nothing if the cache cannot be written."""
    with contextlib.suppress(OSError, RuntimeError):
        folder = _sources()
        elsewhere = str(folder / "elsewhere")
        pictures = (picture for sample in samples for picture in sample.pictures.values() if picture.path)
        places = {picture.digest: os.path.abspath(picture.path) for picture in pictures}
        away = [item for item in places.items() if _DIGEST.fullmatch(item[0]) and item[1] != _laid(str(folder), *item)]
        if away:
            os.makedirs(elsewhere, exist_ok=True)
        for digest, path in away:
            _link(path, f"{elsewhere}/{digest}.{hashlib.sha256(os.fsencode(path)).hexdigest()[0]}")


def _link(path: str, link: str) -> None:
    """Links to a path. Mostly that is new, so it is tried first: a benchmark may have a hundred thousand sources."""
    try:
        os.symlink(path, link)
    except FileExistsError:
        with contextlib.suppress(OSError):
            if os.readlink(link) == path:
                return
        temporary = f"{os.path.dirname(link)}/{TEMPORARY_PREFIX}{os.getpid()}-{secrets.token_hex(6)}"
        os.symlink(path, temporary)
        os.replace(temporary, link)


def with_known_sources(samples: Iterable[Sample]) -> tuple[Sample, ...]:
    """Returns the samples of a run's records with picture paths from the cache; empty if the cache has none.

    Each file has been read and matches its digest.
    """
    places: dict[tuple[str, str], str] = {}

    def locate_picture(picture: Picture) -> Picture:
        wanted = picture.digest, os.path.splitext(picture.path)[1]
        if wanted not in places:
            known = _places(picture.digest, picture.path)
            places[wanted] = next((place for place in known if _has(place, picture.digest)), "")
        return replace(picture, path=places[wanted])

    return tuple(
        replace(sample, pictures={name: locate_picture(picture) for name, picture in sample.pictures.items()})
        for sample in samples
    )


def read_known_source(picture: Picture) -> bytes | None:
    """Returns the bytes of a recorded picture, which match its digest; None if the cache does not know it."""
    for place in _places(picture.digest, picture.path):
        try:
            with open(place, "rb") as file:
                data = file.read()
        except OSError:
            continue
        if hashlib.sha256(data).hexdigest() == picture.digest:
            return data
    return None


def may_be_known(picture: Picture) -> bool:
    """True if the cache has a file for that picture; its content is checked when it is read."""
    return any(map(os.path.isfile, _places(picture.digest, picture.path)))


def _places(digest: str, recorded: str) -> list[str]:
    """Returns the paths that the cache has for a picture."""
    if not _DIGEST.fullmatch(digest):
        return []
    try:
        folder = str(_sources())
    except RuntimeError:  # a user without a home has no cache
        return []
    places = [_laid(folder, digest, recorded)]
    links = []  # several benchmarks may share a picture, and one of them may be deleted or not mounted
    for place in string.hexdigits[:16]:
        with contextlib.suppress(OSError):
            link = f"{folder}/elsewhere/{digest}.{place}"
            links.append((os.lstat(link).st_mtime_ns, os.readlink(link)))
    places += [place for _, place in sorted(links, reverse=True)]
    return [place for place in places if place]


def _laid(folder: str, digest: str, recorded: str) -> str:
    """Returns the cache path of a source with this digest; only the suffix is taken from what is recorded."""
    suffix = os.path.splitext(recorded)[1]
    return f"{folder}/{digest[:2]}/{digest}{suffix}" if _SUFFIX.fullmatch(suffix) else ""


def _has(path: str, digest: str) -> bool:
    try:
        return file_digest(path) == digest
    except OSError:
        return False


def _sources() -> Path:
    return cache_folder() / "sources"
