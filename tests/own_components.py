"""What edit-eval registers itself, without what other packages do; what checks a class's parameters."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from edit_eval.config.components import list_registrations
from edit_eval.config.kinds import KINDS, Kind
from edit_eval.config.parameters import find_adapter


def built_in() -> dict[Kind, dict[str, str]]:
    """Kind -> name -> class path of edit-eval's own components, ordered by name; imports none of them."""
    own = sorted(registration for registration in list_registrations() if not registration.package)
    return {
        kind: {registration.name: registration.class_path for registration in own if registration.kind == kind}
        for kind in KINDS
    }


def adapter_of(cls: type[Any]) -> TypeAdapter[Any]:
    """What the configuration checks a class's parameters with."""
    adapter = find_adapter(cls)
    assert adapter is not None
    return adapter
