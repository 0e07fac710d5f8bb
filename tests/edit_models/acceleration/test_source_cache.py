"""What is remembered of a source is what would be computed again, to the last bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from edit_eval.edit_models.acceleration.source_cache import Remembered, equal, remember_sources
from edit_models.tiny_edits import PIPELINES, PLAIN, all_edits, edited, loaded, picture


class TestRemembered:
    def test_equal_arguments_are_answered_from_memory(self) -> None:
        torch = pytest.importorskip("torch")
        calls: list[Any] = []

        def double(numbers: Any, times: int = 2) -> Any:
            calls.append(times)
            return numbers * times

        remembered = Remembered(double, kept=2)
        first = remembered(torch.arange(3.0))
        assert remembered(torch.arange(3.0)) is first
        assert remembered(torch.arange(3.0), times=3).tolist() == [0, 3, 6]
        assert remembered(torch.arange(3.0)) is first  # asked for last, so kept longest
        assert remembered(torch.arange(4.0)).tolist() == [0, 2, 4, 6]
        assert calls == [2, 3, 2]
        assert remembered(torch.arange(3.0), times=3) is not None
        assert calls == [2, 3, 2, 3]
        assert remembered.hits == 2

    def test_what_raises_is_tried_again(self) -> None:
        calls = []

        def fails(number: int) -> int:
            calls.append(number)
            raise OSError(number)

        remembered = Remembered(fails)
        for _ in range(2):
            with pytest.raises(OSError, match="7"):
                remembered(7)
        assert calls == [7, 7]

    def test_what_draws_random_numbers_is_never_remembered(self) -> None:
        torch = pytest.importorskip("torch")
        draw = Remembered(lambda size, generator: torch.randn(size, generator=generator), free=("generator",))
        one, other = (draw(3, generator=torch.Generator().manual_seed(seed)) for seed in (1, 2))
        assert not torch.equal(one, other)
        assert draw.hits == 0
        still = Remembered(lambda size, generator: torch.ones(size), free=("generator",))
        for seed in (1, 2):
            still(3, generator=torch.Generator().manual_seed(seed))
        assert still.hits == 1

    def test_equality_is_to_the_last_bit(self) -> None:
        torch = pytest.importorskip("torch")
        ones = torch.ones(2)
        assert equal(ones, torch.ones(2))
        assert not equal(ones, ones.double())
        assert not equal(ones, torch.ones(2, 1))
        assert not equal(ones, ones + 1e-7)
        assert not equal(ones * float("nan"), ones * float("nan"))  # computed again, and found out there
        assert equal({"a": [ones, None, "x"]}, {"a": [torch.ones(2), None, "x"]})
        assert not equal({"a": 1}, {"b": 1})
        assert not equal(1, True)

    def test_pictures_are_compared_by_their_pixels_alone(self) -> None:
        one, other = Image.new("RGB", (4, 4), "red"), Image.new("RGB", (4, 4), "red")
        other.info["scene"] = "{}"
        assert one != other
        assert equal(one, other)
        other.putpixel((3, 3), (254, 0, 0))
        assert not equal(one, other)
        assert not equal(one, one.resize((2, 8)))


@pytest.mark.real_models
@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_edits_are_the_same_to_the_last_bit(name: str, dtype: str, tiny_models: Path) -> None:
    plain = loaded(tiny_models / name, dtype=dtype, **PLAIN)
    remembering = loaded(tiny_models / name, dtype=dtype, **PLAIN | {"source_cache": True})
    assert all_edits(remembering) == all_edits(plain)


@pytest.mark.real_models
@pytest.mark.parametrize("name", PIPELINES)
def test_a_source_is_encoded_once_for_consecutive_edits(name: str, tiny_models: Path) -> None:
    model = loaded(tiny_models / name, **PLAIN)
    remembered = remember_sources(model._pipeline)

    def hits() -> tuple[int, ...]:
        return tuple(remembered[what].hits for what in ("latents", "prompts", "vision"))

    edited(model)
    assert hits() == (0, 0, 1)  # the negative prompt looks at the same picture
    edited(model, "remove the dog")
    assert hits() == (1, 1, 2)  # its latents, its negative prompt, and the picture for the new instruction
    edited(model, "remove the dog", seed=8)
    assert hits() == (2, 3, 2)  # another seed: both prompts
    edited(model, "remove the dog", source=picture(64, 64))
    assert hits() == (2, 3, 3)  # another source: nothing but, again, the picture for the negative prompt


@pytest.mark.real_models
def test_under_group_offload_the_vision_part_is_left_alone(tiny_models: Path) -> None:
    pipeline = loaded(tiny_models / "qwen-image-edit", "group")._pipeline
    assert isinstance(pipeline.encode_prompt, Remembered)
    assert not isinstance(pipeline.text_encoder.model.get_image_features, Remembered)
