"""A judge's processor: how its pictures are limited, and which texts it must not be told."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from edit_eval.errors import LoadError
from edit_eval.judges.judge_table import Family
from edit_eval.pretrained.processors import WITH_VIDEO, check_processor, load_processor, load_with_pillow

if TYPE_CHECKING:
    from edit_eval.judges.transformers import TransformersJudge
    from edit_eval.pretrained.folders import Location


def judge_processor(location: Location, family: Family | None, parameters: TransformersJudge.Parameters) -> Any:
    """Loads a model's processor for pictures and text, with the limits in `parameters`. Raises `LoadError`."""
    limits = (("min_pixels", parameters.min_pixels), ("max_pixels", parameters.max_pixels))
    areas = {name: area for name, area in limits if area is not None}
    settings = parameters.image_settings
    if family and family.processor in WITH_VIDEO and not settings:
        processor = load_processor(location.name, family.processor, areas, **location.keywords)
    elif family and family.images:
        settings = _settings(location, family, areas, settings)
        processor = load_with_pillow(location.name, family.processor, family.images, settings, **location.keywords)
    else:  # a relative that nobody has looked at: the library's own choice
        from transformers import AutoProcessor

        processor = AutoProcessor.from_pretrained(location.name, **areas, **settings, **location.keywords)
    check_processor(processor, parameters.model_name)
    if not getattr(processor, "chat_template", None):
        raise LoadError(
            f"{parameters.model_name} has no chat template (chat_template.jinja or chat_template.json), so how to "
            "prompt it is unknown; use an instruction-tuned model"
        )
    tokenizer = processor.tokenizer
    tokenizer.padding_side = "left"  # all rows end where their answers begin
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return processor


def _settings(location: Location, family: Family, areas: dict[str, int], given: dict[str, Any]) -> dict[str, Any]:
    """Settings of the image processor in place of those in the model's files."""
    import transformers

    images: Any = getattr(transformers, family.images)
    known = f"{family.models} has {', '.join(family.settings)}"
    if unknown := sorted(name for name in given if not hasattr(images, name)):
        raise LoadError(f"image_settings: {family.images} has no `{unknown[0]}`; {known}")
    if not areas:
        return given
    if not family.frames:
        raise LoadError(
            f"{min(areas)}: pictures are not limited by area for {family.models}; use image_settings: {known}"
        )
    stored, _ = images.get_image_processor_dict(location.name, **location.keywords)
    size = {**images.size, **(stored.get("size") or {}), **given.get("size", {})}
    for name, edge in (("min_pixels", "shortest_edge"), ("max_pixels", "longest_edge")):
        if name in areas:
            size[edge] = areas[name] * family.frames
    return {**given, "size": size}


def pixels(images: Any, family: Family | None) -> str:
    """What limits the pictures, in the image processor's words."""
    size = dict(getattr(images, "size", None) or {})
    if family is None or family.frames == 1:
        return f"{size.get('shortest_edge')} to {size.get('longest_edge')}"
    shown = {name: getattr(images, name, None) for name in family.settings}
    return ", ".join(f"{name}: {value}" for name, value in shown.items())


def control_tokens(processor: Any) -> re.Pattern[str]:
    """What would be read as a token of the chat, or as a picture's place, in a text that is only to be read."""
    control = {token.content for token in processor.tokenizer.added_tokens_decoder.values() if token.special}
    control |= {str(getattr(processor, f"{kind}_token", None) or "") for kind in ("image", "video", "audio")}
    alternatives = sorted(control - {""}, key=lambda text: (-len(text), text))
    return re.compile("|".join(map(re.escape, alternatives)) or "(?!)")
