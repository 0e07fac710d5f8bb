"""What an evaluation costs of itself when its judge is behind a server: a fixed part, and a part for each edit.

    python bench/behind_a_server.py [--json] [--edits 50,500] [--side 512] [--profile FILE]

`edit-eval run` is started as a user does, over a folder of finished edits; `chat_endpoint` judges each edit in two
questions about the same two pictures, over HTTP on loopback. The server is a process of its own, answers at once, and
is not counted. Counted is processor time (user and system) of the command and all its processes, so that what else the
machine does matters little. `fixed_s` and `edit_ms` are the line through the smallest and the largest number of edits;
`import_s` is `edit-eval --version`. With `--profile` the command's own process is profiled into a file, at the largest
number.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from PIL import Image

QUESTIONS = 2


class Answering(BaseHTTPRequestHandler):
    """A judge that gives every pair seven points."""

    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *arguments: Any) -> None:
        """Says nothing."""

    def give(self, document: Any) -> None:
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.give({"object": "list", "data": [{"id": "judge", "object": "model"}]})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        message = {"role": "assistant", "content": "Score: 7.000"}
        usage = {"prompt_tokens": 1500, "completion_tokens": 8}
        self.give({"choices": [{"index": 0, "finish_reason": "stop", "message": message}], "usage": usage})


@contextlib.contextmanager
def server() -> Iterator[str]:
    """Runs the judge in a process of its own; yields its address."""
    command = [sys.executable, __file__, "--serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
        finally:
            process.kill()


def serve() -> None:
    """Serves until it is killed."""
    listening = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    print(listening.server_address[1], flush=True)
    threading.Thread(target=listening.serve_forever, daemon=True).start()
    threading.Event().wait()


def prepared(folder: Path, edits: int, side: int, address: str) -> Path:
    """Writes pictures, edits, and the configuration; returns its path."""
    rows = []
    for number in range(edits):
        draw = random.Random(number)
        for place in ("photos", "edits"):
            (folder / place).mkdir(parents=True, exist_ok=True)
            small = Image.frombytes("RGB", (side // 8, side // 8), draw.randbytes(3 * (side // 8) ** 2))
            picture = small.resize((side, side), Image.Resampling.BICUBIC)
            picture.save(folder / place / f"p{number}.png", compress_level=1)
        rows.append((f"p{number}", f"photos/p{number}.png", f"change it {number}", f"c{number % 5}"))
    with (folder / "table.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("id", "image", "instruction", "category"), *rows])
    configuration = {
        "benchmark": {"type": "table", "data_path": "table.csv"},
        "edit_models": {"mine": {"type": "image_folder", "params": {"folder": "edits", "device_ids": "cpu:1"}}},
        "judges": {
            "asked": {"type": "chat_endpoint", "params": {"model": "judge", "base_url": address, "device_ids": "cpu:1"}}
        },
        "evaluation": {"readings": QUESTIONS, "controls": 0},
        "execution": {"progress": "none", "pilot": False},
    }
    path = folder / "eval.yaml"
    path.write_text(json.dumps(configuration), "utf-8")
    return path


def processor_time(command: list[str], folder: Path) -> tuple[float, float]:
    """Runs a command to its end; returns user and system time in seconds, of it and of all that it waited for."""
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment = {**plain, "XDG_CACHE_HOME": str(folder / "cache"), "OPENAI_API_KEY": "key"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime


def measured(sizes: list[int], side: int, profile: Path | None) -> dict[str, Any]:
    """Returns all figures."""
    runs = {}
    with tempfile.TemporaryDirectory() as temporary, server() as address:
        there = Path(temporary)
        path = prepared(there / "first", 2, side, address)  # compiles what is imported
        processor_time([sys.executable, "-m", "edit_eval", "run", str(path), "--run-dir", "run"], there / "first")
        start = sum(processor_time([sys.executable, "-m", "edit_eval", "--version"], there))
        for count in sizes:
            folder = there / str(count)
            path = prepared(folder, count, side, address)
            begin = [sys.executable, "-m", "edit_eval"]
            if profile and count == max(sizes):
                begin = [sys.executable, "-m", "cProfile", "-o", str(profile.resolve()), "-m", "edit_eval"]
            user, system = processor_time([*begin, "run", str(path), "--run-dir", "run"], folder)
            runs[count] = {"user_s": round(user, 2), "system_s": round(system, 2)}
    few, many = min(sizes), max(sizes)
    each = (sum(runs[many].values()) - sum(runs[few].values())) / max(1, many - few)
    fixed = sum(runs[few].values()) - few * each
    return {"runs": runs, "import_s": round(start, 2), "fixed_s": round(fixed, 2), "edit_ms": round(1000 * each, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--edits", default="50,500")
    parser.add_argument("--side", type=int, default=512)
    parser.add_argument("--profile", type=Path)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        return serve()
    figures = measured([int(one) for one in given.edits.split(",")], given.side, given.profile)
    if given.json:
        return print(json.dumps(figures))
    for count, one in figures["runs"].items():
        print(f"{count} edits, {QUESTIONS * count} questions: {one['user_s']} s user, {one['system_s']} s system")
    print(f"fixed: {figures['fixed_s']} s (of which `--version` {figures['import_s']} s)")
    print(f"an edit with {QUESTIONS} questions: {figures['edit_ms']} ms")
    return None


if __name__ == "__main__":
    main()
