"""The list of checks: everything that would stop an evaluation here, or slow it down, known before loading.

A check is a function of a `Context` that yields findings. `doctor` makes all of them, `run` those that are refusals,
`plan` those about room. Nothing is loaded, downloaded or made; the benchmark's first pass puts its sources into the
cache, as a run would, and a model behind a server is asked one question, by the client that a run uses.
"""

from __future__ import annotations

import itertools
import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from edit_eval.asking import Listener, load_samples, make_experiment
from edit_eval.config.kinds import Kind
from edit_eval.config.schema import Configuration
from edit_eval.config.shorthand import import_chat_endpoint
from edit_eval.errors import BenchmarkError, ConfigurationError, EditEvalError, Stopped
from edit_eval.execution.checks import (
    Check,
    CheckContext,
    card_of,
    class_of,
    load_checks,
    sale_findings,
    short_limits,
    silent_judges,
    takes,
)
from edit_eval.execution.choices import Choices
from edit_eval.execution.contract import Gpu, Machine
from edit_eval.execution.findings import Finding, Level
from edit_eval.execution.machine.devices import LocalMachine
from edit_eval.execution.machine.environments import interpreter, uv_folder, uv_is_made
from edit_eval.execution.machine.memory import gib
from edit_eval.execution.machine.places import Place, build_model, describe_lost_gpus, places
from edit_eval.experiment import Experiment
from edit_eval.json_values import JsonObject
from edit_eval.plugins.preparation.automatic import Room, check_room, decide, resolve
from edit_eval.plugins.preparation.cards import (
    bytes_of_weights,
    card_lines,
    download_command,
    has_published_weights,
    hub_address,
    hub_answers,
)
from edit_eval.plugins.preparation.families import find_shared_families
from edit_eval.plugins.preparation.fitting import (
    PlacedModel,
    checkpoint_of,
    claim_of,
    fit_findings,
    gpu_sharing_findings,
    host_findings,
    weights_of,
)
from edit_eval.plugins.preparation.machine import disk_findings, gb, gpu_findings, host_finding
from edit_eval.plugins.preparation.probing import (
    EnvironmentProbe,
    ability_findings,
    check_engine_environments,
    edit_finding,
    environment_findings,
    probe,
    server_finding,
)
from edit_eval.plugins.preparation.weights import Weights, expert_bytes, offline
from edit_eval.pretrained.folders import hub_cache, is_hub_name
from edit_eval.pretrained.host_memory import host_memory
from edit_eval.protocols import contract as protocols
from edit_eval.protocols.asked import AskedJudge, make_judges
from edit_eval.protocols.contract import fault
from edit_eval.records import Sample, model_title
from edit_eval.text import Text, join_texts, pluralize
from edit_eval.workers.example import example_sample

MOST_NAMED = 20
"""Bad samples that are listed one by one."""
LARGE = 2 * 10**9
"""Bytes; a smaller model may well be meant for the CPU."""
THOUGHT_NEEDED, THOUGHT_GIVEN = 2048, 8192
"""Tokens; thinking about a pair of pictures often takes some thousand, and is useless if cut off."""


class Read(NamedTuple):
    """Result of reading the benchmark."""

    findings: list[Finding]
    experiment: Experiment | None
    """None if none can be made of it."""


