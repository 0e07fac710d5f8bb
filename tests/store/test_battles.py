"""Cells of two edits: their numbers, addresses and keys, what waits for what, and what becomes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from edit_eval.records import Reply, Status
from edit_eval.statistics.battles import BattleOutcome, battle_outcome
from edit_eval.store.matrix import Matrix
from edit_eval.store.recall import edit_record
from edit_eval.store.run_directory import RunDirectory
from small_matrix import (
    comparing_judge,
    give_reply,
    imagined_edit,
    made_edit,
    recalled,
    reply_line,
    small_matrix,
    small_samples,
)


def matrix_of(samples: Any = 2, **more: Any) -> Matrix:
    made: dict[str, Any] = {"models": ("m", "n", "o"), "judges": (comparing_judge(),)}
    return small_matrix(samples, **made | more)


def made_all(matrix: Matrix) -> Matrix:
    """Every edit there, with pixels that say whose it is."""
    for number in range(matrix.cells.edits):
        model, _, sample = matrix.edit_parts(number)
        matrix.set_edit(number, imagined_edit(matrix, number, f"{model.name}-{sample.id}"))
    return matrix


def said(label: str) -> Reply:
    return Reply(text=f'{{"better": "{label}"}}')


def cells_of_first(matrix: Matrix) -> tuple[int, int, int]:
    """The first battle's judgement, and its cells, forward and backward."""
    (judgement,) = matrix.cells.judgements_of(matrix.cells.subjects_of("battle")[0])
    return judgement, *matrix.cells.cells_of(judgement)


def test_numbers_and_addresses_beside_a_judge_of_single_edits() -> None:
    judges = "critic", comparing_judge(), comparing_judge("duel", pairs="cycles")
    matrix = matrix_of(judges=judges, repeats=2, controls=2, models=("m", "n", "o", "p"))
    duel: Any = matrix.experiment.judges[2].protocol
    met = [pair for sample in matrix.experiment.samples for pair in duel.battles(sample, matrix.experiment.edit_models)]
    assert (len(matrix.cells.subjects_of("battle")), len(met)) == (12, 8)
    both = [len(matrix.cells.judgements_of(battle)) for battle in matrix.cells.subjects_of("battle")]
    assert sorted(both) == [2] * 4 + [4] * 8
    addresses = [matrix.address(cell) for cell in range(len(matrix.cells))]
    assert len({*addresses}) == len(addresses)
    assert {name for *_, name in addresses} == {"", "n", "o", "p"}
    assert {judgement.judge for judgement in (*matrix.judgements(), *matrix.rows("control"))} == {"critic"}
    names = [model.name for model in matrix.experiment.edit_models]
    fought = [battle for battle in matrix.rows("battle") if battle.judge == "duel"]
    assert {(battle.edit_model, battle.other) for battle in fought} == {
        (names[a], names[b]) for a, b in map(sorted, met)
    }


def test_keys_hold_both_pictures_and_their_order_and_no_names() -> None:
    matrix, other = made_all(matrix_of()), made_all(matrix_of(models=("o", "n", "m")))
    keys = {matrix.key(cell): matrix.address(cell) for cell in range(len(matrix.cells))}
    assert len(keys) == len(matrix.cells) == 2 * 3 * 2
    others = {other.key(cell): other.address(cell) for cell in range(len(other.cells))}
    assert keys.keys() == others.keys()
    for key, (sample, first, _, _, _, question, _, second) in keys.items():
        exchanged = {"overall.forward": "overall.backward", "overall.backward": "overall.forward"}[question]
        assert others[key][:2] + others[key][5:6] + others[key][7:] == (sample, second, exchanged, first)
    same = made_all(matrix_of())
    same.set_edit(0, imagined_edit(same, 0, "n-s0"))
    assert len({same.key(cell) for cell in cells_of_first(same)[1:]}) == 1, "equal pictures have no order"


@pytest.mark.parametrize(
    ("forward", "backward", "came"),
    [
        ("A", "B", BattleOutcome.FIRST),
        ("B", "A", BattleOutcome.SECOND),
        ("C", "C", BattleOutcome.TIE),
        ("B", "B", BattleOutcome.CONTRADICTION),
    ],
)
def test_a_judgement_has_both_orders(forward: str, backward: str, came: BattleOutcome) -> None:
    matrix = made_all(matrix_of())
    judgement, first, second = cells_of_first(matrix)
    give_reply(matrix, first, said(forward))
    assert matrix.judgement(judgement).status is Status.PENDING
    give_reply(matrix, second, said(backward))
    assert battle_outcome(matrix.judgement(judgement), "overall") is came


def test_one_order_alone_is_missing_with_its_reason() -> None:
    matrix = made_all(matrix_of())
    judgement, first, second = cells_of_first(matrix)
    give_reply(matrix, first, said("A"))
    for _ in range(2):
        give_reply(matrix, second, Reply(text="Image B"))
    battle = matrix.judgement(judgement)
    assert (battle.status, battle.scores, battle_outcome(battle, "overall")) == (
        Status.UNPARSEABLE,
        {},
        BattleOutcome.MISSING,
    )


def test_a_battle_waits_for_both_edits_and_ends_with_one_that_failed() -> None:
    matrix = matrix_of(1)
    judgement, first, _ = cells_of_first(matrix)
    matrix.set_edit(0, imagined_edit(matrix, 0))
    assert not matrix.can_be_asked(first)
    failed = made_all(matrix_of(1)).edits[1]
    matrix.set_edit(1, type(failed)(**{**vars_of(failed), "status": Status.EDIT_FAILED, "image": "", "reason": "no"}))
    assert (matrix.judgement(judgement).status, matrix.judgement(judgement).reason) == (Status.EDIT_FAILED, "no")
    other = matrix_of(1)  # the other way round: what failed decides, though the first is still to come
    other.set_edit(1, matrix.edits[1])
    assert other.judgement(cells_of_first(other)[0]).status is Status.EDIT_FAILED


