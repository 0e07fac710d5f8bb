"""What a rehearsal loads for each model: the weights on disk, or a stand-in that is made of the configurations."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml

from edit_eval.config.components import import_class
from edit_eval.config.schema import Configuration, ModelSection
from edit_eval.errors import ConfigurationError
from edit_eval.execution.machine.environments import import_path, install_line, interpreter
from edit_eval.json_values import Json, JsonObject
from edit_eval.plugins.diffusers.in_worker.preset_lookup import index_of, settings_of
from edit_eval.plugins.preparation.cards import has_published_weights
from edit_eval.plugins.preparation.fitting import PAIR_TOKENS, checkpoint_of, weights_of
from edit_eval.plugins.preparation.probing import LOADERS
from edit_eval.plugins.preparation.weights import BYTES, Weights
from edit_eval.plugins.rehearse.in_worker.stand_in import WEIGHTS, StandInMade
from edit_eval.pretrained.folders import find_cached_folder, is_hub_name, local_folder
from edit_eval.privacy import hide_secrets
from edit_eval.records import model_title
from edit_eval.reporting.formats import duration
from edit_eval.text import Items, Text
from edit_eval.workers.model_class import PlainParameters, make_parameters

# -- configurations of published models, which are data, and what of a model stays when it is cut to few layers --

CONFIGURATIONS: Mapping[str, Mapping[str, Any]] = yaml.load(
    Path(__file__).with_name("in_worker").joinpath("configurations.yaml").read_text("utf-8"),
    getattr(yaml, "CSafeLoader", yaml.SafeLoader),
)
"""By their names on the Hub, each in the form of its `config.json` files."""

SMALL: Mapping[str, int] = {"canvas": 4096, "num_inference_steps": 2, "max_new_tokens": 8, "thinking_tokens": 8}
"""The most of what is asked of a model that is cut to few layers, on a CPU: what ends."""
SMALL_CALLS: Mapping[str, Mapping[str, Json]] = {
    name: {"_auto_resize": False} for name in ("FluxKontextPipeline", "FluxKontextInpaintPipeline")
}
"""By pipeline, what a small picture needs of its call: its table of shapes has nothing below a megapixel."""
MEGAPIXEL_TOKENS = 2 * 1024 * 1024 // 16**2
"""Of a source and an edit of a megapixel, of 16 x 16 pixels each, as most pipelines have them."""

LEAST_LAYERS: Mapping[str, Mapping[str, int]] = {
    "Flux2Pipeline": {"text_encoder": 31},
    "Flux2KleinPipeline": {"text_encoder": 28},
    "Flux2KleinInpaintPipeline": {"text_encoder": 28},
    "Flux2KleinKVPipeline": {"text_encoder": 28},
    "BriaFibo2Pipeline": {"text_encoder": 36},
}
"""By pipeline and part: layers that must stay when others are cut, as the pipeline takes the numbers of a layer in the
middle (the signatures in diffusers 0.42.1: 10, 20 and 30; 9, 18 and 27; up to 35)."""


SECONDS = 600.0
"""Longest that making a stand-in may take; the slowest of the table takes half a minute, its imports included."""
SMALL_FILES = '--include "*.json" "*.txt" "*.jinja" "*.model"'
BATCH_SECONDS = 30.0
"""What a judge's batch may take a CPU on which less is asked."""
STEPPING = ("transformer", "unet")
"""The networks that compute at each step."""
DUMMY = ("vllm", "sglang")
"""Engines that serve random weights where they are asked for with `--load-format dummy`."""

# The layers beside a model, then the program; as a worker is started.
MAKER = """import sys
sys.path[:] = [sys.argv[1]] + [p for p in sys.path if p]
from edit_eval.plugins.rehearse.in_worker.stand_in import main
main()
"""


@dataclass
class StandIns:
    """A configuration whose weights can all be loaded, and how that came about."""

    configuration: Configuration
    loads: dict[str, str] = field(default_factory=dict)
    """By model (key): `stand-in`, `weights on disk`, `as it is`, `server`."""
    cut: dict[str, int] = field(default_factory=dict)
    """By model, how many layers were left out."""
    notes: list[str] = field(default_factory=list)
    small: bool = False
    """True if less is asked of one, as it runs on a CPU."""
    folders: dict[str, tuple[str, StandInMade]] = field(default_factory=dict)
    """By what it is made of, a stand-in's folder and what came of it: models that load the same share one."""

    @property
    def models_to_fill(self) -> frozenset[str]:
        """The models whose weights are to be drawn once they are loaded."""
        return frozenset(key for key, what in self.loads.items() if what == "stand-in")


