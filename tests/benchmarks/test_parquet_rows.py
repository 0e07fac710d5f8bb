"""Rows of Parquet files: in order, few at a time, and what is said of files that are none."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

from edit_eval.benchmarks.parquet_rows import ParquetRows, parquet_files
from edit_eval.errors import ConfigurationError
from late_imports import Late

pyarrow, parquet = Late("pyarrow"), Late("pyarrow.parquet")


def write(path: Path, first: int, count: int = 20) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    numbers = range(first, first + count)
    rows = {
        "key": list(numbers),
        "image": [{"bytes": b"x" * n, "path": f"{n}.png"} for n in numbers],
        "more": list(numbers),
    }
    parquet.write_table(pyarrow.table(rows), path, row_group_size=7)
    return path


def read(*files: Path, columns: tuple[str, ...] = ("key", "image")) -> list[dict[str, object]]:
    return list(ParquetRows(files, columns).rows())


def test_all_rows_of_a_folder_in_order_and_how_far_the_reading_is(tmp_path: Path) -> None:
    write(tmp_path / "data" / "train-00001-of-00002.parquet", 20)
    write(tmp_path / "data" / "train-00000-of-00002.parquet", 0)
    rows = ParquetRows(parquet_files(str(tmp_path)), ["key", "image"])
    shares = []
    for number, row in enumerate(rows.rows()):
        assert row == {"key": number, "image": {"bytes": b"x" * number, "path": f"{number}.png"}}
        shares.append(rows.share)
    assert shares == [(number + 1) / 40 for number in range(40)]


def test_one_file(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", 3, 2)
    assert parquet_files(str(path)) == [path]
    assert [row["key"] for row in read(path)] == [3, 4]


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"has no \.parquet file"):
        parquet_files(str(tmp_path))
    path = write(tmp_path / "a.parquet", 0)
    with pytest.raises(ConfigurationError, match=r"a\.parquet has no column `keys`; it has key, image, more"):
        read(path, columns=("keys",))
    whole = path.read_bytes()
    for broken in (b"", b"{}", whole[: len(whole) // 2], whole[:40] + b"\0" * 40 + whole[80:]):
        path.write_bytes(broken)
        with pytest.raises(ConfigurationError, match=r"a\.parquet is not a complete Parquet file \(") as caught:
            read(path)
        assert "\n" not in str(caught.value)


def test_without_pyarrow_the_way_to_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ConfigurationError, match=r"need pyarrow; `pip install 'edit-eval\[hub\]'` brings it"):
        read(tmp_path / "a.parquet")


def pictures(count: int, seed: int = 1) -> list[bytes | None]:
    """None, empty, repeated, what packs well and what does not."""
    chance = random.Random(seed)
    several = [chance.randbytes(90_000), b"abc" * 70_000 + chance.randbytes(40) + b"\0" * 3000, b"", None]
    return [chance.choice([*several, chance.randbytes(chance.randrange(200_000))]) for _ in range(count)]


@pytest.mark.parametrize("codec", ["none", "snappy", "zstd"])
def test_a_broken_page_is_said(codec: str, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({"raw": pictures(9)}), path, compression=codec)
    whole = path.read_bytes()
    said = 0
    for place in range(16, 400, 3):  # before it is the size of the page, and pyarrow takes as much memory as it says
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x9F] * 2) + whole[place + 2 :])
        try:
            rows = read(path, columns=("raw",))
        except ConfigurationError:
            said += 1
        else:  # a picture has changed, which only who opens it sees
            assert len(rows) == 9
    assert said > 3
