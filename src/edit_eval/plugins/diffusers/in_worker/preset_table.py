"""The pipelines of diffusers that edit by instruction: data.

Arguments and defaults are from the signatures of diffusers 0.42.1, and a test checks each row against them; canvas
rules were read in the same sources. Their published weights are in `release_table.py`.
"""

from __future__ import annotations

from edit_eval.plugins.diffusers.in_worker.presets import SIGNATURE, Canvas, Pipeline

MEGAPIXEL = 1024 * 1024
BLOCKS = "the inputs of its blocks in diffusers 0.42.1"

_QWEN_NOTE = "several sources: the last one decides the shape of the edit"
_QWEN_2_1_CANVAS = Canvas(
    rule="about 1 megapixel in the last source's shape, multiples of 32 (the authors recommend 2048 x 2048: "
    "`canvas: 4194304`)",
    lever="output_resolution",
    unit="side",
)
_QWEN_2_1_NOTES = (
    "the edit may be transparent; it is composited over white before it is judged",
    "`use_kv_cache` changes the last bits; it is in the key",
)
_FLUX_2_CANVAS = Canvas(rule="the first source's size, at most 1 megapixel, sides cut to multiples of 16", multiple=16)
_KEPT = "outside the mask the latents stay the source's, so pixels change as its VAE changes them"
_PASTED = f"{_KEPT}; `call: {{padding_mask_crop: 32}}` pastes the source's own there"
_WHITE = "a sample without a mask is edited with one that is white everywhere"
_FLUX_2_NOTE = "several sources: the first one decides the shape of the edit"

