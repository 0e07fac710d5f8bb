"""What makes runs comparable, and under which names they are compared."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from edit_eval.config.identity import Identity
from edit_eval.config.recorded import ProtocolSection
from edit_eval.errors import ConfigurationError
from edit_eval.experiment import Experiment
from edit_eval.plugins.audit.examiner import Examined
from edit_eval.protocols.asked import AskedJudge, make_protocol
from edit_eval.protocols.contract import Protocol
from edit_eval.records import Judgement, Picture, Results, Sample, Status
from edit_eval.store.comparable import comparable_columns, compare_runs, run_names
from small_matrix import Asking, ask, asked_judge

QWEN = Identity("judge", "qwen3_vl", "rev1", {"model_name": "30B", "dtype": "bfloat16"})


def sample(index: int, category: str = "physical", **changed: Any) -> Sample:
    made: dict[str, Any] = {
        "id": f"s{index}",
        "index": index,
        "category": category,
        "pictures": {"source": Picture(path=f"{index}.png", digest=f"digest-{index}")},
        "instruction": f"do {index}",
        "description": f"shows {index}",
    }
    return Sample(**made | changed)


TWELVE = tuple(sample(n, ("physical", "social")[n % 2]) for n in range(12))


@dataclass(frozen=True)
class Made:
    """A run: what was asked, and what came of it."""

    experiment: Experiment
    results: Results
    judge_examinations: Mapping[str, Examined] = field(default_factory=dict)


def rubric(language: str, answer: str, prompts: Mapping[str, Mapping[str, str]] | None) -> Mapping[str, Any]:
    parameters = {"language": language, "answer": answer, "prompts": dict(prompts or {})}
    section = ProtocolSection(type="rubric", class_path="edit_eval.protocols.rubric:Rubric", parameters=parameters)
    protocol, texts = make_protocol(section, Path())
    return {"section": section, "texts": texts, "protocol": protocol}


def made_run(
    directory: str = "runs/first",
    *,
    models: Mapping[str, Mapping[str, Any]] | None = None,
    judges: Sequence[Identity] = (QWEN,),
    samples: Sequence[Sample] = TWELVE,
    prompts: Mapping[str, Mapping[str, str]] | None = None,
    answer: str = "score",
    language: str = "en",
    protocol: Protocol | None = None,
    scores: Mapping[str, float] | None = None,
    status: Status = Status.OK,
    **evaluation: int,
) -> Made:
    """A finished run; `scores` adds something to each edit model's scores."""
    models = models or {"qwen": {"steps": 50}}
    asked = asked_judge("", protocol) if protocol else AskedJudge(QWEN, **rubric(language, answer, prompts))
    experiment = Experiment(
        samples=tuple(samples),
        edit_models=tuple(Identity(name, "edits", "", dict(given)) for name, given in models.items()),
        judges=tuple(replace(asked, model=judge) for judge in judges),
        language=language,
        **evaluation,
    )
    judgements = tuple(
        judged(of, model, judge.name, experiment.judges[0].protocol.headline, status, (scores or {}).get(model, 0.0))
        for model in models
        for judge in judges
        for of in samples
    )
    results = Results(
        name=Path(directory).name,
        directory=directory,
        samples=tuple(samples),
        edits=(),
        judgements=judgements,
        edit_models=tuple(models),
        judges=tuple(judge.name for judge in judges),
        scoring={judge.name: judge.scoring for judge in experiment.judges},
    )
    return Made(experiment, results)


def judged(of: Sample, model: str, judge: str, headline: str, status: Status, more: float) -> Judgement:
    score = min(10.0, of.index % 7 + 0.1 * of.index * more)
    return Judgement(
        sample_id=of.id,
        category=of.category,
        edit_model=model,
        judge=judge,
        edit_seed=0,
        repeat=0,
        headline=headline,
        status=status,
        scores={headline: score} if status is Status.OK else {},
    )


# -- names --


