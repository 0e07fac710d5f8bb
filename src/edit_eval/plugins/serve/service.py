"""A service: a run's engine whose judges stay loaded, and which is given new work while it runs.

The engine runs in the thread that calls `run`, and only that thread touches matrix, journals and work. Other threads
put pairs into a queue and wake the engine, which takes them in on each round and cuts batches from the waiting cells:
a full batch as soon as devices could take more, a smaller one only for an idle device. So batches are as large as the
traffic allows, and no pair waits for a batch to fill.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from edit_eval.config.schema import Configuration
from edit_eval.errors import ConfigurationError, Stopped
from edit_eval.execution.checks import choose
from edit_eval.execution.contract import Records
from edit_eval.execution.drivers.local import LocalDriver
from edit_eval.execution.engine.engine import Engine
from edit_eval.execution.engine.interruption import Interruption
from edit_eval.execution.engine.workload import is_left, work_number
from edit_eval.execution.layout import environment_record
from edit_eval.execution.machine.gauges import Gauges
from edit_eval.execution.session import Session
from edit_eval.execution.spectator import Spectator
from edit_eval.experiment import Experiment
from edit_eval.plugins.serve.canaries import CLIENT
from edit_eval.plugins.serve.ledger import Ledger, number_of
from edit_eval.plugins.serve.live import SHOWN, JudgeOnDevices, ServiceLive
from edit_eval.plugins.serve.openers import Openers
from edit_eval.plugins.serve.submissions import Submission
from edit_eval.plugins.serve.watch import Watch
from edit_eval.protocols.asked import AskedJudge, make_judges
from edit_eval.records import Edit, Judgement, Picture, Sample, Status
from edit_eval.scheduling.estimates import Estimates
from edit_eval.scheduling.fleet import Replica, ReplicaState
from edit_eval.scheduling.policies import Policy
from edit_eval.scheduling.tasks import Work
from edit_eval.store.examined import Examination, load_examinations
from edit_eval.store.provenance import SelfDescriptionCheck
from edit_eval.store.run_directory import CannotWrite
from edit_eval.text import Text

GRACE_SECONDS = 30.0
"""Time after SIGTERM to answer all admitted pairs."""
LEDGER_BYTES = 50 * 2**30
SHARE_OF_SECOND = 0.02
"""Share of clients' edits that the second judge is asked about."""
ADMITTED_AT_ONCE = 16
"""Most pairs admitted per round: a thousand at once would keep the devices waiting for a second."""
SPARE_DESCRIPTORS = 8
"""Files that the ledger may open over a pair, and more."""
LATEST = 1000
"""Number of latest answers that the service's figures cover."""


class Closing(Exception):
    """The service takes no more pairs."""


@dataclass(eq=False)
class QueuedPair:
    """A pair being judged, with its judgements so far by judge."""

    pair: Submission
    came: float
    answer: Future[dict[str, Judgement] | str] = field(default_factory=Future)
    """Its judgements, or why it was not judged."""
    judgements: dict[str, Judgement] = field(default_factory=dict)
    number: int = -1
    """Number of its edit, by which alone it is known."""
    gone: bool = False
    """True if its client has disconnected."""


class Pending:
    """The waiting cells of one judge, oldest first, grouped by question and source, which batches share."""

    def __init__(self) -> None:
        self._groups: OrderedDict[tuple[str, str], deque[int]] = OrderedDict()
        self.count = 0

    def add_cell(self, question: str, shares: str, cell: int) -> None:
        """Adds a cell."""
        self._groups.setdefault((question, shares), deque()).append(cell)
        self.count += 1

    def clear(self) -> None:
        """Drops all waiting cells."""
        self._groups.clear()
        self.count = 0

    def take(self, size: int, is_wanted: Callable[[int], bool]) -> list[int]:
        """Takes at most `size` cells of one question: from the oldest group, then from others with that question."""
        cells: list[int] = []
        question = ""
        for key in list(self._groups):
            if cells and key[0] != question:
                continue
            group = self._groups[key]
            while group and len(cells) < size:
                cell = group.popleft()
                self.count -= 1
                if is_wanted(cell):
                    cells.append(cell)
                    question = key[0]
            if not group:
                del self._groups[key]
            if len(cells) == size:
                break
        return cells