@dataclass
class Context(CheckContext):
    """What checks look at. Each fact is found out once, when a check first asks for it."""

    run_folder: Path = Path("runs")
    """Where the run would write."""
    listener: Listener | None = None
    """Is told how far the benchmark is read."""
    experiment_known: Experiment | None = None
    """The experiment, if the benchmark has been read already."""
    skip_benchmark: bool = False

    @classmethod
    def of(cls, context: CheckContext) -> Context:
        """Returns a context with what a run or another package has given."""
        if isinstance(context, Context):
            return context
        return cls(context.configuration, context.machine, context.environment, context.laid_out)

    @cached_property
    def gpus(self) -> Sequence[Gpu]:
        return self.machine.gpus()

    @cached_property
    def host_free(self) -> int | None:
        """Bytes."""
        return self.machine.free_host_memory()

    @cached_property
    def devices(self) -> Mapping[str, tuple[tuple[Place, ...], str] | ConfigurationError]:
        """By model: the devices of each replica, and why these; or why there are none."""
        if self.laid_out is not None:
            return {model.key: (model.places, "") for model in self.laid_out}
        by_model: dict[str, tuple[tuple[Place, ...], str] | ConfigurationError] = {}
        for key, section in self.configuration.models.items():
            try:
                by_model[key] = places(section, self.machine)
            except ConfigurationError as error:
                by_model[key] = error
        return by_model

    @cached_property
    def models(self) -> list[PlacedModel]:
        """The models as they would be laid out."""
        return [self._place_model(key, choice) for key, choice in self.devices.items()]

    def _place_model(self, key: str, choice: tuple[tuple[Place, ...], str] | ConfigurationError) -> PlacedModel:
        section, folder = self.configuration.models[key], self.configuration.folder
        chosen = () if isinstance(choice, ConfigurationError) else choice[0]
        try:
            weights = weights_of(section, self.environment)
        except OSError:  # a folder that must not be read, which loading reports better
            weights = Weights("", None)
        model, experts = build_model(chosen, key, section, folder), expert_bytes(section, weights)
        load = getattr(class_of(_kind(key), section, folder), "load", None)
        return PlacedModel(
            model,
            section,
            weights,
            takes("offload", load),
            claim_of(section, chosen, self.gpus),
            experts,
            loads_otherwise=not getattr(load, "__module__", "").startswith("edit_eval."),
        )

    @cached_property
    def unreachable(self) -> Mapping[str, Finding | None]:
        """By model: why its weights cannot be had. Takes `HUB_SECONDS` at most."""
        return {model.model.key: _out_of_reach(model, self.environment) for model in self.models}

    @cached_property
    def downloads(self) -> dict[Path, int | None]:
        """Bytes of weights that are not here yet, by folder; None if a size is not known."""
        away = {model.weights.name: model.weights.stored for model in self.models if model.weights.folder is None}
        sizes = [size for name, size in away.items() if is_hub_name(name)]
        return {hub_cache(self.environment): sum(sizes) if all(sizes) else None} if sizes else {}

    @cached_property
    def benchmark(self) -> Read:
        return Read([], None) if self.skip_benchmark else _read(self.configuration, self.listener)

    @property
    def experiment(self) -> Experiment | None:
        return self.experiment_known or self.benchmark.experiment


class CheckRow(NamedTuple):
    """One check, and who makes it besides `doctor`, which makes all."""

    find: Callable[..., Iterable[Finding]]
    """Takes the context and, with `each`, one of its models."""
    refuses: bool = False
    """Its problems make a run refuse to start."""
    room: bool = False
    """It is about room for the models: `plan` makes it."""
    each: bool = False
    """It is made for each model; several such in a row are made model by model."""


def run_checks(context: Context, checks: Sequence[CheckRow]) -> Iterator[Finding]:
    """Yields the findings of these checks, in order."""
    for each, some in itertools.groupby(checks, key=lambda check: check.each):
        if not each:
            for check in some:
                yield from check.find(context)
            continue
        together = list(some)
        for model in context.models:
            for finding in itertools.chain.from_iterable(check.find(context, model) for check in together):
                guess = finding.stops and model.loads_otherwise
                yield replace(finding, level="warning") if guess else finding


def rooms(context: Context) -> dict[str, Room]:
    """Checks whether a machine has room for `placement: swap` and for `placement: together`.

    To swap, each model must fit alone; GPUs of unknown memory are assumed to have room. For `together` all models of a
    GPU must also fit there at once.
    """
    swap = Room("enough", Text("each model fits by itself"))
    for model in context.models:
        alone = replace(context, laid_out=[model.model])
        for finding in run_checks(alone, [check for check in CHECKS if check.room]):
            if finding.stops:
                swap = max(swap, Room("too little", finding.sentence), key=_worse)
            elif finding.level == "warning" and model.is_on_gpu:  # on the CPU the warning is about time
                swap = max(Room("unknown", finding.sentence), swap, key=_worse)
        if not model.is_on_gpu and model.weights.parts and context.host_free is None:
            text = Text("{} runs on the CPU, and free host memory is unknown", model.who)
            swap = max(Room("unknown", text), swap, key=_worse)
    together = check_room(context.models, context.gpus)
    return {"swap": swap, "together": max(swap, together, key=_worse)}


