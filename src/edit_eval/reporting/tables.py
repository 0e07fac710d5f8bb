"""The results on a terminal: coverage first, then tables that fit 80 columns. Colour only where it is a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.table import Table

from edit_eval.reporting import formats
from edit_eval.reporting.controls import wrong_lines
from edit_eval.reporting.language import said
from edit_eval.reporting.page.entries import (
    ControlRow,
    Entry,
    category_names,
    controls_are_off,
    controls_of,
    entries,
    headlines,
    refusals,
)
from edit_eval.reporting.page.footnotes import footnote_lines
from edit_eval.reporting.page.texts import NAMES, judgement_status, name_of, score_line, short_category
from edit_eval.reporting.passports import passport_lines
from edit_eval.reporting.styled import Styled
from edit_eval.reporting.terminal_text import Name, numbers, one_line, plain_table
from edit_eval.reporting.verdict import verdict_lines
from edit_eval.statistics.timing import SHOWN
from edit_eval.text import Text

_PROBLEM, _WRONG = "yellow", "red"


def print_summary(summary: Mapping[str, Any], console: Console, *, language: str = "en") -> None:
    """Coverage, the results of every (edit model, judge), their categories, where the time and the memory went."""
    parts = entries(summary["results"])
    console.print(coverage_line(summary, language))
    for line in verdict_lines(summary, language):
        console.print(_plain(line), style="bold")
    for refused in refusals(summary):
        console.print(_plain(said(Text("{} refused {} of {} edits: {}.", *refused.values()), language)))
    for note in summary.get("notes") or ():
        words = note
        console.print(_plain(said(Text("note: "), language) + one_line(words)), style=_PROBLEM)
    for line in passport_lines(summary, language):
        console.print(_plain(line), style="dim")
    for line in wrong_lines(summary, language):
        console.print(_plain(line), style=_WRONG)
    if controls_are_off(summary):
        console.print(
            _plain(
                said(
                    Text(
                        "No controls were judged (evaluation.controls is 0), so nothing shows that the judge "
                        "sees edits."
                    ),
                    language,
                )
            ),
            style="dim",
        )
    judges = list(dict.fromkeys(part.judge for part in parts))
    for judge in judges:
        of_judge = [part for part in parts if part.judge == judge]
        if len(judges) > 1:
            console.print()
            console.print(_plain(said(Text("judged by {}", judge), language)), style="bold")
        leading = headlines(of_judge)
        for score, some in groupby(of_judge, key=lambda part: part.score):
            of_score = list(some)
            console.print()
            if len(of_judge) > len(leading) or score != "score" or not of_score[0].scale.higher_is_better:
                console.print(_plain(score_line(score, of_score[0].scale, language)))
            controls = controls_of(summary, judge) if of_score[0].leads else []
            console.print(results_table(of_score, language, controls))
            if controls:
                console.print(
                    _plain(
                        said(
                            Text(
                                "Controls are judged like edits and are in no other number: the source itself, a grey "
                                "picture, the edit of another sample."
                            ),
                            language,
                        )
                    ),
                    style="dim",
                )
        if items := [part for part in entries(summary["results"], parts=True) if part.judge == judge]:
            console.print()
            console.print(items_table(items, language))
        if any(part.categories for part in leading):
            console.print()
            console.print(categories_table(leading, language))
        blocks = [part.overall for part in of_judge]
        blocks += [block for part in leading for block in (part.overall["category_mean"], *part.categories.values())]
        if reasons := without_interval([block.get("no_ci95") for block in blocks], language):
            console.print(_plain(reasons), style="dim")
    for line in (*footnote_lines(summary, language), *published_lines(summary, language)):
        console.print(_plain(line))
    if (summary.get("timing") or {}).get("devices"):
        console.print()
        console.print(device_times_table(summary, language))
    if _on_gpus((summary.get("timing") or {}).get("memory") or {}):
        console.print()
        console.print(memory_table(summary, language))
        devices = len(summary["timing"]["memory"])
        if devices > 1:
            console.print(_plain(said(Text("The highest of {} devices.", devices), language)), style="dim")


def coverage_line(summary: Mapping[str, Any], language: str = "en") -> Styled:
    """`887 of 900 scored. Not scored: 8 edit failed, 5 judge refused.`, and whether that is enough."""
    coverage = summary["coverage"]
    complete = formats.is_complete(coverage)
    line = Styled(
        said(Text("{} of {} scored.", coverage["scored"], coverage["total"]), language),
        style="bold" if complete else f"bold {_PROBLEM}",
    )
    unit, gap = (" 个", "") if language == "zh" else (" ", " ")
    unscored = [
        f"{count}{unit}{said(judgement_status(status), language)}"
        for status, count in (coverage.get("by_status") or {}).items()
        if status != "ok" and count
    ]
    if unscored:
        line.append(gap + said(Text("Not scored: {}.", unscored), language), style="not bold")
    if again := coverage.get("asked_again"):
        line.append(
            gap + said(Text("{} of {} scores came only when asked again.", again, coverage["scored"]), language),
            style="not bold",
        )
    if not coverage.get("reached", True):
        required = formats.share(coverage["required"], 1)
        line.append(gap + said(Text("Below the required coverage of {}.", required), language), style="bold")
    if summary.get("status") != "complete":
        line.append(
            gap + said(Text("This run is not finished. The numbers cover what is done so far."), language),
            style="not bold",
        )
    return line


def results_table(parts: Sequence[Entry], language: str = "en", controls: Sequence[ControlRow] = ()) -> Table:
    """A row for each edit model by one score of one judge; worst to best case only where something is unscored.

    Above them the judge's `controls`, if it is its headline.
    """
    incomplete = any(not formats.is_complete(part.coverage) for part in parts)
    table = _results(said(Text("Edit model"), language), incomplete, language)
    for control in controls:
        name = Name(name_of("control", control.kind, language), "dim")
        figures = _numbers(parts[0], control.block, incomplete)
        table.add_row(name, *figures, style="dim", end_section=control is controls[-1])
    for part in parts:
        table.add_row(Name(part.edit_model), *_numbers(part, part.overall, incomplete))
    return table


def published_lines(summary: Mapping[str, Any], language: str = "en") -> list[str]:
    """The numbers as a benchmark's authors define them, a line each."""
    lines = []
    for one in summary["results"]:
        for name, found in (one.get("published") or {}).items():
            words = Text("{} {}", name, formats.published(found["value"]))
            if found["value"] is None:
                words = Text("{}: none ({})", name, found["reason"])
            defined = said(Text("As the authors define it"), language)
            lines.append(f"{defined}: {one['edit_model']}, {one['judge']}: {said(words, language)}")
    return lines


