"""A run in a notebook: scores with intervals and coverage, controls, and a few of the pictures.

It has no script and no style sheet, takes the notebook's own colours, and is bounded in size, because a notebook saves
its output. Text from data is escaped, shortened and put on one line.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from edit_eval.benchmarks.known_sources import with_known_sources
from edit_eval.plugins.page.html import notebook_sheet, notebook_table, page_environment
from edit_eval.plugins.page.shown_pictures import PageFiles, thumbnails
from edit_eval.records import Edit, Judgement, Results, Sample, Status
from edit_eval.reporting import formats
from edit_eval.reporting.analyses import section_of
from edit_eval.reporting.comparison_tables import columns_table, comparison_by_judge, pairs_table
from edit_eval.reporting.entries import Entry, controls_of, entries, headlines
from edit_eval.reporting.language import current_language, translate
from edit_eval.reporting.names import NAMES, score_title
from edit_eval.reporting.remarks import examination_lines, footnotes, no_interval, unshown_lines, wrong_lines
from edit_eval.reporting.report_content import translate_template
from edit_eval.reporting.result_tables import SCORE, results_table
from edit_eval.reporting.results_sheet import coverage_words
from edit_eval.reporting.strengths import battle_sheet
from edit_eval.reporting.table import Column, Line, Table
from edit_eval.reporting.terminal_text import one_line
from edit_eval.reporting.verdict import digits, paragraph, verdict_sheet
from edit_eval.reporting.verdict_drawing import draw_verdict
from edit_eval.small_copies import CopyLimits
from edit_eval.statistics.comparison import Comparison
from edit_eval.statistics.means import MeanScore
from edit_eval.statistics.summary import Summary
from edit_eval.statistics.verdict import Verdict, sort_by_place
from edit_eval.text import Text, join_texts

SAMPLES, MODELS, ROWS, LINES = 6, 4, 40, 8
"""Limits: samples and edit models with pictures; rows of the table; notes."""
SIZE = CopyLimits(side=192, file_bytes=10_000)
"""Limits of a picture, which keep all of them below half a megabyte."""
CELLS = 160
"""Columns of a text, and the number of its characters that are read."""


@dataclass(frozen=True)
class _JudgementWords:
    """A judge's number for an edit, or why there is none, and its words."""

    judge: str
    number: str
    scored: bool
    words: str


@dataclass(frozen=True)
class _Shown:
    """A picture by its place among the thumbnails, or words instead of it, and what judges said of it."""

    place: int | None
    missing: str = ""
    said: tuple[_JudgementWords, ...] = ()


