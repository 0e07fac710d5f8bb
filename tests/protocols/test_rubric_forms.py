"""`rubric` in every form of the answer: what is asked, what replies amount to, and what is refused."""

import itertools
import json
import math

import pytest

from edit_eval.benchmarks.contract import CATEGORIES
from edit_eval.errors import ConfigurationError
from edit_eval.protocols.contract import fault, scoring_of
from edit_eval.protocols.judging import read
from edit_eval.protocols.rubric import LEVELS, Rubric
from edit_eval.records import LANGUAGES, Reply, Status
from edit_eval.rubrics.loading import RUBRICS, STEPS, load_rubrics
from protocols.judged import judged, sample
from protocols.test_rubric import protocol, question

V1, V2 = RUBRICS
CRITERIA = load_rubrics(None, "en")["physical"].criteria
OWN = {"causal": {"system_prompt": "Judge."}}
EVERY = [
    {"rubric": rubric, "language": language, **form}
    for rubric in RUBRICS
    for language in LANGUAGES
    for form in (
        {"answer": "score"},
        {"answer": "reason_then_score"},
        {"answer": "json"},
        {"answer": "labels"},
        {"answer": "probabilities"},
        *([{"answer": "probabilities", "asked": "one_by_one"}] if rubric == V2 else []),
    )
]


def written(asking, limit, steps, category="physical", **more):
    """The object that a judge would write."""
    names = question(asking, category).gives
    return json.dumps({**more, **dict(zip(names, (limit, *steps), strict=True))})


def shares(asked, chosen):
    """A reply to each question about an item, certain of the letter that `chosen` gives it."""
    return {
        part.name: Reply(values={label: float(label == chosen[part.name]) for label in part.labels}) for part in asked
    }


@pytest.mark.parametrize("about", EVERY, ids=lambda about: "-".join(about.values()))
@pytest.mark.parametrize("category", [*CATEGORIES, ""])
def test_every_form_can_be_asked_and_is_kept_with_a_run(about, category):
    asking = protocol(**about)
    subject = sample(category=category)
    assert fault(asking, subject) == ""
    for asked in asking.questions(subject):
        assert asked.form == about["answer"]
        assert not {"{form}", "{images}", "{name}", "{number}"} & {*asked.system.split(), *asked.user.split()}
        assert "{form}" not in asked.system
        assert "{" not in asked.user
    parameters = Rubric.Parameters(**about)
    again = Rubric(parameters, json.loads(json.dumps(Rubric.texts(parameters))))
    assert again.questions(subject) == asking.questions(subject)
    assert scoring_of("rubric", again) == scoring_of("rubric", asking)


class TestJson:
    def test_the_schema_has_reasons_then_how_much_was_done_then_the_criteria(self):
        schema = json.loads(question(protocol(answer="json")).schema)
        assert list(schema["properties"]) == ["reasons", "Change made", *CRITERIA]
        assert schema["properties"]["Change made"]["enum"] == ["A", "B"]
        assert all(schema["properties"][name]["minimum"] == -1 for name in CRITERIA)
        chinese = json.loads(question(protocol("zh", "json")).schema)["properties"]
        assert list(chinese)[:2] == ["理由", "改动完成"]

    def test_the_prompt_shows_the_object_that_the_schema_describes(self):
        asked = question(protocol(answer="json", rubric=V2))
        shown = asked.system.splitlines()[-1].replace("NUMBER", "0")
        assert list(json.loads(shown)) == list(json.loads(asked.schema)["properties"])

    def test_what_criteria_add_is_added_up_here(self):
        asking = protocol(answer="json")
        said = written(asking, "A", (0.5, 1, -0.25, 0, -1), reasons="The hat floats.")
        judgement = judged(asking, sample(category="physical"), {"score": said})
        assert judgement.score == 5.25
        assert judgement.scores["Material and surface"] == 0.0
        assert judgement.scores["Anatomy and structure"] == -1.0
        assert judgement.scores["Change made"] == 10.0
        assert judgement.readings[0]["score"].reason == "The hat floats."

    def test_a_score_is_no_higher_than_what_was_done_allows(self):
        asking = protocol(answer="json", rubric=V2)
        best = (1,) * 5
        by_letter = {
            letter: judged(
                asking, sample(category="social"), {"score": written(asking, letter, best, "social", reasons="")}
            )
            for letter in "ABCD"
        }
        assert {letter: judgement.score for letter, judgement in by_letter.items()} == {"A": 10, "B": 7, "C": 4, "D": 0}

    def test_parts_are_those_of_the_samples_own_category(self):
        asking = protocol(answer="json")
        judgement = judged(
            asking, sample(category="causal"), {"score": written(asking, "A", [0] * 5, "causal", reasons="")}
        )
        causal = load_rubrics(None, "en")["causal"].criteria
        assert {*judgement.scores} == {"score", "Change made", *causal}
        assert judgement.missing == {}
        assert judgement.outcome("Gravity and support") is None, "it does not apply"
        parts = scoring_of("rubric", asking).parts
        assert len(parts) == 2 + 30
        assert "score" not in parts

    @pytest.mark.parametrize(
        ("changes", "status"),
        [
            ({"Light and shadow": 1.5}, Status.OUT_OF_RANGE),
            ({"Light and shadow": "B"}, Status.UNPARSEABLE),
            ({"Change made": "D"}, Status.UNPARSEABLE),
            ({"score": 7.5}, Status.UNPARSEABLE),
        ],
    )
    def test_what_is_not_in_form_leaves_no_score_and_no_part(self, changes, status):
        asking = protocol(answer="json")
        said = json.dumps({**json.loads(written(asking, "A", [0] * 5, reasons="")), **changes})
        judgement = judged(asking, sample(category="physical"), {"score": said})
        assert (judgement.status, judgement.scores) == (status, {})
        assert {*judgement.missing} == {"score", "Change made", *CRITERIA}

    def test_a_refusal_is_one_and_what_was_cut_off_is_not_read(self):
        asking = protocol(answer="json")
        asked = question(asking)
        assert read(asking, asked, [Reply(text="I'm sorry, I can't assist with that.")], 0).status is Status.REFUSED
        whole = written(asking, "A", [0] * 5, reasons="")
        assert read(asking, asked, [Reply(text=whole, ended=Status.CUT_OFF)], 0).status is Status.CUT_OFF


