"""Draws the picture with which docs/trust.md begins: what an interval says, why it is clustered, what a rank is.

    python bench/trust_picture.py [docs/images/trust.svg]

Scores are simulated, and every interval, p and rank is made by the functions that `compare` uses.
"""

from __future__ import annotations

import sys
from itertools import combinations
from pathlib import Path

import altair as alt
import numpy as np

from edit_eval.statistics.families import FamilyOfTests, PairTest
from edit_eval.statistics.families import ranks as ranks_of
from edit_eval.statistics.intervals import estimate

IMAGES, EACH = 10, 4
LEAD = 0.6
"""True difference of A and B, in points."""
RUNS = 40
SEED = 11
OF_IMAGE, OF_EDIT = 0.9, 0.6
"""Standard deviation of a difference from picture to picture, and from edit to edit of one picture."""
BLUE, RED, GREY = "#2f6f9f", "#c0392b", "#8a8f98"


def differences(generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Returns A less B for each edit, and the picture of each: edits of one picture go together."""
    images = np.repeat(np.arange(IMAGES), EACH)
    of_image = generator.normal(0, OF_IMAGE, IMAGES)[images]
    return LEAD + of_image + generator.normal(0, OF_EDIT, len(images)), images


def interval(values: np.ndarray, clusters: np.ndarray) -> tuple[float, float]:
    low, high = estimate(values, clusters).interval() or (np.nan, np.nan)
    return float(low), float(high)


def one_run() -> alt.LayerChart:
    """One experiment: a column of dots for each picture, and what is known of the mean."""
    values, images = differences(np.random.default_rng(SEED))
    low, high = interval(values, images)
    dots = [
        {"picture": int(image) + 1, "difference": float(value)} for value, image in zip(values, images, strict=True)
    ]
    y = alt.Y("difference:Q", title="A's score less B's, same edit", scale=alt.Scale(domain=[-2.2, 3.2]))
    band = alt.Chart(alt.Data(values=[{"low": low, "high": high}])).mark_rect(color=BLUE, opacity=0.18)
    mean = alt.Chart(alt.Data(values=[{"difference": float(values.mean())}])).mark_rule(color=BLUE, strokeWidth=2)
    zero = alt.Chart(alt.Data(values=[{"difference": 0.0}])).mark_rule(color=GREY, strokeDash=[4, 3])
    points = alt.Chart(alt.Data(values=dots)).mark_circle(color="#333", size=26, opacity=0.75)
    title = f"1. One run: mean {values.mean():.2f} [{low:.2f}, {high:.2f}]"
    return alt.layer(
        band.encode(alt.Y("low:Q"), alt.Y2("high:Q")),
        zero.encode(y),
        mean.encode(y),
        points.encode(alt.X("picture:O", title="picture (four edits of each)", axis=alt.Axis(labelAngle=0)), y),
    ).properties(width=250, height=210, title=title)


def many_runs(clustered: bool) -> alt.LayerChart:
    """The same experiment again and again: how many intervals hold the truth."""
    generator, rows = np.random.default_rng(SEED + 1), []
    for run in range(RUNS):
        values, images = differences(generator)
        low, high = interval(values, images if clustered else np.arange(len(values)))
        rows.append({"run": run, "low": low, "high": high, "holds": bool(low <= LEAD <= high)})
    missed = sum(not row["holds"] for row in rows)
    bars = alt.Chart(alt.Data(values=rows)).mark_rule(strokeWidth=2.5)
    truth = alt.Chart(alt.Data(values=[{"low": LEAD}])).mark_rule(color="#333")
    number, what = ("2", "By the picture") if clustered else ("3", "As if edits were independent")
    colour = alt.Color("holds:N", scale=alt.Scale(domain=[True, False], range=[BLUE, RED]), legend=None)
    y = alt.Y("low:Q", title="95% interval of 40 runs", scale=alt.Scale(domain=[-1.2, 2.4]))
    return alt.layer(
        bars.encode(alt.X("run:O", axis=None), y, alt.Y2("high:Q"), colour), truth.encode(alt.Y("low:Q"))
    ).properties(width=250, height=210, title=f"{number}. {what}: {missed} of {RUNS} miss")


def ranks() -> alt.LayerChart:
    """Three models on the same pictures, the pairs that are shown to differ (Holm), and the ranks that follow."""
    generator = np.random.default_rng(SEED + 4)
    images = np.repeat(np.arange(24), 2)
    hard = generator.normal(0, 1.4, 24)[images]
    models = {"A": 7.0, "B": 6.7, "C": 5.8}
    scores = {
        name: level + hard + generator.normal(0, 0.5, 24)[images] + generator.normal(0, 0.5, len(images))
        for name, level in models.items()
    }
    pairs = list(combinations(scores, 2))
    differences = [estimate(scores[a] - scores[b], images) for a, b in pairs]
    tests = [
        PairTest(a, b, difference.value, difference.standard_error, difference.p_value())
        for (a, b), difference in zip(pairs, differences, strict=True)
    ]
    shown = FamilyOfTests(tuple(tests)).better()
    of_all = ranks_of(tests, shown)
    means = {name: float(of.mean()) for name, of in scores.items()}
    beaten_by = {
        name: [
            best for test, best in zip(tests, shown, strict=True) if best and best != name and name in (test.a, test.b)
        ]
        for name in scores
    }
    rows = []
    for name, of in scores.items():
        low, high = interval(of, images)
        better = beaten_by[name]
        why = f"rank {of_all[name]}: " + (f"{' and '.join(better)} shown better" if better else "none shown better")
        rows.append({"model": name, "mean": means[name], "low": low, "high": high, "rank": why})
    base = alt.Chart(alt.Data(values=rows)).encode(alt.Y("model:N", title=None, axis=alt.Axis(labelFontSize=14)))
    x = alt.X(
        "low:Q", title="mean score and its 95% interval", scale=alt.Scale(domain=[4.0, 8.5], zero=False, nice=False)
    )
    return alt.layer(
        base.mark_rule(color=BLUE, strokeWidth=3).encode(x, alt.X2("high:Q")),
        base.mark_circle(color=BLUE, size=90, opacity=1).encode(alt.X("mean:Q")),
        base.mark_text(dy=-14, fontSize=12, color="#333").encode(alt.X("mean:Q"), alt.Text("rank:N")),
    ).properties(width=250, height=210, title="4. Ranks: pairs, picture by picture")


def coverage(runs: int = 2_000) -> tuple[float, float]:
    """Returns how often the two intervals of panels 2 and 3 hold the truth."""
    generator, held = np.random.default_rng(SEED + 2), []
    for _ in range(runs):
        values, images = differences(generator)
        both = interval(values, images), interval(values, np.arange(len(values)))
        held.append([low <= LEAD <= high for low, high in both])
    clustered, independent = np.mean(held, axis=0)
    return float(clustered), float(independent)


def main() -> None:
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images/trust.svg")
    above, below = one_run() | many_runs(clustered=True), many_runs(clustered=False) | ranks()
    chart = (above & below).configure_view(stroke="#ddd").configure_title(fontSize=13, anchor="start")
    chart.configure_axis(grid=False).properties(background="white").save(str(path))
    print("2,000 runs: by the picture {:.3f}, as if independent {:.3f} hold the truth".format(*coverage()))


if __name__ == "__main__":
    main()
