"""A judge that is asked in batches is asked about some edits alone, too; nothing but their company is another then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from edit_eval.benchmarks.contract import AUDIT
from edit_eval.plugins.audit.trial import Audit, audit

JUDGE = '''
import hashlib

class Judge:
    """Its score is made of all that it is told and shown; at BY a place it depends on the place in the batch, too."""

    def __init__(self, parameters):
        pass

    def load(self, devices):
        pass

    def judge(self, requests):
        return [f"{self.worth(one) + BY * place:.3f}" for place, one in enumerate(requests)]

    def worth(self, one):
        shown = [(name, hashlib.sha256(picture.tobytes()).hexdigest()) for name, picture in one.pictures.items()]
        told = repr((one.system, one.user, one.seed, one.form, one.instruction, one.category, shown))
        return int(hashlib.sha256(told.encode()).hexdigest()[:4], 16) % 100 / 100
'''


def examine(folder: Path, by: float, **parameters: Any) -> Audit:
    folder.mkdir(exist_ok=True)
    (folder / "own.py").write_text(JUDGE.replace("BY", str(by)), "utf-8")
    judge = {"class_path": f"{folder}/own.py:Judge", "params": {"device_ids": "cpu:1", **parameters}}
    configuration = {
        "benchmark": {"type": "scenes"},
        "edit_models": {"mine": {"type": "scene_editor"}},
        "judges": {"judge": judge},
        "execution": {"progress": "none"},
    }
    return audit(configuration, run_dir=folder / "run", folder=folder / "passports", scenes=1, size=128)


@pytest.mark.check
def test_who_looks_at_nothing_but_the_question_is_the_same_in_a_batch(tmp_path: Path) -> None:
    """Any other word, seed or pixel would give another score: it would be asked something else when it is alone."""
    made = examine(tmp_path, 0, batch_size=16)
    measure = made.passport.measures["batch"]
    assert (measure.value, measure.n, measure.passed) == (0.0, 15, True)
    assert made.passport.measures["retest"].value, "another word is another question"
    samples = {sample.id: sample for sample in made.run.results.samples}
    alone = [sample for sample in samples.values() if sample.facts[AUDIT]["view"] == "alone"]
    assert all(sample.alone for sample in alone)
    assert {sample.category for sample in alone} == {sample.category for sample in samples.values()}


@pytest.mark.check
def test_whose_score_depends_on_the_place_in_the_batch_is_named(tmp_path: Path) -> None:
    made = examine(tmp_path, 0.6, batch_size=16)
    assert made.passport.measures["batch"].missed
    assert "Its score depends on what else is in its batch." in made.page.read_text("utf-8")
