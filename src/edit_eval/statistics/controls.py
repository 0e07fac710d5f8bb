"""Controls: does a judge put edits above what is none: the source itself, a grey picture, another sample's edit?

If not, it sees nothing, or no edit model of the run has made anything; either way its means say nothing.

Each kind of control is a test of its own, and a judge is shown to see edits if each is shown below edits: all must be,
so that nothing is corrected for how many kinds there are (an intersection-union test: Berger, Technometrics 24, 1982).
What is tested: to a judge that cannot tell edits from controls, the difference "edit less control" on a source image
is as likely to be above 0 as to be the same number below it. Then each of the 2^n ways to give n differences their
signs is as likely as any other, and p is the share of those whose sum is as large as what was seen (Fisher, The Design
of Experiments, 1935): exact for any number of images, and 2^-n at the least, as in a sign test. A kind is to be below
the edits of some edit model, so p is multiplied by their number (Bonferroni). A control is one answer, so it is held
against one answer about one edit, the first that there is: a mean of several is less scattered, and to a judge that
mostly says a low number and seldom a high one it is above a single answer more often than below.

That this is not shown is no finding: a judge that is right shows it seldom where models fail on most pictures. A judge
is unfit if the opposite is shown, that edits are not above a kind by a useful amount (`USEFUL`): an equivalence test,
by the strict end of the interval, which allows for images that these are none of (`intervals.strict_lower`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import msgspec
import numpy as np

from edit_eval.records import CONTROL, Judgement, Results, Sample
from edit_eval.statistics.aggregates import Aggregate
from edit_eval.statistics.control_counts import FEWEST_WITH_CONTROLS, fewest
from edit_eval.statistics.intervals import FloatArray, IntArray, cluster_codes, estimate, strict_lower
from edit_eval.statistics.levels import ALPHA
from edit_eval.statistics.series import Series, gain

USEFUL = 0.1
"""Share of the scale by which edits are to be above controls. Of fewer than 29 source images, were edits and controls
equal on each, none shows that it is less."""
Scores = Mapping[str, Sequence[float]]
"""Of each sample its scores, by edit seed and repeat."""
EXACT = 30
"""With more differences than that, signs are drawn: 2^30 sums are two halves of 2^15."""
DRAWN = 100_000


class BesideEdits(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of control beside the edits of one model, paired on the samples that have both; all in points."""

    edit_model: str
    """Name of the edit model."""
    n: int
    """Samples that have both."""
    images: int
    """Source images of these."""
    edits: float | None
    """Mean of the edits; None without any such sample, as all below."""
    control: float | None
    """Mean of the control."""
    difference: float | None = None
    """Edits less control."""
    ci95: list[float] | None = None
    """Its interval, clustered on the source image."""
    p: float | None = None
    """Corrected for edit models."""
    below: bool | None = None
    """True: the control is shown to be worse; False: it [is shown not to be](trust.md#controls), by a tenth of the
    scale; None: neither."""


class ControlNumbers(Aggregate, frozen=True, kw_only=True):
    """A judge's scores of one kind of control; the mean is over samples."""

    beside_edits: BesideEdits
    """Beside the edit model most clearly above it."""


class JudgeControls(msgspec.Struct, frozen=True, kw_only=True):
    """A judge's controls."""

    score: str
    """The headline, which all of it is about."""
    last: bool | None
    """Whether every kind is shown to score below edits; None if for one kind neither this nor the opposite is shown."""
    kinds: dict[str, ControlNumbers]
    """By `source` (the source itself), `blank` (a grey picture) and `shuffled` (another sample's edit); the means are
    over samples."""


