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


def pictured(of_sample: Sample, path: str, digest: str) -> Sample:
    return replace(of_sample, pictures={"source": Picture(path=path, digest=digest)})


def moved_to(of_sample: Sample, path: str) -> Sample:
    return pictured(of_sample, path, of_sample.source_digest)


def known(of_sample: Sample) -> str:
    (resolved,) = with_known_sources([of_sample])
    assert moved_to(resolved, of_sample.source) == of_sample
    return resolved.source


def test_what_lies_in_the_cache_is_known_wherever_the_run_was_made(cache: Path, tmp_path: Path) -> None:
    original = sample(tmp_path / "x.png")
    laid = sample(cache / original.source_digest[:2] / f"{original.source_digest}.png")
    assert known(laid) == known(moved_to(laid, "/home/somebody/else.png")) == laid.source
    remember_sources([laid])
    assert not (cache / "elsewhere").exists(), "what already exists needs no link"


def test_what_lies_elsewhere_is_known_once_it_was_used(cache: Path, tmp_path: Path) -> None:
    original = sample(tmp_path / "x.png")
    assert known(original) == ""
    remember_sources([original, replace(original, id="b")])
    assert known(original) == known(moved_to(original, "other.png")) == original.source
    moved = sample(tmp_path / "moved" / "x.png")
    remember_sources([moved])
    remember_sources([moved])
    assert known(original) == moved.source
    assert {p.stem for p in (cache / "elsewhere").iterdir()} == {original.source_digest}


def test_a_picture_of_two_benchmarks_is_known_when_one_of_them_has_gone(cache: Path, tmp_path: Path) -> None:
    made: list[Sample] = []
    while len(made) < 2 or len(list((cache / "elsewhere").iterdir())) < 2:  # two places in sixteen may share a link
        made.append(sample(tmp_path / str(len(made)) / "x.png"))
        remember_sources(made[-1:])
    Path(made[-1].source).unlink()
    assert known(made[0]) == made[-2].source


def test_what_has_other_bytes_by_now_is_not_known(cache: Path, tmp_path: Path) -> None:
    original = sample(tmp_path / "x.png")
    remember_sources([original])
    Path(original.source).write_bytes(b"another p")
    assert known(original) == ""
    Path(original.source).unlink()
    os.mkfifo(original.source)
    assert known(original) == ""


@pytest.mark.parametrize("digest", ["", "..", "../../x", "ab/../../x", "A" * 64, "a" * 63, "a" * 64 + "\n"])
def test_what_is_no_digest_is_no_path(cache: Path, tmp_path: Path, digest: str) -> None:
    original = sample(tmp_path / "x.png")
    original = pictured(original, original.source, digest)
    remember_sources([original])
    assert known(original) == ""
    assert not cache.exists()


def test_nobody_needs_a_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = sample(tmp_path / "x.png")
    (tmp_path / "cache").write_text("in the way")
    remember_sources([original])
    assert known(original) == ""

    def homeless() -> Path:
        raise RuntimeError("no home")

    monkeypatch.setattr("edit_eval.benchmarks.known_sources.cache_folder", homeless)
    remember_sources([original])
    assert known(original) == ""


def test_every_picture_of_a_sample_is_known(tmp_path: Path) -> None:
    original, mask = sample(tmp_path / "x.png"), sample(tmp_path / "mask.png", b"a mask")
    both = replace(original, pictures={**original.pictures, "mask": mask.pictures["source"]})
    remember_sources([both])
    assert with_known_sources([both]) == (both,)
    Path(mask.source).unlink()
    (resolved,) = with_known_sources([both])
    assert resolved.pictures == {**original.pictures, "mask": Picture(path="", digest=mask.source_digest)}
