"""What joins a run by the door: who follows its starts (`follower.NAME`), who divides it (`partition.NAME`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path

from edit_eval.config.components import find_single_class, import_class, import_registered, names
from edit_eval.config.schema import Configuration
from edit_eval.errors import ConfigurationError
from edit_eval.execution.spectator import Spectator, chain_spectators
from edit_eval.experiment import Experiment
from edit_eval.store.run_directory import RunDirectory, Shard
from edit_eval.text import Text


class Follower(Spectator):
    """Is told of every start of a run, and of its end with the report; ours tells trackers."""

    @classmethod
    def of(cls, configuration: Configuration) -> Follower | None:
        """Returns the follower of an evaluation; None if it follows none of these. Raises `ConfigurationError`."""
        raise NotImplementedError

    def started(
        self, directory: RunDirectory, note: Callable[[str], None], *, work: bool
    ) -> AbstractContextManager[None]:
        """Follows a start as long as the block lasts, without `work` one that has nothing left to do.

        What people should know goes to `note`. A block that raises, or that ends without `finish`, will be resumed.
        """
        return nullcontext()

    def finish(self, files: Sequence[Path], settled: Callable[[], int]) -> None:
        """Hears that the run is finished: the files of its report, and how many edits and judgements are `settled`."""


class Followers:
    """All that follow one evaluation."""

    def __init__(self, configuration: Configuration) -> None:
        """Raises `ConfigurationError` if one cannot follow, or if none can tell the trackers that are wanted."""
        found = (import_registered("follower", name).of(configuration) for name in names("follower"))
        self._all: list[Follower] = [follower for follower in found if follower is not None]
        if configuration.trackers and not self._all:
            raise ConfigurationError(Text("trackers: nothing is installed here that tells them; leave out `trackers`"))

    def join(self, spectator: Spectator) -> Spectator:
        """Returns a spectator with the followers behind it."""
        for follower in self._all:
            spectator = chain_spectators(spectator, follower)
        return spectator

    @contextmanager
    def started(self, directory: RunDirectory, note: Callable[[str], None], *, work: bool) -> Iterator[None]:
        """See `Follower.started`."""
        with ExitStack() as stack:
            for follower in self._all:
                stack.enter_context(follower.started(directory, note, work=work))
            yield

    def finish(self, files: Sequence[Path], settled: Callable[[], int]) -> None:
        """See `Follower.finish`."""
        for follower in self._all:
            follower.finish(files, settled)


class Partition(ABC):
    """Says how several engines share one run, each with a part of its samples, a `Shard`."""

    @abstractmethod
    def read(self, text: str, environment: Mapping[str, str], run: Path | None = None) -> Shard:
        """Reads `--shard`, as far as need be with variables that a launcher has set. Raises `ConfigurationError`."""

    @abstractmethod
    def divide(
        self, experiment: Experiment, batch_sizes: Sequence[int], categories: Sequence[str], count: int
    ) -> list[int]:
        """Returns the shard, from 1 to `count`, of each sample of an experiment, by its position.

        Every engine of the run arrives at the same. Batches of these sizes, which are cut from the `categories` of the
        whole benchmark, stay whole; so do samples that follow each other, and the controls.
        """

    @abstractmethod
    def take_turn(
        self, run: Path, at_once: int, note: Callable[[str], None], interruption: Callable[[], str]
    ) -> AbstractContextManager[Callable[[], None]]:
        """Waits until fewer than `at_once` others of the run are loading; gives a function that ends the turn.

        An interrupted run (`interruption`) does not wait.
        """


def partition() -> Partition:
    """Returns the partition that is installed, a package's in place of ours. Raises `ConfigurationError` without."""
    class_path = find_single_class("partition")
    if class_path is None:
        raise ConfigurationError(Text("--shard: nothing is installed here that divides a run; leave it out"))
    made: Partition = import_class("partition", class_path)()
    return made
