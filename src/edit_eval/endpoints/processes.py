"""Which processes are a server's, and whose a port is: what Linux tells of it; elsewhere, nothing.

Standard library only.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

MARK = "EDIT_EVAL_SERVER"
"""The variable by which the processes of a server are known."""


def members(leader: int, mark: str) -> Iterator[int]:
    """The living processes of a group, those with the mark in their environment, and what these have started.

    A server that becomes a daemon leaves both its group and its parent; the mark it keeps.
    """
    parents: dict[int, int] = {}
    found = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent, group = status.read_text(errors="replace").rpartition(")")[2].split()[:3]
        except (OSError, ValueError):
            continue
        if state not in "ZX":
            pid = int(status.parent.name)
            parents[pid] = int(parent)
            found |= {pid} if int(group) == leader or _is_marked(pid, mark) else set()
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    yield from found


def _is_marked(pid: int, mark: str) -> bool:
    if not mark:
        return False
    try:
        return mark.encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:  # another user's, or gone
        return False


def is_daemon(leader: int, mark: str) -> bool:
    """Whether a server goes on in the background though the process that was started has ended."""
    return any(_is_marked(pid, mark) for pid in members(leader, mark))


def strangers_at(port: int, leader: int, mark: str) -> bool:
    """Whether a process that is not of this group listens at the port of the loopback interface."""
    listening = set(_listening(port))
    if not listening:
        return False
    for pid in members(leader, mark):
        with contextlib.suppress(OSError):
            for descriptor in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    listening.discard(os.readlink(f"/proc/{pid}/fd/{descriptor}"))
    return bool(listening)


def _listening(port: int) -> Iterator[str]:
    """The sockets that listen there, as `/proc/PID/fd` names them."""
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError), open(f"/proc/net/{table}", encoding="ascii") as rows:
            for row in rows:
                columns = row.split()
                address, _, at = columns[1].partition(":")
                is_loopback = not address.strip("0") or address.endswith(("0100007F", "01000000"))
                if columns[3] == "0A" and int(at, 16) == port and is_loopback:
                    yield f"socket:[{columns[9]}]"
