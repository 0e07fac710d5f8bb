"""More editing pipelines of diffusers with tiny random weights: the real classes, built offline in seconds.

`build(folder)` makes a folder for each, named after its class. Sides of 64 pixels keep an edit of two steps within a
fraction of a second; where a pipeline insists on a megapixel, `shrink` changes its tables of shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tiny_models import _qwen2_5_vl, _qwen3_vl, _reproducible, _save_video_settings, _text_settings
from tiny_parts import (
    chatting_tokenizer,
    clip_text,
    clip_tokenizer,
    flow,
    flux_2_vae,
    flux_vae,
    qwen2_vl_processor,
    qwen3_text,
    qwen3_vl_processor,
    t5_text,
    vae,
    wan_vae,
)
from tiny_tokenizer import CHAT_TEMPLATE, tiny_tokenizer
from written_weights import WIDTH

SMALL = 64
"""Pixels of the shapes that `shrink` leaves."""


def build(folder: Path | str, names: Sequence[str] | None = None) -> dict[str, Path]:
    """Builds the pipelines of these classes (all of them by default) under `folder`; returns each one's folder."""
    import diffusers

    built = {}
    for name in names or tuple(BUILDERS):
        target = built[name] = Path(folder) / name
        with _reproducible():
            parts, settings = BUILDERS[name]()
            pipeline = getattr(diffusers, name)(**parts, **settings)
            for part in pipeline.components.values():
                if hasattr(part, "eval"):
                    part.eval()
            pipeline.save_pretrained(target)
        for part, processor in parts.items():
            if hasattr(getattr(processor, "image_processor", None), "merge_size"):
                _save_video_settings(target / part, processor)
    return built


def shrink(pipeline: Any) -> None:
    """Leaves a pipeline with a table of shapes, or a canvas that cannot be moved, only one small shape of it."""
    from diffusers.modular_pipelines.qwenimage import encoders
    from diffusers.pipelines.joyimage import image_processor as joy

    if hasattr(pipeline, "resolutions"):
        pipeline.resolutions = [(SMALL, SMALL)]
    if type(pipeline).__name__ == "QwenImageEditModularPipeline":
        encoders.calculate_dimensions = lambda area, ratio: (SMALL, SMALL, None)
    if type(pipeline).__name__.startswith("JoyImage"):
        joy.BUCKETS[SMALL] = [(SMALL, SMALL)]
        for name in ("image_processor", "vae_image_processor"):
            if hasattr(pipeline, name):
                getattr(pipeline, name).register_to_config(basesize=SMALL)


# -- the pipelines: their parts, and further settings --

Built = tuple[dict[str, Any], dict[str, Any]]


def _qwen_image_21() -> Built:
    import diffusers

    tokenizer = tiny_tokenizer()
    transformer = diffusers.QwenImage21Transformer2DModel(
        in_channels=4,
        out_channels=4,
        num_layers=1,
        attention_head_dim=16,
        num_attention_heads=2,
        context_in_dim=WIDTH,
        axes_dims_rope=(4, 6, 6),
    )
    vae = diffusers.AutoencoderKLQwenImage21(
        base_dim=8,
        decoder_base_dim=8,
        z_dim=4,
        dim_mult=[1, 1, 1, 1, 1],
        num_res_blocks=1,
        latents_mean=[0.0] * 4,
        latents_std=[1.0] * 4,
    )
    parts = {"processor": qwen3_vl_processor(tokenizer), "text_encoder": _qwen3_vl(tokenizer, experts=False)}
    return {**parts, "transformer": transformer, "vae": vae, "scheduler": flow(use_dynamic_shifting=True)}, {}


