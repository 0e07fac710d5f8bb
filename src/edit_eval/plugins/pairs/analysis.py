"""`edit-eval pairs`: preference pairs on a terminal, and as a folder of pictures, JSONL, Parquet, and a card.

`pairs.jsonl` has a row a pair, its pictures by path within the folder; `data/train-00000.parquet` has the same with the
pictures in it, in the columns of a preference data set with images as TRL reads it (`prompt`, `images`, `chosen`,
`rejected`; TRL's documentation, "Dataset formats"); `dpo/train-00000.parquet` has the columns that diffusers' example
of Diffusion-DPO trains on (`jpg_0`, `jpg_1`, `label_0`, `caption`, as in Pick-a-Pic v2).
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

import msgspec
import numpy as np
from PIL import Image

from edit_eval.benchmarks.known_sources import with_known_sources
from edit_eval.errors import ConfigurationError, PictureError
from edit_eval.files.durable import slug
from edit_eval.files.new import write_atomically
from edit_eval.json_values import JsonObject
from edit_eval.pictures import formats, open_picture
from edit_eval.plugins.pairs.preference_pairs import JudgeOfPairs, PreferencePairs, find_preference_pairs
from edit_eval.records import Sample
from edit_eval.reporting.analyses import RUNS_AS_ONE, Analysis, RunRecords
from edit_eval.reporting.formats import score, share
from edit_eval.reporting.table import Column, Line, Sheet, Table
from edit_eval.store.run_directory import refuse_copy
from edit_eval.text import Text

# -- verb --


class PairsAnalysis(Analysis[PreferencePairs]):
    """Preference pairs for training: two edits of one sample, the better one first.

    From runs with several edits of a sample: several edit models, seeds or rounds. Only where people voted, or where
    the margin is larger than the judge's own noise (`evaluation.repeats`, or its passport); never from a failure.
    `--to FOLDER` writes pictures, JSONL, Parquet and a card.
    """

    @dataclass(frozen=True)
    class Parameters:
        judges: str | None = field(default=None, metadata={"metavar": "A,B"})
        """Judges whose preferences count. Default: all judges that score one edit."""
        agree: int = 1
        """How many families of judges must prefer the same edit."""
        per_sample: int = 1
        """Most pairs per sample: those with the largest margins."""
        margin: float = 0.0
        """Smallest margin between the two, in points."""
        leave_out: Path | None = field(default=None, metadata={"metavar": "RUN|FOLDER"})
        """Leave out samples whose source, or a near copy, is in this run or folder of pictures."""

    title = Text("Preference pairs")
    document: ClassVar[type[PreferencePairs]] = PreferencePairs
    sources = RUNS_AS_ONE

    def compute(self, records: RunRecords, parameters: Parameters) -> PreferencePairs:
        """Raises `ConfigurationError` for unknown judges, and if nobody's preference can be told from noise."""
        for name in ("agree", "per_sample"):
            if getattr(parameters, name) < 1:
                flag = f"--{name.replace('_', '-')}"
                raise ConfigurationError(Text("{} {}: must be at least 1", flag, getattr(parameters, name)))
        results = replace(records.results, samples=with_known_sources(records.results.samples))
        away = parameters.leave_out
        return find_preference_pairs(
            results,
            records.votes.to_votes(results.samples),
            judges=[name.strip() for name in (parameters.judges or "").split(",") if name.strip()],
            agree=parameters.agree,
            per_sample=parameters.per_sample,
            margin=parameters.margin,
            left_out=() if away is None else find_copies(results.samples, _pictures_of(Path(away))),
        )

    def sheet(self, document: PreferencePairs) -> Sheet:
        return pairs_sheet(document)

    def write(self, document: PreferencePairs, records: RunRecords, folder: Path) -> None:
        """Raises `ConfigurationError` if a picture is gone, or the folder cannot be written."""
        refuse_copy(Path(records.results.directory))
        write_pairs(document, Path(records.results.directory), folder)

    def rows(self, document: PreferencePairs) -> Sequence[JsonObject]:
        return [
            {
                "sample": pair.sample,
                "chosen_model": pair.chosen.edit_model,
                "chosen_seed": pair.chosen.edit_seed,
                "chosen": pair.chosen.image,
                "rejected_model": pair.rejected.edit_model,
                "rejected_seed": pair.rejected.edit_seed,
                "rejected": pair.rejected.image,
                "margin": pair.margin,
                "by": " ".join(pair.by),
            }
            for pair in document.pairs
        ]


def _pictures_of(place: Path) -> list[Path]:
    from edit_eval.run import Run  # only this option reads another run

    if (place / "config").is_dir():
        return [Path(sample.source) for sample in with_known_sources(Run(place).results.samples) if sample.source]
    if not place.is_dir():
        raise ConfigurationError(Text("--leave-out {}: there is no such folder", place))
    return pictures_of(place)


# -- words --