def notebook_html(results: Results, summary: Summary, page: Path, *, language: str) -> str:
    """Returns the run as HTML. `page` is its report, named if it exists."""
    parts = entries(summary.results)
    # Evenly spaced in the benchmark's order, so neither the best nor the worst.
    count = min(SAMPLES, len(results.samples))
    samples = with_known_sources([results.samples[place * len(results.samples) // count] for place in range(count)])
    models = results.edit_models[:MODELS]
    run = Path(os.path.abspath(results.directory))
    pictures = PageFiles(run / "report", run)
    rows = [(sample, _row(results, sample, models, parts, pictures, language)) for sample in samples]
    kept = {path: copy for path, copy in pictures.kept.items() if copy.is_file()}  # looking at a run writes nothing
    template = _templates(language).get_template("notebook.html.j2")
    return template.render(
        results=results,
        coverage=join_texts(coverage_words(summary), " "),
        notes=[one_line(note, 2 * CELLS) for note in results.provenance.notes[:LINES]],
        more_notes=max(0, len(results.provenance.notes) - LINES),
        examined=examination_lines(summary.judges),
        wrong=wrong_lines(summary),
        unshown=unshown_lines(summary),
        verdict=_verdict(summary.verdict, language),
        footnotes=[
            *filter(None, [no_interval(part.overall.no_ci95 for part in headlines(entries(summary.results)))]),
            *footnotes(summary),
        ],
        results_table=results_table(
            parts[:ROWS],
            [row for judge in results.judges for row in controls_of(summary, judge)],
            group=SCORE if len({part.score for part in parts}) > 1 else None,
        ),
        more_rows=max(0, len(parts) - ROWS),
        battles=notebook_sheet(battle_sheet(summary.battles, results.edit_models), language, _short),
        comparisons=list(_comparisons(summary)),
        models=models,
        more_models=len(results.edit_models) - len(models),
        gallery=rows,
        thumbnails=list(thumbnails(pictures.paths, SIZE, kept)),
        page=page if page.is_file() else None,
    )


def _verdict(verdict: Verdict, language: str) -> Markup:
    """Returns the answer, the drawing by the first judge that has a say, and what to do next."""
    opinions = verdict.drawable_opinions
    drawn = draw_verdict(opinions[0], digits(opinions[0]), language) if opinions else Markup("")
    sheet = notebook_sheet(verdict_sheet(verdict, drawn=False), language, _short)
    rests = notebook_sheet([Line(line) for line in paragraph(verdict)], language, one_line)
    words = translate(Text("On what this rests"), language)
    folded = Markup("<details><summary>{}</summary>{}</details>").format(words, rests) if opinions else Markup("")
    return Markup("<div>{}{}{}</div>").format(sheet, drawn, folded)


def _comparisons(summary: Summary) -> Iterator[Table[Any]]:
    for _, columns, pairs in comparison_by_judge(summary)[:LINES]:
        if len(columns) > 1:
            yield pairs_table(pairs[:ROWS])


def comparison_html(comparison: Comparison) -> str:
    """Returns who wins by each judge, the ranks, the pairs, and the notes."""
    sheet: list[Line | Table[Any]] = []
    for judge in comparison.judges:
        columns = sort_by_place([column for column in comparison.columns if column.judge == judge])
        pairs = [pair for pair in comparison.pairs if pair.judge == judge]
        sheet += [Line(judge), columns_table(columns[:ROWS])]
        sheet += [pairs_table(pairs[:ROWS])] if pairs else []
    sheet += [Line(note, "quiet") for note in comparison.notes[:LINES]]
    verdict = _verdict(comparison.verdict, current_language())
    return str(Markup("{}{}").format(verdict, notebook_sheet(sheet, current_language(), _short)))


def means_html(means: Sequence[MeanScore]) -> str:
    """Returns a row for each mean, with its interval and coverage."""
    language = current_language()
    digits = {(mean.judge, mean.score): formats.decimals(mean.scale, abs(mean.value or 0.0)) for mean in means}

    def number(mean: MeanScore, value: float | None) -> str:
        return formats.score(value, digits[mean.judge, mean.score])

    columns: list[Column[MeanScore]] = [
        Column(Text("Edit model"), lambda mean: mean.edit_model, "name"),
        Column(Text("Judge"), lambda mean: mean.judge, "name"),
        Column(Text("Score"), lambda mean: mean.score, "name"),
        Column(Text("Mean"), lambda mean: number(mean, mean.value), look="strong"),
        Column(
            Text("95% interval"), lambda mean: mean.ci95 and formats.span(mean.ci95, digits[mean.judge, mean.score])
        ),
        Column(Text("Scored"), lambda mean: f"{mean.scored}/{mean.total}"),
    ]
    return str(notebook_table(Table(columns, list(means)), language, _short))


def analysis_html(name: str, document: Any) -> str:
    """Returns the output of the analysis's verb."""
    return str(notebook_sheet(section_of(name, document).sheet(), current_language(), one_line))


def refusal_html(reason: str) -> str:
    """Returns the message for a folder that cannot be read as a run."""
    return str(_templates("en").from_string("<p>{{ line(reason) }}</p>").render(reason=reason))


def _templates(language: str) -> jinja2.Environment:
    environment = page_environment(language)
    environment.globals.update(
        say=partial(translate_template, language),
        named=lambda part: score_title(part.score, part.scale),
        line=_short,
        table=lambda table: notebook_table(table, language, _short),
    )
    return environment


def _row(
    results: Results, sample: Sample, models: Sequence[str], parts: Sequence[Entry], pictures: PageFiles, language: str
) -> list[_Shown]:
    """Returns the source, then each model's first edit with the first judgement of each judge."""
    digits = {(part.judge, part.score): part.digits for part in parts}
    edits = {edit.edit_model: edit for edit in results.edits if (edit.sample_id, edit.edit_seed) == (sample.id, 0)}
    judgements = [
        judgement
        for judgement in results.judgements
        if (judgement.sample_id, judgement.edit_seed, judgement.repeat) == (sample.id, 0, 0)
    ]
    shown = pictures.address_of_sample(sample)
    row = [
        _Shown(int(shown["thumbnail"]))
        if shown
        else _Shown(None, translate(Text("The source image is not on this computer."), language))
    ]
    for model in models:
        words = tuple(
            _judgement_words(judgement, digits, language) for judgement in judgements if judgement.edit_model == model
        )
        row.append(replace(_edit(edits.get(model), pictures, language), said=words))
    return row


def _edit(edit: Edit | None, pictures: PageFiles, language: str) -> _Shown:
    if edit is None or edit.status is not Status.OK:
        status = translate((edit.status if edit else Status.PENDING).words, language)
        return _Shown(None, ": ".join(filter(None, (status, _short(edit.reason if edit else "")))))
    shown = pictures.address_of_edit(edit)
    return (
        _Shown(int(shown["thumbnail"]))
        if shown
        else _Shown(None, translate(Text("The file of this edit is no longer there."), language))
    )


def _judgement_words(judgement: Judgement, digits: Mapping[tuple[str, str], int], language: str) -> _JudgementWords:
    if judgement.score is None:
        return _JudgementWords(
            judgement.judge,
            translate(NAMES["status"][judgement.status.value], language),
            False,
            _short(judgement.reason),
        )
    number = formats.score(judgement.score, digits.get((judgement.judge, judgement.headline), 2))
    return _JudgementWords(judgement.judge, number, True, _short(judgement.reason))


def _short(words: str) -> str:
    return one_line(words, CELLS)
