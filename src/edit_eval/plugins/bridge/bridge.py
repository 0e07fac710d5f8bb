"""Bridges between two judges, made of the runs in which both have scored the same edits; and a run that is translated
to the scale of a judge that is gone."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from msgspec.structs import asdict, replace

from edit_eval.config.identity import canonical_json, digest_of_text
from edit_eval.errors import ConfigurationError
from edit_eval.files.given import UnfitFile, of_json, read_bytes
from edit_eval.plugins.agreement.calibration import FEWEST_MAPPED, Pairs
from edit_eval.plugins.agreement.document import Span
from edit_eval.plugins.agreement.rank_agreement import by_model, with_interval
from edit_eval.plugins.agreement.two import Agreement, samples_of
from edit_eval.plugins.bridge.document import Bridge, BridgedJudge, BridgedModel, Map, TranslatedModel, TranslatedRun
from edit_eval.plugins.bridge.mapping import bridge, translated, turned
from edit_eval.records import Scale
from edit_eval.run import Run
from edit_eval.statistics.columns import differences
from edit_eval.statistics.intervals import cluster_codes
from edit_eval.statistics.raters import Item, judges_of
from edit_eval.statistics.series import gain
from edit_eval.store.comparable import judge_identity
from edit_eval.store.joined import joined
from edit_eval.text import Text


def bridge_between(runs: Sequence[Run], old: str, new: str, *, score: str | None = None) -> Bridge:
    """Returns the bridge from the scores of the judge `old` to those of `new`, over the edits that both have scored in
    these runs; with the pairs of scores themselves.

    By their headlines, or by `score`. Raises `ConfigurationError` for judges that are not there, and if there is too
    little for a map.
    """
    results = joined(runs)
    judges = judges_of(results, score)
    for flag, name in (("--old", old), ("--new", new)):
        if name not in judges:
            raise ConfigurationError(Text("{} {}: no judge {!r} here; there are: {}", flag, name, name, judges))
    if old == new:
        raise ConfigurationError(Text("--old {} --new {}: name two judges", old, new))
    both = Agreement(judges[old], judges[new], samples_of(results, [judges[old]]))
    score_map = over(both)
    if score_map is None:
        raise ConfigurationError(
            Text(
                "--old {} --new {}: both have scored {} edits of {} source images here; a bridge needs "
                "{} source images and scores that differ",
                old,
                new,
                len(both.items),
                len(set(both.pairs.clusters.tolist())),
                FEWEST_MAPPED,
            )
        )
    return Bridge(
        made=datetime.now(UTC).date().isoformat(),
        old=_side(runs, old, judges[old].score, judges[old].scale),
        new=_side(runs, new, judges[new].score, judges[new].scale),
        **asdict(score_map),
        within_models=with_interval(both.within, both.samples),
        between_models=both.of_models(),
        edits=[
            (item.edit_model, both.samples.image(item.sample_id), both.rater.values[item], both.reference.values[item])
            for item in both.items
        ],
    )


def over(both: Agreement) -> Map | None:
    """Returns the map between two raters (`mapping.bridge`), with the second's own means beside the bridged ones.

    None if they have too little in common for a map.
    """
    continued = {
        model: (both.turn * np.array([both.rater.values[item] for item in items], dtype=np.float64), both.codes(items))
        for model, items in by_model(both.rater.values).items()
    }
    score_map = bridge(both.pairs, continued, resamples=both.samples.resamples)
    if score_map is None:
        return None
    own = by_model(both.reference.values)

    def completed(model: str, row: BridgedModel) -> BridgedModel:
        scores = [both.reference.values[item] for item in own.get(model, ())]
        return replace(
            row,
            before=both.turn * row.before,
            beyond=turned(row.beyond, both.turn),
            ci95=_within(row.ci95, both.reference.scale),
            mean=math.fsum(scores) / len(scores) if scores else None,
            scored=len(scores),
        )

    score_map = score_map.turned(both.turn)
    return replace(
        score_map, edit_models={model: completed(model, row) for model, row in score_map.edit_models.items()}
    )


def _within(interval: Span | None, scale: Scale) -> Span | None:
    """Cuts an interval at the ends of a scale."""
    if interval is None:
        return None
    low, high = interval
    low = low if scale.lowest is None else max(scale.lowest, low)
    return [low, high if scale.highest is None else min(scale.highest, high)]


def _side(runs: Sequence[Run], name: str, score: str, scale: Scale) -> BridgedJudge:
    run, judge = next((run, judge) for run in runs for judge in run.experiment.judges_of_one if judge.name == name)
    return BridgedJudge(
        judge=name,
        score=score,
        lowest=scale.lowest,
        highest=scale.highest,
        higher_is_better=scale.higher_is_better,
        identity=json.loads(json.dumps(judge_identity(run, judge))),
        texts=digest_of_text(canonical_json(judge.texts)) if judge.texts else "",
    )


def read_bridge(file: Path) -> Bridge:
    """Reads a bridge. Raises `ConfigurationError` for a file that is none, or has a score outside of its scale."""
    content = read_bytes(file)
    try:
        document = of_json(content, Bridge, file)
        _refuse_outside(document, file)
    except UnfitFile as error:
        raise ConfigurationError(
            Text("{}: not a bridge ({}); `bridge RUN --old OLD --new NEW --to FILE` writes one", file, error.reason)
        ) from None
    return document


def _refuse_outside(bridge: Bridge, file: Path) -> None:
    for side, place in ((bridge.old, 2), (bridge.new, 3)):
        if not side.scale.is_a_range:
            raise UnfitFile(file, Text("the scale of {} is from {} to {}", side.judge, side.lowest, side.highest))
        for number, edit in enumerate(bridge.edits):
            if not side.scale.holds(score := float(edit[place])):
                raise UnfitFile(
                    file, Text("`edits[{}]`: {:g} is outside of the scale of {}", number, score, side.judge)
                )


def translate(run: Run, known: Bridge, wanted: str) -> TranslatedRun:
    """Translates a run's means by one judge of the bridge to the scale of the other one, which is `wanted`.

    Raises `ConfigurationError` if `wanted` is neither judge, if the run has no judge like the other, and if the bridge
    is too short for a map.
    """
    if wanted not in (known.old.judge, known.new.judge):
        raise ConfigurationError(
            Text("--as {}: the bridge is between {} and {}", wanted, known.old.judge, known.new.judge)
        )
    to_old = wanted == known.old.judge
    side, target = (known.new, known.old) if to_old else (known.old, known.new)
    name = _same_judge(run, side)
    judge = judges_of(run.results, side.score)[name]
    sources = {sample.id: sample.cluster for sample in run.results.samples}
    items = list(judge.values)
    images = [image for _, image, _, _ in known.edits]
    codes = cluster_codes([*images, *(sources.get(item.sample_id) or item.sample_id for item in items)])
    turn = gain(side.scale) * gain(target.scale)
    pairs = Pairs(
        turn * np.array([new if to_old else old for *_, old, new in known.edits], dtype=np.float64),
        np.array([old if to_old else new for *_, old, new in known.edits], dtype=np.float64),
        codes[: len(images)],
        [model for model, *_ in known.edits],
    )
    places: dict[str, list[int]] = {}
    for place, item in enumerate(items):
        places.setdefault(item.edit_model, []).append(place)
    values = turn * np.array([judge.values[item] for item in items], dtype=np.float64)
    continued = {model: (values[of], codes[len(images) :][of]) for model, of in places.items()}
    translation = translated(pairs, continued)
    if translation is None:
        raise ConfigurationError(
            Text("the bridge has {} edits of {} source images, too few for a map", len(images), len(set(images)))
        )
    edits = {
        Item.of(judgement) for judgement in run.results.judgements if judgement.judge == name
    }  # several repeats of an edit are one
    total = Counter(edit.edit_model for edit in edits)

    def completed(model: str, row: TranslatedModel) -> TranslatedModel:
        return replace(
            row,
            total=total[model],
            before=turn * row.before,
            beyond=turned(row.beyond, turn),
            ci95=_within(row.ci95, target.scale),
        )

    as_it_is = replace(
        translation,
        range=sorted(turn * end for end in translation.range),
        edit_models={model: completed(model, row) for model, row in translation.edit_models.items()},
    )
    return TranslatedRun(as_=target.judge, by=name, made=known.made, **asdict(as_it_is))


def _same_judge(run: Run, side: BridgedJudge) -> str:
    """Returns the name of the run's judge that is the bridge's."""
    unlike: list[str] = []
    for judge in run.experiment.judges_of_one:
        own = _side([run], judge.name, side.score, side.scale)
        differing = [str(difference) for difference in differences(side.identity, own.identity)]
        if not differing and own.texts != side.texts:
            differing = ["the wording of its questions"]
        if not differing:
            return judge.name
        unlike.append(Text("{} differs in {}", judge.name, differing))
    raise ConfigurationError(
        Text(
            "no judge of {} is the bridge's {}: {: and }; a bridge holds for one judge, asked in one way",
            run.path,
            side.judge,
            unlike,
        )
    )
