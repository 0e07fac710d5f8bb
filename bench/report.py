"""How long a report of 900 samples and 3 edit models takes to write and to open, and how large it is.

`python bench/report.py --json` prints {"figures": {...}}: seconds, bytes; opening needs Chromium.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from edit_eval.records import Results
from edit_eval.reporting.files import write_report
from edit_eval.statistics.summary import summarise
from reporting.reported_runs import build_run, landscape

MODELS = ("first", "second", "third")
SIZE = (1472, 1104)
DISTINCT = 12


def large_run(directory: Path, samples: int) -> Results:
    """A run whose pictures have the benchmark's size and a photo's texture; a few, linked under many names."""
    results = build_run(directory, samples=samples, edit_models=MODELS, failing=0.02, size=(16, 12), gpus=8)
    pictures = [_photo(directory, number) for number in range(DISTINCT)]
    sources = []
    for number, sample in enumerate(results.samples):
        _link(pictures[number % DISTINCT], Path(sample.source).with_suffix(".png"))
        sources.append(replace(sample, source=str(Path(sample.source).with_suffix(".png"))))
    for number, edit in enumerate(results.edits):
        if edit.image:
            _link(pictures[number % DISTINCT], directory / edit.image)
    return replace(results, samples=tuple(sources))


def _photo(directory: Path, number: int) -> Path:
    grain = Image.frombytes("RGB", (368, 276), random.Random(number).randbytes(368 * 276 * 3))
    picture = Image.blend(landscape(number, SIZE), grain.resize(SIZE, Image.Resampling.BICUBIC), 0.25)
    path = directory / f"photo_{number}.png"
    picture.save(path, compress_level=1)
    return path


def _link(picture: Path, name: Path) -> None:
    name.unlink(missing_ok=True)
    os.link(picture, name)


def seconds_to_open(page: Path) -> tuple[float | None, float | None]:
    """Seconds from the start of navigation until the first cards stand, and until their pictures are shown.

    None without Chromium.
    """
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None, None
    if chromium is None:
        return None, None
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page()
        begin = time.perf_counter()
        tab.goto(page.as_uri(), wait_until="commit")
        tab.wait_for_selector(".card", timeout=120_000)
        cards = time.perf_counter() - begin
        tab.wait_for_function("() => [...document.querySelectorAll('.card img')].every((one) => one.naturalWidth)")
        pictures = time.perf_counter() - begin
        browser.close()
    return round(cards, 2), round(pictures, 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--samples", type=int, default=900)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        results = large_run(Path(folder), arguments.samples)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        begin = time.perf_counter()
        summary = summarise(results)
        summarised = time.perf_counter()
        files = write_report(results, summary, Path(folder) / "report")
        written = time.perf_counter()
        figures = {
            "samples": arguments.samples,
            "summarise_seconds": round(summarised - begin, 2),
            "write_seconds": round(written - summarised, 2),
            "page_megabytes": round(files.page.stat().st_size / 1e6, 1),
            "memory_grown_megabytes": round((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024),
        }
        figures["open_seconds"], figures["pictures_seconds"] = seconds_to_open(files.page)
    if arguments.json:
        print(json.dumps({"figures": figures}))
    else:
        for name, value in figures.items():
            print(f"{name:24} {value}")


if __name__ == "__main__":
    main()
