"""Taking over what another run has done: equal keys, what ended well, and a run that stands on its own afterwards."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from edit_eval.records import Reply, Status
from edit_eval.store.matrix import Matrix
from edit_eval.store.recall import edit_record, load_run_journals
from edit_eval.store.run_directory import CannotWrite, RunDirectory
from edit_eval.store.run_folders import reuse as reuse_and_carry
from edit_eval.store.votes import Ballot, VoteLine, carry_votes, read_votes
from small_matrix import Asking, ask, give_reply, made_edit, reply_line, small_matrix, small_samples


def reuse(source: RunDirectory, directory: RunDirectory, matrix: Matrix) -> str:
    return reuse_and_carry(source, directory, matrix, carry_votes)


def started(path: Path) -> RunDirectory:
    directory = RunDirectory(path)
    directory.begin()
    directory.write_configuration({}, {})
    return directory


def finished(path: Path, matrix: Matrix, replies: dict[int, list[str]] | None = None) -> RunDirectory:
    """A run in which every edit was made, and every cell given its replies (`Score: 8`)."""
    directory = started(path)
    for number in range(len(matrix.edits)):
        matrix.set_edit(number, made_edit(matrix, number, directory))
        directory.append("edits", edit_record(matrix.edits[number]))
    for cell in range(len(matrix.cells)):
        for again, text in enumerate((replies or {}).get(cell, ["Score: 8"])):
            line = reply_line(matrix, cell, Reply(text=text, seconds=0.1, device="cuda:3"), again)
            give_reply(matrix, cell, Reply(text=text))
            directory.append("replies", line)
    directory.end()
    return RunDirectory.open_existing(path)


def scores(matrix: Matrix) -> list[float | None]:
    return [judgement.score for judgement in matrix.judgements()]


def test_edits_and_judgements_with_equal_keys_are_taken(tmp_path: Path) -> None:
    theirs = small_matrix(3)
    source = finished(tmp_path / "theirs", theirs)
    directory, mine = started(tmp_path / "mine"), small_matrix(3, models=("painter",))
    assert reuse(source, directory, mine) == f"{source.path}: 3 edits and 3 judgements are reused"
    directory.end()
    assert scores(mine) == [8.0] * 3
    assert [(e.pixels, e.seconds, e.device) for e in mine.edits] == [
        (e.pixels, e.seconds, e.device) for e in theirs.edits
    ]
    alone = small_matrix(3)
    reader = RunDirectory.open_existing(directory.path)
    assert load_run_journals(alone, reader) == []
    assert list(alone.judgements()) == list(mine.judgements()), "the records of this run say it all"
    assert all(r["reused_from"] == str(source.path) for name in ("edits", "replies") for r in reader.read(name))


def test_votes_on_the_very_same_edits_come_along_once(tmp_path: Path) -> None:
    theirs = small_matrix(3, models=("painter", "drawer"))
    source = finished(tmp_path / "theirs", theirs)
    a, b = (next(edit for edit in theirs.edits if edit.edit_model == name) for name in ("painter", "drawer"))
    line = VoteLine("t", "ann", a.sample_id, 0, "painter", "drawer", a.key, b.key, "left", 1.0, "telling", 1.0, 1.0)
    elsewhere = msgspec.structs.replace(line, ticket="u", left_key="another")
    with closing(Ballot(source.path)) as ballot:
        ballot.add(line, elsewhere)
    directory, mine = started(tmp_path / "mine"), small_matrix(3, models=("painter", "drawer"))
    assert reuse(source, directory, mine).endswith(" and 1 vote are reused")
    assert " vote" not in reuse(source, directory, mine)
    votes = read_votes(directory.path, mine.edits)
    assert (votes.lines, votes.outdated) == ((line,), 0)
    directory.end()


def test_a_run_that_was_reused_may_be_deleted(tmp_path: Path) -> None:
    source = finished(tmp_path / "theirs", small_matrix(1))
    directory, mine = started(tmp_path / "mine"), small_matrix(1)
    reuse(source, directory, mine)
    directory.end()
    (source.path / mine.edits[0].image).unlink()
    assert (directory.path / mine.edits[0].image).stat().st_size == mine.edits[0].file_bytes


def test_what_has_another_key_is_not_taken(tmp_path: Path) -> None:
    source = finished(tmp_path / "theirs", small_matrix(2))
    directory, mine = started(tmp_path / "mine"), small_matrix(2, seed=1)
    assert "0 edits and 0 judgements" in reuse(source, directory, mine)
    mine = small_matrix(2, judges=("another",))
    assert "2 edits and 0 judgements" in reuse(source, directory, mine)
    directory.end()


def test_what_is_here_already_is_not_taken_again(tmp_path: Path) -> None:
    source = finished(tmp_path / "theirs", small_matrix(2))
    directory, mine = started(tmp_path / "mine"), small_matrix(2)
    mine.set_edit(0, made_edit(mine, 0, directory, 77))
    give_reply(mine, 0, Reply(text="Score: 3"))
    assert "1 edit and 1 judgement" in reuse(source, directory, mine)
    assert scores(mine) == [3.0, 8.0]
    assert "0 edits and 0 judgements" in reuse(source, directory, mine)
    directory.end()


def test_an_edit_that_is_here_takes_the_judgement_of_equal_pixels(tmp_path: Path) -> None:
    source = finished(tmp_path / "theirs", small_matrix(1))
    directory, mine = started(tmp_path / "mine"), small_matrix(1, models=("another",))
    mine.set_edit(0, made_edit(mine, 0, directory, 0))
    assert "0 edits and 1 judgement" in reuse(source, directory, mine)
    directory.end()
    record = next(iter(RunDirectory.open_existing(directory.path).read("replies")))
    assert record["edit_model"] == "another"


@pytest.mark.parametrize("trouble", ["failed", "damaged since", "gone", "of another size", "elsewhere"])
def test_only_edits_that_ended_well_are_taken(tmp_path: Path, trouble: str) -> None:
    theirs = small_matrix(2)
    source = finished(tmp_path / "theirs", theirs)
    again = started(source.path)
    edit = edit_record(theirs.edits[0])
    picture = source.path / edit["image"]
    if trouble == "failed":
        again.append("edits", {**edit, "status": "edit_failed", "reason": "black", "image": ""})
    elif trouble == "damaged since":
        again.append("edits", {**edit, "status": "pending", "image": "", "pixels": ""})
    elif trouble == "gone":
        picture.unlink()
    elif trouble == "of another size":
        picture.write_bytes(b"")
    else:
        stranger = tmp_path / "secret"
        stranger.write_bytes(picture.read_bytes())
        again.append("edits", {**edit, "image": "../secret"})
    again.end()
    directory, mine = started(tmp_path / "mine"), small_matrix(2)
    assert "1 edit and 1 judgement" in reuse(RunDirectory.open_existing(source.path), directory, mine)
    assert [e.status for e in mine.edits] == [Status.PENDING, Status.OK]
    assert len(list((directory.path / "images").rglob("*.png"))) == 1
    directory.end()


def test_only_what_could_be_read_is_taken_and_then_all_that_was_said(tmp_path: Path) -> None:
    theirs = small_matrix(4, retries=2)
    texts = {0: ["hm", "Score: 7"], 1: ["hm", "hm", "hm"], 2: ["Score: 11"] * 3, 3: []}
    source = finished(tmp_path / "theirs", theirs, texts)
    directory, mine = started(tmp_path / "mine"), small_matrix(4)
    assert "4 edits and 1 judgement" in reuse(source, directory, mine)
    directory.end()
    assert [j.status.value for j in mine.judgements()] == ["ok", "pending", "pending", "pending"]
    kept = [r["text"] for r in RunDirectory.open_existing(directory.path).read("replies")]
    assert kept == ["hm", "Score: 7"], "as it was asked there"


def test_of_a_cell_that_was_asked_anew_the_last_replies_are_taken(tmp_path: Path) -> None:
    theirs = small_matrix(1)
    source = finished(tmp_path / "theirs", theirs)
    again = started(source.path)
    again.append("replies", reply_line(theirs, 0, Reply(text="Score: 3"), 0))
    again.end()
    directory, mine = started(tmp_path / "mine"), small_matrix(1)
    reuse(RunDirectory.open_existing(source.path), directory, mine)
    directory.end()
    assert [r["text"] for r in RunDirectory.open_existing(directory.path).read("replies")] == ["Score: 3"]
    assert scores(mine) == [3.0]


def test_every_seed_and_repeat_takes_its_own(tmp_path: Path) -> None:
    shape = {"edit_seeds": 2, "repeats": 2}
    texts = {n: [f"Score: {n}"] for n in range(8)}
    source = finished(tmp_path / "theirs", small_matrix(2, **shape), texts)
    directory, mine = started(tmp_path / "mine"), small_matrix(2, **shape)
    reuse(source, directory, mine)
    directory.end()
    assert [mine.judgement(n).score for n in range(8)] == [float(n) for n in range(8)]


def test_a_disk_that_refuses_a_picture_is_one_line(tmp_path: Path) -> None:
    source = finished(tmp_path / "theirs", small_matrix(1))
    directory, mine = started(tmp_path / "mine"), small_matrix(1)
    (directory.path / "images").write_text("a file where a folder belongs")
    with pytest.raises(CannotWrite, match="cannot be written"):
        reuse(source, directory, mine)
    directory.end()


def test_lines_of_somebody_else_are_left_out(tmp_path: Path) -> None:
    source = finished(tmp_path / "theirs", small_matrix(2))
    again = started(source.path)
    again.append("edits", {"key": small_matrix(2).edits[0].key, "status": "ok"})
    again.append("replies", {"key": 7})
    again.end()
    directory, mine = started(tmp_path / "mine"), small_matrix(2)
    assert "2 edits and 2 judgements" in reuse(RunDirectory.open_existing(source.path), directory, mine)
    directory.end()


STEPS = Asking([ask("a"), ask("b", user="after {a}", after=("a",)), ask("c")])


def test_questions_are_taken_one_by_one_and_those_that_depend_on_another_with_it(tmp_path: Path) -> None:
    source = finished(tmp_path / "theirs", small_matrix(1, protocol=STEPS), {cell: ["7"] for cell in range(3)})
    directory = started(tmp_path / "mine")
    changed = Asking([ask("a", user="else"), *STEPS.asked[1:]])
    for protocol, said in ((STEPS, "1 edit and 1 judgement"), (changed, "0 judgements")):
        mine = small_matrix(1, protocol=protocol)
        assert said in reuse(source, directory, mine)
        taken = [bool(mine.replies(cell)) for cell in range(len(mine.cells))]
        assert taken == ([True] * 3 if protocol is STEPS else [False, False, True])
    directory.end()


def test_controls_and_followers_are_taken_too(tmp_path: Path) -> None:
    samples = small_samples(4, follows={3: 0})
    source = finished(tmp_path / "theirs", small_matrix(samples, controls=2))
    directory, mine = started(tmp_path / "mine"), small_matrix(samples, controls=2)
    assert "4 edits and 10 judgements" in reuse(source, directory, mine)
    assert mine.pending == 0
    directory.end()
