"""How long a worker lives: as long as its engine, and what its model has started no longer than the worker.

A worker whose engine is gone would learn it from the end of its pipe, but not while its model is deaf in C code, or
while it is stopped. So Linux is asked to kill it. A process that is killed can tidy nothing up, and its children (the
readers of a data loader, a server) would stay and keep their GPU; so a second process, which does nothing else, waits
for the worker's end and then kills all that is left of its process group.
"""

from __future__ import annotations

import ctypes
import os
import signal
from types import FrameType

_PR_SET_PDEATHSIG = 1  # <linux/prctl.h>


def bind_to_engine() -> None:
    """Ties this process to the one that started it. To be called first, while there is only one thread.

    SIGINT and SIGTERM are the engine's affair from here on: a terminal, Slurm and systemd send them to everybody at
    once, and what is under way is to be finished. Children of the model's own take them as ever.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _leave_sigterm_to_the_engine()
    if os.getpgrp() == os.getpid():  # its group is its own, and not that of a shell
        _leave_somebody_behind()
    _when_the_parent_dies(signal.SIGKILL)


def _leave_sigterm_to_the_engine() -> None:
    """Has SIGTERM do nothing here. Were it ignored, every program that the model starts would ignore it, too."""

    def nothing(number: int, frame: FrameType | None) -> None: ...

    def as_ever() -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        let_in()

    def let_in() -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})

    def hold_back() -> None:  # one that is sent to a fork before it is itself would be lost
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})

    signal.signal(signal.SIGTERM, nothing)
    os.register_at_fork(before=hold_back, after_in_parent=let_in, after_in_child=as_ever)


def _when_the_parent_dies(number: int) -> bool:
    """Asks Linux to send this process a signal when its parent dies; tells whether it will."""
    try:
        return bool(ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number) == 0)
    except (OSError, AttributeError):
        return False  # not Linux: the end of the pipe has to do


def _leave_somebody_behind() -> None:
    """Starts the process that waits for the end of this one and then kills its group, and itself with it."""
    worker = os.getpid()
    if os.fork():
        return
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        os.closerange(0, 1024)  # it keeps no pipe and no log open
        if _when_the_parent_dies(signal.SIGTERM):
            while os.getppid() == worker:
                signal.sigwait({signal.SIGTERM})
            os.killpg(worker, signal.SIGKILL)
    finally:
        os._exit(0)
