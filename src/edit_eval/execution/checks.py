"""What a run looks at before anything is asked: its own refusals and warnings, and the checks that are registered.

Estimates of memory, weights, environments and servers come by the door (`check.NAME`); without any, a run begins, and
`auto` is the careful value.
"""

from __future__ import annotations

import contextlib
import inspect
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from edit_eval.config.components import import_class, import_registered, names
from edit_eval.config.kinds import Kind
from edit_eval.config.schema import Configuration, ModelSection
from edit_eval.errors import ConfigurationError, Stopped
from edit_eval.execution.choices import CONFIGURED, Choice, Choices
from edit_eval.execution.contract import Machine
from edit_eval.execution.findings import Finding
from edit_eval.experiment import Experiment
from edit_eval.files.user_cache import own_file
from edit_eval.judges.answers import LIMITS, TOKENS_GIVEN, TOKENS_NEEDED
from edit_eval.records import model_title
from edit_eval.scheduling.tasks import Model
from edit_eval.text import Text
from edit_eval.workers.model_class import make_parameters

TOKENS_A_SECOND = 10.0
"""What a large judge writes in a second at least, on one device."""
WANTED = {
    "score": Text("a bare score"),
    "reason_then_score": Text("reasons and a score"),
    "json": Text("reasons and numbers as JSON"),
    "labels": Text("a letter for each criterion"),
}


@dataclass
class CheckContext:
    """What a check looks at."""

    configuration: Configuration
    machine: Machine
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    laid_out: Sequence[Model] | None = None
    """The models to check, on their devices; all models of the configuration if these are not known yet."""


class Check:
    """What a package looks at before a run, without loading or downloading anything."""

    def find(self, context: CheckContext) -> Iterable[Finding]:
        """Yields all that is worth knowing, for `doctor`."""
        return self.refusals(context)

    def refusals(self, context: CheckContext) -> Iterable[Finding]:
        """Yields what `run` looks at, before it loads a model; the first finding that `stops` ends it."""
        return ()

    def notes(self, configuration: Configuration) -> Iterable[str]:
        """Yields what a reader of the run's numbers should know of its models."""
        return ()

    def choose(self, context: CheckContext) -> Choices | None:
        """Returns what the settings that are `auto` come to on this machine; None if it does not know."""
        return None


def load_checks() -> list[Check]:
    """Returns all checks that are registered, ours first."""
    return [import_registered("check", name)() for name in names("check")]


def refuse(context: CheckContext) -> None:
    """Raises `ConfigurationError` for the first problem that makes a run refuse to start.

    Raises `Stopped` for one that passes when other processes end.
    """
    for finding in (*_find_ended_sales(context), *_refusals(context)):
        if finding.stops and finding.passing:
            raise Stopped(Text("{}; rerun the same command when that is free", finding.line))
        if finding.stops:
            raise ConfigurationError(finding.line)


def _refusals(context: CheckContext) -> Iterator[Finding]:
    for check in load_checks():
        yield from check.refusals(context)


def _find_ended_sales(context: CheckContext) -> Iterator[Finding]:
    configuration = context.configuration
    for key, section in configuration.models.items():
        if context.laid_out is None or any(model.key == key for model in context.laid_out):
            with contextlib.suppress(ConfigurationError):  # parameters that loading refuses
                yield from sale_findings(card_of(section, configuration.folder), model_title(key))


def choose(configuration: Configuration, models: Sequence[Model], machine: Machine) -> Choices:
    """Returns `placement` and `load_concurrency` for these models on this machine; nothing is loaded.

    What is `auto` is what a registered check makes of it; if none knows, models swap and load one after the other.
    """
    context = CheckContext(configuration, machine, laid_out=models)
    for check in load_checks():
        if (made := check.choose(context)) is not None:
            return made
    execution, why = configuration.execution, Text("nothing here estimates memory")
    placement: Choice[str] = Choice("placement", execution.placement, CONFIGURED, automatic=False)
    if execution.placement == "auto":
        placement = Choice("placement", "swap", why, weighed=False)
    if execution.load_concurrency != "auto":
        return Choices(placement, Choice("load_concurrency", execution.load_concurrency, CONFIGURED, automatic=False))
    at_once = 1 if any(model.holds_device for model in models) else None
    return Choices(placement, Choice("load_concurrency", at_once, why, weighed=at_once is not None))


# -- what the classes of models say of them before they are loaded --


def call_class_method(section: ModelSection, folder: Path, method: str) -> Any:
    """Calls a static method of a model's class with its parameters; None if there is no such method."""
    model_class = class_of("judge" if section.protocol else "edit_model", section, folder)
    function = getattr(model_class, method, None)
    return function(make_parameters(model_class, section.parameters)) if function is not None else None


