"""The files that stand around the project: what GitHub reads of them, and that they agree with one another."""

from __future__ import annotations

import json
import re
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
    assert all(re.fullmatch(r"[\w-]+", one) for one in ids)
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
    assert made == ["demo", "test", "docs", "wheel"]
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
