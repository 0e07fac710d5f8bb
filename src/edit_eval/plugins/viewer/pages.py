"""The viewer's pages: the report's page for a run, and plain ones that scripts fill with data."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
from markupsafe import Markup

from edit_eval import __version__
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.page.export import export
from edit_eval.plugins.page.page import (
    Served,
    asset,
    join_scripts,
    page_templates,
    policy,
    script_json,
    script_translations,
    server_page,
    stylesheet,
)
from edit_eval.plugins.page.shown_pictures import PictureAddress
from edit_eval.plugins.viewer.pictures import ServedPictures
from edit_eval.plugins.viewer.runs import WatchedRun
from edit_eval.plugins.viewer.voting import find_obstacle
from edit_eval.records import Edit, Sample
from edit_eval.reporting.analyses import summary_of
from edit_eval.reporting.language import translate
from edit_eval.reporting.table import map_languages
from edit_eval.store.comparable import compare_runs, merge_runs
from edit_eval.store.run_directory import refuse_special_files
from edit_eval.store.votes import count_given
from edit_eval.text import Text

_PLACES = re.compile(r"\d{1,7}(-\d{1,7})?(,\d{1,7}(-\d{1,7})?)*", re.A)


@cache
def own(name: str) -> str:
    """Reads a file of this package's templates."""
    return files("edit_eval.plugins.viewer").joinpath(f"templates/{name}").read_text("utf-8").strip()


def run_page(watched: WatchedRun) -> str:
    """Returns the report of a run as it stands, below its activity; later changes are pushed to the page.

    Raises the errors of `Run` if it cannot be read.
    """
    with watched.lock:
        run = watched.following.run()
        live = {**watched.state_data(), "events": f"{watched.base}/events"}
        votes = "" if find_obstacle(watched) else f"{watched.base}/vote"
        first = bool(votes) and not run.results.every_judge and not count_given(watched.path)
        links = {"runs": "/", "votes": votes, "selection": f"{watched.base}/selection"}
        served = Served(
            watched.pictures,
            above=Markup('<section id="live" class="live" hidden aria-live="off"></section>'),
            style=own("live.css"),
            script=own("follow.js") + "\n" + own("live.js"),
            data={"live": live, "links": links, "vote_first": first},
        )
        return server_page(run.results, run.summary, served, language=run.language)


def selection_page(watched: WatchedRun, places: str, file: Path) -> str:
    """Writes the page of some samples of a run, with embedded pictures, to `file`; returns a name for it.

    `places` are the samples' numbers in the run's order, from 0, as `0-3,7`. Raises `ConfigurationError` for invalid
    places, or if the file cannot be written.
    """
    with watched.lock:
        run = watched.following.run()
        results, language = run.results, run.language
    refuse_special_files(watched.path)  # it may have changed since it was opened
    ids = [results.samples[place].id for place in _places(places, len(results.samples))]
    export(results, None, file, language=language, samples=ids if len(ids) < len(results.samples) else None)
    name = os.fsencode(watched.path.name).decode("utf-8", "replace")  # a folder's name may be any bytes
    return f"{name}-{len(ids)}.html"


def _places(text: str, total: int) -> list[int]:
    """Returns the numbers named by `0-3,7`, all below `total`."""
    if not _PLACES.fullmatch(text):
        raise ConfigurationError(Text("samples: places in the run's order, such as 0-3,7"))
    ends = [tuple(map(int, part.split("-"))) for part in text.split(",")]
    if any(end[-1] >= total or end[0] > end[-1] for end in ends):
        raise ConfigurationError(Text("samples: places from 0 to {}", total - 1))
    return sorted({place for end in ends for place in range(end[0], end[-1] + 1)})


def comparison_page(compared: Sequence[WatchedRun]) -> str:
    """Returns several runs on one page, as they stand now: who wins, and the edits of all runs side by side.

    Raises `ConfigurationError` for runs that cannot be compared.
    """
    runs = []
    for watched in compared:
        with watched.lock:
            runs.append(watched.following.run())
            _ = runs[-1].results
    results, of_run = merge_runs(runs)
    language = runs[0].language
    served = Served(
        _PicturesOfRuns(compared[0].pictures, {name: compared[place].pictures for name, place in of_run.items()}),
        style=own("live.css"),
        script=own("compared.js"),
        data={"runs": [{"name": watched.path.name, "address": watched.base} for watched in compared]},
    )
    comparison = compare_runs(runs)
    shown = {sample.id for sample in results.samples}
    pairs = tuple(  # two models of one run may differ most on a sample missing in the other runs
        replace(pair, largest=[sample for sample in pair.largest if sample.sample_id in shown])
        for pair in comparison.pairs
    )
    verdict = comparison.verdict and msgspec.structs.replace(
        comparison.verdict,
        opinions=tuple(
            msgspec.structs.replace(opinion, dots=tuple(dot for dot in opinion.dots if dot.sample in shown))
            for opinion in comparison.verdict.opinions
        ),
    )
    document = replace(comparison, pairs=pairs, verdict=verdict).document()
    summary = msgspec.structs.replace(summary_of(results), comparison=document, verdict=verdict)
    return server_page(results, summary, served, language=language)


@dataclass(frozen=True)
class _PicturesOfRuns:
    """Pictures of several runs (see `edit_eval.plugins.page.shown_pictures.PictureAddresses`)."""

    first: ServedPictures
    of: Mapping[str, ServedPictures]
    """By name of the edit model."""

    def address_of_sample(self, sample: Sample, name: str = "source") -> PictureAddress | None:
        return self.first.address_of_sample(sample, name)

    def address_of_edit(self, edit: Edit) -> PictureAddress | None:
        return self.of[edit.edit_model].address_of_edit(edit)


def plain_page(title: Text, scripts: Sequence[str], data: Mapping[str, Any], *, language: str = "en") -> str:
    """Returns a page that `scripts` fill from `data`."""
    titles = map_languages(lambda language: f"{translate(title, language)} · edit-eval")
    style = stylesheet("page.css", "gallery.css", more=f"{own('live.css')}\n{own('plain.css')}")
    program = join_scripts("elements.js", more="\n".join(map(own, scripts)))
    early = asset("early.js")
    common = {"language": language, "titles": titles, **script_translations(program)}
    return (
        page_templates(language)
        .from_string(own("plain.html.j2"))
        .render(
            language=language,
            policy=policy(style, (early, program), served=True),
            title=titles[language],
            style=Markup(style),
            script=Markup(program),
            early=Markup(early),
            data=Markup(script_json({"names": {}, **common, **data})),
            version=__version__,
        )
    )
