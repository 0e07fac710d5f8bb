import pytest

from edit_eval.records import Scale
from edit_eval.reporting import formats


def test_what_is_not_known_is_no_number() -> None:
    assert formats.score(None) == formats.span(None) == formats.span([None, 3.0]) == formats.duration(None) == "–"
    assert formats.coverage(None) == formats.share(1, 0) == "–"


def test_scores_and_intervals() -> None:
    assert formats.score(6.4251) == "6.43"
    assert formats.span([6.205, 10]) == "6.21–10.00"
    assert (formats.score(0.12345, 4), formats.score(-0.001), formats.score(-0.05)) == ("0.1235", "0.00", "-0.05")
    assert formats.span([-0.06, 0.5], 3) == "[-0.060, 0.500]"


@pytest.mark.parametrize(
    ("scale", "worst", "best", "written"),
    [
        (Scale(lowest=0, highest=10), 6.3, 6.5, "6.30–6.50"),
        (Scale(lowest=0, highest=1, higher_is_better=False), 0.5, 0.25, "0.50–0.25"),
        (Scale(lowest=0), 6.3, None, "6.30 … ∞"),
        (Scale(lowest=0, higher_is_better=False), None, 6.3, "∞ … 6.30"),
        (Scale(highest=0), None, -6.3, "-∞ … -6.30"),
        (Scale(highest=0, higher_is_better=False), -6.3, None, "-6.30 … -∞"),
        (Scale(), None, None, "–"),
    ],
)
def test_an_open_end_has_no_bound(scale: Scale, worst: float | None, best: float | None, written: str) -> None:
    assert formats.worst_to_best({"worst_case_mean": worst, "best_case_mean": best}, scale) == written


@pytest.mark.parametrize(
    ("scale", "largest", "digits"),
    [
        (Scale(lowest=0, highest=10), 0.1, 2),
        (Scale(lowest=1, highest=5), 5.0, 2),
        (Scale(lowest=-1, highest=1), 1.0, 3),
        (Scale(lowest=0, highest=1), 1.0, 3),
        (Scale(), 40.0, 2),
        (Scale(lowest=0), 0.0123, 5),
        (Scale(lowest=0), 1e-9, 6),
        (Scale(), None, 2),
    ],
)
def test_a_narrow_scale_has_more_digits(scale: Scale, largest: float | None, digits: int) -> None:
    assert formats.decimals(scale, largest) == digits


@pytest.mark.parametrize(
    ("seconds", "long", "short"),
    [
        (0.0, "0.0 s", "0.0s"),
        (0.84, "0.8 s", "0.8s"),
        (9.96, "10 s", "10s"),
        (59.4, "59 s", "59s"),
        (59.6, "1 min 00 s", "1m00s"),
        (200, "3 min 20 s", "3m20s"),
        (3599.7, "1 h 00 min", "1h00m"),
        (18240, "5 h 04 min", "5h04m"),
    ],
)
def test_durations(seconds: float, long: str, short: str) -> None:
    assert formats.duration(seconds) == long
    assert formats.short_duration(seconds) == short


@pytest.mark.parametrize(("part", "written"), [(0, "0%"), (0.1, "<1%"), (50, "50%"), (99.9, ">99%"), (100, "100%")])
def test_a_share_is_all_or_nothing_only_if_it_is(part: float, written: str) -> None:
    assert formats.share(part, 100) == written


def test_complete_means_everything() -> None:
    assert formats.is_complete({"scored": 3, "total": 3})
    assert not formats.is_complete({"scored": 2, "total": 3})
    assert not formats.is_complete(None)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.8, "0.8 秒"), (42, "42 秒"), (200, "3 分 20 秒"), (18240, "5 小时 04 分"), (None, "–")],
)
def test_durations_in_chinese(seconds: float | None, shown: str) -> None:
    assert formats.duration(seconds, "zh") == shown


def test_an_authors_number_has_the_digits_that_tell_models_apart() -> None:
    assert [formats.published(value) for value in (7.877, 0.0625, -0.25, None)] == ["7.88", "0.0625", "-0.2500", "–"]
