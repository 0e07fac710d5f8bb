"""`edit-eval compare` on a terminal: who is better, by how much, and how small a difference could have been detected.

The compared columns have letters, so that a pair with all its numbers fits on one line of 80 columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console

from edit_eval.records import ExaminedJudge
from edit_eval.reporting import formats
from edit_eval.reporting.comparison_tables import (
    categories_table,
    columns_table,
    counts_table,
    digits_of,
    failures_table,
    outcome,
    pairs_table,
)
from edit_eval.reporting.formats import format_signed, p_value
from edit_eval.reporting.language import translate
from edit_eval.reporting.names import score_line, short_category
from edit_eval.reporting.remarks import examination_words, few_images, no_interval
from edit_eval.reporting.table import Line, Part, Table, print_parts, print_sheet
from edit_eval.reporting.terminal_text import Styled, one_line, print_with_head, stdout_console
from edit_eval.reporting.verdict import advice_parts, answer_lines, digits, doubt_lines, verdict_sheet
from edit_eval.reporting.verdict_drawing import characters
from edit_eval.statistics.compared import Candidate, ColumnSummary, Gate, Pair, Reason
from edit_eval.statistics.comparison import Comparison
from edit_eval.statistics.levels import POWER
from edit_eval.store.comparable import NOTES, Note
from edit_eval.text import Text, join_texts, pluralize

PAIRS_IN_FULL = 3
"""With more pairs, categories and single samples are printed only for those with the first column."""
SAMPLES_SHOWN = (5, 3)
"""Number of samples that differ most printed for an only pair, or for each of several; `--json` has more."""


def print_comparison(
    comparison: Comparison, console: Console | None = None, *, language: str = "en", full: bool = False
) -> None:
    """Prints the answer in a dozen rows, or if `full` what it rests on, and for each judge the columns with their
    ranks, every pair, the categories, the samples that differ most.

    In `language`; text from the records, such as values in which edit models differ, stays as it is.
    """
    console = console or stdout_console()
    if not full:
        left = print_parts(_answer(comparison), console, language)
        words = Text("All tables: repeat this with --full")
        if left:
            words = Text(
                "All tables and {} more line: repeat this with --full",
                left,
                plural="All tables and {} more lines: repeat this with --full",
            )
        return print_sheet([Line(words, "quiet")], console, language)
    letters = {name: letter(place) for place, name in enumerate(dict.fromkeys(c.name for c in comparison.columns))}
    print_sheet([*verdict_sheet(comparison.verdict, full=True), Line()], console, language)
    for number, judge in enumerate(comparison.judges):
        of_judge = [pair for pair in comparison.pairs if pair.judge == judge]
        first = next(column.name for column in comparison.columns if column.judge == judge)
        detailed = of_judge if len(of_judge) <= PAIRS_IN_FULL else [pair for pair in of_judge if pair.a == first]
        if number:
            console.print()
        print_sheet(_judge_sheet(comparison, judge, letters, detailed, first=not number), console, language)
        for pair in detailed:
            _print_samples(pair, SAMPLES_SHOWN[len(detailed) > 1], letters, console, language)
        if len(detailed) < len(of_judge):
            left_out = Text("Categories and samples of the pairs without {} are in `--json`.", letters[first])
            print_sheet([Line(left_out, "quiet")], console, language)


def _answer(comparison: Comparison) -> Iterator[Part]:
    """Yields who is better and how sure that is, what speaks against it, and what next."""
    verdict, names = comparison.verdict, {column.name: column.name for column in comparison.columns}
    yield 0, [Line(line, "strong") for line in answer_lines(verdict)]
    yield 3, characters(verdict, digits)
    yield from ((1, [Line(line, "wrong")]) for line in doubt_lines(verdict))
    yield from ((4, [Line(line, "problem")]) for line in failure_remarks(comparison.pairs, names))
    for note in comparison.notes:
        yield 5, [Line(note_words(note), head=Text("note: "), head_look="problem")]
    yield from advice_parts(verdict)


def failure_remarks(pairs: Sequence[Pair], names: Mapping[str, str]) -> list[Text]:
    """Returns a sentence for each pair where one fails more, by chance or not, unless it is the worse one anyway."""
    lines = []
    for pair in pairs:
        kind: str | None = pair.outcome.failures
        failures = pair.failures
        if kind is None:
            continue
        more, less = (pair.a, pair.b) if failures.a > failures.b else (pair.b, pair.a)
        most, fewest = max(failures.a, failures.b), min(failures.a, failures.b)
        counts = most, failures.total, fewest, p_value(failures.p_adjusted)
        if kind == "perhaps" and pair.scores_better == more:
            kind = "but"
        lines.append(_REMARKS[kind](_pair_name(pair, names), names[more], *counts, names[less]))
    return lines


def note_words(note: str) -> str:
    """Returns the words of a note of a comparison; notes from a run's records stay as they are."""
    if not isinstance(note, Note):
        return note
    values = note.values
    if isinstance(document := values.get("document"), ExaminedJudge):
        values = {**values, "line": examination_words(document)}
    return NOTES[note.kind](**values)


