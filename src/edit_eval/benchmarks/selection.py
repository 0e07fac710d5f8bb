"""Which samples of a benchmark take part in a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from edit_eval.benchmarks.categories import canonical
from edit_eval.errors import BenchmarkError, ConfigurationError
from edit_eval.records import Sample
from edit_eval.text import Text, counted


def refuse_bad(samples: Iterable[Sample], source: str = "") -> None:
    """Raises `BenchmarkError` naming every bad sample of the file `source` (for `on_bad_sample: error`)."""
    faults = tuple(Text("sample {} ({}): {}", s.index, s.id, s.fault) for s in samples if s.fault)
    if faults:
        more = len(faults) - 1
        rest = Text(" (and {})", counted(more, "more bad sample")) if more else ""
        advice = Text("fix the file, or set `benchmark.on_bad_sample: skip`")
        where = Text("{}: ", source) if source else ""
        raise BenchmarkError(Text("{}{}{}; {}", where, faults[0], rest, advice), faults)


def refuse_nothing(samples: Iterable[Sample]) -> None:
    """Raises `BenchmarkError` where not one sample can be used (for `on_bad_sample: skip`)."""
    faults = [s.fault for s in samples]
    if all(faults):
        raise BenchmarkError(
            Text("all {} samples are bad, so there is nothing to edit. The first: {}", len(faults), faults[0])
        )


def select(
    samples: Sequence[Sample],
    *,
    categories: Sequence[str] = (),
    difficulty: Sequence[str] = (),
    tags: Sequence[str] = (),
    sample_ids: Sequence[str] = (),
    limit: int | None = None,
    source: str = "",
) -> tuple[Sample, ...]:
    """The samples that pass every filter, in the benchmark's order; an empty filter lets all pass.

    `categories` are canonical or as in the file; of `tags` one is enough; `limit` keeps the first N of each category
    that pass the other filters. What a chosen sample follows is chosen, too. Raises `ConfigurationError`, which names
    the file `source`, for a filter value that no sample has, and when no sample is left.
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
        known = {value for one in has for value in one[name]}
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
    return _with_predecessors(samples, chosen)


def _with_predecessors(samples: Sequence[Sample], chosen: Sequence[Sample]) -> tuple[Sample, ...]:
    """The chosen samples, and those without whose edit one of them has no source."""
    by_id = {sample.id: sample for sample in samples}
    ids = {sample.id for sample in chosen}
    for sample in chosen:
        before = by_id.get(sample.follows)
        while before is not None and before.id not in ids:
            ids.add(before.id)
            before = by_id.get(before.follows)
    return tuple(sample for sample in samples if sample.id in ids)


def _instead(stranger: str, known: set[str]) -> str:
    """The nearest value that some sample has; for want of one, those that there are."""
    there = sorted(value for value in known if value)
    if not there:
        return Text(", since no sample has any; leave it out")
    nearest = get_close_matches(stranger, there, 1)
    if nearest:
        return Text("; did you mean `{}`?", nearest[0])
    return Text("; there are: {}", [*there[:8], *(["..."] if len(there) > 8 else [])])
