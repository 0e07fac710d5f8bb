"""A run's copies of its judges' passports, and the anchors as judged again for the run, if they were.

The run keeps copies because a passport in the cache may be deleted or replaced before the run is read; everything
reported on a run comes from its own folder.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from edit_eval import passports
from edit_eval.experiment import Experiment
from edit_eval.given_files import UnfitFile, read_json
from edit_eval.passports import Passport
from edit_eval.pictures import write_durably
from edit_eval.protocols.asked import AskedJudge
from edit_eval.statistics.drift import Drift, JudgedTwice, drift
from edit_eval.store.run_directory import RunDirectory

COPIES, ANCHORS = "passports", "anchors"
"""Folders within the run directory, the second within the first."""


@dataclass(frozen=True, kw_only=True)
class JudgedAnchors:
    """The anchors, judged again for a run."""

    date: str
    """In UTC."""
    scores: Mapping[str, float]
    """Scores by the anchor's sample; anchors without a score are left out."""


@dataclass(frozen=True, kw_only=True)
class Examined:
    """What is known of a judge, as used in a run."""

    passport: Passport | None
    language: str
    """Language of the run's instructions."""
    judged: JudgedAnchors | None = None

    @property
    def line(self) -> str:
        """`audited 2026-11-21: passed`, or `not audited`."""
        return passports.line(self.passport, self.language)

    @property
    def anchors(self) -> Mapping[str, float]:
        """The anchors' scores for the run: as judged again for it, else those of the passport."""
        if self.judged is not None:
            return self.judged.scores
        return {} if self.passport is None else {one.sample: one.score for one in self.passport.anchors}

    @property
    def drift(self) -> Drift | None:
        """Drift of the anchors from the passport's; None if they were not judged again, or cannot be tested."""
        if self.passport is None or self.judged is None:
            return None
        before = {one.sample: one.score for one in self.passport.anchors}
        anchors = _judged_twice(self.passport, before, self.judged.scores)
        return drift(anchors, self.passport.repeated, self.passport.span)

    def as_plain(self) -> dict[str, Any]:
        """Plain data for the summary."""
        if self.passport is None:
            return {"line": self.line, "language": self.language, "passport": None, "anchors": None}
        found = self.passport
        return {
            "line": self.line,
            "language": self.language,
            "passport": {
                "date": found.date,
                "verdict": found.verdict,
                "failed": list(found.failed),
                "basis": found.tries[-1]._asdict() if found.tries else None,
                "earlier": [one.verdict for one in found.tries[:-1]],
                "language": found.subject.language,
                "this_language": found.subject.language == self.language,
                "smallest_difference": found.smallest_difference,
                "retest_sd": found.retest_sd,
            },
            "anchors": self.judged
            and {
                "date": self.judged.date,
                "total": len(found.anchors),
                "repeated": len(found.repeated),
                "drift": self.drift and {**asdict(self.drift), "drifted": self.drift.drifted},
            },
        }


def examinable(experiment: Experiment) -> list[AskedJudge]:
    """Returns the judges that an audit can examine: not those that measure, or replay stored replies."""
    return [judge for judge in experiment.judges if not judge.measures and not judge.replays]


def what_servers_said(run: Path) -> dict[str, str]:
    """Returns what each judge's server last reported about its model, by the judge's name."""
    found = {}
    for environment in RunDirectory(run).environments().values():
        for key, about in (environment.get("models") or {}).items():
            kind, _, name = key.partition(":")
            if kind == "judge":
                found[name] = str(about.get("serves") or "")
    return found


def examined(experiment: Experiment, run: Path, folder: Path | None = None) -> dict[str, Examined]:
    """Returns what is known of each judge that can be examined: from the run's copies, else from `folder`, if given."""
    found, says = {}, what_servers_said(run)
    for judge in examinable(experiment):
        of = judge, experiment.language, says.get(judge.name, "")
        passport = passports.read(run / COPIES, *of)
        if passport is None and folder is not None:
            passport = passports.read(folder, *of)
        judged = None if passport is None else _read_judged(_anchors_file(run, passport))
        found[judge.name] = Examined(passport=passport, language=experiment.language, judged=judged)
    return found


def take_passports(experiment: Experiment, run: Path, folder: Path) -> bool:
    """Copies the passports of the experiment's judges into the run; True if any copy is new or has changed.

    Raises `ConfigurationError` if the run directory cannot be written.
    """
    changed, says = False, what_servers_said(run)
    for judge in examinable(experiment):
        of = judge, experiment.language, says.get(judge.name, "")
        passport = passports.read(folder, *of)
        if passport is not None and passport != passports.read(run / COPIES, *of):
            passports.write(passport, run / COPIES)
            changed = True
    return changed


def keep_judged(run: Path, passport: Passport, judged: JudgedAnchors) -> None:
    """Saves the anchors as judged again, replacing any earlier ones."""
    text = json.dumps(asdict(judged), ensure_ascii=False, allow_nan=False, indent=1)
    write_durably(text.encode(), _anchors_file(run, passport))


def _anchors_file(run: Path, passport: Passport) -> Path:
    return run / COPIES / ANCHORS / f"{passport.subject.key}.json"


def _read_judged(path: Path) -> JudgedAnchors | None:
    with suppress(UnfitFile):
        return read_json(path, JudgedAnchors)
    return None


def _judged_twice(passport: Passport, before: Mapping[str, float], now: Mapping[str, float]) -> list[JudgedTwice]:
    rungs = {one.sample: one.rung for one in passport.anchors}
    both = [sample for sample in rungs if sample in before and sample in now]
    return [JudgedTwice(sample, rungs[sample], before[sample], now[sample]) for sample in both]


def drift_between(one: Examined, other: Examined) -> Drift | Literal["untested"] | None:
    """Returns how far a judge drifted from one run to another, by the anchors of each; None if nothing is known.

    The anchors are those judged for the run, else those of its passport. Passports of two audits can be compared if the
    audits drew the same scenes. `untested` if anchors were judged twice, and no passport has repeated answers.
    """
    if one.passport is None or other.passport is None:
        return None
    if one.passport.subject.key != other.passport.subject.key or one.passport.benchmark != other.passport.benchmark:
        return None  # their anchors are other edits
    anchors = _judged_twice(one.passport, one.anchors, other.anchors)
    repeated = list(dict.fromkeys([*one.passport.repeated, *other.passport.repeated]))
    if anchors and not repeated and one.anchors != other.anchors:
        return "untested"
    return drift(anchors, repeated, one.passport.span)
