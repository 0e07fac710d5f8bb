from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from edit_eval.config.components import name_class
from edit_eval.config.loading import load_configuration
from edit_eval.config.parameters import Parameter, describe_parameters, find_adapter
from edit_eval.config.schema import Configuration
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.rehearse.in_worker.fake_models import FakeEditModel


def test_defaults_are_filled_in_and_all_is_plain(load: Callable[..., Configuration]) -> None:
    model = load("diffusion_model.params.size=[640, 480]", "diffusion_model.params.true_cfg_scale=4").edit_models[
        "Editor"
    ]
    assert model.parameters == {
        "model_name": "Qwen/Qwen-Image-Edit",
        "num_inference_steps": 15,
        "true_cfg_scale": 4.0,
        "negative_prompt": " ",
        "dtype": "bfloat16",
        "size": [640, 480],
        "sampler": {"name": "euler", "shift": 3.0},
        "compiled": False,
        "canvas": "source",
    }
    assert type(model.parameters["true_cfg_scale"]) is float, "4 and 4.0 must make the same key"


def test_what_says_where_and_how_is_no_parameter(load: Callable[..., Configuration]) -> None:
    configuration = load(
        "reward_model.params.device_ids=[1]",
        "reward_model.params.offload=group",
        "reward_model.params.timeout=5",
        "reward_model.params.load_timeout=7",
        "reward_model.params.batch_size=4",
        "reward_model.params.conda_env=qwen3",
        "reward_model.params.disable_progress_bar=true",
        "reward_model.params.seed=9",
    )
    judge = configuration.judges["Judge"]
    assert judge.seed == 9
    assert sorted(judge.parameters) == ["api_key_env", "images", "max_new_tokens", "model_name"]
    placement = judge.placement
    assert (placement.offload, placement.timeout, placement.load_timeout) == ("group", 5.0, 7.0)
    assert (placement.batch_size, placement.conda_env) == (4, "qwen3")


def test_no_class_has_to_say_that_it_has_no_other_parameters() -> None:
    class Plain:
        @dataclass
        class Parameters:
            steps: int = 4

    adapter = find_adapter(Plain)
    assert adapter is not None
    assert adapter.json_schema()["additionalProperties"] is False


def test_a_scientific_number_is_a_number(load: Callable[..., Configuration]) -> None:
    parameters = load("diffusion_model.params.true_cfg_scale=1e-4").edit_models["Editor"].parameters
    assert parameters["true_cfg_scale"] == 1e-4


@pytest.mark.parametrize(
    ("cls", "params", "line"),
    [
        ("Careless", "{strenth: 1}", "params.strenth: unknown key; did you mean `strength`?"),
        ("Careless", "{strength: x}", "params.strength: must be a number, not 'x'"),
        ("NoDataclass", "{}", "params: NoDataclass.Parameters must be a dataclass (`@dataclass` above it)"),
        (
            "TakesDevice",
            "{}",
            "params: TakesDevice.Parameters has a field `device`, a name that edit-eval keeps for itself; rename it",
        ),
        ("Unannotated", "{}", "params: Unannotated.Parameters: name 'NoSuchType' is not defined"),
        ("Checks", "{width: 33}", "params.width: 33 is no multiple of 32"),
        ("Checks", "{height: 0}", "params.height: lies above 0, not at 0"),
        ("Checks", "{width: 32}", "params: a square is wanted"),
    ],
)
def test_classes_of_all_kinds(folder: Path, cls: str, params: str, line: str) -> None:
    override = f"diffusion_model={{class_path: 'own_models:{cls}', params: {params}}}"
    with pytest.raises(ConfigurationError) as caught:
        load_configuration("config.yaml", overrides=[override])
    assert str(caught.value) == f"--set diffusion_model.{line}"


def test_a_class_without_parameters_gets_the_values_as_they_are(load: Callable[..., Configuration]) -> None:
    override = "diffusion_model={class_path: 'own_models:Bare', params: {anything: [1, {a: b}], device: cpu}}"
    model = load(override).edit_models["Bare"]
    assert model.parameters == {"anything": [1, {"a": "b"}]}


def test_described_by_docstring_or_metadata(folder: Path) -> None:
    described = {p.name: p for p in describe_parameters(name_class("edit_model", "own_models:Editor", folder))}
    assert list(described)[:2] == ["model_name", "num_inference_steps"]
    name = Parameter("model_name", "str", "'Qwen/Qwen-Image-Edit'", "Name on the hub, or a folder.")
    assert described["model_name"] == name
    assert described["size"].type == "tuple[int, int] | None"
    assert described["sampler"].default.endswith("Sampler(name='euler', shift=3.0)")
    assert described["canvas"].doc == "Where it paints."
    judge = {p.name: p for p in describe_parameters(name_class("judge", "own_models:Judge", folder))}
    assert [name for name, p in judge.items() if p.is_required] == ["model_name"]


def test_inherited_fields_are_described() -> None:
    described = {p.name: p for p in describe_parameters(FakeEditModel)}
    assert described["seconds"].doc.startswith("How long an edit")
    assert described["nan"].type == "list[str]"
    assert described["nan"].default == "[]"
