"""The page of an audit: passport, measures, dose curves and ladders, in one file without scripts, for an appendix."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup

from edit_eval.benchmarks.contract import AUDIT
from edit_eval.plugins.audit.findings import Findings
from edit_eval.plugins.audit.measure import DOSE, Trial, average
from edit_eval.plugins.audit.order import axes
from edit_eval.plugins.audit.pair_trial import PairTrial
from edit_eval.plugins.audit.passports import Passport
from edit_eval.plugins.audit.sheet import (
    AXES,
    describe_people_comparison,
    meaning,
    measures_table,
    ways_sheet,
    weaknesses,
)
from edit_eval.plugins.audit.sheet import RUNGS as RUNG_WORDS
from edit_eval.records import Results
from edit_eval.reporting import formats
from edit_eval.reporting.displays import PageDisplay, page_display
from edit_eval.reporting.language import translate
from edit_eval.reporting.names import name_of, short_category
from edit_eval.reporting.report import whole
from edit_eval.reporting.report_content import template_environment, translate_template
from edit_eval.small_copies import size_for
from edit_eval.statistics.battles import BattleOutcome
from edit_eval.text import Text

SHOWN = 2
"""Ladders shown of each category."""
RUNGS = (
    "right",
    "extra",
    "no_consequence",
    "dose_75",
    "dose_50",
    "dose_25",
    "wrong_target",
    "other",
    "copy",
    "shuffled",
    "blank",
)
BUDGET = 6_000_000
"""Bytes of base64 for all pictures: an appendix is sent by mail."""
WIDE, HIGH, LEFT, BELOW = 260.0, 150.0, 30.0, 22.0
"""Size of a curve's drawing, and its margins."""


class Point(NamedTuple):
    """One point of a curve, in the drawing's units; bounds are None without an interval."""

    x: float
    y: float
    low: float | None
    high: float | None


class Curve(NamedTuple):
    """The scores of one kind of dose."""

    title: str
    scenes: int
    points: list[Point]
    line: str
    """Points of the SVG polyline."""
    ticks: list[tuple[float, str]]
    """Height and label."""


class Step(NamedTuple):
    """One picture of a ladder."""

    label: str
    score: str
    share: float | None
    """Percentage of the range, for the bar below the picture; None without a score."""
    picture: str | None
    """JPEG as base64."""


class SceneSteps(NamedTuple):
    """One scene with its edits, from the best to the worst."""

    category: str
    instruction: str
    steps: list[Step]


def write_audit_page(
    results: Results,
    findings: Findings,
    passport: Passport,
    path: Path,
    *,
    ways: Sequence[Passport] = (),
    language: str = "en",
) -> None:
    """Writes the page in `language`; `ways` as in `sheet.audit_sheet`. Raises `OSError` if it cannot be written.

    Without a display nothing is written.
    """
    if (display := page_display()) is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    own = files("edit_eval.plugins.audit")
    style = "\n".join([display.stylesheet(), own.joinpath("page.css").read_text("utf-8").strip()])
    environment = template_environment(autoescape=True, language=language)
    environment.globals.update(say=partial(translate_template, language), name_of=name_of)
    page = environment.from_string(own.joinpath("page.html.j2").read_text("utf-8")).render(
        language=language,
        passport=passport,
        title=translate(Text("The judge on trial: {}", passport.name), language),
        style=Markup(style),
        policy=f"default-src 'none'; style-src {display.digest(style)}; img-src data:",
        meaning=meaning(passport),
        weaknesses=weaknesses(passport),
        measures=Markup(display.fragment([measures_table(passport)], language=language)),
        ways=Markup(display.fragment(ways_sheet(ways), language=language)),
        facts=_facts(passport, findings, language),
        of_two=isinstance(findings.trial, PairTrial),
        curves=[] if isinstance(findings.trial, PairTrial) else list(curves(findings.trial, language)),
        ladders=list_battles(results, findings.trial, language, display)
        if isinstance(findings.trial, PairTrial)
        else ladders(results, findings.trial, language, display),
        box=f"0 0 {WIDE:g} {HIGH:g}",
        frame=(LEFT, WIDE, HIGH - BELOW),
    )
    with whole(path) as file:
        file.write(page)


def _facts(passport: Passport, findings: Findings, language: str) -> list[tuple[str, str]]:
    judge, benchmark = passport.subject.judge, passport.benchmark
    model = judge["parameters"].get("model_name") or judge["parameters"].get("model")
    seed, size = (benchmark.get(key, "") for key in ("seed", "size"))
    about = len(findings.trial.scenes()), len(findings.trial.shown), seed, size
    of_two = isinstance(findings.trial, PairTrial)
    scenes = (
        Text("{}, {} pairs of edits, seed {}, {} pixels wide", *about)
        if of_two
        else Text("{}, {} edits, seed {}, {} pixels wide", *about)
    )
    smallest = passport.smallest_difference
    points = formats.score(smallest, 2 if smallest is None or smallest == 0 else max(2, 1 - _exponent(smallest)))
    noise = Text("not known") if smallest is None else Text("{} points", points)
    facts = [
        (Text("Judge"), " · ".join(filter(None, (passport.name, str(judge["type"]), str(model or ""))))),
        (Text("Revision"), str(judge["revision"])),
        (Text("Protocol"), passport.subject.protocol),
        (Text("Form of the answer"), ", ".join(passport.form)),
        (Text("Pictures shown"), ", ".join(passport.pictures)),
        (Text("Language"), name_of("language", passport.subject.language)),
        (Text("Wording (SHA-256)"), passport.subject.wording),
        (Text("Scenes"), scenes),
        (Text("Beside people"), describe_people_comparison(passport)),
        (Text("Smallest difference of two scores that is more than noise"), "" if of_two else noise),
        (Text("Examined on"), f"{passport.date} · edit-eval {passport.version}"),
    ]
    return [(translate(key, language), translate(value, language)) for key, value in facts if value]


