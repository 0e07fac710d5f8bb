"""`plan`: every combination simulated, the best named, and what it may be asked beside."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from edit_eval.config.loading import load_configuration
from edit_eval.config.schema import Configuration
from edit_eval.errors import BenchmarkError, ConfigurationError, RunDirectoryError
from edit_eval.experiment import Experiment
from edit_eval.plugins.preparation import imagined as advice_imagined
from edit_eval.plugins.preparation import planning
from edit_eval.plugins.preparation.imagined import ImaginedWork, resize_experiment
from edit_eval.plugins.preparation.planning import Cluster, ImaginedMachine, Plan, read_gpu_options
from edit_eval.plugins.preparation.plans import print_plan
from edit_eval.plugins.preparation.prediction import Durations, durations_of, simulate
from edit_eval.plugins.preparation.requests import plan
from edit_eval.records import Activity, Results, Sample, Status
from edit_eval.run import Run, evaluate
from edit_eval.scheduling.queues import QUEUES
from edit_eval.scheduling.tasks import Model
from imagined_tasks import make_plan, simulated
from small_benchmark import configuration, write_benchmark
from small_matrix import small_experiment, small_samples

CATEGORIES = ["physical"] * 5 + ["social"] * 4 + ["causal"] * 3


def settings(folder: Path, execution: dict[str, Any] | None = None, **more: Any) -> Configuration:
    edit = {"load_seconds": 60.0, "seconds": 7.5, **more.pop("edit", {})}
    judge = {"load_seconds": 60.0, "seconds": 0.2, "batch_size": 2, **more.pop("judge", {})}
    return load_configuration(configuration(folder, edit=edit, judge=judge, execution=execution or {}, **more))


def own(made: Plan) -> dict[str, Any]:
    """The configuration's own combination."""
    combination: dict[str, Any] = made.as_plain()["combinations"][made.chosen]
    return combination


def test_the_document_is_what_was_agreed(tmp_path: Path) -> None:
    made = make_plan(settings(tmp_path), CATEGORIES, gpus=3)
    document = json.loads(json.dumps(made.as_plain(), allow_nan=False))
    assert list(document)[:2] == ["combinations", "best"]
    combinations = document["combinations"]
    names = ("schedule", "order", "placement", "memory", "makespan_seconds", "lower_bound_seconds", "idle_share")
    assert all(tuple(c) == names for c in combinations)
    assert {tuple(c[n] for n in names[:3]) for c in combinations} == {
        (schedule, order, placement)
        for schedule in ("pull", "round_robin", "batch_sync")
        for order in ("by_stage", "by_category")
        for placement in ("swap", "together")
    }
    assert {(c["placement"], c["memory"]) for c in combinations} == {("swap", "enough"), ("together", "unknown")}
    shortest = min(c["makespan_seconds"] for c in combinations if c["memory"] == "enough")
    assert combinations[document["best"]]["makespan_seconds"] <= 1.001 * shortest
    earlier = [c for c in combinations[: document["best"]] if c["memory"] == "enough"]
    assert all(c["makespan_seconds"] > 1.001 * shortest for c in earlier)
    assert all(0 < c["idle_share"] < 1 for c in combinations)
    assert (document["samples"], document["devices"]) == (12, 3)
    assert document["durations"]["judge:testing"] == {"load": 60.0, "unit": 0.2, "source": "its own parameters"}


@pytest.mark.parametrize(
    "execution",
    [{}, {"placement": "together"}, {"schedule": "batch_sync", "order": "by_category", "placement": "swap"}],
)
def test_the_configuration_s_own_combination_is_marked(tmp_path: Path, execution: dict[str, str]) -> None:
    combination = own(make_plan(settings(tmp_path, execution), CATEGORIES))
    auto = {"schedule": "pull", "order": "by_stage", "placement": "swap"}
    assert {name: combination[name] for name in auto} == {**auto, **execution}


