"""Journals can be believed: nothing false is accepted, and nothing but the damaged line is lost."""

import errno
import json
import os
import zlib
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edit_eval.store.journal import Damage, Segment, read, seal, unseal

RECORDS = [{"key": f"{i:04x}", "text": "评分：8.5 “quoted” \n", "score": i / 3} for i in range(4)]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), JSON, min_size=1, max_size=5))
def test_what_is_sealed_comes_back(record: dict[str, object]) -> None:
    line = seal(record)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert unseal(line[:-1], dict) == record


def test_the_line_is_json_with_the_crc_as_its_last_field() -> None:
    assert list(json.loads(seal(RECORDS[0]))) == ["key", "text", "score", "crc"]


def test_no_flipped_bit_is_accepted() -> None:
    line = seal(RECORDS[1])[:-1]
    for place in range(len(line)):
        for bit in range(8):
            changed = bytearray(line)
            changed[place] ^= 1 << bit
            assert unseal(bytes(changed), dict) is None


def write(folder: Path, name: str, data: bytes) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(data)


def test_a_journal_cut_at_any_byte_loses_only_the_torn_line(tmp_path: Path) -> None:
    data = b"".join(map(seal, RECORDS))
    for cut in range(len(data) + 1):
        write(tmp_path / "j", "0001.jsonl", data[:cut])
        write(tmp_path / "j", "0002.jsonl", seal({"later": 1}))
        damage = Damage()
        records = list(read(tmp_path / "j", damage))
        whole = data[:cut].count(b"\n") + (data[cut : cut + 1] == b"\n")
        assert records == [*RECORDS[:whole], {"later": 1}]
        assert damage.total == (
            1 if data[:cut] and not data[:cut].endswith(b"\n") and data[cut : cut + 1] != b"\n" else 0
        )


def test_segments_are_read_in_the_order_of_their_numbers_and_strangers_are_left_alone(tmp_path: Path) -> None:
    for number in (10, 2, 1):
        write(tmp_path / "j", f"{number:04d}.jsonl", seal({"n": number}))
    write(tmp_path / "j", "notes.txt", b"hello")
    write(tmp_path / "j", "copy of 0001.jsonl", seal({"n": 99}))
    assert [r["n"] for r in read(tmp_path / "j", Damage())] == [1, 2, 10]


def test_a_segment_exists_only_when_something_was_written_and_belongs_to_one_writer(tmp_path: Path) -> None:
    segment = Segment(tmp_path / "j" / "0001.jsonl")
    segment.close()
    assert not (tmp_path / "j").exists()
    segment.append({"a": 1})
    with pytest.raises(FileExistsError):
        Segment(tmp_path / "j" / "0001.jsonl").append({"b": 2})
    segment.close()


def test_a_short_write_on_a_full_disk_harms_no_other_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    segment = Segment(tmp_path / "j" / "0001.jsonl")
    segment.append({"n": 1})
    really = os.write
    calls = iter([10, None])

    def full(descriptor: int, data: bytes) -> int:
        length = next(calls)
        if length is None:
            raise OSError(errno.ENOSPC, "No space left on device")
        return really(descriptor, data[:length])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space"):
        segment.append({"n": 2})
    monkeypatch.setattr(os, "write", really)
    segment.append({"n": 3})
    segment.close()
    damage = Damage()
    assert [r["n"] for r in read(tmp_path / "j", damage)] == [1, 3]
    assert damage.total == 1


def test_what_is_synced_is_on_the_disk_with_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a power cut needs, and no killed process shows."""
    done: list[str] = []
    really = os.fsync

    def synced(descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        done.append(path.name if path.is_dir() else f"{path.name}: {path.read_bytes().count(b'crc')} lines")
        really(descriptor)

    monkeypatch.setattr(os, "fsync", synced)
    segment = Segment(tmp_path / "run" / "j" / "0001.jsonl")
    segment.sync()
    assert done == []
    segment.append({"n": 1})
    assert done == ["j", "run"], "the file's name, and that of its folder"
    segment.append({"n": 2})
    segment.sync()
    segment.sync()
    segment.append({"n": 3})
    segment.close()
    assert done[2:] == ["0001.jsonl: 2 lines", "0001.jsonl: 3 lines"]


# -- kinds of lines --


@dataclass(frozen=True, slots=True)
class Kept:
    key: str
    score: float | None
    tags: tuple[str, ...] = ()


def test_lines_are_read_as_what_they_are(tmp_path: Path) -> None:
    written = [{"key": "a", "score": 1, "tags": ["x", "y"], "more": {}}, {"key": "b", "score": None}]
    write(tmp_path / "j", "0001.jsonl", b"".join(map(seal, written)))
    damage = Damage()
    lines = read(tmp_path / "j", damage)
    assert list(lines) == written
    assert list(lines.decode_lines(Kept)) == [Kept("a", 1.0, ("x", "y")), Kept("b", None)]
    assert damage.total == 0


@pytest.mark.parametrize(
    "stranger", [{"key": "a"}, {"key": 1, "score": 1.0}, {"key": "a", "score": "high"}, {"key": None, "score": 0.0}]
)
def test_a_line_of_another_kind_is_damage(tmp_path: Path, stranger: dict[str, object]) -> None:
    """Its CRC is right: somebody else has written it, or a version of ours that had other fields."""
    write(tmp_path / "j", "0001.jsonl", seal(stranger) + seal({"key": "b", "score": 2.5}))
    damage = Damage()
    assert list(read(tmp_path / "j", damage).decode_lines(Kept)) == [Kept("b", 2.5)]
    assert damage.total == 1


def test_each_damaged_line_of_a_file_counts(tmp_path: Path) -> None:
    write(tmp_path / "j", "0001.jsonl", b"torn\n" + seal({"n": 1}) + b"torn\ntorn\n")
    damage = Damage()
    assert list(read(tmp_path / "j", damage)) == [{"n": 1}]
    assert damage.total == 3


@pytest.mark.parametrize("text", ["\ud83d", "a\udc80b", "\ud83d\ude00", "\x00\x1f\x7f", "\u2028"])
def test_texts_that_are_no_utf_8_are_kept(text: str) -> None:
    """A judge's answer may be cut in the middle of a character."""
    line = seal({"key": text, "score": 1.0})[:-1]
    assert unseal(line, dict) == {"key": text, "score": 1.0}
    assert unseal(line, Kept) == Kept(text, 1.0)


def test_numbers_that_are_none_are_kept() -> None:
    record = unseal(seal({"key": "a", "score": float("nan")})[:-1], Kept)
    assert record is not None
    assert record.score != record.score
    assert unseal(seal({"n": 10**40})[:-1], dict) == {"n": 10**40}


@pytest.mark.parametrize("body", [b"[1]}", b'{"a":1}}', b'{"a":}', b"}", b'{"a":' + b"[" * 100_000 + b"}"])
def test_what_is_no_record_is_none_whatever_its_crc(body: bytes) -> None:
    """The last one would nest deeper than any reader can follow."""
    line = b'%s,"crc":"%08x"}' % (body[:-1], zlib.crc32(body))
    assert unseal(line, dict) is None
    assert unseal(line, Kept) is None


def test_a_whole_number_that_python_refuses_is_damage_in_a_record() -> None:
    assert unseal(seal({"a": 1}).rstrip(b"\n"), dict) == {"a": 1}
    body = b'{"a":' + b"9" * 10_000 + b"}"
    assert unseal(b'%s,"crc":"%08x"}' % (body[:-1], zlib.crc32(body)), dict) is None
