"""The watches: what a quiet policy may set off, and what a policy that copies does."""

from __future__ import annotations

import io
import time
from collections import Counter

import numpy as np
import pytest
from PIL import Image, ImageDraw

from edit_eval.plugins.serve.pictures import check_picture
from edit_eval.plugins.serve.watch import (
    BASELINE,
    COPY,
    LOOKED_AT,
    RIGHT,
    Seen,
    Watch,
    Window,
    copies_have_risen,
    draw_scenes,
    has_risen,
    is_near_copy,
    judge_has_changed,
    judges_part,
    not_to_edit_pays,
    pair_canaries,
    right_above_copy,
)
from edit_eval.run import Run
from plugins.serve.service_at_work import Serve, pair

SOURCES = 64


def rollout(dice: np.random.Generator, mean: float, alike: float, windows: int = 1) -> list[float]:
    """The shares of copies of new sources: some are copied more often than others, the more the smaller `alike`."""
    return list(dice.binomial(LOOKED_AT, dice.beta(mean * alike, (1 - mean) * alike, windows * SOURCES)) / LOOKED_AT)


@pytest.mark.parametrize(("mean", "alike"), [(0.02, 5.0), (0.3, 1.0), (0.5, 0.3)])
def test_a_quiet_policy_sets_off_at_most_one_alarm_in_a_hundred_windows(mean: float, alike: float) -> None:
    dice = np.random.default_rng(7)
    windows = 2000  # each after a beginning of its own: those after one that was low by chance are low together
    quiet = (rollout(dice, mean, alike) for _ in range(windows))
    alarms = sum(has_risen(rollout(dice, mean, alike, BASELINE), now) for now in quiet)
    assert alarms / windows <= 0.0045


def test_a_policy_that_begins_to_copy_is_seen() -> None:
    dice = np.random.default_rng(7)
    before = rollout(dice, 0.02, 5.0, BASELINE)
    assert all(has_risen(before, rollout(dice, 0.25, 1.0)) for _ in range(20))
    windows = [Window([Seen(str(n % 12), n % 4 < often, 0.5) for n in range(96)]) for often in (0, 0, 3)]
    assert windows[2].copies_by_source() == {str(n): float(n % 4 < 3) for n in range(12)}
    assert copies_have_risen(windows[:2], windows[2])
    assert not copies_have_risen(windows[:1], windows[1])


Canaries = dict[tuple[str, str], float]


def canaries(dice: np.random.Generator, noise: float = 0.05, shift: float = 0.0) -> Canaries:
    """Rewards of three kinds of canaries; greys are judged without noise, and in whole tenths."""
    rewards = {(kind, str(n)): 0.5 + shift + dice.normal(0, noise) for kind in ("source", "right") for n in range(12)}
    return rewards | {("blank", str(n)): round(0.2 + shift, 1) for n in range(12)}


@pytest.mark.parametrize("draws", [100, pytest.param(1000, marks=pytest.mark.chaos)])
def test_a_judge_that_is_only_unsure_is_no_alarm_and_one_that_has_changed_is(draws: int) -> None:
    dice = np.random.default_rng(7)
    false, found = 0, 0
    for _ in range(draws):
        first, second, third = (canaries(dice) for _ in range(3))
        repeated = pair_canaries(second, third)
        false += judge_has_changed(first, canaries(dice), repeated) + judge_has_changed(first, canaries(dice))
        found += judge_has_changed(first, canaries(dice, shift=0.1), repeated)
    assert false / (2 * draws) <= 0.009
    assert found >= 0.967 * draws
    exact = canaries(dice, 0.0)
    assert not judge_has_changed(exact, exact)
    assert not judge_has_changed(exact, {}), "none has an answer yet"


def test_an_exact_judge_that_answers_one_canary_otherwise_has_not_changed() -> None:
    """As where batches are put together otherwise."""
    exact = {("source", str(n)): 0.5 for n in range(56)}
    repeated = pair_canaries(exact, exact)
    assert not judge_has_changed(exact, {**exact, ("source", "3"): 0.9}, repeated)
    assert judge_has_changed(exact, {name: reward + 0.05 for name, reward in exact.items()}, repeated)
    some = {name: reward - 0.05 * (int(name[1]) < 8) for name, reward in exact.items()}
    assert judge_has_changed(exact, some, repeated), "eight of 56, where none of 56 differed before"
    assert not judge_has_changed(exact, some), "which eight alone do not show"


def test_each_answer_about_a_canary_is_in_one_pair_and_the_first_in_none() -> None:
    """Or the pairs that the changes are held against would not be like them."""
    told: list[str] = []
    watch = Watch(lambda pairs: None, told.append, lambda judgement: judgement.score, window=1)
    watch.close()
    for number in range(6):
        watch._window.again.update({("source", "a"): float(number)} if number else {})
        watch._close_window()
    assert [(repeated.before, repeated.now) for repeated in watch._repeated] == [(1.0, 2.0), (3.0, 4.0)]
    assert watch._unpaired == {("source", "a"): 5.0}
    assert not told