def class_of(kind: Kind, section: ModelSection, folder: Path) -> Any:
    """Returns a model's class; None if only its own environment can import it."""
    try:
        return import_class(kind, section.class_path, folder)
    except ConfigurationError:
        return None


def takes(keyword: str, method: Any) -> bool:
    """True if a method has a parameter of this name."""
    return method is not None and keyword in inspect.signature(method).parameters


def card_of(section: ModelSection, folder: Path) -> Mapping[str, str]:
    """Returns the model's card; empty if its class has none, or only its own environment can import it.

    Raises `ConfigurationError` for parameters that the model does not take.
    """
    card: Mapping[str, str] = call_class_method(section, folder, "card") or {}
    return card


OLD = 90
"""Days after which what was seen of a closed model is called old."""


SOON = 60
"""Days before its end from which a model is warned about."""


def days_left(ends: str, today: date | None = None) -> int | None:
    """Returns how many days are left until a model is switched off, below 0 after that day; None without an end."""
    return (date.fromisoformat(ends) - (today or date.today())).days if ends else None


def sale_findings(card: Mapping[str, str], who: str) -> Iterator[Finding]:
    """Yields when a model that its maker alone runs ends, what is not known of it, and how old all of that is."""
    if not card.get("seen"):
        return
    ends, left = card.get("ends", ""), days_left(card.get("ends", ""))
    if left is not None and left < 0:
        advice = Text("take another model, or correct its row in {}", own_file())
        yield Finding("models", "problem", Text("{}: it was switched off on {}", who, ends), advice)
    elif left is not None:
        yield Finding("models", "warning" if left <= SOON else "note", Text("{}: it is switched off on {}", who, ends))
    if needed := card.get("unpriced"):
        yield Finding("models", "note", Text("{}: its price is not known; max_cost needs {}", who, needed))
    age = -(days_left(card["seen"]) or 0)
    if age < 0:
        words = Text("{}: {} is the day on which its facts were looked up, and is still to come", who, card["seen"])
        yield Finding("models", "warning", words, Text("correct its row in {}, or this machine's clock", own_file()))
        return
    old = Text(
        "{1}: its price, end and abilities were looked up on {2}, {0} day ago",
        *(age, who, card["seen"]),
        plural="{1}: its price, end and abilities were looked up on {2}, {0} days ago",
    )
    yield Finding("models", "warning" if age > OLD else "note", old)


# -- answers that would be cut off, judges that would be taken for hung --


def short_limits(configuration: Configuration, experiment: Experiment) -> list[Finding]:
    """Warns about judges whose answers are likely to be cut off, and so to give no scores."""
    findings: list[Finding] = []
    for name, section in configuration.judges.items():
        forms = {question.question.form for asked in experiment.questions_by_judge[name] for question in asked}
        form = max(forms & TOKENS_NEEDED.keys(), key=TOKENS_NEEDED.__getitem__, default="")
        for limit in LIMITS:
            tokens = section.parameters.get(limit)
            if form and isinstance(tokens, int) and tokens < TOKENS_NEEDED[form]:
                what = WANTED.get(form, Text("its answers"))
                text = Text(
                    "judge {}: `{}: {}` is too low for {}; an answer that is cut off gives no score",
                    name,
                    limit,
                    tokens,
                    what,
                )
                advice = Text("set it to {}, or leave it out", TOKENS_GIVEN[form])
                findings.append(Finding("models", "warning", text, advice))
    return findings


def silent_judges(configuration: Configuration, seconds: Mapping[str, float]) -> Iterator[Finding]:
    """Warns about judges that tell no steps and may be taken for hung while they write.

    `seconds`: what a batch takes each judge, as a pilot has shown; empty before one.
    """
    for name, section in configuration.judges.items():
        limit, took = section.placement.timeout, seconds.get(name, 0.0)
        numbers = (section.parameters.get(key) for key in LIMITS)
        tokens = max((number for number in numbers if isinstance(number, int)), default=0)
        judge = class_of("judge", section, configuration.folder)
        tells = judge is None or not getattr(judge, "holds_device", True) or takes("on_step", judge.judge)
        if tells or not (took > limit / 2 or tokens > limit * TOKENS_A_SECOND):
            continue
        rate = tokens / limit
        text = Text("judge {}: {} tokens within `timeout: {:g}` are {:.0f} a second", name, tokens, limit, rate)
        if took:
            text = Text("judge {}: a batch took {:.0f} s, and its `timeout` is {:g}", name, took, limit)
        advice = Text("it tells no steps, so a longer answer is taken for hung: raise `timeout`, or take `on_step`")
        yield Finding("models", "warning", text, advice)
