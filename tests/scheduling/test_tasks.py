"""What waits for what."""

from edit_eval.scheduling.tasks import PILOT, Task, Work


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
    assert (work.left("edit:e"), work.left("judge:j"), work.units_left("judge:j")) == (2, 1, 2)
    for task in (*edits, judging):
        work.finish(task)
    assert work.finished


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
    assert work.finished


def test_the_pilot_holds_nobody_back_and_is_ready_when_none_of_it_waits() -> None:
    ready: list[Task] = []
    work = Work(on_ready=ready.append)
    pilots = [work.add("edit:e", [n], phase=PILOT) for n in (0, 1)]
    bulk = work.add("edit:e", [2])
    later = work.add("edit:e", [3], phase=1)
    judged = [work.add("judge:j", [n], after=[n], phase=PILOT) for n in (0, 1)]
    assert ready == [*pilots, bulk]
    assert (work.pilot_ready("edit:e"), work.pilot_ready("judge:j")) == (True, False)
    assert (work.left("edit:e"), work.pilot_left("edit:e")) == (3, 2)
    work.settle(0)
    assert not work.pilot_ready("judge:j")
    work.settle(1)
    assert work.pilot_ready("judge:j")
    work.finish(bulk)
    assert later in ready, "the next phase begins whether or not the pilot is over"
    for task in (*pilots, *judged):
        assert work.piloting
        work.finish(task)
    assert not work.piloting
    assert not work.finished


def test_a_pilot_whose_questions_wait_for_its_own_answers_only_is_ready() -> None:
    """A judge is called when the edits are there, though the second question waits for the first."""
    work = Work()
    work.answers_from = 100
    first = work.add("judge:x", [0], after=[7], phase=PILOT)
    work.add("judge:x", [1], after=[7, 100], phase=PILOT)
    assert not work.pilot_ready("judge:x")
    work.settle(7)
    assert work.pilot_ready("judge:x")
    work.finish(first)
    work.settle(100)
    assert work.pilot_ready("judge:x")
