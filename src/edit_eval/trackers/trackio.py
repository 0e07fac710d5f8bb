"""Trackio: a database on this machine (`TRACKIO_DIR`), a Space (`HF_TOKEN`) or a server (`TRACKIO_WRITE_TOKEN`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edit_eval.trackers.contract import Start


class Trackio:
    """A run there, which is known by its name."""

    def begin(self, start: Start) -> str:
        """Begins it, without gauges of Trackio's own."""
        import trackio

        given = dict(start.parameters)
        name = start.id if start.known else f"{start.run.name}-{start.id}"
        self._run: Any = trackio.init(
            given.pop("project", "edit-eval"),
            name=name,
            resume="allow",
            config=dict(start.configuration),
            embed=False,
            auto_log_gpu=False,
            auto_log_cpu=False,
            **given,
        )
        return name

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Its own steps only count up, so ours is a value."""
        self._run.log({**values, "progress/settled": step})

    def keep(self, files: Mapping[str, Path]) -> None:
        """Files become an artifact."""
        import trackio

        artifact = trackio.Artifact(f"report-{self._run.name}"[:128], type="report")
        for name, path in files.items():
            artifact.add_file(str(path), name=name)
        self._run.log_artifact(artifact)

    def end(self, *, finished: bool) -> None:
        """It knows no difference."""
        self._run.finish()
