"""Files in the form of the base system's run; what would change a result is refused with what to write instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from edit_eval import evaluate
from edit_eval.config import base_system
from edit_eval.config.base_system import CLASSES, PASSED_OVER, REFUSED, TYPES
from edit_eval.config.loading import load_configuration
from edit_eval.config.placement import PLACEMENT_KEYS
from edit_eval.config.schema import Configuration
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.preparation.requests import plan
from small_benchmark import write_benchmark

FILES = sorted(Path(__file__).with_name("base_system").glob("*.yaml"))
REPLACED = "classes of the original scripts are replaced:"
NOISE, GREEDY = f"diffusion_model: {base_system.NOISE}", f"reward_model: {base_system.GREEDY}"
SEES_MORE = "reward_model: the judge sees source and edit (`protocol: {images: [edited]}` shows only the edit)"
OTHERWISE = (
    "a sample's seed is `seed` + its index in the whole benchmark, not within its category; failures are "
    "counted, never scored"
)

OLD = """
benchmark:
  data_path: "pairs.json"
  categories: ["物理", "环境", "社会", "因果", "指代"]
diffusion_model:
  type: "multi_gpu_qwen_image_edit"
  class_path: "src.models.diffusion.implementations.multi_gpu_qwen_edit.MultiGPUQwenImageEditModel"
  params:
    model_name: "/weights/Qwen-Image-Edit"
    device_ids: [0, 1, 2, 3, 4, 5]
    dtype: "bfloat16"
    num_inference_steps: 15
    true_cfg_scale: 4.0
    negative_prompt: " "
    seed: 0
    disable_progress_bar: true
    enable_batch_sync: true
reward_model:
  type: "qwen3_vl_multi_gpu_subprocess"
  class_path: "src.models.reward.implementations.qwen3_vl_multi_gpu_subprocess.Qwen3VLMultiGPUSubprocessRewardModel"
  params:
    model_name: "/weights/Qwen3-VL-30B-A3B-Instruct"
    device_ids: [0, 1, 2, 3, 4, 5]
    dtype: "bfloat16"
    max_new_tokens: 128
    use_batch_inference: true
    batch_size: 2
    conda_env: "qwen3"
    timeout: 600
prompts:
  物理:
    system_prompt: |
      You judge physics.
    user_prompt_template: |
      Original: {original_description}
      Instruction: {edit_instruction}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pairs.json").write_text("[]")
    return tmp_path


def load(raw: Any, *overrides: str) -> Configuration:
    Path("old.yaml").write_text(raw if isinstance(raw, str) else yaml.safe_dump(raw), encoding="utf-8")
    return load_configuration("old.yaml", overrides=overrides)


def protocol(configuration: Configuration) -> dict[str, Any]:
    """The parameters of what the one judge is asked."""
    (judge,) = configuration.judges.values()
    assert judge.protocol is not None
    return judge.protocol.parameters


def test_its_file_is_accepted_as_it_is(here: Path) -> None:
    configuration = load(OLD)
    editor, judge = configuration.edit_models["qwen_image_edit"], configuration.judges["qwen3_vl"]
    six = tuple(f"cuda:{i}" for i in range(6))
    assert (editor.type, editor.placement.device_ids, editor.seed) == ("qwen_image_edit", six, 0)
    assert (judge.placement.device_ids, judge.placement.batch_size, judge.placement.conda_env) == (six, 2, "qwen3")
    assert editor.parameters["num_inference_steps"] == 15
    assert not {"disable_progress_bar", "enable_batch_sync", "seed"} & set(editor.parameters)
    assert configuration.execution.schedule == "batch_sync"
    assert configuration.benchmark.type == "five_dimensions"
    assert configuration.benchmark.filters.categories == ("物理", "环境", "社会", "因果", "指代")
    assert list(protocol(configuration)["prompts"]) == ["物理"]
    assert configuration.notes == (
        f"unlike the original scripts: {NOISE}; {SEES_MORE}; {GREEDY}; {OTHERWISE}; "
        f"{REPLACED} diffusion_model by type qwen_image_edit, reward_model by type qwen3_vl",
    )


def test_a_judge_that_draws_its_answers_is_like_theirs(here: Path) -> None:
    raw = yaml.safe_load(OLD)
    raw["reward_model"]["params"]["temperature"] = 0.7
    [note] = load(raw).notes
    assert NOISE in note
    assert GREEDY not in note


