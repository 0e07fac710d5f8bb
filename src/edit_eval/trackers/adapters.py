"""Adapters for experiment trackers: their protocol, our three, and the table of their names."""

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
    """A run's start, as given to a tracker."""

    run: Path
    """The run directory; the tracker may write into a folder of its own name there."""
    id: str
    """The tracker's id of the run; before its first start, a proposal that is globally unique."""
    known: bool
    """True if the tracker knows the run already."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """The tracker's parameters in the configuration (see `TRACKERS`)."""
    configuration: Mapping[str, Any] = field(default_factory=dict)
    """The run's configuration, with all defaults and without secrets."""


class Tracker(Protocol):
    """An adapter. It runs in a process of its own, so its methods may raise, be slow, or hang."""

    def begin(self, start: Start) -> str:
        """Begins or resumes the run; returns its id from now on."""

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Logs numbers by name (`model/judge/score`, `progress/edits`); `step` is the number settled so far."""

    def keep(self, files: Mapping[str, Path]) -> None:
        """Uploads files by name: the report's page, and its numbers."""

    def end(self, *, finished: bool) -> None:
        """Ends the run, or marks it to be resumed; returns when everything has been sent."""


class Wandb:
    """Weights & Biases. Its key is `WANDB_API_KEY`, or stored by `wandb login`; `WANDB_BASE_URL` names a server.

    A run is a W&B run; data not sent yet, or kept by `mode: offline`, is in the folder `wandb` of the run directory.
    """

    def begin(self, start: Start) -> str:
        """Begins the run. W&B adds nothing of its own: no output, code, list of packages or system metrics."""
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
        """Logs the files as an artifact, in which the page can be viewed."""
        import wandb

        artifact = wandb.Artifact(f"report-{self._run.id}", type="report")
        for name, path in files.items():
            artifact.add_file(str(path), name=name)
        self._run.log_artifact(artifact)

    def end(self, *, finished: bool) -> None:
        """Ends the run; one to be resumed is marked as failed until then."""
        self._run.finish(exit_code=0 if finished else 1)


class Trackio:
    """Trackio: a database on this machine (`TRACKIO_DIR`), a Space (`HF_TOKEN`) or a server (`TRACKIO_WRITE_TOKEN`).

    A run is a Trackio run, identified by its name.
    """

    def begin(self, start: Start) -> str:
        """Begins the run, without Trackio's own system metrics."""
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
        """Logs the files as an artifact."""
        import trackio

        artifact = trackio.Artifact(f"report-{self._run.name}"[:128], type="report")
        for name, path in files.items():
            artifact.add_file(str(path), name=name)
        self._run.log_artifact(artifact)

    def end(self, *, finished: bool) -> None:
        """Ends the run; Trackio has no mark for one to be resumed."""
        self._run.finish()


class Mlflow:
    """MLflow: a tracking server (`MLFLOW_TRACKING_URI`, `MLFLOW_TRACKING_TOKEN`, ...), or a database on this machine.

    A run is an MLflow run, through its client, which has no global state and adds nothing of its own.
    """

    def begin(self, start: Start) -> str:
        """Begins the run, creating its experiment if necessary."""
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
        """Logs the numbers in as few requests as possible."""
        now = int(time.time() * 1000)
        metrics = [self._metric(name, value, now, step) for name, value in values.items()]
        for begin in range(0, len(metrics), 1000):  # MLflow's limit per request
            self._client.log_batch(self._id, metrics=metrics[begin : begin + 1000])

    def keep(self, files: Mapping[str, Path]) -> None:
        """Logs the files as artifacts, by their file names."""
        for path in files.values():
            self._client.log_artifact(self._id, str(path))

    def end(self, *, finished: bool) -> None:
        """Ends the run; one to be resumed is marked as killed until then."""
        self._client.set_terminated(self._id, "FINISHED" if finished else "KILLED")


@dataclass(frozen=True)
class TrackerKind:
    """A tracker's row in `TRACKERS`."""

    title: str
    adapter: Callable[[], Tracker]
    package: str
    """The package that the adapter imports, and edit-eval's extra of that name."""
    texts: tuple[str, ...]
    """Its text parameters, passed on to the package."""
    lists: tuple[str, ...] = ()
    """Its parameters that are lists of texts."""

    @property
    def is_here(self) -> bool:
        """True if its package is installed. A data folder such as `wandb` does not count as a package."""
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
