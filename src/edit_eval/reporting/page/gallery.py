"""The records as the page's gallery reads them: plain data, a sample with its edits with their judgements.

Pictures are named by their place in the page's list of thumbnails; the list itself is written by the page, one
picture at a time.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from edit_eval.records import Edit, Judgement, Reading, Results, Sample
from edit_eval.reporting.page.entries import entries
from edit_eval.reporting.page.texts import LANGUAGES, name_of, named_score


@dataclass
class Pictures:
    """The files that the page shows, each once."""

    folder: Path
    """Where the page lies, absolute. Links into the run directory are relative to it: the two move together."""
    run_directory: Path
    """Absolute. What lies elsewhere, as sources in a cache do, is linked by its full path."""
    paths: list[Path] = field(default_factory=list)
    _places: dict[Path, int] = field(default_factory=dict)

    def add(self, path: Path) -> dict[str, Any] | None:
        """The place of the picture's thumbnail and a link to its file; None if there is no such file."""
        if not path.is_file():
            return None
        if path not in self._places:
            self._places[path] = len(self.paths)
            self.paths.append(path)
        return {"thumbnail": self._places[path], "file": self._link(path)}

    def _link(self, path: Path) -> str:
        if not path.is_relative_to(self.run_directory):
            return path.as_uri()
        # "./" so that no name can be taken for the scheme of an address.
        return "./" + quote(Path(os.path.relpath(path, self.folder)).as_posix())


def gallery(results: Results, summary: Mapping[str, Any], pictures: Pictures) -> dict[str, Any]:
    """`{"edit_models", "judges", "scoring", "names", "samples"}`; registers every picture there is."""
    directory = pictures.run_directory
    edits: dict[str, list[Edit]] = defaultdict(list)
    for edit in results.edits:
        edits[edit.sample_id].append(edit)
    judgements: dict[tuple[str, str, int], list[Judgement]] = defaultdict(list)
    for judgement in results.judgements:
        judgements[(judgement.sample_id, judgement.edit_model, judgement.edit_seed)].append(judgement)
    return {
        "edit_models": list(results.edit_models),
        "judges": list(results.judges),
        "scoring": _scoring(results, summary),
        "names": _names(results),
        "samples": [
            {
                **_sample(sample, pictures),
                "edits": [
                    {
                        **_edit(edit, directory, pictures),
                        "judgements": [
                            _judgement(judgement)
                            for judgement in judgements[(sample.id, edit.edit_model, edit.edit_seed)]
                        ],
                    }
                    for edit in edits[sample.id]
                ],
            }
            for sample in results.samples
        ],
    }


def _scoring(results: Results, summary: Mapping[str, Any]) -> dict[str, Any]:
    """For each judge its headline and, of all its scores in their order, what it takes to show and sort them."""
    every = [part for parts in (False, True) for part in entries(summary["results"], parts=parts)]
    digits = {(part.judge, part.score): part.digits for part in every}
    return {
        judge: {
            "headline": found.headline,
            "scores": {
                name: {
                    "lowest": scale.lowest,
                    "highest": scale.highest,
                    "higher_is_better": scale.higher_is_better,
                    "digits": digits[judge, name],
                    "title": {one: named_score(name, scale, one) for one in LANGUAGES},
                }
                for name, scale in found.scales.items()
                if (judge, name) in digits
            },
        }
        for judge, found in results.scoring.items()
    }


def _names(results: Results) -> Mapping[str, Mapping[str, Mapping[str, str]]]:
    """What people read for keys of the records: `{kind: {key: {"en": ..., "zh": ...}}}`."""
    categories = dict.fromkeys(sample.category for sample in results.samples)
    difficulties = dict.fromkeys(sample.difficulty for sample in results.samples if sample.difficulty)

    def named(kind: str, keys: Iterable[str]) -> dict[str, dict[str, str]]:
        return {key: {one: name_of(kind, key, one) for one in LANGUAGES} for key in keys}

    return {
        "category": named("short_category", categories),
        "category_title": named("category", categories),
        "difficulty": named("difficulty", difficulties),
    }


def _fields(record: object, names: str) -> dict[str, Any]:
    return {name: getattr(record, name) for name in names.split()}


def _sample(sample: Sample, pictures: Pictures) -> dict[str, Any]:
    picture = pictures.add(Path(os.path.abspath(sample.source))) if sample.source else None
    return {
        **_fields(sample, "id index category difficulty tags instruction"),
        "instructions": dict(sample.instructions) or {sample.language: sample.instruction},
        **_fields(sample, "description rationale fault"),
        "source": picture or {"missing": "picture.source_missing"},
    }


def _edit(edit: Edit, directory: Path, pictures: Pictures) -> dict[str, Any]:
    picture: dict[str, Any] | None = {"missing": "picture.no_edit"}
    if edit.image:
        path = Path(os.path.normpath(directory / edit.image))
        # A record may say anything; what lies outside of the run directory is none of its images.
        picture = pictures.add(path) if path.is_relative_to(directory) else None
    return {
        "model": edit.edit_model,
        **_fields(edit, "edit_seed seed status reason width height seconds device flags"),
        "picture": picture or {"missing": "picture.edit_missing"},
    }


def _judgement(judgement: Judgement) -> dict[str, Any]:
    return {
        **_fields(judgement, "judge repeat status reason"),
        "scores": dict(judgement.scores),
        **({"spread": dict(judgement.spread)} if judgement.spread else {}),
        "missing": {name: [status.value, reason] for name, (status, reason) in judgement.missing.items()},
        "readings": [{question: _reading(found) for question, found in one.items()} for one in judgement.readings],
    }


def _reading(reading: Reading) -> dict[str, Any]:
    known = {} if reading.mass is None else {"mass": reading.mass}
    return {**_fields(reading, "status reason text asked"), "values": dict(reading.values), **known}