@pytest.mark.parametrize(
    ("directories", "names"),
    [
        (["/x/a", "/x/b"], ["a", "b"]),
        (["/x/a/run", "/x/b/run", "/x/c"], ["a/run", "b/run", "c"]),
        (["/x/1/a/run", "/x/2/a/run", "/x/1/b/run"], ["1/a/run", "2/a/run", "b/run"]),
        (["/x/run", "/x/run", "/x/run/"], ["run", "run (2)", "run (3)"]),
        (["/run", "/a/run"], ["run", "a/run"]),
        (["/a/run", "/b/run", "/a/run"], ["a/run", "b/run", "a/run (2)"]),
    ],
)
def test_names_are_the_shortest_that_tell_runs_apart(directories: list[str], names: list[str]) -> None:
    short = run_names(directories)
    assert [name.lstrip("/") for name in short] == names
    assert len(set(short)) == len(short)


def test_a_relative_folder_has_the_name_of_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "night").mkdir()
    monkeypatch.chdir(tmp_path / "night")
    assert run_names([".", os.pardir + "/night"]) == ["night", "night (2)"]


def test_columns_are_named_after_the_run_the_model_or_both() -> None:
    two = {"a": {"steps": 4}, "b": {"steps": 8}}
    alone, _ = comparable_columns([made_run(models=two)])
    assert [column.name for column in alone] == ["a", "b"]
    runs, _ = comparable_columns([made_run("x/run"), made_run("y/run", models=two)])
    assert [column.name for column in runs] == ["x/run/qwen", "y/run/a", "y/run/b"]
    assert [column.edit_model for column in runs] == ["qwen", "a", "b"]
    single, _ = comparable_columns([made_run("x/run"), made_run("y/run")])
    assert [column.name for column in single] == ["x/run", "y/run"]


def test_a_column_says_how_its_edit_model_differs_from_the_first() -> None:
    models = {"a": {"steps": 50, "api_key": "sk-1"}, "b": {"steps": 15, "api_key": "sk-2", "fast": True}}
    columns, _ = comparable_columns([made_run(models=models)])
    assert [column.differs for column in columns] == [(), ("steps: 15, not 50", "fast: True, not set there")]


def test_of_an_edit_model_of_another_type_the_type_is_enough() -> None:
    run = made_run(models={"a": {"steps": 50, "type": "fast"}, "b": {"guidance": 3.0, "type": "slow"}})
    a, b = run.experiment.edit_models
    other = replace(run.experiment, edit_models=(a, replace(b, type="flux", seed=7)))
    columns, _ = comparable_columns([replace(run, experiment=other)])
    assert columns[1].differs == ("type: 'flux', not 'edits'", "seed: 7, not 0")
    columns, _ = comparable_columns([run])
    assert columns[1].differs == (
        "steps: not set, 50 there",
        "type: 'slow', not 'fast'",
        "guidance: 3.0, not set there",
    )


# -- what can be compared --


def test_a_run_against_itself_is_a_tie() -> None:
    comparison = compare_runs([made_run("x/run"), made_run("y/run")])
    (pair,) = comparison.pairs
    assert (pair.p, pair.p_adjusted, pair.better, pair.identical) == (None, None, None, True)
    assert [column.rank for column in comparison.columns] == [1, 1]
    assert comparison.notes == ()


def test_the_edit_model_may_be_any_other() -> None:
    comparison = compare_runs([made_run("x"), made_run("y", models={"flux": {"guidance": 3}}, scores={"flux": 1.0})])
    assert [column.edit_model for column in comparison.columns] == ["qwen", "flux"]
    assert comparison.pairs[0].losses == 11


def one(name: str, **more: Any) -> Asking:
    return Asking(
        [ask("first"), ask("second", **{"user": "After {first}.", "after": ("first",)} | more)], headline=name
    )


