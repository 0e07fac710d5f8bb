"""The records as the page's gallery reads them: plain data, a sample with its edits with their judgements.

Pictures are named by their place in the page's list of thumbnails; the list itself is written by the page, one
picture at a time.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

from edit_eval.records import Edit, Judgement, Reading, Results, Sample
from edit_eval.reporting.page.entries import entries
from edit_eval.reporting.page.texts import LANGUAGES, name_of, named_score
from edit_eval.small_copies import small_copy_name

_DIGEST = re.compile(r"[0-9a-f]{64}")


class PictureAddresses(Protocol):
    """What a gallery shows: for each picture the place or the address of its `thumbnail`, and a link to its `file`."""

    def of_sample(self, sample: Sample, name: str = "source") -> dict[str, Any] | None: ...
    def of_edit(self, edit: Edit) -> dict[str, Any] | None: ...


@dataclass
class PageFiles:
    """The files that the page shows, each once (see `PictureAddresses`)."""

    folder: Path
    """Where the page lies, absolute. Links into the run directory are relative to it: the two move together."""
    run_directory: Path
    """Absolute. What lies elsewhere, as sources in a cache do, is linked by its full path."""
    paths: list[Path] = field(default_factory=list)
    kept: dict[Path, Path] = field(default_factory=dict)
    """For a picture that is known by a digest, where its small copy is kept between drawings."""
    _places: dict[Path, int] = field(default_factory=dict)

    def of_sample(self, sample: Sample, name: str = "source") -> dict[str, Any] | None:
        """Of one of a sample's pictures, by its name in the records."""
        picture = sample.pictures.get(name)
        return self.add(Path(os.path.abspath(picture.path)), picture.digest) if picture and picture.path else None

    def of_edit(self, edit: Edit) -> dict[str, Any] | None:
        """Of an edit. A record may say anything; what lies outside of the run directory is none of its images."""
        path = Path(os.path.normpath(self.run_directory / edit.image))
        return self.add(path, edit.pixels) if path.is_relative_to(self.run_directory) else None

    def add(self, path: Path, digest: str = "") -> dict[str, Any] | None:
        """The place of the picture's thumbnail and a link to its file; None if there is no such file."""
        if not path.is_file():
            return None
        if path not in self._places:
            self._places[path] = len(self.paths)
            self.paths.append(path)
            if _DIGEST.fullmatch(digest):  # a record may say anything
                self.kept[path] = self.folder / "thumbnails" / small_copy_name(digest)
        return {"thumbnail": self._places[path], "file": self._link(path)}

    def _link(self, path: Path) -> str:
        """Where the file itself is; empty where nothing is to be linked."""
        if not path.is_relative_to(self.run_directory):
            return path.as_uri()
        # "./" so that no name can be taken for the scheme of an address.
        return "./" + quote(Path(os.path.relpath(path, self.folder)).as_posix())


def gallery(results: Results, summary: Mapping[str, Any], pictures: PictureAddresses) -> dict[str, Any]:
    """`{"run", "edit_models", "judges", "scoring", "names", "samples"}`; registers every picture there is."""
    edits: dict[str, list[Edit]] = defaultdict(list)
    for edit in results.edits:
        edits[edit.sample_id].append(edit)
    judgements: dict[tuple[str, str, int], list[Judgement]] = defaultdict(list)
    for judgement in results.judgements:
        judgements[(judgement.sample_id, judgement.edit_model, judgement.edit_seed)].append(judgement)
    return {
        "run": Path(results.directory).name,
        "edit_models": list(results.edit_models),
        "judges": list(results.judges),
        "scoring": _scoring(results, summary),
        "names": _names(results),
        "samples": [
            sample_entry(
                sample,
                [(edit, judgements[sample.id, edit.edit_model, edit.edit_seed]) for edit in edits[sample.id]],
                pictures,
            )
            for sample in results.samples
        ],
    }


def sample_entry(
    sample: Sample, edits: Iterable[tuple[Edit, Iterable[Judgement]]], pictures: PictureAddresses
) -> dict[str, Any]:
    """A sample as the gallery has it, with its edits, each with its judgements."""
    return {
        **_sample(sample, pictures),
        "edits": [{**_edit(edit, pictures), "judgements": list(map(_judgement, of_it))} for edit, of_it in edits],
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


def address_of_picture(name: str) -> str:
    """What an address calls a picture of a sample: `source:2` for `source_2`."""
    return name.replace("_", ":", 1) if name.startswith("source_") else name


def _fields(record: object, names: str) -> dict[str, Any]:
    return {name: getattr(record, name) for name in names.split()}


def _sample(sample: Sample, pictures: PictureAddresses) -> dict[str, Any]:
    others = {
        address_of_picture(name): pictures.of_sample(sample, name) or {"missing": "other_missing"}
        for name in sample.pictures
        if name != "source"
    }
    return {
        **_fields(sample, "id index category difficulty tags instruction"),
        "instructions": dict(sample.instructions) or {sample.language: sample.instruction},
        **_fields(sample, "description rationale fault"),
        "source": pictures.of_sample(sample) or {"missing": "source_missing"},
        **({"others": others} if others else {}),
    }


def _edit(edit: Edit, pictures: PictureAddresses) -> dict[str, Any]:
    picture = pictures.of_edit(edit) or {"missing": "edit_missing"} if edit.image else None
    return {
        "model": edit.edit_model,
        **_fields(edit, "edit_seed seed status reason width height seconds device flags"),
        "picture": picture or {"missing": "no_edit"},
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
