"""Columns of scores for tests of comparisons: numbers given, or drawn so that the columns share what the items have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from edit_eval.records import Scale
from edit_eval.statistics.columns import ScoreColumn

TEN = Scale(lowest=0, highest=10)
IDENTITY = {"judge": {"name": "qwen3_vl", "params": {"dtype": "bfloat16"}}, "answer": "score", "language": "en"}


def column(
    name: str,
    scores: Sequence[float | None],
    *,
    clusters: Sequence[int] | None = None,
    categories: Sequence[str] | None = None,
    identity: Mapping[str, object] = IDENTITY,
    first: int = 0,
    judge: str = "judge",
    scale: Scale = TEN,
    **more: Any,
) -> ScoreColumn:
    """A column with the samples `s0000`, `s0001`, ... (from `first`), each of a source image of its own."""
    ids = [f"s{index:04d}" for index in range(first, first + len(scores))]
    of_clusters = range(first, first + len(scores)) if clusters is None else clusters
    digests = {key: f"digest-{cluster:04d}" for key, cluster in zip(ids, of_clusters, strict=True)}
    return ScoreColumn(
        name=name,
        judge=judge,
        score="score",
        scale=scale,
        identity=identity,
        scores={key: None if score is None else float(score) for key, score in zip(ids, scores, strict=True)},
        clusters=digests,
        pictures={key: {"source": digest} for key, digest in digests.items()},
        categories=dict(zip(ids, ["all"] * len(ids) if categories is None else categories, strict=True)),
        **more,
    )


def failing(whole: ScoreColumn, numbers: Iterable[int]) -> ScoreColumn:
    """The column with those of its samples failed: no edit, and so no score."""
    names = [f"s{number:04d}" for number in numbers]
    return replace(
        whole,
        scores={sample: None if sample in names else score for sample, score in whole.scores.items()},
        unscored={sample: float(sample in names) for sample in whole.scores},
        failed={sample: {0: sample in names} for sample in whole.scores},
    )


def drawn(seed: int, shift: float = 0.0, count: int = 90) -> list[float]:
    """Scores on the same items: what the items share, and each column's own deviation."""
    shared = np.random.default_rng(1).uniform(3, 7, size=count)
    own = np.random.default_rng(seed).normal(shift, 1.0, size=count)
    return np.round(np.clip(shared + own, 0, 10), 1).tolist()
