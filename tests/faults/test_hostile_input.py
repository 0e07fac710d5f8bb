"""Ids that are paths, texts that are programs, files that are bombs: nothing leaves the run directory, nothing runs."""

from __future__ import annotations

import base64
import io
import json
import random
import re
import socket
import subprocess
import sys
import unicodedata
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from drawn_pages import read_page
from edit_eval import evaluate
from edit_eval.errors import EditEvalError
from edit_eval.records import Status
from edit_eval.run import Run
from faults.faulty_runs import run
from faults.hostile_benchmark import EVIL, IDS
from small_benchmark import configuration, write_benchmark

HOSTILE = Path(__file__).with_name("hostile_benchmark.py")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, set[Path]]:
    """A whole run on the hostile benchmark, and what was in its surroundings before."""
    around = tmp_path_factory.mktemp("hostile")
    folder = around / "deep" / "er"
    folder.mkdir(parents=True)
    (folder / "sources").mkdir()
    settings = configuration(
        folder,
        judge={"default_answer": f"Score: 4.000\n{EVIL}", "answers": {IDS[0]: f'{{"score": 7, "why": "{{}}{EVIL}"}}'}},
        evaluation={"answer": "reason_then_score", "retries": 0},
        execution={"pilot": False},
    )
    settings["benchmark"] = {"class_path": f"{HOSTILE}:Hostile", "folder": str(folder / "sources")}
    made = evaluate(settings, run_dir=folder / "run")
    return made, {p for p in around.rglob("*") if not p.is_relative_to(folder / "run")}


def test_every_edit_is_made_and_lies_in_the_run_directory(hostile: tuple[Run, set[Path]]) -> None:
    made, _ = hostile
    edits = made.results.edits
    assert {e.status for e in edits} == {Status.OK}
    assert len({e.image for e in edits}) == len(edits), "twins that differ only in their encoding lie apart"
    folder = (made.path / "images" / "testing").resolve()
    for edit in edits:
        path = (made.path / edit.image).resolve()
        assert path.parent == folder
        assert len(path.name.encode()) <= 255
        assert not path.name.startswith((".", "-"))
        assert unicodedata.normalize("NFC", path.name) == path.name
    assert len(list(folder.iterdir())) == len(edits)


def test_nothing_was_written_elsewhere(hostile: tuple[Run, set[Path]]) -> None:
    made, outside = hostile
    around = made.path.parents[2]
    names = {p.name for p in outside}
    assert not {n for n in names if "escaped" in n or "passwd" in n}
    assert {p for p in around.rglob("*") if not p.is_relative_to(made.path)} == outside
    assert not Path("/tmp/escaped").exists()


def test_every_id_comes_back_as_it_was(hostile: tuple[Run, set[Path]]) -> None:
    made, _ = hostile
    assert [s.id for s in made.results.samples] == list(IDS)
    rows = json.loads((made.path / "report" / "summary.json").read_text("utf-8"))
    assert rows["coverage"]["total"] == len(made.results.samples)


