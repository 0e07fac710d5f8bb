"""Locates weights: in a folder on this machine, or in a repository on the Hugging Face Hub."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edit_eval.errors import ConfigurationError, LoadError
from edit_eval.json_values import Unchecked
from edit_eval.text import Text

BLOCK_BYTES = 65536
BLOCKS = 256
"""Of a file larger than 256 blocks (16 MiB), 256 evenly spread blocks are read, including the first and the last."""

IGNORED_SUFFIXES = {".md", ".png", ".jpg", ".jpeg", ".webp", ".gif", ".mp4", ".pdf", ".lock"}


Keywords = dict[str, Any]
"""Keyword arguments of a function of a library, which checks them: `from_pretrained`, a pipeline's call."""


@dataclass(frozen=True)
class Location:
    """The arguments for `from_pretrained`."""

    name: str
    """Path of a folder, or name of a repository."""
    commit: str
    """The repository's commit; empty for a folder."""
    index: Unchecked
    """The file that lists the model's parts (`model_index.json`, `config.json`)."""

    @property
    def keywords(self) -> dict[str, str]:
        """Keywords that pin every `from_pretrained` to the same commit."""
        return {"revision": self.commit} if self.commit else {}


def local_folder(name: str) -> Path | None:
    """Returns the folder `name`, or None if it is not a folder."""
    folder = Path(name).expanduser()
    return folder if name and folder.is_dir() else None


def revision(name: str, revision: str | None, parameter: str = "model_name", kind: str = "the model") -> str:
    """Returns what, besides the model's name, determines the weights: a folder's digest, or the revision asked for.

    For a folder: SHA-256 over every file's path, size and content; of files above 16 MiB over 256 blocks of 64 KiB,
    spread evenly. That is cheap (at most 16 MiB per file are read), and detects a training step, which changes most
    weights; it may miss a change of a few weights in a large file. Raises `ConfigurationError` for a path that is not a
    folder.
    """
    folder = local_folder(name)
    if folder is None and not is_hub_name(name):
        raise ConfigurationError(_no_folder(name, kind, parameter))
    return folder_digest(folder) if folder else revision or ""


def _no_folder(name: str, kind: str, parameter: str = "model_name") -> str:
    there = os.path.abspath(os.path.expanduser(name))
    return f"{parameter}: there is no folder {there}; give the folder of {kind}, or a name on the Hugging Face Hub"


def digest_if_local(name: str) -> str:
    """Returns the digest of the folder `name`; empty if it is not a folder."""
    folder = local_folder(name)
    return folder_digest(folder) if folder else ""


def folder_digest(folder: Path) -> str:
    """Returns the SHA-256, hexadecimal, over a folder of weights; ignores pictures, `.md` and hidden files."""
    files = sorted(_files(folder), key=lambda path: path.relative_to(folder).as_posix())
    return _digest({path.relative_to(folder).as_posix(): path for path in files})


def file_digest(path: Path) -> str:
    """Returns the same for one file, wherever it is."""
    return _digest({path.name: path})


def files_revision(**files: str) -> str:
    """Returns a digest of the files that a user's parameters name, by parameter: of their contents, not their names.

    Raises `ConfigurationError` if one is missing.
    """
    paths = {parameter: Path(name).expanduser() for parameter, name in files.items()}
    for parameter, path in paths.items():
        if not path.is_file():
            raise ConfigurationError(Text("{}: there is no file {}", parameter, os.path.abspath(path)))
    return _digest(paths)


def _digest(files: Mapping[str, Path]) -> str:
    digest = hashlib.sha256()
    for name, path in files.items():
        try:
            size = path.stat().st_size
        except FileNotFoundError as error:  # a link to nothing
            raise ConfigurationError(Text("{} is missing; copy or download the model's files again", path)) from error
        digest.update(f"{name}\0{size}\0".encode())
        with path.open("rb", buffering=0) as file:
            for start in _block_starts(size):
                file.seek(start)
                digest.update(file.read(BLOCK_BYTES))
    return digest.hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    seen = set()
    for parent, folders, files in os.walk(folder, followlinks=True):
        real = os.path.realpath(parent)
        if real in seen:  # a link that leads back
            folders.clear()
            continue
        seen.add(real)
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            if not name.startswith(".") and os.path.splitext(name)[1].lower() not in IGNORED_SUFFIXES:
                yield Path(parent, name)


