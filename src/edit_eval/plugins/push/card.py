"""The card (README.md) of a pushed run, for readers and for the Hub's metadata."""

from __future__ import annotations

import yaml

from edit_eval.records import LANGUAGES, Results
from edit_eval.reporting.comparison_tables import columns_table, comparison_by_judge, pairs_table
from edit_eval.reporting.entries import controls_of, entries
from edit_eval.reporting.result_tables import SCORE, results_table
from edit_eval.reporting.strengths import battle_sheet
from edit_eval.reporting.table import card_table, inline, markdown_sheet
from edit_eval.reporting.verdict import verdict_sheet
from edit_eval.statistics.summary import Summary

MARK = "edit-eval"
"""Tag that marks a data set as one of ours."""


def card(repository: str, results: Results, summary: Summary, *, licence: str, images: bool, sources: bool) -> str:
    """Returns the README.md. `licence` is the Hub's name of the sources' licence, empty if unknown."""
    header = {
        "license": licence or "unknown",
        "pretty_name": repository.rpartition("/")[2],
        "tags": [MARK, "image-editing"],
        "task_categories": ["image-to-image"],
        "language": sorted({sample.language for sample in results.samples} & {*LANGUAGES}) or ["en"],
        "configs": [
            {"config_name": model, "data_files": [{"split": "test", "path": f"data/{model}/*.parquet"}]}
            for model in results.edit_models
        ],
    }
    rows = entries(summary.results)
    controls = [row for judge in results.judges for row in controls_of(summary, judge)]
    several = len({row.score for row in rows}) > 1 or None
    coverage, first = summary.coverage, results.edit_models[0]
    lines = [
        "---",
        yaml.safe_dump(header, sort_keys=False, allow_unicode=True).rstrip(),
        "---",
        "",
        f"# {repository}",
        "",
        "Edits of images by instruction and what judges say of them, made with `edit-eval`.",
        "",
        f"**{coverage.scored} of {coverage.total} scored**"
        + ("." if coverage.reached else ", which is fewer than the run asked for."),
        "",
        markdown_sheet(verdict_sheet(summary.verdict, full=True, drawn=False), "en"),
        "",
        *([card_table(results_table(rows, controls, group=several and SCORE))] if rows else []),
        *(
            f"\n{card_table(table)}"
            for _, columns, pairs in comparison_by_judge(summary)
            for table in (columns_table(columns), pairs_table(pairs))
        ),
        markdown_sheet(battle_sheet(summary.battles, results.edit_models), "en"),
        "",
        *(f"- Judge {inline(name)}: {inline(about.line)}" for name, about in summary.judges.items()),
        "",
        "## Source",
        "",
        f"- Benchmark: {inline(results.about.get('source') or _type(results))}",
        f"- Licence of its pictures: {inline(results.about.get('licence') or licence or 'unknown')}",
        _pictures(images=images, sources=sources),
        "",
        "## Use",
        "",
        "```python",
        "from datasets import load_dataset",
        "",
        f'rows = load_dataset("{repository}", "{first}", split="test")',
        "```",
        "",
        "One row per edit. A score that is null was not given: `status` and the judge's `_status` say why; "
        "it is not 0. `summary.json` has all numbers with their intervals"
        + (", `passports/` what an audit found of the judges." if results.examined else "."),
    ]
    if images and sources:
        place = f"hub:{repository}/data/{first}"
        lines += [
            "",
            "The same edits, judged by a judge of yours:",
            "",
            "```yaml",
            f"benchmark: {{type: table, data_path: '{place}'}}",
            f"edit_models: {{{first}: {{type: table_column, params: {{table: '{place}', column: edit}}}}}}",
            "```",
        ]
    return "\n".join(lines) + "\n"


def _type(results: Results) -> str:
    benchmark = results.configuration.get("benchmark")
    return str(benchmark.get("type") or benchmark.get("class_path")) if isinstance(benchmark, dict) else "unknown"


def _pictures(*, images: bool, sources: bool) -> str:
    if not images:
        return "- Without pictures."
    return "- Edits and sources are in it." if sources else "- The edits are in it. The sources are left out."
