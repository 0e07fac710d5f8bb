"""What strangers send is opened by processes that may die of it: nothing else does, and the next is answered."""

from __future__ import annotations

import io
import json
import os
import pickle
import resource
import signal
import struct
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from edit_eval.errors import PictureError
from edit_eval.plugins.serve import openers as module
from edit_eval.plugins.serve.doors import DOORS, MOST_PAIRS, BadRequest, Given
from edit_eval.plugins.serve.openers import NoOpener, Openers, OpeningTimeout
from edit_eval.plugins.serve.opening import LONGEST_PAIR
from edit_eval.plugins.serve.submissions import Submission
from plugins.serve.service_at_work import Serve, encoded, pair, text

Read = Callable[..., Given]


@pytest.fixture(scope="module")
def openers() -> Iterator[Openers]:
    made = Openers(2)
    yield made
    made.close()


@pytest.fixture
def read(openers: Openers) -> Read:
    """Reads a body by the native door, or by the doors of these names."""

    def reading(body: bytes, *doors: str) -> Given:
        until = time.monotonic() + 120
        return openers.read(bytearray(body), [DOORS[name] for name in doors], None, until).result(120)[1]

    return reading


def native(*pairs: Any) -> bytes:
    return json.dumps({"pairs": pairs}).encode()


def test_pairs_come_out_as_they_were_sent_with_each_picture_once(read: Read) -> None:
    given = read(native(pair(9, id="a", category="c", facts={"x": [1, 2.5, None, "红"]}), pair(9, " b "), pair(7, " ")))
    first, second, blank = given.pairs
    assert isinstance(first, Submission)
    assert isinstance(second, Submission)
    assert (first.id, first.category, first.facts, second.instruction) == ("a", "c", {"x": [1, 2.5, None, "红"]}, "b")
    assert (first.edit.data, first.edit.width, first.edit.format) == (encoded(9), 32, "JPEG")
    assert first.edit.data is second.edit.data
    assert (blank, given.meta) == ("no instruction", ["a", "", ""])


