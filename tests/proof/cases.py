"""The cases, by their names. `record.py` writes what they come to."""

from __future__ import annotations

from proof.cases_of_judges import OF_JUDGES
from proof.cases_of_runs import OF_RUNS
from proof.cases_of_words import OF_WORDS
from proof.recording import Case

CASES: dict[str, Case] = {**OF_RUNS, **OF_JUDGES, **OF_WORDS}
