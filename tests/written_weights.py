"""Weights of a tiny Qwen-VL judge, written so that it answers `Score: d.d` to any prompt, by what its pictures show.

How it works, on a stream of 64 numbers a token:

* axis 0 is 1 in every text token, axis 1 in every picture token; axes 2 to 47 hold which text token it is, one axis
  for each token of an answer; axes 48 to 63 hold what a picture token shows (the vision tower's random features,
  centred).
* all layers but the last pass the stream on. The last one attends to picture tokens alone (axis 1 is the key, axis 0
  the query; a text token weighs about e^14 times less), so the prompt's length does not count, and adds their mean of
  axes 48 to 63.
* the output layer is a chain: what follows a token is read off its own axis. Where a digit may stand, five digits are
  equally likely, and the pictures decide: five directions in a plane of axes 48 to 63. The first digit is odd, the
  second even, so that each digit knows its place.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL.Image import Image

WIDTH = 64
HEAD_WIDTH = 16
TEXT, PICTURE = 0, 1
"""Axes that mark text tokens and picture tokens."""
SEEN = slice(48, 64)
"""Axes that hold what a picture token shows."""

FIRST_DIGITS, SECOND_DIGITS = "13579", "02468"


def calibration_pictures(count: int = 48) -> list[Image]:
    """Patterns coarse and fine, of little and much contrast, the same at every call.

    The fine ones look, to the vision tower, like the edits of a tiny edit model, the coarse ones like photographs; so
    that both spread over the digits.
    """
    from PIL import Image

    random = Random(0)
    pictures = []
    for index in range(count):
        side = (2, 8, 32, 64)[index % 4]
        width, height = random.choice(((64, 64), (96, 64), (64, 96), (128, 96)))
        grid = Image.frombytes("RGB", (side, side), random.randbytes(3 * side * side))
        pattern = Image.blend(Image.new("RGB", (side, side), (128, 128, 128)), grid, random.uniform(0.3, 1.0))
        pictures.append(pattern.resize((width, height), Image.Resampling.BICUBIC))
    return pictures


def write_answers(model: Any, processor: Any) -> None:
    """Writes the weights of `model` (Qwen3-VL, Qwen3-VL-MoE, Qwen2.5-VL; width 64, head width 16) in place."""
    import torch

    with torch.no_grad():
        axes = _write_tokens(model, processor.tokenizer)
        _write_layers(model)
        pictures = calibration_pictures()
        _write_vision(model, processor, pictures)
        _write_output(model, processor, pictures, axes)


def _answer_tokens(tokenizer: Any) -> tuple[list[int], list[int], int, list[int], int]:
    """Ids of what stands before the first digit, the first digits, the point, the second digits, the end."""

    def ids(text: str) -> list[int]:
        return list(tokenizer.encode(text, add_special_tokens=False))

    before = [ids("\n")[-1], *ids("Score"), *ids(":"), *ids(" ")]
    digits = [[ids(digit)[0] for digit in some] for some in (FIRST_DIGITS, SECOND_DIGITS)]
    return before, digits[0], ids(".")[0], digits[1], tokenizer.eos_token_id


def _write_tokens(model: Any, tokenizer: Any) -> dict[int, int]:
    """Writes the embeddings; returns the axis of each token of an answer."""
    import torch

    weights = model.get_input_embeddings().weight
    before, first, point, second, _ = _answer_tokens(tokenizer)
    tokens = [*before, *first, point, *second]
    if len(set(tokens)) != len(tokens) or len(tokens) > 30:
        raise ValueError("the tokenizer cuts an answer into tokens that occur in it twice, or into too many")
    axes = {token: 2 + place for place, token in enumerate(tokens)}
    others = slice(2 + len(tokens), 48)
    weights.zero_()
    weights[:, others] = torch.nn.functional.normalize(torch.randn_like(weights[:, others]), dim=1) * 8
    for token, axis in axes.items():
        weights[token] = 0
        weights[token, axis] = 8
    weights[:, TEXT] = 4
    return axes


def _write_layers(model: Any) -> None:
    layers = model.model.language_model.layers
    for layer in layers:
        layer.self_attn.o_proj.weight.zero_()
        for name, parameter in layer.mlp.named_parameters():
            if "down_proj" in name:
                parameter.zero_()
    attention = layers[-1].self_attn
    for projection in (attention.q_proj, attention.k_proj, attention.v_proj):
        projection.weight.zero_()
        if projection.bias is not None:
            projection.bias.zero_()
    # Rotary positions turn axis 7 of a head together with axis 15, axis 6 with 14, and these the slowest of all.
    attention.q_proj.weight[7, TEXT] = 1.5
    attention.k_proj.weight[7, PICTURE] = 1.5
    attention.k_proj.weight[6, TEXT] = 1.5
    if hasattr(attention, "q_norm"):  # queries and keys are normed to length 4; 4 * 4 * 3.5 / sqrt(16) = 14
        attention.q_norm.weight.fill_(3.5)
        attention.k_norm.weight.fill_(1.0)
    for place in range(HEAD_WIDTH):
        attention.v_proj.weight[place, SEEN.start + place] = 1
        attention.o_proj.weight[SEEN.start + place, place] = 3


def _write_vision(model: Any, processor: Any, pictures: Sequence[Image]) -> None:
    """Centres the vision tower's output on axes 48 to 63 and marks it on axis 1."""
    import torch

    visual = model.model.visual
    last = [module for module in visual.merger.modules() if isinstance(module, torch.nn.Linear)][-1]
    for merger in getattr(visual, "deepstack_merger_list", ()):
        for parameter in list(merger.parameters())[-2:]:
            parameter.zero_()
    last.bias.zero_()
    last.weight[: SEEN.start] = 0
    seen = _watched(model, processor, pictures, last, False).reshape(-1, WIDTH)[:, SEEN]
    last.weight[SEEN] /= seen.std(0)[:, None]
    last.bias[SEEN] = -seen.mean(0) / seen.std(0)
    last.bias[PICTURE] = 8


