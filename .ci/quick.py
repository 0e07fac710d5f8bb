"""Runs the tests that a change reaches, nearest first, for less than a minute: `make quick`. `make test` is everything.

    python .ci/quick.py [--base COMMIT] [--minutes 0.8] [--list]

The change: what is not committed, and what was since the branch left `main` (on `main`: since its upstream). A file of
tests is *reached* if it, or what it leads to, is changed. A file leads to what it imports (in functions, too), to what
of ours its strings and constant paths name, to folders that it walks, and to components by their names; how many arrows
lie between is how near it is. Tests that *mirror* a changed file, by their name or a plug-in's folder, come first; then
the nearest, and of those the quickest, as long as there is time. What does not fit is said. Most of ours runs in
processes that a test starts, where coverage (pytest-testmon's way) sees nothing.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any, NamedTuple

from closure import statements

ROOT = Path(__file__).resolve().parents[1]
PACKAGE, TESTS = "src/edit_eval", "tests"
SECONDS = ".pytest_cache/v/seconds/files"
"""What each file of tests took, in seconds; any run of whole files writes it (`tests/conftest.py`)."""
A_LINE = 0.03
"""Seconds that a line of tests takes, about, where nothing was recorded."""
AT_ONCE = 5
STARTING = 10.0
"""Seconds until the first test runs, where several processes do."""
AHEAD = {f"{TESTS}/warm_starts.py"}
"""What imports for others, so that its arrows are not those of whoever has it."""
WHOLE = {"", "src", TESTS, PACKAGE}
"""Folders that a path begins with, so that to name one is not yet to read all that is in it."""
CODE = re.compile(r"\bedit_eval(?:\.\w+)+|\b[a-z]\w*(?:\.\w+)*(?=:[A-Z]\w)")
FILE = re.compile(r"[\w./-]*\w\.(?:md|yaml|json|toml|cff|ipynb|po|j2|css|js|py|sh|txt|csv|tsv)\b")
NAMED = re.compile(r"(?:[:,\[{-]|^)\s*[\"']?([\w-]+)[\"']?\s*(?=[,\]}\n#:]|$)", re.M)
"""Words that are whole values in YAML."""


class Reached(NamedTuple):
    """A file of tests that a change reaches."""

    file: str
    arrows: int
    """Between it and the nearest changed file."""
    mirrors: bool
    seconds: float
    """Of one of the processes that run at once."""


class Tree:
    """A checkout: which file leads to which. All files are named by their paths from its root."""

    def __init__(self, root: Path, gone: Iterable[str] = ()) -> None:
        self.root = root
        listed = _git(root, "ls-files", "--cached", "--others", "--exclude-standard")
        self.files = {name for name in listed if (root / name).is_file()} | {*gone}
        """With those that are gone: whoever still leads to one is reached."""
        self._by_name = defaultdict(list)
        for file in self.files:
            self._by_name[PurePosixPath(file).name].append(file)
        self._fixtures = defaultdict[str, set[str]](set)

    @cached_property
    def tests(self) -> list[str]:
        """All files of tests."""
        return sorted(file for file in self.files if re.fullmatch(rf"{TESTS}/(.+/)?test_\w+\.py", file))

    @cached_property
    def components(self) -> dict[str, set[str]]:
        """Name of a component or a shipped configuration -> its files."""
        files = defaultdict[str, set[str]](set)
        points = tomllib.loads(self.text("pyproject.toml")).get("project", {}).get("entry-points", {})
        for name, place in (pair for group in points.values() for pair in group.items()):
            files[name.rpartition(".")[2]] |= self._module(place.partition(":")[0])
        for file in self.files:
            if re.fullmatch(rf"(configs|{PACKAGE}/plugins/\w+)/\w+\.yaml", file):
                files[PurePosixPath(file).stem].add(file)
        return files

    @cached_property
    def face(self) -> dict[str, str]:
        """Name that `edit_eval` itself has -> the module that it is from."""
        nodes = ast.walk(self._parsed(f"{PACKAGE}/__init__.py"))  # which imports them for type checkers
        those = [node for node in nodes if isinstance(node, ast.ImportFrom) and "edit_eval" in str(node.module)]
        return {alias.name: f"{node.module}" for node in those for alias in node.names}

    @cached_property
    def arrows(self) -> dict[str, set[str]]:
        """File -> the files that it leads to. A fixture of a `conftest.py` stands alone, as `FILE::FIXTURE`."""
        arrows: dict[str, set[str]] = {}
        for file in sorted(self.files, key=lambda file: not file.endswith("conftest.py")):
            if file in AHEAD:
                arrows[file] = set()
            elif file.endswith(".py"):
                arrows |= self._of_python(file)
            elif file.endswith(".yaml"):
                text = self.text(file)
                arrows[file] = self._by_code(text, file) | self._by_component(NAMED.findall(text))
        return arrows

    def reached(self, changed: Iterable[str]) -> dict[str, int]:
        """File of tests -> how many arrows lead from it to the nearest of the changed files."""
        changed = {*changed}
        back = defaultdict(set)
        for file, others in self.arrows.items():
            for other in others:
                back[other].add(file)
        arrows = dict.fromkeys(changed, 0)
        at = [*arrows]
        for file in at:
            for other in back[file]:
                if other not in arrows:
                    arrows[other] = arrows[file] + 1
                    at.append(other)
        beside = {test for test in self.tests for file in changed if _is_beside(test, file)}
        arrows |= {test: min(arrows.get(test, 1), 1) for test in beside}
        return {test: arrows[test] for test in self.tests if test in arrows}

    # -- what one file leads to --

    def text(self, file: str) -> str:
        """Returns what is in a file, nothing for one that is gone."""
        path = self.root / file
        return path.read_text("utf-8", errors="replace") if path.is_file() else ""

    def _parsed(self, file: str) -> ast.Module:
        try:
            return ast.parse(self.text(file))
        except SyntaxError:
            return ast.Module([], [])

    def _of_python(self, file: str) -> dict[str, set[str]]:
        tree, arrows = self._parsed(file), {}
        constants = _paths(self.root, self.root / file, tree)
        if file.endswith("conftest.py"):
            functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
            fixtures = {node.name: node for node in functions if _is_fixture(node)}
            self._fixtures[str(PurePosixPath(file).parent)] = {*fixtures}
            arrows = {f"{file}::{name}": self._led(file, node, constants) for name, node in fixtures.items()}
            tree.body = [node for node in tree.body if node not in fixtures.values()]
        arrows[file] = self._led(file, tree, constants)
        return arrows

    def _led(self, file: str, tree: ast.AST, constants: Mapping[str, Path]) -> set[str]:
        """Returns where the statements of a file, or one of its fixtures, lead."""
        files, words, asked = set[str](), set[str](), set[str]()
        docstrings = set[int]()
        for node in statements(tree):
            if isinstance(node, ast.Name):  # every other node, and leads nowhere
                continue
            if isinstance(node, ast.Import):
                files |= {path for alias in node.names for path in self._module(alias.name, file)}
            elif isinstance(node, ast.ImportFrom) and node.module:
                for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)):
                    files |= self._module(name, file)
            elif isinstance(node, ast.Expr):
                docstrings.add(id(node.value))
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "edit_eval":
                files |= self._module(f"edit_eval.{node.attr}")
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                files |= self._by_code(node.value, file) | self._by_file(node.value, file)
                words |= {node.value, *(NAMED.findall(node.value) if "\n" in node.value else ())}
            elif isinstance(node, ast.arg):
                asked.add(node.arg)
            if isinstance(node, ast.BinOp | ast.Call):
                files |= self._by_path(node, constants)
        if file.startswith(TESTS):
            files |= self._by_component(words)
            for folder in PurePosixPath(file).parents:
                if (above := f"{folder}/conftest.py") in self.files:
                    known = self._fixtures[str(folder)] & (words | asked)
                    files |= {above, *(f"{above}::{name}" for name in known)}
        return files - {file}

    def _module(self, name: str, file: str = "") -> set[str]:
        """Returns the file of a module: of ours by its full name, else of tests, or of what lies beside a file."""
        if name == "edit_eval":
            return set()
        name = self.face.get(name.partition(".")[2], name) if name.startswith("edit_eval.") else name
        path = name.replace(".", "/")
        roots = ("src",) if name.startswith("edit_eval.") else (TESTS, "bench", str(PurePosixPath(file).parent))
        return {module_file for root in roots if (module_file := f"{root}/{path}.py") in self.files}

    def _by_code(self, text: str, file: str) -> set[str]:
        if text == "edit_eval":  # `python -m edit_eval`
            return {f"{PACKAGE}/__main__.py"}
        files = set[str]()
        for name in CODE.findall(text):
            files |= self._module(name, file) or self._module(name.rpartition(".")[0] or name, file)
        return files

    def _by_file(self, text: str, file: str) -> set[str]:
        """Returns what is named by its path or by the end of it; of several, what lies nearest to who names it."""
        files = set[str]()
        for named in FILE.findall(text) if "." in text else ():
            named = named.lstrip("./")
            ends = [path for path in self._by_name[PurePosixPath(named).name] if f"/{path}".endswith(f"/{named}")]
            if named.endswith(".py") and "/" not in named:
                ends = [path for path in ends if PurePosixPath(path).parent == PurePosixPath(file).parent]
            beside = [path for path in ends if PurePosixPath(path).is_relative_to(PurePosixPath(file).parent)]
            files |= {*(beside or ends)}
        return files

    def _by_path(self, node: ast.BinOp | ast.Call, constants: Mapping[str, Path]) -> set[str]:
        """Returns the file that a constant path is, or what is in the folder that it is, or that is walked for it."""
        walks = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in WALKS
        path = _path(node.func.value if walks else node, constants)  # type: ignore[union-attr]
        if path is None or not path.is_relative_to(self.root):
            return set()
        name = "" if path == self.root else path.relative_to(self.root).as_posix()
        if name in self.files:
            return {name}
        if not name or (name in WHOLE and not walks):
            return set()
        sought = ast.unparse(node).rpartition("/")[2] if walks else ""  # as in `HERE.glob(f"{place}/*.po")`
        kind = matches[0] if (matches := re.findall(r"\*\.\w+(?=[\"'])", sought)) else "*"
        return {file for file in self.files if file.startswith(f"{name}/") and PurePosixPath(file).match(kind)}

    def _by_component(self, words: Iterable[str]) -> set[str]:
        return set[str]().union(*(self.components[word] for word in {*words} & self.components.keys()))


WALKS = ("glob", "rglob", "iterdir")


def _paths(root: Path, file: Path, tree: ast.Module) -> dict[str, Path]:
    """Returns the constants of a module that are paths, or modules with one."""
    package = SimpleNamespace(__file__=str(root / PACKAGE / "__init__.py"))
    constants: dict[str, Any] = {"__file__": str(file), "Path": Path, "edit_eval": package}
    for node in tree.body:
        if isinstance(node, ast.Assign):
            pairs = [(target, node.value) for target in node.targets]
            if isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = [*zip(node.targets[0].elts, node.value.elts, strict=False)]
            constants |= {
                ast.unparse(name): path for name, value in pairs if (path := _path(value, constants)) is not None
            }
    return constants


def _path(node: ast.AST, constants: Mapping[str, Any]) -> Path | None:
    """Returns the path that an expression of constants is, None for anything else."""
    first = node
    while isinstance(first, ast.BinOp | ast.Attribute | ast.Subscript | ast.Call):
        makes = isinstance(first, ast.Call) and isinstance(first.func, ast.Name) and first.func.id == "Path"
        called_on = first.args if makes else ()
        inner = {ast.BinOp: "left", ast.Call: "func"}.get(type(first), "value")
        first = called_on[0] if called_on else getattr(first, inner)
    if not isinstance(first, ast.Name) or first.id not in constants:
        return None
    parts = (ast.Name, ast.Attribute, ast.Subscript, ast.BinOp, ast.Call, ast.Constant, ast.Div, ast.Load)
    if not all(isinstance(part, parts) for part in ast.walk(node)):
        return None
    called = {ast.unparse(part.func).rpartition(".")[2] for part in ast.walk(node) if isinstance(part, ast.Call)}
    if not called <= {"Path", "resolve", "with_name", "with_suffix", "joinpath"}:
        return None
    try:
        value = eval(compile(ast.Expression(node), "", "eval"), {"__builtins__": {}}, dict(constants))  # type: ignore[arg-type]
    except Exception:  # a name that is no constant
        return None
    return value if isinstance(value, Path) else None


def _is_fixture(node: ast.FunctionDef) -> bool:
    """True for what only those get that ask for it."""
    said = [ast.unparse(decorator) for decorator in node.decorator_list]
    return any("fixture" in decorator and "autouse" not in decorator for decorator in said)


def _is_beside(test: str, changed: str) -> bool:
    """True if a file of tests is in the folder for what a changed file belongs to: bench, docs, a plug-in."""
    parts = PurePosixPath(changed).parts
    if parts[:3] == (*PurePosixPath(PACKAGE).parts, "plugins") and len(parts) > 4:
        return test.startswith(f"{TESTS}/plugins/{parts[3]}/")
    return len(parts) > 1 and parts[0] != TESTS and test.startswith(f"{TESTS}/{parts[0]}/")


def mirrors(test: str, changed: str) -> bool:
    """True if a file of tests is changed itself, or by its place and name about a changed one, or a plug-in's own."""
    if test == changed or not changed.startswith(f"{PACKAGE}/"):
        return test == changed
    place = PurePosixPath(changed).relative_to(PACKAGE)
    if place.parts[0] == "plugins" and len(place.parts) > 2:
        return test.startswith(f"{TESTS}/plugins/{place.parts[1]}/")
    folder, stem = PurePosixPath(test).relative_to(TESTS).parent, PurePosixPath(test).stem.removeprefix("test_")
    name = place.name.partition(".")[0]
    return folder in (place.parent, place.parent / name) and (stem == name or stem.startswith(f"{name}_"))


