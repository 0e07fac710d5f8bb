"""Each benchmark of others' reads what its authors hand out: miniatures of their files, by a listing with its sources.

What lies on the hub comes through a small hub, by the configuration that a user would write: so the patterns of what is
downloaded are those of the listing, too.
"""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import io
import itertools
import json
import re
import shlex
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmarks.five_dimension_files import picture
from edit_eval.benchmarks.row_benchmark import RowBenchmark
from edit_eval.config.components import import_class
from edit_eval.files.addresses import is_address
from edit_eval.files.hub import Repository
from edit_eval.plugins.published import imgedit
from late_imports import Late
from own_components import built_in
from small_hub import SmallHub

pyarrow, parquet = Late("pyarrow"), Late("pyarrow.parquet")

LISTED = yaml.safe_load((Path(__file__).parent / "published_files.yaml").read_text("utf-8"))
COUNT = itertools.count()


def made(name: str, what: Any) -> bytes:
    """A file of the listing."""
    if what == "picture":
        return picture(0, "JPEG" if name.endswith(".jpg") else "PNG", size=(16 + next(COUNT), 12))
    if what == "other":
        return b"not for us"
    if "form" not in what:
        return packed(name, what)
    rows, form = what["rows"], what["form"]
    if form == "csv":
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue().encode("utf-8-sig")
    if form == "parquet":
        file = io.BytesIO()
        plain = {"string": pyarrow.string(), "bool": pyarrow.bool_(), "int32": pyarrow.int32()}
        image = pyarrow.struct([("bytes", pyarrow.binary()), ("path", pyarrow.string())])
        box = pyarrow.struct([(side, pyarrow.float64()) for side in ("x", "y", "width", "height")])
        asked = pyarrow.struct([("question", plain["string"]), ("answer", plain["string"]), ("box", box)])
        plain["strings"] = pyarrow.list_(plain["string"])
        answered = pyarrow.struct([(name, plain["string"]) for name in ("question", "answer", "label")])
        types = {
            "image": image,
            "answered": pyarrow.list_(answered),
            "images": pyarrow.list_(image),
            "questions": pyarrow.list_(asked),
            **plain,
        }
        schema = pyarrow.schema([(column, types[kind]) for column, kind in what["columns"].items()])
        cells = [{key: held(cell) for key, cell in row.items()} for row in rows]
        parquet.write_table(pyarrow.Table.from_pylist(cells, schema=schema), file)
        return file.getvalue()
    lines = "\n".join(json.dumps(row) for row in rows) if form == "lines" else json.dumps(rows, ensure_ascii=False)
    return lines.encode()


def held(cell: Any) -> Any:
    """A cell as a hub's file has it."""
    if isinstance(cell, list):
        return [held(part) for part in cell]
    return {"bytes": made("x.png", cell), "path": None} if cell == "picture" else cell


def packed(name: str, members: Mapping[str, Any]) -> bytes:
    file = io.BytesIO()
    if name.endswith(".zip"):
        with zipfile.ZipFile(file, "w") as archive:
            for member, what in members.items():
                archive.writestr(member, made(member, what))
        return file.getvalue()
    with tarfile.open(fileobj=file, mode="w") as tar:
        for member, what in members.items():
            data = made(member, what)
            about = tarfile.TarInfo(member)
            about.size = len(data)
            tar.addfile(about, io.BytesIO(data))
    return file.getvalue()


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SmallHub]:
    pytest.importorskip("huggingface_hub")
    with SmallHub() as server:
        server.stands_in(monkeypatch, tmp_path / "hub")
        yield server


def benchmark_class(name: str) -> type[RowBenchmark]:
    benchmark: type[RowBenchmark] = import_class("benchmark", built_in()["benchmark"][name], Path())
    return benchmark


def repository_of(cls: type[RowBenchmark]) -> str:
    default = next(field.default for field in dataclasses.fields(cls.Parameters) if field.name == "data_path")
    assert is_address(str(default)), "what is on the hub is found without a `data_path`"
    return str(default).removeprefix("hub:").partition("@")[0]


@pytest.mark.parametrize("name", LISTED)
def test_what_is_published_is_read(name: str, hub: SmallHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = LISTED[name]
    cls: Any = benchmark_class(listed.get("benchmark", name))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    if "hub" in listed:
        repository = repository_of(cls)
        hub.put(repository, {path: made(path, what) for path, what in listed["hub"].items()})
        data_path = f"hub:{repository}"
    else:
        data_path = str(tmp_path / "data")
    for path, what in listed.get("unpacked", {}).items():
        (tmp_path / "data" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "data" / path).write_bytes(made(path, what))
    for path, what in listed.get("github", {}).items():
        data = made(path, what)
        held: Any = cls if cls.rows_file else imgedit
        attribute = "rows_file" if cls.rows_file else "UGE_ROWS"
        rows = dataclasses.replace(getattr(held, attribute), digest=hashlib.sha256(data).hexdigest())
        assert rows.path == path
        rows.place.parent.mkdir(parents=True)
        rows.place.write_bytes(data)
        monkeypatch.setattr(held, attribute, rows)

    for read in listed["reads"]:
        parameters = {"data_path": data_path, "cache_dir": str(tmp_path / "cache"), **read["parameters"]}
        samples = list(cls(cls.Parameters(**parameters)).samples())
        assert [sample.fault for sample in samples] == [""] * read["samples"]
        assert [*dict.fromkeys(sample.category for sample in samples)] == read["categories"]
        assert samples[0].id == read["first"]
        digests = [image.digest for sample in samples for image in sample.pictures.values()]
        assert len({*digests}) == len(digests), "no sample has the picture of another"
        if {"asks", "questions"} & {*samples[0].facts}:
            asking = import_class("protocol", built_in()["protocol"][cls.protocol], Path())
            given = asking.Parameters()
            protocol = asking(given, asking.texts(given))
            assert all(protocol.questions(sample) for sample in samples)

    fetched = {line.partition("/resolve/")[2].partition("/")[2] for line in hub.asked_for_data}
    assert fetched == {path for path, what in listed.get("hub", {}).items() if what != "other"}


@pytest.mark.parametrize("name", [name for name, listed in LISTED.items() if "hub" in listed])
def test_a_download_by_hand_brings_no_more(name: str) -> None:
    cls = benchmark_class(name)
    words = shlex.split(Repository(repository_of(cls)).command(cls.wanted))
    patterns = [word for before, word in itertools.pairwise(words) if before == "--include"]
    assert words == [
        *("hf", "download", repository_of(cls), "--repo-type", "dataset"),
        *(word for pattern in patterns for word in ("--include", pattern)),
    ]
    for path, what in LISTED[name]["hub"].items():
        assert any(fnmatch(path, pattern) for pattern in patterns) == (what != "other"), path


def test_every_benchmark_of_others_is_listed_with_its_source() -> None:
    registered = {name: benchmark_class(name) for name in built_in()["benchmark"]}
    ours = {"five_dimensions", "table", "scenes", "ladder"}
    ours |= {"mmrb2", "genai_bench", "editreward_bench"}  # which test_people_choices.py reads
    assert {listed.get("benchmark", name) for name, listed in LISTED.items()} == {*registered} - ours
    for listed in LISTED.values():
        assert all(re.search(r"\w+/[\w-]+@|as above|the card of", source) for source in listed["source"][:1])
