from __future__ import annotations

import io
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace as changed
from rich.cells import cell_len
from rich.console import Console

from documents import plain
from edit_eval.plugins.page.charts import charts
from edit_eval.plugins.page.notebook import notebook_html
from edit_eval.plugins.page.page import page
from edit_eval.plugins.status.sheet import status_document
from edit_eval.records import CONTROL, JUDGE_FAILED, Results, Scale, Status
from edit_eval.reporting import results_sheet
from edit_eval.reporting.analyses import summary_of
from edit_eval.reporting.comparison import print_comparison
from edit_eval.reporting.documents import encode_document
from edit_eval.reporting.language import translate
from edit_eval.reporting.remarks import few_images, footnotes, unshown_lines
from edit_eval.reporting.report import markdown
from edit_eval.reporting.results_sheet import coverage_words, print_answer, print_summary
from edit_eval.reporting.table import Column, Table, print_sheet
from edit_eval.reporting.terminal_text import one_line
from edit_eval.reporting.verdict import answer_lines
from edit_eval.statistics.comparison import compare_models
from edit_eval.statistics.failures import failures
from edit_eval.statistics.means import means
from edit_eval.statistics.summary import Summary, summarise
from edit_eval.statistics.timing import DeviceMemory
from edit_eval.statistics.verdict import Advice, Verdict
from edit_eval.text import join_texts
from reporting.readings import drawn
from reporting.reported_runs import HOSTILE, build_run, rescored
from reporting.reports import Report, headline, report_on


def printed(summary: Summary, *, language: str = "en", terminal: bool = False, width: int = 80) -> str:
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=terminal, color_system="standard" if terminal else None)
    print_summary(summary, console, language=language)
    return file.getvalue()


