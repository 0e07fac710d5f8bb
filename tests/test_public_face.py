"""The names that users of Python have: they stay, they are documented, and they cost nothing until asked for."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

import edit_eval

FACE = """
Analysis Benchmark BenchmarkError ChartStyle Column Comparison ConfigurationError ControlPicture Edit
EditEvalError EditModel EditRequest Judge JudgeRequest Judgement Line LoadError MeanScore Missing ModelError NotDrawn
Picture PictureError Protocol Question Reading Refused Reply Results Run RunDirectoryError RunInterrupted RunRecords
Sample SampleGroup Scale Score Scored Scoring Sources Spectator Status Stopped Table Text Tracker Unscored Verb View
__version__ analyse assert_same_editor compare evaluate score score_table
"""
HEAVY = {"torch", "pyarrow", "pandas", "matplotlib", "transformers", "diffusers", "ray", "openai", "fastapi", "IPython"}


def test_the_face_is_what_it_was() -> None:
    assert dir(edit_eval) == FACE.split()
    of_plugins = {"Scored", "assert_same_editor", "score", "score_table"}
    assert {*dir(edit_eval)} - {*edit_eval.__all__} == of_plugins


def test_every_name_is_there_and_documented() -> None:
    page = (Path(__file__).parents[1] / "docs" / "python.md").read_text("utf-8")
    for name in dir(edit_eval):
        thing = getattr(edit_eval, name)
        assert name == "__version__" or thing.__name__ == name
        assert name in page, name
    with pytest.raises(AttributeError, match="no attribute 'evaluat'"):
        _ = edit_eval.evaluat


def test_types_are_handed_on() -> None:
    assert files("edit_eval").joinpath("py.typed").is_file()


def test_the_import_is_light_and_no_name_brings_what_is_heavy() -> None:
    program = """
import json, sys
before = set(sys.modules)
import edit_eval
light = [name for name in set(sys.modules) - before if name.partition(".")[0] not in sys.stdlib_module_names]
for name in dir(edit_eval):
    getattr(edit_eval, name)
print(json.dumps([light, sorted({name.partition(".")[0] for name in sys.modules})]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    light, loaded = json.loads(done.stdout)
    assert light == ["edit_eval"]
    assert HEAVY.isdisjoint(loaded)
