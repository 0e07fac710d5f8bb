"""Every shipped configuration is rehearsed on the CPU: real classes, loaded from configurations without weights."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from edit_eval.config.known_weights import find_release
from edit_eval.config.loading import load_configuration
from edit_eval.config.shipped import find_shipped_files
from edit_eval.plugins.preparation.weights import LAYERS, MATRICES, find_weights
from edit_eval.plugins.rehearse.rehearsal import rehearse
from edit_eval.plugins.rehearse.results import NEAR, Rehearsal
from edit_eval.plugins.rehearse.stand_ins import CONFIGURATIONS
from small_benchmark import write_benchmark

ROOT = Path(__file__).parents[3]
EDITS = "diffusers.in_worker.diffusers:DiffusersModel"
JUDGES = "local_judges.in_worker.transformers:TransformersJudge"
SHIPPED = sorted(find_shipped_files())
SERVED = {"served_edit_model", "vllm_judge", "vllm_omni_edit_model"}
WITHOUT_WEIGHTS = {"demo", "own_pictures"}
TINY = {
    "Qwen/Qwen-Image-Edit": "qwen-image-edit",
    "Qwen/Qwen-Image-Edit-2511": "qwen-image-edit-plus",
    "black-forest-labs/FLUX.1-Kontext-dev": "FluxKontextPipeline",
    "Qwen/Qwen3-VL-30B-A3B-Instruct": "qwen3-vl-moe",
    "Qwen/Qwen3.5-9B": "qwen3.5",
    "Qwen/Qwen3.5-27B": "qwen3.5",
    "Qwen/Qwen3.6-27B": "qwen3.5",
}
"""Of the same architecture, narrow enough for a test."""

pytestmark = [pytest.mark.real_models, pytest.mark.models]


@pytest.fixture(scope="module")
def without_weights(tiny_models: Path, tiny_judges: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tiny models' folders as `hf download --include` would bring them: no weights."""
    import shutil

    from tiny_pipelines import build

    folder = tmp_path_factory.mktemp("configurations")
    build(folder / "pipelines", ["FluxKontextPipeline"])
    for source in (tiny_models, tiny_judges, folder / "pipelines"):
        for name in set(TINY.values()) & {path.name for path in source.iterdir()}:
            if not (folder / name).exists():
                shutil.copytree(source / name, folder / name, ignore=shutil.ignore_patterns("*.safetensors*"))
    return folder


def rehearsed(name: str, models: Path | None, folder: Path, **how: Any) -> Rehearsal:
    """Rehearses a shipped configuration with the `models` of `TINY`, or as it is."""
    write_benchmark(folder, 3)
    overrides = [f"benchmark.data_path={folder / 'benchmark.json'}", f"benchmark.cache_dir={folder / 'cache'}"]
    plain = find_shipped_files()[name].read_text("utf-8")
    for section in ("diffusion_model", "reward_model"):
        known = next((real for real in TINY if f"model_name: {real}" in _section(plain, section)), None)
        if models is not None and known is not None:
            overrides.append(f"{section}.params.model_name={models / TINY[known]}")
    if "categories" in plain:
        overrides.append("benchmark.categories=[physical, social]")
    return rehearse(find_shipped_files()[name], overrides=overrides, devices="cpu:1", minutes=60, **how)


def _section(plain: str, section: str) -> str:
    _, _, rest = plain.partition(f"{section}:")
    return rest.split("\n\n")[0]


