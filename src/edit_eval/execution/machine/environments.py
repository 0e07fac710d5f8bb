"""Environments: finds or makes the interpreter in which a model runs, and gives it our files.

A model's environment needs Python 3.10 or newer, Pillow, and the model's own libraries; nothing of ours. The code that
runs beside a model travels as a zip of exactly the layers from `workers` down.
"""

from __future__ import annotations

import ast
import hashlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

import edit_eval
from edit_eval.config.faults import did_you_mean
from edit_eval.config.schema import ModelSection
from edit_eval.errors import ConfigurationError
from edit_eval.execution.contract import WorkerSpecification
from edit_eval.files.durable import write_durably
from edit_eval.files.user_cache import cache_folder
from edit_eval.privacy import hide_secrets
from edit_eval.text import Text, join_texts
from edit_eval.workers.messages import Message

LAYERS = ("workers", "edit_models", "judges", "benchmarks", "endpoints", "pretrained", "files")
IN_WORKER = "in_worker"
"""Folder of a plug-in that runs beside a model, too."""
FILES = (
    "__init__.py",
    "errors.py",
    "privacy.py",
    "json_values.py",
    "text.py",
    "records.py",
    "masks.py",
    "pictures.py",
    "small_copies.py",
)
START = """import sys
sys.path[:] = [sys.argv.pop(1)] + [p for p in sys.path if p]
try:
    from edit_eval.workers.process import main
except ModuleNotFoundError as error:
    from edit_eval.workers.failures import report_missing_import
    report_missing_import(error, int(sys.argv[2]))
main(sys.argv[1:])
"""

Say = Callable[[str], None]


def say(text: str) -> None:
    """Tells the user why they are waiting."""
    print(text, file=sys.stderr, flush=True)


# -- a worker's command --


def worker_command(python: str) -> list[str]:
    """Returns the command that starts a worker in the environment of `python`; append two descriptors."""
    return [python, "-c", START, import_path(python)]


def import_path(python: str) -> str:
    """Returns where the interpreter `python` finds the layers that run beside a model: our own folder, or the zip."""
    if Path(python) == Path(sys.executable):
        return str(Path(edit_eval.__file__).parents[1])
    return str(layers_zip())


def layers_zip() -> Path:
    """Returns the zip of the layers that run beside a model, in the user's cache, named by its content.

    Raises `ConfigurationError` if the cache cannot be written.
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
    """Returns a digest of the layers that run beside a model, equal on all machines that have the same layers."""
    return _archive()[1].partition(".")[0]


def list_worker_files(root: Path) -> list[Path]:
    """Returns the files of our package in `root` that run beside a model: some layers, and of plug-ins what says so."""
    layers = [path for layer in LAYERS for path in sorted((root / layer).rglob("*.py"))]
    beside = [path for folder in sorted(root.glob(f"plugins/*/{IN_WORKER}")) for path in sorted(folder.rglob("*.py"))]
    above = {folder / "__init__.py" for path in beside for folder in list(path.parents)[1:3]}
    return [*(root / name for name in FILES), *layers, *beside, *sorted(above - {*beside})]


@cache
def _archive() -> tuple[bytes, str]:
    """Returns the zip's bytes, and its name."""
    root = Path(edit_eval.__file__).parent
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in list_worker_files(root):
            entry = zipfile.ZipInfo(str(Path("edit_eval") / path.relative_to(root)))  # the same time for all
            archive.writestr(entry, path.read_bytes())
    data = content.getvalue()
    return data, f"{hashlib.sha256(data).hexdigest()[:16]}.zip"


# -- which interpreter --


def interpreter(section: ModelSection, note: Say = say) -> str:
    """Returns the interpreter that a model's `python`, `conda_env` or `uv` names; empty for this one.

    A missing environment of `uv` requirements is made, which `note` is told. Raises `ConfigurationError`, with the key,
    if there is no such interpreter.
    """
    ways: dict[str, Callable[[Any], str]] = {
        "python": find_interpreter,
        "conda_env": conda_interpreter,
        "uv": lambda requirements: uv_interpreter(requirements, note),
    }
    for key, find in ways.items():
        if wanted := getattr(section.placement, key):
            try:
                return find(wanted)
            except ConfigurationError as error:
                raise ConfigurationError(Text("{}: {}", section.name_of(key), error)) from error
    return ""


def find_interpreter(python: str) -> str:
    """Returns the interpreter at a path, or of that name on the PATH. Raises `ConfigurationError`."""
    path = shutil.which(os.path.expanduser(python))
    if not path:
        there = Text("cannot be run") if Path(python).expanduser().exists() else Text("is not there")
        raise ConfigurationError(Text("{} {}; give the path of an interpreter", python, there))
    return str(Path(path).absolute())  # links are not followed: a virtual environment's interpreter is one


