"""The files that stand around the project: what GitHub reads of them, and that they agree with one another."""

from __future__ import annotations

import ast
import json
import re
import runpy
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

REPOSITORY = Path(__file__).parents[1]
GITHUB = REPOSITORY / ".github"
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
MAKEFILE = (REPOSITORY / "Makefile").read_text("utf-8")
TARGETS = set(re.findall(r"^([\w.-]+|\.venv/\.\w+):(?!=)", MAKEFILE, re.M))

# docs.github.com, "Syntax for GitHub's form schema": the attributes of an element, those that it must have first.
ELEMENTS = {
    "markdown": ({"value"}, set()),
    "textarea": ({"label"}, {"description", "placeholder", "value", "render"}),
    "input": ({"label"}, {"description", "placeholder", "value"}),
    "dropdown": ({"label", "options"}, {"description", "multiple", "default"}),
    "checkboxes": ({"label", "options"}, {"description"}),
}


def document(path: Path) -> Any:
    return yaml.safe_load(path.read_text("utf-8"))


@pytest.mark.parametrize("name", ["bug.yml", "feature.yml"])
def test_an_issue_form(name: str) -> None:
    form = document(GITHUB / "ISSUE_TEMPLATE" / name)
    assert {"name", "description", "body"} <= set(form) <= {"name", "description", "body", "labels", "title"}
    ids = [element["id"] for element in form["body"] if element["type"] != "markdown"]
    assert len(ids) == len(set(ids)) > 0
    assert all(re.fullmatch(r"[\w-]+", key) for key in ids)
    for element in form["body"]:
        needed, possible = ELEMENTS[element["type"]]
        assert needed <= set(element["attributes"]) <= needed | possible, element
        assert set(element) <= {"type", "id", "attributes", "validations"}
        assert set(element.get("validations", {})) <= {"required"}
    labels = [element["attributes"].get("label") for element in form["body"]]
    assert name != "bug.yml" or "What `edit-eval doctor CONFIG --json` prints" in labels
    assert {path.name for path in (GITHUB / "ISSUE_TEMPLATE").iterdir()} == {"bug.yml", "feature.yml", "config.yml"}


def test_the_workflow() -> None:
    workflow = document(GITHUB / "workflows" / "test.yml")
    assert workflow["permissions"] == {"contents": "read"}
    assert workflow["concurrency"]["cancel-in-progress"] is True
    jobs = workflow["jobs"]
    named = [f"3.{minor}" for minor in range(9, 30) if f"Programming Language :: Python :: 3.{minor}" in pythons()]
    assert jobs["two-commands"]["strategy"]["matrix"]["python"] == named
    assert PROJECT["requires-python"] == f">={named[0]}"
    steps = [step for job in jobs.values() for step in job["steps"]]
    assert all(re.fullmatch(r"actions/[\w-]+@v\d+", step["uses"]) for step in steps if "uses" in step)
    assert all(step["with"] == {"persist-credentials": False} for step in steps if "checkout" in step.get("uses", ""))
    made = [step["run"].removeprefix("make ") for step in steps if step.get("run", "").startswith("make ")]
    assert made == ["demo", "test", "docs", "wheel", "lowest"]
    assert set(made) <= TARGETS
    assert all(job["timeout-minutes"] <= 60 for job in jobs.values())


def pythons() -> list[str]:
    return [line for line in PROJECT["classifiers"] if "Python :: 3." in line]


def test_the_container_runs_a_python_that_is_tried() -> None:
    text = (REPOSITORY / "Dockerfile").read_text("utf-8")
    (python,) = re.findall(r"^FROM python:(3\.\d+)-slim$", text, re.M)
    assert f"Programming Language :: Python :: {python}" in pythons()
    assert {"demo", "test"} < TARGETS
    assert text.rstrip().endswith('CMD ["make", "demo"]')
    assert set(re.findall(r"^RUN make (\S+)$", text, re.M)) == {".venv/.core"} < TARGETS
    container = json.loads((REPOSITORY / ".devcontainer" / "devcontainer.json").read_text("utf-8"))
    built = container["build"]
    assert (REPOSITORY / ".devcontainer" / built["dockerfile"]).resolve() == REPOSITORY / "Dockerfile"
    assert all(f"ARG {name}=" in text for name in built["args"])
    assert container["postCreateCommand"].removeprefix("make ") in TARGETS
    assert f"useradd --uid 1000 --create-home --shell /bin/bash {container['remoteUser']} " in text


def test_how_to_cite_it() -> None:
    citation = document(REPOSITORY / "CITATION.cff")
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert citation["license"] == PROJECT["license"]
    assert citation["authors"] == PROJECT["authors"]


