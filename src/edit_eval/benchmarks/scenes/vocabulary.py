"""The words of the scenes in English and Chinese, and the phrases that name things. Every phrase is read back, too."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from edit_eval.benchmarks.scenes.references import Reference

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
SUPERLATIVES = {"largest": "最大的", "smallest": "最小的"}
DISTANCES = {"nearest": ("nearest to us", "离我们最近的"), "farthest": ("farthest from us", "离我们最远的")}
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
    "left": ("to the left of", "左边"),
    "right": ("to the right of", "右边"),
    "front": ("in front of", "前面"),
    "behind": ("behind", "后面"),
    "on": ("on top of", "上面"),
}


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
    noun = core(reference, language)
    by, rank = reference.ranking, reference.rank
    if language == "zh":
        return _before_zh(reference) + noun
    if by in SIDES_ZH:
        return f"the {by}most {noun}" if rank == 1 else f"the {ORDINALS[rank - 1]} {noun} from the {by}"
    if by in SUPERLATIVES:
        return f"the {by} {noun}"
    if by in DISTANCES:
        return f"the {noun} {DISTANCES[by][0]}"
    if reference.relation == "between" and reference.anchor is not None:
        return f"the {noun} between the two {core(reference.anchor, 'en', many=True)}"
    if reference.relation and reference.anchor is not None:
        return f"the {noun} {RELATION_WORDS[reference.relation][0]} the {core(reference.anchor, 'en')}"
    return f"the {noun}"


def _before_zh(reference: Reference) -> str:
    by, rank, measure = reference.ranking, reference.rank, NOUNS[reference.kind].measure
    if by in SIDES_ZH:
        side = SIDES_ZH[by]
        return f"最{side}的" if rank == 1 else f"从{side[0]}数第{NUMERALS_ZH[rank - 1]}{measure}"
    if by in SUPERLATIVES:
        return SUPERLATIVES[by]
    if by in DISTANCES:
        return DISTANCES[by][1]
    if reference.relation == "between" and reference.anchor is not None:
        return f"两{NOUNS[reference.anchor.kind].measure}{core(reference.anchor, 'zh')}之间的"
    if reference.relation and reference.anchor is not None:
        return f"{core(reference.anchor, 'zh')}{RELATION_WORDS[reference.relation][1]}的"
    return ""


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


def read_phrase(text: str, language: str) -> Reference | None:
    """The reference of a definite phrase; None where the text is none."""
    return _read_phrase_zh(text) if language == "zh" else _read_phrase_en(text)


def _read_phrase_en(text: str) -> Reference | None:
    if not text.startswith("the "):
        return None
    text = text[4:]
    plain = read_core(text, "en")
    if plain is not None:
        return plain
    match = re.fullmatch(r"(left|right)most (.+)|(largest|smallest) (.+)", text)
    if match:
        return _ranked(read_core(match[2] or match[4], "en"), match[1] or match[3], 1)
    match = re.fullmatch(rf"({_choice(list(ORDINALS))}) (.+) from the (left|right)", text)
    if match:
        return _ranked(read_core(match[2], "en"), match[3], ORDINALS.index(match[1]) + 1)
    for ranking, (words, _) in DISTANCES.items():
        if text.endswith(f" {words}"):
            return _ranked(read_core(text[: -len(words) - 1], "en"), ranking, 1)
    match = re.fullmatch(r"(.+) between the two (.+)", text)
    if match:
        return _related(read_core(match[1], "en"), "between", read_core(match[2], "en"))
    for relation, (words, _) in RELATION_WORDS.items():
        match = re.fullmatch(rf"(.+) {words} the (.+)", text)
        if match:
            return _related(read_core(match[1], "en"), relation, read_core(match[2], "en"))
    return None


def _read_phrase_zh(text: str) -> Reference | None:
    plain = read_core(text, "zh")
    if plain is not None:
        return plain
    match = re.fullmatch(r"最([左右])边的(.+)", text)
    if match:
        return _ranked(read_core(match[2], "zh"), "left" if match[1] == "左" else "right", 1)
    match = re.fullmatch(rf"从([左右])数第([{''.join(NUMERALS_ZH)}])(?:[^\d的]?)(.+)", text)
    if match:
        # The measure word is one character; a noun phrase never begins with one of them.
        rank = NUMERALS_ZH.index(match[2]) + 1
        return _ranked(read_core(match[3], "zh"), "left" if match[1] == "左" else "right", rank)
    for ranking, words in [*SUPERLATIVES.items(), *((name, zh) for name, (_, zh) in DISTANCES.items())]:
        if text.startswith(words):
            return _ranked(read_core(text[len(words) :], "zh"), ranking, 1)
    match = re.fullmatch(r"两.(.+)之间的(.+)", text)
    if match:
        return _related(read_core(match[2], "zh"), "between", read_core(match[1], "zh"))
    for relation, (_, words) in RELATION_WORDS.items():
        for match in re.finditer(f"{words}的", text):
            found = _related(read_core(text[match.end() :], "zh"), relation, read_core(text[: match.start()], "zh"))
            if found is not None:
                return found
    return None


def _ranked(plain: Reference | None, ranking: str, rank: int) -> Reference | None:
    return None if plain is None else replace(plain, ranking=ranking, rank=rank)


def _related(plain: Reference | None, relation: str, anchor: Reference | None) -> Reference | None:
    return None if plain is None or anchor is None else replace(plain, relation=relation, anchor=anchor)


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


def read_colour(text: str, language: str) -> str | None:
    if language == "zh":
        return _COLOUR_ZH.get(text)
    return text if text in COLOURS_ZH else None


def read_side(text: str, language: str) -> str | None:
    if language == "zh":
        return {zh: en for en, zh in SIDES_ZH.items()}.get(text)
    return text if text in SIDES_ZH else None
