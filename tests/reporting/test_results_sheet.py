import io
import json
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from edit_eval.reporting.results_sheet import print_summary
from reporting.reported_runs import HOSTILE
from reporting.reports import Report, headline


def printed(summary: dict[str, Any], *, language: str = "en", terminal: bool = False, width: int = 80) -> str:
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=terminal, color_system="standard" if terminal else None)
    print_summary(summary, console, language=language)
    return file.getvalue()


@pytest.mark.parametrize("name", ["complete", "incomplete", "several", "three_scores", "hostile"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_nothing_is_wider_than_80_columns(name: str, language: str, request: pytest.FixtureRequest) -> None:
    report: Report = request.getfixturevalue(name)
    text = printed(report.summary, language=language)
    assert max(cell_len(line) for line in text.splitlines()) <= 80


def test_no_name_is_broken_for_figures_that_can_be_spared(complete: Report) -> None:
    name = "the_name_of_a_model_that_is_long"
    summary = json.loads(json.dumps(complete.summary).replace(f'"{complete.results.edit_models[0]}"', f'"{name}"'))
    assert all(f"{title} " in printed(summary, width=200).replace("\n", " ") for title in ("Median", "Max"))
    lines = printed(summary).splitlines()
    head = next(line for line in lines if line.startswith("Edit model"))
    assert "95% interval" in head
    assert "Max" not in head
    assert any(line.startswith(f"{name} ") for line in lines)


def test_coverage_comes_first(incomplete: Report) -> None:
    first = printed(incomplete.summary, width=200).splitlines()[0]
    coverage = incomplete.summary["coverage"]
    assert first.startswith(f"{coverage['scored']} of 30 scored. Not scored: ")
    assert "2 not done yet" in first
    assert "Below the required coverage of 100%." in first


@pytest.mark.parametrize(
    ("language", "words"),
    [("en", "3 of 10 scores came only when asked again."), ("zh", "10 个分数中有 3 个是再次询问才得到的。")],
)
def test_second_askings_are_told_where_there_were_any(complete: Report, language: str, words: str) -> None:
    assert complete.summary["coverage"]["asked_again"] == 0
    assert words not in printed(complete.summary, language=language, width=200)
    told = {**complete.summary, "coverage": {**complete.summary["coverage"], "asked_again": 3}}
    assert words in printed(told, language=language, width=200)


def test_worst_and_best_stand_only_beside_what_is_incomplete(complete: Report, incomplete: Report) -> None:
    assert "Worst–best" not in printed(complete.summary)
    overall = headline(incomplete.summary["results"][0])
    expected = f"{overall['worst_case_mean']:.2f}–{overall['best_case_mean']:.2f}"
    assert expected in printed(incomplete.summary)


def test_a_row_for_each_edit_model_and_judge(several: Report) -> None:
    text = printed(several.summary)
    for entry in several.summary["results"]:
        section = text.split(f"judged by {entry['judge']}")[1].split("judged by")[0]
        row = next(line for line in section.splitlines() if line.startswith(entry["edit_model"]))
        coverage = entry["coverage"]
        assert f"{coverage['scored']}/{coverage['total']}" in row
        assert f"{headline(entry)['mean']:.2f}" in row


def test_the_mean_of_categories_says_of_how_many_it_is(complete: Report) -> None:
    entry = complete.summary["results"][0]
    row = next(line for line in printed(complete.summary).splitlines() if line.startswith("Mean of categories"))
    counts = f"{entry['coverage']['scored']}/{entry['coverage']['total']}", str(headline(entry)["images"])
    assert row.split()[3:6] == [*counts, f"{headline(entry)['category_mean']['mean']:.2f}"]


def test_devices_with_their_times(complete: Report) -> None:
    row = next(line for line in printed(complete.summary).splitlines() if line.startswith("cuda:0"))
    assert row.endswith("%")
    assert row.count("s") >= 5


def test_utilisation_of_gpus_has_a_column_where_it_is_known(complete: Report) -> None:
    timing = complete.summary["timing"]
    told = {"cuda:0": {"mean": 0.87, "editing": 0.96}}
    text = printed({**complete.summary, "timing": {**timing, "gpu_utilisation": told}})
    assert max(cell_len(line) for line in text.splitlines()) <= 80
    rows = {line.split()[0]: line for line in text.splitlines() if line.startswith(("cuda", "Device"))}
    assert rows["Device"].endswith("GPU")
    assert rows["cuda:0"].endswith("87%")
    assert rows["cuda:1"].rstrip().endswith("–")
    assert "GPU" not in printed(complete.summary)


def test_memory_has_its_peak_beside_the_times_and_a_row_a_model(complete: Report) -> None:
    stage = {"start_number": 1, "model": "qwen_image_edit", "kind": "editing"}
    first = {**stage, "before": 600 << 20, "loaded": 54 << 30, "peak": 60 << 30, "after": None}
    second = {**stage, "before": None, "loaded": 55 << 30, "peak": 57 << 30, "after": 0}
    memory = {
        "cuda:0": {"total": 80 << 30, "peak": 60 << 30, "stages": [first]},
        "cuda:1": {"total": 80 << 30, "peak": 57 << 30, "stages": [second]},
    }
    text = printed({**complete.summary, "timing": {**complete.summary["timing"], "memory": memory}})
    assert max(cell_len(line) for line in text.splitlines()) <= 80
    rows = {line.split()[0]: line.rstrip() for line in text.splitlines() if line[:1].isalpha()}
    assert rows["Device"].endswith("Peak")
    assert rows["cuda:0"].endswith("60.0 GiB")
    assert rows["cuda:2"].endswith("–")
    assert rows["Editing"].split("qwen_image_edit")[1].split() == [
        "600",
        "MiB",
        "55.0",
        "GiB",
        "60.0",
        "GiB",
        "0",
        "MiB",
    ]
    assert "The highest of 2 devices." in text
    assert "Peak" not in printed(complete.summary)


def test_colour_only_on_a_terminal(incomplete: Report) -> None:
    assert "\x1b" not in printed(incomplete.summary)
    assert "\x1b[" in printed(incomplete.summary, terminal=True)


def test_names_are_neither_markup_nor_control_codes(complete: Report) -> None:
    entry = {**complete.summary["results"][0], "edit_model": "[red]a[/red]\x1b[2J"}
    text = printed({**complete.summary, "results": [entry]}, width=120)
    assert "[red]a[/red]" in text
    assert "[2J" not in text
    assert "\x1b" not in text


def test_hostile_names_are_shown_whole(hostile: Report) -> None:
    assert "onerror" in printed(hostile.summary, width=300)
    assert HOSTILE.split("|")[0] in printed(hostile.summary, width=300)


def test_chinese_columns_stand_under_each_other(complete: Report) -> None:
    lines = printed(complete.summary, language="zh").splitlines()
    header = next(place for place, line in enumerate(lines) if line.startswith("类别"))
    assert len({cell_len(line) for line in lines[header : header + 7]}) == 1


def test_numbers_may_be_missing_anywhere() -> None:
    numbers = ("images", "mean", "std", "median", "min", "max", "ci95", "no_ci95", "worst_case_mean", "best_case_mean")
    nothing = {"coverage": {"scored": 0, "total": 0, "by_status": {}}}
    mean = {"mean": None, "ci95": None, "no_ci95": "no_scores"}
    scale = {"lowest": None, "highest": None, "higher_is_better": True, "mean_over": "samples"}
    block = {**nothing, **dict.fromkeys(numbers), "scale": scale, "n": 0, "sample_mean": mean, "category_mean": mean}
    entry = {"edit_model": "m", "judge": "j", "headline": "score", "scores": {"score": block}, **nothing}
    summary = {"schema": 2, "status": "complete", "results": [entry], **nothing}
    assert "0 of 0 scored." in printed(summary)


def test_every_score_has_its_rows_under_its_name(three_scores: Report) -> None:
    text = printed(three_scores.summary)
    section = text.split("judged by three")[1].split("judged by kind")[0]
    entry = three_scores.summary["results"][0]
    for name, scale in (("quality", "from 1 to 5"), ("drift", "from -1 to 1, lower is better"), ("psnr", "no lower")):
        scale_of_it, table = section.split(f"\n{name}: ")[1].split("\n", 1)
        assert scale_of_it.startswith(scale)
        row = next(line for line in table.splitlines() if line.startswith("first "))
        assert f"{entry['scores'][name]['mean']:.{3 if name == 'drift' else 2}f}" in row.split()
    assert "As the authors define it: first, three: Avg 3.22" in text
    assert "Pass rate: none (2 of 60 answers" in " ".join(text.split())
