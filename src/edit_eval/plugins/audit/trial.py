"""Puts a judge on trial: draws edits of known worth, asks the judge about them as a configuration asks it, and makes a
verdict, a page and a passport of its answers.

    from edit_eval.plugins.audit.trial import audit
    print(audit("config.yaml").passport.verdict)

An audit is an evaluation like any other: the benchmark is `ladder`, the edit model `scene_rungs`, and the protocol asks
the same as the judge's own. So it is resumed, spread over devices and kept like any run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Unpack

import msgspec
from msgspec import structs

from edit_eval import __version__
from edit_eval.asking import Listener, count_questions, load_samples, make_experiment
from edit_eval.benchmarks.contract import AUDIT
from edit_eval.benchmarks.known_sources import remember_sources, with_known_sources
from edit_eval.config.components import import_registered
from edit_eval.config.identity import digest
from edit_eval.config.loading import LoadingOptions, load_configuration
from edit_eval.config.schema import Configuration
from edit_eval.errors import ConfigurationError, RunDirectoryError
from edit_eval.execution.prices import estimate_cost, prices_of
from edit_eval.execution.spectator import Spectator
from edit_eval.plugins.audit import passports
from edit_eval.plugins.audit.examiner import read_server_descriptions
from edit_eval.plugins.audit.findings import Findings, findings
from edit_eval.plugins.audit.measure import Measure
from edit_eval.plugins.audit.passports import (
    ComparedWithPeople,
    ExaminedScale,
    Examinee,
    Passport,
    PassportVerdict,
    Try,
)
from edit_eval.protocols.asked import AskedJudge, make_judges
from edit_eval.protocols.contract import Question, fault
from edit_eval.records import Results, Sample
from edit_eval.reporting.language import current_language
from edit_eval.run import Run, analyse, evaluate
from edit_eval.statistics.people import read_people
from edit_eval.store.examined import usual_folder
from edit_eval.text import Text

# -- an audit's measures of agreement with people: how a judge's scores of finished edits compare with people's --

FLOORS = {"as_one_person": 0.5, "pairs_ordered": 0.8}
"""Limits for the lower bounds of a judge's intervals to pass: see docs/trust.md."""


def measure_people_agreement(results: Results, agreement: Any) -> dict[str, Measure]:
    """Returns the measures of one judge, `agreement` being what the analysis `agreement` says of it beside people.

    `as_one_person`: its agreement with one person over that of one person with another. `pairs_ordered`: of the pairs
    of edit models that people separate, the share that it orders alike.
    """
    not_shown = Text("on these edits, agreement between two people is not shown")
    none_apart = Text("people's scores do not separate any two edit models")
    images, models = len({sample.cluster for sample in results.samples}), agreement.between_models
    return {
        name: Measure(
            value=of.value,
            ci95=None if of.ci95 is None else (of.ci95[0], of.ci95[1]),
            n=n,
            scenes=images,
            reason=none if of.value is None else "",
        ).with_floor(None if of.ci95 is None else FLOORS[name])  # without an interval nothing is required
        for name, of, n, none in (
            ("as_one_person", agreement.as_one_person, agreement.n, not_shown),
            ("pairs_ordered", models.pairs_ordered, models.separated, none_apart),
        )
    }


SCENES, SIZE = 40, 512
"""Scenes per category, and their width in pixels."""
RUNGS, WORSE = "rungs", "worse"
"""Names of the edit model that draws, and of the one that draws the worse of two edits."""
MOST_DRAWING = 4
"""Limit of workers that draw."""
NOT_TAKEN = ("categories", "difficulty", "tags", "sample_ids", "limit")
"""Options that an audit does not take, since it draws its own samples."""