def test_what_shapes_a_run_shapes_its_prediction(tmp_path: Path) -> None:
    plain = own(make_plan(settings(tmp_path, {"pilot": False}), CATEGORIES))["makespan_seconds"]
    for changed in (
        {"execution": {"pilot": False, "load_concurrency": 1}},
        {"execution": {"pilot": False}, "evaluation": {"edit_seeds": 2}},
        {"execution": {"pilot": False}, "evaluation": {"repeats": 30}},
        {"execution": {"pilot": False}, "edit": {"seconds": 8.0}},
        {"execution": {"pilot": False}, "judge": {"load_seconds": 90.0}},
    ):
        made = own(make_plan(settings(tmp_path, **changed), CATEGORIES))["makespan_seconds"]
        assert made > plain, changed


def test_a_run_without_a_pilot_is_not_thought_to_know_what_it_cannot(tmp_path: Path) -> None:
    """Nobody leaves editing early who does not know how long the judge takes."""
    made = own(make_plan(settings(tmp_path, {"pilot": False}), CATEGORIES, gpus=2))
    assert made["makespan_seconds"] == pytest.approx(60 + 6 * 7.5 + 60 + 7 * 0.2), "six edits each, then both judge"
    assert own(make_plan(settings(tmp_path), CATEGORIES, gpus=2))["makespan_seconds"] < made["makespan_seconds"]


def test_gpus_replace_every_model_s_devices(tmp_path: Path) -> None:
    made = make_plan(settings(tmp_path, edit={"devices_per_replica": 2, "device_ids": "auto"}), CATEGORIES, gpus=7)
    assert made.devices == 7, "the judge runs on the seventh, too"
    one_judge = settings(tmp_path, edit={"device_ids": "auto"}, judge={"device_ids": None, "device": "cuda:0"})
    assert make_plan(one_judge, CATEGORIES, gpus=4).devices == 4
    for gpus in (0, -1, 1):
        with pytest.raises(ConfigurationError, match=f"--gpus {gpus}: testing needs 2"):
            make_plan(settings(tmp_path, edit={"devices_per_replica": 2, "device_ids": "auto"}), CATEGORIES, gpus=gpus)


@pytest.mark.parametrize(("gpus", "edit", "judge"), [(6, range(5), [5]), (12, range(10), [10]), (3, range(2), [2])])
def test_a_split_stays_a_split(tmp_path: Path, gpus: int, edit: Sequence[int], judge: Sequence[int]) -> None:
    split = settings(
        tmp_path, edit={"device_ids": [0, 1, 2, 3, 4]}, judge={"device_ids": None, "device": "cuda:5"}, execution={}
    )
    machine = ImaginedMachine(gpus)
    shares = [[place[0] for place in model.places] for model in planning._models(split, machine, machine)]
    assert shares == [[f"cuda:{n}" for n in edit], [f"cuda:{n}" for n in judge]]


@pytest.mark.parametrize(
    ("number", "memory", "fault"),
    [
        (None, 80.0, "--gpu-memory 80: of how many GPUs"),
        (6, 0.0, "--gpu-memory 0: it takes the GiB"),
        (6, -1.5, "--gpu-memory -1.5: "),
        (None, float("nan"), "--gpu-memory nan: "),
        (6, float("inf"), "--gpu-memory inf: "),
    ],
)
def test_memory_is_that_of_imagined_gpus(number: int | None, memory: float, fault: str) -> None:
    with pytest.raises(ConfigurationError, match=fault) as refused:
        read_gpu_options(number, memory)
    assert "\n" not in str(refused.value)


def test_what_the_flags_come_to() -> None:
    assert read_gpu_options(None, None) is None
    assert read_gpu_options(6, None) == ImaginedMachine(6)
    two = read_gpu_options(2, 80)
    assert two is not None
    assert [(gpu.name, gpu.free) for gpu in two.gpus()] == [("cuda:0", 80 << 30), ("cuda:1", 80 << 30)]


def test_they_reach_the_plan(tmp_path: Path) -> None:
    given: dict[str, Any] = {"gpus": 3, "gpu_memory": 79.6}
    made = plan(configuration(tmp_path), **given)
    assert (made.devices, made.as_plain()["gpu_memory_gib"]) == (3, 79.6)


