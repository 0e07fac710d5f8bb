"""Selects the samples of a benchmark for a run, and notes what is odd about them, with how it was handled."""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from edit_eval.benchmarks.contract import canonical
from edit_eval.benchmarks.plain_files import quote_text
from edit_eval.errors import BenchmarkError, ConfigurationError
from edit_eval.records import Sample
from edit_eval.text import Text, join_texts, pluralize

_NEAR = 0.75  # how similar a label must be to another to count as a misspelling of it
_RARER = 5  # times as often the right label must occur
_NAMED = 5  # how many samples a note names
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"[^\"]*\"|\d+")
_HALF = re.compile("[\ud800-\udfff]")
_TEXTS = ("id", "category", "instruction", "follows", "description", "difficulty", "rationale")
_SAMPLE = re.compile(r"sample ('(?:[^'\\]|\\.)*'|\"[^\"]*\")")


def refuse_bad(samples: Iterable[Sample], source: str = "", lines: Mapping[int, int] = MappingProxyType({})) -> None:
    """Raises `BenchmarkError` naming every bad sample of the file `source` (for `on_bad_sample: error`).

    `lines` has the file's line of a sample by its index.
    """
    faults = tuple(
        Text("line {}, sample {} ({}): {}", lines[s.index], s.index, s.id, s.fault)
        if s.index in lines
        else Text("sample {} ({}): {}", s.index, s.id, s.fault)
        for s in samples
        if s.fault
    )
    if faults:
        more = len(faults) - 1
        rest = Text(" (and {})", pluralize(more, "more bad sample")) if more else ""
        advice = Text("fix the file, or set `benchmark.on_bad_sample: skip`")
        where = Text("{}: ", source) if source else ""
        raise BenchmarkError(Text("{}{}{}; {}", where, faults[0], rest, advice), faults)


def refuse_nothing(samples: Iterable[Sample]) -> None:
    """Raises `BenchmarkError` if not one sample can be used (for `on_bad_sample: skip`)."""
    faults = [s.fault for s in samples]
    if all(faults):
        raise BenchmarkError(Text("no sample can be used, so there is nothing to edit. The first: {}", faults[0]))


def filter_samples(
    samples: Sequence[Sample],
    *,
    categories: Sequence[str] = (),
    difficulty: Sequence[str] = (),
    tags: Sequence[str] = (),
    sample_ids: Sequence[str] = (),
    limit: int | None = None,
    source: str = "",
) -> tuple[Sample, ...]:
    """Returns the samples that pass every filter, in the benchmark's order; an empty filter passes all.

    `categories` are canonical or as in the file; one matching tag of `tags` is enough; `limit` keeps the first N of
    each category that pass the other filters. Raises `ConfigurationError`, naming the file `source`, for a filter value
    that no sample has, and if no sample is left.
    """
    none = Text("no sample of {}", source) if source else Text("no sample")
    if not samples:
        there = Text("no sample in {}", source) if source else none
        raise ConfigurationError(Text("benchmark: there is {}; write a row for each picture", there))
    has: list[dict[str, set[str]]] = [
        {"categories": {s.category}, "difficulty": {s.difficulty}, "tags": {*s.tags}, "sample_ids": {s.id}}
        for s in samples
    ]
    wanted = {
        "categories": {canonical(c): c for c in categories},
        "difficulty": {d: d for d in difficulty},
        "tags": {t: t for t in tags},
        "sample_ids": {i: i for i in sample_ids},
    }
    for name, values in wanted.items():
        known = {value for own in has for value in own[name]}
        if strangers := sorted(values.keys() - known):
            raise ConfigurationError(
                Text("benchmark.{}: {} has `{}`{}", name, none, values[strangers[0]], _instead(strangers[0], known))
            )
    chosen = []
    taken: Counter[str] = Counter()
    for sample, own in zip(samples, has, strict=True):
        passes = all(not words or words.keys() & own[name] for name, words in wanted.items())
        if passes and (limit is None or taken[sample.category] < limit):
            taken[sample.category] += 1
            chosen.append(sample)
    if not chosen:
        raise ConfigurationError(Text("benchmark: {} passes all the filters together; relax one of them", none))
    return tuple(chosen)


def with_predecessors(samples: Sequence[Sample], chosen: Sequence[Sample]) -> tuple[Sample, ...]:
    """Returns the chosen samples with the predecessors whose edits are their sources."""
    by_id = {sample.id: sample for sample in samples}
    ids = {sample.id for sample in chosen}
    for sample in chosen:
        before = by_id.get(sample.follows)
        while before is not None and before.id not in ids:
            ids.add(before.id)
            before = by_id.get(before.follows)
    return tuple(sample for sample in samples if sample.id in ids)


def _instead(stranger: str, known: set[str]) -> str:
    """Suggests the nearest value that some sample has, or lists the values."""
    there = sorted(value for value in known if value)
    if not there:
        return Text(", since no sample has any; leave it out")
    nearest = [value for value in there if stranger in map(str.strip, value.split(","))][:1]
    nearest = nearest or difflib.get_close_matches(stranger, there, 1)
    if nearest:
        quoted = Text(" (on the command line with quotes: '\"{}\"')", nearest[0]) if "," in nearest[0] else ""
        return Text("; did you mean `{}`?", nearest[0]) + quoted
    return Text("; there are: {}", [*there[:8], *(["..."] if len(there) > 8 else [])])


