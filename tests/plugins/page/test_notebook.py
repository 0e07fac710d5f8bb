"""A run as a notebook shows it: its numbers, its pictures, its failures; bounded, and nothing in it that data wrote."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from pathlib import Path

import pytest

from edit_eval.benchmarks.known_sources import remember_sources
from edit_eval.plugins.page.notebook import LINES, MODELS, SAMPLES, SIZE, notebook_html, refusal_html
from edit_eval.records import Results
from edit_eval.run import Run
from edit_eval.statistics.summary import summarise
from reporting.reported_runs import HOSTILE, build_run
from reporting.reports import Elements, Report

ALLOWED = {
    *[
        "div",
        "p",
        "strong",
        "br",
        "small",
        "em",
        "ul",
        "li",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "img",
        "code",
    ],
    *["svg", "circle", "line", "rect", "text", "title", "details", "summary"],
}
DRAWN = {
    *["class", "width", "height", "role", "aria-label", "font-size", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r"],
    *["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "opacity", "text-anchor"],
}
"""Attributes of the verdict's drawing."""


def shown(results: Results, language: str = "en") -> str:
    page = Path(results.directory) / "report" / "index.html"
    return notebook_html(results, summarise(results), page, language=language)


def words(made: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", made)).split())


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


def test_scores_coverage_and_pictures(several: Report) -> None:
    remember_sources(several.results.samples)
    made = shown(several.results)
    text = words(made)
    for entry in several.summary.results:
        block = entry.scores["score"]
        low, high = block.ci95
        counts = f"{block.coverage.scored}/{block.coverage.total} {block.images}"
        whole = f"{entry.edit_model} {entry.judge} {counts}"
        assert f"{whole} {block.mean:.2f} {low:.2f}–{high:.2f}" in text
    assert f"{SAMPLES} of 10 samples, evenly spaced first second" in text
    chosen = [several.results.samples[place * 10 // SAMPLES].id for place in range(SAMPLES)]
    assert [name for name in chosen if name not in text] == []
    pictures = [values["src"] or "" for tag, values in Elements(made).all if tag == "img"]
    assert len(pictures) > 2 * SAMPLES
    assert all(picture.startswith("data:image/jpeg;base64,") for picture in pictures)
    assert "The source image is not on this computer." in text  # that of one sample is gone
    assert "edit failed" in text
    assert str(several.folder / "index.html") in text
    for judgement in several.results.judgements:  # each judge by its name: no mean over judges
        if judgement.sample_id == chosen[0] and judgement.score is not None:
            assert f"{judgement.judge}: {judgement.score:.2f}" in text


def test_a_source_is_opened_only_where_the_users_cache_knows_it(complete: Report) -> None:
    pictures = [tag for tag, _ in Elements(shown(complete.results)).all if tag == "img"]
    assert len(pictures) == SAMPLES  # the edits


def test_nothing_that_data_says_is_an_element(hostile: Report) -> None:
    remember_sources(hostile.results.samples)
    for language in ("en", "zh"):
        made = shown(
            replace(
                hostile.results, provenance=replace(hostile.results.provenance, notes=(HOSTILE, "\x1b[2J\u202eturned"))
            ),
            language,
        )
        assert {tag for tag, _ in Elements(made).all} <= ALLOWED
        assert {name for _, values in Elements(made).all for name in values} <= {"style", "src", "alt", *DRAWN}
        assert "\x1b" not in made
        assert "\u202e" not in made
    reason = f"{HOSTILE} is no run"
    assert {tag for tag, _ in Elements(refusal_html(reason)).all} == {"p"}


def test_it_is_bounded(tmp_path: Path, complete: Report) -> None:
    models = tuple(f"model-{number}" for number in range(MODELS + 2))
    results = build_run(tmp_path, samples=SAMPLES + 1, size=(320, 240), edit_models=models)
    remember_sources(results.samples)
    long = [replace(sample, instruction="word " * 100_000) for sample in results.samples]
    made = shown(
        replace(results, samples=tuple(long), provenance=replace(results.provenance, notes=("note " * 10_000,) * 50))
    )
    pictures = [values["src"] or "" for tag, values in Elements(made).all if tag == "img"]
    assert len(pictures) == SAMPLES * (1 + MODELS)
    assert max(map(len, pictures)) <= SIZE.file_bytes * 4 / 3 + 40
    assert len(made) - sum(map(len, pictures)) < 60_000
    assert words(made).count("and 2 more") == 1
    assert f"and {50 - LINES} more" in words(made)
    assert not list(tmp_path.rglob("thumbnails"))  # looking at a run writes nothing


def test_in_chinese(complete: Report) -> None:
    assert "等距选取" in shown(complete.results, "zh")


def test_a_folder_that_is_no_run_is_one_line(tmp_path: Path) -> None:
    run = Run(tmp_path / "<b>gone")
    assert words(run._repr_html_()).startswith(f"{tmp_path}/<b>gone does not exist")
    assert "<b>" not in run._repr_html_()
    assert repr(run) == f"Run('{tmp_path}/<b>gone')"
