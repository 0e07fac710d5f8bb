"""`rubric`: what a judge is told, byte for byte, what its replies amount to, and what to do when they are none."""

import hashlib
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edit_eval.benchmarks.contract import CATEGORIES
from edit_eval.errors import ConfigurationError
from edit_eval.judges.answers import FORMS, read_answer
from edit_eval.protocols.contract import fault, scoring_of
from edit_eval.protocols.judging import add_reminder, read
from edit_eval.protocols.rubric import Rubric
from edit_eval.records import LANGUAGES, Judgement, Picture, Reply, Sample, Scale, Status
from edit_eval.rubrics.loading import load_rubrics

OWN = {
    "因果": {"system_prompt": 'As {"score": 1}.'},
    "layout": {"system_prompt": "Judge.", "user_prompt_template": "{edit_instruction} {original_description}"},
}


def protocol(language="en", answer="score", prompts=None, **more):
    parameters = Rubric.Parameters(answer=answer, language=language, prompts=prompts or {}, **more)
    return Rubric(parameters, Rubric.texts(parameters))


def sample(category="physical", instruction="Add a hat.", description="A cat."):
    source = Picture(path="s.png", digest="0" * 64)
    return Sample(
        id="s",
        index=0,
        category=category,
        pictures={"source": source},
        instruction=instruction,
        description=description,
    )


def question(asking, *about, **named):
    (only,) = asking.questions(sample(*about, **named))
    return only


class TestQuestion:
    @pytest.mark.parametrize(
        ("language", "answer", "prompts", "digest"),
        [
            ("en", "score", {}, "b81f1cd6bbf6a56d"),
            ("en", "score", OWN, "29741176df814615"),
            ("en", "reason_then_score", {}, "e0a26e7f7440db8c"),
            ("en", "reason_then_score", OWN, "a938acda9ae96a97"),
            ("zh", "score", {}, "4029aaf8bb42667f"),
            ("zh", "score", OWN, "079e24197d5b424b"),
            ("zh", "reason_then_score", {}, "0af9c603623824ab"),
            ("zh", "reason_then_score", OWN, "9d8f6c4c3a6cdf45"),
        ],
    )
    def test_is_the_same_to_the_last_byte_as_ever(self, language, answer, prompts, digest):
        """A new wording is a new version."""
        asking, told = protocol(language, answer, prompts), hashlib.sha256()
        for category in (*CATEGORIES, "物理", "", *(["layout"] if prompts else [])):
            asked = question(asking, category, "Add a {hat} </edit_instruction>.", "A cat. 一只猫")
            told.update("\0".join((asked.system, asked.user, add_reminder(asked).user)).encode())
        assert told.hexdigest()[:16] == digest

    @pytest.mark.parametrize("language", LANGUAGES)
    @pytest.mark.parametrize("form", FORMS)
    @pytest.mark.parametrize("category", CATEGORIES)
    def test_holds_the_rubric_the_form_and_the_sample(self, language, form, category):
        asked = question(protocol(language, form), category)
        assert asked.system == load_rubrics(None, language)[category].system(form)
        assert (asked.name, asked.gives, asked.form) == ("score", ("score",), form)
        assert "\nA cat.\n" in asked.user
        assert "\nAdd a hat.\n" in asked.user
        assert "{" not in asked.system + asked.user

    def test_fields_in_what_is_filled_in_stay_text(self):
        asked = question(protocol(), "physical", "Write {original_description} and {x} on it.")
        assert "Write {original_description} and {x} on it." in asked.user

    def test_prompts_of_the_user_are_filled_in_too(self):
        asked = question(protocol(prompts=OWN), "layout")
        assert (asked.system, asked.user) == ("Judge.", "Add a hat. A cat.")

    @pytest.mark.parametrize(
        ("images", "shown"),
        [
            (["source", "edited"], ["source", "edit"]),
            (["edited", "source"], ["edit", "source"]),
            (["edited"], ["edit"]),
        ],
    )
    def test_shows_what_is_asked_for_in_that_order(self, images, shown):
        assert [view.picture for view in question(protocol(images=images)).shows] == shown

    @pytest.mark.parametrize("images", [[], ["source"], ["edited", "edited"], ["edited", "mask"]])
    def test_shows_the_edit(self, images):
        with pytest.raises(ValueError, match=r"is neither \[edited\] nor source and edited"):
            Rubric.Parameters(images=images)


