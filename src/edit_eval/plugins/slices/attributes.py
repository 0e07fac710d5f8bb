"""What is known of a sample without asking a model: its labels, its instruction, its source, what became of its edits.

An attribute has words for a value (`category: add`), or is a quantity, of which the lowest and the highest tenth and
third are looked at.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from edit_eval.benchmarks.known_sources import with_known_sources
from edit_eval.errors import PictureError
from edit_eval.pictures import open_picture
from edit_eval.plugins.slices.words import WORDS, find_attributes, script
from edit_eval.records import Edit, Results, Sample, Status
from edit_eval.statistics.intervals import BoolArray
from edit_eval.store.run_directory import is_copy
from edit_eval.text import Text

SIDE = 256
"""Pixels of the longer side at which brightness, colours and sharpness are measured, so that size is not in them."""
LUMA = np.array([0.299, 0.587, 0.114])
"""Rec. 601."""
CHANGED = 16
"""Difference in a channel, of 255, from which a pixel counts as changed: more than JPEG and resampling do."""


@dataclass(frozen=True)
class Quantity:
    """A number of each sample, and what its lowest and highest values are called."""

    low: Text
    high: Text


QUANTITIES: Mapping[str, Quantity] = {
    "length": Quantity(Text("short instruction"), Text("long instruction")),
    "size": Quantity(Text("small source"), Text("large source")),
    "brightness": Quantity(Text("dark source"), Text("bright source")),
    "colours": Quantity(Text("pale source"), Text("colourful source")),
    "sharpness": Quantity(Text("soft source"), Text("sharp source")),
    "changed": Quantity(Text("few pixels changed"), Text("many pixels changed")),
}
"""`length`: characters, a Chinese one as three. `size`: pixels. `brightness`: mean of Rec. 601 luma, 0 to 255.
`colours`: colourfulness after Hasler and Süsstrunk (SPIE 5007, 2003). `sharpness`: logarithm of the variance of the
Laplacian. `changed`: share of the source's pixels that differ in the edit."""

SHARES: Mapping[str, float] = {"lowest tenth": 0.1, "lowest third": 1 / 3, "highest third": 2 / 3, "highest tenth": 0.9}
"""Where equal values lie at the end, it is more: so what is shown is the bound."""

VALUES: Mapping[tuple[str, str], Text] = {
    **{(row.attribute, row.value): row.label for row in WORDS},
    ("language", "Chinese"): Text("instruction in Chinese"),
    ("language", "Latin"): Text("instruction in Latin letters"),
    ("language", "other"): Text("instruction in another script"),
    ("sources", "several"): Text("several sources"),
    ("shape", "upright"): Text("upright source"),
    ("shape", "wide"): Text("wide source"),
    ("shape", "square"): Text("square source"),
    ("turn", "later"): Text("a later turn"),
    ("edit", "unchanged"): Text("the edit is the source"),
    ("edit", "other shape"): Text("the edit has another shape"),
}
"""What values are called that have no name of their own."""


def looks_of(path: Path) -> dict[str, float]:
    """Measures a picture: `size`, `ratio` (width by height), `brightness`, `colours`, `sharpness`; see `QUANTITIES`.

    Raises `PictureError` if it cannot be opened.
    """
    image = open_picture(path)
    width, height = image.size
    image.thumbnail((SIDE, SIDE))
    pixels = np.asarray(image, dtype=np.float64)
    luma = pixels @ LUMA
    red_green = pixels[..., 0] - pixels[..., 1]
    yellow_blue = (pixels[..., 0] + pixels[..., 1]) / 2 - pixels[..., 2]
    spread, level = math.hypot(red_green.std(), yellow_blue.std()), math.hypot(red_green.mean(), yellow_blue.mean())
    edges = 4 * luma[1:-1, 1:-1] - luma[:-2, 1:-1] - luma[2:, 1:-1] - luma[1:-1, :-2] - luma[1:-1, 2:]
    return {
        "size": float(width * height),
        "ratio": width / height,
        "brightness": float(luma.mean()),
        "colours": spread + 0.3 * level,
        "sharpness": math.log1p(float(edges.var())) if edges.size else 0.0,
    }


def measure_change(source: Path, edit: Path) -> float:
    """Returns the share of pixels that differ, the edit scaled to the source's size at `SIDE`, 0 to 1.

    Raises `PictureError` if either cannot be opened.
    """
    before, after = open_picture(source), open_picture(edit)
    before.thumbnail((SIDE, SIDE))
    first, second = (np.asarray(picture, dtype=np.int16) for picture in (before, after.resize(before.size)))
    return float((np.abs(first - second).max(-1) > CHANGED).mean())


def _words(sample: Sample, beside: Mapping[str, Sample]) -> set[tuple[str, str]]:
    """Returns attributes with words: labels, instruction, sources, turn."""
    words = {("category", sample.category), ("difficulty", sample.difficulty)}
    words |= {("tag", tag) for tag in sample.tags}
    words.add(("language", script(sample.instruction)))
    words |= set(find_attributes(sample.instruction))
    if sum(name == "source" or name.startswith("source_") for name in sample.pictures) > 1:
        words.add(("sources", "several"))
    if sample.follows in beside:
        words.add(("turn", "later"))
    return {(attribute, value) for attribute, value in words if value}


