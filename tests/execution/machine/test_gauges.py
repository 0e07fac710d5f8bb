"""What devices are used for: memory before, loaded, at the peak, after; utilisation by activity; and no harm done."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for the module beside this one: pytest imports by path

from documents import plain
from edit_eval import evaluate
from edit_eval.execution.machine import gauges as module
from edit_eval.execution.machine.devices import LocalMachine
from edit_eval.execution.machine.gauges import Gauges
from edit_eval.records import MemoryUse, Utilisation
from edit_eval.reporting.documents import encode_document
from edit_eval.run import Run
from edit_eval.scheduling.fleet import Replica, ReplicaState
from edit_eval.scheduling.tasks import Model, Task
from edit_eval.store.run_directory import CannotWrite, RunDirectory
from edit_eval.store.timeline import read_timeline
from fake_nvml import GIB, FakeNvml, gpu, install
from small_benchmark import configuration

MIB = 1 << 20
Event = dict[str, Any]


class Events:
    """What was written."""

    def __init__(self) -> None:
        self.all: list[Event] = []

    def __call__(self, name: str, **fields: Any) -> None:
        self.all.append({"event": name, **fields})

    def memory(self) -> list[Event]:
        return [event for event in self.all if event["event"] == "memory"]

    def samples(self, device: str) -> dict[str, tuple[int, float]]:
        """All utilisation events of a device together: kind -> (samples, sum)."""
        sums: dict[str, tuple[int, float]] = {}
        for event in self.all:
            if event["event"] == "utilisation":
                for kind, (count, mean) in event["devices"].get(device, {}).items():
                    before = sums.get(kind, (0, 0.0))
                    sums[kind] = (before[0] + count, before[1] + count * mean)
        return sums


@pytest.fixture
def events() -> Events:
    return Events()


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """No samples but those that are asked for."""
    monkeypatch.setattr(module, "SAMPLE_EVERY", 1000.0)


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SAMPLE_EVERY", 0.002)


def replica(*place: str, kind: Any = "edit", name: str = "m", number: int = 0) -> Replica:
    return Replica(number, Model(name, kind, (place,)), 0, place)


def settled(gauges: Gauges, device: str = "cuda:0") -> None:
    """All that was asked is answered: one more question waits behind it."""
    gauges._ask(device).result(timeout=60)


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


def use(nvml: FakeNvml, gib: float, number: int = 0) -> None:
    """So much of a GPU is in use."""
    nvml.gpus[number]["free"] = nvml.gpus[number]["total"] - int(gib * GIB)


def test_memory_before_loaded_at_the_peak_and_after(
    monkeypatch: pytest.MonkeyPatch, events: Events, slow: None
) -> None:
    nvml = install(monkeypatch, gpu(0))
    worker = replica("cuda:0")
    with Gauges([worker], events, LocalMachine()) as gauges:
        use(nvml, 0.5)
        gauges(worker, "loading", {})
        settled(gauges)
        use(nvml, 54)
        gauges(worker, "loaded", {"memory": {"host": GIB, "device": 53 * GIB, "device_peak": 53 * GIB}})
        settled(gauges)
        assert events.memory() == [], "the answer came after the last word of the engine's"
        gauges(worker, "done", {"memory": {"host": GIB, "device": 53 * GIB, "device_peak": 61 * GIB}})
        assert [(e["before"], e["loaded"], e["after"]) for e in events.memory()] == [(GIB // 2, 54 * GIB, None)]
        gauges(worker, "ended", {"memory": {"host": GIB, "device": 53 * GIB, "device_peak": 62 * GIB}})
        use(nvml, 0.25)
        gauges(worker, "died", {"reason": "ended"})
    last = events.memory()[-1]
    assert last == {
        "event": "memory",
        "stage": 1,
        "device": "cuda:0",
        "model": "m",
        "kind": "editing",
        "before": GIB // 2,
        "loaded": 54 * GIB,
        "peak": 62 * GIB,
        "after": GIB // 4,
    }
    assert nvml.open == 0, "the library is closed again"


@pytest.mark.parametrize(
    ("later", "strangers"),
    [
        ([], ["9000001"]),
        ([9000002], ["9000001"]),  # our worker, by the number that the driver knows it by
        ([9000002, 9000003], ["9000001", "9000002", "9000003"]),  # one of the two is not
        ([os.getppid()], ["9000001", str(os.getppid())]),
    ],
)
def test_a_process_that_a_container_cannot_see_may_be_our_own(
    monkeypatch: pytest.MonkeyPatch, events: Events, slow: None, later: list[int], strangers: list[str]
) -> None:
    nvml = install(monkeypatch, gpu(0, users=[(9000001, GIB)]))
    worker = replica("cuda:0")
    with Gauges([worker], events, LocalMachine()) as gauges:
        gauges(worker, "loading", {})
        settled(gauges)
        nvml.gpus[0]["users"] += [(number, 54 * GIB) for number in later]
        assert [user.split()[0] for user in gauges.users(["cuda:0"])] == strangers


def test_the_peak_is_looked_for_once_a_second_as_well(
    monkeypatch: pytest.MonkeyPatch, events: Events, fast: None
) -> None:
    """A model that says nothing of itself (no torch), and memory that another process takes meanwhile."""
    nvml = install(monkeypatch, gpu(0))
    editor, judge = replica("cuda:0"), replica("cuda:0", kind="judge", name="j", number=1)
    with Gauges([editor, judge], events, LocalMachine()) as gauges:
        gauges(editor, "loading", {})
        gauges(editor, "loaded", {"memory": {"host": GIB}})
        settled(gauges)
        use(nvml, 70)
        wait_for(lambda: any(stage.highest == 70 * GIB for stage in gauges._stages[0]))
        use(nvml, 40)
        gauges(editor, "died", {})
        gauges(judge, "loading", {})
        settled(gauges)
        gauges(judge, "died", {})
    finished = {e["model"]: (e["kind"], e["before"], e["peak"], e["after"]) for e in events.memory()}
    assert finished == {"m": ("editing", 0, 70 * GIB, 40 * GIB), "j": ("judging", 40 * GIB, 40 * GIB, 40 * GIB)}


def test_each_device_of_a_replica_has_its_own_figures(
    monkeypatch: pytest.MonkeyPatch, events: Events, slow: None
) -> None:
    """Names count among the visible GPUs, and what the worker says of two GPUs together is said of neither."""
    nvml = install(monkeypatch, gpu(0), gpu(1), gpu(2), visible="2,0")
    pair = replica("cuda:0", "cuda:1")
    for number, gib in ((2, 30), (0, 31), (1, 77)):
        use(nvml, gib, number)
    with Gauges([pair], events, LocalMachine()) as gauges:
        gauges(pair, "loading", {})
        gauges(pair, "loaded", {"memory": {"device": 61 * GIB, "device_peak": 70 * GIB}})
        gauges(pair, "died", {})
    figures = {e["device"]: (e["before"], e["loaded"], e["peak"], e["after"]) for e in events.memory()}
    assert figures == {"cuda:0": (30 * GIB,) * 4, "cuda:1": (31 * GIB,) * 4}


def test_of_workers_on_the_cpu_there_is_what_they_say(events: Events) -> None:
    before = threading.active_count()
    worker = replica("cpu:0")
    with Gauges([worker], events, LocalMachine()) as gauges:
        assert threading.active_count() == before
        gauges(worker, "loading", {})
        gauges(worker, "loaded", {"memory": {"host": 300 * MIB, "host_peak": 310 * MIB}})
        gauges(worker, "done", {"memory": {"host": 320 * MIB, "host_peak": 350 * MIB}})
        gauges(worker, "died", {"reason": "its process was killed by SIGKILL"})
    assert [e["event"] for e in events.all] == ["memory", "memory"]
    figures = {name: events.all[-1][name] for name in ("before", "loaded", "peak", "after")}
    assert figures == {"before": None, "loaded": 300 * MIB, "peak": 350 * MIB, "after": None}


def test_a_load_that_failed_was_never_loaded(monkeypatch: pytest.MonkeyPatch, events: Events, slow: None) -> None:
    nvml = install(monkeypatch, gpu(0))
    worker = replica("cuda:0")
    with Gauges([worker], events, LocalMachine()) as gauges:
        use(nvml, 3)
        gauges(worker, "loading", {})
        gauges(worker, "broken", {"error": "CUDA out of memory"})
        gauges(worker, "died", {"reason": "exit code 1"})
        gauges(worker, "died", {"reason": "of a process that was only prepared"})
    (event,) = events.memory()
    assert (event["before"], event["loaded"], event["after"]) == (3 * GIB, None, 3 * GIB)


# -- utilisation --


def test_utilisation_by_what_the_device_was_doing(monkeypatch: pytest.MonkeyPatch, events: Events, slow: None) -> None:
    nvml = install(monkeypatch, gpu(0), gpu(1, busy=7))
    editor, judge = replica("cuda:0"), replica("cuda:0", kind="judge", number=1)
    spare = replica("cuda:1", number=2)
    with LocalMachine().meters() as read, Gauges([editor, judge, spare], events, LocalMachine()) as gauges:

        def spend(*busy: int) -> None:
            for per_cent in busy:
                nvml.gpus[0]["busy"] = per_cent
                gauges._sample(read)

        editor.state = ReplicaState.LOADING
        spend(10, 20)
        editor.state = ReplicaState.LOADED
        spend(0)
        editor.hands[1] = Task(1, editor.model.key, (0,))
        judge.state = ReplicaState.LOADING  # behind an edit: the edit owns the moment
        spend(98, 100, 96)
        editor.state, judge.state = ReplicaState.STOPPING, ReplicaState.PREPARED
        editor.hands.clear()
        spend(0, 0)
        editor.state, judge.state, judge.hands[2] = (
            ReplicaState.OFF,
            ReplicaState.LOADED,
            Task(2, judge.model.key, (0,)),
        )
        spend(60, 70)
    expected = {"loading": (2, 0.3), "idle": (1, 0.0), "editing": (3, 2.94), "unloading": (2, 0.0), "judging": (2, 1.3)}
    assert {kind: (n, pytest.approx(total)) for kind, (n, total) in events.samples("cuda:0").items()} == expected
    assert events.samples("cuda:1") == {"idle": (10, pytest.approx(0.7))}


def test_utilisation_is_written_now_and_then(monkeypatch: pytest.MonkeyPatch, events: Events, fast: None) -> None:
    """Samples taken meanwhile are never lost and never counted twice; a line says all of thirty seconds."""
    install(monkeypatch, gpu(0, busy=50))
    now = [0.0]
    worker = replica("cuda:0")
    with Gauges([worker], events, LocalMachine(), clock=lambda: now[0]) as gauges:
        wait_for(lambda: bool(gauges._samples))
        gauges(worker, "started", {"task": 1})
        assert events.all == []
        now[0] = 31.0
        gauges(worker, "started", {"task": 2})
        gauges(worker, "started", {"task": 3})
        assert [list(event) for event in events.all] == [["event", "devices"]]
        assert events.all[0]["devices"]["cuda:0"]["idle"][1] == 0.5
        wait_for(lambda: bool(gauges._samples))
    assert len(events.all) == 2


def test_a_gpu_that_does_not_tell_has_none(monkeypatch: pytest.MonkeyPatch, events: Events, fast: None) -> None:
    """A slice tells its memory alone; a GPU that shares the host's memory, its load alone."""
    install(monkeypatch, {"uuid": "GPU-0", "total": 10 * GIB, "free": 4 * GIB}, {"uuid": "GPU-1", "busy": 30})
    slice_, shared = replica("cuda:0"), replica("cuda:1", number=1)
    with Gauges([slice_, shared], events, LocalMachine()) as gauges:
        gauges(shared, "loading", {})
        gauges(shared, "loaded", {"memory": {"device": 5 * GIB, "device_peak": 6 * GIB}})
        gauges(shared, "died", {})
        wait_for(lambda: "cuda:1" in gauges._samples)
    assert events.samples("cuda:0") == {}
    assert events.samples("cuda:1")["idle"][0] > 0
    (event,) = events.memory()
    assert (event["before"], event["loaded"], event["peak"], event["after"]) == (None, 5 * GIB, 6 * GIB, None)


