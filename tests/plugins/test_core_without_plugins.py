"""The core with no plug-in, or with one fewer: what is deleted is missed by nothing but those that say they need it."""

from __future__ import annotations

import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

import edit_eval

SOURCE = Path(edit_eval.__file__).parent
PROJECT = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text("utf-8"))
DOORS: dict[str, dict[str, str]] = PROJECT["project"]["entry-points"]
POINTS = DOORS["edit_eval.components"]
PLUGINS = sorted(path.name for path in (SOURCE / "plugins").iterdir() if (path / "__init__.py").exists())
[DECLARED] = [
    contract["ignore_imports"]
    for contract in PROJECT["tool"]["importlinter"]["contracts"]
    if contract["modules" if "modules" in contract else "name"] == ["edit_eval.plugins.*"]
]
Typed = Callable[..., subprocess.CompletedProcess[str]]


def without(plugin: str) -> set[str]:
    """A plug-in and those that declare that they need it."""
    gone = {plugin}
    for edge in (edge for edge in DECLARED if edge.count("plugins.") == 2):  # not that of the package's own face
        needs, needed = re.findall(r"plugins\.(\w+)", edge)
        if needed in gone:
            gone |= without(needs)
    return gone


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of ours, with what is compiled, which is as old as its source."""
    return Path(shutil.copytree(SOURCE, tmp_path_factory.mktemp("whole") / "edit_eval"))


def lacking(gone: set[str], whole: Path, place: Path) -> None:
    """Makes `place` a folder with all of ours but some plug-ins and their lines in `pyproject.toml`."""
    shutil.copytree(whole, place / "edit_eval", copy_function=os.link)
    for plugin in gone:
        shutil.rmtree(place / "edit_eval/plugins" / plugin)
    theirs = tuple(f"edit_eval.plugins.{plugin}." for plugin in gone)
    left = {
        door: [f"{name} = {of}\n" for name, of in points.items() if not of.startswith(theirs)]
        for door, points in DOORS.items()
    }
    info = place / "edit_eval-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: edit-eval\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text("".join(f"[{door}]\n" + "".join(of) for door, of in left.items()))


def write_evaluation(folder: Path) -> Path:
    """A table, two folders of edits, a judge that was recorded: nothing of it is a plug-in's."""
    rows, recorded = ["id,image,instruction,category"], []
    for index in range(8):
        for name in ("photos", "ours", "theirs"):
            (folder / name).mkdir(exist_ok=True)
            Image.new("RGB", (16, 16), (20 * index, 80, len(name) * 30)).save(folder / name / f"p{index}.png")
        rows.append(f"p{index},photos/p{index}.png,make it {index},add")
        for model, score in (("ours", 5 + index / 4), ("theirs", 3 + index / 4)):
            recorded.append(
                json.dumps({"sample": f"p{index}", "edit_model": model, "question": "score", "text": str(score)})
            )
    (folder / "table.csv").write_text("\n".join(rows))
    (folder / "recorded.jsonl").write_text("\n".join(recorded))
    written = folder / "eval.yaml"
    written.write_text(
        "benchmark: {type: table, data_path: table.csv}\n"
        "edit_models:\n"
        "  ours: {type: image_folder, params: {folder: ours}}\n"
        "  theirs: {type: image_folder, params: {folder: theirs}}\n"
        "judges:\n"
        "  kept: {type: recorded, params: {path: recorded.jsonl}}\n"
    )
    return written


def evaluated(typed: Typed, folder: Path) -> None:
    """An evaluation, resumed, compared, looked at, with its tables."""
    asked = write_evaluation(folder)
    done = typed("run", asked, "--run-dir", "run")
    assert done.returncode == 0, done.stderr
    assert typed("run", asked, "--run-dir", "run").returncode == 0
    compared = json.loads(typed("compare", "run", "--json").stdout)
    assert compared["pairs"][0]["n"] == 8
    assert len((folder / "run/report/scores.csv").read_text("utf-8").splitlines()) == 17
    report = (folder / "run/report/report.md").read_text("utf-8")
    assert "| ours |" in report
    assert not (folder / "run/report/index.html").exists()
    assert "no page is drawn: no display that draws one is installed" in done.stderr


