"""The trackers that a configuration can name, a row each."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from dataclasses import dataclass

from edit_eval.errors import ConfigurationError
from edit_eval.text import Text


@dataclass(frozen=True)
class TrackerKind:
    """One tracker."""

    title: str
    adapter: str
    """`module:Class`, see `contract.Tracker`."""
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
        "edit_eval.trackers.wandb:Wandb",
        "wandb",
        ("project", "entity", "group", "name", "mode"),
        ("tags",),
    ),
    "trackio": TrackerKind(
        "Trackio",
        "edit_eval.trackers.trackio:Trackio",
        "trackio",
        ("project", "group", "space_id", "server_url"),
    ),
    "mlflow": TrackerKind(
        "MLflow",
        "edit_eval.trackers.mlflow:Mlflow",
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
