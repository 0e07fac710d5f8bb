"""Any two pictures of a sample in a real browser, from the disk, and what is shown in the address."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from PIL import Image

from edit_eval.records import NO_EDIT, Status
from edit_eval.reporting.entries import link
from edit_eval.reporting.scores import write_scores
from reporting.reported_runs import build_run, landscape, picture_at
from reporting.reports import Report, ids, report_on, show

OpenPage = Callable[..., Any]
SIZE = (736, 552)
CENTRE = """() => [...document.querySelectorAll('#stage img')].map((one) => {
  const box = one.getBoundingClientRect();
  const frame = one.closest('.frame').getBoundingClientRect();
  return [frame.x + frame.width / 2 - box.x, frame.y + frame.height / 2 - box.y, box.width, box.height].map(Math.round);
})"""
WHOLE = """() => [...document.querySelectorAll('#stage img')].length
  && [...document.querySelectorAll('#stage img')].every((one) => one.dataset.whole === 'true')"""


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Two models, two judges, pictures larger than a thumbnail; the first sample has more pictures than its source."""
    directory = tmp_path_factory.mktemp("two")
    run = build_run(directory, samples=9, size=SIZE, edit_models=("A&1", "B"), judges=("strict", "kind"), failing=0.2)
    more = {}
    for number, name in enumerate(("source_2", "reference")):
        landscape(20 + number, SIZE).save(directory / f"{name}.png")
        more[name] = picture_at(directory / f"{name}.png")
    first = replace(run.samples[0], pictures={**run.samples[0].pictures, **more})
    return report_on(replace(run, samples=(first, *run.samples[1:])))


def scores(report: Report, model: str, judge: str) -> dict[str, float]:
    judgements = (
        judgement
        for judgement in report.results.judgements
        if (judgement.edit_model, judgement.judge) == (model, judge)
    )
    return {judgement.sample_id: judgement.score for judgement in judgements if judgement.score is not None}


def pair(tab: Any) -> tuple[str, str, str]:
    """The two pictures, and the way in which they are compared."""
    left, right = (tab.locator(f"#pick-{side}").input_value() for side in ("left", "right"))
    return left, right, tab.locator("#stage").get_attribute("data-way")


def fragment(tab: Any) -> str:
    address: str = tab.evaluate("location.hash")
    return address


def seen(tab: Any) -> dict[str, Any]:
    """What a person sees of an open sample."""
    tab.wait_for_function(WHOLE)
    return {
        "sample": tab.locator("#detail-id").inner_text(),
        "pair": pair(tab),
        "pictures": tab.evaluate("[...document.querySelectorAll('#stage img')].map((one) => one.src)"),
        "place": tab.evaluate(CENTRE),
        "zoom": tab.locator("#zoom-shown").inner_text(),
        "words": tab.locator("#detail-words").inner_text(),
        "of": tab.locator("#detail-place").inner_text(),
    }


@pytest.mark.check
def test_the_worst_edit_of_one_model_beside_anothers_in_five_actions_and_a_link_to_it(
    two: Report, open_page: OpenPage
) -> None:
    tab = open_page(two)
    of_a = scores(two, "A&1", "strict")
    made = {edit.sample_id for edit in two.results.edits if edit.edit_model == "B" and edit.image}
    assert min(of_a, key=of_a.__getitem__) in made
    tab.select_option("[name=edit_model]", "A&1")
    show(tab, "worst")
    tab.locator(".card .instruction a").first.click()
    tab.keyboard.press("Shift+1")
    tab.keyboard.press("2")
    # Five actions: there it is, at full size.
    worst = min(of_a, key=of_a.__getitem__)
    assert tab.locator("#detail-id").inner_text() == worst
    assert pair(tab) == ("edit:A&1", "edit:B", "beside")
    tab.wait_for_function(WHOLE)
    assert tab.evaluate("[...document.querySelectorAll('#stage img')].map((one) => one.naturalWidth)") == [SIZE[0]] * 2
    for side, model in (("left", "A&1"), ("right", "B")):
        of = [scores(two, model, judge).get(worst) for judge in ("strict", "kind")]
        shown = tab.locator(f"#scores-{side} .score").all_text_contents()
        assert shown == [f"{score:.2f}" for score in of if score is not None], "each judge its own"
    assert tab.locator(".about-edit").count() == 2
    # Flip, while a key is held down.
    places = "[...document.querySelectorAll('#stage img')].map((one) => Math.round(one.getBoundingClientRect().x))"
    before = tab.evaluate(places)
    tab.keyboard.down(" ")
    assert tab.evaluate(places) == before[::-1]
    tab.keyboard.up(" ")
    assert tab.evaluate(places) == before
    # Zoom.
    tab.keyboard.press("z")
    assert tab.locator("#zoom-shown").inner_text() == "100 %"
    tab.keyboard.press("Shift+ArrowRight")
    # The link.
    taken, shown = shared(tab), seen(tab)
    assert taken.startswith("index.html#"), "a folder of this machine is worth nothing to others"
    assert "zoom=1" in taken
    fresh = open_page(two, taken[taken.index("#") :])
    assert seen(fresh) == shown
    assert fragment(fresh) == fragment(tab)
    fresh.keyboard.press("Escape")
    assert ids(fresh) == ids(tab)


