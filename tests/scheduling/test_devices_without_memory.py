"""Devices on which memory runs out cost no sample, and are named; what is too large everywhere is the sample's."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from examples_of import examples
from scheduling.test_any_run import Run, Situation, finished_well, situations


@settings(max_examples=examples(300, 15))
@given(situations(calm=True), st.integers(2, 6), st.data())
def test_devices_without_memory_cost_no_sample_and_are_named(
    situation: Situation, devices: int, data: st.DataObject
) -> None:
    """One that is short from some task on, or several that always were; beside them what is too large everywhere."""
    names = [f"gpu:{n}" for n in range(devices)]
    places = tuple((name,) for name in names)
    short = data.draw(
        st.one_of(
            st.dictionaries(st.sampled_from(names), st.integers(0, 4), max_size=1),
            st.dictionaries(st.sampled_from(names), st.just(0), max_size=devices - 1),
        )
    )
    elsewhere = data.draw(st.sampled_from([places, places[::-1], (("other",), ("one more",))]))
    situation = replace(
        situation,
        samples=max(situation.samples, data.draw(st.sampled_from([1, 16, 40]))),
        edit_models={"a": places},
        judges=dict.fromkeys(situation.judges, elsewhere),
        load={"edit:a": 3.0, **situation.load},
        unit={"edit:a": 5.0, **situation.unit},
        capacity={"edit:a": 1, **situation.capacity},
        made_before=(),
        ends=data.draw(
            st.dictionaries(
                st.tuples(st.sampled_from(["edit", "judge"]), st.integers(0, 8)), st.just("out_of_memory"), max_size=2
            )
        ),
        short=short,
    )
    run = Run(situation).go()
    finished_well(run)
    for name, fields in run.events:
        if name == "retired":
            assert fields["place"][0] in short, "what is too large speaks against no device"
        if name == "attempt" and not situation.ends:
            assert fields["place"][0] in short


def test_a_device_without_memory_goes_after_a_few_tasks() -> None:
    """Under every schedule; it has not tried everything by then."""
    places = tuple((f"gpu:{n}",) for n in range(6))
    for schedule in ("pull", "round_robin", "batch_sync"):
        run = Run(
            Situation(
                samples=100,
                edit_models={"a": places},
                judges={"x": places},
                load={"edit:a": 20.0, "judge:x": 20.0},
                unit={"edit:a": 20.0, "judge:x": 1.0},
                known=False,
                capacity={"edit:a": 1, "judge:x": 1},
                batch_size=1,
                edit_seeds=1,
                questions=1,
                controls=0,
                options={"schedule": schedule, "start": "asap", "placement": "swap", "load_concurrency": None},
                by_category=False,
                pilot=True,
                prepare=0.0,
                unload=0.0,
                short={"gpu:3": 2},
            )
        ).go()
        finished_well(run)
        tried = [fields for name, fields in run.events if name == "attempt" and fields["model"] == "edit:a"]
        assert {fields["place"][0] for fields in tried} == {"gpu:3"}
        assert len(tried) < 15
        gone = {(fields["model"], fields["place"][0]) for name, fields in run.events if name == "retired"}
        assert gone == {("edit:a", "gpu:3"), ("judge:x", "gpu:3")}


def test_no_judge_is_loaded_where_it_can_do_nothing_of_the_pilot() -> None:
    """Its only task that could start had failed there: it was loaded and unloaded there without end."""
    places = tuple((f"gpu:{n}",) for n in range(6))
    loads = {"edit:a": 0.0, "judge:x": 7.0, "judge:y": 0.0}
    run = Run(
        Situation(
            samples=14,
            edit_models={"a": places},
            judges={"x": places, "y": places},
            load=loads,
            unit={"edit:a": 20.0, "judge:x": 0.1, "judge:y": 0.0},
            known=True,
            capacity=dict.fromkeys(loads, 1),
            batch_size=1,
            edit_seeds=2,
            questions=4,
            controls=0,
            options={"schedule": "round_robin", "start": "asap", "placement": "swap", "load_concurrency": None},
            by_category=True,
            pilot=True,
            prepare=0.0,
            unload=0.0,
            ends={("judge", 0): "out_of_memory", ("judge", 4): "out_of_memory"},
        )
    ).go()
    finished_well(run)
    assert run.loads.total() <= 2 * len(loads) * len(places)
