"""`kris`: twenty folders with an annotation each, several sources, frames of which one is missing.

`kris`: numbers to 100, the mean over all of them, and what the authors read where there is no JSON.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.authors_files import Authors
from benchmarks.five_dimension_files import picture
from edit_eval.plugins.published.kris import PLACES, Kris, KrisScores
from edit_eval.plugins.published.kris import KrisScores as Protocol
from edit_eval.protocols.contract import Missing, fault
from edit_eval.records import Status
from protocols.judged import judged, judgement, sample


@pytest.fixture
def authors(tmp_path: Path) -> Authors:
    return Authors(tmp_path, Kris)


def row(*sources: str, **changes: Any) -> dict[str, Any]:
    original = sources[0] if len(sources) == 1 else list(sources)
    return {"ori_img": original, "gt_img": "", "ins_en": "Do it.", "explain_en": "So."} | changes


FRAMES = row("3-1.jpg", "3-2.jpg", "3-4.jpg", gt_img="3-3.jpg", explain_en="")
FOLDERS = {
    "biology": {"1": row("1.jpeg")},
    "multi-element_composition": {"2": row("2-1.jpg", "2-2.jpg", "2-3.jpg", explain_en="")},
    "temporal_prediction": {"3": FRAMES},
    "viewpoint_change": {"1": row("1.jpg", gt_img="1_gt.jpg")},
    "anomaly_correction": {"1": row("1.jpg")},
    "rule-based_reasoning": {"1": row("1.jpg", explain_en="")},
}
PICTURES = {
    f"KRIS_Bench/{kind}/{name}": picture(number, "JPEG")
    for kind, rows in FOLDERS.items()
    for example in rows.values()
    for number, name in enumerate(
        [*([example["ori_img"]] if isinstance(example["ori_img"], str) else example["ori_img"]), example["gt_img"]]
    )
    if name
}


def shown(sample: Any) -> dict[str, list[str]]:
    protocol = Protocol(Protocol.Parameters(), Protocol.texts(Protocol.Parameters()))
    assert fault(protocol, sample) == ""
    return {question.name: [view.picture for view in question.shows] for question in protocol.questions(sample)}


def test_every_type_has_its_questions_and_pictures(authors: Authors) -> None:
    authors.write({f"KRIS_Bench/{kind}/annotation.json": rows for kind, rows in FOLDERS.items()} | PICTURES)
    samples = {sample.category: sample for sample in authors.samples()}
    assert {sample.fault for sample in samples.values()} == {""}
    assert samples["biology"].id == "biology_1"
    assert samples["biology"].tags == ("conceptual", "natural science")
    both = ["source", "edit"]
    assert shown(samples["biology"]) == {"consistency": both, "knowledge": both, "quality": ["edit"]}
    assert shown(samples["anomaly_correction"]) == {"consistency": both, "correction": both, "quality": ["edit"]}
    assert shown(samples["viewpoint_change"])["viewpoint"] == ["source", "edit", "reference"]
    parts = ["source", "source_2", "source_3", "edit"]
    assert shown(samples["multi-element_composition"])["consistency_parts"] == parts
    frames = ["source", "source_2", "edit", "source_3"]
    assert shown(samples["temporal_prediction"])["instruction_frames"] == frames
    protocol = Protocol(Protocol.Parameters(), Protocol.texts(Protocol.Parameters()))
    first = protocol.questions(samples["temporal_prediction"])[0]
    assert [view.name for view in first.shows] == ["frame 1", "frame 2", "frame 3", "frame 4"]
    assert "<frame>\n3\n</frame>" in first.user
    knowing = protocol.questions(samples["rule-based_reasoning"])[1]
    assert "<explanation>\n(none was given)\n</explanation>" in knowing.user


def test_all_rows_in_one_list_and_as_folders_are_the_same_samples(authors: Authors) -> None:
    authors.write({f"KRIS_Bench/{kind}/annotation.json": rows for kind, rows in sorted(FOLDERS.items())} | PICTURES)
    by_folder = authors.samples()
    rows = [
        example | {"id": key, "type": kind} for kind, rows in sorted(FOLDERS.items()) for key, example in rows.items()
    ]
    authors.write({"final_data.json": rows})
    assert authors.samples(data_path=str(authors.folder / "final_data.json")) == by_folder


def test_faults(authors: Authors) -> None:
    rows = {"1": row("1.jpg", "2.jpg", "3.jpg"), "2": row("1-1.jpg", "1-2.jpg", "1-2.jpg"), "3": row("gone.jpg")}
    there = {f"temporal_prediction/{name}": picture() for name in ("1.jpg", "2.jpg", "3.jpg", "1-1.jpg", "1-2.jpg")}
    authors.write({"temporal_prediction/annotation.json": rows, "alchemy/annotation.json": {"1": row("1.jpg")}} | there)
    alchemy, *others = [sample.fault for sample in authors.samples()]
    assert "type is 'alchemy', not one of count_change" in alchemy
    assert others[:2] == ["ori_img does not say which frame is missing"] * 2
    assert "no source: there is no file 'temporal_prediction/gone.jpg'" in others[2]


def test_there_are_twenty_types() -> None:
    assert len(PLACES) == 20


PLAIN = ("consistency", "instruction", "quality")
KNOWING = ("consistency", "knowledge", "quality")


def protocol(**parameters):
    made = KrisScores.Parameters(**parameters)
    return KrisScores(made, json.loads(json.dumps(KrisScores.texts(made))))


def official(folder):
    texts = {prompt.text for prompt in KrisScores.official.values()}
    (folder / "prompts.py").write_text("\n".join(f"{name} = 'Of {{instruct}}'" for name in texts))
    return protocol(prompts="official", prompts_path=str(folder))


def judged_row(asking, name, category, asks, *numbers):
    """A text is the reply itself."""
    replies = []
    for question, given in zip(asks, numbers, strict=True):
        values = given if isinstance(given, tuple) else (given,)
        if isinstance(given, str):
            replies.append(given)
        elif asking.is_official:
            names = KrisScores.official[question].reads
            replies.append(json.dumps({"reasoning": "So.", **dict(zip(names, values, strict=True))}))
        else:
            replies.append(json.dumps({"score": values}))
    facts = {"asks": list(asks), "explanation": "E."}
    return judged(asking, sample(name, category, facts=facts), dict(zip(asks, replies, strict=True)))


@pytest.fixture(params=["ours", "official"])
def asking(request, tmp_path):
    return official(tmp_path) if request.param == "official" else protocol()


def test_by_hand(asking):
    assert judged_row(asking, "a", "biology", KNOWING, 1, (5, 2), 4).scores == {
        "AVG": (0 + 100 + 25 + 75) / 4,
        "VC": 0,
        "VQ": 75,
        "IF": 100,
        "KP": 25,
    }
    assert "KP" not in judged_row(asking, "a", "color_change", PLAIN, 5, 5, 5).scores


class TestPublished:
    def published(self, asking, *rows):
        numbers = {}
        for name, number in asking.published.items():
            try:
                numbers[name] = number(rows)
            except Missing as why:
                numbers[name] = why.reason
        return numbers

    def test_every_number_weighs_the_same(self, asking):
        rows = [
            judged_row(asking, "a", "biology", KNOWING, 1, (5, 2), 4),
            judged_row(asking, "b", "color_change", PLAIN, 5, 5, 3),
        ]
        assert self.published(asking, *rows) == {
            "Overall": 450 / 7,
            "factual": 250 / 3,
            "conceptual": 50,
            "procedural": "no edit has all of its numbers",
        }

    def test_an_edit_without_one_of_its_numbers_is_left_out(self, asking):
        rows = [
            judged_row(asking, "a", "biology", KNOWING, 1, (5, 2), 4),
            judged_row(asking, "b", "color_change", PLAIN, 5, 5, "no"),
            judgement(asking, sample("c", "humanities"), Status.EDIT_FAILED, reason="x"),
        ]
        assert self.published(asking, *rows)["Overall"] == 50

    @pytest.mark.parametrize(
        ("text", "number"),
        [
            ('{"reasoning": "He said "no"", "quality_score": 4}', 4),
            ("Quality score: 3", 3),
            ("I find 2 faults, so 4/5.", 4),
            ("I find 2 faults.", 2),
            ('{"quality_score": "5"}', 5),
            ('{"quality_score": 9}', 9),
            ("none", None),
        ],
    )
    def test_their_reader_of_one(self, tmp_path, text, number):
        asking = official(tmp_path)
        single = judged_row(asking, "a", "color_change", PLAIN, 1, 1, text)
        wanted = "no edit has all of its numbers" if number is None else pytest.approx((number - 1) * 25 / 3)
        assert self.published(asking, single)["Overall"] == wanted

    @pytest.mark.parametrize(
        ("text", "numbers"),
        [
            ('So: {"instruction_score": 2, "knowledge_score": 3}', (2, 3)),
            ('{"instruction_reasoning": {"a": 1}, "instruction_score": 2, "knowledge_score": 3} 5', (2, 3)),
            ("instruction_score: 2\nknowledge score: 3", (2, 3)),
            ('{"instruction_score": 2}', None),
            ("instruction_score: 2", None),
        ],
    )
    def test_their_reader_of_two(self, tmp_path, text, numbers):
        asking = official(tmp_path)
        single = judged_row(asking, "a", "biology", KNOWING, 1, text, 1)
        overall = self.published(asking, single)["Overall"]
        if numbers is None:
            assert overall == "no edit has all of its numbers"
        else:
            assert overall == pytest.approx(sum((number - 1) * 25 for number in numbers) / 4)
