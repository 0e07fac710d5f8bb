"""Eight runs whose verdicts are read by somebody who knows nothing of them, with the right answers.

As a program it writes for each its page, what a terminal prints, and pictures of the first screens (with a browser):
`cd tests; python -m reporting.readings FOLDER [RUN...]`. bench/notes.md has how they are read and what came of it.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from edit_eval.records import CONTROL, ExaminedJudge, Judgement, Results, Status
from edit_eval.reporting.analyses import summary_of
from edit_eval.statistics.columns import columns_of
from edit_eval.statistics.comparison import compare
from edit_eval.statistics.summary import Summary, context_of_run
from reporting.reported_runs import build_run, rescored, unscored

_PASSPORT = {
    "date": "2026-11-20",
    "verdict": "passed",
    "failed": [],
    "basis": None,
    "earlier": [],
    "language": "en",
    "smallest_difference": None,
}
PASSED = ExaminedJudge(
    line="audited 2026-11-20: passed",
    ended="passed",
    details={"language": "en", "passport": _PASSPORT, "anchors": None},
)
TWELVE = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "iris", "juniper", "kelp", "lotus")


@dataclass(frozen=True)
class Reading:
    """A run, and what a reader should say of it."""

    name: str
    kind: str
    """The verdict's."""
    who: str
    """Who won: the only right answer."""
    sure: str
    then: str
    build: Callable[[Path], tuple[Results, Summary]]


def drawn(
    folder: Path,
    gains: Mapping[str, Mapping[str, float]],
    *,
    samples: int,
    noise: float,
    failing: Mapping[str, int] | None = None,
    blind: bool = False,
    seed: int = 5,
) -> Results:
    """Returns a run with these mean scores by judge and model: pictures differ by a common part and by `noise`."""
    judges, models = tuple(gains), tuple(next(iter(gains.values())))
    results = build_run(folder, samples=samples, edit_models=models, judges=judges, size=(320, 240))
    draw = random.Random(seed)
    common = {sample.id: draw.gauss(0, 1.0) for sample in results.samples}
    failed = {name: {sample.id for sample in results.samples[: (failing or {}).get(name, 0)]} for name in models}
    edits = tuple(
        replace(edit, status=Status.EDIT_FAILED, reason="the image is black: all values are 0", image="", pixels="")
        if edit.sample_id in failed[edit.edit_model]
        else edit
        for edit in results.edits
    )
    judgements: list[Judgement] = []
    for judgement in results.judgements:
        value = gains[judgement.judge][judgement.edit_model] + common[judgement.sample_id] + draw.gauss(0, noise)
        kept = rescored(judgement, round(min(10.0, max(0.0, value)), 1))
        judgements.append(
            unscored(judgement, Status.EDIT_FAILED, "the image is black: all values are 0")
            if judgement.sample_id in failed[judgement.edit_model]
            else kept
        )
    first = next(judgement for judgement in judgements if judgement.status is Status.OK)
    controls = [
        replace(
            first,
            sample_id=sample.id,
            judge=judge,
            edit_model=f"{CONTROL}{kind}",
            scores={"score": 6.4 + common[sample.id] + draw.gauss(0, 0.4) if blind else draw.uniform(0, 1.5)},
        )
        for judge in judges
        for kind in ("source", "blank", "shuffled")
        for sample in results.samples[: len(results.samples) if blind else 10]
        if samples >= 10
    ]
    return replace(
        results,
        edits=edits,
        judgements=tuple(judgements),
        controls=tuple(controls),
        provenance=replace(
            results.provenance,
            examined={} if blind else dict.fromkeys(judges, PASSED),
            configuration={**results.provenance.configuration, "evaluation": {"controls": 10}},
            notes=(),
        ),
    )


def plainly(results: Results) -> tuple[Results, Summary]:
    return results, summary_of(results)


def within(results: Results, margin: float) -> tuple[Results, Summary]:
    """Returns the run with the verdict of `compare --margin`."""
    columns = [
        replace(column, name=column.edit_model)
        for column in columns_of(results, {judge: {} for judge in results.judges})
    ]
    comparison = compare(columns, margin=margin, known=context_of_run(results))
    assert comparison.verdict is not None
    return results, msgspec.structs.replace(summary_of(results), verdict=comparison.verdict)