def png(width: int = 8, height: int = 8, *chunks: tuple[bytes, bytes]) -> bytes:
    """A PNG of these chunks, which need not be right."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*parts) for parts in ((b"IHDR", head), *chunks, (b"IEND", b"")))


def scanned(times: int) -> bytes:
    """A progressive JPEG whose last scan comes again and again: a decoder goes over all of it each time."""
    data = io.BytesIO()
    Image.new("RGB", (1024, 1024), (200, 0, 0)).save(data, "JPEG", progressive=True)
    last = data.getvalue().rindex(b"\xff\xda")
    return data.getvalue()[:-2] + data.getvalue()[last:-2] * times + b"\xff\xd9"


def laughing(value: Any, times: int = 60) -> Any:
    """Lists of two lists of two lists ..., each twice the same."""
    for _ in range(times):
        value = [value, value]
    return value


def colliding(number: int) -> bytes:
    """A key, pickled with a value; as keys of one dictionary they would take us minutes, too."""
    return b"\x8a\x0c" + (number * (2**61 - 1)).to_bytes(12, "little") + b"N"


SOUND = {"prompts": ["make it red"], "images": [encoded(9)], "ref_images": [encoded(1)]}
STRANGE_PAIRS = {
    "a number of ten thousand digits": {"facts": {"x": int("9" * 4000)}},
    "too many facts": {"facts": {"x": "y" * LONGEST_PAIR}},
    "facts a hundred deep": {"facts": {"x": json.loads("[" * 100 + "]" * 100)}},
    "too long an instruction": {"instruction": "x" * 20_001},
    "no sources": {"source": []},
    "ten sources": {"source": [text(encoded(1))] * 10},
    "a path": {"edit": {"path": "/etc/passwd"}},
    "no base64": {"edit": "\u00e4"},
    "a data URL of a text": {"edit": "data:text/plain,hello"},
    "a GIF": {"edit": text(encoded(1, "GIF"))},
    "a program": {"edit": text(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n")},
    "a picture of no size": {"edit": text(png(0, 0))},
    "a picture of 4 billion pixels": {"edit": text(png(65_535, 65_535))},
    "a picture of negative size": {"edit": text(png(2**32 - 1, 2**32 - 1))},
    "a text that unpacks to 2 GB": {"edit": text(png(8, 8, (b"zTXt", b"x\0\0" + zlib.compress(bytes(10**8)))))},
    "many texts": {"edit": text(png(8, 8, *[(b"zTXt", b"x\0\0" + zlib.compress(bytes(10**6)))] * 200))},
    "a profile that is none": {"edit": text(png(8, 8, (b"iCCP", b"x\0\0" + bytes(100))))},
    "a JPEG without an end": {"edit": text(encoded(1)[:-2])},
    "a JPEG that is gone over 3,000 times": {"edit": text(scanned(3000))},
    "a BMP of a made up size": {"edit": text(encoded(1, "BMP")[:18] + struct.pack("<ii", -(2**31), 2**31 - 1))},
    "a WebP cut short": {"edit": text(encoded(1, "WEBP")[:30])},
    "a PPM of a billion digits": {"edit": text(b"P6 " + b"9" * 100_000 + b" 1 255\n")},
}


@pytest.mark.parametrize("strange", STRANGE_PAIRS)
def test_a_strange_pair_is_that_pairs_alone(read: Read, strange: str) -> None:
    body = native({**pair(3), **STRANGE_PAIRS[strange]}, pair(9))
    strange_pair, sound = read(body).pairs
    assert isinstance(sound, Submission)
    if isinstance(strange_pair, Submission):  # a header that is sound; what follows is for the judge's worker
        assert strange_pair.edit.width * strange_pair.edit.height <= 2**24
    else:
        assert 5 < len(strange_pair) < 300


BODIES: dict[str, tuple[str, bytes]] = {
    "nothing": ("", b""),
    "no JSON": ("", b"\xff\xfe"),
    "100,000 lists": ("", b"[" * 100_000),
    "100,000 objects": ("flow_factory", b'{"a":' * 100_000),
    "a number of a million digits": ("flow_factory", b'{"prompt":' + b"9" * 1_000_000 + b"}"),
    "too many pairs": ("", native(*[{"source": "", "instruction": "x", "edit": ""}] * (MOST_PAIRS + 1))),
    "as many texts": ("", native(*[{"source": "", "instruction": "x" * 19_000, "edit": "x" * 99}] * 10)[:-1]),
    "another key": ("", json.dumps({"pairs": [pair(0)], "x": 1}).encode()),
    "not for this door": ("edit_r1", pickle.dumps({"images": []})),
    "rows that are none": ("unirl", b'{"requests": {"0": 1}}'),
    "laughing keys": ("flow_grpo", b")" + b"q\x000(h\x00h\x00t" * 60 + b"q\x010}(h\x01Nu."),
    "a laughing frozen set": ("flow_grpo", b"(\x91" + b"q\x000(h\x00h\x00t" * 60 + b"q\x010(h\x01\x91."),
    "60,000 keys of one hash": ("flow_grpo", b"\x80\x04}(" + b"".join(map(colliding, range(1, 60_000))) + b"u."),
    "a byte array of a terabyte": ("flow_grpo", b"\x80\x05\x96" + struct.pack("<Q", 1 << 40) + b"."),
    "a byte array of 2 GB": ("flow_grpo", b"\x80\x05\x96" + struct.pack("<Q", 2 << 30) + b"."),
    "900,000 lists in lists": ("flow_grpo", b"\x80\x04" + b"]" * 900_000 + b"a" * 899_999 + b"."),
    "a list in itself": ("flow_grpo", b"\x80\x04]\x94(h\x00e."),
    "a number of 4 million digits": ("flow_grpo", b"I" + b"9" * 4_000_000 + b"\n."),
    "laughing names": ("unirl", json.dumps({"requests": [{"required_rewards": ["\ud800"]}]}).encode()),
    "an array that says too much": ("edit_r1", b"\x80\x04cnumpy\nndarray\n)R(K\x01(J\xff\xff\xff\x7ftNNC\0tb."),
    "a class where texts are due": ("flow_grpo", b"}(X\x06\0\0\0imagescnumpy\ndtype\nu."),
}


@pytest.mark.parametrize("name", BODIES)
def test_a_body_that_is_none_is_refused(read: Read, name: str) -> None:
    door, body = BODIES[name]
    with pytest.raises(BadRequest) as refused:
        read(body, *filter(None, [door]))
    assert 5 < len(str(refused.value)) < 1100


def test_half_a_character_is_that_pairs_alone(read: Read) -> None:
    turns = [{"image_b64": text(encoded(1))}, {"image_b64": text(encoded(2)), "text": "\ud800"}]
    body = json.dumps({"requests": [{"history": [*turns[:1], turn]} for turn in (turns[1], {**turns[1], "text": "x"})]})
    refusal, sound = read(body.encode(), "unirl").pairs
    assert "half a character" in str(refusal)
    assert isinstance(sound, Submission)


@pytest.mark.parametrize("place", ["images", "prompts", "ref_images", "meta_datas", "only_strict", "other"])
def test_lists_within_lists_are_never_written_out(read: Read, place: str) -> None:
    body = pickle.dumps({**SOUND, place: laughing(["x"])})
    try:
        given = read(body, "flow_grpo")
    except BadRequest:
        return
    assert len(given.pairs) <= 2


@pytest.mark.check
def test_who_takes_more_time_than_a_request_may_is_ended(
    openers: Openers, read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the processor's clock, so that a busy machine ends nobody. Here a request may take next to none."""
    long_program = b"N0" * 1_900_000 + b"."
    with pytest.raises(BadRequest, match=r"refused|not a dictionary"):
        read(long_program, "flow_grpo")
    ended = openers.ended
    monkeypatch.setattr(module, "SECONDS", 0)
    for _ in range(20):  # a limit is in whole seconds
        with pytest.raises(BadRequest) as refused:
            read(long_program, "flow_grpo")
        if module.TOO_LONG in str(refused.value):
            break
    assert openers.ended == ended + 1
    monkeypatch.undo()
    assert isinstance(read(native(pair(9))).pairs[0], Submission)


