"""The grammar of the instructions: from an edit to its sentence in English or Chinese, and back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from edit_eval.scenes import vocabulary
from edit_eval.scenes.edits import Edit
from edit_eval.scenes.references import Reference


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

_WORDS = {"colour": vocabulary.COLOURS_ZH, "side": vocabulary.SIDES_ZH}
"""By slot, the values that it says: in English themselves, in Chinese the words here."""

RULES = tuple(
    Rule(*key.partition("=")[::2], *(tuple(sentences.split(" | ")) for sentences in both))
    for key, both in vocabulary.read_table(_SENTENCES).items()
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
        slots["target"] = vocabulary.phrase(edit.target, language)
    if edit.anchor is not None:
        slots["anchor"] = vocabulary.phrase(edit.anchor, language)
        if edit.relation:
            slots["place"] = vocabulary.place(edit.relation, edit.anchor, language)
    if edit.kind:
        new = Reference(edit.kind, edit.colour, edit.size)
        slots["thing"] = vocabulary.new_thing(new, language)
        slots["things"] = vocabulary.core(new, language, many=True)
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
    words = "|".join(english for english, _ in vocabulary.PLACE_WORDS.values())
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
            where = vocabulary.read_place(text, language)
            fields = where and {"relation": where[0], "anchor": where[1]}
        elif name in ("thing", "things"):
            read_as = vocabulary.read_new_thing if name == "thing" else vocabulary.read_core
            thing = read_as(text, language)
            fields = thing and {"kind": thing.kind, "colour": thing.colour, "size": thing.size}
        elif name in _WORDS:
            words = {zh if language == "zh" else en: en for en, zh in _WORDS[name].items()}
            fields = text in words and {"value": words[text]}
        else:
            reference = vocabulary.read_phrase(text, language)
            fields = reference and {name: reference}
        if not fields:
            return None
        edit = replace(edit, **fields)
    return edit if rule.says(edit) else None
