"""The tables of results: scores, categories and controls. A column added to `FIGURES` is in all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from edit_eval.reporting import formats
from edit_eval.reporting.entries import ControlRow, Entry, category_names, link, link_to_part
from edit_eval.reporting.language import recognise
from edit_eval.reporting.names import NAMES, control_name, name_of, scale_words, score_name, short_category
from edit_eval.reporting.table import Column, Table, Words
from edit_eval.statistics.aggregates import Aggregate, Coverage, MeanInterval, says_little
from edit_eval.statistics.failures import FailureGroup
from edit_eval.text import Text, join_texts

# Shared by every table of scores. A row says whether all is scored (`complete`) and links to its samples (`to`).
SCORED: Column[Any] = Column(
    Text("Scored"),
    lambda row: row.coverage_text,
    look=lambda row: "" if row.complete else "problem",
    to=lambda row: row.link_to_samples() if row.complete else row.link_to_samples(show="failed"),
)
IMAGES: Column[Any] = Column(Text("Images"), lambda row: row.images)
MEAN: Column[Any] = Column(
    Text("Mean"), lambda row: row.mean, look="strong", to=lambda row: row.link_to_samples(show="worst")
)
INTERVAL: Column[Any] = Column(Text("95% interval"), lambda row: row.interval)

_MEANS = "mean of categories"
_MEAN = NAMES["mean"]["category_mean"]
_RESULTS = Text("Results")


@dataclass(frozen=True)
class Figures:
    """One row: a score as a whole, one of its categories, or its judge's scores for a kind of control."""

    part: Entry
    block: Aggregate | MeanInterval
    """Of a mean alone, all else is that of its score."""
    control: str = ""
    category: str = ""

    @property
    def coverage(self) -> Coverage:
        """Number scored, and of how many."""
        return self.block.coverage if isinstance(self.block, Aggregate) else self.part.coverage

    @property
    def complete(self) -> bool:
        """True if all are scored."""
        return self.coverage.complete

    def number(self, name: str) -> str:
        """Writes a number of the block in points of the score; empty if the block lacks it."""
        return self.part.number(getattr(self.block, name)) if hasattr(self.block, name) else ""

    def link_to_samples(self, **more: object) -> str:
        """Returns a link to its samples; empty for controls, which have none on the page."""
        narrowed = {"category": self.category} if self.category else {}
        return "" if self.control else link_to_part(self.part, **narrowed, **more)

    @property
    def coverage_text(self) -> str:
        return formats.coverage(self.coverage)

    @property
    def images(self) -> str:
        return formats.images((self.block if isinstance(self.block, Aggregate) else self.part.overall).images)

    @property
    def mean(self) -> str:
        return self.number("mean")

    @property
    def interval(self) -> str:
        """Writes its interval, and of one that says little that pictures are too few."""
        written = self.part.span(self.block.ci95)
        return Text("{}, too few", written) if says_little(self.block, self.part.scale) else written

    def other_mean(self, kind: str) -> MeanInterval | None:
        """Returns its `sample_mean` or `category_mean`, unless that is the score's own mean."""
        return getattr(self.block, kind, None) if kind == self.part.other_mean_kind else None


def _other_mean(kind: str) -> Column[Figures]:
    def shows(row: Figures) -> str:
        mean = row.other_mean(kind)
        return row.part.number(mean.mean) if mean else ""

    def aside(row: Figures) -> str:
        mean = row.other_mean(kind)
        return row.part.span(mean.ci95) if mean and mean.ci95 else ""

    return Column(NAMES["mean"][kind], shows, aside=aside, when=lambda row: row.other_mean(kind), roomy=True)


def _extreme(name: str, title: Text) -> Column[Figures]:
    def link_of(row: Figures) -> str:
        worst = (name == "min") == row.part.scale.higher_is_better
        return row.link_to_samples(show="worst" if worst else "best")

    return Column(title, lambda row: row.number(name), to=link_of, spare=True)


FIGURES: Sequence[Column[Figures]] = (
    SCORED,
    IMAGES,
    MEAN,
    INTERVAL,
    Column(
        Text("Worst to best case"),
        lambda row: row.part.worst_to_best(row.block) if isinstance(row.block, Aggregate) else "",
        when=lambda row: not row.complete,
        short=Text("Worst–best"),
    ),
    _other_mean("category_mean"),
    _other_mean("sample_mean"),
    Column(Text("Std"), lambda row: row.number("std"), spare=True),
    Column(Text("Median"), lambda row: row.number("median"), spare=True),
    _extreme("min", Text("Min")),
    _extreme("max", Text("Max")),
)

