"""The page in a real browser, opened from the disk. Every test also fails if the page complains or asks elsewhere."""

from __future__ import annotations

import os
import re
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace as changed

from edit_eval.plugins.page import page as page_module
from edit_eval.records import Results, Status
from edit_eval.reporting.report import write_report
from edit_eval.statistics.summary import summarise
from edit_eval.statistics.timing import DeviceMemory
from reporting.reported_runs import build_run, pictured
from reporting.reports import Report, ids, link_to, report_on

OpenPage = Callable[..., Any]
DRAWN = "() => [...document.querySelectorAll('.chart-body')].every((body) => body.querySelector('svg, canvas'))"


def chart_bodies_drawn(tab: Any) -> None:
    """Charts are drawn when they come near the window: goes to each, and back."""
    for figure in tab.locator("[data-chart]").all():
        figure.evaluate("(one) => one.scrollIntoView({ behavior: 'instant' })")
        figure.locator(".chart-body svg, .chart-body canvas").first.wait_for()
    tab.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
    tab.wait_for_function(DRAWN)


@pytest.mark.check
def test_charts_near_the_window_come_first_and_all_fit_into_a_narrow_one(several: Report, open_page: OpenPage) -> None:
    tab = open_page(several)
    assert ids(tab) == [sample.id for sample in several.results.samples]
    tab.evaluate("document.getElementById('breakdown').scrollIntoView()")
    tab.locator("[data-chart=overall] svg").first.wait_for()
    tab.wait_for_function("() => document.readyState === 'complete'")
    assert tab.locator("[data-chart=timeline] canvas").count() == 0
    tab.evaluate("document.getElementById('time').scrollIntoView()")
    tab.locator("[data-chart=timeline] canvas").wait_for()
    chart_bodies_drawn(tab)
    assert tab.locator(".chart-body").count() == sum(len(of_name) for of_name in several.data["charts"]["en"].values())
    tab.set_viewport_size({"width": 360, "height": 800})
    tab.wait_for_function("() => document.documentElement.scrollWidth <= 360")  # when the charts are drawn again


def test_all_charts_are_drawn_before_anybody_prints_and_everything_can_be_chinese_and_dark(
    several: Report, open_page: OpenPage
) -> None:
    """Printing waits for no chart: `beforeprint` would be too late to begin with one."""
    tab = open_page(several, idle=True)
    tab.wait_for_function(DRAWN)
    assert tab.evaluate("scrollY") == 0
    tab.click("#language button[value=zh]")
    assert tab.evaluate("document.documentElement.lang") == "zh-CN"
    assert tab.locator("#breakdown h2").inner_text() == "细分"
    assert tab.locator("[name=search]").get_attribute("placeholder") == "编号、指令、评语"
    assert tab.locator("#gallery-count").inner_text() == "共 10 个样本，显示 10 个 · 由 strict 评分"
    assert several.results.samples[0].instructions["zh"] in tab.locator(".card").first.inner_text()
    tab.wait_for_function("() => document.querySelector('[data-chart=categories] svg').textContent.includes('物理')")
    tab.locator(".card .tile").first.click()
    tab.locator("#detail").wait_for()
    assert tab.locator("#detail-close").inner_text() == "关闭"
    tab.keyboard.press("Escape")
    tab.click("#language button[value=en]")
    assert tab.locator("#breakdown h2").inner_text() == "Breakdown"
    bar = "[data-chart=histogram] svg .mark-rect path"
    light = tab.locator(bar).first.get_attribute("fill")
    tab.select_option("#theme", "dark")
    tab.wait_for_function(
        "([bar, light]) => ![null, light].includes(document.querySelector(bar)?.getAttribute('fill') ?? null)",
        arg=[bar, light],
    )


DRAW_LATER = """
  let there;  // Vega may be there before the page asks for it, or after
  Object.defineProperty(window, 'vegaEmbed', { get: () => window.mayDraw && there, set: (made) => { there = made; } });
  addEventListener('vega', (event) => { if (!window.mayDraw) event.stopImmediatePropagation(); });
  window.draw = () => { window.mayDraw = true; dispatchEvent(new Event('vega')); };
"""
PLACES = """() => [...document.querySelectorAll('main h2, main h3, .chart-body')].map((one) => {
  const { top, height } = one.getBoundingClientRect();
  return [one.closest('section').id, one.tagName, Math.round(top + scrollY), Math.round(height)];
})"""


