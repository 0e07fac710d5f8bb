"""Comparisons and agreement from whole runs with real workers: the same numbers wherever the scores lie."""

from __future__ import annotations

import io
import json
import random
import statistics
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from agreements import people_agreement
from command_lines import Command
from documents import plain as as_written
from edit_eval import compare, evaluate
from edit_eval.errors import ConfigurationError, RunDirectoryError
from edit_eval.reporting import analyses
from edit_eval.reporting.comparison import gate_lines, print_comparison
from edit_eval.run import Run
from edit_eval.statistics.comparison import Comparison
from edit_eval.statistics.people import read_people_file
from edit_eval.statistics.votes import Vote
from edit_eval.store.comparable import compare_runs
from edit_eval.store.journal import Damage
from edit_eval.store.votes import Votes
from small_benchmark import sample_id, write_benchmark

DOCUMENTATION = Path(__file__).parents[1] / "docs" / "trust.md"

COUNT = 72
MODELS = {"50_steps": 0.0, "15_steps": -0.9, "distilled": -0.1}
"""How much better or worse than the first; what is left is chance."""


def truth() -> dict[tuple[str, int], float]:
    """What each model's edit of each sample is worth: what the picture, the instruction and the model bring."""
    chance = random.Random(11)
    pictures = [chance.gauss(6.4, 1.0) for _ in range(COUNT // 3)]
    worth = {}
    for number in range(COUNT):
        shared = pictures[number // 3] + chance.gauss(0, 0.8)
        for model, better in MODELS.items():
            worth[model, number] = min(10.0, max(0.0, shared + better + chance.gauss(0, 0.9)))
    return worth


def write_pairs(folder: Path) -> Path:
    """A benchmark with three instructions for each picture, one of each category."""
    path = write_benchmark(folder, COUNT)
    items = json.loads(path.read_text("utf-8"))
    for number, item in enumerate(items):
        item["src_img_b64"] = items[number - number % 3]["src_img_b64"]
    path.write_text(json.dumps(items, ensure_ascii=False), "utf-8")
    return path


def judge(noise: float, shift: float = 0.0, seed: int = 0) -> dict[str, Any]:
    chance = random.Random(seed)
    answers = {
        f"{model}/{sample_id(number)}": f"The light changes, its colour only in part.\nScore: {worth:.1f}"
        for (model, number), worth in (
            (key, min(10.0, max(0.0, value + shift + chance.gauss(0, noise)))) for key, value in truth().items()
        )
    }
    answers[f"15_steps/{sample_id(7)}"] = "I would say 6, perhaps 7."
    return {"type": "testing", "params": {"device_ids": "cpu:1", "batch_size": 8, "answers": answers}}


def settings(folder: Path, models: tuple[str, ...] = tuple(MODELS), **more: Any) -> dict[str, Any]:
    if not (folder / "benchmark.json").exists():
        write_pairs(folder)
    steps = {"50_steps": 3, "15_steps": 1, "distilled": 2}
    return {
        "benchmark": {
            "data_path": str(folder / "benchmark.json"),
            "cache_dir": str(folder / "cache"),
            **more.pop("benchmark", {}),
        },
        "edit_models": {
            model: {"type": "testing", "params": {"device_ids": "cpu:1", "steps": steps[model]}} for model in models
        },
        "judges": more.pop("judges", {"judge": judge(0.4)}),
        "evaluation": {"answer": "reason_then_score", **more.pop("evaluation", {})},
        "execution": {"pilot": False},
        **more,
    }


def run(folder: Path, name: str, *models: str, reuse: tuple[Path, ...] = (), **more: Any) -> Run:
    return evaluate(
        settings(folder, models or tuple(MODELS), **more), run_dir=folder / name, report=False, reuse_from=reuse
    )


def compared(*runs: Run, detect: float | None = None) -> Comparison:
    return compare_runs(runs, detect=detect)


def shown(comparison: Comparison) -> str:
    file = io.StringIO()
    print_comparison(comparison, Console(file=file, width=80, color_system=None), full=True)
    return "".join(f"{line.rstrip()}\n" for line in file.getvalue().splitlines())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("comparison")


@pytest.fixture(scope="module")
def whole(folder: Path) -> Run:
    """Three models in one run."""
    return run(folder, "night")


@pytest.fixture(scope="module")
def apart(folder: Path, whole: Run) -> tuple[Run, Run]:
    """Two of them, each in a run of its own; both folders have the same name."""
    return (
        run(folder, "a/night", "50_steps", reuse=(whole.path,)),
        run(folder, "b/night", "15_steps", reuse=(whole.path,)),
    )


@pytest.fixture(scope="module")
def judged_by_three(folder: Path, whole: Run) -> Run:
    """Two of the models by three judges, one of which has judged them already, each asked twice."""
    judges = {"strict": judge(0.6, -1.5, 1), "judge": judge(0.4), "kind": judge(0.8, 1.0, 2)}
    twice = {"repeats": 2}
    return run(folder, "three", "50_steps", "15_steps", judges=judges, evaluation=twice, reuse=(whole.path,))


# -- models within a run, runs beside each other --


def test_models_within_a_run(whole: Run) -> None:
    comparison = compared(whole)
    assert [column.name for column in comparison.columns] == list(MODELS)
    assert [column.differs for column in comparison.columns] == [(), ("steps: 1, not 3",), ("steps: 2, not 3",)]
    scores = {(judgement.edit_model, judgement.sample_id): judgement.score for judgement in whole.results.judgements}
    for pair in comparison.pairs:
        both = [(scores[pair.a, sample.id], scores[pair.b, sample.id]) for sample in whole.results.samples]
        differences = [a - b for a, b in both if a is not None and b is not None]
        assert pair.n == len(differences) == (71 if "15_steps" in (pair.a, pair.b) else 72)
        assert pair.clusters == 24
        assert pair.difference == pytest.approx(statistics.fmean(differences))
        assert (pair.wins, pair.losses) == (sum(d > 0 for d in differences), sum(d < 0 for d in differences))
    first, second, third = comparison.pairs
    assert (first.better, second.better, third.better) == ("50_steps", None, "distilled")
    assert [column.rank for column in comparison.columns] == [1, 3, 1]
    assert [(candidate.name, candidate.passed) for candidate in comparison.gate.candidates] == [
        ("15_steps", False),
        ("distilled", True),
    ]
    assert first.largest[0].words_a == "The light changes, its colour only in part."


def test_two_runs_of_one_name_give_the_same_numbers_as_one_run(whole: Run, apart: tuple[Run, Run]) -> None:
    (pair,) = compared(*apart).pairs
    assert (pair.a, pair.b) == ("a/night", "b/night")
    within = compared(whole).pairs[0]
    for name in (
        "n",
        "total",
        "clusters",
        "difference",
        "ci95",
        "p",
        "wins",
        "ties",
        "losses",
        "worst_case_difference",
    ):
        assert getattr(pair, name) == getattr(within, name), name
    assert pair.p_adjusted == pair.p
    assert (pair.detectable or 0) < (within.detectable or 0), "one test instead of three"


def test_another_picture_under_the_same_id_is_refused(apart: tuple[Run, Run], tmp_path: Path) -> None:
    write_benchmark(tmp_path, COUNT)  # each sample with a picture of its own
    other = run(tmp_path, "other", "distilled", benchmark={"limit": 1})
    with pytest.raises(ConfigurationError, match="sample '00001_环境_easy' has another source image"):
        compared(apart[0], other)


def test_a_model_without_edits_does_not_pass_for_one_that_is_no_worse(apart: tuple[Run, Run], folder: Path) -> None:
    broken = settings(folder, ("distilled",), benchmark={"limit": 1})
    broken["edit_models"]["distilled"]["params"]["fail"] = [sample_id(n) for n in range(COUNT)]
    made = evaluate(broken, run_dir=folder / "broken", report=False)
    comparison = compared(apart[0], made)
    assert not comparison.gate.passed
    assert gate_lines(comparison.gate) == [
        "broken cannot be compared with night by judge judge: no sample is scored in both"
    ]


# -- judges and people --


def test_of_several_judges_those_that_all_runs_have_are_compared(judged_by_three: Run, whole: Run) -> None:
    comparison = compared(whole, judged_by_three)
    assert comparison.judges == ("judge",)
    names = [column.name for column in comparison.columns]
    assert len(names) == 3, "a column that both runs have is one rival"
    assert [name for name in names if name.endswith("50_steps")] == ["night/50_steps"]
    assert comparison.correction.tests == 3
    assert "three: judge strict is left out" in comparison.notes[0]
    assert any("it counts once: night/50_steps, " in note for note in comparison.notes)


def write_people(path: Path) -> Path:
    chance = random.Random(3)
    lines = ["sample_id,edit_model,rater,score"]
    for (model, number), worth in truth().items():
        lines += [f"{sample_id(number)},{model},{rater},{worth + chance.gauss(0, 1.2):.0f}" for rater in ("ann", "bo")]
    path.write_text("\n".join(lines), "utf-8")
    return path


def test_agreement_with_people(whole: Run, tmp_path: Path) -> None:
    agreement = people_agreement(whole.results, read_people_file(write_people(tmp_path / "people.csv")), resamples=200)
    judge = agreement["judges"]["judge"]
    assert {name: model["n"] for name, model in judge["edit_models"].items()} == {
        "50_steps": 72,
        "15_steps": 71,
        "distilled": 72,
    }
    assert 0.5 < judge["ci95"][0] < judge["spearman"] < judge["ci95"][1] < 1.0
    assert agreement["raters"]["spearman"] < judge["spearman"]


# -- the verbs --


def test_what_people_would_say_of_a_run(
    whole: Run, folder: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Votes of two people on 16 of 24 pictures, as a file and as the run's own."""
    lines = ["sample_id,left,right,choice,rater"]
    for picture in (picture for picture in range(COUNT // 3) if picture % 3):
        choice = "tie" if picture % 5 < 2 else "right"
        lines += [f"{sample_id(3 * picture)},15_steps,50_steps,{choice},{rater}" for rater in ("Ann", "Bo")]
    votes = folder / "votes.csv"
    votes.write_text("\n".join(lines) + "\n", "utf-8")
    ended = command("people", whole.path, "--people", votes, "--json")
    assert ended.code == 0, ended.err
    people = json.loads(ended.out)
    (pair,) = people["pairs"]
    assert (people["kind"], people["raters"], people["unmatched"]) == ("votes", 2, 0)
    assert (pair["a"], pair["b"], pair["answers"]) == ("50_steps", "15_steps", 32)
    assert (pair["images"], pair["total_images"]) == (16, 24)
    assert 0 < pair["people_alone"]["difference"] < 1
    assert pair["corrected"]["ci95"][0] < pair["corrected"]["difference"] <= pair["corrected"]["ci95"][1] <= 1
    assert "People would prefer 50_steps to 15_steps" in command("people", whole.path, "--people", votes).out
    of_run = [Vote(line.split(",")[0], *line.split(",")[1:]) for line in lines[1:]]
    again = Run(whole.path)
    monkeypatch.setattr(Votes, "to_votes", lambda *_: of_run)
    monkeypatch.setattr(analyses, "read_votes", lambda *_: Votes(tuple(of_run), 0, Damage()))
    assert as_written(again.summary.analyses["people"]) == [people]
    monkeypatch.undo()
    votes.write_text("sample_id,edit_model,score\nnowhere,50_steps,1\n")
    refused = command("people", whole.path, "--people", votes)
    assert refused.code == 2
    assert "none of the 1 answers by people is about two edits" in refused.err


def test_compare_in_python(apart: tuple[Run, Run]) -> None:
    comparison = compare([apart[0], str(apart[1].path)], detect=0.3)
    for alone in (apart[0], apart[0].path, str(apart[0].path)):  # a path is a run, not letters
        with pytest.raises(ConfigurationError, match="two runs or more, or one run with several edit models"):
            compare(alone)
    assert vars(comparison) == vars(compared(*apart, detect=0.3))
    with pytest.raises(RunDirectoryError, match="nowhere does not exist"):
        compare([apart[0].path, "nowhere"])


def test_the_verb_compare(apart: tuple[Run, Run], command: Command) -> None:
    a, b = (made.path for made in apart)
    plain = command("compare", a, b, "--detect", "0.3", "--full")
    assert (plain.code, plain.err) == (0, "")
    assert [line.rstrip() for line in plain.out.splitlines()] == shown(compared(*apart, detect=0.3)).splitlines()
    document = json.loads(command("compare", a, b, "--json").out)
    assert document["pairs"][0]["difference"] == compared(*apart).pairs[0].difference
    (candidate,) = document["gate"]["candidates"]
    assert (document["gate"]["passed"], candidate["name"], candidate["passed"]) == (False, "b/night", False)
    assert [reason["kind"] for reason in candidate["reasons"]] == ["worse"]
    worse = command("compare", a, b, "--fail-if-worse", "--json")
    assert worse.code == 3
    assert worse.err.startswith("b/night scores worse than a/night by judge judge: -")
    assert json.loads(worse.out) == document
    assert command("compare", b, a, "--fail-if-worse").code == 0
    margins = ((a, b, "--margin", "0.5"), (a, b, "--fail-if-worse", "--margin", "nan"))
    for wrong in ((a,), (a, a.parent), (a, b, "--detect", "0"), *margins):
        refused = command("compare", *wrong)
        assert (refused.code, refused.out) == (2, "")
        assert refused.err.count("\n") == 1


def test_the_verb_agreement(whole: Run, tmp_path: Path, command: Command) -> None:
    people = write_people(tmp_path / "people.csv")
    plain = command("agreement", whole.path, "--people", people)
    assert plain.code == 0, plain.err
    assert "Against people: 432 scores by 2 people" in plain.out
    document = json.loads(command("agreement", whole.path, "--people", people, "--json").out)
    assert document["people"]["judges"]["judge"]["edit_models"]["15_steps"]["n"] == 71
    assert json.loads(command("agreement", whole.path, "--json").out)["people"] is None
    refused = command("agreement", whole.path, "--people", tmp_path / "nowhere.csv")
    assert refused.code == 2
    assert "nowhere.csv: cannot be read" in refused.err


# -- the documentation --


def test_the_documentation_reads_the_example_rightly(whole: Run) -> None:
    """Each phrase of the paper's sentences, with the numbers as they come out."""
    comparison = compared(whole, detect=0.2)
    ab, ac, _ = comparison.pairs
    phrases = [
        f"50_steps scores higher than 15_steps by {ab.difference:.2f} points (95 % CI {plain(ab.ci95)}; {ab.n} edits "
        f"of {ab.clusters} source images; p {paper(ab.p_adjusted)}, Holm-corrected over {len(comparison.pairs)} "
        f"comparisons), whatever the {ab.total - ab.n} missing score would have been.",
        f"no difference ({ac.difference:.2f}, 95 % CI {plain(ac.ci95)}, corrected p {paper(ac.p_adjusted)}); one of "
        f"{ac.detectable:.2f} would have been found",
        *(
            f"| {row.name} | {row.scored}/{row.total} | {row.mean:.2f} {plain(row.ci95)} | {row.rank} |"
            for row in comparison.columns
        ),
    ]
    text = " ".join(DOCUMENTATION.read_text("utf-8").replace("\n> ", " ").split())
    assert [phrase for phrase in phrases if phrase not in text] == []
    assert [column.rank for column in comparison.columns] == [1, 3, 1]
    assert ab.outcome.holds


def plain(ends: list[float] | None) -> str:
    assert ends is not None
    return f"[{ends[0]:.2f}, {ends[1]:.2f}]"


def paper(p: float | None) -> str:
    """As papers write it: `= .004`, `< .001`."""
    return "< .001" if p is not None and p < 0.001 else f"= {p:.3f}".replace("0.", ".")
