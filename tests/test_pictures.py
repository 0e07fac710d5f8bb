"""Pictures are opened in one way, checked, and written whole or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import io
import os
import random
import re
import resource
import signal
import struct
import subprocess
import sys
import time
import unicodedata
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageFile, PngImagePlugin

from edit_eval import pictures
from edit_eval.benchmarks.row_benchmark import remarks
from edit_eval.benchmarks.source_cache import SourceCache
from edit_eval.errors import PictureError
from edit_eval.files.durable import slug, sweep_temporary, write_durably
from edit_eval.pictures import (
    as_rgb,
    check_edit,
    decode_picture,
    get_kept_file,
    open_picture,
    own_copy,
    pixel_digest,
    pixels_of,
    png,
    read_picture,
    write_png,
)


def coloured(width: int = 32, height: int = 24) -> Image.Image:
    """A picture in which no two rows and no two columns are alike."""
    red = Image.linear_gradient("L").resize((width, height))
    green = Image.linear_gradient("L").rotate(90).resize((width, height))
    blue = Image.effect_mandelbrot((width, height), (-2, -1.5, 1, 1.5), 100)
    return Image.merge("RGB", (red, green, blue))


def saved(image: Image.Image, path: Path, **options: object) -> Path:
    image.save(path, **options)
    return path


def bomb(width: int, height: int) -> bytes:
    """A small PNG that says it is `width` x `height`."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    rows = zlib.compress(bytes(1 + (width + 7) // 8) * min(height, 50))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


