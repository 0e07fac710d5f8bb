"""The verdict on the page: who wins by each judge, and the pictures to look at first.

All numbers come from the summary (`comparison`, `extremes`, `failures`), and each links to its samples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, zip_longest
from typing import Any

from markupsafe import Markup

from edit_eval.plugins.page.gallery import link_to_failures
from edit_eval.plugins.page.html import language_markup
from edit_eval.records import JUDGE_FAILED, NO_EDIT, Results, Sample, Status
from edit_eval.reporting import formats
from edit_eval.reporting.comparison import failure_remarks, note_words
from edit_eval.reporting.comparison_tables import columns_table, comparison_by_judge, digits_of, pairs_table
from edit_eval.reporting.entries import Entry, category_names, edit_side, entries, headlines, link
from edit_eval.reporting.formats import format_signed
from edit_eval.reporting.marks import MARKS, mark_of
from edit_eval.reporting.names import judge_words, name_of
from edit_eval.reporting.remarks import examination_lines, unshown_lines, wrong_lines
from edit_eval.reporting.result_tables import INTERVAL, MEAN, SCORED, Figures
from edit_eval.reporting.results_sheet import lost_edits
from edit_eval.reporting.strengths import ends as bounds
from edit_eval.reporting.strengths import sort_by_strength
from edit_eval.reporting.table import Column, Table, map_languages
from edit_eval.reporting.verdict import ADVICE_SHOWN, answer_lines, digits, doubt_lines, next_lines, paragraph
from edit_eval.reporting.verdict_drawing import Ruler, draw_verdict
from edit_eval.statistics.battles import BattleOutcome, JudgeBattles, battle_outcome
from edit_eval.statistics.compared import ColumnSummary, Pair
from edit_eval.statistics.comparison import ComparisonDocument
from edit_eval.statistics.failure_rates import ModelEdits
from edit_eval.statistics.families import Correction
from edit_eval.statistics.strengths import RankedStrength
from edit_eval.statistics.summary import Summary
from edit_eval.statistics.verdict import Opinion, Verdict
from edit_eval.text import Text


@dataclass(frozen=True)
class _JudgeStatement:
    """What one judge says of all edit models."""

    judge: str
    parts: Sequence[Entry]
    """Its headline, an entry for each edit model."""
    columns: Sequence[ColumnSummary]
    """By rank; empty with one edit model, or if nothing can be tested."""
    pairs: Sequence[Pair]
    sees: str | None
    """See `statistics.verdict.Opinion`."""
    controls: Text | None
    """The same in words."""
    passport: Sequence[Text]


_CONTROLS = {
    "last": Text("the judge scores edits above pictures that are no edits, as it should"),
    "not_last": Text("the judge scores edits no higher than pictures that are no edits"),
    "off": Text("no controls were judged"),
    "unknown": Text("not shown to tell edits from pictures that are no edits"),
}


def _judge_statements(summary: Summary) -> list[_JudgeStatement]:
    parts = headlines(entries(summary.results))
    tested = {judge: (columns, pairs) for judge, columns, pairs in comparison_by_judge(summary)}
    opinions = {opinion.judge: opinion for opinion in summary.verdict.opinions}
    examined = summary.judges
    nothing: tuple[list[ColumnSummary], list[Pair]] = [], []
    return [
        _JudgeStatement(
            judge,
            [part for part in parts if part.judge == judge],
            *tested.get(judge, nothing),
            sees := opinions[judge].sees if judge in opinions else None,
            _CONTROLS.get(sees or ""),
            examination_lines({name: of for name, of in examined.items() if name == judge}),
        )
        for judge in dict.fromkeys(part.judge for part in parts)
    ]


# -- every edit model in one list, by rank, with the results of each judge side by side; and who is ahead of whom --


@dataclass(frozen=True)
class _ModelRow:
    """An edit model as a row."""

    edit_model: str
    place: int
    """Position among the run's edit models: its colour and mark."""
    parts: Mapping[str, Entry]
    """By judge."""
    strengths: Mapping[str, RankedStrength]
    """By judge that compares."""
    ranks: Mapping[str, int | None]
    edits: ModelEdits | None
    """Its entry in the summary's `edits`."""

    @property
    def not_made(self) -> int:
        """Number of edits that were not made."""
        return self.edits.not_made if self.edits else 0

    def not_scored(self, judge: str) -> int:
        """Counts the edits to which the judge gave no score."""
        counts = self.parts[judge].coverage.by_status if judge in self.parts else {}
        return sum(counts.get(status.value, 0) for status in JUDGE_FAILED)