def changed_since(root: Path, base: str = "") -> tuple[str, list[str]]:
    """Returns the commit that a change begins at, and the files that it touches, those that are gone among them.

    Raises:
        ValueError: No such commit.
    """
    branch = "".join(_git(root, "branch", "--show-current"))
    candidates = [base] if base else ["@{upstream}"] if branch == "main" else ["main", "origin/main", "@{upstream}"]
    ancestor = next((commit for name in candidates for commit in _git(root, "merge-base", "HEAD", name)), None)
    if ancestor is None and base:
        raise ValueError(f"no such commit: {base}; name one that `git log` shows")
    since = ancestor or "HEAD"
    touched = _git(root, "diff", "--name-only", "--no-renames", since)
    return since, sorted({*touched, *_git(root, "ls-files", "--others", "--exclude-standard")})


def _git(root: Path, *words: str) -> list[str]:
    """Returns the lines of what git says, none if it refuses."""
    said = subprocess.run(["git", "-c", "core.quotePath=off", *words], cwd=root, capture_output=True, text=True)
    return said.stdout.splitlines() if said.returncode == 0 else []


def recorded(root: Path) -> dict[str, float]:
    """Returns file of tests -> seconds, of the last runs here; empty where none was."""
    try:
        return {str(file): float(seconds) for file, seconds in json.loads((root / SECONDS).read_text()).items()}
    except (OSError, ValueError):
        return {}


