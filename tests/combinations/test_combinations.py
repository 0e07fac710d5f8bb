"""Evaluations drawn at random over all features that may stand together, each held against the oracle by every reader.

A draw that disagrees is shrunk, and the message has the command that repeats it. What once was found stays, in `CASES`.
"""

from __future__ import annotations

import ast
import functools
import json
import sys
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from combinations import drawing, known, reading
from combinations.carrying_out import CarryOut, in_place, prepared, smaller, with_workers
from combinations.drawing import Draw
from combinations.in_place import Ended, command, interrupted, killed, without_processes
from combinations.oracle import Expected

HERE = Path(__file__).parent
DRAWS, FIRST = 22, 1
"""Of `make check`, and of `make test`."""
COVERED = 0.95
KILLED = "salt=5 rows=6 models=2 edit_seeds=2 batch=3 followed=1 hesitating=0.3 edit_refused=0.2 paid=1 way=kill"
PROCESSES = [
    "salt=3 rows=6 models=2 rounds=2 stop=5.5 edit_failed=0.1",
    KILLED,
    "salt=8 rows=5 turns=1 models=2 drift=1 pilot=1 way=interrupt",
    "salt=9 rows=7 models=2 arena=all garbled=0.1 rewrite=1 doubled=1 way=shards",
    "salt=11 rows=6 models=2 repeats=2 schedule=batch_sync devices=2 controls=2 way=retry",
    "salt=13 rows=6 models=2 folder=1 recorded=1 second=1 readings=2 order=by_category way=added",
    "salt=6 rows=6 models=2 rounds=2 batched=1 followed=1 hesitating=0.3 judge_error=0.1 way=kill",
]
"""Draws that are carried out by commands and workers that are processes."""
CASES = {
    "a kept edit is the edit before": "salt=5 rows=5 models=2 rounds=3 stop=5.5 arena=all drift=1",
    "one model told different words has a row for each": "salt=9 rows=6 models=2 rewrite=1 arena=all",
    "who is below the coverage is named": "salt=3 rows=6 models=2 arena=all garbled=0.2 unparseable=0.25",
    "judges that compare alone": "salt=4 rows=6 models=2 scorer=0 arena=all garbled=0.2",
    "names of columns in their order": "salt=218 rows=6 models=2 arena=cycles rounds=2 rewrite=1",
    "what a sample follows is made and counts nowhere": "salt=1 rows=5 turns=1 categories=2 only=1",
    "a critic is asked once": "salt=5 rows=5 rounds=2 repeats=2 edit_seeds=2",
    "a battle of a kept edit that is not asked yet refers to nothing": (
        "salt=347 rows=6 models=2 folder=1 arena=extended rounds=2 stop=6.5 edit_seeds=2"
    ),
    "a control is of a sample that was asked for": "salt=898 rows=7 broken=2 categories=2 turns=2 only=1 controls=2",
    "a skipped sample has its battles": "salt=7 rows=6 broken=1 models=2 arena=all",
    "a model is added to others without repeating what they were asked": (
        "salt=1387 rows=4 models=3 arena=all garbled=0.2 readings=2 way=reuse"
    ),
    "what is asked about equal edits is one answer, whatever it is": (
        "salt=5 rows=7 models=3 twins=1 restless=1 doubled=1 rounds=3 stop=5.5 arena=all repeats=2 way=kill"
    ),
    "so it is in little": "salt=5 rows=3 models=2 twins=1 restless=1 rounds=2 stop=5.5 arena=all repeats=2 way=kill",
    "a mask goes to every turn of who takes one": "salt=3 rows=6 models=3 masked=1 turns=2 doubled=1 edit_seeds=2",
    "a mask goes to rounds, and to what is resumed": (
        "salt=6 rows=6 models=2 masked=1 rounds=3 last=1 rewrite=1 edit_failed=0.1 way=kill"
    ),
    "what was bought in a batch is fetched once": (
        "salt=6 rows=6 models=2 rounds=2 batched=1 followed=1 hesitating=0.3 judge_error=0.1 pilot=1 way=kill"
    ),
    "a critic that answers otherwise is another one": (
        "salt=1474 rows=4 scorer=0 second=1 unparseable=0.25 drift=1 rounds=3 last=1 way=reuse"
    ),
}
"""What was found -> the draw that found it. All of it is true now."""
QUICK = ("a kept edit is the edit before", "so it is in little", "what a sample follows is made and counts nowhere")
"""What `make test` has of them: one of each way in which one task waits for another, and what was serious."""


