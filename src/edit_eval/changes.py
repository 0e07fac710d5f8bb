"""What one experiment asks otherwise than another, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edit_eval.config.faults import change_words
from edit_eval.config.identity import Identity
from edit_eval.experiment import Experiment, is_same_sample
from edit_eval.protocols.asked import AskedJudge
from edit_eval.text import Text


def list_changes(before: Experiment, now: Experiment) -> list[str]:
    """Returns for people what is asked `now` and was not `before`: `edit model a: num_inference_steps 50 -> 15`, ..."""
    changes: list[str] = []
    places = {sample.id: sample.index for sample in before.samples}
    moved = sum(places.get(sample.id, sample.index) != sample.index for sample in now.samples)
    if moved:
        changes.append(
            Text(
                "{} sample has another place in the benchmark, and so another seed: its edits are made again",
                moved,
                plural="{} samples have another place in the benchmark, and so another seed: their edits are made "
                "again",
            )
        )
    for role, were, are in (
        (Text("edit model"), before.edit_models, now.edit_models),
        (Text("judge"), [judge.model for judge in before.judges], [judge.model for judge in now.judges]),
    ):
        old, new = ({model.name: model for model in models} for models in (were, are))
        if old.keys() != new.keys():
            changes.append(Text("{} {} -> {}", role, old, new))
        for name in old.keys() & new.keys():
            its = _model_changes(old[name], new[name], finished=new[name] in now.edit_models and name in now.finished)
            changes += [Text("{} {}: {}", role, name, change) for change in its]
    changes += [
        Text("edit model {}: it is given the samples' masks", name)
        if name in now.masked
        else Text("edit model {}: it is given no masks", name)
        for name in sorted({*before.masked} ^ {*now.masked})
        if name in before.column_index and name in now.column_index
    ]
    changes += [
        Text("how {} is told what to do", name)
        for name in sorted(before.refinements.keys() & now.refinements.keys())
        if before.refinements[name] != now.refinements[name]
    ]
    judges = {judge.name: judge for judge in before.judges}
    for judge in now.judges:
        if judge.name in judges:
            changes += [
                Text("judge {}: {}", judge.name, change) for change in _protocol_changes(judges[judge.name], judge)
            ]
    often = {key: key for key in ("edit_seeds", "repeats", "readings", "language")}
    often["controls"] = "controls_setting"
    changes += [
        change_words(said, getattr(before, key), getattr(now, key))
        for said, key in often.items()
        if getattr(before, key) != getattr(now, key)
    ]
    if before.more_controls != now.more_controls:
        changes.append(change_words("more_controls", before.more_controls, now.more_controls))
    if before.language == now.language:
        if len(before.samples) != len(now.samples):
            changes.append(change_words("samples", len(before.samples), len(now.samples)))
        elif not all(map(is_same_sample, before.samples, now.samples)):
            changes.append(Text("other samples"))
        elif before.beside != now.beside:
            changes.append(Text("which of the samples count"))
    return changes


def _model_changes(old: Identity, new: Identity, *, finished: bool) -> list[str]:
    changes = []
    if old.type != new.type:
        changes.append(change_words("type", old.type, new.type))
    elif old.revision != new.revision:
        changes.append(Text("its edits have changed") if finished else Text("its weights or its code have changed"))
    if old.seed != new.seed:
        changes.append(change_words("seed", old.seed, new.seed))
    return [*changes, *_parameter_changes(old.parameters, new.parameters)]


def _protocol_changes(old: AskedJudge, new: AskedJudge) -> list[str]:
    if old.protocol_name != new.protocol_name:
        return [change_words("protocol", old.protocol_name, new.protocol_name)]
    changes = _parameter_changes(old.question_parameters(), new.question_parameters())
    return [*changes, *([Text("the wording of its questions")] if old.texts != new.texts else [])]


def _parameter_changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    keys = dict.fromkeys((*old, *new))
    return [change_words(key, old.get(key), new.get(key)) for key in keys if old.get(key) != new.get(key)]
