"""`edit-eval compare` on a terminal: who is better, by how much, and what could not have been seen.

The columns that are compared have letters, so that a pair with all its numbers is one line of 80 columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console

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
from edit_eval.reporting.formats import p_value, signed
from edit_eval.reporting.language import said
from edit_eval.reporting.names import score_line, short_category
from edit_eval.reporting.people_differences import people_sheet
from edit_eval.reporting.remarks import few_images, passport_line
from edit_eval.reporting.table import Table
from edit_eval.reporting.tables import without_interval
from edit_eval.reporting.terminal_text import (
    Styled,
    one_line,
    print_beside,
    print_dim,
    readable,
    stdout_console,
)
from edit_eval.reporting.verdict import comparison_sentence
from edit_eval.reporting.writers.terminal import print_sheet, terminal_table
from edit_eval.statistics.comparison import ColumnSummary, Comparison, Pair
from edit_eval.statistics.gate import Candidate, Gate, Reason
from edit_eval.statistics.power import POWER
from edit_eval.store.comparable import NOTES, Note
from edit_eval.text import Text

PAIRS_IN_FULL = 3
"""With more pairs, categories and single samples are printed only for those with the first column."""
SAMPLES_SHOWN = (5, 3)
"""Samples that differ most that are printed of the only pair, or of each of several; `--json` has more."""

_PROBLEM = "yellow"


def print_comparison(comparison: Comparison, console: Console | None = None, *, language: str = "en") -> None:
    """Prints for each judge the columns with their ranks, every pair, the categories, the samples that differ most.

    In English or Chinese; what the records say, such as the values in which edit models differ, stays as it is.
    """
    console = console or stdout_console()
    letters = {name: letter(place) for place, name in enumerate(dict.fromkeys(c.name for c in comparison.columns))}
    sheet = _Sheet(console, letters, language)
    for number, judge in enumerate(comparison.judges):
        if number:
            console.print()
        sheet.print_judge(comparison, judge, first=not number)


def comparison_document(comparison: Comparison) -> dict[str, Any]:
    """`edit-eval compare --json`: all numbers, as plain data that can be written as UTF-8."""
    plain: dict[str, Any] = readable(comparison.document())
    return plain


def failure_remarks(pairs: Sequence[Pair], names: Mapping[str, str], language: str) -> list[str]:
    """A sentence for each pair that differs in failures (see `_Sheet.failure_remarks`)."""
    return _Sheet(stdout_console(), names, language).failure_remarks(pairs)


def note_words(note: str, language: str) -> str:
    """A note of a comparison in a language."""
    return _Sheet(stdout_console(), {}, language)._note(note)


def letter(place: int) -> str:
    """`A`, `B`, ... `Z`, `AA`, `AB`, ...; places count from 0."""
    head, tail = divmod(place, 26)
    return (letter(head - 1) if head else "") + chr(ord("A") + tail)


_REMARKS: Mapping[str, Callable[..., Text]] = {
    "trade": lambda pair, more, most, total, fewest, p, less: Text(
        "{0} is a trade: {1} scores better on what both made, but {1} fails more edits: {2} of "
        "{3} against {4} (p adj. {5}). Neither is better.",
        pair,
        more,
        most,
        total,
        fewest,
        p,
    ),
    "lower": lambda pair, more, most, total, fewest, p, less: Text(
        "{0}: {1} scores worse on what both made, and {1} fails more edits: {2} of {3} against {4} (p adj. {5}).",
        pair,
        more,
        most,
        total,
        fewest,
        p,
    ),
    "tie": lambda pair, more, most, total, fewest, p, less: Text(
        "{}: neither is shown to score better, but {} fails more edits: {} of {} against {} (p adj. {}). {} is better.",
        pair,
        more,
        most,
        total,
        fewest,
        p,
        less,
    ),
    "perhaps": lambda pair, more, most, total, fewest, p, less: Text(
        "† {}: {} is not shown to score worse, but fails more edits: {} of {} against {} (p adj. "
        "{}, so it may be chance).",
        pair,
        more,
        most,
        total,
        fewest,
        p,
    ),
}


@dataclass(frozen=True)
class _Sheet:
    """Where a comparison is printed, in which language, and the letters of its columns."""

    console: Console
    letters: Mapping[str, str]
    language: str

    def said(self, words: Text) -> str:
        return said(words, self.language)

    def print_dim(self, words: Text) -> None:
        print_dim(self.console, self.said(words))

    def print_table(self, table: Table[Any]) -> None:
        self.console.print(terminal_table(table, self.language))

    def print_judge(self, comparison: Comparison, judge: str, *, first: bool) -> None:
        """All by one judge; what holds for every judge is said with the `first`."""
        columns = [column for column in comparison.columns if column.judge == judge]
        pairs = [pair for pair in comparison.pairs if pair.judge == judge]
        self.console.print(Styled(one_line(self.said(Text("judged by {}", judge))), style="bold"))
        print_beside(
            self.console, "", Styled(one_line(comparison_sentence(columns, pairs, self.language)), style="bold")
        )
        self._print_scale(columns[0])
        for note in comparison.notes if first else ():
            head = Styled(self.said(Text("note: ")), style=_PROBLEM)
            print_beside(self.console, head, Styled(one_line(self._note(note))))
        self.console.print()
        self.print_table(columns_table(columns, self.letters))
        self._print_reasons([column.no_ci95 for column in columns])
        known = [{"images": column.clusters, "ruled_out_share": column.ruled_out_share} for column in columns]
        for words in few_images(known):
            self.print_dim(words)
        if first:
            self._print_differing_models(columns)
        self.console.print()
        self.print_table(pairs_table(pairs, self.letters))
        self._print_reasons([pair.no_ci95 for pair in pairs])
        self.console.print()
        self.print_table(counts_table(pairs, self.letters))
        self._print_failures(pairs, with_table=first)
        if first:
            self._print_explanation(comparison.pairs)
        detailed = pairs if len(pairs) <= PAIRS_IN_FULL else [pair for pair in pairs if pair.a == columns[0].name]
        if comparison.people:
            of_pairs = {pair.a for pair in detailed}
            people = people_sheet(comparison.people, judge, self.letters, detailed=of_pairs)
            print_sheet(people, self.console, self.language)
        self._print_categories(comparison, detailed)
        for pair in detailed:
            self._print_samples(pair, SAMPLES_SHOWN[len(detailed) > 1])
        if len(detailed) < len(pairs):
            self.print_dim(
                Text("Categories and samples of the pairs without {} are in `--json`.", self.letters[columns[0].name])
            )

    def _pair_name(self, pair: Pair) -> str:
        return f"{self.letters[pair.a]} - {self.letters[pair.b]}"

    def failure_remarks(self, pairs: Sequence[Pair]) -> list[str]:
        """A sentence for each pair of which one fails more, by chance or not, unless it is the worse one anyhow."""
        lines = []
        for pair in pairs:
            kind, failures = pair.outcome.failures, pair.failures
            if kind is None:
                continue
            more, less = (pair.a, pair.b) if failures.a > failures.b else (pair.b, pair.a)
            most, fewest = max(failures.a, failures.b), min(failures.a, failures.b)
            counts = most, failures.total, fewest, p_value(failures.p_adjusted)
            remark = _REMARKS[kind](self._pair_name(pair), self.letters[more], *counts, self.letters[less])
            lines.append(self.said(remark))
        return lines

    def _print_failures(self, pairs: Sequence[Pair], *, with_table: bool) -> None:
        """The table, which is the same for all judges, and what they make of it together with the scores."""
        remarks = self.failure_remarks(pairs)
        if with_table and any(pair.failures.a or pair.failures.b for pair in pairs):
            self.console.print()
            self.print_table(failures_table(pairs, self.letters))
        elif remarks:
            self.console.print()
        for line in remarks:
            print_beside(self.console, "", Styled(line, style=_PROBLEM))

    def _note(self, note: str) -> str:
        """What comes out of a run's records stays as it is."""
        if not isinstance(note, Note):
            return note
        values = note.values
        if note.kind in ("passport", "passport_of_run"):
            values = {**values, "line": passport_line(values, self.language)}
        return self.said(NOTES[note.kind](**values))

    def _print_scale(self, column: ColumnSummary) -> None:
        """Which score it is, where a reader could take it for another or for one of which higher is better."""
        if column.score == "score" and column.scale.higher_is_better:
            return
        print_dim(self.console, one_line(score_line(column.score, column.scale, self.language)))
        if not column.scale.higher_is_better:
            self.print_dim(Text("A difference below 0 is in favour of the first of a pair."))

    def _print_reasons(self, reasons: Sequence[str | None]) -> None:
        """Why there is a dash in place of an interval; what has its own sentence elsewhere is not said twice."""
        if words := without_interval(reasons, self.language):
            print_dim(self.console, words)

    def _print_differing_models(self, columns: Sequence[ColumnSummary]) -> None:
        """How each edit model differs from the first: a comparison says nothing about what it does not name."""
        first = self.letters[columns[0].name]
        for column in columns[1:]:
            if column.differs:
                words = self.said(Text("{} unlike {}", self.letters[column.name], first))
                differs = self.said(Text("; ")).join(column.differs)
                print_beside(self.console, Styled(f"{words}  ", style="dim"), Styled(one_line(differs), style="dim"))

    def _print_explanation(self, pairs: Sequence[Pair]) -> None:
        """What the columns mean, and what the verdicts that are there do not mean."""
        tests = sum(pair.p is not None for pair in pairs)
        self.console.print()
        self.print_dim(
            Text(
                "Diff.: mean difference over the samples scored in both. Interval and p: for images like "
                "these, clustered on the source image (CR2, Student's t and Hall's); p adj.: Holm over "
                "{}.",
                self._tests(tests),
            )
        )
        if any(pair.failures.a or pair.failures.b for pair in pairs):
            edit_models = len({(pair.a, pair.b) for pair in pairs})
            self.print_dim(
                Text(
                    "Failed: edits that were not made, with the 95% interval of their share. A mean covers "
                    "only edits that were made, so failing on hard samples raises it. By pair: of the edits "
                    "that both tried; exact test by source image; p adj.: Holm over {} of failures.",
                    self._tests(edit_models),
                )
            )
        if any(pair.n == 0 for pair in pairs):
            self.print_dim(Text("No test: no sample is scored in both."))
        if any(pair.identical for pair in pairs):
            self.print_dim(
                Text(
                    "Same on n: both have the same score on each of these n samples. This says nothing about "
                    "other samples."
                )
            )
        if any(outcome(pair, self.letters) == "tie" for pair in pairs):
            self.print_dim(
                Text(
                    "A tie is not equality. Detectable: the true difference that would have been found with "
                    "a probability of {}; a smaller one could well have been missed.",
                    f"{POWER:.0%}",
                )
            )
        for pair in pairs:
            if pair.few_losses:
                words = self.said(
                    Text(
                        "{}: a few large losses of {} decide: see {}.",
                        self._pair_name(pair),
                        self.letters[pair.few_losses.column],
                        pair.few_losses.samples,
                    )
                )
                print_beside(self.console, "", Styled(one_line(words), style=_PROBLEM))
        if any(pair.outcome.holds is False for pair in pairs):
            print_beside(
                self.console,
                "* ",
                Styled(self.said(Text("Missing scores could reverse this: see `Worst to best`.")), style=_PROBLEM),
            )

    def _print_categories(self, comparison: Comparison, pairs: Sequence[Pair]) -> None:
        categories = list(dict.fromkeys(name for pair in pairs for name in pair.categories))
        if len(categories) < 2:
            return
        tests = sum(len(pair.categories) for pair in comparison.pairs)
        self.console.print()
        self.print_table(categories_table(pairs, categories, self.letters))
        self.print_dim(
            Text(
                "Exploratory; p adj.: Benjamini-Hochberg over {}. What stands out is a question for the next run.",
                self._tests(tests),
            )
        )

    def _print_samples(self, pair: Pair, count: int) -> None:
        if not pair.largest:
            return
        a, b, digits = self.letters[pair.a], self.letters[pair.b], digits_of(pair.scale, [pair.mean_a, pair.mean_b])
        self.console.print()
        self.console.print(Styled(self.said(Text("{}: the samples that differ most", f"{a} - {b}")), style="bold"))
        for sample in pair.largest[:count]:
            head = Styled(f"{signed(sample.difference, digits):>6}  ", style="bold")
            scores = (f"{name} {formats.score(score, digits):>5}  " for name, score in ((a, sample.a), (b, sample.b)))
            head.append("".join(scores), style="not bold")
            category = one_line(short_category(sample.category, self.language))
            print_beside(self.console, head, Styled(one_line(sample.sample_id)).append(f"  {category}", "dim"))
            for name, words in ((a, sample.words_a), (b, sample.words_b)):
                if words:
                    start = Styled(f"{'':8}{name}: ", style="dim")
                    self.console.print(
                        start.append(one_line(words, max(1, self.console.width - start.cell_len))), soft_wrap=True
                    )

    def _tests(self, number: int) -> str:
        return self.said(Text("1 test")) if number == 1 else self.said(Text("{} tests", number))


