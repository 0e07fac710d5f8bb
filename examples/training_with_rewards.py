"""A policy of three parameters that learns from a judge's rewards over HTTP. Run these in two terminals:

    edit-eval serve examples/training_with_rewards.yaml --port 7861 --window 64
    python examples/training_with_rewards.py http://127.0.0.1:7861

The policy chooses how to edit a drawn scene: not at all, roughly, or finely. Each scene is edited several times, as a
group, and a choice becomes likelier in proportion to its reward above the group's mean (REINFORCE). An edit without a
score has no reward, which is not the same as 0: it is left out of its group.
"""

import base64
import io
import json
import math
import random
import sys
import urllib.request
from pathlib import Path

from PIL import Image

from edit_eval.edit_models.contract import EditRequest
from edit_eval.plugins.scenes.in_worker.benchmark import Scenes
from edit_eval.plugins.scenes.in_worker.editor import SceneEditor

HANDS = {"left as it is": 0, "rough": 1, "fine": 4}
"""The choices, with the editor's number of steps for each."""


def drawn(count: int, size: int) -> list[list[dict]]:
    """Returns for each scene one pair per choice: all edits that this policy can make."""
    made = []
    for sample in Scenes(Scenes.Parameters(count=count, size=size)).samples():
        source = Path(sample.source).read_bytes()
        picture = Image.open(io.BytesIO(source))
        request = EditRequest(pictures={"source": picture}, instruction=sample.instruction, seed=0)
        pairs = []
        for steps in HANDS.values():
            data = io.BytesIO()
            edit = SceneEditor(SceneEditor.Parameters(steps)).edit(request, lambda *_: None) if steps else picture
            edit.convert("RGB").save(data, "PNG")
            both = [base64.b64encode(file).decode() for file in (source, data.getvalue())]
            pairs.append(
                {"source": both[0], "instruction": sample.instruction, "category": sample.category, "edit": both[1]}
            )
        made.append(pairs)
    return made


def rewards(service: str, pairs: list[dict]) -> list[float | None]:
    """Returns rewards from 0 to 1; None for a pair without a score."""
    body = json.dumps({"pairs": pairs}).encode()
    with urllib.request.urlopen(urllib.request.Request(f"{service}/v1/score", data=body), timeout=600) as answer:
        return [row["reward"] for row in json.load(answer)["results"]]


def train(service: str, *, scenes: int = 10, size: int = 256, steps: int = 24, group: int = 8, rate: float = 4.0):
    """Trains the policy; returns the probability of each choice, and the mean reward of each step."""
    dice, made = random.Random(0), drawn(scenes, size)
    wants, curve = [0.0] * len(HANDS), []
    for _ in range(steps):
        chances = [math.exp(want) / sum(map(math.exp, wants)) for want in wants]
        chosen = dice.sample(range(scenes), 2)
        hands = [dice.choices(range(len(HANDS)), chances)[0] for _ in chosen for _ in range(group)]
        answers = rewards(service, [made[chosen[n // group]][hand] for n, hand in enumerate(hands)])
        for start in range(0, len(hands), group):
            scored = [(hands[n], answers[n]) for n in range(start, start + group) if answers[n] is not None]
            mean = sum(reward for _, reward in scored) / max(1, len(scored))
            for hand, reward in scored:
                for choice in range(len(HANDS)):
                    wants[choice] += rate / group * (reward - mean) * ((choice == hand) - chances[choice])
        told = [reward for reward in answers if reward is not None]
        curve.append(sum(told) / max(1, len(told)))
        likely = dict(zip(HANDS, chances, strict=True))
        print(f"{curve[-1]:.3f}  " + ", ".join(f"{name} {chance:.0%}" for name, chance in likely.items()), flush=True)
    return likely, curve


if __name__ == "__main__":
    train(sys.argv[1])
