"""How the house is built, as far as a program can see it: what may stand beside a model, and how long a file may be."""

from __future__ import annotations

import ast
import functools
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import edit_eval
from edit_eval.errors import ExitCode
from edit_eval.execution.machine.environments import list_worker_files
from edit_eval.records import NO_EDIT, Ending, Status
from edit_eval.store.run_directory import JOURNALS
from source_trees import list_nodes, parse

SOURCE = Path(edit_eval.__file__).parent
TESTS = Path(__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))
BESIDE_A_MODEL = list_worker_files(SOURCE)
VAGUE = {
    "util",
    "utils",
    "helper",
    "helpers",
    "common",
    "manager",
    "managers",
    "misc",
    "core",
    "base",
    "stuff",
    "tools",
}
LONGEST = 800
LONGEST_FUNCTION = 80
"""In lines, without the text of its docstring."""
DOCS = SOURCE.parents[1] / "docs"
TWICE = {"plugins records.py": {"Edit"}}
"""The only classes with a name of another one's, by their rooms: what is done to a drawn scene."""


def name(path: Path) -> str:
    return str(path.relative_to(SOURCE))


THEIRS = {name(p).removesuffix(".py").removesuffix("/__init__").replace("/", ".") for p in BESIDE_A_MODEL}


def module_level(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements that run at import; not those under `if TYPE_CHECKING`."""
    statements: list[ast.stmt] = []
    for statement in body:
        if isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.unparse(statement.test):
            statements += module_level(statement.orelse)
            continue
        statements.append(statement)
        for part in ("body", "orelse", "finalbody"):
            if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                statements += module_level(getattr(statement, part, []))
        for handler in getattr(statement, "handlers", []):
            statements += module_level(handler.body)
    return statements


def imported(path: Path) -> set[str]:
    """The modules that importing a file imports, as they are named in it."""
    modules = set()
    for statement in module_level(parse(path).body):
        if isinstance(statement, ast.Import):
            modules |= {alias.name for alias in statement.names}
        elif isinstance(statement, ast.ImportFrom):
            assert statement.level == 0, f"{name(path)}: imports name their module in full"
            modules.add(str(statement.module))
    return modules


@pytest.mark.parametrize("path", BESIDE_A_MODEL, ids=name)
def test_what_stands_beside_a_model_is_python_3_10_with_pillow(path: Path) -> None:
    ast.parse(path.read_text("utf-8"), feature_version=(3, 10))
    for module in imported(path):
        top, _, rest = module.partition(".")
        if top == "edit_eval":
            assert rest in THEIRS, f"{name(path)} imports {module}, which does not travel with it"
        else:
            assert top == "PIL" or top in sys.stdlib_module_names, f"{name(path)} imports {module}"


def test_the_check_sees_an_import_wherever_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "x.py"
    path.write_text(
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    import only_for_types\n"
        "else:\n    import a\n"
        "try:\n    import b.c\nexcept ImportError:\n    import d\nfinally:\n    import e\n"
        "class X:\n    import f\n    def g(self):\n        import inside\n"
        "with open('x'):\n    from h.i import j\n"
    )
    assert imported(path) == {"typing", "a", "b.c", "d", "e", "f", "h.i"}


def test_packages_are_empty_so_that_importing_one_room_opens_no_other() -> None:
    packages = [p for p in MODULES if p.name == "__init__.py" and p.parent != SOURCE]
    assert len(packages) > 10
    assert [name(p) for p in packages if p.read_text().strip()] == []
    assert imported(SOURCE / "__init__.py") <= {"__future__", "importlib", "typing"}


@pytest.mark.parametrize("folder", [SOURCE, TESTS], ids=["src", "tests"])
def test_no_file_is_too_long_to_be_read(folder: Path) -> None:
    lines = {str(p.relative_to(folder)): p.read_text("utf-8").count("\n") for p in folder.rglob("*.py")}
    assert {path: count for path, count in lines.items() if count > LONGEST} == {}


def test_no_function_is_too_long_to_be_read() -> None:
    lines = {}
    for path in MODULES:
        for node in list_nodes(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                text = (ast.get_docstring(node, clean=False) or "").count("\n")
                lines[f"{name(path)}: {node.name}"] = (node.end_lineno or 0) - node.lineno + 1 - text
    assert {function: count for function, count in lines.items() if count > LONGEST_FUNCTION} == {}


def find_hidden(tree: ast.Module, every: list[ast.AST]) -> Iterator[str]:
    """Yields what a comprehension binds that its function reads of the module elsewhere."""
    own = {getattr(node, "name", "") for node in tree.body}
    own |= {
        (alias.asname or alias.name) for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    for function in every:
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        nodes = [*ast.walk(function)]
        loops = [node for node in nodes if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp)]
        if not loops:
            continue
        targets = [(loop, part) for loop in loops for each in loop.generators for part in ast.walk(each.target)]
        bound = [(loop, part.id) for loop, part in targets if isinstance(part, ast.Name) and part.id in own]
        if not bound:
            continue
        names = [node for node in nodes if isinstance(node, ast.Name)]
        inside = {id(node) for loop in loops for node in ast.walk(loop)}
        local = {node.id for node in names if isinstance(node.ctx, ast.Store) and id(node) not in inside}
        local |= {node.arg for node in nodes if isinstance(node, ast.arg)}
        for bare in sorted({name for _, name in bound} - local):
            at_home = {id(node) for loop, name in bound if name == bare for node in ast.walk(loop)}
            if any(node.id == bare and id(node) not in at_home for node in names):
                yield f"{function.name}: {bare}"


def test_no_comprehension_hides_what_its_function_reads_of_the_module() -> None:
    """Python 3.12.0 and 3.12.1 take such a name for a local one, and stop."""
    hiding = "def f(of):\n    return [name for name in of], [name(one) for one in of]\ndef name(of): ...\n"
    tree = ast.parse(hiding)
    assert [*find_hidden(tree, [*ast.walk(tree)])] == ["f: name"]
    assert [f"{name(p)}, {found}" for p in MODULES for found in find_hidden(parse(p), list_nodes(p))] == []


def test_every_name_says_what_is_in_it() -> None:
    vague = [name(p) for p in [*MODULES, *SOURCE.rglob("*/")] if VAGUE & set(p.stem.lower().split("_"))]
    assert vague == ["config/base_system.py"], "the base system is a thing of its own"


def test_tests_mirror_what_they_test() -> None:
    """A folder of tests has the name of a room."""
    rooms = {p.name for p in SOURCE.iterdir() if p.is_dir() and p.name != "__pycache__"}
    no_room_alone = {"bench", "cluster", "combinations", "docs", "proof", "faults", "older_runs"}
    folders = {p.name for p in TESTS.iterdir() if p.is_dir() and not p.name.startswith(("__", "."))}
    assert folders <= rooms | no_room_alone


@functools.cache
def public_classes(path: Path) -> list[str]:
    """The names that other modules can import from this one."""
    body = parse(path).body
    return [each.name for each in body if isinstance(each, ast.ClassDef) and not each.name.startswith("_")]


def test_a_public_name_has_one_meaning() -> None:
    places = defaultdict(list)
    for path in MODULES:
        for each in public_classes(path):
            places[each].append(name(path))
    assert len(places) > 400
    twice = defaultdict(set)
    for each, modules in places.items():
        if len(modules) > 1:
            twice[" ".join(sorted(module.split("/")[0] for module in modules))].add(each)
    assert twice == TWICE, "one meaning a name: docs/nouns.md"


def test_nouns_are_those_of_the_code() -> None:
    """Each class that the table of nouns names is there."""
    table = (SOURCE.parents[1] / "docs/nouns.md").read_text("utf-8").partition("## Each with one meaning")[2]
    said = re.findall(r"\(`(?:[\w/]+\.)?([A-Z]\w+)`\)", table)
    public = {each for path in MODULES for each in public_classes(path)}
    assert len(said) > 30
    assert set(said) <= public


def test_exit_codes_have_names() -> None:
    """Of the commands; a worker's are between it and the engine."""
    commands = [p for p in MODULES if p.parent in (SOURCE, SOURCE / "verbs")]
    calls = (node for p in commands for node in list_nodes(p) if isinstance(node, ast.Call))
    ends = [ast.unparse(call) for call in calls if ast.unparse(call.func) in ("sys.exit", "typer.Exit", "_fail")]
    assert len(ends) > 10
    assert [end for end in ends if re.search(r"\b\d", end)] == []


@pytest.mark.parametrize("page", ["reading-a-report.md", "zh/reading-a-report.md"])
def test_exit_codes_are_in_the_docs(page: str) -> None:
    """With those of the two signals that end most jobs, which are named beside a Ctrl-C."""
    rows = re.findall(r"^\| (\d[\d, 、]*) \|", (DOCS / page).read_text("utf-8"), re.MULTILINE)
    listed = [int(code) for row in rows for code in re.findall(r"\d+", row)]
    assert sorted({*listed} - {128 + 9, 128 + 15}) == sorted(ExitCode)


def test_no_reader_opens_a_journal() -> None:
    """Those that a contract of import-linter keeps from what is beneath the table do not open its files either."""
    contracts = tomllib.loads((SOURCE.parents[1] / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
    (readers,) = (
        contract["source_modules"] for contract in contracts["contracts"] if "queries the table" in contract["name"]
    )
    rooms = tuple(reader.removeprefix("edit_eval.") for reader in readers)
    files = [p for p in MODULES if name(p).split("/")[0].removesuffix(".py") in rooms]
    assert len(files) > 100
    opens = []
    for path in files:
        for node in list_nodes(path):
            named = node.right if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) else None
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".read") and node.args:
                named = node.args[0]
            if isinstance(named, ast.Constant) and named.value in (*JOURNALS, "samples"):
                opens.append(f"{name(path)}: {ast.unparse(node)}")
    assert opens == []


def test_what_counts_and_shows_names_no_failure() -> None:
    """It goes by `Status.ending`, so that a new status is in every count, table and filter."""
    rooms = [SOURCE / name for name in ("reporting", "statistics", "plugins", "store", "scheduling")]
    files = [p for room in rooms for p in room.rglob("*") if p.suffix in (".py", ".js", ".j2")]
    theirs = (SOURCE / "plugins/reanalysis/files.py", *(SOURCE / "plugins/published").iterdir())
    # They say which failures the authors' numbers count, and as what; a ledger is written, as an engine's records are;
    # a protocol says what a reply comes to; doctor advises on an answer that was cut off; a
    # model that only pretends fails as it is told to.
    ours = (
        *(SOURCE / "plugins/serve/ledger.py", SOURCE / "plugins/rewriting/columns.py"),
        SOURCE / "plugins/rehearse/in_worker/fake_models.py",
        SOURCE / "plugins/preparation/probing.py",
    )
    # What runs beside a model says how an answer ended.
    files = [p for p in files if p not in (*theirs, *ours) and "in_worker" not in p.parts]
    assert len(files) > 100
    words = "|".join(status.name for status in Status if status.ending is not Ending.NONE)
    edits = "|".join(NO_EDIT)
    named = re.compile(rf"\bStatus\.({words})\b|[\"']({edits})[\"']")
    assert [name(p) for p in [*files, SOURCE / "run.py"] if named.search(p.read_text("utf-8"))] == []


PARTICIPLES = {
    *("made", "said", "known", "given", "told", "found", "taken", "kept", "shown", "seen", "heard"),
    *("spread", "drawn", "left", "held", "begun", "done"),
}
PREPOSITIONS = {
    *("of", "in", "on", "at", "by", "to", "from", "with", "without", "beside", "behind", "before", "after", "between"),
    *("above", "below", "over", "under", "among", "as", "together", "apart", "alone", "within", "beyond", "against"),
}
DEFENDED = {
    *("of", "of_one", "of_two", "before_edits"),  # a kind of subject, a judge, a follower: the words of the contract
    *("running", "started", "finished"),  # what a spectator and a follower are told, as records name it
    *("published", "published_lines", "scoring", "footing", "_paving", "_as_before"),  # nouns, and a comparison
    *("on_step", "on_submitted", "on_broken_pipe"),  # called back
    *("on_headers_complete", "on_message_complete", "on_response_complete"),  # called by name, by others' parsers
}
"""Functions named by a participle or a preposition that stay."""


def is_grammar(name: str) -> bool:
    """True if a function is named by a participle, or a preposition at its beginning or end; `from_json` is not."""
    words = name.strip("_").split("_")
    if name.startswith("__") or words[0] in {"need", "seed", "feed", "embed", "speed"}:
        return False
    first = words[0] in PREPOSITIONS and not (len(words) > 1 and words[0] in {"from", "to", "as", "with"})
    bare = len(words) == 1 and re.fullmatch(r"\w{3,}ing", words[0]) and words[0] not in GERUNDS
    return bool(first or words[0] in PARTICIPLES or words[0].endswith("ed") or bare or words[-1] in PREPOSITIONS)


GERUNDS = {
    *("pending", "missing", "ping", "string", "rating", "mapping", "nothing", "meaning", "wording", "reading"),
    *("setting", "heading"),
}


def test_functions_are_verbs_and_nouns() -> None:
    named = {
        node.name
        for path in MODULES
        for node in list_nodes(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and is_grammar(node.name)
    }
    assert named - {name for name in named if name.endswith("_of")} - DEFENDED == set()


@pytest.mark.parametrize("name", ["settled_in", "joining", "_said", "of_canaries", "look_at", "standing_alone"])
def test_grammar_is_no_name(name: str) -> None:
    assert is_grammar(name)


@pytest.mark.parametrize("name", ["count_finished", "from_json", "label_of", "__init__", "seed_samples", "wording"])
def test_a_verb_and_a_noun_are_a_name(name: str) -> None:
    assert name.endswith("_of") or not is_grammar(name)
