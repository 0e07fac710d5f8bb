"""What people would say of two edit models: the sentences, the table, and what they do not mean; for every display."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import TypeAdapter
from rich.console import Console

from edit_eval.records import Scale
from edit_eval.reporting import formats
from edit_eval.reporting.formats import signed, signed_span
from edit_eval.reporting.page.texts import text
from edit_eval.reporting.styled import Styled
from edit_eval.reporting.terminal_text import numbers, one_line, plain_table, print_beside, print_dim, whole
from edit_eval.statistics.people_differences import FEWEST_ANSWERED, Estimated, People, PeoplesDifference

ESTIMATES = ("judge_alone", "people_alone", "corrected")
_PEOPLE = TypeAdapter(People)


class EstimateRow(NamedTuple):
    """One of the three numbers of a pair."""

    kind: str
    found: Estimated
    images: str
    """`30/90`: of how many source images."""


def people_in(summary: Mapping[str, Any]) -> People | None:
    """What a summary has of what people would say; None where nobody was asked."""
    found = (summary.get("comparison") or {}).get("people")
    return None if found is None else _PEOPLE.validate_python(found)


def rows_of(pair: PeoplesDifference) -> Iterator[EstimateRow]:
    """Judge alone, people alone, corrected."""
    of_images = {"judge_alone": str(pair.total_images), "people_alone": str(pair.images)}
    for kind in ESTIMATES:
        images = of_images.get(kind, f"{pair.images}/{pair.total_images}")
        yield EstimateRow(kind, getattr(pair, kind), images)


def digits_of(people: People) -> int:
    """After the point, for all numbers on people's scale."""
    reach = people.highest - people.lowest
    return 2 if people.kind == "votes" else formats.decimals(Scale(lowest=-reach, highest=reach))


def sentences(people: People, language: str) -> list[str]:
    """What people would say of each pair, in a sentence that can be quoted; with several judges behind whose it is."""
    several = len({pair.judge for pair in people.pairs}) > 1
    found = []
    for pair in people.pairs:
        said = pair_lines(people, pair, {pair.a: pair.a, pair.b: pair.b}, language)[0]
        found.append(text("verdict.of", language, judge=pair.judge, sentence=said) if several else said)
    return found


def pair_lines(people: People, pair: PeoplesDifference, names: Mapping[str, str], language: str) -> list[str]:
    """What people would say of a pair, how many more answers would settle it, and of which samples."""
    a, b, digits = names[pair.a], names[pair.b], digits_of(people)
    found = pair.corrected
    value, ends = found.difference, found.ci95
    if value is not None and ends is not None and (ends[0] > 0 or ends[1] < 0):
        ahead, behind, turn = (a, b, 1) if value > 0 else (b, a, -1)
        by = f"{signed(turn * value, digits)} {signed_span(sorted(turn * end for end in ends), digits)}"
        lines = [text("would.ahead", language, ahead=ahead, behind=behind, by=by)]
    else:
        lines = [text("would.open", language, a=a, b=b)]
    if found.no_ci95:
        lines.append(text(f"would.none.{found.no_ci95}", language, fewest=FEWEST_ANSWERED))
    elif pair.more_images is not None:
        counts = {"images": pair.more_images, "answers": pair.more_answers}
        lines.append(text(f"would.halve.{people.kind}", language, **counts))
    elif pair.narrowest is not None and pair.images < pair.total_images:
        kept = {"images": pair.total_images, "share": formats.share(pair.narrowest, 1)}
        lines.append(text("would.halve.never", language, **kept))
    if pair.next_samples:
        lines.append(text("would.next", language, samples=", ".join(pair.next_samples)))
    return lines


def explanation(people: People, language: str) -> list[str]:
    """On whose scale it is, what it rests on, and what it does not say."""
    ends = {"lowest": f"{people.lowest:g}", "highest": f"{people.highest:g}"}
    picked = "weighted" if people.weighted else "at_random"
    lines = [text(f"would.scale.{people.kind}", language, **ends), text("would.hint", language)]
    lines.append(text(f"would.{picked}", language))
    if people.raters == 1:
        lines.append(text("would.one_person", language))
    if people.set_apart:
        lines.append(text("would.set_apart", language, raters=", ".join(people.set_apart)))
    if people.unmatched:
        lines.append(text("would.unmatched", language, count=people.unmatched))
    return lines


def print_people_differences(
    people: People, judge: str, names: Mapping[str, str], console: Console, language: str, *, detailed: Sequence[str]
) -> None:
    """Prints the table of one judge; sentences of the pairs with a column that is among the `detailed`."""
    pairs = [pair for pair in people.pairs if pair.judge == judge]
    if not pairs:
        return
    console.print()
    console.print(Styled(text("would.title", language), style="bold"))
    headings = ("compare.difference", "interval", "images", "would.to_halve")
    table = plain_table(
        *whole(text("compare.pair", language), ""), *numbers(*(text(key, language) for key in headings))
    )
    digits = digits_of(people)
    for pair in pairs:
        name = f"{names[pair.a]} - {names[pair.b]}"
        for row in rows_of(pair):
            leads = row.kind == "corrected"
            table.add_row(
                name,
                Styled(text(f"would.{row.kind}", language), style="bold" if leads else ""),
                Styled(signed(row.found.difference, digits), style="bold" if leads else ""),
                signed_span(row.found.ci95, digits),
                row.images,
                ("" if pair.more_images is None else f"+{pair.more_images}") if leads else "",
            )
            name = ""
    console.print(table)
    for pair in pairs:
        if pair.a in detailed:
            said, *more = pair_lines(people, pair, names, language)
            print_beside(console, "", Styled(one_line(said), style="bold"))
            for line in more:
                print_beside(console, "  ", Styled(one_line(line)))
    for line in explanation(people, language):
        print_dim(console, line)
