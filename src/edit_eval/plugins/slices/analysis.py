"""Slices: groups of samples in which an edit model does better or worse than elsewhere, by itself or against another.

`edit-eval slices`, and a section of every report. All slices that are looked at are one family (`overlapping.py`): what
is said to stand out would stand out by chance in at most 5 of 100 evaluations in which no slice differs, however many
there are.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import msgspec
import numpy as np

from edit_eval.config.faults import did_you_mean
from edit_eval.errors import ConfigurationError
from edit_eval.json_values import JsonObject
from edit_eval.plugins.slices.attributes import QUANTITIES, SHARES, VALUES, Attributes, attributes_of
from edit_eval.plugins.slices.overlapping import GroupTest, large_enough, overlapping_groups
from edit_eval.records import Results, Sample, Scale
from edit_eval.reporting import formats
from edit_eval.reporting.analyses import RUNS_AS_ONE, Analysis, ChartStyle, RunRecords, SampleGroup
from edit_eval.reporting.entries import link
from edit_eval.reporting.formats import format_signed, format_signed_span
from edit_eval.reporting.language import translate
from edit_eval.reporting.names import score_line
from edit_eval.reporting.table import Column, Line, Look, Sheet, Table
from edit_eval.reporting.terminal_text import one_line
from edit_eval.statistics.columns import ScoreColumn, columns_of_models
from edit_eval.statistics.families import Correction
from edit_eval.statistics.intervals import FEWEST_CLUSTERS, BoolArray, IntArray, cluster_codes
from edit_eval.statistics.series import gain, mean
from edit_eval.statistics.summary import context_of_run
from edit_eval.text import Text, join_texts

if TYPE_CHECKING:
    from edit_eval.reporting.chart_parts import AnyChart

# -- document --


LEAST = 8
"""Fewest samples in a slice, unless told otherwise."""
LISTED = 5
"""Slices listed at each end, and pictures named of each."""


class Condition(msgspec.Struct, frozen=True, order=True):
    """What the samples of a slice have in common: a value of an attribute."""

    attribute: str
    """Its name (`category`, `width`, ...)."""
    value: str
    """In words, or the range of a quantity."""
    bound: float | None = None
    """Of a quantity, the last value that belongs to it; None for words."""


class Slice(msgspec.Struct, frozen=True, kw_only=True):
    """Samples that have one or two things in common, against all others."""

    conditions: tuple[Condition, ...]
    samples: int
    """Samples with a score (of both edit models), of `of`."""
    of: int
    """All its samples."""
    images: int
    """Their source images."""
    mean: float
    """Mean score, or mean difference from the other edit model; above 0 is better."""
    elsewhere: float
    """The same over all other samples."""
    difference: float
    """Better than elsewhere above 0, worse below, whatever the score's direction."""
    ci95: list[float] | None
    """Of the difference; those of all slices looked at hold together."""
    p_adjusted: float
    """For all slices tested."""
    shown: Literal["better", "worse"] | None
    """Whether the difference is more than chance; None if not."""
    examples: tuple[str, ...]
    """Samples that lie furthest to its side, at most five."""
    ids: tuple[str, ...]
    """All its samples."""


class Slices(msgspec.Struct, frozen=True, kw_only=True):
    """The document of the analysis `slices`."""

    edit_model: str
    against: str
    """The edit model that it is held against; empty if it is held against itself elsewhere."""
    judge: str
    score: str
    scale: Scale
    samples: int
    """Samples with a score (of both edit models), of `of`."""
    of: int
    """All samples."""
    images: int
    mean: float | None
    """Over all samples: the mean score, or the mean difference."""
    looked_at: int
    """Slices tested."""
    least: int
    """Samples that each had at least."""
    combined: bool
    """True if every two attributes were looked at together, too."""
    pictures: bool
    """True if sources and edits were opened for what they look like."""
    unread: int
    """Samples with a picture that could not be opened."""
    correction: Correction
    best: tuple[Slice, ...]
    """Where it is best, the best first."""
    worst: tuple[Slice, ...]
    """Where it is worst, the worst first."""
    best_shown: int
    """See `worst_shown`."""
    worst_shown: int
    """How many slices are shown to be better, or worse, than the rest; more than are listed, perhaps."""


# -- verb --


