"""What the tests of published benchmarks share."""

from __future__ import annotations

import sys
from pathlib import Path

for room in ("protocols", "benchmarks"):
    sys.path.insert(0, str(Path(__file__).parents[2] / room))  # for `judged`: pytest imports by path
