"""What an evaluation costs of itself when its judge is behind a server: a fixed part, and a part for each edit.

    python bench/behind_a_server.py [--json] [--edits 50,500] [--side 512] [--rounds 1] [--beside TREE]
        [--evalscope PYTHON] [--inspect PYTHON] [--edited] [--profile FILE]

GEdit-Bench in small: the sources in one Parquet file, a folder of finished edits, and its two questions about each, one
with source and edit, one with the edit alone. `edit-eval run` is started as a user does, with its defaults but for
controls, which would be further questions. The judge is a server of its own process that answers at once; it is not
counted, and it counts what it was asked: whoever asks more or less than two questions and three pictures an edit ends
the measurement.

Beside it, in turns, and each with the same files, judge and eight questions at a time: edit-eval of another source
TREE; evalscope with its own adapter for GEdit-Bench (`peers/evalscope_gedit.py`), and inspect_ai with a task of forty
lines (`peers/inspect_gedit.py`), both by the interpreters of environments that hold them. With `--edited` the edits are
not there: edit-eval has each made by a second server first, which neither of the others can do.

Counted is processor time, user and system, of a command and all its processes, so that what else the machine does
matters little. `fixed_s` and `edit_ms` are the line through the smallest and the largest number of edits, medians over
the rounds. With `--profile` the command's own process is profiled into a file, at the largest number.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import io
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

CONCURRENCY = 8
QUESTIONS, PICTURES = 2, 3
HERE = Path(__file__).resolve()
TASKS = ("background_change", "color_alter", "style_change", "subject-add", "text_change")


class Answering(BaseHTTPRequestHandler):
    """A judge that gives every pair seven points, and an edit model that always makes the same picture."""

    protocol_version = "HTTP/1.1"
    questions = pictures = 0
    counting = threading.Lock()
    edit = b""

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
        if self.path.endswith("/asked"):
            counted = {"questions": Answering.questions, "pictures": Answering.pictures}
            Answering.questions = Answering.pictures = 0
            return self.give(counted)
        return self.give({"object": "list", "data": [{"id": model, "object": "model"} for model in ("judge", "mine")]})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path.endswith("/images/edits"):
            return self.give({"created": 1, "data": [{"b64_json": base64.b64encode(Answering.edit).decode()}]})
        if len(body) > 6_000:  # not the canary of one colour
            with Answering.counting:
                Answering.questions += 1
                Answering.pictures += body.count(b"data:image")
        message = {"role": "assistant", "content": '{"reasoning": "Well done.", "score": [7, 7]}'}
        usage = {"prompt_tokens": 1500, "completion_tokens": 18, "total_tokens": 1518}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        made = {"id": "a", "object": "chat.completion", "created": 1, "model": "judge"}
        return self.give({**made, "choices": [choice], "usage": usage})


@contextlib.contextmanager
def server(side: int) -> Iterator[str]:
    """Runs the judge in a process of its own; yields its address."""
    command = [sys.executable, str(HERE), "--serve", "--side", str(side)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
        finally:
            process.kill()


def serve(side: int) -> None:
    """Serves until it is killed."""
    Answering.edit = png(random.Random(-1), side)
    listening = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    print(listening.server_address[1], flush=True)
    threading.Thread(target=listening.serve_forever, daemon=True).start()
    threading.Event().wait()


def png(draw: random.Random, side: int) -> bytes:
    """Returns a picture that compresses like a photograph: smooth noise with a little grain.

    At 512 x 512 it is a PNG of 410 kB and a WebP of 31 kB; four photographs came to 280 to 510 and 13 to 62.
    """
    from PIL import Image, ImageChops

    few = side // 12
    smooth = Image.frombytes("RGB", (few, few), draw.randbytes(3 * few**2)).resize((side, side))
    grain = Image.frombytes("RGB", (side, side), draw.randbytes(3 * side**2)).point(lambda value: value >> 6)
    file = io.BytesIO()
    ImageChops.add(smooth, grain).save(file, "PNG", compress_level=1)
    return file.getvalue()


def prepared(folder: Path, count: int, side: int) -> None:
    """Writes sources, edits, and who is which, in the forms that each harness reads."""
    import pyarrow
    import pyarrow.parquet

    from edit_eval.plugins.published.gedit import TEXTS

    for place in ("sources", "edits"):
        (folder / place).mkdir(parents=True)
    rows, lines = [], []
    for number in range(count):
        draw = random.Random(number)
        task, key = TASKS[number % len(TASKS)], f"k{number:05}"
        row = {"task_type": task, "key": key, "instruction": f"change it {number}", "instruction_language": "en"}
        source, name = png(draw, side), f"{task}_en_{key}.png"
        (folder / "sources" / f"{key}.png").write_bytes(source)
        (folder / "edits" / name).write_bytes(png(draw, side))
        picture = {"bytes": source, "path": f"{key}.png"}
        rows.append({**row, "Intersection_exist": True, "input_image": picture, "input_image_raw": picture})
        lines.append({**row, "id": key, "source": f"sources/{key}.png", "image_path": f"edits/{name}"})
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), folder / "gedit.parquet", row_group_size=100)
    absolute = [{**line, "image_path": str(folder / line["image_path"])} for line in lines]
    (folder / "edits.jsonl").write_text("".join(json.dumps(line) + "\n" for line in absolute), "utf-8")
    (folder / "questions.json").write_text(json.dumps(TEXTS["en"]), "utf-8")


def configured(folder: Path, address: str, edited: bool) -> Path:
    """Writes edit-eval's configuration; returns its path."""
    judge = {"model": "judge", "base_url": address, "concurrency": CONCURRENCY, "device_ids": "cpu:1"}
    mine: dict[str, Any] = {"type": "image_folder", "params": {"folder": str(folder / "edits"), "device_ids": "cpu:1"}}
    if edited:
        mine = {"type": "image_endpoint", "params": {**judge, "model": "mine"}}
    configuration = {
        "benchmark": {"type": "gedit", "data_path": str(folder / "gedit.parquet")},
        "edit_models": {"mine": mine},
        "judges": {"asked": {"type": "chat_endpoint", "params": judge, "protocol": {"type": "viescore"}}},
        "evaluation": {"controls": 0},
        "execution": {"progress": "none"},
    }
    path = folder / "eval.yaml"
    path.write_text(json.dumps(configuration), "utf-8")
    return path


