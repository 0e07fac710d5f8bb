"""Weights & Biases. Its key is `WANDB_API_KEY` or what `wandb login` has kept; `WANDB_BASE_URL` names a server."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from edit_eval.trackers.contract import Start


class Wandb:
    """A run there; what is not sent yet, or `mode: offline` keeps, lies in the folder `wandb` of the run directory."""

    def begin(self, start: Start) -> str:
        """Begins it. W&B adds nothing of its own: no output, no code, no list of packages, no gauges."""
        import wandb

        given = dict(start.parameters)
        self._run: Any = wandb.init(
            id=start.id,
            resume="allow",
            dir=str(start.run),
            config=dict(start.configuration),
            project=given.pop("project", "edit-eval"),
            name=given.pop("name", start.run.name),
            **given,
            settings=wandb.Settings(
                console="off",
                silent=True,
                disable_git=True,
                save_code=False,
                x_disable_meta=True,
                x_disable_stats=True,
                x_save_requirements=False,
            ),
        )
        return start.id

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Its own steps only count up, so ours is a value."""
        self._run.log({**values, "progress/settled": step})

    def keep(self, files: Mapping[str, Path]) -> None:
        """Files become an artifact, and the page can be looked at."""
        import wandb

        artifact = wandb.Artifact(f"report-{self._run.id}", type="report")
        for name, path in files.items():
            artifact.add_file(str(path), name=name)
        self._run.log_artifact(artifact)

    def end(self, *, finished: bool) -> None:
        """A run that is to go on is marked as failed until it does."""
        self._run.finish(exit_code=0 if finished else 1)
