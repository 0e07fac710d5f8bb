"""A module that a worker cannot import: it dies there as the environment variable FAIL_AS says."""

from __future__ import annotations

import os
import sys

from faults.faulty_models import Plain, segfault

if any("edit_eval.workers.process" in argument for argument in sys.orig_argv):
    how = os.environ.get("FAIL_AS", "")
    if how == "segfault":
        segfault()
    elif how == "exit":
        sys.exit("no licence server")
    elif how == "quit":
        os._exit(0)
    elif how == "raise":
        raise ImportError("libcudart.so.99: cannot open shared object file")


class Model(Plain):
    """Whole, where it can be imported."""