def _flux_kontext() -> Built:
    import diffusers

    tokenizer = tiny_tokenizer()
    transformer = diffusers.FluxTransformer2DModel(
        patch_size=1,
        in_channels=16,
        num_layers=1,
        num_single_layers=1,
        attention_head_dim=16,
        num_attention_heads=2,
        joint_attention_dim=32,
        pooled_projection_dim=32,
        axes_dims_rope=(4, 4, 8),
        guidance_embeds=True,
    )
    return {
        "transformer": transformer,
        "vae": flux_vae(4),
        "text_encoder": clip_text(),
        "tokenizer": clip_tokenizer(),
        "text_encoder_2": t5_text(tokenizer),
        "tokenizer_2": tokenizer,
        "scheduler": flow(use_dynamic_shifting=True),
    }, {}


def _flux_2(guidance_embeds: bool) -> dict[str, Any]:
    import diffusers

    transformer = diffusers.Flux2Transformer2DModel(
        patch_size=1,
        in_channels=16,
        num_layers=1,
        num_single_layers=1,
        attention_head_dim=16,
        num_attention_heads=2,
        joint_attention_dim=3 * WIDTH,
        timestep_guidance_channels=16,
        axes_dims_rope=(4, 4, 4, 4),
        guidance_embeds=guidance_embeds,
    )
    return {"transformer": transformer, "vae": flux_2_vae(), "scheduler": flow(use_dynamic_shifting=True)}


def _flux_2_klein(**settings: Any) -> Built:
    tokenizer = chatting_tokenizer()
    encoder = qwen3_text(tokenizer, "Qwen3ForCausalLM", 28)
    return {**_flux_2(guidance_embeds=False), "text_encoder": encoder, "tokenizer": tokenizer}, settings


def _flux_2_dev() -> Built:
    """Its tokenizer is alone here: the published one is in a Pixtral processor, which needs torchvision.

    The pipeline shows its encoder no picture, unless it is told to rewrite the prompt.
    """
    import transformers

    tokenizer = chatting_tokenizer()
    vision = {
        "model_type": "pixtral",
        "hidden_size": 16,
        "intermediate_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "head_dim": 8,
        "image_size": 32,
        "patch_size": 4,
    }
    # Many tokens: as in the real one, the embeddings are far larger than what joins pictures to them.
    text = _text_settings(tokenizer) | {"model_type": "mistral", "num_hidden_layers": 31, "head_dim": 16}
    text |= {"vocab_size": 2048}
    config = transformers.Mistral3Config(
        vision_config=vision,
        text_config=text,
        image_token_index=tokenizer.convert_tokens_to_ids("<|image_pad|>"),
        tie_word_embeddings=False,
    )
    encoder = transformers.Mistral3ForConditionalGeneration(config)
    return {**_flux_2(guidance_embeds=True), "text_encoder": encoder, "tokenizer": tokenizer}, {}


def _longcat() -> Built:
    import diffusers

    tokenizer = tiny_tokenizer()
    transformer = diffusers.LongCatImageTransformer2DModel(
        patch_size=1,
        in_channels=64,
        num_layers=1,
        num_single_layers=1,
        attention_head_dim=16,
        num_attention_heads=2,
        joint_attention_dim=WIDTH,
        pooled_projection_dim=WIDTH,
        axes_dims_rope=(4, 4, 8),
    )
    return {
        "transformer": transformer,
        "vae": flux_vae(16, 4),
        "text_encoder": _qwen2_5_vl(tokenizer),
        "tokenizer": tokenizer,
        "text_processor": qwen2_vl_processor(tokenizer),
        "scheduler": flow(use_dynamic_shifting=True),
    }, {}


def _joy(plus: bool) -> Built:
    import diffusers

    tokenizer = tiny_tokenizer()
    name = "JoyImageEditPlusTransformer3DModel" if plus else "JoyImageEditTransformer3DModel"
    transformer = getattr(diffusers, name)(
        patch_size=[1, 2, 2],
        in_channels=16,
        hidden_size=32,
        num_attention_heads=2,
        text_dim=WIDTH,
        num_layers=1,
        rope_dim_list=[4, 6, 6],
        theta=256,
    )
    return {
        "transformer": transformer,
        "vae": wan_vae(),
        "text_encoder": _qwen3_vl(tokenizer, experts=False),
        "tokenizer": tokenizer,
        "processor": qwen3_vl_processor(tokenizer),
        "scheduler": flow(),
    }, {}


