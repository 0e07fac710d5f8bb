"""The authors' numbers over random sets with dirty replies, held against their formulas restated from what they do.

What a dirty reply comes to is no second reader, but a table: the reply, and the numbers that the authors' script finds
in it. Facts: gpt_eval.py of PhoenixZ810/RISEBench@5f22651 and Maplebb/UniREditBench@a7015c5, step1 and step2 of
PKU-YuanGroup/ImgEdit@547185d, metrics_*.py and summarize.py of ByteDance-Seed/Bagel@056b5fd (KRIS),
calculate_statistics.py of stepfun-ai/Step1X-Edit@570eba6 (GEdit), image_eval.py of OSU-NLP-Group/MagicBrush@fcfc892.
"""

import json
import random

import pytest
from judged import judged, judgement, sample

from edit_eval.guests.metrics.beside.picture_metrics import PictureMetrics
from edit_eval.protocols.contract import Missing
from edit_eval.protocols.numbers import Numbers
from edit_eval.published.gedit import VIEScore
from edit_eval.published.imgedit import _LINES, TYPES, ImgEditScores
from edit_eval.published.kris import PLACES, KrisScores, questions_of
from edit_eval.published.magicbrush import MagicBrushScores
from edit_eval.published.risebench import RISEBenchScores
from edit_eval.published.unireditbench import UniREditBenchScores
from edit_eval.records import Reply, Status

SETS = 200
STOPS = "their script stops"


def mean(numbers):
    return sum(numbers) / len(numbers) if numbers else None


def official(cls, folder):
    """The protocol with prompts of the authors' names, so that it reads as they do."""
    texts = {one.text: "Of it" for one in cls.official.values()}
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
    found = {name: ours(asking, name, rows) for name in theirs}
    assert found == {
        name: number if number is None or number == STOPS else pytest.approx(number, abs=1e-9)
        for name, number in theirs.items()
    }


def failed(asking, name, category="add"):
    return judgement(asking, sample(name, category), Status.EDIT_FAILED, reason="no picture")


FINAL = [
    ("So.\n**Final Score: {n}**", "n"),
    ("Final Score: {n}", "n"),
    ("Final Score: {n}/5", "n"),
    ("final score **{n}**", "n"),
    ("Final Scores: {n}", "n"),
    ("Final Score:\n{n}", "n"),
    ("Final Score: X, that is Final Score: {n}", "n"),
    ("Final Score: {n}, {m}", "nm"),
    ("Final Scores: {n} {m}", "nm"),
    ("The final score is {n}.", ""),
    ("Score: {n}", ""),
    ("", ""),
]
"""A reply, and which of n and m the authors find in it."""
CLEAN = 1


def final(draw, numbers, dirty):
    text, found = draw.choice(FINAL) if draw.random() < dirty else FINAL[CLEAN]
    said = {"n": draw.choice(numbers), "m": draw.choice(numbers)}
    return text.format(**said), [said[one] for one in found]


ALL, FREE = ("consistency", "reasoning", "plausibility"), ("reasoning", "plausibility")
PUZZLE = ("logical_consistency", "logical_reasoning")


def rise(samples):
    """What their script makes of (asks, numbers of each reply)."""
    scores, complete = [], []
    some_are_free = any(asks == FREE for asks, _ in samples)
    for asks, found in samples:
        if not all(found):
            complete.append(0)
            continue
        numbers = [one for some in found for one in some]
        if asks == PUZZLE:
            if len(numbers) == 2:
                consistency, reasoning = (5 if one else 1 for one in numbers)
            elif len(numbers) == 3:
                consistency, reasoning = numbers[:2]
            else:
                return {"Accuracy": STOPS, "Score": STOPS}
            score = 0.3 * consistency + 0.7 * reasoning
            whole = consistency == reasoning == 5
        elif len(numbers) != len(asks):
            return {"Accuracy": STOPS, "Score": STOPS}
        else:
            *consistency, reasoning, plausibility = numbers
            score = (
                0.8 * reasoning + 0.2 * plausibility
                if some_are_free
                else 0.3 * consistency[0] + 0.5 * reasoning + 0.2 * plausibility
            )
            whole = {*numbers} == {5}
        scores.append(max(1, score / 2) if reasoning == 1 else score)
        complete.append(int(whole))
    return {"Accuracy": mean(complete), "Score": mean(scores)}


