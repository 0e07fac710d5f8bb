"""Columns to compare: one score of one edit model by one judge in one run, and whether two can be compared."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import combinations, takewhile
from typing import NamedTuple

import numpy as np

from edit_eval.errors import ConfigurationError
from edit_eval.records import Judgement, Results, Scale, Status
from edit_eval.statistics.intervals import FloatArray, IntArray
from edit_eval.statistics.series import groups_of, series_of
from edit_eval.text import Text

NOT_SET = Text("not set")
"""Shown for a missing value."""
_ABSENT = object()
_DIGEST = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{52}\b")  # 12 digits tell a SHA-256 from others
_LONGEST_SHOWN = 80
_CONTEXT = 20
"""Common characters of two long texts that are shown before their first difference."""


@dataclass(frozen=True, kw_only=True)
class ScoreColumn:
    """One score of one edit model by one judge in one run."""

    name: str
    """Name for people; different for each column of a judge."""
    judge: str
    score: str
    """Name of the judge's score."""
    scale: Scale
    identity: Mapping[str, object]
    """Everything that must be equal for scores to be comparable, as plain data; see `differences`."""
    scores: Mapping[str, float | None]
    """For each sample that the score applies to, its mean over edit seeds and repeats; None if there is none."""
    clusters: Mapping[str, str]
    """For each of those samples its cluster: by default the digest of its source image."""
    categories: Mapping[str, str]
    pictures: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """For each sample the digests of its pictures by their names; empty if a digest is not known."""
    asked: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """For each sample, values that must be equal if two columns share it: `{"instruction": ..., "rubric": ...}`."""
    unscored: Mapping[str, float] = field(default_factory=dict)
    """For each sample the share of its judgements without a score, 0 to 1; by default 0, and 1 if `scores` has None."""
    judgements: Mapping[str, int] = field(default_factory=dict)
    """For each sample how many judgements it should have; by default 1."""
    by_seed: Mapping[str, Mapping[int, float | None]] = field(default_factory=dict)
    """For each sample and seed with an edit, the mean of its scores over repeats, or None; empty if not known."""
    failed: Mapping[str, Mapping[int, bool]] = field(default_factory=dict)
    """For each sample and edit seed that was tried, True if there is no edit.

    That is the edit model's own result, for any reason; a missing answer by the judge is not."""
    skipped: frozenset[str] = frozenset()
    """Samples that were not tried, as bad ones are with `on_bad_sample: skip`."""
    words: Mapping[str, str] = field(default_factory=dict)
    """For samples with a score the judge's words about (one of) the edits, if any."""
    run: str = ""
    """The run's directory."""
    edit_model: str = ""
    differs: tuple[str, ...] = ()
    """Differences of the edit model from that of the first column, a line each."""

    def image(self, sample: str) -> str:
        """Returns the identifier of the sample's source image, or the sample itself if that is not known."""
        return self.clusters[sample] or sample

    def groups(self, samples: Sequence[str]) -> IntArray | None:
        """Returns the groups of the mean over `samples`: their categories, or None if it is over samples."""
        return groups_of(self.scale, [self.categories[sample] for sample in samples])

    def bound(self, sample: str, value: float) -> float:
        """Returns the sample's score if every judgement without one had got `value`, which may be infinite."""
        score = self.scores[sample]
        if score is None:
            return value
        missing = self.unscored.get(sample, 0.0)
        return score if missing == 0.0 else (1 - missing) * score + missing * value

    @cached_property
    def coverage(self) -> tuple[int, int]:
        """How many judgements have a score, and how many should."""
        scored = total = 0
        for sample, score in self.scores.items():
            count = self.judgements.get(sample, 1)
            total += count
            scored += 0 if score is None else round(count * (1 - self.unscored.get(sample, 0.0)))
        return scored, total

    @cached_property
    def samples(self) -> list[str]:
        """The samples that the score applies to, in order."""
        return sorted(self.scores)

    @cached_property
    def values(self) -> FloatArray:
        """Their scores, NaN for none."""
        return np.array([self.scores[sample] for sample in self.samples], dtype=np.float64)  # None becomes NaN

    @cached_property
    def attempts(self) -> dict[tuple[str, int], bool]:
        """For each sample with each edit seed that was tried, True if there is no edit."""
        return {(sample, seed): failed for sample, of in self.failed.items() for seed, failed in of.items()}

    @cached_property
    def failure_shares(self) -> dict[str, float]:
        """For each sample with a tried edit, the share of these that failed."""
        return {sample: math.fsum(failed.values()) / len(failed) for sample, failed in self.failed.items() if failed}


class Difference(NamedTuple):
    """A value that differs between two identities, as text; `not set` if one has none."""

    key: str
    """Nested keys are joined with dots."""
    a: str
    b: str

    def __str__(self) -> str:
        return Text("{}: {} and {}", self.key, self.a, self.b)


