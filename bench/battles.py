"""Number of questions needed to rank edit models correctly, judging edits singly and in pairs.

Six edit models have qualities in equal steps. A judge perceives the quality of every edit with an error, the same in
both ways of asking; only its answers differ:

fine        an unlimited score
coarse      whole numbers, as from judges that use three or four of ten
wandering   a score whose level varies with each question (by `LEVEL`), as from a judge without a fixed scale

In pairs it says which edit it perceives as better, a tie within `TIE`, and favours the one shown first by `SIDE`.
Prints how many questions were needed until `SURE` of 100 simulated runs had the whole order right. An audit tells what
a judge is like; this tells what follows from it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence

import numpy as np

from edit_eval.statistics.fitted_strengths import fit_strengths
from edit_eval.statistics.votes import Vote

MODELS, STEP, OF_SAMPLE, OF_EDIT, ERROR = 6, 0.3, 1.0, 0.8, 0.8
LEVEL, TIE, SIDE = 1.5, 0.3, 0.3
SURE, RUNS = 80, 100
SAMPLES = (5, 8, 12, 18, 27, 40, 60, 90, 135, 200, 300, 450)
NAMES = [str(number) for number in range(MODELS)]

Answers = Callable[[np.random.Generator, np.ndarray], np.ndarray]
FORMS: dict[str, Answers] = {
    "fine": lambda chance, seen: seen,
    "coarse": lambda chance, seen: np.clip(np.round(seen / 1.5), -2, 1),
    "wandering": lambda chance, seen: seen + LEVEL * chance.normal(size=seen.shape),
}


def edits(chance: np.random.Generator, samples: int) -> np.ndarray:
    """Returns the quality of each edit: samples x models."""
    ladder = STEP * np.arange(MODELS)
    return ladder + OF_SAMPLE * chance.normal(size=(samples, 1)) + OF_EDIT * chance.normal(size=(samples, MODELS))


def pointwise(form: str, seed: int, samples: int) -> Sequence[float]:
    """Returns the mean of each edit model."""
    chance = np.random.default_rng(seed)
    seen = edits(chance, samples) + ERROR * chance.normal(size=(samples, MODELS))
    return [float(mean) for mean in FORMS[form](chance, seen).mean(axis=0)]


def pairwise(design: str, seed: int, samples: int) -> Sequence[float]:
    """Returns the strength of each edit model."""
    chance = np.random.default_rng(seed)
    good, votes = edits(chance, samples), list[Vote]()
    for sample in range(samples):
        order = chance.permutation(MODELS)
        pairs = list(zip(order, np.roll(order, 1), strict=True))
        if design == "all":
            pairs = [(a, b) for a in range(MODELS) for b in range(a)]
        for a, b in pairs:
            for left, right in ((a, b), (b, a)):
                seen = good[sample, [left, right]] + ERROR * chance.normal(size=2)
                apart = seen[0] - seen[1] + SIDE
                choice = "tie" if abs(apart) < TIE else "left" if apart > 0 else "right"
                votes.append(Vote(str(sample), NAMES[left], NAMES[right], choice))
    strengths = fit_strengths(votes, NAMES).strengths
    return [0.0] * MODELS if strengths is None else [float(strength) for strength in strengths]


def needed(ranked: Callable[[int, int], Sequence[float]], questions: Callable[[int], int]) -> int | None:
    """Returns the questions at the fewest samples that give the right order in `SURE` of 100 runs; None if none do."""
    for samples in SAMPLES:
        right = sum(all(np.diff(ranked(seed, samples)) > 0) for seed in range(RUNS))
        if right >= SURE * RUNS / 100:
            return questions(samples)
    return None


def main() -> None:
    """Prints the table, or the numbers as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    figures = {
        f"edit by edit, {form}": needed(lambda seed, n, form=form: pointwise(form, seed, n), lambda n: n * MODELS)
        for form in FORMS
    }
    figures["two at a time, cycles"] = needed(lambda seed, n: pairwise("cycles", seed, n), lambda n: 2 * n * MODELS)
    figures["two at a time, all"] = needed(
        lambda seed, n: pairwise("all", seed, n), lambda n: n * MODELS * (MODELS - 1)
    )
    if arguments.json:
        print(json.dumps(figures))
        return
    for name, questions in figures.items():
        print(f"{name:28} {'more than tried' if questions is None else questions:>8}")


if __name__ == "__main__":
    main()
