"""The same command goes on: which folder it takes, what it says, and what of its own code and configuration counts."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from edit_eval import cli, evaluate
from edit_eval import run as run_module
from edit_eval.config.identity import identity
from edit_eval.config.loading import load_configuration
from edit_eval.errors import BenchmarkError, ConfigurationError, RunDirectoryError, RunInterrupted
from edit_eval.execution.session import Session
from edit_eval.plugins.status.sheet import resume_command
from edit_eval.records import Reply, Status
from edit_eval.run import Run
from edit_eval.store.run_directory import RunDirectory
from edit_eval.store.table import JudgementTable, describe_remaining_work
from small_benchmark import configuration, numbers, sample_id, write_benchmark
from small_matrix import give_reply, made_edit, small_matrix

MY_MODELS = '''
from dataclasses import dataclass

class Editor:
    """Makes a picture lighter."""

    @dataclass
    class Parameters:
        amount: int = 3

    def __init__(self, parameters):
        self.parameters = parameters

    def load(self, devices):
        pass

    def edit(self, request, on_step):
        return request.source.point(lambda level: min(255, level + self.parameters.amount))


class Judge:
    """Always content."""

    def __init__(self, parameters):
        pass

    def load(self, devices):
        pass

    def judge(self, requests):
        return ["Score: 6.500"] * len(requests)
'''


class Notes:
    """A spectator that only listens."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def note(self, text: str) -> None:
        self.heard.append(text)

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments, **named: None


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder, which is the current one: a benchmark, models of one's own, and `mine.yaml`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "my_models.py").write_text(MY_MODELS)
    write_file(tmp_path)
    return tmp_path


def write_file(folder: Path, **more: Any) -> None:
    (folder / "mine.yaml").write_text(yaml.safe_dump(configuration(folder, **more), allow_unicode=True), "utf-8")


def start(**options: Any) -> tuple[Run, list[str]]:
    notes = Notes()
    return evaluate("mine.yaml", report=False, spectator=notes, **options), notes.heard


