"""The configurations in `configs/` and the page that documents every key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from edit_eval.config import components, parameters
from edit_eval.config.base_system import PASSED_OVER, REFUSED, TYPES
from edit_eval.config.loading import load_configuration
from edit_eval.config.placement import PLACEMENT_KEYS, PLACEMENT_KEYS_BEFORE, SAMPLE_KEYS
from edit_eval.config.recorded import EvaluationSection
from edit_eval.config.schema import ExecutionSection, PromptsSection
from edit_eval.config.sections import BENCHMARK_KEYS, MODEL_KEYS, PROTOCOL_KEYS, top_keys
from edit_eval.config.shipped import file_of, find_shipped_files, summary
from edit_eval.config.yaml_text import parse
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.diffusers.in_worker.diffusers import DiffusersModel
from edit_eval.plugins.diffusers.in_worker.presets import Release
from edit_eval.plugins.diffusers.in_worker.release_table import RELEASES
from edit_eval.plugins.init.writing import Pictures, configuration_text, parse_model
from edit_eval.plugins.local_judges.in_worker.judge_table import find_published_row
from edit_eval.plugins.preparation.prediction import durations_of
from edit_eval.workers.model_class import make_parameters
from own_components import built_in

REPOSITORY = Path(__file__).resolve().parents[2]
SHIPPED = [*find_shipped_files().values()]
PAGE = (REPOSITORY / "docs" / "configuration.md").read_text(encoding="utf-8")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "benchmark.json").write_text("[]")
    (tmp_path / "my.csv").write_text("image,prompt\n")
    return tmp_path


def test_all_are_there() -> None:
    general = "demo full_multi_gpu multi_gpu multi_gpu_edit_single_gpu_judge one_small_gpu served_edit_model single_gpu"
    general += " own_pictures vllm_judge vllm_omni_edit_model"
    assert set(general.split()) < {path.stem for path in SHIPPED}


@pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.name)
def test_init_writes_one_for_every_edit_model_that_is_known(here: Path, release: Release) -> None:
    pictures = Pictures({"type": "scenes"}, "drawn")
    edits = parse_model("edit_model", release.name, pictures)
    judge = parse_model("judge", "testing", pictures)
    text = configuration_text("a.yaml", pictures, [edits], [judge], "auto")
    (section,) = load_configuration(parse(text, "a.yaml")).edit_models.values()
    parameters = make_parameters(DiffusersModel, section.parameters)
    assert DiffusersModel.effective(parameters)["num_inference_steps"]
    assert DiffusersModel.card(parameters)["pipeline"] == release.pipeline


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_it_is_right_and_names_no_environment(path: Path, here: Path) -> None:
    configuration = load_configuration(path)
    assert configuration.name == path.stem
    assert configuration.notes == ()
    models = [*configuration.edit_models.values(), *configuration.judges.values()]
    assert not any(model.placement.foreign for model in models)
    assert len(models) == 2 + (path.stem == "demo"), "the demo compares two"
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("# "), "it says at its top whom it is for"
    assert len(lines) < 60


def test_they_are_known_by_name(here: Path) -> None:
    assert sorted(find_shipped_files()) == [path.stem for path in SHIPPED]
    assert Path(file_of("multi_gpu")).samefile(REPOSITORY / "configs" / "multi_gpu.yaml")
    assert load_configuration("multi_gpu").name == "multi_gpu"
    for name, line in (
        ("multi_gup", "multi_gup: no such file; did you mean `multi_gpu`?"),
        ("zzz", "zzz: no such file; `edit-eval list` shows the configurations that are known by name"),
        (
            "multi_gpu.yaml",
            "multi_gpu.yaml: no such file; `edit-eval init` writes one, `edit-eval list` shows those to start from",
        ),
    ):
        with pytest.raises(ConfigurationError) as caught:
            load_configuration(name)
        assert str(caught.value) == line
    (here / "demo").write_text("benchmark: {}")
    with pytest.raises(ConfigurationError, match=r"^demo: benchmark\.data_path: missing"):
        load_configuration("demo")
    assert all(summary(path).endswith(".") and len(summary(path)) < 120 for path in find_shipped_files().values())


def test_the_full_setting_is_the_papers(here: Path) -> None:
    configuration = load_configuration(REPOSITORY / "configs" / "full_multi_gpu.yaml")
    editor, judge = configuration.edit_models["qwen_image_edit"], configuration.judges["qwen3_vl"]
    six = tuple(f"cuda:{i}" for i in range(6))
    assert editor.placement.device_ids == judge.placement.device_ids == six
    assert (editor.parameters["num_inference_steps"], editor.parameters["true_cfg_scale"]) == (50, 4.0)
    assert judge.placement.batch_size == 2
    assert judge.parameters["model_name"] == "Qwen/Qwen3-VL-30B-A3B-Instruct"


def test_the_others_name_a_judge_that_people_agree_with(here: Path) -> None:
    """Of all that the table knows, and without a thought, the best that an 80 GB GPU holds; a card of 24 GB the 18 GB
    one. `plan` knows how long each takes before anything has been run."""
    named = {}
    for path in SHIPPED:
        if path.stem not in ("demo", "own_pictures", "full_multi_gpu"):
            (judge,) = load_configuration(path).judges.values()
            name = judge.parameters.get("model_name") or judge.parameters["model"]
            named[path.stem] = name, judge.parameters.get("thinking")
            assert find_published_row(name) is not None
    assert durations_of(load_configuration("multi_gpu"), None)["judge:transformers"].published
    assert named.pop("one_small_gpu") == ("Qwen/Qwen3.5-9B", "off")
    assert named.pop("judge_qwen3_6_thinking") == ("Qwen/Qwen3.6-27B", "on")
    assert set(named.values()) == {("Qwen/Qwen3.5-27B", "off")}


def test_what_is_commented_out_is_right_too(here: Path) -> None:
    text = (REPOSITORY / "configs" / "one_small_gpu.yaml").read_text(encoding="utf-8")
    text = text.replace("    offload: group", "    #").replace("    # offload: none", "    offload: none")
    (here / "small.yaml").write_text(re.sub(r"^    # (load:|  t)", r"    \1", text, flags=re.M))
    parameters = load_configuration("small.yaml").edit_models["qwen_image_edit"].parameters
    assert sorted(parameters["load"]) == ["text_encoder", "transformer"]
    assert all(part["quantization_config"]["load_in_4bit"] is True for part in parameters["load"].values())


# -- docs/configuration.md --


def _rows(heading: str) -> dict[str, str]:
    """Key -> default of every table in one section of the page, which `.ci/pages.py` makes."""
    section = re.split(r"^##+ ", PAGE.split(f"{heading}\n", 1)[1], maxsplit=1, flags=re.M)[0]
    rows = re.findall(r"^\| `([a-z_]+)` \| (?:`([^|]*)`|([^|]*?)) ?\|", section, flags=re.M)
    return {key: code or text for key, code, text in rows}


def test_every_key_is_documented() -> None:
    for heading, keys in (
        ("## `benchmark`", BENCHMARK_KEYS),
        ("## `diffusion_model` and `reward_model`", MODEL_KEYS),
        ("## `prompts`", PromptsSection.model_fields),
        ("## `protocol`", PROTOCOL_KEYS),
        ("## `evaluation`", EvaluationSection.model_fields),
        ("## `execution`", ExecutionSection.model_fields),
    ):
        assert set(keys) <= set(_rows(heading)), heading
    for name in built_in()["protocol"]:
        assert f"| `{name}` |" in PAGE, name
    rubric = parameters.names_of(components.import_class("protocol", built_in()["protocol"]["rubric"]))
    assert list(_rows("### The keys of `rubric`")) == list(rubric)
    for key in (*top_keys(), *PLACEMENT_KEYS, *SAMPLE_KEYS["edit_model"], *TYPES):
        assert f"`{key}" in PAGE or f": {key}`" in PAGE, key
    assert set(_rows("### `params`: where and how a model runs")) == {*PLACEMENT_KEYS, *SAMPLE_KEYS["edit_model"]} - {
        *PLACEMENT_KEYS_BEFORE
    }


@pytest.mark.parametrize("place", sorted({*PASSED_OVER, *REFUSED}))
def test_every_key_of_the_base_system_is_documented(place: str) -> None:
    passed_over, refused = PAGE.split("These keys have no effect here")[1].split("These would change what comes out")
    for text, rows in ((passed_over, PASSED_OVER), (refused, REFUSED)):
        assert (place not in rows) or re.search(rf"[`.]{place.rpartition('.')[2]}`", text)


def test_the_examples_on_the_page_are_right(here: Path) -> None:
    examples = re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.S)
    (here / "my_editor.py").write_text(re.findall(r"```python\n(.*?)```", PAGE, flags=re.S)[0])
    rest = {
        "benchmark": "benchmark: {data_path: benchmark.json}",
        "diffusion_model": "diffusion_model: {type: testing}",
        "reward_model": "reward_model: {type: testing}",
    }
    several = {"diffusion_model": "edit_models:", "reward_model": "judges:"}
    assert len(examples) == 9
    choices = [example for example in examples if example.count("\nprotocol:")]  # a line each
    for example in [*(example for example in examples if example not in choices), *"".join(choices).splitlines()]:
        missing = [
            text for key, text in rest.items() if f"{key}:" not in example and several.get(key, "...") not in example
        ]
        (here / "example.yaml").write_text("\n".join([example, *missing]), encoding="utf-8")
        assert load_configuration("example.yaml").notes == ()
