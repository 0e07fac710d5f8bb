"""Processes of `edit-eval` that begin in a moment, since their parent has done the imports.

A command that a test types takes a second of computing for its imports, the report that it draws another one, and a
worker a tenth of one. From `install` on, `subprocess` has them forked by processes that have done these imports: one
for `python -m edit_eval ...` and for what draws, one for workers and a service's openers. What forks such a process
waits for its end, too, and tells its code; a worker dies with its engine as ever. With anything unusual about it (other
interpreters, variables of Python's, limits) a process is started cold, as is all that is asked for within `cold`.
"""

from __future__ import annotations

import atexit
import functools
import gc
import importlib
import inspect
import json
import os
import pkgutil
import resource
import runpy
import select
import socket
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import edit_eval.pictures

IMPORTED = {
    "command": ("pydantic.root_model", "pynvml", "scipy.special"),
    "worker": (
        *(
            "edit_eval.workers.process",
            "edit_eval.workers.probe",
            "edit_eval.plugins.scenes.in_worker.benchmark",
            "edit_eval.plugins.rehearse.in_worker.fake_models",
            "edit_eval.plugins.endpoints.in_worker.chat_endpoint",
        ),
        *(
            "edit_eval.plugins.scenes.in_worker.editor",
            "edit_eval.plugins.scenes.in_worker.judge",
            "edit_eval.plugins.scenes.in_worker.ladder",
        ),
        *("edit_eval.plugins.endpoints.in_worker.image_endpoint", "aiohttp", "edit_eval.plugins.serve.opening"),
    ),
}
DEAR = ("edit_eval.plugins.serve", "edit_eval.plugins.ray.driver", "edit_eval.__main__")
"""Of our own modules, all of which a command has at hand, those that are left to who needs them."""
MODULES = {"edit_eval": "command", "edit_eval.verbs.drawing": "command", "edit_eval.plugins.serve.opening": "worker"}
"""What is started by its name, and by which of the two."""
BESIDE = {"process": 6, "probe": 5}
"""What is started beside a model, a worker or what looks at its environment, and of how many words that is."""
ORDINARY = (-1, None, True, False)
"""The values that those of `Popen`'s arguments mostly have that a fork cannot follow."""
_cold = subprocess.Popen


class Popen(_cold):  # type: ignore[type-arg]
    """A process that is forked where that is possible."""

    _line: socket.socket | None = None
    """To whoever waits for it."""

    def _execute_child(self, *arguments: Any) -> None:
        given = inspect.signature(_cold._execute_child).bind(self, *arguments).arguments  # type: ignore[attr-defined]
        self._line = _asked(given)
        if self._line is None:
            return super()._execute_child(*arguments)
        self.pid = int(self._line.recv(16))
        self._child_created = True
        self._close_pipe_fds(*(given[name] for name in PIPES))  # type: ignore[attr-defined]

    def _internal_poll(self, *arguments: Any, **named: Any) -> int | None:
        if self._line is None:
            return super()._internal_poll(*arguments, **named)
        if self.returncode is None and select.select([self._line], [], [], 0)[0]:
            code, _, seconds = self._line.recv(32).decode().partition(" ")
            self.returncode = int(code or -9)
            self._line.close()
            _spent.append(float(seconds or 0))
        return self.returncode

    def _wait(self, timeout: float | None) -> int:
        if self._line is None:
            return super()._wait(timeout)
        if self.returncode is None:
            select.select([self._line], [], [], timeout)
            if self._internal_poll() is None:
                raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        return self.returncode


PIPES = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")


class Forking(NamedTuple):
    """A process that forks: its address, and what it took from its environment."""

    address: str
    surroundings: list[Any]
    process: Any = None


_forking: dict[str, Forking] = {}
"""By kind; in a process that was forked, those that its own tests have."""
_is_cold: set[str] = set()
_spent: list[float] = []
"""Of each process that was forked for this one and has ended, the processor seconds."""
_beside: set[str] = set()
"""Values of `PYTHONPATH` that what is forked may take on."""


def install(kind: str = "command") -> None:
    """Has `subprocess` start processes so from now on; `kind`: what this process is or forks."""
    subprocess.Popen = Popen
    if kind == "command":
        _english_made_once()


def begin() -> None:
    """Starts what forks, so that it has begun when it is first needed: by any process that is forked from this one."""
    for kind in IMPORTED:
        if kind not in _forking:
            _forking[kind] = _started(kind)


def prepare(kind: str = "command") -> None:
    """Imports what processes of a kind need, which for commands is all of ours that is not dear, and makes what is made
    once in each: by what is to be forked."""
    own = (module.name for module in pkgutil.walk_packages(edit_eval.__path__, "edit_eval.") if kind == "command")
    for module in (*IMPORTED[kind], *(name for name in own if not name.startswith(DEAR))):
        with suppress(ImportError):
            importlib.import_module(module)
    edit_eval.pictures.formats()
    if kind == "command":
        _compile_templates()
        _make_command()


