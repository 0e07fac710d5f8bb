"""A run whose judge is a server that does all that servers do: what passes is waited out, the rest has no score."""

from __future__ import annotations

import re
import urllib.request
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edit_eval import evaluate
from edit_eval.errors import ConfigurationError, Stopped
from edit_eval.records import Status
from edit_eval.run import Run
from faults.faulty_runs import lines, settings
from judge_server import Asked, JudgeServer, Reply
from late_imports import needs
from small_benchmark import numbers, sample_id, write_benchmark

needs("aiohttp")

ONCE: dict[int, Reply] = {
    0: Reply.error(429, retry_after=0.2),
    1: Reply.error(500),
    2: Reply(manner="nothing"),
    3: Reply(manner="half"),
    4: Reply.html(502),
    5: Reply(body=b'{"error": {"message": "overloaded", "code": 503}}'),
    6: Reply(manner="hang"),
    7: Reply(manner="drip", seconds_a_byte=0.2),
}
ALWAYS: dict[int, Reply] = {
    8: Reply.error(500),
    9: Reply.html(),
    10: Reply(manner="hang_after_headers"),
    11: Reply.error(400, "picture too small"),
    12: Reply("I like it."),
    13: Reply("Score: 11"),
    14: Reply("Score: 8.7", finish_reason="length"),
}


def number_of(asked: Asked) -> int:
    match = re.search(r"turn it into (\d+)", asked.text)
    assert match
    return int(match[1])


def judged_by(server: JudgeServer, folder: Path, **params: Any) -> dict[str, Any]:
    what = settings(folder)
    given = {"device_ids": "cpu:1", "model": "judge", "base_url": server.base_url, "retries": 1, "concurrency": 6}
    what["reward_model"] = {"type": "chat_endpoint", "params": {**given, **params}}
    return what


def run_with(answer: Callable[[Asked], Reply], folder: Path, **params: Any) -> Run:
    with JudgeServer(answer) as server:
        return evaluate(judged_by(server, folder, **params), run_dir=folder / "run", report=False)


def test_what_passes_is_waited_out_and_the_rest_has_no_score(tmp_path: Path) -> None:
    write_benchmark(tmp_path, 18)
    times: dict[int, int] = defaultdict(int)

    def answer(asked: Asked) -> Reply:
        number = number_of(asked)
        times[number] += 1
        if times[number] == 1 and number in ONCE:
            return ONCE[number]
        return ALWAYS.get(number, Reply("Score: 5.000"))

    made = run_with(answer, tmp_path, attempt_timeout=8.0)
    judgements = {j.sample_id: j for j in made.results.judgements}
    status = [judgements[sample_id(n)].status for n in range(18)]
    assert status[:8] == [Status.OK] * 8
    assert status[8:12] == [Status.JUDGE_ERROR] * 4
    assert status[12:15] == [Status.UNPARSEABLE, Status.OUT_OF_RANGE, Status.CUT_OFF]
    assert status[15:] == [Status.OK] * 3
    reasons = [judgements[sample_id(n)].reason for n in range(18)]
    for number, words in ((8, "500"), (9, "with a chat completion"), (10, "in time"), (11, "picture too small")):
        assert words in reasons[number]
    assert numbers(made.summary).n == 11
    assert numbers(made.summary).mean == 5.0
    assert times[11] == 1, "what is wrong with the request is not asked twice"
    assert times[12] == times[13] == times[14] == 3, "what cannot be read is asked for again"
    raw = {r["sample"]: r["text"] for r in lines(made.path, "replies")}
    assert raw[sample_id(12)] == "I like it.", "raw answers are kept"
    assert raw[sample_id(14)] == "Score: 8.7", "as they came, also where they were cut off"


def test_scores_of_a_second_asking_are_counted(tmp_path: Path) -> None:
    """Two answers are cut off, two are prose, and a first line that is a score is whole whatever follows it."""
    write_benchmark(tmp_path, 8)
    first = {
        0: Reply("Score: 1", finish_reason="length"),
        1: Reply("10.0", finish_reason="length"),
        2: Reply("The light fits, I would say."),
        3: Reply("Between 6 and 7."),
        4: Reply("5.000\n\nThe light fits, and so", finish_reason="length"),
    }
    again: list[int] = []

    def answer(asked: Asked) -> Reply:
        number = number_of(asked)
        if number in again or number not in first:
            return Reply("5.000")
        again.append(number)
        return first[number]

    made = run_with(answer, tmp_path)
    assert made.summary.coverage.by_status == {"ok": 8}
    assert (made.summary.coverage.asked_again, numbers(made.summary).mean) == (4, 5.0)
    assert made.summary.results[0].coverage.asked_again == 4


@pytest.mark.parametrize("manner", ["nothing", "hang"])
def test_a_server_that_is_gone_leaves_all_pending_and_the_next_start_goes_on(tmp_path: Path, manner: str) -> None:
    """Or one that says that it is well, and whose engine has died: its `/health` is 200 all the time."""
    write_benchmark(tmp_path, 12)
    with JudgeServer() as server:
        port = server.port
        settled = 0

        def answer(asked: Asked) -> Reply:
            nonlocal settled
            settled += 1
            if settled > 5:
                server.canary = Reply(manner=manner)
                return Reply(manner=manner)
            return Reply("Score: 5.000")

        server.answer = answer
        what = judged_by(server, tmp_path, concurrency=2, attempt_timeout=5.0)
        said = (
            "cannot be reached, or dropped the connection"
            if manner == "nothing"
            else "did not finish its answer in time"
        )
        with pytest.raises(Stopped, match=said) as stopped:
            evaluate(what, run_dir=tmp_path / "run", report=False)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=20) as health:
            assert health.status == 200
    assert stopped.value.exit_code == 4
    status = [j.status for j in Run(tmp_path / "run").results.judgements]
    assert status.count(Status.OK) >= 4
    assert Status.JUDGE_ERROR not in status, "no sample pays for the server"
    with JudgeServer("Score: 5.000", port=port) as server:
        made = evaluate(what, run_dir=tmp_path / "run", report=False)
        assert len(server.judged) == status.count(Status.PENDING)
    assert made.summary.coverage.by_status == {"ok": 12}


def test_no_credit_at_the_first_request_is_no_fault_of_the_configuration(tmp_path: Path) -> None:
    write_benchmark(tmp_path, 3)
    with JudgeServer() as server:
        server.canary = Reply.error(402, "Insufficient credits")
        what = judged_by(server, tmp_path)
        with pytest.raises(Stopped, match="Insufficient credits"):
            evaluate(what, run_dir=tmp_path / "run", report=False)
        assert [j.status for j in Run(tmp_path / "run").results.judgements] == [Status.PENDING] * 3
        server.canary = Reply.error(401, "Incorrect API key provided")
        with pytest.raises(ConfigurationError, match="Incorrect API key"):
            evaluate(what, run_dir=tmp_path / "other", report=False)
        server.canary = "ok"
        assert evaluate(what, run_dir=tmp_path / "run", report=False).summary.coverage.by_status == {"ok": 3}