def _kandinsky() -> Built:
    import diffusers

    tokenizer = tiny_tokenizer()
    transformer = diffusers.Kandinsky5Transformer3DModel(
        in_visual_dim=16,
        in_text_dim=WIDTH,
        in_text_dim2=32,
        time_dim=16,
        out_visual_dim=16,
        patch_size=(1, 2, 2),
        model_dim=16,
        ff_dim=32,
        num_text_blocks=1,
        num_visual_blocks=1,
        axes_dims=(1, 1, 2),
        visual_cond=True,
        attention_type="regular",
    )
    return {
        "transformer": transformer,
        "vae": flux_vae(16, 4),
        "text_encoder": _qwen2_5_vl(tokenizer),
        "tokenizer": qwen2_vl_processor(tokenizer),
        "text_encoder_2": clip_text(),
        "tokenizer_2": clip_tokenizer(),
        "scheduler": flow(shift=7.0),
    }, {}


def _fibo_edit() -> Built:
    import diffusers
    from transformers import SmolLM3Config, SmolLM3ForCausalLM

    tokenizer = tiny_tokenizer()
    transformer = diffusers.BriaFiboTransformer2DModel(
        patch_size=1,
        in_channels=16,
        num_layers=1,
        num_single_layers=1,
        attention_head_dim=8,
        num_attention_heads=2,
        joint_attention_dim=2 * WIDTH,
        text_encoder_dim=WIDTH,
        pooled_projection_dim=None,
        axes_dims_rope=[0, 4, 4],
    )
    vae = wan_vae(
        decoder_base_dim=4, in_channels=12, out_channels=12, patch_size=2, is_residual=True, scale_factor_spatial=16
    )
    return {
        "transformer": transformer,
        "vae": vae,
        "text_encoder": SmolLM3ForCausalLM(SmolLM3Config(**_text_settings(tokenizer))),
        "tokenizer": tokenizer,
        "scheduler": flow(),
    }, {}


def _fibo_2() -> Built:
    """The network for pictures is narrow: in the real one, too, its first layer is small beside the largest ones."""
    import diffusers

    tokenizer = tiny_tokenizer()
    transformer = diffusers.BriaFibo2Transformer2DModel(
        in_channels=4,
        patch_size=2,
        dim=32,
        n_layers=3,
        n_refiner_layers=1,
        n_heads=2,
        cap_feat_dim=3 * WIDTH,
        injection_layer_ids=(1, 2),
        perceiver_num_layers=1,
        min_num_gist_tokens=4,
        max_num_gist_tokens=8,
        gist_step=2,
        axes_dims=(8, 4, 4),
        axes_lens=(64, 64, 64),
    )
    return {
        "transformer": transformer,
        "vae": flux_2_vae(),
        "text_encoder": _qwen3_vl(tokenizer, experts=False, layers=36, vision_width=8),
        "processor": qwen3_vl_processor(tokenizer),
        "scheduler": flow(use_dynamic_shifting=True),
    }, {}


def _dreamlite() -> Built:
    import diffusers

    tokenizer = tiny_tokenizer()
    unet = diffusers.DreamLiteUNetModel(
        sample_size=8,
        in_channels=4,
        out_channels=4,
        down_block_types=("DreamLiteCrossAttnNoSelfAttnDownBlock2D", "DreamLiteCrossAttnDownBlock2D"),
        up_block_types=("DreamLiteCrossAttnUpBlock2D", "DreamLiteUpBlock2D"),
        block_out_channels=(16, 16),
        cross_attention_dim=WIDTH,
        attention_head_dim=8,
        layers_per_block=1,
        norm_num_groups=8,
        transformer_layers_per_block=1,
    )
    vae = diffusers.AutoencoderTiny(
        encoder_block_out_channels=(8, 8),
        decoder_block_out_channels=(8, 8),
        num_encoder_blocks=(1, 1),
        num_decoder_blocks=(1, 1),
    )
    return {
        "unet": unet,
        "vae": vae,
        "text_encoder": _qwen3_vl(tokenizer, experts=False),
        "tokenizer": tokenizer,
        "processor": qwen3_vl_processor(tokenizer),
        "scheduler": flow(),
    }, {}


