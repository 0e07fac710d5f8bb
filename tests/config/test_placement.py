from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from edit_eval.config.faults import Faults
from edit_eval.config.placement import (
    PLACEMENT_KEYS,
    Placement,
    device_names,
    read_devices_flag,
    read_placement,
    replace_devices,
)
from edit_eval.config.schema import Configuration
from edit_eval.errors import ConfigurationError


def read(**written: Any) -> Placement:
    faults, notes = Faults("x"), []
    placement = read_placement(written, ("params",), faults, notes)
    faults.raise_if_any()
    return placement


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ([2, 3, 0], ("cuda:2", "cuda:3", "cuda:0")),
        (3, ("cuda:3",)),
        ("3", ("cuda:3",)),
        ("cuda", ("cuda:0",)),
        ("cuda:1", ("cuda:1",)),
        (["cuda:1", "2"], ("cuda:1", "cuda:2")),
        ("cpu", ("cpu:0",)),
        ("cpu:4", ("cpu:0", "cpu:1", "cpu:2", "cpu:3")),
        (["cpu:0", "cpu:1"], ("cpu:0", "cpu:1")),
        (["cpu:3"], ("cpu:3",)),
    ],
)
def test_device_names(written: Any, names: tuple[str, ...]) -> None:
    assert device_names(written) == names
    assert device_names(list(names)) == names, "a resolved name is read as itself"
    assert read(device_ids=written).device_ids == names


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ([], "an empty list; write `auto` for every GPU"),
        ([0, "cuda:0"], "cuda:0 is given twice"),
        (-1, "-1 is not a valid device"),
        ("gpu:1", "'gpu:1' is not a valid device"),
        ("cuda:x", "'cuda:x' is not a valid device"),
        ("cpu:0", "asks for 0 CPU workers"),
        ("cpu:9999", "allowed are 1 to 1024"),
        (["auto"], "'auto' is not a valid device"),
    ],
)
def test_no_devices(written: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        device_names(written)
    with pytest.raises(ConfigurationError, match=text):
        read(device_ids=written)


@pytest.mark.parametrize("written", [True, 1.5, [True], [None], {"a": 1}])
def test_device_ids_of_another_type(written: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"x: params\.device_ids[.0-9]*: must be "):
        read(device_ids=written)


def test_defaults() -> None:
    assert read() == Placement() == read(device_ids=None, device=None, timeout=None)
    assert Placement().device_ids == "auto"
    assert not Placement().foreign


def test_one_device() -> None:
    placement = read(device="cuda:1")
    assert (placement.device_ids, placement.single) == (("cuda:1",), True)
    assert read(device="cpu:0") == read(device="cpu") == Placement(device_ids=("cpu:0",), single=True)
    assert read(device=2).device_ids == ("cuda:2",)
    assert not read(device_ids=[2]).single
    assert read(device="auto") == Placement()
    for bad, text in (
        ({"device": "cpu:4"}, "one device; for 4 workers write `device_ids: cpu:4`"),
        ({"device": 0, "device_ids": [0]}, "`device_ids` is also given"),
        ({"device": 0, "devices_per_replica": 2}, "write `device_ids`"),
    ):
        with pytest.raises(ConfigurationError, match=text):
            read(**bad)


def test_replicas_over_several_devices() -> None:
    assert read(device_ids=[0, 1, 2, 3], devices_per_replica=2).devices_per_replica == 2
    with pytest.raises(ConfigurationError, match="3 devices cannot be split into replicas of 2"):
        read(device_ids=[0, 1, 2], devices_per_replica=2)
    with pytest.raises(ConfigurationError, match=r"params\.offload: needs one device per replica"):
        read(device_ids=[0, 1], devices_per_replica=2, offload="model")


def test_environments() -> None:
    assert read(conda_env="qwen3").conda_env == "qwen3"
    assert read(uv=["torch", "transformers>=5"]).uv == ("torch", "transformers>=5")
    assert read(python=sys.executable).python == sys.executable
    assert read(python_path=sys.executable).python == sys.executable, "the base system's name"
    assert read(python="python3").foreign
    with pytest.raises(ConfigurationError, match=r"params\.uv: the environment is already given by `conda_env`"):
        read(conda_env="a", uv=["torch"])
    with pytest.raises(ConfigurationError, match="no such file: no-such-python"):
        read(python="no-such-python")
    with pytest.raises(ConfigurationError, match=r"params\.uv: must be"):
        read(uv=[])
    with pytest.raises(ConfigurationError, match=r"params\.conda_env: must be text with a length of at least 1"):
        read(conda_env="")


def test_the_base_systems_keys() -> None:
    assert read(use_batch_inference=False, batch_size=4).batch_size == 1
    assert read(use_batch_inference=True, batch_size=4).batch_size == 4
    assert read(disable_progress_bar=True, enable_batch_sync=False) == Placement()
    with pytest.raises(ConfigurationError, match="must be true or false, not 'yes'; write true"):
        read(disable_progress_bar="yes")


def test_the_keys_are_those_of_the_contract() -> None:
    where = "device device_ids devices_per_replica offload"
    how = "python python_path conda_env uv timeout load_timeout"
    base = "batch_size use_batch_inference enable_batch_sync disable_progress_bar"
    assert " ".join(sorted(PLACEMENT_KEYS)) == " ".join(sorted(f"{where} {how} {base}".split()))


@pytest.mark.parametrize(
    ("flag", "devices"),
    [
        ("auto", "auto"),
        ("cpu:2", ("cpu:0", "cpu:1")),
        ("cpu", ("cpu:0",)),
        ("0,2,3", ("cuda:0", "cuda:2", "cuda:3")),
        (" 1 , 0 ", ("cuda:1", "cuda:0")),
        ("3", ("cuda:3",)),
        ("cuda:1,cuda:0", ("cuda:1", "cuda:0")),
        ("cpu:0,cpu:1", ("cpu:0", "cpu:1")),
    ],
)
def test_the_flag(flag: str, devices: Any) -> None:
    assert read_devices_flag(flag) == devices
    assert replace_devices(Placement(), devices).device_ids == devices


def test_a_model_with_one_device_keeps_one() -> None:
    placement = Placement(device_ids=("cuda:5",), single=True)
    assert replace_devices(placement, ("cuda:2", "cuda:3")).device_ids == ("cuda:2",)
    assert replace_devices(placement, "auto") == placement


def test_the_flag_replaces_all(load: Callable[..., Configuration]) -> None:
    configuration = load("diffusion_model.params.device_ids=[0, 1]", "reward_model.params.device=cuda:1", devices="3,4")
    assert configuration.edit_models["Editor"].placement.device_ids == ("cuda:3", "cuda:4")
    assert configuration.judges["Judge"].placement.device_ids == ("cuda:3",)


@pytest.mark.parametrize(
    ("flag", "line"),
    [
        ("gpu", "--devices gpu: 'gpu' is not a valid device; write 1, cuda:1, cpu:2 (two CPU workers) or auto"),
        ("0,0", "--devices 0,0: cuda:0 is given twice"),
        ("", "--devices : an empty list; write `auto` for every GPU"),
        ("auto,1", "--devices auto,1: 'auto' is not a valid device; write 1, cuda:1, cpu:2 (two CPU workers) or auto"),
    ],
)
def test_a_wrong_flag(load: Callable[..., Configuration], flag: str, line: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load(devices=flag)
    assert str(caught.value) == line


def test_a_flag_that_does_not_suit_a_model(load: Callable[..., Configuration]) -> None:
    with pytest.raises(ConfigurationError, match="--devices: 3 devices cannot be split into replicas of 2"):
        load("diffusion_model.params.devices_per_replica=2", devices="0,1,2")


@pytest.mark.parametrize(
    "placement",
    [
        Placement(),
        Placement(device_ids=("cpu:0", "cpu:1"), timeout=5, batch_size=3),
        Placement(device_ids=("cuda:1",), single=True, conda_env="x"),
        Placement(device_ids=("cpu:0",), single=True),
        Placement(device_ids=("cuda:1", "cuda:0"), devices_per_replica=2, uv=("torch",)),
        Placement(offload="group", load_timeout=1.5),
    ],
)
def test_what_is_written_is_read_again(placement: Placement) -> None:
    assert read(**placement.as_plain()) == placement


def test_an_error_names_a_key_as_it_was_written(load: Callable[..., Configuration]) -> None:
    def named(key: str, *overrides: str, **keywords: Any) -> str:
        return load(*overrides, **keywords).edit_models["Editor"].name_of(key)

    assert named("conda_env") == "diffusion_model.params.conda_env"
    assert named("device_ids") == "diffusion_model.params.device_ids"
    assert named("device_ids", "diffusion_model.params.device=1") == "--set diffusion_model.params.device"
    assert named("python", "diffusion_model.params.python_path=python3") == "--set diffusion_model.params.python_path"
    assert named("device_ids", devices="cpu:2") == "--devices"
    assert named("uv", devices="cpu:2") == "diffusion_model.params.uv"