def letter(place: int) -> str:
    """Returns `A`, `B`, ... `Z`, `AA`, `AB`, ...; places count from 0."""
    head, tail = divmod(place, 26)
    return (letter(head - 1) if head else "") + chr(ord("A") + tail)


_REMARKS: Mapping[str, Callable[..., Text]] = {
    "trade": lambda *of: Text(
        "{0} is a trade: {1} scores better on what both made, but {1} fails more edits: {2} of "
        "{3} against {4} (p adj. {5}). Neither is better.",
        *of,
    ),
    "lower": lambda *of: Text(
        "{0}: {1} scores worse on what both made, and {1} fails more edits: {2} of {3} against {4} (p adj. {5}).", *of
    ),
    "tie": lambda *of: Text(
        "{}: neither is shown to score better, but {} fails more edits: {} of {} against {} (p adj. {}). {} is better.",
        *of,
    ),
    "but": lambda *of: Text(
        "† {0}: {1} scores better, but fails more edits: {2} of {3} against {4} (p adj. {5}, so it may be chance).", *of
    ),
    "perhaps": lambda *of: Text(
        "† {}: {} is not shown to score worse, but fails more edits: {} of {} against {} (p adj. "
        "{}, so it may be chance).",
        *of,
    ),
}


def _judge_sheet(
    comparison: Comparison, judge: str, letters: Mapping[str, str], detailed: Sequence[Pair], *, first: bool
) -> Iterator[Line | Table[Any]]:
    """Yields one judge's results without single samples; what holds for every judge is said with the `first`."""
    columns = [column for column in comparison.columns if column.judge == judge]
    pairs = [pair for pair in comparison.pairs if pair.judge == judge]
    yield Line(Text("judged by {}", judge), "strong")
    yield from _scale(columns[0])
    for note in comparison.notes if first else ():
        yield Line(note_words(note), head=Text("note: "), head_look="problem")
    yield Line()
    yield columns_table(columns, letters)
    if missing := no_interval(column.no_ci95 for column in columns):
        yield Line(missing, "quiet")
    known = [(column.ruled_out_share, column.clusters) for column in columns]
    yield from (Line(words, "quiet") for words in few_images(known))
    for column in columns[1:] if first else ():  # a comparison says nothing about columns it does not name
        if column.differs:
            unlike = Text("{} unlike {}  ", letters[column.name], letters[columns[0].name])
            yield Line(join_texts(column.differs), "quiet", unlike, "quiet")
    yield Line()
    yield pairs_table(pairs, letters)
    if missing := no_interval(pair.no_ci95 for pair in pairs):
        yield Line(missing, "quiet")
    yield Line()
    yield counts_table(pairs, letters)
    remarks = failure_remarks(pairs, letters)
    if first and any(pair.failures.a or pair.failures.b for pair in pairs):
        yield Line()
        yield failures_table(pairs, letters)
    elif remarks:
        yield Line()
    yield from (Line(remark, "problem") for remark in remarks)
    if first:
        yield Line()
        yield from _explanation(comparison, letters)
    categories = list(dict.fromkeys(name for pair in detailed for name in pair.categories))
    if len(categories) > 1:
        tests = sum(len(pair.categories) for pair in comparison.pairs)
        yield Line()
        yield categories_table(detailed, categories, letters)
        yield Line(
            Text(
                "Exploratory; p adj.: Benjamini-Hochberg over {}. What stands out is a question for the next run.",
                pluralize(tests, "test"),
            ),
            "quiet",
        )


def _pair_name(pair: Pair, names: Mapping[str, str]) -> str:
    return f"{names[pair.a]} - {names[pair.b]}"


def _scale(column: ColumnSummary) -> Iterator[Line]:
    """Yields the score's name and scale if a reader could mistake it for another, or for one where higher is better."""
    if column.score != "score" or not column.scale.higher_is_better:
        yield Line(score_line(column.score, column.scale), "quiet")
    if not column.scale.higher_is_better:
        yield Line(Text("A difference below 0 is in favour of the first of a pair."), "quiet")