@pytest.mark.parametrize("path", [path for path in FILES if path.stem != "template"], ids=lambda path: path.stem)
def test_its_public_files_are_planned_where_neither_data_nor_weights_are(path: Path) -> None:
    assert plan(path, samples=30, gpus=6, gpu_memory=80.0).best is not None


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_its_public_files_are_read_as_they_are(here: Path, path: Path) -> None:
    """The path of their data apart."""
    configuration = load_configuration(path, overrides=["benchmark.data_path=pairs.json"])
    editors, judges = configuration.edit_models, configuration.judges
    if path.stem == "template":
        assert (list(editors), list(judges)) == (["copy_source"], ["testing"])
        assert protocol(configuration)["prompts"] == {}
        return
    assert (list(editors), list(judges)) == (["qwen_image_edit"], ["qwen3_vl"])
    [note] = configuration.notes
    assert f"{REPLACED} diffusion_model by type qwen_image_edit, reward_model by type qwen3_vl" in note
    assert "keys of the original scripts that have no effect here: evaluation.output_dir" in note
    if path.stem == "multi_gpu":
        assert protocol(configuration)["images"] == ["edited"]
        assert judges["qwen3_vl"].parameters["attn_implementation"] == "sdpa"
        assert note.startswith(f"unlike the original scripts: {NOISE}; {GREEDY}; {OTHERWISE}; ")
        assert "device: auto means one replica on each device" in note
        assert (
            "evaluation.output_dir, evaluation.results_dir (all results go to the run directory, `--run-dir`);"
            " evaluation.images_dir, evaluation.save_generated_images (every edit is kept there, in images/);"
            " evaluation.logs_dir, logging (each worker's log is kept there, in logs/; `execution.progress` sets what"
            " is shown); evaluation.resume_from_checkpoint, evaluation.checkpoint_path (a run is always kept;"
            " rerun the same command to resume); evaluation.metrics (every report shows n, mean, std, median, min"
            " and max)"
        ) in note
    else:
        assert note.startswith(f"unlike the original scripts: {NOISE}; {SEES_MORE}; {GREEDY}; {OTHERWISE}; ")
    schedules = {"multi_gpu": "batch_sync", "multi_gpu_subprocess": "round_robin", "full_multi_gpu": "batch_sync"}
    assert configuration.execution.schedule == schedules[path.stem]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_its_public_files_run(here: Path, path: Path) -> None:
    """With testing models in place of its own, on the CPU, and all else as it is."""
    write_benchmark(here, 3)
    raw = yaml.safe_load(path.read_text("utf-8"))
    raw["benchmark"] |= {"data_path": "benchmark.json", "cache_dir": "cache", "categories": ["物理", "环境", "社会"]}
    for section in (raw["diffusion_model"], raw["reward_model"]):
        if path.stem != "template":
            section["type"] = "testing"
            kept = {"seed", *PLACEMENT_KEYS} - {"conda_env"}
            section["params"] = {key: value for key, value in section["params"].items() if key in kept}
        if section["params"].pop("device_ids", "auto") != "auto" or path.stem == "template":
            section["params"] |= {"device": "cpu"} if "device" in section["params"] else {"device_ids": "cpu:2"}
    Path("old.yaml").write_text(yaml.safe_dump(raw, allow_unicode=True), encoding="utf-8")
    run = evaluate("old.yaml", run_dir="run", report=False)
    assert run.summary.coverage.by_status == {"ok": 3}


def test_classes_without_a_type(here: Path) -> None:
    for name, ours in CLASSES.items():
        raw = yaml.safe_load(OLD)
        section = raw["reward_model" if "Reward" in name else "diffusion_model"]
        del section["type"]
        section["class_path"] = f"src.models.somewhere.{name}"
        section["params"] = {}
        configuration = load(raw)
        assert ours in (*configuration.edit_models, *configuration.judges)


def test_a_type_that_is_mistyped_is_to_blame_and_not_the_class_beside_it(here: Path) -> None:
    raw = yaml.safe_load(OLD)
    raw["diffusion_model"]["type"] = "multi_gpu_qwen_image_edt"
    with pytest.raises(ConfigurationError) as caught:
        load(raw)
    assert str(caught.value) == (
        "old.yaml: diffusion_model.type: `multi_gpu_qwen_image_edt` is not an edit model; did you mean "
        "`qwen_image_edit`? `edit-eval list` shows all"
    )


