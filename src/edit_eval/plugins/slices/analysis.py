"""`edit-eval slices`, and its section of every report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from edit_eval.errors import ConfigurationError
from edit_eval.json_values import JsonObject
from edit_eval.plugins.slices.search import LEAST, Slices, enough_images, slices
from edit_eval.plugins.slices.sheet import group_key, slice_name, slices_sheet, title_of
from edit_eval.records import Results
from edit_eval.reporting.analyses import RUNS_AS_ONE, Analysis, ChartStyle, RunRecords, SampleGroup
from edit_eval.reporting.table import Sheet
from edit_eval.statistics.columns import ScoreColumn, columns_of
from edit_eval.statistics.intervals import FEWEST_CLUSTERS
from edit_eval.statistics.series import gain, mean
from edit_eval.statistics.summary import context_of_run
from edit_eval.text import Text


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
        for column in columns_of(results, {name: {} for name in results.judges}, score=score):
            if column.judge == judge and (value := _mean(column)) is not None:
                known[column.edit_model] = gain(column.scale) * value
        return sorted(known, key=lambda name: -known[name]) or list(results.edit_models)

    def heading(self, document: Slices) -> Text:
        return title_of(document)

    def sheet(self, document: Slices) -> Sheet:
        return slices_sheet(document)

    def charts(self, documents: Sequence[Slices], style: ChartStyle) -> Sequence[Any]:
        from edit_eval.plugins.slices.chart import slices_charts  # only a page needs it

        return slices_charts(documents, style)

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


def _mean(column: ScoreColumn) -> float | None:
    """Returns the mean that ranks it: over samples or categories, as its scale says; None without a score."""
    samples = sorted(column.scores)
    return mean(np.array([column.scores[sample] for sample in samples], dtype=np.float64), column.groups(samples))
