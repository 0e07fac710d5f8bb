"""Files of tests side by side: collected once, then run by processes that are forked from the one that collected them.

To collect ten thousand tests takes as long as a thousand of them take to run, and a fork has all of it at hand.
"""

from __future__ import annotations

import os
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, pairwise
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any, NoReturn

import pytest
from _pytest.config import create_terminal_writer

Items = list[pytest.Item]


class Process:
    """One of those that run tests, as who forked it sees it."""

    def __init__(self, session: pytest.Session, number: int, files: Sequence[Items], waiting: list[deque[int]]) -> None:
        """`waiting`: where it gets its files from, by their places in `files`, the first before the others."""
        self.waiting = waiting
        self.at = ""
        """The test that it runs."""
        self.line, theirs = Pipe()
        self.pid = os.fork()
        if not self.pid:
            self.line.close()
            _run(session, number, files, theirs)
        theirs.close()


def run(session: pytest.Session, processes: int, group_of: Callable[[Items], str]) -> None:
    """Runs what was collected. Files of one group (`""`: of none) share what is made once in a process: each group has
    a process of its own, which goes on with files of none. What is left in the end is for all, but for the group
    `torch`, which takes too much memory for two."""
    assert threading.active_count() == 1, threading.enumerate()  # what a thread holds is held for ever in a fork
    files = [[*items] for _, items in groupby(session.items, lambda item: item.path)]
    groups: dict[str, deque[int]] = {"": deque()}
    for number, some in enumerate(files):
        groups.setdefault(group_of(some), deque()).append(number)
    torch = [groups.pop("torch")] if "torch" in groups else []
    own = [*torch, *(queue for name, queue in groups.items() if name)]
    waiting = [[*own[n : n + 1], *groups.values()] for n in range(min(processes, len(files)))]
    items = {item.nodeid: item for item in session.items}
    started: dict[Connection, Process] = {}
    try:
        for number, some in enumerate(waiting):
            process = Process(session, number, files, some)
            started[process.line] = process
        at_work = {*started}
        while at_work:
            for line in wait([*at_work]):
                assert isinstance(line, Connection)
                if not _heed(session, started[line], items):
                    at_work.discard(line)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)
    finally:
        for process in started.values():
            process.line.close()
            if process.at:
                os.kill(process.pid, signal.SIGKILL)
            os.waitpid(process.pid, 0)


def _heed(session: pytest.Session, process: Process, items: dict[str, pytest.Item]) -> bool:
    """Does what a process asks, and tells what it tells; returns whether it goes on."""
    hook = session.config.hook
    try:
        what, about = process.line.recv()
    except (EOFError, OSError):
        what, about = "broken", "it has ended without a word"
    if what == "next":
        stop = session.shouldfail or session.shouldstop
        places = None if stop else next((some for some in process.waiting if some), None)
        process.line.send(None if places is None else places.popleft())
    elif what == "start":
        process.at = about
        hook.pytest_runtest_logstart(nodeid=about, location=items[about].location)
    elif what == "report":
        report = hook.pytest_report_from_serializable(config=session.config, data=about)
        items[report.nodeid].ihook.pytest_runtest_logreport(report=report)
    elif what == "broken":
        last = process.at or session.items[0].nodeid
        said = f"a process of tests is broken, {last} was its last: {about}"
        hook.pytest_runtest_logreport(
            report=pytest.TestReport(last, items[last].location, {}, "failed", said, "teardown")
        )
        session.shouldfail = said
    else:
        process.at = ""
    return what in ("next", "start", "report")


# -- in a process that was forked --


class Telling:
    """Tells who forked this process how each test begins and ends."""

    def __init__(self, session: pytest.Session, line: Connection) -> None:
        self.config, self.line = session.config, line

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.line.send(("start", nodeid))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self.config.hook.pytest_report_to_serializable(config=self.config, report=report)
        self.line.send(("report", data))


def _run(session: pytest.Session, number: int, files: Sequence[Items], line: Connection) -> NoReturn:
    try:
        _separate(session, number)
        session.config.pluginmanager.register(Telling(session, line))
        for item, after in pairwise(_given(line, files)):
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            if session.shouldfail or session.shouldstop:
                break
        session._setupstate.teardown_exact(None)
        line.send(("done", None))
    except KeyboardInterrupt:
        pass
    except BaseException:
        line.send(("broken", traceback.format_exc()))
    finally:
        os._exit(0)


def _separate(session: pytest.Session, number: int) -> None:
    """Gives this process what its parent and the others have for themselves: a terminal, streams, a folder."""
    config, plugins = session.config, session.config.pluginmanager
    reporter: Any = plugins.getplugin("terminalreporter")
    reporter._tw = create_terminal_writer(config, open(os.devnull, "w"))  # noqa: SIM115
    capture: Any = plugins.getplugin("capturemanager")
    capture.stop_global_capturing()
    capture.start_global_capturing()
    factory: Any = config._tmp_path_factory  # type: ignore[attr-defined]
    factory._basetemp = factory.getbasetemp() / f"process-{number}"
    factory._basetemp.mkdir()


def _given(line: Connection, files: Sequence[Items]) -> Iterator[pytest.Item | None]:
    """Yields what this process is to run. The next file is known before the last test of one, which tidies up, runs."""
    while True:
        line.send(("next", None))
        place = line.recv()
        if place is None:
            yield None
            return
        yield from files[place]