class TriedWay(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a judge that was asked in one of several ways."""

    protocol: str
    battles: bool
    """True if it was shown two edits at a time."""
    verdict: PassportVerdict
    right_first: Measure


class AuditDocument(Passport, frozen=True, kw_only=True):
    """The passport, where it and the run are, and how else the judge was asked."""

    digest: str
    """As in the passport's file."""
    run: str
    passport: str
    """Path of its file."""
    ways: list[TriedWay]


@dataclass(frozen=True)
class Audit:
    """A judge that was examined."""

    run: Run
    findings: Findings
    passport: Passport
    file: Path
    """File of the passport."""
    ways: tuple[Passport, ...] = ()
    """Passports of the same judge, one for each known way of asking; this one first."""

    @property
    def page(self) -> Path:
        """The page, for people to read."""
        return self.run.path / "report" / "audit.html"

    @property
    def document(self) -> AuditDocument:
        """What `--json` prints."""
        ways = [
            TriedWay(
                protocol=way.protocol,
                battles=way.compares,
                verdict=way.verdict,
                right_first=way.measures["right_first"],
            )
            for way in self.ways
        ]
        fields = structs.asdict(self.passport)
        return AuditDocument(
            **fields,
            digest=str(passports.sign_passport(self.passport)["digest"]),
            run=str(self.run.path),
            passport=str(self.file),
            ways=ways,
        )


def audit(
    configuration: str | Path | Mapping[str, Any] | Configuration,
    *,
    judge: str | None = None,
    seed: int | None = None,
    scenes: int = SCENES,
    size: int = SIZE,
    run_dir: str | Path | None = None,
    folder: Path | None = None,
    people: Path | None = None,
    judged: Path | None = None,
    spectator: Spectator | None = None,
    command: Sequence[str] = (),
    before: Callable[[int | None, float | None], object] | None = None,
    listener: Listener | None = None,
    **options: Unpack[LoadingOptions],
) -> Audit:
    """Examines a judge of a configuration, or resumes that; its benchmark and its edit models are not used.

    `judge` names one of several. `seed` chooses the scenes (None: new ones once the last audit has ended), `scenes` is
    their number per category, `size` their width. With `people` (a file, or a folder: `read_people`) it is also
    compared with people, by its scores of the same edits in the run `judged`. The passport is written to `folder`, by
    default to `passports` in the user's cache; everything else goes into a run directory. `before` is told how many
    questions all of it is (None: not counted yet), and about how many US dollars (None: not known, or nothing); the
    `listener`, how much is drawn meanwhile.
    Raises the same as `evaluate`, and what `before` raises.
    """
    if not isinstance(configuration, Configuration):
        taken = [name for name in NOT_TAKEN if options.get(name)]
        if taken:
            raise ConfigurationError(
                Text("--{}: an audit draws its own samples; leave it out", taken[0].replace("_", "-"))
            )
        configuration = load_configuration(configuration, data_may_be_missing=True, **options)
    examined = _choose_judge(configuration, judge)
    questions = _questions(examined, configuration.benchmark.language)
    beside = _compare_with_people(people, judged, examined, configuration.benchmark.language)
    folder = folder or usual_folder()
    subject = Examinee.from_judge(examined, configuration.benchmark.language)
    if seed is None:
        seed = _find_seed(run_dir) if run_dir is not None else None
        seed = passports.next_seed(subject, passports.tries_at_its_server(folder, subject)) if seed is None else seed
    trial = trial_of(configuration, examined, seed=seed, scenes=scenes, size=size)
    if before is not None:
        before(None, None)
        questions_asked = count_questions(make_experiment(trial, load_samples(trial, listener)))
        work = {f"judge:{examined.name}": (questions_asked, 0)}
        before(questions_asked, estimate_cost(prices_of(trial), work))
    run = evaluate(trial, run_dir=run_dir, spectator=spectator, report=False, command=command)
    pictures = max(len(question.shows) for question in questions)
    judge_findings = findings(run.results, examined.name, pictures=pictures, people=beside.measures)
    made_here = Try(seed, scenes, size, judge_findings.verdict)
    says = read_server_descriptions(run.path).get(examined.name, "")
    if beside.says not in (None, says):
        raise ConfigurationError(
            Text(
                "--judged {}: its server had a different model then ({}; now {}); judge those edits "
                "again, or leave out --people",
                judged,
                beside.says or "-",
                says or "-",
            )
        )
    subject = Examinee.from_judge(examined, configuration.benchmark.language, says)
    tries = passports.read_tries(folder, subject)
    passport = _passport(subject, run, examined, judge_findings, questions, trial, beside.made_of)
    others = [attempt for attempt in tries if (attempt.seed, attempt.scenes, attempt.size) != (seed, scenes, size)]
    passport = structs.replace(passport, tries=(*others, made_here))
    passport = _as_before(passport, _passport_copy_path(run))
    file = passports.write(passport, folder)
    passports.write_file(passport, _passport_copy_path(run))
    made = Audit(run, judge_findings, passport, file, tuple(passports.ways_of_asking(folder, passport)))
    remember_sources(_sources_of(run.results.samples))
    _draw(made)
    return made


def _find_seed(run_dir: str | Path) -> int | None:
    try:
        samples = Run(Path(run_dir)).experiment.samples
    except RunDirectoryError:
        return None
    return next((int(sample.facts[AUDIT]["seed"]) for sample in samples if "seed" in sample.facts.get(AUDIT, {})), None)


def redraw_audit(run: Run) -> Audit | None:
    """Draws the page of an audit's run again from its records; returns None for any other run, or an unfinished audit.

    Measures of agreement with people come from the passport in the run, since their scores are not kept. Sources are
    opened only if this user's cache knows them.
    """
    known, judge = passports.read_file(_passport_copy_path(run)), next(iter(run.experiment.judges), None)
    if known is None or judge is None or judge.section.type not in ("on_trial", "on_trial_of_two"):
        return None
    samples = with_known_sources(_sources_of(run.results.samples))
    pictures = max(len(question.shows) for question in judge.protocol.questions(run.results.samples[0]))
    people = {name: measure for name, measure in known.measures.items() if name in FLOORS}
    judge_findings = findings(run.results, judge.name, pictures=pictures, people=people)
    passport = structs.replace(
        known, verdict=judge_findings.verdict, measures=judge_findings.measures, categories=judge_findings.categories
    )
    made = Audit(run, judge_findings, passport, _passport_copy_path(run))
    _draw(made, samples)
    return made


def _sources_of(samples: Sequence[Sample]) -> tuple[Sample, ...]:
    """Returns the samples without their recipes, which the page does not show."""
    return tuple(replace(sample, pictures={"source": sample.pictures["source"]}) for sample in samples)


def trial_of(configuration: Configuration, examined: AskedJudge, *, seed: int, scenes: int, size: int) -> Configuration:
    """Returns the configuration of the audit's own evaluation."""
    name, plain = examined.name, configuration.as_plain()
    section = configuration.judges[name]
    devices = section.placement.device_ids
    if devices == "auto" or any(not device.startswith("cpu") for device in devices):
        devices = tuple(f"cpu:{n}" for n in range(min(MOST_DRAWING, max(1, (os.cpu_count() or 1) // 2))))
    asks = {
        "type": "on_trial_of_two" if examined.of_two else "on_trial",
        "asks": examined.section.model_dump(mode="json"),
        "folder": str(configuration.folder),
        "retries": examined.section.retries,
    }
    language = configuration.benchmark.language
    made = load_configuration(
        {
            **({"import_from": plain["import_from"]} if "import_from" in plain else {}),
            "benchmark": {
                "type": "ladder",
                "language": language,
                "seed": seed,
                "scenes": scenes,
                "size": size,
                "alone": section.placement.batch_size > 1,
                "battles": examined.of_two,
            },
            "edit_models": {
                name: {"type": "scene_rungs", "params": {"device_ids": list(devices), "draws": draws}}
                for name, draws in ((RUNGS, "source_2"), (WORSE, "source_3"))[: 1 + examined.of_two]
            },
            "judges": {name: {**plain["judges"][name], "protocol": asks}},
            "evaluation": {"min_coverage": 0.0, "controls": 0},
            "execution": plain["execution"],
        }
    )
    return made.model_copy(update={"name": f"{configuration.name}-audit-{name}", "folder": configuration.folder})


def _choose_judge(configuration: Configuration, judge: str | None) -> AskedJudge:
    """Returns the judge to examine. Raises `ConfigurationError` if that is ambiguous, or it cannot be examined."""
    asked = {judge.name: judge for judge in make_judges(configuration) if not judge.before_edits}
    if judge is None and len(asked) > 1:
        raise ConfigurationError(Text("which judge? Give one of them: --judge {: | }", asked))
    if judge is not None and judge not in asked:
        raise ConfigurationError(Text("--judge {}: the configuration has no such judge; it has: {}", judge, asked))
    examined = asked[judge or next(iter(asked))]
    if examined.replays:
        raise ConfigurationError(
            Text(
                "{} replays recorded answers, and has none for an audit's scenes; examine the judge "
                "that gave those answers",
                examined.name,
            )
        )
    return examined


def _questions(judge: AskedJudge, language: str) -> Sequence[Question]:
    """Returns its questions about a drawn scene. Raises `ConfigurationError` if its protocol needs more than that."""
    sample = import_registered("benchmark", "scenes").example_sample(language)
    if problem := fault(judge.protocol, sample):
        raise ConfigurationError(
            Text(
                "{} cannot be examined with the protocol `{}`: {}, which a drawn scene does not "
                "have; `--set protocol.type=rubric` uses another protocol",
                judge.name,
                judge.protocol_name,
                problem,
            )
        )
    return judge.protocol.questions(sample)


# -- people --


class _BesidePeople(NamedTuple):
    """Results of the comparison with people."""

    measures: Mapping[str, Measure] = MappingProxyType({})
    made_of: ComparedWithPeople | None = None
    """Data behind the measures, as in the passport."""
    says: str | None = None
    """The server's description of the judge's model then; None if the scores are not its own."""


def _compare_with_people(
    people: Path | None, judged: Path | None, examined: AskedJudge, language: str
) -> _BesidePeople:
    """Compares the judge with people, by a run in which it scored edits that people scored too.

    A run's judge is this one if it would have the same passport; failing that, replies recorded elsewhere count as
    its own if they answer the same questions, and the passport says so. Raises `ConfigurationError` if there is
    neither, and if no score by people is about that run.
    """
    if people is None and judged is None:
        return _BesidePeople()
    if people is None:
        raise ConfigurationError(
            Text("--judged names edits that people have scored; also give their scores: --people FILE")
        )
    if judged is None:
        raise ConfigurationError(
            Text(
                "--people: nobody has scored an audit's scenes; name a run in which this judge "
                "scored the same edits: --judged RUN"
            )
        )
    run, subject = Run(judged), Examinee.from_judge(examined, language)
    subjects = [(judge, Examinee.from_judge(judge, run.language)) for judge in run.experiment.judges]
    same = [judge for judge, of in subjects if of.key == subject.key]
    replayed = [(judge, structs.replace(of, judge=subject.judge)) for judge, of in subjects if judge.replays]
    recorded = [judge for judge, as_here in replayed if as_here.key == subject.key]
    if not same and len(recorded) != 1:
        raise ConfigurationError(_no_such_judge(judged, examined.name, subject, subjects, recorded))
    judge, scores = (same or recorded)[0], read_people(people)
    beside = analyse("agreement", run, people=people).people.judges[judge.name]
    return _BesidePeople(
        measure_people_agreement(run.results, beside),
        ComparedWithPeople(
            scores=digest([asdict(score) for score in scores]),
            run=judged.resolve().name,
            judge=judge.name,
            recorded=not same,
        ),
        read_server_descriptions(run.path).get(judge.name, "") if same else None,
    )


def _no_such_judge(
    run: Path,
    name: str,
    subject: Examinee,
    there: Sequence[tuple[AskedJudge, Examinee]],
    recorded: Sequence[AskedJudge],
) -> str:
    if recorded:
        names = ", ".join(judge.name for judge in recorded)
        return Text("--judged {}: {} are all recorded replies; give a run with those of {} alone", run, names, name)
    mine, differs = structs.asdict(subject), []
    for judge, other in there:
        theirs = structs.asdict(other)
        differs.append(Text("{} has another {}", judge.name, (key for key in mine if mine[key] != theirs[key])))
    return Text(
        "--judged {}: none of its judges is {}, asked as it is here ({:; }); judge those edits with "
        "the configuration that is examined",
        run,
        name,
        differs,
    )


# -- the passport --


def _passport(
    subject: Examinee,
    run: Run,
    judge: AskedJudge,
    judge_findings: Findings,
    questions: Sequence[Question],
    trial: Configuration,
    people: ComparedWithPeople | None,
) -> Passport:
    scale, pixels = judge_findings.trial.scale, {edit.sample_id: edit.pixels for edit in run.results.edits}
    language = trial.benchmark.language
    drawn = {key: value for key, value in trial.benchmark.parameters.items() if key != "cache_dir"}
    return Passport(
        **structs.asdict(subject),
        name=judge.name,
        form=tuple(dict.fromkeys(question.form for question in questions)),
        pictures=tuple(dict.fromkeys(view.name for question in questions for view in question.shows)),
        headline=judge.protocol.headline,
        scale=ExaminedScale(lowest=scale.lowest, highest=scale.highest, higher_is_better=scale.higher_is_better),
        date=datetime.now(UTC).date().isoformat(),
        version=__version__,
        benchmark={"type": "ladder", **drawn, "language": language},
        verdict=judge_findings.verdict,
        measures=dict(judge_findings.measures),
        categories={category: dict(of) for category, of in judge_findings.categories.items()},
        smallest_difference=judge_findings.smallest_difference,
        retest_sd=judge_findings.retest_sd,
        anchors=tuple(
            structs.replace(anchor, pixels=pixels.get(anchor.sample, "")) for anchor in judge_findings.anchors()
        ),
        repeated=tuple(judge_findings.pair_repeats()),
        people=people,
    )


def _passport_copy_path(run: Run) -> Path:
    return run.path / "report" / "passport.json"


def _as_before(passport: Passport, earlier: Path) -> Passport:
    """Returns the passport, with the day of the earlier copy if nothing else has changed since."""
    known = passports.read_file(earlier)
    if known is not None and structs.replace(passport, date=known.date) == known:
        return known
    return passport


def _draw(made: Audit, samples: tuple[Sample, ...] = ()) -> None:
    from edit_eval.plugins.audit.page import write_audit_page

    results = replace(made.run.results, samples=samples) if samples else made.run.results
    language = current_language(made.run.language)
    write_audit_page(results, made.findings, made.passport, made.page, ways=made.ways, language=language)
