"""What of the Ray driver needs no Ray: devices that come and go, and where a machine's pictures are."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from edit_eval import evaluate, evaluation
from edit_eval.config.loading import load_configuration
from edit_eval.config.placement import Placement
from edit_eval.config.schema import ModelSection
from edit_eval.errors import ConfigurationError, Stopped
from edit_eval.execution.contract import FLEET, Event, Gpu, WorkerSpecification
from edit_eval.execution.engine.engine import Engine
from edit_eval.execution.machine.places import find_auto_places
from edit_eval.plugins.preparation.checks import Context, other_machines
from edit_eval.plugins.ray.agent import Files, Frames, frame_bytes, identify_picture, pictures_of
from edit_eval.plugins.ray.driver import Node, RayDriver, Remote
from edit_eval.scheduling.estimates import Estimates
from edit_eval.scheduling.policies import Policy
from edit_eval.scheduling.tasks import Model, Work
from imagined_cluster import AT_ONCE, DONE, FORGED, LATER, ImaginedCluster
from simulated_driver import Fate, SimulatedDriver
from small_benchmark import configuration, write_benchmark


class Kept:
    """An engine's records: what was done, what was charged, and which device edited when."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self.made: list[int] = []
        self.charges: list[Any] = []
        self.spans: list[tuple[str, float, float]] = []

    def free(self, task: Any) -> None: ...

    def order(self, task: Any) -> dict[str, Any]:
        return {"do": "run", "task": task.number, "units": task.units}

    def record_results(self, task: Any, message: Any, device: str) -> None:
        self.made.append(task.units[0])
        self._work.settle(task.units[0])

    def record_failure(self, task: Any, reason: str, device: str = "") -> None:
        self.charges.append(task)

    attempt = record_failure

    def activity(self, device: str, kind: str, model: str, begin: float, end: float, what: str) -> None:
        if kind == "editing":
            self.spans.append((device, begin, end))

    def __getattr__(self, name: str) -> Any:
        """What else is told, as to a spectator."""
        return lambda *about, **more: ""


class ComesAndGoes(SimulatedDriver):
    """`cuda:0` is gone after 25 s, and `cuda:2` joins after 40 s."""

    def __init__(self) -> None:
        super().__init__(load=lambda model, device: 1.0, task=lambda model, message: Fate(10.0))
        self._to_come = [(25.0, "gone"), (40.0, "joined")]
        self.started: list[tuple[float, tuple[str, ...]]] = []

    def start(self, worker: int, specification: WorkerSpecification) -> None:
        self.started.append((self._now, specification.devices))
        super().start(worker, specification)

    def poll(self, seconds: float) -> tuple[float, Sequence[Event]]:
        if self._to_come and (not self._heap or self._heap[0][0] > self._to_come[0][0]) and not self._at_once:
            self._now, what = self._to_come.pop(0)
            if what == "joined":
                gpus = [Gpu("cuda:2", "", "", None, None)]
                return self._now, [Event(FLEET, {"event": "joined", "gpus": gpus, "reason": "it joined"})]
            lost = [number for number, worker in self._workers.items() if worker.device == "cuda:0"]
            for number in lost:
                del self._workers[number]
            gone = Event(FLEET, {"event": "gone", "devices": ["cuda:0"], "reason": "it is gone"})
            return self._now, [gone, *(Event(n, {"event": "died", "reason": "gone", "lost": True}) for n in lost)]
        return super().poll(seconds)


def test_a_lost_device_charges_nobody_and_one_that_joins_gets_work() -> None:
    work = Work()
    model = Model("m", "edit", (("cuda:0",), ("cuda:1",)))
    policy = Policy([model], work, Estimates())
    kept = Kept(work)
    for number in range(20):
        work.add("edit:m", [number])

    def specification(device: str) -> WorkerSpecification:
        return WorkerSpecification(device, "edit:m", (device,), "", timeout=math.inf, load_timeout=math.inf)

    driver = ComesAndGoes()
    engine = Engine(
        driver,
        policy,
        work,
        kept,
        kept,
        {("edit:m", (device,)): specification(device) for device in ("cuda:0", "cuda:1")},
        growth=lambda gpus: {("edit:m", (gpu.name,)): specification(gpu.name) for gpu in gpus},
        poll_seconds=math.inf,
    )
    engine.run()
    assert kept.charges == []
    assert sorted(kept.made) == list(range(20)), "each task is done once"
    assert [devices for at, devices in driver.started if at > 0] == [("cuda:2",)], "nothing starts on what is gone"
    assert max(end for device, _, end in kept.spans if device == "cuda:0") <= 25.0
    assert min(begin for device, begin, _ in kept.spans if device == "cuda:2") >= 41.0


def test_replicas_of_several_gpus_never_cross_machines() -> None:
    gpus = [Gpu(f"cuda:{n}", "", "", None, None, node=node) for n, node in enumerate("aaabbbb")]
    section = ModelSection(
        name="m", type="testing", class_path="", placement=Placement(device_ids="auto", devices_per_replica=2)
    )
    assert find_auto_places(section, gpus) == (("cuda:0", "cuda:1"), ("cuda:3", "cuda:4"), ("cuda:5", "cuda:6"))


