"""Who gets which task under each schedule."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edit_eval.records import Sample
from edit_eval.scheduling.batches import batch_categories, cut_batches, first_samples, pilots
from edit_eval.scheduling.estimates import Estimates, Mean, roughly
from edit_eval.scheduling.fleet import Replica
from edit_eval.scheduling.queues import QUEUES, BatchSyncQueue, PullQueue, RankedTasks, RoundRobinQueue
from edit_eval.scheduling.tasks import ANSWERS_FROM, PILOT, Model, Task, Work

MODEL = Model("editor", "edit", (("cuda:0",), ("cuda:1",)))


def replicas() -> list[Replica]:
    return [Replica(i, MODEL, i, place) for i, place in enumerate(MODEL.places)]


def tasks(count: int, alone: bool = False) -> list[Task]:
    return [Task(i, MODEL.key, (i,), alone=alone) for i in range(count)]


@pytest.mark.parametrize("schedule", QUEUES)
def test_every_task_is_taken_exactly_once(schedule: str) -> None:
    queue, (first, second) = QUEUES[schedule](replicas()[:2]), replicas()
    for task in tasks(7):
        queue.add(task)
    assert len(queue) == 7
    taken = []
    while len(queue):
        for replica in (first, second):
            task = queue.take(replica)
            if task is not None:
                taken.append(task.number)
                queue.finish(task)
    assert sorted(taken) == list(range(7))


@pytest.mark.parametrize("schedule", QUEUES)
def test_suspects_come_last_and_alone(schedule: str) -> None:
    queue, (first, _) = QUEUES[schedule](replicas()[:1]), replicas()
    suspect, healthy = Task(0, MODEL.key, (0,), alone=True), Task(1, MODEL.key, (1,))
    queue.add(suspect)
    queue.add(healthy)
    assert queue.take(first) is healthy
    first.hands[1] = healthy
    assert queue.take(first) is None
    first.hands.clear()
    queue.finish(healthy)
    assert queue.take(first) is suspect


@pytest.mark.parametrize("schedule", QUEUES)
def test_the_pilot_comes_first_and_its_suspects_right_after_it(schedule: str) -> None:
    queue, (first, _) = QUEUES[schedule](replicas()[:1]), replicas()
    bulk, suspect = Task(0, MODEL.key, (0,)), Task(1, MODEL.key, (1,), alone=True)
    pilot, its_suspect = Task(2, MODEL.key, (2,), PILOT), Task(3, MODEL.key, (3,), PILOT, alone=True)
    for task in (bulk, suspect, pilot, its_suspect):
        queue.add(task)
    for expected in (pilot, its_suspect, bulk, suspect):
        taken = queue.take(first)
        assert taken is expected
        queue.finish(taken)


def test_a_suspect_of_the_pilot_waits_for_empty_hands_and_nothing_overtakes_it() -> None:
    queue, (first, second) = PullQueue(replicas()), replicas()
    suspect, bulk = Task(0, MODEL.key, (0,), PILOT, alone=True), Task(1, MODEL.key, (1,))
    queue.add(suspect)
    queue.add(bulk)
    first.hands[9] = Task(9, MODEL.key, (9,))
    assert queue.take(first) is None
    assert queue.take(second) is suspect


@pytest.mark.parametrize("schedule", ["round_robin", "batch_sync"])
def test_what_is_dealt_is_open_to_its_owner_alone(schedule: str) -> None:
    queue = QUEUES[schedule](replicas())
    for task in tasks(3):
        queue.add(task)
    assert all(queue.has_exclusive_task(index) and queue.awaits(index) for index in (0, 1))
    second = replicas()[1]
    assert queue.take(second) is not None
    assert not queue.has_exclusive_task(1)
    assert not queue.awaits(1), "the third is for the first of the next round"
    queue.retire(0)
    assert queue.awaits(1)


def test_pull_takes_in_order_and_a_returned_task_is_the_next() -> None:
    queue, (first, second) = PullQueue(replicas()), replicas()
    one, two, three = tasks(3)
    for task in (one, two, three):
        queue.add(task)
    assert queue.take(first) is one
    assert queue.take(second) is two
    queue.add(one)
    assert queue.take(second) is one
    assert queue.take(first) is three


def test_round_robin_deals_i_mod_n_and_a_retired_replica_leaves_its_tasks_to_others() -> None:
    queue, (_, second) = RoundRobinQueue(replicas()), replicas()
    made = tasks(5)
    for task in made:
        queue.add(task)
    assert [queue.take(second), queue.take(second), queue.take(second)] == [made[1], made[3], None]
    queue.retire(0)
    assert [queue.take(second) for _ in range(4)] == [made[0], made[2], made[4], None]


def test_batch_sync_hands_out_the_next_n_when_the_last_n_are_finished() -> None:
    queue, (first, second) = BatchSyncQueue(replicas()), replicas()
    made = tasks(3)
    for task in made:
        queue.add(task)
    assert queue.take(first) is made[0]
    assert queue.take(first) is None
    assert queue.take(second) is made[1]
    queue.finish(made[0])
    assert queue.take(first) is None, "the other one of the batch is not finished"
    queue.finish(made[1])
    assert queue.take(first) is made[2]


def test_batch_sync_waits_for_nobody_who_is_away_for_the_pilot() -> None:
    queue, (first, second) = BatchSyncQueue(there := replicas()), there
    first.wanted = second.wanted = True
    made = tasks(9)
    for task in made:
        queue.add(task)
    queue.mark_away(1)
    for task in (made[0], made[2], made[4]):
        assert queue.take(first) is task
        assert queue.ends_batch(task)
        queue.finish(task)
    assert queue.awaits(1), "what is its own waits for it"
    queue.mark_back(1)
    assert queue.batch() == (2, 5)
    for batch in ([made[6], made[1]], [made[7], made[3]], [made[8], made[5]]):
        assert [queue.take(first), queue.take(second)] == batch, "it is waited for again, and no batch is of one"
        for task in batch:
            queue.finish(task)
    assert queue.batch() is None


@pytest.mark.parametrize("schedule", ["round_robin", "batch_sync"])
@given(
    count=st.integers(0, 60), meanwhile=st.integers(0, 20), left=st.frozensets(st.integers(0, 3)), again=st.booleans()
)
def test_what_one_has_missed_is_dealt_again_among_those_who_are_there(
    schedule: str, count: int, meanwhile: int, left: frozenset[int], again: bool
) -> None:
    """Of four the first goes and comes back; who has left for good, or for the judge, is given nothing."""
    model = Model("editor", "edit", tuple((f"cuda:{n}",) for n in range(4)))
    there = [Replica(n, model, n, place) for n, place in enumerate(model.places)]
    queue = QUEUES[schedule](there)
    made = tasks(count)
    for task in made:
        queue.add(task)
    queue.mark_away(0)
    taken = []
    for _ in range(meanwhile):
        together = [task for replica in there[1:] if (task := queue.take(replica)) is not None]
        for task in together:
            queue.finish(task)
        taken += together
    for replica in there:
        replica.wanted = replica.index == 0 or replica.index not in left
    before = [len(share) for share in queue.list_tasks()]
    queue.mark_back(0)
    if again:  # only what it missed is dealt again, and once
        queue.mark_back(0)
    shares = queue.list_tasks()
    after = [len(share) for share in shares]
    assert sorted(task.number for share in shares for task in share) == [
        task.number for task in made if task not in taken
    ]
    assert after[0] <= 1 + min(after[replica.index] for replica in there if replica.wanted)
    for replica in there[1:]:
        assert after[replica.index] >= before[replica.index]
        assert replica.wanted or after[replica.index] == before[replica.index]
    kept = [task.number for task in made if task.number % 4 == 0]
    assert [task.number for task in shares[0]] == kept[: len(shares[0])], "it goes on with its first"


@given(st.integers(1, 9), st.lists(st.tuples(st.integers(0, 1), st.booleans()), max_size=40))
def test_the_number_of_batches_never_changes(count: int, steps: list[tuple[int, bool]]) -> None:
    """`batch 20/45` in the progress: whoever is away for the pilot meanwhile, and however long."""
    queue, both = BatchSyncQueue(replicas()), replicas()
    for task in tasks(count):
        queue.add(task)
    seen: list[tuple[int, int]] = []
    for index, away in [*steps, *([(0, False), (1, False)] * count)]:
        if away:
            queue.mark_away(index)
        else:
            queue.mark_back(index)
            if (task := queue.take(both[index])) is not None:
                seen += filter(None, [queue.batch()])
                queue.finish(task)
    assert queue.batch() is None
    assert {of for _, of in seen} == {-(-count // 2)}
    assert [number for number, _ in seen] == sorted(number for number, _ in seen)


@pytest.mark.parametrize("schedule", ["pull", "round_robin"])
def test_a_suspect_is_left_to_another_replica_while_one_is_there_or_coming(schedule: str) -> None:
    first, second = there = replicas()
    queue = QUEUES[schedule](there)
    suspect = Task(5, MODEL.key, (0,), alone=True, failed_on=frozenset({0}))
    queue.add(suspect)
    first.wanted = second.wanted = True
    assert queue.take(first) is None
    assert queue.awaits(0), "the other one may yet go"
    assert queue.take(second) is suspect
    queue.add(suspect)
    second.leaving = "early"
    assert queue.take(first) is suspect
    queue.add(suspect)
    second.leaving, second.wanted = "", False
    assert queue.take(first) is suspect


def test_what_is_open_to_a_replica_is_every_task_but_those_that_ask_for_another() -> None:
    queue = PullQueue(replicas())
    queue.add(Task(0, MODEL.key, (0,)))
    queue.add(Task(1, MODEL.key, (1,), failed_on=frozenset({0})))
    assert (queue.count_open_tasks(0), queue.count_open_tasks(1)) == (1, 2)


def test_batch_sync_gives_suspects_to_the_replicas_after_the_one_where_the_first_of_them_failed() -> None:
    queue, (first, second) = BatchSyncQueue(replicas()), replicas()
    suspects = [Task(5 + i, MODEL.key, (i,), alone=True, failed_on=frozenset({i})) for i in range(2)]
    for suspect in suspects:
        queue.add(suspect)
    assert queue.take(second) is suspects[0]
    assert queue.take(first) is suspects[1]
    for suspect in suspects:
        queue.finish(suspect)
    queue.add(suspects[0])
    assert not queue.has_exclusive_task(0)
    queue.mark_away(1)
    assert queue.awaits(1), "its place loads it again"
    assert queue.has_exclusive_task(0)
    assert queue.take(first) is suspects[0]


def test_batch_sync_takes_back_what_was_dealt_to_one_that_goes() -> None:
    """What is in the batch under way, and not in its hands yet, is its own again."""
    queue, (first, second) = BatchSyncQueue(there := replicas()), there
    made = tasks(4)
    for task in made:
        queue.add(task)
    assert queue.take(first) is made[0]
    queue.mark_away(1)
    queue.finish(made[0])
    assert queue.take(first) is made[2], "the batch was over without it"
    queue.finish(made[2])
    queue.mark_back(1)
    for task in (made[1], made[3]):
        assert [queue.take(first), queue.take(second)] == [None, task], "the first has left, and is given nothing"
        queue.finish(task)
    assert len(queue) == 0


def test_batch_sync_keeps_what_is_dealt_and_gives_to_all_what_a_retired_one_leaves() -> None:
    queue, (first, second) = BatchSyncQueue(replicas()), replicas()
    made = tasks(6)
    for task in made[4:] + made[:4]:
        queue.add(task)
    assert queue.list_tasks([Task(7, MODEL.key, (7,), phase=1)])[1][-1].number == 7
    assert [[task.number for task in share] for share in queue.list_tasks()] == [[0, 2, 4], [1, 3, 5]]
    assert [queue.take(second), queue.take(first)] == [made[1], made[0]]
    queue.finish(made[0])
    queue.finish(made[1])
    queue.retire(0)
    for expected in (made[2], made[3], made[4], made[5]):
        assert queue.take(second) is expected
        queue.finish(expected)


def test_batch_sync_waits_in_the_next_phase_for_one_that_went_when_nothing_was_left() -> None:
    queue, (first, second) = BatchSyncQueue(replicas()), replicas()
    queue.mark_away(1)
    made = tasks(2)
    for task in made:
        queue.add(task)
    assert [queue.take(first), queue.take(second)] == made


@given(st.lists(st.one_of(st.none(), st.tuples(st.integers(-1, 2), st.booleans())), max_size=60))
def test_the_lowest_rank_comes_first_in_whatever_order_tasks_come(steps: list[tuple[int, bool] | None]) -> None:
    ranked, there = RankedTasks(), list[Task]()
    for number, step in enumerate(steps):
        if step is not None:
            task = Task(number, MODEL.key, (number,), step[0], alone=step[1])
            ranked.add(task)
            there.append(task)
        elif there:
            there.sort(key=lambda task: task.rank)
            assert ranked.pop() is there.pop(0)
        assert len(ranked) == len(there)
        assert ranked.list_by_rank() == sorted(there, key=lambda task: task.rank)
        assert ranked.first is (min(there, key=lambda task: task.rank) if there else None)


# Batches are a matter of the benchmark alone.


CATEGORIES = st.lists(st.sampled_from("abcde"), max_size=60)


def test_batches_are_cut_by_category_and_pilots_are_alone() -> None:
    assert cut_batches(list("aabbaaab"), 2) == [0, 1, 2, 3, 1, 4, 4, 3]
    assert pilots(list("aabbaaab")) == [0, 2]


def test_a_sample_that_is_judged_alone_is_in_nobodys_batch() -> None:
    samples = [
        Sample(id=str(n), index=n, category="a", pictures={}, instruction="", alone=n in (2, 3)) for n in range(6)
    ]
    assert cut_batches(batch_categories(samples), 16) == [0, 1, 2, 3, 1, 1]


@given(CATEGORIES, st.integers(1, 5))
def test_batches_have_one_category_and_at_most_so_many_members(categories: list[str], size: int) -> None:
    batches = cut_batches(categories, size)
    for number in set(batches):
        members = [i for i, batch in enumerate(batches) if batch == number]
        assert len(members) <= size
        assert len({categories[i] for i in members}) == 1
        if set(members) & set(pilots(categories)):
            assert len(members) == 1


@given(CATEGORIES, st.integers(1, 5))
def test_what_comes_later_in_the_benchmark_changes_no_earlier_company(categories: list[str], size: int) -> None:
    whole, part = cut_batches(categories, size), cut_batches(categories[: len(categories) // 2], size)
    assert part == whole[: len(part)]


@pytest.mark.parametrize(
    ("categories", "first"),
    [
        ("aaaaa", [0, 1, 2]),
        ("aabab", [0, 1, 2]),
        ("aaabb", [0, 1, 3]),
        ("abcab", [0, 1, 2]),
        ("ddaabbcc", [0, 2, 4, 6]),
        ("ab", [0, 1]),
        ("", []),
    ],
)
def test_a_pilot_takes_the_first_of_each_category_and_three_at_least(categories: str, first: list[int]) -> None:
    assert first_samples(categories) == first


# Running means, and times in words.


def test_a_mean_is_unknown_before_the_first_one_and_counts_things_not_times() -> None:
    mean = Mean()
    assert mean.value is None
    mean.add(6.0, 3)
    mean.add(2.0)
    assert mean.value == 2.0
    assert Estimates().unit["edit:any"].value is None


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "1 s"),
        (3.6, "4 s"),
        (9.4, "9 s"),
        (9.6, "10 s"),
        (24.4, "25 s"),
        (57.4, "55 s"),
        (57.6, "1 min"),
        (441.0, "7 min"),
        (3569.0, "59 min"),
        (3580.0, "1 h"),
        (7500.0, "2 h 5 min"),
        (9 * 3600 + 3590.0, "10 h"),
        (111_600.0, "31 h"),
    ],
)
def test_a_foretold_time_claims_no_more_than_is_known(seconds: float, words: str) -> None:
    assert roughly(seconds) == words


# What waits for what.


def test_a_task_is_ready_when_the_last_edit_it_waits_for_is_settled() -> None:
    ready: list[Task] = []
    work = Work(on_ready=ready.append)
    edits = [work.add("edit:e", [n]) for n in (0, 1)]
    judging = work.add("judge:j", [0, 1], after=[0, 1])
    assert ready == edits
    work.settle(0)
    assert judging not in ready
    work.settle(1)
    assert ready[-1] is judging
    assert (work.count_tasks_left("edit:e"), work.count_tasks_left("judge:j"), work.units_left("judge:j")) == (2, 1, 2)
    for task in (*edits, judging):
        work.finish(task)
    assert work.is_finished


def test_a_later_phase_waits_until_nothing_of_the_earlier_one_is_left() -> None:
    ready: list[Task] = []
    work = Work(on_ready=ready.append)
    early = work.add("edit:e", [0], phase=0)
    late = work.add("edit:e", [1], phase=1)
    assert ready == [early]
    again = work.add("edit:e", [0], phase=0, alone=True)
    work.finish(early)
    assert ready == [early, again], "what is tried again belongs to its phase"
    work.finish(again)
    assert ready == [early, again, late]


def test_a_batch_without_any_edit_is_finished_without_a_word() -> None:
    ready: list[Task] = []
    work = Work(on_ready=ready.append, in_vain=lambda task: task.model == "judge:j")
    edit = work.add("edit:e", [0])
    work.add("judge:j", [0], after=[0])
    work.settle(0)
    work.finish(edit)
    assert ready == [edit]
    assert work.is_finished


def test_the_pilot_holds_nobody_back_and_is_ready_when_none_of_it_waits() -> None:
    ready: list[Task] = []
    work = Work(on_ready=ready.append)
    pilots = [work.add("edit:e", [n], phase=PILOT) for n in (0, 1)]
    bulk = work.add("edit:e", [2])
    later = work.add("edit:e", [3], phase=1)
    judged = [work.add("judge:j", [n], after=[n], phase=PILOT) for n in (0, 1)]
    assert ready == [*pilots, bulk]
    assert (work.pilot_ready("edit:e"), work.pilot_ready("judge:j")) == (True, False)
    assert (work.count_tasks_left("edit:e"), work.pilot_left("edit:e")) == (3, 2)
    work.settle(0)
    assert not work.pilot_ready("judge:j")
    work.settle(1)
    assert work.pilot_ready("judge:j")
    work.finish(bulk)
    assert later in ready, "the next phase begins whether or not the pilot is over"
    for task in (*pilots, *judged):
        assert work.is_piloting
        work.finish(task)
    assert not work.is_piloting
    assert not work.is_finished


def test_a_pilot_whose_questions_wait_for_its_own_answers_only_is_ready() -> None:
    """A judge is called when the edits are there, though the second question waits for the first."""
    work = Work()
    first = work.add("judge:x", [0], after=[7], phase=PILOT)
    work.add("judge:x", [1], after=[7, ANSWERS_FROM], phase=PILOT)
    assert not work.pilot_ready("judge:x")
    work.settle(7)
    assert work.pilot_ready("judge:x")
    work.finish(first)
    work.settle(ANSWERS_FROM)
    assert work.pilot_ready("judge:x")
