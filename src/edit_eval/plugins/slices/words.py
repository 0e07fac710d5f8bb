"""What an instruction asks for, by its words: which kind of change, and to what. English and Chinese.

A table, not a parser: an instruction may ask for several things at once, and one whose words are not here has none of
these attributes. `tests/plugins/slices/test_words.py` has sentences for each row.
"""

# ruff: noqa: E501 - a row of the table is a line
from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from edit_eval.text import Text


class Words(NamedTuple):
    """One value of an attribute, and the words that show it."""

    attribute: str
    value: str
    label: Text
    english: str
    """Words separated by spaces, `_` for a space within one; each also with -s, -es, and of an operation -d, -ed, -ing."""
    chinese: str
    """Words separated by spaces; found anywhere."""


_O, _T = "operation", "object"

WORDS: tuple[Words, ...] = (
    Words(
        _O,
        "add",
        Text("adds something"),
        "add insert include attach place put draw",
        "添加 加上 增加 加入 放上 放一 画一 插入 戴上",
    ),
    Words(
        _O,
        "remove",
        Text("removes something"),
        "remove delete erase eliminate take_away get_rid_of without",
        "去掉 删除 移除 去除 擦掉 消除 抹去 清除",
    ),
    Words(
        _O,
        "replace",
        Text("replaces something"),
        "replace swap substitute exchange turn_into",
        "替换 换成 替代 取代 变为 变成",
    ),
    Words(
        _O,
        "colour",
        Text("changes a colour"),
        "colour color recolour recolor paint tint dye red green blue yellow purple pink orange brown black white grey gray golden silver",
        "颜色 染成 涂成 红色 绿色 蓝色 黄色 紫色 粉色 橙色 棕色 黑色 白色 灰色 金色 银色 上色",
    ),
    Words(
        _O,
        "move",
        Text("moves something"),
        "move shift relocate slide rearrange swap_places",
        "移动 移到 挪到 移至 搬到 调换位置",
    ),
    Words(
        _O,
        "turn",
        Text("turns something"),
        "rotate flip mirror tilt turn_around upside_down",
        "旋转 翻转 镜像 倾斜 转过 倒过来",
    ),
    Words(
        _O,
        "resize",
        Text("changes a size"),
        "bigger larger smaller taller shorter wider enlarge shrink resize scale zoom",
        "放大 缩小 变大 变小 更大 更小 加高 加宽",
    ),
    Words(
        _O,
        "style",
        Text("changes the style"),
        "style sketch cartoon anime watercolor watercolour oil_painting pixel_art comic lego ghibli impressionist",
        "风格 素描 卡通 动漫 水彩 油画 像素画 漫画 版画 国画",
    ),
    Words(
        _O,
        "text",
        Text("changes writing"),
        "text word letter write lettering sign caption title logo font",
        "文字 字样 写着 写上 字母 标题 标语 字体 改成文字",
    ),
    Words(
        _O,
        "light",
        Text("changes light, weather or season"),
        "light lighting shadow brighter darker sunset sunrise night day weather rain snow fog winter summer autumn spring season",
        "光线 灯光 阴影 变亮 变暗 日落 日出 夜晚 白天 天气 下雨 下雪 雾 冬天 夏天 秋天 春天 季节",
    ),
    Words(_O, "background", Text("changes the background"), "background backdrop scenery", "背景"),
    Words(
        _O,
        "pose",
        Text("changes pose or expression"),
        "smile frown laugh cry pose expression sit stand jump wave kneel close_his_eyes close_her_eyes raise",
        "微笑 笑 皱眉 哭 姿势 表情 坐下 站起 跳 挥手 跪 闭眼 举起",
    ),
    Words(
        _O,
        "keep",
        Text("says what is to stay"),
        "keep unchanged preserve leave_everything do_not_change",
        "保持 不变 保留 不要改",
    ),
    Words(_O, "negation", Text("says no or not"), "no not without except but_not", "不 没有 除了 别"),
    Words("place", "side", Text("says left or right"), "left right leftmost rightmost", "左 右"),
    Words(
        "place",
        "height",
        Text("says top, bottom, above or below"),
        "top bottom above below upper lower",
        "上方 下方 顶部 底部 上面 下面",
    ),
    Words(
        "place",
        "order",
        Text("says which in a row"),
        "first second third middle centre center last",
        "第一 第二 第三 中间 最后",
    ),
    Words(
        "number",
        "one to three",
        Text("counts one to three"),
        "one two three both 1 2 3",
        "一个 两个 三个 一只 两只 三只 1 2 3",
    ),
    Words(
        "number",
        "more than three",
        Text("counts above three"),
        "four five six seven eight nine ten eleven twelve dozen 4 5 6 7 8 9 10 11 12",
        "四个 五个 六个 七个 八个 九个 十个 四只 五只 六只 七只 八只 九只 十只 四朵 五朵 六朵 4 5 6 7 8 9",
    ),
    Words(
        _T,
        "person",
        Text("about a person"),
        "person people man men woman women boy girl child children baby face hair beard glasses hand eye",
        "人 男人 女人 男孩 女孩 孩子 婴儿 脸 头发 胡子 眼镜 手 眼睛",
    ),
    Words(
        _T,
        "animal",
        Text("about an animal"),
        "animal dog cat bird horse cow fish sheep bear elephant lion rabbit duck butterfly",
        "动物 狗 猫 鸟 马 牛 鱼 羊 熊 大象 狮子 兔 鸭 蝴蝶",
    ),
    Words(
        _T,
        "vehicle",
        Text("about a vehicle"),
        "car bus truck bicycle bike motorcycle train boat ship plane airplane",
        "汽车 公交车 卡车 自行车 摩托车 火车 船 飞机 轿车",
    ),
    Words(
        _T,
        "food",
        Text("about food"),
        "food cake pizza apple banana orange bread fruit coffee cup bowl plate bottle",
        "食物 蛋糕 披萨 苹果 香蕉 橙子 面包 水果 咖啡 杯 碗 盘子 瓶",
    ),
    Words(
        _T,
        "plant",
        Text("about a plant"),
        "tree flower grass plant leaf leaves bush rose",
        "树 花 草 植物 叶子 灌木 玫瑰",
    ),
    Words(
        _T,
        "building",
        Text("about a building or street"),
        "building house tower bridge road street window door wall roof fence",
        "建筑 房子 塔 桥 道路 街道 窗 门 墙 屋顶 栅栏",
    ),
    Words(
        _T,
        "furniture",
        Text("about furniture"),
        "chair table sofa bed lamp desk shelf couch curtain",
        "椅子 桌子 沙发 床 灯 书桌 架子 窗帘",
    ),
    Words(
        _T,
        "clothes",
        Text("about clothes"),
        "shirt dress hat coat jacket shoe trousers pants skirt tie scarf",
        "衬衫 裙子 帽子 外套 夹克 鞋 裤子 领带 围巾 衣服",
    ),
    Words(
        _T,
        "nature",
        Text("about sky, water or land"),
        "sky cloud sun moon sea ocean river lake mountain beach water",
        "天空 云 太阳 月亮 海 河 湖 山 沙滩 水",
    ),
)

