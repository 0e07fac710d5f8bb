"""Questions that are asked in batches, at half the price: gathered, handed in, looked after, and answered one by one.

Nothing is bought twice, whenever a process is killed. Before a batch is handed in, it is written down of each of its
questions that it is in a batch of this token; afterwards, of which id. A later start looks after the id. Where only
the token is known, the maker's list shows whether there is such a batch: OpenAI and Google keep the token with it,
Anthropic shows it only in the results, since the names of the questions begin with it. It is searched for in the same
way where nobody can tell whether a batch was taken (no answer, half an answer, a gateway's error).

What became of a question is its own: an answer, cut off or refused as any other; an error; not asked, since the batch
expired or was cancelled, which costs nothing and is asked once more; or an ending that nobody has listed, which is none
of these. While a server is away, or says nothing of a batch that can be understood, what was bought stays bought.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
import traceback
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from edit_eval.errors import ModelError, RequestError
from edit_eval.json_values import JsonObject
from edit_eval.judges.contract import DeferredQuestion
from edit_eval.plugins.endpoints.in_worker.batch_interfaces import (
    BatchInterface,
    BatchResult,
    BatchState,
    HandedBatch,
    make_token,
)
from edit_eval.plugins.endpoints.in_worker.client import Client, Failure, plain
from edit_eval.plugins.endpoints.in_worker.vocabulary import FREE, OF_THE_ACCOUNT, BatchOutcome, BatchStage, Says
from edit_eval.records import Reply, Status

if TYPE_CHECKING:
    from edit_eval.records import Submitted

T = TypeVar("T")
MOST_BYTES = 90 * 2**20
"""Bytes of our batches, where a maker takes more: what fails together, and is held in memory, is not too much."""
LONGEST_RESULTS = 2**30
"""Most bytes of a file of results."""
GATHERED_FOR = 15
"""A batch is handed in when no question has come for `batch_seconds`, or after so many times that."""
HANDED_IN = 4
"""Attempts at handing one in, if nobody can tell whether it was taken."""
UNKNOWN_FOR_GOOD = 3
"""A batch that its maker does not know so many times in a row is gone: one that was just made may not be known yet."""
SECONDS_FOR_ALL = 3600.0
"""In which a batch must be sent, or its results fetched."""

Read = Callable[["str | Failure"], "str | Reply"]
"""Returns the answer that a question's text is. Raises `RequestError`."""


@dataclass
class _Question:
    deferred: DeferredQuestion
    read: Read
    line: bytes = b""
    noted: threading.Event = field(default_factory=threading.Event)


@dataclass
class _Batch:
    """One batch. `questions` by their names, which begin with its token."""

    token: str
    begun: float
    changed: float
    questions: dict[str, _Question] = field(default_factory=dict)
    size: int = 0
    full: bool = False
    sought: bool = False
    """True if it may have been bought already."""
    not_before: float = 0.0
    attempts: int = 0
    id: str = ""
    sure: bool = True
    """False while its results have yet to show that this is the one."""
    not_it: set[str] = field(default_factory=set)
    """Ids of batches that it is not."""
    unknown: int = 0
    """How often in a row the maker knew no such batch."""
    in_order: bool = False
    """True if `questions` are in the order of its lines."""


