import io
import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from agreements import judges_document, people_agreement, sheet_of
from edit_eval.plugins.agreement import sheet
from edit_eval.records import Results, Scale, Scoring
from edit_eval.reporting.table import Column, print_sheet
from edit_eval.statistics.votes import Rating
from edit_eval.text import Text
from reporting.reported_runs import build_run
from reporting.reports import report_on
from reporting.three_scores import with_three_scores

Make = Callable[..., Results]


@pytest.fixture
def make_run(tmp_path: Path) -> Make:
    return lambda **how: build_run(tmp_path, size=(24, 16), **{"samples": 20, **how})


def printed(document: dict[str, Any], *, terminal: bool = False) -> str:
    file = io.StringIO()
    console = Console(file=file, width=80, force_terminal=terminal, color_system="standard" if terminal else None)
    print_sheet(sheet_of(document), console)
    return file.getvalue()


def row(text: str, start: str) -> list[str]:
    return next(line for line in text.splitlines() if line.startswith(start)).split()


def people_of(run: Results, raters: int = 2, apart: float = 1.0) -> list[Rating]:
    chance = random.Random(2)
    return [
        Rating(
            judgement.sample_id, judgement.edit_model, (judgement.score or 0) + chance.gauss(0, apart), f"rater {rater}"
        )
        for judgement in run.judgements
        if judgement.judge == run.judges[0] and judgement.repeat == 0
        for rater in range(raters)
    ]


def test_several_judges_and_repeats(make_run: Make) -> None:
    run = make_run(judges=("strict", "kind", "third"), repeats=2, failing=0.3)
    document = judges_document(run)
    text = printed(document)
    for judge, card in document["judges"].items():
        cells = row(text, judge)
        assert cells[1] == str(card["asked"])
        assert f"{card['retest']['sd']:.2f}" in cells
        assert f"{card['retest']['icc']:.2f}" in cells
        assert cells[2] == f"{100 * card['unscored']['rate']:.0f}%"
    alpha = document["between_judges"]
    assert row(text, "strict, kind, third")[3:5] == [str(alpha["edits"]), f"{alpha['alpha']:.2f}"]
    assert row(text, "kind, third")[3] == f"{alpha['pairs'][2]['alpha']:.2f}"


def test_one_judge_asked_once_has_only_its_card(make_run: Make) -> None:
    text = printed(judges_document(make_run()))
    assert row(text, "qwen3_vl")[1] == "20"
    for word in ("ICC", "alpha", "median", "people"):
        assert word not in text


def test_judges_on_unlike_scales_have_no_alpha(make_run: Make) -> None:
    run = with_three_scores(make_run(judges=("strict", "kind", "third")), "third")
    text = printed(judges_document(run))
    assert "No alpha: the judges' scores are on different scales." in text
    assert f"{judges_document(run)['between_judges']['pairs'][0]['alpha']:.2f}" in row(text, "strict, kind ")


def test_an_open_scale_has_no_ceiling(make_run: Make) -> None:
    run = make_run()
    scoring = Scoring(protocol="p", headline="score", scales={"score": Scale(lowest=0.0)})
    cells = row(printed(judges_document(replace(run, scoring={"qwen3_vl": scoring}))), "qwen3_vl")
    assert cells[-4:-2] != ["–", "–"]
    assert cells.count("–") == 1


def test_people_beside_judges_and_each_other(make_run: Make) -> None:
    run = make_run(judges=("strict", "kind", "third"), edit_models=("first", "second"))
    people = [*people_of(run), Rating("nobody knows it", "first", 3.0)]
    document = {**judges_document(run), "people": people_agreement(run, people, resamples=100)}
    text = printed(document)
    part = text.split("Against people: 80 scores by 2 people")[1]
    assert "note: 1 of the file's scores left out: they are about other edits or other" in part
    agreement = document["people"]
    strict = agreement["judges"]["strict"]
    within, like, rest = part.split("Within edit models")[1], part.split("like for like")[1], part
    whole, first = (line.split() for line in within.split("strict: Score")[1].splitlines()[1:3])
    assert whole[:3] == ["all", "40/40", f"{strict['spearman']:.2f}"]
    assert first[0] == "first"
    assert row(like, "strict")[1] == f"{strict['one_person']['spearman']:.2f}"
    assert f"{agreement['raters']['spearman']:.2f}" in row(like, "one")
    (pair, *_) = agreement["pairs"]
    assert f"{pair['within_models']['difference']:+.2f}" in row(rest.split("Two judges")[1], "strict - kind")
    assert f"±{strict['calibration']['rmse']:.2f}" in " ".join(rest.split())


