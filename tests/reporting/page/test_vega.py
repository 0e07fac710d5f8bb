"""The script that draws the charts: the same from the cache as made anew, and no cache is no fault."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
import vl_convert

from edit_eval.reporting.page.page import vega


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The user's cache, and no memory of this process."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    vega.cache_clear()
    yield tmp_path
    vega.cache_clear()


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was bundled, with a bundle that costs nothing; it has what the page must not: a script's end."""
    versions: list[str] = []

    def bundle(snippet: str, vl_version: str) -> str:
        versions.append(vl_version)
        return f"{snippet}\r\n// </script> of Vega-Lite {vl_version} \u2028"

    monkeypatch.setattr(vl_convert, "javascript_bundle", bundle)
    return versions


def again() -> str:
    vega.cache_clear()
    return vega()


def test_the_second_report_takes_it_from_the_cache(cache: Path, made: list[str]) -> None:
    first = vega()
    assert again() == first
    assert len(made) == 1
    assert "</script" not in first
    assert "\r" not in first
    assert [path.suffix for path in cache.rglob("*") if path.is_file()] == [".js"], "nothing half-written is left"


def test_other_versions_are_another_bundle(cache: Path, made: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    vega()
    monkeypatch.setattr(metadata, "version", lambda name: "0.0.1")
    again()
    monkeypatch.setattr(vl_convert, "get_vegalite_versions", lambda: ["5.8"])
    assert "Vega-Lite 5.8 " in again()
    assert len(made) == 3
    assert len(list(cache.rglob("*.js"))) == 3


@pytest.mark.parametrize("damage", [b"", b"\xff\xfe", None])
def test_a_damaged_one_is_made_anew(cache: Path, made: list[str], damage: bytes | None) -> None:
    first = vega()
    [file] = cache.rglob("*.js")
    file.write_bytes(file.read_bytes()[:-3] if damage is None else damage)
    assert again() == first
    assert len(made) == 2
    assert again() == first
    assert len(made) == 2, "and is whole again"


def test_without_a_cache_it_is_made_each_time(cache: Path, made: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    (cache / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache / "file"))
    first = vega()
    assert again() == first
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", classmethod(lambda _: (_ for _ in ()).throw(RuntimeError("no home"))))
    assert again() == first
    assert len(made) == 3