_OF_VERBS, _OF_NOUNS = r"(?:s|es|d|ed|ing)?", r"(?:s|es)?"


@cache
def _patterns() -> tuple[tuple[Words, re.Pattern[str]], ...]:
    """Each row with one pattern for all its words."""
    return tuple((row, _pattern(row)) for row in WORDS)


def _pattern(row: Words) -> re.Pattern[str]:
    endings = _OF_VERBS if row.attribute == _O else _OF_NOUNS
    chinese = row.chinese.split()
    whole = "|".join(map(_english, row.english.split()))
    digits = "|".join(word for word in chinese if word.isdigit())
    anywhere = "|".join(re.escape(word) for word in chinese if not word.isdigit())
    numbers = rf"|(?<![\d.])(?:{digits})(?![\d.])" if digits else ""
    return re.compile(rf"\b(?:{whole}){endings}\b|{anywhere}{numbers}", re.IGNORECASE)


def _english(word: str) -> str:
    """Returns the pattern of a word; its last e goes where an ending follows (`moving`)."""
    kept = re.escape(word.removesuffix("e")).replace("_", r"\s+")
    return f"{kept}e?" if word.endswith("e") else kept


def find_attributes(instruction: str) -> Iterator[tuple[str, str]]:
    """Yields attribute and value of each row whose words an instruction has."""
    for row, pattern in _patterns():
        if pattern.search(instruction):
            yield row.attribute, row.value


def script(instruction: str) -> str:
    """Returns the script of an instruction: `Chinese` if it has Chinese characters, else `Latin`, else `other`."""
    if re.search(r"[\u3400-\u9fff]", instruction):
        return "Chinese"
    return "Latin" if re.search(r"[A-Za-z]", instruction) else "other"
