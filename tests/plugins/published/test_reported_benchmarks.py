"""Each benchmark that people report, from its authors' files to its report: small, with testing models."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from edit_eval import evaluate
from edit_eval.records import Status
from edit_eval.run import Run
from faults.faulty_runs import Ears
from late_imports import Late

pyarrow, parquet = Late("pyarrow"), Late("pyarrow.parquet")

NUMBERS = '{"reasoning": "So.", "score": [%s]}'


def picture(number: int) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (24, 16), (40 * number, 90, 60)).save(file, "PNG")
    return file.getvalue()


def parquet_file(rows: list[dict[str, Any]]) -> bytes:
    file = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(rows), file)
    return file.getvalue()


def write(folder: Path, files: dict[str, Any]) -> Path:
    for name, content in files.items():
        content = content() if callable(content) else content
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return folder


def run(folder: Path, benchmark: dict[str, Any], judges: dict[str, Any], **edit: Any) -> Run:
    devices = {"device_ids": "cpu:1"}
    configuration = {
        "benchmark": {"data_path": str(folder / "data"), "cache_dir": str(folder / "cache"), **benchmark},
        "diffusion_model": {"type": "testing", "params": {**devices, **edit}},
        "judges": {name: judge | {"params": devices | judge.get("params", {})} for name, judge in judges.items()},
        "evaluation": {"controls": 0},
        "execution": {"pilot": False, "progress": "none"},
    }
    return evaluate(configuration, run_dir=folder / "run", report=False, spectator=Ears())


BOX = {"x": 900.0, "y": 600.0, "width": 200.0, "height": 200.0}
"""Reaches outside of the canvas, 1024 x 683 pixels of a picture of 24 x 16."""
PICA_ROW = {"physics_category": "Optics", "superficial_prompt": "Do it.", "edit_operation": "add"}
ROW = {"instruction": "Do it.", "image": "1.png", "reference": "Done.", "subtask": "s"}
CASES: dict[str, tuple[Any, Any, Any, Any]] = {
    "imgedit": (
        {
            "basic_edit.json": {
                "1": {"id": "1.png", "prompt": "Add it.", "edit_type": "add"},
                "2": {"id": "2.png", "prompt": "Draw it.", "edit_type": "style"},
            }
        },
        {"1": NUMBERS % "5, 5, 1", "2": NUMBERS % "4, 3, 3"},
        {"score": (11 / 3 + 10 / 3) / 2},
        {"Overall": (3.67 + 3.33) / 2},
    ),
    "risebench": (
        {
            "data_total.json": [
                ROW | {"index": "t", "category": "temporal_reasoning"},
                ROW | {"index": "l", "category": "logical_reasoning", "reference": None, "reference_img": "2.png"},
            ]
        },
        {"t": NUMBERS % 5, "l": NUMBERS % 1, "l#logical_reasoning_reference": NUMBERS % 0},
        {"accuracy": 0.5, "score": (5 + 1.1) / 2, "reasoning": 3, "consistency": 5, "plausibility": 5},
        {"Accuracy": 0.5, "Score": (5 + 1.1) / 2},
    ),
    "unireditbench": (
        {
            "data.json": [
                {
                    "name": "maze",
                    "idx": number,
                    "instruction": "Go.",
                    "original_image_path": "1.png",
                    "reference_image_path": "2.png",
                    "reference_effect": "A line.",
                }
                for number in (1, 2)
            ]
        },
        {"maze_1": NUMBERS % 5, "maze_2": NUMBERS % 5, "maze_2#reasoning_both": NUMBERS % 3},
        {"score": 4.5, "accuracy": 0.5},
        {"Score": 4.5, "Accuracy": 0.5},
    ),
    "picabench": (
        {
            "a.parquet": lambda: parquet_file(
                [
                    PICA_ROW
                    | {
                        "physics_law": law,
                        "input_image": {"bytes": picture(number), "path": None},
                        "annotated_qa_pairs": [
                            {"question": "Is it?", "answer": right, "box": BOX} for right in ("Yes", "No")
                        ],
                    }
                    for number, law in enumerate(("Reflection", "Local"))
                ]
            )
        },
        {"00000": "yes", "00001": "No.", "00001#1: yes": "Perhaps."},
        {"accuracy": 0.5, "all": 0},
        {"Overall": 50, "Reflection": 50, "Local": 50},
    ),
    "wiseedit": (
        {
            "Awareness_2.csv": b"idx,prompt,promptcn,input_1,input_2,ref,hint\n1,Go.,,1.png,2.png,2.png,So.\n",
            "Imagination_1.csv": b"idx,prompt,promptcn,input_1,hint,ref\n1,Go.,,1.png,,\n",
        },
        {"Awareness_2_1": NUMBERS % 10, "Awareness_2_1#knowledge": NUMBERS % 1, "Imagination_1_1": NUMBERS % 4},
        {"AVG": (75 + 100 / 3) / 2, "IF": (100 + 100 / 3) / 2, "KF": 0, "CF": 100 / 3},
        {"Awareness": 75, "Imagination": 33.3},
    ),
    "structeditbench": (
        {
            "a.parquet": lambda: parquet_file(
                [
                    {
                        "source_image": {"bytes": picture(number), "path": None},
                        "prompt": "Add a row.",
                        "category": "table",
                        "qa_list": [
                            {"question": f"Is it {label}?", "ground_truth_answer": "5", "label": label}
                            for label in ("editing", "editing", "maintain")
                        ],
                    }
                    for number in range(2)
                ]
            )
        },
        {"00000": "Correct", "00001": "Incorrect", "00001#editing 2": "Correct.", "00001#answer 1": "6"},
        {"accuracy": (1 + 0.45) / 2, "editing": 0.75, "maintain": 0.5},
        {"Overall": 72.5, "Editing": 75, "Maintain": 50, "table": 72.5},
    ),
    "omnicontext": (
        {
            "a.parquet": lambda: parquet_file(
                [
                    {
                        "key": kind,
                        "task_type": kind,
                        "instruction": "Go.",
                        "instruction_language": "en",
                        "input_images": [{"bytes": picture(n), "path": None} for n in range(3)],
                    }
                    for kind in ("multi_object", "scene_object")
                ]
            )
        },
        {"multi_object": NUMBERS % 9, "multi_object#SC": NUMBERS % 4, "scene_object": NUMBERS % 2},
        {"O": 4, "PF": 5.5, "SC": 3},
        {"Prompt Following": 5.5, "Subject Consistency": 3, "Overall": 4},
    ),
    "kris": (
        {
            "biology/annotation.json": {"1": {"ori_img": "1.png", "ins_en": "Wait.", "explain_en": "It grows."}},
            "temporal_prediction/annotation.json": {"1": {"ori_img": ["1-1.png", "1-3.png"], "ins_en": "Frame 2."}},
            **{f"temporal_prediction/1-{number}.png": picture(number) for number in (1, 3)},
            "biology/1.png": picture(1),
        },
        {"biology_1": NUMBERS % 5, "biology_1#knowledge": NUMBERS % "3, 1", "temporal_prediction_1": NUMBERS % 1},
        {"AVG": 250 / 4 / 2, "VC": 50, "VQ": 50, "IF": 25, "KP": 0},
        {"Overall": 250 / 7, "factual": 0, "conceptual": 62.5},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_from_the_authors_files_to_their_number(name: str, tmp_path: Path) -> None:
    files, answers, scores, published = CASES[name]
    write(tmp_path / "data", {"1.png": picture(1), "2.png": picture(2)} | files)
    made = run(tmp_path, {"type": name}, {"judge": {"type": "testing", "params": {"answers": answers}}})
    [result] = made.summary.results
    assert result.protocol == name
    assert {key: result.scores[key].mean for key in scores} == pytest.approx(scores)
    assert {key: result.published[key].value for key in published} == pytest.approx(published)
    assert all(entry.value is None for key, entry in result.published.items() if key not in published)
    assert result.headline == next(iter(scores))


def test_a_turn_that_failed_fails_those_behind_it(tmp_path: Path) -> None:
    rows = [
        {
            "img_id": session,
            "turn_index": turn,
            "instruction": f"Turn {turn}.",
            "source_img": {"bytes": picture(turn - 1), "path": "a.png"},
            "target_img": {"bytes": picture(turn), "path": "b.png"},
        }
        for session, turns in (("1", 1), ("2", 3), ("3", 2))
        for turn in range(1, turns + 1)
    ]
    (tmp_path / "data").mkdir()
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "data" / "dev.parquet")
    pixels = {"type": "picture_metrics", "params": {"bicubic": True}}
    made = run(tmp_path, {"type": "magicbrush"}, {"pixels": pixels}, fail=["2_1"])
    edits = {edit.sample_id: (edit.status, edit.reason) for edit in made.results.edits}
    why = edits["2_1"][1]
    assert why.endswith("RuntimeError: 2_1 fails on purpose")
    assert edits["2_1"][0] is Status.EDIT_FAILED
    assert edits["2_2"] == (Status.EDIT_FAILED, f"the edit that it follows failed: {why}")
    assert edits["2_3"] == edits["2_2"]
    assert [edits[name][0] for name in ("1_1", "3_1", "3_2")] == [Status.OK] * 3
    [result] = made.summary.results
    assert result.protocol == "magicbrush"
    assert "the authors' script stops at `2_3`" in result.published["L1"].reason
    last = {
        judgement.sample_id: judgement.scores
        for judgement in made.results.judgements
        if judgement.category == "final turn"
    }
    made = run(tmp_path, {"type": "magicbrush", "sample_ids": ["1_1", "3_2"]}, {"pixels": pixels}, fail=["2_1"])
    [result] = made.summary.results
    wanted = (last["1_1"]["l1_bicubic"] + last["3_2"]["l1_bicubic"]) / 2
    assert result.published["L1"].value == result.scores["l1_bicubic"].mean == pytest.approx(wanted)
    assert result.coverage.total == result.scores["l1_bicubic"].n == 2, "of the last turns"
    assert "earlier_l1_bicubic" not in result.scores, "3_1 is edited because 3_2 follows it, and judged nowhere"
