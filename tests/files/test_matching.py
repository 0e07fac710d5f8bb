"""Which of our names is which of theirs: the same pairs whatever the order, and in either direction."""

from __future__ import annotations

import random
import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edit_eval.files.matching import likely, match, names_of_path, near
from edit_eval.statistics.people import match_names
from edit_eval.statistics.votes import Rating

ENDINGS = (".png", ".jpg")
PATHS = st.lists(
    st.builds(
        lambda folders, stem, ending: "/".join([*folders, stem]) + ending,
        st.lists(st.sampled_from(["a", "b"]), max_size=2),
        st.sampled_from(["cat", "dog", "é", "10", "9"]),
        st.sampled_from(["", ".png", ".jpg"]),
    ),
    unique=True,
    max_size=8,
)


def pairs(ours: list[str], theirs: list[str]) -> dict[str, str]:
    return dict(
        match({o: names_of_path(o, ENDINGS) for o in ours}, {t: names_of_path(t, ENDINGS) for t in theirs}).pairs
    )


@given(PATHS, PATHS, st.randoms(use_true_random=False))
def test_no_order_of_either_changes_a_pair_and_neither_does_which_is_ours(
    ours: list[str], theirs: list[str], pick: random.Random
) -> None:
    found = pairs(ours, theirs)
    assert len(set(found.values())) == len(found)
    assert pairs(pick.sample(ours, len(ours)), pick.sample(theirs, len(theirs))) == found
    assert pairs(theirs, ours) == {there: here for here, there in found.items()}


@given(PATHS, PATHS, st.sampled_from(["", "x/", "data/2024/"]))
def test_a_folder_around_all_of_them_changes_no_pair_of_full_names(
    ours: list[str], theirs: list[str], around: str
) -> None:
    full = {name for name in ours if name in theirs}
    assert {name: name for name in full}.items() <= pairs(ours, theirs).items()
    moved = pairs(ours, [around + name for name in theirs])
    assert all(moved.get(name, around + name) == around + name for name in full), "never another one's"


@given(PATHS, PATHS, PATHS)
def test_names_that_nothing_of_ours_could_be_called_change_no_pair(
    ours: list[str], theirs: list[str], more: list[str]
) -> None:
    strangers = [f"{name}_overview" for name in more]
    assert pairs(ours, [*theirs, *strangers]) == pairs(ours, theirs)


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        (["day1/cat.jpg", "day2/cat.jpg"], ["cat.png"], {}),
        (["day1/cat.jpg", "day2/cat.jpg"], ["day1/cat.png"], {"day1/cat.jpg": "day1/cat.png"}),
        (["cat"], ["day1/cat.png", "day2/cat.png"], {}),
        (["cat"], ["cat.png", "old/cat.png"], {"cat": "cat.png"}),
        (["cat", "x/cat"], ["cat.png"], {"cat": "cat.png"}),
        (["photos/cat.jpg"], ["cat.png"], {"photos/cat.jpg": "cat.png"}),
        (["../cat"], ["cat.png"], {}),
        (["v1.5"], ["v1.png"], {}),
        (["é"], [unicodedata.normalize("NFD", "é") + ".png"], {"é": unicodedata.normalize("NFD", "é") + ".png"}),
    ],
)
def test_fullest_names_first(ours: list[str], theirs: list[str], expected: dict[str, str]) -> None:
    assert pairs(ours, theirs) == expected


def test_two_that_claim_one_are_named() -> None:
    ours = {name: names_of_path(name, ENDINGS) for name in ("a/cat", "b/cat", "dog")}
    found = match(ours, {name: names_of_path(name, ENDINGS) for name in ("cat.png", "dog.png", "c/dog.png")})
    assert found.why_not("a/cat") == "cat.png is claimed by a/cat and b/cat"
    assert found.pairs == {"dog": "dog.png"}
    assert found.left == ("cat.png", "c/dog.png")
    two = match(
        {"cat": names_of_path("cat", ENDINGS)}, {name: names_of_path(name, ENDINGS) for name in ("cat.png", "cat.jpg")}
    )
    assert two.why_not("cat") == "cat.jpg and cat.png are both called so"


@pytest.mark.parametrize(
    ("name", "there", "meant"),
    [
        ("00007", ["7", "8"], "7"),
        ("Cat", ["dog.png", "cat.png"], "cat.png"),
        ("a", ["zzz"], ""),
        ("hous", ["house"], "house"),
        ("IMG_183212", ["x/img_183212.jpg"], "x/img_183212.jpg"),
        ("IMG_183412", ["IMG_183412-1.jpg"], "IMG_183412-1.jpg"),
        ("IMG_183812", ["IMG_183412.jpg"], ""),  # another number is another picture
        ("00001", ["kontext_1_edited.png"], "kontext_1_edited.png"),
        ("cat", ["cat_a.png", "cat_b.png"], ""),  # which of them, nobody can know
        ("猫", ["猫_改.png"], "猫_改.png"),
    ],
)
def test_what_may_be_meant(name: str, there: list[str], meant: str) -> None:
    assert near(name, there) == meant


@given(PATHS, PATHS, st.randoms(use_true_random=False))
def test_no_two_mean_the_same_and_nothing_is_meant_by_order_alone(
    ours: list[str], theirs: list[str], pick: random.Random
) -> None:
    meant = likely(ours, theirs)
    assert len(set(meant.values())) == len(meant)
    assert meant.items() <= {(mine, its) for mine in ours for its in theirs}
    bare = {name: name.lower() for name in ours if "/" not in name and "." not in name}
    alone = likely(pick.sample([*bare], len(bare)), (f"{name}.PNG" for name in bare.values()))
    assert alone == {name: f"{low}.PNG" for name, low in bare.items()}


NAMES = st.lists(st.sampled_from(["cat", "Cat", "c\u00e1t", "007", "7", "x/cat"]), unique=True, max_size=6)


@given(NAMES, NAMES, st.booleans(), st.randoms(use_true_random=False))
def test_people_are_understood_in_any_order_and_however_their_letters_are_composed(
    ours: list[str], theirs: list[str], decomposed: bool, pick: random.Random
) -> None:
    ratings = [Rating(name, "é", float(place)) for place, name in enumerate(theirs)]
    expected = [rating for rating in ratings if rating.sample_id in ours]
    written = [
        replace(rating, sample_id=unicodedata.normalize("NFD", rating.sample_id), edit_model="e\u0301")
        if decomposed
        else rating
        for rating in ratings
    ]
    found, left = match_names(pick.sample(written, len(written)), pick.sample(ours, len(ours)), ["é"])
    assert sorted((rating for rating in found if rating.sample_id in ours), key=lambda of: of.score) == expected
    assert {rating.edit_model for rating in found} <= {"é"}
    assert bool(left) == (len(expected) < len(ratings))
