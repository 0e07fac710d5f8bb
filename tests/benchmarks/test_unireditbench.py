"""`unireditbench`: two zips and a JSON; rules go before the instruction."""

from __future__ import annotations

from pathlib import Path

from authors_files import Authors
from five_dimension_files import picture

from edit_eval.published.unireditbench import UniREditBench


def test_the_files_as_the_hub_has_them(tmp_path: Path) -> None:
    authors = Authors(tmp_path, UniREditBench)
    row = {
        "original_image_path": "original_image/maze/1.png",
        "reference_image_path": "reference_image/maze/1.png",
        "instruction": "Find the way.",
        "rules": "Walls are black.",
        "name": "maze",
        "idx": 1,
        "reference_effect": "A red line.",
    }
    plain = {name: value for name, value in row.items() if name != "rules"} | {"idx": 2, "reference_image_path": None}
    authors.write({"data.json": [row, plain]})
    authors.pack("original_image.zip", {row["original_image_path"]: picture(1)})
    authors.pack("reference_image.zip", {row["reference_image_path"]: picture(2)})
    first, second = authors.samples()
    assert (first.id, first.category, first.fault) == ("maze_1", "maze", "")
    assert first.instruction == "Walls are black.\nFind the way."
    assert Path(first.pictures["reference"].path).read_bytes() == picture(2)
    assert first.facts == {"asks": ["consistency", "reasoning_both", "plausibility"], "reference": "A red line."}
    assert (second.instruction, second.fault) == ("Find the way.", "no reference")