@pytest.mark.check
def test_a_key_held_down_shows_the_other_and_a_button_keeps_its_space_bar(two: Report, open_page: OpenPage) -> None:
    tab = open_page(two, link(sample=two.results.samples[0].id, left="source", right="reference", way="flip"))
    tab.wait_for_function(WHOLE)
    visible = """() => [...document.querySelectorAll('#stage img')]
        .map((one) => getComputedStyle(one).visibility === 'visible')"""
    assert tab.evaluate(visible) == [True, False]
    tab.keyboard.down(" ")
    assert tab.evaluate(visible) == [False, True]
    tab.keyboard.up(" ")
    assert tab.evaluate(visible) == [True, False]
    tab.focus("#flip")
    tab.keyboard.press(" ")
    assert tab.evaluate(visible) == [False, True], "pressed, it stays"
    tab.keyboard.press("Enter")
    assert tab.evaluate(visible) == [True, False]
    frame = tab.locator("#stage .frame")
    frame.hover()
    tab.mouse.down()
    assert tab.evaluate(visible) == [False, True]
    tab.mouse.up()
    assert tab.evaluate(visible) == [True, False]


@pytest.mark.check
def test_both_are_enlarged_and_moved_as_one_to_the_pixel(two: Report, open_page: OpenPage) -> None:
    tab = open_page(two, link(sample=two.results.samples[0].id, left="source:2", right="reference", way="beside"))
    tab.wait_for_function(WHOLE)
    frames = [frame.bounding_box() for frame in tab.locator("#stage .frame").all()]
    # The wheel, over a place within the second: that place of both stays where it is.
    x, y = (
        round(frames[1][edge] + frames[1][size] * at) for edge, size, at in (("x", "width", 0.25), ("y", "height", 0.5))
    )
    under = """([x, y]) => [...document.querySelectorAll('#stage img')].map((one) => {
        const box = one.getBoundingClientRect();
        const frame = one.closest('.frame').getBoundingClientRect();
        return [(frame.x + x - box.x) / box.width, (frame.y + y - box.y) / box.height];
    })"""
    at = [x - frames[1]["x"], y - frames[1]["y"]]
    before = tab.evaluate(under, at)
    tab.mouse.move(x, y)
    for _ in range(4):
        tab.mouse.wheel(0, -400)
    tab.wait_for_function("() => parseInt(document.getElementById('zoom-shown').textContent) > 300")
    after = tab.evaluate(under, at)
    assert after[0] == pytest.approx(before[1], abs=1e-3)
    assert after[1] == pytest.approx(before[1], abs=1e-3)
    # Dragged by 70 and 30 pixels: both go with the hand.
    first, second = tab.evaluate(CENTRE)
    assert first == second
    tab.mouse.move(frames[0]["x"] + 200, frames[0]["y"] + 200)
    tab.mouse.down()
    tab.mouse.move(frames[0]["x"] + 130, frames[0]["y"] + 170, steps=4)
    tab.mouse.up()
    moved = tab.evaluate(CENTRE)
    assert moved[0] == moved[1] == [first[0] + 70, first[1] + 30, *first[2:]]
    # 1:1 is a pixel of the screen for a pixel of the picture; fit is all of it.
    tab.click("#zoom-actual")
    assert [box[2:] for box in tab.evaluate(CENTRE)] == [list(SIZE)] * 2
    tab.click("#zoom-fit")
    assert tab.locator("#zoom-fit").get_attribute("aria-pressed") == "true"
    assert all(box[2] <= frame["width"] + 1 for box, frame in zip(tab.evaluate(CENTRE), frames, strict=True))
    tab.wait_for_function("() => !location.hash.includes('zoom')")  # a moment later


