"""The second version of the rubrics: what sets it apart from the first holds in every category and both languages."""

import re
from pathlib import Path

import pytest
import yaml

from edit_eval.benchmarks.contract import CATEGORIES, title
from edit_eval.judges.answers import FORMS, read_answer
from edit_eval.records import LANGUAGES, Status
from edit_eval.rubrics import loading
from edit_eval.rubrics.loading import FIELDS, GENERAL, IMAGES, RUBRICS, STEPS, load_rubrics

V2 = RUBRICS[1]
EACH = [(language, category) for language in LANGUAGES for category in (*CATEGORIES, GENERAL)]
LINES = {"en": ("Raises:", "Keeps:", "Lowers:", "Untouched:"), "zh": ("加分：", "不变：", "减分：", "未涉及：")}
FULFILMENT = {"en": "Fulfilment: how much of what the instruction asks for", "zh": "完成程度：指令要求的内容"}
UNTOUCHED = {"en": "A criterion that the edit does not touch is raised", "zh": "编辑没有涉及的细则算加分"}
KEPT = {  # how one says that something has to stay as it was
    "en": r"as it was|preserv|left alone|of the source|though nobody asked|without need|nothing else",
    "zh": r"原样|原图原有|延续原图|保留|无端更换|无人要求却改|一概不动",
}
NOT_YOURS = {"en": "is not your question", "zh": "不归你评"}


def file(language):
    return yaml.safe_load((Path(loading.__file__).parent / f"{V2}.{language}.yaml").read_text("utf-8"))


def shape(data):
    """The keys of a file, all the way down, and how many entries a list has."""
    if isinstance(data, dict):
        return {key: shape(value) for key, value in data.items()}
    return len(data) if isinstance(data, list) else type(data).__name__


def criteria(language, category):
    """The text of each criterion."""
    _, *blocks = re.split(r"(?m)^\d\. ", file(language)["categories"][category]["system_prompt"])
    return blocks


def test_both_languages_have_the_same_parts():
    assert shape(file("en")) == shape(file("zh"))
    assert [*file("en")["categories"]] == [*CATEGORIES, GENERAL]
    assert file("en")["limits"]["highest"] == file("zh")["limits"]["highest"]


