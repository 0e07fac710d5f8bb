"""The adapters against the packages themselves, where they are installed; each keeps what it is told on this disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from edit_eval import evaluate
from edit_eval.plugins.trackers import tracking
from small_benchmark import configuration, write_benchmark

KEPT: dict[str, dict[str, Any]] = {
    "wandb": {"mode": "offline"},
    "trackio": {},
    "mlflow": {"tracking_uri": "sqlite:///HERE/mlflow.db"},
}


@pytest.mark.models
@pytest.mark.parametrize("name", KEPT)
def test_it_takes_a_run_to_its_end(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    monkeypatch.setenv("WANDB_API_KEY", "b" * 40)
    monkeypatch.setattr(tracking, "PATIENCE", 120.0)
    given = {key: value.replace("HERE", str(tmp_path)) for key, value in KEPT[name].items()}
    write_benchmark(tmp_path, 3)
    evaluate(configuration(tmp_path, trackers={name: given}), run_dir=tmp_path / "run", report=False)
    assert json.loads((tmp_path / "run/trackers" / f"{name}.json").read_text())["finished"] is True
    assert not [path for path in (tmp_path / "run").rglob("*") if path.is_file() and b"b" * 40 in path.read_bytes()]
