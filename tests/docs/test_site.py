"""The documentation as a site: it asks nobody for anything, and is searched in both languages from disk."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from documented_blocks import DOCS

pytestmark = pytest.mark.docs


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("sphinx")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-n", str(DOCS), str(folder / "html")]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return folder / "html"


def test_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        loaded = re.findall(r"<(?:script|img|link|iframe)[^>]*(?:src|href)=\"(https?:)?//", page.read_text("utf-8"))
        assert not loaded, page
    for style in site.rglob("*.css"):
        assert not re.search(r"(?:url\(|@import )[\"']?(?:https?:)?//", style.read_text("utf-8")), style


def test_a_dead_link_and_a_dead_anchor_end_the_build(tmp_path: Path) -> None:
    pytest.importorskip("sphinx")
    (tmp_path / "docs" / "images").mkdir(parents=True)
    shutil.copy(DOCS / "conf.py", tmp_path / "docs")
    (tmp_path / "docs" / "index.md").write_text("# Here\n\n[a](nowhere.md) [b](#nowhere) [c](#here)\n")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-n", "docs", "html"]
    built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert built.returncode
    assert "nowhere.md" in built.stderr
    assert "'myst' cross-reference target not found: 'nowhere'" in built.stderr
    assert "'here'" not in built.stderr


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("coverage", "Reading a report"),
        ("exit code 3", "Reading a report"),
        ("覆盖率", "怎样读报告"),
        ("未经检验", "怎样读报告"),
    ],
)
def test_it_is_searched_from_disk(site: Path, browser: Any, words: str, page: str) -> None:
    asked: list[str] = []
    tab = browser.new_page()
    tab.on("request", lambda made: asked.append(made.url))
    tab.goto(f"{(site / 'search.html').as_uri()}?q={words}")
    tab.locator("#search-results li a").first.wait_for()
    titles = tab.locator("#search-results li a").all_inner_texts()
    tab.close()
    assert any(title.startswith(page) for title in titles), titles
    assert all(url.startswith(("file:", "data:")) for url in asked)
