"""What is compared: one score of one edit model by one judge in one run, and whether two such can be compared."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations, takewhile
from typing import NamedTuple

from edit_eval.errors import ConfigurationError
from edit_eval.records import Judgement, Results, Scale, Status
from edit_eval.statistics.intervals import IntArray
from edit_eval.statistics.series import groups_of, series_of
from edit_eval.text import Text

NOT_SET = Text("not set")
"""What stands for a value that there is not."""
_ABSENT = object()
_NOT_TRIED = (Status.PENDING, Status.SKIPPED)
_DIGEST = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{52}\b")  # of a SHA-256, 12 digits tell it from others
_LONGEST_SHOWN = 80
_CONTEXT = 20
"""Characters that two long texts have in common and that are shown before the first in which they differ."""


@dataclass(frozen=True, kw_only=True)
class ScoreColumn:
    """One score of one edit model by one judge in one run."""

    name: str
    """As a person knows it; different for each column of a judge."""
    judge: str
    score: str
    """Which of the judge's scores."""
    scale: Scale
    identity: Mapping[str, object]
    """All that must be equal for scores to be comparable, as plain data; see `differences`."""
    scores: Mapping[str, float | None]
    """For each sample to which the score applies its mean over edit seeds and repeats; None where there is none."""
    clusters: Mapping[str, str]
    """For each of those samples what it is clustered on: by default the digest of its source image."""
    categories: Mapping[str, str]
    pictures: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """For each sample the digests of its pictures by their names; empty where a digest is not known."""
    asked: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """For each sample what else must be equal where two columns share it: `{"instruction": ..., "rubric": ...}`."""
    unscored: Mapping[str, float] = field(default_factory=dict)
    """For each sample the share of its judgements without a score, 0 to 1; none is 0, and 1 where `scores` has None."""
    failed: Mapping[str, Mapping[int, bool]] = field(default_factory=dict)
    """For each sample whether there is no edit with that edit seed, of the edits that were tried.

    That is the edit model's own result, whatever the reason; an answer that the judge did not give is not."""
    skipped: frozenset[str] = frozenset()
    """Samples that were not tried, as bad ones are with `on_bad_sample: skip`."""
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

    def groups(self, samples: Sequence[str]) -> IntArray | None:
        """What the mean over `samples` is averaged in: their categories, or None where it is over samples."""
        return groups_of(self.scale, [self.categories[sample] for sample in samples])

    def bound(self, sample: str, value: float) -> float:
        """The sample's score if every judgement without one had got `value`, which may be infinite."""
        score = self.scores[sample]
        if score is None:
            return value
        missing = self.unscored.get(sample, 0.0)
        return score if missing == 0.0 else (1 - missing) * score + missing * value

    def failed_share(self, sample: str) -> float:
        """The share of the sample's edits that failed, of those that were tried."""
        failed = list(self.failed.get(sample, {}).values())
        return sum(failed) / len(failed) if failed else 0.0


class Difference(NamedTuple):
    """A value that two identities have differently, as text; `not set` where one has none."""

    key: str
    """Nested keys are joined with dots."""
    a: str
    b: str

    def __str__(self) -> str:
        return Text("{}: {} and {}", self.key, self.a, self.b)


def columns_of(
    results: Results,
    identities: Mapping[str, Mapping[str, object]],
    asked: Mapping[str, Mapping[str, str]] | None = None,
    *,
    score: str | None = None,
) -> list[ScoreColumn]:
    """A column for every (edit model, judge) of a run. `identities` holds for each judge what must be equal.

    Of each judge's headline; or, of the judges that give it, of `score`. A column is named after the run, with the edit
    model where there are several. Raises `ConfigurationError` for a `score` that no judge gives.
    """
    series = series_of(results, score)
    clusters = {sample.id: sample.cluster for sample in results.samples}
    categories = {sample.id: sample.category for sample in results.samples}
    pictures = {
        sample.id: {name: picture.digest for name, picture in sample.pictures.items()} for sample in results.samples
    }
    found: dict[tuple[str, str], dict[str, list[Judgement]]] = {
        (edit_model, judge): {} for judge in series for edit_model in results.edit_models
    }
    for one in results.judgements:
        if one.judge in series and one.outcome(series[one.judge].score) is not None:
            found[one.edit_model, one.judge].setdefault(one.sample_id, []).append(one)
    failed: dict[str, dict[str, dict[int, bool]]] = {edit_model: {} for edit_model in results.edit_models}
    for edit in results.edits:
        if edit.status not in _NOT_TRIED:
            failed[edit.edit_model].setdefault(edit.sample_id, {})[edit.edit_seed] = edit.status is not Status.OK
    skipped: dict[str, set[str]] = {edit_model: set() for edit_model in results.edit_models}
    for edit in results.edits:
        if edit.status is Status.SKIPPED:
            skipped[edit.edit_model].add(edit.sample_id)
    several = len(results.edit_models) > 1
    columns = []
    for (edit_model, judge), of_samples in found.items():
        name, scale = series[judge]
        known = {sample: [one.scores[name] for one in of if name in one.scores] for sample, of in of_samples.items()}
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
                failed=failed[edit_model],
                skipped=frozenset(skipped[edit_model] - failed[edit_model].keys()),
                words=_words(of_samples),
                run=results.directory,
                edit_model=edit_model,
            )
        )
    return columns


def _words(judgements: Mapping[str, Sequence[Judgement]]) -> dict[str, str]:
    """For each sample the first words that the judge said beside a headline."""
    words = {
        sample: next((one.reason for one in of if one.status is Status.OK and one.reason), "")
        for sample, of in judgements.items()
    }
    return {sample: text for sample, text in words.items() if text}


def by_judge(columns: Sequence[ScoreColumn]) -> dict[str, list[ScoreColumn]]:
    """The columns of each judge, in order: scores of different judges are never compared."""
    found: dict[str, list[ScoreColumn]] = {}
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
    more = Text(" (and {} more)", len(others)) if others else ""
    error = ConfigurationError(Text("{} and {} cannot be compared, they differ in {}{}", a, b, first, more))
    for reason in others:
        error.add_note(reason)
    return error


def refuse_incomparable(columns: Sequence[ScoreColumn]) -> None:
    """Raises `ConfigurationError` for columns of one judge that cannot be compared, with what differs.

    So do fewer than two columns, names that are not unique, other identities, scores or scales, samples that were not
    asked alike (another source image, instruction, rubric, ...), and not one sample in common.
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
        for sample in common:
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
        asked = _asked_differently(a, b, common)
        if asked:
            raise incomparable(a.name, b.name, asked)
        if a.name == b.name:
            raise ConfigurationError(Text("two columns have the same name, {!r}; rename one run", a.name))


def _whole_identity(column: ScoreColumn) -> dict[str, object]:
    return {**column.identity, "score": column.score, "scale": asdict(column.scale)}


def _another_picture(a: ScoreColumn, b: ScoreColumn, sample: str) -> str | None:
    """The name of a picture that the sample has in both columns, and that is not the same one."""
    ours, theirs = a.pictures.get(sample, {}), b.pictures.get(sample, {})
    return next((name for name, digest in ours.items() if len({digest, theirs.get(name, "")} - {""}) > 1), None)


def _asked_differently(a: ScoreColumn, b: ScoreColumn, common: Sequence[str]) -> list[str]:
    found: dict[str, list[tuple[str, Difference]]] = {}
    for sample in common:
        one, other = a.asked.get(sample, {}), b.asked.get(sample, {})
        if one is not other and one != other:
            for difference in differences(one, other):
                found.setdefault(difference.key, []).append((sample, difference))
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
