"""Times a service's answers: 1,024 pairs in one burst, and 64 clients with one pair at a time.

    python bench/serving.py [--pairs 1024] [--batch-seconds 0.05] [--format JPEG]
    python bench/serving.py --soak 600 [--rate 3] [--port 7861]

Pictures of 512 x 512, 16 edits per source. The judge answers at once, or after a given time per batch. The service runs
as `edit-eval serve` in a process of its own; processor time is that of the service and its workers only.

A soak sends good and damaged pairs, bodies that are bombs or none, hangs up, keeps silent, kills a worker and an opener
now and then, and every ten seconds records memory, open files and threads of the service. It exits with 1 if the last
third has more of any of them than the middle third. `--rate` bounds the requests a second of its senders. Where a
Prometheus server is installed (`prometheus`), one scrapes the service all the time, and what it has stored is held
against what the clients were answered.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import http.client
import io
import itertools
import json
import math
import os
import pickle
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from edit_eval.plugins.serve.pictures import check_picture
from edit_eval.plugins.serve.watch import LOOKED_AT, is_near_copy

EACH = 16
CLIENTS = 64
HEAD = b"POST /v1/score HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
PART = 128
"""Pairs per request of the burst: a thousand PNGs exceed the limit of one body."""
JUDGE = """
import time
class Prompt:
    only_looks = True
    def __init__(self, parameters): pass
    def load(self, devices): pass
    def judge(self, requests):
        began = time.monotonic()
        time.sleep({seconds})
        with open({busy!r}, "a") as busy:
            busy.write(f"{{began}} {{time.monotonic()}}\\n")
        return ["Score: 5.000"] * len(requests)
"""


def picture(seed: int, kind: str) -> str:
    """Returns a picture that compresses like a photograph, in base64."""
    noise = np.random.default_rng(seed).integers(0, 255, (48, 48, 3), dtype=np.uint8)
    data = io.BytesIO()
    made = Image.fromarray(noise).resize((512, 512), Image.Resampling.BICUBIC)
    made.save(data, kind, **({"quality": 75} if kind == "JPEG" else {}))
    return base64.b64encode(data.getvalue()).decode()


def seconds_of(process: int) -> float:
    """Returns the processor time of a process and its children in seconds."""
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


def body_of(document: dict[str, Any]) -> bytes:
    """Returns a request's body."""
    return json.dumps(document).encode()


def body(pairs: list[dict[str, str]]) -> bytes:
    """Returns a request of these pairs; made before timing starts, since its cost is the client's."""
    return body_of({"pairs": pairs})


class Client:
    """Posts bodies on one persistent connection, as a trainer's session does."""

    def __init__(self, address: str) -> None:
        parts = urllib.parse.urlsplit(address)
        self._path = parts.path
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=600)

    def post(self, data: bytes) -> float:
        """Returns the seconds until the answer, in which every pair must have a score."""
        began = time.monotonic()
        self._connection.request("POST", self._path, data, {"Content-Type": "application/json"})
        answer = self._connection.getresponse().read()
        took = time.monotonic() - began
        assert {row["status"] for row in json.loads(answer)["results"]} == {"ok"}
        return took


def started(folder: str, batch_seconds: float, program: list[str], *flags: str) -> tuple[subprocess.Popen[str], str]:
    """Starts a service with a judge that takes `batch_seconds`; returns it, once ready, and its address."""
    Path(folder, "prompt.py").write_text(JUDGE.format(seconds=batch_seconds, busy=f"{folder}/busy"))
    judge = {"class_path": f"{folder}/prompt.py:Prompt", "params": {"device_ids": "cpu:1", "batch_size": 8}}
    written = {"benchmark": "scenes", "diffusion_model": {"type": "scene_editor"}, "judges": {"prompt": judge}}
    config = Path(folder, "judge.yaml")
    config.write_text(json.dumps(written))
    command = [*program, "serve", str(config), "--port", "0", "--ledger", f"{folder}/ledger", *flags]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    address = next(match[0] for line in process.stderr if (match := re.search(r"http://\S+/v1/score", line)))
    # An unread pipe would block it.
    threading.Thread(target=shutil.copyfileobj, args=(process.stderr, sys.stderr), daemon=True).start()
    while True:
        try:
            urllib.request.urlopen(address.replace("/v1/score", "/health"))
            return process, address
        except OSError:
            time.sleep(0.1)


