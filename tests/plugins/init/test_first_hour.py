"""The first hour: from twenty photographs to a page with a verdict, and the verbs that are met on the way."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from command_lines import Command, caller, one_error
from drawn_pages import read_page
from edit_eval import cli, run
from edit_eval.config.shipped import find_shipped_files
from edit_eval.config.yaml_text import read_file
from edit_eval.plugins.endpoints.in_worker.closed_judges import MAKERS, judge_of
from edit_eval.plugins.init.writing import CLOSED, LARGE
from edit_eval.plugins.preparation import requests as preparation
from edit_eval.records import Status
from edit_eval.run import Run
from fake_nvml import gpu, install
from judge_server import JudgeServer
from photographs import COUNT, draw, name, opinion

REPOSITORY = Path(__file__).parents[3]
command = pytest.fixture(caller)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A newcomer's folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    monkeypatch.setattr(sys, "stdin", io.StringIO())  # nobody is there to be asked
    draw(tmp_path)
    return tmp_path


@pytest.fixture
def unexamined(monkeypatch: pytest.MonkeyPatch) -> None:
    """`doctor` starts a process for each environment: that is tested elsewhere, and once below."""
    monkeypatch.setattr(preparation, "examine", lambda *arguments, **named: [])


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """How many controls the demo has is counted over its scenes, which takes seconds to draw: told elsewhere."""
    monkeypatch.setattr(preparation, "controls_of", lambda file: "")


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with JudgeServer(opinion) as running:
        yield running


# -- the walk --


def test_four_commands_from_twenty_photographs_to_a_verdict(
    command: Command, here: Path, server: JudgeServer, unexamined: None
) -> None:
    """After `pip install`: init, run, compare. Nobody writes YAML. (From the wheel: `test_distribution.py`.)"""
    begun = command("init", "--judge", server.base_url, "--instruction", "Mirror it")
    assert begun.code == 0, begun
    assert begun.out.endswith("Now type:\n  edit-eval run evaluation.yaml\n")
    ran = command("run", "evaluation.yaml", "--progress", "none")
    assert ran.code == 0, ran.err
    assert f"{2 * COUNT} of {2 * COUNT} scored" in ran.out
    (run,) = Path("runs").iterdir()
    assert ran.out.endswith(f"report: {run}/report/index.html\n")
    page = read_page(run / "report" / "index.html")
    assert "edits_a" in page
    compared = command("compare", run, "--full")
    assert compared.code == 0, compared.err
    assert "A better" in compared.out


def test_pictures_without_instructions_get_a_table_to_fill_in(
    command: Command, here: Path, server: JudgeServer, unexamined: None
) -> None:
    begun = command("init", "mine.yaml", "--judge", server.base_url)
    assert (begun.code, begun.err) == (0, "")
    assert begun.out == (
        "wrote photos/instructions.csv\nwrote .edit-eval.schema.json\nwrote mine.yaml\n\n"
        "Fill in the column `instruction` of photos/instructions.csv (20 are empty), then type:\n"
        "  edit-eval doctor mine.yaml\n"
    )
    table = here / "photos" / "instructions.csv"
    filled = table.read_text("utf-8").replace(",\n", ",Mirror it\n")
    table.write_text(filled, "utf-8")
    one_error(command("init", "mine.yaml"), 2, "mine.yaml already exists; `--force` replaces it")
    again = command("init", "mine.yaml", "--judge", server.base_url, "--force", "--json").document
    assert (again["written"][-1], again["fill_in"], again["next"]) == ("mine.yaml", None, "edit-eval run mine.yaml")
    assert table.read_text("utf-8") == filled


def test_a_link_is_neither_replaced_nor_written_through(
    command: Command, here: Path, server: JudgeServer, unexamined: None
) -> None:
    shared = here / "shared.yaml"
    shared.write_text("theirs: 1\n")
    (here / "mine.yaml").symlink_to(shared)
    (here / "dangling.yaml").symlink_to(here / "nowhere.yaml")
    for words in (["--judge", server.base_url], ["--from", "demo"]):
        for link in ("mine.yaml", "dangling.yaml"):
            one_error(command("init", link, *words, "--force"), 2, f"{link} is a link")
    assert (here / "mine.yaml").is_symlink()
    assert shared.read_text() == "theirs: 1\n"
    assert not (here / "nowhere.yaml").exists()


def test_what_is_asked_at_a_terminal(
    command: Command, here: Path, server: JudgeServer, unexamined: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each question is asked again until its answer can be read; what is likely is offered."""
    asked: list[tuple[str, Any]] = []
    judging = ["?", "9", "gpt-4.1", "4", server.base_url]
    answers = iter(["phtos", "photos", "ours=edits_a, testing", *judging, "cpu:2", "perhaps", "no"])

    def prompt(question: str, default: Any = None, err: bool = False) -> str:
        asked.append((question.partition("?")[0], default))
        return next(answers)

    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.prompt", prompt)
    begun = command("init", "--instruction", "Mirror it")
    assert begun.code == 0, begun
    assert asked == [
        ("What are your pictures", "photos"),
        ("What are your pictures", "photos"),
        ("What edits them", "edits_a,edits_b"),
        *[("1 to 6, or a judge as `--judge` takes it, such as openai/gpt-6.1-terra", "6")] * 4,
        ("Which server", None),
        ("Where does it run", "auto"),
        ("Should judges say why before they score", "yes"),
        ("Should judges say why before they score", "yes"),
    ]
    assert "no such file or folder: phtos; nearest existing: photos" in begun.err
    assert "give a maker's model (openai/gpt-6.1-terra), OWNER/NAME on the Hub" in begun.err
    assert "9: answer 1 to 6, or a judge as `--judge` takes it, such as openai/gpt-6.1-terra" in begun.err
    assert "--judge gpt-4.1: its maker is asked for it by `openai/gpt-4.1`" in begun.err
    written = read_file("evaluation.yaml")
    assert list(written["edit_models"]) == ["ours", "testing"]
    assert written["edit_models"]["testing"]["params"] == {"device_ids": "cpu:2"}
    assert "device_ids: cpu:1" in Path("evaluation.yaml").read_text("utf-8")
    assert "protocol" not in next(iter(written["judges"].values()))


