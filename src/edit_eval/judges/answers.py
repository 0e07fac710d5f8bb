"""Turns a judge's raw text into a score, or the reason why there is none. Nothing is guessed, nothing is clamped.

The grammar. Closed blocks of thoughts (`THOUGHTS`), boxes around answers (`BOXES`), code fences, emphasis and
end-of-turn tokens are removed. The rest is a score if it is

* a number as the whole text, optionally followed by its scale and a full stop: `8.5`, `8.5/10`, `8.5 out of 10`,
  `8.5 (out of 10)`, `8.5分`, `8.5/10分`, `8.5（满分10分）`, `8.5分（满分10）`, `8.5.`, `8.5。`;
* the same after one of `_LABELS` and a colon of either width, or `\\boxed{8.5}` or `<score>8.5</score>` with or without
  a label: as the whole text, or, with the form `reason_then_score`, as the whole last line, after reasons. In that last
  line a sum may follow the label, and counts as its result: `Score: 5 + 1 + 1.5 = 7.5`. If it does not add up, it is no
  score;
* a JSON object with `score`: a number, or a string that is one by the first rule. With the form `score` there may be
  no digits around it; with `reason_then_score` nothing may follow it. Its lines have no other words, except an
  announcement that ends with a colon: an object in the middle of a sentence is an example.

The same score given twice is one score; two different ones are none. Everything else is unparseable.

With the form `score` an answer whose first line is a score of three decimals, bare or labelled, ends with that line
(`score_line`): a local judge stops there, and what others write after it is ignored. So an answer that was cut off
later is complete (`find_uncut_score`). No other answer that was cut off is read, however it looks: `Score: 1` may
have been about to become `Score: 10.000`.

An answer that says that the picture cannot be seen is refused, even if it contains a number (`unseen_pictures`).

In cases of doubt the text is not a score:

* A number has digits on both sides of its point, and no sign but a minus: `8.` may be the start of `8.500`, `+0.5` a
  step from the baseline, `8,5` may be two numbers, `.5`, `1e1` and `NaN` are not how a score is asked for.
* Full-width digits, points, slashes, minus, plus and equals signs, colons and brackets (`８．５`) are read like their
  usual forms.
* The scale may have zeros (`8.5/10.000`); any other is another scale.
* Emphasis and fences are removed in pairs: `**8.5` was cut off, and so was a number after an unclosed fence. A complete
  JSON object is complete, with any text around it.
* A heading mark (`### Score: 8.5`) counts as emphasis of a labelled score. A list mark does not: `- 8.5` may be a
  minus.
* A text that begins inside a `<think>` block (the chat template wrote the opening tag) is read after the closing tag;
  an unclosed block, or a closing tag too many, is unparseable.

Standard library only: this file also runs in the environments of judges.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from itertools import pairwise
from typing import Any

from edit_eval.judges.unseen_pictures import says_picture_unseen
from edit_eval.records import Reading, Status

FORMS = ("score", "reason_then_score")
"""The forms that `read_answer` reads."""

LIMITS = ("max_new_tokens", "max_tokens")
"""Parameters of judges that limit an answer, in tokens."""
TOKENS_NEEDED = {"score": 16, "reason_then_score": 256, "json": 256, "labels": 96, "probabilities": 1, "text": 256}
"""Form -> the token limit below which an answer may well be cut off, without thoughts.

Counted with Qwen's vocabulary: `Score: 10.000` takes 9 tokens; five criteria with ten words each and the score take
some 120 to 150, and few judges keep to ten words; a letter for each of six items as JSON takes 51 on one line and 65 on
several, with forty words of reasons and numbers instead 121 and 135, in English and Chinese alike."""
TOKENS_GIVEN = {"score": 128, "reason_then_score": 512, "json": 512, "labels": 256, "probabilities": 8, "text": 512}
"""Form -> the default token limit. It costs nothing if an answer ends earlier; a label that is a single token, as all
of ours are, takes one."""


def default_token_limit(form: str) -> int:
    """Returns the default limit on an answer's tokens; an unknown form counts as `text`."""
    return TOKENS_GIVEN.get(form, TOKENS_GIVEN["text"])


LEAST_MASS = 0.5
"""The least total probability of all legal answers. Below it the judge would rather have written something else, and
its preference among them does not answer the question."""
LONGEST_ANSWER = 100_000
"""Characters, without thoughts. A longer text comes from a model that did not stop, and is no answer."""

