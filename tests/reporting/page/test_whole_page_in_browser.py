"""The page of a real run of three edit models and two judges: its numbers are those of `summary.json` and `compare`."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest

from documents import plain
from edit_eval import evaluate
from edit_eval.reporting.entries import KEYS
from edit_eval.reporting.page.files import write_report
from edit_eval.run import Run, compare
from reporting.reports import Report
from small_benchmark import configuration, sample_id, write_benchmark
from source_texts import templates

MODELS, JUDGES = ("alpha", "beta", "gamma"), ("harsh", "mild")
SAMPLES = 27
EXAMPLE = Path(__file__).parents[3] / "examples" / "package"
IDS = {sample_id(n) for n in range(27)}
NUMBER = re.compile(r"\d+(?:\.\d+)?")


def said(judge: str, model: int, number: int) -> str:
    """One judge gives 1 to 3, the other 7 to 9: what lies between is a number that neither has."""
    base = 1.2 if judge == "harsh" else 7.2
    return f"Score: {base + 0.45 * model + 0.037 * ((number * 7 + model * (number % 4)) % 23):.3f}"


@pytest.fixture(scope="module", autouse=True)
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One that brings a section with two charts: what holds of ours holds of any."""
    place = tmp_path_factory.mktemp("site")
    shutil.copytree(EXAMPLE / "my_benchmark", place / "my_benchmark")
    info = place / "my_benchmark-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-benchmark\nVersion: 1.0\n")
    points = (f"{kind}.full-marks = my_benchmark.full_marks:FullMarks\n" for kind in ("analysis", "section"))
    (info / "entry_points.txt").write_text("[edit_eval.components]\n" + "".join(points))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(place)
        yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "my_benchmark"]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One edit fails, and one answer cannot be read; each judge sees controls."""
    folder = tmp_path_factory.mktemp("three_models")
    write_benchmark(folder, SAMPLES)
    asked = configuration(folder)
    del asked["diffusion_model"], asked["reward_model"]
    black = {"beta": {"black": [sample_id(4)]}}
    answers = {
        judge: {
            f"{model}/{sample_id(n)}": said(judge, place, n)
            for place, model in enumerate(MODELS)
            for n in range(SAMPLES)
        }
        for judge in JUDGES
    }
    answers["mild"][f"gamma/{sample_id(9)}"] = "I would rather not say."
    fake = {"type": "testing", "params": {"device_ids": "cpu:1"}}
    asked["edit_models"] = {
        name: {**fake, "params": {"device_ids": "cpu:1", "steps": 1, **black.get(name, {})}} for name in MODELS
    }
    asked["judges"] = {
        judge: {
            "type": "testing",
            "params": {
                "device_ids": "cpu:1",
                "batch_size": 9,
                "answers": answers[judge],
                "default_answer": "Score: 0.5",
            },
        }
        for judge in JUDGES
    }
    asked["evaluation"] = {"controls": 9, "min_coverage": 0.5}
    asked["protocol"] = {"retries": 0}
    return evaluate(asked, run_dir=folder / "run", report=False)


@pytest.fixture(scope="module")
def report(run: Run) -> Report:
    write_report(run.results, run.summary, run.path / "report")
    return Report(run.results, run.summary, run.path / "report")


def numbers_of(document: Any) -> Iterator[str]:
    """Every number of a document in all the ways in which the page writes one, without its sign."""
    if isinstance(document, Mapping):
        for key, value in document.items():
            yield from NUMBER.findall(str(key))
            yield from numbers_of(value)
        if {"count", "total"} <= set(document) and document["total"]:
            yield f"{100 * document['count'] / document['total']:.0f}"
    elif isinstance(document, Sequence) and not isinstance(document, str):
        for value in document:
            yield from numbers_of(value)
    elif isinstance(document, int | float) and not isinstance(document, bool):
        yield from (f"{abs(document):.{digits}f}" for digits in ((0, 2, 4, 6) if isinstance(document, float) else (0,)))
        if 0 <= document <= 1:
            yield f"{100 * document:.0f}"
        yield f"{document:g}"


@pytest.fixture(scope="module")
def known(run: Run, report: Report) -> set[str]:
    summary = json.loads((report.folder / "summary.json").read_text("utf-8"))
    numbers = {*numbers_of({**summary, "timing": {}}), *numbers_of(plain(compare([run]).document()))}
    numbers.add(str(sum(edit["total"] for edit in summary["edits"])))  # of all models
    # What the page's own words have: 95% interval, a probability of 0.8, p below .0001.
    return numbers | {number for words in templates() for number in NUMBER.findall(words)} | {"0.0001"}


# Names (in sentences those of samples, too), texts of the records, and times are none of the numbers in question;
# an axis has ticks.
WALK = """() => {
  const apart = 'pre, nav, form, dialog, header, select, #time, #repeat, .facts, .run-name, .id, .instruction, .cards, '
    + '.look-words, .look-failure > span, .role-axis, .tick, script, style';
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const { parentElement: place, textContent } = walker.currentNode;
    if (place.closest(apart) || !place.getClientRects().length) continue;
    const numbers = textContent.replace(/\\b\\d{5}_[^\\s,.:;]+/g, '').match(/\\d+(?:\\.\\d+)?/g) || [];
    found.push(...numbers.map((number) => [number, textContent.trim().slice(0, 90)]));
  }
  return found;
}"""
DRAWN = "() => [...document.querySelectorAll('.chart-body')].every((one) => one.querySelector('svg, canvas'))"


def strangers(tab: Any, known: set[str]) -> list[tuple[str, str]]:
    return [(number, place) for number, place in tab.evaluate(WALK) if number not in known and place not in IDS]


@pytest.mark.check
def test_every_number_is_one_of_the_summary_or_of_compare(
    run: Run, report: Report, known: set[str], open_page: Callable[..., Any]
) -> None:
    """On the page as it goes to the printer, with every chart, table and card."""
    printed = open_page(report, idle=True)
    printed.wait_for_function("() => window.vegaEmbed")
    printed.evaluate("dispatchEvent(new Event('beforeprint'))")
    printed.wait_for_function(DRAWN)
    assert len(printed.evaluate(WALK)) > 400
    assert strangers(printed, known) == []
    # A mean over judges is no number of theirs, and is found out.
    means = {
        model: [result.scores["score"].mean for result in run.summary.results if result.edit_model == model]
        for model in MODELS
    }
    for harsh, mild in means.values():
        stray = f"{(harsh + mild) / 2:.2f}"
        printed.evaluate("(number) => document.querySelector('#results').append(number)", stray)
        assert stray in [number for number, _ in strangers(printed, known)]
    # A card has the scores of the judge that it names.
    recorded = {
        (judgement.sample_id, judgement.edit_model, judgement.judge): f"{judgement.scores['score']:.2f}"
        for judgement in run.results.judgements
        if "score" in judgement.scores
    }
    for judge in JUDGES:
        printed.evaluate(
            """(judge) => { const one = document.querySelector('[name=judge]');
            one.value = judge; one.dispatchEvent(new Event('input', { bubbles: true })); }""",
            judge,
        )
        shown = printed.evaluate("""() => [...document.querySelectorAll('.card')].flatMap((card) =>
            [...card.querySelectorAll('.tile')].filter((tile) => tile.querySelector('.score')).map((tile) => [
              card.querySelector('.id').textContent, tile.querySelector('.model').textContent,
              tile.querySelector('.score').textContent]))""")
        assert len(shown) > 24
        assert [tile for tile in shown if recorded[tile[0], tile[1], judge] != tile[2]] == []


@pytest.mark.check
def test_summary_and_compare_agree(run: Run) -> None:
    whole = plain(compare([run]).document())
    ours = plain(run.summary.comparison)
    for name in ("columns", "pairs"):
        for mine, theirs in zip(ours[name], whole[name], strict=True):
            shared = {key: value for key, value in theirs.items() if key in mine and key != "largest"}
            assert {key: value for key, value in mine.items() if key != "largest"} == shared
    apart = run.summary.extremes.judges_apart
    assert all(disputed.difference == disputed.scores["mild"] - disputed.scores["harsh"] for disputed in apart)
    assert [failure.status for failure in run.summary.failures] == ["edit_failed", "unparseable"]


class Rows(HTMLParser):
    """For each row of a table's body, but for those of analyses, and each `look` its links; and every link of the page.

    An analysis may have rows that are of no samples: what leads where is for its own tests.
    """

    def __init__(self, html: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.rows: list[int] = []
        self._body = ""
        self._of_an_analysis = False
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = dict(attributes)
        if tag == "section":
            self._of_an_analysis = values.get("class") == "analysis"
        if tag == "tbody":
            self._body = values.get("class") or "rows"
        if tag == "thead":
            self._body = ""
        if tag == "tr" and self._body == "rows" and not self._of_an_analysis:
            self.rows.append(0)
        if tag == "a" and "=" in (values.get("href") or ""):
            self.links.append(values["href"] or "")
            if self.rows and not self._of_an_analysis:
                self.rows[-1] += 1


@pytest.mark.check
def test_rows_pictures_and_bars_lead_to_samples_that_are_there(run: Run, report: Report) -> None:
    above = report.html.split('<section id="time"')[0]
    assert 'id="full-marks"' in above
    page = Rows(above)
    assert page.rows
    assert 0 not in page.rows
    bars = [
        row["samples"]
        for name in ("overall", "categories", "histogram", "difficulties", "tags", "failures")
        for chart in report.data["charts"]["en"][name]
        for rows in ([chart["data"]["values"]] if "values" in chart.get("data", {}) else chart["datasets"].values())
        for row in rows
    ]
    assert len(bars) > 100
    choices = {
        **{"model": MODELS, "judge": JUDGES, "sample": [sample.id for sample in run.results.samples], "status": None},
        "category": [sample.category for sample in run.results.samples],
        "left": ("source", *(f"edit:{model}" for model in MODELS)),
    }
    choices["right"] = choices["left"]
    for link in {*page.links, *bars}:
        asked = dict(parse_qsl(link.removeprefix("#")))
        assert asked.keys() <= set(KEYS)
        assert all(value in (choices.get(key) or [value]) for key, value in asked.items()), link


@pytest.mark.check
def test_paper_has_everything_and_nothing_to_press(report: Report, open_page: Callable[..., Any]) -> None:
    counting = """addEventListener('afterprint', () => { window.onPaper = {
      drawn: document.querySelectorAll('.chart-body :is(svg, canvas)').length,
      charts: document.querySelectorAll('.chart-body').length,
      cards: document.querySelectorAll('.card').length,
      theme: document.documentElement.dataset.theme,
    }; });"""
    tab = open_page(report, script=counting, idle=True, color_scheme="dark")
    tab.wait_for_function(DRAWN)
    assert tab.evaluate("document.querySelectorAll('.card').length") == 24
    assert tab.pdf(format="A4").startswith(b"%PDF")
    tab.wait_for_function("() => window.onPaper")
    seen = tab.evaluate("window.onPaper")
    assert seen["drawn"] == seen["charts"] > 10
    assert (seen["cards"], seen["theme"]) == (SAMPLES, "light")
    tab.wait_for_function("() => document.querySelectorAll('.card').length === 24")
    assert tab.evaluate("document.documentElement.className") == ""
    tab.set_viewport_size({"width": 703, "height": 1000})
    tab.emulate_media(media="print")
    tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    tab.wait_for_function(DRAWN)
    cut = """() => [...document.querySelectorAll('main *')].filter((one) => one.getClientRects().length
      && one.getBoundingClientRect().right > 704).map((one) => one.outerHTML.slice(0, 120))"""
    assert tab.evaluate(cut) == []
    pressed = "() => [...document.querySelectorAll('button, input, select')].some((one) => one.getClientRects().length)"
    assert tab.evaluate(pressed) is False
    assert tab.evaluate("getComputedStyle(document.body).color") == "rgb(27, 26, 24)", "dark on white"


@pytest.mark.check
def test_a_row_a_bar_and_a_picture_are_followed(report: Report, open_page: Callable[..., Any]) -> None:
    tab = open_page(report)
    tab.locator("#verdict .standings td.problem a").first.click()
    tab.wait_for_function("() => document.querySelectorAll('.card').length === 1")
    assert tab.inner_text("#gallery-count").startswith(f"1 of {SAMPLES} samples")
    tab.evaluate("document.getElementById('breakdown').scrollIntoView()")
    tab.locator("[data-chart=categories] svg .mark-symbol.role-mark path").first.click()
    tab.wait_for_function("() => location.hash.includes('category=')")
    tab.wait_for_function("() => document.querySelectorAll('.card').length === 9")
    tab.evaluate("scrollTo(0, 0)")
    tab.locator('.look:has-text("Models differ most") .look-pictures').first.click()
    tab.locator("#detail").wait_for()
    asked = dict(parse_qsl(tab.evaluate("location.hash.slice(1)")))
    assert (asked["left"], asked["right"]) == ("edit:alpha", "edit:gamma")


@pytest.mark.check
def test_in_a_notebook_means_comparison_and_agreement_draw_themselves(run: Run) -> None:
    comparison, agreement = compare(str(run.path)), run.analysis("agreement")
    drawn: list[Any] = [run.means(), comparison]
    assert repr(comparison).splitlines() == run.verdict.splitlines()
    assert len(run.verdict.splitlines()) == 1, "of all judges together"
    for made in drawn:
        assert [name for name in (*MODELS, *JUDGES) if f">{name}<" not in made._repr_html_()] == []
    assert [name for name in JUDGES if name not in agreement._repr_html_()] == []