def test_the_hooks_are_those_of_make_lint() -> None:
    (local,) = document(REPOSITORY / ".pre-commit-config.yaml")["repos"]
    assert local["repo"] == "local"
    for hook in local["hooks"]:
        assert {"id", "name", "entry", "language"} <= set(hook)
        program = hook["entry"].split()[0].removeprefix(".venv/bin/")
        assert f"$(BIN)/{program}" in MAKEFILE.partition("lint: .venv/.dev")[2].partition("\n\n")[0]


def test_every_extra_says_what_it_is_for() -> None:
    text = (REPOSITORY / "pyproject.toml").read_text("utf-8")
    section = text.partition("[project.optional-dependencies]")[2].partition("\n[")[0]
    lines = {line.partition(" = ")[0]: line for line in section.splitlines() if re.match(r"\w+ = \[", line)}
    assert set(lines) == set(PROJECT["optional-dependencies"])
    said = [name for name, line in lines.items() if "  # " not in line]
    assert said == ["trackio"], "one comment stands for the trackers"


@pytest.mark.parametrize("page", ["SECURITY.md", "CONTRIBUTING.md"])
def test_links_lead_somewhere(page: str) -> None:
    links = re.findall(r"\]\(([^)#]+)", (REPOSITORY / page).read_text("utf-8"))
    assert links
    assert [link for link in links if not (REPOSITORY / link).exists()] == []


def test_what_a_page_is_waited_for_is_a_function() -> None:
    """An expression is evaluated again and again, which the policy of our pages forbids; not every browser says so."""
    bad, seen = [], 0
    for file in (file for folder in ("tests", "bench") for file in (REPOSITORY / folder).rglob("*.py")):
        text = file.read_text("utf-8")
        if "wait_for_function(" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".wait_for_function"):
                said = ast.unparse(node.args[0]).lstrip("f\"'")
                seen += 1
                if not said.startswith("(") and not said.isupper():
                    bad.append(f"{file.name}:{node.lineno}")
    assert seen > 50
    assert bad == []


# What `make release` says: each thing that is missing with what to do, and the commands once nothing is.


RELEASE = runpy.run_path(str(Path(__file__).parents[1] / ".ci" / "release.py"))
READY = {
    "src/edit_eval/__init__.py": '__version__ = "1.2.3"\n',
    "CHANGELOG.md": "# Changelog\n\n## 1.2.3 (2026-11-22)\n\n## 1.2.2 (2026-10-01)\n",
    "README.md": "pip install edit-eval\n",
    "README.zh-CN.md": "pip install edit-eval\n",
    "pyproject.toml": "[project.urls]\n",
    ".gitignore": "dist/\n",
    "dist/edit_eval-1.2.3.tar.gz": "a source",
    "dist/edit_eval-1.2.3-py3-none-any.whl": "a wheel",
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name, text in READY.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    git(tmp_path, "init", "--quiet")
    commit(tmp_path)
    return tmp_path


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@b.example", *words], cwd=folder, check=True)


def commit(folder: Path) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "all of it")


def test_when_nothing_is_missing(checkout: Path) -> None:
    assert list(RELEASE["missing"](checkout)) == []
    said = RELEASE["words"](checkout)
    assert re.search(r"^[0-9a-f]{64}  dist/edit_eval-1\.2\.3-py3-none-any\.whl  \(7 bytes\)$", said, re.M)
    assert 'git tag -a v1.2.3 -m "edit-eval 1.2.3"' in said
    uploaded = "dist/edit_eval-1.2.3-py3-none-any.whl dist/edit_eval-1.2.3.tar.gz"
    assert said.splitlines()[-1] == f".venv/bin/twine upload {uploaded}"


@pytest.mark.parametrize(
    ("file", "text", "line"),
    [
        ("CHANGELOG.md", "## Unreleased\n## 1.2.3 (2026-11-22)\n", "is `## Unreleased`; write `## 1.2.3 (YYYY-MM-DD)`"),
        ("CHANGELOG.md", "## 1.2.3\n", "is `## 1.2.3`; write"),
        ("CHANGELOG.md", "# Changelog\n", "is missing; write"),
        ("README.md", "pip install .  # nothing is released yet\n", "README.md: still says"),
        ("README.zh-CN.md", "尚未发布\n", "README.zh-CN.md: still says"),
        ("pyproject.toml", "[project]\n", r"no [project.urls]; name the repository"),
    ],
)
def test_what_is_missing_is_named(checkout: Path, file: str, text: str, line: str) -> None:
    (checkout / file).write_text(text, "utf-8")
    commit(checkout)
    (said,) = RELEASE["missing"](checkout)
    assert line in said


def test_a_tree_that_is_not_what_will_be_tagged(checkout: Path) -> None:
    git(checkout, "tag", "v1.2.3")
    (checkout / "README.md").write_text("changed", "utf-8")
    changed, tagged = RELEASE["missing"](checkout)
    assert "1 files are not committed" in changed
    assert "the tag v1.2.3 is there already; raise __version__" in tagged
