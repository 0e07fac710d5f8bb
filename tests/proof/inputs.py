"""What cases are run on: small files made on the fly, the same each time."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import yaml
from PIL import Image

from photographs import draw, name
from small_benchmark import sample_id, write_benchmark


def nothing(folder: Path, stack: ExitStack) -> None:
    """An empty folder."""


def write(folder: Path, file: str, content: str | Mapping[str, Any]) -> None:
    """A file with a text, or with the YAML of a mapping."""
    place = folder / file
    place.parent.mkdir(parents=True, exist_ok=True)
    text = content if isinstance(content, str) else yaml.safe_dump(dict(content), allow_unicode=True, sort_keys=False)
    place.write_text(text, "utf-8")


def model(type_: str = "testing", **params: Any) -> dict[str, Any]:
    """The section of an edit model or a judge on one worker."""
    return {"type": type_, "params": {"device_ids": "cpu:1", **params}}


def answers(edit_models: Sequence[str], count: int, seed: int, shift: float = 0.5) -> dict[str, str]:
    """What a judge says: samples have a level, and each edit model is `shift` points above the one before."""
    shared, own = random.Random("shared"), random.Random(seed)
    levels = [shared.uniform(3, 7) for _ in range(count)]
    return {
        f"{editor}/{sample_id(number)}": f"Score: {min(10.0, max(0.0, level + order * shift + own.gauss(0, 0.8))):.3f}"
        for order, editor in enumerate(edit_models)
        for number, level in enumerate(levels)
    }


def config(folder: Path, file: str = "config.yaml", *, count: int = 9, **more: Any) -> None:
    """A configuration on the small benchmark, with a testing model for whatever is not given."""
    if not (folder / "benchmark.json").exists():
        write_benchmark(folder, count)
    plain: dict[str, Any] = {
        "benchmark": {"data_path": "benchmark.json", "cache_dir": "cache", **more.pop("benchmark", {})},
        "evaluation": {"controls": 0, **more.pop("evaluation", {})},
        **more,
    }
    if not {"edit_models", "diffusion_model"} & plain.keys():
        plain["diffusion_model"] = model()
    if not {"judges", "reward_model"} & plain.keys():
        plain["reward_model"] = model()
    write(folder, file, plain)


def scored(count: int = 9, **more: Any) -> Any:
    """The small benchmark, one edit model, one judge whose scores differ."""

    def make(folder: Path, stack: ExitStack) -> None:
        judge = model(answers=answers(["testing"], count, 1))
        config(folder, count=count, **{"reward_model": judge, "evaluation": {"controls": 2}, **more})

    return make


def photographs(folder: Path, stack: ExitStack) -> None:
    """Photographs, a table of instructions, two folders of edits (one lacks an edit), and a judge that is recorded."""
    draw(folder, 6)
    (folder / "edits_b" / f"{name(5)}.jpg").unlink()
    kinds = ("colour", "light")
    rows = [
        {"id": name(n), "image": f"{name(n)}.jpg", "instruction": f"Make hill {n} blue", "type": kinds[n % 2]}
        for n in range(6)
    ]
    write(folder, "photos/instructions.csv", table(rows))
    for order, judge in enumerate(("replies", "others")):
        replies = [
            {"sample": name(n), "edit_model": edits, "question": "score", "text": f"Score: {(n * 7 + of * 3) % 10}.5"}
            for of, edits in enumerate(("mirrored", "grey"), order)
            for n in range(6)
        ]
        write(folder, f"{judge}.csv", table(replies))
    write(folder, "config.yaml", of_photographs())


def of_photographs(**more: Any) -> dict[str, Any]:
    """The configuration on them."""
    return {
        "benchmark": {"type": "table", "data_path": "photos/instructions.csv", "cache_dir": "cache"},
        "edit_models": {
            "mirrored": model("image_folder", folder="edits_a"),
            "grey": model("image_folder", folder="edits_b"),
        },
        "judges": {"recorded": model("recorded", path="replies.csv")},
        **more,
    }


def table(rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows as CSV."""
    given = list(rows)
    file = io.StringIO()
    writer = csv.DictWriter(file, list(given[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(given)
    return file.getvalue()


def noise(number: int, size: tuple[int, int] = (32, 24)) -> Image.Image:
    """A picture of its own for each number."""
    return Image.frombytes("RGB", size, random.Random(number).randbytes(3 * size[0] * size[1]))


def rows_of(count: int, folder: Path, **more: Any) -> list[dict[str, Any]]:
    """Rows of a table with their pictures, which are written."""
    (folder / "pictures").mkdir(exist_ok=True)
    for number in range(count):
        noise(number).save(folder / "pictures" / f"p{number}.png")
    return [
        {"id": f"p{n}", "image": f"pictures/p{n}.png", "instruction": f"do {n}", **{k: v(n) for k, v in more.items()}}
        for n in range(count)
    ]


def write_rows(folder: Path, file: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Rows as JSON or JSONL, by the file's ending."""
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    write(folder, file, "".join(f"{line}\n" for line in lines) if file.endswith("l") else f"[{','.join(lines)}]")
