"""Which samples take part: filters, a limit a category, bad samples named; what is odd about them and no fault."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import pytest

from edit_eval.benchmarks.contract import CATEGORIES, SUBSETS, canonical, title
from edit_eval.benchmarks.selection import (
    check_unicode,
    filter_samples,
    lint,
    refuse_bad,
    refuse_nothing,
    tidy_labels,
    with_predecessors,
)
from edit_eval.errors import BenchmarkError, ConfigurationError
from edit_eval.records import Picture, Sample
from edit_eval.reporting.language import translate
from edit_eval.text import Text
from edit_eval.verbs.command_line import words


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
    assert [s.index for s in filter_samples(SAMPLES, **filters)] == chosen


def test_a_limit_comes_after_the_filters_and_counts_bad_samples() -> None:
    """Otherwise a mended sample would push another one out of the run."""
    bad = (sample(0, "physical", "easy", fault="cut off"), *SAMPLES[2:4])
    assert [s.index for s in filter_samples(bad, limit=1)] == [0]


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
        filter_samples(SAMPLES, **filters)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("filters", [{"tags": ["x"]}, {"sample_ids": ["s0"], "difficulty": ["hard"]}])
def test_the_file_in_which_a_filter_finds_nothing_is_named(filters: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=r"no sample of data/pairs\.json (has|passes)"):
        filter_samples(SAMPLES, **filters, source="data/pairs.json")


def test_what_a_chosen_sample_follows_is_chosen_in_the_benchmarks_order() -> None:
    turns = [
        replace(SAMPLES[n], follows=follows) for n, follows in ((0, ""), (1, "s0"), (2, "s1"), (3, "gone"), (4, ""))
    ]
    for filters, chosen in (
        ({"sample_ids": ["s2"]}, [0, 1, 2]),
        ({"limit": 1}, [0, 1, 4]),
        ({"sample_ids": ["s3"]}, [3]),
    ):
        assert [turn.index for turn in with_predecessors(turns, filter_samples(turns, **filters))] == chosen


def test_a_benchmark_without_any_tags_says_so() -> None:
    with pytest.raises(ConfigurationError, match="no sample has `x`, since no sample has any; leave it out"):
        filter_samples(SAMPLES[3:4], tags=["x"])


def test_a_long_list_of_ids_is_cut() -> None:
    many = [sample(n, "physical", "easy") for n in range(200)]
    with pytest.raises(ConfigurationError, match=r"there are: s0, s1, s10, s100, s101, s102, s103, s104, \.\.\.$"):
        filter_samples(many, sample_ids=["x"])


def test_an_empty_benchmark_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="no sample"):
        filter_samples(())


def test_bad_samples_are_all_named() -> None:
    refuse_bad(SAMPLES)
    with_one = (*SAMPLES, sample(6, "social", "", fault="bad base64"))
    with pytest.raises(BenchmarkError) as caught:
        refuse_bad(with_one)
    assert str(caught.value) == ("sample 6 (s6): bad base64; fix the file, or set `benchmark.on_bad_sample: skip`")
    with_two = (sample(7, "social", "", fault="cut off"), *with_one)
    said = r"^pairs\.json: sample 7 \(s7\): cut off \(and 1 more bad sample\); fix"
    with pytest.raises(BenchmarkError, match=said) as caught:
        refuse_bad(with_two, "pairs.json")
    assert caught.value.faults == ("sample 7 (s7): cut off", "sample 6 (s6): bad base64")
    with pytest.raises(BenchmarkError, match="and 2 more bad samples"):
        refuse_bad((*with_two, sample(8, "social", "", fault="gone")))


def test_nothing_but_bad_samples_is_refused_and_one_good_one_is_enough() -> None:
    bad = (sample(0, "physical", "easy", fault="truncated"), sample(1, "social", "hard", fault="not a picture"))
    with pytest.raises(BenchmarkError, match=r"^no sample can be used, so there is nothing to edit\. The first: trunc"):
        refuse_nothing(bad)
    refuse_nothing((*bad, sample(2, "social", "hard")))


def test_the_file_of_an_empty_benchmark_has_its_own_name() -> None:
    with pytest.raises(ConfigurationError, match="no sample in /home/bag of tricks;"):
        filter_samples((), source="/home/bag of tricks")


def labelled(index: int, **about: Any) -> Sample:
    source = Picture(path="s.png", digest=f"{index:064}")
    usual = {"id": f"s{index}", "pictures": {"source": source}, "instruction": "Add a hat.", "category": "add"}
    return Sample(index=index, **{**usual, **about})


def test_nothing_is_said_of_samples_that_are_as_they_should_be() -> None:
    samples = [labelled(n, category=("add", "remove")[n % 2], difficulty="easy", tags=("a",)) for n in range(6)]
    assert lint(samples) == ()
    assert tidy_labels(samples[0]) is samples[0]


def test_labels_with_space_around_them_are_taken_without_it() -> None:
    samples = [labelled(n, difficulty=("medium", " medium")[n == 3], tags=(" warm  light",)) for n in range(5)]
    assert lint(samples) == (
        "difficulty ' medium' is taken as 'medium' (1 sample: 's3')",
        "tag ' warm  light' is taken as 'warm light' (5 samples: 's0', 's1', 's2', 's3', 's4')",
    )
    assert {(tidy.difficulty, tidy.tags) for tidy in map(tidy_labels, samples)} == {("medium", ("warm light",))}
    assert tidy_labels(labelled(0, category=" Physical ")).category == "physical"


def test_a_label_beside_a_frequent_one_is_named_and_left() -> None:
    samples = [labelled(n, difficulty="easy") for n in range(10)] + [labelled(10, difficulty="esay")]
    samples += [labelled(11, difficulty="Easy")]
    assert lint(samples) == (
        "difficulty 'esay' (1 sample: 's10') may mean 'easy' (10 samples): left unchanged",
        "difficulty 'Easy' (1 sample: 's11') may mean 'easy' (10 samples): left unchanged",
    )
    levels = [labelled(n, difficulty="level 1") for n in range(10)] + [labelled(10, difficulty="level 2")]
    words = [labelled(n, difficulty=("subject-remove", "subject-replace")[n % 2]) for n in range(10)]
    assert lint(levels) == lint(words) == ()


def test_sets_of_unequal_size() -> None:
    samples = [labelled(n, category="add" if n else "remove", instructions={"en": "x"}) for n in range(4)]
    samples[1] = labelled(1, instructions={"en": "x", "zh": "y"})
    unequal, language = lint(samples)
    assert unequal.startswith("categories are of unequal size, 'add' 3 to 'remove' 1: the mean over samples weights")
    assert language == "only 1 of 4 samples have an instruction in `zh`"


def test_the_same_edit_twice() -> None:
    twice = {"pictures": labelled(0).pictures, "instruction": "add a  Hat."}
    (note,) = lint([labelled(0), labelled(1, **twice), labelled(2, **twice, fault="bad")])
    assert note == "sample 's1' repeats 's0' (same picture and instruction): both count"


def test_what_differs_only_in_names_and_numbers_is_said_once() -> None:
    said = [f"sample 's{n}': source 'a{n}.png' calls itself 'png' and is jpg" for n in range(8)]
    assert lint([], [*said, "columns"]) == (
        f"{said[0]} (likewise 7 samples: 's1', 's2', 's3', 's4', 's5' and 2 more)",
        "columns",
    )


@pytest.mark.parametrize("category", CATEGORIES)
def test_every_spelling_is_the_canonical_name(category):
    for name in (category, category.capitalize(), category.upper(), f" {category} ", SUBSETS[category]):
        assert canonical(name) == category
    assert title(category, "en") != title(category, "zh")
    assert title(SUBSETS[category], "zh") == title(category, "zh")


def test_other_names_come_back_unchanged():
    for name in ("Typography", "排版", "", " x "):
        assert canonical(name) == name
        assert title(name, "zh") == name


def test_an_unknown_language_has_the_english_titles():
    assert title("causal", "fr") == title("causal", "en")


@pytest.mark.parametrize(
    "broken",
    [
        {"id": "a\ud800"},
        {"instruction": "Add \udc00."},
        {"tags": ("\ud83c",)},
        {"facts": {"rule": ["\ud800"]}},
        {"instructions": {"zh": "\ud800"}},
    ],
)
def test_half_a_character_is_a_fault_that_can_be_written_down(broken: dict[str, Any]) -> None:
    good = labelled(4, tags=("夜",), facts={"rule": "光"})
    assert check_unicode(good) is good
    bad = check_unicode(replace(good, **broken))
    assert bad.fault.startswith(f"{next(iter(broken))} has half of a surrogate pair")
    repr(asdict(bad)).encode()
    with pytest.raises(BenchmarkError, match=r"^sample 4 \((s4|a\\ud800)\): "):
        refuse_bad([bad])


def test_a_note_alone_of_its_kind_keeps_its_words() -> None:
    note = Text("categories are of unequal size, {} {} to {} {}: {}", "'a'", 3, "'b'", 1, "x")
    assert translate(next(iter(lint([], [note]))), "zh") == translate(note, "zh") != note


def test_a_category_with_a_comma_is_named_in_quotes() -> None:
    assert words('"cut, paste",move , 5"') == ["cut, paste", "move", '5"']
    of_two = sample(0, "cut, paste", "")
    assert filter_samples([of_two], categories=words('"cut, paste"') or ()) == (of_two,)
    with pytest.raises(ConfigurationError, match="did you mean `cut, paste`"):
        filter_samples([of_two], categories=words("cut, paste") or ())
