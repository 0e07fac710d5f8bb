"""Starts and ends servers for models: one a replica, on its devices, in an environment of its own.

A server leads a process group of its own: an engine may kill its whole group (SGLang's scheduler can be told to), and
the worker must not be in it. A guard waits in that group, holding the end of a pipe that only the worker has open: it
ends the group when the worker ends, for any reason.

The server at the port must be the one that was started. Between the choice of a free port and the engine's own
binding of it, which takes some engines a minute, another process may have taken it, and may even serve the same model;
so the kernel is asked who owns the port, if it tells (Linux). A port owned by another is left, and a new one is tried.

Standard library only.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import secrets
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from edit_eval.endpoints.engines import HEALTH, MODELS, Route, find_argument
from edit_eval.endpoints.serving import Serve, ServerEnvironment
from edit_eval.errors import LoadError
from edit_eval.privacy import hide_secrets, is_secret_name

HOST = "127.0.0.1"
PORTS = 5
"""Ports to try, if one after the other is taken by others."""
ASK_EVERY, ASK_SECONDS = 0.2, 20.0
"""Pause between two readiness checks, and how long an answer may take: SGLang generates a token for it."""
END_SECONDS = 5.0
"""How long a server may take to end before it is killed."""
LAST_BYTES = 1 << 16
"""Size of a log's tail in which its telling line is looked for."""

HANDED = re.compile(
    "PATH|HOME|USER|LOGNAME|SHELL|HOSTNAME|TERM|TZ|LANG|LANGUAGE|LC_.+|TMP|TEMP|TMPDIR|XDG_.+"  # any program's
    "|(?i:(HTTP|HTTPS|FTP|ALL|NO)_PROXY)|SSL_CERT_(FILE|DIR)|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE"  # the network
    "|LD_.+|DYLD_.+|(LIBRARY|CPLUS_INCLUDE|C_INCLUDE|PKG_CONFIG|MANPATH)_?PATH|CPATH|CC|CXX|C(XX)?FLAGS|LDFLAGS|MAX_JOBS"
    "|NVCC_.+|PYTHON.+|VIRTUAL_ENV|CONDA_.+|UV_CACHE_DIR"  # compilers and environments
    "|(CUDA|CUDNN|NVIDIA|NCCL|NVTE|HIP|HSA|ROCR|ROCM|AMD|MIOPEN|ZE|SYCL|ONEAPI|ASCEND|UCX|GLOO|FI)_.+"  # devices
    "|(OMP|MKL|KMP|GOMP|OPENBLAS|NUMEXPR|MALLOC|TCMALLOC)_.+"  # the processor
    "|(TORCH|PYTORCH|TORCHINDUCTOR|TORCHDYNAMO|TORCHELASTIC|TRITON|INDUCTOR|AOTINDUCTOR|XLA|ACCELERATE)_.+"
    "|(VLLM|SGLANG|SGL|FLASHINFER|FLASH_ATTENTION|XFORMERS|TOKENIZERS|SAFETENSORS|DIFFUSERS|TRANSFORMERS|HF|HUGGINGFACE"
    "|DO_NOT)_.+"  # libraries and engines; DO_NOT_TRACK
)
"""The variables that a server gets; others are named in `pass_env`."""

_TELLING = re.compile(r"(?<![\w.])(?:[\w.]*(?:Error|Exception)|error): .*")
_NOT_TELLING = re.compile(r"root cause|initialization failed|exit code|terminated|Traceback")
"""Messages of parents that only point to the process at fault (vLLM: `Engine core initialization failed. See root cause
above.`)."""
_TAKEN = re.compile(r"address already in use|EADDRINUSE|Errno 98\b|port \d+ is (already in use|not available)", re.I)

# Becomes the server, and leaves a guard in its group that is not its child: some engines count theirs.
GUARDED = f"""import os, signal, sys, time
pipe, mark, program = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
signal.signal(signal.SIGINT, signal.SIG_DFL)
server = os.getpid()
if not os.fork():
    if os.fork():
        os._exit(0)
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    os.dup2(pipe, 0)
    os.closerange(1, 1024)
    os.read(0, 1)
    try:
        os.killpg(server, signal.SIGTERM)
        for _ in range({int(END_SECONDS * 20)}):
            os.kill(server, 0)
            time.sleep(0.05)
    except ProcessLookupError:
        pass
    left = True
    while left:
        left = False
        for pid in filter(str.isdigit, os.listdir("/proc") if os.path.isdir("/proc") else ()):
            try:
                with open("/proc/" + pid + "/environ", "rb") as environ:
                    if mark.encode() in environ.read().split(b"\\0"):
                        os.kill(int(pid), signal.SIGKILL)
                        left = True
            except OSError:
                pass
        time.sleep(0.05)
    os.killpg(server, signal.SIGKILL)
os.wait()
os.close(pipe)
os.environ.update([mark.split("=")])
try:
    os.execvp(program[0], program)
except OSError as error:
    sys.exit(f"error: {{program[0]}}: {{error.strerror}}")
"""

