"""`edit-eval compare` on a terminal: who is better, by how much, and what could not have been seen.

The columns that are compared have letters, so that a pair with all its numbers is one line of 80 columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from edit_eval.reporting import formats
from edit_eval.reporting.terminal_text import Name, one_line, print_beside, readable, stdout_console
from edit_eval.reporting.texts import short_category
from edit_eval.statistics.comparison import ColumnSummary, Comparison, Pair
from edit_eval.statistics.power import ALPHA, POWER, fewest_clusters

PAIRS_IN_FULL = 3
"""With more pairs, categories and single samples are printed only for those with the first column."""
SAMPLES_SHOWN = (5, 3)
"""Samples that differ most that are printed of the only pair, or of each of several; `--json` has more."""

_PROBLEM = "yellow"


def print_comparison(comparison: Comparison, console: Console | None = None) -> None:
    """Prints for each judge the columns with their ranks, every pair, the categories, the samples that differ most."""
    console = console or stdout_console()
    letters = {name: letter(place) for place, name in enumerate(dict.fromkeys(c.name for c in comparison.columns))}
    for number, judge in enumerate(comparison.judges):
        if number:
            console.print()
        columns = [column for column in comparison.columns if column.judge == judge]
        pairs = [pair for pair in comparison.pairs if pair.judge == judge]
        console.print(Text(f"judged by {one_line(judge)}", style="bold"))
        if not number:
            for note in comparison.notes:
                print_beside(console, Text("note: ", style=_PROBLEM), Text(one_line(note)))
        console.print()
        console.print(columns_table(columns, letters))
        if not number:
            _print_differing_models(console, columns, letters)
        console.print()
        console.print(pairs_table(pairs, letters))
        console.print()
        console.print(counts_table(pairs, letters))
        if not number:
            _print_explanation(console, comparison.pairs)
        detailed = pairs if len(pairs) <= PAIRS_IN_FULL else [pair for pair in pairs if pair.a == columns[0].name]
        _print_categories(console, comparison, detailed, letters)
        for pair in detailed:
            _print_samples(console, pair, letters, SAMPLES_SHOWN[len(detailed) > 1])
        if len(detailed) < len(pairs):
            first = letters[columns[0].name]
            _print_dim(console, f"Categories and samples of the pairs without {first} are in `--json`.")


def comparison_document(comparison: Comparison) -> dict[str, Any]:
    """`edit-eval compare --json`: all numbers, as plain data that can be written as UTF-8."""
    plain = readable(comparison.document())
    assert isinstance(plain, dict)
    return plain


def what_is_worse(comparison: Comparison) -> list[str]:
    """Why `--fail-if-worse` fails, a line each; empty when it does not.

    It fails, too, for what shares no scored sample with the first: a model that made nothing must not pass.
    """
    first = comparison.columns[0].name
    lines = [
        one_line(
            f"{pair.b} is worse than {pair.a} by judge {pair.judge}: {signed(-(pair.difference or 0.0))}, "
            f"adjusted p {p_value(pair.p_adjusted)}"
        )
        for pair in comparison.pairs
        if pair.a == first and pair.better == first
    ]
    return lines + [
        one_line(f"{pair.b} cannot be held against {pair.a} by judge {pair.judge}: no sample is scored in both")
        for pair in comparison.pairs
        if pair.a == first and pair.n == 0
    ]


def letter(place: int) -> str:
    """`A`, `B`, ... `Z`, `AA`, `AB`, ...; places count from 0."""
    head, tail = divmod(place, 26)
    return (letter(head - 1) if head else "") + chr(ord("A") + tail)


def signed(value: float | None) -> str:
    """`+0.22`, `-0.05`, `0.00`; a dash where there is none."""
    if value is None:
        return formats.NOTHING
    text = f"{value:+.2f}"
    return "0.00" if text in ("+0.00", "-0.00") else text


def signed_span(ends: Sequence[float] | None) -> str:
    """`[-0.05, +0.39]`; a dash where there is none."""
    return formats.NOTHING if ends is None else f"[{', '.join(map(signed, ends))}]"


def p_value(value: float | None) -> str:
    """`0.0123`; never rounded to nothing, nor across the level at which a difference is called one."""
    if value is None:
        return formats.NOTHING
    if value < 0.0001:
        return "<0.0001"
    text = f"{value:.4f}"
    return f"{value:.6f}" if (float(text) <= ALPHA) != (value <= ALPHA) else text


def verdict(pair: Pair, letters: Mapping[str, str]) -> str:
    """`A better`, with a star where missing scores could turn it; `tie`, `identical`, or `no test`."""
    if pair.better is not None:
        return f"{letters[pair.better]} better{'' if pair.better_whatever_is_missing else '*'}"
    if pair.n == 0:
        return "no test"
    return "identical" if pair.identical else "tie"


# -- tables --


def columns_table(columns: Sequence[ColumnSummary], letters: Mapping[str, str]) -> Table:
    """A row for each column: coverage, mean, interval, rank; its edit model where the name does not say it."""
    table = _table("", roomy=True)
    table.add_column("", overflow="fold")
    with_models = len({column.edit_model for column in columns}) > 1 and any(
        not column.name.endswith(column.edit_model) for column in columns
    )
    if with_models:
        table.add_column("Edit model", overflow="fold")
    _add_numbers(table, ("Scored", "Mean", "95% interval", "Rank"))
    for column in columns:
        complete = column.scored == column.total
        table.add_row(
            Text(letters[column.name], style="bold"),
            Name(column.name),
            *([Name(column.edit_model)] if with_models else []),
            Text(f"{column.scored}/{column.total}", style="" if complete else _PROBLEM),
            Text(formats.score(column.mean), style="bold"),
            formats.span(column.ci95),
            str(column.rank),
        )
    return table


def pairs_table(pairs: Sequence[Pair], letters: Mapping[str, str]) -> Table:
    """A row for each pair: the difference, its interval, the test, and what the test could have seen."""
    table = _table("Pair")
    _add_numbers(table, ("n", "Images", "Diff.", "95% interval", "p", "p adj.", "Detectable"))
    table.add_column("Verdict", no_wrap=True)
    for pair in pairs:
        table.add_row(
            _pair_name(pair, letters),
            str(pair.n),
            str(pair.clusters),
            Text(signed(pair.difference), style="bold"),
            signed_span(pair.ci95),
            p_value(pair.p),
            p_value(pair.p_adjusted),
            formats.score(pair.detectable),
            Text(verdict(pair, letters), style="bold" if pair.better else "dim"),
        )
    return table


def counts_table(pairs: Sequence[Pair], letters: Mapping[str, str]) -> Table:
    """A row for each pair: samples won, tied and lost, what missing scores could do, and how many more it takes."""
    incomplete = any(_misses(pair) for pair in pairs)
    wanted = next((pair.needed["difference"] for pair in pairs if pair.needed), None)
    table = _table("Pair", roomy=True)
    _add_numbers(table, ("Wins", "Ties", "Losses", "In both"))
    if incomplete:
        _add_numbers(table, ("Worst to best",))
    if wanted is not None:
        _add_numbers(table, (f"To show {wanted:g}",))
    for pair in pairs:
        row = [str(pair.wins), str(pair.ties), str(pair.losses), f"{pair.n}/{pair.total}"]
        bounds = (pair.worst_case_difference, pair.best_case_difference)
        if incomplete:
            known = [bound for bound in bounds if bound is not None]
            row.append(signed_span(known) if _misses(pair) and len(known) == 2 else formats.NOTHING)
        if wanted is not None:
            row.append(_needed(pair))
        table.add_row(_pair_name(pair, letters), *row)
    return table


def categories_table(pairs: Sequence[Pair], letters: Mapping[str, str], categories: Sequence[str]) -> Table:
    """A row for each category of each pair."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    table.add_column("Category", overflow="fold")
    table.add_column("Pair", no_wrap=True)
    _add_numbers(table, ("n", "Images", "Diff.", "95% interval", "p", "p adj."))
    for name in categories:
        title = Text(one_line(short_category(name, "en")))
        for pair in pairs:
            if name not in pair.categories:
                continue
            found = pair.categories[name]
            table.add_row(
                title,
                _pair_name(pair, letters),
                str(found.n),
                str(found.clusters),
                signed(found.difference),
                signed_span(found.ci95),
                p_value(found.p),
                Text(p_value(found.p_adjusted), style="bold" if (found.p_adjusted or 1) <= ALPHA else ""),
            )
            title = Text("")
    return table


