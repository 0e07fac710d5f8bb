"""A service over HTTP: every pair has a status of its own, requests wait, and the ledger is a run."""

from __future__ import annotations

import gc
import io
import itertools
import json
import os
import signal
import socket
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from PIL import Image

from edit_eval.errors import RunDirectoryError
from edit_eval.plugins.serve.ledger import name_of
from edit_eval.plugins.serve.scoring import score_table
from edit_eval.run import Run, compare
from plugins.serve.service_at_work import Serve, Served, configured, encoded, pair, text


def replies(served: Served) -> list[dict[str, object]]:
    lines = (served.service.ledger.directory.path / "replies" / "0001.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def wait_until(true: object, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def hung_up(served: Served, pairs: list[dict[str, object]]) -> None:
    """A client sends pairs and is gone when they were admitted."""
    body = json.dumps({"pairs": pairs}).encode()
    with socket.create_connection(("127.0.0.1", served.port)) as client:
        client.sendall(b"POST /v1/score HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        wait_until(lambda: len(served.service.ledger.matrix.samples) == len(pairs))
    wait_until(lambda: served.service.n_waiting == 0)


def test_each_pair_has_its_own_status(served: Served) -> None:
    answers = served.score(
        pair(255, id="red"),
        pair(0),
        {**pair(0), "edit": "AAAA"},
        pair(255, "mumble something"),
        pair(255, "fail at this"),
        pair(128),
    )
    assert [answer["status"] for answer in answers] == ["ok", "ok", "skipped", "unparseable", "judge_error", "ok"]
    assert [answer["score"] for answer in answers if answer["status"] != "ok"] == [None, None, None]
    assert answers[0]["id"] == "red"
    assert answers[0]["reward"] == pytest.approx(answers[0]["score"] / 10)
    assert answers[0]["score"] > answers[5]["score"] > answers[1]["score"]
    assert answers[0]["form"] == {"format": "JPEG", "quality": 75, "width": 32, "height": 32}
    assert "not a picture" in answers[2]["reason"]
    assert "fails on purpose" in answers[4]["reason"]


def test_the_ledger_is_a_run_with_the_same_scores(serve: Serve) -> None:
    served = serve()
    answered = served.score(*(pair(red, id=str(red)) for red in (250, 10, 120)), pair(90, "mumble", id="none"))
    served.service.close()
    assert served.service.ended.wait(60)
    run = Run(served.service.ledger.directory.path)
    kept = {judgement.sample_id: (judgement.status.value, judgement.score) for judgement in run.results.judgements}
    assert kept == {name_of(n, one["id"]): (one["status"], one["score"]) for n, one in enumerate(answered)}
    assert {sample.facts["form"]["quality"] for sample in run.results.samples} == {75}
    assert run.results.edit_models == ("client",)
    run.write_report()
    assert run.page.is_file()
    assert Run(served.service.ledger.folder).path == run.path


def test_a_ledger_is_judged_again_and_compared(serve: Serve, tmp_path: Path) -> None:
    served = serve()
    answered = served.score(*(pair(red, id=str(red)) for red in (250, 10, 120)), pair(90, "mumble", id="none"))
    served.service.close()
    assert served.service.ended.wait(60)
    ledger = served.service.ledger.folder
    configured(tmp_path, second=True)

    again = score_table(ledger, judge=tmp_path / "judge.yaml", only="redness", run_dir=tmp_path / "same")
    named = [(name_of(n, answer["id"]), answer["score"]) for n, answer in enumerate(answered)]
    assert [(score.id, score.score) for score in again] == named
    (pair_of_runs,) = compare([ledger, tmp_path / "same"]).pairs
    assert (pair_of_runs.n, pair_of_runs.difference) == (3, 0)

    other = score_table(ledger, judge=tmp_path / "judge.yaml", only="even", run_dir=tmp_path / "other")
    assert [score.score for score in other] == [5.0] * 4
    between = Run(ledger).analysis("agreement", others=[Run(tmp_path / "other")]).between_judges
    assert (between.judges, between.edits) == (
        ["redness", "even"],
        3,
    )  # the edits are known by their pixels, though one run has JPEGs and the other PNGs


def test_several_runs_of_a_ledger_are_named(tmp_path: Path) -> None:
    for name in ("0001", "0002"):
        (tmp_path / name / "config").mkdir(parents=True)
    with pytest.raises(RunDirectoryError, match="0002"):
        Run(tmp_path)


def test_answers_say_which_rater_gave_them(served: Served) -> None:
    heard = served.post("/v1/score", json.dumps({"pairs": [pair(3)]}).encode())
    known = served.get("/v1/identity").document
    assert heard.document["identity"] == known["digest"]
    assert heard.document["passports"] == {"redness": "not audited"}
    assert known["judges"]["redness"]["scales"]["score"]["highest"] == 10
    assert "/v1/score" in served.get("/openapi.json").document["paths"]
    health = served.get("/health").document
    assert (health["status"], "redness" in health["rewards"]) == ("ok", True)
    figures = served.get("/metrics").body.decode()
    assert 'edit_eval_judgements_total{judge="redness",status="ok"}' in figures


def test_requests_share_batches(serve: Serve) -> None:
    served = serve(batch_size=8)
    with ThreadPoolExecutor(25) as clients:
        first = clients.submit(served.score, pair(1, "slow 2"))  # meanwhile the others come
        wait_until(lambda: served.service.replicas()[0].hands)
        rest = [clients.submit(served.score, pair(red, source=red % 3)) for red in range(24)]
        assert first.result()[0]["status"] == "ok"
        assert {future.result()[0]["status"] for future in rest} == {"ok"}
    sizes = [reply["batch"] for reply in replies(served)]
    assert max(sizes) == 8
    assert len(sizes) == 25


def test_pictures_by_path_lie_below_the_root(served: Served) -> None:
    answers = served.score(
        {**pair(0), "edit": {"path": "edit.jpg"}},
        {**pair(0), "edit": {"path": "../edit.jpg"}},
        {**pair(0), "edit": {"path": "/etc/passwd"}},
    )
    assert [answer["status"] for answer in answers] == ["ok", "skipped", "skipped"]


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b'{"pairs": []}', b'{"pairs": [{"source": 3}]}', json.dumps({"pairs": [pair(0)], "x": 1}).encode()],
)
def test_what_is_no_request_is_named(served: Served, body: bytes) -> None:
    heard = served.post("/v1/score", body)
    assert heard.status == 400
    assert heard.document["error"]


