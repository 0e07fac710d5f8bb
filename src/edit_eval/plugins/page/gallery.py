"""The records as plain data for the page's gallery: samples with their edits and judgements."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Literal, NotRequired, TypedDict

from edit_eval.plugins.page.shown_pictures import NoPicture, PictureAddresses, ShownPicture, address_of_picture
from edit_eval.records import NO_EDIT, Edit, Judgement, Reading, Results, Sample, Status
from edit_eval.reporting.entries import entries, link
from edit_eval.reporting.language import translate
from edit_eval.reporting.names import name_of, score_title
from edit_eval.reporting.table import map_languages
from edit_eval.statistics.battles import BattleOutcome, battle_outcome
from edit_eval.statistics.failures import ANY, FailureGroup
from edit_eval.statistics.summary import Summary
from edit_eval.statistics.votes import BACKWARD, FORWARD

# -- battles as plain data for the page's gallery: outcomes and answers, and how often an edit won --


class BattleAnswer(TypedDict):
    """An answer in a battle."""

    question: str
    number: int
    """Of the reading, from 0."""
    status: Status
    reason: str
    text: str
    first: str
    """The edit model whose edit was shown first."""
    prefers: str | None


class BattleEntry(TypedDict):
    """A battle's outcome by each score, the headline first, and its answers."""

    judge: str
    repeat: int
    edit_seed: int
    status: Status
    reason: str
    models: list[str]
    outcomes: dict[str, BattleOutcome]
    answers: list[BattleAnswer]


def battle_entry(battle: Judgement) -> BattleEntry:
    names = [battle.headline, *(name for name in (*battle.scores, *battle.missing) if name != battle.headline)]
    return {
        "judge": battle.judge,
        "repeat": battle.repeat,
        "edit_seed": battle.edit_seed,
        "status": battle.status,
        "reason": battle.reason,
        "models": [battle.edit_model, battle.other],
        "outcomes": {name: battle_outcome(battle, name) for name in names},
        "answers": [
            _answer(battle, name, number, answer)
            for number, reading in enumerate(battle.readings)
            for name, answer in reading.items()
        ],
    }


def count_outcomes(edit: Edit, battles: Iterable[BattleEntry]) -> dict[str, list[int]]:
    """Counts the battles that the edit won and lost by the headline of each judge that compares."""
    won: dict[str, list[int]] = {}
    for battle in battles:
        if edit.edit_model in battle["models"] and edit.edit_seed == battle["edit_seed"]:
            came = next(iter(battle["outcomes"].values()))
            ours = BattleOutcome.SECOND if battle["models"].index(edit.edit_model) else BattleOutcome.FIRST
            counts = won.setdefault(battle["judge"], [0, 0])
            if came in (BattleOutcome.FIRST, BattleOutcome.SECOND):
                counts[came is not ours] += 1
    return won


def _answer(battle: Judgement, question: str, number: int, reading: Reading) -> BattleAnswer:
    first, prefers = preference_of(battle, question, reading)
    return {
        "question": question,
        "number": number,
        "status": reading.status,
        "reason": reading.reason,
        "text": reading.text,
        "first": first,
        "prefers": prefers,
    }


# -- what the page's scripts read (`templates/samples.js`, `gallery.js`, `detail.js`) --


def link_to_failures(failure: FailureGroup, battle_judges: Collection[str] = ()) -> str:
    """Returns a link to the samples of an entry of the summary's `failures`, by its status and a search for its reason.

    No filter can name a judge that compares, nor the two edit models of a battle.
    """
    # The reason has `ANY` in place of the sample's name: search for its longest stretch without one.
    said = max(failure.reason.split(ANY), key=len).strip()
    names = {"model": failure.edit_model, "judge": failure.judge, "score": failure.score}
    names = {} if failure.judge in battle_judges else names
    return link(**names, status=failure.status.value, search=said)


def preference_of(judgement: Judgement, question: str, reading: Reading) -> tuple[str, str | None]:
    """Returns the edit model whose edit a question showed first, and the preferred one: "" is a tie, None no answer."""
    order = BACKWARD if question.endswith(f".{BACKWARD}") else FORWARD
    first = judgement.other if order == BACKWARD else judgement.edit_model
    share = next((value for name, value in reading.values.items() if name.endswith(f".{order}")), None)
    if share is None or share == 0.5:
        return first, None if share is None else ""
    return first, judgement.edit_model if share > 0.5 else judgement.other


class ReadingEntry(TypedDict):
    """A reading of a reply."""

    status: Status
    reason: str
    text: str
    asked: int
    values: dict[str, float]
    mass: NotRequired[float | Literal["unknown"]]
    applies: NotRequired[Literal[False]]


