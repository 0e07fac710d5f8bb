"""What the page and the Markdown have in common: how their templates write numbers, and what they are told of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jinja2

from edit_eval.records import Results
from edit_eval.reporting import formats
from edit_eval.reporting.costs import costs, loads
from edit_eval.reporting.entries import category_names, entries
from edit_eval.reporting.failures import failures
from edit_eval.reporting.repetition import COMMAND, repetition
from edit_eval.reporting.slow_devices import slow_devices
from edit_eval.reporting.texts import judgement_status


def template_environment(*, autoescape: bool) -> jinja2.Environment:
    """The templates of this room, with the formats of numbers as filters; a name that is not given is an error.

    The filter `duration` is the caller's: it has words, so it depends on the language.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("edit_eval.reporting"),
        autoescape=autoescape,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        score=formats.score,
        span=formats.span,
        images=formats.images,
        coverage=formats.coverage,
        memory=formats.memory,
        peak_memory=formats.peak_memory,
        rate=formats.rate,
        span_signed=formats.signed_span,
    )
    environment.globals.update(formats=formats, judgement_status=judgement_status)
    return environment


def told_of(results: Results, summary: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that a template is told of a run, whatever it is written in and in whichever language."""
    parts = sorted(entries(summary), key=lambda part: results.judges.index(part.judge))
    agreement = summary.get("agreement")
    median = entries({"results": agreement["median"]}) if agreement and agreement["median"] else []
    return {
        "results": results,
        "summary": summary,
        "parts": parts,
        "category_names": category_names(parts),
        "incomplete": any(not formats.is_complete(part.coverage) for part in parts),
        "agreement": agreement,
        "median": median,
        "median_incomplete": any(not formats.is_complete(part.coverage) for part in median),
        "costs": costs(results, summary),
        "slow": slow_devices(results),
        "loads": loads(results),
        "failures": failures(results),
        "repetition": repetition(results),
        "command": COMMAND,
    }
