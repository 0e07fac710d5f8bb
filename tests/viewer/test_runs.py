"""Which runs there are, and what is said of each."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from edit_eval.errors import ConfigurationError
from edit_eval.viewer import runs as module
from edit_eval.viewer.runs import Runs, find_runs
from viewer.served import Viewer


def test_runs_lie_in_folders_and_no_link_is_followed(folder: Path, tmp_path: Path) -> None:
    (folder / "deep" / "er").mkdir(parents=True)
    shutil.copytree(folder / "first", folder / "deep" / "er" / "second")
    (folder / "linked").symlink_to(folder / "first")
    (tmp_path / "app" / "config").mkdir(parents=True)
    (tmp_path / "app" / "config" / "app.yaml").write_text("a: 1")
    assert find_runs([folder]) == [folder / "deep" / "er" / "second", folder / "first"]
    assert find_runs([folder / "first", folder / "linked"]) == [folder / "first", folder / "linked"]
    assert find_runs([tmp_path / "app"]) == []
    with pytest.raises(ConfigurationError, match="nothere does not exist"):
        Runs([tmp_path / "nothere"])


def test_each_is_said_to_be_what_it_is(folder: Path) -> None:
    for name in ("stopped", "damaged", "reported"):
        shutil.copytree(folder / "first", folder / name)
    replies = folder / "stopped" / "replies" / "0001.jsonl"
    replies.write_bytes(b"".join(replies.read_bytes().splitlines(keepends=True)[:40]))
    (folder / "damaged" / "config" / "0001.json").write_text("{")
    (folder / "reported" / "report").mkdir(exist_ok=True)
    (folder / "reported" / "report" / "summary.json").write_text(json.dumps({"status": "complete", "results": 7}))
    runs = Runs([folder])
    while any(card.state == "reading" for card in runs.cards.values()):
        runs.look()
    said = {card.name: card for card in runs.cards.values()}
    states = {name: card.state for name, card in said.items()}
    assert states == {"first": "complete", "stopped": "stopped", "damaged": "damaged", "reported": "complete"}
    assert said["first"].models == ["first", "second", "third"]
    assert said["first"].results == said["reported"].results
    assert [(one["scored"], one["total"]) for one in said["stopped"].results] == [(30, 30), (10, 30), (0, 30)]
    assert {card.benchmark for card in said.values()} == {"table · one.csv"}
    assert [len(card.pictures) for card in said.values()] == [3] * 4, "those of the damaged one, too"
    assert said["stopped"].fraction == pytest.approx(40 / 90)
    assert "0001.json is damaged" in said["damaged"].reason
    assert not runs.look()
    _, seen = runs.news("")
    assert runs.news(seen) == ([], seen)


def test_a_run_that_begins_later_is_found(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.time, "monotonic", lambda clock=module.time.monotonic: 1000 * clock())
    (tmp_path / "empty").mkdir()
    with Viewer([tmp_path / "empty"]) as viewer:
        assert b'"runs":[]' in viewer.ask("GET", "/").body
        shutil.copytree(folder / "first", tmp_path / "empty" / "late")
        run = Runs([tmp_path / "empty"]).cards.keys()
        assert viewer.ask("GET", f"/run/{next(iter(run))}").status == 200


def test_two_runs_are_compared_on_what_both_have(folder: Path) -> None:
    shutil.copytree(folder / "first", folder / "second")
    samples = folder / "second" / "samples" / "0001.jsonl"
    samples.write_bytes(b"".join(samples.read_bytes().splitlines(keepends=True)[:20]))
    with Viewer([folder]) as viewer:
        first, second = viewer.id_of("first"), viewer.id_of("second")
        page = viewer.ask("GET", f"/compare/{first}/{second}").body.decode()
        data = json.loads(page.partition('id="data">')[2].partition("</script>")[0])
        assert len(data["samples"]) == 20
        names = [f"{run}/{model}" for run in ("first", "second") for model in ("first", "second", "third")]
        assert data["edit_models"] == names
        files = [edit["picture"]["file"] for edit in data["samples"][0]["edits"]]
        assert [file.split("/")[2] for file in files] == [first] * 3 + [second] * 3
        assert "not the same samples" in page
        answer = viewer.ask("GET", f"/compare/{first}/{first}")
        assert answer.status == 404


def test_runs_that_cannot_be_compared_say_why(folder: Path) -> None:
    shutil.copytree(folder / "first", folder / "other")
    config = folder / "other" / "config" / "0001.json"
    document = json.loads(config.read_text())
    for judge in document["judges"]:
        judge["parameters"] |= {"answer": "Score: 1.000"}
    config.write_text(json.dumps(document))
    with Viewer([folder]) as viewer:
        page = viewer.ask("GET", f"/compare/{viewer.id_of('first')}/{viewer.id_of('other')}").body.decode()
    assert '"kind":"incomparable"' in page
    assert "vegaEmbed" not in page
    assert "cannot be compared" in page
