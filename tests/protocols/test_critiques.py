"""What makes an edit whose edit model is told a judge's words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from edit_eval.records import Refinement
from small_matrix import asked_judge, small_experiment


@pytest.mark.parametrize(("path", "same"), [("edit_eval.moved:Rubric", True), ("theirs:Rubric", False)])
def test_a_protocol_of_ours_is_the_same_wherever_its_module_is(path: str, same: bool) -> None:
    critic = asked_judge("critic")
    other = replace(critic, section=critic.section.model_copy(update={"class_path": path}))
    told = {"a@2": Refinement(edit_model="a", judge="critic", before="a", round=2)}
    makers, others = (
        small_experiment(1, models=("a", "a@2"), judges=[judge], refinements=told).makers for judge in (critic, other)
    )
    assert makers["a"] == others["a"]
    assert (makers["a@2"] == others["a@2"]) == same
