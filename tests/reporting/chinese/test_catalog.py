"""The catalog: every text of the code is in it, each means one thing, and the Chinese is written as Chinese is."""

from __future__ import annotations

import source_texts
from edit_eval.reporting.chinese import catalog


def _all() -> dict[str, dict[str, str]]:
    return catalog.parts()


def test_every_text_has_its_chinese() -> None:
    known = {source_texts.shape(english) for english in [*catalog.entries(), *catalog.words(), *catalog.tags()]}
    lacking = [text for text in source_texts.texts() if text.shape not in known]
    assert not lacking, (
        "add to src/edit_eval/reporting/chinese/texts, or to not_for_people.yaml beside this test:\n"
        + ("\n".join(f'  {one.file}:{one.line}: "{one.words}": ""' for one in lacking))
    )
