"""The scripted image server does what it is told: nothing here goes through our client."""

from __future__ import annotations

import base64
import io
import json
import urllib.request
from typing import Any

from PIL import Image

from edit_eval.edit_models.image_endpoint import TINY_INSTRUCTION
from image_server import ImageServer, drawn, encoded, picture

SOURCES = [encoded(drawn((5, 4), 1)), b"\r\n--x\r\n\r\n"]


def ask(server: ImageServer, **fields: str) -> Any:
    """Sends a form with two files."""
    lines = [
        f'--edge\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n' for name, value in fields.items()
    ]
    data = "".join(lines).encode()
    for source in SOURCES:
        head = '--edge\r\nContent-Disposition: form-data; name="image[]"; filename="a.png"\r\n\r\n'
        data += head.encode() + source + b"\r\n"
    headers = {"Content-Type": "multipart/form-data; boundary=edge"}
    sent = urllib.request.Request(f"{server.base_url}/images/edits", data + b"--edge--\r\n", headers)
    with urllib.request.urlopen(sent, timeout=60) as response:
        return json.load(response)


def opened(answer: Any) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(answer["data"][0]["b64_json"])))


def test_it_keeps_the_form_and_draws_what_was_asked_for() -> None:
    with ImageServer() as server:
        made = opened(ask(server, prompt="make it night — now", size="32*16", seed="9"))
        (asked,) = server.edited
        assert asked.fields == {"prompt": "make it night — now", "size": "32*16", "seed": "9"}
        assert asked.files == tuple(("image[]", source) for source in SOURCES)
        assert made.tobytes() == drawn((32, 16), 9).tobytes() != drawn((32, 16), 8).tobytes()
        assert opened(ask(server, prompt="x")).size == (64, 64)


def test_the_script_is_for_edits_and_the_probes_have_an_answer_of_their_own() -> None:
    with ImageServer(script=[picture(drawn((7, 7), 1), "WEBP")]) as server:
        server.canary = picture(drawn((3, 3), 1))
        assert opened(ask(server, prompt=TINY_INSTRUCTION)).size == (3, 3)
        scripted = opened(ask(server, prompt="x"))
        assert (scripted.format, scripted.size) == ("WEBP", (7, 7))
        assert len(server.asked) == 2
        assert len(server.edited) == 1
