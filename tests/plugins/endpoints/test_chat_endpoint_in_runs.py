"""A judge behind a server, asked by a worker of a run."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from documents import plain
from edit_eval import Run, evaluate
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.status.sheet import status_document
from edit_eval.statistics.timing import tokens
from judge_server import Asked, JudgeServer, Reply
from late_imports import needs
from small_benchmark import configuration, sample_id, write_benchmark

needs("aiohttp")


@pytest.fixture(autouse=True)
def no_server_but_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-CANARY-4f1b09d2")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with JudgeServer() as running:
        yield running


def test_in_a_run_each_edit_gets_its_own_answer_several_at_a_time(tmp_path: Path, server: JudgeServer) -> None:
    meeting = threading.Barrier(3)

    def rate(asked: Asked) -> Reply:
        if len(server.judged) <= 3:
            meeting.wait(60)
        number = int(asked.text.rpartition("turn it into ")[2].split()[0].strip(".\"'`"))
        return Reply(f"Score: {number}.250" if number != 5 else "no idea")

    server.answer, server.usage = rate, (1000, 5)
    write_benchmark(tmp_path, 9)
    settings = configuration(tmp_path, execution={"pilot": False})
    params = {"device_ids": "cpu:1", "model": "judge", "base_url": server.base_url, "concurrency": 3}
    params["price"] = [2.0, 10.0]
    settings["reward_model"] = {"type": "chat_endpoint", "params": params}
    made = evaluate(settings, run_dir=tmp_path / "run", report=False)
    scores = {j.sample_id: j.score for j in made.results.judgements}
    assert scores == {sample_id(n): n + 0.25 if n != 5 else None for n in range(9)}
    assert server.most_at_once == 3
    assert len(server.judged) == 8 + 3, "an answer that cannot be read is asked for again"
    (counted,) = tokens(Run(tmp_path / "run").results)  # as the records have it
    assert (counted.judgements, counted.read, counted.written) == (9, 11 * 1000, 11 * 5)
    assert counted.cost == pytest.approx(11 * (1000 * 2 + 5 * 10) / 1e6)
    assert plain(status_document(made.results))["tokens"] == [asdict(counted)]


WAITING = """
import time
from pathlib import Path


class Waiting:
    def __init__(self, parameters): ...
    def load(self, devices): ...

    def edit(self, request, on_step):
        end = time.monotonic() + 100
        while not request.sample_id.startswith("00000") and not Path("judged").exists():
            if time.monotonic() > end:
                raise RuntimeError("nothing is judged while it edits")
            time.sleep(0.01)
        return request.source
"""


@pytest.mark.parametrize("pilot", [False, True])
def test_it_judges_on_the_device_of_the_model_that_still_edits(
    tmp_path: Path, server: JudgeServer, monkeypatch: pytest.MonkeyPatch, pilot: bool
) -> None:
    """The second edit waits for the first judgement; and each is loaded once."""
    monkeypatch.chdir(tmp_path)

    def rate(asked: Asked) -> Reply:
        (tmp_path / "judged").touch()
        return Reply()

    server.answer = rate
    (tmp_path / "waiting.py").write_text(WAITING)
    settings = configuration(tmp_path, execution={"pilot": pilot})
    settings["diffusion_model"] = {"class_path": f"{tmp_path}/waiting.py:Waiting", "params": {"device_ids": "cpu:1"}}
    params = {"device_ids": "cpu:1", "model": "judge", "base_url": server.base_url}
    settings["reward_model"] = {"type": "chat_endpoint", "params": params}
    made = evaluate(settings, run_dir=tmp_path / "run", report=False)
    assert made.has_required_coverage
    assert all(judgement.score is not None for judgement in made.results.judgements)
    loaded = [activity.model for activity in made.results.telemetry.activities if activity.kind == "loading"]
    assert len(loaded) == len(set(loaded)) == 2


def test_a_model_that_the_server_does_not_know_is_a_wrong_configuration(tmp_path: Path, server: JudgeServer) -> None:
    server.canary = Reply.error(404, "the model `juge` does not exist")
    write_benchmark(tmp_path, 3)
    settings = configuration(tmp_path)
    params = {"device_ids": "cpu:1", "model": "juge", "base_url": server.base_url}
    settings["reward_model"] = {"type": "chat_endpoint", "params": params}
    with pytest.raises(ConfigurationError, match=r"^judge chat_endpoint: the judge's server answered 404"):
        evaluate(settings, run_dir=tmp_path / "run", report=False)
    assert not server.judged
