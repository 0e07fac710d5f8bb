"""Answers of judges whose truth is known: what each means is decided before it is written, and never read back from it.

`answer(chance)` gives a text, the form that was asked for, the number that it means (None: it means no number, or more
than one) and whether the grammar owes that number. A reader may always decline; it may never give another number.
"""

from __future__ import annotations

import random
from typing import NamedTuple

WIDE = str.maketrans("0123456789./:()", "０１２３４５６７８９．／：（）")

LABELS = (
    "Score",
    "Final Score",
    "Overall Score",
    "Total score",
    "SCORE",
    "Rating",
    "Overall",
    "rating",
    "评分",
    "評分",
)
LABELS += ("分数", "得分", "总分", "总评分", "最终评分", "最终得分", "综合得分", "综合评分")
COLONS = (": ", ":", "：", " : ")
SCALES = (
    "",
    "",
    "",
    "/10",
    " / 10",
    "/10.000",
    "分",
    " 分",
    "/10分",
    " out of 10",
    " (out of 10)",
    "（满分10分）",
    "分（满分10）",
)
DRESSES = ("{}", "{}", "{}", "**{}**", "__{}__", "`{}`", "```\n{}\n```", "  {}\n\n", "<score>{}</score>")
ENDS = ("", "", "", "<|im_end|>", "\n<|im_end|>\n", "</s>", "<|endoftext|>")
THOUGHTS = ("", "", "<think>Score: 3.000? No, 4.</think>", "Perhaps 6 of 10.\n</think>\n\n")

REASONS = (
    "The shadow falls to the left, as the light asks.",
    "1. Gravity: +0.500, the cup is held.",
    "2. Light: -0.250, two of 3 lamps fit.",
    "- 3 hands where there were 2.",
    "The baseline is 5.000.",
    'The rubric says "Score: 5.000" for what is unchanged.',
    "> Score: 5.000 is the baseline",
    "Lighting score: 9",
    "I cannot see the umbrella that was asked for.",
    "I cannot see any change in the edited image.",
    "The edited image is missing the second reflection.",
    "At 8/10 of the height the wall begins.",
    "A 10.000 would need a shadow.",
    "From 4 to 6 stones were moved.",
    "光影一致，重力合理。",
    "光照：8分；阴影：6分。",
    "满分10分，基准为5.000。",
    "看不到图片中要求的雨伞。",
    "It is 2024-05-12 on the calendar.",
)
UNSEEN = (
    "I cannot see the image.",
    "I'm sorry, I can't view the attached images, so this is a guess.",
    "I am unable to access the edited picture.",
    "No image was provided.",
    "The edited image is not visible to me.",
    "The image did not load; I assume the baseline.",
    "我看不到图片。",
    "抱歉，我无法查看您提供的图像，因此给出基准分。",
    "图片无法显示。",
    "由于没有提供图片，给出默认分数。",
)


class Answer(NamedTuple):
    text: str
    form: str
    means: float | None
    owed: bool


def answer(chance: random.Random) -> Answer:
    """One answer, in one of the two forms."""
    form = chance.choice(("score", "reason_then_score"))
    kind = chance.choice(KINDS)
    text, means, owed = kind(chance, form)
    return Answer(text, form, means, owed)


