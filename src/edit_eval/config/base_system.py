"""Runs the base system's files unchanged: tables that map its names and keys to ours, and the code that applies them.

The rows come from its public files (Thomas-uestc/image_edit_benchmark on GitHub: `config_template.yaml`,
`config_multi_gpu.yaml`, `config_multi_gpu_subprocess.yaml`, `config_full_multi_gpu.yaml`, `main.py`, and the classes
that read them), and from its documents and users' files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Literal

from edit_eval.config.faults import Faults, Place, did_you_mean, format_value
from edit_eval.config.placement import PLACEMENT_KEYS_BEFORE
from edit_eval.config.yaml_text import ensure_mapping
from edit_eval.json_values import Unchecked
from edit_eval.text import Text, join_texts

TYPES = {
    "multi_gpu_qwen_image_edit": "qwen_image_edit",
    "qwen3_vl_subprocess": "qwen3_vl",
    "qwen3_vl_multi_gpu_subprocess": "qwen3_vl",
    "example_model": "copy_source",
    "example_reward": "testing",
}
"""Its model names -> ours. Here `params` says how many GPUs and which process, not the name."""

CLASSES = {
    "QwenImageEditModel": "qwen_image_edit",
    "MultiGPUQwenImageEditModel": "qwen_image_edit",
    "Qwen3VLRewardModel": "qwen3_vl",
    "Qwen3VLSubprocessRewardModel": "qwen3_vl",
    "Qwen3VLMultiGPUSubprocessRewardModel": "qwen3_vl",
    "ExampleDiffusionModel": "copy_source",  # a placeholder: it returns the source
    "ExampleRewardModel": "testing",  # a placeholder: its scores are drawn at random
}
"""Its classes, without their modules -> our types."""

OURS = frozenset((*TYPES.values(), *CLASSES.values()))

METRICS = ("mean", "std", "median", "min", "max")

_STATISTICS = Text("every report shows n, mean, std, median, min and max")
_TEMPLATE = Text("a placeholder in the template")
_DEVICES = Text("give `device_ids` in each model's `params`")
_SEED = Text("give `seed` in `diffusion_model.params`")
_LIMIT = Text("write `limit`: the first N of each category")

PASSED_OVER = {
    key: why
    for why, keys in {
        Text("all results go to the run directory, `--run-dir`"): (
            "output output_dir evaluation.output_dir evaluation.results_dir"
        ),
        Text("every edit is kept there, in images/"): (
            "evaluation.images_dir evaluation.save_images evaluation.save_generated_images"
        ),
        Text("each worker's log is kept there, in logs/; `execution.progress` sets what is shown"): (
            "evaluation.logs_dir logging"
        ),
        Text("a run is always kept; rerun the same command to resume"): (
            "evaluation.resume_from_checkpoint evaluation.checkpoint_path "
            "evaluation.enable_checkpoint evaluation.checkpoint_interval"
        ),
        _STATISTICS: "evaluation.metrics metrics",
        Text("`edit-eval report RUN` writes the report in every form"): "report",
        Text("`execution` and each model's `params` set what runs where"): "runtime",
        Text("a worker needs no script; `python`, `conda_env` or `uv` name its environment"): "*.params.script_path",
    }.items()
    for key in keys.split()
}
"""Its keys that have no effect here -> what replaced them. Those of `params` apply only to the types above."""

PASSED_OVER_IN_THE_TEMPLATE = {
    "*.params.model_name": _TEMPLATE,
    "*.params.temperature": _TEMPLATE,
    "prompts.category_[1-5]": Text("{}; the rubrics of the five categories are packaged", _TEMPLATE),
}
"""More such keys, in a file whose models are the placeholders of its template."""

WRITTEN_OTHERWISE: dict[str, dict[str, tuple[str, dict[bool, Any]]]] = {
    "qwen3_vl": {
        "compare_with_original": ("images", {True: ["source", "edited"], False: ["edited"]}),
        "use_flash_attention": ("attn_implementation", {True: "flash_attention_2", False: "sdpa"}),
    }
}
"""Its switches in the `params` of our types -> our key, and the values for true and false."""

REFUSED = {
    "seed": _SEED,
    "evaluation.seed": _SEED,
    "device": _DEVICES,
    "gpus": _DEVICES,
    "metrics": Text("{}, and no others; leave it out", _STATISTICS),
    "evaluation.metrics": Text("{}, and no others; leave it out", _STATISTICS),
    "evaluation.batch_size": Text("give `batch_size` in `reward_model.params`"),
    "evaluation.enable_batch_sync": Text("write `execution: {{schedule: batch_sync}}`"),
    "benchmark.max_samples": _LIMIT,
    "benchmark.num_samples": _LIMIT,
    "*.params.script_path": Text("leave it out; `python`, `conda_env` or `uv` name a model's environment"),
    "*.params.compare_with_original": Text("this class's own parameters say what the judge is shown"),
    "*.params.use_flash_attention": Text("this class's own parameters set its attention"),
}
"""Its keys that would change results but mean nothing at that place -> what to write instead. Consulted only for keys
that are unknown there."""

FLAGS = {
    "--config": Text("leave it out: `edit-eval run CONFIG`"),
    "--resume": Text("leave it out: rerun the same command to resume"),
    "--dry-run": Text(
        "`edit-eval doctor CONFIG` checks whether it would run, `edit-eval plan CONFIG` predicts how long"
    ),
    "--output": Text("use `--run-dir DIR`"),
    "--output-dir": Text("use `--run-dir DIR`"),
    "--max-samples": Text("`--limit N` takes the first N of each category"),
    "--gpu": Text("`--devices 0,2,3` selects the GPUs"),
    "--device": Text("`--devices 0,2,3` selects the GPUs"),
}
"""Flags of its command line, and of similar programs -> ours."""

NOISE = Text("noise is drawn on the CPU, not on the GPU, so no edit has the same pixels")
SEES_MORE = Text("the judge sees source and edit (`protocol: {{images: [edited]}}` shows only the edit)")
GREEDY = Text(
    "the judge answers greedily, where theirs drew its answers (temperature 0.7, top_p 0.8), as "
    "`temperature: 0.7` nearly does here"
)
OTHERWISE = (
    Text("a sample's seed is `seed` + its index in the whole benchmark, not within its category"),
    Text("failures are counted, never scored"),
)
"""Differences in results: the original made its `torch.Generator` on the model's device, and called `generate` without
`do_sample`, so that the generation_config of Qwen3-VL-Instruct decided."""

ModelKind = Literal["edit_model", "judge"]
MODELS: dict[ModelKind, tuple[str, str]] = {
    "edit_model": ("diffusion_model", "edit_models"),
    "judge": ("reward_model", "judges"),
}
"""The keys for one model of a kind, the base system's, and for several by name, ours. Either replaces the other."""
ONE_MODEL, SEVERAL_MODELS = zip(*MODELS.values(), strict=True)