REFUSED = [
    (
        {"judges": [Identity("judge", "openai", "", {"url": "u"})], "answer": "reason_then_score"},
        r"differ in judge\.type: 'qwen3_vl' and 'openai' \(and 1 more\)\n"
        r"protocol\.answer: 'score' and 'reason_then_score'$",
    ),
    ({"judges": [replace(QWEN, revision="rev2")]}, r"differ in judge\.revision: 'rev1' and 'rev2'$"),
    (
        {"judges": [replace(QWEN, parameters={"model_name": "8B", "dtype": "bfloat16"})]},
        r"differ in judge\.parameters\.model_name: '30B' and '8B'$",
    ),
    ({"answer": "reason_then_score"}, r"differ in protocol\.answer: 'score' and 'reason_then_score'$"),
    ({"language": "zh"}, r"language: 'en' and 'zh'"),
    ({"protocol": one("mean")}, r"differ in protocol\.type: 'rubric' and 'small"),
    (
        {"prompts": {"social": {"system_prompt": "Rate it."}}},
        r"the question `score` of 6 of 12 common samples \(the first, 's1': '\w{12}' and '\w{12}'\)$",
    ),
    (
        {"samples": [sample(n, ("physical", "social")[n % 2], instruction="do it now") for n in range(4)]},
        r"the instruction of 4 of 4 common samples \(the first, 's0': 'do 0' and 'do it now'\)",
    ),
    (
        {"samples": [sample(0), sample(1, "social", description="a cat")]},
        r"the question `score` of 1 of 2 common samples \(the first, 's1': ",
    ),
    (
        {"samples": [sample(0), sample(1, "physical")]},
        r"the category of 1 of 2 .* \(and 1 more\)\nthe question `score` of 1 of 2 ",
    ),
    ({"samples": [sample(0, pictures={"source": Picture(path="0.png", digest="other")})]}, r"'s0'"),
    ({"samples": [sample(99)]}, r"no sample has the same id in both"),
]


