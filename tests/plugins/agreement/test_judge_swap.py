"""A judge is swapped: the edits stay, only judgements are made, and how far the two judges differ is known."""

from __future__ import annotations

import io
import json
import os
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from documents import plain
from edit_eval import cli, evaluate
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.agreement.bridge import read_bridge
from edit_eval.reporting.analyses import section_of
from edit_eval.reporting.table import print_sheet
from edit_eval.run import Run
from edit_eval.store.joined import join_runs
from small_benchmark import configuration, sample_id, write_benchmark

COUNT = 30
MODELS = ("first", "second", "third", "fourth")


def asked(folder: Path, judge: str, shift: float, models: tuple[str, ...] = MODELS) -> dict[str, Any]:
    """The judge gives an edit what it is worth, `shift` more, and a little noise of its own."""
    if not (folder / "benchmark.json").exists():
        write_benchmark(folder, COUNT)
    worth, noise = random.Random(1), random.Random(judge)
    answers = {}
    for place, model in enumerate(MODELS):
        for number in range(COUNT):
            score = worth.uniform(1, 7) + 0.3 * place + shift + noise.gauss(0, 0.2)
            answers[f"{model}/{sample_id(number)}"] = f"Score: {score:.3f}"
    made = configuration(folder)
    del made["diffusion_model"], made["reward_model"]
    made["edit_models"] = {
        name: {"type": "testing", "params": {"device_ids": "cpu:1", "steps": 1, "seed": 100 * MODELS.index(name)}}
        for name in models
    }
    made["judges"] = {
        judge: {"type": "testing", "params": {"device_ids": "cpu:1", "batch_size": 8, "answers": answers}}
    }
    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("swap")


@pytest.fixture(scope="module")
def old(folder: Path) -> Run:
    """Four models, by the old judge."""
    return evaluate(asked(folder, "old", 0.0), run_dir=folder / "old", report=False)


@pytest.fixture(scope="module")
def new(folder: Path, old: Run) -> Run:
    """Three of them, by the new one, 1.5 kinder."""
    configuration = asked(folder, "new", 1.5, MODELS[:3])
    return evaluate(configuration, run_dir=folder / "new", reuse_from=[old.path], report=False)


def test_only_judgements_are_made(new: Run) -> None:
    kinds = {activity.kind for activity in new.results.telemetry.activities}
    assert "judging" in kinds
    assert "editing" not in kinds
    assert new.summary.coverage.scored == 3 * COUNT


def test_what_it_will_cost_is_said_before_it_costs(folder: Path, old: Run, capsys: pytest.CaptureFixture[str]) -> None:
    evaluate(asked(folder, "third", 0.5), run_dir=folder / "third", reuse_from=[old.path], report=False)
    said = capsys.readouterr().err
    assert f"to do: 0 edits, {4 * COUNT} judgements" in said
    assert said.index("to do: ") < said.index("scores by third")


def test_two_runs_by_two_judges_are_one(old: Run, new: Run) -> None:
    both = join_runs([old, new])
    assert both.judges == ("old", "new")
    assert both.edit_models == MODELS
    assert len(both.edits) == 4 * COUNT
    assert len(both.judgements) == 7 * COUNT
    again = join_runs([old, old])
    assert (again.judges, len(again.judgements)) == (("old",), 4 * COUNT)


def test_models_that_made_other_pictures_stay_apart(old: Run, folder: Path) -> None:
    other = asked(folder, "old", 0.0, ("first",))
    other["edit_models"]["first"]["params"]["seed"] = 7
    both = join_runs([old, evaluate(other, run_dir=folder / "reseeded", report=False)])
    assert both.edit_models == (*MODELS, "reseeded/first")
    assert both.judges == ("old",)


def test_runs_of_other_samples_are_refused(old: Run, tmp_path: Path) -> None:
    write_benchmark(tmp_path, 3, size=(30, 20))
    other = evaluate(asked(tmp_path, "old", 0.0, ("first",)), run_dir=tmp_path / "other", report=False)
    with pytest.raises(ConfigurationError, match="other: sample '00000_物理_easy' has other pictures there"):
        join_runs([old, other])


def test_agreement_says_how_far_they_differ_with_a_paired_interval(old: Run, new: Run) -> None:
    document = plain(old.analysis("agreement", others=[new]).document)
    (pair,) = document["between_judges"]["pairs"]
    apart = pair["apart"]
    assert (pair["a"], pair["b"], apart["n"], apart["images"]) == ("old", "new", 3 * COUNT, COUNT)
    assert apart["difference"] == pytest.approx(-1.5, abs=0.1)
    assert apart["ci95"][0] < -1.5 < apart["ci95"][1]
    assert apart["ci95"][1] - apart["ci95"][0] < 0.25, "paired: the edits' own spread of 1.7 is not in it"
    assert list(apart["edit_models"]) == list(MODELS[:3])


def test_a_bridge_between_two_judges_is_part_of_their_agreement(old: Run, new: Run) -> None:
    document = old.analysis("agreement", others=[new], old="old", new="new").document
    bridge = plain(document)["bridge"]
    assert [bridge[side]["judge"] for side in ("old", "new")] == ["old", "new"]
    assert list(bridge["held_out"]) == list(MODELS[:3])
    assert bridge["off_by"] < 0.2
    for language, words in (
        ("en", "From old (score) to new (score): 90 edits"),
        ("zh", "由 old (score) 到 new (score)"),
    ):
        file = io.StringIO()
        console = Console(file=file, width=80, color_system=None)
        print_sheet(section_of("agreement", document).sheet(), console, language=language)
        assert words in file.getvalue()
        assert max(map(len, file.getvalue().splitlines())) <= 80
        row = next(line for line in reversed(file.getvalue().splitlines()) if line.startswith("third"))
        assert f"{bridge['held_out']['third']['bridged']:.2f}" in row


