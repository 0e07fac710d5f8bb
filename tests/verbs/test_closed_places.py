"""A place that the system does not let us use is said in one line, by every verb that is given one: it is no bug."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from command_lines import Command, one_error

TYPED = """
status PLACE
report PLACE
compare PLACE PLACE
export PLACE --to page.zip
gc PLACE
votes PLACE
leaderboard PLACE
reanalyse PLACE
run PLACE
run demo --run-dir PLACE
plan PLACE
doctor PLACE
score PLACE/source.png "make it red" PLACE/edit.png --judge PLACE/judge.yaml
init --pictures PLACE --edits copy --judge testing
push PLACE somebody/something
pairs PLACE --to pairs
paper PLACE
audit PLACE
rehearse PLACE
"""
CLOSED = "closed/run"
LONG = "x" * 300
"""No disk takes such a name, root's neither."""


@pytest.mark.one_in(3)
@pytest.mark.parametrize("typed", TYPED.strip().splitlines(), ids=lambda typed: typed.partition(" ")[0])
@pytest.mark.parametrize("place", [LONG, *([CLOSED] if os.getuid() else [])], ids=lambda place: place[:6])
def test_a_place_that_may_not_be_used_is_one_line(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str, place: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    (tmp_path / "closed").mkdir(mode=0)
    found = command(*shlex.split(typed.replace("PLACE", place)))
    if typed.startswith("doctor"):
        assert (found.code, "a bug" in found.out + found.err) == (3, False)
        assert place in found.out.replace("\n", "").replace(" ", "")
        return
    one_error(found, 2, place)
    assert "a bug" not in found.err
