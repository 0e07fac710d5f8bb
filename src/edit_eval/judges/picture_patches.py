"""Pictures as the Qwen-VL family reads them: scaled on the host, cut into patches and made numbers on the device.

transformers does all of it on the host: 30 to 70 ms and 25 to 40 MB of float32 a picture, while the GPU waits. Here
8-bit pixels travel, and each of the 256 levels is made a number once. The numbers are the library's own, bit for bit.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL.Image import Image

THREADS = 8
"""At most so many pictures are scaled at the same time; Pillow lets other threads run meanwhile."""

KNOWN = "Qwen2VLImageProcessorPil"
STEPS = ("do_resize", "do_rescale", "do_normalize")


def keep_levels(processor: Any) -> bool:
    """Has `processor.image_processor` hand out 8-bit pixels (one flat tensor) in place of patches of float32.

    Returns whether it does: an image processor of another kind, or one that leaves out a step, stays as it is.
    """
    images = processor.image_processor
    kind = type(images)
    resized = getattr(sys.modules[kind.__module__], "smart_resize", None)
    if kind.__name__ != KNOWN or resized is None or not all(getattr(images, step, False) for step in STEPS):
        return False

    def scaled(self: Any, picture: Image) -> Any:
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
                found = list(pool.map(self.scaled, pictures))
        else:
            found = [self.scaled(picture) for picture in pictures]
        grids = [[1, height // self.patch_size, width // self.patch_size] for _, height, width in found]
        levels = torch.cat([pixels for pixels, _, _ in found])
        return BatchFeature({"pixel_values": levels, "image_grid_thw": torch.tensor(grids)})

    body = {"__call__": __call__, "scaled": scaled, "__module__": kind.__module__}
    images.__class__ = type(kind.__name__, (kind,), body)
    return True


def numbers_of_levels(images: Any) -> Any:
    """What the image processor makes of each level of each channel: float32 (3, 256)."""
    import numpy
    import torch

    levels = numpy.broadcast_to(numpy.arange(256, dtype=numpy.uint8), (3, 1, 256))
    scaled = images.rescale(levels, images.rescale_factor)
    return torch.from_numpy(images.normalize(scaled, images.image_mean, images.image_std)).reshape(3, 256)


def patches(inputs: Mapping[str, Any], images: Any, numbers: Any) -> Any:
    """The patches that the vision tower reads, float32, on the device where `inputs` and `numbers` lie.

    Shape (patches, 3 * frames * patch * patch), in the order of the library: squares of `merge_size` patches together,
    the one frame repeated.
    """
    import torch

    side, merge, frames = images.patch_size, images.merge_size, images.temporal_patch_size
    channels = 256 * torch.arange(3, device=numbers.device).view(1, 3, 1)
    found, begin = [], 0
    for _, rows, columns in inputs["image_grid_thw"].tolist():
        end = begin + 3 * rows * columns * side**2
        pixels = inputs["pixel_values"][begin:end]
        pixels = pixels.view(rows // merge, merge, side, columns // merge, merge, side, 3)
        cut = pixels.permute(0, 3, 1, 4, 6, 2, 5).reshape(rows * columns, 3, side**2)
        values = torch.take(numbers, cut.long() + channels)
        found.append(values.unsqueeze(2).expand(-1, -1, frames, -1).reshape(rows * columns, -1))
        begin = end
    return torch.cat(found)
