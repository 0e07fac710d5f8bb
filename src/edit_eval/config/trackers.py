"""`trackers`: names, each perhaps with its parameters, in a list or a mapping."""

from __future__ import annotations

from typing import Any

from edit_eval.config.faults import Faults, Place, did_you_mean, shown
from edit_eval.text import Text
from edit_eval.trackers.table import TRACKERS


def read_trackers(written: Any, faults: Faults) -> dict[str, dict[str, Any]]:
    """Each tracker's parameters by its name. What is wrong is noted, not raised."""
    place: Place = ("trackers",)
    entries = written if isinstance(written, list) else [written] if written else []
    found: dict[str, dict[str, Any]] = {}
    for entry in entries:
        for name, parameters in (entry if isinstance(entry, dict) else {entry: None}).items():
            if not isinstance(name, str) or name not in TRACKERS:
                meant = did_you_mean(str(name), TRACKERS) or Text("; there are: {}", TRACKERS)
                faults.add(place, Text("{} is not a tracker{}", shown(name), meant))
            elif name in found:
                faults.add((*place, name), Text("given twice; keep one of them"))
            else:
                found[name] = _parameters(name, parameters, faults)
    return found


def _parameters(name: str, written: Any, faults: Faults) -> dict[str, Any]:
    row, place = TRACKERS[name], ("trackers", name)
    if written is not None and not isinstance(written, dict):
        faults.add(place, Text("takes keys with values, not {}", shown(written)))
        return {}
    given = {key: value for key, value in (written or {}).items() if value is not None}
    known = (*row.texts, *row.lists)
    for key, value in given.items():
        if key not in known:
            there = did_you_mean(key, known) or Text("; the keys here are {}", known)
            faults.add((*place, key), Text("unknown key{}", there))
        elif key in row.texts and not (isinstance(value, str) and value.strip()):
            faults.add((*place, key), Text("must be text, not {}", shown(value)))
        elif key in row.lists and not (isinstance(value, list) and all(isinstance(one, str) for one in value)):
            faults.add((*place, key), Text("must be a list of texts, not {}", shown(value)))
    return given
