from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from edit_eval.config.known_weights import find_release
from edit_eval.plugins.preparation.weights import (
    Weights,
    compute_peak_bytes,
    compute_quantised_size,
    find_weights,
    measure_loaded_size,
    offline,
)
from edit_eval.pretrained.folders import find_cached_folder, hub_cache, is_hub_name

BITS = {"F32": 32, "BF16": 16, "F16": 16, "F64": 64, "I8": 8, "U8": 8, "F8_E4M3": 8, "I64": 64}


def safetensors(path: Path, **tensors: tuple[str, list[int]]) -> Path:
    """A whole safetensors file with tensors of these types and shapes, all zeros; `a__b` is a tensor `a.b`."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, (kind, shape) in tensors.items():
        begin, end = end, end + math.prod(shape) * BITS[kind] // 8
        header[name.replace("__", ".")] = {"dtype": kind, "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(end))
    return path


def model(folder: Path, *names: str, shape: tuple[int, ...] = (10, 20)) -> Path:
    """A transformers model: one file, or shards with their index."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text("{}")
    for number, name in enumerate(names or ("model.safetensors",)):
        safetensors(folder / name, **{f"w{number}": ("BF16", list(shape))})
    if names:
        index = {"weight_map": {f"w{number}": name for number, name in enumerate(names)}}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder


def pipeline(folder: Path) -> Path:
    """A diffusers pipeline with two networks, a tokenizer and a scheduler."""
    index = {
        "_class_name": "QwenImageEditPipeline",
        "transformer": ["diffusers", "T"],
        "vae": ["diffusers", "V"],
        "tokenizer": ["transformers", "Q"],
        "scheduler": ["diffusers", "S"],
        "safety_checker": [None, None],
        "sample_sigmas": [1.0, 0.5],
    }
    folder.mkdir(parents=True)
    (folder / "model_index.json").write_text(json.dumps(index))
    for part, shape in (("transformer", [100, 4]), ("vae", [5])):
        safetensors(folder / part / "diffusion_pytorch_model.safetensors", w=("F32", shape))
        (folder / part / "config.json").write_text("{}")
    for part in ("tokenizer", "scheduler"):
        (folder / part).mkdir()
        (folder / part / f"{part}_config.json").write_text("{}")
    return folder


class TestOneFile:
    @pytest.mark.parametrize(("dtype", "expected"), [("bfloat16", 2), ("float16", 2), ("float32", 4)])
    @pytest.mark.parametrize("kind", ["F32", "BF16", "F64"])
    def test_floating_point_counts_as_it_is_loaded(self, tmp_path: Path, kind: str, dtype: str, expected: int) -> None:
        path = safetensors(tmp_path / "a.safetensors", w=(kind, [7, 3]), bias=(kind, []))
        assert measure_loaded_size(path, dtype) == (21 + 1) * expected

    def test_what_is_quantised_counts_as_it_is_stored(self, tmp_path: Path) -> None:
        path = safetensors(tmp_path / "a.safetensors", w=("U8", [100]), v=("F8_E4M3", [50]), scale=("F32", [10]))
        assert measure_loaded_size(path, "bfloat16") == 100 + 50 + 20

    def test_a_file_that_was_cut_off_says_how_much_is_there(self, tmp_path: Path) -> None:
        path = safetensors(tmp_path / "a.safetensors", w=("F32", [1000]))
        whole = path.read_bytes()
        path.write_bytes(whole[:-1])
        with pytest.raises(ValueError, match=f"cut off: it has {len(whole) - 1} of {len(whole)} bytes"):
            measure_loaded_size(path, "bfloat16")
        path.write_bytes(whole[:40])
        with pytest.raises(ValueError, match=r"a\.safetensors is cut off"):
            measure_loaded_size(path, "bfloat16")

    @pytest.mark.parametrize(
        "content", [b"", b"12345678", b"\x05\0\0\0\0\0\0\0[1,2]", b"\x02\0\0\0\0\0\0\0no", b"\xff" * 99]
    )
    def test_something_else_is_refused(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "a.safetensors").write_bytes(content)
        with pytest.raises(ValueError, match="is not a safetensors file"):
            measure_loaded_size(tmp_path / "a.safetensors", "bfloat16")

    def test_a_pointer_of_git_lfs_is_recognised(self, tmp_path: Path) -> None:
        (tmp_path / "a.safetensors").write_text("version https://git-lfs.example/spec/v1\noid sha256:1\nsize 40\n")
        with pytest.raises(ValueError, match="git lfs pull"):
            measure_loaded_size(tmp_path / "a.safetensors", "bfloat16")


