"""Pictures that are no edits, and pictures that are no longer what was recorded: neither ever becomes a number."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from drawn_pages import read_page
from edit_eval import evaluate
from edit_eval.execution.engine import blame
from edit_eval.pictures import open_picture
from edit_eval.records import Status
from edit_eval.run import Run
from edit_eval.store.matrix import Matrix
from edit_eval.store.recall import load_run_journals
from edit_eval.store.run_directory import RunDirectory
from faults.faulty_runs import Ears, copied, faulty, images, lines, run, settings, verdicts
from small_benchmark import numbers, sample_id, write_benchmark

FAILED = {
    "nan": "NaN",
    "infinite": "infinity",
    "black": "black image",
    "array": "returned list",
    "list": "returned list",
    "none": "returned bool",
    "empty": "empty picture",
    "bomb": "above the limit of 50 million pixels",
    "truncated": "cannot be decoded",
}
SCORED = {
    "unchanged": ("identical_to_source",),
    "wide": ("other_aspect_ratio",),
    "small": (),
    "transparent": ("identical_to_source",),
}


def test_what_is_no_edit_fails_with_its_reason_and_what_is_odd_is_flagged_and_scored(tmp_path: Path) -> None:
    deeds = {sample_id(n): deed for n, deed in enumerate([*FAILED, *SCORED])}
    write_benchmark(tmp_path, len(deeds))
    model = faulty("Painter", device_ids="cpu:2", folder=str(tmp_path), does=deeds)
    made = run(tmp_path, **model)
    by_deed = {deeds[e.sample_id]: e for e in made.results.edits}
    for deed, word in FAILED.items():
        assert by_deed[deed].status is Status.EDIT_FAILED, deed
        assert word in by_deed[deed].reason
        assert "damaged" not in by_deed[deed].reason, "it is seen before it is written"
        assert "\n" not in by_deed[deed].reason
        assert not by_deed[deed].image
    for deed, flags in SCORED.items():
        assert (by_deed[deed].status, by_deed[deed].flags) == (Status.OK, flags), deed
    scored = [j for j in made.results.judgements if j.score is not None]
    assert {deeds[j.sample_id] for j in scored} == set(SCORED)
    attempts = [r for r in lines(made.path, "edits") if r["sample_id"] == sample_id(list(FAILED).index("nan"))]
    assert len(attempts) == 1, "what the picture itself says is final"


def changed_pixel(path: Path) -> None:
    """Another picture in a file of the same size."""
    size = path.stat().st_size
    picture = open_picture(path)
    for shade in range(256):
        picture.putpixel((3, 3), (shade, 2, 3))
        picture.save(path, compress_level=9)
        if path.stat().st_size <= size:
            path.write_bytes(path.read_bytes().ljust(size, b"\0"))
            return
    raise AssertionError("no picture of that size")


def flipped_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def zeros(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def of_another_sample(path: Path) -> None:
    size = path.stat().st_size
    (other,) = [p for p in path.parent.glob("*.png") if p.name.startswith(sample_id(7))]
    path.write_bytes(other.read_bytes()[:size].ljust(size, b"\0"))


CHANGES = [changed_pixel, flipped_bit, zeros, of_another_sample]


@pytest.mark.parametrize("change", CHANGES)
def test_a_judge_never_judges_a_picture_that_was_changed(
    tmp_path: Path, undisturbed: Run, change: Callable[[Path], None]
) -> None:
    """The size is as recorded, so only who reads the pixels can know. Another judge is to read them now."""
    folder = copied(undisturbed, tmp_path)
    victim = folder / Run(folder).results.edits[2].image
    whole = victim.read_bytes()
    change(victim)
    assert len(victim.read_bytes()) == len(whole)
    made = run(tmp_path, judge={"answers": {}, "default_answer": "Score: 6.000"})
    assert {j.score for j in made.results.judgements} == {6.0}
    assert victim.read_bytes() == whole, "it was made again"
    remade = lines(folder, "edits")[9:]
    assert [(r["sample_id"], r["status"]) for r in remade] == [(sample_id(2), "pending"), (sample_id(2), "ok")]
    assert remade[0]["reason"]


@pytest.mark.parametrize("change", CHANGES)
def test_verifying_finds_every_changed_picture(
    tmp_path: Path, undisturbed: Run, change: Callable[[Path], None]
) -> None:
    folder = copied(undisturbed, tmp_path)
    for edit in Run(folder).results.edits[2:4]:
        change(folder / edit.image)
    assert all(e.status is Status.OK for e in Run(folder).results.edits), "the size alone does not tell"
    matrix, noticed = recalled(folder, verify=True)
    assert [e.sample_id for e in matrix.edits if e.status is Status.PENDING] == [sample_id(2), sample_id(3)]
    (note,) = noticed
    assert note.startswith("2 pictures are not what was recorded (")
    assert note.endswith("): made again")


def test_verifying_a_whole_run_finds_nothing(undisturbed: Run) -> None:
    matrix, noticed = recalled(undisturbed.path, verify=True)
    assert not noticed
    assert {e.status for e in matrix.edits} == {Status.OK}


def recalled(folder: Path, **how: Any) -> tuple[Any, list[str]]:
    """A run's matrix as its journals are recalled, and what was noticed."""
    matrix = Matrix(Run(folder).experiment)
    return matrix, load_run_journals(matrix, RunDirectory.open_existing(folder), **how)


