"""Environments: the interpreter in which a model runs, and what of ours it is given there.

A model's environment needs Python 3.10 or newer, Pillow, and the model's own libraries; nothing of ours. What runs
beside a model travels as a zip of exactly the layers from `workers` down.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

import edit_eval
from edit_eval.config.faults import did_you_mean
from edit_eval.config.schema import ModelSection
from edit_eval.errors import ConfigurationError
from edit_eval.execution.machine.installation import make_environment, requirements_for
from edit_eval.pictures import write_durably
from edit_eval.text import Text, joined
from edit_eval.user_cache import cache_folder

LAYERS = ("workers", "testing", "edit_models", "judges", "benchmarks", "scenes", "endpoints", "pretrained")
FILES = (
    "__init__.py",
    "errors.py",
    "privacy.py",
    "text.py",
    "records.py",
    "pictures.py",
    "small_copies.py",
    "user_cache.py",
    "hub.py",
)
START = """import sys
sys.path[:] = [sys.argv.pop(1)] + [p for p in sys.path if p]
try:
    from edit_eval.workers.process import main
except ModuleNotFoundError as error:
    from edit_eval.workers.failures import tell
    tell(error, int(sys.argv[2]))
main(sys.argv[1:])
"""

Say = Callable[[str], None]


def say(text: str) -> None:
    """Tells whoever is waiting why."""
    print(text, file=sys.stderr, flush=True)


# -- what a worker is given --


def worker_command(python: str) -> list[str]:
    """The command that starts a worker in the environment of `python`; two descriptors are to follow."""
    return [python, "-c", START, import_path(python)]


def import_path(python: str) -> str:
    """Where the interpreter `python` finds the layers that run beside a model: our own folder, or the zip."""
    if Path(python) == Path(sys.executable):
        return str(Path(edit_eval.__file__).parents[1])
    return str(layers_zip())


def layers_zip() -> Path:
    """The zip of the layers that run beside a model, in the user's cache, named by its content.

    Raises `ConfigurationError` where the cache cannot be written.
    """
    data, name = _archive()
    target = cache_folder() / "workers" / name
    try:
        if not target.exists() or target.stat().st_size != len(data):
            write_durably(data, target)
    except OSError as error:
        raise ConfigurationError(
            Text(
                "{} cannot be written ({}), and a worker in another environment needs a file there; "
                "set XDG_CACHE_HOME to a writable folder",
                target.parent,
                error.strerror,
            )
        ) from error
    return target


def layers_digest() -> str:
    """By which the layers that run beside a model are known: the same wherever they are the same."""
    return _archive()[1].partition(".")[0]


@cache
def _archive() -> tuple[bytes, str]:
    """The zip's bytes, and its name."""
    root = Path(edit_eval.__file__).parent
    chosen = [root / name for name in FILES] + [p for layer in LAYERS for p in sorted((root / layer).rglob("*.py"))]
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in chosen:
            entry = zipfile.ZipInfo(str(Path("edit_eval") / path.relative_to(root)))  # the same time for all
            archive.writestr(entry, path.read_bytes())
    data = content.getvalue()
    return data, f"{hashlib.sha256(data).hexdigest()[:16]}.zip"


# -- which interpreter --


def interpreter(section: ModelSection, note: Say = say) -> str:
    """The interpreter that a model's `python`, `conda_env` or `uv` names; empty for this one.

    An environment of `uv` requirements is made if it is not there, which `note` is told. Raises `ConfigurationError`,
    with the key, when there is no such interpreter.
    """
    ways: dict[str, Callable[[Any], str]] = {
        "python": named_interpreter,
        "conda_env": conda_interpreter,
        "uv": lambda requirements: uv_interpreter(requirements, note),
    }
    for key, find in ways.items():
        if wanted := getattr(section.placement, key):
            try:
                return find(wanted)
            except ConfigurationError as error:
                raise ConfigurationError(Text("{}: {}", section.named(key), error)) from error
    return ""


def named_interpreter(python: str) -> str:
    """The interpreter at a path, or of that name on the PATH. Raises `ConfigurationError`."""
    found = shutil.which(os.path.expanduser(python))
    if not found:
        there = Text("cannot be run") if Path(python).expanduser().exists() else Text("is not there")
        raise ConfigurationError(Text("{} {}; give the path of an interpreter", python, there))
    return str(Path(found).absolute())  # no link is followed: a virtual environment's interpreter is one


