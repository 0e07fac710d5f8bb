"""Journals that are cut and whose bits are flipped: nothing false is believed, nothing else is lost, `run` mends it."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from documents import plain
from edit_eval.plugins.status.sheet import status_document
from edit_eval.records import Status
from edit_eval.reporting.results_sheet import print_summary
from edit_eval.reporting.terminal_text import stdout_console
from edit_eval.run import Run, compare
from edit_eval.store.journal import Damage, read, seal
from edit_eval.store.run_directory import RunDirectory
from faults.faulty_runs import TWO_QUESTIONS, Ears, copied, images, lines, report_of, run, verdicts

JOURNALS = ("edits", "replies")


@pytest.fixture(scope="module")
def asked_twice(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A clean run in which one question is asked with the reply to another."""
    return run(tmp_path_factory.mktemp("asked_twice"), **TWO_QUESTIONS)


def damages(data: bytes, how: str, every: int) -> Iterator[bytes]:
    """`data` cut at, or with a bit flipped in, one place in `every`."""
    draw = random.Random(len(data))
    places = range(len(data)) if how == "cut" else range(8 * len(data))
    for place in places if every == 1 else draw.sample(places, len(places) // every):
        if how == "cut":
            yield data[:place]
        else:
            changed = bytearray(data)
            changed[place // 8] ^= 1 << place % 8
            yield bytes(changed)


@pytest.mark.parametrize("every", [199, pytest.param(1, marks=pytest.mark.chaos)])
@pytest.mark.parametrize("how", ["cut", "flip"])
@pytest.mark.parametrize("journal", JOURNALS)
def test_nothing_false_is_believed_and_nothing_else_is_lost(
    tmp_path: Path, undisturbed: Run, journal: str, how: str, every: int
) -> None:
    believe_only_what_is_whole(undisturbed, tmp_path, journal, how, every)


@pytest.mark.parametrize("every", [499, pytest.param(1, marks=pytest.mark.chaos)])
@pytest.mark.parametrize("how", ["cut", "flip"])
def test_nor_where_a_question_was_asked_with_the_reply_to_another(
    tmp_path: Path, asked_twice: Run, how: str, every: int
) -> None:
    believe_only_what_is_whole(asked_twice, tmp_path, "replies", how, every)


def believe_only_what_is_whole(made: Run, tmp_path: Path, journal: str, how: str, every: int) -> None:
    """Each line counts as it was written, or not at all; each verdict is what it was, or is still to come."""
    folder = copied(made, tmp_path)
    path = folder / journal / "0001.jsonl"
    data = path.read_bytes()
    whole = lines(folder, journal)
    truth = {v[0]: v for v in verdicts(made)}
    for count, damaged in enumerate(damages(data, how, every)):
        path.write_bytes(damaged)
        damage = Damage()
        kept = list(read(folder / journal, damage))
        assert all(record in whole for record in kept)
        if how == "cut":
            assert kept == whole[: damaged.count(b"\n")] or kept == whole[: damaged.count(b"\n") + 1]
            assert damage.total <= 1
        else:
            assert len(kept) >= len(whole) - 1, "one bit costs one line at most"
            assert damage.total >= 1, "and is seen"
        if count % (199 if every == 1 else 10):
            continue  # the rest follows from what was read, and takes fifty times as long
        for verdict in verdicts(Run(folder)):
            assert verdict == truth[str(verdict[0])] or verdict[5] is Status.PENDING


@pytest.mark.parametrize("lost", ["followed", "kept"])
def test_a_lost_reply_alone_is_asked_for_again(tmp_path: Path, asked_twice: Run, lost: str) -> None:
    """The reply to the other question counts: it was given to the very words that are asked now."""
    folder = copied(asked_twice, tmp_path)
    path = folder / "replies" / "0001.jsonl"
    kept = [line for line in path.read_bytes().splitlines(keepends=True) if f'"question":"{lost}"'.encode() not in line]
    assert len(kept) == len(lines(asked_twice.path, "replies")) - 9 == 9
    path.write_bytes(b"".join(kept))
    assert {j.status for j in Run(folder).results.judgements} == {Status.PENDING}
    made = run(tmp_path, **TWO_QUESTIONS)
    assert verdicts(made) == verdicts(asked_twice)
    assert [reply["question"] for reply in lines(folder, "replies")[9:]] == [lost] * 9


def test_what_was_said_to_other_words_does_not_count(tmp_path: Path, asked_twice: Run) -> None:
    """The first replies about three samples are others by now: nobody has answered the second question to those."""
    folder = copied(asked_twice, tmp_path)
    replies = lines(folder, "replies")
    changed = [reply for reply in replies if reply["question"] == "followed"][:3]
    for reply in changed:
        reply["text"] = "9.75"
    (folder / "replies" / "0001.jsonl").write_bytes(b"".join(map(seal, replies)))
    pending = {j.sample_id for j in Run(folder).results.judgements if j.status is Status.PENDING}
    assert pending == {reply["sample"] for reply in changed}
    made = run(tmp_path, **TWO_QUESTIONS)
    assert {j.scores["followed"] for j in made.results.judgements if j.sample_id in pending} == {9.75}
    again = lines(folder, "replies")[18:]
    assert {(reply["question"], reply["sample"]) for reply in again} == {("kept", sample) for sample in pending}


@pytest.mark.parametrize("how", ["cut", "flip"])
def test_run_notices_counts_and_redoes(tmp_path: Path, undisturbed: Run, how: str) -> None:
    folder = copied(undisturbed, tmp_path)
    for journal in JOURNALS:
        path = folder / journal / "0001.jsonl"
        data = path.read_bytes()
        second_line = data.index(b"\n") + 50
        if how == "cut":
            path.write_bytes(data[:-30])
        else:
            path.write_bytes(data[:second_line] + bytes([data[second_line] ^ 4]) + data[second_line + 1 :])
    before = {journal: len(lines(folder, journal)) for journal in JOURNALS}
    ears = Ears()
    made = run(tmp_path, ears=ears)
    left_out = "2 damaged lines in the journals were left out (edits 1, replies 1)"
    assert left_out in ears.notes
    assert made.summary.notes == [left_out], "they are still there, and their work was done again"
    assert any("8 of 9 edits" in note for note in ears.notes)
    assert verdicts(made) == verdicts(undisturbed)
    assert report_of(made) == report_of(undisturbed)
    assert images(folder) == images(undisturbed.path)
    assert {journal: len(lines(folder, journal)) - before[journal] for journal in JOURNALS} == {
        "edits": 1,
        "replies": 1,
    }
    again = Ears()
    run(tmp_path, ears=again)
    assert any(note.startswith("Nothing to do") for note in again.notes)


def test_every_reader_of_a_run_says_how_many_lines_were_left_out(
    tmp_path: Path, undisturbed: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = copied(undisturbed, tmp_path)
    for journal in ("edits", "replies", "events", "samples"):
        path = folder / journal / "0001.jsonl"
        path.write_bytes(b"x" + path.read_bytes()[1:])
    left_out = "4 damaged lines in the journals were left out (edits 1, events 1, replies 1, samples 1)"
    made = Run(folder)
    assert made.results.provenance.notes == (left_out,)
    assert made.summary.notes == [left_out]
    assert plain(status_document(Run(folder).results))["notes"] == [left_out]
    print_summary(made.summary, stdout_console(), language="en")
    assert left_out in " ".join(capsys.readouterr().out.split())
    assert any(note.endswith(f"/run: {left_out}") for note in compare([Run(folder), undisturbed]).notes)
    made.write_report()
    for name in ("summary.json", "report.md", "index.html"):
        assert left_out in (folder / "report" / name).read_text(), name


def test_a_journal_that_is_read_twice_is_counted_once(undisturbed: Run, tmp_path: Path) -> None:
    folder = copied(undisturbed, tmp_path)
    path = folder / "edits" / "0001.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    directory = RunDirectory(folder)
    for _ in range(2):
        list(directory.read("edits"))
    assert directory.damage.note == "1 damaged line in the journals was left out (edits 1)"


def test_a_changed_newline_costs_nothing(undisturbed: Run, tmp_path: Path) -> None:
    folder = copied(undisturbed, tmp_path)
    path = folder / "replies" / "0001.jsonl"
    whole = lines(folder, "replies")
    path.write_bytes(path.read_bytes().replace(b"\n", b"\x0b", 2))
    damage = Damage()
    assert list(read(folder / "replies", damage)) == whole
    assert damage.total == 1


def test_zeros_at_the_end_as_a_power_cut_leaves_them(undisturbed: Run, tmp_path: Path) -> None:
    folder = copied(undisturbed, tmp_path)
    path = folder / "edits" / "0001.jsonl"
    whole = lines(folder, "edits")
    path.write_bytes(path.read_bytes() + bytes(4096))
    damage = Damage()
    assert list(read(folder / "edits", damage)) == whole
    assert damage.total == 1


@pytest.mark.parametrize("how", ["gone", "longer", "shorter"])
def test_a_picture_of_another_size_is_noticed_counted_and_made_again(
    tmp_path: Path, undisturbed: Run, how: str
) -> None:
    folder = copied(undisturbed, tmp_path)
    victims = [folder / e.image for e in Run(folder).results.edits[2:4]]
    for victim in victims:
        if how == "gone":
            victim.unlink()
        else:
            victim.write_bytes(victim.read_bytes() + b"x" if how == "longer" else victim.read_bytes()[:-1])
    ears = Ears()
    made = run(tmp_path, ears=ears)
    assert "2 pictures are missing or of the wrong size: made again" in ears.notes
    assert verdicts(made) == verdicts(undisturbed)
    assert images(folder) == images(undisturbed.path)
    assert len(lines(folder, "edits")) == len(lines(undisturbed.path, "edits")) + 2
    assert len(lines(folder, "replies")) == len(lines(undisturbed.path, "replies")), "the answers still count"


def test_a_description_that_is_damaged_is_known_not_to_be_whole(tmp_path: Path, undisturbed: Run) -> None:
    folder = copied(undisturbed, tmp_path)
    directory = RunDirectory(folder)
    said = (directory.configuration(), directory.read_resolved_configuration(), directory.samples())
    assert directory.says(*said)
    assert not directory.says({**said[0], "evaluation": {}}, *said[1:])
    for name in ("config/0001.yaml", "config/0001.json", "samples/0001.jsonl"):
        whole = (folder / name).read_bytes()
        middle = len(whole) // 2
        for damaged in (whole[:middle], whole[:middle] + bytes([whole[middle] ^ 16]) + whole[middle + 1 :], b""):
            (folder / name).write_bytes(damaged)
            assert not RunDirectory(folder).says(*said), name
        (folder / name).write_bytes(whole)
    assert RunDirectory(folder).says(*said)
    shutil.rmtree(folder / "samples")
    assert not RunDirectory(folder).says(*said)