def standings_table(
    statements: Sequence[_JudgeStatement], summary: Summary, edit_models: Sequence[str]
) -> Table[_ModelRow]:
    """Returns a table with a row for each edit model, in the order of the first judge that has a say: for each judge
    rank, mean, interval and coverage; for one that compares, rank, strength and interval."""
    edits = {edit.edit_model: edit for edit in summary.edits}
    battles = {judge: _strength_by_model(of) for judge, of in summary.battles.items()}
    ranked = {statement.judge: [column.name for column in statement.columns] for statement in statements}
    ranked |= {judge: list(of) for judge, of in battles.items()}
    heard = [opinion.judge for opinion in summary.verdict.eligible_opinions]
    order = next((ranked[judge] for judge in [*heard, *ranked] if judge in ranked), [])
    rows = [
        _ModelRow(
            name,
            edit_models.index(name),
            {part.judge: part for statement in statements for part in statement.parts if part.edit_model == name},
            {judge: of[name] for judge, of in battles.items() if name in of},
            {
                statement.judge: column.rank
                for statement in statements
                for column in statement.columns
                if column.name == name
            },
            edits.get(name),
        )
        for name in (*order, *(name for name in edit_models if name not in order))
    ]
    several = len(statements) + len(battles) > 1
    shown = [_score_columns(statement, rows, over=several) for statement in statements]
    shown += [_battle_columns(judge, rows, over=several) for judge in battles]
    name: Column[_ModelRow] = Column(
        Text("Edit model"),
        lambda row: row.edit_model,
        "name",
        to=lambda row: link(model=row.edit_model),
        mark=lambda row: row.place,
    )
    edits_failed = _failure_column(Text("Failed edits"), lambda row: row.not_made, NO_EDIT)
    if several:
        every = [name, edits_failed, *(column for some in shown for column in some)]
    else:
        [[rank, *rest]] = shown
        judges = [statement.judge for statement in statements]
        judge_failed = _failure_column(Text("No score"), lambda row: sum(map(row.not_scored, judges)), JUDGE_FAILED)
        every = [rank, name, *rest, edits_failed, judge_failed]
    return Table(every=every, rows=rows, label=Text("Rank"), style=f"standings{' of-judges' if several else ''}")


def _strength_by_model(of: JudgeBattles) -> dict[str, RankedStrength]:
    """Returns a judge's strengths by its headline, the strongest first."""
    return {strength.edit_model: strength for strength in sort_by_strength(of.headline.strengths)}


def _failure_column(title: Text, count: Callable[[_ModelRow], int], statuses: Sequence[Status]) -> Column[_ModelRow]:
    """Returns a column that counts these statuses and links to their samples; if mixed, to all unscored ones."""

    def link_of(row: _ModelRow) -> str:
        counts = [part.coverage.by_status for part in row.parts.values()]
        ended = {status.value for status in statuses for count in counts if count.get(status.value)}
        narrowed = {"status": ended.pop()} if len(ended) == 1 else {"show": "failed"}
        return link(model=row.edit_model, **narrowed) if count(row) else ""

    return Column(
        title,
        lambda row: str(count(row)),
        look=lambda row: "problem" if count(row) else "quiet",
        to=link_of,
        when=count,
    )


