"""Times `edit-eval view` on a run of 900 samples and 3 edit models: how soon it shows, and what watching costs.
Also times its list of 500 runs.

`python bench/viewing.py --json` prints {"figures": {...}}; it needs Chromium. Processor time is the viewer's own, as
counted by the system, and tells more than seconds on a shared machine.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from edit_eval.pictures import open_picture
from edit_eval.plugins.page.page import vega
from edit_eval.records import Results
from edit_eval.reporting.documents import encode_document
from edit_eval.run import Run
from edit_eval.small_copies import keep, size_of_run, small_copy, small_copy_name
from edit_eval.store.run_directory import RunDirectory
from plugins.viewer.large_run import write_large_run

OPENED = 3
"""Times that the page is opened; medians are reported."""
UPDATES = 5
PAGES = 20
IDLE_SECONDS = 30
RUNS = 500
VIEW = "from edit_eval.cli import main; main()"

MARKS = """() => {
  window.marks = {};
  const look = () => {
    const pictures = [...document.querySelectorAll('.card img')];
    if (document.querySelector('.card')) window.marks.cards ??= performance.now() / 1000;
    const inView = pictures.filter((one) => one.getBoundingClientRect().top < innerHeight);
    if (pictures.length && inView.every((one) => one.naturalWidth)) window.marks.pictures ??= performance.now() / 1000;
    if (Object.keys(window.marks).length < 2) requestAnimationFrame(look);
  };
  look();
}"""
"""Records when the cards are shown, and when the pictures in the window are; at most a frame late."""


def processor_seconds(pid: int) -> float:
    """Returns the processor time that a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(pid: int, name: str) -> float:
    """Returns `VmRSS` (current) or `VmHWM` (peak) of a process, in MB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024


def keep_copies(results: Results, folder: Path) -> None:
    """Writes thumbnails of all edits and sources of a run to `folder`, as its workers would have."""
    size, made = size_of_run(results.samples, results.edits), {}
    shown = [(Path(results.directory, edit.image), edit.pixels) for edit in results.edits if edit.image]
    shown += [(Path(sample.pictures["source"].path), sample.pictures["source"].digest) for sample in results.samples]
    for path, digest in shown:
        alike = path.stat().st_size  # a dozen pictures have many names
        if alike not in made:
            made[alike] = small_copy(open_picture(path), size)
        keep(made[alike], folder / small_copy_name(digest))


@contextmanager
def viewing(run: Path) -> Iterator[tuple[int, str]]:
    """Starts a viewer on a run; yields its process and the address of its page."""
    process = subprocess.Popen([sys.executable, "-c", VIEW, "view", str(run), "--port", "0"], stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        yield process.pid, process.stdout.readline().decode().strip()
    finally:
        process.terminate()
        process.wait()


def opened(browser: Any, address: str) -> tuple[Any, dict[str, float]]:
    """Opens an address in a tab; returns the tab and its loading times."""
    tab = browser.new_page()
    tab.add_init_script(f"({MARKS})()")
    tab.goto(address, wait_until="commit")
    tab.wait_for_function("() => Object.keys(window.marks).length === 2", timeout=120_000)
    return tab, tab.evaluate("window.marks")


def updates(tab: Any, run: Path, late: list[bytes]) -> list[float]:
    """Returns the seconds from a reply's line in the journal to its score on the page, by this process's clock."""
    seconds = []
    with (run / "replies" / "0001.jsonl").open("ab", buffering=0) as journal:
        for line in late:
            scores = tab.locator(".card .score").count()
            begin = time.perf_counter()
            journal.write(line)
            tab.wait_for_function(f"() => document.querySelectorAll('.card .score').length > {scores}", timeout=60_000)
            seconds.append(time.perf_counter() - begin)
    return seconds


def listen(port: int, path: str, stop: threading.Event) -> None:
    """Reads pushed events as an open page does, until `stop` is set."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", path)
    answer = connection.getresponse()
    while not stop.is_set():
        answer.fp.readline()
    connection.close()


def idle_share(pid: int, address: str) -> float:
    """Returns the share of one core that the viewer uses while many pages are open and nothing happens."""
    base, run = address.rsplit("/run/", 1)
    stop = threading.Event()
    for _ in range(PAGES):
        path = f"/run/{run}/events?since=x.0"  # as after a restart of the viewer: each is sent all samples
        threading.Thread(target=listen, args=(int(base.rsplit(":", 1)[1]), path, stop), daemon=True).start()
    time.sleep(10)  # until the initial events have been sent
    begin, used = time.perf_counter(), processor_seconds(pid)
    time.sleep(IDLE_SECONDS)
    share = (processor_seconds(pid) - used) / (time.perf_counter() - begin)
    stop.set()
    return share


