"""Judges that are shown two edits, on trial: impostors fail by what is meant for them, who sees passes."""

from __future__ import annotations

import random
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import pytest
from PIL import Image

from edit_eval.benchmarks.contract import AUDIT
from edit_eval.pictures import open_picture
from edit_eval.plugins.audit.findings import Findings, findings_of_two
from edit_eval.plugins.audit.pair_trial import PairTrial
from edit_eval.plugins.scenes.in_worker.judge import assess, score
from edit_eval.plugins.scenes.in_worker.ladder import Ladder
from edit_eval.plugins.scenes.in_worker.language import read
from edit_eval.plugins.scenes.in_worker.rungs import Recipe, draw_recipe, recipe_of
from edit_eval.plugins.scenes.in_worker.scene import scene_of
from edit_eval.protocols.pairwise import preference
from edit_eval.records import Judgement, Reading, Results, Sample, Scoring, Status
from edit_eval.statistics.votes import BACKWARD, FORWARD

TURNS = 16
"""Every scene counts so often, each time as one of its own: pictures are dear, and floors ask for many scenes."""


class Bout(NamedTuple):
    """One question: two edits, in the order in which they are shown."""

    sample: Sample
    source: Image.Image
    first: Image.Image
    second: Image.Image
    turn: int


Says = Callable[[Bout], str]
"""`A`, `B`, or `C` for a tie; anything else cannot be read."""
Pair = tuple[Sample, Image.Image, Image.Image, Image.Image]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Pair, ...]:
    parameters = Ladder.Parameters(scenes=2, size=160, battles=True, cache_dir=str(tmp_path_factory.mktemp("ladder")))
    sources: dict[str, Image.Image] = {}
    edits: dict[Recipe, Image.Image] = {}
    drawn_pairs = []
    for sample in Ladder(parameters).samples():
        if sample.source not in sources:
            sources[sample.source] = open_picture(sample.source)
        recipes = [
            recipe_of({name: open_picture(sample.pictures[name].path)}, "test") for name in ("source_2", "source_3")
        ]
        for recipe in recipes:
            if recipe not in edits:
                edits[recipe] = draw_recipe(recipe)
        drawn_pairs.append((sample, sources[sample.source], *(edits[recipe] for recipe in recipes)))
    return tuple(drawn_pairs)


def audited(pairs: tuple[Pair, ...], says: Says, turns: int = TURNS) -> Findings:
    """What an audit finds of who says that, asked in both orders."""
    samples, battles = [], []
    for turn in range(turns):
        for sample, source, better, worse in pairs:
            fact = {**sample.facts[AUDIT], "scene": f"{sample.facts[AUDIT]['scene']}~{turn}"}
            samples.append(replace(sample, id=f"{sample.id}~{turn}", facts={AUDIT: fact}))
            labels = [says(Bout(sample, source, *shown, turn)) for shown in ((better, worse), (worse, better))]
            battles.append(battle(samples[-1], labels))
    scales = {"overall": preference("overall").scale}
    results = Results(
        name="audit",
        directory="nowhere",
        samples=tuple(samples),
        edits=(),
        judgements=(),
        edit_models=("rungs", "worse"),
        judges=(),
        battles=tuple(battles),
        battle_judges=("judge",),
        scoring={"judge": Scoring(protocol="on_trial_of_two", headline="overall", scales=scales)},
    )
    return findings_of_two(PairTrial.from_results(results, "judge"))


def battle(sample: Sample, labels: list[str]) -> Judgement:
    readings = {}
    for order, label in zip((FORWARD, BACKWARD), labels, strict=True):
        first = {"A": 1.0, "B": 0.0, "C": 0.5}.get(label)
        if first is None:
            readings[order] = Reading(status=Status.UNPARSEABLE, reason="no label")
            continue
        share = first if order == FORWARD else 1 - first
        readings[order] = Reading(values={f"overall.{order}": share, f"overall.{order}.tie": float(label == "C")})
    given = [reading.values[f"overall.{order}"] for order, reading in readings.items() if reading.status is Status.OK]
    scored = len(given) == 2
    return Judgement(
        sample_id=sample.id,
        category=sample.category,
        edit_model="rungs",
        other="worse",
        judge="judge",
        edit_seed=0,
        repeat=0,
        headline="overall",
        status=Status.OK if scored else Status.UNPARSEABLE,
        scores={"overall": sum(given) / 2} if scored else {},
        missing={} if scored else {"overall": (Status.UNPARSEABLE, "no label")},
        readings=(readings,),
    )


