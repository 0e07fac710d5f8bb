from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from edit_eval.config.loading import load_configuration
from edit_eval.config.schema import Configuration, ModelSection
from edit_eval.config.secret_values import SECRET_SHOWN, mask_secrets
from edit_eval.errors import ConfigurationError


def test_defaults(load: Callable[..., Configuration]) -> None:
    configuration = load()
    assert configuration.evaluation.model_dump() == {
        "min_coverage": 1.0,
        "edit_seeds": 1,
        "repeats": 1,
        "readings": 1,
        "controls": "auto",
        "more_controls": (),
    }
    assert configuration.execution.model_dump() == {
        "driver": "local",
        "address": None,
        "schedule": "pull",
        "order": "by_stage",
        "placement": "auto",
        "start": "asap",
        "load_concurrency": "auto",
        "pilot": True,
        "max_cost": None,
        "progress": "auto",
    }
    assert (configuration.benchmark.language, configuration.benchmark.on_bad_sample) == ("en", "error")
    assert configuration.notes == ()


def test_name_and_folder(folder: Path) -> None:
    configuration = load_configuration(Path("config.yaml"))
    assert (configuration.name, configuration.folder) == ("config", folder)
    raw = yaml.safe_load((folder / "config.yaml").read_text())
    assert (load_configuration(raw).name, load_configuration(raw).folder) == ("run", folder)


def test_classes_lie_beside_the_yaml_and_paths_count_from_here(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "pairs.json").write_text("[]")
    monkeypatch.chdir(elsewhere)
    configuration = load_configuration(folder / "config.yaml")
    assert configuration.edit_models["Editor"].class_path == "own_models:Editor"
    (elsewhere / "pairs.json").unlink()
    with pytest.raises(ConfigurationError, match=r"no such file: pairs\.json; paths count from where you type"):
        load_configuration(folder / "config.yaml")


def test_python_values_are_as_good_as_yaml(folder: Path) -> None:
    raw: dict[str, Any] = yaml.safe_load((folder / "config.yaml").read_text())
    raw["benchmark"] |= {"data_path": Path("pairs.json"), "categories": ("physical",)}
    before = json.dumps(raw, default=str)
    configuration = load_configuration(raw, overrides=["benchmark.limit=3"])
    assert configuration.benchmark.parameters["data_path"] == "pairs.json"
    assert configuration.benchmark.filters.categories == ("physical",)
    assert json.dumps(raw, default=str) == before, "the caller's values are not touched"
    raw["evaluation"] = {"retries": object()}
    with pytest.raises(ConfigurationError, match=r"^configuration: evaluation\.retries: must be text, .* not object$"):
        load_configuration(raw)


@pytest.mark.parametrize("data", [b"\xef\xbb\xbf", b"# comment\n", b"---\n"])
def test_what_may_stand_before_it(folder: Path, data: bytes) -> None:
    path = folder / "config.yaml"
    path.write_bytes(data + path.read_bytes())
    assert load_configuration(path).name == "config"


def test_filters(load: Callable[..., Configuration]) -> None:
    filters = load(
        "benchmark.categories=[物理, social]", "benchmark.difficulty=hard", "benchmark.sample_ids=[00012, 7, a_b]"
    ).benchmark.filters
    assert filters.categories == ("物理", "social")
    assert filters.difficulty == ("hard",), "one word without brackets is a list of one"
    assert filters.sample_ids == ("00012", "7", "a_b")
    assert filters.limit is None


def test_the_command_lines_filters_replace_the_files(load: Callable[..., Configuration]) -> None:
    filters = load(
        "benchmark.limit=5",
        "benchmark.tags=[a]",
        limit=2,
        categories=["物理"],
        difficulty=["hard"],
        sample_ids=["x"],
        tags=[],
    ).benchmark.filters
    assert filters.model_dump() == {
        "categories": ("物理",),
        "difficulty": ("hard",),
        "tags": (),
        "sample_ids": ("x",),
        "limit": 2,
    }
    with pytest.raises(ConfigurationError, match=r"^--limit: must be at least 1, not 0$"):
        load(limit=0)


def test_the_language_reaches_a_benchmark_that_asks_for_it(load: Callable[..., Configuration]) -> None:
    benchmark = load("benchmark.language=zh").benchmark
    assert benchmark.language == "zh"
    assert benchmark.parameters["language"] == "zh"
    assert "on_bad_sample" not in benchmark.parameters


