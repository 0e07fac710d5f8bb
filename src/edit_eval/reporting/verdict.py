"""The verdict in words: one plain line, what to do next, and a referee's paragraph, from `statistics.verdict` alone.

Terminal, page, live view, Markdown, notebook, gate's log and card show the same `Verdict`, in these words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from edit_eval.reporting import formats
from edit_eval.reporting.comparison_tables import digits_of
from edit_eval.reporting.names import NAMES, judge_words, scale_words
from edit_eval.reporting.strengths import doubt_words
from edit_eval.reporting.table import Line, Part
from edit_eval.reporting.verdict_drawing import characters
from edit_eval.statistics.families import Correction
from edit_eval.statistics.intervals import FEWEST_CLUSTERS
from edit_eval.statistics.verdict import WON, Advice, Contest, Opinion, Replacement, Unplaced, Verdict
from edit_eval.statistics.votes import VoteCounts
from edit_eval.text import Text, join_texts

_MOST_NAMES = 3
"""Names that a sentence has room for; more are counted."""
_FEW_PICTURES = 20
"""A lead on fewer says on how many."""
ADVICE_SHOWN = 2
"""Things to do next that are shown; the first is the most useful one."""


def digits(opinion: Opinion) -> int:
    """Returns the digits after the point for all numbers of one judge."""
    means = [standing.mean for standing in opinion.standings]
    return 2 if opinion.fights else digits_of(opinion.scale, means, [contest.ci95 for contest in opinion.contests])


def verdict_sheet(verdict: Verdict, *, full: bool = False, drawn: bool = True) -> list[Line]:
    """Returns the answer, the drawing in characters, what to do next, and if `full` what it rests on."""
    sheet = [Line(line, "strong") for line in answer_lines(verdict)]
    sheet += [Line(line, "wrong") for line in doubt_lines(verdict)]
    if drawn and (picture := characters(verdict, digits)):
        sheet += [Line(), *picture, Line()]
    sheet += [Line(line, head=Text("Next: "), head_look="strong") for line in next_lines(verdict)[:ADVICE_SHOWN]]
    if full:
        sheet += [Line(), *(Line(line, "quiet") for line in paragraph(verdict))]
    return sheet


def answer_lines(verdict: Verdict) -> list[Text]:
    """Returns the answer, of a gate also whether it passed: a sentence each."""
    lines = [Text("{:. }.", [answer(verdict)])]
    if verdict.gate is None or verdict.gate.margin is None:
        return lines
    return [*lines, _gate_sentence(verdict.gate, verdict.gate.margin)]


def _gate_sentence(gate: Replacement, margin: float) -> Text:
    about = gate.others if gate.passed else gate.failing
    if not about:  # its scores would do
        others = _name_list(gate.others)
        return Text("Not passed: {} cannot take the place of {}, for the reasons below.", others, gate.first)
    fields = Text("{:g} point", margin, plural="{:g} points"), gate.first, _name_list(about)
    if len(about) > 1:
        if gate.passed:
            return Text("Passed: {2} may replace {1}; they are shown to be less than {0} worse.", *fields)
        return Text("Not passed: {2} may not replace {1}; they are not shown to be less than {0} worse.", *fields)
    if gate.passed:
        return Text("Passed: {2} may replace {1}; it is shown to be less than {0} worse.", *fields)
    return Text("Not passed: {2} may not replace {1}; it is not shown to be less than {0} worse.", *fields)


def answer(verdict: Verdict) -> Text:
    """Says who is better and by how much, in the fixed words of docs/glossary.md; without a full stop."""
    return _JOINT.get(verdict.kind, _agreement_sentence)(verdict)


def doubt_lines(verdict: Verdict) -> list[Text]:
    """Says which judges have no say and why, and which models made the same pictures: a sentence each."""
    unfit = (
        []
        if verdict.kind == "judge_unfit"
        else [opinion.judge for opinion in verdict.opinions if opinion.sees == "not_last"]
    )
    lines = [
        Text("{} is left out: it scores edits no higher than pictures that are no edits (the controls).", judge)
        for judge in unfit
    ]
    lines += [
        Text(
            "{} is left out: its score of every edit is that of {}, {}. That is one judge, not two.",
            opinion.judge,
            opinion.repeats,
            formats.format_signed(opinion.shift, digits(opinion)),
        )
        if opinion.shift
        else Text(
            "{} is left out: it gives every edit the same score as {}. That is one judge, not two.",
            opinion.judge,
            opinion.repeats,
        )
        for opinion in verdict.opinions
        if opinion.repeats
    ]
    if any(opinion.is_eligible for opinion in verdict.opinions):
        lines += [
            Text("{} is left out: it has given no score.", opinion.judge)
            for opinion in verdict.opinions
            if opinion.silent
        ]
    return [*lines, *_out_of_order(verdict)] + [
        Text(
            "{} and {} made exactly the same picture in {} of {} cases: are they two models?",
            same.a,
            same.b,
            same.count,
            same.total,
        )
        for same in verdict.same_pictures
    ]


def _out_of_order(verdict: Verdict) -> Iterator[Text]:
    """Says which models are in no order: a sentence for all judges that leave out the same ones."""
    alike: dict[tuple[str, ...], list[Opinion]] = {}
    for opinion in verdict.eligible_opinions:
        if opinion.unplaced:
            alike.setdefault(tuple(unplaced.name for unplaced in opinion.unplaced), []).append(opinion)
    for names, opinions in alike.items():
        first, several = opinions[0], len(verdict.eligible_opinions) > 1
        if len(names) == len(opinions) == 1:
            yield _not_in_order(first, first.unplaced[0], several=several)
            continue
        words = Text(
            "{1} is not comparable: it shares fewer than {2} scored pictures with another edit model",
            len(names),
            [*names],
            FEWEST_CLUSTERS,
            plural="{1} are not comparable: each shares fewer than {2} scored pictures with another edit model",
        )
        judges = [opinion.judge for opinion in opinions]
        yield Text("{} (judged by {}).", words, judges) if several else Text("{}.", words)


def _not_in_order(opinion: Opinion, unplaced: Unplaced, *, several: bool) -> Text:
    words = Text(
        "{1} is not comparable: {0} picture is scored for both {1} and {2}",
        unplaced.images,
        unplaced.name,
        unplaced.beside,
        plural="{1} is not comparable: {0} pictures are scored for both {1} and {2}",
    )
    return Text("{} (judge {}).", words, opinion.judge) if several else Text("{}.", words)


def next_lines(verdict: Verdict, *, for_readers: bool = False) -> list[Text]:
    """Says what to do next, the most useful first: a sentence each; `for_readers` the same without a command."""
    ways = {**_ADVICE, **_FOR_READERS} if for_readers else _ADVICE
    return [ways[advice.kind](advice) for advice in verdict.next]


def advice_parts(verdict: Verdict) -> Iterator[Part]:
    """Yields what to do next, as it stands at the end of an answer on a terminal."""
    for number, line in zip((2, 6), next_lines(verdict), strict=False):
        yield number, [Line(line, head=Text("Next: "), head_look="strong")]


# -- the answer --


def _agreement_sentence(verdict: Verdict) -> Text:
    """Words what one judge says, or several that say the same."""
    counted = verdict.eligible_opinions
    if not counted:
        if verdict.votes is not None:
            words = join_texts([vote_words(verdict.votes), *_conclude_votes(verdict.votes)])
            return Text("{}; no judge has scored these edits", words)
        return Text("No answer: nothing has been judged")
    leading = next((opinion for opinion in counted if opinion.kind == verdict.kind), counted[0])
    words = _OF_JUDGE[verdict.kind](leading, verdict)
    if len(counted) == 1:
        return words
    if all(opinion.silent for opinion in counted):
        return Text("No answer: there is no score by {: or }", [opinion.judge for opinion in counted])
    every = Text("both judges") if len(counted) == 2 else Text("all {} judges", len(counted))
    others = [_short(opinion) for opinion in counted[1:]]
    if verdict.kind == "alone" or not all(others):
        return join_texts(_OF_JUDGE[opinion.kind](opinion, verdict) for opinion in counted)
    return Text("{}; {} agree", words, every)


def vote_words(votes: VoteCounts) -> Text:
    """Returns `Of 9 votes A won 6 and B won 2; 1 was a tie`."""
    won = [Text("{} won {}", model, count) for model, count in votes.wins.items()]
    words = Text("Of {0} vote {1: and }", votes.votes, won, plural="Of {0} votes {1: and }")
    return Text("{1}; {0} was a tie", votes.ties, words, plural="{1}; {0} were ties") if votes.ties else words


def _conclude_votes(votes: VoteCounts) -> Iterator[Text]:
    if votes.pairs == 1 and votes.settled:
        yield Text("so people prefer {}", next(iter(votes.wins)))
    elif votes.pairs == 1:
        yield Text("that does not show yet which of the two people prefer")
    elif votes.pairs:
        yield Text("that shows which people prefer in {} of {} pairs of models", votes.settled, votes.pairs)


def _short(opinion: Opinion) -> str:
    return opinion.judge if opinion.contests or opinion.kind == "no_answer" else ""


def _better(opinion: Opinion, verdict: Verdict) -> Text:
    if opinion.fights:
        return _preference_sentence(opinion)
    beaten, first = opinion.contests, opinion.first
    nearest = beaten[0]
    if len(beaten) > 1:
        others = Text("both others") if len(beaten) == 2 else Text("all {} others", len(beaten))
        if nearest.kind == "fails_more":
            own, other, total = nearest.failed
            words = Text("{} is better than {}; next is {}", first, others, nearest.other)
            return Text("{}, which fails more: {} of {} edits against {}", words, other, total, own)
        by = _lead_words(opinion, nearest, reversible=False)
        words = _reversible(
            Text("{} is better than {}; next is {}, {} behind", first, others, nearest.other, by), nearest
        )
        return _add_sign_test(words, nearest) if nearest.exact else words
    words = Text("{} is better than {}, by {}", first, nearest.other, _lead_words(opinion, nearest))
    if nearest.exact:
        words = _add_sign_test(words, nearest)
    elif nearest.images < _FEW_PICTURES:
        words = Text("{}, on {} pictures", words, nearest.images)
    if nearest.fails_more == nearest.other:
        own, other, total = nearest.failed
        return Text("{}; {} also fails more: {} of {} edits against {}", words, nearest.other, other, total, own)
    return words


def _add_sign_test(words: Text, contest: Contest) -> Text:
    """Adds on what an exact test of signs rests."""
    counts = contest.wins, contest.images, contest.losses
    if not contest.losses:
        return Text("{}: better on {} of {} pictures and worse on none (exact test)", words, *counts[:2])
    return Text("{}: better on {} of {} pictures and worse on {} (exact test)", words, *counts)


def _preference_sentence(opinion: Opinion) -> Text:
    fights, contests = opinion.fights, opinion.contests
    assert fights is not None
    counts = fights.won, fights.of, fights.lost
    unsure = [contest.other for contest in contests if contest.kind not in WON]
    if unsure:
        return Text(
            "No winner: {} is ahead, but may be no better than {}: it won {} of its {} battles and lost {}",
            opinion.first,
            _name_list(unsure),
            *counts,
        )
    others = contests[0].other if len(contests) == 1 else Text("all {} others", len(contests))
    return Text("{} is preferred to {}: it won {} of its {} battles and lost {}", opinion.first, others, *counts)


def _ahead(opinion: Opinion, verdict: Verdict) -> Text:
    if opinion.fights:
        return _preference_sentence(opinion)
    first, nearest = opinion.first, opinion.contests[0]
    unsure = [contest for contest in opinion.contests if contest.kind not in WON]
    beaten = [contest.other for contest in opinion.contests if contest.kind in WON]
    few = all(contest.no_ci95 in ("few_images", "too_uneven", "one_image") for contest in unsure)
    if len(opinion.contests) == 1:
        lead = Text("No winner: {} is ahead of {} by {}", first, nearest.other, _lead_words(opinion, nearest))
        if few:
            return Text(
                "{1}, but {0} picture is too few to tell",
                nearest.images,
                lead,
                plural="{1}, but {0} pictures are too few to tell",
            )
        words = Text("{}, which may be chance", lead)
        if nearest.is_significant_uncorrected:
            words = Text("{}, which may be chance, with {} comparisons made at once", lead, verdict.tests)
        return _add_sign_test(words, nearest) if nearest.exact else words
    level = [contest.other for contest in unsure if contest.kind == "level"]
    if level and len(level) == len(unsure):
        lead = Text("No winner: {} score the same on average", _name_list(level, first))
        return Text("{}; {} is better than {}", lead, first, _name_list(beaten)) if beaten else lead
    names = _name_list([contest.other for contest in unsure])
    if len(unsure) == len(opinion.contests) > _MOST_NAMES and not few and not level:
        return Text(
            "No winner: {} is ahead, by {} over {}, but is not shown to be better than any of the {} others",
            *(first, _plain(opinion, nearest), nearest.other, len(unsure)),
        )
    if level:
        ahead = [contest.other for contest in unsure if contest.kind != "level"]
        lead = Text(
            "No winner: {1} score the same on average, and {0} is ahead of {2}, which may be chance",
            *(first, _name_list(level, first), _name_list(ahead)),
        )
    elif few:
        lead = Text(
            "No winner: {} is ahead, but {} pictures are too few to tell it from {}", first, unsure[0].images, names
        )
    else:
        lead = Text("No winner: {} is ahead, but may be no better than {}", first, names)
    return Text("{}; it is better than {}", lead, _name_list(beaten)) if beaten else lead


def _no_order(opinion: Opinion, verdict: Verdict) -> Text:
    first, behind = opinion.standings[0].name, [c for c in opinion.contests if c.kind == "behind"]
    beaten = opinion.others(*WON)
    lead = Text(
        "No winner: on the pictures that both have, {} trails {} by {}, and no other model leads all",
        *(first, behind[0].other, _plain(opinion, behind[0])),
    )
    return Text("{}; {} is better than {}", lead, first, _name_list(beaten)) if beaten else lead


def _equal(opinion: Opinion, verdict: Verdict) -> Text:
    margin = next(f"{contest.margin:g}" for contest in opinion.contests if contest.margin is not None)
    names = _name_list(opinion.others("equal"), opinion.first)
    nearest, places = opinion.contests[0], digits(opinion)
    if len(opinion.contests) == 1 and (ci95 := nearest.ci95) is not None:
        return Text(
            "{} are equal within {} ({}): they differ by {}, 95% interval {} to {}",
            *(names, margin, scale_words(opinion.scale)),
            formats.score(nearest.difference, places),
            *(formats.score(end, places) for end in ci95),
        )
    words = Text("{} are equal within {} ({})", names, margin, scale_words(opinion.scale))
    if beaten := opinion.others(*WON):
        return Text("{}; {} is better than {}", words, opinion.first, _name_list(beaten))
    return words


def _fails_more(opinion: Opinion, verdict: Verdict) -> Text:
    names = _name_list([contest.other for contest in opinion.contests])
    own, other, total = opinion.contests[0].failed
    fields = opinion.first, names, opinion.contests[0].other, other, own, total
    if all(contest.difference is None for contest in opinion.contests):
        return Text(
            "{0} is better than {1}, because {2} fails more: {3} of {5} edits against {4}; no picture is scored for "
            "both",
            *fields,
        )
    return Text(
        "{0} is better than {1}, because {2} fails more: {3} of {5} edits against {4}; their scores do not "
        "differ clearly",
        *fields,
    )


def _trade(opinion: Opinion, verdict: Verdict) -> Text:
    trade = next(contest for contest in opinion.contests if contest.kind == "trade")
    better = opinion.first if trade.scores_better else trade.other
    trade = trade if trade.scores_better else trade.swap_sides(opinion.first)
    return Text(
        "No winner: {0} scores better than {1}, by {2}, but fails more: {3} of {5} edits against {4}",
        *(better, trade.other, _lead_words(opinion, trade), *trade.failed),
    )


def _single_model_sentence(opinion: Opinion, verdict: Verdict) -> Text:
    [standing] = opinion.standings
    name, judge, scale = standing.name, opinion.judge, scale_words(opinion.scale)
    mean, *ends = (formats.score(value, digits(opinion)) for value in (standing.mean, *(standing.ci95 or ())))
    if len(ends) < 2 or formats.NOTHING in ends:
        return Text("{} scores {} ({}) with {}; there is no other model to compare it with", name, mean, scale, judge)
    return Text(
        "{} scores {} ({}; 95% interval {} to {}) with {}; there is no other model to compare it with",
        *(name, mean, scale, *ends, judge),
    )


def _not_comparable(opinion: Opinion, verdict: Verdict) -> Text:
    names = [standing.name for standing in opinion.standings]
    return Text("No answer: no picture is scored for both {} and {: or }", names[0], _some(names[1:]))


def _no_answer(opinion: Opinion, verdict: Verdict) -> Text:
    if opinion.fights and opinion.fights.doubt:
        fights = opinion.fights
        words = doubt_words(fights.doubt, fights.battles, fights.ties, fights.contradictions, fights.chose_first)
        if words:
            return words
    if all(standing.mean is None for standing in opinion.standings):
        return Text("No answer: {} has given no score", opinion.judge)
    if not opinion.contests:
        names = [standing.name for standing in opinion.standings]
        return Text("No answer: the scores of {} cannot be compared", _name_list(names[1:], names[0]))
    everybody, nearest = (
        _name_list([of.other for of in opinion.contests], opinion.standings[0].name),
        opinion.contests[0],
    )
    if nearest.identical:
        return Text("No winner: {} have the same score on each of {} pictures", everybody, nearest.images)
    return Text("No winner: {} score the same on average, on {} pictures", everybody, nearest.images)


_OF_JUDGE: Mapping[str, Callable[[Opinion, Verdict], Text]] = {
    "better": _better,
    "ahead": _ahead,
    "equal": _equal,
    "fails_more": _fails_more,
    "trade": _trade,
    "alone": _single_model_sentence,
    "not_comparable": _not_comparable,
    "no_order": _no_order,
    "no_answer": _no_answer,
}


def _disagreement_sentence(verdict: Verdict) -> Text:
    return Text(
        "No winner: the judges contradict each other: {:; }",
        [_opinion_clause(opinion, verdict) for opinion in verdict.eligible_opinions],
    )


def _opinion_clause(opinion: Opinion, verdict: Verdict) -> Text:
    """Says in a few words what one of several judges comes to."""
    first, judge = opinion.first, judge_words(opinion.judge)
    if opinion.kind in WON:
        return Text("{} says {} is better", judge, first)
    if opinion.kind == "ahead":
        return Text("{} has {} ahead, which may be chance", judge, first)
    if opinion.kind == "trade":
        trade = next(contest for contest in opinion.contests if contest.kind == "trade")
        return Text("{} says {} scores better, but fails more", judge, first if trade.scores_better else trade.other)
    if opinion.kind == "equal":
        alike = opinion.others("equal")
        if len(alike) < len(opinion.contests):
            return Text("{} says {} are equal", judge, _name_list(alike, first))
        return Text("{} says they are equal", judge)
    if opinion.kind in ("not_comparable", "no_order") or not opinion.contests:
        return Text("{} cannot tell", judge)
    return Text("{} sees no difference", judge)


def _partial_sentence(verdict: Verdict) -> Text:
    """Words what judges see of which only some, or none, is shown."""
    counted = verdict.eligible_opinions
    if verdict.is_unanimous or all(opinion.silent for opinion in counted):
        return _agreement_sentence(verdict)
    shown = [judge_words(opinion.judge) for opinion in counted if opinion.kind in WON]
    unsure = [judge_words(opinion.judge) for opinion in counted if opinion.kind not in WON]
    each = [_opinion_clause(opinion, verdict) for opinion in counted]
    if not shown:
        return Text("No winner: {:; }", each)
    if verdict.kind != "ahead" or any(opinion.kind not in (*WON, "ahead") for opinion in counted):
        return Text("Not settled: {:; }", each)
    return Text(
        "Not settled: {} is better with {}; with {} that may be chance",
        verdict.first,
        _name_list(shown),
        _name_list(unsure),
    )


def _unfit(verdict: Verdict) -> Text:
    judges = [opinion.judge for opinion in verdict.opinions if opinion.sees == "not_last"]
    return Text(
        "No answer: {} scores edits no higher than pictures that are no edits (the controls): either it cannot see "
        "what was asked for, or the edits are worthless",
        _name_list(judges),
    )


_JOINT: Mapping[str, Callable[[Verdict], Text]] = {
    "judges_disagree": _disagreement_sentence,
    "judge_unfit": _unfit,
    "better": lambda verdict: _agreement_sentence(verdict),
    "ahead": _partial_sentence,
    "no_order": _partial_sentence,
    "no_answer": _partial_sentence,
    "trade": _partial_sentence,
}


def _reversible(words: Text, contest: Contest) -> Text:
    return Text("{}, though missing scores could reverse this", words) if contest.holds is False else words


def _lead_words(opinion: Opinion, contest: Contest, *, reversible: bool = True) -> Text:
    """Returns `0.80 (out of 10; 95% interval 0.40 to 1.20)`; if `reversible`, with what missing scores could do."""
    if contest.ci95 is None or contest.difference is None:
        words = _plain(opinion, contest)
        return _reversible(words, contest) if reversible else words
    lead, low, high = (formats.score(value, digits(opinion)) for value in (contest.difference, *contest.ci95))
    words = Text("{} ({}; 95% interval {} to {})", lead, scale_words(opinion.scale), low, high)
    return _reversible(words, contest) if reversible else words


def _plain(opinion: Opinion, contest: Contest) -> Text:
    """Returns `0.80 (out of 10)`; never 0."""
    places = digits(opinion)
    by = formats.score(abs(contest.difference or 0.0), places)
    if not float(by):
        by = Text("less than {}", f"{10**-places:.{places}f}")
    return Text("{} ({})", by, scale_words(opinion.scale))


def _name_list(others: Sequence[str], first: str = "") -> Text:
    """Returns `A, B and C`, or how many others there are if a sentence has no room for them."""
    return Text("{: and }", [first, *_some(others)] if first else _some(others))


def _some(names: Sequence[str]) -> list[str]:
    return [*names] if len(names) <= _MOST_NAMES else [Text("{} others", len(names))]


# -- what to do next --


def _more(advice: Advice) -> Text:
    count = round(advice.count, min(0, 2 - len(str(advice.count))))
    return Text(
        "Add about {} more picture: a real lead of this size would then be shown 4 times in 5.",
        count,
        plural="Add about {} more pictures: a real lead of this size would then be shown 4 times in 5.",
    )


_ADVICE: Mapping[str, Callable[[Advice], Text]] = {
    "finish": lambda advice: Text("The run is not finished: repeat the edit-eval run command."),
    "other_judge": lambda advice: Text(
        "Do not use these scores. Look at some edits and at what {} answers, and take another judge if the edits are "
        "good.",
        _name_list(advice.names),
    ),
    "failed_audit": lambda advice: Text("{} failed its audit: take another judge.", _name_list(advice.names)),
    "retry": lambda advice: Text(
        "{} score is missing ({}): to try again, repeat edit-eval run with --retry {}.",
        advice.count,
        [NAMES["status"][status] for status in advice.names],
        ",".join(advice.names),
        plural="{} scores are missing ({}): to try again, repeat edit-eval run with --retry {}.",
    ),
    "files": lambda advice: Text(
        "{} score is missing because a finished edit has no file: put it in its folder, then repeat edit-eval run.",
        advice.count,
        plural="{} scores are missing because finished edits have no file: put them in their folder, then repeat "
        "edit-eval run.",
    ),
    "more": _more,
    "enough": lambda advice: Text(
        "Add pictures: with fewer than {} nothing can be tested, and 20 or more are better.", advice.count
    ),
    "outliers": lambda advice: Text(
        "Look at {1}: unlike the others, and {0} picture cannot tell such ones from chance. Add more.",
        advice.count,
        Text("{: and }", advice.names),
        plural="Look at {1}: unlike the others, and {0} pictures cannot tell such ones from chance. Add more.",
    ),
    "uneven": lambda advice: Text("Add source images: a few of the {} have too many of the samples.", advice.count),
    "alike": lambda advice: Text(
        "Add pictures of another kind, such as harder ones: on these {} the scores are the same.", advice.count
    ),
    "add": lambda advice: Text("Add pictures: these cannot say how many it takes."),
    "look": lambda advice: Text("Look at the pictures on which the judges differ most, and mark which judge is right."),
    "weigh": lambda advice: Text("Decide what a failed edit costs you; that settles it, more pictures do not."),
    "choose": lambda advice: Text("More pictures will hardly change this: choose by speed, price or licence."),
    "vote": lambda advice: Text("Vote which edits are better (edit-eval view)."),
    "votes": lambda advice: Text("See how sure that is with edit-eval votes, or add a judge to the configuration."),
    "compare": lambda advice: Text("Add a second edit model to the configuration, and the two are compared."),
    "same_samples": lambda advice: Text("Have both models edit the same samples, and judge the edits."),
    "audit": lambda advice: Text(
        "Nobody has tested the judge {} yet: edit-eval audit shows how far to trust it.", _name_list(advice.names)
    ),
    "audit_language": lambda advice: Text(
        "{} is audited for instructions in another language only: edit-eval audit of this configuration shows how far "
        "to trust it here.",
        _name_list(advice.names),
    ),
    "controls": lambda advice: (
        Text(
            "Write `evaluation: {{controls: {}}}` into the configuration and repeat the edit-eval run command: that "
            "may show that {} can tell edits from pictures that are none.",
            advice.count,
            _name_list(advice.names),
        )
        if advice.count
        else Text("Add pictures: with these few, controls cannot show that {} sees edits.", _name_list(advice.names))
    ),
    "kinds": lambda advice: Text(
        "Settled for pictures like these {}; a kind that so few can miss could undo it: add pictures of other kinds.",
        advice.count,
    ),
    "nothing": lambda advice: Text("Nothing, this is settled."),
}

_FOR_READERS: Mapping[str, Callable[[Advice], Text]] = {
    "finish": lambda advice: Text("The run is not finished: whoever ran it can go on."),
    "retry": lambda advice: Text(
        "{} score is missing ({}): whoever ran it can try again.",
        advice.count,
        [NAMES["status"][status] for status in advice.names],
        plural="{} scores are missing ({}): whoever ran it can try again.",
    ),
    "files": lambda advice: Text(
        "{} score is missing because a finished edit has no file.",
        advice.count,
        plural="{} scores are missing because finished edits have no file.",
    ),
    "vote": lambda advice: Text("Vote which edits are better."),
    "votes": lambda advice: Text("Look how sure that is, or have a judge score the edits, too."),
    "audit": lambda advice: Text(
        "Nobody has tested the judge {} yet: an audit shows how far to trust it.", _name_list(advice.names)
    ),
    "audit_language": lambda advice: Text(
        "{} is audited for instructions in another language only: an audit in this one shows how far to trust it here.",
        _name_list(advice.names),
    ),
    "controls": lambda advice: (
        Text(
            "Ask for {} controls: they may show that {} can tell edits from pictures that are none.",
            advice.count,
            _name_list(advice.names),
        )
        if advice.count
        else _ADVICE["controls"](advice)
    ),
}
"""What names a command or a setting, without it: whoever reads a page may not be who ran the evaluation."""

# -- the referee's paragraph --


def paragraph(verdict: Verdict) -> list[Text]:
    """Returns for each judge on what its answer rests: test and correction, robustness, failures; a paragraph each."""
    lines = []
    for opinion in verdict.opinions:
        sentences = [*_basis_sentences(opinion, verdict)]
        if sentences:
            words = Text("{:. }.", sentences)
            lines.append(words if len(verdict.opinions) == 1 else Text("{}: {}", opinion.judge, words))
    return lines


def _basis_sentences(opinion: Opinion, verdict: Verdict) -> Iterator[Text]:
    contest, places = opinion.next, digits(opinion)
    if contest is None or opinion.fights or contest.difference is None:
        return
    pair = opinion.standings[0].name, contest.other
    by = formats.format_signed(contest.difference, places)
    tested = formats.p_value(contest.p), formats.p_value(contest.p_adjusted), Correction(verdict.tests).describe_tests()
    if contest.p is None:
        yield Text("{} less {}: mean difference {} on {} pictures, without an interval", *pair, by, contest.images)
    elif contest.exact:
        yield Text(
            "{} less {}: mean difference {} on {} pictures; an exact test of the signs of the differences, since they "
            "are too much alike, or too unlike, for an interval to say as much: p {}, adjusted {} ({})",
            *(*pair, by, contest.images, *tested),
        )
    else:
        yield Text(
            "{} less {}: mean difference {} {} on {} pictures, 95% interval clustered on the source image, p {}, "
            "adjusted {} ({})",
            *pair,
            by,
            formats.format_signed_span(contest.ci95, places),
            contest.images,
            *tested,
        )
    counts = contest.wins, contest.images, contest.losses
    if contest.sign_p is None or contest.exact:
        yield Text("{} does better on {} of {} pictures and worse on {}", pair[0], *counts)
    else:
        yield Text(
            "{} does better on {} of {} pictures and worse on {}; counted alone, without how much, that gives p {} "
            "(sign test), which decides nothing here",
            pair[0],
            *counts,
            formats.p_value(contest.sign_p),
        )
    if contest.scores_better and contest.tipping_share is not None and contest.ruled_out_share is not None:
        tipping, seen = formats.share(contest.tipping_share, 1), formats.share(contest.ruled_out_share, 1)
        yield Text(
            "The lead would be gone if {0} of all pictures were of a kind that is not among these and {1} failed them "
            "all; {2} pictures can miss a kind that makes up to {3} of all",
            tipping,
            pair[0],
            contest.images,
            seen,
        )
    own, other, total = contest.failed
    if own or other:
        yield Text("Of {} edits that both tried {} failed for {} and {} for {}", total, own, pair[0], other, pair[1])
