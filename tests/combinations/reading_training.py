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
        heard = [one for one in want.reporting if of_controls.get(one, {}).get("last") is not False]
        noisy = any(
            sum(want.judgement(column, one, Place(sample, seed, repeat)).outcome[0] == "ok" for repeat in want.repeats)
            > 1
            for one in heard
            for column in want.columns
            for sample in want.samples
            for seed in want.seeds
            if not want.edit(column, sample, seed).kept
        )
        self.document("pairs", noisy, self.read_pairs)

    def _scored_by_both(self, first: str, against: str, judge: str) -> dict[str, float]:
        """Each sample's score by the first, or by how much it is more than the other's."""
        one = self.want.by_sample(first, judge)
        if against == "none":
            return one
        other = self.want.by_sample(against, judge)
        return {sample: score - other[sample] for sample, score in one.items() if sample in other}

    def read_slices(self, said: Mapping[str, Any]) -> None:
        values = self._scored_by_both(said["edit_model"], said["against"] or "none", said["judge"])
        sign = 1 if said["scale"]["higher_is_better"] or not said["against"] else -1
        self.check("slices: samples", "", len(values), said["samples"])
        self.check("slices: images", "", self.want.images(values), said["images"])
        self.check("slices: mean", "", sign * sum(values.values()) / len(values), said["mean"])
        for one in (*said["best"], *said["worst"]):
            there = [values[sample] for sample in one["ids"] if sample in values]
            self.check("slices: of a slice", str(one["conditions"]), len(there), one["samples"])

    def read_pairs(self, said: Mapping[str, Any]) -> None:
        for pair in said["pairs"]:
            for edit in (pair["chosen"], pair["rejected"]):
                address = edit["edit_model"], pair["sample"], edit["edit_seed"]
                self.check("pairs: made", str(address), "ok", self.want.edit(*address).status)
                for judge, score in edit["scores"].items():
                    mine = self.want.of_edit(edit["edit_model"], judge, pair["sample"], edit["edit_seed"])
                    self.check("pairs: score", f"{address} by {judge}", mine, score)