class TestLabels:
    @pytest.mark.parametrize("rubric", RUBRICS)
    def test_the_best_and_the_worst_are_reached_and_every_sum_is_on_the_scale(self, rubric):
        asking = protocol(answer="labels", rubric=rubric)
        about = sample(category="environmental")
        limits = load_rubrics(None, "en", rubric)["environmental"].highest
        scores = {}
        for limit, *letters in itertools.product(limits, *["ABC"] * 5):
            said = written(asking, limit, letters, "environmental")
            scores[limit, *letters] = judged(asking, about, {"score": said}).score
        assert scores["A", *"AAAAA"] == max(scores.values()) == 10
        assert scores["A", *"CCCCC"] == min(scores.values()) == 0
        assert scores["A", *"ABBBC"] == 5
        assert all(score <= limits[limit] for (limit, *_), score in scores.items())

    def test_one_letter_a_criterion_and_nothing_else(self):
        asking = protocol("zh", "labels", rubric=V2)
        properties = json.loads(question(asking).schema)["properties"]
        assert {name: entry["enum"] for name, entry in properties.items()} == {
            "完成程度": [*"ABCD"],
            **{name: [*"ABC"] for name in load_rubrics(None, "zh", V2)["physical"].criteria},
        }
        for wrong in ("D", "A+", "1", "加分"):
            judgement = judged(asking, sample(category="physical"), {"score": written(asking, "A", [wrong, *"AAAA"])})
            assert judgement.status is Status.UNPARSEABLE


class TestProbabilities:
    @pytest.mark.parametrize(("level", "score"), [("0", 0.0), ("9", 10.0), ("3", 10 / 3)])
    def test_a_certain_level_is_its_share_of_the_scale(self, level, score):
        asking = protocol(answer="probabilities")
        reply = Reply(values={label: float(label == level) for label in LEVELS})
        reading = read(asking, question(asking), [reply], 0)
        assert reading.values == {"score": pytest.approx(score)}

    def test_the_score_is_the_expected_level_of_what_is_legal(self):
        asking = protocol(answer="probabilities")
        values = dict.fromkeys(LEVELS, 0.0) | {"5": 0.2, "6": 0.4, "7": 0.2}
        reading = read(asking, question(asking), [Reply(values=values)], 0)
        assert reading.values == {"score": pytest.approx(60 / 9)}
        assert reading.mass == pytest.approx(0.8)

    def test_the_ends_are_never_left_by_rounding(self):
        asking = protocol(answer="probabilities")
        values = dict.fromkeys(LEVELS, 0.0) | {"9": 0.1 + 0.2 + 0.3}
        assert read(asking, question(asking), [Reply(values=values)], 0).values["score"] <= 10


