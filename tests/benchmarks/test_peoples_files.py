"""Files as programs write them and as people have reported them: each comes out as it was meant, or is refused for what
it is. Each row names the report, or the place in the format's description."""

from __future__ import annotations

import base64
import datetime
import decimal
import io
import json
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from edit_eval.benchmarks.table import TableBenchmark
from edit_eval.errors import ConfigurationError

Files = dict[str, Any]
"""What is in the folder: bytes, text, or a function that writes to the path."""


def png(red: int = 0, text: bytes = b"") -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (4, 4), (red, 0, 0)).save(buffer, "PNG")
    data = buffer.getvalue()
    if not text:
        return data
    packed = b"zTXt" + b"workflow\0\0" + zlib.compress(text)
    chunk = struct.pack(">I", len(packed) - 4) + packed + struct.pack(">I", zlib.crc32(packed))
    return data[:33] + chunk + data[33:]


def parquet(**columns: Any) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        arrow, writer = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        made = columns.get("image", [{"bytes": png(), "path": "a.png"}])
        kinds = {name: value(arrow) if callable(value) else value for name, value in columns.items()}
        writer.write_table(arrow.table({"prompt": ["Do"], **kinds, "image": made}), path)

    return write


def twice(path: Path) -> None:
    arrow, writer = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = [arrow.array([{"bytes": png(), "path": "a.png"}]), arrow.array(["a"]), arrow.array(["b"])]
    writer.write_table(arrow.Table.from_arrays(columns, ["image", "prompt", "prompt"]), path)


