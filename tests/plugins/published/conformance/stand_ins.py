"""What their scripts get in place of servers, models and packages, and what is made of how they end."""

from __future__ import annotations

import contextlib
import io
import math
import os
import random
import sys
import time
import types
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

STOPS, GUESSES, GUESS = "stops", "guesses", 5
ENDLESS = 40
"""Questions about one edit after which a script that asks again is taken to ask for ever."""
Numbers = dict[str, float | str | None]


class Endless(BaseException):
    """A script would ask for ever; not an `Exception`, so that none of theirs catches it."""


class Guessed(BaseException):
    """A script draws a random number."""


def stub(name: str, **members: Any) -> Any:
    """Returns a module of which every name exists."""
    module = types.ModuleType(name)
    module.__dict__.update(members)
    module.__path__ = []
    module.__getattr__ = lambda member: Anything if not member.startswith("__") else raising(AttributeError(member))
    return module


def raising(error: BaseException) -> Any:
    raise error


class Anything:
    def __init__(self, *values: Any, **named: Any) -> None:
        pass

    def __call__(self, *values: Any, **named: Any) -> Any:
        return values[0] if values and callable(values[0]) else Anything()

    def __getattr__(self, name: str) -> Any:
        return Anything()


@contextlib.contextmanager
def theirs(path: Path, *, argv: tuple[str, ...] = (), **stubs: Any) -> Iterator[None]:
    """Puts their folder on the path, and stubs for what they import; afterwards all is as before."""
    modules, before, place = dict(sys.modules), list(sys.path), os.getcwd()
    arguments, sleep = sys.argv, time.sleep
    sys.path.insert(0, str(path))
    sys.modules.update({name.replace("__", "."): module for name, module in stubs.items()})
    sys.argv = ["theirs", *argv]
    time.sleep = lambda seconds: None
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        sys.path[:], sys.argv, time.sleep = before, arguments, sleep
        os.chdir(place)
        for name in [name for name, module in sys.modules.items() if name not in modules and _is_theirs(module, path)]:
            del sys.modules[name]
        sys.modules.update(modules)


def _is_theirs(module: Any, path: Path) -> bool:
    """True for a module of theirs or a stub: what they import of others is not loaded twice."""
    file = vars(module).get("__file__")
    return (file is None and "__getattr__" in vars(module)) or str(file).startswith(str(path))


@contextlib.contextmanager
def guesses(number: int | None) -> Iterator[None]:
    """Makes their guesses this number; None raises `Guessed`."""
    real = random.randint
    random.randint = lambda low, high: raising(Guessed()) if number is None else number
    try:
        yield
    finally:
        random.randint = real


def number(value: Any) -> float | str:
    """Returns a number as the row keeps it; `STOPS` for one that is none."""
    figure = float(value)
    return figure if math.isfinite(figure) else STOPS


def numbers_of(names: list[str], of: Callable[[], Mapping[str, Any]]) -> Numbers:
    """Returns what a script comes to by name; all `STOPS` if it ends with an error, but for a package that is not
    here: that says nothing of the script."""
    try:
        numbers = of()
    except ImportError:
        raise
    except (Exception, Endless, SystemExit):
        return dict.fromkeys(names, STOPS)
    return {name: number(numbers[name]) if name in numbers and numbers[name] is not None else STOPS for name in names}


class Counted:
    """Counts how often something is asked."""

    def __init__(self) -> None:
        self.asked: dict[str, int] = {}

    def __call__(self, key: str) -> int:
        self.asked[key] = self.asked.get(key, 0) + 1
        if self.asked[key] > ENDLESS:
            raise Endless
        return self.asked[key]


def with_guesses(names: list[str], run: Callable[[int | None], Mapping[str, Any]]) -> Numbers:
    """Returns what a script comes to; where it guesses, also with each guess `GUESS`."""
    try:
        return numbers_of(names, lambda: run(None))
    except Guessed:
        numbers = numbers_of(names, lambda: run(GUESS))
        return {name: GUESSES if value != STOPS else STOPS for name, value in numbers.items()} | {
            f"guessed {name}": value for name, value in numbers.items() if value != STOPS
        }