def read_texts() -> None:
    """Reads the texts of the source once for all tests that look at them."""
    importlib.import_module("source_texts").templates()


def spent() -> float:
    """Returns the processor seconds of this process, and of those that it started and that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used) + sum(_spent)


@contextmanager
def cold(*kinds: str) -> Iterator[None]:
    """For tests of how a process begins or ends: processes of these kinds are started as a user's are."""
    before = {*_is_cold}
    _is_cold.update(kinds)
    try:
        yield
    finally:
        _is_cold.clear()
        _is_cold.update(before)


@contextmanager
def packages_in(folder: Path) -> Iterator[None]:
    """For tests of packages that nothing has imported yet: what has this alone as `PYTHONPATH` is forked, too."""
    _beside.add(str(folder))
    try:
        yield
    finally:
        _beside.discard(str(folder))


def _english_made_once() -> None:
    """The command line with all its verbs is made anew only where its help is to be Chinese."""
    import typer

    from edit_eval.reporting.language import current_language

    made = typer.main.get_command
    english = functools.cache(made)
    typer.main.get_command = lambda app: (made if current_language() == "zh" else english)(app)


def freeze() -> None:
    """Gives up looking for garbage among all that is there."""
    gc.freeze()
    gc.get_freeze_count = lambda: 1  # to count a million objects takes 20 ms, and a run asks a dozen times


def _asked(given: dict[str, Any]) -> socket.socket | None:
    """The line to a process that is forked and runs, if it can be."""
    unusual = ("executable", "preexec_fn", "shell", "gid", "gids", "uid", "umask", "process_group")
    kind, words = _kind_and_words(given["args"], given["pass_fds"])
    if not kind or kind in _is_cold or any(given[name] not in ORDINARY for name in unusual):
        return None
    environment = {**os.environ} if given["env"] is None else {**given["env"]}
    if not all(isinstance(word, str) for word in (*environment, *environment.values(), *words)):
        return None
    forking = _forking.get(kind) or _forking.setdefault(kind, _started(kind))
    if _surroundings(environment) != forking.surroundings:
        return None
    folder = os.path.abspath(os.fspath(given["cwd"] or ""))
    os.umask(mask := os.umask(0))
    told = [words, folder, environment, given["start_new_session"], list(given["pass_fds"]), sorted(_is_cold), mask]
    told.append(sorted(_beside))
    streams = [given["p2cread"], given["c2pwrite"], given["errwrite"]]
    line = _line_to(forking.address)
    try:
        passed = [own if stream == -1 else stream for own, stream in enumerate(streams)] + list(given["pass_fds"])
        socket.send_fds(line, [json.dumps(told).encode()], passed)
    except OSError:  # a stream that is closed, or more than fits
        line.close()
        return None
    return line


def _line_to(address: str) -> socket.socket:
    """A line to what forks, which may still have to begin."""
    for _ in range(1200):
        line = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with suppress(ConnectionRefusedError):
            line.connect(address)
            return line
        line.close()
        time.sleep(0.05)
    raise AssertionError("what forks processes does not begin")


def _kind_and_words(typed: Any, passed: Any) -> tuple[str, list[Any]]:
    """What kind of process it is, and its arguments; no kind where it is none of ours."""
    words = [typed] if isinstance(typed, str | bytes | os.PathLike) else [os.fspath(word) for word in typed]
    if passed and words[:2] == [sys.executable, "-c"]:
        begins = any(len(words) == count and f"edit_eval.workers.{name}" in words[2] for name, count in BESIDE.items())
        return ("worker", words[2:]) if begins else ("", [])
    own = [*words[:1], *words[2:]] if words[1:2] == ["-P"] else words
    return (MODULES.get(own[2], ""), own[2:]) if own[:2] == [sys.executable, "-m"] else ("", [])


def _surroundings(environment: dict[str, str]) -> list[Any]:
    """What an interpreter takes from its environment as it begins, so that a fork would miss it."""
    names = [name for name in environment if name.startswith(("PYTHON", "LC_", "LANG", "OMP_", "OPENBLAS_"))]
    if environment.get("PYTHONPATH") in _beside:
        names.remove("PYTHONPATH")
    limits = (resource.RLIMIT_AS, resource.RLIMIT_DATA, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE)
    return [{name: environment[name] for name in sorted(names)}, [list(resource.getrlimit(limit)) for limit in limits]]


def _started(kind: str) -> Forking:
    if kind == "command" and "worker" not in _forking:
        _forking["worker"] = _started("worker")  # which commands start
    address = f"\0edit-eval-{kind}-{os.getpid()}-{time.monotonic_ns()}"
    others = json.dumps({name: [forking.address, forking.surroundings] for name, forking in _forking.items()})
    words = [sys.executable, "-P", __file__, kind, address[1:], others]
    process = _cold(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True)
    return Forking(address, _surroundings(dict(os.environ)), process)