def _exponent(number: float) -> int:
    return math.floor(math.log10(abs(number)))


# -- curves --


def curves(trial: Trial, language: str) -> Iterator[Curve]:
    """Yields a curve for each kind of change: the mean score at each dose."""
    for axis, scenes in axes(trial).items():
        points = []
        for rung, dose in DOSE.items():
            scored = [(score, scene) for scene in scenes if (score := trial.score(scene, rung)) is not None]
            if not scored:
                continue
            mean = average([score for score, _ in scored], [scene for _, scene in scored], floor=None)
            low, high = mean.ci95 or (None, None)
            x = LEFT + dose * (WIDE - LEFT - 10)
            points.append(
                Point(round(x, 1), _y(mean.value or 0.0), *(None if b is None else _y(b) for b in (low, high)))
            )
        line = " ".join(f"{point.x},{point.y}" for point in points)
        ends = (0.0, 0.5, 1.0)
        ticks = [(_y(end), formats.score(_points(trial, end), 0 if trial.span >= 5 else 2)) for end in ends]
        yield Curve(translate(AXES[axis], language), len(scenes), points, line, ticks)


def _y(share: float) -> float:
    """Returns the vertical position of a score from 0 (worst) to 1 (best), counted from the top."""
    return round(8 + (1 - max(0.0, min(1.0, share))) * (HIGH - BELOW - 16), 1)


def _points(trial: Trial, share: float) -> float:
    return trial.worst + share * (trial.best - trial.worst)


# -- ladders --


def ladders(results: Results, trial: Trial, language: str, display: PageDisplay) -> list[SceneSteps]:
    """Returns the scenes of each category with the most rungs, with the pictures that the judge saw."""
    chosen = [scene for category in trial.categories() for scene in _longest(trial, category)]
    samples = {sample.id: sample for sample in results.samples}
    edits = {edit.sample_id: edit for edit in results.edits if edit.image}
    paths: list[Path] = []
    plans: list[tuple[str, list[tuple[str, float | None]]]] = []
    for scene in chosen:
        steps: list[tuple[str, float | None]] = []
        for rung in RUNGS:
            name = f"{scene}.{rung}"
            if name in edits:
                if not steps:
                    paths.append(Path(samples[name].source))
                    steps.append(("source", None))
                paths.append(Path(results.directory) / edits[name].image)
                steps.append((rung, trial.score(scene, rung)))
        plans.append((scene, steps))
    made = iter(display.embed(paths, size_for(len(paths), BUDGET)))
    facts = {sample.facts[AUDIT]["scene"]: sample for sample in reversed(results.samples) if AUDIT in sample.facts}
    return [
        SceneSteps(
            translate(short_category(facts[scene].category), language),
            facts[scene].instruction,
            [_step(rung, score, next(made), trial, language) for rung, score in steps],
        )
        for scene, steps in plans
    ]


def list_battles(results: Results, trial: PairTrial, language: str, display: PageDisplay) -> list[SceneSteps]:
    """Returns some battles of each category, wrong outcomes first, with the pictures that the judge saw."""
    wrong = {BattleOutcome.SECOND: 0, BattleOutcome.CONTRADICTION: 1, BattleOutcome.TIE: 2}
    chosen = [
        pair
        for category in trial.categories()
        for pair in sorted(
            (pair for pair in trial.plain if pair.category == category), key=lambda pair: wrong.get(pair.came, 3)
        )[:SHOWN]
    ]
    samples = {sample.id: sample for sample in results.samples}
    edits = {(edit.sample_id, edit.edit_model): edit for edit in results.edits if edit.image}
    paths = [
        path
        for pair in chosen
        for path in (
            Path(samples[pair.sample].source),
            *(Path(results.directory) / edits[pair.sample, model].image for model in results.edit_models),
        )
    ]
    made = iter(display.embed(paths, size_for(max(1, len(paths)), BUDGET)))
    battles = []
    for pair in chosen:
        steps = [Step(translate(RUNG_WORDS["source"], language), "", None, next(made))]
        for rung, got in ((pair.better, pair.share or 0.0), (pair.worse, 1 - (pair.share or 0.0))):
            steps.append(Step(translate(RUNG_WORDS[rung], language), formats.share(got, 1), 100 * got, next(made)))
        battles.append(
            SceneSteps(translate(short_category(pair.category), language), samples[pair.sample].instruction, steps)
        )
    return battles


def _longest(trial: Trial, category: str) -> Sequence[str]:
    counts: Mapping[str, int] = {
        scene: sum(trial.score(scene, rung) is not None for rung in RUNGS) for scene in trial.scenes(category)
    }
    return sorted(counts, key=lambda scene: -counts[scene])[:SHOWN]


def _step(rung: str, score: float | None, picture: str | None, trial: Trial, language: str) -> Step:
    label = translate(RUNG_WORDS[rung], language)
    if rung == "source":
        return Step(label, "", None, picture)
    if score is None:
        return Step(label, translate(Text("not scored"), language), None, picture)
    return Step(label, formats.score(_points(trial, score)), round(100 * max(0.0, min(1.0, score)), 1), picture)
