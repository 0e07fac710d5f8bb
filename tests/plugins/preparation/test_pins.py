"""Servers that fix versions, and whose environment they would spoil."""

from __future__ import annotations

from edit_eval.plugins.preparation.probing import PINS, EnvironmentProbe, check_engine_environments

EDITOR = EnvironmentProbe(
    "edit model a", "/e/python", "edit_model", "edit_eval.plugins.diffusers.in_worker.diffusers:DiffusersModel"
)
CLIENT = EnvironmentProbe(
    "judge b", "/e/python", "judge", "edit_eval.plugins.endpoints.in_worker.chat_endpoint:ChatEndpoint"
)


def server(python: str, *packages: str) -> EnvironmentProbe:
    return EnvironmentProbe("judge b: its server", python, packages=packages)


def test_an_engine_beside_what_needs_other_versions_is_a_warning() -> None:
    (finding,) = check_engine_environments([EDITOR, CLIENT, server("/e/python", "vllm")])
    assert finding.level == "warning"
    assert finding.text == f"judge b: its server shares /e/python with edit model a: {PINS['vllm']}"
    assert "`edit-eval env create DIR --for judge`" in finding.advice
    both = check_engine_environments(
        [server("/e/python", "vllm"), EnvironmentProbe("judge c: its server", "/e/python", packages=("sglang",))]
    )
    assert [finding.level for finding in both] == ["warning", "warning"]


def test_an_engine_by_itself_says_what_it_asks_for() -> None:
    (finding,) = check_engine_environments([EDITOR, CLIENT, server("/v/python", "vllm")])
    assert (finding.level, finding.text) == ("note", f"judge b: its server: {PINS['vllm']}")


def test_an_engine_that_fixes_nothing_is_silent() -> None:
    assert check_engine_environments([EDITOR, server("/e/python", "transformers", "torch", "fastapi")]) == []
