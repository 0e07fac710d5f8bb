"""How fast a service answers: 1,024 pairs in one burst, and 64 clients of one pair at a time.

    python bench/serving.py [--pairs 1024] [--batch-seconds 0.05] [--format JPEG]

Pictures of 512 x 512, 16 edits a source. The judge answers at once, or takes as long as it is told for a batch. The
service runs as `edit-eval serve` does, in a process of its own; processor time is that of it alone and of its workers.
"""

from __future__ import annotations

import argparse
import base64
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from PIL import Image

EACH = 16
PART = 128
"""Pairs a request of the burst: a thousand PNGs are more than a service takes in one body."""
JUDGE = """
import time
class Prompt:
    only_looks = True
    def __init__(self, parameters): pass
    def load(self, devices): pass
    def judge(self, requests):
        time.sleep({seconds})
        return ["Score: 5.000"] * len(requests)
"""


def picture(seed: int, kind: str) -> str:
    """A picture like a photograph in how well it compresses, in base64."""
    noise = np.random.default_rng(seed).integers(0, 255, (48, 48, 3), dtype=np.uint8)
    data = io.BytesIO()
    made = Image.fromarray(noise).resize((512, 512), Image.Resampling.BICUBIC)
    made.save(data, kind, **({"quality": 75} if kind == "JPEG" else {}))
    return base64.b64encode(data.getvalue()).decode()


def seconds_of(process: int) -> float:
    """Processor time of a process and of those that it has started, in seconds."""
    ticks = os.sysconf("SC_CLK_TCK")
    total = 0.0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(path.parent.name) == process or int(fields[1]) == process:
            total += (int(fields[11]) + int(fields[12])) / ticks
    return total


def post(address: str, pairs: list[dict[str, str]]) -> float:
    """How long the answer took, in seconds; every pair has a score."""
    body = json.dumps({"pairs": pairs}).encode()
    began = time.monotonic()
    with urllib.request.urlopen(urllib.request.Request(address, data=body), timeout=600) as answer:
        results = json.load(answer)["results"]
    assert [one["status"] for one in results] == ["ok"] * len(pairs)
    return time.monotonic() - began


def measured(pairs: list[dict[str, str]], batch_seconds: float, watch: bool) -> dict[str, float]:
    """What one service, started for it, makes of a burst and of clients."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "prompt.py").write_text(JUDGE.format(seconds=batch_seconds))
        judge = {"class_path": f"{folder}/prompt.py:Prompt", "params": {"device_ids": "cpu:1", "batch_size": 8}}
        written = {"benchmark": "scenes", "diffusion_model": {"type": "scene_editor"}, "judges": {"prompt": judge}}
        config = Path(folder, "judge.yaml")
        config.write_text(json.dumps(written))
        command = [
            sys.executable,
            "-m",
            "edit_eval",
            "serve",
            str(config),
            "--port",
            "0",
            "--ledger",
            f"{folder}/ledger",
        ]
        command += [] if watch else ["--window", "0"]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        address = next(found[0] for line in process.stderr if (found := re.search(r"http://\S+/v1/score", line)))
        while True:
            try:
                urllib.request.urlopen(address.replace("/v1/score", "/health"))
                break
            except OSError:
                time.sleep(0.1)
        before, began = seconds_of(process.pid), time.monotonic()
        parts = [pairs[n : n + PART] for n in range(0, len(pairs), PART)]
        with ThreadPoolExecutor(len(parts)) as at_once:
            list(at_once.map(lambda part: post(address, part), parts))
        took = time.monotonic() - began
        used = seconds_of(process.pid) - before
        with ThreadPoolExecutor(64) as clients:
            began = time.monotonic()
            each = sorted(clients.map(lambda pair: post(address, [pair]), pairs))
            clients_took = time.monotonic() - began
        process.send_signal(signal.SIGTERM)
        process.stderr.read()
        assert process.wait(60) == 0
    return {
        "burst pairs/s": len(pairs) / took,
        "processor ms a pair": 1000 * used / len(pairs),
        "device busy": batch_seconds * len(pairs) / 8 / took,
        "clients pairs/s": len(pairs) / clients_took,
        "p50 ms": 1000 * each[len(each) // 2],
        "p99 ms": 1000 * each[len(each) * 99 // 100],
    }


def decoding(pairs: list[dict[str, str]]) -> float:
    """Processor time of decoding an edit and its share of a source, in ms a pair."""
    few = pairs[:64]
    began = time.process_time()
    for place, pair in enumerate(few):
        for name in ("edit", "source") if place % EACH == 0 else ("edit",):
            Image.open(io.BytesIO(base64.b64decode(pair[name]))).convert("RGB").load()
    return 1000 * (time.process_time() - began) / len(few)


def main() -> None:
    """Prints a line a case."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=1024)
    parser.add_argument("--format", choices=("JPEG", "PNG"), action="append")
    parser.add_argument("--batch-seconds", type=float, default=0.05)
    given = parser.parse_args()
    for kind in given.format or ("JPEG", "PNG"):
        sources = [picture(n, kind) for n in range(max(1, given.pairs // EACH))]
        pairs = [
            {"source": sources[n // EACH], "instruction": "make it red", "edit": picture(10_000 + n, kind)}
            for n in range(given.pairs)
        ]
        print(f"{kind}: decoding takes {decoding(pairs):.2f} ms a pair")
        for seconds, watch in ((0.0, False), (0.0, True), (given.batch_seconds, True)):
            found = measured(pairs, seconds, watch)
            said = ", ".join(f"{name} {value:.2f}" for name, value in found.items())
            print(f"  batch of {seconds * 1000:.0f} ms, watch {'on' if watch else 'off'}: {said}", flush=True)


if __name__ == "__main__":
    main()
