"""Preference pairs of edits of one sample: which edit is the better one, by whom, and how often that is wrong.

A pair is taken only where it is shown: people voted for one of the two, or the margin between two edits is larger than
the noise of the judge that gives it (its repeats in this run, or the retest of its passport). What failed is in none.
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import msgspec
import numpy as np

from edit_eval.config.faults import did_you_mean
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.pairs.noise import Noise, estimate_wrong_pairs
from edit_eval.records import Edit, Results, Sample, Status
from edit_eval.statistics.intervals import cluster_codes
from edit_eval.statistics.raters import judge_records, judges_of, retest
from edit_eval.statistics.series import gain, series_of
from edit_eval.statistics.summary import context_of_run
from edit_eval.statistics.votes import Vote
from edit_eval.text import Text

PEOPLE = "people"


class EditOf(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two edits."""

    edit_model: str
    edit_seed: int
    image: str
    """Path of its picture, relative to the run directory, or absolute."""
    scores: dict[str, float]
    """Its mean score by each judge that gave one."""


class PreferencePair(msgspec.Struct, frozen=True, kw_only=True):
    """Two edits of one sample, the better one first."""

    sample: str
    instruction: str
    source: str
    """Path of the source image."""
    chosen: EditOf
    rejected: EditOf
    by: tuple[str, ...]
    """Who prefers the chosen one, beyond their own noise: judges, or `people`."""
    margin: float
    """Between the two by the first of the judges, in its points, above 0; the share of votes for people, .5 to 1."""
    agree: int
    """Families of judges among these."""