@pytest.mark.check
def test_two_fingers_enlarge(two: Report, open_page: OpenPage) -> None:
    tab = open_page(two, link(sample=two.results.samples[0].id), has_touch=True)
    tab.set_viewport_size({"width": 390, "height": 844})
    tab.wait_for_function(WHOLE)
    assert tab.evaluate("document.querySelector('.detail-body').scrollWidth") <= 390
    box = tab.locator("#stage .frame").first.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    device = tab.context.new_cdp_session(tab)

    def touch(kind: str, apart: float) -> None:
        points = [{"x": x - apart, "y": y, "id": 1}, {"x": x + apart, "y": y, "id": 2}]
        device.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points if kind != "touchEnd" else []})

    before = tab.evaluate(CENTRE)[0][2]
    touch("touchStart", 30)
    for apart in (40, 60, 90):
        touch("touchMove", apart)
    touch("touchEnd", 90)
    for _ in range(200):  # what the fingers did is drawn with the next frame, which may be late
        if tab.evaluate(CENTRE)[0][2] == pytest.approx(3 * before, rel=0.1):
            break
        tab.wait_for_timeout(50)
    assert tab.evaluate(CENTRE)[0][2] == pytest.approx(3 * before, rel=0.1)


@pytest.mark.check
def test_arrows_go_on_with_the_same_two_and_say_where_one_is_missing(two: Report, open_page: OpenPage) -> None:
    tab = open_page(two, link(show="worst", sample=two.results.samples[0].id, left="reference", right="edit:B"))
    order = tab.evaluate("[...document.querySelectorAll('.card .id')].map((one) => one.textContent)")
    place = order.index(two.results.samples[0].id)
    assert pair(tab) == ("reference", "edit:B", "beside")
    key, back = ("ArrowRight", "ArrowLeft") if place + 1 < len(order) else ("ArrowLeft", "ArrowRight")
    tab.keyboard.press(key)
    assert tab.locator("#detail-id").inner_text() == order[place + (1 if key == "ArrowRight" else -1)]
    assert pair(tab) == ("reference", "edit:B", "beside")
    assert "This sample has no such picture." in tab.locator("#stage").inner_text()
    tab.keyboard.press(back)
    assert pair(tab) == ("reference", "edit:B", "beside")
    tab.locator("#choices button[value='source:2']").click()
    assert pair(tab)[:2] == ("reference", "source:2")
    tab.locator("#choices button[value='edit:A&1']").click(modifiers=["Shift"])
    assert pair(tab)[:2] == ("edit:A&1", "source:2")
    assert tab.locator("#pick-left option").all_inner_texts() == ["Source", "Source 2", "Reference", "A&1", "B"]


@pytest.mark.check
def test_each_seed_of_a_model_is_a_picture_of_its_own(tmp_path: Path, open_page: OpenPage) -> None:
    run = build_run(tmp_path, samples=2, size=(96, 72))
    again = tuple(replace(edit, edit_seed=1, seed=edit.seed + 77) for edit in run.edits)
    judged = tuple(replace(judgement, edit_seed=1) for judgement in run.judgements)
    report = report_on(replace(run, edits=(*run.edits, *again), judgements=(*run.judgements, *judged)))
    model = run.edit_models[0]
    tab = open_page(report, link(sample=run.samples[1].id, left=f"edit:{model}:1", right=f"edit:{model}:0"))
    assert pair(tab) == (f"edit:{model}:1", f"edit:{model}:0", "beside")
    assert tab.locator("#pick-left option:checked").inner_text() == f"{model} · seed {run.edits[1].seed + 77}"
    tab.goto((report.folder / "index.html").as_uri() + link(sample=run.samples[0].id, right=f"edit:{model}"))
    assert pair(tab)[1] == f"edit:{model}:0", "the first, where none is named"


