"""What judges agree on, as the JSON that a reader gets, and the sheet of such JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from documents import plain
from edit_eval.plugins.agreement import people
from edit_eval.plugins.agreement.analysis import AgreementAnalysis, cards_of, compare_judges
from edit_eval.plugins.agreement.document import JudgesAgreement
from edit_eval.plugins.agreement.two_raters import Pairs
from edit_eval.records import Results, Scale, Scoring, Status
from edit_eval.reporting.analyses import RunRecords
from edit_eval.reporting.table import Sheet
from edit_eval.statistics.votes import Rating


def judges_document(run: Results, *, score: str | None = None) -> dict[str, Any]:
    """All of it, without people."""
    records = RunRecords(run)
    document: dict[str, Any] = plain(AgreementAnalysis().compute(records, AgreementAnalysis.Parameters(score=score)))
    return document


def judge_agreement(run: Results, *, score: str | None = None, resamples: int = 1_000) -> dict[str, Any]:
    """Cards, and judges with each other, by fewer resamples."""
    between = compare_judges(run, score, resamples=resamples)
    return {"judges": plain(cards_of(run, score)), "between_judges": plain(between)}


def people_agreement(run: Results, ratings: Sequence[Rating], **how: Any) -> dict[str, Any]:
    """Judges beside people."""
    document: dict[str, Any] = plain(people.people_agreement(run, ratings, **how))
    return document


def sheet_of(document: dict[str, Any]) -> Sheet:
    """The sheet of that JSON, as it is read back."""
    return AgreementAnalysis().sheet(msgspec.convert(document, JudgesAgreement))


UP = Scoring(protocol="p", headline="score", scales={"score": Scale(lowest=0, highest=10)})
LOSS = Scoring(protocol="q", headline="loss", scales={"loss": Scale(lowest=0, higher_is_better=False)})


def two_judges(make_sample, make_results, *, samples=60, models=("a", "b", "c", "d"), missing=(), scoring=UP):
    """`new` is 1.5 above `old` and noisy; of models in `missing` the new one has scored nothing."""
    generator = np.random.default_rng(3)
    every = [make_sample(n) for n in range(samples)]
    rows = {}
    for place, model in enumerate(models):
        truth = generator.uniform(0, 7, samples) + 0.3 * place
        rows[model, "old"] = [[float(value)] for value in truth]
        seen = np.clip(truth + 1.5 + generator.normal(0, 0.5, samples), 0, 10)
        rows[model, "new"] = [[Status.PENDING if model in missing else float(value)] for value in seen]
    return make_results(every, rows, scoring=scoring)


def drawn(images: int, each: int, noise: float, seed: int = 1, models: int = 4) -> Pairs:
    """Targets that are a bent map of the scores, with noise that belongs to the image."""
    generator = np.random.default_rng(seed)
    clusters = np.repeat(np.arange(images), each)
    scores = generator.uniform(0, 10, images * each).round()
    targets = scores**2 / 10 + noise * generator.normal(size=images)[clusters]
    return Pairs(scores, targets, clusters, [f"m{n % models}" for n in range(images * each)])
