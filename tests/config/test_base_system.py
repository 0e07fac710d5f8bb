"""Files in the form of the base system's: accepted, or refused with the name of what replaced a key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from edit_eval.config.base_system import REPLACED
from edit_eval.config.loading import load_configuration
from edit_eval.config.schema import Configuration
from edit_eval.errors import ConfigurationError

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
    assert list(configuration.prompts) == ["物理"]
    editors, judges = (yaml.safe_load(OLD)[key]["class_path"] for key in ("diffusion_model", "reward_model"))
    assert configuration.notes == (
        "reward_model: the judge sees source and edit; `images: [edited]` in `params` is the base system's way",
        f"diffusion_model.class_path `{editors}` is the base system's and is ignored; type qwen_image_edit is used",
        f"reward_model.class_path `{judges}` is the base system's and is ignored; type qwen3_vl is used",
    )


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
    assert "reward_model.params.device: auto means one replica on each device (device_ids: auto)" in configuration.notes
    assert not any("source and edit" in note for note in configuration.notes)


@pytest.mark.parametrize(("asked", "schedule"), [(True, "batch_sync"), (False, "round_robin"), (None, "pull")])
def test_batch_sync(here: Path, asked: bool | None, schedule: str) -> None:
    raw = yaml.safe_load(OLD)
    raw["diffusion_model"]["params"]["enable_batch_sync"] = asked
    assert load(raw).execution.schedule == schedule


def test_a_schedule_that_is_given_wins(here: Path) -> None:
    configuration = load(OLD, "execution.schedule=pull")
    assert configuration.execution.schedule == "pull"
    note = "execution.schedule: pull is used; enable_batch_sync in diffusion_model.params asks for batch_sync"
    assert note in configuration.notes
    assert "execution.schedule" not in " ".join(load(OLD, "execution.schedule=batch_sync").notes)


def test_models_that_ask_for_both(here: Path) -> None:
    one = {"type": "testing", "params": {"enable_batch_sync": True}}
    other = {"type": "testing", "params": {"enable_batch_sync": False}}
    raw = yaml.safe_load(OLD) | {"edit_models": {"a": one, "b": other}}
    del raw["diffusion_model"]
    with pytest.raises(ConfigurationError, match=r"edit_models\.b\.params\.enable_batch_sync: the models ask for both"):
        load(raw)


def test_a_registered_benchmark_wins_over_its_class(here: Path) -> None:
    old = "src.benchmarks.image_pairs.ImagePairs"
    raw = yaml.safe_load(OLD)
    raw["benchmark"] |= {"type": "five_dimensions", "class_path": old}
    configuration = load(raw)
    assert configuration.benchmark.class_path == "edit_eval.benchmarks.five_dimensions:FiveDimensions"
    said = f"benchmark.class_path `{old}` is the base system's and is ignored; type five_dimensions is used"
    assert said in configuration.notes
    raw["benchmark"]["class_path"] = "mine.image_pairs.ImagePairs"
    with pytest.raises(ConfigurationError, match="names a class already; leave one of them out"):
        load(raw)


def test_a_folder_of_the_users_own_may_be_called_src(here: Path) -> None:
    (here / "src").mkdir()
    (here / "src" / "mine.py").write_text("class Pairs:\n    def samples(self):\n        return []\n")
    raw = yaml.safe_load(OLD)
    raw["benchmark"] = {"class_path": "src.mine.Pairs"}
    assert load(raw).benchmark.class_path == "src.mine:Pairs"


def test_its_own_classes_do_not_run_here(here: Path) -> None:
    raw = yaml.safe_load(OLD)
    raw["diffusion_model"] = {"type": "mine", "class_path": "src.models.diffusion.implementations.mine.Mine"}
    with pytest.raises(ConfigurationError, match=r"diffusion_model\.class_path: `src\.models.*` is the base system's"):
        load(raw)


@pytest.mark.parametrize("place", sorted(REPLACED))
def test_a_key_without_meaning_names_what_replaced_it(here: Path, place: str) -> None:
    keys = place.replace("*", "reward_model").split(".")
    raw = yaml.safe_load(OLD)
    target = raw
    for key in keys[:-1]:
        target = target.setdefault(key, {})
    target[keys[-1]] = "x"
    with pytest.raises(ConfigurationError) as caught:
        load(raw)
    assert str(caught.value) == f"old.yaml: {'.'.join(keys)}: means nothing here: {REPLACED[place]}"


def test_all_of_them_are_counted_at_once(here: Path) -> None:
    raw = yaml.safe_load(OLD) | {
        "evaluation": {"output_dir": "outputs", "save_generated_images": False, "metrics": ["mean"]},
        "logging": {"level": "INFO", "log_file": "outputs/x.log"},
        "runtime": {"num_workers": 1},
    }
    with pytest.raises(ConfigurationError) as caught:
        load(raw)
    assert str(caught.value).startswith("old.yaml: logging: means nothing here: each worker's log lies in the run")
    assert str(caught.value).endswith(
        "(and 4 more: runtime, evaluation.metrics, evaluation.output_dir, evaluation.save_generated_images)"
    )
    assert len(caught.value.__notes__) == 4
