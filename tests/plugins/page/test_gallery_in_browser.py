"""The page's gallery in a real browser: choosing, looking closely, the keyboard."""

from __future__ import annotations

import io
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any
from urllib.parse import quote

import pytest
from PIL import Image, ImageChops

from edit_eval.records import Status
from reporting.reported_runs import build_run, pictured
from reporting.reports import Report, ids, link_to, report_on, show

OpenPage = Callable[..., Any]


def count(tab: Any) -> str:
    return tab.locator("#gallery-count").inner_text()


def picture_of(element: Any) -> Image.Image:
    return Image.open(io.BytesIO(element.screenshot())).convert("RGB")


@pytest.mark.check
def test_cards_come_a_page_at_a_time(incomplete: Report, open_page: OpenPage) -> None:
    tab = open_page(incomplete)
    assert len(ids(tab)) == 24
    tab.click("#pages button[value='1']")
    assert ids(tab) == [sample.id for sample in incomplete.results.samples[24:]]
    assert tab.locator("#pages p").inner_text() == "Page 2 of 2"
    assert tab.locator("#pages button[value='1']").is_disabled()


def test_filters_leave_what_they_name(incomplete: Report, open_page: OpenPage) -> None:
    tab = open_page(incomplete)
    samples = incomplete.results.samples
    judgements = {judgement.sample_id: judgement for judgement in incomplete.results.judgements}

    def expect(wanted: Callable[[Any], bool]) -> None:
        expected = [sample.id for sample in samples if wanted(sample)]
        assert 0 < len(expected) < len(samples)
        assert ids(tab) == expected[:24]
        assert count(tab) == f"{len(expected)} of 30 samples"
        tab.click("#filters [type=reset]")
        tab.wait_for_function("() => document.getElementById('gallery-count').textContent.startsWith('30')")

    tab.select_option("[name=category]", "causal")
    expect(lambda sample: sample.category == "causal")
    tab.select_option("[name=difficulty]", "hard")
    expect(lambda sample: sample.difficulty == "hard")
    tab.select_option("[name=tag]", "lighting")
    expect(lambda sample: "lighting" in sample.tags)
    tab.select_option("[name=status]", "edit_failed")
    expect(lambda sample: judgements[sample.id].status is Status.EDIT_FAILED)
    tab.select_option("[name=status]", "")
    show(tab, "failed")
    expect(lambda sample: judgements[sample.id].status is not Status.OK)
    show(tab, "all")
    tab.fill("[name=lowest]", "6.5")
    expect(lambda sample: (judgements[sample.id].score or -1) >= 6.5)
    tab.fill("[name=lowest]", "5")
    tab.fill("[name=highest]", "7")
    expect(lambda sample: 5 <= (judgements[sample.id].score or -1) <= 7)


@pytest.mark.check
def test_filters_together_and_none_left(complete: Report, open_page: OpenPage) -> None:
    tab = open_page(complete)
    tab.select_option("[name=category]", "causal")
    tab.select_option("[name=difficulty]", "hard")
    tab.fill("[name=search]", "no such words anywhere")
    assert ids(tab) == []
    assert "No sample matches" in tab.locator("#cards").inner_text()


@pytest.mark.check
def test_search_looks_at_ids_instructions_and_the_judges_words(incomplete: Report, open_page: OpenPage) -> None:
    tab = open_page(incomplete)
    tab.fill("[name=search]", "00007")
    assert ids(tab) == [incomplete.results.samples[7].id]
    tab.fill("[name=search]", "展示一夜暴雨")
    assert {sample.split("_")[1] for sample in ids(tab)} == {"因果"}
    tab.fill("[name=search]", "EDGE BLEEDS")
    expected = [judgement.sample_id for judgement in incomplete.results.judgements if "edge bleeds" in judgement.answer]
    assert ids(tab) == expected[:24]


@pytest.mark.check
def test_sorting_by_score_puts_what_has_none_last(incomplete: Report, open_page: OpenPage) -> None:
    tab = open_page(incomplete)
    scores = {judgement.sample_id: judgement.score for judgement in incomplete.results.judgements}
    for order, sign in (("worst", 1), ("best", -1)):
        show(tab, order)
        shown = ids(tab)
        tab.click("#pages button[value='1']")
        shown += ids(tab)
        numbers = [scores[sample] for sample in shown]
        known = [number for number in numbers if number is not None]
        assert numbers == [*sorted(known, key=lambda number: sign * number), *[None] * (30 - len(known))]


