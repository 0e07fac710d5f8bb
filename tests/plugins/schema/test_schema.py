"""The schema of a configuration says what the reader says, as far as one file can tell."""

from __future__ import annotations

import copy
import io
import json
import re
import runpy
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from combinations import drawing
from command_lines import Command, caller, one_error
from documented_blocks import DOCS, blocks
from edit_eval.config import components
from edit_eval.config.sections import top_keys
from edit_eval.config.shipped import find_shipped_files
from edit_eval.config.yaml_text import parse, parse_ours, read_file
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.preparation import requests as preparation
from edit_eval.plugins.schema.document import OwnClass, configuration_schema
from edit_eval.plugins.schema.files import BESIDE, LINE
from plugins.schema import language_server

TESTS = Path(__file__).parents[2]
REPOSITORY = TESTS.parent
FILES = [
    *find_shipped_files().values(),
    *sorted((REPOSITORY / "examples").glob("*.yaml")),
    *sorted((TESTS / "config/base_system").glob("*.yaml")),
]
PAGES = [REPOSITORY / "README.md", REPOSITORY / "README.zh-CN.md", *sorted(DOCS.rglob("*.md"))]
command = pytest.fixture(caller)

BEYOND = {
    "missing",
    "no edit model",
    "no judge",
    "is also given; keep one",
    "protocol.retry: unknown key",  # of a protocol that is not named, any key may be the benchmark's own
    "evaluation.answer: must be",
    "evaluation.retries: must be",
    "an edit model takes one sample at a time",
    "cannot offload",
    "already names a class",
    "is not a class path",
    "import_from: no such folder",
    "must be a finite number",  # JSON has no NaN
    "extends: no such file",
    "is not a valid device",
    "no such file",
    "has no class",
    "there is no module",
    "has no method",
    "is not a class",
}
"""What the reader alone tells: what is missing, since a base may have it; other files, classes, devices' names."""


@cache
def schema() -> Any:
    return configuration_schema()


def wrong(values: Any, of: Any = None) -> list[str]:
    """What the schema finds wrong."""
    found = jsonschema.Draft7Validator(of or schema()).iter_errors(values)
    return [f"{'.'.join(map(str, one.absolute_path))}: {one.message}" for one in found]


def test_it_is_a_schema_and_says_of_every_key_what_it_is() -> None:
    jsonschema.Draft7Validator.check_schema(schema())
    bare = []

    def look(part: Any, place: str) -> None:
        if not isinstance(part, dict):
            return
        assert part.get("enum") != [], f"{place}: editors refuse a schema with an empty list"
        for key, value in part.items():
            if key == "properties" and not place.endswith(("/if", "/then", "/else")):
                bare.extend(f"{place}/{name}" for name, one in value.items() if not _described(one))
            look(value, f"{place}/{key}")

    look(schema(), "")
    assert bare == []


def _described(one: Any) -> bool:
    name = str(one.get("$ref", "")).removeprefix("#/definitions/")
    return bool(
        one.get("description") or (name and (name.count("/") or schema()["definitions"][name].get("description")))
    )


def test_every_registered_type_is_there_with_its_parameters_and_their_defaults() -> None:
    definitions = schema()["definitions"]
    for kind in ("benchmark", "edit_model", "judge", "protocol"):
        for one in components.list_components(kind):
            for described in components.describe(one.name):
                if described.kind == kind:
                    keys = definitions[f"{kind}.{one.name}"]["properties"]
                    names = {each.name for each in described.parameters} - {"measures"}
                    assert names <= keys.keys(), one.name
    steps = definitions["edit_model.qwen_image_edit"]["properties"]["num_inference_steps"]
    assert (steps["default"], steps["description"]) == (50, "Steps of denoising; null: what is recommended.")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_runs_is_right(path: Path) -> None:
    assert wrong(read_file(path)) == []


def configurations(text: str) -> Iterator[dict[str, Any]]:
    """The configurations in a block: one, or a line for each where a key is there more than once."""
    try:
        found = [parse(text, "")]
    except ConfigurationError:
        found = [parse_ours(part) for part in re.split(r"\n(?=\w)", text)]
    yield from (one for one in found if isinstance(one, dict) and one and one.keys() <= top_keys().keys())


def test_what_the_guides_show_is_right() -> None:
    """A block may be a part of a file, so it is read as one that extends another. What a page's own package adds is
    known only where that is installed, as where the page's commands are typed."""
    shown = 0
    for page in PAGES:
        if any(block.file == "pyproject.toml" for block in blocks(page)):
            continue
        for block in blocks(page):
            if block.language == "yaml":
                for one in configurations(block.text):
                    shown += 1
                    assert wrong({"extends": "demo", **one}) == [], f"{page.name}:\n{block.text}"
    assert shown > 80


