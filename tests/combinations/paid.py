"""A provider of a paid edit model, for all draws of this process: Gemini's interface, over planted edits.

A draw's folder is in the address, and its `paid.json` says what is planted. Each request for an edit is noted in
`asked.jsonl`, as planted models note theirs, and is paid: a refusal too, and an answer without a picture. Standard
library and Pillow only.
"""

from __future__ import annotations

import base64
import functools
import io
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from combinations import planted


def address(folder: Path) -> str:
    """Where the paid model of a draw is asked."""
    return f"http://127.0.0.1:{_server().server_address[1]}/{quote(str(folder), safe='')}/v1beta"


@functools.cache
def _server() -> ThreadingHTTPServer:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Provider)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    return server


class _Provider(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # a body that follows its head would wait 40 ms

    def log_message(self, format: str, *arguments: Any) -> None:
        """Says nothing."""

    def give(self, document: Any) -> None:
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.give({"name": "models/planted"})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        folder, model = unquote(self.path.split("/")[1]), self.path.rpartition("/")[2].partition(":")[0]
        own = planted.Planted(name=model, **json.loads(Path(folder, "paid.json").read_text("utf-8")))
        parts = asked["contents"][0]["parts"]
        source = _picture(parts[0]["inlineData"]["data"])
        code, end = planted.edited(own, parts[-1]["text"], source, asked["generationConfig"]["seed"])
        if end == "edit_refused":
            return self.give({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}})
        if end == "edit_failed":
            said = [{"text": "I can only describe it."}]
        else:
            file = io.BytesIO()
            planted.written(source, code, source.size).save(file, "PNG")
            said = [{"inlineData": {"mimeType": "image/png", "data": base64.b64encode(file.getvalue()).decode()}}]
        self.give({"candidates": [{"content": {"parts": said}, "finishReason": "STOP"}]})


def _picture(data: str) -> Any:
    from PIL import Image

    return Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")