@pytest.mark.check
@pytest.mark.parametrize(("name", "width", "language"), [("several", 390, "zh"), ("incomplete", 1280, "en")])
def test_nothing_moves_when_a_chart_is_drawn(
    name: str, width: int, language: str, open_page: OpenPage, request: pytest.FixtureRequest
) -> None:
    report: Report = request.getfixturevalue(name)
    tab = open_page(report, script=DRAW_LATER, idle=True)
    tab.set_viewport_size({"width": width, "height": 900})
    tab.reload()
    tab.wait_for_function("() => document.readyState === 'complete'")
    tab.click(f"#language button[value={language}]")
    assert tab.locator(".chart-body svg, .chart-body canvas").count() == 0
    before = tab.evaluate(PLACES)
    tab.evaluate("draw()")
    tab.wait_for_function(DRAWN)
    assert tab.evaluate(PLACES) == before
    assert ids(tab) == [sample.id for sample in report.results.samples[:24]]


@pytest.mark.check
def test_a_link_leads_to_its_section_while_charts_are_being_drawn(several: Report, open_page: OpenPage) -> None:
    tab, target = open_page(several, idle=True), "time"
    tab.click(f".masthead nav a[href='#{target}']")
    tab.wait_for_function(DRAWN)
    tab.wait_for_function(
        "(id) => Math.abs(document.getElementById(id).getBoundingClientRect().top - 8) < 1", arg=target
    )
    heading = tab.locator(f"#{target} h2").first.bounding_box()
    masthead = tab.locator(".masthead").bounding_box()
    assert masthead["y"] + masthead["height"] < heading["y"] < 120, "right under what stands at the window's top"


@pytest.mark.check
def test_no_english_is_left_in_the_chinese_page(several: Report, open_page: OpenPage, tmp_path: Path) -> None:
    """Every text and every name for a screen reader, with judges, repeats, failures and folded tables, in both ways
    into Chinese: chosen by the reader, and by the run."""
    run = build_run(
        tmp_path / "run",
        samples=12,
        size=(96, 72),
        edit_models=("first", "second"),
        judges=("strict", "kind"),
        repeats=2,
        failing=0.5,
        pending=1,
    )
    skipped = replace(run.samples[0], fault="fault-of-the-sample")
    made, failed = (
        next(place for place, edit in enumerate(run.edits[:12]) if edit.status is status)
        for status in (Status.OK, Status.EDIT_FAILED)
    )
    edits = list(run.edits)
    edits[made] = replace(edits[made], flags=("identical_to_source", "other_aspect_ratio"))
    run = replace(run, samples=(skipped, *run.samples[1:]), edits=tuple(edits))
    memory = {"start_number": 1, "model": "first", "kind": "editing", "before": 1, "loaded": 2, "peak": 3, "after": 4}
    summary = summarise(run)
    memory_of = msgspec.convert({"total": 80 << 30, "peak": 60 << 30, "stages": [memory]}, DeviceMemory)
    utilisation = {"cuda:0": {"mean": 0.87, "editing": 0.96}}
    timing = changed(summary.timing, memory={"cuda:0": memory_of}, gpu_utilisation=utilisation)
    english, chinese = (Report(run, summary, tmp_path / language) for language in ("en", "zh"))
    for report in (english, chinese):
        write_report(run, changed(summary, timing=timing), report.folder, language=report.folder.name)
    from_records = data_of(run)
    for report in (english, chinese):
        tab = open_page(report)
        if report is english:
            tab.click("#language button[value=zh]")
        assert "平均" in tab.title() or "、" in tab.title()
        if report is english:  # both have the same charts
            chart_bodies_drawn(tab)
        tab.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        left = set(tab.evaluate(LATIN_ONLY))
        for place in (0, made, failed, 11) if report is english else (failed,):
            tab.evaluate("(address) => { location.hash = address; }", link_to(report, place))
            tab.locator("#detail").wait_for()
            for view in "bsd":
                tab.keyboard.press(view)
                left |= set(tab.evaluate(LATIN_ONLY))
            tab.keyboard.press("Escape")
        if report is english:
            tab.hover("[data-chart=failures] svg .mark-rect path")
            tab.locator("#vg-tooltip-element.visible").wait_for()
            left |= set(tab.evaluate(LATIN_ONLY))
        assert {words for words in left if not known(words, from_records)} == set()


