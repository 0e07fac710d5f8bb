"""A report that is sent away: opened where nothing of the run is."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import zipfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from edit_eval.benchmarks.known_sources import remember_sources
from edit_eval.errors import ConfigurationError
from edit_eval.records import Results
from edit_eval.reporting.page.files import export
from edit_eval.statistics.summary import summarise
from reporting.reported_runs import build_run


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Results:
    """A run whose sources the cache knows."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    run = build_run(tmp_path / "run", samples=6, size=(96, 72), edit_models=("first", "second"))
    remember_sources(run.samples)
    return run


def sent(made: Results, tmp_path: Path, name: str, **options: Any) -> Path:
    """The report, and all that it was made from gone."""
    written = export(made, summarise(made), tmp_path / "sent" / name, language="en", **options)
    shutil.rmtree(tmp_path / "run")
    shutil.rmtree(tmp_path / "cache")
    return written


LINK = re.compile(
    r"""(?:\b(?:href|src|srcset|action|poster|data-href)=["']|url\(["']?|"(?:file|thumbnail|href)":")([^"')]*)"""
)


def leads_out(page: str, beside: Collection[str] = ()) -> list[str]:
    """What is in a page that leads out of what is sent: neither a place in it, nor data, nor a file `beside` it."""
    without_programs = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    found = [one for one in LINK.findall(without_programs) if one and not one.startswith(("#", "data:", "?"))]
    return [one for one in found if one.removeprefix("./") not in beside]


def test_one_page_has_all_pictures_in_it(made: Results, tmp_path: Path, browser: Any) -> None:
    page = sent(made, tmp_path, "report.html")
    html = page.read_text("utf-8")
    assert leads_out(html) == []
    assert leads_out('<a href="../images/a.png">') == ["../images/a.png"]
    assert leads_out('{"file":"file:///home/a.png"}') == ["file:///home/a.png"]
    assert str(tmp_path) not in html
    assert sorted(path.name for path in page.parent.iterdir()) == ["report.html"]
    asked: list[str] = []
    tab = browser.new_page()
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(page.as_uri())
    tab.locator(".card a").first.click()
    tab.locator("#stage img").first.wait_for()
    tab.wait_for_function("() => [...document.querySelectorAll('#stage img')].every((one) => one.naturalWidth === 96)")
    assert tab.locator("#detail-words a[target]").count() == 0, "no link to a file that does not exist"
    assert [url for url in asked if not url.startswith("data:")] == [page.as_uri()]
    tab.close()


def test_a_folder_has_them_beside_the_page(made: Results, tmp_path: Path, browser: Any) -> None:
    folder = sent(made, tmp_path, "report", side=64)
    names = ["index.html", "pictures", "replies.jsonl", "report.md", "scores.csv", "summary.json"]
    assert sorted(path.name for path in folder.iterdir()) == names
    assert len(list((folder / "pictures").iterdir())) == 18
    assert json.loads((folder / "summary.json").read_text())["results"]
    asked: list[str] = []
    tab = browser.new_page()
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto((folder / "index.html").as_uri())
    tab.locator(".card a").first.click()
    tab.wait_for_function(
        "() => [...document.querySelectorAll('#stage img')].every((one) => one.src.endsWith('.webp'))"
    )
    assert all(url.startswith(("data:", folder.as_uri())) for url in asked)
    tab.close()


def test_a_zip_is_that_folder(made: Results, tmp_path: Path) -> None:
    packed = sent(made, tmp_path, "report.zip", side=64)
    with zipfile.ZipFile(packed) as file:
        assert file.testzip() is None
        names = set(file.namelist())
        assert leads_out(file.read("report/index.html").decode(), {name[7:] for name in names}) == []
        assert all(str(tmp_path).encode() not in file.read(name) for name in names)
        sizes = {Image.open(io.BytesIO(file.read(name))).size for name in names if name.endswith(".webp")}
        assert sizes == {(64, 48)}
    assert {"report/index.html", "report/pictures/00000.webp", "report/summary.json"} <= names
    assert [path.name for path in packed.parent.iterdir()] == ["report.zip"]


def test_a_source_that_the_cache_does_not_know_is_not_sent(made: Results, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "cache")
    folder = export(made, summarise(made), tmp_path / "sent", language="zh")
    assert len(list((folder / "pictures").iterdir())) == 12


def test_a_page_of_some_samples_has_their_numbers_and_says_so(made: Results, tmp_path: Path) -> None:
    ids = [sample.id for sample in made.samples[1:3]]
    folder = sent(made, tmp_path, "some", samples=ids)
    with (folder / "scores.csv").open(encoding="utf-8", newline="") as file:
        assert {row["sample_id"] for row in csv.DictReader(file)} == set(ids)
    summary = json.loads((folder / "summary.json").read_text())
    assert {entry["coverage"]["total"] for entry in summary["results"]} == {2}
    html = (folder / "index.html").read_text("utf-8")
    assert "2 of 6 samples, chosen by hand" in html
    assert made.samples[0].id not in html
    assert len(list((folder / "pictures").iterdir())) == 6


def test_what_is_there_is_not_written_over(made: Results, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    with pytest.raises(ConfigurationError, match="already exists"):
        export(made, summarise(made), tmp_path / "full", language="en")
    with pytest.raises(ConfigurationError, match="--size 9: must be from 64 to 4096 pixels"):
        export(made, summarise(made), tmp_path / "new", language="en", side=9)


def test_a_write_that_fails_leaves_nothing(made: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from edit_eval.reporting.page import files as module

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "_write_picture", full)
    with pytest.raises(ConfigurationError, match="No space left on device"):
        export(made, summarise(made), tmp_path / "sent" / "report.zip", language="en")
    assert list((tmp_path / "sent").iterdir()) == []
