"""The watches: what a quiet policy may set off, and what a policy that copies does."""

from __future__ import annotations

import io
import time

import numpy as np
import pytest
from PIL import Image, ImageDraw

from edit_eval.serving.pictures import sent
from edit_eval.serving.watch import (
    BASELINE,
    Seen,
    Window,
    copies_have_risen,
    is_near_copy,
    judge_has_changed,
    not_to_edit_pays,
)
from service_at_work import Serve, pair

SOURCES, EACH = 64, 16


def rollout(dice: np.random.Generator, mean: float, alike: float) -> Window:
    """What a policy makes of new sources: some are copied more often than others, the more the smaller `alike`."""
    shares = dice.beta(mean * alike, (1 - mean) * alike, SOURCES)
    return Window([Seen(str(n), bool(one), 0.5) for n in range(SOURCES) for one in dice.random(EACH) < shares[n]])


@pytest.mark.parametrize(("mean", "alike"), [(0.02, 5.0), (0.3, 1.0), (0.5, 0.3)])
def test_a_quiet_policy_sets_off_at_most_one_alarm_in_a_hundred_windows(mean: float, alike: float) -> None:
    dice = np.random.default_rng(7)
    windows, alarms = 2000, 0
    for _ in range(windows // 10):
        before = [rollout(dice, mean, alike) for _ in range(BASELINE)]
        alarms += sum(copies_have_risen(before, rollout(dice, mean, alike)) for _ in range(10))
    assert alarms / windows <= 0.0045


def test_a_policy_that_begins_to_copy_is_seen() -> None:
    dice = np.random.default_rng(7)
    before = [rollout(dice, 0.02, 5.0) for _ in range(BASELINE)]
    assert all(copies_have_risen(before, rollout(dice, 0.25, 1.0)) for _ in range(20))


def test_a_judge_that_is_only_unsure_is_no_alarm_and_one_that_has_changed_is() -> None:
    dice = np.random.default_rng(7)
    first = {("source", str(n)): float(one) for n, one in enumerate(dice.normal(0.5, 0.1, 36))}

    def again(shift: float) -> dict[tuple[str, str], float]:
        return {name: one + shift + dice.normal(0, 0.05) for name, one in first.items()}

    assert not judge_has_changed(first, dict(first))
    # Canaries' first judgements are noisy, too, and stay the same: what is compared with them is drawn once each.
    false = 0
    for _ in range(2000):
        noisy = {name: one + dice.normal(0, 0.05) for name, one in first.items()}
        false += judge_has_changed(noisy, again(0.0))
    assert false / 2000 <= 0.0045
    assert judge_has_changed(first, again(0.1))


def test_unchanged_sources_that_are_worth_as_much_by_chance_are_no_alarm() -> None:
    dice = np.random.default_rng(7)
    drawn = [not_to_edit_pays(Window(pays=list(dice.random(12) < 0.5))) for _ in range(5000)]
    assert np.mean(drawn) <= 0.001  # the three together: one in a hundred
    assert not_to_edit_pays(Window(pays=[True] * 12))
    assert not not_to_edit_pays(Window())


def scene(seed: int) -> Image.Image:
    noise = np.random.default_rng(seed).integers(0, 255, (24, 24, 3), dtype=np.uint8)
    return Image.fromarray(noise).resize((512, 512), Image.Resampling.BICUBIC)


def jpeg(picture: Image.Image, quality: int = 75) -> bytes:
    data = io.BytesIO()
    picture.save(data, "JPEG", quality=quality)
    return data.getvalue()


@pytest.mark.parametrize("seed", range(3))
def test_a_near_copy_is_one_however_it_was_encoded_and_a_small_edit_is_none(seed: int) -> None:
    source, edited = scene(seed), scene(seed)
    ImageDraw.Draw(edited).rectangle((200, 200, 260, 260), fill=(255, 0, 0))
    first = sent(jpeg(source, 95), "source")
    assert is_near_copy(first, sent(jpeg(source), "copy"))
    assert not is_near_copy(first, sent(jpeg(edited), "edit"))
    assert not is_near_copy(first, sent(jpeg(scene(seed + 50)), "another"))


def test_a_service_watches_its_policy_and_examines_its_judge(serve: Serve) -> None:
    """The judge is one that likes red: red sources that stay as they are have the best reward of all."""
    served = serve(window=48, batch_size=8)
    watch = served.service.watch
    assert watch is not None

    def window(reds: list[int]) -> None:
        seen = len(watch.windows)
        for start in range(0, 48, 16):
            served.score(*(pair(reds[n % len(reds)], source=200 - n) for n in range(start, start + 16)))
        end = time.monotonic() + 60
        while len(watch.windows) == seen:
            assert time.monotonic() < end
            time.sleep(0.02)
        while served.service.waiting:
            time.sleep(0.02)

    for _ in range(BASELINE):
        window([20, 30, 40])  # none of them its source
    assert not watch.alarms
    for n in range(3):  # every edit is its source
        served.score(*(pair(200 - m, source=200 - m) for m in range(16 * n, 16 * n + 16)))
    window([20, 30])
    assert any("copies its sources" in line for line in watch.alarms)
    assert any("better reward unchanged" in line for line in watch.alarms)
    assert not any("otherwise than at first" in line for line in watch.alarms)
    assert [str(line) for line in watch.alarms] == served.get("/health").document["alarms"]
    figures = served.get("/metrics").body.decode()
    assert 'edit_eval_canary_reward{kind="source"}' in figures
