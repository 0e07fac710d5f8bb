"""What a server can do, found out by the workers of a run: told beforehand how the judge will answer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from edit_eval import evaluate
from edit_eval.errors import ConfigurationError
from edit_eval.records import Status
from edit_eval.run import Run
from faults.faulty_runs import Ears
from judge_server import Asked, Reply
from late_imports import needs
from level_of_edit import RUBRIC
from played_servers import KINDS, PICTURE_TOKENS, Kind, PlayedServer
from small_benchmark import configuration, sample_id, write_benchmark

needs("aiohttp")

PROTOCOL = f"{Path(__file__).parents[2] / 'level_of_edit.py'}:LevelOfEdit"
FIRST = {"A": 0.125, "B": 0.25, "C": 0.5, "The": 0.125}
COUNT = 6


@pytest.fixture(autouse=True)
def no_server_but_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


@pytest.fixture
def servers() -> Iterator[list[PlayedServer]]:
    running: list[PlayedServer] = []
    yield running
    for server in running:
        server.close()


def what(
    folder: Path, server: PlayedServer, *, protocol: dict[str, Any] | None = None, **params: Any
) -> dict[str, Any]:
    write_benchmark(folder, COUNT)
    given = {"device_ids": "cpu:1", "model": "judge", "base_url": server.base_url, "retries": 1, **params}
    return configuration(
        folder,
        edit={"device_ids": "cpu:1"},
        execution={"pilot": False},
        reward_model={"type": "chat_endpoint", "params": given},
        protocol={"class_path": PROTOCOL, **(protocol or {})},
    )


def masses(made: Run) -> list[Any]:
    return [reading["level"].mass for j in made.results.judgements for reading in j.readings]


def test_probabilities_become_readings_with_their_mass_and_another_way_is_said(
    tmp_path: Path, servers: list[PlayedServer]
) -> None:
    servers.append(server := PlayedServer(KINDS["vllm"], FIRST))
    server.answer = lambda asked: Reply.error(400) if len(server.judged) > 2 else Reply("C")
    settings = what(tmp_path, server, concurrency=1)
    evaluate(settings, run_dir=tmp_path / "run", report=False)
    server.kind, server.answer = KINDS["vllm"].without("logprob_token_ids"), "C"
    ears = Ears()
    made = evaluate(settings, run_dir=tmp_path / "run", report=False, retry=["judge_error"], spectator=ears)
    assert any("probabilities logprob_token_ids, mass kept -> top_logprobs, mass kept" in note for note in ears.notes)
    scores = {j.sample_id: j.score for j in made.results.judgements}
    expected = (0.25 + 2 * 0.5) / 0.875
    assert scores == pytest.approx({sample_id(n): expected for n in range(COUNT)})
    assert masses(made) == pytest.approx([0.875] * COUNT)


def test_what_the_server_cannot_do_stops_the_run_before_anything_is_judged(
    tmp_path: Path, servers: list[PlayedServer]
) -> None:
    servers.append(server := PlayedServer(KINDS["transformers"], FIRST))
    with pytest.raises(ConfigurationError, match=r"^judge .*write `probabilities: systemone`"):
        evaluate(what(tmp_path, server), run_dir=tmp_path / "run", report=False)
    assert not server.judged
    made = evaluate(what(tmp_path, server, probabilities="systemone"), run_dir=tmp_path / "run", report=False)
    assert {j.status for j in made.results.judgements} == {Status.OK}
    assert masses(made) == ["unknown"] * COUNT


def test_one_question_s_refusal_is_no_other_s(tmp_path: Path, servers: list[PlayedServer]) -> None:
    refusal = {"choices": [{"message": {"content": None, "refusal": "No."}, "finish_reason": "stop"}]}
    half = {"choices": [{"message": {"content": '{"level": '}, "finish_reason": "length"}]}

    def answer(asked: Asked) -> Reply:
        for number, reply in ((1, Reply.json(refusal)), (2, Reply.json(half)), (3, Reply('{"level": '))):
            if f"turn it into {number}" in asked.text:
                return reply
        return Reply('{"level": 1}')

    servers.append(server := PlayedServer(KINDS["openai"], answer=answer))
    made = evaluate(what(tmp_path, server, protocol={"written": True}), run_dir=tmp_path / "run", report=False)
    statuses = {j.sample_id: j.status for j in made.results.judgements}
    assert [statuses[sample_id(n)] for n in range(COUNT)] == [
        Status.OK,
        Status.REFUSED,
        Status.CUT_OFF,
        Status.UNPARSEABLE,
        Status.OK,
        Status.OK,
    ]


def test_the_second_edit_of_a_source_reuses_rubric_and_source(tmp_path: Path, servers: list[PlayedServer]) -> None:
    """Both are there when the judge begins; the server remembers no more than its last four prompts."""
    servers.append(server := PlayedServer(Kind(KINDS["vllm"].fields), FIRST))
    settings = what(tmp_path, server, concurrency=1)
    edit = settings.pop("diffusion_model")
    settings["edit_models"] = {"one": edit, "two": {**edit, "params": {**edit["params"], "seed": 1}}}
    judge = settings["reward_model"]
    settings["reward_model"] = {"type": "testing", "params": {"device_ids": "cpu:1"}}
    protocol = settings.pop("protocol")
    evaluate(settings, run_dir=tmp_path / "run", report=False)
    settings |= {"reward_model": judge, "protocol": protocol}
    evaluate(settings, run_dir=tmp_path / "run", report=False)
    rubric = 1 + len(RUBRIC.split())
    assert len(server.cached) == 2 * COUNT
    assert all(count < PICTURE_TOKENS for count in server.cached[::2]), "a source that was not there before"
    assert all(PICTURE_TOKENS + rubric <= count < 2 * PICTURE_TOKENS for count in server.cached[1::2])
