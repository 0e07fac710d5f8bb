"""Each printed sentence, mark and advice of drawn results, in both languages, held against an oracle of plain lines.

Of all kinds: missing, tied, separated, lopsided, unranked, in cycles, by several judges, of repeats with gaps, of
samples that share pictures. `make chaos` draws a thousand.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from combinations.sentences_oracle import (
    Drawn,
    Truth,
    false_ranks,
    is_right_advice,
    is_right_doubt,
    is_right_mark,
    is_true,
)
from edit_eval.plugins.paper import document as paper
from edit_eval.records import Results, Status
from edit_eval.reporting import verdict as words
from edit_eval.reporting.language import translate
from edit_eval.statistics import verdict as concluded
from edit_eval.statistics.summary import summarise
from edit_eval.text import Text
from made_results import results, sample

MODELS = ("amber", "birch", "cedar", "dogwood", "elm", "fir")
KINDS = (
    "plain",
    "equal",
    "tied",
    "separated",
    "constant",
    "identical",
    "yes or no",
    "lopsided",
    "unranked",
    "cycle",
    "few",
    "failing",
    "silent",
    "copied",
)
FEW, SOME, MANY = 20, 60, 1_000


def drawn(seed: int) -> Drawn:
    """One evaluation; the kind goes with the seed."""
    chance, kind = random.Random(seed), KINDS[seed % len(KINDS)]
    models = MODELS[: chance.choice((2, 2, 3, 3, 4, 5)) if kind != "cycle" else 3]
    judges = (
        tuple(f"judge-{n}" for n in range(1, 1 + chance.choice((1, 1, 1, 2, 3))))
        if kind != "copied"
        else ("judge-1", "judge-2")
    )
    count = chance.randint(2, 7) if kind == "few" else chance.randint(7, 24)
    image = [n // 2 for n in range(count)] if chance.random() < 0.2 else list(range(count))
    repeats, gaps = chance.choice((1, 1, 2, 3)), chance.choice((0.0, 0.0, 0.05, 0.25))
    failed = frozenset(
        (model, n) for place, model in enumerate(models) for n in range(count)
        if kind == "failing" and chance.random() < 0.6 * (place == len(models) - 1)
    )  # fmt: skip
    answers = {}
    for judge in judges:
        for place, model in enumerate(models):
            lead = chance.gauss(0, 0.8) + (2.0 if kind == "unranked" and place == len(models) - 1 else 0.0)
            cells = []
            for n in range(count):
                value = _value(kind, chance, seed, place, n, lead)
                hidden = (
                    (kind == "unranked" and place == len(models) - 1 and n >= chance.choice((3, 5)))
                    or (kind == "cycle" and n % 3 == place and chance.random() < 0.9)
                    or (kind == "silent" and judge == judges[-1])
                )
                around = 0 if kind in EXACT else chance.choice((0, 0, 0.5, -0.5))
                cells.append(
                    [
                        None
                        if (model, n) in failed or hidden or chance.random() < gaps
                        else _scaled(kind, value + around)
                        for _ in range(repeats)
                    ]
                )
            answers[judge, model] = cells
    if kind == "copied":
        shift = chance.choice((0.0, 0.5))
        answers |= {
            ("judge-2", m): [[None if x is None else x + shift for x in c] for c in answers["judge-1", m]]
            for m in models
        }
    return Drawn(models, judges, answers, failed, image)


EXACT = ("tied", "separated", "constant", "identical", "yes or no", "lopsided")


def _value(kind: str, chance: random.Random, seed: int, place: int, n: int, lead: float) -> float:
    common = random.Random(1000 * seed + n).gauss(6, 1)
    return {
        "equal": lambda: common + chance.gauss(0, 1),
        "tied": lambda: 6 + (chance.random() < 0.15) * chance.choice((-4, 1, 4)),
        "separated": lambda: 9 - 8 * (place > 0) + (0.5 * chance.random() if seed % 3 else 0),
        "constant": lambda: round(common) - place,
        "identical": lambda: round(common),
        "yes or no": lambda: 10.0 * (chance.random() < (0.98, 0.5, 0.02, 0.3, 0.7)[place % 5]),
        "lopsided": lambda: 8 + (0.4 if place == 0 else 0) - (7 if place == 0 and n in (1, 4) else 0),
        "cycle": lambda: common + 1.5 * ((n + place) % 3) + chance.gauss(0, 0.4),
    }.get(kind, lambda: common + lead + chance.gauss(0, 0.8))()


def _scaled(kind: str, value: float) -> float:
    return min(10.0, max(0.0, value if kind == "separated" else round(2 * value) / 2))


def made(draw: Drawn) -> Results:
    """The draw as a run's results."""
    samples = [sample(n, source=draw.image[n]) for n in range(len(draw.image))]
    rows = {
        (model, judge): [
            [Status.EDIT_FAILED if (model, n) in draw.failed else Status.UNPARSEABLE if x is None else x for x in cell]
            for n, cell in enumerate(draw.answers[judge, model])
        ]
        for judge in draw.judges
        for model in draw.models
    }
    return replace(
        results(samples, rows), provenance=replace(results(samples, rows).provenance, resolved={"control_samples": 0})
    )


