"""The command line: its flags, its exit codes, and what goes to stdout and to stderr."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from PIL import Image

from command_lines import Command, Finished, Outcome, caller, finish, one_error, yaml_file
from edit_eval import asking, cli, evaluate, run
from edit_eval.errors import RunInterrupted
from edit_eval.execution.findings import Finding
from edit_eval.plugins.preparation import requests as preparation
from edit_eval.verbs.command_line import GROUPS, app, command_of
from small_benchmark import configuration, sample_id, write_benchmark

FILTERS = {"--set", "--limit", "--categories", "--difficulty", "--tags", "--sample-ids", "--devices"}
ALWAYS = {"--help", "--debug"}
FLAGS = {
    "run": {*ALWAYS, *FILTERS, "--run-dir", "--reuse", "--retry", "--progress", "--json"},
    "plan": {*ALWAYS, *FILTERS, "--gpus", "--gpu-memory", "--samples", "--from", "--json"},
    "doctor": {*ALWAYS, *FILTERS, "--json"},
    "report": {*ALWAYS, "--json"},
    "status": {*ALWAYS, "--json"},
    "compare": {*ALWAYS, "--detect", "--fail-if-worse", "--margin", "--json"},
    "agreement": {*ALWAYS, "--people", "--json"},
    "reanalyse": {*ALWAYS, "--rows", "--json"},
    "score": {*ALWAYS, "--judge", "--readings", "--run-dir", "--json"},
    "serve": {*ALWAYS, "--host", "--port", "--token", "--door", "--on-unscored", "--ledger", "--root"},
    "list": {*ALWAYS, "--json"},
    "describe": {*ALWAYS, "--json"},
    "env create": {*ALWAYS, "--for", "--constraint", "--python", "--json"},
}
"""What people and their scripts rely on: a flag may be added here, none may be renamed or taken away."""

TYPED = (
    *(".audit.options", ".agreement.options", ".junit.option", ".preparation.verb", ".serve.verb"),
    ".status.verb",
    ".lookup.verb",
)
"""Modules of plug-ins that the help of a verb in `FLAGS` needs."""
HEAVY = {
    *("torch", "diffusers", "transformers", "accelerate", "safetensors", "openai", "numpy", "scipy", "altair"),
    *("vl_convert", "jinja2", "pynvml", "yaml", "PIL", "filelock"),
}
"""What no help needs. (Pydantic is typer's own: it is imported for the help of a verb.)"""


command = pytest.fixture(caller)


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """No page is drawn: that takes longer than all else, and nothing here looks at it."""
    monkeypatch.setattr(run, "render_report", lambda *_: "")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    return finish(tmp_path_factory.mktemp("finished"))


# -- what there is --


def verbs() -> dict[str, Any]:
    """Every verb by its name, those of a group as `group verb`."""
    by_name: dict[str, Any] = {}
    for name, verb in command_of(cli.app).commands.items():
        inner = getattr(verb, "commands", None)
        by_name |= {f"{name} {sub}": below for sub, below in inner.items()} if inner else {name: verb}
    return by_name


def flags_of(verb: Any) -> set[str]:
    return {"--help", *(flag for parameter in verb.params for flag in parameter.opts if flag.startswith("-"))}


def test_flags_are_kept() -> None:
    by_name = verbs()
    assert FLAGS.keys() <= by_name.keys()
    missing = {name: sorted(flags - flags_of(by_name[name])) for name, flags in FLAGS.items()}
    assert not {name: flags for name, flags in missing.items() if flags}


def test_every_verb_has_what_all_have_and_one_way_of_writing_it() -> None:
    for name, verb in verbs().items():
        assert flags_of(verb) >= ALWAYS, name
        assert verb.help, name
        assert all(flag == flag.lower() and "_" not in flag for flag in flags_of(verb)), name
        assert "--json" in flags_of(verb), f"{name}: a program can read it, too"


def test_every_verb_that_takes_a_configuration_takes_overrides_and_filters() -> None:
    for name, verb in verbs().items():
        if any(p.name == "config" for p in verb.params):  # an audit draws its own samples
            assert flags_of(verb) >= (FILTERS if name != "audit" else {"--set", "--devices"}), name


def test_help_is_there_for_all_and_loads_nothing_heavy() -> None:
    """In a process of its own, where nobody else has imported anything."""
    quick = FLAGS.keys() - {"agreement", "reanalyse"}  # analyses: the class that computes tells its help
    names = [[], ["env"], *([*name.split()] for name in FLAGS if name in quick)]
    code = (
        "import contextlib, io, json, sys\n"
        "from edit_eval.cli import main\n"
        "said = {}\n"
        f"for words in {names!r}:\n"
        "    sys.argv = ['edit-eval', *words, '--help']\n"
        "    out = io.StringIO()\n"
        "    try:\n"
        "        with contextlib.redirect_stdout(out):\n"
        "            main()\n"
        "    except SystemExit as ended:\n"
        "        said[' '.join(words)] = [ended.code, out.getvalue()]\n"
        "    if not words:\n"
        "        first = sorted(sys.modules)\n"
        "json.dump([said, first, sorted(sys.modules)], sys.stdout)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    said, first, modules = json.loads(done.stdout)
    assert len(said) == len(names)
    for name, (code_, text) in said.items():
        assert code_ == 0, name
        assert text.startswith(f"Usage: edit-eval {name}".rstrip()), name
        assert FLAGS.get(name, set()) - {"--debug"} <= {word.strip(",") for word in text.split()}, name
    assert HEAVY & set(modules) == set()
    assert "pydantic" not in first
    ours = {module for module in modules if module.startswith("edit_eval.")}
    streams = "edit_eval.reporting.standard_streams"  # it imports nothing of ours
    verbs = {f"edit_eval.verbs.{path.stem}" for path in Path(cli.__file__).with_name("verbs").glob("*.py")}
    words = {"edit_eval.text", "edit_eval.reporting.language", "edit_eval.reporting.languages"}
    light = {"edit_eval.cli", "edit_eval.verbs", *verbs, "edit_eval.verbs.command_line", "edit_eval.errors", streams}
    finders = "config config.components config.faults config.kinds json_values privacy workers workers.failures"
    finders += " workers.messages pretrained pretrained.device_faults"
    named = {f"edit_eval.{name}" for name in finders.split()}  # what finds the names of analyses
    plugins = {module for module in ours if module.startswith("edit_eval.plugins")}
    assert plugins <= {
        f"edit_eval.plugins{name}" for name in ("", *TYPED, *(module.rpartition(".")[0] for module in TYPED))
    }
    assert not plugins & set(first)
    shared = {"edit_eval.config.parameters", "edit_eval.workers.model_class"}  # what reads the flags of options
    assert ours - plugins <= {*light, *(streams.rsplit(".", n)[0] for n in (1, 2)), *words, *named, *shared}


def test_who_reads_a_run_imports_nothing_that_computes_or_locks(finished: Finished) -> None:
    """Half of what `status` once took. A module that is named here came in by a reader's need: none may come back."""
    code = (
        "import contextlib, io, sys\n"
        "from edit_eval.cli import main\n"
        f"sys.argv = ['edit-eval', 'status', {str(finished.run)!r}]\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()) as out:\n"
        "    main()\n"
        "assert 'edits' in out.getvalue()\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    computes = {"numpy", "scipy", "filelock", "asyncio", "jinja2", "altair", "edit_eval.evaluation", "edit_eval.cli"}
    computes |= {"edit_eval.execution.session", "edit_eval.statistics.summary", "edit_eval.reporting.analyses"}
    computes |= {"PIL", "ssl", "concurrent.futures", "edit_eval.scheduling.tasks", "edit_eval.execution.spectator"}
    assert computes & {*done.stdout.split()} == {"edit_eval.cli"}


def test_the_installed_command_is_this_one() -> None:
    program = Path(sys.executable).with_name("edit-eval")
    done = subprocess.run([str(program), "--help"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: edit-eval ")


def test_without_a_verb_the_help_is_shown(command: Command) -> None:
    for words in ((), ("env",)):
        outcome = command(*words)
        assert outcome.code == 2
        assert "Usage: edit-eval" in outcome.out + outcome.err


def test_the_help_lists_every_verb_once_by_what_one_wants(command: Command) -> None:
    listed = re.findall(r"^  ([a-z][\w-]+)  +\S", command("--help").out, re.MULTILINE)
    verbs = command_of(app).commands
    assert sorted(listed) == sorted(name for name, verb in verbs.items() if not verb.hidden)
    assert {name for _, names in GROUPS for name in names} <= set(verbs)
    assert listed.index("init") < listed.index("run") < listed.index("compare") < listed.index("gc")


# -- exit codes --


def test_the_version(command: Command) -> None:
    from importlib.metadata import version

    assert command("--version") == Outcome(0, f"edit-eval {version('edit-eval')}\n", "")


def test_one_bad_sample_is_one_line_and_several_are_listed(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "READ_IN_SILENCE", float("inf"))  # a busy machine would tell how far it is
    path = yaml_file(tmp_path)
    items = json.loads((tmp_path / "benchmark.json").read_text())
    for broken, lines in ((1, 1), (3, 4)):
        bad = [{**item, "src_img_b64": "?"} if n < broken else item for n, item in enumerate(items)]
        (tmp_path / "benchmark.json").write_text(json.dumps(bad))
        outcome = command("run", path, "--run-dir", tmp_path / "run")
        one_error(outcome, 2, f"sample 0 ({sample_id(0)}): src_img_b64 is not base64")
        assert len(outcome.err.splitlines()) == lines


def test_a_fault_of_ours_is_one_and_its_trace_is_shown_on_demand(
    command: Command, finished: Finished, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object, **named: object) -> None:
        raise RuntimeError("something broke")

    monkeypatch.setattr(run, "evaluate", fail)
    one_error(command("run", finished.config), 1, "RuntimeError: something broke (this is a bug in edit-eval; `--deb")
    outcome = command("run", finished.config, "--debug")
    assert outcome.code == 1
    assert "Traceback" in outcome.err
    assert outcome.err.rstrip().splitlines()[-1].startswith("error: RuntimeError: something broke")


def test_a_fault_of_several_lines_is_one_line(
    command: Command, finished: Finished, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object, **named: object) -> None:
        raise RuntimeError("one\n  two")

    monkeypatch.setattr(run, "evaluate", fail)
    one_error(command("run", finished.config), 1, "RuntimeError: one two (this is a bug in edit-eval")


def test_debug_adds_the_trace_to_what_was_asked_wrongly(command: Command) -> None:
    outcome = command("describe", "zebra", "--debug")
    assert outcome.code == 2
    assert "Traceback" in outcome.err


@pytest.mark.parametrize(("number", "code"), [(2, 130), (15, 143)])
def test_an_interruption_says_how_to_go_on(
    command: Command, finished: Finished, monkeypatch: pytest.MonkeyPatch, number: int, code: int
) -> None:
    def interrupted(*arguments: object, **named: object) -> None:
        raise RunInterrupted(Path("runs/my night"), number)

    monkeypatch.setattr(run, "evaluate", interrupted)
    outcome = command("run", finished.config, "--json", "--set", "benchmark.categories=[物理]")
    assert (outcome.code, outcome.out) == (code, "")
    assert outcome.err == (
        "interrupted: all finished work is kept in runs/my night; to resume:\n"
        f"  edit-eval run {finished.config} --json "
        "--set 'benchmark.categories=[物理]' --run-dir 'runs/my night'\n"
    )
    given = command("run", finished.config, "--run-dir", "runs/my night")
    assert given.err.splitlines()[1] == f"  edit-eval run {finished.config} --run-dir 'runs/my night'"


def test_a_control_c_before_anything_was_done_is_an_interruption_too(
    command: Command, finished: Finished, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: object, **named: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(preparation, "plan", interrupted)
    outcome = command("plan", finished.config)
    assert (outcome.code, outcome.err.strip()) == (130, "interrupted")


def test_a_run_that_nothing_can_do_is_four(command: Command, tmp_path: Path) -> None:
    path = yaml_file(tmp_path, edit={"fail_to_load": "no weights\nin /nowhere"})
    one_error(command("run", path, "--run-dir", tmp_path / "run"), 4, "no weights in /nowhere")


def test_a_run_below_its_coverage_is_three_each_time_and_has_its_document(
    command: Command, tmp_path: Path, undrawn: None
) -> None:
    path = yaml_file(tmp_path, judge={"answers": {sample_id(0): "no idea"}})
    for time in ("first", "again"):
        outcome = command("run", path, "--run-dir", tmp_path / "run", "--json", "--progress", "none")
        assert outcome.code == 3, time
        assert outcome.document["coverage"]["by_status"] == {"ok": 8, "unparseable": 1}
        assert outcome.err.rstrip().splitlines()[-1] == (
            "error: fewer are scored than was asked for: 8 of 9 are scored, and evaluation.min_coverage asks for 100%; "
            f"`edit-eval status {tmp_path / 'run'}` lists the rest, `--retry unparseable` retries them"
        )
    low = [*("--set", "evaluation.min_coverage=0.5"), "--run-dir", tmp_path / "other"]
    assert command("run", path, *low, "--reuse", tmp_path / "run", "--progress", "none").code == 0


def test_verbs_that_only_read_are_content_with_whatever_they_read(
    command: Command, tmp_path: Path, undrawn: None
) -> None:
    path = yaml_file(tmp_path, judge={"default_answer": "no idea"}, execution={"pilot": False})
    evaluate(path, run_dir=tmp_path / "run", report=False)
    for arguments in (["status"], ["status", "--json"], ["report", "--json"], ["agreement"]):
        outcome = command(arguments[0], tmp_path / "run", *arguments[1:])
        assert outcome.code == 0, outcome.err


@pytest.mark.parametrize(("level", "code"), [("ok", 0), ("note", 0), ("warning", 0), ("problem", 3)])
def test_doctor_is_three_when_something_would_stop_the_run(
    command: Command, monkeypatch: pytest.MonkeyPatch, level: Any, code: int
) -> None:
    """What it finds is examined elsewhere, and takes its time."""
    findings = [
        Finding("host", "ok", "2 processors"),
        Finding("models", level, "it does not fit", "take a smaller one"),
    ]
    monkeypatch.setattr(preparation, "examine", lambda *arguments, **named: findings)
    outcome = command("doctor", "config.yaml", "--json")
    assert outcome.code == code
    assert outcome.document == [finding.as_plain() for finding in findings]
    readable = command("doctor", "config.yaml")
    assert readable.code == code
    assert "it does not fit" in readable.out


# -- stdout and stderr --


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "CONFIG", "--run-dir", "RUN"],
        ["report", "RUN"],
        ["plan", "CONFIG", "--gpus", "2", "--gpu-memory", "79.6"],
        ["status", "RUN"],
        ["status", "RUN", sample_id(3)],
        ["agreement", "RUN"],
        ["list"],
        ["describe", "testing"],
        ["describe", "five_dimensions"],
    ],
)
def test_json_is_one_document_and_all_else_is_on_stderr(
    command: Command, finished: Finished, undrawn: None, arguments: list[str]
) -> None:
    place = {"CONFIG": finished.config, "RUN": finished.run}
    words = [place.get(word, word) for word in arguments]
    outcome = command(*words, "--json")
    assert outcome.code == 0, outcome.err
    assert isinstance(outcome.document, dict | list)
    assert outcome.document
    readable = command(*words)
    assert readable.code == 0
    assert readable.out
    with pytest.raises(json.JSONDecodeError):
        json.loads(readable.out)


def test_a_run_says_in_the_end_what_a_report_says(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = yaml_file(tmp_path)
    with monkeypatch.context() as patches:
        patches.setattr(run, "render_report", lambda *_: "")
        first = command("run", path, "--run-dir", tmp_path / "run", "--json")
        again = command("run", path, "--run-dir", tmp_path / "run", "--json")
    assert "Nothing to do" in again.err
    reported = command("report", tmp_path / "run", "--json").document
    assert first.document == again.document == reported
    assert reported == json.loads((tmp_path / "run" / "report" / "summary.json").read_text("utf-8"))


def test_a_run_with_other_filters_is_about_what_was_asked_now(command: Command, tmp_path: Path, undrawn: None) -> None:
    path = yaml_file(tmp_path)
    command("run", path, "--run-dir", tmp_path / "run")
    fewer = command("run", path, "--run-dir", tmp_path / "run", "--limit", "1", "--json").document
    assert fewer["coverage"]["total"] == 3


def test_without_a_folder_each_evaluation_has_one(
    command: Command, finished: Finished, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, undrawn: None
) -> None:
    monkeypatch.chdir(tmp_path)
    made = set()
    for limit in ("1", "1", "2", "1"):
        outcome = command("run", finished.config, "--reuse", finished.run, "--progress", "none", "--limit", limit)
        assert outcome.code == 0, outcome.err
        made |= {path.name for path in Path("runs").iterdir()}
    assert len(made) == 2
    assert all(name.startswith("config-20") for name in made)


def test_a_named_folder_is_told_what_reuse_would_save_before_it_starts(
    command: Command, finished: Finished, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, undrawn: None
) -> None:
    monkeypatch.chdir(tmp_path)
    first = command("run", finished.config, "--reuse", finished.run, "--progress", "none", "--limit", "1")
    assert first.code == 0, first.err
    (earlier,) = Path("runs").iterdir()
    said = f"{earlier} already has 3 of these edits and 3 answers; "
    plain = ("--progress", "plain", "--limit", "1")
    again = command("run", finished.config, "--run-dir", "new", *plain)
    assert said in again.err.partition("loaded: ")[0]
    for more in (["--run-dir", "other", "--reuse", earlier], ["--run-dir", "new"]):
        assert "already has" not in command("run", finished.config, *more, *plain).err


def test_a_finished_edit_without_a_file_wants_the_file_and_no_retry(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, undrawn: None
) -> None:
    monkeypatch.chdir(tmp_path)
    edits = tmp_path / "edits"
    edits.mkdir()
    models = {"diffusion_model": {"type": "image_folder", "params": {"folder": str(edits)}}}
    write_benchmark(tmp_path, 3)
    path = tmp_path / "finished.yaml"
    path.write_text(yaml.safe_dump({**configuration(tmp_path), **models}, allow_unicode=True), "utf-8")
    for number in range(2):
        Image.new("RGB", (24, 16), (9, 99, 10 * number)).save(edits / f"{sample_id(number)}.png")
    for more in ([], ["--retry", "edit_failed"]):
        ended = command("run", path, "--progress", "none", *more)
        assert ended.code == 3
        assert "1 score is missing because a finished edit has no file: put it in its folder" in folded(ended.out)
        assert "(edit missing)" in folded(ended.out)
        assert "edit failed" not in folded(ended.out)
        assert "edit-eval run with --retry" not in folded(ended.out)
        assert "lists the rest; a finished edit needs its file: put it there and run" in ended.err
    Image.new("RGB", (24, 16), (9, 99, 200)).save(edits / f"{sample_id(2)}.png")
    ended = command("run", path, "--progress", "plain")
    assert ended.code == 0, ended.err
    assert "2 of 3 edits and 2 of 3 judgements are kept; to do: 1 edit, 1 judgement" in ended.err
    ended = command("run", path, "--run-dir", "other", "--progress", "plain")
    assert ended.err.count("already has") == 1, "what is in two runs is offered once"


def folded(text: str) -> str:
    """A text without its lines' ends."""
    return " ".join(text.split())


def test_flags_reach_the_configuration(command: Command, tmp_path: Path, undrawn: None) -> None:
    path = yaml_file(tmp_path, evaluation={"retries": 1})
    outcome = command(
        *("run", path, "--run-dir", tmp_path / "run", "--json", "--progress", "none", "--devices", "cpu:1"),
        *("--limit", "2", "--categories", "physical, 社会", "--difficulty", "easy", "--tags", "even,"),
        *("--set", "diffusion_model.params.steps=7", "--set", "evaluation.min_coverage=0.5"),
    )
    assert outcome.code == 0, outcome.err
    written = yaml.safe_load((tmp_path / "run" / "config" / "0001.yaml").read_text("utf-8"))
    benchmark = written["benchmark"]
    assert (benchmark["limit"], benchmark["categories"], benchmark["tags"]) == (2, ["physical", "社会"], ["even"])
    assert benchmark["difficulty"] == ["easy"]
    assert written["edit_models"]["testing"]["params"]["steps"] == 7
    assert written["edit_models"]["testing"]["params"]["device_ids"] == ["cpu:0"]
    assert written["evaluation"]["min_coverage"] == 0.5
    assert written["execution"]["progress"] == "none"
    assert outcome.document["coverage"]["total"] == 4


def test_what_a_file_should_be_told_is_told_on_stderr(command: Command, tmp_path: Path, undrawn: None) -> None:
    path = yaml_file(tmp_path)
    text = path.read_text("utf-8").replace("reward_model:\n", "reward_model:\n  class_path: src.models.reward.Qwen\n")
    path.write_text(text, "utf-8")
    outcome = command("run", path, "--run-dir", tmp_path / "run", "--json", "--progress", "none")
    assert outcome.code == 0, outcome.err
    assert outcome.err.startswith("note: ")
    assert outcome.document["status"] == "complete"


def test_a_terminal_that_cannot_write_everything_gets_what_it_can(finished: Finished) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    for flag in ([], ["--json"]):
        command = [sys.executable, "-m", "edit_eval", "status", str(finished.run), sample_id(0), *flag]
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["sample"]["id"] == sample_id(0)
