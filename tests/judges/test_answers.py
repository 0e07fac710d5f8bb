"""Raw answers of judges are read, refused or left alone; a score is never guessed."""

import ast
import random
import re
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edit_eval.config.yaml_text import parse_ours
from edit_eval.judges import answers, unseen_pictures
from edit_eval.judges.answers import (
    FORMS,
    LONGEST_ANSWER,
    TOKENS_GIVEN,
    TOKENS_NEEDED,
    find_uncut_score,
    is_prose,
    read_answer,
)
from edit_eval.records import Reading, Status
from judges.generated_answers import answer


def score_of(reading):
    return reading.values.get("score")


def scored(score, words=""):
    return Reading(values={"score": score}, reason=words)


CORPUS = parse_ours((Path(__file__).parent / "answers_corpus.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("form", FORMS)
def test_corpus(form):
    for entry in CORPUS:
        expected = entry["both"] if "both" in entry else entry[form]
        reading = read_answer(entry["answer"], form)
        if isinstance(expected, str):
            assert (reading.status, score_of(reading)) == (Status(expected), None), entry
            assert reading.reason, entry
            assert "\n" not in reading.reason, entry
        else:
            assert (reading.status, score_of(reading)) == (Status.OK, expected), entry


def test_corpus_is_large_on_both_sides_and_has_no_answer_twice():
    texts = [entry["answer"] for entry in CORPUS]
    assert len(texts) == len(set(texts))
    readable = sum(any(isinstance(value, (int, float)) for value in entry.values()) for entry in CORPUS)
    assert readable >= 105
    assert len(CORPUS) - readable >= 105


@pytest.mark.parametrize(
    ("text", "form", "reason"),
    [
        ("", "score", "the answer is empty"),
        (
            "<think>a",
            "score",
            "a <think> block is not closed: was the answer cut off (max_new_tokens), or did the server's reasoning "
            "parser take all of it (change that, or write `thinking: off`)?",
        ),
        ("<think>a</think>", "score", "nothing follows the <think> block"),
        ("7\n8", "score", "different scores in one answer: 7 and 8"),
        ("10.5", "score", "the score 10.5 is outside 0 to 10"),
        ("Good.", "score", "the answer is not a score alone: `Good.`"),
        ("Good.\n8", "reason_then_score", "the last line is not `Score: X.XXX`: `8`"),
        ('{"mark": 8}', "score", 'a JSON object without `score`: `{"mark": 8}`'),
        ('{"score": null}', "score", "`score` in the JSON object is not a number: `None`"),
        ('{"score": 8', "score", 'braces without a complete JSON object: `{"score": 8`'),
        ("I cannot rate this.", "score", "the judge declined: `I cannot rate this.`"),
        ("a\x1b[2Jb", "score", "the answer is not a score alone: `a?[2Jb`"),
    ],
)
def test_reason_says_precisely_why_there_is_no_score(text, form, reason):
    assert read_answer(text, form).reason == reason


@pytest.mark.parametrize(
    ("text", "form", "words"),
    [
        ("8.5", "score", ""),
        ("<think>long thoughts</think>8.5", "score", ""),
        ("Shadows fit.\nHands do not.\n\n**Score: 6.5**", "reason_then_score", "Shadows fit.\nHands do not."),
        ('{"score": 7, "reason": "Shadows fit."}', "score", "Shadows fit."),
        ('{"score": 7, "light": 1, "hands": "wrong"}', "score", "light: 1.0\nhands: wrong"),
        ('Shadows fit.\n{"score": 7}', "score", "Shadows fit."),
    ],
)
def test_words_beside_the_score_are_kept(text, form, words):
    reading = read_answer(text, form)
    assert reading.status is Status.OK
    assert reading.reason == words


def test_another_range():
    assert read_answer("5", lowest=1, highest=5) == scored(5.0)
    assert score_of(read_answer("4/5", lowest=1, highest=5)) == 4.0
    assert read_answer("4/10", lowest=1, highest=5).status is Status.UNPARSEABLE
    assert read_answer("0.5", lowest=1, highest=5).status is Status.OUT_OF_RANGE


def test_a_score_among_thoughts_that_do_not_end_is_no_answer():
    reading = read_answer("<think>At first sight:\nScore: 8.000", "reason_then_score")
    assert (reading.status, score_of(reading)) == (Status.UNPARSEABLE, None)


def test_what_did_not_stop_is_no_answer_whatever_it_ends_with():
    longest = "word " * (LONGEST_ANSWER // 5 - 3) + "\nScore: 7.125"
    assert score_of(read_answer(longest, "reason_then_score")) == 7.125
    reading = read_answer("word " * 3 + longest, "reason_then_score")
    assert (reading.status, score_of(reading)) == (Status.UNPARSEABLE, None)
    assert "did not stop" in reading.reason


CUT = ["1", "7.5", "7.500", "7.50", "Score: 1", "Score: 10", "Score: 7.5.", "评分：7。", '{"score": 7}', "\\boxed{7}"]
CUT += [
    "",
    "7.5\nThe sky",
    "**7.500**",
    "Score: 7.50\nThe sky",
    "Score: 7.500",
    "7.500\n+0.500",
    "11.000\nThe sky",
    "I'm sorry, I can't rate",
    "8/10",
]
CUT += ["<think>7.500\n", "<think>a</think>", "<think>a</think>7.500", "```\n7.500\n", "7.500<think>a</think>\nb"]


@pytest.mark.parametrize("text", [*CUT, "Reasons.\nScore: 7.500", "Reasons.\nScore: 5+1=6"])
def test_what_was_cut_off_is_no_score_whatever_it_looks_like(text):
    assert find_uncut_score(text) is None


WHOLE = ["7.500\n", "7.500\n\nThe sky", "**7.500** \r\nThe", "<think>3</think>\n7.500\nThe", "Score: 7.500\n\nThe sky"]
WHOLE += ["**Score:** 7.500\n", "评分：7.500\n光", "Overall Score: **7.500**\nThe"]


@pytest.mark.parametrize("text", WHOLE)
def test_a_bare_answer_that_was_cut_off_behind_its_first_line_is_whole(text):
    assert read_answer(find_uncut_score(text)) == read_answer(text) == scored(7.5)


ACCEPTED = [entry["answer"] for entry in CORPUS if any(isinstance(value, (int, float)) for value in entry.values())]


def test_no_beginning_of_an_answer_is_another_score_when_it_was_cut_off_there():
    wrong, kept = [], 0
    for text in ACCEPTED:
        whole = score_of(read_answer(text))
        for end in range(len(text)):
            line = find_uncut_score(text[:end])
            kept += line is not None
            if line is not None and (score_of(read_answer(line)) != whole or "\n" not in text[:end]):
                wrong.append((text, text[:end]))
    assert not wrong
    assert kept > 10


def test_every_form_that_is_asked_for_has_its_limits():
    assert TOKENS_GIVEN.keys() == TOKENS_NEEDED.keys() == {*FORMS, "json", "labels", "probabilities", "text"}
    assert all(TOKENS_NEEDED[form] < TOKENS_GIVEN[form] for form in TOKENS_GIVEN)


PARTS = ["1", "0", "7", ".5", "7.5", "10", "/10", "分"]
DRESS = [
    "{}",
    "**{}**",
    "*{}*",
    "`{}`",
    "_{}_",
    "\\boxed{{{}}}",
    "${}$",
    "{}\n",
    " {}",
    "Score: {}",
    "<think>{}</think>",
]


@pytest.mark.parametrize("form", FORMS)
def test_a_score_stands_in_its_answer_in_one_piece(form):
    """Whatever is taken off: what is left is never joined to a number that the judge did not write."""
    chance, scores = random.Random(3), 0
    for _ in range(10_000):
        pieces = [chance.choice(DRESS).format(chance.choice(PARTS)) for _ in range(chance.randint(1, 3))]
        text = chance.choice(DRESS).format("".join(pieces))
        score = score_of(read_answer(text, form))
        if score is not None:
            scores += 1
            assert score in map(float, re.findall(r"[0-9]+(?:\.[0-9]+)?", text)), text
    assert scores > 300


@pytest.mark.parametrize(
    "text", ["What a lovely picture!", "光影一致，重力合理。", "Firm.\nThe light fits.\nScore: 8.500"]
)
def test_prose_is_told(text):
    assert is_prose(text)


@pytest.mark.parametrize(
    "text", ["8,5", "Rating: 8.5 points", "", "<think>a b c d e</think>8,5", "<think>a b c d e", "评分 8"]
)
def test_a_few_words_are_no_prose(text):
    assert not is_prose(text)


def test_unknown_form_is_an_error_of_the_caller():
    with pytest.raises(ValueError, match="no such form of an answer: 'json'"):
        read_answer("8", form="json")


MEGABYTE = 1_000_000
LONG = {
    "letters": "x" * MEGABYTE,
    "spaces": " " * MEGABYTE,
    "digits": "9" * MEGABYTE,
    "stars": "*" * MEGABYTE,
    "braces": "{" * MEGABYTE,
    "thoughts": "<think></think>" * (MEGABYTE // 15),
    "unclosed thoughts": "<think>" * (MEGABYTE // 7),
    "closed thought": "<think>" + "a" * MEGABYTE + "</think>8",
    "refusals": "I'm sorry, I can't " * (MEGABYTE // 19),
    "scores": "8.5\n" * (MEGABYTE // 4),
}
# As long as an answer may be at all, made to be slow to read.
LONG |= {
    f"{name}, just short enough": text[:LONGEST_ANSWER]
    for name, text in {
        "emphasis": "*a" * LONGEST_ANSWER,
        "nested emphasis": "**`_" * LONGEST_ANSWER,
        "points": "1." * LONGEST_ANSWER,
        "fences": "```\n" * LONGEST_ANSWER,
        "objects": '{"score":8}' * LONGEST_ANSWER,
        "nested objects": '{"a":' * LONGEST_ANSWER,
        "nested lists": '{"score":' + "[" * LONGEST_ANSWER,
        "numbers": "\n".join(map(str, range(LONGEST_ANSWER // 4))),
        "lines": "\n".join(f"a{number}" for number in range(LONGEST_ANSWER // 5)),
        "labels": "Score:" * LONGEST_ANSWER,
        "spaces inside": "Score:" + " " * (LONGEST_ANSWER - 10) + "x",
        "an image and lines": "image" + "\n" * LONGEST_ANSWER,
        "an image and commas": "image" + ", " * LONGEST_ANSWER,
        "images": "I cannot see the image of the " * LONGEST_ANSWER,
        "determiners": "I cannot see " + "the first and " * LONGEST_ANSWER + "image",
        "half of a Chinese sentence": "图" + "看不到这两张提供的" * LONGEST_ANSWER,
        "half a number": "8" + " " * (LONGEST_ANSWER - 10) + "/",
    }.items()
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", LONG)
def test_long_answers_take_no_time(name, form):
    def seconds():
        begin = time.perf_counter()
        read_answer(LONG[name], form)
        return time.perf_counter() - begin

    # A fraction of a second on an idle machine; a pattern that backtracks would take minutes on any.
    assert seconds() < 10


PIECES = ["8.5", "7", "-1", "11", "Score:", "评分：", '{"score":', "}", "**", "```", "\n", " "]
PIECES += ["<think>", "</think>", "I'm sorry, I can't"]
RAW = st.one_of(
    st.text(),
    st.text(alphabet='0123456789.-/:*_`{}"score分评：Score <think/>\n,', max_size=60),
    st.lists(st.sampled_from(PIECES)).map("".join),
)


@given(RAW, st.sampled_from(FORMS))
def test_never_raises_and_a_score_is_always_in_range(text, form):
    reading = read_answer(text, form)
    assert (reading.status is Status.OK) == (score_of(reading) is not None)
    if score_of(reading) is not None:
        assert 0.0 <= score_of(reading) <= 10.0
        assert str(score_of(reading)) != "-0.0"
    else:
        assert reading.status in (Status.REFUSED, Status.UNPARSEABLE, Status.OUT_OF_RANGE)


NUMBERS = [
    "{}.",
    "{}。",
    "{} out of 10",
    "{} (out of 10).",
    "{}（满分10分）",
    "{}/10分",
    "{}分（满分10）",
    "<score>{}</score>",
    "\\boxed{{{}}}",
    "{}",
    "{}/10",
    "{} / 10",
    "{}分",
    "**{}**",
    "__{}__",
    "`{}`",
    "***{}***",
]
LABELS = ["Score: {}", "score:{}", "评分：{}", "分数: {}", "得分：{}", "总分：{}", "综合评分：{}"]
LABELS += [
    "Rating: {}",
    "Overall：{}",
    "評分：{}",
    "综合得分：{}",
    "Final Score: {}",
    "Overall score: {}",
    "Total Score：{}",
    "最终评分：{}",
    "最终得分: {}",
    "总评分：{}",
]
LABELS += ["**Score:** {}", "### Score: {}"]
OUTER = ["{}", "\n {} \n", "```\n{}\n```", "<think>3 or 4?</think>{}", "**{}**"]
JSON = ['{{"score": {}}}', '{{"score": "{}"}}', '{{"reason": "3 of 4", "score": {}}}', '```json\n{{"score": {}}}\n```']


@given(
    thousandths=st.integers(0, 10_000),
    number=st.sampled_from(NUMBERS),
    label=st.sampled_from(["{}", *LABELS]),
    outer=st.sampled_from(OUTER),
    form=st.sampled_from(FORMS),
)
def test_a_score_reads_back_in_every_dress(thousandths, number, label, outer, form):
    written = f"{thousandths / 1000:.3f}"
    dressed = number.format(written)
    if "*" in dressed and "**" in label + outer:
        dressed = written  # `****8.5****` is no emphasis
    if outer == "**{}**" and ("**" in label or label.startswith("#")):
        outer = "{}"
    text = outer.format(label.format(dressed))
    assert read_answer(text, form) == scored(float(written))


@given(st.integers(0, 10_000), st.sampled_from(JSON), st.sampled_from(FORMS))
def test_a_score_reads_back_from_json(thousandths, dress, form):
    written = f"{thousandths / 1000:.3f}"
    reading = read_answer(dress.format(written), form)
    assert (reading.status, score_of(reading)) == (Status.OK, float(written))


@given(
    st.integers(0, 10_000),
    st.sampled_from(LABELS),
    st.lists(st.sampled_from(["Gravity: +0.500, firm.", "光影一致。", "", "- 3 hands", "Baseline 5.000"])),
)
def test_a_score_reads_back_after_reasons(thousandths, label, reasons):
    written = f"{thousandths / 1000:.3f}"
    reading = read_answer("\n".join(["Reasons:", *reasons, label.format(written)]), "reason_then_score")
    assert (reading.status, score_of(reading)) == (Status.OK, float(written))
    assert reading.reason == "\n".join(["Reasons:", *reasons]).strip()


@given(st.integers(0, 10_000), st.integers(0, 10_000), st.sampled_from(FORMS))
def test_two_scores_are_one_only_if_they_are_the_same(first, second, form):
    reading = read_answer(f"Score: {first / 1000:.4f}\nScore: {second / 1000}", form)
    assert (reading.status is Status.OK) == (first == second)


def wrong_and_missed(count, seed):
    chance = random.Random(seed)
    wrong, missed, read = [], [], 0
    for _ in range(count):
        made = answer(chance)
        score = score_of(read_answer(made.text, made.form))
        read += score is not None
        if score is not None and score != made.means:
            wrong.append((made, score))
        if score is None and made.owed:
            missed.append(made)
    return wrong, missed, read


def test_no_generated_answer_is_another_number_and_every_plain_one_is_read():
    wrong, missed, read = wrong_and_missed(4000, seed=28)
    assert not wrong
    assert not missed
    assert read > 1000


@pytest.mark.chaos
def test_no_wrong_number_in_a_million_generated_answers():
    wrong, missed, read = wrong_and_missed(1_000_000, seed=1)
    assert not wrong
    assert not missed
    assert read > 300_000


OURS = ("edit_eval.records", "edit_eval.judges.unseen_pictures")


def test_runs_beside_a_model():
    """Standard library only, and Python 3.10: this file is sent into foreign environments."""
    sources = [Path(module.__file__).read_text(encoding="utf-8") for module in (answers, unseen_pictures)]
    names = [
        name
        for source in sources
        for node in ast.walk(ast.parse(source, feature_version=(3, 10)))
        for name in (
            [alias.name for alias in node.names] if isinstance(node, ast.Import)
            else [node.module or ""] if isinstance(node, ast.ImportFrom)
            else []
        )
    ]  # fmt: skip
    assert all(name.split(".")[0] in sys.stdlib_module_names or name in OURS for name in names)
