"""The catalog: every text of the code is in it, each means one thing, and the Chinese is written as Chinese is."""

from __future__ import annotations

import json
import re

import pytest

import source_texts
from edit_eval.execution.advice.findings import Level
from edit_eval.records import Status
from edit_eval.reporting.chinese import catalog
from edit_eval.reporting.chinese.catalog import candidates, in_chinese, parts, templates, word_in_chinese
from source_texts import shape

WORDS = ("words", "tags", "composed")
"""Files whose entries are no literals of the code."""
WIDE = "[\u4e00-\u9fff]"
SLIPS = {
    "a half-width mark behind a Chinese character": f"{WIDE} ?[,;:?!()]",
    "a half-width mark before one": f"[,;?!()]{WIDE}",
    "a space between two": f"{WIDE} {WIDE}",
    "no space before what is Latin, a number or code": f"{WIDE}[A-Za-z0-9`]",
    "no space behind it": f"[A-Za-z0-9`%]{WIDE}",
    "a full stop, which the line gets with the English one": "。$",
    "two spaces": "  ",
    "three dots": r"(?<!/)\.\.\.",
    "stiff, as translations are": "您|进行了|的话|之间的关系|被用于|对于|关于.{0,12}的话",
}
STATED = {
    "{size}，应为 [宽, 高]",
    "编辑的每个像素都是 (0, 0, 0)，模型中出现 NaN 时会如此",
    "其检查项 {number} 的方框不是以像素计的 [左, 上, 右, 下]",
}
"""Lists as YAML has them."""


def entries() -> list[tuple[str, str, str]]:
    return [(name, english, chinese) for name, part in parts().items() for english, chinese in part.items()]


def test_every_text_has_its_chinese() -> None:
    known = {shape(english) for _, english, _ in entries()}
    lacking = [text for text in source_texts.texts() if text.shape not in known]
    lines = [f"  {one.file}:{one.line}\n{json.dumps(one.words, ensure_ascii=False)}: " for one in lacking]
    assert not lacking, "\n".join(
        ["add to src/edit_eval/reporting/chinese/texts (or, no text for people, to not_for_people.yaml):", *lines]
    )


def test_no_entry_is_of_a_text_that_is_gone() -> None:
    used = {text.shape for text in source_texts.texts()}
    gone = [f"{name}.yaml: {en}" for name, en, _ in entries() if name not in WORDS and shape(en) not in used]
    assert not gone


def test_both_languages_have_the_same_fields() -> None:
    def fields(text: str) -> set[str]:
        return set(re.findall(r"\{(\w+)\}", text)) - {"s", "es"}  # what makes a plural has no Chinese

    assert not [(english, chinese) for _, english, chinese in entries() if fields(english) != fields(chinese)]


def test_each_text_is_found_again_and_for_no_other() -> None:
    """Filled in with what is no word, a template is the one that says most of all that its text may come from."""

    def means(template: catalog.Template) -> str:
        silent = "|".join(f"{{{name}}}" for name in template.silent) or "(?!)"
        return shape(re.sub(silent, "", template.chinese))

    wrong = []
    for template in templates():
        values = {name: "7" if name[0].isupper() else f"x{i}y" for i, name in enumerate(template.fields)}
        values |= dict.fromkeys((*template.silent, "s", "es"), "")
        text = re.sub(r"\{(\w+)\}", lambda field, values=values: values.get(field[1], field[0]), template.english)
        if template.fields and means(candidates(text)[0][0]) != means(template):
            wrong.append((template.english, candidates(text)[0][0].english))
        if not template.fields and not template.silent and in_chinese(text) != template.chinese:
            wrong.append((template.english, in_chinese(text)))
    assert not wrong


@pytest.mark.parametrize("slip", SLIPS)
def test_the_chinese_is_written_as_chinese_is(slip: str) -> None:
    found = []
    for name, _, chinese in entries():
        bare = re.sub(r"`[^`]*`", "`", re.sub(r"\{\w+\}", "\0", chinese))
        if chinese not in STATED and re.search(SLIPS[slip], bare):
            found.append((name, chinese))
    assert not found


def test_one_word_for_one_thing() -> None:
    """The page's words: 评审, not 评委 or 法官; 编辑模型; 种子; 显存 for a GPU's memory."""
    others = "评委|法官|裁判|随机种|显卡内存|工作者|跑步|基准测试集"
    assert not [chinese for _, _, chinese in entries() if re.search(others, chinese)]


def test_statuses_levels_and_activities_have_words() -> None:
    activities = ("starting", "loading", "editing", "judging", "waiting", "unloading", "retired", "free")
    words = [word for status in Status for word in (status.value, status.value.replace("_", " "))]
    lacking = [word for word in (*words, *activities, *Level.__args__) if not re.search(WIDE, word_in_chinese(word))]
    assert not lacking