def _length(instruction: str) -> float:
    """Returns the length of an instruction in characters; a Chinese one is worth three."""
    return float(sum(3 if "\u3400" <= letter <= "\u9fff" else 1 for letter in instruction))


@dataclass(frozen=True)
class Attributes:
    """Of samples, in their order, all that slices are made of."""

    words: Sequence[set[tuple[str, str]]]
    quantities: Mapping[str, Sequence[float | None]]
    """By name, a value of each sample; None if it is not known."""
    unread: int
    """Samples of which a picture could not be opened."""

    def members(self) -> dict[tuple[str, str, float | None], BoolArray]:
        """Returns of each attribute and value which samples have it, with the last value that belongs to a share."""
        every = sorted({word for of_sample in self.words for word in of_sample})
        members: dict[tuple[str, str, float | None], BoolArray] = {
            (*word, None): np.array([word in of_sample for of_sample in self.words], dtype=bool) for word in every
        }
        for name, values in self.quantities.items():
            known = np.array([math.nan if value is None else value for value in values], dtype=np.float64)
            there = known[~np.isnan(known)]
            if not len(there) or there.min() == there.max():
                continue
            for share, quantile in SHARES.items():
                bound = float(np.quantile(there, quantile))
                with np.errstate(invalid="ignore"):
                    inside = known <= bound if quantile < 0.5 else known >= bound
                members[name, share, float(known[inside].max() if quantile < 0.5 else known[inside].min())] = inside
        return members


def attributes_of(
    results: Results, samples: Sequence[Sample], edit_model: str, *, pictures: bool, without: str
) -> Attributes:
    """Returns what is known of the samples and of an edit model's edits of them.

    With `pictures`, sources and edits are opened. Values of judges that measure (`numbers`) are quantities, too, as
    `JUDGE/SCORE`, by the edits of this model: faces, writing, blur, embeddings are known by such judges. The judge
    `without` is left out: that its scores are low where its scores are low is no finding.
    """
    by_id = {sample.id: sample for sample in (*results.samples, *results.beside)}
    edits: dict[str, list[Edit]] = {sample.id: [] for sample in samples}
    for edit in results.edits:
        if edit.edit_model == edit_model and edit.sample_id in edits:
            edits[edit.sample_id].append(edit)
    words = [_words(sample, by_id) | set(_became(edits[sample.id])) for sample in samples]
    quantities: dict[str, list[float | None]] = {"length": [_length(sample.instruction) for sample in samples]}
    unread = 0
    if pictures:
        looks, unread = _looks(results, samples, edits)
        for look, of_sample in zip(looks, words, strict=True):
            if "ratio" in look:
                of_sample.add(
                    ("shape", "upright" if look["ratio"] < 0.9 else "wide" if look["ratio"] > 1.1 else "square")
                )
        for name in (name for name in QUANTITIES if name != "length"):
            quantities[name] = [look.get(name) for look in looks]
    return Attributes(words, {**quantities, **_collect_measures(results, samples, edit_model, without)}, unread)


def _became(edits: Iterable[Edit]) -> list[tuple[str, str]]:
    """Returns what became of a sample's edits, if of all of them."""
    flags = [set(edit.flags) for edit in edits if edit.status is Status.OK]
    alike = set.intersection(*flags) if flags else set()
    named = {"identical_to_source": "unchanged", "other_aspect_ratio": "other shape"}
    return [("edit", named[flag]) for flag in sorted(alike & named.keys())]


def _looks(
    results: Results, samples: Sequence[Sample], edits: Mapping[str, Sequence[Edit]]
) -> tuple[list[dict[str, float]], int]:
    """Returns the measures of each sample's source, with `changed`, and of how many a picture could not be opened."""
    seen: dict[str, dict[str, float]] = {}
    looks, unread, copied = [], 0, is_copy(Path(results.directory))
    for recorded, sample in zip(samples, with_known_sources(samples), strict=True):
        unread += bool(recorded.source and not sample.source)
        of_sample: dict[str, float] = {}
        try:
            if sample.source:
                key = sample.source_digest or sample.source
                if key not in seen:
                    seen[key] = looks_of(Path(sample.source))
                of_sample = dict(seen[key])
                made = [edit for edit in edits[sample.id] if edit.status is Status.OK]
                if made and copied:  # too small to be held against the source
                    unread, made = unread + 1, []
                shares = [measure_change(Path(sample.source), Path(results.directory, edit.image)) for edit in made]
                if shares:
                    of_sample["changed"] = math.fsum(shares) / len(shares)
        except PictureError:
            unread += 1
        looks.append(of_sample)
    return looks, unread


def _collect_measures(
    results: Results, samples: Sequence[Sample], edit_model: str, without: str
) -> dict[str, list[float | None]]:
    """Returns the values of judges that measure, by `JUDGE/SCORE`, each sample's mean."""
    measuring = {judge for judge in results.judges if judge != without and results.scoring[judge].protocol == "numbers"}
    values: dict[tuple[str, str], dict[str, list[float]]] = {}
    for judgement in results.judgements:
        if judgement.judge in measuring and judgement.edit_model == edit_model:
            for score, value in judgement.scores.items():
                values.setdefault((judgement.judge, score), {}).setdefault(judgement.sample_id, []).append(value)
    return {
        f"{judge}/{score}": [
            math.fsum(known) / len(known) if (known := of_sample.get(sample.id)) else None for sample in samples
        ]
        for (judge, score), of_sample in values.items()
    }