def explain_unknown_key(place: Place, names: Iterable[str], otherwise: str) -> str:
    """Returns the error for an unknown key: what to write instead if it is the base system's, else the nearest name.

    `otherwise` is used if no name is near.
    """
    parts = list(place)
    if parts[0] in (*ONE_MODEL, *SEVERAL_MODELS):
        parts[: 1 if parts[0] in ONE_MODEL else 2] = ["*"]
    if instead := REFUSED.get(".".join(parts)):
        return Text("has no effect here: {}", instead)
    return Text("unknown key{}", did_you_mean(place[-1], names) or Text("; {}", otherwise))


def find_models(raw: Unchecked) -> Iterator[tuple[Place, Unchecked]]:
    """Yields (place, section) of every edit model and judge written as a mapping."""
    places: list[Place] = [(root,) for root in ONE_MODEL]
    places += [(root, name) for root in SEVERAL_MODELS if isinstance(raw.get(root), dict) for name in raw[root]]
    for root, *name in places:
        section = raw[root][name[0]] if name else raw.get(root)
        if isinstance(section, dict):
            yield (root, *name), section


def is_base_class(class_path: object) -> bool:
    """True if a class path is in the base system's source tree, `src`; a user's folder may have that name, too."""
    return isinstance(class_path, str) and class_path.startswith(("src.models.", "src.benchmarks."))


