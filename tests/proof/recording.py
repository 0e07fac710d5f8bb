"""A case is run in a folder of its own, and what came of it becomes a document of plain values."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proof import doors
from proof.page_text import page_text
from proof.rules import settled, settled_document, settled_environment, shortened

Document = dict[str, Any]
KEY = 16
"""Digits of keys and digests that are recorded: two things share them once in 10^19."""
NUMBERS = ("results", "comparison")
"""Where they are in the summary."""
MOST = 20
"""Edits or replies of a run that are recorded one by one."""


@dataclass(frozen=True)
class Step:
    """What is done in a case's folder, and recorded."""

    def record(self, folder: Path) -> Document | None:
        """Does it; returns what is to be kept of it."""
        raise NotImplementedError


@dataclass(frozen=True)
class Typed(Step):
    """A command line."""

    line: str
    environment: Mapping[str, str] | None = None
    words: bool = True
    """Whether what it says is recorded; where it is about durations alone, only its exit code is."""
    sorted_lines: bool = False
    """Whether the order of what it says on stderr is by chance: several devices or servers are at work."""
    by_chance: str = ""
    """What a line on stderr says that is there or not by chance: it is not recorded."""

    def record(self, folder: Path) -> Document:
        with ExitStack() as stack:
            _set(stack, self.environment or {})
            said = doors.command(shlex.split(self.line), folder.with_name("streams"))
        return self._document(folder, *said)

    def _document(self, folder: Path, code: int, out: str, err: str) -> Document:
        document: Document = {
            "typed": " ".join([*(f"{k}={v}" for k, v in (self.environment or {}).items()), self.line])
        }
        if code:
            document["code"] = code
        if not self.words:
            return document
        if "--json" in self.line.split() and out.strip():
            document["document"] = settled_document(json.loads(out), folder)
        elif out:
            document["stdout"] = settled(out, folder)
        err = "\n".join(line for line in err.splitlines() if not self.by_chance or self.by_chance not in line)
        if err := settled(err, folder):
            document["stderr"] = "\n".join(sorted(err.splitlines())) + "\n" if self.sorted_lines else err
        return document


@dataclass(frozen=True)
class Apart(Typed):
    """A command line in a process of its own, which may be killed."""

    def record(self, folder: Path) -> Document:
        line = [sys.executable, "-m", "edit_eval", *shlex.split(self.line)]
        environment = {**os.environ, **(self.environment or {})}
        done = subprocess.run(line, capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL)
        return self._document(folder, done.returncode, done.stdout, done.stderr)


@dataclass(frozen=True)
class Done(Step):
    """Something that happens between two commands; a document that it returns is recorded under its name."""

    name: str
    do: Callable[[Path], Any]

    def record(self, folder: Path) -> Document | None:
        value = self.do(folder)
        return None if value is None else {"python": self.name, "value": settled_document(value, folder)}


@dataclass(frozen=True)
class Records(Step):
    """What lies in a run directory: records and numbers always, and what else of the report is asked for."""

    run: str
    page: bool = False
    markdown: bool = False
    summary: bool = True
    numbers: bool = False
    """Whether all numbers of edit models and judges are recorded, which is much; tables have the most important."""
    samples: bool = False
    every: bool = False
    """Whether each edit, reply and score is recorded, however many there are."""

    def record(self, folder: Path) -> Document:
        run = folder / self.run
        document: Document = {"records": self.run, "files": _files(run)}
        if self.samples:
            document["fields"] = _fields(run)
        most = 1000 if self.every else MOST
        edits = _last(run, "edits", ("edit_model", "sample_id", "edit_seed", "key"))
        document["edits"] = _beginning(settled_document([_edit(line) for line in edits], folder), most)
        order = ("judge", "edit_model", "sample", "edit_seed", "repeat", "question", "reading", "ask", "key")
        replies = _last(run, "replies", order)
        document["replies"] = _beginning(settled_document([_reply(line) for line in replies], folder), most)
        if self.samples:
            document["samples"] = settled_document([_sample(line) for line in doors.lines(run, "samples")], folder)
        report = run / "report"
        if self.summary and (report / "summary.json").exists():
            summary = json.loads((report / "summary.json").read_text("utf-8"))
            kept = {name: value for name, value in summary.items() if self.numbers or name not in NUMBERS}
            document["summary"] = settled_document(kept, folder)
        if (report / "scores.csv").exists():
            document["scores"] = shortened(settled((report / "scores.csv").read_text("utf-8"), folder), most)
        if self.markdown:
            document["markdown"] = settled(_text(report / "report.md"), folder)
        if self.page:
            document["page"] = read_page(report / "index.html", folder)
        return document


