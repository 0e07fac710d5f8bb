"""The verdict as the page has it: who wins by each judge, and the pictures to look at first.

All numbers are those of the summary (`comparison`, `extremes`, `failures`), and every one leads to its samples.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, zip_longest
from typing import Any

from edit_eval.records import Results, Sample
from edit_eval.reporting import formats
from edit_eval.reporting.comparison import failure_remarks, note_words
from edit_eval.reporting.comparison_tables import columns_table, pairs_table
from edit_eval.reporting.links import edit_side, link, to_failures
from edit_eval.reporting.names import name_of
from edit_eval.reporting.page.standings import matrix_table, standings_table
from edit_eval.reporting.people_differences import explanation, pair_lines, people_in, sentences
from edit_eval.reporting.remarks import wrong_lines
from edit_eval.reporting.table import both
from edit_eval.reporting.verdict import Preference, Verdict, joint_headline, preferences, verdicts
from edit_eval.statistics.battles import Fought, fought
from edit_eval.text import Text

_LOOKS = 4
"""In the row of samples to look at first."""
Both = dict[str, str]
"""Something that has its own words in each language."""


@dataclass(frozen=True)
class Side:
    """One picture of a sample, as an address calls it, and what is said below it."""

    side: str
    edit_model: str = ""
    """Empty for the source."""
    numbers: tuple[tuple[str, str], ...] = ()
    """(whose where that is not clear, how much)"""


@dataclass(frozen=True)
class Look:
    """One sample to look at: two pictures of it, and why."""

    title: Text
    every: str
    """Where all of this kind are."""
    judge: str
    """Where there are several."""
    sample: str
    instruction: Both
    sides: tuple[Side, ...]
    href: str
    """Opens exactly these two."""
    count: int = 0
    """Of failures of this kind."""
    status: str = ""
    reason: str = ""


@dataclass(frozen=True)
class _Pictures:
    """How samples and their edits are named."""

    samples: Mapping[str, Sample]
    several: bool
    """Whether a model has more than one edit of a sample."""
    judges: int

    def edit(self, edit_model: str, edit_seed: int = 0, numbers: tuple[tuple[str, str], ...] = ()) -> Side:
        return Side(edit_side(edit_model, edit_seed, several=self.several), edit_model, numbers)

    def look(self, title: Text, every: str, sample: str, sides: tuple[Side, ...], judge: str = "", **more: Any) -> Look:
        found = self.samples[sample]
        words = both(lambda one: found.instructions.get(one) or found.instruction or found.id)
        left, right = sides[0].side, sides[-1].side
        href = link(judge=judge, sample=sample, left=left, right=right)
        return Look(title, every, judge if self.judges > 1 else "", sample, words, sides, href, **more)


_SOURCE = Side("source")


def verdict_told(results: Results, summary: Mapping[str, Any]) -> dict[str, Any]:
    """What the template is told: who wins, the list of all, the pairs, `triage`, and what to know of them."""
    pictures = _Pictures(
        {sample.id: sample for sample in results.samples},
        any(edit.edit_seed for edit in results.edits),
        len(results.judges) + len(results.battle_judges),
    )
    found = verdicts(summary)
    comparison = summary["comparison"] or {}
    compared = preferences(summary)
    said: list[Verdict | Preference] = [*found, *compared]
    several = len(said) > 1
    places = {name: place for place, name in enumerate(results.edit_models)}
    return {
        "headline": joint_headline(said) if several else said[0].headline() if said else None,
        "said": [(one.judge, one.sentence()) for one in said] if several else [],
        "rest": Text("{:. }.", [said[0].rest()]) if len(said) == 1 and said[0].first and said[0].rest() else None,
        "verdicts": [_of_judge(one, several, pictures, places) for one in found],
        "standings": standings_table(found, summary, results.edit_models)
        if said and len(results.edit_models) > 1
        else None,
        "pairs": sum(len(one.pairs) for one in found),
        "triage": _triage(found, results, summary, pictures),
        "people": _people(summary),
        "wrong": wrong_lines(summary),
        "tests": comparison.get("tests"),
        "comparison_notes": [note_words(note) for note in comparison.get("notes", ())],
    }


def _of_judge(one: Verdict, several: bool, pictures: _Pictures, places: Mapping[str, int]) -> dict[str, Any]:
    names = {column.name: column.name for column in one.columns}
    return {
        "judge": one.judge,
        "controls": one.controls() if one.sees and (one.columns or not several) else None,  # else in the sentence
        "sees": one.sees,
        "passport": one.passport(),
        "matrix": matrix_table(one, places, several=pictures.several) if len(one.columns) > 2 else None,
        "pairs": [
            replace(columns_table(one.columns), label=Text("Rank by {}", one.judge)),
            replace(pairs_table(one.pairs, several=pictures.several), label=Text("Pairs by {}", one.judge)),
        ]
        if one.pairs
        else [],
        "remarks": failure_remarks(one.pairs, names),
    }


def _people(summary: Mapping[str, Any]) -> dict[str, Any] | None:
    """What people would say."""
    people = people_in(summary)
    if people is None:
        return None
    lines = zip(people.pairs, sentences(people), strict=True)
    return {
        "pairs": [(words, pair_lines(people, pair)[1:]) for pair, words in lines],
        "explanation": explanation(people),
    }


def _triage(found: Sequence[Verdict], results: Results, summary: Mapping[str, Any], pictures: _Pictures) -> list[Look]:
    """A row of samples to look at first: of each kind the most telling one, then the next, each sample once."""
    digits = {one.judge: one.parts[0].digits for one in found}
    of_judges = [_worst(one, summary, pictures) for one in found], [_disputed(one, pictures) for one in found]
    kinds = [[look for some in zip_longest(*of) for look in some if look] for of in of_judges]
    kinds += [
        list(_apart(summary, pictures, digits)),
        list(_contradicted(results, pictures)),
        list(_failed(summary, pictures)),
    ]
    shown: dict[str, Look] = {}
    left = [list(some) for some in kinds]
    while any(left) and len(shown) < _LOOKS:
        for some in left:
            look = next((one for one in some if one.sample not in shown), None)
            some[:] = [one for one in some if one is not look and one.sample not in shown]
            if look:
                shown[look.sample] = look
    order = list(dict.fromkeys(look.title for some in kinds for look in some))
    return sorted(list(shown.values())[:_LOOKS], key=lambda look: order.index(look.title))


def _worst(one: Verdict, summary: Mapping[str, Any], pictures: _Pictures) -> Iterator[Look]:
    every = link(judge=one.judge, sort="worst")
    for found in summary["extremes"]["worst"].get(one.judge, ()):
        score = "", formats.score(found["score"], one.parts[0].digits)
        edit = pictures.edit(found["edit_model"], found["edit_seed"], (score,))
        yield pictures.look(Text("Worst scores"), every, found["sample_id"], (_SOURCE, edit), one.judge)


def _disputed(one: Verdict, pictures: _Pictures) -> Iterator[Look]:
    """The samples on which two models are furthest apart."""
    digits, every = one.parts[0].digits, link(judge=one.judge, sort="models")
    largest = [(pair, sample) for pair in one.pairs for sample in pair.largest]
    for pair, sample in sorted(largest, key=lambda both: -abs(both[1].difference))[:_LOOKS]:
        sides = tuple(
            pictures.edit(name, 0, (("", formats.score(score, digits)),))
            for name, score in ((pair.a, sample.a), (pair.b, sample.b))
        )
        yield pictures.look(Text("Models differ most"), every, sample.sample_id, sides, one.judge)


def _apart(summary: Mapping[str, Any], pictures: _Pictures, digits: Mapping[str, int]) -> Iterator[Look]:
    for found in summary["extremes"]["judges_apart"]:
        numbers = tuple((judge, formats.score(score, digits[judge])) for judge, score in found["scores"].items())
        edit = pictures.edit(found["edit_model"], found["edit_seed"], numbers)
        yield pictures.look(Text("Judges differ most"), link(sort="answers"), found["sample_id"], (_SOURCE, edit))


def _contradicted(results: Results, pictures: _Pictures) -> Iterator[Look]:
    """Of each judge that compares the first battles that it decided by the order."""
    for judge in results.battle_judges:
        headline = results.scoring[judge].headline
        mine = (one for one in results.battles if one.judge == judge and fought(one, headline) is Fought.CONTRADICTION)
        for one in islice(mine, _LOOKS):
            sides = tuple(pictures.edit(name, one.edit_seed) for name in (one.edit_model, one.other))
            every = link(outcome=Fought.CONTRADICTION.value)
            yield replace(
                pictures.look(Text("Contradictions"), every, one.sample_id, sides),
                judge=judge if pictures.judges > 1 else "",
            )


def _failed(summary: Mapping[str, Any], pictures: _Pictures) -> Iterator[Look]:
    """One of each of the most frequent kinds of failure."""
    kinds: Sequence[Mapping[str, Any]] = sorted(summary["failures"], key=lambda one: -one["count"])
    for kind in kinds[:_LOOKS]:
        fighters = _fighters(kind, summary)
        sides = (_SOURCE, pictures.edit(kind["edit_model"])) if kind["edit_model"] else (_SOURCE,)
        if fighters:
            sides = pictures.edit(fighters[0]), pictures.edit(fighters[1])
        status = name_of("status", kind["status"])
        yield pictures.look(
            Text("Without a score"),
            to_failures(kind, summary.get("battles") or ()),
            kind["samples"][0],
            sides,
            kind["judge"] or "",
            count=kind["count"],
            status=status,
            reason=kind["reason"],
        )


def _fighters(kind: Mapping[str, Any], summary: Mapping[str, Any]) -> tuple[str, str] | None:
    """The two edit models of a battle that failed; None for any other failure."""
    of = (summary.get("battles") or {}).get(kind["judge"])
    pairs = next(iter(of["scores"].values()))["pairs"] if of else ()
    return next(((one["a"], one["b"]) for one in pairs if f"{one['a']} : {one['b']}" == kind["edit_model"]), None)