def number(chance: random.Random) -> tuple[str, float]:
    thousandths = chance.choice((chance.randint(0, 10_000), 500 * chance.randint(0, 20)))
    written = f"{thousandths / 1000:.{chance.choice((3, 3, 3, 2, 1))}f}"
    if chance.random() < 0.15:
        written = str(thousandths // 1000)
    return written, float(written)


def another(chance: random.Random, but: float) -> str:
    while float(written := number(chance)[0]) == but:
        pass
    return written


def stated(chance: random.Random, written: str, labelled: bool = True) -> str:
    """A number as the grammar has it, on one line."""
    scale, dress = chance.choice(SCALES), chance.choice(DRESSES)
    if "```" in dress or "\n" in dress:
        dress = "{}"
    if "<score>" in dress:
        scale = ""
    body = dress.format(written + scale)
    if chance.random() < 0.1 and dress == "{}":
        body = body.translate(WIDE)
    if labelled or chance.random() < 0.5:
        label = chance.choice(LABELS) + chance.choice(COLONS)
        if dress == "{}" and chance.random() < 0.2:
            return f"**{label}{body}**"
        body = chance.choice(("", "", "", "### ")) + label + body
    return body


def reasons(chance: random.Random) -> str:
    return chance.choice(("\n", "\n", "\n\n")).join(chance.sample(REASONS, chance.randint(1, 4)))


def clean(chance: random.Random, form: str) -> tuple[str, float | None, bool]:
    written, means = number(chance)
    line = stated(chance, written, labelled=False)
    fence = chance.choice(("{}", "{}", "```\n{}\n```", "\n{}\n", "{0}\n{0}"))
    return chance.choice(THOUGHTS) + fence.format(line) + chance.choice(ENDS), means, True


def after_reasons(chance: random.Random, form: str) -> tuple[str, float | None, bool]:
    written, means = number(chance)
    text = f"{chance.choice(THOUGHTS)}{reasons(chance)}\n{stated(chance, written)}{chance.choice(ENDS)}"
    return text, means, form == "reason_then_score"


def before_words(chance: random.Random, form: str) -> tuple[str, float | None, bool]:
    means = chance.randint(0, 10_000) / 1000
    label = chance.choice(("", *(label + colon for label in LABELS for colon in COLONS)))
    line = chance.choice(("{}{}", "{}{}", "**{}{}**", "{}**{}**")).format(label, f"{means:.3f}")
    return f"{chance.choice(THOUGHTS)}{line}\n{chance.choice(('', chr(10)))}{reasons(chance)}", means, form == "score"


def json_object(chance: random.Random, form: str) -> tuple[str, float | None, bool]:
    written, means = number(chance)
    value = chance.choice((written, f'"{written}"', f'"{written}/10"'))
    reason = chance.choice(('"reason": "2 of 3 shadows fit.", ', ""))
    body = chance.choice(("{}", "```json\n{}\n```")).format(f'{{{reason}"score": {value}}}')
    before = chance.choice(("", "Here is my evaluation:\n"))
    return before + body + chance.choice(ENDS), means, True


def summed(chance: random.Random, form: str) -> tuple[str, float | None, bool]:
    steps = [chance.choice((-500, -250, 0, 250, 500, 1000)) for _ in range(chance.randint(1, 4))]
    total = 5000 + sum(steps)
    wrong = chance.random() < 0.4
    shown = total + chance.choice((-1000, -250, 250, 1000)) if wrong else total
    terms = "".join(f" {'-' if step < 0 else '+'} {abs(step) / 1000:.3f}" for step in steps)
    text = f"{reasons(chance)}\n{chance.choice(LABELS)}: 5.000{terms} = {shown / 1000:.3f}"
    return text, None if wrong else total / 1000, not wrong and form == "reason_then_score"


def in_steps(chance: random.Random, form: str) -> tuple[str, float | None, bool]:
    step = chance.choice((250, 500, 1000, -500))
    line = f"{'+' if step > 0 else '-'}{abs(step) / 1000:.3f} for the light"
    total = (5000 + step) / 1000
    first = chance.choice(("5.000", "Score: 5.000", "5.0", "Baseline: 5.000"))
    return f"{first}\n{line}\n{chance.choice(('= ', '→ ', ''))}{total:.3f}", total, False


def spread(chance: random.Random, form: str) -> tuple[str, float | None, bool]:
    low = chance.randint(0, 9)
    pattern = chance.choice(
        (
            "{}-{}",
            "{} - {}",
            "{}~{}分",
            "{}–{}",
            "{} to {}",
            "{} or {}",
            "between {} and {}",
            "{}到{}分",
            "{}/{}",
            "{}, {}",
        )
    )
    high = low + 1 if pattern != "{}/{}" else chance.choice((5, 20, 100))
    line = pattern.format(low, high)
    if chance.random() < 0.6:
        line = chance.choice(LABELS) + chance.choice(COLONS) + line
    return chance.choice(("", reasons(chance) + "\n")) + line, None, False


def two_scores(chance: random.Random, form: str) -> tuple[str, float | None, bool]:
    written, means = number(chance)
    other = another(chance, means)
    first, second = stated(chance, written), stated(chance, other)
    between = chance.choice(("\n", "\n", f"\n{reasons(chance)}\n", " "))
    # A bare answer whose first line has three decimals ends with it: then the first is what it means.
    ended = form == "score" and "\n" in between and "." in written and len(written.partition(".")[2]) == 3
    return first + between + second, means if ended else None, False


def cannot_see(chance: random.Random, form: str) -> tuple[str, float | None, bool]:
    written, _ = number(chance)
    said, line = chance.choice(UNSEEN), stated(chance, written)
    text = chance.choice(("{0}\n{1}", "{0} {1}", "{1}\n{0}", "Sorry.\n{0}\n\n{1}", '{{"reason": "{0}", "score": {2}}}'))
    return text.format(said, line, written), None, False


def in_passing(chance: random.Random, form: str) -> tuple[str, float | None, bool]:
    written, _ = number(chance)
    return chance.choice(PASSING).format(written), None, False


def elsewhere(chance: random.Random, form: str) -> tuple[str, float | None, bool]:
    """A number on another scale, of one criterion, or about something else."""
    written, _ = number(chance)
    return chance.choice(ELSEWHERE).format(written, chance.choice(LABELS)), None, False


PASSING = (
    'Answers look like {{"score": {}}}.',
    'A perfect edit would be {{"score": {}}}, this is none.',
    "For example:\nScore: {}",
    "例如：\n评分：{}",
    "The rubric wants `Score: {}` or the like.",
    "I would rate this {}, had I seen more.",
    'They wrote "Score: {}".',
    "If the shadow were right it would be {}.",
    "<think>Score: {}",
    "<think>Score: {}</think>",
    "```\nScore: {}",
    "Score: about {}",
    "Score: < {}",
    "Score: {}?",
    "The previous score: {}",
    "Not {}",
)
ELSEWHERE = (
    "{0}/100",
    "{1}: {0}/100",
    "{1}: {0}/5",
    "{0}（满分100分）",
    "{0} out of 7",
    "{0}%",
    "{0} points",
    "Lighting: {0}",
    "Lighting {1}: {0}",
    "+{0}",
    "{0} of the stones were moved.",
    "{0}.1.2",
    "v{0}",
    "Reasons.\nMax {1}: {0}",
    "光照{1}：{0}",
)
KINDS = (clean, clean, after_reasons, after_reasons, before_words, json_object, summed, in_steps, spread, two_scores)
KINDS += (cannot_see, in_passing, elsewhere)
