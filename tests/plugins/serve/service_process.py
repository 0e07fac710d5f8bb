"""`edit-eval serve` in a process of its own."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from plugins.serve.service_at_work import Served


class Process(NamedTuple):
    """`edit-eval serve` in a process of its own."""

    process: subprocess.Popen[str]
    served: Served

    def waiting(self) -> int:
        return int(self.served.get("/health").document["waiting"])


def start(folder: Path, port: int, *flags: str, limits: Mapping[int, int] | None = None) -> subprocess.Popen[str]:
    """Starts one, under limits (`resource.RLIMIT_NOFILE`) where there are any."""
    command = [sys.executable, "-m", "edit_eval", "serve", str(folder / "judge.yaml"), "--port", str(port)]
    command += ["--ledger", str(folder / "ledger"), "--window", "0", *flags]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    for what, most in (limits or {}).items():
        resource.prlimit(process.pid, what, (most, most))
    return process


def end(process: subprocess.Popen[str]) -> None:
    """Ends it at once, and closes its pipe."""
    with process:
        process.kill()


def ready(process: subprocess.Popen[str], token: str = "") -> Process:
    """Waits until all judges are loaded."""
    assert process.stderr is not None
    port = next(int(match[1]) for line in process.stderr if (match := re.search(r":(\d+)/\S*v1/score", line)))
    served = Served(None, port)
    until(lambda: served.get(f"/{token}/health".replace("//", "/")).status == 200)
    return Process(process, served)


def until(true: object) -> None:
    end = time.monotonic() + 120
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)
