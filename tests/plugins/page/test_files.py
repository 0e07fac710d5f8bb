from __future__ import annotations

import csv
import io
import json
import math
import re
import shutil
import zipfile
from collections.abc import Collection
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace as changed
from PIL import Image

from documents import plain
from drawn_pages import read_page, unpack_page
from edit_eval.benchmarks.known_sources import remember_sources
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.page import page as pages
from edit_eval.plugins.page.export import export, read_sample_ids, select_samples
from edit_eval.records import Activity, Edit, Judgement, Picture, Results, RunProvenance, RunTelemetry, Sample, Status
from edit_eval.reporting.report import markdown, write_report
from edit_eval.reporting.scores import write_scores
from edit_eval.reporting.table import inline
from edit_eval.statistics.summary import summarise
from reporting.reported_runs import RUBRIC, build_hostile_run, build_run, unscored
from reporting.reports import Report


def test_the_files_lie_in_the_folder(complete: Report) -> None:
    folder = Path(complete.results.directory) / "report"
    assert sorted(path.name for path in folder.iterdir() if path.is_file()) == [
        "index.html",
        "replies.jsonl",
        "report.md",
        "scores.csv",
        "summary.json",
    ]
    assert complete.folder / "index.html" == folder / "index.html"


def test_the_summary_is_written_as_it_came(incomplete: Report) -> None:
    assert json.loads((incomplete.folder / "summary.json").read_text(encoding="utf-8")) == plain(incomplete.summary)


def test_half_a_surrogate_pair_does_not_stop_the_report(complete: Report, tmp_path: Path) -> None:
    first, *rest = complete.results.judgements
    broken = unscored(first, Status.UNPARSEABLE, "no number in \ud800")
    write_report(replace(complete.results, judgements=(broken, *rest)), complete.summary, tmp_path)
    for name in ("scores.csv", "replies.jsonl", "index.html"):
        assert "\\ud800" in read_page(tmp_path / name)


def test_the_same_run_gives_the_same_bytes(several: Report) -> None:
    before = {path.name: path.read_bytes() for path in several.folder.iterdir() if path.is_file()}
    write_report(several.results, several.summary, several.folder)
    assert {path.name: path.read_bytes() for path in several.folder.iterdir() if path.is_file()} == before


def test_a_report_that_fails_leaves_the_old_one_whole(
    complete: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_report(complete.results, complete.summary, tmp_path)
    old = (tmp_path / "index.html").read_bytes()

    def half_a_page(*_: object, **__: object):
        yield "<html>"
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pages, "page", half_a_page)
    with pytest.raises(OSError, match="No space"):
        write_report(complete.results, complete.summary, tmp_path)
    assert (tmp_path / "index.html").read_bytes() == old
    assert not list(tmp_path.glob(".*"))


def test_a_number_that_json_does_not_know_is_refused(complete: Report, tmp_path: Path) -> None:
    [result] = complete.summary.results
    mean = changed(result.headline_numbers.category_mean, ruled_out_share=math.nan)
    result = changed(
        result, scores={**result.scores, result.headline: changed(result.headline_numbers, category_mean=mean)}
    )
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_report(complete.results, changed(complete.summary, results=[result]), tmp_path)


def test_another_language_is_refused_in_one_line(complete: Report, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="written in en or zh, not in 'fr'"):
        write_report(complete.results, complete.summary, tmp_path, language="fr")