_seen: dict[tuple[str, str, int], tuple[float, Image.Image]] = {}
_files: dict[int, tuple[float, Image.Image]] = {}
_sums: dict[int, tuple[int, Image.Image]] = {}


def worth(bout: Bout, edit: Image.Image) -> float:
    """What `scene_judge` makes of an edit, which is asked once about equal pictures."""
    key = bout.sample.instruction, bout.sample.category, id(edit)
    if key not in _seen:
        shares = assess(scene_of(bout.source, "test"), read(bout.sample.instruction), bout.sample.category, edit).shares
        _seen[key] = score(shares), edit
    return _seen[key][0]


def preferring(first: float, second: float) -> str:
    return "C" if abs(first - second) < 0.05 else "A" if first > second else "B"


def seeing(bout: Bout) -> str:
    return preferring(worth(bout, bout.first), worth(bout, bout.second))


def leaning(bout: Bout) -> str:
    """Sees, and is swayed by what comes first."""
    return preferring(worth(bout, bout.first) + 5.0, worth(bout, bout.second))


def sum_of(edit: Image.Image) -> int:
    if id(edit) not in _sums:
        _sums[id(edit)] = zlib.crc32(edit.tobytes()), edit
    return _sums[id(edit)][0]


def chance_of(bout: Bout, salt: str = "") -> random.Random:
    shown = sum_of(bout.first), sum_of(bout.second)
    return random.Random(f"{salt} {bout.turn} {bout.sample.id} {shown}")


def erring(bout: Bout) -> str:
    """An honest judge whose eyes are not the best, and who does not care for the order."""
    chance = chance_of(bout)
    return preferring(*(worth(bout, edit) + chance.gauss(0.0, 0.4) for edit in (bout.first, bout.second)))


def believing_words(bout: Bout) -> str:
    if bout.sample.facts[AUDIT]["view"].startswith("words"):
        return "B" if worth(bout, bout.first) > worth(bout, bout.second) else "A"
    return seeing(bout)


def more_change(bout: Bout) -> str:
    """Whatever was asked for."""
    return preferring(*(float(changed(bout.source, edit)) for edit in (bout.first, bout.second)))


def changed(source: Image.Image, edit: Image.Image) -> int:
    """How many of some bytes of the two differ."""
    both = source.convert("RGB").tobytes(), edit.convert("RGB").tobytes()
    return sum(a != b for a, b in zip(*(pixels[::97] for pixels in both), strict=True))


def longest(bout: Bout) -> str:
    """Prefers the picture with more in it: the one whose file is larger."""
    return preferring(*(in_file(edit) for edit in (bout.first, bout.second)))


def in_file(edit: Image.Image) -> float:
    if id(edit) not in _files:
        _files[id(edit)] = float(len(zlib.compress(edit.tobytes(), 1))), edit
    return _files[id(edit)][0]


def simulated(audit: int, *, errs: float, leans: float = 0.0, guesses: float = 0.0) -> Says:
    """Sees, but for an error of each look at an edit, what it gives to the first, and a share that it guesses."""

    def says(bout: Bout) -> str:
        chance = chance_of(bout, f"{audit}")
        if chance.random() < guesses:
            return chance.choice("AB")
        first, second = (worth(bout, edit) + chance.gauss(0.0, errs) for edit in (bout.first, bout.second))
        return preferring(first + leans, second)

    return says


