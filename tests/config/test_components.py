from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

import pytest

from edit_eval.config.components import (
    NotHere,
    describe,
    import_class,
    list_components,
    list_extra_keys,
    name_class,
    normalise_class_path,
    own_source,
)
from edit_eval.config.kinds import KINDS, Kind
from edit_eval.config.loading import load_configuration
from edit_eval.config.parameters import find_adapter, parameters_of
from edit_eval.config.placement import PLACEMENT_KEYS, PLACEMENT_KEYS_BEFORE
from edit_eval.errors import ConfigurationError
from own_components import built_in

ALL = [(kind, name) for kind in KINDS for name in built_in()[kind]]


@pytest.mark.parametrize(("kind", "name"), ALL, ids=[f"{k}-{n}" for k, n in ALL])
def test_every_built_in_name_is_a_class_of_its_kind(kind: Kind, name: str) -> None:
    cls = import_class(kind, built_in()[kind][name])
    assert all(callable(getattr(cls, method)) for method in KINDS[kind].methods)
    nested = parameters_of(cls)
    assert kind in ("section", "control") or (nested is None) == (
        kind
        in ("verb", "driver", "examiner", "columns", "subject", "follower", "partition", "display", "weights", "check")
    )
    adapter = None if kind in ("analysis", "section", "option") else find_adapter(cls)
    assert adapter is None or adapter.json_schema()["additionalProperties"] is False
    description = next(component for component in describe(name) if component.kind == kind)
    assert description.summary
    assert not description.problem
    assert not {p.name for p in description.parameters} & set(list_extra_keys(kind))


def test_the_list_imports_nothing() -> None:
    for module in [m for m in sys.modules if m.startswith("edit_eval.plugins.rehearse")]:
        del sys.modules[module]
    entries = {e.name: e for e in list_components("edit_model")}
    assert entries["testing"].summary.startswith("Tints the source")
    assert entries["testing"].origin == "built in"
    assert "edit_eval.plugins.rehearse.in_worker.fake_models" not in sys.modules


@pytest.mark.parametrize(
    ("written", "path"), [("a.b:C", "a.b:C"), ("a.b.C", "a.b:C"), ("a:B.C", "a:B.C"), (" a:B ", "a:B")]
)
def test_class_paths(written: str, path: str) -> None:
    assert normalise_class_path(written) == path


