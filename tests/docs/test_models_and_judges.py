"""What `docs/models-and-judges.md` shows is run: its classes as they stand, its YAML against the real parameters."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from PIL import Image
from pydantic import TypeAdapter, ValidationError

from edit_eval.config.components import built_in
from edit_eval.config.placement import PLACEMENT_KEYS
from edit_eval.edit_models.contract import EditRequest
from edit_eval.edit_models.diffusers import DiffusersModel
from edit_eval.edit_models.image_endpoint import ImageEndpoint
from edit_eval.edit_models.image_folder import ImageFolder
from edit_eval.edit_models.qwen_image_edit import QwenImageEdit
from edit_eval.judges.answers import read_answer
from edit_eval.judges.chat_endpoint import ChatEndpoint
from edit_eval.judges.contract import JudgeRequest
from edit_eval.judges.embedding_metrics import EmbeddingMetrics
from edit_eval.judges.judge_table import FAMILIES, KERNELS, PUBLISHED
from edit_eval.judges.picture_metrics import PictureMetrics
from edit_eval.judges.qwen3_vl import Qwen3VL
from edit_eval.judges.recorded import Recorded
from edit_eval.judges.transformers import TransformersJudge

TEXT = (Path(__file__).parents[2] / "docs" / "models-and-judges.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.M | re.S)


def code(file: str) -> SimpleNamespace:
    (source,) = (block for block in blocks("python") if block.startswith(f"# {file},"))
    assert len(source.splitlines()) <= 45
    names: dict[str, Any] = {}
    exec(compile(source, file, "exec"), names)
    return SimpleNamespace(**names)


def sections(block: str) -> list[tuple[str, dict[str, Any]]]:
    """(type or class path, the parameters that belong to the class) of each model in a YAML block."""
    found = []
    written = yaml.safe_load(block)
    for section in written.get("judges", written).values():
        params = {k: v for k, v in section["params"].items() if k not in {*PLACEMENT_KEYS, "seed"}}
        found.append((section.get("type") or section["class_path"], params))
    return found


def test_every_yaml_block_fits_its_class() -> None:
    classes = {
        "qwen_image_edit": QwenImageEdit.Parameters,
        "diffusers": DiffusersModel.Parameters,
        "image_endpoint": ImageEndpoint.Parameters,
        "image_folder": ImageFolder.Parameters,
        "qwen3_vl": Qwen3VL.Parameters,
        "transformers": TransformersJudge.Parameters,
        "chat_endpoint": ChatEndpoint.Parameters,
        "picture_metrics": PictureMetrics.Parameters,
        "embedding_metrics": EmbeddingMetrics.Parameters,
        "recorded": Recorded.Parameters,
        "my_editor:InstructPix2Pix": code("my_editor.py").InstructPix2Pix.Parameters,
        "my_judge:Restraint": code("my_judge.py").Restraint.Parameters,
    }
    seen = []
    for block in blocks("yaml"):
        for name, params in sections(block):
            TypeAdapter(classes[name]).validate_python(params)
            seen.append(name)
    assert set(seen) == set(classes)


def judge_families() -> str:
    """The table of `transformers` as the page has it."""
    lines = ["| `model_type` | models | tokens per picture | thinking | needs |", "|---|---|---|---|---|"]
    for family in FAMILIES:
        by_itself = "on" if family.thinks else "off"
        switch = f"`{family.thinking}`, {by_itself} by itself" if family.thinking else f"no switch, {by_itself}"
        needs = "; ".join(
            filter(
                None,
                (
                    family.environment,
                    f"faster with {', '.join(KERNELS[name] for name in family.kernels)}" if family.kernels else "",
                ),
            )
        )
        lines.append(f"| `{family.model_type}` | {family.models} | {family.tokens} | {switch} | {needs} |")
    return "\n".join(lines)


def judge_agreement() -> str:
    """How often judges agree with people, as the page has it."""
    lines = ["| judge | GB in bfloat16 | agreement | thinking |", "|---|---|---|---|"]
    for judge in sorted(PUBLISHED, key=lambda one: max(one.agreement, one.thinking or 0)):
        thinking = f"{judge.thinking:.3f}" if judge.thinking else ""
        lines.append(f"| `{judge.name}` | {2 * judge.billions:.0f} | {judge.agreement:.3f} | {thinking} |")
    others = (("EditScore (Qwen2.5-VL-7B)", 0.491), ("EditScore (Qwen3-VL-8B)", 0.559), ("EditReward", 0.560))
    others += (("GPT-4.1 (until 14 January 2027)", 0.661), ("Gemini 3 Flash", 0.727), ("Gemini 3.1 Pro", 0.743))
    return "\n".join([*lines, *(f"| {name} | | {share:.3f} | |" for name, share in others)])


def test_the_tables_of_judges_are_those_of_the_code() -> None:
    assert judge_families() in TEXT
    assert judge_agreement() in TEXT


def test_every_type_is_named() -> None:
    for kind in ("edit_model", "judge"):
        for name in built_in()[kind]:
            assert f"`{name}`" in TEXT, name


def test_a_wrong_key_is_refused_by_both_examples() -> None:
    for example in (code("my_editor.py").InstructPix2Pix, code("my_judge.py").Restraint):
        TypeAdapter(example.Parameters).validate_python({})
        with pytest.raises(ValidationError, match="Unexpected keyword argument"):
            TypeAdapter(example.Parameters).validate_python({"stepz": 3})


def test_the_judge_scores_restraint() -> None:
    restraint = code("my_judge.py").Restraint
    judge = restraint(restraint.Parameters())
    judge.load(["cpu"])
    source = Image.new("RGB", (40, 20), "red")
    half = source.copy()
    half.paste("blue", (0, 0, 20, 20))
    edits = {10.0: source, 5.0: half, 0.0: Image.new("RGB", (80, 40), "blue")}
    answers = judge.judge([JudgeRequest(user="", pictures={"source": source, "edit": edit}) for edit in edits.values()])
    assert [read_answer(answer).values["score"] for answer in answers] == list(edits)


@pytest.mark.real_models
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_the_editor_edits(tmp_path: Path) -> None:
    pytest.importorskip("diffusers")
    tiny_instruct_pix2pix(tmp_path)
    editor = code("my_editor.py").InstructPix2Pix
    model = editor(editor.Parameters(model_name=str(tmp_path), steps=3))
    model.load(["cpu"])
    steps: list[tuple[int, int]] = []
    source = Image.linear_gradient("L").convert("RGB").resize((64, 32))

    def asked(seed: int) -> EditRequest:
        return EditRequest(pictures={"source": source}, instruction="make it red", seed=seed)

    first = model.edit(asked(5), lambda step, of: steps.append((step, of)))
    assert steps == [(1, 3), (2, 3), (3, 3)]
    assert (first.mode, first.size) == ("RGB", (64, 32))
    assert model.edit(asked(5), lambda step, of: None).tobytes() == first.tobytes()
    assert model.edit(asked(6), lambda step, of: None).tobytes() != first.tobytes()


def tiny_instruct_pix2pix(folder: Path) -> None:
    """Saves a tiny InstructPix2Pix with random weights."""
    import torch
    from diffusers import AutoencoderKL, DDIMScheduler, StableDiffusionInstructPix2PixPipeline, UNet2DConditionModel
    from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer

    torch.manual_seed(0)
    tokens = [
        "<|startoftext|>",
        "<|endoftext|>",
        *(letter + end for letter in "abcdefghijklmnopqrstuvwxyz" for end in ("", "</w>")),
    ]
    tokenizer = CLIPTokenizer(
        vocab={token: number for number, token in enumerate(tokens)}, merges=[], model_max_length=77
    )
    text_encoder = CLIPTextModel(
        CLIPTextConfig(
            vocab_size=len(tokenizer),
            hidden_size=32,
            intermediate_size=32,
            num_attention_heads=4,
            num_hidden_layers=1,
            bos_token_id=0,
            eos_token_id=1,
            pad_token_id=1,
        )
    )
    unet = UNet2DConditionModel(
        sample_size=32,
        in_channels=8,
        out_channels=4,
        block_out_channels=(8, 16),
        layers_per_block=1,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=32,
        attention_head_dim=4,
        norm_num_groups=4,
    )
    vae = AutoencoderKL(
        block_out_channels=(8, 16),
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
        latent_channels=4,
        norm_num_groups=4,
    )
    StableDiffusionInstructPix2PixPipeline(
        vae=vae.eval(),
        text_encoder=text_encoder.eval(),
        tokenizer=tokenizer,
        unet=unet.eval(),
        scheduler=DDIMScheduler(),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    ).save_pretrained(folder)
