"""What `make wheel` has built in dist/: nothing is missing, nothing came along, and it does what a newcomer types."""

from __future__ import annotations

import email
import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from email.message import Message
from pathlib import Path

import pytest

import edit_eval
from command_lines import Outcome
from judge_server import JudgeServer
from photographs import draw, opinion

REPOSITORY = Path(__file__).parents[1]
NAME = f"edit_eval-{edit_eval.__version__}"
WHEEL = REPOSITORY / "dist" / f"{NAME}-py3-none-any.whl"
ARCHIVE = REPOSITORY / "dist" / f"{NAME}.tar.gz"
BESIDE_THE_PACKAGE = {".gitignore", "CHANGELOG.md", "LICENSE", "PKG-INFO", "README.md", "pyproject.toml"}
MOST_BYTES = 2_200_000

pytestmark = pytest.mark.wheel


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture(scope="module")
def package() -> dict[str, str]:
    """The digest of every file that git has of the package, configurations included."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "src/edit_eval", "configs"]
    names = subprocess.run(listed, cwd=REPOSITORY, check=True, capture_output=True, text=True).stdout.split("\0")
    files = {re.sub("^src/edit_eval/|^(?=configs/)", "edit_eval/", name): REPOSITORY / name for name in names if name}
    return {name: digest(path.read_bytes()) for name, path in files.items() if path.is_file()}


def test_dist_has_these_two_alone() -> None:
    assert sorted((REPOSITORY / "dist").iterdir()) == sorted([WHEEL, ARCHIVE])
    assert max(WHEEL.stat().st_size, ARCHIVE.stat().st_size) < MOST_BYTES


def test_the_wheel_is_the_package(package: dict[str, str]) -> None:
    with zipfile.ZipFile(WHEEL) as archive:
        names = [name for name in archive.namelist() if not name.startswith(f"{NAME}.dist-info/")]
        assert {name: digest(archive.read(name)) for name in names} == package
    assert {"edit_eval/configs/single_gpu.yaml", "edit_eval/plugins/scenes/demo.yaml"} <= {*package}


def test_the_source_is_the_package_and_what_builds_it(package: dict[str, str]) -> None:
    digests = {}
    with tarfile.open(ARCHIVE) as archive:
        for member in archive:
            assert member.isfile(), f"{member.name} is a link or a folder"
            content = archive.extractfile(member)
            assert content is not None
            digests[member.name.removeprefix(f"{NAME}/").removeprefix("src/")] = digest(content.read())
    assert set(digests) - set(package) == BESIDE_THE_PACKAGE
    assert {name: digests.get(name) for name in package} == package


@pytest.fixture(scope="module")
def metadata() -> Message:
    with zipfile.ZipFile(WHEEL) as archive:
        assert archive.read(f"{NAME}.dist-info/licenses/LICENSE") == (REPOSITORY / "LICENSE").read_bytes()
        return email.message_from_bytes(archive.read(f"{NAME}.dist-info/METADATA"))


def test_the_metadata(metadata: Message) -> None:
    fields = {"Name": "edit-eval", "Version": edit_eval.__version__, "License-Expression": "Apache-2.0"}
    assert {name: metadata[name] for name in fields} == fields
    assert len(metadata["Summary"]) < 140
    assert str(metadata.get_payload()).startswith("# edit-eval\n")


def test_what_is_heavy_comes_only_with_an_extra(metadata: Message) -> None:
    needed = [line for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line]
    names = {re.split(r"[^\w-]", line)[0] for line in needed}
    assert "typer" in names
    assert not names & {"torch", "diffusers", "transformers", "ray", "openai", "pandas", "pyarrow", "fastapi"}


# -- in an empty environment --


@pytest.fixture(scope="module")
def server() -> Iterator[JudgeServer]:
    with JudgeServer(opinion) as running:
        yield running


@pytest.mark.timeout(1500)
def test_what_a_newcomer_types(tmp_path: Path, server: JudgeServer) -> None:
    """The checkout is on no path, and nobody writes YAML."""
    home, empty = tmp_path / "home", tmp_path / "empty"
    home.mkdir()
    draw(home)
    subprocess.run([sys.executable, "-m", "venv", str(empty)], check=True)
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    variables |= {"PATH": f"{empty / 'bin'}:/usr/bin:/bin", "HOME": str(home), "XDG_CACHE_HOME": str(home / ".cache")}

    def typed(*words: str) -> Outcome:
        done = subprocess.run(words, cwd=home, env=variables, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, done.stdout + done.stderr
        return Outcome(done.returncode, done.stdout, done.stderr)

    typed("pip", "install", "--quiet", str(WHEEL))
    installed = {package["name"].lower() for package in json.loads(typed("pip", "list", "--format", "json").out)}
    assert "edit-eval" in installed
    assert not {name for name in installed if name in ("torch", "openai") or name.startswith("nvidia-cu")}
    assert typed("edit-eval", "--version").out == f"edit-eval {edit_eval.__version__}\n"
    assert "demo" in typed("edit-eval", "list").out
    assert json.loads(typed("edit-eval", "demo", "--json").out)["status"] == "complete"
    typed("edit-eval", "init", "mine.yaml", "--from", "demo")
    typed("edit-eval", "run", "mine.yaml", "--limit", "2")

    typed("pip", "install", "--quiet", f"{WHEEL}[openai]")
    begun = typed("edit-eval", "init", "--judge", server.base_url, "--instruction", "Mirror it")
    assert "this would run" in begun.out
    assert "report: " in typed("edit-eval", "run", "evaluation.yaml", "--run-dir", "compared").out
    assert "is better than" in typed("edit-eval", "compare", "compared").out
    assert not list(empty.glob("lib/*/site-packages/torch"))

    variables["EDIT_EVAL_LANG"] = "zh"
    again = ("--judge", server.base_url, "--force")
    walked = [typed("edit-eval", "init", *again), typed("edit-eval", "run", "evaluation.yaml", "--run-dir", "chinese")]
    walked += [typed("edit-eval", "compare", "chinese"), typed("edit-eval", "status", "chinese")]
    printed = "\n".join(outcome.out + outcome.err for outcome in walked)
    assert "优于" in printed
    english = [
        line for line in printed.splitlines() if re.search(r"(?<![\w/.-])[a-z]+ [a-z]+ [a-z]{3,}(?![\w/.-])", line)
    ]
    assert [line for line in english if "edit-eval " not in line] == []
    del variables["EDIT_EVAL_LANG"]

    typed("pip", "install", "--quiet", "nbclient", "ipykernel", "pandas")
    (home / "mine.ipynb").write_text(json.dumps(notebook(*NOTEBOOK)))
    typed("python", "-c", EXECUTE)
    shown = json.loads((home / "mine.ipynb").read_text("utf-8"))["cells"]
    told, table, verdict = (cell["outputs"][-1] for cell in shown[-3:])
    assert "40 of 40" in "".join(told["data"]["text/html"])
    assert "data:image/jpeg;base64," in "".join(told["data"]["text/html"])
    assert "edits_a" in "".join(table["data"]["text/html"])
    assert "edits_a" in "".join(verdict["text"])


NOTEBOOK = (
    "from edit_eval import compare, evaluate",
    "run = evaluate('evaluation.yaml', run_dir='from_the_notebook')",
    "run",
    "run.to_frame().groupby('edit_model')[['score']].mean()",
    "for pair in compare([run]).pairs: print('better:', pair.better or 'cannot be told')",
)
EXECUTE = """
import nbformat
from nbclient import NotebookClient
found = nbformat.read("mine.ipynb", 4)
NotebookClient(found, timeout=300).execute()
nbformat.write(found, "mine.ipynb")
"""


def notebook(*cells: str) -> dict[str, object]:
    """A notebook as it is stored, with a cell of code for each."""
    empty = {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": []}
    return {"cells": [{**empty, "source": cell} for cell in cells], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