def _table(first: str, *, roomy: bool = False) -> Table:
    padding = (0, 2, 0, 0) if roomy else (0, 0)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=padding, header_style="dim")
    table.add_column(first, no_wrap=True)
    return table


def _add_numbers(table: Table, names: Sequence[str]) -> None:
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)


def _pair_name(pair: Pair, letters: Mapping[str, str]) -> str:
    return f"{letters[pair.a]} - {letters[pair.b]}"


def _misses(pair: Pair) -> bool:
    """Whether any score is missing: of a sample, or of one of its edit seeds or repeats."""
    return pair.worst_case_difference != pair.best_case_difference


def _needed(pair: Pair) -> str:
    if pair.needed is None:
        return formats.NOTHING
    samples, images = pair.needed["samples"], pair.needed["clusters"]
    return str(samples) if samples == images else f"{samples} ({images} images)"


# -- words --


def _print_differing_models(console: Console, columns: Sequence[ColumnSummary], letters: Mapping[str, str]) -> None:
    """How each edit model differs from the first: a comparison says nothing about what it does not name."""
    first = letters[columns[0].name]
    for column in columns[1:]:
        if column.differs:
            head = Text(f"{letters[column.name]} unlike {first}  ", style="dim")
            print_beside(console, head, Text(one_line("; ".join(column.differs)), style="dim"))


