"""A real Slurm with two nodes of two processors, both of them this machine: Debian's `slurm-wlm` and `munge`, as root.

Nothing of it is outside of one folder: configuration, key, sockets and state, so it harms no Slurm that is here.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

from ray_machines import soon

NODES = ("n1", "n2")
SETTINGS = """
ClusterName=tests
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthInfo=socket={folder}/munge.socket
SlurmctldPort={port}
SlurmctldTimeout=300
SlurmdTimeout=20
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/controller.pid
SlurmdPidFile={folder}/%n.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
JobRequeue=1
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def lacking() -> str:
    """Why there can be none here; empty where there can."""
    if os.geteuid() != 0:
        return "a Slurm of our own needs root"
    missing = [name for name in ("munged", "slurmctld", "slurmd", "sbatch") if shutil.which(name) is None]
    return f"no {', '.join(missing)} here: apt-get install slurm-wlm munge" if missing else ""


class Slurm:
    """The controller and its nodes, until `close`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("state", "log"):
            (folder / name).mkdir(parents=True)
        for path in (folder, *folder.parents):  # munged refuses what strangers may write to
            if path.stat().st_mode & 0o022 and not path.stat().st_mode & 0o1000:
                path.chmod(path.stat().st_mode & ~0o022)
        self._environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}
        ports = _free_ports(1 + len(NODES))
        lines = [SETTINGS.format(host=socket.gethostname(), folder=folder, port=ports[0])]
        node = "NodeName={} NodeHostname={} NodeAddr=127.0.0.1 Port={} CPUs=2 State=UNKNOWN"
        lines += [node.format(name, socket.gethostname(), port) for name, port in zip(NODES, ports[1:], strict=True)]
        (folder / "slurm.conf").write_text("\n".join(reversed(lines)) + "\n")
        key = folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        files = {name: folder / f"munge.{name}" for name in ("socket", "pid", "seed", "log")}
        self._start(
            "munged",
            *("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={files['socket']}"),
            *(f"--pid-file={files['pid']}", f"--seed-file={files['seed']}", f"--log-file={files['log']}"),
        )
        assert soon(files["socket"].exists), self.log("munged")
        self._start("controller", "slurmctld", "-D")
        for name in NODES:
            self._start(name, "slurmd", "-D", "-N", name)
        assert soon(lambda: self.said("sinfo", "-h", "-o", "%T").split() == ["idle"]), self.log("controller")

    def _start(self, name: str, *command: str) -> None:
        with (self.folder / "log" / name).open("ab") as log:
            self._daemons[name] = subprocess.Popen(
                command, env=self._environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    def log(self, name: str) -> str:
        """What a daemon printed."""
        return (self.folder / "log" / name).read_text(errors="replace")

    def said(self, *command: str, **variables: str) -> str:
        """What one of Slurm's commands prints; empty where it fails."""
        done = subprocess.run(command, env={**self._environment, **variables}, capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else ""

    def jobs(self) -> dict[int, tuple[str, str]]:
        """The state of each task of arrays that is not over, and the node that has it."""
        rows = (line.split("|") for line in self.said("squeue", "-r", "-h", "-o", "%K|%T|%N").splitlines())
        return {int(number): (state, node) for number, state, node in rows}

    def go_on(self, job: str) -> None:
        """Spares those that were queued again the two minutes for which Slurm has them wait."""
        for number, (state, _) in self.jobs().items():
            if state == "PENDING":
                self.said("scontrol", "update", f"JobId={job}_{number}", "StartTime=now")

    def lose(self, node: str) -> None:
        """The power of a node fails: its daemon and all that it has started are gone at once."""
        daemon = self._daemons.pop(node)
        for process in (*_descendants_of_jobs(self._environment["SLURM_CONF"], node), daemon.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        daemon.wait()

    def close(self) -> None:
        """Ends everything."""
        self.said("scancel", "--user=root")
        deadline = time.monotonic() + 30
        while self.jobs() and time.monotonic() < deadline:
            time.sleep(0.2)
        for node in NODES:
            if node in self._daemons:
                self.lose(node)
        for daemon in reversed(self._daemons.values()):
            daemon.kill()
            daemon.wait()


def _descendants_of_jobs(settings: str, node: str) -> list[int]:
    """What runs in jobs of that node, and what keeps watch over it, by the variables that Slurm gives them."""
    pids = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            variables = (folder / "environ").read_bytes().split(b"\0")
            line = (folder / "cmdline").read_bytes()
            ours = f"SLURM_CONF={settings}".encode() in variables
            if ours and (f"SLURMD_NODENAME={node}".encode() in variables or line.startswith(b"slurmstepd")):
                if line.startswith(b"slurmstepd") and not _watches(folder, node):
                    continue
                pids.append(int(folder.name))
    return pids


def _watches(folder: Path, node: str) -> bool:
    """Whether a step's daemon is of that node: one of its children says so."""
    for child in (folder / "task" / folder.name / "children").read_text().split():
        with contextlib.suppress(OSError):
            if f"SLURMD_NODENAME={node}".encode() in Path("/proc", child, "environ").read_bytes().split(b"\0"):
                return True
    return False


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [listener.getsockname()[1] for listener in held]