def _score_columns(statement: _JudgeStatement, rows: Sequence[_ModelRow], *, over: bool) -> list[Column[_ModelRow]]:
    judge, head = statement.judge, judge_words(statement.judge) if over else ""

    def figures_of(row: _ModelRow) -> Figures | None:
        return Figures(row.parts[judge], row.parts[judge].overall) if judge in row.parts else None

    def incomplete(row: _ModelRow) -> bool:
        return (figures := figures_of(row)) is not None and not figures.complete

    rank: Column[_ModelRow] = Column(
        Text("Rank"), lambda row: formats.rank(row.ranks[judge]) if judge in row.ranks else "", "word", look="quiet"
    )
    return [
        replace(rank, when=lambda row: row.ranks, over=head),
        MEAN.map_rows(figures_of, over=head),
        INTERVAL.map_rows(figures_of, look="quiet", over=head),
        SCORED.map_rows(figures_of, when=lambda row: not over or incomplete(row), over=head),
    ]


def _battle_columns(judge: str, rows: Sequence[_ModelRow], *, over: bool) -> list[Column[_ModelRow]]:
    head = judge_words(judge) if over else ""

    def estimate_of(row: _ModelRow) -> RankedStrength | None:
        return row.strengths.get(judge)

    def rank(row: _ModelRow) -> str:
        estimate = estimate_of(row)
        return "" if estimate is None else formats.rank(estimate.rank)

    def strength(row: _ModelRow) -> str | None:
        return format_signed(estimate.strength) if (estimate := estimate_of(row)) else None

    def share(row: _ModelRow) -> str | None:
        estimate = estimate_of(row)
        return None if estimate is None or estimate.share is None else formats.share(estimate.share, 1)

    def interval(row: _ModelRow) -> str:
        return bounds(estimate.ci95) if (estimate := estimate_of(row)) else ""

    return [
        Column(Text("Rank"), rank, "word", look="quiet", over=head),
        Column(Text("Strength"), strength, look="strong", over=head),
        Column(Text("95% interval"), interval, look="quiet", over=head),
        Column(Text("Share of votes"), share, when=lambda _: not over),
    ]


def matrix_table(statement: _JudgeStatement, places: Mapping[str, int], *, several: bool) -> Table[str]:
    """Returns how far each edit model is ahead of each other one by one judge: the row minus the column."""
    by_names = {names: pair for pair in statement.pairs for names in ((pair.a, pair.b), (pair.b, pair.a))}
    intervals = [pair.ci95 for pair in statement.pairs]
    digits = digits_of(statement.columns[0].scale, [column.mean for column in statement.columns], intervals)
    names = [column.name for column in statement.columns]

    def column_of(other: str) -> Column[str]:
        def pair(name: str) -> Pair | None:
            return by_names.get((name, other))

        def shows(name: str) -> str:
            comparison = pair(name)
            if comparison is None:
                return ""
            by = comparison.difference
            return format_signed(by if by is None or comparison.a == name else -by, digits)

        def link_of(name: str) -> str:
            sides = {side: edit_side(of, 0, several=several) for side, of in (("left", name), ("right", other))}
            comparison = pair(name)
            if comparison is None or not comparison.largest:
                return ""
            return link(judge=statement.judge, show="models", sample=comparison.largest[0].sample_id, **sides)

        def look(name: str) -> Any:
            comparison = pair(name)
            return "strong" if comparison and comparison.better else "quiet"

        return Column(other, shows, look=look, to=link_of, head_mark=places[other])

    head: Column[str] = Column(Text("Edit model"), lambda name: name, "name", mark=lambda name: places[name])
    return Table(
        every=[head, *map(column_of, names)],
        rows=names,
        label=Text("Differences by {}", statement.judge),
        style="matrix-of-pairs",
    )


