"""Who is better, in a sentence that can be quoted, and what to do next; the same on every display."""

from __future__ import annotations

import html
import io
import re
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

from edit_eval.plugins.page.notebook import comparison_html, notebook_html
from edit_eval.records import ExaminedJudge, Results, Scale, Scoring, Status
from edit_eval.reporting import language as spoken
from edit_eval.reporting import verdict as verdict_module
from edit_eval.reporting.analyses import summary_of
from edit_eval.reporting.comparison import print_comparison
from edit_eval.reporting.report import write_report
from edit_eval.reporting.results_sheet import print_summary
from edit_eval.reporting.verdict import answer_lines, doubt_lines, next_lines, paragraph
from edit_eval.reporting.verdict_drawing import characters, draw_verdict
from edit_eval.statistics.columns import columns_of
from edit_eval.statistics.comparison import compare, compare_models
from edit_eval.statistics.summary import context_of_run, summarise
from edit_eval.statistics.verdict import Opinion, _steps, verdict
from edit_eval.statistics.verdict_context import VerdictContext
from reporting.readings import READINGS, Reading
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

    judgements = tuple(
        rescored(judgement, value(judgement.edit_model, judgement.sample_id)) for judgement in results.judgements
    )
    scale = Scale(lowest=0.0, highest=10.0, higher_is_better=not lower)
    scoring = {name: Scoring(protocol="p", headline="score", scales={"score": scale}) for name in results.scoring}
    return replace(results, judgements=judgements, scoring=scoring)


def said(results: Results, language: str = "en") -> str:
    return " ".join(spoken.translate(line, language) for line in answer_lines(summarise(results).verdict))


def then(results: Results) -> list[str]:
    return list(next_lines(summarise(results).verdict))


@pytest.mark.parametrize("lower", [False, True])
def test_the_best_is_held_against_all_others(drawn: Results, lower: bool) -> None:
    results = scored(drawn, {"a": 0.0, "b": 0.05, "c": 1.0}, lower=lower)
    summary = summarise(results)
    of_b = next(pair for pair in summary.comparison.pairs if (pair.a, pair.b) == ("b", "c"))
    low, high = sorted(abs(end) for end in of_b.ci95)
    scale = "from 0 to 10, lower is better" if lower else "out of 10"
    by = f"{abs(of_b.difference):.2f} ({scale}; 95% interval {low:.2f} to {high:.2f})"
    assert said(results) == f"c is better than both others; next is b, {by} behind."
    assert then(results)[0].startswith("Settled for pictures like these 30; a kind that so few can miss"), "of 10 %"
    assert said(results, "zh").startswith("c 优于")
    two = without(results, "b")
    assert said(two).startswith("c is better than a, by 1.00 (")


def without(results: Results, name: str) -> Results:
    kept = {
        of: tuple(record for record in getattr(results, of) if record.edit_model != name)
        for of in ("edits", "judgements")
    }
    return replace(results, edit_models=tuple(model for model in results.edit_models if model != name), **kept)


def test_what_no_test_separates_has_no_winner(drawn: Results) -> None:
    results = scored(drawn, {"a": 0.0, "b": 0.05, "c": -0.8})
    assert said(results) == "No winner: b is ahead, but may be no better than a; it is better than c."
    close = without(results, "c")
    assert (
        said(close)
        == "No winner: b is ahead of a by 0.05 (out of 10; 95% interval -0.06 to 0.16), which may be chance."
    )
    [pair] = summarise(close).comparison.pairs
    more = pair.settled_by - 30
    told = f"Add about {round(more, -1)} more pictures: a real lead of this size would then be shown 4 times in 5."
    assert then(close) == [told]
    same = replace(drawn, judgements=tuple(rescored(judgement, 4.0) for judgement in drawn.judgements))
    assert said(same) == "No winner: a, b and c have the same score on each of 30 pictures."
    alike = {"a": 4.0, "b": 5.0, "c": 3.0}
    flat = replace(
        drawn, judgements=tuple(rescored(judgement, alike[judgement.edit_model]) for judgement in drawn.judgements)
    )
    assert said(without(flat, "c")) == (
        "b is better than a, by 1.00 (out of 10): better on 30 of 30 pictures and worse on none (exact test)."
    )


def test_few_images_and_missing_scores_are_named(drawn: Results) -> None:
    few = [sample.id for sample in drawn.samples[:5]]
    small = replace(
        drawn,
        samples=drawn.samples[:5],
        edits=tuple(edit for edit in drawn.edits if edit.sample_id in few),
        judgements=tuple(judgement for judgement in drawn.judgements if judgement.sample_id in few),
    )
    small = scored(small, {"a": 0.0, "b": 0.3, "c": 0.0})
    assert said(small).startswith("No winner: b is ahead, but 5 pictures are too few to tell it from ")
    assert then(small)[0].startswith("Add pictures: with fewer than 6 ")
    results = scored(drawn, {"a": 0.0, "b": 0.0, "c": 0.4})
    gone = [sample.id for sample in drawn.samples[:3]]
    holes = tuple(
        unscored(judgement, Status.UNPARSEABLE)
        if judgement.sample_id in gone and judgement.edit_model == "c"
        else judgement
        for judgement in results.judgements
    )
    holey = replace(results, judgements=holes)
    assert said(holey).count("missing scores could reverse this") == 1
    assert then(holey)[0].endswith("repeat edit-eval run with --retry unparseable.")