@pytest.mark.parametrize("written", ["C", ":C", "a:", "a b:C", "a-b:C", "a..b:C", "a:1", ""])
def test_what_is_no_class_path(written: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a class path"):
        normalise_class_path(written)


def test_a_file_counts_from_the_current_directory(folder: Path) -> None:
    path = normalise_class_path("own_models.py:Editor")
    assert path == f"{folder / 'own_models.py'}:Editor"
    assert name_class("edit_model", path).__name__ == "Editor"
    with pytest.raises(ConfigurationError, match="has no class `Editr`; did you mean `Editor`"):
        name_class("edit_model", path.replace("Editor", "Editr"))


def test_a_file_in_the_folder_of_the_configuration_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    beside, here = tmp_path / "beside", tmp_path / "here"
    for place, names in ((beside, ["both", "only_beside"]), (here, ["both", "only_here"])):
        place.mkdir()
        for name in names:
            (place / f"{name}.py").write_text("")
    monkeypatch.chdir(here)
    for name, place in (("both", beside), ("only_beside", beside), ("only_here", here)):
        assert normalise_class_path(f"{name}.py:C", beside) == f"{place / name}.py:C"
        assert normalise_class_path(f"{here / 'both.py'}:C", beside) == f"{here / 'both.py'}:C"
    wanted = r"no such file: only_besid\.py; nearest existing: \.\./beside/only_beside"
    with pytest.raises(ConfigurationError, match=wanted):
        normalise_class_path("only_besid.py:C", beside)


def test_two_folders_may_each_have_a_module_of_one_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    for number in (1, 2):
        folder = tmp_path / str(number)
        folder.mkdir()
        text = f"class Mine:\n    number = {number}\n    def load(self, d): ...\n    def edit(self, *a): ...\n"
        (folder / "namesake_model.py").write_text(text)
    for number in (1, 2, 1):
        assert name_class("edit_model", "namesake_model:Mine", tmp_path / str(number)).number == number


def test_nothing_of_the_users_takes_the_place_of_edit_eval(folder: Path) -> None:
    (folder / "edit_eval").mkdir()
    (folder / "edit_eval" / "__init__.py").write_text("raise RuntimeError")
    loaded = sys.modules["edit_eval"]
    before = list(sys.path)
    import_class("edit_model", built_in()["edit_model"]["testing"], folder)
    name_class("edit_model", "own_models:Editor", folder)
    assert sys.modules["edit_eval"] is loaded
    assert sorted(sys.path) == sorted([str(folder), *before])
    assert next(p for p in sys.path if not p.startswith(sysconfig.get_path("stdlib"))) == str(folder)


def test_python_s_own_modules_come_first(folder: Path) -> None:
    (folder / "quopri.py").write_text("class Judge:\n    def load(self): ...\n    def judge(self): ...\n")
    sys.modules.pop("quopri", None)
    with pytest.raises(ConfigurationError, match=r"`quopri` is a module of Python itself; rename quopri\.py, or write"):
        name_class("judge", "quopri:Judge", folder)
    import quopri

    assert hasattr(quopri, "encodestring")
    assert name_class("judge", normalise_class_path("quopri.py:Judge"), folder).__name__ == "Judge"
    assert own_source("quopri:Judge", folder) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("import no_such_library", "`bad_model:Mine` cannot be imported here: ModuleNotFoundError: No module named"),
        ("import no_such_library.part", f"`{sys.executable} -m pip install no_such_library` installs it, if the"),
        ("class Mine(:", "cannot be imported here: SyntaxError"),
        ("raise SystemExit(3)", "cannot be imported here: SystemExit: 3"),
        ("import os; os._exit(0)", "cannot be imported here: SystemExit: it ends the process (os._exit(0))"),
        ("import os; os.no_such_thing", "cannot be imported here: AttributeError: module 'os' has no attribute"),
    ],
)
def test_a_module_that_fails(folder: Path, text: str, problem: str) -> None:
    (folder / "bad_model.py").write_text(text)
    with pytest.raises(NotHere) as caught:
        name_class("edit_model", "bad_model:Mine", folder)
    assert problem in str(caught.value)
    with pytest.raises(ConfigurationError, match="cannot be imported here"):
        load_configuration("config.yaml", overrides=["diffusion_model={class_path: 'bad_model:Mine'}"])
    elsewhere = "diffusion_model={class_path: 'bad_model:Mine', params: {conda_env: theirs, x: 3, batch_size: 1}}"
    configuration = load_configuration("config.yaml", overrides=[elsewhere])
    assert configuration.edit_models["Mine"].parameters == {"x": 3}
    assert configuration.notes == ("diffusion_model.params: not checked until the worker of bad_model:Mine starts",)


def test_a_wrong_class_is_found_whatever_the_environment(folder: Path) -> None:
    override = "diffusion_model={class_path: 'own_models:Editr', params: {conda_env: theirs}}"
    with pytest.raises(ConfigurationError, match="did you mean `Editor`"):
        load_configuration("config.yaml", overrides=[override])


def test_an_edit_model_is_offered_no_batches() -> None:
    assert "batch_size" in list_extra_keys("judge")
    assert "batch_size" not in list_extra_keys("edit_model")


def test_describe(folder: Path) -> None:
    (by_path,) = describe("own_models:Judge", folder)
    assert (by_path.kind, by_path.class_path) == ("judge", "own_models:Judge")
    assert by_path.summary == "A judge of one's own."
    assert by_path.placement_keys == ("seed", *(k for k in PLACEMENT_KEYS if k not in PLACEMENT_KEYS_BEFORE))
    assert describe("own_models:Judge") == [by_path], "the current directory is searched"
    assert [component.class_path.rpartition(":")[2] for component in describe("testing")] == [
        "FakeEditModel",
        "FakeJudge",
    ]
    with pytest.raises(ConfigurationError, match="is no name of a component; did you mean `qwen_"):
        describe("qwen_image")
    with pytest.raises(ConfigurationError, match="there is no module `no_models`"):
        describe("no_models:X", folder)
