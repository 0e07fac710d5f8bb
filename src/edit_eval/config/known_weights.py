"""Asks the registered tables of weights (`edit_eval.pretrained.published`); nothing is loaded, no network is used."""

from __future__ import annotations

from functools import cache

from edit_eval.config.components import import_class, list_registrations
from edit_eval.pretrained.published import KnownClass, PublishedWeights, WeightsTable


def find_release(name: str) -> PublishedWeights | None:
    """Returns what is known of weights by their name on the Hub; None if nothing is."""
    return next((table.releases()[name] for table in _tables() if name in table.releases()), None)


def list_releases() -> list[PublishedWeights]:
    """Returns all published weights that some table has."""
    return [release for table in _tables() for release in table.releases().values()]


def find_class(name: str) -> KnownClass | None:
    """Returns what is known of a class of diffusers or transformers; None if nothing is."""
    return next((table.classes()[name] for table in _tables() if name in table.classes()), None)


def find_lineage(name: str, model_type: str = "") -> str:
    """Returns the family that weights descend from, by the `model_type` of their `config.json`, else by their name.

    Empty if unknown.
    """
    return next((found for table in _tables() if (found := table.lineage(model_type, name))), "")


def _tables() -> tuple[WeightsTable, ...]:
    return _make_tables(tuple(each.class_path for each in list_registrations() if each.kind == "weights"))


@cache
def _make_tables(class_paths: tuple[str, ...]) -> tuple[WeightsTable, ...]:
    return tuple(import_class("weights", path)() for path in class_paths)