WAS_CUT_OFF = "the limit on its length (max_new_tokens, max_tokens) ended the answer before it was complete"
"""The reason for every such answer: always the same, so that equal failures are counted as one."""

_WORD = re.compile(r"[A-Za-z]+|[一-鿿]{1,2}")
_PROSE = 4  # words
_LONGEST_SCORE_LINE = 200  # characters; bounds the work on each line

_WIDTHS = str.maketrans("０１２３４５６７８９．／－−＋＝：（）", "0123456789./--+=:()")
_FIGURES = r"[0-9]+(?:\.[0-9]+)?"
_TEN = r"[0-9]+(?:\.0+)?"
_BEHIND = rf"分? ?/ ?{_TEN} ?分?|out of {_TEN}|\( ?out of {_TEN} ?\)|分? ?\( ?[满滿]分 ?{_TEN} ?分? ?\)|分"
# A point after bare digits is not a full stop. A plain text, which most classes return, does not say how it ended, and
# three decimals are asked for: `8.` is more likely the start of `8.500` than a sentence. Since equal words must mean
# the same from every judge, a complete answer is asked for again, too: one question more, but no wrong score.
_STOP = r"(?:。|(?(decimals)\.|(?(behind)\.|(?!))))"
_NUMBER = rf"(?P<number>-?[0-9]+(?P<decimals>\.[0-9]+)?) ?(?P<behind>{_BEHIND})? ?{_STOP}?"
_LABELS = (
    r"(?:(?:final|overall|total) )?score|rating|overall"
    r"|总评分|最终评分|最终得分|综合评分|综合得分|评分|評分|分数|得分|总分"
)
_LABEL = rf"(?:#{{1,6}} )?(?:{_LABELS})\s*:\s*"
_TERM = rf"(?:{_FIGURES}|\( ?[+-]? ?{_FIGURES} ?\))"
_SCORE = re.compile(rf"(?P<label>{_LABEL})?{_NUMBER}", re.I)
_TAGGED = re.compile(rf"(?:{_LABEL})?<score> ?{_NUMBER} ?</score>", re.I)
_THREE_DECIMALS = re.compile(rf"(?:{_LABEL})?(?:[0-9]\.[0-9]{{3}}|10\.000)[.。]?", re.I)
_GOES_ON = re.compile(r"\s*(?:[+=×−/][ \t]*[0-9]|-[0-9])")  # the line above is a term of a sum
_SUM = re.compile(rf"{_LABEL}(?P<terms>[+-]?{_TERM}(?: ?[+-] ?{_TERM})+) ?= ?{_NUMBER}", re.I)
_BOX = re.compile(
    r"(?<![0-9A-Za-z.\\-])(?P<mark>\$\$?|)\\boxed\{ ?(?P<inside>-?[0-9][0-9./ ]*(?<![. ])) ?\}(?P=mark)"
    r"(?!\.?[0-9A-Za-z{$])"
)
_EMPHASIS = re.compile(
    r"(?<![0-9A-Za-z.])(?P<mark>\*{1,3}|_{1,3}|`{1,3})(?=\S)(?P<inside>[^*_`]+)(?<=\S)(?P=mark)(?![0-9A-Za-z.])"
)
_TAG = re.compile(r"<score>[ \t\r\n]*([^<>\n]{1,60}?)[ \t\r\n]*</score>", re.I)
_EXAMPLE = re.compile(r"(?:for example|for instance|e\.g\.|looks? like|例如|比如|示例|形如)\W*$", re.I)
_LONGEST_EXAMPLE = len("for instance")
_ENDS_OF_EXAMPLES = "eEgG如例"
_ENDS_OF_A_TURN = ("<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end_of_text|>", "<|end|>", "<end_of_turn>", "</s>")
THOUGHTS = {
    "think": "Qwen, DeepSeek, GLM; local judges write all others so, too",
    "thinking": "zai-org/Open-AutoGLM#60; Claude where it is asked to think in words",
    "thought": "ai.google.dev: OpenAI compatibility, include_thoughts",
    "seed:think": "ByteDance-Seed/Seed-OSS-36B-Instruct: its chat template",
}
"""Tags around thoughts -> who writes them."""
BOXES = {("<|begin_of_box|>", "<|end_of_box|>"): "GLM-V: zai-org/GLM-V#79"}
"""Marks around answers -> who writes them. They are removed in pairs, and not from between digits."""
_THOUGHT = re.compile(rf"<(/?)(?:{'|'.join(THOUGHTS)})>")
_BOXED = re.compile(
    "|".join(rf"(?<![0-9A-Za-z.]){re.escape(a)}([^<>]*){re.escape(b)}(?![0-9A-Za-z.])" for a, b in BOXES)
)
_FENCE = re.compile(r"(?:`{3,}|~{3,})[ \t]*(?P<language>[\w+-]*)")