_DRAWN = 2
"""Judges whose drawing is shown."""
_DOTS = Text(
    "Each dot is a picture, ordered by difference; below is the mean difference with its 95% interval. Click a dot to "
    "see the two edits."
)
_STRIPS = Text(
    "Each dot is a mean, with its 95% interval. The verdict above is from a test picture by picture, not from these."
)


def _draw_opinion(
    opinion: Opinion, beside: Sequence[Opinion], places: Mapping[str, int], pictures: _Pictures, language: str
) -> tuple[str, Text, Markup]:
    """Returns the judge's name if there are several, and its drawing; a dot leads to its pair."""
    first, other = opinion.standings[0].name, opinion.standings[1].name

    def link_of(sample: str) -> str:
        left, right = (edit_side(name, 0, several=pictures.several) for name in (first, other))
        return link(judge=opinion.judge, show="models", sample=sample, left=left, right=right)

    drawn = draw_verdict(
        opinion, digits(opinion), language, link=link_of, places=lambda name: places.get(name, 0), beside=beside
    )
    explained = _DOTS if opinion.has_two_columns else _STRIPS
    return judge_words(opinion.judge) if pictures.judges > 1 else "", explained, drawn


_MOST_CATEGORIES = 8
_ROW, _NAMES = 18, 34.0
"""Pixels of a category, and percent of the width for its name."""


def _draw_categories(parts: Sequence[Entry], places: Mapping[str, int], language: str) -> Markup:
    """Draws each edit model's mean in each category, of many the worst; empty without categories."""
    names = category_names(parts)
    means = {
        name: [(part, mean) for part in parts if (of := part.categories.get(name)) and (mean := of.mean) is not None]
        for name in names
    }
    sign = 1 if parts[0].scale.higher_is_better else -1
    worst = {name: min(sign * mean for _, mean in means[name]) for name in names if means[name]}
    shown = [name for name in names if name in sorted(worst, key=worst.__getitem__)[:_MOST_CATEGORIES]]
    if len(names) < 2 or not shown:
        return Markup("")
    axis = Ruler.from_values([mean for name in shown for _, mean in means[name]])

    def x(value: float) -> str:
        return f"{_NAMES + (100 - _NAMES) * axis.share(value):.2f}%"

    bottom = _ROW * len(shown)
    drawn = [
        _TICK.format(x(tick), bottom, bottom + 13, "end" if axis.share(tick) > 0.9 else "middle", f"{tick:g}")
        for tick in axis.ticks()
    ]
    for number, name in enumerate(shown):
        y, title = _ROW * number + _ROW // 2, language_markup(name_of("short_category", name), language)
        drawn.append(_CATEGORY.format(link(category=name), y - 11, _NAMES - 2, title, y))
        for part, mean in means[name]:
            place = places.get(part.edit_model, 0)
            words = f"{part.edit_model}: {part.number(mean)}"
            drawn.append(_MEAN_MARK.format(place % len(MARKS) + 1, x(mean), y, words, mark_of(place)))
    return _CATEGORIES.format(bottom + 16, Markup("").join(drawn))


_TICK = Markup(
    '<line x1="{0}" x2="{0}" y2="{1}" stroke="currentColor" stroke-dasharray="2 3" opacity=".35"/>'
    '<text class="tick" x="{0}" y="{2}" text-anchor="{3}" fill="currentColor" opacity=".75">{4}</text>'
)
_CATEGORY = Markup(
    '<a href="{0}"><foreignObject y="{1}" width="{2:g}%" height="20"><div class="drawn-name">{3}</div></foreignObject>'
    "</a>"
    '<line x1="34%" x2="100%" y1="{4}" y2="{4}" stroke="currentColor" opacity=".15"/>'
)
_MEAN_MARK = Markup(
    '<svg class="series-{}" x="{}" y="{}" overflow="visible"><title>{}</title>'
    '<path d="{}" transform="scale(5)" fill="currentColor" fill-opacity=".85"/></svg>'
)
_CATEGORIES = Markup('<svg class="verdict-drawing" width="100%" height="{}" font-size="12">{}</svg>')