# -- no harm --


def test_a_driver_that_hangs_holds_nobody_up(monkeypatch: pytest.MonkeyPatch, events: Events, fast: None) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.05)
    nvml = install(monkeypatch, gpu(0))
    let_go, stuck = threading.Event(), threading.Event()

    def hang(handle: object) -> Any:
        stuck.set()
        assert let_go.wait(120)
        raise nvml.NVMLError("GPU is lost")

    monkeypatch.setattr(nvml, "nvmlDeviceGetMemoryInfo", hang)
    worker = replica("cuda:0")
    begin = time.monotonic()
    with Gauges([worker], events, LocalMachine()) as gauges:
        gauges(worker, "loading", {})
        assert stuck.wait(60)
        gauges(worker, "loaded", {"memory": {"device": GIB}})
        gauges(worker, "died", {})
    assert time.monotonic() - begin < 60
    (event,) = events.memory()
    assert (event["before"], event["loaded"], event["peak"], event["after"]) == (None, GIB, GIB, None)
    let_go.set()


@pytest.mark.parametrize("fault", ["no library", "no driver", "lost"])
def test_without_a_driver_there_is_what_workers_say(
    monkeypatch: pytest.MonkeyPatch, events: Events, fault: str
) -> None:
    if fault == "no library":
        monkeypatch.setitem(sys.modules, "pynvml", None)
    else:
        install(
            monkeypatch, gpu(0, lost="MemoryInfo"), gpu(1), fault="Driver Not Loaded" if fault == "no driver" else ""
        )
    worker = replica("cuda:0")
    with Gauges([worker], events, LocalMachine()) as gauges:
        gauges(worker, "loading", {})
        gauges(worker, "loaded", {"memory": {"device": GIB, "device_peak": 2 * GIB}})
        gauges(worker, "died", {})
    (event,) = {e["stage"]: e for e in events.memory()}.values()
    assert (event["before"], event["loaded"], event["peak"], event["after"]) == (None, GIB, 2 * GIB, None)


