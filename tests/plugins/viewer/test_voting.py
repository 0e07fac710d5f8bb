"""Votes over the wire: blind, kept the moment they are given, and in no score."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from edit_eval.errors import ConfigurationError
from edit_eval.plugins.viewer.voting import write_votes
from edit_eval.records import Status
from edit_eval.reporting.analyses import analysis
from edit_eval.run import Run, evaluate
from edit_eval.statistics.people import read_people_file
from edit_eval.store.votes import VoteLine
from plugins.viewer.served import Viewer
from small_benchmark import write_benchmark


@pytest.fixture
def polls(folder: Path) -> Any:
    with Viewer([folder]) as viewer:
        yield viewer


def kept_votes(run: Path) -> tuple[VoteLine, ...]:
    return Run(run).records.votes.lines


def following(viewer: Viewer, rater: str) -> dict[str, Any]:
    answer = viewer.ask("GET", f"/run/{viewer.id_of('first')}/next?rater={rater}")
    assert answer.status == 200, answer.body
    return dict(json.loads(answer.body))


def send(viewer: Viewer, **vote: Any) -> tuple[int, dict[str, Any]]:
    body = json.dumps(vote).encode()
    headers = {"Origin": viewer.address, "Content-Type": "application/json", "Content-Length": str(len(body))}
    answer = viewer.ask("POST", f"/run/{viewer.id_of('first')}/votes", headers, body)
    return answer.status, json.loads(answer.body)


def vote(viewer: Viewer, task: dict[str, Any], rater: str, choice: str) -> dict[str, Any]:
    status, told = send(viewer, ticket=task["ticket"], rater=rater, choice=choice, seconds=1.5)
    assert status == 200, told
    return told


def test_a_vote_is_kept_and_counts(polls: Viewer, folder: Path) -> None:
    before = Run(folder / "first").summary
    task = following(polls, "Ann")
    for choice in ("left", "right", "tie", "both_bad", "skip"):
        task = vote(polls, task, "Ann", choice)
    assert (task["mine"], task["all"]) == (4, 4)
    run = Run(folder / "first")
    assert [line.choice for line in kept_votes(folder / "first")] == ["left", "right", "tie", "both_bad", "skip"]
    assert run.analysis("votes").votes == 4
    after = run.summary
    said = dict(after.analyses)
    [votes], [people] = said.pop("votes"), said.pop("people")
    assert (after.verdict.votes.votes, after.verdict.votes.ties) == (4, 2)
    verdict = msgspec.structs.replace(after.verdict, votes=None)
    noted = [note for note in after.notes if note.startswith("Of 4 votes ")]
    notes = [note for note in after.notes if note not in noted]
    same = msgspec.structs.replace(after, analyses=said, verdict=verdict, notes=notes)
    assert (same, len(noted)) == (before, 1), "in no other number"
    assert votes.votes == 4
    assert sum(pair.answers for pair in people.pairs) == 4


def test_without_a_judge_people_look_and_vote(tmp_path: Path, cache: Path) -> None:
    model = {"type": "testing", "params": {"device_ids": "cpu:1"}}
    settings: dict[str, Any] = {
        "benchmark": str(write_benchmark(tmp_path, 4)),
        "edit_models": {"a": model, "b": {"type": "testing", "params": {"device_ids": "cpu:1", "seed": 1}}},
        "judges": {},
        "execution": {"progress": "none"},
    }
    run = evaluate(settings, run_dir=tmp_path / "runs" / "first")
    assert [edit.status for edit in run.results.edits] == [Status.OK] * 8
    assert [advice.kind for advice in run.summary.verdict.next] == ["vote"]
    assert "4 samples, judged by nobody yet" in (run.path / "report" / "index.html").read_text("utf-8")
    before = {file: file.stat().st_mtime_ns for file in run.path.rglob("*")}
    evaluate(settings, run_dir=run.path)
    assert {file: file.stat().st_mtime_ns for file in run.path.rglob("*")} == before, "nothing is to do"
    with Viewer([tmp_path / "runs"]) as viewer:
        task = following(viewer, "Ann")
        for _ in range(4):
            task = vote(viewer, task, "Ann", "left")
    assert Run(run.path).analysis("votes").votes == 4


def test_each_vote_is_told_with_its_sample(polls: Viewer, folder: Path) -> None:
    task, asked = following(polls, "Ann"), []
    for choice in ("left", "right", "tie", "both_bad", "skip"):
        asked.append(task["instruction"])
        task = vote(polls, task, "Ann", choice)
    lines = {line.sample: line for line in kept_votes(folder / "first")}
    told = analysis("votes").remarks(Run(folder / "first").analysis("votes").document)
    assert len(told) == 4, "a pair that was skipped has no vote"
    for sample, said in told.items():
        line = lines[sample]
        both = {line.left, line.right}
        ways = {
            "left": f"Ann prefers {line.left} to {line.right}.",
            "right": f"Ann prefers {line.right} to {line.left}.",
            "tie": "Ann finds {} and {} equally good.".format(*sorted(both)),
            "both_bad": "Ann finds both bad: {} and {}.".format(*sorted(both)),
        }
        assert [str(one) for one in said] == [ways[line.choice]]


def test_a_rater_is_not_told_who_made_what(polls: Viewer, folder: Path) -> None:
    lefts = set()
    task = following(polls, "Ann")
    for _ in range(30):
        told = json.dumps(task)
        assert not any(model in told for model in ("first", "second", "third"))
        lefts.add(task["left"]["file"])
        task = vote(polls, task, "Ann", "left")
    assert len(lefts) > 10
    assert len({line.left for line in kept_votes(folder / "first")}) == 3


def test_a_vote_can_be_taken_back_and_the_votes_say_what_they_have_settled(polls: Viewer, folder: Path) -> None:
    first = following(polls, "Ann")
    assert (first["pairs"], first["settled"]) == (3, 0)
    vote(polls, first, "Ann", "left")
    assert vote(polls, first, "Ann", "tie")["mine"] == 1
    assert [line.choice for line in kept_votes(folder / "first")] == ["tie"]
    keys = {edit.key: edit.edit_model for edit in Run(folder / "first").results.edits}
    for rater in ("Ann", "Ben"):
        task = following(polls, rater)
        for _ in range(30):
            made = [keys[task[side]["file"].rpartition("/")[2]] for side in ("left", "right")]
            task = vote(polls, task, rater, "left" if made == sorted(made) else "right")
    told = Run(folder / "first").analysis("votes").differences
    assert task["settled"] == sum(pair.ci95 is not None and pair.ci95[0] > 0 for pair in told) > 0


def test_nobody_sees_a_pair_twice_and_it_ends(polls: Viewer, folder: Path) -> None:
    """30 samples, three pairs of models each."""
    task, shown = following(polls, "Ann"), set()
    assert task["there"] == 90
    page = polls.ask("GET", f"/run/{polls.id_of('first')}/vote").body.decode()
    assert '"pairs":90' in page, "the page proposes no more votes than there are pairs"
    while not task.get("done"):
        pair = frozenset((task["left"]["file"], task["right"]["file"]))
        assert pair not in shown
        shown.add(pair)
        task = vote(polls, task, "Ann", "skip" if len(shown) % 3 else "left" if len(shown) % 2 else "right")
    assert len(shown) == 90
    assert task["mine"] == task["there"] == 30, "a goal is never more than the pairs that are left to vote on"
    told = polls.ask("GET", f"/run/{polls.id_of('first')}/vote").body.decode()
    assert all(f"edit-eval {verb} {folder / 'first'}" in told for verb in ("votes", "report"))
    page = polls.ask("GET", f"/run/{polls.id_of('first')}").body.decode()
    assert "Of 30 votes " in page
    again = following(polls, "Ben")
    assert not again.get("done")


def test_votes_survive_the_viewer(folder: Path) -> None:
    with Viewer([folder]) as viewer:
        vote(viewer, following(viewer, "Ann"), "Ann", "left")
        old = following(viewer, "Ann")
    with (folder / "first" / "votes" / "0001.jsonl").open("ab") as file:
        file.write(b'{"ticket":"torn in the mid')  # killed while it wrote
    with Viewer([folder]) as viewer:
        status, told = send(viewer, ticket=old["ticket"], rater="Ann", choice="left", seconds=1)
        assert status == 409
        assert "not shown to you here" in told["error"]
        task = following(viewer, "Ann")
        assert task["mine"] == 1
        assert vote(viewer, task, "Ann", "right")["mine"] == 2
    run = Run(folder / "first")
    assert [line.choice for line in kept_votes(folder / "first")] == ["left", "right"]
    assert run.analysis("votes").damaged == 1
    assert sorted(path.name for path in (folder / "first" / "votes").iterdir()) == ["0001.jsonl", "0002.jsonl"]


BAD: list[dict[str, Any]] = [
    {"rater": ""},
    {"rater": "a" * 61},
    {"rater": "a\nb"},
    {"rater": 7},
    {"choice": "best"},
    {"choice": None},
    {"seconds": "1"},
    {"seconds": -1},
    {"seconds": True},
    {"seconds": 1e300},
    {"ticket": "x"},
    {"ticket": ["x"]},
    {"rater": "Somebody else"},
]


@pytest.mark.parametrize("change", BAD)
def test_what_is_no_vote_is_not_kept(change: dict[str, Any], polls: Viewer, folder: Path) -> None:
    task = following(polls, "Ann")
    good = {"ticket": task["ticket"], "rater": "Ann", "choice": "left", "seconds": 1}
    status, told = send(polls, **{**good, **change})
    assert 400 <= status < 500
    assert told["error"]
    assert not (folder / "first" / "votes").exists()


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"{", b"\xff", b"[" * 9000, b'{"rater": NaN}'])
def test_what_is_no_json_is_refused(body: bytes, polls: Viewer) -> None:
    headers = {"Origin": polls.address, "Content-Type": "application/json", "Content-Length": str(len(body))}
    answer = polls.ask("POST", f"/run/{polls.id_of('first')}/votes", headers, body)
    assert 400 <= answer.status < 500


def test_a_vote_on_an_edit_that_was_made_anew_does_not_count(polls: Viewer, folder: Path) -> None:
    vote(polls, following(polls, "Ann"), "Ann", "left")
    run = Run(folder / "first")
    line = kept_votes(folder / "first")[0]
    (folder / "first" / next(e.image for e in run.results.edits if e.key == line.left_key)).unlink()
    votes = Run(folder / "first").analysis("votes")
    assert (votes.votes, votes.outdated) == (0, 1)


def test_what_is_exported_is_what_agreement_reads(polls: Viewer, folder: Path, tmp_path: Path) -> None:
    for rater in ("Ann", "Ben"):
        task = following(polls, rater)
        for number in range(20):
            task = vote(polls, task, rater, ("left", "right", "tie")[number % 3])
    run = Run(folder / "first")
    write_votes(run.records.votes, run.results.samples, tmp_path / "people.csv", every=False)
    rows = read_people_file(tmp_path / "people.csv")
    assert {row.rater for row in rows} == {"Ann", "Ben"}
    assert run.analysis("agreement", people=tmp_path / "people.csv").people.people == 2


def test_votes_of_a_link_are_not_written(polls: Viewer, folder: Path, tmp_path: Path) -> None:
    task = following(polls, "Ann")
    (tmp_path / "elsewhere").mkdir()
    (folder / "first" / "votes").symlink_to(tmp_path / "elsewhere")
    status, told = send(polls, ticket=task["ticket"], rater="Ann", choice="left", seconds=1)
    assert (status, list((tmp_path / "elsewhere").iterdir())) == (507, [])
    assert "is a link" in told["error"]


def test_people_s_scores_replace_nothing_unasked(polls: Viewer, folder: Path, tmp_path: Path) -> None:
    vote(polls, following(polls, "=SUM(A1)"), "=SUM(A1)", "left")
    made, file, link = Run(folder / "first"), tmp_path / "mine.csv", tmp_path / "link.csv"

    def write(to: Path, force: bool) -> None:
        write_votes(made.records.votes, made.results.samples, to, every=False, force=force)

    file.write_text("mine")
    link.symlink_to(file)
    for to, force, why in ((file, False, "--force"), (link, True, "link")):
        with pytest.raises(ConfigurationError, match=why):
            write(to, force)
    assert file.read_text() == "mine"
    write(file, True)
    assert ",=" not in file.read_text()
    assert {rating.rater for rating in read_people_file(file)} == {"=SUM(A1)"}