def test_risebench(tmp_path):
    draw = random.Random("rise")
    asking = official(RISEBenchScores, tmp_path)
    for _ in range(SETS):
        kinds = draw.choice([(ALL, PUZZLE), (ALL, FREE, PUZZLE), (ALL, ALL, ALL, FREE)])
        dirty = draw.choice([0, 0.1, 0.4])
        samples, rows = [], []
        for number in range(draw.randint(1, 6)):
            asks = draw.choice(kinds)
            replies = [final(draw, range(2) if asks == PUZZLE else range(1, 6), dirty) for _ in asks]
            samples.append((asks, [found for _, found in replies]))
            said = {name: text for name, (text, _) in zip(asks, replies, strict=True)}
            rows.append(judged(asking, sample(f"s{number}", "x", facts={"asks": list(asks)}), said))
        held(asking, rows, rise(samples))
    held(asking, [*rows, failed(asking, "f")], {"Accuracy": STOPS, "Score": STOPS})


def test_risebench_whose_consistency_free_replies_cannot_be_read(tmp_path):
    """The column decides, not the replies: 0.8 * 5 + 0.2 * 5, where consistency is 1."""
    asking = official(RISEBenchScores, tmp_path)
    replies = {"consistency": "Final Score: 1", "reasoning": "Final Score: 5", "plausibility": "Final Score: 5"}
    free = judged(asking, sample("b", "x", facts={"asks": list(FREE)}), dict.fromkeys(FREE, "?"))
    whole = judged(asking, sample("a", "x", facts={"asks": list(ALL)}), replies)
    assert asking.published["Score"]([whole, free]) == pytest.approx(5)


def test_unireditbench(tmp_path):
    draw = random.Random("uniredit")
    asking = official(UniREditBenchScores, tmp_path)
    asks = ("consistency", "reasoning_both", "plausibility")
    for _ in range(SETS):
        dirty = draw.choice([0, 0.1, 0.4])
        scores, complete, rows = [], [], []
        for number in range(draw.randint(1, 6)):
            if draw.random() < 0.1:
                rows.append(failed(asking, f"s{number}"))
                continue
            replies = [final(draw, range(1, 6), dirty) for _ in asks]
            said = {name: text for name, (text, _) in zip(asks, replies, strict=True)}
            rows.append(judged(asking, sample(f"s{number}", "x", facts={"asks": list(asks)}), said))
            if all(found for _, found in replies):
                first = [found[0] for _, found in replies]
                scores.append(0.3 * first[0] + 0.5 * first[1] + 0.2 * first[2])
                complete.append(int(first == [5, 5, 5]))
        held(asking, rows, {"Score": mean(scores), "Accuracy": mean(complete)})


LINES = [
    ("{name}: {n}", True),
    ("  {name}: {n}  ", True),
    ("Another name: {n}", True),
    ("{name}: {n}.", False),
    ("{name}: {n}/5", False),
    ("{name}:{n}", False),
    ("{name}: {name}: {n}", False),
    ("**{name}**: **{n}**", False),
    ("", False),
]
"""A line, and whether its number counts."""


def test_imgedit(tmp_path):
    draw = random.Random("imgedit")
    asking = official(ImgEditScores, tmp_path)
    for _ in range(SETS):
        dirty = draw.choice([0, 0.2, 0.6])
        types, rows = {}, []
        for number in range(draw.randint(1, 6)):
            kind = draw.choice(TYPES[:3])
            lines, numbers = ["Brief reasoning: 2 faults."], []
            for name in _LINES[kind]:
                line, counts = draw.choice(LINES) if draw.random() < dirty else LINES[0]
                n = draw.randint(1, 5)
                lines.append(line.format(name=name, n=n))
                numbers += [n] if counts else []
            rows.append(judged(asking, sample(f"s{number}", kind), {kind: "\n".join(lines)}))
            if numbers:
                types.setdefault(kind, []).append(round(sum(numbers) / len(numbers), 2))
        held(asking, rows, {"Overall": mean([round(mean(numbers), 2) for numbers in types.values()])})
    held(asking, [*rows, failed(asking, "f")], {"Overall": STOPS})


