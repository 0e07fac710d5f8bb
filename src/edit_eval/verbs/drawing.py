"""The program that draws a run's report: `python -m edit_eval.verbs.drawing RUN`.

`Run.draw` has it run beside itself.
"""

import sys
from pathlib import Path

from edit_eval.reporting.page.files import draw
from edit_eval.run import Run

if __name__ == "__main__":
    run = Run(Path(sys.argv[1]))
    sys.exit(draw(run.results, run.summary, run.path, language=run.language))
