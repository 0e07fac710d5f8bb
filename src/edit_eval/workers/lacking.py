"""A library that is missing: known by whatever failed because of it, and told before anything else of ours is needed.

Standard library only: Pillow may be what is missing.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import traceback
from typing import Any, NoReturn

from edit_eval.privacy import hide_secrets
from edit_eval.workers.messages import encode, write_all


def lacking(error: BaseException) -> dict[str, Any]:
    """What a message says of an import that failed: `lacks`, a library, and whether there is a `pip` to install it.

    `lacks` is empty where an import failed otherwise, in a library that is another version than it should be or for a
    part of Python itself. The dict is empty where no import failed. An exception is believed that was raised `from` a
    failed import, since libraries wrap them; one that only came after is not: it may be another way of doing without.
    """
    failed: ImportError | None = None
    one: BaseException | None = error
    for _ in range(20):
        if isinstance(one, ImportError):
            failed = one
        one = one.__cause__ if one is not None else None
    if failed is None:
        return {}
    name = (failed.name or "").partition(".")[0] if isinstance(failed, ModuleNotFoundError) else ""
    ours = name == "edit_eval" or name in sys.stdlib_module_names
    return {"lacks": "" if ours else name, "pip": importlib.util.find_spec("pip") is not None}


def tell(error: ImportError, pipe_out: int) -> NoReturn:
    """Says for a worker that cannot even begin what is missing, and ends the process."""
    text = hide_secrets(f"{type(error).__name__}: {error}")
    trace = hide_secrets("".join(traceback.format_exception(type(error), error, error.__traceback__)))
    what = {"kind": "exception", **lacking(error)}
    write_all(pipe_out, encode({"event": "broken", "error": text, "trace": trace, **what}))
    os._exit(1)