@pytest.mark.check
def test_what_is_only_in_the_page_is_said_to_be_a_copy(
    two: Report, tmp_path: Path, browser: Any, open_page: OpenPage
) -> None:
    alone = tmp_path / "alone.html"
    alone.write_bytes((two.folder / "index.html").read_bytes())
    edit = next(edit for edit in two.results.edits if edit.status is Status.OK)
    tab = open_page(two, link(sample=edit.sample_id, right=f"edit:{edit.edit_model}"))
    tab.wait_for_function(WHOLE)
    assert tab.locator("#size-right").inner_text() == "736 × 552"
    tab = browser.new_page()
    tab.goto(alone.as_uri() + link(sample=edit.sample_id, right=f"edit:{edit.edit_model}"))
    tab.get_by_text("smaller copy, 512 × 384 of 736 × 552").wait_for()
    tab.close()


# -- the address --


STATES = (
    {"model": "B", "judge": "kind", "show": "worst"},
    {"show": "failed", "model": "A&1"},
    {"category": "physical", "difficulty": "medium"},
    {"judge": "kind", "min": "4.5", "max": "8.25", "show": "best", "view": "slider"},
    {"show": "models"},
    {"tag": "lighting", "search": "the"},
)


@pytest.mark.check
def test_a_link_to_a_choice_shows_it_and_the_page_writes_the_same(two: Report, open_page: OpenPage) -> None:
    tab = open_page(two, link(**STATES[0]))
    names = {"model": "edit_model", "min": "lowest", "max": "highest"}
    for state in (*STATES, STATES[0]):
        tab.evaluate("(address) => { location.hash = address; }", link(**state))
        tab.wait_for_function(
            "([name, value]) => document.getElementById('filters').elements[name].value === value",
            arg=[names.get(next(iter(state)), next(iter(state))), next(iter(state.values()))],
        )
        shown = ids(tab)
        assert shown, state
        for key, value in state.items():
            field = f"[name={names.get(key, key)}]" + (":checked" if key in ("view", "show") else "")
            assert tab.locator(field).input_value() == value
        assert tab.locator("#gallery-unknown").is_hidden()
        tab.locator(".card .instruction a").first.click()
        tab.keyboard.press("Escape")
        tab.locator("#detail").wait_for(state="hidden")
        tab.wait_for_function("() => !location.hash.includes('sample')")
        assert tab.evaluate("Object.fromEntries(new URLSearchParams(location.hash.slice(1)))") == state
    tab.reload()
    assert ids(tab) == shown


@pytest.mark.check
def test_a_link_on_the_page_leads_to_its_samples(two: Report, open_page: OpenPage) -> None:
    tab = open_page(two)
    tab.evaluate(
        "(address) => { const made = document.createElement('a'); made.href = address; made.id = 'made';"
        " made.append('failed'); document.querySelector('main').prepend(made); }",
        link(show="failed", model="B"),
    )
    tab.focus("#made")
    tab.keyboard.press("Enter")
    assert len(ids(tab)) < 9
    assert tab.evaluate("document.activeElement.closest('#gallery') !== null"), "the reader is led there"
    tab.wait_for_function(
        "() => { const { top } = document.activeElement.getBoundingClientRect(); return top >= 0 && top < 900; }"
    )


@pytest.mark.check
def test_those_that_differ_do_by_more_than_nothing(two: Report, open_page: OpenPage) -> None:
    first, second = (scores(two, model, "strict") for model in ("A&1", "B"))
    apart = {sample: abs(first[sample] - second[sample]) for sample in first.keys() & second.keys()}
    tab = open_page(two, link(show="models"))
    assert set(ids(tab)) == {sample for sample, by in apart.items() if by}
    of_two = [scores(two, model, judge) for model in ("A&1", "B") for judge in ("strict", "kind")]
    strict, kind = (fmean([*of_two[place].values(), *of_two[place + 2].values()]) for place in (0, 1))
    judges = {
        sample.id
        for sample in two.results.samples
        if any(sample.id in a and sample.id in b and abs(a[sample.id] - strict - b[sample.id] + kind) > 1e-9
               for a, b in (of_two[:2], of_two[2:]))
    }  # fmt: skip
    tab.goto((two.folder / "index.html").as_uri() + link(show="judges"))
    assert set(ids(tab)) == judges