def test_what_the_reader_refuses_is_wrong_here() -> None:
    golden = parse_ours((TESTS / "config/golden_errors.yaml").read_text("utf-8"))
    complete = runpy.run_path(str(TESTS / "config/conftest.py"))["COMPLETE"]
    named = (("benchmark", "own_models.Pairs"), ("edit_model", "own_models:Editor"), ("judge", "own_models:Judge"))
    own = []
    for kind, path in named:
        written = components.normalise_class_path(path)
        own.append(OwnClass(kind, path, components.name_class(kind, written, TESTS / "config")))
    mine = configuration_schema(own)
    assert wrong(complete, mine) == []
    missed = []
    for case in golden:
        values: Any = copy.deepcopy(complete)
        *place, last = case["change"].split(".")
        target = values
        for key in place:
            target = target.setdefault(key, {})
        target[last] = case.get("value")
        if "value" not in case:
            del target[last]
        if not wrong(values, mine) and not any(one in case["line"] for one in BEYOND):
            missed.append(case["line"])
    assert missed == []


def test_no_drawn_evaluation_is_marked(tmp_path: Path) -> None:
    for salt in range(100):
        assert wrong(drawing.configuration(drawing.drawn(salt), tmp_path)) == [], drawing.told(drawing.drawn(salt))


COMPLETE: dict[str, Any] = {
    "benchmark": "scenes",
    "edit_models": {"mine": {"type": "scene_editor"}},
    "judges": {"eyes": {"type": "scene_judge"}},
}


@pytest.mark.parametrize(
    "change",
    [
        {"extends": "demo", "benchmark": None, "edit_models": {"mine": {"params": {"steps": 4}}}, "judges": {}},
        {"edit_models": {"a": {"class_path": "my.py:Mine", "params": {"anything": 1, "device_ids": [0, "cuda:1"]}}}},
        {"edit_models": {"a": {"type": "my name", "class_path": "package.module.Mine"}}},
        {"benchmark": {"class_path": "mine:Pairs", "folder": "here"}, "protocol": {"whatever": 1}},
        {"protocol": {"class_path": "mine:Asked", "whatever": 1}},
        {"benchmark": "my.csv"},
        {"benchmark": {"type": "scenes", "categories": "因果", "sample_ids": [7, "8"], "limit": None}},
        {"evaluation": None, "rounds": None, "execution": {"schedule": None}},
        {"evaluation": {"answer": "labels", "retries": 1}},
        {"trackers": "wandb"},
        {"trackers": ["mlflow", {"wandb": {"project": "edits"}}]},
        {"judges": {"我的": {"type": "qwen3_vl", "params": {"images": ["edited"]}}}},
        {"judges": {"a": {"type": "scene_judge", "protocol": {"type": "checklist", "asked": "together"}}}},
    ],
    ids=str,
)
def test_what_the_reader_knows_is_no_error(change: dict[str, Any]) -> None:
    assert wrong({**COMPLETE, **change}) == []


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"edit_models": {"a": {"type": "scene_editor", "params": {"stps": 1}}}}, "edit_models.a.params"),
        ({"judges": {"a": {"type": "scene_editor"}}}, "judges.a.type"),
        ({"judges": {"a": {"type": "qwen3_vl", "params": {"num_inference_steps": 1}}}}, "judges.a.params"),
        ({"judges": {"a": {"type": "scene_judge", "protocol": {"answer": "scores"}}}}, "judges.a.protocol"),
        ({"protocol": {"type": "checklist", "rubric": "five_dimensions.v2"}}, "protocol"),
        ({"benchmark": {"type": "scenes", "data_path": "a.json"}}, "benchmark"),
        ({"benchmark": {"type": "scenes", "limit": "many"}}, "benchmark"),
        ({"trackers": [{"wandb": {"projct": "edits"}}]}, "trackers"),
        ({"rounds": {"max": 3}}, "rounds"),
        ({"execution": {"driver": "rey"}}, "execution.driver"),
    ],
    ids=str,
)
def test_what_depends_on_a_type_is_held_to_it(change: dict[str, Any], place: str) -> None:
    found = wrong({**COMPLETE, **change})
    assert found
    assert all(one.startswith(place) for one in found), found