def test_a_run_of_nothing_has_a_report(tmp_path: Path) -> None:
    results = Results(
        name="empty",
        directory=str(tmp_path),
        samples=(),
        edits=(),
        judgements=(),
        edit_models=("model",),
        judges=("judge",),
        scoring={"judge": RUBRIC},
    )
    write_report(results, summarise(results), tmp_path)
    assert len((tmp_path / "scores.csv").read_text(encoding="utf-8").splitlines()) == 1
    assert "0 of 0 scored" in (tmp_path / "report.md").read_text(encoding="utf-8")
    assert (tmp_path / "index.html").stat().st_size > 0


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Results:
    """A run whose sources the cache knows."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    run = build_run(tmp_path / "run", samples=6, size=(96, 72), edit_models=("first", "second"))
    remember_sources(run.samples)
    return run


def sent(made: Results, tmp_path: Path, name: str, **options: Any) -> Path:
    """The report, and all that it was made from gone."""
    written = export(made, summarise(made), tmp_path / "sent" / name, language="en", **options)
    shutil.rmtree(tmp_path / "run")
    shutil.rmtree(tmp_path / "cache")
    return written


LINK = re.compile(
    r"""(?:\b(?:href|src|srcset|action|poster|data-href)=["']|url\(["']?|"(?:file|thumbnail|href)":")([^"')]*)"""
)


def leads_out(page: str, beside: Collection[str] = ()) -> list[str]:
    """What is in a page that leads out of what is sent: neither a place in it, nor data, nor a file `beside` it."""
    without_programs = re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)
    links = [link for link in LINK.findall(without_programs) if link and not link.startswith(("#", "data:", "?"))]
    return [link for link in links if link.removeprefix("./") not in beside]


@pytest.mark.check
def test_one_page_has_all_pictures_in_it(made: Results, tmp_path: Path, browser: Any) -> None:
    page = sent(made, tmp_path, "report.html")
    html = read_page(page)
    assert leads_out(html) == []
    assert leads_out('<a href="../images/a.png">') == ["../images/a.png"]
    assert leads_out('{"file":"file:///home/a.png"}') == ["file:///home/a.png"]
    assert str(tmp_path) not in html
    assert sorted(path.name for path in page.parent.iterdir()) == ["report.html"]
    asked: list[str] = []
    tab = browser.new_page()
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto(page.as_uri())
    tab.locator(".card a").first.click()
    tab.locator("#stage img").first.wait_for()
    tab.wait_for_function("() => [...document.querySelectorAll('#stage img')].every((one) => one.naturalWidth === 96)")
    assert tab.locator("#detail-words a[target]").count() == 0, "no link to a file that does not exist"
    assert [url for url in asked if not url.startswith("data:")] == [page.as_uri()]
    tab.close()


@pytest.mark.parametrize("name", ["report.html", "folder"])
def test_no_folder_of_this_machine_is_sent(made: Results, tmp_path: Path, name: str) -> None:
    """Neither those of the configuration and the last start, nor those in reasons and notes."""
    lost = made.edits[0]
    why = f"no edit of '{lost.sample_id}' in {tmp_path}/edits (.png), 7/10 and/or nothing"
    told = replace(
        made,
        provenance=replace(
            made.provenance,
            configuration={
                "benchmark": {"data_path": str(tmp_path / "my.csv")},
                "judges": [f"{tmp_path}/judges.py:Strict"],
            },
            environment={"command": f"edit-eval run {tmp_path}/my.yaml", "folder": str(tmp_path)},
            notes=(f"file://{tmp_path}/my.csv: odd",),
        ),
        edits=tuple(
            replace(edit, status=Status.EDIT_FAILED, reason=why, image="") if edit == lost else edit
            for edit in made.edits
        ),
        judgements=tuple(
            replace(one, status=Status.EDIT_FAILED, reason=why, scores={}, readings=())
            if (one.sample_id, one.edit_model) == (lost.sample_id, lost.edit_model)
            else one
            for one in made.judgements
        ),
    )
    written = export(told, summarise(told), tmp_path / "sent" / name, language="en")
    files = [written] if written.is_file() else [path for path in written.iterdir() if path.is_file()]
    texts = {path.name: read_page(path) for path in files}
    assert {file for file, text in texts.items() if str(tmp_path) in text} == set()
    page = texts.get("index.html") or texts["report.html"]
    assert "…/my.csv" in page
    assert "edit-eval run …/my.yaml" in page
    if name == "folder":
        assert f"'{lost.sample_id}' in …/edits (.png), 7/10 and/or nothing" in texts["scores.csv"]


@pytest.mark.check
def test_a_folder_has_them_beside_the_page(made: Results, tmp_path: Path, browser: Any) -> None:
    folder = sent(made, tmp_path, "report", side=64)
    names = ["index.html", "pictures", "replies.jsonl", "report.md", "scores.csv", "summary.json", "verdict.svg"]
    assert sorted(path.name for path in folder.iterdir()) == names
    assert len(list((folder / "pictures").iterdir())) == 18
    assert json.loads((folder / "summary.json").read_text())["results"]
    asked: list[str] = []
    tab = browser.new_page()
    tab.on("request", lambda request: asked.append(request.url))
    tab.goto((folder / "index.html").as_uri())
    tab.locator(".card a").first.click()
    tab.wait_for_function("() => [...document.querySelectorAll('#stage img')].every((one) => one.src.endsWith('.jpg'))")
    assert all(url.startswith(("data:", folder.as_uri())) for url in asked)
    tab.close()


def test_a_zip_is_that_folder(made: Results, tmp_path: Path) -> None:
    packed = sent(made, tmp_path, "report.zip", side=64)
    with zipfile.ZipFile(packed) as file:
        assert file.testzip() is None
        names = set(file.namelist())
        assert leads_out(unpack_page(file.read("report/index.html").decode()), {name[7:] for name in names}) == []
        assert all(str(tmp_path) not in unpack_page(file.read(name).decode("utf-8", "replace")) for name in names)
        sizes = {Image.open(io.BytesIO(file.read(name))).size for name in names if name.endswith(".jpg")}
        assert sizes == {(64, 48)}
    assert {"report/index.html", "report/pictures/00000.jpg", "report/summary.json"} <= names
    assert [path.name for path in packed.parent.iterdir()] == ["report.zip"]


def test_a_source_that_the_cache_does_not_know_is_not_sent(made: Results, tmp_path: Path) -> None:
    shutil.rmtree(tmp_path / "cache")
    folder = export(made, summarise(made), tmp_path / "sent", language="zh")
    assert len(list((folder / "pictures").iterdir())) == 12


def test_a_page_of_some_samples_has_their_numbers_and_says_so(made: Results, tmp_path: Path) -> None:
    ids = [sample.id for sample in made.samples[1:3]]
    folder = sent(made, tmp_path, "some", samples=ids)
    with (folder / "scores.csv").open(encoding="utf-8", newline="") as file:
        assert {row["sample_id"] for row in csv.DictReader(file)} == set(ids)
    summary = json.loads((folder / "summary.json").read_text())
    assert {entry["coverage"]["total"] for entry in summary["results"]} == {2}
    html = read_page(folder / "index.html")
    assert "2 of 6 samples, chosen by hand" in html
    assert made.samples[0].id not in html
    assert len(list((folder / "pictures").iterdir())) == 6


def test_what_is_there_is_not_written_over(made: Results, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    with pytest.raises(ConfigurationError, match="already exists"):
        export(made, summarise(made), tmp_path / "full", language="en")
    with pytest.raises(ConfigurationError, match="--size 9: must be from 64 to 4096 pixels"):
        export(made, summarise(made), tmp_path / "new", language="en", side=9)


def test_a_write_that_fails_leaves_nothing(made: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from edit_eval.plugins.page import export as module

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "_write_picture", full)
    with pytest.raises(ConfigurationError, match="No space left on device"):
        export(made, summarise(made), tmp_path / "sent" / "report.zip", language="en")
    assert list((tmp_path / "sent").iterdir()) == []


GOLDEN = """\
# Evaluation report: night run

