"""The authors' words for the benchmarks whose files hold them inside of code: what a judge is then told and shown."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from edit_eval import evaluate
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.published.msebench import MSEScores
from edit_eval.plugins.published.picabench import PICAEval
from edit_eval.plugins.published.structeditbench import COVERED, StructScore
from edit_eval.plugins.published.wiseedit import WiseEditScores
from edit_eval.protocols.contract import View, fault
from edit_eval.records import Picture, Reply, Status
from faults.faulty_runs import Ears
from late_imports import Late
from protocols.judged import sample

pyarrow, parquet = Late("pyarrow"), Late("pyarrow.parquet")

FILES = {
    "PicaEval_gpt.py": 'def of(question):\n    json_instruction = ("\\n\\nAs " "JSON.")\n    return json_instruction\n',
    "qwen_scoring.py": """
def of():
    QA_PROMPT = "Look. Question: "
    EVAL_PROMPT = ("[Question]: {question}\\n[Right]: {ground_truth_answer}\\n" "[Theirs]: {model_response}")
""",
    "compute_score.py": "prompt_template = "
    '\\\n"""Turn {num_prompts} of {num_images}: {editing_prompt} {{"reason": ""}}"""\n',
    "prompt_single.py": "\n".join(
        [
            *(
                f'prompt_{name}_single = "One: {name}."'
                for name in ("detail_preserving", "instruction_following", "knowledge_fidelity", "creative_fusion")
            ),
            'prompt_visual_quality = "Quality."',
        ]
    ),
    "prompt_multi.py": "\n".join(
        f'prompt_{name}_multi = "Several: {name}."'
        for name in ("detail_preserving", "instruction_following", "knowledge_fidelity", "creative_fusion")
    ),
    "evaluation_utils.py": 'def of(hint):\n    return {"text": ("Hint: " "of a right one.\\n" f"{hint}")}\n',
}


def official(cls: Any, folder: Path) -> Any:
    for name, text in FILES.items():
        (folder / name).write_text(text, "utf-8")
    parameters = cls.Parameters(prompts="official", prompts_path=str(folder))
    return cls(parameters, json.loads(json.dumps(cls.texts(parameters))))


def test_picabench_asks_the_bare_question_about_the_part_of_the_edit_as_it_is(tmp_path: Path) -> None:
    asking = official(PICAEval, tmp_path)
    about = sample(facts={"questions": [{"ask": "Is it {so}?", "right": "no", "box": [1, 2, 30, 40]}]})
    assert not fault(asking, about)
    (asked,) = asking.questions(about)
    assert (asked.system, asked.user) == ("", "Is it {so}?\n\nAs JSON.")
    (view,) = asked.shows
    assert view.picture == "edit"
    assert ("clip", 1, 2, 30, 40) in view.steps
    assert "source" not in view.reads, "at its own size"
    assert asking.read(asked, Reply(text='{"answer": "No", "explanation": "So."}')).values == {"1": 1}
    assert asking.read(asked, Reply(text="No.")).status is Status.UNPARSEABLE


def test_structeditbench_asks_and_compares_in_their_words(tmp_path: Path) -> None:
    asking = official(StructScore, tmp_path)
    about = sample(facts={"questions": [{"about": "editing", "ask": "What {x}?", "right": "5"}]})
    look, compare = asking.questions(about)
    assert look.user == "Look. Question: What {x}?"
    assert look.shows == (View(picture="edit", steps=COVERED),), "cut as they cut it"
    whole = StructScore(StructScore.Parameters(), StructScore.texts(StructScore.Parameters()))
    assert whole.questions(about)[0].shows == (View(picture="edit"),)
    assert compare.user == "[Question]: What {x}?\n[Right]: 5\n[Theirs]: {answer 1}"


@pytest.mark.parametrize("several", [False, True])
def test_wiseedit_has_a_wording_for_one_source_and_one_for_several(several: bool, tmp_path: Path) -> None:
    asking = official(WiseEditScores, tmp_path)
    about = sample(
        category="Awareness",
        facts={"asks": ["following", "preserving", "quality", "knowledge"], "hint": "A {moon}."},
        instructions={"en": "Add it.", "zh": "加上。"},
        instruction="加上。",
    )
    if several:
        about.pictures["source_2"] = Picture(path="b.png", digest="b")
    following, preserving, quality, _ = asking.questions(about)
    called = "Input image #1, Input image #2, Edited image" if several else "Input image, Edited image"
    assert following.user == (
        f"{'Several' if several else 'One'}: instruction_following.\n\nEditing instruction: Add it.\n\n"
        f"Hint: of a right one.\nA {{moon}}.\n\nThe images above are, in their order: {called}."
    ), "in English, as they show it"
    assert "Hint" not in preserving.user
    assert quality.user == "Quality."


def test_a_file_without_their_words_is_refused(tmp_path: Path) -> None:
    for cls in (PICAEval, StructScore, MSEScores, WiseEditScores):
        official(cls, tmp_path)
        name = "prompt_multi.py" if cls is WiseEditScores else cls.official_file.name
        (tmp_path / name).write_text("a = 1\n", "utf-8")
        parameters = cls.Parameters(prompts="official", prompts_path=str(tmp_path))
        with pytest.raises(ConfigurationError, match=f"is it the authors' {name}"):
            cls.texts(parameters)


def test_msebench_shows_the_whole_session(tmp_path: Path) -> None:
    """Three turns from the authors' files to what the judge got: the source, then each turn's edit."""
    asking = official(MSEScores, tmp_path)
    about = sample("000_3", facts={"asks": ["turn"], "turns": ["Add {it}.", "Go.", "Stop."]}, follows="000_2")
    assert not fault(asking, about)
    (asked,) = asking.questions(about)
    assert [view.picture for view in asked.shows] == ["first", "turn 1", "turn 2", "edit"]
    assert "Turn 3 of 4: {'turn1': 'Add {it}.', 'turn2': 'Go.', 'turn3': 'Stop.'}" in asked.user
    assert '{"reason": ""}' in asked.user

    picture = io.BytesIO()
    Image.new("RGB", (8, 8), (9, 9, 9)).save(picture, "PNG")
    row = {
        "index": 0,
        "context": ["One.", "Two.", "Three."],
        "operation": ["add"] * 3,
        "description_target": ["It."] * 3,
    }
    table = pyarrow.Table.from_pylist([row | {"image": {"bytes": picture.getvalue(), "path": None}}])
    (tmp_path / "data").mkdir()
    parquet.write_table(table, tmp_path / "data" / "a.parquet")
    (tmp_path / "edits").mkdir()
    for turn in (1, 2, 3):
        Image.new("RGB", (8, 8), (60 * turn, 9, 9)).save(tmp_path / "edits" / f"000_{turn}.png")
    where = {"device_ids": "cpu:1"}
    reply = '{"reason": "So.", "prompt_following": 8, "consistency": 8}'
    run = evaluate(
        {
            "benchmark": {
                "type": "msebench",
                "data_path": str(tmp_path / "data"),
                "cache_dir": str(tmp_path / "cache"),
            },
            "diffusion_model": {"type": "image_folder", "params": {**where, "folder": str(tmp_path / "edits")}},
            "judges": {
                "judge": {
                    "type": "testing",
                    "params": {**where, "answers": {f"000_{turn}": reply for turn in (1, 2, 3)}},
                    "protocol": {"type": "msebench", "prompts": "official", "prompts_path": str(tmp_path)},
                }
            },
            "evaluation": {"controls": 0},
            "execution": {"pilot": False, "progress": "none"},
        },
        run_dir=tmp_path / "run",
        report=False,
        spectator=Ears(),
    )
    [result] = run.summary.results
    assert result.published["Success 3"].value == 1
    assert result.certificate is not None
    assert result.certificate["certified"]
    assert result.coverage.scored == 3
