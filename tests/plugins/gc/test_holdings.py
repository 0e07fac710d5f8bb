"""What can go goes, and nothing that a run still names or that is not ours; links, and runs at work, are left alone."""

from __future__ import annotations

import io
import os
import shutil
from pathlib import Path

import pytest

from command_lines import Command, caller, one_error, yaml_file
from edit_eval import evaluate
from edit_eval.benchmarks.source_cache import CachedSource, SourceCache
from edit_eval.files.user_cache import cache_folder
from edit_eval.run import Run
from edit_eval.store.run_directory import RunDirectory, is_written_by_us
from edit_eval.store.run_folders import list_registered_runs, remember_run
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
    _old(cache_folder() / "scenes/64x48-seed0-0123456789ab/1.png")
    _old(cache_folder() / "passports/x.json")
    for source in (sample.source for sample in Run(tmp_path / "runs/a").results.samples):
        mine = tmp_path / "cache" / Path(source).relative_to(made / "cache")
        os.utime(mine, (0, 0))
    (tmp_path / "runs/a/images/.tmp-1-x").write_bytes(b"half")
    (tmp_path / "runs/a/report/thumbnails").mkdir(parents=True, exist_ok=True)
    (tmp_path / "runs/a/report/thumbnails/00112233445566778899aabbccddeeff.webp").write_bytes(b"small")
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
    assert "runs/a/report/thumbnails/00112233445566778899aabbccddeeff.webp" in gone
    assert {name for name in gone if "/logs/" not in name and "/thumbnails/" not in name} == {
        f"cache/edit-eval/sources/00/{UNUSED}.png",
        "cache/edit-eval/scenes/64x48-seed0-0123456789ab/1.png",
        "runs/a/images/.tmp-1-x",
    }
    assert Run(place / "runs/a").has_required_coverage
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
    done = command("gc", "--run", "runs/b", "--delete", "--yes")
    assert done.code == 0
    assert not (place / "runs/b").exists()
    assert Run(place / "runs/a").has_required_coverage
    refused = command("gc", "--run", "cache", "--delete")
    one_error(refused, 2, "--run cache")


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
    done = command("gc", "--run", "runs/a", "--delete", "--yes", "--days", "0", "--json").document
    assert _files(treasure) == {f"00/{UNUSED}.png"}
    [run] = [item for item in done["items"] if item["what"] == "run"]
    assert "is a link" in run["why"]
    assert (place / "runs/a/config").is_dir()


def test_what_a_run_that_cannot_be_read_may_need_stays(command: Command, place: Path) -> None:
    (place / "runs/a/images/elsewhere").symlink_to(place)
    items = command("gc", "--json").document["items"]
    assert not [item for item in items if item["can_go"] and item["what"] in ("sources", "scenes")]
    assert "cannot be read, and may need it" in " ".join(item["why"] for item in items)


def test_a_folder_that_only_looks_like_a_run_is_left_alone(command: Command, place: Path) -> None:
    """Anybody's thesis may have a `config/` with numbered files, and `logs/`."""
    for name in ("config/01_train.yaml", "config/0001.yaml", "logs/train.log", "logs/judge-x-cpu0.log", ".git/HEAD"):
        _old(place / "thesis" / name)
    _old(place / "thesis/.tmp-1-x")
    _old(place / "thesis/report/thumbnails" / f"{'0' * 32}.webp")
    before = _files(place / "thesis")
    assert command("gc", ".", "thesis", "--delete", "--days", "0").code == 0
    one_error(command("gc", "--run", "thesis", "--delete", "--yes"), 2, "--run thesis")
    (place / "thesis/edit-eval-run.txt").symlink_to(place / "runs/a/edit-eval-run.txt")
    one_error(command("gc", "--run", "thesis", "--delete", "--yes"), 2, "--run thesis")
    (place / "thesis/edit-eval-run.txt").unlink()
    assert _files(place / "thesis") == before
    one_error(command("run", yaml_file(place), "--run-dir", "thesis"), 2, "not a run directory")
    assert _files(place / "thesis") == before


STRANGERS = (".git/HEAD", "notes.md", "logs/train.log", "images/holiday.png", "report/.tmp-of-mine", ".tmp-mine")


def test_a_strangers_file_in_a_run_stays(command: Command, place: Path) -> None:
    for name in STRANGERS:
        _old(place / "runs/a" / name)
    assert command("gc", "runs/a", "--delete").code == 0
    assert _files(place / "runs/a") >= {*STRANGERS, "edit-eval-run.txt"}
    done = command("gc", "--run", "runs/a", "--delete", "--yes", "--json")
    [run] = [item for item in done.document["items"] if item["what"] == "run"]
    assert "6 files in it" in run["why"]
    assert _files(place / "runs/a") == set(STRANGERS)


