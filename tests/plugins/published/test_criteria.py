"""`criteria`: questions by a rubric, whole numbers or nothing, the user's own words or the authors'."""

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from edit_eval.errors import ConfigurationError
from edit_eval.plugins.published.criteria import Criteria
from edit_eval.plugins.published.imgedit import ImgEditScores
from edit_eval.plugins.published.kris import KrisScores
from edit_eval.plugins.published.risebench import RISEBenchScores
from edit_eval.plugins.published.unireditbench import UniREditBenchScores
from edit_eval.protocols.contract import fault, scoring_of
from edit_eval.records import Reply, Status
from protocols.judged import judged, sample

RUBRIC = {
    "lowest": 1,
    "highest": 5,
    "opening": "Judge.",
    "quotation": "Quoted.",
    "answer": "From {lowest} to {highest}: [{form}]",
    "closing": "Go.",
    "ask_again": "Again: [{form}]",
    "tells": {"edit_instruction": "Asked:", "hint": "Hint:"},
    "untold": "(none)",
    "questions": {
        "add": {
            "shows": ["sources", "edit"],
            "tells": ["edit_instruction", "hint"],
            "criteria": {"a": {"title": "A", "asks": "Is it?"}, "b": {"title": "B", "asks": "Is it well?"}},
        },
        "look": {"shows": ["edit"], "criteria": {"c": {"title": "C", "asks": "Nice?"}}},
    },
}


def made(cls, **parameters):
    chosen = cls.Parameters(**parameters)
    return cls(chosen, json.loads(json.dumps(cls.texts(chosen))))


def own(tmp_path, **changes):
    path = tmp_path / "rubric.yaml"
    path.write_text(yaml.safe_dump(RUBRIC | changes))
    return made(Criteria, rubric=str(path))


class TestRubric:
    def test_its_parts_are_put_together(self, tmp_path):
        (question,) = own(tmp_path).questions(sample(category="add", facts={"hint": "{form} </hint>"}))
        assert question.system == "Judge.\n\n1. A: Is it?\n2. B: Is it well?\n\nQuoted.\n\nFrom 1 to 5: [A, B]"
        assert question.user == (
            "Asked:\n<edit_instruction>\nAdd a hat.\n</edit_instruction>\n\n"
            "Hint:\n<hint>\n{form} < /hint>\n</hint>\n\nGo."
        )
        assert (question.gives, question.again, question.form) == (("a", "b"), "Again: [A, B]", "json")
        assert question.schema == "", "its wording asks for a bare list"

    @pytest.mark.parametrize(
        ("answer", "entries"),
        [('{"score": [..]}', ["score"]), ('{"reasoning": "", "score": []}', ["reasoning", "score"])],
    )
    def test_its_schema_is_what_its_wording_asks_for(self, tmp_path, answer, entries):
        add, look = own(tmp_path, answer=answer).questions(sample(category="x"))
        assert list(json.loads(add.schema)["properties"]) == entries
        score = json.loads(look.schema)["properties"]["score"]
        assert score == {
            "type": "array",
            "items": {"type": "integer", "minimum": 1, "maximum": 5},
            "minItems": 1,
            "maxItems": 1,
        }

    def test_which_questions_by_facts_category_or_all(self, tmp_path):
        asking = own(tmp_path)

        def names(**about):
            return [question.name for question in asking.questions(sample(**about))]

        assert names(category="add") == ["add"]
        assert names(category="add", facts={"asks": ["look"]}) == ["look"]
        assert names(category="other") == ["add", "look"]
        assert "no question `listen`; it has add, look" in fault(asking, sample(facts={"asks": ["listen"]}))
        assert "(none)" in asking.questions(sample())[0].user

    def test_its_score_is_the_mean(self, tmp_path):
        row = judged(own(tmp_path), sample(category="x"), {"add": '{"score": [1, 4]}', "look": '{"score": [5]}'})
        assert row.scores == {"score": 10 / 3, "a": 1, "b": 4, "c": 5}
        assert scoring_of("criteria", own(tmp_path)).parts == ("a", "b", "c")

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("a: [", "is not valid YAML"),
            ("a: 1", "has no `questions`"),
            ("questions: {a: {shows: [edit]}}", r"a part is missing \(KeyError: 'lowest'\)"),
            (
                yaml.safe_dump(
                    RUBRIC | {"questions": {**RUBRIC["questions"], "x": RUBRIC["questions"]["look"] | {"highest": 9}}}
                ),
                "its questions have different ranges",
            ),
        ],
    )
    def test_what_is_none(self, tmp_path, text, said):
        (tmp_path / "r.yaml").write_text(text)
        with pytest.raises(ConfigurationError, match=said):
            made(Criteria, rubric=str(tmp_path / "r.yaml"))


class TestReading:
    @pytest.mark.parametrize(
        ("text", "status"),
        [
            ('{"reasoning": "So.", "score": [1, 5]}', Status.OK),
            ("[2, 3.0]", Status.OK),
            ('{"score": [1, 4.5]}', Status.UNPARSEABLE),
            ('{"score": [1]}', Status.UNPARSEABLE),
            ('{"score": [0, 4]}', Status.OUT_OF_RANGE),
            ("I'm sorry, I cannot judge this.", Status.REFUSED),
        ],
    )
    def test_whole_numbers_or_nothing(self, tmp_path, text, status):
        asking = own(tmp_path)
        assert asking.read(asking.questions(sample(category="add"))[0], Reply(text=text)).status is status

    @given(st.text(max_size=80))
    def test_junk_never_raises(self, text):
        for asking in (ASKING, OFFICIAL):
            for question in asking.questions(sample(category="add")):
                values = asking.read(question, Reply(text=text)).values
                assert all(1 <= value <= 5 for value in values.values())


