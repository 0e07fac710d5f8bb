"""Words and grammar: from an edit to its sentence in English or Chinese, and back; what a scene shows, in words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from edit_eval.plugins.scenes.in_worker.edits import Edit, Reference
from edit_eval.plugins.scenes.in_worker.scene import Scene, Thing

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


@dataclass(frozen=True)
class Rule:
    """The sentences of one action. `{target}`, `{anchor}`, `{place}`, `{thing}`, `{things}`, `{colour}`, `{side}` are
    filled in."""

    action: str
    value: str
    """The edit's value that these sentences say in words; empty where a slot says it."""
    en: tuple[str, ...]
    zh: tuple[str, ...]

    def says(self, edit: Edit) -> bool:
        """Whether these sentences are for this edit."""
        kind = _ONLY_FOR.get(self.action)
        fits = kind is None or (edit.target is not None and edit.target.kind == kind)
        return fits and edit.action == self.action and self.value in ("", edit.value)


_ONLY_FOR = {
    "dress": "person",
    "switch_on": "lamp",
    "switch_off": "lamp",
    "kindle": "campfire",
    "extinguish": "campfire",
}
"""The kind of target that an action's sentences are for; those of the others are for all."""

_SENTENCES = """
remove: Remove {target}. | Take {target} out of the picture. | Erase {target} from the scene.
    移除{target}。 | 把{target}从画面中去掉。 | 请把{target}拿走。
remove_all: Remove all {things}. | Take all {things} out of the picture.
    移除所有{things}。 | 把所有{things}从画面中去掉。
add: Add {thing} {place}. | Place {thing} {place}.
    在{place}加上{thing}。 | 在{place}放{thing}。
move: Move {target} {place}. | Put {target} {place}.
    把{target}移到{place}。 | 将{target}挪到{place}。
recolour: Paint {target} {colour}. | Change the colour of {target} to {colour}. | Make {target} {colour}.
    把{target}涂成{colour}。 | 将{target}的颜色改成{colour}。
dress: Change the coat of {target} to {colour}. | Give {target} a new coat in {colour}.
    把{target}的外套换成{colour}。 | 让{target}换上{colour}的外套。
resize=larger: Make {target} twice as large. | Double the size of {target}.
    把{target}放大到原来的两倍。 | 让{target}变成原来的两倍大。
resize=smaller: Make {target} half as large. | Shrink {target} to half its size.
    把{target}缩小到原来的一半。 | 让{target}变成原来的一半大。
material=metal: Make {target} of polished metal. | Turn {target} into polished metal.
    把{target}的材质换成抛光金属。 | 让{target}变成抛光金属做的。
material=wood: Make {target} of wood. | Turn {target} into plain wood.
    把{target}的材质换成木头。 | 让{target}变成木头做的。
replace: Replace {target} with {thing}. | Swap {target} for {thing}.
    用{thing}替换{target}。 | 把{target}换成{thing}。
sun: Move the sun to the {side} side of the sky. | Let the sun shine from the {side}.
    把太阳移到天空的{side}。 | 让阳光从{side}照过来。
time=night: Make it night. | Show this place at night.
    把画面变成夜晚。 | 让这里进入夜晚。
time=day: Make it bright day. | Show this place by day.
    把画面变成白天。 | 让这里变成大白天。
time=sunset: Show this place at sunset. | Change the time to sunset.
    把画面变成日落时分。 | 让这里沐浴在夕阳中。
weather=rain: Let it rain. | Turn this into a rainy scene.
    让天下起雨来。 | 把天气变成雨天。
weather=snow: Let it snow. | Turn this into a snowy scene.
    让天下起雪来。 | 把天气变成雪天。
weather=fog: Let thick fog come up. | Cover the scene in thick fog.
    让浓雾笼罩这里。 | 把天气变成大雾。
weather=clear: Let the sky clear up. | Turn this into fine, clear weather.
    让天空放晴。 | 把天气变成晴天。
weather=cloudy: Cover the sky with clouds. | Make the weather overcast.
    让天空布满云层。 | 把天气变成阴天。
season=autumn: Change the season to autumn. | Show this place in autumn.
    把季节变成秋天。 | 展现这里秋天的样子。
season=winter: Change the season to winter. | Show this place in winter.
    把季节变成冬天。 | 展现这里冬天的样子。
season=summer: Change the season to summer. | Show this place in summer.
    把季节变成夏天。 | 展现这里夏天的样子。
wind: Let a strong wind blow from the {side}. | Show this place in a strong wind from the {side}.
    让强风从{side}吹来。 | 让这里刮起从{side}来的大风。
soak: Show this place right after a heavy shower.
    展现这里大雨刚过的样子。
switch_on: Switch on {target}. | Turn {target} on.
    打开{target}。 | 点亮{target}。
switch_off: Switch off {target}. | Turn {target} off.
    关掉{target}。 | 熄灭{target}。
kindle: Light {target}. | Set {target} alight.
    点燃{target}。 | 把{target}点着。
extinguish: Put out {target}. | Extinguish {target}.
    扑灭{target}。 | 把{target}熄灭。
wave: Let {target} wave to {anchor}. | Have {target} greet {anchor} with a wave of the hand.
    让{target}向{anchor}挥手。 | 请{target}挥手向{anchor}打招呼。
bow: Let {target} bow to {anchor}. | Have {target} greet {anchor} with a bow.
    让{target}向{anchor}鞠躬。 | 请{target}鞠躬向{anchor}致意。
sit: Let {target} sit down on {anchor}. | Offer {target} a seat on {anchor}.
    让{target}坐到{anchor}上。 | 请{target}在{anchor}上坐下。
umbrella: Give {target} an umbrella. | Let {target} hold an umbrella.
    给{target}一把雨伞。 | 让{target}撑起一把雨伞。
half_mast: Lower {target} to half-mast. | Fly {target} at half-mast as a sign of mourning.
    将{target}降半旗。 | 为表示哀悼，将{target}降到旗杆中部。
lanterns: Hang red lanterns on {target} for the Spring Festival. | \
Decorate {target} with red lanterns for the Chinese New Year.
    春节到了，给{target}挂上红灯笼。 | 为{target}挂上过年的红灯笼。
ramp: Build a wheelchair ramp at the door of {target}. | Give {target} a ramp so that a wheelchair can reach the door.
    在{target}门口修一条轮椅坡道。 | 给{target}门口加一条无障碍坡道。
queue: Let everybody queue at {anchor}. | Have the people line up at {anchor}.
    让大家在{anchor}旁排队。 | 请大家到{anchor}旁排好队。
topple: Let {target} roll into the stack of boxes. | Roll {target} hard against the stack of boxes.
    让{target}滚过去撞上那摞箱子。 | 用{target}用力撞那摞箱子。
melt: Let the sun melt {target}. | Show {target} after hours in the warm sun.
    让太阳把{target}晒化。 | 展现{target}在暖阳下晒了几个小时后的样子。
fell: Let a storm from the {side} blow {target} over. | \
Show this place after a storm from the {side} has felled {target}.
    让从{side}刮来的暴风吹倒{target}。 | 展现从{side}来的暴风刮倒{target}后的样子。
release: Let go of {target}. | Cut the string of {target}.
    放飞{target}。 | 剪断{target}的绳子。
water: Water {target}. | Show {target} after it has been watered well.
    给{target}浇水。 | 展现{target}浇足水以后的样子。
"""
"""By action, or `action=value`: the ways to say it in English, and below in Chinese."""

