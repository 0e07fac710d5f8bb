"""One start of a run with real workers: its timeline, what it records of its surroundings, and classes of one's own."""

from __future__ import annotations

import itertools
import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from edit_eval import evaluate
from edit_eval.asking import load_samples, make_experiment
from edit_eval.config.loading import load_configuration
from edit_eval.errors import ConfigurationError, Stopped
from edit_eval.execution import session as module
from edit_eval.execution.session import Session, read_estimates
from edit_eval.plugins.preparation.planning import ImaginedMachine
from edit_eval.records import Status
from edit_eval.run import Run
from edit_eval.statistics.timing import compute_timing
from edit_eval.store.matrix import Matrix
from edit_eval.store.run_directory import RunDirectory
from edit_eval.store.timeline import read_timeline
from reporting.simulated_runs import AnsweringDriver
from simulated_driver import Fate
from small_benchmark import configuration, sample_id, write_benchmark
from small_matrix import matrix_of


class Clock:
    """A spectator that looks at its watch."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def begin(self, *arguments: object) -> None:
        self._began = time.monotonic()

    def end(self) -> None:
        self.seconds.append(time.monotonic() - self._began)

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments, **named: None


CANARY = "canary-of-the-environment-1234567"


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Clock]:
    """Two starts of one run, and how long each took by another watch."""
    folder, clock = tmp_path_factory.mktemp("watched"), Clock()
    edit = {"seconds": 0.12, "load_seconds": 0.2}
    source = configuration(folder, edit=edit, judge={"seconds": 0.02, "load_seconds": 0.1, "batch_size": 2})
    with pytest.MonkeyPatch.context() as patches:
        patches.setenv("SOME_SETTING", CANARY)
        for limit in (2, 3):
            source["benchmark"]["limit"] = limit
            made = evaluate(source, run_dir=folder / "run", spectator=clock, report=False)
    return made, clock


# -- the timeline --


def test_each_start_takes_at_most_as_long_as_another_watch_says_and_holds_all_that_was_done(
    watched: tuple[Run, Clock],
) -> None:
    results, clock = watched[0].results, watched[1]
    assert len(results.telemetry.wall_seconds) == len(clock.seconds) == 2
    for start, (recorded, measured) in enumerate(zip(results.telemetry.wall_seconds, clock.seconds, strict=True), 1):
        last = max(activity.end for activity in results.telemetry.activities if activity.start_number == start)
        assert last <= recorded + 0.001 <= measured + 0.002  # they are recorded in milliseconds


def test_the_timeline_of_each_device_adds_up_to_the_wall_time(watched: tuple[Run, Clock]) -> None:
    results = watched[0].results
    document = compute_timing(results)
    assert set(document.devices) == {"cpu:0", "cpu:1"}
    for shares in document.devices.values():
        assert sum(shares.values()) == pytest.approx(document.wall_seconds, rel=0.01)
    # A busy machine may hear late that an edit began; of what it computed no more is shown than there was.
    editing = sum(d["editing"] for d in document.devices.values())
    assert 0 < editing <= sum(e.seconds for e in results.edits) + 0.05
    assert sum(d["judging"] for d in document.devices.values()) > 0


def test_a_device_does_one_thing_at_a_time(watched: tuple[Run, Clock]) -> None:
    """Models that swap: where two stretches overlapped, one of them would be a lie. Imports hold no device."""
    everything = watched[0].results.telemetry.activities
    assert {a.kind for a in everything} == {"starting", "loading", "editing", "judging", "unloading"}
    activities = [a for a in everything if a.kind != "starting"]
    for start, device in itertools.product((1, 2), ("cpu:0", "cpu:1")):
        spans = sorted((a.begin, a.end) for a in activities if (a.start_number, a.device) == (start, device))
        assert spans
        assert all(later[0] >= earlier[1] - 0.005 for earlier, later in itertools.pairwise(spans)), spans
    assert sum(a.kind == "editing" for a in activities) == 9
    assert {a.what for a in activities if a.kind == "editing"} == {sample_id(n) for n in range(9)}


# -- another machine --


def test_memory_that_others_hold_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = load_configuration(configuration(tmp_path, edit={"device_ids": "auto"}, judge={"device_ids": "auto"}))
    session = Session(
        loaded,
        AnsweringDriver({}, load=lambda *_: 30.0, task=lambda *_: Fate(10.0), machine=ImaginedMachine(1, 80 << 30)),
    )
    refusals: list[Exception | None] = [Stopped("only 9.0 GiB free"), Stopped("only 30.0 GiB free"), None]
    waits: list[float] = []

    def refuse(context: object) -> None:
        if error := refusals.pop(0):
            raise error

    monkeypatch.setattr(module, "refuse", refuse)
    monkeypatch.setattr(time, "sleep", waits.append)
    told: list[str] = []
    matrix = Matrix(make_experiment(loaded, load_samples(loaded)))
    session.refuse_what_cannot_load(matrix, told.append)
    assert told == ["only 9.0 GiB free; looking again in 5 s", "only 30.0 GiB free; looking again in 15 s"]
    assert (waits, refusals) == ([5.0, 15.0], [])
    refusals += [Stopped("only 9.0 GiB free")] * 4
    with pytest.raises(Stopped, match=r"only 9\.0 GiB free"):
        session.refuse_what_cannot_load(matrix)
    assert waits[2:] == [5.0, 15.0, 40.0]


def test_a_driver_brings_the_machine_on_which_everything_runs(tmp_path: Path) -> None:
    """A whole start, from layout to records, on three GPUs that this machine has not."""
    auto = {"device_ids": "auto"}
    loaded = load_configuration(configuration(tmp_path, edit=auto, judge=auto, execution={"pilot": False}))
    data = load_samples(loaded)
    driver = AnsweringDriver(
        {},
        load=lambda model, device: 30.0,
        task=lambda model, message: Fate(10.0),
        machine=ImaginedMachine(3, 80 << 30),
    )
    directory, matrix = RunDirectory(tmp_path / "run"), Matrix(make_experiment(loaded, data))
    session = Session(loaded, driver)
    session.refuse_what_cannot_load(matrix)
    directory.begin()
    session.run(matrix, directory, Clock(), data.samples)
    directory.end()
    assert session.layout.devices == ("cuda:0", "cuda:1", "cuda:2")
    assert {edit.device for edit in matrix.edits} == {*session.layout.devices}
    assert {judgement.score for judgement in matrix.judgements()} == {6.5}
    environment = directory.environment()
    assert environment["devices"] == ["cuda:0", "cuda:1", "cuda:2"]
    assert [gpu["memory"] for gpu in environment["gpus"]] == [80 << 30] * 3
    assert environment["choices"]["load_concurrency"]["reason"] == "free host memory is unknown"
    assert read_timeline(directory).devices == session.layout.devices


# -- what is recorded --


def test_what_results_depend_on_is_recorded_and_no_variables(watched: tuple[Run, Clock]) -> None:
    run, _ = watched
    environment: dict[str, Any] = dict(run.results.provenance.environment)
    assert environment["devices"] == ["cpu:0", "cpu:1"]
    assert environment["layout"] == {
        "edit:testing": "set in the configuration",
        "judge:testing": "set in the configuration",
    }
    assert environment["libraries"]["pillow"]
    assert environment["models"]["edit:testing"]["python"] == sys.version.split()[0]
    assert set(environment["models"]) == {"edit:testing", "judge:testing"}
    for path in run.path.rglob("*"):
        if path.is_file():
            assert CANARY.encode() not in path.read_bytes(), path


def test_each_worker_has_a_log_of_its_own(watched: tuple[Run, Clock]) -> None:
    names = {path.name for path in (watched[0].path / "logs").iterdir()}
    assert {"edit-testing-cpu0.log", "edit-testing-cpu1.log"} <= names
    assert names & {"judge-testing-cpu0.log", "judge-testing-cpu1.log"}


def test_a_run_that_goes_on_knows_how_long_things_take(watched: tuple[Run, Clock]) -> None:
    run, _ = watched
    estimates = read_estimates(matrix_of(run), RunDirectory.open_existing(run.path))
    assert estimates.unit["edit:testing"].count == estimates.unit["judge:testing"].count == 9
    assert 0.12 <= (estimates.unit["edit:testing"].value or 0) < 1.2
    assert 0.02 <= (estimates.unit["judge:testing"].value or 0) < 1.2
    assert (estimates.load["edit:testing"].value or 0) >= 0.2
    assert (estimates.load["judge:testing"].value or 0) >= 0.1


# -- the layout --


def test_a_finished_run_needs_no_devices(tmp_path: Path) -> None:
    """Nothing is laid out where nothing is left: the report is made on a laptop, too."""
    source = configuration(tmp_path)
    first = evaluate(source, run_dir=tmp_path / "run", report=False)
    elsewhere = configuration(tmp_path, edit={"device_ids": [6, 7]}, judge={"conda_env": str(tmp_path / "nowhere")})
    again = evaluate(elsewhere, run_dir=tmp_path / "run")
    assert again.has_required_coverage
    assert again.page.exists()
    assert len(again.results.telemetry.wall_seconds) == len(first.results.telemetry.wall_seconds) == 1
    elsewhere["benchmark"]["limit"] = 3
    with pytest.raises(ConfigurationError, match=r"cuda:6 and cuda:7 are not there|nowhere is not there"):
        evaluate(elsewhere, run_dir=tmp_path / "other", report=False)


def test_an_environment_that_is_not_there_is_found_out_before_anything_is_written(tmp_path: Path) -> None:
    source = configuration(tmp_path, judge={"conda_env": str(tmp_path / "nowhere")})
    with pytest.raises(ConfigurationError, match="nowhere is not there"):
        evaluate(source, run_dir=tmp_path / "run", report=False)
    assert not (tmp_path / "run").exists()


# -- classes of one's own --

MODELS = '''
import threading
from dataclasses import dataclass, field

from PIL import Image, ImageDraw


@dataclass
class Brush:
    __pydantic_config__ = {"extra": "forbid"}

    colour: tuple[int, int, int] = (255, 0, 0)
    width: int = 3


class Editor:
    """Fails on two samples in two ways."""

    @dataclass
    class Parameters:
        __pydantic_config__ = {"extra": "forbid"}

        brush: Brush = field(default_factory=Brush)

    def __init__(self, parameters):
        self.brush = parameters.brush

    def load(self, devices):
        print("the brush is", self.brush)

    def edit(self, request, on_step):
        image = request.source
        if request.instruction.endswith(" 0"):
            return None
        if request.instruction.endswith(" 1"):
            return Image.new("RGB", (image.width, 2 * image.height), self.brush.colour)
        ImageDraw.Draw(image).rectangle((0, 0, self.brush.width, 5), fill=self.brush.colour)
        return image


class Judge:
    """Serves three calls at once, and only one picture in each; three have to meet."""

    capacity = 3
    meeting = threading.Barrier(3, timeout=20)
    met = 0

    def __init__(self, parameters): ...

    def load(self, devices): ...

    def judge(self, requests):
        if len(requests) > 1:
            raise RuntimeError("CUDA out of memory. Tried to allocate 80.00 GiB")
        if Judge.met < 3:
            Judge.met += 1
            self.meeting.wait()
        return [f"Score: {requests[0].pictures['edit'].getpixel((0, 0))[2] // 25}"]
'''


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of classes in a file beside the YAML."""
    folder = tmp_path_factory.mktemp("own")
    write_benchmark(folder, 12)
    (folder / "zz_mine.py").write_text(MODELS)
    params = {"device_ids": "cpu:1"}
    source = {
        "benchmark": {"data_path": str(folder / "benchmark.json"), "cache_dir": str(folder / "cache")},
        "diffusion_model": {
            "class_path": "zz_mine:Editor",
            "params": {**params, "brush": {"colour": [0, 0, 225], "width": 7}},
        },
        "reward_model": {"class_path": f"{folder}/zz_mine.py:Judge", "params": {**params, "batch_size": 3}},
        "execution": {"pilot": False},
        "evaluation": {"controls": 0},
    }
    (folder / "mine.yaml").write_text(yaml.safe_dump(source), "utf-8")
    return evaluate(folder / "mine.yaml", run_dir=folder / "run", report=False)


