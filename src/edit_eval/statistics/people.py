"""Does a judge, or any other number, order edits as people do?"""

from __future__ import annotations

import csv
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from edit_eval.errors import ConfigurationError
from edit_eval.records import Results
from edit_eval.statistics.intervals import FloatArray, IntArray, bootstrap_interval, cluster_codes
from edit_eval.statistics.panel import panel
from edit_eval.statistics.ranks import levels, midranks, weighted_correlation
from edit_eval.statistics.series import Series, gain, series_of

FEWEST = 4
"""Edits of a model below which its correlation says nothing: Fisher's z has the variance 1 / (n - 3)."""

Item = tuple[str, int]
"""A sample's id and the edit seed: which edit of a model it is."""
Scores = Mapping[str, Mapping[Item, float]]
"""For each edit model the score of its edits."""


@dataclass(frozen=True)
class PersonScore:
    """What one person says of one edit, on any scale on which higher is better: only the order matters."""

    sample_id: str
    edit_model: str
    score: float
    rater: str = ""
    edit_seed: int = 0
    score_name: str = ""
    """The judges' score that it is to be held against; empty: whichever is looked at."""


def read_people_file(path: Path) -> list[PersonScore]:
    """Reads the people's scores of a CSV file, see `read_people_scores`.

    Raises `ConfigurationError` for a file that is not there or no CSV in UTF-8, too.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return read_people_scores(file, str(path))
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be read ({error.strerror or error})") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path}: is not UTF-8 ({error.reason}); save it as CSV in UTF-8") from error
    except csv.Error as error:
        raise ConfigurationError(f"{path}: is no CSV ({error})") from error


def read_people_scores(lines: Iterable[str], where: str = "the people's scores") -> list[PersonScore]:
    """Reads CSV with the columns `sample_id`, `edit_model`, `score` and, if wanted, `rater`, `edit_seed`, `score_name`.

    `where` names the file in errors. Raises `ConfigurationError` for a missing column, a score that is no
    finite number, and a second score of the same name for the same edit by the same rater.
    """
    reader = csv.DictReader(line.removeprefix("\ufeff") for line in lines)
    missing = [name for name in ("sample_id", "edit_model", "score") if name not in (reader.fieldnames or ())]
    if missing:
        raise ConfigurationError(f"{where}: the first line does not name the column {missing[0]!r}")
    found: dict[PersonScore, PersonScore] = {}
    for row in reader:
        place = f"{where}, line {reader.line_num}"
        try:
            score, edit_seed = float(row["score"] or ""), int(row.get("edit_seed") or 0)
        except ValueError:
            raise ConfigurationError(
                f"{place}: score {row['score']!r} and edit seed {row.get('edit_seed')!r} must be numbers"
            ) from None
        if not math.isfinite(score):
            raise ConfigurationError(f"{place}: the score {row['score']!r} is no finite number")
        entry = PersonScore(
            sample_id=row["sample_id"] or "",
            edit_model=row["edit_model"] or "",
            score=score,
            rater=row.get("rater") or "",
            edit_seed=edit_seed,
            score_name=row.get("score_name") or "",
        )
        key = replace(entry, score=0.0)
        if key in found:
            kind = f"score {entry.score_name!r}" if entry.score_name else "score"
            raise ConfigurationError(
                f"{place}: a second {kind} for sample {entry.sample_id!r} of {entry.edit_model!r}"
                f" by {entry.rater or 'the same person'!r}"
            )
        found[key] = entry
    return list(found.values())


def people_agreement(
    results: Results, people: Sequence[PersonScore], *, score: str | None = None, resamples: int = 1_000
) -> dict[str, Any]:
    """`{"judges": {NAME: agreement}, "median", "raters", "people", "scores", "unmatched"}`, as plain data.

    Each judge's headline, or its `score` of that name (its mean over repeats, turned round where lower is better),
    against the mean over people, as in `rank_agreement`; `median` is the same for the median of several judges, None
    where there is none (`panel`). A person's score with a name counts for the judges' score of that name alone.
    `raters` is the mean agreement of two people over all pairs of them, in the same measure: what a judge can be
    compared with (where the judges' headlines have different names: about the first judge's); None with one person.
    `people` counts them, `scores` their scores that are used, `unmatched` the lines about other edits and other scores.
    Raises `ConfigurationError` when that is all of them, and for a `score` that no judge gives.
    """
    series = series_of(results, score)
    known = {(edit.edit_model, edit.sample_id, edit.edit_seed) for edit in results.edits}
    names = {of.score for of in series.values()}
    usable = [row for row in people if (row.edit_model, row.sample_id, row.edit_seed) in known]
    usable = [row for row in usable if row.score_name in names | {""}]
    if not usable:
        raise ConfigurationError(_nothing_matches(people, known, names))
    sources = {sample.id: sample.cluster for sample in results.samples}

    def agreement(run: Results, judge: str, of: Series) -> dict[str, Any]:
        scores = mean_scores(
            (found.edit_model, found.sample_id, found.edit_seed, gain(of.scale) * found.scores[of.score])
            for found in run.judgements
            if found.judge == judge and of.score in found.scores
        )
        crowd = mean_scores(map(_row, _about(usable, of.score)))
        return rank_agreement(scores, crowd, sources, resamples=resamples)

    together = panel(results, score)
    by_rater: dict[str, list[PersonScore]] = {}
    for row in _about(usable, next(iter(series.values())).score):
        by_rater.setdefault(row.rater, []).append(row)
    return {
        "judges": {judge: agreement(results, judge, of) for judge, of in series.items()},
        "median": agreement(together.results, *next(iter(series_of(together.results).items()))) if together else None,
        "raters": between_raters([mean_scores(map(_row, by_rater[rater])) for rater in sorted(by_rater)]),
        "people": len({row.rater for row in usable}),
        "scores": len(usable),
        "unmatched": len(people) - len(usable),
    }


def _about(people: Sequence[PersonScore], score: str) -> list[PersonScore]:
    return [row for row in people if row.score_name in ("", score)]


def _row(one: PersonScore) -> tuple[str, str, int, float]:
    return one.edit_model, one.sample_id, one.edit_seed, one.score


def _nothing_matches(
    people: Sequence[PersonScore], known: Collection[tuple[str, str, int]], names: Collection[str]
) -> str:
    if not people:
        return "there is not one score of people"
    row, (edit_model, sample, edit_seed) = people[0], min(known, default=("", "", 0))
    if any((one.edit_model, one.sample_id, one.edit_seed) in known for one in people):
        theirs, ours = (", ".join(sorted(some)) for some in ({one.score_name for one in people}, names))
        return f"not one of {len(people)} scores of people is about {ours}; they are about {theirs}"
    return (
        f"not one of {len(people)} scores of people is about an edit of this run; the first is about {row.sample_id!r} "
        f"by {row.edit_model!r} (edit seed {row.edit_seed}), an edit of this run is {sample!r} by {edit_model!r} "
        f"(edit seed {edit_seed})"
    )


def mean_scores(rows: Iterable[tuple[str, str, int, float]]) -> dict[str, dict[Item, float]]:
    """The mean of all scores of each edit, from rows of (edit model, sample's id, edit seed, score)."""
    collected: dict[str, dict[Item, list[float]]] = {}
    for edit_model, sample, edit_seed, score in rows:
        collected.setdefault(edit_model, {}).setdefault((sample, edit_seed), []).append(score)
    return {
        edit_model: {item: math.fsum(scores) / len(scores) for item, scores in items.items()}
        for edit_model, items in collected.items()
    }


def rank_agreement(
    one: Scores, other: Scores, sources: Mapping[str, str] | None = None, *, resamples: int = 1_000
) -> dict[str, Any]:
    """`{"spearman", "ci95", "edit_models": {NAME: {"n", "spearman"}}}` over the edits that both have scored.

    Spearman's rank correlation within each edit model, so that a judge gets no credit for knowing which
    models are good on the whole; then the mean through Fisher's z, tanh(mean(atanh(r))) (Fisher, Metron 1,
    1921; as VIEScore does, arXiv 2312.14867). A model with fewer than four shared edits, or one whose scores
    are all equal, has no correlation (None) and does not count. A correlation closer to 1 than 1 - 1 / n
    counts as that, for the z of 1 is infinite and would outweigh all others.

    The interval resamples source images, the same for all models; `sources` gives each sample's cluster.
    Without `sources` every sample is taken for a source of its own.
    """
    shared = {
        edit_model: sorted(item for item in items if item in other[edit_model])
        for edit_model, items in one.items()
        if edit_model in other
    }
    samples = sorted({sample for items in shared.values() for sample, _ in items})
    codes = cluster_codes([sample if sources is None else sources[sample] for sample in samples])
    place = {sample: position for position, sample in enumerate(samples)}
    models = {
        edit_model: _Ranked(
            levels(np.array([one[edit_model][item] for item in items], dtype=np.float64)),
            levels(np.array([other[edit_model][item] for item in items], dtype=np.float64)),
            np.array([place[sample] for sample, _ in items], dtype=np.int64),
        )
        for edit_model, items in shared.items()
        if items
    }
    every_sample_once = np.ones(len(samples))
    return {
        "spearman": _mean_correlation(models, every_sample_once),
        "ci95": bootstrap_interval(lambda weights: _mean_correlation(models, weights), codes, resamples=resamples),
        "edit_models": {
            edit_model: {"n": len(ranked.samples), "spearman": ranked.spearman(every_sample_once)}
            for edit_model, ranked in models.items()
        },
    }


def between_raters(raters: Sequence[Scores]) -> dict[str, Any] | None:
    """`{"spearman", "raters"}`: the mean over all pairs of people, through Fisher's z; None for one."""
    found = [rank_agreement(one, other, resamples=0)["spearman"] for one, other in combinations(raters, 2)]
    known = [correlation for correlation in found if correlation is not None]
    if not known:
        return None
    mean = math.fsum(math.atanh(correlation) for correlation in known) / len(known)  # none of them is 1
    return {"spearman": math.tanh(mean), "raters": len(raters)}


@dataclass(frozen=True)
class _Ranked:
    """The scores of one edit model's edits by two instruments, as levels, and the sample of each edit."""

    one: IntArray
    other: IntArray
    samples: IntArray

    def spearman(self, weights_of_samples: FloatArray) -> float | None:
        weights = weights_of_samples[self.samples]
        if len(weights) < FEWEST:
            return None
        return weighted_correlation(midranks(self.one, weights), midranks(self.other, weights), weights)


def _mean_correlation(models: Mapping[str, _Ranked], weights_of_samples: FloatArray) -> float | None:
    transformed = []
    for ranked in models.values():
        correlation = ranked.spearman(weights_of_samples)
        if correlation is not None:
            limit = 1 - 1 / len(ranked.samples)
            transformed.append(math.atanh(min(limit, max(-limit, correlation))))
    return math.tanh(math.fsum(transformed) / len(transformed)) if transformed else None