_APOLOGY = r"(?:(?:i'm|i am) (?:\w+ )?(?:sorry|afraid)|sorry|(?:my )?apologies|i apologi[sz]e|unfortunately|as an ai)"
_CANNOT = (
    r"i(?:'m| am) (?:unable to|not able to|not comfortable|not going to)"
    r"|i (?:can't|cannot|can not|could not|couldn't|won't|will not|must decline|have to decline|decline|refuse)"
)
_TASK = (
    r"(?:assist|help(?! but| \w+ing)|comply|fulfil|complete|provide|offer|rat(?:e|ing)|scor(?:e|ing)|evaluat|judg"
    r"|assess|grad(?:e|ing)|answer|respond|analy[sz]|process|review|engag|participat|do (?:that|this|so)|continue"
    r"|giv(?:e|ing) (?:you )?(?:a|any|the) (?:score|rating|number|evaluation)"
    r"|(?:see|view|access|open|look at) (?:(?:the|these|those|this|any|your|attached|provided) )*(?:image|picture))"
)
_REFUSALS = (
    rf"(?:{_APOLOGY}\b.{{0,80}}?)?\b(?:{_CANNOT})\b(?: \w+){{0,3}}? {_TASK}",
    rf"{_APOLOGY}\b.{{0,80}}?\b(?:{_CANNOT})\b\W*$",
    rf"{_APOLOGY}\b.{{0,80}}?\b(?:policy|policies|guidelines)\b",
    r"[很非十]?[常分]?(?:抱歉|对不起|對不起|不好意思).{0,12}?我.{0,12}?(?:无法|無法|不能|没有办法|没法|不便)",
    (
        r"(?:[很非十]?[常分]?(?:抱歉|对不起|對不起|不好意思|遗憾).{0,12}?|我|作为.{0,16}?)(?:无法|無法|不能|没有办法|不便|拒绝)"
        r".{0,16}?(?:评分|評分|评价|评估|打分|提供|回答|协助|帮助|满足|处理|给出|继续|讨论|参与|执行|回应|查看图)"
    ),
)
"""Compiled by the first reply without a score: it takes as long as all other patterns of this file."""
_COMPARISON = re.compile(r"\b(?:higher|highly|more than|above|better than)\b|更高|太高|高于|超过", re.I)
_DIGITS = re.compile(r"[0-9]+(?:\.[0-9]+)?")


class NoAnswer(Exception):
    """Carries the reason why a text has no answer in the requested form, and its status."""

    def __init__(self, reason: str, status: Status = Status.UNPARSEABLE) -> None:
        super().__init__(reason)
        self.status = status


def read_answer(text: str, form: str = "score", lowest: float = 0.0, highest: float = 10.0) -> Reading:
    """Reads the one score in a judge's raw, complete `text` by the grammar above, as the value `score`.

    `form` is how the judge was told to answer, `score` or `reason_then_score`. A score outside `lowest` to `highest` is
    `out_of_range`. With a score, `reason` has the judge's words. Never raises for any text; takes time proportional to
    its length. Raises `ValueError` for an unsupported form.
    """
    if form not in FORMS:
        raise ValueError(f"no such form of an answer: {form!r}; there are {' and '.join(FORMS)}")
    body = ""
    try:
        body = extract_answer(text)
        if form == "score":
            body = score_line(f"{body}\n") or body
        body = body.strip()
        scores, words = _find(body, form, highest)
    except NoAnswer as why:
        if body and is_refusal(body, lowest, highest):
            return Reading(status=Status.REFUSED, reason=f"the judge declined: {excerpt(body)}")
        return Reading(status=why.status, reason=str(why))
    distinct = sorted(set(scores))
    if len(distinct) > 1:
        listed = " and ".join(f"{score:.10g}" for score in distinct[:3])
        return Reading(status=Status.UNPARSEABLE, reason=f"different scores in one answer: {listed}")
    score = distinct[0] + 0.0  # -0.0 becomes 0.0
    if not lowest <= score <= highest:
        outside = f"the score {score:.10g} is outside {lowest:g} to {highest:g}"
        return Reading(status=Status.OUT_OF_RANGE, reason=outside)
    return Reading(values={"score": score}, reason=words)


