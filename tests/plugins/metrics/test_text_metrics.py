"""Writing that is really drawn, really read: no engine is played, and no network is there to help."""

from __future__ import annotations

import random
import socket
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from edit_eval.errors import ModelError
from edit_eval.judges.contract import JudgeRequest
from edit_eval.plugins.metrics.in_worker.text_metrics import TextMetrics, distance
from edit_eval.protocols.numbers import Numbers
from edit_eval.records import Reply, Sample

CHINESE = Path("/usr/share/fonts/opentype/noto/NotoSerifCJK-Bold.ttc")


@pytest.fixture(scope="module")
def judge() -> TextMetrics:
    pytest.importorskip("rapidocr")
    pytest.importorskip("onnxruntime")
    metrics = TextMetrics(TextMetrics.Parameters())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", lambda *_: pytest.fail("it asked the network"))
        metrics.load(["cpu"])
    return metrics


def sign(text: str, size: int = 32, font: str = "") -> Image.Image:
    picture = Image.new("RGB", (480, 160), (236, 230, 214))
    letters = ImageFont.truetype(font, size) if font else ImageFont.load_default(size)
    ImageDraw.Draw(picture).text((24, 20), text, fill=(40, 40, 70), font=letters)
    return picture


def read(judge: TextMetrics, wanted: str, picture: Image.Image) -> Reply:
    (reply,) = judge.judge([JudgeRequest(user=wanted, pictures={"edit": picture}, form="measured")])
    return reply


@pytest.mark.check
def test_what_is_drawn_is_read(judge: TextMetrics) -> None:
    there = {"character_error": 0, "text_is_there": 1, "character_error_whole": 0}
    assert read(judge, "OPEN DAILY", sign("OPEN DAILY")).values == there
    assert (
        read(judge, "Open from 9 to 17, closed on Sundays", sign("Open from 9 to 17,\nclosed on Sundays", 20)).values
        == there
    )
    wrong = read(judge, "OPEN DAILY", sign("OPEN DAISY"))
    assert wrong.values == pytest.approx({"character_error": 1 / 9, "text_is_there": 0, "character_error_whole": 1 / 9})
    assert "DAISY" in wrong.text
    beside = read(judge, "OPEN", sign("OPEN\nTelephone 555 0100", 24)).values
    assert (beside["character_error"], beside["text_is_there"]) == (0, 1)
    assert beside["character_error_whole"] > 2
    none = read(judge, "OPEN", sign(""))
    assert (none.values["character_error"], none.text) == (1, "no writing was found")
    assert read(judge, "open daily", sign("OPEN DAILY")).values["character_error"] > 0.5


@pytest.mark.skipif(not CHINESE.is_file(), reason="needs Debian's fonts-noto-cjk")
def test_chinese(judge: TextMetrics) -> None:
    assert (
        read(judge, "今日特价：苹果 5 元", sign("今日特价：苹果 5 元", 32, str(CHINESE))).values["text_is_there"] == 1
    )
    other = read(judge, "今日特价", sign("明日特价", 32, str(CHINESE))).values
    assert other["character_error"] == 0.25


def test_case_and_what_cannot_be_measured(judge: TextMetrics) -> None:
    ignoring = TextMetrics(TextMetrics.Parameters(ignore_case=True))
    ignoring._engine = judge._engine
    assert read(ignoring, "open daily", sign("OPEN DAILY")).values["text_is_there"] == 1
    assert read(judge, " ", sign("OPEN")).values == {}
    with pytest.raises(ModelError, match="not given the picture `edit`"):
        judge.judge([JudgeRequest(user="OPEN")])


def test_a_sample_without_a_wanted_text_is_told() -> None:
    protocol = Numbers(Numbers.Parameters(measures=TextMetrics.measures(TextMetrics.Parameters())))
    sample = Sample(id="a", index=0, category="", pictures={}, instruction="x", facts={})
    with pytest.raises(LookupError, match="no `target_text`"):
        protocol.questions(sample)


def test_distances_by_hand_and_by_their_bounds() -> None:
    assert distance("kitten", "sitting") == 3
    assert distance("abc", "xxabcxx") == 4
    assert distance("abc", "xxabcxx", anywhere=True) == 0
    assert distance("abc", "xxabxcxx", anywhere=True) == 1
    assert distance("abc", "") == distance("abc", "", anywhere=True) == 3
    draw = random.Random("distance")
    for _ in range(200):
        a, b, c = ("".join(draw.choices("ab语", k=draw.randint(0, 6))) for _ in range(3))
        assert distance(a, b) == distance(b, a) <= distance(a, c) + distance(c, b)
        parts = {b[i:j] for i in range(len(b) + 1) for j in range(i, len(b) + 1)}
        assert distance(a, b, anywhere=True) == min(distance(a, part) for part in parts)
