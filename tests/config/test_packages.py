"""Packages that bring components by entry points: installed for real, listed and run; and what is wrong with some."""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import warm_starts
from edit_eval import evaluate
from edit_eval.asking import load_samples
from edit_eval.config.components import describe, list_components, list_entry_point_faults, locate, unknown_type
from edit_eval.config.identity import Identity, identity
from edit_eval.config.kinds import KINDS
from edit_eval.config.loading import load_configuration
from edit_eval.config.recorded import make_name_validator
from edit_eval.errors import BenchmarkError, ConfigurationError
from edit_eval.experiment import CONTROLS
from edit_eval.plugins.trackers import tracking
from edit_eval.reporting.analyses import summary_of
from edit_eval.store.examined import load_examinations, take_examinations
from faults.faulty_runs import Ears
from installed_packages import install
from own_components import built_in
from reporting.reported_runs import build_run
from small_benchmark import configuration, write_benchmark

EXAMPLE = Path(__file__).parents[2] / "examples" / "package"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the package of `examples/` is installed."""
    target = tmp_path_factory.mktemp("site")
    install(EXAMPLE, target)
    return target


@pytest.fixture
def installed(site: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(site))
    yield site
    sys.modules.pop("my_benchmark", None)


def named_by(folder: Path, name: str, points: str, **modules: str) -> None:
    """A package as it lies where it was installed."""
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[edit_eval.components]\n{points}\n")
    for module, text in modules.items():
        (folder / f"{module}.py").write_text(text)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on Python's path in which packages can be."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    return folder


def typed(site: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(site)}
    command = [sys.executable, "-m", "edit_eval", *arguments]
    with warm_starts.packages_in(site):
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)


def test_a_package_brings_a_benchmark_a_protocol_a_judge_and_a_measure(site: Path, tmp_path: Path) -> None:
    """`pip install my-benchmark`, then `benchmark: my_benchmark`: listed, run, resumed, reported, compared."""
    (tmp_path / "mine.yaml").write_text(
        "benchmark: {type: my_benchmark, folder: squares}\n"
        "edit_models:\n"
        "  copy: {type: copy_source, params: {device_ids: 'cpu:1'}}\n"
        "  blank: {type: blank, params: {device_ids: 'cpu:1'}}\n"
        "judges:\n"
        "  mine: {type: my_judge, params: {device_ids: 'cpu:1'}}\n"
        "  measured: {type: my_measure, params: {device_ids: 'cpu:1'}}\n"
        "evaluation: {controls: 0}\n"
        "execution: {pilot: false}\n"
    )
    done = typed(site, tmp_path, "run", "mine.yaml", "--run-dir", "run")
    assert done.returncode == 0, done.stderr
    rows = (tmp_path / "run" / "report" / "scores.csv").read_text().splitlines()
    assert len([row for row in rows if ",copy,mine," in row and ",followed,ok,0" in row]) == 6, rows
    assert len([row for row in rows if ",copy,measured," in row and ",change,ok,0" in row]) == 6, rows
    (journal,) = (tmp_path / "run" / "replies").glob("*.jsonl")
    whole = journal.read_text("utf-8").splitlines(keepends=True)
    journal.write_text("".join(whole[:7]), "utf-8")  # as if it had been cut off there
    again = typed(site, tmp_path, "run", "mine.yaml", "--run-dir", "run")
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "run" / "report" / "scores.csv").read_text().splitlines() == rows
    asked = [line for file in (tmp_path / "run" / "replies").glob("*.jsonl") for line in file.read_text().splitlines()]
    assert len(asked) == len(whole), "what was there was not asked again"
    told = json.loads(typed(site, tmp_path, "report", "run", "--json").stdout)
    headlines = {(one["edit_model"], one["judge"]): one["headline"] for one in told["results"]}
    assert headlines["copy", "mine"] == "followed"
    assert headlines["blank", "measured"] == "change"
    page = (tmp_path / "run" / "report" / "report.md").read_text("utf-8")
    assert "measured" in page
    assert "mine (judge) has blank ahead" in page
    [pair] = [
        one
        for one in json.loads(typed(site, tmp_path, "compare", "run", "--json").stdout)["pairs"]
        if one["judge"] == "measured"
    ]
    assert pair["outcome"]["better"] == "copy", "of a measure of which less is better"
    listed = json.loads(typed(site, tmp_path, "list", "--json").stdout)
    for kind, name in (
        ("benchmarks", "my_benchmark"),
        ("judges", "my_judge"),
        ("judges", "my_measure"),
        ("protocols", "my_protocol"),
    ):
        (entry,) = [one for one in listed[kind] if one["name"] == name]
        assert (entry["origin"], entry["problem"]) == ("my-benchmark 1.0", "")
    (described,) = json.loads(typed(site, tmp_path, "describe", "my_benchmark", "--json").stdout)["components"]
    assert (described["origin"], described["about"]["protocol"]) == ("my-benchmark 1.0", "my_protocol")
    assert "from the package my-benchmark 1.0" in typed(site, tmp_path, "describe", "my_judge").stdout


@pytest.mark.check
def test_its_authors_tests_pass_and_find_what_is_broken(site: Path, tmp_path: Path) -> None:
    """The example has the tests that an author would have; a benchmark whose pictures differ each time fails them."""
    folder = tmp_path / "package"
    shutil.copytree(EXAMPLE / "tests", folder / "tests")

    def tried() -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(site)}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder), "tests"]
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)

    passed = tried()
    assert passed.returncode == 0, passed.stdout
    assert "3 passed" in passed.stdout
    (folder / "conftest.py").write_text(
        "import secrets, my_benchmark\n"
        "asked = my_benchmark.Brightness.judge\n"
        "my_benchmark.Percent.questions = lambda self, sample: [my_benchmark.Question(\n"
        "    name='followed', gives=('followed',), user=secrets.token_hex())]\n"
    )
    broken = tried()
    assert broken.returncode == 1, broken.stdout
    assert "test_what_is_done_is_not_done_again" in broken.stdout


def test_what_it_says_needs_no_chinese(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDIT_EVAL_LANG", "zh")
    assert "Grey squares to be made darker or lighter, drawn on my laptop." in " ".join(
        typed(site, tmp_path, "list").stdout.split()
    )


def test_the_list_imports_nothing(installed: Path) -> None:
    assert {one.name: one.summary for one in list_components("judge")}["my_judge"].startswith("Compares the brightness")
    assert "my_benchmark" not in sys.modules


def test_ours_come_by_the_same_door() -> None:
    (own,) = [one for one in importlib.metadata.distributions() if one.name == "edit-eval"]
    points = {one.name: one.value for one in own.entry_points if one.group == "edit_eval.components"}
    kinds = {name.partition(".")[0] for name in points}
    assert kinds >= {*KINDS} - {"control"}, "each way but one is taken by one of ours"
    for point, value in points.items():
        kind, _, name = point.partition(".")
        assert built_in()[kind][name] == value
        assert {one.name: one.origin for one in list_components(kind)}[name] == "built in"


def written_to_its_end(diary: Path) -> list[str]:
    """Its lines: a tracker goes on alone where it is not done when the run is."""
    until = time.monotonic() + 300
    while time.monotonic() < until:
        lines = diary.read_text("utf-8").splitlines() if diary.exists() else []
        if lines and lines[-1].endswith("finished"):
            return lines
        time.sleep(0.1)
    raise AssertionError("the tracker was not told of the end")


@pytest.mark.check
def test_a_package_brings_verbs_a_tracker_a_control_a_section_and_a_notebooks_display(
    site: Path, tmp_path: Path
) -> None:
    """An analysis with a chart, from one class: terminal, JSON, files, page, Markdown, notebook."""
    (tmp_path / "mine.yaml").write_text(
        "benchmark: {type: my_benchmark, folder: squares}\n"
        "edit_models: {copy: {type: copy_source, params: {device_ids: 'cpu:1'}}}\n"
        "judges: {mine: {type: my_judge, params: {device_ids: 'cpu:1'}}}\n"
        "evaluation: {controls: 4, more_controls: [upside_down]}\n"
        "execution: {pilot: false}\n"
        "trackers: [diary]\n"
    )
    done = typed(site, tmp_path, "run", "mine.yaml", "--run-dir", "run", "--full")
    assert done.returncode == 0, done.stderr
    assert "Full marks. judged by mine" in done.stdout
    summary = json.loads((tmp_path / "run/report/summary.json").read_text("utf-8"))
    [document] = summary["analyses"]["full-marks"]
    assert document == {"judge": "mine", "shares": [{"edit_model": "copy", "full": 0, "scored": 6}]}
    kinds = summary["controls"]["judges"]["mine"]["kinds"]
    assert {kind: of["n"] for kind, of in kinds.items()} == dict.fromkeys([*CONTROLS, "upside_down"], 4)
    assert kinds["upside_down"]["mean"] == 0.0, "as bright as its source"
    page = (tmp_path / "run/report/index.html").read_text("utf-8")
    assert "Control: upside_down" in page
    assert '<section id="full-marks" class="analysis">' in page
    assert 'data-chart="full-marks"' in page
    assert "## Full marks" in (tmp_path / "run/report/report.md").read_text("utf-8")
    diary = written_to_its_end(tmp_path / "run/diary/diary.txt")
    assert diary[0].endswith("began")
    assert any("copy/mine/coverage 1" in line for line in diary), diary
    assert typed(site, tmp_path, "lost", "run").stdout == "\n"
    assert json.loads(typed(site, tmp_path, "lost", "run", "--json").stdout) == []
    assert "Only those that this judge has not scored." in typed(site, tmp_path, "lost", "--help").stdout
    asked = ["full-marks", "run", "--judge", "mine"]
    assert json.loads(typed(site, tmp_path, *asked, "--json").stdout) == document
    assert "0/6" in typed(site, tmp_path, *asked).stdout
    for name, beginning in (("full.csv", "judge,"), ("full.svg", "<svg"), ("full.json", "{"), ("full.md", "")):
        assert typed(site, tmp_path, *asked, "--to", name).returncode == 0
        assert (tmp_path / name).read_text("utf-8").startswith(beginning)
    refused = typed(site, tmp_path, "full-marks", "run", "--judge", "you")
    assert (refused.returncode, refused.stderr.strip()) == (2, "error: run has no judge you; there are: mine")
    script = "from edit_eval import Run; print(Run('run').analysis('full-marks', judge='mine')._repr_html_())"
    shown = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert "0/6" in shown.stdout, shown.stderr
    help_ = typed(site, tmp_path, "--help").stdout
    assert "How many edits get the best score" in help_
    assert "lost" in help_[help_.index("To evaluate") : help_.index("To compare")]


def test_a_verb_that_fails_is_no_fault_of_the_house(place: Path, tmp_path: Path) -> None:
    text = (
        "from edit_eval import Verb\n"
        "class Broken(Verb):\n"
        "    'Divides.'\n"
        "    about = {'group': 'To evaluate'}\n"
        "    @staticmethod\n"
        "    def call(): raise ZeroDivisionError('nothing to divide')\n"
    )
    named_by(place, "broken-verb", "verb.broken = broken_verb:Broken", broken_verb=text)
    done = typed(place, tmp_path, "broken")
    assert done.returncode == 1, done
    assert "in broken-verb 1.0, not in edit-eval" in done.stderr


def test_a_tracker_needs_neither_a_title_nor_a_package(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        "from edit_eval import Tracker\n"
        "class Plain(Tracker):\n"
        "    def begin(self, start): raise OSError('it is full')\n"
    )
    named_by(place, "plain-tracker", "tracker.plain = plain_tracker:Plain", plain_tracker=text)
    monkeypatch.setenv("PYTHONPATH", str(place))
    monkeypatch.setattr(tracking, "PATIENCE", 120.0)
    write_benchmark(tmp_path, 2)
    ears = Ears()
    evaluate(configuration(tmp_path, trackers=["plain"]), run_dir=tmp_path / "run", spectator=ears, report=False)
    assert "plain: OSError: it is full; the run goes on without it" in ears.notes


def test_an_analysis_that_fails_loses_no_report(place: Path, tmp_path: Path) -> None:
    text = (
        "from edit_eval import Analysis\n"
        "class Broken(Analysis):\n"
        "    def select_parameters(self, records): raise ZeroDivisionError('nothing to divide')\n"
    )
    points = "analysis.broken = broken_analysis:Broken\nsection.broken = broken_analysis:Broken"
    named_by(place, "broken-analysis", points, broken_analysis=text)
    summary = summary_of(build_run(tmp_path, samples=2, size=(8, 8)))
    assert any("`broken` of broken-analysis 1.0 failed (ZeroDivisionError" in note for note in summary.notes)
    assert summary.results


def test_an_examiner_that_fails_is_named(place: Path, tmp_path: Path) -> None:
    run = build_run(tmp_path, samples=2, size=(8, 8)).directory
    text = (
        "from edit_eval.store.examined import Examiner\n"
        "class Broken(Examiner):\n"
        "    def take(self, *of): raise ZeroDivisionError('nothing to divide')\n"
        "    load_examinations = read = words = take\n"
    )
    named_by(place, "broken-examiner", "examiner.broken = broken_examiner:Broken", broken_examiner=text)
    experiment: Any = None
    for of in (load_examinations, take_examinations):
        with pytest.raises(ConfigurationError, match=r"broken_examiner\.Broken failed \(ZeroDivisionError"):
            of(experiment, Path(run))


@pytest.mark.parametrize("owner", ["the house", "another package"])
def test_a_name_that_two_have_is_an_error_that_says_what_to_do(place: Path, owner: str) -> None:
    named_by(place, "theirs", "benchmark.gedit = theirs:G\nbenchmark.both = theirs:B\nbenchmark.fine = theirs:F")
    named_by(place, "others", "benchmark.both = others:B")
    name, first, second = {
        "the house": ("gedit", "edit-eval and theirs 1.0", "edit_eval.plugins.published.gedit:GEdit, theirs:G"),
        "another package": ("both", "others 1.0 and theirs 1.0", "others:B, theirs:B"),
    }[owner]
    with pytest.raises(ConfigurationError) as caught:
        locate("benchmark", name)
    assert str(caught.value) == (
        f"`{name}` is a benchmark of {first}; uninstall one package, "
        f"or in place of the name give one of the class paths {second}"
    )
    with pytest.raises(ConfigurationError, match="uninstall one package"):
        load_configuration({"benchmark": name, "diffusion_model": {"type": "blank"}})
    assert locate("benchmark", "fine") == "theirs:F"
    assert locate("benchmark", "kris"), "no other name suffers"
    problems = {one.name: one.problem for one in list_components("benchmark") if one.origin == "theirs 1.0"}
    assert "uninstall one package" in problems[name]


def asked(judge: str) -> dict[str, Any]:
    return {"benchmark": "scenes", "diffusion_model": {"type": "blank"}, "judges": {"j": {"type": judge}}}


METHODS = "    def __init__(self, p): ...\n    def load(self, d): ...\n    def judge(self, r): ...\n"


def test_a_package_that_fails_is_named_and_takes_down_nothing_else(place: Path) -> None:
    named_by(
        place,
        "broken",
        "judge.early = broken_early:Judge\njudge.syntax = broken_syntax:Judge\njudge.absent = broken_absent:Judge\n"
        "judge.ending = broken_ending:Judge\njudge.classless = broken_fine:Judges\njudge.fine = broken_fine:Judge",
        broken_early=f"raise RuntimeError('no licence')\nclass Judge:\n{METHODS}",
        broken_syntax="class Judge(:",
        broken_ending="import os\nif not os.fork():\n    os._exit(0)\nos.wait()\nos._exit(0)",
        broken_fine=f"class Judge:\n{METHODS}",
    )
    found = {one.name: one for one in list_components("judge")}
    assert found["fine"].problem == found["early"].problem == "", "nothing is imported to list it"
    assert "there is no module `broken_absent`" in found["absent"].problem
    assert "SyntaxError" in found["syntax"].problem
    for name, text in (
        ("early", "`broken_early:Judge` of broken 1.0 cannot be imported here: RuntimeError: no licence"),
        ("syntax", "`broken_syntax:Judge` of broken 1.0 cannot be imported here: SyntaxError"),
        ("ending", "`broken_ending:Judge` of broken 1.0 cannot be imported here: SystemExit: it ends the process"),
        ("absent", "`broken_absent:Judge` of broken 1.0: there is no module `broken_absent`"),
    ):
        (described,) = describe(name)
        assert described.problem.startswith(text)
        with pytest.raises(ConfigurationError) as caught:
            load_configuration(asked(name))
        assert text in str(caught.value)
        assert "\n" not in str(caught.value)
    with pytest.raises(ConfigurationError, match=r"`broken_fine:Judges` of broken 1\.0: `broken_fine` has no class"):
        describe("classless")
    assert describe("fine")[0].problem == ""


@pytest.mark.parametrize(
    ("point", "line"),
    [
        ("mine = mine:Mine", "wrong 1.0: the entry point `mine` must be called benchmark.mine, edit_model.mine"),
        ("juge.mine = mine:Mine", "wrong 1.0: the entry point `juge.mine` must be called benchmark.juge.mine, "),
        ("judge.mine = mine", "wrong 1.0: the entry point `judge.mine` must name a class: `mine:ClassName`"),
    ],
)
def test_an_entry_point_that_names_no_component(place: Path, point: str, line: str) -> None:
    named_by(place, "wrong", f"{point}\njudge.fine = mine:Fine")
    assert [one.startswith(line) for one in list_entry_point_faults()] == [True]
    assert locate("judge", "fine") == "mine:Fine"
    assert unknown_type("judge", "mine").endswith(list_entry_point_faults()[0]), (
        "whoever types its name is told what `list` says"
    )
    with pytest.raises(ValueError, match=re.escape(list_entry_point_faults()[0])):
        make_name_validator("tracker")("mine")


def test_a_typed_name_is_rather_a_benchmark_than_a_folder_beside(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named_by(place, "ours", "benchmark.ceo_photos = mine:Fine\neditor.odd_kind = mine:Fine")
    monkeypatch.chdir(place)
    for folder in ("gedi", "ceo_photo"):
        (place / folder).mkdir()
    said = {
        "gediit": "no such file: gediit; did you mean `gedit`?",
        "ceo_photoss": "no such file: ceo_photoss; did you mean `ceo_photos`?",
        "odd_kind": "no such file: odd_kind; ours 1.0: the entry point `editor.odd_kind` must be called",
        "ceo_photoo.csv": "no such file: ceo_photoo.csv",
    }
    for written, line in said.items():
        with pytest.raises(ConfigurationError, match=re.escape(line)):
            load_configuration({**asked("fine"), "benchmark": written})


def judge_of() -> Identity:
    configuration = load_configuration(asked("fine"))
    return identity(configuration.judges["j"], configuration.folder, "judge")


def test_another_version_of_a_package_is_another_model(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What its old version said is not taken for what its new one would say; `revision` says otherwise."""
    there = place / "site-packages"
    there.mkdir()
    monkeypatch.syspath_prepend(str(there))
    named_by(there, "versioned", "judge.fine = versioned_judge:Judge", versioned_judge=f"class Judge:\n{METHODS}")
    old = judge_of()
    assert old.type == "fine of versioned 1.0"
    info = there / "versioned-1.0.dist-info"
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: versioned\nVersion: 1.1\n")
    info.rename(there / "versioned-1.1.dist-info")
    assert judge_of().digest != old.digest
    text = f"class Judge:\n{METHODS}    @staticmethod\n    def revision(p): return 'mine 3'\n"
    (there / "versioned_judge.py").write_text(text)
    sys.modules.pop("versioned_judge")
    found = judge_of()
    assert (found.type, found.revision) == ("fine", "mine 3")


def test_help_names_a_packages_verbs_and_imports_none(place: Path, tmp_path: Path) -> None:
    text = 'raise SystemExit("imported")\nclass Mine:\n    """Counts what nobody counts."""\n'
    named_by(place, "counting", "analysis.count = counting_analysis:Mine", counting_analysis=text)
    done = typed(place, tmp_path, "--help")
    assert done.returncode == 0, done.stderr
    assert "Counts what nobody counts." in done.stdout


def test_a_benchmark_that_fails_is_no_fault_of_the_house(place: Path) -> None:
    text = "class Late:\n    def __init__(self, p): ...\n    def samples(self): raise OSError('gone')\n"
    named_by(place, "late", "benchmark.late = late_benchmark:Late", late_benchmark=text)
    with pytest.raises(BenchmarkError) as caught:
        load_samples(load_configuration(asked("testing") | {"benchmark": "late"}))
    assert str(caught.value).startswith("`late_benchmark:Late` of late 1.0 failed at sample 0: OSError: gone;")