def _worse(room: Room) -> int:
    return ("enough", "unknown", "too little").index(room.answer)


def examine(
    configuration: Configuration | None = None,
    *,
    machine: Machine | None = None,
    refused: EditEvalError | None = None,
    **more: Any,
) -> list[Finding]:
    """Returns the findings of all checks; without a configuration, those of the machine. `more` are context fields.

    `refused` is why the given configuration would not run; the rest of it is checked all the same, except for the
    benchmark. Problems are findings, not exceptions.
    """
    machine = machine or LocalMachine()
    findings = refusal(refused) if refused is not None else []
    if configuration is not None:
        context = Context(configuration, machine, skip_benchmark=refused is not None, **more)
        return findings + [finding for check in load_checks() for finding in check.find(context)]
    if refused is None:
        findings.append(Finding("configuration", "note", Text("none was given: only the machine is checked")))
    environment, gpus = dict(os.environ), machine.gpus()
    findings += [*gpu_findings(machine, environment), host_finding(machine.free_host_memory())]
    findings += _answers([EnvironmentProbe(Text("this environment"), sys.executable, on_gpu=bool(gpus))], gpus)
    return findings + disk_findings(more.get("run_folder", Path("runs")), None, {})


def refusal(error: EditEvalError, area: str = "configuration") -> list[Finding]:
    """Returns an error as findings that stop: its line, and its further faults one by one."""
    faults = [*getattr(error, "faults", ()), *getattr(error, "__notes__", ())]
    if isinstance(error, BenchmarkError) and faults:
        advice = Text("fix it, or set `benchmark.on_bad_sample: skip`")
        more = len(faults) - MOST_NAMED
        rest = [Text("and {}", pluralize(more, "more bad sample"))] if more > 0 else []
        return [Finding(area, "problem", fault, advice) for fault in (*faults[:MOST_NAMED], *rest)]
    return [Finding(area, "problem", text) for text in (str(error), *faults)]


# -- the configuration and the machine --


def configuration_as_read(context: Context) -> Iterator[Finding]:
    configuration = context.configuration
    models, judges = (join_texts(some, " and ") for some in (configuration.edit_models, configuration.judges))
    words = Text("{}: {}, judged by {}", configuration.name, models, judges)
    if not configuration.judges:
        words = Text("{}: {}, judged by nobody yet", configuration.name, models)
    yield Finding("configuration", "ok", words)
    for note in configuration.notes:
        yield Finding("configuration", "note", note)


# -- where models run --


def double_claims(context: Context) -> Iterator[Finding]:
    """Finds a server that takes nearly all of a GPU by default on which another model is to stay loaded."""
    if context.configuration.execution.placement != "together":
        return
    for model in context.models:
        section = model.section
        share = section.server_share
        if not section.own_server or not share or section.own_server.share(section.route, by_default=False):
            continue
        mine = {device for place in model.places for device in place if device.startswith("cuda")}
        for other in context.models:
            shared = sorted(mine & {device for place in other.places for device in place})
            if other is not model and shared:
                text = Text(
                    "{}: the server of {} takes {:.0%} of {} at its start, where {} is to stay loaded "
                    "(placement: together)",
                    section.name_of("serve"),
                    section.name,
                    share,
                    shared[0],
                    other.section.name,
                )
                advice = Text("give it less (`serve: {{memory: 0.4}}`), or write `execution: {{placement: swap}}`")
                yield Finding("devices", "problem", text, advice)


