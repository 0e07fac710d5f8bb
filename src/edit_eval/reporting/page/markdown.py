"""The report as Markdown: coverage first, then the tables. For a pull request, a wiki, a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from edit_eval.records import Results
from edit_eval.reporting import formats
from edit_eval.reporting.controls import wrong_lines
from edit_eval.reporting.page.entries import Entry
from edit_eval.reporting.page.rendering import say_in, template_environment, told_of
from edit_eval.reporting.page.texts import name_of, scale_words, score_name
from edit_eval.reporting.passports import passport_lines
from edit_eval.reporting.people_differences import digits_of, explanation, people_in, rows_of, sentences
from edit_eval.reporting.verdict import verdict_lines, verdicts
from edit_eval.reporting.writers.markdown import inline, markdown_sheet, markdown_table
from edit_eval.statistics.people_differences import People


def markdown(results: Results, summary: Mapping[str, Any], language: str) -> str:
    """The whole document. Names and reasons from the records are escaped: they can be no markup."""
    environment = template_environment(autoescape=False)

    def of_score(part: Entry) -> str:
        return score_name(part.score, language)

    environment.filters.update(inline=inline, duration=lambda seconds: formats.duration(seconds, language))
    environment.globals.update(
        say=partial(say_in, language),
        table=lambda table: markdown_table(table, language),
        sheet=lambda sheet: markdown_sheet(sheet, language),
        name_of=lambda kind, key: name_of(kind, key, language),
        scale_words=lambda part: scale_words(part.scale, language),
    )
    environment.filters["score_name"] = of_score
    people = people_in(summary)
    return environment.get_template("report.md.j2").render(
        **told_of(results, summary),
        verdict=verdict_lines(summary, language),
        verdicts=verdicts(summary),
        wrong=wrong_lines(summary, language),
        examined=passport_lines(summary, language),
        people=people,
        people_rows=rows_of,
        **_said_of(people, language),
    )


def _said_of(people: People | None, language: str) -> dict[str, Any]:
    """The sentences about what people would say."""
    if people is None:
        return {}
    return {
        "people_digits": digits_of(people),
        "people_lines": sentences(people, language),
        "people_explanation": explanation(people, language),
    }
