"""Wording from files of the user's: prompts of their own in YAML, and those of a benchmark's authors. None is run."""

from __future__ import annotations

import ast
import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import yaml

from edit_eval.benchmarks.authors_files import AuthorsFile
from edit_eval.errors import ConfigurationError
from edit_eval.hub import local_path


def own_prompts(path: str, questions: Collection[str]) -> dict[str, Any]:
    """The prompts of a YAML file, by question. Raises `ConfigurationError` for a file that is none."""
    file = Path(path).expanduser()
    try:
        found = yaml.safe_load(read_text(file, "prompts"))
    except yaml.YAMLError as error:
        raise ConfigurationError(
            f"protocol.prompts: {file} is not valid YAML ({' '.join(str(error).split())})"
        ) from None
    if not isinstance(found, dict):
        raise ConfigurationError(f"protocol.prompts: {file} must be a mapping with {' and '.join(questions)}")
    return found


def authors_texts(path: str | None, official: AuthorsFile, wanted: Collection[str]) -> dict[str, str]:
    """The `wanted` texts of the authors' file at `path`, or in the folder `path`; None: of that which was fetched.

    A Python file's are the strings that it assigns to plain names, a JSON file's its members. Raises
    `ConfigurationError` for a file that cannot be read, or lacks one of them.
    """
    name = official.name
    if path:
        file = local_path(path, (name, f"*/{name}"), "protocol.prompts_path")
        file = file / name if file.is_dir() else file
    else:
        file = official.fetched()
    text = read_text(file, "prompts_path")
    found: dict[str, str] = {}
    try:
        if file.suffix == ".json":
            members = json.loads(text)
            pairs = members.items() if isinstance(members, dict) else ()
            found = {key: value for key, value in pairs if isinstance(value, str)}
        else:
            for line in ast.parse(text, str(file)).body:
                match line:
                    case ast.Assign(targets=[ast.Name(id=variable)], value=ast.Constant(value=str(value))):
                        found[variable] = value
    except (SyntaxError, ValueError) as error:
        kind = "JSON" if file.suffix == ".json" else "Python"
        raise ConfigurationError(f"protocol.prompts_path: {file} is no {kind} file ({error})") from None
    if lacking := [one for one in wanted if one not in found]:
        raise ConfigurationError(f"protocol.prompts_path: {file} has no `{lacking[0]}`; is it the authors' {name}?")
    return {one: found[one] for one in wanted}


def read_text(file: Path, key: str) -> str:
    """A file's text. Raises `ConfigurationError`, which names `protocol.KEY`, where there is none in UTF-8."""
    try:
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        said = getattr(error, "strerror", None) or "it is not text in UTF-8"
        raise ConfigurationError(f"protocol.{key}: cannot read {file}: {said}") from None