# -- --fail-if-worse --

_REASONS: Mapping[str, Callable[..., Text]] = {
    "worse": lambda *, name, first, judge, difference, p, **_: Text(
        "{} scores worse than {} by judge {}: {}, adjusted p {}", name, first, judge, difference, p
    ),
    "not_held": lambda *, name, first, judge, **_: Text(
        "{} cannot be compared with {} by judge {}: no sample is scored in both", name, first, judge
    ),
    "category_not_held": lambda *, name, first, judge, **_: Text(
        "{} cannot be compared with {} by judge {}: a category has no sample that is scored in both", name, first, judge
    ),
    "too_few": lambda *, name, first, judge, images, fewest, **_: Text(
        "{} cannot be tested against {} by judge {}: source images scored in both: {}, needed: {} or more",
        name,
        first,
        judge,
        images,
        fewest,
    ),
    "too_uneven": lambda *, name, first, judge, images, **_: Text(
        "{} cannot be tested against {} by judge {}: a few of the {} source images hold too many of the samples",
        name,
        first,
        judge,
        images,
    ),
    "fails_more": lambda *, name, first, b, total, a, p, **_: Text(
        "{} fails more edits than {}: {} of {} against {}, adjusted p {}", name, first, b, total, a, p
    ),
    "no_interval": lambda *, name, margin, first, judge, difference, **_: Text(
        "{} is not shown to be less than {} worse than {} by judge {}: the difference of {} has no interval",
        name,
        margin,
        first,
        judge,
        difference,
    ),
    "margin": lambda *, name, margin, first, judge, difference, lower, assumed, samples, images, **_: Text(
        "{} is not shown to be less than {} worse than {} by judge {}: {}, at worst {}; if it is "
        "truly {}, {} samples on {} source images would show it 4 times in 5",
        name,
        margin,
        first,
        judge,
        difference,
        lower,
        assumed,
        samples,
        images,
    ),
    "beyond_margin": lambda *, name, margin, first, judge, difference, lower, **_: Text(
        "{} is not shown to be less than {} worse than {} by judge {}: {}, at worst {}; more "
        "samples like these would not show it",
        name,
        margin,
        first,
        judge,
        difference,
        lower,
    ),
    "cannot_say": lambda *, name, margin, first, judge, difference, lower, **_: Text(
        "{} is not shown to be less than {} worse than {} by judge {}: {}, at worst {}; these "
        "samples cannot say how many would show it",
        name,
        margin,
        first,
        judge,
        difference,
        lower,
    ),
    "no_spread": lambda *, name, first, judge, difference, **_: Text(
        "{} cannot be tested against {} by judge {}: it scores {} on every sample alike", name, first, judge, difference
    ),
    "open": lambda *, name, first, judge, missing, total, failed, absent, **_: Text(
        "{0} could be worse than {1} by judge {2}: {3} of {4} samples lack a score, and what is "
        "missing could decide ({5} with failed edits of {0}, {6} that only one of the two has). "
        "Score them: `run` with the same samples, `run --retry STATUS`. `--allow-unscored SHARE` "
        "leaves out what is not a failed edit",
        name,
        first,
        judge,
        missing,
        total,
        failed,
        absent,
    ),
}


