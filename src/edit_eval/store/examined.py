"""What is known of a run's judges beside its scores: what an examiner says, which comes by the door (`examiner.NAME`).

A run keeps copies, because what an examiner knows may be deleted or replaced before the run is read; everything
reported on a run comes from its own folder. Without an examiner nothing is known of any judge.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from edit_eval.config.components import find_single_class, import_class
from edit_eval.errors import ConfigurationError, EditEvalError
from edit_eval.experiment import Experiment
from edit_eval.files.user_cache import cache_folder
from edit_eval.records import ExaminedJudge
from edit_eval.text import Text


class JudgeChange(NamedTuple):
    """Why a judge's scores in two runs are not comparable, or may not be."""

    line: Text
    shown: bool
    """True if it is shown to be another judge now; False if that could not be tested."""


class Examination(ABC):
    """The contract of what is known of one judge, as used in a run."""

    @property
    @abstractmethod
    def document(self) -> ExaminedJudge:
        """What documents say of the judge."""

    @abstractmethod
    def as_dict(self) -> dict[str, Any]:
        """Returns all of it as plain data, for a run that is read without its folder; `Examiner.read` reads it."""

    def find_change(self, first: Examination, judge: str, runs: tuple[str, str]) -> JudgeChange | None:
        """Says whether the judge, as examined for the second of these runs, differs from itself in the `first`."""
        return None


class Examiner(ABC):
    """Says what is known of a run's judges beside its scores.

    `folder` is where examiners keep what they know of judges, whatever the run.
    """

    @abstractmethod
    def take(self, experiment: Experiment, run: Path, folder: Path) -> bool:
        """Copies what is known of the experiment's judges into the run; True if any copy is new or has changed.

        Raises `ConfigurationError` if the run directory cannot be written.
        """

    @abstractmethod
    def load_examinations(self, experiment: Experiment, run: Path, folder: Path | None) -> Mapping[str, Examination]:
        """Returns what is known of each judge that can be examined, by its name: from the run's copies, else from
        `folder`, if given."""

    @abstractmethod
    def read(self, kept: Mapping[str, Any]) -> Examination:
        """Reads `Examination.as_dict`, which a stranger may have sent. Raises `KeyError`, `TypeError`, `ValueError` or
        `AttributeError` for anything else."""

    @abstractmethod
    def words(self, document: ExaminedJudge) -> Text:
        """Returns what is known of a judge as one line for people: `audited 2026-11-21: passed`."""

    def remarks(self, judge: str, document: ExaminedJudge) -> Sequence[Text]:
        """Returns further lines about the judge, which speak for it or say nothing against it."""
        return ()

    def warnings(self, judge: str, document: ExaminedJudge) -> Sequence[Text]:
        """Returns why the judge's scores are not to be trusted."""
        return ()


def usual_folder() -> Path:
    """Returns the folder of examiners where no other is named: `passports` in the user's cache."""
    return cache_folder() / "passports"


def examiner() -> Examiner | None:
    """Returns the examiner that is installed, a package's in place of ours; None if there is none."""
    class_path = find_single_class("examiner")
    return _make_examiner(class_path) if class_path else None


@cache  # a service asks from several threads
def _make_examiner(class_path: str) -> Examiner:
    made: Examiner = import_class("examiner", class_path)()
    return made


def take_examinations(experiment: Experiment, run: Path, folder: Path | None = None) -> Text | None:
    """Copies what is known of the experiment's judges into the run (`Examiner.take`); returns where from, if any of it
    is new there."""
    by, folder = examiner(), folder or usual_folder()
    with _name_failing_examiner(by):
        if by is None or not by.take(experiment, run, folder):
            return None
    return Text("what the report says of the judge's audit was found earlier, and kept in {}", folder)


def load_examinations(experiment: Experiment, run: Path, folder: Path | None = None) -> Mapping[str, Examination]:
    """Returns what is known of each judge that can be examined, by its name; see `Examiner.load_examinations`."""
    by = examiner()
    with _name_failing_examiner(by):
        return {} if by is None else by.load_examinations(experiment, run, folder)


@contextmanager
def _name_failing_examiner(by: Examiner | None) -> Iterator[None]:
    """Names the examiner that fails: one that a package brings, whose fault is none of the run's."""
    try:
        yield
    except (EditEvalError, OSError):  # a full or closed disk is no examiner's fault
        raise
    except Exception as error:
        what, where = f"{type(error).__name__}: {error}", f"{type(by).__module__}.{type(by).__qualname__}"
        text = Text("the examiner {} failed ({}); the run is kept: fix its package, or uninstall it", where, what)
        raise ConfigurationError(text) from error
