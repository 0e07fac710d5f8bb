"""Words that the makers' own libraries list: each is in our tables. They are read, not imported: see `make sdks`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from edit_eval.endpoints.vocabulary import read_ending

SDKS = Path(__file__).parents[2] / ".venv/sdks"
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
