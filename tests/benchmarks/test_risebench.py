"""`risebench`: the questions of each row are those of the authors' script, by what its row has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from authors_files import Authors
from five_dimension_files import picture

from edit_eval.protocols.contract import fault
from edit_eval.published.risebench import RISEBench
from edit_eval.published.risebench import RISEBenchScores as Protocol


@pytest.fixture
def authors(tmp_path: Path) -> Authors:
    return Authors(tmp_path, RISEBench)


def row(kind: str, number: int = 1, **changes: Any) -> dict[str, Any]:
    whole = {
        "index": f"{kind}_reasoning_{number}",
        "category": f"{kind}_reasoning",
        "instruction": "In a year.",
        "image": f"{kind}_reasoning_images/{number}.png",
        "reference": "Old.",
        "subtask": "Life Progression",
    }
    return {name: value for name, value in (whole | changes).items() if value is not None}


PICTURE = {"reference": None, "reference_img": "right.png"}


@pytest.mark.parametrize(
    ("of", "asks"),
    [
        (row("temporal"), ["consistency", "reasoning", "plausibility"]),
        (row("causal", reasoning_img=1), ["consistency", "reasoning_source", "plausibility"]),
        (row("temporal", consistency_free=True), ["reasoning", "plausibility"]),
        (row("spatial"), ["spatial_consistency", "spatial_reasoning", "spatial_plausibility"]),
        (row("spatial", reasoning_img=1), ["spatial_consistency", "spatial_reasoning_source", "spatial_plausibility"]),
        (
            row("spatial", **PICTURE),
            ["spatial_consistency_reference", "reasoning_reference", "spatial_plausibility"],
        ),
        (row("logical", reference=None, reference_txt="a"), ["logical_consistency", "logical_reasoning"]),
        (row("logical", **PICTURE), ["logical_consistency_reference", "logical_reasoning_reference"]),
        (row("logical", **PICTURE, reasoning_wo_ins=1), ["logical_consistency_reference", "logical_reasoning_same"]),
    ],
)
def test_what_is_asked_about_a_row(authors: Authors, of: dict[str, Any], asks: list[str]) -> None:
    authors.write({"data_total.json": [of | {"image": "1.png"}], "1.png": picture(1), "right.png": picture(2)})
    (sample,) = authors.samples()
    assert (sample.fault, sample.facts["asks"]) == ("", asks)
    assert sample.id == of["index"]
    assert sample.tags == ("Life Progression",)
    protocol = Protocol(Protocol.Parameters(), Protocol.texts(Protocol.Parameters()))
    assert fault(protocol, sample) == ""
    by_picture = {view.picture for question in protocol.questions(sample) for view in question.shows}
    assert ("reference" in by_picture) == ("reference" in sample.pictures)


def test_the_full_set_in_its_zip(authors: Authors) -> None:
    authors.write({"datav2_total_w_subtask.json": [row("temporal"), row("causal", 2)]})
    authors.pack(
        "data.zip", {f"data/{one}": picture(1) for one in (row("temporal")["image"], row("causal", 2)["image"])}
    )
    assert [s.fault for s in authors.samples()] == ["", ""]


def test_faults(authors: Authors) -> None:
    rows = [
        row("temporal", reference=None),
        row("casual"),
        row("temporal", instruction=""),
        row("temporal", index=None),
    ]
    authors.write({"data_total.json": rows, "temporal_reasoning_images/1.png": picture(), "x/1.png": picture()})
    faults = [s.fault for s in authors.samples()]
    assert faults[0] == "no reference, reference_txt or reference_img"
    assert "there is no file 'casual_reasoning_images/1.png'" in faults[1]
    assert (faults[2], faults[3]) == ("no instruction; index 0 has the same id", "no index")


def test_the_authors_script_asks_all_puzzles_without_the_instruction_as_soon_as_one_says_so(
    authors: Authors, tmp_path: Path
) -> None:
    """`'reasoning_wo_ins' in item` looks at the table's columns, which are those of all rows; with our prompts a row
    is asked as it says."""
    texts = {one.text for one in Protocol.official.values()}
    (tmp_path / "utils.py").write_text("\n".join(f"{name} = 'Of {{instruct}}'" for name in texts))
    ours = Protocol.Parameters()
    theirs = Protocol.Parameters(prompts="official", prompts_path=str(tmp_path))
    rows = [row("logical", 1, **PICTURE), row("logical", 2, **PICTURE), row("temporal", 3)]
    authors.write({one["image"]: picture() for one in rows} | {"right.png": picture(9)})

    def asked(parameters: Any) -> list[list[str]]:
        asking = Protocol(parameters, Protocol.texts(parameters))
        return [[question.name for question in asking.questions(sample)] for sample in authors.samples()]

    plain = ["logical_consistency_reference", "logical_reasoning_reference"]
    alone = ["logical_consistency_reference", "logical_reasoning_same"]
    temporal = ["consistency", "reasoning", "plausibility"]
    authors.write({"data_total.json": rows})
    assert asked(theirs) == asked(ours) == [plain, plain, temporal]
    rows[1]["reasoning_wo_ins"] = True
    authors.write({"data_total.json": rows})
    assert asked(ours) == [plain, alone, temporal]
    assert asked(theirs) == [alone, alone, temporal]