def conda_interpreter(name: str) -> str:
    """Returns the interpreter of a conda environment, by its name or folder. `conda run` would lose the pipes.

    Asks conda, mamba and micromamba, whether on the PATH or only in `CONDA_EXE` and `MAMBA_EXE` (where they are shell
    functions). Raises `ConfigurationError`.
    """
    if "/" in name:
        return _python_of(Path(name).expanduser().absolute())
    named = [os.environ.get("CONDA_EXE", ""), os.environ.get("MAMBA_EXE", ""), "conda", "mamba", "micromamba"]
    programs = dict.fromkeys(path for program in named if program and (path := shutil.which(program)))
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
        folders = join_texts(map(str, matches), " and ")
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
    """Returns the folder for the environment with these requirements, made or not."""
    key = json.dumps([sys.version_info[:2], list(requirements)])
    return cache_folder() / "environments" / hashlib.sha256(key.encode()).hexdigest()[:16]


def uv_is_made(folder: Path) -> bool:
    """True if the environment at `folder` is complete; a partial one lacks the mark."""
    return (folder / "complete").exists() and (folder / "bin" / "python").exists()


def uv_interpreter(requirements: Sequence[str], note: Say = say) -> str:
    """Returns the interpreter of an environment with these requirements, made once for each list of them.

    Two processes may ask at once: one makes it, the other waits. A half-made one is made anew. Raises
    `ConfigurationError` with the installer's own words.
    """
    folder = uv_folder(requirements)
    if uv_is_made(folder):
        return str(folder / "bin" / "python")
    names = ", ".join(requirements)
    with _lock_folder(folder, lambda: note(Text("waiting for another process to make the environment for {}", names))):
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
def _lock_folder(folder: Path, when_waiting: Callable[[], None]) -> Iterator[None]:
    """Locks this user's other processes out of `folder`."""
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


# -- making them: with uv if it is there, otherwise with Python's own venv and pip --
#
# The requirements of edit-eval's own models are stated once, in the metadata: the extra `diffusers`, Pillow's bound.


EXTRAS = ("diffusers", "openai", "metrics")
"""Extras of edit-eval that models need."""

PACKAGE_OF = {"PIL": "pillow", "cv2": "opencv-python-headless", "sklearn": "scikit-learn", "skimage": "scikit-image"}
"""Packages whose modules have another name."""

PIP_SETTING = re.compile(r"^(?P<section>global|install|:env:)\.(?P<key>find-links|index-url)=(?P<value>.+)$")


def bounds() -> dict[str, str]:
    """Returns the requirement of each package that edit-eval or its models need: `{"torch": "torch>=2.6", ...}`.

    Read from the installed package's metadata. Raises `ConfigurationError` if edit-eval is not installed.
    """
    return {name: requirement for name, (requirement, _) in _read_requirements().items()}


def _read_requirements() -> dict[str, tuple[str, str]]:
    """Returns the same, each with the first extra that brings it; empty for edit-eval's own requirements."""
    try:
        lines = metadata.requires("edit-eval") or []
    except metadata.PackageNotFoundError:
        raise ConfigurationError(
            Text("edit-eval is not installed as a package, so its requirements are unknown")
        ) from None
    requirements: dict[str, tuple[str, str]] = {}
    for line in lines:
        requirement, _, marker = (part.strip() for part in line.partition(";"))
        name = re.match(r"[\w.-]+", requirement)
        extra = re.search(r"extra\s*==\s*['\"](\w+)['\"]", marker)
        if name and (not marker or (extra and extra[1] in EXTRAS)):
            requirements.setdefault(name[0].lower(), (requirement, extra[1] if extra else ""))
    return requirements


def find_uv() -> str | None:
    """Returns the program `uv`: on the PATH, or beside this interpreter."""
    beside = Path(sys.executable).with_name("uv")
    return shutil.which("uv") or (str(beside) if os.access(beside, os.X_OK) else None)


def install_command(python: str, packages: Sequence[str], has_pip: bool) -> str:
    """Returns the command that installs `packages` for the interpreter `python`."""
    program = f"{python} -m pip install" if has_pip else f"uv pip install --python {python}"
    return " ".join([program, *(f"'{p}'" if re.search(r"[][<>=! ]", p) else p for p in packages)])


def install_line(python: str, modules: Sequence[str], has_pip: bool) -> str:
    """Returns the same for missing `modules`; in our own environment, edit-eval's extra if that brings them."""
    try:
        needed = _read_requirements()
    except ConfigurationError:
        needed = {}
    packages = []
    for module in modules:
        package = PACKAGE_OF.get(module, module.replace("_", "-"))
        requirement, extra = needed.get(package, (package, ""))
        at_home = extra and Path(python) == Path(sys.executable)
        packages.append(f"edit-eval[{extra}]" if at_home else requirement)
    return install_command(shlex.quote(python), list(dict.fromkeys(packages)), has_pip)