class SlicesAnalysis(Analysis[Slices]):
    """Where an edit model does better or worse than elsewhere.

    By itself, or against another edit model, of this run or of another one: by category, tags, language, what the
    instruction asks for, what source and edit look like, and what measures say. Corrected for all slices looked at.
    """

    @dataclass(frozen=True)
    class Parameters:
        edit_model: str | None = field(default=None, metadata={"metavar": "NAME"})
        """Edit model to look at. Default: the only edit model, or the one with the best mean."""
        against: str | None = field(default=None, metadata={"metavar": "NAME"})
        """Another edit model, to look at the differences; `none` for none. Default: the second best."""
        judge: str | None = field(default=None, metadata={"metavar": "JUDGE"})
        """Judge whose scores to use. Default: the first that counts in the verdict."""
        score: str | None = field(default=None, metadata={"metavar": "NAME"})
        """Which of its scores. Default: its headline."""
        combined: bool = False
        """Also look at attributes two by two: finds more, with less certainty."""
        labels_only: bool = False
        """Open no picture: leave out brightness, colours, sharpness, shape and the share of pixels changed."""
        least: int = LEAST
        """Fewest samples in a slice."""

    title = Text("Where it wins and loses")
    chart_title = Text("Against all other samples")
    document: ClassVar[type[Slices]] = Slices
    sources = RUNS_AS_ONE
    caption = Text("Dot: how much better than elsewhere. Line: interval that holds for all slices together.")

    def select_parameters(self, records: RunRecords) -> Sequence[Mapping[str, Any]]:
        """One section for each judge, without opening a picture; the verb looks at pictures, too."""
        sections = []
        for judge in records.results.judges:
            chosen = self._fill_parameters(records, self.Parameters(judge=judge, labels_only=True))
            if enough_images(records.results, judge):
                sections.append(vars(chosen))
        return sections

    def compute(self, records: RunRecords, parameters: Parameters) -> Slices:
        """Raises `ConfigurationError` for names that are not in the run, and for too few source images."""
        chosen = self._fill_parameters(records, parameters)
        return slices(
            records.results,
            chosen.edit_model or "",
            "" if chosen.against in (None, "none") else chosen.against,
            chosen.judge or "",
            chosen.score,
            least=chosen.least,
            combined=chosen.combined,
            pictures=not chosen.labels_only,
            columns=_columns(records, chosen.score),
        )

    def _fill_parameters(self, records: RunRecords, parameters: Parameters) -> Parameters:
        """Fills in what is not given: the first judge with a say, its best edit model, the second best."""
        results = records.results
        if not results.judges:
            raise ConfigurationError(Text("{} has no judge that scores one edit at a time", results.name))
        if parameters.least < FEWEST_CLUSTERS:
            raise ConfigurationError(Text("--least {}: must be at least {}", parameters.least, FEWEST_CLUSTERS))
        judge = parameters.judge or _default_judge(results)
        order = self._best_first(records, judge, parameters.score)
        model = parameters.edit_model or next((name for name in order if name != parameters.against), "")
        other = parameters.against or next((name for name in order if name != model), None)
        return self.Parameters(
            model, other, judge, parameters.score, parameters.combined, parameters.labels_only, parameters.least
        )

    @staticmethod
    def _best_first(records: RunRecords, judge: str, score: str | None) -> list[str]:
        results = records.results
        if judge not in results.judges:
            return list(results.edit_models)  # `compute` says so
        known = {}
        for column in _columns(records, score):
            if column.judge == judge and (value := _column_mean(column)) is not None:
                known[column.edit_model] = gain(column.scale) * value
        return sorted(known, key=lambda name: -known[name]) or list(results.edit_models)

    def heading(self, document: Slices) -> Text:
        return title_of(document)

    def sheet(self, document: Slices) -> Sheet:
        rows = [_Row(document, slice_) for slice_ in (*document.worst, *reversed(document.best))]
        return [
            Line(score_line(document.score, document.scale), "quiet"),
            Line(_finding_sentence(document), "strong" if document.best_shown or document.worst_shown else ""),
            *([_table(document, rows)] if rows else []),
            *(Line(line, "quiet") for line in _lines(document)),
        ]

    def charts(self, documents: Sequence[Slices], style: ChartStyle) -> Sequence[Any]:
        from edit_eval.reporting.chart_parts import chart_title  # only a page needs it

        drawn = [document for document in documents if document.best or document.worst]
        charts = [_chart(document, style.language) for document in drawn]
        titles = [chart_title(translate(Text("judged by {}", document.judge), style.language)) for document in drawn]
        return [
            chart.properties(title=title) if len(drawn) > 1 else chart
            for chart, title in zip(charts, titles, strict=True)
        ]

    def groups(self, document: Slices) -> Sequence[SampleGroup]:
        return [
            SampleGroup(group_key(document, slice_), slice_name(slice_), slice_.ids)
            for slice_ in (*document.worst, *document.best)
        ]

    def rows(self, document: Slices) -> Sequence[JsonObject]:
        return [
            {
                "slice": " and ".join(f"{part.attribute}: {part.value}" for part in slice_.conditions),
                "samples": slice_.samples,
                "of": slice_.of,
                "images": slice_.images,
                "mean": slice_.mean,
                "elsewhere": slice_.elsewhere,
                "difference": slice_.difference,
                "low": slice_.ci95[0] if slice_.ci95 else None,
                "high": slice_.ci95[1] if slice_.ci95 else None,
                "p_adjusted": slice_.p_adjusted,
                "shown": slice_.shown or "",
                "examples": " ".join(slice_.examples),
            }
            for slice_ in (*document.worst, *document.best)
        ]


