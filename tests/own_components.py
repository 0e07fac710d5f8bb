"""What edit-eval registers itself, without what other packages do."""

from __future__ import annotations

from edit_eval.config.components import list_registrations
from edit_eval.config.kinds import KINDS, Kind


def built_in() -> dict[Kind, dict[str, str]]:
    """Kind -> name -> class path of edit-eval's own components, ordered by name; imports none of them."""
    own = sorted(registration for registration in list_registrations() if not registration.package)
    return {
        kind: {registration.name: registration.class_path for registration in own if registration.kind == kind}
        for kind in KINDS
    }
