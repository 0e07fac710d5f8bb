"""The tables of a comparison: its columns with their ranks, and its pairs with their outcomes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edit_eval.records import Scale
from edit_eval.reporting import formats
from edit_eval.reporting.entries import edit_side, link
from edit_eval.reporting.formats import format_signed, format_signed_span, p_value
from edit_eval.reporting.names import NAMES, short_category
from edit_eval.reporting.result_tables import IMAGES, INTERVAL, MEAN, SCORED
from edit_eval.reporting.table import Column, Table, Words
from edit_eval.statistics.compared import ColumnSummary, Pair
from edit_eval.statistics.summary import Summary
from edit_eval.statistics.verdict import sort_by_place
from edit_eval.text import Text


def digits_of(scale: Scale, means: Sequence[float | None], intervals: Iterable[Sequence[float] | None] = ()) -> int:
    """Returns the digits after the point for all numbers of one judge's score."""
    return formats.decimals(scale, max((abs(mean) for mean in means if mean is not None), default=0.0), intervals)


def comparison_by_judge(summary: Summary) -> list[tuple[str, list[ColumnSummary], list[Pair]]]:
    """Returns a summary's comparison by judge: its name, the columns by rank, the pairs; empty without one."""
    comparison = summary.comparison
    columns, pairs = (comparison.columns, comparison.pairs) if comparison else ((), ())
    return [
        (
            judge,
            sort_by_place([column for column in columns if column.judge == judge]),
            [pair for pair in pairs if pair.judge == judge],
        )
        for judge in dict.fromkeys(column.judge for column in columns)
    ]


# -- columns --


@dataclass(frozen=True)
class Ranked:
    """A column, and the format of its numbers."""

    column: ColumnSummary
    digits: int
    letter: str = ""
    with_model: bool = False
    """True if its name does not include its edit model."""

    @property
    def complete(self) -> bool:
        """True if all its samples are scored."""
        return self.column.scored == self.column.total

    @property
    def coverage_text(self) -> str:
        return f"{self.column.scored}/{self.column.total}"

    @property
    def images(self) -> str:
        return str(self.column.clusters)

    @property
    def mean(self) -> str:
        return formats.score(self.column.mean, self.digits)

    @property
    def interval(self) -> str:
        return formats.span(self.column.ci95, self.digits)

    def link_to_samples(self, **more: object) -> str:
        """Returns a link to its samples."""
        return link(model=self.column.name, judge=self.column.judge, **more)


def _failure_text(row: Ranked) -> str:
    """Returns `23/60 (26–52%)`."""
    failed = row.column.failed
    span = "" if failed.ci95 is None else f" ({'–'.join(f'{100 * end:.0f}' for end in failed.ci95)}%)"
    return f"{failed.count}/{failed.total}{span}"


_LETTER: Column[Ranked] = Column("", lambda row: row.letter, "word", look="strong", when=lambda row: row.letter)
_COLUMN: Column[Ranked] = Column(Text("Edit model"), lambda row: row.column.name, "name", to=Ranked.link_to_samples)
_NAME: Column[Ranked] = Column("", lambda row: row.column.name, "name")
_RANK: Column[Ranked] = Column(Text("Rank"), lambda row: formats.rank(row.column.rank))
COLUMNS: Sequence[Column[Ranked]] = (
    Column(Text("Edit model"), lambda row: row.column.edit_model, "name", when=lambda row: row.with_model),
    SCORED,
    Column(
        Text("Failed"),
        _failure_text,
        look=lambda row: "problem" if row.column.failed.count else "",
        to=lambda row: row.link_to_samples(show="failed") if row.column.failed.count else "",
        when=lambda row: row.column.failed.count,
    ),
    IMAGES,
    MEAN,
    INTERVAL,
)


def columns_table(columns: Sequence[ColumnSummary], letters: Mapping[str, str] | None = None) -> Table[Ranked]:
    """Returns a row for each column: coverage, failures if any, mean, interval, rank; `letters` name them."""
    digits = digits_of(columns[0].scale, [column.mean for column in columns])
    with_models = len({column.edit_model for column in columns}) > 1 and any(
        not column.name.endswith(column.edit_model) for column in columns
    )
    rows = [Ranked(column, digits, (letters or {}).get(column.name, ""), with_models) for column in columns]
    every = (_LETTER, _NAME, *COLUMNS, _RANK) if letters else (_RANK, _COLUMN, *COLUMNS)
    return Table(every=every, rows=rows, label=Text("Rank"), style="ranks", gap=2)


# -- pairs --


