from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edit_eval.config.faults import Faults
from edit_eval.config.loading import load_configuration
from edit_eval.config.schema import Configuration
from edit_eval.config.yaml_text import apply_overrides
from edit_eval.errors import ConfigurationError


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
