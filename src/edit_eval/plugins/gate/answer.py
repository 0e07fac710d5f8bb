"""What `gate --same-seed` answers, as a document and in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from edit_eval.plugins.gate.breakages import Breakage
from edit_eval.plugins.gate.distances import Distance
from edit_eval.plugins.gate.sameness import Distances, NoiseTest, own_percentile, smallest_limit, typical
from edit_eval.reporting.table import Column, Line, Table
from edit_eval.statistics.comparison import Comparison
from edit_eval.text import Text


class DistanceRow(NamedTuple):
    """What the pictures come to by one distance."""

    distance: Distance
    limit: float | None
    """What D is of it; None if it does not decide. This and all below are times the distance's sign."""
    values: Distances
    """Of each picture, in order; infinite where there is no pair."""
    own: Distances | None
    """Of the pictures that the reference made again, how far they are from its first; None: not known."""
    tests: tuple[NoiseTest, ...]

    @property
    def smallest(self) -> float | None:
        """The smallest D that holds of such pictures."""
        return smallest_limit(self.values)

    def show(self, value: float | None) -> Text | None:
        """Returns a value as its words."""
        if value is None or value == math.inf:
            return None
        return Text("equal") if value == -math.inf else Text("{}", f"{self.distance.sign * value:.3g}")


@dataclass(frozen=True, kw_only=True)
class SameEditor:
    """The answer: one sentence, and what it rests on."""

    ending: str
    """`bit_equal`, `same_pictures`, `equally_good`, `worse`, `unknown`."""
    sentence: Text
    reasons: tuple[str, ...] = ()
    """What it rests on, or why nothing better can be said; a line each."""
    pictures: int
    edits: int
    equal: int
    """Edits whose pixels are the same in both."""
    unmatched: int = 0
    """Edits that one of the two has not made."""
    noise: Text
    """What is known of the reference's own noise."""
    noise_kind: str
    """`none`, `some`, `unknown`, `not_asked`."""
    rows: tuple[DistanceRow, ...] = ()
    findings: tuple[Breakage, ...] = ()
    worst: Path | None = None
    """A picture of the pairs that are furthest apart."""
    comparison: Comparison | None = None
    """By the judge, if there is one."""
    language: str = "en"

    @property
    def passes(self) -> bool:
        """True for the endings that let the candidate replace the reference."""
        return self.ending in ("bit_equal", "same_pictures", "equally_good")

    @property
    def lines(self) -> list[str]:
        """The sentence, what broke, and what it rests on."""
        return [self.sentence, *(finding.line for finding in self.findings), *self.reasons]

    @property
    def cases(self) -> list[tuple[str, str, list[str]]]:
        """What JUnit XML has of it: its name, the ending if it does not pass, and the lines."""
        return [("it is the same editor", "" if self.passes else self.ending, self.lines)]

    @property
    def judges_comparison(self) -> Comparison | None:
        """The comparison, if the ending rests on it."""
        return self.comparison if self.ending in ("equally_good", "worse") else None

    def document(self) -> dict[str, Any]:
        """Returns what `--json` prints."""
        return {
            "schema": 1,
            "ending": self.ending,
            "passed": self.passes,
            "sentence": self.sentence,
            "reasons": list(self.reasons),
            "pictures": self.pictures,
            "edits": self.edits,
            "equal": self.equal,
            "unmatched": self.unmatched,
            "noise": {"kind": self.noise_kind, "words": self.noise},
            "distances": [_row_document(row) for row in self.rows],
            "findings": [{"kind": finding.kind, "words": finding.line} for finding in self.findings],
            "worst": str(self.worst) if self.worst else None,
            "comparison": self.comparison.document() if self.comparison else None,
        }


def _row_document(row: DistanceRow) -> dict[str, Any]:
    def plain(value: float | None) -> float | None:
        return None if value is None or not math.isfinite(value) else row.distance.sign * value

    return {
        "name": row.distance.name,
        "within": plain(row.limit),
        "median": plain(typical(row.values)),
        "furthest": plain(float(row.values.max())),
        "smallest_that_holds": plain(row.smallest),
        "own_95th_percentile": None if row.own is None else plain(own_percentile(row.own)),
        "tests": [{**test._asdict(), "passed": test.passes} for test in row.tests],
    }


# -- words --


def same_editor_sheet(answer: SameEditor) -> list[Line | Table[Any]]:
    """Returns the sentence, what broke, what it rests on, and the distances; it fits on a screen."""
    sheet: list[Line | Table[Any]] = [Line(answer.sentence, "right" if answer.passes else "problem")]
    sheet += [Line(finding.line, "problem") for finding in answer.findings]
    sheet += [Line(reason) for reason in answer.reasons]
    sheet += [
        Line(),
        Line(
            Text(
                "{} edits of {} pictures; {} bit-equal{}",
                answer.edits,
                answer.pictures,
                answer.equal,
                Text(", {} made by one of the two only", answer.unmatched) if answer.unmatched else "",
            )
        ),
        Line(answer.noise),
    ]
    if answer.rows:
        sheet += [Line(), distances_table(answer.rows)]
    if answer.worst:
        sheet += [
            Line(),
            Line(Text("the furthest, beside the reference's, with their difference: {}", answer.worst), "quiet"),
        ]
    return sheet


def distances_table(rows: Sequence[DistanceRow]) -> Table[DistanceRow]:
    """Returns each distance: of a typical picture, of the furthest, of the reference from itself, and D."""

    def own(row: DistanceRow) -> Text | None:
        return None if row.own is None else row.show(own_percentile(row.own))

    columns: list[Column[DistanceRow]] = [
        Column(Text("distance"), lambda row: row.distance.words, kind="name"),
        Column(Text("typical"), lambda row: row.show(typical(row.values))),
        Column(Text("furthest"), lambda row: row.show(float(row.values.max()))),
        Column(Text("reference from itself (95 %)"), own, short=Text("itself")),
        Column(Text("smallest D that holds"), lambda row: row.show(row.smallest), short=Text("D holds")),
        Column(Text("D asked for"), lambda row: row.show(row.limit), short=Text("D asked")),
    ]
    return Table(columns, rows)


def describe_noise_test(row: DistanceRow, test: NoiseTest) -> Text:
    limit = row.show(own_percentile(row.own)) if row.own is not None else None
    kinds = {
        "at_all": Text("different at all"),
        "beyond": Text("beyond the reference's own 95th percentile ({})", limit),
        "further": Text("further than the reference's second run"),
    }
    said = Text("few enough") if test.passes else Text("not shown to be few enough")
    if not test.passes and test.is_more_than_chance:
        said = Text("more than chance")
    if not test.passes and (needed := test.pictures_needed):
        said += Text("; {} pictures would do, if this is how it is", needed)
    return Text(
        "{}, {}: {} of {} pictures of the candidate alone, {} of the second run alone: {}",
        row.distance.words,
        kinds[test.kind],
        test.candidate,
        test.pictures,
        test.again,
        said,
    )
