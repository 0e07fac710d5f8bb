"""A run directory of any size, made without a model: records as a run writes them, pictures linked under many names."""

from __future__ import annotations

import os
import random
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from PIL import Image

from edit_eval import evaluate
from edit_eval.benchmarks.known_sources import remember_sources
from edit_eval.benchmarks.source_cache import file_digest
from edit_eval.pictures import write_png
from edit_eval.records import Picture, Status
from edit_eval.run import Run
from edit_eval.store.journal import Segment
from edit_eval.store.matrix import Matrix
from edit_eval.store.recall import edit_record, where_of

MODELS = ("first", "second", "third")
CATEGORIES = ("physical", "environmental", "social", "causal", "referential")
DISTINCT = 12
WORDS = "The light falls from the left as asked; the shadow is missing, and the cup has lost its handle."


def write_large_run(
    folder: Path, samples: int, *, size: tuple[int, int] = (1472, 1104), models: tuple[str, ...] = MODELS
) -> Path:
    """A finished run of `samples` samples and these models in `folder`/run, read back by the same code as any other."""
    run = folder / "run"
    evaluate(_configuration(folder, models), run_dir=run, report=False)
    made = Run(run)
    kind = random.Random(0)
    photos = [_photo(folder, number, size) for number in range(DISTINCT)]
    sample = made.results.samples[0]
    asked = tuple(
        replace(
            sample,
            id=f"{number:06d}",
            index=number,
            category=CATEGORIES[number % len(CATEGORIES)],
            instruction=f"Move the cup to the left edge of table {number}",
            instructions={
                "en": f"Move the cup to the left edge of table {number}",
                "zh": f"把杯子移到桌子{number}的左边",
            },
            pictures={"source": _source(folder, photos[number % DISTINCT], number)},
            cluster="",
            tags=("cup", f"set {number % 7}"),
        )
        for number in range(samples)
    )
    remember_sources(asked)
    matrix = Matrix(replace(made.experiment, samples=asked))
    for journal in ("samples", "edits", "replies"):
        for path in (run / journal).glob("*.jsonl"):
            path.unlink()
    journals = {name: Segment(run / name / "0001.jsonl") for name in ("samples", "edits", "replies")}
    for sample in asked:
        journals["samples"].append(asdict(sample))
    for number in range(matrix.cells.edits):
        file, pixels = photos[(number * 5 + 3) % DISTINCT]
        empty = matrix.edits[number]
        image = f"images/{empty.edit_model}/{empty.sample_id}-{empty.key[:12]}.png"
        (run / image).parent.mkdir(parents=True, exist_ok=True)
        os.link(file, run / image)
        edit = replace(
            empty, status=Status.OK, image=image, pixels=f"{number:016x}{pixels[16:]}", width=size[0], height=size[1],
            file_bytes=file.stat().st_size, seconds=7.5, device=f"cuda:{number % 8}",
        )  # fmt: skip
        journals["edits"].append({**edit_record(edit), "at": 0.0})
        matrix.edits[number] = edit
        for cell in matrix.cells.cells_of_subject(number):
            score = min(10.0, max(0.0, kind.gauss(6.0 + number // samples * 0.4, 1.8)))
            said = {"text": f"{WORDS}\nScore: {score:.3f}", "values": {}, "ended": "ok", "length": 0, "final": False}
            read = {"status": "ok", "read": {"score": round(score, 3)}}
            journals["replies"].append(
                {
                    "key": matrix.key(cell), **where_of(matrix.address(cell)), "ask": 0, **said,
                    "seconds": 0.2, "device": "cuda:0", "batch": 2, **read, "at": 0.0,
                }
            )  # fmt: skip
    for segment in journals.values():
        segment.close()
    return run


def _configuration(folder: Path, models: tuple[str, ...]) -> dict[str, Any]:
    Image.new("RGB", (32, 32), "#abcdef").save(folder / "one.png")
    (folder / "one.csv").write_text("id,source,instruction\na,one.png,move it\n")
    return {
        "benchmark": {"type": "table", "data_path": str(folder / "one.csv")},
        "edit_models": {
            name: {"type": "testing", "params": {"device_ids": "cpu:1", "steps": place + 1}}
            for place, name in enumerate(models)
        },
        "reward_model": {"type": "testing", "params": {"device_ids": "cpu:1"}},
        "protocol": {"answer": "reason_then_score"},
        "execution": {"pilot": False, "progress": "none"},
    }


def _photo(folder: Path, number: int, size: tuple[int, int]) -> tuple[Path, str]:
    """A picture with a photo's texture, and the digest of its pixels."""
    kind = random.Random(number)
    grain = Image.frombytes("RGB", (size[0] // 4, size[1] // 4), kind.randbytes(size[0] // 4 * (size[1] // 4) * 3))
    ground = Image.frombytes("RGB", (6, 4), kind.randbytes(72)).resize(size, Image.Resampling.BICUBIC)
    picture = Image.blend(ground, grain.resize(size, Image.Resampling.BICUBIC), 0.25)
    path = folder / f"photo_{number}.png"
    return path, write_png(picture, path).pixels


def _source(folder: Path, photo: tuple[Path, str], number: int) -> Picture:
    """A file of its own for each sample, so that none is known by another's digest."""
    path = folder / "sources" / f"{number:06d}.png"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(photo[0].read_bytes() + number.to_bytes(4, "big"))
    return Picture(path=str(path), digest=file_digest(str(path)))