def find_uncut_score(text: str) -> str | None:
    """Returns the `score_line` of a bare answer that was cut off later; removes closed thoughts and fences.

    None if the cut may have been in the score itself, or before it.
    """
    try:
        return score_line(extract_answer(text))
    except NoAnswer:
        return None


def score_line(text: str) -> str | None:
    """Returns the line that ends a bare answer: its first, if that is a score of three decimals, bare or labelled.

    None if there is no such line, or the line has not ended: `7.500` may continue (`7.5001`, `7.500/10`). Nor does the
    first term of a sum count (`5.000`, and below it `+0.500`).
    """
    begin = len(text) - len(text.lstrip())
    end = text.find("\n", begin)
    if end < 0 or _GOES_ON.match(text, end):
        return None
    line = text[begin:end].strip(" \t\r")
    plain, set_apart = _plain(line)
    return line if not set_apart and _THREE_DECIMALS.fullmatch(plain) else None


def is_prose(text: str) -> bool:
    """True if an answer, without thoughts, has some words besides a score and its usual additions."""
    try:
        body = _remove_thoughts(text)
    except NoAnswer:
        return False
    return len(_WORD.findall(body[:1000])) >= _PROSE


def extract_answer(text: str) -> str:
    """Returns the text without thoughts, fences, end-of-turn tokens, leading space, and emphasis around a score.

    Raises `NoAnswer` if nothing is left, if thought and answer cannot be told apart, and, as a refusal, if the text
    says that the picture cannot be seen.
    """
    rest = _remove_thoughts(text)
    body = _remove_end_tokens(_BOXED.sub(r"\1", rest) if "<|" in rest else rest).lstrip()
    if not body:
        raise NoAnswer("nothing follows the <think> block" if _THOUGHT.search(text) else "the answer is empty")
    if len(body.rstrip()) > LONGEST_ANSWER:
        raise NoAnswer(f"the answer did not stop: {len(body):,} characters")
    if says_picture_unseen(body):
        raise NoAnswer(f"the judge says that it cannot see the picture: {excerpt(body)}", Status.REFUSED)
    return _remove_fences(body).lstrip()


def quote_reply(text: str) -> str:
    """Returns a reply for quotation in another question: without its thoughts, otherwise unchanged.

    Empty if nothing is left, or if thought and answer cannot be told apart.
    """
    if not _THOUGHT.search(text):
        return text
    try:
        return _remove_thoughts(text).replace("\v", "\n").strip()
    except NoAnswer:
        return ""


def _remove_thoughts(text: str) -> str:
    if "<" not in text:  # most have none
        return text
    opening, closing = "<think>", "</think>"
    text = _THOUGHT.sub(r"<\1think>", text)
    position = 0
    first, end = text.find(opening), text.find(closing)
    if end >= 0 and (first < 0 or end < first):
        position = end + len(closing)
    pieces = []
    while (begin := text.find(opening, position)) >= 0:
        end = text.find(closing, begin)
        if end < 0:
            raise NoAnswer(
                "a <think> block is not closed: was the answer cut off (max_new_tokens), or did the server's reasoning "
                "parser take all of it (change that, or write `thinking: off`)?"
            )
        pieces.append(text[position:begin])
        position = end + len(closing)
    pieces.append(text[position:])
    # Joined with a space that does not end a line: the text on either side of a block was never one number, and a score
    # before it is not a line of its own.
    rest = "\v".join(pieces)
    if closing in rest:
        raise NoAnswer("a </think> without a <think>: thinking and answer cannot be told apart")
    return rest


def _remove_end_tokens(text: str) -> str:
    while (bare := text.rstrip()).endswith(_ENDS_OF_A_TURN):
        text = bare[: bare.rindex("<")]
    return text


def _remove_fences(body: str) -> str:
    if "```" not in body and "~~~" not in body:  # most have none
        return body
    kept: list[str] = []
    open_at: int | None = None
    for line in body.splitlines(keepends=True):
        fence = _FENCE.fullmatch(line.strip())
        if fence is None or (open_at is not None and fence["language"]):
            kept.append(line)
        elif open_at is None:
            open_at = len(kept)
            kept.append(line)
        else:
            del kept[open_at]
            open_at = None
    return "".join(kept)


