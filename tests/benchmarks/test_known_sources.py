"""A report opens sources by their digest in the user's own cache, never by what a run's records say."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path

import pytest

from edit_eval.benchmarks.known_sources import remember_sources, with_known_sources
from edit_eval.records import Picture, Sample


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The sources of the user's cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "edit-eval" / "sources"


def sample(path: Path, data: bytes = b"a picture") -> Sample:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return pictured(Sample(id="a", index=0, pictures={}, instruction="do it"), str(path), digest_of(data))


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def pictured(one: Sample, path: str, digest: str) -> Sample:
    return replace(one, pictures={"source": Picture(path=path, digest=digest)})


def moved_to(one: Sample, path: str) -> Sample:
    return pictured(one, path, one.source_digest)


def known(one: Sample) -> str:
    (found,) = with_known_sources([one])
    assert moved_to(found, one.source) == one
    return found.source


def test_what_lies_in_the_cache_is_known_wherever_the_run_was_made(cache: Path, tmp_path: Path) -> None:
    one = sample(tmp_path / "x.png")
    laid = sample(cache / one.source_digest[:2] / f"{one.source_digest}.png")
    assert known(laid) == known(moved_to(laid, "/home/somebody/else.png")) == laid.source
    remember_sources([laid])
    assert not (cache / "elsewhere").exists(), "what already exists needs no link"


def test_what_lies_elsewhere_is_known_once_it_was_used(cache: Path, tmp_path: Path) -> None:
    one = sample(tmp_path / "x.png")
    assert known(one) == ""
    remember_sources([one, replace(one, id="b")])
    assert known(one) == known(moved_to(one, "other.png")) == one.source
    moved = sample(tmp_path / "moved" / "x.png")
    remember_sources([moved])
    remember_sources([moved])
    assert known(one) == moved.source
    assert {p.stem for p in (cache / "elsewhere").iterdir()} == {one.source_digest}


def test_a_picture_of_two_benchmarks_is_known_when_one_of_them_has_gone(cache: Path, tmp_path: Path) -> None:
    made: list[Sample] = []
    while len(made) < 2 or len(list((cache / "elsewhere").iterdir())) < 2:  # two places in sixteen may share a link
        made.append(sample(tmp_path / str(len(made)) / "x.png"))
        remember_sources(made[-1:])
    Path(made[-1].source).unlink()
    assert known(made[0]) == made[-2].source


def test_what_has_other_bytes_by_now_is_not_known(cache: Path, tmp_path: Path) -> None:
    one = sample(tmp_path / "x.png")
    remember_sources([one])
    Path(one.source).write_bytes(b"another p")
    assert known(one) == ""
    Path(one.source).unlink()
    os.mkfifo(one.source)
    assert known(one) == ""


@pytest.mark.parametrize("digest", ["", "..", "../../x", "ab/../../x", "A" * 64, "a" * 63, "a" * 64 + "\n"])
def test_what_is_no_digest_is_no_path(cache: Path, tmp_path: Path, digest: str) -> None:
    one = sample(tmp_path / "x.png")
    one = pictured(one, one.source, digest)
    remember_sources([one])
    assert known(one) == ""
    assert not cache.exists()


def test_nobody_needs_a_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = sample(tmp_path / "x.png")
    (tmp_path / "cache").write_text("in the way")
    remember_sources([one])
    assert known(one) == ""

    def homeless() -> Path:
        raise RuntimeError("no home")

    monkeypatch.setattr("edit_eval.benchmarks.known_sources.cache_folder", homeless)
    remember_sources([one])
    assert known(one) == ""


def test_every_picture_of_a_sample_is_known(tmp_path: Path) -> None:
    one, other = sample(tmp_path / "x.png"), sample(tmp_path / "mask.png", b"a mask")
    both = replace(one, pictures={**one.pictures, "mask": other.pictures["source"]})
    remember_sources([both])
    assert with_known_sources([both]) == (both,)
    Path(other.source).unlink()
    (found,) = with_known_sources([both])
    assert found.pictures == {**one.pictures, "mask": Picture(path="", digest=other.source_digest)}
