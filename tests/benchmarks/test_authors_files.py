"""The files with authors' prompts: fetched whole or not at all, and found again without a network."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from benchmarks.five_dimension_files import picture
from edit_eval.benchmarks import authors_files
from edit_eval.benchmarks.authors_files import AuthorsFile
from edit_eval.config.loading import load_configuration
from edit_eval.errors import ConfigurationError, Stopped
from edit_eval.plugins.preparation.cards import fetch
from edit_eval.plugins.published import imgedit
from edit_eval.plugins.published.gedit import VIEScore
from edit_eval.plugins.published.imgedit import ImgEditScores
from edit_eval.plugins.published.kris import KrisScores
from edit_eval.plugins.published.omnicontext import OmniContextScores
from edit_eval.plugins.published.pairs import GEditBenchV2
from edit_eval.plugins.published.risebench import RISEBenchScores
from edit_eval.plugins.published.unireditbench import UniREditBenchScores

TEXT = ("{" + ", ".join(f'"{name}": "Judge <edit_prompt>."' for name in ImgEditScores.official) + "}").encode()
FILE = AuthorsFile("o/n", "a" * 40, "eval/prompts.json", "MIT", hashlib.sha256(TEXT).hexdigest())


class Host:
    """What lies at its paths, and the paths that it was asked for."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.asked: list[str] = []


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Host]:
    made = Host()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.asked.append(self.path)
            data = made.files.get(self.path)
            self.send_response(404 if data is None else 200)
            self.send_header("Content-Length", str(len(data or b"")))
            self.end_headers()
            self.wfile.write(data or b"")

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    monkeypatch.setattr(authors_files, "HOST", f"http://127.0.0.1:{server.server_address[1]}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    yield made
    server.shutdown()
    server.server_close()
    thread.join()


def test_each_protocol_has_its_own() -> None:
    classes = (VIEScore, ImgEditScores, KrisScores, RISEBenchScores, UniREditBenchScores, OmniContextScores)
    files = [cls.official_file for cls in classes]
    assert len({file.digest for file in files}) == len(classes)
    assert all(len(file.commit) == 40 and len(file.digest) == 64 for file in files)


def test_once_and_then_without_a_network(host: Host) -> None:
    host.files[f"/o/n/{'a' * 40}/eval/prompts.json"] = TEXT
    assert FILE.fetch().read_bytes() == TEXT
    host.files.clear()
    assert FILE.fetch() == FILE.path_in_cache() == FILE.place
    assert len(host.asked) == 1


@pytest.mark.parametrize(
    ("data", "said"), [(None, r"\(404\)"), (TEXT[:9], "not that file, or half of it"), (b"<html>", "not that file")]
)
def test_what_does_not_come_whole_is_not_there(host: Host, data: bytes | None, said: str) -> None:
    if data is not None:
        host.files[f"/o/n/{'a' * 40}/eval/prompts.json"] = data
    with pytest.raises(Stopped, match=f"prompts.json was not fetched .*{said}.*give it as prompts_path"):
        FILE.fetch()
    with pytest.raises(ConfigurationError, match=r"o/n@aaaaaaa:eval/prompts\.json is not here: run `edit-eval fetch"):
        FILE.path_in_cache()
    FILE.place.parent.mkdir(parents=True)
    FILE.place.write_bytes(TEXT[:9])  # by a copy that was cut off
    with pytest.raises(ConfigurationError, match="is not here"):
        FILE.path_in_cache()


def test_no_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(authors_files, "HOST", "http://127.0.0.1:9")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(Stopped, match=r"prompts\.json was not fetched \(.*refused.*\): try again") as caught:
        FILE.fetch()
    assert "\n" not in str(caught.value)


def test_rows_that_do_not_come_with_their_pictures(host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = json.dumps({"1": {"id": "1.jpg", "prompt": "Remove it."}}).encode()
    listed = dataclasses.replace(imgedit.UGE_ROWS, digest=hashlib.sha256(rows).hexdigest())
    monkeypatch.setattr(imgedit, "UGE_ROWS", listed)
    host.files[f"/{listed.repository}/{listed.commit}/{listed.path}"] = rows
    pictures = tmp_path / "data" / "hard"
    pictures.mkdir(parents=True)
    (pictures / "1.jpg").write_bytes(picture(1, "JPEG"))
    models = "diffusion_model: {type: testing}\nreward_model: {type: testing}\n"
    for suite in ("uge", "basic"):
        about = f"{{type: imgedit, suite: {suite}, data_path: {tmp_path / 'data'}, cache_dir: {tmp_path / 'sources'}}}"
        (tmp_path / f"{suite}.yaml").write_text(f"benchmark: {about}\n{models}")
    asking = {"data_path": str(tmp_path / "data"), "cache_dir": str(tmp_path / "sources"), "suite": "uge"}
    parameters = imgedit.ImgEdit.Parameters(**asking)
    said = r"^benchmark\.data_path: .*UGE_edit\.json is not here: run `edit-eval fetch.* lay it beside the pictures$"
    with pytest.raises(ConfigurationError, match=said):
        list(imgedit.ImgEdit(parameters).samples())
    assert len(list(fetch(load_configuration(tmp_path / "basic.yaml")))) == 1
    _, fetched = fetch(load_configuration(tmp_path / "uge.yaml"))
    assert (fetched.what, fetched.path, fetched.bytes) == ("rows of the benchmark", str(listed.place), len(rows))
    (sample,) = imgedit.ImgEdit(parameters).samples()
    assert (sample.instruction, sample.fault) == ("Remove it.", "")


def test_a_configuration_is_fetched_with_its_prompts(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ImgEditScores, "official_file", FILE)
    host.files[f"/o/n/{'a' * 40}/eval/prompts.json"] = TEXT
    (tmp_path / "data").mkdir()
    (tmp_path / "c.yaml").write_text(
        f"benchmark: {{type: imgedit, data_path: {tmp_path / 'data'}}}\nprotocol: {{prompts: official}}\n"
        "diffusion_model: {type: testing}\nreward_model: {type: testing}\n"
    )
    official = ImgEditScores.Parameters(prompts="official")
    with pytest.raises(ConfigurationError, match="is not here"):
        ImgEditScores.texts(official)
    _, prompts = fetch(load_configuration(tmp_path / "c.yaml"))
    assert (prompts.name, prompts.path, prompts.bytes) == (str(FILE), str(FILE.place), len(TEXT))
    assert ImgEditScores.texts(official)["add"]["user_prompt_template"] == "Judge {edit_instruction}."


def test_every_file_of_a_protocol_that_has_several_is_fetched(
    host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = b"system_prompt: S\nuser_prompt: [{text: 'Do {{ instruction }}'}, {image: {source: x}}]\n"
    files = [AuthorsFile("o/n", "a" * 40, f"{n}/v1.yaml", "", hashlib.sha256(said).hexdigest()) for n in range(3)]
    monkeypatch.setattr(GEditBenchV2, "official_files", files)
    host.files.update({f"/o/n/{'a' * 40}/{n}/v1.yaml": said for n in range(3)})
    (tmp_path / "data").mkdir()
    (tmp_path / "c.yaml").write_text(
        f"benchmark: {{type: imgedit, data_path: {tmp_path / 'data'}}}\n"
        "protocol: {type: geditbench_v2, prompts: official}\n"
        "edit_models: {a: {type: testing}, b: {type: testing}}\nreward_model: {type: testing}\n"
    )
    _, *prompts = fetch(load_configuration(tmp_path / "c.yaml"))
    assert [prompt.path for prompt in prompts] == [str(file.place) for file in files]
    texts = GEditBenchV2.texts(GEditBenchV2.Parameters(prompts="official"))
    assert texts["official"]["visual_quality"] == ["S", "Do {edit_instruction}"]
