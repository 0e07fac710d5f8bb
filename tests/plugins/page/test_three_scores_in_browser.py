"""The page of a judge with three scores: on 1 to 5, on -1 to 1 where lower is better, and without any end."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from edit_eval.records import Judgement
from reporting.reports import Report, link_to

OpenPage = Callable[..., Any]
SHOWN = """() => [...document.querySelectorAll('.chart-body')].filter((body) => !body.closest('[hidden]'))
  .every((body) => body.querySelector('svg, canvas'))"""


def of_first(report: Report) -> list[Judgement]:
    return [
        judgement
        for judgement in report.results.judgements
        if (judgement.edit_model, judgement.judge) == ("first", "three")
    ]


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
