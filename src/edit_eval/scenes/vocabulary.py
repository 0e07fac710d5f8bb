"""The words of the scenes in English and Chinese, and the phrases that name things. Every phrase is read back, too."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from edit_eval.scenes.references import Reference

LANGUAGES = ("en", "zh")


@dataclass(frozen=True)
class Word:
    """A noun: English singular and plural, Chinese with its measure word."""

    one: str
    many: str
    zh: str
    measure: str


NOUNS = {
    "ball": Word("ball", "balls", "球", "个"),
    "box": Word("box", "boxes", "箱子", "个"),
    "cone": Word("traffic cone", "traffic cones", "路锥", "个"),
    "tree": Word("tree", "trees", "树", "棵"),
    "pine": Word("pine", "pines", "松树", "棵"),
    "house": Word("house", "houses", "房子", "座"),
    "person": Word("person", "people", "人", "个"),
    "flag": Word("flag", "flags", "旗子", "面"),
    "lamp": Word("street lamp", "street lamps", "路灯", "盏"),
    "snowman": Word("snowman", "snowmen", "雪人", "个"),
    "bench": Word("bench", "benches", "长椅", "把"),
    "balloon": Word("balloon", "balloons", "气球", "个"),
    "campfire": Word("campfire", "campfires", "篝火", "堆"),
    "stop": Word("bus stop", "bus stops", "公交站牌", "个"),
    "flower": Word("potted flower", "potted flowers", "盆花", "盆"),
}
COLOURS_ZH = {
    "red": "红色",
    "orange": "橙色",
    "yellow": "黄色",
    "green": "绿色",
    "blue": "蓝色",
    "purple": "紫色",
    "pink": "粉色",
    "white": "白色",
    "grey": "灰色",
    "brown": "棕色",
    "black": "黑色",
}
SIZES_ZH = {"small": "小", "large": "大"}
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")
NUMERALS_ZH = ("一", "二", "三", "四", "五", "六")
SIDES_ZH = {"left": "左边", "right": "右边"}
RELATION_WORDS = {
    # in a phrase that finds a thing; in Chinese after the anchor and before 的
    "left": ("to the left of", "左边"),
    "right": ("to the right of", "右边"),
    "front": ("in front of", "前面"),
    "behind": ("behind", "后面"),
    "next": ("next to", "旁边"),
    "on": ("on", "上"),
    "under": ("under", "下面"),
}
PLACE_WORDS = {
    # in a phrase that says where to put a thing
    **{name: RELATION_WORDS[name] for name in ("left", "right", "front", "behind")},
    "on": ("on top of", "上面"),
}
PHRASES: tuple[tuple[dict[str, Any], str, str], ...] = (
    # how a thing is found, and the phrase for it; `{measure}` and `{anchor_measure}` are Chinese measure words
    *(({"ranking": en, "rank": 1}, f"the {en}most {{noun}}", f"最{zh}的{{noun}}") for en, zh in SIDES_ZH.items()),
    *(
        (
            {"ranking": en, "rank": k + 1},
            f"the {word} {{noun}} from the {en}",
            f"从{zh[0]}数第{numeral}{{measure}}{{noun}}",
        )
        for en, zh in SIDES_ZH.items()
        for k, (word, numeral) in enumerate(zip(ORDINALS, NUMERALS_ZH, strict=True))
    ),
    ({"ranking": "largest"}, "the largest {noun}", "最大的{noun}"),
    ({"ranking": "smallest"}, "the smallest {noun}", "最小的{noun}"),
    ({"ranking": "nearest"}, "the {noun} nearest to us", "离我们最近的{noun}"),
    ({"ranking": "farthest"}, "the {noun} farthest from us", "离我们最远的{noun}"),
    ({"relation": "between"}, "the {noun} between the two {anchors}", "两{anchor_measure}{anchor}之间的{noun}"),
    *(
        ({"relation": relation}, f"the {{noun}} {en} the {{anchor}}", f"{{anchor}}{zh}的{{noun}}")
        for relation, (en, zh) in RELATION_WORDS.items()
    ),
    ({"ranking": "", "relation": ""}, "the {noun}", "{noun}"),
)


def read_table(text: str) -> dict[str, tuple[str, str]]:
    """A table of lines `key: English`, each with the Chinese on the line below."""
    lines = text.strip().splitlines()
    heads = [line.partition(": ") for line in lines[::2]]
    return {key: (english, chinese.strip()) for (key, _, english), chinese in zip(heads, lines[1::2], strict=True)}


def core(reference: Reference, language: str, many: bool = False) -> str:
    """The noun with size and colour: `small red box`, `红色的小箱子`."""
    word = NOUNS[reference.kind]
    if language == "zh":
        if reference.kind == "person":
            dress = f"穿{COLOURS_ZH[reference.colour]}衣服的" if reference.colour else ""
            return f"{dress}{word.zh}"
        # The potted flower's noun holds its own measure word: 红色的花, but 一盆花.
        noun = "花" if reference.kind == "flower" else word.zh
        colour = f"{COLOURS_ZH[reference.colour]}的" if reference.colour else ""
        return f"{colour}{SIZES_ZH.get(reference.size, '')}{noun}"
    noun = word.many if many else word.one
    if reference.kind == "person":
        return f"{noun} in {reference.colour}" if reference.colour else noun
    return " ".join(part for part in (reference.size, reference.colour, noun) if part)


def phrase(reference: Reference, language: str) -> str:
    """The definite phrase: `the second red ball from the left`, `从左数第二个红色的球`."""
    rows = ((row[1], row[2]) for row in PHRASES if all(getattr(reference, k) == v for k, v in row[0].items()))
    english, chinese = next(rows)
    slots = {"noun": core(reference, language), "measure": NOUNS[reference.kind].measure}
    if reference.anchor is not None:
        anchor = reference.anchor
        slots |= {"anchor": core(anchor, language), "anchors": core(anchor, language, many=True)}
        slots["anchor_measure"] = NOUNS[anchor.kind].measure
    return (chinese if language == "zh" else english).format(**slots)


def new_thing(reference: Reference, language: str) -> str:
    """The indefinite phrase: `an orange ball`, `一个橙色的球`."""
    noun = core(reference, language)
    if language == "zh":
        return f"一{NOUNS[reference.kind].measure}{noun}"
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def _choice(words: Mapping[str, str] | list[str]) -> str:
    """A regular expression for one of the words, longer ones first."""
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


_KIND_EN = {**{word.one: kind for kind, word in NOUNS.items()}, **{word.many: kind for kind, word in NOUNS.items()}}
_KIND_ZH = {**{word.zh: kind for kind, word in NOUNS.items()}, "花": "flower"}
_COLOUR_ZH = {zh: en for en, zh in COLOURS_ZH.items()}
_SIZE_ZH = {zh: en for en, zh in SIZES_ZH.items()}

_CORE_EN = re.compile(
    rf"(?:(?P<size>small|large) )?(?:(?P<colour>{_choice(COLOURS_ZH)}) )?(?P<noun>{_choice(_KIND_EN)})"
    rf"(?: in (?P<dress>{_choice(COLOURS_ZH)}))?"
)
_CORE_ZH = re.compile(
    rf"(?:(?P<colour>{_choice(_COLOUR_ZH)})的?|穿(?P<dress>{_choice(_COLOUR_ZH)})衣服的)?"
    rf"(?P<size>[小大])?(?P<noun>{_choice(_KIND_ZH)})"
)


def read_core(text: str, language: str) -> Reference | None:
    """The plain reference of a noun phrase without article; None where the text is none."""
    match = (_CORE_EN if language == "en" else _CORE_ZH).fullmatch(text)
    if match is None:
        return None
    colour = match["colour"] or match["dress"] or ""
    size = match["size"] or ""
    if language == "zh":
        return Reference(_KIND_ZH[match["noun"]], _COLOUR_ZH.get(colour, ""), _SIZE_ZH.get(size, ""))
    return Reference(_KIND_EN[match["noun"]], colour, size)


def _pattern(template: str) -> re.Pattern[str]:
    # A measure word is one character; a noun phrase never begins with one of them.
    slots = {"noun": "(?P<noun>.+)", "measure": r"[^\d的]?", "anchor_measure": "."}
    return re.compile(template.format(**slots, anchor="(?P<anchor>.+)", anchors="(?P<anchor>.+)"))


_READ = [(fields, {"en": _pattern(en), "zh": _pattern(zh)}) for fields, en, zh in PHRASES]


def read_phrase(text: str, language: str) -> Reference | None:
    """The reference of a definite phrase; None where the text is none."""
    for fields, patterns in _READ:
        if match := patterns[language].fullmatch(text):
            found: dict[str, Any] = {slot: read_core(words, language) for slot, words in match.groupdict().items()}
            if all(found.values()):
                plain: Reference = found.pop("noun")
                return replace(plain, **fields, **found)
    return None


def read_new_thing(text: str, language: str) -> Reference | None:
    """The plain reference of an indefinite phrase; None where the text is none."""
    match = re.fullmatch(r"an? (.+)" if language == "en" else r"一.(.+)", text)
    return read_core(match[1], language) if match else None


def place(relation: str, anchor: Reference, language: str) -> str:
    """Where: `to the left of the bench`, `长椅左边`."""
    english, chinese = PLACE_WORDS[relation]
    noun = phrase(anchor, language)
    return f"{noun}{chinese}" if language == "zh" else f"{english} {noun}"


def read_place(text: str, language: str) -> tuple[str, Reference] | None:
    """Relation and anchor; None where the text is no place."""
    for relation, (english, chinese) in PLACE_WORDS.items():
        if language == "en" and text.startswith(f"{english} "):
            anchor = read_phrase(text[len(english) + 1 :], language)
        elif language == "zh" and text.endswith(chinese):
            anchor = read_phrase(text[: -len(chinese)].removesuffix("的"), language)
        else:
            continue
        if anchor is not None:
            return relation, anchor
    return None
