"""What `edit-eval doctor` finds out: whether a configuration would run on this machine, and what would make it run.

Nothing is loaded, downloaded or made; the benchmark's first pass lays its sources into the cache, as a run would, and
a judge behind a server is asked one question, by the client that a run uses.
"""

from __future__ import annotations

import inspect
import os
import shutil
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from edit_eval.config.components import Kind, import_class, named
from edit_eval.config.families import shared_families
from edit_eval.config.schema import Configuration, ModelSection
from edit_eval.errors import BenchmarkError, ConfigurationError, EditEvalError, Stopped
from edit_eval.execution.advice.answer_limits import short_limits, short_thoughts
from edit_eval.execution.advice.cards import card_of, told
from edit_eval.execution.advice.findings import Finding
from edit_eval.execution.advice.obstacles import download_command, no_gpu, no_weights
from edit_eval.execution.advice.pins import shared_environments
from edit_eval.execution.advice.probing import Question, environment_findings, probe
from edit_eval.execution.advice.server_answers import ability_findings, edit_finding, server_finding
from edit_eval.execution.choices import automatic_findings
from edit_eval.execution.drivers.contract import Gpu, Machine
from edit_eval.execution.machine.devices import LocalMachine
from edit_eval.execution.machine.environments import interpreter, uv_folder, uv_is_made
from edit_eval.execution.machine.experts import expert_bytes
from edit_eval.execution.machine.fitting import (
    Wanted,
    checkpoint_of,
    claim_of,
    fit_findings,
    host_findings,
    together_findings,
    weights_of,
)
from edit_eval.execution.machine.memory import disk_findings, gb, gpu_findings, host_finding
from edit_eval.execution.machine.places import Place, model_on, places
from edit_eval.execution.machine.weights import offline
from edit_eval.experiment import Experiment, Listener, load_samples
from edit_eval.pretrained.folders import hub_cache, is_hub_name
from edit_eval.protocols import contract as protocols
from edit_eval.protocols.asked import AskedJudge, asked_judges
from edit_eval.protocols.contract import fault
from edit_eval.records import Sample, model_title
from edit_eval.text import Text, counted

__all__ = ["Finding", "examine", "refusal"]

MOST_NAMED = 20
"""Bad samples that are named one by one."""


def examine(
    configuration: Configuration | None = None,
    *,
    run_folder: Path = Path("runs"),
    refused: EditEvalError | None = None,
    machine: Machine | None = None,
    listener: Listener | None = None,
) -> list[Finding]:
    """Looks at a machine (without one, at this one), and at whether `configuration` would run on it.

    A model that is behind a server is asked about a drawn scene. `run_folder` is where the run would write. `refused`
    is why the configuration that was given would not run; the rest of it, if there is any, is looked at all the same,
    but for the benchmark. Where that takes long to read the `listener` is told. What is wrong is a finding, not an
    exception."""
    environment = dict(os.environ)
    machine = machine or LocalMachine(environment)
    visible, host_free = machine.gpus() or (), machine.free_host_memory()
    findings = refusal(refused) if refused is not None else []
    if configuration is not None or refused is None:
        findings += _configuration_findings(configuration)
    findings += gpu_findings(machine, environment)
    findings.append(host_finding(host_free))
    if configuration is None:
        findings += _environments([Question(Text("this environment"), sys.executable, on_gpu=bool(visible))], visible)
        findings += disk_findings(run_folder, None, {})
        return findings
    wanted: list[Wanted] = []
    questions: list[Question] = []
    judges = _judges(configuration)
    for key, section in configuration.models.items():
        model = _model(key, section, configuration.folder, machine, environment, findings)
        wanted.append(model)
        judge = judges.get(section.name) if model.model.kind == "judge" else None
        questions += _question(model, configuration, findings, judge)
    findings += host_findings(wanted, configuration.execution.load_concurrency, host_free)
    findings += _environments(questions, visible)
    findings += _path_findings(configuration, environment)
    downloads: dict[Path, int | None] = {}
    for model in wanted:
        findings += _card_findings(model, configuration.folder)
        findings += _weight_findings(model, environment, downloads)
        findings += fit_findings(model, visible, host_free)
    findings += _elsewhere(machine, wanted)
    families = shared_families(configuration.judges.values(), configuration.edit_models.values())
    findings += [Finding("models", "note", shared) for shared in families]
    findings += together_findings(wanted, visible, configuration.execution.placement)
    findings += automatic_findings(configuration.execution, wanted, visible, host_free)
    benchmark, experiment = ([], None) if refused else _benchmark_findings(configuration, listener)
    findings += benchmark
    images = None
    if experiment is not None:
        count = sum(not sample.fault for sample in experiment.samples)
        images = count * len(configuration.edit_models) * configuration.evaluation.edit_seeds
    findings += disk_findings(run_folder, images, downloads)
    findings += _key_findings(configuration, environment)
    findings += short_limits(configuration, experiment) if experiment is not None else []
    findings += short_thoughts(configuration)
    return findings