def devices(context: Context) -> Iterator[Finding]:
    """Reports where each model runs. A large model with `auto` devices does not fall back to the CPU."""
    for key, choice in context.devices.items():
        who = model_title(key)
        if isinstance(choice, ConfigurationError):
            yield Finding("devices", "problem", str(choice), who=who)
            continue
        chosen, why = choice
        shown = ", ".join("+".join(place) for place in chosen)
        section = context.configuration.models[key]
        taken = section.placement.device_ids == "auto" and chosen and chosen[0][0].startswith("cpu")
        size = bytes_of_weights(section, context.environment) if taken else 0
        if size <= LARGE:
            yield Finding("devices", "ok", Text("{} ({})", shown, why), who=who)
            continue
        lost = join_texts(describe_lost_gpus(context.machine.lost()), "; ")
        reason = lost or context.machine.fault() or context.machine.limit()
        yield Finding(
            "devices",
            "problem",
            Text(
                "{}: no GPU is visible to this command{}, and {} has {} of weights",
                section.name_of("device_ids"),
                Text(" ({})", reason) if reason else "",
                section.name,
                gib(size),
            ),
            Text("to run it on the CPU anyway, write `device: cpu` in its `params`, or give `--devices cpu`"),
            who,
        )


def loads_at_once(context: Context) -> list[Finding]:
    return host_findings(context.models, context.configuration.execution.load_concurrency, context.host_free)


# -- environments --


def environments(context: Context) -> Iterator[Finding]:
    """Probes the models' environments, and asks models behind servers about an example."""
    try:
        judges = {judge.name: judge for judge in make_judges(context.configuration)}
    except EditEvalError:  # the benchmark's findings report it
        judges = {}
    questions: list[EnvironmentProbe] = []
    for model in context.models:
        judge = judges.get(model.section.name) if model.model.kind == "judge" else None
        for question in _list_probes(model, context.configuration, judge):
            if isinstance(question, Finding):
                yield question
            else:
                questions.append(question)
    yield from _answers(questions, context.gpus)


def _list_probes(
    wanted: PlacedModel, configuration: Configuration, judge: AskedJudge | None
) -> Iterator[EnvironmentProbe | Finding]:
    """Yields what the model's environment is to be asked; a finding if there is no environment."""
    section, requirements = wanted.section, wanted.section.placement.uv
    if requirements and not uv_is_made(uv_folder(requirements)):
        text = Text("an environment with {} will be made once, by the first run", requirements)
        yield Finding("environments", "note", text, who=wanted.who)
        return
    try:
        python = interpreter(section) or sys.executable
    except ConfigurationError as error:
        advice = Text("`edit-eval env create DIR --for {}` makes one", wanted.model.kind)
        yield Finding("environments", "problem", str(error), advice, wanted.who)
        return
    request, first = _about_the_example(wanted, judge, configuration.benchmark.language)
    asked = EnvironmentProbe(
        who=wanted.who,
        python=python,
        kind=_kind(wanted.model.key),
        class_path=section.class_path,
        parameters=section.parameters,
        folder=str(configuration.folder),
        on_gpu=wanted.is_on_gpu,
        request=request,
        asked=(judge, first) if judge and first else None,
    )
    if (served := section.own_server) is None:
        yield asked
        return
    yield replace(asked, python=sys.executable, on_gpu=False, request={})  # there is no server yet that could answer
    engine = served.find_engine(section.route)
    if engine is not None:
        yield EnvironmentProbe(Text("{}: its server", wanted.who), python, packages=(engine.package, *engine.needs))
        return
    program = served.command[0]
    if "{python}" not in program and shutil.which(program) is None:
        advice = Text("start serve.command with a program on the PATH")
        yield Finding("environments", "problem", Text("program not found: {}", program), advice, wanted.who)


def _kind(key: str) -> Kind:
    return "edit_model" if key.startswith("edit:") else "judge"


def _about_the_example(
    wanted: PlacedModel, judge: AskedJudge | None, language: str
) -> tuple[JsonObject, protocols.Question | None]:
    """Returns what a model is asked before a run, and the question behind it."""
    sample = example_sample(language)
    if judge and (first := _first_question(judge, sample)):
        return _request(first, sample, judge), first
    edited: JsonObject = {"instruction": sample.instruction, "seed": wanted.section.seed, "sample_id": sample.id}
    return edited if wanted.model.kind == "edit" else {}, None


def _first_question(judge: AskedJudge, sample: Sample) -> protocols.Question | None:
    if fault(judge.protocol, sample):
        return None
    return next((question for question in judge.protocol.questions(sample) if not question.after), None)