SWITCHES: list[tuple[dict[str, Any], str, Any]] = [
    ({"compare_with_original": False}, "images", ["edited"]),
    ({"compare_with_original": True}, "images", ["source", "edited"]),
    ({"compare_with_original": None}, "images", ["source", "edited"]),
    ({"compare_with_original": False, "images": ["edited"]}, "images", ["edited"]),
    ({"use_flash_attention": False}, "attn_implementation", "sdpa"),
    ({"use_flash_attention": True}, "attn_implementation", "flash_attention_2"),
]


@pytest.mark.parametrize(("params", "key", "value"), SWITCHES)
def test_its_judges_switches(here: Path, params: dict[str, Any], key: str, value: Any) -> None:
    raw = yaml.safe_load(OLD)
    raw["reward_model"]["params"] |= params
    configuration = load(raw)
    assert (protocol(configuration) | configuration.judges["qwen3_vl"].parameters)[key] == value


@pytest.mark.parametrize(
    ("params", "line"),
    [
        (
            {"compare_with_original": False, "images": ["source", "edited"]},
            "compare_with_original: `images` is also given and says otherwise; keep that one",
        ),
        ({"use_flash_attention": "no"}, "use_flash_attention: must be true or false, not 'no'"),
    ],
)
def test_switches_that_make_no_sense(here: Path, params: dict[str, Any], line: str) -> None:
    raw = yaml.safe_load(OLD)
    raw["reward_model"]["params"] |= params
    with pytest.raises(ConfigurationError) as caught:
        load(raw)
    assert str(caught.value) == f"old.yaml: reward_model.params.{line}"


def test_the_single_gpu_names(here: Path) -> None:
    raw = yaml.safe_load(OLD)
    raw["diffusion_model"]["type"] = "qwen_image_edit"
    raw["reward_model"] |= {"type": "qwen3_vl_subprocess"}
    params = raw["reward_model"]["params"]
    del params["device_ids"], params["conda_env"]
    params |= {"device": "auto", "python_path": "python3", "use_batch_inference": False, "images": ["edited"]}
    configuration = load(raw)
    judge = configuration.judges["qwen3_vl"]
    assert (judge.placement.device_ids, judge.placement.python, judge.placement.batch_size) == ("auto", "python3", 1)
    [note] = configuration.notes
    assert "reward_model.params.device: auto means one replica on each device (device_ids: auto)" in note
    assert "source and edit" not in note


@pytest.mark.parametrize(("asked", "schedule"), [(True, "batch_sync"), (False, "round_robin"), (None, "pull")])
def test_batch_sync(here: Path, asked: bool | None, schedule: str) -> None:
    raw = yaml.safe_load(OLD)
    raw["diffusion_model"]["params"]["enable_batch_sync"] = asked
    assert load(raw).execution.schedule == schedule


def test_a_schedule_that_is_given_wins(here: Path) -> None:
    configuration = load(OLD, "execution.schedule=pull")
    assert configuration.execution.schedule == "pull"
    note = "execution.schedule: pull is used; enable_batch_sync in diffusion_model.params asks for batch_sync"
    assert note in configuration.notes[0]
    assert "execution.schedule" not in " ".join(load(OLD, "execution.schedule=batch_sync").notes)


def test_models_that_ask_for_both(here: Path) -> None:
    first = {"type": "testing", "params": {"enable_batch_sync": True}}
    second = {"type": "testing", "params": {"enable_batch_sync": False}}
    raw = yaml.safe_load(OLD) | {"edit_models": {"a": first, "b": second}}
    del raw["diffusion_model"]
    with pytest.raises(ConfigurationError, match=r"edit_models\.b\.params\.enable_batch_sync: the models ask for both"):
        load(raw)


