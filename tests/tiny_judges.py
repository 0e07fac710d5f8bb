"""Judges of other families than Qwen-VL with tiny weights, built offline: real classes, processors and tokenizers.

| name          | what it is                                                                                 |
|---------------|--------------------------------------------------------------------------------------------|
| `qwen3.5`     | layers of linear attention beside others; thinks unless its chat template is told not to   |
| `gemma4`      | its tokenizer writes spaces into tokens, its text begins with a token, pictures by request |
| `internvl`    | tiles of a picture                                                                         |
| `glm46v`      | opens its thoughts itself, frames its answers                                              |
| `minicpmv4_7` | slices of a picture                                                                        |

Each answers `Score: d.d`, or a number alone, to any prompt; which, its layers' random features of prompt and pictures
decide. One that thinks has a thought of two words before it.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tiny_models import _reproducible
from tiny_tokenizer import CORPUS

WIDTH = 64
THINK, CLOSE, PARAGRAPH = "<think>", "</think>", "\n\n"
THOUGHT = ("light", "shadow")
FIRST_DIGITS, SECOND_DIGITS = "13579", "02468"
SHARE = 0.5
"""Length of what the layers add to a token's own features, of these."""

CHATML = """\
{%- for message in messages -%}
{{ '<|im_start|>' + message['role'] + '\\n' }}
{%- for part in message['content'] -%}
{%- if part['type'] == 'image' -%}PICTURE{%- else -%}{{ part['text'] }}{%- endif -%}
{%- endfor -%}
{{ '<|im_end|>\\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\\n' }}THINKING{%- endif -%}
"""
QWEN_THINKING = (
    "{%- if enable_thinking is defined and enable_thinking is false -%}{{ '<think>\\n\\n</think>\\n\\n' }}"
    "{%- else -%}{{ '<think>\\n' }}{%- endif -%}"
)
GLM = """\
{{- '[gMASK]<sop>' -}}
{%- for message in messages -%}
{{ '<|' + message['role'] + '|>\\n' }}
{%- for part in message['content'] -%}
{%- if part['type'] == 'image' -%}<|begin_of_image|><|image|><|end_of_image|>{%- else -%}{{ part['text'] }}{%- endif -%}
{%- endfor -%}
{%- if message['role'] == 'user' and enable_thinking is defined and not enable_thinking -%}{{ '/nothink' }}{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{ '<|assistant|>' }}
{%- if enable_thinking is defined and not enable_thinking -%}{{ '\\n<think></think>\\n' }}{%- endif -%}
{%- endif -%}
"""
GEMMA = """\
{{- bos_token -}}
{%- if enable_thinking is defined and enable_thinking -%}{{ '<|turn>system\\n<|think|>\\n<turn|>\\n' }}{%- endif -%}
{%- for message in messages -%}
{{ '<|turn>' + message['role'] + '\\n' }}
{%- for part in message['content'] -%}
{%- if part['type'] == 'image' -%}<|image|>{%- else -%}{{ part['text'] }}{%- endif -%}
{%- endfor -%}
{{ '<turn|>\\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<|turn>model\\n' }}{%- endif -%}
"""


def build_judges(folder: Path) -> None:
    """Builds the tiny judges of all these families, each in a folder of its name under `folder`."""
    for name in JUDGES:
        with _reproducible():
            _build(folder / name, name)


def _build(folder: Path, name: str) -> None:
    from transformers import GenerationConfig

    tokenizer, template, model, settings, answers = _BUILDERS[name]()
    model.config.eos_token_id = tokenizer.eos_token_id
    model.generation_config = GenerationConfig(eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id)
    _write(model, tokenizer, answers)
    model.eval().save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    (folder / "chat_template.jinja").write_text(template, encoding="utf-8")
    for file, entries in settings.items():
        (folder / file).write_text(json.dumps(entries, indent=2) + "\n", encoding="utf-8")


# -- tokenizers --


def _bytes_tokenizer(special: Sequence[str], plain: Sequence[str], **named: str) -> Any:
    """One of the Qwen kind with further tokens: `special` ones, which no text shows, and `plain` ones."""
    from transformers import AddedToken, Qwen2Tokenizer

    control = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *special]
    trained = Qwen2Tokenizer().train_new_from_iterator(
        list(CORPUS) * 2, vocab_size=700, new_special_tokens=control, show_progress=False
    )
    trained.add_tokens([AddedToken(text, special=False, normalized=False) for text in plain])
    trained.eos_token, trained.pad_token = "<|im_end|>", "<|endoftext|>"
    trained.padding_side, trained.model_max_length = "left", 32768
    if named:
        trained._set_model_specific_special_tokens(special_tokens=named)
    return trained