def test_a_picture_that_is_damaged_again_and_again_is_given_up(tmp_path: Path, undisturbed: Run) -> None:
    """Two runs in one folder, a failing disk: what is written does not stay."""
    folder = copied(undisturbed, tmp_path)
    victim = folder / Run(folder).results.edits[2].image
    flipped_bit(victim)

    class Vandal(Ears):
        def edit(self, edit: Any) -> None:
            if edit.status is Status.OK:
                flipped_bit(victim)

    made = run(tmp_path, judge={"answers": {}, "default_answer": "Score: 6.000"}, ears=Vandal())
    (failed,) = [e for e in made.results.edits if e.status is not Status.OK]
    assert failed.reason.startswith("damaged twice")
    assert numbers(made.summary).n == 8


@pytest.mark.parametrize("again_after", [(), (0.1,)])
def test_a_picture_that_is_cut_off_before_the_next_edit_is_made_of_it_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, again_after: tuple[float, ...]
) -> None:
    """Its critic has seen it; the other judge may see before or after the edit model that it is another one."""
    monkeypatch.setattr(blame, "AGAIN_AFTER", again_after)
    what = settings(tmp_path, judge={"answers": {}, "default_answer": "Score: 3.000"})
    judge = {**what.pop("reward_model"), "protocol": {"answer": "reason_then_score"}}
    what |= {"judges": {"critic": judge, "one": judge}, "rounds": {"critic": "critic", "max": 2, "from": "last"}}
    what["judges"]["one"] = {**judge, "params": {**judge["params"], "default_answer": "Score: 4.000"}}
    clean = evaluate(what, run_dir=tmp_path / "clean", report=False)
    cut: list[Path] = []

    class Vandal(Ears):
        def judgement(self, judgement: Any) -> None:
            if not cut and judgement.judge == "critic":
                edits = {(edit.sample_id, edit.edit_model): edit.image for edit in clean.results.edits}
                cut.append(tmp_path / "run" / edits[judgement.sample_id, judgement.edit_model])
                cut[0].write_bytes(cut[0].read_bytes()[:-20])

    made = evaluate(what, run_dir=tmp_path / "run", report=False, spectator=Vandal())
    assert cut
    assert [edit.reason for edit in made.results.edits if edit.status is not Status.OK] == []
    assert verdicts(made) == verdicts(clean)
    assert images(made.path) == images(clean.path)


@pytest.mark.parametrize("image", ["../secret.png", "images/../../secret.png", "/etc/passwd", ""])
def test_a_record_cannot_make_us_read_elsewhere(tmp_path: Path, undisturbed: Run, image: str) -> None:
    """A run directory from a stranger: its lines have good checksums, and name a file of ours."""
    from edit_eval.store.journal import seal

    folder = copied(undisturbed, tmp_path)
    records = lines(folder, "edits")
    victim = records[-1]
    secret = tmp_path / "secret.png"
    shutil.copy(folder / victim["image"], secret)
    victim["image"] = image or str(secret)
    victim.pop("crc", None)
    (folder / "edits" / "0001.jsonl").write_bytes(b"".join(map(seal, records)))
    (pending,) = [e for e in Run(folder).results.edits if e.status is Status.PENDING]
    assert pending.sample_id == victim["sample_id"]
    made = run(tmp_path)
    assert verdicts(made) == verdicts(undisturbed)
    assert images(folder) == images(undisturbed.path)


