"""What is made to be sent, held against the oracle, and against what `compare` says: a paper's files, a run's one."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

from combinations.drawing import Draw
from combinations.oracle import Expected
from documents import plain
from edit_eval.privacy import hide_folders, map_texts
from edit_eval.run import Run


class PaperReadings:
    """What `paper` says of a draw; a part of `reading`'s class."""

    want: Expected
    run: Path
    folder: Path
    draw: Draw
    summary: Mapping[str, Any]
    check: Any
    document: Any
    succeeds: Any
    read_columns: Any
    entries: Any

    def paper(self) -> None:
        """A table of all that is scored, and a folder of files with the same numbers; nothing of nothing."""
        of_one = [entry for entry in self.entries() if entry[0]]
        strengths = [
            model["strength"]
            for battles in self.summary.get("battles", {}).values()
            for model in next(iter(battles["scores"].values()))["strengths"]
        ]
        scored = any(self.want.by_sample(*entry) for entry in of_one) or any(
            strength is not None for strength in strengths
        )
        self.document("paper", scored, self.read_paper)
        place = self.folder / "paper"
        if scored and self.succeeds("paper", self.run, "--to", place):
            rows = list(csv.DictReader(io.StringIO((place / "numbers.csv").read_text("utf-8"))))
            self.check("paper: rows of the CSV", "", len(of_one) + len(strengths), len(rows))
            for row in rows:
                scores = self.want.by_sample(row["name"], row["judge"]) if (row["name"], row["judge"]) in of_one else {}
                if scores:
                    where = f"{row['name']} by {row['judge']}"
                    self.check("paper: mean in the CSV", where, fmean(scores.values()), float(row["mean"]))

    def read_paper(self, said: Mapping[str, Any]) -> None:
        rows = [(table, row, row["placing"]) for table in said["tables"] for row in table["rows"]]
        of_one = [row for row in rows if not row[0]["compares"]]
        self.check(
            "paper: columns",
            "",
            sorted(entry for entry in self.entries() if entry[0]),
            sorted((its["name"], table["judge"]) for table, _, its in of_one),
        )
        self.read_columns(
            "paper",
            [
                {
                    **its,
                    "edit_model": its["name"],
                    "judge": table["judge"],
                    "clusters": row["images"],
                    "failed": {"count": row["failed"], "total": row["tried"]},
                }
                for table, row, its in of_one
            ],
        )
        theirs: Mapping[tuple[str, str], int | None] = getattr(self, "rank", {})
        for table, row, its in rows:
            where = f"{its['name']} by {table['judge']}"
            if (its["name"], table["judge"]) in theirs:
                self.check("paper: ranks are those of compare", where, theirs[its["name"], table["judge"]], its["rank"])
            if row["mark"] in ("best", "level"):
                self.check("paper: nobody is shown to be better", where, 1, its["rank"])
            if row["contest"] and not table["compares"] and table["scale"]["mean_over"] == "samples":
                self.behind(table, row["contest"], its["name"], where)

    def behind(self, table: Mapping[str, Any], contest: Mapping[str, Any], name: str, where: str) -> None:
        """How far it is behind the first, on the samples that both have."""
        sign = 1 if table["scale"]["higher_is_better"] else -1
        first, its = (
            self.want.by_sample(column, table["judge"]) for column in (table["rows"][0]["placing"]["name"], name)
        )
        gaps = [sign * (first[sample] - its[sample]) for sample in first if sample in its]
        self.check("paper: behind", where, fmean(gaps) if gaps else None, contest["difference"])

    def send(self) -> None:
        """The run in one file says what the run does, but for notes and for the folders in reasons."""
        if self.draw["page"]:
            self.succeeds("export", self.run, self.folder / "sent.html")
        sent = self.folder / "sent.edit-eval"
        self.succeeds("export", self.run, sent, "--size", "64")
        was, now = (map_texts(hide_folders, plain(Run(of).summary)) for of in (self.run, sent))
        for summary in (was, now):
            summary["failures"].sort(key=str)  # in order of their reasons, where they are equally many
            del summary["notes"]
        differing = [key for key in was | now if was.get(key) != now.get(key)]
        self.check("export: a run in one file says the same", "", [], differing)
