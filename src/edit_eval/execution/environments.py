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
import tempfile
import zipfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import edit_eval
from edit_eval.errors import ConfigurationError

LAYERS = ("workers", "testing", "edit_models", "judges", "benchmarks", "pretrained")
FILES = ("__init__.py", "errors.py", "records.py", "pictures.py")
START = (
    "import sys; sys.path[:] = [sys.argv.pop(1)] + [p for p in sys.path if p]; "
    "from edit_eval.workers.process import main; main(sys.argv[1:])"
)


def cache_folder() -> Path:
    """The user's cache for edit-eval."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "edit-eval"


def worker_command(python: str) -> list[str]:
    """The command that starts a worker in the environment of `python`; two descriptors are to follow."""
    if Path(python) == Path(sys.executable):
        return [python, "-c", START, str(Path(edit_eval.__file__).parents[1])]
    return [python, "-c", START, str(layers_zip())]


@cache
def layers_zip() -> Path:
    """The zip of the layers that run beside a model, in the user's cache, named by its content."""
    root = Path(edit_eval.__file__).parent
    chosen = [root / name for name in FILES] + [p for layer in LAYERS for p in sorted((root / layer).rglob("*.py"))]
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in chosen:
            entry = zipfile.ZipInfo(str(Path("edit_eval") / path.relative_to(root)))  # the same time for all
            archive.writestr(entry, path.read_bytes())
    data = content.getvalue()
    target = cache_folder() / "workers" / f"{hashlib.sha256(data).hexdigest()[:16]}.zip"
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=".tmp-")
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.replace(temporary, target)
    return target


def interpreter(python: str | None, conda_env: str | None, uv: Sequence[str]) -> str:
    """The interpreter that the placement keys `python`, `conda_env` and `uv` name; empty for this one.

    Raises `ConfigurationError` when there is none.
    """
    if python:
        found = shutil.which(python) or (python if Path(python).is_file() else None)
        if not found:
            raise ConfigurationError(f"python: {python} is no interpreter")
        return str(Path(found).absolute())
    if conda_env:
        return conda_interpreter(conda_env)
    if uv:
        return uv_interpreter(uv)
    return ""


def conda_interpreter(name: str) -> str:
    """The interpreter of a conda environment, by its name or path. `conda run` would lose the pipes."""
    conda = next((c for c in ("conda", "mamba", "micromamba") if shutil.which(c)), None) or os.environ.get("CONDA_EXE")
    if conda is None:
        raise ConfigurationError(f"conda_env: {name}: no `conda` on the PATH; give `python:` the interpreter's path")
    try:
        done = subprocess.run([conda, "env", "list", "--json"], capture_output=True, text=True, timeout=60, check=True)
        environments = [Path(p) for p in json.loads(done.stdout)["envs"]]
    except (OSError, subprocess.SubprocessError, ValueError, KeyError) as error:
        raise ConfigurationError(f"conda_env: {name}: `{conda} env list --json` failed: {error}") from error
    matches = [p for p in environments if p.name == name or str(p) == name]
    if name == "base" and environments:
        matches = matches or environments[:1]
    if not matches:
        known = ", ".join(p.name for p in environments) or "none"
        raise ConfigurationError(f"conda_env: no environment `{name}`; conda knows: {known}")
    python = matches[0] / "bin" / "python"
    if not python.exists():
        raise ConfigurationError(f"conda_env: {name}: there is no {python}")
    return str(python)


def uv_interpreter(requirements: Sequence[str]) -> str:
    """The interpreter of an environment with these requirements, made once a list of requirements by `uv`."""
    name = hashlib.sha256(json.dumps([sys.version_info[:2], list(requirements)]).encode()).hexdigest()[:16]
    folder = cache_folder() / "environments" / name
    python = folder / "bin" / "python"
    if (folder / "complete").exists():
        return str(python)
    program = shutil.which("uv") or str(Path(sys.executable).with_name("uv"))
    if not Path(program).exists():
        raise ConfigurationError("uv: no `uv` on the PATH; install it, or give `python:` an interpreter")
    wanted = [r for r in requirements if not r.lower().startswith("pillow")] + (
        [r for r in requirements if r.lower().startswith("pillow")] or ["pillow"]
    )
    for command in (
        [program, "venv", "-q", "--clear", "--python", sys.executable, str(folder)],
        [program, "pip", "install", "-q", "--python", str(python), *wanted],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["no message"])[-1]
            raise ConfigurationError(f"uv: `{' '.join(command[:3])} ...` failed: {last}")
    (folder / "complete").touch()
    return str(python)