def _write_output(model: Any, processor: Any, pictures: Sequence[Image], axes: dict[int, int]) -> None:
    import torch

    head = model.lm_head.weight
    before, first, point, second, end = _answer_tokens(processor.tokenizer)
    head.zero_()

    def follow(token: int, successors: Sequence[int]) -> None:
        for successor in successors:
            head[successor, axes[token]] += 1.5  # 12 at the token's own axis, 0 elsewhere

    for token, successor in itertools.pairwise(before):
        follow(token, [successor])
    follow(before[-1], first)
    follow(point, second)
    for token in first:
        follow(token, [point])
    for token in second:
        follow(token, [end])
    norm = model.model.language_model.norm
    seen = _watched(model, processor, pictures, norm, True)[:, -1, SEEN]
    mean = seen.mean(0)
    _, spread, directions = torch.linalg.svd(seen - mean, full_matrices=False)
    directions = directions / spread[:, None] * math.sqrt(len(pictures))
    for place, (token, digits) in enumerate(((before[-1], first), (point, second))):
        for number, digit in enumerate(digits):
            angle = 2 * math.pi * number / len(digits)
            direction = math.cos(angle) * directions[2 * place] + math.sin(angle) * directions[2 * place + 1]
            head[digit, SEEN] = 3 * direction
            head[digit, axes[token]] -= 3 * float(direction @ mean) / 8


def _watched(model: Any, processor: Any, pictures: Sequence[Image], module: Any, entering: bool) -> Any:
    """What enters or leaves `module` while the model looks at the pictures, one a row: a float tensor (..., 64)."""
    kept: list[Any] = []
    if entering:
        hook = module.register_forward_pre_hook(lambda _, given: kept.append(given[0]))
    else:
        hook = module.register_forward_hook(lambda _, given, made: kept.append(made))
    chat = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "Rate."}]}]
    text = processor.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
    try:
        model(**processor(text=[text] * len(pictures), images=list(pictures), padding=True, return_tensors="pt"))
    finally:
        hook.remove()
    return kept[0]
