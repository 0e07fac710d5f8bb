from __future__ import annotations

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from edit_eval.execution.findings import Finding
from edit_eval.reporting.plans import print_findings

FINDINGS = [
    Finding("configuration", "ok", "评测: qwen_image_edit, judged by qwen3_vl"),
    Finding("devices", "ok", "cuda:0 NVIDIA H100: 79.1 of 79.6 GiB free, 0 % busy"),
    Finding(
        "environments",
        "problem",
        "judge qwen3_vl: /opt/conda/envs/judge/bin/python has no transformers and accelerate",
        "/opt/conda/envs/judge/bin/python -m pip install 'transformers>=4.57' 'accelerate>=1.2'",
    ),
    Finding("devices", "note", "1 of 2 GPUs is free", "device_ids: [0]"),
    Finding("benchmark", "warning", "sample 3 (00003_指代_hard) will be skipped: 图像数据被截断,无法解码" * 2),
]

PRINTED = """
configuration
  ok       评测: qwen_image_edit, judged by qwen3_vl
devices
  ok       cuda:0 NVIDIA H100: 79.1 of 79.6 GiB free, 0 % busy
  note     1 of 2 GPUs is free
           -> device_ids: [0]
environments
  problem  judge qwen3_vl: /opt/conda/envs/judge/bin/python has no transformers
           and accelerate
           -> /opt/conda/envs/judge/bin/python -m pip install
              'transformers>=4.57' 'accelerate>=1.2'
benchmark
  warning  sample 3 (00003_指代_hard) will be skipped:
           图像数据被截断,无法解码sample 3 (00003_指代_hard) will be skipped:
           图像数据被截断,无法解码

1 problem would stop the run
"""


@pytest.fixture(autouse=True)
def no_colour_is_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)


def printed(findings: list[Finding]) -> str:
    file = io.StringIO()
    print_findings(findings, Console(file=file, width=80, markup=False, emoji=False, highlight=False))
    return file.getvalue()


def test_grouped_by_area_within_eighty_columns_and_without_colour_in_a_file() -> None:
    text = printed(FINDINGS)
    assert text == PRINTED.lstrip("\n")
    assert max(cell_len(line) for line in text.splitlines()) <= 80


def test_a_terminal_gets_colour_beside_the_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("FORCE_COLOR", "1")
    text = printed(FINDINGS)
    assert "\x1b[1;31mproblem" in text
    assert "\x1b[32mok" in text


@pytest.mark.parametrize(
    ("findings", "verdict"),
    [
        (FINDINGS[:2], "this would run"),
        ([Finding("configuration", "note", "none was given")], "nothing here would stop a run"),
        ([FINDINGS[2], FINDINGS[2]], "2 problems would stop the run"),
    ],
)
def test_the_last_line_is_the_verdict(findings: list[Finding], verdict: str) -> None:
    assert printed(findings).splitlines()[-1] == verdict


def test_brackets_and_control_characters_are_text() -> None:
    text = printed([Finding("disk", "ok", "[red]a[/red] :smile: \x1b[31mb\x07\nc")])
    assert text.splitlines()[1] == "  ok       [red]a[/red] :smile: b c"
