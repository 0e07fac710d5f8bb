"""A run in one file: read as the run is, and refused in one line where it is not whole or not a run's."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import stat
import time
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from command_lines import Command, caller, one_error, yaml_file
from documents import plain
from drawn_pages import read_page
from edit_eval import ConfigurationError, Run, RunDirectoryError, evaluate
from edit_eval.benchmarks.known_sources import with_known_sources
from edit_eval.files.user_cache import cache_folder
from edit_eval.plugins.gc.holdings import find_holdings
from edit_eval.plugins.page.export import export, write_run_file
from edit_eval.plugins.push.sending import push
from edit_eval.plugins.serve.scoring import table_of
from edit_eval.plugins.viewer.runs import Runs
from edit_eval.privacy import hide_folders, map_texts
from edit_eval.store import run_file
from edit_eval.store.run_directory import COPY
from edit_eval.store.run_file import find_run_file, open_run_path
from small_benchmark import configuration, sample_id, write_benchmark

command = pytest.fixture(caller)
Members = dict[str, bytes]


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two edit models, one of them a folder of finished edits, with an edit that failed and one without a score."""
    folder = tmp_path_factory.mktemp("sent")
    write_benchmark(folder, 6, (640, 480))
    (folder / "finished").mkdir()
    for number in range(5):
        noise = random.Random(number).randbytes(3 * 640 * 480)
        Image.frombytes("RGB", (640, 480), noise).save(folder / "finished" / f"{sample_id(number)}.png")
    asked = configuration(folder, judge={"fail": [sample_id(1)]}, evaluation={"min_coverage": 0, "repeats": 2})
    asked["edit_models"] = {
        "own": asked.pop("diffusion_model"),
        "finished": {"type": "image_folder", "params": {"folder": str(folder / "finished")}},
    }
    run = evaluate(asked, run_dir=folder / "run").path
    (run / "votes").mkdir()
    return run


@pytest.fixture(scope="module")
def sent(made: Path) -> Path:
    file = made.parent / "run.edit-eval"
    write_run_file(Run(made), file)
    return file


def numbers(run: Run) -> object:
    """All that its summary says, but notes, and folders in reasons."""
    return map_texts(hide_folders, {key: value for key, value in plain(run.summary).items() if key != "notes"})


def members_of(file: Path) -> Members:
    with zipfile.ZipFile(file) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def pack(file: Path, members: Members, *, listed: bool = True) -> Path:
    """Packs members as a stranger might, with an honest list where one is wanted."""
    if listed:
        said = json.loads(members[COPY])
        said["members"] = {name: hashlib.sha256(data).hexdigest() for name, data in members.items() if name != COPY}
        members = {**members, COPY: json.dumps(said).encode()}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in members.items():
            packed.writestr(name, data)
    return file


def refusal(file: Path) -> str:
    """Why it is no run, in one line that names it and what to do."""
    with pytest.raises(RunDirectoryError) as refused:
        _ = Run(file).results
    said = str(refused.value)
    assert len(said.splitlines()) == 1
    assert said.startswith(f"{file} is no run: ")
    assert "edit-eval export RUN --to NAME.edit-eval" in said
    return said


# -- whole --


def test_it_is_read_as_the_run_is(made: Path, sent: Path) -> None:
    was, now = Run(made), Run(sent)
    assert numbers(was) == numbers(now)
    edits = [
        [replace(edit, image=edit.image and "x", file_bytes=0, reason="") for edit in run.results.edits]
        for run in (was, now)
    ]
    assert edits[0] == edits[1]
    rows = [[(row.status, row.scores, row.answer) for row in run.results.judgements] for run in (was, now)]
    assert rows[0] == rows[1]
    assert [note for note in now.results.provenance.notes if "small copies, of at most 512 pixels" in note]
    assert now.results.name == "run"


def test_it_goes_by_the_name_that_it_was_opened_by(sent: Path, made: Path) -> None:
    assert find_run_file(open_run_path(sent)) == sent
    assert find_run_file(made) == made


def test_it_is_small_and_the_same_bytes_each_time(made: Path, sent: Path, tmp_path: Path) -> None:
    pictures = sum(path.stat().st_size for path in (made / "images").rglob("*.png"))
    assert sent.stat().st_size < pictures / 4  # of noise, which nothing makes smaller but pixels
    write_run_file(Run(made), tmp_path / "again.edit-eval")
    assert (tmp_path / "again.edit-eval").read_bytes() == sent.read_bytes()
    for edit in Run(sent).results.edits:
        if edit.image:
            with Image.open(Run(sent).path / edit.image) as picture:
                assert max(picture.size) == 512