def lines(run: Run, journal: str) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = []
    for path in sorted((run.path / journal).glob("*.jsonl")):
        records += map(json.loads, path.read_text("utf-8").splitlines())
    return records


def test_classes_in_a_file_edit_and_judge_with_their_parameters(own: Run) -> None:
    assert "the brush is Brush(colour=(0, 0, 225), width=7)" in (own.path / "logs" / "edit-Editor-cpu0.log").read_text()
    scores = [j.score for j in own.results.judgements]
    assert scores == [None, *[9.0] * 11]


def test_what_an_edit_model_returns_is_looked_at(own: Run) -> None:
    edits = own.results.edits
    assert edits[0].status is Status.EDIT_FAILED
    assert "the edit model returned NoneType, not one PIL.Image.Image" in edits[0].reason
    assert (edits[1].width, edits[1].height, edits[1].flags) == (24, 32, ("other_aspect_ratio",))
    assert all(edit.flags == () for edit in edits[2:]), "painted on the source itself, and not taken for the source"


def test_a_halved_batch_is_recorded_with_its_answers(own: Run) -> None:
    answers = {line["sample"]: line for line in lines(own, "replies")}
    assert {s: (a["batch"], a.get("halved_to")) for s, a in answers.items()} == {
        **{sample_id(n): (1, None) for n in (1, 2)},
        **{sample_id(n): (3, 1) for n in range(3, 12)},
    }


