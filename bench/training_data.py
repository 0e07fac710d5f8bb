"""How often slices and pairs for training are right, in drawn data: the tables of bench/notes.md.

    python bench/training_data.py [--draws 200]

Slices: 270 samples, 40 attributes of 6 to 50 % of them (12 are an image's, the others a sample's), paired differences
with a standard deviation of 2. Named: among equals, the share of evaluations in which any slice is said to stand out
(.05 is asked for). Found: a tenth of the samples loses 2 points; the share in which that slice is shown.

Pairs: edits of known quality, a judge that errs by a known amount each time. Wrong: pairs whose true order is the
other one; said: the expected share; within: how often the interval holds what is wrong in the pairs that were taken.
"""

from __future__ import annotations

import argparse
import json

import numpy as np

from edit_eval.plugins.pairs.noise import Noise, estimate_wrong_pairs
from edit_eval.plugins.slices.overlapping import large_enough, overlapping_groups

SAMPLES, ATTRIBUTES, OF_IMAGES, LEAST = 270, 40, 12, 8
NOISES = ("normal", "skewed", "many ties")


def noise(kind: str, random: np.random.Generator, count: int) -> np.ndarray:
    """Draws errors with a standard deviation of 2."""
    if kind == "many ties":
        drawn = random.choice([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, -6.0], count)
    else:
        drawn = random.normal(0, 1, count)
        if kind == "skewed":
            drawn[random.random(count) < 0.1] -= 5
    spread = {"normal": 1.0, "skewed": 1.803, "many ties": 1.96}[kind]
    return drawn * 2 / spread


def slices(kind: str, clustered: bool, combined: bool, effect: float, random: np.random.Generator) -> tuple[bool, bool]:
    """Draws an evaluation; returns whether any slice is shown, and whether the planted one is."""
    images = np.unique(random.integers(0, 90, SAMPLES), return_inverse=True)[1] if clustered else np.arange(SAMPLES)
    members = random.random((SAMPLES, ATTRIBUTES)) < random.uniform(0.06, 0.5, ATTRIBUTES)
    members[:, :OF_IMAGES] = (random.random((SAMPLES, OF_IMAGES)) < random.uniform(0.06, 0.5, OF_IMAGES))[images]
    members[:, -1] = False
    members[random.permutation(SAMPLES)[: SAMPLES // 10], -1] = True
    values = noise(kind, random, SAMPLES)
    if clustered:  # a correlation of .4 within an image
        values = np.sqrt(0.4) * noise(kind, random, SAMPLES)[images] + np.sqrt(0.6) * values
    values = values - effect * members[:, -1]
    if combined:
        first, second = np.triu_indices(ATTRIBUTES, 1)
        members = np.concatenate([members[:, first] & members[:, second], members], axis=1)
    members = members[:, large_enough(members, images, LEAST)]
    tests = overlapping_groups(values, images, members, draws=499).tests
    return any(test.shown for test in tests), tests[-1].shown


def pairs(
    edits: int, asked: int, error: float, kind: str, random: np.random.Generator
) -> tuple[float, float, bool] | None:
    """Draws 120 samples; returns the share of wrong pairs, what is said of it, and whether the interval holds it."""
    images = 120
    quality = random.normal(6, 1, (images, edits))
    if kind == "two models":
        quality = 6 + 1.5 * (np.arange(edits) % 2) + random.normal(0, 0.5, (images, edits))
    if kind == "heavy tails":
        quality = 6 + random.standard_t(3, (images, edits))
    answers = quality[:, :, None] + random.normal(0, error, (images, edits, max(asked, 1)))
    if asked > 1:
        known = Noise(float(np.sqrt(answers.var(2, ddof=1).mean())), images * edits * (asked - 1), "repeats")
    else:
        known = Noise(error, np.inf, "passport")
    first, second = np.triu_indices(edits, 1)
    margins = (answers.mean(2)[:, first] - answers.mean(2)[:, second]).ravel()
    wrong = np.sign((quality[:, first] - quality[:, second]).ravel()) != np.sign(margins)
    errors = np.full(len(margins), known.sd * np.sqrt(2 / asked))
    best = np.abs(margins).reshape(images, -1).argmax(1) + np.arange(images) * len(first)
    chosen = [int(at) for at in best if abs(margins[at]) > known.reach(errors[:1])[0]]
    if len(chosen) < 5:
        return None
    expected = estimate_wrong_pairs(margins, errors, np.repeat(np.arange(images), len(first)), chosen, known)
    share = float(wrong[chosen].mean())
    return share, expected.share, expected.ci95[0] - 1e-9 <= share <= expected.ci95[1] + 1e-9


def main() -> None:
    """Prints both tables, and with --json their numbers."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--draws", type=int, default=200, help="evaluations drawn for each row")
    options.add_argument("--json", action="store_true", help="print one JSON document")
    given = options.parse_args()
    random = np.random.default_rng(20261124)
    rows: dict[str, list[dict[str, object]]] = {"slices": [], "pairs": []}
    for combined in (False, True):
        for kind in NOISES:
            for clustered in (False, True):
                draws = given.draws // 2 if combined else given.draws
                named = np.mean([slices(kind, clustered, combined, 0, random)[0] for _ in range(draws)])
                found = np.mean([slices(kind, clustered, combined, 2, random)[1] for _ in range(draws // 2)])
                row = {"noise": kind, "three an image": clustered, "combined": combined, "named": named, "found": found}
                rows["slices"].append(row)
                if not given.json:
                    print(row, flush=True)
    for kind in ("normal", "heavy tails", "two models"):
        for edits, asked, error in ((4, 2, 1.0), (4, 1, 1.0), (2, 3, 1.5)):
            drawn = [pairs(edits, asked, error, kind, random) for _ in range(given.draws // 2)]
            known = [draw for draw in drawn if draw is not None]
            wrong, told, within = (float(np.mean([draw[at] for draw in known])) for at in range(3))
            row = {"quality": kind, "edits": edits, "asked": asked, "error": error}
            rows["pairs"].append({**row, "wrong": wrong, "said": told, "within": within, "draws": len(known)})
            if not given.json:
                print(rows["pairs"][-1], flush=True)
    if given.json:
        print(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