def _spaced_tokenizer() -> Any:
    """One of Gemma's kind: a space in front is part of a word, a text begins with `<bos>`."""
    from transformers import GemmaTokenizer

    special = ["<|turn>", "<turn|>", "<|image|>", "<|image>", "<image|>", "<|audio|>", "<|audio>", "<audio|>"]
    special += ["<|think|>", "<|channel>", "<channel|>", "<|video|>"]
    characters = ["▁", "\n", *(chr(code) for code in range(33, 127))]
    merges: list[tuple[str, str]] = []
    for word in ("Score", "Yes", "No", "light", "shadow", "▁Yes", "▁No", "▁light", "▁red", "model", "user", "system"):
        merges += [(word[:length], word[length]) for length in range(1, len(word))]
    words = dict.fromkeys(first + second for first, second in merges)
    tokens = ["<pad>", "<eos>", "<bos>", "<unk>", "<mask>", *(f"<0x{byte:02X}>" for byte in range(256)), *characters]
    vocabulary = {token: number for number, token in enumerate(dict.fromkeys((*tokens, *words)))}
    tokenizer = GemmaTokenizer(vocab=vocabulary, merges=list(dict.fromkeys(merges)))
    tokenizer.add_special_tokens({"additional_special_tokens": special})
    names = {"image_token": "<|image|>", "boi_token": "<|image>", "eoi_token": "<image|>"}
    names |= {"audio_token": "<|audio|>", "boa_token": "<|audio>", "eoa_token": "<audio|>"}
    tokenizer._set_model_specific_special_tokens(special_tokens=names)
    tokenizer.eos_token, tokenizer.padding_side, tokenizer.model_max_length = "<turn|>", "left", 32768
    return tokenizer


# -- models --


def _text(tokenizer: Any, **more: Any) -> dict[str, Any]:
    return {
        "vocab_size": len(tokenizer),
        "hidden_size": WIDTH,
        "intermediate_size": 2 * WIDTH,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 32768,
        "bos_token_id": None,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
        "tie_word_embeddings": False,
    } | more


def _gated_delta(tokenizer: Any) -> dict[str, Any]:
    """Text of Qwen3.5: one layer of linear attention, one of the usual."""
    rope = {"rope_type": "default", "mrope_section": [1, 1, 0], "mrope_interleaved": True, "rope_theta": 1e6}
    linear = {"linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_conv_kernel_dim": 4}
    linear |= {"linear_key_head_dim": 16, "linear_value_head_dim": 16}
    layers = ["linear_attention", "full_attention"]
    return _text(tokenizer, head_dim=16, rope_parameters=rope, layer_types=layers, **linear)


Chain = Sequence[Sequence[str]]
"""What follows what: each link has texts of which any may stand there."""
Parts = tuple[Any, str, Any, Mapping[str, Mapping[str, Any]], Sequence[Chain]]
"""Tokenizer, chat template, model, the processor's files, and what follows what in an answer."""


def _chain(*texts: str) -> Chain:
    return [(text,) for text in texts]


def _answer(*before: str, behind: Sequence[str] = ()) -> Chain:
    """An answer behind `before`, of which the last token decides; the empty text is its end."""
    said = _chain(*before, "Score", ":", " ")
    return [*said, tuple(FIRST_DIGITS), (".",), tuple(SECOND_DIGITS), *_chain(*behind, "")]


def _qwen3_5() -> Parts:
    import transformers

    special = ["<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"]
    tokenizer = _bytes_tokenizer(special, [THINK, CLOSE, PARAGRAPH])
    names = {"image_token_id": 2, "video_token_id": 3, "vision_start_token_id": 0, "vision_end_token_id": 1}
    config = transformers.Qwen3_5Config(
        text_config=_gated_delta(tokenizer),
        vision_config={
            "depth": 2,
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_heads": 2,
            "patch_size": 16,
            "num_position_embeddings": 64,
            "out_hidden_size": WIDTH,
        },
        tie_word_embeddings=False,
        **{name: tokenizer.convert_tokens_to_ids(special[place]) for name, place in names.items()},
    )
    images = {
        "image_processor_type": "Qwen2VLImageProcessor",
        "patch_size": 16,
        "size": {"shortest_edge": 64 * 64, "longest_edge": 128 * 128},
        "image_mean": [0.5] * 3,
        "image_std": [0.5] * 3,
    }
    template = CHATML.replace("PICTURE", "<|vision_start|><|image_pad|><|vision_end|>").replace(
        "THINKING", QWEN_THINKING
    )
    answers = [_chain("\n", *THOUGHT, CLOSE, PARAGRAPH), _answer(PARAGRAPH)]
    model = transformers.Qwen3_5ForConditionalGeneration(config)
    return tokenizer, template, model, _files("Qwen3VLProcessor", images), answers