@functools.cache
def draws() -> list[Draw]:
    """Of very many those that have most pairs between them, and something to do: a second to find, in one process."""
    return drawing.covering(DRAWS, 0, lambda draw: not Expected(draw).refused)


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def agrees(draw: Draw, folder: Path, carry_out: CarryOut = in_place) -> None:
    """Every reader says of the draw what the oracle does, or what is known of it."""

    def tried(some: Draw) -> list[reading.Disagreement]:
        return known.unknown(some, reading.disagreements(some, folder, carry_out))

    if disagreements := tried(draw):
        kinds = {*reading.kinds(disagreements)}
        least = drawing.shrunk(draw, lambda less: bool(kinds & {*reading.kinds(tried(less))}))
        again = f"{sys.executable} tests/combinations/again.py {'--workers ' if carry_out is with_workers else ''}"
        lines = [
            drawing.told(draw),
            *map(str, disagreements[:12]),
            "the same with the fewest features:",
            f"{again}{drawing.told(least)}",
        ]
        pytest.fail("\n".join(lines), pytrace=False)


@pytest.mark.parametrize(
    "number", [*range(FIRST), *(pytest.param(n, marks=pytest.mark.check) for n in range(FIRST, DRAWS))]
)
def test_every_reader_of_a_drawn_evaluation_agrees_with_the_oracle(number: int, tmp_path: Path) -> None:
    agrees(draws()[number], tmp_path / "draw")


@pytest.mark.parametrize(
    "words",
    [pytest.param(words, marks=() if found in QUICK else pytest.mark.check) for found, words in CASES.items()],
    ids=CASES,
)
def test_what_was_found_once_stays_true(words: str, tmp_path: Path) -> None:
    agrees(drawing.read(words.split()), tmp_path / "draw")


@pytest.mark.parametrize(
    "words",
    [pytest.param(words, marks=() if words == KILLED else pytest.mark.check) for words in PROCESSES],
    ids=lambda words: words.split()[-1],
)
def test_the_same_with_commands_and_workers_that_are_processes(words: str, tmp_path: Path) -> None:
    agrees(drawing.read(words.split()), tmp_path / "draw", with_workers)


def test_nearly_every_pair_of_features_that_may_stand_together_is_drawn() -> None:
    legal = drawing.legal_pairs()

    def missing(some: list[Draw]) -> list[str]:
        drawn = set().union(*map(drawing.pairs_of, some))
        return [" x ".join(pair) for pair in legal if pair not in drawn]

    assert len(missing(draws())) <= (1 - COVERED) * len(legal), missing(draws())
    assert len(missing(draws()[::2])) > (1 - COVERED) * len(legal), "half of them would do"


def test_a_draw_is_shrunk_to_the_features_that_matter() -> None:
    draw = next(draw for draw in draws() if draw["controls"] and draw["edit_seeds"] > 1 and draw["rows"] > 5)
    least = drawing.shrunk(draw, lambda less: less["controls"] and less["edit_seeds"] > 1 and less["rows"] > 4)
    assert (drawing.features(least), least["rows"]) == (["edit_seeds", "controls"], 5)
    assert drawing.read(drawing.told(least).split()) == least


@pytest.mark.parametrize("refusal", drawing.REFUSALS, ids=lambda refusal: " ".join(refusal.features))
def test_what_may_not_stand_together_is_refused_before_anything_is_done(
    refusal: drawing.Refusal, tmp_path: Path
) -> None:
    draw = drawing.off() | refusal.features
    path = prepared(draw, tmp_path / "draw")
    with without_processes():
        ended = command("run", path, "--run-dir", tmp_path / "run")
    assert (ended.code, refusal.words in ended.err) == (2, True), ended.err
    assert not (tmp_path / "run").exists()
    assert (path.parent / "asked.jsonl").read_bytes() == b""


def test_what_is_known_to_disagree_does(tmp_path: Path) -> None:
    """An entry that is true by now has to go."""
    for number, explanation in enumerate(known.KNOWN):
        found = reading.disagreements(explanation.draw, tmp_path / f"{number}")
        assert any(explanation.explains(explanation.draw, each) for each in found), explanation.reason


@pytest.mark.check
def test_readers_of_another_evaluation_are_found_out(tmp_path: Path) -> None:
    """Held against the oracle of a draw with another number, nothing agrees that depends on what is planted."""
    draw = drawing.read(
        [
            "salt=2",
            "rows=6",
            "models=2",
            "second=1",
            "edit_seeds=2",
            "arena=all",
            "rounds=2",
            "controls=2",
            "edit_failed=0.3",
        ]
    )
    other = {**draw, "salt": 12}

    def swapped(of: Draw, folder: Path) -> Ended:
        return in_place(other, folder)

    kinds = {kind.split(":")[0] for kind in reading.kinds(reading.disagreements(draw, tmp_path / "draw", swapped))}
    assert kinds >= {
        "asked",
        "summary",
        "scores.csv",
        "battles",
        "rounds",
        "status",
        "compare",
        "leaderboard",
        "best-of",
        "paper",
    }


