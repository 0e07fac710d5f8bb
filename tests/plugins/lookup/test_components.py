"""`edit-eval list` and `edit-eval describe`."""

from __future__ import annotations

import io
import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from edit_eval.config import components
from edit_eval.config.components import Registered
from edit_eval.config.kinds import KINDS
from edit_eval.config.placement import PLACEMENT_KEYS, PLACEMENT_KEYS_BEFORE
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.lookup.components import (
    components_document,
    description_document,
    print_components,
    print_description,
)
from edit_eval.plugins.rehearse.in_worker.fake_models import FakeJudge
from edit_eval.reporting.language import VARIABLE
from edit_eval.reporting.terminal_text import LocalizedConsole
from own_components import built_in


def printed(*arguments: Any, width: int = 80) -> list[str]:
    file = io.StringIO()
    console = LocalizedConsole(file=file, width=width, markup=False, emoji=False, highlight=False, _environ={})
    if arguments:
        print_description(*arguments, console=console)
    else:
        print_components(console)
    return file.getvalue().splitlines()


def test_all_registered_components_are_listed() -> None:
    document = components_document()
    assert list(document) == [*(each.plural for each in KINDS.values()), "configurations", "problems"]
    demo = next(configuration for configuration in document.pop("configurations") if configuration["name"] == "demo")
    assert (demo["name"], Path(demo["path"]).name) == ("demo", "demo.yaml")
    assert demo["summary"] == "A whole evaluation in less than a minute: no weights, no GPU, no download."
    for kind in KINDS:
        listed = [entry["name"] for entry in document[KINDS[kind].plural]]
        assert listed[: len(built_in()[kind])] == list(built_in()[kind])
    json.dumps(document)


def test_the_list_has_a_group_a_kind_with_a_line_each() -> None:
    lines = printed()
    headings = [line for line in lines if line and not line.startswith(" ")]
    assert headings == [
        "Benchmarks  (benchmark: type)",
        "Edit models  (diffusion_model: type)",
        "Judges  (reward_model: type)",
        "Protocols  (protocol: type)",
        "Analyses  (edit-eval NAME RUN)",
        "Sections  (edit-eval report)",
        "Commands  (edit-eval NAME)",
        "Options  (edit-eval COMMAND --...)",
        "Drivers  (execution: driver)",
        "Trackers  (trackers: [NAME])",
        "Examiners  (edit-eval run)",
        "Columns  (NAME: ...)",
        "Subjects  (edit-eval run)",
        "Weights  (edit-eval plan)",
        "Checks  (edit-eval doctor)",
        "Followers  (edit-eval run)",
        "Partitions  (edit-eval run --shard)",
        "Displays  (edit-eval run, report)",
        "Configurations  (edit-eval run NAME)",
        "`edit-eval describe TYPE` prints the parameters of one.",
        "`edit-eval init --from NAME` writes a copy of a configuration.",
    ]
    testing = re.compile(r"  testing +Gives each edit the answer that it was told to give\.")
    assert any(map(testing.fullmatch, lines))
    assert max(map(len, lines)) <= 80
    assert lines == [line.rstrip() for line in lines]


def test_a_description() -> None:
    lines = printed("five_dimensions")
    assert lines[0].split() == ["five_dimensions", "benchmark"]
    assert lines[1].strip() == "edit_eval.plugins.five_dimensions.benchmark:FiveDimensions"
    place = lines.index("  data_path: str  required")
    assert lines[place + 1] == "      The JSON file."
    assert "  language: str = 'en'" in lines
    assert not any("where and how it runs" in line for line in lines)  # a benchmark runs nowhere
    assert lines == [line.rstrip() for line in lines]


def test_a_name_of_several_kinds_is_described_as_each() -> None:
    document = description_document("testing")
    assert [component["kind"] for component in document["components"]] == ["edit_model", "judge"]
    names = [parameter["name"] for parameter in document["components"][1]["parameters"]]
    assert names == [field.name for field in fields(FakeJudge.Parameters)]
    text = " ".join(" ".join(printed("testing")).split())
    assert "testing edit model edit_eval.plugins.rehearse.in_worker.fake_models:FakeEditModel" in text
    assert "testing judge edit_eval.plugins.rehearse.in_worker.fake_models:FakeJudge" in text


def test_what_may_stand_beside_the_parameters_is_named() -> None:
    (component,) = description_document("qwen3_vl")["components"]
    current = set(PLACEMENT_KEYS) - set(PLACEMENT_KEYS_BEFORE)
    assert set(component["placement_keys"]) == {"seed", *current}
    text = " ".join(printed("qwen3_vl"))
    assert all(key in text for key in current)
    assert not any(key in text for key in PLACEMENT_KEYS_BEFORE), "what is only read for old files is offered to nobody"


def test_required_and_default_in_the_document() -> None:
    (component,) = description_document("five_dimensions")["components"]
    by_name = {parameter["name"]: parameter for parameter in component["parameters"]}
    assert (by_name["data_path"]["required"], by_name["data_path"]["default"]) == (True, None)
    assert (by_name["language"]["required"], by_name["language"]["default"]) == (False, "'en'")
    json.dumps(component)


