"""A judge's processor: how it limits and reads pictures, and which special tokens its texts must not contain."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from edit_eval.errors import LoadError
from edit_eval.plugins.local_judges.in_worker.judge_table import Family
from edit_eval.pretrained.folders import Keywords
from edit_eval.pretrained.processors import WITH_VIDEO, check_processor, load_processor, load_with_pillow

if TYPE_CHECKING:
    from PIL.Image import Image

    from edit_eval.pretrained.folders import Location


def judge_processor(
    model_name: str, location: Location, family: Family | None, areas: dict[str, int], settings: Keywords
) -> Any:
    """Loads a model's processor for pictures and text. Raises `LoadError`.

    `areas` are what limits pictures, `min_pixels` and `max_pixels`, in pixels; `settings` replace the image
    processor's own.
    """
    if family and family.processor in WITH_VIDEO and not settings:
        processor = load_processor(location.name, family.processor, areas, **location.keywords)
    elif family and family.images:
        settings = _settings(location, family, areas, settings)
        processor = load_with_pillow(location.name, family.processor, family.images, settings, **location.keywords)
    else:  # a relative without a row in the table: the library's default
        from transformers import AutoProcessor

        processor = AutoProcessor.from_pretrained(location.name, **areas, **settings, **location.keywords)
    check_processor(processor, model_name)
    if not getattr(processor, "chat_template", None):
        raise LoadError(
            f"{model_name} has no chat template (chat_template.jinja or chat_template.json), so how to "
            "prompt it is unknown; use an instruction-tuned model"
        )
    tokenizer = processor.tokenizer
    tokenizer.padding_side = "left"  # all rows end where their answers begin
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return processor


def _settings(location: Location, family: Family, areas: dict[str, int], given: Keywords) -> Keywords:
    """Returns the image processor's settings that replace those in the model's files."""
    import transformers

    images: Any = getattr(transformers, family.images)
    known = f"{family.models} has {', '.join(family.settings)}"
    if unknown := sorted(name for name in given if not hasattr(images, name)):
        raise LoadError(f"image_settings: {family.images} has no `{unknown[0]}`; {known}")
    if not areas:
        return given
    if not family.frames:
        raise LoadError(
            f"{min(areas)}: pictures are not limited by area for {family.models}; use image_settings: {known}"
        )
    stored, _ = images.get_image_processor_dict(location.name, **location.keywords)
    size = {**images.size, **(stored.get("size") or {}), **given.get("size", {})}
    for name, edge in (("min_pixels", "shortest_edge"), ("max_pixels", "longest_edge")):
        if name in areas:
            size[edge] = areas[name] * family.frames
    return {**given, "size": size}


def pixels(images: Any, family: Family | None) -> str:
    """Describes what limits the pictures, in the image processor's words."""
    size = dict(getattr(images, "size", None) or {})
    if family is None or family.frames == 1:
        return f"{size.get('shortest_edge')} to {size.get('longest_edge')}"
    shown = {name: getattr(images, name, None) for name in family.settings}
    return ", ".join(f"{name}: {value}" for name, value in shown.items())


def special_tokens(processor: Any) -> re.Pattern[str]:
    """Returns a pattern for text that would be read as a chat token or a picture's placeholder."""
    special = {token.content for token in processor.tokenizer.added_tokens_decoder.values() if token.special}
    special |= {str(getattr(processor, f"{kind}_token", None) or "") for kind in ("image", "video", "audio")}
    alternatives = sorted(special - {""}, key=lambda text: (-len(text), text))
    return re.compile("|".join(map(re.escape, alternatives)) or "(?!)")


# -- pictures as the Qwen-VL family reads them: scaled on the host, converted to numbers on the device --
#
# transformers does all of it on the host: 30 to 70 ms and 25 to 40 MB of float32 a picture, while the GPU waits. Here
# 8-bit pixels are transferred, and each of the 256 levels is converted once. The numbers equal the library's own bit
# for bit.

