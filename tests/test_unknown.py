"""What is not known is never taken for a number, for "no", or for less than something."""

import operator
from collections.abc import Callable
from typing import Any

import pytest

from edit_eval.records import Unknown

USES: list[Callable[[Any], object]] = [
    bool,
    float,
    int,
    lambda x: x < 1,
    lambda x: x > 1,
    lambda x: x >= 1,
    lambda x: sum([x]),
    lambda x: max(1, x),
    lambda x: sorted([x, x]),
    lambda x: [1][x],
    *(lambda x, do=do: do(x, 1) for do in (operator.add, operator.sub, operator.mul, operator.truediv)),
    *(lambda x, do=do: do(1, x) for do in (operator.add, operator.sub, operator.mul, operator.truediv)),
]


@pytest.mark.parametrize("use", USES)
def test_whoever_has_no_branch_for_it_fails_where_it_stands(use: Callable[[Any], object]) -> None:
    with pytest.raises(TypeError, match="nobody was asked"):
        use(Unknown("nobody was asked"))


def test_it_is_itself_and_has_a_reason() -> None:
    assert Unknown("a") == Unknown("a") != Unknown("b")
    assert Unknown("a") is not None
    assert Unknown("a").to_json() == {"unknown": "a"}
