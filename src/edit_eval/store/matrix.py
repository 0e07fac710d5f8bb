"""The matrix: every edit and every judgement that a run is to have, and what has become of each.

Edits are numbered by (edit model, edit seed, sample), judgements by (edit, judge, repeat), so that a number is all
that scheduling needs to know.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec

from edit_eval.records import Answer, Edit, Judgement, Sample, Status
from edit_eval.store.journal import Lines, Record, no_garbage
from edit_eval.store.keys import Identity, edit_key, judgement_key, prompt_digest
from edit_eval.store.verification import altered_pictures

EDIT_SEED_STRIDE = 1_000_000
"""How far apart the seeds of a sample's edits are with `edit_seeds` > 1: larger than any benchmark."""

# Python 3.11 takes ten times as long to look a member up in its class.
OK, PENDING, SKIPPED, EDIT_FAILED, JUDGE_ERROR = (
    Status.OK,
    Status.PENDING,
    Status.SKIPPED,
    Status.EDIT_FAILED,
    Status.JUDGE_ERROR,
)


class Prompt(Protocol):
    """What a judge is told."""

    @property
    def system(self) -> str: ...
    @property
    def user(self) -> str: ...


class Outcome(Protocol):
    """What answers amount to."""

    @property
    def status(self) -> Status: ...
    @property
    def score(self) -> float | None: ...
    @property
    def reason(self) -> str: ...
    @property
    def answer(self) -> str: ...
    @property
    def settled(self) -> bool: ...


class AskingProtocol(Protocol):
    """How a benchmark asks a judge, and makes a judgement of its answers (see `edit_eval.protocols`)."""

    @property
    def form(self) -> str: ...
    def prompt(self, sample: Sample) -> Prompt: ...
    def ask_again(self, prompt: Any) -> Prompt: ...
    def judgement(self, answers: Sequence[Answer]) -> Outcome: ...


class Place(NamedTuple):
    """Which judgement it is."""

    edit: int
    judge: int
    repeat: int