def test_several_models_keep_their_order(folder: Path) -> None:
    (folder / "several.yaml").write_text(
        "benchmark: {class_path: own_models.Pairs, data_path: pairs.json}\n"
        "edit_models:\n  z.5: {class_path: own_models.Editor}\n  编辑: {type: testing}\n  a-b_c: {type: testing}\n"
        "judges:\n  j2: {type: testing}\n  J1: {type: testing}\n"
    )
    configuration = load_configuration("several.yaml", overrides=["edit_models.z.5.params.seed=3"])
    assert list(configuration.edit_models) == ["z.5", "编辑", "a-b_c"]
    assert [m.name for m in configuration.edit_models.values()] == ["z.5", "编辑", "a-b_c"]
    assert list(configuration.judges) == ["j2", "J1"]
    assert configuration.edit_models["z.5"].seed == 3


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../x", "a/b", "a\\b", ".hidden", "-x", "a b", "a:b", "x\n", "é", "a\0"]
)
def test_names_that_cannot_be_a_folder(folder: Path, name: str) -> None:
    raw = yaml.safe_load((folder / "config.yaml").read_text())
    raw["judges"] = {name: raw.pop("reward_model")}
    with pytest.raises(ConfigurationError, match="not a valid model name; use letters"):
        load_configuration(raw)


def test_names_too_long_or_too_alike(folder: Path) -> None:
    raw = yaml.safe_load((folder / "config.yaml").read_text())
    judge = raw.pop("reward_model")
    with pytest.raises(ConfigurationError, match="longer than 100 bytes"):
        load_configuration(raw | {"judges": {"判" * 34: judge}})
    with pytest.raises(ConfigurationError, match=r"judges\.A: differs from `a` only in case"):
        load_configuration(raw | {"judges": {"a": judge, "A": judge}})
    with pytest.raises(ConfigurationError, match=r"rewrite\.A: differs from `a` only in case"):
        load_configuration(raw | {"judges": {"a": judge}, "rewrite": {"A": judge}})
    with pytest.raises(ConfigurationError, match=r"rewrite\.a: a judge is called a, too"):
        load_configuration(raw | {"judges": {"a": judge}, "rewrite": {"a": judge}})


def test_a_user_class_is_called_by_its_type_or_its_own_name(load: Callable[..., Configuration]) -> None:
    assert list(load().edit_models) == ["Editor"]
    named = load("diffusion_model.type=my_editor").edit_models["my_editor"]
    assert (named.type, named.class_path) == ("", "own_models:Editor")
    assert list(load("diffusion_model={type: testing}").edit_models) == ["testing"]


def test_home_is_found(load: Callable[..., Configuration], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder))
    configuration = load("benchmark.data_path=~/pairs.json", "diffusion_model.params.model_name=~/weights")
    assert configuration.benchmark.parameters["data_path"] == f"{folder}/pairs.json"
    assert configuration.edit_models["Editor"].parameters["model_name"] == f"{folder}/weights"


def test_null_is_the_same_as_not_given(load: Callable[..., Configuration]) -> None:
    same = load(
        "execution=null",
        "evaluation.retries=null",
        "benchmark.limit=null",
        "prompts=null",
        "diffusion_model.params.seed=",
    )
    assert same == load()


def test_prompts(load: Callable[..., Configuration]) -> None:
    override = (
        "prompts={物理: {system_prompt: 'Judge {this}.'}, causal: {user_prompt_template: 'x {edit_instruction}'}}"
    )
    protocol = load(override).judges["Judge"].protocol
    assert protocol is not None
    assert protocol.parameters["prompts"] == {
        "物理": {"system_prompt": "Judge {this}."},
        "causal": {"user_prompt_template": "x {edit_instruction}"},
    }


def test_what_once_stood_under_evaluation(load: Callable[..., Configuration]) -> None:
    old = load("evaluation.answer=reason_then_score", "evaluation.retries=0")
    assert old == load("protocol={type: rubric, answer: reason_then_score, retries: 0}")
    assert old == load("protocol.answer=reason_then_score", "evaluation={answer: reason_then_score, retries: 0}")
    with pytest.raises(ConfigurationError, match=r"evaluation\.retries: `protocol\.retries` is also given"):
        load("evaluation.retries=0", "protocol.retries=1")


def test_what_asks_for_nothing_changes_nothing(load: Callable[..., Configuration]) -> None:
    assert load("execution.driver=local", "trackers=[]", "extends=null") == load()


RICH = (
    "benchmark.categories=[物理]",
    "benchmark.limit=3",
    "benchmark.language=zh",
    "diffusion_model.params.device=cuda:1",
    "diffusion_model.params.size=[1, 2]",
    "diffusion_model.params.seed=4",
    "reward_model.params.device_ids=[2, 0]",
    "reward_model.params.conda_env=qwen3",
    "reward_model.params.batch_size=2",
    "reward_model.params.images=[edited]",
    "prompts.physical.system_prompt=Judge.",
    "evaluation.answer=reason_then_score",
    "execution.load_concurrency=1",
)