class BaseFile:
    """Translates the base system's parts of a configuration in place, and reports them in a few lines."""

    def __init__(self) -> None:
        self._found = False
        self._passed_over: dict[str, list[str]] = {}
        """Replacement -> the keys without effect."""
        self._replaced: list[str] = []
        self._otherwise: list[str] = []
        """Differences of models from those they replace."""

    def translate(self, raw: Unchecked, faults: Faults, notes: list[str]) -> None:
        """Rewrites, in place, everything that only the base system's files have."""
        models = list(find_models(raw))
        if isinstance(benchmark := raw.get("benchmark"), dict):
            self._translate_type(("benchmark",), benchmark)
        of_the_template = [self._translate_type(place, section) for place, section in models]
        rows = {**PASSED_OVER, **(PASSED_OVER_IN_THE_TEMPLATE if any(of_the_template) else {})}
        for pattern, why in rows.items():
            path, _, key = pattern.rpartition(".")
            if path == "*.params":
                for place, section in models:
                    if str(section.get("type")) in OURS:
                        self._skip_keys(section.get("params"), key, (*place, "params"), why)
            else:
                self._skip_keys(raw.get(path) if path else raw, key, (path,) if path else (), why)
        for place, section in models:
            self._translate_params(place, section, faults)
            self._compare(".".join(place), section, raw.get("protocol"))
        _translate_schedule(raw, faults, notes)

    def _compare(self, place: str, section: Mapping[str, Any], protocol: object) -> None:
        """Notes differences in results that the file does not mention."""
        params = section.get("params")
        params = params if isinstance(params, dict) else {}
        if section.get("type") == "qwen_image_edit":
            self._otherwise.append(Text("{}: {}", place, NOISE))
        if section.get("type") != "qwen3_vl":
            return
        said = (params, section.get("protocol"), protocol)
        if not any(isinstance(keys, dict) and keys.get("images") is not None for keys in said):
            self._otherwise.append(Text("{}: {}", place, SEES_MORE))
        if not params.get("temperature"):
            self._otherwise.append(Text("{}: {}", place, GREEDY))

    def notes(self, others: Sequence[str]) -> list[str]:
        """Returns the notes for the user, the `others` included; merged into one if anything was the base system's."""
        if not self._found:
            return [*others]
        said = [Text("unlike the original scripts: {:; }", [*self._otherwise, *OTHERWISE])]
        if self._replaced:
            said.append(Text("classes of the original scripts are replaced: {}", self._replaced))
        if self._passed_over:
            each = join_texts(Text("{} ({})", keys, why) for why, keys in self._passed_over.items())
            said.append(Text("keys of the original scripts that have no effect here: {}", each))
        return [join_texts([*said, *others])]

    def _skip_keys(self, section: object, pattern: str, place: Place, why: str) -> None:
        if not isinstance(section, dict):
            return
        for key in [key for key in section if fnmatchcase(key, pattern)]:
            if key == "metrics" and not _is_usual(section[key]):
                continue
            if section.pop(key) is not None:  # null is the same as not given
                self._found = True
                self._passed_over.setdefault(why, []).append(".".join((*place, key)))

    def _translate_type(self, place: Place, section: Unchecked) -> bool:
        """Sets a section's type to the one that replaced its type or class; True if that was a placeholder."""
        written, class_path = section.get("type"), section.get("class_path")
        name, theirs = written, is_base_class(class_path)
        if written is None and theirs:
            name = CLASSES.get(str(class_path).rpartition(".")[2])
        elif isinstance(written, str):
            name = TYPES.get(written, written)
        if name is None:
            return False
        section["type"] = name
        self._found |= theirs or name != written
        if theirs:
            del section["class_path"]
            self._replaced.append(Text("{:.} by type {}", place, name))
        return name != written and name in ("copy_source", "testing")

    def _translate_params(self, place: Place, section: Unchecked, faults: Faults) -> None:
        params, ours = section.get("params") or {}, section.get("type")
        if not isinstance(params, dict) or not isinstance(ours, str):
            return
        self._found |= any(params.get(key) is not None for key in PLACEMENT_KEYS_BEFORE)
        for key, (our_key, values) in WRITTEN_OTHERWISE.get(ours, {}).items():
            value = params.pop(key, None)
            if value is None:
                continue
            self._found = True
            if not isinstance(value, bool):
                faults.add((*place, "params", key), Text("must be true or false, not {}", format_value(value)))
            elif params.setdefault(our_key, values[value]) != values[value]:
                faults.add(
                    (*place, "params", key), Text("`{}` is also given and says otherwise; keep that one", our_key)
                )


def _is_usual(metrics: object) -> bool:
    """True if all metrics asked for are in every report anyway."""
    return metrics is None or (isinstance(metrics, list) and all(metric in METRICS for metric in metrics))


def _translate_schedule(raw: Unchecked, faults: Faults, notes: list[str]) -> None:
    """Turns the models' `enable_batch_sync` into the run's schedule."""
    asked: dict[str, Place] = {}
    for place, section in find_models(raw):
        params = section.get("params")
        if isinstance(params, dict) and isinstance(params.get("enable_batch_sync"), bool):
            asked.setdefault("batch_sync" if params["enable_batch_sync"] else "round_robin", place)
    if len(asked) > 1:
        faults.add(
            (*asked["round_robin"], "params", "enable_batch_sync"), Text("the models ask for both; keep only one")
        )
    for schedule, place in asked.items():
        execution = ensure_mapping(raw, "execution")
        if isinstance(execution, dict) and execution.setdefault("schedule", schedule) != schedule:
            notes.append(
                Text(
                    "execution.schedule: {} is used; enable_batch_sync in {:.}.params asks for {}",
                    execution["schedule"],
                    place,
                    schedule,
                )
            )