def measured(pairs: list[dict[str, str]], batch_seconds: float, watch: bool, decoded: float) -> dict[str, float]:
    """Measures a burst and many clients on a new service; decoding a pair takes `decoded` ms."""
    with tempfile.TemporaryDirectory() as folder:
        flags = [] if watch else ["--window", "0"]
        process, address = started(folder, batch_seconds, [sys.executable, "-m", "edit_eval"], *flags)
        Client(address).post(body(pairs[:8]))
        quiet = -1.0
        while (before := seconds_of(process.pid)) - quiet > 0.05:  # wait until the canaries' scenes are drawn
            quiet = before
            time.sleep(5)
        parts = [body(pairs[n : n + PART]) for n in range(0, len(pairs), PART)]
        with ThreadPoolExecutor(len(parts)) as at_once:
            began = time.monotonic()
            list(at_once.map(lambda part: Client(address).post(part), parts))
            took = time.monotonic() - began
        times = [tuple(map(float, line.split())) for line in Path(folder, "busy").read_text().splitlines()]
        busy = sum(min(end, began + took) - begin for begin, end in times if began < begin < began + took)
        used = seconds_of(process.pid) - before
        shares = [[body([pair]) for pair in pairs[n::CLIENTS]] for n in range(CLIENTS)]
        with ThreadPoolExecutor(CLIENTS) as clients:
            began = time.monotonic()
            of_each = list(clients.map(lambda bodies: [*map(Client(address).post, bodies)], shares))
            clients_took = time.monotonic() - began
        each = sorted(itertools.chain.from_iterable(of_each))
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    return {
        "burst pairs/s": len(pairs) / took,
        "processor ms a pair": 1000 * used / len(pairs),
        "beside decoding": 1000 * used / len(pairs) - decoded,
        "device busy": busy / took,
        "clients pairs/s": len(pairs) / clients_took,
        "p50 ms": 1000 * each[len(each) // 2],
        "p99 ms": 1000 * each[len(each) * 99 // 100],
    }


def openers_of(process: int) -> list[int]:
    """Returns the processes in which a service opens what it is sent."""
    openers = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parent = int(path.read_text().rpartition(")")[2].split()[1])
            if parent == process and b"serving.opening" in path.with_name("cmdline").read_bytes():
                openers.append(int(path.parent.name))
    return openers


def private_memory(process: int) -> float:
    """Returns a process's private memory in MiB; 0 for one that has ended."""
    with contextlib.suppress(OSError, StopIteration):
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("RssAnon")).split()[1]) / 1024
    return 0.0


def held(process: int) -> dict[str, float]:
    """Returns private memory in MiB of a service and of its largest opener, its open files and its threads."""
    return {
        "MiB": private_memory(process),
        "opener MiB": max(map(private_memory, openers_of(process)), default=0.0),
        "files": len(list(Path(f"/proc/{process}/fd").iterdir())),
        "threads": len(list(Path(f"/proc/{process}/task").iterdir())),
    }


class Hostile:
    """Would run a command when it is unpickled."""

    def __reduce__(self) -> Any:
        return os.system, ("false",)


def junk() -> list[tuple[str, bytes]]:
    """Returns bodies that a service must refuse, each with its address."""
    laughing = b"q\x000(h\x00h\x00t" * 60
    programs = [
        pickle.dumps({"images": Hostile(), "prompts": []}),
        b")" + laughing + b"q\x010}(h\x01Nu.",
        b"(\x91" + laughing + b"q\x010(h\x01\x91.",
        pickle.dumps({k * (2**61 - 1): None for k in range(1, 5000)}),
        b"\x80\x05\x96" + (2 << 30).to_bytes(8, "little") + b".",
        b"\x80\x04\x8e" + (1 << 40).to_bytes(8, "little") + b".",
        b"N0" * 300_000 + b".",
        b"]" * 100_000 + b"a" * 99_999 + b".",
        pickle.dumps({"images": [b"x" * 5000]})[:-100],
        b"",
    ]
    texts = [
        b"[" * 50_000,
        b'{"pairs": []}',
        b"{",
        b'{"pairs": [{"source": "", "instruction": " ", "edit": ""}]',
        b"\xff",
    ]
    return [
        *(("/", program) for program in programs),
        *((path, text) for path in ("/v1/score", "/compute") for text in texts),
    ]


