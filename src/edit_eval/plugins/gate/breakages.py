"""What usually breaks when an engine is made faster: looked for in the pictures, in the records, and by trying it.

What a black box does is found by trying: the reference is run on a few pictures as if something were broken (without
guidance, with fewer steps, without its adapters). If the candidate's pictures are those, that is what is broken. And
the candidate is run again on these, with its seed and with another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from edit_eval.config.schema import ModelSection
from edit_eval.plugins.gate.distances import Levels, levels
from edit_eval.records import Edit
from edit_eval.text import Text

TRIED = 6
"""Pictures on which the two are tried as if something were broken."""
MOST = 0.9
"""Share of the pictures that must show it."""
NEARER = 0.1
"""A candidate's pictures are those of a broken reference if they are at most this much as far from them as from the
reference's own."""
BLACK = "black image"
"""How the reason of a failed edit begins that is black in every pixel."""
COPY = "identical_to_source"
"""Flag of an edit that is its source."""
OTHER_SEED = 977_001


class Breakage(NamedTuple):
    """Something that usually breaks, found."""

    kind: str
    """`size`, `black`, `source`, `colour`, `seed`, `guidance`, `steps`, `scheduler`, `lora`, `noise`."""
    line: Text


class EditPair(NamedTuple):
    """The same edit by both: same sample, same seed."""

    picture: str
    """Its source picture: the unit of all statistics."""
    reference: Edit
    candidate: Edit
    paths: tuple[Path, Path]
    """Of both pictures; of one that is missing, its run's folder."""

    @property
    def both(self) -> bool:
        """True if there are two pictures."""
        return bool(self.reference.image and self.candidate.image)


# -- in the pictures --


def find_in_records(pairs: Sequence[EditPair]) -> Iterator[Breakage]:
    """Yields what the records of the edits show."""
    both = [pair for pair in pairs if pair.both]
    sizes = [
        pair
        for pair in both
        if (pair.reference.width, pair.reference.height) != (pair.candidate.width, pair.candidate.height)
    ]
    if sizes:
        ends = [f"{edit.width}x{edit.height}" for edit in (sizes[0].reference, sizes[0].candidate)]
        yield Breakage(
            "size",
            Text("another size: {} of {} edits, such as {} in place of {}", len(sizes), len(both), ends[1], ends[0]),
        )
    black = [pair for pair in pairs if pair.reference.image and BLACK in pair.candidate.reason]
    if black:
        yield Breakage(
            "black",
            Text(
                "black pictures: {} of {} edits, where the reference has none; half precision makes them of a number "
                "that it cannot hold",
                len(black),
                len(pairs),
            ),
        )
    copies = [pair for pair in both if COPY in pair.candidate.flags and COPY not in pair.reference.flags]
    if copies:
        yield Breakage(
            "source",
            Text(
                "nothing edited: {} of {} edits are their source, and the reference's are not", len(copies), len(both)
            ),
        )
    seeds: dict[str, list[EditPair]] = {}
    for pair in both:
        seeds.setdefault(pair.reference.sample_id, []).append(pair)
    several = [some for some in seeds.values() if len({pair.reference.pixels for pair in some}) > 1]
    if several and all(len({pair.candidate.pixels for pair in some}) == 1 for some in several):
        yield Breakage("seed", _describe_ignored_seed(len(several)))


def _describe_ignored_seed(count: int) -> Text:
    return Text("a seed that is ignored: another one gives the same picture, of each of {} tried", count)


def find_colour(pairs: Sequence[EditPair]) -> Breakage | None:
    """Returns that a curve of tones, or other channels, make the candidate's pictures of the reference's."""
    changed = [pair for pair in pairs if pair.both and pair.reference.pixels != pair.candidate.pixels][:TRIED]
    kinds = []
    for pair in changed:
        one, other = map(levels, pair.paths)
        kinds.append(_name_colour(one, other) if one.shape == other.shape else "")
    for kind in dict.fromkeys(filter(None, kinds)):
        if len(changed) >= 2 and kinds.count(kind) >= MOST * len(changed):
            return Breakage("colour", _COLOURS[kind])
    curves = sum(bool(kind) for kind in kinds)
    return Breakage("colour", _COLOURS["curve"]) if len(changed) >= 2 and curves >= MOST * len(changed) else None


_COLOURS = {
    "channels": Text("colour: red and blue are exchanged"),
    "gamma": Text("colour: one gamma too many, or one too few"),
    "curve": Text("colour: one curve of tones makes the candidate's pictures of the reference's"),
}


def _name_colour(one: Levels, other: Levels) -> str:
    """Returns what a difference is, if it is in the tones alone."""
    apart = _mean_square(one, other)
    if _mean_square(one[..., ::-1], other) <= NEARER * apart:
        return "channels"
    for gamma in (2.2, 1 / 2.2):
        if _mean_square(255 * (one / 255) ** gamma, other) <= NEARER * apart:
            return "gamma"
    left = 0.0
    for channel in range(3):
        before, after = one[..., channel].ravel(), other[..., channel].ravel().astype(float)
        counts = np.bincount(before, minlength=256)
        curve = np.bincount(before, after, 256) / np.maximum(1, counts)
        left += _mean_square(curve[before], after) / 3
    return "curve" if left <= NEARER * apart and apart > 1 else ""


def _mean_square(one: Any, other: Any) -> float:
    return float(np.square(one.astype(float) - other).mean())


# -- in what the workers said of themselves --


