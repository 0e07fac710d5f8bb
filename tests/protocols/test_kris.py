"""`kris`: numbers to 100, the mean over all of them, and what the authors read where there is no JSON."""

import json

import pytest
from judged import judged, judgement, sample

from edit_eval.protocols.contract import Missing
from edit_eval.published.kris import KrisScores
from edit_eval.records import Status

PLAIN = ("consistency", "instruction", "quality")
KNOWING = ("consistency", "knowledge", "quality")


def protocol(**parameters):
    made = KrisScores.Parameters(**parameters)
    return KrisScores(made, json.loads(json.dumps(KrisScores.texts(made))))


def official(folder):
    texts = {one.text for one in KrisScores.official.values()}
    (folder / "prompts.py").write_text("\n".join(f"{name} = 'Of {{instruct}}'" for name in texts))
    return protocol(prompts="official", prompts_path=str(folder))


def row(asking, name, category, asks, *numbers):
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
    assert row(asking, "a", "biology", KNOWING, 1, (5, 2), 4).scores == {
        "AVG": (0 + 100 + 25 + 75) / 4,
        "VC": 0,
        "VQ": 75,
        "IF": 100,
        "KP": 25,
    }
    assert "KP" not in row(asking, "a", "color_change", PLAIN, 5, 5, 5).scores


class TestPublished:
    def published(self, asking, *rows):
        found = {}
        for name, number in asking.published.items():
            try:
                found[name] = number(rows)
            except Missing as why:
                found[name] = why.reason
        return found

    def test_every_number_weighs_the_same(self, asking):
        rows = [row(asking, "a", "biology", KNOWING, 1, (5, 2), 4), row(asking, "b", "color_change", PLAIN, 5, 5, 3)]
        assert self.published(asking, *rows) == {
            "Overall": 450 / 7,
            "factual": 250 / 3,
            "conceptual": 50,
            "procedural": "no edit has all of its numbers",
        }

    def test_an_edit_without_one_of_its_numbers_is_left_out(self, asking):
        rows = [
            row(asking, "a", "biology", KNOWING, 1, (5, 2), 4),
            row(asking, "b", "color_change", PLAIN, 5, 5, "no"),
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
        one = row(asking, "a", "color_change", PLAIN, 1, 1, text)
        wanted = "no edit has all of its numbers" if number is None else pytest.approx((number - 1) * 25 / 3)
        assert self.published(asking, one)["Overall"] == wanted

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
        one = row(asking, "a", "biology", KNOWING, 1, text, 1)
        found = self.published(asking, one)["Overall"]
        if numbers is None:
            assert found == "no edit has all of its numbers"
        else:
            assert found == pytest.approx(sum((number - 1) * 25 for number in numbers) / 4)
