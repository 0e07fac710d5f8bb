"""Adapters (LoRA) of a pipeline: weights that are added, and the steps and the schedule that they were trained for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from edit_eval.errors import LoadError
from edit_eval.pretrained import folders


@dataclass
class Lora:
    """One adapter."""

    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}

    name: str
    """A file, a folder, or a name on the Hugging Face Hub."""
    file: str | None = None
    """Of a folder or a repository, the file."""
    revision: str | None = None
    """Branch, tag or commit on the Hub."""
    weight: float = 1.0
    """By which it is multiplied."""
    num_inference_steps: int | None = None
    """Steps that it was trained for; the model's own parameter counts more."""
    guidance: dict[str, float] = field(default_factory=dict)
    """Weights that it was trained for; the model's own count more."""
    scheduler: dict[str, Any] = field(default_factory=dict)
    """Entries of the scheduler's configuration; `_class_name` is another scheduler."""


def lora_revision(lora: Lora) -> str:
    """What decides an adapter's weights besides its name: a digest of its file or folder, or the revision asked for.

    Raises `ConfigurationError` for the path of no file and no folder.
    """
    path = Path(lora.name).expanduser()
    if path.is_file():
        return folders.file_digest(path)
    if lora.file and (path / lora.file).is_file():
        return folders.file_digest(path / lora.file)
    return folders.revision(lora.name, lora.revision, "loras", "the adapter")


def known_to(pipeline_class: Any, loras: Sequence[Lora]) -> None:
    """Raises `LoadError` where the pipeline takes no adapters, `ModuleNotFoundError` without peft: before minutes of
    loading."""
    if loras and not hasattr(pipeline_class, "load_lora_weights"):
        raise LoadError(f"loras: {pipeline_class.__name__} takes none")
    if loras:
        import peft  # noqa: F401


def apply(pipeline: Any, loras: Sequence[Lora]) -> None:
    """Loads the adapters, weighs them, and changes the schedule as they ask, in their order."""
    if not loras:
        return
    import diffusers

    names = [f"lora_{number}" for number in range(len(loras))]
    for name, lora in zip(names, loras, strict=True):
        path = Path(lora.name).expanduser()
        keywords = {"weight_name": lora.file, "revision": lora.revision}
        source: str = lora.name
        if path.is_file():
            source, keywords["weight_name"] = str(path.parent), path.name
        given = {key: value for key, value in keywords.items() if value is not None}
        pipeline.load_lora_weights(source, adapter_name=name, use_safetensors=True, **given)
        if lora.scheduler:
            own = dict(lora.scheduler)
            scheduler = getattr(diffusers, str(own.pop("_class_name", type(pipeline.scheduler).__name__)))
            pipeline.scheduler = scheduler.from_config(pipeline.scheduler.config, **own)
    listed = {adapter for adapters in pipeline.get_list_adapters().values() for adapter in adapters}
    if missing := [lora.name for name, lora in zip(names, loras, strict=True) if name not in listed]:
        raise LoadError(f"loras: {missing[0]} has no weights for {type(pipeline).__name__}")
    pipeline.set_adapters(names, [lora.weight for lora in loras])
