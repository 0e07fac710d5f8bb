"""Ctrl-C and SIGTERM are wishes, asked for between two events; outside of the block all is as before."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable

import pytest

from edit_eval.execution.engine.interruption import GRACE_SECONDS, Interruption


def send(number: signal.Signals) -> None:
    """To this very process, as a terminal or a cluster does."""
    os.kill(os.getpid(), number)
    time.sleep(0.001)  # Python runs the handler between two of its own steps


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Moves the time that the interruption sees."""
    real, ahead = time.monotonic, [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: real() + ahead[0])

    def advance(seconds: float) -> None:
        ahead[0] += seconds

    return advance


def test_nobody_wants_the_end() -> None:
    with Interruption() as wanted:
        assert wanted() == ""
        assert wanted.signal is None


def test_the_first_control_c_finishes_what_is_under_way_the_second_stops_at_once(
    clock: Callable[[float], None],
) -> None:
    with Interruption() as wanted:
        send(signal.SIGINT)
        assert (wanted(), wanted.signal) == ("drain", signal.SIGINT)
        clock(3600)
        assert wanted() == "drain", "who presses it once waits as long as it takes"
        send(signal.SIGINT)
        assert wanted() == "now"


def test_sigterm_is_given_up_after_its_grace(clock: Callable[[float], None]) -> None:
    with Interruption() as wanted:
        send(signal.SIGTERM)
        assert (wanted(), wanted.signal) == ("drain", signal.SIGTERM)
        clock(GRACE_SECONDS - 1)
        assert wanted() == "drain"
        clock(2)
        assert wanted() == "now"


@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
def test_two_of_any_kind_are_at_once_and_the_first_decides_the_exit_code(second: signal.Signals) -> None:
    with Interruption() as wanted:
        send(signal.SIGTERM)
        send(second)
        assert (wanted(), wanted.signal) == ("now", signal.SIGTERM)


def test_the_handlers_from_before_come_back_even_after_an_error() -> None:
    def mine(number: int, frame: object) -> None: ...

    before, control_c = signal.signal(signal.SIGTERM, mine), signal.getsignal(signal.SIGINT)

    def fail() -> None:
        with Interruption():
            assert signal.getsignal(signal.SIGTERM) is not mine
            raise KeyError

    try:
        with pytest.raises(KeyError):
            fail()
        assert signal.getsignal(signal.SIGTERM) is mine
        assert signal.getsignal(signal.SIGINT) is control_c
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_handler_that_python_did_not_set_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a program in which Python is embedded."""
    real = signal.signal
    monkeypatch.setattr(signal, "signal", lambda number, handler: real(number, handler) and None)
    with Interruption():
        pass
    monkeypatch.undo()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    real(signal.SIGINT, signal.default_int_handler)


def test_outside_of_the_main_thread_there_is_nothing_to_hear() -> None:
    seen: list[str] = []

    def run() -> None:
        with Interruption() as wanted:
            seen.append(wanted())

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [""]
    assert signal.getsignal(signal.SIGINT) is before
