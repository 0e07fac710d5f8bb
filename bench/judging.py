"""Cost of asking a judge in each answer form: questions per second, and processor time besides the model's.

    python bench/judging.py [--json] [--only fake|server|local] [--samples N] [--side PIXELS]

The same edits are judged with few and with many readings, so that one-time work (starting workers, loading, edits, the
report) cancels out: the figures are slopes per question. Three judges on one CPU worker, pictures of 64 x 64: `fake`
answers at once, so all of its time is the harness's; `server` is `chat_endpoint` with the tests' imitation of vLLM in a
process of its own, eight questions at a time; `local` is Qwen3-VL with tiny random weights, one thread. For each form:
`questions_a_second`; `engine_ms` and `worker_ms`, processor time per question of the engine's process and of its
children (`local`: of the judge's worker since it was loaded); `model_ms`, the part of it spent by a local judge's
threads in its own `make_inputs` and `judge` (`timed_judge.py`); `harness_ms`, the rest. Forms that a judge lacks are
left out.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from edit_eval import evaluate
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.rehearse.in_worker.fake_models import middle_answer
from overhead import write_benchmark
from timed_judge import COUNTED_IN

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

V2 = "five_dimensions.v2"
FORMS: dict[str, dict[str, Any]] = {
    "score": {"answer": "score"},
    "reason_then_score": {"answer": "reason_then_score"},
    "json": {"answer": "json", "rubric": V2},
    "labels": {"answer": "labels", "rubric": V2},
    "probabilities": {"answer": "probabilities", "rubric": V2},
    "one_by_one": {"answer": "probabilities", "asked": "one_by_one", "rubric": V2},
}
READINGS = {"fake": (1, 25), "server": (1, 25), "local": (1, 9)}
"""Few and many readings; fewer for the tiny model, which is slow."""


BATCH = 2


def settings(folder: Path, judge: dict[str, Any], form: str, readings: int = 1) -> dict[str, Any]:
    """Returns the configuration of a run."""
    return {
        "benchmark": {"data_path": str(folder / "benchmark.json"), "cache_dir": str(folder / "cache")},
        "edit_models": {"editor": {"type": "testing", "params": {"device_ids": "cpu:1", "steps": 1}}},
        "judges": {"judge": judge},
        "protocol": {**FORMS[form], "retries": 0},
        "evaluation": {"controls": 0, "readings": readings},
        "execution": {"pilot": False, "progress": "none"},
    }


def judged(folder: Path, judge: dict[str, Any], form: str, readings: int) -> tuple[float, float, float, float, int]:
    """Returns seconds of a run, of its engine's processor time, its children's, the model's; and its questions."""
    counted = folder / "seconds"
    counted.write_text("")
    os.environ[COUNTED_IN] = str(counted)
    with tempfile.TemporaryDirectory(dir=folder) as name:
        run = Path(name) / "run"
        begin, engine, others = time.perf_counter(), time.process_time(), _children()
        made = evaluate(settings(folder, judge, form, readings), run_dir=run, report=False)
        seconds, engine, others = time.perf_counter() - begin, time.process_time() - engine, _children() - others
        questions = sum(len(reading) for judgement in made.results.judgements for reading in judgement.readings)
        model = 0.0
        if lines := counted.read_text().split():  # loading time varies by more than the effects measured here
            others, model = map(float, lines)
        return seconds, engine, others, model, questions


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def slopes(folder: Path, kind: str, judge: dict[str, Any], form: str) -> dict[str, float]:
    """Returns a form's figures, in milliseconds per question, and its questions per second."""
    few, many = (judged(folder, judge, form, readings) for readings in READINGS[kind])
    seconds, engine, others, model, questions = (b - a for a, b in zip(few, many, strict=True))
    per_question = {"engine_ms": engine / questions, "worker_ms": others / questions, "model_ms": model / questions}
    per_question["harness_ms"] = per_question["engine_ms"] + per_question["worker_ms"] - per_question["model_ms"]
    return {"questions_a_second": questions / seconds, **{name: 1000 * value for name, value in per_question.items()}}