SCORE: Column[Figures] = Column(
    Text("Score"),
    lambda row: score_name(row.part.score),
    "name",
    look=lambda row: "strong" if row.part.leads else "",
    aside=lambda row: scale_words(row.part.scale),
)
ITEM = replace(SCORE, title=Text("Item"))
EDIT_MODEL: Column[Figures] = Column(
    Text("Edit model"),
    lambda row: control_name(row.control) if row.control else row.part.edit_model,
    "name",
    to=Figures.link_to_samples,
)
JUDGE: Column[Figures] = Column(Text("Judge"), lambda row: row.part.judge, "name")
MODEL: Column[Figures] = Column(Text("Model"), lambda row: row.part.series, "name")
CATEGORY: Column[Figures] = Column(
    Text("Category"),
    lambda row: name_of("category", row.category),
    "name",
    brief=lambda row: _MEAN if row.category == _MEANS else short_category(row.category),
    to=lambda row: link(category=row.category),
)


def results_table(
    parts: Sequence[Entry],
    controls: Iterable[ControlRow] = (),
    *,
    names: Sequence[Column[Figures]] = (EDIT_MODEL, JUDGE),
    group: Column[Figures] | None = None,
    label: Words = _RESULTS,
) -> Table[Figures]:
    """Returns a row for each edit model by each score of each judge; `controls` above those of a judge's headline."""
    rows: list[Figures] = []
    kinds = list(controls)
    for _, some in groupby(parts, key=lambda part: (part.judge, part.score)):
        of_score = list(some)
        first = of_score[0]
        rows += [Figures(first, kind.block, kind.kind) for kind in kinds if first.leads and kind.judge == first.judge]
        rows += [Figures(part, part.overall) for part in of_score]
    return _table(rows, names, group, label)


def items_table(parts: Sequence[Entry], *, names: Sequence[Column[Figures]] = (EDIT_MODEL, JUDGE)) -> Table[Figures]:
    """Returns the same table for the items that scores are made of."""
    return results_table(parts, names=names, group=ITEM, label=Text("What the scores are made of"))


def categories_table(
    parts: Sequence[Entry], *, names: Sequence[Column[Figures]] = (MODEL,), with_mean: bool = False
) -> Table[Figures]:
    """Returns a row for each category and edit model by one score; `with_mean`, the mean over categories at the end."""
    rows = [
        Figures(part, part.categories[name], category=name)
        for name in category_names(parts)
        for part in parts
        if name in part.categories
    ]
    rows += [Figures(part, part.overall.category_mean, category=_MEANS) for part in (parts if with_mean else ())]
    return _table(rows, names, CATEGORY, Text("Mean score by category"))


def _table(
    rows: Sequence[Figures], names: Sequence[Column[Figures]], group: Column[Figures] | None, label: Words
) -> Table[Figures]:
    return Table(
        every=(*names, *FIGURES),
        rows=rows,
        label=label,
        group=group,
        look=lambda row: "quiet" if row.control else "",
        gap=1 if all(row.complete for row in rows) else 0,
    )


def category_means_table(parts: Sequence[Entry]) -> Table[Entry]:
    """Returns a row for each edit model by one score, with its mean in each category side by side."""
    model: Column[Entry] = Column(Text("Model"), lambda part: part.series, "name", to=link_to_part)
    columns = (_category_mean(name) for name in category_names(parts))
    return Table(every=(model, *columns), rows=parts, label=Text("Mean score by category"), style="matrix")


def _category_mean(name: str) -> Column[Entry]:
    def row(part: Entry) -> Figures | None:
        return Figures(part, part.categories[name], category=name) if name in part.categories else None

    def interval(part: Entry) -> Words:
        if (figures := row(part)) is None:
            return ""
        known = figures.interval if figures.block.ci95 else ""
        scored = "" if figures.complete else Text("{} scored", formats.coverage(figures.coverage))
        return join_texts(filter(None, (known, scored))) if known or scored else ""

    def link_of(part: Entry) -> str:
        return (
            figures.link_to_samples(**{} if figures.complete else {"show": "failed"}) if (figures := row(part)) else ""
        )

    return Column(
        short_category(name),
        lambda part: figures.number("mean") if (figures := row(part)) else None,
        look="strong",
        aside=interval,
        to=link_of,
    )


def failures_table(failed: Sequence[FailureGroup]) -> Table[FailureGroup]:
    """Returns a row for each reason for a missing score."""

    def status(failure: FailureGroup) -> Words:
        name = NAMES["status"][failure.status.value]
        return Text("{}: {}", failure.score, name) if failure.score else name

    return Table(
        every=(
            Column(Text("Count"), lambda failure: str(failure.count)),
            Column(Text("Edit model"), lambda failure: failure.edit_model or None, "name"),
            Column(Text("Judge"), lambda failure: failure.judge or None, "name"),
            Column(Text("Status"), status, "word"),
            Column(Text("Reason"), lambda failure: recognise(failure.reason), "name"),
        ),
        rows=failed,
        label=Text("Failures by reason"),
    )
