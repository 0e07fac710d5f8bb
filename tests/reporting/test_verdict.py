"""Who wins, in a sentence that can be quoted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from edit_eval.records import Results, Scale, Scoring, Status
from edit_eval.reporting import language as spoken
from edit_eval.reporting.verdict import verdict_lines, verdicts
from edit_eval.statistics.summary import summarise
from reporting.reported_runs import build_run, rescored, unscored

MODELS = ("a", "b", "c")


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """30 samples, three edit models, one judge."""
    return build_run(tmp_path_factory.mktemp("drawn"), samples=30, edit_models=MODELS, judges=("j",), size=(16, 12))


def scored(results: Results, gains: dict[str, float], *, lower: bool = False) -> Results:
    """`a` scores 5 on average; the others that much more, give or take 0.2."""
    place = {sample.id: sample.index for sample in results.samples}
    sign = -1 if lower else 1

    def value(model: str, sample: str) -> float:
        wave = {"a": 0.0, "b": 0.2, "c": -0.2}[model] * (place[sample] % 5 - 2)
        return 5 + sign * (gains[model] + wave) + 0.1 * (place[sample] % 3)

    judgements = tuple(rescored(one, value(one.edit_model, one.sample_id)) for one in results.judgements)
    scale = Scale(lowest=0.0, highest=10.0, higher_is_better=not lower)
    scoring = {name: Scoring(protocol="p", headline="score", scales={"score": scale}) for name in results.scoring}
    return replace(results, judgements=judgements, scoring=scoring)


def said(results: Results, language: str = "en") -> str:
    [line] = verdict_lines(summarise(results))
    return spoken.said(line, language)


@pytest.mark.parametrize("lower", [False, True])
def test_the_best_is_held_against_all_others(drawn: Results, lower: bool) -> None:
    results = scored(drawn, {"a": 0.0, "b": 0.05, "c": 1.0}, lower=lower)
    found = summarise(results)
    of_b = next(pair for pair in found["comparison"]["pairs"] if (pair["a"], pair["b"]) == ("b", "c"))
    low, high = sorted(abs(end) for end in of_b["ci95"])
    by = f"{abs(of_b['difference']):.2f} [{low:.2f}, {high:.2f}]"
    scale = "from 0 to 10, lower is better" if lower else "out of 10"
    assert said(results).startswith(f"c is better than both others; b comes next, {by} behind ({scale}). ")
    assert f"c 优于其余两个模型；其次是 b，落后 {by} 分" in said(results, "zh")
    two = replace(results, edit_models=("a", "c"))
    two = replace(
        two,
        **{name: tuple(one for one in getattr(two, name) if one.edit_model != "b") for name in ("edits", "judgements")},
    )
    assert said(two).startswith("c is better than a by 1.00 [")
    [verdict] = verdicts(found)
    assert [column.name for column in verdict.columns] == ["c", "b", "a"]


def test_what_no_test_separates_is_said_to_be_so(drawn: Results) -> None:
    results = scored(drawn, {"a": 0.0, "b": 0.05, "c": -0.8})
    assert said(results).startswith("b leads: it is better than c, and cannot be told from a. ")
    same = scored(drawn, dict.fromkeys(MODELS, 0.0))
    same = replace(same, judgements=tuple(rescored(one, 4.0) for one in same.judgements))
    assert said(same) == "a, b and c have the same scores."


def test_few_images_and_missing_scores_are_named(drawn: Results) -> None:
    few = [sample.id for sample in drawn.samples[:5]]
    small = replace(
        drawn,
        samples=drawn.samples[:5],
        edits=tuple(one for one in drawn.edits if one.sample_id in few),
        judgements=tuple(one for one in drawn.judgements if one.sample_id in few),
    )
    assert said(scored(small, {"a": 0.0, "b": 0.3, "c": 0.0})).startswith(
        "No winner yet: b leads, but 5 pictures are too few to tell. "
    )
    results = scored(drawn, {"a": 0.0, "b": 0.0, "c": 0.4})
    gone = [sample.id for sample in drawn.samples[:3]]
    holes = tuple(
        unscored(one, Status.UNPARSEABLE) if one.sample_id in gone and one.edit_model == "c" else one
        for one in results.judgements
    )
    assert said(replace(results, judgements=holes)).count("(missing scores could reverse this)") == 1


def test_the_next_best_is_named_with_what_the_pictures_say(drawn: Results) -> None:
    """Wins by picture, what unseen pictures would undo, and how many would settle it; it changes no outcome."""
    ahead = scored(drawn, {"a": -0.05, "b": 0.0, "c": 0.95})
    pair = next(one for one in verdicts(summarise(ahead))[0].pairs if {one.a, one.b} == {"b", "c"})
    lead, wins = abs(pair.difference or 0.0), pair.by_image
    assert sorted([wins.wins, wins.losses]) == [0, 30]
    assert wins.p_adjusted == pytest.approx(2 * 3 * 0.5**30, rel=1), "by Holm over three pairs"
    assert pair.tipping_share == pytest.approx(lead / (10 + lead))
    assert pair.ruled_out_share == pytest.approx(1 - 0.05 ** (1 / 30))
    for words in (
        "c does better than b on 30 of 30 pictures, worse on 0",
        "if 9% of all pictures were of a kind not among these",
        "more than 10%",
    ):
        assert words in said(ahead)
    assert "p = 1" not in said(ahead)
    close = scored(drawn, {"a": 0.0, "b": 0.05, "c": -0.8})
    pair = next(one for one in verdicts(summarise(close))[0].pairs if {one.a, one.b} == {"a", "b"})
    assert pair.better is None
    assert f"b leads a by 0.05; it does better on {max(pair.by_image.wins, pair.by_image.losses)} of 30" in said(close)
    assert f"about {round((pair.settled_by or 0) - 30, -1)} more pictures like these would show it" in said(close)
    alike = replace(
        drawn, judgements=tuple(rescored(one, 5.0 if one.edit_model == "b" else 4.0) for one in drawn.judgements)
    )
    assert "b leads a by 1.00 on every picture, so there is no spread" in said(alike)


def test_who_leads_by_a_few_pictures_is_said_to_be_worse_on_the_others(drawn: Results) -> None:
    """Or a test that speaks against the leader would be read as one for it."""
    few = {sample.id for sample in drawn.samples[:5]}

    def score(model: str, sample: str) -> float:
        return {"a": 0.0, "b": 5.0, "c": 9.0 if sample in few else 4.5}[model]

    judgements = tuple(rescored(one, score(one.edit_model, one.sample_id)) for one in drawn.judgements)
    sentence = said(replace(drawn, judgements=judgements))
    assert "it does better on 5 of 30 pictures, worse on 25 (sign test, p 0." in sentence


def test_one_model_has_its_score_coverage_and_controls(tmp_path: Path) -> None:
    results = build_run(tmp_path, samples=10, size=(16, 12))
    block = summarise(results)["results"][0]["scores"]["score"]
    low, high = block["ci95"]
    score = f"qwen_image_edit scores {block['mean']:.2f} [{low:.2f}, {high:.2f}] (out of 10) with qwen3_vl"
    assert said(results) == f"{score}; all 10 are scored."
    off = replace(results, configuration={**results.configuration, "evaluation": {"min_coverage": 1.0, "controls": 0}})
    assert said(off) == f"{score}; all 10 are scored; no controls were judged."
    assert said(off, "zh").endswith("10 个全部已评分；未评对照。")


def test_each_judge_has_its_own_sentence(tmp_path: Path) -> None:
    results = build_run(tmp_path, samples=10, edit_models=("a", "b"), judges=("strict", "kind"), size=(16, 12))
    lines = verdict_lines(summarise(results))
    assert [line.split(":")[0] for line in lines] == ["strict", "kind"]
