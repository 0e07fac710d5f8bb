"""A small Hugging Face Hub on loopback: repositories of files at commits, and every way in which a hub misbehaves.

with SmallHub() as hub:
    commit = hub.put("owner/name", {"data/a.parquet": b"..."})
    ...  # HF_ENDPOINT: hub.url
    assert not hub.asked_for_data
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import unquote, urlsplit

import pytest


class SmallHub:
    """The server, in threads of this process; leaving its `with` block ends it."""

    answers: type[SmallHubHandler]

    def __init__(self) -> None:
        self.commits: dict[str, dict[str, Mapping[str, bytes]]] = {}
        """`datasets/owner/name` or `models/owner/name` -> commit -> path -> content; the last commit is `main`."""
        self.asked: list[str] = []
        """Each request so far: `HEAD /datasets/...`."""
        self.refuses: tuple[int, Mapping[str, str]] | None = None
        """Status and headers of the answer to everything."""
        self.half = False
        """Whether of a file's bytes only the first half is sent, whatever its headers say."""
        handler = type("Handler", (self.answers,), {"hub": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def put(self, name: str, files: Mapping[str, bytes], kind: str = "datasets") -> str:
        """A new commit with these files, and no others."""
        commit = hashlib.sha1(json.dumps([name, sorted(files), len(self.commits)]).encode()).hexdigest()
        commit = hashlib.sha1(commit.encode() + b"".join(files.values())).hexdigest()
        self.commits.setdefault(f"{kind}/{name}", {})[commit] = files
        return commit

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def stands_in(self, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
        """What `HF_ENDPOINT` and `HF_HOME` would say, which the library reads when it is imported, in places that
        differ from version to version."""
        import huggingface_hub.file_download as download
        import huggingface_hub.hf_api as api
        from huggingface_hub import constants

        for module in (constants, api):
            monkeypatch.setattr(module, "ENDPOINT", self.url, raising=False)
        template = f"{self.url}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        for module in (constants, download):
            monkeypatch.setattr(module, "HUGGINGFACE_CO_URL_TEMPLATE", template, raising=False)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)

    @property
    def asked_for_data(self) -> list[str]:
        return [line for line in self.asked if line.startswith("GET") and "/resolve/" in line]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class SmallHubHandler(BaseHTTPRequestHandler):
    """What it answers to whoever reads."""

    hub: SmallHub
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # a body that follows its head would wait 40 ms

    def do_GET(self) -> None:
        self._answer()

    do_HEAD = do_GET

    def _answer(self) -> None:
        path = unquote(urlsplit(self.path).path)
        self.hub.asked.append(f"{self.command} {path}")
        if self.hub.refuses:
            status, headers = self.hub.refuses
            return self.send(status, b"{}", headers)
        parts = path.strip("/").split("/")
        if parts[0] == "api":
            _, kind, owner, name, what, revision, *_ = [*parts, *6 * [""]]
            rest = ""
        else:
            kind = parts.pop(0) if parts[0] == "datasets" else "models"
            owner, name, what, revision, *others = [*parts, *5 * [""]]
            rest = "/".join(others).rstrip("/")
        commits = self.hub.commits.get(f"{kind}/{owner}/{name}")
        if commits is None:
            return self.send(401, b"{}", {"X-Error-Message": "Invalid username or password."})
        commit = [*commits][-1] if revision in ("main", "") else revision
        if commit not in commits:
            return self.send(404, b"{}", {"X-Error-Code": "RevisionNotFound"})
        files = commits[commit]
        if what == "resolve":
            return self._file(commit, files.get(rest))
        return self.send_json(self._api(what, f"{owner}/{name}", commit, commits))

    def _api(self, what: str, name: str, commit: str, commits: Mapping[str, Mapping[str, bytes]]) -> Any:
        files = commits[commit]
        if what == "tree":
            return [
                {"type": "file", "path": path, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}
                for path, data in files.items()
            ]
        if what == "commits":
            common = {"title": "", "message": "", "authors": [], "date": "2025-04-25T08:00:00.000Z"}
            return [{"id": revision, **common} for revision in reversed(commits)]
        return {"id": name, "sha": commit, "siblings": [{"rfilename": path} for path in files]}

    def _file(self, commit: str, data: bytes | None) -> None:
        if data is None:
            return self.send(404, b"{}", {"X-Error-Code": "EntryNotFound"})
        begin = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")[0])
        headers = {"ETag": f'"{hashlib.sha1(data).hexdigest()}"', "X-Repo-Commit": commit, "Accept-Ranges": "bytes"}
        if begin:
            headers["Content-Range"] = f"bytes {begin}-{len(data) - 1}/{len(data)}"
        self.send(206 if begin else 200, data[begin:], headers, whole=not self.hub.half)

    def send_json(self, document: Any) -> None:
        self.send(200, json.dumps(document).encode(), {"Content-Type": "application/json"})

    def send(self, status: int, body: bytes, headers: Mapping[str, str], whole: bool = True) -> None:
        self.send_response(status)
        for key, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body if whole else body[: len(body) // 2])
            self.close_connection = not whole

    def log_message(self, *_: object) -> None:
        pass


SmallHub.answers = SmallHubHandler