def gate_lines(gate: Gate, *, language: str = "en") -> list[str]:
    """A line for each reason why a column does not pass, and at the end one for each that does.

    In English or Chinese. What several judges have in common, edits that failed, is said once.
    """
    lines = [_reason(gate, one, reason, language) for one in gate.candidates for reason in one.reasons]
    lines += [_passed(gate, one, language) for one in gate.candidates if one.passed]
    return list(dict.fromkeys(map(one_line, lines)))


def drift_lines(comparison: Comparison) -> list[str]:
    """Why runs are not to be compared: judges that have drifted between them."""
    drifted = [str(note) for note in comparison.notes if isinstance(note, Note) and note.kind == "drift"]
    return [Text("{}; `--allow-drift` compares anyway", one_line(note)) for note in drifted]


def _reason(gate: Gate, candidate: Candidate, reason: Reason, language: str) -> str:
    values: dict[str, object] = dict(reason.values)
    for name in ("difference", "lower", "assumed"):
        values |= {name: _points(reason.values[name])} if name in values else {}
    values |= {"p": p_value(reason.values["p"])} if "p" in values else {}
    line = said(_REASONS[reason.kind](**_names(candidate), **values), language)
    return line if reason.kind == "fails_more" else _less(gate, candidate, line, language)


def _passed(gate: Gate, candidate: Candidate, language: str) -> str:
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
    return _less(gate, candidate, said(line, language), language)


def _less(gate: Gate, candidate: Candidate, line: str, language: str) -> str:
    """With what was left out."""
    if not candidate.left_out:
        return line
    left_out, total, share = candidate.left_out, candidate.total, f"{gate.allow_unscored:g}"
    return said(
        Text(
            "{} ({} of {} samples are left out for want of a score, as `--allow-unscored {}` allows)",
            line,
            left_out,
            total,
            share,
        ),
        language,
    )


def _points(value: float | None) -> str:
    """Points of the score, below 0 what is worse; a difference is never rounded to none."""
    return signed(value, max(2, -math.floor(math.log10(abs(value)))) if value else 2)


def _names(candidate: Candidate) -> dict[str, str]:
    return {"name": candidate.name, "first": candidate.first, "judge": candidate.judge}
