"""What is compared: the scores of one edit model by one judge in one run, and whether two such can be compared."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, takewhile
from typing import NamedTuple

from edit_eval.errors import ConfigurationError
from edit_eval.records import Results, Status

NOT_SET = "not set"
"""What stands for a value that there is not."""
_ABSENT = object()
_NOT_TRIED = (Status.PENDING, Status.SKIPPED)
_DIGEST = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{52}\b")  # of a SHA-256, 12 digits tell it from others
_LONGEST_SHOWN = 80
_CONTEXT = 20
"""Characters that two long texts have in common and that are shown before the first in which they differ."""


@dataclass(frozen=True)
class Column:
    """The scores of one edit model by one judge in one run."""

    name: str
    """As a person knows it; different for each column of a judge."""
    judge: str
    identity: Mapping[str, object]
    """All that must be equal for scores to be comparable, as plain data; see `differences`."""
    scores: Mapping[str, float | None]
    """For each sample of the run the mean score over its edit seeds and repeats; None where there is none."""
    clusters: Mapping[str, str]
    """For each of those samples the digest of its source image."""
    categories: Mapping[str, str]
    asked: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """For each sample what else must be equal where two columns share it: `{"instruction": ..., "rubric": ...}`."""
    unscored: Mapping[str, float] = field(default_factory=dict)
    """For each sample the share of its judgements without a score, 0 to 1; none is 0, and 1 where `scores` has None."""
    failed: Mapping[str, Mapping[int, bool]] = field(default_factory=dict)
    """For each sample whether there is no edit with that edit seed, of the edits that were tried.

    That is the edit model's own result, whatever the reason; an answer that the judge did not give is not."""
    words: Mapping[str, str] = field(default_factory=dict)
    """For samples with a score the judge's words about (one of) the edits, where it gave any."""
    run: str = ""
    """The run's directory."""
    edit_model: str = ""
    differs: tuple[str, ...] = ()
    """How the edit model differs from that of the first column, a line each."""

    def image(self, sample: str) -> str:
        """What the sample's source image is known by; of one that is not known, the sample itself."""
        return self.clusters[sample] or sample

    def bound(self, sample: str, value: float) -> float:
        """The sample's score if every judgement without one had got `value`."""
        score = self.scores[sample]
        if score is None:
            return value
        missing = self.unscored.get(sample, 0.0)
        return score if missing == 0.0 else (1 - missing) * score + missing * value

    def with_failures_as(self, sample: str, value: float) -> float | None:
        """The sample's score if every edit that failed had got `value`; None where the judge alone gave no score."""
        score, failed = self.scores[sample], list(self.failed.get(sample, {}).values())
        share = sum(failed) / len(failed) if failed else 0.0
        if share == 1.0:
            return value
        return None if score is None else (1 - share) * score + share * value


class Difference(NamedTuple):
    """A value that two identities have differently, as text; `not set` where one has none."""

    key: str
    """Nested keys are joined with dots."""
    a: str
    b: str

    def __str__(self) -> str:
        return f"{self.key}: {self.a} and {self.b}"


def columns_of(
    results: Results,
    identities: Mapping[str, Mapping[str, object]],
    asked: Mapping[str, Mapping[str, str]] | None = None,
) -> list[Column]:
    """A column for every (edit model, judge) of a run. `identities` holds for each judge what must be equal.

    A column is named after the run, with the edit model where there are several.
    """
    clusters = {sample.id: sample.source_digest for sample in results.samples}
    categories = {sample.id: sample.category for sample in results.samples}
    scores: dict[tuple[str, str], dict[str, list[float | None]]] = {
        (edit_model, judge): {} for judge in results.judges for edit_model in results.edit_models
    }
    words: dict[tuple[str, str], dict[str, str]] = {key: {} for key in scores}
    for judgement in results.judgements:
        key = (judgement.edit_model, judgement.judge)
        scores[key].setdefault(judgement.sample_id, []).append(judgement.score)
        if judgement.score is not None and judgement.reason:
            words[key].setdefault(judgement.sample_id, judgement.reason)
    failed: dict[str, dict[str, dict[int, bool]]] = {edit_model: {} for edit_model in results.edit_models}
    for edit in results.edits:
        if edit.status not in _NOT_TRIED:
            failed[edit.edit_model].setdefault(edit.sample_id, {})[edit.edit_seed] = edit.status is not Status.OK
    several = len(results.edit_models) > 1
    columns = []
    for (edit_model, judge), of_samples in scores.items():
        known = {sample: [score for score in found if score is not None] for sample, found in of_samples.items()}
        columns.append(
            Column(
                name=f"{results.name}/{edit_model}" if several else results.name,
                judge=judge,
                identity=identities[judge],
                scores={sample: math.fsum(found) / len(found) if found else None for sample, found in known.items()},
                clusters=clusters,
                categories=categories,
                asked=asked or {},
                unscored={sample: 1 - len(known[sample]) / len(found) for sample, found in of_samples.items()},
                failed=failed[edit_model],
                words=words[(edit_model, judge)],
                run=results.directory,
                edit_model=edit_model,
            )
        )
    return columns


