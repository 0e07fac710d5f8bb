"""A run that is read while it grows is, at every moment, what reading all of it would give."""

from __future__ import annotations

import json
import random
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from edit_eval.errors import ConfigurationError
from edit_eval.plugins.viewer import following
from edit_eval.plugins.viewer.following import Following
from edit_eval.plugins.viewer.runs import Runs, _translate_activity, find_runs
from edit_eval.records import Status
from edit_eval.run import Run
from edit_eval.store.journal import seal
from plugins.viewer.served import Viewer

LINES = ("edits", "replies")


def journal(run: Path, name: str) -> Path:
    return run / name / "0001.jsonl"


def emptied(folder: Path) -> tuple[Path, dict[str, bytes]]:
    """A run whose journals are empty, and what was in them."""
    run = folder / "first"
    written = {name: journal(run, name).read_bytes() for name in LINES}
    for name in LINES:
        journal(run, name).write_bytes(b"")
    return run, written


def shown(run: Following) -> dict[str, Any]:
    assert run.table is not None
    return {sample_id: repr(run.table.results_of(sample_id)) for sample_id in run.table.sample_ids}


def whole(run: Path) -> dict[str, Any]:
    return shown(Following(run))


def append(run: Path, name: str, *records: dict[str, Any]) -> None:
    with journal(run, name).open("ab") as file:
        file.write(b"".join(map(seal, records)))


def records(data: bytes) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in data.splitlines()]
    for row in rows:
        del row["crc"]
    return rows


@pytest.mark.parametrize("seed", range(4))
def test_what_comes_in_pieces_is_what_there_is(seed: int, folder: Path) -> None:
    """Pieces end anywhere, and answers may be there before their edits are."""
    run, written = emptied(folder)
    follower, chance = Following(run), random.Random(seed)
    before, said = shown(follower), set()
    left = dict(written)
    while any(left.values()):
        name = chance.choice([name for name in LINES if left[name]])
        size = chance.randint(1, 9000)
        with journal(run, name).open("ab") as file:
            file.write(left[name][:size])
        left[name] = left[name][size:]
        said |= follower.catch_up().samples
    said |= follower.catch_up().samples
    after = shown(follower)
    assert after == whole(run)
    assert said == {sample_id for sample_id in after if after[sample_id] != before[sample_id]} == set(after)
    assert not follower.catch_up()
    assert follower.directory.damage.total == 0
    made = follower.run()
    assert made.summary == Run(run).summary


def test_each_change_is_told(folder: Path) -> None:
    run, written = emptied(folder)
    edits, replies = (records(written[name]) for name in LINES)
    follower = Following(run)
    append(run, "edits", edits[0])
    assert follower.catch_up().samples == {edits[0]["sample_id"]}
    first = [reply for reply in replies if (reply["sample"], reply["edit_model"]) == (edits[0]["sample_id"], "first")]
    append(run, "replies", *first)
    assert follower.catch_up().samples == {edits[0]["sample_id"]}
    assert shown(follower) == whole(run)
    assert follower.catch_up() == following.Changes()


def test_an_answer_that_is_asked_anew_replaces_the_one_before(folder: Path) -> None:
    run, follower = folder / "first", Following(folder / "first")
    line = records(journal(run, "replies").read_bytes())[0]
    append(run, "replies", {**line, "text": "no words\nScore: 1.250"})
    assert follower.catch_up().samples == {line["sample"]}
    judgement = follower.table.results_of(line["sample"])[1][0][1][0]
    assert judgement.score == 1.25
    assert shown(follower) == whole(run)


def test_an_edit_that_failed_and_was_made_after_all(folder: Path) -> None:
    run, written = emptied(folder)
    edit = records(written["edits"])[0]
    follower = Following(run)
    gone = {"status": "edit_failed", "reason": "out of memory", "image": "", "pixels": ""}
    append(run, "edits", {**edit, **gone})
    follower.catch_up()
    assert follower.table.results_of(edit["sample_id"])[1][0][0].reason == "out of memory"
    append(run, "edits", edit)
    follower.catch_up()
    assert follower.table.results_of(edit["sample_id"])[1][0][0].status is Status.OK
    assert shown(follower) == whole(run)