def vars_of(edit: Any) -> dict[str, Any]:
    return {name: getattr(edit, name) for name in type(edit).__dataclass_fields__}


def test_another_picture_takes_the_replies_away_and_the_same_one_gives_them_back() -> None:
    matrix = made_all(matrix_of())
    judgement, first, second = cells_of_first(matrix)
    give_reply(matrix, first, said("A"))
    give_reply(matrix, second, said("B"))
    before = matrix.edits[2]  # n's edit of the first sample
    assert matrix.subjects_showing(2) == [
        2,
        matrix.cells.subjects_of("battle")[0],
        matrix.cells.subjects_of("battle")[2],
    ]
    matrix.set_edit(2, imagined_edit(matrix, 2, "another"))
    assert matrix.judgement(judgement).status is Status.PENDING
    assert [battle.sample_id for battle in matrix.set_edit(2, before)] == ["s0"]
    assert matrix.judgement(judgement).status is Status.OK


def test_replies_are_recalled_where_the_models_are_listed_otherwise(tmp_path: Path) -> None:
    matrix, directory = matrix_of(), RunDirectory(tmp_path)
    for number in range(matrix.cells.edits):
        matrix.set_edit(number, made_edit(matrix, number, directory))
    lines = [reply_line(matrix, cell, said("AB"[cell % 2])) for cell in range(len(matrix.cells))]
    edits = [edit_record(edit) for edit in matrix.edits]
    for models in (("m", "n", "o"), ("o", "n", "m")):
        again = matrix_of(models=models)
        assert recalled(again, directory, edits, lines) == []
        won = {
            (battle.sample_id, battle.edit_model, battle.other): battle_outcome(battle, "overall")
            for battle in again.rows("battle")
        }
        first = BattleOutcome.FIRST if models[0] == "m" else BattleOutcome.SECOND
        assert won == {(sample, *pair): first for sample in ("s0", "s1") for pair in pairs_of(models)}


def test_rounds_are_added_by_what_is_complete_alone_and_end_when_all_are_told_apart() -> None:
    models = ("m", "n", "o", "p")
    made = {"models": models, "judges": (comparing_judge(pairs="extended", rounds=2),)}
    for decided, rounds in ((True, 1), (False, 2)):
        matrix = made_all(matrix_of(40, **made))
        first = [*matrix.cells.subjects_of("battle")]
        assert len(first) == 160
        for battle in first:
            (judgement,) = matrix.cells.judgements_of(battle)
            better = "A" if matrix.names_of(battle)[0] < matrix.names_of(battle)[1] else "B"
            for cell, order in zip(matrix.cells.cells_of(judgement), (0, 1), strict=True):
                assert cell % 16 or not matrix.unfold_more(), "a round that is not complete is not looked at"
                give_reply(matrix, cell, said({"A": "AB", "B": "BA"}[better][order] if decided else "C"))
        added = matrix.unfold_more()
        assert (bool(added), count_rounds(matrix)) == (not decided, rounds)
        assert matrix.pending == len(added)
        assert [*matrix.cells.subjects_of("battle")] == [*first, *added]
        assert matrix.unfold_more() == []
        every = made_all(matrix_of(40, **made))
        every.unfold_more(every=True)
        rest = every.cells.subjects_of("battle")[160:]
        assert decided or [*map(every.cells.subject, rest)] == [*map(matrix.cells.subject, added)]


def test_failures_of_a_later_round_are_forgotten_when_it_comes() -> None:
    """What failed in an earlier start is asked again where that is wanted, whichever round it is of."""
    made = {"models": ("m", "n", "o", "p"), "judges": (comparing_judge(pairs="extended", rounds=2),)}
    before = made_all(matrix_of(40, **made))
    answer_all(before, "C")
    failed = before.cells.cells_of_subject(before.unfold_more()[0])[0]
    answer_all(before, "C", but=failed)
    give_reply(before, failed, Reply(text="gone", ended=Status.JUDGE_ERROR, final=True))
    for retry, left in ((lambda status: False, 0), (lambda status: status is Status.JUDGE_ERROR, 1)):
        again = made_all(matrix_of(40, **made))
        again.replace_answers(before.answers)
        again.retry = retry
        again.unfold_more()
        assert (count_rounds(again), again.pending) == (2, left)


def count_rounds(matrix: Matrix) -> int:
    return 1 + max(matrix.cells.subject(number).round for number in matrix.cells.subjects_of("battle"))


def answer_all(matrix: Matrix, word: str, *, but: int | None = None) -> None:
    for cell in range(len(matrix.cells)):
        if cell != but and not matrix.replies(cell):
            give_reply(matrix, cell, said(word))


def pairs_of(models: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(first, second) for place, first in enumerate(models) for second in models[place + 1 :]]


def test_samples_that_follow_others_have_no_battles_and_those_of_bad_ones_are_skipped() -> None:
    matrix = matrix_of(small_samples(4, bad=[1], follows={2: 0}))
    assert {battle.sample_id for battle in matrix.rows("battle")} == {"s0", "s1", "s3"}
    assert {battle.sample_id for battle in matrix.rows("battle") if battle.status is Status.SKIPPED} == {"s1"}