def find_in_facts(reference: Mapping[str, Any], candidate: Mapping[str, Any]) -> Iterator[Breakage]:
    """Yields what the two models said of themselves when they were loaded, as far as it differs."""
    for name, (kind, words) in _FACTS.items():
        before, after = (str(facts.get(name) or "-") for facts in (reference, candidate))
        if name in reference and name in candidate and before != after:
            yield Breakage(kind, Text("{}: {} -> {}", words, before, after))
    if candidate.get("guidance") == "off" != reference.get("guidance"):
        yield Breakage("guidance", _NO_GUIDANCE)


_FACTS = {
    "num_inference_steps": ("steps", Text("another number of steps")),
    "scheduler": ("scheduler", Text("another scheduler")),
    "loras": ("lora", Text("other adapters (LoRA)")),
}
_NO_GUIDANCE = Text("guidance is off: the negative prompt changes nothing")


# -- by trying --

_STEPS = ("num_inference_steps", "steps")
_GUIDANCE = ("true_cfg_scale", "guidance_scale", "text_guidance_scale", "image_guidance_scale", "cfg_scale")
Parameters = Mapping[str, Any]


def list_broken(section: ModelSection, effective: Parameters) -> dict[str, ModelSection]:
    """Returns by kind the reference's section as if something were broken there, as far as it says how.

    `effective` has the values of what the section leaves to the model.
    """
    given, broken = section.parameters, dict[str, Parameters]()
    if isinstance(given.get("guidance"), Mapping):
        weights = {name: 1.0 for name, weight in (effective.get("guidance") or {}).items() if weight != 1}
        broken |= {"guidance": {"guidance": {**given["guidance"], **weights}}} if weights else {}
    for name in _GUIDANCE:
        if given.get(name) not in (None, 1, 1.0):
            broken["guidance"] = {name: 1.0}
    call = given.get("call")
    if isinstance(call, Mapping):
        unguided = {name: 1.0 for name in _GUIDANCE if call.get(name) not in (None, 1, 1.0)}
        kept = {name: value for name, value in call.items() if name != "negative_prompt"}
        if unguided or kept.keys() != call.keys():
            broken["guidance"] = {**broken.get("guidance", {}), "call": {**kept, **unguided}}
    for name in _STEPS:
        place = call if isinstance(call, Mapping) and name in call else given
        steps = place.get(name) or effective.get(name)
        if name in place and isinstance(steps, int):
            for fewer in {steps - 1, steps // 2} - {0, steps}:
                changed = {name: fewer}
                broken[f"steps-{fewer}"] = {"call": {**place, **changed}} if place is call else changed
    if given.get("loras"):
        broken["lora"] = {"loras": []}
    return {
        kind: section.model_copy(update={"name": kind, "parameters": {**given, **changed}})
        for kind, changed in broken.items()
    }


_TRIED = {
    "guidance": _NO_GUIDANCE,
    "lora": Text("a LoRA that is not there: these are the reference's pictures without its adapters"),
}


def find_by_trying(
    pairs: Sequence[EditPair], broken: Iterable[str], made: Callable[[str, Edit], Path | None]
) -> Iterator[Breakage]:
    """Yields which kind of broken reference makes the candidate's pictures; `made` finds the picture of one."""
    for kind in broken:
        nearer = []
        for pair in pairs:
            path = made(kind, pair.reference)
            one, other = (levels(each) for each in pair.paths)
            that = None if path is None else levels(path)
            if that is None or not one.shape == other.shape == that.shape:
                nearer.append(False)
                continue
            nearer.append(_mean_square(that, other) <= NEARER * _mean_square(one, other))
        if len(nearer) >= 2 and all(nearer):
            name, _, steps = kind.partition("-")
            said = Text("another number of steps: these are the reference's pictures after {} steps", steps)
            yield Breakage(name, _TRIED.get(name, said))


def find_other_noise(pairs: Sequence[EditPair], made: Callable[[str, Edit], Path | None]) -> Breakage | None:
    """Returns that the candidate is as far from the reference as the reference is from itself with another seed."""
    far = 0
    for pair in pairs:
        path = made("another_seed", pair.reference)
        one, other = (levels(each) for each in pair.paths)
        that = None if path is None else levels(path)
        if that is not None and one.shape == other.shape == that.shape:
            far += _mean_square(one, other) >= _mean_square(one, that) / 2 > 0
    if len(pairs) < 2 or far < MOST * len(pairs):
        return None
    return Breakage("noise", Text("other noise: as far from the reference as the reference is with another seed"))


def find_seed(pairs: Sequence[EditPair], made: Callable[[str, Edit], Path | None]) -> Breakage | None:
    """Returns that the candidate ignores its seed: another gives the same picture, or the same as unlike a one.

    `made` finds the picture that the candidate has made of an edit `again`, and with `another_seed`.
    """
    same, unlike = 0, 0
    for pair in pairs:
        paths = [made(kind, pair.candidate) for kind in ("again", "another_seed")]
        if None in paths:
            return None
        own, again, other = (levels(path) for path in (pair.paths[1], *filter(None, paths)))
        if not own.shape == again.shape == other.shape:
            return None
        apart = _mean_square(own, other)
        same += apart == 0
        unlike += _mean_square(own, again) >= apart / 2 > 0
    if len(pairs) >= 2 and same == len(pairs):
        return Breakage("seed", _describe_ignored_seed(same))
    if len(pairs) >= 2 and unlike >= MOST * len(pairs):
        return Breakage(
            "seed", Text("a seed that is ignored: it gives another picture each time, of {} tried", len(pairs))
        )
    return None