def commands(given: argparse.Namespace, folder: Path, address: str, profile: Path | None) -> dict[str, list[str]]:
    """Returns each harness's command for the files in a folder."""
    peer = [str(folder), address, str(CONCURRENCY)]
    path = str(configured(folder, address, given.edited))
    run = ["-m", "edit_eval", "run", path, "--run-dir"]
    begin = [sys.executable, *(["-m", "cProfile", "-o", str(profile.resolve())] if profile else [])]
    by_harness = {"edit-eval": [*begin, *run, str(folder / "run")]}
    if given.beside:
        by_harness["beside"] = [sys.executable, *run, str(folder / "run-beside")]
    if given.evalscope and not given.edited:
        by_harness["evalscope"] = [given.evalscope, str(HERE.parent / "peers/evalscope_gedit.py"), *peer]
    if given.inspect and not given.edited:
        by_harness["inspect"] = [given.inspect, str(HERE.parent / "peers/inspect_gedit.py"), *peer]
    return by_harness


def spent(command: list[str], home: Path, tree: Path | None) -> dict[str, float]:
    """Runs a command to its end; returns seconds of user and system time, of it and all that it waited for, and as the
    clock shows them."""
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    home.mkdir(parents=True, exist_ok=True)
    environment = {**plain, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "OPENAI_API_KEY": "key"}
    environment |= {"TMPDIR": str(home), "XDG_DATA_HOME": str(home / "data"), "HF_HUB_OFFLINE": "1"}
    if tree:
        environment["PYTHONPATH"] = str((tree / "src").resolve())
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True)
    after, end = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    figures = {"user_s": after.ru_utime - before.ru_utime, "system_s": after.ru_stime - before.ru_stime}
    return {**figures, "clock_s": end - begin}


def asked(address: str) -> tuple[int, int]:
    """Returns how many questions the judge was asked since the last call, with how many pictures."""
    with urllib.request.urlopen(f"{address}/asked") as answer:
        counted = json.load(answer)
    return counted["questions"], counted["pictures"]


def measured(given: argparse.Namespace) -> dict[str, Any]:
    """Returns all figures."""
    sizes = sorted(int(count) for count in given.edits.split(","))
    runs: dict[str, dict[int, list[dict[str, float]]]] = {}
    with tempfile.TemporaryDirectory() as temporary, server(given.side) as address:
        there = Path(temporary)
        for turn in range(given.rounds):
            for count in [*([2] if not turn else []), *sizes]:  # the first compiles what is imported
                folder = there / f"{turn}-{count}"
                prepared(folder, count, given.side)
                profile = given.profile if count == max(sizes) else None
                for name, command in commands(given, folder, address, profile).items():
                    tree = given.beside if name == "beside" else None
                    cost = spent(command, there / "homes" / f"{name}-{turn}", tree)
                    if (counts := asked(address)) != (QUESTIONS * count, PICTURES * count):
                        sys.exit(f"{name} asked {counts[0]} questions with {counts[1]} pictures about {count} edits")
                    if count in sizes:
                        runs.setdefault(name, {}).setdefault(count, []).append(cost)
                        print(name, count, {what: round(each, 2) for what, each in cost.items()}, file=sys.stderr)
    return {name: line_through(by_count) for name, by_count in runs.items()}


def line_through(by_count: dict[int, list[dict[str, float]]]) -> dict[str, Any]:
    """Returns the medians over the rounds for each number of edits, and the line through the least and the most."""
    middle = {
        count: {what: round(statistics.median(cost[what] for cost in rounds), 2) for what in rounds[0]}
        for count, rounds in by_count.items()
    }
    total = {count: cost["user_s"] + cost["system_s"] for count, cost in middle.items()}
    few, many = min(total), max(total)
    each = (total[many] - total[few]) / max(1, many - few)
    return {"runs": middle, "fixed_s": round(total[few] - few * each, 2), "edit_ms": round(1000 * each, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--edits", default="50,500")
    parser.add_argument("--side", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--beside", type=Path, metavar="TREE")
    parser.add_argument("--evalscope", metavar="PYTHON")
    parser.add_argument("--inspect", metavar="PYTHON")
    parser.add_argument("--edited", action="store_true")
    parser.add_argument("--profile", type=Path)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        return serve(given.side)
    figures = measured(given)
    if given.json:
        return print(json.dumps(figures))
    for name, line in figures.items():
        print(f"{name}: {line['fixed_s']} s, and {line['edit_ms']} ms an edit with its {QUESTIONS} questions")
        for count, run in line["runs"].items():
            print(
                f"  {count} edits: {run['user_s']} s user, {run['system_s']} s system, {run['clock_s']} s by the clock"
            )
    return None


if __name__ == "__main__":
    main()
