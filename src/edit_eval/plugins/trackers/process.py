"""Runs one tracker in a process of its own, so that nothing the tracker does can disturb the run.

Its first line on stdin is JSON with the tracker and the run. It then reads `live.json` at intervals and logs the latest
numbers; updates it is too slow for are skipped and counted. It writes lines of JSON to stdout: `begun`, `note`, `done`.
A second line on stdin says that the run has ended, what to keep, and how much is settled; end of file means that the
engine has died. Each call has a time limit, after which the process ends itself and everything the tracker has started.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from edit_eval.privacy import hide_secrets
from edit_eval.trackers.contract import Start, Tracker
from edit_eval.workers.model_class import find_class

INTERVAL = 10.0
"""Seconds between two readings of `live.json`."""
CALL, KEEPING = 60.0, 120.0
"""Time limits in seconds: of a call, and of all calls that send the report and end."""
LONGEST = 300
"""Most characters of an exception that are reported."""
TABLE_ROWS = 100
"""Edits in the table with pictures, where nobody says how many."""


def live_values(live: Mapping[str, Any]) -> tuple[dict[str, float], int]:
    """Returns the numbers in `live.json` by name, and how many edits and judgements are settled."""
    values: dict[str, float] = {"progress/seconds": float(live["seconds"])}
    for name in ("edits", "judgements", "controls"):
        count = live[name]
        if count["total"]:
            values |= {
                f"progress/{name}": count["settled"] / count["total"],
                f"progress/{name}_failed": count["failed"],
            }
    if live["judgements"]["total"]:
        values["coverage"] = live["judgements"]["ok"] / live["judgements"]["total"]
    for mean in live["means"]:
        if mean["mean"] is not None:
            values[f"{mean['edit_model']}/{mean['judge']}/{mean['score']}"] = mean["mean"]
    return values, int(live["edits"]["settled"] + live["judgements"]["settled"])


def final_values(summary: Mapping[str, Any]) -> dict[str, float]:
    """Returns the numbers in `summary.json` by name: every score and strength, its interval, and the coverage of each
    pair, and of each judge's battles."""
    values: dict[str, float] = {"coverage": _share(summary["coverage"])}
    for pair in summary["results"]:
        who = f"{pair['edit_model']}/{pair['judge']}"
        values[f"{who}/coverage"] = _share(pair["coverage"])
        for name, score in pair["scores"].items():
            if score["mean"] is not None:
                values[f"{who}/{name}"] = score["mean"]
            for end, value in zip(("low", "high"), score["ci95"] or (), strict=False):
                values[f"{who}/{name}_{end}"] = value
    for judge, battles in summary.get("battles", {}).items():
        values[f"{judge}/coverage"] = _share(battles["coverage"])
        for name, score in battles["scores"].items():
            for strength in score["strengths"]:
                who = f"{strength['edit_model']}/{judge}/{name}"
                if strength["strength"] is not None:
                    values[f"{who}_strength"] = strength["strength"]
                for end, value in zip(("low", "high"), strength["ci95"] or (), strict=False):
                    values[f"{who}_strength_{end}"] = value
    return values


def _share(coverage: Mapping[str, Any]) -> float:
    return float(coverage["scored"] / coverage["total"]) if coverage["total"] else 0.0


class _Watch:
    """Ends this process, and all it has started, if a call takes too long."""

    def __init__(self) -> None:
        self._until, self._what = float("inf"), ""
        threading.Thread(target=self._wait_for_deadline, daemon=True).start()

    @contextlib.contextmanager
    def limit_time(self, seconds: float, what: str) -> Iterator[None]:
        self._what, self._until = f"{what} took more than {seconds:g} s", time.monotonic() + seconds
        yield
        self._until = float("inf")

    def _wait_for_deadline(self) -> None:
        while time.monotonic() < self._until:
            time.sleep(0.2)
        send_message(note=self._what, done=False)
        end_all()


def end_all() -> None:
    """Ends the process and its own process group, where a package may have started servers."""
    if os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


_out = sys.stdout


def send_message(**message: Any) -> None:
    """Sends a message to the engine, if it is still there."""
    with contextlib.suppress(OSError, ValueError):
        print(hide_secrets(json.dumps(message)), file=_out, flush=True)


