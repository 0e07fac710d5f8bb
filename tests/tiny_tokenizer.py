"""A tokenizer of the Qwen kind with a few hundred tokens, trained offline in milliseconds."""

from __future__ import annotations

from typing import Any

SPECIAL_TOKENS = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
)

CORPUS = (
    "system user assistant Picture 1: Picture 2: Score: score rate the edit from to with decimals output only number",
    "Describe the features of an input image: colour, color, shape, size, texture, objects, background; explain how an",
    "instruction should alter or modify this image. Generate a new image that meets the requirements while keeping",
    "consistency with original input where appropriate. remove add replace make turn change put take into of and on in",
    "the sky red dog hat cat fox photo painting table cup light shadow water stone tree house person hand window door",
    "physical geometric environment atmosphere social culture cause effect reference accuracy plausible strict judge",
)

CHAT_TEMPLATE = """\
{%- for message in messages -%}
{{ '<|im_start|>' + message['role'] + '\\n' }}
{%- if message['content'] is string -%}
{{ message['content'] }}
{%- else -%}
{%- for part in message['content'] -%}
{%- if part['type'] == 'image' -%}
<|vision_start|><|image_pad|><|vision_end|>
{%- else -%}
{{ part['text'] }}
{%- endif -%}
{%- endfor -%}
{%- endif -%}
{{ '<|im_end|>\\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{ '<|im_start|>assistant\\n' }}
{%- endif -%}
"""


def tiny_tokenizer() -> Any:
    """A `Qwen2Tokenizer` of transformers: byte-level, digits one by one, the special tokens of the Qwen-VL family.

    Left padding, as a judge needs; the end of an answer is `<|im_end|>`. The same tokens at every call.
    """
    from transformers import Qwen2Tokenizer

    trained = Qwen2Tokenizer().train_new_from_iterator(
        list(CORPUS) * 2, vocab_size=700, new_special_tokens=list(SPECIAL_TOKENS), show_progress=False
    )
    trained.eos_token, trained.pad_token = "<|im_end|>", "<|endoftext|>"
    trained.padding_side = "left"
    trained.model_max_length = 32768
    return trained


def token_ids(tokenizer: Any) -> dict[str, int]:
    """The ids that the configuration of a Qwen-VL model names."""
    names = {
        "image_token_id": "<|image_pad|>",
        "video_token_id": "<|video_pad|>",
        "vision_start_token_id": "<|vision_start|>",
        "vision_end_token_id": "<|vision_end|>",
    }
    return {key: tokenizer.convert_tokens_to_ids(token) for key, token in names.items()}
