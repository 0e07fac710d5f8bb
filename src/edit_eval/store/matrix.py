"""The matrix: every edit, reply and judgement that a run is to have, and what has become of each."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from edit_eval.config.identity import Identity
from edit_eval.experiment import CONTROLS, Experiment
from edit_eval.protocols.asked import AskedJudge, asked_digest
from edit_eval.protocols.contract import Question, in_order
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
from edit_eval.statistics.battles import votes_of
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
from edit_eval.text import Text, counted

EDIT_SEED_STRIDE = 1_000_000
"""How far apart the seeds of a sample's edits are with `edit_seeds` > 1: larger than any benchmark."""

CONTROL_OF = "control_of"
"""The fact that names the sample for which a sample of an experiment that grows is a control."""

KEPT = "kept"
"""The flag of an edit that is that of the round before."""

SHORT = 64
"""Characters of a reply that others are likely to repeat."""

ByReading = tuple[dict[str, Reading], ...]
"""For each reading: by question."""

# Python 3.11 takes ten times as long to look a member up in its class.
OK, PENDING, SKIPPED = Status.OK, Status.PENDING, Status.SKIPPED


_NOTHING_MISSING: dict[str, tuple[Status, str]] = {}  # one for all judgements that are whole
_NO_SPREAD: dict[str, float] = {}  # one for all that have one reading


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
        # Bare scores repeat themselves a hundred thousand times: of cells that were answered once, in few characters.
        self._short: dict[tuple[object, ...], Reading] = {}
        self.own: frozenset[str] | None = None
        """The samples that are this start's affair, where it is a shard; None: all."""
        self._look_at_samples = {judge.name: looks_at_samples(judge.protocol) for judge in self.judges}
        self._alike: dict[tuple[object, ...], tuple[JudgedScores, ByReading]] = {}
        self.aside: dict[str, dict[tuple[object, ...], list[Reply]]] = {}
        """Key of replies -> to which address -> the replies: about pictures that are not there now."""
        self.rounds = 1
        """How many rounds of battles are asked. Those of later rounds are numbered, and are in nothing else."""

    # -- edits --

    def _edit_keys(self) -> list[str]:
        """Those of all edits that an edit model makes."""
        before = self.experiment.predecessors
        keys: list[str] = [""] * self.cells.edits
        later = []
        for number in range(self.cells.edits):
            model, edit_seed, sample = self.edit_parts(number)
            if sample.follows and not sample.fault:
                later.append(number)
                continue
            if told := self.told(number):
                keys[number] = self._told_key(number, told, keys)
                continue
            keys[number] = edit_key(model, _sources(sample), sample.instruction, self._seed(model, edit_seed, sample))
        while later:
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
        """Those of the columns before are known."""
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
        """Every edit as it stands, by its number."""
        return [self.new_edit(number) for number in range(self.cells.edits)]

    def new_edit(self, number: int) -> Edit:
        """An edit of which nothing is known yet."""
        model, edit_seed, sample = self.edit_parts(number)
        return Edit(
            key=self.edit_keys[number],
            sample_id=sample.id,
            edit_model=model.name,
            seed=self._seed(model, edit_seed, sample),
            edit_seed=edit_seed,
            status=SKIPPED if sample.fault else PENDING,
            reason=sample.fault,
        )

    def grow(self, sample: Sample) -> int:
        """One more sample (see `Experiment.grows`); returns the number of its edit, of which nothing is known yet."""
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
        """Edit model, edit seed and sample of an edit."""
        model, edit_seed, sample = self.cells.edit_parts(number)
        return self.edit_models[model], edit_seed, self.samples[sample]

    def _seed(self, model: Identity, edit_seed: int, sample: Sample) -> int:
        return model.seed + sample.index + edit_seed * EDIT_SEED_STRIDE

    def sample_of(self, edit: int) -> Sample:
        """The sample that an edit, or a control, is about."""
        return self.samples[self.cells.sample(edit)]

    def predecessor(self, edit: int) -> int | None:
        """The edit that is this one's source; None where the sample has a source of its own."""
        position = edit % len(self.samples)
        other = self.experiment.predecessors.get(position)
        return None if other is None else edit - position + other

    # -- edits that are told what a judge said --

    def told(self, edit: int) -> Told | None:
        """How an edit comes by its instruction; None where that is the sample's."""
        return self.experiment.told.get(self.edit_models[self.cells.edit_parts(edit)[0]].name)

    def before(self, edit: int) -> int | None:
        """The edit of the round before; None for a first one."""
        told = self.told(edit) if self.experiment.told else None
        if told is None or not told.before:
            return None
        _, edit_seed, sample = self.cells.edit_parts(edit)
        return self.cells.edit(self.experiment.places[told.before], edit_seed, sample)

    def made_from(self, edit: int) -> int | None:
        """The edit that the edit model is given; None where that is the sample's own source."""
        told = self.told(edit) if self.experiment.told else None
        return self.before(edit) if told and told.source == "last" else self.predecessor(edit)

    def critique(self, edit: int) -> int | None:
        """The judgement whose words an edit model is told; None where it is told the sample's instruction."""
        told = self.told(edit) if self.experiment.told else None
        if told is None or self.sample_of(edit).fault:
            return None
        judge = next(place for place, judge in enumerate(self.judges) if judge.name == told.judge)
        before = self.before(edit)
        about = self.cells.rewrite(self.cells.sample(edit)) if before is None else before
        return next(n for n in self.cells.judgements_of(about) if self.cells.parts(n)[1:] == (judge, 0))

    @cached_property
    def _told_of(self) -> dict[int, list[int]]:
        """For a judgement the edits that are told its words."""
        found: dict[int, list[int]] = {}
        for edit in range(self.cells.edits) if self.experiment.told else ():
            if (critique := self.critique(edit)) is not None:
                found.setdefault(critique, []).append(edit)
        return found

    def told_of(self, judgement: int) -> list[int]:
        """The edits that are told the words of a judgement, in their order."""
        return self._told_of.get(judgement, [])

    def behind(self, edit: int) -> list[int]:
        """The edits that are told what a judge says of this one."""
        if not self.experiment.told:
            return []
        return [one for judgement in self.cells.judgements_of(edit) for one in self.told_of(judgement)]

    def tell(self, edit: int) -> list[int]:
        """Gives an edit the instruction that its critique now makes, once that has come to its end.

        One that was made with another instruction is pending again. Returns the edits that end by this without being
        made, itself first: where there is no critique it has failed, with all behind it; where the critic is content
        with the edit before, that is kept.
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
        """The same of all edits, those of earlier rounds first."""
        for edit in range(self.cells.edits) if self.experiment.told else ():
            self.tell(edit)

    def kept(self, edit: int) -> int | None:
        """The edit of an earlier round that stands for one that was not needed; None for all others."""
        before = self.before(edit) if self.edits[edit].status is SKIPPED else None
        if before is None or self.sample_of(edit).fault:
            return None
        return before if (earlier := self.kept(before)) is None else earlier

    def shown_edit(self, number: int) -> Edit:
        """An edit as results have it: of a round that was not needed that of the round before, at no cost."""
        edit, kept = self.edits[number], self.kept(number) if self.experiment.told else None
        if kept is None:
            return edit
        was = self.edits[kept]
        return replace(
            was, key=edit.key, edit_model=edit.edit_model, reason=edit.reason, seconds=0.0, flags=(*was.flags, KEPT)
        )

    def shown_judgement(self, number: int) -> Judgement:
        """A judgement as results have it: of a round that was not needed that of the round before, at no cost."""
        edit, judge, repeat = self.cells.parts(number)
        of_edit = edit < self.cells.edits and bool(self.experiment.told)
        if not of_edit or (kept := self.kept(edit)) is None:
            return self.judgement(number)
        was = self.judgement(self.cells.judgement(kept, judge, repeat))
        return replace(was, edit_model=self.edit_model_name(edit), seconds=0.0, tokens=(0, 0))

    def made_by(self, edit: int) -> int:
        """The edit whose picture is judged: the edit itself; of a battle the first; for a control that of another
        sample, or of its own.

        A control is judged beside the edit of its sample by the first edit model, and so comes when that has come.
        """
        if edit < self.cells.edits:
            return edit
        if edit in self.cells.battles:
            return self.cells.fighters(edit)[0]
        control = self.cells.control(edit)
        return self.cells.edit(0, 0, control.sample if control.other is None else control.other)

    def sources(self, edit: int) -> dict[str, Shown]:
        """The pictures that an edit model is given, by name, in their order."""
        found = {name: shown for name, shown in self._given(edit).items() if name.startswith("source")}
        before = self.made_from(edit)
        if before is not None and before != self.predecessor(edit):
            found["source"] = Shown(self.edits[before].image, pixels=self.edits[before].pixels)
        return found

    def _given(self, edit: int) -> dict[str, Shown]:
        """A sample's pictures, its source first; where a judge is shown them, those of earlier turns and rounds."""
        own = {name: Shown(picture.path, picture.digest) for name, picture in self.sample_of(edit).pictures.items()}
        before = self.predecessor(edit) if edit < self.cells.edits else None
        if before is not None:
            own = {"source": Shown(self.edits[before].image, pixels=self.edits[before].pixels), **own}
        if not self.experiment.shows_earlier or "source" not in own:
            return own
        first, last = self.experiment.first_of(self.cells.sample(edit)).pictures["source"], self.last(edit)
        was = own["source"] if last is None else Shown(self.edits[last].image, pixels=self.edits[last].pixels)
        return {**own, "first": Shown(first.path, first.digest), "last": was}

    def last(self, edit: int) -> int | None:
        """The edit of the turn or the round before; None for what is no edit, and for a first one."""
        if edit >= self.cells.edits:
            return None
        before = self.before(edit)
        return self.predecessor(edit) if before is None else before

    def pictures(self, edit: int) -> dict[str, Shown]:
        """All that a question about an edit, or a control, can show: without `edit` where there is none."""
        shown = self._given(edit)
        if edit in self.cells.battles:
            fighting = zip(("edit", "other"), map(self.edits.__getitem__, self.cells.fighters(edit)), strict=True)
            return {**shown, **{n: Shown(one.image, pixels=one.pixels) for n, one in fighting if one.status is OK}}
        if edit < self.cells.edits or self.cells.control(edit).kind == "shuffled":
            made = self.edits[self.made_by(edit)]
            return {**shown, "edit": Shown(made.image, pixels=made.pixels)} if made.status is OK else shown
        if self.cells.control(edit).is_rewrite:
            return shown
        return {**shown, "edit": shown["source"]._replace(blank=self.cells.control(edit).kind == "blank")}

    def shown_edits(self, edit: int) -> tuple[int, ...]:
        """The edits whose pictures a question about an edit, a control or a battle can show: the one that it follows
        first."""
        if edit >= self.cells.edits:
            if edit in self.cells.battles:
                return self.cells.fighters(edit)
            return () if self.cells.control(edit).other is None else (self.made_by(edit),)
        before = self.last(edit) if self.experiment.shows_earlier else self.predecessor(edit)
        return (edit,) if before is None else (before, edit)

    def is_there(self, edit: int) -> bool:
        """Whether there is a picture to judge, with all that it is shown beside."""
        return all(self.edits[one].status is OK for one in self.shown_edits(edit))

    def edit_model_name(self, edit: int) -> str:
        """Whose edit it is; of a battle the first; for a control `control:` and its kind."""
        if edit in self.cells.controls:
            return f"{CONTROL}{self.cells.control(edit).kind}"
        if self.experiment.grows and (kind := self.experiment.control_kind(self.sample_of(edit))):
            return f"{CONTROL}{kind}"
        return self.edit_models[self.cells.edit_parts(self.made_by(edit))[0]].name

    def other_name(self, edit: int) -> str:
        """Of a battle whose its second edit is; empty for all else."""
        return self.edit_models[self.cells.battle(edit).other].name if edit in self.cells.battles else ""

    # -- cells --

    def address(self, cell: int) -> tuple[str, str, int, str, int, str, int, str]:
        """What a cell is about in words: sample, edit model, edit seed, judge, repeat, question, reading, and of a
        battle the other edit model."""
        judgement, reading, question = self.cells.cell(cell)
        edit, judge, repeat = self.cells.parts(judgement)
        name = self.cells.asked(judgement)[question].question.name
        about = self.sample_of(edit).id, self.edit_model_name(edit), self._edit_seed(edit)
        return *about, self.judges[judge].name, repeat, name, reading, self.other_name(edit)

    def _edit_seed(self, edit: int) -> int:
        """Of an edit or a battle which of the edit seeds it is of; 0 for a control."""
        return 0 if edit in self.cells.controls else self.cells.edit_parts(self.made_by(edit))[1]

    def judge_of(self, cell: int) -> AskedJudge:
        """The judge that is asked."""
        return self.judges[self.cells.parts(self.cells.judgement_of(cell))[1]]

    def question(self, cell: int, *, again: bool = False) -> Question:
        """The question with its texts, as it is put to the judge; `again` with the line for asking again.

        Those that it comes after have been answered.
        """
        judgement, reading, number = self.cells.cell(cell)
        edit, judge, _ = self.cells.parts(judgement)
        name = self.cells.asked(judgement)[number].question.name
        question = in_order(self.experiment.question(self.judges[judge], self.cells.sample(edit), name), reading)
        if question.after:
            question = rendered(question, {name: self.reading(n) for name, n in self.cells.before(cell).items()})
        return asked_again(question) if again else question

    def seed(self, cell: int) -> int:
        """The seed with which a cell's replies are sampled."""
        judgement, reading, _ = self.cells.cell(cell)
        return reading + REPEAT_STRIDE * self.cells.parts(judgement)[2]

    def key(self, cell: int) -> str:
        """The key of a cell's replies; its edit is there, and the questions that it comes after are answered."""
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
        if not asked.varies and edit < self.cells.edits:  # as nearly all are: no picture has to be looked up
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
        """Whether there is something to ask about: a picture, and answers to the questions that it comes after, which
        do not rule it out."""
        return self.is_there(self.cells.parts(self.cells.judgement_of(cell))[0]) and self._unasked(cell) is None

    def reading(self, cell: int) -> Reading:
        """What a cell's replies amount to, as it stands. Its edit is there."""
        found = self._readings[cell]
        if found is None:
            found = self._read(cell)
            if found.status is not PENDING:
                self._readings[cell] = found
        return found

    def _read(self, cell: int) -> Reading:
        return self._unasked(cell) or self.read(cell, self.replies[cell])

    def _unasked(self, cell: int) -> Reading | None:
        """What a cell amounts to that is not asked, by those that it comes after; None where it is."""
        before = self.cells.before(cell)
        if not before:
            return None
        judgement, _, number = self.cells.cell(cell)
        return unasked(self.cells.asked(judgement)[number].question, map(self.reading, before.values()))

    def read(self, cell: int, replies: Sequence[Reply]) -> Reading:
        """What these replies would amount to."""
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
        """A reply has come; returns what all replies of the cell amount to."""
        self.replies[cell].append(reply)
        return self.reading(cell)

    def forget_replies(self, cell: int) -> None:
        """The cell is to be asked anew, and those that come after it with it."""
        self.replies[cell].clear()
        for one in (cell, *self.cells.after(cell)):
            self._readings[one] = None
            if one != cell:
                self._keys[one] = ""
        self._settled[self.cells.judgement_of(cell)] = None

    def set_edit(self, number: int, edit: Edit) -> list[Judgement]:
        """The edit has come to an end, or is to be made anew; replies about another picture no longer count.

        Those that were given about this very picture do: returns the judgements that it settles.
        """
        about = self.shown_with(number)
        cells = [cell for one in about for cell in self.cells.cells_of_edit(one)]
        for cell in cells:
            if self.replies[cell]:
                self.aside.setdefault(self.key(cell), {})[self.address(cell)] = list(self.replies[cell])
        for cell in cells:
            self.replies[cell].clear()
            self._keys[cell], self._readings[cell] = "", None
        self.edits[number] = edit
        for judgement in (n for one in about for n in self.cells.judgements_of(one)):
            self._settled[judgement] = None
        if edit.status is not OK or not self.aside:
            return []
        for cell in cells:
            self.take_from_aside(cell)
        every = (self.judgement(n) for one in about if self.is_open(one) for n in self.cells.judgements_of(one))
        return [one for one in every if one.status is OK]

    def shown_with(self, edit: int) -> list[int]:
        """All edits, controls and battles whose questions can show an edit's picture, itself first."""
        rounds = self.behind(edit) if self.experiment.shows_earlier else ()
        return [edit, *self.followers(edit), *rounds, *self._shuffled.get(edit, ()), *self._battles.get(edit, ())]

    def followers(self, edit: int) -> list[int]:
        """The edits whose source this one is."""
        position = edit % len(self.samples)
        return [edit - position + other for other in self._followers.get(position, ())]

    def fail_followers(self, edit: int) -> list[int]:
        """What follows an edit that is not made cannot be made, nor what follows that: returns those edits."""
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
        """For an edit the controls that it is another sample's edit for."""
        found: dict[int, list[int]] = {}
        for control in self.cells.controls:
            if self.cells.control(control).other is not None:
                found.setdefault(self.made_by(control), []).append(control)
        return found

    @cached_property
    def _battles(self) -> dict[int, list[int]]:
        """For an edit the battles that it is in."""
        found: dict[int, list[int]] = {}
        for battle in self.cells.battles:
            for edit in self.cells.fighters(battle):
                found.setdefault(edit, []).append(battle)
        return found

    def take_from_aside(self, cell: int) -> None:
        """Gives a cell the replies that were set aside for it, if they can be read."""
        if not self.can_be_asked(cell) or not (given := self.aside.get(self.key(cell))):
            return
        replies = given.get(self.address(cell)) or next(iter(given.values()))
        self.replies[cell].extend(replies)
        if self.reading(cell).status is not OK:
            self.replies[cell].clear()
            self._readings[cell] = None

    # -- judgements --

    def judgement(self, number: int) -> Judgement:
        """The judgement as it stands: of all replies so far, of the edit that failed, or still pending."""
        found = self._settled[number]
        if found is None:
            found = self._judge(number)
            if found.status is not PENDING:
                self._settled[number] = found
        return found

    def is_pending(self, judgement: int) -> bool:
        """Whether something of a judgement is still to come."""
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
            edit_seed=self._edit_seed(edit),
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
        )

    def _score(
        self, judge: AskedJudge, sample: Sample, asked: Sequence[Question], readings: Sequence[Reading]
    ) -> tuple[JudgedScores, ByReading]:
        """The scores, and by reading what they were made of."""
        first = readings[0]
        repeats = len(readings) == 1 and len(first.text) <= SHORT and not self._look_at_samples[judge.name]
        alike = judge.name, id(asked[0]), id(first)  # both live as long as what is kept under them
        if repeats and alike in self._alike:
            return self._alike[alike]
        rest = iter(readings)
        by_reading = tuple([{one.name: next(rest) for one in asked} for _ in range(len(readings) // len(asked))])
        found = score(judge.protocol, sample, asked, by_reading), by_reading
        if repeats:
            self._alike[alike] = found
        return found

    def _absent(self, edit: int, cells: range) -> tuple[Status, str] | None:
        """Why there is nothing to score, or not yet."""
        absent = [self.edits[one] for one in reversed(self.shown_edits(edit)) if self.edits[one].status is not OK]
        if absent:  # of two one may have failed while the other is still to come
            first = next((one for one in absent if one.status is not PENDING), absent[0])
            return first.status, first.reason
        for cell in cells:
            if self.reading(cell).status is PENDING:
                return PENDING, self.reading(cell).reason
        return None

    def judgements(self, *, shown: bool = False) -> Iterator[Judgement]:
        """Every judgement of an edit, ordered by edit model, edit seed, judge, repeat, sample; with `shown` as results
        have them."""
        of = self.shown_judgement if shown and self.experiment.told else self.judgement
        for model in range(len(self.edit_models)):
            for edit_seed in range(self.experiment.edit_seeds):
                for judge in self.cells.judges_of_one:
                    for repeat in range(self.experiment.repeats):
                        for sample in range(len(self.samples)):
                            if self.experiment.control_kind(self.samples[sample]):
                                continue
                            edit = self.cells.edit(model, edit_seed, sample)
                            yield of(self.cells.judgement(edit, judge, repeat))

    def controls(self) -> Iterator[Judgement]:
        """Every judgement of a control; of an experiment that grows each is said to be of the sample that it is for."""
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
        """Every judgement that was made before there was an edit."""
        for control in self.cells.controls:
            if self.cells.control(control).is_rewrite:
                yield from map(self.judgement, self.cells.judgements_of(control))

    def clients_own(self) -> tuple[tuple[Sample, ...], tuple[Edit, ...]]:
        """The samples, and the edits, but for controls that an experiment that grows has among its samples."""
        if not self.experiment.grows:
            return self.samples, tuple(map(self.shown_edit, range(self.cells.edits)))
        own = [number for number, one in enumerate(self.samples) if not self.experiment.control_kind(one)]
        return tuple(self.samples[number] for number in own), tuple(self.edits[number] for number in own)

    def battles_of(self, sample: int) -> list[int]:
        """The numbers of a sample's battles, by the sample's position."""
        return self._battles_by_sample.get(sample, [])

    @cached_property
    def _battles_by_sample(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for battle in self.open_battles:
            found.setdefault(self.cells.sample(battle), []).append(battle)
        return found

    def battles(self) -> Iterator[Judgement]:
        """Every judgement of a battle."""
        for battle in self.open_battles:
            yield from map(self.judgement, self.cells.judgements_of(battle))

    # -- rounds of battles, where a design is extended --

    @property
    def open_battles(self) -> range:
        """The numbers of the battles that are asked: those of the rounds so far."""
        battles = self.cells.battles
        if self.experiment.looks == 1:
            return battles
        count = bisect_right(self.experiment.battles, self.rounds - 1, key=lambda battle: battle.round)
        return battles[:count]

    def is_open(self, edit: int) -> bool:
        """Whether an edit, a control or a battle is to be judged: all are but battles of later rounds."""
        return edit < self.open_battles.stop

    def look(self) -> bool:
        """Finds how many rounds of battles are to be asked by what is known; returns whether they are more than before.

        The next one is asked when all before it have come to their end and leave some edit models untold from others.
        It depends on replies alone: a run that goes on, or is read, has the rounds that it had.
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
        """Whether a judge may be asked more, and its strengths leave some edit models untold from others."""
        if not judge.of_two or (looks := judge.scoring.looks) <= self.rounds:
            return False
        its = [one for one in self.battles() if one.judge == judge.name]
        votes = votes_of(its, judge.scoring.headline, self.samples)
        return not told_apart(votes, [model.name for model in self.edit_models], looks)

    @property
    def pending(self) -> int:
        """How many judgements have not come to an end, controls among them."""
        closed = range(self.open_battles.stop, self.cells.battles.stop)
        count = self.cells.judgements_of(closed[0]).start if closed else self.cells.judgements
        return sum(map(self.is_pending, range(count)))


def what_is_left(matrix: Matrix) -> str:
    """One line: what is reused, and what is to be done."""
    edits = [e for e in matrix.edits if e.status is not SKIPPED]
    kept = sum(e.status is not PENDING for e in edits)
    every = (*matrix.judgements(), *matrix.controls(), *matrix.battles(), *matrix.rewrites())
    judgements = [j for j in every if j.status is not SKIPPED]
    judged = sum(j.status is not PENDING for j in judgements)
    if judged == len(judgements):
        return Text(
            "Nothing to do: {} and {} already complete",
            counted(len(edits), "edit"),
            counted(len(judgements), "judgement"),
        )
    kept_text = (
        Text("{} of {} edits and {} of {} judgements are kept; ", kept, len(edits), judged, len(judgements))
        if kept
        else ""
    )
    left = counted(len(edits) - kept, "edit"), counted(len(judgements) - judged, "judgement")
    return Text("{}to do: {}", kept_text, left)


def _words(by_reading: Sequence[Mapping[str, Reading]]) -> str:
    """The judge's words besides what it gave, where there are any."""
    for reading in by_reading:
        for one in reading.values():
            if one.reason:
                return one.reason
    return ""


def _sources(sample: Sample) -> list[str]:
    """The digests of what the edit model is given of a sample's own."""
    return [picture.digest for name, picture in sample.pictures.items() if name.startswith("source")]
