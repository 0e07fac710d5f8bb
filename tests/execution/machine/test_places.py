from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for the module beside this one: pytest imports by path

from edit_eval.config.placement import Placement
from edit_eval.config.schema import ModelSection
from edit_eval.errors import ConfigurationError
from edit_eval.execution.machine.devices import LocalMachine
from edit_eval.execution.machine.places import Place, places
from edit_eval.plugins.preparation.planning import ImaginedMachine
from fake_nvml import gpu, install


@pytest.fixture
def four(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four GPUs."""
    install(monkeypatch, gpu(0), gpu(1), gpu(2), gpu(3))


def laid_out(
    device_ids: str | tuple[str, ...], per_replica: int, environment: dict[str, str], /, **names: str
) -> tuple[tuple[Place, ...], str]:
    """Where a model goes that asks for these devices."""
    placement = Placement.model_validate({"device_ids": device_ids, "devices_per_replica": per_replica})
    section = ModelSection(name="m", type="testing", class_path="", placement=placement, names=names)
    return places(section, LocalMachine(environment))


class TestPlaces:
    def test_auto_takes_every_visible_gpu(self, four: None) -> None:
        chosen, why = laid_out("auto", 1, {"CUDA_VISIBLE_DEVICES": "3,1"})
        assert chosen == (("cuda:0",), ("cuda:1",))
        assert why == "auto: 2 visible GPUs"

    def test_auto_makes_as_many_replicas_of_several_gpus_as_there_are(self, monkeypatch: pytest.MonkeyPatch) -> None:
        install(monkeypatch, *(gpu(n) for n in range(5)))
        chosen, why = laid_out("auto", 2, {})
        assert chosen == (("cuda:0", "cuda:1"), ("cuda:2", "cuda:3"))
        assert why == "auto: 5 visible GPUs, 1 left over"

    def test_auto_without_a_gpu_is_one_worker_on_the_cpu(self, monkeypatch: pytest.MonkeyPatch) -> None:
        install(monkeypatch)
        chosen, why = laid_out("auto", 4, {})
        assert chosen == (("cpu:0",),)
        assert "no GPU" in why

    def test_auto_does_not_fall_back_to_the_cpu_where_gpus_are_too_few(self, monkeypatch: pytest.MonkeyPatch) -> None:
        install(monkeypatch, gpu(0))
        with pytest.raises(ConfigurationError, match="devices_per_replica: 2, but only 1 visible GPU"):
            laid_out("auto", 2, {})

    @pytest.mark.parametrize("question", ["HandleByIndex", "UUID", "MemoryInfo"])
    def test_one_that_is_lost_is_left_out_and_named(self, monkeypatch: pytest.MonkeyPatch, question: str) -> None:
        install(monkeypatch, *(gpu(n, **({"lost": question} if n == 3 else {})) for n in range(6)))
        rest = tuple((f"cuda:{n}",) for n in (0, 1, 2, 4, 5))
        named = "cuda:3 does not answer (GPU is lost)"
        chosen, why = laid_out("auto", 1, {})
        assert (chosen, named in why) == (rest, True)
        chosen, why = laid_out(tuple(f"cuda:{n}" for n in range(6)), 1, {})
        assert (chosen, named in why) == (rest, True)
        chosen, why = laid_out(("cuda:0", "cuda:5"), 1, {})
        assert (chosen, why) == ((("cuda:0",), ("cuda:5",)), "set in the configuration"), "nobody asked for it"
        chosen, why = laid_out(tuple(f"cuda:{n}" for n in range(6)), 2, {})
        assert (chosen, named in why) == ((("cuda:0", "cuda:1"), ("cuda:4", "cuda:5")), True)
        with pytest.raises(
            ConfigurationError, match=r"none of its GPUs can be used: cuda:3 does not answer \(GPU is lost"
        ):
            laid_out(("cuda:3",), 1, {})
        chosen, why = laid_out("auto", 1, {"CUDA_VISIBLE_DEVICES": "3"})
        assert chosen == (("cpu:0",),)
        assert "GPU is lost" in why

    def test_no_process_sees_two_slices(self, monkeypatch: pytest.MonkeyPatch) -> None:
        parts = [{"uuid": f"MIG-{n}", "title": "slice", "total": 10, "free": 10} for n in range(2)]
        install(monkeypatch, gpu(0, slices=parts))
        assert laid_out("auto", 1, {})[0] == (("cuda:0",), ("cuda:1",))
        for asked in ("auto", ("cuda:0", "cuda:1")):
            with pytest.raises(ConfigurationError, match="devices_per_replica: 2, but cuda:0 and cuda:1 are slices"):
                laid_out(asked, 2, {})

    def test_the_order_of_a_list_is_kept(self, four: None) -> None:
        names = ("cuda:2", "cuda:3", "cuda:0", "cuda:1")
        assert laid_out(names, 1, {})[0] == (("cuda:2",), ("cuda:3",), ("cuda:0",), ("cuda:1",))
        assert laid_out(names, 2, {})[0] == (("cuda:2", "cuda:3"), ("cuda:0", "cuda:1"))

    @pytest.mark.parametrize("variable", [None, "0,1,2,3,9"])
    def test_a_gpu_that_is_not_there_is_refused(self, four: None, variable: str | None) -> None:
        environment = {} if variable is None else {"CUDA_VISIBLE_DEVICES": variable}
        with pytest.raises(ConfigurationError) as caught:
            laid_out(("cuda:0", "cuda:4"), 1, environment)
        line = str(caught.value)
        assert "cuda:4 is not there: 4 GPUs are visible" in line
        assert (f"CUDA_VISIBLE_DEVICES={variable}" in line) == (variable is not None)

    def test_all_that_are_not_there_are_named_with_the_key_that_asked_for_them(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        install(monkeypatch, gpu(0))
        key = "diffusion_model.params.device_ids"
        with pytest.raises(ConfigurationError) as caught:
            laid_out(("cuda:2", "cuda:0", "cuda:1", "cuda:3"), 1, {}, device_ids=key)
        said = "cuda:2, cuda:1 and cuda:3 are not there: 1 GPU is visible to this command; `doctor` lists"
        assert str(caught.value).startswith(f"{key}: {said}")
        install(monkeypatch)
        with pytest.raises(ConfigurationError, match=r"^--devices: cuda:0 and cuda:1 are not there: no GPU is visible"):
            laid_out(("cuda:0", "cuda:1"), 1, {}, device_ids="--devices")
        install(monkeypatch, gpu(0))
        key = "judges.big.params.devices_per_replica"
        with pytest.raises(ConfigurationError, match=f"^{key}: 2, but only 1 visible GPU"):
            laid_out("auto", 2, {}, devices_per_replica=key)

    def test_where_nobody_can_tell_the_variable_is_believed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        install(monkeypatch, fault="NVML Shared Library Not Found")
        environment = {"CUDA_VISIBLE_DEVICES": "4,5"}
        assert laid_out(("cuda:1",), 1, environment)[0] == (("cuda:1",),)
        with pytest.raises(ConfigurationError, match="cuda:2 is not there: 2 GPUs"):
            laid_out(("cuda:2",), 1, environment)

    def test_workers_on_the_cpu_are_one_a_place(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "pynvml", None)
        assert laid_out(("cpu:0", "cpu:1"), 2, {})[0] == (("cpu:0",), ("cpu:1",))


def test_another_machine_has_other_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody asks this one, which has two."""
    install(monkeypatch, gpu(0), gpu(1))
    placement = Placement.model_validate({"device_ids": "auto", "devices_per_replica": 3})
    section = ModelSection(name="m", type="testing", class_path="", placement=placement)
    wanted = (("cuda:0", "cuda:1", "cuda:2"), ("cuda:3", "cuda:4", "cuda:5"))
    assert places(section, ImaginedMachine(7)) == (wanted, "auto: 7 visible GPUs, 1 left over")
