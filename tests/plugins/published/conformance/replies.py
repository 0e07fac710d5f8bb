"""Sets of edits with replies to their questions, clean and dirty: what the authors' scripts and ours are both given.

A set is plain data: `kind` says what is odd about it, `edits` has `id`, `category`, and `said`, question -> reply. A
reply that is None never came: the judge's server failed. An edit whose `said` is None was never made.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

Edit = dict[str, Any]
Set = dict[str, Any]
Question = str
Draw = random.Random

NOTHING = None
MIXED = 12
"""Sets per protocol in which any reply may be of any kind."""


def _object(key: str, words: str = "reason") -> dict[str, str | None]:
    """Kinds of replies to a question that wants `{KEY: NUMBER, WORDS: TEXT}`; `@` is a number within the range."""
    return {
        "clean": f'{{"{key}": @, "{words}": "Well done."}}',
        "words first": f'{{"{words}": "Well done.", "{key}": @}}',
        "fenced": f'```json\n{{"{key}": @, "{words}": "Well done."}}\n```',
        "within words": f'Here you are: {{"{key}": @, "{words}": "Well done."}} That is all.',
        "prose": "It is well done, with nothing to find fault with.",
        "prose with digits": "I see 3 dogs and 2 cats in it, of 12.",
        "prose with a score": f"I see 2 things. {key.replace('_', ' ').capitalize()}: @. Well done.",
        "of the most": "I give it @/10, or @/5.",
        "out of the most": "I give it @ out of 10, @ out of 5.",
        "bare number": "@",
        "bare list": "[@, @]",
        "list in braces": f'{{"{key}": [@], "{words}": "So."}}',
        "half": f'{{"{key}": 3.5, "{words}": "So."}}',
        "half as text": f'{{"{key}": "3.5", "{words}": "So."}}',
        "number as text": f'{{"{key}": "@", "{words}": "So."}}',
        "too high": f'{{"{key}": 15, "{words}": "So."}}',
        "one too high": f'{{"{key}": 11, "{words}": "So."}}',
        "zero": f'{{"{key}": 0, "{words}": "So."}}',
        "negative": f'{{"{key}": -1, "{words}": "So."}}',
        "null": f'{{"{key}": null, "{words}": "There are 3 dogs."}}',
        "word for a number": f'{{"{key}": "high", "{words}": "So, 4 of them."}}',
        "without words": f'{{"{key}": @}}',
        "without the number": f'{{"{words}": "So: 4 dogs."}}',
        "other capitals": f'{{"{key.upper()}": @, "{words.capitalize()}": "So."}}',
        "other name": f'{{"rating": @, "{words}": "So."}}',
        "without quotes": f"{{{key}: @, {words}: good}}",
        "single quotes": f"{{'{key}': @, '{words}': 'So.'}}",
        "quotes within": f'{{"{key}": @, "{words}": "A "so-called" dog."}}',
        "line breaks within": f'{{"{key}": @,\n"{words}": "One.\nTwo."}}',
        "braces within": f'{{"{key}": @, "{words}": "It is {{so}}."}}',
        "trailing comma": f'{{"{key}": @, "{words}": "So.",}}',
        "two objects": f'{{"{key}": @, "{words}": "So."}}\n{{"{key}": 2, "{words}": "Or so."}}',
        "list of objects": f'[{{"{key}": @, "{words}": "So."}}]',
        "nested": f'{{"result": {{"{key}": @, "{words}": "So."}}}}',
        "cut in the words": f'{{"{words}": "It is well done, but the',
        "cut after the number": f'{{"{key}": @, "{words}": "It is well',
        "thoughts": f'<think>Is it 2? {{no}}</think>{{"{key}": @, "{words}": "So."}}',
        "Chinese": "画得很好,给@分。",
        "full-width colon": f"{key}：@",
        "refusal": "I'm sorry, but I can't help with that.",
        "blank": " \n",
        "empty": "",
        "no reply": NOTHING,
    }


def _numbers(key: str = "score", words: str = "reasoning") -> dict[str, str | None]:
    """Like `_object`, for a question that wants a list of two numbers."""
    of_one = _object(key, words)
    of_two = {
        kind: text.replace(f'"{key}": @', f'"{key}": [@, @]') if text else text
        for kind, text in of_one.items()
        if kind not in ("list in braces",)
    }
    return {
        **of_two,
        "half": f'{{"{key}": [3.5, 8], "{words}": "So."}}',
        "half as text": f'{{"{key}": ["3.5", "8"], "{words}": "So."}}',
        "number as text": f'{{"{key}": ["@", "@"], "{words}": "So."}}',
        "too high": f'{{"{key}": [15, @], "{words}": "So."}}',
        "one too high": f'{{"{key}": [11, 11], "{words}": "So."}}',
        "zero": f'{{"{key}": [0, @], "{words}": "So."}}',
        "negative": f'{{"{key}": [-1, @], "{words}": "So."}}',
        "null": f'{{"{key}": null, "{words}": "So."}}',
        "null within": f'{{"{key}": [null, @], "{words}": "So."}}',
        "one number": f'{{"{key}": [@], "{words}": "So."}}',
        "a number for a list": f'{{"{key}": @, "{words}": "So."}}',
        "three numbers": f'{{"{key}": [@, @, @], "{words}": "So."}}',
        "no numbers": f'{{"{key}": [], "{words}": "So."}}',
        "list with spaces": "[@,  @]",
        "delimited": f'{{a}}||V^=^V||{{"{key}": [@, @], "{words}": "So."}}||V^=^V||{{b}}',
    }


FINAL: dict[str, str | None] = {
    "clean": "It is right.\n**Final Score: @**",
    "plain": "Final Score: @",
    "bold number": "Final Score: **@**",
    "below": "Final Score:\n@",
    "of five": "Final Score: @/5",
    "plural": "Final Scores: @",
    "two numbers": "Final Score: @, @",
    "two in the plural": "Final Scores: @ @",
    "three numbers": "Final Score: @, @, @",
    "said twice": "Final Score: X, that is Final Score: @",
    "other capitals": "FINAL SCORE: @",
    "in a sentence": "The final score is @.",
    "half": "Final Score: 3.5",
    "too high": "Final Score: 9",
    "zero": "Final Score: 0",
    "negative": "Final Score: -1",
    "other name": "Score: @",
    "null": "Final Score: null",
    "prose": "It is right, in 3 of 4 parts.",
    "JSON": '{"Final Score": @}',
    "full-width colon": "Final Score：@",
    "Chinese": "最终得分：@",
    "cut": "It is right, and the Final Score",
    "refusal": "I'm sorry, but I can't help with that.",
    "empty": "",
    "no reply": NOTHING,
}
LINES: dict[str, str | None] = {
    "clean": "Brief reasoning: It is so.\nPrompt Compliance: @\nVisual Naturalness: @\nPhysical & Detail Integrity: @",
    "two lines": "Prompt Compliance: @\nVisual Naturalness: @",
    "one line": "Score: @",
    "full stops": "Prompt Compliance: @.\nVisual Naturalness: @\nPhysical & Detail Integrity: @",
    "of five": "Prompt Compliance: @/5\nVisual Naturalness: @/5\nPhysical & Detail Integrity: @",
    "bold": "**Prompt Compliance**: **@**\n**Visual Naturalness**: @\nPhysical & Detail Integrity: @",
    "no space": "Prompt Compliance:@\nVisual Naturalness:@\nPhysical & Detail Integrity: @",
    "spaces": "  Prompt Compliance: @  \n\tVisual Naturalness: @\nPhysical & Detail Integrity: @",
    "number in the reasons": "Brief reasoning: 4\nPrompt Compliance: @\nVisual Naturalness: @",
    "two colons": "So: Prompt Compliance: @\nVisual Naturalness: @",
    "half": "Prompt Compliance: 3.5\nVisual Naturalness: @\nPhysical & Detail Integrity: @",
    "too high": "Prompt Compliance: 12\nVisual Naturalness: @\nPhysical & Detail Integrity: @",
    "zero": "Prompt Compliance: 0\nVisual Naturalness: @\nPhysical & Detail Integrity: @",
    "negative": "Prompt Compliance: -1\nVisual Naturalness: @\nPhysical & Detail Integrity: @",
    "other capitals": "PROMPT COMPLIANCE: @\nvisual naturalness: @\nPhysical & Detail Integrity: @",
    "other name": "Quality: @\nBeauty: @",
    "full-width digits": "Prompt Compliance: ３\nVisual Naturalness: @",
    "raised digit": "Prompt Compliance: ²\nVisual Naturalness: @",
    "null": "Prompt Compliance: null\nVisual Naturalness: null",
    "JSON": '{"Prompt Compliance": @, "Visual Naturalness": @}',
    "prose": "It is well done.",
    "Chinese": "符合指令：@\n自然：@",
    "cut": "Brief reasoning: It is so.\nPrompt Compliance: @\nVisual Natur",
    "refusal": "I'm sorry, but I can't help with that.",
    "empty": "",
    "no reply": NOTHING,
}
YES_OR_NO: dict[str, str | None] = {
    "clean": '{"answer": "@", "explanation": "It is so."}',
    "word": "@",
    "word with a stop": "@.",
    "other capitals": '{"answer": "@@", "explanation": "So."}',
    "fenced": '```json\n{"answer": "@", "explanation": "So."}\n```',
    "letter": '{"answer": "y", "explanation": "So."}',
    "truth": '{"answer": "True", "explanation": "So."}',
    "boolean": '{"answer": true, "explanation": "Yes."}',
    "null": '{"answer": null, "explanation": "no"}',
    "number": '{"answer": 1, "explanation": "So."}',
    "empty answer": '{"answer": "", "explanation": "Yes, so."}',
    "other name": '{"result": "@", "explanation": "So."}',
    "without words": '{"answer": "@"}',
    "words that are none": '{"answer": "@", "explanation": ["So."]}',
    "two objects": '{"answer": "@", "explanation": "So."} {"answer": "No", "explanation": "So."}',
    "list of objects": '[{"answer": "@", "explanation": "So."}]',
    "cut": '{"answer": "@", "explanation": "It is',
    "prose": "I think that yes, it is; there is no other way.",
    "prose that begins": "Nobody could say; yes.",
    "unsure": "Perhaps.",
    "sentence in JSON": '{"answer": "Yes, it is", "explanation": "So."}',
    "Chinese": "是的。",
    "refusal": "I'm sorry, but I cannot tell.",
    "empty": "",
    "no reply": NOTHING,
}
VERDICT: dict[str, str | None] = {
    "clean": "@",
    "with a stop": "@.",
    "bold": "**@**",
    "small": "@@",
    "sentence": "That is Correct, isn't it?",
    "not": "Not Correct",
    "both": "Incorrect, not Correct",
    "adverb": "Correctly said.",
    "yes": "Yes",
    "JSON": '{"verdict": "Correct"}',
    "Chinese": "正确",
    "null": "null",
    "empty": "",
    "no reply": NOTHING,
}
BARE = (
    "6", " 6 ", "6\n", "\n6", "06", "0", "10", "11", "-1", "-0", "+6", "6.0", "6.5", "6.", "6/10", "**6**", "`6`",
    '"6"', "'6'", "(6)", "[6]", "[6", "6]", "[6.5, 7]", "[6, 7]", "[6,7]", "[6,  7]", " [6, 7] ", "[ 6, 7 ]",
    "[6, 7, 8]", "[06, 7]", "[-1, 7]", "[11, 12]", "6, 7", "6,7", "6 7", "6\n7", "６", "[６, 7]", "１０", "1_0", "0_6",
    "1e1", "٣", "Ⅵ", "六", "6分", "Score: 6", "6 ", "6\u00a0", "6\u3000", "\t6", "6\u0000", "six", "{6}", "{6, 7}",
    "[[6, 7]]", "[6, 7] and [5, 4]", "I see [2, 3] dogs", "<think>6</think>6", "<think>no</think>\n6",
    "<think>a [1, 2] b</think>[6, 7]", "```\n6\n```", "```json\n[6, 7]\n```", "NaN", "inf", "None", "null", "true",
    "6\u200b", "\ufeff6", "6;7", "[6]\n[7]", "[6, 7]\n", "[6,\n7]", "[6 , 7]", "100", "1000000000000000000000", "-",
    "", "  ", "٦٧", "[٦, 7]", "6 out of 10", "10/10", "rate_limit_exceeded",
)  # fmt: skip
"""Numbers and lists without JSON around them, and what could be taken for one."""
PAIR: dict[str, str | None] = {  # of GEdit-Bench v2
    "clean": '{"reasoning": "So.", "winner": "@"}',
    "fenced": '```json\n{"reasoning": "So.", "winner": "@"}\n```',
    "within words": 'Here: {"winner": "@", "reasoning": "So."}.',
    "empty": "",
    "prose": "I prefer the first.",
    "refusal": "I'm sorry, but I can't help with that.",
    "null": '{"winner": null, "reasoning": "So."}',
    "other capitals": '{"winner": "@@", "reasoning": "So."}',
    "letter": '{"winner": "B", "reasoning": "So."}',
    "other word": '{"winner": "Equal", "reasoning": "So."}',
    "other name": '{"better": "@", "reasoning": "So."}',
    "without words": '{"winner": "@"}',
    "cut": '{"winner": "@", "reasoning": "It is',
    "two objects": '{"winner": "@", "reasoning": "So."} {"winner": "Tie", "reasoning": "Or so."}',
    "no reply": NOTHING,
}
BETTER: dict[str, str | None] = {  # of GenArena
    "clean": '{"reasoning": {"overall": "So."}, "better_response": "@", "score": 5, "confidence": 0.8}',
    "fenced": '```json\n{"better_response": "@", "score": 5}\n```',
    "without the rest": '{"better_response": "@"}',
    "spaces": '{"better_response": " @ ", "score": 5}',
    "empty": "",
    "prose": "Response @ is better.",
    "refusal": "I'm sorry, but I can't help with that.",
    "null": '{"better_response": null, "score": 5}',
    "other capitals": '{"better_response": "@@", "score": 5}',
    "words": '{"better_response": "Response B", "score": 5}',
    "both": '{"better_response": "Neither", "score": 3}',
    "score in words": '{"better_response": "@", "score": "high"}',
    "other name": '{"winner": "@", "score": 5}',
    "cut": '{"better_response": "@", "sco',
    "no reply": NOTHING,
}


def filled(text: str | None, draw: Draw, values: Sequence[object]) -> str | None:
    """Replaces each `@` by one of the values, `@@` by one with its capitals the other way round."""
    if text is None:
        return None
    text = text.replace("@@", str(draw.choice(values)).swapcase())
    pieces = text.split("@")
    return "".join(piece + (str(draw.choice(values)) if n < len(pieces) - 1 else "") for n, piece in enumerate(pieces))


class Maker:
    """Makes the sets of one protocol from its questions and its kinds of replies."""

    def __init__(
        self,
        name: str,
        kinds: Callable[[str, Question], dict[str, str | None]],
        values: Callable[[str], Sequence[object]],
        edits: Callable[[Draw], list[Edit]],
        missing: bool = True,
        of_each: bool = False,
    ) -> None:
        """`edits` draws a set's edits with an empty `said` for each question.

        `of_each`: a kind of reply is tried in each category, as each is read in a way of its own.
        """
        self.of_each = of_each
        self.draw, self.name = random.Random(name), name
        self.kinds, self.values, self.edits, self.missing = kinds, values, edits, missing

    def sets(self) -> Iterator[Set]:
        """Yields a set for each kind of reply, sets of mixed kinds, and sets with edits missing."""
        for _ in range(3):
            yield self._set("clean", lambda edit, question: "clean")
        every = {
            kind: None
            for edit in self.edits(self.draw)
            for question in edit["said"]
            for kind in self.kinds(edit["category"], question)
        }
        for kind in every:
            if kind != "clean":
                yield self._one(kind)
        for number in range(MIXED):
            yield self._set("mixed", partial(self._any_or_clean, (0.05, 0.15, 0.4)[number % 3]))
        if self.missing:
            whole = self._set("an edit that is missing", lambda edit, question: "clean")
            self.draw.choice(whole["edits"])["said"] = None
            yield whole
            some = self._set("a category without edits", lambda edit, question: "clean")
            gone = some["edits"][0]["category"]
            for edit in some["edits"]:
                edit["said"] = None if edit["category"] == gone else edit["said"]
            yield some

    def bare(self, category: str) -> Iterator[Set]:
        """Yields a set for each of `BARE`: a reply to one question about one edit, and another about another."""
        for text in BARE:
            asked = next(edit for edit in self.edits(self.draw) if edit["category"] == category)["said"]
            edits = [{"id": f"{category}_{number}", "category": category, "said": {**asked}} for number in (1, 2)]
            for edit, instead in zip(edits, asked, strict=True):
                edit["said"] = {
                    question: text if question == instead else self._reply(edit, question, "clean")
                    for question in asked
                }
            yield {"kind": "bare", "edits": edits}

    def _any_or_clean(self, share: float, edit: Edit, question: Question) -> str:
        return "" if self.draw.random() < share else "clean"

    def _one(self, kind: str) -> Set:
        """Returns a set in which one reply is of this kind, of each question of one edit that can have it."""
        edit_set = self._set(kind, lambda edit, question: "clean")
        order = self.draw.sample(edit_set["edits"], len(edit_set["edits"]))
        able = [
            edit for edit in order if any(kind in self.kinds(edit["category"], question) for question in edit["said"])
        ]
        for asked in able if self.of_each else able[:1]:
            those = [question for question in asked["said"] if kind in self.kinds(asked["category"], question)]
            place = int(asked["id"].rpartition("_")[2]) - 1 if self.of_each else 0
            if self.of_each and place < len(those) - 1:  # the category's first edit: its first question, and so on
                those = those[place : place + 1]
            for question in those[:1] if not self.of_each and self.draw.random() < 0.5 else those:
                asked["said"][question] = self._reply(asked, question, kind)
        return edit_set

    def _set(self, kind: str, which: Callable[[Edit, Question], str]) -> Set:
        edits = self.edits(self.draw)
        for edit in edits:
            for question in edit["said"]:
                edit["said"][question] = self._reply(edit, question, which(edit, question))
        return {"kind": kind, "edits": edits}

    def _reply(self, edit: Edit, question: Question, kind: str) -> str | None:
        kinds = self.kinds(edit["category"], question)
        text = kinds[kind or self.draw.choice([*kinds])]
        return filled(text, self.draw, self.values(question))


# -- the edits of each protocol --


def _blank(*questions: str) -> dict[str, str | None]:
    return dict.fromkeys(questions, "")


def _of_categories(draw: Draw, asks: dict[str, tuple[str, ...]], most: int = 2) -> list[Edit]:
    return [
        {"id": f"{category}_{number}", "category": category, "said": _blank(*asked)}
        for category, asked in asks.items()
        for number in range(1, draw.randint(1, most) + 1)
    ]


def _wiseedit() -> Iterator[Set]:
    always = ("following", "preserving", "quality")
    tasks = {
        "Awareness": ((*always, "knowledge"), ("Awareness_1", "Awareness_2")),
        "Interpretation": ((*always, "knowledge"), ("Interpretation_1",)),
        "Imagination": ((*always, "fusion"), ("Imagination_1", "Imagination_3")),
        "Complex": ((*always, "knowledge", "fusion"), ("WiseEdit_Complex_2",)),
    }

    def edits(draw: Draw) -> list[Edit]:
        return [
            {"id": f"{subset}_{number}", "category": task, "said": _blank(*asked)}
            for task, (asked, subsets) in tasks.items()
            for subset in subsets
            for number in range(1, draw.randint(2, 3) + 1)
        ]

    maker = Maker("wiseedit", lambda category, question: _object("score"), lambda question: range(1, 11), edits)
    yield from maker.sets()
    for subset in ("Awareness_2", "Imagination_1", "WiseEdit_Complex_2"):
        edit_set = maker._set("a subset without edits", lambda edit, question: "clean")
        for edit in edit_set["edits"]:
            edit["said"] = None if edit["id"].startswith(subset) else edit["said"]
        yield edit_set


def _omnicontext() -> Iterator[Set]:
    asks = {"multi_object": ("PF", "SC"), "single_character": ("PF", "SC"), "scene_object": ("PF_scene", "SC_scene")}
    maker = Maker(
        "omnicontext",
        lambda category, question: _object("score", "reasoning"),
        lambda question: range(0, 11),
        lambda draw: _of_categories(draw, asks, 3),
    )
    yield from maker.sets()
    kinds = ("clean", "too high", "prose", "no reply", "bare number", "cut in the words")
    for number in range(10):
        edit_set = maker._set("asked three times", lambda edit, question: "clean")
        for edit in edit_set["edits"]:
            of = kinds if number and maker.draw.random() < 0.4 else kinds[:1]
            edit["again"] = [
                {name: maker._reply(edit, name, maker.draw.choice(of)) for name in edit["said"]} for _ in range(2)
            ]
        yield edit_set
    yield from maker.bare("multi_object")


def _structeditbench() -> Iterator[Set]:
    def edits(draw: Draw) -> list[Edit]:
        drawn = []
        for number, category in enumerate(draw.choices(("chart", "math", "graph", "puzzle", "science", "table"), k=5)):
            labels = ["editing", *draw.choices(("editing", "maintain"), k=draw.randint(0, 4))]
            questions = [{"label": label, "right": "5"} for label in labels]
            asked = _blank(*(str(place) for place in range(1, len(labels) + 1)))
            drawn.append({"id": f"{number:05d}", "category": category, "questions": questions, "said": asked})
        return drawn

    maker = Maker("structeditbench", lambda *_: VERDICT, lambda question: ("Correct", "Incorrect"), edits)
    yield from maker.sets()
    odd: dict[str, dict[str, Any]] = {
        "other label": {"label": "style"},
        "other capitals of a label": {"label": "Maintain"},
        "no label": {"label": None},
        "null for the right answer": {"right": None},
    }
    for kind, about in odd.items():
        for place in ("first", "last", "any"):
            edit_set = maker._set(f"{kind}, {place}", lambda edit, question: "clean")
            for edit in edit_set["edits"]:
                questions = edit["questions"]
                at = {"first": 0, "last": len(questions) - 1, "any": maker.draw.randrange(len(questions))}[place]
                if len(questions) > 1:
                    questions[at] |= about
                    if "right" in about:
                        del edit["said"][str(at + 1)]
                if not any(question["label"] == "editing" and question["right"] for question in questions):
                    questions.append({"label": "editing", "right": "5"})
                    edit["said"][str(len(questions))] = "Correct"
            yield edit_set


def sizes_of_pictures() -> Iterator[tuple[int, int]]:
    """Yields sizes in pixels: of every shape, some as exact as a picture can be, some beside the middle of two."""
    draw = random.Random("sizes of pictures")
    yield from ((1, 1), (1, 40), (40, 1), (1024, 1024), (512, 2048), (2048, 512), (1023, 1025), (3000, 70))
    for number in range(71):
        height = draw.randint(16, 1600)
        yield draw.randint(16, 1600), height
        width = max(1, round(height * (0.25 + number / 70 * 3.75)) + draw.randint(-1, 1))
        yield width, height


def _msebench() -> Iterator[Set]:
    def edits(draw: Draw) -> list[Edit]:
        return [
            {"id": f"{session:03d}_{turn}", "category": "add", "said": _blank("turn")}
            for session in range(4)
            for turn in range(1, 6)
        ]

    kinds = {
        kind: text and text.replace('"score": @', '"prompt_following": @, "consistency": @')
        for kind, text in _object("score").items()
    } | {
        "half": '{"reason": "So.", "prompt_following": 6.5, "consistency": 7}',
        "too high": '{"reason": "So.", "prompt_following": 11, "consistency": 15}',
        "half as text": '{"reason": "So.", "prompt_following": "6.5", "consistency": 7}',
        "number as text": '{"reason": "So.", "prompt_following": "@", "consistency": "@"}',
        "zero": '{"reason": "So.", "prompt_following": 0, "consistency": 0}',
        "one too high": '{"reason": "So.", "prompt_following": 11, "consistency": @}',
        "negative": '{"reason": "So.", "prompt_following": -1, "consistency": @}',
        "both negative": '{"reason": "So.", "prompt_following": -1, "consistency": -2}',
        "null": '{"reason": "So.", "prompt_following": null, "consistency": @}',
        "truth": '{"reason": "So.", "prompt_following": true, "consistency": @}',
        "Python": "{'reason': 'So.', 'prompt_following': @, 'consistency': @}",
        "other capitals": '{"Reason": "So.", "Prompt_Following": @, "Consistency": @}',
        "one number": '{"reason": "So.", "prompt_following": @}',
        "words after": '{"reason": "So.", "prompt_following": @, "consistency": @} So.',
    }
    yield from Maker("msebench", lambda *_: kinds, lambda question: (6, 7, 7, 8, 8, 9, 9, 10), edits).sets()


def _picabench() -> Iterator[Set]:
    laws = ("Light_Propagation", "Reflection", "Deformation", "Causality", "Local")

    def edits(draw: Draw) -> list[Edit]:
        drawn = []
        for number, law in enumerate(draw.choices(laws, k=5)):
            right = [draw.choice(("yes", "no")) for _ in range(draw.randint(1, 4))]
            asked = _blank(*(f"{place}: {answer}" for place, answer in enumerate(right, 1)))
            drawn.append({"id": f"{number:05d}", "category": law, "said": asked})
        return drawn

    maker = Maker("picabench", lambda *_: YES_OR_NO, lambda question: ("Yes", "No"), edits)
    yield from maker.sets()
    for number in range(3):
        edit_set = maker._set("the other laws", partial(maker._any_or_clean, 0.2 * number))
        for edit, law in zip(
            edit_set["edits"], ("Global", "Light_Source_Effects", "Refraction", "Global"), strict=False
        ):
            edit["category"] = law
        yield edit_set


def _viescore() -> Iterator[Set]:
    asks = {"background_change": ("SC", "PQ"), "subject-add": ("SC", "PQ"), "text_change": ("SC", "PQ")}
    maker = Maker(
        "viescore", lambda *_: _numbers(), lambda question: range(0, 11), lambda draw: _of_categories(draw, asks, 3)
    )
    yield from maker.sets()
    yield from maker.bare("subject-add")


def _imgedit() -> Iterator[Set]:
    asks = {"add": ("add",), "replace": ("replace",), "style": ("style",)}
    yield from Maker(
        "imgedit", lambda *_: LINES, lambda question: range(1, 6), lambda draw: _of_categories(draw, asks, 3)
    ).sets()


def _rededit() -> Iterator[Set]:
    tasks = "add adjust background beauty color compose extract lowlevel motion portrait remove replace stylize text"

    def edits(draw: Draw) -> list[Edit]:
        some = draw.sample([*tasks.split(), "viewpoint"], 3)
        return _of_categories(draw, {task: (task,) for task in some}, 3)

    yield from Maker("rededit", lambda *_: LINES, lambda question: range(1, 6), edits).sets()


RISE = {
    "temporal_reasoning": ("consistency", "reasoning", "plausibility"),
    "causal_reasoning": ("consistency", "reasoning_source", "plausibility"),
    "spatial_reasoning": ("spatial_consistency", "spatial_reasoning", "spatial_plausibility"),
    "logical_reasoning": ("logical_consistency", "logical_reasoning"),
}


def _risebench() -> Iterator[Set]:
    def edits(draw: Draw) -> list[Edit]:
        free = draw.random() < 0.4
        drawn = _of_categories(draw, RISE)
        for edit in drawn:
            if free and edit["category"] != "logical_reasoning" and draw.random() < 0.5:
                edit["said"] = _blank(*RISE[edit["category"]][1:])
        return drawn

    def values(question: str) -> Sequence[int]:
        return (0, 1) if question.startswith("logical") else (1, 2, 3, 4, 5, 5)

    yield from Maker("risebench", lambda *_: FINAL, values, edits).sets()


def _unireditbench() -> Iterator[Set]:
    asks = dict.fromkeys(("maze", "sudoku", "world"), ("consistency", "reasoning_both", "plausibility"))
    yield from Maker(
        "unireditbench", lambda *_: FINAL, lambda question: (1, 2, 3, 4, 5, 5), lambda draw: _of_categories(draw, asks)
    ).sets()


KRIS = {
    "color_change": ("consistency", "instruction", "quality"),
    "anomaly_correction": ("consistency", "correction", "quality"),
    "viewpoint_change": ("consistency", "viewpoint", "quality"),
    "temporal_prediction": ("consistency_frames", "instruction_frames", "quality"),
    "biology": ("consistency", "knowledge", "quality"),
    "multi-element_composition": ("consistency_parts", "instruction_parts", "quality"),
}


def _kris() -> Iterator[Set]:
    keys = {"quality": "quality_score"} | {
        question: f"{'consistency' if question.startswith('consistency') else 'instruction'}_score"
        for asked in KRIS.values()
        for question in asked
        if question not in ("quality", "knowledge")
    }
    two = {
        kind: text and text.replace('"instruction_score": @', '"instruction_score": @, "knowledge_score": @')
        for kind, text in _object("instruction_score", "instruction_reasoning").items()
    } | {
        "null within": '{"instruction_score": @, "knowledge_score": null, "knowledge_reasoning": "4 legs"}',
        "one number": '{"instruction_score": @}',
        "zero": '{"instruction_score": 0, "knowledge_score": @}',
        "half": '{"instruction_score": 3.5, "knowledge_score": @}',
        "number as text": '{"instruction_score": "@", "knowledge_score": "@"}',
        "too high": '{"instruction_score": 15, "knowledge_score": @}',
        "two scores in words": "Instruction score: @, knowledge_score: @",
        "nested after": '{"a": {}} {"instruction_score": @, "knowledge_score": @}',
    }

    def kinds(category: str, question: str) -> dict[str, str | None]:
        return two if question == "knowledge" else _object(keys[question], "reasoning")

    def edits(draw: Draw) -> list[Edit]:
        return [
            {"id": f"{category}_{number}", "category": category, "said": _blank(*asked)}
            for category, asked in KRIS.items()
            for number in (1, 2, 3)
        ]

    yield from Maker("kris", kinds, lambda question: range(1, 6), edits, of_each=True).sets()


def _magicbrush() -> Iterator[Set]:
    """Yields sets of pictures: an edit has the seed of its picture's pixels, its size, and those of the right one."""
    draw = random.Random("magicbrush")
    for number in range(12):
        edits = [
            {
                "id": f"{session}_{turn}",
                "category": "final turn" if turn == turns else "earlier turn",
                "edit": [draw.randrange(1000), draw.choice((16, 24)), draw.choice((12, 16))],
                "reference": [draw.randrange(1000), 16, 12],
                "said": {},
            }
            for session in range(1, 4)
            for turns in [draw.randint(1, 3)]
            for turn in range(1, turns + 1)
        ]
        if number == 11:
            edits[-1]["said"] = None
        yield {"kind": "an edit that is missing" if number == 11 else "clean", "edits": edits}


