"""The policy, driven by the simulated driver: how long runs take, and that every combination comes to its end."""

import itertools
import random

import pytest

from edit_eval.plugins.preparation.prediction import Durations, Prediction
from edit_eval.scheduling.estimates import Estimates
from edit_eval.scheduling.fleet import Command, Replica, ReplicaState
from edit_eval.scheduling.policies import Policy
from edit_eval.scheduling.tasks import Model, Work
from imagined_tasks import simulated

SIZES = {"physical": 50, "environmental": 50, "social": 70, "causal": 50, "referential": 50}
CATEGORIES = [name for name, count in SIZES.items() for _ in range(count)]


def models(devices: int, width: int = 1) -> list[Model]:
    places = tuple(tuple(f"cuda:{i + k}" for k in range(width)) for i in range(0, devices, width))
    return [Model("editor", "edit", places), Model("judge", "judge", places)]


def run(devices: int = 6, edit: float = 7.5, judge: float = 0.2, load: float = 60.0, **options: object) -> Prediction:
    known = bool(options.pop("known", True))
    jitter = float(options.pop("jitter", 0.02))
    durations = Durations(
        {"edit:editor": load, "judge:judge": load},
        {"edit:editor": edit, "judge:judge": judge},
        jitter=jitter,
        known=known,
    )
    return simulated(models(devices), CATEGORIES, durations, batch_size=2, **options)


@pytest.mark.parametrize("edit", [7.5, 25.0])
@pytest.mark.parametrize("jitter", [0.02, 0.2])
def test_the_default_is_within_three_per_cent_of_the_bound(edit: float, jitter: float) -> None:
    result = run(edit=edit, jitter=jitter)
    assert 1.0 <= result.makespan / result.lower_bound < 1.03


def loads(result: Prediction, model: str) -> list[str]:
    return [a.device for a in result.activities if a.kind == "loading" and a.model == model]


def test_only_as_many_devices_take_the_judge_as_shorten_the_run() -> None:
    quick = run(judge=0.2, keep_activities=True)
    assert len(loads(quick, "judge")) == 1
    slow = run(judge=20.0, keep_activities=True)
    assert len(loads(slow, "judge")) >= 5


def test_each_model_is_loaded_at_most_once_a_device() -> None:
    for known in (True, False):
        for judge in (0.2, 2.0, 20.0):
            result = run(judge=judge, known=known, keep_activities=True)
            for model in ("editor", "judge"):
                assert len(set(loads(result, model))) == len(loads(result, model))


def test_without_knowledge_a_device_edits_until_no_edit_is_left() -> None:
    result = run(known=False, keep_activities=True)
    last_begin = max(a.begin for a in result.activities if a.kind == "editing")
    first_judge = min(a.begin for a in result.activities if a.model == "judge" and a.kind == "loading")
    assert first_judge >= last_begin


def test_models_that_stay_together_are_loaded_once_and_never_compute_at_the_same_time() -> None:
    result = run(placement="together", keep_activities=True)
    assert result.makespan < run().makespan
    for device in result.busy:
        spans = sorted((a.begin, a.end) for a in result.activities if a.device == device and a.kind.endswith("ing"))
        work = [s for s in spans if s[0] >= 60.0]
        assert all(later[0] >= earlier[1] - 1e-3 for earlier, later in itertools.pairwise(work))


@pytest.mark.parametrize("devices", [1, 4])
@pytest.mark.parametrize("pilot", [False, True])
def test_models_that_fit_together_stay_from_category_to_category(devices: int, pilot: bool) -> None:
    for known in (False, True):
        options = {"placement": "together", "order": "by_category", "pilot": pilot, "known": known}
        result = run(devices, keep_activities=True, **options)
        for model in ("editor", "judge"):
            assert len(loads(result, model)) == len(set(loads(result, model)))


