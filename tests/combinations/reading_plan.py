"""What `plan` says beforehand, held against the oracle."""

from __future__ import annotations

import json
from pathlib import Path

from combinations import planted
from combinations.drawing import Draw
from combinations.in_place import command
from combinations.oracle import Battle, Expected

PLANNED = 0.4
"""The share of draws that are planned, too."""


class PlanReadings:
    """Readings of `plan`, from the durations of the run that there is."""

    draw: Draw
    folder: Path
    run: Path
    want: Expected
    battles: dict[Battle, tuple[str, str]]

    def check(self, kind: str, where: str, expected: object, got: object) -> None:
        raise NotImplementedError

    def planned(self) -> None:
        """As many edits are planned as there were to be made, and as many questions as might have been asked."""
        if planted.share(self.draw["salt"], "planned") > PLANNED:
            return
        ended = command("plan", self.folder / "config.yaml", "--from", self.run, "--json")
        if ended.code == 2 and "how long" in ended.err:  # a model that has never worked
            return
        self.check("plan: exit code", ended.err.strip()[-300:], 0, ended.code)
        if ended.code:
            return
        work, want = json.loads(ended.out)["work"], self.want
        edits, judged = (
            [sample for sample in samples if not want.skipped(sample)] for samples in (want.made, want.samples)
        )
        seeds, readings = len(want.seeds), len(want.readings)
        made = sum(counts["edits"] for counts in work.values() if "edits" in counts)

        def count_cells(samples: list[str]) -> int:
            return seeds * sum(want.can_be_made(column, sample) for column in want.columns for sample in samples)

        self.check("plan: edits", "", count_cells(edits), made)
        for judge in want.judges:
            once = judge == "critic"  # what edit models are told is said once
            each = readings * (1 if once else len(want.repeats)) * (2 if judge == "followed" else 1)
            if judge != "arena":
                questions = work.get(f"judge:{judge}", {"questions": 0})["questions"]
                self.check("plan: questions", judge, count_cells(judged) * each, questions)
            elif self.draw["arena"] != "extended":  # of which the most is planned
                fought = sum(
                    not want.skipped(battle.sample)
                    and all(want.can_be_made(column, battle.sample) for column in (battle.a, battle.b))
                    for battle in self.battles
                )
                enough = work["judge:arena"]["questions"] >= 2 * readings * fought
                self.check("plan: battles", judge, True, enough)
