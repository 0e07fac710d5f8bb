"""The tiny models are the real classes, the same at every build; their adapters import nothing heavy by themselves."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tiny_models as module
from edit_eval.pretrained.folders import folder_digest
from tiny_models import build

NAMES = ["qwen-image-edit", "qwen-image-edit-plus", "qwen3-vl", "qwen3-vl-moe", "qwen2.5-vl"]


@pytest.mark.real_models
class TestBuild:
    def test_all_five_are_the_real_classes(self, tiny_models: Path) -> None:
        assert sorted(path.name for path in tiny_models.iterdir()) == sorted(NAMES)
        pipelines = [json.loads((tiny_models / name / "model_index.json").read_text()) for name in NAMES[:2]]
        assert [index["_class_name"] for index in pipelines] == ["QwenImageEditPipeline", "QwenImageEditPlusPipeline"]
        for index in pipelines:
            assert index["text_encoder"] == ["transformers", "Qwen2_5_VLForConditionalGeneration"]
            assert index["transformer"] == ["diffusers", "QwenImageTransformer2DModel"]
            assert index["processor"] == ["transformers", "Qwen2VLProcessor"]
        judges = [json.loads((tiny_models / name / "config.json").read_text()) for name in NAMES[2:]]
        assert [config["architectures"][0] for config in judges] == [
            "Qwen3VLForConditionalGeneration",
            "Qwen3VLMoeForConditionalGeneration",
            "Qwen2_5_VLForConditionalGeneration",
        ]

    def test_they_are_small(self, tiny_models: Path) -> None:
        for name in NAMES:
            assert sum(file.stat().st_size for file in (tiny_models / name).rglob("*") if file.is_file()) < 4e6

    @pytest.mark.check
    def test_a_second_build_gives_equal_files_whatever_happened_before(self, tiny_models: Path, tmp_path: Path) -> None:
        import torch

        torch.manual_seed(12345)
        state = torch.random.get_rng_state()
        threads = torch.get_num_threads()
        built = build(tmp_path, NAMES)
        assert torch.equal(torch.random.get_rng_state(), state)
        assert torch.get_num_threads() == threads
        assert list(built) == NAMES
        for name, folder in built.items():
            assert folder == tmp_path / name
            first, second = (
                {file.relative_to(root): file.read_bytes() for file in sorted(root.rglob("*")) if file.is_file()}
                for root in (tiny_models / name, folder)
            )
            assert first == second

    def test_a_build_by_name_replaces_what_was_there(self, tmp_path: Path) -> None:
        old = tmp_path / "qwen3-vl" / "old.txt"
        old.parent.mkdir()
        old.touch()
        assert build(tmp_path, ["qwen3-vl"]) == {"qwen3-vl": tmp_path / "qwen3-vl"}
        assert not old.exists()
        assert [path.name for path in tmp_path.iterdir()] == ["qwen3-vl"]

    def test_the_system_prompt_has_the_tokens_that_the_pipelines_cut_off(self, tiny_models: Path) -> None:
        from diffusers import QwenImageEditPipeline, QwenImageEditPlusPipeline

        from tiny_tokenizer import tiny_tokenizer

        tokenizer = tiny_tokenizer()
        for pipeline_class in (QwenImageEditPipeline, QwenImageEditPlusPipeline):
            pipeline: Any = pipeline_class(None, None, None, None, None, None)
            system = pipeline.prompt_template_encode.split("<|im_start|>user")[0]
            assert len(tokenizer.encode(system)) >= pipeline.prompt_template_encode_start_idx

    def test_the_stock_road_loads_the_judges(self, tiny_models: Path) -> None:
        from transformers import AutoModelForImageTextToText, AutoTokenizer

        for name in NAMES[2:]:
            model, report = AutoModelForImageTextToText.from_pretrained(tiny_models / name, output_loading_info=True)
            assert not report["missing_keys"]
            assert not report["unexpected_keys"]
            tokenizer = AutoTokenizer.from_pretrained(tiny_models / name)
            assert model.config.image_token_id == tokenizer.convert_tokens_to_ids("<|image_pad|>")
            assert all(len(tokenizer.encode(digit)) == 1 for digit in "0123456789")


def test_unknown_name(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no tiny model 'qwen4-vl'; there are qwen-image-edit, "):
        build(tmp_path, ["qwen4-vl"])


def test_command_line_names_what_there_is(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        module.main([str(tmp_path), "qwen4-vl"])
    assert "there is no tiny model 'qwen4-vl'" in capsys.readouterr().err


@pytest.mark.real_models
def test_command_line(tiny_models: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    module.main([str(tmp_path), "qwen2.5-vl"])
    assert f"qwen2.5-vl: {tmp_path / 'qwen2.5-vl'} (1.0 MB)" in capsys.readouterr().out
    assert folder_digest(tmp_path / "qwen2.5-vl") == folder_digest(tiny_models / "qwen2.5-vl")


def test_adapters_import_nothing_heavy() -> None:
    code = (
        "import sys, edit_eval.plugins.local_judges.in_worker.transformers\n"
        "import edit_eval.plugins.diffusers.in_worker.diffusers\n"
        "heavy = {'torch', 'numpy', 'diffusers', 'transformers', 'huggingface_hub', 'pydantic'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
