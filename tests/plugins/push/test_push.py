"""A run pushed to a hub on loopback, through the real `huggingface_hub`: what lies there, and what is refused."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from command_lines import Command, caller
from documents import plain as plain_of
from edit_eval import ConfigurationError, analyse, evaluate
from edit_eval.benchmarks.known_sources import remember_sources
from edit_eval.plugins.leaderboard.pushed_run import encode_run, read_pushed_run
from edit_eval.plugins.push.hub_results import encode_results
from edit_eval.plugins.push.sending import push
from edit_eval.run import Run
from late_imports import Late, needs
from small_benchmark import configuration, sample_id, write_benchmark
from writable_hub import TOKEN, WritableHub

constants = pytest.importorskip("huggingface_hub.constants")
needs("pyarrow", "huggingface_hub")
parquet = Late("pyarrow.parquet")
command = pytest.fixture(caller)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pushed")
    write_benchmark(folder, 4)
    plain = configuration(folder, judge={"fail": [sample_id(1)]})
    evaluate(plain, run_dir=folder / "run", report=False)
    return folder / "run"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[WritableHub]:
    with WritableHub() as server:
        server.stands_in(monkeypatch, tmp_path / "hub")
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)  # whose servers are more than a test can play
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        yield server


def _rows(hub: WritableHub, folder: Path) -> Any:
    file = folder / "rows.parquet"
    file.write_bytes(hub.files["data/testing/00000.parquet"])
    return parquet.read_table(file)


def test_what_lies_there(command: Command, hub: WritableHub, run: Path, tmp_path: Path) -> None:
    done = command("push", run, "me/edits", "--private", "--json")
    assert done.code == 0, done.err
    assert done.document["address"] == f"{hub.url}/datasets/me/edits"
    assert hub.private == {"datasets/me/edits": True}
    assert (
        {*hub.files}
        == {"README.md", "summary.json", "standing.json", "data/testing/00000.parquet"}
        == {*done.document["files"]}
    )
    assert json.loads(hub.files["summary.json"]) == plain_of(Run(run).summary)

    table = _rows(hub, tmp_path)
    told = json.loads(table.schema.metadata[b"huggingface"])["info"]["features"]
    assert told["edit"] == {"_type": "Image"}
    assert [*told] == table.column_names
    assert "source" not in told, "nobody knows the licence"
    rows = table.to_pylist()
    edits = Run(run).results.edits
    assert [row["id"] for row in rows] == [edit.sample_id for edit in edits]
    assert [row["edit"]["bytes"] for row in rows] == [(run / edit.image).read_bytes() for edit in edits]
    scores = [(row["testing_score"], row["testing_status"]) for row in rows]
    assert scores == [(5.0, "ok"), (None, "judge_error"), (5.0, "ok"), (5.0, "ok")]
    assert rows[0]["testing_words"] == "Score: 5.000"

    card = hub.files["README.md"].decode()
    header = yaml.safe_load(card.split("---")[1])
    assert header["license"] == "unknown"
    assert header["configs"][0]["data_files"] == [{"split": "test", "path": "data/testing/*.parquet"}]
    assert "**3 of 4 scored**" in card
    assert "| testing | testing | 3/4 | 3 | 5.00 | – | 3.75–6.25 |" in card
    assert "testing scores 5.00 (out of 10) with testing" in card
    assert "The sources are left out" in card
    assert "the run is not complete" in done.err
    assert "`--sources`, if you may" in done.err


def test_the_card_describes_its_rows_as_datasets_reads_them(
    command: Command, hub: WritableHub, run: Path, tmp_path: Path
) -> None:
    """`load_dataset` holds what it reads against the card: columns, types and how many rows."""
    datasets = pytest.importorskip("datasets")
    assert command("push", run, "me/edits").code == 0
    for name, data in hub.files.items():
        (tmp_path / "pushed" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "pushed" / name).write_bytes(data)
    table = _rows(hub, tmp_path)
    read = datasets.load_dataset(str(tmp_path / "pushed"), "testing", split="test", cache_dir=str(tmp_path / "read"))
    assert read.column_names == table.column_names
    assert read.num_rows == 4
    card = yaml.safe_load(hub.files["README.md"].decode().split("---")[1])
    [told] = datasets.info.DatasetInfosDict.from_dataset_card_data(card).values()
    assert told.features == read.features
    assert told.splits["test"].num_examples == 4
    assert told.download_size == len(hub.files["data/testing/00000.parquet"])
    assert told.dataset_size == told.splits["test"].num_bytes == pytest.approx(table.nbytes, rel=0.01)


def test_results_are_in_the_hubs_own_form(command: Command, hub: WritableHub, tmp_path: Path) -> None:
    from huggingface_hub import parse_eval_result_entries

    write_benchmark(tmp_path, 4)
    two = configuration(tmp_path)
    two["judges"] = {
        "whole": two.pop("reward_model"),
        "part": {"type": "testing", "params": {"fail": [sample_id(1)]}},
        "pixels": {"type": "picture_metrics"},  # which nobody examines
    }
    run = evaluate(two, run_dir=tmp_path / "run", report=False)
    assert command("push", run.path, "me/edits").code == 0
    entry, pixels = parse_eval_result_entries(yaml.safe_load(hub.files[".eval_results/testing.yaml"]))
    assert (pixels.task_id, "lower is better" in pixels.notes) == ("pixels/l1", True)
    assert (entry.dataset_id, entry.task_id, entry.value) == ("me/edits", "whole/score", 5.0), (
        "of `part` one is missing"
    )
    assert entry.source_url == f"{hub.url}/datasets/me/edits"
    assert entry.notes.startswith("from 0 to 10, 4 of 4 scored, judge whole (testing): not audited, ")

    asked = {"benchmark": {"type": "gedit", "data_path": "hub:them/bench@abc/test"}}
    elsewhere = encode_results(
        replace(run.results, provenance=replace(run.results.provenance, configuration=asked)),
        run.summary,
        "me/edits",
        hub.url,
    )
    entry, _ = parse_eval_result_entries(yaml.safe_load(elsewhere[".eval_results/testing.yaml"]))
    assert (entry.dataset_id, entry.dataset_revision) == ("them/bench", "abc")


def test_a_second_push_uploads_no_large_file_again_and_clears_what_is_gone(
    command: Command, hub: WritableHub, run: Path
) -> None:
    hub.refuses_to_write = 502
    broken = command("push", run, "me/edits")
    assert broken.code == 4
    assert "answers 502; what was sent is kept" in broken.err.splitlines()[-1]
    hub.refuses_to_write = None
    assert command("push", run, "me/edits").code == 0
    assert len(hub.uploads) == 1
    assert command("push", run, "me/edits", "--sources").code == 0
    assert len(hub.uploads) == 2
    assert command("push", run, "me/edits", "--without-images").code == 0
    assert {*hub.files} == {"README.md", "summary.json", "standing.json", "data/testing/00000.parquet"}


def test_sources_go_when_somebody_says_so(command: Command, hub: WritableHub, run: Path, tmp_path: Path) -> None:
    results = Run(run).results
    remember_sources(results.samples)
    assert command("push", run, "me/edits", "--sources").code == 0
    sources = [row["source"]["bytes"] for row in _rows(hub, tmp_path).to_pylist()]
    assert sources == [Path(sample.source).read_bytes() for sample in results.samples]
    assert b"table_column" in hub.files["README.md"]


def test_a_dry_run_asks_nobody(command: Command, hub: WritableHub, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_TOKEN")
    done = command("push", run, "me/edits", "--dry-run", "--without-images")
    assert done.code == 0, done.err
    assert "would send: 4 rows" in done.out
    assert hub.asked == []


@pytest.mark.parametrize(
    ("name", "token", "words"),
    [
        ("edits", TOKEN, "edits: not a repository's name; write OWNER/NAME"),
        ("me/edits", "", "push needs a token that may write: set HF_TOKEN"),
        ("me/edits", "hf_wrong", "does not accept your token"),
        ("theirs/edits", TOKEN, "your token may not write to theirs/edits"),
        ("me/model", TOKEN, "me/model is a model; give the data set a name of its own"),
        ("me/other", TOKEN, "me/other holds another data set; give this one a name of its own"),
    ],
)
def test_what_is_refused(
    command: Command, hub: WritableHub, run: Path, monkeypatch: pytest.MonkeyPatch, name: str, token: str, words: str
) -> None:
    hub.put("me/model", {"model.safetensors": b""}, "models")
    hub.put("me/other", {"train.csv": b"a,b"})
    monkeypatch.setattr("huggingface_hub.get_token", lambda: token or None)
    monkeypatch.setenv("HF_TOKEN", token)
    done = command("push", run, name)
    assert done.code == 2
    [error] = [line for line in done.err.splitlines() if not line.startswith("note: ")]
    assert words in error
    assert not hub.uploads


def test_a_public_one_does_not_become_private_in_silence(command: Command, hub: WritableHub, run: Path) -> None:
    assert command("push", run, "me/edits", "--without-images").code == 0
    done = command("push", run, "me/edits", "--without-images", "--private")
    assert (done.code, "me/edits is public already" in done.err) == (2, True)


@pytest.fixture
def boards(hub: WritableHub, run: Path) -> list[Path]:
    """Two runs of the same samples by the same judge, both pushed, each under its folder's name."""
    other = run.with_name("other")
    if not other.exists():
        plain = configuration(run.parent, judge={"fail": [sample_id(1)]})
        plain["diffusion_model"] = {"type": "copy_source", "params": {"device_ids": "cpu:1"}}
        evaluate(plain, run_dir=other, report=False)
    for folder in (run, other):
        push(Run(folder), f"me/{folder.name}", images=False)
    return [run, other]


