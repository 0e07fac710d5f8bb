"""Measures how well image editing models follow an instruction.

    from edit_eval import evaluate, compare

    run = evaluate("demo")  # or the path of your YAML, or a dictionary with its content
    print(run.verdict)
    run.means()  # a table in a notebook: each model's mean, its 95% interval, how many are scored
    compare(["runs/mine", "runs/other"])  # two runs, by their folders

`evaluate` runs a benchmark through edit models and judges, and returns a `Run`. `Run(folder)` opens an existing one.
`compare` says which model is better, `score` judges a single edit. `docs/python.md` describes every public name;
`edit-eval --help` lists the same on the command line.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from edit_eval.benchmarks.contract import Benchmark
    from edit_eval.edit_models.contract import ControlPicture, EditModel, EditRequest
    from edit_eval.errors import (
        BenchmarkError,
        ConfigurationError,
        EditEvalError,
        LoadError,
        ModelError,
        NotDrawn,
        PictureError,
        Refused,
        RunDirectoryError,
        RunInterrupted,
        Stopped,
        Unscored,
    )
    from edit_eval.execution.spectator import Spectator
    from edit_eval.judges.contract import Judge, JudgeRequest
    from edit_eval.protocols.contract import Missing, Protocol, Question, Score, View
    from edit_eval.records import Edit, Judgement, Picture, Reading, Reply, Results, Sample, Scale, Scoring, Status
    from edit_eval.reporting.analyses import Analysis, ChartStyle, RunRecords, SampleGroup, Sources
    from edit_eval.reporting.table import Column, Line, Table
    from edit_eval.run import Run, analyse, compare, evaluate
    from edit_eval.statistics.comparison import Comparison
    from edit_eval.statistics.means import MeanScore
    from edit_eval.text import Text
    from edit_eval.trackers.contract import Tracker
    from edit_eval.verbs.contract import Verb

    # Names that plug-ins bring, for type checkers alone: what is here when it runs, `pyproject.toml` says.
    from edit_eval.plugins.gate.same_editor import assert_same_editor as assert_same_editor  # isort: skip
    from edit_eval.plugins.serve.scoring import Scored as Scored, score as score, score_table as score_table  # isort: skip

__version__ = "0.1.0"

# Names are looked up lazily: a worker in a foreign environment imports this package without any of the libraries that
# `evaluate` needs.

_PLACES = {
    "run": ("Run", "analyse", "compare", "evaluate"),
    "statistics.means": ("MeanScore",),
    "statistics.comparison": ("Comparison",),
    "reporting.analyses": ("Analysis", "ChartStyle", "RunRecords", "SampleGroup", "Sources"),
    "reporting.table": ("Column", "Line", "Table"),
    "text": ("Text",),
    "trackers.contract": ("Tracker",),
    "verbs.contract": ("Verb",),
    "execution.spectator": ("Spectator",),
    "benchmarks.contract": ("Benchmark",),
    "edit_models.contract": ("ControlPicture", "EditModel", "EditRequest"),
    "judges.contract": ("Judge", "JudgeRequest"),
    "protocols.contract": ("Protocol", "Question", "View", "Score", "Missing"),
    "records": (
        *("Sample", "Picture", "Edit", "Reply", "Reading", "Judgement"),
        *("Status", "Scale", "Scoring", "Results"),
    ),
    "errors": (
        *("EditEvalError", "ConfigurationError", "BenchmarkError", "RunDirectoryError", "Unscored", "Stopped"),
        *("NotDrawn", "RunInterrupted", "ModelError", "Refused", "PictureError", "LoadError"),
    ),
}
_MODULES = {name: module for module, names in _PLACES.items() for name in names}

__all__ = [
    "Analysis",
    "Benchmark",
    "BenchmarkError",
    "ChartStyle",
    "Column",
    "Comparison",
    "ConfigurationError",
    "ControlPicture",
    "Edit",
    "EditEvalError",
    "EditModel",
    "EditRequest",
    "Judge",
    "JudgeRequest",
    "Judgement",
    "Line",
    "LoadError",
    "MeanScore",
    "Missing",
    "ModelError",
    "NotDrawn",
    "Picture",
    "PictureError",
    "Protocol",
    "Question",
    "Reading",
    "Refused",
    "Reply",
    "Results",
    "Run",
    "RunDirectoryError",
    "RunInterrupted",
    "RunRecords",
    "Sample",
    "SampleGroup",
    "Scale",
    "Score",
    "Scoring",
    "Sources",
    "Spectator",
    "Status",
    "Stopped",
    "Table",
    "Text",
    "Tracker",
    "Unscored",
    "Verb",
    "View",
    "__version__",
    "analyse",
    "compare",
    "evaluate",
]


def _find_entry_points() -> dict[str, EntryPoint]:
    return {point.name: point for point in import_module("importlib.metadata").entry_points(group="edit_eval.face")}


def __getattr__(name: str) -> object:
    if name in _MODULES:
        return getattr(import_module(f"edit_eval.{_MODULES[name]}"), name)
    if not name.startswith("_") and name in (brought := _find_entry_points()):
        return brought[name].load()
    raise AttributeError(f"module 'edit_eval' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_find_entry_points()])
