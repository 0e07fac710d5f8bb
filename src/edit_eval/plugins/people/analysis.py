"""`edit-eval votes` and `edit-eval people`, and their sections of the report of a run that people have voted on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

import msgspec

from edit_eval.config.faults import did_you_mean
from edit_eval.errors import ConfigurationError
from edit_eval.json_values import JsonObject
from edit_eval.plugins.agreement.sheet import preference_table
from edit_eval.plugins.agreement.vote_agreement import BesideVotes, compare_with_votes
from edit_eval.plugins.people.differences import (
    FEWEST_ANSWERED,
    Estimated,
    People,
    PeoplesDifference,
    compare_by_votes,
    peoples_differences,
)
from edit_eval.records import Results, Scale
from edit_eval.reporting import formats
from edit_eval.reporting.analyses import RUNS_AS_ONE, Analysis, ChartStyle, RunRecords
from edit_eval.reporting.entries import link
from edit_eval.reporting.formats import flip_interval, format_signed, format_signed_span
from edit_eval.reporting.language import translate
from edit_eval.reporting.strengths import doubt_lines, ranks_lines, strengths_table
from edit_eval.reporting.table import Column, Line, Look, Sheet, Table
from edit_eval.reporting.terminal_text import one_line
from edit_eval.reporting.verdict import vote_words
from edit_eval.statistics.comparison import columns_to_test
from edit_eval.statistics.fitted_strengths import settle_pairs
from edit_eval.statistics.people import read_answers
from edit_eval.statistics.preferences import preferences
from edit_eval.statistics.strengths import Preferences, Voter
from edit_eval.statistics.votes import SHARES, Vote, VoteCounts, count_votes
from edit_eval.store.votes import Votes
from edit_eval.text import Text, join_texts, pluralize

if TYPE_CHECKING:
    from edit_eval.reporting.chart_parts import AnyChart

# -- what people prefer --


class GivenVote(msgspec.Struct, frozen=True):
    """One vote."""

    sample_id: str
    rater: str
    a: str
    """An edit model, whichever side it was on."""
    b: str
    choice: Literal["a", "b", "tie", "both_bad"]


class PeoplesVotes(Preferences, frozen=True, kw_only=True):
    """Which edit model people prefer, who they are, and the judges beside them."""

    counts: VoteCounts
    """As they were given, of the raters that count."""
    given: list[GivenVote]
    """Each of them, without those that were skipped, and with those of raters who do not count."""
    beside: BesideVotes
    outdated: int
    """Votes on edits that are not there any more: they do not count."""
    damaged: int
    """Lines that could not be read."""


def peoples_votes(
    results: Results, votes: Votes, without: Collection[str] = (), taken_in: Collection[str] = ()
) -> PeoplesVotes:
    """Counts the votes on a run, without those of raters `without`, and with those of raters `taken_in` who always
    take one side. Raises `ConfigurationError` for a name that nobody has who voted."""
    every = votes.to_votes(results.samples)
    known = {vote.rater for vote in every}
    for flag, names in (("--without", without), ("--with", taken_in)):
        if unknown := next((name for name in names if name not in known), ""):
            raise ConfigurationError(
                Text("{} {}: nobody with that name has voted{}", flag, unknown, did_you_mean(unknown, known))
            )
    heard = [vote for vote in every if vote.rater not in without]
    tally = preferences(heard, results.edit_models, taken_in=taken_in)
    apart = {rater.rater for rater in tally.raters if rater.set_apart}
    counted = [vote for vote in heard if vote.rater not in apart]
    return PeoplesVotes(
        **msgspec.structs.asdict(tally),
        counts=count_votes(counted, *settle_pairs(counted, results.edit_models)),
        given=[_as_given(vote) for vote in heard if vote.choice in SHARES],
        beside=compare_with_votes(results, counted),
        outdated=votes.outdated,
        damaged=votes.damage.total,
    )


def _as_given(vote: Vote) -> GivenVote:
    a, b = sorted((vote.left, vote.right))
    sides = {"left": "a" if vote.left == a else "b", "right": "a" if vote.right == a else "b"}
    return GivenVote(vote.sample_id, vote.rater, a, b, cast(Any, sides.get(vote.choice, vote.choice)))


# -- verbs --


class VotesAnalysis(Analysis[PeoplesVotes]):
    """Which edit models people prefer, according to their votes.

    Strengths with intervals, how each rater votes, how far raters agree, and how often each judge prefers what a person
    does. Votes come from `view`.
    """

    about: ClassVar = {"group": "To judge, and to examine judges"}

    @dataclass(frozen=True)
    class Parameters:
        without: str | None = field(default=None, metadata={"metavar": "A,B"})
        """Leave out these raters' votes."""
        with_: str | None = field(default=None, metadata={"metavar": "A,B"})
        """Count these raters, even if they always take one side."""

    title = Text("What people prefer")
    document: ClassVar[type[PeoplesVotes]] = PeoplesVotes

    def compute(self, records: RunRecords, parameters: Parameters) -> PeoplesVotes:
        """Raises `ConfigurationError` for a name that nobody has who voted."""
        without, taken_in = (_names(raters) for raters in (parameters.without, parameters.with_))
        return peoples_votes(records.results, records.votes, without, taken_in)

    def sheet(self, document: PeoplesVotes) -> Sheet:
        return votes_sheet(document)

    def remarks(self, document: PeoplesVotes) -> Mapping[str, Sequence[Text]]:
        said: dict[str, list[Text]] = {}
        for vote in document.given:
            said.setdefault(vote.sample_id, []).append(_GIVEN[vote.choice](vote.rater, vote.a, vote.b))
        return said

    def rows(self, document: PeoplesVotes) -> Sequence[Mapping[str, Any]]:
        return [
            {name: getattr(row, name) for name in ("edit_model", "rank", "strength", "share")}
            | dict(zip(("low", "high"), row.ci95 or (None, None), strict=True))
            for row in document.strengths
        ]


