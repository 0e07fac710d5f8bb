"""What a scene shows, and what a right edit of it pays attention to, in both languages."""

from __future__ import annotations

from edit_eval.scenes.edits import Edit
from edit_eval.scenes.references import Reference
from edit_eval.scenes.scene import Scene, Thing
from edit_eval.scenes.vocabulary import NOUNS, NUMERALS_ZH, core, new_thing, read_table

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