_LOOKS = 4
"""Number of samples to look at first."""
Both = dict[str, str]
"""Words by language."""


@dataclass(frozen=True)
class Side:
    """One picture of a sample, named as in an address, with its caption."""

    side: str
    edit_model: str = ""
    """Empty for the source."""
    numbers: tuple[tuple[str, str], ...] = ()
    """Pairs (whose number, or empty if that is clear; the number)."""


@dataclass(frozen=True)
class Look:
    """One sample to look at: two pictures of it, and why."""

    title: Text
    every: str
    """Link to all samples of this kind."""
    judge: str
    """Empty unless the run has several judges."""
    sample: str
    instruction: Both
    sides: tuple[Side, ...]
    href: str
    """Link that opens exactly these two."""
    count: int = 0
    """Number of failures of this kind."""
    status: str = ""
    reason: str = ""


@dataclass(frozen=True)
class _Pictures:
    """Names samples and their edits."""

    samples: Mapping[str, Sample]
    several: bool
    """True if a model has more than one edit of a sample."""
    judges: int

    def edit(self, edit_model: str, edit_seed: int = 0, numbers: tuple[tuple[str, str], ...] = ()) -> Side:
        return Side(edit_side(edit_model, edit_seed, several=self.several), edit_model, numbers)

    def look(self, title: Text, every: str, sample: str, sides: tuple[Side, ...], judge: str = "", **more: Any) -> Look:
        record = self.samples[sample]
        words = map_languages(lambda language: record.instructions.get(language) or record.instruction or record.id)
        left, right = sides[0].side, sides[-1].side
        href = link(judge=judge, sample=sample, left=left, right=right)
        return Look(
            title, every, judge_words(judge) if judge and self.judges > 1 else "", sample, words, sides, href, **more
        )


_SOURCE = Side("source")


@dataclass(frozen=True)
class JudgeVerdict:
    """What one judge says, as the template shows it."""

    judge: str
    controls: Text | None
    sees: str | None
    passport: Sequence[Text]
    matrix: Table[str] | None
    pairs: list[Table[Any]]
    """The ranks, and the pairs."""
    remarks: list[Text]


@dataclass(frozen=True)
class VerdictContent:
    """The template's variables: who wins, the list of all models, the pairs, and notes on them."""

    answer: Text
    gate: list[Text]
    doubts: list[Text]
    next: list[Text]
    typed: list[Text]
    """For whoever ran it: the same as commands, what else can be done, and what is not known of judges."""
    rests: list[Text]
    drawings: list[tuple[str, Text, Markup]]
    """Judge, explanation and picture."""
    categories: list[tuple[str, Markup]]
    """Judge and picture."""
    lost: Mapping[str, tuple[int, Text]]
    verdicts: list[JudgeVerdict]
    standings: Table[_ModelRow] | None
    pairs: int
    triage: list[Look]
    """Samples to look at first."""
    wrong: list[Text]
    tests: int
    corrected: Text | None
    """What p-values are corrected for."""
    ranks: list[Text]
    comparison_notes: list[str]