class Batches:
    """The batches of a judge, with a thread that looks after them. Takes questions from any thread."""

    def __init__(self, interface: BatchInterface, client: Client, company: str, parameters: Any) -> None:
        """`client` is its own; `parameters`: the judge's."""
        self._interface, self._client, self._company = interface, client, company
        self._model, self._patience = parameters.model, parameters.attempt_timeout
        self._seconds, self._most = parameters.batch_seconds, min(interface.size, MOST_BYTES)
        self._changed = threading.Condition()
        self._closing = threading.Event()
        self._gathered: dict[str, _Batch] = {}  # by token
        self._bought: dict[str, _Batch] = {}  # by id
        self._crowded = False  # the maker takes no more until one of these is over
        self._thread: threading.Thread | None = None

    def add(self, deferred: DeferredQuestion, body: Callable[[], JsonObject], read: Read) -> None:
        """Takes a question; `body` makes the body of its request. Waits while too much is to be sent."""
        self._start()
        name = deferred.request.key[:32] or secrets.token_hex(16)
        question = _Question(replace(deferred, request=replace(deferred.request, pictures={})), read)
        earlier: Submitted = deferred.submitted or {"provider": "", "id": "", "usd": None}
        token = earlier.get("token", "")
        with self._changed:
            bought = self._find_bought(earlier["id"], token) if token else None
            if bought is not None:
                bought.questions[f"{token}-{name}"] = question
        if bought is None:
            line = body()
            with self._changed:
                bought = self._gather(question, name, token, line)
        noted = deferred.note(self._describe(bought))
        question.noted = noted

    def _describe(self, batch: _Batch) -> Submitted:
        return {"provider": self._company, "id": batch.id if batch.sure else "", "usd": None, "token": batch.token}

    def _find_bought(self, identity: str, token: str) -> _Batch | None:
        """Returns the batch that an earlier start has bought; None if it is not known to be."""
        if identity:
            if identity not in self._bought:
                batch = self._bought[identity] = self._begin(token)
                batch.id = identity
                batch.not_before = batch.begun + min(self._seconds, 5.0)  # others of it are on their way
            return self._bought[identity]
        return next((batch for batch in self._bought.values() if batch.token == token), None)

    def _begin(self, token: str) -> _Batch:
        now = time.monotonic()
        return _Batch(token or make_token(secrets.token_hex(4)), now, now)

    def _gather(self, question: _Question, name: str, token: str, body: JsonObject) -> _Batch:
        """Adds a question to the batch of an earlier start's token, or else to the one that is being gathered."""
        if token:
            batch = self._gathered.setdefault(token, self._begin(token))
            batch.sought = True
        else:
            batch = self._find_room(question.deferred)
        line = _encode(self._interface.line(f"{batch.token}-{name}", body))
        if not token and batch.size and batch.size + len(line) > self._most:
            batch.full = True
            return self._gather(question, name, token, body)
        question.line = line
        batch.questions[f"{batch.token}-{name}"] = question
        batch.size += len(line) + 1
        batch.changed = time.monotonic()
        batch.full = batch.full or len(batch.questions) >= self._interface.questions
        return batch

    def _find_room(self, deferred: DeferredQuestion) -> _Batch:
        """Returns the batch that is being gathered, or a new one; waits while too much is to be sent."""
        waited = 0
        while sum(batch.size for batch in self._gathered.values()) > 2 * self._most and not self._closing.is_set():
            self._changed.wait(1.0)
            waited += 1
            deferred.on_step(waited, 0)
        batch = next((b for b in self._gathered.values() if not (b.full or b.sought or b.attempts)), self._begin(""))
        return self._gathered.setdefault(batch.token, batch)

    def _start(self) -> None:
        with self._changed:
            if self._thread is None:
                self._client.open()
                self._thread = threading.Thread(target=self._run, daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Leaves all batches as they are."""
        self._closing.set()
        with self._changed:
            self._changed.notify_all()
        self._client.close()

    # -- the thread --

    def _run(self) -> None:
        while not self._closing.wait(min(1.0, self._seconds / 4)):
            for batch in self._list_due(self._gathered):
                self._guard(self._submit, batch)
            for batch in self._list_due(self._bought):
                self._guard(self._look, batch)

    def _list_due(self, batches: Mapping[str, _Batch]) -> list[_Batch]:
        now = time.monotonic()
        with self._changed:
            return [batch for batch in batches.values() if self._is_due(batch, now)]

    def _is_due(self, batch: _Batch, now: float) -> bool:
        if now < batch.not_before or (self._crowded and self._bought and not batch.id):
            return False
        quiet, old = now - batch.changed >= self._seconds, now - batch.begun >= GATHERED_FOR * self._seconds
        return bool(batch.id) or batch.full or quiet or (old and not batch.sought)

    def _guard(self, do: Callable[[_Batch], None], batch: _Batch) -> None:
        """Does something with a batch. A fault of ours leaves it, with its words, to another start."""
        try:
            do(batch)
        except BaseException as error:
            if not self._closing.is_set():
                traceback.print_exc()
                self._fail(batch, RequestError(f"{type(error).__name__}: {error}", says="batch", bought=True))

    def _forget(self, batch: _Batch) -> None:
        with self._changed:
            self._gathered.pop(batch.token, None)
            self._bought.pop(batch.id, None)
            self._changed.notify_all()

    def _fail(self, batch: _Batch, error: BaseException, lost: int = 0) -> None:
        """Answers all questions of a batch with the reason why there is no answer."""
        self._forget(batch)
        for question in batch.questions.values():
            question.deferred.answer(error, lost)

    def _explain(self, batch: _Batch, failure: Failure, *, bought: bool) -> RequestError:
        says = failure.says.value if failure.says in (*OF_THE_ACCOUNT, Says.BUSY) else "batch"
        words = f"{self._name(batch)}: {failure}"
        return RequestError(words, says=says, status=failure.status, seconds=failure.seconds, bought=bought)

    def _name(self, batch: _Batch) -> str:
        return f"batch {batch.id or batch.token} at {self._company}"

    # -- handing in --

    def _submit(self, batch: _Batch) -> None:
        with self._changed:
            batch.full = True  # no question joins it from here on
            if not all(question.noted.is_set() for question in batch.questions.values()):
                return
            bought = self._find_bought("", batch.token)
            if bought is not None:  # the id was written down of some of its questions
                del self._gathered[batch.token]
                bought.questions |= batch.questions
                return
        batch.attempts += 1
        try:
            identity = self._find(batch) if batch.sought else ""
            found = bool(identity)
            identity = identity or self._create(batch)
        except Failure as failure:
            if not batch.sought and (failure.free or not _may_be_taken(failure)):
                return self._fail(batch, self._explain(batch, failure, bought=False))
            batch.sought = True
            if failure.says in OF_THE_ACCOUNT or batch.attempts >= HANDED_IN:
                return self._fail(batch, self._explain(batch, failure, bought=True))
            batch.not_before = time.monotonic() + self._seconds * 2**batch.attempts
            return
        with self._changed:
            self._gathered.pop(batch.token, None)
            batch.id, batch.in_order = identity, not found
            batch.sure = self._interface.exact or not found
            batch.not_before = time.monotonic() + self._seconds
            self._bought[identity] = batch
            self._changed.notify_all()
        print(f"{self._name(batch)}: {len(batch.questions)} questions {'found again' if found else 'handed in'}")
        if batch.sure:
            self._note(batch)

    def _note(self, batch: _Batch) -> None:
        """Has the id written down. The lines are not needed any more."""
        for question in list(batch.questions.values()):
            question.line = b""
            question.deferred.note(self._describe(batch))

    def _describe_handed(self, batch: _Batch, data: bytes = b"") -> HandedBatch:
        return HandedBatch(self._model, batch.token, len(batch.questions), data)

    def _find(self, batch: _Batch) -> str:
        """Returns the id of the batch if it was bought; empty if there is none."""
        handed = self._describe_handed(batch)
        found = self._client.answer(lambda client: self._soon(self._interface.find(client, handed)))
        known = batch.not_it | self._bought.keys()
        return next((identity for identity in found if identity not in known), "")

    async def _soon(self, asked: Awaitable[T]) -> T:
        return await asyncio.wait_for(asked, self._patience)

    def _create(self, batch: _Batch) -> str:
        lines = [question.line for question in batch.questions.values()]
        handed = self._describe_handed(batch, self._interface.join(lines))
        file = self._client.answer(lambda client: self._interface.upload(client, handed))
        batch.sought = False  # nothing has been bought so far

        async def create(client: Client) -> str:
            try:
                return await self._interface.create(client, handed, file)
            except Failure as failure:
                failure.again = failure.again and not _may_be_taken(failure)
                raise

        return self._client.answer(create, retries=0)

    # -- looking after it --

    def _look(self, batch: _Batch) -> None:
        batch.not_before = time.monotonic() + self._seconds
        try:
            state = self._client.answer(lambda client: self._soon(self._interface.look(client, batch.id)))
            batch.unknown = 0
            if state.stage in (BatchStage.DONE, BatchStage.SHORT):
                return self._take_results(batch, state)
        except Failure as failure:
            batch.unknown += failure.status == 404
            if batch.unknown >= UNKNOWN_FOR_GOOD:
                words = f"{self._company} knows no batch {batch.id}, of which this was part, or no longer its results"
                ask = "to ask once more, at its price, use --retry judge_error"
                return self._fail(batch, ModelError(f"{words}; {ask}"), lost=1)
            if failure.says in (*OF_THE_ACCOUNT, Says.DENIED):
                return self._fail(batch, self._explain(batch, failure, bought=True))
            print(f"{self._name(batch)}: {failure}; it is looked after again")
            return
        if state.stage is BatchStage.FAILED:
            self._take_failure(batch, state)
        elif state.stage is BatchStage.UNKNOWN:
            words = f"{self._name(batch)} is {state.word!r}, which is not known; it is looked after by the next start"
            self._fail(batch, RequestError(words, says="batch", bought=True))

    def _take_failure(self, batch: _Batch, state: BatchState) -> None:
        """A batch was not taken, and costs nothing. A line at fault is that question's own, where it is known."""
        at_fault: dict[str, Failure] = {}
        names, failures = list(batch.questions), list[Failure]()
        for line, said in state.errors:
            failures.append(failure := self._client.read_failure(400, {"error": said}, {}))
            if batch.in_order and isinstance(line, int) and 0 < line <= len(names):
                at_fault[names[line - 1]] = failure
        reason = failures[0].said if failures else "no reason given"
        if not at_fault and any(line is None for line, _ in state.errors or [(None, None)]):
            failure = failures[0] if failures else Failure(reason)
            says = failure.says.value if failure.says in OF_THE_ACCOUNT else "batch"
            if failure.says is Says.BUSY and len(self._bought) > 1:
                says, self._crowded = "crowded", True
            return self._fail(batch, RequestError(f"{self._name(batch)} has failed: {reason}", says=says))
        self._forget(batch)
        words = f"{self._name(batch)} has failed"
        for name in list(batch.questions):
            question = batch.questions.pop(name)
            if name in at_fault:
                text = f"{words} for this question: {at_fault[name].said}"
                question.deferred.answer(RequestError(text, canary="answered"), 0)
            else:
                question.deferred.answer(RequestError(f"{words} for others: {reason}", says="unasked"), 0)

    def _take_results(self, batch: _Batch, state: BatchState) -> None:
        results: dict[str, BatchResult] = {}
        strange = 0
        for result in self._fetch_results(state):
            if result is None or result.name not in batch.questions:
                strange += 1
            else:
                results.setdefault(result.name, result)  # the first counts
        if not batch.sure and not results:
            return self._let_go(batch)
        if strange:
            print(f"{self._name(batch)}: {strange} results are about no question that was asked here")
        answered = any(result.outcome is BatchOutcome.ANSWER for result in results.values())
        self._forget(batch)  # first: what is resumed meanwhile looks for itself
        self._crowded = False
        for name in list(batch.questions):
            self._answer(batch, state, batch.questions.pop(name), results.get(name), answered)

    def _let_go(self, batch: _Batch) -> None:
        """It is another's batch: this one is searched for once more, or handed in."""
        with self._changed:
            del self._bought[batch.id]
            batch.not_it.add(batch.id)
            batch.id, batch.attempts = "", 0
            self._gathered[batch.token] = batch

    def _fetch_results(self, state: BatchState) -> Iterator[BatchResult | None]:
        for path in state.files:
            text = self._client.answer(lambda client, path=path: client.get(path))  # type: ignore[misc]
            for line in filter(None, map(str.strip, text.split("\n"))):
                document = plain(line)
                yield self._interface.read(document) if isinstance(document, dict) else None

    def _answer(
        self, batch: _Batch, state: BatchState, question: _Question, result: BatchResult | None, answered: bool
    ) -> None:
        reply: str | Reply | BaseException
        lost = 0
        try:
            if result is None:
                lost = int(state.stage is BatchStage.DONE)
                words = f"{self._name(batch)} is {state.word} and has no result of this question"
                raise RequestError(words, says="unanswered" if lost else "unasked")
            if result.outcome is BatchOutcome.UNASKED:
                raise RequestError(f"{self._name(batch)} did not come to this question: {result.word}", says="unasked")
            if result.outcome is BatchOutcome.UNKNOWN:
                lost = 1
                raise ModelError(f"{self._name(batch)}: it ended with {result.word}, a word that is not known")
            reply = question.read(self._read_result(result, answered))
        except Exception as error:
            if isinstance(error, RequestError) and result is not None and result.outcome is BatchOutcome.ANSWER:
                lost = 1
            reply = error
        question.deferred.answer(reply, lost)

    def _read_result(self, result: BatchResult, answered: bool) -> str | Failure:
        """Returns the text of an answer, or what an error says; `answered`: others of its batch have an answer."""
        if result.outcome is BatchOutcome.ANSWER:
            return _encode(result.document).decode()
        failure = self._client.read_failure(result.status, result.document, {})
        failure.canary = "answered" if answered else "not made"
        return failure


def _encode(document: object) -> bytes:
    import pydantic_core  # half the time of the standard library

    return bytes(pydantic_core.to_json(document))


def _may_be_taken(failure: Failure) -> bool:
    """True if the server may have done what it was asked for before it failed."""
    return not failure.unreached and failure.status not in FREE


def make_reader(read: Callable[[str], str | Reply], clean: Callable[[str], str]) -> Read:
    """Returns what reads a question's result as `read` reads an answer's text; `clean` takes the key out of texts."""

    def read_result(said: str | Failure) -> str | Reply:
        try:
            if isinstance(said, Failure):
                raise said
            return read(said)
        except Failure as failure:
            facts: dict[str, Any] = {"status": failure.status, "canary": failure.canary}
            if failure.says is Says.REFUSED:
                return Reply(text=clean(failure.said), ended=Status.REFUSED)
            if failure is not said:  # what came is no answer
                raise RequestError(str(failure), says="unanswered", **facts) from None
            again = failure.busy or failure.status >= 500
            raise RequestError(str(failure), says="unasked" if again else failure.says.value, **facts) from None

    return read_result