MODELS = ("editor-9", "editor-10", "Zeta", "alpha_2")


def _battles(
    questions: tuple[str, ...], kinds: dict[str, str | None], values: Sequence[str], name: str, samples: int
) -> Iterator[Set]:
    """Yields sets of battles: an edit's `category` is the sample, its `models` the two that meet."""
    asked = [f"{question}.{order}" for question in questions for order in ("forward", "backward")]

    def edits(draw: Draw) -> list[Edit]:
        return [
            {
                "id": f"s{sample} {first} {second}",
                "category": f"s{sample}",
                "models": draw.sample((first, second), 2),
                "said": _blank(*asked),
            }
            for sample in range(samples)
            for place, first in enumerate(MODELS)
            for second in MODELS[place + 1 :]
        ]

    yield from Maker(name, lambda *_: kinds, lambda question: values, edits).sets()


def _genarena() -> Iterator[Set]:
    yield from _battles(("better_response",), BETTER, ("A", "B"), "genarena", 4)


def _geditbench_v2() -> Iterator[Set]:
    questions = ("instruction_following", "visual_quality", "visual_consistency")
    yield from _battles(questions, PAIR, ("Image A", "Image B", "Tie"), "geditbench_v2", 2)


SETS: dict[str, Callable[[], Iterator[Set]]] = {
    "viescore": _viescore,
    "imgedit": _imgedit,
    "rededit": _rededit,
    "kris": _kris,
    "risebench": _risebench,
    "unireditbench": _unireditbench,
    "magicbrush": _magicbrush,
    "wiseedit": _wiseedit,
    "omnicontext": _omnicontext,
    "structeditbench": _structeditbench,
    "msebench": _msebench,
    "picabench": _picabench,
    "genarena": _genarena,
    "geditbench_v2": _geditbench_v2,
}