def _z_image_omni() -> Built:
    import diffusers
    import torch
    import transformers

    tokenizer = chatting_tokenizer()
    transformer = diffusers.ZImageTransformer2DModel(
        all_patch_size=(2,),
        all_f_patch_size=(1,),
        in_channels=16,
        dim=32,
        n_layers=1,
        n_refiner_layers=1,
        n_heads=2,
        n_kv_heads=2,
        qk_norm=True,
        cap_feat_dim=WIDTH,
        siglip_feat_dim=16,
        rope_theta=256.0,
        axes_dims=[8, 4, 4],
        axes_lens=[1536, 32, 32],
    )
    with torch.no_grad():  # made without a value
        for name, weight in transformer.named_parameters():
            if name.endswith("pad_token"):
                weight.fill_(1.0)
    vision = transformers.Siglip2VisionConfig(
        hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, patch_size=16, num_patches=16
    )
    return {
        "transformer": transformer,
        "vae": flux_vae(16, 4),
        "text_encoder": qwen3_text(tokenizer, "Qwen3Model", 2),
        "tokenizer": tokenizer,
        "siglip": transformers.Siglip2VisionModel(vision),
        "siglip_processor": transformers.Siglip2ImageProcessorPil(patch_size=16, max_num_patches=16),
        "scheduler": flow(use_dynamic_shifting=True),
    }, {}


def _glm_image() -> Built:
    import diffusers
    import transformers

    tokenizer = tiny_tokenizer()
    half = [0.5, 0.5, 0.5]
    special = {"image_token": "<|image_pad|>", "grid_bos_token": "<|vision_start|>", "grid_eos_token": "<|vision_end|>"}
    tokenizer._set_model_specific_special_tokens(special)
    tokenizer.bos_token = "<|im_start|>"
    processor = transformers.GlmImageProcessor(
        transformers.GlmImageImageProcessorPil(
            patch_size=16, merge_size=1, temporal_patch_size=1, image_mean=half, image_std=half
        ),
        tokenizer,
        chat_template=CHAT_TEMPLATE,
    )
    config = transformers.GlmImageConfig(
        text_config=_text_settings(tokenizer)
        | {"vision_vocab_size": 128, "rope_parameters": {"mrope_section": (4, 2, 2), "rope_theta": 1e4}},
        vision_config={
            "depth": 1,
            "hidden_size": 32,
            "num_heads": 2,
            "image_size": 32,
            "patch_size": 16,
            "intermediate_size": 32,
        },
        vq_config={"embed_dim": 32, "num_embeddings": 128, "latent_channels": 32},
    )
    transformer = diffusers.GlmImageTransformer2DModel(
        patch_size=2,
        in_channels=4,
        out_channels=4,
        num_layers=1,
        attention_head_dim=8,
        num_attention_heads=2,
        text_embed_dim=32,
        time_embed_dim=16,
        condition_dim=8,
        prior_vq_quantizer_codebook_size=128,
    )
    bytes_ = transformers.ByT5Tokenizer()
    return {
        "transformer": transformer,
        "vae": vae(4, 4, latents_mean=[0.0] * 4, latents_std=[1.0] * 4),
        "text_encoder": t5_text(bytes_),
        "tokenizer": bytes_,
        "vision_language_encoder": transformers.GlmImageForConditionalGeneration(config),
        "processor": processor,
        "scheduler": flow(use_dynamic_shifting=True),
    }, {}


