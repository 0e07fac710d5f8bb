"""Trackers: somebody else's record of runs, with curves and pages. What one is, ours, and the table that names them."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from edit_eval.errors import ConfigurationError
from edit_eval.text import Text


@dataclass(frozen=True)
class Start:
    """What a tracker is told first."""

    run: Path
    """The run directory; it may write into a folder of its own name there."""
    id: str
    """Under which the tracker knows the run. Before its first start: a proposal, unique in the world."""
    known: bool
    """Whether it knows it already."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """What the configuration says of it (see `TRACKERS`)."""
    configuration: Mapping[str, Any] = field(default_factory=dict)
    """The run's, with all its defaults and without secrets."""


class Tracker(Protocol):
    """An adapter. It lives in a process of its own, so any of it may raise, take long, or never come back."""

    def begin(self, start: Start) -> str:
        """Begins the run there, or goes on with it; returns the id under which it is known from now on."""

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Takes numbers by name (`model/judge/score`, `progress/edits`); `step` is what is settled by now."""

    def keep(self, files: Mapping[str, Path]) -> None:
        """Takes files by their names: the report's page, and its numbers."""

    def end(self, *, finished: bool) -> None:
        """Ends the run there, or leaves it to be gone on with; all that was told has arrived."""


class Wandb:
    """Weights & Biases. Its key is `WANDB_API_KEY` or what `wandb login` has kept; `WANDB_BASE_URL` names a server.

    A run there; what is not sent yet, or `mode: offline` keeps, lies in the folder `wandb` of the run directory.
    """

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


class Trackio:
    """Trackio: a database on this machine (`TRACKIO_DIR`), a Space (`HF_TOKEN`) or a server (`TRACKIO_WRITE_TOKEN`).

    A run there, which is known by its name.
    """

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


class Mlflow:
    """MLflow: a tracking server (`MLFLOW_TRACKING_URI`, `MLFLOW_TRACKING_TOKEN`, ...), or a database on this machine.

    A run there, through the client: nothing of it is global, and it adds nothing of its own.
    """

    def begin(self, start: Start) -> str:
        """Begins it, in an experiment that is made if need be."""
        from mlflow import MlflowClient
        from mlflow.entities import Metric

        given, self._metric = start.parameters, Metric
        self._client = MlflowClient(given.get("tracking_uri"))
        if start.known:
            self._client.update_run(start.id, status="RUNNING")
            self._id = start.id
            return self._id
        name = given.get("experiment", "edit-eval")
        experiment = self._client.get_experiment_by_name(name)
        of = experiment.experiment_id if experiment else self._client.create_experiment(name)
        self._id = str(self._client.create_run(of, run_name=given.get("name", start.run.name)).info.run_id)
        self._client.log_dict(self._id, dict(start.configuration), "configuration.yaml")
        return self._id

    def log(self, values: Mapping[str, float], step: int) -> None:
        """All of them in one request."""
        now = int(time.time() * 1000)
        metrics = [self._metric(name, value, now, step) for name, value in values.items()]
        for begin in range(0, len(metrics), 1000):  # as many as it takes at once
            self._client.log_batch(self._id, metrics=metrics[begin : begin + 1000])

    def keep(self, files: Mapping[str, Path]) -> None:
        """Files become artifacts, by the names that they have."""
        for path in files.values():
            self._client.log_artifact(self._id, str(path))

    def end(self, *, finished: bool) -> None:
        """A run that is to go on is marked as killed until it does."""
        self._client.set_terminated(self._id, "FINISHED" if finished else "KILLED")


@dataclass(frozen=True)
class TrackerKind:
    """One tracker."""

    title: str
    adapter: Callable[[], Tracker]
    package: str
    """What the adapter imports, and the extra of edit-eval that brings it."""
    texts: tuple[str, ...]
    """Its parameters, each a text; their meaning is the package's."""
    lists: tuple[str, ...] = ()
    """Further ones, each a list of texts."""

    @property
    def is_here(self) -> bool:
        """Whether its package is installed. A folder `wandb` or `mlruns` of the package's own making is no package."""
        found = importlib.util.find_spec(self.package)
        return found is not None and found.origin is not None


TRACKERS = {
    "wandb": TrackerKind(
        "W&B",
        Wandb,
        "wandb",
        ("project", "entity", "group", "name", "mode"),
        ("tags",),
    ),
    "trackio": TrackerKind(
        "Trackio",
        Trackio,
        "trackio",
        ("project", "group", "space_id", "server_url"),
    ),
    "mlflow": TrackerKind(
        "MLflow",
        Mlflow,
        "mlflow",
        ("tracking_uri", "experiment", "name"),
    ),
}


def refuse_what_is_missing(names: Iterable[str]) -> None:
    """Raises `ConfigurationError` for a tracker whose package is not installed here."""
    missing = [name for name in names if not TRACKERS[name].is_here]
    if missing:
        extras = ",".join(missing)
        raise ConfigurationError(
            Text(
                "trackers: {: and } not installed here; `pip install 'edit-eval[{}]'`, or leave out `trackers`",
                missing,
                extras,
            )
        )