@pytest.mark.check
def test_sorting_by_disagreement(several: Report, open_page: OpenPage) -> None:
    tab = open_page(several)
    scored = [judgement for judgement in several.results.judgements if judgement.score is not None]
    level = {
        judge: fmean(judgement.score for judgement in scored if judgement.judge == judge)
        for judge in several.results.judges
    }
    scores: dict[str, dict[str, list[float]]] = {}
    for judgement in scored:
        scores.setdefault(judgement.sample_id, {}).setdefault(judgement.edit_model, []).append(
            judgement.score - level[judgement.judge]
        )

    def spread(numbers: list[float]) -> float:
        return max(numbers) - min(numbers) if len(numbers) > 1 else -1

    between_models = {key: spread(list(of.values())) for key, of in scores_by(several, "strict").items()}
    between_judges = {key: max(spread(x) for x in of.values()) for key, of in scores.items()}
    for order, spreads in (("models", between_models), ("judges", between_judges)):
        show(tab, order)
        shown = [spreads.get(sample, -1) for sample in ids(tab)]
        assert shown == sorted((spread for spread in spreads.values() if spread > 0), reverse=True)


@pytest.mark.check
def test_one_model_alone(several: Report, open_page: OpenPage) -> None:
    tab = open_page(several)
    assert tab.locator(".card").first.locator(".tile").count() == 3
    tab.select_option("[name=edit_model]", "second")
    assert tab.locator(".card").first.locator(".tile").count() == 2
    assert "second" in tab.locator(".card").first.inner_text()
    assert "first" not in tab.locator(".card").first.inner_text()


@pytest.mark.check
def test_a_single_model_offers_no_choice_of_models(complete: Report, open_page: OpenPage) -> None:
    tab = open_page(complete)
    assert tab.locator("[name=edit_model]").is_hidden()
    assert tab.locator("#chips label:visible").all_inner_texts() == ["All", "Lowest", "Highest"]


@pytest.mark.check
def test_the_slider_uncovers_the_edit(complete: Report, open_page: OpenPage) -> None:
    tab = open_page(complete)
    tab.click(".gallery-head input[value=slider] + span")
    frame = tab.locator(".card .frame").first
    before = picture_of(frame)
    slider = frame.locator("input[type=range]")
    slider.focus()
    for _ in range(10):
        tab.keyboard.press("PageUp")
    assert float(slider.input_value()) > 50
    assert ImageChops.difference(before, picture_of(frame)).getbbox() is not None
    assert tab.locator("#detail").is_hidden()  # to slide is not to open


def test_the_difference_of_a_picture_with_itself_is_black(
    tmp_path: Path, complete: Report, open_page: OpenPage
) -> None:
    run = build_run(tmp_path, samples=2, size=(96, 72))
    shutil.copy(run.samples[0].source, tmp_path / run.edits[0].image)
    tab = open_page(report_on(run))
    tab.click(".gallery-head input[value=difference] + span")
    frames = tab.locator(".card .frame")
    inner = (20, 20, 80, 80)  # without the rounded corners
    assert picture_of(frames.nth(0)).crop(inner).getextrema() == ((0, 0), (0, 0), (0, 0))
    assert max(high for _, high in picture_of(frames.nth(1)).crop(inner).getextrema()) > 20


def test_a_deep_link_opens_its_sample(several: Report, open_page: OpenPage) -> None:
    tab = open_page(several, link_to(several, 4))
    tab.locator("#detail").wait_for()
    assert tab.locator("#detail-id").inner_text() == several.results.samples[4].id
    words = tab.locator("#detail-words").inner_text()
    sample = several.results.samples[4]
    assert sample.instructions["en"] in words
    assert sample.instructions["zh"] in words
    assert "strict" in words
    assert "kind" in words


@pytest.mark.check
def test_a_failed_edit_stands_beside_its_source_and_is_said_once(several: Report, open_page: OpenPage) -> None:
    """Two judges would have seen it, and there is nothing to lay a slider over."""
    failed = next(edit for edit in several.results.edits if edit.status is Status.EDIT_FAILED)
    place = next(n for n, sample in enumerate(several.results.samples) if sample.id == failed.sample_id)
    tab = open_page(several, link_to(several, place))
    tab.locator("#detail").wait_for()
    tab.keyboard.press(str(1 + several.results.edit_models.index(failed.edit_model)))
    tab.locator("#stage .frame.missing").wait_for()
    assert tab.locator("#stage .frame img").get_attribute("alt") == f"Source image of {failed.sample_id}"
    assert tab.locator("#stage-ways").is_hidden()
    assert tab.locator("#detail-words .verdict").count() == 1
    assert failed.reason in tab.locator("#detail-words .verdict").inner_text()
    made = next(edit for edit in several.results.edits if edit.status is Status.OK and edit.image)
    tab.evaluate("(address) => { location.hash = address; }", f"#sample={quote(made.sample_id, safe='')}")
    tab.locator("#detail-id").get_by_text(made.sample_id, exact=True).wait_for()  # it is told a moment later
    tab.keyboard.press(str(1 + several.results.edit_models.index(made.edit_model)))
    tab.locator("#stage-ways").wait_for()
    assert tab.locator("#detail-words .verdict").count() == 2


