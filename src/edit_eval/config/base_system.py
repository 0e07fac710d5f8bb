"""The base system's files, accepted as they are; a key without a meaning here names what replaced it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from edit_eval.config.faults import Faults, Place, unknown_key

TYPES = {
    "multi_gpu_qwen_image_edit": "qwen_image_edit",
    "qwen3_vl_subprocess": "qwen3_vl",
    "qwen3_vl_multi_gpu_subprocess": "qwen3_vl",
}
"""Its names of models -> ours. One GPU or six, this process or another: `params` says that here, not the name."""

_RUN_DIRECTORY = "every result lies in the run directory (`--run-dir`)"
_IMAGES = "every edit is kept in the run directory, under images/"
_RESUME = "a run is always kept and goes on when the same command is given again"
_LOGS = "each worker's log lies in the run directory, under logs/; `execution.progress` says what the screen shows"
_STATISTICS = "every report has n, mean, std, median, min and max"
_DEVICES = "give `device_ids` in each model's `params`"

REPLACED = {
    "logging": _LOGS,
    "evaluation.logs_dir": _LOGS,
    "runtime": "`execution` and each model's `params` say what runs where",
    "device": _DEVICES,
    "gpus": _DEVICES,
    "seed": "give `seed` in `diffusion_model.params`",
    "evaluation.seed": "give `seed` in `diffusion_model.params`",
    "output": _RUN_DIRECTORY,
    "output_dir": _RUN_DIRECTORY,
    "report": "`edit-eval report RUN` makes every form of the report",
    "metrics": _STATISTICS,
    "evaluation.metrics": _STATISTICS,
    "evaluation.output_dir": _RUN_DIRECTORY,
    "evaluation.results_dir": _RUN_DIRECTORY,
    "evaluation.images_dir": _IMAGES,
    "evaluation.save_images": _IMAGES,
    "evaluation.save_generated_images": _IMAGES,
    "evaluation.resume_from_checkpoint": _RESUME,
    "evaluation.checkpoint_path": _RESUME,
    "evaluation.enable_checkpoint": _RESUME,
    "evaluation.checkpoint_interval": _RESUME,
    "evaluation.batch_size": "give `batch_size` in `reward_model.params`",
    "evaluation.enable_batch_sync": "write `execution: {schedule: batch_sync}`",
    "benchmark.max_samples": "write `limit`: the first N of each category",
    "benchmark.num_samples": "write `limit`: the first N of each category",
    "*.params.script_path": "a worker needs no script; `python`, `conda_env` or `uv` name its environment",
    "*.params.compare_with_original": "`images: [source, edited]` shows both, `images: [edited]` the edit alone",
    "*.params.use_flash_attention": "write `attn_implementation: flash_attention_2`",
}
"""Its keys that mean nothing here -> what replaced them. Consulted only for a key that is unknown at that place."""

MODEL_SECTIONS = ("diffusion_model", "edit_models", "reward_model", "judges")


def explain_unknown_key(place: Place, names: Iterable[str], otherwise: str = "") -> str:
    """The text for an unknown key: what replaced it if it is the base system's, else the nearest of `names`."""
    parts = list(place)
    if parts[0] in MODEL_SECTIONS:
        parts[: 1 if parts[0] in ("diffusion_model", "reward_model") else 2] = ["*"]
    replaced = REPLACED.get(".".join(parts))
    return f"means nothing here: {replaced}" if replaced else unknown_key(place[-1], names, otherwise)


def models_in(raw: dict[str, Any]) -> Iterator[tuple[Place, dict[str, Any]]]:
    """(place, section) of every edit model and judge that is written as a mapping."""
    for root in ("diffusion_model", "reward_model"):
        if isinstance(raw.get(root), dict):
            yield (root,), raw[root]
    for root in ("edit_models", "judges"):
        if isinstance(raw.get(root), dict):
            for name, section in raw[root].items():
                if isinstance(section, dict):
                    yield (root, name), section


def translate(raw: dict[str, Any], faults: Faults, notes: list[str]) -> None:
    """Rewrites, in place, what only the base system's files have."""
    asked: dict[str, Place] = {}
    for place, section in models_in(raw):
        _translate_class(place, section, notes)
        params = section.get("params")
        if isinstance(params, dict) and isinstance(params.get("enable_batch_sync"), bool):
            asked.setdefault("batch_sync" if params["enable_batch_sync"] else "round_robin", place)
    if len(asked) > 1:
        faults.add((*asked["round_robin"], "params", "enable_batch_sync"), "the models ask for both; keep one")
    execution = raw.get("execution")
    for schedule, place in asked.items():
        if execution is None:
            raw["execution"] = execution = {"schedule": schedule}
        elif isinstance(execution, dict) and execution.setdefault("schedule", schedule) != schedule:
            notes.append(
                f"execution.schedule: {execution['schedule']} is used; enable_batch_sync in {'.'.join(place)}.params"
                f" asks for {schedule}"
            )


def _translate_class(place: Place, section: dict[str, Any], notes: list[str]) -> None:
    written = section.get("type")
    if not isinstance(written, str):
        return
    section["type"] = TYPES.get(written, written)
    params = section.get("params")
    shows_images = isinstance(params, dict) and "images" in params
    if section["type"] == "qwen3_vl" and is_base_class(section.get("class_path"), beside=written) and not shows_images:
        way = "`images: [edited]` in `params` is the base system's way"
        notes.append(f"{'.'.join(place)}: the judge sees source and edit; {way}")


def is_base_class(class_path: object, beside: str | None = None) -> bool:
    """Whether a class path leads into the base system's own source tree, `src`.

    That may be the name of a user's folder, too: without a registered type `beside` it only its models are meant.
    """
    return isinstance(class_path, str) and class_path.startswith("src." if beside else "src.models.")
