"""MLflow: a tracking server (`MLFLOW_TRACKING_URI`, `MLFLOW_TRACKING_TOKEN`, ...), or a database on this machine."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from edit_eval.trackers.contract import Start


class Mlflow:
    """A run there, through the client: nothing of it is global, and it adds nothing of its own."""

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
