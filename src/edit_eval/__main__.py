"""Entry point of the command line: `edit-eval`, and `python -m edit_eval`.

Only the standard library is imported until it is known that the rest can be. Trying it instead would not do: if
OpenBLAS, which comes with numpy and scipy, gets too little memory, it ends the process with exit code 1, sends it a
Ctrl-C, or waits forever for threads that never began.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from importlib import import_module

from edit_eval.errors import ExitCode
from edit_eval.text import Text

NEEDED = 448 << 20
"""Bytes of address space: all imports of a command take 350 MB with one thread, of which the interpreter has 13."""
ENOUGH = 16 << 30
"""Bytes that also suffice with a thread for each of 128 processors: a thread takes 40 MB in each library."""


def main() -> None:
    """Runs the command line and ends the process with the right exit code."""
    allowed = _find_memory_limit()
    if allowed < NEEDED:
        text: str = Text(
            "error: `ulimit -v` leaves this process {} MB of memory, and edit-eval needs {}: "
            "raise it, as in `ulimit -v unlimited`",
            allowed >> 20,
            NEEDED >> 20,
        )
        with contextlib.suppress(Exception):  # the translation needs memory, too
            text = import_module("edit_eval.reporting.language").said(text)
        print(text, file=sys.stderr)
        sys.exit(ExitCode.STOPPED)
    if allowed < ENOUGH:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    gc.set_threshold(20_000)  # what is imported is never garbage; at 700 it is searched a hundred times
    import_module("edit_eval.cli").main()


def _find_memory_limit() -> int:
    """Returns the bytes that this process may have (`ulimit -v` and `-d`); `ENOUGH` if there is no limit."""
    try:
        import resource
    except ImportError:
        return ENOUGH
    soft = (resource.getrlimit(of)[0] for of in (resource.RLIMIT_AS, resource.RLIMIT_DATA))
    return min((each for each in soft if each != resource.RLIM_INFINITY), default=ENOUGH)


if __name__ == "__main__":
    main()