def columns_of_models(results: Results, score: str | None = None) -> list[ScoreColumn]:
    """Returns the columns of one run (`columns_of`) for comparing its edit models, named after these."""
    columns = columns_of(results, {judge: {} for judge in results.judges}, score=score)
    return [replace(column, name=column.edit_model) for column in columns]


def columns_of(
    results: Results,
    identities: Mapping[str, Mapping[str, object]],
    asked: Mapping[str, Mapping[str, str]] | None = None,
    *,
    score: str | None = None,
) -> list[ScoreColumn]:
    """Returns a column for every (edit model, judge) of a run. `identities` holds what must be equal, by judge.

    By each judge's headline, or by `score` for the judges that give it. A column is named after the run, with the edit
    model if there are several. Raises `ConfigurationError` for a `score` that no judge gives.
    """
    series = series_of(results, score)
    clusters = {sample.id: sample.cluster for sample in results.samples}
    categories = {sample.id: sample.category for sample in results.samples}
    pictures = {
        sample.id: {name: picture.digest for name, picture in sample.pictures.items()} for sample in results.samples
    }
    judgements: dict[tuple[str, str], dict[str, list[Judgement]]] = {
        (edit_model, judge): {} for judge in series for edit_model in results.edit_models
    }
    for judgement in results.judgements:
        if judgement.judge in series and judgement.outcome(series[judgement.judge].score) is not None:
            judgements[judgement.edit_model, judgement.judge].setdefault(judgement.sample_id, []).append(judgement)
    failed: dict[str, dict[str, dict[int, bool]]] = {edit_model: {} for edit_model in results.edit_models}
    skipped: dict[str, set[str]] = {edit_model: set() for edit_model in results.edit_models}
    made: dict[str, dict[str, list[int]]] = {edit_model: {} for edit_model in results.edit_models}
    for edit in results.edits:
        if edit.status is Status.SKIPPED:
            skipped[edit.edit_model].add(edit.sample_id)
        elif edit.status is not Status.PENDING:
            failed[edit.edit_model].setdefault(edit.sample_id, {})[edit.edit_seed] = edit.status is not Status.OK
        if edit.status is Status.OK:
            made[edit.edit_model].setdefault(edit.sample_id, []).append(edit.edit_seed)
    several = len(results.edit_models) > 1
    columns = []
    for (edit_model, judge), of_samples in judgements.items():
        name, scale = series[judge]
        known = {
            sample: [judgement.scores[name] for judgement in of if name in judgement.scores]
            for sample, of in of_samples.items()
        }
        columns.append(
            ScoreColumn(
                name=f"{results.name}/{edit_model}" if several else results.name,
                judge=judge,
                score=name,
                scale=scale,
                identity=identities[judge],
                scores={sample: math.fsum(of) / len(of) if of else None for sample, of in known.items()},
                clusters=clusters,
                categories=categories,
                pictures=pictures,
                asked=asked or {},
                unscored={sample: 1 - len(known[sample]) / len(of) for sample, of in of_samples.items()},
                judgements={sample: len(of) for sample, of in of_samples.items()},
                by_seed={
                    sample: {seed: _mean_of_seed(of_samples[sample], name, seed) for seed in seeds}
                    for sample, seeds in made[edit_model].items()
                    if sample in of_samples
                },
                failed=failed[edit_model],
                skipped=frozenset(skipped[edit_model] - failed[edit_model].keys()),
                words=_words(of_samples),
                run=results.directory,
                edit_model=edit_model,
            )
        )
    return columns


def _mean_of_seed(judgements: Sequence[Judgement], score: str, seed: int) -> float | None:
    scores = [
        judgement.scores[score] for judgement in judgements if judgement.edit_seed == seed and score in judgement.scores
    ]
    return math.fsum(scores) / len(scores) if scores else None


def _words(judgements: Mapping[str, Sequence[Judgement]]) -> dict[str, str]:
    """Returns for each sample the judge's first words beside a headline."""
    words = {
        sample: next((judgement.reason for judgement in of if judgement.status is Status.OK and judgement.reason), "")
        for sample, of in judgements.items()
    }
    return {sample: text for sample, text in words.items() if text}


def group_by_judge(columns: Sequence[ScoreColumn]) -> dict[str, list[ScoreColumn]]:
    """Groups the columns by judge, in order: scores of different judges are never compared."""
    groups: dict[str, list[ScoreColumn]] = {}
    for column in columns:
        groups.setdefault(column.judge, []).append(column)
    return groups


