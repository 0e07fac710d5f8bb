"""All kinds of subjects, in the order of their numbers: edits first, which are the only ones that a service adds."""

from __future__ import annotations

from edit_eval.store.subjects.battles import Battles
from edit_eval.store.subjects.contract import Kind
from edit_eval.store.subjects.controls import Controls
from edit_eval.store.subjects.edits import Edits
from edit_eval.store.subjects.rewritings import Rewritings

EDITS = Edits()
KINDS: dict[str, Kind] = {kind.name: kind for kind in (EDITS, Controls(), Rewritings(), Battles())}