def _request(question: protocols.Question, sample: Sample, judge: AskedJudge) -> JsonObject:
    """Returns what a judge is told about the example."""
    known = {"instruction": sample.instruction, "category": sample.category, "sample_id": sample.id}
    known |= {"question": question.name}
    return {
        "system": question.system,
        "user": question.user,
        "form": question.form,
        "labels": question.labels,
        "schema": question.schema,
        "shows": [view.picture for view in question.shows],
        **{name: value for name, value in known.items() if name in judge.reads},
    }


def _answers(questions: Sequence[EnvironmentProbe], visible: Sequence[Gpu]) -> list[Finding]:
    with ThreadPoolExecutor(max_workers=4) as pool:
        answers = list(pool.map(probe, questions))
    findings = []
    for question, answer in zip(questions, answers, strict=True):
        findings += environment_findings(question, answer, visible)
    for question, answer in zip(questions, answers, strict=True):
        if question.kind == "edit_model" and "examined" in answer:
            findings.append(edit_finding(question.who, answer["examined"]))
        if question.asked and "examined" in answer:
            findings.append(server_finding(question.who, answer["examined"], *question.asked))
            findings += ability_findings(question.who, answer["examined"])
    return findings + check_engine_environments(questions)


def python_path(context: Context) -> Iterator[Finding]:
    models = context.configuration.models.values()
    if context.environment.get("PYTHONPATH") and any(section.placement.foreign for section in models):
        text = Text(
            "PYTHONPATH is set and also applies in the models' own environments, where it may bring in the wrong "
            "libraries"
        )
        yield Finding("environments", "warning", text, Text("unset PYTHONPATH for this command"))


# -- weights --


def cards(context: Context, wanted: PlacedModel) -> Iterator[Finding]:
    """Reports what a model's class says about it before it is loaded."""
    try:
        card = card_of(wanted.section, context.configuration.folder)
    except ConfigurationError as error:  # the benchmark's findings report it, too, if there is a benchmark
        yield Finding("models", "problem", str(error), who=wanted.who)
        return
    for line in card_lines(card):
        yield Finding("models", "note", line, who=wanted.who)
    yield from sale_findings(card, wanted.who)


def reachable(context: Context, wanted: PlacedModel) -> Iterator[Finding]:
    """Reports weights that are not here and cannot be had."""
    if finding := context.unreachable[wanted.model.key]:
        yield finding


def weights(context: Context, wanted: PlacedModel) -> Iterator[Finding]:
    """Checks that the weights are here and complete."""
    if wanted.weights.name and not context.unreachable[wanted.model.key]:
        yield from _weight_findings(wanted, context.environment)


def fits(context: Context, wanted: PlacedModel) -> list[Finding]:
    return fit_findings(wanted, context.gpus, context.host_free)


def _out_of_reach(wanted: PlacedModel, environment: Mapping[str, str]) -> Finding | None:
    """Returns a problem if weights are neither here nor available from the Hub, else None.

    Takes `HUB_SECONDS` at most. The libraries would retry for a minute.
    """
    section, weights = wanted.section, wanted.weights
    if not has_published_weights(section, weights) or not is_hub_name(
        weights.name
    ):  # other weights need not be a repository
        return None
    cache = hub_cache(environment)
    if weights.folder is not None and (not weights.faults or cache not in weights.folder.parents):
        return None
    variable = offline(environment)
    if not variable and hub_answers(environment):
        return None
    text = Text(
        "{}: the weights of {} are {}, and {}",
        section.name_of(checkpoint_of(section)[0]),
        weights.name,
        Text("incomplete in the cache ({})", weights.faults[0])
        if weights.faults
        else Text("not in the cache {}", cache),
        Text("{} forbids asking the Hub", variable)
        if variable
        else Text("{} cannot be reached", hub_address(environment)),
    )
    command = download_command(section)
    advice = Text("on a machine with a network, run `edit-eval fetch CONFIG` or `{}`; or give a folder", command)
    return Finding("models", "problem", text, advice, wanted.who)


