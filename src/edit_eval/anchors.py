"""Is the judge of a run still the one that was examined? The anchor edits of its passport, judged once more.

They are drawn again and judged as in the audit, in a run of their own within the run, so that they are resumed and kept
as any other. Nothing of them is in a number of the run.
"""

from __future__ import annotations

from datetime import UTC, datetime

from edit_eval.auditing import trial_of
from edit_eval.config.schema import Configuration
from edit_eval.errors import ConfigurationError
from edit_eval.evaluation import evaluate
from edit_eval.passports import Passport
from edit_eval.protocols.asked import AskedJudge, asked_judges
from edit_eval.run import Run
from edit_eval.store.examined import JudgedAnchors, keep_judged
from edit_eval.text import Text

FOLDER = "anchors"
"""In the run directory."""


def judge_anchors(configuration: Configuration, run: Run) -> Run:
    """Has the anchors of each judge's passport judged again; returns the run as it is known now, with its page drawn.

    `configuration` is that of the run. An earlier time that did not come to its end goes on; a finished one stays, and
    the anchors are judged anew. Raises `ConfigurationError` where no judge has a passport in the run's language, and
    what `evaluate` does.
    """
    judges = {judge.name: judge for judge in asked_judges(configuration)}
    found = {name: one.passport for name, one in run.examined.items() if one.passport is not None and name in judges}
    known = {name: passport for name, passport in found.items() if passport.subject.language == run.language}
    if not known:
        raise ConfigurationError(
            Text(
                "--anchors: no judge of this run has a passport in the run's language; `edit-eval "
                "audit CONFIG` writes one"
            )
        )
    for name, passport in known.items():
        keep_judged(run.path, passport, _judged(configuration, judges[name], passport, run))
    made = Run(run.path, run.passports)
    made.draw()
    return made


def _judged(
    configuration: Configuration,
    judge: AskedJudge,
    passport: Passport,
    run: Run,
) -> JudgedAnchors:
    drawn = passport.benchmark
    trial = trial_of(configuration, judge, seed=drawn["seed"], scenes=drawn["scenes"], size=drawn["size"])
    chosen = trial.benchmark.filters.model_copy(update={"sample_ids": tuple(one.sample for one in passport.anchors)})
    trial = trial.model_copy(update={"benchmark": trial.benchmark.model_copy(update={"filters": chosen})})
    place = [asked.name for asked in run.experiment.judges].index(judge.name)
    folder = run.path / FOLDER / f"{place}"
    times = sorted(folder.glob("[0-9]*"))
    unfinished = bool(times) and Run(times[-1]).summary["status"] != "complete"
    number = len(times) - 1 if unfinished else len(times)
    made = evaluate(trial, run_dir=folder / f"{number:04d}", report=False)
    pixels = {edit.sample_id: edit.pixels for edit in made.results.edits}
    as_before = {one.sample for one in passport.anchors if pixels.get(one.sample) == one.pixels}
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
        one.sample_id: one.score
        for one in made.results.judgements
        if one.score is not None and one.sample_id in as_before
    }
    return JudgedAnchors(date=datetime.now(UTC).date().isoformat(), scores=scores)
