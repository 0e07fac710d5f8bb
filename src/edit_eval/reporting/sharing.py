"""What was pushed, and what could go, for people."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from edit_eval.reporting.formats import memory
from edit_eval.reporting.language import said
from edit_eval.text import Text


def size(count: int) -> str:
    """`3.4 KiB`; from a MiB on as memory is shown."""
    return memory(count) if count >= 10 << 20 else f"{count / 2**20:.1f} MiB" if count >= 1 << 20 else _small(count)


def _small(count: int) -> str:
    return f"{count / 2**10:.1f} KiB" if count else "0"


def print_pushed(files: Mapping[str, int], rows: int, address: str, notes: Sequence[str]) -> None:
    """The files with their sizes; where nothing was sent, the notes, too (else they were said before)."""
    for name, count in files.items():
        print(f"{size(count):>10}  {name}")
    total = size(sum(files.values()))
    if address:
        print(said(Text("sent: {} rows, {}: {}", rows, total, address)))
        return
    for note in notes:
        print(said(Text("note: {}", note)))
    print(said(Text("would send: {} rows, {}; without `--dry-run` it is sent", rows, total)))


def print_found(rows: Sequence[tuple[str, str, int, float, bool, str]], freed: int | None) -> None:
    """What takes room: what, where, bytes, last used, whether it can go, why. Then how much that is."""
    for what, place, count, used, goes, why in rows:
        day = time.strftime("%Y-%m-%d", time.localtime(used)) if used else "-"
        line = said(Text("{}: {}: {}: {}", Text("can go") if goes else Text("stays"), what, why, place))
        print(f"{size(count):>10}  {day:>10}  {line}")
    if freed is not None:
        print(said(Text("deleted: {}", size(freed))))
        return
    room = sum(count for _, _, count, _, goes, _ in rows if goes)
    print(said(Text("{} can go; `--delete` deletes that", size(room)) if room else Text("nothing can go")))
