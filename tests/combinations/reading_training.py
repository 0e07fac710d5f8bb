"""Slices and pairs for training, held against the oracle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from combinations.oracle import Expected, Place


class TrainingReadings:
    """What `slices` and `pairs` say of a draw; a part of `reading`'s class."""

    want: Expected
    check: Any
    document: Any
    summary: Any

    def slices_and_pairs(self) -> None:
        """Where a column wins and loses against another, and pairs for training."""
        want = self.want
        if not want.reporting:
            return
        judge, (first, *others) = want.reporting[0], want.columns
        against = others[0] if others else "none"
        both = self._scored_by_both(first, against, judge)
        given = ("--edit-model", first, "--against", against, "--judge", judge, "--labels-only")
        self.document("slices", want.images(both) >= 12, self.read_slices, *given)
        of_controls = (self.summary["controls"] or {}).get("judges", {})
        heard = [judge for judge in want.reporting if of_controls.get(judge, {}).get("last") is not False]
        noisy = any(
            sum(
                want.judgement(column, judge, Place(sample, seed, repeat)).outcome[0] == "ok" for repeat in want.repeats
            )
            > 1
            for judge in heard
            for column in want.columns
            for sample in want.samples
            for seed in want.seeds
            if not want.edit(column, sample, seed).kept
        )
        self.document("pairs", noisy, self.read_pairs)

    def _scored_by_both(self, first: str, against: str, judge: str) -> dict[str, float]:
        """Each sample's score by the first, or by how much it is more than the other's."""
        mine = self.want.by_sample(first, judge)
        if against == "none":
            return mine
        theirs = self.want.by_sample(against, judge)
        return {sample: score - theirs[sample] for sample, score in mine.items() if sample in theirs}

    def read_slices(self, said: Mapping[str, Any]) -> None:
        values = self._scored_by_both(said["edit_model"], said["against"] or "none", said["judge"])
        sign = 1 if said["scale"]["higher_is_better"] or not said["against"] else -1
        self.check("slices: samples", "", len(values), said["samples"])
        self.check("slices: images", "", self.want.images(values), said["images"])
        self.check("slices: mean", "", sign * sum(values.values()) / len(values), said["mean"])
        for part in (*said["best"], *said["worst"]):
            there = [values[sample] for sample in part["ids"] if sample in values]
            self.check("slices: of a slice", str(part["conditions"]), len(there), part["samples"])

    def read_pairs(self, said: Mapping[str, Any]) -> None:
        for pair in said["pairs"]:
            for edit in (pair["chosen"], pair["rejected"]):
                address = edit["edit_model"], pair["sample"], edit["edit_seed"]
                self.check("pairs: made", str(address), "ok", self.want.edit(*address).status)
                for judge, score in edit["scores"].items():
                    mine = self.want.of_edit(edit["edit_model"], judge, pair["sample"], edit["edit_seed"])
                    self.check("pairs: score", f"{address} by {judge}", mine, score)
