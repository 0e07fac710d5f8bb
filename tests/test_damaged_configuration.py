"""The configuration in a run directory, damaged by hand at any place: one clear line, or none is needed."""

from __future__ import annotations

import copy
import itertools
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from documents import plain
from edit_eval import evaluate
from edit_eval.errors import EditEvalError
from edit_eval.plugins.status.sheet import status_document
from edit_eval.run import Run
from small_benchmark import configuration

KINDS = (None, "x", [3], ...)
SAID = ("/config", " has no configuration; ", ": its replies cannot be read here: ")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    return evaluate(configuration(folder, benchmark={"limit": 1}), run_dir=folder / "run", report=False).path


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield place
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from places(value[key], (*place, key))


def damaged(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    """A copy with `new` at the place, or with nothing there for `...`."""
    document = {"": copy.deepcopy(value)}
    target: Any = document
    *way, last = ("", *place)
    for key in way:
        target = target[key]
    if new is ... and place:
        del target[last]
    else:
        target[last] = {} if new is ... else new
    return document[""]


@pytest.mark.parametrize("name", ["0001.json", "0001.yaml"])
@pytest.mark.parametrize("each", [0, pytest.param(len(KINDS), marks=pytest.mark.chaos)])
def test_any_damage_is_one_line(whole: Path, tmp_path: Path, name: str, each: int) -> None:
    """Every place is damaged in `each` of these ways; with 0 every fifth place is, in one way after the other."""
    shutil.copytree(whole, tmp_path / "run")
    path = tmp_path / "run" / "config" / name
    good = yaml.safe_load(path.read_text("utf-8"))
    refused = []
    kinds = itertools.cycle(KINDS)
    for number, place in enumerate(places({key: good[key] for key in good if key != "execution"})):
        if place[2:4] == ("texts", "prompts") and len(place) > 5:
            continue  # a hundred texts
        for new in itertools.islice(kinds, each or number % 5 == 0):
            path.write_text(json.dumps(damaged(good, place, new)), "utf-8")
            try:
                run = Run(tmp_path / "run")
                assert plain(status_document(run.results))
                assert run.summary
            except EditEvalError as error:
                refused.append(str(error))
            except Exception as error:
                raise AssertionError(f"{name}: {place} is {new!r}") from error
    assert refused
    for line in refused:
        assert "\n" not in line
        assert line.startswith(tuple(f"{tmp_path}/run{said}" for said in SAID)), line
