"""Bridges between two judges: a file that others can use, and a run translated to the scale of a retired judge.

The file has the pairs of scores themselves, so that its map can be fitted in both directions, with its error.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from edit_eval.config.identity import canonical_json, digest_of_text
from edit_eval.errors import ConfigurationError
from edit_eval.given_files import UnfitFile, of_json, read_bytes
from edit_eval.new_files import refuse_existing, written_whole
from edit_eval.records import Scale
from edit_eval.run import Run
from edit_eval.statistics.agreement import agreement, samples_of
from edit_eval.statistics.calibration import Pairs, translated, turned
from edit_eval.statistics.columns import differences
from edit_eval.statistics.instruments import Item, judges_of
from edit_eval.statistics.intervals import cluster_codes
from edit_eval.statistics.series import gain
from edit_eval.store.comparable import judge_identity
from edit_eval.store.joined import joined
from edit_eval.text import Text


class BridgedJudge(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One of the two judges."""

    judge: str
    """Name of the judge in its run."""
    score: str
    lowest: float | None
    highest: float | None
    higher_is_better: bool
    identity: dict[str, Any]
    """Identity of the judge and how it is asked, which `compare` requires to be equal."""
    texts: str
    """Digest of its protocol's wording; empty if it has none."""

    @property
    def scale(self) -> Scale:
        """Scale of its scores."""
        return Scale(lowest=self.lowest, highest=self.highest, higher_is_better=self.higher_is_better)


class BridgeFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Content of a bridge file."""

    edit_eval_bridge: Literal[1]
    made: str
    old: BridgedJudge
    new: BridgedJudge
    edits: list[tuple[str, str, float, float]]
    """For each edit that both have scored: edit model, identifier of its source image, score by `old`, by `new`."""


def write_bridge(
    runs: Sequence[Run], old: str, new: str, file: Path, *, score: str | None = None, force: bool = False
) -> BridgeFile:
    """Writes the edits that both judges have scored in these runs. Raises `ConfigurationError` as `Run.agreement`."""
    refuse_existing(file, force=force)
    results = joined(runs)
    judges = judges_of(results, score)
    samples = samples_of(results, judges.values())
    both = agreement(judges[old], judges[new], samples)
    sides = [_side(runs, name, judges[name].score, judges[name].scale) for name in (old, new)]
    made = BridgeFile(
        edit_eval_bridge=1,
        made=datetime.now(UTC).date().isoformat(),
        old=sides[0],
        new=sides[1],
        edits=[
            (item.edit_model, samples.image(item.sample_id), both.one.values[item], both.other.values[item])
            for item in both.items
        ],
    )
    with written_whole(file) as temporary:
        temporary.write_bytes(msgspec.json.format(msgspec.json.encode(made), indent=1) + b"\n")
    return made


def _side(runs: Sequence[Run], name: str, score: str, scale: Scale) -> BridgedJudge:
    run, judge = next((run, one) for run in runs for one in run.experiment.judges_of_one if one.name == name)
    return BridgedJudge(
        judge=name,
        score=score,
        lowest=scale.lowest,
        highest=scale.highest,
        higher_is_better=scale.higher_is_better,
        identity=json.loads(json.dumps(judge_identity(run, judge))),
        texts=digest_of_text(canonical_json(judge.texts)) if judge.texts else "",
    )


def read_bridge(file: Path) -> BridgeFile:
    """Reads a bridge. Raises `ConfigurationError` for a file that is none, or has a score outside of its scale."""
    content = read_bytes(file)
    try:
        found = of_json(content, BridgeFile, file)
        _refuse_outside(found, file)
    except UnfitFile as error:
        raise ConfigurationError(
            Text("{}: not a bridge ({}); `agreement RUN --bridge OLD NEW --to FILE` writes one", file, error.reason)
        ) from None
    return found


def _refuse_outside(bridge: BridgeFile, file: Path) -> None:
    for side, place in ((bridge.old, 2), (bridge.new, 3)):
        if not side.scale.is_a_range:
            raise UnfitFile(file, Text("the scale of {} is from {} to {}", side.judge, side.lowest, side.highest))
        for number, edit in enumerate(bridge.edits):
            if not side.scale.holds(score := float(edit[place])):
                raise UnfitFile(
                    file, Text("`edits[{}]`: {:g} is outside of the scale of {}", number, score, side.judge)
                )


def translate(run: Run, known: BridgeFile, wanted: str) -> dict[str, Any]:
    """Translates a run's means by one judge of the bridge to the scale of the other one, which is `wanted`.

    `{"as", "by", "made", "n", "clusters", "rmse", "explained", "off_by", "held_out", "range", "edit_models"}`, see
    `calibration.translated`; each model also has `total`, its edits with and without a score. Raises
    `ConfigurationError` if `wanted` is neither judge, if the run has no judge like the other, and if the bridge is too
    short for a map.
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
    found = translated(pairs, continued)
    if found is None:
        raise ConfigurationError(
            Text("the bridge has {} edits of {} source images, too few for a map", len(images), len(set(images)))
        )
    _tell_as_it_is(found, turn, target.scale, run, name)
    return {"as": target.judge, "by": name, "made": known.made, **found}


def _same_judge(run: Run, side: BridgedJudge) -> str:
    """Returns the name of the run's judge that is the bridge's."""
    unlike: list[str] = []
    for judge in run.experiment.judges_of_one:
        own = _side([run], judge.name, side.score, side.scale)
        differing = [str(one) for one in differences(side.identity, own.identity)]
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


def _tell_as_it_is(found: dict[str, Any], turn: float, scale: Scale, run: Run, judge: str) -> None:
    edits = {Item.of(one) for one in run.results.judgements if one.judge == judge}  # several repeats of an edit are one
    total = Counter(one.edit_model for one in edits)
    found["range"] = sorted(turn * end for end in found["range"])
    rows: Mapping[str, dict[str, Any]] = found["edit_models"]
    for model, row in rows.items():
        row["before"] *= turn
        row["beyond"] = turned(row["beyond"], turn)
        row["total"] = total[model]
        if row["ci95"]:
            low, high = row["ci95"]
            low = low if scale.lowest is None else max(scale.lowest, low)
            row["ci95"] = [low, high if scale.highest is None else min(scale.highest, high)]