def _weight_findings(wanted: PlacedModel, environment: Mapping[str, str]) -> list[Finding]:
    weights, who = wanted.weights, wanted.who
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
            advice = Text(
                "on a machine with a network: `edit-eval fetch CONFIG` or {}; {} forbids it here", command, variable
            )
            return [Finding("models", "problem", text, advice)]
        return [
            Finding(
                "models",
                "warning",
                Text("{}: the first run would download it", text),
                Text("do it beforehand: `edit-eval fetch` with this configuration, or {}", command),
            )
        ]
    if weights.faults:
        cached = cache in weights.folder.parents
        level: Level = "warning" if cached and not variable else "problem"
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


def other_machines(context: Context) -> list[Finding]:
    """Reports what other machines lack of the weights, since each would download them itself, and their oddities."""
    machine = context.machine
    asked = {checkpoint_of(model.section)[1:] for model in context.models if model.weights.name and model.is_on_gpu}
    names = sorted((name, revision, dtype or "bfloat16") for name, revision, dtype in asked if name)
    findings = [Finding("machine", "warning", note) for host in machine.hosts() for note in host.notes]
    if warning := machine.find_warning():
        advice = Text(
            "anyone who can reach it can run programs on it: set RAY_AUTH_MODE=token before `ray start`, and here"
        )
        findings.append(Finding("machine", "warning", warning, advice))
    for host, faults in machine.find_missing_weights(names).items() if names else ():
        advice = Text("put the weights there, or HF_HOME on a disk that all machines share")
        findings += [Finding("models", "warning", Text("{}: {}", host, fault), advice) for fault in faults]
        findings += [] if faults else [Finding("models", "ok", Text("{}: the weights of every model are there", host))]
    return findings


def families(context: Context) -> Iterator[Finding]:
    configuration = context.configuration
    for shared in find_shared_families(configuration.judges.values(), configuration.edit_models.values()):
        yield Finding("models", "note", shared)


def automatic(context: Context) -> Iterator[Finding]:
    """Reports what `auto` would choose; nothing if a model has no place to run."""
    if all(model.places for model in context.models):
        for sentence in decide(
            context.configuration.execution, context.models, context.gpus, context.host_free
        ).sentences:
            yield Finding("models", "note", Text("execution.{}", sentence))


# -- benchmark, disk, keys, answers --


def _read(configuration: Configuration, listener: Listener | None) -> Read:
    """Reads the benchmark: its problems, and the experiment made of it."""
    what = configuration.benchmark.source
    try:
        data = load_samples(configuration, listener)
        experiment = make_experiment(configuration, data)
    except Stopped as error:
        return Read(refusal(error, "disk"), None)
    except EditEvalError as error:
        return Read(refusal(error, "benchmark"), None)
    except Exception as error:  # a user's benchmark class
        text = Text("{}: {}: {}", what, type(error).__name__, error)
        return Read([Finding("benchmark", "problem", text)], None)
    findings: list[Finding] = []
    chosen = experiment.samples
    counts = Counter(sample.category for sample in chosen)
    each = [Text("{} {}", category, count) for category, count in counts.items()]
    of = Text(" of {}", len(data.samples)) if len(chosen) < len(data.samples) else ""
    read = Text("{}: {}{} samples ({})", what, len(chosen), of, each)
    if not any(counts):  # a table without categories has one without a name
        read = Text("{}: {}{} samples", what, len(chosen), of)
    findings.append(Finding("benchmark", "ok", read))
    findings += [Finding("benchmark", "note", note) for note in data.notes]
    for name, edits in experiment.there.items():
        by_name = edits.lacking and edits.left and "files" in configuration.edit_models[name].parameters
        advice = Text("rename them, or name them: `params: {{files: {{SAMPLE: FILE}}}}`") if by_name else ""
        level: Level = "warning" if edits.lacking else "ok"
        findings.append(Finding("benchmark", level, Text("{}: {}", name, edits.words), advice))
    for sample in chosen:
        if sample.fault:
            text = Text("sample {} ({}) will be skipped: {}", sample.index, sample.id, sample.fault)
            findings.append(Finding("benchmark", "warning", text))
    return Read(findings, experiment)


