"""Trackers beside a run: what they are told, and that a run never notices one that misbehaves."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from edit_eval import evaluate
from edit_eval.config.loading import load_configuration
from edit_eval.errors import ConfigurationError
from edit_eval.execution.spectator import Spectator
from edit_eval.plugins.trackers import tracking
from edit_eval.plugins.trackers.adapters import Wandb
from edit_eval.plugins.trackers.tracking import Trackers
from small_benchmark import configuration, write_benchmark

PACKAGES = Path(__file__).parent / "packages"
TOKEN = "a-token-that-nobody-may-see"


class Ears(Spectator):
    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def said(self, begin: str) -> list[str]:
        return [note for note in self.notes if note.startswith(begin)]


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The packages' doubles in their place; the file in which one writes what it was told."""
    monkeypatch.syspath_prepend(str(PACKAGES))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(PACKAGES), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("PLAYED_FILE", str(tmp_path / "told.jsonl"))
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", TOKEN)
    write_benchmark(tmp_path, 3)
    return tmp_path / "told.jsonl"


def _told(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_one_is_told_all_goes_on_under_the_same_id_and_is_left_alone_when_it_knows_all(
    played: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracking, "PATIENCE", 120.0)
    wandb = {"wandb": {"project": "mine", "tags": ["a"]}}
    failing = configuration(tmp_path, judge={"fail": ["00001_环境_easy"]}, trackers=[wandb])
    whole = configuration(tmp_path, trackers=[wandb])
    run, ears = tmp_path / "run", Ears()
    evaluate(failing, run_dir=run, spectator=ears, report=False)
    first = _told(played)
    played.unlink()
    made = evaluate(whole, run_dir=run, spectator=ears)
    second = _told(played)
    played.unlink()
    evaluate(whole, run_dir=run, spectator=ears)

    assert not played.exists(), "a finished run is not told again"
    assert not ears.said("W&B")
    assert (first[0]["project"], first[0]["name"], first[0]["more"]) == ("mine", "run", {"tags": ["a"]})
    assert first[0]["config"]["trackers"] == [wandb]
    assert first[-1] == {"finish": 0}
    logged = {key: value for line in first if "log" in line for key, value in line["log"].items()}
    assert logged["coverage"] == pytest.approx(2 / 3)
    assert {"progress/edits", "progress/judgements", "progress/settled", "testing/testing/score"} <= set(logged)
    assert second[0]["init"] == first[0]["init"]
    assert set(second[-3]["files"]) == {"index.html", "summary.json"}
    assert second[-4]["log"]["testing/testing/coverage"] == 1.0
    assert second[-4]["log"]["progress/settled"] == 3 + 3, "edits and judgements, those of the first start, too"
    score = made.summary.results[0].scores["score"]
    assert second[-4]["log"]["testing/testing/score"] == score.mean
    table = second[-2]
    assert [len(table["rows"]), *table["columns"][3:5]] == [3, "source", "edit"]
    for row in table["rows"]:
        said = dict(zip(table["columns"], row, strict=True))
        assert said["source"].endswith(" bytes")
        assert said["edit"].endswith(" bytes")
        assert (said["testing/score"], said["testing no score"]) == (5.0, "")
    state = json.loads((run / "trackers/wandb.json").read_text())
    assert (state["id"], state["finished"]) == (first[0]["init"], True)


def test_those_that_hang_die_or_refuse_are_a_note_each_and_the_run_is_the_same(
    played: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLAYED_WANDB", "hang")
    monkeypatch.setattr(tracking, "PATIENCE", 30.0)
    monkeypatch.setattr(Trackers, "order", {"interval": 0.1, "limits": [2.0, 2.0]})
    ears = Ears()
    three = configuration(tmp_path, trackers=["wandb", "trackio", "mlflow"])
    made = evaluate(three, run_dir=tmp_path / "bad", spectator=ears, report=False)
    alone = evaluate(configuration(tmp_path), run_dir=tmp_path / "good", report=False)
    assert made.summary.results == alone.summary.results
    assert ears.said("W&B") == ["W&B: starting took more than 2 s; the run goes on without it"]
    assert ears.said("Trackio") == ["Trackio: its process has died; the run goes on without it"]
    [refused] = ears.said("MLflow")
    assert "401 Unauthorized: <MLFLOW_TRACKING_TOKEN> is not known; the run goes on without it" in refused
    written = b"".join(path.read_bytes() for path in (tmp_path / "bad").rglob("*") if path.is_file())
    assert TOKEN.encode() not in written


@pytest.mark.check
def test_a_table_has_as_many_edits_as_asked_for_says_so_and_costs_the_rest_nothing(
    played: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracking, "PATIENCE", 120.0)
    ears = Ears()
    failing = {"fail": ["00001_环境_easy"]}
    asked = configuration(tmp_path, judge=failing, trackers={"wandb": {"table_rows": 2}})
    evaluate(asked, run_dir=tmp_path / "two", spectator=ears, report=False)
    [table] = [line for line in _told(played) if "table" in line]
    second = dict(zip(table["columns"], table["rows"][1], strict=True))
    assert (len(table["rows"]), second["testing/score"]) == (2, None)
    assert "fails on purpose" in second["testing no score"]
    assert ears.said("W&B") == ["W&B: its table has 2 of 3 edits; `table_rows` says how many"]

    played.unlink()
    evaluate(configuration(tmp_path, trackers={"wandb": {"table_rows": 0}}), run_dir=tmp_path / "none", report=False)
    assert not [line for line in _told(played) if "table" in line]

    monkeypatch.setenv("PLAYED_WANDB", "no table")
    played.unlink()
    evaluate(configuration(tmp_path, trackers="wandb"), run_dir=tmp_path / "bad", spectator=ears, report=False)
    assert ears.said("W&B")[1:] == ["W&B: no table of edits: MemoryError: too large a table"]
    assert _told(played)[-1] == {"finish": 0}


@pytest.mark.check
def test_nobody_waits_for_one_that_hangs(played: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLAYED_WANDB", "hang")
    monkeypatch.setattr(tracking, "PATIENCE", 0.1)
    monkeypatch.setattr(Trackers, "order", {"limits": [600.0, 600.0]})  # longer than the run on any machine
    ears = Ears()
    evaluate(configuration(tmp_path, trackers="wandb"), run_dir=tmp_path / "run", spectator=ears, report=False)
    assert ears.said("W&B") == ["W&B: still sending; it goes on by itself, for at most a few minutes"]
    [process] = tracking._left_alone[-1:]
    process.kill()
    process.wait()


def test_a_package_that_is_not_installed_is_said_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_benchmark(tmp_path, 3)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wandb").mkdir()  # what the package leaves behind is no package
    monkeypatch.syspath_prepend(str(tmp_path))
    if Wandb.is_here():
        pytest.skip("wandb is installed here")
    with pytest.raises(ConfigurationError, match=r"pip install 'edit-eval\[wandb\]'"):
        evaluate(configuration(tmp_path, trackers=["wandb"]), run_dir=tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (["wand"], "trackers: 'wand' is not a tracker; did you mean `wandb`?"),
        ({"wandb": {"projet": "x"}}, "trackers.wandb.projet: unknown key; did you mean `project`?"),
        ({"mlflow": {"experiment": 3}}, "trackers.mlflow.experiment: must be text, not 3"),
        ({"mlflow": {"tracking_uri": "https://me:secret@host"}}, "trackers.mlflow.tracking_uri: do not put secrets in"),
        (
            {"trackio": {"server_url": "http://host/?write_token=abc"}},
            "trackers.trackio.server_url: do not put secrets",
        ),
        (["wandb", "wandb"], "trackers.wandb: given twice; keep one of them"),
    ],
)
def test_what_cannot_be_is_said(tmp_path: Path, written: Any, words: str) -> None:
    write_benchmark(tmp_path, 3)
    with pytest.raises(ConfigurationError) as caught:
        load_configuration(configuration(tmp_path, trackers=written))
    assert words in str(caught.value)


def test_they_are_in_no_key_and_read_back(tmp_path: Path) -> None:
    write_benchmark(tmp_path, 3)
    made = load_configuration(configuration(tmp_path, trackers={"wandb": None, "mlflow": {"name": "x"}}))
    assert made.trackers == {"wandb": {}, "mlflow": {"name": "x"}}
    assert load_configuration(made.as_plain()).trackers == made.trackers
    assert load_configuration(configuration(tmp_path, trackers=[])).trackers == {}


def test_updates_that_a_slow_one_misses_are_left_out_and_counted(
    played: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the process itself, without a run: `live.json` changes, and the tracker takes longer than the interval."""
    import subprocess
    import sys

    monkeypatch.setenv("PLAYED_WANDB", "slow")
    (tmp_path / "configuration.yaml").write_text("{}")
    count = {"ok": 0, "failed": 0, "total": 1, "settled": 0}
    live = {"start": 1, "seconds": 0.0, "edits": count, "judgements": count, "controls": {"total": 0}, "means": []}
    process = subprocess.Popen(
        [sys.executable, "-m", "edit_eval.plugins.trackers.process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdin is not None
    order = {"tracker": "edit_eval.plugins.trackers.adapters:Wandb", "run": str(tmp_path), "start": 1, "id": "i"}
    order |= {"known": False, "parameters": {}, "configuration": str(tmp_path / "configuration.yaml"), "interval": 0.05}
    (tmp_path / "live.json").write_text(json.dumps(live))
    process.stdin.write(json.dumps(order) + "\n")
    process.stdin.flush()
    while not played.exists() or len(_told(played)) < 3:
        live["seconds"] = time.monotonic()
        (tmp_path / "live.tmp").write_text(json.dumps(live))
        (tmp_path / "live.tmp").replace(tmp_path / "live.json")
        time.sleep(0.05)
    out, _ = process.communicate(timeout=60)  # the engine is gone
    said = [json.loads(line) for line in out.splitlines()]
    assert said[0] == {"begun": "i"}
    assert said[-1] == {"done": True}
    assert "updates left out" in said[-2]["note"]
    assert _told(played)[-1] == {"finish": 1}
