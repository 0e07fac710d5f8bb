"""Modular pipelines of diffusers: blocks with inputs in place of a call with arguments, and parts that may lie in other
repositories."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

from edit_eval.edit_models.presets import Pipeline, Settings
from edit_eval.errors import LoadError
from edit_eval.pretrained.folders import Location


def assembled(pipeline_class: Any, location: Location, row: Pipeline, settings: Settings) -> Any:
    """The pipeline without its parts; the block that rewrites prompts is there only if `call` asks for it."""

    def made(blocks: Any = None) -> Any:
        return pipeline_class(blocks=blocks, pretrained_model_name_or_path=location.name, **location.keywords)

    pipeline = made()
    if not row.rewriting or settings.call.get(row.rewriting):
        return pipeline
    blocks = pipeline.blocks
    if row.rewriting not in blocks.sub_blocks:
        raise LoadError(f"model_name: {row.name} has no block {row.rewriting} that could be left out")
    blocks.sub_blocks.pop(row.rewriting)
    return made(blocks)


def inputs_of(pipeline: Any, row: Pipeline) -> Mapping[str, Any]:
    """By name, what may be passed to the call: the inputs of all blocks, and the block that rewrites prompts."""
    inputs = {one.name: one for one in pipeline.blocks.inputs if one.name}
    return inputs | ({row.rewriting: row.rewriting} if row.rewriting else {})


def caller(row: Pipeline) -> Callable[..., Any]:
    """The call, with the result as an attribute, as standard pipelines have it."""

    def call(pipeline: Any, **given: Any) -> Any:
        given.pop(row.rewriting, None)  # a block, which is there or not
        return SimpleNamespace(**pipeline(output=[row.result], **given))

    return call


def loops_of(pipeline: Any) -> list[Any]:
    """All that has a progress bar: a standard pipeline itself, of a modular one each loop among its blocks."""
    if hasattr(pipeline, "progress_bar"):
        return [pipeline]
    found, waiting = [], [pipeline._blocks]
    while waiting:
        block = waiting.pop()
        found += [block] if hasattr(block, "progress_bar") else []
        waiting += getattr(block, "sub_blocks", {}).values()
    return found


def part_locations(pipeline: Any, location: Location) -> dict[str, tuple[Location, dict[str, Any]]]:
    """Where each part lies that the blocks need and that is not made on the spot, and its own keywords of loading."""
    found = {}
    for name in pipeline.pretrained_component_names:
        spec = pipeline.get_component_spec(name)
        source = spec.pretrained_model_name_or_path
        if not source:
            raise LoadError(f"model_name: {location.name} does not say where its {name} lies")
        commit = spec.revision or (location.commit if source == location.name else "")
        kind = [spec.type_hint.__module__.split(".")[0], spec.type_hint.__name__]
        own = {"subfolder": spec.subfolder or "", **({"variant": spec.variant} if spec.variant else {})}
        found[name] = (Location(source, commit, {name: kind}), own)
    return found


def load_rest(pipeline: Any, parts: Mapping[str, Any], commits: Mapping[str, str]) -> None:
    """Hands the pipeline its `parts`, and has it load the others (tokenizers, schedulers), each at its commit. Raises
    `LoadError` where one is missing then: the library only logs it."""
    pipeline.update_components(**parts)
    revisions = {name: commit or None for name, commit in commits.items()}
    pipeline.load_components(pipeline.null_component_names, revision=revisions)
    if missing := pipeline.null_component_names:
        raise LoadError(f"{', '.join(missing)}: could not be loaded; the worker's log says why")
