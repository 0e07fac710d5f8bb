"""The results as a table with pictures: a row an edit, beside its source, with its scores and the judges' words."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence
from pathlib import Path

from edit_eval.benchmarks.known_sources import read_known_source
from edit_eval.errors import PictureError
from edit_eval.pictures import read_picture
from edit_eval.records import Edit, Judgement, Results, Sample
from edit_eval.reporting.scores import judge_says
from edit_eval.small_copies import COPY_SUFFIX, CopyLimits, small_copy
from edit_eval.store.run_directory import read_run_file
from edit_eval.trackers.contract import Cell, ResultTable

SIZE = CopyLimits(side=512, file_bytes=64_000)


def make_table(results: Results, folder: Path, most: int) -> ResultTable:
    """Returns the first `most` edits in the benchmark's order, all models of a sample together; pictures are small
    copies in `folder`.

    A score that is missing is empty, and `JUDGE no score` says why. Of an edit judged several times, each score is the
    mean of those that there are.
    """
    scales = {judge: [*results.scoring[judge].scales] for judge in results.judges}
    columns = ["id", "category", "instruction", "source", "edit", "edit_model", "edit_seed", "no edit"]
    for judge, names in scales.items():
        columns += [*(f"{judge}/{name}" for name in names), f"{judge} says", f"{judge} no score"]
    place = {sample.id: number for number, sample in enumerate(results.samples)}
    models = {model: number for number, model in enumerate(results.edit_models)}
    edits = sorted(results.edits, key=lambda edit: (place[edit.sample_id], models[edit.edit_model], edit.edit_seed))
    judged: dict[tuple[str, str, int, str], list[Judgement]] = {}
    for judgement in results.judgements:
        address = judgement.sample_id, judgement.edit_model, judgement.edit_seed, judgement.judge
        judged.setdefault(address, []).append(judgement)
    pictures, rows = _Pictures(Path(results.directory), folder), []
    for edit in edits[:most]:
        sample = results.samples[place[edit.sample_id]]
        about = (sample.id, sample.category, sample.instruction)
        shown = pictures.source(sample), pictures.edit(edit)
        row: list[Cell] = [*about, *shown, edit.edit_model, edit.edit_seed, edit.reason]
        for judge, names in scales.items():
            row += _cells(judged.get((edit.sample_id, edit.edit_model, edit.edit_seed, judge), ()), names)
        rows.append(row)
    return ResultTable(tuple(columns), rows, len(edits))


def _cells(judgements: Sequence[Judgement], names: Sequence[str]) -> list[Cell]:
    values = [[row.scores[name] for row in judgements if name in row.scores] for name in names]
    means: list[Cell] = [math.fsum(some) / len(some) if some else None for some in values]
    says = next((said for row in judgements if (said := judge_says(row))), "")
    why = next((row.reason or row.status.value for row in judgements if row.headline not in row.scores), "")
    return [*means, says, why]


class _Pictures:
    """Small copies, each made once."""

    def __init__(self, run: Path, folder: Path) -> None:
        self._run, self._folder = run, folder
        self._made: dict[str, Path | None] = {}

    def source(self, sample: Sample) -> Path | None:
        """Returns the sample's source, if this user's runs have used it."""
        picture = sample.pictures.get("source")
        return self._copy(picture.digest, lambda: read_known_source(picture)) if picture else None

    def edit(self, edit: Edit) -> Path | None:
        """Returns the edit's picture, if there is one."""
        return self._copy(edit.key, lambda: read_run_file(self._run, edit.image)) if edit.image else None

    def _copy(self, name: str, read: Callable[[], bytes | None]) -> Path | None:
        if name not in self._made:
            self._made[name] = None
            data = read()
            try:
                copy = None if data is None else small_copy(read_picture(io.BytesIO(data), name)[0], SIZE)
            except (PictureError, OSError, ValueError):  # one that cannot be read is none
                copy = None
            if copy is not None:
                path = self._made[name] = self._folder / f"{len(self._made):05d}{COPY_SUFFIX}"
                path.write_bytes(copy)
        return self._made[name]
