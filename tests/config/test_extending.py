"""`extends`: what a configuration takes over from another one, and what it says of itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from edit_eval.config.faults import Faults
from edit_eval.config.loading import as_written, load_configuration
from edit_eval.config.schema import Configuration
from edit_eval.config.shipped import find_shipped_files
from edit_eval.config.yaml_text import apply_overrides, parse
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.lookup.yaml_writing import write_yaml

Write = Callable[[str, Any], str]
BASE = {
    "benchmark": {"type": "scenes", "limit": 3, "categories": ["物理", "环境"]},
    "diffusion_model": {"type": "testing", "params": {"device_ids": "cpu:2", "steps": 4}},
    "reward_model": {"type": "testing", "params": {"device_ids": "cpu:1"}},
    "execution": {"pilot": False},
}


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    monkeypatch.chdir(tmp_path)

    def written(name: str, values: Any) -> str:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(yaml.safe_dump(values, allow_unicode=True, sort_keys=False), "utf-8")
        return name

    written("base.yaml", BASE)
    return written


def test_mappings_are_merged_and_all_else_takes_the_place_of_the_base(write: Write) -> None:
    changes = {"benchmark": {"limit": 1, "categories": ["社会"]}, "diffusion_model": {"params": {"steps": 9}}}
    mine = load_configuration(write("sub/mine.yaml", {"extends": "../base.yaml", **changes}))
    assert (mine.benchmark.filters.limit, mine.benchmark.filters.categories) == (1, ("社会",))
    assert mine.edit_models["testing"].parameters["steps"] == 9
    assert mine.edit_models["testing"].placement.device_ids == ("cpu:0", "cpu:1")
    assert mine.execution.pilot is False
    assert mine.name == "mine"


def test_a_section_of_another_class_stands_alone(write: Write) -> None:
    """Parameters of the base's class would be unknown to it."""
    section = {"type": "copy_source", "params": {"device_ids": "cpu:1"}}
    mine = load_configuration(write("mine.yaml", {"extends": "base.yaml", "diffusion_model": section}))
    assert mine.edit_models["copy_source"].parameters == {}
    table = load_configuration(write("other.yaml", {"extends": "base.yaml", "benchmark": "ladder"}))
    assert (table.benchmark.type, table.benchmark.filters.limit) == ("ladder", None)


def test_several_models_take_the_place_of_one(write: Write) -> None:
    models = {"a": {"type": "testing"}, "b": {"type": "copy_source"}}
    mine = load_configuration(write("mine.yaml", {"extends": "base.yaml", "edit_models": models}))
    assert list(mine.edit_models) == ["a", "b"]


def test_null_takes_a_value_of_the_base_away(write: Write) -> None:
    mine = load_configuration(write("mine.yaml", {"extends": "base.yaml", "benchmark": {"limit": None}}))
    assert mine.benchmark.filters.limit is None


def test_a_chain_and_a_shipped_name(write: Write) -> None:
    write("middle.yaml", {"extends": "demo", "benchmark": {"limit": 2}})
    mine = load_configuration(write("mine.yaml", {"extends": "middle.yaml", "execution": {"pilot": False}}))
    demo = load_configuration("demo")
    assert mine.edit_models == demo.edit_models
    assert mine.judges == demo.judges
    assert mine.benchmark.filters.limit == 2
    values, origin = as_written("mine.yaml", overrides=["execution.schedule=pull"], limit=1)
    assert origin(("benchmark", "type")) == str(find_shipped_files()["demo"])
    assert origin(("benchmark", "limit")) == "--limit"
    assert origin(("execution", "schedule")) == "--set"
    assert origin(("execution", "pilot")) == ""
    assert values["benchmark"] == {"type": "scenes", "count": 30, "limit": 1}


def test_a_class_of_ones_own_is_found_beside_the_file_that_names_it(write: Write, tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "own.py").write_text(
        "class Editor:\n    def __init__(self, parameters): ...\n    def load(self, devices): ...\n"
        "    def edit(self, request, on_step): ...\n"
    )
    write("shared/base.yaml", {**BASE, "diffusion_model": {"class_path": "own:Editor"}})
    mine = load_configuration(write("mine.yaml", {"extends": "shared/base.yaml"}))
    assert mine.folder == tmp_path / "shared"
    assert list(mine.edit_models) == ["Editor"]