class JudgementEntry(TypedDict):
    """A judgement of an edit."""

    judge: str
    repeat: int
    status: Status
    reason: str
    scores: dict[str, float]
    spread: NotRequired[dict[str, float]]
    tokens: NotRequired[list[int]]
    missing: dict[str, list[str]]
    """Status and reason of each score that is not there."""
    readings: list[dict[str, ReadingEntry]]


class CritiqueEntry(TypedDict):
    """A critic's words about an edit, and its headline, which is only used to choose edits."""

    judge: str
    status: Status
    words: str
    score: float | None


class EditEntry(TypedDict):
    """An edit with what was said of it."""

    model: str
    edit_seed: int
    seed: int
    status: Status
    reason: str
    width: int
    height: int
    seconds: float
    device: str
    flags: tuple[str, ...]
    made_in: str
    own_size: NotRequired[list[int]]
    picture: ShownPicture
    instruction: NotRequired[str]
    won: dict[str, list[int]]
    """Battles won and lost, by judge."""
    judgements: list[JudgementEntry]
    critique: NotRequired[CritiqueEntry]


class SampleEntry(TypedDict):
    """A sample with its edits and battles."""

    id: str
    index: int
    category: str
    difficulty: str
    tags: tuple[str, ...]
    instruction: str
    instructions: dict[str, str]
    description: str
    rationale: str
    fault: str
    source: ShownPicture
    others: NotRequired[dict[str, ShownPicture]]
    battles: list[BattleEntry]
    edits: list[EditEntry]


class ScoreEntry(TypedDict):
    """What is needed to show a score, and to sort by it."""

    lowest: float | None
    highest: float | None
    higher_is_better: bool
    digits: int
    title: dict[str, str]


class JudgeEntry(TypedDict):
    """A judge's scores, in order."""

    headline: str
    scores: dict[str, ScoreEntry]


class RefinementEntry(TypedDict):
    """How a column of edits got its instructions."""

    before: str
    judge: str
    round: int


class Gallery(TypedDict):
    """All samples of a run."""

    run: str
    edit_models: list[str]
    refinements: dict[str, RefinementEntry]
    judges: list[str]
    battle_judges: list[str]
    scoring: dict[str, JudgeEntry]
    names: Mapping[str, Mapping[str, Mapping[str, str]]]
    """`{kind: {key: {"en": ..., "zh": ...}}}`."""
    no_edit: list[str]
    samples: list[SampleEntry]


def gallery(results: Results, summary: Summary, pictures: PictureAddresses) -> Gallery:
    """Returns the samples with all that is known of them; registers all pictures."""
    edits: dict[str, list[Edit]] = defaultdict(list)
    for edit in results.edits:
        edits[edit.sample_id].append(edit)
    judgements: dict[tuple[str, str, int], list[Judgement]] = defaultdict(list)
    for judgement in results.judgements:
        judgements[(judgement.sample_id, judgement.edit_model, judgement.edit_seed)].append(judgement)
    battles: dict[str, list[Judgement]] = defaultdict(list)
    for battle in results.battles:
        battles[battle.sample_id].append(battle)
    critiques: dict[str, list[Judgement]] = defaultdict(list)
    for critique in results.critiques:
        critiques[critique.sample_id].append(critique)
    return {
        "run": Path(results.directory).name,
        "edit_models": list(results.edit_models),
        "refinements": {
            name: {"before": refinement.before, "judge": refinement.judge, "round": refinement.round}
            for name, refinement in results.refinements.items()
        },
        "judges": list(results.judges),
        "battle_judges": list(results.battle_judges),
        "scoring": _judge_entries(results, summary),
        "names": _names(results),
        "no_edit": [status.value for status in NO_EDIT],
        "samples": [
            sample_entry(
                sample,
                [(edit, judgements[sample.id, edit.edit_model, edit.edit_seed]) for edit in edits[sample.id]],
                battles[sample.id],
                critiques[sample.id],
                pictures,
            )
            for sample in results.samples
        ],
    }