def test_the_scores_of_a_protocol() -> None:
    (component,) = description_document("rubric")["components"]
    scale = {"lowest": 0.0, "highest": 10.0, "higher_is_better": True, "mean_over": "samples"}
    assert (component["kind"], component["scores"], component["headline"]) == ("protocol", {"score": scale}, "score")
    assert printed("rubric")[-2:] == ["  It gives these scores:", "      score: 0 to 10, higher is better  headline"]


def test_a_key_with_judges_below_it_says_where_their_parameters_are() -> None:
    text = " ".join(" ".join(printed("rewrite")).split())
    assert "protocol: rewriting Each name below it is a judge, written as below `judges`." in text
    assert "`edit-eval describe rewriting`" in text
    assert "no parameters" not in text
    (component,) = description_document("rewrite")["components"]
    assert component["about"] == {"protocol": "rewriting"}


OWN = '''
from dataclasses import dataclass


class Editor:
    """Paints it [red]black[/red]."""

    @dataclass
    class Parameters:
        """What it does."""

        strength: float
        """How \x1b[2J much."""

    def __init__(self, parameters): ...
    def load(self, devices): ...
    def edit(self, request, on_step): ...
'''


def test_a_class_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_editor.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    lines = printed("own_editor.py:Editor")
    assert "  Paints it [red]black[/red]." in lines
    assert lines[lines.index("  strength: float  required") + 1] == "      How much."
    (component,) = description_document("own_editor.py:Editor")["components"]
    assert component["kind"] == "edit_model"


def test_a_class_that_cannot_be_imported_here_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = Registered("judge", "elsewhere", "a_package_of_another_environment:Judge", "")
    monkeypatch.setattr(components, "_read_entry_points", lambda path: components.EntryPoints((elsewhere,)))
    lines = printed("elsewhere")
    assert any("there is no module `a_package_of_another_environment`" in line for line in lines)
    assert "  Its parameters can only be shown where it can be imported." in lines
    (component,) = description_document("elsewhere")["components"]
    assert component["problem"]


@pytest.mark.parametrize("ask", [print_description, description_document])
def test_an_unknown_name_is_refused_with_the_nearest(ask: Any) -> None:
    with pytest.raises(ConfigurationError, match="did you mean `qwen_image_edit`"):
        ask("qwen_image_edt")


def test_a_narrow_terminal() -> None:
    assert max(map(len, printed("testing", width=50))) <= 70  # a class path is left whole


def test_what_is_known_about_a_benchmarks_data() -> None:
    """Its source, licence, size, formula and defects; of every benchmark that other people made."""
    by_name = {entry["name"]: entry["about"] for entry in components_document()["benchmarks"]}
    ours = {"five_dimensions", "table", "scenes", "ladder"}
    told = ("source", "licence", "samples", "formula", "defects")
    for name in sorted({*by_name} - ours):
        assert [*by_name[name]] == [key for key in told if key in by_name[name]]
        assert {"source", "formula"} <= {*by_name[name]}
        (described,) = [
            component for component in description_document(name)["components"] if component["kind"] == "benchmark"
        ]
        protocol = {"protocol": described["about"]["protocol"]}
        assert described["about"] == by_name[name] | protocol, "read from the source, and from the class"
    assert by_name["scenes"] == {}


@pytest.fixture
def chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "zh")


@pytest.mark.usefixtures("chinese")
def test_the_list_is_chinese() -> None:
    lines = printed()
    assert max(map(cell_len, lines)) <= 80
    commands = re.compile(r"`[^`]*`|\(\w+: type\)|edit-eval run NAME")
    english = re.compile("[a-z]{2,} [a-z]{2,} [a-z]{2,}")
    assert not [line for line in lines if english.search(commands.sub("", line))]
    assert "  testing" in "\n".join(lines)
    assert any(line.endswith("对每个编辑结果给出预先设定的回答。") for line in lines)


@pytest.mark.usefixtures("chinese")
def test_a_description_is_chinese_and_names_stay() -> None:
    assert printed("rubric")[-2:] == ["  它给出以下分数：", "      score: 0 至 10，越高越好  主要分数"]
    lines = printed("rubric")
    assert lines[:2] == [
        "rubric  协议  edit_eval.protocols.rubric:Rubric",
        "  按样本类别的评分细则问编辑结果怎样，得一个 0 到 10 的分数。",
    ]
    assert any(line.startswith("  answer: Literal['score', 'reason_then_score'") for line in lines)
    assert "  data_path: str  必填" in printed("five_dimensions")
    assert "  许可证：MIT" in printed("gedit")


@pytest.mark.usefixtures("chinese")
def test_a_class_of_ones_own_is_left_in_its_own_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even where a text of the program's own would begin or end like it."""
    words = "No such file; nothing to download: asks two questions an edit."
    (tmp_path / "own_editor.py").write_text(OWN.replace("Paints it [red]black[/red].", words))
    monkeypatch.chdir(tmp_path)
    lines = printed("own_editor.py:Editor", width=200)
    assert lines[0].startswith("own_editor.py:Editor  编辑模型  ")
    assert f"  {words}" in lines
    assert lines[lines.index("  strength: float  必填") + 1] == "      How much."
