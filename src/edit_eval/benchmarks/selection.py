"""Which samples of a benchmark take part in a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from edit_eval.benchmarks.categories import canonical
from edit_eval.errors import BenchmarkError, ConfigurationError
from edit_eval.records import Sample


def refuse_bad(samples: Iterable[Sample]) -> None:
    """Raises `BenchmarkError` naming every bad sample (for `on_bad_sample: error`)."""
    faults = tuple(f"sample {s.index} ({s.id}): {s.fault}" for s in samples if s.fault)
    if faults:
        rest = f" (and {len(faults) - 1} more bad samples)" if len(faults) > 1 else ""
        advice = "mend the file, or set benchmark.on_bad_sample: skip"
        raise BenchmarkError(f"{faults[0]}{rest}; {advice}", faults)


def select(
    samples: Sequence[Sample],
    *,
    categories: Sequence[str] = (),
    difficulty: Sequence[str] = (),
    tags: Sequence[str] = (),
    sample_ids: Sequence[str] = (),
    limit: int | None = None,
) -> tuple[Sample, ...]:
    """The samples that pass every filter, in the benchmark's order; an empty filter lets all pass.

    `categories` are canonical or as in the file; of `tags` one is enough; `limit` keeps the first N of each category
    that pass the other filters. Raises `ConfigurationError` for a filter value that no sample has, and when no sample
    is left.
    """
    known = {
        "categories": {s.category for s in samples},
        "difficulty": {s.difficulty for s in samples},
        "tags": {tag for s in samples for tag in s.tags},
        "sample_ids": {s.id for s in samples},
    }
    wanted = {
        "categories": {canonical(c) for c in categories},
        "difficulty": set(difficulty),
        "tags": set(tags),
        "sample_ids": set(sample_ids),
    }
    for name, values in wanted.items():
        strangers = sorted(values - known[name])
        if strangers:
            there = ", ".join(sorted(v for v in known[name] if v)[:8]) or "none"
            raise ConfigurationError(f"benchmark.{name}: no sample has `{strangers[0]}`; there are: {there}")
    chosen = []
    taken: Counter[str] = Counter()
    for sample in samples:
        if wanted["categories"] and sample.category not in wanted["categories"]:
            continue
        if wanted["difficulty"] and sample.difficulty not in wanted["difficulty"]:
            continue
        if wanted["tags"] and not wanted["tags"].intersection(sample.tags):
            continue
        if wanted["sample_ids"] and sample.id not in wanted["sample_ids"]:
            continue
        if limit is not None and taken[sample.category] >= limit:
            continue
        taken[sample.category] += 1
        chosen.append(sample)
    if not chosen:
        raise ConfigurationError("benchmark: no sample passes all filters together; loosen one of them")
    return tuple(chosen)
