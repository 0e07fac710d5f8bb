"""What waits for what."""

from edit_eval.scheduling.tasks import Task, Work


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