PIPELINES = (
    Pipeline(
        name="QwenImageEditPipeline",
        family="Qwen-Image-Edit",
        encoder="Qwen2.5-VL",
        longest=200,
        steps=50,
        guidance={"true_cfg_scale": 4.0},
        negative=" ",
        without_negative="true_cfg_scale",
        canvas=Canvas(rule="about 1 megapixel in the source's shape, multiples of 32", lever="calculate_dimensions"),
    ),
    Pipeline(
        name="QwenImageEditInpaintPipeline",
        family="Qwen-Image-Edit in a mask",
        encoder="Qwen2.5-VL",
        mask="mask_image",
        needs_mask=True,
        weights_of="QwenImageEditPipeline",
        longest=200,
        steps=50,
        guidance={"true_cfg_scale": 4.0},
        negative=" ",
        without_negative="true_cfg_scale",
        canvas=Canvas(rule="about 1 megapixel in the source's shape, multiples of 32", lever="calculate_dimensions"),
        snaps=True,
        call={"strength": 1.0},
        notes=(_WHITE, _PASTED),
        figures=f"{SIGNATURE}; strength 1.0: the example in its docstring",
    ),
    Pipeline(
        name="QwenImageEditModularPipeline",
        family="Qwen-Image-Edit in blocks",
        encoder="Qwen2.5-VL",
        mask="mask_image",
        longest=200,
        steps=50,
        negative=" ",
        canvas=Canvas(rule="about 1 megapixel in the source's shape, multiples of 16"),
        call={"strength": 0.9},
        modular=True,
        notes=(
            "the weight of its guidance is its `guider`'s, 4.0 unless its modular_model_index.json has another",
            _KEPT,
        ),
        figures=BLOCKS,
    ),
    Pipeline(
        name="QwenImageEditPlusPipeline",
        family="Qwen-Image-Edit-2509, -2511",
        encoder="Qwen2.5-VL",
        most_sources=None,
        longest=200,
        steps=40,
        guidance={"true_cfg_scale": 4.0},
        negative=" ",
        without_negative="true_cfg_scale",
        canvas=Canvas(
            rule="about 1 megapixel in the last source's shape, multiples of 32", lever="calculate_dimensions"
        ),
        notes=(_QWEN_NOTE,),
        figures="40 steps, weight 4.0, a negative prompt of one space: the model cards",
    ),
    Pipeline(
        name="QwenImage21Pipeline",
        family="Qwen-Image-2.1",
        encoder="Qwen3-VL",
        most_sources=10,
        steps=40,
        guidance={"true_cfg_scale": 1.0},
        without_negative="true_cfg_scale",
        canvas=_QWEN_2_1_CANVAS,
        call={"use_kv_cache": True},
        notes=(
            _QWEN_NOTE,
            *_QWEN_2_1_NOTES,
            "`sample_sigmas` in its model_index.json overrides the number of steps",
            "the authors' prompt rewriter (Qwen-Image-2.1-PE-I2I) is another model; it is not used",
        ),
    ),
    Pipeline(
        name="QwenImage21TurboModularPipeline",
        family="Qwen-Image-2.1-Turbo",
        encoder="Qwen3-VL",
        most_sources=10,
        steps=8,
        negative_argument="",
        canvas=_QWEN_2_1_CANVAS,
        call={"use_kv_cache": True},
        modular=True,
        notes=(
            _QWEN_NOTE,
            *_QWEN_2_1_NOTES,
            "`sample_sigmas` in its modular_model_index.json overrides the number of steps",
        ),
        figures=BLOCKS,
    ),
    Pipeline(
        name="FluxKontextPipeline",
        family="FLUX.1 Kontext",
        steps=28,
        guidance={"guidance_scale": 3.5, "true_cfg_scale": 1.0},
        without_negative="true_cfg_scale",
        canvas=Canvas(rule="1 megapixel in the source's shape, multiples of 16", area=MEGAPIXEL, lever="max_area"),
        with_size={"max_area": "area"},
        notes=(
            "left to itself the pipeline makes every edit square; height and width are passed for that",
            "the source is scaled to the nearest of 17 shapes",
        ),
    ),
    Pipeline(
        name="FluxKontextInpaintPipeline",
        family="FLUX.1 Kontext in a mask",
        mask="mask_image",
        needs_mask=True,
        weights_of="FluxKontextPipeline",
        steps=28,
        guidance={"guidance_scale": 3.5, "true_cfg_scale": 1.0},
        without_negative="true_cfg_scale",
        canvas=Canvas(rule="1 megapixel in the source's shape, multiples of 16", area=MEGAPIXEL, lever="max_area"),
        with_size={"max_area": "area"},
        call={"strength": 1.0},
        notes=("the source is scaled to the nearest of 17 shapes", _WHITE, _KEPT),
    ),
    Pipeline(
        name="Flux2Pipeline",
        family="FLUX.2 dev",
        encoder="Mistral 3",
        most_sources=None,
        steps=50,
        guidance={"guidance_scale": 4.0},
        negative_argument="",
        canvas=_FLUX_2_CANVAS,
        rewriting="caption_upsample_temperature",
        notes=(_FLUX_2_NOTE,),
    ),
    Pipeline(
        name="Flux2KleinPipeline",
        family="FLUX.2 klein",
        most_sources=None,
        steps=50,
        guidance={"guidance_scale": 4.0},
        negative_argument="",
        canvas=_FLUX_2_CANVAS,
        variants={"is_distilled": {"num_inference_steps": 4, "guidance_scale": 1.0}},
        notes=(_FLUX_2_NOTE, "distilled weights take 4 steps and ignore guidance, base weights take 50"),
    ),
    Pipeline(
        name="Flux2KleinInpaintPipeline",
        family="FLUX.2 klein in a mask",
        mask="mask_image",
        needs_mask=True,
        weights_of="Flux2KleinPipeline",
        steps=50,
        guidance={"guidance_scale": 8.0},
        negative_argument="",
        canvas=_FLUX_2_CANVAS,
        snaps=True,
        call={"strength": 0.8},
        variants={"is_distilled": {"num_inference_steps": 4, "guidance_scale": 1.0}},
        notes=("distilled weights take 4 steps and ignore guidance, base weights take 50", _WHITE, _PASTED),
    ),
    Pipeline(
        name="Flux2KleinKVPipeline",
        family="FLUX.2 klein with a cache",
        most_sources=None,
        steps=4,
        negative_argument="",
        canvas=_FLUX_2_CANVAS,
        notes=(_FLUX_2_NOTE,),
    ),
    Pipeline(
        name="Flux3DistilledModularPipeline",
        family="FLUX.3 image klein",
        encoder="Qwen3-VL",
        most_sources=10,
        steps=16,
        negative_argument="",
        canvas=Canvas(
            rule="the source's size, at most 4 megapixels; of several the first one's, at most 1 megapixel, sides cut "
            "to multiples of 16"
        ),
        modular=True,
        rewriting="prompt_upsampler",
        notes=(_FLUX_2_NOTE, "the authors ask that it is not used without its prompt upsampler, another model"),
        figures=BLOCKS,
    ),
    Pipeline(
        name="LongCatImageEditPipeline",
        family="LongCat-Image-Edit",
        encoder="Qwen2.5-VL",
        steps=50,
        guidance={"guidance_scale": 4.5},
        sized=False,
        canvas=Canvas(rule="about 1 megapixel in the source's shape, multiples of 16", lever="calculate_dimensions"),
    ),
    Pipeline(
        name="JoyImageEditPipeline",
        family="JoyAI-Image-Edit",
        encoder="Qwen3-VL",
        steps=40,
        guidance={"guidance_scale": 4.0},
        canvas=Canvas(rule="the nearest of a table of shapes of 1 megapixel"),
        snaps=True,
        cuts_source=True,
    ),
    Pipeline(
        name="JoyImageEditPlusPipeline",
        family="JoyAI-Image-Edit-Plus",
        encoder="Qwen3-VL",
        source="images",
        most_sources=6,
        steps=30,
        guidance={"guidance_scale": 4.0},
        canvas=Canvas(rule="the nearest of a table of shapes of 1 megapixel, by the last source"),
        cuts_source=True,
        notes=(_QWEN_NOTE,),
    ),
    Pipeline(
        name="GlmImagePipeline",
        family="GLM-Image",
        most_sources=None,
        steps=50,
        guidance={"guidance_scale": 1.5},
        negative_argument="",
        canvas=Canvas(rule="the first source's size, cut to multiples of 32", source_sized=True, multiple=32),
        notes=(
            "its first stage writes tokens, drawn with the process's random numbers, which are seeded for each edit; "
            "on a GPU they are the GPU's own, so another kind of GPU gives another edit",
        ),
    ),
    Pipeline(
        name="Kandinsky5I2IPipeline",
        family="Kandinsky 5 I2I",
        encoder="Qwen2.5-VL",
        steps=50,
        guidance={"guidance_scale": 3.5},
        canvas=Canvas(rule="the nearest of 7 shapes of about 1 megapixel"),
        snaps=True,
        result="image",
        notes=("the source is scaled to the nearest shape, and so a little stretched",),
    ),
    Pipeline(
        name="BriaFiboEditPipeline",
        family="Fibo-Edit",
        mask="mask",
        steps=30,
        guidance={"guidance_scale": 5.0},
        canvas=Canvas(rule="the nearest of a table of shapes of 1 megapixel"),
        prompt="json",
        notes=(
            "the prompt is a JSON document: an instruction in words becomes its `edit_instruction`, and nothing else "
            "is filled in (the authors' converter asks an outside model)",
        ),
    ),
    Pipeline(
        name="BriaFibo2Pipeline",
        family="Fibo 2",
        encoder="Qwen3-VL",
        mask="mask",
        most_sources=5,
        steps=30,
        guidance={"guidance_scale": 5.0},
        canvas=Canvas(rule="of the shapes it was trained with, of about 1 megapixel, the nearest to the first source"),
        cuts_source=True,
        notes=("the prompt may be an instruction in words, or a JSON document with an `edit_instruction`",),
    ),
    Pipeline(
        name="OmniGenPipeline",
        family="OmniGen",
        source="input_images",
        most_sources=None,
        steps=50,
        guidance={"guidance_scale": 2.5, "img_guidance_scale": 1.6},
        negative_argument="",
        canvas=Canvas(
            rule="the first source's size, at most 1024 on its longer side, multiples of 16",
            lever="max_input_image_size",
            unit="side",
        ),
        prompt="tags",
        call={"use_input_image_size_as_output": True},
        with_size={"use_input_image_size_as_output": False},
    ),
    Pipeline(
        name="DreamLitePipeline",
        family="DreamLite",
        encoder="Qwen3-VL",
        steps=30,
        guidance={"guidance_scale": 3.5, "image_guidance_scale": 1.5},
        canvas=Canvas(rule="the source's size, cut to multiples of its VAE's factor"),
    ),
    Pipeline(
        name="DreamLiteMobilePipeline",
        family="DreamLite mobile",
        encoder="Qwen3-VL",
        steps=4,
        negative_argument="",
        canvas=Canvas(rule="the source's size, cut to multiples of its VAE's factor"),
    ),
    Pipeline(
        name="ZImageOmniPipeline",
        family="Z-Image Omni",
        most_sources=None,
        steps=50,
        guidance={"guidance_scale": 5.0},
        canvas=Canvas(rule="the last source's size, at most 1 megapixel, sides cut to multiples of 16"),
        load={"vae": {"dtype": "bfloat16"}},
        notes=(_QWEN_NOTE, "the pipeline hands its VAE bfloat16, whatever the dtype of all else"),
    ),
    Pipeline(
        name="ChronoEditPipeline",
        family="ChronoEdit",
        steps=50,
        guidance={"guidance_scale": 5.0},
        canvas=Canvas(rule="about 720 x 1280 pixels in the source's shape, multiples of 16", area=720 * 1280),
        result="frames",
        video=True,
        call={"num_frames": 5},
        load={"vae": {"dtype": "float32"}, "image_encoder": {"dtype": "float32"}},
        notes=(
            "a video of 5 frames is made, of which the last is the edit",
            "left to itself the pipeline makes every edit 832 x 480; height and width are passed for that",
        ),
        figures="5 frames, the area, and both dtypes: the example in diffusers' documentation (58eb52c)",
    ),
    Pipeline(
        name="StableDiffusionInstructPix2PixPipeline",
        family="InstructPix2Pix",
        steps=100,
        guidance={"guidance_scale": 7.5, "image_guidance_scale": 1.5},
        sized=False,
        canvas=Canvas(rule="the source's size, cut to multiples of 8"),
        notes=("weights with a safety checker: it paints an edit black, which counts as a failed one",),
    ),
    Pipeline(
        name="StableDiffusionXLInstructPix2PixPipeline",
        family="InstructPix2Pix SDXL",
        steps=100,
        guidance={"guidance_scale": 5.0, "image_guidance_scale": 1.5},
        canvas=Canvas(rule="1 megapixel in the source's shape, multiples of 32", area=MEGAPIXEL, multiple=32),
        notes=("left to itself the pipeline makes every edit square; height and width are passed for that",),
    ),
)

