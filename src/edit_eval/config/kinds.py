"""The door: every kind of component, as entry points `KIND.NAME` of the group `edit_eval.components` register it.

`docs/components.md` is made of this table and of the contracts that it names (`make texts`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from edit_eval.text import Text

Kind = Literal[
    "benchmark",
    "edit_model",
    "judge",
    "protocol",
    "analysis",
    "section",
    "verb",
    "option",
    "driver",
    "tracker",
    "control",
    "examiner",
    "columns",
    "subject",
    "weights",
    "check",
    "follower",
    "partition",
    "display",
]


@dataclass(frozen=True)
class ComponentKind:
    """One kind of component."""

    word: str
    """With its article, for messages."""
    plural: str
    named_in: str
    """Where it is named: a key of the configuration, or what is typed."""
    contract: str
    """The class that says what one must have, `module:Class` below `edit_eval`; it need not be its base."""
    methods: tuple[str, ...]
    """Those without which a class is refused when it is imported."""
    extras: tuple[str, ...] = ()
    """Further classes that say what one may have besides."""


KINDS: dict[Kind, ComponentKind] = {
    "benchmark": ComponentKind(
        Text("a benchmark"),
        "benchmarks",
        "benchmark: type",
        "benchmarks.contract:Benchmark",
        ("samples",),
        ("benchmarks.contract:BenchmarkExtras",),
    ),
    "edit_model": ComponentKind(
        Text("an edit model"),
        "edit_models",
        "diffusion_model: type",
        "edit_models.contract:EditModel",
        ("load", "edit"),
        ("edit_models.contract:EditModelExtras", "edit_models.contract:ModelExtras"),
    ),
    "judge": ComponentKind(
        Text("a judge"),
        "judges",
        "reward_model: type",
        "judges.contract:Judge",
        ("load", "judge"),
        ("judges.contract:JudgeExtras", "edit_models.contract:ModelExtras"),
    ),
    "protocol": ComponentKind(
        Text("a protocol"),
        "protocols",
        "protocol: type",
        "protocols.contract:Protocol",
        ("questions", "read"),
        ("protocols.contract:ProtocolExtras",),
    ),
    "analysis": ComponentKind(
        Text("an analysis"), "analyses", "edit-eval NAME RUN", "reporting.analyses:Analysis", ("compute", "sheet")
    ),
    "section": ComponentKind(
        Text("a section of reports"),
        "sections",
        "edit-eval report",
        "reporting.analyses:ReportSection",
        ("select_parameters",),
    ),
    "verb": ComponentKind(Text("a command"), "commands", "edit-eval NAME", "verbs.contract:Verb", ("call",)),
    "option": ComponentKind(
        Text("an option"),
        "options",
        "edit-eval COMMAND --...",
        "verbs.contract:VerbOption",
        ("answer_instead", "reasons"),
    ),
    "driver": ComponentKind(
        Text("a driver"),
        "drivers",
        "execution: driver",
        "execution.contract:Driver",
        ("from_configuration", "machine", "start", "submit", "poll", "kill", "close"),
    ),
    "tracker": ComponentKind(
        Text("a tracker"), "trackers", "trackers: [NAME]", "trackers.contract:Tracker", ("begin", "log", "keep", "end")
    ),
    "control": ComponentKind(
        Text("a control"),
        "controls",
        "evaluation: more_controls: [NAME]",
        "edit_models.contract:ControlPicture",
        ("picture",),
    ),
    "examiner": ComponentKind(
        Text("an examiner"),
        "examiners",
        "edit-eval run",
        "store.examined:Examiner",
        ("take", "load_examinations", "read", "words"),
    ),
    "columns": ComponentKind(
        Text("a key that adds columns"), "columns", "NAME: ...", "config.schema:ColumnsSection", ("columns",)
    ),
    "subject": ComponentKind(
        Text("a kind of subject"),
        "subjects",
        "edit-eval run",
        "store.subjects.contract:Kind",
        ("unfold", "pictures", "column_names", "batch_group"),
    ),
    "weights": ComponentKind(
        Text("a table of weights"),
        "weights",
        "edit-eval plan",
        "pretrained.published:WeightsTable",
        ("releases", "classes", "lineage"),
    ),
    "check": ComponentKind(
        Text("a check"), "checks", "edit-eval doctor", "execution.checks:Check", ("find", "refusals", "notes", "choose")
    ),
    "follower": ComponentKind(
        Text("a follower of runs"),
        "followers",
        "edit-eval run",
        "execution.doors:Follower",
        ("of", "started", "finish"),
    ),
    "partition": ComponentKind(
        Text("a partition of a run"),
        "partitions",
        "edit-eval run --shard",
        "execution.doors:Partition",
        ("read", "divide", "take_turn"),
    ),
    "display": ComponentKind(
        Text("a display"),
        "displays",
        "edit-eval run, report",
        "reporting.displays:LiveDisplay",
        (),
        ("reporting.displays:PageDisplay",),
    ),
}
