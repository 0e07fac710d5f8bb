"""A model's class is found wherever it lies, and its parameters are made as it declares them."""

from __future__ import annotations

import hashlib
import importlib
import os
import py_compile
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from edit_eval.errors import ChangedError, LoadError
from edit_eval.workers.model_class import find_class, make_parameters, refuse_changed


def test_a_class_in_a_module_or_in_a_file_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "zz_my_models.py").write_text("class Outer:\n    class Inner: ...\n")
    assert (
        find_class("edit_eval.plugins.rehearse.in_worker.fake_models:FakeJudge.Parameters", []).__name__ == "Parameters"
    )
    assert find_class("zz_my_models:Outer.Inner", [str(tmp_path)]).__qualname__ == "Outer.Inner"
    assert sys.path.count(str(tmp_path)) == 1
    assert find_class(f"{tmp_path}/zz_my_models.py:Outer", [str(tmp_path)]).__qualname__ == "Outer"
    assert sys.path.count(str(tmp_path)) == 1
    with pytest.raises(FileNotFoundError):
        find_class(f"{tmp_path}/nowhere.py:Outer", [])
    with pytest.raises(AttributeError):
        find_class(f"{tmp_path}/zz_my_models.py:Inner", [])


@dataclass
class Sampler:
    name: str = "euler"
    shift: float = 3.0


class Model:
    @dataclass
    class Parameters:
        weights: str
        size: tuple[int, int] | None = None
        sampler: Sampler = field(default_factory=Sampler)
        stages: list[Sampler] = field(default_factory=list)
        names: dict[str, Sampler] = field(default_factory=dict)
        steps: tuple[int, ...] = ()


def test_parameters_are_made_as_their_class_declares_them() -> None:
    """They travel as JSON, which knows neither tuples nor classes."""
    values: dict[str, Any] = {
        "weights": "w",
        "size": [3, 4],
        "sampler": {"shift": 1.0},
        "stages": [{"name": "a"}, {"name": "b"}],
        "names": {"x": {"name": "c"}},
        "steps": [1, 2, 3],
    }
    made = make_parameters(Model, values)
    assert made == Model.Parameters(
        "w", (3, 4), Sampler(shift=1.0), [Sampler("a"), Sampler("b")], {"x": Sampler("c")}, (1, 2, 3)
    )
    assert make_parameters(Model, {"weights": "w", "size": None}) == Model.Parameters("w")


def test_wrong_parameters_are_refused() -> None:
    with pytest.raises(LoadError, match="Model has no parameter `stepz`"):
        make_parameters(Model, {"weights": "w", "stepz": 3})
    with pytest.raises(TypeError, match="weights"):
        make_parameters(Model, {})
    with pytest.raises(TypeError, match="unexpected keyword"):
        make_parameters(Model, {"weights": "w", "sampler": {"shft": 1.0}})


def test_a_class_without_parameters_gets_the_plain_values() -> None:
    class Bare:
        Parameters = None

    assert make_parameters(Bare, {"a": [1]}) == {"a": [1]}


def test_an_annotation_that_cannot_be_read_changes_nothing() -> None:
    class Careless:
        @dataclass
        class Parameters:
            size: NoSuchType = None  # type: ignore[name-defined]  # noqa: F821

    assert make_parameters(Careless, {"size": [1, 2]}).size == [1, 2]


# -- the class of which keys speak --


@pytest.mark.parametrize("by", ["file", "module"])
def test_it_is_the_file_that_is_run_and_no_compiled_one_of_a_moment_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    """Python's cache knows a file by its size and its second."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    path = tmp_path / f"zz_changing_{by}.py"
    class_path = f"{path}:One" if by == "file" else f"{path.stem}:One"
    for text in ("class One: colour = 'red'\n", "class One: colour = 'tan'\n"):
        path.write_text(text)
        os.utime(path, (1_700_000_000, 1_700_000_000))
        sys.modules.pop(path.stem, None)
        importlib.invalidate_caches()
        if by == "module" and "red" in text:
            py_compile.compile(str(path), doraise=True)
        model_class = find_class(class_path, [str(tmp_path)])
        assert model_class.colour in text
        refuse_changed(hashlib.sha256(text.encode()).hexdigest(), class_path, model_class, {})
        with pytest.raises(ChangedError, match=r"zz_changing_.*\.py has changed since the run began; rerun the same"):
            refuse_changed(hashlib.sha256(b"another").hexdigest(), class_path, model_class, {})
    sys.modules.pop(path.stem, None)


def test_what_a_class_says_itself_counts(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("class Mine:\n    @staticmethod\n    def revision(p): return p['weights']\n")
    model_class = find_class(f"{path}:Mine", [])
    refuse_changed("one", f"{path}:Mine", model_class, {"weights": "one"})
    refuse_changed("", f"{path}:Mine", model_class, {"weights": "two"})
    with pytest.raises(ChangedError, match=r"changed since the run began \(revision 'one', now 'two'\)"):
        refuse_changed("one", f"{path}:Mine", model_class, {"weights": "two"})
    with pytest.raises(ChangedError, match="can no longer be determined"):
        refuse_changed("one", f"{path}:Mine", model_class, {})