def test_the_oracle_knows_nothing_of_the_product() -> None:
    for name in ("oracle.py", "drawing.py", "planted.py"):
        tree = ast.parse((HERE / name).read_text("utf-8"))
        imported = [
            module
            for node in tree.body
            if isinstance(node, ast.Import | ast.ImportFrom)
            for module in (
                [node.module or ""] if isinstance(node, ast.ImportFrom) else [each.name for each in node.names]
            )
        ]
        assert not [module for module in imported if module.startswith("edit_eval")]


# -- sequences --


class Sequences(RuleBasedStateMachine):
    """A run that is begun, disturbed, extended, cut into shards, tried again and read in any order, and then ended."""

    folder: Path
    number = 0

    @initialize(
        salt=st.integers(0, 10_000),
        features=st.sets(
            st.sampled_from(["turns", "rounds", "edit_failed", "unparseable", "second", "arena", "edit_seeds"])
        ),
    )
    def begin(self, salt: int, features: set[str]) -> None:
        Sequences.number += 1
        plain = drawing.off(5, salt) | {"models": 2, "min_coverage": 0.0}
        self.draw = drawing.legal(plain | {name: drawing.FEATURES[name].values[0] for name in features})
        self.place = self.folder / str(Sequences.number)
        self.path = prepared(self.draw, self.place)
        self.before = self.place / "smaller.yaml"
        self.before.write_text(json.dumps(drawing.configuration(smaller(self.draw), self.place)), "utf-8")
        self.begun = False

    def start(self, *more: str, smaller_one: bool = False) -> Ended:
        self.begun = True
        with without_processes():
            return command("run", self.before if smaller_one else self.path, "--run-dir", self.place / "run", *more)

    @rule(after=st.integers(0, 8))
    def kill(self, after: int) -> None:
        self.begun = True
        killed(after, "run", self.path, "--run-dir", self.place / "run")

    @rule(after=st.integers(0, 8))
    def interrupt(self, after: int) -> None:
        self.begun = True
        with without_processes(interrupted(after)):
            assert command("run", self.path, "--run-dir", self.place / "run").code in (0, 3, 130)

    @rule(part=st.sampled_from(["1/3", "2/3", "3/3"]))
    def shard(self, part: str) -> None:
        assert self.start("--shard", part).code in (0, 3)

    @rule()
    def run_what_is_smaller(self) -> None:
        assert self.start(smaller_one=True).code in (0, 3)

    @rule()
    def run(self) -> None:
        assert self.start().code in (0, 3)

    @rule(status=st.sampled_from(["edit_failed", "unparseable"]))
    def retry(self, status: str) -> None:
        assert self.start("--retry", status).code in (0, 3)

    @precondition(lambda self: getattr(self, "begun", False) and (self.place / "run" / "config").exists())
    @invariant()
    def it_can_be_read(self) -> None:
        for verb in ("status", "agreement"):
            ended = command(verb, self.place / "run", "--json")
            assert not reading.BROKEN_DOWN.search(ended.err), ended.err

    def teardown(self) -> None:
        if not hasattr(self, "draw"):
            return
        ended = self.start()
        draw = {**self.draw, "way": "retry"}  # how often each was asked is not known any more
        disagreements = known.unknown(draw, reading.Readers(draw, self.place, lambda *_: ended).disagreements)
        assert not disagreements, [drawing.told(draw), *map(str, disagreements)]


def sequences(folder: Path, examples: int, steps: int) -> None:
    Sequences.folder = folder
    run_state_machine_as_test(
        Sequences, settings=settings(max_examples=examples, stateful_step_count=steps, deadline=None)
    )


@pytest.mark.parametrize("examples", [1, pytest.param(6, marks=pytest.mark.check)])
def test_a_run_comes_to_the_same_whatever_befalls_it(tmp_path: Path, examples: int) -> None:
    sequences(tmp_path, examples, 4)


# -- thousands of them --


@pytest.mark.chaos
@pytest.mark.parametrize("first", range(0, 2000, 50))
def test_two_thousand_draws(first: int, tmp_path: Path) -> None:
    for number in range(first, first + 50):
        agrees(drawing.drawn(number), tmp_path / "draw")


@pytest.mark.chaos
@pytest.mark.parametrize("first", range(10_000, 10_300, 10))
def test_three_hundred_draws_with_processes(first: int, tmp_path: Path) -> None:
    for number in range(first, first + 10):
        agrees(drawing.drawn(number), tmp_path / "draw", with_workers)


@pytest.mark.chaos
def test_two_hundred_sequences(tmp_path: Path) -> None:
    sequences(tmp_path, 200, 8)
