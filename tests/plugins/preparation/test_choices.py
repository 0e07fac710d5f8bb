"""What `auto` comes to: on GPUs that only a stand-in of the driver's library knows of, and on the CPU."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for the module beside this one: pytest imports by path

from edit_eval import evaluate
from edit_eval.config.loading import load_configuration
from edit_eval.config.schema import Configuration
from edit_eval.execution.checks import choose
from edit_eval.execution.choices import Choices
from edit_eval.execution.layout import lay_out
from edit_eval.execution.machine import devices
from edit_eval.execution.machine.devices import LocalMachine
from edit_eval.plugins.preparation import planning
from fake_nvml import GIB, gpu, install
from imagined_tasks import make_plan
from small_benchmark import configuration, write_benchmark


@pytest.fixture(autouse=True)
def big_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A TiB of host memory, no GPU, no weights."""
    install(monkeypatch)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "huggingface"))
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    monkeypatch.setattr(devices, "free_host_memory", lambda: 1024 * GIB)


def settings(
    tmp_path: Path, edit: dict[str, Any] | None = None, judge: dict[str, Any] | None = None, **execution: Any
) -> Configuration:
    """Qwen-Image-Edit and the 30B judge (60.2 and 61.4 GiB by the estimates), on every visible GPU."""
    write_benchmark(tmp_path)
    return load_configuration(
        {
            "benchmark": {"data_path": str(tmp_path / "benchmark.json")},
            "diffusion_model": {"type": "qwen_image_edit", "params": edit or {}},
            "reward_model": {"type": "qwen3_vl", "params": {"batch_size": 2, **(judge or {})}},
            "execution": execution,
        }
    )


def chosen(configuration: Configuration) -> Choices:
    here = LocalMachine()
    return choose(configuration, lay_out(configuration, here).models, here)