@pytest.mark.check
def test_a_sample_opened_while_another_closes_stays(complete: Report, open_page: OpenPage) -> None:
    """A dialog says only later that it was closed, perhaps after it was opened again."""
    tab = open_page(complete, link_to(complete, 0))
    tab.locator("#detail").wait_for()
    tab.evaluate(
        """(address) => {
            const detail = document.getElementById('detail');
            const said = new Promise((resume) => { detail.addEventListener('close', resume, { once: true }); });
            detail.close();
            history.replaceState(null, '', address);
            dispatchEvent(new HashChangeEvent('hashchange'));
            return said;
        }""",
        link_to(complete, 3),
    )
    tab.keyboard.press("b")
    assert tab.locator("#detail-id").inner_text() == complete.results.samples[3].id
    assert tab.locator("#stage img").count() == 2


def test_the_keyboard_walks_through_the_chosen_samples(complete: Report, open_page: OpenPage) -> None:
    tab = open_page(complete)
    tab.select_option("[name=category]", "social")
    first, second = ids(tab)
    tab.locator(".card .instruction a").first.click()
    tab.locator("#detail").wait_for()
    title = tab.locator("#detail-id")
    assert title.inner_text() == first
    tab.keyboard.press("ArrowRight")
    assert title.inner_text() == second
    assert tab.evaluate("new URLSearchParams(location.hash.slice(1)).get('sample')") == second
    assert tab.locator("#detail-place").inner_text() == "2 of 2"
    tab.keyboard.press("ArrowRight")  # the last one: stays
    assert title.inner_text() == second
    tab.keyboard.press("ArrowLeft")
    assert title.inner_text() == first
    tab.keyboard.press("Escape")
    tab.locator("#detail").wait_for(state="hidden")
    tab.wait_for_function("() => location.hash === '#category=social'")


@pytest.mark.check
def test_the_browsers_back_closes_the_detail(complete: Report, open_page: OpenPage) -> None:
    tab = open_page(complete)
    tab.locator(".card .tile").first.click()
    tab.locator("#detail").wait_for()
    tab.go_back()
    tab.locator("#detail").wait_for(state="hidden")


@pytest.mark.check
def test_keys_change_the_view_and_the_edit(several: Report, open_page: OpenPage) -> None:
    tab = open_page(several, link_to(several, 0))
    stage = tab.locator("#stage")
    for key, view, frames in (("b", "beside", 2), ("d", "difference", 1), ("f", "flip", 1), ("s", "slider", 1)):
        tab.keyboard.press(key)
        assert stage.get_attribute("data-way") == view
        assert stage.locator(".frame").count() == frames
    assert [tab.locator(f"#pick-{side}").input_value() for side in ("left", "right")] == ["source", "edit:first"]
    tab.keyboard.press("2")
    tab.keyboard.press("Shift+1")
    assert [tab.locator(f"#pick-{side}").input_value() for side in ("left", "right")] == ["edit:first", "edit:second"]
    tab.keyboard.press("x")
    assert [tab.locator(f"#pick-{side}").input_value() for side in ("left", "right")] == ["edit:second", "edit:first"]


@pytest.mark.check
def test_arrows_belong_to_the_slider_while_it_has_the_focus(complete: Report, open_page: OpenPage) -> None:
    tab = open_page(complete, link_to(complete, 0))
    tab.keyboard.press("s")
    tab.focus("#stage input[type=range]")
    tab.keyboard.press("ArrowRight")
    assert tab.locator("#detail-place").inner_text() == "1 of 10"
    assert float(tab.locator("#stage input[type=range]").input_value()) == 50.5


@pytest.mark.check
def test_the_stage_shows_the_files_themselves_where_they_are(complete: Report, open_page: OpenPage) -> None:
    tab = open_page(complete, link_to(complete, 0))
    tab.wait_for_function(
        "() => [...document.querySelectorAll('#stage img')].every((image) => image.src.startsWith('file:'))"
    )
    assert tab.locator("#stage img").count() == 2


