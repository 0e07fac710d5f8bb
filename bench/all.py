"""Runs the programs whose figures are in docs/performance.md, and puts each figure beside what it was.

    python bench/all.py [--only NAME,...] [--evalscope PYTHON] [--inspect PYTHON]

Each program runs with quick settings, all of them in a quarter of an hour on two quiet cores. The figures are kept in
build/bench.json under the commit that they are of, and the table has those of the last other commit that was measured
on this machine, as a ratio: below 1 is less. A peer is the other program, measured in the same minutes; its environment
is made as bench/peers/README.md says. What is *wanted* is in docs/performance.md.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
KEPT = HERE.parent / "build" / "bench.json"
PROGRAMS: dict[str, list[str]] = {
    "orchestration": ["orchestration.py", "--no-plans"],
    "overhead": ["overhead.py"],
    "benchmark_pass": ["benchmark_pass.py", "--megabytes", "135", "--items", "68"],
    "judging": ["judging.py"],
    "report": ["report.py"],
    "commands": ["report.py", "--models", "12", "--samples", "1000", "--rounds", "3"],
    "viewing": ["viewing.py"],
    "behind_a_server": ["behind_a_server.py", "--edits", "20,120"],
}
PEERS = ("evalscope", "inspect")
WANTED = {
    "orchestration.speedup_15_steps": 2.3,
    "orchestration.speedup_50_steps": 1.5,
    "orchestration.over_lower_bound": 1.03,
    "orchestration.scaling_6_devices": 5.7,
    "orchestration.simulation_error": 0.05,
    "overhead.device_gap_ms": 5,
    "overhead.engine_cpu_ms": 1,
    "overhead.resume_100k_seconds": 2,
    "overhead.rss_100k_mb": 300,
    "report.page_megabytes": 60,
    "report.open_seconds": 2,
    "commands.report_processor_seconds": 12,
    "commands.report_page_megabytes": 4,
    "commands.compare_processor_seconds": 2,
    "commands.help_processor_seconds": 0.25,
    "commands.status_processor_seconds": 0.25,
    "commands.run_finished_processor_seconds": 1.5,
    "viewing.first_open_seconds": 2,
    "viewing.open_seconds": 2,
    "viewing.update_seconds": 2,
    "viewing.idle_percent": 30,
    "viewing.list_seconds": 2,
    "viewing.memory_mb": 300,
}


def flatten(figures: Mapping[str, Any], before: str) -> Iterator[tuple[str, float]]:
    """Yields each number with its way through the document: `judging.server.score.ms`."""
    for name, value in figures.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{before}.{name}")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield f"{before}.{name}", float(value)


def measure(name: str, more: list[str]) -> dict[str, float]:
    """Runs a program and returns its figures; none if it fails, which it says itself."""
    begin = time.monotonic()
    program, *words = PROGRAMS[name]
    done = subprocess.run([sys.executable, HERE / program, "--json", *words, *more], stdout=subprocess.PIPE, text=True)
    print(f"{name}: {time.monotonic() - begin:.0f} s", file=sys.stderr)
    if done.returncode:
        print(f"{name}: ended with {done.returncode}, and has no figures", file=sys.stderr)
        return {}
    document = json.loads(done.stdout.splitlines()[-1])
    return dict(flatten(document.get("figures", document), name))


def commit() -> str:
    """Returns the commit that is measured, with a plus if anything differs from it."""
    said = subprocess.run(["git", "describe", "--always", "--dirty=+"], cwd=HERE, capture_output=True, text=True)
    return said.stdout.strip() or "unknown"


def peer_of(name: str, figures: Mapping[str, float]) -> tuple[str, float] | None:
    """Returns the quickest peer of a figure: the same figure of another program, in whose place ours is named."""
    for ours in ("edit-eval", "edit_eval"):
        of_peers = {peer: figures.get(name.replace(f".{ours}.", f".{peer}.")) for peer in PEERS}
        known = {peer: value for peer, value in of_peers.items() if value}
        if f".{ours}." in name and known:
            return min(known.items(), key=lambda item: item[1])
    return None


def rows(now: Mapping[str, float], before: Mapping[str, float]) -> Iterator[tuple[str, ...]]:
    """Yields the table."""
    for name, value in now.items():
        earlier, peer, wanted = before.get(name), peer_of(name, now), WANTED.get(name)
        yield (
            name,
            f"{value:g}",
            "" if earlier is None else f"{earlier:g}",
            f"{value / earlier:.2f}" if earlier else "",
            f"{value / peer[1]:.2f} of {peer[0]}" if peer else "",
            "" if wanted is None else f"{wanted:g}",
        )


def main() -> None:
    """Measures, keeps, prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="NAME,...", default=",".join(PROGRAMS), help="these programs alone")
    for peer in PEERS:
        parser.add_argument(f"--{peer}", metavar="PYTHON", help="the peer's interpreter, for behind_a_server")
    given = parser.parse_args()
    if unknown := [name for name in given.only.split(",") if name not in PROGRAMS]:
        parser.error(f"no such program: {unknown[0]}; there are {', '.join(PROGRAMS)}")
    known: dict[str, dict[str, float]] = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    this = commit()
    now = known.pop(this, {})
    last = next(reversed(known.values()), {})
    fresh: dict[str, float] = {}
    for name in given.only.split(","):
        peers = [word for peer in PEERS if (python := vars(given)[peer]) for word in (f"--{peer}", python)]
        if name == "behind_a_server" and not peers:
            print("no peer: bench/behind_a_server.py says how to make their environments (--evalscope, --inspect)")
        fresh |= measure(name, peers if name == "behind_a_server" else [])
    known[this] = {**now, **fresh}
    KEPT.parent.mkdir(exist_ok=True)
    KEPT.write_text(json.dumps(known, indent=1))
    table = [("figure", "now", "before", "ratio", "peer", "wanted"), *rows(fresh, last)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


if __name__ == "__main__":
    main()