def test_an_unknown_time_leaves_time_unknown_and_nothing_else(tmp_path: Path, capsys: Any) -> None:
    """Of a metric nobody knows how long it takes; what the closed editor costs is known all the same."""
    written = configuration(tmp_path)
    written["edit_models"] = {"nano": {"type": "api", "params": {"model": "gemini/gemini-3-pro-image"}}}
    written["judges"] = {"px": {"type": "picture_metrics"}}
    written = {key: value for key, value in written.items() if key not in ("diffusion_model", "reward_model")}
    made = plan(written)
    assert (made.combinations, made.best, made.chosen, made.unknown) == ((), None, None, ("px",))
    assert made.cost == pytest.approx(0.134 * made.samples)
    document = made.as_plain()
    assert document["unknown_durations"] == ["px"]
    assert "judge:px" not in document["durations"]
    assert document["work"]["judge:px"]["questions"] == made.samples
    print_plan(made, Console(width=200), every=True)
    said = " ".join(capsys.readouterr().out.split())
    assert f"How long {made.samples} samples on" in said
    assert "take is not known: run a few" in said
    assert "px: not known how long it takes" in said
    assert "USD in all, without retries" in said
    assert "the CPU is slower" not in said, "a provider is as fast without a GPU"
    on_nodes = plan(written, nodes=2, gpus=2)
    assert (on_nodes.sizes, on_nodes.unknown) == ((), ("px",))


def test_one_device_stays_one_however_many_there_are(tmp_path: Path) -> None:
    loaded = settings(
        tmp_path, edit={"device_ids": None, "device": "cuda:0"}, judge={"device_ids": None, "device": "cuda:0"}
    )
    assert make_plan(loaded, CATEGORIES, gpus=8).devices == 1


@pytest.mark.parametrize(("samples", "counts"), [(24, (10, 8, 6)), (7, (3, 2, 2)), (2, (1, 1, 0)), (1, (1, 0, 0))])
def test_samples_stretch_the_benchmark_with_equal_shares(samples: int, counts: tuple[int, ...]) -> None:
    named = [replace(sample, category=name) for sample, name in zip(small_samples(12), CATEGORIES, strict=True)]
    made = resize_experiment(small_experiment(named), samples).samples
    shares = Counter(sample.category for sample in made)
    assert tuple(shares[name] for name in ("physical", "social", "causal")) == counts
    assert len({sample.id for sample in made}) == len({sample.cluster for sample in made}) == samples
    assert [sample.index for sample in made] == list(range(samples))


@pytest.mark.parametrize("samples", [1, 4, 7, 12, 25])
def test_copies_follow_copies_and_what_they_need_is_edited_beside(samples: int) -> None:
    """Four chains of three turns, each turn of a category of its own."""
    there = small_samples(12, follows={n: n - 1 for n in range(12) if n % 3})
    made = resize_experiment(small_experiment(there), samples)
    ids = {sample.id for sample in made.samples}
    assert len(ids - made.beside) == samples
    assert {sample.follows for sample in made.samples} - {""} <= ids
    assert len(made.predecessors) == sum(bool(sample.follows) for sample in made.samples)
    assert all(sample.source_digest for sample in made.samples if not sample.follows)


def test_samples_are_at_least_one(tmp_path: Path) -> None:
    assert make_plan(settings(tmp_path), CATEGORIES, samples=100).samples == 100
    for samples in (0, -5):
        with pytest.raises(ConfigurationError, match=f"--samples {samples}: at least 1"):
            make_plan(settings(tmp_path), CATEGORIES, samples=samples)


def test_of_very_many_samples_only_the_configuration_s_own_combination(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "ALL_COMBINATIONS_UP_TO", 20)  # 12 edits, 8 batches
    assert len(make_plan(settings(tmp_path), CATEGORIES).combinations) == 4 * len(QUEUES)
    made = make_plan(settings(tmp_path, {"schedule": "round_robin"}), CATEGORIES, samples=13)
    assert [c.schedule for c in made.combinations] == ["round_robin"]
    assert (made.best, made.chosen) == (0, 0)


def test_hundreds_of_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "ALL_COMBINATIONS_UP_TO", 0)
    made = make_plan(settings(tmp_path, edit={"seconds": 75.0}), CATEGORIES, gpus=400, samples=2_000)
    assert made.devices == 400
    assert own(made)["makespan_seconds"] < 1.5 * own(made)["lower_bound_seconds"]


# -- batches and the pilot, as a run has them --