@pytest.mark.check
def test_who_got_it_wrong(two: Report, open_page: OpenPage) -> None:
    first, second = (scores(two, model, "strict") for model in ("A&1", "B"))
    for edit in two.results.edits:
        if edit.status in NO_EDIT:
            (first if edit.edit_model == "A&1" else second)[edit.sample_id] = 0.0
    known = [(sample, first[sample], second[sample]) for sample in first.keys() & second.keys()]
    bar = round(max(min(score, its) for _, score, its in known) - 0.001, 3)  # one sample is right with both
    wanted = {
        "only:A&1": {sample for sample, score, its in known if score < bar <= its},
        "none": {sample for sample, score, its in known if min(score, its) >= bar},
        "all": {sample for sample, score, its in known if max(score, its) < bar},
    }
    assert all(wanted.values())
    tab = open_page(two)
    assert tab.locator("[name=bar]").get_attribute("placeholder") == "5.00", "the middle of the scale"
    for wrong, samples in wanted.items():
        tab.goto((two.folder / "index.html").as_uri() + link(wrong=wrong, bar=bar))
        assert set(ids(tab)) == samples
    tab.select_option("[name=wrong]", "only:A&1")
    tab.locator(".card .instruction a").first.click()
    assert tab.locator("#pick-right").input_value() == "edit:A&1"


@pytest.mark.check
def test_back_and_forward_go_through_what_was_shown(two: Report, open_page: OpenPage) -> None:
    tab = open_page(two)
    everything = ids(tab)
    tab.select_option("[name=difficulty]", "hard")
    hard = ids(tab)
    show(tab, "worst")
    worst = ids(tab)
    assert len(hard) < len(everything)
    assert worst != hard
    tab.locator(".card .instruction a").nth(1).click()
    tab.locator("#detail").wait_for()
    for expected in (worst, hard, everything):
        tab.go_back()
        tab.wait_for_function(
            "(wanted) => JSON.stringify(wanted) === JSON.stringify("
            "[...document.querySelectorAll('.card .id')].map((one) => one.textContent))",
            arg=expected,
        )
        assert tab.locator("#detail").is_hidden()
    tab.go_forward()
    tab.go_forward()
    tab.go_forward()
    tab.locator("#detail").wait_for()
    assert tab.locator("#detail-id").inner_text() == worst[1]


@pytest.mark.check
def test_a_section_of_the_page_leaves_the_choice_as_it_is(two: Report, open_page: OpenPage) -> None:
    tab = open_page(two, link(difficulty="hard"))
    hard = ids(tab)
    tab.click(".masthead nav a[href='#results']")
    tab.wait_for_function("() => location.hash === '#results'")
    assert ids(tab) == hard


@pytest.mark.check
def test_what_the_page_does_not_have_is_said(two: Report, open_page: OpenPage) -> None:
    tab = open_page(two, link(model="C", judge="nobody", show="sideways", min="low", sample="gone"))
    assert len(ids(tab)) == 9
    assert tab.locator("#detail").is_hidden()
    said = tab.locator("#gallery-unknown").inner_text()
    assert all(setting in said for setting in ("model=C", "judge=nobody", "show=sideways", "min=low")), said


# -- what is taken along --


def saved(tab: Any) -> list[dict[str, str]]:
    tab.click("#selection summary")
    with tab.expect_download() as coming:
        tab.click("#selection-csv")
    text = Path(coming.value.path()).read_bytes().decode()
    return list(csv.DictReader(io.StringIO(text, newline="")))