def _chronoedit() -> Built:
    import diffusers
    import transformers

    tokenizer = tiny_tokenizer()
    transformer = diffusers.ChronoEditTransformer3DModel(
        patch_size=(1, 2, 2),
        num_attention_heads=2,
        attention_head_dim=12,
        in_channels=36,
        out_channels=16,
        text_dim=32,
        freq_dim=16,
        ffn_dim=32,
        num_layers=1,
        rope_max_seq_len=32,
        image_dim=8,
    )
    vision = transformers.CLIPVisionConfig(
        hidden_size=8, projection_dim=8, num_hidden_layers=2, num_attention_heads=2, image_size=32, patch_size=16
    )
    return {
        "transformer": transformer,
        "vae": wan_vae(),
        "text_encoder": t5_text(tokenizer, "UMT5"),
        "tokenizer": tokenizer,
        "image_encoder": transformers.CLIPVisionModel(vision),
        "image_processor": transformers.CLIPImageProcessorPil(crop_size=32, size=32),
        "scheduler": flow(shift=7.0),
    }, {}


def _unet(**settings: Any) -> Any:
    import diffusers

    return diffusers.UNet2DConditionModel(
        sample_size=32,
        in_channels=8,
        out_channels=4,
        block_out_channels=(8, 16),
        layers_per_block=1,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        attention_head_dim=4,
        norm_num_groups=4,
        **settings,
    )


def _instruct_pix2pix() -> Built:
    import diffusers

    parts = {"safety_checker": None, "feature_extractor": None}
    return {
        "unet": _unet(cross_attention_dim=32),
        "vae": vae(4),
        "text_encoder": clip_text(),
        "tokenizer": clip_tokenizer(),
        "scheduler": diffusers.EulerAncestralDiscreteScheduler(),
        **parts,
    }, {"requires_safety_checker": False}


def _instruct_pix2pix_xl() -> Built:
    import diffusers

    unet = _unet(
        cross_attention_dim=64,
        addition_embed_type="text_time",
        addition_time_embed_dim=8,
        projection_class_embeddings_input_dim=80,
        use_linear_projection=True,
    )
    return {
        "unet": unet,
        "vae": vae(4),
        "text_encoder": clip_text(),
        "tokenizer": clip_tokenizer(),
        "text_encoder_2": clip_text("CLIPTextModelWithProjection"),
        "tokenizer_2": clip_tokenizer(),
        "scheduler": diffusers.EulerDiscreteScheduler(),
    }, {"add_watermarker": False}


BUILDERS: dict[str, Callable[[], Built]] = {
    "QwenImage21Pipeline": _qwen_image_21,
    "FluxKontextPipeline": _flux_kontext,
    "FluxKontextInpaintPipeline": _flux_kontext,
    "Flux2Pipeline": _flux_2_dev,
    "Flux2KleinPipeline": lambda: _flux_2_klein(is_distilled=False),
    "Flux2KleinInpaintPipeline": lambda: _flux_2_klein(is_distilled=False),
    "Flux2KleinKVPipeline": _flux_2_klein,
    "LongCatImageEditPipeline": _longcat,
    "JoyImageEditPipeline": lambda: _joy(plus=False),
    "JoyImageEditPlusPipeline": lambda: _joy(plus=True),
    "GlmImagePipeline": _glm_image,
    "Kandinsky5I2IPipeline": _kandinsky,
    "BriaFiboEditPipeline": _fibo_edit,
    "BriaFibo2Pipeline": _fibo_2,
    "DreamLitePipeline": _dreamlite,
    "DreamLiteMobilePipeline": _dreamlite,
    "ZImageOmniPipeline": _z_image_omni,
    "ChronoEditPipeline": _chronoedit,
    "StableDiffusionInstructPix2PixPipeline": _instruct_pix2pix,
    "StableDiffusionXLInstructPix2PixPipeline": _instruct_pix2pix_xl,
}