def test_two_disjoint_lists_of_devices_are_a_split() -> None:
    split = [Model("editor", "edit", (("cuda:0",), ("cuda:1",))), Model("judge", "judge", (("cuda:2",),))]
    durations = Durations({"edit:editor": 60, "judge:judge": 60}, {"edit:editor": 7.5, "judge:judge": 0.2})
    result = simulated(split, CATEGORIES, durations, keep_activities=True)
    assert {a.device for a in result.activities if a.model == "judge"} == {"cuda:2"}
    assert min(a.begin for a in result.activities if a.model == "judge") == 0.0
    assert result.makespan == pytest.approx(60 + 270 * 7.5 / 2, rel=0.01)


def test_several_devices_a_replica() -> None:
    durations = Durations({"edit:editor": 60, "judge:judge": 60}, {"edit:editor": 7.5, "judge:judge": 0.2})
    result = simulated(models(4, width=2), CATEGORIES, durations)
    assert result.makespan == pytest.approx(60 + 270 * 7.5 / 2 + 60 + 270 * 0.2 / 2, rel=0.02)


@pytest.mark.parametrize("seed", range(40))
def test_every_combination_of_choices_comes_to_its_end(seed: int) -> None:
    draw = random.Random(seed)
    devices = draw.choice([1, 2, 3, 5])
    layout = models(devices)
    if draw.random() < 0.3:
        layout.insert(1, Model("second", "edit", layout[0].places[:: draw.choice([1, 2])]))
    if draw.random() < 0.5:
        layout.append(Model("other", "judge", draw.choice([(("cuda:9",),), layout[0].places])))
    categories = [draw.choice("abc") for _ in range(draw.randrange(1, 25))]
    durations = Durations(
        {m.key: draw.uniform(0, 50) for m in layout},
        {m.key: draw.uniform(0.01, 20) for m in layout},
        jitter=draw.choice([0.0, 0.3]),
        prepare=dict.fromkeys((m.key for m in layout), draw.choice([0.0, 3.0])),
        unload=dict.fromkeys((m.key for m in layout), draw.choice([0.0, 1.0])),
        known=draw.random() < 0.5,
    )
    options = {
        "schedule": draw.choice(["pull", "round_robin", "batch_sync"]),
        "order": draw.choice(["by_stage", "by_category"]),
        "placement": draw.choice(["swap", "together"]),
        "start": draw.choice(["asap", "together"]),
        "load_concurrency": draw.choice([None, 1, 2]),
        "batch_size": draw.choice([1, 2, 3]),
        "pilot": draw.random() < 0.5,
    }
    result = simulated(layout, categories, durations, **options)
    assert result.makespan > 0


@pytest.mark.parametrize("pilot", [False, True])
@pytest.mark.parametrize("devices", [1, 3])
def test_several_judges_are_loaded_once_a_device_the_pilot_apart(devices: int, pilot: bool) -> None:
    layout = models(devices)
    layout += [Model(name, "judge", layout[0].places) for name in ("second", "third")]
    durations = Durations(
        {m.key: 20.0 for m in layout}, {m.key: 5.0 if m.kind == "edit" else 0.5 for m in layout}, known=False
    )
    result = simulated(layout, list("abc") * 12, durations, pilot=pilot, keep_activities=True)
    for model in layout:
        most = 1 + pilot * (3 if model.kind == "edit" else 1)  # each judge has a pilot, and editing goes on after it
        for device in result.busy:
            assert loads(result, model.name).count(device) <= most


@pytest.mark.parametrize("editors", [1, 2])
def test_several_judges_share_the_places_that_leave_early(editors: int) -> None:
    """A place that leaves for one judge and loads another helps nobody: all of them would follow it, and wait."""
    places = models(64)[0].places
    layout = [Model(f"e{n}", "edit", places) for n in range(editors)]
    layout += [Model(name, "judge", places) for name in ("first", "second")]
    durations = Durations(
        {m.key: 40.0 for m in layout}, {m.key: 20.0 if m.kind == "edit" else 0.4 for m in layout}, known=True
    )
    result = simulated(layout, ["physical"] * 4_000, durations, batch_size=8, keep_activities=True)
    assert result.makespan / result.lower_bound < 1.05
    assert len(loads(result, "first")) + len(loads(result, "second")) < 16