def refusal(error: EditEvalError, area: str = "configuration") -> list[Finding]:
    """An error as findings that stop: its line, and its further faults one by one."""
    faults = [*getattr(error, "faults", ()), *getattr(error, "__notes__", ())]
    if isinstance(error, BenchmarkError) and faults:
        advice = Text("fix it, or set `benchmark.on_bad_sample: skip`")
        more = len(faults) - MOST_NAMED
        rest = [Text("and {}", counted(more, "more bad sample"))] if more > 0 else []
        return [Finding(area, "problem", fault, advice) for fault in (*faults[:MOST_NAMED], *rest)]
    return [Finding(area, "problem", text) for text in (str(error), *faults)]


def _configuration_findings(configuration: Configuration | None) -> list[Finding]:
    if configuration is None:
        return [Finding("configuration", "note", Text("none was given: only the machine is checked"))]
    models, judges = (" and ".join(some) for some in (configuration.edit_models, configuration.judges))
    findings = [Finding("configuration", "ok", Text("{}: {}, judged by {}", configuration.name, models, judges))]
    return findings + [Finding("configuration", "note", note) for note in configuration.notes]


# -- models: where they run, in which environment, with which weights --


def _model(
    key: str,
    section: ModelSection,
    folder: Path,
    machine: Machine,
    environment: Mapping[str, str],
    findings: list[Finding],
) -> Wanted:
    """A model as it would be laid out; where it cannot be, `findings` get why."""
    who = model_title(key)
    chosen: tuple[Place, ...] = ()
    try:
        chosen, why = places(section, machine)
        shown = ", ".join("+".join(place) for place in chosen)
        obstacle = no_gpu(section, chosen, machine, environment)
        findings.append(
            Finding("devices", "problem", Text("{}: {}", who, obstacle.problem), obstacle.remedy)
            if obstacle
            else Finding("devices", "ok", Text("{}: {} ({})", who, shown, why))
        )
    except ConfigurationError as error:
        findings.append(Finding("devices", "problem", Text("{}: {}", who, error)))
    weights = weights_of(section, environment)
    claim = claim_of(section, chosen, machine.gpus() or ())
    model, experts = model_on(chosen, key, section, folder), expert_bytes(section, weights)
    return Wanted(model, section, weights, _can_offload(key, section, folder), claim, experts)


def _question(
    wanted: Wanted, configuration: Configuration, findings: list[Finding], judge: AskedJudge | None
) -> list[Question]:
    """What the model's environment is to be asked; nothing where there is none yet, and `findings` get why."""
    section, requirements = wanted.section, wanted.section.placement.uv
    if requirements and not uv_is_made(uv_folder(requirements)):
        text = Text("{}: an environment with {} will be made once, by the first run", wanted.who, requirements)
        findings.append(Finding("environments", "note", text))
        return []
    try:
        python = interpreter(section) or sys.executable
    except ConfigurationError as error:
        advice = Text("`edit-eval env create DIR --for {}` makes one", wanted.model.kind)
        findings.append(Finding("environments", "problem", Text("{}: {}", wanted.who, error), advice))
        return []
    sample = named("benchmark", "scenes").example_sample(configuration.benchmark.language)
    first = _first_question(judge, sample) if judge else None
    edited = {"instruction": sample.instruction, "seed": section.seed, "sample_id": sample.id}
    asked = Question(
        who=wanted.who,
        python=python,
        kind=_kind(wanted.model.key),
        class_path=section.class_path,
        parameters=section.parameters,
        folder=str(configuration.folder),
        on_gpu=wanted.on_gpu,
        request=_request(first, sample) if first else edited if wanted.model.kind == "edit" else {},
        asked=(judge, first) if judge and first else None,
    )
    if (served := section.served) is None:
        return [asked]
    client = replace(asked, python=sys.executable, on_gpu=False, request={})  # there is no server yet that could answer
    engine = served.on(section.route)
    if engine is not None:
        return [client, Question(Text("{}: its server", wanted.who), python, packages=(engine.package, *engine.needs))]
    program = served.command[0]
    if "{python}" not in program and shutil.which(program) is None:
        text = Text("{}: program not found: {}", wanted.who, program)
        findings.append(
            Finding("environments", "problem", text, Text("start serve.command with a program on the PATH"))
        )
    return [client]


