"""The summary document as entries for the report, one for each (edit model, judge, score), complete or not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from edit_eval.benchmarks.contract import CATEGORIES, canonical
from edit_eval.records import Scale
from edit_eval.reporting import formats
from edit_eval.statistics.aggregates import Aggregate, Coverage
from edit_eval.statistics.controls import BesideEdits, ControlNumbers
from edit_eval.statistics.summary import GroupNumbers, Result, ScoreNumbers, Summary


@dataclass(frozen=True)
class Entry:
    """The results of one score of one edit model by one judge."""

    edit_model: str
    judge: str
    score: str
    leads: bool
    """True if it is the headline of its judge."""
    series: str
    """Name that tells its edit model and judge from the others: the model, the judge, or both."""
    scale: Scale
    digits: int
    """Digits after the point, the same for all edit models under the judge."""
    overall: ScoreNumbers
    """Its block in the summary's `scores`."""

    @property
    def coverage(self) -> Coverage:
        """Of this score."""
        return self.overall.coverage

    @property
    def categories(self) -> Mapping[str, GroupNumbers]:
        """Its numbers by category; none if the benchmark names no category."""
        return self.overall.categories if any(self.overall.categories) else {}

    @property
    def difficulties(self) -> Mapping[str, GroupNumbers]:
        """Its numbers by difficulty."""
        return self.overall.difficulties

    @property
    def tags(self) -> Mapping[str, GroupNumbers]:
        """Its numbers by tag."""
        return self.overall.tags

    @property
    def other_mean_kind(self) -> str:
        """`category_mean` or `sample_mean`: the one that is not the score's own mean; empty without categories."""
        if not self.categories:
            return ""
        return "sample_mean" if self.scale.mean_over == "categories" else "category_mean"

    def number(self, value: float | None) -> str:
        """Writes a score, or a value in its points."""
        return formats.score(value, self.digits)

    def span(self, ends: Sequence[float | None] | None) -> str:
        """Writes two of them as an interval."""
        return formats.span(ends, self.digits)

    def worst_to_best(self, block: Aggregate) -> str:
        """Writes the mean with missing scores at either end of the scale; a dash if none is missing."""
        return formats.NOTHING if block.coverage.complete else formats.worst_to_best(block, self.scale, self.digits)


@dataclass(frozen=True)
class ScoreChoice:
    """The entries that a reader looks at together: one score of each judge."""

    score: str
    """Empty for the headline of each judge."""
    names: tuple[str, ...]
    """Names of the scores."""
    parts: tuple[Entry, ...]


