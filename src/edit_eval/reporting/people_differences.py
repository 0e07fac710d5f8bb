"""What people would say of two edit models: the sentences, the table, and what they do not mean; for every display."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import TypeAdapter
from rich.console import Console

from edit_eval.records import Scale
from edit_eval.reporting import formats
from edit_eval.reporting.formats import signed, signed_span
from edit_eval.reporting.language import said
from edit_eval.reporting.names import name_of
from edit_eval.reporting.terminal_text import Styled, numbers, one_line, plain_table, print_beside, print_dim, whole
from edit_eval.statistics.people_differences import FEWEST_ANSWERED, Estimated, People, PeoplesDifference
from edit_eval.text import Text, joined

ESTIMATES = ("judge_alone", "people_alone", "corrected")
_PEOPLE = TypeAdapter(People)
_NO_INTERVAL: Mapping[str, Callable[..., Text]] = {
    "few_images": lambda fewest: Text("No interval: people have seen fewer than {} source images.", fewest),
    "too_uneven": lambda fewest: Text("No interval: two or three source images have nearly all of the answers."),
    "no_spread": lambda fewest: Text(
        "No interval: nothing varies from image to image, so nothing shows how far off this may be."
    ),
}
_TO_HALVE: Mapping[str, Callable[..., Text]] = {
    "votes": lambda *, images, answers: Text(
        "Votes on {} more images ({} votes) would halve the interval.", images, answers
    ),
    "ratings": lambda *, images, answers: Text(
        "Ratings of {} more images ({} ratings of both edits) would halve the interval.", images, answers
    ),
}
_SCALES: Mapping[str, Callable[..., Text]] = {
    "votes": lambda *, lowest, highest: Text(
        "On people's scale: the share of votes won less the share lost, from {} to {}; above 0 "
        "the first of the pair is ahead. Judge alone: its preferences, counted as votes.",
        lowest,
        highest,
    ),
    "ratings": lambda *, lowest, highest: Text(
        "On people's scale: differences of their ratings, which run from {} to {} here; above 0 "
        "the first of the pair is ahead. Judge alone: its scale stretched to theirs.",
        lowest,
        highest,
    ),
}


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
        line = pair_lines(people, pair, {pair.a: pair.a, pair.b: pair.b}, language)[0]
        found.append(said(Text("{}: {}", pair.judge, line), language) if several else line)
    return found


def pair_lines(people: People, pair: PeoplesDifference, names: Mapping[str, str], language: str) -> list[str]:
    """What people would say of a pair, how many more answers would settle it, and of which samples."""
    a, b, digits = names[pair.a], names[pair.b], digits_of(people)
    found = pair.corrected
    value, ends = found.difference, found.ci95
    if value is not None and ends is not None and (ends[0] > 0 or ends[1] < 0):
        ahead, behind, turn = (a, b, 1) if value > 0 else (b, a, -1)
        by = f"{signed(turn * value, digits)} {signed_span(sorted(turn * end for end in ends), digits)}"
        lines = [said(Text("People would prefer {} to {}, by {}.", ahead, behind, by), language)]
    else:
        lines = [said(Text("Which of {} and {} people would prefer cannot be told.", a, b), language)]
    if found.no_ci95:
        lines.append(said(_NO_INTERVAL[found.no_ci95](FEWEST_ANSWERED), language))
    elif pair.more_images is not None:
        halve = _TO_HALVE[people.kind](images=pair.more_images, answers=pair.more_answers)
        lines.append(said(halve, language))
    elif pair.narrowest is not None and pair.images < pair.total_images:
        never = Text(
            "Answers on all {} images would leave {} of the interval's width; to halve it takes more images.",
            pair.total_images,
            formats.share(pair.narrowest, 1),
        )
        lines.append(said(never, language))
    if pair.next_samples:
        lines.append(said(Text("Ask next about: {}", joined(pair.next_samples, "")), language))
    return lines


def explanation(people: People, language: str) -> list[str]:
    """On whose scale it is, what it rests on, and what it does not say."""
    ends = {"lowest": f"{people.lowest:g}", "highest": f"{people.highest:g}"}
    picked = (
        Text("Answers count with their weights.")
        if people.weighted
        else Text("It assumes that the images people saw were picked at random, not by what the judge says of them.")
    )
    lines = [
        said(_SCALES[people.kind](**ends), language),
        said(
            Text(
                "Corrected: the judge on all images, set right by people on the images that they saw "
                "(prediction-powered inference), with its 95% interval. It is about edits that both "
                "models made, and not corrected for the number of pairs. To halve: how many more images "
                "would halve the interval."
            ),
            language,
        ),
    ]
    lines.append(said(picked, language))
    if people.raters == 1:
        lines.append(said(Text("One person has answered: this is what that person would say."), language))
    if people.set_apart:
        lines.append(
            said(
                Text(
                    "Not counted, for taking one side whatever it is: {}. To count their votes: vote export "
                    "--votes, then compare --people.",
                    joined(people.set_apart, ""),
                ),
                language,
            )
        )
    if people.unmatched:
        lines.append(
            said(
                Text("{} answers left out: they are about other edits, or about edits that failed.", people.unmatched),
                language,
            )
        )
    return lines


def print_people_differences(
    people: People, judge: str, names: Mapping[str, str], console: Console, language: str, *, detailed: Sequence[str]
) -> None:
    """Prints the table of one judge; sentences of the pairs with a column that is among the `detailed`."""
    pairs = [pair for pair in people.pairs if pair.judge == judge]
    if not pairs:
        return
    console.print()
    console.print(Styled(said(Text("What people would say"), language), style="bold"))
    headings = (Text("Diff."), Text("95% interval"), Text("Images"), Text("To halve"))
    table = plain_table(*whole(said(Text("Pair"), language), ""), *numbers(*(said(key, language) for key in headings)))
    digits = digits_of(people)
    for pair in pairs:
        name = f"{names[pair.a]} - {names[pair.b]}"
        for row in rows_of(pair):
            leads = row.kind == "corrected"
            table.add_row(
                name,
                Styled(name_of("whose", row.kind, language), style="bold" if leads else ""),
                Styled(signed(row.found.difference, digits), style="bold" if leads else ""),
                signed_span(row.found.ci95, digits),
                row.images,
                ("" if pair.more_images is None else f"+{pair.more_images}") if leads else "",
            )
            name = ""
    console.print(table)
    for pair in pairs:
        if pair.a in detailed:
            first, *more = pair_lines(people, pair, names, language)
            print_beside(console, "", Styled(one_line(first), style="bold"))
            for line in more:
                print_beside(console, "  ", Styled(one_line(line)))
    for line in explanation(people, language):
        print_dim(console, line)
