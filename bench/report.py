"""Times writing and opening a report of 900 samples and 3 edit models, and measures its size.

`python bench/report.py --json` prints {"figures": {...}} in seconds and bytes; opening needs Chromium. The report uses
the thumbnails that workers keep; with `--without-copies`, it is also written without them.

`python bench/report.py --models 12 --samples 1000` measures commands instead, on a finished run of that many edit
models and samples on disk, judged with reasons: processor time of `report` and `compare`, peak memory and the page's
size; of `--help`, `list`, and of `status` and `run` on a small run that is finished. Medians of `--rounds`, after one
that compiles. With `--beside TREE` the source of another tree is measured in turn, as `beside_`.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from edit_eval.plugins.page.page import vega
from edit_eval.records import Results
from edit_eval.reporting.report import write_report
from edit_eval.statistics.summary import Summary, summarise
from overhead import configuration, write_run
from reporting.reported_runs import build_run, landscape, pictured
from viewing import keep_copies

MODELS = ("first", "second", "third")
SIZE = (1472, 1104)
DISTINCT = 12
OPENED = 3
"""Times that the page is opened; medians are reported."""


def large_run(directory: Path, samples: int) -> Results:
    """Builds a run whose pictures have the benchmark's size and a photo's texture; a few files with many links."""
    results = build_run(directory, samples=samples, edit_models=MODELS, failing=0.02, size=(16, 12), gpus=8)
    pictures = [_photo(directory, number) for number in range(DISTINCT)]
    sources = []
    for number, sample in enumerate(results.samples):
        _link(pictures[number % DISTINCT], Path(sample.source).with_suffix(".png"))
        sources.append(pictured(sample, Path(sample.source).with_suffix(".png")))
    edits = []
    for number, edit in enumerate(results.edits):
        if edit.image:
            _link(pictures[number % DISTINCT], directory / edit.image)
        edits.append(replace(edit, pixels=f"{number:064x}" if edit.image else ""))  # digests of distinct pictures
    return replace(results, samples=tuple(sources), edits=tuple(edits))


def _photo(directory: Path, number: int) -> Path:
    grain = Image.frombytes("RGB", (368, 276), random.Random(number).randbytes(368 * 276 * 3))
    picture = Image.blend(landscape(number, SIZE), grain.resize(SIZE, Image.Resampling.BICUBIC), 0.25)
    path = directory / f"photo_{number}.png"
    picture.save(path, compress_level=1)
    return path


def _link(picture: Path, name: Path) -> None:
    name.unlink(missing_ok=True)
    os.link(picture, name)


MARKED = ("cards", "chart", "pictures", "read")
MARKS = """() => {
  window.marks = {};
  const mark = (name) => { window.marks[name] ??= performance.now() / 1000; };
  const look = () => {
    const cards = [...document.querySelectorAll('.card img')];
    if (document.querySelector('.card')) mark('cards');
    const away = (one) => one.loading === 'lazy' && one.getBoundingClientRect().top > innerHeight;
    if (cards.length && cards.every((one) => one.naturalWidth || away(one))) mark('pictures');
    if (document.querySelector('.chart-body')?.querySelector('svg, canvas')) mark('chart');
    if (document.readyState === 'complete') mark('read');
    if (Object.keys(window.marks).length < 4) requestAnimationFrame(look);
  };
  look();
}"""
"""Records the page's loading milestones inside the page, at most a frame late."""


FILTER = """async (order) => {
  const chip = [...document.getElementsByName('show')].find((one) => one.value === order);
  const begin = performance.now();
  chip.click();
  await new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)));
  return (performance.now() - begin) / 1000;
}"""
"""Sorts all samples again, and waits until the cards are drawn."""


def seconds_to_open(page: Path, as_pdf: bool = False) -> dict[str, float] | None:
    """Returns seconds from the start of navigation, as measured by the page itself; None without Chromium.

    `cards`: the first page of cards is shown, and can be filtered. `chart`: the first chart is drawn. `pictures`: all
    pictures of those cards are shown. `read`: the browser has read the whole file. The page is open when all four are
    true. Charts further down are drawn when scrolled near, and not waited for. `filter` is the time the open page takes
    to sort all samples again and show them; `pdf`, if wanted, to print them all.
    """
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return None
    if chromium is None:
        return None
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page()
        tab.add_init_script(f"({MARKS})()")
        tab.goto(page.as_uri(), wait_until="commit")
        tab.wait_for_function("() => Object.keys(window.marks).length === 4", timeout=120_000)
        marks: dict[str, float] = tab.evaluate("window.marks")
        tab.wait_for_timeout(1000)
        filtered = [tab.evaluate(FILTER, order) for order in ("worst", "best", "models", "all", "worst")]
        seconds = {name: round(marks[name], 2) for name in MARKED}
        seconds["filter"] = round(statistics.median(filtered), 3)
        if as_pdf:
            begin = time.perf_counter()
            tab.pdf(path=page.with_suffix(".pdf"), format="A4", print_background=True)
            seconds["pdf"] = round(time.perf_counter() - begin, 1)
        browser.close()
    return seconds


