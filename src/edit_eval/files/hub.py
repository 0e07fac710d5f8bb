"""Gets files from the Hugging Face Hub: from the cache on this machine, or else by download.

`huggingface_hub` does all of it, so that `HF_ENDPOINT`, `HF_HOME`, `HF_HUB_OFFLINE` and `HF_TOKEN` have their usual
meaning. A file enters its cache only when it is complete.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from edit_eval.errors import ConfigurationError, EditEvalError, Stopped
from edit_eval.files.addresses import is_address
from edit_eval.text import Text

_ADDRESS = re.compile(r"(?:hub:|hf://datasets/)([\w.-]+/[\w.-]+)(?:@([^/@\s]+))?(?:/(.+))?")
_SHORT_COMMIT = re.compile(r"[0-9a-f]{7,39}")
_PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")
_NOT_LOADED = ("*.h5", "*.msgpack", "*.ot", "*.onnx*", "onnx/*", "*.gguf", "*.tflite", "original/*", "*.md", "*.pdf")
_UNWRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOTDIR, errno.EEXIST)
_SOON = 1.0
"""Seconds after which a download shows its progress: files in the cache show nothing."""


@dataclass(frozen=True)
class Repository:
    """A repository at a revision."""

    name: str
    revision: str | None = None
    """A branch, a tag, or a commit, of which the first seven digits are enough; None: `main`."""
    kind: Literal["dataset", "model"] = "dataset"

    def __str__(self) -> str:
        return f"{self.name}@{self.revision}" if self.revision else self.name

    def command(self, wanted: Sequence[str] = ("*",)) -> str:
        """Returns the command that downloads it by hand: for a data set, only files of the `wanted` patterns."""
        kind = " --repo-type dataset" if self.kind == "dataset" else ""
        revision = f" --revision {self.revision}" if self.revision else ""
        chosen = [f' --include "{pattern}"' for pattern in wanted if pattern != "*"] if self.kind == "dataset" else []
        return f"hf download {self.name}{kind}{revision}{''.join(chosen)}"


def local_path(data_path: str, wanted: Sequence[str] = ("*",), key: str = "benchmark.data_path") -> Path:
    """Returns the absolute file or folder of `data_path`; for an address on the hub, its place in the hub's cache.

    An address is `hub:OWNER/NAME`, optionally with `@REVISION` and with `/PATH` of a file or folder in it;
    `hf://datasets/...` is the same. `wanted` are the patterns (`*.parquet`) of the files to download. A local path is
    not checked. Raises like `snapshot`, and `ConfigurationError` for a bad address; errors begin with `key`.
    """
    if not is_address(data_path):
        return Path(data_path).expanduser().absolute()
    match = _ADDRESS.fullmatch(data_path)
    if match is None or ".." in (*data_path.split("/"), match[1].partition("/")[0]):
        raise ConfigurationError(Text("{}: {!r} is not a Hub address; write hub:OWNER/NAME@REVISION", key, data_path))
    name, revision, path = match.groups()
    folder = snapshot(Repository(name, revision), [path, f"{path}/*"] if path else wanted, key)
    if path and not (folder / path).exists():
        raise ConfigurationError(Text("{}: {} does not contain {}", key, Repository(name, revision), path))
    return folder / path if path else folder


def snapshot(repository: Repository, wanted: Sequence[str], key: str, ignored: Sequence[str] = ()) -> Path:
    """Returns the folder of a repository at its revision in the hub's cache, with all files of the `wanted` patterns.

    Missing files are downloaded, with progress on a terminal. Raises `ConfigurationError` for a repository or a
    revision that is missing, not accessible, or neither cached nor reachable, and `Stopped` for a hub that fails, or a
    full disk; errors begin with `key`.
    """
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.utils import tqdm
    except ImportError as error:
        raise ConfigurationError(
            Text("{}: the hub needs huggingface_hub; `pip install 'edit-eval[hub]'` brings it", key)
        ) from error

    class Late(tqdm):  # type: ignore[misc]
        def __init__(self, *arguments: Any, **named: Any) -> None:
            super().__init__(*arguments, **{"delay": _SOON, **named})

    try:
        return Path(
            snapshot_download(
                repository.name,
                repo_type=repository.kind,
                revision=_whole_commit(repository),
                allow_patterns=list(wanted),
                ignore_patterns=list(ignored) or None,
                tqdm_class=Late,
            )
        )
    except Exception as error:  # raised by the library, its HTTP client, or the disk
        raise _explain_failure(repository, error, key, repository.command(wanted)) from error


def fetch_model(repository: Repository, key: str) -> Path:
    """Returns the folder of a model's files in the hub's cache, all that loading reads: safetensors if there are any.

    For a diffusers pipeline, the folders of its parts. Raises like `snapshot`.
    """
    folder, wanted = snapshot(repository, ["model_index.json"], key), ["*"]
    with contextlib.suppress(OSError, ValueError):
        index = json.loads((folder / "model_index.json").read_text(encoding="utf-8"))
        parts = [part for part, classes in index.items() if isinstance(classes, list) and any(classes)]
        wanted = ["model_index.json", *(f"{part}/*" for part in parts)]
    folder = snapshot(repository, wanted, key, ignored=[*_PICKLES, *_NOT_LOADED])
    if not any(folder.rglob("*.safetensors")):
        folder = snapshot(repository, wanted, key, ignored=_NOT_LOADED)
    return folder


def _whole_commit(repository: Repository) -> str | None:
    """Returns the revision; a short commit is completed from the cache, or by the hub, which takes only full ones."""
    from huggingface_hub import HfApi, constants

    short, name = repository.revision, repository.name.replace("/", "--")
    if not short or not _SHORT_COMMIT.fullmatch(short):
        return short
    folder = Path(constants.HF_HUB_CACHE) / f"{repository.kind}s--{name}" / "snapshots"
    ids = [path.name for path in folder.glob(f"{short}*")]
    if not ids:
        try:
            newest = HfApi().repo_info(repository.name, repo_type=repository.kind).sha or ""
            if newest.startswith(short):
                return newest
            commits = HfApi().list_repo_commits(repository.name, repo_type=repository.kind)
        except Exception:  # the download will report the error
            return short
        ids = [commit.commit_id for commit in commits if commit.commit_id.startswith(short)]
    return ids[0] if len(ids) == 1 else short


def _explain_failure(repository: Repository, error: Exception, key: str, by_hand: str) -> EditEvalError:
    from huggingface_hub import constants, errors

    not_here = isinstance(error, errors.LocalEntryNotFoundError)
    response = getattr(error.__cause__ if not_here else error, "response", None)
    status = getattr(response, "status_code", None)
    what = Text("data set") if repository.kind == "dataset" else Text("model")
    if isinstance(error, errors.GatedRepoError):
        text = Text(
            "{} needs an account: accept its terms at {}, then `hf auth login`", repository.name, constants.ENDPOINT
        )
        return ConfigurationError(Text("{}: {}", key, text))
    if isinstance(error, errors.RepositoryNotFoundError) or status in (401, 403):
        text = Text(
            "{} has no {} {}, or denies you access ({})", constants.ENDPOINT, what, repository.name, status or 404
        )
        return ConfigurationError(Text("{}: {}: is the name right? A private one needs `hf auth login`", key, text))
    if isinstance(error, errors.RevisionNotFoundError) and repository.revision:
        text = Text(
            "{} has no revision {}: it may have been deleted; leave it out for the newest",
            repository.name,
            repository.revision,
        )
        return ConfigurationError(Text("{}: {}", key, text))
    unnamed = (errors.HFValidationError, errors.RevisionNotFoundError)
    if isinstance(error, unnamed) or type(error) is ValueError:  # the name of the repository, or of a file in it
        return ConfigurationError(Text("{}: {} {} cannot be downloaded ({})", key, what, repository, _one_line(error)))
    if isinstance(error, OSError) and error.errno in _UNWRITABLE:
        return ConfigurationError(
            Text(
                "{}: the cache {} cannot be written ({}): set HF_HOME to a writable folder",
                key,
                constants.HF_HUB_CACHE,
                error.strerror,
            )
        )
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return Stopped(
            Text("{}: the disk is full: {} does not fit into {} (HF_HOME)", key, repository, constants.HF_HUB_CACHE)
        )
    if status is not None or not not_here:
        why = Text("it answers {}", status) if status else _one_line(error)
        text = Text(
            "{} did not send all of {} ({}); complete files are kept, so run it again",
            constants.ENDPOINT,
            repository,
            why,
        )
        return Stopped(Text("{}: {}, or download it by hand: `{}`", key, text, by_hand))
    variable = "TRANSFORMERS_OFFLINE" if os.environ.get("TRANSFORMERS_OFFLINE") else "HF_HUB_OFFLINE"
    reason = (
        Text("{} forbids asking", variable)
        if constants.HF_HUB_OFFLINE
        else Text("{} cannot be reached", constants.ENDPOINT)
    )
    part = Text("only partly in") if "Incomplete" in type(error).__name__ else Text("not in")
    give = Text("its folder as data_path") if repository.kind == "dataset" else Text("its folder as model_name")
    return ConfigurationError(
        Text(
            "{}: {} is {} the cache {}, and {}: on a machine with a network, run `edit-eval fetch "
            "CONFIG` with the same HF_HOME, or `{} --local-dir DIR` and give {}",
            key,
            repository,
            part,
            constants.HF_HUB_CACHE,
            reason,
            by_hand,
            give,
        )
    )


def _one_line(error: Exception) -> str:
    return Text("{}: {}", type(error).__name__, " ".join(str(error).split())[:200])