def test_batches_are_cut_from_the_whole_benchmark_for_each_judge() -> None:
    """A filter gives nobody other company, so what is left of four batches stays four batches."""
    whole = [replace(sample, category="physical") for sample in small_samples(12)]
    chosen = small_experiment([whole[n] for n in (0, 1, 5, 9)], judges=("four", "one"))

    def batches(experiment: Experiment, everything: Sequence[Sample]) -> list[int]:
        work = ImaginedWork(experiment, everything, {"four": 4, "one": 1}, pilot=False)
        return [len(task.units) for task in work.tasks() if task.model == "judge:four"]

    assert batches(chosen, whole) == [1, 1, 1, 1]
    alone = replace(chosen, samples=tuple(replace(sample, index=n) for n, sample in enumerate(chosen.samples)))
    assert batches(alone, alone.samples) == [1, 3]


@pytest.mark.parametrize("by_category", [False, True])
def test_a_part_that_stands_several_times_is_as_much_work_as_the_whole(
    monkeypatch: pytest.MonkeyPatch, by_category: bool
) -> None:
    """And it takes as long: of a million samples, only some are unfolded."""
    named = [replace(sample, category=name) for sample, name in zip(small_samples(12), CATEGORIES, strict=True)]
    experiment = small_experiment(named, models=("e0", "e1"), judges=("j0", "j1"), controls=8, edit_seeds=2)
    sizes = {"j0": 3, "j1": 1}
    layout = [Model(name, "edit", (("a",), ("b",))) for name in ("e0", "e1")]
    layout += [Model(name, "judge", (("a",), ("b",))) for name in sizes]
    timing = Durations({m.key: 9.0 for m in layout}, {m.key: 5.0 if m.kind == "edit" else 0.5 for m in layout})
    both = []
    for most in (10**9, 700):
        monkeypatch.setattr(advice_imagined, "MOST_AT_ONCE", most)
        work = ImaginedWork(experiment, named, sizes, samples=500)
        tasks = work.tasks(by_category=by_category)
        assert len([*tasks]) == len(tasks)
        assert Counter(unit for task in tasks if task.model == "edit:e1" for unit in task.units).total() == 1000
        assert len({(task.model[:4], unit) for task in tasks for unit in task.units}) == tasks.units.total()
        both.append((tasks.units, work.work_counts, work.controls, simulate(layout, tasks, timing)))
    (units, asked, controls, whole), (its_units, its_asked, its_controls, parts) = both
    assert (units, asked, controls) == (its_units, its_asked, its_controls)
    assert parts.makespan == pytest.approx(whole.makespan, rel=0.02)
    assert parts.lower_bound == pytest.approx(whole.lower_bound)


# -- on a benchmark, and after a run --


def test_it_reads_the_benchmark_and_writes_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_benchmark(tmp_path, 12)
    source = configuration(tmp_path)
    made = plan(source, limit=3, categories=["physical", "社会"], devices="cpu:3")
    assert (made.samples, made.devices) == (6, 3)
    assert {p.name for p in tmp_path.iterdir()} == {"benchmark.json", "cache"}
    with pytest.raises(RunDirectoryError, match="does not exist"):
        plan(source, from_run=tmp_path / "nowhere")


def test_a_protocol_s_questions_are_counted(tmp_path: Path) -> None:
    source = {**configuration(tmp_path, judge={"seconds": 0.2}), "protocol": {"type": "viescore"}}
    assert plan(source, gpus=2).durations["judge:testing"].unit == pytest.approx(2 * 0.2)


def test_bad_samples_take_no_time(tmp_path: Path) -> None:
    source = configuration(tmp_path, benchmark={"on_bad_sample": "skip"})
    items = json.loads((tmp_path / "benchmark.json").read_text("utf-8"))
    items[3]["src_img_b64"] = "this is no picture"
    items[5]["subset"] = "weather"  # which has no rubric
    (tmp_path / "benchmark.json").write_text(json.dumps(items), "utf-8")
    assert plan(source).samples == 7
    with pytest.raises(BenchmarkError) as refused:
        plan({**source, "benchmark": {**source["benchmark"], "on_bad_sample": "error"}})
    assert [fault.partition(" (")[0] for fault in refused.value.faults] == ["sample 3", "sample 5"], "all at once"