@dataclass(frozen=True)
class Compared:
    """A pair, the names of its columns, and the format of its numbers."""

    pair: Pair
    names: Mapping[str, str]
    digits: int
    several: bool = False
    """True if a sample has several edits of a model."""
    estimate: Any = None
    """In a row about a category or another mean, the result there."""
    title: Words = ""

    @property
    def name(self) -> str:
        """`A - B`"""
        return f"{self.names[self.pair.a]} - {self.names[self.pair.b]}"

    @property
    def misses(self) -> bool:
        """True if any score is missing: of a sample, or of one of its edit seeds or repeats."""
        bounds = self.pair.worst_case_difference, self.pair.best_case_difference
        return self.pair.total > 0 and (None in bounds or bounds[0] != bounds[1])

    def link_to_largest(self) -> str:
        """Returns a link to the sample on which the two differ most, side by side."""
        pair = self.pair
        if not pair.largest:
            return link(judge=pair.judge)
        left, right = (edit_side(name, 0, several=self.several) for name in (pair.a, pair.b))
        return link(judge=pair.judge, show="models", sample=pair.largest[0].sample_id, left=left, right=right)

    def link_to_all(self) -> str:
        """Returns a link to all samples, those on which models differ most first."""
        return link(judge=self.pair.judge, show="models")


def verdict(pair: Pair, names: Mapping[str, str]) -> Text:
    """Returns a pair's `Outcome` in a word or two, with a star if missing scores could turn it.

    `A better`; `B fails more` if scores show no difference; `trade` if the one that fails more scores higher;
    `equal ±0.3` within a margin. Otherwise `undecided`; `same on 3` if both score the same on each of 3 samples;
    `too few: 3` or `too uneven` if the source images do not suffice for a test; `no test` without any sample. A dagger
    marks a pair where one may fail more and is not behind in score: `comparison.failure_remarks` has the sentence.
    """
    decision = pair.outcome
    return Text("{}{}{}", outcome(pair, names), "*" * (decision.holds is False), "†" * (decision.failures == "perhaps"))


def outcome(pair: Pair, names: Mapping[str, str]) -> Text:
    """Returns the same without star and dagger."""
    decision = pair.outcome
    if decision.kind == "better":
        return Text("{} better", names[decision.better or ""])
    if decision.kind == "fails_more":
        return Text("{} fails more", names[pair.fails_more or ""])
    if decision.kind == "equal":
        return Text("equal ±{}", f"{decision.margin:g}")
    if decision.why == "identical":
        return Text("same on {}", pair.n)
    if decision.why == "few_images":
        return Text("too few: {}", pair.clusters)
    known = {"trade": Text("trade"), "not_comparable": Text("no test"), "too_uneven": Text("too uneven")}
    return known.get(decision.why or decision.kind, Text("undecided"))


_PAIR: Column[Compared] = Column(Text("Pair"), lambda row: row.name, "name", to=Compared.link_to_largest)
_SHORT_PAIR: Column[Compared] = Column(Text("Pair"), lambda row: row.name, "name")
PAIRS: Sequence[Column[Compared]] = (
    Column("n", lambda row: str(row.pair.n)),
    Column(Text("Images"), lambda row: str(row.pair.clusters)),
    Column(
        Text("Diff."),
        lambda row: format_signed(row.pair.difference, row.digits),
        look="strong",
        to=lambda row: row.link_to_all(),
    ),
    Column(Text("95% interval"), lambda row: format_signed_span(row.pair.ci95, row.digits)),
    Column(Text("p"), lambda row: p_value(row.pair.p)),
    Column(Text("p adj."), lambda row: p_value(row.pair.p_adjusted)),
    Column(Text("Detectable"), lambda row: formats.score(row.pair.detectable, row.digits)),
)
COUNTS: Sequence[Column[Compared]] = (
    Column(Text("Wins"), lambda row: str(row.pair.wins), to=Compared.link_to_all),
    Column(Text("Ties"), lambda row: str(row.pair.ties), to=Compared.link_to_all),
    Column(Text("Losses"), lambda row: str(row.pair.losses), to=Compared.link_to_all),
)
_VERDICT: Column[Compared] = Column(
    Text("Verdict"),
    lambda row: verdict(row.pair, row.names),
    "name",
    look=lambda row: "strong" if row.pair.better else "quiet",
)


def pairs_table(
    pairs: Sequence[Pair], names: Mapping[str, str] | None = None, *, several: bool = False
) -> Table[Compared]:
    """Returns a row for each pair: difference, interval, test, smallest detectable difference, and outcome.

    Without `names` in full, with samples won and lost; otherwise with these names, and `counts_table` has the rest.
    """
    known = names or {name: name for pair in pairs for name in (pair.a, pair.b)}
    every = (_SHORT_PAIR, *PAIRS, _VERDICT) if names else (_PAIR, *PAIRS, *COUNTS, _VERDICT)
    return Table(every=every, rows=_rows(pairs, known, several), label=Text("Pair"), style="pairs", gap=0)