def test_an_installed_package_brings_its_types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "their_edits-2.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-edits\nVersion: 2.0\n")
    (info / "entry_points.txt").write_text("[edit_eval.components]\nedit_model.theirs = their_edits:Theirs\n")
    (tmp_path / "their_edits.py").write_text(
        '"""A package."""\n'
        "from dataclasses import dataclass\n\n\n"
        'class Theirs:\n    """Edits as they do."""\n\n    @dataclass\n    class Parameters:\n'
        '        __pydantic_config__ = {"extra": "forbid"}\n        strength: float = 0.5\n'
        '        """How much it changes."""\n\n'
        "    def load(self, devices): ...\n    def edit(self, request, on_step): ...\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    theirs = configuration_schema()
    keys = theirs["definitions"]["edit_model.theirs"]["properties"]
    assert keys["strength"] == {"type": "number", "default": 0.5, "description": "How much it changes."}
    right = {**COMPLETE, "edit_models": {"a": {"type": "theirs", "params": {"strength": 1}}}}
    assert wrong(right, theirs) == []
    right["edit_models"]["a"]["params"]["strength"] = "much"
    assert wrong(right, theirs)


# -- the verb, and what `init` writes --


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A newcomer's folder, in which nothing is examined."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(preparation, "examine", lambda *arguments, **named: [])
    return tmp_path


OWN = '''
from dataclasses import dataclass


class Mine:
    """Edits as I do."""

    @dataclass
    class Parameters:
        strength: float = 0.5
        """How much it changes."""

    def __init__(self, parameters): ...
    def load(self, devices): ...
    def edit(self, request, on_step): ...
'''


@pytest.mark.check
def test_init_writes_it_where_the_first_line_says(command: Command, here: Path) -> None:
    (here / "my_editor.py").write_text(OWN)
    words = ("--pictures", "scenes", "--edits", "my_editor.py:Mine", "--judge", "scene_judge", "--no-reasons")
    begun = command("init", "mine.yaml", *words, "--json")
    assert begun.code == 0, begun.err
    assert begun.document["written"] == [BESIDE, "mine.yaml"]
    first, _, _ = (here / "mine.yaml").read_text("utf-8").partition("\n")
    assert first == f"{LINE}{BESIDE}"
    beside = json.loads((here / BESIDE).read_text("utf-8"))
    values = read_file(here / "mine.yaml")
    assert wrong(values, beside) == []
    values["edit_models"]["Mine"]["params"] = {"strenght": 1}
    assert wrong(values, beside)
    assert command("init", "second.yaml", "--from", "demo").code == 0
    assert wrong(values, json.loads((here / BESIDE).read_text("utf-8"))), "another configuration takes a class away"
    again = command("init", "mine.yaml", "--from", "demo", "--force")
    assert again.code == 0, again.err
    assert (here / "mine.yaml").read_text("utf-8").count(LINE) == 1
    without = command("init", "other.yaml", "--from", "demo", "--no-schema")
    assert without.code == 0, without.err
    assert LINE not in (here / "other.yaml").read_text("utf-8")


def test_the_verb_prints_it_and_replaces_only_its_own(command: Command, here: Path) -> None:
    assert json.loads(command("schema").out) == schema()
    for _ in range(2):
        assert command("schema", "demo", "--to", "s.json").code == 0
    assert json.loads((here / "s.json").read_text("utf-8")) == schema()
    (here / "theirs.json").write_text("{}")
    one_error(command("schema", "--to", "theirs.json"), 2, "theirs.json")
    assert (here / "theirs.json").read_text() == "{}"


# -- YAML's language server, the one behind VS Code's extension --

CONFIGURED = f"""{LINE}{BESIDE}
benchmark: {{type: scenes, count: 4}}
edit_models:
  mine:
    type: scene_editor
    params:
      steps: 3
judges: {{eyes: {{type: scene_judge}}}}
"""


@pytest.mark.skipif(language_server.PROGRAM is None, reason="needs npm's yaml-language-server")
def test_an_editor_completes_explains_and_marks(command: Command, here: Path) -> None:
    assert command("schema", "--to", BESIDE).code == 0
    file = here / "mine.yaml"
    with language_server.LanguageServer(here) as server:
        file.write_text(CONFIGURED, "utf-8")
        assert server.errors(file) == []
        file.write_text(CONFIGURED.replace("steps: 3", "stpes: 3"), "utf-8")
        assert server.errors(file) == ["7: Property stpes is not allowed."]
        file.write_text(CONFIGURED.replace("scene_editor", "scene_edtor"), "utf-8")
        [marked] = server.errors(file)
        assert marked.startswith('5: Value is not accepted. Valid values: "api",')
        offered = server.completions(file, CONFIGURED.replace("steps: 3", "|"))
        assert {"steps", "device_ids", "seed"} <= offered.keys()
        assert "num_inference_steps" not in offered
        types = server.completions(file, CONFIGURED.replace("scene_editor", "|"))
        assert types["scene_editor"].startswith("Edits pictures of the benchmark")
        assert "scene_judge" not in types
        assert {"judges", "execution"} <= server.completions(file, f"{LINE}{BESIDE}\n|").keys()
        said = server.hover(file, CONFIGURED.replace("device", "dev").replace("steps: 3", "st|eps: 3"))
        described = schema()["definitions"]["edit_model.scene_editor"]["properties"]["steps"]["description"]
        assert described.split(";")[0] in said