def _explanation(comparison: Comparison, letters: Mapping[str, str]) -> Iterator[Line]:
    """Yields what the columns mean, and what the verdicts shown do not mean."""
    pairs = comparison.pairs
    yield Line(
        Text(
            "Diff.: mean difference over the samples scored in both. Interval and p: for images like "
            "these, clustered on the source image (CR2, Student's t and Hall's); p adj.: {}.",
            comparison.correction.describe_tests(),
        ),
        "quiet",
    )
    if any(pair.failures.a or pair.failures.b for pair in pairs):
        yield Line(
            Text(
                "Failed: edits that were not made, with the 95% interval of their share. A mean covers "
                "only edits that were made, so failing on hard samples raises it. By pair: of the edits "
                "that both tried; exact test by source image; p adj.: {} of failures.",
                comparison.correction_of_failures.describe_tests(),
            ),
            "quiet",
        )
    if any(pair.n == 0 for pair in pairs):
        yield Line(Text("No test: no sample is scored in both."), "quiet")
    if any(pair.identical for pair in pairs):
        yield Line(
            Text(
                "Same on n: both have the same score on each of these n samples. This says nothing about other samples."
            ),
            "quiet",
        )
    if any(outcome(pair, letters) == "undecided" for pair in pairs):
        yield Line(
            Text(
                "Undecided is not equal. Detectable: the true difference that would have been found with "
                "a probability of {}; a smaller one could well have been missed.",
                f"{POWER:.0%}",
            ),
            "quiet",
        )
    for pair in pairs:
        if outliers := pair.outliers:
            name, samples = _pair_name(pair, letters), outliers.samples
            if outliers.loser is None:
                yield Line(Text("{}: unlike the others, and they widen the interval: {}.", name, samples), "problem")
            else:
                loser = letters[outliers.loser]
                yield Line(
                    Text(
                        "{}: a few large losses of {} widen the interval, and may decide: see {}.", name, loser, samples
                    ),
                    "problem",
                )
    if any(pair.outcome.holds is False for pair in pairs):
        yield Line(Text("Missing scores could reverse this: see `Worst to best`."), "problem", "* ")


def _print_samples(pair: Pair, count: int, letters: Mapping[str, str], console: Console, language: str) -> None:
    """Prints the samples that differ most. Not part of a sheet, because the judge's words are cut at the line's end."""
    if not pair.largest:
        return
    a, b, digits = letters[pair.a], letters[pair.b], digits_of(pair.scale, [pair.mean_a, pair.mean_b], [pair.ci95])
    title = Text("{}: the samples that differ most", _pair_name(pair, letters))
    print_sheet([Line(), Line(title, "strong")], console, language)
    for sample in pair.largest[:count]:
        head = Styled(f"{format_signed(sample.difference, digits):>6}  ", style="bold")
        scores = (f"{name} {formats.score(score, digits):>5}  " for name, score in ((a, sample.a), (b, sample.b)))
        head.append("".join(scores), style="not bold")
        category = one_line(translate(short_category(sample.category), language))
        print_with_head(console, head, Styled(one_line(sample.sample_id)).append(f"  {category}", "dim"))
        for name, words in ((a, sample.words_a), (b, sample.words_b)):
            if words:
                start = Styled(f"{'':8}{name}: ", style="dim")
                console.print(start.append(one_line(words, max(1, console.width - start.cell_len))), soft_wrap=True)


# -- --fail-if-worse --


def _guidance_note(column: str) -> Text:
    return Text(
        "{}: its server makes the same picture with another negative prompt, so guidance is off there: send what its "
        "engine calls it (`call`), and a weight above 1",
        column,
    )


