"""YAML's language server, the one behind VS Code's extension, asked as an editor asks it.

`npm install -g yaml-language-server` installs it; without it on the `PATH` there is none.
"""

from __future__ import annotations

import json
import queue
import shutil
import subprocess
import threading
from pathlib import Path
from typing import Any, cast

PROGRAM = shutil.which("yaml-language-server")
SECONDS = 300  # one answer takes tenths of a second on a quiet machine


class LanguageServer:
    """One running server; a context manager."""

    def __init__(self, folder: Path) -> None:
        assert PROGRAM is not None
        self._folder, self._count, self._version = folder, 0, 0
        self._answers: dict[int, Any] = {}
        self._found: dict[str, list[dict[str, Any]]] = {}
        self._arrived: queue.Queue[dict[str, Any]] = queue.Queue()
        self._process = subprocess.Popen(
            [PROGRAM, "--stdio"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self) -> LanguageServer:
        self._ask("initialize", {"processId": None, "rootUri": self._folder.as_uri(), "capabilities": {}})
        settings = {"validate": True, "hover": True, "completion": True, "schemaStore": {"enable": False}}
        self._send({"method": "initialized", "params": {}})
        self._send({"method": "workspace/didChangeConfiguration", "params": {"settings": {"yaml": settings}}})
        return self

    def __exit__(self, *exception: object) -> None:
        self._process.kill()
        self._process.wait()

    def errors(self, file: Path) -> list[str]:
        """What an editor marks in a file: each line with its number, from 1."""
        self._version += 1
        uri = file.as_uri()
        self._found.pop(uri, None)
        self._send(
            {
                "method": "textDocument/didOpen",
                "params": {
                    "textDocument": {
                        "uri": uri,
                        "languageId": "yaml",
                        "version": self._version,
                        "text": file.read_text("utf-8"),
                    }
                },
            }
        )
        while uri not in self._found:
            self._take()
        return [f"{one['range']['start']['line'] + 1}: {one['message']}" for one in self._found[uri]]

    def completions(self, file: Path, text: str) -> dict[str, str]:
        """What is offered at the `|` in a text: each label, and what is said of it."""
        answer = self._at("textDocument/completion", file, text)
        items = answer["items"] if isinstance(answer, dict) else answer or []
        return {one["label"]: _words(one.get("documentation", "")) for one in items}

    def hover(self, file: Path, text: str) -> str:
        """What is said of the word at the `|` in a text."""
        answer = self._at("textDocument/hover", file, text)
        return _words(answer["contents"]) if answer else ""

    def _at(self, method: str, file: Path, text: str) -> Any:
        before, _, after = text.partition("|")
        file.write_text(before + after, "utf-8")
        self.errors(file)
        line = before.count("\n")
        position = {"line": line, "character": len(before.rpartition("\n")[2])}
        return self._ask(method, {"textDocument": {"uri": file.as_uri()}, "position": position})

    def _ask(self, method: str, params: Any) -> Any:
        self._count += 1
        self._send({"id": self._count, "method": method, "params": params})
        while self._count not in self._answers:
            self._take()
        return self._answers.pop(self._count)

    def _take(self) -> None:
        message = self._arrived.get(timeout=SECONDS)
        if message.get("method") == "textDocument/publishDiagnostics":
            self._found[message["params"]["uri"]] = message["params"]["diagnostics"]
        elif "method" in message and "id" in message:  # the server asks, and waits for an answer
            items = message.get("params", {}).get("items", [])
            settings = {"validate": True, "hover": True, "completion": True, "schemaStore": {"enable": False}}
            answers = [settings if one.get("section") == "yaml" else {} for one in items]
            self._send({"id": message["id"], "result": answers})
        elif "id" in message:
            assert "error" not in message, message
            self._answers[message["id"]] = message.get("result")

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        pipe = cast(Any, self._process.stdin)
        pipe.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        pipe.flush()

    def _read(self) -> None:
        pipe = cast(Any, self._process.stdout)
        while head := pipe.readline():
            length = int(head.split(b":")[1])
            while pipe.readline().strip():
                pass
            self._arrived.put(json.loads(pipe.read(length)))


def _words(content: Any) -> str:
    return str(content.get("value", "")) if isinstance(content, dict) else str(content)