def test_workers_that_are_still_there_at_the_end_are_measured(
    monkeypatch: pytest.MonkeyPatch, events: Events, slow: None
) -> None:
    """Of a run that was interrupted: the engine has ended them without a word."""
    nvml = install(monkeypatch, gpu(0))
    worker = replica("cuda:0")
    use(nvml, 1)
    gauges = Gauges([worker], events, LocalMachine())

    def interrupted() -> None:
        with gauges:
            gauges(worker, "loading", {})
            gauges(worker, "loaded", {"memory": {"device": 9 * GIB, "device_peak": 9 * GIB}})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [(e["peak"], e["after"]) for e in events.memory()] == [(9 * GIB, GIB)]


def test_a_full_disk_is_said_unless_something_is_said_already() -> None:
    def full(name: str, **fields: Any) -> None:
        raise CannotWrite("full")

    def measured(error: Exception | None) -> None:
        worker = replica("cpu:0")
        with Gauges([worker], full, LocalMachine()) as gauges:
            gauges(worker, "loading", {})
            if error is not None:
                raise error

    with pytest.raises(CannotWrite):
        measured(None)
    with pytest.raises(ValueError, match="first"):
        measured(ValueError("first"))


# -- what is kept, and a whole run --


def test_the_records_of_several_starts_are_added_up(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    for start in (1, 2):
        directory = RunDirectory(folder)
        directory.begin()
        figures: Event = {"device": "cuda:0", "model": "m", "kind": "editing", "before": 1, "loaded": 5, "peak": 6}
        for line in (
            {"event": "memory", "start": start, "stage": 2, **figures, "after": None},
            {"event": "memory", "start": start, "stage": 1, **figures, "after": 1},
            {"event": "memory", "start": start, "stage": 2, **figures, "peak": 7, "after": 2},
            {"event": "utilisation", "start": start, "devices": {"cuda:0": {"editing": [30, 0.9], "idle": [1, 0.0]}}},
            {"event": "utilisation", "start": start, "devices": {"cuda:0": {"editing": [10, 0.5]}}},
        ):
            directory.append("events", line)
        directory.end()
    timeline = read_timeline(RunDirectory(folder))
    ends = [(start, *end) for start in (1, 2) for end in ((6, 1), (7, 2))]
    assert timeline.memory == tuple(
        MemoryUse(
            start_number=start, device="cuda:0", model="m", kind="editing", before=1, loaded=5, peak=peak, after=after
        )
        for start, peak, after in ends
    )
    assert timeline.utilisation == tuple(
        use
        for start in (1, 2)
        for use in (
            Utilisation(start_number=start, device="cuda:0", kind="editing", samples=40, busy=pytest.approx(0.8)),
            Utilisation(start_number=start, device="cuda:0", kind="idle", samples=1, busy=0.0),
        )
    )


@pytest.fixture
def on_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fast: None) -> Run:
    """A whole run with real workers on two GPUs that only the driver's library knows of."""
    monkeypatch.setattr(module, "PATIENCE", 60.0)
    nvml = install(monkeypatch, gpu(0, 79, busy=96), gpu(1, 79, busy=88), visible="1,0")
    params = {"device_ids": [0, 1], "seconds": 0.02}
    settings = configuration(tmp_path, edit=params, judge=params)
    settings["edit_models"] = {"editor": settings.pop("diffusion_model")}
    settings["judges"] = {"critic": settings.pop("reward_model")}
    made = evaluate(settings, run_dir=tmp_path / "run", report=False)
    assert nvml.open == 0
    return made