def _default_judge(results: Results) -> str:
    """Returns the first judge that has given a score and is not known to be blind to controls; else the first."""
    sees = context_of_run(results).sees
    scored = {judgement.judge for judgement in results.judgements if judgement.scores}
    return next(
        (judge for judge in results.judges if judge in scored and sees.get(judge) != "not_last"), results.judges[0]
    )


def _columns(records: RunRecords, score: str | None) -> list[ScoreColumn]:
    return records.columns if score is None else columns_of_models(records.results, score)


def _column_mean(column: ScoreColumn) -> float | None:
    """Returns the mean that ranks it: over samples or categories, as its scale says; None without a score."""
    samples = sorted(column.scores)
    return mean(np.array([column.scores[sample] for sample in samples], dtype=np.float64), column.groups(samples))


# -- computation --


def slices(
    results: Results,
    edit_model: str,
    against: str,
    judge: str,
    score: str | None = None,
    *,
    least: int = LEAST,
    combined: bool = False,
    pictures: bool = False,
    columns: Sequence[ScoreColumn] | None = None,
) -> Slices:
    """Looks for the slices in which an edit model differs from the rest by most. `against`: another one, or empty.

    By the judge's headline, or its `score`; `columns` are those of `columns_of_models`, if they are at hand. Raises
    `ConfigurationError` for names that are not in the run, and if it has too few source images for any slice.
    """
    _check(edit_model, results.edit_models, "--edit-model")
    _check(judge, results.judges, "--judge")
    if against:
        _check(against, results.edit_models, "--against")
        if against == edit_model:
            raise ConfigurationError(Text("--against {}: is the same edit model; leave it out", against))
    by_model = {
        column.edit_model: column
        for column in (columns_of_models(results, score) if columns is None else columns)
        if column.judge == judge
    }
    if not by_model:
        raise ConfigurationError(Text("--judge {}: gives no score {!r}", judge, score))
    a, b = by_model[edit_model], by_model.get(against)
    asked = [sample for sample in results.samples if sample.id in a.scores and (b is None or sample.id in b.scores)]
    known = [sample for sample in asked if _value(a, b, sample) is not None]
    clusters = cluster_codes([sample.cluster or sample.id for sample in known])
    images = int(clusters.max(initial=-1)) + 1
    if images < 2 * FEWEST_CLUSTERS:
        raise ConfigurationError(
            Text(
                "{}: slices need {} source images with a score, six inside and six outside; there are {}",
                results.name,
                2 * FEWEST_CLUSTERS,
                images,
            )
        )
    values = np.array([_value(a, b, sample) for sample in known], dtype=np.float64) * gain(a.scale)
    attributes = attributes_of(results, asked, edit_model, pictures=pictures, without=judge)
    there = np.array([_value(a, b, sample) is not None for sample in asked], dtype=bool)
    groups = _groups(attributes, there, clusters, least, combined)
    members = np.array([group[there] for group in groups.values()], dtype=bool).reshape(len(groups), len(known)).T
    tested = overlapping_groups(values, clusters, members, seed=_seed(results, edit_model, against, judge))
    every = [
        _slice(conditions, group, test, asked, known, values, clusters, there)
        for (conditions, group), test in zip(groups.items(), tested.tests, strict=True)
    ]
    best, worst = _select_slices(every, 1), _select_slices(every, -1)
    return Slices(
        edit_model=edit_model,
        against=against,
        judge=judge,
        score=a.score,
        scale=a.scale,
        samples=len(known),
        of=len(asked),
        images=images,
        mean=_mean(values) * gain(a.scale) if not against else _mean(values),
        looked_at=len(every),
        least=least,
        combined=combined,
        pictures=pictures,
        unread=attributes.unread,
        correction=tested.correction,
        best=tuple(best[:LISTED]),
        worst=tuple(worst[:LISTED]),
        best_shown=sum(slice_.shown == "better" for slice_ in every),
        worst_shown=sum(slice_.shown == "worse" for slice_ in every),
    )