def _print_explanation(console: Console, pairs: Sequence[Pair]) -> None:
    tests = len(pairs)
    console.print()
    _print_dim(
        console,
        "Diff.: mean difference of the samples that both have scored; interval clustered on the source image. "
        f"p: sign-flip permutation test by source image; p adj.: Holm over {_count(tests, 'test')}.",
    )
    ties = [pair for pair in pairs if pair.better is None and not pair.identical and pair.n]
    if ties:
        _print_dim(
            console,
            "A tie is not equality. Detectable: the true difference that would have been found with a probability of "
            f"{POWER:.0%}; a smaller one could well have been missed.",
        )
    if any(pair.detectable is None for pair in ties):
        fewest = fewest_clusters(ALPHA / tests)
        _print_dim(console, f"With fewer than {fewest} source images no difference at all could have been found.")
    if any(pair.better and not pair.better_whatever_is_missing for pair in pairs):
        print_beside(console, "* ", Text("The missing scores could turn this: see `Worst to best`.", style=_PROBLEM))


def _print_categories(
    console: Console, comparison: Comparison, pairs: Sequence[Pair], letters: Mapping[str, str]
) -> None:
    categories = list(dict.fromkeys(name for pair in pairs for name in pair.categories))
    if len(categories) < 2:
        return
    tests = sum(len(pair.categories) for pair in comparison.pairs)
    console.print()
    console.print(categories_table(pairs, letters, categories))
    _print_dim(
        console,
        f"Exploratory; p adj.: Benjamini-Hochberg over {_count(tests, 'test')}. What stands out is a question for the "
        "next run.",
    )


def _print_samples(console: Console, pair: Pair, letters: Mapping[str, str], count: int) -> None:
    if not pair.largest:
        return
    a, b = letters[pair.a], letters[pair.b]
    console.print()
    console.print(Text(f"{a} - {b}: the samples that differ most", style="bold"))
    for sample in pair.largest[:count]:
        head = Text(f"{signed(sample.difference):>6}  ", style="bold")
        head.append(f"{a} {formats.score(sample.a):>5}  {b} {formats.score(sample.b):>5}  ", style="not bold")
        title = Text(one_line(sample.sample_id)).append(f"  {one_line(short_category(sample.category, 'en'))}", "dim")
        print_beside(console, head, title)
        for name, words in ((a, sample.words_a), (b, sample.words_b)):
            if words:
                start = Text(f"{'':8}{name}: ", style="dim")
                console.print(start.append(one_line(words, max(1, console.width - start.cell_len))), soft_wrap=True)


def _print_dim(console: Console, words: str) -> None:
    print_beside(console, "", Text(words, style="dim"))


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
