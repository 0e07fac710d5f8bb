"""Published weights of the pipelines in `preset_table.py`: data.

`figures` names the sources of a row; facts not found in a primary source are left out. Steps and guidance are those for
an edit, if the documentation distinguishes it; a release that sets none uses its pipeline's (`preset_table.py`),
checked against the signature and the editing examples of diffusers 0.42.1 and its documentation at 58eb52c.
"""

from __future__ import annotations

from edit_eval.plugins.diffusers.in_worker.presets import SIGNATURE, Release

COUNTED = {"transformer": 20.43, "text_encoder": 8.29, "vae": 0.127}
"""Counted by building the models from their published configurations without weights."""
_FLUX_1 = {"transformer": 11.901, "text_encoder_2": 4.762, "text_encoder": 0.123, "vae": 0.084}
"""Counted likewise: 19 and 38 blocks of width 3072 with guidance embedded, T5 1.1 XXL, CLIP L, 16 latent channels."""

_QWEN_REPO = "QwenLM/Qwen-Image-2.1 at 0f0715e"
_QWEN_TURBO = "8 steps: its blocks in diffusers 0.42.1; the class: its model_index.json at d65dbc9, by a mirror"
_FLUX_2 = "huggingface.co/black-forest-labs, model cards"
_APACHE, _FLUX_1_DEV, _FLUX_2_DEV = "Apache-2.0", "FLUX.1-dev, non-commercial", "FLUX.2-dev, non-commercial"
_FLUX_9B = "FLUX non-commercial v2.1"
_DISTILLED = {"num_inference_steps": 4, "guidance_scale": 1.0}
_DOCUMENTED = "diffusers' documentation (58eb52c)"

