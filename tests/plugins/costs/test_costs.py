"""What a run has cost: money by model, tokens, the devices' time at a price, and where it is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from edit_eval.errors import ConfigurationError
from edit_eval.plugins.costs.analysis import CostsAnalysis
from edit_eval.records import Activity, Results, Sample, Spent, Status
from edit_eval.reporting.analyses import RunRecords, compute_analysis, sections, summary_of
from edit_eval.reporting.language import translate
from edit_eval.reporting.table import markdown_sheet

OF = CostsAnalysis()


@pytest.fixture
def bought(make_sample: Callable[..., Sample], make_results: Callable[..., Results]) -> Results:
    """Two judges of one model's edits: one that its maker charges for, one whose server counts tokens at a price."""
    samples = [make_sample(index) for index in range(3)]
    paid, own = [[6.0], [7.0], [Status.UNPARSEABLE]], [[6.0], [7.0], [5.0]]
    made = make_results(samples, {("nano", "paid"): paid, ("nano", "own"): own})
    tokens = {"own": (1_000, 10), "paid": (0, 0)}
    answered = tuple(replace(judgement, tokens=tokens[judgement.judge]) for judgement in made.judgements)
    spent = (
        Spent(model="judge:paid", usd=0.5, attempts=4),
        Spent(model="edit:nano", usd=1.25, feared=0.25, told=True, attempts=5),
    )
    held = (Activity(start_number=1, device="cuda:0", kind="judging", model="own", begin=0.0, end=1800.0),)
    judges = {"own": {"params": {"price": [2.0, 100.0]}}}
    return replace(
        made,
        judgements=answered,
        telemetry=replace(made.telemetry, spent=spent, activities=held, wall_seconds=(3600.0,), devices=("cuda:0",)),
        provenance=replace(made.provenance, configuration={"judges": judges}),
    )


def test_money_and_tokens_stand_beside_their_models_in_the_order_of_the_run(bought: Results) -> None:
    document = OF.compute(RunRecords(bought), OF.Parameters())
    assert [(model.model, model.stage) for model in document.models] == [
        ("nano", "editing"),
        ("paid", "judging"),
        ("own", "judging"),
    ]
    nano, paid, own = document.models
    assert (nano.usd, nano.feared, nano.told, nano.requests, nano.done) == (1.25, 0.25, True, 5, 3)
    assert (paid.usd, paid.told, paid.read, paid.at_price) == (0.5, False, 0, None)
    assert (own.usd, own.read, own.written) == (None, 3_000, 30)
    assert own.at_price == pytest.approx((3_000 * 2 + 30 * 100) / 1e6)
    assert (document.usd, document.feared) == (1.75, 0.25)
    assert (document.price, document.of_devices) == (None, None)


def test_devices_cost_what_an_hour_of_one_costs_idle_or_not(bought: Results) -> None:
    document = OF.compute(RunRecords(bought), OF.Parameters(price=2.5))
    assert (document.device_seconds, document.of_devices, document.on_gpus) == (3600.0, 2.5, True)
    with pytest.raises(ConfigurationError, match="--price -1"):
        OF.compute(RunRecords(bought), OF.Parameters(price=-1.0))


def test_a_report_shows_it_where_something_was_charged_or_counted(bought: Results) -> None:
    by_itself = summary_of(bought)
    [section] = [section for section in sections(by_itself) if section.name == "costs"]
    assert section.appendix
    assert section.documents == [OF.compute(RunRecords(bought), OF.Parameters())]
    uncounted = tuple(replace(judgement, tokens=(0, 0)) for judgement in bought.judgements)
    free = replace(bought, telemetry=replace(bought.telemetry, spent=()), judgements=uncounted)
    assert "costs" not in summary_of(free).analyses
    counted = replace(bought, telemetry=replace(bought.telemetry, spent=()))
    assert "costs" in summary_of(counted).analyses


def test_what_is_printed_says_what_is_known_and_how(bought: Results) -> None:
    sheet = OF.sheet(OF.compute(RunRecords(bought), OF.Parameters(price=2.5)))
    english, chinese = (markdown_sheet(sheet, language) for language in ("en", "zh"))
    assert "1.75 USD" in english
    assert "0.25 USD more" in english
    for written in (english, chinese):
        for figure in ("1.2500", "0.5000", "3,000", "0.01", "2.50"):
            assert figure in written
    nothing = OF.sheet(
        OF.compute(
            RunRecords(replace(bought, telemetry=replace(bought.telemetry, spent=()), judgements=())), OF.Parameters()
        )
    )
    assert next(translate(line.words, "en") for line in nothing).startswith("Nothing was charged")


@pytest.mark.parametrize("price", [float("inf"), float("nan")])
def test_no_analysis_is_asked_for_a_number_that_json_cannot_hold(bought: Results, price: float) -> None:
    with pytest.raises(ConfigurationError, match="--price"):
        compute_analysis("costs", [bought], lambda some: RunRecords(some[0]), {"price": price})