_WORDS = {"colour": COLOURS_ZH, "side": SIDES_ZH}
"""By slot, the values that it says: in English themselves, in Chinese the words here."""

RULES = tuple(
    Rule(*key.partition("=")[::2], *(tuple(sentences.split(" | ")) for sentences in both))
    for key, both in read_table(_SENTENCES).items()
)


def write(edit: Edit, language: str, variant: int = 0) -> str:
    """The edit as a sentence; `variant` chooses among the ways to say it. Raises `ValueError` without a rule."""
    for rule in RULES:
        if rule.says(edit):
            sentences = rule.zh if language == "zh" else rule.en
            return sentences[variant % len(sentences)].format(**_slots(edit, language))
    raise ValueError(f"no sentence says this edit: {edit}")


def _slots(edit: Edit, language: str) -> dict[str, str]:
    slots = {}
    if edit.target is not None:
        slots["target"] = phrase(edit.target, language)
    if edit.anchor is not None:
        slots["anchor"] = phrase(edit.anchor, language)
        if edit.relation:
            slots["place"] = place(edit.relation, edit.anchor, language)
    if edit.kind:
        new = Reference(edit.kind, edit.colour, edit.size)
        slots["thing"] = new_thing(new, language)
        slots["things"] = core(new, language, many=True)
    for slot, words in _WORDS.items():
        if edit.value in words:
            slots[slot] = words[edit.value] if language == "zh" else edit.value
    return slots


def language_of(sentence: str) -> str:
    """`zh` for a sentence with Chinese characters in it, else `en`."""
    return "zh" if re.search(r"[\u4e00-\u9fff]", sentence) else "en"


