from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from edit_eval.statistics.columns import Column, by_judge, columns_of, why_incomparable
from edit_eval.statistics.comparison import compare

IDENTITY = {
    "judge": {"name": "qwen3_vl", "params": {"dtype": "bfloat16"}},
    "prompts": "aa",
    "benchmark": "bb",
    "language": "en",
}


def column(name: str, scores, *, clusters=None, categories=None, identity=IDENTITY) -> Column:
    ids = [f"s{index:04d}" for index in range(len(scores))]
    of_clusters = list(range(len(scores))) if clusters is None else list(clusters)
    return Column(
        name=name,
        judge="judge",
        identity=identity,
        scores={key: None if score is None else float(score) for key, score in zip(ids, scores, strict=True)},
        clusters={key: f"digest-{cluster:04d}" for key, cluster in zip(ids, of_clusters, strict=True)},
        categories=dict(zip(ids, ["all"] * len(ids) if categories is None else categories, strict=True)),
    )


def drawn(seed: int, shift: float = 0.0, count: int = 90) -> list[float]:
    """Scores on the same items: what the items share, and each column's own deviation."""
    shared = np.random.default_rng(1).uniform(3, 7, size=count)
    own = np.random.default_rng(seed).normal(shift, 1.0, size=count)
    return np.round(np.clip(shared + own, 0, 10), 1).tolist()


def test_the_same_run_twice_is_a_tie():
    scores = drawn(2)
    comparison = compare([column("a", scores), column("b", scores)])
    (pair,) = comparison.pairs
    assert (pair.difference, pair.p, pair.p_adjusted) == (0.0, 1.0, 1.0)
    assert pair.identical
    assert pair.better is None
    assert (pair.wins, pair.ties, pair.losses) == (0, 90, 0)
    assert pair.ci95 is None
    assert pair.detectable is None
    assert pair.largest == []
    assert [summary.rank for summary in comparison.columns] == [1, 1]
    assert comparison.worse_than_first == ()


def test_a_clear_difference():
    comparison = compare([column("good", drawn(2, 1.5)), column("bad", drawn(3))])
    (pair,) = comparison.pairs
    assert pair.better == "good"
    assert pair.p <= 0.001
    low, high = pair.ci95
    assert low < pair.difference < high
    assert low > 0.5
    assert pair.difference == pytest.approx(pair.mean_a - pair.mean_b)
    assert pair.wins + pair.ties + pair.losses == pair.n == 90
    assert [summary.rank for summary in comparison.columns] == [1, 2]
    assert comparison.worse_than_first == ("bad",)
    assert compare([column("bad", drawn(3)), column("good", drawn(2, 1.5))]).worse_than_first == ()


def test_no_difference_says_what_could_have_been_seen():
    (pair,) = compare([column("a", drawn(2)), column("b", drawn(3))]).pairs
    assert pair.better is None
    # Two deviations of 1 each: 2.8 standard errors of sqrt(2 / 90).
    assert pair.detectable == pytest.approx(2.82 * (2 / 90) ** 0.5, rel=0.15)
    assert abs(pair.difference) < pair.detectable


def test_how_many_samples_a_difference_needs():
    columns = [column("a", drawn(2)), column("b", drawn(3))]
    (pair,) = compare(columns).pairs
    assert pair.needed is None
    (at_the_limit,) = compare(columns, detect=pair.detectable).pairs
    assert at_the_limit.needed == {"difference": pair.detectable, "samples": 90, "clusters": 90}
    (half,) = compare(columns, detect=pair.detectable / 2).pairs
    assert half.needed["samples"] == pytest.approx(360, abs=6)


