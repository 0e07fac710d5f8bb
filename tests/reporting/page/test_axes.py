import pytest

from edit_eval.records import Scale
from edit_eval.reporting.page.axes import Axis, axis_of, step_over


@pytest.mark.parametrize(
    ("scale", "domain", "bin_width", "marks", "form"),
    [
        (Scale(lowest=0, highest=10), [0, 10], 0.5, [0, 2, 4, 6, 8, 10], "d"),
        (Scale(lowest=1, highest=5), [1, 5], 0.2, [1, 2, 3, 4, 5], "d"),
        (Scale(lowest=-1, highest=1), [-1, 1], 0.1, [-1, -0.5, 0, 0.5, 1], ".1f"),
        (Scale(lowest=0, highest=1), [0, 1], 0.05, [0, 0.2, 0.4, 0.6, 0.8, 1], ".1f"),
        (Scale(lowest=0, highest=100), [0, 100], 5, [0, 20, 40, 60, 80, 100], "d"),
        (Scale(), [18, 34], 1, [20, 25, 30], "d"),
        (Scale(lowest=0), [0, 35], 2, [0, 10, 20, 30], "d"),
        (Scale(highest=50), [15, 50], 2, [20, 30, 40, 50], "d"),
    ],
)
def test_an_axis_is_the_scale_or_as_far_as_there_are_scores(
    scale: Scale, domain: list[float], bin_width: float, marks: list[float], form: str
) -> None:
    axis = axis_of(scale, [19.2, 25.0, 33.1])
    assert (axis.domain, axis.bin_width, axis.marks(5), axis.written(5)) == (domain, bin_width, marks, form)
    assert axis.low + axis.bins * axis.bin_width >= axis.high


@pytest.mark.parametrize("scores", [[], [7.0], [7.0, 7.0], [0.0], [-3e-7], [1e9, -1e9]])
def test_an_open_axis_has_room_on_both_sides_of_every_score(scores: list[float]) -> None:
    axis = axis_of(Scale(), scores)
    assert axis.low < min(scores, default=0.5) <= max(scores, default=0.5) < axis.high
    assert 0 < axis.bins <= 20
    assert len(axis.marks(10)) >= 2


def test_each_score_lies_in_one_bin() -> None:
    axis = Axis(-1, 1)
    assert [axis.bin_of(score) for score in (-1, -0.7, 0.0, 0.3, 0.999, 1)] == [0, 3, 10, 13, 19, 19]
    assert [axis.bin_of(score) for score in (-4, 4)] == [0, 19]


def test_steps_are_round() -> None:
    assert [step_over(width, 10) for width in (10, 11, 0.1, 4, 0.0007, 12345)] == [1, 2, 0.01, 0.5, 0.0001, 2000]