def test_no_folder_of_this_machine_is_in_it(made: Path, sent: Path) -> None:
    records = {name: data for name, data in members_of(sent).items() if not name.startswith("images/")}
    folders = [str(made.parent), os.getcwd(), str(Path.home()), str(cache_folder())]
    assert not [(name, folder) for name, data in records.items() for folder in folders if folder.encode() in data]
    assert not [name for name in records if name.startswith(("logs/", "report/", "trackers/", "holder"))]


@pytest.mark.parametrize("verb", ["report", "status", "compare", "leaderboard"])
def test_verbs_open_it(command: Command, sent: Path, made: Path, verb: str) -> None:
    of_file, of_run = command(verb, sent, "--json"), command(verb, made, "--json")
    assert of_file.code == of_run.code == 0, of_file.err
    if verb != "report":
        read = json.dumps(of_file.document)
        assert read.count("finished") == json.dumps(of_run.document).count("finished") > 0


def test_the_viewer_shows_it(sent: Path) -> None:
    runs = Runs([sent])
    runs.poll_changes()
    [card] = runs.cards.values()
    assert (card.name, card.state, card.models) == ("run", "complete", ["own", "finished"])
    assert len(card.pictures) == 3


def test_the_command_says_what_it_wrote(command: Command, made: Path, tmp_path: Path) -> None:
    done = command("export", made, "--to", tmp_path / "a.edit-eval", "--size", 64)
    assert done.code == 0, done.err
    assert "11 edits, 0 sources" in done.out
    one_error(command("export", made, tmp_path / "a.edit-eval"), 2, "--force")
    one_error(command("export", made), 2, "say once where")
    one_error(command("export", made, tmp_path / "b.edit-eval", "--samples", tmp_path), 2, "--samples is for a report")
    one_error(command("export", made, tmp_path / "b.html", "--sources"), 2, "--sources is for a run in one file")


def test_sources_are_missing_or_come_with_it(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bare, whole = tmp_path / "bare.edit-eval", tmp_path / "whole.edit-eval"
    assert write_run_file(Run(made), bare).sources == 0
    assert write_run_file(Run(made), whole, sources=True).sources == 6
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    assert [sample.source for sample in with_known_sources(Run(bare).results.samples)] == [""] * 6
    Run(bare).write_report()
    assert "source_missing" in read_page(Run(bare).path / "report" / "index.html")
    shown = with_known_sources(Run(whole).results.samples)
    assert all(sample.source.startswith(str(tmp_path / "elsewhere")) for sample in shown)


def test_gc_clears_what_was_not_opened_lately(sent: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = Run(sent).path
    [item] = [item for item in find_holdings([]).items if item.what == "opened"]
    assert not item.goes
    past = time.time() - 90 * 86400
    for path in folder.rglob("*"):
        os.utime(path, (past, past))
    [item] = [item for item in find_holdings([]).items if item.what == "opened"]
    assert item.goes
    assert (Run(sent).path / COPY).stat().st_mtime > past  # opening it is using it


# -- what needs the pictures as they were made --


def test_it_is_not_gone_on_with_nor_judged_nor_sent_as_if_whole(
    command: Command, made: Path, sent: Path, tmp_path: Path
) -> None:
    folder = Run(sent).path
    config = yaml_file(made.parent)
    one_error(command("run", config, "--run-dir", folder), 2, "came in one file")
    one_error(command("run", config, "--run-dir", tmp_path / "new", "--reuse", folder), 2, "came in one file")
    with pytest.raises(RunDirectoryError, match="came in one file"):
        table_of(Run(sent))
    pytest.importorskip("pyarrow")
    with pytest.raises(RunDirectoryError, match="came in one file"):
        push(Run(sent), "me/it", dry_run=True)


# -- damaged, or a stranger's --


@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 0.98, 0.9999])
def test_cut_short(sent: Path, tmp_path: Path, share: float) -> None:
    file = tmp_path / "cut.edit-eval"
    data = sent.read_bytes()
    file.write_bytes(data[: int(share * len(data))])
    assert "cut short or damaged" in refusal(file)


def test_a_byte_that_is_another(sent: Path, tmp_path: Path) -> None:
    """It is refused in one line, or is one that says nothing of the run, as a date of the zip."""
    data, file, refused = sent.read_bytes(), tmp_path / "flipped.edit-eval", 0
    for place in random.Random(0).sample(range(len(data)), 30):
        file.write_bytes(data[:place] + bytes([data[place] ^ 0x10]) + data[place + 1 :])
        if (said := _what_is_said_of(file)) is None:
            assert numbers(Run(file)) == numbers(Run(sent))
        else:
            refused += 1
            assert str(file) in said
            assert len(said.splitlines()) == 1
    assert refused > 20


def _what_is_said_of(file: Path) -> str | None:
    try:
        _ = Run(file).summary
    except RunDirectoryError as error:
        return str(error)
    return None


