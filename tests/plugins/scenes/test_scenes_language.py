"""The grammar of the instructions, forwards and backwards."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edit_eval.plugins.scenes.in_worker.edits import ACTIONS, Edit, Reference
from edit_eval.plugins.scenes.in_worker.language import (
    COLOURS_ZH,
    LANGUAGES,
    NOUNS,
    RATIONALES,
    RULES,
    language_of,
    phrase,
    read,
    read_phrase,
    write,
)
from edit_eval.plugins.scenes.in_worker.scenarios import plan

KINDS = sorted(NOUNS)
COLOURS = sorted(COLOURS_ZH)


@st.composite
def plain(draw: st.DrawFn) -> Reference:
    kind = draw(st.sampled_from(KINDS))
    size = "" if kind == "person" else draw(st.sampled_from(["", "small", "large"]))
    return Reference(kind, draw(st.sampled_from(["", *COLOURS])), size)


@st.composite
def references(draw: st.DrawFn) -> Reference:
    base = draw(plain())
    how = draw(st.sampled_from(["plain", "side", "superlative", "relation"]))
    parts = (base.kind, base.colour, base.size)
    if how == "side":
        return Reference(*parts, ranking=draw(st.sampled_from(["left", "right"])), rank=draw(st.integers(1, 6)))
    if how == "superlative":
        ranking = draw(st.sampled_from(["largest", "smallest", "nearest", "farthest"]))
        return Reference(*parts, ranking=ranking)
    if how == "relation":
        relations = ["left", "right", "front", "behind", "next", "on", "under", "between"]
        return Reference(*parts, relation=draw(st.sampled_from(relations)), anchor=draw(plain()))
    return base


@given(references(), st.sampled_from(LANGUAGES))
def test_every_phrase_is_read_back(reference: Reference, language: str) -> None:
    assert read_phrase(phrase(reference, language), language) == reference


@given(references(), plain(), plain(), st.sampled_from(["left", "right", "front", "behind", "on"]), st.booleans())
def test_every_sentence_about_places_is_read_back(
    target: Reference, anchor: Reference, new: Reference, relation: str, adds: bool
) -> None:
    if adds:
        edit = Edit("add", None, relation, anchor, new.kind, new.colour, new.size)
    else:
        edit = Edit("move", target, relation, anchor)
    for language in LANGUAGES:
        for variant in range(3):
            assert read(write(edit, language, variant)) == edit


@given(references(), st.sampled_from(COLOURS), plain())
def test_every_sentence_about_a_thing_is_read_back(target: Reference, colour: str, new: Reference) -> None:
    edits = [
        Edit("recolour", target, value=colour),
        Edit("remove", target),
        Edit("resize", target, value="larger"),
        Edit("material", target, value="wood"),
        Edit("replace", target, kind=new.kind, colour=new.colour, size=new.size),
    ]
    for edit in edits:
        for language in LANGUAGES:
            for variant in range(3):
                assert read(write(edit, language, variant)) == edit


@pytest.mark.parametrize("index", range(50))
def test_every_instruction_of_the_benchmark_is_read_back(index: int) -> None:
    for seed in range(3):
        edit = plan(index, seed, 256, 192).edit
        for language in LANGUAGES:
            for variant in range(3):
                sentence = write(edit, language, variant)
                assert read(sentence) == edit, sentence
                assert language_of(sentence) == language


@pytest.mark.parametrize(
    ("sentence", "edit"),
    [
        ("remove  the Red ball", Edit("remove", Reference("ball", "red"))),
        ("Remove the red ball!", Edit("remove", Reference("ball", "red"))),
        ("移除红色球", Edit("remove", Reference("ball", "red"))),
        (" 移除 红色的球 。", Edit("remove", Reference("ball", "red"))),
        (
            "Paint the second red ball from the left blue.",
            Edit("recolour", Reference("ball", "red", ranking="left", rank=2), value="blue"),
        ),
        (
            "把从左数第二个红色的球涂成蓝色。",
            Edit("recolour", Reference("ball", "red", ranking="left", rank=2), value="blue"),
        ),
        ("Switch on the leftmost street lamp.", Edit("switch_on", Reference("lamp", ranking="left"))),
        ("Let it rain", Edit("weather", value="rain")),
        ("让天下起雨来", Edit("weather", value="rain")),
    ],
)
def test_sentences_as_people_write_them(sentence: str, edit: Edit) -> None:
    assert read(sentence) == edit


@pytest.mark.parametrize(
    "sentence",
    [
        "",
        "Hello.",
        "Remove ball.",
        "Remove the crimson ball.",
        "Remove the red dragon.",
        "Paint the ball loud.",
        "Light the house.",
        "移除红色的龙。",
        "你好。",
        "Add the red ball to the left of the box.",
    ],
)
def test_other_sentences_are_refused(sentence: str) -> None:
    with pytest.raises(ValueError, match="no sentence"):
        read(sentence)


def test_every_action_can_be_said_and_explained() -> None:
    assert {rule.action for rule in RULES} == set(RATIONALES) == ACTIONS


def test_no_sentence_means_two_things() -> None:
    for language in LANGUAGES:
        sentences = [sentence for rule in RULES for sentence in getattr(rule, language)]
        assert len(sentences) == len(set(sentences))