def conda_interpreter(name: str) -> str:
    """The interpreter of a conda environment, by its name or its folder. `conda run` would lose the pipes.

    conda, mamba and micromamba are asked, whether they are on the PATH or only in `CONDA_EXE` and `MAMBA_EXE` (where
    they are functions of a shell). Raises `ConfigurationError`.
    """
    if "/" in name:
        return _python_of(Path(name).expanduser().absolute())
    named = [os.environ.get("CONDA_EXE", ""), os.environ.get("MAMBA_EXE", ""), "conda", "mamba", "micromamba"]
    programs = dict.fromkeys(found for program in named if program and (found := shutil.which(program)))
    if not programs:
        raise ConfigurationError(
            Text(
                "{}: neither conda nor mamba nor micromamba is on the PATH; write `python: "
                "FOLDER/bin/python` with the environment's folder instead",
                name,
            )
        )
    known: dict[Path, Path] = {}
    failures = []
    for program in programs:
        try:
            known |= {folder.resolve(): folder for folder in _conda_environments(program)}
        except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError) as error:
            failures.append(Text("`{} env list --json` failed: {: }", program, str(error).split()))
    matches = [folder for folder in known.values() if folder.name == name]
    if name == "base":
        matches = matches or [folder for folder in known.values() if folder.parent.name != "envs"]
    if len(matches) > 1:
        folders = joined(map(str, matches), " and ")
        raise ConfigurationError(Text("{} is the name of {}; give the folder instead of the name", name, folders))
    if matches:
        return _python_of(matches[0])
    if not known and failures:
        raise ConfigurationError(Text("{}: {}", name, failures[0]))
    names = [folder.name for folder in known.values()]
    meant = did_you_mean(name, names) or Text("; there are: {}", ", ".join(names) or "none")
    raise ConfigurationError(Text("there is no environment `{}`{}", name, meant))


def _conda_environments(program: str) -> list[Path]:
    done = subprocess.run(
        [program, "env", "list", "--json"], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL
    )
    if done.returncode:
        raise ValueError(done.stderr.strip() or Text("exit code {}", done.returncode))
    listed = json.loads(done.stdout[done.stdout.find("{") :])  # some versions put a warning in front
    return [Path(folder) for folder in listed["envs"]]


def _python_of(folder: Path) -> str:
    python = folder / "bin" / "python"
    if not os.access(python, os.X_OK):
        there = (
            Text("holds no Python (`conda install python` installs it)") if folder.is_dir() else Text("is not there")
        )
        raise ConfigurationError(Text("{} {}", folder, there))
    return str(python)


# -- environments that we make --


def uv_folder(requirements: Sequence[str]) -> Path:
    """Where the environment with these requirements lies, made or not."""
    key = json.dumps([sys.version_info[:2], list(requirements)])
    return cache_folder() / "environments" / hashlib.sha256(key.encode()).hexdigest()[:16]


def uv_is_made(folder: Path) -> bool:
    """Whether the environment at `folder` is complete; a partial one has no such mark."""
    return (folder / "complete").exists() and (folder / "bin" / "python").exists()


def uv_interpreter(requirements: Sequence[str], note: Say = say) -> str:
    """The interpreter of an environment with these requirements, made once for each list of them.

    Two processes may ask at once: one makes it, the other waits. What was left half made is made anew. Raises
    `ConfigurationError` with the installer's own words.
    """
    folder = uv_folder(requirements)
    if uv_is_made(folder):
        return str(folder / "bin" / "python")
    names = ", ".join(requirements)
    with _alone(folder, lambda: note(Text("waiting for another process to make the environment for {}", names))):
        if not uv_is_made(folder):
            shutil.rmtree(folder, ignore_errors=True)
            note(Text("making the environment for {} (only once): {}", names, folder))
            pillow = any(r.lower().startswith("pillow") for r in requirements)
            try:
                make_environment(folder, [*requirements, *([] if pillow else ["pillow"])])
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
            (folder / "complete").touch()
    return str(folder / "bin" / "python")


@contextmanager
def _alone(folder: Path, when_waiting: Callable[[], None]) -> Iterator[None]:
    """Holds all other processes of this user off `folder`."""
    lock = FileLock(f"{folder}.lock")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=1)
        except Timeout:
            when_waiting()
            lock.acquire()
    except OSError as error:
        raise ConfigurationError(
            Text("{} cannot be written ({}); set XDG_CACHE_HOME to a writable folder", folder.parent, error.strerror)
        ) from error
    try:
        yield
    finally:
        lock.release()


def create_environment(
    folder: Path, kind: str, *, constraints: Sequence[Path] = (), python: str = "", shown: bool = False
) -> str:
    """Makes an environment for an edit model (`edit`) or a judge (`judge`); returns its line for the YAML's `params`.

    One that is there is gone on with. `constraints` are files as `pip install -c` takes them, `python` is the
    interpreter it is made from (default: this one), `shown` lets the installer speak to the terminal. Raises
    `ConfigurationError`.
    """
    requirements = requirements_for(kind)
    for path in constraints:
        if not path.is_file():
            raise ConfigurationError(Text("--constraint {}: no such file", path))
    folder = folder.expanduser().absolute()
    if folder.exists() and not (folder / "pyvenv.cfg").is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigurationError(Text("{} already exists and is not an environment; give a new folder", folder))
    made = make_environment(folder, requirements, constraints=constraints, python=python, shown=shown)
    return f"python: {made if _is_plain(made) else json.dumps(made, ensure_ascii=False)}"


def _is_plain(text: str) -> bool:
    """Whether YAML reads the text as it stands."""
    return not any(sign in text for sign in (": ", " #", '"', "'", "\n")) and not text.endswith(":")