# Does what the engine's own command does; nothing in the current folder is taken for a library.
RUN = """import importlib, sys
sys.path[:] = [folder for folder in sys.path if folder]
module, _, function = sys.argv.pop(1).partition(":")
sys.argv[0] = module.partition(".")[0]
sys.exit(getattr(importlib.import_module(module), function)())
"""

VERSION = "import sys; from importlib import metadata; print(metadata.version(sys.argv[1]))"


def is_handed(name: str) -> bool:
    """True if servers get this variable: programs and their libraries need it, and it is no secret."""
    return bool(HANDED.fullmatch(name)) and not is_secret_name(name)


class _Taken(Exception):
    """The port belongs to another process."""


class Server:
    """One server of a model; ready when `start` returns, gone when `end` does."""

    def __init__(self, serve: Serve, route: Route, model: str, devices: int, environment: ServerEnvironment) -> None:
        """`devices`: its number of GPUs; the process's environment says which."""
        self._serve, self._engine, self._model, self._devices = serve, serve.find_engine(route), model, devices
        self._environment = environment
        self.python = environment.python or sys.executable
        self.port = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe = -1
        self._printing = threading.Thread()
        self._log: IO[bytes] | None = None
        self._log_begin = 0
        self._mark = f"{MARK}={secrets.token_hex(16)}"

    @property
    def base_url(self) -> str:
        """The address for clients."""
        return f"http://{HOST}:{self.port}/v1"

    def start(self) -> None:
        """Starts it and waits until it is ready. Raises `LoadError` with the telling line of its log."""
        deadline = time.monotonic() + self._environment.seconds
        try:
            for _ in range(PORTS):
                self.port = free_port()
                self._begin()
                try:
                    return self._wait(deadline)
                except _Taken:
                    self.end()
            raise LoadError(f"no port for the server ({self._serve.engine}): {PORTS} were taken by other processes")
        except BaseException:
            self.end()
            raise

    def command(self) -> list[str]:
        """Returns the command line that starts it."""
        fields = {"{model}": self._model, "{host}": HOST, "{port}": str(self.port)}
        fields |= {"{devices}": str(self._devices), "{python}": self.python}
        if (row := self._engine) is None:
            return [_fill_placeholders(word, fields) for word in self._serve.command]
        words, own = [_fill_placeholders(word, fields) for word in row.arguments], self._serve.arguments
        if row.devices and self._devices > 1 and find_argument(own, row.devices) is None:
            words += [row.devices[0], str(self._devices)]
        if row.memory and self._serve.memory is not None and find_argument(own, (row.memory,)) is None:
            words += [row.memory, str(self._serve.memory)]
        if self._serve.batch_invariant:
            words += row.invariant
        return [self.python, "-c", RUN, row.entry, *words, *own]

    def about(self) -> dict[str, str]:
        """Returns engine and version, the interpreter, and whether answers should be batch-invariant."""
        if self._engine is None:
            return {"engine": "command"}
        done = subprocess.run([self.python, "-c", VERSION, self._engine.package], capture_output=True, text=True)
        about = {"engine": f"{self._serve.engine} {done.stdout.strip()}".strip(), "interpreter": self.python}
        variables = self._variables()
        by_variable = any(variables.get(name) == value for name, value in self._engine.invariant_variables.items())
        if by_variable or any(find_argument(self.command(), (name,)) is not None for name in self._engine.invariant):
            about["batch_invariant"] = "asked for"
        return about

    def _variables(self) -> dict[str, str]:
        here = os.path.dirname(self.python)  # first on the PATH, as in an activated environment: for its `ninja`
        path = os.pathsep.join(filter(None, (here, os.environ.get("PATH", ""))))
        invariant = self._engine.invariant_variables if self._engine and self._serve.batch_invariant else {}
        if unset := next((name for name in self._serve.pass_env if name not in os.environ), ""):
            raise LoadError(f"`serve.pass_env` names {unset}, which is not set")
        handed = {name: value for name, value in os.environ.items() if is_handed(name) or name in self._serve.pass_env}
        return {**handed, "PATH": path, "PYTHONUNBUFFERED": "1", **invariant}

    def explain_end(self) -> str:
        """Returns why it has ended, with the telling line of its log; empty while it runs."""
        if self._process is None or (code := self._process.poll()) is None:
            return ""
        if code == 0 and is_daemon(self._process.pid, self._mark):
            return ""
        how = f"ended with exit code {code}" if code >= 0 else f"was killed by {_signal(-code)}"
        return f"the server ({self._serve.engine}) {how}{self._quote_log()}"

    def end(self) -> None:
        """Ends it and all its processes, and waits until they are gone and have given their memory back."""
        if self._process is None:
            return
        process, self._process = self._process, None
        pids = list(members(process.pid, self._mark))
        process.terminate()
        for pid in pids if process.poll() is not None else ():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(END_SECONDS)
        for send, who in ((os.killpg, process.pid), *((os.kill, pid) for pid in pids)):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                send(who, signal.SIGKILL)
        deadline = time.monotonic() + 2 * END_SECONDS
        while left := list(members(process.pid, self._mark)):
            for pid in left:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            if time.monotonic() >= deadline:
                break
            time.sleep(0.02)
        os.close(self._pipe)
        self._printing.join(END_SECONDS)
        if self._log is not None and not self._printing.is_alive():
            self._log.close()

    # -- until it is ready --

    def _begin(self) -> None:
        log = self._environment.log
        self._log = open(log, "ab+") if log else tempfile.TemporaryFile()  # noqa: SIM115  (`end` closes it)
        line = self.command()
        self._log.write(hide_secrets(f"$ {shlex.join(line)}\n").encode(errors="surrogateescape"))
        self._log.flush()
        self._log_begin = self._log.tell()
        held, self._pipe = os.pipe()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", GUARDED, str(held), self._mark, *line],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=(held,),
                env=self._variables(),
                start_new_session=True,
            )
        finally:
            os.close(held)
        assert self._process.stdout is not None
        self._printing = threading.Thread(target=_keep, args=(self._process.stdout, self._log), daemon=True)
        self._printing.start()

    def _wait(self, deadline: float) -> None:
        """Waits until it is ready. Raises `LoadError`, and `_Taken` if another process has its port."""
        assert self._process is not None
        missing, before = "", self._environment.moves()
        while True:
            if (now := self._environment.moves()) != before:  # a download that moves does not count
                before, deadline = now, max(deadline, time.monotonic() + self._environment.seconds)
            foreign = has_foreign_listener(self.port, self._process.pid, self._mark)
            if why := self.explain_end():
                raise _Taken if foreign or _TAKEN.search(self._tail()) else LoadError(why)
            if foreign:
                raise _Taken
            missing = self._missing()
            if (
                not missing
                and not has_foreign_listener(self.port, self._process.pid, self._mark)
                and not self.explain_end()
            ):
                return
            if time.monotonic() >= deadline:
                late = f"is not ready after {self._environment.seconds:g} s (`load_timeout`): {missing}"
                raise LoadError(f"the server ({self._serve.engine}) {late}{self._quote_log()}")
            time.sleep(ASK_EVERY)

    def _missing(self) -> str:
        """Returns what it lacks to be ready; empty when it is. Raises `LoadError` if it serves another model."""
        models = MODELS if self._engine is None else self._engine.models
        for path in filter(None, (HEALTH, models)):
            status, body = _get(self.port, path)
            if status != 200:
                return f"{path} answers {status}" if status else f"{path} does not answer"
        if not models:
            return ""
        try:
            names = [str(model["id"]) for model in json.loads(body)["data"]]
        except (ValueError, KeyError, TypeError, RecursionError):
            return f"{models} gives no list"
        if names and self._model not in names:
            raise LoadError(f"the server ({self._serve.engine}) serves {', '.join(names[:5])}, and not {self._model}")
        return "" if names else f"{models} is empty"

    def _tail(self) -> str:
        assert self._log is not None
        assert self._process is not None
        if self._process.poll() is not None:  # its last words may be under way; a child may still hold the pipe
            self._printing.join(1.0)
        size = os.fstat(self._log.fileno()).st_size
        begin = max(self._log_begin, size - LAST_BYTES)
        text = hide_secrets(os.pread(self._log.fileno(), LAST_BYTES, begin).decode(errors="replace"))
        return text if begin == self._log_begin else text.partition("\n")[2]  # it may begin within a secret

    def _quote_log(self) -> str:
        line = telling_line(self._tail())
        kept = f"; more in {self._environment.log}" if self._environment.log else ""
        return f": {line}{kept}" if line else kept


