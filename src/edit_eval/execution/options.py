"""How an evaluation is begun, beside its configuration."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from edit_eval.execution.engine.interruption import GRACE_SECONDS
from edit_eval.execution.spectator import Spectator


@dataclass(frozen=True)
class RunOptions:
    """What `run.evaluate` may be told; it says what each means."""

    run_dir: str | Path | None = None
    reuse_from: Sequence[str | Path] = ()
    retry: Collection[str] = ()
    verify: bool = False
    strict_environment: bool = False
    spectator: Spectator | None = None
    report: bool = True
    command: Sequence[str] = ()
    shard: str | None = None
    grace: float = GRACE_SECONDS
    examinations: Path | None = None

    @classmethod
    def split(cls, options: Mapping[str, Any]) -> tuple[RunOptions, dict[str, Any]]:
        """Returns these of some keywords, and the others."""
        own = {field.name for field in fields(cls)} & options.keys()
        return cls(**{name: options[name] for name in own}), {name: options[name] for name in options.keys() - own}


NO_OPTIONS = RunOptions()
