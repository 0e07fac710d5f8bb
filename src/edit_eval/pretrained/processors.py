"""Processors of the Qwen-VL family for pictures and text only: no video, and so no torchvision.

The libraries' own processors also load a video processor, which needs torchvision built for the very torch beside it.
Pictures are resized with Pillow here, with or without torchvision, so that the same picture gives the same numbers in
every environment (the two differ by up to 2 of 255 levels).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edit_eval.errors import LoadError

IMAGE_BACKEND = "pil"
WITH_TORCHVISION = ("TorchvisionBackend", "BaseImageProcessorFast")
"""The base class of image processors that scale with torchvision, in transformers 5 and 4. Their own names do not tell:
a `Qwen2VLImageProcessor` is one of them in version 5, and scales with Pillow in version 4."""

WITH_VIDEO = ("Qwen2VLProcessor", "Qwen2_5_VLProcessor", "Qwen3VLProcessor")
"""The processor classes of transformers that also load a video processor."""


def image_only(name: str) -> Any:
    """Returns the class of transformers called `name`, without its video processor.

    It keeps the name and the module, so that the library's own class can load what it saves.
    """
    import transformers

    parent = getattr(transformers, name)

    def __init__(
        self: Any, image_processor: Any = None, tokenizer: Any = None, chat_template: Any = None, **_: Any
    ) -> None:
        for kind in ("image", "video"):
            token = getattr(tokenizer, f"{kind}_token", None) or f"<|{kind}_pad|>"
            setattr(self, f"{kind}_token", token)
            setattr(self, f"{kind}_token_id", tokenizer.convert_tokens_to_ids(token))
        transformers.ProcessorMixin.__init__(self, image_processor, tokenizer, chat_template=chat_template)

    # transformers 5 takes a processor's parts from the signature of `__init__`, transformers 4 from `attributes`.
    body = {"__init__": __init__, "__module__": parent.__module__, "attributes": ["image_processor", "tokenizer"]}
    return type(name, (parent,), body)


def image_processor_class() -> Any:
    """Returns the image processor of the Qwen-VL family that resizes with Pillow."""
    import transformers

    try:
        return transformers.Qwen2VLImageProcessorPil
    except AttributeError:  # transformers 4: the class without `Fast` in its name
        return transformers.Qwen2VLImageProcessor


def load_processor(source: str, class_name: str, pixels: dict[str, int], **keywords: str) -> Any:
    """Loads a processor for pictures and text. `pixels` overrides `min_pixels` and `max_pixels` (areas in pixels).

    `keywords` (`subfolder`, `revision`) go to `from_pretrained`.
    """
    processor = image_only(class_name).from_pretrained(source, **keywords)
    processor.image_processor = _load_image_processor(source, pixels, keywords)
    return processor


def load_any_processor(source: str, class_name: str, **keywords: str) -> Any:
    """Loads a processor of any class of transformers so that it scales pictures with Pillow, torchvision or not.

    Returns None for a class that takes no pictures (a tokenizer): the library may load it. `keywords` as above.
    """
    import transformers

    if class_name == "AutoProcessor":  # the class itself would also load a video processor
        settings, _ = image_processor_class().get_image_processor_dict(source, **keywords)
        class_name = settings.get("processor_class") or transformers.ProcessorMixin.get_processor_dict(
            source, **keywords
        )[0].get("processor_class", class_name)
    if class_name in WITH_VIDEO:
        return load_processor(source, class_name, {}, **keywords)
    if images := _with_pillow(class_name):
        return images.from_pretrained(source, **keywords)
    processor_class: Any = getattr(transformers, class_name, None)
    if transformers.ProcessorMixin not in getattr(processor_class, "__mro__", ()):
        return None
    processor = processor_class.from_pretrained(source, **keywords)
    if images := _with_pillow(type(getattr(processor, "image_processor", None)).__name__):
        processor.image_processor = images.from_pretrained(source, **keywords)
    return processor


def _with_pillow(class_name: str) -> Any:
    """Returns the variant of an image processor's class that resizes with Pillow; None if transformers has only one."""
    import transformers

    return getattr(transformers, class_name.removesuffix("Pil").removesuffix("Fast") + "Pil", None)


def _load_image_processor(source: str, pixels: dict[str, int], keywords: dict[str, str]) -> Any:
    images = image_processor_class()
    settings, _ = images.get_image_processor_dict(source, **keywords)
    # The same two areas have two names. transformers 4 ignores `size` if the file lacks the older names.
    size = settings.get("size") or {}
    for name, edge in (("min_pixels", "shortest_edge"), ("max_pixels", "longest_edge")):
        area = pixels.get(name) or settings.get(name) or size.get(edge)
        if area:
            settings[name] = size[edge] = area
    return images.from_dict({**settings, "size": size} if len(size) == 2 else settings)


def load_with_pillow(source: str, class_name: str, images: str, settings: Mapping[str, Any], **keywords: str) -> Any:
    """Loads a processor of a class of transformers for pictures and text only, scaled by its class `images`.

    `settings` are the image processor's own. The image processor also takes the place of those for video or sound,
    which are only asked for the names of their settings.
    """
    import transformers

    parent: Any = getattr(transformers, class_name)
    pictures = getattr(transformers, images).from_pretrained(source, **settings, **keywords)

    def parts(cls: Any, source: str, /, processor_dict: Any = None, **keywords: Any) -> list[Any]:
        keywords.pop("subfolder", None)
        tokenizer = transformers.AutoTokenizer.from_pretrained(source, **keywords)
        return [tokenizer if "tokenizer" in name else pictures for name in cls.get_attributes()]

    body = {
        "__module__": parent.__module__,
        "_get_arguments_from_pretrained": classmethod(parts),
        "check_argument_for_proper_class": lambda self, name, argument: type(argument),
    }
    loaded: Any = type(class_name, (parent,), body)
    return loaded.from_pretrained(source, **keywords)


def check_processor(processor: Any, model: str) -> Any:
    """Returns the processor; raises `LoadError` for a tokenizer, which `AutoProcessor` silently falls back to."""
    if getattr(processor, "image_processor", None) is None or getattr(processor, "tokenizer", None) is None:
        raise LoadError(
            f"{model}: transformers finds no image processor for it, only a {type(processor).__name__}; "
            "preprocessor_config.json or processor_config.json of the model is missing or names an unknown class"
        )
    return processor


def image_backend(processor: Any) -> str:
    """Returns what scales the pictures, and the class: `pil (Qwen2VLImageProcessorPil)`."""
    kinds = {kind.__name__ for kind in type(processor).__mro__}
    return f"{IMAGE_BACKEND if kinds.isdisjoint(WITH_TORCHVISION) else 'torchvision'} ({type(processor).__name__})"
