import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from edit_eval.records import CONTROL, Results
from edit_eval.reporting.page.files import markdown
from edit_eval.reporting.page.page import page
from edit_eval.reporting.results_sheet import print_summary
from edit_eval.statistics.summary import summarise
from reporting.reported_runs import build_run, rescored

KINDS = {"source": 1.0, "blank": 0.0, "shuffled": 0.5}


def controlled(directory: Path, source: float, **how: object) -> Results:
    """A run with controls; the judges give `source` to the sources themselves, and the rest little."""
    run = build_run(directory, samples=10, size=(24, 16), **how)
    controls = [
        replace(
            rescored(one, min(10.0, (source if kind == "source" else score) + place % 3 / 10)),
            edit_model=f"{CONTROL}{kind}",
        )
        for kind, score in KINDS.items()
        for place, one in enumerate(run.judgements)
        if one.edit_model == run.edit_models[0] and one.repeat == 0
    ]
    judges = [{**one, "measures": False, "replays": False} for one in run.resolved["judges"]]
    return replace(
        run,
        controls=tuple(controls),
        resolved={**run.resolved, "judges": judges},
        configuration={**run.configuration, "evaluation": {"min_coverage": 1.0, "controls": 25}},
    )


def printed(run: Results, language: str = "en", *, terminal: bool = False) -> str:
    file = io.StringIO()
    console = Console(file=file, width=80, force_terminal=terminal, color_system="standard" if terminal else None)
    print_summary(summarise(run), console, language=language)
    return file.getvalue()


def html(run: Results, folder: Path) -> str:
    return "".join(page(run, summarise(run), folder, language="en"))


def test_controls_are_rows_atop_the_results(tmp_path: Path) -> None:
    run = controlled(tmp_path, 1.0)
    lines = printed(run).splitlines()
    row = next(line for line in lines if line.startswith("Control: source"))
    assert row.split()[2:5] == ["10/10", "10", "1.09"]
    assert lines.index(row) < next(
        place for place, line in enumerate(lines) if re.match("qwen_image_edit +10/10", line)
    )
    assert "does not put controls last" not in printed(run)
    assert "No controls" not in printed(run)
    table = html(run, tmp_path).split('<tbody class="controls">')[1]
    assert table.index("10/10") < table.index("</tbody>") < table.index("qwen_image_edit")
    written = markdown(run, summarise(run), "zh").splitlines()
    assert [line.split("|")[1].strip() for line in written if line.startswith("| 对照")] == [
        "对照：原图",
        "对照：灰图",
        "对照：他图",
    ]


def test_a_judge_that_loves_the_source_is_said_in_one_red_line(tmp_path: Path) -> None:
    run = controlled(tmp_path, 9.6)
    said = printed(run)
    assert said.count("does not put controls last") == 1
    assert "than the source itself (9.69 against" in " ".join(said.split())
    assert "a grey picture (" not in said
    red = printed(run, terminal=True)
    assert "\x1b[31mqwen3_vl does not put controls last" in red
    assert "qwen3_vl 未将对照排在最后" in printed(run, "zh")
    shown = html(run, tmp_path)
    assert shown.count('class="notice wrong"') == 1
    assert shown.index('class="notice wrong"') < shown.index('id="gallery"')
    assert "**qwen3_vl does not put" in markdown(run, summarise(run), "en")


def test_each_judge_has_its_own_controls(tmp_path: Path) -> None:
    run = controlled(tmp_path, 9.6, edit_models=("first", "second"), judges=("strict", "kind"))
    said = printed(run)
    assert said.count("Control: grey") == 2
    assert said.count("does not put controls last") == 2
    table = html(run, tmp_path).split('<tbody class="controls">')[1].split("</tbody>")[0]
    assert table.count("<tr>") == 6


@pytest.mark.parametrize("off", [True, False])
def test_switched_off_is_said_where_a_judge_could_have_had_them(tmp_path: Path, off: bool) -> None:
    run = replace(controlled(tmp_path, 1.0), controls=())
    configuration = {**run.configuration, "evaluation": {"min_coverage": 1.0, "controls": 0 if off else 25}}
    run = replace(run, configuration=configuration)
    assert ("No controls were judged (evaluation.controls is 0)" in printed(run)) == off
    assert ("No controls were judged" in html(run, tmp_path)) == off
    measured = [{**one, "measures": True} for one in run.resolved["judges"]]
    assert "No controls" not in printed(replace(run, resolved={"judges": measured}))