class _TrackerProcess:
    def __init__(self, order: Mapping[str, Any]) -> None:
        self._order, self._run = order, Path(order["run"])
        self._interval = float(order.get("interval", INTERVAL))
        self._call, self._keeping = order.get("limits", (CALL, KEEPING))
        self._watch, self._sent, self._slow = _Watch(), "", 0
        self._heard: queue.Queue[str] = queue.Queue()

    def run(self) -> None:
        """Runs the tracker from beginning to end; raises what it raises."""
        threading.Thread(target=self._listen, daemon=True).start()
        with self._watch.limit_time(self._call, "starting"):
            tracker: Tracker = find_class(self._order["tracker"], [])()
            send_message(begun=tracker.begin(self._start()))
        last = self._log_until_end(tracker)
        with self._watch.limit_time(self._keeping, "sending the report"):
            files = {name: Path(path) for name, path in last.get("files", {}).items()}
            if "summary.json" in files:
                tracker.log(final_values(json.loads(files["summary.json"].read_text("utf-8"))), last["settled"])
            if files:
                tracker.keep(files)
            if last.get("finished"):
                self._show(tracker)
            tracker.end(finished=bool(last.get("finished")))
        if self._slow:
            send_message(note=f"it was slow: {self._slow} updates left out")
        send_message(done=True)

    def _show(self, tracker: Tracker) -> None:
        """Sends the table with pictures; one that cannot be sent costs the rest nothing."""
        given = self._order["parameters"].get("table_rows")
        most = TABLE_ROWS if given is None else given
        if most < 1 or type(tracker).show is Tracker.show:
            return
        from edit_eval.plugins.trackers.table import make_table
        from edit_eval.run import Run

        try:
            with tempfile.TemporaryDirectory(prefix="edit-eval-table-") as folder:
                table = make_table(Run(self._run).results, Path(folder), most)
                tracker.show(table)
        except Exception as error:  # of any package
            send_message(note=f"no table of edits: {describe_error(error)}")
            return
        if len(table.rows) < table.edits:
            send_message(note=f"its table has {len(table.rows)} of {table.edits} edits; `table_rows` says how many")

    def _start(self) -> Start:
        import yaml

        configuration = yaml.safe_load(Path(self._order["configuration"]).read_text("utf-8"))
        of = {key: self._order[key] for key in ("id", "known", "parameters")}
        return Start(run=self._run, configuration=configuration, **of)

    def _listen(self) -> None:
        self._heard.put(sys.stdin.readline())

    def _log_until_end(self, tracker: Tracker) -> Mapping[str, Any]:
        """Logs the latest numbers at intervals until the engine ends the run, or dies; returns its last message."""
        due = time.monotonic()
        while True:
            try:
                line = self._heard.get(timeout=max(0.0, due - time.monotonic()))
            except queue.Empty:
                self._log(tracker)
                missed = max(0, int((time.monotonic() - due) // self._interval))
                self._slow += missed
                due += (missed + 1) * self._interval
                continue
            self._log(tracker)
            return json.loads(line) if line.strip() else {}

    def _log(self, tracker: Tracker) -> None:
        try:
            text = (self._run / "live.json").read_text("utf-8")
            live = json.loads(text)
            ours = live["start"] == self._order["start"]
        except (OSError, ValueError, KeyError):
            return
        if ours and text != self._sent:
            self._sent = text
            with self._watch.limit_time(self._call, "an update"):
                tracker.log(*live_values(live))


def describe_error(error: Exception) -> str:
    """Returns an exception on one line, without secrets."""
    words = " ".join([f"{type(error).__name__}:", *hide_secrets(str(error)).split()])
    return words if len(words) <= LONGEST else words[:LONGEST] + "..."


def main() -> None:
    """Runs the tracker given by the first line of stdin."""
    global _out
    with contextlib.suppress(OSError):
        os.nice(10)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _out = os.fdopen(os.dup(1), "w", encoding="utf-8")  # anything a package prints to stdout is discarded
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    try:
        _TrackerProcess(json.loads(sys.stdin.readline())).run()
    except Exception as error:
        send_message(note=describe_error(error), done=False)
    end_all()  # skips the package's exit handlers, which may hang


if __name__ == "__main__":
    main()
