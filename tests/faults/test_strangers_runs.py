"""A run that a stranger hands over: nothing that it names is imported or opened, and its numbers are bounded.

Every attack is carried out on a copy of one run, and every reader walks over it, with all imports and opened files
watched. Each row says where it is from: a public report, or the source of a library that is used here.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import struct
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from PIL import Image

from edit_eval import evaluate
from edit_eval.config import components
from edit_eval.config.components import Registered
from edit_eval.errors import EditEvalError, RunDirectoryError
from edit_eval.experiment import MOST_COLUMNS
from edit_eval.plugins.page import charts as page_charts
from edit_eval.plugins.page import page
from edit_eval.plugins.page.export import export, read_sample_ids
from edit_eval.plugins.push.sending import push
from edit_eval.plugins.reanalysis.files import reanalyse
from edit_eval.plugins.serve.scoring import table_of
from edit_eval.plugins.status.sheet import sample_document, status_document
from edit_eval.plugins.viewer.runs import Runs
from edit_eval.records import Results
from edit_eval.reporting.report import draw
from edit_eval.run import Run, analyse, compare
from edit_eval.statistics.summary import Summary
from edit_eval.store.journal import seal

CONFIGURATION = {
    "benchmark": {"type": "scenes", "limit": 3, "size": 128},
    "edit_models": {"a": {"type": "scene_editor"}, "b": {"type": "copy_source"}},
    "judges": {"t": {"type": "testing", "params": {"device_ids": "cpu:1"}}},
    "evaluation": {"controls": 0, "min_coverage": 0, "repeats": 2},
    "execution": {"pilot": False, "progress": "none"},
}
MOST_MEMORY = 1 << 30
"""Bytes that all readers together may take over a run of a few hundred kilobytes."""
MOST_SECONDS = 60.0
"""Seconds of processor time; a second or two are usual."""
EVIL = """
import os
os.environ["EDIT_EVAL_TRAP"] = "sprung"
from edit_eval.protocols.rubric import Rubric
class P(Rubric): pass
"""


@dataclass
class Watch:
    """What was imported and opened while it was on."""

    on: bool = False
    imported: list[str] = field(default_factory=list)
    opened: list[str] = field(default_factory=list)


_watch = Watch()


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _watch.on and event == "import":
        _watch.imported.append(str(arguments[0]))
    elif _watch.on and event == "open" and isinstance(arguments[0], str | bytes):
        _watch.opened.append(os.path.realpath(os.fsdecode(arguments[0])))


@cache
def _look_on() -> None:
    """Looks on for good, away while nothing is watched: so no process begins with it that does not run these tests."""
    sys.addaudithook(_hook)


@contextmanager
def watched() -> Iterator[Watch]:
    """Watches, with limits on memory; what a reader may raise, and where a trap was sprung, is for the caller."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MOST_MEMORY, hard))
    _look_on()
    _watch.imported, _watch.opened, _watch.on = [], [], True
    try:
        yield _watch
    finally:
        _watch.on = False
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return evaluate(CONFIGURATION, run_dir=tmp_path_factory.mktemp("strangers") / "run").path


@pytest.fixture(scope="module", autouse=True)
def drawn_once() -> Iterator[None]:
    """Charts take nine tenths of a page's time: those of equal results are drawn once."""
    draw_charts, drawn = page_charts.charts, dict[str, Any]()

    def charts(results: Results, summary: Summary, language: str) -> Any:
        told = repr((results, summary)).replace(results.directory, "")
        if told not in drawn:
            drawn[told] = draw_charts(results, summary, language)
        return drawn[told]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(page, "charts", charts)
        yield


