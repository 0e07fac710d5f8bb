"""Ten faults, one a room, each planted into a copy of the package: do the tests of that room in `make test` find it?

    .venv/bin/python bench/planted_faults.py [ROOM...]

Prints for each whether it was found, by how many tests, and in how many seconds. Exits with 1 if one was not.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]


class Fault(NamedTuple):
    """What is written in place of what, and which tests look there."""

    what: str
    file: str
    right: str
    wrong: str
    tests: str


FAULTS = {
    "engine": Fault(
        "a request that nobody can judge is the request's own fault",
        "execution/engine/blame.py",
        'return "request" if canary == "answered" or others_succeed else "unclear"',
        'return "request"',
        "tests/execution/engine",
    ),
    "prices": Fault(
        "max_cost with a judge whose price is not known",
        "execution/prices.py",
        'if elsewhere and f"judge:{section.name}" not in priced:',
        "if False:",
        "tests/execution/test_prices.py",
    ),
    "files": Fault(
        "an edit is matched to a sample that another edit fits as well",
        "files/matching.py",
        "if len(its) == 1 and fitted[its[0]] == [mine]}",
        "if len(its) == 1}",
        "tests/files tests/edit_models",
    ),
    "store": Fault(
        "an edit counts though its picture is gone",
        "store/recall.py",
        "for key, edit in made.items() if is_there(edit, folder)}",
        "for key, edit in made.items()}",
        "tests/store tests/test_going_on.py",
    ),
    "protocols": Fault(
        "a reply that failed is worth 0",
        "protocols/judging.py",
        "        raise Missing(reading.status, reading.reason)\n",
        "        return 0.0\n",
        "tests/protocols",
    ),
    "statistics": Fault(
        "an interval of few images as if they were many",
        "statistics/intervals.py",
        "    reach = student_quantile(0.5 + confidence / 2, freedom)\n",
        "    reach = normal_quantile(0.5 + confidence / 2)\n",
        "tests/statistics/test_intervals.py tests/statistics/test_as_statsmodels.py",
    ),
    "scheduling": Fault(
        "a task goes back to the replica on which it failed",
        "scheduling/queues.py",
        "            if self._may_try(replica.index, task):\n",
        "            if True:\n",
        "tests/scheduling",
    ),
    "configuration": Fault(
        "a model's weights are in no key where a server has them",
        "config/identity.py",
        "parameters, section.seed, _serves(section.parameters))",
        'parameters, section.seed, "")',
        "tests/config tests/store",
    ),
    "pictures": Fault(
        "a photo lies on its side",
        "pictures.py",
        "_ROTATIONS.get(picture.getexif().get(_ORIENTATION, 1))",
        "_ROTATIONS.get(1)",
        "tests/test_pictures.py",
    ),
    "reporting": Fault(
        "the verdict names the loser",
        "reporting/verdict.py",
        'words = Text("{} is better than {}, by {}", first, nearest.other,',
        'words = Text("{} is better than {}, by {}", nearest.other, first,',
        "tests/reporting/test_verdict.py",
    ),
}


def plant(fault: Fault) -> tuple[int, float]:
    """Returns how many tests have found a fault that is planted in a copy, and in how many seconds."""
    with tempfile.TemporaryDirectory() as folder:
        package = Path(shutil.copytree(ROOT / "src" / "edit_eval", Path(folder) / "edit_eval"))
        source = (package / fault.file).read_text("utf-8")
        if source.count(fault.right) != 1:
            sys.exit(f"{fault.file}: {fault.right!r} stands there {source.count(fault.right)} times, not once")
        (package / fault.file).write_text(source.replace(fault.right, fault.wrong), "utf-8")
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", *fault.tests.split()],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": folder},
            capture_output=True,
            text=True,
        )
        return len(re.findall("^FAILED|^ERROR", done.stdout, re.M)), time.monotonic() - began


def main() -> None:
    """Plants those that are named, or all."""
    missed = 0
    for room in sys.argv[1:] or FAULTS:
        failed, seconds = plant(FAULTS[room])
        missed += not failed
        print(
            f"{room}: {FAULTS[room].what}: {f'found by {failed}' if failed else 'NOT FOUND'}, {seconds:.0f} s",
            flush=True,
        )
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
