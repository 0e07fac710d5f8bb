"""The graph of imports: rooms of the package, arrows between them, floors, and circles of files.

    python .ci/graph.py [--list]

A room is a folder or a file directly in `src/edit_eval`; plug-ins and the package's own face are none. An arrow is a
room that imports from another. All imports count: those inside functions, and those for a type checker alone, too. A
room stands one floor above the highest of those that it imports from; a circle is a set of files of which each imports
all others, directly or not.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping

from closure import SOURCE, imported

NO_ROOMS = ("plugins", "__main__", "__init__")


def graph() -> dict[str, set[str]]:
    """Returns the modules of ours, and what each imports of them, for types too."""
    files = [path for path in (SOURCE / "edit_eval").rglob("*.py") if path.name != "__init__.py"]
    modules = {".".join(path.relative_to(SOURCE).with_suffix("").parts): path for path in files}
    return {module: imported(path, types=True) - {module} for module, path in modules.items()}


def circles(arrows: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Returns the strongly connected components of more than one node (Tarjan, SIAM J. Comput. 1, 1972)."""
    order, low, stack, components = dict[str, int](), dict[str, int](), list[str](), list[list[str]]()

    def visit(node: str) -> None:
        low[node] = order[node] = len(order)
        stack.append(node)
        for other in arrows.get(node, ()):
            if other not in order:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], order[other])
        if low[node] == order[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                components.append(sorted(stack[at:]))
            del stack[at:]

    sys.setrecursionlimit(10_000)
    for node in sorted(arrows):
        if node not in order:
            visit(node)
    return components


def rooms(modules: Mapping[str, Iterable[str]]) -> dict[str, set[str]]:
    """Returns the rooms, and those that each imports from."""
    arrows = defaultdict[str, set[str]](set)
    for module, others in modules.items():
        if (here := module.split(".")[1]) not in NO_ROOMS:
            arrows[here] |= {other.split(".")[1] for other in others} - {here}
    return arrows


def floors(arrows: Mapping[str, Iterable[str]]) -> dict[str, int]:
    """Returns the floor of each room, the lowest 1, where there is no circle of rooms."""
    floor_of = dict[str, int]()

    def floor(room: str) -> int:
        if room not in floor_of:
            floor_of[room] = 1 + max(map(floor, arrows[room]), default=0)
        return floor_of[room]

    for room in arrows:
        floor(room)
    return floor_of


def main() -> None:
    """Prints the figures; with `--list` also each room, the highest first, and what it imports from."""
    modules = graph()
    arrows = rooms(modules)
    of_rooms, of_files = circles(arrows), circles(modules)
    floor = floors(arrows) if not of_rooms else dict.fromkeys(arrows, 0)
    counted = f"{len(arrows)} rooms, {sum(map(len, arrows.values()))} arrows"
    print(f"{counted}, {max(floor.values())} floors, {len(of_rooms) + len(of_files)} circles")
    for circle in [*of_rooms, *of_files]:
        print("  circle:", *circle)
    if "--list" in sys.argv:
        for room in sorted(arrows, key=lambda room: (-floor[room], room)):
            print(f"{floor[room]:3}  {room}: {' '.join(sorted(arrows[room]))}")


if __name__ == "__main__":
    main()
