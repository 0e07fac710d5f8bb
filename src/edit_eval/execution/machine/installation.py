"""Making environments: with uv where there is one, with Python's own venv and pip otherwise.

What a model of edit-eval's own needs is said once, in the metadata: the extra `diffusers`, and the bound of Pillow.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from edit_eval.errors import ConfigurationError
from edit_eval.execution.contract import WorkerSpecification
from edit_eval.privacy import hide_secrets
from edit_eval.text import Text

PACKAGES = {
    "edit": ("pillow", "torch", "diffusers", "transformers", "accelerate", "safetensors", "peft", "ftfy"),
    "judge": ("pillow", "torch", "transformers", "accelerate", "safetensors"),
}
"""What `edit-eval env create DIR --for KIND` installs."""

EXTRAS = ("diffusers", "openai", "metrics")
"""Extras of edit-eval that models need."""

PACKAGE_OF = {"PIL": "pillow", "cv2": "opencv-python-headless", "sklearn": "scikit-learn", "skimage": "scikit-image"}
"""The package that brings a module of another name."""

PIP_SETTING = re.compile(r"^(?P<section>global|install|:env:)\.(?P<key>find-links|index-url)=(?P<value>.+)$")


def bounds() -> dict[str, str]:
    """The requirement of each package that edit-eval or its models need, by name: `{"torch": "torch>=2.6", ...}`.

    Read from the installed package's metadata. Raises `ConfigurationError` where edit-eval is not installed.
    """
    return {name: requirement for name, (requirement, _) in _needed().items()}


def _needed() -> dict[str, tuple[str, str]]:
    """The same, each with the first extra that brings it; empty for what edit-eval itself needs."""
    try:
        lines = metadata.requires("edit-eval") or []
    except metadata.PackageNotFoundError:
        raise ConfigurationError(
            Text("edit-eval is not installed as a package, so its requirements are unknown")
        ) from None
    found: dict[str, tuple[str, str]] = {}
    for line in lines:
        requirement, _, marker = (part.strip() for part in line.partition(";"))
        name = re.match(r"[\w.-]+", requirement)
        extra = re.search(r"extra\s*==\s*['\"](\w+)['\"]", marker)
        if name and (not marker or (extra and extra[1] in EXTRAS)):
            found.setdefault(name[0].lower(), (requirement, extra[1] if extra else ""))
    return found


def requirements_for(kind: str) -> list[str]:
    """What an environment for an edit model (`edit`) or a judge (`judge`) needs. Raises `ConfigurationError`."""
    if kind not in PACKAGES:
        raise ConfigurationError(Text("--for {}: an environment is made for {: or }", kind, PACKAGES))
    known = bounds()
    return [known.get(name, name) for name in PACKAGES[kind]]


def find_uv() -> str | None:
    """The program `uv`: on the PATH, or beside this interpreter."""
    beside = Path(sys.executable).with_name("uv")
    return shutil.which("uv") or (str(beside) if os.access(beside, os.X_OK) else None)


def install_command(python: str, packages: Sequence[str], has_pip: bool) -> str:
    """The command that a person types to install `packages` for the interpreter `python`."""
    program = f"{python} -m pip install" if has_pip else f"uv pip install --python {python}"
    return " ".join([program, *(f"'{p}'" if re.search(r"[][<>=! ]", p) else p for p in packages)])


def install_line(python: str, modules: Sequence[str], has_pip: bool) -> str:
    """The same for `modules` that are missing there: the extra of edit-eval where that brings them and is at home."""
    try:
        needed = _needed()
    except ConfigurationError:
        needed = {}
    packages = []
    for module in modules:
        package = PACKAGE_OF.get(module, module.replace("_", "-"))
        requirement, extra = needed.get(package, (package, ""))
        at_home = extra and Path(python) == Path(sys.executable)
        packages.append(f"edit-eval[{extra}]" if at_home else requirement)
    return install_command(shlex.quote(python), list(dict.fromkeys(packages)), has_pip)


def with_install_line(broken: dict[str, Any], specification: WorkerSpecification) -> dict[str, Any]:
    """A worker's `broken`, with what is to be done in its `error` where a module is missing in its environment."""
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
    """Makes a virtual environment at `folder`, or goes on with one, and returns its interpreter.

    `python` is the interpreter it is made from (default: this one). `shown` lets the installer speak to the terminal.
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
    """pip's `find-links` and `index-url` as variables for uv, which does not read pip's configuration.

    What the user has set for uv stays as it is. A folder that is not there is left out: pip warns of it, uv would stop.
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
    """pip's own view of its configuration files and variables; empty where there is no pip."""
    for pip in ([sys.executable, "-m", "pip"], [shutil.which("pip") or "pip"]):
        try:
            done = subprocess.run([*pip, "config", "list"], capture_output=True, text=True, timeout=60)
        except (OSError, subprocess.SubprocessError):
            continue
        if done.returncode == 0:
            return _read_pip_settings(done.stdout)
    return {}


def _read_pip_settings(text: str) -> dict[str, str]:
    """The values that `pip install` would use: a variable counts more than its own section, that more than `global`."""
    found: dict[tuple[str, str], str] = {}
    for match in filter(None, (PIP_SETTING.match(line.strip()) for line in text.splitlines())):
        try:
            value = str(ast.literal_eval(match["value"]))
        except (ValueError, SyntaxError):
            value = match["value"]
        found[match["section"], match["key"]] = value
    order = ("global", "install", ":env:")
    return {key: value for (_, key), value in sorted(found.items(), key=lambda one: order.index(one[0][0]))}
