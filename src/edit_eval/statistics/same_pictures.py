"""Edit models that made the very same pictures, whatever they are called."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from edit_eval.records import Results, Status

Pixels = Mapping[tuple[str, int], str]
"""Of each sample and edit seed a digest of the edit's pixels."""


class SamePictures(msgspec.Struct, frozen=True):
    """Two edit models that made the very same pixels."""

    a: str
    b: str
    count: int
    """Edits with the same pixels, of `total`."""
    total: int
    """Edits that both made."""


def pixels_of(results: Results) -> dict[str, Pixels]:
    """Returns the pixels that each edit model of a run made."""
    pixels: dict[str, dict[tuple[str, int], str]] = {name: {} for name in results.edit_models}
    for edit in results.edits:
        if edit.status is Status.OK and edit.pixels:
            pixels[edit.edit_model][edit.sample_id, edit.edit_seed] = edit.pixels
    return {**pixels}


def same_pictures(pixels: Mapping[str, Pixels]) -> list[SamePictures]:
    """Returns the edit models that made the same pixels for more than half of what both made."""
    pairs, names = [], list(pixels)
    for place, a in enumerate(names):
        for b in names[place + 1 :]:
            count = len(pixels[a].items() & pixels[b].items())
            if count and 2 * count > (both := len(pixels[a].keys() & pixels[b].keys())):
                pairs.append(SamePictures(a, b, count, both))
    return pairs