def test_who_judges_is_a_choice_with_its_price_and_the_first_that_works_here_is_offered(
    command: Command, here: Path, unexamined: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for maker in MAKERS.values():
        monkeypatch.delenv(maker.key, raising=False)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    defaults: list[Any] = []

    def prompt(question: str, default: Any = None, err: bool = False) -> Any:
        defaults.append(default)
        return default

    monkeypatch.setattr("typer.prompt", prompt)
    install(monkeypatch)
    first = command("init", "1.yaml", "--pictures", "photos", "--instruction", "Mirror it")
    assert first.code == 0, first
    assert "1  openai/gpt-6.1-terra  (needs OPENAI_API_KEY; about 0.14 USD for 40 edits)\n" in first.err
    assert "4  your own server: MODEL@http://localhost:8000/v1\n" in first.err
    assert "5  Qwen/Qwen3.5-9B on this machine's GPU (none here)\n" in first.err
    assert "6  nobody yet: I look and vote myself\n" in first.err
    assert read_file("1.yaml")["judges"] == {}
    assert first.out.endswith("  edit-eval run 1.yaml\n  edit-eval view    # vote, then look\n")
    before = (here / "1.yaml").read_text().partition("judges:")[0]
    assert command("init", "1.yaml", "--judge", "openai/gpt-6.1-terra").code == 0
    assert (here / "1.yaml").read_text().partition("judges:")[0] == before
    assert list(read_file("1.yaml")["judges"]) == ["gpt-6.1-terra"]
    whole = ("--pictures", "photos", "--judge", "openai/gpt-6.1-terra")
    assert command("init", "whole.yaml", *whole).code == 0
    assert read_file("1.yaml") == read_file("whole.yaml"), "one way or the other"
    again = command("init", "1.yaml", "--judge", "gemini/gemini-3.8-flash")
    one_error(again, 2, "1.yaml has judges already: ")
    install(monkeypatch, gpu(0, 139, 140))
    assert command("init", "2.yaml", "--pictures", "photos").code == 0
    assert read_file("2.yaml")["judges"]["Qwen3.5-27B"]["params"]["model_name"] == LARGE
    monkeypatch.setenv("GEMINI_API_KEY", "k")
    third = command("init", "3.yaml", "--pictures", "photos")
    assert "2  gemini/gemini-3.8-flash  (GEMINI_API_KEY is set; about " in third.err
    assert read_file("3.yaml")["judges"]["gemini-3.8-flash"]["params"]["api"] == "gemini"
    assert defaults[:2] == ["edits_a,edits_b", "6"]
    assert all(judge_of(api, model).price and not judge_of(api, model).ends for api, model in CLOSED.items())


@pytest.mark.check
def test_nearly_named_edits_and_pictures_elsewhere_are_taken_on_yes(
    command: Command, here: Path, server: JudgeServer, unexamined: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run uses exactly what was shown, and nothing of it is a guess of its own."""
    edits = here / "edits_a"
    for number, other in ((1, "img_0001.png"), (2, f"{name(2)}-1.png"), (3, f"{name(3)}_edited.png")):
        (edits / f"{name(number)}.png").rename(edits / other)
    (edits / f"{name(4)}.png").unlink()
    shutil.copy(here / "photos" / f"{name(0)}.jpg", edits / "grid.jpg")
    rows = "".join(f"{name(number)}.jpg,Mirror it\n" for number in range(COUNT))
    (here / "my.csv").write_text(f"photo,instruction\n{rows}")
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.prompt", lambda question, default=None, err=False: default)
    begun = command("init", "--pictures", "my.csv", "--judge", server.base_url)
    assert begun.code == 0, begun
    assert "my.csv names 20 files that are not beside it; all of them are in photos/. Taken: " in begun.err
    assert "pictures_path: photos." in begun.err
    missing = f"{name(1)} (there is img_0001.png), {name(2)} (there is {name(2)}-1.png), "
    missing += f"{name(3)} (there is {name(3)}_edited.png), {name(4)}"
    assert f"edits_a: 16 of 20 edits; missing: {missing}; not used: grid.jpg\n" in begun.err
    written = read_file("evaluation.yaml")["edit_models"]
    assert list(written) == ["edits_a", "edits_b"], "the photographs are no edit model"
    assert written["edits_a"]["params"]["files"] == {
        name(1): "img_0001.png",
        name(2): f"{name(2)}-1.png",
        name(3): f"{name(3)}_edited.png",
    }
    ran = command("run", "evaluation.yaml", "--progress", "none")
    assert ran.code == 3, "one edit is missing"
    [made] = Path("runs").iterdir()
    assert f"edits_a: 19 of 20 edits; missing: {name(4)}; not used: grid.jpg" in Run(made).experiment.notes
    assert [edit.sample_id for edit in Run(made).results.edits if edit.status is not Status.OK] == [name(4)]


def test_which_of_several_folders_has_the_sources_is_asked(
    command: Command, here: Path, server: JudgeServer, unexamined: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "photos").rename(here / "Bilder")
    for edit in (here / "edits_a").iterdir():
        edit.rename(edit.with_suffix(".jpg"))
    rows = "".join(f"{name(number)}.jpg,Mirror it\n" for number in range(COUNT))
    (here / "my.csv").write_text(f"photo,instruction\n{rows}")
    asked = command("init", "--pictures", "my.csv", "--judge", server.base_url)
    one_error(asked, 2, "my.csv names files that are in each of Bilder, edits_a and edits_b; move it into the folder")
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    answers = iter(["photos", "Bilder", None, "yes"])
    monkeypatch.setattr("typer.prompt", lambda question, default=None, err=False: next(answers) or default)
    assert command("init", "--pictures", "my.csv", "--judge", server.base_url).code == 0
    written = read_file("evaluation.yaml")
    assert written["benchmark"]["pictures_path"] == "Bilder"
    assert list(written["edit_models"]) == ["edits_a", "edits_b"]


def test_a_column_that_nobody_could_guess_is_asked_for(
    command: Command, here: Path, server: JudgeServer, unexamined: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = "".join(f"photos/{name(number)}.jpg,把天空变蓝,a\n" for number in range(COUNT))
    (here / "mine.csv").write_text(f"photo,what to do,kind\n{rows}", "utf-8")
    asked: list[str] = []
    answers = iter(["mine.csv", "what", "what to do", "edits_a", server.base_url, "yes"])

    def prompt(question: str, default: Any = None, err: bool = False) -> str:
        asked.append(question.partition(" (")[0])
        return next(answers)

    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("typer.prompt", prompt)
    assert command("init").code == 0
    assert asked.count("Which column has the instructions?") == 2
    benchmark = read_file("evaluation.yaml")["benchmark"]
    assert (benchmark["fields"], benchmark["language"]) == ({"instruction": "what to do"}, "zh")


@pytest.mark.check
def test_a_table_without_ids_and_edits_that_are_called_as_the_photographs(
    command: Command, here: Path, server: JudgeServer, unexamined: None
) -> None:
    """The most ordinary case: it loads, no source is taken for an edit, and a sample is found by its picture's name."""
    rows = "".join(f"photos/{name(number)}.jpg,Mirror it,add\n" for number in range(COUNT))
    (here / "std.csv").write_text(f"image,prompt,type\n{rows}")
    assert command("init", "--pictures", "std.csv", "--judge", server.base_url).code == 0
    written = read_file("evaluation.yaml")
    assert list(written["edit_models"]) == ["edits_a", "edits_b"]
    assert next(iter(written["judges"].values()))["protocol"] == {"answer": "reason_then_score"}
    ran = command("run", "evaluation.yaml", "--limit", "2", "--progress", "none", "--run-dir", "run")
    assert (ran.code, ran.err) == (0, "")
    assert name(1) in command("status", "run", name(1)).out
    without_init = here / "plain.yaml"
    without_init.write_text(
        "benchmark: std.csv\nedit_models: {a: {type: image_folder, params: {folder: edits_a}}}\n"
        "judges: {measured: {type: picture_metrics}}\nexecution: {progress: none}\n"
    )
    assert command("run", "plain.yaml", "--limit", "2", "--devices", "cpu:1").code == 0


def test_several_stand_with_commas_at_a_flag_as_at_a_question(
    command: Command, here: Path, server: JudgeServer, unexamined: None
) -> None:
    (here / "edits_a").rename(here / "a, first")
    edits = ("--edits", "a, first", "--edits", "edits_b,scene_editor")
    assert command("init", "--pictures", "photos", *edits, "--judge", server.base_url).code == 0
    written = read_file("evaluation.yaml")["edit_models"].values()
    assert [section["params"].get("folder", section["type"]) for section in written] == [
        "a, first",
        "edits_b",
        "scene_editor",
    ]


def test_a_judge_that_is_missing_is_asked_for_by_its_flag(command: Command, here: Path) -> None:
    one_error(command("init"), 2, "--judge is missing. What judges the edits? (openai/MODEL, MODEL@http://")
    assert not Path("evaluation.yaml").exists()
    assert not Path("photos/instructions.csv").exists()


def test_a_key_that_stops_the_question_is_no_fault(
    command: Command, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)  # and nothing more is to be read
    ended = command("init")
    assert ended.code == 130
    assert ended.err.endswith("interrupted\n")


# -- what comes with it --


def test_a_shipped_configuration_is_copied(command: Command, here: Path, unexamined: None, undrawn: None) -> None:
    assert command("init", "--from", "single_gpu").code == 0
    _, _, written = Path("single_gpu.yaml").read_text("utf-8").partition("\n")  # the first names the schema
    assert written == find_shipped_files()["single_gpu"].read_text("utf-8").replace("configs/single_gpu", "single_gpu")
    one_error(command("init", "--from", "single_gpu"), 2, "single_gpu.yaml already exists")
    assert command("init", "other.yaml", "--from", "demo").out.endswith("Now type:\n  edit-eval run other.yaml\n")


def test_the_demo(command: Command, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shipped configuration; its evaluation itself is `make demo`'s, and other tests'."""
    asked: list[Any] = []

    def evaluate(configuration: Any, **named: Any) -> Any:
        asked.append((configuration.name, named["run_dir"]))
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "evaluate", evaluate)
    command("demo", "--run-dir", "here", "--json")
    assert asked == [("demo", Path("here"))]
    makefile = (REPOSITORY / "Makefile").read_text("utf-8")
    assert "\t$(BIN)/edit-eval demo\n" in makefile


def test_a_configuration_is_shown_with_what_it_extends(command: Command, here: Path) -> None:
    Path("base.yaml").write_text("extends: demo\nbenchmark: {limit: 3}\n")
    Path("mine.yaml").write_text("extends: base.yaml\nexecution: {pilot: false}\n")
    shown = command("config", "show", "mine.yaml", "--set", "protocol.answer=score")
    assert shown.code == 0, shown.err
    lines = ["benchmark:", "  type: scenes  # from demo", "  count: 30  # from demo", "  limit: 3  # from base.yaml"]
    assert shown.out.splitlines()[:4] == lines
    assert "  pilot: false" in shown.out.splitlines()
    assert "  answer: score  # from --set" in shown.out.splitlines()
    Path("copy.yaml").write_text(shown.out)
    resolved = [command("config", "show", name, "--resolved", "--json").document for name in ("mine.yaml", "copy.yaml")]
    resolved[0]["judges"]["scene_judge"]["protocol"]["answer"] = "score"
    assert resolved[0] == resolved[1]
    benchmark = command("config", "show", "mine.yaml", "--json").document["benchmark"]
    assert benchmark == {"type": "scenes", "count": 30, "limit": 3}


# -- shells --


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("edit-eval de", {"demo", "describe"}),
        ("edit-eval run single", {"single_gpu"}),
        ("edit-eval run ba", {"base.yaml"}),
        ("edit-eval run ./ba", {"./base.yaml"}),
        ("edit-eval config show photos/", set()),
        ("edit-eval status runs/a", {"runs/a"}),
        ("edit-eval status ph", {"photos/"}),
        ("edit-eval run demo --re", {"--reuse", "--retry"}),
    ],
)
def test_what_a_shell_offers(
    here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], line: str, offered: set[str]
) -> None:
    Path("base.yaml").touch()
    (here / "runs" / "a" / "config").mkdir(parents=True)
    monkeypatch.setenv("_EDIT_EVAL_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split()) - 1))
    monkeypatch.setattr(sys, "argv", ["edit-eval"])
    with pytest.raises(SystemExit):
        cli.main()
    assert set(capfd.readouterr().out.split()) == offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_typer_has_the_script_of_a_shell(
    command: Command, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], shell: str
) -> None:
    with monkeypatch.context() as patched:
        patched.setenv("_EDIT_EVAL_COMPLETE", f"source_{shell}")
        patched.setattr(sys, "argv", ["edit-eval"])
        with pytest.raises(SystemExit):
            cli.main()
    script = capfd.readouterr().out
    assert f"_EDIT_EVAL_COMPLETE=complete_{shell}" in script
    if program := shutil.which(shell):
        assert subprocess.run([program, "-n"], input=script, text=True).returncode == 0
    assert "--install-completion" in command("--help").out
