"""The command line in Chinese: help, errors and what verbs print; documents and exit codes are the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from rich.cells import cell_len

from command_lines import Command, Finished, caller, finish
from edit_eval import cli
from edit_eval.reporting.language import VARIABLE, set_language
from edit_eval.verbs.command_line import command_of

PROSE = re.compile(r"(?<![\w-])[a-z]+ [a-z]+ [a-z]{2,}(?![\w-])")
"""Three English words in a row."""

command = pytest.fixture(caller)


@pytest.fixture(autouse=True)
def chinese(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(VARIABLE, "zh")
    monkeypatch.setenv("COLUMNS", "80")
    yield
    set_language("")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    return finish(tmp_path_factory.mktemp("finished"))


def verbs(group: Any, *names: str) -> Iterator[list[str]]:
    yield [*names]
    for name, below in getattr(group, "commands", {}).items():
        yield from verbs(below, *names, name)


@pytest.mark.parametrize("names", [*verbs(command_of(cli.app))], ids=" ".join)
def test_help_is_chinese_and_fits_the_terminal(command: Command, names: list[str]) -> None:
    shown = command(*names, "--help")
    assert shown.code == 0, shown
    assert "用法：edit-eval" in shown.out
    assert "显示本帮助。" in shown.out
    assert not PROSE.search(re.sub("`[^`]*`", "", shown.out)), shown.out
    assert max(map(cell_len, shown.out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["run"], "错误：缺少参数 CONFIG；选项见 `edit-eval run --help`"),
        (["run", "nowhere.yaml"], "错误：nowhere.yaml：没有这个文件"),
        (["run", "x.yaml", "--nonsense"], "错误：没有选项：--nonsense；选项见 `edit-eval run --help`"),
        (["rnu", "x.yaml"], "错误：没有这个命令：rnu；是否想写 `run`？"),
        (["env", "create", "x"], "错误：缺少选项 --for；选项见 `edit-eval env create --help`"),
        (["status", "nowhere"], "错误：nowhere 不存在；`edit-eval run CONFIG` 会创建"),
        (["report", "."], "错误：. 不是运行目录（没有 config/）；`edit-eval run CONFIG` 会创建"),
        (["describe", "zebra"], "错误：没有名为 `zebra` 的组件；全部名称见 `edit-eval list`"),
        (["run", "CONFIG", "--limit", "0"], "错误：--limit：要求不小于 1，而不是 0"),
        (["plan", "CONFIG", "--samples", "0"], "错误：--samples 0：至少为 1"),
        (["plan", "CONFIG", "--gpu-memory", "80"], "错误：--gpu-memory 80：共有几块 GPU？请同时给出 `--gpus`"),
        (["run", "CONFIG", "--shard", "1/2"], "错误：--shard 需与 --run-dir 同用：所有分片共用一个运行目录"),
        (["compare", "RUN"], "错误：比较需要两次以上的运行，或一次含多个编辑模型的运行"),
    ],
)
def test_mistakes_are_told_in_chinese(
    command: Command,
    finished: Finished,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    line: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    place = {"CONFIG": str(finished.config), "RUN": str(finished.run)}
    found = command(*(place.get(word, word) for word in arguments))
    assert found.code == 2
    assert found.err.splitlines()[-1].startswith(line)
    assert not PROSE.search(re.sub("`[^`]*`", "", found.err)), found.err


@pytest.mark.parametrize("verb", ["status", "doctor", "plan"])
def test_what_a_verb_prints_is_chinese(command: Command, finished: Finished, verb: str) -> None:
    shown = command(verb, finished.run if verb == "status" else finished.config)
    assert shown.code == 0, shown
    assert re.search("[\u4e00-\u9fff]{2}", shown.out)
    assert not PROSE.search(re.sub("`[^`]*`|/[^ ]*", "", shown.out)), shown.out


def test_a_newcomer_s_first_run_is_chinese_throughout(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all that is imperfect about it: a turned photograph, a repeated row, an edit too few, and no judge."""
    monkeypatch.chdir(tmp_path)
    turned = Image.Exif()
    turned[0x0112] = 6
    for folder in ("photos", "one", "two"):
        Path(folder).mkdir()
        for number in range(8):
            picture = Image.new("RGB", (32, 24), (30 * number, 90, 40 * len(folder)))
            ending, more = ("jpg", {"exif": turned} if number in (2, 5) else {}) if folder == "photos" else ("png", {})
            if (folder, number) != ("one", 7):
                picture.save(Path(folder, f"p{number}.{ending}"), **more)
    rows = [f"p{number}.jpg,把它变红" for number in range(8)]
    Path("my.csv").write_text("\n".join(["image,prompt", *rows]))
    told = [command("init", "c.yaml", "--pictures", "my.csv", "--edits", "one,two", "--judge", "nobody")]
    told += [command("run", "c.yaml", "--run-dir", "run", "--progress", "plain")]
    told += [command("report", "run", "--full"), command("status", "run")]
    assert [one.code for one in told] == [0, 0, 0, 0], told
    said = "\n".join([*(one.out + one.err for one in told), Path("c.yaml").read_text()])
    said = "".join(line for line in said.splitlines(keepends=True) if not line.startswith("# yaml"))
    assert all(words in said for words in ("EXIF", "缺少：p7", "没有样本 … 的编辑结果")), "what it is about came up"
    assert not PROSE.search(re.sub("`[^`]*`|/[^ ]*", "", said)), said
    wrong = Path("c.yaml").read_text().replace("folder: one", "folder: one\n      files: {p0: nothing.png}")
    Path("wrong.yaml").write_text(wrong)
    assert not PROSE.search(command("run", "wrong.yaml").err), "an error of a class, behind its place"
    page = Path("run/report/index.html").read_text("utf-8").partition("<main>")[2].partition("</main>")[0]
    bare = re.sub(r"(?s)<(script|style|pre|code)\b.*?</\1>|<[^>]+data-words=[^>]+>[^<]*", " ", page)
    assert not PROSE.search(re.sub(r"<[^>]*>", "\n", bare)), "what has no words in Chinese beside it"


def test_a_document_is_english(command: Command, finished: Finished, monkeypatch: pytest.MonkeyPatch) -> None:
    document = command("status", finished.run, "--json").document
    monkeypatch.setenv(VARIABLE, "en")
    assert document == command("status", finished.run, "--json").document


def test_records_are_english_whoever_ran_it(finished: Finished) -> None:
    for file in (*finished.run.glob("events/*.jsonl"), *finished.run.glob("config/*.json")):
        assert not re.search("已加载|编辑模型|评审", file.read_text(encoding="utf-8"))


def test_a_command_does_not_speak_as_the_run_before_it_did(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE)
    set_language("zh")
    assert "To evaluate:" in command("--help").out