def _kind(key: str) -> Kind:
    return "edit_model" if key.startswith("edit:") else "judge"


def _can_offload(key: str, section: ModelSection, folder: Path) -> bool:
    try:
        found = import_class(_kind(key), section.class_path, folder)
    except ConfigurationError:  # only its own environment can import it
        return False
    return "offload" in inspect.signature(found.load).parameters


def _judges(configuration: Configuration) -> dict[str, AskedJudge]:
    try:
        return {judge.name: judge for judge in asked_judges(configuration)}
    except EditEvalError:  # which the benchmark's findings say
        return {}


def _first_question(judge: AskedJudge, sample: Sample) -> protocols.Question | None:
    """The first question that can be asked about the drawn scene; None where its protocol has none."""
    if fault(judge.protocol, sample):
        return None
    return next((question for question in judge.protocol.questions(sample) if not question.after), None)


def _request(question: protocols.Question, sample: Sample) -> dict[str, Any]:
    """What a judge is told about the drawn scene."""
    return {
        "system": question.system,
        "user": question.user,
        "question": question.name,
        "form": question.form,
        "labels": question.labels,
        "schema": question.schema,
        "shows": [view.picture for view in question.shows],
        "sample_id": sample.id,
        "instruction": sample.instruction,
        "category": sample.category,
    }


def _environments(questions: Sequence[Question], visible: Sequence[Gpu]) -> list[Finding]:
    with ThreadPoolExecutor(max_workers=4) as pool:
        answers = list(pool.map(probe, questions))
    findings = []
    for question, found in zip(questions, answers, strict=True):
        findings += environment_findings(question, found, visible)
    for question, found in zip(questions, answers, strict=True):
        if question.kind == "edit_model" and "examined" in found:
            findings.append(edit_finding(question.who, found["examined"]))
        if question.asked and "examined" in found:
            findings.append(server_finding(question.who, found["examined"], *question.asked))
            findings += ability_findings(question.who, found["examined"])
    return findings + shared_environments(questions)


def _path_findings(configuration: Configuration, environment: Mapping[str, str]) -> list[Finding]:
    models = configuration.models.values()
    if not environment.get("PYTHONPATH") or not any(section.placement.foreign for section in models):
        return []
    text = Text(
        "PYTHONPATH is set and also applies in the models' own environments, where it may bring in the wrong libraries"
    )
    return [Finding("environments", "warning", text, Text("unset PYTHONPATH for this command"))]


def _card_findings(wanted: Wanted, folder: Path) -> list[Finding]:
    """What a model's class knows of it before it is loaded."""
    try:
        card = card_of(wanted.section, folder)
    except ConfigurationError as error:  # which the benchmark's findings say, too, where there is a benchmark
        return [Finding("models", "problem", Text("{}: {}", wanted.who, error))]
    return [Finding("models", "note", Text("{}: {}", wanted.who, line)) for line in told(card)]


def _elsewhere(machine: Machine, wanted: Sequence[Wanted]) -> list[Finding]:
    """What a machine lacks of the weights: each would download them for itself; and what is odd there."""
    asked = {checkpoint_of(model.section)[1:] for model in wanted if model.weights.name and model.on_gpu}
    names = sorted((name, revision, dtype or "bfloat16") for name, revision, dtype in asked if name)
    found = [Finding("machine", "warning", note) for host in machine.hosts() for note in host.notes]
    if warning := machine.warning():
        advice = Text("whoever reaches it can run programs on it: set RAY_AUTH_MODE=token before `ray start`, and here")
        found.append(Finding("machine", "warning", warning, advice))
    for host, faults in machine.lacking(names).items() if names else ():
        advice = Text("put the weights there, or HF_HOME on a disk that all machines share")
        found += [Finding("models", "warning", Text("{}: {}", host, fault), advice) for fault in faults]
        found += [] if faults else [Finding("models", "ok", Text("{}: the weights of every model are there", host))]
    return found