RELEASES = (
    Release(
        name="Qwen/Qwen-Image-Edit",
        pipeline="QwenImageEditPipeline",
        licence=_APACHE,
        gated=False,
        parts=COUNTED,
        figures="model card; parts counted",
    ),
    *(
        Release(
            name=f"Qwen/Qwen-Image-Edit-{version}",
            pipeline="QwenImageEditPlusPipeline",
            licence=_APACHE,
            gated=False,
            parts=COUNTED,
            figures="model card; parts counted",
        )
        for version in (2509, 2511)
    ),
    *(
        Release(
            name=f"FireRedTeam/FireRed-Image-Edit-{version}",
            pipeline="QwenImageEditPlusPipeline",
            licence=_APACHE,
            gated=False,
            parts=COUNTED,
            figures="FireRedTeam/FireRed-Image-Edit at 2aa84aa: Qwen-Image's architecture, 40 steps, 4.0",
        )
        for version in ("1.0", "1.1")
    ),
    *(
        Release(
            name=f"Qwen/Qwen-Image-2.1{turbo}",
            pipeline="QwenImage21Pipeline",
            licence="Qwen Research License",
            parts={"transformer": 7.0, "text_encoder": 8.77},
            settings={"num_inference_steps": 8} if turbo else {},
            environment="transformers 5.17 or newer",
            figures=_QWEN_TURBO if turbo else _QWEN_REPO,
        )
        for turbo in ("", "-Turbo")
    ),
    Release(
        name="black-forest-labs/FLUX.1-Kontext-dev",
        pipeline="FluxKontextPipeline",
        licence=_FLUX_1_DEV,
        gated=True,
        parts=_FLUX_1,
        settings={"guidance_scale": 2.5},
        figures="weight 2.5: the model card; 3.5 is the signature's; parts counted: FLUX.1 dev's configurations",
    ),
    Release(
        name="black-forest-labs/FLUX.2-dev",
        pipeline="Flux2Pipeline",
        licence=_FLUX_2_DEV,
        gated=True,
        parts={"transformer": 32.0, "text_encoder": 24.0},
        environment="torchvision, for its Pixtral processor",
        figures=_FLUX_2,
    ),
    *(
        Release(
            name=f"black-forest-labs/FLUX.2-klein-{base}{size}B",
            pipeline="Flux2KleinPipeline",
            licence=_APACHE if size == 4 else _FLUX_9B,
            gated=None if size == 9 else False,
            parts={"transformer": float(size), "text_encoder": float(encoder)},
            settings={} if base else _DISTILLED,
            figures=_FLUX_2,
        )
        for size, encoder in ((4, 4), (9, 8))
        for base in ("", "base-")
    ),
    Release(
        name="black-forest-labs/FLUX.2-klein-9b-kv",
        pipeline="Flux2KleinKVPipeline",
        licence=_FLUX_9B,
        parts={"transformer": 9.0, "text_encoder": 8.0},
        figures=_FLUX_2,
    ),
    Release(
        name="black-forest-labs/flux-3-image-klein",
        pipeline="Flux3DistilledModularPipeline",
        licence="FLUX Kommunity License",
        parts={"transformer": 5.6, "text_encoder": 4.0},
        figures="black-forest-labs/flux-3-image-klein on GitHub, README; the text encoder is Qwen3-VL-4B: model card",
    ),
    Release(
        name="meituan-longcat/LongCat-Image-Edit",
        pipeline="LongCatImageEditPipeline",
        licence=_APACHE,
        gated=False,
        parts={"transformer": 6.0, "text_encoder": 8.29},
        figures="meituan-longcat/LongCat-Image; the text encoder is Qwen-Image-Edit's, counted; 50 steps, 4.5: the "
        "docstring's example",
    ),
    *(
        Release(
            name=f"jdopensource/JoyAI-Image-Edit{plus and '-Plus'}-Diffusers",
            pipeline=f"JoyImageEdit{plus}Pipeline",
            licence=_APACHE,
            gated=False,
            parts={"transformer": 16.0, "text_encoder": 8.0},
            figures=f"{_DOCUMENTED}; {steps} steps, 4.0: the docstring's example",
        )
        for plus, steps in (("", 40), ("Plus", 30))
    ),
    Release(
        name="zai-org/GLM-Image",
        pipeline="GlmImagePipeline",
        parts={"transformer": 7.0, "vision_language_encoder": 9.0},
        environment="another transformers than 5.23 (diffusers 0.42.1 with transformers 5.23 cannot edit by it)",
        figures=f"{_DOCUMENTED}; its example takes 30 steps",
    ),
    Release(
        name="kandinskylab/Kandinsky-5.0-I2I-Lite-sft-Diffusers",
        pipeline="Kandinsky5I2IPipeline",
        parts={"transformer": 6.0, "text_encoder": 8.29},
        figures=f"{_DOCUMENTED}, whose editing example takes 50 steps and 3.5",
    ),
    Release(
        name="briaai/Fibo-Edit",
        pipeline="BriaFiboEditPipeline",
        gated=True,
        parts={"transformer": 8.0},
        figures=f"{_DOCUMENTED}; 30 steps, 5: the docstring's example",
    ),
    Release(
        name="briaai/Fibo-2.0-edit-turbo",
        pipeline="BriaFibo2Pipeline",
        parts={"transformer": 8.0},
        settings={"num_inference_steps": 4, "guidance_scale": 1.0},
        figures="4 steps without guidance: the model card",
    ),
    Release(
        name="Shitao/OmniGen-v1-diffusers",
        pipeline="OmniGenPipeline",
        settings={"guidance_scale": 2.0, "img_guidance_scale": 1.6},
        environment="torchvision",
        figures=f"weights 2.0 and 1.6: the editing examples of {_DOCUMENTED}; 2.5 is for pictures from text",
    ),
    Release(
        name="carlofkl/DreamLite-base",
        pipeline="DreamLitePipeline",
        settings={"num_inference_steps": 28},
        revision="diffusers",
        figures=f"28 steps: {_DOCUMENTED}, whose example edits at 1024 x 1024",
    ),
    Release(
        name="carlofkl/DreamLite-mobile",
        pipeline="DreamLiteMobilePipeline",
        revision="diffusers",
        figures=f"{_DOCUMENTED}, whose editing example takes 4 steps",
    ),
    Release(
        name="nvidia/ChronoEdit-14B-Diffusers",
        pipeline="ChronoEditPipeline",
        parts={"transformer": 14.0},
        figures=f"{_DOCUMENTED}, whose editing example takes 50 steps and 5.0",
    ),
    Release(name="timbrooks/instruct-pix2pix", pipeline="StableDiffusionInstructPix2PixPipeline", figures=SIGNATURE),
    Release(
        name="diffusers/sdxl-instructpix2pix-768",
        pipeline="StableDiffusionXLInstructPix2PixPipeline",
        settings={"area": 768 * 768, "num_inference_steps": 30, "guidance_scale": 3.0, "image_guidance_scale": 1.5},
        figures="768: its name; 30 steps, weights 3.0 and 1.5: the example in the docstring of diffusers 0.42.1",
    ),
)

RELEASE = {row.name: row for row in RELEASES}
