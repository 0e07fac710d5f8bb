"""How long edits, judgements and loads take: as a run has shown, as a configuration says, or as others measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from edit_eval.config.schema import Configuration, ModelSection
from edit_eval.errors import ConfigurationError
from edit_eval.execution.advice.cards import asked
from edit_eval.records import Results, Status
from edit_eval.scheduling.tasks import Model
from edit_eval.text import Text

PROMPT_SECONDS = 0.1
"""Qwen3-VL-30B-A3B reads a pair: two pictures of 1024 tokens and 1,300 of text take 33.6 TFLOP, counted from its
configuration, of which others' mixtures of experts compute some 330 a second on an H100."""
TOKEN_SECONDS = 0.05
"""It writes one token in each row of a batch: 4.7 ms to read the experts of four rows at 3.35 TB/s, and some 45 ms in
which transformers starts its kernels (30 to 60 by published measurements of eager decoding)."""
ANSWER_TOKENS = {"score": 8, "probabilities": 1}
"""Of an answer: `Score: 7.250` is eight, since each digit is one."""
REASONS_TOKENS = 128
"""Of one with reasons, roughly."""
LOAD_BYTES_A_SECOND = 1.0e9
"""From a disk that was not read before, imports included."""
JUDGE_BYTES = 62.1e9
"""Qwen3-VL-30B-A3B in bfloat16: 31.07 billion parameters."""


@dataclass(frozen=True)
class Duration:
    """Seconds of a load and of a unit (an edit, or the judgement of a pair), and where they come from."""

    load: float
    """Imports included where nobody measured them apart."""
    unit: float
    source: str
    published: bool = False
    """It was measured or estimated by others, with the whole model on a GPU."""
    start: float = 0.0
    """From the start of a worker's process until its imports are done."""
    unload: float = 0.0
    """From the order to end until the process is gone."""


def durations_of(
    configuration: Configuration, seen: Results | None, questions: Mapping[str, float] | None = None
) -> dict[str, Duration]:
    """The durations of every model, by its key (`edit:NAME`, `judge:NAME`).

    What `seen` (a run's results) shows of a model of the same name counts first, then what is known of its type.
    `questions` has by judge how many questions it is asked about a pair, on average (1 where it is not told); all of
    them are asked in each of the configuration's readings.
    Raises `ConfigurationError` for a model of which nothing is known.
    """
    found = {}
    readings = configuration.evaluation.readings
    for key, section in configuration.models.items():
        times = readings * (questions or {}).get(section.name, 1.0) if key.startswith("judge:") else 1.0
        duration = _seen(key, seen, readings) or _known(section, times)
        if duration is None and key.startswith("edit:") and (said := asked(section, configuration.folder, "duration")):
            load, unit, source = said
            duration = Duration(load, unit, source, published=True)
        if duration is None:
            raise ConfigurationError(
                Text(
                    "how long {} takes is unknown: run a few samples (`edit-eval run CONFIG --limit "
                    "8 --run-dir RUN`), then plan with `--from RUN`",
                    section.name,
                )
            )
        found[key] = duration
    return found


def too_short(
    configuration: Configuration, models: Sequence[Model], durations: Mapping[str, Duration]
) -> Iterator[str]:
    """One line for each model that is slower than its published duration by what nobody has published.

    That is one on the CPU, and one that is offloaded: its weights are moved to the GPU again and again.
    """
    for model in models:
        known, offload = durations[model.key], configuration.models[model.key].placement.offload
        slow = Text("the CPU") if model.places[0][0].startswith("cpu") else Text("offload: {}", offload)
        if known.published and slow != "offload: none":
            told = Text("{:g} s {}", known.unit, Text("an edit") if model.kind == "edit" else Text("a pair"))
            yield Text(
                "{}: {} is for a GPU without offload; {} is slower, so the plan is too short", model.name, told, slow
            )


def _seen(key: str, seen: Results | None, readings: int) -> Duration | None:
    if seen is None:
        return None
    kind, _, name = key.partition(":")
    spans: dict[str, list[float]] = {"starting": [], "loading": [], "unloading": []}
    for one in seen.activities:
        if one.kind in spans and one.model == name and one.role in (kind, "") and not one.what:  # it succeeded
            spans[one.kind].append(one.end - one.begin)
    start, load, unload = (sum(some) / len(some) if some else 0.0 for some in spans.values())
    if kind == "edit":
        units = [e.seconds for e in seen.edits if e.edit_model == name and e.status is Status.OK]
    else:
        every = (*seen.judgements, *seen.battles)
        scored = [one for one in every if one.judge == name and one.status is Status.OK]
        units = [readings * one.seconds / len(one.readings) for one in scored]
    if not units:
        return None
    return Duration(load, sum(units) / len(units), Text("run {}", seen.name), start=start, unload=unload)


def _known(section: ModelSection, asked: float) -> Duration | None:
    parameters: Mapping[str, Any] = section.parameters
    if section.type == "testing":
        return Duration(
            float(parameters["load_seconds"]), asked * float(parameters["seconds"]), Text("its own parameters")
        )
    if section.type == "qwen3_vl":
        form = "score" if section.protocol is None else section.protocol.parameters.get("answer", "")
        tokens = ANSWER_TOKENS.get(form, REASONS_TOKENS)
        unit = PROMPT_SECONDS + tokens * TOKEN_SECONDS / section.placement.batch_size
        return Duration(JUDGE_BYTES / LOAD_BYTES_A_SECOND, asked * unit, Text("estimated for an H100"), published=True)
    if section.type in ("scene_editor", "scene_judge"):
        unit = asked * (0.2 + float(parameters.get("seconds", 0.0)))
        return Duration(0.5, unit, Text("the built-in models on one CPU core"))
    if section.type in ("copy_source", "blank", "image_folder"):
        return Duration(0.3, 0.05, Text("it only writes a picture"))
    return None