@pytest.fixture
def handed(base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy that came with a folder beside it, in a process in which the user has named nothing."""
    monkeypatch.setattr(components, "_NAMED", set())
    monkeypatch.setattr(components, "_CODE", {})
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delenv("EDIT_EVAL_TRAP", raising=False)
    shutil.copytree(base, tmp_path / "handed" / "run")
    (tmp_path / "handed" / "trap.py").write_text(EVIL)
    (tmp_path / "secret").mkdir()
    Image.new("RGB", (128, 128), (1, 2, 3)).save(tmp_path / "secret" / "secret.png")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "handed" / "run"


# -- the readers --


def _viewer(run: Path) -> None:
    runs = Runs([run])
    runs.poll_changes()
    for name in runs.cards:
        seen = runs.open(name)
        _ = seen.boot, seen.state_data()


READERS: dict[str, Callable[[Run, Path], object]] = {
    "status": lambda run, to: status_document(run.results),
    "status SAMPLE": lambda run, to: sample_document(run.results, run.results.samples[0].id),
    "report": lambda run, to: draw(run.results, run.summary, to / "drawn", language="en"),
    "export": lambda run, to: export(run.results, run.summary, to / "sent.zip", language="en", side=64),
    "push": lambda run, to: push(run, "me/it", sources=True, dry_run=True),
    "compare": lambda run, to: compare(run).document,
    "means": lambda run, to: run.means(),
    "notebook": lambda run, to: run._repr_html_(),
    "view": lambda run, to: _viewer(run.path),
    "score RUN": lambda run, to: table_of(run),
    **{f"frame {of}": lambda run, to, of=of: run.to_frame(of) for of in ("scores", "judgements", "edits")},
    **{name: lambda run, to, name=name: analyse(name, run) for name in ("slices", "pairs", "costs", "leaderboard")},
}


def walk(run: Path) -> dict[str, str]:
    """Has every reader read the run; returns what each refused. What is no refusal of ours is raised."""
    refused, made = {}, Run(run)
    with tempfile.TemporaryDirectory() as to:
        (Path(to) / "drawn").mkdir()
        for name, read in READERS.items():
            try:
                read(made, Path(to))
            except EditEvalError as error:
                refused[name] = str(error)
    assert all(len(said.splitlines()) == 1 for said in refused.values()), refused
    return refused


# -- what strangers do --


def resolved(run: Path, change: Callable[[Any], None]) -> None:
    """Changes what the configuration resolved to."""
    file = run / "config" / "0001.json"
    plain = json.loads(file.read_text())
    change(plain)
    file.write_text(json.dumps(plain))


def journal(run: Path, name: str, change: Callable[[Any], Any]) -> None:
    """Changes each line of a journal; a list in place of a line is several."""
    file = next(iter(sorted((run / name).glob("*.jsonl"))))
    lines = [json.loads(line) for line in file.read_bytes().splitlines()]
    made: list[Any] = []
    for line in lines:
        line.pop("crc")
        new = change(line)
        made += new if isinstance(new, list) else [line if new is None else new]
    file.write_bytes(b"".join(map(seal, made)))


def names_class(path: str, folder: str, name: str = "") -> Callable[[Path], None]:
    """The protocol is a class at a path, which counts from a folder."""

    def craft(run: Path) -> None:
        def change(plain: Any) -> None:
            here = str(run.parent)
            plain["judges"][0]["protocol"].update(type=name, class_path=path.replace("HERE", here))
            plain["judges"][0]["folder"] = folder.replace("HERE", here)

        resolved(run, change)

    return craft


def _on_trial(run: Path) -> None:
    def change(plain: Any) -> None:
        asks = {"type": "", "class_path": f"{run.parent}/trap.py:P", "parameters": {"language": "en"}}
        trial = {"type": "on_trial", "class_path": "x:Y", "parameters": {"asks": asks, "folder": str(run.parent)}}
        plain["judges"][0].update(protocol={**trial, "retries": 1}, texts={"en": {}, "zh": {}})

    resolved(run, change)


def _second_run(run: Path) -> None:
    shutil.copytree(run, run.with_name("other"))
    shutil.copy(run.parent / "trap.py", run.with_name("other") / "logs" / "trap.py")
    names_class("HERE/other/logs/trap.py:P", "/")(run)


def _more_controls(run: Path) -> None:
    resolved(run, lambda plain: plain.update(more_controls={"x": [f"{run.parent}/trap.py:P", "x"]}, control_samples=2))


def _evil_source(run: Path) -> None:
    import hashlib

    secret = run.parents[1] / "secret" / "secret.png"
    digest = hashlib.sha256(secret.read_bytes()).hexdigest()
    journal(run, "samples", lambda line: line["pictures"]["source"].update(path=str(secret), digest=digest))


def _laughs(run: Path) -> None:
    rows = ["a0: &a0 [x,x,x,x,x,x,x,x,x]", *(f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12))]
    file = run / "config" / "0001.yaml"
    file.write_text("\n".join([*rows, file.read_text()]))


def yaml_ends(text: str) -> Callable[[Path], None]:
    """The configuration's file goes on with a text."""

    def craft(run: Path) -> None:
        file = run / "config" / "0001.yaml"
        file.write_text(file.read_text() + text)

    return craft


def number(**numbers: Any) -> Callable[[Path], None]:
    """Numbers of the evaluation are others."""
    return lambda run: resolved(run, lambda plain: plain.update(numbers))


def line(name: str, **fields: Any) -> Callable[[Path], None]:
    """Every line of a journal has these fields."""
    return lambda run: journal(run, name, lambda record: record.update(fields))


def event(**fields: Any) -> Callable[[Path], None]:
    """The timeline has one more line."""
    return lambda run: journal(run, "events", lambda record: [record, fields])


def written(place: str, data: bytes) -> Callable[[Path], None]:
    """A file is another."""

    def craft(run: Path) -> None:
        file = next(iter(sorted(run.glob(place))), run / place)
        file.write_bytes(data)

    return craft


def _twice(run: Path) -> None:
    journal(run, "samples", lambda record: record.update(id="cat"))


def _named_alike(role: str) -> Callable[[Path], None]:
    return lambda run: resolved(run, lambda plain: plain[role].append(plain[role][0]))


def _link(run: Path) -> None:
    picture = next((run / "images").rglob("*.png"))
    picture.unlink()
    picture.symlink_to(run.parents[1] / "secret" / "secret.png")


def _pipe(run: Path) -> None:
    os.mkfifo(run / "events" / "0002.jsonl")


def _many_models(run: Path) -> None:
    def change(plain: Any) -> None:
        plain["edit_models"] = [{**plain["edit_models"][0], "name": f"m{n}"} for n in range(2 * MOST_COLUMNS)]

    resolved(run, change)


def derived(**fields: Any) -> Callable[[Path], None]:
    """The protocol is a class that is not here, and what was derived has one judgement with these fields."""

    def craft(run: Path) -> None:
        names_class("HERE/trap.py:P", "/")(run)
        scales = {"score": {"lowest": 0.0, "highest": 10.0, "higher_is_better": True, "mean_over": "samples"}}
        scoring = {"protocol": "p", "headline": "score", "scales": scales, "parts": [], "looks": 1}
        deriver = {"scoring": scoring, "classes": {"trap.py:P": "0" * 64}, "of_two": False, "numbers": {}}
        head = {"at": "2026-11-29 10:00", "of": "", "judges": {"t": deriver}}
        first = json.loads((run / "edits" / "0001.jsonl").read_bytes().splitlines()[0])
        row = {
            **{"sample_id": first["sample_id"], "category": "", "edit_model": first["edit_model"], "judge": "t"},
            **{"edit_seed": 0, "repeat": 0, "headline": "score", "status": "ok", "scores": {"score": 5.0}},
        }
        (run / "derived.jsonl").write_bytes(b"".join(map(seal, [head, {**row, **fields}])))

    return craft


def _ids_lead_outside(run: Path) -> None:
    places = {"samples": "id", "edits": "sample_id", "replies": "sample"}
    for name, key in places.items():
        journal(run, name, lambda record, key=key: record.update({key: f"../../../secret/{record[key]}"}))


def linked(place: str) -> Callable[[Path], None]:
    """A file or folder of the run is a link to the user's."""

    def craft(run: Path) -> None:
        (run / place).parent.mkdir(exist_ok=True)
        (run / place).symlink_to(run.parents[1] / "secret" / ("secret.png" if Path(place).suffix else ""))

    return craft


def _bomb(run: Path) -> None:
    chunks = [struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0), zlib.compress(b"\0" * 1_000_000), b""]
    named = zip((b"IHDR", b"IDAT", b"IEND"), chunks, strict=True)
    packed = [struct.pack(">I", len(c)) + n + c + struct.pack(">I", zlib.crc32(n + c)) for n, c in named]
    for picture in (run / "images").rglob("*.png"):
        picture.write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(packed))


