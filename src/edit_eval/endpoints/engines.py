"""Engines that serve models: how each is started, and its arguments for model, port, GPUs and memory.

Read from the argument parsers of the versions named at each row. A user's own arguments come last and win; anything
left out here has the engine's default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

EngineName = Literal["vllm", "sglang", "vllm-omni", "transformers", "command"]
Route = Literal["chat", "images"]
"""The kind of endpoint that a model class needs."""
PATHS: dict[Route, str] = {"chat": "/v1/chat/completions", "images": "/v1/images/edits"}

HEALTH, MODELS = "/health", "/v1/models"
"""Where a server reports that it is ready, and for which model."""
OURS = ("--host", "--port", "--uds", "--model", "--model-path", "--served-model-name")
"""Arguments for a server's address and its model's name: only edit-eval sets them."""

UNCOUNTED = (
    "--quantization",
    "-q",
    "--cpu-offload-gb",
    "--enable-cpu-offload",
    "--enable-layerwise-offload",
    "--enable-distributed-layerwise-offload",
    "--diffusion-quantization-config",
    "--diffusion-offload-config",
    "--dit-cpu-offload",
    "--dit-layerwise-offload",
)
"""Arguments that make weights take less GPU memory than their files say."""


@dataclass(frozen=True)
class ServingEngine:
    """One way to serve a model."""

    package: str
    """Its name for import and installation."""
    entry: str
    """`module:function` that the package's own command calls."""
    arguments: tuple[str, ...]
    """With `{model}`, `{host}` and `{port}`."""
    devices: tuple[str, ...] = ()
    """The argument for the number of GPUs, and its other names."""
    memory: str = ""
    """The argument for the share of each GPU's memory taken at the start; empty: it takes what it needs."""
    share: float | None = None
    """Default of that share; None: it is not fixed, or none is taken."""
    invariant: tuple[str, ...] = ()
    """The arguments that make an answer independent of what is computed beside it."""
    invariant_variables: Mapping[str, str] = field(default_factory=dict)
    """The same as environment variables."""
    models: str = MODELS
    """Where it lists its models' names; empty if it lists something else."""
    needs: tuple[str, ...] = ()
    """Packages that it imports only when it serves, so that installing it does not bring them."""


ENGINES: dict[tuple[EngineName, Route], ServingEngine] = {
    # vllm 0.33.0: entry_points.txt; vllm/entrypoints/common/cli_args.py:293 host, :295 port, :439 model_tag (without
    # --host it listens at every address); vllm/engine/arg_utils.py:1209 tensor parallel, :1389 memory;
    # vllm/config/cache.py:215 its default. The share is of all memory, and a start with less free is refused
    # (vllm/v1/worker/utils.py:766). Batch invariance:
    # vllm/envs.py:638. GET /health is 503 when the engine is dead; GET /v1/models has the model's name.
    ("vllm", "chat"): ServingEngine(
        "vllm",
        "vllm.entrypoints.cli.main:main",
        ("serve", "{model}", "--host", "{host}", "--port", "{port}"),
        devices=("--tensor-parallel-size", "-tp"),
        memory="--gpu-memory-utilization",
        share=0.92,
        invariant_variables={"VLLM_BATCH_INVARIANT": "1"},
    ),
    # sglang 0.5.23: entry_points.txt; sglang/cli/serve.py (chooses between its two servers by the model);
    # sglang/srt/arg_groups/fields/model.py:51 model_path, serving.py:65 host, :66 port, parallel.py:45 tp_size,
    # schedule.py:27 mem_fraction_static. Without it the share follows from the GPU and the model (memory_hook.py:281),
    # .95 where nothing is known; a start takes that much in any case. GET /health is 503 until it is warm. Batch
    # invariance: sglang/srt/arg_groups/fields/exec_.py:1153.
    ("sglang", "chat"): ServingEngine(
        "sglang",
        "sglang.cli.main:main",
        ("serve", "--model-path", "{model}", "--host", "{host}", "--port", "{port}"),
        devices=("--tp-size", "--tensor-parallel-size", "--tp"),
        memory="--mem-fraction-static",
        share=0.95,
        invariant=("--enable-deterministic-inference",),
    ),
    # sglang 0.5.23: sglang/multimodal_gen/runtime/server_args/server_args.py:2249 model_path, :2433 num_gpus, :3118
    # host, :3124 port; it has no share of memory. It takes another port where this one is taken (:3144 strict_ports),
    # which is seen by whose port it is. GET /health is 503 until it is warm.
    ("sglang", "images"): ServingEngine(
        "sglang",
        "sglang.cli.main:main",
        ("serve", "--model-path", "{model}", "--host", "{host}", "--port", "{port}"),
        devices=("--num-gpus",),
    ),
    # vllm-omni 0.30.0: entry_points.txt; vllm_omni/entrypoints/cli/main.py:15 (without --omni it is vllm's own),
    # cli/serve.py:336 omni; host, port and memory as vllm's, whose parser it extends (:325); parallelism by
    # config/omni_config.py:253. A diffusion stage takes what it needs: its share (diffusion/data.py:1112, .9) bounds
    # only a cache of keys and values. GET /health is 503 without an engine (openai/api_server.py:1937).
    ("vllm-omni", "images"): ServingEngine(
        "vllm_omni",
        "vllm_omni.entrypoints.cli.main:main",
        ("serve", "{model}", "--omni", "--host", "{host}", "--port", "{port}"),
        devices=("--tensor-parallel-size", "-tp"),
    ),
    # transformers 5.23.0: entry_points.txt; transformers/cli/serve.py:44 force_model, :111 host, :112 port. It spreads
    # a model over its GPUs by itself (:88 device) and takes what it needs. It listens when the model is loaded; its
    # /v1/models lists what the Hub's cache holds (serving/model_manager.py:484), and is a 500 where there is no cache.
    ("transformers", "chat"): ServingEngine(
        "transformers",
        "transformers.cli.transformers:main",
        ("serve", "{model}", "--host", "{host}", "--port", "{port}"),
        models="",
        needs=("torch", "accelerate", "fastapi", "uvicorn"),
    ),
}


def find_argument(arguments: Sequence[str], names: Sequence[str]) -> str | None:
    """Returns the value of the last of `arguments` with one of these names; empty if it has none, None if absent."""
    last = None
    for number, written in enumerate(arguments):
        name, equals, value = written.partition("=")
        if name.startswith("-") and name.replace("_", "-") in names:
            following = arguments[number + 1 : number + 2]
            last = value if equals else following[0] if following and not following[0].startswith("--") else ""
    return last
