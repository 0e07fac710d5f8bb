"""The results on a terminal: coverage first, then tables that fit 80 columns. Colour only where it is a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from rich.console import Console

from edit_eval.reporting import formats
from edit_eval.reporting.best_of import best_of_sheet
from edit_eval.reporting.costs import device_times_table, highest_memory_table
from edit_eval.reporting.entries import (
    controls_are_off,
    controls_of,
    entries,
    headlines,
    refusals,
)
from edit_eval.reporting.language import said
from edit_eval.reporting.names import NAMES, judgement_status, score_line
from edit_eval.reporting.remarks import footnote_lines, passport_lines, wrong_lines
from edit_eval.reporting.result_tables import EDIT_MODEL, categories_table, items_table, results_table
from edit_eval.reporting.strengths import battle_sheet
from edit_eval.reporting.terminal_text import Styled, one_line
from edit_eval.reporting.verdict import verdict_lines
from edit_eval.reporting.writers.terminal import print_sheet, terminal_table
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
        several = (EDIT_MODEL,) if len(leading) > 1 else ()
        for score, some in groupby(of_judge, key=lambda part: part.score):
            of_score = list(some)
            console.print()
            if len(of_judge) > len(leading) or score != "score" or not of_score[0].scale.higher_is_better:
                console.print(_plain(score_line(score, of_score[0].scale, language)))
            controls = controls_of(summary, judge) if of_score[0].leads else []
            console.print(terminal_table(results_table(of_score, controls, names=(EDIT_MODEL,)), language))
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
            console.print(terminal_table(items_table(items, names=several), language))
        if any(part.categories for part in leading):
            console.print()
            console.print(terminal_table(categories_table(leading, names=several, with_mean=True), language))
        blocks = [part.overall for part in of_judge]
        blocks += [block for part in leading for block in (part.overall["category_mean"], *part.categories.values())]
        if reasons := without_interval([block.get("no_ci95") for block in blocks], language):
            console.print(_plain(reasons), style="dim")
    print_sheet(battle_sheet(summary), console, language)
    print_sheet(best_of_sheet(summary.get("best_of") or ()), console, language)
    for line in (*footnote_lines(summary, language), *published_lines(summary, language)):
        console.print(_plain(line))
    if (summary.get("timing") or {}).get("devices"):
        console.print()
        console.print(terminal_table(device_times_table(summary), language))
    if _on_gpus((summary.get("timing") or {}).get("memory") or {}):
        console.print()
        console.print(terminal_table(highest_memory_table(summary), language))
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


def without_interval(reasons: Iterable[str | None], language: str = "en") -> str:
    """Why there is no interval where there is none, each reason once; where there is no mean either, nothing."""
    known = [NAMES["no_ci95"][reason] for reason in dict.fromkeys(reasons) if reason and reason != "no_scores"]
    return said(Text("No interval: {}.", known), language) if known else ""


def _on_gpus(memory: Mapping[str, Any]) -> bool:
    """Whether anybody could tell what was in use before or after a model: nobody can of workers on the CPU."""
    return any(
        stage[when] is not None for one in memory.values() for stage in one["stages"] for when in ("before", "after")
    )


def _plain(words: str) -> Styled:
    """Text that can neither be markup nor steer the terminal."""
    return Styled(one_line(words))
