"""Files named by the user: written whole or not at all, replacing an existing one only if asked to."""

from __future__ import annotations

import csv
import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from edit_eval.errors import ConfigurationError
from edit_eval.text import Text


def refuse_existing(file: Path, *, force: bool) -> None:
    """Raises `ConfigurationError` for an existing file without `force`, and for a link in any case."""
    if file.is_symlink():
        raise ConfigurationError(Text("{} is a link, which is not replaced; give another name", file))
    if file.exists() and not force:
        raise ConfigurationError(Text("{} already exists; `--force` replaces it, or give another name", file))


@contextmanager
def write_atomically(target: Path) -> Iterator[Path]:
    """Yields a name beside the target, and renames it to the target at the end; an unfinished one is removed.

    A folder that is there keeps whatever the new one has nothing of: it may be the folder of a thesis.

    Raises `ConfigurationError` if the system cannot write it.
    """
    target = Path(os.path.abspath(target))  # `.` has no name
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        if target.is_dir() and temporary.is_dir():
            for new in sorted(temporary.iterdir()):
                _replace(new, target / new.name)
        else:
            temporary.replace(target)
    except OSError as error:
        raise ConfigurationError(Text("{}: cannot be written ({})", target, error.strerror or error)) from error
    finally:
        if temporary.is_dir():
            shutil.rmtree(temporary, ignore_errors=True)
        elif temporary.exists():  # if the folder is no folder, there is no file
            temporary.unlink()


def _replace(new: Path, old: Path) -> None:
    if old.is_dir() and not old.is_symlink():
        shutil.rmtree(old)
    new.replace(old)


# -- CSV for other programs --
#
# A text that a spreadsheet would run is disarmed when written, and restored when read. Recognised by its beginning:
# https://owasp.org/www-community/attacks/CSV_Injection

_FORMULA = tuple("=+-@\t\r\n＝＋－＠")
_NUMBER = re.compile(r"[-+](\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.I | re.A)


def write_rows(file: TextIO, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Writes names and rows. Lines end as in RFC 4180, so that a lone line feed is part of its text."""
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows([harmless(value) if isinstance(value, str) else value for value in row] for row in rows)


def harmless(text: str) -> str:
    """Puts an apostrophe before a text that a spreadsheet would run (`=cmd|...`), unless it is a number.

    A text that already has apostrophes there gets another, so that `as_meant` restores every text.
    """
    return f"'{text}" if text.lstrip("'").startswith(_FORMULA) and not _NUMBER.fullmatch(text) else text


def as_meant(text: str) -> str:
    """Restores the text given to `harmless`."""
    return text[1:] if text.startswith("'") and text.lstrip("'").startswith(_FORMULA) else text