ORDER: dict[str, Any] = {
    "do": "run",
    "requests": [
        {
            "pictures": [
                {
                    "name": "a",
                    "path": "/run/images/e.png",
                    "pixels": "p",
                    "steps": [["like", {"path": "/s", "digest": "d"}]],
                },
                {"name": "b", "steps": [], "blank_like": {"path": "/s", "digest": "d"}},
            ]
        }
    ],
}


def test_every_file_of_an_order_is_found() -> None:
    assert [identify_picture(picture) for picture in pictures_of(ORDER)] == [
        ("/run/images/e.png", "p"),
        ("/s", "d"),
        ("/s", "d"),
    ]


def test_a_mask_travels_like_any_picture_and_stays_one() -> None:
    mask = {"name": "mask", "path": "/m", "digest": "n", "mask": True}
    order = {"do": "run", "pictures": [{"name": "source", "path": "/s", "digest": "d"}, mask]}
    found = list(pictures_of(order))
    assert [identify_picture(picture) for picture in found] == [("/s", "d"), ("/m", "n")]
    found[1]["path"] = "/here"  # as the agent does
    assert mask == {"name": "mask", "path": "/here", "digest": "n", "mask": True}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return Files()


def test_a_run_directory_counts_as_shared_where_its_token_is_seen(files: Files, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "token").write_text("this one")
    (run / "edit.png").write_bytes(b"picture")
    assert files.check_run_directory(str(run), "token", "this one")
    assert files.find((str(run / "edit.png"), "pixels")) == str(run / "edit.png")
    # The same path with another run in it, as on a machine's own disk: nothing there is believed.
    assert not files.check_run_directory(str(run), "token", "another one")
    assert files.find((str(run / "edit.png"), "pixels")) == ""
    files.keep((str(run / "edit.png"), "pixels"), b"the right one")
    assert Path(files.find((str(run / "edit.png"), "pixels"))).read_bytes() == b"the right one"


def test_a_source_is_taken_in_place_only_with_the_digest_that_it_should_have(files: Files, tmp_path: Path) -> None:
    source = tmp_path / "source.png"
    source.write_bytes(b"picture")
    digest = hashlib.sha256(b"picture").hexdigest()
    files.check_run_directory(str(tmp_path / "run"), "token", "")
    assert files.find((str(source), digest)) == str(source)
    assert files.find((str(source), "0" * 64)) == ""
    assert files.find((str(source), "")) == "", "without a digest nobody knows what it is"