def _internvl() -> Parts:
    import transformers

    special = ["<img>", "</img>", "<IMG_CONTEXT>", "<video>"]
    named = dict(
        zip(("start_image_token", "end_image_token", "context_image_token", "video_token"), special, strict=True)
    )
    tokenizer = _bytes_tokenizer(special, [], **named)
    config = transformers.InternVLConfig(
        text_config=_text(tokenizer, model_type="qwen2"),
        vision_config={
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "intermediate_size": 64,
            "image_size": [28, 28],
            "patch_size": [7, 7],
        },
        image_token_id=tokenizer.convert_tokens_to_ids("<IMG_CONTEXT>"),
        image_seq_length=4,
        tie_word_embeddings=False,
    )
    images = {"image_processor_type": "GotOcr2ImageProcessor", "size": {"height": 28, "width": 28}, "max_patches": 4}
    template = CHATML.replace("PICTURE", "<IMG_CONTEXT>").replace("THINKING", "")
    model = transformers.InternVLForConditionalGeneration(config)
    files = _files("InternVLProcessor", images, image_seq_length=4)
    return tokenizer, template, model, files, [_answer("\n")]


def _glm46v() -> Parts:
    import transformers

    special = ["[gMASK]", "<sop>", "<|system|>", "<|user|>", "<|assistant|>", "<|begin_of_image|>", "<|end_of_image|>"]
    special += ["<|begin_of_video|>", "<|end_of_video|>", "<|image|>", "<|video|>"]
    frame = ("<|begin_of_box|>", "<|end_of_box|>")
    tokenizer = _bytes_tokenizer(special, [THINK, CLOSE, *frame])
    tokenizer.eos_token = "<|user|>"
    rope = {"rope_type": "default", "mrope_section": [1, 1, 2], "rope_theta": 1e4, "partial_rotary_factor": 0.5}
    ids = {
        f"{kind}_{place}token_id": tokenizer.convert_tokens_to_ids(f"<|{written}{kind}|>")
        for kind in ("image", "video")
        for place, written in (("", ""), ("start_", "begin_of_"), ("end_", "end_of_"))
    }
    config = transformers.Glm46VConfig(
        text_config=_text(tokenizer, rope_parameters=rope),
        vision_config={
            "depth": 2,
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_heads": 2,
            "image_size": 56,
            "patch_size": 14,
            "out_hidden_size": WIDTH,
        },
        tie_word_embeddings=False,
        **ids,
    )
    size = {"shortest_edge": 2 * 56 * 56, "longest_edge": 2 * 112 * 112}
    images = {"image_processor_type": "Glm46VImageProcessor", "size": size}
    thought = _chain("<|assistant|>", THINK, *THOUGHT, CLOSE, "\n")
    answers = [thought, _answer("\n", frame[0], behind=frame[1:])]
    model = transformers.Glm46VForConditionalGeneration(config)
    return tokenizer, GLM, model, _files("Glm46VProcessor", images), answers


def _minicpmv() -> Parts:
    import transformers

    names = ("image", "video", "image_start", "image_end", "slice_start", "slice_end", "image_id_start", "image_id_end")
    special = [
        "<|image_pad|>",
        "<|video_pad|>",
        "<image>",
        "</image>",
        "<slice>",
        "</slice>",
        "<image_id>",
        "</image_id>",
    ]
    tokenizer = _bytes_tokenizer(
        special, [], **{f"{name}_token": token for name, token in zip(names, special, strict=True)}
    )
    ids = dict(zip(names, tokenizer.convert_tokens_to_ids(special), strict=True))
    config = transformers.MiniCPMV4_7Config(
        text_config=_gated_delta(tokenizer) | {"model_type": "qwen3_5_text"},
        vision_config={
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "intermediate_size": 64,
            "image_size": 56,
            "patch_size": 14,
        },
        insert_layer_id=0,
        image_size=56,
        image_token_id=ids["image"],
        video_token_id=ids["video"],
        newline_id=tokenizer.encode("\n")[0],
        tie_word_embeddings=False,
        **{f"{name}_id": ids[name] for name in names[2:6]},
    )
    images = {"image_processor_type": "MiniCPMV4_6ImageProcessor", "max_slice_nums": 4, "scale_resolution": 56}
    template = CHATML.replace("PICTURE", "<|image_pad|>").replace("THINKING", "")
    model = transformers.MiniCPMV4_7ForConditionalGeneration(config)
    return tokenizer, template, model, _files("MiniCPMV4_7Processor", images), [_answer("\n")]