@pytest.mark.parametrize(("categories", "count"), [((), 5), (["社会", "physical"], 2)])
def test_a_planner_on_a_laptop_needs_no_benchmark(tmp_path: Path, categories: list[str], count: int) -> None:
    source = configuration(tmp_path, edit={"load_seconds": 60.0, "seconds": 7.5}, judge={"seconds": 0.2})
    there = plan(source, gpus=6, samples=30, categories=categories)
    (tmp_path / "benchmark.json").unlink()
    made = plan(source, gpus=6, samples=30, categories=categories)
    assert (made.samples, made.devices, len(made.combinations)) == (30, 6, 12)
    assert made.notes[-1].endswith(
        f"benchmark.json does not exist: {count} categories of equal size are assumed instead"
    )
    assert not any("is not there" in note for note in there.notes)
    for samples in (None, 0):
        with pytest.raises(ConfigurationError, match=r"benchmark\.json|--samples 0"):
            plan(source, gpus=6, samples=samples)


def test_nor_does_it_need_weights(tmp_path: Path) -> None:
    source = configuration(tmp_path, edit={"seconds": 7.5})
    source["reward_model"] = {"type": "qwen3_vl", "params": {"model_name": str(tmp_path / "nowhere")}}
    (tmp_path / "benchmark.json").unlink()
    assert plan(source, gpus=6, samples=30).work["judge:qwen3_vl"] == (30, 0)


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("seen")
    edit, judge = {"seconds": 0.1, "load_seconds": 0.3}, {"seconds": 0.02, "load_seconds": 0.1}
    source = configuration(folder, edit=edit, judge=judge)
    named = {
        **{key: value for key, value in source.items() if key not in ("diffusion_model", "reward_model")},
        "edit_models": {"painter": source["diffusion_model"]},
        "judges": {"critic": source["reward_model"]},
    }
    return evaluate(named, run_dir=folder / "run", report=False)


def test_a_run_tells_how_long_things_take(seen: Run, tmp_path: Path) -> None:
    source = configuration(tmp_path, edit={"seconds": 99.0}, judge={"seconds": 99.0})
    models = {
        "edit_models": {"painter": source.pop("diffusion_model")},
        "judges": {"critic": source.pop("reward_model")},
    }
    made = plan({**source, **models}, from_run=seen.path, gpus=2, samples=40)
    edit, judge = made.durations["edit:painter"], made.durations["judge:critic"]
    assert edit.source == judge.source == "run run"
    assert 0.1 <= edit.unit < 10
    assert 0.02 <= judge.unit < 10
    assert 0.3 <= edit.load < 60
    assert 0.1 <= judge.load < 60
    assert own(made)["makespan_seconds"] < 20 * 99
    again = plan({**source, **models, "evaluation": {"readings": 4}}, from_run=seen.path, gpus=2, samples=40)
    assert again.durations["judge:critic"].unit == pytest.approx(4 * judge.unit)
    assert not [note for note in again.notes if note.startswith("tokens")], "nobody counted any"


def test_a_run_tells_how_many_tokens_judges_take(seen: Run, tmp_path: Path) -> None:
    counted = tuple(replace(judgement, tokens=(1000, 5)) for judgement in seen.results.judgements)
    source = configuration(tmp_path, evaluation={"readings": 2, "repeats": 3, "controls": 10})
    source["edit_models"] = dict.fromkeys(("painter", "other"), source["diffusion_model"])
    source["judges"] = {"critic": source["reward_model"]}
    del source["diffusion_model"], source["reward_model"]
    made = make_plan(load_configuration(source), ["a"] * 40, seen=replace(seen.results, judgements=counted), gpus=2)
    (note,) = [note for note in made.notes if note.startswith("tokens")]
    judgements = 40 * 2 * 3 + 3 * 10
    assert note.endswith(f"critic: {judgements * 2 * 1000:,} read, {judgements * 2 * 5:,} written")