class TestOpening:
    def test_rgb_comes_as_it_is(self, tmp_path: Path) -> None:
        picture = open_picture(saved(coloured(), tmp_path / "a.png"))
        assert picture.mode == "RGB"
        assert picture.tobytes() == coloured().tobytes()
        assert picture.info == {}

    def test_text_entries_stay_and_nothing_else(self, tmp_path: Path) -> None:
        entries = PngImagePlugin.PngInfo()
        entries.add_text("scene", '{"boxes": 3}')
        entries.add_itxt("words", "红色的球")
        entries.add_itxt("XML:com.adobe.xmp", "<x/>")
        exif = Image.Exif()
        exif[0x010E] = "a description"
        path = saved(coloured(), tmp_path / "a.png", pnginfo=entries, icc_profile=b"profile", exif=exif, dpi=(72, 72))
        info = open_picture(path).info
        assert info == {"scene": '{"boxes": 3}', "words": "红色的球"}
        assert all(type(value) is str for value in info.values())

    @pytest.mark.parametrize("orientation", range(1, 9))
    @pytest.mark.parametrize("suffix", ["jpg", "png", "tif", "webp"])
    def test_exif_rotation_is_applied(self, tmp_path: Path, orientation: int, suffix: str) -> None:
        corners = Image.new("RGB", (64, 32), "black")
        corners.paste((255, 255, 255), (0, 0, 32, 16))  # top left
        exif = Image.Exif()
        exif[0x0112] = orientation
        picture = open_picture(saved(corners, tmp_path / f"a.{suffix}", exif=exif))
        assert picture.size == ((64, 32) if orientation <= 4 else (32, 64))
        # Where the stored picture's top left corner is to be seen, by the EXIF standard.
        right = orientation in (2, 3, 6, 7)
        bottom = orientation in (3, 4, 7, 8)
        x = picture.width * (3 if right else 1) // 4
        y = picture.height * (3 if bottom else 1) // 4
        assert picture.getpixel((x, y))[0] > 200
        assert sum(value > 128 for value in picture.convert("L").tobytes()) == pytest.approx(512, abs=40)

    @pytest.mark.filterwarnings("ignore:Corrupt EXIF")
    def test_damaged_exif_does_not_refuse_good_pixels(self, tmp_path: Path) -> None:
        path = saved(coloured(), tmp_path / "a.png", exif=b"Exif\0\0II*\0\xff\xff\xff\xff")
        assert open_picture(path).size == (32, 24)

    @pytest.mark.parametrize("keep", [0.1, 0.5, 0.9, 0.99, 0.999])
    @pytest.mark.parametrize(
        ("suffix", "options"),
        [("png", {}), ("jpg", {}), ("jpg", {"progressive": True}), ("webp", {}), ("webp", {"lossless": True})],
    )
    def test_truncated(self, tmp_path: Path, suffix: str, options: dict[str, object], keep: float) -> None:
        whole = saved(coloured(200, 100), tmp_path / f"a.{suffix}", **options)
        assert open_picture(whole).size == (200, 100)
        cut = tmp_path / f"cut.{suffix}"
        cut.write_bytes(whole.read_bytes()[: min(int(whole.stat().st_size * keep), whole.stat().st_size - 1)])
        with pytest.raises(PictureError) as caught:
            open_picture(cut)
        assert str(cut) in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_truncated_where_a_library_switched_tolerance_on(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
        whole = saved(coloured(200, 100), tmp_path / "a.jpg")
        whole.write_bytes(whole.read_bytes()[:-500])
        with pytest.raises(PictureError, match="truncated"):
            open_picture(whole)

    @pytest.mark.parametrize("kind", ["EPS", "PCX", "ICO"])
    def test_formats_that_nobody_needs_are_not_even_tried(self, tmp_path: Path, kind: str) -> None:
        """Pillow has an interpreter of PostScript started for EPS; whatever the file calls itself."""
        path = tmp_path / "a.png"
        coloured().save(path, kind)
        with pytest.raises(PictureError, match="not a picture in a known format"):
            open_picture(path)

    # Below Pillow's warning, with its warning, and beyond its own limit.
    @pytest.mark.parametrize("side", [8_000, 12_000, 60_000])
    @pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
    def test_bomb(self, tmp_path: Path, side: int, monkeypatch: pytest.MonkeyPatch) -> None:
        path = tmp_path / "bomb.png"
        path.write_bytes(bomb(side, side))
        monkeypatch.setattr(ImageFile.ImageFile, "load", lambda picture: pytest.fail("it was decoded"))
        with pytest.raises(PictureError, match="above the limit of 50 million pixels"):
            open_picture(path)

    @pytest.mark.filterwarnings("error::PIL.Image.DecompressionBombWarning")
    def test_bomb_where_warnings_are_errors(self, tmp_path: Path) -> None:
        path = tmp_path / "bomb.png"
        path.write_bytes(bomb(12_000, 12_000))
        with pytest.raises(PictureError, match="above the limit"):
            open_picture(path)

    def test_the_limit_is_the_most_that_is_read(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = saved(coloured(), tmp_path / "a.png")
        monkeypatch.setattr(pictures, "MAX_PIXELS", 32 * 24)
        assert open_picture(path).size == (32, 24)
        monkeypatch.setattr(pictures, "MAX_PIXELS", 32 * 24 - 1)
        with pytest.raises(PictureError, match="32 x 24 pixels"):
            open_picture(path)

    @pytest.mark.parametrize(
        "content", [b"", b"hello", b"<html>404</html>", b"\x89PNG\r\n\x1a\n", b"%!PS-Adobe-3.0 EPSF"]
    )
    def test_no_picture(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "a.png"
        path.write_bytes(content)
        with pytest.raises(PictureError):
            open_picture(path)

    def test_no_file(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        for path in (tmp_path / "none.png", tmp_path, tmp_path / "pipe", Path("/dev/zero")):
            with pytest.raises(PictureError):
                open_picture(path)
        with pytest.raises(PictureError) as caught:
            open_picture("two\nlines\0.png")
        assert "\n" not in str(caught.value)

    def test_content_decides_not_the_name(self, tmp_path: Path) -> None:
        assert open_picture(saved(coloured(), tmp_path / "a.png", format="JPEG")).size == (32, 24)

    @pytest.mark.filterwarnings("ignore::UserWarning:PIL")
    @settings(max_examples=60)
    @given(data=st.data())
    def test_a_damaged_file_is_a_picture_error_or_a_picture(self, data: st.DataObject) -> None:
        buffer = io.BytesIO()
        coloured().save(buffer, data.draw(st.sampled_from(["PNG", "JPEG", "WEBP", "GIF", "TIFF", "BMP"])))
        damaged = bytearray(buffer.getvalue())
        for place in data.draw(st.lists(st.integers(0, len(damaged) - 1), min_size=1, max_size=8)):
            damaged[place] ^= data.draw(st.integers(1, 255))
        path = Path(f"/proc/self/fd/{(descriptor := os.memfd_create('picture'))}")
        try:
            os.write(descriptor, damaged)
            with contextlib.suppress(PictureError):
                assert open_picture(path).mode == "RGB"
        finally:
            os.close(descriptor)


class TestPngsThatAreProvenToBeWhole:
    """A source's bytes prove that it decodes; whatever leaves a doubt is decoded."""

    def test_one_is_not_decoded_until_its_pixels_are_used(self) -> None:
        picture, kind, oddity = decode_picture(saved_png(coloured()), "a.png")
        assert (kind, oddity, pixels_of(picture)) == ("PNG", "", None)
        assert picture.tobytes() == coloured().tobytes()

    @pytest.mark.filterwarnings("ignore:Image size")
    @pytest.mark.parametrize("turns", [500, pytest.param(5000, marks=pytest.mark.check)])
    @pytest.mark.parametrize("inflater", ["isal.isal_zlib", "zlib"])
    def test_no_damage_passes_that_decoding_finds(
        self, inflater: str, turns: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """By what the core unpacks with, and by what is left beside a model that has less."""
        assert pictures._find_inflater().__name__ == "isal.isal_zlib"
        monkeypatch.setattr(pictures, "_find_inflater", lambda: importlib.import_module(inflater))
        monkeypatch.setattr(pictures, "_WORTH_STORING", 0)
        whole, proven, damaged = saved_png(coloured()), 0, 0
        draw = random.Random(1)
        for turn in range(turns):
            data = bytearray(whole)
            kind, begin, end = draw.choice([chunk for chunk in chunks_of(whole) if chunk[0] != b"IEND"])
            if turn % 3 == 0:
                data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
            elif turn % 3 == 1:
                data = data[: draw.randrange(8, len(data))]
            else:  # with a right sum, as a program may have written it
                data[draw.randrange(begin + 8, end - 4)] ^= 1 << draw.randrange(8)
                data[end - 4 : end] = struct.pack(">I", zlib.crc32(data[begin + 4 : end - 4]))
            try:
                decoded = read_picture(io.BytesIO(data), "a.png")[0]
            except PictureError as error:
                damaged += 1
                with pytest.raises(PictureError, match=re.escape(str(error))):
                    decode_picture(bytes(data), "a.png")
                continue
            picture, *_ = decode_picture(bytes(data), "a.png")
            proven += pixels_of(picture) is None
            alone = as_rgb(Image.open(io.BytesIO(data)))  # as Pillow unpacks it
            assert as_rgb(picture).tobytes() == decoded.tobytes() == alone.tobytes(), (turn, kind)
        assert proven > 0
        assert damaged > 0.6 * turns

    @given(st.integers(1, 200), st.integers(1, 200), st.randoms(use_true_random=False))
    def test_pillow_gets_its_pixels_unpacked(self, width: int, height: int, draw: random.Random) -> None:
        """In blocks of 65,535 bytes, of which a row may be the last part of one."""
        image = Image.frombytes("RGB", (width, height), bytes(3 * width) * (height - 1) + draw.randbytes(3 * width))
        file = io.BytesIO(saved_png(image))
        assert pictures._store_pixels(file) is file  # too small to be worth it
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pictures, "_WORTH_STORING", 0)
            stored = pictures._store_pixels(file)
        assert (stored is not file) == bool(pictures._list_plain_chunks(file.getvalue()))
        assert file.tell() == 0
        assert Image.open(stored).info["dpi"] == Image.open(file).info["dpi"]
        assert Image.open(stored).tobytes() == image.tobytes() == read_picture(file, "a.png")[0].tobytes()

    @pytest.mark.parametrize("rows", [23, 25])
    def test_too_few_or_too_many_rows_are_decoded(self, rows: int) -> None:
        whole = saved_png(coloured())
        (_, begin, end), *_ = (chunk for chunk in chunks_of(whole) if chunk[0] == b"IDAT")
        packed = zlib.compress(bytes(1 + 3 * 32) * rows)
        pixels = struct.pack(">I", len(packed)) + b"IDAT" + packed + struct.pack(">I", zlib.crc32(b"IDAT" + packed))
        data = whole[:begin] + pixels + whole[end:]
        assert pixels_of(decode_picture(data, "a.png")[0]) is not None


def saved_png(image: Image.Image) -> bytes:
    file = io.BytesIO()
    image.save(file, "PNG", dpi=(72, 72))
    return file.getvalue()


def chunks_of(data: bytes) -> list[tuple[bytes, int, int]]:
    """The kind of each chunk of a PNG, where it begins and where it ends."""
    chunks, place = [], 8
    while place < len(data):
        end = place + 12 + int.from_bytes(data[place : place + 4], "big")
        chunks.append((data[place + 4 : place + 8], place, end))
        place = end
    return chunks


class TestAnyModeBecomesRgb:
    def test_alpha_is_laid_over_white(self) -> None:
        image = Image.new("RGBA", (3, 1))
        image.putpixel((0, 0), (10, 20, 30, 255))
        image.putpixel((1, 0), (10, 20, 30, 0))
        image.putpixel((2, 0), (0, 0, 0, 51))  # a fifth of black
        assert [as_rgb(image).getpixel((x, 0)) for x in range(3)] == [(10, 20, 30), (255, 255, 255), (204, 204, 204)]

    def test_grey_with_alpha(self) -> None:
        image = Image.new("LA", (2, 1))
        image.putpixel((0, 0), (40, 255))
        assert [as_rgb(image).getpixel((x, 0)) for x in range(2)] == [(40, 40, 40), (255, 255, 255)]

    @pytest.mark.parametrize(("mode", "half"), [("La", (50, 128)), ("RGBa", (50, 50, 50, 128))])
    def test_premultiplied_alpha(self, mode: str, half: tuple[int, ...]) -> None:
        image = Image.frombytes(mode, (2, 1), bytes(half) + bytes(len(half)))
        half_grey, nothing = (as_rgb(image).getpixel((x, 0))[0] for x in range(2))
        assert half_grey == pytest.approx(50 + 127, abs=1)
        assert nothing == 255

    @pytest.mark.parametrize("transparency", [1, b"\xff\x00"])
    def test_palette_with_transparency(self, tmp_path: Path, transparency: int | bytes) -> None:
        image = Image.new("P", (2, 1))
        image.putpalette([200, 0, 0, 0, 200, 0])
        image.putpixel((1, 0), 1)
        picture = open_picture(saved(image, tmp_path / "a.png", transparency=transparency))
        assert [picture.getpixel((x, 0)) for x in range(2)] == [(200, 0, 0), (255, 255, 255)]

    def test_palette_without_transparency(self, tmp_path: Path) -> None:
        picture = open_picture(saved(coloured().quantize(64), tmp_path / "a.png"))
        assert picture.tobytes() == coloured().quantize(64).convert("RGB").tobytes()

    @pytest.mark.parametrize(("mode", "key"), [("L", 7), ("RGB", (7, 7, 7))])
    def test_colour_key(self, tmp_path: Path, mode: str, key: int | tuple[int, int, int]) -> None:
        image = Image.new(mode, (2, 1))
        image.putpixel((0, 0), key)
        picture = open_picture(saved(image, tmp_path / "a.png", transparency=key))
        assert [picture.getpixel((x, 0)) for x in range(2)] == [(255, 255, 255), (0, 0, 0)]

    @pytest.mark.parametrize("suffix", ["png", "tif"])
    def test_sixteen_bit_grey_is_scaled_and_not_clipped(self, tmp_path: Path, suffix: str) -> None:
        values = [0, 128, 129, 257, 32768, 65407, 65535]
        image = Image.new("I;16", (len(values), 1))
        for x, value in enumerate(values):
            image.putpixel((x, 0), value)
        picture = open_picture(saved(image, tmp_path / f"a.{suffix}"))
        assert [picture.getpixel((x, 0))[1] for x in range(len(values))] == [round(value / 257) for value in values]

    def test_sixteen_bit_big_endian(self) -> None:
        image = Image.frombytes("I;16B", (2, 1), b"\xff\xff\x01\x01")
        assert as_rgb(image).tobytes() == bytes([255] * 3 + [1] * 3)

    def test_integers(self) -> None:
        image = Image.new("I", (3, 1))
        for x, value in enumerate((-5, 257 * 99, 1_000_000)):
            image.putpixel((x, 0), value)
        assert as_rgb(image).tobytes()[::3] == bytes([0, 99, 255])

    @pytest.mark.parametrize(
        ("values", "expected"), [([0.0, 0.5, 1.0], [0, 128, 255]), ([-3.0, 99.6, 300.0], [0, 100, 255])]
    )
    def test_floats(self, tmp_path: Path, values: list[float], expected: list[int]) -> None:
        image = Image.new("F", (3, 1))
        for x, value in enumerate(values):
            image.putpixel((x, 0), value)
        picture = open_picture(saved(image, tmp_path / "a.tif"))
        assert list(picture.tobytes()[::3]) == expected

    @pytest.mark.parametrize("value", [float("nan"), float("inf")])
    def test_floats_that_are_no_numbers(self, value: float) -> None:
        with pytest.raises(PictureError, match="NaN or infinity"):
            as_rgb(Image.new("F", (2, 2), value))

    def test_cmyk_one_bit_and_grey(self, tmp_path: Path) -> None:
        assert open_picture(saved(Image.new("CMYK", (8, 8)), tmp_path / "a.jpg")).getpixel((0, 0)) == (255, 255, 255)
        assert open_picture(saved(Image.new("1", (8, 8), 1), tmp_path / "a.png")).getpixel((0, 0)) == (255, 255, 255)
        assert open_picture(saved(Image.new("L", (8, 8), 77), tmp_path / "b.png")).getpixel((0, 0)) == (77, 77, 77)

    def test_of_an_animation_the_first_picture(self, tmp_path: Path) -> None:
        frames = [Image.new("RGB", (8, 8), colour) for colour in ("red", "green", "blue")]
        for suffix in ("gif", "webp", "png", "tif"):
            path = saved(frames[0], tmp_path / f"a.{suffix}", save_all=True, append_images=frames[1:], lossless=True)
            assert open_picture(path).getpixel((4, 4)) == (255, 0, 0)

    def test_lab(self) -> None:
        assert min(as_rgb(Image.new("LAB", (1, 1), (255, 128, 128))).getpixel((0, 0))) >= 253

    def test_what_cannot_be_converted(self) -> None:
        image = Image.new("RGB", (2, 2))
        image.info["transparency"] = "nonsense"
        with pytest.raises(PictureError, match="mode RGB"):
            as_rgb(image)


class TestCheckingAnEdit:
    def test_a_changed_picture_has_no_flags(self) -> None:
        assert check_edit(coloured().rotate(180), coloured()) == ()

    def test_identical(self) -> None:
        assert check_edit(coloured(), coloured()) == ("identical_to_source",)
        assert check_edit(coloured().convert("RGBA"), coloured()) == ("identical_to_source",)

    @pytest.mark.parametrize(("size", "flagged"), [((100, 100), False), ((104, 100), False), ((100, 106), True)])
    def test_aspect_ratio(self, size: tuple[int, int], flagged: bool) -> None:
        flags = check_edit(coloured(*size), coloured(200, 200))
        assert flags == (("other_aspect_ratio",) if flagged else ())

    @pytest.mark.parametrize("mode", ["RGB", "L", "P", "1", "I;16"])
    def test_black(self, mode: str) -> None:
        with pytest.raises(PictureError, match="black image"):
            check_edit(Image.new(mode, (8, 8)), coloured())

    def test_nearly_black_is_a_picture(self) -> None:
        image = Image.new("RGB", (8, 8))
        image.putpixel((3, 3), (0, 0, 1))
        check_edit(image, coloured(8, 8))

    def test_what_is_no_picture(self) -> None:
        numpy = pytest.importorskip("numpy")
        for wrong, kind in [
            (numpy.zeros((8, 8, 3)), "numpy.ndarray"),
            (None, "NoneType"),
            ([coloured()], "list"),
            ("a.png", "str"),
        ]:
            with pytest.raises(PictureError, match=f"returned {kind}, not one PIL"):
                own_copy(wrong)

    def test_empty(self) -> None:
        with pytest.raises(PictureError, match="empty picture"):
            own_copy(Image.new("RGB", (0, 5)))

    def test_opened_and_truncated(self, tmp_path: Path) -> None:
        path = saved(coloured(200, 200), tmp_path / "a.jpg")
        path.write_bytes(path.read_bytes()[:-300])
        with Image.open(path) as lazy, pytest.raises(PictureError, match="cannot be decoded"):
            own_copy(lazy)


class TestKeptFiles:
    """A file that encoding would only make again is passed on, and nothing in it but pixels."""

    @staticmethod
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    def test_of_a_file_of_others_only_the_pixels_are_passed_on(self, tmp_path: Path) -> None:
        """Words, place and profile are left out, and what stands behind the end; the compressed pixels stay."""
        words, exif = PngImagePlugin.PngInfo(), Image.Exif()
        words.add_text("Author", "somebody")
        exif[0x010E] = "somewhere"
        path = tmp_path / "a.png"
        coloured(200, 100).save(path, pnginfo=words, exif=exif, icc_profile=b"profile", dpi=(72, 72))
        path.write_bytes(path.read_bytes() + b"somebody else")
        opened = open_picture(path, keep_file=True)
        whole = get_kept_file(opened)
        assert whole is not None
        assert png(opened) is whole
        assert own_copy(opened) is opened
        assert [kind for kind in (b"some", b"tEXt", b"eXIf", b"iCCP", b"pHYs") if kind in whole] == []
        assert read_picture(io.BytesIO(whole), "a")[0].tobytes() == coloured(200, 100).tobytes()
        (tmp_path / "b.png").write_bytes(whole)
        assert get_kept_file(open_picture(tmp_path / "b.png", keep_file=True)) == whole
        file = write_png(opened, tmp_path / "c.png")
        assert (tmp_path / "c.png").read_bytes() == whole
        assert (file.bytes, file.pixels) == (len(whole), pixel_digest(coloured(200, 100)))

    @pytest.mark.parametrize("how", ["RGBA", "L", "P", "1", "upside down", "a colour is transparent", "not compressed"])
    def test_a_picture_that_became_another_when_it_was_opened_is_encoded(self, tmp_path: Path, how: str) -> None:
        picture, more = coloured(200, 100), {}
        if how == "upside down":
            more["exif"] = Image.Exif()
            more["exif"][0x0112] = 3
        elif how == "a colour is transparent":
            more["transparency"] = picture.getpixel((0, 0))
        elif how == "not compressed":
            more["compress_level"] = 0
        else:
            picture = picture.convert(how)
        picture.save(tmp_path / "a.png", **more)
        opened = open_picture(tmp_path / "a.png", keep_file=True)
        assert get_kept_file(opened) is None
        assert read_picture(io.BytesIO(png(opened)), "a")[0].tobytes() == opened.tobytes()

    def test_of_16_bits_or_with_a_wrong_sum_or_animated(self, tmp_path: Path) -> None:
        path = tmp_path / "a.png"
        rows = zlib.compress((b"\0" + bytes(range(48))) * 8)
        head = self.chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 16, 2, 0, 0, 0))
        path.write_bytes(b"\x89PNG\r\n\x1a\n" + head + self.chunk(b"IDAT", rows) + self.chunk(b"IEND", b""))
        assert get_kept_file(open_picture(path, keep_file=True)) is None
        coloured().save(path)
        data = bytearray(path.read_bytes())
        data[-13] ^= 1  # the last byte of the last sum of the pixels
        path.write_bytes(data)
        assert get_kept_file(open_picture(path, keep_file=True)) is None
        coloured().save(path, save_all=True, append_images=[coloured().rotate(180)])
        assert get_kept_file(open_picture(path, keep_file=True)) is None

    def test_one_that_was_painted_on_or_copied_is_encoded(self, tmp_path: Path) -> None:
        coloured().save(tmp_path / "a.png")
        opened = open_picture(tmp_path / "a.png", keep_file=True)
        assert get_kept_file(opened) is not None
        assert get_kept_file(opened.copy()) is None
        opened.putpixel((0, 0), (7, 7, 7))
        assert get_kept_file(opened) is None
        assert own_copy(opened) is not opened
        assert read_picture(io.BytesIO(png(opened)), "a")[0].getpixel((0, 0)) == (7, 7, 7)


class TestWriting:
    def test_pixels_survive(self, tmp_path: Path) -> None:
        image = coloured(97, 61)
        file = write_png(image, tmp_path / "folder" / "a.png")
        assert pixel_digest(open_picture(file.path)) == pixel_digest(image) == file.pixels
        assert file.pixels == hashlib.sha256(b"RGB 97 61\n" + image.tobytes()).hexdigest()
        assert (file.bytes, file.width, file.height) == (os.path.getsize(file.path), 97, 61)
        assert os.listdir(tmp_path / "folder") == ["a.png"]

    @pytest.mark.parametrize("mode", ["RGBA", "L", "P", "I;16", "1", "CMYK"])
    def test_the_digest_is_of_what_is_written(self, tmp_path: Path, mode: str) -> None:
        image = coloured().convert("L").convert(mode) if mode == "I;16" else coloured().convert(mode)
        file = write_png(image, tmp_path / "a.png")
        assert pixel_digest(open_picture(file.path)) == pixel_digest(image)

    def test_the_digest_knows_the_size(self) -> None:
        assert pixel_digest(Image.new("RGB", (2, 3))) != pixel_digest(Image.new("RGB", (3, 2)))

    def test_no_metadata(self, tmp_path: Path) -> None:
        image = coloured()
        image.info = {"icc_profile": b"profile", "sample_id": "x", "transparency": (1, 2, 3), "dpi": (72, 72)}
        write_png(image.convert("RGB"), tmp_path / "a.png")
        written = (tmp_path / "a.png").read_bytes()
        for kind in (b"iCCP", b"tEXt", b"iTXt", b"tRNS", b"pHYs", b"eXIf"):
            assert kind not in written
        assert image.info["sample_id"] == "x"

    def test_an_existing_file_is_replaced(self, tmp_path: Path) -> None:
        write_png(coloured(), tmp_path / "a.png")
        write_png(coloured().rotate(180), tmp_path / "a.png")
        assert open_picture(tmp_path / "a.png").tobytes() == coloured().rotate(180).tobytes()

    def test_no_room(self, tmp_path: Path) -> None:
        """The file cannot grow beyond 20 kB: what a full disk is to a writer, with another errno."""
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        noise = Image.effect_noise((200, 200), 100)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
        try:
            with pytest.raises(OSError, match="File too large"):
                write_png(noise, tmp_path / "a.png")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert os.listdir(tmp_path) == []

    def test_killed_while_writing(self, tmp_path: Path) -> None:
        code = (
            "import sys; from PIL import Image; from edit_eval.pictures import write_png\n"
            "while True: write_png(Image.effect_noise((300, 300), 80), sys.argv[1]); print(flush=True)"
        )
        for _ in range(3):
            writer = subprocess.Popen([sys.executable, "-c", code, tmp_path / "a.png"], stdout=subprocess.PIPE)
            assert writer.stdout is not None
            writer.stdout.readline()
            time.sleep(0.05)
            writer.send_signal(signal.SIGKILL)
            writer.wait()
            writer.stdout.close()
            assert open_picture(tmp_path / "a.png").size == (300, 300)
        sweep_temporary(tmp_path)
        assert os.listdir(tmp_path) == ["a.png"]

    def test_whole_on_the_disk_before_it_has_its_name(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """What a power cut needs, and no killed process shows: contents, then the name, then the folder's entry."""
        done: list[str] = []
        sync, rename = os.fsync, os.replace

        def synced(descriptor: int) -> None:
            path = Path(f"/proc/self/fd/{descriptor}").readlink()
            what = f"folder {path.name}" if path.is_dir() else f"{path.stat().st_size} bytes of {path.name[:5]}"
            done.append(f"synced {what}")
            sync(descriptor)

        def renamed(old: Path, new: Path) -> None:
            done.append(f"renamed to {Path(new).name}")
            rename(old, new)

        monkeypatch.setattr(os, "fsync", synced)
        monkeypatch.setattr(os, "replace", renamed)
        write_durably(b"x" * 3000, tmp_path / "new" / "a")
        write_durably(b"x" * 70, tmp_path / "new" / "a")
        named = ["renamed to a", "synced folder new"]
        first = [f"synced folder {tmp_path.name}", "synced 3000 bytes of .tmp-", *named]
        assert done == [*first, "synced 70 bytes of .tmp-", *named]

    def test_file_modes_follow_the_umask(self, tmp_path: Path) -> None:
        before = os.umask(0o022)
        try:
            write_durably(b"x", tmp_path / "a")
        finally:
            os.umask(before)
        assert (tmp_path / "a").stat().st_mode & 0o777 == 0o644

    def test_sweeping(self, tmp_path: Path) -> None:
        (tmp_path / "deep").mkdir()
        old, new, other = tmp_path / "deep" / ".tmp-1-a", tmp_path / ".tmp-2-b", tmp_path / "deep" / "a.png"
        for path in (old, new, other):
            path.write_bytes(b"x")
        os.utime(old, (1, 1))
        os.utime(other, (1, 1))
        assert sweep_temporary(tmp_path, older_than=3600) == 1
        assert new.exists()
        assert not old.exists()
        assert sweep_temporary(tmp_path) == 1
        assert other.exists()
        assert sweep_temporary(tmp_path / "none") == 0


class TestSlugs:
    @given(st.text(), st.integers(1, 100))
    def test_any_text_becomes_a_name(self, text: str, limit: int) -> None:
        name = slug(text, limit)
        assert name
        assert len(name) <= max(limit, len("unnamed"))
        assert len(name.encode()) <= 120
        assert name.strip(".") == name
        assert all(unicodedata.category(letter)[0] in "LMN" or letter in "._-" for letter in name)
        assert unicodedata.is_normalized("NFC", name)
        assert os.path.basename(name) == name

    @given(st.text(st.characters(codec=None, categories=["Cs", "Lo", "Mn", "Cc"])))
    def test_odd_characters(self, text: str) -> None:
        assert len(slug(text).encode()) <= 120

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("00000_物理_medium", "00000_物理_medium"),
            ("../../x", "x"),
            ("/etc/passwd", "etc_passwd"),
            ("a\0b", "a_b"),
            ("..", "unnamed"),
            ("", "unnamed"),
            ("a/b\\c:d", "a_b_c_d"),
            ("cafe\u0301", "café"),
            ("-rf", "rf"),
            ("v1.5-final", "v1.5-final"),
            ("人" * 300, "人" * 40),
            ("x" * 300, "x" * 60),
        ],
    )
    def test_examples(self, text: str, expected: str) -> None:
        assert slug(text) == expected

    def test_room_for_a_digest_and_a_suffix(self, tmp_path: Path) -> None:
        (tmp_path / f"{slug('人' * 300)}-{'0' * 12}.png").touch()


# HEIC, the format of phones, by an extra.


class TestHeic:
    """The format of phones, which Pillow opens with pillow-heif alone."""

    BEGINS = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic"

    def test_without_its_library_it_is_named_with_the_extra(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "pillow_heif", None)
        (tmp_path / "a.heic").write_bytes(self.BEGINS)
        with pytest.raises(PictureError, match=r"a\.heic: a HEIC picture, .*`pip install 'edit-eval\[heic\]'`"):
            open_picture(tmp_path / "a.heic")
        (tmp_path / "b.heic").write_bytes(b"<html>" * 9)
        with pytest.raises(PictureError, match="not a picture in a known format"):
            open_picture(tmp_path / "b.heic")

    def test_it_is_read_and_damage_is_damage(self, tmp_path: Path) -> None:
        heif = pytest.importorskip("pillow_heif")
        heif.from_pillow(Image.linear_gradient("L").resize((96, 64)).convert("RGB")).save(
            tmp_path / "a.heic", quality=100
        )
        picture = open_picture(tmp_path / "a.heic")
        assert (picture.size, picture.mode) == ((96, 64), "RGB")
        (tmp_path / "b.heic").write_bytes((tmp_path / "a.heic").read_bytes()[:-200])
        with pytest.raises(PictureError, match=r"b\.heic: "):
            open_picture(tmp_path / "b.heic")

    def test_what_is_kept_of_it_needs_nothing(self, tmp_path: Path) -> None:
        """A worker in another environment opens a PNG."""
        heif = pytest.importorskip("pillow_heif")
        heif.from_pillow(Image.linear_gradient("L").resize((96, 64)).convert("RGB")).save(
            tmp_path / "a.heic", quality=100
        )
        cache = SourceCache(str(tmp_path / "cache"))
        laid = cache.lay((tmp_path / "a.heic").read_bytes(), "source 'a.heic'")
        assert (laid.kind, Path(laid.path).read_bytes()[:4]) == ("png", b"\x89PNG")
        assert open_picture(laid.path, digest=laid.digest).size == (96, 64)
        assert remarks("source 'a.heic'", "heic", laid) == ["source 'a.heic' is HEIC: read once, and kept as PNG"]
        assert cache.lay((tmp_path / "a.heic").read_bytes(), "source 'a.heic'") == laid