def items_table(parts: Sequence[Entry], language: str = "en") -> Table:
    """A row for each item that a score is made of; with several edit models a row for each under the item's name."""
    incomplete = any(not formats.is_complete(part.coverage) for part in parts)
    table = _results(said(Text("Item"), language), incomplete, language)
    several = len({part.edit_model for part in parts}) > 1
    for score, some in groupby(parts, key=lambda part: part.score):
        if several:
            table.add_row(Name(score, "bold"))
        for part in some:
            first = Name(part.edit_model, indent=2) if several else Name(score)
            table.add_row(first, *_numbers(part, part.overall, incomplete))
    return table


def categories_table(parts: Sequence[Entry], language: str = "en") -> Table:
    """A row for each category; with several edit models a row for each of them under the category's name."""
    blocks = [block for part in parts for block in part.categories.values()]
    incomplete = any(not formats.is_complete(block.get("coverage")) for block in blocks)
    table = _results(said(Text("Category"), language), incomplete, language)
    for name in category_names(parts):
        title = Name(short_category(name, language), "bold" if len(parts) > 1 else "")
        if len(parts) > 1:
            table.add_row(title)
        for part in parts:
            if name in part.categories:
                block = part.categories[name]
                first = Name(part.edit_model, indent=2) if len(parts) > 1 else title
                table.add_row(first, *_numbers(part, block, incomplete))
    means = Name(said(Text("Mean of categories"), language), "bold" if len(parts) > 1 else "dim")
    if len(parts) > 1:
        table.add_row(means)
    for part in parts:
        first = Name(part.edit_model, indent=2) if len(parts) > 1 else means
        mean = Styled(part.number(part.overall["category_mean"]["mean"]), style="bold")
        counts = _scored(part.coverage), formats.images(part.overall)
        table.add_row(first, *counts, mean, part.span(part.overall["category_mean"]["ci95"]))
    return table


