"""How long things take, before anything was run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from edit_eval.config.loading import load_configuration
from edit_eval.plugins.preparation.prediction import Duration, durations_of
from imagined_tasks import make_plan
from small_benchmark import configuration


def durations(folder: Path, **more: Any) -> dict[str, Duration]:
    return durations_of(load_configuration({**configuration(folder), **more}), None)


@pytest.mark.parametrize(
    ("params", "forwards"),
    [({}, 100), ({"num_inference_steps": 15}, 30), ({"num_inference_steps": 8, "true_cfg_scale": 1.0}, 8)],
)
def test_an_edit_costs_its_forwards_and_what_lies_around_them(
    tmp_path: Path, params: dict[str, Any], forwards: int
) -> None:
    estimate = durations(tmp_path, diffusion_model={"type": "qwen_image_edit", "params": params})[
        "edit:qwen_image_edit"
    ]
    assert estimate.unit == pytest.approx(0.5 * forwards + 1.2)
    assert estimate.load == pytest.approx(57.7)
    assert f"{forwards} forwards" in estimate.source
    assert estimate.published


def test_one_forward_is_one(tmp_path: Path) -> None:
    params = {"num_inference_steps": 1, "true_cfg_scale": 1.0}
    estimate = durations(tmp_path, diffusion_model={"type": "qwen_image_edit", "params": params})[
        "edit:qwen_image_edit"
    ]
    assert estimate.source.startswith("1 forward at ")


def notes(folder: Path, edit: dict[str, Any], judge: dict[str, Any], **more: Any) -> list[str]:
    """What a plan on two imagined GPUs, or with `more`, says of durations that are too short."""
    source = configuration(folder)
    source["diffusion_model"] = {"type": "qwen_image_edit", "params": edit}
    source["reward_model"] = {"type": "qwen3_vl", "params": judge}
    made = make_plan(load_configuration(source), ["physical"] * 3, **({"gpus": 2} | more))
    return [note for note in made.notes if note.endswith("so the plan is too short")]


@pytest.mark.parametrize("offload", ["model", "group"])
def test_offloading_is_slower_than_what_was_published(tmp_path: Path, offload: str) -> None:
    assert notes(tmp_path, {}, {}) == []
    told = f"s an edit is for a GPU without offload; offload: {offload} is slower, so the plan is too short"
    assert notes(tmp_path, {"offload": offload}, {}) == [f"qwen_image_edit: 51.2 {told}"]
    [judged] = notes(tmp_path, {}, {"offload": offload})
    assert judged.startswith(f"qwen3_vl: 0.5 s a pair is for a GPU without offload; offload: {offload}")


@pytest.mark.parametrize(
    ("answer", "batch_size", "seconds"),
    [("score", 1, 0.5), ("score", 2, 0.3), ("reason_then_score", 4, 1.7), ("probabilities", 1, 0.15)],
)
def test_a_pair_is_read_once_and_its_answer_written_token_by_token(
    tmp_path: Path, answer: str, batch_size: int, seconds: float
) -> None:
    """0.1 s for the prompt, 0.05 s a token that the rows of a batch share."""
    source = configuration(tmp_path)
    params = {"batch_size": batch_size}
    source["reward_model"] = {"type": "qwen3_vl", "params": params, "protocol": {"answer": answer}}
    assert durations_of(load_configuration(source), None)["judge:qwen3_vl"].unit == pytest.approx(seconds)


def test_so_is_the_cpu(tmp_path: Path) -> None:
    both = notes(tmp_path, {"device_ids": "cpu:2"}, {"device_ids": "cpu:2"}, gpus=None)
    assert [note.partition(":")[0] for note in both] == ["qwen_image_edit", "qwen3_vl"]
    assert all("; the CPU is slower" in note for note in both)
    assert notes(tmp_path, {"device_ids": "cpu:2"}, {"device_ids": "cpu:2"}) == [], "GPUs are imagined in its stead"


def test_what_is_no_published_figure_is_not_doubted(tmp_path: Path) -> None:
    made = make_plan(load_configuration(configuration(tmp_path)), ["physical"] * 3)
    assert not any("too short" in note for note in made.notes), "the testing models know their own, on any device"


def test_reasons_cost_more_than_a_bare_score(tmp_path: Path) -> None:
    judge = {"reward_model": {"type": "qwen3_vl", "params": {}}}
    bare = durations(tmp_path, **judge)["judge:qwen3_vl"]
    reasoned = durations(tmp_path, **judge, evaluation={"answer": "reason_then_score"})["judge:qwen3_vl"]
    assert bare.unit < reasoned.unit
    assert "estimated" in bare.source
    assert bare.load == reasoned.load == pytest.approx(62, abs=0.5)


def test_the_testing_models_take_what_they_are_told(tmp_path: Path) -> None:
    source = configuration(tmp_path, edit={"seconds": 3.0, "load_seconds": 9.0})
    assert durations(tmp_path, **source)["edit:testing"] == Duration(9.0, 3.0, "its own parameters")


def test_a_pair_costs_all_its_questions_in_all_its_readings(tmp_path: Path) -> None:
    source = configuration(tmp_path, edit={"seconds": 3.0}, judge={"seconds": 0.2}, evaluation={"readings": 3})
    made = durations_of(load_configuration(source), None, {"testing": 2.5})
    assert made["judge:testing"].unit == pytest.approx(3 * 2.5 * 0.2)
    assert made["edit:testing"].unit == 3.0


@pytest.mark.parametrize("type_name", ["scene_editor", "copy_source", "blank"])
def test_embedded_models_are_known(tmp_path: Path, type_name: str) -> None:
    assert durations(tmp_path, diffusion_model={"type": type_name})[f"edit:{type_name}"].unit > 0


def test_a_model_of_which_nothing_is_known_has_no_duration(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "class Mine:\n    def load(self, devices): ...\n    def edit(self, image, instruction, seed, on_step): ...\n"
    )
    known = durations(tmp_path, diffusion_model={"class_path": f"{tmp_path}/mine.py:Mine"})
    assert {key.partition(":")[0] for key in known} == {"judge"}