class PeopleAnalysis(Analysis[People]):
    """What people would say of all edits, from those they have seen.

    For every two edit models and each judge: by the judge alone, by people alone, and by the judge set right by people
    (prediction-powered inference), on people's scale.
    """

    about: ClassVar = {"group": "To compare"}

    @dataclass(frozen=True)
    class Parameters:
        people: Path | None = field(default=None, metadata={"metavar": "FILE"})
        """People's scores or votes on some of the edits; default: the votes on this run."""
        score: str | None = field(default=None, metadata={"metavar": "NAME"})
        """Which score of the judges. Default: their headline."""

    title = Text("What people would say")
    chart_title = Text("The difference on people's scale")
    document: ClassVar[type[People]] = People
    sources = RUNS_AS_ONE

    def compute(self, records: RunRecords, parameters: Parameters) -> People:
        """Raises `ConfigurationError` if nobody has answered about two edits of one sample that a judge has scored."""
        columns = columns_to_test(records.results, parameters.score)
        if parameters.people is not None:
            return peoples_differences(columns, read_answers(Path(parameters.people)))
        votes = records.votes.to_votes(records.results.samples)
        if not votes:
            raise ConfigurationError(
                Text("there are no votes on {}; --people FILE names people's scores or votes", records.results.name)
            )
        return compare_by_votes(columns, votes)

    def sheet(self, document: People) -> Sheet:
        return people_sheet(document)

    def charts(self, documents: Sequence[People], style: ChartStyle) -> Sequence[Any]:
        return [chart for document in documents for chart in people_charts(document, style.language)]

    def rows(self, document: People) -> Sequence[Mapping[str, Any]]:
        return [
            {
                "judge": pair.judge,
                "a": pair.a,
                "b": pair.b,
                "whose": whose,
                "difference": estimate.difference,
                "low": estimate.ci95[0] if estimate.ci95 else None,
                "high": estimate.ci95[1] if estimate.ci95 else None,
                "images": pair.images,
                "preferred": pair.preferred or "",
            }
            for pair in document.pairs
            for whose, estimate in (
                ("judge_alone", pair.judge_alone),
                ("people_alone", pair.people_alone),
                ("corrected", pair.corrected),
            )
        ]


def _names(given: str | None) -> list[str]:
    return [name.strip() for name in (given or "").split(",") if name.strip()]


# -- words: what people prefer --