def enough_images(results: Results, judge: str) -> bool:
    """True if the judge scored edits of enough source images, by every edit model, for a slice and its rest."""
    clusters = {sample.id: sample.cluster or sample.id for sample in results.samples}
    seen: dict[str, set[str]] = {name: set() for name in results.edit_models}
    for judgement in results.judgements:
        if judgement.judge == judge and judgement.score is not None:
            seen[judgement.edit_model].add(clusters[judgement.sample_id])
    return len(set.intersection(*seen.values())) >= 2 * FEWEST_CLUSTERS if seen else False


def _check(name: str, known: Sequence[str], flag: str) -> None:
    if name not in known:
        meant = did_you_mean(name, known) or Text("; there are: {}", list(known))
        raise ConfigurationError(Text("{} {}: not in this run{}", flag, name, meant))


def _value(a: ScoreColumn, b: ScoreColumn | None, sample: Sample) -> float | None:
    first = a.scores[sample.id]
    if b is None or first is None:
        return first
    second = b.scores[sample.id]
    return None if second is None else first - second


def _mean(values: np.ndarray) -> float:
    return float(values.mean())


def _seed(results: Results, *names: str) -> int:
    """Returns the seed of the draws, the same for the same data, so that a number is the same whenever it is read."""
    seeded_by = "\n".join([*names, *(sample.id for sample in results.samples)])
    return int.from_bytes(hashlib.sha256(seeded_by.encode("utf-8", "surrogatepass")).digest()[:8])


Groups = dict[tuple[Condition, ...], BoolArray]


def _groups(attributes: Attributes, there: BoolArray, clusters: IntArray, least: int, combined: bool) -> Groups:
    """Returns the slices that are large enough, by their conditions: of equal ones, or of two that are each other's
    rest, the first. With `combined` what two of them share, too, where that is a part of both."""
    groups: Groups = {}
    seen: set[bytes] = set()

    def take(conditions: tuple[Condition, ...], group: BoolArray) -> None:
        inside = group[there]
        if inside.tobytes() in seen or (~inside).tobytes() in seen:
            return
        if large_enough(inside[:, None], clusters, least)[0]:
            seen.add(inside.tobytes())
            groups[conditions] = group

    single = {(Condition(*name),): group for name, group in attributes.members().items()}
    # Of two that are each other's rest the smaller one is named: "in Chinese", not "in Latin letters".
    for conditions, group in sorted(single.items(), key=lambda item: int(item[1].sum())):
        take(conditions, group)
    if combined:
        for (first, of_first), (second, of_second) in combinations(list(groups.items()), 2):
            if first[0].attribute != second[0].attribute or first[0].attribute in ("tag", "operation", "object"):
                take((*first, *second), of_first & of_second)
    return groups


def _slice(
    conditions: tuple[Condition, ...],
    group: BoolArray,
    test: GroupTest,
    asked: Sequence[Sample],
    known: Sequence[Sample],
    values: np.ndarray,
    clusters: IntArray,
    there: BoolArray,
) -> Slice:
    inside = [int(at) for at in np.flatnonzero(group[there])]
    side = 1 if test.difference > 0 else -1
    furthest = sorted(inside, key=lambda at: (-side * values[at], known[at].index))
    return Slice(
        conditions=conditions,
        samples=len(inside),
        of=int(group.sum()),
        images=len(set(clusters[inside].tolist())),
        mean=test.mean,
        elsewhere=test.elsewhere,
        difference=test.difference,
        ci95=test.ci95,
        p_adjusted=test.p_adjusted,
        shown=None if not test.shown else "better" if side > 0 else "worse",
        examples=tuple(known[at].id for at in furthest[:LISTED]),
        ids=tuple(sample.id for sample, has in zip(asked, group, strict=True) if has),
    )