def test_an_edit_model_and_a_judge_of_one_name_are_two_models(seen: Run, tmp_path: Path) -> None:
    """And a load that failed, or was broken off, tells nothing of how long a load takes."""

    def loading(role: str, seconds: float, what: str = "") -> Activity:
        return Activity(
            start_number=1,
            device="cuda:0",
            kind="loading",
            model="testing",
            begin=0.0,
            end=seconds,
            what=what,
            role=role,
        )

    results = replace(
        seen.results,
        edits=tuple(replace(edit, edit_model="testing") for edit in seen.results.edits),
        judgements=tuple(replace(judgement, judge="testing") for judgement in seen.results.judgements),
        telemetry=replace(
            seen.results.telemetry,
            activities=(
                loading("edit", 40.0),
                loading("edit", 44.0),
                loading("judge", 90.0),
                loading("edit", 1.0, "failed"),
            ),
        ),
    )
    estimates = durations_of(load_configuration(configuration(tmp_path)), results)
    assert (estimates["edit:testing"].load, estimates["judge:testing"].load) == (42.0, 90.0)
    old = replace(
        results,
        telemetry=replace(
            results.telemetry, activities=tuple(replace(activity, role="") for activity in results.telemetry.activities)
        ),
    )
    assert durations_of(load_configuration(configuration(tmp_path)), old)["judge:testing"].load == 58.0


@pytest.mark.parametrize("more", [{}, {"load_concurrency": 1}, {"load_concurrency": 1, "placement": "together"}])
@pytest.mark.parametrize("pilot", [True, False])
def test_a_plan_from_a_run_is_what_the_run_took(seen: Run, tmp_path: Path, pilot: bool, more: dict[str, Any]) -> None:
    """Its loads in turn, imports, ends of processes and the pilot included: the run is one whose times are known."""
    configured = settings(
        tmp_path, {"pilot": pilot, **more}, edit={"device_ids": "cpu:4"}, judge={"device_ids": "cpu:4"}
    )
    categories = [CATEGORIES[n % 3 * 4] for n in range(30)]
    keys = ("edit:testing", "judge:testing")
    true = Durations(
        load=dict.fromkeys(keys, 20.0),
        unit={"edit:testing": 5.0, "judge:testing": 2.0},
        prepare=dict.fromkeys(keys, 8.0),
        unload=dict.fromkeys(keys, 3.0),
    )
    models = [Model("testing", kind, tuple((f"cpu:{n}",) for n in range(4))) for kind in ("edit", "judge")]
    ran = simulated(models, categories, true, batch_size=2, pilot=pilot, keep_activities=True, **more)
    edit = next(edit for edit in seen.results.edits if edit.status is Status.OK)
    judgement = next(judgement for judgement in seen.results.judgements if judgement.status is Status.OK)
    results = replace(
        seen.results,
        edits=(replace(edit, edit_model="testing", seconds=5.0),),
        judgements=(replace(judgement, judge="testing", seconds=2.0),),
        telemetry=replace(seen.results.telemetry, activities=tuple(ran.activities)),
    )
    made = make_plan(configured, categories, seen=results)
    assert own(made)["makespan_seconds"] == pytest.approx(ran.makespan)


def test_what_a_run_records_tells_them_apart(seen: Run) -> None:
    roles = {(activity.model, activity.role) for activity in seen.results.telemetry.activities}
    assert roles == {("painter", "edit"), ("critic", "judge")}


def with_a_server(folder: Path, device_ids: Any, concurrency: int) -> Configuration:
    """The models of `seen`, with a server as the judge."""
    source = configuration(folder, edit={"device_ids": "auto"}, execution={"pilot": False})
    server = {"model": "x", "base_url": "http://nowhere:1/v1", "device_ids": device_ids, "concurrency": concurrency}
    return load_configuration(
        {
            **{key: value for key, value in source.items() if key not in ("diffusion_model", "reward_model")},
            "edit_models": {"painter": source["diffusion_model"]},
            "judges": {"critic": {"type": "chat_endpoint", "params": server}},
        }
    )


def slow_judge(seen: Run, seconds: float) -> Results:
    """What `seen` shows, with this time for each answer and none for all else."""
    return replace(
        seen.results,
        edits=tuple(replace(edit, seconds=0.0) for edit in seen.results.edits),
        judgements=tuple(replace(judgement, seconds=seconds) for judgement in seen.results.judgements),
        telemetry=replace(seen.results.telemetry, activities=()),
    )


