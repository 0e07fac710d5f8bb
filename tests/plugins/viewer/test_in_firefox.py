"""The pages in the other engine: what they do is tested in Chromium; here, that they do it at all."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from edit_eval.run import Run
from late_imports import needs
from plugins.viewer.served import Viewer
from reporting.reports import report_on

needs("aiohttp")

CLOSE_LOOK = "[...document.querySelectorAll('#detail[open] #stage img')]"


@pytest.mark.check
def test_a_report_is_looked_at_and_a_vote_counts_in_firefox(folder: Path, tmp_path: Path) -> None:
    from plugins.viewer.firefox import firefox

    run = folder / "first"
    report = report_on(Run(run).results)

    async def look() -> None:
        with Viewer([folder]) as viewer:
            async with firefox(tmp_path / "profile") as tab:
                await tab.open((report.folder / "index.html").as_uri())
                assert await tab.value("document.querySelector('#verdict').checkVisibility()")
                assert "first" in await tab.value("document.querySelector('#verdict').innerText")
                assert await tab.value("document.querySelectorAll('.card').length") == 24
                await tab.value("document.querySelector('.card .tile').click() || true")
                assert await tab.value(f"{CLOSE_LOOK}.length && {CLOSE_LOOK}.every((one) => one.naturalWidth === 64)")
                await tab.open(f"{viewer.address}/run/{viewer.id_of('first')}/vote?rater=Ann")
                await tab.value(
                    "[...document.querySelectorAll('.vote-pictures img')].filter((one) => one.naturalWidth)[2]"
                )
                await tab.value("document.querySelector('.vote-choices [value=left]').click() || true")
                await tab.value("document.body.innerText.includes('Your votes: 1 of 50.')")
                assert tab.errors == []

    with ThreadPoolExecutor(1) as thread:  # a browser of other tests may have a loop in this one
        thread.submit(asyncio.run, look()).result()
    assert [(line.rater, line.choice) for line in Run(run).records.votes.lines] == [("Ann", "left")]
