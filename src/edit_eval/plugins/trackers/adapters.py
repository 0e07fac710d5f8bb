"""Adapters for W&B, Trackio and MLflow."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from edit_eval.trackers.contract import ResultTable, Start, Tracker


class _WithSteps(Tracker):
    """What W&B and Trackio have in common: the calls of `_client`, and steps of their own."""

    _client: Any
    """The package."""
    _run: Any
    _name: str
    """What the run is known by there."""

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Its own steps only count up, so ours is a value."""
        self._run.log({**values, "progress/settled": step})

    def keep(self, files: Mapping[str, Path]) -> None:
        """Logs the files as an artifact, in which the page can be viewed."""
        artifact = self._client.Artifact(f"report-{self._name}"[:128], type="report")
        for name, path in files.items():
            artifact.add_file(str(path), name=name)
        self._run.log_artifact(artifact)

    def show(self, table: ResultTable) -> None:
        """Logs `edits`, a table whose pictures stand in its rows."""
        image = self._client.Image
        rows = [[image(str(cell)) if isinstance(cell, Path) else cell for cell in row] for row in table.rows]
        self._run.log({"edits": self._client.Table(columns=[*table.columns], data=rows)})


class Wandb(_WithSteps):
    """Weights & Biases. Its key is `WANDB_API_KEY`, or stored by `wandb login`; `WANDB_BASE_URL` names a server.

    A run is a W&B run; data not sent yet, or kept by `mode: offline`, is in the folder `wandb` of the run directory.
    """

    title = "W&B"
    package = extra = "wandb"

    @dataclass
    class Parameters:
        project: str | None = None
        """Project. Default: edit-eval."""
        entity: str | None = None
        """User or team."""
        group: str | None = None
        """Group of runs."""
        name: str | None = None
        """Name of the run. Default: that of its folder."""
        mode: str | None = None
        """`online`, `offline` or `disabled`."""
        tags: list[str] | None = None
        """Tags of the run."""
        table_rows: int | None = None
        """Edits in the table with pictures; 0 for no table. Default: 100."""

    def begin(self, start: Start) -> str:
        """Begins the run. W&B adds nothing of its own: no output, code, list of packages or system metrics."""
        import wandb

        self._client, self._name = wandb, start.id
        given = {key: value for key, value in start.parameters.items() if key != "table_rows"}
        self._run = wandb.init(
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

    def end(self, *, finished: bool) -> None:
        """Ends the run; one to be resumed is marked as failed until then."""
        self._run.finish(exit_code=0 if finished else 1)


class Trackio(_WithSteps):
    """Trackio: a database on this machine (`TRACKIO_DIR`), a Space (`HF_TOKEN`) or a server (`TRACKIO_WRITE_TOKEN`).

    A run is a Trackio run, identified by its name.
    """

    title = "Trackio"
    package = extra = "trackio"

    @dataclass
    class Parameters:
        project: str | None = None
        """Project. Default: edit-eval."""
        group: str | None = None
        """Group of runs."""
        space_id: str | None = None
        """Space that shows it: OWNER/NAME."""
        server_url: str | None = None
        """Server to send to."""
        table_rows: int | None = None
        """Edits in the table with pictures; 0 for no table. Default: 100."""

    def begin(self, start: Start) -> str:
        """Begins the run, without Trackio's own system metrics."""
        import trackio

        given = {key: value for key, value in start.parameters.items() if key != "table_rows"}
        self._client, self._name = trackio, start.id if start.known else f"{start.run.name}-{start.id}"
        self._run = trackio.init(
            given.pop("project", "edit-eval"),
            name=self._name,
            resume="allow",
            config=dict(start.configuration),
            embed=False,
            auto_log_gpu=False,
            auto_log_cpu=False,
            **given,
        )
        return self._name

    def end(self, *, finished: bool) -> None:
        """Ends the run; Trackio has no mark for one to be resumed."""
        self._run.finish()


class Mlflow(Tracker):
    """MLflow: a tracking server (`MLFLOW_TRACKING_URI`, `MLFLOW_TRACKING_TOKEN`, ...), or a database on this machine.

    A run is an MLflow run, through its client, which has no global state and adds nothing of its own.
    """

    title = "MLflow"
    package = extra = "mlflow"

    @dataclass
    class Parameters:
        tracking_uri: str | None = None
        """Server or database. Default: `MLFLOW_TRACKING_URI`."""
        experiment: str | None = None
        """Experiment. Default: edit-eval."""
        name: str | None = None
        """Name of the run. Default: that of its folder."""
        table_rows: int | None = None
        """Edits in the table with pictures; 0 for no table. Default: 100."""

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

    def show(self, table: ResultTable) -> None:
        """Logs `edits.json`, a table that its page of evaluations shows. It wants pandas, and no column with and
        without pictures: one that is missing is a grey pixel. A second table would be appended to the first."""
        shown: dict[str, list[Any]]
        shown = {name: [row[place] for row in table.rows] for place, name in enumerate(table.columns)}
        for name, cells in shown.items():
            if any(isinstance(cell, Path) for cell in cells):
                shown[name] = [_open(cell) if isinstance(cell, Path) else Image.new("L", (1, 1), 128) for cell in cells]
        before = sum(file.path.startswith("edits") for file in self._client.list_artifacts(self._id))
        self._client.log_table(self._id, shown, f"edits-{before + 1}.json" if before else "edits.json")

    def end(self, *, finished: bool) -> None:
        """Ends the run; one to be resumed is marked as killed until then."""
        self._client.set_terminated(self._id, "FINISHED" if finished else "KILLED")


def _open(path: Path) -> Image.Image:
    with Image.open(path) as picture:
        return picture.convert("RGB")
