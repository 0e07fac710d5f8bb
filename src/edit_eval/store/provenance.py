"""Differences within a run that are not in any key: libraries, Python, GPU models, what models report of themselves.

They occur between two starts of a run, or two replicas of one start. They are not part of a key, since a new version
rarely changes a pixel; but when one does, a run mixes two kinds of results. So each difference is reported by name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from edit_eval.errors import RunDirectoryError
from edit_eval.store.run_directory import RunDirectory
from edit_eval.text import Text

NOTE = "note"
"""The entry of a model's self-description that is shown to the user, and in the report."""
_NOT_COMPARED = ("server", "interpreter", "device", NOTE)
"""Entries of a model's self-description that are only a place, or follow from the rest."""


def changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Returns the differences between two recorded environments, one entry each: `torch 2.6.0 -> 2.13.0`.

    Models are compared if both environments have their self-descriptions. An empty `before` differs in nothing.
    """
    if not before:
        return []
    differences = list(_differences({"python": before.get("python")}, {"python": now.get("python")}))
    differences += _differences(before.get("libraries"), now.get("libraries"))
    kinds = [sorted({gpu.get("title", "") for gpu in record.get("gpus") or ()}) for record in (before, now)]
    if kinds[0] != kinds[1]:
        differences.append(f"GPUs {' and '.join(kinds[0]) or 'none'} -> {' and '.join(kinds[1]) or 'none'}")
    old, new = before.get("models") or {}, now.get("models") or {}
    for model in old.keys() & new.keys():
        differences += (f"{model.partition(':')[2]}: {change}" for change in _differences(old[model], new[model]))
    return differences


def _differences(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> Iterator[str]:
    old, new = old or {}, new or {}
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name) and name not in _NOT_COMPARED:
            yield f"{name} {old.get(name) or 'none'} -> {new.get(name) or 'none'}"


def describe_environment_changes(directory: RunDirectory, now: Mapping[str, Any], *, strict: bool = False) -> list[str]:
    """Returns notes if a run is resumed in another environment than that of its last start; none if it is the same.

    With `strict`, raises `RunDirectoryError` instead.
    """
    return _notes_of(changes(directory.environment(), now), strict)


def unlike_machines(environment: Mapping[str, Any]) -> list[str]:
    """Returns a line for each machine of a start whose Python or libraries differ from those of most machines."""
    machines = environment.get("machines") or ()
    notes: list[str] = []
    versions = [{"python": machine.get("python"), **(machine.get("libraries") or {})} for machine in machines]
    most = {
        name: Counter(each.get(name) for each in versions).most_common(1)[0][0]
        for name in dict.fromkeys(name for each in versions for name in each)
    }
    for machine, its in zip(machines, versions, strict=True):
        if differences := [
            Text("{} {}, not {}", name, its.get(name) or "none", most[name])
            for name in most
            if its.get(name) != most[name]
        ]:
            notes.append(Text("{} differs from the other machines: {:; }", machine["name"], differences))
    return notes


def several_kinds(environment: Mapping[str, Any]) -> list[str]:
    """Returns a line for each model of a start whose replicas are on GPUs of more than one kind."""
    titles = {gpu.get("name"): gpu.get("title", "") for gpu in environment.get("gpus") or ()}
    notes: list[str] = []
    for model, devices in (environment.get("places") or {}).items():
        kinds = dict.fromkeys(titles[device] for device in devices if device in titles)
        if len(kinds) > 1:
            notes.append(
                Text(
                    "{} runs on GPUs of {} kinds ({}): the same seed gives the same pixels only on one kind",
                    model.partition(":")[2],
                    len(kinds),
                    kinds,
                )
            )
    return notes


class SelfDescriptionCheck:
    """Compares what models report of themselves when loaded with the last start, and replicas with each other."""

    def __init__(self, directory: RunDirectory, *, strict: bool = False) -> None:
        """Create it before this start records its own environment."""
        self._before: dict[str, Mapping[str, Any]] = {}
        for environment in directory.environments().values():
            self._before.update(environment.get("models") or {})
        self._first: dict[str, tuple[str, Mapping[str, Any]]] = {}
        self._strict = strict
        self.unlike: list[str] = []
        """One line for each replica of this start that differs from the first of its model."""

    def compare(self, model: str, about: Mapping[str, Any], place: str = "") -> list[str]:
        """Returns notes on a replica loaded at `place`; none if it is like the earlier ones and has no note itself.

        The first of a start is compared with the last start's, the others with the first. With `strict`, raises
        `RunDirectoryError` instead.
        """
        if model not in self._first:
            self._first[model] = place, about
            before = self._before.get(model)
            old = {} if before is None else {"models": {model: before}}
            own = [about[NOTE]] if about.get(NOTE) else []
            return own + _notes_of(changes(old, {"models": {model: about}}), self._strict)
        where, first = self._first[model]
        if not (differences := list(_differences(first, about))):
            return []
        unlike = Text("{} on {} differs from {}: {:; }", model.partition(":")[2], place, where, differences)
        if self._strict:
            raise RunDirectoryError(
                Text("{}; remove one of them from device_ids, or leave out --strict-environment", unlike)
            )
        if unlike not in self.unlike:  # it may be loaded more than once
            self.unlike.append(unlike)
        return [Text("{}; their results may differ for that reason", unlike)]


def _notes_of(differences: list[str], strict: bool) -> list[str]:
    if not differences:
        return []
    text = Text("different from the last start of this run: {:; }", differences)
    if strict:
        raise RunDirectoryError(Text("{}; restore it, or leave out --strict-environment", text))
    return [Text("{}; results from before and after may differ for that reason", text)]


def collect_environment_notes(directory: RunDirectory) -> list[str]:
    """Returns notes for the report: of the models, on changes between starts, and on differences within each."""
    every = [about for now in directory.environments().values() for about in (now.get("models") or {}).values()]
    notes = list(dict.fromkeys(about[NOTE] for about in every if about.get(NOTE)))
    before: Mapping[str, Any] = {}
    for number, now in directory.environments().items():
        if differences := changes(before, now):
            notes.append(Text("from start {} on: {:; }", number, differences))
        notes += (
            Text("start {}: {}", number, unlike)
            for unlike in (*several_kinds(now), *unlike_machines(now), *_machine_notes(now), *(now.get("unlike") or ()))
        )
        before = now if now.get("models") or not before else {**now, "models": before.get("models", {})}
    return notes


def _machine_notes(environment: Mapping[str, Any]) -> list[str]:
    return [note for machine in environment.get("machines") or () for note in machine.get("notes") or ()]