def _find(body: str, form: str, highest: float) -> tuple[list[float], str]:
    """Returns all scores that a text states, and its other words."""
    body = _TAG.sub(r"<score>\1</score>", body) if "<" in body else body
    whole = _parse_score_line(body, highest)
    if whole is not None:
        return [whole[0]], ""
    lines = [line for line in map(str.strip, body.splitlines()) if line]
    if not lines:
        raise NoAnswer("the answer is an empty code fence")
    scores_by_line = {
        line: score for line in dict.fromkeys(lines) if (score := _parse_score_line(line, highest)) is not None
    }
    if form == "reason_then_score" and (total := _total(lines[-1], highest)) is not None:
        scores_by_line[lines[-1]] = total, True
    if all(line in scores_by_line for line in lines):
        return [score for score, _ in scores_by_line.values()], ""
    last = lines[-1]
    if form == "reason_then_score" and last in scores_by_line and scores_by_line[last][1]:
        if _ends_in_example(lines[-2]):
            raise NoAnswer(f"its score is an example: {excerpt(lines[-2])}")
        if any(map(_FENCE.fullmatch, lines)):
            raise NoAnswer("a code fence is not closed: was the answer cut off (max_new_tokens)?")
        words = "\n".join(line for line in body.splitlines() if line.strip() not in scores_by_line).strip()
        scores = [score for score, _ in scores_by_line.values()]
        if '"score"' in words:
            scores += _read_objects(words, highest)[0]
        return scores, words
    if "{" in body:
        return _find_in_json(body, form, highest)
    if form == "reason_then_score":
        raise NoAnswer(f"the last line is not `Score: X.XXX`: {excerpt(last)}")
    raise NoAnswer(f"the answer is not a score alone: {excerpt(body)}")


def _ends_in_example(line: str) -> bool:
    """True if what follows the line is an example. Looks at its end alone: lines are long."""
    end = len(line)
    while end and not (line[end - 1].isalnum() or line[end - 1] == "_"):
        end -= 1
    last = line[max(0, end - 1) : end]
    return last in _ENDS_OF_EXAMPLES and bool(_EXAMPLE.search(line, max(0, end - _LONGEST_EXAMPLE)))


def _parse_score_line(line: str, highest: float) -> tuple[float, bool] | None:
    """Returns the score that a line states and whether it is labelled; None for any other line."""
    plain, boxed = _plain(line)
    tagged = "<" in plain
    match = (_TAGGED if tagged else _SCORE).fullmatch(plain)
    if match is None or not _fits_scale(match, highest):
        return None
    return float(match["number"]), tagged or boxed or bool(match["label"])


def _total(line: str, highest: float) -> float | None:
    """Returns the result of the sum on a labelled line; None if there is none."""
    match = _SUM.fullmatch(_plain(line)[0]) if "=" in line or "＝" in line else None
    if match is None or not _fits_scale(match, highest):
        return None
    total = Decimal(0)
    for signs, figures in re.findall(rf"([-+( ]*)({_FIGURES})", match["terms"]):
        total += Decimal(figures) * (-1) ** signs.count("-")
    if total != Decimal(match["number"]):
        raise NoAnswer(f"the sum does not add up: {excerpt(line)} is {total}")
    return float(match["number"])


def _plain(line: str) -> tuple[str, bool]:
    """Returns a line without emphasis and box, in usual width, and whether it had a box; "" if too long."""
    if len(line) > _LONGEST_SCORE_LINE:
        return "", False
    plain = line if line.isascii() else line.translate(_WIDTHS)
    if "  " in plain or "\t" in plain:
        plain = re.sub(r"[ \t]+", " ", plain)
    if "*" in plain or "_" in plain or "`" in plain:
        # One at a time, looking at the text around each that was removed, so that `1``0` and two adjacent boxes are not
        # 10.
        while (barer := _EMPHASIS.sub(r"\g<inside>", plain, count=1)) != plain:
            plain = barer.strip()
    plain, boxes = _BOX.subn(r"\g<inside>", plain, count=1) if "\\boxed" in plain else (plain, 0)
    return plain, boxes == 1


def _fits_scale(match: re.Match[str], highest: float) -> bool:
    behind = match["behind"]
    return not behind or all(float(scale) == highest for scale in re.findall(_FIGURES, behind))


