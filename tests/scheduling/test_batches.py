"""Batches are a matter of the benchmark alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edit_eval.records import Sample
from edit_eval.scheduling.batches import companies, cut_batches, first_samples, pilots

CATEGORIES = st.lists(st.sampled_from("abcde"), max_size=60)


def test_batches_are_cut_by_category_and_pilots_are_alone() -> None:
    assert cut_batches(list("aabbaaab"), 2) == [0, 1, 2, 3, 1, 4, 4, 3]
    assert pilots(list("aabbaaab")) == [0, 2]


def test_a_sample_that_is_judged_alone_is_in_nobodys_batch() -> None:
    samples = [
        Sample(id=str(n), index=n, category="a", pictures={}, instruction="", alone=n in (2, 3)) for n in range(6)
    ]
    assert cut_batches(companies(samples), 16) == [0, 1, 2, 3, 1, 1]


@given(CATEGORIES, st.integers(1, 5))
def test_batches_have_one_category_and_at_most_so_many_members(categories: list[str], size: int) -> None:
    batches = cut_batches(categories, size)
    for number in set(batches):
        members = [i for i, batch in enumerate(batches) if batch == number]
        assert len(members) <= size
        assert len({categories[i] for i in members}) == 1
        if set(members) & set(pilots(categories)):
            assert len(members) == 1


@given(CATEGORIES, st.integers(1, 5))
def test_what_comes_later_in_the_benchmark_changes_no_earlier_company(categories: list[str], size: int) -> None:
    whole, part = cut_batches(categories, size), cut_batches(categories[: len(categories) // 2], size)
    assert part == whole[: len(part)]


@pytest.mark.parametrize(
    ("categories", "first"),
    [
        ("aaaaa", [0, 1, 2]),
        ("aabab", [0, 1, 2]),
        ("aaabb", [0, 1, 3]),
        ("abcab", [0, 1, 2]),
        ("ddaabbcc", [0, 2, 4, 6]),
        ("ab", [0, 1]),
        ("", []),
    ],
)
def test_a_pilot_takes_the_first_of_each_category_and_three_at_least(categories: str, first: list[int]) -> None:
    assert first_samples(categories) == first