def test_who_is_killed_is_replaced(openers: Openers, read: Read) -> None:
    read(native(pair(1)))
    for opener in openers._all:
        opener.kill()
    for _ in range(4):
        assert isinstance(read(native(pair(9))).pairs[0], Submission)


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_an_opener_that_is_ended_from_outside_again_and_again_is_no_fault_of_the_request(
    openers: Openers, read: Read, monkeypatch: pytest.MonkeyPatch, sent: signal.Signals
) -> None:
    """Openers are the first that a machine short of memory kills: the client is told to try again, and may."""
    if signal.getsignal(sent) is signal.SIG_IGN:  # by `nohup`, or behind `&` in a script, and openers inherit that
        pytest.skip(f"{sent.name} is ignored here; run the tests in the foreground")
    asked = module._Opener.ask

    def killed(self: Any, *arguments: Any) -> Any:
        self.process.send_signal(sent)
        self.process.wait(60)
        return asked(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(module._Opener, "ask", killed)
        with pytest.raises(NoOpener, match="ended or stopped from outside"):
            read(native(pair(1)))
    assert isinstance(read(native(pair(9))).pairs[0], Submission)


@pytest.mark.parametrize("sent", [signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS])
def test_a_crash_that_repeats_is_the_requests(
    openers: Openers, read: Read, monkeypatch: pytest.MonkeyPatch, sent: signal.Signals
) -> None:
    asked, crashes = module._Opener.ask, list[int]()

    def crashing(self: Any, *arguments: Any) -> Any:
        crashes.append(self.process.pid)
        self.process.send_signal(sent)
        self.process.wait(60)
        return asked(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(module._Opener, "ask", crashing)
        with pytest.raises(BadRequest, match=f"has ended .{sent.name}."):
            read(native(pair(1)))
    assert len(set(crashes)) == 2


def test_turns_are_fair_among_clients_and_sizes() -> None:
    """One that has sent much waits behind its own; what is small does not wait for what is large of the same one."""
    turns, done = module.FairQueue(1), list[str]()
    gate = threading.Event()
    first = turns.take("x", 0, lambda: gate.wait(60))
    futures: list[Future[Any]] = [
        turns.take(client, size, partial(done.append, name))
        for client, size, name in (
            *(("hostile", 1_800_000, f"large {n}") for n in range(16)),
            ("hostile", 5_000, "small"),
            ("honest", 1_800_000, "other"),
        )
    ]
    gate.set()
    for future in (first, *futures):
        future.result(60)
    assert done.index("small") <= 2
    assert done.index("other") <= 2
    assert [name for name in done if name.startswith("large")] == [f"large {n}" for n in range(16)]
    turns.close()
    with pytest.raises(NoOpener):
        turns.take("x", 0, lambda: None)


def test_who_does_not_answer_is_given_up_with_its_client(openers: Openers, read: Read) -> None:
    """A process that is stopped uses no time, and never answers."""
    read(native(pair(1)))
    with ThreadPoolExecutor(2) as both:  # both threads have one of their own
        list(both.map(read, [native(pair(1))] * 2))
    for opener in openers._all:
        os.kill(opener.process.pid, signal.SIGSTOP)
    stuck = [openers.read(bytearray(native(pair(1))), [], None, time.monotonic() + 0.5) for _ in openers._all]
    for late in stuck:
        with pytest.raises(OpeningTimeout):
            late.result(60)
    assert isinstance(read(native(pair(9))).pairs[0], Submission)


def test_who_stands_still_is_ended_and_its_request_opened_by_another(
    openers: Openers, read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was stopped from outside: that is no fault of what it was reading."""
    for body in (native(pair(1)), native(pair(1)) + b" " * (4 << 20)):  # over its answer; before it has taken all
        read(native(pair(1)))
        for opener in openers._all:
            os.kill(opener.process.pid, signal.SIGSTOP)
        with monkeypatch.context() as patch:
            patch.setattr(module, "STANDSTILL", 0.5)
            patch.setattr(module, "LOOKED_EVERY", 0.1)
            assert isinstance(read(body).pairs[0], Submission)
        for opener in openers._all:
            os.kill(opener.process.pid, signal.SIGCONT)
    assert isinstance(read(native(pair(9))).pairs[0], Submission)


def test_an_opener_has_no_more_than_it_needs(openers: Openers, read: Read) -> None:
    read(native(pair(1)))
    (opener, *_) = openers._all
    process = f"/proc/{opener.process.pid}"
    assert len(os.listdir(f"{process}/fd")) <= 5
    limits = Path(f"{process}/limits").read_text()
    assert "Max open files            16 " in limits
    assert "Max file size             0 " in limits
    assert Path(f"{process}/oom_score_adj").read_text().strip() == "1000"


def test_out_of_descriptors_no_opener_is_started_and_later_one_is(monkeypatch: pytest.MonkeyPatch) -> None:
    openers = Openers(1)
    until = time.monotonic() + 120
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        with pytest.raises(NoOpener):
            openers.read(bytearray(native(pair(1))), [], None, until).result(120)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert openers.read(bytearray(native(pair(1))), [], None, until).result(120)[0] == "native"
    openers.close()
    with pytest.raises(NoOpener):
        openers.read(bytearray(native(pair(1))), [], None, until)
    with pytest.raises(PictureError):
        openers.decode_small(encoded(1), 8)


@pytest.mark.check
def test_files_may_be_larger_than_the_request_that_names_them(openers: Openers, tmp_path: Path) -> None:
    data = io.BytesIO()
    Image.new("RGB", (2400, 2400)).save(data, "BMP")
    for n in range(20):  # 330 MiB, by a request of 2 KiB; each of other bytes
        (tmp_path / f"{n}.bmp").write_bytes(data.getvalue()[:-1] + bytes([n]))
    named = [{"source": text(encoded(1)), "instruction": "x", "edit": {"path": f"{n}.bmp"}} for n in range(20)]
    body = bytearray(native(*named))
    given = openers.read(body, [], tmp_path, time.monotonic() + 120).result(120)[1]
    assert {type(submission) for submission in given.pairs} == {Submission}


def test_a_progressive_jpeg_is_a_jpeg(read: Read) -> None:
    given = read(native({**pair(3), "edit": text(scanned(20))}, {**pair(3), "edit": text(scanned(600))}))
    assert [type(outcome) for outcome in given.pairs] == [Submission, str]
    assert "scans" in str(given.pairs[1])


def test_pictures_are_decoded_there(openers: Openers) -> None:
    small = openers.decode_small(encoded(200, "PNG"), 4, 4)
    assert (len(small), small[:3]) == (48, bytes((200, 0, 0)))
    assert Image.open(io.BytesIO(openers.decode_small(encoded(200), 16))).size == (16, 16)
    with pytest.raises(PictureError):
        openers.decode_small(encoded(1, "PNG")[:60], 4)


def test_a_service_answers_beside_bombs(serve: Serve) -> None:
    """Whatever is sent to its doors; and none of it leaves a thread or an open file."""
    served = serve(doors=("flow_grpo", "edit_r1", "unirl", "flow_factory"))
    paths = {"edit_r1": "/mode/logits_non_cot", "unirl": "/score", "flow_factory": "/compute", "": "/v1/score"}
    assert served.score(pair(255))[0]["status"] == "ok"
    threads, files = threading.active_count(), len(os.listdir("/proc/self/fd"))
    with ThreadPoolExecutor(4) as clients:
        bombs = [clients.submit(served.post, paths.get(door, "/"), body) for door, body in BODIES.values()]
        strange = [clients.submit(served.score, {**pair(3), **change}, pair(8)) for change in STRANGE_PAIRS.values()]
        for _ in range(5):
            assert served.score(pair(255))[0]["status"] == "ok"
            assert served.get("/health").status == 200
        assert {bomb.result().status for bomb in bombs} <= {200, 400}
        assert {strange_pair.result()[1]["status"] for strange_pair in strange} == {"ok"}
    assert served.score(pair(255))[0]["status"] == "ok"
    assert threading.active_count() <= threads + 40
    assert len(os.listdir("/proc/self/fd")) <= files + 12
