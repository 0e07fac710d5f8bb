"""The viewer's pages in a real browser. A test also fails if a page raises an error or asks for anything elsewhere."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edit_eval.reporting.entries import link
from edit_eval.run import Run, evaluate
from plugins.viewer.served import Viewer
from small_benchmark import write_benchmark

Open = Callable[..., Any]


@pytest.mark.check
def test_from_the_list_to_a_picture_at_full_size(viewer: Viewer, open_tab: Open) -> None:
    tab = open_tab(viewer.address)
    tab.locator(".runs .dot.complete").wait_for()
    assert tab.locator(".runs .number b").count() == 3
    tab.wait_for_function(
        "() => [...document.querySelectorAll('.runs td.pictures img')].every((one) => one.naturalWidth)"
    )
    tab.fill("[name=search]", "no run has this")
    assert tab.locator(".runs tbody tr").count() == 0
    tab.fill("[name=search]", "third complete")
    tab.click(".run-name")
    tab.locator(".card").first.wait_for()
    assert tab.locator("#live").is_hidden()
    tab.locator(".card a").first.click()
    tab.wait_for_function(
        "() => [...document.querySelectorAll('#stage img')].every((one) => /[0-9a-f]{64}$/.test(one.src))"
    )
    assert tab.evaluate("document.querySelector('#stage img').naturalWidth") == 64
    tab.keyboard.press("Escape")
    tab.click("#language button[value=zh]")
    assert "运行" in tab.inner_text(".masthead nav")
    tab.locator("[data-chart=overall]").first.evaluate("(one) => one.scrollIntoView()")
    tab.locator("[data-chart=overall] svg").first.wait_for()


@pytest.mark.check
def test_new_scores_change_their_card_and_no_other(folder: Path, open_tab: Open) -> None:
    journal = folder / "first" / "replies" / "0001.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    late = [line for line in lines if json.loads(line)["sample"] == "000001"]
    journal.write_bytes(b"".join(line for line in lines if line not in late))
    with Viewer([folder]) as viewer:
        tab = open_tab(f"{viewer.address}/run/{viewer.id_of('first')}")
        tab.locator("#live .dot.stopped").wait_for()
        assert tab.locator(".card").nth(1).locator(".score").count() == 0
        tab.evaluate("window.before = [...document.querySelectorAll('.card')]")
        with journal.open("ab") as file:
            file.writelines(late)
        tab.wait_for_function("() => document.querySelectorAll('.card')[1].querySelectorAll('.score').length === 3")
        same = "[...document.querySelectorAll('.card')].map((one, place) => one === window.before[place])"
        assert tab.evaluate(same) == [place != 1 for place in range(24)]
        tab.locator("#live .dot.complete").wait_for()
        tab.get_by_text("Update them").click()
        tab.wait_for_function("() => document.querySelector('#live').hidden")


@pytest.mark.check
def test_two_pictures_stay_as_they_are_while_scores_come_and_the_rest_is_taken_along(
    folder: Path, open_tab: Open, tmp_path: Path
) -> None:
    models = Run(folder / "first").results.edit_models
    pair = link(
        sample="000001", left=f"edit:{models[0]}", right=f"edit:{models[1]}", way="slider", zoom=2, at="0.5,0.5"
    )
    journal = folder / "first" / "replies" / "0001.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    late = [line for line in lines if json.loads(line)["sample"] == "000001"]
    journal.write_bytes(b"".join(line for line in lines if line not in late))
    with Viewer([folder]) as viewer:
        tab = open_tab(f"{viewer.address}/run/{viewer.id_of('first')}{pair}")
        tab.wait_for_function("() => [...document.querySelectorAll('#stage img')].every((one) => one.dataset.whole)")
        assert tab.locator("#scores-left .score").count() == 0
        tab.evaluate("window.before = [...document.querySelectorAll('#stage img')]")
        with journal.open("ab") as file:
            file.writelines(late)
        tab.locator("#scores-left .score").wait_for()
        tab.locator("#scores-right .score").wait_for()
        assert tab.evaluate("[...document.querySelectorAll('#stage img')].every((one) => window.before.includes(one))")
        assert tab.evaluate("location.hash") == pair
        tab.keyboard.press("Escape")
        tab.fill("[name=search]", "00000")
        tab.wait_for_function("() => document.querySelectorAll('.card').length === 10")
        tab.click("#selection summary")
        with tab.expect_download() as coming:
            tab.click("#selection-page")
        page = tmp_path / "selection.html"
        coming.value.save_as(page)
    shutil.rmtree(folder)
    sent = open_tab(page.as_uri() + pair)
    sent.wait_for_function("() => document.querySelectorAll('#stage img').length === 2")
    sent.wait_for_function("() => [...document.querySelectorAll('#stage img')].every((one) => one.naturalWidth === 64)")
    sent.keyboard.press("Escape")
    assert sent.locator(".card").count() == 10
    assert "10 of 30 samples, chosen by hand" in (sent.locator("#verdict .notes").text_content() or "")


@pytest.mark.check
def test_runs_are_ticked_and_compared(folder: Path, open_tab: Open) -> None:
    shutil.copytree(folder / "first", folder / "second")
    with Viewer([folder]) as viewer:
        tab = open_tab(viewer.address, viewport={"width": 390, "height": 800})
        tab.locator(".runs .spark").nth(5).wait_for()
        tab.locator(".spark").first.click()
        assert tab.locator(".trend a").count() == 2, "each of the two leads to its run"
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
        tab.click(".by-name button")
        assert tab.locator(".run-name").all_inner_texts() == ["first", "second"]
        for box in tab.locator(".runs input").all():
            box.check()
        tab.get_by_role("button", name="Compare").click()
        tab.locator("#verdict table").first.wait_for()
        assert "so it counts once: first/first, second/first" in tab.text_content("#verdict .notes")
        assert tab.locator(".card").first.locator("figure").count() == 7
        tab.locator(".card .instruction a").first.click()
        names = tab.locator("#pick-left option").all_inner_texts()
        assert [name.partition("/")[0] for name in names] == ["Source", *["first"] * 3, *["second"] * 3]
        tab.select_option("#pick-left", f"edit:{names[1]}")
        tab.select_option("#pick-right", f"edit:{names[4]}")
        tab.wait_for_function(
            "() => [...document.querySelectorAll('#stage img')].filter((one) => one.dataset.whole).length === 2"
        )
        tab.reload()
        assert tab.locator("#pick-right").input_value() == f"edit:{names[4]}", "an edit of another run"
        tab.keyboard.press("Escape")
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), "nothing sticks out at 390 pixels"


def test_voting_by_the_keyboard_survives_the_viewer(folder: Path, open_tab: Open) -> None:
    with Viewer([folder]) as viewer:
        port = viewer.port
        tab = open_tab(f"{viewer.address}/run/{viewer.id_of('first')}/vote")
        tab.fill("#rater", "Ann")
        tab.keyboard.press("Enter")
        for key, votes in (("1", 1), ("2", 2), ("t", 3), ("b", 4), ("s", 4), ("1", 5)):
            tab.get_by_text("Your votes: ").wait_for()
            tab.locator(".vote-pictures img").nth(2).wait_for()
            tab.evaluate("window.before = document.querySelector('.vote-pictures')?.firstChild")
            tab.keyboard.press(key)
            tab.wait_for_function("() => document.querySelector('.vote-pictures').firstChild !== window.before")
            tab.get_by_text(f"Your votes: {votes} of 50.").wait_for()
        shown = "document.querySelector('.vote-pictures .left img').src.split('/').at(-1)"
        tab.wait_for_function(f"() => {shown}.length === 64")
        waiting = tab.evaluate(shown)
        tab.keyboard.press("u")
        tab.wait_for_function(f"() => {shown} !== '{waiting}'")
        tab.keyboard.press("2")
        tab.wait_for_function(f"() => {shown} === '{waiting}'")
        tab.mouse.move(640, 500)
        tab.mouse.wheel(0, -400)
        enlarged = "[...document.querySelectorAll('.vote-pictures img')].map((one) => getComputedStyle(one).transform)"
        assert len(set(tab.evaluate(enlarged))) == 1, "all are enlarged alike"
        assert "none" not in tab.evaluate(enlarged)[0]
        assert tab.evaluate("document.documentElement.scrollHeight <= innerHeight"), "a pair is on one screen"
    choices = [line.choice for line in Run(folder / "first").records.votes.lines]
    assert sorted(choices) == sorted(["left", "right", "tie", "both_bad", "skip", "right"])
    tab.keyboard.press("1")
    tab.locator(".lost").wait_for()
    with Viewer([folder], port=port):
        tab.locator(".lost").wait_for(state="detached")
        tab.get_by_text("not shown to you here").wait_for()
        tab.locator(".vote-pictures img").nth(2).wait_for()
        tab.keyboard.press("2")
        tab.get_by_text("Your votes: 6 of 50.").wait_for()
    assert len(Run(folder / "first").records.votes.lines) == 7


@pytest.mark.one_in(2)
@pytest.mark.parametrize("judged", [True, False])
def test_a_voter_finds_the_pairs_before_the_names(judged: bool, folder: Path, tmp_path: Path, open_tab: Open) -> None:
    run = folder / "first"
    if not judged:
        shutil.rmtree(run)
        model = {"type": "testing", "params": {"device_ids": "cpu:1"}}
        other = {"type": "testing", "params": {"device_ids": "cpu:1", "seed": 1}}
        evaluate(
            {
                "benchmark": str(write_benchmark(tmp_path, 3)),
                "edit_models": {"one": model, "two": other},
                "judges": {},
                "execution": {"progress": "none"},
            },
            run_dir=run,
        )
    with Viewer([folder]) as viewer:
        tab = open_tab(viewer.address)
        tab.locator(".runs .dot.complete").wait_for()
        votes = f"/run/{viewer.id_of('first')}/vote"
        assert tab.locator(".runs td.run a[href$='/vote']").last.get_attribute("href") == votes
        assert tab.locator(".run-name").get_attribute("href") == (votes[: -len("/vote")] if judged else votes)
        assert tab.locator(".runs .answer").count() == judged, "the list has the answer"
        tab.goto(f"{viewer.address}{votes[: -len('/vote')]}")
        assert tab.locator(".masthead a.primary").get_attribute("href") == votes
        assert tab.locator(".vote-first").count() == (not judged)
        tab.locator("a.primary").last.click()
        assert tab.input_value("#goal") == ("50" if judged else "3"), "no more than there are pairs"
        tab.fill("#goal", "2")
        tab.fill("#rater", "Ann")
        tab.get_by_role("button", name="Begin").click()
        for number in (1, 2):
            tab.locator(".vote-pictures img").nth(2).wait_for()
            assert tab.locator(".vote-after").is_hidden()
            button = tab.locator(".vote-choices button").first
            button.click()
            tab.get_by_text(f"Your votes: {number} of 2.").wait_for()
            looks = "(one) => [getComputedStyle(one).borderColor, getComputedStyle(one).outlineStyle]"
            assert button.evaluate(looks) == tab.locator(".vote-choices button").nth(1).evaluate(looks), "not outlined"
        assert f"edit-eval report {run}" in tab.inner_text(".vote-after")
        tab.get_by_role("link", name="See what the votes say").click()
        tab.locator(".masthead a.primary").wait_for()
        assert tab.locator(".vote-first").count() == 0, "once there are votes, one may look"
        told = Run(run).records.votes.lines[0]
        tab.goto(f"{tab.url.partition('#')[0]}#sample={told.sample}")
        tab.locator(".remarks").wait_for()
        assert tab.inner_text(".remarks p").startswith("Ann prefers ")
        tab.goto(viewer.address)
        tab.get_by_text("2 votes", exact=True).wait_for()
