"""Which samples take part: filters, a limit a category, and bad samples named."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from edit_eval.benchmarks.selection import refuse_bad, refuse_nothing, select
from edit_eval.errors import BenchmarkError, ConfigurationError
from edit_eval.records import Picture, Sample


def sample(index: int, category: str, difficulty: str, *tags: str, fault: str = "") -> Sample:
    return Sample(
        id=f"s{index}",
        index=index,
        category=category,
        pictures={"source": Picture(path=f"{index}.png", digest=f"{index}")},
        instruction=f"do {index}",
        difficulty=difficulty,
        tags=tags,
        fault=fault,
    )


SAMPLES = (
    sample(0, "physical", "easy", "glass"),
    sample(1, "social", "hard", "people", "hands"),
    sample(2, "physical", "hard", "glass", "people"),
    sample(3, "physical", "hard"),
    sample(4, "typography", "", "people"),
    sample(5, "social", "easy", "hands"),
)


@pytest.mark.parametrize(
    ("filters", "chosen"),
    [
        ({}, [0, 1, 2, 3, 4, 5]),
        ({"categories": ["physical"]}, [0, 2, 3]),
        ({"categories": ["物理", "social"]}, [0, 1, 2, 3, 5]),
        ({"categories": ["typography"]}, [4]),
        ({"difficulty": ["hard"]}, [1, 2, 3]),
        ({"difficulty": [""]}, [4]),
        ({"tags": ["glass", "hands"]}, [0, 1, 2, 5]),
        ({"sample_ids": ["s4", "s0"]}, [0, 4]),
        ({"categories": ["physical"], "tags": ["people"]}, [2]),
        ({"limit": 1}, [0, 1, 4]),
        ({"limit": 2}, [0, 1, 2, 4, 5]),
        ({"limit": 1, "difficulty": ["hard"]}, [1, 2]),
        ({"limit": 99, "sample_ids": ["s3"]}, [3]),
    ],
)
def test_filters_narrow_and_the_order_stays(filters: dict[str, Any], chosen: list[int]) -> None:
    assert [s.index for s in select(SAMPLES, **filters)] == chosen


def test_a_limit_comes_after_the_filters_and_counts_bad_samples() -> None:
    """Otherwise a mended sample would push another one out of the run."""
    bad = (sample(0, "physical", "easy", fault="cut off"), *SAMPLES[2:4])
    assert [s.index for s in select(bad, limit=1)] == [0]


@pytest.mark.parametrize(
    ("filters", "words"),
    [
        (
            {"categories": ["causal"]},
            "benchmark.categories: no sample has `causal`; there are: physical, social, typography",
        ),
        ({"categories": ["因果"]}, "no sample has `因果`; there are: physical"),
        ({"categories": ["phisical"]}, "no sample has `phisical`; did you mean `physical`?"),
        ({"difficulty": ["x"]}, "benchmark.difficulty: no sample has `x`; there are: easy, hard"),
        ({"tags": ["glas"]}, "benchmark.tags: no sample has `glas`; did you mean `glass`?"),
        (
            {"sample_ids": ["s0", "9", "8"]},
            "benchmark.sample_ids: no sample has `8`; there are: s0, s1, s2, s3, s4, s5",
        ),
        ({"sample_ids": ["s0"], "difficulty": ["hard"]}, "no sample passes all the filters together; relax one"),
    ],
)
def test_a_filter_that_nothing_passes_is_named(filters: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        select(SAMPLES, **filters)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("filters", [{"tags": ["x"]}, {"sample_ids": ["s0"], "difficulty": ["hard"]}])
def test_the_file_in_which_a_filter_finds_nothing_is_named(filters: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=r"no sample of data/pairs\.json (has|passes)"):
        select(SAMPLES, **filters, source="data/pairs.json")


def test_what_a_chosen_sample_follows_is_chosen_in_the_benchmarks_order() -> None:
    turns = [
        replace(SAMPLES[n], follows=follows) for n, follows in ((0, ""), (1, "s0"), (2, "s1"), (3, "gone"), (4, ""))
    ]
    for filters, chosen in (
        ({"sample_ids": ["s2"]}, [0, 1, 2]),
        ({"limit": 1}, [0, 1, 4]),
        ({"sample_ids": ["s3"]}, [3]),
    ):
        assert [one.index for one in select(turns, **filters)] == chosen  # type: ignore[arg-type]


def test_a_benchmark_without_any_tags_says_so() -> None:
    with pytest.raises(ConfigurationError, match="no sample has `x`, since no sample has any; leave it out"):
        select(SAMPLES[3:4], tags=["x"])


def test_a_long_list_of_ids_is_cut() -> None:
    many = [sample(n, "physical", "easy") for n in range(200)]
    with pytest.raises(ConfigurationError, match=r"there are: s0, s1, s10, s100, s101, s102, s103, s104, \.\.\.$"):
        select(many, sample_ids=["x"])


def test_an_empty_benchmark_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="no sample"):
        select(())


def test_bad_samples_are_all_named() -> None:
    refuse_bad(SAMPLES)
    one = (*SAMPLES, sample(6, "social", "", fault="bad base64"))
    with pytest.raises(BenchmarkError) as caught:
        refuse_bad(one)
    assert str(caught.value) == ("sample 6 (s6): bad base64; fix the file, or set `benchmark.on_bad_sample: skip`")
    two = (sample(7, "social", "", fault="cut off"), *one)
    said = r"^pairs\.json: sample 7 \(s7\): cut off \(and 1 more bad sample\); fix"
    with pytest.raises(BenchmarkError, match=said) as caught:
        refuse_bad(two, "pairs.json")
    assert caught.value.faults == ("sample 7 (s7): cut off", "sample 6 (s6): bad base64")
    with pytest.raises(BenchmarkError, match="and 2 more bad samples"):
        refuse_bad((*two, sample(8, "social", "", fault="gone")))


def test_nothing_but_bad_samples_is_refused_and_one_good_one_is_enough() -> None:
    bad = (sample(0, "physical", "easy", fault="truncated"), sample(1, "social", "hard", fault="not a picture"))
    with pytest.raises(BenchmarkError, match=r"^all 2 samples are bad, so there is nothing to edit\. The first: trunc"):
        refuse_nothing(bad)
    refuse_nothing((*bad, sample(2, "social", "hard")))


def test_the_file_of_an_empty_benchmark_has_its_own_name() -> None:
    with pytest.raises(ConfigurationError, match="no sample in /home/bag of tricks;"):
        select((), source="/home/bag of tricks")