def pairs_sheet(document: PreferencePairs) -> Sheet:
    """Returns the count, a row for each judge, and what was left out."""
    count = Text(
        "{} pairs of {} that could be compared, on {} of {} samples.",
        len(document.pairs),
        document.compared,
        document.samples,
        document.of,
    )
    columns: list[Column[JudgeOfPairs]] = [
        Column(Text("Judge"), lambda row: row.judge, "name"),
        Column(Text("Pairs"), lambda row: str(row.pairs)),
        Column(Text("Noise"), lambda row: None if row.noise_sd is None else score(row.noise_sd)),
        Column(Text("Known from"), _source, "word"),
        Column(Text("Wrong"), lambda row: None if row.wrong is None else share(row.wrong, 1), look="strong"),
        Column(Text("95% interval"), lambda row: _shares(row.wrong_ci95)),
    ]
    table = Table(columns, document.judges, label=Text("Preference pairs"))
    return [Line(count, "strong"), table, *(Line(line, "quiet") for line in _lines(document))]


def _source(row: JudgeOfPairs) -> Text:
    known = {"repeats": Text("its repeats"), "passport": Text("its passport")}
    return known.get(row.noise_from, Text("not known"))


def _shares(ends: Sequence[float] | None) -> str | None:
    return None if ends is None else "–".join(share(end, 1) for end in ends)


def _lines(document: PreferencePairs) -> Iterator[Text]:
    yield Text(
        "Noise: the standard deviation of one answer, in points. Wrong: the share of these pairs that the judge "
        "itself, asked often enough, would order the other way or score alike; what people prefer is another question."
    )
    if document.people:
        yield Text("{} pairs are by people's votes, which count above judges.", document.people)
    if unknown := [judge.judge for judge in document.judges if judge.noise_sd is None]:
        yield Text(
            "Not used, since their noise is unknown: {}; `evaluation: {{repeats: 2}}` or `edit-eval audit` tells it.",
            unknown,
        )
    if exact := [judge.judge for judge in document.judges if judge.noise_sd == 0]:
        yield Text("{} always answers the same: how often it is wrong, repeats do not tell.", exact)
    heard = {judge.judge for judge in document.judges}
    for judge in document.unfit:
        if judge in heard:
            yield Text(
                "Do not train on this: {} does not clearly score edits above pictures that are no edits (the "
                "controls).",
                judge,
            )
        else:
            yield Text(
                "{} is left out: it does not clearly score edits above pictures that are no edits (the controls).",
                judge,
            )
    if document.opposed:
        yield Text("{} pairs are left out, since those who judged them contradict each other.", document.opposed)
    if document.left_out:
        yield Text("{} samples are left out, since the other set has their pictures.", document.left_out)
    yield Text("`--to FOLDER` writes pictures, JSONL, Parquet and a card.")


# -- the folder --


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


# -- pictures that are those of another set, or near copies: scaled, compressed again, a little brighter --


SIDE = 16
NEAR = 26
"""Of the 256 bits of a print, as many as two may differ in: a tenth. Unlike pictures differ in about half; JPEG at
quality 30, half the size, or a tenth brighter change at most a twelfth (tests/plugins/pairs)."""
_ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff", ".gif", ".heic")


def print_of(path: Path) -> np.ndarray:
    """Returns a picture's print: 256 bits, whether each of 16 x 16 spots is brighter than the one to its left.

    Raises `PictureError` if it cannot be opened.
    """

    small = open_picture(path).convert("L").resize((SIDE + 1, SIDE), Image.Resampling.BOX)
    values = np.asarray(small, dtype=np.int16)
    bits: np.ndarray = (values[:, 1:] > values[:, :-1]).ravel()
    return bits


def pictures_of(place: Path) -> list[Path]:
    """Returns the pictures of another set: the files of a folder. Raises `ConfigurationError` if there are none."""
    formats()
    pictures = sorted(path for path in place.rglob("*") if path.suffix.lower() in _ENDINGS and path.is_file())
    if not pictures:
        raise ConfigurationError(Text("--leave-out {}: has no pictures; name a run or a folder of pictures", place))
    return pictures


def find_copies(samples: Iterable[Sample], others: Iterable[Path]) -> Iterator[str]:
    """Yields the ids of samples with a source that is one of the other pictures, or nearly so.

    A picture that cannot be opened is like none.
    """

    known = [bits for path in others if (bits := _print(path)) is not None]
    if not known:
        return
    table = np.array(known)
    seen: dict[str, bool] = {}
    for sample in samples:
        if not sample.source:
            continue
        if sample.source not in seen:
            bits = _print(Path(sample.source))
            seen[sample.source] = bits is not None and bool(((table != bits).sum(1) <= NEAR).any())
        if seen[sample.source]:
            yield sample.id


def _print(path: Path) -> np.ndarray | None:
    try:
        return print_of(path)
    except PictureError:
        return None
