"""VIEScore's own GPT-4o replies, put through edit-eval, agree with people as VIEScore published it (docs/trust.md).

The replies and the people are real (TIGER-AI-Lab/VIEScore, MIT), the pictures are not: `recorded` is shown none, so
drawn ones stand for them. In six of the 2,864 replies VIEScore could not read what GPT-4o wrote and guessed one number
(its reasoning says `guess_if_cannot_parse`); those are no scores here, which moves no coefficient by more than .0021.
"""

from __future__ import annotations

import ast
import base64
import csv
import io
import json
import math
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

DATA = Path(__file__).parents[3] / "shared" / "data" / "judge_agreement"
PUBLISHED = {"SC": (0.454, 0.512), "PQ": (0.544, 0.570), "O": (0.419, 0.506)}
"""Score -> the coefficient of GPT-4o and people, and of one person and another."""
WITHIN = 0.005
UNREADABLE = 6

pytestmark = [
    pytest.mark.docs,
    pytest.mark.skipif(not DATA.is_dir(), reason="VIEScore's replies and people are not here"),
]


def named(uid: str) -> str:
    return uid.removesuffix(".jpg")


def picture(of: object) -> bytes:
    file = io.BytesIO()
    Image.frombytes("RGB", (6, 4), random.Random(repr(of)).randbytes(72)).save(file, "PNG")
    return file.getvalue()


def write_benchmark(path: Path, uids: list[str]) -> None:
    items = [
        {
            "subset": "物理",
            "original_image_path": f"{named(uid)}.png",
            "edit_instruction": "改",
            "edit_instruction_en": "Edit it.",
            "original_description": "图",
            "original_description_en": "A picture.",
            "src_img_b64": base64.b64encode(picture(uid)).decode(),
        }
        for uid in uids
    ]
    path.write_text(json.dumps(items, ensure_ascii=False), "utf-8")


def write_replies(path: Path, said: dict[str, Any]) -> None:
    rows = [
        {"uid": named(uid), "editor": editor, "question": question, "text": json.dumps(reply)}
        for editor, items in said.items()
        for uid, replies in items.items()
        for question, reply in replies.items()
    ]
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")


def write_people(path: Path, editors: list[str]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["sample_id", "edit_model", "rater", "score_name", "score"])
        for rater in sorted((DATA / "human").glob("*.tsv")):
            for row in csv.DictReader(rater.open(encoding="utf-8"), delimiter="\t"):
                for editor in editors:
                    follows, quality = ast.literal_eval(row[editor])
                    scores = {"SC": follows, "PQ": quality, "O": math.sqrt(follows * quality)}
                    writer.writerows([named(row["uid"]), editor, rater.stem, *score] for score in scores.items())


def edit_eval(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "edit_eval", *arguments]
    variables = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=variables, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the run `run`, made by the command line alone."""
    folder = tmp_path_factory.mktemp("published")
    said = json.loads((DATA / "gpt4o_0shot.json").read_text("utf-8"))
    uids = [*next(iter(said.values()))]
    write_benchmark(folder / "benchmark.json", uids)
    write_replies(folder / "replies.jsonl", said)
    write_people(folder / "people.csv", [*said])
    for editor in said:
        (folder / editor).mkdir()
        for uid in uids:
            (folder / editor / f"{named(uid)}.png").write_bytes(picture((editor, uid)))
    placement = {"device_ids": "cpu:1"}
    configuration = {
        "benchmark": {"type": "five_dimensions", "data_path": "benchmark.json", "language": "en"},
        "edit_models": {name: {"type": "image_folder", "params": {**placement, "folder": name}} for name in said},
        "judges": {
            "gpt4o": {
                "type": "recorded",
                "params": {
                    **placement,
                    "batch_size": 64,
                    "path": "replies.jsonl",
                    "fields": {"sample": "uid", "edit_model": "editor"},
                },
                "protocol": {"type": "viescore"},
            }
        },
        "evaluation": {"controls": 0, "min_coverage": 0.98},
    }
    (folder / "config.json").write_text(json.dumps(configuration))
    edit_eval(folder, "run", "config.json", "--run-dir", "run")
    return folder


def test_what_cannot_be_read_is_no_score(run: Path) -> None:
    summary = json.loads((run / "run" / "report" / "summary.json").read_text("utf-8"))
    assert len(summary["results"]) == 8
    assert summary["coverage"]["total"] == 8 * 179
    assert summary["coverage"]["by_status"] == {"ok": 8 * 179 - UNREADABLE, "unparseable": UNREADABLE}
    scores = [result["scores"] for result in summary["results"]]
    assert sum(score["SC"]["coverage"]["scored"] for score in scores) == 8 * 179 - 5
    assert sum(score["PQ"]["coverage"]["scored"] for score in scores) == 8 * 179 - 1


@pytest.mark.parametrize("score", PUBLISHED)
def test_it_agrees_with_people_as_published(score: str, run: Path) -> None:
    document = json.loads(edit_eval(run, "agreement", "run", "--people", "people.csv", "--score", score, "--json"))[
        "people"
    ]
    judge, rater = PUBLISHED[score]
    assert document["judges"]["gpt4o"]["spearman"] == pytest.approx(judge, abs=WITHIN)
    assert (document["raters"]["raters"], document["raters"]["spearman"]) == (3, pytest.approx(rater, abs=WITHIN))
    assert document["judges"]["gpt4o"]["score"] == score
    assert {of["n"] for of in document["judges"]["gpt4o"]["edit_models"].values()} <= {177, 178, 179}