OPENED = """
import os, runpy, sys
run, *known = (os.path.realpath(path) for path in sys.argv[1:])
import edit_eval.run, edit_eval.reporting.report
inside = (run + os.sep, *(path + os.sep for path in (*sys.path, sys.prefix, sys.base_prefix, *known) if path))
def heard(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes)):
        path = os.path.realpath(os.path.abspath(os.fsdecode(arguments[0])))
        if not os.path.isdir(path) and not path.startswith((*inside, "/dev/", "/sys/", "/proc/", "/usr/", "/etc/")):
            print("opened", path)
sys.addaudithook(heard)
sys.argv = ["evaluation", sys.argv[1]]
try:
    runpy.run_module("edit_eval.verbs.drawing", run_name="__main__")
except SystemExit as end:
    print("ended", end.code)
"""


@pytest.mark.check
def test_a_strangers_run_has_the_report_open_nothing_outside_of_it(
    tmp_path: Path, undisturbed: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its sources name a picture of ours, the digest of which it knows, and a pipe."""
    from edit_eval.store.journal import seal

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "empty"))
    folder = copied(undisturbed, tmp_path)
    secret = tmp_path / "secret.png"
    shutil.copy(next((folder / "images").rglob("*.png")), secret)
    os.mkfifo(tmp_path / "pipe.png")
    records = lines(folder, "samples")
    for record in records:
        record.pop("crc", None)
        record["pictures"]["source"] = {"path": str(secret), "digest": hashlib.sha256(secret.read_bytes()).hexdigest()}
    records[1]["pictures"]["source"]["path"] = str(tmp_path / "pipe.png")
    records[2]["pictures"]["source"]["path"] = "../secret.png"
    (folder / "samples" / "0001.jsonl").write_bytes(b"".join(map(seal, records)))
    command = [sys.executable, "-c", OPENED, str(folder), str(tmp_path / "empty")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.stdout.splitlines() == ["ended 0"], done
    page = read_page(folder / "report" / "index.html")
    assert "secret.png" not in page
    assert '"missing":"source_missing"' in page


def test_a_report_shows_the_sources_that_were_used_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache of the user"))
    made = evaluate(settings(tmp_path, benchmark={"limit": 1}), run_dir=tmp_path / "run")
    missing = '"missing":"source_missing"'
    assert missing not in read_page(made.page)
    Run(made.path).write_report()
    assert missing not in read_page(made.page)
    shutil.rmtree(tmp_path / "cache of the user")
    Run(made.path).write_report()
    assert missing in read_page(made.page), "nobody here knows them"


@pytest.mark.parametrize("verify", [False, True])
def test_a_source_that_is_another_picture_by_now_is_taken_from_the_benchmark_again(
    tmp_path: Path, undisturbed: Run, verify: bool
) -> None:
    """Of equal size in the cache; `run --verify` sees it even where the file system tells nothing."""
    victim = Path(run(tmp_path).results.samples[3].source)
    whole = victim.read_bytes()
    time.sleep(0.02)  # a file's clock ticks in milliseconds
    changed_pixel(victim)
    if verify:
        (path,) = (tmp_path / "cache" / "indexes").iterdir()
        index = json.loads(path.read_text())
        for finding in index["findings"]:
            for picture in finding["pictures"].values():
                picture["changed"] = os.stat(picture["path"]).st_ctime_ns
        path.write_text(json.dumps(index))
    ears = Ears()
    made = evaluate(settings(tmp_path), run_dir=tmp_path / "another", report=False, spectator=ears, verify=verify)
    assert ("1 source image in the cache is not what was recorded" in " ".join(ears.notes)) is verify
    assert victim.read_bytes() == whole
    assert verdicts(made) == verdicts(undisturbed)
