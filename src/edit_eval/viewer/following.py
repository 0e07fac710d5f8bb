"""The current state of a run, read while it is written: each time only the new lines."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from edit_eval.errors import EditEvalError, RunDirectoryError
from edit_eval.records import NO_EDIT, Edit, Judgement, Sample
from edit_eval.reporting.progress.view import Live, read_live
from edit_eval.run import Run
from edit_eval.store.journal import Tail, no_garbage
from edit_eval.store.matrix import OK, PENDING, Matrix
from edit_eval.store.recall import ReplyLine, is_there, recall
from edit_eval.store.run_directory import RunDirectory
from edit_eval.text import Text

READ_WHOLE_AGAIN = 60.0
"""Seconds after which a changed run is read again from the beginning: then a line also counts for its equals."""
TRY_AGAIN = 5.0
"""Seconds after which an unreadable run is tried again."""
SILENT_AFTER = 60.0
"""Seconds without a new `live.json` after which a run that should be at work counts as silent: on a busy machine the
thread that writes it may have no turn for much of that."""


@dataclass(frozen=True)
class RunState:
    """The state of a run."""

    kind: str
    """`working`, `silent` (should be at work, but has no news), `stopped` (with work left), `complete`, `damaged`
    (`reason` says how)."""
    reason: str = ""
    live: Live | None = None


@dataclass(frozen=True)
class Changes:
    """Changes since the last look."""

    samples: frozenset[str] = frozenset()
    """Ids of samples to show again."""
    anew: bool = False
    """True if everything was read again, perhaps from another experiment."""

    def __bool__(self) -> bool:
        return self.anew or bool(self.samples)


class Following:
    """Follows one run. Not thread-safe."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fault = ""
        """Why nothing can be shown; empty if something can."""
        self.matrix: Matrix | None = None
        self.directory = RunDirectory(path)
        self._described: tuple[str, ...] = ()
        self._read_at = 0.0
        self._changed = False
        self._complete: bool | None = None
        """True if every judgement has finished; None if not yet checked."""
        self._live: Live | None = None
        self._live_at = 0.0
        self._was_at_work: int | None = None
        self._begin()

    # -- reading --

    def _begin(self) -> None:
        """Reads the whole run; meanwhile pages show what was read before."""
        found, self._complete = None, None
        self._read_at, self._changed = time.monotonic(), False
        try:
            self._described = self._descriptions()
            self.directory = RunDirectory.existing(self.path)
            self._edits, self._replies = (
                Tail(self.path / name, self.directory.damage) for name in ("edits", "replies")
            )
            matrix = Matrix(Run.opened(self.directory).experiment)
            with no_garbage():
                recall(matrix, self._edits, self._replies, self.path, lambda status: False)
            self.fault = ""
            found = matrix
        except EditEvalError as error:
            self.fault = str(error)
        except OSError as error:
            self.fault = Text("{} cannot be read ({})", error.filename or self.path, error.strerror or error)
        except Exception as error:  # records may come from anywhere, and hold anything
            self.fault = Text("{} is damaged ({}: {})", self.path, type(error).__name__, error)
        self.matrix = found
        if found is not None:
            self._index(found)

    def _index(self, matrix: Matrix) -> None:
        self._numbers: dict[str, list[int]] = defaultdict(list)
        for number, key in enumerate(matrix.edit_keys):
            self._numbers[key].append(number)
        self._cells: dict[tuple[object, ...], int] = {}
        self._waiting: list[ReplyLine] = []
        self.samples = {sample.id: place for place, sample in enumerate(matrix.samples)}

    def _descriptions(self) -> tuple[str, ...]:
        """Returns the identity of the experiment: its files of configurations and sample lists."""
        files = (path for name in ("config", "samples") for path in (self.path / name).glob("[0-9]*"))
        return tuple(sorted(f"{path.name} {path.lstat().st_size} {path.lstat().st_mtime_ns}" for path in files))

    def catch_up(self) -> Changes:
        """Reads what has been written since the last call."""
        try:
            if (self._descriptions() != self._described and not self._grows()) or self._is_due():
                self._begin()
                return Changes(anew=True)
            if self.matrix is None or not (self._edits.has_more or self._replies.has_more or self._waiting):
                return Changes()
            found = frozenset(self._take())
            self.matrix.look()
        except (OSError, EditEvalError):  # moved or removed
            self._begin()
            return Changes(anew=True)
        self._changed = self._changed or bool(found)
        self._complete = None
        return Changes(found)

    def _grows(self) -> bool:
        """True for a service's run, whose samples grow all the time: it is read again now and then."""
        if self.matrix is None or not self.matrix.experiment.grows:
            return False
        self._changed = True
        return True

    def _is_due(self) -> bool:
        at_work = self.directory.start_at_work
        ended, self._was_at_work = at_work != self._was_at_work, at_work
        since = time.monotonic() - self._read_at
        if self.matrix is None:
            return since > TRY_AGAIN
        return self._changed and (ended or since > READ_WHOLE_AGAIN)

    def _take(self) -> Iterator[str]:
        matrix = self.matrix
        assert matrix is not None
        for edit in self._edits.of(Edit):
            if edit.status is OK and not is_there(edit, self.path):
                continue
            for number in self._numbers.get(edit.key, ()):
                model, edit_seed, sample = matrix.edit_parts(number)
                own = replace(edit, sample_id=sample.id, edit_model=model.name, edit_seed=edit_seed)
                matrix.set_edit(number, own)
                for told in matrix.behind(number):
                    matrix.tell(told)
                also = matrix.fail_followers(number) if own.status in NO_EDIT else []
                yield from (matrix.sample_of(one).id for one in (*matrix.shown_with(number), *also))
        waiting, self._waiting = self._waiting, []
        for line in (*waiting, *self._replies.of(ReplyLine)):
            cell = self._cell(matrix, line)
            if cell is None:
                continue
            edit_number = matrix.cells.parts(matrix.cells.judgement_of(cell))[0]
            if not matrix.is_there(edit_number) or not matrix.can_be_asked(cell) or matrix.key(cell) != line.key:
                self._waiting.append(line)  # its edit, or the reply before it, is yet to be read
                continue
            if line.ask == 0 and matrix.replies[cell]:
                matrix.forget_replies(cell)
            if line.ask >= len(matrix.replies[cell]):
                matrix.add_reply(cell, line.reply)
            for told in matrix.told_of(matrix.cells.judgement_of(cell)):
                matrix.tell(told)
            yield line.sample
        del self._waiting[:-1000]  # some may wait for an edit that never comes

    def _cell(self, matrix: Matrix, line: ReplyLine) -> int | None:
        if not self._cells:
            self._cells = {matrix.address(cell): cell for cell in range(len(matrix.cells))}
        return self._cells.get(line.to)

    # -- lookups --

    def state(self) -> RunState:
        """Returns what the run is doing now."""
        at_work = self.directory.start_at_work is not None
        live = read_live(self.directory) if at_work else None
        if live is not None and (self._live is None or (live.start, live.at) != (self._live.start, self._live.at)):
            self._live, self._live_at = live, time.monotonic()
        if self.fault and not at_work:
            return RunState("damaged", self.fault)
        if at_work:
            silent = self._live is not None and time.monotonic() - self._live_at > SILENT_AFTER
            return RunState("silent" if silent else "working", live=live or self._live)
        self._live = None
        if self._complete is None:
            self._complete = self.matrix is not None and not any(
                judgement.status is PENDING for judgement in (*self.matrix.judgements(), *self.matrix.battles())
            )
        return RunState("complete" if self._complete else "stopped")

    def run(self) -> Run:
        """Returns the run with everything read so far. Raises `RunDirectoryError` if nothing could be read."""
        if self.matrix is None:
            raise RunDirectoryError(self.fault)
        return Run.opened(self.directory, self.matrix)

    def of_sample(
        self, sample_id: str
    ) -> tuple[Sample, list[tuple[Edit, list[Judgement]]], list[Judgement], list[Judgement]]:
        """Returns a sample with its edits, each with its judgements; its battles; and the critiques of its edits."""
        matrix = self.matrix
        assert matrix is not None
        place = self.samples[sample_id]
        found, critiques, critics = [], list[Judgement](), matrix.experiment.critics
        for number in range(place, matrix.cells.edits, len(matrix.samples)):
            every = [matrix.judgement(one) for one in matrix.cells.judgements_of(number)]
            found.append((matrix.shown_edit(number), [one for one in every if one.judge not in critics]))
            critiques += [one for one in every if one.judge in critics and not one.made_in]
        battles = [one for battle in matrix.battles_of(place) for one in matrix.cells.judgements_of(battle)]
        return matrix.samples[place], found, [matrix.judgement(one) for one in battles], critiques

    def find_edit(self, key: str) -> Edit | None:
        """Returns the edit of that key, if it was made."""
        numbers = self._numbers.get(key) if self.matrix else None
        edit: Edit | None = self.matrix.edits[numbers[0]] if self.matrix and numbers else None
        return edit if edit is not None and edit.status is OK else None

    def find_picture(self, digest: str) -> Any:
        """Returns the samples' picture with that digest; None if there is none."""
        samples = self.matrix.samples if self.matrix else ()
        return next((one for sample in samples for one in sample.pictures.values() if one.digest == digest), None)
