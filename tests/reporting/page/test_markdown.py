from itertools import pairwise
from pathlib import Path

import pytest

from edit_eval.records import Activity, Edit, Judgement, Picture, Results, Sample, Status
from edit_eval.reporting.page.files import markdown
from edit_eval.reporting.table import inline
from edit_eval.statistics.summary import summarise
from reporting.reported_runs import RUBRIC
from reporting.reports import Report

GOLDEN = """\
# Evaluation report: night run

**Coverage: 2 of 3 scored.** Not scored: 1 judge refused. Below the required coverage of 100%.

model_a scores 7.00 (out of 10) with judge; 2 of 3 are scored.

Worth knowing:

- one damaged line

## Results

| Edit model | Judge | Scored | Images | Mean | 95% interval | Worst to best case | Mean of categories | Std | Median \
| Min | Max |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| model_a | judge | 2/3 | 2 | 7.00 | – (fewer than six source images) | 4.67–8.00 | 7.00 | 1.41 | 7.00 | 6.00 | 8.00 |

## Mean score by category

| Category | Model | Scored | Images | Mean | 95% interval | Worst to best case | Std | Median | Min | Max |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| Physical and geometric consistency | model_a | 1/1 | 1 | 6.00 | – (one source image) | – | – | 6.00 | 6.00 | 6.00 |
| Cause and effect | model_a | 1/2 | 1 | 8.00 | – (one source image) | 4.00–9.00 | – | 8.00 | 8.00 | 8.00 |

## Failures by reason

| Count | Edit model | Judge | Status | Reason |
| ---: | --- | --- | --- | --- |
| 1 | model_a | judge | judge refused | no \\| pipe |

## Time and cost

Wall time: 1 min 40 s. GPU time: 1 min 40 s. Time per edit: 20 s. Time per answer: 2.0 s.

| Device | Starting | Loading | Editing | Judging | Unloading | Idle | At work |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| cuda:0 | 0.0 s | 0.0 s | 1 min 00 s | 0.0 s | 0.0 s | 40 s | 60% |
"""


def small_run() -> Results:
    categories = ("causal", "physical", "causal")
    samples = tuple(
        Sample(
            id=f"s{n}",
            index=n,
            category=category,
            pictures={"source": Picture(path=f"/none/{n}.png", digest=f"{n:064d}")},
            instruction="Do it.",
        )
        for n, category in enumerate(categories)
    )
    edits = tuple(
        Edit(
            key=f"e{n}",
            sample_id=f"s{n}",
            edit_model="model_a",
            seed=n,
            edit_seed=0,
            status=Status.OK,
            image=f"{n}.png",
            seconds=20.0,
        )
        for n in range(3)
    )
    scores = (8.0, 6.0, None)
    judgements = tuple(
        Judgement(
            sample_id=f"s{n}",
            category=categories[n],
            edit_model="model_a",
            judge="judge",
            edit_seed=0,
            repeat=0,
            headline="score",
            status=Status.OK if score is not None else Status.REFUSED,
            scores={} if score is None else {"score": score},
            reason="" if score is not None else "no | pipe",
            seconds=2.0,
        )
        for n, score in enumerate(scores)
    )
    return Results(
        name="night run",
        directory="/none",
        samples=samples,
        edits=edits,
        judgements=judgements,
        edit_models=("model_a",),
        judges=("judge",),
        scoring={"judge": RUBRIC},
        activities=(Activity(start_number=1, device="cuda:0", kind="editing", model="model_a", begin=0.0, end=60.0),),
        wall_seconds=(100.0,),
        devices=("cuda:0",),
        notes=("one damaged line",),
    )


def test_the_whole_document() -> None:
    results = small_run()
    assert markdown(results, summarise(results), "en") == GOLDEN


def test_it_can_be_chinese() -> None:
    results = small_run()
    document = markdown(results, summarise(results), "zh")
    assert "# 评测报告: night run" in document
    assert "物理与几何一致性" in document
    assert "评审拒绝" in document


def test_what_is_still_to_do_is_no_failure(incomplete: Report) -> None:
    document = (incomplete.folder / "report.md").read_text(encoding="utf-8")
    coverage, rest = document.split("## Results")
    assert "2 not done yet" in coverage
    assert "This run is not finished." in coverage
    assert "not done yet" not in rest


def test_every_table_has_as_many_cells_in_each_row(hostile: Report) -> None:
    document = (hostile.folder / "report.md").read_text(encoding="utf-8")
    widths = [line.replace("\\|", "").count("|") for line in document.splitlines()]
    for before, after in pairwise(widths):
        assert not (before and after) or before == after


@pytest.mark.parametrize(
    ("words", "written"),
    [
        ("qwen_image_edit", "qwen_image_edit"),
        ("_a_ *b* `c`", "\\_a\\_ \\*b\\* \\`c\\`"),
        ("<img src=x>", "\\<img src=x\\>"),
        ("a | b\n\n# c", "a \\| b \\# c"),
        ("[x](y) ![z](w)", "\\[x\\](y) \\!\\[z\\](w)"),
    ],
)
def test_words_from_the_records_are_no_markup(words: str, written: str) -> None:
    assert inline(words) == written


def test_the_file_is_that_document(complete: Report) -> None:
    path: Path = complete.folder / "report.md"
    assert path.read_text(encoding="utf-8") == markdown(complete.results, complete.summary, "en")


def test_every_score_has_its_row_its_scale_and_its_categories(three_scores: Report) -> None:
    document = markdown(three_scores.results, three_scores.summary, "en")
    for words in ("quality (from 1 to 5)", "drift (from -1 to 1, lower is better)", "psnr (no lower or upper end)"):
        assert f"| {words} | first | three |" in document
    titles = [line.split(": ")[1] for line in document.splitlines() if line.startswith("## Mean score by category")]
    assert titles == ["quality, Score", "drift", "psnr"]
    assert "- second, three: Avg 3.22" in document
    assert "| first | three | psnr: score undefined |" in document
    assert "drift（-1 至 1，越低越好）" in markdown(three_scores.results, three_scores.summary, "zh")
    widths = [line.replace("\\|", "").count("|") for line in document.splitlines()]
    assert all(not (before and after) or before == after for before, after in pairwise(widths))