def interrupted(monkeypatch: pytest.MonkeyPatch, **options: Any) -> Path:
    """A start that somebody ends before anything was done; returns its folder."""

    def interrupt(*arguments: object, **named: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patches:
        patches.setattr(Session, "run", interrupt)
        with pytest.raises(RunInterrupted) as end:
            start(**options)
    return end.value.run_dir


def edits_of(run: Path) -> int:
    return sum(len(path.read_text().splitlines()) for path in (run / "edits").glob("*.jsonl"))


# -- which folder --


def test_the_same_evaluation_goes_on_and_no_edit_is_made_twice(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = interrupted(monkeypatch)
    goes_on = f"run directory: {folder} (same evaluation as before; `--run-dir NEW` starts from scratch)"
    made, said = start(overrides=["diffusion_model.params.device_ids=cpu:1", "evaluation.min_coverage=0.5"])
    assert made.path == folder, "devices and gates change no key"
    assert said[0] == goes_on
    assert made.has_required_coverage
    again, said = start()
    assert again.path == folder
    assert said == [goes_on, "Nothing to do: 9 edits and 9 judgements already complete"]
    assert list(Path("runs").iterdir()) == [folder]
    anew, said = start(run_dir="anew")
    assert (anew.has_required_coverage, edits_of(Path("anew")), said[2]) == (True, 9, "to do: 9 edits, 9 judgements")


def test_another_evaluation_takes_over_what_is_the_same(here: Path) -> None:
    first, _ = start(overrides=["benchmark.limit=1"])
    second, said = start(overrides=["reward_model.params.default_answer='Score: 6'"])
    assert second.path != first.path
    taken = "reusing matching results from earlier runs ({}); `--run-dir NEW` starts from scratch"
    assert said[1:] == [
        taken.format(first.path),
        f"{first.path}: 3 edits and 0 judgements are reused",
        "3 of 9 edits and 0 of 9 judgements are kept; to do: 6 edits, 9 judgements",
        *said[4:],
    ]
    third, said = start(overrides=["reward_model.params.default_answer='Score: 7'"])
    assert said[1] == taken.format(second.path), "the first has nothing more"
    assert "9 of 9 edits and 0 of 9 judgements are kept" in said[3]
    back, said = start(overrides=["benchmark.limit=1"])
    assert back.path == first.path
    assert said[1] == "Nothing to do: 3 edits and 3 judgements already complete"
    assert third.has_required_coverage


@pytest.mark.parametrize(
    "override",
    [
        "diffusion_model.params.steps=5",
        "diffusion_model.params.seed=5",
        "reward_model.params.default_answer='Score: 6'",
        "evaluation.answer=reason_then_score",
        "evaluation.repeats=2",
        "benchmark.limit=1",
        "benchmark.language=zh",
        "prompts={物理: {system_prompt: Judge.}}",
    ],
)
def test_another_evaluation_takes_a_folder_of_its_own(
    here: Path, monkeypatch: pytest.MonkeyPatch, override: str
) -> None:
    folder = interrupted(monkeypatch)
    other = interrupted(monkeypatch, overrides=[override])
    assert other != folder
    assert interrupted(monkeypatch, overrides=[override]) == other
    assert interrupted(monkeypatch) == folder, "each its own"


def test_a_run_of_another_file_or_a_folder_that_is_none_is_left_alone(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = interrupted(monkeypatch)
    renamed = folder.with_name(folder.name.replace("mine-", "mine-other-"))
    folder.rename(renamed)
    Path("runs/mine-99991231-235959/config").mkdir(parents=True)
    Path("runs/mine-99991231-235958").write_text("no folder")
    assert interrupted(monkeypatch).name not in (renamed.name, "mine-99991231-235959")


def test_an_unfinished_run_that_is_at_work_is_left_to_it(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = interrupted(monkeypatch)
    other = RunDirectory(folder)
    other.begin()
    try:
        with pytest.raises(RunDirectoryError, match=f"{folder} is in use by process") as refused:
            start()
        assert "`--run-dir NEW` starts a new one" in refused.value.__notes__[0]
    finally:
        other.end()
    made, _ = start()
    assert made.path == folder


def test_failures_that_are_to_be_tried_again_are_found_in_the_last_run(here: Path) -> None:
    write_file(here, judge={"fail": ["00001_环境_easy"]}, execution={"pilot": False})
    first, _ = start()
    again, said = start(retry=["judge_error"])
    assert again.path == first.path
    assert said[1].endswith("8 of 9 judgements are kept; to do: 0 edits, 1 judgement")
    other, said = start(retry=["refused"])
    assert other.path == first.path
    assert "Nothing to do" in said[-1], "it has none of those"


def test_a_folder_that_becomes_another_evaluation_is_said_to_be(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted(monkeypatch, run_dir="run")
    _, said = start(run_dir="run")
    assert not [line for line in said if "another evaluation" in line]
    _, said = start(run_dir="run", overrides=["diffusion_model.params.steps=7", "benchmark.limit=1"])
    assert said[1] == (
        "until now this run directory held another evaluation (edit model testing: steps 4 -> 7; samples 9 -> 3); "
        "results that no longer belong stay in the records and are not shown"
    )
    overrides = ["reward_model={class_path: my_models:Judge}", "benchmark.limit=1", "diffusion_model.params.steps=7"]
    _, said = start(run_dir="run", overrides=overrides)
    assert "(judge testing -> Judge)" in said[1]


def test_the_command_that_an_interruption_names_goes_on(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With real processes: ended by Ctrl-C in the middle, it is the very command that is printed."""
    write_file(here, edit={"seconds": 0.2, "steps": 1, "device_ids": "cpu:1"})
    typed = [sys.executable, "-m", "edit_eval", "run", "mine.yaml", "--set", "evaluation.retries=1", "--json"]
    engine = subprocess.Popen(typed, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not any(path.stat().st_size for path in Path("runs").glob("*/edits/*.jsonl")):
        assert time.monotonic() < deadline
        assert engine.poll() is None
        time.sleep(0.02)
    engine.send_signal(signal.SIGINT)
    _, errors = engine.communicate(timeout=60)
    assert engine.returncode == 130
    (folder,) = Path("runs").iterdir()
    *_, said, named = errors.splitlines()
    assert said == f"interrupted: all finished work is kept in {folder}; to resume:"
    command = f"edit-eval run mine.yaml --set evaluation.retries=1 --json --run-dir {folder}"
    assert named == f"  {command}"
    before = edits_of(folder)
    assert 0 < before < 9
    monkeypatch.setattr(run_module, "render_report", lambda *_: "")
    monkeypatch.setattr(sys, "argv", shlex.split(command))
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert not ended.value.code
    assert Run(folder).has_required_coverage
    assert edits_of(folder) == 9


# -- what status prints --


def test_the_command_that_status_prints_goes_on_from_the_recorded_file(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With classes beside the first file, a relative path, prompts and filters: equal keys, and nothing to do."""
    own = {
        "diffusion_model": {"class_path": "my_models:Editor", "params": {"device_ids": "cpu:1", "amount": 7}},
        "reward_model": {"class_path": "my_models:Judge", "params": {"device": "cpu", "batch_size": 3}},
        "benchmark": {"data_path": "benchmark.json", "cache_dir": "cache", "limit": 2, "categories": ["physical"]},
        "prompts": {"物理": {"system_prompt": 'Look at {edit_instruction} and {"this": 1}.'}},
        "evaluation": {"answer": "reason_then_score", "controls": 0},
    }
    (here / "mine.yaml").write_text(yaml.safe_dump(own, allow_unicode=True))
    first, _ = start(run_dir="run")
    assert numbers(first.summary).mean == 6.5
    words = shlex.split(resume_command(Path("run")))
    assert words == ["edit-eval", "run", "run/config/0001.yaml", "--run-dir", "run"]
    with monkeypatch.context() as elsewhere:
        elsewhere.chdir("/")
        assert shlex.split(resume_command(here / "run")) == ["cd", str(here), "&&", *words]

    recorded, original = load_configuration(words[2]), load_configuration("mine.yaml")
    for kind, mine, theirs in (
        ("edit_model", original.edit_models, recorded.edit_models),
        ("judge", original.judges, recorded.judges),
    ):
        assert list(mine) == list(theirs)
        for name in mine:
            ours = identity(mine[name], original.folder, kind)
            assert ours == identity(theirs[name], recorded.folder, kind)
            assert ours.revision, "its own code is part of its key"
    monkeypatch.setattr(Session, "run", None)
    notes = Notes()
    evaluate(words[2], run_dir="run", report=False, spectator=notes)
    assert notes.heard[1] == "Nothing to do: 2 edits and 2 judgements already complete"
    (here / "elsewhere").mkdir()
    monkeypatch.chdir(here / "elsewhere")
    evaluate("../run/config/0001.yaml", run_dir="../run", report=False)


# -- code of one's own --


def test_changed_code_makes_its_results_anew(here: Path) -> None:
    own = {"class_path": "my_models:Editor", "params": {"device_ids": "cpu:1"}}
    raw = configuration(here) | {"diffusion_model": own}
    (here / "mine.yaml").write_text(yaml.safe_dump(raw))
    start(run_dir="run")
    _, said = start(run_dir="run")
    assert "Nothing to do" in said[1]
    assert edits_of(here / "run") == 9
    (here / "my_models.py").write_text(MY_MODELS.replace("min(255, level + ", "min(250, level + "))
    _, said = start(run_dir="run")
    assert "(edit model Editor: its weights or its code have changed)" in said[1]
    assert edits_of(here / "run") == 18


def test_a_class_that_knows_its_revision_is_believed(here: Path) -> None:
    (here / "my_models.py").write_text(
        MY_MODELS.replace(
            "    def load", "    @staticmethod\n    def revision(p):\n        return 'seven'\n\n    def load", 1
        )
    )
    raw = configuration(here) | {"diffusion_model": {"class_path": "my_models:Editor"}}
    made = load_configuration(raw)
    assert identity(made.edit_models["Editor"], made.folder, "edit_model").revision == "seven"


@pytest.mark.parametrize("class_path", ["my_models:Editor", "my_models.py:Editor", "package.inner:Editor"])
def test_the_revision_is_that_of_the_file_whether_or_not_it_can_be_imported_here(here: Path, class_path: str) -> None:
    (here / "package").mkdir()
    (here / "package" / "inner.py").write_text(MY_MODELS)
    raw = configuration(here) | {"diffusion_model": {"class_path": class_path}}
    made = load_configuration(raw)
    known = identity(made.edit_models["Editor"], made.folder, "edit_model").revision
    for path in ("my_models.py", "package/inner.py"):
        (here / path).write_text("import a_library_of_its_own_environment\n" + MY_MODELS)
    raw["diffusion_model"]["params"] = {"python": sys.executable}
    foreign = load_configuration(raw)
    changed = identity(foreign.edit_models["Editor"], foreign.folder, "edit_model").revision
    assert len(known) == len(changed) == 64
    assert known != changed


def test_installed_classes_have_no_such_revision(here: Path) -> None:
    site = here / "venv" / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    (site / "installed_models.py").write_text(MY_MODELS)
    sys.path.insert(0, str(site))
    raw = configuration(here) | {"diffusion_model": {"class_path": "installed_models:Editor"}}
    made = load_configuration(raw)
    assert identity(made.edit_models["Editor"], made.folder, "edit_model").revision == ""
    ours = load_configuration(configuration(here))
    assert identity(ours.edit_models["testing"], ours.folder, "edit_model").revision == ""


def test_how_a_server_is_asked_is_part_of_no_key(here: Path) -> None:
    def judge(**params: Any) -> Any:
        made = load_configuration(
            configuration(here) | {"reward_model": {"type": "chat_endpoint", "params": {"model": "m", **params}}}
        )
        return identity(made.judges["chat_endpoint"], made.folder, "judge").digest

    assert judge() == judge(base_url="http://other:8000/v1", concurrency=2, api_key_env="MINE")
    assert judge() != judge(max_tokens=9)


# -- what is refused --


def test_prompts_of_a_category_that_nobody_has_are_refused(here: Path) -> None:
    for written, meant in (("物里", "物理"), ("phisical", "physical"), ("enviromental", "environmental")):
        overrides = [f"prompts={{{written}: {{system_prompt: Judge.}}}}"]
        with pytest.raises(ConfigurationError, match=f"^prompts.{written}: no sample has that category.*`{meant}`"):
            start(overrides=overrides)
    assert not Path("runs").exists()
    made, _ = start(overrides=["prompts={因果: {system_prompt: Judge.}}"])
    assert made.has_required_coverage, "one of the five that this benchmark happens not to have is no slip"


def test_a_category_of_the_benchmarks_own_may_have_prompts_although_a_filter_leaves_it_out(here: Path) -> None:
    items = json.loads((here / "benchmark.json").read_text())
    items[0]["subset"] = "weather"
    (here / "benchmark.json").write_text(json.dumps(items))
    prompts = "prompts={weather: {system_prompt: Judge the weather.}}"
    made, _ = start(overrides=[prompts, "benchmark.categories=[physical]"])
    assert made.has_required_coverage
    with pytest.raises(BenchmarkError, match="no rubric for its category `weather`"):
        start()


def test_samples_without_a_rubric_are_bad_samples_named_by_file_index_and_id(here: Path) -> None:
    items = json.loads((here / "benchmark.json").read_text())
    for number in (4, 7):
        items[number]["subset"] = "weather"
    (here / "benchmark.json").write_text(json.dumps(items))
    with pytest.raises(BenchmarkError) as caught:
        start()
    said = str(caught.value)
    assert f"{here / 'benchmark.json'}: sample 4 ({sample_id(4)}): no rubric for its category `weather`" in said
    lacking = (
        "no rubric for its category `weather`: add `prompts.weather.system_prompt`, or write "
        "`protocol: {general: true}` for the general one"
    )
    assert f"{lacking} (and 1 more bad sample); fix the file, or set" in said
    assert not Path("runs").exists()
    made, _ = start(overrides=["benchmark.on_bad_sample=skip"])
    assert made.summary.coverage.by_status == {"ok": 7, "skipped": 2}
    assert not made.has_required_coverage
    reasons = {j.reason for j in Run(made.path).results.judgements if j.status is Status.SKIPPED}
    assert reasons == {lacking}
    mended = ["benchmark.on_bad_sample=skip", "prompts={weather: {system_prompt: Judge the weather.}}"]
    made, _ = start(overrides=mended)
    assert made.has_required_coverage


def test_skipped_samples_count_against_the_coverage(here: Path) -> None:
    items = json.loads((here / "benchmark.json").read_text())
    items[4]["src_img_b64"] = "?"
    write_benchmark(here)
    (here / "benchmark.json").write_text(json.dumps(items))
    made, _ = start(overrides=["benchmark.on_bad_sample=skip"])
    with pytest.raises(Exception, match=r"8 of 9 are scored \(1 skipped counts as not scored\)"):
        made.check_coverage()


@pytest.mark.parametrize(
    ("samples", "said"),
    [(1, ("to do: 1 edit, 1 judgement", "Nothing to do: 1 edit and 1 judgement already complete")),
     (2, ("to do: 2 edits, 2 judgements", "Nothing to do: 2 edits and 2 judgements already complete"))],
)  # fmt: skip
def test_what_is_left_is_counted_as_people_do(samples: int, said: tuple[str, str], tmp_path: Path) -> None:
    matrix, directory = small_matrix(samples), RunDirectory(tmp_path)
    directory.begin()
    left = [describe_remaining_work(JudgementTable(matrix))]
    for number in range(samples):
        matrix.set_edit(number, made_edit(matrix, number, directory))
        give_reply(matrix, number, Reply(text="7"))
    directory.end()
    assert (*left, describe_remaining_work(JudgementTable(matrix))) == said