def _rows(pairs: Sequence[Pair], names: Mapping[str, str], several: bool = False) -> list[Compared]:
    means = [mean for pair in pairs for mean in (pair.mean_a, pair.mean_b)]
    digits = digits_of(pairs[0].scale, means, [pair.ci95 for pair in pairs])
    return [Compared(pair, names, digits, several) for pair in pairs]


def _bounds(row: Compared) -> str:
    known = [row.pair.worst_case_difference, row.pair.best_case_difference]
    ends = [bound for bound in known if bound is not None]
    return format_signed_span(ends, row.digits) if row.misses and len(ends) == 2 else formats.NOTHING


def _samples_to_show(row: Compared) -> Words | None:
    needed = row.pair.needed
    if needed is None:
        return None
    samples, images = needed["samples"], needed["clusters"]
    return str(samples) if samples == images else Text("{} ({} images)", samples, images)


def counts_table(pairs: Sequence[Pair], names: Mapping[str, str]) -> Table[Compared]:
    """Returns a row for each pair: samples won, tied and lost, the effect of missing scores, samples still needed."""
    wanted = next((pair.needed["difference"] for pair in pairs if pair.needed), None)
    every: tuple[Column[Compared], ...] = (
        _SHORT_PAIR,
        *COUNTS,
        Column(Text("In both"), lambda row: f"{row.pair.n}/{row.pair.total}"),
        Column(Text("Worst to best"), _bounds, when=lambda row: row.misses),
        Column(Text("To show {}", f"{wanted or 0:g}"), _samples_to_show, when=lambda row: wanted is not None),
    )
    return Table(every=every, rows=_rows(pairs, names), gap=2)


def failures_table(pairs: Sequence[Pair], names: Mapping[str, str]) -> Table[Compared]:
    """Returns a row for each pair: how many edits tried by both failed for each, `3 : 0`, and a test of that."""

    def difference(row: Compared) -> str | None:
        share = row.pair.failures.difference
        return None if share is None else f"{100 * share:+.1f}%"

    every: tuple[Column[Compared], ...] = (
        Column(Text("Failed edits"), lambda row: row.name, "word"),
        Column(Text("Edits", context="number"), lambda row: str(row.pair.failures.total)),
        Column(Text("Images"), lambda row: str(row.pair.failures.clusters)),
        Column(Text("Failed"), lambda row: f"{row.pair.failures.a} : {row.pair.failures.b}"),
        Column(Text("Diff."), difference),
        Column(Text("p"), lambda row: p_value(row.pair.failures.p)),
        Column(
            Text("p adj."),
            lambda row: p_value(row.pair.failures.p_adjusted),
            look=lambda row: "strong" if row.pair.failures.proven else "",
        ),
    )
    return Table(every=every, rows=_rows(pairs, names), gap=2)


_BY_CATEGORY: Sequence[Column[Compared]] = (
    Column(Text("Category"), lambda row: row.title, "name"),
    _SHORT_PAIR,
    Column("n", lambda row: str(getattr(row.estimate, "n", row.pair.n))),
    Column(Text("Images"), lambda row: str(getattr(row.estimate, "clusters", row.pair.clusters))),
    Column(Text("Diff."), lambda row: format_signed(row.estimate.difference, row.digits)),
    Column(Text("95% interval"), lambda row: format_signed_span(row.estimate.ci95, row.digits)),
    Column(Text("p"), lambda row: p_value(row.estimate.p) if hasattr(row.estimate, "p") else ""),
    Column(
        Text("p adj."),
        lambda row: p_value(row.estimate.p_adjusted) if hasattr(row.estimate, "p_adjusted") else "",
        look=lambda row: "strong" if getattr(row.estimate, "is_significant", False) else "",
    ),
)


def categories_table(pairs: Sequence[Pair], categories: Sequence[str], names: Mapping[str, str]) -> Table[Compared]:
    """Returns a row for each category of each pair, and for the other mean (of categories or samples) than its own."""
    other = "sample_mean" if pairs[0].scale.mean_over == "categories" else "category_mean"
    groups: list[tuple[Words, list[tuple[Pair, Any]]]] = [
        (short_category(name), [(pair, pair.categories[name]) for pair in pairs if name in pair.categories])
        for name in categories
    ]
    groups.append((NAMES["mean"][other], [(pair, getattr(pair, other)) for pair in pairs]))
    digits = _rows(pairs, names)[0].digits
    rows = [
        Compared(pair, names, digits, estimate=estimate, title="" if number else title)
        for title, of in groups
        for number, (pair, estimate) in enumerate(of)
    ]
    return Table(every=_BY_CATEGORY, rows=rows)
