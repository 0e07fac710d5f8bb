"""Preference pairs of edits of one sample: which edit is the better one, by whom, and how often that is wrong.

A pair is taken only where it is shown: people voted for one of the two, or the margin between two edits is larger than
the noise of the judge that gives it (its repeats in this run, or the retest of its passport). What failed is in none.

Wrong by a judge's own noise are those whose sign another look would turn. The margin that is seen is a true margin and
noise of a known size. How large true margins are is learned from all margins of the run: their distribution is taken to
be symmetric (which of two edits is the first means nothing), with its peak at 0, a mixture of normal distributions of
many widths, fitted by EM. A pair's chance of being wrong is then the share of its posterior on the other side of 0, the
local false sign rate (Stephens, Biostatistics 18, 2017). Being chosen for a large margin is allowed for by that, since
the chance is given the margin.

That takes noise to be normal. A judge that nearly always repeats itself, and rarely jumps, has noise that is not: then
margins beyond its reach between edits that it scores alike are jumps. Differences of two answers about one edit say how
often these are, beyond what normal noise would give; such a pair is wrong, too (`_jumps`).
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
from scipy.special import ndtr

from edit_eval.config.faults import did_you_mean
from edit_eval.errors import ConfigurationError
from edit_eval.records import Edit, Results, Sample, Status
from edit_eval.statistics.intervals import FloatArray, IntArray, cluster_codes, student_quantile
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
    """Id of the sample."""
    instruction: str
    """Its instruction."""
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
    """95 % interval of `wrong`."""


class PreferencePairs(msgspec.Struct, frozen=True, kw_only=True):
    """The document of the analysis `pairs`."""

    pairs: tuple[PreferencePair, ...]
    compared: int
    """Pairs of edits with a score or a vote on both."""
    samples: int
    """Samples with a pair, of `of`."""
    of: int
    """All samples."""
    agree: int
    """How many families of judges have to prefer the same."""
    per_sample: int
    """At most so many pairs of a sample."""
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
        licence=str(results.provenance.about.get("licence", "")),
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
    examined = results.provenance.examined.get(judge)
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


# -- how many are wrong --


STEPS, FURTHER_STEPS, WIDTHS = 3000, 100, 12
"""Of EM from nothing, and from the fit to all images; widths of the mixture besides 0."""
CELLS = 200
"""Margins that differ by less than this part of the largest are one to the fit."""
DRAWS = 200
"""Times that source images are drawn anew for the interval."""
REPEATS_ITSELF = 0.5
"""Share of margins between edits scored alike that are exactly 0, above which a judge's noise is jumps. Below, 0 is
also what rounding makes of small margins."""
TOGETHER = 100_000
"""Margins of all draws that are fitted at once: a hundred bytes each."""


@dataclass(frozen=True)
class Noise:
    """How far one answer of a judge lies from its mean answer about the same edit."""

    sd: float
    """Standard deviation, in points."""
    freedom: float
    """Degrees of freedom of that estimate; infinite if it is taken as known."""
    source: str
    """`repeats` or `passport`."""
    differences: tuple[float, ...] = ()
    """Of two answers about one edit, in points; empty if only `sd` is known."""

    def reach(self, errors: FloatArray) -> FloatArray:
        """Returns the margin beyond which noise of these standard errors is ruled out at .05, two-sided."""
        factor = student_quantile(0.975, self.freedom) if np.isfinite(self.freedom) else 1.959963984540054
        return factor * errors


class _Margins:
    """Margins and their standard errors, alike ones counted together: the sign of a margin means nothing."""

    def __init__(self, margins: FloatArray, errors: FloatArray) -> None:
        sizes, errors = np.abs(margins), np.maximum(errors, 1e-12)
        largest = max(float(sizes.max(initial=0.0)), float(errors.max(initial=0.0)))
        kinds = np.stack([np.round(sizes / largest * CELLS), np.round(np.log(errors) * 100)], axis=1)
        _, first, self.cell = np.unique(kinds, axis=0, return_index=True, return_inverse=True)
        self.cell = self.cell.ravel()
        self._sizes, self._errors = sizes[first], errors[first]
        least = max(float(errors.min()) / 10, largest / 1000)
        self.widths = np.concatenate([[0.0], np.geomspace(least, 2 * largest, WIDTHS)])

    def weights(
        self, of_pairs: FloatArray | None = None, factors: FloatArray | None = None, start: FloatArray | None = None
    ) -> FloatArray:
        """Returns the weights of the widths by maximum likelihood, from `start`, if given: a row for each draw.

        `of_pairs`: how often each pair counts, draw by draw; `factors`: of all standard errors, one for each draw.
        """
        pairs = np.ones((1, len(self.cell))) if of_pairs is None else of_pairs
        counts = np.stack([np.bincount(self.cell, weights=row, minlength=len(self._sizes)) for row in pairs])
        errors = self._errors if factors is None else factors[:, None] * self._errors
        spread = np.sqrt(self.widths**2 + np.atleast_2d(errors)[..., None] ** 2)  # draw, cell, width
        logarithm = -0.5 * (self._sizes[:, None] / spread) ** 2 - np.log(spread)
        likelihood = np.exp(logarithm - logarithm.max(2, keepdims=True))
        weights = np.full((len(pairs), len(self.widths)), 1 / len(self.widths))
        if start is not None:
            weights[:] = start
        for _ in range(STEPS if start is None else FURTHER_STEPS):
            seen = counts / (likelihood @ weights[..., None])[..., 0]
            weights = weights * (seen[:, None, :] @ likelihood)[:, 0] / counts.sum(1, keepdims=True)
        return weights


def _rates(margins: FloatArray, errors: FloatArray, widths: FloatArray, weights: FloatArray) -> FloatArray:
    errors = np.maximum(errors, 1e-12)
    spread = np.sqrt(widths[None, :] ** 2 + errors[:, None] ** 2)
    density = (
        np.exp(-0.5 * ((margins[:, None] / spread) ** 2 - (margins / spread.max(1))[:, None] ** 2)) / spread * weights
    )
    shrunk = widths[None, :] ** 2 / spread**2
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.abs(margins)[:, None] * np.sqrt(shrunk) / errors[:, None]
    wrong = np.where(widths[None, :] > 0, ndtr(-z), 0.5)
    total = density.sum(1)
    rates: FloatArray = (density * wrong).sum(1) / np.where(total > 0, total, 1)
    return rates


def _jumps(sizes: FloatArray, least: float, differences: FloatArray, random: np.random.Generator) -> float:
    """Returns the share, of margins of at least `least`, of those of edits scored alike that normal noise leaves out.

    `sizes` of margins and `least` in standard errors. Half the difference of two answers, of either sign, is spread as
    their mean is about the edit's own, so two of them make a margin between edits scored alike. From how many of these
    are 0, and how many margins, follows how many edits are; other margins of 0 make the share larger, not smaller.
    """
    halves = random.permutation(np.concatenate([differences, -differences])) / 2
    alike = np.abs(halves - np.roll(halves, 1)) / np.sqrt(np.mean(differences**2) / 2)
    at_zero, beyond = np.mean(alike < 1e-9), np.mean(alike >= least) - 2 * ndtr(-least)
    if at_zero < REPEATS_ITSELF or beyond <= 0:
        return 0.0
    return float(min(1.0, min(1.0, np.mean(sizes < 1e-9) / at_zero) * beyond / np.mean(sizes >= least)))


@dataclass(frozen=True)
class ExpectedWrong:
    """The share of chosen pairs that a judge's noise turned, or made of edits that it scores alike."""

    share: float
    ci95: list[float]
    """Of the share in these pairs: what is not known of the noise and of the distribution of margins, and chance."""