class TestPlacement:
    def test_together_where_both_fit_on_every_shared_gpu(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        install(monkeypatch, gpu(0, 139, 141), gpu(1, 140, 141))
        placement = chosen(settings(tmp_path)).placement
        assert placement.value == "together"
        assert placement.sentence.startswith("placement: auto is together here: edit model and judge take about 12")
        assert "on cuda:0, of 139.0 GiB that are free" in placement.reason

    @pytest.mark.parametrize(
        ("free", "value"),
        [
            ((139, 139), "together"),
            ((139, 79), "swap"),
            ((139, 125), "swap"),  # it would fit, but for the margin
            ((139, 130), "together"),
        ],
    )
    def test_the_fullest_of_the_shared_gpus_decides(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: tuple[float, float], value: str
    ) -> None:
        install(monkeypatch, *(gpu(number, room, 141) for number, room in enumerate(free)))
        placement = chosen(settings(tmp_path)).placement
        assert placement.value == value
        if value == "swap":
            assert f"on cuda:1, of {free[1]:.1f} GiB that are free" in placement.reason

    def test_of_servers_and_files_nothing_is_said(self, tmp_path: Path) -> None:
        write_benchmark(tmp_path)
        at = {"base_url": "http://127.0.0.1:9/v1"}
        made = load_configuration(
            {
                "benchmark": {"data_path": str(tmp_path / "benchmark.json")},
                "edit_models": {"served": {"type": "image_endpoint", "params": {**at, "model": "x"}}},
                "judges": {"asked": {"type": "chat_endpoint", "params": {**at, "model": "y"}}},
            }
        )
        choices = chosen(made)
        assert (choices.placement.value, choices.load_concurrency.value) == ("swap", None)
        assert choices.sentences == choices.start_sentences == []

    def test_only_the_shared_gpus_count(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        install(monkeypatch, gpu(0, 79, 80), gpu(1, 139, 141))
        assert chosen(settings(tmp_path, judge={"device_ids": [1]})).placement.value == "together"
        assert chosen(settings(tmp_path, judge={"device_ids": [0]})).placement.value == "swap"

    def test_two_disjoint_lists_of_devices_are_a_split(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        install(monkeypatch, gpu(0, 139, 141), gpu(1, 139, 141))
        placement = chosen(settings(tmp_path, {"device_ids": [0]}, {"device_ids": [1]})).placement
        assert placement.value == "swap"
        assert "their own devices" in placement.reason

    def test_a_replica_over_several_gpus_needs_its_part_on_each(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        install(monkeypatch, gpu(0, 79, 80), gpu(1, 79, 80))
        halves = {"devices_per_replica": 2}
        assert chosen(settings(tmp_path, halves, halves)).placement.value == "together"

    @pytest.mark.parametrize(
        ("edit", "judge", "reason"),
        [
            ({"offload": "model"}, {}, "edit model qwen_image_edit is offloaded"),
            ({}, {"model_name": "somebody/else"}, "how much memory judge qwen3_vl needs is unknown"),
            ({"device_ids": "cpu:2"}, {"device_ids": "cpu:2"}, "workers on the CPU hold one model at a time"),
        ],
    )
    def test_what_is_not_certain_swaps(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, edit: dict[str, Any], judge: dict[str, Any], reason: str
    ) -> None:
        install(monkeypatch, gpu(0, 1000, 1000))
        placement = chosen(settings(tmp_path, edit, judge)).placement
        assert placement.value == "swap"
        assert placement.reason.startswith(reason)

    def test_a_gpu_that_does_not_tell_its_memory_swaps(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        install(monkeypatch, {"uuid": "GPU-0", "title": "NVIDIA GB10"})
        placement = chosen(settings(tmp_path)).placement
        assert (placement.value, "unknown" in placement.reason) == ("swap", True)

    def test_weights_that_are_not_whole_are_not_counted(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        install(monkeypatch, gpu(0, 139, 141))
        empty = tmp_path / "weights"
        empty.mkdir()
        (empty / "config.json").write_text("{}")
        placement = chosen(settings(tmp_path, judge={"model_name": str(empty)})).placement
        assert placement.reason == "how much memory judge qwen3_vl needs is unknown"

    def test_what_is_configured_is_taken_without_a_word(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        install(monkeypatch, gpu(0, 139, 141))
        made = chosen(settings(tmp_path, placement="swap", load_concurrency=3))
        assert (made.placement.value, made.load_concurrency.value, made.sentences) == ("swap", 3, [])


class TestLoadConcurrency:
    def test_all_at_once_where_the_host_has_room(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        install(monkeypatch, *(gpu(number) for number in range(8)))
        loads = chosen(settings(tmp_path)).load_concurrency
        assert loads.value == 16  # no limit for eight of each
        assert loads.reason.startswith("there is room for all of them at once: 1024.0 GiB of host memory are free")

    @pytest.mark.parametrize(("host", "value"), [(64, 5), (12, 1), (2, 1)])
    def test_straight_to_the_gpu_a_load_takes_a_file_of_weights(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: int, value: int
    ) -> None:
        install(monkeypatch, *(gpu(number) for number in range(8)))
        monkeypatch.setattr(devices, "free_host_memory", lambda: host * GIB)
        loads = chosen(settings(tmp_path)).load_concurrency
        assert loads.value == value
        assert "a load takes up to 10.3 GiB of it (libraries, and one file of weights at a time)" in loads.reason

    @pytest.mark.parametrize(
        ("edit", "host", "value"),
        [
            ({"device_ids": "cpu:4"}, 200, 3),  # 54.7 GiB each
            ({"device_ids": "cpu:4"}, 100, 1),
            ({"offload": "group"}, 200, 3),
        ],
    )
    def test_on_the_host_a_load_takes_all_weights(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, edit: dict[str, Any], host: int, value: int
    ) -> None:
        install(monkeypatch, *(gpu(number) for number in range(4)))
        monkeypatch.setattr(devices, "free_host_memory", lambda: host * GIB)
        small = {"model_name": "Qwen/Qwen3-VL-8B-Instruct"}
        loads = chosen(settings(tmp_path, edit, small)).load_concurrency
        assert loads.value == value
        assert "libraries and all weights" in loads.reason

    def test_where_nobody_knows_there_is_no_limit(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(devices, "free_host_memory", lambda: None)
        assert chosen(settings(tmp_path)).load_concurrency.value is None

    @pytest.mark.parametrize("unknown", ["a name that nobody knows", "a class of one's own"])
    def test_of_unknown_size_one_loads_at_a_time(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unknown: str
    ) -> None:
        install(monkeypatch, *(gpu(number) for number in range(6)))
        written = settings(tmp_path).as_plain()
        (tmp_path / "own.py").write_text("class Own:\n    def load(self, d): ...\n    def edit(self, *a): ...\n")
        named = {"type": "diffusers", "params": {"model_name": "nobody/knows"}}
        own = {"class_path": f"{tmp_path / 'own.py'}:Own"}
        made = load_configuration(written | {"edit_models": {"x": own if "own" in unknown else named}})
        loads = chosen(made).load_concurrency
        assert loads.value == 1
        assert loads.reason == "how much memory edit model x needs is unknown, so the models load one after the other"

    def test_what_has_no_weights_is_not_unknown(self, tmp_path: Path) -> None:
        drawn = configuration(tmp_path, edit={"device_ids": "cpu:3"}, judge={"device_ids": "cpu:2"})
        loads = chosen(load_configuration(drawn)).load_concurrency
        assert loads.value == 5
        assert "(libraries)" in loads.reason

    def test_a_real_folder_of_weights_is_counted(self, tmp_path: Path, tiny_models: Path) -> None:
        tiny = {"model_name": str(tiny_models / "qwen3-vl"), "device_ids": "cpu:2"}
        loads = chosen(settings(tmp_path, {"model_name": str(tiny_models / "qwen-image-edit")}, tiny)).load_concurrency
        assert loads.value == 3
        assert "a load takes up to 1.0 GiB of it (libraries and all weights)" in loads.reason


def test_plan_takes_the_same_choice_where_the_devices_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, gpu(0, 139, 141), gpu(1, 139, 141))
    here = make_plan(settings(tmp_path), ["a"] * 4)
    assert here.combinations[here.chosen].placement == "together"
    assert here.notes[0].startswith("placement: auto is together here")
    assert here.as_plain()["notes"] == list(here.notes)
    elsewhere = make_plan(settings(tmp_path), ["a"] * 4, gpus=2)
    assert elsewhere.combinations[elsewhere.chosen].placement == "swap"
    assert "unknown" in elsewhere.notes[0]
    told = make_plan(settings(tmp_path, placement="together", load_concurrency=1), ["a"] * 4, gpus=2)
    assert told.combinations[told.chosen].placement == "together"
    assert [note.partition(":")[2][:25] for note in told.notes if note.startswith("placement")] == [
        " together, memory unknown"
    ]


@pytest.mark.parametrize(("free", "memory"), [(139, "enough"), (79, "too little"), (None, "unknown")])
def test_no_plan_advises_what_is_not_known_to_fit(
    free: float | None, memory: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """60.2 and 61.4 GiB: on a GPU of 141 GB, of 80 GB, and on one that nobody has seen."""
    install(monkeypatch, *([] if free is None else [gpu(0, free, free + 1), gpu(1, free, free + 1)]))
    for placement in ("auto", "swap", "together"):
        plan = make_plan(settings(tmp_path, placement=placement), ["a"] * 40, gpus=2 if free is None else None)
        ways = plan.combinations
        assert {way.memory for way in ways if way.placement == "together"} == {memory}
        assert {way.memory for way in ways if way.placement == "swap"} == {"enough"}
        fastest = min(range(len(ways)), key=lambda k: ways[k].prediction.makespan)
        assert ways[fastest].placement == "together", "or there would be nothing to be advised against"
        assert plan.best is not None
        assert ways[plan.best].placement == ("together" if memory == "enough" else "swap")
        assert any("about 12" in note for note in plan.notes) or memory == "enough"


def test_of_two_lists_of_devices_both_placements_have_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, gpu(0, 79, 80), gpu(1, 79, 80))
    plan = make_plan(settings(tmp_path, {"device_ids": [0]}, {"device_ids": [1]}), ["a"] * 9)
    assert {way.memory for way in plan.combinations} == {"enough"}
    assert plan.best is not None
    assert plan.combinations[plan.best].placement == "swap", "the simpler one of two equals"


@pytest.mark.parametrize(
    ("memory", "swap", "together"),
    [
        (24, "too little", "too little"),
        (60, "unknown", "too little"),  # the weights fit, and perhaps not what an edit takes on top
        (80, "enough", "too little"),
        (125, "enough", "too little"),  # it would fit, but for the margin
        (140.4, "enough", "enough"),
        (None, "enough", "unknown"),
    ],
)
def test_imagined_gpus_are_counted_as_real_ones_are(
    memory: float | None, swap: str, together: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    imagined = make_plan(settings(tmp_path), ["a"] * 8, gpus=2, gpu_memory=memory)
    assert {(way.placement, way.memory) for way in imagined.combinations} == {("swap", swap), ("together", together)}
    assert imagined.as_plain()["gpu_memory_gib"] == memory
    assert any(f"of {memory:.1f} GiB that are free" in note for note in imagined.notes) if memory else True
    if memory is None:
        return
    install(monkeypatch, gpu(0, memory, memory), gpu(1, memory, memory))
    real = make_plan(settings(tmp_path), ["a"] * 8)
    assert [way.memory for way in real.combinations] == [way.memory for way in imagined.combinations]
    assert (real.best, real.chosen) == (imagined.best, imagined.chosen)
    assert (real.best is None) == (swap != "enough")
    assert real.as_plain()["gpu_memory_gib"] is None


def test_what_fits_nowhere_is_named_once(tmp_path: Path) -> None:
    for placement in ("auto", "swap", "together"):
        plan = make_plan(settings(tmp_path, placement=placement), ["a"] * 8, gpus=2, gpu_memory=24)
        [note] = [note for note in plan.notes if note.startswith(("memory", "placement: together"))]
        assert note.startswith("memory too little: edit model qwen_image_edit: about 60.2 GiB a GPU")


def test_a_gpu_that_would_be_dropped_leaves_the_plan_in_doubt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, gpu(0, 79, 80), gpu(1, 10, 80))
    plan = make_plan(settings(tmp_path), ["a"] * 8)
    assert (plan.best, plan.combinations[plan.chosen].memory) == (None, "unknown")
    assert "memory unknown: judge qwen3_vl" in plan.notes[0]
    assert "only 10.0 GiB free on cuda:1" in plan.notes[0]


@pytest.mark.parametrize(
    ("host", "memory"), [(1024, "enough"), (352, "enough"), (350, "too little"), (100, "too little"), (None, "unknown")]
)
def test_workers_on_the_cpu_need_the_host_s_memory(
    host: int | None, memory: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six judges of 57.9 GiB, and half a GiB for each of their processes: 350.4 GiB; six edit models: 325 GiB."""
    monkeypatch.setattr(devices, "free_host_memory", lambda: None if host is None else host * GIB)
    plan = make_plan(settings(tmp_path, {"device_ids": "cpu:6"}, {"device_ids": "cpu:6"}), ["a"] * 12)
    assert {way.memory for way in plan.combinations if way.placement == "swap"} == {memory}
    worst = "too little" if memory == "too little" else "unknown"
    assert {way.memory for way in plan.combinations if way.placement == "together"} == {worst}
    assert (plan.best is None) == (memory != "enough")
    assert any(note.startswith(f"memory {memory}: ") for note in plan.notes) == (memory != "enough")


def test_offloaded_weights_need_the_host_s_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, gpu(0, 79, 80), gpu(1, 79, 80))
    monkeypatch.setattr(devices, "free_host_memory", lambda: 100 * GIB)
    plan = make_plan(settings(tmp_path, {"offload": "model"}), ["a"] * 8)
    assert plan.combinations[plan.chosen].memory == "too little"
    assert "offloading on 2 GPUs needs 108.5 GiB of host memory" in plan.notes[0]


def test_models_that_tell_nothing_of_their_memory_are_taken_to_fit(tmp_path: Path) -> None:
    plan = make_plan(load_configuration(configuration(tmp_path)), ["a"] * 8)
    assert plan.best is not None
    assert plan.combinations[plan.best].memory == "enough"


def test_where_only_a_doubtful_way_was_simulated_none_is_the_best(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "ALL_COMBINATIONS_UP_TO", 3)
    plan = make_plan(settings(tmp_path, placement="together"), ["a"] * 9, gpus=2)
    assert (plan.best, plan.chosen, len(plan.combinations)) == (None, 0, 1)
    assert plan.as_plain()["best"] is None


class Ears:
    """Hears the notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments, **named: None


def test_a_run_says_what_it_chose_and_keeps_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "free_host_memory", lambda: 3 * GIB)
    ears = Ears()
    source = configuration(tmp_path, execution={"pilot": False})
    made = evaluate(source, run_dir=tmp_path / "run", report=False, spectator=ears)
    said = [note for note in ears.notes if "auto is" in note]
    room = "3.0 GiB of host memory are free, and a load takes up to 1.0 GiB of it (libraries)"
    assert said == [f"load_concurrency: auto is 2 here: {room}"], "that workers on the CPU take turns is no news"
    kept: Any = made.results.provenance.environment["choices"]
    assert kept["load_concurrency"]["value"] == 2


def test_a_client_needs_no_memory_and_makes_nobody_take_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "free_host_memory", lambda: 3 * GIB)
    source = configuration(tmp_path, edit={"device_ids": "cpu:1"})
    params = {"model": "judge", "base_url": "http://localhost:1/v1", "device_ids": "cpu:1"}
    source["reward_model"] = {"type": "chat_endpoint", "params": params}
    choices = chosen(load_configuration(source))
    assert choices.placement.value == "swap"
    assert "own devices" not in choices.placement.reason, "both are on cpu:1"
    assert "server" in choices.placement.reason
    assert choices.load_concurrency.value == 1, "of the edit model alone"