def arrow_file(form: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        arrow = pytest.importorskip("pyarrow")
        table = arrow.table(
            {"prompt": ["Do", "It"], "image": [{"bytes": png(n), "path": f"{n}.png"} for n in range(2)]}
        )
        with getattr(arrow.ipc, f"new_{form}")(str(path), table.schema) as writer:
            writer.write_table(table)

    return write


LINES = "".join
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
TEN = {"image": [f"{n}.png" for n in range(11)], "prompt": "Do"}
PICTURES = {f"{n}.png": png(n) for n in range(12)}

READ: dict[str, tuple[Files, str, list[tuple[str, str]]]] = {
    # JSON
    "openai chat rows: messages first (OpenAI, fine-tuning format; huggingface/datasets#6914)": (
        {
            "t.jsonl": LINES(
                json.dumps({"messages": [{"role": "user", "content": "x"}], "image": f"{n}.png", "prompt": f"Do {n}"})
                + "\n"
                for n in range(2)
            )
        },
        "t.jsonl",
        [("0", "Do 0"), ("1", "Do 1")],
    ),
    "rows whose first list holds what looks like rows (capitalone/DataProfiler#105)": (
        {
            "t.jsonl": LINES(
                json.dumps({"turns": [{"image": "9.png", "prompt": "No"}], "image": f"{n}.png", "prompt": f"Do {n}"})
                + "\n"
                for n in range(2)
            )
        },
        "t.jsonl",
        [("0", "Do 0"), ("1", "Do 1")],
    ),
    "one row alone, its pictures as objects (huggingface/datasets, Image feature)": (
        {"t.jsonl": json.dumps({"images": [{"path": "0.png"}], "prompt": "Do"})},
        "t.jsonl",
        [("0", "Do")],
    ),
    "to_json() (pandas, DataFrame.to_json: orient columns)": (
        {"t.json": json.dumps({"image": {"0": "0.png", "1": "1.png"}, "prompt": {"0": "Do", "1": "It"}})},
        "t.json",
        [("0", "Do"), ("1", "It")],
    ),
    "to_json(orient='index') (pandas)": (
        {"t.json": json.dumps({"5": {"image": "0.png", "prompt": "Do"}, "7": {"image": "1.png", "prompt": "It"}})},
        "t.json",
        [("0", "Do"), ("1", "It")],
    ),
    "to_json(orient='table') (pandas, JSON Table Schema)": (
        {
            "t.json": json.dumps(
                {"schema": {"fields": [{"name": "image"}]}, "data": [{"image": "0.png", "prompt": "Do"}]}
            )
        },
        "t.json",
        [("0", "Do")],
    ),
    "U+2028 in a string (RFC 8259, 7; wbolster/jsonlines#53)": (
        {"t.jsonl": json.dumps({"image": "0.png", "prompt": "Do\u2028it"}, ensure_ascii=False)},
        "t.jsonl",
        [("0", "Do\u2028it")],
    ),
    "NaN for a missing id (pandas, Integer NA: a column of integers becomes one of floats)": (
        {"t.jsonl": '{"id": 7.0, "image": "0.png", "prompt": "Do"}\n{"id": NaN, "image": "1.png", "prompt": "It"}'},
        "t.jsonl",
        [("7", "Do"), ("00001", "It")],
    ),
    # CSV
    "line ends in a cell (RFC 4180, 2.6)": (
        {"t.csv": 'image,prompt\r\n0.png,"Do\r\nit"\r\n'},
        "t.csv",
        [("0", "Do\r\nit")],
    ),
    "sep=; (Microsoft Excel)": ({"t.csv": "sep=;\nimage;prompt\n0.png;Do, it\n"}, "t.csv", [("0", "Do, it")]),
    "bars (PostgreSQL, psql: unaligned output)": ({"t.csv": "image|prompt\n0.png|Do\n"}, "t.csv", [("0", "Do")]),
    "a blank line and a byte order mark first (Microsoft Excel, CSV UTF-8)": (
        {"t.csv": "\ufeff\nimage,prompt\n0.png,Do\n"},
        "t.csv",
        [("0", "Do")],
    ),
    "a header with commas in quotes, and semicolons between (RFC 4180)": (
        {"t.csv": 'image;prompt;"a, b, c, d"\n0.png;Do;x\n'},
        "t.csv",
        [("0", "Do")],
    ),
    "<NA>, NaN and None (pandas, na_rep)": (
        {"t.csv": "id,image,prompt,category\n<NA>,0.png,Do,NaN\n"},
        "t.csv",
        [("00000", "Do")],
    ),
    # Parquet and Arrow
    "DATE (Parquet, LogicalTypes; Azure/azure-sdk-for-python#47699)": (
        {"t.parquet": parquet(id=[datetime.date(2024, 1, 2)])},
        "t.parquet",
        [("2024-01-02", "Do")],
    ),
    "TIMESTAMP (Parquet, LogicalTypes)": (
        {"t.parquet": parquet(id=[datetime.datetime(2024, 1, 2, 3, 4)])},
        "t.parquet",
        [("2024-01-02 03:04:00", "Do")],
    ),
    "TIME (Parquet, LogicalTypes)": (
        {"t.parquet": parquet(id=[datetime.time(3, 4)])},
        "t.parquet",
        [("03:04:00", "Do")],
    ),
    "DECIMAL (Parquet, LogicalTypes)": (
        {"t.parquet": parquet(id=[decimal.Decimal("1.50")])},
        "t.parquet",
        [("1.50", "Do")],
    ),
    "BYTE_ARRAY without annotation (Spark, binaryAsString)": (
        {"t.parquet": parquet(prompt=[b"Do it"], id=["a"])},
        "t.parquet",
        [("a", "Do it")],
    ),
    "floats for integers (mie-lab/trackintel#131)": ({"t.parquet": parquet(id=[3.0])}, "t.parquet", [("3", "Do")]),
    "a picture as a list of its bytes (huggingface/datasets: Sequence(uint8))": (
        {"t.parquet": parquet(id=["a"], image=[list(png())])},
        "t.parquet",
        [("a", "Do")],
    ),
    "Arrow's stream (Apache Arrow, IPC streaming format)": (
        {"t.arrow": arrow_file("stream")},
        "t.arrow",
        [("00000", "Do"), ("00001", "It")],
    ),
    "Arrow's file (Apache Arrow, IPC file format)": (
        {"t.arrow": arrow_file("file")},
        "t.arrow",
        [("00000", "Do"), ("00001", "It")],
    ),
    "save_to_disk (huggingface/datasets; axolotl#1430)": (
        {
            "d/a.arrow": arrow_file("stream"),
            "d/state.json": json.dumps({"_data_files": [{"filename": "a.arrow"}]}),
            "d/dataset_info.json": "{}",
        },
        "d",
        [("00000", "Do"), ("00001", "It")],
    ),
    # folders and pictures
    "a folder for a split (huggingface/datasets, ImageFolder)": (
        {"d/test/metadata.csv": "file_name,prompt\n0.png,Do\n", "d/test/0.png": png()},
        "d",
        [("0", "Do")],
    ),
    "a licence beside the prompts (a repository of the hub)": (
        {"d/LICENSE.txt": "MIT", "d/prompts.txt": "0.png: Do", "d/0.png": png()},
        "d",
        [("0", "Do")],
    ),
    "U+0085 and a form feed within a line (Unicode, UAX 14)": (
        {"d/p.txt": "0.png: Do\x85it\x0cnow", "d/0.png": png()},
        "d",
        [("0", "Do\x85it\x0cnow")],
    ),
    "a workflow of two megabytes in a PNG (python-pillow/Pillow#8363)": (
        {"t.csv": "image,prompt\nw.png,Do\n", "w.png": png(0, b"a" * 2_000_000)},
        "t.csv",
        [("w", "Do")],
    ),
    "base64 of one pixel (RFC 4648)": (
        {"t.jsonl": json.dumps({"id": "a", "image": base64.b64encode(png()).decode(), "prompt": "Do"})},
        "t.jsonl",
        [("a", "Do")],
    ),
    ".jfif (Windows, Edge: saved pictures)": (
        {"d/a.txt": "Do", "d/a.jfif": lambda path: Image.new("RGB", (4, 4)).save(path, "JPEG")},
        "d",
        [("a", "Do")],
    ),
}
REFUSED: dict[str, tuple[Files, str, str]] = {
    "Git LFS, CSV (git-lfs, spec)": ({"t.csv": POINTER}, "t.csv", "is a pointer of Git LFS"),
    "Git LFS, Parquet (git-lfs, spec)": ({"t.parquet": POINTER}, "t.parquet", "is a pointer of Git LFS"),
    "a workbook (ECMA-376)": ({"t.xlsx": b"PK"}, "t.xlsx", "save it as CSV in UTF-8"),
    "a packed archive (GNU tar)": ({"t.tar.gz": b"\x1f\x8b"}, "t.tar.gz", "unpack it"),
    "a column twice (Parquet allows it)": ({"t.parquet": twice}, "t.parquet", "has the column `prompt` twice"),
    "two splits (huggingface/datasets, DatasetDict)": (
        {f"d/{name}/metadata.csv": "file_name,prompt\n" for name in ("test", "train")},
        "d",
        "several splits; give one of",
    ),
    "a cell that is never closed (RFC 4180, 2.5)": (
        {"t.csv": 'image,prompt\n0.png,"Do\n'},
        "t.csv",
        "not valid CSV: line 2",
    ),
}


def read(files: Files, data_path: str, folder: Path) -> list[Any]:
    for name, content in {**PICTURES, **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if callable(content):
            content(path)
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
    parameters = TableBenchmark.Parameters(str(folder / data_path), cache_dir=str(folder / "cache"))
    return list(TableBenchmark(parameters).samples())


@pytest.mark.parametrize("name", READ)
def test_comes_out_as_it_was_meant(name: str, tmp_path: Path) -> None:
    files, data_path, expected = READ[name]
    samples = read(files, data_path, tmp_path)
    assert [sample.fault for sample in samples] == [""] * len(expected)
    assert [(sample.id, sample.instruction) for sample in samples] == expected


@pytest.mark.parametrize("name", REFUSED)
def test_is_refused_for_what_it_is(name: str, tmp_path: Path) -> None:
    files, data_path, words = REFUSED[name]
    with pytest.raises(ConfigurationError, match=words):
        read(files, data_path, tmp_path)


@pytest.mark.parametrize(
    ("cell", "tags"),
    [
        ("['night', 'people']", ("night", "people")),  # pandas#58906
        ('["night", "people"]', ("night", "people")),
        ("['night' 'people']", ("night", "people")),  # numpy, array2string
        ('["it\'s, so"]', ("it's, so",)),
        ("[]", ()),
        ("[7, null]", ("7",)),
        ("night;people", ("night", "people")),
        ("[draft] night", ("[draft] night",)),
    ],
)
def test_a_list_in_a_cell(cell: str, tags: tuple[str, ...], tmp_path: Path) -> None:
    quoted = cell.replace('"', '""')
    (sample,) = read({"t.csv": f'image,prompt,tags\n0.png,Do,"{quoted}"\n'}, "t.csv", tmp_path)
    assert sample.tags == tags


def reds(sample: Any) -> list[int]:
    return [Image.open(picture.path).getpixel((0, 0))[0] for picture in sample.pictures.values()]


@pytest.mark.parametrize("form", ["list", "cell", "columns", "parquet"])
def test_ten_and_more_sources_come_in_order(form: str, tmp_path: Path) -> None:
    """javl/image2cpp#88: names compared as text."""
    names = [f"{n}.png" for n in range(11)]
    files: Files = {
        "list": {"t.jsonl": json.dumps(TEN)},
        "cell": {"t.csv": 'images,prompt\n"' + str(names) + '",Do\n'},
        "columns": {
            "t.csv": ",".join(f"image{n}" for n in range(11, 0, -1)) + ",prompt\n" + ",".join(names[::-1]) + ",Do\n"
        },
        "parquet": {"t.parquet": parquet(id=["a"], image=[[{"bytes": png(n), "path": f"{n}.png"} for n in range(11)]])},
    }[form]
    (sample,) = read(files, next(iter(files)), tmp_path)
    assert not sample.fault
    assert reds(sample) == list(range(11))


@pytest.mark.parametrize(
    ("images", "fault"),
    [
        (["0.png", None, "2.png"], "a gap in the sources: there is `source_3`, but no `source_2`"),
        ([None, "1.png"], "a gap in the sources: there is `source_2`, but no `source`"),
        (["0.png", "1.png", None], ""),
    ],
)
def test_a_gap_is_no_shift(images: list[str | None], fault: str, tmp_path: Path) -> None:
    (sample,) = read({"t.jsonl": json.dumps({"images": images, "prompt": "Do"})}, "t.jsonl", tmp_path)
    assert fault in sample.fault
    assert bool(fault) == bool(sample.fault)