def test_only_with_the_token_and_never_for_a_browsers_page(serve: Serve, served: Served) -> None:
    guarded = serve(token="open-sesame")
    body = json.dumps({"pairs": [pair(0)]}).encode()
    assert guarded.post("/v1/score", body).status == 401
    assert guarded.post("/other/v1/score", body).status == 401
    assert guarded.post("/v1/score", body, {"Authorization": "Bearer open-sesame"}).status == 200
    assert guarded.post("/open-sesame/v1/score", body).status == 200
    assert served.post("/v1/score", body, {"Origin": "http://127.0.0.1"}).status == 403
    assert served.get("/health", {"Sec-Fetch-Site": "cross-site"}).status == 403


def test_whoever_hangs_up_frees_the_work(serve: Serve) -> None:
    served = serve(batch_size=1)
    hung_up(served, [pair(n, "slow 0.5") for n in range(40)])
    assert served.service.cancelled
    assert served.score(pair(255))[0]["status"] == "ok"
    assert len(replies(served)) < 40


def test_a_worker_that_dies_in_a_batch_costs_no_score(serve: Serve, tmp_path: Path) -> None:
    served = serve()
    answers = served.score(*(pair(red) for red in (10, 250)), pair(100, f"crash {tmp_path / 'crashed'}"))
    assert (tmp_path / "crashed").exists()
    assert [answer["status"] for answer in answers] == ["ok"] * 3


def test_what_failed_in_one_run_of_a_ledger_is_not_held_against_the_next(serve: Serve, tmp_path: Path) -> None:
    served = serve(ledger={"most_pairs": 1})  # the first cell of each run has the same number
    for n in range(3):
        (answer,) = served.score(pair(100, f"crash {tmp_path / str(n)}"))
        assert (answer["status"], (tmp_path / str(n)).exists()) == ("ok", True)


def test_what_was_admitted_is_answered_before_the_end(serve: Serve) -> None:
    served = serve()
    with ThreadPoolExecutor(1) as client:
        slow = client.submit(served.score, *(pair(n, "slow 0.3") for n in range(5)))
        wait_until(lambda: served.service.n_waiting == 5)
        served.service.close()
        heard = served.post("/v1/score", json.dumps({"pairs": [pair(0)]}).encode())
        assert (heard.status, "Retry-After" in {name.title() for name in heard.headers}) == (503, True)
        assert [answer["status"] for answer in slow.result()] == ["ok"] * 5
    assert served.service.ended.wait(60)


