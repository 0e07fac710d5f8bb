"""A process that draws the report: what its end is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from edit_eval.errors import NotDrawn
from edit_eval.reporting.page.files import draw_apart


def test_a_process_that_fails_is_a_fault_of_ours_and_keeps_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(NotDrawn, match=r"could not be drawn \(.*RunDirectoryError: .*is not a run directory") as caught:
        draw_apart(tmp_path)
    assert caught.value.exit_code == 1
    assert caught.value.run_dir == tmp_path