def by_judge(columns: Sequence[Column]) -> dict[str, list[Column]]:
    """The columns of each judge, in order: scores of different judges are never compared."""
    found: dict[str, list[Column]] = {}
    for column in columns:
        found.setdefault(column.judge, []).append(column)
    return found


def differences(a: Mapping[str, object], b: Mapping[str, object]) -> list[Difference]:
    """What two identities have differently, each thing once; of a group of values that only one has, the group.

    An identity is plain data: judge and its parameters, form of the answer, language. Nested keys are named with
    dots: `judge.parameters.model_name`.
    """
    return list(_differences(a, b, ""))


def _differences(a: Mapping[str, object], b: Mapping[str, object], above: str) -> Iterator[Difference]:
    for key in dict.fromkeys([*a, *b]):
        one, other = a.get(key, _ABSENT), b.get(key, _ABSENT)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            yield from _differences(one, other, f"{above}{key}.")
        elif _plain(one) != _plain(other):
            yield Difference(f"{above}{key}", *_shown(_text(one), _text(other)))


def _plain(value: object) -> object:
    """A value as the records hold it: they know no tuple."""
    return list(value) if isinstance(value, tuple) else value


def incomparable(a: str, b: str, reasons: Sequence[object]) -> ConfigurationError:
    """The error that says why `a` and `b` cannot be compared: the first of the `reasons`, and a note for each other."""
    first, *others = map(str, reasons)
    more = f" (and {len(others)} more)" if others else ""
    error = ConfigurationError(f"{a} and {b} cannot be compared, they differ in {first}{more}")
    for reason in others:
        error.add_note(reason)
    return error


def refuse_incomparable(columns: Sequence[Column]) -> None:
    """Raises `ConfigurationError` for columns of one judge that cannot be compared, with what differs.

    So do fewer than two columns, names that are not unique, identities that differ, samples that were not asked
    alike (another source image, instruction, rubric, ...), and not one sample in common.
    """
    if len(columns) < 2:
        raise ConfigurationError("a comparison needs two runs or more, or one run with several edit models")
    for a, b in combinations(columns, 2):
        reasons = differences(a.identity, b.identity)
        if reasons:
            raise incomparable(a.name, b.name, reasons)
        common = [sample for sample in a.scores if sample in b.scores]
        if not common:
            raise ConfigurationError(
                f"{a.name} and {b.name} cannot be compared: not one sample has the same id in both; "
                "are they of one benchmark?"
            )
        for sample in common:
            if len({a.clusters[sample], b.clusters[sample]} - {""}) > 1:
                raise ConfigurationError(
                    f"{a.name} and {b.name} cannot be compared: sample {sample!r} has another source image"
                )
        asked = _asked_differently(a, b, common)
        if asked:
            raise incomparable(a.name, b.name, asked)
        if a.name == b.name:
            raise ConfigurationError(f"two columns to compare have the same name, {a.name!r}; rename one run")


def _asked_differently(a: Column, b: Column, common: Sequence[str]) -> list[str]:
    found: dict[str, list[tuple[str, Difference]]] = {}
    for sample in common:
        one, other = a.asked.get(sample, {}), b.asked.get(sample, {})
        if one is not other and one != other:
            for difference in differences(one, other):
                found.setdefault(difference.key, []).append((sample, difference))
    return [
        f"the {key} of {len(those)} of {len(common)} common samples (the first, {those[0][0]!r}: "
        f"{those[0][1].a} and {those[0][1].b})"
        for key, those in found.items()
    ]


def _text(value: object) -> str:
    text = NOT_SET if value is _ABSENT else repr(_plain(value))
    return _DIGEST.sub(r"\1", text)


def _shown(a: str, b: str) -> tuple[str, str]:
    """Two texts, shortened so that the place from which they differ is still in them."""
    same = sum(1 for _ in takewhile(lambda two: two[0] == two[1], zip(a, b, strict=False)))
    start = same - _CONTEXT if max(len(a), len(b)) > _LONGEST_SHOWN and same > _CONTEXT else 0

    def shorten(text: str) -> str:
        text = f"...{text[start:]}" if start else text
        return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 3]}..."

    return shorten(a), shorten(b)