@pytest.mark.parametrize("name", [name for name in SHIPPED if name not in SERVED | WITHOUT_WEIGHTS])
def test_a_shipped_configuration_is_rehearsed_without_any_weights(
    name: str, without_weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    rehearsal = rehearsed(name, without_weights, tmp_path, layers=2, samples=2)
    assert rehearsal.reasons == [], rehearsal
    assert {note.partition(": on the CPU")[0] for note in rehearsal.notes} >= {
        f"{'edit model' if kind == 'edit' else kind} {name}"
        for kind, _, name in (model.model.partition(":") for model in rehearsal.models)
    }
    assert any("takes this CPU at least" in note for note in rehearsal.notes)
    for model in rehearsal.models:
        assert model.loads == "stand-in"
        assert model.measured is not None
        assert model.predicted is not None
        assert model.measured == pytest.approx(model.predicted, rel=NEAR)
        assert model.unit is not None
    assert all(digest.equal for digest in rehearsal.digests if digest.model.startswith("edit:"))
    assert rehearsal.plan is not None


def test_one_is_rehearsed_at_its_full_width(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    rehearsal = rehearsed("single_gpu", None, tmp_path, layers=2)
    assert rehearsal.reasons == []
    assert len(rehearsal.samples) == 1
    for model in rehearsal.models:
        assert (model.loads, model.batch or 1) == ("stand-in", 1)
        assert model.measured == pytest.approx(model.predicted, rel=NEAR)
        assert model.measured is not None
        assert model.measured > 4e9


@pytest.mark.parametrize("name", sorted(WITHOUT_WEIGHTS))
def test_one_that_takes_no_weights_is_rehearsed_as_it_is(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.chdir(tmp_path)
    Image.new("RGB", (32, 32), "green").save("a.png")
    Path("my.csv").write_text("picture,instruction\na.png,make it red\n")
    rehearsal = rehearse(find_shipped_files()[name], devices="cpu:1", samples=1)
    assert rehearsal.reasons == []
    assert {model.loads for model in rehearsal.models} == {"as it is"}


@pytest.mark.parametrize("name", sorted(SERVED))
def test_one_whose_server_is_not_here_says_what_it_lacks(
    name: str, without_weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.chdir(tmp_path)
    rehearsal = rehearsed(name, without_weights, tmp_path, samples=1)
    assert rehearsal.reasons


PROGRAM = """import json, sys
from edit_eval.plugins.rehearse.in_worker.rehearsed import networks_of, weight_bytes
from edit_eval.plugins.rehearse.in_worker.stand_in import fill
from edit_eval.workers.model_class import find_class, make_parameters
class_path, folder, tests, values = sys.argv[1:]
sys.path[:0] = [tests, tests + "/edit_models"]
from plugins.rehearse.groups_on_a_card import counted
own = find_class(class_path, [])
model = own(make_parameters(own, {"model_name": folder, **json.loads(values)}))
with counted() as seen:
    model.load(["cpu"], *["group"] * (values != "{}"))
    measured = weight_bytes(networks_of(model))
    if values != "{}":
        from edit_requests import no_step
        from tiny_presets import asked
        for network in networks_of(model):
            fill(network)
        model.edit(asked(), no_step)
print(json.dumps({**measured, "at_once": max(seen, default=0)}))
"""
EDITED: dict[str, dict[str, Any]] = {
    "Qwen/Qwen-Image-Edit": {"num_inference_steps": 2, "canvas": 4096},
    "black-forest-labs/FLUX.1-Kontext-dev": {"num_inference_steps": 2, "canvas": 4096, "call": {"_auto_resize": False}},
}
"""By model, what keeps an edit small: one of each family, as its networks are the same."""


@pytest.mark.parametrize("layers", [None, 2])
@pytest.mark.parametrize("name", sorted(CONFIGURATIONS))
def test_the_figures_of_a_published_model_are_what_its_configuration_counts_to(
    name: str, layers: int | None, tmp_path: Path
) -> None:
    """Whole, the figures of `doctor`; cut to two layers at full width, what torch allocates for it, and what of it is
    on a card at once with `offload: group`."""
    order = {
        "source": "",
        "published": CONFIGURATIONS[name],
        "target": str(tmp_path / "made"),
        "dtype": "bfloat16",
        "layers": layers,
        "least": {},
        "texts": ["make the sky red"],
    }
    maker = [sys.executable, "-m", "edit_eval.plugins.rehearse.in_worker.stand_in"]
    done = subprocess.run(maker, input=json.dumps(order), capture_output=True, text=True, check=True)
    assert "error" not in json.loads(done.stdout), done.stdout
    weights = find_weights(str(tmp_path / "made"), None, "bfloat16", os.environ)
    assert weights.faults == ()
    if layers is None:
        known = find_release(name)
        assert weights.bytes_in_memory == pytest.approx(sum(known.parts.values()) * 2e9, rel=0.02)
        for part, billions in MATRICES.get(name, {}).items():  # what is quantised of it
            assert weights.matrices[part] == pytest.approx(billions * 1e9, rel=0.02)
        for part, billions in LAYERS.get(name, {}).items():
            assert weights.layers[part] == pytest.approx(billions * 2e9, rel=0.001)
        return
    edits = len(weights.parts) > 1
    kind = EDITS if edits else JUDGES
    values = EDITED.get(name, {})
    program = [sys.executable, "-c", PROGRAM, f"edit_eval.plugins.{kind}", str(tmp_path / "made")]
    program += [str(ROOT / "tests"), json.dumps(values)]
    measured = json.loads(subprocess.run(program, capture_output=True, text=True, check=True).stdout.splitlines()[-1])
    assert measured["cpu"] == pytest.approx(weights.bytes_in_memory, rel=NEAR)
    if values:
        assert measured["at_once"] == pytest.approx(max(weights.layers[part] for part in LAYERS[name]), rel=NEAR)
    gc.collect()


QUANTISED = """import json, os, sys
from edit_eval.plugins.preparation.weights import find_weights, compute_quantised_size
from edit_eval.plugins.rehearse.in_worker.rehearsed import networks_of, weight_bytes
from edit_eval.workers.model_class import find_class, make_parameters
from diffusers.quantizers.bitsandbytes import bnb_quantizer
bnb_quantizer.BnB4BitDiffusersQuantizer.validate_environment = lambda *_, **__: None  # it insists on a GPU
class_path, folder, load = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
own = find_class(class_path, [])
model = own(make_parameters(own, {"model_name": folder, "load": load}))
model.load(["cpu"])
weights = find_weights(folder, None, "bfloat16", os.environ)
networks = model._pipeline.components if "transformer" in weights.parts else {"model": networks_of(model)[0]}
print(json.dumps({
    part: [size, compute_quantised_size(load, part, weights, "bfloat16"), sum(weight_bytes([networks[part]]).values())]
    for part, size in weights.parts.items()
}))
"""
FOUR = {"quantization_config": {"load_in_4bit": True}}
DOUBLE = {"quantization_config": {"load_in_4bit": True, "bnb_4bit_use_double_quant": True}}
EIGHT = {"quantization_config": {"load_in_8bit": True}}


@pytest.mark.parametrize(
    ("name", "load", "share"),
    [
        (
            "black-forest-labs/FLUX.1-Kontext-dev",
            {"transformer": DOUBLE, "text_encoder_2": FOUR},
            {"transformer": 0.26, "text_encoder": 1.0, "text_encoder_2": 0.58, "vae": 1.0},
        ),
        ("Qwen/Qwen3-VL-8B-Instruct", EIGHT, {"model": 0.85}),
    ],
)
def test_quantised_weights_take_what_is_predicted(
    name: str, load: dict[str, Any], share: dict[str, float], tmp_path: Path
) -> None:
    """Two layers at full width, quantised by bitsandbytes as they are loaded; `share` is what is left of each part."""
    library = Path(sys.prefix) / "bitsandbytes"
    if not library.is_dir():
        pytest.skip("`make .venv/.bitsandbytes` installs it")
    order = {"source": "", "published": CONFIGURATIONS[name], "target": str(tmp_path / "made"), "dtype": "bfloat16"}
    maker = [sys.executable, "-m", "edit_eval.plugins.rehearse.in_worker.stand_in"]
    wanted = json.dumps({**order, "layers": 2, "least": {}, "texts": ["make the sky red"]})
    subprocess.run(maker, input=wanted, capture_output=True, text=True, check=True)
    kind = EDITS if len(share) > 1 else JUDGES
    program = [sys.executable, "-c", QUANTISED, f"edit_eval.plugins.{kind}", str(tmp_path / "made"), json.dumps(load)]
    beside = {**os.environ, "PYTHONPATH": str(library)}
    done = subprocess.run(program, capture_output=True, text=True, env=beside, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    sizes = json.loads(done.stdout.splitlines()[-1])
    assert sizes.keys() == share.keys()
    for part, (whole, predicted, measured) in sizes.items():
        assert measured == pytest.approx(predicted, rel=NEAR), part
        assert measured / whole == pytest.approx(share[part], abs=0.01), part


def test_the_figures_are_those_of_every_model_that_is_shipped() -> None:
    named = set()
    for name in SHIPPED:
        configuration = load_configuration(find_shipped_files()[name], data_may_be_missing=True)
        for section in configuration.models.values():
            model_name = section.parameters.get("model_name") or section.parameters.get("model")
            named |= {model_name} if isinstance(model_name, str) and "/" in model_name else set()
    assert named - set(CONFIGURATIONS) == set()
