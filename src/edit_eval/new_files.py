"""A file whose name somebody gave: written whole or not at all, and in place of another only where that was asked."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from edit_eval.errors import ConfigurationError
from edit_eval.text import Text


def refuse_existing(file: Path, *, force: bool) -> None:
    """Raises `ConfigurationError` for a file that is there without `force`, and for a link in any case."""
    if file.is_symlink():
        raise ConfigurationError(Text("{} is a link, which is not replaced; give another name", file))
    if file.exists() and not force:
        raise ConfigurationError(Text("{} already exists; `--force` replaces it, or give another name", file))


@contextmanager
def written_whole(target: Path) -> Iterator[Path]:
    """A name beside the target, which is put in its place at the end; what is begun and not finished is removed.

    Raises `ConfigurationError` where the system cannot write it.
    """
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        if target.is_dir():
            target.rmdir()
        temporary.replace(target)
    except OSError as error:
        raise ConfigurationError(Text("{}: cannot be written ({})", target, error.strerror or error)) from error
    finally:
        if temporary.is_dir():
            shutil.rmtree(temporary, ignore_errors=True)
        elif temporary.exists():  # where the folder is no folder, nothing was begun
            temporary.unlink()