_REASONS: Mapping[str, Callable[[Callable[..., Iterator[Any]]], Text]] = {
    "blind": lambda of: Text("judge {} does not put controls below edits, so its scores are no gate", *of("judge")),
    "unguided": lambda of: _guidance_note(*of("name")),
    "first_unguided": lambda of: _guidance_note(*of("first")),
    "worse": lambda of: Text(
        "{} scores worse than {} by judge {}: {}, adjusted p {}", *of("name", "first", "judge", "difference", "p")
    ),
    "not_held": lambda of: Text(
        "{} cannot be compared with {} by judge {}: no sample is scored in both", *of("name", "first", "judge")
    ),
    "category_not_held": lambda of: Text(
        "{} cannot be compared with {} by judge {}: a category has no sample that is scored in both",
        *of("name", "first", "judge"),
    ),
    "too_few": lambda of: Text(
        "{} cannot be tested against {} by judge {}: source images scored in both: {}, needed: {} or more",
        *of("name", "first", "judge", "images", "fewest"),
    ),
    "too_uneven": lambda of: Text(
        "{} cannot be tested against {} by judge {}: a few of the {} source images hold too many of the samples",
        *of("name", "first", "judge", "images"),
    ),
    "fails_more": lambda of: Text(
        "{} fails more edits than {}: {} of {} against {}, adjusted p {}", *of("name", "first", "b", "total", "a", "p")
    ),
    "no_interval": lambda of: Text(
        "{} is not shown to be less than {} worse than {} by judge {}: the difference of {} has no interval",
        *of("name", "margin", "first", "judge", "difference"),
    ),
    "margin": lambda of: Text(
        "{} is not shown to be less than {} worse than {} by judge {}: {}, at worst {}; if it is "
        "truly {}, {} samples on {} source images would show it 4 times in 5",
        *of("name", "margin", "first", "judge", "difference", "lower", "assumed", "samples", "images"),
    ),
    "beyond_margin": lambda of: Text(
        "{} is not shown to be less than {} worse than {} by judge {}: {}, at worst {}; more "
        "samples like these would not show it",
        *of("name", "margin", "first", "judge", "difference", "lower"),
    ),
    "cannot_say": lambda of: Text(
        "{} is not shown to be less than {} worse than {} by judge {}: {}, at worst {}; these "
        "samples cannot say how many would show it",
        *of("name", "margin", "first", "judge", "difference", "lower"),
    ),
    "no_spread": lambda of: Text(
        "{} cannot be tested against {} by judge {}: it scores {} on every sample alike",
        *of("name", "first", "judge", "difference"),
    ),
    "open": lambda of: Text(
        "{0} could be worse than {1} by judge {2}: {3} of {4} samples lack a score, and what is "
        "missing could decide ({5} with failed edits of {0}, {6} that only one of the two has). "
        "Score them: `run` with the same samples, `run --retry STATUS`. `--allow-unscored SHARE` "
        "leaves out what is not a failed edit",
        *of("name", "first", "judge", "missing", "total", "failed", "absent"),
    ),
}


def gate_lines(gate: Gate) -> list[Text]:
    """Returns a line for each reason why a column does not pass, then one for each column that does, and for each whose
    guidance is known, or was asked about in vain.

    What all judges share, such as failed edits, is named once.
    """
    lines = [_reason(gate, candidate, reason) for candidate in gate.candidates for reason in candidate.reasons]
    lines += [_pass_sentence(gate, candidate) for candidate in gate.candidates if candidate.passed]
    lines += [Text("{}: guidance {}", name, state) for name, state in gate.guidance.items() if state != "off"]
    return list(dict.fromkeys(lines))


_OF_ALL_SAMPLES = ("fails_more", "blind", "unguided", "first_unguided")
"""Kinds of reasons that have nothing to do with samples that were left out."""


def _reason(gate: Gate, candidate: Candidate, reason: Reason) -> Text:
    values: dict[str, object] = dict(reason.values)
    for name in ("difference", "lower", "assumed"):
        values |= {name: _points(reason.values[name])} if name in values else {}
    values |= {"p": p_value(reason.values["p"])} if "p" in values else {}
    values |= {"name": candidate.name, "first": candidate.first, "judge": candidate.judge}
    line = _REASONS[reason.kind](lambda *names: (values[name] for name in names))
    return line if reason.kind in _OF_ALL_SAMPLES else _less(gate, candidate, line)


def _pass_sentence(gate: Gate, candidate: Candidate) -> Text:
    name, first, judge = candidate.name, candidate.first, candidate.judge
    difference = _points(candidate.difference)
    if gate.margin is not None:
        lower, limit = _points(candidate.lower), _points(-gate.margin)
        line = Text(
            "{} passes by judge {}: {} against {}, at worst {}, which is above {}",
            name,
            judge,
            difference,
            first,
            lower,
            limit,
        )
    else:
        line = Text("{} is not shown to be worse than {} by judge {}: {}", name, first, judge, difference)
        if candidate.detectable is not None:
            detectable = _points(candidate.detectable).lstrip("+")
            line = Text(
                "{}; a loss of {} would have been found 4 times in 5, a smaller one could well have been missed",
                line,
                detectable,
            )
    return _less(gate, candidate, line)


def _less(gate: Gate, candidate: Candidate, line: Text) -> Text:
    """Adds to a line what was left out."""
    if not candidate.left_out:
        return line
    left_out, total, share = candidate.left_out, candidate.total, f"{gate.allow_unscored:g}"
    return Text(
        "{} ({} of {} samples are left out for want of a score, as `--allow-unscored {}` allows)",
        line,
        left_out,
        total,
        share,
    )


def _points(value: float | None) -> str:
    """Writes points of the score, below 0 for worse; a difference is never rounded to zero."""
    return format_signed(value, max(2, -math.floor(math.log10(abs(value)))) if value else 2)