def reached(tree: Tree, changed: Iterable[str], seconds: Mapping[str, float]) -> list[Reached]:
    """Returns the files of tests that a change reaches, in the order in which they are to run."""
    changed = [*changed]
    tests = []
    for file, arrows in tree.reached(changed).items():
        about = any(mirrors(file, path) for path in changed)
        took = seconds.get(file)
        if took is None:
            took = A_LINE * tree.text(file).count("\n")
        tests.append(Reached(file, arrows, about, took))
    there = [test for test in tests if (tree.root / test.file).is_file()]
    return sorted(there, key=lambda test: (not test.mirrors, test.arrows, test.seconds, test.file))


def bounded(tests: Iterable[Reached], minutes: float) -> tuple[list[Reached], list[Reached]]:
    """Returns what runs, at least one file, and what is left: in their order as many as there is time for."""
    runs, left, room = list[Reached](), list[Reached](), (minutes * 60 - STARTING) * AT_ONCE
    for test in tests:
        fits = test.seconds <= room or not runs
        (runs if fits else left).append(test)
        room -= test.seconds if fits else 0
    return runs, left


def took(tests: Iterable[Reached]) -> str:
    """Returns how long files take beside one another, in words."""
    seconds = STARTING + sum(test.seconds for test in tests) / AT_ONCE
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def main() -> int:
    """Chooses, says what is chosen and what is left, and runs it."""
    parser = argparse.ArgumentParser(description="Runs the tests that a change reaches, nearest first.")
    parser.add_argument("--base", default="", help="the commit that the change begins at, instead of main")
    parser.add_argument("--minutes", type=float, default=0.8, help="how long the tests may take on two quiet cores")
    parser.add_argument("--list", action="store_true", help="print what would run and what is left; run nothing")
    asked = parser.parse_args()
    try:
        since, changed = changed_since(ROOT, asked.base)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"{len(changed)} files changed since {since[:8]}: {_some(changed)}")
    tree = Tree(ROOT, changed)
    seconds = recorded(ROOT)
    runs, left = bounded(reached(tree, changed, seconds), asked.minutes)
    if not runs and not left:
        print("no test leads to them; `make test` is everything")
        return 0
    about = sum(test.mirrors for test in runs)
    of = f"{len(runs) + len(left)} of {len(tree.tests)} files of tests"
    print(f"they reach {of}; {len(runs)} run, {about} of them about just these; about {took(runs)}")
    if not seconds:
        print("how long each takes is guessed by its length; `make test` records it")
    if asked.list:
        for title, some in (("run", runs), ("left to `make test`", left)):
            print(f"\n{title}:", *(f"  {test.file}  {test.arrows}  {test.seconds:.1f} s" for test in some), sep="\n")
        return 0
    sys.stdout.flush()
    at_once = ["--forks", str(AT_ONCE)] if sum(test.seconds for test in runs) > STARTING else []
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", *at_once, *(test.file for test in runs)], cwd=ROOT
    ).returncode
    if left:
        nearest = min(test.arrows for test in left)
        print(f"left to `make test`: {len(left)} files that it reaches, {took(left)}, {nearest} imports away or more")
        print(f"  {_some([test.file for test in left])}")
    else:
        print("all files of tests that lead to the change have run; `make test` is everything")
    return 0 if ended == 5 else ended  # 5: all that is in them has a target of its own


def _some(names: list[str]) -> str:
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


if __name__ == "__main__":
    sys.exit(main())
