"""Files of benchmarks' authors on GitHub, prompts and rows: where they are in public, and fetched into the cache.

None of them is part of edit-eval. A file is taken for the one that is meant by the digest of its bytes.
"""

from __future__ import annotations

import hashlib
import http.client
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from edit_eval.errors import ConfigurationError, Stopped
from edit_eval.pictures import write_durably
from edit_eval.text import Text
from edit_eval.user_cache import cache_folder

HOST = "https://raw.githubusercontent.com"
_TIMEOUT = 30.0  # seconds without a byte
_MOST = 1 << 20  # bytes; the largest of them has 27 thousand


@dataclass(frozen=True)
class AuthorsFile:
    """One file at one commit of a repository on GitHub."""

    repository: str
    commit: str
    path: str
    licence: str
    """Of the repository; empty where it gives none."""
    digest: str
    """SHA-256 of its bytes, hexadecimal."""
    key: str = "protocol.prompts"
    """What in a configuration asks for it."""
    instead: str = Text("give it as prompts_path")
    """What one does with a copy of one's own."""

    def __str__(self) -> str:
        return f"{self.repository}@{self.commit[:7]}:{self.path}"

    @property
    def name(self) -> str:
        """Of the file, without its folders."""
        return PurePosixPath(self.path).name

    @property
    def address(self) -> str:
        """From where it is fetched."""
        return f"{HOST}/{self.repository}/{self.commit}/{self.path}"

    @property
    def place(self) -> Path:
        """Where it lies once it was fetched."""
        return cache_folder() / "authors" / self.repository / self.commit / self.path

    def fetched(self) -> Path:
        """Its place. Raises `ConfigurationError` that says how to fetch it where it is not there."""
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
        """Downloads it where it is not there yet; returns its place. Raises `Stopped` where that fails."""
        if self._is_whole():
            return self.place
        try:
            with urllib.request.urlopen(self.address, timeout=_TIMEOUT) as answer:
                data = answer.read(_MOST)
        except (OSError, http.client.HTTPException) as error:
            said = error.code if isinstance(error, urllib.error.HTTPError) else getattr(error, "reason", error)
            raise Stopped(Text("{} ({: }){}", self._not_fetched, str(said).split(), self._by_hand)) from error
        if hashlib.sha256(data).hexdigest() != self.digest:
            raise Stopped(Text("{} (what came is not that file, or half of it){}", self._not_fetched, self._by_hand))
        try:
            write_durably(data, self.place)
        except OSError as error:
            raise Stopped(Text("{}: {} cannot be written ({})", self.key, self.place, error.strerror)) from error
        return self.place

    @property
    def _not_fetched(self) -> str:
        return Text("{}: {} was not fetched", self.key, self.address)

    @property
    def _by_hand(self) -> str:
        return Text(": try again, or fetch it by hand and {}", self.instead)

    def _is_whole(self) -> bool:
        try:
            return hashlib.sha256(self.place.read_bytes()).hexdigest() == self.digest
        except OSError:
            return False


AUTHORS_FILES = {
    # In PKU-YuanGroup/ImgEdit@547185d, Benchmark/Basic/prompts.json, which gives no licence, are the same bytes.
    "imgedit": AuthorsFile(
        "PKU-YuanGroup/UniWorld",
        "e64fa8e18642f3bbd09b7e0d06160acd502e03a9",
        "UniWorld-V1/univa/eval/imgedit/eval_prompts/prompts.json",
        "MIT",
        "f9468dc848776ee0a6c2e2c31e678c7224e9cb61b013747c8c52d4a05627b5a0",
    ),
    "kris": AuthorsFile(
        "ByteDance-Seed/Bagel",
        "056b5fd51a88c1eb4547318609e25d40080fcf87",
        "eval/gen/kris/prompts.py",
        "Apache-2.0",
        "5c4efd450ffcc85c4088d5d6966df24e1d9f56ac8c17a10d04f65893cc915a45",
    ),
    "risebench": AuthorsFile(
        "PhoenixZ810/RISEBench",
        "5f226519b25c005bb32fb83864bbd1845ab85c23",
        "utils.py",
        "",
        "c8a693294768b7ceb355d98d3bc71f40c4fe51979a2e84ffc07f829764b676a3",
    ),
    "unireditbench": AuthorsFile(
        "Maplebb/UniREditBench",
        "a7015c5c2d17aecb1a5af4af1b234c357d86cc7d",
        "eval/utils.py",
        "",
        "2823400b1cc083fcaa86aa37c35f0fa7dc8b8af520f3c1de045547896dd76870",
    ),
    "viescore": AuthorsFile(
        "TIGER-AI-Lab/VIEScore",
        "2cbea4e8ce5721425a8772590ecdbe7d2edd1721",
        "viescore/vie_prompts.py",
        "MIT",
        "010234af186eb0a70fcb99047cd32ad1da01bed59ca1a95a01335426417cf838",
    ),
}
"""Protocol -> the file with the authors' prompts."""
UGE_ROWS = AuthorsFile(
    "PKU-YuanGroup/ImgEdit",
    "547185d12c08267a862b94248576e1746e479937",
    "Benchmark/UGE/UGE_edit.json",
    "",
    "807817d8765f8fc45397be9afbf638b00fad91e37c1d44fabd5103df73074d16",
    "benchmark.data_path",
    Text("lay it beside the pictures"),
)
"""The rows of ImgEdit's second suite, whose pictures alone are on the hub."""
