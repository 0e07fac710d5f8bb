"""Words that the makers' own libraries list: each is in our tables. They are read, not imported: see `make sdks`."""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from edit_eval.plugins.endpoints.in_worker.closed_models import find_row
from edit_eval.plugins.endpoints.in_worker.vocabulary import (
    BatchOutcome,
    BatchStage,
    read_ending,
    read_outcome,
    read_stage,
)

SDKS = Path(__file__).parents[3] / ".venv/sdks"
LITERALS = {
    "openai/types/chat/chat_completion.py": r"finish_reason: Literal\[([^]]+)\]",
    "openai/types/chat/chat_completion_chunk.py": r"finish_reason: Optional\[Literal\[([^]]+)\]",
    "openai/types/completion_choice.py": r"finish_reason: Literal\[([^]]+)\]",
    "anthropic/types/stop_reason.py": r"Literal\[([^]]+)\]",
    "anthropic/types/beta/beta_stop_reason.py": r"Literal\[([^]]+)\]",
    "google/genai/types.py": r"class FinishReason\(.*?\):(.*?)\n\nclass ",
    "google/genai/types.py ": r"class BlockedReason\(.*?\):(.*?)\n\nclass ",
}
"""Where in a library the endings stand."""


def words(file: str, pattern: str) -> Iterator[str]:
    path = SDKS / file.strip()
    if not path.exists():
        pytest.skip(f"needs {file}, as `make sdks` lays it there")
    found = re.search(pattern, path.read_text("utf-8"), re.S)
    assert found is not None, f"{file} is written otherwise by now"
    if "class " in pattern:
        yield from re.findall(r"^  [A-Z_]+ = '([A-Z_]+)'", found[1], re.M)
    else:
        yield from ast.literal_eval(f"[{found[1]}]")


@pytest.mark.sdks
@pytest.mark.parametrize("file", LITERALS)
def test_every_ending_that_a_maker_lists_is_in_our_table(file: str) -> None:
    listed = list(words(file, LITERALS[file]))
    assert len(listed) > 2
    assert [word for word in listed if not read_ending(word).known] == []


BATCHES = {
    "openai/types/batch.py": r"status: Literal\[([^]]+)\]",
    "anthropic/types/messages/message_batch.py": r"processing_status: Literal\[([^]]+)\]",
    "google/genai/types.py": r"class JobState\(.*?\):(.*?)\n\nclass ",
}


@pytest.mark.sdks
@pytest.mark.parametrize("file", BATCHES)
def test_every_state_of_a_batch_that_a_maker_lists_is_in_our_table(file: str) -> None:
    listed = list(words(file, BATCHES[file]))
    assert len(listed) > 2
    assert [word for word in listed if read_stage(word) is BatchStage.UNKNOWN] in ([], ["JOB_STATE_UNSPECIFIED"])


@pytest.mark.sdks
@pytest.mark.parametrize("result", ["succeeded", "errored", "canceled", "expired"])
def test_every_result_of_a_batch_that_a_maker_lists_is_in_our_table(result: str) -> None:
    (word,) = words(f"anthropic/types/messages/message_batch_{result}_result.py", r"type: Literal\[([^]]+)\]")
    assert read_outcome(word) is not BatchOutcome.UNKNOWN


WITHOUT_PICTURES = re.compile(
    r"audio|search|codex-mini|^o1-(mini|preview)|^o3-mini|^gpt-3\.5|^gpt-4(-\d{4}|-32k|-turbo-preview|$)|dall-e"
)
"""Models that can neither judge nor edit a picture."""


def ends() -> Iterator[tuple[str, str, str]]:
    """Yields kind, model and the day on which its maker's library says that it is switched off."""
    for kind, file in (("judges", "shared/chat_model"), ("editors", "image_model")):
        *_, told, _ = (SDKS / "openai/types" / f"{file}.py").read_text("utf-8").split('"""')
        for item in re.findall(r"^- (.*?)(?=^- |\Z)", told, re.S | re.M):
            day = re.search(r"\d{4}-\d\d-\d\d(?=\. )|[A-Z][a-z]+ \d+, \d{4}", " ".join(item.split()))
            for name in re.findall(r'"([^"]+)"', item) if day else ():
                yield kind, f"openai/{name}", day[0] if day else ""
    text = (SDKS / "anthropic/_data/deprecated_models.py").read_text("utf-8")
    for name, day in re.findall(r'"(claude-[^"]+)": "([^"]+)"', text):
        yield "judges", f"anthropic/{name}", re.sub(r"(?<=\d)(st|nd|rd|th)", "", day)


def day_of(words: str) -> str:
    for form in ("%Y-%m-%d", "%B %d, %Y"):
        with contextlib.suppress(ValueError):
            return datetime.strptime(words, form).date().isoformat()
    return f"not a day: {words}"


@pytest.mark.sdks
def test_every_end_that_a_maker_lists_is_in_our_file() -> None:
    if not (SDKS / "openai").exists():
        pytest.skip("needs openai, as `make sdks` lays it there")
    listed = [of for of in ends() if not WITHOUT_PICTURES.search(of[1].partition("/")[2])]
    assert len(listed) > 20
    said: dict[str, Any] = {model: find_row(kind, model).get("ends") for kind, model, _ in listed}
    assert said == {model: day_of(day) for _, model, day in listed}