@pytest.mark.parametrize("concurrency", [1, 4, 8])
def test_a_server_answers_as_many_at_a_time_as_it_is_asked(seen: Run, tmp_path: Path, concurrency: int) -> None:
    made = make_plan(with_a_server(tmp_path, "cpu:1", concurrency), ["a"] * 40, seen=slow_judge(seen, 2.0), gpus=2)
    assert made.devices == 3, "it needs none of the GPUs"
    for way in made.combinations:
        assert way.prediction.makespan == pytest.approx(40 * 2.0 / concurrency, rel=0.01)
        assert way.prediction.busy["cpu:0"] == pytest.approx(40 * 2.0 / concurrency, rel=0.01)
        assert way.prediction.lower_bound == pytest.approx(40 * 2.0 / concurrency / 3)
        assert 0 <= way.prediction.idle_share < 1


def test_a_server_on_gpus_is_asked_by_each_of_them(seen: Run, tmp_path: Path) -> None:
    made = make_plan(with_a_server(tmp_path, "auto", 4), ["a"] * 40, seen=slow_judge(seen, 2.0), gpus=2)
    assert made.devices == 2
    assert own(made)["makespan_seconds"] == pytest.approx(40 * 2.0 / 8)


def test_a_model_that_the_run_did_not_have_takes_what_is_known_of_its_type(seen: Run, tmp_path: Path) -> None:
    made = plan(configuration(tmp_path, edit={"seconds": 7.0}), from_run=seen.path)
    assert made.durations["edit:testing"].source == "its own parameters"
    assert made.durations["edit:testing"].unit == 7.0


def test_machines_are_compared_by_time_and_by_what_they_cost(tmp_path: Path) -> None:
    many = ["physical"] * 400
    # Loads of a minute for edits of 0.1 s: what is won by more machines is lost in loading.
    dear = make_plan(settings(tmp_path, edit={"seconds": 0.1}), many, cluster=Cluster(8, 2, price=3.0))
    assert [(size.nodes, size.gpus) for size in dear.sizes] == [(1, 2), (2, 4), (4, 8), (8, 16)]
    assert dear.sizes[-1].makespan == dear.combinations[dear.chosen].prediction.makespan
    assert dear.cheapest == 0
    for size in dear.sizes:
        assert size.cost == pytest.approx(3.0 * size.makespan * size.gpus / 3600)
    long = make_plan(settings(tmp_path), many, cluster=Cluster(4, 2))
    assert long.fastest == 2
    assert long.sizes[0].makespan > 2 * long.sizes[2].makespan
    assert long.sizes[0].cost is None
    document = json.loads(json.dumps(long.as_plain()))
    assert (document["fastest"], document["sizes"][0]["nodes"]) == (2, 1)


def test_loads_are_counted_on_each_machine(tmp_path: Path) -> None:
    configured = settings(tmp_path, {"load_concurrency": 1, "pilot": False, "placement": "swap"})
    many = ["physical"] * 64
    four_hosts = make_plan(configured, many, cluster=Cluster(4, 2))
    one_host = make_plan(configured, many, gpus=8)
    assert four_hosts.combinations[0].prediction.makespan < one_host.combinations[0].prediction.makespan


def test_what_is_no_number_of_machines_is_said(tmp_path: Path) -> None:
    for arguments in (
        {"nodes": 2},
        {"price": 2.0, "gpus": 8},
        {"nodes": 0, "gpus": 8},
        {"nodes": 1, "gpus": 8, "price": -1},
    ):
        with pytest.raises(ConfigurationError, match=r"--(nodes|price)"):
            plan(configuration(tmp_path), samples=5, **arguments)


def test_it_says_beforehand_how_many_answers_a_pair_takes_and_what_they_cost(tmp_path: Path) -> None:
    letters = {"answer": "probabilities", "asked": "one_by_one", "rubric": "five_dimensions.v2"}
    once = configuration(tmp_path, judge={"seconds": 0.5})
    often = {**once, "protocol": letters, "evaluation": {"controls": 0, "readings": 4}}
    assert not any("a pair" in note for note in plan(once, samples=9).notes)
    made = plan(often, samples=9)
    assert "testing: 6 questions x 4 readings, so 24 answers a pair" in made.notes
    assert made.durations["judge:testing"].unit == pytest.approx(
        24 * plan(once, samples=9).durations["judge:testing"].unit
    )
