"""The table of servers: what each can be asked for, and what an answer without a picture means."""

from __future__ import annotations

import random
from typing import Any

import pytest

from edit_eval.plugins.endpoints.in_worker.image_servers import DIALECTS, dialect_of, ending_of


@pytest.mark.parametrize("name", DIALECTS)
def test_whatever_the_source_a_size_is_asked_for_that_the_server_has(name: str) -> None:
    dialect, drawn = DIALECTS[name], random.Random(name)
    for _ in range(2000):
        width, height = (round(2 ** drawn.uniform(0, 13.5)) for _ in "wh")
        across, down = dialect.nearest(width, height)
        assert across % dialect.multiple == down % dialect.multiple == 0
        assert min(across, down) > 0
        assert dialect.fewest <= across * down <= dialect.most
        assert max(across, down) <= dialect.longest
        assert max(across, down) <= dialect.ratio * min(across, down)
        assert not dialect.sizes or (across, down) in dialect.sizes


@pytest.mark.parametrize(
    ("name", "source", "asked"),
    [
        ("open", (512, 384), (512, 384)),
        ("open", (100, 60), (96, 64)),
        ("open", (5, 5), (16, 16)),
        ("open", (4000, 3008), (4000, 3008)),
        ("openai", (1536, 864), (1536, 864)),
        ("openai", (512, 512), (816, 816)),
        ("openai", (8000, 1000), (3840, 1280)),
        ("openai_fixed", (640, 480), (1536, 1024)),
        ("openai_fixed", (500, 480), (1024, 1024)),
        ("openai_fixed", (480, 640), (1024, 1536)),
    ],
)
def test_the_nearest_size_keeps_the_shape(name: str, source: tuple[int, int], asked: tuple[int, int]) -> None:
    assert DIALECTS[name].nearest(*source) == asked


@pytest.mark.parametrize(
    ("model", "dialect"),
    [
        ("gpt-image-2", "openai"),
        ("gpt-image-2.5-flare-2026-09-08", "openai"),
        ("openai/gpt-image-2", "openai"),
        ("gpt-image-1.5", "openai_fixed"),
        ("gpt-image-1-mini", "openai_fixed"),
        ("chatgpt-image-latest", "openai_fixed"),
        ("Qwen/Qwen-Image-Edit-2511", "open"),
        ("my-gpt-image-2", "open"),
    ],
)
def test_the_dialect_follows_from_the_models_name_alone(model: str, dialect: str) -> None:
    assert dialect_of("auto", model)[0] == dialect
    assert dialect_of("xinference", model)[0] == "xinference"


def test_reasons_for_no_picture_are_found_wherever_they_stand() -> None:
    assert (
        ending_of({"candidates": [{"finishReason": "STOP"}, {"finishReason": "IMAGE_SAFETY"}]}).word == "IMAGE_SAFETY"
    )
    assert ending_of({"prompt_feedback": {"block_reason": "BLOCKLIST"}}).word == "BLOCKLIST"
    assert ending_of({"data": [{"finish_reason": "content_filter"}]}).word == "content_filter"
    assert ending_of({"finish_reason": None, "data": []}).word == ending_of("STOP").word == ""
    nested: Any = {"finish_reason": "SAFETY"}
    for _ in range(3000):
        nested = [nested]
    assert ending_of(nested).word == "", "a document of any depth is no trouble"
