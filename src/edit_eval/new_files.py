"""A file whose name somebody gave: written whole or not at all, and in place of another only where that was asked."""

from __future__ import annotations

import csv
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


# -- CSV for other programs --
#
# A text that a spreadsheet would run is disarmed when written, and itself again when read. By what a text begins with:
# https://owasp.org/www-community/attacks/CSV_Injection

_FORMULA = tuple("=+-@\t\r\n＝＋－＠")
_NUMBER = re.compile(r"[-+](\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.I | re.A)


def write_rows(file: TextIO, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Writes names and rows. Lines end as RFC 4180 says, so that a lone line feed is part of its text."""
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows([harmless(value) if isinstance(value, str) else value for value in row] for row in rows)


def harmless(text: str) -> str:
    """The text with an apostrophe before it where a spreadsheet would run it (`=cmd|...`), as it would no number.

    One with apostrophes before such a text gets another, so that `as_meant` gives back every text.
    """
    return f"'{text}" if text.lstrip("'").startswith(_FORMULA) and not _NUMBER.fullmatch(text) else text


def as_meant(text: str) -> str:
    """What `harmless` was given."""
    return text[1:] if text.startswith("'") and text.lstrip("'").startswith(_FORMULA) else text