def _find_in_json(body: str, form: str, highest: float) -> tuple[list[float], str]:
    scores, words, outside = _read_objects(body, highest)
    for before, behind in pairwise(outside):
        last = before.rpartition("\n")[2].strip("*_`~[, \t")
        first = behind.partition("\n")[0].strip("*_`~].,。; \t\r")
        if first or (last and (last[-1] not in ":：.。!！?？" or _EXAMPLE.search(last))):
            raise NoAnswer(f"the JSON object is in the middle of a sentence: {excerpt(body)}")
    if form == "reason_then_score":
        if outside[-1].strip("*_`~].。 \t\r\n"):
            raise NoAnswer(f"the score is not the last thing in the answer: {excerpt(outside[-1])}")
        lines = {line.strip() for part in outside for line in part.splitlines()}
        scores += [stated[0] for line in lines if (stated := _parse_score_line(line, highest)) is not None]
    elif any(character.isdigit() for part in outside for character in part):
        raise NoAnswer(f"there are other numbers beside the JSON object: {excerpt(body)}")
    around = "".join(outside).strip("*_`~[] \t\r\n")
    return scores, "\n".join(part for part in (around, words) if part)


def _read_objects(body: str, highest: float) -> tuple[list[float], str, list[str]]:
    """Returns the scores of a text's JSON objects, the words in their other keys, and the text outside them."""
    values, others, outside = json_objects(body, "score", _DECODER)
    words: list[str] = []
    for pairs in others:
        if len(pairs) == 1 and isinstance(pairs[0][1], str):
            words.append(pairs[0][1])
        else:
            words += [f"{key}: {value}" for key, value in pairs if isinstance(value, (str, float))]
    return [_number(value, highest) for value in values], "\n".join(dict.fromkeys(words)), outside


def json_objects(
    body: str, key: str, decoder: json.JSONDecoder
) -> tuple[list[Any], list[list[tuple[str, Any]]], list[str]]:
    """Returns the values of `key` in a text's JSON objects, each object's other pairs, and the text between objects.

    `decoder` comes from `json_decoder`. Raises `NoAnswer` for braces that hold no such object.
    """
    values: list[Any] = []
    others: list[list[tuple[str, Any]]] = []
    outside: list[str] = []
    position = 0
    while (begin := body.find("{", position)) >= 0:
        outside.append(body[position:begin])
        try:
            pairs, position = decoder.raw_decode(body, begin)
        except (ValueError, RecursionError):
            # From None: the decoder's traceback would keep an entire hostile text alive.
            raise NoAnswer(f"braces without a complete JSON object: {excerpt(body[begin:])}") from None
        occurrences = [value for name, value in pairs if name == key]
        if not occurrences:
            raise NoAnswer(f"a JSON object without `{key}`: {excerpt(body[begin:position])}")
        values += occurrences
        others.append([(name, value) for name, value in pairs if name != key])
    outside.append(body[position:])
    return values, others, outside


def _number(value: Any, highest: float) -> float:
    if isinstance(value, float):
        return value
    stated = _parse_score_line(value.strip(), highest) if isinstance(value, str) else None
    if stated is None or stated[1]:
        raise NoAnswer(f"`score` in the JSON object is not a number: {excerpt(repr(value))}")
    return stated[0]


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def json_decoder(strict: bool) -> json.JSONDecoder:
    """Returns a decoder that keeps objects as pairs and reads integers as floats.

    So `{"score": 7, "score": 8}` states two scores, and digits are not limited.
    """
    return json.JSONDecoder(object_pairs_hook=list, parse_int=float, parse_constant=_refuse_constant, strict=strict)


_DECODER = json_decoder(strict=True)


def is_refusal(body: str, lowest: float, highest: float) -> bool:
    """True if a text without a score is clearly a refusal."""
    opening = " ".join(body[:300].split()).replace("’", "'").strip("*_`\"'")
    if any(float(number) not in (lowest, highest) for number in _DIGITS.findall(opening)):
        return False
    return not _COMPARISON.search(opening) and any(re.match(pattern, opening, re.I) for pattern in _REFUSALS)


def excerpt(text: str) -> str:
    """Returns the beginning of a text, fit for one line of a message."""
    line = " ".join(text[:300].split())
    shown = "".join(character if character.isprintable() else "?" for character in line[:60])
    return f"`{shown}...`" if len(line) > 60 or len(text) > 300 else f"`{shown}`"