def written(results: Results, summary: Summary, page: Path) -> tuple[float, float]:
    """Writes the report; returns wall seconds and processor seconds."""
    begin, used = time.perf_counter(), time.process_time()
    write_report(results, summary, page.parent)
    return time.perf_counter() - begin, time.process_time() - used


def spent(tree: Path, words: list[str], folder: Path) -> tuple[float, float]:
    """Runs a command of that tree; returns its processor seconds, children included, and its peak memory in MB."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "XDG_CACHE_HOME": str(folder / f"cache-{tree.name}")}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # else each start would compile all that it imports
    command = [sys.executable, "-m", "edit_eval", *words]
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    said = process.stderr.read() if process.stderr else ""
    _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{' '.join(words)} ended with {os.waitstatus_to_exitcode(status)}: {said}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def command_figures(models: int, samples: int, rounds: int, trees: dict[str, Path]) -> dict[str, float]:
    """Returns the figures of commands, those of each tree behind its prefix."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        small = configuration(folder / "small", 4, 32, 0.0, 1)
        (folder / "small.yaml").write_text(json.dumps(small))  # JSON is YAML
        large = write_run(folder / "large", samples, models)
        commands = {
            "report": ["report", str(large)],
            "compare": ["compare", str(large)],
            "help": ["--help"],
            "list": ["list"],
            "run_finished": ["run", "small.yaml", "--run-dir", "done"],
            "status": ["status", "done"],
        }
        figures: dict[str, float] = {}
        found: dict[str, list[tuple[float, float]]] = {}
        for turn in range(rounds + 1):
            for (prefix, tree), (what, words) in itertools.product(trees.items(), commands.items()):
                cost = spent(tree, words, folder)
                if turn:
                    found.setdefault(f"{prefix}{what}", []).append(cost)
                if what == "report":
                    megabytes = (large / "report" / "index.html").stat().st_size / 1e6
                    figures[f"{prefix}report_page_megabytes"] = round(megabytes, 2)
        for what, costs in found.items():
            figures[f"{what}_processor_seconds"] = round(statistics.median(seconds for seconds, _ in costs), 3)
        for prefix in trees:
            figures[f"{prefix}report_peak_megabytes"] = round(max(most for _, most in found[f"{prefix}report"]))
    return dict(sorted(figures.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--samples", type=int, default=900)
    parser.add_argument("--without-copies", action="store_true", help="write it without small copies, too: minutes")
    parser.add_argument("--pdf", action="store_true", help="print it into a file, too: a minute")
    parser.add_argument("--models", type=int, help="measure commands on a run of that many edit models instead")
    parser.add_argument("--rounds", type=int, default=5, help="with --models: how often each command is measured")
    parser.add_argument("--beside", type=Path, metavar="TREE", help="with --models: another tree to measure in turn")
    arguments = parser.parse_args()
    if arguments.models:
        trees = {"": Path(__file__).resolve().parents[1]}
        trees |= {"beside_": arguments.beside.resolve()} if arguments.beside else {}
        return show(command_figures(arguments.models, arguments.samples, arguments.rounds, trees), arguments.json)
    with tempfile.TemporaryDirectory() as folder:
        results = large_run(Path(folder), arguments.samples)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        page = Path(folder) / "report" / "index.html"
        begin = time.perf_counter()
        summary = summarise(results)
        summarised = time.perf_counter()
        keep_copies(results, page.parent / "thumbnails")
        vega()  # packed once for each user, by the first report
        seconds, used = written(results, summary, page)
        figures = {
            "samples": arguments.samples,
            "summarise_seconds": round(summarised - begin, 2),
            "write_seconds": round(seconds, 2),
            "write_processor_seconds": round(used, 2),
            "page_megabytes": round(page.stat().st_size / 1e6, 1),
            "memory_grown_megabytes": round((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024),
        }
        opened = [seconds_to_open(page, arguments.pdf) for _ in range(OPENED)]
        if arguments.without_copies:
            shutil.rmtree(page.parent / "thumbnails")
            figures["without_copies_seconds"], figures["without_copies_processor_seconds"] = (
                round(value, 2) for value in written(results, summary, page)
            )
        marks = [opening for opening in opened if opening]
        for name in marks[0] if marks else ():
            figures[f"{name}_seconds"] = statistics.median(opening[name] for opening in marks)
        figures["open_seconds"] = (
            statistics.median(max(opening[name] for name in MARKED) for opening in marks) if marks else None
        )
    return show(figures, arguments.json)


def show(figures: dict[str, Any], as_json: bool) -> None:
    """Prints the figures."""
    if as_json:
        print(json.dumps({"figures": figures}))
    else:
        for name, value in figures.items():
            print(f"{name:40} {value}")


if __name__ == "__main__":
    main()