_GIVEN: Mapping[str, Callable[[str, str, str], Text]] = {
    "a": lambda rater, a, b: Text("{} prefers {} to {}.", rater, a, b),
    "b": lambda rater, a, b: Text("{} prefers {} to {}.", rater, b, a),
    "tie": lambda rater, a, b: Text("{} finds {} and {} equally good.", rater, a, b),
    "both_bad": lambda rater, a, b: Text("{} finds both bad: {} and {}.", rater, a, b),
}

_ONE_SIDED: Mapping[str, Callable[..., Text]] = {
    "apart.left": lambda rater: Text(
        "{0} always takes the left one, and is not counted; to count these votes: --with {0}", rater
    ),
    "apart.right": lambda rater: Text(
        "{0} always takes the right one, and is not counted; to count these votes: --with {0}", rater
    ),
    "side.left": lambda rater: Text(
        "{} always takes the left one: these votes say nothing; leave them out with --without", rater
    ),
    "side.right": lambda rater: Text(
        "{} always takes the right one: these votes say nothing; leave them out with --without", rater
    ),
}


def votes_sheet(document: PeoplesVotes) -> Sheet:
    """Returns strengths, raters and their agreement, and judges beside people."""
    return list(_lines(document)) if document.raters else [Line(Text("Nobody has voted yet."))]


def _lines(document: PeoplesVotes) -> Iterator[Line | Table[Any]]:
    raters = len(document.raters)
    yield Line(Text("{}.", vote_words(document.counts)), "strong")
    by = pluralize(document.votes, "vote"), pluralize(document.samples, "sample"), pluralize(raters, "rater")
    yield Line(Text("{} on {} by {}; {} skipped", *by, document.skipped), "quiet")
    yield Line()
    places = {strength.edit_model: place for place, strength in enumerate(document.strengths)}
    yield strengths_table(document.strengths, places=places)
    yield from doubt_lines(document.strengths, "quiet")
    yield from ranks_lines(document.family)
    yield Line()
    yield raters_table(document.raters)
    for rater in document.raters:
        if rater.side:
            kind = f"{'apart' if rater.set_apart else 'side'}.{rater.side}"
            yield Line(_ONE_SIDED[kind](rater.rater), "problem")
    agreement = document.agreement
    if agreement and agreement.pairs:
        yield Line()
        yield Line(
            Text(
                "Raters agree with alpha {} {} on {} pairs that two or more have seen; {} of their votes are the same",
                formats.score(agreement.alpha),
                formats.format_interval(agreement.ci95),
                agreement.pairs,
                formats.share(agreement.identical or 0.0, 1),
            )
        )
    if document.beside.judges and document.beside.tie is not None:
        yield Line()
        yield preference_table(msgspec.to_builtins(document.beside))
        yield Line(
            Text(
                "How often each prefers the edit that a person does; a tie of one of the two counts half. A "
                "rater who always said that both are equal would have {}.",
                formats.share(document.beside.tie, 1),
            )
        )
    if outdated := document.outdated:
        yield Line(Text("{} votes are on edits that are not there any more, and do not count", outdated))
    if damaged := document.damaged:
        yield Line(Text("{} damaged lines among the votes were left out", damaged))
    several = Text(
        "Strengths: Bradley-Terry, in logits, mean 0; a tie counts half. Votes count with the "
        "inverse of the chance of their sample. 95% intervals clustered on source images and "
        "raters."
    )
    alone = Text(
        "Strengths: Bradley-Terry, in logits, mean 0; a tie counts half. 95% intervals clustered "
        "on source images: they hold for this rater alone."
    )
    yield Line(several if raters > 1 else alone, "quiet")


def raters_table(raters: Sequence[Voter]) -> Table[Voter]:
    """Returns a row for each rater: how often each choice was made."""
    counts = {"votes": Text("Votes"), "ties": Text("Ties"), "both_bad": Text("Both bad"), "skipped": Text("Skipped")}
    return Table(
        every=(
            Column(Text("Rater"), lambda voter: voter.rater, "name"),
            *(
                Column(title, partial(lambda key, voter: str(getattr(voter, key)), name))
                for name, title in counts.items()
            ),
            Column(
                Text("Left", context="votes"),
                lambda voter: None if voter.left is None else formats.share(voter.left, 1),
                look=lambda voter: "problem" if voter.side else "",
            ),
        ),
        rows=raters,
        label=Text("Raters"),
        style="ranks",
        gap=0,
    )


