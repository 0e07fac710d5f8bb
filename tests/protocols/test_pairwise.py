"""Two edits in one question: which edits meet, how both orders are put, and what a reply is taken for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edit_eval.config.identity import Identity
from edit_eval.config.recorded import ProtocolSection
from edit_eval.protocols.asked import make_protocol
from edit_eval.protocols.contract import Question, View, fault
from edit_eval.protocols.pairwise import Pairwise, both_orders, choose_pairs
from edit_eval.records import Reading, Reply, Status
from small_matrix import small_sample


def models(*names: str) -> list[Identity]:
    return [Identity(name.lower(), "editor", "", {"of": name.lower()}) for name in names]


def protocol(**parameters: Any) -> Any:
    section = ProtocolSection(
        type="pairwise", class_path="edit_eval.protocols.pairwise:Pairwise", parameters=parameters
    )
    return make_protocol(section, Path())[0]


# -- which edits meet --


def by_name(pairs: Any, identities: list[Identity]) -> set[frozenset[str]]:
    return {frozenset(identities[place].name for place in pair) for pair in pairs}


@settings(max_examples=20, deadline=None)
@given(st.permutations("ABCDEF"), st.integers(0, 99))
def test_a_cycle_links_all_models_whatever_their_order_and_another_model_leaves_most_as_it_was(
    order: list[str], number: int
) -> None:
    sample, listed, shuffled = small_sample(number), models(*"ABCDEF"), models(*order)
    pairs = by_name(choose_pairs("cycles", sample, listed), listed)
    assert pairs == by_name(choose_pairs("cycles", sample, shuffled), shuffled)
    assert len(pairs) == 6
    assert all(sum(model.name in pair for pair in pairs) == 2 for model in listed)
    reached = {"a"}
    for _ in range(6):
        reached |= {name for pair in pairs if pair & reached for name in pair}
    assert len(reached) == 6
    more = models(*"ABCDEFG")
    assert len(pairs - by_name(choose_pairs("cycles", sample, more), more)) == 1
    assert pairs <= by_name(choose_pairs("cycles", sample, listed, rounds=3), listed), (
        "more rounds ask what was asked, and more"
    )


def test_designs_have_the_battles_that_they_say() -> None:
    sample, four = small_sample(0), models(*"ABCD")
    assert len(choose_pairs("all", sample, four)) == 6
    assert choose_pairs("cycles", sample, four[:2]) == [(0, 1)]
    drawn = {frozenset(choose_pairs("cycles", small_sample(n), four)) for n in range(20)}
    assert len(drawn) == 3, "every cycle through four models comes"


# -- both orders --


def test_the_backward_question_shows_the_other_edit_first_under_the_same_labels() -> None:
    question = Question(
        name="q", shows=(View("source"), View("edit", (("like", "other"),), "A"), View("other", label="B"))
    )
    forward, backward = both_orders(question, "better")
    assert (forward.name, backward.name) == ("q.forward", "q.backward")
    assert forward.shows == question.shows
    assert [tuple(view) for view in backward.shows] == [
        ("source", (), "source"),
        ("other", (("like", "edit"),), "A"),
        ("edit", (), "B"),
    ]


@pytest.mark.parametrize("parameters", [{}, {"ties": False}, {"answer": "label"}, {"answer": "probabilities"}])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_question_of_ours_can_be_asked_and_shows_its_two_edits_last(
    parameters: dict[str, Any], language: str
) -> None:
    made = protocol(**parameters, language=language, asks=["overall", "instruction", "restraint", "quality"])
    sample = small_sample(0)
    assert fault(made, sample) == ""
    questions = made.questions(sample)
    assert len(questions) == 8
    for question in questions:
        assert [view.label for view in question.shows][-2:] == ["A", "B"]
        assert "{" not in (question.system + question.user).replace('{"', "")
        assert (" C" in question.system) == parameters.get("ties", True)
        assert (sample.instruction in question.user) == (len(question.shows) == 3)


def test_sources_of_several_pictures_are_all_shown() -> None:
    source = small_sample(0).pictures["source"]
    sample = small_sample(0, pictures={"source": source, "source_2": source, "mask": source})
    shown = [view.picture for view in protocol().questions(sample)[1].shows]
    assert shown == ["source", "source_2", "other", "edit"]


# -- what comes back --


def read(text: str, place: int = 0, **parameters: Any) -> Reading:
    made = protocol(**parameters)
    reading: Reading = made.read(made.questions(small_sample(0))[place], Reply(text=text))
    return reading


def said(label: str) -> str:
    return json.dumps({"reasons": "A is sharper than B", "better": label})


def test_what_is_shown_first_is_turned_into_the_first_edit() -> None:
    assert read(said("A")).values == {"overall.forward": 1.0, "overall.forward.tie": 0.0}
    assert read(said("A"), 1).values == {"overall.backward": 0.0, "overall.backward.tie": 0.0}
    assert read(said("B"), 1).values == {"overall.backward": 1.0, "overall.backward.tie": 0.0}
    assert read(said("C")).values == {"overall.forward": 0.5, "overall.forward.tie": 1.0}
    assert read(said("C"), 1).reason == "A is sharper than B"
    assert read('```json\n{"better": "B"}\n```', answer="label").values["overall.forward"] == 0.0


@pytest.mark.parametrize(
    "text",
    [
        said("Image B"),
        said("Tie - both are equal"),
        said("equal"),
        said("A and B"),
        said("b"),
        said(""),
        "Image B",
        "A",
        "B is better",
        '{"better": "A"}',
        said("A") + said("B"),
        '{"reasons": "", "better": "A", "better": "B"}',
        '{"reasons": "", "better": "A"',
        "",
    ],
)
def test_no_letter_is_taken_out_of_a_word_or_out_of_what_is_no_answer(text: str) -> None:
    assert read(text).status is Status.UNPARSEABLE


def test_a_tie_is_no_answer_where_there_is_none() -> None:
    assert read(said("C"), ties=False).status is Status.UNPARSEABLE
    assert read("I'm sorry, I can't help with comparing these images.").status is Status.REFUSED


def test_probabilities_give_shares_and_half_of_a_tie() -> None:
    made = protocol(answer="probabilities")
    forward, backward = made.questions(small_sample(0))
    reply = Reply(values={"A": 0.5, "B": 0.2, "C": 0.3})
    assert made.read(forward, reply).values == pytest.approx({"overall.forward": 0.65, "overall.forward.tie": 0.3})
    assert made.read(backward, reply).values == pytest.approx({"overall.backward": 0.35, "overall.backward.tie": 0.3})


@pytest.mark.parametrize("wrong", [{"asks": []}, {"asks": ["overall", "overall"]}, {"rounds": 0}])
def test_parameters_that_cannot_be_meant(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=":"):
        Pairwise.Parameters(**wrong)