def _select_slices(every: Sequence[Slice], side: int) -> list[Slice]:
    """Returns the slices of one side, the surest first; a combination only where it is surer than each of its parts."""
    of_side = [slice_ for slice_ in every if slice_.difference * side > 0]
    alone = {slice_.conditions[0]: _sureness(slice_) for slice_ in every if len(slice_.conditions) == 1}
    conclusions = [
        slice_
        for slice_ in of_side
        if len(slice_.conditions) == 1 or _sureness(slice_) > max(alone.get(part, 0.0) for part in slice_.conditions)
    ]
    return sorted(conclusions, key=lambda conclusion: (-_sureness(conclusion), conclusion.conditions))


def _sureness(slice_: Slice) -> float:
    """Returns the difference in units of its interval: larger is surer."""
    return 0.0 if slice_.ci95 is None else abs(slice_.difference) / (slice_.ci95[1] - slice_.ci95[0])


# -- words --


GIVEN: Mapping[str, Callable[[str], Text]] = {
    "category": lambda value: Text("category {}", value),
    "difficulty": lambda value: Text("difficulty {}", value),
    "tag": lambda value: Text("tag {}", value),
}
"""How a value is named that the benchmark has given."""


class _Row(NamedTuple):
    of: Slices
    at: Slice


def title_of(document: Slices) -> Text:
    """Says who is looked at, by whom."""
    if document.against:
        return Text("{} against {}, judged by {}", document.edit_model, document.against, document.judge)
    return Text("{}, judged by {}", document.edit_model, document.judge)


def slice_name(slice_: Slice) -> Text:
    """Returns what the samples of a slice have in common."""
    return join_texts([condition_name(part) for part in slice_.conditions], " + ")


def condition_name(condition: Condition) -> Text:
    """Returns one condition in words."""
    known = VALUES.get((condition.attribute, condition.value))
    if known is not None:
        return known
    if condition.bound is not None:
        low, quantity = SHARES[condition.value] < 0.5, QUANTITIES.get(condition.attribute)
        of = condition.attribute if quantity is None else quantity.low if low else quantity.high
        bound = f"{condition.bound:.3g}" if abs(condition.bound) < 1000 else f"{condition.bound:.0f}"
        return Text("{}, up to {}", of, bound) if low else Text("{}, {} or more", of, bound)
    return GIVEN[condition.attribute](condition.value)


def group_key(document: Slices, slice_: Slice) -> str:
    """Returns the name of a slice in the page's address: short, and the same for the same slice."""
    said = "\n".join([document.judge, *(f"{part.attribute}:{part.value}" for part in slice_.conditions)])
    return f"slice-{zlib.crc32(said.encode('utf-8', 'surrogatepass')):08x}"


def _finding_sentence(document: Slices) -> Text:
    if not document.looked_at:
        return Text("No slice has {} samples and six source images, inside and outside.", document.least)
    if not document.best_shown and not document.worst_shown:
        return Text(
            "None of {} slices is shown to differ from the rest; those that differ most are below.", document.looked_at
        )
    return Text(
        "Of {} slices, shown to be worse than the rest: {}; better: {}.",
        document.looked_at,
        document.worst_shown,
        document.best_shown,
    )


def _look(row: _Row) -> Look:
    return {"better": "right", "worse": "wrong", None: ""}[row.at.shown]  # type: ignore[return-value]