def test_a_registered_benchmark_wins_over_its_class(here: Path) -> None:
    old = "src.benchmarks.image_pairs.ImagePairs"
    raw = yaml.safe_load(OLD)
    raw["benchmark"] |= {"type": "five_dimensions", "class_path": old}
    configuration = load(raw)
    assert configuration.benchmark.class_path == "edit_eval.plugins.five_dimensions.benchmark:FiveDimensions"
    assert (
        "classes of the original scripts are replaced: benchmark by type five_dimensions, diff"
        in configuration.notes[0]
    )
    raw["benchmark"]["class_path"] = "mine.image_pairs.ImagePairs"
    with pytest.raises(ConfigurationError, match="already names a class; leave one of them out"):
        load(raw)


def test_a_folder_of_the_users_own_may_be_called_src(here: Path) -> None:
    (here / "src").mkdir()
    (here / "src" / "mine.py").write_text("class Pairs:\n    def samples(self):\n        return []\n")
    raw = yaml.safe_load(OLD)
    raw["benchmark"] = {"class_path": "src.mine.Pairs"}
    assert load(raw).benchmark.class_path == "src.mine:Pairs"


def test_its_own_classes_do_not_run_here(here: Path) -> None:
    raw = yaml.safe_load(OLD)
    raw["diffusion_model"] = {"class_path": "src.models.diffusion.implementations.mine.Mine"}
    with pytest.raises(
        ConfigurationError,
        match=r"diffusion_model\.class_path: `src\.models.*` belongs to the "
        "original scripts",
    ):
        load(raw)


def put(raw: dict[str, Any], place: str, value: Any, model: str = "reward_model") -> list[str]:
    keys = place.replace("*", model).split(".")
    target = raw
    for key in keys[:-1]:
        target = target.setdefault(key, {})
    target[keys[-1]] = value
    return keys


@pytest.mark.parametrize("place", sorted(REFUSED))
def test_a_key_that_would_change_a_result_is_refused_with_what_to_write(here: Path, place: str) -> None:
    raw = yaml.safe_load(OLD) | {"reward_model": {"type": "scene_judge"}}
    keys = put(raw, place, "x")
    with pytest.raises(ConfigurationError) as caught:
        load(raw)
    assert str(caught.value) == f"old.yaml: {'.'.join(keys)}: has no effect here: {REFUSED[place]}"


@pytest.mark.parametrize("place", sorted(PASSED_OVER))
def test_a_key_that_decides_nothing_is_passed_over_with_what_replaced_it(here: Path, place: str) -> None:
    raw = yaml.safe_load(OLD)
    before = load(raw)
    keys = put(raw, place, ["mean"] if place.endswith("metrics") else "x")
    configuration = load(raw)
    assert f"{'.'.join(keys)} ({PASSED_OVER[place]})" in configuration.notes[0]
    assert configuration.as_plain() == before.as_plain()


@pytest.mark.parametrize("metrics", [["mean", "p90"], ["mean", ["std"]], [{"mean": None}]])
def test_a_statistic_that_no_report_has_is_refused(here: Path, metrics: list[object]) -> None:
    raw = yaml.safe_load(OLD) | {"evaluation": {"metrics": metrics}}
    with pytest.raises(ConfigurationError, match=r"evaluation\.metrics: has no effect here: .* and no others"):
        load(raw)


def test_a_class_of_ones_own_may_have_parameters_of_those_names(here: Path) -> None:
    (here / "mine.py").write_text(
        "from dataclasses import dataclass\n\n\nclass Judge:\n    @dataclass\n    class Parameters:\n"
        "        script_path: str = ''\n        compare_with_original: str = ''\n\n"
        "    def load(self, devices): ...\n    def judge(self, requests): ...\n"
    )
    raw = yaml.safe_load(OLD)
    params = {"script_path": "a.py", "compare_with_original": "yes"}
    raw["reward_model"] = {"class_path": "mine:Judge", "params": params}
    assert load(raw).judges["Judge"].parameters == params


def test_a_key_is_taken_out_with_null(here: Path) -> None:
    nulls = ("logging=null", "evaluation.metrics=null", "reward_model.params.zzz=null", "zzz=null", "execution.z=null")
    raw = yaml.safe_load(OLD) | {"logging": {"level": "INFO"}, "evaluation": {"metrics": ["p90"]}}
    assert load(raw, *nulls).as_plain() == load(OLD).as_plain()


def test_names_of_the_tables_are_registered_here(here: Path) -> None:
    assert set(TYPES.values()) == set(CLASSES.values()) == {"qwen_image_edit", "qwen3_vl", "copy_source", "testing"}
