"""Draws carried out again by hand.

python tests/combinations/again.py 17                    the draw with that number
python tests/combinations/again.py salt=17 rows=5 rounds=2
python tests/combinations/again.py --shrink 17           to the fewest features that still disagree
python tests/combinations/again.py --draws 0 2000        all of these, and what was found
python tests/combinations/again.py --workers --draws 0 300
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections import defaultdict
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))

from combinations import carrying_out, drawing, known, reading


def tried(draw: drawing.Draw, folder: Path, carry_out: carrying_out.CarryOut) -> list[reading.Disagreement]:
    """What nobody knew of a draw, faults of this kit included."""
    try:
        return known.unknown(draw, reading.disagreements(draw, folder, carry_out))
    except Exception:
        return [reading.Disagreement("the kit", "", "no exception", traceback.format_exc()[-1500:])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("draw", nargs="*", help="the number of a draw, or its features")
    parser.add_argument("--draws", nargs=2, type=int, metavar=("FIRST", "END"))
    parser.add_argument("--workers", action="store_true", help="with processes")
    parser.add_argument("--shrink", action="store_true")
    parser.add_argument("--keep", type=Path, help="the folder to carry it out in, which stays")
    given = parser.parse_args()
    carry_out = carrying_out.with_workers if given.workers else carrying_out.in_place
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as temporary:
        folder = given.keep or Path(temporary) / "draw"
        os.environ["XDG_CACHE_HOME"] = f"{temporary}/cache"
        if given.draws:
            return several(range(*given.draws), folder, carry_out)
        draw = drawing.read(given.draw)
        disagreements = tried(draw, folder, carry_out)
        if disagreements and given.shrink:
            kinds = {*reading.kinds(disagreements)}
            draw = drawing.shrunk(draw, lambda less: bool(kinds & {*reading.kinds(tried(less, folder, carry_out))}))
            disagreements = tried(draw, folder, carry_out)
        print(drawing.told(draw), *disagreements or ["agrees"], sep="\n")
    return None


def several(numbers: range, folder: Path, carry_out: carrying_out.CarryOut) -> None:
    begun, seen = time.monotonic(), defaultdict(list)
    for number in numbers:
        draw = drawing.drawn(number)
        disagreements = tried(draw, folder, carry_out)
        for kind in reading.kinds(disagreements):
            seen[kind].append(number)
            if len(seen[kind]) < 3:
                print(
                    drawing.told(draw),
                    next(disagreement for disagreement in disagreements if disagreement.kind == kind),
                    sep="\n",
                    flush=True,
                )
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{len(numbers)} draws, {(time.monotonic() - begun) / len(numbers):.2f} s each")
    print(*(f"{kind}: {numbers}" for kind, numbers in sorted(seen.items())), sep="\n")


if __name__ == "__main__":
    main()
