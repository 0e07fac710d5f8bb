"""What a command imports of edit_eval, in all of its processes: files, and their lines.

    python .ci/imported.py edit-eval demo

Every interpreter that the command starts says, by an audit hook, what it imports; empty files of packages are left out.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from closure import SOURCE, file_of

HOOK = """
import os, sys
def note(event, given):
    if event == "import" and given[0].startswith("edit_eval"):
        place = os.open({!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT)  # each time: some processes close all they have
        os.write(place, (given[0] + "\\n").encode())
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
        files = {path for name in {*said.read_text("utf-8").split()} if (path := file_of(name))}
    lines = sum(path.read_text("utf-8").count("\n") for path in files)
    guests = {path.relative_to(SOURCE).parts[2] for path in files if "guests" in path.relative_to(SOURCE).parts}
    print(f"{len(files)} files, {lines:,} lines; of the guests {', '.join(sorted(guests)) or 'none'}")
    sys.exit(code)


if __name__ == "__main__":
    main()
