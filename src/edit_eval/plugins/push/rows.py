"""Writes a run as Parquet for the library `datasets` and the Hub's viewer: one row per edit, with its pictures.

Each edit model has its own files, `data/<edit model>/00000.parquet`, so that no sample occurs twice in a folder (with
one seed and one repeat), and the benchmark `table` can read it. The same run gives the same bytes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict

from edit_eval.benchmarks.known_sources import read_known_source
from edit_eval.json_values import JsonObject
from edit_eval.records import Edit, Judgement, Results, Sample
from edit_eval.store.run_directory import read_run_file

FILE_BYTES, GROUP_BYTES = 400 << 20, 32 << 20
"""Largest size of a file, and of a row group, which readers load at once."""
GROUP_ROWS = 500

Kind = str
"""`string`, `int64`, `float64`, `tags` or `image`."""
Row = dict[str, object]
"""A value for each column, as pyarrow takes it."""


class Copied(TypedDict):
    """A picture's file, in the row itself."""

    bytes: bytes
    path: str


@dataclass
class Written:
    """Files and counts of what was written."""

    files: list[Path] = field(default_factory=list)
    rows: int = 0
    lost: int = 0
    """Number of edits whose picture is missing from the run."""
    sources: int = 0
    """Number of rows with a source."""


def columns(results: Results, *, images: bool, sources: bool) -> dict[str, Kind]:
    """Returns the columns of every file, in order."""
    kinds: dict[str, Kind] = {"id": "string", "instruction": "string"}
    kinds |= {"source": "image"} if sources else {}
    kinds |= {"edit": "image"} if images else {}
    kinds |= dict.fromkeys(("category", "difficulty", "language"), "string")
    kinds |= {"tags": "tags", "edit_model": "string", "seed": "int64", "edit_seed": "int64", "repeat": "int64"}
    kinds |= {"status": "string", "reason": "string"}
    for judge in results.judges:
        kinds |= {f"{judge}_{name}": "float64" for name in results.scoring[judge].scales}
        kinds |= {f"{judge}_status": "string", f"{judge}_words": "string"}
    return kinds


def features(kinds: Mapping[str, Kind]) -> JsonObject:
    """Returns the columns as `datasets` describes them in a file's metadata."""
    value: JsonObject = {kind: {"dtype": kind, "_type": "Value"} for kind in ("string", "int64", "float64")}
    special: JsonObject = {"image": {"_type": "Image"}, "tags": {"feature": value["string"], "_type": "Sequence"}}
    return {name: (value | special)[kind] for name, kind in kinds.items()}


def write_rows(run: Path, results: Results, folder: Path, *, images: bool, sources: bool) -> Written:
    """Writes the files below `folder`. Sources are copied unchanged from the user's cache, if there.

    Raises `OSError` if something cannot be written.
    """
    kinds, written = columns(results, images=images, sources=sources), Written()
    for model in results.edit_models:
        _write_model(run, results, model, folder / "data" / model, kinds, written)
    return written


def _write_model(
    run: Path, results: Results, model: str, folder: Path, kinds: Mapping[str, Kind], written: Written
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    image = pa.struct({"bytes": pa.binary(), "path": pa.string()})
    types = {"string": pa.string(), "int64": pa.int64(), "float64": pa.float64()}
    types |= {"image": image, "tags": pa.list_(pa.string())}
    extra = {"huggingface": json.dumps({"info": {"features": features(kinds)}}, ensure_ascii=False)}
    schema = pa.schema([(name, types[kind]) for name, kind in kinds.items()], metadata=extra)
    folder.mkdir(parents=True)
    group: list[Row] = []
    size = whole = 0
    writer: Any = None

    def flush() -> None:
        nonlocal size, whole, writer
        if writer is not None and whole + size > FILE_BYTES:
            writer.close()
            writer, whole = None, 0
        if writer is None:
            written.files.append(folder / f"{len(list(folder.iterdir())):05d}.parquet")
            writer = pq.ParquetWriter(written.files[-1], schema)
        writer.write_table(pa.Table.from_pylist(group, schema))
        group.clear()
        size, whole = 0, whole + size

    for row, weight in _rows(run, results, model, kinds, written):
        group.append(row)
        size += weight
        if size > GROUP_BYTES or len(group) >= GROUP_ROWS:
            flush()
    if group or writer is None:
        flush()
    writer.close()


def _rows(
    run: Path, results: Results, model: str, kinds: Mapping[str, Kind], written: Written
) -> Iterator[tuple[Row, int]]:
    """Yields each row, with the size of its pictures in bytes."""
    samples = {sample.id: sample for sample in results.samples}
    judged: dict[tuple[str, int, int], dict[str, Judgement]] = {}
    for judgement in results.judgements:
        if judgement.edit_model == model:
            judged.setdefault((judgement.sample_id, judgement.edit_seed, judgement.repeat), {})[judgement.judge] = (
                judgement
            )
    repeats = range(1 + max((repeat for _, _, repeat in judged), default=0))
    for edit in results.edits:
        if edit.edit_model != model:
            continue
        sample = samples[edit.sample_id]
        pictures = _pictures(run, sample, edit, kinds, written)
        weight = sum(len(picture["bytes"]) for picture in pictures.values() if picture)
        for repeat in repeats:
            written.rows += 1
            scores = _scores(judged.get((edit.sample_id, edit.edit_seed, repeat), {}), results)
            yield {**_about(sample, edit, repeat), **pictures, **scores}, weight


def _about(sample: Sample, edit: Edit, repeat: int) -> Row:
    return {
        "id": _text(sample.id),
        "instruction": _text(sample.instruction),
        "category": _text(sample.category),
        "difficulty": _text(sample.difficulty),
        "language": _text(sample.language),
        "tags": [_text(tag) for tag in sample.tags],
        "edit_model": edit.edit_model,
        "seed": edit.seed,
        "edit_seed": edit.edit_seed,
        "repeat": repeat,
        "status": edit.status.value,
        "reason": _text(edit.reason),
    }


def _pictures(
    run: Path, sample: Sample, edit: Edit, kinds: Mapping[str, Kind], written: Written
) -> dict[str, Copied | None]:
    pictures: dict[str, Copied | None] = {}
    if "edit" in kinds:
        data = read_run_file(run, edit.image) if edit.image else None
        written.lost += bool(edit.image) and data is None
        pictures["edit"] = None if data is None else {"bytes": data, "path": Path(edit.image).name}
    if "source" in kinds:
        picture = sample.pictures.get("source")
        data = read_known_source(picture) if picture else None
        written.sources += data is not None
        name = f"{picture.digest[:12]}{Path(picture.path).suffix}" if picture else ""
        pictures["source"] = None if data is None else {"bytes": data, "path": name}
    return pictures


def _scores(by_judge: Mapping[str, Judgement], results: Results) -> Row:
    """Returns the score columns: a missing score is null, never a number, and the status says why."""
    row: Row = {}
    for judge in results.judges:
        judgement = by_judge.get(judge)
        for name in results.scoring[judge].scales:
            score = judgement.scores.get(name) if judgement else None
            row[f"{judge}_{name}"] = score if score is not None and math.isfinite(score) else None
        row[f"{judge}_status"] = judgement.status.value if judgement else None
        row[f"{judge}_words"] = _text(judgement.answer) if judgement else None
    return row


def _text(value: str) -> str:
    """Escapes unpaired surrogates, which a judge's answer may contain and UTF-8 cannot encode."""
    return value.encode("utf-8", "backslashreplace").decode("utf-8")
