"""What `make release` says: each thing that is missing with what to do, and the commands once nothing is."""

from __future__ import annotations

import re
import runpy
import subprocess
from pathlib import Path

import pytest

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
