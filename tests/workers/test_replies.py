"""What a judge returned, as results: of what is too long the beginning, and never more than was asked for."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest

from edit_eval.errors import ModelError
from edit_eval.records import Reply, Status
from edit_eval.workers.process import KEPT, LONGEST_NAME, LONGEST_REPLY, MOST_VALUES, as_results


def test_texts_and_replies_in_their_order() -> None:
    replies = [
        "8",
        Reply(text="9"),
        Reply(text="1", ended=Status.CUT_OFF),
        Reply(text="no", ended=Status.REFUSED),
        Reply(text="there is no row for it", ended=Status.JUDGE_ERROR, final=True),
        Reply(values={"ssim": 0.5, "l1": 1}),
    ]
    assert as_results(replies, 6) == [
        {"text": "8"},
        {"text": "9"},
        {"text": "1", "ended": "cut_off"},
        {"text": "no", "ended": "refused"},
        {"text": "there is no row for it", "ended": "judge_error", "final": True},
        {"text": "", "values": {"ssim": 0.5, "l1": 1.0}},
    ]


def test_the_longest_is_whole_and_a_longer_one_is_cut_off_whatever_it_says_of_itself() -> None:
    (whole,) = as_results(["x" * LONGEST_REPLY], 1)
    assert whole == {"text": "x" * LONGEST_REPLY}
    for reply in ("x" * (LONGEST_REPLY + 1), Reply(text="x" * (LONGEST_REPLY + 1), ended=Status.REFUSED)):
        assert as_results([reply], 1) == [{"text": "x" * KEPT, "ended": "cut_off", "length": LONGEST_REPLY + 1}]


@pytest.mark.parametrize("replies", ["8", None, ["8", "8"], [], [8], [Reply(text=8)]])  # type: ignore[arg-type]
def test_what_is_no_answer_is_never_taken_for_one(replies: object) -> None:
    with pytest.raises(ModelError):
        as_results(replies, 1)


def test_numbers_of_other_kinds_are_numbers() -> None:
    import numpy

    values = {"a": numpy.float32(0.5), "b": numpy.int64(3), "c": Fraction(1, 4), "d": True + 0}
    (result,) = as_results([Reply(values=values)], 1)  # type: ignore[arg-type]
    assert result["values"] == {"a": 0.5, "b": 3.0, "c": 0.25, "d": 1.0}
    assert {type(value) for value in result["values"].values()} == {float}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"psnr": float("inf")}, "the judge's value `psnr` is inf; leave out undefined values"),
        ({"psnr": 10**400}, "the judge's value `psnr` is inf"),
        ({"psnr": float("nan")}, "the judge's value `psnr` is nan"),
        ({"psnr": "30"}, "the judge's value `psnr` is str, not a number"),
        ({"psnr": None}, "the judge's value `psnr` is NoneType, not a number"),
        ({"psnr": True}, "the judge's value `psnr` is bool, not a number"),
        ({"psnr": Decimal(30)}, "the judge's value `psnr` is Decimal, not a number"),
        ({7: 30.0}, "a value of the judge is named 7, not by a text"),
        ({"": 30.0}, "a value of the judge is named '', not by a text"),
        ({"x" * (LONGEST_NAME + 1): 30.0}, "not by a text of 1 to 200 characters"),
        ([("psnr", 30.0)], "the values of an answer of the judge are list, not numbers by name"),
        (
            {str(number): 0.0 for number in range(MOST_VALUES + 1)},
            "an answer of the judge has 1001 values; at most 1000",
        ),
    ],
    ids=lambda value: str(value)[:30],
)
def test_values_that_are_no_finite_numbers_by_name_are_refused(values: object, said: str) -> None:
    with pytest.raises(ModelError, match=said):
        as_results([Reply(values=values)], 1)  # type: ignore[arg-type]