def false_lines(draw: Drawn) -> Iterator[str]:
    """Yields each sentence, mark and piece of advice that is not so."""
    truth, verdict = Truth(draw), summarise(made(draw)).verdict
    judges = [opinion.judge for opinion in verdict.eligible_opinions]
    answer = words.answer_lines(verdict)
    advice, doubts = words.next_lines(verdict), words.doubt_lines(verdict)
    yield from (f"answer: {line}" for line in answer if not is_true(str(line), truth, judges))
    yield from (f"beside: {line}" for line in doubts if not is_right_doubt(str(line), truth, judges))
    yield from (f"next: {line}" for line in advice if not is_right_advice(str(line), truth, judges, str(answer[0])))
    for opinion in verdict.opinions:
        ranks = {placing.name: placing.rank for placing in opinion.standings}
        yield from false_ranks(ranks, truth, opinion.judge)
        for placing in opinion.standings:
            contest = next((contest for contest in opinion.contests if contest.other == placing.name), None)
            mark = paper.mark_of(opinion, placing, contest)
            if not is_right_mark(mark, placing.name, truth, opinion.judge):
                yield f"mark: {placing.name} is {mark} by {opinion.judge}"
    yield from (f"Chinese: {translate(line, 'zh')}" for line in (*answer, *doubts, *advice) if not is_the_same(line))


def is_the_same(line: Text) -> bool:
    """Whether the Chinese has the names and numbers of the English, and of a lead its order; and no English words."""
    chinese, english = translate(line, "zh"), str(line)
    numbers = r"(?<![\d.])-?\d+(?:\.\d+)?(?!\d|\.\d)"
    names = rf"\b(?:{'|'.join(MODELS)}|judge-\d|s\d{{4}})\b"
    known = {"edit-eval", "run", "retry", "unparseable", "edit_failed", "audit", "view", "evaluation.controls"}
    left = re.sub(names, "", chinese)
    others = set(re.findall(r"[a-z][\w.-]+", left)) - known
    firsts = [re.search("|".join(MODELS), text) for text in (english, chinese)]
    same_first = (firsts[0] is None) == (firsts[1] is None) and (firsts[0] is None or firsts[0][0] == firsts[1][0])
    few = {"0", "1", "2", "3", "4", "5", "6", "8", "10", "20", "95"}
    counts = [
        Counter(n for n in re.findall(numbers, re.sub(names, "", text)) if n not in few) for text in (english, chinese)
    ]
    of_names = [Counter(re.findall(names, text)).keys() for text in (english, chinese)]
    return not others and same_first and counts[0] == counts[1] and of_names[0] == of_names[1]


def first_false(draws: int) -> str:
    for seed in range(draws):
        for line in false_lines(drawn(seed)):
            return f"draw {seed} ({KINDS[seed % len(KINDS)]}): {line}"
    return ""


@pytest.mark.parametrize(
    "draws", [FEW, pytest.param(SOME, marks=pytest.mark.check), pytest.param(MANY, marks=pytest.mark.chaos)]
)
def test_no_sentence_is_false(draws: int) -> None:
    assert first_false(draws) == ""