def test_a_whole_run_on_gpus(on_gpus: Run) -> None:
    results = on_gpus.results
    assert on_gpus.has_required_coverage
    # A load that was broken off, since nothing was left to do, has needed memory as well.
    loads = Counter(
        (activity.device, activity.model) for activity in results.telemetry.activities if activity.kind == "loading"
    )
    assert Counter((stage.device, stage.model) for stage in results.telemetry.memory) >= loads
    assert {(stage.model, stage.kind) for stage in results.telemetry.memory} == {
        ("editor", "editing"),
        ("critic", "judging"),
    }
    assert {(stage.before, stage.loaded or GIB, stage.peak, stage.after) for stage in results.telemetry.memory} == {
        (GIB,) * 4
    }
    assert {utilisation.kind for utilisation in results.telemetry.utilisation} >= {"editing"}
    assert {(utilisation.device, round(utilisation.busy, 2)) for utilisation in results.telemetry.utilisation} == {
        ("cuda:0", 0.88),
        ("cuda:1", 0.96),
    }
    means = on_gpus.summary.timing.gpu_utilisation
    assert means["cuda:0"]["mean"] == pytest.approx(0.88)
    assert means["cuda:1"]["editing"] == pytest.approx(0.96)
    memory = on_gpus.summary.timing.memory
    assert {name: (device.total, device.peak) for name, device in memory.items()} == {
        "cuda:0": (80 * GIB, GIB),
        "cuda:1": (80 * GIB, GIB),
    }
    assert {stage.model for device in memory.values() for stage in device.stages} == {"editor", "critic"}
    encode_document(on_gpus.summary.timing)


