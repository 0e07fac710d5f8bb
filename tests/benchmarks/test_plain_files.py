"""What lies in a benchmark's folder is read; what a link in it leads to is not, and a pipe is a fault and no wait."""

from __future__ import annotations

import csv
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.authors_files import Authors
from benchmarks.five_dimension_files import picture
from edit_eval.benchmarks.file_tree import FileTree
from edit_eval.benchmarks.parquet_rows import parquet_files
from edit_eval.benchmarks.plain_files import PlainFiles
from edit_eval.benchmarks.table import TableBenchmark
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.published.gedit import GEdit
from edit_eval.plugins.published.imgedit import ImgEdit
from edit_eval.plugins.published.magicbrush import MagicBrush
from edit_eval.records import Sample
from late_imports import Late

pyarrow, parquet = Late("pyarrow"), Late("pyarrow.parquet")


SECRET = picture(99)
WAITS = 60.0  # seconds; a reader of a pipe would wait for ever


@pytest.fixture(autouse=True)
def nothing_waits() -> Iterator[None]:
    """Lets go whoever waits at a pipe, so that a test that would hang fails instead."""
    pipes: list[str] = []
    made = os.mkfifo

    def noted(path: Any) -> None:
        made(path)
        pipes.append(os.fspath(path))

    def let_go() -> None:
        for pipe in pipes:
            os.close(os.open(pipe, os.O_RDWR))

    timer = threading.Timer(WAITS, let_go)
    timer.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "mkfifo", noted)
        yield
    timer.cancel()


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "a.png").write_bytes(SECRET)
    (tmp_path / "bench").mkdir()
    return tmp_path / "bench"


def samples(path: Path, *pictures: str, **parameters: Any) -> list[Sample]:
    folder = path if path.is_dir() else path.parent
    if pictures:
        with open(folder / "my.csv", "w", newline="") as file:
            csv.writer(file).writerows([("image", "prompt"), *((name, "Add a hat.") for name in pictures)])
    cache = str(folder.parent / "cache")
    return list(TableBenchmark(TableBenchmark.Parameters(str(path), cache_dir=cache, **parameters)).samples())


def has_secret(cache: Path) -> bool:
    return any(file.is_file() and file.read_bytes() == SECRET for file in cache.rglob("*"))


def link(place: Path, to: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(to)


def test_a_tables_links_lead_out_only_where_they_are_allowed(bench: Path) -> None:
    private = bench.parent / "private"
    link(bench / "x.png", private / "a.png")
    link(bench / "d", private)
    link(bench / "gone.png", private / "none.png")
    linked = samples(bench / "my.csv", "x.png", "d/a.png", "d/../x.png", "gone.png")
    assert all("points outside" in sample.fault and "`allow_links: true`" in sample.fault for sample in linked)
    assert not has_secret(bench.parent / "cache")
    allowed = samples(bench / "my.csv", "x.png", "d/a.png", allow_links=True)
    assert [(sample.fault, Path(sample.source).read_bytes()) for sample in allowed] == [("", SECRET)] * 2
    assert all(sample.fault for sample in samples(bench / "my.csv")), "what was allowed once is not allowed for good"


def test_links_within_the_folder_and_a_folder_that_is_a_link_itself_are_plain(bench: Path) -> None:
    (bench / "real").mkdir()
    (bench / "real" / "a.png").write_bytes(picture(1))
    link(bench / "b.png", bench / "real" / "a.png")
    link(bench / "pics", bench / "real")
    link(bench.parent / "other", bench)
    assert [sample.fault for sample in samples(bench.parent / "other", "b.png", "pics/a.png")] == ["", ""]
    link(bench.parent / "elsewhere.csv", bench / "my.csv")
    linked = samples(bench.parent / "elsewhere.csv", pictures_path=str(bench))
    assert [sample.fault for sample in linked] == ["", ""], "the user names the table"


@pytest.mark.parametrize("kind", ["datasets--o--n", "o--n"])
def test_the_hubs_cache_is_made_of_links_into_itself_alone(bench: Path, kind: str) -> None:
    repository = bench.parent / "hub" / kind
    snapshot = repository / "snapshots" / ("a" * 40)
    (repository / "blobs").mkdir(parents=True)
    (repository / "blobs" / "1").write_bytes(picture(1))
    link(snapshot / "pics" / "0.png", Path("../../../blobs/1"))
    link(snapshot / "pics" / "1.png", bench.parent / "private" / "a.png")
    first, second = samples(snapshot, "pics/0.png", "pics/1.png")
    assert (first.fault == "") is (kind == "datasets--o--n")
    assert "`allow_links: true`" in second.fault


def test_a_table_in_a_folder_is_a_file_of_it(bench: Path) -> None:
    private = bench.parent / "private"
    (bench / "0.png").write_bytes(picture(0))
    for name, text in (("metadata.csv", "image,prompt\n0.png,secret"), ("0.txt", "secret"), ("b.parquet", "secret")):
        (private / name).write_text(text)
        link(bench / name, private / name)
        with pytest.raises(ConfigurationError, match=r"points outside .*`allow_links: true`"):
            samples(bench)
        (bench / name).unlink()
    link(bench / "metadata.csv", private / "metadata.csv")
    assert [sample.instruction for sample in samples(bench, allow_links=True)] == ["secret"]


def test_authors_files_and_their_archives(bench: Path) -> None:
    private = bench.parent / "private"
    authors = Authors(bench, ImgEdit)
    row = {"id": "replace/0.png", "prompt": "Add.", "edit_type": "add"}
    authors.write({"basic_edit.json": {"1": row}, "private.zip": b"no zip"})
    (authors.folder / "private.zip").rename(private / "private.zip")
    link(authors.folder / "singleturn" / "replace" / "0.png", private / "a.png")
    (sample,) = authors.samples()
    assert "`allow_links: true`" in sample.fault
    (sample,) = authors.samples(allow_links=True)
    assert sample.fault == ""
    link(authors.folder / "Benchmark.zip", private / "private.zip")
    with pytest.raises(ConfigurationError, match="`allow_links: true`"):
        authors.samples()
    (authors.folder / "Benchmark.zip").unlink()
    (authors.folder / "basic_edit.json").rename(private / "basic_edit.json")
    link(authors.folder / "basic_edit.json", private / "basic_edit.json")
    with pytest.raises(ConfigurationError, match="`allow_links: true`"):
        authors.samples()
    (sample,) = authors.samples(data_path=str(authors.folder / "basic_edit.json"))
    assert "no source" in sample.fault, "the user names the file; its pictures are the folder's"


def test_a_pipe_is_a_fault_and_no_wait(bench: Path) -> None:
    os.mkfifo(bench / "x.png")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(bench / "s.png"))
    link(bench / "zero.png", Path("/dev/zero"))
    special = samples(bench / "my.csv", "x.png", "s.png", "zero.png", ".", allow_links=True)
    assert ["a pipe or a device, not a plain file" in sample.fault for sample in special] == [True] * 4
    os.mkfifo(bench / "pipe.csv")
    with pytest.raises(ConfigurationError, match=r"pipe\.csv is a folder, a pipe or a device"):
        samples(bench / "pipe.csv")