class RunControls(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The controls of a run: in no other number."""

    samples: int | None
    """How many samples have them; None where no judge of the run has any."""
    automatic: bool = False
    """True, and only then in the document, if their number was left to edit-eval."""
    fewest: int
    """Source images that can show it at the least."""
    wanted: int
    """How many samples with controls may show it where it was not shown; 0 if that takes more pictures."""
    judges: dict[str, JudgeControls]

    @property
    def off(self) -> bool:
        """True if there are none because they were turned off."""
        return self.samples == 0 and not self.automatic


# -- what they show --


def least_p(differences: Sequence[float] | FloatArray) -> float:
    """Returns the one-sided p of differences, one of each source image, being above 0 by more than their signs' chance.

    1.0 without any. A difference of 0 says nothing.
    """
    seen = np.asarray(differences, dtype=np.float64)
    seen = seen[np.abs(seen) > 1e-9]
    if not len(seen):
        return 1.0
    size = np.abs(seen)
    at_least = float(seen.sum()) - 1e-9 * float(size.sum())
    if len(seen) > EXACT:
        signs = np.random.default_rng(0).integers(0, 2, (DRAWN, len(seen)), dtype=np.int8) * 2 - 1
        return float(1 + (signs @ size >= at_least).sum()) / (1 + DRAWN)
    half = len(size) // 2
    first_half, second_half = _sums(size[:half]), np.sort(_sums(size[half:]))
    as_large = len(second_half) - np.searchsorted(second_half, at_least - first_half, side="left")
    return float(as_large.sum()) / 2.0 ** len(size)


def _sums(sizes: FloatArray) -> FloatArray:
    """Returns the sums of all ways to give these their signs."""
    sums = np.zeros(1)
    for size in sizes:
        sums = np.concatenate([sums - size, sums + size])
    return sums


class ControlTest:
    """Whether edits are above a kind of control by a judge's headline."""

    def __init__(self, samples: Iterable[Sample], series: Series) -> None:
        self._images = {sample.id: sample.cluster or sample.id for sample in samples}
        self._series = series

    def compare_with_edits(self, controls: Iterable[Judgement], edits: Mapping[str, Scores]) -> dict[str, BesideEdits]:
        """Returns what holds of a kind beside each edit model; `edits` has each one's scores by sample."""
        score = self._series.score
        scores = _scores((control for control in controls if control.headline == score), score)
        known = {sample: its[0] for sample, its in scores.items()}
        return {model: self._compare_with_model(model, scores, known, len(edits)) for model, scores in edits.items()}

    def _compare_with_model(self, model: str, edits: Scores, control: Mapping[str, float], models: int) -> BesideEdits:
        images, both = self._images, sorted(edits.keys() & control.keys())
        if not both:
            return BesideEdits(edit_model=model, n=0, images=0, edits=None, control=None)
        count = len({images[sample] for sample in both})
        means = {sample: math.fsum(edits[sample]) / len(edits[sample]) for sample in both}
        differences = np.array([means[sample] - control[sample] for sample in both], dtype=np.float64)
        mean_difference = estimate(differences, clusters := cluster_codes([images[sample] for sample in both]))
        p = min(1.0, least_p(self._differences(edits, control)) * models)
        return BesideEdits(
            edit_model=model,
            n=len(both),
            images=count,
            edits=math.fsum(means.values()) / len(both),
            control=math.fsum(control[sample] for sample in both) / len(both),
            difference=mean_difference.value,
            ci95=mean_difference.interval(),
            p=p,
            below=True if p <= ALPHA else False if self._is_useless(differences, clusters) else None,
        )

    def _is_useless(self, differences: FloatArray, clusters: IntArray) -> bool:
        """True if edits are shown not to be above controls by a useful amount, whatever other images may show."""
        scale = self._series.scale
        if scale.span is None:
            return False
        behind = estimate(-gain(scale) * differences, clusters)
        end = strict_lower(behind, scale.span, alpha=ALPHA)
        if end is None and behind.doubt == "no_spread" and not behind.value:  # nothing differs on these
            end = scale.span * (ALPHA ** (1 / behind.worth) - 1)
        return end is not None and end > -USEFUL * scale.span

    def _differences(self, edits: Scores, control: Mapping[str, float]) -> list[float]:
        """Returns by how much the first edits are better than a kind, of each source image the mean."""
        by_image: dict[str, list[float]] = {}
        for sample in (sample for sample in control if sample in edits):
            difference = gain(self._series.scale) * (edits[sample][0] - control[sample])
            by_image.setdefault(self._images[sample], []).append(difference)
        return [math.fsum(some) / len(some) for some in by_image.values()]

    def best(self, beside: Mapping[str, BesideEdits]) -> BesideEdits:
        """Returns the edit model most clearly above a kind: one that is shown to be, then one that may be, then by
        difference."""

        def place(of_model: BesideEdits) -> tuple[int, float]:
            many = of_model.images >= FEWEST_WITH_CONTROLS
            shown = 3 if of_model.below else 1 if of_model.below is False else 2 if many else 0
            difference = of_model.difference
            return shown, -math.inf if difference is None else gain(self._series.scale) * difference

        return max(beside.values(), key=place)


def _scores(judgements: Iterable[Judgement], score: str) -> dict[str, list[float]]:
    """Returns for each sample its values of a score, by edit seed and repeat."""
    collected: dict[str, list[tuple[int, int, float]]] = {}
    for judgement in judgements:
        if score in judgement.scores:
            place = judgement.edit_seed, judgement.repeat, judgement.scores[score]
            collected.setdefault(judgement.sample_id, []).append(place)
    return {sample: [value for *_, value in sorted(of)] for sample, of in collected.items()}


def scores_by_model(judgements: Iterable[Judgement], score: str, models: Iterable[str]) -> dict[str, Scores]:
    """Returns for each edit model its scores of each sample."""
    of: dict[str, list[Judgement]] = {model: [] for model in models}
    for judgement in judgements:
        if judgement.edit_model in of:
            of[judgement.edit_model].append(judgement)
    return {model: _scores(its, score) for model, its in of.items()}


# -- of a whole run --


def kind_of(control: Judgement) -> str:
    """Returns `source`, `blank` or `shuffled`."""
    return control.edit_model.removeprefix(CONTROL)


def controls_of(results: Results, judge: str, score: str) -> list[Judgement]:
    """Returns a judge's controls whose samples have that score as headline."""
    return [control for control in results.controls if control.judge == judge and control.headline == score]


def compare_controls(results: Results, judge: str, series: Series) -> dict[str, BesideEdits]:
    """Returns for each kind of control the edit model most clearly above it.

    `below` is True if the control is shown to be worse than the edits of some model, `p` being at most .05. False if
    the edits of each are shown not to be better by a useful amount; else None.
    """
    by_kind = {}
    if not (kinds := dict.fromkeys(map(kind_of, controls_of(results, judge, series.score)))):
        return {}
    test = ControlTest(results.samples, series)
    edits = scores_by_model(
        (judgement for judgement in results.judgements if judgement.judge == judge), series.score, results.edit_models
    )
    of_judge = [control for control in results.controls if control.judge == judge]
    for kind in kinds:
        by_kind[kind] = test.best(
            test.compare_with_edits((control for control in of_judge if kind_of(control) == kind), edits)
        )
    return by_kind


def count_needed_controls(results: Results, asked: int) -> int:
    """Returns how many samples with controls may show what as many as were `asked` did not; 0 if there are too few
    source images for more."""
    there = len({sample.cluster or sample.id for sample in results.samples if not (sample.fault or sample.follows)})
    enough = max(FEWEST_WITH_CONTROLS, fewest(len(results.edit_models)))
    more = enough if asked < enough else 2 * asked
    more = there if there <= 2 * more else more  # rather all of a few than twice
    return more if more > asked and more >= fewest(len(results.edit_models)) else 0


def all_below_edits(beside: Mapping[str, BesideEdits]) -> bool | None:
    """True if all kinds are put below edits, False if one is not; None if that is not shown for one."""
    states = [of_kind.below for of_kind in beside.values()]
    return False if False in states else None if None in states or not states else True