def test_what_was_measured_is_in_the_run_s_events(on_gpus: Run) -> None:
    """A line a load, a line now and then about utilisation; nothing else is needed to draw the report again."""
    lines = list(RunDirectory.open_existing(on_gpus.path).read("events"))
    memory = [line for line in lines if line["event"] == "memory"]
    last = {line["stage"]: line for line in memory}
    assert len(last) == len(on_gpus.results.telemetry.memory)
    assert all((line["before"], line["after"]) == (GIB, GIB) for line in last.values())
    samples = [sample for line in lines if line["event"] == "utilisation" for sample in line["devices"].items()]
    assert {device for device, _ in samples} == {"cuda:0", "cuda:1"}
    assert all(count > 0 and 0 <= mean <= 1 for _, kinds in samples for count, mean in kinds.values())


def test_a_whole_run_on_the_cpu(tmp_path: Path) -> None:
    settings = configuration(tmp_path, edit={"crash": ["00004_环境_easy"]})
    made = evaluate(settings, run_dir=tmp_path / "run", report=False)
    results = made.results
    assert len(results.telemetry.memory) >= sum(a.kind == "loading" for a in results.telemetry.activities) >= 3
    assert {stage.kind for stage in results.telemetry.memory} == {"editing", "judging"}
    for stage in results.telemetry.memory:
        assert stage.before is stage.after is None
    for stage in (stage for stage in results.telemetry.memory if stage.loaded is not None):
        assert stage.peak is not None
        assert 5 * MIB < stage.loaded <= stage.peak < 4 * GIB
    assert results.telemetry.utilisation == ()
    assert not made.summary.timing.gpu_utilisation
    environment = json.loads((made.path / "environment" / "0001.json").read_text("utf-8"))
    assert plain(environment["choices"]["placement"]) == {
        "value": "swap",
        "reason": "workers on the CPU hold one model at a time",
    }
    assert environment["choices"]["load_concurrency"]["value"] == 4
