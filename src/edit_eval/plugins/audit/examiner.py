"""What audits tell the core of a run's judges: their passports, of which a run has copies, and how far a judge has
drifted by the anchors, if they were judged again for the run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from edit_eval.experiment import Experiment
from edit_eval.files.durable import write_durably
from edit_eval.files.user_files import UnfitFile, read_json
from edit_eval.plugins.audit import passports
from edit_eval.plugins.audit.drift import Drift, JudgedTwice, drift
from edit_eval.plugins.audit.passports import Passport
from edit_eval.plugins.audit.words import AnchorsInBrief, Details, PassportInBrief, anchors_line, passport_line
from edit_eval.protocols.asked import AskedJudge
from edit_eval.records import ExaminedJudge, Scale
from edit_eval.reporting.language import translate
from edit_eval.store.examined import Examination, Examiner, JudgeChange
from edit_eval.store.run_directory import RunDirectory
from edit_eval.text import Text

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
class Examined(Examination):
    """The passport of a judge, as used in a run."""

    passport: Passport | None
    language: str
    """Language of the run's instructions."""
    judged: JudgedAnchors | None = None

    @property
    def anchors(self) -> Mapping[str, float]:
        """The anchors' scores for the run: as judged again for it, else those of the passport."""
        if self.judged is not None:
            return self.judged.scores
        return {} if self.passport is None else {anchor.sample: anchor.score for anchor in self.passport.anchors}

    @property
    def drift(self) -> Drift | None:
        """Drift of the anchors from the passport's; None if they were not judged again, or cannot be tested."""
        if self.passport is None or self.judged is None:
            return None
        before = {anchor.sample: anchor.score for anchor in self.passport.anchors}
        anchors = _pair_anchors(self.passport, before, self.judged.scores)
        return drift(anchors, self.passport.repeated, self.passport.scale.span)

    def as_dict(self) -> dict[str, Any]:
        """The passport as a whole, and the anchors as judged again."""
        return {
            "language": self.language,
            "passport": self.passport and passports.sign_passport(self.passport),
            "anchors": self.judged and asdict(self.judged),
        }

    def find_change(self, first: Examination, judge: str, runs: tuple[str, str]) -> JudgeChange | None:
        """Says whether the judge has drifted between two runs, by the anchors of each."""
        between = measure_drift(first, self) if isinstance(first, Examined) else None
        if between == "untested":
            return JudgeChange(
                Text(
                    "judge {}: whether it has drifted between {} and {} is not tested: its passport has no repeated "
                    "answers to hold the anchor edits against; audit it again",
                    judge,
                    *runs,
                ),
                shown=False,
            )
        if between is None or not between.drifted:
            return None
        return JudgeChange(
            Text(
                "judge {} has drifted between {} and {}, or their sessions were unlike: the anchor edits score {} on "
                "average and scatter by {}, more than its own noise within one session, {} (p {})",
                judge,
                *runs,
                f"{between.mean:+.2f}",
                f"{between.spread:.2f}",
                f"{between.retest_sd:.2f}",
                "<0.0001" if between.p < 0.0001 else f"{between.p:.4f}",
            ),
            shown=True,
        )

    @property
    def document(self) -> ExaminedJudge:
        """Its line in English, how its audit ended, its noise, and the rest as `Details`."""
        passport, details = self.passport, self._details
        if passport is None:
            return ExaminedJudge(line=translate(passport_line(details), "en"), ended="not_audited", details=details)
        other_language = passport.language != self.language and passport.verdict in ("passed", "limited")
        return ExaminedJudge(
            line=translate(passport_line(details), "en"),
            ended="other_language" if other_language else passport.verdict,
            retest_sd=passport.retest_sd,
            details=details,
        )

    @property
    def _details(self) -> Details:
        if self.passport is None:
            return Details(language=self.language, passport=None, anchors=None)
        passport = self.passport
        brief = PassportInBrief(
            date=passport.date,
            verdict=passport.verdict,
            failed=passport.failures,
            basis=passport.tries[-1] if passport.tries else None,
            earlier=[attempt.verdict for attempt in passport.tries[:-1]],
            language=passport.language,
            smallest_difference=passport.smallest_difference,
        )
        anchors = (
            None
            if self.judged is None
            else AnchorsInBrief(
                date=self.judged.date, total=len(passport.anchors), repeated=len(passport.repeated), drift=self.drift
            )
        )
        return Details(language=self.language, passport=brief, anchors=anchors)


