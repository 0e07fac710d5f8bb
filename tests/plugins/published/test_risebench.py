"""`risebench`: the questions of each row are those of the authors' script, by what its row has.

`unireditbench`: two zips and a JSON; rules go before the instruction.

`risebench`, `unireditbench`: weights, full marks and halves by hand; the authors' way with what they cannot read.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.authors_files import Authors
from benchmarks.five_dimension_files import picture
from edit_eval.plugins.published.risebench import RISEBench, RISEBenchScores
from edit_eval.plugins.published.risebench import RISEBenchScores as Protocol
from edit_eval.plugins.published.unireditbench import UniREditBench, UniREditBenchScores
from edit_eval.protocols.contract import Missing, fault, scoring_of
from edit_eval.records import Scale, Status
from protocols.judged import judged, judgement, sample


@pytest.fixture
def authors(tmp_path: Path) -> Authors:
    return Authors(tmp_path, RISEBench)


def row(kind: str, number: int = 1, **changes: Any) -> dict[str, Any]:
    whole = {
        "index": f"{kind}_reasoning_{number}",
        "category": f"{kind}_reasoning",
        "instruction": "In a year.",
        "image": f"{kind}_reasoning_images/{number}.png",
        "reference": "Old.",
        "subtask": "Life Progression",
    }
    return {name: value for name, value in (whole | changes).items() if value is not None}


PICTURE = {"reference": None, "reference_img": "right.png"}


@pytest.mark.parametrize(
    ("of", "asks"),
    [
        (row("temporal"), ["consistency", "reasoning", "plausibility"]),
        (row("causal", reasoning_img=1), ["consistency", "reasoning_source", "plausibility"]),
        (row("temporal", consistency_free=True), ["reasoning", "plausibility"]),
        (row("spatial"), ["spatial_consistency", "spatial_reasoning", "spatial_plausibility"]),
        (row("spatial", reasoning_img=1), ["spatial_consistency", "spatial_reasoning_source", "spatial_plausibility"]),
        (row("spatial", **PICTURE), ["spatial_consistency_reference", "reasoning_reference", "spatial_plausibility"]),
        (row("logical", reference=None, reference_txt="a"), ["logical_consistency", "logical_reasoning"]),
        (row("logical", **PICTURE), ["logical_consistency_reference", "logical_reasoning_reference"]),
        (row("logical", **PICTURE, reasoning_wo_ins=1), ["logical_consistency_reference", "logical_reasoning_same"]),
    ],
)
def test_what_is_asked_about_a_row(authors: Authors, of: dict[str, Any], asks: list[str]) -> None:
    authors.write({"data_total.json": [of | {"image": "1.png"}], "1.png": picture(1), "right.png": picture(2)})
    (sample,) = authors.samples()
    assert (sample.fault, sample.facts["asks"]) == ("", asks)
    assert sample.id == of["index"]
    assert sample.tags == ("Life Progression",)
    protocol = Protocol(Protocol.Parameters(), Protocol.texts(Protocol.Parameters()))
    assert fault(protocol, sample) == ""
    by_picture = {view.picture for question in protocol.questions(sample) for view in question.shows}
    assert ("reference" in by_picture) == ("reference" in sample.pictures)


def test_the_full_set_in_its_zip(authors: Authors) -> None:
    authors.write({"datav2_total_w_subtask.json": [row("temporal"), row("causal", 2)]})
    authors.pack(
        "data.zip", {f"data/{name}": picture(1) for name in (row("temporal")["image"], row("causal", 2)["image"])}
    )
    assert [s.fault for s in authors.samples()] == ["", ""]


def test_faults(authors: Authors) -> None:
    rows = [
        row("temporal", reference=None),
        row("casual"),
        row("temporal", instruction=""),
        row("temporal", index=None),
    ]
    authors.write({"data_total.json": rows, "temporal_reasoning_images/1.png": picture(), "x/1.png": picture()})
    faults = [s.fault for s in authors.samples()]
    assert faults[0] == "no reference, reference_txt or reference_img"
    assert "there is no file 'casual_reasoning_images/1.png'" in faults[1]
    assert (faults[2], faults[3]) == ("no instruction; index 0 has the same id", "no index")


def test_the_authors_script_asks_all_puzzles_without_the_instruction_as_soon_as_one_says_so(
    authors: Authors, tmp_path: Path
) -> None:
    """`'reasoning_wo_ins' in item` looks at the table's columns, which are those of all rows; with our prompts a row
    is asked as it says."""
    texts = {prompt.text for prompt in Protocol.official.values()}
    (tmp_path / "utils.py").write_text("\n".join(f"{name} = 'Of {{instruct}}'" for name in texts))
    ours = Protocol.Parameters()
    theirs = Protocol.Parameters(prompts="official", prompts_path=str(tmp_path))
    rows = [row("logical", 1, **PICTURE), row("logical", 2, **PICTURE), row("temporal", 3)]
    authors.write({example["image"]: picture() for example in rows} | {"right.png": picture(9)})

    def asked(parameters: Any) -> list[list[str]]:
        asking = Protocol(parameters, Protocol.texts(parameters))
        return [[question.name for question in asking.questions(sample)] for sample in authors.samples()]

    plain = ["logical_consistency_reference", "logical_reasoning_reference"]
    alone = ["logical_consistency_reference", "logical_reasoning_same"]
    temporal = ["consistency", "reasoning", "plausibility"]
    authors.write({"data_total.json": rows})
    assert asked(theirs) == asked(ours) == [plain, plain, temporal]
    rows[1]["reasoning_wo_ins"] = True
    authors.write({"data_total.json": rows})
    assert asked(ours) == [plain, alone, temporal]
    assert asked(theirs) == [alone, alone, temporal]


def test_the_files_as_the_hub_has_them(tmp_path: Path) -> None:
    authors = Authors(tmp_path, UniREditBench)
    row = {
        "original_image_path": "original_image/maze/1.png",
        "reference_image_path": "reference_image/maze/1.png",
        "instruction": "Find the way.",
        "rules": "Walls are black.",
        "name": "maze",
        "idx": 1,
        "reference_effect": "A red line.",
    }
    plain = {name: value for name, value in row.items() if name != "rules"} | {"idx": 2, "reference_image_path": None}
    authors.write({"data.json": [row, plain]})
    authors.pack("original_image.zip", {row["original_image_path"]: picture(1)})
    authors.pack("reference_image.zip", {row["reference_image_path"]: picture(2)})
    first, second = authors.samples()
    assert (first.id, first.category, first.fault) == ("maze_1", "maze", "")
    assert first.instruction == "Walls are black.\nFind the way."
    assert Path(first.pictures["reference"].path).read_bytes() == picture(2)
    assert first.facts == {"asks": ["consistency", "reasoning_both", "plausibility"], "reference": "A red line."}
    assert (second.instruction, second.fault) == ("Find the way.", "no reference")


ALL = ("consistency", "reasoning", "plausibility")
FREE = ("reasoning", "plausibility")
PUZZLE = ("logical_consistency", "logical_reasoning")
BOTH = ("consistency", "reasoning_both", "plausibility")


def protocol(cls=RISEBenchScores, **parameters):
    made = cls.Parameters(**parameters)
    return cls(made, json.loads(json.dumps(cls.texts(made))))


def official(folder, cls=RISEBenchScores):
    texts = {prompt.text for prompt in cls.official.values()}
    (folder / "utils.py").write_text("\n".join(f"{name} = 'Of {{instruct}}'" for name in texts))
    return protocol(cls, prompts="official", prompts_path=str(folder))


def judged_row(asking, name, asks, *numbers):
    """Numbers as they are asked; a text is the reply itself."""
    form = "**Final Score:** **{}**" if asking.is_official else '{{"score": [{}]}}'
    replies = [number if isinstance(number, str) else form.format(number) for number in numbers]
    return judged(asking, sample(name, "x", facts={"asks": list(asks)}), dict(zip(asks, replies, strict=True)))


@pytest.fixture(params=["ours", "official"])
def asking(request, tmp_path):
    return official(tmp_path) if request.param == "official" else protocol()


class TestScores:
    @pytest.mark.parametrize(
        ("asks", "numbers", "accuracy", "score"),
        [
            (ALL, (5, 5, 5), 1, 5),
            (ALL, (4, 5, 5), 0, 0.3 * 4 + 0.5 * 5 + 0.2 * 5),
            (ALL, (5, 1, 5), 0, (0.3 * 5 + 0.5 * 1 + 0.2 * 5) / 2),
            (ALL, (1, 1, 1), 0, 1),
            (FREE, (5, 5), 1, 5),
            (FREE, (4, 2), 0, 0.2 * 2 + 0.8 * 4),
            (PUZZLE, (1, 1), 1, 5),
            (PUZZLE, (1, 0), 0, (0.3 * 5 + 0.7 * 1) / 2),
            (PUZZLE, (0, 1), 0, 0.3 * 1 + 0.7 * 5),
        ],
    )
    def test_by_hand(self, asking, asks, numbers, accuracy, score):
        scores = judged_row(asking, "a", asks, *numbers).scores
        assert scores["accuracy"] == accuracy
        assert scores["score"] == pytest.approx(score, abs=1e-12)
        assert ("consistency" in scores, "plausibility" in scores) == (
            "consistency" in asks[0],
            len(asks) == 3 or asks == FREE,
        )

    def test_one_reply_that_cannot_be_read_leaves_the_others(self, asking):
        single = judged_row(asking, "a", ALL, 5, "?", 4)
        assert single.scores == {"consistency": 5, "plausibility": 4}
        assert {*single.missing} == {"accuracy", "score", "reasoning"}

    def test_scales(self):
        made = scoring_of("risebench", protocol())
        assert (made.headline, made.scale) == ("accuracy", Scale(lowest=0, highest=1))
        assert scoring_of("unireditbench", protocol(UniREditBenchScores)).scale == Scale(lowest=1, highest=5)


class TestRISEPublished:
    def published(self, asking, *rows):
        return {name: number(rows) for name, number in asking.published.items()}

    def test_by_hand(self, asking):
        rows = [
            judged_row(asking, "a", ALL, 5, 5, 5),
            judged_row(asking, "b", PUZZLE, 1, 0),
            judged_row(asking, "c", ALL, 4, 3, 5),
        ]
        assert self.published(asking, *rows) == {"Accuracy": 1 / 3, "Score": pytest.approx((5 + 1.1 + 3.7) / 3)}

    def test_what_cannot_be_read_is_no_success_and_has_no_score(self, asking):
        rows = [judged_row(asking, "a", ALL, 5, 5, 5), judged_row(asking, "b", ALL, 5, 5, "?")]
        assert self.published(asking, *rows) == {"Accuracy": 0.5, "Score": 5}

    def test_where_some_are_free_of_consistency_no_score_counts_it(self, asking):
        """NaN is true to `row['consistency_free']`: 0.2 * 5 + 0.8 * 3, not 0.3 * 1 + 0.5 * 3 + 0.2 * 5."""
        rows = [
            judged_row(asking, "a", ALL, 1, 3, 5),
            judged_row(asking, "b", FREE, 5, 5),
            judged_row(asking, "c", PUZZLE, 0, 1),
        ]
        assert self.published(asking, *rows) == {"Accuracy": 1 / 3, "Score": pytest.approx((3.4 + 5 + 3.8) / 3)}
        assert rows[0].scores["score"] == pytest.approx(2.8)

    def test_their_script_stops_at_a_picture_that_is_missing(self, asking):
        lost = judgement(asking, sample("b"), Status.EDIT_FAILED, reason="no picture")
        with pytest.raises(Missing, match="stops at `b`: no picture"):
            self.published(asking, judged_row(asking, "a", ALL, 5, 5, 5), lost)

    @pytest.mark.parametrize(
        ("text", "score"),
        [
            ("Final Score: 4/5", 4.5),
            ("Final Score: 4, 5", "stops at `a`: several scores"),
            ("Final Scores: 4", 4.5),
            ("**Final Score**: **X**, that is **Final Score**: **4**", 4.5),
            ("A final score of 4.", "no reply can be read"),
        ],
    )
    def test_their_reader(self, tmp_path, text, score):
        asking = official(tmp_path)
        single = judged_row(asking, "a", ALL, 5, text, 5)
        if isinstance(score, str):
            with pytest.raises(Missing, match=score):
                asking.published["Score"]([single])
        else:
            assert asking.published["Score"]([single]) == pytest.approx(score)


class TestUniREditPublished:
    @pytest.fixture(params=["ours", "official"])
    def asking(self, request, tmp_path):
        return official(tmp_path, UniREditBenchScores) if request.param == "official" else protocol(UniREditBenchScores)

    def test_nothing_is_halved_and_what_is_missing_is_left_out(self, asking):
        rows = [
            judged_row(asking, "a", BOTH, 5, 1, 5),
            judged_row(asking, "b", BOTH, 5, 5, 5),
            judged_row(asking, "c", BOTH, 5, "?", 5),
            judgement(asking, sample("d"), Status.EDIT_FAILED, reason="no picture"),
        ]
        assert rows[0].scores["score"] == pytest.approx(3)
        assert asking.published["Score"](rows) == pytest.approx(4)
        assert asking.published["Accuracy"](rows) == 0.5