@pytest.mark.parametrize(
    ("english", "chinese"),
    [
        (
            "progress: 63 %, edits 130/270 (3.2/min), scores 20/270, controls 12/75, 2 failed, 12 min 05 s left",
            "进度：63 %，编辑 130/270（3.2/分钟），评分 20/270，对照 12/75，失败 2，还剩 12 分 05 秒",
        ),
        ("end: 8 of 10 edits, 9 of 10 scores, in 22 s", "结束：编辑 8/10，评分 9/10，用时 22 秒"),
        (
            "loaded: edit model qwen on cuda:0 in 41 s (3 of 8), 57.7 GiB",
            "已加载：编辑模型 qwen 位于 cuda:0，用时 41 秒（3/8），57.7 GiB",
        ),
        (
            "error: runs/a is in use by process 12 on host1 since 10:00; wait for it, or stop it first",
            "错误：runs/a 正被 host1 上的进程 12（自 10:00 起）使用；请等待它，或先停止它",
        ),
        (
            "error: config.yaml: reward_model.params.batch_size: must be at least 1, not 0",
            "错误：config.yaml: reward_model.params.batch_size：必须不小于 1，而不是 0",
        ),
        (
            "note: 3 samples: index 4, 5, 6: the mean over samples weights categories by size, the mean over "
            "categories does not",
            "注意：3 个样本：第 4、5、6 项：按样本平均时，类别按大小加权；按类别平均则不加权",
        ),
    ],
)
def test_lines_as_they_are_printed(english: str, chinese: str) -> None:
    assert in_chinese(english) == chinese


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/work/a (b)/run: c",
        "qwen_image_edit",
        "cuda:0–7",
        "edit-eval run config.yaml --run-dir runs/a",
        "RuntimeError: CUDA error: an illegal memory access was encountered",
        "The added ball rests on the ground and casts a shadow, and the rest of the scene is as it was.",
        "see (unbalanced `quotes",
        "a; b: c; d",
        "{} {0} %s \\1",
        "x" * 100_000,
    ],
)
def test_what_is_not_ours_stays_as_it_is(text: str) -> None:
    assert in_chinese(text) == text


def test_code_within_a_text_is_never_touched() -> None:
    said = in_chinese("no such file: a.yaml; `edit-eval list` shows the configurations that are known by name")
    assert "`edit-eval list`" in said
    assert "a.yaml" in said
    assert said.startswith("没有这个文件：")
    command = "`a; b: c` (d; e: f)"
    assert in_chinese(f"{command} cannot be written") == f"{command} 无法写入"


def test_a_name_is_no_word() -> None:
    """Keys and names stay, even one that means something elsewhere."""
    assert in_chinese("error: a.yaml: pilot: unknown key; did you mean `missing`?") == (
        "错误：a.yaml: pilot：未知的键；是否想写 `missing`？"
    )
    assert in_chinese("error: pilot: fix that") == "错误：试跑：请修正"
    assert in_chinese("unknown key; the keys here are pilot, progress, order") == (
        "未知的键；这里的键有 pilot、progress、order"
    )
    assert in_chinese("columns of a.csv: id = uid, category = type") == "a.csv 的列：id = uid, category = type"


def test_what_a_library_says_is_not_half_translated() -> None:
    line = "Asks two questions: expected the node in a block, but found the end of it"
    assert in_chinese(f"a.yaml: not valid YAML: {line}") == f"a.yaml：不是有效的 YAML：{line}"
    for theirs in ("the module is not there to be found", "Runs to the end.", "name 'X' is not defined"):
        assert in_chinese(theirs) == theirs


def test_the_words_of_an_error_are_its_librarys() -> None:
    retired = "note: edit model m on cpu:0 has been retired: OSError: no space left"
    assert in_chinese(retired) == "注意：cpu:0 上的编辑模型 m 已停用：OSError: no space left"
    bug = "error: ValueError: it is empty (this is a bug in edit-eval; `--debug` shows the traceback)"
    assert in_chinese(bug) == "错误：ValueError: it is empty（这是 edit-eval 的缺陷；`--debug` 可显示调用栈）"
    ours = "error: pilot: LoadError: no such file: x (the score 99 is outside 0 to 10)"
    assert in_chinese(ours) == "错误：试跑：LoadError：没有这个文件：x（分数 99 超出 0 至 10 的范围）"


def test_a_long_line_takes_no_long_time() -> None:
    """Looked for by a word that it has: the work grows with the line, not with the catalog times the line."""
    assert len(candidates("so many words " * 200)) < len(templates()) / 20


def test_the_files_hold_what_yaml_says() -> None:
    """No key is there twice, in one file or in two."""
    seen: dict[str, str] = {}
    for file in sorted((source_texts.SRC / "reporting/chinese/texts").glob("*.yaml")):
        for line in file.read_text(encoding="utf-8").splitlines():
            if line.strip() and not line.startswith("#"):
                key = next(iter(catalog.read(line)))
                assert (file.stem in ("words", "tags")) or key not in seen, (key, seen[key], file.name)
                seen[key] = file.name
