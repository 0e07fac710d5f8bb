"""All kinds of subjects, in the order of their numbers: edits, controls, those of plug-ins, battles."""

from __future__ import annotations

from functools import cache

from edit_eval.config.components import import_registered, names
from edit_eval.store.subjects.contract import Kind
from edit_eval.store.subjects.edits import Edits

EDITS = Edits()
CONTROL, BATTLE = "control", "battle"


@cache
def kinds() -> dict[str, Kind]:
    """Returns all kinds by name."""
    plugins = [name for name in names("subject") if name not in (CONTROL, BATTLE)]
    ordered: list[Kind] = [import_registered("subject", name)() for name in (CONTROL, *plugins, BATTLE)]
    return {kind.name: kind for kind in (EDITS, *ordered)}