def test_what_it_rests_on_is_told_apart_from_the_answer(drawn: Results) -> None:
    ahead = scored(drawn, {"a": -0.05, "b": 0.0, "c": 0.95})
    verdict = summarise(ahead).verdict
    contest = verdict.opinions[0].contests[0]
    assert (contest.wins, contest.losses) == (30, 0)
    assert contest.sign_p == pytest.approx(2 * 3 * 0.5**30, rel=1), "by Holm over three pairs"
    assert contest.tipping_share == pytest.approx((contest.difference or 0) / (10 + (contest.difference or 0)))
    assert contest.ruled_out_share == pytest.approx(1 - 0.05 ** (1 / 30))
    [rests] = paragraph(verdict)
    for words in (
        "c does better on 30 of 30 pictures",
        "if 9% of all pictures",
        "up to 10% of all",
        "Holm over 3 tests",
    ):
        assert words in rests
    assert not any("Holm" in line or " p " in line for line in answer_lines(verdict))


def test_one_model_has_its_score(tmp_path: Path) -> None:
    results = build_run(tmp_path, samples=10, size=(16, 12))
    block = summarise(results).results[0].scores["score"]
    low, high = block.ci95
    assert said(results) == (
        f"qwen_image_edit scores {block.mean:.2f} (out of 10; 95% interval {low:.2f} to {high:.2f}) with "
        "qwen3_vl; there is no other model to compare it with."
    )


def test_judges_that_agree_are_one_line_and_those_that_do_not_are_the_line(tmp_path: Path) -> None:
    both = build_run(tmp_path, samples=30, edit_models=("a", "b"), judges=("strict", "kind"), size=(16, 12))
    places = {sample.id: sample.index for sample in both.samples}

    def judged(gains: dict[str, float]) -> Results:
        judgements = tuple(
            rescored(
                judgement,
                5
                + (judgement.edit_model == "b") * (gains[judgement.judge] + 0.3 * (places[judgement.sample_id] % 3 - 1))
                + 0.1 * (places[judgement.sample_id] % (5 if judgement.judge == "strict" else 7)),
            )
            for judgement in both.judgements
        )
        return replace(both, judgements=judgements)

    assert said(judged({"strict": 1.0, "kind": 0.9})).endswith("; both judges agree.")
    apart = judged({"strict": 1.0, "kind": -0.9})
    assert said(apart) == (
        "No winner: the judges contradict each other: strict (judge) says b is better; kind (judge) says a is better."
    )
    assert then(apart)[0].startswith("Look at the pictures on which the judges differ most")
    chance = judged({"strict": 0.05, "kind": -0.05})
    assert said(chance) == (
        "No winner: strict (judge) has b ahead, which may be chance; kind (judge) has a ahead, which may be chance."
    )
    for judgements, whose in (
        (apart, ["judged by strict", "judged by kind"]),
        (chance, ["judged by strict", "judged by kind"]),
        (judged({"strict": 1.0, "kind": 0.9}), []),
    ):
        lines = [str(line.words) for line in characters(summarise(judgements).verdict, lambda opinion: 2)]
        assert [line for line in lines if line.startswith("judged by")] == whose
    copied = {
        (judgement.edit_model, judgement.sample_id): judgement.scores["score"]
        for judgement in apart.judgements
        if judgement.judge == "strict"
    }
    shifted = replace(
        apart,
        judgements=tuple(
            rescored(judgement, copied[judgement.edit_model, judgement.sample_id] + 1.2)
            if judgement.judge == "kind"
            else judgement
            for judgement in apart.judgements
        ),
    )
    verdict = summarise(shifted).verdict
    assert doubt_lines(verdict) == [
        "kind is left out: its score of every edit is that of strict, +1.20. That is one judge, not two."
    ]
    assert said(shifted).startswith("b is better than a, by ")


@pytest.mark.parametrize(
    ("ended", "advised"),
    [
        ("passed", None),
        ("limited", None),
        ("failed", "failed_audit"),
        ("edited", "audit"),
        ("not_audited", "audit"),
        ("other_language", "audit_language"),
    ],
)
def test_only_a_judge_that_nobody_tested_is_called_so(ended: str, advised: str | None, drawn: Results) -> None:
    [judge] = drawn.judges
    columns = columns_of(drawn, {judge: {}})
    told = verdict(columns, compare(columns), VerdictContext(examined={judge: ended}))
    audits = {"audit", "audit_language", "failed_audit"}
    assert {advice.kind for advice in told.next} & audits == ({advised} if advised else set())
    examined = {judge: ExaminedJudge(line="", ended=ended)}
    assert context_of_run(replace(drawn, provenance=replace(drawn.provenance, examined=examined))).examined == {
        judge: ended
    }


