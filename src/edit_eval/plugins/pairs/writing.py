"""The folder of preference pairs: pictures, JSONL, Parquet, and a card.

`pairs.jsonl` has a row a pair, its pictures by path within the folder; `data/train-00000.parquet` has the same with the
pictures in it, in the columns of a preference data set with images as TRL reads it (`prompt`, `images`, `chosen`,
`rejected`; TRL's documentation, "Dataset formats"); `dpo/train-00000.parquet` has the columns that diffusers' example
of Diffusion-DPO trains on (`jpg_0`, `jpg_1`, `label_0`, `caption`, as in Pick-a-Pic v2).
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from edit_eval.errors import ConfigurationError
from edit_eval.files.new import write_atomically
from edit_eval.pictures import slug
from edit_eval.plugins.pairs.preference_pairs import PreferencePairs
from edit_eval.reporting.formats import share
from edit_eval.text import Text

GROUP_ROWS = 100
"""Rows written at once, which readers load together."""


def write_pairs(document: PreferencePairs, run: Path, folder: Path) -> None:
    """Writes the folder, whole or not at all. `run`: the directory that pictures' paths count from.

    Raises `ConfigurationError` if pyarrow is missing, a picture is gone, or the folder cannot be written.
    """
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise ConfigurationError(
            Text("--to {}: needs pyarrow; `pip install 'edit-eval[hub]'` brings it", folder)
        ) from None
    with write_atomically(folder) as temporary:
        temporary.mkdir()
        rows = list(_rows(document, run, temporary))
        lines = (json.dumps(msgspec.structs.asdict(row), ensure_ascii=False, allow_nan=False) + "\n" for row in rows)
        (temporary / "pairs.jsonl").write_text("".join(lines), encoding="utf-8", errors="backslashreplace")
        _write_parquet(temporary, "data", rows, _preference, _PREFERENCE)
        _write_parquet(temporary, "dpo", rows, _dpo, _DPO)
        (temporary / "README.md").write_text(card(document), encoding="utf-8", errors="backslashreplace")


class _Row(msgspec.Struct):
    """A line of `pairs.jsonl`; pictures by their paths in the folder, a source that is not there as ""."""

    id: str
    sample: str
    prompt: str
    source: str
    chosen: str
    rejected: str
    margin: float | None
    by: list[str]
    agree: float | None
    chosen_scores: dict[str, float]
    rejected_scores: dict[str, float]
    chosen_model: str
    rejected_model: str
    chosen_seed: int
    rejected_seed: int


def _rows(document: PreferencePairs, run: Path, folder: Path) -> Iterator[_Row]:
    (folder / "pictures").mkdir()
    for number, pair in enumerate(document.pairs):
        name = f"{number:05d}-{slug(pair.sample, 40)}"
        pictures = {
            which: _copy_picture(Path(run, path), folder, f"pictures/{name}-{which}")
            for which, path in (
                ("source", pair.source),
                ("chosen", pair.chosen.image),
                ("rejected", pair.rejected.image),
            )
            if path
        }
        yield _Row(
            id=f"{number:05d}",
            sample=pair.sample,
            prompt=pair.instruction,
            source=pictures.get("source", ""),
            chosen=pictures.get("chosen", ""),
            rejected=pictures.get("rejected", ""),
            margin=pair.margin,
            by=list(pair.by),
            agree=pair.agree,
            chosen_scores=pair.chosen.scores,
            rejected_scores=pair.rejected.scores,
            chosen_model=pair.chosen.edit_model,
            rejected_model=pair.rejected.edit_model,
            chosen_seed=pair.chosen.edit_seed,
            rejected_seed=pair.rejected.edit_seed,
        )


def _copy_picture(path: Path, folder: Path, name: str) -> str:
    target = f"{name}{path.suffix.lower() or '.png'}"
    try:
        shutil.copyfile(path, folder / target)
    except OSError as error:
        raise ConfigurationError(
            Text("{}: cannot be read ({}); `edit-eval run` makes lost edits again", path, error.strerror or error)
        ) from error
    return target


_Maker = Callable[[_Row, Path], dict[str, object]]
"""Makes a row, as pyarrow takes it, of a pair and the folder of its pictures."""
_PREFERENCE = {
    "prompt": "string",
    "images": "images",
    "chosen": "image",
    "rejected": "image",
    "margin": "float64",
    "by": "strings",
    "sample": "string",
}
_DPO = {"caption": "string", "jpg_0": "binary", "jpg_1": "binary", "label_0": "float64", "source": "binary"}


def _preference(row: _Row, folder: Path) -> dict[str, object]:
    def picture(name: str) -> dict[str, object]:
        return {"bytes": (folder / name).read_bytes(), "path": os.path.basename(name)}

    return {
        "prompt": row.prompt,
        "images": [picture(row.source)] if row.source else [],
        "chosen": picture(row.chosen),
        "rejected": picture(row.rejected),
        "margin": row.margin,
        "by": row.by,
        "sample": row.sample,
    }


def _dpo(row: _Row, folder: Path) -> dict[str, object]:
    """Returns a row of the other kind; the better one is first in every second row, so that a place says nothing."""
    first = int(row.id) % 2 == 0
    sides = (row.chosen, row.rejected) if first else (row.rejected, row.chosen)
    jpg_0, jpg_1 = ((folder / side).read_bytes() for side in sides)
    source = (folder / row.source).read_bytes() if row.source else None
    return {"caption": row.prompt, "jpg_0": jpg_0, "jpg_1": jpg_1, "label_0": float(first), "source": source}


def _write_parquet(folder: Path, name: str, rows: Sequence[_Row], made: _Maker, kinds: dict[str, str]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    picture = pa.struct({"bytes": pa.binary(), "path": pa.string()})
    types = {
        "string": pa.string(),
        "float64": pa.float64(),
        "binary": pa.binary(),
        "strings": pa.list_(pa.string()),
        "image": picture,
        "images": pa.list_(picture),
    }
    value = {kind: {"dtype": kind, "_type": "Value"} for kind in ("string", "float64", "binary")}
    image = {"_type": "Image"}
    features_of = value | {
        "image": image,
        "images": {"feature": image, "_type": "List"},
        "strings": {"feature": value["string"], "_type": "List"},
    }
    features = {column: features_of[kind] for column, kind in kinds.items()}
    metadata = {"huggingface": json.dumps({"info": {"features": features}})}
    schema = pa.schema([(column, types[kind]) for column, kind in kinds.items()], metadata=metadata)
    (folder / name).mkdir()
    with pq.ParquetWriter(folder / name / "train-00000.parquet", schema) as writer:
        for begin in range(0, max(1, len(rows)), GROUP_ROWS):
            some = [made(row, folder) for row in rows[begin : begin + GROUP_ROWS]]
            writer.write_table(pa.Table.from_pylist(some, schema))


def card(document: PreferencePairs) -> str:
    """Returns the card: how many pairs of how many, by whom, how many are wrong, whose pictures."""
    lines = [
        "---",
        "configs:",
        "- config_name: default",
        "  data_files: data/train-*.parquet",
        "- config_name: dpo",
        "  data_files: dpo/train-*.parquet",
        "---",
        "# Preference pairs",
        "",
        f"{len(document.pairs)} pairs of {document.compared} that could be compared, on {document.samples} of "
        f"{document.of} samples; at most {document.per_sample} a sample. Made by edit-eval.",
        "",
        "| by | pairs | noise of one answer | expected share of wrong pairs |",
        "|---|---|---|---|",
    ]
    for judge in document.judges:
        noise = "not known" if judge.noise_sd is None else f"{judge.noise_sd:.2f} points ({judge.noise_from})"
        if judge.wrong is None or judge.wrong_ci95 is None:
            wrong = "not known"
        else:
            low, high = (share(end, 1) for end in judge.wrong_ci95)
            wrong = f"{share(judge.wrong, 1)} ({low} to {high})"
        lines.append(f"| {judge.judge} | {judge.pairs} | {noise} | {wrong} |")
    if document.people:
        lines.append(f"| people | {document.people} | | |")
    if blind := [judge.judge for judge in document.judges if judge.judge in document.unfit]:
        who = ", ".join(blind)
        lines += ["", f"**Do not train on this**: {who} does not clearly score edits above pictures that are no edits."]
    lines += [
        "",
        "A pair is wrong where the judge itself, asked often enough, would prefer the other edit, or neither. How "
        "often it is wrong about what people prefer is another question, which `edit-eval agreement --people` answers.",
        "",
        f"- At least {document.agree} families of judges agree on each pair, or people voted on it.",
        f"- {document.opposed} pairs on which judges, or people and judges, contradict each other are left out.",
        f"- {document.left_out} samples were left out as pictures, or near copies of pictures, of another set.",
        f"- Licence of the sources: {document.licence or 'not known'}.",
        "",
        "`pairs.jsonl` has a row a pair, with its pictures by path; `data/` the same with the pictures in it "
        "(`prompt`, `images`, `chosen`, `rejected`); `dpo/` the columns of diffusers' Diffusion-DPO example "
        "(`jpg_0`, `jpg_1`, `label_0`, `caption`), and the source.",
        "",
    ]
    return "\n".join(lines)