@contextlib.contextmanager
def scripted_server() -> Iterator[str]:
    """Yields the address of the tests' judge server in a process of its own: its time is the model's, not ours."""
    program = [sys.executable, __file__, "--serve"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stdin is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.stdin.close()  # it ends when its standard input closes
            server.wait()


def serve() -> None:
    """Answers each request in the form it asks for, until standard input ends."""
    from edit_eval.judges.contract import JudgeRequest
    from judge_server import Asked
    from played_servers import KINDS, PlayedServer

    def answer(asked: Asked) -> str:
        wanted = (asked.body.get("response_format") or {}).get("json_schema", {}).get("schema")
        schema = json.dumps(wanted) if wanted else _schema_of(asked.text)
        return middle_answer(JudgeRequest(user="", schema=schema))

    with PlayedServer(KINDS["vllm"], {"5": 0.5, "B": 0.5}, answer=answer) as server:
        print(server.base_url, flush=True)
        sys.stdin.read()


def _schema_of(text: str) -> str:
    """Returns the schema of the object that a prompt shows on a line of its own, if any."""
    from edit_eval.protocols.replies import WORDS, number, object_schema, one_of

    shown = next((line for line in text.splitlines() if line.startswith('{"')), "")
    if not shown:
        return ""
    slots: dict[str, Any] = {'"...': WORDS, '"LETTER': one_of("A", "B", "C"), "NUMBER": number(-1, 1)}
    entries = [part.split('": ') for part in shown.strip("{}").split(", ")]
    return object_schema({name.strip('"'): slots[slot.rstrip('"}')] for name, slot in entries})


def judges(folder: Path, url: str, only: str) -> dict[str, dict[str, Any]]:
    """Returns the judges as configuration sections."""
    here = {"device_ids": "cpu:1"}
    sections = {
        "fake": {"type": "testing", "params": here},
        "server": {
            "type": "chat_endpoint",
            "params": {**here, "model": "judge", "base_url": url, "concurrency": 8, "temperature": 0.7},
        },
    }
    if only in ("", "local"):
        from tiny_models import build

        weights = str(build(folder / "weights", ["qwen3-vl"])["qwen3-vl"])
        params = {
            **here,
            "model_name": weights,
            "dtype": "float32",
            "max_new_tokens": 16,
            "temperature": 0.7,
            "batch_size": BATCH,
        }
        sections["local"] = {"class_path": f"{Path(__file__).parent}/timed_judge.py:TimedJudge", "params": params}
    return {kind: judge for kind, judge in sections.items() if only in ("", kind)}


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", choices=[*READINGS], default="")
    parser.add_argument("--samples", type=int, default=30)
    parser.add_argument("--side", type=int, default=64, help="of the square pictures, in pixels")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        serve()
        return
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # its own threads would be counted nowhere
    figures: dict[str, dict[str, dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as name, scripted_server() as url:
        folder = Path(name)
        write_benchmark(folder, arguments.samples, arguments.side)
        for kind, judge in judges(folder, url, arguments.only).items():
            judged(folder, judge, "score", 1)  # keeps imports and caching out of the slopes
            for form in FORMS:
                try:
                    figures.setdefault(kind, {})[form] = slopes(folder, kind, judge, form)
                except ConfigurationError as refused:  # it has no probabilities
                    print(f"{kind}, {form}: {refused}", file=sys.stderr)
    if arguments.json:
        rounded = {
            kind: {form: {name: round(value, 3) for name, value in numbers.items()} for form, numbers in forms.items()}
            for kind, forms in figures.items()
        }
        print(json.dumps({"figures": rounded}))
        return
    for kind, forms in figures.items():
        for form, numbers in forms.items():
            print(f"{kind:7} {form:18}", "  ".join(f"{key} {value:8.2f}" for key, value in numbers.items()))


if __name__ == "__main__":
    main()
