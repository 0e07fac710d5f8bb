"""Run by `make release` after building and testing: prints what is missing, or how to upload. Uploads nothing."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

NOT_YET = {
    "README.md": "nothing is released yet",
    "README.zh-CN.md": "尚未发布",
    "CHANGELOG.md": "Nothing is released yet",
}


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def version(folder: Path) -> str:
    """Reads the version from the package, the only place that has it."""
    (number,) = re.findall(r'^__version__ = "(.+)"$', (folder / "src/edit_eval/__init__.py").read_text("utf-8"), re.M)
    return number


def missing(folder: Path) -> Iterator[str]:
    """Yields the obstacles to a release, each with what to do."""
    number = version(folder)
    heading = re.search(r"^## (.*)$", (folder / "CHANGELOG.md").read_text("utf-8"), re.M)
    if not heading or not re.fullmatch(re.escape(number) + r" \(\d{4}-\d\d-\d\d\)", heading[1]):
        was = f"`## {heading[1]}`" if heading else "missing"
        yield f"CHANGELOG.md: the topmost heading is {was}; write `## {number} (YYYY-MM-DD)` with today's date"
    for file, words in NOT_YET.items():
        if words in (folder / file).read_text("utf-8"):
            yield f"{file}: still says {words!r}; take it out"
    if "[project.urls]" not in (folder / "pyproject.toml").read_text("utf-8"):
        yield "pyproject.toml: no [project.urls]; name the repository, so that the package's page leads to its source"
    if changed := git(folder, "status", "--porcelain"):
        yield f"git: {len(changed.splitlines())} files are not committed; commit them, and build again"
    if git(folder, "tag", "--list", f"v{number}"):
        yield f"git: the tag v{number} is there already; raise __version__ in src/edit_eval/__init__.py"


def words(folder: Path) -> str:
    """Returns the files with their digests, and the commands to upload them."""
    number, files = version(folder), sorted((folder / "dist").iterdir())
    lines = [
        f"{hashlib.sha256(f.read_bytes()).hexdigest()}  dist/{f.name}  ({f.stat().st_size:,} bytes)" for f in files
    ]
    uploaded = " ".join(f"dist/{f.name}" for f in files)
    return "\n".join(
        [
            f"edit-eval {number} is built and tried. To upload:",
            *lines,
            "With:",
            f'git tag -a v{number} -m "edit-eval {number}"',
            f"git push origin v{number}",
            f".venv/bin/twine upload {uploaded}",
        ]
    )


if __name__ == "__main__":
    here = Path(__file__).parents[1]
    if lacking := list(missing(here)):
        sys.exit("\n".join(["Built and tried, but not ready to be released:", *lacking]))
    print(words(here))
