"""Which licences let the pictures of a benchmark be handed on, and what the Hub calls them."""

from __future__ import annotations

from edit_eval.records import Results

LICENCES = {
    "mit": "mit",
    "apache-2.0": "apache-2.0",
    "cc0-1.0": "cc0-1.0",
    "cc-by-4.0": "cc-by-4.0",
    "cc-by-3.0": "cc-by-3.0",
    "cc-by-2.0": "cc-by-2.0",
    "cc-by-sa-4.0": "cc-by-sa-4.0",
    "cc-by-sa-3.0": "cc-by-sa-3.0",
    "cc-by-nc-4.0": "cc-by-nc-4.0",
    "cc-by-nc-sa-4.0": "cc-by-nc-sa-4.0",
    "cc-by-nd-4.0": "cc-by-nd-4.0",
    "cc-by-nc-nd-4.0": "cc-by-nc-nd-4.0",
    "odc-by": "odc-by",
    "pddl": "pddl",
}
"""SPDX identifier in lower case -> the Hub's name. A benchmark whose licence is none of these, or has a condition
behind it (as MagicBrush's), keeps its pictures to itself."""

DRAWN = ("scenes", "ladder")
"""Benchmarks whose pictures edit-eval draws: those are nobody's."""


def sources_licence(results: Results) -> str:
    """The Hub's name of the licence under which the sources may be handed on; empty where nobody knows of one."""
    benchmark = results.configuration.get("benchmark")
    if isinstance(benchmark, dict) and benchmark.get("type") in DRAWN:
        return "apache-2.0"
    return LICENCES.get(str(results.about.get("licence", "")).strip().lower(), "")
