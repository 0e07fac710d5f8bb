"""`risebench`, `unireditbench`: weights, full marks and halves by hand; the authors' way with what they cannot read."""

import json

import pytest
from judged import judged, judgement, sample

from edit_eval.protocols.contract import Missing, scoring
from edit_eval.published.risebench import RISEBenchScores
from edit_eval.published.unireditbench import UniREditBenchScores
from edit_eval.records import Scale, Status

ALL = ("consistency", "reasoning", "plausibility")
FREE = ("reasoning", "plausibility")
PUZZLE = ("logical_consistency", "logical_reasoning")
BOTH = ("consistency", "reasoning_both", "plausibility")


def protocol(cls=RISEBenchScores, **parameters):
    made = cls.Parameters(**parameters)
    return cls(made, json.loads(json.dumps(cls.texts(made))))


def official(folder, cls=RISEBenchScores):
    texts = {one.text for one in cls.official.values()}
    (folder / "utils.py").write_text("\n".join(f"{name} = 'Of {{instruct}}'" for name in texts))
    return protocol(cls, prompts="official", prompts_path=str(folder))


def row(asking, name, asks, *numbers):
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
        scores = row(asking, "a", asks, *numbers).scores
        assert scores["accuracy"] == accuracy
        assert scores["score"] == pytest.approx(score, abs=1e-12)
        assert ("consistency" in scores, "plausibility" in scores) == (
            "consistency" in asks[0],
            len(asks) == 3 or asks == FREE,
        )

    def test_one_reply_that_cannot_be_read_leaves_the_others(self, asking):
        one = row(asking, "a", ALL, 5, "?", 4)
        assert one.scores == {"consistency": 5, "plausibility": 4}
        assert {*one.missing} == {"accuracy", "score", "reasoning"}

    def test_scales(self):
        made = scoring("risebench", protocol())
        assert (made.headline, made.scale) == ("accuracy", Scale(lowest=0, highest=1))
        assert scoring("unireditbench", protocol(UniREditBenchScores)).scale == Scale(lowest=1, highest=5)


class TestRISEPublished:
    def published(self, asking, *rows):
        return {name: found(rows) for name, found in asking.published.items()}

    def test_by_hand(self, asking):
        rows = [row(asking, "a", ALL, 5, 5, 5), row(asking, "b", PUZZLE, 1, 0), row(asking, "c", ALL, 4, 3, 5)]
        assert self.published(asking, *rows) == {"Accuracy": 1 / 3, "Score": pytest.approx((5 + 1.1 + 3.7) / 3)}

    def test_what_cannot_be_read_is_no_success_and_has_no_score(self, asking):
        rows = [row(asking, "a", ALL, 5, 5, 5), row(asking, "b", ALL, 5, 5, "?")]
        assert self.published(asking, *rows) == {"Accuracy": 0.5, "Score": 5}

    def test_where_some_are_free_of_consistency_no_score_counts_it(self, asking):
        """NaN is true to `row['consistency_free']`: 0.2 * 5 + 0.8 * 3, not 0.3 * 1 + 0.5 * 3 + 0.2 * 5."""
        rows = [row(asking, "a", ALL, 1, 3, 5), row(asking, "b", FREE, 5, 5), row(asking, "c", PUZZLE, 0, 1)]
        assert self.published(asking, *rows) == {"Accuracy": 1 / 3, "Score": pytest.approx((3.4 + 5 + 3.8) / 3)}
        assert rows[0].scores["score"] == pytest.approx(2.8)

    def test_their_script_stops_at_a_picture_that_is_missing(self, asking):
        lost = judgement(asking, sample("b"), Status.EDIT_FAILED, reason="no picture")
        with pytest.raises(Missing, match="stops at `b`: no picture"):
            self.published(asking, row(asking, "a", ALL, 5, 5, 5), lost)

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
        one = row(asking, "a", ALL, 5, text, 5)
        if isinstance(score, str):
            with pytest.raises(Missing, match=score):
                asking.published["Score"]([one])
        else:
            assert asking.published["Score"]([one]) == pytest.approx(score)


class TestUniREditPublished:
    @pytest.fixture(params=["ours", "official"])
    def asking(self, request, tmp_path):
        return official(tmp_path, UniREditBenchScores) if request.param == "official" else protocol(UniREditBenchScores)

    def test_nothing_is_halved_and_what_is_missing_is_left_out(self, asking):
        rows = [
            row(asking, "a", BOTH, 5, 1, 5),
            row(asking, "b", BOTH, 5, 5, 5),
            row(asking, "c", BOTH, 5, "?", 5),
            judgement(asking, sample("d"), Status.EDIT_FAILED, reason="no picture"),
        ]
        assert rows[0].scores["score"] == pytest.approx(3)
        assert asking.published["Score"](rows) == pytest.approx(4)
        assert asking.published["Accuracy"](rows) == 0.5
