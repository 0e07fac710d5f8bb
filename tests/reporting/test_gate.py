import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from documents import plain
from edit_eval.reporting import language as spoken
from edit_eval.reporting.comparison import gate_lines
from edit_eval.reporting.terminal_text import one_line
from edit_eval.statistics.columns import ScoreColumn
from edit_eval.statistics.comparison import compare
from small_columns import column, drawn, failing


def said(*columns: ScoreColumn, margin: float | None = None, language: str = "en") -> list[str]:
    return [one_line(spoken.translate(line, language)) for line in gate_lines(compare(columns, margin=margin).gate)]


GOOD, BAD = drawn(2, 1.5), drawn(3)
WHOLE = failing(column("a", drawn(2)), [])
UNEVEN = [0] * 60 + list(range(1, 31))
EXACT = [round(4 * score) / 4 for score in drawn(2)]
CASES: list[tuple[Sequence[ScoreColumn], float | None, list[str]]] = [
    (
        [column("a", BAD), column("b", GOOD)],
        None,
        [
            "b is not shown to be worse than a by judge judge: +1.57; a loss of 0.42 would have been found 4 times in "
            "5, a smaller one could well have been missed"
        ],
    ),
    ([column("a", GOOD), column("b", BAD)], None, ["b scores worse than a by judge judge: -1.57, adjusted p <0.0001"]),
    (
        [column("a", [5, 6]), column("b", [None, None])],
        None,
        ["b cannot be compared with a by judge judge: no sample is scored in both"],
    ),
    (
        [column("a", [5, 6]), column("b", [5, 6])],
        None,
        ["b cannot be tested against a by judge judge: source images scored in both: 2, needed: 6 or more"],
    ),
    (
        [WHOLE, failing(column("b", GOOD), range(23))],
        None,
        ["b fails more edits than a: 23 of 90 against 0, adjusted p <0.0001"],
    ),
    (
        [column(name, [score - by for score in EXACT], clusters=UNEVEN) for name, by in (("a", 0), ("b", 0.25))],
        1.0,
        ["b is not shown to be less than 1.0 worse than a by judge judge: the difference of -0.25 has no interval"],
    ),
]


@pytest.mark.parametrize(("columns", "margin", "lines"), CASES)
def test_each_reason_is_a_line(columns: Sequence[ScoreColumn], margin: float | None, lines: list[str]) -> None:
    assert said(*columns, margin=margin) == lines
    chinese = said(*columns, margin=margin, language="zh")
    assert len(chinese) == len(lines)
    assert not re.search("[A-Za-z]{2,}", "".join(chinese).replace("judge", "").replace("Holm", ""))


def test_a_margin_that_is_not_shown_comes_with_what_it_takes() -> None:
    columns = [column("a", drawn(2)), column("b", drawn(3))]
    values = compare(columns, margin=0.2).gate.candidates[0].reasons[0].values
    (line,) = said(*columns, margin=0.2)
    assert line.startswith("b is not shown to be less than 0.2 worse than a by judge judge: ")
    assumed = f"{values['assumed']:+.2f}".replace("+0.00", "0.00")
    counts = f"{values['samples']} samples on {values['images']} source images"
    assert line.endswith(f"; if it is truly {assumed}, {counts} would show it 4 times in 5")
    assert said(*columns, margin=0.2, language="zh")[0].startswith("由 judge 评分，无法证明 b 比 a 差不到 0.2：")


def test_a_margin_that_is_shown_is_said_too() -> None:
    columns = [column("a", drawn(2)), column("b", drawn(3, 0.1))]
    candidate = compare(columns, margin=0.6).gate.candidates[0]
    assert said(*columns, margin=0.6) == [
        f"b passes by judge judge: {candidate.difference:+.2f} against a, "
        f"at worst {candidate.lower:+.2f}, which is above -0.60"
    ]


def test_what_failed_edits_could_hide_is_said() -> None:
    columns = WHOLE, failing(column("b", drawn(3, 0.2)), [7, 8, 9])
    (line,) = said(*columns, margin=0.3)
    assert line.startswith("b could be worse than a by judge judge: 3 of 90 samples lack a score")
    assert "(3 with failed edits of b, 0 that only one of the two has)" in line
    assert len(said(*columns, margin=0.3, language="zh")) == 1


def test_what_is_left_out_is_said() -> None:
    scores = drawn(2, 1.0)
    gate = compare([column("a", drawn(2)), column("b", [None, *scores[1:]])], allow_unscored=0.02).gate
    (line,) = gate_lines(gate)
    assert line.endswith("(1 of 90 samples are left out for want of a score, as `--allow-unscored 0.02` allows)")
    assert "0.02" in spoken.translate(gate_lines(gate)[0], "zh")


def test_what_is_the_same_for_all_judges_is_said_once() -> None:
    columns = [WHOLE, failing(column("b", drawn(3)), range(23))]
    others = [replace(column, judge="other") for column in columns]
    assert said(*columns, *others) == ["b fails more edits than a: 23 of 90 against 0, adjusted p <0.0001"]


def test_no_name_can_steer_the_terminal() -> None:
    hostile = "\x1b[2Jx\n"
    for line in said(column("a", GOOD), column(hostile, BAD)):
        assert "\x1b" not in line
        assert "\n" not in line


def test_the_document_has_the_gate() -> None:
    document = plain(compare([column("a", GOOD), column("b", BAD)], margin=0.3).document())
    assert document["schema"] == 3
    assert document["gate"]["passed"] is False
    assert document["gate"]["margin"] == 0.3
    (candidate,) = document["gate"]["candidates"]
    assert [reason["kind"] for reason in candidate["reasons"]] == ["beyond_margin"]
