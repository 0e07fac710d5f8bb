"""What a trial raises is one line; want of memory is nobody's fault."""

from __future__ import annotations

import pytest
from edit_eval.pretrained.trials import check_near, trial

from edit_eval.errors import LoadError


@pytest.mark.parametrize(
    ("error", "reason"), [(ValueError("a\n  b"), "a b"), (KeyError(), "KeyError"), (OSError("x" * 999), "x" * 300)]
)
def test_one_line(error: Exception, reason: str) -> None:
    with pytest.raises(LoadError) as caught, trial("switch: it cannot be used", "set it to false"):
        raise error
    assert str(caught.value) == f"switch: it cannot be used: {reason}; set it to false"


def test_want_of_memory_passes() -> None:
    class OutOfMemoryError(RuntimeError):
        """As torch calls its own."""

    with pytest.raises(OutOfMemoryError), trial("switch", "advice"):
        raise OutOfMemoryError


def test_how_near_is_near() -> None:
    torch = pytest.importorskip("torch")
    stock = torch.tensor([1.0, -100.0])
    check_near(stock + 1.0, stock, 0.011)
    check_near(torch.zeros(2), torch.zeros(2), 0.01)
    for wrong in (stock + 2.0, stock * float("nan")):
        with pytest.raises(ValueError, match=r"its output differs by \S+ from the stock layer's"):
            check_near(wrong, stock, 0.011)
