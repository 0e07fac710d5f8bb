"""Judges the anchor edits of a passport again, to see whether a run's judge is still the one that was examined.

They are drawn again and judged as in the audit, in a run of their own within the run, so they are resumed and kept like
any other. They are left out of the run's numbers.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from edit_eval.config.schema import Configuration
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.audit.examiner import Examined, JudgedAnchors, keep_judged
from edit_eval.plugins.audit.passports import Passport
from edit_eval.plugins.audit.trial import trial_of
from edit_eval.protocols.asked import AskedJudge, make_judges
from edit_eval.run import Run, evaluate
from edit_eval.text import Text

FOLDER = "anchors"
"""Name in the run directory."""


def judge_anchors(configuration: Configuration, run: Run) -> list[Path]:
    """Judges the anchors of each judge's passport again, and draws the run's page; returns the files with the findings.

    `configuration` is that of the run. An unfinished earlier attempt is resumed; a finished one is kept, and the
    anchors are judged anew. Raises `ConfigurationError` if no judge has a passport in the run's language, and the same
    as `evaluate`.
    """
    judges = {judge.name: judge for judge in make_judges(configuration)}
    examined = {
        name: examination
        for name, examination in run.judge_examinations.items()
        if isinstance(examination, Examined) and name in judges
    }
    passports = {
        name: examination.passport for name, examination in examined.items() if examination.passport is not None
    }
    known = {name: passport for name, passport in passports.items() if passport.subject.language == run.language}
    if not known:
        raise ConfigurationError(
            Text(
                "--anchors: no judge of this run has a passport in the run's language; `edit-eval "
                "audit CONFIG` writes one"
            )
        )
    written = [
        keep_judged(run.path, passport, _judge_again(configuration, judges[name], passport, run))
        for name, passport in known.items()
    ]
    Run(run.path, run.examinations).write_report()
    return written


def _judge_again(configuration: Configuration, judge: AskedJudge, passport: Passport, run: Run) -> JudgedAnchors:
    drawn = passport.benchmark
    trial = trial_of(configuration, judge, seed=drawn["seed"], scenes=drawn["scenes"], size=drawn["size"])
    chosen = trial.benchmark.filters.model_copy(
        update={"sample_ids": tuple(anchor.sample for anchor in passport.anchors)}
    )
    trial = trial.model_copy(update={"benchmark": trial.benchmark.model_copy(update={"filters": chosen})})
    place = [asked.name for asked in run.experiment.judges].index(judge.name)
    folder = run.path / FOLDER / f"{place}"
    times = sorted(folder.glob("[0-9]*"))
    unfinished = bool(times) and not Run(times[-1]).summary.complete
    number = len(times) - 1 if unfinished else len(times)
    made = evaluate(trial, run_dir=folder / f"{number:04d}", report=False)
    pixels = {edit.sample_id: edit.pixels for edit in made.results.edits}
    as_before = {anchor.sample for anchor in passport.anchors if pixels.get(anchor.sample) == anchor.pixels}
    if not as_before:
        raise ConfigurationError(
            Text(
                "{}: this version of edit-eval draws different pictures from the one that examined "
                "the judge ({}); `edit-eval audit` examines it again",
                judge.name,
                passport.version,
            )
        )
    scores = {
        judgement.sample_id: judgement.score
        for judgement in made.results.judgements
        if judgement.score is not None and judgement.sample_id in as_before
    }
    return JudgedAnchors(date=datetime.now(UTC).date().isoformat(), scores=scores)
