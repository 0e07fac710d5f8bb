"""Engines that fix the versions of what others need, too: each wants an environment of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence

from edit_eval.execution.advice.findings import Finding
from edit_eval.execution.advice.probing import Question
from edit_eval.text import Text

PINS = {
    "vllm": Text("vllm 0.33 asks for torch 2.14.0 and transformers 5.16 to 5.20"),
    "sglang": Text("sglang 0.5.23 asks for torch 2.14.1 and transformers 5.19.0"),
    "vllm_omni": Text("vllm-omni 0.30 asks for diffusers 0.40.0 and transformers 5.13 or 5.14"),
}
"""By package: what its metadata on PyPI fixes (read on 21 November 2026). The newest diffusers (0.42) and the judges of
`judges/judge_table.py` are used with transformers 5.23 here; none of these engines takes that."""


LOADERS = tuple(
    f"edit_eval.{module}:"
    for module in ("edit_models.diffusers", "edit_models.qwen_image_edit", "judges.transformers", "judges.qwen3_vl")
)
"""Our classes that load a model by diffusers or transformers."""


def shared_environments(questions: Sequence[Question]) -> list[Finding]:
    """What engines ask of their environments, and a warning where one of these is somebody else's, too."""
    findings = []
    for engine in questions:
        pinned = next((package for package in engine.packages if package in PINS), "")
        if not pinned:
            continue
        who = re.sub(": its server$", "", engine.who)
        others = [one.who for one in questions if one.python == engine.python and _needs_other_versions(one, pinned)]
        others = [other for other in dict.fromkeys(others) if other != engine.who and other != who]
        if others:
            text = Text("{} shares {} with {}: {}", engine.who, engine.python, others, PINS[pinned])
            advice = Text("`edit-eval env create DIR --for judge` makes an environment; give it as `python` to {}", who)
            findings.append(Finding("environments", "warning", text, advice))
        else:
            findings.append(Finding("environments", "note", Text("{}: {}", engine.who, PINS[pinned])))
    return findings


def _needs_other_versions(question: Question, engine: str) -> bool:
    """Whether what runs there is another engine, or loads a model itself."""
    if question.packages:
        return engine not in question.packages and any(package in PINS for package in question.packages)
    return question.class_path.startswith(LOADERS)
