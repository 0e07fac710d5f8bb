"""`viescore`: two questions, numbers worked out by hand, and the authors' own number beside ours."""

import json
import math
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judged import judged, judgement, sample

from edit_eval.errors import ConfigurationError
from edit_eval.protocols.contract import Missing, fault, scoring
from edit_eval.protocols.replies import advice_on_limits
from edit_eval.published.gedit import VIEScore
from edit_eval.records import LANGUAGES, Reply, Scale, Status

AUTHORS = '''# This file is generated automatically

_context_no_delimit = """Judge.
{
"score" : [...]
}"""

_prompts_0shot_two_image_edit_rule = """Two."""

_prompts_0shot_tie_rule_SC = """
Instruction: <instruction>
"""

_prompts_0shot_rule_PQ = """One.
"""

raise SystemExit("run")
'''


def protocol(**parameters):
    made = VIEScore.Parameters(**parameters)
    return VIEScore(made, json.loads(json.dumps(VIEScore.texts(made))))


def both(first, second):
    return {"SC": json.dumps({"reasoning": "So.", "score": first}), "PQ": json.dumps({"score": second})}


class TestQuestions:
    @pytest.mark.parametrize("language", LANGUAGES)
    def test_pq_is_blind_to_source_and_instruction(self, language):
        success, quality = protocol(language=language).questions(sample())
        assert (success.name, quality.name) == ("SC", "PQ")
        assert [view.picture for view in success.shows] == ["source", "edit"]
        assert [view.picture for view in quality.shows] == ["edit"]
        assert "<edit_instruction>\nAdd a hat.\n</edit_instruction>" in success.user
        assert not re.search(r"\bhat\b|<edit_instruction>", quality.system + quality.user)
        assert {success.form, quality.form} == {"json"}
        assert '{"reasoning": "' in success.again
        for asked in (success, quality):
            entries = json.loads(asked.schema)["properties"]
            assert list(entries) == ["reasoning", "score"]
            assert (entries["score"]["items"]["minimum"], entries["score"]["items"]["maximum"]) == (0, 10)
            assert entries["score"]["minItems"] == entries["score"]["maxItems"] == 2

    def test_a_wording_that_is_not_ours_is_held_to_no_schema_of_ours(self):
        own = {"SC": {"system_prompt": "Two numbers."}, "PQ": {"user_prompt_template": "Look."}}
        success, quality = protocol(prompts=own).questions(sample())
        assert (success.schema, bool(quality.schema)) == ("", True)

    def test_the_edit_has_the_sources_size_or_its_own(self):
        assert [one.shows[-1].steps for one in protocol().questions(sample())] == [(("like", "source"),)] * 2
        assert [one.shows[-1].steps for one in protocol(edit_size="own").questions(sample())] == [(), ()]

    def test_no_sample_lacks_anything(self):
        assert fault(protocol(), sample(category="")) == ""


class TestPrompts:
    def test_the_authors_words_are_put_together_as_they_do_and_their_file_is_not_run(self, tmp_path):
        (tmp_path / "vie_prompts.py").write_text(AUTHORS)
        for path in (tmp_path, tmp_path / "vie_prompts.py"):
            asking = protocol(prompts="official", prompts_path=str(path))
            success, quality = asking.questions(sample(instruction="Add {x} <instruction>."))
            context = 'Judge.\n{\n"score" : [...]\n}'
            assert (success.system, quality.system) == ("", "")
            assert success.user == f"{context}\nTwo.\n\nInstruction: Add {{x}} <instruction>.\n"
            assert quality.user == f"{context}\nOne.\n"

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            (None, r"protocol\.prompts_path: cannot read .*vie_prompts\.py: No such file"),
            ("x = (", r"vie_prompts\.py is no Python file"),
            ("_context_no_delimit = 'x'", "has no `_prompts_0shot_two_image_edit_rule`"),
        ],
    )
    def test_what_is_not_the_authors_file(self, tmp_path, text, said):
        if text is not None:
            (tmp_path / "vie_prompts.py").write_text(text)
        with pytest.raises(ConfigurationError, match=said):
            protocol(prompts="official", prompts_path=str(tmp_path))

    def test_a_path_is_for_official_prompts(self):
        with pytest.raises(ValueError, match="prompts_path is for prompts: official"):
            VIEScore.Parameters(prompts_path="x")

    @pytest.mark.parametrize("as_file", [True, False])
    def test_the_users_own_replace_a_part(self, tmp_path, as_file):
        own = {"PQ": {"system_prompt": "How good?"}}
        (tmp_path / "own.yaml").write_text(json.dumps(own))
        asking = protocol(prompts=str(tmp_path / "own.yaml") if as_file else own)
        assert asking.questions(sample())[1].system == "How good?"
        assert asking.questions(sample())[0] == protocol().questions(sample())[0]

    def test_none_are_ours(self):
        assert protocol(prompts={}).questions(sample()) == protocol().questions(sample())

    @pytest.mark.parametrize(
        ("own", "said"),
        [
            (
                {"physical": {"system_prompt": "x"}},
                r"prompts\.physical: viescore has no such question; there are SC and",
            ),
            ({"SC": {"system": "x"}}, r"prompts\.SC\.system: no such key; did you mean `system_prompt`"),
            ({"SC": {"system_prompt": "{instruction}"}}, r"did you mean `\{edit_instruction\}`"),
        ],
    )
    def test_mistakes_in_them_are_named(self, own, said):
        with pytest.raises(ConfigurationError, match=said):
            protocol(prompts=own)

    @pytest.mark.parametrize(("text", "said"), [("- a", "must be a mapping"), ("a: [", "is not valid YAML")])
    def test_a_file_that_is_none(self, tmp_path, text, said):
        (tmp_path / "own.yaml").write_text(text)
        with pytest.raises(ConfigurationError, match=said):
            protocol(prompts=str(tmp_path / "own.yaml"))