@pytest.mark.check
def test_draws_are_of_all_kinds_and_so_are_sentences() -> None:
    said_of = {summarise(made(drawn(seed))).verdict.kind: seed for seed in range(SOME)}
    assert {"better", "ahead", "no_order", "no_answer", "fails_more"} <= said_of.keys()


# -- false sentences that are planted --

Wording = Callable[..., Any]


def _by_own_means(original: Wording) -> Wording:
    return lambda columns: sorted(original(columns), key=lambda column: -(column.mean or -1.0))


def _always_level(original: Wording) -> Wording:
    def contest(best, other, pair):
        made_of = original(best, other, pair)
        return msgspec.structs.replace(made_of, kind="level") if made_of.kind in ("behind", "ahead") else made_of

    return contest


def _settled(original: Wording) -> Wording:
    return lambda counted: [concluded.Advice("choose")]


def _ten_times(original: Wording) -> Wording:
    return lambda counted: [
        msgspec.structs.replace(step, count=10 * step.count) if step.kind == "more" else step
        for step in original(counted)
    ]


def _quick_to_disagree(original: Wording) -> Wording:
    def joint(opinions, shown):
        kind, first = original(opinions, shown)
        return ("judges_disagree", "") if kind == "no_order" and len(opinions) > 1 else (kind, first)

    return joint


def _turned(original: Wording) -> Wording:
    def ahead(opinion, verdict):
        contest = opinion.contests[0]
        other = msgspec.structs.replace(contest, other=opinion.first)
        return original(
            msgspec.structs.replace(opinion, first=contest.other, contests=(other, *opinion.contests[1:])), verdict
        )

    return ahead


def _halved(original: Wording) -> Wording:
    def by(opinion, contest, **how):
        less = None if contest.difference is None else contest.difference / 2
        return original(opinion, msgspec.structs.replace(contest, difference=less), **how)

    return by


def _swapped_failures(original: Wording) -> Wording:
    def fails(opinion, verdict):
        contests = tuple(
            msgspec.structs.replace(contest, failed=(contest.failed[1], contest.failed[0], contest.failed[2]))
            for contest in opinion.contests
        )
        return original(msgspec.structs.replace(opinion, contests=contests), verdict)

    return fails


def _bold(original: Wording) -> Wording:
    return lambda opinion, placing, contest: (
        "best" if placing.name == opinion.standings[0].name else original(opinion, placing, contest)
    )


def _other_counts(original: Wording) -> Wording:
    def doubt(opinion, unplaced, **how):
        return original(opinion, msgspec.structs.replace(unplaced, images=unplaced.images + 1), **how)

    return doubt


def _all_beaten(original: Wording) -> Wording:
    return lambda best, contests, **how: (
        "better" if contests and original(best, contests, **how) == "ahead" else original(best, contests, **how)
    )


def _by_one_win_more(original: Wording) -> Wording:
    return lambda lead, contest: original(lead, msgspec.structs.replace(contest, wins=contest.wins + 1))


PLANTED = {
    "the best own mean is first": (concluded, "sort_by_place", _by_own_means),
    "a lead is no difference": (concluded, "_contest", _always_level),
    "more pictures never help": (concluded, "_more", _settled),
    "ten times as many pictures": (concluded, "_more", _ten_times),
    "who has others ahead disagrees": (concluded, "_joint", _quick_to_disagree),
    "the other one is ahead": (words, "_ahead", _turned),
    "half of the lead": (words, "_lead_words", _halved),
    "the other one failed": (words, "_fails_more", _swapped_failures),
    "the first is bold": (paper, "mark_of", _bold),
    "pictures that are not there": (words, "_not_in_order", _other_counts),
    "a lead is a win": (concluded, "_kind", _all_beaten),
    "nothing can be unseen": (concluded, "_rests_on_few", lambda original: lambda contest: False),
    "a win more": (words, "_add_sign_test", _by_one_win_more),
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("false", PLANTED)
def test_a_false_sentence_is_found(false: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, name, wrong = PLANTED[false]
    monkeypatch.setattr(module, name, wrong(getattr(module, name)))
    for kind, of in list(words._OF_JUDGE.items()):  # where words are looked up
        if of.__name__ == name:
            monkeypatch.setitem(words._OF_JUDGE, kind, getattr(module, name))
    assert first_false(SOME)
