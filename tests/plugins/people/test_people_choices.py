"""Data sets of people's choices between two edits, laid out as published; and judges held against them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from benchmarks.authors_files import Authors
from benchmarks.five_dimension_files import picture
from edit_eval import evaluate
from edit_eval.edit_models.contract import SampleNames
from edit_eval.plugins.people.in_worker.edit_of_pair import EditOfPair
from edit_eval.plugins.people.in_worker.people_choices import MMRB2, EditRewardBench, GenAIBench
from edit_eval.reporting.analyses import section_of
from edit_eval.reporting.table import markdown_sheet
from faults.faulty_runs import Ears

CHOSEN = ["A", "A", "A", "A", "B", "B"]


def laid_out(folder: Path) -> Authors:
    """Six pairs as MMRB2's scripts build them; the first has two sources."""
    files: dict[str, Any] = {}
    pairs = []
    for number, chosen in enumerate(CHOSEN):
        content = [["image", f"input_images/s{number}.png"], ["text", f"Make it {number}."]]
        files[f"input_images/s{number}.png"] = picture(number)
        if number == 0:
            content.insert(1, ["image", "input_images/more.png"])
            files["input_images/more.png"] = picture(99)
        pair: dict[str, Any] = {"id": f"p{number}", "prompt_content": content, "chosen": chosen}
        for place, side in enumerate("ab"):
            name = f"images/p{number}_{place}.jpg"
            files[name] = picture(20 + 2 * number + place, "JPEG")
            pair[f"response_{side}"] = {"model_name": "m", "response_content": [["image", name]]}
        said = [6, 4, 3] if chosen == "A" else [1, 2, 3]
        pairs.append(pair | {"human_annotations": said, "prompt_source": "dreambench"})
    made = Authors(folder, MMRB2)
    made.write({"edit.json": {"pairs": pairs}, **files})
    return made


def test_pairs_of_mmrb2_and_judges_beside_the_choice_with_the_level_of_a_constant_one(tmp_path: Path) -> None:
    made = laid_out(tmp_path)
    samples = made.samples()
    assert [sample.id for sample in samples] == [f"p{number}" for number in range(6)]
    assert [*samples[0].pictures] == ["source", "source_2"]
    assert samples[0].instruction == "Make it 0."
    assert samples[0].facts == {"chosen": "A", "raters": ["A", "A", "B"]}
    right = {"A": ("A", "B"), "B": ("B", "A")}
    told = {
        f"A/p{number}#better_response.{order}": f'{{"reasons": "so", "better": "{label}"}}'
        for number, chosen in enumerate("AAAABA")  # the last one wrong
        for order, label in zip(("forward", "backward"), right[chosen], strict=True)
    }
    told["A/p0#better_response.backward"] = '{"reasons": "so", "better": "A"}'  # contradicts itself
    data = {"data_path": str(made.folder), "cache_dir": str(tmp_path / "cache")}
    side = {"type": "edit_of_pair", "params": {"data": "mmrb2", "data_path": str(made.folder), "device_ids": "cpu:1"}}
    written: dict[str, Any] = {
        "benchmark": {"type": "mmrb2", **data},
        "edit_models": {name: {**side, "params": {**side["params"], "side": name}} for name in "AB"},
        "judges": {
            "arena": {"type": "testing", "params": {"answers": told, "device_ids": "cpu:1"}},
            "alone": {
                "type": "testing",
                "params": {"answers": {f"A/p{n}": "Score: 9" for n in range(6)}, "device_ids": "cpu:1"},
                "protocol": {"type": "rubric", "general": True},
            },
        },
        "execution": {"pilot": False, "progress": "none"},
    }
    run = evaluate(written, run_dir=tmp_path / "run", report=False, spectator=Ears())
    assert run.results.edits[0].pixels != run.results.edits[6].pixels
    document = run.analysis("agreement").document
    alone, arena = document.choices.judges
    assert (arena.judge, arena.edits, arena.pairs) == ("arena", 2, 6)
    assert arena.agrees == pytest.approx((0.5 + 4) / 6)
    assert arena.constant == pytest.approx(4 / 6)
    assert (alone.edits, alone.agrees) == (1, pytest.approx(4 / 6)), "always the first: a constant"
    assert document.choices.people.agrees == pytest.approx((1 + 1 + 1 / 3) / 3)
    said = markdown_sheet(section_of("agreement", document).sheet(), "en")
    (row,) = (line for line in said.splitlines() if line.startswith("| arena | two edits"))
    assert "75%" in row
    assert "66.7%" in row


def test_a_side_of_each_pair_is_found_by_the_pairs_id_in_any_order(tmp_path: Path) -> None:
    made = laid_out(tmp_path)
    parameters = EditOfPair.Parameters("mmrb2", str(made.folder), "A")
    ids = [f"p{number}" for number in range(6)]
    there = EditOfPair.match_edits(parameters, SampleNames(ids))
    assert len(there.files) == 6
    assert EditOfPair.match_edits(parameters, SampleNames(ids[::-1])).files == there.files
    some = EditOfPair.match_edits(parameters, SampleNames(["p1", "P2", "p7"]))
    assert some.files == {"p1": there.files["p1"]}
    assert "did you mean row 3 (p2)?" in some.lacking["P2"]
    assert len(some.left) == 5
    assert "no edit of sample 'x' in side A of" in EditOfPair.match_edits(parameters, SampleNames(["x"])).lacking["x"]


@pytest.mark.parametrize(
    ("cls", "words"),
    [(GenAIBench, ("leftvote", "rightvote", "bothbad_vote")), (EditRewardBench, ("A>B", "B>A", "A=B"))],
)
def test_pairs_in_parquet(cls: Any, words: tuple[str, ...], tmp_path: Path) -> None:
    names = cls.named
    rows = {
        **({names["id"]: [f"e{n}" for n in range(3)]} if "id" in names else {}),
        names["instruction"]: [f"Do {n}." for n in range(3)],
        names["choice"]: list(words),
        **{
            names[which]: [{"bytes": picture(10 * place + n), "path": None} for n in range(3)]
            for place, which in enumerate(("source", "A", "B"))
        },
    }
    import pyarrow as pa  # by who runs these tests, not by all who collect them
    import pyarrow.parquet as pq

    file = io.BytesIO()
    pq.write_table(pa.table(rows), file)
    made = Authors(tmp_path, cls)
    made.write({"test.parquet": file.getvalue()})
    samples, of_a = made.samples(), made.samples(edits="A")
    assert [sample.facts["chosen"] for sample in samples] == ["A", "B", "tie"]
    assert [sample.id for sample in samples] == [sample.id for sample in of_a]
    assert {sample.source_digest for sample in samples}.isdisjoint(sample.source_digest for sample in of_a)