def write_many_runs(folder: Path) -> Path:
    """Writes many runs of 30 samples and 3 edit models with their reports' numbers, as links, to `folder`/runs."""
    run = write_large_run(folder, 30, size=(64, 48))
    (run / "report").mkdir(exist_ok=True)
    (run / "report" / "summary.json").write_text(encode_document(Run(run).summary))
    for number in range(RUNS):
        shutil.copytree(run, folder / "runs" / f"{number:04d}", copy_function=os.link)
    return folder / "runs"


def list_figures(browser: Any, runs: Path) -> dict[str, float]:
    """Returns the seconds until the last row of the list of runs has its numbers, and the server's processor time."""
    begin = time.perf_counter()
    with viewing(runs) as (pid, address):
        figures = {"list_ready_seconds": time.perf_counter() - begin}
        used, begin = processor_seconds(pid), time.perf_counter()
        tab = browser.new_page()
        tab.goto(address, wait_until="commit")
        tab.wait_for_function(
            f"() => document.querySelectorAll('.runs .number b').length >= {RUNS * 3}", timeout=120_000
        )
        figures["list_seconds"] = time.perf_counter() - begin
        figures["list_processor_seconds"] = processor_seconds(pid) - used
        begin = time.perf_counter()
        tab.reload(wait_until="commit")
        tab.wait_for_function(
            f"() => document.querySelectorAll('.runs .number b').length >= {RUNS * 3}", timeout=120_000
        )
        figures["list_again_seconds"] = time.perf_counter() - begin
        tab.close()
    return figures


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--samples", type=int, default=900)
    parser.add_argument("--without-copies", action="store_true", help="as if no worker had kept small copies")
    arguments = parser.parse_args()
    figures: dict[str, float] = {"samples": arguments.samples}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        os.environ["XDG_CACHE_HOME"] = f"{folder}/cache"
        run = write_large_run(Path(folder), arguments.samples, size=(736, 552))
        if not arguments.without_copies:
            keep_copies(Run(run).results, RunDirectory(run).thumbnails)
        vega()  # packed once for each user, by the first report
        journal = run / "replies" / "0001.jsonl"
        lines = journal.read_bytes().splitlines(keepends=True)
        first = [line for line in lines if int(json.loads(line)["sample"]) < UPDATES]
        late = first[:UPDATES]
        journal.write_bytes(b"".join(line for line in lines if line not in late))
        chromium = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        (Path(folder) / "many").mkdir()
        figures |= list_figures(browser, write_many_runs(Path(folder) / "many"))
        begin = time.perf_counter()
        with viewing(run) as (pid, address):
            figures["ready_seconds"] = time.perf_counter() - begin
            shown = time.perf_counter()
            tab, marks = opened(browser, address)
            figures["first_open_seconds"] = time.perf_counter() - shown
            figures["first_open_processor_seconds"] = processor_seconds(pid)
            tab.close()
            used = processor_seconds(pid)
            opens = []
            for _ in range(OPENED):
                tab, marks = opened(browser, address)
                opens.append(marks)
                tab.close()
            figures["open_cards_seconds"] = statistics.median(marks["cards"] for marks in opens)
            figures["open_seconds"] = statistics.median(max(marks.values()) for marks in opens)
            figures["open_processor_seconds"] = (processor_seconds(pid) - used) / OPENED
            figures["memory_opened_mb"] = memory(pid, "VmHWM")
            tab, _ = opened(browser, address)
            used = processor_seconds(pid)
            took = updates(tab, run, late)
            figures["update_seconds"], figures["update_seconds_worst"] = statistics.median(took), max(took)
            figures["update_processor_seconds"] = (processor_seconds(pid) - used) / len(took)
            tab.close()
            figures["memory_updated_mb"] = memory(pid, "VmHWM")
            figures["idle_percent"] = 100 * idle_share(pid, address)
            figures["memory_mb"] = memory(pid, "VmHWM")
        browser.close()
    figures = {name: round(value, 2) for name, value in figures.items()}
    if arguments.json:
        print(json.dumps({"figures": figures}))
    else:
        for name, value in figures.items():
            print(f"{name:30} {value}")


if __name__ == "__main__":
    main()
