"""What a judge is told, and what its answers amount to."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edit_eval.benchmarks.categories import CATEGORIES
from edit_eval.errors import ConfigurationError
from edit_eval.judges.answers import FORMS, read_answer
from edit_eval.protocols.rubric_score import Outcome, Prompt, RubricScore, way_out
from edit_eval.records import Answer, Judgement, Sample, Status
from edit_eval.rubrics.loading import LANGUAGES, load_rubrics


def protocol(language="en", form="score", retries=2, prompts=None):
    return RubricScore(load_rubrics(prompts, language), language, form, retries)


def sample(category="physical", instruction="Add a hat.", description="A cat."):
    return Sample("s", 0, category, "s.png", "0" * 64, instruction, description)


def judgement(status, score=None):
    return Judgement("k", "s", "physical", "editor", "judge", 0, 0, status, score)


class TestPrompt:
    @pytest.mark.parametrize("language", LANGUAGES)
    @pytest.mark.parametrize("form", FORMS)
    @pytest.mark.parametrize("category", CATEGORIES)
    def test_holds_the_rubric_the_form_and_the_sample(self, language, form, category):
        rubrics = load_rubrics(None, language)
        prompt = RubricScore(rubrics, language, form, 2).prompt(sample(category))
        assert prompt.system == rubrics[category].system(form)
        assert "\nA cat.\n" in prompt.user
        assert "\nAdd a hat.\n" in prompt.user
        assert "{" not in prompt.system + prompt.user

    def test_fields_in_what_is_filled_in_stay_text(self):
        prompt = protocol().prompt(sample(instruction="Write {original_description} and {x} on it."))
        assert "Write {original_description} and {x} on it." in prompt.user

    def test_prompts_of_the_user_are_filled_in_too(self):
        own = {"system_prompt": 'As {"score": 1}.', "user_prompt_template": "{edit_instruction} {original_description}"}
        prompt = protocol(prompts={"物理": own}).prompt(sample())
        assert prompt == Prompt('As {"score": 1}.', "Add a hat. A cat.")

    def test_a_category_by_its_word_in_the_file(self):
        assert protocol().prompt(sample("物理")) == protocol().prompt(sample("physical"))


class TestFault:
    def test_all_five_have_a_rubric(self):
        assert [protocol().fault(sample(category)) for category in (*CATEGORIES, "物理")] == [""] * 6

    def test_a_category_without_a_rubric_is_named_with_the_key_to_add(self):
        said = "no rubric for its category `layout`: add `prompts.layout.system_prompt`"
        assert protocol().fault(sample("layout")) == said
        assert protocol().fault(sample(" ")) == "it has no category, and so no rubric"

    def test_the_key_that_it_names_is_enough(self):
        assert protocol(prompts={"layout": {"system_prompt": "Judge."}}).fault(sample("layout")) == ""

    def test_a_sample_without_a_rubric_has_no_prompt(self):
        with pytest.raises(ConfigurationError, match=r"sample 0 \(s\): no rubric for its category `typography`"):
            protocol().prompt(sample("typography"))


class TestAskAgain:
    @pytest.mark.parametrize("language", LANGUAGES)
    @pytest.mark.parametrize("form", FORMS)
    def test_adds_one_line_and_only_once(self, language, form):
        asking = protocol(language, form)
        first = asking.prompt(sample())
        again = asking.ask_again(first)
        assert again.system == first.system
        assert again.user.startswith(first.user)
        added = again.user.removeprefix(first.user).strip()
        assert added == load_rubrics(None, language)["physical"].ask_again[form]
        assert "\n" not in added
        assert not re.search("last answer|previous|上一次", added), "the judge is not shown what it has said"
        assert asking.ask_again(again) == again

    @pytest.mark.parametrize("language", LANGUAGES)
    def test_names_the_form(self, language):
        line = {form: protocol(language, form).ask_again(Prompt("", "")).user for form in FORMS}
        assert "10.000" in line["score"]
        assert {"en": "Score: X.XXX", "zh": "评分：X.XXX"}[language] in line["reason_then_score"]
        assert "X.XXX" not in line["score"]


class TestJudgement:
    def test_nothing_asked_yet(self):
        assert protocol().judgement([]) == Outcome(Status.PENDING, None, "not asked yet", "", settled=False)

    def test_a_score_settles_at_once(self):
        outcome = protocol().judgement([Answer("8.5")])
        assert outcome == Outcome(Status.OK, 8.5, "", "8.5", settled=True)

    def test_the_first_readable_answer_decides(self):
        answers = [Answer("hm"), Answer("7"), Answer("9")]
        assert protocol().judgement(answers) == Outcome(Status.OK, 7.0, "", "7", settled=True)

    def test_the_judges_words_are_kept(self):
        outcome = protocol(form="reason_then_score").judgement([Answer("Firm.\nScore: 7.000")])
        assert (outcome.score, outcome.reason) == (7.0, "Firm.")

    def test_is_pending_while_the_judge_may_be_asked_again(self):
        asking = protocol(retries=2)
        answers = []
        for text in ("hm", "eleven"):
            answers.append(Answer(text))
            outcome = asking.judgement(answers)
            assert (outcome.status, outcome.score, outcome.settled) == (Status.PENDING, None, False)
            assert outcome.answer == text
            assert outcome.reason == read_answer(text).reason
        answers.append(Answer("11"))
        outcome = asking.judgement(answers)
        assert outcome == Outcome(Status.OUT_OF_RANGE, None, "the score 11 is outside of 0 to 10", "11", settled=True)

    @pytest.mark.parametrize(
        ("answer", "status"),
        [
            (Answer("hm"), Status.UNPARSEABLE),
            (Answer("-1"), Status.OUT_OF_RANGE),
            (Answer("I'm sorry, I can't assist with that."), Status.REFUSED),
            (Answer("", error="timed out"), Status.JUDGE_ERROR),
            (Answer("9", error="half an answer"), Status.JUDGE_ERROR),
            (Answer("9", ended=Status.CUT_OFF), Status.CUT_OFF),
            (Answer("9", ended=Status.REFUSED), Status.REFUSED),
        ],
    )
    def test_without_retries_the_one_answer_settles(self, answer, status):
        outcome = protocol(retries=0).judgement([answer])
        assert (outcome.status, outcome.score, outcome.settled) == (status, None, True)
        assert outcome.reason

    def test_the_last_answers_status_is_the_status(self):
        answers = [Answer("I cannot rate this."), Answer("hm"), Answer("", error="died")]
        outcome = protocol(retries=2).judgement(answers)
        assert (outcome.status, outcome.reason, outcome.settled) == (Status.JUDGE_ERROR, "died", True)

    def test_an_error_is_asked_again_and_then_read(self):
        assert not protocol(retries=1).judgement([Answer("", error="died")]).settled
        assert protocol(retries=1).judgement([Answer("", error="died"), Answer("6")]).score == 6.0

    def test_what_was_cut_off_is_asked_again_and_a_short_and_a_long_one_are_told_apart(self):
        asking = protocol(retries=1)
        cut = Answer("Score: 1", ended=Status.CUT_OFF)
        assert not asking.judgement([cut]).settled
        assert asking.judgement([cut, Answer("Score: 10.000")]).score == 10.0
        assert asking.judgement([Answer("Score: 1"), cut]).score == 1.0, "the same text, but it ended by itself"
        long = asking.judgement([cut, Answer("Score: 1", ended=Status.CUT_OFF, length=50_000_000)])
        assert (long.status, "50,000,000 characters" in long.reason) == (Status.CUT_OFF, True)

    def test_what_a_server_withheld_is_not_asked_again(self):
        outcome = protocol(retries=2).judgement([Answer("hm"), Answer("Score: 7", ended=Status.REFUSED)])
        assert (outcome.status, outcome.score, outcome.settled) == (Status.REFUSED, None, True)

    @given(st.lists(st.builds(Answer, st.text(max_size=20), st.sampled_from(["", "died"])), max_size=5))
    def test_a_score_exactly_where_it_is_ok(self, answers):
        outcome = protocol(retries=3).judgement(answers)
        assert (outcome.status is Status.OK) == (outcome.score is not None)
        assert outcome.settled == (outcome.status is not Status.PENDING)
        assert outcome.settled or len(answers) <= 3


class TestWayOut:
    def failed(self, status, answer):
        return Judgement("k", "s", "physical", "editor", "judge", 0, 0, status, answer=answer)

    def test_prose_where_a_bare_score_is_asked_for(self):
        prose = self.failed(Status.UNPARSEABLE, "The light fits.\nScore: 8.50")
        mute = self.failed(Status.UNPARSEABLE, "8,5")
        assert way_out("score", [prose, mute]) == (
            "judge answers in words; write `protocol: {answer: reason_then_score}`"
        )
        assert way_out("score", [prose, mute, mute]) == ""
        assert way_out("reason_then_score", [prose]) == ""

    def test_a_limit_that_is_too_short(self):
        cut = self.failed(Status.CUT_OFF, "1. Gravity: +0.5, the ball rests on the floor.")
        assert "`max_new_tokens`" in way_out("reason_then_score", [cut])
        assert "reason_then_score" in way_out("score", [cut]), "it would reason all the same"
        assert "`max_new_tokens`" in way_out("score", [self.failed(Status.CUT_OFF, "10.0")])

    def test_nothing_is_known_to_help(self):
        assert way_out("score", []) == ""
        assert way_out("score", [self.failed(Status.JUDGE_ERROR, "")]) == ""


class TestHeadline:
    def test_is_the_mean_of_the_scores_alone(self):
        judgements = [judgement(Status.OK, 8.0), judgement(Status.OK, 5.0)]
        failures = [judgement(status) for status in Status if status is not Status.OK]
        assert protocol().headline(judgements) == 6.5
        assert protocol().headline(judgements + failures) == 6.5

    def test_is_nothing_without_scores(self):
        assert protocol().headline([]) is None
        assert protocol().headline([judgement(Status.UNPARSEABLE)]) is None

    @given(st.lists(st.floats(0, 10), min_size=1))
    def test_lies_within_the_bounds(self, scores):
        headline = protocol().headline([judgement(Status.OK, score) for score in scores])
        assert min(scores) - 1e-9 <= headline <= max(scores) + 1e-9


def test_bounds_for_statistics():
    assert (RubricScore.lowest, RubricScore.highest) == (0.0, 10.0)


def test_impossible_settings():
    with pytest.raises(ConfigurationError, match=r"protocol.answer: `json` is no form of an answer"):
        protocol(form="json")
    with pytest.raises(ConfigurationError, match=r"protocol.retries: -1 is below 0"):
        protocol(retries=-1)
