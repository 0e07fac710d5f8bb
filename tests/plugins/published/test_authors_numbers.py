"""The numbers that the authors' own scripts gave for these rows, run once outside of this project, and ours.

`PicaEval_gpt.py` (extract_yes_no_answer, parse_structured_response, calculate_accuracy_by_dimension) of
Andrew0613/PICABench@0514acd, `statistic.py` of beepkh/WiseEdit@58cadba with both languages alike, `analyze_scores` of
VectorSpaceLab/OmniGen2@0f72fa9, omnicontext/calculate_statistics.py; `process_evaluation_results` and the means of
zhuole1025/Structured-Visuals@c8cc9f4, qwen_scoring.py; the summary of
ByteDance-Seed/VINCIE@30fcf36, evaluation/compute_score.py.
"""

from __future__ import annotations

import random

import pytest

from edit_eval.plugins.published.msebench import MSEScores
from edit_eval.plugins.published.omnicontext import OmniContextScores
from edit_eval.plugins.published.picabench import LAWS, PICAEval
from edit_eval.plugins.published.structeditbench import CATEGORIES, StructScore
from edit_eval.plugins.published.wiseedit import ASKS, WiseEditScores
from edit_eval.protocols.contract import Missing
from edit_eval.records import Status
from protocols.judged import judged, judgement, sample

SAID = ("Yes", "no.", '{"answer": "Yes", "explanation": "So."}', "I see no lamp: yes", "Nothing changed", "", "Maybe")
SAID += ('{"answer": 3}', 'Answer: {"answer": "N", "explanation": ""}', "**No**", '```json\n{"answer": "yes."}\n```')


def picabench_rows():
    """(law, questions as (right answer, reply)); None for an edit that is missing."""
    draw = random.Random("picabench")
    return [
        (law, None if draw.random() < 0.1 else [(draw.choice(("Yes", "No")), draw.choice(SAID)) for _ in range(count)])
        for law in LAWS
        for count in (1, 2, 3, 5)
    ]


def wiseedit_rows():
    """(task, number by question); None for a number that three tries did not give, or an edit that is missing."""
    draw = random.Random("wiseedit")
    rows = []
    for task, asks in ASKS.items():
        for _ in range(9):
            numbers = {name: draw.choice([*range(1, 11)] * 3 + [None]) for name in asks}
            rows.append((task, None if draw.random() < 0.1 else numbers))
    return rows


def structeditbench_rows():
    """(category, verdicts as (label, reply)); None for an edit that is missing."""
    draw = random.Random("structeditbench")
    said = ("Correct", "Incorrect", "Correct.", "Not Correct", "correct", "", "Incorrect: 5 is not 6")
    return [
        (
            category,
            None
            if draw.random() < 0.1
            else [("editing", draw.choice(said)) for _ in range(draw.randint(1, 5))]
            + [("maintain", draw.choice(said)) for _ in range(draw.randint(0, 3))],
        )
        for category in CATEGORIES
        for _ in range(4)
    ]


def msebench_rows():
    """Sessions of five turns, each (PF, C)."""
    draw = random.Random("msebench")
    said = (5, 7, 8, 8, 9, 9, 10, 10, 10, 10)
    return [[(draw.choice(said), draw.choice(said)) for _ in range(5)] for _ in range(12)]


def omnicontext_rows():
    """(task type, PF, SC)."""
    draw = random.Random("omni")
    types = ("single_character", "multi_object", "scene_character_object")
    return [(kind, draw.randint(0, 10), draw.randint(0, 10)) for kind in types for _ in range(draw.randint(2, 5))]


def made(cls):
    parameters = cls.Parameters()
    return cls(parameters, cls.texts(parameters))


def numbers(asking, rows):
    return {name: of(rows) for name, of in asking.published.items()}


def test_picabench():
    asking = made(PICAEval)
    rows = []
    for number, (law, asked) in enumerate(picabench_rows()):
        questions = [{"ask": "Is it?", "right": right.lower(), "box": []} for right, _ in asked or [("Yes", "")]]
        about = sample(str(number), law, facts={"questions": questions})
        if asked is None:
            rows.append(judgement(asking, about, Status.EDIT_FAILED, reason="no picture"))
        else:
            said = {f"{place}: {right.lower()}": reply for place, (right, reply) in enumerate(asked, 1)}
            rows.append(judged(asking, about, said))
    assert numbers(asking, rows) == pytest.approx(PICABENCH, abs=1e-9)
    read = [row for row in rows if row.status is Status.OK]
    assert 0 < len(read) < len(rows)
    assert all(0 <= row.scores["accuracy"] <= 1 for row in read)


def test_wiseedit():
    asking = made(WiseEditScores)
    rows = []
    for number, (task, values) in enumerate(wiseedit_rows()):
        about = sample(str(number), task, facts={"asks": list(ASKS[task])})
        if values is None:
            rows.append(judgement(asking, about, Status.EDIT_FAILED, reason="no picture"))
        else:
            said = {name: f'{{"score": [{value}]}}' if value else "?" for name, value in values.items()}
            rows.append(judged(asking, about, said))
    assert numbers(asking, rows) == pytest.approx(WISEEDIT, abs=1e-9)