def test_a_leaderboard_of_what_was_pushed_is_that_of_the_runs(
    command: Command, hub: WritableHub, boards: list[Path], tmp_path: Path
) -> None:
    done = command("leaderboard", "hub:me/run", "hub:me/other", "--json", "--to", tmp_path / "board")
    assert done.code == 0, done.err
    here = plain_of(analyse("leaderboard", *boards).document)
    there = done.document
    places = [(column.pop("run"), column.pop("name")) for column in there["columns"]]
    assert {*places} == {("me/run", "testing"), ("me/other", "copy_source")}
    for column in here["columns"]:
        del column["run"], column["name"]
    assert there == here
    assert [(column["scored"], column["total"]) for column in here["columns"]] == [(3, 4), (3, 4)]
    for name in ("README.md", "index.html"):
        assert "3/4" in (tmp_path / "board" / name).read_text("utf-8")
    assert not [line for line in hub.asked_for_data if "standing.json" not in line], "nothing else is downloaded"
    downloaded = tmp_path / "run"
    downloaded.mkdir()
    files = [*hub.commits["datasets/me/run"].values()][-1]
    (downloaded / "standing.json").write_bytes(files["standing.json"])
    assert [column.mean for column in analyse("leaderboard", downloaded, boards[1]).columns] == [5.0, 5.0]
    text = files["standing.json"].decode()
    assert str(boards[0].parent) not in text
    assert "Score: 5.000" not in text