def estimate_wrong_pairs(
    margins: FloatArray, errors: FloatArray, clusters: IntArray, chosen: Sequence[int], noise: Noise, *, seed: int = 0
) -> ExpectedWrong:
    """Returns the expected share of wrong pairs among those `chosen`, with its interval.

    `margins`: of all pairs of edits of a sample, with their standard errors by the noise, and their source images. The
    interval: source images are drawn anew with what is fitted to them, the noise's variance from its chi-square; in
    each draw every chosen pair is wrong or not by its own chance.
    """
    picked = np.asarray(chosen, dtype=np.int64)
    random = np.random.default_rng(seed)
    every = _Margins(margins, errors)
    [fitted] = every.weights()
    sizes, repeated = np.abs(margins) / np.maximum(errors, 1e-12), np.asarray(noise.differences)
    least = float(sizes[picked].min(initial=np.inf))
    jumps = _jumps(sizes, least, repeated, random) if len(picked) and repeated.any() else 0.0
    share = min(1.0, float(_rates(margins[picked], errors[picked], every.widths, fitted).mean()) + jumps)
    images = int(clusters.max(initial=-1)) + 1
    known = not np.isfinite(noise.freedom)
    factors, often, chances = [], [], []
    for _ in range(DRAWS):
        factors.append(1.0 if known else float(np.sqrt(noise.freedom / random.chisquare(noise.freedom))))
        often.append(np.bincount(random.integers(0, images, images), minlength=images)[clusters].astype(np.float64))
        chances.append(random.random(len(picked)))
    drawn = []
    some = max(1, TOGETHER // max(1, len(margins)))
    for first in range(0, DRAWS, some):
        part = slice(first, first + some)
        fits = every.weights(np.stack(often[part]), np.array(factors[part]), fitted)
        for factor, weights, chance in zip(factors[part], fits, chances[part], strict=True):
            rates = _rates(margins[picked], factor * errors[picked], every.widths, weights)
            again = random.choice(repeated, len(repeated)) if jumps else repeated
            drawn.append(float((chance < rates + (_jumps(sizes, least, again, random) if again.any() else 0)).mean()))
    low, high = np.quantile(drawn, [0.025, 0.975])
    return ExpectedWrong(share, [float(low), float(high)])