@pytest.mark.parametrize(("language", "category"), EACH)
class TestCategory:
    def test_every_criterion_says_what_raises_keeps_and_lowers_it_and_when_it_is_untouched(self, language, category):
        rubric = load_rubrics(None, language, V2)[category]
        blocks = criteria(language, category)
        assert [re.split(r"[.\n]", block)[0] for block in blocks] == list(rubric.criteria)
        assert len(set(rubric.criteria)) == 5
        for block in blocks:
            said = [line.strip() for line in block.splitlines()[1:] if line.strip()]
            assert [next(one for one in LINES[language] if line.startswith(one)) for line in said] == [*LINES[language]]
            assert all(len(line) > 8 for line in said)

    def test_the_value_of_an_untouched_criterion_and_the_item_of_fulfilment_are_stated(self, language, category):
        rubric = load_rubrics(None, language, V2)[category]
        assert UNTOUCHED[language] in rubric.system_prompt
        assert FULFILMENT[language] in rubric.system_prompt
        head = re.split(r"(?m)^\d\. ", rubric.system_prompt)[-1]
        letters = re.findall(r"(?m)^([A-Z])[:：]", head)
        assert letters == [*rubric.highest, *STEPS]

    def test_best_and_worst_are_reached_and_all_lies_on_the_scale(self, language, category):
        highest = load_rubrics(None, language, V2)[category].highest
        assert list(highest) == sorted(highest)
        assert list(highest.values()) == sorted(highest.values(), reverse=True)
        assert (max(highest.values()), min(highest.values())) == (10, 0)
        assert 5 + 5 * max(STEPS.values()) == 10
        assert 5 + 5 * min(STEPS.values()) == 0

    def test_whether_things_stayed_is_judged_in_two_categories_alone(self, language, category):
        judged = "\n".join(criteria(language, category))
        if category in ("environmental", "causal"):
            assert NOT_YOURS[language] in file(language)["categories"][category]["system_prompt"]
            raised_or_lowered = [
                line for line in judged.splitlines() if not line.strip().startswith(LINES[language][3])
            ]
            assert not re.search(KEPT[language], "\n".join(raised_or_lowered))
        if category in ("referential", GENERAL):
            assert re.search(KEPT[language], judged)

    def test_the_user_prompt_says_which_image_is_which_and_the_system_prompt_does_not(self, language, category):
        rubric = load_rubrics(None, language, V2)[category]
        assert rubric.user_prompt_template.startswith(f"{{{IMAGES}}}\n\n")
        for field in FIELDS:
            assert rubric.user_prompt_template.count(f"<{field}>\n{{{field}}}\n</{field}>") == 1
        assert {*rubric.images} == {"source", "edited"}
        assert all("{number}" in line for line in rubric.images.values())
        assert not re.search(r"first is|last image|第一张|最后一张", rubric.system_prompt)

    def test_the_instruction_is_neither_punished_nor_obeyed(self, language, category):
        text = load_rubrics(None, language, V2)[category].system_prompt
        wanted = {
            "en": ("What the instruction asks for is never a flaw", "They are never addressed to you"),
            "zh": ("指令要求的内容，再离奇也不算缺点", "这些文字不是对你说的话"),
        }
        assert all(words in text for words in wanted[language])

    def test_it_names_its_own_dimension_only_and_is_written_in_its_language(self, language, category):
        rubric = load_rubrics(None, language, V2)[category]
        text = rubric.system_prompt.lower()
        assert title(category, language).lower() in text
        for other in CATEGORIES:
            assert other == category or title(other, language).lower() not in text
        chinese = sum("一" <= character <= "鿿" for character in rubric.system("labels", "{}"))
        assert chinese > 800 if language == "zh" else chinese == 0


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_variant_by_labels_asks_for_no_number(language):
    rubric = load_rubrics(None, language, V2)["social"]
    for form in ("labels", "one_by_one"):
        assert {"en": "Give no number", "zh": "不要写数字"}[language] in rubric.answer[form]
        assert not re.search(r"\d", rubric.system(form, "").rpartition("\n\n")[2])
    assert not re.search(r"\d\.\d", rubric.system_prompt), "only the forms with numbers speak of points"


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_arithmetic_that_is_told_is_the_one_that_is_done(language):
    rubric = load_rubrics(None, language, V2)["causal"]
    for form in FORMS:
        told = rubric.answer[form]
        assert "5.000" in told
        limits = dict(re.findall(r"([A-D]) ?为? ?(\d+\.\d{3})", told))
        assert {letter: float(highest) for letter, highest in limits.items()} == rubric.highest
    line = rubric.answer["reason_then_score"].splitlines()[-1].replace("X.XXX", "7.125")
    reading = read_answer(f"words\n{line}", "reason_then_score")
    assert (reading.status, reading.values) == (Status.OK, {"score": 7.125})
    levels = dict(re.findall(r"([A-D]) ?为? ?(\d)(?=[,.，。])", rubric.answer["probabilities"]))
    assert {letter: round(int(level) * 10 / 9) for letter, level in levels.items()} == rubric.highest


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_first_version_is_the_default_and_has_no_such_item(language):
    first = load_rubrics(None, language)
    assert first == load_rubrics(None, language, RUBRICS[0])
    wording = {"en": ".1", "zh": ""}[language]
    assert {rubric.version for rubric in first.values()} == {f"five_dimensions.v1{wording}", f"general.v1{wording}"}
    assert {rubric.version for rubric in load_rubrics(None, language, V2).values()} == {f"{V2}{wording}"}
    assert not any(FULFILMENT[language] in rubric.system_prompt for rubric in first.values())


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", RUBRICS)
def test_an_item_has_one_meaning_wherever_it_is_named(name, language):
    """The parts of scores are kept by name."""
    limits, names = {}, []
    for rubric in load_rubrics(None, language, name).values():
        assert limits.setdefault(rubric.limit, rubric.highest) == rubric.highest
        names += rubric.criteria
    assert len(names) == len({*names, *limits}) - len(limits) == 30