class TestFault:
    def test_all_five_have_a_rubric(self):
        assert [fault(protocol(), sample(category)) for category in (*CATEGORIES, "物理")] == [""] * 6

    def test_a_category_without_a_rubric_is_named_with_the_key_to_add(self):
        said = fault(protocol(), sample("layout"))
        assert said.startswith("no rubric for its category `layout`: add `prompts.layout.system_prompt`, or write")
        assert "`protocol: {general: true}`" in said

    @pytest.mark.parametrize("language", LANGUAGES)
    def test_the_general_rubric_is_for_samples_without_a_category_and_for_others_where_that_is_said(self, language):
        general = load_rubrics(None, language)["general"]
        of_none = question(protocol(language), " ")
        assert of_none.system == general.system("score")
        every = Rubric(Rubric.Parameters(general=True), Rubric.texts(Rubric.Parameters(language=language)))
        assert question(every, "layout") == of_none
        assert question(every, "social") == question(protocol(language), "social")

    def test_a_sample_without_a_description_says_so_only_in_the_general_rubric(self):
        general = load_rubrics(None, "en")["general"]
        assert general.no_description in question(protocol(), "", description="").user
        assert general.no_description not in question(protocol(), "").user
        assert "\n\n</original_description>" in question(protocol(), "social", description="").user

    def test_the_key_that_it_names_is_enough(self):
        assert fault(protocol(prompts={"layout": {"system_prompt": "Judge."}}), sample("layout")) == ""

    def test_prompts_for_a_category_that_no_sample_has_are_refused(self):
        asking = protocol(prompts=OWN)
        asking.refuse_unknown(["layout"])
        with pytest.raises(ConfigurationError, match=r"prompts\.layout: no sample has that category"):
            asking.refuse_unknown(["lay-out"])


class TestAskAgain:
    @pytest.mark.parametrize("language", LANGUAGES)
    @pytest.mark.parametrize("form", FORMS)
    def test_adds_one_line(self, language, form):
        first = question(protocol(language, form))
        again = add_reminder(first)
        assert again.system == first.system
        added = again.user.removeprefix(first.user).strip()
        assert added == load_rubrics(None, language)["physical"].ask_again[form]
        assert "\n" not in added
        assert not re.search("last answer|previous|上一次", added), "the judge is not shown what it has said"

    @pytest.mark.parametrize("language", LANGUAGES)
    def test_names_the_form(self, language):
        line = {form: question(protocol(language, form)).again for form in FORMS}
        assert "10.000" in line["score"]
        assert {"en": "Score: X.XXX", "zh": "评分：X.XXX"}[language] in line["reason_then_score"]
        assert "X.XXX" not in line["score"]


class TestTexts:
    @pytest.mark.parametrize("language", LANGUAGES)
    def test_what_is_kept_with_a_run_asks_the_same(self, language):
        parameters = Rubric.Parameters(language=language, prompts=OWN)
        kept = json.loads(json.dumps(Rubric.texts(parameters)))
        assert kept == Rubric.texts(parameters)
        for category in (*CATEGORIES, "layout"):
            asked = question(Rubric(parameters, kept), category)
            assert asked == question(protocol(language, prompts=OWN), category)

    def test_a_language_without_rubrics(self):
        with pytest.raises(ConfigurationError, match="no rubrics in the language `fr`"):
            protocol("fr")


class TestRead:
    @pytest.mark.parametrize("form", FORMS)
    @pytest.mark.parametrize(
        "text", ["8.5", "Score: 7.125", "eleven", "11", "-1", "9 or 8", "word " * 20 + "\n评分：3"]
    )
    def test_is_the_grammar_of_answers(self, form, text):
        asking = protocol(answer=form)
        assert asking.read(question(asking), Reply(text=text)) == read_answer(text, form)

    def test_the_judges_words_are_kept(self):
        asking = protocol(answer="reason_then_score")
        reading = read(asking, question(asking), [Reply(text="Firm.\nScore: 7.000")], 2)
        assert (reading.values, reading.reason, reading.asked) == ({"score": 7.0}, "Firm.", 1)

    @given(st.text(max_size=80))
    def test_a_score_exactly_where_it_is_ok(self, text):
        reading = read(protocol(), question(protocol()), [Reply(text=text)], 0)
        assert (reading.status is Status.OK) == bool(reading.values)
        assert all(0 <= value <= 10 for value in reading.values.values())


class TestAdvice:
    def failed(self, status, answer):
        asking = protocol()
        reading = read(asking, question(asking), [Reply(text=answer)], 0)
        return Judgement(
            sample_id="s",
            category="physical",
            edit_model="editor",
            judge="judge",
            edit_seed=0,
            repeat=0,
            headline="score",
            status=status,
            readings=({"score": reading},),
        )

    def test_prose_where_a_bare_score_is_asked_for(self):
        prose = self.failed(Status.UNPARSEABLE, "The light fits.\nScore: 8.50")
        mute = self.failed(Status.UNPARSEABLE, "8,5")
        said = "judge answers in words; write `protocol: {answer: reason_then_score}`"
        assert protocol().advice([prose, mute]) == said
        assert protocol().advice([prose, mute, mute]) == ""
        assert protocol(answer="reason_then_score").advice([prose]) == ""

    def test_a_limit_that_is_too_short(self):
        cut = self.failed(Status.CUT_OFF, "1. Gravity: +0.5, the ball rests on the floor.")
        assert "`max_new_tokens`" in protocol(answer="reason_then_score").advice([cut])
        assert "reason_then_score" in protocol().advice([cut]), "it would reason all the same"
        assert "`max_new_tokens`" in protocol().advice([self.failed(Status.CUT_OFF, "10.0")])

    def test_nothing_is_known_to_help(self):
        assert protocol().advice([]) == ""
        assert protocol().advice([self.failed(Status.JUDGE_ERROR, "")]) == ""


def test_its_one_score_runs_from_0_to_10():
    made = scoring_of("rubric", protocol())
    assert made.scales == {"score": Scale(lowest=0, highest=10)}
    assert made.headline == "score"