class TestScores:
    def test_by_hand(self):
        row = judged(protocol(), sample(), both([8, 9], [7, 9]))
        numbers = {"success": 8, "restraint": 9, "naturalness": 7, "no_artifacts": 9}
        assert row.scores == {"SC": 8, "PQ": 7, "O": math.sqrt(56), **numbers}
        assert scoring("viescore", protocol()).parts == tuple(numbers)
        assert row.readings[0]["SC"].reason == "So."

    def test_no_success_is_no_score(self):
        found = judged(protocol(), sample(), both([0, 10], [9, 9])).scores
        assert [found[name] for name in ("SC", "PQ", "O")] == [0, 9, 0]

    def test_one_side_that_cannot_be_read_leaves_the_other(self):
        row = judged(protocol(), sample(), {"SC": "[4, 5]", "PQ": "?"})
        assert row.scores == {"SC": 4, "success": 4, "restraint": 5}
        lacking = dict.fromkeys(("PQ", "O", "naturalness", "no_artifacts"), Status.UNPARSEABLE)
        assert {name: why[0] for name, why in row.missing.items()} == lacking

    def test_scales(self):
        made = scoring("viescore", protocol())
        assert made.headline == "O"
        assert set(made.scales.values()) == {Scale(lowest=0, highest=10, mean_over="categories")}

    @given(st.text(max_size=60), st.text(max_size=60))
    def test_junk_never_raises_and_never_gives_a_score_out_of_range(self, first, second):
        row = judged(PROTOCOL, sample(), {"SC": first, "PQ": second})
        assert all(0 <= score <= 10 for score in row.scores.values())
        assert {*row.scores, *row.missing} == {*PROTOCOL.scores}


PROTOCOL = protocol()


class TestPublished:
    """The formula of `calculate_statistics.py`: means of the task types' means, over what was edited."""

    def rows(self, asking):
        replies = [("a", "add", [8, 9], [7, 9]), ("b", "add", [4, 5], [10, 4]), ("c", "style", [6, 6], [6, 10])]
        rows = [judged(asking, sample(name, kind), both(*scores)) for name, kind, *scores in replies]
        return [*rows, judgement(asking, sample("d", "style"), Status.EDIT_FAILED, reason="no picture")]

    def test_by_hand(self):
        asking = protocol()
        found = {name: number(self.rows(asking)) for name, number in asking.published.items()}
        assert found["G_SC"] == ((8 + 4) / 2 + 6) / 2
        assert found["G_PQ"] == ((7 + 4) / 2 + 6) / 2
        assert found["G_O"] == pytest.approx(((math.sqrt(56) + 4) / 2 + 6) / 2)

    @pytest.mark.parametrize("said", ["?", '{"score": [11, 3]}', Reply(ended=Status.REFUSED), Reply(text="8, ")])
    def test_what_cannot_be_read_is_guessed_with_a_seed_and_refused_without(self, said):
        replies = both([8, 9], [7, 9]) | {"PQ": said}
        rows = [judged(protocol(), sample("a"), replies), judged(protocol(), sample("b"), both([1, 1], [4, 4]))]
        guess = random.Random("7 a 0 0 PQ").randint(0, 10)
        found = protocol(guess_seed=7).published["G_O"]
        assert found(rows) == found(rows[::-1]) == pytest.approx((math.sqrt(8 * guess) + 2) / 2)
        with pytest.raises(Missing, match=r"PQ of `a` cannot be read, .* set `protocol\.guess_seed`"):
            protocol().published["G_SC"](rows)

    def test_a_category_without_any_edit_has_no_number(self):
        asking = protocol(guess_seed=7)
        rows = [*self.rows(asking)[:2], judgement(asking, sample("d", "style"), Status.EDIT_FAILED, reason="x")]
        with pytest.raises(Missing, match="no edit of `style` was judged"):
            asking.published["G_O"](rows)
        with pytest.raises(Missing, match="no edit was judged"):
            asking.published["G_O"]([])

    def test_there_is_none_before_all_is_judged(self):
        rows = [judged(protocol(), sample("a"), both([8, 9], [7, 9]) | {"SC": "?"}, retries=2)]
        assert rows[0].status is Status.PENDING
        with pytest.raises(Missing, match="not every edit has been judged yet"):
            protocol(guess_seed=7).published["G_O"](rows)


def test_answers_that_are_cut_off_have_a_way_out():
    cut = judged(protocol(), sample(), both([1, 2], [3, 4]) | {"SC": Reply(text='{"rea', ended=Status.CUT_OFF)})
    assert "`max_new_tokens`" in advice_on_limits([cut])
    assert advice_on_limits([]) == ""
