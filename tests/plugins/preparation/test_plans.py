"""What a plan looks like in a terminal."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console

from edit_eval.config.loading import load_configuration
from edit_eval.execution.findings import Finding
from edit_eval.plugins.preparation.planning import Plan
from edit_eval.plugins.preparation.plans import BOUND, print_findings, print_plan
from edit_eval.reporting.formats import duration, short_duration
from edit_eval.scheduling.queues import QUEUES
from imagined_tasks import make_plan
from small_benchmark import configuration


def shown(plan: Plan, width: int = 80, *, every: bool = True) -> str:
    stream = io.StringIO()
    print_plan(plan, Console(file=stream, width=width, markup=False, emoji=False, highlight=False), every=every)
    return stream.getvalue()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Plan:
    times = {"load_seconds": 60.0, "seconds": 7.5}
    source = configuration(tmp_path_factory.mktemp("plan"), edit=times, judge={**times, "seconds": 0.2})
    source["execution"] = {"schedule": "batch_sync", "order": "by_category"}
    return make_plan(load_configuration(source), ["physical", "social"] * 45, gpus=6)


def test_every_combination_is_a_row_and_the_best_is_marked(made: Plan) -> None:
    lines = shown(made).splitlines()
    assert made.best is not None
    chosen, least = (made.combinations[which].prediction.makespan for which in (made.chosen, made.best))
    assert lines[0] == f"About {duration(chosen)} for 90 samples on 6 devices."
    assert lines[1].startswith(f"About {duration(least)} with schedule pull, order ")
    told = [line.strip() for line in lines[2:]]
    assert "testing: 7.5 s an edit, load 1 min 00 s (its own parameters)" in told
    assert any(line.startswith("testing: 0.2 s a pair") for line in told)
    assert not [line for line in shown(made, every=False).splitlines() if line.startswith("Schedule")]
    rows = [line for line in lines if line.startswith(("pull", "round_robin", "batch_sync"))]
    assert len(rows) == 4 * len(QUEUES)
    best = made.combinations[made.best]
    (marked,) = (line for line in rows if line.rstrip().endswith("<- best"))
    assert marked.split()[:3] == [best.schedule, best.order, best.placement]
    (yours,) = (line for line in rows if line.rstrip().endswith("<- yours"))
    assert yours.split()[:3] == ["batch_sync", "by_category", "swap"]
    assert all(" x " in row and "%" in row for row in rows)


def test_it_fits_eighty_columns_without_colours(made: Plan) -> None:
    text = shown(made)
    assert max(map(len, text.splitlines())) <= 80
    assert "\x1b" not in text


@pytest.mark.parametrize("seconds", [7.5, 90_000.0])
def test_nothing_is_cut_where_yours_is_the_best(seconds: float, tmp_path: Path) -> None:
    times = {"load_seconds": 600.0, "seconds": seconds}
    source = configuration(tmp_path, edit=times, judge=times)
    plan = make_plan(load_configuration(source), ["physical", "social"] * 45, gpus=6)
    plan = replace(plan, chosen=plan.best)
    text = shown(plan)
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    best = plan.combinations[plan.best]
    [line] = [line for line in text.splitlines() if line.rstrip().endswith("<- best, yours")]
    assert line.split()[:4] == [best.schedule, best.order, best.placement, short_duration(best.prediction.makespan)]
    [header] = [line for line in text.splitlines() if line.startswith("Schedule")]
    assert header.split() == ["Schedule", "Order", "Placement", "Takes", "Ideal", "Idle"]


def test_a_way_that_may_not_fit_says_so(made: Plan) -> None:
    rows = [line.split() for line in shown(made).splitlines() if " together " in line]
    assert len(rows) == 2 * len(QUEUES)
    assert all(row[-2:] == ["memory", "unknown"] for row in rows)
    chosen = next(k for k, way in enumerate(made.combinations) if way.placement == "together")
    text = shown(replace(made, chosen=chosen))
    assert text.count("<- yours, unknown") == 1
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    nowhere = tuple(replace(way, memory="too little") for way in made.combinations)
    text = shown(replace(made, combinations=nowhere, best=None))
    assert (text.count("<- yours, too little"), text.count("memory too little")) == (1, 11)
    assert "But that does not fit into memory.\nNo schedule is known to fit into memory" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text


def test_what_bound_is_stands_below_the_table(made: Plan) -> None:
    assert shown(made).splitlines()[-1] == f"{BOUND}"
    assert BOUND.startswith("Ideal: the time divided by ")


def test_one_is_one(tmp_path: Path) -> None:
    made = make_plan(load_configuration(configuration(tmp_path)), ["physical"], gpus=1)
    assert shown(made).splitlines()[0].endswith(" for 1 sample on 1 device.")
    filtered = load_configuration(configuration(tmp_path), categories=["physical"])
    assert make_plan(filtered, None, samples=3).notes[-1].endswith("does not exist: one category is assumed instead")


def test_a_name_cannot_speak_to_the_terminal(tmp_path: Path) -> None:
    source = configuration(tmp_path)
    source["edit_models"] = {"编辑模型": source.pop("diffusion_model")}
    plan = make_plan(load_configuration(source), ["physical"])
    assert "编辑模型: 0.0 s an edit" in shown(plan)


def test_what_was_assumed_is_said(tmp_path: Path) -> None:
    source = configuration(tmp_path, edit={"seconds": 1.0})
    text = " ".join(shown(make_plan(load_configuration(source), None, gpus=2, samples=10)).split())
    assert "placement: auto is taken to be swap" in text
    assert "does not exist: 5 categories of equal size are assumed instead" in text


FINDINGS = [
    Finding("configuration", "ok", "评测: qwen_image_edit, judged by qwen3_vl"),
    Finding("devices", "ok", "cuda:0 NVIDIA H100: 79.1 of 79.6 GiB free, 0 % busy"),
    Finding(
        "environments",
        "problem",
        "judge qwen3_vl: /opt/conda/envs/judge/bin/python has no transformers and accelerate",
        "/opt/conda/envs/judge/bin/python -m pip install 'transformers>=4.57' 'accelerate>=1.2'",
    ),
    Finding("devices", "note", "1 of 2 GPUs is free", "device_ids: [0]"),
    Finding("benchmark", "warning", "sample 3 (00003_指代_hard) will be skipped: 图像数据被截断,无法解码" * 2),
]

PRINTED = """
configuration
  ok       评测: qwen_image_edit, judged by qwen3_vl