def _block_starts(size: int) -> list[int]:
    if size <= BLOCK_BYTES * BLOCKS:
        return list(range(0, size, BLOCK_BYTES))
    return [(size - BLOCK_BYTES) * i // (BLOCKS - 1) for i in range(BLOCKS)]


def locate(name: str, revision: str | None, index_file: str, kind: str) -> Location:
    """Finds the model and reads its index.

    `kind` says what the index makes it ("a diffusers pipeline"). A repository is resolved to one commit, in the cache
    if the Hub cannot be reached. Raises `LoadError` with what to do.
    """
    folder = local_folder(name)
    if folder:
        if not (folder / index_file).is_file():
            raise LoadError(f"model_name: {folder} has no {index_file}, so it is not {kind}")
        return Location(str(folder), "", read_index(folder / index_file))
    if not is_hub_name(name):
        raise LoadError(_no_folder(name, kind))
    path = _from_hub(name, revision, index_file, kind)
    return Location(name, path.parent.name, read_index(path))


def read_index(path: Path) -> Unchecked:
    """Returns the JSON object in a model's index file. Raises `LoadError`."""
    try:
        index = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise LoadError(f"model_name: {path} is not JSON ({error})") from error
    if not isinstance(index, dict):
        raise LoadError(f"model_name: {path} holds no JSON object")
    return index


def list_parts(index: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yields (name, library, class) of each part named in `model_index.json` or `modular_model_index.json`.

    An entry that is null is not a part, nor is a list of other things, such as `sample_sigmas` of Qwen-Image-2.1-Turbo.
    """
    for name, entry in index.items():
        if isinstance(entry, list) and entry and isinstance(entry[-1], dict):  # modular: it need not be elsewhere
            entry = entry[-1].get("type_hint")
        if isinstance(entry, list) and len(entry) == 2 and all(isinstance(text, str) for text in entry):
            yield name, *entry


def _from_hub(name: str, revision: str | None, index_file: str, kind: str) -> Path:
    from huggingface_hub import errors, hf_hub_download

    at = f"{name} at revision {revision}" if revision else name
    try:
        return Path(hf_hub_download(name, index_file, revision=revision))
    except errors.GatedRepoError as error:
        raise LoadError(
            f"model_name: {name} needs an account: accept its terms on the Hub and run `hf auth login`"
        ) from error
    except errors.RepositoryNotFoundError as error:
        raise LoadError(
            f"model_name: the Hub has no {name}, or your account may not see it; is the name right?"
        ) from error
    except errors.RevisionNotFoundError as error:
        raise LoadError(f"revision: {name} has no revision {revision}") from error
    except errors.LocalEntryNotFoundError as error:
        download = f"hf download {name}" + (f" --revision {revision}" if revision else "")
        raise LoadError(
            f"model_name: there is no folder {name} here, and {at} is not in this machine's Hugging Face cache "
            f"while the Hub cannot be reached; on a machine with a network, run `{download}`, or give the path "
            "of a folder"
        ) from error
    except errors.EntryNotFoundError as error:
        raise LoadError(f"model_name: {at} has no {index_file}, so it is not {kind}") from error


# -- the Hugging Face cache --


def hub_cache(environment: Mapping[str, str]) -> Path:
    """Returns the folder of the Hub's files."""
    for variable in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if environment.get(variable):
            return Path(environment[variable]).expanduser()
    home = environment.get("HF_HOME") or str(
        Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "huggingface"
    )
    return Path(home).expanduser() / "hub"


def find_downloads(environment: Mapping[str, str]) -> dict[str, int]:
    """Returns the files that the Hub's library has begun to download, and how many bytes each has."""
    sizes = {}
    for file in hub_cache(environment).glob("*/blobs/*.incomplete"):
        with contextlib.suppress(OSError):  # it is whole by now
            sizes[str(file)] = file.stat().st_size
    return sizes


def find_cached_folder(name: str, revision: str | None, environment: Mapping[str, str]) -> Path | None:
    """Returns the cached snapshot of a Hub repository, or None. Does not use the network."""
    if not is_hub_name(name):
        return None
    repository = hub_cache(environment) / f"models--{name.replace('/', '--')}"
    wanted = revision or "main"
    try:
        commit = (repository / "refs" / wanted).read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        commit = wanted
    folder = repository / "snapshots" / commit
    return folder if commit and folder.is_dir() else None


def is_hub_name(name: str) -> bool:
    """True if a text may be the name of a repository on the Hub."""
    return bool(re.fullmatch(r"[\w-][\w.-]*(/[\w.-]+)?", name)) and ".." not in name
