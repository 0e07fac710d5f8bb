"""Packages installed for real, by uv, from a folder, without a network."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

UV = Path(sys.executable).with_name("uv")
QUIETLY = ("--quiet", "--offline", "--no-index", "--no-deps", "--python", sys.executable)


def install(package: Path, target: Path) -> None:
    """Builds the package, and puts it into a folder."""
    command = [UV, "pip", "install", *QUIETLY, "--target", target, package]
    subprocess.run(command, check=True, timeout=300, capture_output=True, cwd=target)


def with_pip(folder: Path, environment: dict[str, str]) -> dict[str, str]:
    """An environment in which `pip install` installs for who types in it alone: into `folder`, which Python reads as it
    reads its own, so that what is installed with `-e` is found."""
    programs, site = folder / "programs", folder / "site"
    for made in (programs, site):
        made.mkdir()
    (site / "sitecustomize.py").write_text(f"import site\n\nsite.addsitedir({str(site)!r})\n")
    pip = programs / "pip"
    pip.write_text(f'#!/bin/sh\nexec {UV} pip "$@" {" ".join(QUIETLY)} --target {site}\n')
    pip.chmod(0o755)
    return environment | {"PATH": f"{programs}:{environment['PATH']}", "PYTHONPATH": str(site)}
