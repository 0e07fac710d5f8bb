from __future__ import annotations

import copy
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from edit_eval.config.loading import load_configuration
from edit_eval.config.schema import Configuration
from edit_eval.errors import ConfigurationError

COMPLETE: dict[str, Any] = {
    "benchmark": {"class_path": "own_models.Pairs", "data_path": "pairs.json"},
    "diffusion_model": {"class_path": "own_models:Editor", "params": {"num_inference_steps": 15}},
    "reward_model": {"class_path": "own_models:Judge", "params": {"model_name": "a/judge"}},
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory of a user: a benchmark, classes of one's own, and `config.yaml`, which is right."""
    shutil.copy(Path(__file__).with_name("own_models.py"), tmp_path)
    (tmp_path / "pairs.json").write_text("[]")
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(COMPLETE))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


@pytest.fixture
def load(folder: Path) -> Callable[..., Configuration]:
    """Loads `config.yaml` with some `--set`, and any other keyword of `load_configuration`."""

    def load_with(*overrides: str, **keywords: Any) -> Configuration:
        return load_configuration("config.yaml", overrides=overrides, **keywords)

    return load_with


@pytest.fixture
def refusal(folder: Path) -> Callable[[str], str]:
    """Writes a file, expects that it is refused, and gives the one line."""

    def refused(text: str, name: str = "config.yaml") -> str:
        (folder / name).write_text(text, encoding="utf-8")
        with pytest.raises(ConfigurationError) as caught:
            load_configuration(name)
        line = str(caught.value)
        assert "\n" not in line
        return line

    return refused


@pytest.fixture
def changed(refusal: Callable[[str], str]) -> Callable[..., str]:
    """The one line that refuses the complete file after a change: `changed("execution", {"pilot": 3})`."""

    def refused(*place_and_value: Any) -> str:
        *place, last, value = place_and_value
        raw = copy.deepcopy(COMPLETE)
        target = raw
        for key in place:
            target = target.setdefault(key, {})
        if value is ...:
            del target[last]
        else:
            target[last] = value
        return refusal(yaml.safe_dump(raw, allow_unicode=True))

    return refused