class _ServiceSpectator(Spectator):
    """Passes the engine's judgements and notes on to the service."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def note(self, text: str) -> None:
        self._service.tell(text)

    def judgement(self, judgement: Judgement) -> None:
        self._service.record_judgement(judgement)

    def edit(self, edit: Edit) -> None:
        return


def _refuse_unfit_judges(judges: Sequence[AskedJudge], second: str) -> None:
    """Raises `ConfigurationError` for a judge that cannot serve, and for one that cannot be the `second`."""
    if replaying := [judge.name for judge in judges if judge.replays]:
        raise ConfigurationError(
            Text("{} repeats replies that were given elsewhere, and cannot judge what is new", replaying[0])
        )
    if comparing := [judge.name for judge in judges if judge.of_two]:
        raise ConfigurationError(
            Text("{} compares two edits, and has no score for one; name another protocol", comparing[0])
        )
    others = [judge.name for judge in judges[1:]]
    if second and second not in others:
        raise ConfigurationError(Text("--second {}: name a judge behind the first one; there are {}", second, others))
    if any(judge.name == second and judge.scoring.scale.span is None for judge in judges):
        raise ConfigurationError(Text("--second {}: its scale has an open end, and rewards are from 0 to 1", second))


class Service:
    """A service. Raises `ConfigurationError` for judges that cannot serve."""

    def __init__(
        self,
        configuration: Configuration,
        folder: Path,
        *,
        tell: Callable[[str], None],
        grace: float = GRACE_SECONDS,
        ledger_bytes: int = LEDGER_BYTES,
        examinations: Path | None = None,
        command: Sequence[str] = (),
        most_pairs: int | None = None,
        second: str = "",
        share: float = SHARE_OF_SECOND,
    ) -> None:
        """`configuration` gives the judges; its edit models and benchmark are ignored.

        The judge `second` is asked about a `share` of clients' edits, and answers do not wait for it.
        """
        self.configuration = configuration.model_copy(update={"edit_models": {}})
        self.tell, self._grace, self._command, self._examinations = tell, grace, command, examinations
        if configuration.execution.driver != "local":
            raise ConfigurationError(Text("execution.driver: a service runs on this machine; write `local`"))
        self.judges: list[AskedJudge] = make_judges(self.configuration)
        _refuse_unfit_judges(self.judges, second)
        self._second, self._every = second, max(1, round(1 / share))
        self._counted = 0
        self._driver = LocalDriver()
        self._session = Session(self.configuration, self._driver)
        self._wake_out, self._wake_in = os.pipe()
        for end in (self._wake_out, self._wake_in):
            os.set_blocking(end, False)
        self._audience = _ServiceSpectator(self)
        self.work = Work(kept={f"judge:{judge.name}" for judge in self.judges})
        more = {} if most_pairs is None else {"most_pairs": most_pairs}
        self.ledger = Ledger(
            folder,
            self.configuration,
            self.judges,
            self.work,
            self._audience,
            most_bytes=ledger_bytes,
            note=tell,
            is_wanted=self._is_wanted,
            **more,
        )
        self._inbox: deque[QueuedPair] = deque()
        self._held: deque[QueuedPair] = deque()  # not in the matrix yet, because it is full
        self._abandoned: deque[QueuedPair] = deque()
        self._open: dict[int, QueuedPair] = {}  # in the matrix and not answered, by the edit's number
        self._late: dict[int, QueuedPair] = {}  # answered, with the second judge still to come
        self._pending = {judge.name: Pending() for judge in self.judges}
        self._closing = threading.Event()
        self._policy: Policy | None = None
        self.ready = threading.Event()
        """Set once every judge is loaded on some device."""
        self.ended = threading.Event()
        self.openers = Openers()
        self.watch: Watch | None = None
        self.live: ServiceLive | None = None
        self.began = time.time()
        self.statuses: Counter[tuple[str, str]] = Counter()  # (judge, status), of clients' edits
        self.cancelled = 0
        self.turned_away = 0
        """Pairs that could not be judged: no picture, or no instruction."""
        self.latest: deque[tuple[float, float]] = deque(maxlen=LATEST)
        """The latest answers: time (seconds since 1970) and duration in seconds."""
        self.shown: deque[tuple[Submission, Judgement]] = deque(maxlen=SHOWN)
        """The latest edits of clients, with the first judge's judgements."""

    # -- any thread --

    def submit(self, pairs: Sequence[Submission]) -> list[QueuedPair]:
        """Queues pairs for judging. Raises `Closing` once the service is closing."""
        tickets = [QueuedPair(pair, time.monotonic()) for pair in pairs]
        if self._closing.is_set():
            raise Closing
        self._inbox.extend(tickets)
        self._wake()
        return tickets

    def cancel(self, tickets: Sequence[QueuedPair]) -> None:
        """Abandons pairs: cells that have not been sent to a device never will be."""
        for ticket in tickets:
            if not ticket.answer.done():
                ticket.gone = True
                self._abandoned.append(ticket)
                self.cancelled += 1
        self._wake()

    def close(self) -> None:
        """Stops taking pairs, answers those admitted, and ends."""
        self._closing.set()
        self._wake()

    @property
    def is_closing(self) -> bool:
        """True if it takes no more pairs."""
        return self._closing.is_set()

    def count_by_status(self) -> Counter[tuple[str, str]]:
        """Counts clients' edits by judge and status."""
        away = {(judge.name, Status.SKIPPED.value): self.turned_away for judge in self.judges if self.turned_away}
        return Counter(dict(list(self.statuses.items()))) + Counter(away)

    @property
    def n_waiting(self) -> int:
        """Number of admitted pairs without an answer."""
        return len(self._inbox) + len(self._held) + len(self._open)

    @property
    def main_judges(self) -> list[AskedJudge]:
        """The judges in every answer, the first one first: all but the second one, which is asked about a share."""
        return [judge for judge in self.judges if judge.name != self._second]

    def replicas(self) -> list[JudgeOnDevices]:
        if self._policy is None:
            return []
        return [
            JudgeOnDevices(replica.model.name, list(replica.place), replica.state.name.lower(), len(replica.hands))
            for replica in list(self._policy.replicas)
        ]

    def load_examinations(self) -> Mapping[str, Examination]:
        """Returns what is known of each judge."""
        return load_examinations(self.ledger.matrix.experiment, self.ledger.directory.path, self._examinations)

    def _wake(self) -> None:
        with contextlib.suppress(OSError):  # the pipe is full: the engine will wake anyway
            os.write(self._wake_in, b"x")

    def _awake(self) -> None:
        with contextlib.suppress(OSError):
            os.read(self._wake_out, 1 << 16)

    # -- the engine's thread --

    def run(self) -> None:
        """Serves until closed, by `close` or a signal. Raises what the engine raises."""
        session, layout, machine = self._session, self._session.layout, self._driver.machine()
        session.refuse_judges(together=len(self.judges) > 1)
        self._driver.wait_for(self._wake_out, self._awake)
        choices = choose(self.configuration, layout.models, machine)
        policy = self._policy = Policy(
            layout.models,
            self.work,
            Estimates(),
            placement="together" if len(self.judges) > 1 else "swap",
            load_concurrency=choices.load_concurrency.value,
        )
        environment = {**environment_record(layout, machine), "command": " ".join(self._command), "folder": os.getcwd()}
        self.ledger.write_environment(environment)
        self.ledger.event("devices", devices=list(layout.devices))
        say = SelfDescriptionCheck(self.ledger.directory, strict=False)
        gauges = Gauges(policy.replicas, self.ledger.event, machine)

        def observe(replica: Replica, what: str, message: Mapping[str, Any]) -> None:
            gauges(replica, what, message)
            if what == "loaded":
                for note in say.compare(replica.model.key, message["about"], "+".join(replica.place)):
                    self.tell(note)
                self.ledger.write_environment(
                    {**environment, "models": {**engine.about, replica.model.key: message["about"]}}
                )

        with Interruption(self._grace) as interruption:

            def check_interruption() -> str:
                """Closes the service on a signal; tells the engine only when the grace time is over."""
                ending = interruption()
                if ending:
                    self.close()
                return "now" if ending == "now" else ""

            engine = Engine(
                self._driver,
                policy,
                self.work,
                cast("Records", self.ledger),
                self._audience,
                session.specifications(self._like_requests(), self.ledger.folder / "logs"),
                interruption=check_interruption,
                observer=observe,
                users=gauges.users,
                more=self._more,
            )
            self.live = ServiceLive(self)
            try:
                self.openers.start()
                with gauges:
                    engine.run()
            except KeyboardInterrupt:
                self.tell(Text("{} pairs had no answer when the time was over", self.n_waiting))
            finally:
                self._closing.set()
                self.ended.set()
                self._fail_open_pairs()
                self.openers.close()
                if self.watch is not None:
                    self.watch.close()
                self.live.close()
                self.ledger.close()
                for end in (self._wake_in, self._wake_out):
                    os.close(end)

    def _like_requests(self) -> Experiment:
        """Returns an example of what judges will be asked, to prepare them before the first request."""
        language = self.configuration.benchmark.language
        sample = Sample(
            id="example", index=0, pictures={"source": Picture(path="")}, instruction="Make it red.", language=language
        )
        return Experiment(samples=(sample,), edit_models=(CLIENT,), judges=tuple(self.judges), language=language)

    def _more(self) -> bool:
        """Admits queued pairs and cuts batches; True if the work has changed."""
        self._note_readiness()
        while self._inbox:
            self._held.append(self._inbox.popleft())
        writable = bool(self._held) and self._has_descriptors()
        if writable and self.ledger.is_full and not (self._open or self._late) and not self.work.tasks_left:
            self.ledger.rotate_runs()
            for pending in self._pending.values():  # these are cells of the finished run, all abandoned
                pending.clear()
        changed = False
        for _ in range(min(len(self._held), ADMITTED_AT_ONCE)):
            if writable and not self.ledger.is_full:
                changed |= self._admit_safely(self._held[0])
                self._held.popleft()  # only now: were the ledger to fail, it would be among those that are told
        if self._held and writable and not self.ledger.is_full:
            self._wake()
        for judge in self.judges:
            changed |= self._cut_batches(judge.name)
        while self._abandoned:  # replies to cells already at a device are still recorded
            ticket = self._abandoned.popleft()
            if self._find_open_pair(ticket.number) is ticket:
                self._forget(ticket)
                matrix = self.ledger.matrix
                for cell in matrix.cells.cells_of_subject(ticket.number):  # release tasks that wait for these
                    self.work.settle(work_number(cell))
        if self._closing.is_set() and not self.n_waiting and not self._late:
            self.work.kept.clear()
            return True
        return changed

    def _has_descriptors(self) -> bool:
        """True if files can be opened: where none can, pairs wait. That is no full disk, and it passes."""
        spare: list[int] = []
        try:
            while len(spare) < SPARE_DESCRIPTORS:
                spare.append(os.dup(self._wake_in))
            return True
        except OSError:
            return False
        finally:
            for descriptor in spare:
                os.close(descriptor)

    def _note_readiness(self) -> None:
        if self._policy is not None and not self.ready.is_set():
            loaded = {replica.key for replica in self._policy.replicas if replica.state is ReplicaState.LOADED}
            if loaded >= self.work.kept:
                self.ready.set()

    def _admit_safely(self, ticket: QueuedPair) -> bool:
        """Admits a pair; whatever goes wrong over it is its own status, unless the ledger can no longer be written."""
        if ticket.gone:
            return False
        try:
            return self._admit(ticket)
        except CannotWrite:
            raise
        except Exception as error:
            self._forget(ticket)
            self.turned_away += 1
            with contextlib.suppress(Exception):  # the client has disconnected
                ticket.answer.set_result(f"it cannot be judged ({type(error).__name__}: {error})"[:1000])
            return True

    def _admit(self, ticket: QueuedPair) -> bool:
        ticket.pair = ticket.pair._replace(unasked=self._choose_unasked(ticket.pair))
        number = ticket.number = self.ledger.add(ticket.pair)
        matrix = self.ledger.matrix
        self._open[number] = ticket
        added = False
        for judgement in matrix.cells.judgements_of(number):
            if not matrix.is_pending(judgement):  # its protocol cannot ask about this sample
                self.record_judgement(matrix.judgement(judgement))
                continue
            for cell in matrix.cells.cells_of(judgement):
                judge, question = matrix.judge_of(cell).name, matrix.address(cell)[5]
                if before := matrix.cells.prerequisites_of(cell):
                    after = [work_number(earlier) for earlier in before.values()]
                    self.work.add(f"judge:{judge}", [cell], after=after)
                    added = True
                else:
                    self._pending[judge].add_cell(question, ticket.pair.shares, cell)
        return added

    def _choose_unasked(self, pair: Submission) -> tuple[str, ...]:
        """Returns the judges not asked about a pair: the second, except for its share, spread evenly over pairs."""
        if not self._second:
            return ()
        self._counted += not pair.canary
        return (self._second,) if pair.canary or self._counted % self._every else ()

    def _cut_batches(self, judge: str) -> bool:
        """Makes tasks of a judge's waiting cells, as many as its devices can take."""
        pending, key = self._pending[judge], f"judge:{judge}"
        assert self._policy is not None
        loaded = [replica for replica in self._policy.replicas_of(key) if replica.state is ReplicaState.LOADED]
        if not pending.count or not loaded:
            return False
        hands = sum(replica.capacity for replica in loaded)
        size = self.configuration.judges[judge].placement.batch_size
        made = False
        while pending.count:
            under_way = self.work.count_ready_tasks(key)
            # Each replica prefetches one more task to open its pictures, and takes it only from a queue this long.
            most = hands + 2 * len(loaded) + 1 if pending.count >= size else hands
            if under_way >= most:
                break
            cells = pending.take(size, self._is_wanted)
            if cells:
                self.work.add(key, cells)
                made = True
        return made

    def _is_wanted(self, cell: int) -> bool:
        matrix = self.ledger.matrix
        ticket = self._find_open_pair(matrix.cells.judgement_parts(matrix.cells.judgement_of(cell))[0])
        return ticket is not None and not ticket.gone and is_left(matrix, cell)

    def _find_open_pair(self, number: int) -> QueuedPair | None:
        """Returns the pair whose edit has that number, if a judgement of it is still to come."""
        return self._open.get(number) or self._late.get(number)

    def record_judgement(self, judgement: Judgement) -> None:
        """Records a final judgement; the last one a client waits for answers its ticket."""
        number = number_of(judgement.sample_id)
        ticket = self._find_open_pair(number)
        if ticket is None or not (ticket.pair.canary or judgement.judge in ticket.pair.unasked):
            self.statuses[judgement.judge, judgement.status.value] += 1
        if ticket is None:
            return
        ticket.judgements[judgement.judge] = judgement
        answers = {name: answer for name, answer in ticket.judgements.items() if name != self._second}
        if number in self._open and len(answers) == len(self.judges) - bool(self._second):
            self._late[number] = self._open.pop(number)
            self._see(ticket)
            if not ticket.pair.canary:
                self.latest.append((time.time(), time.monotonic() - ticket.came))
                self.shown.append((ticket.pair, answers[self.judges[0].name]))
            with contextlib.suppress(Exception):  # the client has disconnected
                ticket.answer.set_result(answers)
        if len(ticket.judgements) == len(self.judges):
            self._forget(ticket)
            if self._second and self._second not in ticket.pair.unasked:
                self._see(ticket, ticket.judgements[self._second])

    def _see(self, ticket: QueuedPair, second: Judgement | None = None) -> None:
        if self.watch is not None:
            self.watch.observe_answer(ticket.pair, ticket.judgements[self.judges[0].name], second)

    def _forget(self, ticket: QueuedPair) -> None:
        self._open.pop(ticket.number, None)
        self._late.pop(ticket.number, None)

    def _fail_open_pairs(self) -> None:
        for ticket in [*self._inbox, *self._held, *self._open.values()]:
            if not ticket.answer.done():
                ticket.answer.set_exception(Stopped("the service has ended"))
        self._inbox.clear()
        self._held.clear()
        self._open.clear()
        self._late.clear()