def _gemma4() -> Parts:
    import transformers

    tokenizer = _spaced_tokenizer()
    text = {
        "head_dim": 16,
        "global_head_dim": 16,
        "sliding_window": 512,
        "layer_types": ["sliding_attention", "full_attention"],
    }
    text |= {"hidden_size_per_layer_input": 0, "vocab_size_per_layer_input": len(tokenizer)}
    text |= {"use_bidirectional_attention": "vision"}
    ids = {
        f"{key}_token_id": tokenizer.convert_tokens_to_ids(token)
        for key, token in (("boi", "<|image>"), ("eoi", "<image|>"), ("image", "<|image|>"), ("video", "<|video|>"))
    }
    config = transformers.Gemma4Config(
        text_config=_text(tokenizer, **text) | {"bos_token_id": tokenizer.bos_token_id},
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "num_key_value_heads": 2,
            "head_dim": 16,
            "position_embedding_size": 256,
            "patch_size": 4,
        },
        audio_config=None,
        tie_word_embeddings=False,
        **ids,
    )
    images = {"image_processor_type": "Gemma4ImageProcessor", "patch_size": 4, "max_soft_tokens": 70}
    model = transformers.Gemma4ForConditionalGeneration(config)
    files = _files("Gemma4Processor", images, image_seq_length=70)
    return tokenizer, GEMMA, model, files, [_answer("\n")]


def _files(processor: str, images: Mapping[str, Any], **settings: Any) -> dict[str, dict[str, Any]]:
    named = {"processor_class": processor}
    return {"preprocessor_config.json": {**images, **named}, "processor_config.json": {**settings, **named}}


# -- weights --


def _write(model: Any, tokenizer: Any, answers: Sequence[Chain]) -> None:
    """Writes embeddings and output layer, so that each token of an answer is followed by the next.

    A token is followed by what its own features say, and of equally likely ones by what the last layer adds to them:
    a mixture of all that it has seen.
    """
    import torch

    def numbers(text: str) -> list[int]:
        return list(tokenizer.encode(text, add_special_tokens=False)) if text else [tokenizer.eos_token_id]

    tokens = model.get_input_embeddings().weight
    output = model.get_output_embeddings().weight
    with torch.no_grad():
        tokens.copy_(torch.nn.functional.normalize(torch.randn_like(tokens), dim=1) * 8)
        features = tokens / 8
        output.zero_()
        for name, parameter in model.named_parameters():
            if name.endswith(("o_proj.weight", "out_proj.weight", "down_proj.weight")) and "vis" not in name:
                parameter.copy_(torch.randn_like(parameter) * SHARE)
            elif "post_" in name and name.endswith("layernorm.weight") and "visual" not in name:
                parameter.mul_(SHARE)  # of GLM: what a layer adds is normed
        links = [[numbers(text) for text in link] for chain in answers for link in chain]
        for row in {tuple(row) for link in links for row in link}:
            for token, next_token in itertools.pairwise(row):
                output[next_token] += 5 * features[token]
        for before, after in itertools.chain.from_iterable(map(itertools.pairwise, answers)):
            for first, second in itertools.product(before, after):
                output[numbers(second)[0]] += 5 * features[numbers(first)[-1]]
        # Less likely, a number alone, and 10: what probabilities can be read of.
        starts = [chain[list(chain).index(("Score",)) - 1][0] for chain in answers if ("Score",) in chain]
        for start, digit in itertools.product(starts, FIRST_DIGITS + SECOND_DIGITS):
            output[numbers(digit)[0]] += 4.8 * features[numbers(start)[-1]]
        for digit, other in itertools.product(FIRST_DIGITS, ("0", "")):
            output[numbers(other)[0]] += 4.7 * features[numbers(digit)[0]]
        # What tells the digits apart does not see the tokens that stand before them, only what the layers add to these.
        before_digits = [numbers(text)[-1] for text in (" ", ".", *starts, *FIRST_DIGITS)]
        base, _ = torch.linalg.qr(features[before_digits].T)
        for digit in FIRST_DIGITS + SECOND_DIGITS:
            direction = torch.randn(tokens.shape[1])
            direction -= base @ (base.T @ direction)
            output[numbers(digit)[0]] += 3 * direction / direction.norm()


_BUILDERS: Mapping[str, Callable[[], Parts]] = {
    "qwen3.5": _qwen3_5,
    "gemma4": _gemma4,
    "internvl": _internvl,
    "glm46v": _glm46v,
    "minicpmv4_7": _minicpmv,
}
JUDGES = tuple(_BUILDERS)
"""The names."""
