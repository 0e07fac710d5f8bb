"""`controls: auto`: which samples have controls, and how an older run that asked for them in steps is read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from edit_eval.experiment import Experiment
from edit_eval.store.cells import Cells
from small_matrix import small_experiment, small_samples


def chosen(experiment: Experiment) -> list[int]:
    """Positions of the samples that have a control, each as often as it has one of a kind."""
    cells = Cells(experiment)
    numbers = [n for n in cells.subjects_of("control") if cells.subject(n).shows == "blank"]
    return [cells.sample(number) for number in numbers]


def test_each_source_image_has_one_control_of_a_kind_and_none_are_of_samples_that_follow() -> None:
    samples = small_samples(30, bad=[1], follows={4: 3})
    alike = [replace(sample, cluster="same") if sample.index in (5, 6, 7) else sample for sample in samples]
    experiment = small_experiment(alike, models=("m", "n"), judges=["critic"])
    without = {1, 4, 6, 7}
    many = replace(experiment, control_samples=99, automatic_controls=True)
    assert chosen(many) == [n for n in range(30) if n not in without]
    assert chosen(replace(experiment, control_samples=99)) == [n for n in range(30) if n not in without - {6, 7}]


def test_as_many_are_asked_as_are_cheap_and_no_more_than_twelve() -> None:
    for count, cheap in ((2, 0), (10, 2), (30, 6), (60, 12), (500, 12)):
        experiment = small_experiment(count, models=("m", "n"), judges=["critic"]).with_cheap_controls()
        assert (experiment.control_samples, len(chosen(experiment))) == (cheap, cheap)


def test_a_run_that_asked_in_steps_is_read_with_the_first_one(tmp_path: Path) -> None:
    now = small_experiment(90, models=("m", "n"), judges=["critic"]).with_cheap_controls()
    record = now.to_record(tmp_path)
    assert Experiment.from_record(record, now.samples).is_same_evaluation(now)
    for steps, count in (([7, 14, 25], 7), ([], 0)):
        older = {**record, "control_samples": max(steps, default=0), "control_steps": steps}
        read = Experiment.from_record(older, now.samples)
        assert (read.control_samples, len(chosen(read)), read.automatic_controls) == (count, count, True)
        assert not read.is_same_evaluation(now)
        assert read.controls_setting == f"auto ({count})"