def is_half_here(weights: Weights) -> bool:
    """True if some weights are here, or a link to some, and a run would find something wrong with them."""
    if weights.folder is None or not weights.faults:
        return False
    return weights.stored > 0 or any(path.suffix in WEIGHTS for path in weights.folder.rglob("*"))


def stand_ins(
    configuration: Configuration, folder: Path, layers: int | None, texts: Sequence[str], on_cpu: Container[str] = ()
) -> StandIns:
    """Makes a stand-in under `folder` for every model whose weights are not here, or that is to have few `layers`.

    With few layers those `on_cpu` (keys) are asked for small pictures, few steps and short answers (`SMALL`).
    `texts` are what a tokenizer of our own is trained on, where none is here. Raises `ConfigurationError` for a model
    of whose configuration nothing is known, with what to download.
    """
    made = StandIns(configuration)
    sections = {}
    for key, section in configuration.models.items():
        sections[key] = _section(made, key, section, folder / key.replace(":", "-"), layers, texts, key in on_cpu)
    made.configuration = configuration.model_copy(
        update={
            "edit_models": {name: sections[f"edit:{name}"] for name in configuration.edit_models},
            "judges": {name: sections[f"judge:{name}"] for name in configuration.judges},
        }
    )
    return made


def _section(
    made: StandIns,
    key: str,
    section: ModelSection,
    target: Path,
    layers: int | None,
    texts: Sequence[str],
    on_cpu: bool,
) -> ModelSection:
    """Returns a model's section as it is rehearsed."""
    own, served = _class_of(made.configuration, section), section.own_server
    if served is None and not _loads_by_name(own, section):
        made.loads[key] = "server" if _asks_a_server(own) else "as it is"
        return section
    weights = weights_of(section, os.environ)
    if weights.folder is not None and weights.bytes_in_memory and not weights.faults and not layers:
        made.loads[key] = "weights on disk"
        return section
    if served is not None and served.engine not in DUMMY:
        made.loads[key] = "server"
        return section
    who = model_title(key)
    order = {**_source(who, weights, section), "layers": layers, "texts": list(texts), "dtype": _dtype(section)}
    small = bool(layers) and on_cpu and served is None
    order["on_cpu"] = small
    order["least"] = LEAST_LAYERS.get(_pipeline(own, section), {})
    python = interpreter(section) or sys.executable
    alike = json.dumps([python, order], sort_keys=True)
    if alike not in made.folders:
        made.folders[alike] = str(target), _run_maker(who, python, {**order, "target": str(target)})
    folder, stand_in = made.folders[alike]
    made.loads[key] = "stand-in"
    if stand_in["cut"]:
        made.cut[key] = stand_in["cut"]
    update: PlainParameters = {checkpoint_of(section)[0]: folder, "revision": None}
    if served is not None:
        made.loads[key] = "server"
        update["serve"] = {**section.parameters["serve"], "args": [*served.args, "--load-format", "dummy"]}
    elif section.protocol is None:
        update |= _parameters_by_name(made, who, make_parameters(own, section.parameters), section)
    placement = section.placement
    if small:
        fits = int(BATCH_SECONDS / _seconds(section, stand_in, sum(stand_in["parts"].values()), PAIR_TOKENS))
        placement = placement.model_copy(update={"batch_size": max(1, min(placement.batch_size, fits))})
        update |= _small(made, who, own, section, stand_in, placement.batch_size)
    parameters = {**section.parameters, **{k: v for k, v in update.items() if k in section.parameters or v is not None}}
    return section.model_copy(update={"parameters": parameters, "placement": placement})


def _seconds(section: ModelSection, stand_in: StandInMade, size: int, tokens: int) -> float:
    """Returns what so many bytes of a network take the CPU at least, for so many tokens; above 0."""
    return max(1e-9, 2 * size / BYTES[_dtype(section)] * tokens / stand_in["speed"])


def _small(
    made: StandIns, who: str, own: Any, section: ModelSection, stand_in: StandInMade, batch: int
) -> PlainParameters:
    """Returns what is asked for instead on a CPU, and notes it, and what a step of a whole picture would cost there."""
    names = SMALL.keys() & {field.name for field in fields(own.Parameters)}
    update: PlainParameters = {name: min(section.parameters.get(name) or SMALL[name], SMALL[name]) for name in names}
    said = [f"{name}: {update[name]}" for name in sorted(names)]
    said += [f"batch_size: {batch}"] * (batch < section.placement.batch_size)
    made.small = True
    made.notes.append(Text("{}: on the CPU it is asked for little: {}", who, Items(said)))
    if section.protocol is None:
        if section.parameters.get("size"):
            update["size"] = None
        if call := SMALL_CALLS.get(_pipeline(own, section)):
            update["call"] = {**section.parameters.get("call", {}), **call}
        inner = max((size for part, size in stand_in["parts"].items() if part in STEPPING), default=0)
        if inner:  # else nothing is known of the network that computes
            seconds = _seconds(section, stand_in, inner, MEGAPIXEL_TOKENS)
            made.notes.append(
                Text("{}: a step of a picture of a megapixel takes this CPU at least {}", who, duration(seconds))
            )
    return update