def test_damaged_lines_are_left_out_and_said(folder: Path) -> None:
    run, written = emptied(folder)
    follower = Following(run)
    data = written["edits"].replace(b'"width":64', b'"width":65', 2) + b"\x00\xff garbage\n"
    journal(run, "edits").write_bytes(data)
    follower.catch_up()
    assert follower.directory.damage.note == "3 damaged lines in the journals were left out (edits 3)"
    assert shown(follower) == whole(run)


def test_another_start_with_other_settings_is_read_anew(folder: Path) -> None:
    run = folder / "first"
    follower = Following(run)
    (run / "config" / "0002.json").write_bytes((run / "config" / "0001.json").read_bytes())
    (run / "config" / "0002.yaml").write_bytes((run / "config" / "0001.yaml").read_bytes())
    assert follower.catch_up().anew
    assert not follower.catch_up()


def test_a_run_that_is_removed_and_comes_back(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "TRY_AGAIN", 0.0)
    run = folder / "first"
    follower = Following(run)
    run.rename(tmp_path / "away")
    assert follower.catch_up().anew
    assert follower.state().kind == "damaged"
    assert "does not exist" in follower.fault
    (tmp_path / "away").rename(run)
    follower.catch_up()
    assert follower.state().kind == "complete"
    shutil.rmtree(run / "edits")
    follower.catch_up()
    assert follower.state().kind in ("stopped", "complete")


@pytest.mark.parametrize("file", ["config/0001.json", "samples/0001.jsonl", "config/0001.yaml", "live.json"])
@pytest.mark.parametrize("damage", [b"", b"\xff\xfe", b"[]", b"{", b"null"])
def test_no_damage_is_more_than_a_fault(file: str, damage: bytes, folder: Path) -> None:
    """Half-written descriptions: what can be read is read, and what cannot is said to be."""
    run = folder / "first"
    (run / file).write_bytes(damage)
    follower = Following(run)
    state = follower.state()
    if file in ("config/0001.yaml", "live.json"):
        assert len(follower.run().results.edits) == 90
    else:
        assert state.kind in ("damaged", "complete", "stopped")
        assert follower.fault or file == "samples/0001.jsonl"


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
        runs.poll_changes()
    said = {card.name: card for card in runs.cards.values()}
    states = {name: card.state for name, card in said.items()}
    assert states == {"first": "complete", "stopped": "stopped", "damaged": "damaged", "reported": "complete"}
    assert said["first"].models == ["first", "second", "third"]
    assert said["first"].results == said["reported"].results
    assert [(row["scored"], row["total"]) for row in said["stopped"].results] == [(30, 30), (10, 30), (0, 30)]
    assert {card.benchmark for card in said.values()} == {"table · one.csv"}
    assert [len(card.pictures) for card in said.values()] == [3] * 4, "those of the damaged one, too"
    assert said["stopped"].fraction == pytest.approx(40 / 90)
    assert "0001.json is damaged" in said["damaged"].reason
    assert not runs.poll_changes()
    _, seen = runs.news("")
    assert runs.news(seen) == ([], seen)


@pytest.mark.check
def test_a_run_that_begins_later_is_found(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda clock=time.monotonic: 1000 * clock())
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


@pytest.mark.parametrize(
    ("words", "chinese"),
    [
        ("10 asked", "已问 10 个"),
        ("4 in batches", "4 个在批量接口中"),
        ("cat and 3 more", "cat，另有 3 个"),
        ("cat and 3 more · slow", "cat，另有 3 个 · slow"),
        ("3/50", "3/50"),
        ("a cat · slow", "a cat · slow"),
        ("", ""),
    ],
)
def test_what_a_device_does_is_told_in_each_language(words: str, chinese: str) -> None:
    assert _translate_activity(words) == {"en": words, "zh": chinese}