class Matrix:
    """All cells of a run."""

    def __init__(
        self,
        samples: Sequence[Sample],
        edit_models: Sequence[Identity],
        judges: Sequence[Identity],
        protocol: AskingProtocol,
        *,
        edit_seeds: int = 1,
        repeats: int = 1,
    ) -> None:
        self.samples = tuple(samples)
        self.edit_models = tuple(edit_models)
        self.judges = tuple(judges)
        self.protocol = protocol
        self.edit_seeds, self.repeats = edit_seeds, repeats
        with no_garbage():
            self._edit_keys = [
                edit_key(model, sample.source_digest, sample.instruction, self._seed(model, edit_seed, sample))
                for model in self.edit_models
                for edit_seed in range(edit_seeds)
                for sample in self.samples
            ]
            self.answers: list[list[Answer]] = [[] for _ in range(len(self._edit_keys) * len(self.judges) * repeats)]
        self._settled: list[Judgement | None] = [None] * len(self.answers)
        self._aside: dict[str, dict[tuple[object, ...], list[Answer]]] = {}  # judgement's key -> to whom -> answers
        self._prompt_digests = [""] * len(self.samples)
        self._keys = [""] * len(self.answers)

    @cached_property
    def edits(self) -> list[Edit]:
        """Every edit as it stands, by its number."""
        return [self._new_edit(number) for number in range(len(self._edit_keys))]

    def _new_edit(self, number: int) -> Edit:
        model, edit_seed, sample = self._edit_parts(number)
        seed = self._seed(model, edit_seed, sample)
        status = SKIPPED if sample.fault else PENDING
        return Edit(self._edit_keys[number], sample.id, model.name, seed, edit_seed, status, sample.fault)

    def _edit_parts(self, number: int) -> tuple[Identity, int, Sample]:
        rest, sample = divmod(number, len(self.samples))
        model, edit_seed = divmod(rest, self.edit_seeds)
        return self.edit_models[model], edit_seed, self.samples[sample]

    def _seed(self, model: Identity, edit_seed: int, sample: Sample) -> int:
        return model.seed + sample.index + edit_seed * EDIT_SEED_STRIDE

    # -- numbers --

    def sample_of(self, edit: int) -> Sample:
        """The sample of an edit."""
        return self.samples[edit % len(self.samples)]

    def edit_number(self, model: int, edit_seed: int, sample: int) -> int:
        """The number of an edit; all arguments count from 0, in the order of the configuration and the samples."""
        return (model * self.edit_seeds + edit_seed) * len(self.samples) + sample

    def place(self, judgement: int) -> Place:
        """What a judgement's number stands for."""
        return Place(*self._parts(judgement))

    def _parts(self, judgement: int) -> tuple[int, int, int]:
        """Edit, judge and repeat: a named tuple takes several times as long to make."""
        rest, repeat = divmod(judgement, self.repeats)
        return *divmod(rest, len(self.judges)), repeat

    def judgement_number(self, edit: int, judge: int, repeat: int) -> int:
        """The number of a judgement."""
        return (edit * len(self.judges) + judge) * self.repeats + repeat

    def judgements_of(self, edit: int) -> range:
        """The numbers of all judgements of an edit."""
        count = len(self.judges) * self.repeats
        return range(edit * count, (edit + 1) * count)

    def address(self, judgement: int) -> tuple[str, str, int, str, int]:
        """What a judgement is about in words: sample, edit model, edit seed, judge, repeat."""
        number, judge, repeat = self._parts(judgement)
        edit = self.edits[number]
        return edit.sample_id, edit.edit_model, edit.edit_seed, self.judges[judge].name, repeat

    # -- state --

    def prompt(self, edit: int) -> Prompt:
        """What a judge is told about an edit."""
        return self.protocol.prompt(self.sample_of(edit))

    def judgement_key(self, judgement: int) -> str:
        """The key of a judgement whose edit is there."""
        key = self._keys[judgement]
        if not key:
            edit, judge, repeat = self._parts(judgement)
            number = edit % len(self.samples)
            sample = self.samples[number]
            prompts = self._prompt_digests[number]
            if not prompts:  # kept instead of the prompts themselves, which are long
                prompt = self.protocol.prompt(sample)
                prompts = self._prompt_digests[number] = prompt_digest(prompt.system, prompt.user)
            pixels = self.edits[edit].pixels
            source = sample.source_digest
            key = self._keys[judgement] = judgement_key(self.judges[judge], pixels, source, prompts, repeat)
        return key

    def set_edit(self, number: int, edit: Edit) -> list[Judgement]:
        """The edit has come to an end, or is to be made anew; answers about another picture no longer count.

        Those that were given about this very picture do: returns the judgements that they settle.
        """
        before, self.edits[number] = self.edits[number], edit
        settled = []
        for judgement in self.judgements_of(number):
            if self.answers[judgement] and before.status is OK:
                key = self._keys[judgement]
                self._aside.setdefault(key, {})[self.address(judgement)] = list(self.answers[judgement])
            self.answers[judgement].clear()
            self._keys[judgement], self._settled[judgement] = "", None
            if edit.status is OK and self._take_from_aside(judgement):
                settled.append(self.judgement(judgement))
        return settled

    def _take_from_aside(self, judgement: int) -> bool:
        """Gives a judgement the answers that were set aside for it, if they hold a score."""
        given = self._aside.get(self.judgement_key(judgement)) if self._aside else None
        if not given:
            return False
        answers = given.get(self.address(judgement)) or next(iter(given.values()))
        if self.protocol.judgement(answers).status is not OK:
            return False
        self.answers[judgement].extend(answers)
        return True

    def add_answer(self, judgement: int, answer: Answer) -> Judgement:
        """An answer has come; returns the judgement that the answers so far amount to."""
        self.answers[judgement].append(answer)
        return self.judgement(judgement)

    def judgement(self, number: int) -> Judgement:
        """The judgement as it stands: of all answers so far, of the edit that failed, or still pending."""
        found = self._settled[number]
        if found is None:
            found = self._judge(number)
            if found.status is not PENDING:
                self._settled[number] = found
        return found

    def _judge(self, number: int) -> Judgement:
        of, judge, repeat = self._parts(number)
        edit, category = self.edits[of], self.samples[of % len(self.samples)].category
        common = (edit.sample_id, category, edit.edit_model, self.judges[judge].name, edit.edit_seed, repeat)
        if edit.status is not OK:
            return Judgement("", *common, edit.status, reason=edit.reason)
        key, answers = self.judgement_key(number), self.answers[number]
        if not answers:
            return Judgement(key, *common, PENDING)
        outcome = self.protocol.judgement(answers)
        status, reason = outcome.status, outcome.reason
        if status is not OK and answers[-1].final:
            status, reason = JUDGE_ERROR, answers[-1].error
        elif not outcome.settled:
            status = PENDING
        return Judgement(
            key,
            *common,
            status,
            outcome.score if status is OK else None,
            outcome.answer,
            reason,
            len(answers),
            sum([answer.seconds for answer in answers]),
            answers[-1].device,
        )

    def judgements(self) -> Iterator[Judgement]:
        """Every judgement, ordered by edit model, edit seed, judge, repeat, sample."""
        for model in range(len(self.edit_models)):
            for edit_seed in range(self.edit_seeds):
                for judge in range(len(self.judges)):
                    for repeat in range(self.repeats):
                        for sample in range(len(self.samples)):
                            edit = self.edit_number(model, edit_seed, sample)
                            yield self.judgement(self.judgement_number(edit, judge, repeat))

    # -- records --

    @no_garbage()
    def recall(
        self,
        edits: Iterable[Record],
        answers: Iterable[Record],
        folder: Path,
        retry: Callable[[Status], bool],
        *,
        verify: bool = False,
    ) -> list[str]:
        """Takes in what the journals of a run in `folder` say. Returns what was noticed: one line a kind of trouble.

        An edit counts only if its picture is there with the size that was recorded, and with `verify` only if its
        pixels are those that were recorded. `retry` tells which failures are to be forgotten, so that they are tried
        again.
        """
        fresh = "edits" not in vars(self)  # then each is made once: as it was recorded, or anew
        count = len(self._edit_keys)
        if fresh:
            pending = [number for number in range(count) if not self.samples[number % len(self.samples)].fault]
        else:
            pending = [number for number in range(count) if self.edits[number].status is PENDING]
        numbers = _Numbers((self._edit_keys[number], number) for number in pending)
        last = {edit.key: edit for edit in as_kind(edits, Edit) if edit.key in numbers.first}
        made = {key: edit for key, edit in last.items() if edit.status is OK}
        there = {key: edit for key, edit in made.items() if is_there(edit, folder)}
        altered = altered_pictures(there.values(), folder) if verify else {}
        recalled: dict[int, Edit] = {}
        for key, found in last.items():
            if key in altered or (key not in there and (found.status is not EDIT_FAILED or retry(found.status))):
                continue
            for number in numbers.of(key):
                model, edit_seed, sample = self._edit_parts(number)
                if (found.sample_id, found.edit_model, found.edit_seed) != (sample.id, model.name, edit_seed):
                    found = replace(found, sample_id=sample.id, edit_model=model.name, edit_seed=edit_seed)
                recalled[number] = found
        if fresh:
            self.edits = [recalled.get(number) or self._new_edit(number) for number in range(count)]
        for number, edit in recalled.items():
            self.edits[number] = edit
        self._recall_answers(answers, retry)
        noticed = []
        if missing := len(made) - len(there):
            noticed.append(f"{_pictures(missing)} gone or of another size: made again")
        if altered:
            noticed.append(f"{_pictures(len(altered))} not what was recorded ({min(altered.values())}): made again")
        return noticed

    def _recall_answers(self, answers: Iterable[Record], retry: Callable[[Status], bool]) -> None:
        edited = (number for number, edit in enumerate(self.edits) if edit.status is OK)
        judged = [judgement for number in edited for judgement in self.judgements_of(number)]
        numbers = _Numbers((self.judgement_key(judgement), judgement) for judgement in judged)
        # Equal edits have equal keys. Each judgement takes the answers given to itself, and only for want of those
        # the answers that the first of its equals was given.
        given: dict[str, dict[tuple[object, ...], list[Answer]]] = {}
        # Answers about pictures that are not there any more: they count again when the same pictures are made again.
        waits = any(edit.status is PENDING for edit in self.edits)
        for line in as_kind(answers, AnswerLine):
            key, to = line.key, (line.sample, line.edit_model, line.edit_seed, line.judge, line.repeat)
            answer = Answer(line.text, line.error, line.seconds, line.device, line.final, line.ended, line.length)
            judgement = numbers.first.get(key)
            if judgement is not None and key not in numbers.others and to == self.address(judgement):
                answers_so_far = self.answers[judgement]  # as nearly all are
            elif judgement is not None:
                answers_so_far = given.setdefault(key, {}).setdefault(to, [])
            elif waits:
                answers_so_far = self._aside.setdefault(key, {}).setdefault(to, [])
            else:
                continue
            if line.ask == 0:  # asked anew (`--retry`): what was said before is forgotten here as it was then
                answers_so_far.clear()
            answers_so_far.append(answer)
        for key, by_address in given.items():
            for judgement in numbers.of(key):
                if not self.answers[judgement]:
                    mine = by_address.get(self.address(judgement)) or next(iter(by_address.values()))
                    self.answers[judgement].extend(mine)
        for judgement in judged:
            status = self.judgement(judgement).status
            if status not in (OK, PENDING) and retry(status):
                self.answers[judgement].clear()
                self._settled[judgement] = None


