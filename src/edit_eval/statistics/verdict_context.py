"""What a verdict knows besides scores: of judges, of what is missing, and of pictures that are the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from edit_eval.records import ExaminedJudge, Results, Status
from edit_eval.statistics.aggregates import Coverage
from edit_eval.statistics.battles import JudgeBattles
from edit_eval.statistics.controls import RunControls
from edit_eval.statistics.raters import reply_origins
from edit_eval.statistics.same_pictures import SamePictures, pixels_of, same_pictures

Sees = Literal["last", "not_last", "unknown", "off"]
"""Where a judge puts its controls; `unknown` if they do not show it, `off` if they were turned off."""


@dataclass(frozen=True)
class VerdictContext:
    """What is known besides scores."""

    sees: Mapping[str, Sees] = field(default_factory=dict)
    examined: Mapping[str, str] = field(default_factory=dict)
    complete: bool = True
    unscored: Mapping[str, int] = field(default_factory=dict)
    """How many headlines ended without a score, by their status."""
    same_pictures: Sequence[SamePictures] = ()
    battles: Mapping[str, JudgeBattles] = field(default_factory=dict)
    """`battles` of the summary."""
    controls: int = 0
    """How many samples with controls may show that a judge sees edits; 0 if that takes more pictures."""


def build_context(
    results: Sequence[Results],
    *,
    complete: bool,
    coverage: Coverage,
    controls: RunControls,
    examined: Mapping[str, ExaminedJudge],
    battles: Mapping[str, JudgeBattles],
) -> VerdictContext:
    """Returns what is known of runs whose summary has these parts; `examined` are its `judges`."""
    of_judges, none = controls.judges, controls.samples == 0
    without: Sees = "unknown" if controls.automatic else "off"
    words: dict[bool | None, Sees] = {True: "last", False: "not_last", None: "unknown"}
    judges = dict.fromkeys(judge for result in results for judge in result.every_judge)
    asked = {judge for result in results for judge, given in reply_origins(result).items() if given == "asked"}
    return VerdictContext(
        sees={
            judge: words[of_judges[judge].last] if judge in of_judges else without
            for judge in judges
            if judge in of_judges or (none and judge in asked)
        },
        examined={judge: examination.ended for judge, examination in examined.items()},
        complete=complete,
        unscored={status: count for status, count in coverage.by_status.items() if status != Status.OK.value},
        same_pictures=[pair for result in results for pair in same_pictures(pixels_of(result))],
        battles=battles,
        controls=controls.wanted,
    )


def merge_contexts(known: Sequence[VerdictContext]) -> VerdictContext:
    """Returns what is known of several runs: of a judge the worst, of failures the sum."""
    gravest: Sequence[Sees] = ("not_last", "off", "unknown", "last")
    judges = dict.fromkeys(judge for run in known for judge in run.sees)
    unscored: dict[str, int] = {}
    examined: dict[str, str] = {}
    for run in known:
        for status, count in run.unscored.items():
            unscored[status] = unscored.get(status, 0) + count
        for judge, ended in run.examined.items():
            examined[judge] = min(examined.get(judge, ended), ended, key=_gravity)
    return VerdictContext(
        sees={of: min((run.sees[of] for run in known if of in run.sees), key=gravest.index) for of in judges},
        examined=examined,
        complete=all(run.complete for run in known),
        unscored=unscored,
        same_pictures=[pair for run in known for pair in run.same_pictures],
        controls=max((run.controls for run in known), default=0),
    )


def _gravity(ended: str) -> int:
    """Returns the place of how an examination ended, the worst first; any other word says that nothing is known."""
    worst = ("failed", "", "limited", "passed")
    return worst.index(ended if ended in worst else "")