def shared(tab: Any) -> str:
    """The link that the menu gives, of which it says what it opens."""
    clipboard = "{ writeText: async (text) => { window.taken = text; } }"
    tab.evaluate(f"Object.defineProperty(navigator, 'clipboard', {{ value: {clipboard}, configurable: true }})")
    tab.click("#selection summary")
    tab.click("#share-link")
    tab.locator("#link-said > *").first.wait_for()
    assert "in the same file" in tab.locator("#link-said").inner_text()
    tab.keyboard.press("Escape")
    taken: str = tab.evaluate("window.taken")
    return taken


@pytest.mark.check
def test_the_open_pair_is_saved_as_a_picture(two: Report, open_page: OpenPage) -> None:
    """Of a page on disk, whose pictures' own files may not be copied."""
    made = next(edit for edit in two.results.edits if edit.status is Status.OK)
    tab = open_page(two, link(sample=made.sample_id, left="source", right=f"edit:{made.edit_model}"))
    tab.wait_for_function(WHOLE)
    tab.click("#selection summary")
    with tab.expect_download() as coming:
        tab.click("#share-png")
    with Image.open(coming.value.path()) as drawn:
        assert drawn.width == 2 * 768 + 3 * 24
        sides = [drawn.convert("RGB").crop((left, 100, left + 768, 500)) for left in (24, 24 + 792)]
    assert all(len(side.getcolors(1 << 20) or range(9)) > 2 for side in sides), "two pictures"
    assert sides[0] != sides[1]
    tab.keyboard.press("Escape")
    assert not tab.locator("#selection[open]").count()
    tab.keyboard.press("Escape")
    tab.locator("#detail").wait_for(state="hidden")
    assert tab.locator(".gallery-head #share-pair").count() == 1
    assert tab.locator("#share-pair").is_hidden()


@pytest.mark.check
def test_what_is_taken_along_is_chosen_on_the_page(hostile: Report, open_page: OpenPage) -> None:
    tab = open_page(hostile)  # its long names wrap the line of buttons
    for width in (1280, 1100, 760, 390):
        tab.set_viewport_size({"width": width, "height": 800})
        for _ in range(2):
            tab.click("#selection summary")
            if tab.locator("#selection[open]").count():
                tab.wait_for_function(
                    "() => document.querySelector('#selection > div').getBoundingClientRect().left >= 0"
                )
                assert tab.evaluate(
                    "document.querySelector('#selection > div').getBoundingClientRect().right <= innerWidth"
                )


def test_the_csv_has_the_rows_of_scores_csv_that_are_chosen(two: Report, open_page: OpenPage) -> None:
    file = io.StringIO(newline="")
    write_scores(two.results, file)
    rows = list(csv.DictReader(io.StringIO(file.getvalue(), newline="")))

    def plain(some: list[dict[str, str]]) -> list[dict[str, str]]:
        numbered = [{**row, "score": f"{float(row['score']):.9f}" if row["score"] else ""} for row in some]
        return sorted(numbered, key=lambda row: list(row.values()))

    everything = saved(open_page(two))
    assert list(everything[0]) == list(rows[0])
    assert plain(everything) == plain(rows)
    tab = open_page(two, link(show="failed", model="B"))
    assert "edits of" in tab.locator("#selection-count").text_content() or not tab.locator("#selection[open]").count()
    failed = {
        (row["sample_id"]) for row in rows if row["edit_model"] == "B" and row["judge"] == "strict" and not row["score"]
    }
    assert plain(saved(tab)) == plain([row for row in rows if row["edit_model"] == "B" and row["sample_id"] in failed])
    assert failed
    command = tab.locator("#selection-command").inner_text()
    assert command == f"edit-eval export {Path(two.results.directory).name} selection.html --samples selection.csv"


def test_what_a_spreadsheet_would_run_is_disarmed(hostile: Report, open_page: OpenPage) -> None:
    file = io.StringIO(newline="")
    write_scores(hostile.results, file)
    rows = list(csv.DictReader(io.StringIO(file.getvalue(), newline="")))
    saved_rows = saved(open_page(hostile))
    for column in ("sample_id", "category", "edit_model", "judge", "why_no_score"):
        assert sorted(row[column] for row in saved_rows) == sorted(row[column] for row in rows)