@pytest.mark.parametrize("schedule", ["round_robin", "batch_sync"])
def test_under_round_robin_the_one_that_piloted_comes_back_for_what_was_dealt_to_it(schedule: str) -> None:
    result = run(schedule=schedule, judge=2.0, pilot=True, known=False, keep_activities=True)
    (piloting,) = [device for device in result.busy if loads(result, "editor").count(device) == 2]
    its = sorted((a for a in result.activities if a.device == piloting), key=lambda a: a.begin)
    away = its[[a.model for a in its].index("judge") :]
    back = [a.kind for a in away].index("editing")
    judged = [a for a in away[:back] if a.kind == "judging"]
    assert len(judged) == 5, "a batch of each category, and no more"
    gone = away[back].begin - away[0].begin
    barrier = 7.5 * 1.1 * (schedule == "batch_sync")
    assert 0 <= gone - (60 + 5 * 2.0 + 60) <= barrier + 1e-3, "the judge, its pilot, the way back"
    edits = {
        device: [a.end for a in result.activities if a.device == device and a.kind == "editing"]
        for device in result.busy
    }
    assert max(map(max, edits.values())) - min(map(max, edits.values())) < 2 * 7.5 * 1.1, "nobody ends late and alone"


@pytest.mark.parametrize("schedule", ["round_robin", "batch_sync"])
@pytest.mark.parametrize("judge", [0.2, 2.0, 10.0])
@pytest.mark.parametrize("edit", [7.5, 25.0])
@pytest.mark.parametrize("devices", [2, 6])
def test_under_every_schedule_all_share_what_the_pilot_costs(
    schedule: str, judge: float, edit: float, devices: int
) -> None:
    """Two loads more. (Once: 525 s for 466 with a quick judge, 852 for 548 with a slower one.)"""
    options = {"devices": devices, "edit": edit, "judge": judge, "schedule": schedule, "known": False}
    piloted, blind = run(pilot=True, **options).makespan, run(**options).makespan
    assert piloted - blind < 2 * 60 / devices + edit + 2 * judge