def read(sentence: str) -> Edit:
    """The edit that a sentence asks for, in English or Chinese. Raises `ValueError` for any other sentence."""
    language = language_of(sentence)
    if language == "zh":
        text = re.sub(r"\s+", "", sentence).replace(",", "，").rstrip("。.!！")
    else:
        text = re.sub(r"\s+", " ", sentence).strip().rstrip(".!").lower()
    for rule in RULES:
        for template in rule.zh if language == "zh" else rule.en:
            for pattern in _patterns(template, language):
                match = pattern.fullmatch(text)
                edit = None if match is None else _fill(rule, match.groupdict(), language)
                if edit is not None:
                    return edit
    raise ValueError(f"no sentence of the scenes: {sentence!r}")


@cache
def _patterns(template: str, language: str) -> tuple[re.Pattern[str], ...]:
    """The sentence as regular expressions: with two slots side by side, the first as long or as short as can be."""
    text = template.rstrip("。") if language == "zh" else template.rstrip(".").lower()
    parts = re.split(r"\{(\w+)\}", text)
    # An English place begins at its preposition; a Chinese one ends in its direction, which `read_place` looks for.
    words = "|".join(english for english, _ in PLACE_WORDS.values())
    place = f"(?:{words}) " if language == "en" else ""

    def slot(part: str, length: str) -> str:
        return f"(?P<{part}>{place if part == 'place' else ''}{length})"

    return tuple(
        re.compile("".join(slot(part, length) if k % 2 else re.escape(part) for k, part in enumerate(parts)))
        for length in (".+", ".+?")
    )


def _fill(rule: Rule, slots: Mapping[str, str], language: str) -> Edit | None:
    """The edit with every slot read; None where one does not read."""
    edit = Edit(rule.action, value=rule.value)
    fields: Any
    for name, text in slots.items():
        if name == "place":
            where = read_place(text, language)
            fields = where and {"relation": where[0], "anchor": where[1]}
        elif name in ("thing", "things"):
            read_as = read_new_thing if name == "thing" else read_core
            thing = read_as(text, language)
            fields = thing and {"kind": thing.kind, "colour": thing.colour, "size": thing.size}
        elif name in _WORDS:
            words = {zh if language == "zh" else en: en for en, zh in _WORDS[name].items()}
            fields = text in words and {"value": words[text]}
        else:
            reference = read_phrase(text, language)
            fields = reference and {name: reference}
        if not fields:
            return None
        edit = replace(edit, **fields)
    return edit if rule.says(edit) else None


SETTINGS = {
    "meadow": ("meadow", "草地"),
    "beach": ("beach", "海滩"),
    "square": ("town square", "广场"),
    "park": ("park", "公园"),
}
SEASONS = {"summer": ("in summer", "夏天"), "autumn": ("in autumn", "秋天"), "winter": ("in winter", "冬天")}
TIMES = {"day": ("by day", "白天"), "sunset": ("at sunset", "日落时分"), "night": ("at night", "夜晚")}
WEATHERS = {
    "clear": ("under a clear sky", "天空晴朗"),
    "cloudy": ("under an overcast sky", "天空阴沉"),
    "rain": ("in the rain", "下着雨"),
    "snow": ("in falling snow", "下着雪"),
    "fog": ("in thick fog", "大雾弥漫"),
}
COUNTS = ("no", "one", "two", "three", "four", "five", "six")

