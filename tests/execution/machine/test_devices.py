from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for the module beside this one: pytest imports by path

from edit_eval.execution.contract import Gpu, Meter
from edit_eval.execution.machine.devices import LocalMachine, environment_for
from edit_eval.pretrained import host_memory
from edit_eval.pretrained.host_memory import free_host_memory
from edit_eval.records import Unknown
from fake_nvml import GIB, gpu, install

SLICE = {"uuid": "MIG-5c89-1", "title": "NVIDIA H100 MIG 1g.10gb", "total": 10 * GIB, "free": 9 * GIB, "users": []}


@pytest.fixture
def four(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four GPUs, and a slice of one of them."""
    install(monkeypatch, gpu(0), gpu(1), gpu(2), gpu(3), SLICE)


def gpus(environment: dict[str, str]) -> list[Gpu]:
    """Those that a command with this environment sees."""
    return LocalMachine(environment).gpus()


def seen(visible: str | None) -> list[str]:
    """The UUIDs of the GPUs that are visible, in order."""
    listed = gpus({} if visible is None else {"CUDA_VISIBLE_DEVICES": visible})
    assert [g.name for g in listed] == [f"cuda:{i}" for i in range(len(listed))]
    return [g.uuid for g in listed]


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
        assert [g.uuid for g in LocalMachine().gpus()] == ["GPU-1a1b-1"]

    def test_there_are_none_without_a_driver(self, monkeypatch: pytest.MonkeyPatch) -> None:
        install(monkeypatch, gpu(0), fault="Driver Not Loaded")
        assert LocalMachine({}).gpus() == []

    def test_there_are_none_without_the_library(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "pynvml", None)
        assert LocalMachine({}).gpus() == []

    @pytest.mark.parametrize("question", ["HandleByIndex", "UUID", "MemoryInfo", "Name", "UtilizationRates"])
    @pytest.mark.parametrize(
        "says", ["GPU is lost", "Unknown Error", "GPU requires restart", "Insufficient Permissions"]
    )
    def test_one_that_fails_at_whichever_question_is_lost_and_no_other(
        self, monkeypatch: pytest.MonkeyPatch, question: str, says: str
    ) -> None:
        nvml = install(monkeypatch, *(gpu(n, **({"lost": question, "says": says} if n == 2 else {})) for n in range(4)))
        here = LocalMachine({})
        names = [g.name for g in here.gpus()]
        if says == "Insufficient Permissions" and question != "HandleByIndex":
            assert (names, here.lost()) == ([f"cuda:{n}" for n in range(4)], {}), "not told is not lost"
        else:
            assert names == ["cuda:0", "cuda:1", "cuda:3"]
            assert here.lost() == {"cuda:2": Unknown(says)}
        assert (here.gpu_count(), here.fault()) == (4, "")
        assert nvml.open == 0

    @pytest.mark.parametrize("question", ["HandleByIndex", "UUID", "MemoryInfo"])
    @pytest.mark.parametrize(
        ("variable", "there", "lost"),
        [
            ("0,1,3", ["0", "1", "3"], {}),
            ("3,2", ["3"], {"cuda:1"}),
            ("GPU-3,GPU-0", ["3", "0"], {}),
            ("2", [], {"cuda:0"}),
        ],
    )
    def test_one_that_is_lost_counts_only_where_it_is_visible(
        self, monkeypatch: pytest.MonkeyPatch, question: str, variable: str, there: list[str], lost: set[str]
    ) -> None:
        install(monkeypatch, *(gpu(n, **({"lost": question} if n == 2 else {})) for n in range(4)))
        here = LocalMachine({"CUDA_VISIBLE_DEVICES": variable})
        assert [g.uuid for g in here.gpus()] == [f"GPU-{n}a{n}b-{n}" for n in there]
        assert here.lost().keys() == set(lost)

    def test_beside_one_that_is_lost_workers_know_theirs_by_uuid(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Whether CUDA counts a lost GPU, nobody can tell beforehand."""
        install(monkeypatch, gpu(0), gpu(1, lost="HandleByIndex"), gpu(2))
        here = LocalMachine({})
        assert environment_for(["cuda:2"], {}, here.entries())[0]["CUDA_VISIBLE_DEVICES"] == "GPU-2a2b-2"

    def test_a_divided_gpu_is_its_slices(self, monkeypatch: pytest.MonkeyPatch) -> None:
        parts = [{**SLICE, "uuid": f"MIG-5c89-{n}"} for n in range(2)]
        install(monkeypatch, gpu(0, slices=parts), gpu(1), gpu(2, slices=[]))
        here = LocalMachine({})
        assert [(g.name, g.uuid, g.memory) for g in here.gpus()] == [
            ("cuda:0", "MIG-5c89-0", 10 * GIB),
            ("cuda:1", "MIG-5c89-1", 10 * GIB),
            ("cuda:2", "GPU-1a1b-1", 80 * GIB),
        ]
        assert here.lost() == {"cuda:3": Unknown("it is divided (MIG), and has no slice")}
        for name, entry in {"cuda:1": "MIG-5c89-1", "cuda:2": "GPU-1a1b-1"}.items():
            assert environment_for([name], {}, here.entries())[0]["CUDA_VISIBLE_DEVICES"] == entry
        assert here.entries() == {g.name: g.uuid for g in here.gpus()}


class TestWhatIsKnownOfAGpu:
    def test_memory_load_and_users(self, monkeypatch: pytest.MonkeyPatch) -> None:
        mine = (os.getpid(), 12 * GIB)
        nvml = install(monkeypatch, gpu(0, free=68, busy=97, users=[mine, (1 << 30, None)]))
        (device,) = gpus({})
        assert (device.memory, device.free, device.utilisation) == (80 * GIB, 68 * GIB, 97)
        assert device.capability == (9, 0)
        program = Path("/proc/self/comm").read_text().strip()
        assert device.users == (f"{os.getpid()} {program} (12.0 GiB)", f"{1 << 30} ?")
        assert nvml.open == 0

    @pytest.mark.parametrize("more", [{}, {"total": 0, "free": 0}])
    def test_what_the_driver_does_not_tell_is_none_and_never_a_number(
        self, monkeypatch: pytest.MonkeyPatch, more: dict[str, int]
    ) -> None:
        """Nor is a total of 0, which some drivers report with success."""
        install(monkeypatch, {"uuid": "GPU-1", "title": "NVIDIA GB10", **more})
        with LocalMachine({}).meters() as read:
            assert read("cuda:0") == Meter()
        (device,) = gpus({})
        assert (device.memory, device.free, device.utilisation, device.capability) == (None, None, None, None)
        assert device.users == ()

    def test_a_name_that_is_no_text_is_a_name(self, monkeypatch: pytest.MonkeyPatch) -> None:
        install(monkeypatch, gpu(0, title=b"NVIDIA \xff"))
        assert gpus({})[0].title == "NVIDIA \N{REPLACEMENT CHARACTER}"

    def test_a_slice_tells_its_users_though_not_its_load(self, monkeypatch: pytest.MonkeyPatch) -> None:
        install(monkeypatch, gpu(0), {**SLICE, "users": [(os.getpid(), GIB)]})
        (device,) = gpus({"CUDA_VISIBLE_DEVICES": "MIG-5c89-1"})
        assert device.utilisation is None
        assert len(device.users) == 1


class TestWhatAWorkerIsTold:
    @pytest.mark.parametrize("variable", [None, "3,1,0", "GPU-2a2b-2,GPU-3a,0", "MIG-5c89-1,2"])
    def test_a_worker_sees_the_very_gpu_that_the_command_gives_it(self, four: None, variable: str | None) -> None:
        ours = {} if variable is None else {"CUDA_VISIBLE_DEVICES": variable}
        all_of_them = gpus(ours)
        assert len(all_of_them) > 1
        for device in all_of_them:
            variables, names = environment_for([device.name], ours, LocalMachine(ours).entries())
            assert names == ["cuda:0"]
            assert [g.uuid for g in gpus({**ours, **variables})] == [device.uuid]

    def test_several_devices_keep_their_order(self, four: None) -> None:
        ours = {"CUDA_VISIBLE_DEVICES": "3,GPU-1a,0"}
        variables, names = environment_for(["cuda:2", "cuda:0"], ours, {})
        assert names == ["cuda:0", "cuda:1"]
        assert [g.uuid for g in gpus(variables)] == ["GPU-0a0b-0", "GPU-3a3b-3"]

    def test_gpus_count_in_the_order_of_the_bus_whatever_the_user_s_order(self, four: None) -> None:
        variables, _ = environment_for(["cuda:1"], {"CUDA_DEVICE_ORDER": "FASTEST_FIRST"}, {})
        assert variables == {"CUDA_VISIBLE_DEVICES": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}

    def test_a_worker_on_the_cpu_sees_no_gpu(self, four: None) -> None:
        variables, names = environment_for(["cpu:3"], {}, {})
        assert names == ["cpu"]
        assert gpus(variables) == []


class TestMeters:
    def test_names_count_among_the_visible_gpus(self, monkeypatch: pytest.MonkeyPatch) -> None:
        nvml = install(monkeypatch, gpu(0, free=60, busy=97), gpu(1, free=10))
        with LocalMachine({"CUDA_VISIBLE_DEVICES": "1,0"}).meters() as read:
            assert read("cuda:1") == Meter(20 * GIB, 80 * GIB, 0.97)
            assert read("cuda:0") == Meter(70 * GIB, 80 * GIB, 0.0)
            assert read("cuda:2") == read("cpu:0") == Meter()
        assert nvml.open == 0

    def test_what_is_not_told_is_none(self, monkeypatch: pytest.MonkeyPatch) -> None:
        install(monkeypatch, SLICE, {"uuid": "GPU-1", "busy": 30})
        with LocalMachine({"CUDA_VISIBLE_DEVICES": "MIG-5c89-1,0"}).meters() as read:
            assert read("cuda:0") == Meter(GIB, 10 * GIB, None)
            assert read("cuda:1") == Meter(None, None, 0.3)


class TestHostMemory:
    def test_what_is_free_is_no_more_than_there_is(self) -> None:
        free = free_host_memory()
        assert free is not None
        assert 0 < free <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")

    def test_the_limit_of_a_container_counts_without_its_page_cache(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name, text in {
            "proc/meminfo": "MemTotal: 999 kB\nMemAvailable:  100 kB\n",
            "sys/fs/cgroup/memory.max": "61440\n",
            "sys/fs/cgroup/memory.current": "51200\n",
            "sys/fs/cgroup/memory.stat": "anon 1\ninactive_file 20480\nactive_file 1024\n",
        }.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        monkeypatch.setattr(
            host_memory, "Path", lambda *parts: tmp_path.joinpath(*(part.lstrip("/") for part in parts))
        )
        assert free_host_memory() == 61440 - 51200 + 20480 + 1024
        (tmp_path / "sys/fs/cgroup/memory.max").write_text("max\n")
        assert free_host_memory() == 100 * 1024

    @pytest.mark.parametrize(
        ("group", "limited", "files"),
        [
            ("0::/system.slice/job_7/step_0/task_0", "system.slice/job_7", ("memory.max", "memory.current")),
            ("0::/", "", ("memory.max", "memory.current")),
            ("0::/../../elsewhere", "", ("memory.max", "memory.current")),
            (
                "4:cpu:/x\n9:memory:/slurm/uid_0/job_7",
                "memory/slurm/uid_0",
                ("memory.limit_in_bytes", "memory.usage_in_bytes"),
            ),
        ],
    )
    def test_the_limit_of_a_job_counts_wherever_it_is_set(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: str, limited: str, files: tuple[str, str]
    ) -> None:
        monkeypatch.setattr(
            host_memory, "Path", lambda *parts: tmp_path.joinpath(*(part.lstrip("/") for part in parts))
        )
        written = {"proc/meminfo": "MemAvailable: 99999999 kB\n", "proc/self/cgroup": f"{group}\n"}
        folder = f"sys/fs/cgroup/{limited}"
        written |= {f"{folder}/{files[0]}": f"{64 << 20}\n", f"{folder}/{files[1]}": f"{2 << 20}\n"}
        for name, text in written.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        assert free_host_memory() == 62 << 20
        assert host_memory.host_memory() == 64 << 20