def test_the_verbs(old: Run, new: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def ends(*arguments: object) -> int:
        monkeypatch.setattr(sys, "argv", ["edit-eval", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return int(ended.value.code or 0)

    assert ends("agreement", old.path, new.path, "--old", "old", "--new", "new", "--json") == 0
    assert json.loads(capsys.readouterr().out)["bridge"]["n"] == 3 * COUNT
    for wrong, words in (
        (("--old", "old", "--new", "new"), "--new new: no judge 'new' here; there are: old"),
        (("--old", "old", "--new", "old"), "name two judges"),
        (("--old", "old"), "give both or neither"),
    ):
        assert ends("agreement", old.path, *wrong) == 2
        assert words in capsys.readouterr().err
    assert ends("compare", old.path, new.path) == 2
    said = capsys.readouterr().err
    assert "old and new cannot be compared" in said
    assert "on the 90 edits that both have scored, old is -1." in said
    assert f"`edit-eval agreement {old.path} {new.path}` says more" in said


def test_a_bridge_is_a_file_by_which_others_tell_their_runs_as_the_old_judge_would(
    folder: Path, old: Run, new: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the fourth model it is known what the old judge says; who has the file has only the new one's scores."""

    def ends(*arguments: object) -> int:
        monkeypatch.setattr(sys, "argv", ["edit-eval", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return int(ended.value.code or 0)

    file = folder / "bridge.json"
    between = ("agreement", old.path, new.path, "--old", "old", "--new", "new", "--to")
    assert ends(*between, file) == 0
    assert ends(*between, file) == 2, "it is there"
    assert len(json.loads(file.read_text("utf-8"))["bridge"]["edits"]) == 3 * COUNT
    fourth = evaluate(asked(folder, "new", 1.5, ("fourth",)), run_dir=folder / "fourth", report=False)
    assert ends("report", fourth.path, "--as", "old", "--bridge", file, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    row = told["edit_models"]["fourth"]
    truth = old.mean("fourth", "old")
    assert (told["as"], told["by"], row["n"], row["total"]) == ("old", "new", COUNT, COUNT)
    assert row["ci95"][0] < truth < row["ci95"][1]
    assert row["before"] == pytest.approx(truth + 1.5, abs=0.15)
    assert row["value"] == pytest.approx(truth, abs=0.3)
    narrow = translated_without_models(told)
    assert row["ci95"][1] - row["ci95"][0] > narrow, "the error for a model that it has not seen is in it"
    assert ends("report", fourth.path, "--as", "old", "--bridge", file) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Translated: judged by new, told on the scale of old, which has not seen these edits" in shown
    assert "never in one table" in shown
    # The other way round, and what a bridge is not for.
    assert ends("report", old.path, "--as", "new", "--bridge", file) == 0
    for arguments, said in (
        ((fourth.path, "--as", "third", "--bridge", file), "the bridge is between old and new"),
        ((old.path, "--as", "old", "--bridge", file), "a bridge holds for one judge, asked in one way"),
        ((fourth.path, "--as", "old"), "give both or neither"),
        ((fourth.path, "--as", "old", "--bridge", folder / "benchmark.json"), "not a bridge"),
        ((fourth.path, "--as", "old", "--bridge", folder / "nowhere.json"), "No such file"),
    ):
        assert ends("report", *arguments) == 2
        assert said in capsys.readouterr().err


def test_a_bridge_of_a_stranger_is_held_to_its_scales(folder: Path) -> None:
    """One slipped point in a score of 90 would move a mean by two points of ten, and nobody would see it."""
    document = json.loads((folder / "bridge.json").read_text("utf-8"))
    whole = document["bridge"]
    assert len(read_bridge(folder / "bridge.json").edits) == len(whole["edits"])
    file = folder / "strange.json"

    def edits(value: object) -> dict[str, Any]:
        return {"edits": [*whole["edits"][:3], [*whole["edits"][3][:3], value], *whole["edits"][4:]]}

    for changed, said in (
        (edits(80.0), "`edits[3]`: 80 is outside of the scale of new"),
        (edits(1e308), "outside of the scale"),
        (edits("8"), "`bridge.edits[3][3]`"),
        (edits(True), "`bridge.edits[3][3]`"),
        ({"new": {**whole["new"], "lowest": 10.0, "highest": 0.0}}, "the scale of new is from 10.0 to 0.0"),
        ({"old": {**whole["old"], "highest": 1e308}}, "the scale of old"),
        ({"more": 1}, "more"),
        ({"edit_eval_bridge": 2}, "2"),
    ):
        file.write_text(json.dumps({**document, "bridge": {**whole, **changed}}))
        with pytest.raises(ConfigurationError, match="not a bridge") as refused:
            read_bridge(file)
        assert said in str(refused.value)
    for value, said in ((float("nan"), "not JSON"), (float("inf"), "not JSON")):
        file.write_text(json.dumps({**document, "bridge": {**whole, **edits(value)}}))
        with pytest.raises(ConfigurationError, match=said):
            read_bridge(file)
    file.unlink()
    os.mkfifo(file)
    with pytest.raises(ConfigurationError, match="not a file but a pipe"):
        read_bridge(file)


def translated_without_models(told: dict[str, Any]) -> float:
    """The width that the error of other models alone would have as a standard error, twice."""
    return 2 * float(told["off_by"])
