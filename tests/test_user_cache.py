"""The user's cache lies where the XDG standard has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from edit_eval.user_cache import cache_folder


@pytest.mark.parametrize("named", [None, "", "not/absolute"])  # a relative one is ignored, says the standard
def test_in_the_home(named: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    if named is None:
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    else:
        monkeypatch.setenv("XDG_CACHE_HOME", named)
    assert cache_folder() == tmp_path / ".cache" / "edit-eval"


def test_where_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "edit-eval"