def check_unicode(sample: Sample) -> Sample:
    """Returns the sample; a bad one, with such characters spelt out, if a text has half of a surrogate pair.

    No file, server or judge takes such a text: it cannot be encoded.
    """
    texts = {name: getattr(sample, name) for name in _TEXTS}
    others = {"tags": list(sample.tags), "instructions": dict(sample.instructions), "facts": sample.facts}
    texts |= {name: json.dumps(value, ensure_ascii=False, default=str) for name, value in others.items() if value}
    broken = [name for name, text in texts.items() if _HALF.search(text)]
    if not broken:
        return sample
    fault = Text("{} has half of a surrogate pair, which is no character: write the text again in UTF-8", broken)
    spelt = replace(sample, **{name: _spelt(texts[name]) for name in _TEXTS})  # type: ignore[arg-type]
    return replace(
        spelt,
        tags=tuple(map(_spelt, sample.tags)),
        facts={} if "facts" in broken else sample.facts,
        instructions={name: _spelt(text) for name, text in sample.instructions.items()},
        pictures={},
        fault=join_texts(filter(None, (sample.fault, fault))),
    )


def _spelt(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def tidy_labels(sample: Sample) -> Sample:
    """Returns the sample with whitespace in its labels trimmed and collapsed."""
    category, difficulty = canonical(_tidy(sample.category)), _tidy(sample.difficulty)
    tags = tuple(map(_tidy, sample.tags))
    if (category, difficulty, tags) == (sample.category, sample.difficulty, sample.tags):
        return sample
    return replace(sample, category=category, difficulty=difficulty, tags=tags)


def lint(samples: Sequence[Sample], said: Iterable[str] = ()) -> tuple[str, ...]:
    """Returns notes on the samples as given, one line each, after those in `said` by the benchmark.

    Reports labels with stray spaces or one letter off a frequent one, sets of unequal size, a language that some lack,
    and repeated edits. Notes that differ only in names and numbers are merged.
    """
    labels = [*_labels(samples, "category"), *_labels(samples, "difficulty"), *_spacing_notes(samples, "tag")]
    return (*_merge_notes(said), *labels, *_sets(samples), *_merge_notes(_repeats(samples)))


def _tidy(label: str) -> str:
    return " ".join(label.split())


def _labels_of(sample: Sample, name: str) -> tuple[str, ...]:
    return sample.tags if name == "tag" else (getattr(sample, name),)


def _spacing_notes(samples: Sequence[Sample], name: str) -> list[str]:
    at = defaultdict(list)
    for sample in samples:
        for label in _labels_of(sample, name):
            if label != _tidy(label):
                at[label].append(quote_text(sample.id))
    return [
        Text("{} {} is taken as {} ({})", name, quote_text(label), quote_text(_tidy(label)), _places(ids))
        for label, ids in at.items()
    ]


def _labels(samples: Sequence[Sample], name: str) -> list[str]:
    having = defaultdict(list)
    for sample in samples:
        if label := _tidy(getattr(sample, name)):
            having[label].append(quote_text(sample.id))
    notes = _spacing_notes(samples, name)
    for label, ids in having.items():
        frequent = [other for other, its in having.items() if len(its) >= _RARER * len(ids)]
        alike = [other for other in having if other != label and other.casefold() == label.casefold()]
        alike = [other for other in alike if len(having[other]) > len(ids)]
        near = alike or difflib.get_close_matches(label, frequent, 1, _NEAR)
        if near and _strip_digits(near[0]) != _strip_digits(label):
            meant = Text("{} ({})", quote_text(near[0]), pluralize(len(having[near[0]]), "sample"))
            notes.append(Text("{} {} ({}) may mean {}: left unchanged", name, quote_text(label), _places(ids), meant))
    return notes


def _strip_digits(label: str) -> str:
    return re.sub(r"\d+", "", label)


def _sets(samples: Sequence[Sample]) -> list[str]:
    notes: list[str] = []
    sizes = Counter(category for sample in samples if (category := _tidy(sample.category)))
    if sizes and max(sizes.values()) > min(sizes.values()):
        (most, more), (least, less) = sizes.most_common()[0], sizes.most_common()[-1]
        text = Text("the mean over samples weights categories by size, the mean over categories does not")
        notes.append(
            Text(
                "categories are of unequal size, {} {} to {} {}: {}",
                quote_text(most),
                more,
                quote_text(least),
                less,
                text,
            )
        )
    good = [sample for sample in samples if not sample.fault]
    for language in dict.fromkeys(name for sample in good for name in sample.instructions):
        there = sum(language in sample.instructions for sample in good)
        if there < len(good):
            notes.append(
                Text("only {} of {} have an instruction in `{}`", there, pluralize(len(good), "sample"), language)
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
            yield Text(
                "sample {} repeats {} (same picture and instruction): both count",
                quote_text(sample.id),
                quote_text(other.id),
            )


def _merge_notes(notes: Iterable[str]) -> list[str]:
    """Merges notes that differ only in quoted names and numbers."""
    groups = defaultdict(list)
    for note in notes:
        groups[_QUOTED.sub("", note)].append(note)
    return [_with_others(group) for group in groups.values()]


def _with_others(group: Sequence[str]) -> str:
    others = [match[1] for note in group[1:] if (match := _SAMPLE.search(note))]
    if len(group) == 1 or not others:
        return join_texts(group)
    return Text("{} (likewise {})", group[0], _places(others))


def _places(ids: Sequence[str]) -> str:
    """Returns a text like `3 samples: 'cat', 'dog', 'hat'`."""
    more = Text(" and {} more", len(ids) - _NAMED) if len(ids) > _NAMED else ""
    return Text("{}: {}{}", pluralize(len(ids), "sample"), ids[:_NAMED], more)
