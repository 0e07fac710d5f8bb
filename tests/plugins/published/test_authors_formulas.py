"""What the frozen rows of the authors' scripts (test_conformance.py) do not reach.

How a row without consistency weighs the others, in the words of PhoenixZ810/RISEBench@5f22651 (gpt_eval.py), and
GEdit-Bench's numbers from replies in our words, over random sets (calculate_statistics.py of
stepfun-ai/Step1X-Edit@570eba6).
"""

import json
import random

import pytest

from edit_eval.plugins.published.gedit import VIEScore
from edit_eval.plugins.published.risebench import RISEBenchScores
from edit_eval.protocols.contract import Missing
from edit_eval.records import Status
from protocols.judged import judged, judgement, sample

SETS = 200
STOPS = "their script stops"


def mean(numbers):
    return sum(numbers) / len(numbers) if numbers else None


def official(cls, folder):
    """The protocol with prompts of the authors' names, so that it reads as they do."""
    texts = {prompt.text: "Of it" for prompt in cls.official.values()}
    file = folder / cls.official_file.name
    python = "\n".join(f"{name} = {text!r}" for name, text in texts.items())
    file.write_text(json.dumps(texts) if file.suffix == ".json" else python)
    parameters = cls.Parameters(prompts="official", prompts_path=str(file))
    return cls(parameters, json.loads(json.dumps(cls.texts(parameters))))


def ours(asking, name, rows):
    """The number; None where it is undefined, `STOPS` where the reason says so."""
    try:
        return asking.published[name](rows)
    except Missing as missing:
        return STOPS if "script stops" in missing.reason else None


def held(asking, rows, theirs):
    numbers = {name: ours(asking, name, rows) for name in theirs}
    assert numbers == {
        name: number if number is None or number == STOPS else pytest.approx(number, abs=1e-9)
        for name, number in theirs.items()
    }


def failed(asking, name, category="add"):
    return judgement(asking, sample(name, category), Status.EDIT_FAILED, reason="no picture")


ALL, FREE = ("consistency", "reasoning", "plausibility"), ("reasoning", "plausibility")


def test_risebench_whose_consistency_free_replies_cannot_be_read(tmp_path):
    """The column decides, not the replies: 0.8 * 5 + 0.2 * 5, where consistency is 1."""
    asking = official(RISEBenchScores, tmp_path)
    replies = {"consistency": "Final Score: 1", "reasoning": "Final Score: 5", "plausibility": "Final Score: 5"}
    free = judged(asking, sample("b", "x", facts={"asks": list(FREE)}), dict.fromkeys(FREE, "?"))
    whole = judged(asking, sample("a", "x", facts={"asks": list(ALL)}), replies)
    assert asking.published["Score"]([whole, free]) == pytest.approx(5)


def test_gedit():
    draw = random.Random("gedit")
    parameters = VIEScore.Parameters()
    asking = VIEScore(parameters, VIEScore.texts(parameters))
    for _ in range(SETS):
        kinds, rows, unread = {}, [], False
        for number in range(draw.randint(1, 8)):
            kind = draw.choice("abc")
            if draw.random() < 0.1:
                kinds.setdefault(kind, [])
                rows.append(failed(asking, f"s{number}", kind))
                continue
            pairs = [[draw.randint(0, 10) for _ in range(2)] for _ in range(2)]
            said = {side: json.dumps({"score": pair}) for side, pair in zip(("SC", "PQ"), pairs, strict=True)}
            if draw.random() < 0.02:
                said["PQ"], unread = "no idea", True
            rows.append(judged(asking, sample(f"s{number}", kind), said))
            success, quality = map(min, pairs)
            kinds.setdefault(kind, []).append((success, quality, (success * quality) ** 0.5))
        of_kinds = [[mean(column) for column in zip(*some, strict=True)] for some in kinds.values()]
        if unread or not all(of_kinds):  # they would guess a number, or their mean is none
            assert ours(asking, "G_O", rows) is None
            continue
        theirs = [mean(column) for column in zip(*of_kinds, strict=True)]
        held(asking, rows, dict(zip(("G_SC", "G_PQ", "G_O"), theirs, strict=True)))
