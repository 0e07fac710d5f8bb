"""The matrix: every edit, reply and judgement of a run, and the state of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from edit_eval.config.identity import Identity
from edit_eval.experiment import Experiment
from edit_eval.judges.contract import ADDRESS
from edit_eval.protocols.asked import AskedJudge
from edit_eval.protocols.contract import Question, turn_named
from edit_eval.protocols.derived import DerivedScores
from edit_eval.protocols.judging import (
    JudgedScores,
    add_reminder,
    applicable_scores,
    fill_question,
    leading_score,
    looks_at_samples,
    read,
    rule_out_question,
    score,
)
from edit_eval.records import EDIT_LOST, NO_FILE, Edit, Judgement, Reading, Reply, Sample, Status, no_garbage
from edit_eval.store.answers import Answers, Lookup
from edit_eval.store.cells import REPEAT_STRIDE, Cells, make_edit_key, replay_key, reply_key, seed_of_edit, sources_of
from edit_eval.store.critiques import Critiques, explain_lost_follower
from edit_eval.store.origins import Origins
from edit_eval.store.subjects.contract import InputPicture, Kind, Subject
from edit_eval.store.subjects.kinds import EDITS, kinds
from edit_eval.text import Text

SHORT = 64
"""Most characters of a reply that is likely to recur."""

ByReading = tuple[dict[str, Reading], ...]
"""One per reading, by question."""

# Looking a member up in its enum takes ten times as long in Python 3.11.
OK, PENDING, SKIPPED = Status.OK, Status.PENDING, Status.SKIPPED


_NOTHING_MISSING: dict[str, tuple[Status, str]] = {}  # shared by all complete judgements
_NO_SPREAD: dict[str, float] = {}  # shared by all judgements of one reading


class Matrix:
    """All edits, cells and judgements of an experiment."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.samples, self.edit_models, self.judges = experiment.samples, experiment.edit_models, experiment.judges
        with no_garbage():
            self.cells = Cells(experiment)
            self.critiques = Critiques(self)
            """Which edits are told what a judge said."""
            self.origins = Origins(self, self.critiques)
            """What each edit is made from: its source, the turn or round before."""
            self.edit_keys = self.origins.keys()
        self._readings: list[Reading | None] = [None] * len(self.cells)
        self._settled: list[Judgement | None] = [None] * self.cells.judgements
        self._keys = [""] * len(self.cells)
        # Bare scores recur a hundred thousand times: the readings of single short replies are cached and shared.
        self._short: dict[tuple[object, ...], Reading] = {}
        self.own: frozenset[str] | None = None
        """The samples assigned to this start, if it is a shard; None for all."""
        self._look_at_samples = {judge.name: looks_at_samples(judge.protocol) for judge in self.judges}
        self._alike: dict[tuple[object, ...], tuple[JudgedScores, ByReading]] = {}
        self.answers = Answers()
        """What judges have answered."""
        self._alone = not (experiment.uses_previous_pictures or experiment.predecessors)
        """True if whoever judges an edit sees no other one."""
        self.retry: Callable[[Status], bool] = lambda status: False
        """Which failing replies of earlier starts are forgotten."""

    # -- edits --

    @cached_property
    def edits(self) -> list[Edit]:
        """The current state of every edit, by number."""
        return [self.new_edit(number) for number in range(self.cells.edits)]

    def new_edit(self, number: int) -> Edit:
        """Returns an edit in its initial state: pending, unless it is known that nobody can make it."""
        model, edit_seed, sample = self.edit_parts(number)
        status, reason = self.find_obstacle(number) or (PENDING, "")
        return Edit(
            key=self.edit_keys[number],
            sample_id=sample.id,
            edit_model=model.name,
            seed=seed_of_edit(model, edit_seed, sample),
            edit_seed=edit_seed,
            status=status,
            reason=reason,
        )

    def find_obstacle(self, number: int) -> tuple[Status, str] | None:
        """Returns the status and the reason of an edit that nobody can make: its sample has a fault, or it was to be
        there and is not, or the edit is not that it follows. None of any other."""
        position = self.cells.sample(number)
        if fault := self.samples[position].fault:
            return SKIPPED, fault
        if not self.experiment.lacking:
            return None
        missing = self.experiment.lacking.get(self.experiment.base_model_of(self.edit_parts(number)[0].name), {})
        if (reason := missing.get(self.samples[position].id)) is not None:
            return NO_FILE[0], reason
        before = (missing.get(self.samples[other].id) for other in self.experiment.predecessors_of(position)[::-1])
        reason = next((reason for reason in before if reason is not None), None)
        return None if reason is None else (NO_FILE[0], explain_lost_follower(NO_FILE[0], reason))

    def append(self, sample: Sample) -> int:
        """Adds a sample behind all others (`Experiment.append`); returns the number of its edit, which is pending."""
        self.experiment.append(sample)
        self.cells.append()
        self._alone = not self.experiment.uses_previous_pictures
        number = self.cells.edits - 1
        model, edit_seed, _ = self.edit_parts(number)
        key = make_edit_key(self.experiment, model, edit_seed, sample, sources_of(sample), sample.instruction)
        self.edit_keys.append(key)
        self.edits.append(self.new_edit(number))
        self._grow()
        return number

    def unfold_more(self, *, every: bool = False) -> list[int]:
        """Adds the subjects that are to be judged, too, by what is said of those there are, or `every` one that may
        come; returns their numbers."""
        added = list[int]()
        for kind in kinds().values():
            while more := kind.unfold_more(self, every=every):
                added += self._extend(kind, more)
        return added

    def _extend(self, kind: Kind, subjects: Iterable[Subject]) -> range:
        numbers, first = self.cells.extend(kind, subjects), len(self._keys)
        self._grow()
        vars(self).pop("_others_of", None)
        self.forget_failures(range(first, len(self.cells)))
        return numbers

    def _grow(self) -> None:
        new = len(self.cells) - len(self._keys)
        self._readings += [None] * new
        self._keys += [""] * new
        self._settled += [None] * (self.cells.judgements - len(self._settled))

    def edit_parts(self, number: int) -> tuple[Identity, int, Sample]:
        """Returns edit model, edit seed and sample of an edit."""
        model, edit_seed, sample = self.cells.edit_parts(number)
        return self.edit_models[model], edit_seed, self.samples[sample]

    @property
    def row_sample_indexes(self) -> list[int]:
        """Positions of the samples that rows are about: none beside the filters, and none that another kind takes."""
        every = (number for number, sample in enumerate(self.samples) if sample.id not in self.experiment.beside)
        return [number for number in every if self.cells.kind(number) is EDITS]

    def sample_of(self, subject: int) -> Sample:
        """Returns the sample of a subject."""
        return self.samples[self.cells.sample(subject)]

    def sources(self, edit: int) -> dict[str, InputPicture]:
        """Returns the pictures given to the edit model, by name, in order; a mask last."""
        sources = {name: shown for name, shown in self.context_pictures(edit).items() if name.startswith("source")}
        model, _, sample = self.edit_parts(edit)
        if mask := self.experiment.mask_of(model.name, sample):
            sources["mask"] = InputPicture(mask.path, mask.digest)
        before = self.origins.source_edit_of(edit)
        if before is not None and before != self.origins.predecessor(edit):
            sources["source"] = InputPicture.from_edit(self.edits[before])
        return sources

    def context_pictures(self, subject: int) -> dict[str, InputPicture]:
        """Returns a sample's pictures, the source first; with those of earlier turns and rounds if judges see them."""
        own = {
            name: InputPicture(picture.path, picture.digest)
            for name, picture in self.sample_of(subject).pictures.items()
        }
        is_edit, sample = subject < self.cells.edits, self.cells.sample(subject)
        before = self.origins.predecessor(subject) if is_edit else None
        if before is not None:
            own = {"source": InputPicture.from_edit(self.edits[before]), **own}
        if not self.experiment.uses_previous_pictures or "source" not in own:
            return own
        first, last = self.experiment.first_of(sample).pictures["source"], self.origins.last(subject)
        was = own["source"] if last is None else InputPicture.from_edit(self.edits[last])
        turns = self.experiment.predecessors_of(sample) if is_edit else ()
        earlier = {
            turn_named(turn): InputPicture.from_edit(self.edits[subject - sample + place])
            for turn, place in enumerate(turns, 1)
        }
        return {**own, **earlier, "first": InputPicture(first.path, first.digest), "last": was}

    # -- subjects --

    def pictures(self, subject: int) -> dict[str, InputPicture]:
        """Returns all pictures that a question about a subject can show, by name; no `edit` if that was not made."""
        return self.cells.kind(subject).pictures(self, subject)

    def visible_edits_of(self, subject: int) -> tuple[int, ...]:
        """Returns the edits whose pictures a question about a subject can show, the earlier turn or round first."""
        if self._alone and subject < self.cells.edits:  # the common case
            return (subject,)
        return self.cells.kind(subject).visible_edits(self, subject)

    def what_lacks(self, subject: int) -> tuple[Status, str] | None:
        """Returns why there is nothing to judge, or nothing yet; None if all pictures that can be shown are there."""
        if self._alone and subject < self.cells.edits:  # the common case
            edit = self.edits[subject]
            if edit.status is OK:
                return None
            if self.cells.kind(subject) is EDITS:
                return edit.status, edit.reason
        return self.cells.kind(subject).what_lacks(self, subject)

    def names_of(self, subject: int) -> tuple[str, str]:
        """Returns the edit model under which a subject stands, `control:` and its kind if it is none's; and the edit
        model of a second edit, if it is of two."""
        return self.cells.kind(subject).column_names(self, subject)

    # -- cells --

    def address(self, cell: int) -> tuple[str, str, int, str, int, str, int, str]:
        """Returns a cell's place by name: sample, edit model, edit seed, judge, repeat, question, reading, and for a
        battle the other edit model."""
        judgement, reading, question = self.cells.cell(cell)
        number, judge, repeat = self.cells.judgement_parts(judgement)
        name = self.cells.questions_of(judgement)[question].question.name
        edit_model, other = self.names_of(number)
        seed = self.cells.edit_seed(number)
        return self.sample_of(number).id, edit_model, seed, self.judges[judge].name, repeat, name, reading, other

    def judge_of(self, cell: int) -> AskedJudge:
        """Returns the judge of a cell."""
        return self.judges[self.cells.judge_of(cell)]

    def question(self, cell: int, *, again: bool = False) -> Question:
        """Returns the question as put to the judge, its texts filled in; with `again`, plus the line for asking again.

        The questions it comes after must have been answered.
        """
        judgement, _, number = self.cells.cell(cell)
        edit, judge, _ = self.cells.judgement_parts(judgement)
        name = self.cells.questions_of(judgement)[number].question.name
        question = self.experiment.question(self.judges[judge], self.cells.sample(edit), name)
        if question.after:
            question = fill_question(
                question, {name: self.reading(n) for name, n in self.cells.prerequisites_of(cell).items()}
            )
        return add_reminder(question) if again else question

    def seed(self, cell: int) -> int:
        """Returns the seed for sampling a cell's replies."""
        judgement, reading, _ = self.cells.cell(cell)
        return reading + REPEAT_STRIDE * self.cells.judgement_parts(judgement)[2]

    def key(self, cell: int) -> str:
        """Returns the key of a cell's replies. Its edit must exist, and the questions before it be answered."""
        key = self._keys[cell]
        if not key:
            key = self._keys[cell] = self._key(cell)
            if changed := self.answers.add(self.answers.lookup(key, cell), cell):
                self._unsettle(changed)
        return key

    def _lose_key(self, cell: int) -> None:
        if key := self._keys[cell]:
            self._unsettle(self.answers.remove(self.answers.lookup(key, cell), cell))
            self._keys[cell] = ""
        self._readings[cell] = None

    def _unsettle(self, cells: Iterable[int]) -> None:
        for cell in cells:
            self._settled[self.cells.judgement_of(cell)] = None

    def replace_answers(self, answers: Answers) -> None:
        """Has other answers than those so far."""
        for cell in range(len(self._keys)):
            self._lose_key(cell)
        self._settled = [None] * len(self._settled)
        self.answers = answers

    def lookup(self, cell: int) -> Lookup:
        """Returns where a cell finds its replies; it must be possible to ask it."""
        return self.answers.lookup(self.key(cell), cell)

    def replies(self, cell: int) -> Sequence[Reply]:
        """Returns the replies to a cell's question so far: none while it has no key."""
        if not (key := self._keys[cell]):
            if not self.can_be_asked(cell):
                return ()
            key = self.key(cell)
        return self.answers.replies_of(self.answers.lookup(key, cell))

    def _key(self, cell: int) -> str:
        judgement, reading, number = self.cells.cell(cell)
        edit, judge, repeat = self.cells.judgement_parts(judgement)
        model = self.judges[judge].model
        told = self.extra_inputs_of(cell)
        if self.judges[judge].replays:
            place = ("sample_id", "edit_model", "edit_seed", "question", "repeat", "reading")
            return replay_key(model, [*map(told.__getitem__, place), *filter(None, (told["other"],))])
        asked = self.cells.questions_of(judgement)[number]
        if not asked.varies and edit < self.cells.edits:  # the common case: no picture has to be looked up
            pixels = self.edits[edit].pixels if asked.shows_edit else ""
            return reply_key(model, asked.digest, pixels, reading + REPEAT_STRIDE * repeat, told)
        pictures = {name: shown.key_part for name, shown in self.pictures(edit).items()}
        return reply_key(model, *self.cells.kind(edit).key_parts(self, cell, asked, pictures), self.seed(cell), told)

    def extra_inputs_of(self, cell: int) -> dict[str, str | int]:
        """Returns what a cell's judge is told besides its question: what its class reads; the address if it replays."""
        judge = self.judge_of(cell)
        reads = ADDRESS if judge.replays else judge.reads
        if not reads:
            return {}
        judgement, reading, question = self.cells.cell(cell)
        about, _, repeat = self.cells.judgement_parts(judgement)
        sample, edits = self.sample_of(about), map(self.edits.__getitem__, self.cells.edits_of(about))
        made_in = {edit.edit_model: edit.made_in for edit in edits}
        edit_model, other = (made_in.get(name) or name for name in self.names_of(about))
        known: dict[str, str | int] = {
            "instruction": sample.instruction,
            "category": sample.category,
            "sample_id": sample.id,
            "edit_model": edit_model,
            "other": other,
            "edit_seed": self.cells.edit_seed(about),
            "repeat": repeat,
            "reading": reading,
            "question": self.cells.questions_of(judgement)[question].question.name,
        }
        return {name: known[name] for name in reads}

    def can_be_asked(self, cell: int) -> bool:
        """True if its picture exists, and the questions before it are answered and do not rule it out."""
        return self.what_lacks(self.cells.about(cell)) is None and self._rule_out_cell(cell) is None

    def original_cell_of(self, cell: int) -> int | None:
        """Returns the cell that asks of an edit what this one asks of it where it is kept; None of other questions."""
        if not self.critiques.any or not self.can_be_asked(cell):
            return None

        def originals_of(number: int) -> set[int]:
            return {*map(self.origins.original_of, self.cells.edits_of(self.cells.about(number)))}

        made = originals_of(cell)
        if made == {*self.cells.edits_of(self.cells.about(cell))}:
            return None
        first = next(number for number in self.answers.cells(self.lookup(cell)) if originals_of(number) == made)
        return None if first == cell else first

    def reading(self, cell: int) -> Reading:
        """Returns what a cell's replies so far amount to. Its edit must exist."""
        reading = self._readings[cell]
        if reading is None:
            reading = self._read(cell)
            if reading.status is not PENDING:
                self._readings[cell] = reading
        return reading

    def _read(self, cell: int) -> Reading:
        return self._rule_out_cell(cell) or self.read(cell, self.replies(cell))

    def _rule_out_cell(self, cell: int) -> Reading | None:
        """Returns the reading of a cell ruled out by the questions before it; None if it is to be asked."""
        before = self.cells.prerequisites_of(cell)
        if not before:
            return None
        judgement, _, number = self.cells.cell(cell)
        return rule_out_question(
            self.cells.questions_of(judgement)[number].question, map(self.reading, before.values())
        )

    def read(self, cell: int, replies: Sequence[Reply]) -> Reading:
        """Returns what these replies would amount to."""
        judgement, _, number = self.cells.cell(cell)
        judge = self.judge_of(cell)
        question, retries = self.cells.questions_of(judgement)[number].question, judge.section.retries
        if len(replies) != 1 or len(replies[0].text) > SHORT or replies[0].values or replies[0].ended is not OK:
            return read(judge.protocol, question, replies, retries)
        same = judge.name, id(question), replies[0].text, replies[0].final
        reading = self._short.get(same)
        if reading is None:
            reading = self._short[same] = read(judge.protocol, question, replies, retries)
        return reading

    def record_reply(self, lookup: Lookup, ask: int, reply: Reply) -> list[int]:
        """Takes in a reply; returns the cells that have it."""
        self.answers.record_reply(lookup, ask, reply)
        return self._invalidate_cells(lookup)

    def forget_replies(self, cell: int) -> None:
        """Forgets the replies of a cell, so that it is asked again, with all that have its key or come after one."""
        lookup = self.lookup(cell)
        self.answers.forget(lookup)
        self._invalidate_cells(lookup)

    def forget_failures(self, cells: Iterable[int]) -> None:
        """Forgets the failing replies of these cells that are to be retried (`retry`)."""
        for cell in cells:
            if not self.replies(cell) or (status := self.reading(cell).status) in (OK, PENDING):
                continue
            # An edit needs its critique: retrying lost edits means asking for the critique again.
            tells = self.critiques.edits_told(self.cells.judgement_of(cell))
            if self.retry(status) or (tells and self.retry(EDIT_LOST[0])):
                self.forget_replies(cell)

    def _invalidate_cells(self, lookup: Lookup) -> list[int]:
        cells = self.answers.cells(lookup)
        for cell in cells:
            self._readings[cell] = None
            self._settled[self.cells.judgement_of(cell)] = None
            for later in self.cells.dependents_of(cell):
                self._lose_key(later)
        for later in (later for cell in cells for later in self.cells.dependents_of(cell)):
            self.replies(later)  # it is known among those that have its key
        return cells

    def set_edit(self, number: int, edit: Edit) -> list[Judgement]:
        """Sets an edit that has ended, or is to be made again: what shows it has another key, and whether it is kept
        in later rounds is to be said again.

        Returns the judgements that are complete by what was answered about the same before.
        """
        for kept in self.origins.copies_of(number):
            self._replace_edit(kept, self.new_edit(kept))
        return self._replace_edit(number, edit)

    def _replace_edit(self, number: int, edit: Edit) -> list[Judgement]:
        about = self.subjects_showing(number)
        for cell in (cell for subject in about for cell in self.cells.cells_of_subject(subject)):
            self._lose_key(cell)
        self.edits[number] = edit
        about = list(dict.fromkeys([*about, *self.subjects_showing(number)]))
        judgements = [judgement for subject in about for judgement in self.cells.judgements_of(subject)]
        for judgement in judgements:
            self._settled[judgement] = None
        if edit.status is not OK:
            return []
        answered = [n for n in judgements if [1 for cell in self.cells.cells_of(n) if self.replies(cell)]]
        return [judgement for judgement in map(self.judgement, answered) if judgement.status is not PENDING]

    def subjects_showing(self, edit: int) -> list[int]:
        """Returns all subjects whose questions can show an edit's picture, itself first."""
        return list(dict.fromkeys((edit, *self.origins.edits_showing(edit), *self._others_of.get(edit, ()))))

    @cached_property
    def _others_of(self) -> dict[int, list[int]]:
        """The subjects behind the edits that are about an edit, by the edit's number."""
        by_edit: dict[int, list[int]] = {}
        for number in range(self.cells.edits, self.cells.n_subjects):
            for edit in self.cells.edits_of(number):
                by_edit.setdefault(edit, []).append(number)
        return by_edit

    # -- judgements --

    def judgement(self, number: int) -> Judgement:
        """Returns the current judgement: from all replies so far, from the edit's failure, or still pending."""
        judgement = self._settled[number]
        if judgement is None:
            judgement = self._make_judgement(number)
            if judgement.status is not PENDING:
                self._settled[number] = judgement
        return judgement

    def is_pending(self, judgement: int) -> bool:
        """True if a judgement is not final yet. Unlike `judgement`, it makes none to say so."""
        if self._settled[judgement] is not None:
            return False
        subject, judge, _ = self.cells.judgement_parts(judgement)
        if isinstance(self.judges[judge].protocol, DerivedScores):
            return self._make_judgement(judgement).status is PENDING
        absent = self._absent(subject, self.cells.cells_of(judgement))
        return absent is not None and absent[0] is PENDING

    def _make_judgement(self, number: int) -> Judgement:
        about, judge_number, repeat = self.cells.judgement_parts(number)
        judge, sample = self.judges[judge_number], self.sample_of(about)
        edit_model, other = self.names_of(about)
        if isinstance(judge.protocol, DerivedScores):
            place = sample.id, edit_model, other, self.cells.edit_seed(about), repeat
            derived = judge.protocol.judgement(judge.name, place)
            return replace(derived, category=sample.category, counts=self._counts(judge, about))
        asked = [sample_question.question for sample_question in self.cells.questions_of(number)]
        cells = self.cells.cells_of(number)
        by_reading: ByReading = ()
        absent = self._absent(about, cells)
        if absent:
            status, reason = absent
            scored = JudgedScores({}, dict.fromkeys(applicable_scores(judge.protocol, asked), absent), frozenset(), {})
        else:
            scored, by_reading = self._score(judge, sample, asked, [self.reading(cell) for cell in cells])
        headline = leading_score(judge.protocol, asked, scored)
        if not absent:
            status, reason = scored.missing.get(headline) or (OK, _words(by_reading))
        paid = said = [self.replies(cell) for cell in cells]
        if not self.answers.free.isdisjoint(cells):
            paid = [replies for cell, replies in zip(cells, said, strict=True) if cell not in self.answers.free]
        replies = paid[0] if len(paid) == 1 else [reply for of_cell in paid for reply in of_cell]
        if len(replies) == 1:
            seconds, tokens = replies[0].seconds, replies[0].tokens
        else:
            seconds = sum([reply.seconds for reply in replies])
            tokens = (sum([reply.tokens[0] for reply in replies]), sum([reply.tokens[1] for reply in replies]))
        return Judgement(
            sample_id=sample.id,
            category=sample.category,
            edit_model=edit_model,
            judge=judge.name,
            edit_seed=self.cells.edit_seed(about),
            repeat=repeat,
            headline=headline,
            status=status,
            reason=reason,
            scores=scored.scores,
            missing=scored.missing or _NOTHING_MISSING,
            again=scored.again,
            spread=scored.spread or _NO_SPREAD,
            readings=by_reading,
            seconds=seconds,
            device=next((replies[-1].device for replies in reversed(said) if replies), ""),
            tokens=tokens,
            free=0 if len(paid) == len(said) else sum(map(len, said)) - len(replies),
            other=other,
            counts=self._counts(judge, about),
        )

    def _score(
        self, judge: AskedJudge, sample: Sample, asked: Sequence[Question], readings: Sequence[Reading]
    ) -> tuple[JudgedScores, ByReading]:
        """Returns the scores, and the readings they were computed from."""
        first = readings[0]
        repeats = len(readings) == 1 and len(first.text) <= SHORT and not self._look_at_samples[judge.name]
        alike = judge.name, id(asked[0]), id(first)  # ids are safe as keys: both objects outlive the entry
        if repeats and alike in self._alike:
            return self._alike[alike]
        rest = iter(readings)
        by_reading = tuple(
            [{question.name: next(rest) for question in asked} for _ in range(len(readings) // len(asked))]
        )
        scored = score(judge.protocol, sample, asked, by_reading), by_reading
        if repeats:
            self._alike[alike] = scored
        return scored

    def _counts(self, judge: AskedJudge, subject: int) -> bool:
        """True if coverage and means count what a judge says of a subject."""
        return judge.name not in self.experiment.critics and self.cells.kind(subject).counts

    def _absent(self, edit: int, cells: range) -> tuple[Status, str] | None:
        """Returns why there is nothing to score, or nothing yet; None if there is."""
        if not cells:
            return SKIPPED, self.sample_of(edit).fault or Text("outside of the share about which the judge is asked")
        if lacking := self.what_lacks(edit):
            return lacking
        for cell in cells:
            if self.reading(cell).status is PENDING:
                return PENDING, self.reading(cell).reason
        return None

    def rows(self, kind: str) -> Iterator[Judgement]:
        """Yields every judgement of a kind of subject."""
        return kinds()[kind].rows(self)

    def judgements(self) -> Iterator[Judgement]:
        """Yields every judgement of an edit, by edit model, edit seed, judge, repeat, sample."""
        return self.rows("edit")

    def battles_of(self, sample: int) -> list[int]:
        """Returns the battles of a sample, by its position."""
        edits = range(sample, self.cells.edits, len(self.samples))
        about = sorted({number for edit in edits for number in self._others_of.get(edit, ())})
        battles = self.cells.subjects_of("battle")
        return [number for number in about if number in battles]

    @property
    def pending(self) -> int:
        """Number of judgements still pending, controls included. Without judges, of edits."""
        if not self.judges:
            return sum(edit.status is Status.PENDING for edit in self.edits)
        return sum(map(self.is_pending, range(self.cells.judgements)))


def _words(by_reading: Sequence[Mapping[str, Reading]]) -> str:
    """Returns the first reason given by the judge; empty if it gave none."""
    for reading in by_reading:
        for answer in reading.values():
            if answer.reason:
                return answer.reason
    return ""
