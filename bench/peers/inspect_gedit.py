"""Judges finished edits with inspect_ai, which has no benchmark of edits: two questions an edit, asked by a scorer.

PYTHON inspect_gedit.py FOLDER ADDRESS CONCURRENCY
"""

import base64
import json
import sys
from pathlib import Path

from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageSystem, ChatMessageUser, ContentImage, ContentText, GenerateConfig, get_model
from inspect_ai.scorer import Score, grouped, mean, scorer, stderr
from inspect_ai.solver import solver

folder, address, concurrency = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
questions = json.loads((folder / "questions.json").read_text("utf-8"))


@solver
def nothing():
    async def solve(state, generate):
        return state

    return solve


@scorer(metrics=[mean(), stderr(), grouped(mean(), "task_type")])
def judged():
    async def asked(name, pictures, instruction):
        files = [base64.b64encode(Path(picture).read_bytes()).decode() for picture in pictures]
        content = [ContentImage(image=f"data:image/png;base64,{file}") for file in files]
        text = questions[name]["user_prompt_template"].replace("{edit_instruction}", instruction)
        messages = [
            ChatMessageSystem(content=questions[name]["system_prompt"]),
            ChatMessageUser(content=[*content, ContentText(text=text)]),
        ]
        reply = await get_model(role="grader").generate(messages)
        return min(json.loads(reply.completion)["score"])

    async def score(state, target):
        facts = state.metadata
        succeeded = await asked("SC", [facts["source"], facts["edit"]], facts["instruction"])
        looks = await asked("PQ", [facts["edit"]], "")
        return Score(value=(succeeded * looks) ** 0.5, answer=f"{succeeded} {looks}")

    return score


lines = (folder / "edits.jsonl").read_text("utf-8").splitlines()
rows = [json.loads(line) for line in lines]
samples = [
    Sample(
        id=row["id"],
        input=row["instruction"],
        metadata={
            "instruction": row["instruction"],
            "task_type": row["task_type"],
            "source": str(folder / row["source"]),
            "edit": str(folder / row["image_path"]),
        },
    )
    for row in rows
]
grader = get_model(
    "openai-api/judge/judge",
    base_url=address,
    api_key="key",
    config=GenerateConfig(max_connections=concurrency, temperature=0.0, max_tokens=512),
)
(log,) = eval(
    Task(dataset=MemoryDataset(samples), solver=nothing(), scorer=judged()),
    model="none/none",
    model_roles={"grader": grader},
    display="plain",
    log_dir=str(folder / "inspect"),
    max_samples=concurrency,
)
assert log.status == "success", log.status
assert log.results.completed_samples == len(rows), log.results