def verdict_content(results: Results, summary: Summary, language: str = "en") -> VerdictContent:
    """Computes them."""
    pictures = _Pictures(
        {sample.id: sample for sample in results.samples},
        any(edit.edit_seed for edit in results.edits),
        len(results.every_judge),
    )
    statements, verdict = _judge_statements(summary), summary.verdict
    comparison = summary.comparison
    several = len(verdict.opinions) > 1
    places = {name: place for place, name in enumerate(results.edit_models)}
    answer, *gate = answer_lines(verdict)
    drawn = verdict.drawable_opinions[:_DRAWN]
    shown = next_lines(verdict, for_readers=True)[:ADVICE_SHOWN]
    return VerdictContent(
        answer=answer,
        gate=[] if verdict.kind == "equal" and verdict.gate and verdict.gate.passed else gate,  # equal says as much
        doubts=doubt_lines(verdict),
        next=shown,
        typed=[
            *(line for line in next_lines(verdict) if line not in shown),
            *([] if summary.controls.off else unshown_lines(summary)),
        ],
        rests=paragraph(verdict),
        drawings=[
            _draw_opinion(opinion, drawn, places, pictures, language) for opinion in drawn if len(opinion.standings) > 1
        ],
        categories=[
            (judge_words(statement.judge) if pictures.judges > 1 else "", by_category)
            for statement in statements[:_DRAWN]
            if (by_category := _draw_categories(statement.parts, places, language))
        ],
        lost=lost_edits(summary),
        verdicts=[_judge_verdict(statement, several, pictures, places) for statement in statements],
        standings=standings_table(statements, summary, results.edit_models)
        if verdict.opinions and len(results.edit_models) > 1
        else None,
        pairs=sum(len(statement.pairs) for statement in statements),
        triage=_triage(statements, results, summary, pictures),
        wrong=wrong_lines(summary),
        tests=comparison.tests if comparison else 0,
        corrected=comparison.family.describe_tests() if comparison else None,
        ranks=_rank_notes(verdict, summary),
        comparison_notes=[note_words(note) for note in comparison.notes]
        if isinstance(comparison, ComparisonDocument)
        else [],
    )


def _rank_notes(verdict: Verdict, summary: Summary) -> list[Text]:
    """Returns what a reader of the ranks has to know: what sharing one means, and that failures count."""
    ranks = [
        [standing.rank for standing in of.standings if standing.rank is not None] for of in verdict.eligible_opinions
    ]
    shared = verdict.kind != "equal" and any(len(set(of)) < len(of) for of in ranks)
    words = [of.words() for of in _families(summary)] if shared else []
    if any(contest.kind == "fails_more" for of in verdict.eligible_opinions for contest in of.contests):
        words.append(Text("Ranks go by failed edits, too: a model that fails more comes later, whatever its mean."))
    return list(dict.fromkeys(words))


def _families(summary: Summary) -> list[Correction]:
    """Returns what the ranks of the standings are corrected for: those of scores, and those of each judge's battles."""
    of_scores = [summary.comparison.family] if summary.comparison else []
    return [of for of in (*of_scores, *(of.headline.family for of in summary.battles.values())) if of.tests]


def _judge_verdict(
    statement: _JudgeStatement, several: bool, pictures: _Pictures, places: Mapping[str, int]
) -> JudgeVerdict:
    names = {column.name: column.name for column in statement.columns}
    return JudgeVerdict(
        judge=statement.judge,
        controls=statement.controls,
        sees=statement.sees,
        passport=statement.passport,
        matrix=matrix_table(statement, places, several=pictures.several) if len(statement.columns) > 2 else None,
        pairs=[
            replace(columns_table(statement.columns), label=Text("Rank by {}", statement.judge)),
            replace(pairs_table(statement.pairs, several=pictures.several), label=Text("Pairs by {}", statement.judge)),
        ]
        if statement.pairs
        else [],
        remarks=failure_remarks(statement.pairs, names),
    )


def _triage(
    statements: Sequence[_JudgeStatement], results: Results, summary: Summary, pictures: _Pictures
) -> list[Look]:
    """Returns samples to look at first: the most telling one of each kind, then the next, each sample once."""
    digits = {statement.judge: statement.parts[0].digits for statement in statements}
    of_judges = (
        [_worst(statement, summary, pictures) for statement in statements],
        [_model_differences(statement, pictures) for statement in statements],
    )
    kinds = [[look for some in zip_longest(*of) for look in some if look] for of in of_judges]
    kinds += [
        list(_judge_differences(summary, pictures, digits)),
        list(_contradictions(results, pictures)),
        list(_failures(summary, pictures)),
    ]
    shown: dict[str, Look] = {}
    left = [list(some) for some in kinds]
    while any(left) and len(shown) < _LOOKS:
        for some in left:
            look = next((candidate for candidate in some if candidate.sample not in shown), None)
            some[:] = [candidate for candidate in some if candidate is not look and candidate.sample not in shown]
            if look:
                shown[look.sample] = look
    order = list(dict.fromkeys(look.title for some in kinds for look in some))
    return sorted(list(shown.values())[:_LOOKS], key=lambda look: order.index(look.title))


