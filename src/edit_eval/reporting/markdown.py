"""The report as Markdown: coverage first, then the tables. For a pull request, a wiki, a terminal."""

from __future__ import annotations

import re
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
from edit_eval.reporting.texts import name_of, text

_SPECIAL = re.compile(r"([\\`*\[\]<>|#~$&!]|(?<!\w)_|_(?!\w))")  # an underscore within a word is only itself


def markdown(results: Results, summary: Mapping[str, Any], language: str) -> str:
    """The whole document. Names and reasons from the records are escaped: they can be no markup."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("edit_eval.reporting"),
        autoescape=False,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        inline=inline,
        score=formats.score,
        span=formats.span,
        coverage=formats.coverage,
        duration=formats.duration,
        memory=formats.memory,
        peak_memory=formats.peak_memory,
        rate=formats.rate,
        span_signed=formats.signed_span,
    )
    environment.globals.update(
        t=lambda key, **values: text(key, language, **values),
        name_of=lambda kind, key: name_of(kind, key, language),
        formats=formats,
    )
    parts = entries(summary)
    agreement = summary.get("agreement")
    return environment.get_template("report.md.j2").render(
        results=results,
        summary=summary,
        parts=parts,
        categories=category_names(parts),
        costs=costs(results, summary),
        slow=slow_devices(results),
        loads=loads(results),
        agreement=agreement,
        median=entries({"results": agreement["median"]}) if agreement and agreement["median"] else [],
        command=COMMAND,
        repetition=repetition(results),
        incomplete=any(not formats.is_complete(part.coverage) for part in parts),
        failures=failures(results),
    )


def inline(words: object) -> str:
    """Text from the records on one line, as text: what Markdown or HTML would take for markup is escaped."""
    return _SPECIAL.sub(r"\\\1", " ".join(str(words).split()))
