"""What is odd about the samples of any benchmark and is no fault, and what was done about it."""

from __future__ import annotations

import difflib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from edit_eval.benchmarks.categories import canonical
from edit_eval.benchmarks.values import shown
from edit_eval.records import Sample
from edit_eval.text import Text, counted

_NEAR = 0.75  # how alike two labels must be for the one to be a slip of the other
_RARER = 5  # times: as often a label must occur as the one that is a slip of it
_NAMED = 5  # samples that a note names
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"[^\"]*\"|\d+")
_INDEX = re.compile(r"index (\d+)")


def tidied(sample: Sample) -> Sample:
    """The sample, its labels without the space around them and with single spaces within."""
    category, difficulty = canonical(_tidy(sample.category)), _tidy(sample.difficulty)
    tags = tuple(map(_tidy, sample.tags))
    if (category, difficulty, tags) == (sample.category, sample.difficulty, sample.tags):
        return sample
    return replace(sample, category=category, difficulty=difficulty, tags=tags)


def lint(samples: Sequence[Sample], said: Iterable[str] = ()) -> tuple[str, ...]:
    """Notes on the samples as the benchmark gave them, one line each, after what it `said` itself.

    Labels with space around them or one letter beside a frequent one, sets of unequal size, a language that some lack,
    the same edit twice. Notes that differ only in names and numbers are one.
    """
    labels = [*_labels(samples, "category"), *_labels(samples, "difficulty"), *_spaced(samples, "tag")]
    return (*_together(said), *labels, *_sets(samples), *_together(_repeats(samples)))


def _tidy(label: str) -> str:
    return " ".join(label.split())


def _of(sample: Sample, name: str) -> tuple[str, ...]:
    return sample.tags if name == "tag" else (getattr(sample, name),)


def _spaced(samples: Sequence[Sample], name: str) -> list[str]:
    found = defaultdict(list)
    for sample in samples:
        for label in _of(sample, name):
            if label != _tidy(label):
                found[label].append(sample.index)
    return [
        Text("{} {} is taken as {} ({})", name, shown(label), shown(_tidy(label)), _places(at))
        for label, at in found.items()
    ]


def _labels(samples: Sequence[Sample], name: str) -> list[str]:
    found = defaultdict(list)
    for sample in samples:
        if label := _tidy(getattr(sample, name)):
            found[label].append(sample.index)
    notes = _spaced(samples, name)
    for label, at in found.items():
        frequent = [other for other, places in found.items() if len(places) >= _RARER * len(at)]
        alike = [other for other in found if other != label and other.casefold() == label.casefold()]
        alike = [other for other in alike if len(found[other]) > len(at)]
        near = alike or difflib.get_close_matches(label, frequent, 1, _NEAR)
        if near and _without_digits(near[0]) != _without_digits(label):
            meant = Text("{} ({})", shown(near[0]), counted(len(found[near[0]]), "sample"))
            notes.append(Text("{} {} ({}) may mean {}: left unchanged", name, shown(label), _places(at), meant))
    return notes


def _without_digits(label: str) -> str:
    return re.sub(r"\d+", "", label)


def _sets(samples: Sequence[Sample]) -> list[str]:
    notes: list[str] = []
    sizes = Counter(category for sample in samples if (category := _tidy(sample.category)))
    if sizes and max(sizes.values()) > min(sizes.values()):
        (most, more), (least, less) = sizes.most_common()[0], sizes.most_common()[-1]
        text = Text("the mean over samples weights categories by size, the mean over categories does not")
        notes.append(
            Text("categories are of unequal size, {} {} to {} {}: {}", shown(most), more, shown(least), less, text)
        )
    good = [sample for sample in samples if not sample.fault]
    for language in dict.fromkeys(name for sample in good for name in sample.instructions):
        there = sum(language in sample.instructions for sample in good)
        if there < len(good):
            notes.append(
                Text("only {} of {} have an instruction in `{}`", there, counted(len(good), "sample"), language)
            )
    return notes


def _repeats(samples: Sequence[Sample]) -> Iterable[str]:
    first: dict[tuple[object, ...], Sample] = {}
    for sample in samples:
        digests = tuple(picture.digest for name, picture in sample.pictures.items() if name.startswith("source"))
        if sample.fault or not all(digests) or not digests:
            continue
        other = first.setdefault((*digests, " ".join(sample.instruction.split()).casefold()), sample)
        if other is not sample:
            repeats = Text("repeats index {} ({})", other.index, shown(other.id))
            yield Text(
                "index {} ({}) {} (same picture and instruction): both count", sample.index, shown(sample.id), repeats
            )


def _together(notes: Iterable[str]) -> list[str]:
    """The notes, those that differ only in what they quote and count as one."""
    groups = defaultdict(list)
    for note in notes:
        groups[_QUOTED.sub("", note)].append(note)
    return [_with_others(group) for group in groups.values()]


def _with_others(group: Sequence[str]) -> str:
    others = [found[1] for note in group[1:] if (found := _INDEX.search(note))]
    if len(group) == 1 or not others:
        return "; ".join(group)
    return Text("{} (likewise {})", group[0], _places(others))


def _places(indices: Sequence[object]) -> str:
    """`3 samples: index 4, 7, 9`."""
    more = Text(" and {} more", len(indices) - _NAMED) if len(indices) > _NAMED else ""
    return Text("{}: index {}{}", counted(len(indices), "sample"), indices[:_NAMED], more)
