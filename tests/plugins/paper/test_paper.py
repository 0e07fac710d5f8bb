"""A paper of runs: what is in its files is the verdict's, LaTeX compiles it, and what is no one table is refused."""

from __future__ import annotations

import csv
import io
import json
import re
import string
import subprocess
import sys
from pathlib import Path
from shutil import which
from typing import Any

import msgspec
import pytest

from documented_blocks import DOCS, blocks
from documents import plain
from edit_eval import ConfigurationError, Run, analyse, evaluate
from edit_eval.plugins.paper import figure
from edit_eval.plugins.paper.analysis import escape_latex
from edit_eval.plugins.paper.document import NamedModel, Paper, methods, results
from edit_eval.reporting.document_files import write_document
from edit_eval.reporting.language import translate
from edit_eval.reporting.verdict import answer_lines
from faults.faulty_runs import Ears

FILES = {"table.tex", "figure.pdf", "figure.svg", "results.txt", "methods.txt", "numbers.csv", "paper.tex"}
MORE = """

class Steady(Careful):
    spill = 0.021


class Failing(Careful):
    def edit(self, request, on_step):
        if Random(request.seed).random() < 0.3:
            raise ValueError("no edit today")
        return super().edit(request, on_step)


class Strict(Ruler):
    def answer(self, instruction, source, edit):
        return f"Score: {float(super().answer(instruction, source, edit).split()[-1]) / 2:.3f}"
"""
MODELS = {"our_model": "Careful", "a--b": "Steady", "draft_2": "Careless", "breaks": "Failing"}
needs_latex = pytest.mark.skipif(not (which("pdflatex")), reason="pdflatex is missing")


def made(folder: Path, name: str, models: dict[str, str], judges: dict[str, str], count: int = 12) -> Run:
    """A run of the tutorial's stand-ins on its drawn balls."""
    files = {block.file: block.text for block in blocks(DOCS / "tutorial.md") if block.file.endswith(".py")}
    (folder / "stand_ins.py").write_text(files["stand_ins.py"] + MORE, "utf-8")
    (folder / "draw.py").write_text(files["draw.py"], "utf-8")
    subprocess.run([sys.executable, "draw.py", str(count)], cwd=folder, check=True)
    place = f"{folder / 'stand_ins.py'}:"

    def of(classes: dict[str, str]) -> dict[str, Any]:
        return {
            name: {"class_path": place + class_name, "params": {"device_ids": "cpu:1"}}
            for name, class_name in classes.items()
        }

    written = {
        "benchmark": {"type": "table", "data_path": str(folder / "my.csv")},
        "edit_models": of(models),
        "judges": of(judges),
        "evaluation": {"min_coverage": 0.0},
        "execution": {"pilot": False, "progress": "none"},
    }
    return evaluate(written, run_dir=folder / name, report=False, spectator=Ears())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("paper")


@pytest.fixture(scope="module")
def run(folder: Path) -> Run:
    return made(folder, "four", MODELS, {"ruler": "Ruler", "strict": "Strict"})


@pytest.fixture(scope="module")
def paper(run: Run) -> Paper:
    document: Paper = analyse("paper", run).document
    return document


def written(document: Paper, folder: Path, name: str = "paper") -> Path:
    write_document("paper", document, folder / name, records=None, language="en", force=True)
    return folder / name


def changed(run: Run, **summary: Any) -> Run:
    """The same run with another summary."""
    other = Run(run.path)
    whole = msgspec.structs.replace(run.summary, **summary)
    vars(other).update(summary=whole, results=run.results, experiment=run.experiment)
    return other


def test_a_folder_has_every_file_whole_and_replaces_only_what_it_may(paper: Paper, tmp_path: Path) -> None:
    place = written(paper, tmp_path)
    assert {file.name for file in place.iterdir()} == FILES
    with pytest.raises(ConfigurationError, match="already exists"):
        write_document("paper", paper, place, records=None, language="en", force=False)
    assert [*tmp_path.iterdir()] == [place], "nothing unfinished is left"