def disk(context: Context) -> list[Finding]:
    images, experiment = None, context.experiment
    if experiment is not None:
        count = sum(not sample.fault for sample in experiment.samples)
        images = count * len(experiment.edit_models) * experiment.edit_seeds
    return disk_findings(context.run_folder, images, context.downloads)


def keys(context: Context) -> Iterator[Finding]:
    """Checks that the variables that hold keys are set; only their names are ever shown."""
    environment = context.environment
    for section in (model.section for model in context.models if not model.section.own_server):
        makers = import_chat_endpoint()
        maker = makers.find_address(section.parameters.get("api") or "") if makers is not None else ""
        address = section.parameters.get("base_url") or environment.get("OPENAI_BASE_URL")
        for key, name in section.parameters.items():
            if not key.endswith("_env") or not isinstance(name, str) or not name:
                continue
            text = Text("{}: the variable {} ({}) is not set", section.name, name, key)
            if environment.get(name):
                yield Finding("keys", "ok", Text("{}: {} is set", section.name, name))
            elif address and address != maker:
                yield Finding("keys", "note", text, Text("your own server may not need one"))
            else:
                yield Finding("keys", "problem", text, Text("export {}=...", name))


def short_thoughts(context: Context) -> list[Finding]:
    """Warns about judges that are to think but have hardly room for it."""
    findings = []
    for name, section in context.configuration.judges.items():
        tokens = section.parameters.get("thinking_tokens")
        if section.parameters.get("thinking") == "on" and isinstance(tokens, int) and tokens < THOUGHT_NEEDED:
            text = Text(
                "judge {}: `thinking_tokens: {}` is too low for thinking; cut off there, it gives no answer",
                name,
                tokens,
            )
            findings.append(Finding("models", "warning", text, Text("set it to {}, or leave it out", THOUGHT_GIVEN)))
    return findings


CHECKS = (
    CheckRow(configuration_as_read),
    CheckRow(lambda context: gpu_findings(context.machine, context.environment)),
    CheckRow(lambda context: [host_finding(context.host_free)]),
    CheckRow(double_claims, refuses=True),
    CheckRow(devices, refuses=True),
    CheckRow(loads_at_once, room=True),
    CheckRow(environments),
    CheckRow(python_path),
    CheckRow(cards, each=True, refuses=True),
    CheckRow(reachable, each=True, refuses=True),
    CheckRow(weights, each=True, refuses=True),
    CheckRow(fits, each=True, room=True),
    CheckRow(other_machines),
    CheckRow(families),
    CheckRow(lambda c: gpu_sharing_findings(c.models, c.gpus, c.configuration.execution.placement)),
    CheckRow(automatic),
    CheckRow(lambda context: context.benchmark.findings),
    CheckRow(disk),
    CheckRow(keys, refuses=True),
    CheckRow(lambda c: [] if c.experiment is None else short_limits(c.configuration, c.experiment)),
    CheckRow(short_thoughts),
    CheckRow(lambda context: silent_judges(context.configuration, {})),
)
"""All checks, in the order in which they are made and reported."""


class MachineChecks(Check):
    """What is known of this machine, the models' weights and environments, and whether one fits the other."""

    def find(self, context: CheckContext) -> Iterator[Finding]:
        """Makes all checks."""
        return run_checks(Context.of(context), CHECKS)

    def refusals(self, context: CheckContext) -> Iterator[Finding]:
        """Makes those that refuse; a model that would fit, were nothing else there, may fit later."""
        context = Context.of(context)
        yield from run_checks(context, [check for check in CHECKS if check.refuses])
        empty = [replace(gpu, free=gpu.memory) for gpu in context.gpus]
        for model in (model for model in context.models if not model.loads_otherwise):
            if held := next(
                (finding for finding in fit_findings(model, context.gpus, context.host_free) if finding.stops), None
            ):
                fits_empty = not any(finding.stops for finding in fit_findings(model, empty, host_memory()))
                yield replace(held, passing=fits_empty)

    def notes(self, configuration: Configuration) -> Iterator[str]:
        """Names judges that share a family with an edit model."""
        return find_shared_families(configuration.judges.values(), configuration.edit_models.values())

    def choose(self, context: CheckContext) -> Choices:
        """Resolves `auto` by the memory that is free now."""
        return resolve(context)