LATIN_ONLY = """() => {
  const found = [];
  const look = (text) => { if (/[A-Za-z]{2}/.test(text) && !/[\\u3400-\\u9fff]/.test(text)) found.push(text.trim()); };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    if (!walker.currentNode.parentElement.closest('script, style, pre, noscript')) look(walker.currentNode.textContent);
  }
  const said = ['aria-label', 'aria-description', 'aria-roledescription', 'title', 'alt', 'placeholder'];
  for (const one of document.querySelectorAll('body *')) {
    for (const name of said) if (one.hasAttribute(name)) look(one.getAttribute(name));
  }
  return found;
}"""


def data_of(run: Results) -> set[str]:
    """What a page may show in whatever language it is recorded in."""
    texts = {*run.edit_models, *run.judges, *run.telemetry.devices, *run.provenance.notes, run.name, "edit-eval", "EN"}
    for sample in run.samples:
        texts |= {sample.id, *sample.tags, sample.description, sample.rationale, sample.fault}
        texts |= {sample.instruction, *sample.instructions.values()}
    texts |= {edit.reason for edit in run.edits} | {judgement.reason for judgement in run.judgements}
    texts |= {judgement.answer.strip() for judgement in run.judgements}
    texts |= {"five_dimensions", "benchmark.json", "summary.json", "scores.csv", "report.md", "replies.jsonl"}
    texts.add("NVIDIA A100-SXM4-80GB")
    texts |= {"Qwen/Qwen-Image-Edit", "Qwen/Qwen3-VL-30B-A3B-Instruct", "python", "torch", "diffusers", "transformers"}
    return texts


def known(words: str, from_records: set[str]) -> bool:
    """Whether nothing is left of `words` without what comes from the records, numbers and units of bytes."""
    for text in sorted(from_records, key=len, reverse=True):
        words = words.replace(text, "")
    return re.search(r"[A-Za-z]{2}", re.sub(r"\b(GiB|MiB|GPU)\b", "", words)) is None


@pytest.mark.check
def test_dark_follows_the_system_and_can_be_chosen(complete: Report, open_page: OpenPage) -> None:
    def brightness(tab: Any) -> float:
        colour = tab.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in colour.strip("rgb()").split(","))

    tab = open_page(complete, color_scheme="dark")
    assert brightness(tab) < 100
    tab.select_option("#theme", "light")
    assert brightness(tab) > 700
    tab.reload()
    assert brightness(tab) > 700  # remembered
    assert brightness(open_page(complete)) > 700


def test_nothing_hostile_runs(hostile: Report, open_page: OpenPage) -> None:
    tab = open_page(hostile, link_to(hostile, 1))
    tab.locator("#detail").wait_for()
    tab.keyboard.press("Escape")
    chart_bodies_drawn(tab)
    tab.hover("[data-chart=failures] svg .mark-rect path")
    for view in ("slider", "difference", "beside"):
        tab.click(f".gallery-head input[value={view}] + span")
    tab.click("#language button[value=zh]")
    tab.locator(".card .instruction a").first.click()
    tab.locator("#detail").wait_for()
    for key in ("d", "b", "2", "ArrowRight", "ArrowRight"):
        tab.keyboard.press(key)
    assert hostile.results.samples[2].id.split("\u2028")[0] in tab.locator("#detail-id").inner_text()
    assert "onerror=" in tab.locator("#detail-words").inner_text()
    assert tab.evaluate("window.hacked") is None
    assert tab.locator("img[src='x'], script[src]").count() == 0


def test_an_address_that_leads_nowhere_is_no_fault(complete: Report, open_page: OpenPage) -> None:
    tab = open_page(complete)
    page = tab.url
    for address in ("#sample=nobody", "#sample=%E4%A", "#sample="):
        tab.goto("about:blank")
        tab.goto(page + address)
        assert tab.locator("#detail").is_hidden()


def test_the_browser_would_stop_what_slipped_through(complete: Report, browser: Any) -> None:
    context = browser.new_context()
    tab = context.new_page()
    asked = []
    tab.on("request", lambda made: asked.append(made.url))
    tab.goto((complete.folder / "index.html").as_uri())
    tab.evaluate(
        """() => {
            const script = document.createElement('script');
            script.textContent = 'window.hacked = 1';
            document.body.append(script);
            const holder = document.createElement('div');
            holder.innerHTML = '<img src="x" onerror="window.hacked = 2">';
            document.body.append(holder);
            return fetch('https://example.org/').catch(() => null);
        }"""
    )
    tab.wait_for_timeout(100)
    assert tab.evaluate("window.hacked") is None
    assert not [url for url in asked if not url.startswith(("file:", "data:"))]
    context.close()