def apart(dice: np.random.Generator, gap: float) -> Window:
    """A window in which a second judge scored twenty edits: two judges differ by source, and from edit to edit."""
    each = dice.normal(gap, 0.15, 20)
    return Window(apart=[(str(n % 16), float(each[n] + dice.normal(0, 0.1))) for n in range(20)])


def test_rewards_that_rise_away_from_the_second_judge_are_seen() -> None:
    dice = np.random.default_rng(7)
    false = sum(judges_part([apart(dice, 0.1) for _ in range(BASELINE)], apart(dice, 0.1)) for _ in range(2000))
    assert false / 2000 <= 0.0045
    before = [apart(dice, 0.1) for _ in range(BASELINE)]
    assert sum(judges_part(before, apart(dice, 0.4)) for _ in range(20)) >= 18
    assert not judges_part([Window()], Window())


@pytest.mark.check
def test_drawn_scenes_have_a_right_edit_and_the_scene_as_it_was() -> None:
    drawn = draw_scenes("en")
    right, copies = (
        {submission.pictures["source"].digest: submission for submission in drawn if submission.canary == kind}
        for kind in (RIGHT, COPY)
    )
    assert right.keys() == copies.keys()
    assert len(right) == 20
    assert all(is_near_copy(submission.pictures["source"], submission.edit) for submission in copies.values())
    assert not any(submission.edit.data == copies[scene].edit.data for scene, submission in right.items())
    rewards = {(kind, scene): float(kind == RIGHT) for kind, of in ((RIGHT, right), (COPY, copies)) for scene in of}
    assert right_above_copy(rewards) == (20, 20)
    assert right_above_copy(dict.fromkeys(rewards, 0.5)) == (10, 20)


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
    first = check_picture(jpeg(source, 95), "source")
    assert is_near_copy(first, check_picture(jpeg(source), "copy"))
    for side in (384, 700, 1024):
        assert is_near_copy(first, check_picture(jpeg(source.resize((side, side))), "copy"))
    assert not is_near_copy(first, check_picture(jpeg(edited), "edit"))
    assert not is_near_copy(first, check_picture(jpeg(edited.resize((384, 384))), "edit"))
    assert not is_near_copy(first, check_picture(jpeg(scene(seed + 50)), "another"))


def test_a_service_watches_its_policy_and_examines_its_judge(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """The judge is one that likes red: red sources that stay as they are have the best reward of all."""
    monkeypatch.setattr("edit_eval.plugins.serve.watch.SCENES", 1)
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
        while served.service.n_waiting:
            time.sleep(0.02)

    def looked() -> bool:
        return any("copies its sources" in line for line in watch.alarms)

    for _ in range(BASELINE):
        window([20, 30, 40])  # none of them its source
        watch.scenes.result()
    assert not watch.alarms
    for n in range(3):  # every edit is its source
        served.score(*(pair(200 - m, source=200 - m) for m in range(16 * n, 16 * n + 16)))
    end = time.monotonic() + 120
    while not looked() and time.monotonic() < end:
        time.sleep(0.02)
    assert looked()
    window([20, 30])
    assert any("better reward unchanged" in line for line in watch.alarms)
    assert not any("now scores the same pictures differently" in line for line in watch.alarms)
    told = served.get("/health").document["alarms"]
    assert told == [str(line) for line in watch.alarms][: len(told)] != []
    figures = served.get("/metrics").body.decode()
    assert 'edit_eval_canary_reward{kind="source"}' in figures
    assert 'edit_eval_canary_reward{kind="right"}' in figures

    served.service.close()
    assert served.service.ended.wait(60)
    results = Run(served.service.ledger.directory.path).results
    clients = 48 * (BASELINE + 2)
    assert (len(results.samples), len(results.edits), len(results.judgements)) == (clients,) * 3
    assert {judgement.edit_model for judgement in results.judgements} == {"client"}
    assert {control.edit_model for control in results.controls} == {
        "control:source",
        "control:blank",
        "control:shuffled",
    }
    assert {control.sample_id for control in results.controls} <= {sample.id for sample in results.samples}
    (mean,) = Run(served.service.ledger.directory.path).means()
    assert mean.coverage == 1


@pytest.mark.check
def test_a_second_judge_is_asked_about_a_share_for_which_nobody_waits(serve: Serve) -> None:
    served = serve(window=12, batch_size=4, ledger={"second": "even", "share": 0.25})
    watch = served.service.watch
    assert watch is not None
    for _ in range(BASELINE + 1):
        answers = served.score(*(pair(red, source=red + 1) for red in range(20, 32)))
        assert {tuple(answer["judges"]) for answer in answers} == {("redness",)}
    served.service.close()
    assert served.service.ended.wait(60)
    results = Run(served.service.ledger.directory.path).results
    of_second = [judgement for judgement in results.judgements if judgement.judge == "even"]
    assert Counter(judgement.status.value for judgement in of_second) == {"ok": 9, "skipped": 27}
    assert {judgement.status.value for judgement in results.judgements if judgement.judge == "redness"} == {"ok"}
    assert served.service.statuses["even", "ok"] == 9
    watch.close()  # it has seen all that came
    assert sum(len(window.apart) for window in [*watch.windows, watch._window]) == 9