@pytest.mark.parametrize(("changed", "message"), REFUSED, ids=[" ".join(changed) for changed, _ in REFUSED])
def test_what_cannot_be_compared_is_refused_with_what_differs(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        compare_runs([made_run("x"), made_run("y", **changed)])
    assert re.search(message, "\n".join([str(refused.value), *getattr(refused.value, "__notes__", ())]))
    assert str(refused.value).startswith("x and y cannot be compared")
    assert "\n" not in str(refused.value)


def test_the_line_for_asking_again_and_a_score_s_formula_may_differ() -> None:
    """They are in no key either: both runs have asked the same questions."""
    asked = [one("mean"), one("first", again="A number.")]
    runs = [made_run(name, protocol=protocol) for name, protocol in zip("xy", asked, strict=True)]
    section = runs[0].experiment.judges[0].section
    same = [replace(judge, section=section) for judge in runs[1].experiment.judges]
    other = replace(runs[1], experiment=replace(runs[1].experiment, judges=tuple(same)))
    told = [columns[0].asked["s0"] for columns in (comparable_columns([run])[0] for run in (runs[0], other))]
    assert told[0] == told[1]


@pytest.mark.parametrize("change", [{"user": "Other words after {first}."}, {"system": "Be strict."}])
def test_the_wording_of_a_question_that_comes_after_another_must_be_equal(change: dict[str, str]) -> None:
    asked = [one("mean"), one("mean", **change)]
    runs = [made_run(name, protocol=protocol) for name, protocol in zip("xy", asked, strict=True)]
    section = runs[0].experiment.judges[0].section
    same = tuple(replace(judge, section=section) for judge in runs[1].experiment.judges)
    other = replace(runs[1], experiment=replace(runs[1].experiment, judges=same))
    with pytest.raises(ConfigurationError, match="the question `second` of 12 of 12 common samples"):
        compare_runs([runs[0], other])


def test_a_rubric_that_no_common_sample_needs_may_differ() -> None:
    physical = [sample(n) for n in range(0, 12, 2)]
    reworded = made_run("x", prompts={"social": {"system_prompt": "Rate it."}})
    comparison = compare_runs([reworded, made_run("y", samples=physical)])
    assert comparison.pairs[0].n == 6


def test_a_description_that_no_prompt_shows_may_differ() -> None:
    prompts = {"physical": {"user_prompt_template": "{edit_instruction}"}}
    others = [sample(n, description="mended") for n in range(0, 12, 2)]
    comparison = compare_runs([made_run("x", prompts=prompts), made_run("y", prompts=prompts, samples=others)])
    assert comparison.pairs[0].n == 6


def test_a_judge_is_known_by_what_it_is_and_not_by_its_name() -> None:
    renamed = replace(QWEN, name="thirty_billion")
    comparison = compare_runs([made_run("x"), made_run("y", judges=[renamed])])
    assert comparison.judges == ("judge",)
    # Of equal judges the one with the same name, and each only once.
    twins = [replace(QWEN, name="b"), replace(QWEN, name="a")]
    columns, notes = comparable_columns([made_run("x", judges=twins[::-1]), made_run("y", judges=twins)])
    assert [(column.name, column.judge) for column in columns] == [("x", "a"), ("y", "a"), ("x", "b"), ("y", "b")]
    assert notes == []


def test_a_judge_that_not_all_runs_have_is_left_out_and_said_so() -> None:
    other = replace(QWEN, name="other", revision="rev2")
    comparison = compare_runs([made_run("x", judges=[QWEN, other]), made_run("y")])
    assert comparison.judges == ("judge",)
    assert comparison.notes == ("x: judge other is left out: not every run has it with the same parameters",)
    third = replace(QWEN, name="third", revision="rev3")
    with pytest.raises(ConfigurationError, match="no judge in common: x has judge, other; y has judge, third; z has"):
        compare_runs(
            [made_run("x", judges=[QWEN, other]), made_run("y", judges=[QWEN, third]), made_run("z", judges=[other])]
        )


def test_of_several_judges_the_two_that_are_most_alike_say_what_differs() -> None:
    far = Identity("far", "openai", "", {"url": "u"})
    near = replace(QWEN, name="near", parameters={**QWEN.parameters, "dtype": "float16"})
    with pytest.raises(ConfigurationError, match=r"differ in judge\.parameters\.dtype: 'bfloat16' and 'float16'$"):
        compare_runs([made_run("x"), made_run("y", judges=[far, near])])


def test_a_secret_of_a_judge_is_neither_compared_nor_shown() -> None:
    keyed = [replace(QWEN, parameters={**QWEN.parameters, "api_key": key}) for key in ("sk-one", "sk-two")]
    assert compare_runs([made_run("x", judges=keyed[:1]), made_run("y", judges=keyed[1:])]).pairs[0].identical
    other = replace(keyed[1], parameters={**keyed[1].parameters, "dtype": "float16"})
    with pytest.raises(ConfigurationError) as refused:
        compare_runs([made_run("x", judges=keyed[:1]), made_run("y", judges=[other])])
    assert "sk-" not in str(refused.value)


def test_too_little_to_compare() -> None:
    for runs in ([], [made_run()]):
        with pytest.raises(ConfigurationError, match="two runs or more, or one run with several edit models"):
            compare_runs(runs)


# -- what a reader must know --


def test_a_run_with_a_limit_is_compared_on_the_common_samples() -> None:
    comparison = compare_runs([made_run("x"), made_run("y", samples=made_run().experiment.samples[:8])])
    assert (comparison.pairs[0].total, comparison.pairs[0].n) == (8, 8)
    assert comparison.notes == (
        "not the same samples (x 12, y 8): each pair is compared on the samples that both have",
    )


def test_what_is_unfinished_damaged_or_asked_another_number_of_times_is_said() -> None:
    open_, noted = made_run("y", status=Status.PENDING, repeats=3), made_run("x")
    noted = replace(
        noted, results=replace(noted.results, provenance=replace(noted.results.provenance, notes=("3 damaged lines",)))
    )
    comparison = compare_runs([noted, open_])
    assert comparison.notes == (
        "x: 3 damaged lines",
        "y is not finished: 12 of 12 judgements are still to come",
        "not the same numbers of edit seeds and repeats (x 1/1, y 1/3): a sample's score is the mean over them",
    )
    assert [reason.kind for reason in comparison.gate.candidates[0].reasons] == ["not_held"]
    assert asdict(comparison)["notes"] == comparison.notes, "they can be copied, as all plain data"


def test_one_judgement_that_is_to_come_is_one() -> None:
    open_ = made_run("y")
    last = replace(open_.results.judgements[-1], status=Status.PENDING, scores={})
    results = replace(open_.results, judgements=(*open_.results.judgements[:-1], last))
    comparison = compare_runs([made_run("x"), replace(open_, results=results)])
    assert comparison.notes == ("y is not finished: 1 of 12 judgements are still to come",)
