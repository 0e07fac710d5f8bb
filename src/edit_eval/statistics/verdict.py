"""The verdict: who is better, by all judges together, what the drawing shows, and what to do next.

One typed document, from the tests of `comparison` and nothing else; `reporting/verdict.py` words and draws it, for
every display. It is the `verdict` of `summary.json` as it is, and is read back as itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

from edit_eval.records import FAILED, NO_FILE, Scale
from edit_eval.statistics.battles import BattleOutcome, JudgeBattles, ScoreBattles
from edit_eval.statistics.compared import More
from edit_eval.statistics.intervals import FEWEST_CLUSTERS, TIE
from edit_eval.statistics.levels import ALPHA
from edit_eval.statistics.same_pictures import SamePictures
from edit_eval.statistics.series import gain
from edit_eval.statistics.verdict_context import Sees, VerdictContext
from edit_eval.statistics.votes import VoteCounts

if TYPE_CHECKING:
    from edit_eval.statistics.columns import ScoreColumn
    from edit_eval.statistics.compared import ColumnSummary, Gate, Pair, PairedTests

Kind = Literal[
    "better",
    "ahead",
    "equal",
    "fails_more",
    "trade",
    "judges_disagree",
    "judge_unfit",
    "alone",
    "not_comparable",
    "no_order",
    "no_answer",
]
"""`better`: than every other, as shown by every judge; `ahead`, and not shown to be better than all; `equal` within a
margin; `fails_more`: the others do, and scores decide nothing; `trade`: scores better, but fails more;
`judges_disagree`: one shows what another shows the opposite of; `judge_unfit`: no judge tells edits from controls;
`alone`: one edit model; `not_comparable`: nothing is scored in both; `no_order`: nobody leads all others, or judges
have different ones ahead, which may be chance; `no_answer`: no score, or not the least difference. docs/glossary.md"""

MOST_DOTS = 500
"""With more pictures that many of them are drawn, evenly spaced in the order of their differences."""
COARSE, COARSE_EDITS = 4, 60
"""On a scale of so few values (yes and no, say) two good judges agree on a few edits anyhow; it takes that many, on
which two that differ on one in ten are alike once in 500 times."""
WON = ("better", "fails_more")
"""Kinds of a contest that the first has won."""


class Dot(msgspec.Struct, frozen=True):
    """One sample in the drawing."""

    sample: str
    difference: float
    """In points, above 0 where the first one is better."""
    better: str
    """Who is better there; empty if neither is."""


class Contest(msgspec.Struct, frozen=True):
    """The first one against another, by one judge. Differences are in points, above 0 where the first is better."""

    other: str
    kind: Literal["better", "fails_more", "trade", "equal", "ahead", "level", "behind", "not_comparable"]
    """`ahead`: leads, and is not shown to be better; `level`: the difference is 0; `behind`: the other one leads."""
    difference: float | None
    ci95: tuple[float, float] | None
    no_ci95: str | None
    p: float | None
    p_adjusted: float | None
    """Corrected (Holm) for the `tests` of the verdict."""
    margin: float | None = None
    """That they are `equal` within."""
    scores_better: bool = False
    """True if the first is shown to score better."""
    scores_worse: bool = False
    holds: bool | None = None
    """False if missing scores could reverse what is said."""
    failed: tuple[int, int, int] = (0, 0, 0)
    """Edits that failed for the first and for the other, and how many both tried."""
    fails_more: str = ""
    """Who is shown to fail more; empty if nobody is."""
    images: int = 0
    wins: int = 0
    losses: int = 0
    """Source images on which the first is better, or worse."""
    sign_p: float | None = None
    """Of these alone; corrected like `p_adjusted`."""
    tipping_share: float | None = None
    ruled_out_share: float | None = None
    more: More = More("unknown", because="no_scores")
    """How many more images would show this lead."""
    exact: bool = False
    """True if the exact test of signs decides."""
    identical: bool = False

    @property
    def is_significant_uncorrected(self) -> bool:
        """True if the first would be shown to score better were nothing else tested beside it."""
        return self.p is not None and self.p <= ALPHA and (self.difference or 0.0) > 0

    def swap_sides(self, first: str) -> Contest:
        """Returns the other one against `first`; `kind` is still said of that one."""
        return msgspec.structs.replace(
            self,
            other=first,
            difference=None if self.difference is None else -self.difference,
            ci95=None if self.ci95 is None else (-self.ci95[1], -self.ci95[0]),
            scores_better=self.scores_worse,
            scores_worse=self.scores_better,
            failed=(self.failed[1], self.failed[0], self.failed[2]),
            wins=self.losses,
            losses=self.wins,
        )


class Placing(msgspec.Struct, frozen=True):
    """One edit model (or column) by one judge; a strength in place of a mean for a judge that compares."""

    name: str
    mean: float | None
    ci95: tuple[float | None, float | None] | None
    rank: int | None
    scored: int
    total: int
    beaten: bool = False
    """True if another one is shown to be better, whatever ranks they share."""


class Fights(msgspec.Struct, frozen=True):
    """What a judge that is shown two edits at a time comes to."""

    doubt: str | None
    """Why nothing is known (`no_ci95` of the strengths); None if something is."""
    battles: int
    """With an outcome."""
    ties: int
    contradictions: int
    """Battles whose two answers, in the two orders, contradict each other."""
    chose_first: int
    """Contradictions in which the edit shown first was taken."""
    won: int = 0
    lost: int = 0
    of: int = 0
    """Battles of the first one."""


class Unplaced(msgspec.Struct, frozen=True):
    """One that is in no order, since too little is known of it beside the others."""

    name: str
    beside: str
    """The one with which it has the fewest source images in common, among those in order."""
    images: int
    """So many."""
    leads: bool
    """True if its own mean is better than that of the first one, which says nothing: they are of other samples."""


class Opinion(msgspec.Struct, frozen=True):
    """What one judge comes to."""

    judge: str
    kind: Kind
    first: str
    """Empty if there is none."""
    scale: Scale
    contests: tuple[Contest, ...]
    """The first one against each other, in the order of their ranks."""
    standings: tuple[Placing, ...]
    """In the order of paired differences; those that are not comparable last."""
    unplaced: tuple[Unplaced, ...] = ()
    dots: tuple[Dot, ...] = ()
    """The difference of each sample between the first and the next, the largest first, at most 500; empty for a judge
    that compares."""
    sees: Sees | None = None
    """Whether it puts [controls](#controls) last; None if it has none."""
    examined: str | None = None
    """How its examination ended: `passed`, `failed`, ..., `not_audited`, `other_language` if it was examined for
    another one only; None for what nobody can examine."""
    repeats: str = ""
    """Another judge with the same score for every edit, or one that differs always by the same; empty if there is none.
    Such a judge is not counted a second time."""
    shift: float = 0.0
    """By how much it scores higher than that one."""
    fights: Fights | None = None

    @property
    def silent(self) -> bool:
        """True if it has given no score."""
        return all(standing.mean is None for standing in self.standings) and not (self.fights and self.fights.battles)

    @property
    def is_eligible(self) -> bool:
        """True if it has a say: it has given a score, is not known to be blind, and no other judge over again."""
        return self.sees != "not_last" and not self.repeats and not self.silent

    @property
    def next(self) -> Contest | None:
        """The first against the next."""
        return self.contests[0] if self.contests else None

    @property
    def has_two_columns(self) -> bool:
        """True if two are compared picture by picture."""
        return len(self.standings) == 2 and len(self.contests) == 1 and len(self.dots) > 1

    def others(self, *kinds: str) -> tuple[str, ...]:
        """Returns those with whom the first one's contest came to one of `kinds`, by rank."""
        return tuple(contest.other for contest in self.contests if contest.kind in kinds)

    @property
    def conclusion(self) -> tuple[object, ...]:
        """The same of two judges only if all that is said of the one holds of the other."""
        first = self.first if self.kind != "equal" else ""  # who of equals leads is no finding
        alike = frozenset({self.standings[0].name, *self.others("equal")}) if self.kind == "equal" else frozenset()
        doubt = self.fights.doubt if self.fights else None
        same = self.kind == "no_answer" and any(contest.identical for contest in self.contests)
        return self.kind, first, alike, frozenset(self.others(*WON)), doubt, same

    def swap_sides(self) -> Opinion:
        """Returns the same of two, to be drawn with the other one first; `kind` is still said of `first`."""
        first, other = self.standings
        turned = self.contests[0].swap_sides(first.name)
        dots = tuple(msgspec.structs.replace(dot, difference=-dot.difference) for dot in reversed(self.dots))
        return msgspec.structs.replace(self, contests=(turned,), standings=(other, first), dots=dots)


class Advice(msgspec.Struct, frozen=True):
    """Something to do next."""

    kind: Literal[
        "finish",
        "other_judge",
        "failed_audit",
        "retry",
        "files",
        "more",
        "enough",
        "outliers",
        "uneven",
        "alike",
        "add",
        "look",
        "weigh",
        "choose",
        "compare",
        "vote",
        "votes",
        "same_samples",
        "audit",
        "audit_language",
        "controls",
        "kinds",
        "nothing",
    ]
    count: int = 0
    names: tuple[str, ...] = ()
    """Judges, statuses or samples that it is about."""


class Replacement(msgspec.Struct, frozen=True):
    """The answer of a gate: whether every other column may replace the first."""

    passed: bool
    margin: float | None
    first: str
    others: tuple[str, ...]
    failing: tuple[str, ...] = ()
    """Those that may not."""


class Verdict(msgspec.Struct, frozen=True):
    """The verdict of a run, a comparison or a gate, with all its judges."""

    kind: Kind
    """The result by all judges together."""
    first: str
    """The one that is better, ahead, or alone; empty if there is none."""
    names: tuple[str, ...]
    """All that are compared."""
    opinions: tuple[Opinion, ...]
    """By judge, those without a say among them: judges that do not see edits, repeat another, or gave no score."""
    next: tuple[Advice, ...]
    """What to do, the most useful first; never empty."""
    tests: int
    """What p-values are corrected for (Holm)."""
    same_pictures: tuple[SamePictures, ...] = ()
    """Pairs of edit models that made the same pixels for more than half of their edits."""
    gate: Replacement | None = None
    votes: VoteCounts | None = None
    """What people have said; they enter no score. None if nobody has voted."""

    @property
    def eligible_opinions(self) -> tuple[Opinion, ...]:
        """The opinions that have a say; all of them if none does."""
        return tuple(opinion for opinion in self.opinions if opinion.is_eligible) or self.opinions

    @property
    def drawable_opinions(self) -> tuple[Opinion, ...]:
        """Those that are worth a drawing, none if no judge has a say; of two the same one is on the right in all."""
        shown = () if self.kind == "judge_unfit" else self.eligible_opinions
        right = next((opinion.standings[0].name for opinion in shown if opinion.has_two_columns), "")
        return tuple(
            opinion.swap_sides() if opinion.has_two_columns and opinion.standings[0].name != right else opinion
            for opinion in shown
        )

    @property
    def is_unanimous(self) -> bool:
        """True if all that have a say come to the same."""
        return len({opinion.conclusion for opinion in self.eligible_opinions}) <= 1


def verdict(
    columns: Sequence[ScoreColumn], comparison: PairedTests, known: VerdictContext | None = None, *, held: bool = False
) -> Verdict:
    """Returns the verdict on columns of scores, at least one, and what tests found of them; `held` for a gate."""
    known = known or VerdictContext()
    copies = _copies(columns)
    opinions = [_opinion(judge, columns, comparison, known, copies.get(judge)) for judge in _judges(columns)]
    opinions += [_battle_opinion(judge, of, known) for judge, of in known.battles.items()]
    every = [column.name for column in columns] + [s.name for opinion in opinions for s in opinion.standings]
    names = tuple(dict.fromkeys(every))
    kind, first = _joint(opinions, _wins_by_judge(comparison, known))
    gate = comparison.gate
    return Verdict(
        kind=kind,
        first=first,
        names=names,
        opinions=tuple(opinions),
        next=tuple(_steps(kind, opinions, known, names)),
        tests=comparison.correction.tests,
        same_pictures=tuple(known.same_pictures),
        gate=_replacement(gate, names) if held and names else None,
    )


def _wins_by_judge(comparison: PairedTests, known: VerdictContext) -> dict[str, set[tuple[str, str]]]:
    shown: dict[str, set[tuple[str, str]]] = {}
    every = [(pair.judge, pair.a, pair.b, pair.scores_better) for pair in comparison.pairs]
    every += [
        (judge, test.a, test.b, test.better) for judge, of in known.battles.items() for test in of.headline.differences
    ]
    for judge, a, b, better in every:
        if better:
            shown.setdefault(judge, set()).add((better, b if better == a else a))
    return shown


def _replacement(gate: Gate, names: Sequence[str]) -> Replacement:
    failing = {candidate.name for candidate in gate.candidates if not candidate.passed}
    first, *others = names
    return Replacement(
        gate.passed, gate.margin, first, tuple(others), tuple(other for other in others if other in failing)
    )


def _judges(columns: Sequence[ScoreColumn]) -> list[str]:
    return list(dict.fromkeys(column.judge for column in columns))


def sort_by_place(columns: Sequence[ColumnSummary]) -> list[ColumnSummary]:
    """Sorts columns by their place, the best first; those without one come last."""
    return sorted(columns, key=lambda column: (column.place or math.inf, column.mean is None))


def _opinion(
    judge: str,
    columns: Sequence[ScoreColumn],
    comparison: PairedTests,
    known: VerdictContext,
    copy: tuple[str, float] | None,
) -> Opinion:
    of_judge = sort_by_place([column for column in comparison.columns if column.judge == judge])
    by_names = {frozenset((pair.a, pair.b)): pair for pair in comparison.pairs if pair.judge == judge}
    # Of one that failed everything no score is compared, and yet it is worse.
    of_judge = sorted(of_judge, key=lambda column: not _wins_all(column.name, of_judge, by_names))
    best = of_judge[0]
    pairs = [(column, by_names.get(frozenset((best.name, column.name)))) for column in of_judge[1:]]
    in_order = [(column, pair) for column, pair in pairs if pair and (column.place or pair.better == best.name)]
    in_order = in_order or [(column, pair) for column, pair in pairs if pair]
    contests = tuple(_contest(best.name, column.name, pair) for column, pair in in_order)
    beside = {column.name for column, _ in in_order}
    kind = _kind(best, contests, alone=len(of_judge) == 1)
    own = {column.name: column for column in columns if column.judge == judge}
    sign = gain(best.scale)
    return Opinion(
        judge=judge,
        kind=kind,
        first=best.name if kind not in ("not_comparable", "no_order", "no_answer") else "",
        scale=best.scale,
        contests=contests,
        standings=tuple(
            Placing(
                column.name,
                column.mean,
                _two(column.ci95),
                column.rank,
                column.scored,
                column.total,
                any(column.name in of and pair.better not in (None, column.name) for of, pair in by_names.items()),
            )
            for column in of_judge
        ),
        unplaced=tuple(
            Unplaced(
                column.name,
                *_fewest(column.name, [best.name, *beside], by_names),
                best.mean is not None and sign * column.mean > sign * best.mean,
            )
            for column, _ in pairs
            if column.name not in beside and column.mean is not None
        ),
        dots=_dots(own[best.name], own[contests[0].other]) if contests else (),
        sees=known.sees.get(judge),
        examined=known.examined.get(judge),
        repeats=copy[0] if copy else "",
        shift=copy[1] if copy else 0.0,
    )


def _fewest(name: str, others: Iterable[str], pairs: Mapping[frozenset[str], Pair]) -> tuple[str, int]:
    shared = [(pair.clusters, other) for other in others if (pair := pairs.get(frozenset((name, other)))) is not None]
    return min(shared)[::-1] if shared else (next(iter(others)), 0)


def _wins_all(name: str, columns: Sequence[ColumnSummary], pairs: Mapping[frozenset[str], Pair]) -> bool:
    others = [pairs.get(frozenset((name, column.name))) for column in columns if column.name != name]
    return bool(others) and all(pair is not None and pair.better == name for pair in others)


def _two(ends: Sequence[float] | None) -> tuple[float, float] | None:
    return None if ends is None or len(ends) < 2 else (ends[0], ends[1])


def _contest(best: str, other: str, pair: Pair) -> Contest:
    sign, outcome, images, failures = gain(pair.scale), pair.outcome, pair.by_image, pair.failures
    difference = None if pair.difference is None else sign * pair.difference
    contest = Contest(
        other=pair.b,
        kind=outcome.kind if outcome.kind != "cannot_be_told" and outcome.better in (None, best) else "level",
        difference=difference,
        ci95=None if pair.ci95 is None else _two(sorted(sign * end for end in pair.ci95)),
        no_ci95=pair.no_ci95,
        p=pair.p,
        p_adjusted=pair.p_adjusted,
        margin=outcome.margin,
        scores_better=pair.scores_better == pair.a,
        scores_worse=pair.scores_better == pair.b,
        holds=outcome.holds,
        failed=(failures.a, failures.b, failures.total),
        fails_more=pair.fails_more or "",
        images=pair.clusters,
        wins=images.wins,
        losses=images.losses,
        sign_p=images.p_adjusted,
        tipping_share=pair.tipping_share,
        ruled_out_share=pair.ruled_out_share,
        more=pair.more,
        exact=pair.exact,
        identical=pair.identical,
    )
    contest = contest if pair.a == best else contest.swap_sides(pair.a)
    by, kind = contest.difference or 0.0, contest.kind
    if kind == "level" and abs(by) > TIE:  # each of three may be worse than another
        kind = "ahead" if by > 0 else "behind"
    return msgspec.structs.replace(contest, kind=kind)


def _kind(best: ColumnSummary, contests: Sequence[Contest], *, alone: bool) -> Kind:
    kinds = {contest.kind for contest in contests}
    if not contests:
        return "alone" if alone and best.mean is not None else "no_answer"
    if kinds <= {*WON}:
        return "better" if "better" in kinds else "fails_more"
    if kinds == {"not_comparable"}:
        return "no_answer" if best.mean is None else "not_comparable"
    if kinds <= {"level", "not_comparable"}:
        return "no_answer"
    if "behind" in kinds:
        return "no_order"
    if not kinds & {"ahead", "level"}:
        return "trade" if "trade" in kinds else "equal" if "equal" in kinds else "ahead"
    return "ahead"


def _dots(a: ScoreColumn, b: ScoreColumn) -> tuple[Dot, ...]:
    """Returns a's gain over b on each sample that is scored in both, the largest first."""
    dots = []
    for sample, score in a.scores.items():
        other = b.scores.get(sample)
        if score is not None and other is not None:
            by = gain(a.scale) * (score - other)
            dots.append(Dot(sample, by, a.name if by > TIE else b.name if by < -TIE else ""))
    dots.sort(key=lambda dot: (-dot.difference, dot.sample))
    if len(dots) <= MOST_DOTS:
        return tuple(dots)
    return tuple(dots[place * (len(dots) - 1) // (MOST_DOTS - 1)] for place in range(MOST_DOTS))


def _copies(columns: Sequence[ScoreColumn]) -> dict[str, tuple[str, float]]:
    """Returns the judges that score every edit as an earlier one does, but for a constant, and that constant."""
    scores: dict[str, dict[tuple[str, str], float]] = {}
    for column in columns:
        known = {(column.name, sample): score for sample, score in column.scores.items() if score is not None}
        scores.setdefault(column.judge, {}).update(known)
    scales = {column.judge: column.scale for column in columns}
    copies: dict[str, tuple[str, float]] = {}
    for place, judge in enumerate(scores):
        mine = scores[judge]
        for other in [score for score in list(scores)[:place] if score not in copies]:
            both = [edit for edit in mine if edit in scores[other]]
            alike = scales[judge] == scales[other] and len({edit[1] for edit in both}) >= FEWEST_CLUSTERS
            if not alike or not _is_informative([mine[edit] for edit in both]):
                continue
            shift = mine[both[0]] - scores[other][both[0]]
            if all(abs(mine[edit] - scores[other][edit] - shift) < 1e-9 for edit in both):
                copies[judge] = other, round(shift, 9)
                break
    return copies


def _is_informative(scores: Sequence[float]) -> bool:
    """Returns whether two judges that know nothing of each other would not give all of these scores alike."""
    return len(set(scores)) > (1 if len(scores) >= COARSE_EDITS else COARSE)


def _battle_opinion(judge: str, of: JudgeBattles, known: VerdictContext) -> Opinion:
    scored = of.headline
    rows = sorted(scored.strengths, key=lambda strength: (strength.strength is None, -(strength.strength or 0.0)))
    decided = scored.n_decided
    doubt = rows[0].no_ci95 if any(row.strength is None or row.no_ci95 for row in rows) else None
    nothing = doubt is not None or any(row.strength is None for row in rows)
    first, *others = (row.edit_model for row in rows)
    shown = {
        difference.b if first == difference.a else difference.a
        for difference in scored.differences
        if difference.better == first
    }
    its = [(pair, pair.a == first) for pair in scored.pairs if first in (pair.a, pair.b)]
    fights = Fights(
        doubt=doubt,
        battles=decided,
        ties=scored.outcomes[BattleOutcome.TIE],
        contradictions=scored.contradictions.count,
        chose_first=scored.contradictions.first,
        won=sum(pair.first if ours else pair.second for pair, ours in its),
        lost=sum(pair.second if ours else pair.first for pair, ours in its),
        of=sum(pair.n_decided for pair, _ in its),
    )
    contests = () if nothing else tuple(_battle_contest(first, other, other in shown, scored) for other in others)
    return Opinion(
        judge=judge,
        kind="no_answer" if nothing else "better" if len(shown) == len(others) else "ahead",
        first="" if nothing else first,
        scale=Scale(),
        contests=contests,
        standings=tuple(
            Placing(row.edit_model, row.strength, _open(row.ci95), row.rank, decided, scored.battles) for row in rows
        ),
        sees=known.sees.get(judge),
        examined=known.examined.get(judge),
        fights=fights,
    )


def _open(ends: Sequence[float | None] | None) -> tuple[float | None, float | None] | None:
    return None if ends is None else (ends[0], ends[1])


def _battle_contest(first: str, other: str, shown: bool, scored: ScoreBattles) -> Contest:
    [pair] = [difference for difference in scored.differences if {difference.a, difference.b} == {first, other}]
    contest = Contest(
        other=pair.b,
        kind="better" if shown else "ahead",
        difference=pair.difference,
        ci95=_two([end for end in pair.ci95 or () if end is not None]),
        no_ci95=None,
        p=pair.p,
        p_adjusted=pair.p_adjusted,
        scores_better=shown and pair.a == first,
        scores_worse=shown and pair.b == first,
        more=More("none") if shown else More("unknown", because="no_scores"),
    )
    return contest if pair.a == first else contest.swap_sides(pair.a)


# -- all judges together --


def _joint(opinions: Sequence[Opinion], shown: Mapping[str, set[tuple[str, str]]]) -> tuple[Kind, str]:
    """Returns what the judges that have a say come to, and who is first with all of them.

    `shown`: of each judge whom it shows to be better than whom. They disagree if one shows the opposite of what another
    shows of somebody who is first. Where nothing is there to be found, each has somebody ahead, too, and mostly not the
    same one.
    """
    counted = [opinion for opinion in opinions if opinion.is_eligible]
    if not counted:
        return ("no_answer" if all(opinion.silent for opinion in opinions) else "judge_unfit"), ""
    found = set().union(*(shown.get(opinion.judge, set()) for opinion in counted))
    kinds, firsts = {opinion.kind for opinion in counted}, {opinion.first for opinion in counted if opinion.first}
    opposed = any((worse, better) in found for better, worse in found if better in firsts)
    if opposed or ("equal" in kinds and kinds & {*WON}):
        return "judges_disagree", ""
    if kinds == {"equal"}:
        alike = len({opinion.conclusion for opinion in counted}) == 1
        return ("equal", next(iter(firsts)) if len(firsts) == 1 else "") if alike else ("no_order", "")
    if len(firsts) > 1:
        return "no_order", ""
    first = next(iter(firsts), "")
    if len(kinds) == 1:
        return counted[0].kind, first
    if kinds <= {*WON}:
        return "better", first
    if "trade" in kinds:
        return "trade", first
    return ("ahead", first) if first else (counted[0].kind, "")


def add_votes(verdict: Verdict, votes: VoteCounts) -> Verdict:
    """Returns a verdict that knows of people's votes, whose advice to vote is then to see how sure these are."""
    steps = [msgspec.structs.replace(step, kind="votes") if step.kind == "vote" else step for step in verdict.next]
    return msgspec.structs.replace(verdict, votes=votes, next=tuple(steps))


def _steps(kind: Kind, opinions: Sequence[Opinion], known: VerdictContext, names: Sequence[str]) -> Iterable[Advice]:
    files = known.unscored.get(NO_FILE[0], 0)
    lacking = [Advice("files", files)] if files else []
    first = kind in ("not_comparable", "no_answer")  # they may be why
    urgent = [*_urgent(kind, opinions, known, lacking if first else ())]
    counted = [opinion for opinion in opinions if opinion.is_eligible]
    unfit = bool(counted) and all(opinion.examined == "failed" for opinion in counted)  # worth no picture more
    steps = [
        *urgent,
        *(step for step in _for_the_answer(kind, opinions, names) if not (unfit and step.kind in _PICTURES)),
        *([] if first else lacking),
        *_for_trust(opinions),
        *_for_sight("off", opinions, known),  # somebody wanted it so
    ]
    unseen = [
        contest.images
        for opinion in opinions
        for contest in opinion.contests
        if opinion.is_eligible and _rests_on_few(contest)
    ]
    return [*dict.fromkeys(steps)] or [Advice("kinds", max(unseen)) if unseen else Advice("nothing")]


_PICTURES = ("more", "enough", "add", "uneven", "alike", "outliers", "choose")
"""Steps that rest on the scores that a judge gave."""


def _rests_on_few(contest: Contest) -> bool:
    """Returns whether a kind of pictures that these can well miss would undo what they show."""
    if not contest.scores_better or contest.ruled_out_share is None:
        return False
    undone = contest.tipping_share is None or contest.tipping_share < contest.ruled_out_share
    return undone or contest.wins + contest.losses < FEWEST_CLUSTERS


def _urgent(
    kind: Kind, opinions: Sequence[Opinion], known: VerdictContext, lacking: Sequence[Advice]
) -> Iterable[Advice]:
    """Yields what no picture more can mend: a run that is not finished, and judges of whom nothing good is known."""
    if not known.complete:
        yield Advice("finish")
    if blind := tuple(opinion.judge for opinion in opinions if opinion.sees == "not_last"):
        yield Advice("other_judge", names=blind)
    if unfit := tuple(opinion.judge for opinion in opinions if opinion.examined == "failed"):
        yield Advice("failed_audit", names=unfit)
    yield from lacking
    if failed := {status: count for status, count in known.unscored.items() if status in FAILED}:
        yield Advice("retry", sum(failed.values()), tuple(failed))
    if kind == "not_comparable":
        yield Advice("same_samples")
    yield from _for_sight("unknown", opinions, known)


def _for_sight(sees: Sees, opinions: Sequence[Opinion], known: VerdictContext) -> Iterable[Advice]:
    unseen = [opinion for opinion in opinions if opinion.sees == sees]
    if sees == "unknown" and not known.controls:  # with these pictures no number shows it: an audit draws its own
        yield from _for_trust(unseen)
        unseen = [opinion for opinion in unseen if opinion.examined in _TESTED]
    if unseen:
        yield Advice("controls", known.controls, names=tuple(opinion.judge for opinion in unseen))


def _for_the_answer(kind: Kind, opinions: Sequence[Opinion], names: Sequence[str]) -> Iterable[Advice]:
    counted = [opinion for opinion in opinions if opinion.is_eligible]
    if kind == "alone" or not opinions:
        yield Advice("compare" if opinions else "vote")
    elif kind == "judges_disagree":
        yield Advice("look", names=tuple(opinion.judge for opinion in counted))
    elif kind == "trade":
        yield Advice("weigh")
    elif kind == "equal":
        yield Advice("choose")
    elif kind in ("ahead", "no_order", "no_answer") and len(names) > 1:
        yield from _more(counted)


_FOR_UNKNOWN: Sequence[tuple[str, Literal["enough", "outliers", "uneven", "alike"]]] = (
    ("few_images", "enough"),
    ("outliers", "outliers"),
    ("too_uneven", "uneven"),
    ("identical", "alike"),
)
"""What to do where it cannot be said how many more it takes, by the reason; the first reason that there is decides."""


def _more(counted: Sequence[Opinion]) -> Iterable[Advice]:
    """Says how many more pictures would help: for the nearest lead that is not shown, the most that a judge needs.

    What cannot be known comes before a number, and that nothing would help is said only if a number says so.
    """
    open_ = [contest for opinion in counted if (contest := _nearest(opinion)) is not None and contest.images]
    unknown = [(contest.more.because, contest) for contest in open_ if contest.more.kind == "unknown"]
    for because, kind in _FOR_UNKNOWN:
        those = [contest for why, contest in unknown if why == because]
        if those:
            samples = dict.fromkeys(sample for contest in those for sample in contest.more.samples)
            images = max(contest.images for contest in those)
            yield Advice(kind, FEWEST_CLUSTERS if kind == "enough" else images, tuple(samples))
            return
    needed = [contest.more.images for contest in open_ if contest.more.kind == "images"]
    if needed:
        yield Advice("more", max(needed))
    elif open_ and all(contest.more.kind == "far" for contest in open_):
        yield Advice("choose")
    else:
        yield Advice("add")


def _nearest(opinion: Opinion) -> Contest | None:
    """Returns the nearest lead that is not shown; where there is none, the nearest that does not differ."""
    unsure = [contest for contest in opinion.contests if contest.kind not in WON]
    return next((contest for contest in unsure if contest.kind != "level"), unsure[0] if unsure else None)


_TESTED = (None, "passed", "limited", "failed", "other_language")


def _for_trust(opinions: Sequence[Opinion]) -> Iterable[Advice]:
    elsewhere = tuple(opinion.judge for opinion in opinions if opinion.examined == "other_language")
    doubted = tuple(opinion.judge for opinion in opinions if opinion.examined not in _TESTED)
    if doubted:
        yield Advice("audit", names=doubted)
    if elsewhere:
        yield Advice("audit_language", names=elsewhere)