SOAKED = """
import sys
from edit_eval.plugins.serve.service import Service
Service.__init__.__kwdefaults__["most_pairs"] = 500  # so that many runs of the ledger are begun and left
from edit_eval.cli import main
sys.argv = ["edit-eval", *sys.argv[1:]]
main()
"""


class Soak:
    """Mixed traffic, good and bad, at a service for a while."""

    def __init__(self, process: int, address: str, seconds: float, rate: float = math.inf) -> None:
        self._process, parts = process, urllib.parse.urlsplit(address)
        self._place, self._address = (parts.hostname or "", parts.port or 0), address.removesuffix("/v1/score")
        self._made = [picture(n, "JPEG") for n in range(40)]
        self._junk, self._number = junk(), itertools.count()
        self.seconds, self._began, self._rate = seconds, time.monotonic(), rate
        self._end = self._began + seconds
        self.done: Counter[str] = Counter()
        """Requests by what they were and what came of them."""
        self.health: list[float] = []
        """Seconds until each answer of `/health`."""

    @property
    def left(self) -> float:
        """Seconds until its end."""
        return self._end - time.monotonic()

    def clients(self) -> list[Callable[[], None]]:
        """Returns what is to run at once, each until the end."""
        return [*[self._send] * 8, self._keep_silent, self._break_off, self._ask_for_health]

    def _post(self, kind: str, path: str, body: bytes) -> bytes:
        request = urllib.request.Request(self._address + path, data=body)
        try:
            with urllib.request.urlopen(request, timeout=600) as answer:
                self.done[f"{kind} {answer.status}"] += 1
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            self.done[f"{kind} {error.code}"] += 1
            return error.read()

    def _send(self) -> None:
        """Pairs at the native door and two of trainers', with damaged pictures and junk among them."""
        while self.left > 0:
            n = next(self._number)
            time.sleep(min(max(0.0, self._began + n / self._rate - time.monotonic()), max(0.0, self.left)))
            source, edit = self._made[n % 8], self._made[8 + n % 32]
            count = 1 + n % 8
            if n % 5 == 2:
                self._post("junk", *self._junk[n // 5 % len(self._junk)])
            elif n % 5 == 3:
                decoded = [base64.b64decode(encoded) for encoded in (source, edit)]
                rows: dict[str, Any] = {"ref_images": decoded[:1] * count, "images": decoded[1:] * count}
                answer = self._post("flow_grpo", "/", pickle.dumps({**rows, "prompts": ["make it red"] * count}))
                assert pickle.loads(answer)["scores"] == [0.5] * count
            elif n % 5 == 4:
                rows = {"prompt": ["make it red"] * count, "image": [edit] * count}
                answer = self._post(
                    "flow_factory", "/compute", body_of({**rows, "condition_images": [[source]] * count})
                )
                assert json.loads(answer)["rewards"] == [0.5] * count
            else:
                pairs = [{"source": source, "instruction": "make it red", "edit": edit}] * count
                pairs.append({**pairs[0], "edit": edit[:2000]})
                answer = self._post("native", "/v1/score", body(pairs))
                assert [row["score"] for row in json.loads(answer)["results"]] == [5.0] * count + [None]

    def _keep_silent(self) -> None:
        """Connections that say nothing, half a head, or announce half a gigabyte."""
        while self.left > 0:
            with contextlib.ExitStack() as held:
                for said in (b"", b"GET /health HTTP/1.1\r\n", HEAD % 500_000_000, HEAD % 99 + b"{") * 25:
                    connection = held.enter_context(socket.create_connection(self._place))
                    connection.sendall(said)
                self.done["silent"] += 100
                time.sleep(min(5, max(0, self.left)))

    def _break_off(self) -> None:
        """Clients that hang up: in the middle of a body, and when they have sent it."""
        whole = body([{"source": self._made[0], "instruction": "make it red", "edit": self._made[9]}] * 4)
        while self.left > 0:
            for said in (HEAD % len(whole) + whole, HEAD % len(whole) + whole[:50_000]):
                with socket.create_connection(self._place) as gone:
                    gone.sendall(said)
                self.done["gone"] += 1
            time.sleep(0.5)

    def _ask_for_health(self) -> None:
        while self.left > 0:
            began = time.monotonic()
            with contextlib.suppress(urllib.error.HTTPError):
                urllib.request.urlopen(f"{self._address}/health", timeout=600).close()
            self.health.append(time.monotonic() - began)
            time.sleep(0.25)


SCRAPED_EVERY = 5
"""Seconds."""


class Prometheus:
    """A Prometheus server that scrapes a service, if one is installed."""

    def __init__(self, folder: str, address: str) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        if shutil.which("prometheus") is None:
            return
        place = urllib.parse.urlsplit(address).netloc
        job = {"job_name": "edit-eval", "static_configs": [{"targets": [place]}]}
        config = Path(folder, "prometheus.yml")
        config.write_text(json.dumps({"global": {"scrape_interval": f"{SCRAPED_EVERY}s"}, "scrape_configs": [job]}))
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        self._address = f"http://127.0.0.1:{port}/api/v1/query"
        self._process = subprocess.Popen(
            [
                *("prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder}/prometheus"),
                *(f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"),
            ]
        )

    def asked(self, expression: str) -> dict[str, float]:
        """Returns the value of each series that an expression of PromQL gives, by its labels; none without a server."""
        if self._process is None:
            return {}
        query = urllib.parse.urlencode({"query": expression})
        with urllib.request.urlopen(f"{self._address}?{query}", timeout=60) as answer:
            all_series = json.load(answer)["data"]["result"]
        return {" ".join(map(str, series["metric"].values())): float(series["value"][1]) for series in all_series}

    def close(self) -> None:
        """Ends it."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(60)


def was_scraped(prometheus: Prometheus, soaking: Soak) -> bool:
    """True if what Prometheus has stored is what the clients were answered; prints it. True without a server, too."""
    kept = f"[{math.ceil(soaking.seconds) + 60}s]"
    if not (answered := prometheus.asked("sum by (door, outcome) (edit_eval_requests_total)")):
        print("no Prometheus server is installed: nothing has scraped it")
        return shutil.which("prometheus") is None
    for said in (
        f"count_over_time(up{kept})",
        f"sum_over_time(up{kept})",
        f"max_over_time(scrape_duration_seconds{kept})",
        "sum by (status) (edit_eval_judgements_total)",
        f"max_over_time(edit_eval_waiting{kept})",
        "edit_eval_cancelled_total",
        "edit_eval_alarms_total",
        "edit_eval_replicas",
        "histogram_quantile(0.99, sum by (door, le) (edit_eval_request_seconds_bucket))",
        'count({__name__=~"edit_eval_.*"})',
    ):
        print(f"Prometheus: {said}: {prometheus.asked(said)}")
    print(f"Prometheus: requests: {answered}")
    good = {door: sum(n for kind, n in soaking.done.items() if kind == f"{door} 200") for door in SOAKED_DOORS}
    seen = {door: sum(n for labels, n in answered.items() if labels.split() == [door, "ok"]) for door in good}
    print(f"answers that clients read: {good}, that Prometheus has: {seen}")
    return all(good[door] <= seen[door] for door in good)


SOAKED_DOORS = ("native", "flow_grpo", "flow_factory")


def soak(seconds: float, rate: float = math.inf, port: int = 0) -> bool:
    """True if a service uses no more after `seconds` than in the middle."""
    with tempfile.TemporaryDirectory() as folder:
        doors = ",".join(SOAKED_DOORS[1:])
        flags = ("--window", "128", "--ledger-size", "0.1", "--door", doors, "--port", str(port))
        process, address = started(folder, 0.01, [sys.executable, "-c", SOAKED], *flags)
        prometheus = Prometheus(folder, address)
        soaking = Soak(process.pid, address, seconds, rate)
        seen: list[dict[str, float]] = []
        clients = soaking.clients()
        with ThreadPoolExecutor(len(clients)) as at_once:
            running = [at_once.submit(client) for client in clients]
            while soaking.left > 0:
                time.sleep(10)
                assert process.poll() is None, f"the service has ended with {process.returncode}"
                seen.append(held(process.pid))
                said = {name: round(value) for name, value in seen[-1].items()}
                print(f"  {seconds - soaking.left:.0f} s: {said}, {soaking.done.total()} requests", flush=True)
                workers = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
                ended = workers if len(seen) % 6 == 3 else openers_of(process.pid)[:1] if len(seen) % 6 == 5 else []
                for pid in ended:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(int(pid), signal.SIGKILL)
            for each in running:
                each.result()
        runs = sorted(Path(folder, "ledger").glob("0*"))
        time.sleep(2 * SCRAPED_EVERY)
        scraped = was_scraped(prometheus, soaking)
        prometheus.close()
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    third = len(seen) // 3
    middle, last = seen[third : 2 * third], seen[2 * third :]
    more = {name: max(usage[name] for usage in last) - max(usage[name] for usage in middle) for name in seen[0]}
    print(f"requests: {dict(sorted(soaking.done.items()))}; the ledger's last run: {runs[-1].name}")
    late = sum(took > 1 for took in soaking.health)
    print(f"/health: {len(soaking.health)} answers, {max(soaking.health):.2f} s at most, {late} after a second")
    print(f"the last third against the middle one, at most: {more}")
    level = more["MiB"] < 0.1 * middle[0]["MiB"] and more["opener MiB"] < 0.5 * middle[0]["opener MiB"]
    return scraped and level and more["files"] <= 64 and more["threads"] <= 4


def decoding(pairs: list[dict[str, str]], watch: bool) -> float:
    """Returns ms of processor time of decoding an edit and its share of a source; the watch decodes some once more."""
    few = [
        {name: check_picture(base64.b64decode(pair[name]), name) for name in ("source", "edit")} for pair in pairs[:256]
    ]
    passes = []
    held: deque[Image.Image] = deque(maxlen=EACH)  # else the memory of each goes back to the system, and costs again
    for _ in range(5):  # the first ones warm up
        began = time.process_time()
        for place, pair in enumerate(few):
            for name in ("edit", "source") if place % EACH == 0 else ("edit",):
                held.append(Image.open(io.BytesIO(pair[name].data)).convert("RGB"))
            if watch and place % EACH < LOOKED_AT:
                is_near_copy(pair["source"], pair["edit"])
        passes.append(time.process_time() - began)
    return 1000 * min(passes) / len(few)


def main() -> None:
    """Prints a line per case."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=1024)
    parser.add_argument("--format", choices=("JPEG", "PNG"), action="append")
    parser.add_argument("--batch-seconds", type=float, default=0.05)
    parser.add_argument("--soak", type=float, metavar="SECONDS")
    parser.add_argument("--rate", type=float, default=math.inf, help="requests a second of a soak, at most")
    parser.add_argument("--port", type=int, default=0, help="of the service that is soaked")
    given = parser.parse_args()
    if given.soak:
        sys.exit(0 if soak(given.soak, given.rate, given.port) else 1)
    for kind in given.format or ("JPEG", "PNG"):
        sources = [picture(n, kind) for n in range(max(1, given.pairs // EACH))]
        pairs = [
            {"source": sources[n // EACH], "instruction": "make it red", "edit": picture(10_000 + n, kind)}
            for n in range(given.pairs)
        ]
        for seconds, watch in ((0.0, False), (0.0, True), (given.batch_seconds, True)):
            decoded = decoding(pairs, watch)
            figures = measured(pairs, seconds, watch, decoded)
            said = ", ".join(f"{name} {value:.2f}" for name, value in figures.items())
            case = f"batch of {seconds * 1000:.0f} ms, watch {'on' if watch else 'off'}"
            print(f"  {case}: decoding {decoded:.2f} ms, {said}", flush=True)


if __name__ == "__main__":
    main()