def _add(name: str, data: bytes = b"x") -> Callable[[Members], Members]:
    return lambda members: {**members, name: data}


HOSTILE: dict[str, tuple[Callable[[Members], Members], str]] = {
    "up": (_add("../evil.txt"), "none of a run"),
    "up within": (_add("images/../../../evil-aaaaaaaaaaaa.png"), "none of a run"),
    "absolute": (_add("/tmp/evil"), "none of a run"),
    "Windows's": (_add("images\\..\\evil-aaaaaaaaaaaa.png"), "none of a run"),
    "a folder for a model": (_add("images/../x-aaaaaaaaaaaa.png"), "none of a run"),
    "a program": (_add("config/evil.py"), "none of a run"),
    "a mark": (_add("edit-eval-run.txt"), "none of a run"),
    "a report": (_add("report/index.html", b"<script>"), "none of a run"),
    "a line": (_add("logs/edit-a\nb.log"), "none of a run"),
    "a picture that is none": (_add(f"sources/{'a' * 64}.png"), "not a picture"),
    "another picture": (lambda m: {**m, f"sources/{'a' * 64}.webp": m[min(n for n in m if "images" in n)]}, "another"),
    "another format": (lambda m: {**m, COPY: m[COPY].replace(b'"format":1', b'"format":9')}, "format 9"),
    "a list that is none": (lambda m: {**m, COPY: b'{"members": 3, "format": 1, "side": 2}'}, "members"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_members_that_no_run_has(sent: Path, tmp_path: Path, name: str) -> None:
    change, words = HOSTILE[name]
    members = change(members_of(sent))
    file = pack(tmp_path / "x.edit-eval", members, listed=b'"members": 3' not in members[COPY])
    before = sorted(path for path in tmp_path.parent.rglob("*") if "evil" in path.name)
    assert words in refusal(file)
    assert sorted(path for path in tmp_path.parent.rglob("*") if "evil" in path.name) == before


def test_a_member_too_many_too_few_or_twice(sent: Path, tmp_path: Path) -> None:
    members = members_of(sent)
    assert "differ in 'edits/0009.jsonl'" in refusal(
        pack(tmp_path / "a.edit-eval", {**members, "edits/0009.jsonl": b""}, listed=False)
    )
    fewer = {name: data for name, data in members.items() if not name.startswith("replies/")}
    assert "differ in 'replies/0001.jsonl'" in refusal(pack(tmp_path / "b.edit-eval", fewer, listed=False))
    other = {**members, "edits/0001.jsonl": members["edits/0001.jsonl"][:-1]}
    assert "not what its list says" in refusal(pack(tmp_path / "c.edit-eval", other, listed=False))
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(tmp_path / "c.edit-eval", "a") as packed:
        packed.writestr("edits/0001.jsonl", b"")
    assert "two members of one name" in refusal(tmp_path / "c.edit-eval")


def test_a_link_and_a_password(sent: Path, tmp_path: Path) -> None:
    file = tmp_path / "link.edit-eval"
    shutil.copy(sent, file)
    with zipfile.ZipFile(file, "a") as packed:
        link = zipfile.ZipInfo("environment/0007.json")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        packed.writestr(link, "/etc/passwd")
    assert "is a link" in refusal(file)
    data = bytearray(sent.read_bytes())
    place = data.rindex(b"PK\x01\x02")
    data[place + 8] |= 1
    file.write_bytes(bytes(data))
    assert "password" in refusal(file)


def test_what_grows_when_it_is_unpacked(sent: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    zeros = bytes(100 << 20)
    bomb = pack(tmp_path / "bomb.edit-eval", {**members_of(sent), "edits/0002.jsonl": zeros})
    monkeypatch.setattr(run_file, "MOST_BYTES", 1 << 20)
    monkeypatch.setattr(run_file, "EXPANDS", 10)
    assert "bytes unpacked" in refusal(bomb)
    monkeypatch.undo()
    monkeypatch.setattr(run_file, "MOST_READ", 50 << 20)
    assert "larger than any" in refusal(bomb)


def test_the_wrong_file_is_named_the_right_one(command: Command, made: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.zip"
    assert command("export", made, page).code == 0
    assert "it is a page to look at: unpack it" in refusal(page)
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as other:
        other.writestr("a.txt", "a")
    assert "another zip" in refusal(tmp_path / "other.zip")
    (tmp_path / "page.html").write_text("<html>")
    assert "not a zip" in refusal(tmp_path / "page.html")
    one_error(command("view", tmp_path / "page.html"), 2, "is no run")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(RunDirectoryError, match="not a run directory"):
        _ = Run(tmp_path / "pipe").results
    with pytest.raises(ConfigurationError, match=r"or .edit-eval, the run itself"):
        export(Run(made).results, None, tmp_path / "a.pdf", language="en")
