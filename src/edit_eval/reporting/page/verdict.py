"""The verdict as the page has it: who wins by each judge, and the pictures to look at first.

All numbers are those of the summary (`comparison`, `extremes`, `failures`), and every one leads to its samples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from edit_eval.records import Results, Sample
from edit_eval.reporting import formats
from edit_eval.reporting.comparison import failure_remarks, note_words
from edit_eval.reporting.comparison_tables import columns_table, pairs_table
from edit_eval.reporting.links import edit_side, link, to_failures
from edit_eval.reporting.names import LANGUAGES, name_of
from edit_eval.reporting.people_differences import explanation, pair_lines, people_in, sentences
from edit_eval.reporting.remarks import wrong_lines
from edit_eval.reporting.verdict import Verdict, verdicts
from edit_eval.statistics.extremes import SHOWN

Both = dict[str, str]
"""Something that has its own words in each language."""


@dataclass(frozen=True)
class Look:
    """One sample to look at: two pictures of it, and why."""

    sample: str
    instruction: Both
    sides: tuple[str, str]
    """The pictures, called as in an address."""
    href: str
    """Opens exactly these two."""
    numbers: tuple[tuple[str, str], ...] = ()
    """(whose, how much)"""
    count: int = 0
    """Of failures of this kind, and `more` is a link to all of them."""
    more: str = ""
    status: Both | None = None
    reason: str = ""


@dataclass(frozen=True)
class _Pictures:
    """How samples and their edits are named."""

    samples: Mapping[str, Sample]
    several: bool
    """Whether a model has more than one edit of a sample."""

    def edit(self, edit_model: str, edit_seed: int = 0) -> str:
        return edit_side(edit_model, edit_seed, several=self.several)

    def look(self, sample: str, sides: tuple[str, str], *, judge: str | None = None, **more: Any) -> Look:
        left, right = sides
        found = self.samples[sample]
        words = {one: found.instructions.get(one) or found.instruction or found.id for one in LANGUAGES}
        return Look(sample, words, sides, link(judge=judge, sample=sample, left=left, right=right), **more)


def verdict_told(results: Results, summary: Mapping[str, Any]) -> dict[str, Any]:
    """What the template is told: `verdicts`, one for each judge, `apart`, `failed`, and what to know of them."""
    pictures = _Pictures(
        {sample.id: sample for sample in results.samples}, any(edit.edit_seed for edit in results.edits)
    )
    found = verdicts(summary)
    digits = {one.judge: one.parts[0].digits for one in found}
    comparison = summary["comparison"] or {}
    return {
        "verdicts": [_of_judge(one, summary, pictures) for one in found],
        "apart": list(_apart(summary, pictures, digits)),
        "failed": list(_failed(summary, pictures)),
        "people": _people(summary),
        "wrong": _by_line(lambda one: wrong_lines(summary, one)),
        "tests": comparison.get("tests"),
        "comparison_notes": [_both(partial(note_words, note)) for note in comparison.get("notes", ())],
    }


def _both(words_in: Callable[[str], str]) -> Both:
    return {one: words_in(one) for one in LANGUAGES}


def _of_judge(one: Verdict, summary: Mapping[str, Any], pictures: _Pictures) -> dict[str, Any]:
    names = {column.name: column.name for column in one.columns}
    return {
        "judge": one.judge,
        "sentence": _both(one.sentence),
        "controls": _both(one.controls) if one.sees and one.columns else None,  # else they are in the sentence
        "sees": one.sees,
        "passport": _by_line(one.passport),
        "columns": columns_table(one.columns) if one.columns else None,
        "pairs": pairs_table(one.pairs, several=pictures.several) if one.pairs else None,
        "remarks": _by_line(lambda language: failure_remarks(one.pairs, names, language)),
        "worst": list(_worst(one, summary, pictures)),
        "disputed": list(_disputed(one, pictures)),
    }


def _by_line(lines_in: Callable[[str], Sequence[str]]) -> list[Both]:
    """Each line in every language."""
    lines = {one: lines_in(one) for one in LANGUAGES}
    return [dict(zip(lines, line, strict=True)) for line in zip(*lines.values(), strict=True)]


def _people(summary: Mapping[str, Any]) -> dict[str, Any] | None:
    """What people would say."""
    people = people_in(summary)
    if people is None:
        return None
    lines = zip(people.pairs, sentences(people), strict=True)
    return {
        "pairs": [(said, pair_lines(people, pair)[1:]) for pair, said in lines],
        "explanation": explanation(people),
    }


def _worst(one: Verdict, summary: Mapping[str, Any], pictures: _Pictures) -> Iterator[Look]:
    for found in summary["extremes"]["worst"].get(one.judge, ()):
        sides = "source", pictures.edit(found["edit_model"], found["edit_seed"])
        score = found["edit_model"], formats.score(found["score"], one.parts[0].digits)
        yield pictures.look(found["sample_id"], sides, judge=one.judge, numbers=(score,))


def _disputed(one: Verdict, pictures: _Pictures) -> Iterator[Look]:
    """The samples on which two models are furthest apart, each once."""
    every = [(pair, sample) for pair in one.pairs for sample in pair.largest]
    shown: set[str] = set()
    for pair, sample in sorted(every, key=lambda both: -abs(both[1].difference)):
        if sample.sample_id in shown:
            continue
        shown.add(sample.sample_id)
        digits = one.parts[0].digits
        numbers = (pair.a, formats.score(sample.a, digits)), (pair.b, formats.score(sample.b, digits))
        sides = pictures.edit(pair.a), pictures.edit(pair.b)
        yield pictures.look(sample.sample_id, sides, judge=one.judge, numbers=numbers)
        if len(shown) == SHOWN:
            return


def _apart(summary: Mapping[str, Any], pictures: _Pictures, digits: Mapping[str, int]) -> Iterator[Look]:
    for found in summary["extremes"]["judges_apart"]:
        sides = "source", pictures.edit(found["edit_model"], found["edit_seed"])
        numbers = tuple((judge, formats.score(score, digits[judge])) for judge, score in found["scores"].items())
        yield pictures.look(found["sample_id"], sides, numbers=numbers)


def _failed(summary: Mapping[str, Any], pictures: _Pictures) -> Iterator[Look]:
    """One of each of the most frequent kinds of failure."""
    kinds: Sequence[Mapping[str, Any]] = sorted(summary["failures"], key=lambda one: -one["count"])
    for kind in kinds[:SHOWN]:
        sides = "source", pictures.edit(kind["edit_model"]) if kind["edit_model"] else "source"
        yield pictures.look(
            kind["samples"][0],
            sides,
            judge=kind["judge"],
            numbers=tuple((name, "") for name in (kind["edit_model"], kind["judge"]) if name),
            count=kind["count"],
            more=to_failures(kind),
            status=_both(partial(name_of, "status", kind["status"])),
            reason=kind["reason"],
        )
