"""The means of a run's summary as typed rows, and the choice of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from edit_eval.config.faults import did_you_mean
from edit_eval.errors import ConfigurationError, Unscored
from edit_eval.records import Scale
from edit_eval.statistics.summary import Summary
from edit_eval.text import Text


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanScore:
    """The mean of one score of one edit model by one judge, in the score's points."""

    edit_model: str
    judge: str
    score: str
    """Name in the protocol."""
    headline: bool
    """True if it is the judge's headline: the score used for coverage and comparisons."""
    part: bool
    """True if it is a part of the headline, one criterion of several."""
    value: float | None
    """None if no sample is scored."""
    ci95: tuple[float, float] | None
    """Its 95% interval, clustered on the source image; None if there is none, and then `no_ci95` says why."""
    no_ci95: str
    """`no_scores`, or another code of docs/records.md; empty if there is an interval."""
    ruled_out_share: float | None
    """A kind of image with a larger share would be among these in 95 of 100 evaluations; the interval does not cover
    rarer ones. None without interval."""
    scored: int
    """Judgements that have this score: samples times edit seeds times repeats, less the missing."""
    total: int
    """Judgements that should have it."""
    by_status: Mapping[str, int]
    """Number of them with each status (`ok`, `edit_failed`, `judge_error`, ...)."""
    worst: float | None
    """The mean with everything missing at the worst end of the scale; None if that end is open."""
    best: float | None
    """The same with the best end."""
    scale: Scale

    def __str__(self) -> str:
        """`careful, judged by colour, score: 8.89 [8.60, 9.19], 28 of 28 scored`."""
        shown = "no mean" if self.value is None else f"{self.value:.4g}"
        interval = "" if self.ci95 is None else f" [{self.ci95[0]:.4g}, {self.ci95[1]:.4g}]"
        whose = f"{self.edit_model}, judged by {self.judge}, {self.score}"
        return f"{whose}: {shown}{interval}, {self.scored} of {self.total} scored"

    @property
    def coverage(self) -> float:
        """Share that is scored, 0 to 1; 0 if there is nothing to score."""
        return self.scored / self.total if self.total else 0.0


def means(summary: Summary) -> tuple[MeanScore, ...]:
    """Returns every score of every (edit model, judge), in the order of the configuration and of the protocol."""
    return tuple(
        MeanScore(
            edit_model=entry.edit_model,
            judge=entry.judge,
            score=name,
            headline=name == entry.headline,
            part=block.part,
            value=block.mean,
            ci95=None if block.ci95 is None else (block.ci95[0], block.ci95[1]),
            no_ci95=block.no_ci95 or "",
            ruled_out_share=block.ruled_out_share,
            scored=block.coverage.scored,
            total=block.coverage.total,
            by_status=block.coverage.by_status,
            worst=block.worst_case_mean,
            best=block.best_case_mean,
            scale=block.scale,
        )
        for entry in summary.results
        for name, block in entry.scores.items()
    )


def select_means(
    every: Sequence[MeanScore], edit_model: str | None, judge: str | None, score: str | None
) -> tuple[MeanScore, ...]:
    """Returns the rows with the given names. Raises `ConfigurationError` for an unknown name."""
    rows = tuple(every)
    for kind, name in (("edit_model", edit_model), ("judge", judge), ("score", score)):
        if name is not None:
            there = dict.fromkeys(getattr(row, kind) for row in rows)
            if name not in there:
                meant = did_you_mean(name, there) or Text("; there are: {}", there)
                raise ConfigurationError(Text("{}={!r}: the run has none of that name{}", kind, name, meant))
            rows = tuple(row for row in rows if getattr(row, kind) == name)
    return rows


def the_mean(every: Sequence[MeanScore], edit_model: str | None, judge: str | None, score: str | None) -> float:
    """Returns the one mean that matches; if no score is named, by its judge's headline.

    Raises `ConfigurationError` if there are several, saying what to name, and `Unscored` if nothing is scored.
    """
    rows = [row for row in select_means(every, edit_model, judge, score) if score is not None or row.headline]
    if len(rows) > 1:
        several = next(kind for kind in ("edit_model", "judge") if len({getattr(row, kind) for row in rows}) > 1)
        there = list(dict.fromkeys(getattr(row, several) for row in rows))
        raise ConfigurationError(
            Text(
                "the run has {} {}s: {}; name one, `run.mean({}={!r})`, or take all: `run.means()`",
                len(there),
                several.replace("_", " "),
                there,
                several,
                there[0],
            )
        )
    (row,) = rows
    if row.value is None:
        why = ", ".join(f"{count} {status}" for status, count in row.by_status.items() if count)
        raise Unscored(
            Text(
                "{}, judged by {}: none of {} is scored ({}), so there is no mean",
                row.edit_model,
                row.judge,
                row.total,
                why,
            )
        )
    return row.value