def test_what_is_kept_is_bounded(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edit_eval.plugins.ray.agent.KEPT_BYTES", 25)
    for number in range(4):
        files.keep((f"/s{number}", "d"), b"x" * 10)
    assert [bool(files.find((f"/s{number}", "d"))) for number in range(4)] == [False, False, True, True]
    assert len(list(files.folder.iterdir())) == 2


def test_frames_survive_any_cut() -> None:
    sent = [(0, b"{}\n"), (7, b""), (1, b"a" * 1000), (2**32 - 1, b"\n")]
    stream = b"".join(frame_bytes(*frame) for frame in sent)
    for size in (1, 3, 8, 9, 500, len(stream)):
        frames = Frames()
        cut = [stream[begin : begin + size] for begin in range(0, len(stream), size)]
        assert [frame for part in cut for frame in frames.feed(part)] == sent


def test_machines_that_lie_lose_their_place_and_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lies = [*AT_ONCE, *LATER, *DONE, "writes_elsewhere"]
    victim = tmp_path / "victim"
    monkeypatch.setenv("VICTIM", str(victim))
    clusters: list[ImaginedCluster] = []

    def imagined(read: Any) -> ImaginedCluster:
        clusters.append(ImaginedCluster(2, 2, lies))
        return clusters[-1]

    monkeypatch.setattr(evaluation, "driver_of", imagined)
    asked = configuration(
        tmp_path,
        edit={"device_ids": "auto"},
        judge={"device_ids": "auto"},
        execution={"progress": "none", "pilot": False, "load_concurrency": 64},
    )
    asked["benchmark"]["data_path"] = str(write_benchmark(tmp_path, 60))
    run = evaluate(asked, run_dir=tmp_path / "run", report=False)
    assert len(run.results.edits) == 60
    replies = run._directory.read("replies")
    assert [reply["text"] for reply in replies] == ["Score: 5"] * 60
    assert FORGED not in str(replies)
    assert not victim.exists()
    edits = {(tmp_path / "run" / edit.image) for edit in run.results.edits}
    made = {path for path in tmp_path.rglob("*") if path.is_file() and path.read_bytes() == b"." * 99}
    assert made, "those of machines that do not see the run directory come to it"
    assert made <= edits, "where orders said, and nowhere else"
    events = list(run._directory.read("events"))
    gone = {event["reason"].split(" is gone")[0] for event in events if event["event"] == "gone"}
    liars = [f"machine {3 + place}" for place, lie in enumerate(lies) if lie in LATER or lie in DONE]
    assert gone == set(liars), "each of them, and nobody else"
    assert not [edit for edit in run._directory.read("edits") if edit["status"] != "ok"], "nobody is charged"


def test_a_machine_that_is_silent_at_the_start_is_waited_for_and_used(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = ImaginedCluster(0, 0, ["silent_at_first"])
    try:
        assert [gpu.node for gpu in driver.machine().gpus()] == ["machine 1"]
    finally:
        driver.close()


def test_others_begin_without_the_one_that_stays_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edit_eval.plugins.ray.driver.RETURN_SECONDS", 0.1)
    driver = ImaginedCluster(1, 2, ["silent"])
    try:
        assert driver.machine().gpu_count() == 2
    finally:
        driver.close()


@pytest.mark.check
def test_a_cluster_that_only_does_not_answer_is_no_fault_of_the_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edit_eval.plugins.ray.driver.ANSWER_SECONDS", 3.0)
    driver = ImaginedCluster(0, 0, ["silent"])
    with pytest.raises(
        Stopped, match=r"no machine of the Ray cluster answers \(machine 1: silent\); run again"
    ) as stopped:
        driver.machine().gpus()
    assert stopped.value.exit_code == 4
    driver = ImaginedCluster(0, 0, ["without_us"])
    with pytest.raises(ConfigurationError, match="machine 1 cannot be used: without us"):
        driver.machine().gpus()


def test_tokens_of_rays_own_are_not_for_models(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[dict[str, Any]] = []
    driver = ImaginedCluster(1, 1)
    driver._environment |= {"RAY_AUTH_TOKEN": "secret", "HF_TOKEN": "hf"}
    order = RayDriver._order
    monkeypatch.setattr(driver, "_order", lambda **more: (told.append(more), order(driver, **more))[1])
    try:
        assert driver.machine().gpu_count() == 1
    finally:
        driver.close()
    assert told[0]["variables"].get("HF_TOKEN") == "hf"
    assert not [name for name in told[0]["variables"] if name.startswith("RAY_")]


def test_doctor_names_a_cluster_that_asks_nobody_for_a_token(tmp_path: Path) -> None:
    driver = ImaginedCluster(1, 1)
    try:
        machine = driver.machine()
        context = Context(load_configuration(configuration(tmp_path)), machine, laid_out=[])
        assert other_machines(context) == []
        driver.guarded = False
        (finding,) = other_machines(context)
        assert (finding.level, "RAY_AUTH_MODE=token" in finding.advice) == ("warning", True)
    finally:
        driver.close()


def test_a_picture_of_a_lost_machine_says_nothing_of_the_one_that_makes_it_anew(tmp_path: Path) -> None:
    """It was under way for a minute; the same task was another machine's by then."""
    driver, orders = RayDriver(), []
    driver._order = lambda **order: orders.append(order)
    try:
        for number, worker in ((1, 11), (2, 12)):
            gpu = Gpu(f"cuda:{number}", "", "", None, None)
            node = Node(number, f"machine {number}", 1, gpus=(gpu,), own={gpu.name: "cuda:0"}, workers={worker})
            driver._nodes[number], driver._remote[worker] = node, Remote(node, None)
            for order in ({"do": "prepare"}, {"do": "load"}, {"do": "run", "task": 7, "kind": "edit", "requests": [1]}):
                driver.submit(worker, {**order, "output": str(tmp_path / "edit.png")})
            edited = {"pixels": "p", "width": 8, "height": 8, "file_bytes": 99, "flags": []}
            for said in (
                {"event": "prepared"},
                {"event": "loaded", "capacity": 1, "seconds": 0.0, "about": {}, "memory": {}},
                {"event": "started", "task": 7},
                {"event": "done", "task": 7, "results": [edited], "seconds": 1.0, "memory": {}},
            ):
                driver._handle_worker_message(node, worker, said)
            if number == 1:
                driver._handle_gateway_message(
                    {"event": "lost", "number": 1, "reason": "it has not answered", "returns": False}
                )
        driver._events.clear()
        taken = {"event": "taken", "task": 7, "disk": False}
        driver._handle_gateway_message({**taken, "worker": 11, "error": "it is gone"})
        assert not driver._events
        assert 2 in driver._nodes, "of which nothing was said"
        driver._handle_gateway_message({**taken, "worker": 12, "error": ""})
        assert [(event.worker, event.message["event"]) for event in driver._events] == [(12, "done")]
    finally:
        driver.close()


def test_a_machine_that_is_lost_before_the_engine_has_heard_of_it_takes_no_gpu_of_another() -> None:
    driver = RayDriver()
    try:
        for number in (1, 2):
            gpu = Gpu("cuda:0", "", "", None, None)  # as each of them calls its own
            driver._nodes[number] = Node(number, f"machine {number}", 1, gpus=(gpu,))
        driver._handle_gateway_message(
            {"event": "lost", "number": 1, "reason": "it has not answered", "returns": False}
        )
        driver._number(driver._nodes[2])
        assert driver._nodes[2].gpus[0].name == "cuda:0"
        assert [event.message["event"] for event in driver._events] == ["note"]
    finally:
        driver.close()
