"""The page of a judge with three scores: on 1 to 5, on -1 to 1 where lower is better, and without any end."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from edit_eval.records import Judgement
from reporting.reports import Report, ids, link_to, show
from reporting.three_scores import IDENTICAL

OpenPage = Callable[..., Any]
SHOWN = """() => [...document.querySelectorAll('.chart-body')].filter((body) => !body.closest('[hidden]'))
  .every((body) => body.querySelector('svg, canvas'))"""


def of_first(report: Report) -> list[Judgement]:
    return [
        judgement
        for judgement in report.results.judgements
        if (judgement.edit_model, judgement.judge) == ("first", "three")
    ]


def mean_score(report: Report, sample: str, score: str) -> list[float]:
    """Of both edit models, where there is one."""
    some = (
        judgement
        for judgement in report.results.judgements
        if (judgement.sample_id, judgement.judge) == (sample, "three")
    )
    return [judgement.scores[score] for judgement in some if score in judgement.scores]


def wait_for_axes(tab: Any, titles: set[str]) -> None:
    """Until every chart of the choice is drawn, in the language of the page: those are the titles of their axes."""
    tab.wait_for_function(SHOWN)
    tab.wait_for_function(
        """(titles) => JSON.stringify(titles) === JSON.stringify([...new Set([...document.querySelectorAll(
          '.choice:not([hidden]) .role-axis-title text')].map((one) => one.textContent))].sort())""",
        arg=sorted(titles),
    )


def test_the_chosen_score_is_the_one_that_is_drawn(three_scores: Report, open_page: OpenPage) -> None:
    tab = open_page(three_scores, idle=True, color_scheme="dark")
    english = {"": {"quality", "Score"}, "drift": {"drift (lower is better)"}, "psnr": {"psnr"}}
    chinese = english | {"": {"quality", "分数"}, "drift": {"drift（越低越好）"}}
    for width, language, named in ((1280, "en", english), (390, "zh", chinese)):
        tab.set_viewport_size({"width": width, "height": 900})
        tab.click(f"#language button[value={language}]")
        for choice in ("drift", "psnr", ""):
            tab.click(f"#choice button[value='{choice}']")
            wait_for_axes(tab, named[choice])
            assert tab.locator("#choice [aria-pressed=true]").get_attribute("value") == choice
            assert tab.locator(".choice:not([hidden])").get_attribute("data-score") == choice
            tab.wait_for_function(f"() => document.documentElement.scrollWidth <= {width}")
        assert tab.evaluate(CLIPPED) == 0


CLIPPED = """() => [...document.querySelectorAll('.chart-body svg')].filter((one) => {
  const box = one.getBoundingClientRect();
  return [...one.querySelectorAll('.role-axis-title text')].some((title) => {
    const { bottom } = title.getBoundingClientRect();
    return box.height && bottom > box.bottom + 1;
  });
}).length"""


@pytest.mark.check
def test_nothing_below_moves_when_the_charts_of_a_choice_are_drawn(three_scores: Report, open_page: OpenPage) -> None:
    later = "addEventListener('vega', (event) => { if (!window.now) event.stopImmediatePropagation(); });"
    tab = open_page(three_scores, script=later, idle=True)
    tab.wait_for_function("() => document.readyState === 'complete'")
    place = "document.getElementById('gallery').getBoundingClientRect().top + scrollY"
    tab.evaluate("() => document.querySelector('#choice [value=psnr]').click()")
    before = tab.evaluate(place)
    tab.evaluate("() => { window.now = true; dispatchEvent(new Event('vega')); }")
    tab.wait_for_function(SHOWN)
    assert tab.evaluate(place) == before


@pytest.mark.check
def test_the_gallery_follows_and_sorts_by_what_is_worse(three_scores: Report, open_page: OpenPage) -> None:
    tab = open_page(three_scores)
    assert tab.locator("[name=score]").input_value() == "quality"
    tab.click("#choice button[value=drift]")
    assert tab.locator("[name=score]").input_value() == "drift"
    assert tab.locator("#gallery-count").inner_text().endswith("judged by three · drift (lower is better)")
    assert tab.locator("#chips [value=worst] + span").inner_text() == "Highest (worst)"
    assert [tab.locator(f"[name={end}]").get_attribute("placeholder") for end in ("lowest", "highest")] == ["-1", "1"]
    assert tab.locator("[name=lowest]").get_attribute("step") == "0.01"
    show(tab, "worst")
    highest = {s.id: mean_score(three_scores, s.id, "drift") for s in three_scores.results.samples}
    known = [max(highest[sample]) for sample in ids(tab) if highest[sample]]
    assert known == sorted(known, reverse=True)
    assert len(known) > 20
    shown = tab.locator(".card").first.locator(".score").all_text_contents()
    assert f"{known[0]:.3f}" in shown
    tab.fill("[name=highest]", "-0.1")
    assert set(ids(tab)) == {sample for sample, values in highest.items() if any(value <= -0.1 for value in values)}
    tab.select_option("[name=score]", "psnr")
    assert [tab.locator(f"[name={end}]").get_attribute("placeholder") for end in ("lowest", "highest")] == ["", ""]
    assert tab.locator("[name=highest]").get_attribute("max") is None
    assert tab.locator("[name=highest]").input_value() == "", "bounds of another scale"
    tab.select_option("[name=status]", "undefined")
    lacking = {
        judgement.sample_id
        for judgement in three_scores.results.judgements
        if "undefined" in str(judgement.missing.get("psnr"))
    }
    assert set(ids(tab)) == lacking
    tab.select_option("[name=status]", "")
    tab.select_option("[name=judge]", "kind")
    assert tab.locator("[name=score]").is_hidden()
    assert tab.locator("[name=highest]").get_attribute("max") == "10"
    assert tab.locator("#chips [value=worst] + span").inner_text() == "Lowest"


@pytest.mark.check
def test_the_detail_has_every_score_every_reply_and_what_is_missing(three_scores: Report, open_page: OpenPage) -> None:
    judged = of_first(three_scores)
    place = next(
        number for number, judgement in enumerate(judged) if judgement.status == "ok" and "psnr" in judgement.missing
    )
    tab = open_page(three_scores, link_to(three_scores, place))
    verdict = tab.locator(".verdict", has_text="three").first
    text = re.sub(r"\s+", " ", verdict.inner_text())
    judgement = judged[place]
    assert f"quality {judgement.scores['quality']:.2f}" in text
    assert f"drift (lower is better) {judgement.scores['drift']:.3f}" in text
    assert f"psnr score undefined {IDENTICAL}" in text
    assert [name.strip() for name in verdict.locator(".question").all_text_contents()] == list(judgement.readings[0])
    # JSON is a list of names and words, with the answer itself folded beneath.
    came = [
        block.locator("pre") if block.locator("pre").count() else block for block in verdict.locator("blockquote").all()
    ]
    assert [words.text_content().strip() for words in came] == [
        reading.text for reading in judgement.readings[0].values() if reading.text
    ]
    assert text.count(IDENTICAL) == 1


def test_a_headline_that_is_missing_says_why_beside_scores_that_are_there(
    three_scores: Report, open_page: OpenPage
) -> None:
    judged = of_first(three_scores)
    place = next(number for number, judgement in enumerate(judged) if judgement.missing.keys() == {"quality"})
    tab = open_page(three_scores, link_to(three_scores, place))
    text = re.sub(r"\s+", " ", tab.locator(".verdict", has_text="three").first.inner_text())
    assert judged[place].reason in text
    assert f"psnr {judged[place].scores['psnr']:.2f}" in text
    assert text.count(judged[place].reason) == 1


@pytest.mark.check
def test_numbers_of_the_authors_stand_under_the_results(three_scores: Report, open_page: OpenPage) -> None:
    tab = open_page(three_scores)
    published = re.sub(r"\s+", " ", tab.locator("#results .published").inner_text())
    assert published.startswith("By the authors' formula first · three Avg 3.22 ")
    assert "Pass rate: none (2 of 60 answers cannot be read" in published
    heads = tab.locator("#results table tbody [rowspan]").all_inner_texts()
    assert [head.split("\n")[0].strip() for head in heads] == ["quality", "drift", "psnr", "Score"]
    tab.click("#language button[value=zh]")
    assert "按作者的公式" in tab.locator("#results .published").inner_text()
    assert "-1 至 1，越低越好" in tab.locator("#results table").inner_text()
