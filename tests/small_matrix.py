"""A matrix small enough for tests, and edits whose pictures are real files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from PIL import Image

from edit_eval.pictures import write_png
from edit_eval.protocols.rubric_score import RubricScore
from edit_eval.records import Edit, Sample, Status
from edit_eval.rubrics.loading import load_rubrics
from edit_eval.store.keys import Identity
from edit_eval.store.matrix import Matrix
from edit_eval.store.run_directory import RunDirectory

CATEGORIES = ("physical", "environmental", "social")


def small_samples(count: int, bad: Sequence[int] = ()) -> tuple[Sample, ...]:
    """Samples of three categories in turn; those in `bad` have a fault."""
    return tuple(
        Sample(
            f"s{n}",
            n,
            CATEGORIES[n % 3],
            f"/sources/{n}.png",
            f"digest-{n}",
            f"do {n}",
            f"shows {n}",
            fault="cut off" if n in bad else "",
        )
        for n in range(count)
    )


def small_matrix(
    samples: int | Sequence[Sample] = 6,
    *,
    models: Sequence[str] = ("painter",),
    judges: Sequence[str] = ("critic",),
    seed: int = 0,
    retries: int = 2,
    **more: Any,
) -> Matrix:
    """A matrix in which nothing was done yet. Each model and judge is one of its own."""
    return Matrix(
        small_samples(samples) if isinstance(samples, int) else samples,
        [Identity(name, "editor", "", {"name": name}, seed) for name in models],
        [Identity(name, "judge", "", {"name": name}) for name in judges],
        RubricScore(load_rubrics(None, "en"), "en", "score", retries),
        **more,
    )


def made_edit(matrix: Matrix, number: int, directory: RunDirectory, shade: int | None = None) -> Edit:
    """The edit with its picture, which is written; `shade` 0 to 255 says how it looks."""
    edit = matrix.edits[number]
    path = directory.image_path(edit.edit_model, edit.sample_id, edit.key)
    file = write_png(Image.new("RGB", (8, 6), (number if shade is None else shade, 100, 50)), path)
    return replace(
        edit,
        status=Status.OK,
        image=str(path.relative_to(directory.path)),
        pixels=file.pixels,
        width=file.width,
        height=file.height,
        file_bytes=file.bytes,
        seconds=2.0,
        device="cpu:0",
    )