KERAS = "CVE-2025-1550: Keras imports any module that a model's config.json names"
PYYAML = "PyYAML, yaml/constructor.py"
ATTACKS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "a class beside the run, by its whole path": (KERAS, names_class("HERE/trap.py:P", "/")),
    "a class by the working directory": (
        "CVE-2024-21626: runc, a path through /proc/self",
        names_class("handed/trap.py:P", "/proc/self/cwd"),
    ),
    "a class in another run": ("CVE-2022-21699: IPython, code in a folder that is opened", _second_run),
    "a module in a folder that the record names": ("CVE-2022-21699", names_class("trap:P", "HERE")),
    "a type that nobody has registered": (
        "CVE-2024-3660: Keras, code of a layer that a file brings along",
        names_class("HERE/trap.py:P", "/", "no_such_protocol"),
    ),
    "a registered package, with a folder before it": (
        "CWE-427; importlib, PathFinder takes the first folder that has it",
        names_class("trap:P", "HERE", "theirs"),
    ),
    "a module of Python that does something when it is imported": (KERAS, names_class("this:P", "/")),
    "a protocol within a protocol": (KERAS, _on_trial),
    "a control's class": (KERAS, _more_controls),
    "a tag that calls a function": (
        "CVE-2020-14343: PyYAML, python/object/new",
        yaml_ends("\nx: !!python/object/apply:os.putenv [EDIT_EVAL_TRAP, sprung]\n"),
    ),
    "a tag that names a module": ("CVE-2017-18342: PyYAML", yaml_ends("\nx: !!python/module:trap\n")),
    "aliases of aliases": ("CVE-2019-11253: Kubernetes, a YAML of billions", _laughs),
    "an alias of itself": (f"{PYYAML}, flatten and deep construction", yaml_ends("\nx: &x [*x]\n")),
    "brackets in brackets": (
        "CVE-2022-42919 et al.; json/decoder.py recurses",
        written("config/0001.json", b"[" * 200_000),
    ),
    "an environment of brackets": (
        "json/scanner.py raises RecursionError",
        written("environment/0001.json", b"[" * 200_000),
    ),
    "a number of 100,000 digits": (
        "CVE-2020-10735: int() of a long text",
        written("config/0001.json", b'{"edit_seeds": ' + b"9" * 100_000 + b"}"),
    ),
    "a billion readings": ("CWE-770, CWE-789: allocation by a number of the file", number(readings=10**9)),
    "a trillion edit seeds": ("CWE-770", number(edit_seeds=10**12)),
    "a billion repeats": ("CWE-770", number(repeats=10**9)),
    "as many of each as a configuration may have": (
        "CVE-2021-27921: Pillow, memory by the size that a file claims",
        number(repeats=1000, edit_seeds=1000, readings=1000),
    ),
    "fewer than none": ("CWE-839", number(repeats=-5)),
    "thousands of edit models": ("CWE-770", _many_models),
    "two samples of one id": ("CWE-694: one identifier for two", _twice),
    "two judges of one name": ("CWE-694", _named_alike("judges")),
    "two edit models of one name": ("CWE-694", _named_alike("edit_models")),
    "an event without its start": ("CWE-754; a KeyError in a reader of jsonl", event(event="devices", devices=["x"])),
    "devices that are no list": ("CWE-704", event(event="devices", devices={"x": {}}, start=1)),
    "a device's time that is none": (
        "CVE-2019-9634 et al.; float overflow in datetime and matplotlib.dates",
        event(event="activity", start=1, device="x", kind="editing", model="a", begin=0.0, end=1e308, what=""),
    ),
    "a start of 2**70": ("CVE-2021-33430: NumPy, sizes beyond int64", event(event="end", start=2**70, seconds=1.0)),
    "dollars without end": (
        "CWE-1339",
        event(event="charged", start=1, task=1, model="a", usd=1e308, attempts=1, told=True),
    ),
    "a utilisation of lists": ("CWE-704", event(event="utilisation", start=1, devices={"x": {"editing": [1, []]}})),
    "an edit of 1e308 seconds": ("float overflow: math.fsum, int(inf)", line("edits", seconds=1e308)),
    "replies of 1e308 seconds": ("float overflow: math.fsum, int(inf)", line("replies", seconds=1e308)),
    "tokens beyond any number": ("CVE-2021-33430", line("replies", tokens=[2**70, 2**70])),
    "a picture of the user's as a source": (
        "CVE-2023-1177: MLflow reads any file that a record calls a source",
        _evil_source,
    ),
    "a picture above the run": ("CVE-2018-1002200, Zip Slip", line("edits", image="images/../../../secret/secret.png")),
    "a picture by its whole path": (
        "CVE-2024-1561: Gradio copies any file that is named",
        line("edits", image="/etc/passwd"),
    ),
    "the environment as a picture": (
        "CVE-2023-51449: Gradio, /proc by a path",
        line("edits", image="/proc/self/environ"),
    ),
    "ids that lead outside": ("CVE-2018-1002200, Zip Slip: names in what is packed", _ids_lead_outside),
    "a passport that is a link": ("CVE-2019-11246: kubectl cp, links of a tar", linked("passports/j.json")),
    "passports in a folder that is a link": ("CVE-2021-32803: node-tar", linked("passports")),
    "pictures of billions of pixels": ("CVE-2014-9601: Pillow, decompression bombs", _bomb),
    "a link": ("CVE-2007-4559: tarfile, a link that leads outside", _link),
    "a pipe": ("CWE-67; open() of a pipe waits for ever", _pipe),
    "a score that was derived off its scale": ("CWE-345", derived(scores={"score": 1e300})),
    "a derived score of no name": ("CWE-345", derived(scores={"other": 1.0})),
    "a derived judgement of a billion seconds": ("float overflow", derived(seconds=1e308)),
    "a derived judgement with escapes": (
        "CVE-2003-0063: a terminal that obeys what is printed",
        derived(reason="\x1b]0;x\x07\x1b[2J"),
    ),
    "derived lines of nothing": ("msgspec, ValidationError", written("derived.jsonl", b"\n" * 1000)),
}
READ_ALL_THE_SAME = frozenset(
    name
    for name in ATTACKS
    if re.search("event|time|start of|dollars|utilisation|seconds|tokens|picture|devices", name)
)
"""Of these a line or a picture is left out, and the rest is read."""


