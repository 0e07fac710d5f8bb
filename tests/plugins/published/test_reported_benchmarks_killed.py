"""Each benchmark that people report, in its authors' own format, through real model classes: killed, and resumed."""

from __future__ import annotations

import base64
import io
import json
import os
import random
import subprocess
import sys
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from edit_eval import evaluate
from edit_eval.records import Status
from faults.faulty_runs import Ears, lines
from late_imports import Late
from plugins.published.test_reported_benchmarks import CASES, ROW, write

pyarrow, parquet = Late("pyarrow"), Late("pyarrow.parquet")

pytestmark = [pytest.mark.real_models, pytest.mark.models]
KILLED = """
import json, os, sys
import edit_eval.execution.engine.recorder as recorder
from edit_eval import evaluate
answered, left = recorder.Recorder._answered, [2]
def counted(self, *arguments):
    if not left[0]:
        os.kill(os.getpid(), 9)
    left[0] -= 1
    return answered(self, *arguments)
recorder.Recorder._answered = counted
evaluate(json.loads(sys.argv[1]), run_dir=sys.argv[2], report=False)
"""


def picture(number: int) -> bytes:
    file = io.BytesIO()
    Image.frombytes("RGB", (64, 64), random.Random(number).randbytes(3 * 64 * 64)).save(file, "PNG")
    return file.getvalue()


def struct(number: int) -> dict[str, Any]:
    return {"bytes": picture(number), "path": f"{number}.png"}


def rows(folder: Path, rows: list[dict[str, Any]]) -> None:
    folder.mkdir()
    parquet.write_table(pyarrow.Table.from_pylist(rows), folder / "train-00000-of-00001.parquet", row_group_size=2)


def gedit(folder: Path) -> None:
    about = {"instruction": "Add it.", "instruction_language": "en", "Intersection_exist": True}
    raw = {"input_image_raw": struct(9)}
    rows(
        folder,
        [{"task_type": "ps_human", "key": f"{n:032x}", "input_image": struct(n), **raw, **about} for n in (1, 2, 3)],
    )


def magicbrush(folder: Path) -> None:
    turns = [("1", 1), ("2", 1), ("2", 2), ("2", 3)]
    about = [{"img_id": session, "turn_index": turn, "instruction": f"Turn {turn}."} for session, turn in turns]
    pictures = [{"source_img": struct(turn - 1), "target_img": struct(turn)} for _, turn in turns]
    rows(folder, [row | images for row, images in zip(about, pictures, strict=True)])


def several_turns(folder: Path) -> None:
    said = {"id": "1.png", **{f"turn{number}": f"Do {number}." for number in (1, 2, 3)}}
    write(folder, {"content_memory/annotation.json": {"a": said}, "content_memory/1.png": picture(1)})


def packed(folder: Path, benchmark: str) -> None:
    """As the authors hand it out: what is a picture in a zip."""
    files = dict(CASES[benchmark][0])
    if benchmark == "risebench":
        files["data_total.json"] = [ROW | {"index": n, "category": "causal_reasoning"} for n in ("a", "b", "c")]
    if benchmark == "kris":  # of one source each: all that the tiny pipeline takes
        row = {"ori_img": "1.png", "ins_en": "Wait.", "explain_en": "It grows."}
        files = {"biology/annotation.json": {str(n): row for n in (1, 2)}, "biology/1.png": b""}
    write(folder, {name: content for name, content in files.items() if name.endswith(".json")})
    there = [name for name in files if name.endswith(".png")]
    with zipfile.ZipFile(folder / "data.zip", "w") as archive:
        for number, name in enumerate([*there, "1.png", "2.png"]):
            archive.writestr(f"data/{name}", picture(number))


def base64_json(folder: Path) -> None:
    items = [{"instruction": f"Add {n}.", "source_image": base64.b64encode(picture(n)).decode()} for n in range(3)]
    write(folder, {"table.json": items})


MAKERS: dict[str, tuple[dict[str, Any], Any]] = {
    "Parquet: gedit": ({"type": "gedit"}, gedit),
    "Parquet: magicbrush": ({"type": "magicbrush"}, magicbrush),
    "zip: imgedit": ({"type": "imgedit"}, lambda folder: packed(folder, "imgedit")),
    "folder: imgedit in turns": ({"type": "imgedit", "suite": "multi_turn"}, several_turns),
    "zip: kris": ({"type": "kris"}, lambda folder: packed(folder, "kris")),
    "zip: risebench": ({"type": "risebench"}, lambda folder: packed(folder, "risebench")),
    "zip: unireditbench": ({"type": "unireditbench"}, lambda folder: packed(folder, "unireditbench")),
    "JSON with base64: table": ({"type": "table"}, base64_json),
}


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("diffusers")
    from tiny_pipelines import build

    return build(tmp_path_factory.mktemp("tiny"), ["StableDiffusionInstructPix2PixPipeline"]).popitem()[1]


def replies(run: Path) -> Counter[tuple[str, ...]]:
    """How often each cell was asked for the first, second, ... time."""
    return Counter(tuple(str(line[key]) for key in ("sample", "question", "ask")) for line in lines(run, "replies"))


@pytest.mark.parametrize("name", MAKERS)
def test_killed_and_resumed_nothing_is_lost_or_done_twice(
    name: str, pipeline: Path, tiny_models: Path, tmp_path: Path
) -> None:
    about, make = MAKERS[name]
    make(tmp_path / "data")
    judge: dict[str, Any] = {"type": "qwen3_vl", "params": {"model_name": str(tiny_models / "qwen3-vl")}}
    if about["type"] == "magicbrush":
        judge = {"type": "picture_metrics", "params": {"bicubic": True}}
    judge["params"] |= {"device_ids": "cpu:1"}
    small = {"model_name": str(pipeline), "num_inference_steps": 1, "dtype": "float32", "device_ids": "cpu:1"}
    configuration = {
        "benchmark": {"data_path": str(tmp_path / "data"), "cache_dir": str(tmp_path / "cache"), **about},
        "diffusion_model": {"type": "diffusers", "params": small},
        "reward_model": judge,
        "evaluation": {"controls": 0},
        "execution": {"pilot": False, "progress": "none"},
    }
    command = [sys.executable, "-c", KILLED, json.dumps(configuration), str(tmp_path / "run")]
    killed = subprocess.run(command, capture_output=True, text=True, timeout=300, env=dict(os.environ))
    assert killed.returncode == -9, killed.stderr
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "run" / "images").rglob("*.png")}
    made = evaluate(configuration, run_dir=tmp_path / "run", report=False, spectator=Ears())
    assert before
    assert {path: path.stat().st_mtime_ns for path in before} == before, "no edit is made twice"
    assert {edit.status for edit in made.results.edits} == {Status.OK}
    answered = {Status.OK, Status.UNPARSEABLE, Status.OUT_OF_RANGE, Status.CUT_OFF}  # the tiny judge knows one form
    assert {judgement.status for judgement in made.results.judgements} <= answered
    asked = replies(tmp_path / "run")
    assert set(asked.values()) == {1}, "nothing is asked twice"
    if about["type"] in ("magicbrush", "table"):
        assert {judgement.status for judgement in made.results.judgements} == {Status.OK}
    evaluate(configuration, run_dir=tmp_path / "run", report=False, spectator=Ears())
    assert replies(tmp_path / "run") == asked
