"""`make quick`: which tests a change reaches, in a small house with an arrow of every kind, and in this one."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import edit_eval
from own_components import built_in

ROOT = Path(__file__).parents[1]
HOUSE = {
    "pyproject.toml": (
        '[project.entry-points."edit_eval.components"]\n"verb.sweep" = "edit_eval.plugins.sweep.verb:Sweep"\n'
        '"judge.careful" = "edit_eval.judges.careful:Careful"\n'
    ),
    "configs/small.yaml": "judges:\n  - type: careful\n",
    "docs/tutorial.md": "# A tutorial\n",
    "src/edit_eval/__init__.py": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from edit_eval.evaluation import evaluate\n"
    ),
    "src/edit_eval/__main__.py": 'import importlib\nimportlib.import_module("edit_eval.evaluation")\n',
    "src/edit_eval/evaluation.py": "def evaluate():\n    from edit_eval.store.journal import Journal\n",
    "src/edit_eval/store/journal.py": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from edit_eval.typed import Only\n"
        "from edit_eval.records import Status\n"
    ),
    "src/edit_eval/records.py": "class Status: ...\n",
    "src/edit_eval/typed.py": "class Only: ...\n",
    "src/edit_eval/judges/careful.py": "class Careful: ...\n",
    "src/edit_eval/reporting/page.py": 'TEMPLATE = "page.html.j2"\n',
    "src/edit_eval/reporting/page.html.j2": "<html>\n",
    "src/edit_eval/plugins/sweep/verb.py": "class Sweep: ...\n",
    "src/edit_eval/plugins/sweep/zh.po": "\n",
    "tests/conftest.py": (
        "import pytest\n@pytest.fixture\ndef planted():\n    import planting\n\ndef everywhere():\n    import always\n"
    ),
    "tests/planting.py": "\n",
    "tests/always.py": "\n",
    "tests/store/test_journal.py": "from edit_eval.store.journal import Journal\n",
    "tests/store/test_journal_of_many.py": "from edit_eval.store.journal import Journal\n",
    "tests/test_face.py": "from edit_eval import evaluate\n",
    "tests/test_command.py": 'WORDS = ["python", "-m", "edit_eval"]\n',
    "tests/test_sweep_typed.py": 'def test(command):\n    command("sweep")\n',
    "tests/test_careful.py": 'YAML = """\njudge: {type: careful}\n"""\n',
    "tests/test_small.py": 'def test(command):\n    command("run", "small")\n',
    "tests/test_docs.py": (
        'from pathlib import Path\nDOCS = Path(__file__).parents[1] / "docs"\nPAGES = sorted(DOCS.glob("*.md"))\n'
    ),
    "tests/test_judges.py": (
        "from pathlib import Path\nimport edit_eval\nHERE = Path(edit_eval.__file__).parent\n"
        'THEIRS = [one for place in ("a", "b") for one in HERE.glob(f"{place}/*.po")]\n'
    ),
    "tests/test_planted.py": "def test(planted): ...\n",
    "tests/plugins/sweep/test_sweep.py": "def test(): ...\n",
    "tests/reporting/test_page.py": "from edit_eval.reporting import page\n",
    "tests/test_in_a_worker.py": 'PROGRAM = "from edit_eval.records import Status"\n',
}
STORED = {"store/test_journal.py": 1, "store/test_journal_of_many.py": 1}
REACHED = {
    "src/edit_eval/store/journal.py": STORED | {"test_face.py": 2, "test_command.py": 3},
    "src/edit_eval/records.py": {"test_in_a_worker.py": 1}
    | {"store/test_journal.py": 2, "store/test_journal_of_many.py": 2, "test_face.py": 3, "test_command.py": 4},
    "src/edit_eval/typed.py": {},
    "src/edit_eval/plugins/sweep/verb.py": {"plugins/sweep/test_sweep.py": 1, "test_sweep_typed.py": 1},
    "src/edit_eval/plugins/sweep/zh.po": {"plugins/sweep/test_sweep.py": 1, "test_judges.py": 1},
    "src/edit_eval/judges/careful.py": {"test_careful.py": 1, "test_small.py": 2},
    "src/edit_eval/reporting/page.html.j2": {"reporting/test_page.py": 2},
    "configs/small.yaml": {"test_small.py": 1},
    "docs/tutorial.md": {"test_docs.py": 1},
    "tests/planting.py": {"test_planted.py": 2},
    "tests/test_face.py": {"test_face.py": 0},
}


def program(name: str) -> Any:
    """A program of `.ci`, as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / f".ci/{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(ROOT / ".ci"))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(ROOT / ".ci"))
    return module


QUICK = program("quick")


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@b.example", *words], cwd=folder, check=True)


def commit(folder: Path) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "a step")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    for name, text in HOUSE.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    git(folder, "init", "--quiet", "--initial-branch", "main")
    commit(folder)
    return folder


@pytest.fixture(scope="module")
def tree(made: Path) -> Any:
    return QUICK.Tree(made)


@pytest.mark.parametrize("changed", REACHED)
def test_what_leads_to_a_file_is_reached(tree: Any, changed: str) -> None:
    assert tree.reached([changed]) == {f"tests/{name}": arrows for name, arrows in REACHED[changed].items()}


