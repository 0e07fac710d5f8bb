"""What can go goes, and nothing that a run still names; links, and runs at work, are left alone."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from command_lines import Command, caller
from edit_eval import evaluate
from edit_eval.run import Run
from edit_eval.store.run_directory import RunDirectory
from edit_eval.user_cache import cache_folder
from small_benchmark import configuration, write_benchmark

command = pytest.fixture(caller)
UNUSED = "0" * 64


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run and the cache that its sources are in."""
    folder = tmp_path_factory.mktemp("tidied")
    write_benchmark(folder, 3)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        plain = configuration(folder)
        del plain["benchmark"]["cache_dir"]
        evaluate(plain, run_dir=folder / "runs/a", report=False)
    return folder


@pytest.fixture
def place(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of both, with an old source that nobody names and things of a run that can go."""
    shutil.copytree(made / "runs", tmp_path / "runs")
    shutil.copytree(made / "cache", tmp_path / "cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    shelf = cache_folder() / "sources"
    _old(shelf / "00" / f"{UNUSED}.png")
    _old(cache_folder() / "scenes/64x48-seed0-abc/1.png")
    _old(cache_folder() / "passports/x.json")
    for source in (sample.source for sample in Run(tmp_path / "runs/a").results.samples):
        mine = tmp_path / "cache" / Path(source).relative_to(made / "cache")
        os.utime(mine, (0, 0))
    (tmp_path / "runs/a/images/.tmp-1-x").write_bytes(b"half")
    (tmp_path / "runs/a/report/thumbnails").mkdir(parents=True, exist_ok=True)
    (tmp_path / "runs/a/report/thumbnails/x.webp").write_bytes(b"small")
    return tmp_path


def _old(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"old" * 1000)
    os.utime(path, (0, 0))


def _files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file() or path.is_symlink()}


def test_it_only_shows_until_it_is_told_and_then_keeps_what_is_needed(command: Command, place: Path) -> None:
    before = _files(place)
    shown = command("gc", "--json")
    assert shown.code == 0, shown.err
    assert _files(place) == before
    going = {item["what"] for item in shown.document["items"] if item["can_go"]}
    assert going == {"sources", "scenes", "small copies", "temporary files", "logs"}
    assert shown.document["freed"] is None

    done = command("gc", "--delete", "--json")
    assert done.document["freed"] == shown.document["can_go"] > 0
    gone = before - _files(place)
    assert "runs/a/report/thumbnails/x.webp" in gone
    assert {name for name in gone if "/logs/" not in name and "/thumbnails/" not in name} == {
        f"cache/edit-eval/sources/00/{UNUSED}.png",
        "cache/edit-eval/scenes/64x48-seed0-abc/1.png",
        "runs/a/images/.tmp-1-x",
    }
    assert Run(place / "runs/a").reached
    assert "nothing can go" in command("gc").out


def test_a_run_elsewhere_that_was_made_here_keeps_its_sources(command: Command, place: Path, made: Path) -> None:
    shutil.rmtree(place / "runs")  # the cache remembers the one that it is a copy of
    kept = command("gc", "--json").document
    assert kept["runs"] == [str((made / "runs/a").resolve())]
    why = {item["why"]: item["can_go"] for item in kept["items"] if item["what"] == "sources"}
    assert (why["named by a run"], why["no run names them"]) == (False, True)


def test_a_run_goes_only_where_it_is_named(command: Command, place: Path) -> None:
    shutil.copytree(place / "runs/a", place / "runs/b")
    assert command("gc", "runs/a", "runs/b", "--delete").code == 0
    assert (place / "runs/b/config").is_dir()
    done = command("gc", "--run", "runs/b", "--delete")
    assert done.code == 0
    assert not (place / "runs/b").exists()
    assert Run(place / "runs/a").reached
    refused = command("gc", "--run", "cache", "--delete")
    assert (refused.code, refused.err) == (2, "error: --run cache: not a run directory\n")


def test_a_run_at_work_is_left_alone(command: Command, place: Path) -> None:
    directory = RunDirectory(place / "runs/a")
    directory.begin()
    try:
        before = _files(place / "runs")
        done = command("gc", "runs/a", "--run", "runs/a", "--delete", "--json")
        assert [item["why"] for item in done.document["items"] if item["what"] == "run"] == ["at work"]
        assert _files(place / "runs") == before
    finally:
        directory.end()


def test_no_link_is_followed(command: Command, place: Path) -> None:
    treasure = place / "treasure"
    treasure.mkdir()
    _old(treasure / "00" / f"{UNUSED}.png")
    shutil.rmtree(cache_folder() / "scenes")
    (cache_folder() / "scenes").symlink_to(treasure)
    (cache_folder() / "sources/tt").symlink_to(treasure / "00")
    shutil.rmtree(place / "runs/a/logs")
    (place / "runs/a/logs").symlink_to(treasure)
    done = command("gc", "--run", "runs/a", "--delete", "--days", "0", "--json").document
    assert _files(treasure) == {f"00/{UNUSED}.png"}
    [run] = [item for item in done["items"] if item["what"] == "run"]
    assert "is a link" in run["why"]
    assert (place / "runs/a/config").is_dir()


def test_what_a_run_that_cannot_be_read_may_need_stays(command: Command, place: Path) -> None:
    (place / "runs/a/images/elsewhere").symlink_to(place)
    found = command("gc", "--json").document["items"]
    assert not [item for item in found if item["can_go"] and item["what"] in ("sources", "scenes")]
    assert "cannot be read, and may need it" in " ".join(item["why"] for item in found)