def test_what_was_left_unscored_is_said_and_bounded(make_run: Make) -> None:
    run = make_run(samples=60, failing=0.3)
    people = [
        Rating(judgement.sample_id, judgement.edit_model, float(place % 7), rater)
        for place, judgement in enumerate(run.judgements)
        for rater in ("ann", "bo")
    ]
    agreement = people_agreement(run, people, resamples=100)
    judge = agreement["judges"]["qwen3_vl"]
    text = printed({**judges_document(run), "people": agreement})
    assert 0 < judge["unscored"]["n"] < judge["total"] == 60
    assert f"qwen3_vl left {judge['unscored']['n']} of 60 unscored" in text
    assert f"[{judge['worst_case']:.2f}, {judge['best_case']:.2f}]" in text


def test_how_far_two_judges_lie_apart(make_run: Make) -> None:
    run = make_run(samples=60, judges=("strict", "kind"), edit_models=("first", "second"))
    document = judges_document(run)
    apart = document["between_judges"]["pairs"][0]["apart"]
    part = printed(document).split("Scores apart")[1]
    cells = row(part, "  all")[1:]
    assert cells[:2] == ["120", "60"]
    assert cells[4] == f"{apart['difference']:+.2f}"
    assert row(part, "  second")[1:3] == ["60", "60"]


def test_one_person_has_nobody_to_agree_with(make_run: Make) -> None:
    run = make_run()
    document = {**judges_document(run), "people": people_agreement(run, people_of(run, raters=1), resamples=100)}
    text = printed(document)
    assert "Against people: 20 scores by one person" in text
    assert "like for like" not in text
    assert "Two judges" not in text


def test_80_columns_no_colour_and_nothing_obeyed(make_run: Make) -> None:
    names = ("评审模型一号" * 4, "[red]x[/red]\x1b[2J", "a" * 60)
    run = make_run(judges=names, repeats=2, failing=0.2, edit_models=("编辑模型" * 8, "second"))
    document = {**judges_document(run), "people": people_agreement(run, people_of(run), resamples=100)}
    text = printed(document)
    assert max(cell_len(line) for line in text.splitlines()) <= 80
    assert "\x1b" not in text
    assert "[red]x[/red]" in text
    assert "\x1b[" in printed(document, terminal=True)


def test_all_of_it_in_chinese(make_run: Make) -> None:
    for judges in (("strict", "kind", "third"), ("strict", "kind")):
        run = make_run(judges=judges, repeats=2, failing=0.3, edit_models=("first", "second"))
        document = judges_document(run)
        people = people_of(run, raters=2)
        outside = Rating("gone", run.edit_models[0], 5.0, "rater 0")
        document["people"] = people_agreement(run, [*people, outside])
        file = io.StringIO()
        print_sheet(sheet_of(document), Console(file=file, width=80, color_system=None), language="zh")
        text = file.getvalue()
        assert max(map(cell_len, text.splitlines())) <= 80
        assert "与人对照：2 人的 " in text
        names = {*judges, "first", "second", "gone"}
        terms = {"ICC", "Krippendorff", "alpha", "Alpha", "Spearman", "Fisher", "json"}
        assert set(re.findall("[A-Za-z]{3,}", text)) <= names | terms


def test_a_column_of_a_judges_card_is_on_terminal_page_and_in_markdown(
    make_run: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run(judges=("strict", "kind"))
    added = Column(Text("Asked thrice"), lambda row: f"{3 * row.findings.asked}!")
    monkeypatch.setattr(sheet, "CARD", (*sheet.CARD, added))
    document = judges_document(run)
    drawn = report_on(run, analyses=True)
    for medium in (printed(document), drawn.html, (drawn.folder / "report.md").read_text("utf-8")):
        wanted = (f"{3 * card['asked']}!" for card in document["judges"].values())
        assert [word for word in wanted if word not in medium.replace("\\", "")] == []