def test_there_are_forty_and_each_says_where_it_is_from() -> None:
    assert len(ATTACKS) >= 40
    assert all(len(source) >= 7 for source, _ in ATTACKS.values())


def test_an_honest_run_is_read_by_all(handed: Path) -> None:
    with watched() as seen:
        assert walk(handed) == {}
    assert any(path.startswith(str(handed)) for path in seen.opened), "the watch sees what is opened"


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", ATTACKS)
def test_a_reader_runs_nothing_opens_nothing_else_and_ends(
    name: str, handed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, craft = ATTACKS[name]
    monkeypatch.setattr(components, "_read_entry_points", lambda path: REGISTERED)
    craft(handed)
    began = time.process_time()
    with watched() as seen:
        refused = walk(handed)
    assert time.process_time() - began < MOST_SECONDS
    assert "EDIT_EVAL_TRAP" not in os.environ, "a stranger's code ran"
    assert not [module for module in seen.imported if module in ("trap", "edit_eval_user_trap", "this")]
    secret = str((tmp_path / "secret").resolve())
    assert not [path for path in seen.opened if path.startswith((secret, "/etc/passwd", "/proc/self/environ"))]
    assert not [path for path in seen.opened if path.endswith("trap.py")]
    if name in READ_ALL_THE_SAME:
        assert {"status", "report", "compare"}.isdisjoint(refused), refused


REGISTERED = components.EntryPoints(
    (*components.list_registrations(), Registered("protocol", "theirs", "trap:P", "x 1"))
)


def test_two_samples_of_one_id_are_refused_by_name(handed: Path) -> None:
    _twice(handed)
    with pytest.raises(RunDirectoryError, match=r"its samples 1 and 2 have one id, `cat`"):
        _ = Run(handed).results


def test_code_that_lies_with_the_run_is_not_found_by_code(handed: Path, tmp_path: Path) -> None:
    """`--code` names a folder: what a stranger's run has in that folder is not among it."""
    names_class("handed.run.logs.trap:P", "/")(handed)
    shutil.copy(handed.parent / "trap.py", handed / "logs" / "trap.py")
    for place in (handed.parent, handed, handed / "logs"):
        (place / "__init__.py").touch()
    with watched() as seen, pytest.raises(EditEvalError):
        _ = Run(handed, code=[tmp_path]).results
    assert "EDIT_EVAL_TRAP" not in os.environ
    assert not [path for path in seen.opened if path.endswith("trap.py")]


def test_a_run_that_is_handed_over_lends_nothing_from_outside(handed: Path, base: Path, tmp_path: Path) -> None:
    """`--reuse` of it: pictures are taken from within it alone."""
    journal(handed, "edits", lambda record: record.update(image="images/../../../secret/secret.png"))
    with suppress(EditEvalError):
        evaluate(CONFIGURATION, run_dir=tmp_path / "mine", reuse_from=[handed], report=False)
    assert not [p for p in (tmp_path / "mine").rglob("*.png") if p.stat().st_ino == os.stat("secret/secret.png").st_ino]
    made = Run(tmp_path / "mine").results
    assert [edit.pixels for edit in made.edits] == [edit.pixels for edit in Run(base).results.edits]


def test_the_configuration_of_a_run_is_written_without_aliases(base: Path) -> None:
    text = (base / "config" / "0001.yaml").read_text()
    assert not [token for token in yaml.scan(text) if isinstance(token, yaml.AliasToken)]


# -- results of others --


def workbook(sheet: bytes, *more: str) -> Callable[[Path], None]:
    """A workbook with this sheet, and with files of such names beside it."""

    def craft(folder: Path) -> None:
        with zipfile.ZipFile(folder / "m_judge.xlsx", "w", zipfile.ZIP_DEFLATED) as packed:
            packed.writestr("xl/worksheets/sheet1.xml", sheet)
            for name in more:
                packed.writestr(name, "x")

    return craft


def _liar(folder: Path) -> None:
    workbook(b"<a>" + b"<c/>" * 15_000_000 + b"</a>")(folder)
    file = folder / "m_judge.xlsx"
    data = bytearray(file.read_bytes())
    for mark, place in ((b"PK\3\4", 22), (b"PK\1\2", 24)):  # its unpacked size
        data[data.index(mark) + place : data.index(mark) + place + 4] = (100).to_bytes(4, "little")
    file.write_bytes(data)


def _claims_rows(folder: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    (folder / "processed_dataset").mkdir()
    nothing = pyarrow.Array.from_buffers(pyarrow.null(), 1 << 30, [None])
    table = pyarrow.table({"m_accuracy": nothing, "m_editing_accuracy": nothing})
    with pyarrow.ipc.new_stream(folder / "processed_dataset" / "a.arrow", table.schema) as stream:
        stream.write_table(table)


def result(name: str, data: bytes) -> Callable[[Path], None]:
    """A file of results."""

    def craft(folder: Path) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)

    return craft


def link_to_secret(name: str) -> Callable[[Path], None]:
    """A file, or a folder, of results is a link to the user's."""

    def craft(folder: Path) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(folder.parent / "secret" / ("secret.png" if Path(name).suffix else ""))

    return craft


def _pipe_of_results(folder: Path) -> None:
    os.mkfifo(folder / "m_background_change_gpt_score.csv")


LAUGHS = b"<!DOCTYPE a [<!ENTITY a 'ha'>" + b"".join(
    b"<!ENTITY %c '%s'>" % (97 + n, b"&%c;" % (96 + n) * 10) for n in range(1, 12)
)
RESULTS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "a workbook of many gigabytes": (
        "D. Fifield, A better zip bomb (WOOT 2019)",
        workbook(b"<a>" + b"<c/>" * 15_000_000 + b"</a>"),
    ),
    "a workbook that lies about its size": ("CVE-2019-9674: Python, zipfile", _liar),
    "entities of entities": ("CVE-2003-1564: libxml2, billion laughs", workbook(LAUGHS + b"]><a>&l;</a>")),
    "an entity of a file": (
        "CVE-2013-1665: XML external entities",
        workbook(b"<!DOCTYPE a [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><a>&a;</a>"),
    ),
    "names that lead outside a zip": ("CVE-2018-1002200, Zip Slip", workbook(b"<a/>", "../../x", "/etc/x", "..\\x")),
    "no zip": ("CWE-703", result("m_judge.xlsx", b"PK\3\4" + b"\0" * 99)),
    "a table that is a link": ("CVE-2007-4559: tarfile", link_to_secret("m_background_change_gpt_score.csv")),
    "a folder that is a link": ("CVE-2021-32803: node-tar", link_to_secret("reviews")),
    "a table that is a pipe": ("CWE-67; open() of a pipe waits for ever", _pipe_of_results),
    "rows that take no bytes": ("CWE-789: allocation by a number of the file; Arrow, null arrays", _claims_rows),
    "brackets in brackets": ("json/scanner.py raises RecursionError", result("result.json", b"[" * 300_000)),
    "a number of a million digits": (
        "CVE-2020-10735",
        result("a/samples_x.jsonl", b'{"doc_id": ' + b"9" * 1_000_000 + b"}"),
    ),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_of_others_open_nothing_else_and_end(name: str, handed: Path, tmp_path: Path) -> None:
    folder = tmp_path / "results"
    folder.mkdir()
    RESULTS[name][1](folder)
    with watched() as seen, pytest.raises(EditEvalError) as refused:
        reanalyse([folder])
    assert len(str(refused.value)) < 600
    assert not [path for path in seen.opened if path.startswith((str(tmp_path / "secret"), "/etc/passwd"))]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sample_id\n../../secret/secret.png\n", "is not a sample of"),
        ("sample_id\n/etc/passwd\n", "is not a sample of"),
        ("sample_id\n", "no sample was named"),
        ("\0", "does not name the column"),
    ],
)
def test_ids_of_a_file_open_nothing(text: str, words: str, handed: Path, tmp_path: Path) -> None:
    (tmp_path / "ids.csv").write_text(text)
    made = Run(handed)
    with watched() as seen, pytest.raises(EditEvalError, match=words):
        export(
            *(made.results, made.summary, tmp_path / "x.zip"),
            **{"language": "en", "side": 64, "samples": read_sample_ids(tmp_path / "ids.csv")},
        )
    assert not [path for path in seen.opened if path.startswith((str(tmp_path / "secret"), "/etc/passwd"))]
    assert not (tmp_path / "x.zip").exists()


def test_samples_whose_ids_lead_outside_are_sent_under_names_of_ours(handed: Path, tmp_path: Path) -> None:
    _ids_lead_outside(handed)
    made = Run(handed)
    ids = [made.results.samples[0].id]
    with watched() as seen:
        export(made.results, made.summary, tmp_path / "x.zip", language="en", side=64, samples=ids)
    assert ids[0].startswith("../../../secret")
    assert not [path for path in seen.opened if path.startswith(str(tmp_path / "secret"))]
    with zipfile.ZipFile(tmp_path / "x.zip") as packed:
        assert not [name for name in packed.namelist() if ".." in name or name.startswith("/")]