def without_interval(reasons: Iterable[str | None], language: str = "en") -> str:
    """Why there is no interval where there is none, each reason once; where there is no mean either, nothing."""
    known = [NAMES["no_ci95"][reason] for reason in dict.fromkeys(reasons) if reason and reason != "no_scores"]
    return said(Text("No interval: {}.", known), language) if known else ""


def device_times_table(summary: Mapping[str, Any], language: str = "en") -> Table:
    """Where each device's time went, the share of it at work; of GPUs their utilisation, of all the peak of memory."""
    timing = summary["timing"]
    busy, memory = timing.get("gpu_utilisation") or {}, timing.get("memory") or {}
    names = [*(name_of("kind", kind, language) for kind in SHOWN), said(Text("At work"), language)]
    names += [said(Text("GPU"), language)] if busy else []
    names += [said(Text("Peak"), language)] if memory else []
    table = plain_table(said(Text("Device"), language), *numbers(*names), gap=1)
    for device, seconds in timing["devices"].items():
        row = [formats.short_duration(seconds[kind]) for kind in SHOWN]
        row.append(formats.share(seconds["editing"] + seconds["judging"], sum(seconds.values())))
        if busy:
            row.append(formats.share(busy[device]["mean"], 1) if device in busy else formats.NOTHING)
        if memory:
            row.append(formats.memory(memory[device]["peak"]) if device in memory else formats.NOTHING)
        table.add_row(Name(device), *row)
    return table


def _on_gpus(memory: Mapping[str, Any]) -> bool:
    """Whether anybody could tell what was in use before or after a model: nobody can of workers on the CPU."""
    return any(
        stage[when] is not None for one in memory.values() for stage in one["stages"] for when in ("before", "after")
    )


def memory_table(summary: Mapping[str, Any], language: str = "en") -> Table:
    """Memory before, loaded, at the peak and after each model: a row a model, of its devices the highest figures."""
    moments = ("before", "loaded", "peak", "after")
    highest: dict[tuple[str, str], dict[str, int | None]] = {}
    for found in summary["timing"]["memory"].values():
        for stage in found["stages"]:
            row = highest.setdefault((stage["kind"], stage["model"]), dict.fromkeys(moments))
            for moment in moments:
                known = [value for value in (row[moment], stage[moment]) if value is not None]
                row[moment] = max(known, default=None)
    titles = (Text("Before"), Text("Loaded"), Text("Peak"), Text("After"))
    figures = numbers(*(said(title, language) for title in titles))
    table = plain_table(said(Text("Memory"), language), said(Text("Model"), language), *figures, gap=1)
    for (kind, model), row in highest.items():
        table.add_row(_plain(name_of("kind", kind, language)), Name(model), *map(formats.memory, row.values()))
    return table


def _results(first: str, incomplete: bool, language: str) -> Table:
    keys = [Text("Scored"), Text("Images"), Text("Mean"), Text("95% interval")]
    keys += [Text("Worst–best")] if incomplete else []
    keys += [Text("Std"), Text("Median"), Text("Min"), Text("Max")]
    headings = [said(key, language) for key in keys]
    return plain_table(first, *numbers(*headings), gap=0 if incomplete else 1)


def _numbers(part: Entry, block: Mapping[str, Any], with_bounds: bool) -> list[Styled | str]:
    return [
        _scored(block["coverage"]),
        formats.images(block),
        Styled(part.number(block["mean"]), style="bold"),
        part.span(block["ci95"]),
        *([part.worst_to_best(block)] if with_bounds else []),
        *(part.number(block[key]) for key in ("std", "median", "min", "max")),
    ]


def _scored(coverage: Mapping[str, Any] | None) -> Styled:
    return Styled(formats.coverage(coverage), style="" if formats.is_complete(coverage) else _PROBLEM)


def _plain(words: str) -> Styled:
    """Text that can neither be markup nor steer the terminal."""
    return Styled(one_line(words))