RATIONALES = read_table("""
add: The new thing rests on the ground, fits the distance in size and casts a shadow like its neighbours.
    新物体落在地面上，大小符合远近，并与周围物体一样投下阴影。
remove: The thing goes together with its shadow; what stood on it comes down, and the ground behind is restored.
    物体连同阴影一起消失；原本放在上面的东西会落下，背后的画面得到补全。
remove_all: Every one of them goes together with its shadow, and nothing that is not one of them.
    它们全部连同阴影一起消失，其他物体都不变。
move: The thing leaves no trace, shadow included; in its new place its size fits the distance.
    原处不留痕迹和阴影；在新位置上，大小符合远近。
recolour: Exactly the thing that is meant changes its colour; its shading stays, its twins do not change.
    只有所指的物体改变颜色，明暗保持，其他相似物体不变。
dress: Only the coat of the person who is meant changes; face, hands and everybody else stay as they are.
    只改变所指人物的外套，面部、双手和其他人保持不变。
resize: The thing grows or shrinks where it stands, and its shadow with it.
    物体在原地放大或缩小，阴影随之变化。
material: Only the surface changes: form, place and shadow stay.
    只改变表面材质，形状、位置和阴影不变。
replace: The new thing stands where the old one stood, with a shadow of its own; the others stay.
    新物体出现在原物体的位置并有自己的阴影，其余不变。
sun: With the sun all shadows and lit sides change to the other side.
    太阳移动后，所有阴影和受光面都换到另一侧。
time: Sky, light, shadows and whatever shines by itself fit the hour.
    天空、光线、阴影以及自发光的物体都与时间相符。
weather: Sky, light, ground and shadows follow the weather: no hard shadows without sun, wet or white ground.
    天空、光线、地面和阴影随天气变化：没有阳光就没有清晰的阴影，地面湿润或变白。
season: Trees and ground change with the season; buildings and people keep their places.
    树木和地面随季节变化，建筑和人物位置不变。
wind: Everything light follows the wind to the same side: flags, smoke, flames, balloons, treetops.
    所有轻的东西都朝同一方向飘动：旗子、烟、火焰、气球和树梢。
soak: Puddles lie on the ground and mirror what stands near them; it no longer rains.
    地面有积水，倒映出附近的物体；雨已经停了。
switch_on: The lamp shines, and lights the ground and the things near it.
    路灯亮起，照亮附近的地面和物体。
switch_off: The lamp is dark, and so are the ground and the things that it lit.
    路灯熄灭，原先被照亮的地面和物体也变暗。
kindle: Flames and smoke rise; the fire lights the ground and the people around it.
    火焰和烟升起，照亮地面和周围的人。
extinguish: No flames, no smoke, no glow on the ground.
    没有火焰和烟，地面也没有火光。
wave: One arm is raised towards the other person; nobody else changes.
    一只手臂朝对方举起，其他人不变。
bow: The upper body bows towards the other person, with respect; nobody else changes.
    上身恭敬地朝对方弯下，其他人不变。
sit: The person sits on the seat, at the right size, and is no longer where he or she stood.
    人物以正确的大小坐在座位上，原处不再有人。
umbrella: The umbrella is held in the hand and covers the head.
    雨伞握在手中，遮住头部。
half_mast: The flag hangs at half the pole's height, unchanged in form and colour.
    旗子降到旗杆一半的高度，形状和颜色不变。
lanterns: Red lanterns with gold hang along the eaves; in the dark they glow.
    带金边的红灯笼沿屋檐挂起，天黑时会发光。
ramp: A gentle slope with a rail leads from the ground to the door.
    带扶手的缓坡从地面通到门口。
queue: All stand one behind the other at the stop, at sizes that fit the distance.
    所有人在站牌旁依次排好，大小符合远近。
topple: The ball lies where the stack was, and the boxes lie on the ground beyond it.
    球停在原来的箱堆处，箱子散落在后方地面上。
melt: Where the snowman stood lies a puddle with what cannot melt: hat, scarf, carrot and twigs.
    雪人化成一滩水，剩下不会融化的帽子、围巾、胡萝卜和树枝。
fell: The tree lies on the ground, away from the storm, and other things follow the wind as well.
    树顺着风向倒在地上，其他东西也随风飘动。
release: The balloon is up in the air with its string; its weight and its shadow on the ground are gone.
    气球带着绳子升空，地上的坠子和阴影消失。
water: The flower stands upright, green and in bloom.
    花重新挺立，叶绿花开。
""")


def rationale(edit: Edit, language: str) -> str:
    """What a right edit pays attention to."""
    english, chinese = RATIONALES[edit.action]
    return chinese if language == "zh" else english


def _name(thing: Thing) -> Reference:
    colour = "" if thing.kind == "cone" and thing.colour == "orange" else thing.colour
    return Reference(thing.kind, colour, thing.size_word if thing.kind != "person" else "")


def describe(scene: Scene, language: str) -> str:
    """One sentence for the place and one for the things in it."""
    groups: dict[Reference, int] = {}
    for thing in scene.things:
        groups[_name(thing)] = groups.get(_name(thing), 0) + 1
    if language == "zh":
        items = [
            f"{'两' if count == 2 else NUMERALS_ZH[count - 1]}{NOUNS[name.kind].measure}{core(name, 'zh')}"
            for name, count in groups.items()
        ]
        place = f"{SEASONS[scene.season][1]}的{SETTINGS[scene.setting][1]}，{TIMES[scene.time][1]}"
        return f"{place}，{WEATHERS[scene.weather][1]}。画面里有{'、'.join(items)}。"
    items = [
        new_thing(name, "en") if count == 1 else f"{COUNTS[count]} {core(name, 'en', many=True)}"
        for name, count in groups.items()
    ]
    listed = items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
    words = (SETTINGS[scene.setting][0], SEASONS[scene.season][0], TIMES[scene.time][0], WEATHERS[scene.weather][0])
    return f"A {words[0]} {words[1]}, {words[2]}, {words[3]}. It shows {listed}."