# -- words: the difference of two edit models on people's scale --


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


# -- chart --


MOST_PAIRS = 12
"""Pairs drawn for one judge; the table has all."""
_AXES = {"votes": Text("votes won less votes lost"), "ratings": Text("difference of people's ratings")}
_LINE = 16
_GAP = 20
_MARKS_OF_PEOPLE = 8  # about this many on the axis


def people_charts(people: People, language: str) -> list[AnyChart]:
    """Draws a chart for each judge."""
    from edit_eval.reporting.chart_parts import chart_title  # only a page needs it

    judges = list(dict.fromkeys(pair.judge for pair in people.pairs))
    made = []
    for judge in judges:
        pairs = [pair for pair in people.pairs if pair.judge == judge][:MOST_PAIRS]
        chart = _judge_chart(people, pairs, language)
        title = chart_title(translate(Text("judged by {}", judge), language))
        made.append(chart.properties(title=title) if len(judges) > 1 else chart)
    return made


def _judge_chart(people: People, pairs: list[PeoplesDifference], language: str) -> AnyChart:
    import altair as alt  # only a page needs it

    from edit_eval.reporting.chart_parts import LayeredChart, chart_of_rows, series_colour

    digits = digits_of(people)
    estimates = [(pair, row) for pair in pairs for row in rows_of(people, pair) if row.estimate.difference is not None]
    rows: list[JsonObject] = [
        {
            "pair": one_line(f"{pair.a} − {pair.b}"),
            "series": translate(ESTIMATES[row.kind], language),
            "difference": row.estimate.difference,
            "low": row.estimate.ci95[0] if row.estimate.ci95 else None,
            "high": row.estimate.ci95[1] if row.estimate.ci95 else None,
            "span": format_signed_span(row.estimate.ci95, digits),
            "label": format_signed(row.estimate.difference, digits),
            "at": row.estimate.ci95[1] if row.estimate.ci95 else row.estimate.difference,
            "images": row.images,
        }
        for pair, row in estimates
    ]
    series = [translate(words, language) for words in ESTIMATES.values()]
    names = list(dict.fromkeys(one_line(f"{pair.a} − {pair.b}") for pair, _ in estimates))
    known = [
        end for _, row in estimates for end in (*(row.estimate.ci95 or ()), row.estimate.difference) if end is not None
    ]
    low, high = min(0.0, *known), max(0.0, *known)
    room = 0.06 * (high - low or 1.0)
    x = alt.Scale(domain=[low - room, high + 3 * room], nice=False, zero=False)
    base = chart_of_rows(rows, "pair", names, _LINE * len(ESTIMATES) + _GAP).encode(
        yOffset=alt.YOffset("series:N", scale=alt.Scale(domain=series)),
        tooltip=[
            alt.Tooltip("pair:N", title=" "),
            alt.Tooltip("series:N", title=translate(Text("Whose answer"), language)),
            alt.Tooltip("label:N", title=translate(Text("Diff."), language)),
            alt.Tooltip("span:N", title=translate(Text("95% interval"), language)),
            alt.Tooltip("images:N", title=translate(Text("Images"), language)),
        ],
    )
    coloured = base.encode(color=series_colour(series))
    title = translate(_AXES[people.kind], language)
    none = alt.Chart({"values": [{"at": 0}]}).mark_rule(strokeWidth=1, strokeDash=[3, 3])
    chart: AnyChart = LayeredChart(
        none.encode(x=alt.X("at:Q", scale=x)),
        coloured.mark_rule(strokeWidth=2).encode(
            x=alt.X("low:Q", scale=x, title=title).axis(tickCount=_MARKS_OF_PEOPLE), x2=alt.X2("high:Q")
        ),
        coloured.mark_point(size=64, opacity=1, filled=True).encode(x=alt.X("difference:Q", scale=x)),
        base.mark_text(align="left", dx=9, fontSize=11.5, fontWeight=600).encode(
            x=alt.X("at:Q", scale=x), text=alt.Text("label:N")
        ),
    ).properties(padding={"left": 0, "top": 4, "right": 64, "bottom": 4})
    return chart
