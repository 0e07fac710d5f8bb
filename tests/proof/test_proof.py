"""The same commands on the same inputs come to what was recorded: codes, words, keys, statuses and numbers.

What differs is printed line by line. Where a change is meant, `meant_to_change.yaml` names it with its reason; when all
is as it should be, `python tests/proof/record.py [CASE...]` records it anew.
"""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest
import yaml

from proof.cases import CASES
from proof.page_text import page_text
from proof.record import RECORDED, came_to
from proof.rules import DROPPED, REPLACED, settled, settled_document, without_meant
from proof.written import without_repetition, written

MEANT = yaml.safe_load(Path(__file__).with_name("meant_to_change.yaml").read_text("utf-8")) or []
MOST_BYTES = 1_050_000
"""Of all recordings together: more than that nobody reads in a diff."""


@pytest.mark.proof
@pytest.mark.parametrize("name", CASES)
def test_all_is_as_it_was_recorded(name: str, tmp_path: Path) -> None:
    file = RECORDED / f"{name}.yaml"
    before = without_meant(file.read_text("utf-8").splitlines(), MEANT)
    now = without_meant(came_to(name, tmp_path / "proof").splitlines(), MEANT)
    where = str(file.relative_to(Path(__file__).parents[2]))
    differences = list(difflib.unified_diff(before, now, where, "now", lineterm=""))
    assert not differences, "\n" + "\n".join(differences[:400])


def test_every_case_is_recorded_and_nothing_else() -> None:
    assert {file.stem for file in RECORDED.glob("*.yaml")} == {*CASES}
    assert sum(file.stat().st_size for file in RECORDED.glob("*.yaml")) < MOST_BYTES


def test_what_is_meant_to_change_says_why() -> None:
    for change in MEANT:
        assert change.keys() in ({"line", "why"}, {"words", "why"}), change
        assert change["why"]


def test_what_is_meant_to_change_is_looked_away_from_on_both_sides() -> None:
    before, now = ["a: 1 edit", "b: judgement", "c"], ["b: score", "c"]
    meant = [{"line": "^a:", "why": "gone"}, {"words": "judgement|score", "why": "one noun"}]
    assert without_meant(before, meant) == without_meant(now, meant) == ["b: <MEANT>", "c"]
    assert without_meant(["d"], meant) != without_meant(now, meant)


def test_only_what_depends_on_place_moment_and_machine_is_replaced(tmp_path: Path) -> None:
    text = f"12:00:01 end: 9 of 9 edits in 1.5 s\n{tmp_path}/run: 3 of 4, mean 6.43 [5.1, 7.2]  x\nprogress: 10 %, 3\n"
    said = "<CLOCK> end: 9 of 9 edits in <TIME>\n<FOLDER>/run: 3 of 4, mean 6.43 [5.1, 7.2]  x\n"
    assert settled(text, tmp_path) == said
    document = {"mean": 6.4300000001234, "seconds": 1.5, "timing": {"edit": [0.1]}, "n": 12345678901, "ok": True}
    assert settled_document(document, tmp_path) == {
        "mean": 6.43,
        "seconds": "<NUMBER>",
        "timing": "<edit>",
        "n": 12345678901,
        "ok": True,
    }
    assert all(why for *_, why in (*REPLACED, *DROPPED))


def test_a_recording_is_yaml_whose_lines_stand_by_themselves() -> None:
    document = {"text": "one\ntwo: 'x'\n", "numbers": {"a": 1, "b": [0.5, None]}, "steps": [{"x": "y" * 500}]}
    assert yaml.safe_load(written(document)) == document
    assert "  two: 'x'\n" in written(document)
    steps = [{"typed": "a", "stdout": "z" * 500}, {"typed": "b", "stdout": "z" * 500}]
    assert without_repetition(steps)[1]["stdout"] == "<AS stdout OF STEP 0: a>"


def test_the_text_of_a_page_is_what_is_seen_and_read_out() -> None:
    html = (
        "<title>T</title><script>no()</script><style>p{}</style><p>One <b>bold</b>\nline</p>"
        "<table><tr><th>A</th><td>1 &lt; 2</td></tr></table><img alt='a hill'><pre>x\ny</pre>"
    )
    assert page_text(html) == (["T", "One bold line", "A | 1 < 2", "[alt: a hill]", "<BLOCK 0>"], ["x\ny"])
