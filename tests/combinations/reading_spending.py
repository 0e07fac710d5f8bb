"""What a run has cost, held against what was asked of the paid model, and a limit of that."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from combinations.drawing import CAPPED, PAID, Draw, paid_requests
from combinations.in_place import command
from combinations.oracle import Expected


class SpendingReadings:
    """What is said of money; a part of `reading`'s class."""

    draw: Draw
    folder: Path
    run: Path
    want: Expected
    check: Any
    document: Any
    summary: Any

    def capped(self, times: int) -> None:
        """A start that may not spend more than so many requests cost has made no more, and was stopped if more were
        to be made."""
        there = json.loads((self.folder / CAPPED).read_text("utf-8"))
        if self.draw["way"] not in ("reuse", "added"):  # which are not stopped
            self.check("capped: requests", "", True, there["requests"] <= self.draw["capped"])
        if times > there["requests"]:
            self.check("capped: stopped", "", 4, there["code"])

    def spent(self) -> None:
        """What the paid model has cost: each request counts, and what was under way at a kill is feared."""
        times = paid_requests(self.folder) if self.draw["paid"] else 0
        if self.draw["capped"]:
            self.capped(times)
        told = {
            spending["model"]: spending for spending in json.loads(command("status", self.run, "--json").out)["spent"]
        }
        self.document("costs", True, lambda said: self.read_costs(said, told))
        apart = self.draw["way"] in ("reuse", "added")  # some is another run's
        if not times or (apart and not told):
            return self.check("spent: models", "", [], sorted(told))
        self.check("spent: models", "", [f"edit:{PAID}"], sorted(told))
        spending, usd = (
            told.get(f"edit:{PAID}", {"usd": 0.0, "feared": 0.0, "attempts": 0, "told": None}),
            self.want.spent(times),
        )
        if apart:
            self.check("spent: at most", "", True, spending["usd"] <= usd + 1e-9)
        elif self.draw["way"] == "kill":
            self.check("spent: at least", "", True, spending["usd"] + spending["feared"] >= usd - 1e-9)
        else:
            self.check(
                "spent: dollars", "", (usd, 0.0, times), (spending["usd"], spending["feared"], spending["attempts"])
            )
        return self.check("spent: told", "", False, spending["told"])

    def read_costs(self, said: Mapping[str, Any], told: Mapping[str, Any]) -> None:
        """Money by model is what `status` says; a report has it where there is some."""
        charged = {f"edit:{cost['model']}": cost["usd"] for cost in said["models"] if cost["usd"] is not None}
        self.check("costs: dollars", "", {name: spending["usd"] for name, spending in told.items()}, charged)
        self.check("costs: in all", "", sum(charged.values()) if charged else None, said["usd"])
        shown = self.summary.get("analyses", {}).get("costs", [])
        self.check("costs: in the report", "", [said] if said["models"] else [], shown)
