"""All kinds of subjects, in the order of their numbers, edits first."""

from __future__ import annotations

from functools import cache

from edit_eval.config.components import import_registered, names
from edit_eval.store.subjects.battles import Battles
from edit_eval.store.subjects.contract import Kind
from edit_eval.store.subjects.controls import Controls
from edit_eval.store.subjects.edits import Edits

EDITS = Edits()


@cache
def kinds() -> dict[str, Kind]:
    """Returns all kinds by name, those of plug-ins before battles."""
    plugins: list[Kind] = [import_registered("subject", name)() for name in names("subject")]
    return {kind.name: kind for kind in (EDITS, Controls(), *plugins, Battles())}
