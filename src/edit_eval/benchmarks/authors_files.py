"""Files that benchmark authors publish on GitHub (prompts and rows), downloaded into the cache.

None of them ships with edit-eval. Each file is identified by the digest of its bytes.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from edit_eval.errors import ConfigurationError, Stopped
from edit_eval.files.durable import write_durably
from edit_eval.files.user_cache import cache_folder
from edit_eval.text import Text

HOST = "https://raw.githubusercontent.com"
_TIMEOUT = 30.0  # seconds without a byte
_MOST = 1 << 20  # bytes; the largest of these files has 27 thousand


@dataclass(frozen=True)
class AuthorsFile:
    """One file at one commit of a repository on GitHub."""

    repository: str
    commit: str
    path: str
    licence: str
    """Licence of the repository; empty if it has none."""
    digest: str
    """SHA-256 of its bytes, hexadecimal."""
    key: str = "protocol.prompts"
    """The configuration key that needs the file."""
    instead: str = Text("give it as prompts_path")
    """What to do with a copy of your own."""

    def __str__(self) -> str:
        return f"{self.repository}@{self.commit[:7]}:{self.path}"

    @property
    def name(self) -> str:
        """The file name without its folders."""
        return PurePosixPath(self.path).name

    @property
    def address(self) -> str:
        """The address it is downloaded from."""
        return f"{HOST}/{self.repository}/{self.commit}/{self.path}"

    @property
    def place(self) -> Path:
        """Its path in the cache once downloaded."""
        return cache_folder() / "authors" / self.repository / self.commit / self.path

    def path_in_cache(self) -> Path:
        """Returns its path in the cache. Raises `ConfigurationError`, with how to fetch it, if it is not there."""
        if self._is_whole():
            return self.place
        raise ConfigurationError(
            Text(
                "{}: the authors' file {} is not here: run `edit-eval fetch CONFIG` on a machine "
                "with a network, with the same XDG_CACHE_HOME, or fetch it by hand and {}",
                self.key,
                self,
                self.instead,
            )
        )

    def fetch(self) -> Path:
        """Downloads it unless it is already there, and returns its path. Raises `Stopped` if that fails."""
        if self._is_whole():
            return self.place
        import http.client  # with ssl, for which who only reads a run need not wait
        import urllib.error
        import urllib.request

        try:
            with urllib.request.urlopen(self.address, timeout=_TIMEOUT) as answer:
                data = answer.read(_MOST)
        except (OSError, http.client.HTTPException) as error:
            said = error.code if isinstance(error, urllib.error.HTTPError) else getattr(error, "reason", error)
            raise Stopped(Text("{} ({: }){}", self._not_fetched, str(said).split(), self._manual_hint)) from error
        if hashlib.sha256(data).hexdigest() != self.digest:
            raise Stopped(
                Text("{} (what came is not that file, or half of it){}", self._not_fetched, self._manual_hint)
            )
        try:
            write_durably(data, self.place)
        except OSError as error:
            raise Stopped(Text("{}: {} cannot be written ({})", self.key, self.place, error.strerror)) from error
        return self.place

    @property
    def _not_fetched(self) -> str:
        return Text("{}: {} was not fetched", self.key, self.address)

    @property
    def _manual_hint(self) -> str:
        return Text(": try again, or fetch it by hand and {}", self.instead)

    def _is_whole(self) -> bool:
        try:
            return hashlib.sha256(self.place.read_bytes()).hexdigest() == self.digest
        except OSError:
            return False
