"""What of a recording depends on the place, the moment or the machine, and what stands there instead.

The table is short on purpose: whatever it does not name has to be the same on every machine and in every run.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

HOUSE = Path(__file__).parents[2]

DROPPED: tuple[tuple[str, str], ...] = (
    (r"progress: \d+ %|进度：\d+", "plain progress comes by the clock: on a fast machine never, on a busy one often"),
    (r"reading the benchmark: |正在读取基准", "said where reading takes seconds"),
    (r"drawing the scenes: [\d,]+|正在绘制场景：已画", "said where drawing takes seconds"),
    (r"time left unknown", "the same, before anything is known"),
    (r"\(\d+ lines skipped\)", "said where the terminal was too slow"),
)
"""Lines that are left out altogether (a pattern found in them), and why."""

REPLACED: tuple[tuple[str, str, str], ...] = (
    (r"\b\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?(?: UTC)?)?", "<DATE>", "dates"),
    (r"-\d{8}-\d{6}\b", "-<STAMP>", "folders named after the moment"),
    (r"^\d\d:\d\d:\d\d ", "<CLOCK> ", "a log line's time of day"),
    (r"(load_concurrency(?:: auto is |：auto 在这里为)).*", r"\1<MACHINE>", "by the memory that is free"),
    (r"(?<![\d.])\d+(?:\.\d+)? ?(?:毫秒|秒|分钟|分|小时)(?: ?\d+ ?秒)?", "<TIME>", "durations in Chinese"),
    (r"^( *(?:ok|note|warning|problem) ).*(?:processors?,|GPUs? |CUDA_VISIBLE).*$", r"\1<DEVICES>", "by doctor"),
    (r"^( *(?:正常|注意|警告|问题) ).*(?:处理器|GPU).*$", r"\1<DEVICES>", "the same in Chinese"),
    (r"\b(?:\d+ (?:d|h|min) )?\d+(?:\.\d+)? ?(?:ms|s|min|h|d)\b(?: \d+ (?:s|min)\b)?", "<TIME>", "durations"),
    (r"\b[\d.,]+(?: to [\d.,]+)? (?:bytes|B|kB|KB|KiB|MB|MiB|GB|GiB|TB|TiB)\b", "<SIZE>", "memory and files"),
    (r"\b\d+(?:\.\d+)?/min\b|<?\d+% (?=editing or judging|用于编辑或评分)", "<RATE>", "rates"),
    (r"127\.0\.0\.1:\d+", "127.0.0.1:<PORT>", "servers listen on any free port"),
    (r"\bpid \d+|\bprocess \d+", "<PID>", "processes"),
    (r"^(\| )?(?:cpu:\d+|\d+ \| cpu:\d+) .*$", r"\1<DEVICE>", "a device's row in tables of times and memory"),
    (r"\b([0-9a-f]{16})[0-9a-f]{48}\b", r"\1…", "digests, the rest of which says no more"),
    (r"\bmedian of \d+$", "median of <COUNT>", "what took no millisecond is not among the times"),
    (r"\b(\w[\w.-]*) \d+\.\d+\.\d+(?:\.\w+|\+\w+|[ab]\d+|rc\d+)*", r"\1 <VERSION>", "libraries"),
)
"""A pattern, what takes the place of what it finds, and what it is."""

_VOLATILE = """
at begin end seconds wall_seconds device_seconds left per_minute duration took memory utilisation peak
file_bytes environment versions libraries host platform processors devices timeline folder_bytes bytes freed
seconds_each measured_at made used
"""
VOLATILE = frozenset(_VOLATILE.split())
"""Keys of JSON documents beneath which every number is a moment, a duration or a size: `<NUMBER>` stands for them."""

SHAPELESS = frozenset(("timing",))
"""Keys of JSON documents of which only the keys are kept: how many measurements there are is by chance, too."""

UNSTABLE_TEXTS = frozenset(("at", "date", "host", "platform", "python", "made", "ticket", "token", "page_id", "crc"))
"""Keys of JSON documents whose text is a moment, a machine or drawn by chance: `<TEXT>` stands for it."""

SPACES = re.compile(r"(?<=\S) {2,}")
RULERS = re.compile(r"([─━═╌█▁▂▃▄▅▆▇-])\1{3,}")
"""Widths of columns follow from the durations in them."""


def settled(text: str, folder: Path) -> str:
    """A text without what depends on place, moment and machine; `folder`: where the case was run."""
    places = ((folder, "<FOLDER>"), (folder.resolve(), "<FOLDER>"), (folder.parent, "<AROUND>"), (HOUSE, "<HOUSE>"))
    for place, name in places:
        for written in (str(place), str(place).replace("_", r"\_")):  # Markdown escapes it
            text = text.replace(written, name)
    text = text.replace(sys.executable, "<PYTHON>").replace(sys.prefix, "<PREFIX>")
    lines = [line.rstrip() for line in text.splitlines()]
    kept = [line for line in lines if not any(re.search(pattern, line) for pattern, _ in DROPPED)]
    return "\n".join(_line(line) for line in kept) + ("\n" if len(kept) > 1 else "")


def _line(line: str) -> str:
    for pattern, name, _ in REPLACED:
        line = re.sub(pattern, name, line)
    return RULERS.sub(r"\1\1\1", SPACES.sub("  ", line))


def settled_document(value: Any, folder: Path, *, volatile: bool = False) -> Any:
    """A JSON document without what depends on place, moment and machine; floats to nine digits."""
    if isinstance(value, Mapping):
        of_a_day = {"digest"} & value.keys() if "date" in value else set()  # a passport's is of its date, too
        return {
            settled(str(key), folder): "<TEXT>" if key in of_a_day else _beneath(key, inner, folder, volatile)
            for key, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [settled_document(inner, folder, volatile=volatile) for inner in value]
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        return "<NUMBER>" if volatile else _nine_digits(value)
    return settled(str(value), folder)


def _beneath(key: str, value: Any, folder: Path, volatile: bool) -> Any:
    if key in SHAPELESS and isinstance(value, Mapping):
        return f"<{' '.join(sorted(value))}>"
    if key in UNSTABLE_TEXTS and isinstance(value, str) and value:
        return "<TEXT>"
    return settled_document(value, folder, volatile=volatile or key in VOLATILE)


def settled_environment(text: str) -> str:
    """The recorded environment as a page shows it, without the machine's own texts and its libraries' versions."""
    lines = re.sub(rf"^( *(?:{'|'.join(UNSTABLE_TEXTS)})): .+$", r"\1: <TEXT>", text, flags=re.MULTILINE)
    return re.sub(r": \d+\.\d+\S*$", ": <VERSION>", lines, flags=re.MULTILINE)


def _nine_digits(value: int | float) -> int | float:
    if isinstance(value, int):
        return value
    return 0.0 if abs(value) < 1e-12 else float(f"{value:.9g}")


def shortened(text: str, most: int = 16) -> str:
    """A long text's first line and its digest: it is there to be the same, not to be read."""
    lines = text.splitlines()
    if len(lines) <= most:
        return text
    return f"{lines[0]}\n<{len(lines)} lines, {hashlib.sha256(text.encode()).hexdigest()[:16]}>\n"


def without_meant(lines: Iterable[str], meant: Iterable[Mapping[str, str]]) -> list[str]:
    """Lines without those whose change is meant (`line`), and with `<MEANT>` in place of `words` that change."""
    left = list(lines)
    for change in meant:
        if "line" in change:
            left = [line for line in left if not re.search(change["line"], line)]
        else:
            left = [re.sub(change["words"], "<MEANT>", line) for line in left]
    return left
