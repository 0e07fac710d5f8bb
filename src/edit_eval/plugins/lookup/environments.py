"""Environments for models, as `edit-eval env create` makes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from edit_eval.errors import ConfigurationError
from edit_eval.execution.machine.environments import bounds, make_environment
from edit_eval.plugins.lookup.yaml_writing import scalar
from edit_eval.text import Text


def create_environment(
    folder: Path, kind: str, *, constraints: Sequence[Path] = (), python: str = "", shown: bool = False
) -> str:
    """Makes an environment for an edit model (`edit`) or a judge (`judge`); returns its line for the YAML's `params`.

    An existing one is completed. `constraints` are files as `pip install -c` takes them, `python` is the interpreter
    it is made from (default: this one), `shown` lets the installer write to the terminal. Raises `ConfigurationError`.
    """
    requirements = requirements_for(kind)
    for path in constraints:
        if not path.is_file():
            raise ConfigurationError(Text("--constraint {}: no such file", path))
    folder = folder.expanduser().absolute()
    if folder.exists() and not (folder / "pyvenv.cfg").is_file() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigurationError(Text("{} already exists and is not an environment; give a new folder", folder))
    made = make_environment(folder, requirements, constraints=constraints, python=python, shown=shown)
    return f"python: {scalar(made)}"


PACKAGES = {
    "edit": ("pillow", "torch", "diffusers", "transformers", "accelerate", "safetensors", "peft", "ftfy"),
    "judge": ("pillow", "torch", "transformers", "accelerate", "safetensors"),
}
"""Packages that `edit-eval env create DIR --for KIND` installs."""


def requirements_for(kind: str) -> list[str]:
    """Returns the requirements of an edit model (`edit`) or a judge (`judge`). Raises `ConfigurationError`."""
    if kind not in PACKAGES:
        raise ConfigurationError(Text("--for {}: an environment is made for {: or }", kind, PACKAGES))
    known = bounds()
    return [known.get(name, name) for name in PACKAGES[kind]]