def with_install_line(broken: Message, specification: WorkerSpecification) -> Message:
    """Adds advice to the `error` of a worker's `broken` if its environment lacks a module."""
    module = str(broken.get("lacks") or "")
    if not module:
        return broken
    python, own = specification.python or sys.executable, specification.class_path.rpartition(":")[0]
    if own.partition(".")[0] == module:
        error = Text(
            "{} cannot find the module `{}`; put it beside the configuration, or install it there", python, own
        )
    else:
        error = Text(
            "{} has no {}; install it: {}", python, module, install_line(python, [module], bool(broken.get("pip")))
        )
    return {**broken, "error": error}


def make_environment(
    folder: Path,
    requirements: Sequence[str],
    *,
    constraints: Sequence[Path] = (),
    python: str = "",
    shown: bool = False,
) -> str:
    """Makes a virtual environment at `folder`, or completes an existing one, and returns its interpreter.

    `python` is the interpreter it is made from (default: this one). `shown` lets the installer write to the terminal.
    Raises `ConfigurationError` with the installer's own words.
    """
    made = folder / "bin" / "python"
    base, uv = python or sys.executable, find_uv()
    if uv:
        create = [uv, "venv", "--quiet", "--python", base, str(folder)]
        install = [uv, "pip", "install", "--python", str(made)]
    else:
        create = [shutil.which(base) or base, "-m", "venv", str(folder)]
        install = [str(made), "-m", "pip", "install", "--disable-pip-version-check"]
    variables = {**os.environ, **(uv_variables(os.environ) if uv else {})}
    if not made.exists():
        _run(create, variables, shown)
    constrained = [word for path in constraints for word in ("-c", str(path))]
    _run([*install, *([] if shown else ["--quiet"]), *constrained, *requirements], variables, shown)
    return str(made)


def _run(command: Sequence[str], variables: Mapping[str, str], shown: bool) -> None:
    terminal: Any = sys.stderr if shown and _is_a_file(sys.stderr) else None
    try:
        done = subprocess.run(
            command,
            env=dict(variables),
            stdin=subprocess.DEVNULL,
            stdout=terminal or subprocess.PIPE,
            stderr=terminal or subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    except OSError as error:
        raise ConfigurationError(Text("cannot run {}: {}", command[0], error.strerror or error)) from error
    if done.returncode:
        words = " ".join(hide_secrets(done.stdout or Text("its output is above")).split())
        words = words if len(words) <= 600 else "... " + words[-600:]
        line = " ".join([Path(command[0]).name, *command[1:]])
        raise ConfigurationError(Text("`{}` failed: {}", line, words))


def _is_a_file(stream: object) -> bool:
    try:
        stream.fileno()  # type: ignore[attr-defined]
    except (OSError, AttributeError, ValueError):
        return False
    return True


def uv_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns pip's `find-links` and `index-url` as variables for uv, which does not read pip's configuration.

    The user's own settings for uv stay. A missing folder is left out: pip warns about it, uv would stop.
    """
    settings = _pip_settings()
    variables = {}
    links = [os.path.expanduser(link) for link in settings.get("find-links", "").split()]
    links = [link for link in links if "://" in link or os.path.exists(link)]
    if links and "UV_FIND_LINKS" not in environment:
        variables["UV_FIND_LINKS"] = ",".join(links)
    index = settings.get("index-url", "")
    if index and not {"UV_DEFAULT_INDEX", "UV_INDEX_URL"} & set(environment):
        variables["UV_DEFAULT_INDEX"] = index
    return variables


def _pip_settings() -> dict[str, str]:
    """Returns pip's own view of its configuration files and variables; empty without pip."""
    for pip in ([sys.executable, "-m", "pip"], [shutil.which("pip") or "pip"]):
        try:
            done = subprocess.run([*pip, "config", "list"], capture_output=True, text=True, timeout=60)
        except (OSError, subprocess.SubprocessError):
            continue
        if done.returncode == 0:
            return _read_pip_settings(done.stdout)
    return {}


def _read_pip_settings(text: str) -> dict[str, str]:
    """Returns the values that `pip install` would use: variables win over its own section, and that over `global`."""
    settings: dict[tuple[str, str], str] = {}
    for match in filter(None, (PIP_SETTING.match(line.strip()) for line in text.splitlines())):
        try:
            value = str(ast.literal_eval(match["value"]))
        except (ValueError, SyntaxError):
            value = match["value"]
        settings[match["section"], match["key"]] = value
    order = ("global", "install", ":env:")
    return {key: value for (_, key), value in sorted(settings.items(), key=lambda item: order.index(item[0][0]))}