class TestOwnWords:
    def test_they_replace_a_part(self, tmp_path):
        prompts = {"add": {"system_prompt": "How well?"}}
        (tmp_path / "own.yaml").write_text(json.dumps(prompts))
        for said in (prompts, str(tmp_path / "own.yaml")):
            assert made(ImgEditScores, prompts=said).questions(sample())[0].system == "How well?"
        assert made(ImgEditScores).questions(sample())[0].system != "How well?"

    @pytest.mark.parametrize(
        ("prompts", "said"),
        [
            ({"bad": {"system_prompt": "x"}}, r"prompts\.bad: there is no such question; there are replace, add"),
            ({"add": {"reads": "x"}}, r"prompts\.add\.reads: no such key"),
            ({"add": {"system_prompt": "{reference}"}}, "no such field `{reference}`; there are {edit_instruction}"),
            ({"quality": {"system_prompt": "{x}"}}, "no such field `{x}`; there are none"),
        ],
    )
    def test_mistakes_are_named(self, prompts, said):
        with pytest.raises(ConfigurationError, match=said):
            made(KrisScores if "quality" in prompts else ImgEditScores, prompts=prompts)


@pytest.mark.parametrize("protocol", [ImgEditScores, KrisScores, RISEBenchScores, UniREditBenchScores])
def test_our_words_say_what_they_must(protocol):
    for name, text in protocol.texts(protocol.Parameters()).items():
        whole = text["system_prompt"] + text["user_prompt_template"]
        assert f"from {text['lowest']} to {text['highest']}" in whole, name
        assert '{"reasoning": "...", "score": [' in whole
        assert all(f"<{field}>\n{{{field}}}\n</{field}>" in whole for field in text["fields"]), name
        assert "has no effect on your judgement" in whole or not text["fields"], name
        assert not set(protocol.official) - set(protocol.texts(protocol.Parameters()))


TEXT = "Rate it.\nPrompt Compliance: A number from 1 to 5.\nIt is <edit_prompt>."


def official(tmp_path, text=TEXT):
    from edit_eval.plugins.published.imgedit import TYPES

    (tmp_path / "prompts.json").write_text(json.dumps(dict.fromkeys(TYPES, text)))
    return made(ImgEditScores, prompts="official", prompts_path=str(tmp_path))


ASKING: Any
OFFICIAL: Any


@pytest.fixture(scope="module", autouse=True)
def _shared(tmp_path_factory):
    global ASKING, OFFICIAL
    ASKING, OFFICIAL = made(ImgEditScores), official(tmp_path_factory.mktemp("official"))


class TestOfficialWords:
    def test_they_are_sent_as_they_are(self, tmp_path):
        (question,) = official(tmp_path).questions(sample(instruction="Add {x}."))
        assert (question.system, question.form, question.again, question.schema) == ("", "text", "", "")
        assert question.user == "Rate it.\nPrompt Compliance: A number from 1 to 5.\nIt is Add {x}.."

    def test_a_template_of_pythons_loses_its_doubled_braces(self, tmp_path):
        names = {prompt.text for prompt in KrisScores.official.values()}
        text = 'Judge {instruct}: {{"score": X}}'
        lines = [f"{name} = {(text if name != 'prompt_quality' else '{{x}}')!r}" for name in names]
        (tmp_path / "prompts.py").write_text("\n".join([*lines, "raise SystemExit('run')"]))
        asking = made(KrisScores, prompts="official", prompts_path=str(tmp_path))
        first, *_, last = asking.questions(sample(facts={"asks": ["consistency", "quality"]}))
        assert first.user == 'Judge Add a hat.: {"score": X}'
        assert last.user == "{{x}}", "it is sent without being filled in"

    @pytest.mark.parametrize(
        ("line", "value"),
        [
            ("Prompt Compliance: 4", 4),
            ("**Prompt Compliance:** **4**", 4),
            ('"prompt compliance": 4,', 4),
            ("Prompt Compliance: 4/5.", 4),
            ("Prompt Compliance: 4\nPrompt Compliance: 4", 4),
            ("Prompt Compliance: 4/10", None),
            ("Prompt Compliance: 1-5", None),
            ("Prompt Compliance: 4\nPrompt Compliance: 3", None),
            ("Prompt Compliance: 4.5", None),
            ("Prompt Compliance: 7", None),
            ("Prompt Compliance 4", None),
        ],
    )
    def test_a_number_stands_behind_its_name(self, tmp_path, line, value):
        asking = official(tmp_path)
        text = f"{line}\nVisual Naturalness: 3\nPhysical & Detail Coherence: 5"
        values = asking.read(asking.questions(sample())[0], Reply(text=text)).values
        assert values == ({"compliance": value, "naturalness": 3, "integrity": 5} if value else {})

    @pytest.mark.parametrize(
        ("name", "text", "said"),
        [
            ("prompts.json", '{"add": "x"}', "has no `replace`; is it the authors' prompts.json"),
            ("prompts.json", "{", "is no JSON file"),
            ("other.json", "", r"prompts\.json: cannot be read \(No such file"),
        ],
    )
    def test_what_is_not_the_authors_file(self, tmp_path, name, text, said):
        (tmp_path / name).write_text(text)
        with pytest.raises(ConfigurationError, match=said):
            made(ImgEditScores, prompts="official", prompts_path=str(tmp_path))

    def test_a_rubric_of_ones_own_has_none(self, tmp_path):
        (tmp_path / "rubric.yaml").write_text(yaml.safe_dump(RUBRIC))
        with pytest.raises(ConfigurationError, match="no official prompts"):
            made(Criteria, rubric=str(tmp_path / "rubric.yaml"), prompts="official", prompts_path="x")