def test_what_else_is_in_the_folder_stays(paper: Paper, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thesis, say, that includes the table."""
    place = tmp_path / "thesis"
    (place / "chapters").mkdir(parents=True)
    (place / "thesis.tex").write_text("mine", encoding="utf-8")
    (place / "table.tex").write_text("old", encoding="utf-8")
    monkeypatch.chdir(place)
    write_document("paper", paper, Path(), records=None, language="en", force=True)
    assert {file.name for file in place.iterdir()} == FILES | {"thesis.tex", "chapters"}
    assert (place / "thesis.tex").read_text("utf-8") == "mine"
    assert "booktabs" in (place / "table.tex").read_text("utf-8")
    assert [*tmp_path.iterdir()] == [place]


def test_numbers_and_marks_are_those_of_the_run(run: Run, paper: Paper, tmp_path: Path) -> None:
    rows = list(csv.DictReader(io.StringIO((written(paper, tmp_path) / "numbers.csv").read_text("utf-8"))))
    comparison = run.summary.comparison
    theirs = {(column.judge, column.name): column for column in comparison.columns}
    assert {(row["judge"], row["name"]) for row in rows} == theirs.keys()
    beaten = {(pair.judge, pair.scores_better) for pair in comparison.pairs if pair.scores_better}
    assert beaten, "somebody is shown to be better"
    for row in rows:
        of = theirs[row["judge"], row["name"]]
        assert (int(row["rank"]), int(row["scored"])) == (of.rank, of.scored)
        assert (int(row["failed"]), int(row["tried"])) == (of.failed.count, of.failed.total)
        assert float(row["mean"]) == of.mean
        assert [float(row["low"]), float(row["high"])] == of.ci95
        assert (row["mark"] in ("best", "level")) == (of.rank == 1)
    for judge in ("ruler", "strict"):
        assert [row["mark"] for row in rows if row["judge"] == judge].count("best") == 1
    failed = {row["name"]: int(row["failed"]) for row in rows}
    assert failed["breaks"] > 0 == failed["our_model"]


def test_the_table_marks_whom_the_tests_do_not_tell_apart(paper: Paper, tmp_path: Path) -> None:
    text = (written(paper, tmp_path) / "table.tex").read_text("utf-8")
    assert {*re.findall(r"\\(\w+rule)\b", text)} == {"toprule", "midrule", "bottomrule"}
    lines = [line for line in text.splitlines() if line.endswith(r"\\") and "&" in line][1:]
    assert len(lines) == sum(len(table.rows) for table in paper.tables)
    every = [row for table in paper.tables for row in table.rows]
    assert {row.mark for row in every} == {"best", "level", "worse"}
    for line, row in zip(lines, every, strict=True):
        assert line.startswith(escape_latex(row.placing.name))
        assert (r"\textbf" in line, r"\dagger" in line) == (row.mark == "best", row.mark == "level")
        assert f"{row.placing.scored}/{row.placing.total}" in line
        assert f"{row.failed}/{row.tried}" in line
    assert f"Holm over {paper.verdict.tests} tests" in " ".join(text.split())


def test_the_sentence_is_the_verdicts(run: Run, paper: Paper, tmp_path: Path) -> None:
    [line] = answer_lines(run.summary.verdict)
    text = " ".join((written(paper, tmp_path) / "results.txt").read_text("utf-8").split())
    assert text.startswith(escape_latex(line))
    assert translate(results(paper)[0], "zh").startswith(translate(line, "zh"))


def test_a_judge_without_a_say_marks_nobody(run: Run) -> None:
    verdict = run.summary.verdict
    blind = [msgspec.structs.replace(opinion, sees="not_last") for opinion in verdict.opinions[1:]]
    verdict = msgspec.structs.replace(verdict, opinions=(verdict.opinions[0], *blind))
    document = analyse("paper", changed(run, verdict=verdict)).document
    assert [{row.mark for row in table.rows} == {""} for table in document.tables] == [False, True]


def test_the_methods_say_what_was_asked_of_whom(run: Run, paper: Paper) -> None:
    text = " ".join(map(str, methods(paper)))
    for words in (
        "12 instructions on 12 source images of our own (my.csv)",
        "our_model is stand_ins.py:Careful, revision ",
        "Each makes 1 edit of a sample (seed 0)",
        "protocol rubric (general.v1.1)",
        run.judge_examinations["ruler"].document.line,
        f"Holm over {run.summary.comparison.tests} tests",
        f"edit-eval {run.results.provenance.environment['libraries']['edit-eval']}",
    ):
        assert words in text
    short = msgspec.structs.replace(paper, setting=msgspec.structs.replace(paper.setting, skipped=1))
    assert "1 further sample could not be used" in " ".join(map(str, methods(short)))
    assert str(run.path.parent) not in text, "whose machine it was is nobody's business"
    assert all(name in text for name in ("Bell and McCaffrey", "Hall, 1992", "Holm"))


def test_what_is_published_is_named_with_its_licence(paper: Paper) -> None:
    setting = msgspec.structs.replace(paper.setting, benchmark="gedit", licence="MIT")
    model = NamedModel(
        "ours",
        "black-forest-labs/FLUX.1-Kontext-dev",
        "",
        {
            "guidance_scale": 2.5,
            "steps": 28,
            "base_url": "http://secret.example:8000/v1",
            "lora": "/home/me/lora.safetensors",
        },
        7,
    )
    judge = msgspec.structs.replace(
        paper.judges[0],
        protocol="viescore",
        passport="examined 2026-11-21: passed",
        model=NamedModel(paper.judges[0].model.name, "Qwen/Qwen3-VL-8B-Instruct", "abc", {}, 0),
    )
    named = msgspec.structs.replace(paper, setting=setting, edit_models=[model], judges=[judge])
    text = " ".join(map(str, methods(named)))
    assert "of gedit. Licence: MIT." in text
    assert "FLUX.1-Kontext-dev, with steps 28, guidance_scale 2.5, lora " in text
    assert "lora lora.safetensors" in text
    assert "secret" not in text
    assert "/home" not in text
    assert "(seed 7)" in text
    other = msgspec.structs.replace(model, name="second", seed=11)
    of_two = " ".join(map(str, methods(msgspec.structs.replace(named, edit_models=[model, other]))))
    assert "lora.safetensors, seed 7; second is " in of_two, "whose seed it was"
    assert "lora.safetensors, seed 11. Each makes 1 edit of a sample." in of_two
    assert "protocol viescore" in text
    assert "examined 2026-11-21: passed" in text


def test_columns_are_picked_in_their_order(run: Run, tmp_path: Path) -> None:
    document = analyse("paper", run, columns="rank,model, p").document
    lines = (written(document, tmp_path) / "table.tex").read_text("utf-8").splitlines()
    head = next(line for line in lines if "&" in line)
    assert head == r"Rank & Model & p \\"
    with pytest.raises(ConfigurationError, match="did you mean `model`"):
        analyse("paper", run, columns="modle")
    with pytest.raises(ConfigurationError, match="named twice"):
        analyse("paper", run, columns="n,n")
    with pytest.raises(ConfigurationError, match="names no column"):
        analyse("paper", run, columns=",")
    with pytest.raises(ConfigurationError, match="depth"):
        analyse("paper", run, score="depth")
    assert plain(analyse("paper", run, score="score").document.tables) == plain(analyse("paper", run).document.tables)
    with pytest.raises(ConfigurationError, match="must be en or zh"):
        analyse("paper", run, language="fr")


def test_what_is_no_one_table_is_refused_in_a_line(run: Run, folder: Path, tmp_path: Path) -> None:
    fewer = made(tmp_path, "fewer", {"our_model": "Careful"}, {"ruler": "Ruler"}, count=11)
    with pytest.raises(ConfigurationError, match="have other samples") as refused:
        analyse("paper", run, fewer)
    assert "\n" not in str(refused.value)
    other = made(folder, "other", {"third": "Steady"}, {"other": "Strict"})
    alone = made(folder, "alone", {"our_model": "Careful"}, {"ruler": "Ruler"})
    with pytest.raises(ConfigurationError, match="cannot be compared"):
        analyse("paper", alone, other)
    both = analyse("paper", run, other).document
    assert [table.judge for table in both.tables] == ["strict"], "judges are matched by what they are, not by name"
    names = [row.placing.name for row in both.tables[0].rows]
    assert names.count("four/a--b") == 1 != names.count("other/third"), "made alike, whatever it is called: one row"
    assert len(both.edit_models) == len(MODELS)
    single = analyse("paper", alone).document
    assert [(row.mark, row.contest) for row in single.tables[0].rows] == [("", None)]
    assert "behind" not in (written(single, tmp_path) / "figure.svg").read_text("utf-8"), "nobody to be behind"
    nothing = [msgspec.structs.replace(of, standings=()) for of in alone.summary.verdict.opinions]
    unscored = msgspec.structs.replace(alone.summary.verdict, opinions=tuple(nothing))
    with pytest.raises(ConfigurationError, match="nothing is scored"):
        analyse("paper", changed(alone, verdict=unscored))


def test_it_is_read_back_as_itself(paper: Paper, run: Run) -> None:
    read = msgspec.convert(json.loads(json.dumps(plain(paper))), Paper)
    assert plain(read) == plain(paper)
    assert "our_model" in analyse("paper", run)._repr_html_()


# -- the figure --


def test_the_figure_has_every_interval_on_an_axis(paper: Paper, tmp_path: Path) -> None:
    svg = (written(paper, tmp_path) / "figure.svg").read_text("utf-8")
    words = re.findall(r">([^<>\n]+)</text>", svg)
    rows = [row for table in paper.tables for row in table.rows]
    for row in rows:
        assert words.count(row.placing.name) == len(paper.tables)
    points = re.findall(r'aria-roledescription="point"[^>]* fill="(#\w+)"', svg)
    assert len(points) == len(rows) + sum(row.contest is not None for row in rows)
    assert points.count("#ffffff") == 2 * sum(row.mark == "level" for row in rows), "hollow"
    for meaning in ("the best", "not shown to be worse", "shown to be worse"):
        assert words.count(meaning) == 1
    assert sum(word in ("0", "5") for word in words) >= 2, "numbers on the axes"
    assert words.count("mean, out of 10") == words.count("behind the best") == 2


def test_letters_are_embedded_in_the_pdf_and_named_in_the_svg(paper: Paper, tmp_path: Path) -> None:
    place = written(paper, tmp_path)
    assert 'font-family="Liberation Sans, ' in (place / "figure.svg").read_text("utf-8")
    if which("pdffonts"):
        ended = subprocess.run(["pdffonts", place / "figure.pdf"], capture_output=True, text=True, check=True)
        embedded = [line.split()[-5] for line in ended.stdout.splitlines()[2:]]
        assert set(embedded) == {"yes"}, ended.stdout
    assert (place / "figure.pdf").read_bytes().startswith(b"%PDF")


def test_a_name_that_no_font_here_can_draw_is_refused(paper: Paper, monkeypatch: pytest.MonkeyPatch) -> None:
    [first, *others] = paper.tables
    row = first.rows[0]
    named = msgspec.structs.replace(row, placing=msgspec.structs.replace(row.placing, name="模型"))
    table = msgspec.structs.replace(first, rows=[named, *first.rows[1:]])
    strange = msgspec.structs.replace(paper, tables=[table, *others])
    drawn = figure._picture
    monkeypatch.setattr(figure, "_picture", lambda letter: drawn("\ue0ff"))  # a machine without Chinese fonts
    with pytest.raises(ConfigurationError, match="no font on this machine has 型 模"):
        figure.figure_svg(strange)
    assert figure.figure_svg(paper), "Latin letters are always there"


# -- LaTeX --


def compiled(folder: Path, name: str) -> str:
    """What LaTeX says of a document; it has to compile."""
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", name]
    for _ in range(2):
        ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace")
        assert ended.returncode == 0, ended.stdout[-3000:]
    return ended.stdout


def letters(folder: Path, name: str) -> str:
    if not which("pdftotext"):
        pytest.skip("pdftotext is missing")
    return subprocess.run(
        ["pdftotext", "-layout", f"{name}.pdf", "-"], cwd=folder, capture_output=True, text=True
    ).stdout


@needs_latex
def test_latex_compiles_table_and_figure(paper: Paper, tmp_path: Path) -> None:
    place = written(paper, tmp_path)
    told = compiled(place, "paper")
    assert "undefined" not in told
    assert "Overfull" not in told
    text = letters(place, "paper")
    for table in paper.tables:
        for row in table.rows:
            assert f"{row.placing.mean:.2f}" in text
            assert row.placing.name.replace("_", " ") in text.replace("_", " ")
    assert "Holm" in text


@needs_latex
def test_every_character_comes_out_of_latex_as_it_went_in(tmp_path: Path) -> None:
    hostile = [
        *string.punctuation,
        "a--b",
        "''x",
        "?`",
        "$$",
        r"\input{/etc/passwd}",
        "100%",
        "x_{y}^2",
        "\\\\",
        "<<>>",
    ]
    lines = "\n\n".join(rf"\texttt{{{escape_latex('q' + words + 'q')}}}" for words in hostile)
    preamble = "\\documentclass{article}\n\\usepackage[T1]{fontenc}\n\\usepackage{textcomp}\n\\begin{document}\n"
    (tmp_path / "all.tex").write_text(f"{preamble}{lines}\n\\end{{document}}\n", "utf-8")
    ended = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all"], cwd=tmp_path, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stdout[-2000:]
    printed = re.findall(r"q(.*)q", letters(tmp_path, "all"))
    same = str.maketrans("‘’´`'−", "''''" + "'-")
    assert [words.translate(same) for words in printed] == [words.translate(same) for words in hostile]


@pytest.mark.skipif(not which("xelatex"), reason="xelatex is missing")
def test_chinese_is_for_xelatex(run: Run, tmp_path: Path) -> None:
    if figure._picture("没") == figure._picture("\ue0ff"):
        pytest.skip("a Chinese font is missing")
    place = written(analyse("paper", run, language="zh").document, tmp_path)
    text = (place / "paper.tex").read_text("utf-8")
    assert "% Its letters need XeLaTeX" in text
    ended = subprocess.run(
        ["xelatex", "-interaction=nonstopmode", "-halt-on-error", "paper"], cwd=place, capture_output=True, text=True
    )
    if "ctex.sty' not found" in ended.stdout:
        pytest.skip("ctex is missing")
    assert ended.returncode == 0, ended.stdout[-2000:]
    assert "没有胜者" in letters(place, "paper") or "优于" in letters(place, "paper")
