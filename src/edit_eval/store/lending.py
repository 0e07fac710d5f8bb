"""What an earlier run lends to a new one: edits and battles, which are not made or asked again (`lender.NAME`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from edit_eval.config.components import import_class, the_one
from edit_eval.config.schema import Configuration
from edit_eval.errors import ConfigurationError
from edit_eval.experiment import Experiment
from edit_eval.store.matrix import Matrix
from edit_eval.store.run_directory import RunDirectory
from edit_eval.text import Text


class Loan(ABC):
    """What one earlier run lends."""

    notes: Sequence[Text]
    """What is taken over, and what is still asked."""

    @abstractmethod
    def lend(self, directory: RunDirectory, matrix: Matrix) -> str:
        """Puts what is lent into a run; returns a note, empty if all was there already.

        Raises `ConfigurationError` if pictures cannot be had or read.
        """


class Lender(ABC):
    """The contract of what has earlier runs lend to new ones."""

    @abstractmethod
    def join(self, experiment: Experiment, configuration: Configuration) -> tuple[Experiment, Loan]:
        """Returns an experiment one of whose judges goes on from an earlier run (`protocols.pairwise.Stored`), with
        what it takes over from there. Raises `ConfigurationError` if it cannot go on from it."""


def joining(experiment: Experiment, configuration: Configuration) -> tuple[Experiment, Loan | None]:
    """Returns the experiment with what it takes over from an earlier run, if a judge of it says so.

    Raises `ConfigurationError` as `Lender.join`, and if no lender is installed.
    """
    if all(getattr(judge.protocol, "stored", None) is None for judge in experiment.judges):
        return experiment, None
    class_path = the_one("lender")
    if class_path is None:
        raise ConfigurationError(Text("protocol.pairs.stored: nothing is installed that takes over earlier battles"))
    lender: Lender = import_class("lender", class_path)()
    return lender.join(experiment, configuration)
