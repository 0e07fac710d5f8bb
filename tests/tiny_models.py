"""The real model classes with tiny weights, built offline in seconds: `python tests/tiny_models.py FOLDER`.

| name                   | what it is                                                             |
|------------------------|------------------------------------------------------------------------|
| `qwen-image-edit`      | diffusers' `QwenImageEditPipeline`, random weights                     |
| `qwen-image-edit-plus` | diffusers' `QwenImageEditPlusPipeline`, random weights                 |
| `qwen3-vl`             | transformers' Qwen3-VL, written to answer `Score: d.d` to any prompt   |
| `qwen3-vl-moe`         | the same as a mixture of experts                                       |
| `qwen2.5-vl`           | the same as a Qwen2.5-VL                                               |

Each is a folder of 1 to 3 MB that `from_pretrained` loads as it loads the real one. Two builds give equal files. Edits
look like noise and scores mean nothing, but every step from picture to number is the real one.
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from edit_eval.pretrained.processors import image_only, image_processor_class
from tiny_tokenizer import CHAT_TEMPLATE, tiny_tokenizer, token_ids
from written_weights import HEAD_WIDTH, WIDTH, write_answers


def build(folder: Path | str, names: Sequence[str] | None = None) -> dict[str, Path]:
    """Builds the models called `names` (all of them by default) under `folder`; returns each one's folder.

    What lies there under these names is replaced. Raises `ValueError` for an unknown name.
    """
    names = list(_BUILDERS) if names is None else list(names)
    if unknown := [name for name in names if name not in _BUILDERS]:
        raise ValueError(f"there is no tiny model {unknown[0]!r}; there are {', '.join(_BUILDERS)}")
    built = {}
    for name in names:
        target = Path(folder) / name
        unfinished = target.with_name(f".{name}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        with _reproducible():
            _BUILDERS[name](unfinished)
        shutil.rmtree(target, ignore_errors=True)
        unfinished.rename(target)
        built[name] = target
    return built


@contextmanager
def _reproducible() -> Iterator[None]:
    """One seed and one thread inside; the caller's random state and threads afterwards."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            yield
    finally:
        torch.set_num_threads(threads)


def _processor(class_name: str, tokenizer: Any, **image_settings: Any) -> Any:
    images = image_processor_class()(**image_settings)
    return image_only(class_name)(images, tokenizer, chat_template=CHAT_TEMPLATE)


def _qwen2_5_vl(tokenizer: Any) -> Any:
    rope = {"rope_type": "default", "mrope_section": [2, 3, 3], "rope_theta": 1e6}
    vision = {"depth": 2, "fullatt_block_indexes": [1], "window_size": 56}
    return _model("Qwen2_5_VL", tokenizer, {"rope_parameters": rope}, vision)


def _qwen3_vl(tokenizer: Any, *, experts: bool, layers: int = 2, vision_width: int = 32) -> Any:
    rope = {"rope_type": "default", "mrope_section": [4, 2, 2], "mrope_interleaved": True, "rope_theta": 5e6}
    text = {"head_dim": HEAD_WIDTH, "rope_parameters": rope}  # the older family derives the width of its heads
    text |= {"num_hidden_layers": layers}
    if experts:
        text |= {"moe_intermediate_size": 32, "num_experts": 4, "num_experts_per_tok": 2}
    vision = {"depth": 3, "patch_size": 16, "num_position_embeddings": 64, "deepstack_visual_indexes": [0, 1]}
    vision |= {"hidden_size": vision_width}
    return _model("Qwen3VLMoe" if experts else "Qwen3VL", tokenizer, text, vision)


def _model(kind: str, tokenizer: Any, text: dict[str, Any], vision: dict[str, Any]) -> Any:
    import transformers

    config = getattr(transformers, f"{kind}Config")(
        text_config=_text_settings(tokenizer) | text,
        vision_config={"hidden_size": 32, "intermediate_size": 64, "num_heads": 2, "out_hidden_size": WIDTH} | vision,
        tie_word_embeddings=False,
        **token_ids(tokenizer),
    )
    return getattr(transformers, f"{kind}ForConditionalGeneration")(config).eval()


def _text_settings(tokenizer: Any) -> dict[str, Any]:
    return {
        "vocab_size": len(tokenizer),
        "hidden_size": WIDTH,
        "intermediate_size": 2 * WIDTH,
        "num_hidden_layers": 2,
        "num_attention_heads": WIDTH // HEAD_WIDTH,
        "num_key_value_heads": 2,
        "max_position_embeddings": 32768,
        "bos_token_id": None,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
        "tie_word_embeddings": False,
    }


