"""`imgedit`: means worked out by hand, and the authors' number with each of their ways with failures."""

import json

import pytest
from judged import judged, judgement, sample

from edit_eval.errors import ConfigurationError
from edit_eval.protocols.contract import Missing
from edit_eval.published.imgedit import _LINES, TYPES, ImgEditScores
from edit_eval.records import Reply, Status


def protocol(**parameters):
    made = ImgEditScores.Parameters(**parameters)
    return ImgEditScores(made, json.loads(json.dumps(ImgEditScores.texts(made))))


def said(*numbers):
    return json.dumps({"reasoning": "So.", "score": list(numbers)})


def row(asking, name, kind, reply):
    return judged(asking, sample(name, kind), {kind: reply})


class TestOurs:
    def test_the_mean_of_three(self):
        assert row(protocol(), "a", "style", said(1, 5, 5)).scores == {"score": 11 / 3}

    def test_edits_without_a_type_have_one(self):
        one = sample(category="uge", facts={"asks": ["whole"]})
        assert judged(protocol(), one, {"whole": said(4)}).scores == {"score": 4}
        published = protocol().published["Overall"]
        three = [judged(protocol(), sample(n, "uge", facts={"asks": ["whole"]}), {"whole": said(4)}) for n in "ab"]
        assert published([*three, judged(protocol(), one, {"whole": said(3)})]) == 3.67

    def test_turns_have_no_number_of_theirs(self):
        one = sample(category="content_memory", facts={"asks": ["whole"]})
        with pytest.raises(Missing, match="the authors let people judge"):
            protocol().published["Overall"]([judged(protocol(), one, {"whole": said(4)})])


def test_the_authors_prompts_are_those_of_basic(tmp_path):
    (tmp_path / "prompts.json").write_text(json.dumps(dict.fromkeys(TYPES, "<edit_prompt>")))
    asking = protocol(prompts="official", prompts_path=str(tmp_path))
    assert asking.questions(sample(category="add"))
    with pytest.raises(ConfigurationError, match="has the prompts of the suite `basic` alone"):
        asking.questions(sample(category="uge", facts={"asks": ["whole"]}))


class TestPublished:
    """`step1_get_avgscore.py` and `step2_typescore.py` on the same replies give 3.67 and 3.5, and so 3.585."""

    @pytest.fixture(params=["ours", "official"])
    def asking(self, request, tmp_path):
        if request.param == "ours":
            return protocol()
        (tmp_path / "prompts.json").write_text(json.dumps(dict.fromkeys(TYPES, "<edit_prompt>")))
        return protocol(prompts="official", prompts_path=str(tmp_path))

    def reply(self, asking, kind, *numbers):
        if not asking.is_official:
            return said(*numbers)
        return "\n".join(f"{name}: {number}" for name, number in zip(_LINES[kind], numbers, strict=True))

    def rows(self, asking):
        replies = [("a", "add", 5, 5, 1), ("b", "style", 4, 4, 4), ("c", "style", 1, 3, 5)]
        return [row(asking, name, kind, self.reply(asking, kind, *numbers)) for name, kind, *numbers in replies]

    def test_by_hand(self, asking):
        assert asking.published["Overall"](self.rows(asking)) == (3.67 + 3.5) / 2

    def test_what_cannot_be_read_is_left_out(self, asking):
        rows = [*self.rows(asking), row(asking, "d", "add", "Who knows?"), row(asking, "e", "action", "?")]
        assert asking.published["Overall"](rows) == (3.67 + 3.5) / 2

    @pytest.mark.parametrize("status", [Status.EDIT_FAILED, Status.SKIPPED])
    def test_their_script_stops_at_what_is_missing(self, asking, status):
        rows = [*self.rows(asking), judgement(asking, sample("d"), status, reason="no picture")]
        with pytest.raises(Missing, match="the authors' script stops at `d`: no picture"):
            asking.published["Overall"](rows)

    def test_and_at_a_judge_that_failed(self, asking):
        failed = Reply(ended=Status.JUDGE_ERROR, final=True)
        with pytest.raises(Missing, match="stops at `d`"):
            asking.published["Overall"]([*self.rows(asking), row(asking, "d", "add", failed)])

    def test_there_is_none_before_all_is_judged(self, asking):
        later = judged(asking, sample("d"), {"add": "?"}, retries=2)
        with pytest.raises(Missing, match="not every edit has been judged yet"):
            asking.published["Overall"]([*self.rows(asking), later])
        with pytest.raises(Missing, match="no edit was judged"):
            asking.published["Overall"]([])

    def test_a_line_that_is_not_theirs_leaves_the_mean_alone(self, tmp_path):
        """What their `step1_get_avgscore.py` makes of `4.`, `4/5`, bold names and a 7."""
        (tmp_path / "prompts.json").write_text(json.dumps(dict.fromkeys(TYPES, "<edit_prompt>")))
        asking = protocol(prompts="official", prompts_path=str(tmp_path))
        for replies, wanted in (
            (("4.", "4", "3"), 3.5),
            (("4/5", "4", "3"), 3.5),
            (("7", "4", "4"), 5.0),
            (("1", "5", "5"), 3.67),
        ):
            text = self.reply(asking, "add", *replies)
            assert asking.published["Overall"]([row(asking, "a", "add", text)]) == wanted
        bold = self.reply(asking, "add", 2, 4, 5).replace("Prompt Compliance", "**Prompt Compliance**")
        assert asking.published["Overall"]([row(asking, "a", "add", bold)]) == 3.67
        assert asking.published["Overall"]([row(asking, "a", "add", bold.replace("**:", ":**"))]) == 4.5
