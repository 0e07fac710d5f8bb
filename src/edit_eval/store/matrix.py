"""The matrix: every edit and every judgement that a run is to have, and what has become of each.

Edits are numbered by (edit model, edit seed, sample), judgements by (edit, judge, repeat), so that a number is all
that scheduling needs to know.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from edit_eval.records import Answer, Edit, Judgement, Sample, Status
from edit_eval.store.journal import Record
from edit_eval.store.keys import Identity, edit_key, judgement_key, prompt_digest
from edit_eval.store.verification import altered_pictures

EDIT_SEED_STRIDE = 1_000_000
"""How far apart the seeds of a sample's edits are with `edit_seeds` > 1: larger than any benchmark."""


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
        self.edits: list[Edit] = [
            self._new_edit(model, edit_seed, sample)
            for model in self.edit_models
            for edit_seed in range(edit_seeds)
            for sample in self.samples
        ]
        self.answers: list[list[Answer]] = [[] for _ in range(len(self.edits) * len(self.judges) * repeats)]
        self._settled: dict[int, Judgement] = {}
        self._aside: dict[str, dict[tuple[object, ...], list[Answer]]] = {}  # judgement's key -> to whom -> answers
        self._prompt_digests: dict[int, str] = {}
        self._keys: dict[int, str] = {}

    def _new_edit(self, model: Identity, edit_seed: int, sample: Sample) -> Edit:
        seed = model.seed + sample.index + edit_seed * EDIT_SEED_STRIDE
        key = edit_key(model, sample.source_digest, sample.instruction, seed)
        status = Status.SKIPPED if sample.fault else Status.PENDING
        return Edit(key, sample.id, model.name, seed, edit_seed, status, reason=sample.fault)

    # -- numbers --

    def sample_of(self, edit: int) -> Sample:
        """The sample of an edit."""
        return self.samples[edit % len(self.samples)]

    def edit_number(self, model: int, edit_seed: int, sample: int) -> int:
        """The number of an edit; all arguments count from 0, in the order of the configuration and the samples."""
        return (model * self.edit_seeds + edit_seed) * len(self.samples) + sample

    def place(self, judgement: int) -> Place:
        """What a judgement's number stands for."""
        rest, repeat = divmod(judgement, self.repeats)
        edit, judge = divmod(rest, len(self.judges))
        return Place(edit, judge, repeat)

    def judgement_number(self, edit: int, judge: int, repeat: int) -> int:
        """The number of a judgement."""
        return (edit * len(self.judges) + judge) * self.repeats + repeat

    def judgements_of(self, edit: int) -> range:
        """The numbers of all judgements of an edit."""
        count = len(self.judges) * self.repeats
        return range(edit * count, (edit + 1) * count)

    def address(self, judgement: int) -> tuple[str, str, int, str, int]:
        """What a judgement is about in words: sample, edit model, edit seed, judge, repeat."""
        place = self.place(judgement)
        edit = self.edits[place.edit]
        return edit.sample_id, edit.edit_model, edit.edit_seed, self.judges[place.judge].name, place.repeat

    # -- state --

    def prompt(self, edit: int) -> Prompt:
        """What a judge is told about an edit."""
        return self.protocol.prompt(self.sample_of(edit))

    def judgement_key(self, judgement: int) -> str:
        """The key of a judgement whose edit is there."""
        known = self._keys.get(judgement)
        if known is not None:
            return known
        place = self.place(judgement)
        sample = place.edit % len(self.samples)
        prompts = self._prompt_digests.get(sample)
        if prompts is None:  # kept instead of the prompts themselves, which are long
            prompt = self.prompt(place.edit)
            prompts = self._prompt_digests[sample] = prompt_digest(prompt.system, prompt.user)
        source, pixels = self.samples[sample].source_digest, self.edits[place.edit].pixels
        key = self._keys[judgement] = judgement_key(self.judges[place.judge], pixels, source, prompts, place.repeat)
        return key

    def set_edit(self, number: int, edit: Edit) -> list[Judgement]:
        """The edit has come to an end, or is to be made anew; answers about another picture no longer count.

        Those that were given about this very picture do: returns the judgements that they settle.
        """
        before, self.edits[number] = self.edits[number], edit
        settled = []
        for judgement in self.judgements_of(number):
            key = self._keys.pop(judgement, "")
            if self.answers[judgement] and before.status is Status.OK:
                self._aside.setdefault(key, {})[self.address(judgement)] = list(self.answers[judgement])
            self.answers[judgement].clear()
            self._settled.pop(judgement, None)
            if edit.status is Status.OK and self._take_from_aside(judgement):
                settled.append(self.judgement(judgement))
        return settled

    def _take_from_aside(self, judgement: int) -> bool:
        """Gives a judgement the answers that were set aside for it, if they hold a score."""
        given = self._aside.get(self.judgement_key(judgement)) if self._aside else None
        if not given:
            return False
        answers = given.get(self.address(judgement)) or next(iter(given.values()))
        if self.protocol.judgement(answers).status is not Status.OK:
            return False
        self.answers[judgement].extend(answers)
        return True

    def add_answer(self, judgement: int, answer: Answer) -> Judgement:
        """An answer has come; returns the judgement that the answers so far amount to."""
        self.answers[judgement].append(answer)
        return self.judgement(judgement)

    def judgement(self, number: int) -> Judgement:
        """The judgement as it stands: of all answers so far, of the edit that failed, or still pending."""
        found = self._settled.get(number)
        if found is None:
            found = self._judge(number)
            if found.status is not Status.PENDING:
                self._settled[number] = found
        return found

    def _judge(self, number: int) -> Judgement:
        place = self.place(number)
        edit, judge, sample = self.edits[place.edit], self.judges[place.judge], self.sample_of(place.edit)
        common = (edit.sample_id, sample.category, edit.edit_model, judge.name, edit.edit_seed, place.repeat)
        if edit.status is not Status.OK:
            return Judgement("", *common, status=edit.status, reason=edit.reason)
        key, answers = self.judgement_key(number), self.answers[number]
        if not answers:
            return Judgement(key, *common, status=Status.PENDING)
        outcome = self.protocol.judgement(answers)
        status, reason = outcome.status, outcome.reason
        if status is not Status.OK and answers[-1].final:
            status, reason = Status.JUDGE_ERROR, answers[-1].error
        elif not outcome.settled:
            status = Status.PENDING
        return Judgement(
            key,
            *common,
            status=status,
            score=outcome.score if status is Status.OK else None,
            answer=outcome.answer,
            reason=reason,
            answers=len(answers),
            seconds=sum(a.seconds for a in answers),
            device=answers[-1].device,
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
        collecting = gc.isenabled()
        gc.disable()  # a hundred thousand new records hold no garbage, and looking for it takes as long as reading them
        try:
            return self._recall(edits, answers, folder, retry, verify)
        finally:
            if collecting:
                gc.enable()

    def _recall(
        self,
        edits: Iterable[Record],
        answers: Iterable[Record],
        folder: Path,
        retry: Callable[[Status], bool],
        verify: bool,
    ) -> list[str]:
        numbers: dict[str, list[int]] = {}
        for number, edit in enumerate(self.edits):
            if edit.status is Status.PENDING:
                numbers.setdefault(edit.key, []).append(number)
        last = {record["key"]: edit_of(record) for record in edits if record["key"] in numbers}
        there = {key: found for key, found in last.items() if found.status is Status.OK and is_there(found, folder)}
        missing = sum(found.status is Status.OK for found in last.values()) - len(there)
        altered = altered_pictures(there.values(), folder) if verify else {}
        for key, found in last.items():
            if found.status is Status.OK and (key not in there or key in altered):
                continue
            if found.status is Status.OK or (found.status is Status.EDIT_FAILED and not retry(found.status)):
                for number in numbers[key]:
                    mine = self.edits[number]
                    same = (found.sample_id, found.edit_model, found.edit_seed)
                    if same != (mine.sample_id, mine.edit_model, mine.edit_seed):
                        found = replace(
                            found, sample_id=mine.sample_id, edit_model=mine.edit_model, edit_seed=mine.edit_seed
                        )
                    self.edits[number] = found
        self._recall_answers(answers, retry)
        noticed = []
        if missing:
            noticed.append(f"{_pictures(missing)} gone or of another size: made again")
        if altered:
            noticed.append(f"{_pictures(len(altered))} not what was recorded ({min(altered.values())}): made again")
        return noticed

    def _recall_answers(self, answers: Iterable[Record], retry: Callable[[Status], bool]) -> None:
        numbers: dict[str, list[int]] = {}
        for judgement in range(len(self.answers)):
            if self.edits[self.place(judgement).edit].status is Status.OK:
                numbers.setdefault(self.judgement_key(judgement), []).append(judgement)
        # Equal edits have equal keys. Each judgement takes the answers given to itself, and only for want of those
        # the answers that the first of its equals was given.
        given: dict[str, dict[tuple[object, ...], list[Answer]]] = {}
        # Answers about pictures that are not there any more: they count again when the same pictures are made again.
        waits = any(edit.status is Status.PENDING for edit in self.edits)
        for record in answers:
            known = record["key"] in numbers
            if known or waits:
                to = (record["sample"], record["edit_model"], record["edit_seed"], record["judge"], record["repeat"])
                places = (given if known else self._aside).setdefault(record["key"], {})
                places.setdefault(to, []).append(answer_of(record))
        for key, by_place in given.items():
            for judgement in numbers[key]:
                mine = by_place.get(self.address(judgement)) or next(iter(by_place.values()))
                self.answers[judgement].extend(mine)
        for judgement in (j for same in numbers.values() for j in same):
            status = self.judgement(judgement).status
            if status not in (Status.OK, Status.PENDING) and retry(status):
                self.answers[judgement].clear()
                self._settled.pop(judgement, None)


_STATUSES = {status.value: status for status in Status}
_NAMES = tuple(Edit.__dataclass_fields__)
_BEFORE_STATUS = _NAMES[: _NAMES.index("status")]
_AFTER_STATUS = _NAMES[_NAMES.index("status") + 1 : _NAMES.index("flags")]
assert _NAMES[-1] == "flags"


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


def edit_of(record: Record) -> Edit:
    """The edit of a line of the journal."""
    values: list[Any] = [record[name] for name in _BEFORE_STATUS]
    values.append(_STATUSES[record["status"]])
    values += [record[name] for name in _AFTER_STATUS]
    values.append(tuple(record["flags"]))
    return Edit(*values)


def answer_of(record: Record) -> Answer:
    """The answer of a line of the journal."""
    return Answer(record["text"], record["error"], record["seconds"], record["device"], record["final"])
