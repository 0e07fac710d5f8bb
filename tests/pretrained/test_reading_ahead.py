from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from edit_eval.pretrained import loading
from edit_eval.pretrained.loading import load_in_parallel, read_ahead


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, int, int]]:
    """What the operating system was asked: file, offset, length (0: to the end), advice."""
    calls: list[tuple[str, int, int, int]] = []

    def advise(file: int, offset: int, length: int, advice: int) -> None:
        calls.append((Path(os.readlink(f"/proc/self/fd/{file}")).name, offset, length, advice))

    monkeypatch.setattr(os, "posix_fadvise", advise)
    return calls


@pytest.fixture
def model(tmp_path: Path) -> Path:
    for name in ("transformer/b.safetensors", "transformer/a.safetensors", "vae/c.safetensors", "vae/config.json"):
        file = tmp_path / "model" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"0" * 100)
    return tmp_path / "model"


def finished(name: str, revision: str | None = None) -> bool:
    thread = read_ahead(name, revision)
    if thread is None:
        return False
    thread.join(60)
    assert not thread.is_alive()
    return True


def test_all_weights_are_asked_for_whole(model: Path, asked: list[tuple[str, int, int, int]]) -> None:
    assert finished(str(model))
    assert asked == [(f"{name}.safetensors", 0, 0, os.POSIX_FADV_WILLNEED) for name in "abc"]


def test_the_operating_system_takes_the_question(model: Path) -> None:
    assert finished(str(model))


def test_what_is_not_there_is_left_to_loading(model: Path, asked: list[tuple[str, int, int, int]]) -> None:
    assert not finished(str(model / "nothing"))
    assert not finished("no-one/no-model")
    assert not finished("")
    for weights in model.rglob("*.safetensors"):
        weights.unlink()
    assert not finished(str(model))
    assert asked == []


def test_more_than_half_of_the_memory_is_not_asked_for(
    model: Path, asked: list[tuple[str, int, int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "host_memory", lambda: 599)
    assert not finished(str(model))
    monkeypatch.setattr(loading, "host_memory", lambda: 600)
    assert finished(str(model))


def test_who_reads_ahead_waits_until_no_other_process_does(
    model: Path, asked: list[tuple[str, int, int, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A judge would else halve the disk of the edit model that is loaded first."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with loading._my_turn():
        thread = read_ahead(str(model))
        assert thread is not None
        thread.join(0.3)
        assert thread.is_alive()
        assert asked == []
    thread.join(60)
    assert len(asked) == 3


def test_where_no_turn_can_be_taken_nobody_waits(
    model: Path, asked: list[tuple[str, int, int, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    assert finished(str(model))
    assert len(asked) == 3


def test_a_repository_of_the_hub_is_found_in_its_cache(
    asked: list[tuple[str, int, int, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    repository, commit = tmp_path / "models--some--model", "0123456789" * 4
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(commit)
    weights = repository / "snapshots" / commit / "transformer" / "w.safetensors"
    weights.parent.mkdir(parents=True)
    weights.write_bytes(b"0" * 100)
    assert finished("some/model")
    assert finished("some/model", commit)
    assert [name for name, *_ in asked] == ["w.safetensors"] * 2


def test_the_users_own_choice_of_threads_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENABLE_PARALLEL_LOADING", "NO")
    load_in_parallel()
    assert os.environ["HF_ENABLE_PARALLEL_LOADING"] == "NO"
    monkeypatch.delenv("HF_ENABLE_PARALLEL_LOADING")
    load_in_parallel()
    assert os.environ["HF_ENABLE_PARALLEL_LOADING"] == "YES"