devices
  ok       cuda:0 NVIDIA H100: 79.1 of 79.6 GiB free, 0 % busy
  note     1 of 2 GPUs is free
           -> device_ids: [0]
environments
  problem  judge qwen3_vl: /opt/conda/envs/judge/bin/python has no transformers
           and accelerate
           -> /opt/conda/envs/judge/bin/python -m pip install
              'transformers>=4.57' 'accelerate>=1.2'
benchmark
  warning  sample 3 (00003_指代_hard) will be skipped:
           图像数据被截断,无法解码sample 3 (00003_指代_hard) will be skipped:
           图像数据被截断,无法解码

1 problem would stop the run
"""


@pytest.fixture(autouse=True)
def no_colour_is_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)


def printed(findings: list[Finding]) -> str:
    file = io.StringIO()
    print_findings(findings, Console(file=file, width=80, markup=False, emoji=False, highlight=False))
    return file.getvalue()


def test_grouped_by_area_within_eighty_columns_and_without_colour_in_a_file() -> None:
    text = printed(FINDINGS)
    assert text == PRINTED.lstrip("\n")
    assert max(cell_len(line) for line in text.splitlines()) <= 80


def test_what_holds_for_several_models_is_printed_once_and_counted_for_each() -> None:
    alike = [Finding("models", "problem", "it is gone", who=f"judge {name}") for name in "abc"]
    lines = printed([*alike, Finding("models", "ok", "it is gone", who="judge d")]).splitlines()
    assert lines[1:3] == ["  problem  judge a, judge b and judge c: it is gone", "  ok       judge d: it is gone"]
    assert lines[-1] == "3 problems would stop the run"


def test_a_terminal_gets_colour_beside_the_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("FORCE_COLOR", "1")
    text = printed(FINDINGS)
    assert "\x1b[1;31mproblem" in text
    assert "\x1b[32mok" in text


@pytest.mark.parametrize(
    ("findings", "verdict"),
    [
        (FINDINGS[:2], "this would run"),
        ([Finding("configuration", "note", "none was given")], "nothing here would stop a run"),
        ([FINDINGS[2], FINDINGS[2]], "2 problems would stop the run"),
    ],
)
def test_the_last_line_is_the_verdict(findings: list[Finding], verdict: str) -> None:
    assert printed(findings).splitlines()[-1] == verdict


def test_brackets_and_control_characters_are_text() -> None:
    text = printed([Finding("disk", "ok", "[red]a[/red] :smile: \x1b[31mb\x07\nc")])
    assert text.splitlines()[1] == "  ok       [red]a[/red] :smile: b c"