def test_what_a_run_records_needs_no_base(write: Write, tmp_path: Path) -> None:
    """`as_plain` is what a run directory keeps."""
    mine = load_configuration(write("mine.yaml", {"extends": "base.yaml", "benchmark": {"limit": 1}}))
    write("recorded.yaml", mine.as_plain())
    (tmp_path / "base.yaml").unlink()
    assert load_configuration("recorded.yaml").as_plain() == mine.as_plain()


@pytest.mark.parametrize(
    ("extends", "line"),
    [
        ("demoo", "mine.yaml: extends: no such file: demoo; did you mean `demo`?"),
        ("bas.yaml", "mine.yaml: extends: no such file: bas.yaml; nearest existing: "),
        (3, "mine.yaml: extends: must be the path of a YAML file, or the name of a configuration, not 3"),
        ("mine.yaml", "mine.yaml: extends: circular: mine.yaml -> mine.yaml; remove `extends` from one of them"),
        ("circle.yaml", "circle.yaml: extends: circular: mine.yaml -> circle.yaml -> mine.yaml; remove"),
        ("list.yaml", "list.yaml: cannot be extended, since it is not a mapping (`extends` in mine.yaml)"),
        ("broken.yaml", "broken.yaml:1:"),
        ("wrong.yaml", "wrong.yaml: execution.shedule: unknown key; did you mean `schedule`?"),
    ],
)
def test_an_error_points_at_the_file_in_which_the_value_stands(
    write: Write, tmp_path: Path, extends: Any, line: str
) -> None:
    write("circle.yaml", {"extends": "mine.yaml"})
    write("list.yaml", [1])
    (tmp_path / "broken.yaml").write_text("a: [")
    write("wrong.yaml", {"extends": "base.yaml", "execution": {"shedule": "swap"}})
    with pytest.raises(ConfigurationError) as caught:
        load_configuration(write("mine.yaml", {"extends": extends, "benchmark": {"limit": 1}}))
    assert str(caught.value).startswith(line)


def test_a_value_of_ones_own_is_ones_own_fault(write: Write) -> None:
    with pytest.raises(ConfigurationError, match=r"^mine\.yaml: benchmark\.limit: must be a whole number"):
        load_configuration(write("mine.yaml", {"extends": "base.yaml", "benchmark": {"limit": "many"}}))
    with pytest.raises(ConfigurationError, match=r"^--set extends: write `extends` into the file"):
        load_configuration("base.yaml", overrides=["extends=demo"])


@pytest.mark.parametrize(
    "value",
    [
        *("no", "1e-4", "null", "", " x", "a: b", "a #b", "- x", "[x", "{x}", "it's", 'say "x"', "物理", "007"),
        *("two\nlines\n", "two\nlines", "\n", " \nx", "x\n\n\n", "tab\tin\nit", "trailing \nspace", "a\n  b\n"),
        *(1, 1.5, 1e-20, True, None, [], {}, ["a, b", 1, None], [{"a": "x, y"}], ["word" * 9] * 9),
    ],
)
def test_what_is_printed_is_read_again_as_itself(value: Any) -> None:
    values = {"key": value, "物理": {"1": value, "true": {"x": value}}}
    text = write_yaml(values, lambda place: "a remark" if len(place) == 1 else "")
    assert parse(text, "") == values, text