@pytest.mark.check
def test_it_opens_without_a_single_picture(tmp_path: Path, open_page: OpenPage) -> None:
    run = build_run(tmp_path, samples=3, size=(32, 24))
    samples = tuple(pictured(sample, "/nowhere/at/all.png") for sample in run.samples)
    shutil.rmtree(tmp_path / "images")
    tab = open_page(report_on(replace(run, samples=samples)))
    assert tab.locator(".card .frame.missing").count() == tab.locator(".look .frame.missing").count() == 6


@pytest.mark.check
def test_cards_stand_before_their_pictures_are_read(several: Report, browser: Any) -> None:
    """The page is used while the browser still reads it: thumbnails come in behind, one of them is no picture."""
    above, mark, thumbnails = several.html.partition('<script type="text/plain" id="thumbnail-3">')
    seen = threading.Event()

    class Slow(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write((above + mark + thumbnails[:200]).encode())
            self.wfile.flush()
            seen.wait(60)
            self.wfile.write(thumbnails[200:].encode())

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    context = browser.new_context()
    try:
        tab = context.new_page()
        tab.goto(f"http://127.0.0.1:{server.server_port}/", wait_until="commit")
        tab.wait_for_function("() => document.querySelectorAll('.card img[src]').length === 3")
        assert tab.locator(".card").count() == 10
        assert "cannot be read" not in tab.locator("#cards").inner_text()
        seen.set()
        tab.wait_for_function("() => document.querySelector('#cards').innerText.includes('cannot be read')")
        tab.wait_for_function(
            "() => [...document.querySelectorAll('.card img')].every((image) => image.naturalWidth === 96)"
        )
        assert tab.locator(".card img").count() == sum(map(bool, several.thumbnails))
    finally:
        seen.set()
        context.close()
        server.shutdown()
        server.server_close()


@pytest.mark.check
def test_a_browser_set_to_chinese_shows_chinese_until_its_reader_chooses(several: Report, open_page: OpenPage) -> None:
    tab = open_page(several, locale="zh-CN")
    assert tab.locator("#breakdown h2").inner_text() == "细分"
    tab.click("#language button[value=en]")
    tab.reload()
    assert tab.locator("#breakdown h2").inner_text() == "Breakdown"
    assert tab.evaluate("document.documentElement.lang") == "en"
    elsewhere = open_page(several, locale="de-DE")
    assert elsewhere.locator("#breakdown h2").inner_text() == "Breakdown"


@pytest.mark.check
def test_of_very_many_pictures_the_thumbnails_stay_beside_the_page(
    tmp_path: Path, open_page: OpenPage, browser: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_module, "MOST_EMBEDDED", 17)
    run = build_run(tmp_path, samples=6, size=(96, 72), edit_models=("first", "second"))
    assert len(report_on(run).thumbnails) == 12, "without digests none of the edits' are kept"
    known = replace(
        run, edits=tuple(replace(edit, pixels=f"{number:032x}" * 2) for number, edit in enumerate(run.edits, start=1))
    )
    monkeypatch.setattr(page_module, "MOST_EMBEDDED", 18)
    assert len(report_on(known).thumbnails) == 18
    monkeypatch.setattr(page_module, "MOST_EMBEDDED", 17)
    report = report_on(known)
    assert report.thumbnails == []
    folder = report.folder / "thumbnails"
    assert len(list(folder.iterdir())) == 18
    open_page(report).wait_for_function(
        "() => [...document.querySelectorAll('.card img')].filter((one) => one.naturalWidth === 96).length === 18"
    )
    old, file = time.time() - 60, folder / f"{1:032x}"
    copy = file.with_suffix(".jpg")
    os.utime(copy, (old, old))
    report_on(known)
    assert copy.stat().st_mtime > old + 30, "older than its picture, it is made again"
    shutil.rmtree(folder)
    tab = browser.new_page()
    tab.goto((report.folder / "index.html").as_uri())
    tab.locator(".card .frame.missing", has_text="the folder thumbnails is not beside this page").first.wait_for()
    tab.close()