def _table(document: Slices, rows: list[_Row]) -> Table[_Row]:
    digits = formats.decimals(document.scale, max(abs(row.at.mean) for row in rows))
    shows = format_signed if document.against else formats.score
    columns: list[Column[_Row]] = [
        Column(
            Text("Slice"), lambda row: slice_name(row.at), "name", to=lambda row: link(group=group_key(row.of, row.at))
        ),
        Column(Text("Samples"), lambda row: f"{row.at.samples}/{row.at.of}"),
        Column(Text("Images"), lambda row: str(row.at.images), roomy=True),
        Column(
            Text("Lead here") if document.against else Text("Mean"), lambda row: shows(row.at.mean, digits), spare=True
        ),
        Column(
            Text("Lead elsewhere") if document.against else Text("Elsewhere"),
            lambda row: shows(row.at.elsewhere, digits),
            spare=True,
        ),
        Column(Text("Better +, worse −"), lambda row: format_signed(row.at.difference, digits), look=_look),
        Column(Text("Interval"), lambda row: format_signed_span(row.at.ci95, digits)),
        Column(Text("p"), lambda row: formats.p_value(row.at.p_adjusted), spare=True),
        Column(Text("Shown"), _verdict_word, "word"),
        *map(_example, range(3)),
    ]
    return Table(columns, rows, label=title_of(document), style="ranks")


def _example(place: int) -> Column[_Row]:
    """Returns the column of one of the samples to look at."""

    def name(row: _Row) -> str:
        return row.at.examples[place] if place < len(row.at.examples) else ""

    def link_of(row: _Row) -> str:
        return link(group=group_key(row.of, row.at), sample=name(row)) if name(row) else ""

    return Column(Text("See") if not place else "", name, "name", to=link_of, roomy=True)


def _verdict_word(row: _Row) -> Text:
    return {"better": Text("better"), "worse": Text("worse"), None: Text("not shown")}[row.at.shown]


def _lines(document: Slices) -> Iterator[Text]:
    if document.looked_at:
        yield from _how_to_read(document)
    if document.samples < document.of:
        yield Text(
            "{} of {} samples have a score; the others are in no slice's mean, but in its count.",
            document.samples,
            document.of,
        )
    if document.unread:
        yield Text("{} samples have a picture that could not be opened.", document.unread)
    if not document.pictures:
        yield Text("`edit-eval slices RUN` looks at the pictures, too; `--combined` at every two attributes together.")


def _how_to_read(document: Slices) -> Iterator[Text]:
    correction = document.correction
    if document.against:
        yield Text(
            "Lead: of {} over {}; below 0 it trails. Elsewhere: on all other samples.",
            document.edit_model,
            document.against,
        )
    else:
        yield Text("Elsewhere: the mean of all other samples.")
    yield Text(
        "Shown, and the intervals of all slices together: by {}; samples of one source image are dealt out together. "
        "Slices overlap, so several may be one weakness.",
        correction.describe_tests(),
    )


# -- chart --


_LINE = 22


def _chart(document: Slices, language: str) -> AnyChart:
    import altair as alt  # only a page needs it

    from edit_eval.reporting.chart_parts import LayeredChart, chart_of_rows

    every = [*document.worst, *reversed(document.best)]
    digits = formats.decimals(document.scale, max(abs(slice_.mean) for slice_ in every))
    rows: list[JsonObject] = [
        {
            "slice": one_line(translate(slice_name(slice_), language)),
            "difference": slice_.difference,
            "low": slice_.ci95[0] if slice_.ci95 else None,
            "high": slice_.ci95[1] if slice_.ci95 else None,
            "label": format_signed(slice_.difference, digits),
            "span": format_signed_span(slice_.ci95, digits),
            "samples": slice_.samples,
            "shown": slice_.shown is not None,
        }
        for slice_ in every
    ]
    names = [one_line(translate(slice_name(slice_), language)) for slice_ in every]
    base = chart_of_rows(rows, "slice", names, _LINE).encode(
        opacity=alt.condition("datum.shown", alt.value(1), alt.value(0.45)),
        tooltip=[
            alt.Tooltip("slice:N", title=" "),
            alt.Tooltip("label:N", title=translate(Text("Better +, worse −"), language)),
            alt.Tooltip("span:N", title=translate(Text("Interval"), language)),
            alt.Tooltip("samples:Q", title=translate(Text("Samples"), language)),
        ],
    )
    title = translate(Text("worse than elsewhere ← 0 → better"), language)
    zero = alt.Chart({"values": [{"at": 0}]}).mark_rule(strokeWidth=1, strokeDash=[3, 3])
    chart: AnyChart = LayeredChart(
        zero.encode(x=alt.X("at:Q")),
        base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title=title), x2=alt.X2("high:Q")),
        base.mark_point(size=64, filled=True).encode(x=alt.X("difference:Q")),
    )
    return chart