class PassportExaminer(Examiner):
    """What audits have found of the judges: their passports."""

    def take(self, experiment: Experiment, run: Path, folder: Path) -> bool:
        """Copies the passports of the experiment's judges into the run."""
        changed, says = False, read_server_descriptions(run)
        for judge in examinable(experiment):
            of = judge, experiment.language, says.get(judge.name, "")
            passport = passports.read(folder, *of)
            if passport is not None and passport != passports.read(run / COPIES, *of):
                passports.write(passport, run / COPIES)
                changed = True
        return changed

    def load_examinations(self, experiment: Experiment, run: Path, folder: Path | None) -> dict[str, Examination]:
        """Returns what is known of each judge that an audit can examine."""
        examinations: dict[str, Examination] = {}
        says = read_server_descriptions(run)
        for judge in examinable(experiment):
            of = judge, experiment.language, says.get(judge.name, "")
            passport = passports.read(run / COPIES, *of)
            if passport is None and folder is not None:
                passport = passports.read(folder, *of)
            judged = None if passport is None else _read_judged(_anchors_file(run, passport))
            examinations[judge.name] = Examined(passport=passport, language=experiment.language, judged=judged)
        return examinations

    def read(self, kept: Mapping[str, Any]) -> Examined:
        """Reads a passport, and the anchors as judged again, of a pushed run."""
        plain = msgspec.convert(dict(kept), _Kept)
        if plain.anchors is not None and not all(map(Scale().holds, plain.anchors.scores.values())):
            raise ValueError("the scores of its anchors")
        passport = None if plain.passport is None else passports.read_signed(plain.passport)
        return Examined(passport=passport, language=plain.language, judged=plain.anchors)

    def words(self, document: ExaminedJudge) -> Text:
        """Returns `audited 2026-11-21: passed; not audited for Chinese`, or `not audited`."""
        return passport_line(msgspec.convert(document.details, Details))

    def remarks(self, judge: str, document: ExaminedJudge) -> list[Text]:
        """Says that the anchors show no drift, if they were judged again."""
        anchors = msgspec.convert(document.details, Details).anchors
        return [anchors_line(judge, anchors)] if anchors and not anchors.has_drifted else []

    def warnings(self, judge: str, document: ExaminedJudge) -> list[Text]:
        """Says that the judge is no longer the one examined, if its anchors show it."""
        anchors = msgspec.convert(document.details, Details).anchors
        return [anchors_line(judge, anchors)] if anchors and anchors.has_drifted else []


class _Kept(msgspec.Struct):
    language: str
    passport: dict[str, Any] | None = None
    anchors: JudgedAnchors | None = None


def examinable(experiment: Experiment) -> list[AskedJudge]:
    """Returns the judges that an audit can examine: not those that measure, or replay stored replies."""
    return [judge for judge in experiment.judges if not judge.measures and not judge.replays]


def read_server_descriptions(run: Path) -> dict[str, str]:
    """Returns what each judge's server last reported about its model, by the judge's name."""
    descriptions = {}
    for environment in RunDirectory(run).environments().values():
        for key, about in (environment.get("models") or {}).items():
            kind, _, name = key.partition(":")
            if kind == "judge":
                descriptions[name] = str(about.get("serves") or "")
    return descriptions


def keep_judged(run: Path, passport: Passport, judged: JudgedAnchors) -> Path:
    """Saves the anchors as judged again, replacing any earlier ones; returns the file."""
    text = json.dumps(asdict(judged), ensure_ascii=False, allow_nan=False, indent=1)
    file = _anchors_file(run, passport)
    write_durably(text.encode(), file)
    return file


def _anchors_file(run: Path, passport: Passport) -> Path:
    return run / COPIES / ANCHORS / f"{passport.subject.key}.json"


def _read_judged(path: Path) -> JudgedAnchors | None:
    with suppress(UnfitFile):
        return read_json(path, JudgedAnchors)
    return None


def _pair_anchors(passport: Passport, before: Mapping[str, float], now: Mapping[str, float]) -> list[JudgedTwice]:
    rungs = {anchor.sample: anchor.rung for anchor in passport.anchors}
    both = [sample for sample in rungs if sample in before and sample in now]
    return [JudgedTwice(sample, rungs[sample], before[sample], now[sample]) for sample in both]


def measure_drift(first: Examined, second: Examined) -> Drift | Literal["untested"] | None:
    """Returns how far a judge drifted from one run to another, by the anchors of each; None if nothing is known.

    The anchors are those judged for the run, else those of its passport. Passports of two audits can be compared if the
    audits drew the same scenes. `untested` if anchors were judged twice, and no passport has repeated answers.
    """
    if first.passport is None or second.passport is None:
        return None
    if (
        first.passport.subject.key != second.passport.subject.key
        or first.passport.benchmark != second.passport.benchmark
    ):
        return None  # their anchors are other edits
    anchors = _pair_anchors(first.passport, first.anchors, second.anchors)
    repeated = list(dict.fromkeys([*first.passport.repeated, *second.passport.repeated]))
    if anchors and not repeated and first.anchors != second.anchors:
        return "untested"
    return drift(anchors, repeated, first.passport.scale.span)