def _worst(statement: _JudgeStatement, summary: Summary, pictures: _Pictures) -> Iterator[Look]:
    every = link(judge=statement.judge, show="worst")
    for worst in summary.extremes.worst.get(statement.judge, ()):
        score = "", formats.score(worst.score, statement.parts[0].digits)
        edit = pictures.edit(worst.edit_model, worst.edit_seed, (score,))
        yield pictures.look(Text("Lowest score"), every, worst.sample_id, (_SOURCE, edit), statement.judge)


def _model_differences(statement: _JudgeStatement, pictures: _Pictures) -> Iterator[Look]:
    """Yields the samples on which two models are furthest apart."""
    digits, every = statement.parts[0].digits, link(judge=statement.judge, show="models")
    largest = [(pair, sample) for pair in statement.pairs for sample in pair.largest]
    for pair, sample in sorted(largest, key=lambda both: -abs(both[1].difference))[:_LOOKS]:
        sides = tuple(
            pictures.edit(name, 0, (("", formats.score(score, digits)),))
            for name, score in ((pair.a, sample.a), (pair.b, sample.b))
        )
        yield pictures.look(Text("Models differ most"), every, sample.sample_id, sides, statement.judge)


def _judge_differences(summary: Summary, pictures: _Pictures, digits: Mapping[str, int]) -> Iterator[Look]:
    for disputed in summary.extremes.judges_apart:
        numbers = tuple((judge, formats.score(score, digits[judge])) for judge, score in disputed.scores.items())
        edit = pictures.edit(disputed.edit_model, disputed.edit_seed, numbers)
        yield pictures.look(Text("Judges differ most"), link(show="judges"), disputed.sample_id, (_SOURCE, edit))


def _contradictions(results: Results, pictures: _Pictures) -> Iterator[Look]:
    """Yields, for each judge that compares, the first battles in which its two answers contradict each other."""
    for judge in results.battle_judges:
        headline = results.scoring[judge].headline
        mine = (
            battle
            for battle in results.battles
            if battle.judge == judge and battle_outcome(battle, headline) is BattleOutcome.CONTRADICTION
        )
        for battle in islice(mine, _LOOKS):
            sides = tuple(pictures.edit(name, battle.edit_seed) for name in (battle.edit_model, battle.other))
            every = link(outcome=BattleOutcome.CONTRADICTION.value)
            yield replace(
                pictures.look(Text("Contradictions"), every, battle.sample_id, sides),
                judge=judge_words(judge) if pictures.judges > 1 else "",
            )


def _failures(summary: Summary, pictures: _Pictures) -> Iterator[Look]:
    """Yields one sample for each of the most frequent kinds of failure."""
    kinds = sorted(summary.failures, key=lambda failure: -failure.count)
    for kind in kinds[:_LOOKS]:
        of = summary.battles.get(kind.judge)
        pairs = of.headline.pairs if of else []
        fighters = next(((pair.a, pair.b) for pair in pairs if f"{pair.a} : {pair.b}" == kind.edit_model), None)
        sides = (_SOURCE, pictures.edit(kind.edit_model)) if kind.edit_model else (_SOURCE,)
        if fighters:
            sides = pictures.edit(fighters[0]), pictures.edit(fighters[1])
        status = name_of("status", kind.status.value)
        yield pictures.look(
            Text("Without a score"),
            link_to_failures(kind, summary.battles),
            kind.samples[0],
            sides,
            kind.judge or "",
            count=kind.count,
            status=status,
            reason=kind.reason,
        )
