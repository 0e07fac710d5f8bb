"""`plan`: every combination simulated, the best named, and what it may be asked beside."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from edit_eval.config.loading import load_configuration
from edit_eval.config.schema import Configuration
from edit_eval.errors import ConfigurationError, RunDirectoryError
from edit_eval.evaluation import Run, evaluate, plan
from edit_eval.execution import planning
from edit_eval.execution.planning import Plan, make_plan
from small_benchmark import configuration, write_benchmark

CATEGORIES = ["physical"] * 5 + ["social"] * 4 + ["causal"] * 3


def settings(folder: Path, execution: dict[str, Any] | None = None, **more: Any) -> Configuration:
    edit = {"load_seconds": 60.0, "seconds": 7.5, **more.pop("edit", {})}
    judge = {"load_seconds": 60.0, "seconds": 0.2, "batch_size": 2, **more.pop("judge", {})}
    return load_configuration(configuration(folder, edit=edit, judge=judge, execution=execution or {}, **more))


def own(made: Plan) -> dict[str, Any]:
    """The configuration's own combination."""
    found: dict[str, Any] = made.as_plain()["combinations"][made.chosen]
    return found


def test_the_document_is_what_was_agreed(tmp_path: Path) -> None:
    made = make_plan(settings(tmp_path), CATEGORIES, gpus=3)
    document = json.loads(json.dumps(made.as_plain(), allow_nan=False))
    assert list(document)[:2] == ["combinations", "best"]
    combinations = document["combinations"]
    names = ("schedule", "order", "placement", "makespan_seconds", "lower_bound_seconds", "idle_share")
    assert all(tuple(c) == names for c in combinations)
    assert {tuple(c[n] for n in names[:3]) for c in combinations} == {
        (schedule, order, placement)
        for schedule in ("pull", "round_robin", "batch_sync")
        for order in ("by_stage", "by_category")
        for placement in ("swap", "together")
    }
    shortest = min(c["makespan_seconds"] for c in combinations)
    assert combinations[document["best"]]["makespan_seconds"] <= 1.001 * shortest
    assert all(c["makespan_seconds"] > 1.001 * shortest for c in combinations[: document["best"]])
    assert all(0 < c["idle_share"] < 1 for c in combinations)
    assert (document["samples"], document["devices"]) == (12, 3)
    assert document["durations"]["judge:testing"] == {"load": 60.0, "unit": 0.2, "source": "its own parameters"}


@pytest.mark.parametrize(
    "execution",
    [
        {},
        {"placement": "together"},
        {"schedule": "batch_sync", "order": "by_category", "placement": "swap"},
    ],
)
def test_the_configuration_s_own_combination_is_marked(tmp_path: Path, execution: dict[str, str]) -> None:
    found = own(make_plan(settings(tmp_path, execution), CATEGORIES))
    auto = {"schedule": "pull", "order": "by_stage", "placement": "swap"}
    assert {name: found[name] for name in auto} == {**auto, **execution}


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
    assert (
        make_plan(settings(tmp_path, judge={"device_ids": None, "device": "cuda:0"}), CATEGORIES, gpus=4).devices == 4
    )
    for gpus in (0, -1, 1):
        with pytest.raises(ConfigurationError, match=f"--gpus {gpus}: testing needs 2"):
            make_plan(settings(tmp_path, edit={"devices_per_replica": 2, "device_ids": "auto"}), CATEGORIES, gpus=gpus)


def test_one_device_stays_one_however_many_there_are(tmp_path: Path) -> None:
    one = settings(
        tmp_path, edit={"device_ids": None, "device": "cuda:0"}, judge={"device_ids": None, "device": "cuda:0"}
    )
    assert make_plan(one, CATEGORIES, gpus=8).devices == 1


@pytest.mark.parametrize(("samples", "counts"), [(24, (10, 8, 6)), (7, (3, 2, 2)), (2, (1, 1, 0)), (1, (1, 0, 0))])
def test_samples_stretch_the_benchmark_with_equal_shares(samples: int, counts: tuple[int, ...]) -> None:
    stretched = Counter(planning._stretched(CATEGORIES, samples))
    assert tuple(stretched[name] for name in ("physical", "social", "causal")) == counts


def test_samples_are_at_least_one(tmp_path: Path) -> None:
    assert make_plan(settings(tmp_path), CATEGORIES, samples=100).samples == 100
    for samples in (0, -5):
        with pytest.raises(ConfigurationError, match=f"--samples {samples}: at least 1"):
            make_plan(settings(tmp_path), CATEGORIES, samples=samples)


def test_of_very_many_samples_only_the_configuration_s_own_combination(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "ALL_COMBINATIONS_UP_TO", 12)
    assert len(make_plan(settings(tmp_path), CATEGORIES).combinations) == 12
    made = make_plan(settings(tmp_path, {"schedule": "round_robin"}), CATEGORIES, samples=13)
    assert [c.schedule for c in made.combinations] == ["round_robin"]
    assert (made.best, made.chosen) == (0, 0)


def test_hundreds_of_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "ALL_COMBINATIONS_UP_TO", 0)
    made = make_plan(settings(tmp_path, edit={"seconds": 75.0}), CATEGORIES, gpus=400, samples=2_000)
    assert made.devices == 400
    assert own(made)["makespan_seconds"] < 1.5 * own(made)["lower_bound_seconds"]


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
    assert 0.1 <= edit.unit < 0.5
    assert 0.02 <= judge.unit < 0.3
    assert 0.3 <= edit.load < 5
    assert 0.1 <= judge.load < 5
    assert own(made)["makespan_seconds"] < 99


def test_a_model_that_the_run_did_not_have_takes_what_is_known_of_its_type(seen: Run, tmp_path: Path) -> None:
    made = plan(configuration(tmp_path, edit={"seconds": 7.0}), from_run=seen.path)
    assert made.durations["edit:testing"].source == "its own parameters"
    assert made.durations["edit:testing"].unit == 7.0
