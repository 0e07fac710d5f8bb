"""What is known of published weights and of classes of models before anything is loaded.

Each plug-in that loads weights registers a table of its own (`weights.NAME`): standard library only, for a plan, a
report and a check of the configuration read it, too. `edit_eval.config.known_weights` asks all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, kw_only=True)
class PublishedWeights:
    """Weights by their name on the Hub."""

    name: str
    parts: Mapping[str, float] = field(default_factory=dict)
    """10^9 parameters by part (`transformer`, ..., or `model`); empty: not established, or not of all parts."""
    billions: float = 0.0
    """10^9 parameters of a judge, as its name says: what the duration of an answer is predicted from."""
    pipeline: str = ""
    """The class that an edit model's weights are of."""
    revision: str | None = None
    """The branch with the files that are loaded, if it is not the main one."""
    licence: str = ""


@dataclass(frozen=True, kw_only=True)
class KnownClass:
    """A class that a model's files name, of diffusers or transformers."""

    lineage: str = ""
    """The family of its vision-language weights, which read what is asked; empty: none that judges descend from."""
    dtypes: Mapping[str, str] = field(default_factory=dict)
    """By part, the dtype in which it is loaded, whatever the model's own is."""
    optional: str = ""
    """A part that is loaded only if the parameter `call` asks for it; empty: none."""


class WeightsTable(Protocol):
    """What a plug-in knows of weights (`weights.NAME`)."""

    def releases(self) -> Mapping[str, PublishedWeights]:
        """Returns published weights by their names on the Hub."""

    def classes(self) -> Mapping[str, KnownClass]:
        """Returns classes by the names that models' files have for them."""

    def lineage(self, model_type: str, name: str) -> str:
        """Returns the family that a judge's weights descend from; empty if unknown.

        `model_type`, of its `config.json`, is empty if that is not here; `name` is a repository's, a folder's or a
        server's.
        """
