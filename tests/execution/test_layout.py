"""Models on devices: of the machine that is given, whatever this one has."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from edit_eval.config.loading import load_configuration
from edit_eval.endpoints.serving import ServerEnvironment
from edit_eval.errors import ConfigurationError
from edit_eval.execution.layout import lay_out
from edit_eval.plugins.preparation.planning import ImaginedMachine
from small_benchmark import configuration


def test_models_are_laid_out_as_the_configuration_says(tmp_path: Path) -> None:
    source = configuration(tmp_path, edit={"device_ids": "cpu:3"}, judge={"device_ids": None, "device": "cpu"})
    layout = lay_out(load_configuration(source), ImaginedMachine())
    assert [(m.key, m.places) for m in layout.models] == [
        ("edit:testing", (("cpu:0",), ("cpu:1",), ("cpu:2",))),
        ("judge:testing", (("cpu:0",),)),
    ]
    assert layout.devices == ("cpu:0", "cpu:1", "cpu:2")
    assert layout.reasons == {"edit:testing": "set in the configuration", "judge:testing": "set in the configuration"}


def test_each_replica_has_what_a_driver_must_know(tmp_path: Path) -> None:
    split = {"device_ids": "auto", "devices_per_replica": 2}
    source = configuration(tmp_path, edit=split, judge={"device_ids": [3]})
    layout = lay_out(load_configuration(source), ImaginedMachine(5))
    assert list(layout.specifications) == [
        ("edit:testing", ("cuda:0", "cuda:1")),
        ("edit:testing", ("cuda:2", "cuda:3")),
        ("judge:testing", ("cuda:3",)),
    ]
    first = layout.specifications["edit:testing", ("cuda:0", "cuda:1")]
    assert first.name == "edit-testing-cuda0+cuda1"
    assert (first.model, first.devices) == ("edit:testing", ("cuda:0", "cuda:1"))
    assert layout.places == {"edit:testing": ("cuda:0", "cuda:1", "cuda:2", "cuda:3"), "judge:testing": ("cuda:3",)}


def test_a_gpu_that_the_machine_has_not_is_refused(tmp_path: Path) -> None:
    source = configuration(tmp_path, judge={"device_ids": [5]})
    with pytest.raises(ConfigurationError, match="cuda:5 is not there: 5 GPUs are visible"):
        lay_out(load_configuration(source), ImaginedMachine(5))


def test_the_environment_of_a_served_model_is_its_server_s(tmp_path: Path) -> None:
    """The worker that asks it runs in edit-eval's own."""
    source = configuration(tmp_path, edit={"python": sys.executable, "device_ids": "auto"})
    params = {"model": "a/judge", "python": sys.executable, "serve": {"engine": "vllm"}, "load_timeout": 100}
    source["reward_model"] = {"type": "chat_endpoint", "params": params}
    layout = lay_out(load_configuration(source), ImaginedMachine(2))
    editor, judge = (layout.specifications[key, ("cuda:1",)] for key in ("edit:testing", "judge:chat_endpoint"))
    assert (editor.python, editor.server) == (sys.executable, None)
    assert (judge.python, judge.server) == ("", ServerEnvironment(sys.executable, seconds=90.0))


def test_a_class_says_that_it_holds_no_device_and_a_server_of_ours_does(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    edit = {"type": "image_folder", "params": {"folder": str(tmp_path / "pictures")}}
    judge = {"model": "a/judge", "base_url": "http://localhost:1/v1"}
    for params, holds in ((judge, False), ({"model": "a/judge", "serve": {"engine": "vllm"}}, True)):
        source = configuration(tmp_path)
        source |= {"diffusion_model": edit, "reward_model": {"type": "chat_endpoint", "params": params}}
        models = lay_out(load_configuration(source), ImaginedMachine(2)).models
        assert [model.holds_device for model in models] == [False, holds]
    models = lay_out(load_configuration(configuration(tmp_path)), ImaginedMachine()).models
    assert [model.holds_device for model in models] == [True, True]
