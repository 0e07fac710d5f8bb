"""Answers that are drawn: by chance, and yet the same in any batch."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from edit_eval.judges.contract import JudgeRequest, seed_of
from edit_eval.plugins.local_judges.in_worker.generation import draw_tokens
from late_imports import Late
from local_judges import JUDGES, loaded, request

torch = Late("torch")

ASKED = JudgeRequest(
    system="Be strict.", user="Rate it.", pictures={"edit": Image.new("RGB", (4, 4))}, seed=3, sample_id="s", repeat=1
)


def test_equal_requests_have_equal_seeds_whoever_asks() -> None:
    again = replace(ASKED, pictures={"edit": Image.new("RGB", (4, 4))}, sample_id="t", edit_model="m", repeat=0)
    assert seed_of(again) == seed_of(ASKED)
    assert 0 <= seed_of(ASKED) < 1 << 31


@pytest.mark.parametrize(
    "other",
    [
        {"seed": 4},
        {"system": ""},
        {"user": "Rate it.\n\nAnswer with a number."},
        {"pictures": {}},
        {"pictures": {"edit": Image.new("RGB", (4, 4), (0, 0, 1))}},
        {"user": "\ud800"},
    ],
    ids=["seed", "system", "user", "no picture", "pixels", "surrogate"],
)
def test_whatever_is_asked_or_shown_makes_another_seed(other: dict[str, object]) -> None:
    assert seed_of(replace(ASKED, **other)) != seed_of(ASKED)


def test_tokens_are_drawn_as_often_as_they_are_likely() -> None:
    """Bounds of 5 standard errors, with seeds that stay the same."""
    shares = torch.tensor([0.0, 0.5, 0.3, 0.0, 0.2])
    rows = 4000
    processed = draw_tokens(range(rows), 1.0)(None, shares.log().expand(rows, -1))
    assert (processed.isfinite().sum(1) == 1).all(), "one token is left in each row"
    counts = Counter(processed.argmax(1).tolist())
    for token, share in enumerate(shares.tolist()):
        assert abs(counts[token] / rows - share) <= 5 * (share * (1 - share) / rows) ** 0.5


def test_a_temperature_sharpens_or_flattens() -> None:
    logits = torch.tensor([[0.0, 1.0]]).expand(2000, -1)
    often = [int(draw_tokens(range(2000), t)(None, logits).argmax(1).sum()) for t in (0.05, 1.0, 50.0)]
    assert often[0] == 2000
    assert 1350 < often[1] < 1570, "the logistic function of 1 is 0.731"
    assert 880 < often[2] < 1130


def test_a_row_draws_the_same_beside_any_others() -> None:
    logits = torch.randn(3, 50, generator=torch.Generator().manual_seed(0))
    together, alone = draw_tokens([5, 6, 7], 2.0), draw_tokens([6], 2.0)
    for _ in range(20):
        assert together(None, logits)[1].argmax() == alone(None, logits[1:2])[0].argmax()


@pytest.mark.one_in(3)
@pytest.mark.real_models
@pytest.mark.parametrize("name", JUDGES)
def test_an_answer_does_not_depend_on_its_company(name: str, tiny_models: Path) -> None:
    judge = loaded(tiny_models / name, temperature=3.0, max_new_tokens=12)
    requests = [replace(request(number, words), seed=number % 2) for number, words in enumerate((5, 90, 0, 40))]
    requests.append(replace(requests[0], seed=7))
    answers = judge.judge(requests)
    assert answers == [judge.judge([single])[0] for single in requests]
    assert answers[::-1] == judge.judge(requests[::-1], judge.make_inputs(requests[::-1]))
    assert answers[0] != answers[-1], "another seed"
    assert answers[:-1] != loaded(tiny_models / name, max_new_tokens=12).judge(requests[:-1]), "not greedy"


@pytest.mark.real_models
def test_hardly_any_temperature_is_greedy(tiny_models: Path) -> None:
    folder = tiny_models / "qwen3-vl"
    requests = [request(number) for number in range(4)]
    assert loaded(folder, temperature=1e-4).judge(requests) == loaded(folder).judge(requests)