class TestOneByOne:
    asking = protocol(answer="probabilities", rubric=V2, asked="one_by_one")

    def test_a_question_for_each_item_with_its_letters(self):
        asked = self.asking.questions(sample(category="physical"))
        assert [part.name for part in asked] == ["Fulfilment", *CRITERIA]
        assert [part.labels for part in asked] == [tuple("ABCD"), *[tuple("ABC")] * 5]
        assert len({part.system for part in asked}) == 1, "what they have in common comes first: servers reuse it"
        assert all(part.user.endswith(f'Answer about "{part.name}" alone, with its letter.') for part in asked)
        common = asked[0].user.partition("Answer about")[0]
        assert all(part.user.startswith(common) for part in asked)

    @pytest.mark.parametrize(
        ("limit", "letters", "score"),
        [("A", "AAAAA", 10), ("A", "CCCCC", 0), ("B", "AAAAA", 7), ("C", "ABBBC", 4), ("D", "AAAAA", 0)],
    )
    def test_certain_letters_make_the_score_that_they_make_as_labels(self, limit, letters, score):
        about = sample(category="physical")
        chosen = dict(zip(("Fulfilment", *CRITERIA), (limit, *letters), strict=True))
        judgement = judged(self.asking, about, shares(self.asking.questions(about), chosen))
        assert judgement.score == pytest.approx(score)
        assert judgement.scores["Gravity and support"] == STEPS[letters[0]]

    def test_the_expected_score_is_that_over_all_that_can_be(self):
        about = sample(category="physical")
        asked = self.asking.questions(about)
        tables = {}
        for number, part in enumerate(asked, 1):
            weights = {label: 1 + place * number for place, label in enumerate(part.labels)}
            tables[part.name] = {label: 0.9 * weight / sum(weights.values()) for label, weight in weights.items()}
        judgement = judged(self.asking, about, {name: Reply(values=table) for name, table in tables.items()})
        whole = {name: {k: v / math.fsum(t.values()) for k, v in t.items()} for name, t in tables.items()}
        limits = load_rubrics(None, "en", V2)["physical"].highest
        expected = 0.0
        for letters in itertools.product(*whole.values()):
            share = math.prod(table[letter] for table, letter in zip(whole.values(), letters, strict=True))
            expected += share * min(limits[letters[0]], 5 + sum(STEPS[letter] for letter in letters[1:]))
        assert judgement.score == pytest.approx(expected)
        first = whole["Gravity and support"]
        assert judgement.scores["Gravity and support"] == pytest.approx(first["A"] - first["C"])
        assert judgement.readings[0]["Light and shadow"].mass == pytest.approx(0.9)

    def test_an_item_below_the_floor_leaves_the_score_and_itself_missing_alone(self):
        about = sample(category="physical")
        asked = self.asking.questions(about)
        replies = shares(asked, dict.fromkeys(("Fulfilment", *CRITERIA), "A"))
        replies["Light and shadow"] = Reply(values={"A": 0.2, "B": 0.1, "C": 0.0})
        judgement = judged(self.asking, about, replies)
        assert (judgement.status, {*judgement.missing}) == (Status.UNPARSEABLE, {"score", "Light and shadow"})
        assert judgement.scores["Gravity and support"] == 1


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("about", "why"),
        [
            ({"answer": "json", "prompts": OWN}, r"prompts\.causal: `answer: json` is about the built-in criteria"),
            ({"answer": "probabilities", "asked": "one_by_one"}, "takes `rubric: five_dimensions.v2`"),
        ],
    )
    def test_what_a_wording_cannot_be_asked_is_refused_with_the_remedy(self, about, why):
        with pytest.raises(ConfigurationError, match=why):
            protocol(**about)

    @pytest.mark.parametrize(
        ("about", "why"), [({"asked": "one_by_one"}, "needs `answer: probabilities`; this is `answer: score`")]
    )
    def test_what_cannot_be_meant_is_refused(self, about, why):
        with pytest.raises(ValueError, match=why):
            Rubric.Parameters(**about)

    def test_a_wording_of_the_users_own_may_say_where_the_images_are(self):
        own = {"layout": {"system_prompt": "Judge.", "user_prompt_template": "{images}\n{edit_instruction}"}}
        asked = question(protocol(prompts=own, rubric=V2, images=["edited", "source"]), "layout")
        assert asked.user.startswith("Image 1 is the edited image")
        with pytest.raises(ConfigurationError, match=r"no such field `\{images\}`"):
            protocol(prompts=own)