def _keep(printed: IO[bytes], log: IO[bytes]) -> None:
    """Copies a server's output into its log, line by line, without the secrets that we know."""
    with printed:
        while line := printed.readline(LAST_BYTES):
            with contextlib.suppress(OSError, ValueError):  # a full disk must not block it
                log.write(hide_secrets(line.decode(errors="surrogateescape")).encode(errors="surrogateescape"))
                log.flush()


def telling_line(log: str) -> str:
    """Returns the line of a log that says why a server ended: its last error that does not just point to another."""
    lines = [" ".join(line.split()) for line in log.splitlines() if line.strip()]
    errors = [match[0] for line in lines if (match := _TELLING.search(line)) and not _NOT_TELLING.search(line)]
    return (errors or lines or [""])[-1][:300]


def free_port() -> int:
    """Returns a port of the loopback interface that is free now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def _fill_placeholders(word: str, fields: dict[str, str]) -> str:
    return re.sub("|".join(map(re.escape, fields)), lambda match: fields[match[0]], word)


def _signal(number: int) -> str:
    name = signal.Signals(number).name if number in signal.Signals._value2member_map_ else f"signal {number}"
    return name + " (the kernel may have run out of memory)" * (name == "SIGKILL")


def _get(port: int, path: str) -> tuple[int, bytes]:
    """Returns status and body; 0 without an answer. Uses no proxy and follows no redirect."""
    connection = http.client.HTTPConnection(HOST, port, timeout=ASK_SECONDS)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read(1 << 20)
    except (OSError, http.client.HTTPException):
        return 0, b""
    finally:
        connection.close()


def server_devices(devices: Sequence[str]) -> int:
    """Returns the number of GPUs among the devices of a replica."""
    return sum(device.startswith("cuda") for device in devices)


MARK = "EDIT_EVAL_SERVER"
"""The variable that marks the processes of a server."""


def members(leader: int, mark: str) -> Iterator[int]:
    """Yields the living processes of a group, those with the mark in their environment, and their descendants.

    A server that becomes a daemon leaves both its group and its parent, but keeps the mark.
    """
    parents: dict[int, int] = {}
    pids = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent, group = status.read_text(errors="replace").rpartition(")")[2].split()[:3]
        except (OSError, ValueError):
            continue
        if state not in "ZX":
            pid = int(status.parent.name)
            parents[pid] = int(parent)
            pids |= {pid} if int(group) == leader or _is_marked(pid, mark) else set()
    while more := {pid for pid, parent in parents.items() if parent in pids} - pids:
        pids |= more
    yield from pids


def _is_marked(pid: int, mark: str) -> bool:
    if not mark:
        return False
    try:
        return mark.encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:  # another user's, or gone
        return False


def is_daemon(leader: int, mark: str) -> bool:
    """True if a server goes on in the background though the process that was started has ended.

    A process that ends while all are read can be missed together with the one that it has just started, and a daemon
    is started by two that end: so there are three looks.
    """
    return any(_is_marked(pid, mark) for _ in range(3) for pid in members(leader, mark))


def has_foreign_listener(port: int, leader: int, mark: str) -> bool:
    """True if a process outside this group listens at the port of the loopback interface."""
    listening = set(_find_listening_sockets(port))
    if not listening:
        return False
    for pid in members(leader, mark):
        with contextlib.suppress(OSError):
            for descriptor in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    listening.discard(os.readlink(f"/proc/{pid}/fd/{descriptor}"))
    return bool(listening)


def _find_listening_sockets(port: int) -> Iterator[str]:
    """Yields the sockets that listen there, as `/proc/PID/fd` names them."""
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError), open(f"/proc/net/{table}", encoding="ascii") as rows:
            for row in rows:
                columns = row.split()
                address, _, at = columns[1].partition(":")
                is_loopback = not address.strip("0") or address.endswith(("0100007F", "01000000"))
                if columns[3] == "0A" and int(at, 16) == port and is_loopback:
                    yield f"socket:[{columns[9]}]"
