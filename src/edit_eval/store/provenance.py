"""What has changed between two starts of a run that no key knows: libraries, Python, the kind of the GPUs.

None of it is part of a key, since a new version rarely changes a pixel; but where it has, one run would hold two kinds
of results. So it is said, by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from edit_eval.errors import RunDirectoryError
from edit_eval.store.run_directory import RunDirectory

_NOT_COMPARED = ("server",)
"""What models say about themselves that is only a place."""


def changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What differs between two recorded environments: `torch 2.6.0 -> 2.13.0`, one entry a thing.

    Models are compared where both know what their workers said about themselves. An empty `before` is no difference.
    """
    if not before:
        return []
    found = list(_differences({"python": before.get("python")}, {"python": now.get("python")}))
    found += _differences(before.get("libraries"), now.get("libraries"))
    kinds = [sorted({gpu.get("title", "") for gpu in record.get("gpus") or ()}) for record in (before, now)]
    if kinds[0] != kinds[1]:
        found.append(f"GPUs {' and '.join(kinds[0]) or 'none'} -> {' and '.join(kinds[1]) or 'none'}")
    old, new = before.get("models") or {}, now.get("models") or {}
    for model in old.keys() & new.keys():
        found += (f"{model.partition(':')[2]}: {change}" for change in _differences(old[model], new[model]))
    return found


def _differences(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> Iterator[str]:
    old, new = old or {}, new or {}
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name) and name not in _NOT_COMPARED:
            yield f"{name} {old.get(name) or 'none'} -> {new.get(name) or 'none'}"


def changed_since_the_last_start(directory: RunDirectory, now: Mapping[str, Any], *, strict: bool = False) -> list[str]:
    """Notes for whoever resumes a run in another environment than its last start's; none where all is as it was.

    With `strict` it raises `RunDirectoryError` instead.
    """
    return _told(changes(directory.environment(), now), strict)


class ModelsThen:
    """What the models of a run said about themselves when they were last loaded, to be compared as they are now."""

    def __init__(self, directory: RunDirectory, *, strict: bool = False) -> None:
        """Take it before this start records its own environment."""
        self._before: dict[str, Mapping[str, Any]] = {}
        for environment in directory.environments().values():
            self._before.update(environment.get("models") or {})
        self._strict = strict

    def compare(self, model: str, about: Mapping[str, Any]) -> list[str]:
        """Notes like those of `changed_since_the_last_start`, for the first replica of `model` that is loaded."""
        before = self._before.pop(model, None)
        if before is None:
            return []
        return _told(changes({"models": {model: before}}, {"models": {model: about}}), self._strict)


def _told(found: list[str], strict: bool) -> list[str]:
    if not found:
        return []
    text = f"not as at the last start of this run: {'; '.join(found)}"
    if strict:
        raise RunDirectoryError(f"{text}; go back to that, or leave out --strict-environment")
    return [f"{text}; results made before and after may differ in more than chance"]


def mixed_environments(directory: RunDirectory) -> list[str]:
    """For the reader of a report: what changed between the starts of a run, one line a start."""
    notes: list[str] = []
    before: Mapping[str, Any] = {}
    for number, now in directory.environments().items():
        if found := changes(before, now):
            notes.append(f"from start {number} on: {'; '.join(found)}")
        before = now if now.get("models") or not before else {**now, "models": before.get("models", {})}
    return notes
