"""The small hub on loopback, written to: repositories are made, files uploaded, commits made of them, as on the Hub."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any
from urllib.parse import unquote, urlsplit

from small_hub import SmallHub, SmallHubHandler

TOKEN = "hf_aTokenForLoopback0123456789"


class WritableHub(SmallHub):
    """Takes what whoever has the `TOKEN` sends."""

    def __init__(self) -> None:
        super().__init__()
        self.private: dict[str, bool] = {}
        self.tags: dict[str, list[str]] = {}
        self.large: dict[str, bytes] = {}
        """Files by their SHA-256, whether or not a commit has them."""
        self.uploads: list[str] = []
        """Each upload of a large file so far, by the SHA-256."""
        self.refuses_to_write: int | None = None
        """Status of the answer to every commit."""

    @property
    def files(self) -> dict[str, bytes]:
        """Of the newest commit of the one data set."""
        [commits] = [history for name, history in self.commits.items() if name.startswith("datasets/")]
        return dict([*commits.values()][-1])


class _Handler(SmallHubHandler):
    hub: WritableHub

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        if self._is_a_stranger():
            return
        if path == "/api/whoami-v2":
            return self.send_json({"name": "me", "type": "user", "orgs": []})
        parts = path.strip("/").split("/")
        name = "/".join(parts[1:4])
        if parts[0] == "api" and name in self.hub.commits and (len(parts) == 4 or parts[4] == "revision"):
            commit, files = [*self.hub.commits[name].items()][-1]
            about = {"private": self.hub.private.get(name, False), "tags": self.hub.tags.get(name, [])}
            siblings = [{"rfilename": path} for path in files]
            return self.send_json({"id": "/".join(parts[2:4]), "sha": commit, "siblings": siblings, **about})
        if parts[0] == "api" and parts[1] in ("datasets", "models") and name not in self.hub.commits:
            return self.send(404, b"{}", {"X-Error-Code": "RepoNotFound"})
        super().do_GET()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = unquote(urlsplit(self.path).path)
        self.hub.asked.append(f"POST {path}")
        if self._is_a_stranger():
            return
        parts = path.strip("/").split("/")
        if path == "/api/validate-yaml":
            return self.send_json({"errors": [], "warnings": []})
        if path == "/api/repos/create":
            return self._create(json.loads(body))
        if path.endswith("/info/lfs/objects/batch"):
            return self._batch(json.loads(body))
        if len(parts) > 4 and parts[4] == "preupload":
            modes = [
                {"path": file["path"], "uploadMode": "lfs" if file["path"].endswith(".parquet") else "regular"}
                for file in json.loads(body)["files"]
            ]
            return self.send_json({"files": [{**mode, "shouldIgnore": False, "oid": None} for mode in modes]})
        if len(parts) > 4 and parts[4] == "commit":
            return self._commit("/".join(parts[1:4]), body)
        return self.send(404, b"{}", {})

    def do_PUT(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        digest = hashlib.sha256(data).hexdigest()
        assert self.path.endswith(digest)
        self.hub.large[digest] = data
        self.hub.uploads.append(digest)
        self.send(200, b"", {})

    def _is_a_stranger(self) -> bool:
        if self.headers.get("Authorization") == f"Bearer {TOKEN}":
            return False
        self.send(401, b"{}", {"X-Error-Message": "Invalid credentials in Authorization header"})
        return True

    def _create(self, asked: dict[str, Any]) -> None:
        owner = asked.get("organization") or "me"
        name = f"{asked['type']}s/{owner}/{asked['name']}"
        if owner not in ("me", "ours"):
            return self.send(403, b"{}", {"X-Error-Message": "no rights to create under this namespace"})
        if name not in self.hub.commits:
            self.hub.put(f"{owner}/{asked['name']}", {})
            self.hub.private[name] = bool(asked.get("private")) or asked.get("visibility") == "private"
        self.send_json({"url": f"{self.hub.url}/{name}"})

    def _batch(self, asked: dict[str, Any]) -> None:
        objects = []
        for file in asked["objects"]:
            upload = {"upload": {"href": f"{self.hub.url}/large/{file['oid']}"}}
            objects.append({**file, **({} if file["oid"] in self.hub.large else {"actions": upload})})
        self.send_json({"transfer": "basic", "objects": objects})

    def _commit(self, name: str, body: bytes) -> None:
        if self.hub.refuses_to_write:
            return self.send(self.hub.refuses_to_write, b"{}", {})
        files = dict([*self.hub.commits[name].values()][-1])
        for line in map(json.loads, body.splitlines()):
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                files[value["path"]] = self.hub.large[value["oid"]]
            elif line["key"] == "deletedFile":
                del files[value["path"]]
        commit = self.hub.put(name.partition("/")[2], files)
        self.hub.tags[name] = ["edit-eval"] if b"edit-eval" in files.get("README.md", b"") else []
        address = f"{self.hub.url}/{name}/commit/{commit}"
        self.send_json({"success": True, "commitOid": commit, "commitUrl": address, "hookOutput": ""})


WritableHub.answers = _Handler