def _class_of(configuration: Configuration, section: ModelSection) -> Any:
    try:
        return import_class("judge" if section.protocol else "edit_model", section.class_path, configuration.folder)
    except ConfigurationError:  # only its own environment can import it
        return None


def _loads_by_name(own: Any, section: ModelSection) -> bool:
    """True for our classes that load the weights that `model_name` names, and for a user's that is made of one."""
    modules = {base.__module__ for base in getattr(own, "__mro__", ())}
    return section.class_path.startswith(LOADERS) or any(module.startswith(LOADERS) for module in modules)


def _asks_a_server(own: Any) -> bool:
    """True for our classes whose model is behind a server, and for a user's that is made of one.

    One of the user's own with an `examine` of its own may have its model anywhere: it is loaded as it is.
    """
    said = next((base for base in getattr(own, "__mro__", ()) if "examine" in vars(base)), None)
    return said is not None and said.__module__.startswith("edit_eval.")


def _dtype(section: ModelSection) -> str:
    said = checkpoint_of(section)[3]
    return said if said in ("float16", "float32") else "bfloat16"


def _source(who: str, weights: Weights, section: ModelSection) -> JsonObject:
    """Returns where the configurations are. Raises `ConfigurationError` with what to download."""
    _, name, revision, _ = checkpoint_of(section)
    folder = local_folder(name) or find_cached_folder(name, revision, os.environ)
    files = ("model_index.json", "modular_model_index.json", "config.json")
    if folder is not None and any((folder / file).is_file() for file in files):
        return {"source": str(folder), "published": None}
    known = CONFIGURATIONS.get(name)
    if known is not None:
        return {"source": "", "published": known}
    if not is_hub_name(name) or not has_published_weights(section, weights):
        raise ConfigurationError(
            Text("{}: {} has no configuration from which a model with random weights could be made", who, name)
        )
    line = f"hf download {shlex.quote(name)} {SMALL_FILES}" + (f" --revision {revision}" if revision else "")
    raise ConfigurationError(
        Text("{}: the configuration of {} is not here; its small files are enough: `{}`", who, name, line)
    )


def _pipeline(own: Any, section: ModelSection) -> str:
    if section.protocol is not None:
        return ""
    return str(index_of(make_parameters(own, section.parameters)).get("_class_name", ""))


def _parameters_by_name(made: StandIns, who: str, parameters: Any, section: ModelSection) -> PlainParameters:
    """Returns the parameters that the model's name decides by itself, which a folder's would not."""
    settings = settings_of(parameters, index_of(parameters))
    update: PlainParameters = {"num_inference_steps": settings.steps}
    if "guidance" in section.parameters:
        update["guidance"] = dict(settings.guidance)
    kept = []
    for lora in section.parameters.get("loras") or []:
        here = Path(lora["name"]).expanduser().exists() or find_cached_folder(
            lora["name"], lora.get("revision"), os.environ
        )
        if here:
            kept.append(lora)
        else:
            made.notes.append(Text("{}: the adapter {} is not here, and is left out", who, lora["name"]))
    return update | ({"loras": kept} if "loras" in section.parameters else {})


def _run_maker(who: str, python: str, order: Mapping[str, Any]) -> StandInMade:
    """Has the model's environment make a stand-in. Raises `ConfigurationError` with what it says."""
    command = [python, "-c", MAKER, import_path(python)]
    variables = {**os.environ, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    try:
        done = subprocess.run(
            command, input=json.dumps(order), capture_output=True, text=True, timeout=SECONDS, env=variables
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConfigurationError(Text("{}: no model with random weights can be made: {}", who, error)) from error
    try:
        stand_in: StandInMade = json.loads(done.stdout)
    except ValueError:
        last = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "")
        stand_in = {"error": hide_secrets(last)[:600]}
    if "error" in stand_in:
        lacks = stand_in.get("lacks")
        remedy = Text("; install it: {}", install_line(python, [lacks], stand_in["pip"])) if lacks else ""
        raise ConfigurationError(
            Text("{}: no model with random weights can be made: {}{}", who, stand_in["error"], remedy)
        )
    return stand_in
