"""Answers as JSON: what a schema asks for is what is read, and nothing else is."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edit_eval.judges.answers import NoAnswer
from edit_eval.protocols.contract import Missing
from edit_eval.protocols.replies import WORDS, entries_of, list_schema, number, object_schema, one_of, read_object

SCHEMA = object_schema({"why": WORDS, "done": one_of("A", "B"), "light": number(-1, 1), "shape": number(-1, 1)})
WHOLE = {"why": "it fits", "done": "A", "light": 0.25, "shape": -1}
NUMBERS = {"done": "A", "light": 0.25, "shape": -1.0}


def text(**changes):
    return json.dumps({name: value for name, value in {**WHOLE, **changes}.items() if value is not ...})


def test_a_schema_says_what_is_written_in_which_order_and_that_nothing_else_is():
    plain = json.loads(SCHEMA)
    assert list(plain["properties"]) == plain["required"] == ["why", "done", "light", "shape"]
    assert plain["additionalProperties"] is False
    assert plain["properties"]["done"] == {"type": "string", "enum": ["A", "B"]}
    assert plain["properties"]["light"] == {"type": "number", "minimum": -1, "maximum": 1}
    listed = json.loads(list_schema("score", number(1, 5, whole=True), 3, "reasoning"))["properties"]
    assert list(listed) == ["reasoning", "score"]
    entry = {"type": "integer", "minimum": 1, "maximum": 5}
    assert listed["score"] == {"type": "array", "items": entry, "minItems": 3, "maxItems": 3}


@pytest.mark.parametrize(
    "said",
    [
        text(),
        f"First I look. {text()} That is all.",
        json.dumps({name: WHOLE[name] for name in ("shape", "light", "done", "why")}),
        f"{text()}\n{text()}",
        text(why="line\nbreak"),
        text(light="0.25", done=" A "),
    ],
)
def test_the_object_is_read_wherever_it_stands_and_in_any_order(said):
    assert read_object(said, SCHEMA)[0] == NUMBERS


def test_the_words_are_kept():
    assert read_object(text(), SCHEMA)[1] == "it fits"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("0.25", "has no JSON object"),
        (text(light=...), "lacks `light`"),
        (text(score=7), "has another entry, `score`"),
        (text(done="C"), "`done` is none of A, B: `C`"),
        (text(done="A: all of it"), "`done` is none of A, B"),
        (text(done="a"), "`done` is none of A, B"),
        (text(done=1), "`done` is none of A, B"),
        (text(light="a bit"), "is not a number"),
        (text(light=True), "is not a number"),
        (text(light=None), "is not a number"),
        (text(light=[0.25]), "is not a number"),
        (text()[:-1], "without a complete JSON object"),
        ('{"why": "", "done": "A", "light": +0.25, "shape": 0}', "without a complete JSON object"),
        ('{"why": "", "done": "A", "light": NaN, "shape": 0}', "without a complete JSON object"),
        (text() + text(shape=1), "different JSON objects"),
        ('{"why": "", "done": "A", "light": 0, "light": 1, "shape": 0}', "a name occurs twice"),
        ('{"why": "a", "why": "b", "done": "A", "light": 0, "shape": 0}', "`why` occurs twice"),
    ],
)
def test_anything_else_is_no_answer(said, why):
    with pytest.raises(NoAnswer) as caught:
        read_object(said, SCHEMA)
    assert why in str(caught.value)


@pytest.mark.parametrize("outside", [1.001, -1.5, "2"])
def test_what_is_out_of_range_is_not_brought_into_it(outside):
    with pytest.raises(Missing, match="outside -1 to 1"):
        read_object(text(light=outside), SCHEMA)


@given(
    st.fixed_dictionaries(
        {
            "why": st.text(max_size=30),
            "done": st.sampled_from("AB"),
            "light": st.floats(-1, 1),
            "shape": st.sampled_from([-1, 0, 1, 0.125]),
        }
    )
)
def test_whatever_a_server_that_holds_to_the_schema_writes_is_read(value):
    values, words = read_object(json.dumps(value), SCHEMA)
    assert values == {name: value[name] for name in ("done", "light", "shape")}
    assert words == value["why"]


@given(st.text(max_size=60))
def test_of_any_other_text_it_says_why_it_is_none(said):
    with pytest.raises((NoAnswer, Missing)):
        read_object(said, SCHEMA)


def test_entries_keep_their_order():
    assert list(entries_of(SCHEMA)) == ["why", "done", "light", "shape"]