PIPELINE = {row.name: row for row in PIPELINES}

FILLING = (
    "AmusedInpaintPipeline",
    "ChromaInpaintPipeline",
    "FluxFillPipeline",
    "FluxInpaintPipeline",
    "KandinskyInpaintCombinedPipeline",
    "KandinskyV22InpaintCombinedPipeline",
    "QwenImageInpaintPipeline",
    "StableDiffusion3InpaintPipeline",
    "StableDiffusionInpaintPipeline",
    "StableDiffusionPAGInpaintPipeline",
    "StableDiffusionXLInpaintPipeline",
    "StableDiffusionXLPAGInpaintPipeline",
    "ZImageInpaintPipeline",
)
"""Classes that paint what a prompt describes into a mask. They edit by no instruction, and run by a guess."""
CONTROLLED = "it needs a control picture, which no benchmark has"
NO_EDITORS = {
    "FluxControlInpaintPipeline": CONTROLLED,
    "FluxControlNetInpaintPipeline": CONTROLLED,
    "IFInpaintingPipeline": "it works on 64 x 64 pixels",
    "IFInpaintingSuperResolutionPipeline": "it enlarges what another pipeline has painted",
    "KandinskyInpaintPipeline": "it needs what its prior makes of the prompt; take KandinskyInpaintCombinedPipeline",
    "OnnxStableDiffusionInpaintPipeline": "it runs in another library",
    "StableDiffusionControlNetInpaintPipeline": CONTROLLED,
    "StableDiffusionControlNetPAGInpaintPipeline": CONTROLLED,
    "StableDiffusionXLControlNetInpaintPipeline": CONTROLLED,
    "StableDiffusionXLControlNetUnionInpaintPipeline": CONTROLLED,
    "ZImageControlNetInpaintPipeline": CONTROLLED,
}
"""Further classes that take a picture, a prompt and a mask -> why they are not run. With these, every one of the
installed diffusers is decided, which a test checks."""


def make_filling_row(name: str) -> Pipeline:
    """Returns a row for one of `FILLING`: the mask is known, everything else keeps the class's default."""
    return Pipeline(
        name=name,
        family=name,
        mask="mask_image",
        needs_mask=True,
        canvas=Canvas(rule="1 megapixel in the source's shape, multiples of 16", area=MEGAPIXEL),
        notes=(f"{name} paints what a prompt describes: an instruction is taken for a description", _WHITE),
        figures="guessed from its signature",
        guessed=True,
    )
