"""What a command imports of edit_eval, in all of its processes: files, and their lines.

    python .ci/imported.py edit-eval demo

Every interpreter that the command starts says, by an audit hook, which modules' code it executes; empty files of
packages are left out.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from closure import SOURCE

HOOK = """
import os, sys
def note(event, given):
    if event == "exec" and given[0].co_name == "<module>" and "/edit_eval/" in given[0].co_filename:
        place = os.open({!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT)  # each time: some processes close all they have
        os.write(place, (given[0].co_filename + "\\n").encode())
        os.close(place)
sys.addaudithook(note)
"""


def main() -> None:
    """Runs the command, and prints how many files and lines it has imported."""
    with tempfile.TemporaryDirectory() as folder:
        said = Path(folder, "imported")
        Path(folder, "sitecustomize.py").write_text(HOOK.format(str(said)), "utf-8")
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [folder, os.environ.get("PYTHONPATH")]))
        code = subprocess.run(sys.argv[1:]).returncode
        executed = map(Path, {*said.read_text("utf-8").splitlines()})
        files = {path for path in executed if SOURCE in path.parents and path.name != "__init__.py"}
    lines, of_core = (
        sum(path.read_text("utf-8").count("\n") for path in some)
        for some in (files, [path for path in files if SOURCE / "edit_eval/plugins" not in path.parents])
    )
    plugins = {path.relative_to(SOURCE).parts[2] for path in files if "plugins" in path.relative_to(SOURCE).parts}
    named = ", ".join(sorted(plugins)) or "none"
    print(f"{len(files)} files, {lines:,} lines, {of_core:,} of the core; of the plug-ins {named}")
    sys.exit(code)


if __name__ == "__main__":
    main()