def test_structeditbench():
    asking = made(StructScore)
    rows = []
    for number, (category, asked) in enumerate(structeditbench_rows()):
        questions = [{"about": label, "ask": "Is it {5}?", "right": "5"} for label, _ in asked or [("editing", "")]]
        about = sample(str(number), category, facts={"questions": questions})
        if asked is None:
            rows.append(judgement(asking, about, Status.EDIT_FAILED, reason="no picture"))
            continue
        said = {f"answer {place}": "6" for place, _ in enumerate(asked, 1)}
        said |= {f"{label} {place}": reply for place, (label, reply) in enumerate(asked, 1)}
        rows.append(judged(asking, about, said))
    assert numbers(asking, rows) == pytest.approx(STRUCTEDITBENCH, abs=1e-9)
    whole = sample("w", "math", facts={"questions": [{"about": "editing", "ask": "?", "right": "5"}] * 2})
    said = {"answer 1": "5", "answer 2": "5", "editing 1": "Correct", "editing 2": "**Incorrect**"}
    assert judged(asking, whole, said).scores == {"accuracy": 0.5, "editing": 0.5}, "nothing is asked about the rest"


def test_msebench():
    asking = made(MSEScores)
    rows = []
    for session, turns in enumerate(msebench_rows()):
        for turn, values in enumerate(turns, 1):
            about = sample(f"{session:03d}_{turn}", "add", facts={"asks": ["turn"]})
            rows.append(judged(asking, about, {"turn": f'{{"score": {list(values)}}}'}))
    assert numbers(asking, rows) == pytest.approx(MSEBENCH, abs=1e-9)
    failed = judgement(asking, sample("012_1", "add"), Status.EDIT_FAILED, reason="no picture")
    with pytest.raises(Missing, match="script stops at `012_1`"):
        asking.published["Success 1"]([*rows, failed])


def test_omnicontext():
    asking = made(OmniContextScores)
    rows = []
    for number, (kind, *values) in enumerate(omnicontext_rows()):
        asks = ["PF_scene", "SC_scene"] if "scene" in kind else ["PF", "SC"]
        about = sample(str(number), kind, facts={"asks": asks})
        said = {name: f'{{"score": [{value}]}}' for name, value in zip(asks, values, strict=True)}
        rows.append(judged(asking, about, said))
    missing = judgement(asking, sample("gone", "multi_object"), Status.EDIT_FAILED, reason="no picture")
    assert numbers(asking, [*rows, missing]) == pytest.approx(OMNICONTEXT, abs=1e-9)
    unread = judged(
        asking, sample("u", "multi_object", facts={"asks": ["PF", "SC"]}), {"PF": "?", "SC": '{"score": [5]}'}
    )
    with pytest.raises(Missing, match="guess_seed"):
        asking.published["Overall"]([*rows, unread])
    guessing = OmniContextScores(OmniContextScores.Parameters(guess_seed=1), asking._texts)
    assert 0 <= guessing.published["Overall"]([*rows, unread]) <= 10
    assert guessing.published["Subject Consistency"]([unread]) == 5


STRUCTEDITBENCH = {
    "Overall": 40.49206349206349,
    "Editing": 40.23809523809524,
    "Maintain": 29.365079365079364,
    "chart": 26.999999999999996,
    "graph": 26.0,
    "math": 37.22222222222222,
    "puzzle": 55.0,
    "science": 23.055555555555554,
    "table": 79.16666666666667,
}
MSEBENCH = {
    "Success 1": 0.75,
    "Success 2": 0.6666666666666666,
    "Success 3": 0.5,
    "Success 4": 0.16666666666666666,
    "Success 5": 0.16666666666666666,
    "Overall 1": 7.821976759525142,
    "Overall 2": 6.541680241763945,
    "Overall 3": 5.5908453266420635,
    "Overall 4": 3.6129671623513056,
    "Overall 5": 1.4120226591665965,
}
PICABENCH = {
    "Overall": 33.80952380952382,
    "Light_Propagation": 31.11111111111111,
    "Light_Source_Effects": 38.33333333333333,
    "Reflection": 13.333333333333334,
    "Refraction": 36.66666666666667,
    "Deformation": 23.333333333333332,
    "Causality": 39.16666666666666,
    "Global": 56.666666666666664,
    "Local": 35.0,
}
WISEEDIT = {
    "Awareness": 58.325,
    "Interpretation": 49.974999999999994,
    "Imagination": 57.275,
    "Complex": 55.580000000000005,
    "Basic Overall": 55.19166666666666,
}
OMNICONTEXT = {"Prompt Following": 3.0, "Subject Consistency": 4.3, "Overall": 2.7279917444197594}
