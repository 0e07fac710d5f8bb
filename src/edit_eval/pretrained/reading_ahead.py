"""Weights on their way from the disk before a device is free for them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from edit_eval.pretrained.folders import local_folder

SUFFIX = ".safetensors"
SHARE = 0.5
"""Of the host's memory: larger weights would push out their own beginning before it is used."""
BESIDE_OTHERS = SHARE / 2
"""Of a judge's weights, which come beside those of an edit model."""


def load_in_parallel() -> None:
    """Has diffusers read the files of a network with several threads; to be called before diffusers is imported.

    The weights are the same. What `HF_ENABLE_PARALLEL_LOADING` says already, stands.
    """
    os.environ.setdefault("HF_ENABLE_PARALLEL_LOADING", "YES")


def read_ahead(name: str, revision: str | None = None, share: float = SHARE) -> threading.Thread | None:
    """Has the operating system read a model's weights into its page cache; returns at once, with the thread that asks.

    `name` is a folder or a repository in the Hugging Face cache. None where there is nothing to read, no way to ask,
    or they are more than that `share` of the host's memory. It costs no memory of this process, and replicas of one
    host share it. Processes of one user ask in turn, so that a judge does not halve the disk of the first edit model.
    """
    folder = local_folder(name) or _cached(name, revision)
    files = sorted(folder.rglob(f"*{SUFFIX}")) if folder else []
    size = sum(file.stat().st_size for file in files)
    if not size or not hasattr(os, "posix_fadvise") or size > share * _memory():
        return None
    thread = threading.Thread(target=_ask, args=(files,), name="read ahead", daemon=True)
    thread.start()
    return thread


def _cached(name: str, revision: str | None) -> Path | None:
    try:
        from huggingface_hub import snapshot_download

        return Path(snapshot_download(name, revision=revision, local_files_only=True))
    except Exception:  # what is wrong with it, loading will say
        return None


def _ask(files: list[Path]) -> None:
    with _my_turn():
        for file in files:
            try:
                with file.open("rb", buffering=0) as opened:
                    os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_WILLNEED)
            except OSError:
                continue


@contextlib.contextmanager
def _my_turn() -> Iterator[None]:
    """Waits until no other process of this user reads ahead; where that cannot be known, nobody waits."""
    path = os.path.join(tempfile.gettempdir(), f"edit-eval-reads-ahead-{os.getuid()}")
    try:
        turn = os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:
        yield
        return
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(turn, fcntl.LOCK_EX)
        yield
    finally:
        os.close(turn)


def _memory() -> int:
    """Bytes of this host's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