def test_requests_wait_rather_than_are_refused(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    served = serve(most_pairs=1, batch_size=1)
    with ThreadPoolExecutor(3) as clients:
        every = [clients.submit(served.score, pair(n, "slow 0.2")) for n in range(3)]
        assert {future.result()[0]["status"] for future in every} == {"ok"}
    monkeypatch.setattr("edit_eval.plugins.serve.application.NATIVE_SECONDS", 1.0)
    with ThreadPoolExecutor(1) as clients:
        first = clients.submit(served.post, "/v1/score", json.dumps({"pairs": [pair(0, "slow 3")]}).encode())
        wait_until(lambda: served.service.n_waiting == 1)
        heard = served.post("/v1/score", json.dumps({"pairs": [pair(1)]}).encode())
        assert (heard.status, heard.headers["retry-after"]) == (503, "2")
        assert first.result().status == 503


def test_a_full_run_is_followed_by_another_and_the_oldest_goes(serve: Serve) -> None:
    served = serve(ledger={"most_pairs": 3, "ledger_bytes": 1})
    for n in range(4):
        assert [answer["status"] for answer in served.score(pair(n), pair(n + 100))] == ["ok", "ok"]
    assert [path.name for path in served.service.ledger.volumes()] == ["0002", "0003"]


TWICE = """
from typing import ClassVar
from edit_eval.protocols.contract import Question, Score
from edit_eval.records import Reading, Scale

class Twice:
    scores: ClassVar = {"score": Score(scale=Scale(lowest=0, highest=10), needs=("second",))}
    headline = "score"
    def __init__(self, parameters): pass
    def questions(self, sample):
        first = Question(name="first", gives=("first",), user="How red?")
        return [first, Question(name="second", gives=("second",), user="Again?", after=("first",))]
    def read(self, question, reply):
        return Reading(values={question.name: float(reply.text.split()[-1])})
"""


def test_whoever_hangs_up_while_no_judge_is_loaded_leaves_nothing_in_a_full_run(serve: Serve, tmp_path: Path) -> None:
    configured(tmp_path)
    written = json.loads((tmp_path / "judge.yaml").read_text())
    (tmp_path / "twice.py").write_text(TWICE)
    written["judges"]["redness"]["protocol"] = {"class_path": f"{tmp_path}/twice.py:Twice"}
    (tmp_path / "judge.yaml").write_text(json.dumps(written))
    served, hold = serve(judge=str(tmp_path / "judge.yaml"), ledger={"most_pairs": 4}), tmp_path / "hold"
    hold.touch()
    (worker,) = served.service._driver._processes.values()
    os.kill(worker.process.pid, signal.SIGKILL)
    wait_until(lambda: served.service.replicas()[0].state != "loaded")
    hung_up(served, [pair(n) for n in range(4)])
    with ThreadPoolExecutor(1) as clients:
        next_run = clients.submit(served.score, pair(250, id="first"))
        wait_until(lambda: served.service.ledger.directory.path.name == "0002")
        hold.unlink()
        assert next_run.result()[0]["status"] == "ok"


@pytest.mark.check
def test_what_is_over_leaves_nothing_behind(serve: Serve) -> None:
    served = serve(ledger={"most_pairs": 8})

    def held() -> Counter[str]:
        """Objects of each class, after sixteen pairs more."""
        for _ in range(4):
            served.score(pair(250), pair(9, "mumble"), {**pair(0), "edit": "AAAA"}, pair(7, "fail"), pair(3))
        wait_until(lambda: served.service.n_waiting == 0)
        gc.collect()
        return Counter(f"{type(value).__module__}.{type(value).__qualname__}" for value in gc.get_objects())

    held()
    rounds = [held() for _ in range(4)]
    # What is kept grows with every round; a cache that fills, or a thread that is not yet done, grows in one of them.
    steps = [later - earlier for earlier, later in itertools.pairwise(rounds)]
    assert {name: more for name in rounds[-1] if (more := min(step[name] for step in steps)) >= 8} == {}


def test_what_cannot_be_a_picture_is_known_by_its_header(served: Served) -> None:
    whole = encoded(9)
    bomb = encoded(9, "PNG", 8)
    wide = bomb[:16] + (60_000).to_bytes(4, "big") + (60_000).to_bytes(4, "big") + bomb[24:]
    sent = [whole[: len(whole) // 2], b"GIF89a", wide, whole]
    answers = served.score(*({**pair(0), "edit": text(picture)} for picture in sent))
    assert [answer["status"] for answer in answers] == ["skipped", "skipped", "skipped", "ok"]


@pytest.mark.check
def test_a_jpeg_as_phones_write_it_is_a_jpeg(served: Served) -> None:
    several = io.BytesIO()
    shots = [Image.new("RGB", (8, 8), (red, 0, 0)) for red in (255, 0)]
    shots[0].save(several, "MPO", save_all=True, append_images=shots[1:])
    (answer,) = served.score({**pair(0), "source": text(several.getvalue()), "edit": text(several.getvalue())})
    assert (answer["status"], answer["form"]["format"]) == ("ok", "JPEG")
    assert answer["reward"] == pytest.approx(1, abs=0.02)
