from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for the module beside this one: pytest imports by path

from fake_nvml import GIB, gpu, install

from edit_eval.config.placement import Placement
from edit_eval.config.schema import ModelSection
from edit_eval.errors import ConfigurationError
from edit_eval.execution.devices import driver_fault, environment_for, gpus, places

SLICE = {"uuid": "MIG-5c89-1", "title": "NVIDIA H100 MIG 1g.10gb", "total": 10 * GIB, "free": 9 * GIB, "users": []}


@pytest.fixture
def four(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four GPUs, and a slice of one of them."""
    install(monkeypatch, gpu(0), gpu(1), gpu(2), gpu(3), SLICE)


def seen(visible: str | None) -> list[str]:
    """The UUIDs of the GPUs that are visible, in order."""
    found = gpus({} if visible is None else {"CUDA_VISIBLE_DEVICES": visible})
    assert [g.name for g in found] == [f"cuda:{i}" for i in range(len(found))]
    return [g.uuid for g in found]


class TestWhatIsVisible:
    def test_without_the_variable_all_are_in_the_order_of_the_bus(self, four: None) -> None:
        assert seen(None) == ["GPU-0a0b-0", "GPU-1a1b-1", "GPU-2a2b-2", "GPU-3a3b-3"]

    @pytest.mark.parametrize(
        ("variable", "numbers"),
        [
            ("2,0", [2, 0]),
            (" 2 , 0 ", [2, 0]),
            ("GPU-3a3b-3,GPU-0a0b-0", [3, 0]),
            ("GPU-3,1", [3, 1]),  # the beginning of a UUID, and both kinds mixed
            ("", []),
            ("-1", []),
            ("0,-1,1", [0]),  # CUDA ends the list at the first entry that is none
            ("0,,1", [0]),
            ("1,7,0", [1]),
            ("1,GPU-f,0", [1]),
            ("1,GPU-,0", [1]),  # fits more than one GPU
            ("1,none,0", [1]),
            ("²", []),
        ],
    )
    def test_the_variable_says_which_and_in_which_order(self, four: None, variable: str, numbers: list[int]) -> None:
        assert seen(variable) == [f"GPU-{n}a{n}b-{n}" for n in numbers]

    def test_a_slice_of_a_gpu_is_known_by_its_id(self, four: None) -> None:
        assert seen("MIG-5c89-1,0") == ["MIG-5c89-1", "GPU-0a0b-0"]
        assert seen("MIG-0000-9,0") == []

    def test_the_command_s_own_environment_counts_where_none_is_given(self, monkeypatch: pytest.MonkeyPatch) -> None:
        install(monkeypatch, gpu(0), gpu(1), visible="1")
        assert [g.uuid for g in gpus()] == ["GPU-1a1b-1"]

    def test_there_are_none_without_a_driver(self, monkeypatch: pytest.MonkeyPatch) -> None:
        install(monkeypatch, gpu(0), fault="Driver Not Loaded")
        assert gpus({}) == []

    def test_there_are_none_without_the_library(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "pynvml", None)
        assert gpus({}) == []

    def test_a_gpu_that_fell_off_the_bus_is_no_crash(self, monkeypatch: pytest.MonkeyPatch) -> None:
        nvml = install(monkeypatch, gpu(0), gpu(1, lost=True))
        assert gpus({}) == []
        assert driver_fault() == "GPU is lost"
        assert nvml.open == 0


class TestWhatIsKnownOfAGpu:
    def test_memory_load_and_users(self, monkeypatch: pytest.MonkeyPatch) -> None:
        mine = (os.getpid(), 12 * GIB)
        nvml = install(monkeypatch, gpu(0, free=68, busy=97, users=[mine, (1 << 30, None)]))
        (found,) = gpus({})
        assert (found.memory, found.free, found.utilisation) == (80 * GIB, 68 * GIB, 97)
        assert found.capability == (9, 0)
        program = Path("/proc/self/comm").read_text().strip()
        assert found.users == (f"{os.getpid()} {program} (12.0 GiB)", f"{1 << 30} ?")
        assert nvml.open == 0

    def test_what_the_driver_does_not_tell_is_none_and_never_a_number(self, monkeypatch: pytest.MonkeyPatch) -> None:
        install(monkeypatch, {"uuid": "GPU-1", "title": "NVIDIA GB10"})
        (found,) = gpus({})
        assert (found.memory, found.free, found.utilisation, found.capability) == (None, None, None, None)
        assert found.users == ()

    def test_a_slice_tells_its_users_though_not_its_load(self, monkeypatch: pytest.MonkeyPatch) -> None:
        install(monkeypatch, gpu(0), {**SLICE, "users": [(os.getpid(), GIB)]})
        (found,) = gpus({"CUDA_VISIBLE_DEVICES": "MIG-5c89-1"})
        assert found.utilisation is None
        assert len(found.users) == 1


class TestWhatAWorkerIsTold:
    @pytest.mark.parametrize("variable", [None, "3,1,0", "GPU-2a2b-2,GPU-3a,0", "MIG-5c89-1,2"])
    def test_a_worker_sees_the_very_gpu_that_the_command_gives_it(self, four: None, variable: str | None) -> None:
        ours = {} if variable is None else {"CUDA_VISIBLE_DEVICES": variable}
        all_of_them = gpus(ours)
        assert len(all_of_them) > 1
        for one in all_of_them:
            variables, names = environment_for([one.name], ours)
            assert names == ["cuda:0"]
            assert [g.uuid for g in gpus({**ours, **variables})] == [one.uuid]

    def test_several_devices_keep_their_order(self, four: None) -> None:
        ours = {"CUDA_VISIBLE_DEVICES": "3,GPU-1a,0"}
        variables, names = environment_for(["cuda:2", "cuda:0"], ours)
        assert names == ["cuda:0", "cuda:1"]
        assert [g.uuid for g in gpus(variables)] == ["GPU-0a0b-0", "GPU-3a3b-3"]

    def test_gpus_count_in_the_order_of_the_bus_whatever_the_user_s_order(self, four: None) -> None:
        variables, _ = environment_for(["cuda:1"], {"CUDA_DEVICE_ORDER": "FASTEST_FIRST"})
        assert variables == {"CUDA_VISIBLE_DEVICES": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}

    def test_a_worker_on_the_cpu_sees_no_gpu(self, four: None) -> None:
        variables, names = environment_for(["cpu:3"], {})
        assert names == ["cpu"]
        assert gpus(variables) == []


def laid_out(
    device_ids: str | tuple[str, ...], per_replica: int, environment: dict[str, str], /, **names: str
) -> tuple[tuple[tuple[str, ...], ...], str]:
    """Where a model goes that asks for these devices."""
    placement = Placement.model_validate({"device_ids": device_ids, "devices_per_replica": per_replica})
    section = ModelSection(name="m", type="testing", class_path="", placement=placement, names=names)
    return places(section, environment)


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
