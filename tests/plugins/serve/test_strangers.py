"""Clients that mean ill, and an honest one beside each: it gets its own score, and at once.

Each row says where it is from: a public report, or the source of a library that is used here.
"""

from __future__ import annotations

import csv
import io
import json
import pickle
import struct
import zlib
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from edit_eval.plugins.serve.ledger import name_of, number_of
from edit_eval.plugins.serve.watch import Watch
from edit_eval.reporting.scores import write_scores
from edit_eval.run import Run
from plugins.serve.service_at_work import Serve, Served, encoded, pair, text
from plugins.serve.service_process import until

HONEST = 30.0
"""Seconds in which an honest client has its answer, on a machine under any load: half of the least patience."""


def honest(served: Served, red: int) -> None:
    """An honest client has its own score."""
    (answer,) = served.score(pair(red, id=f"honest {red}"))
    assert (answer["status"], answer["id"]) == ("ok", f"honest {red}")
    assert answer["score"] == pytest.approx(red / 25.5, abs=0.1)


# -- pictures that cost more than they weigh --


def pnm(kind: bytes, most: bytes, pixel: bytes, side: int = 2048) -> bytes:
    return kind + b"\n%d %d\n" % (side, side) + most + pixel * side * side


def bitmap(bits: int, compression: int, row: bytes, side: int = 2048) -> bytes:
    """A run-length BMP, each row of which is `row`."""
    palette = b"\x20\x20\x80\0" * (1 << bits)
    data, offset = (row + b"\0\0") * side + b"\0\1", 54 + len(palette)
    sizes = (40, side, side, 1, bits, compression, len(data), 0, 0, len(palette) // 4, 0)
    return (
        b"BM"
        + struct.pack("<IHHI", offset + len(data), 0, 0, offset)
        + struct.pack("<IiiHHIIiiII", *sizes)
        + palette
        + data
    )


def portable(width: int, height: int, data: bytes, chunks: bytes = b"") -> bytes:
    """A PNG of these chunks."""

    def chunk(name: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunks + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def scans(count: int) -> bytes:
    """A JPEG whose last scan comes again and again."""
    data = encoded(9, size=2048, progressive=True)
    last = data.rindex(b"\xff\xda")
    return data[:last] + data[last:-2] * count + data[-2:]


def saved(kind: str) -> bytes:
    data = io.BytesIO()
    Image.new("RGB", (64, 64)).save(data, kind)
    return data.getvalue()


PPM, BMP = "Pillow, PIL/PpmImagePlugin.py", "Pillow, PIL/BmpImagePlugin.py"
PICTURES: dict[str, tuple[str, Callable[[], bytes]]] = {
    "colours up to 254": (f"{PPM}, PpmDecoder: a loop over pixels", lambda: pnm(b"P6", b"254\n", b"\x40\x10\x10")),
    "grey up to 254": (f"{PPM}, PpmDecoder", lambda: pnm(b"P5", b"254\n", b"\x40")),
    "colours of 16 bits": (f"{PPM}, PpmDecoder", lambda: pnm(b"P6", b"65534\n", b"\x40\x10" * 3)),
    "grey in words": (f"{PPM}, PpmPlainDecoder", lambda: pnm(b"P2", b"255\n", b"1 ")),
    "colours in words": (f"{PPM}, PpmPlainDecoder", lambda: pnm(b"P3", b"255\n", b"1 1 1 ", 1024)),
    "bits in words": (f"{PPM}, PpmPlainDecoder", lambda: pnm(b"P1", b"", b"1")),
    "runs of bytes": (f"{BMP}, BmpRleDecoder", lambda: bitmap(8, 1, b"\x01\x11")),
    "runs of half bytes": (f"{BMP}, BmpRleDecoder", lambda: bitmap(4, 2, b"\xff\x11" * 8)),
    "a JPEG of 3,000 scans": ("Two Issues with the JPEG Standard, libjpeg-turbo LJT-01-003", lambda: scans(3000)),
    "a PNG of a billion pixels": (
        "libpng, decompression bombs; CVE-2014-9601 Pillow",
        lambda: portable(32_000, 32_000, zlib.compress(b"\0" * 1_000_000)),
    ),
    "a PNG of no pixels": ("CVE-2021-27921: Pillow, sizes that a file claims", lambda: portable(0, 0, b"")),
    "a PostScript": (
        "CVE-2021-28677: Pillow, EPS; it starts Ghostscript",
        lambda: b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n",
    ),
    "an icon": ("CVE-2021-27923: Pillow, ICO", lambda: saved("ICO")),
    "Apple's icon": ("CVE-2021-27922: Pillow, ICNS", lambda: b"icns" + struct.pack(">I", 1 << 30)),
    "a TIFF": ("CVE-2022-45199: Pillow, SAMPLESPERPIXEL", lambda: saved("TIFF")),
    "a GIF": ("CVE-2022-45198: Pillow, GIF", lambda: saved("GIF")),
    "a film": ("CVE-2021-28676: Pillow, FLI without end", lambda: b"\0\0\0\0\x11\xaf" + b"\0" * 122),
    "a texture": ("CVE-2021-27921: Pillow, BLP", lambda: b"BLP2" + b"\0" * 200),
    "layers": ("CVE-2021-28675: Pillow, PSD", lambda: b"8BPS\0\1" + b"\0" * 100),
    "an old picture": ("CVE-2020-35653: Pillow, PCX", lambda: saved("PCX")),
}


@pytest.fixture(scope="module")
def service(serve: Serve) -> Served:
    return serve(doors=("flow_grpo", "edit_r1", "unirl", "flow_factory"))


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_that_costs_too_much_reaches_no_judge(service: Served, name: str) -> None:
    _, make = PICTURES[name]
    hostile = text(make())
    for place in ("edit", "source"):
        bad, good = service.score({**pair(1), place: hostile}, pair(200, id="beside"))
        assert (bad["status"], bad["score"]) == ("skipped", None)
        assert 5 < len(bad["reason"]) < 300
        assert good["score"] == pytest.approx(200 / 25.5, abs=0.1)


# -- ids that are others' --


IDS: dict[str, tuple[str, Callable[[int], list[str]]]] = {
    "what a browser calls a second file": (
        "Chromium, GetUniquePath: `name (N)`",
        lambda n: [f"cat ({n + 2})", "cat", "cat", "cat"],
    ),
    "numbers": ("CWE-340: names that can be counted on", lambda n: [f"{n + 2:06d}", "", f"{n + 1:06d}", ""]),
    "a number and a name": ("CWE-694", lambda n: [f"{n + 1:06d} cat", "cat", f"{n:06d} cat", "cat"]),
    "one for all": ("CWE-694: one identifier for two", lambda n: ["cat"] * 5),
    "blanks": ("CVE-2021-42574: what looks alike", lambda n: ["cat", "cat ", " cat", "cat\u00a0", "\u200bcat"]),
    "letters that look alike": ("Unicode TR 36", lambda n: ["\u0441at", "cat", "ca\u0301t", "c\u00e1t"]),
    "a NUL": ("CVE-2006-7243: what comes after a NUL", lambda n: ["cat\0", "cat", "cat\0dog"]),
    "paths": ("CVE-2018-1002200, Zip Slip", lambda n: ["../../x", "..\\..\\x", "/etc/passwd", "C:x", "con"]),
    "formulas": ("OWASP, CSV Injection", lambda n: ["=1+1", "@SUM(1)", "+1", "-1"]),
    "the other way round": ("CVE-2021-42574, Trojan Source", lambda n: ["\u202etac", "cat", "\u2066cat\u2069"]),
    "controls": ("CWE-694", lambda n: ["control:source", "control:blank", "control:source"]),
    "200 letters": (
        "truncation to one name: CVE-2008-4106 WordPress",
        lambda n: ["x" * 200, "x" * 199 + "y", "x" * 200],
    ),
}


@pytest.mark.parametrize("name", IDS)
def test_each_client_has_its_own_score_whatever_the_ids(service: Served, name: str) -> None:
    """All of them open at once, each in a request of its own; in one request; and in the records."""
    _, ids_at = IDS[name]
    ledger = service.service.ledger
    ids = ids_at(len(ledger.matrix.samples))
    reds = [10 + 40 * n for n in range(len(ids))]
    sent = [pair(red, "slow 0.1", id=of) for red, of in zip(reds, ids, strict=True)]
    with ThreadPoolExecutor(len(ids)) as clients:
        answers = [answer for (answer,) in clients.map(service.score, sent)]
    for answer, red, of in zip([*answers, *service.score(*sent)], reds * 2, ids * 2, strict=True):
        assert answer["id"] == of
        assert answer["score"] == pytest.approx(red / 25.5, abs=0.1), (of, red)
    samples = ledger.matrix.samples
    assert len({sample.id for sample in samples}) == len(samples)
    assert [number_of(sample.id) for sample in samples] == list(range(len(samples)))


def test_the_records_have_each_score_under_its_own_picture(serve: Serve, tmp_path: Path) -> None:
    served = serve()
    for red, of in ((25, "cat (2)"), (128, "cat"), (230, "cat"), (60, "000003")):
        served.score(pair(red, id=of))
    served.service.close()
    assert served.service.ended.wait(60)
    results = Run(served.service.ledger.directory.path).results
    reds = {edit.sample_id: edit.pixels for edit in results.edits}
    assert len(reds) == 4
    file = io.StringIO()
    write_scores(results, file)
    rows = list(csv.DictReader(io.StringIO(file.getvalue().removeprefix("\ufeff"))))
    assert [row["sample_id"] for row in rows] == [
        name_of(n, of) for n, of in enumerate(("cat (2)", "cat", "cat", "000003"))
    ]
    assert [round(float(row["score"])) for row in rows] == [1, 5, 9, 2]


@pytest.mark.parametrize(
    ("fact", "value"), [("control_of", "000000"), ("door", "edit_r1"), ("form", {"format": "PNG"})]
)
def test_a_fact_of_ours_is_not_a_clients_to_state(service: Served, fact: str, value: Any) -> None:
    """CWE-915: a name that is set by whoever sends it."""
    service.score(pair(7, facts={fact: value, "mine": 1}))
    kept = service.service.ledger.matrix.samples[-1].facts
    assert kept["mine"] == 1
    assert kept.get(fact) != value


# -- bodies that are small and many --


def many(count: int, one: dict[str, Any]) -> bytes:
    return b'{"pairs":[' + b",".join([json.dumps(one).encode()] * count) + b"]}"


BODIES: dict[str, tuple[str, str, Callable[[], bytes]]] = {
    "a million pairs of nothing": (
        "pydantic-core, list validator: an error an item",
        "/v1/score",
        lambda: many(1_000_000, {}),
    ),
    "a million pairs without pictures": (
        "CWE-770",
        "/v1/score",
        lambda: many(1_000_000, {"source": "", "instruction": "x", "edit": ""}),
    ),
    "a million rows at a door": (
        "CVE-2023-30798: Starlette, parts without end",
        "/",
        lambda: pickle.dumps(
            {"images": [b""] * 1_000_000, "prompts": ["x"] * 1_000_000, "ref_images": [b""] * 1_000_000}
        ),
    ),
    "lists in lists in a pickle": (
        "CPython, pickle: memory and time",
        "/",
        lambda: b"\x80\x04" + b"]" * 900_000 + b"a" * 899_999 + b".",
    ),
    "keys of one hash": (
        "oCERT-2011-003: hash collisions",
        "/",
        lambda: (
            b"\x80\x04}("
            + b"".join(b"\x8a\x10" + ((2**61 - 1) * n).to_bytes(16, "little") + b"N" for n in range(1, 50_000))
            + b"u."
        ),
    ),
    "a call": ("CVE-2019-6446: NumPy, a pickle that calls", "/", lambda: b"cos\nsystem\n(S'true'\ntR."),
    "brackets": ("CVE-2022-42919 et al.; json recurses", "/compute", lambda: b"[" * 1_000_000),
    "a number of a million digits": ("CVE-2020-10735", "/compute", lambda: b'{"prompt":' + b"9" * 1_000_000 + b"}"),
}


@pytest.mark.parametrize("name", BODIES)
def test_a_body_of_many_is_refused_while_others_are_answered(service: Served, name: str) -> None:
    _, path, make = BODIES[name]
    body = make()
    with ThreadPoolExecutor() as clients:
        refusals = [clients.submit(service.post, path, body) for _ in range(3)]  # one more than a small machine opens
        clients.submit(honest, service, 90).result(HONEST)
        for refusal in refusals:
            heard = refusal.result(120)
            assert (heard.status, b"SIG" in heard.body) in ((400, False), (200, False)), heard
    honest(service, 180)


# -- canaries --


def test_nothing_of_a_clients_is_shown_with_anothers_pair(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """Canaries are a client's own source beside its own pair, and pictures of ours."""
    monkeypatch.setattr("edit_eval.plugins.serve.watch.SCENES", 1)
    served = serve(window=8)
    watch = served.service.watch
    assert isinstance(watch, Watch)
    served.score(*(pair(200 - n, source=n, id=str(n)) for n in range(6)))
    watch.scenes.result(120)
    for _ in range(5):  # windows in which the first one's sources do not come
        served.score(*(pair(100 + n, source=100 + n, id=str(n)) for n in range(8)))
        until(lambda: not served.service.n_waiting)
    until(lambda: len(watch.windows) >= 4 and not served.service.n_waiting)
    served.service.close()
    assert served.service.ended.wait(60)
    samples = served.service.ledger.matrix.samples
    edits = {edit.sample_id: edit.pixels for edit in served.service.ledger.matrix.edits}
    clients = {edits[sample.id] for sample in samples if not sample.tags}
    shuffled = [sample for sample in samples if "control:shuffled" in sample.tags]
    assert shuffled, "drawn scenes stand in for other clients' edits"
    assert not clients & {edits[sample.id] for sample in shuffled}
    own = Counter(sample.source_digest for sample in samples if "control:source" in sample.tags)
    came = Counter(sample.source_digest for sample in samples if not sample.tags)
    assert all(own[source] <= came[source] for source in own), "none is judged where its client is gone"


@pytest.mark.check
def test_a_source_that_is_large_is_no_canary(serve: Serve) -> None:
    served = serve(window=8)
    large = text(encoded(3, size=2048))
    served.score(*({**pair(n), "source": large} for n in range(4)), *(pair(n, source=n) for n in range(4)))
    watch = served.service.watch
    assert isinstance(watch, Watch)
    until(lambda: any(sample.tags for sample in served.service.ledger.matrix.samples))
    canaries = [sample for sample in list(served.service.ledger.matrix.samples) if sample.tags]
    assert {sample.pictures["source"].digest for sample in canaries}.isdisjoint(
        sample.pictures["source"].digest
        for sample in served.service.ledger.matrix.samples
        if sample.facts["form"]["width"] == 2048
    )