def _build_judge(folder: Path, family: str) -> None:
    from transformers import GenerationConfig

    tokenizer = tiny_tokenizer()
    if family == "qwen2_5_vl":
        model = _qwen2_5_vl(tokenizer)
        size = {"shortest_edge": 56 * 56, "longest_edge": 112 * 112}
        processor = _processor("Qwen2_5_VLProcessor", tokenizer, size=size)
    else:
        model = _qwen3_vl(tokenizer, experts=family == "qwen3_vl_moe")
        size = {"shortest_edge": 64 * 64, "longest_edge": 128 * 128}
        half = [0.5, 0.5, 0.5]
        processor = _processor("Qwen3VLProcessor", tokenizer, size=size, patch_size=16, image_mean=half, image_std=half)
    model.generation_config = GenerationConfig(eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id)
    write_answers(model, processor)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    _save_video_settings(folder, processor)


def _build_edit_pipeline(folder: Path, class_name: str) -> None:
    import diffusers

    pipeline = getattr(diffusers, class_name)(**qwen_image_edit_parts())
    pipeline.save_pretrained(folder)
    _save_video_settings(folder / "processor", pipeline.processor)


def qwen_image_edit_parts() -> dict[str, Any]:
    """The parts of every pipeline of Qwen-Image-Edit."""
    import diffusers

    tokenizer = tiny_tokenizer()
    # As in the real one a picture may have many tokens; here at most 16, so that an edit stays fast.
    size = {"shortest_edge": 56 * 56, "longest_edge": 112 * 112}
    transformer = diffusers.QwenImageTransformer2DModel(
        patch_size=2,
        in_channels=64,
        out_channels=16,
        num_layers=2,
        attention_head_dim=16,
        num_attention_heads=4,
        joint_attention_dim=WIDTH,
        axes_dims_rope=(4, 6, 6),
    )
    vae = diffusers.AutoencoderKLQwenImage(  # narrow, but 16 channels and an eighth of the size, as the real one
        base_dim=8, z_dim=16, dim_mult=[1, 1, 1, 1], num_res_blocks=1, temperal_downsample=[False, True, True]
    )
    scheduler = diffusers.FlowMatchEulerDiscreteScheduler(
        base_image_seq_len=256,
        max_image_seq_len=8192,
        base_shift=0.5,
        max_shift=0.9,
        shift_terminal=0.02,
        time_shift_type="exponential",
        use_dynamic_shifting=True,
    )
    return {
        "transformer": transformer.eval(),
        "vae": _with_contrast(vae.eval()),
        "scheduler": scheduler,
        "text_encoder": _qwen2_5_vl(tokenizer),
        "tokenizer": tokenizer,
        "processor": _processor("Qwen2VLProcessor", tokenizer, size=size),
    }


def _save_video_settings(folder: Path, processor: Any) -> None:
    """Writes what the libraries' own processors read besides, where there is a torchvision."""
    images = processor.image_processor
    kind = "Qwen3VLVideoProcessor" if type(processor).__name__ == "Qwen3VLProcessor" else "Qwen2VLVideoProcessor"
    settings = {
        "video_processor_type": kind,
        "patch_size": images.patch_size,
        "merge_size": images.merge_size,
        "temporal_patch_size": images.temporal_patch_size,
        "size": dict(images.size),
    }
    (folder / "video_preprocessor_config.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")


def _with_contrast(vae: Any) -> Any:
    """Scales the last layer of the decoder, so that random latents become colours instead of one grey."""
    import torch

    last = vae.decoder.conv_out
    with torch.no_grad():
        pictures = vae.decode(torch.randn(8, 16, 1, 8, 8), return_dict=False)[0]
        mean, spread = pictures.mean((0, 2, 3, 4)), pictures.std((0, 2, 3, 4))
        last.weight *= (0.5 / spread)[:, None, None, None, None]
        last.bias.copy_((last.bias - mean) * 0.5 / spread)
    return vae


_BUILDERS: dict[str, Callable[[Path], None]] = {
    "qwen-image-edit": partial(_build_edit_pipeline, class_name="QwenImageEditPipeline"),
    "qwen-image-edit-inpaint": partial(_build_edit_pipeline, class_name="QwenImageEditInpaintPipeline"),
    "qwen-image-edit-plus": partial(_build_edit_pipeline, class_name="QwenImageEditPlusPipeline"),
    "qwen3-vl": partial(_build_judge, family="qwen3_vl"),
    "qwen3-vl-moe": partial(_build_judge, family="qwen3_vl_moe"),
    "qwen2.5-vl": partial(_build_judge, family="qwen2_5_vl"),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line: a folder, and the names of models (all of them by default)."""
    parser = argparse.ArgumentParser(
        prog="python tests/tiny_models.py", description="Build the real model classes with tiny weights, offline."
    )
    parser.add_argument("folder", type=Path, help="where the models' folders are made")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(_BUILDERS)}; default: all")
    given = parser.parse_args(arguments)
    try:
        built = build(given.folder, given.names or None)
    except ValueError as error:
        parser.error(str(error))
    for name, path in built.items():
        size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
        print(f"{name}: {path} ({size / 1e6:.1f} MB)")


if __name__ == "__main__":
    main()
