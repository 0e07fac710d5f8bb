"""The program that draws a run's report: `python -m edit_eval.verbs.drawing RUN [CODE]`.

`Run.write_report` has it run beside itself; CODE is JSON of `get_named_code`, unless this is a copy of that process.
"""

import json
import sys
from pathlib import Path

from edit_eval.config.components import set_named_code
from edit_eval.reporting.report import draw
from edit_eval.run import Run

if __name__ == "__main__":
    set_named_code(*(json.loads(sys.argv[2]) if sys.argv[2:] else ((), ())))
    run = Run(Path(sys.argv[1]))
    sys.exit(draw(run.results, run.summary, run.path, language=run.language))
