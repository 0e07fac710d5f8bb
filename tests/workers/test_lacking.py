"""A library that is missing is known behind whatever failed because of it."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys

import pytest

from edit_eval.errors import LoadError
from edit_eval.workers.failures import lacking


def failed(code: str) -> BaseException:
    try:
        exec(code)
    except BaseException as error:
        return error
    raise AssertionError(code)


WRAPPED = "try:\n import no_such_library\nexcept ImportError as e:\n raise {} from e"


@pytest.mark.parametrize(
    ("code", "lacks"),
    [
        ("import no_such_library.deep", "no_such_library"),
        (WRAPPED.format("RuntimeError('Failed to import')"), "no_such_library"),
        (WRAPPED.format("ModuleNotFoundError('vague')"), "no_such_library"),
        ("from json import no_such_name", ""),
        ("raise ImportError('X requires the Y library')", ""),
        ("import edit_eval.no_such_module", ""),
        ("import xml.no_such_part", ""),
    ],
)
def test_what_is_missing(code: str, lacks: str) -> None:
    found = lacking(failed(code))
    assert found["lacks"] == lacks
    assert found["pip"] is (importlib.util.find_spec("pip") is not None)


@pytest.mark.parametrize(
    "code",
    [
        "raise ValueError('x')",
        "try:\n import no_such_library\nexcept ImportError:\n raise OSError('no weights, whatever was tried before')",
    ],
)
def test_other_failures_lack_nothing(code: str) -> None:
    assert lacking(failed(code)) == {}
    assert lacking(LoadError("no server")) == {}


def test_who_cannot_begin_says_it_without_secrets() -> None:
    code = (
        "import os, sys\nfrom edit_eval.workers.failures import tell\n"
        "tell(ModuleNotFoundError('no module of ' + os.environ['MY_KEY'], name='PIL'), int(sys.argv[1]))"
    )
    into, out = os.pipe()
    environment = {**os.environ, "MY_KEY": "CANARY-12345"}
    done = subprocess.run([sys.executable, "-c", code, str(out)], pass_fds=(out,), env=environment)
    os.close(out)
    with os.fdopen(into) as pipe:
        message = json.loads(pipe.read())
    assert done.returncode == 1
    assert (message["event"], message["lacks"]) == ("broken", "PIL")
    assert message["error"] == "ModuleNotFoundError: no module of <MY_KEY>"
    assert "CANARY" not in message["trace"]
