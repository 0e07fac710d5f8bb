"""`edit-eval push`: publishes a run as a data set on the Hugging Face Hub."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edit_eval.errors import ConfigurationError, EditEvalError, Stopped
from edit_eval.json_values import JsonObject
from edit_eval.plugins.leaderboard.pushed_run import FILE, encode_run
from edit_eval.plugins.push.card import MARK, card
from edit_eval.plugins.push.rows import Written, write_rows
from edit_eval.records import Results
from edit_eval.reporting.documents import encode_document
from edit_eval.run import Run
from edit_eval.store.run_directory import RunDirectory
from edit_eval.text import Text

_NAME = re.compile(r"[\w.-]{1,96}/[\w.-]{1,96}", re.ASCII)


@dataclass(frozen=True)
class Pushed:
    """A data set that was sent, or would be."""

    repository: str
    address: str
    """Address of its page; empty if nothing was sent."""
    files: dict[str, int]
    """Sizes in bytes by path."""
    rows: int
    notes: tuple[str, ...]

    @property
    def bytes(self) -> int:
        """Size of all files."""
        return sum(self.files.values())

    def as_plain(self) -> JsonObject:
        """Returns plain data for JSON."""
        return {
            "repository": self.repository,
            "sent": bool(self.address),
            "address": self.address,
            "files": self.files,
            "bytes": self.bytes,
            "rows": self.rows,
            "notes": list(self.notes),
        }


def push(
    run: Run,
    repository: str,
    *,
    private: bool = False,
    images: bool = True,
    sources: bool = False,
    dry_run: bool = False,
    tell: Callable[[str], None] = lambda line: None,
) -> Pushed:
    """Publishes the run's current state as the data set `OWNER/NAME`, in one commit; returns what was sent.

    Without `images`, sends only texts and numbers. Source pictures are included if the benchmark's licence allows it,
    or with `sources`. With `dry_run`, the Hub is not contacted. After a failure, the next try does not upload the same
    files again, since a run always gives the same bytes.

    Raises `ConfigurationError` for anything that would be refused, and `Stopped` if the Hub or the disk fails.
    """
    if not _NAME.fullmatch(repository):
        raise ConfigurationError(Text("{}: not a repository's name; write OWNER/NAME", repository))
    try:
        import pyarrow  # noqa: F401
        from huggingface_hub import HfApi, constants
    except ImportError as error:
        raise ConfigurationError(
            Text("push needs pyarrow and huggingface_hub: `pip install 'edit-eval[hub]'`")
        ) from error
    results = run.results
    if RunDirectory(run.path).is_held():
        raise ConfigurationError(Text("{} is still at work; push it when it has ended", run.path))
    api = HfApi()
    if not dry_run:
        if constants.HF_HUB_OFFLINE:
            raise ConfigurationError(Text("HF_HUB_OFFLINE forbids asking the Hub; unset it, or use --dry-run"))
        if api.token is None and _token() is None:
            raise ConfigurationError(Text("push needs a token that may write: set HF_TOKEN, or `hf auth login`"))
        _refuse_what_is_there(api, repository, private)
    licence = _sources_licence(results)
    with_sources = images and bool(sources or licence)
    try:
        with tempfile.TemporaryDirectory(prefix="edit-eval-push-") as name:
            folder = Path(name)
            written = write_rows(run.path, results, folder, images=images, sources=with_sources)
            text = card(repository, results, run.summary, licence=licence, images=images, sources=with_sources)
            (folder / "README.md").write_text(text, "utf-8", "backslashreplace")
            (folder / "summary.json").write_text(encode_document(run.summary), "utf-8")
            (folder / FILE).write_text(
                json.dumps(encode_run(run), ensure_ascii=False, allow_nan=False), "utf-8", "backslashreplace"
            )
            passports = sorted((run.path / "passports").glob("*.json"))
            if passports:
                (folder / "passports").mkdir()
            for passport in passports:
                shutil.copyfile(passport, folder / "passports" / passport.name, follow_symlinks=False)
            paths = sorted(path for path in folder.rglob("*") if path.is_file())
            files = {path.relative_to(folder).as_posix(): path.stat().st_size for path in paths}
            notes = tuple(_notes(run, written, images=images, sources=with_sources, asked=sources))
            address = ""
            if not dry_run:
                for note in notes:
                    tell(note)
                address = _send(api, repository, folder, private)
            return Pushed(repository, address, files, written.rows, notes)
    except OSError as error:
        raise Stopped(
            Text("{}: {}; TMPDIR names another folder", tempfile.gettempdir(), error.strerror or error)
        ) from error


def _token() -> str | None:
    from huggingface_hub import get_token

    return str(get_token() or "") or None


def _notes(run: Run, written: Written, *, images: bool, sources: bool, asked: bool) -> list[str]:
    notes: list[str] = []
    if not run.has_required_coverage:
        notes.append(Text("the run is not complete; what is missing is null"))
    if images and not sources:
        said = run.results.about.get("licence") or "unknown"
        notes.append(
            Text(
                "source pictures are left out: their licence ({}) is not known to allow it; `--sources`, if you may",
                said,
            )
        )
    if sources and written.sources < written.rows:
        notes.append(Text("{} rows without a source: it is not in your cache", written.rows - written.sources))
    if written.lost:
        notes.append(Text("{} edits without a picture: its file is not in the run", written.lost))
    return notes


def _refuse_what_is_there(api: Any, repository: str, private: bool) -> None:
    """Raises `ConfigurationError` if the name is taken by something else."""
    from huggingface_hub import errors

    try:
        there = api.repo_info(repository, repo_type="dataset")
    except errors.RepositoryNotFoundError as error:
        if _status(error) == 401 and not isinstance(error, errors.GatedRepoError):
            _refuse_a_bad_token(api)
        try:
            api.repo_info(repository, repo_type="model")
        except Exception:
            return
        raise ConfigurationError(Text("{} is a model; give the data set a name of its own", repository)) from None
    except Exception as error:
        raise _explain_failure(repository, error) from error
    names = {file.rfilename for file in there.siblings or ()} - {".gitattributes", "README.md"}
    if names and MARK not in (there.tags or ()) and "summary.json" not in names:
        raise ConfigurationError(Text("{} holds another data set; give this one a name of its own", repository))
    if private and there.private is False:
        raise ConfigurationError(
            Text("{} is public already; change that in its settings, or use another name", repository)
        )


def _refuse_a_bad_token(api: Any) -> None:
    from huggingface_hub import constants

    try:
        api.whoami()
    except Exception as error:
        if _status(error) in (401, 403):
            raise ConfigurationError(
                Text("{} does not accept your token: is HF_TOKEN right?", constants.ENDPOINT)
            ) from None


def _send(api: Any, repository: str, folder: Path, private: bool) -> str:
    """Sends everything in one commit, so that readers never see a mix of two runs; `upload_folder` may make several."""
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    try:
        api.create_repo(repository, repo_type="dataset", private=private or None, exist_ok=True)
        files = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
        there = api.list_repo_files(repository, repo_type="dataset")
        gone = [name for name in there if name.startswith(("data/", "passports/")) and name not in files]
        api.create_commit(
            repository,
            [
                *(CommitOperationAdd(name, str(path)) for name, path in files.items()),
                *(CommitOperationDelete(name) for name in gone),  # files no longer in the run
            ],
            commit_message="A run of edit-eval",
            repo_type="dataset",
        )
    except Exception as error:  # the library's errors, its HTTP client's, and the disk's
        raise _explain_failure(repository, error) from error
    return f"{api.endpoint}/datasets/{repository}"


def _status(error: Exception) -> int | None:
    return getattr(getattr(error, "response", None), "status_code", None)


def _explain_failure(repository: str, error: Exception) -> EditEvalError:
    from huggingface_hub import constants, errors

    status, hub = _status(error), constants.ENDPOINT
    if status == 401:
        return ConfigurationError(Text("{} does not accept your token for {}: is HF_TOKEN right?", hub, repository))
    if status == 403:
        return ConfigurationError(
            Text("{}: your token may not write to {}: it needs the permission `write`", hub, repository)
        )
    if status == 404 or isinstance(error, errors.RepositoryNotFoundError):
        return ConfigurationError(Text("{} has no {}, and you cannot make it: is the owner right?", hub, repository))
    if status is not None:
        return Stopped(Text("{} answers {}; what was sent is kept: run it again", hub, status))
    words = " ".join([f"{type(error).__name__}:", *str(error).split()])[:200]
    return Stopped(Text("{} cannot be reached ({}); what was sent is kept: run it again", hub, words))


_LICENCES = frozenset(
    [
        "mit",
        "apache-2.0",
        "cc0-1.0",
        "cc-by-4.0",
        "cc-by-3.0",
        "cc-by-2.0",
        "cc-by-sa-4.0",
        "cc-by-sa-3.0",
        "cc-by-nc-4.0",
        "cc-by-nc-sa-4.0",
        "cc-by-nd-4.0",
        "cc-by-nc-nd-4.0",
        "odc-by",
        "pddl",
    ]
)
"""Licences that allow sharing, as SPDX identifiers in lower case, which are also the Hub's names. With another licence,
or one with a condition attached (as MagicBrush's), a benchmark's pictures are not sent."""

_DRAWN = ("scenes", "ladder")
"""Benchmarks whose pictures edit-eval draws itself."""


def _sources_licence(results: Results) -> str:
    """Returns the Hub's name of a licence that allows sharing the sources; empty if none is known."""
    benchmark = results.configuration.get("benchmark")
    if isinstance(benchmark, dict) and benchmark.get("type") in _DRAWN:
        return "apache-2.0"
    licence = str(results.about.get("licence", "")).strip().lower()
    return licence if licence in _LICENCES else ""
