"""The matrix: every edit, reply and judgement of a run, and the state of each."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from edit_eval.config.identity import Identity
from edit_eval.experiment import CONTROLS, Experiment
from edit_eval.protocols.asked import AskedJudge, asked_digest
from edit_eval.protocols.contract import Question, in_order, turn_named
from edit_eval.protocols.judging import (
    JudgedScores,
    applying,
    asked_again,
    leading,
    looks_at_samples,
    read,
    rendered,
    score,
    unasked,
)
from edit_eval.records import CONTROL, DECLINED, Edit, Judgement, Reading, Reply, Sample, Status, Told
from edit_eval.statistics.battles import tables_of, votes_of
from edit_eval.statistics.preferences import told_apart
from edit_eval.store.cells import (
    REPEAT_STRIDE,
    Cells,
    Shown,
    edit_key,
    instruction_of,
    not_told,
    recipe,
    replay_key,
    reply_key,
)
from edit_eval.store.journal import no_garbage
from edit_eval.store.references import References
from edit_eval.text import Text

EDIT_SEED_STRIDE = 1_000_000
"""Distance between the seeds of a sample's edits with `edit_seeds` > 1: larger than any benchmark."""

CONTROL_OF = "control_of"
"""In an experiment that grows, the fact of a control sample that names the sample it controls."""

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
            self.edit_keys = self._edit_keys()
            self.replies: list[list[Reply]] = [[] for _ in range(len(self.cells))]
        self._readings: list[Reading | None] = [None] * len(self.cells)
        self._settled: list[Judgement | None] = [None] * self.cells.judgements
        self._keys = [""] * len(self.cells)
        # Bare scores recur a hundred thousand times: the readings of single short replies are cached and shared.
        self._short: dict[tuple[object, ...], Reading] = {}
        self.own: frozenset[str] | None = None
        """The samples assigned to this start, if it is a shard; None for all."""
        self._look_at_samples = {judge.name: looks_at_samples(judge.protocol) for judge in self.judges}
        self._alike: dict[tuple[object, ...], tuple[JudgedScores, ByReading]] = {}
        self.aside: dict[str, dict[tuple[object, ...], list[Reply]]] = {}
        """Replies about pictures that do not exist at the moment, by key and address."""
        self.rounds = 1
        """Rounds of battles asked so far. Battles of later rounds have numbers, and are ignored otherwise."""
        self.references = References(self)

    # -- edits --

    def _edit_keys(self) -> list[str]:
        """Computes the keys of all edits made by an edit model."""
        before = self.experiment.predecessors
        keys: list[str] = [""] * self.cells.edits
        later = []
        for number in range(self.cells.edits):
            model, edit_seed, sample = self.edit_parts(number)
            if model.name in self.experiment.stored:  # of another run, where rounds of one edit model are columns
                stands = f"stored as {model.name}\n{sample.instruction}"
                keys[number] = edit_key(model, _sources(sample), stands, self._seed(model, edit_seed, sample))
                continue
            if sample.follows and not sample.fault:
                later.append(number)
                continue
            if told := self.told(number):
                keys[number] = self._told_key(number, told, keys)
                continue
            keys[number] = edit_key(model, _sources(sample), sample.instruction, self._seed(model, edit_seed, sample))
        while later:  # a key contains that of the edit it follows, so those come first
            left = []
            for number in later:
                model, edit_seed, sample = self.edit_parts(number)
                origin = keys[number - number % len(self.samples) + before[number % len(self.samples)]]
                if origin:
                    sources = [origin, *_sources(sample)]
                    keys[number] = edit_key(model, sources, sample.instruction, self._seed(model, edit_seed, sample))
                else:
                    left.append(number)
            assert len(left) < len(later), "samples that follow each other in a circle have a fault"
            later = left
        return keys

    def _told_key(self, number: int, told: Told, keys: Sequence[str]) -> str:
        """Computes the key of an edit told a judge's words; `keys` has those of earlier edit models."""
        model, edit_seed, sample = self.edit_parts(number)
        judge = next(judge for judge in self.judges if judge.name == told.judge)
        asked = [one.digest(0) for one in self.experiment.asked[judge.name][number % len(self.samples)]]
        before = self.before(number)
        known = "" if before is None else keys[before]
        sources = [known] if told.source == "last" else _sources(sample)
        stands = recipe(judge.model, asked, known, told.template, sample.instruction)
        return edit_key(model, sources, stands, self._seed(model, edit_seed, sample))

    @cached_property
    def edits(self) -> list[Edit]:
        """The current state of every edit, by number."""
        return [self.new_edit(number) for number in range(self.cells.edits)]

    def new_edit(self, number: int) -> Edit:
        """Returns an edit in its initial state: pending, or skipped if its sample has a fault. Nobody makes one that an
        earlier run has stored: there it is, or it has failed."""
        model, edit_seed, sample = self.edit_parts(number)
        status, reason = (SKIPPED, sample.fault) if sample.fault else (PENDING, "")
        if not sample.fault and (run := self.experiment.stored.get(model.name)):
            status, reason = Status.EDIT_FAILED, f"{run} has no edit of it"
        return Edit(
            key=self.edit_keys[number],
            sample_id=sample.id,
            edit_model=model.name,
            seed=self._seed(model, edit_seed, sample),
            edit_seed=edit_seed,
            status=status,
            reason=reason,
        )

    def grow(self, sample: Sample) -> int:
        """Adds a sample (see `Experiment.grows`); returns the number of its edit, which is pending."""
        self.experiment.grow(sample)
        self.cells.grow()
        number = self.cells.edits - 1
        model, edit_seed, _ = self.edit_parts(number)
        key = edit_key(model, _sources(sample), sample.instruction, self._seed(model, edit_seed, sample))
        self.edit_keys.append(key)
        self.edits.append(self.new_edit(number))
        new = len(self.cells) - len(self.replies)
        self.replies += [[] for _ in range(new)]
        self._readings += [None] * new
        self._keys += [""] * new
        self._settled += [None] * (self.cells.judgements - len(self._settled))
        return number

    def edit_parts(self, number: int) -> tuple[Identity, int, Sample]:
        """Returns edit model, edit seed and sample of an edit."""
        model, edit_seed, sample = self.cells.edit_parts(number)
        return self.edit_models[model], edit_seed, self.samples[sample]

    def _seed(self, model: Identity, edit_seed: int, sample: Sample) -> int:
        return model.seed + sample.index + edit_seed * EDIT_SEED_STRIDE

    def sample_of(self, edit: int) -> Sample:
        """Returns the sample of an edit, a control or a battle."""
        return self.samples[self.cells.sample(edit)]

    def predecessor(self, edit: int) -> int | None:
        """Returns the edit used as this one's source; None if the sample has its own source."""
        position = edit % len(self.samples)
        other = self.experiment.predecessors.get(position)
        return None if other is None else edit - position + other

    # -- edits that are told what a judge said --

    def told(self, edit: int) -> Told | None:
        """Returns how an edit gets its instruction from a judge; None if it uses the sample's."""
        return self.experiment.told.get(self.edit_models[self.cells.edit_parts(edit)[0]].name)

    def before(self, edit: int) -> int | None:
        """Returns the edit of the previous round; None in the first."""
        told = self.told(edit) if self.experiment.told else None
        if told is None or not told.before:
            return None
        _, edit_seed, sample = self.cells.edit_parts(edit)
        return self.cells.edit(self.experiment.places[told.before], edit_seed, sample)

    def made_from(self, edit: int) -> int | None:
        """Returns the edit that the edit model starts from; None if it starts from the sample's own source."""
        told = self.told(edit) if self.experiment.told else None
        return self.before(edit) if told and told.source == "last" else self.predecessor(edit)

    def critique(self, edit: int) -> int | None:
        """Returns the judgement whose words an edit is told; None if it is told the sample's instruction."""
        told = self.told(edit) if self.experiment.told else None
        if told is None or self.sample_of(edit).fault:
            return None
        judge = next(place for place, judge in enumerate(self.judges) if judge.name == told.judge)
        before = self.before(edit)
        about = self.cells.rewrite(self.cells.sample(edit)) if before is None else before
        return next(n for n in self.cells.judgements_of(about) if self.cells.parts(n)[1:] == (judge, 0))

    @cached_property
    def _told_of(self) -> dict[int, list[int]]:
        """The edits told the words of a judgement, by the judgement's number."""
        found: dict[int, list[int]] = {}
        for edit in range(self.cells.edits) if self.experiment.told else ():
            if (critique := self.critique(edit)) is not None:
                found.setdefault(critique, []).append(edit)
        return found

    def told_of(self, judgement: int) -> list[int]:
        """Returns the edits told the words of a judgement, in order."""
        return self._told_of.get(judgement, [])

    def behind(self, edit: int) -> list[int]:
        """Returns the edits told what a judge says about this one."""
        if not self.experiment.told:
            return []
        return [one for judgement in self.cells.judgements_of(edit) for one in self.told_of(judgement)]

    def tell(self, edit: int) -> list[int]:
        """Gives an edit the instruction built from its critique, once the critique is final.

        An edit made with another instruction becomes pending again. Returns the edits that end here without being made,
        this one first: without a critique it fails, and so do those that depend on it; if the critic is content with
        the previous edit, that one is kept.
        """
        told, critique = self.told(edit), self.critique(edit)
        if told is None or critique is None:
            return []
        said, mine = self.judgement(critique), self.edits[edit]
        if said.status is PENDING:
            return []
        judge = next(judge for judge in self.judges if judge.name == told.judge)
        status, reason = not_told(told, judge.scoring.scale, said)
        if status is OK:
            instruction = instruction_of(told.template, said, self.sample_of(edit))
            if mine.instruction != instruction:
                self.set_edit(edit, replace(self.new_edit(edit), instruction=instruction))
            return []
        if (mine.status, mine.reason) != (status, reason):
            self.set_edit(edit, replace(self.new_edit(edit), status=status, reason=reason))
        return [edit, *(ended for one in self.behind(edit) for ended in self.tell(one))]

    def tell_all(self) -> None:
        """Calls `tell` for every edit, earlier rounds first."""
        for edit in range(self.cells.edits) if self.experiment.told else ():
            self.tell(edit)

    def picture(self, number: int) -> Edit:
        """Returns the edit whose picture an edit has: of an earlier round, if it was kept."""
        return self.edits[self.references.edit(number)]

    def shown_edit(self, number: int) -> Edit:
        """Returns an edit for the results: a kept one with the picture of the edit that it refers to, at no cost."""
        edit, was = self.edits[number], self.picture(number)
        if was is edit:
            return edit
        return replace(
            was, key=edit.key, edit_model=edit.edit_model, reason=edit.reason, seconds=0.0, made_in=was.edit_model
        )

    def made_by(self, edit: int) -> int:
        """Returns the edit whose picture is judged: the edit itself, the first of a battle, or for a control the edit
        of its own or another sample.

        A control is judged together with the first edit model's edit of its sample, and so waits for that edit.
        """
        if edit < self.cells.edits:
            return edit
        if edit in self.cells.battles:
            return self.cells.fighters(edit)[0]
        control = self.cells.control(edit)
        return self.cells.edit(0, 0, control.sample if control.other is None else control.other)

    def sources(self, edit: int) -> dict[str, Shown]:
        """Returns the pictures given to the edit model, by name, in order."""
        found = {name: shown for name, shown in self._given(edit).items() if name.startswith("source")}
        before = self.made_from(edit)
        if before is not None and before != self.predecessor(edit):
            found["source"] = _shown(self.picture(before))
        return found

    def _given(self, edit: int) -> dict[str, Shown]:
        """Returns a sample's pictures, the source first; with those of earlier turns and rounds if judges see them."""
        own = {name: Shown(picture.path, picture.digest) for name, picture in self.sample_of(edit).pictures.items()}
        before = self.predecessor(edit) if edit < self.cells.edits else None
        if before is not None:
            own = {"source": _shown(self.edits[before]), **own}
        if not self.experiment.shows_earlier or "source" not in own:
            return own
        first, last = self.experiment.first_of(self.cells.sample(edit)).pictures["source"], self.last(edit)
        was = own["source"] if last is None else _shown(self.picture(last))
        turns = self.experiment.turns_before(edit % len(self.samples)) if edit < self.cells.edits else ()
        at = edit - edit % len(self.samples)
        earlier = {turn_named(turn): _shown(self.edits[at + one]) for turn, one in enumerate(turns, 1)}
        return {**own, **earlier, "first": Shown(first.path, first.digest), "last": was}

    def last(self, edit: int) -> int | None:
        """Returns the edit of the previous turn or round; None in the first, and for controls and battles."""
        if edit >= self.cells.edits:
            return None
        before = self.before(edit)
        return self.predecessor(edit) if before is None else before

    def pictures(self, edit: int) -> dict[str, Shown]:
        """Returns all pictures that a question about an edit, a control or a battle can show; no `edit` if not made."""
        shown = self._given(edit)
        if edit in self.cells.battles:
            fighting = zip(("edit", "other"), map(self.picture, self.cells.fighters(edit)), strict=True)
            return {**shown, **{name: _shown(one) for name, one in fighting if one.status is OK}}
        if edit < self.cells.edits or self.cells.control(edit).kind == "shuffled":
            made = self.picture(self.made_by(edit))
            return {**shown, "edit": _shown(made)} if made.status is OK else shown
        if self.cells.control(edit).is_rewrite:
            return shown
        return {**shown, "edit": shown["source"]._replace(blank=self.cells.control(edit).kind == "blank")}

    def shown_edits(self, edit: int) -> tuple[int, ...]:
        """Returns the edits whose pictures a question about an edit, a control or a battle can show, the earlier turn
        or round first; in place of a kept one, the edit that it refers to."""
        if edit >= self.cells.edits:
            if edit in self.cells.battles:
                first, second = self.cells.fighters(edit)
                return self.references.edit(first), self.references.edit(second)
            return () if self.cells.control(edit).other is None else (self.made_by(edit),)
        before = self.last(edit) if self.experiment.shows_earlier else self.predecessor(edit)
        made = self.references.edit(edit)
        return (made,) if before is None else (self.references.edit(before), made)

    def is_there(self, edit: int) -> bool:
        """True if the picture to judge, and all those shown with it, exist."""
        return all(self.edits[one].status is OK for one in self.shown_edits(edit))

    def edit_model_name(self, edit: int) -> str:
        """Returns the edit model's name: of a battle's first edit, and for a control, `control:` and its kind."""
        if edit in self.cells.controls:
            return f"{CONTROL}{self.cells.control(edit).kind}"
        if self.experiment.grows and (kind := self.experiment.control_kind(self.sample_of(edit))):
            return f"{CONTROL}{kind}"
        return self.edit_models[self.cells.edit_parts(self.made_by(edit))[0]].name

    def is_control(self, edit: int) -> bool:
        """True for a control, and for what is judged before there is an edit."""
        grows = self.experiment.grows
        return edit in self.cells.controls or (grows and bool(self.experiment.control_kind(self.sample_of(edit))))

    def other_name(self, edit: int) -> str:
        """Returns the edit model of a battle's second edit; empty for everything else."""
        return self.edit_models[self.cells.battle(edit).other].name if edit in self.cells.battles else ""

    # -- cells --

    def address(self, cell: int) -> tuple[str, str, int, str, int, str, int, str]:
        """Returns a cell's place by name: sample, edit model, edit seed, judge, repeat, question, reading, and for a
        battle the other edit model."""
        judgement, reading, question = self.cells.cell(cell)
        edit, judge, repeat = self.cells.parts(judgement)
        name = self.cells.asked(judgement)[question].question.name
        about = self.sample_of(edit).id, self.edit_model_name(edit), self.seed_of(edit)
        return *about, self.judges[judge].name, repeat, name, reading, self.other_name(edit)

    def seed_of(self, edit: int) -> int:
        """Returns the edit seed of an edit or a battle; 0 for a control."""
        return 0 if edit in self.cells.controls else self.cells.edit_parts(self.made_by(edit))[1]

    def judge_of(self, cell: int) -> AskedJudge:
        """Returns the judge of a cell."""
        return self.judges[self.cells.parts(self.cells.judgement_of(cell))[1]]

    def question(self, cell: int, *, again: bool = False) -> Question:
        """Returns the question as put to the judge, its texts filled in; with `again`, plus the line for asking again.

        The questions it comes after must have been answered.
        """
        judgement, reading, number = self.cells.cell(cell)
        edit, judge, _ = self.cells.parts(judgement)
        name = self.cells.asked(judgement)[number].question.name
        question = in_order(self.experiment.question(self.judges[judge], self.cells.sample(edit), name), reading)
        if question.after:
            question = rendered(question, {name: self.reading(n) for name, n in self.cells.before(cell).items()})
        return asked_again(question) if again else question

    def seed(self, cell: int) -> int:
        """Returns the seed for sampling a cell's replies."""
        judgement, reading, _ = self.cells.cell(cell)
        return reading + REPEAT_STRIDE * self.cells.parts(judgement)[2]

    def key(self, cell: int) -> str:
        """Returns the key of a cell's replies. Its edit must exist, and the questions before it be answered."""
        key = self._keys[cell]
        if not key:
            key = self._keys[cell] = self._key(cell)
        return key

    def _key(self, cell: int) -> str:
        judgement, reading, number = self.cells.cell(cell)
        edit, judge, repeat = self.cells.parts(judgement)
        model = self.judges[judge].model
        if self.judges[judge].replays:
            sample, edit_model, edit_seed, _, repeat, question, reading, other = self.address(cell)
            about_two = (other,) if other else ()
            return replay_key(model, (sample, edit_model, edit_seed, question, repeat, reading, *about_two))
        asked = self.cells.asked(judgement)[number]
        if not asked.varies and edit < self.cells.edits:  # the common case: no picture has to be looked up
            pixels = self.edits[edit].pixels if asked.shows_edit else ""
            return reply_key(model, asked.digest(reading), pixels, reading + REPEAT_STRIDE * repeat)
        pictures = {name: shown.known_by for name, shown in self.pictures(edit).items()}
        if edit in self.cells.battles:
            return reply_key(model, asked_digest(self.question(cell), pictures), "", self.seed(cell))
        about = asked.digest(reading)
        if asked.varies:
            about = asked_digest(self.question(cell), {**pictures, "edit": "edit"})
        return reply_key(model, about, pictures.get("edit", "") if asked.shows_edit else "", self.seed(cell))

    def can_be_asked(self, cell: int) -> bool:
        """True if its picture exists, the questions before it are answered and do not rule it out, and no other
        judgement is asked for in its place."""
        judgement = self.cells.judgement_of(cell)
        there = self.is_there(self.cells.parts(judgement)[0])
        return there and self.is_own(judgement) and self._unasked(cell) is None

    def reading(self, cell: int) -> Reading:
        """Returns what a cell's replies so far amount to. Its edit must exist."""
        found = self._readings[cell]
        if found is None:
            found = self._read(cell)
            if found.status is not PENDING:
                self._readings[cell] = found
        return found

    def _read(self, cell: int) -> Reading:
        return self._unasked(cell) or self.read(cell, self.replies[cell])

    def _unasked(self, cell: int) -> Reading | None:
        """Returns the reading of a cell ruled out by the questions before it; None if it is to be asked."""
        before = self.cells.before(cell)
        if not before:
            return None
        judgement, _, number = self.cells.cell(cell)
        return unasked(self.cells.asked(judgement)[number].question, map(self.reading, before.values()))

    def read(self, cell: int, replies: Sequence[Reply]) -> Reading:
        """Returns what these replies would amount to."""
        judgement, _, number = self.cells.cell(cell)
        judge = self.judges[self.cells.parts(judgement)[1]]
        question, retries = self.cells.asked(judgement)[number].question, judge.section.retries
        if len(replies) != 1 or len(replies[0].text) > SHORT or replies[0].values or replies[0].ended is not OK:
            return read(judge.protocol, question, replies, retries)
        same = judge.name, id(question), replies[0].text, replies[0].final
        found = self._short.get(same)
        if found is None:
            found = self._short[same] = read(judge.protocol, question, replies, retries)
        return found

    def add_reply(self, cell: int, reply: Reply) -> Reading:
        """Adds a reply; returns what all replies of the cell amount to."""
        self.replies[cell].append(reply)
        return self.reading(cell)

    def forget_replies(self, cell: int) -> None:
        """Forgets the replies of a cell, so that it is asked again, and all cells that come after it."""
        self.replies[cell].clear()
        for one in (cell, *self.cells.after(cell)):
            self._readings[one] = None
            if one != cell:
                self._keys[one] = ""
        self._settled[self.cells.judgement_of(cell)] = None

    def set_edit(self, number: int, edit: Edit) -> list[Judgement]:
        """Sets an edit that has ended, or is to be made again; replies about its earlier picture no longer count.

        Replies set aside that are about this very picture count again: returns the judgements settled by them.
        """
        about = self.shown_with(number)
        cells = [cell for one in about for cell in self.cells.cells_of_edit(one)]
        for cell in cells:  # before anything is cleared: keys depend on the earlier picture and replies
            if self.replies[cell]:
                self.aside.setdefault(self.key(cell), {})[self.address(cell)] = list(self.replies[cell])
        for cell in cells:
            self.replies[cell].clear()
            self._keys[cell], self._readings[cell] = "", None
        self.edits[number] = edit
        about = list(dict.fromkeys([*about, *self.shown_with(number)]))
        for judgement in (n for one in about for n in self.cells.judgements_of(one)):
            self._settled[judgement] = None
        if self.picture(number).status is not OK or not self.aside:
            return []
        for cell in cells:
            self.take_from_aside(cell)
        every = (self.judgement(n) for one in about if self.is_open(one) for n in self.cells.judgements_of(one))
        return [one for one in every if one.status is OK]

    def shown_with(self, edit: int) -> list[int]:
        """Returns all edits, controls and battles whose questions can show an edit's picture, itself first."""
        found: dict[int, None] = {}
        for one in self.references.with_picture(edit):
            rounds = self.behind(one) if self.experiment.shows_earlier else ()
            also = *self.followers(one), *rounds, *self._shuffled.get(one, ()), *self._battles.get(one, ())
            found |= dict.fromkeys((one, *also))
        return list(found)

    def followers(self, edit: int) -> list[int]:
        """Returns the edits that use this one as their source."""
        position = edit % len(self.samples)
        return [edit - position + other for other in self._followers.get(position, ())]

    def fail_followers(self, edit: int) -> list[int]:
        """Fails all edits that depend, directly or not, on one that was not made; returns them."""
        if self.experiment.told:
            return [ended for one in self.behind(edit) for ended in self.tell(one)]
        found, status = [edit], self.edits[edit].status
        for failed in found:
            for one in self.followers(failed):
                if self.edits[one].status is PENDING:
                    was = "was refused" if status in DECLINED else "failed"
                    reason = f"the edit that it follows {was}: {self.edits[edit].reason}"
                    self.edits[one] = replace(self.edits[one], status=status, reason=reason)
                    found.append(one)
        return found[1:]

    @cached_property
    def _followers(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for position, before in self.experiment.predecessors.items():
            found.setdefault(before, []).append(position)
        return found

    @cached_property
    def _shuffled(self) -> dict[int, list[int]]:
        """The controls that show another sample's edit, by the number of that edit."""
        found: dict[int, list[int]] = {}
        for control in self.cells.controls:
            if self.cells.control(control).other is not None:
                found.setdefault(self.made_by(control), []).append(control)
        return found

    @cached_property
    def _battles(self) -> dict[int, list[int]]:
        """The battles that an edit is in, by the edit's number."""
        found: dict[int, list[int]] = {}
        for battle in self.cells.battles:
            for edit in self.cells.fighters(battle):
                found.setdefault(edit, []).append(battle)
        return found

    def take_from_aside(self, cell: int) -> None:
        """Gives a cell the replies set aside for it, if they can be read."""
        if not self.can_be_asked(cell) or not (given := self.aside.get(self.key(cell))):
            return
        replies = given.get(self.address(cell)) or next(iter(given.values()))
        self.replies[cell].extend(replies)
        if self.reading(cell).status is not OK:
            self.replies[cell].clear()
            self._readings[cell] = None

    # -- judgements --

    def judgement(self, number: int) -> Judgement:
        """Returns the current judgement: from all replies so far, from the edit's failure, or still pending; where
        another one is asked for in its place, that one, at no cost."""
        asked = self.references.judgement(number)
        if asked != number:
            return self.references.referred(number, asked)
        found = self._settled[number]
        if found is None:
            found = self._judge(number)
            if found.status is not PENDING:
                self._settled[number] = found
        return found

    def is_own(self, judgement: int) -> bool:
        """True if a judge is asked for this judgement itself: it refers to no other one."""
        return self.references.judgement(judgement) == judgement

    def is_pending(self, judgement: int) -> bool:
        """True if a judgement is not final yet."""
        return self.judgement(judgement).status is PENDING

    def _judge(self, number: int) -> Judgement:
        edit, judge_number, repeat = self.cells.parts(number)
        judge, sample = self.judges[judge_number], self.sample_of(edit)
        asked = [one.question for one in self.cells.asked(number)]
        cells = self.cells.cells_of(number)
        by_reading: ByReading = ()
        if not self.experiment.is_asked(judge.name, sample):
            absent: tuple[Status, str] | None = (
                SKIPPED,
                Text("outside of the share about which {} is asked", judge.name),
            )
        else:
            absent = self._absent(edit, cells)
        if absent:
            status, reason = absent
            scored = JudgedScores({}, dict.fromkeys(applying(judge.protocol, asked), absent), frozenset(), {})
        else:
            scored, by_reading = self._score(judge, sample, asked, [self.reading(cell) for cell in cells])
        headline = leading(judge.protocol, asked, scored)
        if not absent:
            status, reason = scored.missing.get(headline) or (OK, _words(by_reading))
        replies = [reply for cell in cells for reply in self.replies[cell]]
        return Judgement(
            sample_id=sample.id,
            category=sample.category,
            edit_model=self.edit_model_name(edit),
            judge=judge.name,
            edit_seed=self.seed_of(edit),
            repeat=repeat,
            headline=headline,
            status=status,
            reason=reason,
            scores=scored.scores,
            missing=scored.missing or _NOTHING_MISSING,
            again=scored.again,
            spread=scored.spread or _NO_SPREAD,
            readings=by_reading,
            seconds=sum([reply.seconds for reply in replies]),
            device=replies[-1].device if replies else "",
            tokens=(sum([reply.tokens[0] for reply in replies]), sum([reply.tokens[1] for reply in replies])),
            other=self.other_name(edit),
            counts=judge.name not in self.experiment.critics and not self.is_control(edit),
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
        by_reading = tuple([{one.name: next(rest) for one in asked} for _ in range(len(readings) // len(asked))])
        found = score(judge.protocol, sample, asked, by_reading), by_reading
        if repeats:
            self._alike[alike] = found
        return found

    def _absent(self, edit: int, cells: range) -> tuple[Status, str] | None:
        """Returns why there is nothing to score, or nothing yet; None if there is."""
        absent = [self.edits[one] for one in reversed(self.shown_edits(edit)) if self.edits[one].status is not OK]
        if absent:  # of two edits, one may have failed while the other is pending
            first = next((one for one in absent if one.status is not PENDING), absent[0])
            return first.status, first.reason
        for cell in cells:
            if self.reading(cell).status is PENDING:
                return PENDING, self.reading(cell).reason
        return None

    def judgements(self) -> Iterator[Judgement]:
        """Yields every judgement of an edit, by edit model, edit seed, judge, repeat, sample."""
        for model in range(len(self.edit_models)):
            for edit_seed in range(self.experiment.edit_seeds):
                for judge in self.cells.judges_of_one:
                    for repeat in range(self.cells.repeats[judge]):
                        for sample in range(len(self.samples)):
                            one = self.samples[sample]
                            if self.experiment.control_kind(one) or one.id in self.experiment.beside:
                                continue
                            edit = self.cells.edit(model, edit_seed, sample)
                            yield self.judgement(self.cells.judgement(edit, judge, repeat))

    def controls(self) -> Iterator[Judgement]:
        """Yields every judgement of a control; in an experiment that grows, under the sample that it controls."""
        for control in self.cells.controls:
            if not self.cells.control(control).is_rewrite:
                yield from map(self.judgement, self.cells.judgements_of(control))
        if not self.experiment.grows:
            return
        there = {sample.id for sample in self.samples}
        for number, sample in enumerate(self.samples):
            of = str(sample.facts.get(CONTROL_OF, ""))
            if self.experiment.control_kind(sample) in CONTROLS and of in there:
                for judgement in self.cells.judgements_of(number):
                    yield replace(self.judgement(judgement), sample_id=of)

    def rewrites(self) -> Iterator[Judgement]:
        """Yields every judgement made before the edit."""
        for control in self.cells.controls:
            if self.cells.control(control).is_rewrite:
                yield from map(self.judgement, self.cells.judgements_of(control))

    def battles_of(self, sample: int) -> list[int]:
        """Returns the numbers of a sample's battles, by the sample's position."""
        return [battle for battle in self._battles_by_sample.get(sample, []) if self.references.is_battle(battle)]

    @cached_property
    def _battles_by_sample(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for battle in self.open_battles:
            found.setdefault(self.cells.sample(battle), []).append(battle)
        return found

    def battles(self) -> Iterator[Judgement]:
        """Yields every judgement of a battle."""
        for battle in filter(self.references.is_battle, self.open_battles):
            yield from map(self.judgement, self.cells.judgements_of(battle))

    # -- rounds of battles, for an adaptive design --

    @property
    def open_battles(self) -> range:
        """Numbers of the battles of the rounds so far."""
        battles = self.cells.battles
        if self.experiment.looks == 1:
            return battles
        count = bisect_right(self.experiment.battles, self.rounds - 1, key=lambda battle: battle.round)
        return battles[:count]

    def is_open(self, edit: int) -> bool:
        """True if an edit, a control or a battle is to be judged: all but battles of later rounds."""
        return edit < self.open_battles.stop

    def look(self) -> bool:
        """Opens the rounds of battles that the replies so far call for; True if that is more rounds than before.

        A round opens once all earlier ones are final and some edit models cannot be told apart yet. This depends on
        replies alone, so that a resumed or reread run has the same rounds.
        """
        before = self.rounds
        self._open(1)
        while (
            self.rounds < self.experiment.looks
            and not any(one.status is PENDING for one in self.battles())
            and any(map(self._cannot_tell, self.judges))
        ):
            self._open(self.rounds + 1)
        return self.rounds > before

    def _open(self, rounds: int) -> None:
        self.rounds = rounds
        vars(self).pop("_battles_by_sample", None)

    def _cannot_tell(self, judge: AskedJudge) -> bool:
        """True if a judge has rounds left, and its strengths do not tell all edit models apart."""
        if not judge.of_two or (looks := judge.scoring.looks) <= self.rounds:
            return False
        its = [one for one in self.battles() if one.judge == judge.name]
        votes = votes_of(its, judge.scoring.headline, self.samples)
        tables = tables_of(one.scoring.scales for one in self.judges if one.of_two)
        return not told_apart(votes, [model.name for model in self.edit_models], tables, looks)

    @property
    def pending(self) -> int:
        """Number of judgements still pending, controls included."""
        closed = range(self.open_battles.stop, self.cells.battles.stop)
        count = self.cells.judgements_of(closed[0]).start if closed else self.cells.judgements
        return sum(self.is_pending(number) for number in range(count) if self.is_own(number))


def _shown(edit: Edit) -> Shown:
    return Shown(edit.image, pixels=edit.pixels)


def _words(by_reading: Sequence[Mapping[str, Reading]]) -> str:
    """Returns the first reason given by the judge; empty if it gave none."""
    for reading in by_reading:
        for one in reading.values():
            if one.reason:
                return one.reason
    return ""


def _sources(sample: Sample) -> list[str]:
    """Returns the digests of a sample's own source pictures."""
    return [picture.digest for name, picture in sample.pictures.items() if name.startswith("source")]