def test_failures_have_their_status_and_reason_and_no_number(incomplete: Report, open_page: OpenPage) -> None:
    tab = open_page(incomplete)
    failed = next(judgement for judgement in incomplete.results.judgements if judgement.status is Status.UNPARSEABLE)
    place = [sample.id for sample in incomplete.results.samples].index(failed.sample_id)
    tab.goto((incomplete.folder / "index.html").as_uri() + link_to(incomplete, place))
    tab.locator("#detail").wait_for()
    verdict = tab.locator(".verdict")
    assert "no score in the answer" in verdict.inner_text()
    assert failed.reason in verdict.inner_text()
    assert failed.answer in verdict.inner_text()
    assert verdict.locator(".score").count() == 0


def test_what_is_gone_is_said_on_its_card(several: Report, open_page: OpenPage) -> None:
    tab = open_page(several)
    text = tab.locator("#cards").inner_text()
    assert "The source image was not on the computer that drew this page." in text
    assert "The file of this edit is no longer there." in text
    assert "The picture cannot be read." in text
    for view in ("slider", "difference"):
        tab.click(f".gallery-head input[value={view}] + span")
        assert "The source image was not on the computer that drew this page." in tab.locator("#cards").inner_text()
    tab.goto((several.folder / "index.html").as_uri() + link_to(several, 3))
    tab.locator("#detail").wait_for()
    assert "was not on the computer that drew this page" in tab.locator("#stage").inner_text()


@pytest.mark.check
def test_flags_are_shown(several: Report, open_page: OpenPage) -> None:
    tab = open_page(several, link_to(several, 0))
    assert "identical to the source" in tab.locator("#detail-words").inner_text()


# -- several judges: one is chosen, and no number mixes two --


def scores_by(report: Report, judge: str) -> dict[str, dict[str, float]]:
    """sample -> edit model -> the judge's score."""
    scores: dict[str, dict[str, float]] = {}
    for judgement in report.results.judgements:
        if judgement.judge == judge and judgement.score is not None:
            scores.setdefault(judgement.sample_id, {})[judgement.edit_model] = judgement.score
    return scores


def open_card(tab: Any, sample: str) -> None:
    """Opens the sample under the filters that are set."""
    tab.locator(".card", has=tab.locator(f".id[title='{sample}']")).locator(".instruction a").click()
    tab.locator("#detail").wait_for()


def choose(tab: Any, name: str, value: str) -> None:
    tab.select_option(f"[name={name}]", value)


def test_every_score_on_a_card_is_the_chosen_judges(several: Report, open_page: OpenPage) -> None:
    tab = open_page(several)
    assert tab.locator("[name=judge] option").all_text_contents() == ["strict", "kind"], "there is no mean of both"
    for judge in ("strict", "kind"):
        choose(tab, "judge", judge)
        assert count(tab).endswith(f"judged by {judge}")
        scores = scores_by(several, judge)
        for card in tab.locator(".card").all():
            of_sample = scores.get(card.locator(".id").inner_text(), {})
            shown = card.locator(".score").all_text_contents()
            assert shown == [f"{of_sample[model]:.2f}" for model in several.results.edit_models if model in of_sample]