@pytest.mark.parametrize("changed", ["tests/conftest.py", "tests/always.py"])
def test_what_every_test_has_reaches_all(tree: Any, changed: str) -> None:
    assert [*tree.reached([changed])] == tree.tests


def test_a_branch_its_uncommitted_files_and_what_is_gone(made: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", str(made), "mine")
    mine = tmp_path / "mine"
    assert QUICK.changed_since(mine)[1] == []
    git(mine, "switch", "--quiet", "--create", "work")
    (mine / "docs/tutorial.md").write_text("# Another\n")
    commit(mine)
    (mine / "src/edit_eval/records.py").unlink()
    (mine / "src/edit_eval/new.py").write_text("\n")
    (mine / "configs/small.yaml").rename(mine / "configs/smaller.yaml")
    uncommitted = ["configs/small.yaml", "configs/smaller.yaml", "src/edit_eval/new.py", "src/edit_eval/records.py"]
    since, changed = QUICK.changed_since(mine)
    assert changed == sorted([*uncommitted, "docs/tutorial.md"])
    assert QUICK.changed_since(mine, since) == (since, changed)
    assert QUICK.changed_since(mine, "HEAD")[1] == uncommitted
    with pytest.raises(ValueError, match="no such commit: nowhere"):
        QUICK.changed_since(mine, "nowhere")
    assert QUICK.Tree(mine, changed).reached(["src/edit_eval/records.py"])["tests/store/test_journal.py"] == 2


def test_the_nearest_and_quickest_run_and_the_rest_is_said(tree: Any) -> None:
    """Those about the changed files come first; one of them runs whatever it takes."""
    seconds = dict.fromkeys(tree.tests, 30.0) | {"tests/store/test_journal.py": 1e4, "tests/test_face.py": 20.0}
    reached = QUICK.reached(tree, ["src/edit_eval/store/journal.py", "src/edit_eval/records.py"], seconds)
    order = ["store/test_journal_of_many.py", "store/test_journal.py", "test_in_a_worker.py"]
    assert [test.file for test in reached] == [f"tests/{name}" for name in [*order, "test_face.py", "test_command.py"]]
    assert [test.mirrors for test in reached] == [True, True, False, False, False]
    runs, left = QUICK.bounded(reached[2:], (QUICK.STARTING + 60 / QUICK.AT_ONCE) / 60)
    assert ([test.file for test in runs], [test.file for test in left]) == (
        ["tests/test_in_a_worker.py", "tests/test_face.py"],
        ["tests/test_command.py"],
    )
    assert QUICK.bounded(reached, 0.0) == (reached[:1], reached[1:])


@pytest.mark.check
def test_the_command_runs_them_and_says_what_it_leaves(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    git(tmp_path, "clone", "--quiet", str(made), "mine")
    mine = tmp_path / "mine"
    monkeypatch.setattr(QUICK, "ROOT", mine)
    (mine / "tests/plugins/sweep/test_sweep.py").write_text("def test_it():\n    assert 6 * 7 == 42\n")
    assert quick(monkeypatch) == 0
    said = capfd.readouterr().out
    assert "1 passed" in said
    assert "have run; `make test` is everything" in said
    (mine / "src/edit_eval/plugins/sweep/verb.py").write_text("class Sweep:\n    wide = True\n")
    (mine / "tests/plugins/sweep/test_sweep.py").write_text("def test_it():\n    assert 6 * 7 == 43\n")
    assert quick(monkeypatch, "--minutes", "0") == 1
    said = capfd.readouterr().out
    assert "1 failed" in said
    assert "left to `make test`: 1 files that it reaches" in said.splitlines()[-2]
    assert said.splitlines()[-1] == "  tests/test_sweep_typed.py"
    assert quick(monkeypatch, "--base", "nowhere") == 2
    assert capfd.readouterr().err == "error: no such commit: nowhere; name one that `git log` shows\n"


def quick(monkeypatch: pytest.MonkeyPatch, *words: str) -> Any:
    monkeypatch.setattr(sys, "argv", ["quick.py", *words])
    return QUICK.main()


@pytest.mark.check
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no checkout")
def test_in_this_house() -> None:
    """What is sure to be so, of arrows that follow a habit of ours and would be lost with it."""
    tree = QUICK.Tree(ROOT)
    assert {*dir(edit_eval)} - {"__version__"} <= tree.face.keys()
    names = {name for kind, of in built_in().items() for name in of if kind != "option"}
    assert names <= tree.components.keys()
    assert tree.components["gc"] == {"src/edit_eval/plugins/gc/verb.py"}
    assert len(tree.reached(["src/edit_eval/records.py"])) > 0.9 * len(tree.tests)
    plugin = tree.reached(["src/edit_eval/plugins/gc/holdings.py"])
    assert plugin["tests/plugins/gc/test_holdings.py"] == 1
    assert len(plugin) < 40
    assert "tests/docs/test_guides.py" in tree.reached(["docs/tutorial.md"])
    weights = tree.reached(["tests/tiny_models.py"])
    assert "tests/test_real_models.py" in weights
    assert len(weights) < 0.2 * len(tree.tests)
