"""A scripted server as a program: `python server_program.py judge|editor PORT [MANNER [FOLDER [NAME AT]]]`.

In FOLDER `asked.txt` gets a line for each question or edit that it is asked for: its text, as JSON. Manners:

well     as it should be
late     it is never ready
waits    the same, where its port is taken
shares   its port may be another's, too
parent   it has a child that went to a session of its own
daemon   it goes on in the background, as no child of anybody and in a session of its own
tells    it prints what its environment is, and goes on
pair     it answers once two servers of that folder are up, or after a minute
kills    at the folder's request number AT, before it is answered, it kills NAME: `server`, `worker` or `engine`
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))  # for the scripted servers

import scripted_server
from image_server import ImageServer
from judge_server import JudgeServer
from scripted_server import Reply


def main(kind: str, port: str, manner: str = "well", folder: str = "", whom: str = "", at: str = "0") -> None:
    def answer(asked: Any) -> Reply:
        if folder:
            with open(Path(folder) / "asked.txt", "a") as file:
                file.write(json.dumps(asked.text if kind == "judge" else asked.fields["prompt"]) + "\n")
            count = len((Path(folder) / "asked.txt").read_text().splitlines())
            while manner == "pair" and alone(Path(folder)):
                time.sleep(0.02)
            if manner == "kills" and count == int(at):
                os.kill(pid_of(whom), signal.SIGKILL)
                time.sleep(1e6)
        return Reply()

    if manner == "daemon":
        for _ in range(2):
            if os.fork():
                os._exit(0)
            os.setsid()
    if manner == "tells":
        print(json.dumps(dict(os.environ)), flush=True)
    print("its libraries are loaded", flush=True)
    with socket.socket() as probe:
        if manner == "late" or (manner == "waits" and probe.connect_ex(("127.0.0.1", int(port))) == 0):
            time.sleep(1e6)
    if manner == "parent":
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1e6)"], start_new_session=True)
    if manner == "pair":
        with open(Path(folder) / "up.txt", "a") as up:
            up.write(f"{port}\n")
    scripted_server._Listener.allow_reuse_port = manner == "shares"
    {"judge": JudgeServer, "editor": ImageServer}[kind](answer, port=int(port))
    time.sleep(1e6)


def alone(folder: Path) -> bool:
    """Whether this is the folder's only server, for a minute at most."""
    up = folder / "up.txt"
    return len(up.read_text().splitlines()) < 2 and time.time() - up.stat().st_mtime < 60


def pid_of(whom: str) -> int:
    """This process, the worker that started it, or the engine that started the worker."""
    worker = os.getppid()
    status = Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()
    return {"server": os.getpid(), "worker": worker, "engine": int(status[1])}[whom]


if __name__ == "__main__":
    main(*sys.argv[1:])