@pytest.mark.parametrize("name", ["basic_edit.json", "singleturn/replace/0.png", "more.zip", "more.tar"])
def test_a_pipe_among_authors_files(bench: Path, name: str) -> None:
    authors = Authors(bench, ImgEdit)
    row = {"id": "replace/0.png", "prompt": "Add.", "edit_type": "add"}
    authors.write({"basic_edit.json": {"1": row}, "singleturn/replace/0.png": picture(1)})
    (authors.folder / name).unlink(missing_ok=True)
    os.mkfifo(authors.folder / name)
    if name.endswith(".png"):
        assert "a pipe or a device, not a plain file" in authors.samples()[0].fault
    else:
        with pytest.raises(ConfigurationError, match=r"a pipe or a device, not a plain file|is not a file"):
            authors.samples()


@pytest.mark.parametrize("benchmark", [GEdit, MagicBrush])
@pytest.mark.parametrize("what", ["pipe", "link"])
def test_parquet_files(bench: Path, benchmark: Any, what: str) -> None:
    pytest.importorskip("pyarrow")
    authors = Authors(bench, benchmark)
    authors.folder.mkdir()
    if what == "pipe":
        os.mkfifo(authors.folder / "a.parquet")
    else:
        link(authors.folder / "a.parquet", bench.parent / "private" / "a.png")
    with pytest.raises(ConfigurationError, match="a pipe or a device" if what == "pipe" else "`allow_links: true`"):
        authors.samples()


def test_what_is_not_there_is_not_refused(bench: Path) -> None:
    assert PlainFiles(bench).refusal_reason(bench / "none.png", "none.png") == ""
    with pytest.raises(LookupError, match=r"cannot be read \(No such file"):
        PlainFiles(bench).read(bench / "none.png", "none.png")


def test_folders_that_are_links_are_walked_where_they_may_be_and_never_in_a_circle(bench: Path) -> None:
    (bench / "set" / "pictures").mkdir(parents=True)
    (bench / "set" / "pictures" / "0.png").write_bytes(picture(1))
    link(bench / "hard", bench / "set")
    link(bench / "set" / "up", bench)
    link(bench / "set" / "round", bench / "set" / "round")
    link(bench / "out", bench.parent / "private")
    names = [file.relative_to(bench).as_posix() for file in PlainFiles(bench).walk()]
    assert {"set/pictures/0.png", "hard/pictures/0.png"} < set(names)
    assert "out/a.png" not in names
    assert len(names) < 10
    assert any(file.name == "a.png" for file in PlainFiles(bench, allow_links=True).walk())
    tree = FileTree(bench)
    for name in ("hard/pictures/0.png", "set/pictures/0.png", "0.png"):
        assert tree.read(tree.find(name)) == picture(1), "one file, whatever it is called"
    assert len(tree.first_named(["0.png"])) == 1


def test_what_the_authors_publish_is_found_behind_a_linked_folder(bench: Path) -> None:
    blobs = bench / "store"
    blobs.mkdir()
    table = pyarrow.table({"key": ["a"]})
    parquet.write_table(table, blobs / "train-00000-of-00001.parquet")
    link(bench / "data", blobs)
    assert [file.name for file in parquet_files(str(bench))] == ["train-00000-of-00001.parquet"], "once"
    away = bench.parent / "away"
    away.mkdir()
    parquet.write_table(table, away / "more.parquet")
    link(bench / "away", away)
    assert len(parquet_files(str(bench))) == 1
    assert len(parquet_files(str(bench), allow_links=True)) == 2


def test_many_links_to_one_another_are_walked_in_little_time(bench: Path) -> None:
    for level in range(24):
        (bench / f"{level}").mkdir()
        (bench / f"{level}" / "a.png").write_bytes(b"")
        for name in ("left", "right"):
            link(bench / f"{level}" / name, bench / f"{level + 1}")
    assert len(PlainFiles(bench).walk()) < 100