def series_names(pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Returns for each (edit model, judge) the shortest name that tells it from the others."""
    one_judge = len({judge for _, judge in pairs}) < 2
    one_model = len({edit_model for edit_model, _ in pairs}) < 2
    return {
        (edit_model, judge): edit_model if one_judge else judge if one_model else f"{edit_model} · {judge}"
        for edit_model, judge in pairs
    }


def entries(results: Sequence[Result], *, parts: bool = False) -> list[Entry]:
    """Returns every score of a summary's `results`: each judge's headline first, edit models of a score together.

    Parts of a headline, of which there can be many, are left out; with `parts`, only they are returned.
    """
    names = series_names([(entry.edit_model, entry.judge) for entry in results])
    digits = _digits(results)
    judges = list(dict.fromkeys(entry.judge for entry in results))
    made = [
        _entry(entry, score, names[entry.edit_model, entry.judge], digits[entry.judge, score])
        for entry in results
        for score, block in entry.scores.items()
        if parts == block.part and (not parts or block.n)
    ]
    order = {key: place for place, key in enumerate(digits)}
    return sorted(made, key=lambda part: (judges.index(part.judge), not part.leads, order[part.judge, part.score]))


def headlines(parts: Sequence[Entry]) -> list[Entry]:
    """Returns the headline of each (edit model, judge)."""
    return [part for part in parts if part.leads]


def choices(parts: Sequence[Entry]) -> list[ScoreChoice]:
    """Returns the headlines, then every score that is not a headline everywhere, with the judges that have it."""
    leading = headlines(parts)
    others = dict.fromkeys(part.score for part in parts if not part.leads)
    of_headlines = [ScoreChoice("", tuple(dict.fromkeys(part.score for part in leading)), tuple(leading))]
    return of_headlines + [
        ScoreChoice(name, (name,), tuple(part for part in parts if part.score == name)) for name in others
    ]


def category_names(parts: Sequence[Entry]) -> list[str]:
    """Returns the categories of all entries: the five dimensions, then the benchmark's own, each in their order."""
    names = list(dict.fromkeys(name for part in parts for name in part.categories))
    order = {name: place for place, name in enumerate(CATEGORIES)}
    return sorted(names, key=lambda name: order.get(canonical(name), len(order)))


def _entry(entry: Result, score: str, series: str, digits: int) -> Entry:
    block = entry.scores[score]
    return Entry(
        edit_model=entry.edit_model,
        judge=entry.judge,
        score=score,
        leads=score == entry.headline,
        series=series,
        scale=block.scale,
        digits=digits,
        overall=block,
    )


def _digits(results: Sequence[Result]) -> dict[tuple[str, str], int]:
    """Returns how many digits the numbers of each (judge, score) need, in the protocols' order."""
    largest: dict[tuple[str, str], float] = {}
    scales: dict[tuple[str, str], Scale] = {}
    for entry in results:
        for score, block in entry.scores.items():
            key = entry.judge, score
            ends = [abs(end) for end in (block.min, block.max) if end is not None]
            largest[key] = max([largest.get(key, 0.0), *ends])
            scales[key] = block.scale
    return {key: formats.decimals(scales[key], largest[key]) for key in largest}


@dataclass(frozen=True)
class Refusals:
    """An edit model that refused edits."""

    model: str
    count: int
    total: int
    rate: str
    """A share with its 95% interval, if it has one."""


def refusals(summary: Summary) -> list[Refusals]:
    """Returns those that did."""
    return [
        Refusals(
            model=edit.edit_model,
            count=of.count,
            total=of.total,
            rate=formats.rate(of.count, of.total, of.ci95) if of.ci95 else formats.share(of.count, of.total),
        )
        for edit in summary.edits
        for of in [edit.edit_refused]
        if of.count
    ]


@dataclass(frozen=True)
class ControlRow:
    """A judge's scores for one kind of control."""

    kind: str
    """`source`, `blank`, `shuffled`, or a package's."""
    judge: str
    block: ControlNumbers


def controls_of(summary: Summary, judge: str) -> list[ControlRow]:
    """Returns the rows shown above the results of a judge's headline."""
    of_judge = summary.controls.judges.get(judge)
    return [ControlRow(kind, judge, block) for kind, block in of_judge.kinds.items()] if of_judge else []


def judges_without_sight(summary: Summary) -> list[tuple[str, list[tuple[str, BesideEdits]]]]:
    """Returns the judges not shown to put all controls below edits, each with those kinds and their numbers."""
    judges = []
    for judge, controls in summary.controls.judges.items():
        kinds = [
            (kind, block.beside_edits) for kind, block in controls.kinds.items() if block.beside_edits.below is False
        ]
        if kinds:
            judges.append((judge, kinds))
    return judges


# -- links to samples: the fragment of the page's address, read and written by its scripts (`templates/address.js`) --

KEYS = (
    *("model", "judge", "score", "min", "max", "status", "outcome", "category", "difficulty", "tag", "group", "search"),
    *("wrong", "bar", "show", "view", "page"),
    *("sample", "left", "right", "way", "zoom", "at"),
)
"""Keys of a page's address, in order.

`model` and `judge` are names; `score` is one of the judge's scores, by default its headline; `min` and `max` bound it.
`status` is a status of the records; `outcome` is that of a battle (`preferred`, `tie`, `contradiction`, `missing`);
`category`, `difficulty` and `tag` are the benchmark's, and a `group` is an analysis's (`Analysis.groups`). `wrong`
keeps samples that `all` edit models got wrong, `none`, or `only:NAME`: an edit is wrong if it was not made, or its
score is on the worse side of `bar` (by default the middle of the scale, or the mean of all on an open scale). `show` is
`all`, `models` or `judges` (those that differ, the furthest apart first), `failed` (an edit or a score is missing),
`worst` or `best` (that one first); `view` is how cards are drawn, and `page` which of them. `sample` opens the sample
with that id, with the picture `left` beside the picture `right`:
`source`, `source:2` for a second one, `reference`, `mask`, `edit:MODEL`, or `edit:MODEL:N` for the Nth edit seed, from
0, of a model with several edits of a sample. `way` is `beside`, `slider`, `difference` or `flip`. `zoom` is the number
of screen pixels per pixel of the larger picture, and `at` the point in the middle, such as `0.5,0.25` of its width and
height; without them the whole picture is shown.
"""


def link(**state: object) -> str:
    """Returns a link to `state`, such as `#model=A&judge=J&status=failed`; None and empty values are left out.

    All values are escaped. An empty state links to all samples. Raises `TypeError` for a key unknown to the page (see
    `KEYS`).
    """
    unknown = sorted(set(state) - set(KEYS))
    if unknown:
        raise TypeError(f"no address has {', '.join(unknown)}; it may have {', '.join(KEYS)}")
    said = [(key, str(state[key])) for key in KEYS if state.get(key) not in (None, "")]
    return f"#{urlencode(said, errors='replace')}" if said else "#show=all"


def link_to_part(part: Entry, **more: object) -> str:
    """Returns a link to the samples of a score of an edit model by a judge; `more` narrows them down."""
    score = None if part.leads else part.score
    return link(model=part.edit_model, judge=part.judge, score=score, **more)


def edit_side(edit_model: str, edit_seed: int, *, several: bool) -> str:
    """Returns the name of an edit as one of two pictures; with its edit seed if a sample has `several`."""
    return f"edit:{edit_model}:{edit_seed}" if several else f"edit:{edit_model}"
