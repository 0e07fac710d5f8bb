"""The difference of two edit models on people's scale, for every display: sentences, a table and their limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from edit_eval.plugins.people.differences import FEWEST_ANSWERED, Estimated, People, PeoplesDifference
from edit_eval.records import Scale
from edit_eval.reporting import formats
from edit_eval.reporting.entries import link
from edit_eval.reporting.formats import flip_interval, format_signed, format_signed_span
from edit_eval.reporting.table import Column, Line, Look, Sheet, Table
from edit_eval.text import Text, join_texts

ESTIMATES: Mapping[str, Text] = {
    "judge_alone": Text("judge alone"),
    "people_alone": Text("people alone"),
    "corrected": Text("corrected"),
}
IN_FULL = 3
"""With more pairs of a judge, how many more answers would settle each, and whom to ask next, is in `--json` alone."""
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


@dataclass(frozen=True)
class EstimateRow:
    """One of the three estimates of a pair."""

    pair: PeoplesDifference
    name: str
    """`A - B`"""
    kind: str
    digits: int

    @property
    def estimate(self) -> Estimated:
        """The number with its interval."""
        estimate: Estimated = getattr(self.pair, self.kind)
        return estimate

    @property
    def images(self) -> str:
        """`30/90`: the number of source images behind it."""
        total, seen = self.pair.total_images, self.pair.images
        return {"judge_alone": str(total), "people_alone": str(seen)}.get(self.kind, f"{seen}/{total}")

    @property
    def more(self) -> str:
        """`+30`: the number of further images with answers that would halve the interval."""
        more = self.pair.more_images if self.kind == "corrected" else None
        return "" if more is None else f"+{more}"


def _leads(row: EstimateRow) -> Look:
    return "strong" if row.kind == "corrected" else ""


ESTIMATED: Sequence[Column[EstimateRow]] = (
    Column(Text("Whose answer"), lambda row: ESTIMATES[row.kind], "name", look=_leads),
    Column(Text("Diff."), lambda row: format_signed(row.estimate.difference, row.digits), look=_leads),
    Column(Text("95% interval"), lambda row: format_signed_span(row.estimate.ci95, row.digits)),
    Column(Text("Images"), lambda row: row.images),
    Column(Text("To halve"), lambda row: row.more),
)


def people_table(people: People) -> Table[EstimateRow]:
    """Returns judge alone, people alone and corrected for each pair, headed by its judge if there are several."""
    several = len({pair.judge for pair in people.pairs}) > 1
    judge: Column[EstimateRow] = Column(Text("Judge"), lambda row: row.pair.judge, "name", when=lambda row: several)
    return Table(
        every=(judge, *ESTIMATED),
        rows=[row for pair in people.pairs for row in rows_of(people, pair)],
        group=Column(
            Text("Pair"), lambda row: row.name, "name", to=lambda row: link(judge=row.pair.judge, show="models")
        ),
        label=Text("What people would say"),
    )


def rows_of(people: People, pair: PeoplesDifference) -> Iterator[EstimateRow]:
    """Yields judge alone, people alone, corrected."""
    for kind in ESTIMATES:
        yield EstimateRow(pair, f"{pair.a} - {pair.b}", kind, digits_of(people))


def digits_of(people: People) -> int:
    """Returns the digits after the point for all numbers on people's scale."""
    reach = people.highest - people.lowest
    return 2 if people.kind == "votes" else formats.decimals(Scale(lowest=-reach, highest=reach))


def pair_lines(people: People, pair: PeoplesDifference) -> list[Text]:
    """Returns what people would say of a pair, how many more answers would settle it, and about which samples."""
    a, b = pair.a, pair.b
    estimate, digits = pair.corrected, digits_of(people)
    lines = [Text("It cannot be told which of {} and {} people would prefer.", a, b)]
    if pair.preferred is not None and estimate.difference is not None:
        ahead, behind, turn = (a, b, 1) if pair.preferred == pair.a else (b, a, -1)
        span = format_signed_span(flip_interval(estimate.ci95, turn), digits)
        by = f"{format_signed(turn * estimate.difference, digits)} {span}"
        lines = [Text("People would prefer {} to {}, by {}.", ahead, behind, by)]
    if estimate.no_ci95:
        lines.append(_NO_INTERVAL[estimate.no_ci95](FEWEST_ANSWERED))
    elif pair.more_images is not None:
        lines.append(_TO_HALVE[people.kind](images=pair.more_images, answers=pair.more_answers))
    elif pair.narrowest is not None and pair.images < pair.total_images:
        never = Text(
            "Answers on all {} images would leave {} of the interval's width; to halve it takes more images.",
            pair.total_images,
            formats.share(pair.narrowest, 1),
        )
        lines.append(never)
    if pair.next_samples:
        lines.append(Text("Ask next about: {}", join_texts(pair.next_samples, "")))
    return lines


def explanation(people: People) -> list[Text]:
    """Explains whose scale it is, what the estimate rests on, and what it does not say."""
    several = len(people.pairs) > 1
    lines = [
        _SCALES[people.kind](lowest=f"{people.lowest:g}", highest=f"{people.highest:g}"),
        Text(
            "Corrected: the judge on all images, set right by people on the images that they saw "
            "(prediction-powered inference), with the 95% interval of each pair. It is about edits that both "
            "models made. To halve: how many more images would halve the interval."
        ),
        *(
            [
                Text(
                    "Which of two people would prefer is said only where a corrected test shows it: {}.",
                    people.family.describe_tests(),
                )
            ]
            if several
            else []
        ),
        Text("Answers count with their weights.")
        if people.weighted
        else Text("It assumes that the images people saw were picked at random, not by what the judge says of them."),
    ]
    if people.raters == 1:
        lines.append(Text("One person has answered: this is what that person would say."))
    if people.set_apart:
        apart = Text(
            "Not counted, since they always take one side: {}. To count their votes: vote export "
            "--votes, then people --people.",
            join_texts(people.set_apart, ""),
        )
        lines.append(apart)
    if left := people.unmatched:
        lines.append(Text("{} answers left out: they are about other edits, or about edits that failed.", left))
    if people.unknown:
        lines.append(Text("They name, and this run does not have: {}.", people.unknown))
    return lines


def people_sheet(people: People) -> Sheet:
    """Returns a sentence to quote for each pair, the table, and what it all rests on."""
    judges = list(dict.fromkeys(pair.judge for pair in people.pairs))
    sheet: list[Line | Table[EstimateRow]] = []
    for judge in judges:
        pairs = [pair for pair in people.pairs if pair.judge == judge]
        for pair in pairs:
            first, *more = pair_lines(people, pair)
            sheet.append(Line(Text("{}: {}", judge, first) if len(judges) > 1 else first, "strong"))
            sheet += [Line(line) for line in more if len(pairs) <= IN_FULL]
    return [*sheet, Line(), people_table(people), *(Line(line, "quiet") for line in explanation(people))]