def _weight_findings(
    wanted: Wanted, environment: Mapping[str, str], downloads: dict[Path, int | None]
) -> list[Finding]:
    """Whether the weights are here and whole.

    What is to be downloaded is added to `downloads`, by folder: bytes, None where a size is not known.
    """
    weights, who = wanted.weights, wanted.who
    if not weights.name:
        return []
    if obstacle := no_weights(wanted.section, environment):
        return [Finding("models", "problem", Text("{}: {}", who, obstacle.problem), obstacle.remedy)]
    cache = hub_cache(environment)
    variable = offline(environment)
    command = download_command(wanted.section)
    if weights.folder is None:
        if not is_hub_name(weights.name):
            text = Text("{}: there is no folder {}", who, Path(weights.name).expanduser().absolute())
            return [
                Finding(
                    "models", "problem", text, Text("give the folder of a model, or a name on the Hugging Face Hub")
                )
            ]
        size = Text(" ({})", gb(weights.stored)) if weights.stored else Text(" (of unknown size)")
        text = Text("{}: {}{} is not in the cache {}", who, weights.name, size, cache)
        if variable:
            advice = Text("on a machine with a network: {}; {} forbids it here", command, variable)
            return [Finding("models", "problem", text, advice)]
        before = downloads.get(cache, 0)
        downloads[cache] = before + weights.stored if weights.stored and before is not None else None
        return [
            Finding(
                "models",
                "warning",
                Text("{}: the first run would download it", text),
                Text("do it beforehand: {}", command),
            )
        ]
    if weights.faults:
        cached = cache in weights.folder.parents
        level: Any = "warning" if cached and not variable else "problem"
        advice = (
            Text("{} downloads what is missing", command)
            if cached
            else Text("copy or download the model's files again")
        )
        return [Finding("models", level, Text("{}: {}", who, fault), advice) for fault in weights.faults]
    if not weights.stored:
        text = Text("{}: no safetensors weights in {}: their size is unknown", who, weights.folder)
        return [Finding("models", "note", text)]
    return [Finding("models", "ok", Text("{}: {} of weights in {}, complete", who, gb(weights.stored), weights.folder))]


# -- benchmark and keys --


def _benchmark_findings(
    configuration: Configuration, listener: Listener | None
) -> tuple[list[Finding], Experiment | None]:
    """What is wrong with the benchmark; and the experiment, None where there is none to be made of it."""
    what = configuration.benchmark.source
    try:
        data = load_samples(configuration, listener)
        experiment = Experiment.of(configuration, data)
    except Stopped as error:
        return refusal(error, "disk"), None
    except EditEvalError as error:
        return refusal(error, "benchmark"), None
    except Exception as error:  # a benchmark class of the user's
        return [Finding("benchmark", "problem", Text("{}: {}: {}", what, type(error).__name__, error))], None
    findings: list[Finding] = []
    chosen = experiment.samples
    counts = Counter(sample.category for sample in chosen)
    shown = ", ".join(f"{category} {count}" for category, count in counts.items())
    of = Text(" of {}", len(data.samples)) if len(chosen) < len(data.samples) else ""
    findings.append(Finding("benchmark", "ok", Text("{}: {}{} samples ({})", what, len(chosen), of, shown)))
    findings += [Finding("benchmark", "note", note) for note in data.notes]
    for sample in chosen:
        if sample.fault:
            text = Text("sample {} ({}) will be skipped: {}", sample.index, sample.id, sample.fault)
            findings.append(Finding("benchmark", "warning", text))
    return findings, experiment


def _key_findings(configuration: Configuration, environment: Mapping[str, str]) -> list[Finding]:
    """Whether the variables that hold keys are set; only their names are ever shown."""
    findings = []
    for section in configuration.models.values():
        for key, name in () if section.served else section.parameters.items():
            if not key.endswith("_env") or not isinstance(name, str) or not name:
                continue
            if environment.get(name):
                findings.append(Finding("keys", "ok", Text("{}: {} is set", section.name, name)))
            elif section.parameters.get("base_url") or environment.get("OPENAI_BASE_URL"):
                text = Text("{}: the variable {} ({}) is not set", section.name, name, key)
                findings.append(Finding("keys", "note", text, Text("your own server may not need one")))
            else:
                text = Text("{}: the variable {} ({}) is not set", section.name, name, key)
                findings.append(Finding("keys", "problem", text, Text("export {}=...", name)))
    return findings