READINGS = (
    Reading(
        "clear",
        "better",
        "amber",
        "shown: the whole interval is above 0; as good as certain",
        "nothing more: it is settled",
        lambda folder: plainly(drawn(folder, {"judge-a": {"amber": 7.0, "birch": 6.0}}, samples=40, noise=0.7)),
    ),
    Reading(
        "lead",
        "ahead",
        "nobody yet (amber is ahead)",
        "not sure: it may be chance",
        "judge more pictures, about as many as it says",
        lambda folder: plainly(drawn(folder, {"judge-a": {"amber": 6.5, "birch": 6.0}}, samples=20, noise=1.2)),
    ),
    Reading(
        "tie",
        "equal",
        "nobody: they are equal within the margin of 0.5",
        "sure that they differ by less than 0.5",
        "choose by something else: speed, price, licence",
        lambda folder: within(
            drawn(folder, {"judge-a": {"amber": 6.5, "birch": 6.5}}, samples=100, noise=0.3), margin=0.5
        ),
    ),
    Reading(
        "failures",
        "fails_more",
        "amber, because birch fails many more of its edits",
        "sure of the failures; the scores show no difference",
        "retry the failed edits, with the command that is given",
        lambda folder: plainly(
            drawn(
                folder, {"judge-a": {"amber": 6.5, "birch": 6.5}}, samples=40, noise=0.8, failing={"birch": 16}, seed=1
            )
        ),
    ),
    Reading(
        "disagree",
        "judges_disagree",
        "nobody: judge-a says amber, judge-b says birch",
        "not sure at all",
        "look at the pictures on which the judges differ (and let people decide)",
        lambda folder: plainly(
            drawn(
                folder,
                {"judge-a": {"amber": 7.0, "birch": 6.0}, "judge-b": {"amber": 5.6, "birch": 6.6}},
                samples=40,
                noise=0.8,
            )
        ),
    ),
    Reading(
        "unfit",
        "judge_unfit",
        "nobody can say",
        "the scores mean nothing: the judge does not tell edits from controls",
        "take another judge",
        lambda folder: plainly(
            drawn(folder, {"judge-a": {"amber": 6.4, "birch": 6.0}}, samples=60, noise=0.5, blind=True)
        ),
    ),
    Reading(
        "twelve",
        "ahead",
        "nobody yet (one is ahead)",
        "not sure: six pictures are too few for twelve models",
        "judge more pictures",
        lambda folder: plainly(
            drawn(
                folder,
                {"judge-a": {name: 6.8 - 0.15 * place for place, name in enumerate(TWELVE)}},
                samples=6,
                noise=0.8,
            )
        ),
    ),
    Reading(
        "one",
        "alone",
        "nobody: there is one model, and nothing to compare it with",
        "its score is about 6.5, give or take the interval",
        "add a second model",
        lambda folder: plainly(drawn(folder, {"judge-a": {"amber": 6.5}}, samples=30, noise=1.0)),
    ),
)

SCREENS = {"wide": (1280, 800), "narrow": (390, 844)}


def main(folder: Path, names: list[str]) -> None:
    """Writes pages, terminal output and the first screens (by playwright and chromium), named by their numbers."""
    import shutil

    from playwright.sync_api import sync_playwright
    from rich.console import Console

    from edit_eval.reporting.report import write_report
    from edit_eval.reporting.results_sheet import print_summary

    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for number, reading in enumerate(READINGS, start=1):
            if names and reading.name not in names:
                continue
            name = f"run-{number}"  # pages show it, and a reader is not to be told
            results, summary = reading.build(folder / name)
            for language in ("en", "zh"):
                out = folder / f"{name}-{language}"
                write_report(results, summary, out, language=language)
                with (folder / f"{name}-{language}.txt").open("w", encoding="utf-8") as file:
                    console = Console(file=file, width=80, force_terminal=False)
                    print_summary(summary, console, language=language)
                for size, (width, height) in SCREENS.items():
                    for theme in ("light", "dark") if language == "en" else ("light",):
                        page = browser.new_page(
                            viewport={"width": width, "height": height},
                            color_scheme=theme,
                            locale="zh-CN" if language == "zh" else "en-US",
                        )
                        page.goto((out / "index.html").resolve().as_uri())
                        page.screenshot(path=folder / f"{name}-{language}-{size}-{theme}.png")
                        page.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