class TestFolders:
    def test_a_pipeline_is_counted_by_part(self, tmp_path: Path) -> None:
        weights = find_weights(str(pipeline(tmp_path / "edit")), None, "bfloat16", {})
        assert weights.parts == {"transformer": 800, "vae": 10}
        assert weights.bytes_in_memory == 810
        assert weights.faults == ()
        assert weights.stored > 405 * 4  # on the disk it is float32

    def test_a_modular_pipeline_whose_text_encoder_lies_elsewhere(self, tmp_path: Path) -> None:
        folder = pipeline(tmp_path / "edit")
        index = json.loads((folder / "model_index.json").read_text())
        parts = {name: [None, None, {"type_hint": index[name]}] for name in ("transformer", "vae", "scheduler")}
        parts["text_encoder"] = [None, None, {"type_hint": ["transformers", "T"]}]
        (folder / "modular_model_index.json").write_text(json.dumps({"_class_name": "M", **parts}))
        (folder / "model_index.json").unlink()
        weights = find_weights(str(folder), None, "bfloat16", {})
        assert (weights.parts, weights.faults) == ({"transformer": 800, "vae": 10}, ())

    def test_a_model_is_counted_over_its_shards_and_nothing_beside_them(self, tmp_path: Path) -> None:
        folder = model(tmp_path / "judge", "model-1-of-2.safetensors", "model-2-of-2.safetensors")
        safetensors(folder / "consolidated.safetensors", w=("BF16", [9999]))
        (folder / "model.fp16.safetensors.index.json").write_text('{"weight_map": {"w": "model.fp16.safetensors"}}')
        weights = find_weights(str(folder), None, "bfloat16", {})
        assert weights.parts == {"model": 2 * 200 * 2}
        assert weights.faults == ()

    def test_every_missing_or_damaged_file_is_named(self, tmp_path: Path) -> None:
        folder = model(tmp_path / "judge", "a.safetensors", "b.safetensors", "c.safetensors")
        (folder / "a.safetensors").unlink()
        (folder / "c.safetensors").write_bytes((folder / "c.safetensors").read_bytes()[:-1])
        missing, cut = find_weights(str(folder), None, "bfloat16", {}).faults
        assert missing == f"{folder}/a.safetensors is missing"
        assert cut.startswith(f"{folder}/c.safetensors is cut off")

    def test_a_part_that_is_not_there_is_named(self, tmp_path: Path) -> None:
        folder = pipeline(tmp_path / "edit")
        (folder / "vae" / "diffusion_pytorch_model.safetensors").unlink()
        (folder / "tokenizer" / "tokenizer_config.json").unlink()
        (folder / "tokenizer").rmdir()
        faults = find_weights(str(folder), None, "bfloat16", {}).faults
        assert set(faults) == {f"{folder}/vae has no safetensors", f"{folder}/tokenizer is missing"}

    def test_pickles_are_no_weights(self, tmp_path: Path) -> None:
        folder = model(tmp_path / "judge")
        (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
        (fault,) = find_weights(str(folder), None, "bfloat16", {}).faults
        assert "pickles" in fault

    def test_a_folder_with_something_else_in_it_is_no_model(self, tmp_path: Path) -> None:
        (fault,) = find_weights(str(tmp_path), None, "bfloat16", {}).faults
        assert "neither model_index.json nor config.json" in fault

    def test_a_broken_index_is_named(self, tmp_path: Path) -> None:
        folder = model(tmp_path / "judge", "a.safetensors")
        (folder / "model.safetensors.index.json").write_text("{")
        assert find_weights(str(folder), None, "bfloat16", {}).faults == (
            f"{folder}/model.safetensors.index.json cannot be read",
        )


class TestHub:
    def cached(self, tmp_path: Path, branch: str = "main") -> dict[str, str]:
        repository = tmp_path / "hub" / "models--Qwen--Qwen3-VL-30B-A3B-Instruct"
        (repository / "refs").mkdir(parents=True, exist_ok=True)
        (repository / "refs" / branch).write_text(f"c0ffee-{branch}")
        model(repository / "snapshots" / f"c0ffee-{branch}")
        return {"HF_HOME": str(tmp_path)}

    def test_what_is_in_the_cache_is_counted_there(self, tmp_path: Path) -> None:
        weights = find_weights("Qwen/Qwen3-VL-30B-A3B-Instruct", None, "bfloat16", self.cached(tmp_path))
        assert weights.folder is not None
        assert weights.folder.name == "c0ffee-main"
        assert weights.parts == {"model": 400}

    def test_a_branch_or_a_commit(self, tmp_path: Path) -> None:
        environment = self.cached(tmp_path, "next")
        name = "Qwen/Qwen3-VL-30B-A3B-Instruct"
        assert find_cached_folder(name, None, environment) is None
        for revision in ("next", "c0ffee-next"):
            folder = find_cached_folder(name, revision, environment)
            assert folder is not None
            assert folder.name == "c0ffee-next"

    def test_what_is_not_there_is_known_by_its_published_configuration(self, tmp_path: Path) -> None:
        weights = find_weights("Qwen/Qwen-Image-Edit", None, "bfloat16", {"HF_HOME": str(tmp_path)})
        assert weights.folder is None
        assert weights.bytes_in_memory == pytest.approx(57.7e9, rel=0.001)
        assert weights.stored == weights.bytes_in_memory
        wide = find_weights("Qwen/Qwen-Image-Edit", None, "float32", {"HF_HOME": str(tmp_path)})
        assert (wide.bytes_in_memory, wide.stored) == (2 * weights.bytes_in_memory, weights.stored)
        judge = find_weights("Qwen/Qwen3-VL-30B-A3B-Instruct", None, "bfloat16", {"HF_HOME": str(tmp_path)})
        assert judge.bytes_in_memory == pytest.approx(62.1e9, rel=0.001)
        assert sum(find_release("Qwen/Qwen3-VL-8B-Instruct").parts.values()) * 2 == pytest.approx(17.5, abs=0.1)

    def test_an_unknown_model_has_no_number(self, tmp_path: Path) -> None:
        weights = find_weights("somebody/model", None, "bfloat16", {"HF_HOME": str(tmp_path)})
        assert (weights.folder, weights.parts, weights.bytes_in_memory, weights.stored) == (None, {}, 0, 0)

    @pytest.mark.parametrize(
        ("environment", "expected"),
        [
            ({"HF_HUB_CACHE": "/a", "HF_HOME": "/b"}, "/a"),
            ({"HUGGINGFACE_HUB_CACHE": "/a"}, "/a"),
            ({"HF_HOME": "/b", "XDG_CACHE_HOME": "/c"}, "/b/hub"),
            ({"XDG_CACHE_HOME": "/c"}, "/c/huggingface/hub"),
            ({}, str(Path.home() / ".cache/huggingface/hub")),
        ],
    )
    def test_where_the_cache_is(self, environment: dict[str, str], expected: str) -> None:
        assert str(hub_cache(environment)) == expected

    def test_names(self) -> None:
        assert is_hub_name("Qwen/Qwen-Image-Edit")
        assert is_hub_name("gpt2")
        assert not any(is_hub_name(name) for name in ("/models/qwen", "./qwen", "a/b/c", "../x", "a/..", ""))

    def test_offline(self) -> None:
        assert offline({"HF_HUB_OFFLINE": "1"}) == "HF_HUB_OFFLINE"
        assert offline({"TRANSFORMERS_OFFLINE": "true"}) == "TRANSFORMERS_OFFLINE"
        assert offline({"HF_HUB_OFFLINE": "0"}) == ""


@pytest.mark.parametrize(
    ("load", "expected"),
    [
        ({}, 2000),
        ({"quantization_config": {"load_in_4bit": True}}, 200 + 900 * 0.5625),
        ({"quantization_config": {"load_in_4bit": True, "bnb_4bit_use_double_quant": True}}, 200 + 900 * 0.5158),
        ({"quantization_config": {"load_in_8bit": True}}, 200 + 900),
        ({"transformer": {"quantization_config": {"load_in_4bit": True}}}, 200 + 900 * 0.5625),
        ({"text_encoder": {"quantization_config": {"load_in_4bit": True}}}, 2000),
        ({"quantization_config": {"quant_method": "other"}}, None),
    ],
)
def test_quantised_weights(load: dict[str, Any], expected: float | None) -> None:
    """Of a thousand numbers, nine hundred in linear layers."""
    weights = Weights("", None, {"transformer": 2000}, matrices={"transformer": 900})
    quantised = compute_quantised_size(load, "transformer", weights, "bfloat16")
    assert quantised == (None if expected is None else pytest.approx(expected, abs=0.1))


def test_layers_one_after_the_other() -> None:
    """Two of a block at most, and what holds weights around them; a head without the embedding of its size."""
    modules = {"embed": 90, "lm_head": 90, "norm": 1, "blocks.0.a": 40, "blocks.0.mlp.0": 30, "blocks.0.mlp.2": 25}
    assert compute_peak_bytes(modules) == 90 + 1
    assert compute_peak_bytes({**modules, "blocks.1.a": 80, "blocks.1.norm": 1}) == 90 + 1
    assert compute_peak_bytes({**modules, "blocks.1.a": 80, "blocks.1.b": 30}) == 80 + 30
    assert compute_peak_bytes({**modules, "": 3, "blocks": 50}) == 3 + 50 + 40 + 30, (
        "what lies around stays while they compute"
    )
    assert compute_peak_bytes({}) == 0
