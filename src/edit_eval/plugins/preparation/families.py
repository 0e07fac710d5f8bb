"""Detects judges and edit models of the same family, since judges are known to prefer edits from their own family.

A judge's family is that of its weights, an edit model's that of the vision-language model that reads its instructions.
Nothing is loaded and no network is used; unknown families are not reported.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from edit_eval.config.known_weights import find_class, find_lineage, find_release
from edit_eval.config.schema import ModelSection
from edit_eval.errors import LoadError
from edit_eval.pretrained import folders
from edit_eval.text import Text

SELF_PREFERENCE = Text("judges are known to favour edits from their own model family (arXiv 2604.11589)")


def judge_lineage(section: ModelSection) -> str:
    """Returns the family of a judge's weights; empty if unknown."""
    name = _name(section)
    called = name.rstrip("/").rpartition("/")[2] if folders.local_folder(name) else name
    return find_lineage(called, str(_index(section, "config.json").get("model_type", "")))


def encoder_lineages(section: ModelSection) -> frozenset[str]:
    """Returns the families of the vision-language models that read an edit model's instructions; empty if unknown."""
    release = find_release(_name(section))
    if release is not None and release.pipeline:
        return _lineages(release.pipeline)
    for file in ("model_index.json", "modular_model_index.json"):
        if index := _index(section, file):
            parts = (kind for _, _, kind in folders.list_parts(index))
            return _lineages(str(index.get("_class_name"))) or _lineages(*parts)
    return _lineages(str(section.parameters.get("pipeline")))


def _lineages(*classes: str) -> frozenset[str]:
    found = (find_class(name) for name in classes)
    return frozenset(known.lineage for known in found if known is not None and known.lineage)


def share_a_family(judge: ModelSection, edit_model: ModelSection) -> str:
    """Returns the family that a judge and an edit model share; empty if none is known."""
    lineage = judge_lineage(judge)
    return lineage if lineage in encoder_lineages(edit_model) else ""


def find_shared_families(judges: Iterable[ModelSection], edit_models: Iterable[ModelSection]) -> Iterator[str]:
    """Yields a sentence for each judge and edit model that share a family."""
    models = list(edit_models)
    for judge in judges:
        for model in models:
            if family := share_a_family(judge, model):
                yield Text(
                    "judge {} and edit model {} are both {}: {}", judge.name, model.name, family, SELF_PREFERENCE
                )


def _name(section: ModelSection) -> str:
    """Returns the model's name in a section: `model_name` if it is loaded here, `model` if a server has it."""
    given: Mapping[str, Any] = section.parameters
    return next((str(given[key]) for key in ("model_name", "model") if isinstance(given.get(key), str)), "")


def _index(section: ModelSection, file: str) -> Mapping[str, Any]:
    """Reads a JSON file of the model, if it is on this machine; empty if not."""
    name, revision = _name(section), section.parameters.get("revision")
    folder = folders.local_folder(name) or folders.find_cached_folder(name, revision, os.environ)
    try:
        return folders.read_index(folder / file) if folder is not None and (folder / file).is_file() else {}
    except (LoadError, OSError):  # loading will report it
        return {}
