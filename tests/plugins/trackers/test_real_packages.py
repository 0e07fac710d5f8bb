"""The adapters against the packages themselves, where they are installed; each keeps what it is told on this disk."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable
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
    monkeypatch.setenv("WANDB_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setattr(tracking, "PATIENCE", 120.0)
    given = {key: value.replace("HERE", str(tmp_path)) for key, value in KEPT[name].items()}
    write_benchmark(tmp_path, 3)
    made = evaluate(configuration(tmp_path, trackers={name: {**given, "table_rows": 2}}), run_dir=tmp_path / "run")
    assert json.loads((tmp_path / "run/trackers" / f"{name}.json").read_text())["finished"] is True
    assert not [path for path in (tmp_path / "run").rglob("*") if path.is_file() and b"b" * 40 in path.read_bytes()]
    assert made.summary.complete
    READ[name](tmp_path)


def _read_wandb(folder: Path) -> None:
    staged = [path.read_bytes() for path in (folder / "data").rglob("*") if path.is_file()]
    there = {hashlib.sha256(data).hexdigest() for data in staged}
    tables = [json.loads(data) for data in staged if data.startswith(b'{"_type": "table"')]
    assert tables
    for said in tables:
        _check(said["columns"], said["data"], lambda cell: cell["_type"] == "image-file" and cell["sha256"] in there)


def _read_trackio(folder: Path) -> None:
    [base] = [path for path in (folder / "trackio").glob("*.db") if path.name != "default.db"]
    with sqlite3.connect(base) as opened:
        logged = [json.loads(text) for (text,) in opened.execute("SELECT metrics FROM metrics")]
    [table] = [line["edits"] for line in logged if "edits" in line]
    rows = [[*row.values()] for row in table["_value"]]
    _check([*table["_value"][0]], rows, lambda cell: [*(folder / "trackio").rglob(Path(cell["file_path"]).name)])


def _read_mlflow(folder: Path) -> None:
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{folder}/mlflow.db")
    [run] = client.search_runs([e.experiment_id for e in client.search_experiments() if e.name == "edit-eval"])
    said = json.loads(Path(client.download_artifacts(run.info.run_id, "edits.json")).read_text())
    there = {file.path for file in client.list_artifacts(run.info.run_id, "table_images/edits")}
    _check(said["columns"], said["data"], lambda cell: cell["filepath"] in there)


def _check(columns: list[str], rows: list[list[Any]], is_there: Callable[[Any], object]) -> None:
    """Two rows of three, each with its pictures, its score and the judge's words."""
    assert columns[:5] == ["id", "category", "instruction", "source", "edit"]
    assert columns[-3:] == ["testing/score", "testing says", "testing no score"]
    assert [row[2] for row in rows] == ["turn it into 0", "turn it into 1"]
    assert all(is_there(row[3]) and is_there(row[4]) for row in rows)
    assert all(isinstance(row[-3], float) and row[-2] for row in rows)


READ = {"wandb": _read_wandb, "trackio": _read_trackio, "mlflow": _read_mlflow}
