"""`edit-eval serve` in a process of its own."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from plugins.serve.service_at_work import Served


class Process(NamedTuple):
    """`edit-eval serve` in a process of its own."""

    process: subprocess.Popen[str]
    served: Served

    def waiting(self) -> int:
        return int(self.served.get("/health").document["waiting"])


def start(folder: Path, port: int, *flags: str, limit: str = "") -> subprocess.Popen[str]:
    """Starts one, under a limit of the shell (`ulimit -n 256`) where there is one."""
    command = [sys.executable, "-m", "edit_eval", "serve", str(folder / "judge.yaml"), "--port", str(port)]
    command += ["--ledger", str(folder / "ledger"), "--window", "0", *flags]
    if limit:
        command = ["sh", "-c", f'{limit}; exec "$@"', "sh", *command]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True)


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