# -- in the process that forks --


def _forked(address: str, kind: str) -> list[str]:
    """Forks for whoever asks; returns the words in each process that is to run them, and in no other."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listening.bind(address)
    listening.listen(64)
    while True:
        if sys.stdin in select.select([listening, sys.stdin], [], [])[0]:
            os._exit(0)  # the tests have ended
        line, _ = listening.accept()
        if not os.fork():
            break
        line.close()
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
    listening.close()
    told, passed, _, _ = socket.recv_fds(line, 1 << 20, 8)
    words, folder, environment, alone, places, cold_ones, mask, beside = json.loads(told)
    child = os.fork()
    if child:
        os.closerange(0, line.fileno())
        os.closerange(line.fileno() + 1, 256)
        _wait_for(child, line, kind)
    if alone:
        os.setsid()
    os.umask(mask)
    # First out of the way of where they are to be, which may be high: a test may have many files open.
    above = max([199, *places]) + 1
    high = [os.dup2(stream, above + place) for place, stream in enumerate(passed)]
    line = socket.socket(fileno=os.dup2(line.detach(), above + len(passed)))
    os.closerange(3, above)
    for place, stream in zip((0, 1, 2, *places), high, strict=True):
        os.dup2(stream, place)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    _is_cold.update(cold_ones)
    _beside.update(beside)
    if (packages := environment.get("PYTHONPATH")) in _beside:
        sys.path.insert(0, str(packages))
    line.sendall(b"%d" % os.getpid())
    line.close()
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        old = getattr(sys, name)
        new: Any = open(old.fileno(), mode, encoding=old.encoding, errors=old.errors, closefd=False)  # noqa: SIM115
        new.reconfigure(line_buffering=name == "stderr" or new.isatty(), write_through=old.write_through)
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)
    return [str(word) for word in words]


@contextmanager
def _soon_ended() -> Iterator[None]:
    """What ends well ends without taking apart, module by module, what it has from its parent: a copy of all of it."""
    code: Any = 0
    try:
        yield
    except SystemExit as ended:
        code = ended.code
    if isinstance(code, int | None):
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        with suppress(OSError):  # of a pipe that nobody reads any more: the interpreter says so in its own way
            for stream in (sys.stdout, sys.stderr):
                if not stream.closed:
                    stream.flush()
            os._exit(code or 0)
    sys.exit(code)


def _wait_for(child: int, line: socket.socket, kind: str) -> None:
    """Waits for its end and tells its code. A worker is to die with its engine, as its parent here does."""
    end = os.pidfd_open(child)
    if line in select.select([line, end], [], [])[0] and kind == "worker":
        os._exit(0)
    _, status, used = os.wait4(child, 0)
    with suppress(OSError):
        line.sendall(b"%d %.3f" % (os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime))
    os._exit(0)


def _compile_templates() -> None:
    from reporting.reported_runs import build_run
    from reporting.reports import report_on

    with tempfile.TemporaryDirectory() as drawn:
        report_on(build_run(Path(drawn), samples=1, size=(8, 8)))


def _make_command() -> None:
    """And what the first evaluation of a process makes for all others: both are the same for each."""
    from edit_eval.asking import load_samples, make_experiment
    from edit_eval.config.loading import load_configuration
    from edit_eval.execution.layout import _versions
    from edit_eval.verbs.command_line import app, command_of
    from small_benchmark import configuration, write_benchmark

    command_of(app, ())
    _versions()
    with tempfile.TemporaryDirectory() as folder:
        write_benchmark(Path(folder), 1)
        asked = load_configuration(configuration(Path(folder)))
        make_experiment(asked, load_samples(asked))


if __name__ == "__main__":
    KIND, ADDRESS, OTHERS = sys.argv[1], "\0" + sys.argv[2], json.loads(sys.argv[3])
    install(KIND)
    if KIND == "command":
        sys.path.append(str(Path(__file__).parent))
    prepare(KIND)
    freeze()
    _forking.update({name: Forking(*about) for name, about in OTHERS.items()})
    _forking[KIND] = Forking(ADDRESS, _surroundings(dict(os.environ)))
    WORDS = _forked(ADDRESS, KIND)
    with _soon_ended():
        if WORDS[0] not in MODULES:
            sys.argv = ["-c", *WORDS[1:]]
            sys.path.insert(0, "")
            exec(WORDS[0], {"__name__": "__main__"})
        else:
            MODULE, *sys.argv[1:] = WORDS
            sys.argv[0] = str(Path(sys.modules["edit_eval"].__file__ or "").with_name(f"{MODULE}.py"))
            if MODULE == "edit_eval":
                sys.path.insert(0, os.getcwd())
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # that the module has been imported
                runpy.run_module(MODULE, run_name="__main__", alter_sys=True)