@pytest.mark.parametrize("count", [2, 3])
def test_where_edits_are_dealt_the_judges_share_the_places(count: int) -> None:
    """All devices are through with their edits at the same time, and no judge waits for another one."""
    layout = [models(6)[0], *(Model(f"j{n}", "judge", models(6)[0].places) for n in range(count))]
    durations = Durations(
        {m.key: 60.0 for m in layout}, {m.key: 7.5 if m.kind == "edit" else 0.5 for m in layout}, known=True
    )
    result = simulated(layout, CATEGORIES, durations, schedule="batch_sync", keep_activities=True)
    assert [len(loads(result, f"j{n}")) for n in range(count)] == [6 // count] * count
    assert result.makespan == pytest.approx(60 + 45 * 7.5 + 60 + count * 270 * 0.5 / 6, rel=0.02)


def test_a_pilot_costs_a_few_per_cent_and_pays_for_them() -> None:
    piloted, blind = run(pilot=True, known=False), run(known=False)
    assert piloted.makespan < blind.makespan, "it knows when to leave editing"
    assert piloted.makespan < 1.05 * run().makespan
    by_category = run(pilot=True, known=False, order="by_category")
    assert by_category.makespan < 900, "the first category does not wait for the pilot"


def test_a_second_edit_model_is_tried_at_once_on_a_device_of_its_own() -> None:
    layout = models(3)
    layout.insert(1, Model("second", "edit", layout[0].places))
    durations = Durations({m.key: 60.0 for m in layout}, {m.key: 0.2 if m.kind == "judge" else 7.5 for m in layout})
    result = simulated(layout, list("abc") * 20, durations, pilot=True, keep_activities=True)
    first = min(a.end for a in result.activities if a.kind == "editing" and a.model == "second")
    assert first == pytest.approx(67.5)
    judged = min(a.end for a in result.activities if a.kind == "judging")
    assert judged < 60 + 2 * 7.5 + 60 + 7.5 + 1
    blind = simulated(layout, list("abc") * 20, durations)
    assert result.makespan < 1.1 * blind.makespan


@pytest.mark.parametrize("wide", ["edit", "judge"])
def test_a_pilot_where_one_model_needs_two_devices_and_the_other_one(wide: str) -> None:
    single, pair = (("cuda:0",), ("cuda:1",)), (("cuda:0", "cuda:1"),)
    layout = [
        Model("editor", "edit", pair if wide == "edit" else single),
        Model("judge", "judge", single if wide == "edit" else pair),
    ]
    durations = Durations({m.key: 60.0 for m in layout}, {"edit:editor": 7.5, "judge:judge": 0.2})
    result = simulated(layout, list("abc") * 12, durations, pilot=True, keep_activities=True)
    assert all(loads(result, "editor").count(device) <= 2 for device in result.busy)
    assert all(loads(result, "judge").count(device) <= 2 for device in result.busy)


def test_draining_stops_what_is_idle_and_waits_for_what_is_not() -> None:
    work = Work()
    policy = Policy(models(2), work, Estimates())
    for number in range(4):
        work.add("edit:editor", [number])
    commands = policy.begin()
    assert [c.verb for c in commands] == ["prepare", "prepare"]
    first, second = (c.replica for c in commands)
    assert [c.verb for c in policy.report_prepared(first)] == ["load"]
    (given, *_) = policy.report_loaded(first, 1.0, 1)
    assert given.verb == "run"
    stopped = policy.drain()
    assert [(c.verb, c.replica) for c in stopped] == [("stop", second)]
    assert given.task is not None
    last = policy.report_done(first, given.task, 1.0)
    while first.hands:
        last = policy.report_done(first, next(iter(first.hands.values())), 1.0)
    assert [(c.verb, c.replica) for c in last] == [("stop", first)]
    assert first.state is ReplicaState.STOPPING


def test_at_most_so_many_replicas_load_at_once() -> None:
    work = Work()
    policy = Policy(models(3), work, Estimates(), load_concurrency=1)
    for number in range(9):
        work.add("edit:editor", [number])
    replicas = [c.replica for c in policy.begin()]
    first = [c for replica in replicas for c in policy.report_prepared(replica)]
    assert [c.verb for c in first] == ["load"]
    following = policy.report_loaded(first[0].replica, 1.0, 1)
    assert [c.verb for c in following].count("load") == 1


def test_who_waits_for_a_load_gets_it_in_the_order_of_models_and_devices_not_of_their_imports() -> None:
    """Or how long a run takes would be chance, and no plan could know it."""
    work = Work()
    policy = Policy(models(2), work, Estimates(), load_concurrency=1, placement="together")
    for sample in range(4):
        work.add("edit:editor", (sample,))
        work.add("judge:judge", (sample,), after=(sample,))
    policy.begin()
    editors, judges = policy.replicas_of("edit:editor"), policy.replicas_of("judge:judge")
    order = []
    commands = [*policy.report_prepared(judges[1]), *policy.report_prepared(judges[0])]
    commands += [*policy.report_prepared(editors[1]), *policy.report_prepared(editors[0])]
    while loading := [command.replica for command in commands if command.verb == "load"]:
        order += loading
        (replica,) = loading
        commands = policy.report_loaded(replica, 3.0, 1)
    assert order == [judges[1], editors[0], editors[1], judges[0]]


def two_that_edit(policy: Policy, edits: int, work: Work) -> tuple[Replica, Replica]:
    """Two replicas, prepared, with as many edits to do; the first of them is loaded."""
    for number in range(edits):
        work.add("edit:editor", [number])
    first, second = (c.replica for c in policy.begin() if c.replica.model.kind == "edit")
    policy.report_prepared(first)
    policy.report_prepared(second)
    policy.report_loaded(first, 60.0, 1)
    return first, second


def fail(policy: Policy, work: Work, replica: Replica) -> list[Command]:
    """What follows when the replica fails at what it computes."""
    task = next(iter(replica.hands.values()))
    work.add(task.model, task.units, alone=True, failed_on=frozenset({replica.index}))
    return policy.report_failed(replica, task)


def test_a_replica_tries_again_what_it_failed_at_when_the_other_one_could_not_be_loaded() -> None:
    work = Work()
    elsewhere = Model("judge", "judge", (("cuda:9",),))
    policy = Policy([models(2)[0], elsewhere], work, Estimates())
    work.add(elsewhere.key, [0])
    first, second = two_that_edit(policy, 2, work)
    (judge,) = policy.replicas_of(elsewhere.key)
    policy.report_prepared(judge)
    policy.report_loaded(judge, 60.0, 1)
    policy.report_done(first, next(iter(first.hands.values())), 1.0)
    assert fail(policy, work, first) == [], "the other one is coming"
    assert judge.hands, "somebody is busy, so nobody looks everywhere"
    (again,) = policy.report_ended(second)
    assert (again.verb, again.replica, again.task and again.task.units) == ("run", first, (1,))


def test_a_replica_tries_again_what_it_failed_at_when_the_other_one_leaves_for_the_judge() -> None:
    work, estimates = Work(), Estimates()
    policy = Policy(models(2), work, estimates)
    estimates.unit["edit:editor"].add(10.0)
    estimates.unit["judge:judge"].add(7.0)
    estimates.load["judge:judge"].add(1.0)
    first, second = two_that_edit(policy, 2, work)
    for edit in range(2):
        work.add("judge:judge", [edit], after=[edit])
    policy.report_loaded(second, 60.0, 1)
    assert "run" not in {c.verb for c in fail(policy, work, first)}
    (edited,) = second.hands.values()
    commands = [(c.verb, c.replica) for c in policy.report_done(second, edited, 10.0)]
    assert ("stop", second) in commands
    assert ("run", first) in commands


def test_the_next_round_begins_at_once_for_all_when_one_dies_before_it_has_begun() -> None:
    work = Work()
    policy = Policy(models(4)[:1], work, Estimates(), schedule="batch_sync")
    for number in range(12):
        work.add("edit:editor", [number])
    first, *others = replicas = [c.replica for c in policy.begin()]
    for replica in replicas:
        policy.report_prepared(replica)
        policy.report_loaded(replica, 60.0, 1)
    for replica in others:
        (task,) = replica.hands.values()
        assert "run" not in {c.verb for c in policy.report_done(replica, task, 1.0)}, "the first is waited for"
    (task,) = first.hands.values()
    first.hands.clear()
    policy.return_task(task)
    assert {c.replica for c in policy.report_ended(first) if c.verb == "run"} == set(others)


def test_a_client_judges_on_the_device_of_the_model_that_edits() -> None:
    """It is there from the beginning, and nobody loads twice."""
    place = (("cpu:0",),)
    durations = Durations({"edit:editor": 60, "judge:judge": 1}, {"edit:editor": 5, "judge:judge": 4}, known=False)
    for pilot in (False, True):
        shared = [Model("editor", "edit", place), Model("judge", "judge", place, holds_device=False)]
        result = simulated(shared, CATEGORIES[:20], durations, pilot=pilot, keep_activities=True)
        assert [loads(result, "editor"), loads(result, "judge")] == [["cpu:0"], ["cpu:0"]]
        assert result.makespan == 60 + 20 * 5 + 4
        assert result.makespan >= result.lower_bound
