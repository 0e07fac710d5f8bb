"""The document of the analysis `bridge`, which is also its file; and a run that was translated over one."""

from __future__ import annotations

from typing import Literal

import msgspec

from edit_eval.json_values import Unchecked
from edit_eval.plugins.agreement.document import Calibration, Correlation, OfModels, Span
from edit_eval.records import Scale

Side = Literal["above", "below"]


class BridgedJudge(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One of the two judges."""

    judge: str
    """Name of the judge in its run."""
    score: str
    lowest: float | None
    highest: float | None
    higher_is_better: bool
    identity: Unchecked
    """Identity of the judge and how it is asked, which `compare` requires to be equal."""
    texts: str
    """Digest of its protocol's wording; empty if it has none."""

    @property
    def scale(self) -> Scale:
        """Scale of its scores."""
        return Scale(lowest=self.lowest, highest=self.highest, higher_is_better=self.higher_is_better)


class HeldOut(msgspec.Struct, frozen=True, kw_only=True):
    """An edit model that both have scored, by a map that has not seen it."""

    n: int
    mean: float
    """By the new judge."""
    bridged: float


class BridgedModel(msgspec.Struct, frozen=True, kw_only=True):
    """An edit model that the old judge has scored."""

    n: int
    before: float
    """Its mean by the old judge."""
    bridged: float
    ci95: Span | None
    beyond: Side | None
    """Where it may lie beyond the edit models of the bridge, if the new judge has not seen it."""
    mean: float | None = None
    """By the new judge itself, over the `scored` edits."""
    scored: int = 0


class Map(Calibration, frozen=True, kw_only=True):
    """The map from the old judge's scores to the new one's, and its values for edits that only the old one has
    scored."""

    held_out: dict[str, HeldOut]
    off_by: float | None
    """Root mean square of how far it is off for these; None with one edit model."""
    edit_models: dict[str, BridgedModel]


class Bridge(Map, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A bridge between two judges.

    It has the pairs of scores themselves, so that its map can be fitted in both directions, with its error.
    """

    edit_eval_bridge: Literal[1] = 1
    made: str
    old: BridgedJudge
    new: BridgedJudge
    within_models: Correlation
    """The two judges' rank agreement."""
    between_models: OfModels
    edits: list[tuple[str, str, float, float]]
    """For each edit that both have scored: edit model, identifier of its source image, score by `old`, by `new`."""


class TranslatedModel(msgspec.Struct, frozen=True, kw_only=True):
    """The mean of an edit model that only one judge of a bridge has scored, on the scale of the other one."""

    n: int
    total: int = 0
    """Its edits, with and without a score."""
    before: float
    value: float
    ci95: Span | None
    outside: float
    """Share of its scores outside of what the bridge has seen."""
    beyond: Side | None


class Translation(msgspec.Struct, frozen=True, kw_only=True):
    """Edit models that only the first judge has scored, by a map to the second, with the bridge's error."""

    n: int
    clusters: int
    rmse: float
    explained: float
    off_by: float | None
    held_out: dict[str, HeldOut]
    range: Span
    """Of the first judge's scores in the pairs."""
    edit_models: dict[str, TranslatedModel]


class TranslatedRun(Translation, frozen=True, kw_only=True, rename={"as_": "as"}):
    """A run's means by one judge of a bridge, told on the scale of the other one."""

    as_: str
    by: str
    made: str
