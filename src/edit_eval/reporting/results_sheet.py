"""The results on a terminal: the answer in a dozen rows, or all tables, which fit 80 columns."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from shlex import quote
from typing import Any

from rich.console import Console

from edit_eval.protocols.certificates import certificate_sentence, is_certified
from edit_eval.records import NO_EDIT, Ending, Status
from edit_eval.reporting import formats
from edit_eval.reporting.analyses import sections
from edit_eval.reporting.device_times import device_times_table, highest_memory_table
from edit_eval.reporting.entries import controls_of, entries, headlines, refusals
from edit_eval.reporting.names import score_line, short_category, status_count
from edit_eval.reporting.remarks import (
    controls_explained,
    examination_lines,
    examination_remarks,
    examination_words,
    footnotes,
    has_controls,
    no_interval,
    unshown_lines,
    why_unshown,
    wrong_lines,
)
from edit_eval.reporting.result_tables import EDIT_MODEL, categories_table, items_table, results_table
from edit_eval.reporting.strengths import battle_sheet
from edit_eval.reporting.table import Line, Look, Part, Table, print_parts, print_sheet
from edit_eval.reporting.verdict import advice_parts, answer_lines, digits, doubt_lines, verdict_sheet
from edit_eval.reporting.verdict_drawing import characters
from edit_eval.statistics.summary import Result, Summary, weakest_category
from edit_eval.statistics.verdict import Opinion
from edit_eval.store.run_file import find_run_file
from edit_eval.text import Text, join_texts


def print_answer(summary: Summary, run: Path, console: Console, *, language: str = "en") -> None:
    """Prints the answer in a dozen rows: who is better, how sure that is, what next, and where all tables are."""
    left = print_parts(_answer(summary), console, language)
    command = f"edit-eval report {quote(str(find_run_file(run)))} --full"
    words = Text("All tables: {}", command)
    if left:
        words = Text("All tables and {} more line: {}", left, command, plural="All tables and {} more lines: {}")
    print_sheet([Line(words, "quiet")], console, language)


def print_summary(summary: Summary, console: Console, *, language: str = "en") -> None:
    """Prints the answer and what it rests on, the results of every (edit model, judge), their categories, and the use
    of time and memory."""
    print_sheet(_results(summary), console, language)


def _answer(summary: Summary) -> Iterator[Part]:
    """Yields who is better and how sure that is, how many of how many, what speaks against it, the judge, what next."""
    verdict = summary.verdict
    yield 0, [Line(line, "strong") for line in answer_lines(verdict)]
    yield 3, characters(verdict, digits)
    if summary.coverage.total:
        yield 0, [Line(join_texts(coverage_words(summary), " "), "" if summary.coverage.complete else "problem")]
    yield from ((1, [Line(line, "wrong")]) for line in (*wrong_lines(summary), *doubt_lines(verdict)))
    yield from ((2, [Line(line)]) for line in refusal_lines(summary))
    yield from ((4, [Line(line)]) for line in published_lines(summary))
    if weakest := _weakest(summary):
        yield 5, [Line(weakest)]
    if verdict.opinions:
        words = Text("{}.", Text("{:; }", [_judge_remark(summary, of) for of in verdict.opinions]))
        # A judge that may be unfit stands there whatever else is cut.
        unfit = any(advice.kind == "failed_audit" for advice in verdict.next)
        unfit = unfit or any(of.sees == "unknown" and has_controls(summary, of.judge) for of in verdict.opinions)
        yield (1, [Line(words, "problem")]) if unfit else (5, [Line(words, "quiet")])
    yield from ((5, [Line(line, "quiet")]) for line in examination_remarks(summary.judges))
    yield from ((6, [Line(Text("note: {}", note), "problem")]) for note in summary.notes)
    yield from advice_parts(verdict)


def _judge_remark(summary: Summary, opinion: Opinion) -> Text:
    known = {
        "last": Text("puts controls below the edits"),
        "not_last": Text("does not put controls below the edits"),
        "off": Text("no controls were judged"),
    }
    words = [known[opinion.sees]] if opinion.sees in known else []
    if opinion.sees == "unknown":
        words = [Text("not shown to see edits ({})", why_unshown(summary, opinion.judge))]
    if opinion.judge in summary.judges and (examined := examination_words(summary.judges[opinion.judge])):
        words.append(examined)
    return Text("Judge {}: {}", opinion.judge, words) if words else Text("Judge {}", opinion.judge)


def _weakest(summary: Summary) -> Text | None:
    """Returns in which category the first edit model is weakest, by the first judge that counts."""
    opinion = next(iter(summary.verdict.eligible_opinions), None)
    first = opinion and (opinion.first or opinion.standings[0].name)
    parts = [part for part in headlines(entries(summary.results)) if opinion and part.judge == opinion.judge]
    part = next((part for part in parts if part.edit_model == first), None)
    name = weakest_category(part.categories, part.scale) if part else None
    if part is None or name is None:
        return None
    of, every = (
        Text("{}, n {}", formats.score(block.mean, part.digits), block.n)
        for block in (part.categories[name], part.overall)
    )
    return Text("Weakest category of {}: {} ({}; all: {}).", part.edit_model, short_category(name), of, every)


def _results(summary: Summary) -> Iterator[Line | Table[Any]]:
    parts = entries(summary.results)
    enough, *rest = coverage_words(summary)
    look: Look = "strong" if summary.coverage.complete else "problem"
    yield Line(join_texts(rest, " "), "", Text("{} ", enough) if rest else enough, look)
    yield from verdict_sheet(summary.verdict, full=True)
    yield from map(Line, refusal_lines(summary))
    yield from (Line(Text("note: {}", note), "problem") for note in summary.notes)
    yield from (Line(line, "quiet") for line in examination_lines(summary.judges))
    yield from (Line(line, "wrong") for line in wrong_lines(summary))
    yield from (Line(line, "quiet") for line in unshown_lines(summary))
    judges = list(dict.fromkeys(part.judge for part in parts))
    for judge in judges:
        if len(judges) > 1:
            yield Line()
            yield Line(Text("judged by {}", judge), "strong")
        yield from _judge_sheet(summary, judge)
    yield from battle_sheet(summary.battles, [edit.edit_model for edit in summary.edits])
    of_analyses = sections(summary)
    for section in of_analyses:
        yield from section.sheet() if not section.appendix else ()
    yield from map(Line, (*footnotes(summary), *published_lines(summary)))
    timing = summary.timing
    if timing.devices:
        yield Line()
        yield device_times_table(timing)
    if any(device.has_gpu_memory for device in timing.memory.values()):
        yield Line()
        yield highest_memory_table(timing.memory)
        if len(timing.memory) > 1:
            yield Line(Text("The highest of {} devices.", len(timing.memory)), "quiet")
    for section in of_analyses:
        yield from section.sheet() if section.appendix else ()


def _judge_sheet(summary: Summary, judge: str) -> Iterator[Line | Table[Any]]:
    parts = [part for part in entries(summary.results) if part.judge == judge]
    leading = headlines(parts)
    several = (EDIT_MODEL,) if len(leading) > 1 else ()
    for score, some in groupby(parts, key=lambda part: part.score):
        of_score = list(some)
        yield Line()
        if len(parts) > len(leading) or score != "score" or not of_score[0].scale.higher_is_better:
            yield Line(score_line(score, of_score[0].scale))
        controls = controls_of(summary, judge) if of_score[0].leads else []
        yield results_table(of_score, controls, names=(EDIT_MODEL,))
        if controls:
            yield Line(controls_explained(controls), "quiet")
    if items := [part for part in entries(summary.results, parts=True) if part.judge == judge]:
        yield Line()
        yield items_table(items, names=several)
    if any(part.categories for part in leading):
        yield Line()
        yield categories_table(leading, names=several, with_mean=True)
    reasons = [part.overall.no_ci95 for part in parts]
    for part in leading:
        reasons += [part.overall.category_mean.no_ci95] if part.categories else []
        reasons += [of.no_ci95 for of in part.categories.values()]
    if missing := no_interval(reasons):
        yield Line(missing, "quiet")


def coverage_words(summary: Summary) -> list[Text]:
    """Returns `887 of 900 scored.`, `Not scored: 8 (edit failed), 5 (judge refused).`, and whether that is enough."""
    coverage = summary.coverage
    words = [Text("{} of {} scored.", coverage.scored, coverage.total)]
    missing = {status: count for status, count in coverage.by_status.items() if status != "ok" and count}
    for status, (lost, what) in lost_edits(summary).items():
        if lost < missing.get(status, 0):  # several judges or repeats lack the same edit
            words.append(Text("{}, so {} of {} scores are missing.", what, missing.pop(status), coverage.total))
    if missing:
        words.append(Text("Not scored: {}.", [status_count(count, status) for status, count in missing.items()]))
    if again := coverage.asked_again:
        words.append(Text("{} of {} scores came only when asked again.", again, coverage.scored))
    if not coverage.reached:
        words.append(Text("Less than the {} asked for.", formats.share(coverage.required, 1)))
    if not summary.complete:
        words.append(Text("This run is not finished. The numbers cover what is done so far."))
    return words


def lost_edits(summary: Summary) -> dict[str, tuple[int, Text]]:
    """Returns by status how many edits were not made: the number, and `4 of 60 edits failed`."""
    tried = sum(of.total for of in summary.edits)
    counts = {status: sum(getattr(of, status.value).count for of in summary.edits) for status in NO_EDIT}
    return {status.value: (lost, _lost_words(status, lost, tried)) for status, lost in counts.items() if lost}


def _lost_words(status: Status, lost: int, tried: int) -> Text:
    if status.ending is Ending.DECLINED:
        return Text("{} of {} edits were refused", lost, tried)
    if status.ending is Ending.NO_FILE:
        return Text("{} of {} edits have no file", lost, tried)
    return Text("{} of {} edits failed", lost, tried)


def refusal_lines(summary: Summary) -> list[Text]:
    """Returns for each edit model that refused edits how many of how many."""
    return [Text("{} refused {} of {} edits: {}.", *vars(refused).values()) for refused in refusals(summary)]


def published_lines(summary: Summary) -> list[Text]:
    """Returns the numbers as defined by a benchmark's authors, a line each."""
    lines = []
    for result in summary.results:
        for name, number in result.published.items():
            words = Text("{} {}", name, formats.format_published(number.value))
            if number.value is None:
                words = Text("{}: none ({})", name, number.reason)
            lines.append(Text("{}: {}, {}: {}", whose(result, name), result.edit_model, result.judge, words))
    return [*lines, *certificate_lines(summary)]


def certificate_lines(summary: Summary) -> list[Text]:
    """Returns for each judge whether the authors' numbers from its replies are certified, and on what."""
    certificates = {result.judge: result.certificate for result in summary.results if result.certificate}
    return [
        Text("The authors' numbers ({}): {}.", judge, certificate_sentence(of)) for judge, of in certificates.items()
    ]


AS_THEIRS, BY_FORMULA = Text("As the authors define it"), Text("By the authors' formula")


def whose(result: Result, number: str) -> Text:
    """Returns what a published number of an entry is called: the authors' only if it is certified."""
    return AS_THEIRS if is_certified(result.certificate or {}, number) else BY_FORMULA
