"""The fenced blocks of a page: files, commands with what they print, and programs; and how a reader would run them.

A block whose first line is a comment with a file's name (`# my.yaml`) is that file. `sh` is run by bash, `python`
without a name by Python, both in one folder a page, in the page's order. A `text` block behind one of them is what it
printed, line by line; `...` is any number of lines. A line of `sh` that ends in `# exit code 3` has to end so. `<!--
not run: why -->` before a block says that it is only read.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from shutil import which

DOCS = Path(__file__).parents[1] / "docs"

_BLOCK = re.compile(r"^(?:<!-- not run: (?P<why>[^\n]*?) -->\n+)?```(?P<language>\w*)\n(?P<text>.*?)^```$", re.M | re.S)
_FILE = re.compile(r"# ([\w./-]+\.(?:yaml|py|toml))\b")
_CODE = re.compile(r"\s*# exit code (\d+)$")
_NOT_EVERYWHERE = ("jq", "latexmk")
"""Programs whose lines are typed where they are installed."""


@dataclass(frozen=True)
class Block:
    """One fenced block of a page; `not_run` is the page's reason, else empty."""

    language: str
    text: str
    not_run: str

    @property
    def file(self) -> str:
        """The name of the file that it is, else empty."""
        named = _FILE.match(self.text) if self.language in ("yaml", "python", "toml") else None
        return named[1] if named else ""


def blocks(page: Path) -> list[Block]:
    matches = _BLOCK.finditer(page.read_text("utf-8"))
    return [Block(match["language"], match["text"], match["why"] or "") for match in matches]


def number_of_words(page: Path) -> int:
    """Words of running text, headings and lists included; not those of code, tables, comments and addresses.

    Two Chinese characters count as one word.
    """
    text = re.sub(r"<!--.*?-->|^```.*?^```$", "", page.read_text("utf-8"), flags=re.M | re.S)
    text = re.sub(r"^(?:\|| {4}(?![*-] )\S).*$", "", text, flags=re.M)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    characters = len(re.findall("[\u4e00-\u9fff]", text))
    words = re.sub("[\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]", " ", text).split()
    return sum(bool(re.search(r"\w", word)) for word in words) + characters // 2


def commands(text: str) -> Iterator[str]:
    """Every command line of edit-eval in a page or a block, continued lines as one."""
    for line in text.replace("\\\n", " ").splitlines():
        match = re.match(r"(?: {4}|\$ )?(edit-eval [a-z].*)$", line)
        if match:
            yield re.split(r" {2,}| #|; ", match[1])[0].strip()


def follow(page: Path, folder: Path, environment: Mapping[str, str]) -> None:
    """Does what the page says, in `folder`; an `AssertionError` names the block that did not do what it says."""
    printed = ""
    for block in blocks(page):
        if block.not_run:
            continue
        if block.file:
            write(block, folder)
        elif block.language == "sh":
            printed = "".join(_run(line, folder, environment) for line in _lines(block.text))
        elif block.language == "python":
            printed = done([sys.executable, "-c", block.text], 0, folder, environment)
        elif block.language == "text":
            hold(block.text, printed, page.name)


def write(block: Block, folder: Path) -> None:
    """Writes the file that a block is."""
    path = folder / block.file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(block.text, "utf-8")


def _lines(text: str) -> Iterator[str]:
    """The commands of a block: a continued line, and a here-document, belong to the line that they begin in."""
    waiting: list[str] = []
    end = ""
    for line in text.splitlines():
        waiting.append(line)
        if not end and (here := re.search(r"<<'?(\w+)'?", line)):
            end = here[1]
        elif line == end:
            end = ""
        if not end and not line.endswith("\\"):
            yield "\n".join(waiting)
            waiting = []


def _run(line: str, folder: Path, environment: Mapping[str, str]) -> str:
    program = line.split(" ", 1)[0]
    if not line.strip() or line.startswith("#") or (program in _NOT_EVERYWHERE and not which(program)):
        return ""
    code = _CODE.search(line)
    return done(["bash", "-c", line], int(code[1]) if code else 0, folder, environment)


def done(command: list[str], code: int, folder: Path, environment: Mapping[str, str]) -> str:
    """What a command prints, errors included; it has to end with `code`."""
    ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert ended.returncode == code, f"{command[-1]}\nended with {ended.returncode}\n{ended.stdout}{ended.stderr}"
    return ended.stdout + ended.stderr


def hold(shown: str, printed: str, page: str) -> None:
    """Every line that a page shows was printed, in this order."""
    there = iter([" ".join(line.split()) for line in printed.splitlines()])
    for line in filter(None, (" ".join(line.split()) for line in shown.splitlines())):
        if line != "...":
            assert any(line == other for other in there), f"{page} shows what was not printed: {line}\n{printed}"