def test_all_that_a_run_writes_is_known_as_ours(command: Command, made: Path) -> None:
    run = Run(made / "runs/a")
    run.write_report()
    names = _files(run.path)
    assert {"report/index.html", "edit-eval-run.txt"} < names
    assert [name for name in sorted(names) if not is_written_by_us(name)] == []


def test_all_that_a_shard_writes_is_known_as_ours(place: Path) -> None:
    write_benchmark(place, 2)
    asked = configuration(place, execution={"load_concurrency": 2})
    made = evaluate(asked, run_dir=place / "shards", shard="1/1", report=False)
    names = _files(made.path)
    assert any(name.startswith("shards/") for name in names)
    assert [name for name in sorted(names) if not is_written_by_us(name)] == []


def test_strangers_files_in_the_cache_stay(command: Command, place: Path) -> None:
    strangers = {"sources/mine/x.png", "sources/00/mine.png", "scenes/mine/x.png", "page/mine.js", "runs/mine"}
    for name in strangers:
        _old(cache_folder() / name)
    assert command("gc", "--delete", "--days", "0").code == 0
    assert _files(cache_folder()) >= strangers


def test_a_whole_run_is_asked_for(command: Command, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = _files(place)
    one_error(command("gc", "--run", "runs/a", "--delete"), 2, "--yes")
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    assert command("gc", "--run", "runs/a", "--delete").code == 0
    assert _files(place) == before
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    assert command("gc", "--run", "runs/a", "--delete").code == 0
    assert not (place / "runs/a").exists()


class Terminal(io.StringIO):
    """Where somebody types."""

    def isatty(self) -> bool:
        return True


def test_a_run_on_a_disk_that_is_not_mounted_keeps_its_sources(
    command: Command, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As it looks: the folder on which the disk is mounted is empty, and no mount point any more."""
    (place / "disk").mkdir()
    shutil.move(place / "runs/a", place / "disk/a")
    shutil.rmtree(cache_folder() / "runs")
    mounted, ismount = {str(place / "disk")}, os.path.ismount
    monkeypatch.setattr(os.path, "ismount", lambda path: str(path) in mounted or ismount(path))
    remember_run(place / "disk/a")
    monkeypatch.chdir(place)
    (place / "disk").rename(place / "unplugged")
    (place / "disk").mkdir()
    mounted.clear()
    before = _files(cache_folder())
    shown = command("gc", "--delete", "--json").document
    assert _files(cache_folder()) == before
    assert not [item for item in shown["items"] if item["can_go"]]

    (place / "disk").rmdir()
    (place / "unplugged").rename(place / "disk")
    mounted.add(str(place / "disk"))
    shown = command("gc", "--delete", "--json").document
    assert {item["what"] for item in shown["items"] if item["can_go"]} == {"sources", "scenes"}
    assert Run(place / "disk/a").has_required_coverage

    shutil.rmtree(place / "disk/a")  # gone for good, since its disk is there
    shown = command("gc", "--delete", "--json").document
    assert {item["what"] for item in shown["items"] if item["can_go"]} == {"sources", "runs"}


def test_a_run_that_was_deleted_with_its_disk_can_be_forgotten(
    command: Command, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def going() -> set[str]:
        return {item["what"] for item in command("gc", "--json").document["items"] if item["can_go"]}

    mounted = {"/", str(place / "disk")}
    monkeypatch.setattr(os.path, "ismount", lambda path: str(path) in mounted)
    (place / "disk/b").mkdir(parents=True)
    remember_run(place / "disk/b")
    mounted.discard(str(place / "disk"))
    shutil.rmtree(place / "disk")
    assert "sources" not in going()
    assert command("gc", "--run", "disk/b", "--delete", "--yes").code == 0
    assert str(place / "disk/b") not in [str(run.path) for run in list_registered_runs().values()]


def test_an_index_cannot_have_a_picture_elsewhere_removed(tmp_path: Path) -> None:
    mine = tmp_path / "mine.png"
    _old(mine)
    cache = SourceCache(str(tmp_path / "cache"))
    assert not cache.drop_if_altered(CachedSource(str(mine), UNUSED, 1, "png", 0))
    _old(tmp_path / "cache/mine/.tmp-1-aabbccddeeff")
    _old(tmp_path / "cache/00/.tmp-1-aabbccddeeff")
    cache.sweep()
    assert _files(tmp_path) == {"mine.png", "cache/mine/.tmp-1-aabbccddeeff"}
