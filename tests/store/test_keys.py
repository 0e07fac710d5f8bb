"""What is part of a key, and what is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edit_eval.config.identity import Identity, digest
from edit_eval.protocols.contract import Question, Score, View, earlier
from edit_eval.records import Picture, Reply, Scale
from edit_eval.store.cells import EDIT_SEED_STRIDE, SCHEMA, edit_key, replay_key, reply_key
from edit_eval.store.matrix import Matrix
from small_matrix import Asking, ask, asked_judge, give_reply, imagined_edit, small_matrix, small_sample, small_samples

MODEL = Identity("mine", "qwen_image_edit", "abc", {"num_inference_steps": 50, "true_cfg_scale": 4.0}, seed=7)


# -- of edits --


def test_what_decides_the_pixels_decides_the_key() -> None:
    key = edit_key(MODEL, ["source"], "make it red", 3)
    others = {
        edit_key(MODEL, ["other source"], "make it red", 3),
        edit_key(MODEL, ["source", "second"], "make it red", 3),
        edit_key(MODEL, ["source"], "make it blue", 3),
        edit_key(MODEL, ["source"], "make it red", 4),
        edit_key(replace(MODEL, revision="def"), ["source"], "make it red", 3),
        edit_key(replace(MODEL, type="other"), ["source"], "make it red", 3),
        edit_key(replace(MODEL, parameters={"num_inference_steps": 15}), ["source"], "make it red", 3),
    }
    assert len(others) == 7
    assert key not in others
    assert edit_key(MODEL, ["a", "b"], "", 3) != edit_key(MODEL, ["b", "a"], "", 3)


def test_names_and_the_order_of_parameters_do_not() -> None:
    key = edit_key(MODEL, ["source"], "make it red", 3)
    assert key == edit_key(replace(MODEL, name="renamed"), ["source"], "make it red", 3)
    turned = dict(reversed([*MODEL.parameters.items()]))
    assert key == edit_key(replace(MODEL, parameters=turned), ["source"], "make it red", 3)


def test_what_an_edit_model_is_not_told_is_not_in_the_key_of_its_edit() -> None:
    def key(**changed: Any) -> str:
        return small_matrix([small_sample(0, **changed)]).edit_keys[0]

    first = key()
    reference = {"source": small_sample(0).pictures["source"], "reference": Picture(path="r.png", digest="r")}
    for same in ({"id": "other"}, {"category": "social"}, {"pictures": reference}, {"facts": {"a": 1}}):
        assert key(**same) == first, same
    second = {"source": small_sample(0).pictures["source"], "source_2": Picture(path="2.png", digest="2")}
    different = [{"instruction": "x"}, {"index": 9}, {"pictures": second}]
    assert len({first, *(key(**change) for change in different)}) == 4


def test_a_seed_is_the_sample_s_whatever_the_filter() -> None:
    whole = small_matrix(9, seed=40, edit_seeds=2)
    part = small_matrix(small_samples(9)[4:6], seed=40, edit_seeds=2)
    assert [e.seed for e in part.edits] == [44, 45, 44 + EDIT_SEED_STRIDE, 45 + EDIT_SEED_STRIDE]
    assert {*part.edit_keys} <= {*whole.edit_keys}


def test_the_key_of_a_follower_has_that_of_the_edit_before() -> None:
    def keys(first: str, turns: dict[int, int]) -> list[str]:
        samples = small_samples(3, follows=turns)
        return small_matrix([replace(samples[0], instruction=first), *samples[1:]]).edit_keys

    here, changed = keys("a", {1: 0, 2: 1}), keys("b", {1: 0, 2: 1})
    assert [key == other for key, other in zip(here, changed, strict=True)] == [False, False, False]
    beside = keys("a", {1: 0, 2: 0})
    assert [key == other for key, other in zip(here, beside, strict=True)] == [True, True, False]
    assert keys("a", {0: 1, 1: 2})[2] == small_matrix(3).edit_keys[2], "whatever the order"
    two = small_matrix(small_samples(2, follows={1: 0}), models=("a", "b"), edit_seeds=2).edit_keys
    assert len({*two}) == 8, "each follows its own model's, of the same seed"


def test_keys_do_not_change_between_versions_by_accident() -> None:
    assert edit_key(MODEL, ["s"], "环境", 3) == "c62323a1c1db02ba14e4ade595dc6e88186bc8faaaa3205210dc7e2f80ef588f"
    assert reply_key(MODEL, "asked", "pixels", 3) == "773ecebd53b00244629f73e242f32fd0f1349da2865acf782f8561dfbcb95a12"
    assert (
        replay_key(MODEL, ("s", "m", 0, "q", 0, 0))
        == "a10200f63c3d2dce403db4d7469a70b7b8dbf5295c66f1f682d1dc11ea0feee5"
    )


@given(st.lists(st.text(), max_size=3), st.text(), st.integers())
def test_keys_are_digests_of_canonical_json(sources: Sequence[str], other: str, number: int) -> None:
    written = ["edit", SCHEMA, MODEL.digest, list(sources), other, number]
    assert edit_key(MODEL, sources, other, number) == digest(written)
    asked = digest("asked")
    assert reply_key(MODEL, asked, other, number) == digest(["reply", SCHEMA, MODEL.digest, asked, other, number])


def test_half_of_a_surrogate_pair_has_a_key() -> None:
    assert edit_key(MODEL, ["s"], "\ud83d", 3) == digest(["edit", SCHEMA, MODEL.digest, ["s"], "\ud83d", 3])


# -- of replies --


def keys(*questions: Question, shown: str = "pixels", said: str = "7", matrix: Matrix | None = None, **more: Any):
    """The keys of all questions about one edit, by their names; each was answered with `said`."""
    matrix = matrix or small_matrix([small_sample(0)], protocol=Asking(questions), **more)
    matrix.set_edit(0, imagined_edit(matrix, 0, shown))
    by_question = {}
    for cell in range(len(matrix.cells)):
        by_question[matrix.address(cell)[5]] = matrix.key(cell)
        give_reply(matrix, cell, Reply(text=said))
    return by_question


def test_a_changed_wording_asks_that_question_again_and_no_other() -> None:
    first, other = ask("first"), ask("other")
    before = keys(first, other)
    after = keys(replace(first, user="else: 1"), other)
    assert (before["first"] == after["first"], before["other"] == after["other"]) == (False, True)
    for change in ({"system": "Be kind."}, {"form": "score"}, {"shows": (View(picture="edit"),)}):
        assert keys(replace(first, **change))["first"] != before["first"], change


def test_where_the_system_prompt_ends_is_part_of_the_key() -> None:
    assert keys(ask("a", system="ab", user="c")) != keys(ask("a", system="a", user="bc"))


def test_names_and_the_line_for_asking_again_and_scores_are_in_no_key() -> None:
    question = ask("first", user="Rate it.")
    key = keys(question)["first"]
    renamed = replace(question, name="renamed", gives=("other",))
    assert keys(renamed)["renamed"] == key
    assert keys(replace(question, again="Write a number."))["first"] == key
    doubled = Score(scale=Scale(lowest=0, highest=20), of=lambda sample, values: 2 * sum(values.values()))
    again = small_matrix([small_sample(0)], protocol=Asking([question], scores={"mean": doubled}))
    assert keys(matrix=again)["first"] == key
    assert again.judgement(0).scores == {"mean": 14.0}, "an answer that is there is scored anew"
    labels = tuple(View(picture=view.picture, label=f"the {view.picture}") for view in question.shows)
    assert keys(replace(question, shows=labels))["first"] == key


def test_judges_repeats_and_readings_are_asked_for_themselves() -> None:
    matrix = small_matrix(2, judges=("x", "y"), repeats=2, readings=3)
    for number in range(2):
        matrix.set_edit(number, imagined_edit(matrix, number, "equal"))
    cell_keys = [matrix.key(cell) for cell in range(len(matrix.cells))]
    assert len(cell_keys) == len({*cell_keys}) == 2 * 2 * 2 * 3, "equal pixels, but the samples' instructions differ"
    assert [matrix.seed(cell) for cell in range(6)] == [0, 1, 2, 1_000_000, 1_000_001, 1_000_002]


def test_a_question_about_the_edit_alone_is_one_for_all_samples() -> None:
    quality = ask("quality", user="How natural?", shows=(View(picture="edit"),))
    matrix = small_matrix(2, protocol=Asking([quality]))
    for number in range(2):
        matrix.set_edit(number, imagined_edit(matrix, number, "equal"))
    assert matrix.key(0) == matrix.key(1)


@pytest.mark.parametrize(
    ("shows", "depends"),
    [
        ((View(picture="edit"),), True),
        ((View(picture="source"),), False),
        ((View(picture="source", steps=(("like", "edit"),)),), True),
        ((View(picture="source", steps=(("longest", 9),)),), False),
    ],
)
def test_an_edit_is_in_the_key_where_it_is_shown_or_gives_its_size(shows: tuple[View, ...], depends: bool) -> None:
    question = ask("first", shows=shows)
    assert (keys(question, shown="a") != keys(question, shown="b")) is depends


def test_a_picture_is_in_the_key_where_it_is_shown_or_gives_its_size() -> None:
    def key(digest: str, *views: View) -> str:
        pictures = {"source": Picture(path="s.png", digest="s"), "reference": Picture(path="r.png", digest=digest)}
        matrix = small_matrix([small_sample(0, pictures=pictures)], protocol=Asking([ask("first", shows=views)]))
        return str(keys(matrix=matrix)["first"])

    edit, steps = View(picture="edit"), (("like", "reference"),)
    assert key("a", edit) == key("b", edit)
    assert key("a", edit, View(picture="reference")) != key("b", edit, View(picture="reference"))
    like = View(picture="edit", steps=steps)
    assert key("a", like) != key("b", like)
    assert key("a", edit) != key("a", like)


def test_a_question_after_another_has_the_reply_in_its_key() -> None:
    questions = ask("list", gives=()), ask("rate", user="Rate {list}, {other}.", after=("list",))
    assert keys(*questions, said="7")["rate"] == keys(*questions, said="7")["rate"]
    assert keys(*questions, said="8")["rate"] != keys(*questions, said="7")["rate"]
    assert keys(*questions, said="8")["list"] == keys(*questions, said="7")["list"]
    filled = keys(ask("rate", user="Rate 7, {other}."))["rate"]
    assert keys(*questions, said="7")["rate"] == filled, "as it is put to the judge"
    assert keys(*questions, said="7", shown="b")["rate"] != filled


def test_a_follower_is_judged_beside_the_edit_that_it_was_made_of() -> None:
    def key(before: str) -> str:
        matrix = small_matrix(small_samples(2, follows={1: 0}), protocol=Asking([ask("first", user="Rate it.")]))
        matrix.set_edit(0, imagined_edit(matrix, 0, before))
        matrix.set_edit(1, imagined_edit(matrix, 1, "same"))
        return matrix.key(1)

    assert key("a") != key("b")


def test_a_follower_can_be_held_against_the_source_of_the_first_turn_or_the_edit_of_the_last() -> None:
    def shown(against: str, second: str = "b") -> tuple[str, str]:
        shows = (earlier(against), View("edit"))
        samples = small_samples(3, follows={1: 0, 2: 1})
        matrix = small_matrix(samples, protocol=Asking([ask("kept", user="Rate it.", shows=shows)]))
        for number, pixels in enumerate(("a", second, "c")):
            matrix.set_edit(number, imagined_edit(matrix, number, pixels))
        assert matrix.question(2).shows[0].name == "source"
        return matrix.pictures(2)[against].key_part, matrix.key(2)

    assert [shown(against)[0] for against in ("first", "last", "source")] == ["digest-0", "b", "b"]
    assert shown("first")[1] == shown("first", "x")[1] != shown("last")[1]
    assert shown("last")[1] != shown("last", "x")[1]


def test_a_control_has_a_key_of_what_it_shows() -> None:
    matrix = small_matrix(3, controls=1, protocol=Asking([ask("first", user="Rate it.")]))
    for number in range(3):
        matrix.set_edit(number, imagined_edit(matrix, number))
    first = matrix.cells.cells_of_subject(3).start
    source, blank, shuffled = (matrix.key(cell) for cell in range(first, first + 3))
    assert len({source, blank, shuffled, matrix.key(0), matrix.key(1)}) == 5
    other = small_matrix([small_sample(0), small_sample(1)], protocol=Asking([ask("first", user="Rate it.")]))
    other.set_edit(0, imagined_edit(other, 0, "pixels-1"))
    assert other.key(0) == shuffled, "as if it were the sample's own edit"


def test_what_was_given_elsewhere_is_known_by_its_address() -> None:
    judge = asked_judge("replays", Asking([ask("first")]), replays=True)
    matrix = small_matrix(2, judges=[judge], models=("a", "b"), repeats=2)
    for number in range(4):
        matrix.set_edit(number, imagined_edit(matrix, number, "equal"))
    cell_keys = [matrix.key(cell) for cell in range(len(matrix.cells))]
    assert len({*cell_keys}) == len(cell_keys)
    matrix.set_edit(0, imagined_edit(matrix, 0, "another"))
    assert matrix.key(0) == cell_keys[0]
    reworded = asked_judge("replays", Asking([ask("first", user="else")]), replays=True)
    again = small_matrix(2, judges=[reworded], models=("a", "b"), repeats=2)
    again.set_edit(0, imagined_edit(again, 0))
    assert again.key(0) == cell_keys[0]
