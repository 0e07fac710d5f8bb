"""The records of a run as they go into one file: without folders of this machine."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
import yaml

from edit_eval.config.identity import Identity
from edit_eval.experiment import Experiment
from edit_eval.privacy import hide_folders, map_texts
from edit_eval.records import Picture, Status
from edit_eval.store.journal import Damage, Record, read_segment, seal, segments
from edit_eval.store.run_directory import JOURNALS, RunDirectory
from edit_eval.store.run_file import ROOMS


def copy_name(image: str) -> str:
    """Returns the name of a picture's small copy."""
    from edit_eval.small_copies import COPY_SUFFIX

    return str(PurePosixPath(image).with_suffix(COPY_SUFFIX))


def portable_records(
    directory: RunDirectory, experiment: Experiment, copies: Mapping[str, int], sources: Mapping[str, str]
) -> Iterator[tuple[str, bytes]]:
    """Yields the records by their names, without folders of this machine, but in what was asked and said.

    `copies` are the sizes of the small copies, `sources` the suffixes of the sources that are sent, by their digests.
    Damaged lines are left out, and counted as ever.
    """
    last = directory.last_configuration()
    if last is not None:
        plain = map_texts(hide_folders, directory.configuration())
        yield f"config/{last.name}", yaml.safe_dump(plain, allow_unicode=True, sort_keys=False).encode()
        asked = _hide_in_experiment(experiment, directory.read_resolved_configuration())
        yield f"config/{last.stem}.json", _json(asked)
    for number, environment in directory.environments().items():
        yield f"environment/{number:04d}.json", _json(map_texts(hide_folders, environment))
    for file in segments(directory.path / "samples")[-1:]:
        yield _lines(file, directory.damage, lambda line: _hide_in_sample(line, sources))
    for journal in JOURNALS:
        for file in segments(directory.path / journal):
            yield _lines(file, directory.damage, lambda line: _hide_in_line(line, copies))
    for path in sorted(path for room in ROOMS for path in _files(directory.path / room)):
        name = path.relative_to(directory.path).as_posix()
        if name.partition("/")[0] in ("votes", "passports", "stored") or "/" not in name:
            yield name, path.read_bytes()


def _files(room: Path) -> Iterable[Path]:
    return [room] if room.is_file() else (path for path in room.rglob("*") if path.is_file())


def _json(plain: Any) -> bytes:
    return json.dumps(plain, ensure_ascii=False, indent=1).encode("utf-8", "surrogatepass")


def _hide_in_experiment(experiment: Experiment, resolved: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what was asked without folders. Where a model's parameters name one, its digest is written down, of which
    keys are made; texts and protocols stay."""
    hidden: dict[str, Any] = map_texts(hide_folders, dict(resolved))
    models: dict[str, dict[str, Identity]] = {
        "edit_models": {model.name: model for model in experiment.edit_models},
        "judges": {judge.name: judge.model for judge in experiment.judges},
    }
    for role, by_name in models.items():
        for was, shown in zip(resolved[role], hidden[role], strict=True):
            shown |= {key: was[key] for key in ("texts", "protocol") if key in was}
            if any(shown[key] != was[key] for key in ("type", "revision", "parameters")):
                shown["digest"] = by_name[shown["name"]].digest
    kept = {key: resolved[key] for key in ("more_controls", "told", "finished") if key in resolved}
    lacking = {  # an id may look like a path, and is none
        model: {sample_id: hide_folders(why) for sample_id, why in edits.items()}
        for model, edits in resolved.get("lacking", {}).items()
    }
    return {**hidden, **kept, **({"lacking": lacking} if lacking else {})}


def _lines(file: Path, damage: Damage, change: Callable[[Record], Record]) -> tuple[str, bytes]:
    lines = b"".join(seal(change(line)) for line in read_segment(file, damage, dict))
    return f"{file.parent.name}/{file.name}", lines


def _hide_in_sample(line: dict[str, Any], kinds: Mapping[str, str]) -> dict[str, Any]:
    pictures = {name: msgspec.convert(picture, Picture) for name, picture in line["pictures"].items()}
    shown = {name: {"path": _hide_path(one, kinds), "digest": one.digest} for name, one in pictures.items()}
    return {**line, "pictures": shown, "fault": hide_folders(line.get("fault", ""))}


def _hide_path(picture: Picture, kinds: Mapping[str, str]) -> str:
    path = PurePosixPath(picture.path)
    name = path.with_suffix(f".{kinds[picture.digest]}").name if picture.digest in kinds else path.name
    return f"…/{name}" if picture.path else ""


def _hide_in_line(line: dict[str, Any], sizes: Mapping[str, int]) -> dict[str, Any]:
    """Returns a line of a journal without folders, but in what a judge has said; an edit's has the size of its copy."""
    said = {"text": line["text"]} if line.get("status") == Status.OK.value and "text" in line else {}
    told = {"instruction": line["instruction"]} if "instruction" in line else {}
    line = {**map_texts(hide_folders, line), **said, **told}
    line.pop("reused_from", None)
    if (copy := copy_name(line["image"]) if line.get("image") else "") in sizes:
        line |= {"image": copy, "file_bytes": sizes[copy]}
    return line
