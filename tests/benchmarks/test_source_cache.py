"""Sources are found where they may be, decoded once, and kept; later starts read nothing again."""

from __future__ import annotations

import errno
import hashlib
import io
import itertools
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
from PIL import Image

from benchmarks.five_dimension_files import Place, encoded, item, picture
from edit_eval.benchmarks import json_items, source_cache
from edit_eval.errors import ConfigurationError, Stopped
from edit_eval.pictures import decode_picture
from edit_eval.records import Sample


def flipped_bit(path: str) -> None:
    time.sleep(0.02)  # a file's clock ticks in milliseconds
    data = bytearray(Path(path).read_bytes())
    data[len(data) // 2] ^= 1
    Path(path).write_bytes(data)


def exchanged(path: str) -> None:
    """Another picture of the same size, under the same time of change."""
    before = os.stat(path)
    time.sleep(0.02)
    assert len(picture(1)) == len(picture(2))
    Path(path).write_bytes(picture(2))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


class TestSourcesByPath:
    def laid(self, place: Place, path: str, **changes: Any) -> Sample:
        return place.samples([item(0, src_img_b64=None, **({"src_img_path": path} | changes))])[0]

    def test_relative_to_the_file(self, place: Place) -> None:
        (place.path.parent / "images").mkdir()
        (place.path.parent / "images" / "a.png").write_bytes(picture(9))
        for path in (
            "images/a.png",
            "./images/../images/a.png",
            "images\\a.png",
            str(place.path.parent / "images/a.png"),
        ):
            sample = self.laid(place, path)
            assert sample.fault == ""
            assert Path(sample.source).read_bytes() == picture(9)
            assert sample.source_digest == hashlib.sha256(picture(9)).hexdigest()

    def test_by_the_original_path(self, place: Place) -> None:
        (place.path.parent / "a.png").write_bytes(picture(9))
        assert self.laid(place, "", original_image_path="a.png").id == "a"
        assert self.laid(place, "none.png", original_image_path="a.png").fault == ""

    def test_the_embedded_picture_counts(self, place: Place) -> None:
        (place.path.parent / "a.png").write_bytes(picture(9))
        sample = place.samples([item(3, original_image_path="a.png", src_img_path="a.png")])[0]
        assert Path(sample.source).read_bytes() == picture(3)

    @pytest.mark.parametrize("path", ["../secret.png", "images/../../secret.png", "/etc/hostname", "..", "a\0.png"])
    def test_never_outside_of_the_folder(self, place: Place, path: str) -> None:
        (place.folder / "secret.png").write_bytes(picture(66))
        sample = self.laid(place, path)
        assert "points outside the benchmark's folder" in sample.fault
        assert "copy the pictures into it" in sample.fault
        assert not any(path.is_file() and path.read_bytes() == picture(66) for path in place.cache.rglob("*"))

    def test_links_lead_out_only_where_they_are_allowed(self, place: Place) -> None:
        (place.folder / "elsewhere").mkdir()
        (place.folder / "elsewhere" / "a.png").write_bytes(picture(9))
        (place.path.parent / "images").symlink_to(place.folder / "elsewhere")
        (place.path.parent / "b.png").symlink_to(place.folder / "elsewhere" / "a.png")
        for path in ("images/a.png", "b.png"):
            assert "`allow_links: true`" in self.laid(place, path).fault
            assert not any(file.is_file() and file.read_bytes() == picture(9) for file in place.cache.rglob("*"))
        assert place.samples(allow_links=True)[0].fault == ""
        assert "`allow_links: true`" in place.samples()[0].fault, "what was allowed once is not allowed for good"
        (place.path.parent / "b.png").unlink()
        shutil.copy2(place.folder / "elsewhere" / "a.png", place.path.parent / "b.png")
        assert place.samples()[0].fault == "", "a copy of the same size and time"

    def test_faults(self, place: Place) -> None:
        (place.path.parent / "broken.png").write_bytes(picture()[:-30])
        os.mkfifo(place.path.parent / "pipe.png")
        (place.path.parent / "folder.png").mkdir()
        with open(place.path.parent / "huge.png", "wb") as file:
            file.truncate(1 << 30)
        assert "src_img_path 'broken.png': truncated" in self.laid(place, "broken.png").fault
        assert "src_img_path 'pipe.png' is a folder, a pipe or a device" in self.laid(place, "pipe.png").fault
        assert "src_img_path 'folder.png' is a folder, a pipe or a device" in self.laid(place, "folder.png").fault
        assert "more than 512 MiB" in self.laid(place, "huge.png").fault
        assert "src_img_path is a number" in self.laid(place, "", src_img_path=5).fault

    def test_a_file_that_changes_or_comes_is_noticed(self, place: Place) -> None:
        path = place.path.parent / "a.png"
        assert "no file" in self.laid(place, "a.png").fault
        path.write_bytes(picture(1))
        assert place.samples()[0].source_digest == hashlib.sha256(picture(1)).hexdigest()
        path.write_bytes(picture(2, size=(20, 20)))
        assert place.samples()[0].source_digest == hashlib.sha256(picture(2, size=(20, 20))).hexdigest()


class TestTheCache:
    @pytest.fixture
    def decoded(self, monkeypatch: pytest.MonkeyPatch) -> list[int]:
        """How often a picture was decoded: one entry each."""
        calls: list[int] = []

        def counted(*args: Any, **options: Any) -> Any:
            calls.append(1)
            return decode_picture(*args, **options)

        monkeypatch.setattr(source_cache, "decode_picture", counted)
        return calls

    @pytest.fixture
    def passes(self, monkeypatch: pytest.MonkeyPatch) -> list[int]:
        """How often a benchmark's file was parsed: one entry each."""
        calls: list[int] = []
        real = json_items.ItemReader.items

        def counted(reader: json_items.ItemReader) -> Any:
            calls.append(1)
            return real(reader)

        monkeypatch.setattr(json_items.ItemReader, "items", counted)
        return calls

    def test_the_second_start_reads_nothing_again(self, place: Place, decoded: list[int], passes: list[int]) -> None:
        first = place.samples([item(0), item(1, src_img_b64="bad"), item(2), item(2)])
        assert (len(decoded), len(passes)) == (2, 1)  # one is no base64, two are the same
        decoded.clear()
        assert place.samples() == first
        assert (len(decoded), len(passes)) == (0, 1)
        assert [each.instruction for each in place.samples(language="zh")] == ["让它变红。"] * 4
        assert len(passes) == 1

    def test_a_changed_file_is_read_but_known_pictures_are_not_decoded(
        self, place: Place, decoded: list[int], passes: list[int]
    ) -> None:
        place.samples([item(0), item(1)])
        decoded.clear()
        assert [each.index for each in place.samples([item(0), item(1), item(2)])] == [0, 1, 2]
        assert (len(decoded), len(passes)) == (1, 2)

    def test_other_fields_are_another_index(self, place: Place, passes: list[int]) -> None:
        place.samples([item(0, prompt="Other.")])
        assert place.samples(fields={"instruction": "prompt"})[0].instruction == "Other."
        assert place.samples()[0].instruction == "Make it red."
        assert len(passes) == 2

    @pytest.mark.parametrize("damage", [os.unlink, lambda path: os.truncate(path, 10), flipped_bit, exchanged])
    def test_a_source_that_is_lost_or_another_one_by_now_is_laid_again(
        self, place: Place, damage: Callable[[str], None]
    ) -> None:
        before = place.samples([item(0), item(1)])
        damage(before[1].source)
        after = place.samples()
        assert after == before
        assert Path(after[1].source).read_bytes() == picture(1)

    def test_a_file_of_the_same_size_under_the_digest_is_not_believed_by_a_pass(self, place: Place) -> None:
        before = place.samples([item(0), item(1)])
        shutil.rmtree(place.cache / "indexes")
        flipped_bit(before[1].source)
        assert place.samples() == before
        assert Path(before[1].source).read_bytes() == picture(1)

    def test_a_source_that_was_only_touched_is_read_once_more_and_no_pass_is_made(
        self, place: Place, passes: list[int], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = place.samples([item(0), item(1)])
        os.utime(before[0].source)
        read: list[object] = []
        real = source_cache.file_digest
        monkeypatch.setattr(source_cache, "file_digest", lambda path: read.append(path) or real(path))
        assert place.samples() == place.samples() == before
        assert read == [before[0].source]
        assert len(passes) == 1

    def test_verify_finds_what_nothing_but_the_bytes_tells(self, place: Place) -> None:
        """A disk that forgets: no time of the file has changed."""
        before = place.samples([item(0), item(1), item(2, src_img_b64=encoded(picture(1)))])
        assert place.benchmark().verify() == ""
        for sample in before[:2]:
            flipped_bit(sample.source)
        (path,) = (place.cache / "indexes").iterdir()
        index = json.loads(path.read_bytes())
        for finding in index["findings"]:
            laid = finding["pictures"]["source"]
            laid["changed"] = os.stat(laid["path"]).st_ctime_ns
        path.write_text(json.dumps(index))
        assert place.samples() == before
        assert Path(before[1].source).read_bytes() != picture(1), "so far nobody has looked"
        said = place.benchmark().verify()
        assert said == "2 source images in the cache are not what was recorded: read from the benchmark again"
        assert place.samples() == before
        assert [Path(sample.source).read_bytes() for sample in before] == [picture(0), picture(1), picture(1)]
        assert place.benchmark().verify() == ""

    @pytest.mark.parametrize("rest", [b"", b"{", b"[]", b'{"head": 1}', b"null"])
    def test_a_damaged_index_is_no_index(self, place: Place, rest: bytes) -> None:
        before = place.samples([item(0)])
        (index,) = (place.cache / "indexes").iterdir()
        index.write_bytes(rest)
        assert place.samples() == before

    def test_an_index_with_a_damaged_entry_is_no_index(self, place: Place) -> None:
        before = place.samples([item(0)])
        (path,) = (place.cache / "indexes").iterdir()
        index = json.loads(path.read_bytes())
        del index["findings"][0]["index"]
        path.write_text(json.dumps(index))
        assert place.samples() == before

    def test_one_copy_of_one_picture(self, place: Place) -> None:
        samples = place.samples([item(0), item(1, src_img_b64=encoded(picture(0)))])
        assert samples[0].source == samples[1].source
        assert sum(path.is_file() for path in place.cache.rglob("*.png")) == 1

    def test_bad_pictures_are_not_kept(self, place: Place) -> None:
        place.samples([item(0, src_img_b64=encoded(picture()[:-20]))])
        assert list(place.cache.rglob("*.png")) == []
        assert list(place.cache.rglob(".tmp-*")) == []

    def test_the_disk_is_full(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(data: bytes, path: Path) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(source_cache, "write_durably", full)
        with pytest.raises(Stopped, match=r"the disk is full: the source images need about \d+ MB more") as caught:
            place.samples([item(0)])
        assert "benchmark.cache_dir" in str(caught.value)

    def test_a_cache_that_cannot_be_written(self, place: Place) -> None:
        (place.folder / "file").touch()
        with pytest.raises(ConfigurationError, match=r"cannot be written \(.*\): set benchmark.cache_dir"):
            place.samples([item(0)], cache_dir=str(place.folder / "file"))

    def test_a_file_that_changes_under_the_pass(self, place: Place) -> None:
        place.write([item(0), item(1)])
        samples = iter(place.benchmark().samples())
        next(samples)
        with open(place.path, "ab") as file:
            file.write(b"\n")
        with pytest.raises(ConfigurationError, match="changed while"):
            list(samples)
        assert len(place.samples()) == 2

    def test_two_at_once(self, place: Place) -> None:
        place.write([item(number) for number in range(5)])
        left, right = iter(place.benchmark().samples()), iter(place.benchmark().samples())
        pairs = list(itertools.zip_longest(left, right))
        assert all(first == second and not first.fault for first, second in pairs)


@pytest.mark.check
def test_memory(place: Place) -> None:
    """A pass over a file of 40 MB keeps none of its pictures: the process grows by less than half of it."""
    noise = Image.effect_noise((1200, 1100), 120)
    with open(place.path, "w") as file:
        for number in range(20):
            buffer = io.BytesIO()
            noise.rotate(number, expand=False).save(buffer, "PNG", compress_level=1, compress_type=3)
            file.write(json.dumps(item(number, src_img_b64=encoded(buffer.getvalue()))) + "\n")
    assert place.path.stat().st_size > 25_000_000
    code = """
import sys
from PIL import Image
from edit_eval.plugins.five_dimensions.benchmark import FiveDimensions
def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) * 1024
Image.init()
before = peak()
benchmark = FiveDimensions(FiveDimensions.Parameters(sys.argv[1], cache_dir=sys.argv[2]))
faults = [sample.fault for sample in benchmark.samples()]
assert faults == [""] * 20, faults
print(peak() - before)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, place.path, place.cache], capture_output=True, text=True, check=True, timeout=120
    )
    assert int(done.stdout) < 0.5 * place.path.stat().st_size
