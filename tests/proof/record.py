"""Records what the cases come to: `python tests/proof/record.py [CASE...]`; without a name all of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from secrets import token_hex

TESTS = Path(__file__).resolve().parents[1]
sys.path[:] = [
    str(TESTS),
    *(path for path in sys.path if Path(path or ".").resolve() != Path(__file__).resolve().parent),
]

import registered_here  # noqa: E402
from proof.cases import CASES  # noqa: E402
from proof.written import without_repetition, written  # noqa: E402

RECORDED = Path(__file__).with_name("recorded")
KEPT = ("PATH", "PYTHONHASHSEED", "LD_LIBRARY_PATH", "TMPDIR", "VIRTUAL_ENV")
"""What a case sees of the environment; the rest is the same for all."""


def came_to(name: str, scratch: Path) -> str:
    """The YAML of a case that is run now, in a process of its own and an empty folder in `scratch`."""
    for made in ("here", "home", "cache", "streams"):
        (scratch / made).mkdir(parents=True)
    environment = {
        **{key: os.environ[key] for key in KEPT if key in os.environ},
        "HOME": str(scratch / "home"),
        "XDG_CACHE_HOME": str(scratch / "cache"),
        "PYTHONPATH": str(TESTS),
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "CUDA_VISIBLE_DEVICES": "",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "COLUMNS": "500",  # lines are not broken: where they would be depends on the length of paths and figures
    }
    line = [sys.executable, str(Path(__file__).resolve()), "--here", name]
    done = subprocess.run(line, cwd=scratch / "here", env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"the case {name} broke off:\n{done.stdout[-4000:]}{done.stderr[-8000:]}")
    return (scratch / "document.yaml").read_text("utf-8")


def _run_here(name: str) -> None:
    """Runs a case in the current folder, in this process."""
    from proof import doors

    folder, case = Path.cwd(), CASES[name]
    doors.draw_here()
    with ExitStack() as stack:
        case.inputs(folder, stack)
        steps = [recorded for step in case.steps if (recorded := step.record(folder)) is not None]
    document = {"case": name, "about": case.about, "steps": without_repetition(steps)}
    folder.with_name("document.yaml").write_text(written(document), "utf-8")


def main(names: list[str]) -> None:
    """Records these cases, or all, four at a time: they wait for their workers."""
    if names[:1] == ["--here"]:
        return _run_here(names[1])
    registered_here.register()  # as tests do: what was added since the installation is among the commands
    if unknown := [name for name in names if name not in CASES]:
        sys.exit(f"no such case: {', '.join(unknown)}; there are {', '.join(CASES)}")

    def record(name: str) -> None:
        scratch = Path(tempfile.gettempdir(), f"proof-{name}-{token_hex(4)}")  # `_` at an end is escaped in Markdown
        scratch.mkdir()
        try:
            text = came_to(name, scratch)
        except RuntimeError as error:
            return print(error)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        file = RECORDED / f"{name}.yaml"
        before = file.read_text("utf-8") if file.exists() else ""
        file.write_text(text, "utf-8")
        print(f"{name}: {'as it was' if text == before else 'changed' if before else 'new'}, {len(text) // 1000} KB")

    RECORDED.mkdir(exist_ok=True)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(record, names or CASES))


if __name__ == "__main__":
    main(sys.argv[1:])