class _Numbers:
    """The numbers of edits or judgements, by their keys. Equal keys are rare: no list is made for a single number."""

    def __init__(self, keyed: Iterable[tuple[str, int]]) -> None:
        self.first: dict[str, int] = {}
        self.others: dict[str, list[int]] = {}
        for key, number in keyed:
            if self.first.setdefault(key, number) != number:
                self.others.setdefault(key, []).append(number)

    def of(self, key: str) -> list[int]:
        """All numbers with that key, in their order."""
        return [self.first[key], *self.others.get(key, ())]


class AnswerLine(msgspec.Struct):
    """An answer as the journal has it: the judgement's key, to whom it was given, and the answer."""

    key: str
    sample: str
    edit_model: str
    edit_seed: int
    judge: str
    repeat: int
    text: str
    error: str
    seconds: float
    device: str
    final: bool
    ask: int
    ended: Status = OK
    length: int = 0


T = TypeVar("T")


def as_kind(lines: Iterable[Record], kind: type[T]) -> Iterator[T]:
    """Each line as a `kind`; those of a journal are read as such at once."""
    return lines.of(kind) if isinstance(lines, Lines) else (msgspec.convert(line, kind) for line in lines)


def _pictures(count: int) -> str:
    return "1 picture is" if count == 1 else f"{count} pictures are"


def is_there(edit: Edit, folder: Path) -> bool:
    """Whether the picture of a recorded edit is in the run in `folder`, with the size that was recorded.

    A record is a stranger's text as soon as run directories are handed around: a path that leads elsewhere counts as
    none.
    """
    if not edit.image.startswith("images/") or "/../" in edit.image:
        return False
    return has_size(f"{folder}/{edit.image}", edit.file_bytes)


def has_size(path: str | Path, size: int) -> bool:
    """Whether the file is there with exactly that many bytes."""
    try:
        return os.stat(path).st_size == size
    except OSError:
        return False


def edit_record(edit: Edit) -> Record:
    """An edit as a line of the journal."""
    record = {name: getattr(edit, name) for name in Edit.__dataclass_fields__}
    return {**record, "status": edit.status.value, "flags": list(edit.flags)}


def answer_of(record: Record) -> Answer:
    """The answer of a line of the journal."""
    return msgspec.convert(record, Answer)