SINGLE = [
    ('{{"reasoning": "So.", "{key}": {n}}}', "nnn"),
    ('```json\n{{"{key}": "{n}", "reason": "So."}}\n```', "nnn"),
    ('{{"{key}": null, "reasoning": "there are 3 dogs"}}', "3-3"),
    ("I see 2 things. {words}: {n}", "nn2"),
    ("{n}/5, though 1 is wrong", "nnn"),
    ("1 fault: {n} out of 5", "nnn"),
    ('{{"{key}": {n}, "parts": {{}}}}', "nnn"),
    ('{{"{key}": "good"}}', "---"),
    ("There is nothing to say.", "---"),
    ("", "---"),
]
"""A reply with one number, and what metrics_common.py, metrics_knowledge.py and the two other scripts find: `-` is
none, `n` the number."""
DOUBLE = [
    ('{{"instruction_score": {n}, "knowledge_score": {m}}}', True),
    ('So: {{"instruction_score": {n}, "knowledge_score": "{m}"}} and 5', True),
    ("instruction score: {n}, Knowledge_Score: {m}", True),
    ("{{}} instruction_score: {n}; knowledge_score: {m}", True),
    ('{{"instruction_score": {n}, "knowledge_score": null, "knowledge_reasoning": "4 legs"}}', False),
    ('{{"instruction_score": {n}}}', False),
    ('{{"instruction_score": "high", "knowledge_score": {m}}}', False),
    ('[{{"instruction_score": {n}, "knowledge_score": {m}}}]', False),
    ("I give {n} and {m}.", False),
]
"""A reply with two, and whether the script finds both."""


def test_kris(tmp_path):
    draw = random.Random("kris")
    asking = official(KrisScores, tmp_path)
    scripts = {kind: 1 for kind in PLACES if "knowledge" in questions_of(kind)}
    scripts |= {"temporal_prediction": 2, "multi-element_composition": 2}
    kinds = ["biology", "rule-based_reasoning", "temporal_prediction", "multi-element_composition", "color_change"]
    for _ in range(SETS):
        dirty = draw.choice([0, 0.2, 0.6])
        levels, rows = {"factual": [], "conceptual": [], "procedural": []}, []
        for number in range(draw.randint(1, 6)):
            kind = draw.choice([*kinds, "viewpoint_change", "multi-instruction_execution"])
            said, numbers = {}, []
            for name in questions_of(kind):
                values = {"n": draw.randint(1, 5), "m": draw.randint(1, 5)}
                if name == "knowledge":
                    text, both_found = draw.choice(DOUBLE) if draw.random() < dirty else DOUBLE[0]
                    said[name] = text.format(**values)
                    numbers += [values["n"], values["m"]] if both_found else [None]
                    continue
                (key,) = asking.official[name].reads
                text, found = draw.choice(SINGLE) if draw.random() < dirty else SINGLE[0]
                said[name] = text.format(key=key, words=key.replace("_", " ").capitalize(), **values)
                one = found[scripts.get(kind, 0)]
                numbers.append(values["n"] if one == "n" else None if one == "-" else int(one))
            facts = {"asks": list(questions_of(kind)), "explanation": "E.", "frames": ["edit"], "frame": 1}
            rows.append(judged(asking, sample(f"s{number}", kind, facts=facts), said))
            if None not in numbers:
                levels[PLACES[kind][0]] += [25 * (one - 1) for one in numbers]
        rows += [failed(asking, "f", "biology")] if draw.random() < 0.2 else []
        every = [number for some in levels.values() for number in some]
        held(asking, rows, {"Overall": mean(every), **{name: mean(some) for name, some in levels.items()}})


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


def test_magicbrush():
    draw = random.Random("magicbrush")
    measures = PictureMetrics.measures(PictureMetrics.Parameters(bicubic=True))
    asking = MagicBrushScores(Numbers.Parameters(measures=measures))
    for _ in range(SETS):
        rows, numbers, stops = [], [], False
        for number in range(draw.randint(1, 8)):
            turn, value = draw.choice(["final turn", "final turn", "earlier turn"]), draw.random()
            if draw.random() < 0.05:
                rows.append(failed(asking, f"s{number}", turn))
                stops |= turn == "final turn"
                continue
            reply = Reply(values=dict.fromkeys(measures, value))
            rows.append(judged(asking, sample(f"s{number}", turn), {"numbers": reply}))
            numbers += [value] if turn == "final turn" else []
        if numbers or stops:
            held(asking, rows, dict.fromkeys(("L1", "L2"), STOPS if stops else mean(numbers)))
