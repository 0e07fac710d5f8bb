"""`edit-eval view` of a service at work: what it does, and the edits that came last."""

from __future__ import annotations

import time
from typing import Any

import msgspec

from edit_eval.plugins.serve.ledger import name_of
from edit_eval.plugins.viewer.runs import Runs
from edit_eval.text import Text
from plugins.serve.service_at_work import Serve, pair
from plugins.viewer.served import Viewer


def test_a_page_shows_what_a_service_does_and_goes_on_showing_it(serve: Serve) -> None:
    served = serve(window=4)
    ledger = served.service.ledger
    for n in range(5):  # more than a window, so that there are canaries
        served.score(pair(200, "mumble" if n == 4 else "make it red", id=f"edit {n}", source=n))
    runs = Runs([ledger.folder])
    (name,) = runs.cards
    watched = runs.open(name)
    end = time.monotonic() + 60
    while (live := watched.state_data()["live"]) is None or len(live["service"]["latest"]) < 5:
        assert time.monotonic() < end
        time.sleep(0.1)
        watched.poll_changes()
    view = live["service"]
    newest, *_, first = view["latest"]
    assert (newest["id"].partition(" ")[2], newest["status"], newest["score"]) == ("edit 4", "unparseable", None)
    assert (first["id"], first["status"]) == (name_of(0, "edit 0"), "ok")
    assert newest["edit"].startswith("data:image/jpeg;base64,")
    assert view["statuses"]["redness"]["unparseable"] == 1
    assert view["per_second"] > 0
    assert view["waiting"] == 0
    assert live["judgements"]["failed"] >= 1
    assert [device["device"] for device in live["devices"]] == ["cpu:0"]

    # An alarm is a sentence of ours, and a file takes plain ones.
    assert served.service.watch is not None
    assert served.service.live is not None
    served.service.watch.alarms.append(Text("{} of {}", 1, 2))
    msgspec.json.encode(served.service.live.snapshot())

    # What has come since is seen without all of it being read, and the page at hand is not made anew for it.
    experiment, boot = watched.experiment, watched.boot
    served.score(pair(10, id="one more"))
    now = served.service.live.snapshot().service
    assert now is not None
    assert now.latest[0].id.endswith(" one more")
    watched.poll_changes()
    assert (watched.experiment, watched.boot) == (experiment, boot)


def test_a_browser_shows_a_service_at_work_on_a_narrow_screen(serve: Serve, browser: Any) -> None:
    served = serve()
    served.score(
        *(pair(200, "mumble" if n == 4 else "make it red", source=n) for n in range(5)), {**pair(0), "edit": ""}
    )
    with (
        Viewer([served.service.ledger.folder]) as viewer,
        browser.new_context(viewport={"width": 390, "height": 900}) as tab,
    ):
        page = tab.new_page()
        lost: list[str] = []
        page.on("response", lambda heard: lost.append(heard.url) if heard.status >= 400 else None)
        page.goto(f"{viewer.address}/run/{viewer.id_of('0001')}")
        page.wait_for_selector(".latest figure:nth-child(5)")
        said = page.inner_text("#live")
        assert "scored 4" in said
        assert "skipped 1" in said
        assert page.locator("#live .bars").count() == 0  # nothing is known of how much there will be
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        page.evaluate("() => { for (const one of document.images) one.loading = 'eager'; }")  # how far ahead is its own
        page.wait_for_function("() => [...document.images].every((one) => one.complete)")  # its network is never idle
        assert lost == []  # sources, too, are shown while the service is at work
