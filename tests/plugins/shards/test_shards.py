"""Which shard this is, whose samples are whose, and who may be at work in a run at once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from edit_eval import evaluate
from edit_eval.asking import load_samples, make_experiment
from edit_eval.config.loading import load_configuration
from edit_eval.errors import ConfigurationError, RunDirectoryError
from edit_eval.experiment import Experiment
from edit_eval.plugins.shards.partition import read_shard, shards_of
from edit_eval.scheduling.batches import cut_batches
from edit_eval.store.run_directory import RunDirectory, Shard
from edit_eval.store.subjects.controls import Controls
from small_benchmark import configuration, write_benchmark

SLURM_ARRAY = {
    "SLURM_ARRAY_TASK_ID": "30",
    "SLURM_ARRAY_TASK_COUNT": "4",
    "SLURM_ARRAY_TASK_MIN": "10",
    "SLURM_ARRAY_TASK_STEP": "10",
    "SLURM_PROCID": "0",
    "SLURM_NTASKS": "1",
}


@pytest.mark.parametrize(
    ("text", "environment", "shard"),
    [
        ("2/8", {}, Shard(2, 8)),
        ("1/1", SLURM_ARRAY, Shard(1, 1)),
        ("auto/4", SLURM_ARRAY, Shard(3, 4)),
        ("auto", {"SLURM_PROCID": "0", "SLURM_NTASKS": "2"}, Shard(1, 2)),
        ("auto", {"SKYPILOT_NODE_RANK": "3", "SKYPILOT_NUM_NODES": "4"}, Shard(4, 4)),
        ("auto", {"JOB_COMPLETION_INDEX": "1", "JOB_COMPLETIONS": "5"}, Shard(2, 5)),
        ("auto/5", {"JOB_COMPLETION_INDEX": "1"}, Shard(2, 5)),
        ("auto", {"RANK": "7", "WORLD_SIZE": "8", "LOCAL_RANK": "7"}, Shard(8, 8)),
    ],
)
def test_which_shard_it_is(text: str, environment: Mapping[str, str], shard: Shard) -> None:
    assert read_shard(text, environment) == shard


@pytest.mark.parametrize(
    ("text", "environment", "said"),
    [
        ("0/4", {}, "there is no shard 0 of 4; shards count from 1"),
        ("5/4", {}, "there is no shard 5 of 4"),
        ("first", {}, "write 2/8 for the second of eight, or auto"),
        ("auto", {}, "none of SLURM_ARRAY_TASK_ID, SLURM_PROCID"),
        ("auto", {"JOB_COMPLETION_INDEX": "1"}, "JOB_COMPLETIONS is not; set it, or write auto/N"),
        ("auto", {"RANK": "4", "WORLD_SIZE": "4"}, "there is no shard 5 of 4"),
    ],
)
def test_what_is_none_is_said(text: str, environment: Mapping[str, str], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        read_shard(text, environment)


def array(number: int, *numbers: int) -> dict[str, str]:
    """What Slurm says to one task of an array with these numbers."""
    said = {"ID": number, "COUNT": len(numbers), "MIN": min(numbers), "MAX": max(numbers), "STEP": 1}
    return {f"SLURM_ARRAY_TASK_{name}": str(value) for name, value in said.items()}


@pytest.mark.parametrize("first", [0, 1, 5])
def test_a_part_of_an_array_that_is_submitted_again_is_the_right_shard(tmp_path: Path, first: int) -> None:
    whole = range(first, first + 16)
    for number in whole[:15]:
        directory = RunDirectory(tmp_path)
        directory.begin(read_shard("auto/16", array(number, *whole), tmp_path))
        directory.end()
    for part in ([whole[3]], [whole[3], whole[4]], [whole[0]]):
        for number in part:
            for text in ("auto", "auto/16"):
                assert read_shard(text, array(number, *part), tmp_path) == Shard(number - first + 1, 16)
    assert read_shard("auto", array(whole[15], *whole), tmp_path) == Shard(16, 16)
    assert read_shard("auto", array(whole[15], whole[15]), tmp_path) == Shard(16, 16), "as the others were numbered"
    # All anew, among fewer or more.
    assert read_shard("auto/4", array(2, 0, 1, 2, 3), tmp_path) == Shard(3, 4)
    assert read_shard("auto", array(31, *range(32)), tmp_path) == Shard(32, 32)


def test_a_part_of_a_run_whose_shards_were_numbered_by_hand_is_refused(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path)
    directory.begin(read_shard("2/16", {}))
    directory.end()
    with pytest.raises(
        ConfigurationError, match=r"this array has 1 of 16 tasks.*write --shard I/16, or --shard auto/1"
    ):
        read_shard("auto", array(3, 3), tmp_path)


def test_shards_of_different_evaluations_do_not_share_a_run(tmp_path: Path) -> None:
    def experiment(steps: int) -> Experiment:
        read = load_configuration(configuration(tmp_path, edit={"steps": steps}))
        return make_experiment(read, load_samples(read))

    def begun(number: int, asked: Experiment) -> RunDirectory:
        directory = RunDirectory(tmp_path / "run")
        directory.begin(Shard(number, 2, experiment=asked.fingerprint))
        return directory

    first = begun(1, experiment(4))
    with pytest.raises(RunDirectoryError, match=r"shard 1/2 of .* is running another evaluation than shard 2/2 would"):
        begun(2, experiment(7))
    begun(2, experiment(4)).end()
    first.end()
    begun(2, experiment(7)).end()  # when nobody is at work it may change, as a run of one engine may


def test_the_progress_of_a_shard_is_of_its_own_samples(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    asked = configuration(tmp_path, evaluation={"controls": 2}, execution={"progress": "plain"})
    run = evaluate(asked, run_dir=tmp_path / "run", shard="1/3", report=False)
    mine = sum(edit.status == "ok" for edit in run.results.edits)
    assert 0 < mine < len(run.results.edits) == 9
    (last,) = [line for line in capfd.readouterr().err.splitlines() if "end:" in line]
    assert f"{mine} of {mine} edits, {mine} of {mine} scores" in last
    assert "not done" not in last


def test_what_belongs_together_is_one_shards(tmp_path: Path) -> None:
    write_benchmark(tmp_path, 60)
    read = load_configuration(configuration(tmp_path, evaluation={"controls": 2}))
    data = load_samples(read)
    experiment, categories = make_experiment(read, data), [sample.category for sample in data.samples]
    for count in (1, 3, 4):
        shards = shards_of(experiment, (2, 3), categories, count)
        assert set(shards) == set(range(1, count + 1))
        for size in (2, 3):
            batches = cut_batches(categories, size)
            assert len({*zip(batches, shards, strict=True)}) == len(set(batches)), "a batch is in two shards"
        assert (
            len({shards[n] for c in Controls().unfold(experiment) for n in (c.sample, c.other) if n is not None}) == 1
        )
        sizes = [shards.count(number) for number in range(1, count + 1)]
        assert max(sizes) - min(sizes) <= 6
    assert shards_of(experiment, (2, 3), categories, 4) == shards_of(experiment, (3, 2), categories, 4)


def test_shards_share_a_run_and_nobody_else_does(tmp_path: Path) -> None:
    run = tmp_path / "run"

    def begun(shard: Shard | None) -> RunDirectory:
        directory = RunDirectory(run)
        directory.begin(shard)
        return directory

    first, second = begun(Shard(1, 2)), begun(Shard(2, 2))
    assert {first.number, second.number} == {1, 2}
    for directory in (first, second):
        directory.append("events", {"event": "devices", "devices": []})
    with pytest.raises(RunDirectoryError, match=r"shard 2/2 of .* is already running: process"):
        begun(Shard(2, 2))
    with pytest.raises(RunDirectoryError, match="is in use by 2 shards, and --shard 1/3 is of another number"):
        begun(Shard(1, 3))
    first.end()
    assert RunDirectory(run).others_at_work
    assert RunDirectory(run).is_held()
    again = begun(Shard(1, 2))
    assert again.number == 3
    again.end()
    second.end()
    assert not RunDirectory(run).others_at_work
    assert not RunDirectory(run).is_held()
    alone = begun(None)
    assert alone.number == 4 - 1  # the third start has written nothing
    alone.end()


def test_a_run_of_one_engine_lets_no_shard_in_and_the_other_way_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edit_eval.store.run_directory.MOMENT", 0.05)
    alone = RunDirectory(tmp_path / "run")
    alone.begin()
    with pytest.raises(RunDirectoryError, match="is in use by process"):
        RunDirectory(alone.path).begin(Shard(1, 2))
    alone.end()
    shard = RunDirectory(alone.path)
    shard.begin(Shard(1, 2))
    with pytest.raises(RunDirectoryError, match="is in use by process"):
        RunDirectory(alone.path).begin()
    shard.end()


@pytest.mark.parametrize(
    ("numbers", "text"),
    [([3], "auto"), ([3, 4], "auto"), ([0, 5, 9], "auto"), ([1, 3, 7], "auto"), ([1, 3, 7], "auto/3")],
)
def test_what_looks_like_a_part_of_an_array_is_refused_in_a_new_run(
    tmp_path: Path, numbers: list[int], text: str
) -> None:
    for number in numbers:
        with pytest.raises(ConfigurationError, match=r"this array has \d tasks of .*write --shard (auto/16|I/3)"):
            read_shard(text, array(number, *numbers), tmp_path)


def test_a_part_of_an_array_is_the_right_shard_in_a_new_run_where_the_whole_is_said(tmp_path: Path) -> None:
    assert read_shard("auto/16", array(3, 3), tmp_path) == Shard(4, 16)
    assert read_shard("auto/16", array(15, 3, 7, 15), tmp_path) == Shard(16, 16)
    with pytest.raises(ConfigurationError, match="counts from 0"):
        read_shard("auto/16", array(16, 16), tmp_path)  # of 1-16
    # Arrays that are whole: of one, and those that say how many they are.
    assert [read_shard("auto", array(number, number), tmp_path) for number in (0, 1)] == [Shard(1, 1)] * 2
    assert read_shard("auto/1", array(3, 3), tmp_path) == Shard(1, 1)
    assert read_shard("auto/3", array(6, 5, 6, 7), tmp_path) == Shard(2, 3)


def test_a_task_that_never_began_is_numbered_as_those_that_did(tmp_path: Path) -> None:
    whole = range(1, 17)
    for number in (5, 9):
        directory = RunDirectory(tmp_path)
        directory.begin(read_shard("auto", array(number, *whole), tmp_path))
        directory.end()
    for text in ("auto", "auto/16"):
        assert read_shard(text, array(3, 3), tmp_path) == Shard(3, 16)
        assert read_shard(text, array(16, 16), tmp_path) == Shard(16, 16)
