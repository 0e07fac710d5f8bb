"""HEIC, the format of phones, by an extra."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from PIL import Image

from edit_eval.benchmarks.row_benchmark import remarks
from edit_eval.benchmarks.source_cache import SourceCache
from edit_eval.errors import PictureError
from edit_eval.pictures import open_picture

GREY = Image.linear_gradient("L").resize((96, 64)).convert("RGB")


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