THREADS = 8
"""Most pictures scaled at the same time; Pillow lets other threads run meanwhile."""

KNOWN = "Qwen2VLImageProcessorPil"
STEPS = ("do_resize", "do_rescale", "do_normalize")


def keep_levels(processor: Any) -> bool:
    """Makes `processor.image_processor` return 8-bit pixels (one flat tensor) instead of patches of float32.

    Returns True if it does: an image processor of another kind, or one that skips a step, stays unchanged.
    """
    images = processor.image_processor
    kind = type(images)
    resized = getattr(sys.modules[kind.__module__], "smart_resize", None)
    if kind.__name__ != KNOWN or resized is None or not all(getattr(images, step, False) for step in STEPS):
        return False

    def scale_picture(self: Any, picture: Image) -> Any:
        import torch

        height, width = resized(
            picture.height,
            picture.width,
            factor=self.patch_size * self.merge_size,
            min_pixels=self.size["shortest_edge"],
            max_pixels=self.size["longest_edge"],
        )
        if picture.size != (width, height):
            picture = picture.resize((width, height), self.resample)
        return torch.frombuffer(bytearray(picture.tobytes()), dtype=torch.uint8), height, width

    def __call__(self: Any, images: Iterable[Image], *_: Any, **__: Any) -> Any:
        import torch
        from transformers.feature_extraction_utils import BatchFeature

        pictures = list(images)
        if len(pictures) > 1 and (threads := min(THREADS, len(pictures), os.cpu_count() or 1)) > 1:
            with ThreadPoolExecutor(threads) as pool:
                scaled_pictures = list(pool.map(self.scaled, pictures))
        else:
            scaled_pictures = [self.scaled(picture) for picture in pictures]
        grids = [[1, height // self.patch_size, width // self.patch_size] for _, height, width in scaled_pictures]
        levels = torch.cat([pixels for pixels, _, _ in scaled_pictures])
        return BatchFeature({"pixel_values": levels, "image_grid_thw": torch.tensor(grids)})

    body = {"__call__": __call__, "scaled": scale_picture, "__module__": kind.__module__}
    images.__class__ = type(kind.__name__, (kind,), body)
    return True


def numbers_of_levels(images: Any) -> Any:
    """Returns what the image processor makes of each level of each channel: float32 (3, 256)."""
    import numpy
    import torch

    levels = numpy.broadcast_to(numpy.arange(256, dtype=numpy.uint8), (3, 1, 256))
    scaled = images.rescale(levels, images.rescale_factor)
    return torch.from_numpy(images.normalize(scaled, images.image_mean, images.image_std)).reshape(3, 256)


def patches(inputs: Mapping[str, Any], images: Any, numbers: Any) -> Any:
    """Returns the patches for the vision tower, float32, on the device of `inputs` and `numbers`.

    Shape (patches, 3 * frames * patch * patch), in the order of the library: squares of `merge_size` patches together,
    the one frame repeated.
    """
    import torch

    side, merge, frames = images.patch_size, images.merge_size, images.temporal_patch_size
    channels = 256 * torch.arange(3, device=numbers.device).view(1, 3, 1)
    patches_by_picture, begin = [], 0
    for _, rows, columns in inputs["image_grid_thw"].tolist():
        end = begin + 3 * rows * columns * side**2
        pixels = inputs["pixel_values"][begin:end]
        pixels = pixels.view(rows // merge, merge, side, columns // merge, merge, side, 3)
        cut = pixels.permute(0, 3, 1, 4, 6, 2, 5).reshape(rows * columns, 3, side**2)
        values = torch.take(numbers, cut.long() + channels)
        patches_by_picture.append(values.unsqueeze(2).expand(-1, -1, frames, -1).reshape(rows * columns, -1))
        begin = end
    return torch.cat(patches_by_picture)