@pytest.mark.parametrize("name", ["complete", "incomplete", "several", "three_scores", "hostile"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_answer_takes_a_dozen_rows(name: str, language: str, request: pytest.FixtureRequest) -> None:
    """With one judge or three: who is better and how many of how many, always; all else as far as there is room."""
    summary = request.getfixturevalue(name).summary
    shown, wide = (Console(file=io.StringIO(), width=width, color_system=None) for width in (80, 1000))
    left = [print_answer(summary, Path("runs/a b"), console, language=language) for console in (shown, wide)]
    assert left == [None, None]
    lines, whole = (console.file.getvalue().splitlines() for console in (shown, wide))  # type: ignore[attr-defined]
    assert len(lines) <= 11, "and the page's path"
    answer = [one_line(translate(line, language)) for line in answer_lines(summary.verdict)]
    assert whole[: len(answer)] == answer
    assert translate(join_texts(coverage_words(summary), " "), language) in whole
    assert "edit-eval report 'runs/a b' --full" in lines[-1]


def test_what_had_no_room_is_counted(several: Report) -> None:
    """Notes give way to the judges and to what to do next."""
    noted = changed(several.summary, notes=[f"note {number} of many" for number in range(20)])
    console = Console(file=io.StringIO(), width=80, color_system=None)
    print_answer(noted, Path("runs/a"), console)
    text = console.file.getvalue()  # type: ignore[attr-defined]
    shown = text.count("of many\n")
    [left] = re.findall(r"All tables and (\d+) more lines: edit-eval report runs/a --full", text)
    assert shown + int(left) >= 20
    assert len(text.splitlines()) <= 11
    assert "Next: " in text


def test_a_judge_that_failed_its_audit_is_named_whatever_else_is_cut(several: Report) -> None:
    """What an audit found must not vanish from the screen where it speaks against all that stands there."""
    summary = several.summary
    judge = summary.verdict.opinions[0].judge
    failed = changed(summary.verdict, next=[Advice("failed_audit", names=(judge,))])
    for verdict, weight in ((summary.verdict, 5), (failed, 1)):
        parts = results_sheet._answer(changed(summary, verdict=verdict))
        assert [number for number, lines in parts if str(lines[0].words).startswith(f"Judge {judge}")] == [weight]


def test_no_name_is_broken_for_figures_that_can_be_spared(complete: Report) -> None:
    name = "the_name_of_a_model_that_is_long"
    summary = msgspec.json.decode(
        encode_document(complete.summary).replace(f'"{complete.results.edit_models[0]}"', f'"{name}"'), type=Summary
    )
    assert all(f"{title} " in printed(summary, width=200).replace("\n", " ") for title in ("Median", "Max"))
    lines = printed(summary).splitlines()
    head = next(line for line in lines if line.startswith("Edit model"))
    assert "95% interval" in head
    assert "Max" not in head
    assert any(line.startswith(f"{name} ") for line in lines)


def test_no_word_of_a_groups_heading_is_broken_for_figures_that_can_be_spared() -> None:
    columns: tuple[Column[str], ...] = (
        Column("Model", lambda row: row[-1], "name"),
        Column("Mean", lambda row: "5.00"),
        Column("Max", lambda row: "9.90", spare=True),
    )
    rows = ["Environmental a", "Environmental b", "Social a", "Social b"]
    table = Table(columns, rows, group=Column("Category", lambda row: row.split()[0], "name"))
    for width, spared in ((21, "Max"), (60, "no such")):
        console = Console(file=io.StringIO(), width=width)
        print_sheet([table], console)
        text = console.file.getvalue()  # type: ignore[attr-defined]
        assert "Environmental" in text
        assert ("Max" in text) == (spared != "Max")


def test_the_weakest_category_says_of_how_many_it_is(several: Report) -> None:
    console = Console(file=io.StringIO(), width=1000, color_system=None)
    print_answer(several.summary, Path("runs/a"), console)
    said = console.file.getvalue()  # type: ignore[attr-defined]
    _, count, whole = re.search(
        r"Weakest category of [^:]+: (\S+) \(\d\.\d+, n (\d+); all: \d\.\d+, n (\d+)\)\.", said
    ).groups()
    first = next(part for part in several.summary.results if f"of {part.edit_model}:" in said)
    assert int(whole) == first.headline_numbers.n
    assert int(count) in {block.n for block in first.headline_numbers.categories.values()}


def test_coverage_comes_first(incomplete: Report) -> None:
    first = printed(incomplete.summary, width=200).splitlines()[0]
    coverage = incomplete.summary.coverage
    assert first.startswith(f"{coverage.scored} of 30 scored. Not scored: ")
    assert "2 (not done yet)" in first
    assert "Less than the 100% asked for." in first


@pytest.mark.parametrize(
    ("language", "words"),
    [("en", "3 of 10 scores came only when asked again."), ("zh", "10 个分数中有 3 个是再次询问才得到的。")],
)
def test_second_askings_are_told_where_there_were_any(complete: Report, language: str, words: str) -> None:
    assert complete.summary.coverage.asked_again == 0
    assert words not in printed(complete.summary, language=language, width=200)
    told = changed(complete.summary, coverage=changed(complete.summary.coverage, asked_again=3))
    assert words in printed(told, language=language, width=200)


def test_worst_and_best_stand_only_beside_what_is_incomplete(complete: Report, incomplete: Report) -> None:
    assert "Worst–best" not in printed(complete.summary)
    overall = headline(incomplete.summary.results[0])
    expected = f"{overall.worst_case_mean:.2f}–{overall.best_case_mean:.2f}"
    assert expected in printed(incomplete.summary)


def test_a_row_for_each_edit_model_and_judge(several: Report) -> None:
    text = printed(several.summary)
    for entry in several.summary.results:
        section = text.split(f"judged by {entry.judge}")[1].split("judged by")[0]
        row = next(line for line in section.splitlines() if line.startswith(entry.edit_model))
        coverage = entry.coverage
        assert f"{coverage.scored}/{coverage.total}" in row
        assert f"{headline(entry).mean:.2f}" in row


def test_the_mean_of_categories_says_of_how_many_it_is(complete: Report) -> None:
    entry = complete.summary.results[0]
    row = next(line for line in printed(complete.summary).splitlines() if line.startswith("Mean of categories"))
    counts = f"{entry.coverage.scored}/{entry.coverage.total}", str(headline(entry).images)
    assert row.split()[3:6] == [*counts, f"{headline(entry).category_mean.mean:.2f}"]


def test_devices_with_their_times(complete: Report) -> None:
    row = next(line for line in printed(complete.summary).splitlines() if line.startswith("cuda:0"))
    assert row.endswith("%")
    assert row.count("s") >= 5


def test_utilisation_of_gpus_has_a_column_where_it_is_known(complete: Report) -> None:
    timing = complete.summary.timing
    told = {"cuda:0": {"mean": 0.87, "editing": 0.96}}
    text = printed(changed(complete.summary, timing=changed(timing, gpu_utilisation=told)))
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
    timing = changed(complete.summary.timing, memory=msgspec.convert(memory, dict[str, DeviceMemory]))
    text = printed(changed(complete.summary, timing=timing))
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
    entry = changed(complete.summary.results[0], edit_model="[red]a[/red]\x1b[2J")
    text = printed(changed(complete.summary, results=[entry]), width=120)
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


def test_numbers_may_be_missing_anywhere(complete: Report) -> None:
    numbers = ("images", "mean", "std", "median", "min", "max", "ci95", "no_ci95", "worst_case_mean", "best_case_mean")
    nothing = {"scored": 0, "total": 0, "by_status": {}}
    entry = complete.summary.results[0]
    mean = changed(entry.headline_numbers.sample_mean, mean=None, ci95=None, no_ci95="no_scores", ruled_out_share=None)
    block = changed(
        entry.headline_numbers,
        **dict.fromkeys(numbers),
        ruled_out_share=None,
        scale=Scale(),
        n=0,
        coverage=changed(entry.headline_numbers.coverage, **nothing),
        **dict.fromkeys(("sample_mean", "category_mean"), mean),
        **{kind: {} for kind in ("categories", "difficulties", "tags", "languages")},
    )
    of_none = changed(entry, scores={entry.headline: block}, coverage=changed(entry.coverage, **nothing))
    verdict = Verdict("no_answer", "", ("m",), (), (Advice("retry", 1, ("edit_failed",)),), 0)
    coverage = changed(complete.summary.coverage, **nothing)
    summary = changed(complete.summary, results=[of_none], verdict=verdict, coverage=coverage, edits=[], failures=[])
    assert "0 of 0 scored." in printed(summary)


def test_every_score_has_its_rows_under_its_name(three_scores: Report) -> None:
    text = printed(three_scores.summary)
    section = text.split("judged by three")[1].split("judged by kind")[0]
    entry = three_scores.summary.results[0]
    for name, scale in (("quality", "from 1 to 5"), ("drift", "from -1 to 1, lower is better"), ("psnr", "no lower")):
        scale_of_it, table = section.split(f"\n{name}: ")[1].split("\n", 1)
        assert scale_of_it.startswith(scale)
        row = next(line for line in table.splitlines() if line.startswith("first "))
        assert f"{entry.scores[name].mean:.{3 if name == 'drift' else 2}f}" in row.split()
    assert "By the authors' formula: first, three: Avg 3.22" in text
    assert "Pass rate: none (2 of 60 answers" in " ".join(text.split())


WORDS = "of a kind that makes less than 14% of all, 20 may well show none."


@pytest.fixture(scope="module")
def twenty(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return build_run(tmp_path_factory.mktemp("twenty"), samples=20, edit_models=("a", "b"), size=(16, 12))


def test_it_is_said_in_every_medium(twenty: Results) -> None:
    report = report_on(twenty)
    folder = Path(twenty.directory) / "report"
    terminal, comparison = (Console(file=io.StringIO(), width=300) for _ in range(2))
    print_summary(report.summary, terminal)
    compared = compare_models(twenty)
    assert compared is not None
    print_comparison(compared, comparison, full=True)
    notebook = notebook_html(twenty, report.summary, folder / "index.html", language="en")
    shown = [console.file.getvalue() for console in (terminal, comparison)]  # type: ignore[attr-defined]
    shown += [notebook, (folder / "report.md").read_text("utf-8")]
    assert [words.count(WORDS) for words in shown] == [1] * 4
    assert report.html.count(f"{WORDS}<") == 1
    assert all(
        "14%" in line and "20 张" in line for line in (translate(line, "zh") for line in footnotes(report.summary))
    )


def test_it_is_a_number_beside_each_interval_and_nowhere_else(twenty: Results) -> None:
    summary = summarise(twenty)
    (row, _) = means(summary)
    assert row.ruled_out_share == pytest.approx(1 - 0.05 ** (1 / 20))
    block = summary.results[0].scores["score"]
    assert block.category_mean.ruled_out_share == pytest.approx(row.ruled_out_share)
    for of_category in block.categories.values():
        assert (of_category.ci95, of_category.ruled_out_share, of_category.no_ci95) == (None, None, "few_images")
    assert [column.ruled_out_share for column in summary.comparison.columns] == [row.ruled_out_share] * 2
    few = replace(twenty, samples=twenty.samples[:5], edits=twenty.edits[:0])
    kept = {sample.id for sample in few.samples}
    few = replace(few, judgements=tuple(judgement for judgement in twenty.judgements if judgement.sample_id in kept))
    assert [mean.ruled_out_share for mean in means(summarise(few))] == [None, None]
    assert footnotes(summarise(few)) == []


def test_of_many_images_only_what_their_categories_cannot_show_is_said() -> None:
    many = (0.011, 270)
    assert few_images([many]) == few_images([many], [(0.054, 54)]) == []
    [line] = few_images([many], [(0.22, 12), (None, 9)])
    assert "of a category" in line.template
    assert line.fields == ("22%", 12)
    [line] = few_images([(0.139, 20), many], [(0.39, 6)])
    assert line.fields == ("14%", 20, 6, "39%")


KINDS = {"source": 1.0, "blank": 0.0, "shuffled": 0.5}


def judges_of(run: Results) -> Any:
    """What is recorded of a run's judges."""
    return run.provenance.resolved["judges"]


def controlled(directory: Path, source: float, **how: object) -> Results:
    """A run with controls; the judges give `source` to the sources themselves, and the rest little."""
    run = build_run(directory, samples=10, size=(24, 16), **how)
    controls = [
        replace(
            rescored(judgement, min(10.0, (source if kind == "source" else score) + place % 3 / 10)),
            edit_model=f"{CONTROL}{kind}",
        )
        for kind, score in KINDS.items()
        for place, judgement in enumerate(run.judgements)
        if judgement.edit_model == run.edit_models[0] and judgement.repeat == 0
    ]
    judges = [{**judge, "measures": False, "replays": False} for judge in judges_of(run)]
    return replace(
        run,
        controls=tuple(controls),
        provenance=replace(
            run.provenance,
            resolved={**run.provenance.resolved, "judges": judges},
            configuration={**run.provenance.configuration, "evaluation": {"min_coverage": 1.0, "controls": 25}},
        ),
    )


def printed_controls(run: Results, language: str = "en", *, terminal: bool = False) -> str:
    file = io.StringIO()
    console = Console(file=file, width=80, force_terminal=terminal, color_system="standard" if terminal else None)
    print_summary(summarise(run), console, language=language)
    return file.getvalue()


def html(run: Results, folder: Path) -> str:
    return "".join(page(run, summarise(run), folder, language="en"))


def test_controls_are_rows_atop_the_results(tmp_path: Path) -> None:
    run = controlled(tmp_path, 1.0)
    lines = printed_controls(run).splitlines()
    row = next(line for line in lines if line.startswith("Control: source"))
    assert row.split()[2:5] == ["10/10", "10", "1.09"]
    assert lines.index(row) < next(
        place for place, line in enumerate(lines) if re.match("qwen_image_edit +10/10", line)
    )
    explained = "Controls are judged like edits and are in no other number: the source itself, {}the edit of another"
    assert explained.format("a grey picture, ") in " ".join(printed_controls(run).split())
    others = [replace(row, edit_model=row.edit_model.replace("blank", "turned")) for row in run.controls]
    of_a_package = replace(run, controls=tuple(others))
    assert explained.format("turned, ") in " ".join(printed_controls(of_a_package).split())
    assert explained.format("turned, ") in html(of_a_package, tmp_path)
    assert "does not put controls clearly last" not in printed_controls(run)
    assert "No controls" not in printed_controls(run)
    table = html(run, tmp_path).split('<tbody class="controls">')[1]
    assert table.index("10/10") < table.index("</tbody>") < table.index("qwen_image_edit")
    written = markdown(run, summarise(run), "zh").splitlines()
    assert [line.split("|")[1].strip() for line in written if line.startswith("| 对照")] == [
        "对照：原图",
        "对照：灰图",
        "对照：另一张图",
    ]


def test_a_judge_that_loves_the_source_is_said_in_one_red_line(tmp_path: Path) -> None:
    run = controlled(tmp_path, 9.6)
    said = printed_controls(run)
    assert said.count("does not put controls clearly last") == 1
    assert "than the source itself (9.69 against" in " ".join(said.split())
    assert "a grey picture (" not in said
    red = printed_controls(run, terminal=True)
    assert "\x1b[31mqwen3_vl does not put controls clearly last" in red
    assert "给对照的分数没有明显低于编辑" in "".join(printed_controls(run, "zh").split())
    shown = html(run, tmp_path)
    assert shown.count('class="notice wrong"') == 1
    assert shown.index('class="notice wrong"') < shown.index('id="gallery"')
    assert "**qwen3_vl does not put" in markdown(run, summarise(run), "en")


def test_each_judge_has_its_own_controls(tmp_path: Path) -> None:
    run = controlled(tmp_path, 9.6, edit_models=("first", "second"), judges=("strict", "kind"))
    said = printed_controls(run)
    assert said.count("Control: grey") == 2
    assert said.count("does not put controls clearly last") == 2
    table = html(run, tmp_path).split('<tbody class="controls">')[1].split("</tbody>")[0]
    assert table.count("<tr>") == 6


@pytest.mark.parametrize("off", [True, False])
def test_switched_off_is_said_where_a_judge_could_have_had_them(tmp_path: Path, off: bool) -> None:
    run = replace(controlled(tmp_path, 1.0), controls=())
    configuration = {**run.provenance.configuration, "evaluation": {"min_coverage": 1.0, "controls": 0 if off else 25}}
    run = replace(run, provenance=replace(run.provenance, configuration=configuration))
    assert ("No controls were judged (evaluation.controls is 0)" in printed_controls(run)) == off
    assert ("No controls were judged" in html(run, tmp_path)) == off
    measured = [{**judge, "measures": True} for judge in judges_of(run)]
    assert "No controls" not in printed_controls(
        replace(run, provenance=replace(run.provenance, resolved={"judges": measured}))
    )


def test_each_failure_is_counted_once(incomplete: Report) -> None:
    counted = failures(incomplete.results)
    ended = [
        judgement for judgement in incomplete.results.judgements if judgement.status not in (Status.OK, Status.PENDING)
    ]
    assert sum(failure.count for failure in counted) == len(ended) > 5
    for of_edits in (True, False):
        counts = [failure.count for failure in counted if (not failure.judge) == of_edits]
        assert counts == sorted(counts, reverse=True)


def test_a_complete_run_has_none(complete: Report) -> None:
    assert failures(complete.results) == []


def test_a_failed_edit_counts_once_whatever_judges_would_have_seen_it(several: Report) -> None:
    results = several.results
    assert len(results.judges) == 2
    failed = sum(edit.status is Status.EDIT_FAILED for edit in results.edits)
    unjudged = sum(judgement.status is Status.EDIT_FAILED for judgement in results.judgements)
    assert unjudged == 2 * failed > 0
    mute = sum(judgement.status in JUDGE_FAILED for judgement in results.judgements)
    expected = {"edits": failed, "judgements": mute}

    def of(pairs: list[tuple[bool, int]]) -> dict[str, int]:
        counts: Counter[str] = Counter()
        for is_edit, count in pairs:
            counts["edits" if is_edit else "judgements"] += count
        return dict(counts)

    document = plain(status_document(results))
    assert of([(not failure["judge"], failure["count"]) for failure in document["failures"]]) == expected
    [chart] = charts(results, several.summary, "en")["failures"]
    rows: list[dict[str, Any]] = next(iter(chart["datasets"].values()))
    assert of([(row["status"] == "edit failed", row["count"]) for row in rows]) == expected
    table = markdown(results, several.summary, "en").split("## Failures by reason")[1].split("##")[0]
    lines = [line.split(" | ") for line in table.splitlines() if line.startswith("| ") and line[2].isdigit()]
    assert of([(cells[3] == "edit failed", int(cells[0].strip("| "))) for cells in lines]) == expected
    # Coverage counts judgements, of which those without an edit have not failed.
    words = " ".join(coverage_words(several.summary))
    tried = sum(of.total for of in several.summary.edits)
    assert f"{failed} of {tried} edits failed, so {unjudged} of {several.summary.coverage.total} scores" in words
    assert ">edit failed</span>" in several.html
    assert "edit failed" not in several.html.split('id="results"')[1].split('id="breakdown"')[0]


ASIDE = "failed 2 times; the last time: {} is gone"


def test_a_skipped_sample_counts_once(complete: Report) -> None:
    bad = replace(complete.results.samples[0], fault="the image ends in the middle")
    results = replace(complete.results, samples=(bad, *complete.results.samples[1:]))
    [failure] = failures(results)
    assert (failure.status, failure.reason, failure.count) == (Status.SKIPPED, "the image ends in the middle", 1)
    assert (failure.edit_model, failure.judge, failure.samples) == ("", "", [bad.id])


def test_a_number_is_no_name_of_a_sample(incomplete: Report) -> None:
    edits = tuple(
        replace(edit, sample_id=str(number), status=Status.EDIT_FAILED, image="", reason=f"12 GiB for {number}")
        for number, edit in enumerate(incomplete.results.edits[:4])
    )
    [failure] = failures(replace(incomplete.results, samples=(), edits=edits, judgements=()))
    assert (failure.reason, failure.count) == ("12 GiB for …", 4)


def test_equal_reasons_that_name_their_sample_are_one(incomplete: Report) -> None:
    edits = tuple(
        replace(edit, status=Status.EDIT_FAILED, image="", reason=ASIDE.format(edit.sample_id))
        for edit in incomplete.results.edits[:7]
    )
    [failure] = failures(replace(incomplete.results, edits=edits, judgements=()))
    assert (failure.reason, failure.count, failure.set_aside) == ("… is gone", 7, True)


def test_a_control_that_nobody_could_score_is_no_fault_of_the_judge(tmp_path: Path) -> None:
    made = drawn(tmp_path, gains={"j": {"a": 6.0, "b": 7.0}}, samples=12, noise=0.3)
    silent = f"{CONTROL}blank"
    controls = tuple(
        replace(control, status=Status.JUDGE_ERROR, reason="it raised", scores={})
        if control.edit_model == silent
        else control
        for control in made.controls
    )
    [line] = unshown_lines(summary_of(replace(made, controls=controls)))
    assert line == (
        "Judge j: not shown to see edits "
        "(it gave no score to a grey picture: judge failed; `run --retry judge_error` asks again)"
    )