@pytest.mark.parametrize(
    ("override", "value"),
    [
        ("a.b=3", {"a": {"b": 3, "c": [1, 2]}}),
        ("a.c=[edited]", {"a": {"b": 0, "c": ["edited"]}}),
        ("a.c.1=x", {"a": {"b": 0, "c": [1, "x"]}}),
        ("a.new.deep=1e-4", {"a": {"b": 0, "c": [1, 2], "new": {"deep": 1e-4}}}),
        ("a={b: 1}", {"a": {"b": 1}}),
        ("a.b=x=y", {"a": {"b": "x=y", "c": [1, 2]}}),
        ("a.b=", {"a": {"b": None, "c": [1, 2]}}),
        ("a.b=' '", {"a": {"b": " ", "c": [1, 2]}}),
        ("a.b=cuda:1", {"a": {"b": "cuda:1", "c": [1, 2]}}),
    ],
)
def test_values_are_yaml(override: str, value: dict[str, Any]) -> None:
    raw: dict[str, Any] = {"a": {"b": 0, "c": [1, 2]}}
    apply_overrides(raw, [override], Faults("x"))
    assert raw == value


def test_a_name_with_dots_is_found() -> None:
    raw: dict[str, Any] = {"judges": {"qwen3.5": {"params": {}}, "qwen3": {}}}
    apply_overrides(raw, ["judges.qwen3.5.params.seed=3", "judges.qwen3.type=x"], Faults("x"))
    assert raw == {"judges": {"qwen3.5": {"params": {"seed": 3}}, "qwen3": {"type": "x"}}}


def test_in_python_a_mapping_holds_values_as_they_are() -> None:
    raw: dict[str, Any] = {"a": {"b": 0}}
    apply_overrides(raw, {"a.b": "1", "a.c": [1, {"d": None}]}, Faults("x"))
    assert raw == {"a": {"b": "1", "c": [1, {"d": None}]}}


def test_the_last_one_wins(load: Callable[..., Configuration]) -> None:
    configuration = load("benchmark.limit=1", "benchmark.limit=2", "diffusion_model.params.seed=7")
    assert configuration.benchmark.filters.limit == 2
    assert configuration.edit_models["Editor"].seed == 7


def test_null_gives_the_default_back(load: Callable[..., Configuration]) -> None:
    assert load("execution.pilot=false", "execution.pilot=null").execution.pilot is True


@pytest.mark.parametrize(
    ("override", "line"),
    [
        ("execution.shedule=pull", "--set execution.shedule: unknown key; did you mean `schedule`?"),
        ("exection.schedule=pull", "--set exection: unknown key; did you mean `execution`?"),
        ("execution={shedule: pull}", "--set execution.shedule: unknown key; did you mean `schedule`?"),
        ("execution.pilot=3", "--set execution.pilot: must be true or false, not 3"),
        ("execution.pilot.x=3", "--set execution.pilot: must be true or false, not a mapping"),
        (
            "diffusion_model.params.num_inference_step=3",
            "--set diffusion_model.params.num_inference_step: unknown key; did you mean `num_inference_steps`?",
        ),
        (
            "benchmark.data_path.x=3",
            "--set benchmark.data_path.x: `benchmark.data_path` is a value, it has no keys under it",
        ),
        (
            "benchmark.data_path=pair.json",
            "--set benchmark.data_path: no such file: pair.json; nearest existing: pairs.json",
        ),
        ("judges.b.type=testing", "reward_model: `judges` is also given; keep one of them"),
        ("execution.pilot", "--set execution.pilot: must be dotted.key=value, such as execution.pilot=false"),
        ("=3", "--set : must be dotted.key=value, such as execution.pilot=false"),
        ("execution..pilot=3", "--set execution..pilot: must be dotted.key=value, such as execution.pilot=false"),
        (
            "benchmark.tags=[a",
            "--set benchmark.tags: the value is not valid YAML: expected ',' or ']', but got the end of the file",
        ),
        ("benchmark.tags=!!python/name:os ''", "--set benchmark.tags: the value is not valid YAML: the tag"),
    ],
)
def test_errors_name_the_flag(folder: Path, override: str, line: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_configuration("config.yaml", overrides=[override])
    assert str(caught.value).removeprefix("config.yaml: ").startswith(line)


def test_an_index_beyond_the_list(folder: Path) -> None:
    overrides = ["benchmark.tags=[a, b]", "benchmark.tags.2=c"]
    with pytest.raises(ConfigurationError) as caught:
        load_configuration("config.yaml", overrides=overrides)
    assert str(caught.value) == "--set benchmark.tags.2: `2` is not an index of a list of 2 (counted from 0)"