def _text(file: Path) -> str:
    """What is in a file; that there is none is a finding, too."""
    return file.read_text("utf-8") if file.exists() else "<NO FILE>"


def read_page(file: Path, folder: Path) -> str:
    """The visible text of a page, with long blocks as digests."""
    lines, blocks = page_text(_text(file))
    text = settled("\n".join(lines), folder)
    for number, block in enumerate(blocks):
        said = settled(block, folder)
        if said.startswith("command: "):
            said = settled_environment(said)
        text = text.replace(f"<BLOCK {number}>", shortened(said, 2).strip())
    return text


def _set(stack: ExitStack, more: Mapping[str, str]) -> None:
    before = dict(os.environ)
    os.environ.update(more)
    stack.callback(lambda: (os.environ.clear(), os.environ.update(before)))


def _files(run: Path) -> list[str]:
    """What lies in a run directory; pictures are counted."""
    counts: dict[str, int] = {}
    for path in sorted(run.rglob("*")):
        if path.is_file() and path.suffix != ".tmp":  # what an engine that was killed left half written
            place = path.relative_to(run)
            pictures = path.suffix in (".png", ".webp", ".jpg")
            counts[f"{place.parent}/*{path.suffix}" if pictures else str(place)] = (
                counts.get(f"{place.parent}/*{path.suffix}", 0) + 1 if pictures else 1
            )
    return [f"{count} {name}" if "*" in name else name for name, count in sorted(counts.items())]


def _fields(run: Path) -> Document:
    """The names in the lines of each journal."""
    fields = {}
    for journal in ("samples", "edits", "replies", "events"):
        lines = doors.lines(run, journal)
        kinds: dict[str, list[str]] = {}
        for line in lines:
            kinds.setdefault(str(line.get("event", "")), sorted(line))
        fields[journal] = " / ".join(" ".join(names) for _, names in sorted(kinds.items()))
    return fields


def _beginning(lines: list[Any], most: int) -> list[Any]:
    """Lines, and of what are many the first and a digest of all."""
    if len(lines) <= most:
        return lines
    return [*lines[:most], f"{len(lines)} in all, {hashlib.sha256(str(lines).encode()).hexdigest()[:KEY]}"]


def _last(run: Path, journal: str, order: tuple[str, ...]) -> list[Mapping[str, Any]]:
    lines = doors.lines(run, journal)
    return sorted(lines, key=lambda line: [str(line.get(name, "")) for name in order])


def _without_nothing(**named: Any) -> Document:
    return {name: value for name, value in named.items() if value not in ("", 0, None, [], {}, [0, 0], False)}


def _edit(line: Mapping[str, Any]) -> Document:
    return _without_nothing(
        key=line["key"][:KEY],
        of=f"{line['edit_model']}/{line['sample_id']}/{line['edit_seed']}",
        seed=line["seed"],
        status=line["status"],
        pixels=line["pixels"][:KEY],
        size=f"{line['width']} x {line['height']}",
        flags=list(line["flags"]),
        reason=shortened(line["reason"], 1),
    )


def _reply(line: Mapping[str, Any]) -> Document:
    place = (line[name] for name in ("judge", "edit_model", "sample", "edit_seed", "repeat", "question", "reading"))
    return _without_nothing(
        key=line["key"][:KEY],
        of="/".join(map(str, place)),
        ask=line["ask"],
        text=shortened(line["text"], 1),
        values={name: float(f"{value:.9g}") for name, value in line["values"].items()},
        ended=line["ended"],
        status=line["status"],
        read={name: float(f"{value:.9g}") for name, value in line["read"].items()},
        tokens=line["tokens"],
        final=line["final"],
    )


def _sample(line: Mapping[str, Any]) -> Document:
    pictures = {name: picture["digest"][:KEY] for name, picture in line["pictures"].items()}
    rest = {name: value for name, value in line.items() if name not in ("pictures", "cluster", "crc")}
    return _without_nothing(**rest, pictures=pictures, cluster=line["cluster"][:KEY])


@dataclass(frozen=True)
class Case:
    """A folder of inputs, and what is done in it."""

    about: str
    inputs: Callable[[Path, ExitStack], None]
    """Makes the inputs in the folder, which is the current one; the stack ends what it starts."""
    steps: Sequence[Step]