def test_a_judge_that_serves_several_gets_several_at_once(own: Run) -> None:
    """Its first three calls wait for each other; alone each would have failed after 20 seconds."""
    assert {line["ended"] for line in lines(own, "replies")} == {"ok"}
    loaded = [line for line in lines(own, "events") if line["event"] == "loaded"]
    assert {line["model"] for line in loaded} == {"edit:Editor", "judge:Judge"}


STUBBORN = '''
import sys, threading, time
from types import SimpleNamespace


def is_available():
    """As a driver that hangs when it is asked for the last time."""
    if Editor.edits and threading.current_thread() is threading.main_thread():
        time.sleep(1e6)
    return False


class Editor:
    edits = 0

    def __init__(self, parameters): ...

    def load(self, devices):  # not sooner: the configuration imports this module in the process of the test
        sys.modules["torch"] = SimpleNamespace(cuda=SimpleNamespace(is_available=is_available))

    def edit(self, request, on_step):
        Editor.edits += 1
        return request.source.transpose(0)
'''


def test_a_worker_that_does_not_stop_costs_its_timeout_and_no_result(tmp_path: Path) -> None:
    (tmp_path / "zz_stubborn.py").write_text(STUBBORN)
    source = configuration(tmp_path, judge={"device_ids": "cpu:1"}, execution={"pilot": False}, benchmark={"limit": 1})
    params = {"device_ids": "cpu:1", "timeout": 1.5}
    source["diffusion_model"] = {"class_path": f"{tmp_path}/zz_stubborn.py:Editor", "params": params}
    made = evaluate(source, run_dir=tmp_path / "run", report=False)
    assert made.has_required_coverage
    died = [line for line in lines(made, "events") if line["event"] == "died"]
    unloading = [a for a in made.results.telemetry.activities if a.kind == "unloading" and a.model == "Editor"]
    assert died == [], "it was stopping; how does not matter"
    assert unloading[0].end - unloading[0].begin >= 1.4
