"""Whether judges have room for their answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from edit_eval.asking import load_samples, make_experiment
from edit_eval.config.loading import load_configuration
from edit_eval.execution.checks import short_limits
from edit_eval.execution.engine.pilot import cut_off_sentences
from edit_eval.execution.machine.devices import LocalMachine
from edit_eval.plugins.preparation.checks import Context, short_thoughts
from edit_eval.records import Reply, Status
from small_benchmark import configuration, write_benchmark
from small_matrix import Asking, ask, give_reply, imagined_edit, small_matrix


def found(folder: Path, form: str, judge: dict[str, Any]) -> list[tuple[str, str]]:
    write_benchmark(folder, 1)
    settings = configuration(folder)
    settings["protocol"] = {"answer": form}
    settings["reward_model"] = judge
    loaded = load_configuration(settings)
    experiment = make_experiment(loaded, load_samples(loaded))
    return [(finding.text, finding.advice) for finding in short_limits(loaded, experiment)]


@pytest.mark.parametrize(
    ("form", "judge"),
    [
        ("score", {"type": "qwen3_vl"}),
        ("score", {"type": "qwen3_vl", "params": {"max_new_tokens": 128}}),
        ("reason_then_score", {"type": "qwen3_vl"}),
        ("reason_then_score", {"type": "qwen3_vl", "params": {"max_new_tokens": 256}}),
        ("reason_then_score", {"type": "chat_endpoint", "params": {"model": "m"}}),
        ("reason_then_score", {"type": "chat_endpoint", "params": {"model": "m", "max_tokens": None}}),
        ("reason_then_score", {"type": "testing"}),
    ],
)
def test_defaults_and_what_is_ample_are_no_finding(tmp_path: Path, form: str, judge: dict[str, Any]) -> None:
    assert found(tmp_path, form, judge) == []


@pytest.mark.parametrize(
    ("form", "limit", "advice"), [("score", 8, "set it to 128"), ("reason_then_score", 128, "set it to 512")]
)
def test_a_limit_that_is_short_for_the_form_is_named(tmp_path: Path, form: str, limit: int, advice: str) -> None:
    for kind, name in (("qwen3_vl", "max_new_tokens"), ("chat_endpoint", "max_tokens")):
        params = {name: limit, **({"model": "m"} if kind == "chat_endpoint" else {})}
        ((text, said),) = found(tmp_path, form, {"type": kind, "params": params})
        assert text.startswith(f"judge {kind}: `{name}: {limit}` is too low for ")
        assert said.startswith(advice)


@pytest.mark.parametrize(
    ("params", "warned"),
    [
        ({"thinking": "on", "thinking_tokens": 512}, True),
        ({"thinking": "on"}, False),
        ({"thinking": "off", "thinking_tokens": 512}, False),
        ({"thinking_tokens": 512}, False),
    ],
)
def test_a_thought_needs_room(tmp_path: Path, params: dict[str, Any], warned: bool) -> None:
    write_benchmark(tmp_path, 1)
    settings = configuration(tmp_path)
    settings["reward_model"] = {"type": "transformers", "params": {"model_name": "Qwen/Qwen3.5-9B", **params}}
    findings = short_thoughts(Context(load_configuration(settings), LocalMachine()))
    assert [(finding.level, finding.advice) for finding in findings] == [
        ("warning", "set it to 8192, or leave it out")
    ] * warned
    assert all("`thinking_tokens: 512` is too low for thinking" in finding.text for finding in findings)


def test_what_was_cut_off_at_first_is_told_even_where_a_second_asking_helped() -> None:
    matrix = small_matrix(3, judges=("strict", "kind"))
    cut, good = Reply(text="Score: 1", ended=Status.CUT_OFF), Reply(text="Score: 10.000")
    judgements = range(matrix.cells.judgements)
    for number in range(3):
        matrix.set_edit(number, imagined_edit(matrix, number))
    for cell in range(len(matrix.cells)):
        for reply in [cut, good] if matrix.address(cell)[3] == "strict" and cell < 3 else [good]:
            give_reply(matrix, cell, reply)
    assert cut_off_sentences(matrix, judgements) == [
        "strict was cut off in 2 of its first 3 answers: raise its limit (max_new_tokens or max_tokens)"
    ]
    assert cut_off_sentences(matrix, judgements[4:]) == []


def test_a_judgement_of_several_questions_is_cut_off_where_any_of_them_is() -> None:
    matrix = small_matrix(2, protocol=Asking([ask("a"), ask("b")]))
    for number in range(2):
        matrix.set_edit(number, imagined_edit(matrix, number))
    give_reply(matrix, 1, Reply(text="1", ended=Status.CUT_OFF))
    give_reply(matrix, 2, Reply(text="1"))
    assert cut_off_sentences(matrix, range(2))[0].startswith("critic was cut off in 1 of its first 2 answers")