@pytest.mark.check
def test_an_evaluation_needs_no_plugin(whole: Path, tmp_path: Path) -> None:
    place = tmp_path / "place"
    lacking(set(PLUGINS), whole, place)
    environment = {**os.environ, "PYTHONPATH": str(place), "EDIT_EVAL_LANG": "en"}
    forking = [sys.executable, "-c", ONE_BY_ONE]
    with subprocess.Popen(
        forking, cwd=tmp_path, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        words_to, ended_from = process.stdin, process.stdout

        def core(*words: object) -> subprocess.CompletedProcess[str]:
            print(json.dumps([*map(str, words)]), file=words_to, flush=True)
            code = int(ended_from.readline())
            out, err = ((tmp_path / name).read_text("utf-8") for name in ("out", "err"))
            return subprocess.CompletedProcess(words, code, out, err)

        evaluated(core, tmp_path)
        refuses_what_a_plugin_does(core)
    listed = subprocess.run([sys.executable, "-c", NAMED], env=environment, capture_output=True, text=True, check=True)
    assert json.loads(listed.stdout) == [[], ["numbers", "pairwise", "rubric"], []]


NAMED = """
import json
from edit_eval.config.components import list_entry_point_faults, names
print(json.dumps([sorted(names("analysis")), sorted(names("protocol")), [*list_entry_point_faults()]]))
"""

ONE_BY_ONE = """
import json, os, runpy, sys
import edit_eval.cli, edit_eval.run, edit_eval.verbs.drawing, scipy.special
for line in sys.stdin:
    if child := os.fork():
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        continue
    sys.argv = ["edit-eval", *json.loads(line)]
    for stream, name in ((0, os.devnull), (1, "out"), (2, "err")):
        os.dup2(os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC * bool(stream)), stream)
    runpy.run_module("edit_eval", run_name="__main__", alter_sys=True)
    break
"""
"""Commands in copies of one process that has all of ours that it may have: each by itself takes a second."""


def refuses_what_a_plugin_does(core: Typed) -> None:
    for words in (
        ["list"],
        ["best-of", "run"],
        ["demo"],
        ["doctor", "eval.yaml"],
        ["plan", "eval.yaml"],
        ["run", "demo"],
        ["run", "eval.yaml", "--set", "rounds.critic=kept"],
    ):
        refused = core(*words)
        assert (refused.returncode, len(refused.stderr.splitlines())) == (2, 1), words


REST = """
import contextlib, io, json, runpy, sys
import edit_eval
from edit_eval.config.components import import_class, list_components, list_entry_point_faults, locate

def typed(*words):
    sys.argv, out = ["edit-eval", *words], io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            runpy.run_module("edit_eval", run_name="__main__", alter_sys=True)
        except SystemExit as end:
            assert not end.code, (words, end.code)
    return out.getvalue()

assert "compare" in typed("--help")
for name in {*dir(edit_eval)} - {*edit_eval.__all__}:
    getattr(edit_eval, name)
assert hasattr(edit_eval, "score") == bool(locate("verb", "score"))
for one in list_components("analysis"):
    assert import_class("analysis", one.class_path)
named = [one.name for one in list_components("analysis")]
print(json.dumps({"analyses": named, "problems": [*list_entry_point_faults()]}))
"""
"""Help, names of Python that plug-ins bring, and each analysis imported: all in one process."""
IN_TURN = """
import importlib, os, sys
rest, *places = sys.argv[1:]
with open(os.devnull, "w") as nowhere:
    out, sys.stdout = sys.stdout, nowhere
    exec(rest, {"__name__": "__main__"})
    sys.stdout = out
for name in [name for name in sys.modules if name.partition(".")[0] == "edit_eval"]:
    del sys.modules[name]
for place in places:
    if child := os.fork():
        os.waitpid(child, 0)
        continue
    for stream, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(os.path.join(place, name), os.O_CREAT | os.O_WRONLY), stream)
    sys.path.insert(0, place)
    importlib.invalidate_caches()
    exec(rest, {"__name__": "__main__"})
    assert sys.modules["edit_eval"].__file__.startswith(place)
    break
"""
"""The same in a copy of a process for each place: it has others' modules, which take a second, and none of ours."""


def choose_copies() -> list[set[str]]:
    """The plug-ins deleted from each copy of all of ours, with those that need them.

    Of any two each is somewhere deleted and the other there, but for one that needs the other: so few copies show as
    much as one for each plug-in would.
    """
    drawn, needing = random.Random(0), {plugin: without(plugin) for plugin in PLUGINS}
    left = {(plugin, other) for plugin, other in itertools.permutations(PLUGINS, 2) if other not in needing[plugin]}
    copies = list[set[str]]()

    def tells_apart(gone: set[str]) -> int:
        return sum(plugin in gone and other not in gone for plugin, other in left)

    while left:
        best = set[str]()
        for _ in range(5):
            gone = set[str]()
            for plugin in drawn.sample(PLUGINS, len(PLUGINS)):
                gone = max(gone, gone | needing[plugin], key=tells_apart)
            best = max(best, gone, key=tells_apart)
        copies.append(best)
        left = {(plugin, other) for plugin, other in left if plugin not in best or other in best}
    return copies


GONE = [sorted(gone) for gone in choose_copies()]
"""The plug-ins deleted from each copy."""


@pytest.fixture(scope="module")
def places(whole: Path) -> list[Path]:
    """All of ours without some plug-ins and those that need them, and what each of these said."""
    folders = [whole.parent / str(number) for number in range(len(GONE))]
    for number, place in enumerate(folders):
        lacking({*GONE[number]}, whole, place)
    environment = {**os.environ, "EDIT_EVAL_LANG": "en"}
    subprocess.run([sys.executable, "-c", IN_TURN, REST, *map(str, folders)], env=environment, check=True)
    return folders


def test_of_any_two_plugins_each_is_deleted_where_the_other_is_there() -> None:
    for plugin, other in itertools.permutations(PLUGINS, 2):
        told_apart = any(plugin in gone and other not in gone for gone in GONE)
        assert told_apart or other in without(plugin), (plugin, other)
    for gone in GONE:
        assert all(without(plugin) <= {*gone} for plugin in gone), "with those that need it"


@pytest.mark.check
@pytest.mark.parametrize("number", range(len(GONE)), ids=map("-".join, GONE))  # `-k PLUG-IN`: those without it
def test_each_plugin_can_be_deleted(number: int, places: list[Path]) -> None:
    """A traceback here names the module that misses one."""
    said = (places[number] / "out").read_text("utf-8")
    assert said, (places[number] / "err").read_text("utf-8")
    listed = json.loads(said)
    assert listed["problems"] == []
    gone = tuple(f"edit_eval.plugins.{plugin}." for plugin in GONE[number])
    named = {name.removeprefix("analysis.") for name, of in POINTS.items() if of.startswith(gone)}
    assert not named & {*listed["analyses"]}
    assert len({*listed["analyses"]}) == sum(
        name.startswith("analysis.") and not of.startswith(gone) for name, of in POINTS.items()
    )