VERDICTS = ("passed", "limited", "failed")
OPERATING_CURVE = (
    # how the judge is, and how many of 40 audits pass, come to `limited` and fail: at least, at most
    ({"errs": 1.0}, (39, 40), (0, 1), (0, 0)),
    ({"errs": 2.0}, (38, 40), (0, 2), (0, 0)),
    ({"errs": 3.0}, (0, 14), (26, 40), (0, 6)),
    ({"errs": 1.0, "leans": 2.0}, (38, 40), (0, 2), (0, 0)),
    ({"errs": 1.0, "leans": 4.0}, (0, 0), (0, 4), (36, 40)),
    ({"errs": 0.3, "guesses": 0.05}, (36, 40), (0, 4), (0, 0)),
    ({"errs": 0.3, "guesses": 0.1}, (1, 18), (22, 39), (0, 0)),
    ({"errs": 0.3, "guesses": 0.25}, (0, 0), (38, 40), (0, 2)),
    ({"errs": 0.3, "guesses": 0.5}, (0, 0), (0, 0), (40, 40)),
)


IMPOSTORS: dict[str, tuple[Says, str]] = {
    # and the measure that is meant for it
    "always the first": (lambda bout: "A", "contradictions"),
    "always the last": (lambda bout: "B", "contradictions"),
    "always a tie": (lambda bout: "C", "order"),
    "random": (lambda bout: chance_of(bout).choice("AB"), "contradictions"),
    "random by the clock": (lambda bout: chance_of(bout, bout.sample.facts[AUDIT]["view"]).choice("ABC"), "same_again"),
    "the larger file": (longest, "instruction"),
    "more change": (more_change, "instruction"),
    "the letter in its words": (lambda bout: "Image B", "unscored"),
}


def missed(findings: Findings) -> set[str]:
    return {name for name, measure in findings.measures.items() if measure.passed is False}


@pytest.mark.check
def test_a_judge_that_sees_passes(pairs: tuple[Pair, ...]) -> None:
    findings = audited(pairs, seeing)
    assert missed(findings) == set()
    assert findings.verdict == "passed"
    assert findings.measures["contradictions"].value == 0
    assert findings.measures["called_equal"].value == 1
    assert findings.measures["first_shown"].value == pytest.approx(0.5)


@pytest.mark.one_in(9)
@pytest.mark.parametrize("name", IMPOSTORS)
def test_an_impostor_fails_by_what_is_meant_for_it(pairs: tuple[Pair, ...], name: str) -> None:
    says, meant = IMPOSTORS[name]
    findings = audited(pairs, says)
    assert findings.verdict == "failed"
    assert findings.measures[meant].is_missed
    assert findings.measures["order"].is_missed


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("says", "named"), [(leaning, "contradictions"), (believing_words, "words_en")], ids=["leaning", "believing"]
)
def test_a_planted_fault_is_named(pairs: tuple[Pair, ...], says: Says, named: str) -> None:
    findings = audited(pairs, says)
    assert findings.verdict != "passed"
    assert findings.measures[named].is_missed


@pytest.mark.chaos
@pytest.mark.parametrize(("how", *VERDICTS), OPERATING_CURVE)
def test_the_operating_curve(
    pairs: tuple[Pair, ...],
    how: dict[str, float],
    passed: tuple[int, int],
    limited: tuple[int, int],
    failed: tuple[int, int],
) -> None:
    """At the default size: the scenes drawn count twenty times, so that pictures vary less than in an audit."""
    made = Counter(audited(pairs, simulated(number, **how), 20).verdict for number in range(40))
    for verdict, (least, most) in zip(VERDICTS, (passed, limited, failed), strict=True):
        assert least <= made[verdict] <= most, made


def test_an_honest_judge_that_errs_prefers_nothing_wrongly(pairs: tuple[Pair, ...]) -> None:
    findings = audited(pairs, erring)
    assert findings.verdict != "failed"
    assert not findings.measures["contradictions"].is_missed
    assert not [name for name, measure in findings.measures.items() if measure.is_reversed]