@pytest.mark.check
def test_sorting_and_bounds_are_by_the_chosen_judge_alone(several: Report, open_page: OpenPage) -> None:
    tab = open_page(several)
    for judge in ("kind", "strict"):
        choose(tab, "judge", judge)
        scores = scores_by(several, judge)
        show(tab, "worst")
        worst = [min(scores[sample].values()) for sample in ids(tab) if sample in scores]
        assert worst == sorted(worst)
        show(tab, "best")
        best = [max(scores[sample].values()) for sample in ids(tab) if sample in scores]
        assert best == sorted(best, reverse=True)
        bound = sorted(best)[len(best) // 2]
        tab.fill("[name=lowest]", str(bound))
        assert set(ids(tab)) == {sample for sample, of in scores.items() if max(of.values()) >= bound}
        tab.fill("[name=lowest]", "")


@pytest.mark.check
def test_the_strip_of_the_detail_has_the_chosen_judges_scores(several: Report, open_page: OpenPage) -> None:
    tab = open_page(several)
    for judge in ("strict", "kind"):
        choose(tab, "judge", judge)
        scores = scores_by(several, judge)
        sample = next(sample.id for sample in several.results.samples if len(scores.get(sample.id, {})) == 2)
        open_card(tab, sample)
        assert tab.locator("#choices .score").all_text_contents() == [f"{s:.2f}" for s in scores[sample].values()]
        assert tab.locator("#choices-judge").inner_text() == f"judged by {judge}"
        assert tab.locator(".verdict .judge").first.inner_text() == f"{judge} (judge)", "the chosen one comes first"
        assert tab.locator(".verdict .judge").count() == 2
        tab.keyboard.press("Escape")


@pytest.mark.check
def test_the_detail_opens_the_edit_that_the_filters_are_about(several: Report, open_page: OpenPage) -> None:
    tab = open_page(several)
    show(tab, "failed")
    scores = scores_by(several, "strict")
    half = [sample for sample in ids(tab) if len(scores.get(sample, {})) == 1]
    assert half, "a sample of which one model is scored"
    for sample in half:
        (scored,) = scores[sample]
        open_card(tab, sample)
        pressed = tab.locator("#choices [aria-pressed=true] .model")
        pressed.wait_for()
        assert pressed.inner_text() != scored
        tab.keyboard.press("Escape")


@pytest.mark.check
def test_a_single_judge_is_not_asked_for(complete: Report, open_page: OpenPage) -> None:
    tab = open_page(complete)
    assert tab.locator("[name=judge]").is_hidden()
    assert count(tab) == "10 of 10 samples"
    tab.goto((complete.folder / "index.html").as_uri() + link_to(complete, 0))
    assert tab.locator("#choices-judge").is_hidden()


# -- what travels --


@pytest.mark.check
def test_the_page_says_that_sources_stay_where_they_are(
    tmp_path: Path, browser: Any, complete: Report, open_page: OpenPage
) -> None:
    run = build_run(tmp_path / "run", samples=1, size=(96, 72))
    elsewhere = tmp_path / "elsewhere.png"
    Path(run.samples[0].source).rename(elsewhere)
    report = report_on(replace(run, samples=(pictured(run.samples[0], elsewhere),)))
    here = open_page(report, link_to(report, 0))
    assert "Source images are not in it" in here.locator("#gallery").inner_text()
    here.locator(".edit-facts a").nth(1).wait_for()
    assert here.locator(".edit-facts a").all_text_contents() == [
        "Edit at full size",
        "Source at full size, on this computer",
    ]
    moved = tmp_path / "moved"
    shutil.copytree(report.folder, moved / "report")
    elsewhere.unlink()
    tab = browser.new_context().new_page()
    tab.goto((moved / "report" / "index.html").as_uri() + link_to(report, 0))
    tab.wait_for_function("() => document.querySelectorAll('.edit-facts a').length === 0")
    said = tab.locator(".edit-facts").inner_text()
    assert "The edit at full size is in the run directory, which is not beside this page" in said
    assert "The source at full size is not on this computer" in said
    tab.keyboard.press("Escape")
    tab.click("#language button[value=zh]")
    assert "原尺寸原图不在这台电脑上" in tab.locator(".edit-facts").text_content()
    tab.context.close()


# -- contrast and paper --


def luminance(colour: str) -> float:
    red, green, blue = (int(part) / 255 for part in re.findall(r"\d+", colour)[:3])
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (red, green, blue)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.check
@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_the_chosen_views_label_can_be_read(complete: Report, open_page: OpenPage, scheme: str) -> None:
    tab = open_page(complete, color_scheme=scheme)
    ink, ground = tab.evaluate("""() => {
        const label = document.querySelector('.gallery-head input:checked + span');
        const innermost = label.querySelector('*') || label;
        return [getComputedStyle(innermost).color, getComputedStyle(label).backgroundColor];
    }""")
    darker, lighter = sorted((luminance(ink), luminance(ground)))
    assert (lighter + 0.05) / (darker + 0.05) >= 4.5


@pytest.mark.check
def test_no_table_is_cut_off_on_paper(several: Report, open_page: OpenPage) -> None:
    tab = open_page(several)
    tab.set_viewport_size({"width": 680, "height": 960})  # A4 with its margins
    tab.emulate_media(media="print")
    wide = tab.evaluate("""() => [...document.querySelectorAll('table')].filter((table) => table.offsetParent)
        .map((table) => [table.getBoundingClientRect().right, getComputedStyle(table.parentElement).overflowX])""")
    assert wide
    assert all(right <= 681 for right, _ in wide), wide
    assert tab.locator("#filters").is_hidden()
    assert tab.locator(".gallery-head select").is_hidden()
