"""What a judge returned, as results: of what is too long the beginning, and never more than was asked for."""

from __future__ import annotations

import pytest

from edit_eval.errors import ModelError
from edit_eval.records import Reply, Status
from edit_eval.workers.replies import KEPT, LONGEST_REPLY, as_results


def test_texts_and_replies_in_their_order() -> None:
    replies = ["8", Reply("9"), Reply("1", Status.CUT_OFF), Reply("no", Status.REFUSED)]
    assert as_results(replies, 4) == [
        {"text": "8"},
        {"text": "9"},
        {"text": "1", "ended": "cut_off"},
        {"text": "no", "ended": "refused"},
    ]


def test_the_longest_is_whole_and_a_longer_one_is_cut_off_whatever_it_says_of_itself() -> None:
    (whole,) = as_results(["x" * LONGEST_REPLY], 1)
    assert whole == {"text": "x" * LONGEST_REPLY}
    for reply in ("x" * (LONGEST_REPLY + 1), Reply("x" * (LONGEST_REPLY + 1), Status.REFUSED)):
        assert as_results([reply], 1) == [{"text": "x" * KEPT, "ended": "cut_off", "length": LONGEST_REPLY + 1}]


@pytest.mark.parametrize("replies", ["8", None, ["8", "8"], [], [8], [Reply(8)]])  # type: ignore[arg-type]
def test_what_is_no_answer_is_never_taken_for_one(replies: object) -> None:
    with pytest.raises(ModelError):
        as_results(replies, 1)