def differences(a: Mapping[str, object], b: Mapping[str, object]) -> list[Difference]:
    """Lists the differences of two identities, each once; a group of values that only one has is one difference.

    An identity is plain data: judge and its parameters, form of the answer, language. Nested keys are named with
    dots: `judge.parameters.model_name`.
    """
    return list(_differences(a, b, ""))


def _differences(a: Mapping[str, object], b: Mapping[str, object], above: str) -> Iterator[Difference]:
    for key in dict.fromkeys([*a, *b]):
        of_a, of_b = a.get(key, _ABSENT), b.get(key, _ABSENT)
        if isinstance(of_a, Mapping) and isinstance(of_b, Mapping):
            yield from _differences(of_a, of_b, f"{above}{key}.")
        elif _plain(of_a) != _plain(of_b):
            yield Difference(f"{above}{key}", *_shorten_texts(_text(of_a), _text(of_b)))


def _plain(value: object) -> object:
    """Returns a value as the records hold it, which have no tuples."""
    return list(value) if isinstance(value, tuple) else value


def incomparable(a: str, b: str, reasons: Sequence[object]) -> ConfigurationError:
    """Returns the error that `a` and `b` cannot be compared: the first of the `reasons`, and a note for each other."""
    first, *others = map(str, reasons)
    more = Text(" (and {} more)", len(others)) if others else ""
    error = ConfigurationError(Text("{} and {} cannot be compared, they differ in {}{}", a, b, first, more))
    for reason in others:
        error.add_note(reason)
    return error


def refuse_incomparable(columns: Sequence[ScoreColumn]) -> None:
    """Raises `ConfigurationError` for columns of one judge that cannot be compared, with what differs.

    Also for fewer than two columns, names that are not unique, other identities, scores or scales, samples that were
    not asked alike (another source image, instruction, rubric, ...), and no sample in common.
    """
    if len(columns) < 2:
        raise ConfigurationError(
            Text(
                "a comparison needs two runs or more, or one run with several edit models: `edit-eval compare RUN RUN`"
            )
        )
    for a, b in combinations(columns, 2):
        reasons = differences(_whole_identity(a), _whole_identity(b))
        if reasons:
            raise incomparable(a.name, b.name, reasons)
        common = [sample for sample in a.scores if sample in b.scores]
        if not common:
            raise ConfigurationError(
                Text(
                    "{} and {} cannot be compared: no sample has the same id in both; are they of one benchmark?",
                    a.name,
                    b.name,
                )
            )
        for sample in common if a.pictures is not b.pictures else ():  # of one run they are the same
            if picture := _another_picture(a, b, sample):
                raise ConfigurationError(
                    Text(
                        "{} and {} cannot be compared: sample {!r} has another {} image",
                        a.name,
                        b.name,
                        sample,
                        picture,
                    )
                )
        asked = _question_differences(a, b, common)
        if asked:
            raise incomparable(a.name, b.name, asked)
        if a.name == b.name:
            raise ConfigurationError(Text("two columns have the same name, {!r}; rename one run", a.name))


def _whole_identity(column: ScoreColumn) -> dict[str, object]:
    return {**column.identity, "score": column.score, "scale": asdict(column.scale)}


def _another_picture(a: ScoreColumn, b: ScoreColumn, sample: str) -> str | None:
    ours, theirs = a.pictures.get(sample, {}), b.pictures.get(sample, {})
    return next((name for name, digest in ours.items() if len({digest, theirs.get(name, "")} - {""}) > 1), None)


def _question_differences(a: ScoreColumn, b: ScoreColumn, common: Sequence[str]) -> list[str]:
    by_key: dict[str, list[tuple[str, Difference]]] = {}
    for sample in common if a.asked is not b.asked else ():
        of_a, of_b = a.asked.get(sample, {}), b.asked.get(sample, {})
        if of_a is not of_b and of_a != of_b:
            for difference in differences(of_a, of_b):
                by_key.setdefault(difference.key, []).append((sample, difference))
    return [
        Text(
            "the {} of {} of {} common samples (the first, {!r}: {} and {})",
            key,
            len(those),
            len(common),
            those[0][0],
            those[0][1].a,
            those[0][1].b,
        )
        for key, those in by_key.items()
    ]


def _text(value: object) -> str:
    text = NOT_SET if value is _ABSENT else repr(_plain(value))
    return _DIGEST.sub(r"\1", text)


def _shorten_texts(a: str, b: str) -> tuple[str, str]:
    """Shortens two texts, keeping the place where they begin to differ."""
    same = sum(1 for _ in takewhile(lambda two: two[0] == two[1], zip(a, b, strict=False)))
    start = same - _CONTEXT if max(len(a), len(b)) > _LONGEST_SHOWN and same > _CONTEXT else 0

    def shorten(text: str) -> str:
        text = f"...{text[start:]}" if start else text
        return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 3]}..."

    return shorten(a), shorten(b)