def test_samples_needed_come_with_their_source_images():
    clusters = [index // 3 for index in range(90)]
    columns = [column("a", drawn(2), clusters=clusters), column("b", drawn(3), clusters=clusters)]
    (pair,) = compare(columns, detect=0.2).pairs
    assert pair.clusters == 30
    assert pair.needed["samples"] == 3 * pair.needed["clusters"]


def test_failures_are_left_out_of_the_pairs_and_bound_the_difference():
    a = column("a", [8, None, 4, 6, None])
    b = column("b", [5, 5, None, 6, None])
    (pair,) = compare([a, b]).pairs
    assert (pair.total, pair.n) == (5, 2)
    assert pair.difference == 1.5
    assert (pair.wins, pair.ties, pair.losses) == (1, 1, 0)
    assert pair.worst_case_difference == pytest.approx((3 - 5 - 6 + 0 - 10) / 5)
    assert pair.best_case_difference == pytest.approx((3 + 5 + 4 + 0 + 10) / 5)


def test_a_sample_that_only_one_ran_is_not_a_failure():
    (pair,) = compare([column("a", [1, 2, 3, 4]), column("b", [1, 2])]).pairs
    assert (pair.total, pair.n) == (2, 2)
    assert pair.worst_case_difference == 0.0


def test_nothing_in_common_is_no_number():
    comparison = compare([column("a", [None, 4]), column("b", [4, None])])
    (pair,) = comparison.pairs
    assert pair.n == 0
    assert pair.difference is pair.p is pair.p_adjusted is pair.ci95 is pair.detectable is pair.better is None
    json.dumps(comparison.document(), allow_nan=False)


def test_one_source_image_shows_nothing_however_many_samples():
    clusters = [0] * 40
    (pair,) = compare([column("a", [9] * 40, clusters=clusters), column("b", [1] * 40, clusters=clusters)]).pairs
    assert pair.p == 1.0
    assert pair.better is None
    assert pair.detectable is None


def test_five_source_images_can_show_no_difference_and_say_so():
    (pair,) = compare([column("a", [9, 8, 9, 7, 9]), column("b", [1, 2, 1, 1, 3])]).pairs
    assert pair.p == 2 / 32
    assert pair.better is None
    assert pair.detectable is None
    (pair,) = compare([column("a", [9, 8, 9, 7, 9, 9]), column("b", [1, 2, 1, 1, 3, 1])]).pairs
    assert pair.better == "a"
    assert pair.detectable is not None


def test_all_pairs_are_one_family_and_what_no_test_separates_shares_a_rank():
    columns = [column("a", drawn(2, 2.0)), column("b", drawn(3, 1.9)), column("c", drawn(4))]
    comparison = compare(columns)
    assert [(pair.a, pair.b) for pair in comparison.pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert [summary.rank for summary in comparison.columns] == [1, 1, 3]
    for pair in comparison.pairs:
        assert pair.p_adjusted >= pair.p
    (alone,) = compare([columns[0], columns[1]]).pairs
    assert comparison.pairs[0].detectable > alone.detectable


def test_a_difference_within_the_noise_of_many_pairs_is_not_called():
    """Ten families of six equal columns: raw p-values below .05 abound; none survives Holm."""
    families = [
        compare([column(str(seed), drawn(seed)) for seed in range(start, start + 6)]) for start in range(0, 1_000, 100)
    ]
    assert sum(min(pair.p for pair in family.pairs) < 0.05 for family in families) >= 3
    for family in families:
        assert all(pair.better is None for pair in family.pairs)
        assert {summary.rank for summary in family.columns} == {1}


def test_categories_are_exploratory_and_corrected_together():
    categories = ["physical"] * 45 + ["social"] * 45
    good = [score + 2 if index < 45 else score for index, score in enumerate(drawn(2))]
    comparison = compare([column("a", good, categories=categories), column("b", drawn(3), categories=categories)])
    found = comparison.pairs[0].categories
    assert list(found) == ["physical", "social"]
    assert found["physical"].p_adjusted < 0.01
    assert found["social"].p_adjusted > 0.05
    assert found["physical"].p_adjusted == pytest.approx(2 * found["physical"].p)
    assert all(category.exploratory and category.n == 45 for category in found.values())


def test_the_samples_that_differ_most():
    a, b = [5.0] * 30, [5.0] * 30
    b[7], b[21], b[3] = 0.0, 9.0, 6.0
    (pair,) = compare([column("a", a), column("b", b)]).pairs
    assert [(found.sample_id, found.a, found.b, found.difference) for found in pair.largest] == [
        ("s0007", 5.0, 0.0, 5.0),
        ("s0021", 5.0, 9.0, -4.0),
        ("s0003", 5.0, 6.0, -1.0),
    ]


def test_the_order_of_the_columns_only_turns_the_sign():
    a, b = column("a", drawn(2, 0.3)), column("b", drawn(3))
    (forth,), (back,) = compare([a, b]).pairs, compare([b, a]).pairs
    assert forth.p == back.p
    assert forth.difference == -back.difference
    assert forth.ci95 == pytest.approx([-back.ci95[1], -back.ci95[0]])


def test_the_document_is_plain_and_repeatable():
    columns = [column("a", drawn(2, 0.4)), column("b", drawn(3)), column("c", drawn(4))]
    document = compare(columns, detect=0.5).document()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert compare(columns, detect=0.5).document() == document
    assert {
        "a",
        "b",
        "n",
        "clusters",
        "difference",
        "ci95",
        "p",
        "p_adjusted",
        "detectable",
    } <= set(document["pairs"][0])


def test_intervals_of_a_difference_hold_it_in_95_of_100():
    generator = np.random.default_rng(9)
    clusters = [index // 3 for index in range(90)]
    covered = 0
    for _ in range(400):
        items = generator.uniform(3, 7, size=30)[np.array(clusters)]
        a = items + generator.normal(0.5, 1, size=30)[np.array(clusters)] + generator.normal(size=90)
        b = items + generator.normal(size=90)
        pair = compare([column("a", a, clusters=clusters), column("b", b, clusters=clusters)]).pairs[0]
        covered += pair.ci95[0] <= 0.5 <= pair.ci95[1]
    assert 0.92 <= covered / 400 <= 0.98