**Coverage: 2 of 3 scored.** Not scored: 1 (judge refused). Less than the 100% asked for.

model_a scores 7.00 (out of 10) with judge; there is no other model to compare it with.

Next: 1 score is missing (judge refused): to try again, repeat edit-eval run with --retry refused.

Next: Add a second edit model to the configuration, and the two are compared.

Worth knowing:

- one damaged line

## Results

| Edit model | Judge | Scored | Images | Mean | 95% interval | Worst to best case | Mean of categories | Std | Median \
| Min | Max |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| model_a | judge | 2/3 | 2 | 7.00 | – | 4.67–8.00 | 7.00 | 1.41 | 7.00 | 6.00 | 8.00 |

No interval: fewer than six source images.

## Mean score by category

| Category | Model | Scored | Images | Mean | 95% interval | Worst to best case | Std | Median | Min | Max |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| Physical and geometric consistency | model_a | 1/1 | 1 | 6.00 | – | – | – | 6.00 | 6.00 | 6.00 |
| Cause and effect | model_a | 1/2 | 1 | 8.00 | – | 4.00–9.00 | – | 8.00 | 8.00 | 8.00 |

No interval: one source image.

## Failures by reason

| Count | Edit model | Judge | Status | Reason |
| ---: | --- | --- | --- | --- |
| 1 | model_a | judge | judge refused | no \\| pipe |

## Time

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
        telemetry=RunTelemetry(
            activities=(
                Activity(start_number=1, device="cuda:0", kind="editing", model="model_a", begin=0.0, end=60.0),
            ),
            wall_seconds=(100.0,),
            devices=("cuda:0",),
        ),
        provenance=RunProvenance(notes=("one damaged line",)),
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
    assert "2 (not done yet)" in coverage
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


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return build_run(tmp_path_factory.mktemp("run"), samples=4, size=(16, 12), edit_models=("first", "second"))


def test_all_that_is_about_others_is_left_out(run: Results) -> None:
    wanted = {run.samples[3].id, run.samples[1].id}
    some = select_samples(run, [run.samples[3].id, run.samples[1].id])
    assert [sample.id for sample in some.samples] == [run.samples[1].id, run.samples[3].id]
    assert {edit.sample_id for edit in some.edits} == {judgement.sample_id for judgement in some.judgements} == wanted
    assert len(some.edits) == len(some.judgements) == 4
    assert some.provenance.notes[0].startswith("2 of 4 samples, chosen by hand")
    assert some.provenance.notes[1:] == run.provenance.notes


def test_an_id_that_is_not_there_is_named(run: Results) -> None:
    with pytest.raises(ConfigurationError, match="is not a sample of"):
        select_samples(run, [run.samples[0].id, "elsewhere"])
    with pytest.raises(ConfigurationError, match="no sample was named"):
        select_samples(run, [])


def test_ids_come_from_scores_csv_whatever_they_look_like(tmp_path: Path) -> None:
    hostile = build_hostile_run(tmp_path / "run")
    file = tmp_path / "scores.csv"
    with file.open("w", encoding="utf-8", newline="") as opened:
        write_scores(hostile, opened)
    ids = read_sample_ids(file)
    assert sorted(ids) == sorted(sample.id for sample in hostile.samples)
    assert len(select_samples(hostile, ids).samples) == len(hostile.samples)


def test_what_is_no_such_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_sample_ids(tmp_path / "nothere.csv")
    other = tmp_path / "other.csv"
    other.write_text("id,score\na,1\n")
    with pytest.raises(ConfigurationError, match="does not name the column 'sample_id'; it names id, score"):
        read_sample_ids(other)
    other.write_bytes(b"sample_id\n\xff\xfe\n")
    with pytest.raises(ConfigurationError, match="not UTF-8"):
        read_sample_ids(other)