@pytest.mark.parametrize("overrides", [(), RICH], ids=["bare", "rich"])
def test_the_resolved_configuration_is_read_again_as_itself(
    load: Callable[..., Configuration], folder: Path, tmp_path_factory: pytest.TempPathFactory, overrides: Any
) -> None:
    """Wherever the file lies, and wherever the command is given."""
    configuration = load(f"benchmark.data_path={folder}/pairs.json", *overrides)
    text = yaml.safe_dump(configuration.as_plain(), allow_unicode=True)
    assert json.loads(json.dumps(configuration.as_plain())) == yaml.safe_load(text)
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "config.yaml"
    elsewhere.write_text(text, encoding="utf-8")
    assert load_configuration(elsewhere).model_dump() == configuration.model_dump()
    assert configuration.folder == folder


def test_what_is_recorded_has_absolute_paths_of_the_benchmark(load: Callable[..., Configuration], folder: Path) -> None:
    configuration = load("diffusion_model.params.model_name=weights/mine")
    plain = configuration.as_plain()
    assert plain["benchmark"]["data_path"] == str(folder / "pairs.json")
    assert plain["import_from"] == str(folder)
    params = plain["edit_models"]["Editor"]["params"]
    assert params["model_name"] == "weights/mine", "what is part of a key stays as it is"
    raw = {"benchmark": {"type": "scenes"}, "diffusion_model": {"type": "testing"}, "reward_model": {"type": "testing"}}
    assert "import_from" not in load_configuration(raw).as_plain()


def test_classes_are_looked_for_where_the_file_says(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = yaml.safe_load((folder / "config.yaml").read_text())
    raw["benchmark"]["data_path"] = str(folder / "pairs.json")
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    (Path.cwd() / "models").symlink_to(folder)
    configuration = load_configuration(raw | {"import_from": "models"})
    assert configuration.folder == folder
    assert configuration.edit_models["Editor"].class_path == "own_models:Editor"


def test_the_flag_of_the_progress_is_named_as_it_was_given(load: Callable[..., Configuration]) -> None:
    assert load("execution.progress=rich", progress="none").execution.progress == "none"
    with pytest.raises(
        ConfigurationError, match=r"^--progress: must be `auto`, `rich`, `plain`, `lines` or `none`, not 'loud'$"
    ):
        load(progress="loud")


def test_a_benchmark_that_is_not_there_may_be_passed_over(load: Callable[..., Configuration], folder: Path) -> None:
    (folder / "pairs.json").unlink()
    with pytest.raises(ConfigurationError, match="no such file"):
        load()
    assert load(data_may_be_missing=True).benchmark.parameters["data_path"] == "pairs.json"
    with pytest.raises(ConfigurationError, match=r"execution\.pilot"):
        load("execution.pilot=3", data_may_be_missing=True)


def test_options_leave_the_name_as_it_is(load: Callable[..., Configuration]) -> None:
    assert load(limit=1, progress="none").name == load().name


def test_an_option_that_is_none_is_refused(load: Callable[..., Configuration]) -> None:
    with pytest.raises(TypeError, match="no `limt`"):
        load(limt=3)


def test_it_does_not_change(load: Callable[..., Configuration]) -> None:
    configuration = load()
    with pytest.raises(ValidationError):
        configuration.evaluation.readings = 3
    with pytest.raises(ValidationError):
        configuration.name = "x"


def test_no_secret_is_written(load: Callable[..., Configuration]) -> None:
    # Such keys are refused in a file; a default of a class could still hold one.
    leaky = ModelSection(
        name="j",
        type="",
        class_path="a:B",
        parameters={"api_key": "CANARY", "url": "http://u:CANARY@h", "deep": [{"hf_token": "CANARY"}], "max_tokens": 3},
    )
    plain = load().model_copy(update={"judges": {"j": leaky}}).as_plain()
    assert "CANARY" not in json.dumps(plain)
    assert plain["judges"]["j"]["params"]["api_key"] == SECRET_SHOWN
    assert plain["judges"]["j"]["params"]["max_tokens"] == 3
    assert mask_secrets({"password": None, "x": ("a",)}) == {"password": None, "x": ["a"]}


def test_the_worker_can_make_the_parameters(load: Callable[..., Configuration]) -> None:
    from edit_eval.workers.model_class import find_class, make_parameters

    configuration = load("reward_model={type: testing, params: {seconds: 1}}")
    model = configuration.judges["testing"]
    cls = find_class(model.class_path, [str(configuration.folder)])
    made = make_parameters(cls, json.loads(json.dumps(model.parameters)))
    assert dataclasses.asdict(made) == model.parameters
    assert made.seconds == 1.0