def test_more_pictures_are_advised_for_a_judge_that_is_fit_alone(tmp_path: Path) -> None:
    """Two judges with the same lead; one is unfit, or both."""
    _, summary = next(reading for reading in READINGS if reading.name == "lead").build(tmp_path)
    [fit] = summary.verdict.opinions
    failed, blind = msgspec.structs.replace(fit, examined="failed"), msgspec.structs.replace(fit, sees="not_last")

    def advised(*opinions: Opinion) -> list[str]:
        return [advice.kind for advice in _steps("ahead", opinions, VerdictContext(), ("a", "b"))]

    assert advised(fit) == ["more"]
    assert advised(fit, failed) == ["failed_audit", "more"]
    assert advised(fit, blind) == ["other_judge", "more"]
    assert advised(failed) == ["failed_audit"]
    assert advised(failed, blind) == ["other_judge", "failed_audit"]


def test_models_that_make_the_same_pictures_are_named(drawn: Results) -> None:
    twins = replace(
        drawn, edits=tuple(replace(edit, pixels=f"{edit.sample_id}{edit.edit_model == 'c'}") for edit in drawn.edits)
    )
    assert doubt_lines(summarise(twins).verdict) == [
        "a and b made exactly the same picture in 30 of 30 cases: are they two models?"
    ]


@pytest.mark.one_in(8)
@pytest.mark.parametrize("reading", READINGS, ids=lambda reading: reading.name)
def test_the_runs_that_are_read_come_to_what_they_should(reading: Reading, tmp_path: Path) -> None:
    _, summary = reading.build(tmp_path)
    verdict = summary.verdict
    assert verdict.kind == reading.kind
    assert verdict.next
    for language in ("en", "zh"):
        assert all(spoken.translate(line, language) for line in (*answer_lines(verdict), *next_lines(verdict)))


def test_every_display_that_names_a_winner_shows_the_same_verdict(drawn: Results, tmp_path: Path) -> None:
    """Terminal, page (which is the live view, too), Markdown, notebook and comparison; the card has its own test."""
    results = scored(without(drawn, "b"), {"a": 0.0, "c": 1.0})
    summary = summary_of(results)
    [answer] = answer_lines(summary.verdict)
    [advice, *_] = next_lines(summary.verdict)
    terminal = Console(width=400, record=True, file=io.StringIO())
    print_summary(summary, terminal)
    write_report(results, summary, tmp_path / "report")
    compared = compare_models(results)
    assert compared is not None
    of_two = Console(width=400, record=True, file=io.StringIO())
    print_comparison(compared, of_two, full=True)
    displays = {
        "terminal": terminal.export_text(),
        "compare": of_two.export_text(),
        "page": html.unescape((tmp_path / "report/index.html").read_text("utf-8")),
        "markdown": (tmp_path / "report/report.md").read_text("utf-8").replace("\\", ""),
        "notebook": html.unescape(notebook_html(results, summary, tmp_path / "index.html", language="en")),
        "comparison in a notebook": html.unescape(comparison_html(compared)),
    }
    for name, shown in displays.items():
        assert str(answer) in shown, name
        assert str(advice) in shown, name
    drawing = (tmp_path / "report/verdict.svg").read_text("utf-8")
    assert drawing.count("<title>") == 30, "a dot a picture"
    assert displays["page"].count('class="dot') >= 30
    assert "verdict.svg" in displays["markdown"]
    assert "<svg" in displays["notebook"]


def test_nobody_else_words_who_is_better() -> None:
    """Displays outside of the verdict's own words have no sentence of a winner."""
    source = Path(verdict_module.__file__).parents[1]
    winner = re.compile(r"(?i)No winner|is better than \{|\{\} wins")
    own = {"verdict.py", "strengths.py"}
    rooms = ("reporting", "plugins/viewer", "verbs")
    texts = [path for room in rooms for kind in ("*.py", "*.j2", "*.js") for path in (source / room).rglob(kind)]
    assert not [path.name for path in texts if path.name not in own and winner.search(path.read_text("utf-8"))]


def test_a_long_name_is_cut_only_where_the_drawing_has_no_room(drawn: Results) -> None:
    """A page gives its room and the name whole; a file is as wide as it is."""
    long = "instruct-pix2pix-large-finetuned-on-magicbrush"
    opinion = summarise(drawn).verdict.opinions[0]
    opinion = msgspec.structs.replace(
        opinion, standings=tuple(msgspec.structs.replace(standing, name=long) for standing in opinion.standings)
    )
    assert f">{long}<" in draw_verdict(opinion, 2, "en", places=lambda name: 0)
    assert long not in re.sub(
        '<title>.*?</title>|aria-label=".*?"', "", draw_verdict(opinion, 2, "en", standalone=True)
    )