class Page(HTMLParser):
    """Every element of a page, and the text of its scripts."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.scripts: list[tuple[dict[str, str], str]] = []
        self._in_script = False
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attributes}))
        self._in_script = tag == "script"

    def handle_endtag(self, tag: str) -> None:
        self._in_script = False

    def handle_data(self, data: str) -> None:
        if self._in_script:
            self.scripts.append((self.elements[-1][1], data))


def test_nothing_of_it_runs_in_the_report(hostile: tuple[Run, set[Path]]) -> None:
    made, _ = hostile
    page = Page(read_page(made.page))
    assert len(page.scripts) > 2
    for attributes, text in page.scripts:
        if attributes.get("type") == "application/zlib":
            json.loads(text)  # data from the first character to the last
        else:
            assert "hacked" not in text, "it stands in data only"
    assert any("window.hacked" in text for _, text in page.scripts), "and there it is shown"
    for tag, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on")], (tag, attributes)
        for name in ("href", "src", "action", "formaction", "srcdoc", "style"):
            told = attributes.get(name, "")  # a link within the page may hold it, as data
            within = told.startswith("#") and not set(told) & set("<>'`:")
            assert "hacked" not in told or within, (tag, attributes)
        assert attributes.get("src") != "x"
    assert not {tag for tag, _ in page.elements} & {"iframe", "object", "embed", "base", "frame", "applet"}
    for path in (made.path / "report").rglob("*"):
        if path.suffix in (".html", ".md"):
            text = read_page(path)
            assert "<script>window.hacked" not in text, path
            assert not re.search(r"(?<!\\)<img src=x", text), path  # with a backslash it is text


@pytest.mark.parametrize("verb", [["status"], ["status", "../../escaped"]])
def test_nothing_of_it_reaches_the_terminal(hostile: tuple[Run, set[Path]], verb: list[str]) -> None:
    made, _ = hostile
    command = [sys.executable, "-m", "edit_eval", verb[0], str(made.path), *verb[1:]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    assert "\x07" not in done.stdout + done.stderr


# -- through the benchmark's own file --


def item_with(folder: Path, **fields: Any) -> Path:
    path = write_benchmark(folder)
    items = json.loads(path.read_text("utf-8"))
    items[4] |= fields
    path.write_text(json.dumps(items, ensure_ascii=False), "utf-8")
    return path


def test_a_path_in_a_file_names_a_sample_and_no_place(tmp_path: Path) -> None:
    path = write_benchmark(tmp_path)
    items = json.loads(path.read_text("utf-8"))
    names = ["../../x.png", "/etc/passwd", "..", "汉" * 300 + ".png", "nul\0byte.png", "~root/y"]
    for item, name in zip(items, names, strict=False):
        item["original_image_path"] = name
    path.write_text(json.dumps(items, ensure_ascii=False), "utf-8")
    before = set(tmp_path.parent.iterdir())
    made = run(tmp_path)
    assert {e.status for e in made.results.edits} == {Status.OK}
    assert {p.name for p in tmp_path.iterdir()} == {"benchmark.json", "cache", "run"}
    assert set(tmp_path.parent.iterdir()) == before


@pytest.mark.parametrize("address", ["http://{}/x.png", "//{}/x.png", "http:/{}/x.png"])
@pytest.mark.parametrize("field", ["src_img_path", "src_img_b64"])
def test_an_address_is_no_picture_and_nobody_calls_there(tmp_path: Path, field: str, address: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        item = {"src_img_b64": None, field: address.format(f"127.0.0.1:{server.getsockname()[1]}")}
        item_with(tmp_path, **item)
        with pytest.raises(EditEvalError) as refused:
            run(tmp_path)
        assert "sample 4 (" in "\n".join([str(refused.value), *getattr(refused.value, "faults", ())])
        with pytest.raises(BlockingIOError):
            server.accept()
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("suffix", ["JPEG", "PNG"])
def test_a_source_cut_off_anywhere_is_named(tmp_path: Path, suffix: str) -> None:
    """`verify()` of the library takes a JPEG that has lost its second half."""
    data = io.BytesIO()
    Image.frombytes("RGB", (64, 48), random.Random(1).randbytes(3 * 64 * 48)).save(data, suffix)
    whole = data.getvalue()
    items = json.loads(write_benchmark(tmp_path).read_text("utf-8"))
    places = range(10, len(whole) - 2, len(whole) // 40)
    made = [
        {**items[0], "original_image_path": f"{n}.png", "src_img_b64": base64.b64encode(whole[:n]).decode()}
        for n in places
    ]
    (tmp_path / "benchmark.json").write_text(json.dumps(made), "utf-8")
    with pytest.raises(EditEvalError) as refused:
        run(tmp_path)
    assert len(getattr(refused.value, "faults", ())) == len(places)
    made[5]["src_img_b64"] = base64.b64encode(whole).decode()
    (tmp_path / "benchmark.json").write_text(json.dumps(made), "utf-8")
    with pytest.raises(EditEvalError) as refused:
        run(tmp_path)
    assert len(getattr(refused.value, "faults", ())) == len(places) - 1, "the whole one is none of them"


def png(size: tuple[int, int]) -> str:
    data = io.BytesIO()
    Image.new("1", size).save(data, "PNG")
    return base64.b64encode(data.getvalue()).decode()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"src_img_b64": (20_000, 20_000)}, "50 million pixels"),
        ({"src_img_b64": "data:text/html;base64,PHNjcmlwdD4="}, "sample 4"),
        ({"src_img_b64": base64.b64encode(b"<svg onload='hacked'/>").decode()}, "not a picture"),
        ({"src_img_b64": "%%%"}, "base64"),
        ({"original_image_path": "images/00003_物理_easy.png"}, "00003_物理_easy"),
    ],
)
def test_what_is_no_picture_or_no_id_is_named_before_anything_starts(
    tmp_path: Path, fields: dict[str, Any], said: str
) -> None:
    if isinstance(fields.get("src_img_b64"), tuple):
        fields = {"src_img_b64": png(fields["src_img_b64"])}
    item_with(tmp_path, **fields)
    with pytest.raises(EditEvalError) as refused:
        run(tmp_path)
    assert said in "\n".join([str(refused.value), *getattr(refused.value, "faults", ())])
    assert not (tmp_path / "run").exists()


def test_a_configuration_that_explodes_is_refused_in_one_line(tmp_path: Path) -> None:
    bomb = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    bomb += [f"{n}: &{n} [{', '.join([f'*{b}'] * 9)}]" for b, n in zip("abcdefgh", "bcdefghi", strict=True)]
    path = tmp_path / "bomb.yaml"
    for text in ("\n".join(bomb), "a: !!python/object/apply:os.system ['touch hacked']"):
        path.write_text(text)
        command = [sys.executable, "-m", "edit_eval", "run", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
        assert "error: " in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["bomb.yaml"]