class JudgeOfPairs(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a judge that gives preferences."""

    judge: str
    score: str
    noise_sd: float | None
    """Standard deviation of one answer, in points; None if it is not known: then it gives no preference."""
    noise_from: str
    """`repeats`, `passport`, or empty."""
    pairs: int
    """Pairs that it prefers."""
    wrong: float | None
    """Expected share of its pairs that its noise has reversed; None if it gives none, or never answers differently."""
    wrong_ci95: list[float] | None


class PreferencePairs(msgspec.Struct, frozen=True, kw_only=True):
    """The document of the analysis `pairs`."""

    pairs: tuple[PreferencePair, ...]
    compared: int
    """Pairs of edits with a score or a vote on both."""
    samples: int
    """Samples with a pair, of `of`."""
    of: int
    agree: int
    per_sample: int
    left_out: int
    """Samples that were left out for being in the other set, or near copies of its pictures."""
    opposed: int
    """Pairs that no preference is taken from, since judges or people contradict each other."""
    judges: tuple[JudgeOfPairs, ...]
    people: int
    """Pairs by people."""
    unfit: tuple[str, ...] = ()
    """Judges that do not clearly score edits above controls: heard only if they are named."""
    licence: str
    """Of the benchmark's pictures; empty if it is not known."""


@dataclass(frozen=True)
class _Rater:
    """A judge, and what is needed to hear it."""

    judge: str
    score: str
    sign: float
    family: str
    noise: Noise | None
    values: Mapping[tuple[str, str, int], list[float]]
    """Its scores of each edit: sample, edit model, edit seed."""

    def mean(self, edit: Edit) -> float | None:
        of = self.values.get(_address(edit))
        return math.fsum(of) / len(of) if of else None

    def margin(self, a: Edit, b: Edit) -> tuple[float, float] | None:
        """Returns by how much a is better than b, and the standard error of that by its noise."""
        mean_a, mean_b = self.mean(a), self.mean(b)
        if mean_a is None or mean_b is None or self.noise is None:
            return None
        counts = len(self.values[_address(a)]), len(self.values[_address(b)])
        return self.sign * (mean_a - mean_b), self.noise.sd * math.sqrt(math.fsum(1 / count for count in counts))


def _address(edit: Edit) -> tuple[str, str, int]:
    return edit.sample_id, edit.edit_model, edit.edit_seed


def find_preference_pairs(
    results: Results,
    votes: Sequence[Vote] = (),
    *,
    judges: Sequence[str] = (),
    agree: int = 1,
    per_sample: int = 1,
    margin: float = 0.0,
    left_out: Iterable[str] = (),
) -> PreferencePairs:
    """Returns the preference pairs of a run, or of several read as one.

    `judges`: those that are heard, by default all that score one edit, but for those that are known not to score edits
    above pictures that are none (`Known.sees`). `agree`: how many families of judges must prefer
    the same edit, each beyond its own noise; people's votes alone are enough. `per_sample`: at most so many of each
    sample, those with the largest margins. `margin`: the least, in points. `left_out`: ids of samples that give none.
    Raises `ConfigurationError` for unknown judges, and if nobody's preference can be told from noise.
    """
    for name in judges:
        if name not in results.judges:
            meant = did_you_mean(name, results.judges) or Text("; there are: {}", list(results.judges))
            raise ConfigurationError(Text("--judges {}: not in this run{}", name, meant))
    sees, said, results = context_of_run(results).sees, _votes(votes), results.unique_results
    unfit = tuple(name for name in results.judges if sees.get(name) == "not_last")
    heard = [_rater(results, name) for name in judges or results.judges if name in judges or name not in unfit]
    if not said and not heard and unfit:
        raise ConfigurationError(
            Text(
                "{}: {: and } does not clearly score edits above pictures that are no edits (the controls), so nothing "
                "can be learned from its preferences; take another judge",
                results.name,
                unfit,
            )
        )
    if not said and not any(rater.values for rater in heard):
        raise ConfigurationError(Text("{}: nothing is scored or voted on, so there is no preference", results.name))
    if not said and not any(rater.noise for rater in heard):
        raise ConfigurationError(
            Text(
                "{}: no judge's noise is known, so no preference can be told from it; run it with "
                "`evaluation: {{repeats: 2}}`, or `edit-eval audit` the judge",
                results.name,
            )
        )
    families = len({rater.family for rater in heard if rater.noise})
    if agree > max(1, families):
        raise ConfigurationError(
            Text("--agree {}: there are {} families of judges whose noise is known", agree, families)
        )
    without = set(left_out)
    samples = [sample for sample in results.samples if sample.id not in without]
    every = _Every(samples, results.edits, heard, said)
    pairs, opposed = [], 0
    for sample in samples:
        of_sample: list[PreferencePair] = []
        for a, b in every.of[sample.id]:
            preferred = _find_preference(sample, a, b, heard, said.get(_pair(a, b)), agree, margin)
            if isinstance(preferred, PreferencePair):
                of_sample.append(preferred)
            else:
                opposed += preferred == "opposed"
        of_sample.sort(key=lambda pair: (PEOPLE not in pair.by, -pair.agree, -pair.margin))
        pairs += of_sample[:per_sample]
    return PreferencePairs(
        pairs=tuple(pairs),
        compared=sum(map(len, every.of.values())),
        samples=len({pair.sample for pair in pairs}),
        of=len(samples),
        agree=agree,
        per_sample=per_sample,
        left_out=len(results.samples) - len(samples),
        opposed=opposed,
        judges=tuple(_summarise_judge(rater, every, pairs, results) for rater in heard),
        people=sum(PEOPLE in pair.by for pair in pairs),
        unfit=unfit,
        licence=str(results.about.get("licence", "")),
    )


class _Every:
    """All pairs of edits of each sample that can be compared: both made, not the same pixels, each with a score or a
    vote."""

    def __init__(
        self,
        samples: Sequence[Sample],
        edits: Iterable[Edit],
        heard: Sequence[_Rater],
        said: Mapping[frozenset[tuple[str, str, int]], Mapping[tuple[str, str, int], float]],
    ) -> None:
        self.clusters = {sample.id: sample.cluster or sample.id for sample in samples}
        made: dict[str, list[Edit]] = defaultdict(list)
        for edit in edits:
            if edit.status is Status.OK and edit.sample_id in self.clusters:
                made[edit.sample_id].append(edit)
        self.of = {
            sample.id: [
                (a, b)
                for a, b in combinations(made[sample.id], 2)
                if (not a.pixels or a.pixels != b.pixels)
                and (_pair(a, b) in said or any(rater.margin(a, b) is not None for rater in heard))
            ]
            for sample in samples
        }


def _rater(results: Results, judge: str) -> _Rater:
    series = series_of(results)[judge]
    values: dict[tuple[str, str, int], list[float]] = {}
    for judgement in results.judgements:
        if judgement.judge == judge and series.score in judgement.scores:
            values.setdefault((judgement.sample_id, judgement.edit_model, judgement.edit_seed), []).append(
                judgement.scores[series.score]
            )
    recorded = judge_records(results).get(judge) or {}
    parameters = recorded.get("parameters")
    weights = parameters.get("model_name") or parameters.get("model") if isinstance(parameters, Mapping) else None
    return _Rater(judge, series.score, gain(series.scale), str(weights or judge), _noise(results, judge), values)


def _noise(results: Results, judge: str) -> Noise | None:
    """Returns a judge's noise: from answers about the same edit in this run, else from the retest of its passport."""
    answers = list(judges_of(results)[judge].answers.values())
    repeats = retest(answers)
    if repeats is not None and repeats.answers > repeats.edits:
        differences = tuple(of_edit[0] - of_edit[1] for of_edit in answers if len(of_edit) > 1)
        return Noise(repeats.sd, float(repeats.answers - repeats.edits), "repeats", differences)
    examined = results.examined.get(judge)
    spread = examined.retest_sd if examined else None
    return None if spread is None else Noise(spread, math.inf, "passport")


def _pair(a: Edit, b: Edit) -> frozenset[tuple[str, str, int]]:
    return frozenset([_address(a), _address(b)])


def _votes(votes: Sequence[Vote]) -> dict[frozenset[tuple[str, str, int]], dict[tuple[str, str, int], float]]:
    """Returns for each pair that people voted on the share of votes of either edit; ties count half."""
    shares: dict[frozenset[tuple[str, str, int]], dict[tuple[str, str, int], list[float]]] = {}
    for vote in votes:
        if vote.choice == "skip":
            continue
        left, right = ((vote.sample_id, model, vote.edit_seed) for model in (vote.left, vote.right))
        of_pair = shares.setdefault(frozenset([left, right]), {left: [], right: []})
        of_pair[left].append(vote.share_of_left)
        of_pair[right].append(1 - vote.share_of_left)
    return {pair: {edit: math.fsum(of) / len(of) for edit, of in of_pair.items()} for pair, of_pair in shares.items()}


def _find_preference(
    sample: Sample,
    a: Edit,
    b: Edit,
    heard: Sequence[_Rater],
    voted: Mapping[tuple[str, str, int], float] | None,
    agree: int,
    least: float,
) -> PreferencePair | Literal["opposed", "open"]:
    """Returns the pair; `opposed` if those who judged it contradict each other, `open` if nobody prefers either."""
    sides: dict[bool, list[tuple[_Rater, float]]] = {True: [], False: []}
    for rater in heard:
        lead = rater.margin(a, b)
        if lead is None or rater.noise is None:
            continue
        size, error = lead
        if abs(size) > max(float(rater.noise.reach(np.array([error]))[0]), 1e-9) and abs(size) >= least:
            sides[size > 0].append((rater, abs(size)))
    if voted is not None:  # people count above judges
        share = voted[_address(a)]
        if share == 0.5:
            return "opposed" if any(sides.values()) else "open"
        first, by = share > 0.5, [*sides[share > 0.5]]
        margin, names = max(share, 1 - share), (PEOPLE, *(rater.judge for rater, _ in by))
    else:
        if sides[True] and sides[False]:
            return "opposed"
        first = bool(sides[True])
        by = sides[first]
        if not by or len({rater.family for rater, _ in by}) < agree:
            return "open"
        margin, names = by[0][1], tuple(rater.judge for rater, _ in by)
    better, worse = (a, b) if first else (b, a)
    return PreferencePair(
        sample=sample.id,
        instruction=better.instruction or sample.instruction,
        source=sample.source,
        chosen=_edit(better, heard),
        rejected=_edit(worse, heard),
        by=names,
        margin=margin,
        agree=len({rater.family for rater, _ in by}),
    )


def _edit(edit: Edit, heard: Sequence[_Rater]) -> EditOf:
    scores = {rater.judge: mean for rater in heard if (mean := rater.mean(edit)) is not None}
    return EditOf(edit_model=edit.edit_model, edit_seed=edit.edit_seed, image=edit.image, scores=scores)


def _summarise_judge(rater: _Rater, every: _Every, pairs: Sequence[PreferencePair], results: Results) -> JudgeOfPairs:
    """Returns how many pairs a judge prefers, and how many of them its noise is expected to have turned."""
    mine = {
        frozenset([(pair.sample, of.edit_model, of.edit_seed) for of in (pair.chosen, pair.rejected)])
        for pair in pairs
        if rater.judge in pair.by
    }
    wrong = None
    if mine and rater.noise is not None and rater.noise.sd > 0:
        every_margin = [(a, b, size) for of in every.of.values() for a, b in of if (size := rater.margin(a, b))]
        wrong = estimate_wrong_pairs(
            np.array([size for _, _, (size, _) in every_margin]),
            np.array([error for _, _, (_, error) in every_margin]),
            cluster_codes([every.clusters[a.sample_id] for a, _, _ in every_margin]),
            [place for place, (a, b, _) in enumerate(every_margin) if _pair(a, b) in mine],
            rater.noise,
            seed=int.from_bytes(hashlib.sha256(f"{results.name}\n{rater.judge}".encode()).digest()[:8]),
        )
    return JudgeOfPairs(
        judge=rater.judge,
        score=rater.score,
        noise_sd=None if rater.noise is None else rater.noise.sd,
        noise_from="" if rater.noise is None else rater.noise.source,
        pairs=len(mine),
        wrong=None if wrong is None else wrong.share,
        wrong_ci95=None if wrong is None else wrong.ci95,
    )