def test_what_no_leaderboard_can_be_made_of(
    command: Command, hub: WritableHub, boards: list[Path], tmp_path: Path
) -> None:
    hub.put("me/old", {"summary.json": b"{}", "README.md": b"edit-eval"})
    done = command("leaderboard", "hub:me/run", "hub:me/old")
    assert done.code == 2
    assert "me/old has no standing.json" in done.err
    assert "`edit-eval push RUN me/old`" in done.err
    plain = encode_run(Run(boards[0]))
    strange: dict[str, Any] = {
        "fewer": {"judgements": [judgement for judgement in plain["judgements"] if judgement["status"] == "ok"]},
        "twice": {"judgements": plain["judgements"][:1] * len(plain["judgements"])},
        "more": {"judgements": [{**judgement, "scores": {"score": 11.0}} for judgement in plain["judgements"]]},
        "nobody": {"edit_models": []},
        "endless": {"repeats": 10**12},
        "beyond": {"edit_seeds": 2**63},
        "doubled": {"samples": plain["samples"] + plain["samples"][:1]},
        "no number": {
            "judgements": [{**judgement, "scores": {"score": float("nan")}} for judgement in plain["judgements"]]
        },
        "upside down": {
            "judges": [{**judge, "scoring": _scaled(judge["scoring"], 10, 0)} for judge in plain["judges"]]
        },
        "immense": {
            "judges": [{**judge, "scoring": _scaled(judge["scoring"], -1e308, 1e308)} for judge in plain["judges"]]
        },
        "later": {"schema": 2},
    }
    for name, changed in strange.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "standing.json").write_text(json.dumps({**plain, **changed}))
        with pytest.raises(ConfigurationError, match="is of another edit-eval" if name == "later" else "is damaged"):
            analyse("leaderboard", boards[1], tmp_path / name)
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / "standing.json")
    with pytest.raises(ConfigurationError, match=r"damaged \(not a file but a pipe"):
        read_pushed_run(tmp_path / "pipe")
    asked = [{**sample, "asked": {"testing": {"score": "other"}}} for sample in plain["samples"]]
    (tmp_path / "later" / "standing.json").write_text(json.dumps({**plain, "samples": asked}))
    with pytest.raises(ConfigurationError, match="question"):
        analyse("leaderboard", boards[1], tmp_path / "later")


def _scaled(scoring: dict[str, Any], lowest: float, highest: float) -> dict[str, Any]:
    scales = {name: {**scale, "lowest": lowest, "highest": highest} for name, scale in scoring["scales"].items()}
    return {**scoring, "scales": scales}


def test_without_a_network(command: Command, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    done = command("push", run, "me/edits")
    assert (done.code, len(done.err.splitlines())) == (4, 1)
    assert "cannot be reached" in done.err
