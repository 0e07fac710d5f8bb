"""Everything that the verbs print stands in 80 columns with nothing cut: long names, Chinese ones, large numbers."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.console import Console

from edit_eval.config.components import list_components
from edit_eval.config.kinds import KINDS
from edit_eval.execution.findings import Finding
from edit_eval.plugins.lookup.components import print_components, print_description
from edit_eval.plugins.preparation.plans import print_findings
from edit_eval.plugins.progress.displays import plan_table
from edit_eval.plugins.progress.lines import Assignment, AssignmentRow
from edit_eval.plugins.status.sheet import print_sample, print_status
from edit_eval.records import Results
from edit_eval.reporting.analyses import sections, summary_of
from edit_eval.reporting.comparison import print_comparison
from edit_eval.reporting.results_sheet import print_summary
from edit_eval.reporting.table import print_sheet
from edit_eval.statistics.comparison import compare
from edit_eval.statistics.summary import summarise
from reporting.reported_runs import build_run
from small_columns import column, drawn, failing

MODELS = (
    "qwen_image_edit_2509_lightning_8_steps",
    "black-forest-labs_flux_kontext_dev_int4",
    "步骤一图像编辑模型第二版",
)
JUDGES = ("qwen3_vl_30b_a3b_instruct_fp8_vllm", "internvl3_5_241b_a28b_thinking_endpoint")
CATEGORIES = {"physical": "物理规律与几何一致性的综合考察类别", "causal": "cause_and_effect_over_a_long_time"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Results:
    made = build_run(
        tmp_path_factory.mktemp("wide"),
        samples=10,
        size=(24, 16),
        edit_models=MODELS,
        judges=JUDGES,
        repeats=2,
        failing=0.3,
        pending=1,
    )
    return replace(
        made,
        samples=tuple(
            replace(sample, category=CATEGORIES.get(sample.category, sample.category)) for sample in made.samples
        ),
        judgements=tuple(
            replace(judgement, category=CATEGORIES.get(judgement.category, judgement.category))
            for judgement in made.judgements
        ),
    )


def lines(show: Callable[[Console], object]) -> list[str]:
    file = io.StringIO()
    show(Console(file=file, width=80, markup=False, emoji=False, highlight=False, _environ={}))
    return [line.rstrip() for line in file.getvalue().splitlines()]


def without_breaks(shown: list[str]) -> str:
    return "".join("".join(shown).split())


def test_the_results_in_both_languages(run: Results) -> None:
    for language in ("en", "zh"):
        shown = lines(lambda console, to=language: print_summary(summarise(run), console, language=to))
        assert max(map(cell_len, shown)) <= 80
        assert not any("…" in line for line in shown)


def test_the_judges(run: Results) -> None:
    for language in ("en", "zh"):
        [section] = [section for section in sections(summary_of(run)) if section.name == "agreement"]
        shown = lines(lambda console, to=language, of=section: print_sheet(of.sheet(), console, language=to))
        assert max(map(cell_len, shown)) <= 80
        assert not any("…" in line for line in shown)


def test_the_status_but_for_what_is_to_be_copied(run: Results) -> None:
    for shown in (
        lines(lambda console: print_status(run, console)),
        lines(lambda console: print_sample(run, run.samples[0].id, console)),
    ):
        whole = ("edit-eval run", run.directory, "SHA-256", "key", "pixels")
        assert [line for line in shown if cell_len(line) > 80 and not any(text in line for text in whole)] == []
        assert not any("…" in line for line in shown)


def test_a_comparison_of_long_names() -> None:
    categories = (*CATEGORIES.values(), "social") * 30
    first, *others = MODELS
    columns = [column(f"runs/{first}", drawn(2, 0.5), categories=categories, edit_model=first)]
    columns += [
        column(
            f"runs/{name}",
            drawn(n),
            categories=categories,
            edit_model=name,
            differs=("steps: 15, not 50", f"prompt: '{'很长' * 40}', not ''"),
        )
        for n, name in enumerate(others)
    ]
    columns = [failing(column, range(20 * n, 20 * n + 9 * n)) for n, column in enumerate(columns)]
    comparison = compare(columns, detect=0.2, notes=["很长的说明" * 30])
    for language in ("en", "zh"):
        shown = lines(lambda console, to=language: print_comparison(comparison, console, language=to, full=True))
        assert max(map(cell_len, shown)) <= 80
        assert not any("…" in line for line in shown)


def test_who_does_what_when_a_run_starts() -> None:
    rows = (
        AssignmentRow("edit", MODELS[1], tuple(f"cuda:{n}" for n in range(8)), 9000, (0, 1, 2, 3, 4)),
        AssignmentRow(
            "judge", JUDGES[1], ("cuda:2", "cuda:3", "cuda:5", "cuda:7", "cuda:0"), 27000, (0, 1000, 2000, 3000, 4000)
        ),
    )
    shown = lines(lambda console: console.print(plan_table(Assignment("round_robin", rows))))
    assert max(map(cell_len, shown)) <= 80
    text = "\n".join(shown)
    assert all(str(row.count) in text for row in rows)
    assert "0, 1000, 2000, 3000," in text
    assert "4000, …" in text
    assert text.count("…") == 2  # there are more samples; nothing was cut
    for part in ("kontext_", "a28b_", "endpoint"):
        assert part in text


def test_what_can_be_named_and_its_parameters() -> None:
    assert max(map(cell_len, lines(print_components))) <= 80
    for kind in KINDS:
        for entry in list_components(kind):
            shown = lines(lambda console, name=entry.name: print_description(name, console))
            assert [line for line in shown if cell_len(line) > 80] == []
            assert entry.name in without_breaks(shown)


def test_what_an_examination_found() -> None:
    findings = [Finding("models", "problem", f"{name} 装不下。" * 9, "用 offload: model。" * 9) for name in MODELS]
    assert max(map(cell_len, lines(lambda console: print_findings(findings, console)))) <= 80