def sample_entry(
    sample: Sample,
    edits: Iterable[tuple[Edit, Iterable[Judgement]]],
    battles: Iterable[Judgement],
    critiques: Iterable[Judgement],
    pictures: PictureAddresses,
) -> SampleEntry:
    """Returns a sample for the gallery: its edits, each with its judgements and critique, and its battles."""
    fought_out = [battle_entry(battle) for battle in battles]
    said = {
        (critique.edit_model, critique.edit_seed): _critique(critique) for critique in critiques if not critique.repeat
    }
    others = {
        address_of_picture(name): pictures.address_of_sample(sample, name) or NoPicture(missing="other_missing")
        for name in sample.pictures
        if name != "source"
    }
    document: SampleEntry = {
        "id": sample.id,
        "index": sample.index,
        "category": sample.category,
        "difficulty": sample.difficulty,
        "tags": sample.tags,
        "instruction": sample.instruction,
        "instructions": dict(sample.instructions) or {sample.language: sample.instruction},
        "description": sample.description,
        "rationale": sample.rationale,
        "fault": sample.fault,
        "source": pictures.address_of_sample(sample) or {"missing": "source_missing"},
        "battles": fought_out,
        "edits": [
            _edit(edit, fought_out, of_it, said.get((edit.edit_model, edit.edit_seed)), pictures)
            for edit, of_it in edits
        ],
    }
    if others:
        document["others"] = others
    return document


def _judge_entries(results: Results, summary: Summary) -> dict[str, JudgeEntry]:
    """Returns each judge's headline and, in order, what is needed to show and sort each of its scores."""
    every = [part for parts in (False, True) for part in entries(summary.results, parts=parts)]
    digits = {(part.judge, part.score): part.digits for part in every}
    return {
        judge: {
            "headline": scoring.headline,
            "scores": {
                name: {
                    "lowest": scale.lowest,
                    "highest": scale.highest,
                    "higher_is_better": scale.higher_is_better,
                    "digits": digits[judge, name],
                    "title": map_languages(partial(translate, score_title(name, scale))),
                }
                for name, scale in scoring.scales.items()
                if (judge, name) in digits
            },
        }
        for judge, scoring in results.scoring.items()
    }


def _names(results: Results) -> Mapping[str, Mapping[str, Mapping[str, str]]]:
    """Returns readable names for keys of the records: `{kind: {key: {"en": ..., "zh": ...}}}`."""
    categories = dict.fromkeys(sample.category for sample in results.samples)
    categories = categories if any(categories) else {}  # of a benchmark without categories nothing is said
    difficulties = dict.fromkeys(sample.difficulty for sample in results.samples if sample.difficulty)

    def names_of(kind: str, keys: Iterable[str]) -> dict[str, dict[str, str]]:
        return {key: map_languages(partial(translate, name_of(kind, key))) for key in keys}

    return {
        "category": names_of("short_category", categories),
        "category_title": names_of("category", categories),
        "difficulty": names_of("difficulty", difficulties),
        "status": names_of("status", [status.value for status in Status]),
    }


def _edit(
    edit: Edit,
    battles: Sequence[BattleEntry],
    judgements: Iterable[Judgement],
    critique: CritiqueEntry | None,
    pictures: PictureAddresses,
) -> EditEntry:
    picture = pictures.address_of_edit(edit) or NoPicture(missing="edit_gone") if edit.image else None
    document: EditEntry = {
        "model": edit.edit_model,
        "edit_seed": edit.edit_seed,
        "seed": edit.seed,
        "status": edit.status,
        "reason": edit.reason,
        "width": edit.width,
        "height": edit.height,
        "seconds": edit.seconds,
        "device": edit.device,
        "flags": edit.flags,
        "made_in": edit.made_in,
        "picture": picture or {"missing": "no_edit"},
        "won": count_outcomes(edit, battles),
        "judgements": list(map(_judgement, judgements)),
    }
    if any(edit.own_size):
        document["own_size"] = list(edit.own_size)
    if edit.instruction:
        document["instruction"] = edit.instruction
    if critique:
        document["critique"] = critique
    return document


def _judgement(judgement: Judgement) -> JudgementEntry:
    document: JudgementEntry = {
        "judge": judgement.judge,
        "repeat": judgement.repeat,
        "status": judgement.status,
        "reason": judgement.reason,
        "scores": dict(judgement.scores),
        "missing": {name: [status.value, reason] for name, (status, reason) in judgement.missing.items()},
        "readings": [
            {question: _reading(answer) for question, answer in reading.items()} for reading in judgement.readings
        ],
    }
    if judgement.spread:
        document["spread"] = dict(judgement.spread)
    if any(judgement.tokens):
        document["tokens"] = list(judgement.tokens)
    return document


def _critique(critique: Judgement) -> CritiqueEntry:
    words = critique.reason if critique.status is Status.OK else ""
    return {
        "judge": critique.judge,
        "status": critique.status,
        "words": words or critique.answer,
        "score": critique.score,
    }


def _reading(reading: Reading) -> ReadingEntry:
    document: ReadingEntry = {
        "status": reading.status,
        "reason": reading.reason,
        "text": reading.text,
        "asked": reading.asked,
        "values": dict(reading.values),
    }
    if reading.mass is not None:
        document["mass"] = reading.mass
    if not reading.applies:
        document["applies"] = False
    return document
