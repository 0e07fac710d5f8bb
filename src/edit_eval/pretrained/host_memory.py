"""Memory of the host, as far as this process may take it: a job's limits (cgroups) count at every level."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

_ROOTS = {
    "/sys/fs/cgroup": ("memory.max", "memory.current"),
    "/sys/fs/cgroup/memory": ("memory.limit_in_bytes", "memory.usage_in_bytes"),
}
"""Where the groups of both versions of cgroups lie, and their files: the limit, and what is used of it."""


def free_host_memory() -> int | None:
    """Returns the bytes that processes can still take: what Linux calls available, and the least room of all groups.

    None on other systems.
    """
    available = _figures(Path("/proc/meminfo")).get("MemAvailable")
    if available is None:
        return None
    return max(0, min([available * 1024, *(limit - used for limit, used in _limits())]))


def host_memory() -> int:
    """Returns the bytes of this host's memory, or of the least limit on this process."""
    return min([os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), *(limit for limit, _ in _limits())])


def _limits() -> Iterator[tuple[int, int]]:
    """Yields limit and use, in bytes, of each group with a limit that this process is in.

    Slurm and systemd set it on a group above its own; a container sees its own as the root.
    """
    for root, (most, used) in _ROOTS.items():
        parts = _own_group(root.endswith("memory"))
        for depth in range(len(parts) + 1):
            group = Path(root, *parts[:depth])
            try:
                limit, use = (int((group / name).read_text(encoding="ascii")) for name in (most, used))
            except (OSError, ValueError):
                continue  # no such group, or `max`
            cached = _figures(group / "memory.stat")  # file cache that the kernel frees when memory is needed
            yield limit, use - cached.get("inactive_file", 0) - cached.get("active_file", 0)


def _own_group(first_version: bool) -> list[str]:
    """Returns the path of this process's group below the root; empty if it cannot be told from here."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return []
    for line in lines:
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if ("memory" in controllers.split(",")) if first_version else not controllers:
            parts = [part for part in path.split("/") if part]
            return [] if ".." in parts else parts
    return []


def _figures(path: Path) -> Mapping[str, int]:
    """Returns the first number of each line of a kernel file, by name; empty if there is no such file."""
    try:
        lines = [line.replace(":", " ").split() for line in path.read_text(encoding="ascii").splitlines()]
    except (OSError, ValueError):
        return {}
    return {line[0]: int(line[1]) for line in lines if len(line) > 1 and line[1].isdigit()}
