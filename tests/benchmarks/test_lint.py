"""What is odd about samples and no fault: each named once, with what was done about it."""

from __future__ import annotations

from typing import Any

from edit_eval.benchmarks.lint import lint, tidied
from edit_eval.records import Picture, Sample


def sample(index: int, **about: Any) -> Sample:
    source = Picture(path="s.png", digest=f"{index:064}")
    usual = {"id": f"s{index}", "pictures": {"source": source}, "instruction": "Add a hat.", "category": "add"}
    return Sample(index=index, **{**usual, **about})


def test_nothing_is_said_of_samples_that_are_as_they_should_be() -> None:
    samples = [sample(n, category=("add", "remove")[n % 2], difficulty="easy", tags=("a",)) for n in range(6)]
    assert lint(samples) == ()
    assert tidied(samples[0]) is samples[0]


def test_labels_with_space_around_them_are_taken_without_it() -> None:
    samples = [sample(n, difficulty=("medium", " medium")[n == 3], tags=(" warm  light",)) for n in range(5)]
    assert lint(samples) == (
        "difficulty ' medium' is taken as 'medium' (1 sample: index 3)",
        "tag ' warm  light' is taken as 'warm light' (5 samples: index 0, 1, 2, 3, 4)",
    )
    assert {(one.difficulty, one.tags) for one in map(tidied, samples)} == {("medium", ("warm light",))}
    assert tidied(sample(0, category=" Physical ")).category == "physical"


def test_a_label_beside_a_frequent_one_is_named_and_left() -> None:
    samples = [sample(n, difficulty="easy") for n in range(10)] + [sample(10, difficulty="esay")]
    samples += [sample(11, difficulty="Easy")]
    assert lint(samples) == (
        "difficulty 'esay' (1 sample: index 10) may mean 'easy' (10 samples): left unchanged",
        "difficulty 'Easy' (1 sample: index 11) may mean 'easy' (10 samples): left unchanged",
    )
    levels = [sample(n, difficulty="level 1") for n in range(10)] + [sample(10, difficulty="level 2")]
    words = [sample(n, difficulty=("subject-remove", "subject-replace")[n % 2]) for n in range(10)]
    assert lint(levels) == lint(words) == ()


def test_sets_of_unequal_size() -> None:
    samples = [sample(n, category="add" if n else "remove", instructions={"en": "x"}) for n in range(4)]
    samples[1] = sample(1, instructions={"en": "x", "zh": "y"})
    unequal, language = lint(samples)
    assert unequal.startswith("categories are of unequal size, 'add' 3 to 'remove' 1: the mean over samples weights")
    assert language == "only 1 of 4 samples have an instruction in `zh`"


def test_the_same_edit_twice() -> None:
    twice = {"pictures": sample(0).pictures, "instruction": "add a  Hat."}
    (note,) = lint([sample(0), sample(1, **twice), sample(2, **twice, fault="bad")])
    assert note == "index 1 ('s1') repeats index 0 ('s0') (same picture and instruction): both count"


def test_what_differs_only_in_names_and_numbers_is_said_once() -> None:
    said = [f"index {n} ('s{n}'): source 'a{n}.png' calls itself 'png' and is jpg" for n in range(8)]
    assert lint([], [*said, "columns"]) == (
        f"{said[0]} (likewise 7 samples: index 1, 2, 3, 4, 5 and 2 more)",
        "columns",
    )
